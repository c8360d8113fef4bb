//! What lists and checks ask of the database: sizes without reading texts, and whether the file is whole.

use super::StoreError;
use super::database::{Database, below};
use super::schema::patiently;
use super::sqlite::SqliteStore;

/// How much one transcript holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The session, with the subpath behind a slash for a subagent.
    pub transcript: String,
    /// Rows, also those that are no entries.
    pub entries: u64,
    /// Bytes of their texts.
    pub bytes: u64,
}

impl SqliteStore {
    /// The sizes of all transcripts of a project, in the order of their names. Texts are not read.
    ///
    /// # Errors
    /// Where the database fails or the store is closed.
    pub async fn sizes(&self, project: &str) -> Result<Vec<Held>, StoreError> {
        let prefix = format!("{project}/");
        self.ask(move |database| database.sizes(&prefix)).await
    }

    /// What SQLite finds wrong with the file, at most a hundred lines; nothing where it is whole. Reads
    /// all of it.
    ///
    /// # Errors
    /// Where the database fails or the store is closed.
    pub async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        self.ask(|database| database.integrity()).await
    }
}

impl Database {
    fn sizes(&self, prefix: &str) -> Result<Vec<Held>, rusqlite::Error> {
        let (from, to) = below(prefix);
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        patiently(|| {
            self.connection
                .prepare_cached(
                    "SELECT store_key, count(*), sum(octet_length(payload)) FROM entries
                     WHERE store_key >= ?1 AND store_key < ?2 GROUP BY store_key ORDER BY store_key",
                )?
                .query_map([&from, &to], |row| {
                    let key: String = row.get(0)?;
                    Ok(Held {
                        transcript: key[prefix.len()..].to_owned(),
                        entries: count(row.get(1)?),
                        bytes: count(row.get(2)?),
                    })
                })?
                .collect()
        })
    }

    fn integrity(&self) -> Result<Vec<String>, rusqlite::Error> {
        let mut query = self.connection.prepare("PRAGMA integrity_check(100)")?;
        let lines: Vec<String> =
            query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let whole = lines.first().is_some_and(|line| line == "ok");
        Ok(if whole { Vec::new() } else { lines })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::SessionStore;
    use crate::transcript::{Entry, SessionKey};

    #[tokio::test]
    async fn sizes_are_bytes_and_belong_to_one_project() {
        let store = SqliteStore::open(Path::new(":memory:")).unwrap();
        let key = SessionKey::main("p", "s");
        let row = |text: &str| Entry::parse(text).unwrap();
        store.append(&key, &[row(r#"{"a":"é"}"#), row("{}")]).await.unwrap();
        store.append(&key.subagent("x"), &[row("{}")]).await.unwrap();
        store.append(&SessionKey::main("p-2", "t"), &[row("{}")]).await.unwrap();
        let held = |name: &str, entries, bytes| Held { transcript: name.into(), entries, bytes };
        assert_eq!(
            store.sizes("p").await.unwrap(),
            [held("s", 2, 12), held("s/subagents/agent-x", 1, 2)]
        );
        assert_eq!(store.sizes("none").await.unwrap(), []);
        assert_eq!(store.integrity().await.unwrap(), Vec::<String>::new());
    }
}
