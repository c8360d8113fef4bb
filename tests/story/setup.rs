//! Credentials: asked for at a terminal, written, tried; and what happens where nobody can be asked.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::house::{Gate, House, ends_with, stderr};
use crate::terminal::Terminal;

const ANSWERS: &str = "  - match: {}\n    repeat: true\n    reply: {text: hello}\n";

/// So many requests are refused like this; the later ones are answered.
fn refusing(status: u16, times: usize) -> String {
    let error = "{status: STATUS, type: authentication_error, message: bad key}";
    let error = error.replace("STATUS", &status.to_string());
    format!("  - match: {{}}\n    times: {times}\n    error: {error}\n{ANSWERS}")
}

fn file(house: &House) -> PathBuf {
    house.home.join(".config/flower/.env")
}

fn written(house: &House) -> String {
    std::fs::read_to_string(file(house)).unwrap_or_default()
}

/// Answers the four questions.
fn answer_all(terminal: &mut Terminal, answers: [&str; 4]) {
    for (question, answer) in ["does not appear", "gateway", "Model", "window"].iter().zip(answers)
    {
        terminal.answers(question, answer);
    }
}

fn keys_seen(gate: &Gate) -> Vec<String> {
    let body = |request: &serde_json::Value| request["body"]["model"].as_str().unwrap().to_owned();
    gate.requests().iter().map(body).collect()
}

#[test]
fn answers_are_written_tried_and_kept_from_others() {
    let house = House::new();
    let gate = house.gate(ANSWERS);
    std::fs::create_dir_all(file(&house).parent().unwrap()).unwrap();
    std::fs::write(file(&house), "# mine\nOTHER=1\nANTHROPIC_API_KEY=sk-ant-old\n").unwrap();
    let mut terminal = Terminal::start(&mut house.flower(&["setup"]));
    answer_all(&mut terminal, ["tok-canary", &gate.url, "m-large", "5000"]);
    let (code, shown) = terminal.ends();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("tok-canary") && !shown.contains("sk-ant-old"), "{shown}");
    assert!(shown.contains("ANTHROPIC_API_KEY was taken out"), "{shown}");
    assert!(shown.contains("with m-large"), "{shown}");
    let url = &gate.url;
    let expected = format!(
        "# mine\nOTHER=1\nANTHROPIC_AUTH_TOKEN=tok-canary\nANTHROPIC_BASE_URL={url}\nANTHROPIC_MODEL=m-large\nANTHROPIC_DEFAULT_OPUS_MODEL=m-large\nANTHROPIC_DEFAULT_SONNET_MODEL=m-large\nFLOWER_WINDOW=5000\n"
    );
    assert_eq!(written(&house), expected);
    assert_eq!(std::fs::metadata(file(&house)).unwrap().permissions().mode() & 0o777, 0o600);
    // The run's own model was asked, once.
    assert_eq!(keys_seen(&gate), ["m-large"]);
    ends_with(&mut house.flower(&["once", "hi"]), 0);
}

#[test]
fn an_empty_answer_or_ctrl_c_calls_it_off() {
    let house = House::new();
    for (keys, expected) in [("\n", Some(1)), ("tok-canary\u{3}", None), ("\u{4}", Some(1))] {
        let mut terminal = Terminal::start(&mut house.flower(&["setup"]));
        terminal.shows("does not appear");
        terminal.types(keys);
        let (code, shown) = terminal.ends();
        assert_eq!(code, expected, "{keys:?}: {shown}");
        assert_eq!(shown.contains("Called off"), expected.is_some(), "{shown}");
        assert!(!file(&house).exists());
    }
}

#[test]
fn answers_that_cannot_be_used_are_asked_for_again() {
    let house = House::new();
    let gate = house.gate(ANSWERS);
    let mut terminal = Terminal::start(&mut house.flower(&["setup", "--no-probe"]));
    terminal.answers("does not appear", "'quoted'");
    terminal.shows("cannot hold this");
    terminal.answers("does not appear", "sk-ant-canary");
    terminal.answers("gateway", "not an address");
    terminal.shows("cannot be used");
    terminal.answers("gateway", &gate.url);
    terminal.answers("Model", "");
    terminal.answers("window", "many");
    terminal.shows("whole number");
    terminal.answers("window", "");
    let (code, shown) = terminal.ends();
    assert_eq!(code, Some(0), "{shown}");
    let text = written(&house);
    assert!(
        text.ends_with(&format!(
            "ANTHROPIC_API_KEY=sk-ant-canary\nANTHROPIC_BASE_URL={}\n",
            gate.url
        ))
    );
    assert!(gate.requests().is_empty(), "it was not to be asked");
}

#[test]
fn a_key_elsewhere_that_wins_is_named() {
    let house = House::new();
    let mut run = house.flower(&["setup", "--no-probe"]);
    let mut terminal = Terminal::start(run.env("ANTHROPIC_API_KEY", "sk-ant-canary"));
    answer_all(&mut terminal, ["tok-1", "", "", ""]);
    let (code, shown) = terminal.ends();
    assert_eq!(code, Some(0));
    assert!(shown.contains("ANTHROPIC_API_KEY is also set elsewhere (environment)"), "{shown}");
    assert!(!shown.contains("canary"));
}

#[test]
fn a_run_without_credentials_asks_for_them_and_goes_on() {
    let house = House::new();
    let gate = house.gate(ANSWERS);
    let mut terminal = Terminal::start(&mut house.flower(&["once", "hi"]));
    answer_all(&mut terminal, ["tok-1", &gate.url, "m-1", ""]);
    terminal.shows("hello");
    let (code, shown) = terminal.ends();
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(gate.requests().len(), 2, "the probe and the run");
}

#[test]
fn a_rejected_key_may_be_put_right_once() {
    for (times, expected) in [(1, 0), (2, 1)] {
        let house = House::new();
        let gate = house.gate(&refusing(401, times));
        let mut run = house.flower(&["once", "hi"]);
        run.env("ANTHROPIC_BASE_URL", &gate.url);
        std::fs::create_dir_all(file(&house).parent().unwrap()).unwrap();
        std::fs::write(file(&house), "ANTHROPIC_AUTH_TOKEN=tok-old\n").unwrap();
        let mut terminal = Terminal::start(&mut run);
        terminal.shows("does not take the credentials");
        answer_all(&mut terminal, ["tok-new", "", "", ""]);
        let (code, shown) = terminal.ends();
        assert_eq!(code, Some(expected), "{shown}");
        assert_eq!(shown.contains("second time"), expected == 1, "{shown}");
        assert_eq!(written(&house), "ANTHROPIC_AUTH_TOKEN=tok-new\n");
    }
}

#[test]
fn an_endpoint_that_cannot_be_reached_is_said_and_the_run_goes_on() {
    let house = House::new();
    let gate = house.gate(&refusing(500, 1));
    let mut run = house.flower(&["once", "hi"]);
    run.env("ANTHROPIC_BASE_URL", &gate.url).env("ANTHROPIC_API_KEY", "sk-ant-1");
    let (code, shown) = Terminal::start(&mut run).ends();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("cannot be asked now") && shown.contains("hello"), "{shown}");
}

#[test]
fn the_endpoint_is_asked_beforehand_only_where_somebody_watches_and_wants_it() {
    let house = House::new();
    let gate = house.gate(ANSWERS);
    let run = |words: &[&str]| {
        let mut run = house.flower(words);
        run.env("ANTHROPIC_BASE_URL", &gate.url).env("ANTHROPIC_API_KEY", "sk-ant-1");
        run
    };
    ends_with(&mut run(&["once", "hi"]), 0);
    assert_eq!(gate.requests().len(), 1, "nobody watches");
    assert_eq!(Terminal::start(&mut run(&["once", "hi", "--no-probe"])).ends().0, Some(0));
    assert_eq!(gate.requests().len(), 2);
    let mut switched = run(&["once", "hi"]);
    assert_eq!(Terminal::start(switched.env("FLOWER_NO_PROBE", "0")).ends().0, Some(0));
    assert_eq!(gate.requests().len(), 3);
    assert_eq!(Terminal::start(&mut run(&["once", "hi"])).ends().0, Some(0));
    assert_eq!(gate.requests().len(), 5);
}

#[test]
fn without_a_terminal_one_sentence_says_how_to_do_it_by_hand() {
    let house = House::new();
    let said = stderr(&ends_with(&mut house.flower(&["setup"]), 1));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(".config/flower/.env") && said.contains("chmod 600"), "{said}");
    assert!(!file(&house).exists());
    ends_with(&mut house.flower(&["config", "--no-probe"]), 2);
}
