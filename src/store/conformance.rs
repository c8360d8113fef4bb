//! What every session store promises, as a check that any implementation can be given to.
//!
//! The first fourteen promises are those that other tools which write to such a store rely on
//! (claude-code.md A3); the rest is what flower itself needs.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use flower::store::{SqliteStore, conformance};
//!
//! let store = SqliteStore::open(":memory:".as_ref())?;
//! conformance::check(&store).await?;
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::Value;

use super::{SessionStore, StoreError};
use crate::transcript::{Entry, SessionKey, new_id};

/// A promise that a store does not keep.
#[derive(Debug, thiserror::Error)]
pub enum Breach {
    /// It does something else.
    #[error("contract {number} is not kept: {promise}; {found}")]
    Broken {
        /// Which of [`CONTRACTS`], from 1.
        number: usize,
        /// What was promised.
        promise: &'static str,
        /// What was found instead.
        found: String,
    },
    /// It fails where it must not.
    #[error("contract {number} cannot be checked: {source}")]
    Failed {
        /// Which of [`CONTRACTS`], from 1.
        number: usize,
        /// What the store says.
        source: StoreError,
    },
}

/// The promises, the first one being number 1.
pub const CONTRACTS: [&str; 22] = [
    "what was appended is loaded, in the same order and equal",
    "an unknown transcript is nothing, also below a known one",
    "several appends keep their order",
    "appending nothing does nothing",
    "a subagent's transcript is one of its own",
    "projects do not see each other",
    "sessions are listed with the time of the last write in milliseconds, none for an unknown project",
    "subagents are not in the list of sessions",
    "a deleted transcript is nothing, and deleting an unknown one is no mistake",
    "deleting a session takes its subagents and nothing else",
    "deleting a subagent takes only that",
    "the subagents of a session are listed, and no others",
    "the list of subagents leaves the session itself out, and is empty for an unknown one",
    "each session has a summary that is as new as its listing, grows with it alone and goes with it",
    "an entry with a known uuid is stored once, within an append and over several",
    "an entry without a uuid is always stored",
    "a replay changes neither time nor summary",
    "times of writes grow strictly over all sessions",
    "an entry comes back byte for byte",
    "a session is known exactly while its own transcript is stored",
    "the size of the context is that of the last reply that reports one",
    "reading one by one gives what reading at once gives, and settling changes nothing",
];

/// Checks all of [`CONTRACTS`] and tells the first that is broken.
///
/// Works in projects with names that are new each time and deletes them afterwards, so that a store
/// may be in use meanwhile.
///
/// # Errors
/// The first promise that is not kept.
pub async fn check(store: &dyn SessionStore) -> Result<(), Breach> {
    for number in 1..=CONTRACTS.len() {
        let case = Case { store, number, project: format!("-contract-{number}-{}", new_id()) };
        let checked = case.check().await;
        // What could not be deleted is not what is reported.
        let cleaned = case.clean().await;
        checked.and(cleaned)?;
    }
    Ok(())
}

/// One promise at work.
struct Case<'a> {
    store: &'a dyn SessionStore,
    number: usize,
    project: String,
}

type Checked = Result<(), Breach>;

impl Case<'_> {
    async fn check(&self) -> Checked {
        match self.number {
            1 | 3 | 4 => self.order().await,
            2 => self.unknown().await,
            5 => self.subpaths().await,
            6 => self.projects().await,
            7 | 8 | 12 | 13 => self.lists().await,
            9..=11 => self.deletion().await,
            14 | 17 => self.summaries().await,
            15 | 16 => self.uuids().await,
            18 => self.times().await,
            19 => self.bytes().await,
            20 => self.presence().await,
            21 => self.context().await,
            _ => self.pieces().await,
        }
    }

    async fn order(&self) -> Checked {
        let key = self.session("s");
        match self.number {
            1 => {
                self.append(&key, &[row("b"), row("a")]).await?;
                self.loads(&key, Some(&[row("b"), row("a")])).await
            }
            3 => {
                for batch in [&[row("z")][..], &[row("a"), row("m")], &[row("b")]] {
                    self.append(&key, batch).await?;
                }
                self.loads(&key, Some(&[row("z"), row("a"), row("m"), row("b")])).await
            }
            _ => {
                self.append(&key, &[]).await?;
                self.loads(&key, None).await?;
                self.equal(self.sessions().await?.len(), 0, "sessions after an empty append")?;
                self.append(&key, &[row("a")]).await?;
                self.append(&key, &[]).await?;
                self.loads(&key, Some(&[row("a")])).await
            }
        }
    }

    async fn unknown(&self) -> Checked {
        let key = self.session("s");
        self.loads(&key, None).await?;
        self.append(&key, &[row("a")]).await?;
        self.loads(&key.subagent("x"), None).await?;
        self.loads(&self.session("s2"), None).await
    }

    async fn subpaths(&self) -> Checked {
        let key = self.session("s");
        self.append(&key, &[row("m")]).await?;
        self.append(&key.subagent("1"), &[row("m"), row("s")]).await?;
        self.loads(&key, Some(&[row("m")])).await?;
        self.loads(&key.subagent("1"), Some(&[row("m"), row("s")])).await
    }

    async fn projects(&self) -> Checked {
        let (here, there) = (self.session("s"), SessionKey::main(self.neighbour(), "s"));
        self.append(&here, &[row("here")]).await?;
        self.append(&there, &[row("there")]).await?;
        self.append(&there.subagent("1"), &[row("x")]).await?;
        self.loads(&here, Some(&[row("here")])).await?;
        self.loads(&there, Some(&[row("there")])).await?;
        self.equal(self.sessions().await?.len(), 1, "sessions of the project")?;
        self.equal(self.subkeys("s").await?.len(), 0, "subagents of the session")
    }

    async fn lists(&self) -> Checked {
        for session in ["a", "b"] {
            let key = self.session(session);
            self.append(&key, &[row("m")]).await?;
            let agents: &[&str] = if self.number == 7 { &[] } else { &["1", "2"] };
            for agent in agents {
                self.append(&key.subagent(&format!("{session}{agent}")), &[row("s")]).await?;
            }
        }
        match self.number {
            7 | 8 => {
                self.equal(self.names().await?, names(["a", "b"]), "sessions")?;
                let times = self.sessions().await?;
                let late = times.values().all(|time| *time > 1_000_000_000_000);
                self.equal(late, true, "times later than the year 2001 in milliseconds")?;
                let unknown = self.store.list_sessions(&new_id()).await;
                self.equal(self.done(unknown)?.len(), 0, "sessions of an unknown project")
            }
            12 => {
                let agents = names(["subagents/agent-a1", "subagents/agent-a2"]);
                self.equal(self.subkeys("a").await?, agents, "subagents")
            }
            _ => {
                self.append(&self.session("alone"), &[row("m")]).await?;
                self.equal(self.subkeys("alone").await?.len(), 0, "subagents of one without any")?;
                self.equal(self.subkeys("unknown").await?.len(), 0, "subagents of an unknown one")
            }
        }
    }

    async fn deletion(&self) -> Checked {
        let (key, other) = (self.session("s"), self.session("s2"));
        let elsewhere = SessionKey::main(self.neighbour(), "s");
        let never = self.store.delete(&self.session("never")).await;
        self.done(never)?;
        for main in [&key, &other, &elsewhere] {
            for transcript in [main.clone(), main.subagent("1"), main.subagent("2")] {
                self.append(&transcript, &[row("a")]).await?;
            }
        }
        let kept = Some(&[row("a")][..]);
        if self.number == 11 {
            self.delete(&key.subagent("1")).await?;
            self.loads(&key.subagent("1"), None).await?;
            self.loads(&key.subagent("2"), kept).await?;
            self.loads(&key, kept).await?;
            self.equal(self.summary_of("s").await?.is_some(), true, "a summary that stays")?;
            return self.equal(
                self.subkeys("s").await?,
                names(["subagents/agent-2"]),
                "subagents that stay",
            );
        }
        self.delete(&key).await?;
        self.loads(&key, None).await?;
        if self.number == 10 {
            self.loads(&key.subagent("1"), None).await?;
            self.equal(self.subkeys("s").await?.len(), 0, "subagents that stay")?;
            for main in [&other, &elsewhere] {
                self.loads(main, kept).await?;
                self.loads(&main.subagent("1"), kept).await?;
                self.loads(&main.subagent("2"), kept).await?;
            }
        }
        self.equal(self.names().await?, names(["s2"]), "sessions that stay")?;
        // Not even the uuid is remembered.
        self.append(&key, &[row("a")]).await?;
        self.loads(&key, kept).await
    }

    async fn summaries(&self) -> Checked {
        let key = self.session("s");
        let titled = |title: &str| entry(&format!(r#"{{"type":"t","customTitle":"{title}"}}"#));
        self.append(&key, &[row("a"), titled("first")]).await?;
        self.append(&key, &[titled("second")]).await?;
        self.append(&SessionKey::main(self.neighbour(), "s"), &[titled("third")]).await?;
        let summary = self.summary_of("s").await?;
        let title = summary.as_ref().map(|summary| summary["data"]["custom_title"].clone());
        self.equal(title, Some(Value::from("second")), "the title in the summary")?;
        let time = self.sessions().await?.get("s").copied();
        if self.number == 17 {
            self.append(&key, &[row("a")]).await?;
            let after = self.sessions().await?.get("s").copied();
            self.equal(after, time, "the time after a replay")?;
            return self.equal(self.summary_of("s").await?, summary, "the summary after a replay");
        }
        let written = summary.as_ref().and_then(|summary| summary["mtime"].as_i64());
        self.equal(written >= time, true, "a summary that is as new as the listing")?;
        self.append(&key.subagent("1"), &[titled("agent")]).await?;
        let after = self.summary_of("s").await?;
        self.equal(after, summary, "the summary after a subagent wrote")?;
        self.delete(&key).await?;
        self.equal(self.summary_of("s").await?, None, "the summary of a deleted session")
    }

    async fn uuids(&self) -> Checked {
        let key = self.session("s");
        let bare = |name: &str| entry(&format!(r#"{{"type":"tag","tag":"{name}"}}"#));
        if self.number == 16 {
            self.append(&key, &[bare("x"), bare("x")]).await?;
            self.append(&key, &[bare("x")]).await?;
            return self.loads(&key, Some(&[bare("x"), bare("x"), bare("x")])).await;
        }
        let other = entry(r#"{"type":"user","uuid":"a","text":"another text under a known uuid"}"#);
        self.append(&key, &[row("a"), other.clone(), row("b")]).await?;
        self.append(&key, &[row("b"), other, row("c"), row("a")]).await?;
        self.loads(&key, Some(&[row("a"), row("b"), row("c")])).await
    }

    async fn times(&self) -> Checked {
        let mut last = 0;
        for number in 0..20 {
            let session = if number % 2 == 0 { "a" } else { "b" };
            self.append(&self.session(session), &[row(&number.to_string())]).await?;
            let now = self.sessions().await?.get(session).copied().unwrap_or(0);
            self.equal(now > last, true, "a later time than that of the write before")?;
            last = now;
        }
        Ok(())
    }

    async fn bytes(&self) -> Checked {
        let texts = [
            r#"{ "uuid" : "a" , "n": 12345678901234567890123, "f": 1.0, "e": 1E5, "z": -0.0 }"#,
            r#"{"uuid":"b","half":"\ud83d","nul":"\u0000","é":"\u00e9é","n":null,"twice":1,"twice":2}"#,
            r#"{"uuid":"c","z":1,"a":[ ],"deep":[[[[[[{"x":"</script>'\"%_;--"}]]]]]]}"#,
        ];
        let key = self.session("s");
        self.append(&key, &texts.map(entry)).await?;
        self.loads(&key, Some(&texts.map(entry))).await
    }

    async fn presence(&self) -> Checked {
        let key = self.session("s");
        let has = async |wanted: bool| {
            let found = self.store.has_session(&self.project, "s").await;
            self.equal(self.done(found)?, wanted, "whether the session is known")
        };
        has(false).await?;
        self.append(&key.subagent("1"), &[row("a")]).await?;
        has(false).await?;
        self.append(&key, &[row("a")]).await?;
        has(true).await?;
        self.delete(&key).await?;
        has(false).await
    }

    async fn context(&self) -> Checked {
        let key = self.session("s");
        let size = async |wanted: u64| {
            let found = self.store.last_context(&self.project, "s").await;
            self.equal(self.done(found)?, wanted, "tokens")
        };
        size(0).await?;
        let reply = r#"{"type":"assistant","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":null,"output_tokens":900}}}"#;
        let silent = r#"{"type":"assistant","message":{"usage":{"input_tokens":0}}}"#;
        self.append(&key, &[entry(reply), entry(silent), row("a")]).await?;
        size(25).await?;
        self.append(&key.subagent("1"), &[entry(&reply.replace(":5,", ":7,"))]).await?;
        size(25).await
    }

    async fn pieces(&self) -> Checked {
        let key = self.session("s");
        // More than one piece of any reasonable size.
        let pad = "x".repeat(100_000);
        let rows: Vec<Entry> = (0..40)
            .map(|number| entry(&format!(r#"{{"uuid":"{number}","pad":"{pad}"}}"#)))
            .collect();
        self.append(&key, &rows).await?;
        let settled = self.store.settle().await;
        self.done(settled)?;
        let mut texts: Vec<String> = Vec::new();
        let known = self
            .store
            .load_each(&key, &mut |entry| {
                texts.push(entry.raw().to_owned());
                ControlFlow::Continue(())
            })
            .await;
        self.equal(self.done(known)?, true, "whether the transcript is known")?;
        let all = rows.iter().map(Entry::raw).eq(texts.iter().map(String::as_str));
        self.equal(all, true, "the same entries in the same order")?;
        let mut first = Vec::new();
        let mut three = |entry: Entry| {
            first.push(entry);
            if first.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let unknown = self.store.load_each(&self.session("no"), &mut three).await;
        self.equal(self.done(unknown)?, false, "whether an unknown transcript is known")?;
        let known = self.store.load_each(&key, &mut three).await;
        self.done(known)?;
        self.equal(first.len(), 3, "entries until reading was broken off")?;
        self.loads(&key, Some(&rows)).await
    }

    /// Deletes everything that the case may have made.
    async fn clean(&self) -> Checked {
        for project in [self.project.clone(), self.neighbour()] {
            for session in ["s", "s2", "a", "b", "alone"] {
                let deleted = self.store.delete(&SessionKey::main(&project, session)).await;
                self.done(deleted)?;
            }
        }
        Ok(())
    }

    fn session(&self, name: &str) -> SessionKey {
        SessionKey::main(&self.project, name)
    }

    /// A project whose name begins like that of the case.
    fn neighbour(&self) -> String {
        format!("{}-2", self.project)
    }

    async fn append(&self, key: &SessionKey, entries: &[Entry]) -> Checked {
        self.done(self.store.append(key, entries).await)
    }

    async fn delete(&self, key: &SessionKey) -> Checked {
        self.done(self.store.delete(key).await)
    }

    async fn loads(&self, key: &SessionKey, wanted: Option<&[Entry]>) -> Checked {
        let found = self.done(self.store.load(key).await)?;
        let texts = |entries: &[Entry]| entries.iter().map(|e| e.raw().to_owned()).collect();
        let (found, wanted): (Option<Vec<String>>, Option<Vec<String>>) =
            (found.as_deref().map(texts), wanted.map(texts));
        self.equal(found, wanted, "entries")
    }

    async fn sessions(&self) -> Result<BTreeMap<String, i64>, Breach> {
        let listed = self.done(self.store.list_sessions(&self.project).await)?;
        Ok(listed.into_iter().map(|info| (info.session_id, info.mtime)).collect())
    }

    async fn names(&self) -> Result<Vec<String>, Breach> {
        let listed = self.done(self.store.list_sessions(&self.project).await)?;
        Ok(names(listed.iter().map(|info| info.session_id.as_str())))
    }

    async fn subkeys(&self, session: &str) -> Result<Vec<String>, Breach> {
        let listed = self.done(self.store.list_subkeys(&self.project, session).await)?;
        Ok(names(listed.iter().map(String::as_str)))
    }

    async fn summary_of(&self, session: &str) -> Result<Option<Value>, Breach> {
        let texts = self.done(self.store.list_session_summaries(&self.project).await)?;
        let summaries: Vec<Value> =
            texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        self.equal(summaries.len(), texts.len(), "summaries that are JSON")?;
        Ok(summaries.into_iter().find(|summary| summary["session_id"] == session))
    }

    fn done<T>(&self, result: Result<T, StoreError>) -> Result<T, Breach> {
        result.map_err(|source| Breach::Failed { number: self.number, source })
    }

    fn equal<T: PartialEq + std::fmt::Debug>(&self, found: T, wanted: T, what: &str) -> Checked {
        if found == wanted {
            return Ok(());
        }
        let mut found = format!("{what}: {found:?} instead of {wanted:?}");
        if let Some((end, _)) = found.char_indices().nth(2000) {
            found.truncate(end);
        }
        let promise = CONTRACTS[self.number - 1];
        Err(Breach::Broken { number: self.number, promise, found })
    }
}

/// Sorted, since lists of a store have no order.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    names.sort();
    names
}

fn entry(text: &str) -> Entry {
    Entry::parse(text).expect("the check's own entries are JSON objects")
}

fn row(uuid: &str) -> Entry {
    entry(&format!(
        r#"{{"type":"user","uuid":"{uuid}","timestamp":"2025-11-02T10:00:01.000Z","message":{{"role":"user","content":"hi"}}}}"#
    ))
}
