//! `flower setup`: asks for what a model endpoint needs and writes it into the user's own file.

use std::process::ExitCode;

use super::args::Global;
use super::assemble::House;
use super::credentials;
use super::exit::Refusal;
use super::output::warn;
use super::terminal::{ask, ask_hidden, is_there};
use super::trust;
use crate::language::Language;
use crate::settings::{
    Auth, Change, DEFAULT_BASE_URL, Endpoint, KeepError, Origin, Secret, can_hold, printable,
    read_count, show, without_login,
};
use crate::wire::{Client, ClientOptions};

const KEY: &str = "ANTHROPIC_API_KEY";
const TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";
const URL: &str = "ANTHROPIC_BASE_URL";
const WINDOW: &str = "FLOWER_WINDOW";
/// The model of the main thread, and what `opus` and `sonnet` mean.
const MODELS: [&str; 3] =
    ["ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL"];

/// How keys of the API begin; what begins otherwise is a token of a gateway.
const KEY_PREFIX: &str = "sk-ant-";

/// How often a question is asked whose answer cannot be used.
const PATIENCE: usize = 3;

/// The command.
pub(super) fn run(global: &Global) -> anyhow::Result<ExitCode> {
    let mut house = House::look(global)?;
    if !is_there() {
        return Err(
            Refusal::new("setup", house.text("setup.by_hand", &[("path", &path(&house))])).into()
        );
    }
    // The new key goes where the settings say, so they have to be trusted first.
    trust::project_env(&house)?;
    set_up(&mut house, global)?;
    let endpoint = credentials::check(&mut house, global)?;
    warn(&house.text(
        "setup.ready",
        &[("url", &without_login(&endpoint.base_url)), ("model", &house.settings.main_model())],
    ));
    Ok(ExitCode::SUCCESS)
}

/// Asks, writes, and looks at all settings again. Cancelling is an error.
pub(super) fn set_up(house: &mut House, global: &Global) -> anyhow::Result<()> {
    warn(&house.text("setup.intro", &[("path", &path(house))]));
    let Some(change) = questions(house)? else {
        return Err(Refusal::new("cancelled", house.text("setup.cancelled", &[])).into());
    };
    let file = house.settings.keep(&change).map_err(|error| refused(house, error))?;
    let shown = file.display().to_string();
    warn(&house.text("setup.written", &[("path", &shown)]));
    let before = std::mem::replace(house, House::look(global)?);
    for key in &change.remove {
        let was =
            matches!(before.settings.origin(key), Some(Origin::File { path, .. }) if *path == file);
        if was && [KEY, TOKEN].contains(key) {
            warn(&house.text("setup.removed", &[("key", key), ("path", &shown)]));
        }
    }
    tell_overridden(house, &change);
    trust::project_env(house)
}

fn path(house: &House) -> String {
    let path = house.settings.user_file();
    path.map_or_else(|| "~/.config/flower/.env".to_owned(), |path| path.display().to_string())
}

fn refused(house: &House, error: KeepError) -> anyhow::Error {
    match error {
        KeepError::NoHome => Refusal::new("setup", house.text("setup.no_home", &[])).into(),
        KeepError::Undecodable(path) => {
            let path = path.display().to_string();
            Refusal::new("setup", house.text("setup.undecodable", &[("path", &path)])).into()
        }
        KeepError::System { path, source } => {
            anyhow::Error::from(source).context(path.display().to_string())
        }
    }
}

/// Other places that win over what was just written.
fn tell_overridden(house: &House, change: &Change) {
    let tell = |key: &str| {
        let origin = match house.settings.origin(key) {
            Some(Origin::File { path, line }) => format!("{}:{line}", path.display()),
            Some(Origin::Borrowed { path }) => path.display().to_string(),
            Some(Origin::Process | Origin::Default) | None => {
                house.text("settings.from_environment", &[])
            }
        };
        warn(&house.text("setup.overridden", &[("key", key), ("origin", &origin)]));
    };
    for (key, value) in &change.set {
        if house.settings.get(key) != Some(value) {
            tell(key);
        }
    }
    // A token does not count as long as there is a key.
    if change.remove.contains(&KEY) && house.settings.non_empty(KEY).is_some() {
        tell(KEY);
    }
}

/// What the answers come to; nothing where the person calls it off.
fn questions(house: &House) -> anyhow::Result<Option<Change>> {
    let language = house.language;
    let Some(token) = answer(
        house,
        || ask_hidden(&house.text("setup.ask_token", &[])),
        |token| fits(token, language).or_else(|| unusable(DEFAULT_BASE_URL, token, language)),
    )?
    else {
        return Ok(None);
    };
    if token.is_empty() {
        return Ok(None);
    }
    let mut more = Vec::new();
    for (key, question, usual) in [
        (URL, "setup.ask_url", DEFAULT_BASE_URL.to_owned()),
        (MODELS[0], "setup.ask_model", house.settings.main_model()),
        (WINDOW, "setup.ask_window", house.text("setup.by_model", &[])),
    ] {
        let set = house.settings.non_empty(key).map(|value| show(key, value, language));
        let hint = match &set {
            Some(value) => house.text("setup.keep", &[("value", value)]),
            None => house.text("setup.usual", &[("value", &printable(&usual))]),
        };
        let question = house.text(question, &[("hint", &hint)]);
        let given = answer(
            house,
            || ask(&question),
            |value| {
                if value.is_empty() || value == "-" {
                    return None;
                }
                fits(value, language).or_else(|| match key {
                    URL => unusable(value, "x", language),
                    WINDOW => {
                        read_count(value).is_none().then(|| language.text("setup.bad_window", &[]))
                    }
                    _ => None,
                })
            },
        )?;
        let Some(given) = given else { return Ok(None) };
        more.push(given);
    }
    Ok(Some(change(&token, &more)))
}

/// An answer that can be used. The end of the input calls it all off, and so do too many bad answers.
fn answer(
    house: &House,
    ask: impl Fn() -> std::io::Result<Option<String>>,
    complaint: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<String>> {
    for _ in 0..PATIENCE {
        let Some(given) = ask()? else { return Ok(None) };
        match complaint(&given).filter(|_| !given.is_empty()) {
            None => return Ok(Some(given)),
            Some(complaint) => warn(&complaint),
        }
    }
    warn(&house.text("setup.enough", &[]));
    Ok(None)
}

/// Why the file cannot hold it.
fn fits(value: &str, language: Language) -> Option<String> {
    let fits = can_hold(value) && !value.chars().any(char::is_control);
    (!fits).then(|| language.text("setup.bad_value", &[]))
}

/// Why no request can be made with it.
fn unusable(url: &str, token: &str, language: Language) -> Option<String> {
    let endpoint = Endpoint {
        base_url: url.to_owned(),
        auth: Auth::ApiKey(Secret::new(token)),
        is_gate: false,
        custom_headers: Vec::new(),
    };
    let error = Client::new(&endpoint, ClientOptions::default()).err()?;
    Some(language.text("setup.unusable", &[("reason", &error.to_string())]))
}

/// From the token, and address, model and window in this order: empty keeps what is there, `-` removes it.
fn change(token: &str, more: &[String]) -> Change {
    let (kind, other) = if token.starts_with(KEY_PREFIX) { (KEY, TOKEN) } else { (TOKEN, KEY) };
    let mut change = Change { set: vec![(kind, token.to_owned())], remove: vec![other] };
    let keys: [&[&'static str]; 3] = [&[URL], &MODELS, &[WINDOW]];
    for (keys, given) in keys.into_iter().zip(more) {
        match given.as_str() {
            "" => {}
            "-" => change.remove.extend(keys),
            value => change.set.extend(keys.iter().map(|key| (*key, value.to_owned()))),
        }
    }
    change
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(token: &str, more: [&str; 3]) -> Change {
        change(token, &more.map(str::to_owned))
    }

    #[test]
    fn the_beginning_of_a_key_says_which_kind_it_is() {
        let key = of("sk-ant-1", ["", "", ""]);
        assert_eq!((key.set, key.remove), (vec![(KEY, "sk-ant-1".to_owned())], vec![TOKEN]));
        let token = of("other", ["", "", ""]);
        assert_eq!((token.set, token.remove), (vec![(TOKEN, "other".to_owned())], vec![KEY]));
    }

    #[test]
    fn a_model_stands_for_the_large_ones_too() {
        let all = of("t", ["http://h", "m-1", "5000"]);
        let names: Vec<&str> = all.set.iter().map(|(key, _)| *key).collect();
        assert_eq!(names, [TOKEN, URL, MODELS[0], MODELS[1], MODELS[2], WINDOW]);
        let none = of("t", ["-", "-", "-"]);
        assert_eq!(none.set.len(), 1);
        assert_eq!(none.remove, [KEY, URL, MODELS[0], MODELS[1], MODELS[2], WINDOW]);
    }

    #[test]
    fn what_cannot_be_used_is_refused_in_a_sentence() {
        let language = Language::English;
        assert!(fits("sk-ant-1", language).is_none() && fits("\"a\"", language).is_some());
        assert!(fits("a\u{1b}b", language).is_some());
        assert!(unusable("https://h", "k", language).is_none());
        assert!(unusable("no address", "k", language).is_some());
        assert!(unusable("ftp://h", "k", language).is_some());
        let text = unusable("https://h", "schlüssel-canary\u{7f}", language).unwrap();
        assert!(!text.contains("canary"), "{text}");
    }
}
