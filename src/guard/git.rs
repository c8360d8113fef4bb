//! Which git commands only look.
//!
//! Many subcommands both show and change, depending on their arguments; each has its own list.

use super::lexer::Word;
use super::option::{NONE, OPERANDS, Options};
use super::verb::after;

const DIFF_LONG: &str = "stat shortstat numstat dirstat summary patch no-patch patch-with-stat raw \
    name-only name-status cached staged merge-base word-diff word-diff-regex color-words color no-color \
    color-moved color-moved-ws diff-filter diff-algorithm minimal patience histogram unified \
    function-context ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines \
    ignore-cr-at-eol ignore-matching-lines inter-hunk-context find-renames find-copies \
    find-copies-harder no-renames relative no-relative text binary full-index abbrev no-abbrev \
    exit-code quiet check ws-error-highlight no-prefix src-prefix dst-prefix submodule \
    ignore-submodules no-ext-diff no-textconv compact-summary pickaxe-regex pickaxe-all no-index \
    irreversible-delete indent-heuristic no-indent-heuristic";

const LOG_LONG: &str = "oneline graph no-graph all branches tags remotes decorate no-decorate \
    decorate-refs decorate-refs-exclude format pretty abbrev-commit no-abbrev-commit since until after \
    before author committer grep invert-grep all-match regexp-ignore-case extended-regexp fixed-strings \
    perl-regexp max-count skip merges no-merges first-parent follow reverse date relative-date \
    topo-order date-order author-date-order walk-reflogs stat-count left-right cherry-mark cherry-pick \
    cherry boundary source full-history simplify-merges simplify-by-decoration ancestry-path \
    dense sparse show-pulls no-walk children parents notes no-notes cc combined-all-paths remerge-diff \
    diff-merges min-parents max-parents not glob exclude encoding expand-tabs left-only right-only \
    numbered summary email group root no-mailmap use-mailmap mailmap log-size merge";

const FILTER_LONG: &str = "contains no-contains merged no-merged points-at sort format color no-color \
    column no-column abbrev no-abbrev ignore-case omit-empty";

/// `git diff`, `git log` and what is like them. `--output`, `--ext-diff`, `--textconv` and
/// `--show-signature` are not here: they write or start programs.
const HISTORY: Options = Options {
    flags: "pusRabwzctrgiEFPmqve0123456789",
    attached: "nSGLOlIUMCBDX",
    long: &[DIFF_LONG, LOG_LONG],
    ..OPERANDS
};

/// True where `git` with these arguments only looks.
pub(super) fn looks(git: &Word, arguments: &[Word]) -> bool {
    let Some((name, rest)) = subcommand(arguments) else { return false };
    let subcommand = name.to_ascii_lowercase();
    // `git STATUS` is no command of git's, but may be an alias of the repository's, which runs anything;
    // where `GIT` itself is found, names have no case.
    if name != subcommand && git.text == "git" || arguments.iter().any(asks_for_signatures) {
        return false;
    }
    let listed = |options: Options| options.admit(rest);
    match subcommand.as_str() {
        "diff" | "log" | "show" | "whatchanged" | "shortlog" => listed(HISTORY),
        "status" => listed(Options {
            flags: "sbvz",
            attached: "uM",
            long: &[
                "short branch show-stash porcelain long verbose untracked-files ignore-submodules \
                   ignored column no-column ahead-behind no-ahead-behind renames no-renames find-renames",
            ],
            ..OPERANDS
        }),
        "branch" => lists_branches(rest),
        "tag" => lists_tags(rest),
        "stash" => after("list", rest).is_some_and(|rest| HISTORY.admit(rest)),
        "worktree" => after("list", rest).is_some_and(|rest| {
            Options { flags: "vz", long: &["porcelain verbose"], ..NONE }.admit(rest)
        }),
        "remote" => names_remotes(rest),
        "rev-parse" => listed(Options {
            flags: "q",
            long: &[
                "show-toplevel abbrev-ref short verify git-dir git-common-dir absolute-git-dir \
                   show-prefix show-cdup is-inside-work-tree is-inside-git-dir is-bare-repository \
                   is-shallow-repository symbolic-full-name symbolic all branches tags remotes quiet \
                   show-superproject-working-tree git-path path-format show-object-format",
            ],
            ..OPERANDS
        }),
        // `--dirty` and `--broken` write the index.
        "describe" => listed(Options {
            long: &["tags always long all contains abbrev match exclude exact-match \
                   first-parent candidates"],
            ..OPERANDS
        }),
        "ls-files" => listed(Options {
            flags: "cdmoisukztvf",
            valued: "xX",
            long: &[
                "cached deleted modified others ignored stage unmerged killed exclude-standard exclude \
                   exclude-from exclude-per-directory error-unmatch with-tree full-name \
                   recurse-submodules abbrev eol deduplicate directory no-empty-directory format",
            ],
            ..OPERANDS
        }),
        "blame" => listed(Options {
            flags: "ltsewfnpbc",
            valued: "L",
            attached: "MC",
            long: &["root since porcelain line-porcelain date show-name show-number show-email \
                   ignore-rev ignore-revs-file reverse first-parent abbrev show-stats"],
            ..OPERANDS
        }),
        "reflog" => reads_reflog(rest),
        "cherry" => listed(Options { flags: "v", long: &["abbrev verbose"], ..OPERANDS }),
        "for-each-ref" => {
            listed(Options { flags: "s", long: &[FILTER_LONG, "count exclude shell"], ..OPERANDS })
        }
        "show-ref" => listed(Options {
            flags: "dsq",
            long: &["head heads branches tags dereference hash verify quiet abbrev exists"],
            ..OPERANDS
        }),
        // A second operand moves the reference.
        "symbolic-ref" => listed(Options {
            flags: "q",
            long: &["short quiet recurse no-recurse"],
            operands: Some(1),
            ..NONE
        }),
        // `-w` writes an object.
        "hash-object" => {
            listed(Options { valued: "t", long: &["stdin no-filters path"], ..OPERANDS })
        }
        "cat-file" => listed(Options {
            flags: "ptse",
            long: &["batch batch-check batch-all-objects unordered buffer follow-symlinks"],
            ..OPERANDS
        }),
        "count-objects" => {
            listed(Options { flags: "vH", long: &["verbose human-readable"], ..NONE })
        }
        "check-ignore" => listed(Options {
            flags: "vnqz",
            long: &["verbose non-matching quiet no-index stdin"],
            ..OPERANDS
        }),
        "var" => listed(Options { flags: "l", operands: Some(1), ..NONE }),
        "config" => reads_config(rest),
        _ => false,
    }
}

/// `%G?` and `%(signature)` in a format start the program that checks signatures.
fn asks_for_signatures(word: &Word) -> bool {
    word.text.contains("%G") || word.text.contains("%(signature")
}

/// The subcommand and what follows it. Of git's own options only those pass that say
/// where to look; `-c` could name a program to run.
fn subcommand(arguments: &[Word]) -> Option<(&str, &[Word])> {
    let (first, rest) = arguments.split_first()?;
    if !first.bare {
        return None;
    }
    match first.text.as_str() {
        "-C" => {
            let (folder, rest) = rest.split_first()?;
            if folder.is_operand() { subcommand(rest) } else { None }
        }
        "--no-pager" | "-P" | "--no-optional-locks" => subcommand(rest),
        name => Some((name, rest)),
    }
}

/// An operand makes a branch, unless `--list` or the like says that it is a pattern or a commit.
fn lists_branches(arguments: &[Word]) -> bool {
    const BRANCH: Options = Options {
        flags: "arvi",
        long: &[FILTER_LONG, "list show-current all remotes verbose"],
        ..NONE
    };
    lists_with(BRANCH, arguments)
}

/// An operand makes a tag, as with branches; `-l` is `--list` in every version.
fn lists_tags(arguments: &[Word]) -> bool {
    const TAG: Options =
        Options { flags: "li", attached: "n", long: &[FILTER_LONG, "list"], ..NONE };
    lists_with(TAG, arguments)
}

fn lists_with(options: Options, arguments: &[Word]) -> bool {
    const LISTING: [&str; 6] =
        ["--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
    // As the first argument only: later it could be the value of another option.
    let first = arguments.first().map_or("", |word| word.text.as_str());
    let lists = LISTING.contains(&first) || first == "-l" && options.flags.contains('l');
    Options { operands: (!lists).then_some(0), ..options }.admit(arguments)
}

/// `git remote`, `-v`, `show NAME`, `get-url NAME`. A name with a colon could be `ext::COMMAND`.
fn names_remotes(arguments: &[Word]) -> bool {
    let is_name = |word: &Word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        word.bare && word.is_operand() && word.text.chars().all(plain)
    };
    match arguments {
        [] => true,
        [option] if option.text == "-v" || option.text == "--verbose" => true,
        [verb, rest @ ..] if verb.bare && (verb.text == "show" || verb.text == "get-url") => {
            let rest = after("-n", rest).unwrap_or(rest);
            rest.len() <= 1 && rest.iter().all(is_name)
        }
        _ => false,
    }
}

/// `expire`, `delete` and `drop` are subcommands, so an operand must look like a reference.
fn reads_reflog(arguments: &[Word]) -> bool {
    if let Some(rest) = after("show", arguments).or_else(|| after("list", arguments)) {
        return HISTORY.admit(rest);
    }
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let is_reference = |word: &&Word| {
        word.text == "HEAD" || word.text.contains(['@', '/']) || is_number(&word.text)
    };
    HISTORY.read(arguments).is_some_and(|operands| operands.iter().all(is_reference))
}

/// Only with `--get`, `--get-all` or `--get-regexp` in front; a bare name with a value would set it.
fn reads_config(arguments: &[Word]) -> bool {
    const SHOW: Options = Options {
        flags: "z",
        long: &[
            "global local system worktree show-origin show-scope type bool int path null name-only \
                 includes",
        ],
        operands: Some(2),
        ..NONE
    };
    ["--get", "--get-all", "--get-regexp"]
        .iter()
        .find_map(|action| after(action, arguments))
        .is_some_and(|rest| SHOW.admit(rest))
}
