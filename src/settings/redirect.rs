//! Names with which a project's `.env` could send traffic elsewhere or have programs run, and what to do
//! about it.
//!
//! The file may have come with somebody else's repository. Whether git tracks it is found out by the
//! caller: settings run nothing.

use super::Settings;
use super::source::Origin;
use super::warning::Warning;

/// What a name can do to whoever runs flower there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Requests, and the credentials with them, go elsewhere.
    Traffic,
    /// Something else than expected is run, or runs otherwise.
    Execution,
}

/// A name that the current directory's `.env` sets, with effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The name.
    pub name: String,
    /// The line in the file, from 1.
    pub line: usize,
    /// What it can do.
    pub effect: Effect,
}

/// What the caller found out about the project's `.env` and the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Tracked by git. True also where that cannot be found out.
    pub tracked: bool,
    /// A person is there to be asked.
    pub terminal: bool,
    /// This content was trusted before ([`Settings::trusted_before`]).
    pub trusted_before: bool,
}

/// What to do about a project's `.env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Nothing.
    Fine,
    /// Go on, with this one warning.
    Warn(Warning),
    /// Stop and ask with this text; a yes is kept by [`Settings::remember_trust`].
    Ask(Warning),
    /// Stop with this text, exit 1.
    Refuse(Warning),
}

const TRAFFIC: [&str; 16] = [
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_UNIX_SOCKET",
    "AWS_CA_BUNDLE",
    "AWS_ENDPOINT_URL",
    "CARGO_HTTP_CAINFO",
    "CLAUDE_CONFIG_DIR",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    "FLOWER_GATE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "RES_OPTIONS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

const EXECUTION: [&str; 70] = [
    "AR",
    "BASHOPTS",
    "BASH_ENV",
    "BROWSER",
    "CARGO_HOME",
    "CC",
    "CDPATH",
    "CLASSPATH",
    "CLAUDE_CODE_SHELL",
    "CLAUDE_CODE_SHELL_PREFIX",
    "CXX",
    "DOTNET_STARTUP_HOOKS",
    "EDITOR",
    "ENV",
    "ERL_FLAGS",
    "FLOWER_CLAUDE",
    "FLOWER_NOTIFY",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "GOFLAGS",
    "GOPROXY",
    "GRADLE_OPTS",
    "HOME",
    "HOSTALIASES",
    "IFS",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD",
    "LESSCLOSE",
    "LESSOPEN",
    "LUA_INIT",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "MAVEN_OPTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "VISUAL",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

const EXECUTION_PREFIXES: [&str; 11] = [
    "BASH_FUNC_",
    "CARGO_BUILD_",
    "CARGO_TARGET_",
    "DYLD_",
    "GIT_",
    "LD_",
    "LUA_PATH",
    "LUA_CPATH",
    "NPM_CONFIG_",
    "RUSTC_",
    "UV_",
];

/// Names of git that only say who wrote a commit, and when.
const HARMLESS_PREFIXES: [&str; 2] = ["GIT_AUTHOR_", "GIT_COMMITTER_"];

/// What this name can do; nothing for most names. `ANTHROPIC_BASE_URL` depends on the credentials and is
/// judged by [`Settings::redirects`].
pub fn effect_of(name: &str) -> Option<Effect> {
    // Only proxies and npm's options are read in both spellings; `home` or `cc` is nobody's name.
    let upper = name.to_ascii_uppercase();
    let name = match upper.ends_with("_PROXY") || upper.starts_with("NPM_CONFIG_") {
        true => upper.as_str(),
        false => name,
    };
    let endpoint =
        name.starts_with("ANTHROPIC_") && name.ends_with("_BASE_URL") && name != BASE_URL;
    let other_cloud =
        name.starts_with("CLAUDE_CODE_USE_") || name.starts_with("CLAUDE_CODE_CLIENT_");
    if TRAFFIC.contains(&name) || name.ends_with("_PROXY") || endpoint || other_cloud {
        return Some(Effect::Traffic);
    }
    let harmless = HARMLESS_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let listed = EXECUTION.contains(&name)
        || EXECUTION_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    (listed && !harmless).then_some(Effect::Execution)
}

const BASE_URL: &str = "ANTHROPIC_BASE_URL";

impl Settings {
    /// The names with which the current directory's `.env` redirects or executes, in the file's order.
    ///
    /// Only what counts: a name that the process or a nearer file sets is not in it. An empty value
    /// redirects nothing, except an empty `PATH`, which means the current directory.
    pub fn redirects(&self) -> Vec<Redirect> {
        let Some(project) = self.project() else {
            return Vec::new();
        };
        let mut redirects: Vec<Redirect> = self
            .entries()
            .filter_map(|entry| {
                let Origin::File { path, line } = entry.origin else {
                    return None;
                };
                if *path != project.path || (entry.value.is_empty() && entry.key != "PATH") {
                    return None;
                }
                let effect = if entry.key == BASE_URL {
                    (!self.credentials_are_the_processes()).then_some(Effect::Traffic)
                } else {
                    effect_of(&entry.key)
                };
                Some(Redirect { name: entry.key.into_owned(), line: *line, effect: effect? })
            })
            .collect();
        redirects.sort_by_key(|redirect| redirect.line);
        redirects
    }

    /// True where every credential there is comes from the process environment.
    fn credentials_are_the_processes(&self) -> bool {
        let mut origins = self.credential_origins().peekable();
        origins.peek().is_some() && origins.all(|origin| *origin == Origin::Process)
    }

    fn credential_origins(&self) -> impl Iterator<Item = &Origin> {
        let keys = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
        keys.into_iter()
            .filter(|key| self.non_empty(key).is_some())
            .filter_map(|key| self.origin(key))
    }

    /// What to do about the project's `.env`.
    pub fn trust(&self, standing: Standing) -> Trust {
        let redirects = self.redirects();
        let Some(project) = self.project() else {
            return Trust::Fine;
        };
        if redirects.is_empty() || standing.trusted_before || self.process_trusts_project() {
            return Trust::Fine;
        }
        let names: Vec<&str> = redirects.iter().map(|redirect| redirect.name.as_str()).collect();
        let names = names.join(", ");
        let file = project.path.display().to_string();
        let values = [("file", file.as_str()), ("names", names.as_str())];
        if standing.tracked {
            return match standing.terminal {
                true => Trust::Ask(Warning::new("settings.redirect_ask", &values)),
                false => Trust::Refuse(Warning::new("settings.redirect_refused", &values)),
            };
        }
        let other = self.credential_origins().find_map(|origin| match origin {
            Origin::File { path, .. } | Origin::Borrowed { path } if *path != project.path => {
                Some(path.display().to_string())
            }
            _ => None,
        });
        Trust::Warn(match other {
            Some(other) => {
                let values = [values[0], values[1], ("other", other.as_str())];
                Warning::new("settings.redirect_untracked", &values)
            }
            None => Warning::new("settings.redirect_untracked_alone", &values),
        })
    }

    /// `FLOWER_TRUST_PROJECT=1` in the process environment. A file cannot speak for itself.
    fn process_trusts_project(&self) -> bool {
        let key = "FLOWER_TRUST_PROJECT";
        self.origin(key) == Some(&Origin::Process) && self.get(key) == Some("1")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Home;
    use super::*;

    fn names(home: &Home) -> Vec<String> {
        home.resolve().redirects().into_iter().map(|redirect| redirect.name).collect()
    }

    #[test]
    fn names_that_redirect_or_execute_are_known_in_both_spellings() {
        for name in ["https_proxy", "NO_PROXY", "SSL_CERT_FILE", "npm_config_cafile", "FLOWER_GATE"]
        {
            assert!(effect_of(name).is_some(), "{name}");
        }
        for name in ["PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "GIT_SSH_COMMAND", "ENV"] {
            assert_eq!(effect_of(name), Some(Effect::Execution), "{name}");
        }
        for name in ["ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "FOO", "GIT_AUTHOR_NAME", "home"] {
            assert_eq!(effect_of(name), None, "{name}");
        }
    }

    #[test]
    fn only_what_counts_is_a_redirect() {
        let home = Home::new();
        home.project("PATH=/evil\nhttps_proxy=http://p\nHTTP_PROXY=\nA=1\nLD_PRELOAD=x\n");
        assert_eq!(names(&home), ["PATH", "https_proxy", "LD_PRELOAD"]);
        let home = home.with("PATH", "/bin").with("LD_PRELOAD", "");
        assert_eq!(names(&home), ["https_proxy"]);
    }

    #[test]
    fn an_address_redirects_unless_the_credentials_are_the_processes() {
        let home = Home::new();
        home.project("ANTHROPIC_BASE_URL=https://elsewhere\n");
        home.global("ANTHROPIC_AUTH_TOKEN=token\n");
        assert_eq!(names(&home), ["ANTHROPIC_BASE_URL"]);
        let home = home.with("ANTHROPIC_API_KEY", "key");
        assert_eq!(names(&home), ["ANTHROPIC_BASE_URL"], "the other token is still a file's");
        let home = home.with("ANTHROPIC_AUTH_TOKEN", "mine");
        assert_eq!(names(&home), [""; 0]);
    }

    #[test]
    fn naming_the_projects_file_does_not_make_it_trusted() {
        let home = Home::new().with("FLOWER_ENV", ".env");
        home.project("PATH=/evil\n");
        assert_eq!(names(&home), ["PATH"]);
    }

    #[test]
    fn a_tracked_redirect_asks_or_refuses_and_an_untracked_one_warns() {
        let home = Home::new();
        home.project("ANTHROPIC_BASE_URL=https://elsewhere\n");
        home.global("ANTHROPIC_AUTH_TOKEN=canary\n");
        let settings = home.resolve();
        let standing = Standing { tracked: true, terminal: false, trusted_before: false };
        assert!(matches!(settings.trust(standing), Trust::Refuse(_)));
        assert!(matches!(settings.trust(Standing { terminal: true, ..standing }), Trust::Ask(_)));
        let trusted = Standing { trusted_before: true, ..standing };
        assert_eq!(settings.trust(trusted), Trust::Fine);
        let Trust::Warn(warning) = settings.trust(Standing { tracked: false, ..standing }) else {
            panic!("an untracked file is no reason to stop");
        };
        let text = warning.text(crate::language::Language::English);
        assert!(text.contains("work/.env") && text.contains("flower/.env"), "{text}");
    }

    #[test]
    fn only_the_process_can_wave_a_project_through() {
        let standing = Standing { tracked: true, terminal: true, trusted_before: false };
        let home = Home::new();
        home.project("PATH=/evil\nFLOWER_TRUST_PROJECT=1\n");
        assert!(matches!(home.resolve().trust(standing), Trust::Ask(_)));
        let home = home.with("FLOWER_TRUST_PROJECT", "1");
        assert_eq!(home.resolve().trust(standing), Trust::Fine);
    }
}
