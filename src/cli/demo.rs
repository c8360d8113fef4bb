//! `flower demo`: the whole chain on a small git repository with two mistakes, offline, without a key.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};

use super::args::{DemoArgs, Global};
use super::assemble::{HandoffWish, House, Model, Place};
use super::fence::{self, Site};
use super::go::{Chain, carry_out};
use super::output::{Audience, Output};
use crate::engine::native::Choice;
use crate::gate::{Cassette, Gate, GateOptions, Running};
use crate::language::Language;
use crate::settings::{Auth, Endpoint};
use crate::workbench::Workbench;
use crate::workflow::FlowOptions;

/// The command: a repository, a gate that plays the cassette, and the whole chain between them.
pub(super) fn run(global: &Global, args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let house = House::look(global)?;
    let output = Arc::new(Output::new(global, house.language, Audience::Follower));
    let base = match &args.dir {
        Some(dir) => house.current_dir.join(dir),
        None => next_free(&house.current_dir.join("flower-demo")),
    };
    let repository = base.join("wordcount");
    plant(&repository, house.language)?;
    let (workspace, run_dir) = (Place::workspace(&repository)?, base.join("runs"));
    let root = Workbench::usual_root(&workspace);
    let mut environment = house.settings.tool_environment();
    environment.extend(git_environment());
    let site = Site { workspace: &workspace, run_dir: &run_dir };
    let tools = fence::fence(&house, global, site, vec![root.clone()], environment)?;
    let place = Place::open(workspace, &run_dir)?;
    let workbench = Arc::new(Workbench::open(&root, &place.workspace, house.language)?);
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let gate = match &args.gate {
        Some(_) => None,
        None => Some(tokio.block_on(Gate::start(GateOptions {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            cassette: Cassette::parse(cassette())?,
            log: Some(base.join("gate.jsonl")),
        }))?),
    };
    let url = args.gate.clone().or_else(|| gate.as_ref().map(Running::url)).unwrap_or_default();
    output.say(&house.language.text("demo.begins", &[("folder", &base.display().to_string())]));
    let chain = Chain {
        options: FlowOptions {
            ask: request(house.language),
            rounds: 3,
            judged: true,
            judge_can_run: true,
            clarify_only: false,
            new: false,
            isolate: false,
            handover: house.hands_over(),
            scratch: house.scratch(),
        },
        place,
        workbench,
        model: demo_model(url),
        max_asks: None,
        ask_timeout: Some(Duration::ZERO),
        handoff: HandoffWish::default(),
        tools,
        yard: None,
    };
    let code = carry_out(&house, global, &output, chain)?;
    if let Some(gate) = gate {
        tokio.block_on(gate.stop());
    }
    output.say(&house.language.text("demo.results", &[("folder", &base.display().to_string())]));
    Ok(ExitCode::from(code))
}

/// The gate's made-up model, which costs nothing. None of the user's settings matter to it.
fn demo_model(base_url: String) -> Model {
    const NAME: &str = "demo-1";
    Model {
        endpoint: Endpoint {
            base_url,
            auth: Auth::None,
            is_gate: true,
            custom_headers: Vec::new(),
        },
        choice: Choice {
            main_model: NAME.to_owned(),
            subagent_model: Box::new(|_| NAME.to_owned()),
            cost: Box::new(|_, _| Some(0.0)),
            effort: None,
        },
    }
}

/// The user's git configuration must not matter to the demo, nor the demo's commits to the user.
fn git_environment() -> Vec<(OsString, OsString)> {
    [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec()
}

/// One file of the repository.
struct Planted {
    path: &'static str,
    content: &'static str,
    executable: bool,
}

macro_rules! planted {
    ($path:literal, $executable:literal) => {
        Planted {
            path: $path,
            content: include_str!(concat!("../../flowerbox/demo/repository/", $path)),
            executable: $executable,
        }
    };
}

/// The repository as it travels in the binary.
pub(super) struct Repository {
    files: &'static [Planted],
}

static REPOSITORY: Repository = Repository {
    files: &[
        planted!("README.md", false),
        planted!("SHA256SUMS", false),
        planted!("lib/count.sh", false),
        planted!("lib/layout.sh", false),
        planted!("test.sh", true),
        planted!("wordcount", true),
    ],
};

/// When the only commit was made, in git's own form; fixed, so that its id is the same everywhere.
const COMMITTED: &str = "1767225600 +0000";

/// The script that the built-in endpoint plays.
pub(super) fn cassette() -> &'static str {
    include_str!("../../flowerbox/demo/cassette.yaml")
}

/// What the user of the demo asks for.
pub(super) fn request(language: Language) -> String {
    language.text("demo.request", &[])
}

/// Writes the repository into a folder that is new or empty, and commits it.
///
/// Needs git, but neither an identity nor any configuration of it.
pub(super) fn plant(target: &Path, language: Language) -> anyhow::Result<()> {
    let shown = target.display().to_string();
    let occupied = match std::fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error).with_context(|| shown),
    };
    if occupied {
        bail!(language.text("demo.occupied", &[("path", &shown)]));
    }
    // Asked first, so that nothing is left behind on a machine without git.
    git(Path::new("."), language, ["--version"])?;
    for file in REPOSITORY.files {
        write(target, file).with_context(|| format!("{shown}/{}", file.path))?;
    }
    // No template, since one may bring hooks.
    git(target, language, ["init", "--quiet", "--template=", "--initial-branch=main"])?;
    git(target, language, ["add", "--all"])?;
    git(target, language, ["commit", "--quiet", "--message=Count lines and words of text files"])
}

fn write(target: &Path, file: &Planted) -> std::io::Result<()> {
    let path = target.join(file.path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&path, file.content)?;
    #[cfg(unix)]
    if file.executable {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn git<const N: usize>(
    folder: &Path,
    language: Language,
    arguments: [&str; N],
) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    // Inside a hook these point at somebody else's repository, and the commit would land there.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    for name in ["GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"] {
        command.env_remove(name);
    }
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "flower demo");
        command.env(format!("GIT_{who}_EMAIL"), "demo@flower.invalid");
        command.env(format!("GIT_{who}_DATE"), COMMITTED);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_DEFAULT_HASH", "sha1");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!(language.text("demo.no_git", &[]))
        }
        Err(error) => return Err(error).context("git"),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let step = arguments.first().copied().unwrap_or_default();
        bail!(language.text("demo.git_failed", &[("step", step), ("said", said.trim())]));
    }
    Ok(())
}

/// The first of `base`, `base-2`, `base-3`, … that nothing exists under.
pub(super) fn next_free(base: &Path) -> PathBuf {
    let name = base.file_name().unwrap_or(OsStr::new("flower-demo"));
    let numbered = (2_u64..).map(|number| {
        let mut name = name.to_owned();
        name.push(format!("-{number}"));
        base.with_file_name(name)
    });
    std::iter::once(base.to_owned())
        .chain(numbered)
        // A dangling link is something too.
        .find(|path| path.symlink_metadata().is_err())
        .expect("a folder holds fewer than 2^64 entries")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::Value;
    use sha2::{Digest, Sha256};

    use super::*;

    const TOOLS: [&str; 10] = [
        "Bash",
        "Read",
        "Write",
        "Edit",
        "Glob",
        "Grep",
        "TodoWrite",
        "Agent",
        "mcp__human__ask",
        "mcp__human__inbox",
    ];

    fn planted() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path(), Language::English).unwrap();
        folder
    }

    fn suite(folder: &Path, command: &str) -> (bool, String) {
        let output =
            Command::new("sh").arg("-c").arg(command).current_dir(folder).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    }

    fn rules() -> Vec<Value> {
        let cassette: Value = serde_saphyr::from_str(cassette()).unwrap();
        cassette["rules"].as_array().unwrap().clone()
    }

    fn calls(rules: &[Value]) -> Vec<Value> {
        rules
            .iter()
            .filter_map(|rule| rule["reply"]["tools"].as_array().cloned())
            .flatten()
            .collect()
    }

    fn apply(folder: &Path, edit: &Value) {
        let text = |key: &str| edit["input"][key].as_str().unwrap();
        let path = folder.join(text("file_path"));
        let content = std::fs::read_to_string(&path).unwrap();
        assert_eq!(content.matches(text("old_string")).count(), 1, "{edit}");
        std::fs::write(path, content.replace(text("old_string"), text("new_string"))).unwrap();
    }

    fn edits() -> Vec<Value> {
        calls(&rules()).into_iter().filter(|call| call["name"] == "Edit").collect()
    }

    fn judge_command() -> String {
        let rules = rules();
        let judge: Vec<Value> =
            rules.into_iter().filter(|rule| rule["match"]["step"] == "work.judge").collect();
        let [call] = calls(&judge).try_into().unwrap();
        call["input"]["command"].as_str().unwrap().to_owned()
    }

    #[test]
    fn the_suite_fails_until_the_second_edit_is_made() {
        let folder = planted();
        let command = judge_command();
        let [first, second] = edits().try_into().unwrap();
        let (passes, said) = suite(folder.path(), &command);
        assert!(!passes && said.contains("7 cases, 2 failed"), "{said}");
        apply(folder.path(), &first);
        let (passes, said) = suite(folder.path(), "sh test.sh lines");
        assert!(passes && said.contains("3 cases, 0 failed"), "{said}");
        let (passes, said) = suite(folder.path(), &command);
        assert!(!passes && said.contains("7 cases, 1 failed"), "{said}");
        apply(folder.path(), &second);
        let (passes, said) = suite(folder.path(), &command);
        assert!(passes && said.contains("7 cases, 0 failed"), "{said}");
    }

    #[test]
    fn the_judge_refuses_a_replaced_suite() {
        let folder = planted();
        for edit in edits() {
            apply(folder.path(), &edit);
        }
        std::fs::write(folder.path().join("test.sh"), "exit 0\n").unwrap();
        let sum = suite(folder.path(), "sha256sum test.sh | tee SHA256SUMS");
        assert!(sum.0);
        assert!(!suite(folder.path(), &judge_command()).0);
    }

    #[test]
    fn the_cassette_and_the_repository_name_the_suite_by_its_content() {
        let content = REPOSITORY.files.iter().find(|file| file.path == "test.sh").unwrap().content;
        let sum = Sha256::digest(content).iter().fold(String::new(), |mut sum, byte| {
            write!(sum, "{byte:02x}").unwrap();
            sum
        });
        let named = REPOSITORY.files.iter().find(|file| file.path == "SHA256SUMS").unwrap();
        assert_eq!(named.content, format!("{sum}  test.sh\n"));
        for step in ["clarify", "goal", "work.judge"] {
            let rules: Vec<Value> =
                rules().into_iter().filter(|rule| rule["match"]["step"] == step).collect();
            assert!(Value::from(rules).to_string().contains(&sum), "{step}");
        }
    }

    #[test]
    fn the_cassette_calls_only_tools_that_exist() {
        let calls = calls(&rules());
        assert!(!calls.is_empty());
        for call in calls {
            assert!(TOOLS.contains(&call["name"].as_str().unwrap()), "{call}");
        }
    }

    #[test]
    fn the_verdicts_depend_on_the_judges_own_command_and_on_nothing_else() {
        for rule in rules() {
            let Some(text) = rule["reply"]["text"].as_str() else { continue };
            if !text.contains("## Conclusion") {
                continue;
            }
            let fails = text.contains("not achieved");
            let expected = serde_json::json!({
                "step": "work.judge", "tool_result": {"name": "Bash", "is_error": fails},
            });
            assert_eq!(rule["match"], expected);
        }
    }

    #[test]
    fn the_commit_is_the_same_everywhere() {
        let first = planted();
        let second = planted();
        let id = |folder: &Path| suite(folder, "git rev-parse HEAD && git status --short");
        assert_eq!(id(first.path()), id(second.path()));
        assert_eq!(id(first.path()).1.trim(), "a35a1aa4fb417946193921a42fbd3e89e88e7704");
    }

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine"), "").unwrap();
        let error = plant(folder.path(), Language::English).unwrap_err().to_string();
        assert!(error.contains("is not empty"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("flower-demo");
        assert_eq!(next_free(&base), base);
        std::fs::create_dir(&base).unwrap();
        std::fs::write(folder.path().join("flower-demo-2"), "").unwrap();
        assert_eq!(next_free(&base), folder.path().join("flower-demo-3"));
    }
}
