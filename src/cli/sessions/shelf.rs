//! The opened store of a run folder with what the commands need to name and to hide.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::super::args::Global;
use super::super::assemble::{House, tell_notices};
use super::super::exit::Refusal;
use super::look::Look;
use super::progress::Progress;
use crate::report::{Conversation, Digest, Tidy};
use crate::settings::{CREDENTIAL_KEYS, is_secret};
use crate::store::{Notice, SessionStore, SqliteStore};
use crate::transcript::{Entry, SessionKey, project_key};

/// Letters of an id that people are shown, unless it takes more to tell two sessions apart.
const SHORT: usize = 8;

/// Everything that is stored in one run folder.
pub(super) struct Shelf<'a> {
    pub(super) house: &'a House,
    pub(super) store: SqliteStore,
    pub(super) tidy: Tidy,
    pub(super) look: Look,
    /// The project of the workspace.
    pub(super) project: String,
    /// The workspace was named by a flag: then no other project is meant.
    chosen: bool,
    /// Steps by session, as far as the manifest knows them.
    steps: HashMap<String, String>,
}

/// A transcript as it was loaded.
pub(super) struct Loaded {
    pub(super) entries: Vec<Entry>,
    /// Rows of the database that are no entries.
    pub(super) unreadable: usize,
}

impl<'a> Shelf<'a> {
    /// Opens the store, which must be there: looking at nothing makes nothing.
    pub(super) fn open(house: &'a House, global: &Global) -> Result<Self> {
        let (_, run_dir) = house.folders(global);
        let file = run_dir.join("sessions.db");
        if !file.is_file() {
            let path = file.display().to_string();
            let sentence = house.language.text("sessions.no_store", &[("path", &path)]);
            return Err(Refusal::new("no_store", sentence).into());
        }
        Self::with(house, global, &file)
    }

    /// Opens the store in this file, which is made where it is missing.
    pub(super) fn with(house: &'a House, global: &Global, file: &Path) -> Result<Self> {
        let store = SqliteStore::open(file)?;
        tell_notices(house, &store);
        let workspace = house.current_dir.join(global.workspace.clone().unwrap_or_default());
        let workspace = workspace.canonicalize().unwrap_or(workspace);
        Ok(Self {
            house,
            store,
            tidy: tidy(house),
            look: Look::new(house.language, global),
            project: project_key(&workspace),
            chosen: global.workspace.is_some(),
            steps: steps(&file.with_file_name("manifest.json")),
        })
    }

    /// A text of the catalogue.
    pub(super) fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.house.language.text(key, values)
    }

    /// The step that a session was.
    pub(super) fn step(&self, session: &str) -> Option<String> {
        self.steps.get(session).map(|step| self.tidy.text(step))
    }

    /// The projects that are meant: the workspace's own; all of them where that was said, or where it has
    /// nothing here and was not named.
    pub(super) async fn projects(&self, all: bool) -> Result<Vec<String>> {
        let mut projects = self.store.projects().await?;
        let own = projects.contains(&self.project);
        if !all && (own || self.chosen) {
            projects.retain(|project| *project == self.project);
        }
        Ok(projects)
    }

    /// Every session of these projects.
    async fn sessions(&self, projects: &[String]) -> Result<Vec<SessionKey>> {
        let mut keys = Vec::new();
        for project in projects {
            let found = self.store.list_sessions(project).await?;
            keys.extend(found.into_iter().map(|info| SessionKey::main(project, info.session_id)));
        }
        Ok(keys)
    }

    /// The session that begins like this, in whatever project it is.
    pub(super) async fn find(&self, id: &str) -> Result<SessionKey> {
        let keys = self.sessions(&self.store.projects().await?).await?;
        let id = id.trim();
        let exact = |key: &&SessionKey| key.session == id || key.joined() == id;
        let begins = |key: &&SessionKey| {
            key.session.get(..id.len()).is_some_and(|start| start.eq_ignore_ascii_case(id))
        };
        let mut found: Vec<&SessionKey> = keys.iter().filter(exact).collect();
        if found.is_empty() && !id.is_empty() {
            found = keys.iter().filter(begins).collect();
        }
        // The same session in two projects: the workspace's own is meant.
        if found.len() > 1 && found.iter().all(|key| key.session == found[0].session) {
            found.sort_by_key(|key| key.project != self.project);
            if found[0].project == self.project {
                found.truncate(1);
            }
        }
        match found.as_slice() {
            [key] => Ok((*key).clone()),
            [] => {
                let sentence = self.say("sessions.unknown", &[("id", id)]);
                Err(Refusal::new("no_session", sentence).into())
            }
            several => {
                let same = several.iter().all(|key| key.session == several[0].session);
                let names: Vec<String> = several
                    .iter()
                    .take(10)
                    .map(|key| if same { key.joined() } else { key.session.clone() })
                    .collect();
                let values = [("id", id), ("ids", &names.join(", "))];
                Err(Refusal::new("ambiguous", self.say("sessions.ambiguous", &values)).into())
            }
        }
    }

    /// The sessions of these ids; without any, all of the projects that are meant.
    pub(super) async fn chosen(&self, ids: &[String], all: bool) -> Result<Vec<SessionKey>> {
        if ids.is_empty() {
            return self.sessions(&self.projects(all).await?).await;
        }
        let mut keys = Vec::new();
        for id in ids {
            let key = self.find(id).await?;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// A whole transcript.
    pub(super) async fn load(&self, key: &SessionKey) -> Result<Loaded> {
        let entries = self.store.load(key).await?.unwrap_or_default();
        let name = key.joined();
        let unreadable = self.store.take_notices().into_iter().find_map(|notice| match notice {
            Notice::UnreadableRows { transcript, rows } if transcript == name => Some(rows),
            _ => None,
        });
        Ok(Loaded { entries, unreadable: unreadable.unwrap_or(0) })
    }

    /// The keys of a session's subagents.
    pub(super) async fn agents(&self, key: &SessionKey) -> Result<Vec<SessionKey>> {
        let subpaths = self.store.list_subkeys(&key.project, &key.session).await?;
        let below = |subpath| SessionKey { subpath: Some(subpath), ..key.clone() };
        Ok(subpaths.into_iter().map(below).collect())
    }

    /// What the store says of a session.
    pub(super) async fn digest(&self, key: &SessionKey) -> Result<Digest> {
        let rows = self.store.list_session_summaries(&key.project).await?;
        let found = rows.iter().filter_map(|row| Digest::read(row));
        let found = found.into_iter().find(|digest| digest.session == key.session);
        Ok(found.unwrap_or_default())
    }

    /// A session with its subagents, to be drawn.
    pub(super) async fn conversation(&self, key: &SessionKey) -> Result<Conversation> {
        let mut progress = Progress::new();
        let loaded = self.load(key).await?;
        self.tell_unreadable(key, loaded.unreadable);
        let mut conversation = Conversation::read(&loaded.entries, &self.tidy);
        drop(loaded);
        let agents = self.agents(key).await?;
        for (at, agent) in agents.iter().enumerate() {
            progress.tell(|| self.reading(key, at, agents.len()));
            let loaded = self.load(agent).await?;
            self.tell_unreadable(agent, loaded.unreadable);
            let subpath = agent.subpath.as_deref().unwrap_or_default();
            conversation.add_agent(subpath, &loaded.entries, &self.tidy);
        }
        conversation.tie();
        let digest = self.digest(key).await?;
        let about = &mut conversation.about;
        about.session = self.tidy.text(&key.session);
        about.title = self.tidy.text(&digest.title);
        about.step = self.step(&key.session);
        about.folder = digest.folder.map(|folder| self.tidy.text(&folder));
        about.branch = digest.branch.map(|branch| self.tidy.text(&branch));
        Ok(conversation)
    }

    /// How far reading a session's subagents is.
    pub(super) fn reading(&self, key: &SessionKey, at: usize, all: usize) -> String {
        let done = format!("{at} / {all}");
        self.say("sessions.reading", &[("path", &key.session), ("done", &done)])
    }

    pub(super) fn tell_unreadable(&self, key: &SessionKey, rows: usize) {
        if rows > 0 {
            let notice = Notice::UnreadableRows { transcript: key.joined(), rows };
            let values = notice.values();
            let values: Vec<_> = values.iter().map(|(name, v)| (*name, v.as_str())).collect();
            super::super::output::warn(&self.say(notice.key(), &values));
        }
    }
}

/// The first letters of each id, as many as tell them all apart.
pub(super) fn short_ids(ids: &[&str]) -> HashMap<String, String> {
    let cut = |id: &str, length: usize| id.chars().take(length).collect::<String>();
    ids.iter()
        .map(|id| {
            let mut length = SHORT;
            while length < id.len()
                && ids.iter().any(|other| other != id && cut(other, length) == cut(id, length))
            {
                length += 1;
            }
            ((*id).to_owned(), cut(id, length))
        })
        .collect()
}

/// Values of settings that must not leave the store: what is named like a secret, and logins in addresses.
fn tidy(house: &House) -> Tidy {
    let mut secrets = Vec::new();
    for entry in house.settings.entries() {
        if is_secret(&entry.key) {
            // Headers are several lines of `Name: value`, of which the value is the secret.
            let lines = entry.value.lines().flat_map(|line| line.split_once(": ").map(|(_, v)| v));
            secrets.extend(lines.map(str::to_owned));
            secrets.push(entry.value.to_string());
        } else if (CREDENTIAL_KEYS.contains(&entry.key.as_ref()) || entry.key.ends_with("PROXY"))
            && let Some((_, rest)) = entry.value.split_once("://")
            && let Some((login, _)) = rest.rsplit_once('@')
        {
            secrets.push(login.to_owned());
            secrets.extend(login.split_once(':').map(|(_, password)| password.to_owned()));
        }
    }
    Tidy::new(secrets)
}

/// The steps that a manifest names; one that is missing or damaged names none.
fn steps(file: &Path) -> HashMap<String, String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    let mut steps = HashMap::new();
    for row in &rows {
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        let retired = row.get("retired").and_then(Value::as_array).into_iter().flatten();
        let ids = text("session_id").into_iter().chain(retired.filter_map(Value::as_str));
        for id in ids {
            if let Some(step) = text("step") {
                // One session may have been several steps: the first says what it was for.
                steps.entry(id.to_owned()).or_insert_with(|| step.to_owned());
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_tell_sessions_apart() {
        let ids = ["aaaaaaaa-1", "aaaaaaaa-2", "bbbbbbbb-1", "c"];
        let short = short_ids(&ids);
        assert_eq!(ids.map(|id| short[id].as_str()), ["aaaaaaaa-1", "aaaaaaaa-2", "bbbbbbbb", "c"]);
    }
}
