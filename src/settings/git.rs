//! What keeps git quiet in the hands of an agent.
//!
//! A glance such as `git status` or `git diff` would refresh the index, and the lock that it takes for
//! that makes another agent's commit fail. `core.fsmonitor` names a program of the repository's, or
//! starts a server that outlives the command; a question for a password waits for somebody.

use std::ffi::{OsStr, OsString};

const SETTINGS: [(&str, &str); 2] =
    [("core.fsmonitor", "false"), ("diff.autoRefreshIndex", "false")];
const VARIABLES: [(&str, &str); 2] = [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0")];
const COUNT: &str = "GIT_CONFIG_COUNT";

/// Adds it to a tool's environment. What the person set in a variable stays.
pub(super) fn hush(environment: &mut Vec<(OsString, OsString)>) {
    let value = |name: &str, environment: &[(OsString, OsString)]| {
        let mut set = environment.iter().filter(|(key, _)| key == OsStr::new(name));
        set.next_back().map(|(_, value)| value.clone())
    };
    for (name, quiet) in VARIABLES {
        if value(name, environment).is_none() {
            environment.push((name.into(), quiet.into()));
        }
    }
    // Settings from the environment are numbered; one that is no number would make git refuse anyway.
    let given = value(COUNT, environment).unwrap_or_default();
    let given = given.to_str().map(str::trim).filter(|text| !text.is_empty()).unwrap_or("0");
    let Ok(first) = given.parse::<usize>() else { return };
    environment.retain(|(key, _)| key != OsStr::new(COUNT));
    for (at, (key, quiet)) in SETTINGS.into_iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{}", first + at).into(), key.into()));
        environment.push((format!("GIT_CONFIG_VALUE_{}", first + at).into(), quiet.into()));
    }
    environment.push((COUNT.into(), (first + SETTINGS.len()).to_string().into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hushed(given: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut environment = given.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        hush(&mut environment);
        let text = |value: OsString| value.into_string().unwrap();
        environment.into_iter().map(|(key, value)| (text(key), text(value))).collect()
    }

    #[test]
    fn settings_are_numbered_after_the_persons() {
        let all = hushed(&[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b")]);
        let has = |key: &str, value: &str| all.contains(&(key.to_owned(), value.to_owned()));
        assert!(has("GIT_CONFIG_KEY_0", "a.b") && has("GIT_CONFIG_KEY_1", "core.fsmonitor"));
        assert!(has("GIT_CONFIG_VALUE_2", "false") && has("GIT_CONFIG_COUNT", "3"));
        assert_eq!(all.iter().filter(|(key, _)| key == "GIT_CONFIG_COUNT").count(), 1);
    }

    #[test]
    fn what_the_person_set_stays() {
        let all = hushed(&[("GIT_OPTIONAL_LOCKS", "1"), ("GIT_CONFIG_COUNT", "x")]);
        assert!(all.contains(&("GIT_OPTIONAL_LOCKS".into(), "1".into())));
        assert!(all.contains(&("GIT_CONFIG_COUNT".into(), "x".into())));
        assert!(!all.iter().any(|(key, _)| key.starts_with("GIT_CONFIG_KEY")));
    }
}
