//! What is stored can be listed, read, taken out, taken in and checked.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use regex::Regex;
use serde_json::{Value, json};

use crate::house::{House, ends_with, stderr, stdout};

const ID: &str = "0cc96919-9496-414b-b3b1-9bb937090d00";
const OTHER: &str = "0cc96919-1111-4111-8111-9bb937090d00";

/// A machine on which the demo has run.
fn demonstrated() -> House {
    let house = House::new();
    ends_with(&mut house.flower(&["demo"]), 0);
    house
}

fn sessions(house: &House, words: &[&str], code: i32) -> String {
    stdout(&ends_with(&mut house.flower(&[&["sessions"], words].concat()), code))
}

/// JSON lines.
fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The text without what differs between two runs.
fn steady(house: &House, text: &str) -> String {
    let mut text = text.replace(house.project.to_str().unwrap(), "[project]");
    for (pattern, instead) in [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]"),
        (r"(?m)^[0-9a-f]{8}  ", "[short]  "),
        (r"/[^ <]*/copy-[A-Za-z0-9]+/", "[copy]/"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[time]"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d( - \d{4}-\d\d-\d\d \d\d:\d\d)?", "[day]"),
        (r"\d\d:\d\d:\d\d", "[clock]"),
        (r"\((just now|\d+ min ago)\)", "([ago])"),
        (r"\d+\.\d KB", "[size]"),
        // What a role is told changes for reasons of its own.
        (r"(?s)You coordinate\. .*?(```|</pre>)", "[instructions]\n$1"),
        (r"(?s)<style>.*</style>", "<style>[style]</style>"),
        (r"flower \d+\.\d+\.\d+", "flower [version]"),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, instead).into_owned();
    }
    text
}

fn prompt(uuid: &str, text: &str) -> String {
    json!({"type": "user", "uuid": uuid, "parentUuid": null, "sessionId": ID,
        "timestamp": "2026-01-02T03:04:05.000Z", "message": {"role": "user", "content": text}})
    .to_string()
}

#[test]
fn the_demos_run_is_pleasant_to_read() {
    let house = demonstrated();
    let runs = ["-r", "flower-demo/runs"];
    let list = sessions(&house, &[&["list"], &runs[..]].concat(), 0);
    insta::assert_snapshot!("list", steady(&house, &list));
    let listed = rows(&sessions(&house, &[&["list", "--json"], &runs[..]].concat(), 0));
    let work = listed.iter().find(|row| row["step"] == "work").unwrap();
    assert_eq!((work["subagents"].as_u64(), listed.len()), (Some(3), 5));
    // The beginning of an id is enough.
    let id = &work["session"].as_str().unwrap()[..13];
    let out = |words: &[&str]| sessions(&house, &[words, &runs[..]].concat(), 0);
    insta::assert_snapshot!("show", steady(&house, &out(&["show", id])));
    let all = out(&["show", id, "--subagents", "-v"]);
    assert!(all.contains("You coordinate.") && all.contains("| Agent") && !all.contains('\u{1b}'));
    assert!(out(&["show", id, "--color", "always"]).contains("\u{1b}[36m"));
    let parts = rows(&out(&["show", id, "--json"]));
    assert_eq!(parts[0]["step"], "work");
    assert!(parts.iter().any(|part| part["tool"] == "Edit" && !part["agent"].is_null()));
    insta::assert_snapshot!(
        "markdown",
        steady(&house, &out(&["export", id, "--format", "markdown"]))
    );
    let page = out(&["export", id, "--format", "html"]);
    for foreign in ["<script", "<link", "<img", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    insta::assert_snapshot!("html", steady(&house, &page));
    // A whole run has nothing to find.
    let checked = rows(&out(&["check", "--json"]));
    assert_eq!((checked.len(), &checked[0]["database"]), (9, &json!([])));
    // In every language.
    for language in ["zh", "ru"] {
        assert_ne!(out(&["list", "--lang", language]), list);
        assert_ne!(out(&["show", id, "--lang", language]), out(&["show", id]));
    }
}

#[test]
fn what_is_exported_comes_back_the_same_and_only_once() {
    let house = demonstrated();
    let listed = rows(&sessions(&house, &["list", "--json", "-r", "flower-demo/runs"], 0));
    let work = listed.iter().find(|row| row["step"] == "work").unwrap();
    let id = work["session"].as_str().unwrap();
    sessions(&house, &["export", id, "-r", "flower-demo/runs", "-o", "out/"], 0);
    let sum = |text: &str, name: &str| -> u64 {
        rows(text).iter().map(|row| row[name].as_u64().unwrap()).sum()
    };
    let first = sessions(&house, &["import", "out", "--json"], 0);
    let again = sessions(&house, &["import", "out", "--json"], 0);
    assert_eq!((sum(&first, "known"), sum(&again, "new")), (0, 0));
    assert_eq!(sum(&first, "new"), sum(&again, "known"));
    // Byte for byte, subagents and what they are included.
    sessions(&house, &["export", id, "-o", "back/"], 0);
    let difference = house.command("diff").args(["-r", "out", "back"]).output().unwrap();
    assert!(difference.status.success(), "{}", stdout(&difference));
    let stored: Vec<String> = {
        let db = house.project.join("flower-demo/runs/sessions.db");
        let db = rusqlite::Connection::open(db).unwrap();
        let mut query =
            db.prepare("SELECT payload FROM entries WHERE store_key LIKE ?1 ORDER BY seq").unwrap();
        let rows = query.query_map([format!("%/{id}")], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(house.read(&format!("back/{id}.jsonl")), stored.join("\n") + "\n");
    // The project is the workspace's own, or the folder's name where that was asked for.
    let project = |house: &House, run: &str| {
        rows(&sessions(house, &["list", "--all", "--json", "-r", run], 0))[0]["project"].clone()
    };
    let own = house.project.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    assert_eq!(project(&house, "runs"), own.as_str());
    sessions(&house, &["import", "out", "--keep-project", "-r", "kept"], 0);
    assert_eq!(project(&house, "kept"), "out");
}

/// Each is a report of somebody's lost conversation (robustness.md A45).
#[test]
fn damaged_transcripts_come_in_as_far_as_they_are_good() {
    let house = House::new();
    let (one, two, three) = (prompt("1", "first"), prompt("2", "second 😀"), prompt("3", "third"));
    let attachment =
        format!(r#"{{"type":"attachment","uuid":"4","sessionId":"{ID}","attachment":null}}"#);
    let half = &two.as_bytes()[..two.find('😀').unwrap() + 2];
    let nul = [0; 400];
    let lone = one.replace("first", "half \\ud83d");
    let files: Vec<(&str, Vec<u8>, Vec<&str>, usize)> = vec![
        (
            "half",
            [half, one.as_bytes(), b"\n", three.as_bytes(), b"\n"].concat(),
            vec![&one, &three],
            2,
        ),
        ("bad", format!("{one}\n{{oops\n{three}\n").into_bytes(), vec![&one, &three], 1),
        ("nul", [one.as_bytes(), b"\n", &nul, three.as_bytes()].concat(), vec![&one, &three], 1),
        (
            "nuls",
            [one.as_bytes(), b"\n", &nul, b"\n", three.as_bytes()].concat(),
            vec![&one, &three],
            1,
        ),
        ("empty", vec![], vec![], 0),
        ("unended", format!("{one}\n{two}").into_bytes(), vec![&one, &two], 0),
        ("windows", format!("\u{feff}{one}\r\n{two}\r\n").into_bytes(), vec![&one, &two], 0),
        ("attachment", format!("{one}\n{attachment}\n").into_bytes(), vec![&one, &attachment], 0),
        ("surrogate", format!("{lone}\n").into_bytes(), vec![&lone], 0),
        ("fused", format!("{one}{two}\n").into_bytes(), vec![&one, &two], 1),
        ("foreign", format!("{one}\n[1]\n\"x\"\n").into_bytes(), vec![&one], 2),
    ];
    for (name, content, good, damage) in files {
        let (file, run) = (format!("{name}/{ID}.jsonl"), format!("runs-{name}"));
        house.write(&file, content);
        let taken = rows(&sessions(&house, &["import", &file, "-r", &run, "--json"], 0));
        assert_eq!(taken[0]["new"], good.len(), "{name}");
        assert_eq!(taken[0]["damage"].as_array().unwrap().len(), damage, "{name}: {taken:?}");
        if !good.is_empty() {
            let out = sessions(&house, &["export", ID, "-r", &run], 0);
            assert_eq!(out.lines().collect::<Vec<_>>(), good, "{name}");
            // Whatever it is, it can be looked at.
            sessions(&house, &["show", ID, "-r", &run, "-v"], 0);
            sessions(&house, &["list", "-r", &run], 0);
        }
    }
    let said = sessions(&house, &["import", "bad", "half", "-r", "again"], 0);
    assert!(said.contains(&format!("{ID}.jsonl:2: 5 bytes")), "{said}");
}

#[test]
fn what_is_wrong_with_a_session_is_found_and_a_mended_copy_is_written() {
    let house = House::new();
    let call = json!({"type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": ID,
        "message": {"role": "assistant", "id": "m", "model": "x", "content": [
            {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}});
    let stray = prompt("3", "later").replace("null", "\"lost\"");
    house.write(&format!("{ID}.jsonl"), format!("{}\n{call}\n{stray}\n", prompt("1", "go")));
    house.write(&format!("{OTHER}.jsonl"), prompt("9", "sound").replace(ID, OTHER));
    sessions(&house, &["import", ".", "-r", "runs"], 0);
    let checked = rows(&sessions(&house, &["check", "--json"], 1));
    let of =
        |id: &str| checked.iter().find(|row| row["session"] == id).unwrap()["findings"].clone();
    assert_eq!(of(OTHER), json!({}));
    assert_eq!(of(ID).as_object().unwrap().len(), 2, "{}", of(ID));
    assert!(sessions(&house, &["check", "0cc96919-9"], 1).contains("x 0cc96919"));
    sessions(&house, &["check", OTHER], 0);

    sessions(&house, &["check", ID, "--write", "mended.jsonl"], 1);
    let mended = rows(&house.read("mended.jsonl"));
    assert!(mended.iter().any(|row| row["message"]["content"][0]["tool_use_id"] == "t"));
    assert_eq!(sessions(&house, &["export", ID], 0).lines().count(), 3, "the record stays");
    ends_with(&mut house.flower(&["sessions", "check", ID, "--write", "mended.jsonl"]), 1);
    ends_with(&mut house.flower(&["sessions", "check", "--write", "all.jsonl"]), 2);
    assert!(!house.exists("all.jsonl"));

    // A row that is no entry, then a file with a hole in it.
    let path = house.project.join("runs/sessions.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE entries SET payload = '{\"half' WHERE store_key LIKE '%' || ?1", [OTHER])
        .unwrap();
    drop(db);
    let checked = rows(&sessions(&house, &["check", OTHER, "--json"], 1));
    assert_eq!(checked[1]["findings"], json!({"unreadable_row": 1}));
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 4096;
    bytes[last..].fill(7);
    std::fs::write(&path, bytes).unwrap();
    let output = house.flower(&["sessions", "check", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(!stderr(&output).contains("panicked"));
}

#[test]
fn no_secret_leaves_the_store_however_it_is_written_there() {
    let house = House::new();
    let canary = "canary-\"quoted\"-0123456789";
    let twice = json!({"type": "user", "uuid": "2", "parentUuid": "1", "sessionId": ID,
        "message": {"role": "user", "content": format!("again {canary}")}})
    .to_string()
    .replace("canary", "\\u0063anary");
    let key = "sk-ant-api03-KKKKKKKK";
    house.write(
        &format!("{ID}.jsonl"),
        format!("{}\n{twice}\n{}\n", prompt("1", canary), prompt("3", &format!("key {key}"))),
    );
    let flower = |words: &[&str]| {
        let mut command = house.flower(&[&["sessions"], words].concat());
        command.env("ANTHROPIC_AUTH_TOKEN", canary);
        let output = command.output().unwrap();
        stdout(&output) + &stderr(&output)
    };
    flower(&["import", "."]);
    let mut said = vec![
        flower(&["list"]),
        flower(&["list", "--json"]),
        flower(&["show", ID, "-v"]),
        flower(&["show", ID, "--json"]),
        flower(&["check", ID, "--write", "mended.jsonl"]),
        house.read("mended.jsonl"),
    ];
    for format in ["jsonl", "markdown", "html"] {
        said.push(flower(&["export", ID, "--format", format]));
    }
    for text in said {
        for secret in ["quoted", "0123456789", "KKKKKKKK"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(text.contains("***") || text.contains("database"), "{text}");
    }
}

#[test]
fn a_hostile_transcript_moves_no_terminal_and_is_no_markup() {
    let house = House::new();
    let hostile =
        "a\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}b</pre></details><script>alert(1)</script>";
    let call = json!({"type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": ID,
        "message": {"role": "assistant", "model": hostile, "content": [
            {"type": "text", "text": format!("# {hostile}\n- `{hostile}`\n```{hostile}\n{hostile}")},
            {"type": "tool_use", "id": hostile, "name": hostile, "input": {hostile: hostile}}]}});
    let title = json!({"type": "custom-title", "customTitle": hostile, "sessionId": ID});
    house.write(&format!("{ID}.jsonl"), format!("{}\n{call}\n{title}\n", prompt("1", hostile)));
    // A session may be named by what it says of itself.
    let named = prompt("1", "x").replace(ID, "\\u001b[2J\\u001b]0;x");
    house.write("evil.jsonl", named);
    sessions(&house, &["import", "."], 0);
    for words in [&["list"][..], &["show", ID], &["show", ID, "-v"], &["check"]] {
        let output = house.flower(&[&["sessions"], words].concat()).output().unwrap();
        let text = stdout(&output);
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
    let page = sessions(&house, &["export", ID, "--format", "html"], 0);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
}

#[test]
fn bad_input_is_one_sentence_and_makes_nothing() {
    let house = House::new();
    let refused = |words: &[&str], code: i32, mentions: &str| {
        let output = ends_with(&mut house.flower(&[&["sessions"], words].concat()), code);
        let said = stderr(&output);
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        assert!(said.contains(mentions) && stdout(&output).is_empty(), "{said}");
    };
    let store = house.project.join("runs/sessions.db").display().to_string();
    for words in [&["list"][..], &["show", "x"], &["export", "x"], &["check"]] {
        refused(words, 1, &store);
    }
    refused(&["import", "nowhere"], 1, "nowhere");
    house.write("log.jsonl", "{\"level\":\"info\"}\n");
    refused(&["import", "log.jsonl"], 1, "log.jsonl");
    house.write("folder/notes.txt", "x");
    refused(&["import", "folder"], 1, "folder");
    refused(&["import", "/dev/null"], 1, "/dev/null");
    assert!(!house.exists("runs"), "nothing is made for nothing");

    for id in [ID, OTHER] {
        house.write(&format!("good/{id}.jsonl"), prompt("1", "hi").replace(ID, id));
    }
    // What is good comes in beside what is not.
    ends_with(&mut house.flower(&["sessions", "import", "log.jsonl", "good"]), 1);
    assert_eq!(rows(&sessions(&house, &["list", "--json"], 0)).len(), 2);
    refused(&["show", "zz"], 1, "zz");
    refused(&["show", ""], 1, "list --all");
    refused(&["show", "0cc96919"], 1, OTHER);
    house.write("there.md", "mine");
    refused(&["export", ID, "-o", "there.md"], 1, "there.md");
    assert_eq!(house.read("there.md"), "mine");
    sessions(&house, &["export", ID, "-o", "there.md", "--force"], 0);
    assert!(house.read("there.md").starts_with("# hi\n"));
    refused(&["list", "--engine", "native"], 2, "sessions");
    house.write("runs/sessions.db", "this is no database, though it lies where one should be");
    refused(&["list"], 1, "not an SQLite database");
}

#[test]
fn whoever_has_read_enough_may_go() {
    let house = House::new();
    let text: String = (0..60_000).map(|line| format!("line {line}\n")).collect();
    house.write(&format!("{ID}.jsonl"), prompt("1", &text));
    sessions(&house, &["import", "."], 0);
    for words in
        [["show", ID, "-v"], ["export", ID, "--format=html"], ["export", ID, "--format=jsonl"]]
    {
        let mut child = house
            .flower(&[&["sessions"], &words[..]].concat())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{words:?}");
    }
}
