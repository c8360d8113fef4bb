//! `flower config [KEY]`: every setting with its effective value and where it was written; secrets masked.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::assemble::House;
use crate::language::Language;
use crate::settings::{
    CREDENTIAL_KEYS, DEFAULT_BASE_URL, OWN_KEYS, Origin, Settings, WAITS, Wait, is_known,
    printable, show,
};

/// Prints all settings, one setting, or (`check`) what is surprising and what is risky.
///
/// The exit code is 1 for a key that is nowhere, and for a check that found something.
pub(super) fn run(house: &House, args: &ConfigArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let view = View { settings: &house.settings, language: house.language };
    let fine = match (args.check, args.key.as_deref()) {
        (true, _) => view.check(out)?,
        (false, Some("trust")) => view.trust(out)?,
        (false, Some("limits")) => {
            super::limits::list(house, out)?;
            true
        }
        (false, Some(key)) => view.one(key, out)?,
        (false, None) => view.all(out)?,
    };
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `flower config`
#[derive(Debug, clap::Args)]
pub(super) struct ConfigArgs {
    /// One setting, or any key of a `.env` file; `trust` records that this project's .env may redirect,
    /// `limits` shows what the machine lets flower use
    key: Option<String>,
    /// List what other tools would read differently and what is risky; exit code 1 if there is anything
    #[arg(long)]
    check: bool,
}

struct View<'a> {
    settings: &'a Settings,
    language: Language,
}

impl View<'_> {
    fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.language.text(key, values)
    }

    /// Remembers that the `.env` of the current directory, as it is now, may redirect.
    fn trust(&self, out: &mut dyn Write) -> Result<bool> {
        let project = self.settings.project().map(|project| project.path.display().to_string());
        let Some(file) = project else {
            writeln!(out, "{}", self.say("settings.nothing_to_trust", &[]))?;
            return Ok(false);
        };
        self.settings.remember_trust().context("this cannot be remembered")?;
        writeln!(out, "{}", self.say("settings.trusted", &[("file", &file)]))?;
        Ok(true)
    }

    fn all(&self, out: &mut dyn Write) -> Result<bool> {
        let waits = WAITS.iter().map(|wait| wait.key);
        for key in CREDENTIAL_KEYS.into_iter().chain(OWN_KEYS).chain(waits) {
            self.row(key, out)?;
        }
        // The rest of the process environment is not flower's to list.
        let others = self.settings.entries().filter(|entry| *entry.origin != Origin::Process);
        for entry in others.filter(|entry| !is_known(&entry.key)) {
            if entry.inside {
                let hidden = self.say("settings.hidden_key", &[]);
                writeln!(out, "{hidden}\t***\t{}", self.origin(entry.origin))?;
            } else {
                self.row(&entry.key, out)?;
            }
        }
        Ok(true)
    }

    fn one(&self, key: &str, out: &mut dyn Write) -> Result<bool> {
        if self.settings.origin(key).is_none() && !is_known(key) {
            let key = printable(key);
            writeln!(out, "{}", self.say("settings.unknown_key", &[("key", &key)]))?;
            return Ok(false);
        }
        self.row(key, out)?;
        Ok(true)
    }

    fn row(&self, key: &str, out: &mut dyn Write) -> Result<()> {
        let (value, origin) = self.effective(key);
        writeln!(out, "{}\t{value}\t{origin}", printable(key))?;
        Ok(())
    }

    /// What is in effect, which is not always what is written: a wait that is no number has its default.
    fn effective(&self, key: &str) -> (String, String) {
        let from_default = || self.say("settings.from_default", &[]);
        let wait = Wait::find(key);
        if let (Some(wait), Some(duration)) = (wait, self.settings.duration(key)) {
            let set = self.settings.non_empty(key).and_then(|text| wait.read(text));
            let origin = self.settings.origin(key).filter(|_| set.is_some());
            let origin = origin.map_or_else(from_default, |origin| self.origin(origin));
            return (format!("{}", duration.as_secs_f64()), origin);
        }
        if key == "ANTHROPIC_BASE_URL" && self.settings.non_empty(key).is_none() {
            return (DEFAULT_BASE_URL.to_owned(), from_default());
        }
        let Some(origin) = self.settings.origin(key) else {
            return (String::new(), self.say("settings.not_set", &[]));
        };
        let value = self.settings.entries().find(|entry| entry.key == key);
        let value = value.map_or_else(String::new, |entry| show(key, &entry.value, self.language));
        (value, self.origin(origin))
    }

    fn origin(&self, origin: &Origin) -> String {
        origin_text(origin, self.language)
    }

    fn check(&self, out: &mut dyn Write) -> Result<bool> {
        for warning in self.settings.warnings() {
            writeln!(out, "{}", warning.text(self.language))?;
        }
        let redirects = self.settings.redirects();
        let project = self.settings.project().map(|project| project.path.display().to_string());
        let file = printable(&project.unwrap_or_default());
        for redirect in &redirects {
            let (line, key) = (redirect.line.to_string(), printable(&redirect.name));
            let values = [("file", file.as_str()), ("line", line.as_str()), ("key", key.as_str())];
            writeln!(out, "{}", self.say("settings.redirect_line", &values))?;
        }
        let fine = self.settings.warnings().is_empty() && redirects.is_empty();
        if fine {
            writeln!(out, "{}", self.say("settings.check_fine", &[]))?;
        }
        Ok(fine)
    }
}

/// Where a setting was written.
pub(super) fn origin_text(origin: &Origin, language: Language) -> String {
    match origin {
        Origin::Process => language.text("settings.from_environment", &[]),
        Origin::File { path, line } => {
            format!("{}:{line}", printable(&path.display().to_string()))
        }
        Origin::Borrowed { path } => {
            let file = printable(&path.display().to_string());
            language.text("settings.from_borrowed", &[("file", &file)])
        }
        Origin::Default => language.text("settings.from_default", &[]),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::settings::Environment;

    fn settings(project: &str, variables: &[(&str, &str)]) -> (tempfile::TempDir, Settings) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".env"), project).unwrap();
        let mut environment =
            Environment { current_dir: folder.path().to_path_buf(), ..Environment::default() };
        for (key, value) in variables {
            environment.variables.insert(key.into(), value.into());
        }
        let settings = Settings::resolve(&environment);
        (folder, settings)
    }

    fn output(settings: &Settings, key: Option<&str>, check: bool) -> (String, bool) {
        let mut out = Vec::new();
        let house = House {
            settings: std::sync::Arc::new(settings.clone()),
            language: Language::English,
            current_dir: std::path::PathBuf::new(),
            run_dir: std::path::PathBuf::new(),
        };
        let args = ConfigArgs { key: key.map(str::to_owned), check };
        let code = run(&house, &args, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), code == ExitCode::SUCCESS)
    }

    #[test]
    fn everything_known_and_everything_in_the_files_is_listed() {
        let variables = [("HOME_MADE", "x"), ("FLOWER_RETRY_BASE", "0.5")];
        let (folder, settings) = settings("# c\nMINE=1\nFLOWER_RETRY_MAX=soon\n", &variables);
        let (text, fine) = output(&settings, None, false);
        assert!(fine && !text.contains("HOME_MADE"));
        let file = folder.path().join(".env");
        assert!(text.contains(&format!("MINE\t1\t{}:2\n", file.display())), "{text}");
        assert!(text.contains("FLOWER_RETRY_BASE\t0.5\tenvironment\n"), "{text}");
        assert!(text.contains("FLOWER_RETRY_MAX\t120\tdefault\n"), "{text}");
        assert!(
            text.contains("ANTHROPIC_BASE_URL\thttps://api.anthropic.com\tdefault\n"),
            "{text}"
        );
        assert!(text.contains("FLOWER_GATE\t\tnot set\n"), "{text}");
    }

    #[test]
    fn one_key_is_shown_wherever_it_is_set() {
        let (_folder, settings) = settings("MINE=1\n", &[("OTHER", "2")]);
        assert_eq!(
            output(&settings, Some("OTHER"), false),
            ("OTHER\t2\tenvironment\n".into(), true)
        );
        assert!(output(&settings, Some("MINE"), false).0.starts_with("MINE\t1\t"));
        let (text, fine) = output(&settings, Some("NO\u{1b}WHERE"), false);
        assert!(!fine && text.lines().count() == 1 && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn a_check_lists_surprises_and_risks_and_fails() {
        let (_folder, risky) = settings("A=1 # one\nPATH=/evil\n", &[]);
        let (text, fine) = output(&risky, None, true);
        assert!(!fine && text.lines().count() == 2 && text.contains(":2: PATH"), "{text}");
        let (_folder, plain) = settings("A=1\n", &[]);
        assert_eq!(output(&plain, None, true), ("Nothing to report.\n".into(), true));
    }

    #[test]
    fn a_secret_is_never_printed() {
        let project = "ANTHROPIC_API_KEY=ssss-canary\nexport MY_TOKEN=ssss-canary\n\
             DB_PASSWORD=ssss-canary\nHTTPS_PROXY=http://u:canary@h\nX=sk-ant-canary\n\
             KEY=\"-----BEGIN\ncanary=\ncanary\"\nANTHROPIC_CUSTOM_HEADERS=X-A: canary\n";
        let (_folder, settings) = settings(project, &[("AWS_SECRET", "ssss-canary")]);
        for (key, check) in [(None, false), (None, true), (Some("AWS_SECRET"), false)] {
            let (text, _) = output(&settings, key, check);
            assert!(!text.contains("canary"), "{text}");
        }
    }
}
