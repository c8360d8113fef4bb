//! `flower sessions serve`: the session store of a run folder for other programs, as JSON lines.
//!
//! Each line of standard input is a request, and each is answered with one line on standard output, in
//! the same order:
//!
//! ```text
//! > {"id":1,"method":"append","params":{"key":{"project_key":"-work","session_id":"s1"},"entries":[{"type":"user","uuid":"a"}]}}
//! < {"id":1,"result":null}
//! > {"id":2,"method":"load","params":{"key":{"project_key":"-work","session_id":"s1"}}}
//! < {"id":2,"result":[{"type":"user","uuid":"a"}]}
//! > {"id":3,"method":"load","params":{"key":{"project_key":"-work","session_id":"s1","subpath":"subagents/agent-1"}}}
//! < {"id":3,"result":null}
//! > {"id":4,"method":"list_sessions","params":{"project_key":"-work"}}
//! < {"id":4,"result":[{"session_id":"s1","mtime":1760000000000}]}
//! > {"id":5,"method":"lode"}
//! < {"id":5,"error":{"code":"unknown_method","message":"there is no method \"lode\""}}
//! ```
//!
//! | method | params | result |
//! |---|---|---|
//! | `append` | `key`, `entries` | null, once it survives the end of this process |
//! | `load` | `key` | the entries in order, or null where the key is unknown |
//! | `list_sessions` | `project_key` | `[{"session_id":…,"mtime":…}]`, milliseconds since 1970 |
//! | `list_session_summaries` | `project_key` | the summaries |
//! | `list_subkeys` | `key` | subpaths of the session |
//! | `delete` | `key` | null |
//! | `has_session` | `key` | true or false |
//! | `last_context` | `key` | tokens |
//! | `projects` | | names, sorted |
//! | `settle` | | null, once everything appended survives a loss of power; to be called for each result |
//! | `close` | | null; the program ends then, as at the end of its input |
//!
//! A key is `{"project_key":…,"session_id":…}`, for a subagent's transcript with `"subpath":…`. Entries
//! pass through byte for byte; only a line break between an entry's fields, which no line can hold,
//! comes back as a space. A line may have any length. An error has a `code`: `malformed` (the request
//! is not as it must be), `unknown_method`, or `store` (the store failed); whatever it is, nothing of
//! that request is stored, and the next line is read. An answer to a line that is no JSON object has
//! the `id` null.

use std::io::{BufRead, Write};
use std::ops::ControlFlow;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cli::args::Global;
use crate::cli::assemble::{House, tell_notices};
use crate::runtime::RunFolder;
use crate::store::{SessionStore, SqliteStore, StoreError};
use crate::transcript::{Entry, RawObject, SessionKey};

/// Serves standard input until it ends.
pub(super) async fn run(house: &House, global: &Global) -> anyhow::Result<bool> {
    let folder = global.run_dir.as_ref().unwrap_or(&house.run_dir);
    let folder = RunFolder::open(&house.current_dir.join(folder))?;
    let store = SqliteStore::open(&folder.file("sessions.db"))?;
    tell_notices(house, &store);
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let served = serve(&store, &mut input, &mut output).await;
    tell_notices(house, &store);
    store.close().await?;
    served?;
    Ok(true)
}

async fn serve(
    store: &SqliteStore,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> std::io::Result<()> {
    loop {
        // New each time, so that one long line does not occupy memory for ever.
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let request = Request::parse(&line);
        let answer = match &request {
            Ok(request) => request.answer(store).await,
            Err(fault) => Err(Fault::malformed(fault)),
        };
        let (id, closes) = match &request {
            Ok(request) => (request.id, request.method == "close" && answer.is_ok()),
            Err(_) => ("null", false),
        };
        output.write_all(reply(id, answer).as_bytes())?;
        output.flush()?;
        if closes {
            return Ok(());
        }
    }
}

fn reply(id: &str, answer: Result<String, Fault>) -> String {
    match answer {
        Ok(result) => format!("{{\"id\":{id},\"result\":{result}}}\n"),
        Err(fault) => {
            let error = json!({"code": fault.code, "message": fault.message});
            format!("{{\"id\":{id},\"error\":{error}}}\n")
        }
    }
}

/// Why a request is not answered as it wants.
struct Fault {
    code: &'static str,
    message: String,
}

impl Fault {
    fn malformed(what: impl Into<String>) -> Self {
        Self { code: "malformed", message: what.into() }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self { code: "store", message: error.to_string() }
    }
}

struct Request<'a> {
    /// As it was written.
    id: &'a str,
    method: String,
    params: RawObject<'a>,
}

impl<'a> Request<'a> {
    fn parse(line: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line).map_err(|_| "a request must be UTF-8")?;
        let fields = RawObject::parse(text)
            .map_err(|error| format!("a request must be a JSON object: {error}"))?;
        Ok(Self {
            id: fields.get("id").unwrap_or("null"),
            method: fields.string("method").unwrap_or_default(),
            params: fields
                .get("params")
                .and_then(|params| RawObject::parse(params).ok())
                .unwrap_or_default(),
        })
    }

    /// The result as JSON.
    async fn answer(&self, store: &SqliteStore) -> Result<String, Fault> {
        const NOTHING: &str = "null";
        Ok(match self.method.as_str() {
            "append" => {
                store.append(&self.key()?, &self.entries()?).await?;
                NOTHING.to_owned()
            }
            "load" => load(store, &self.key()?).await?.unwrap_or_else(|| NOTHING.to_owned()),
            "list_sessions" => {
                let sessions = store.list_sessions(&self.project()?).await?;
                let listed = sessions
                    .into_iter()
                    .map(|info| json!({"session_id": info.session_id, "mtime": info.mtime}));
                Value::Array(listed.collect()).to_string()
            }
            "list_session_summaries" => {
                let summaries = store.list_session_summaries(&self.project()?).await?;
                let summaries: Vec<_> = summaries.iter().map(|text| one_line(text)).collect();
                format!("[{}]", summaries.join(","))
            }
            "list_subkeys" => {
                let key = self.key()?;
                Value::from(store.list_subkeys(&key.project, &key.session).await?).to_string()
            }
            "delete" => {
                store.delete(&self.key()?).await?;
                NOTHING.to_owned()
            }
            "has_session" => {
                let key = self.key()?;
                store.has_session(&key.project, &key.session).await?.to_string()
            }
            "last_context" => {
                let key = self.key()?;
                store.last_context(&key.project, &key.session).await?.to_string()
            }
            "projects" => Value::from(store.projects().await?).to_string(),
            "settle" => {
                store.settle().await?;
                NOTHING.to_owned()
            }
            "close" => {
                store.close().await?;
                NOTHING.to_owned()
            }
            other => {
                let message = format!("there is no method {other:?}");
                return Err(Fault { code: "unknown_method", message });
            }
        })
    }

    fn project(&self) -> Result<String, Fault> {
        name(&self.params, "project_key")
    }

    fn key(&self) -> Result<SessionKey, Fault> {
        let key = self.params.get("key").and_then(|key| RawObject::parse(key).ok());
        let key = key.ok_or_else(|| Fault::malformed("`key` must be an object"))?;
        Ok(SessionKey {
            project: name(&key, "project_key")?,
            session: name(&key, "session_id")?,
            subpath: match key.get("subpath") {
                None | Some("null") => None,
                Some(_) => Some(name(&key, "subpath")?),
            },
        })
    }

    fn entries(&self) -> Result<Vec<Entry>, Fault> {
        let entries = self.params.get("entries").unwrap_or_default();
        let entries: Vec<&RawValue> = serde_json::from_str(entries)
            .map_err(|_| Fault::malformed("`entries` must be an array"))?;
        let entry = |(place, raw): (usize, &&RawValue)| {
            Entry::parse(raw.get())
                .map_err(|error| Fault::malformed(format!("entry {place} of the array: {error}")))
        };
        entries.iter().enumerate().map(entry).collect()
    }
}

/// A string of an object. Read strictly: half of a surrogate pair would be replaced, and then two names
/// could be one.
fn name(fields: &RawObject<'_>, field: &str) -> Result<String, Fault> {
    fields
        .get(field)
        .and_then(|raw| serde_json::from_str(raw).ok())
        .ok_or_else(|| Fault::malformed(format!("`{field}` must be a string")))
}

/// The entries as a JSON array; only their text is in memory.
async fn load(store: &SqliteStore, key: &SessionKey) -> Result<Option<String>, StoreError> {
    let mut array = String::from("[");
    let mut add = |entry: Entry| {
        if array.len() > 1 {
            array.push(',');
        }
        array.push_str(&one_line(entry.raw()));
        ControlFlow::Continue(())
    };
    if !store.load_each(key, &mut add).await? {
        return Ok(None);
    }
    array.push(']');
    Ok(Some(array))
}

/// JSON without the line breaks that may stand between its tokens.
fn one_line(json: &str) -> std::borrow::Cow<'_, str> {
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ").into() } else { json.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is answered to these lines.
    fn talk(store: &SqliteStore, input: &[u8]) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut output = Vec::new();
        runtime.block_on(serve(store, &mut &input[..], &mut output)).unwrap();
        String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
    }

    fn store() -> SqliteStore {
        SqliteStore::open(":memory:".as_ref()).unwrap()
    }

    #[test]
    fn the_example_in_the_description_is_what_happens() {
        let lines = |mark: &str| -> Vec<&str> {
            include_str!("serve.rs")
                .lines()
                .filter_map(|line| line.strip_prefix("//! ")?.strip_prefix(mark))
                .collect()
        };
        let (requests, answers) = (lines("> "), lines("< "));
        let got = talk(&store(), requests.join("\n").as_bytes());
        assert_eq!(got.len(), 5);
        for (got, wanted) in got.iter().zip(answers) {
            // Nobody knows the time in advance.
            let now: String = match got.find("\"mtime\":") {
                Some(at) => got[at + 8..].chars().take_while(char::is_ascii_digit).collect(),
                None => String::new(),
            };
            assert_eq!(got, &wanted.replace("1760000000000", &now));
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_answered_and_the_next_one_is_read() {
        let projects = r#"{"id":"x","method":"projects"}"#;
        let lines: [(&[u8], &str, &str); 10] = [
            (b"nonsense", "null", "malformed"),
            (b"[1]", "null", "malformed"),
            (b"{\"id\":1", "null", "malformed"),
            (b"\xff\xfe{}", "null", "malformed"),
            (br#"{"id":7}"#, "7", "unknown_method"),
            (br#"{"id":7,"method":"load"}"#, "7", "malformed"),
            (br#"{"id":7,"method":"load","params":{"key":{"project_key":1,"session_id":"s"}}}"#, "7", "malformed"),
            (br#"{"id":7,"method":"load","params":{"key":{"project_key":"\ud83d","session_id":"s"}}}"#, "7", "malformed"),
            (br#"{"id":[7],"method":"append","params":{"key":{"project_key":"p","session_id":"s"},"entries":[{"uuid":"a"},3]}}"#, "[7]", "malformed"),
            (br#"{"id":7,"method":"append","params":{"key":{"project_key":"p/q","session_id":"s"},"entries":[{"uuid":"a"}]}}"#, "7", "store"),
        ];
        for (line, id, code) in lines {
            let input = [line, b"\n\n  \r\n", projects.as_bytes()].concat();
            let got = talk(&store(), &input);
            let shown = String::from_utf8_lossy(line);
            assert_eq!(got.len(), 2, "{shown}: {got:?}");
            let start = format!(r#"{{"id":{id},"error":{{"code":"{code}","message":""#);
            assert!(got[0].starts_with(&start), "{shown}: {}", got[0]);
            assert_eq!(got[1], r#"{"id":"x","result":[]}"#, "nothing of it is stored");
        }
    }

    #[test]
    fn closing_ends_the_conversation() {
        let store = store();
        let input = b"{\"id\":1,\"method\":\"close\"}\n{\"id\":2,\"method\":\"projects\"}\n";
        assert_eq!(talk(&store, input), [r#"{"id":1,"result":null}"#]);
    }

    #[test]
    fn an_entry_over_several_lines_comes_back_in_one() {
        let store = store();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let entry = Entry::parse("{\r\n\"uuid\": \"a\\n\"\n}").unwrap();
        runtime.block_on(store.append(&SessionKey::main("p", "s"), &[entry])).unwrap();
        let load =
            br#"{"id":1,"method":"load","params":{"key":{"project_key":"p","session_id":"s"}}}"#;
        assert_eq!(talk(&store, load), [r#"{"id":1,"result":[{  "uuid": "a\n" }]}"#]);
    }
}
