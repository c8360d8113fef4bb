//! The commands that only look, each with what it may be given.
//!
//! [`Check::Anything`] stands only where no option of any common implementation writes, runs
//! something or waits for ever. Everywhere else the options are a closed list.

use super::lexer::Word;
use super::option::{NONE, OPERANDS, Options};
use super::{awk, find, git, sed};

/// How the arguments of a command are judged.
pub(super) enum Check {
    /// Nothing it can be given does harm.
    Anything,
    /// Only what is listed.
    Listed(Options),
    /// By a function of the arguments.
    By(fn(&[Word]) -> bool),
    /// By a function of the command's own name and the arguments.
    Whole(fn(&Word, &[Word]) -> bool),
}

use Check::{Anything, By, Listed, Whole};

/// The table; names in lower case.
pub(super) const VERBS: &[(&str, Check)] = &[
    ("git", Whole(git::looks)),
    // Places and files.
    ("ls", Anything),
    ("ll", Anything),
    ("dir", Anything),
    ("pwd", Anything),
    ("df", Anything),
    ("du", Anything),
    ("cat", Anything),
    ("head", Anything),
    ("wc", Anything),
    ("stat", Anything),
    ("echo", Anything),
    ("true", Anything),
    ("lsblk", Anything),
    ("tail", By(tail_looks)),
    // `-C` writes a compiled magic file, `-z` starts decompressors.
    (
        "file",
        Listed(Options {
            flags: "bikLhNnrs0",
            long: &["brief mime mime-type mime-encoding dereference no-dereference raw"],
            loose: true,
            ..OPERANDS
        }),
    ),
    ("find", By(find::looks)),
    // `-o` writes a file, `-R` with `-H` writes one in every folder.
    (
        "tree",
        Listed(Options {
            flags: "adlfxpugshDFqNQrtcUvnCASiJX",
            valued: "LIP",
            long: &[
                "noreport dirsfirst filelimit gitignore prune charset du inodes device matchdirs \
                   ignore-case sort si",
            ],
            ..OPERANDS
        }),
    ),
    // The system.
    ("whoami", Anything),
    ("id", Anything),
    ("uptime", Anything),
    ("printenv", Anything),
    ("uname", Anything),
    ("nproc", Anything),
    ("locale", Anything),
    ("getconf", Anything),
    ("sw_vers", Anything),
    ("whereis", Anything),
    ("which", Anything),
    ("ps", Anything),
    // Anything after `arch` or `env` is a command to run.
    ("arch", Listed(NONE)),
    ("env", Listed(Options { flags: "0", long: &["null"], ..NONE })),
    // `-s` repeats for ever.
    (
        "free",
        Listed(Options {
            flags: "bkmghltwv",
            long: &["bytes kibi mebi gibi kilo mega giga human si lohi total wide"],
            ..NONE
        }),
    ),
    ("date", By(date_looks)),
    // An operand or `-F` sets the name.
    (
        "hostname",
        Listed(Options {
            flags: "IifsdAay",
            long: &["all-ip-addresses ip-address fqdn long short domain all-fqdns alias"],
            ..NONE
        }),
    ),
    ("top", By(top_looks)),
    // `-x` runs a command.
    ("jobs", Listed(Options { flags: "lprsn", ..OPERANDS })),
    ("lsof", By(lsof_looks)),
    // `-c`, `-w` and, on some systems, a number repeat.
    ("netstat", Listed(Options { flags: "tulnpariseWo46xg", ..NONE })),
    // `-K` closes sockets, `-D` writes a file, `-E` waits for events.
    (
        "ss",
        Listed(Options {
            flags: "tulnpa46oemiswxdrHOSb",
            long: &[
                "tcp udp listening numeric processes all ipv4 ipv6 summary extended info no-header",
            ],
            ..OPERANDS
        }),
    ),
    ("pgrep", Listed(Options { flags: "flaxnoicv", valued: "uUgGPtsd", ..OPERANDS })),
    ("systemctl", By(systemctl_looks)),
    ("docker", By(docker_looks)),
    ("kubectl", By(kubectl_looks)),
    // Where a command is. `command NAME` would run it.
    ("command", By(command_looks)),
    ("type", By(type_looks)),
    // Text.
    ("cut", Anything),
    ("tr", Anything),
    ("nl", Anything),
    ("rev", Anything),
    ("comm", Anything),
    ("column", Anything),
    ("grep", Listed(GREP)),
    ("egrep", Listed(GREP)),
    ("fgrep", Listed(GREP)),
    // `--pre` and `-z` start programs for each file.
    (
        "rg",
        Listed(Options {
            flags: "nilcvwosSxFLpNHqUPu0hIa.",
            valued: "ABCegtTmdEjMf",
            long: &[
                "files files-with-matches files-without-match type type-not type-list glob iglob \
                   hidden no-ignore no-ignore-vcs no-heading heading line-number no-line-number count \
                   count-matches max-count max-depth ignore-case smart-case case-sensitive word-regexp \
                   fixed-strings regexp context after-context before-context only-matching invert-match \
                   color colors no-filename with-filename multiline pcre2 sort sortr stats json text \
                   trim vimgrep column null follow max-columns max-filesize one-file-system unrestricted \
                   line-regexp passthru replace quiet binary encoding",
            ],
            ..OPERANDS
        }),
    ),
    // `-o` writes, `--compress-program` runs.
    (
        "sort",
        Listed(Options {
            flags: "bdfghiMnrRVcCmsuz",
            valued: "ktS",
            long: &[
                "reverse numeric-sort unique key field-separator human-numeric-sort version-sort \
                   ignore-case stable general-numeric-sort month-sort random-sort check \
                   zero-terminated dictionary-order ignore-leading-blanks ignore-nonprinting merge \
                   sort",
            ],
            ..OPERANDS
        }),
    ),
    // The second operand is written.
    (
        "uniq",
        Listed(Options {
            flags: "cdDuiz",
            valued: "fsw",
            long: &["count repeated unique ignore-case all-repeated group skip-fields skip-chars \
                   check-chars zero-terminated"],
            operands: Some(1),
            ..NONE
        }),
    ),
    ("sed", By(sed::looks)),
    ("awk", By(awk::looks)),
    (
        "jq",
        Listed(Options {
            flags: "nrcsSejaMCR0",
            valued: "f",
            long: &[
                "null-input raw-output compact-output slurp sort-keys exit-status join-output \
                   ascii-output monochrome-output color-output raw-input arg argjson args jsonargs \
                   slurpfile rawfile tab indent from-file seq stream",
            ],
            ..OPERANDS
        }),
    ),
    // `-l` starts another program.
    (
        "diff",
        Listed(Options {
            flags: "qsrNuacbBwEitydepnTZ0123456789",
            valued: "xXIWL",
            attached: "UC",
            long: &["brief unified side-by-side recursive ignore-all-space ignore-space-change \
                   ignore-blank-lines ignore-case ignore-trailing-space ignore-tab-expansion \
                   ignore-matching-lines color exclude exclude-from strip-trailing-cr new-file text \
                   width suppress-common-lines left-column no-dereference label context normal \
                   report-identical-files minimal expand-tabs initial-tab show-c-function"],
            ..OPERANDS
        }),
    ),
];

const GREP: Options = Options {
    flags: "rRnilLcvwoqshHxEFGPaIyzZbTU0123456789",
    valued: "efmABCdD",
    long: &[
        "recursive dereference-recursive line-number ignore-case no-ignore-case files-with-matches \
           files-without-match count invert-match word-regexp line-regexp only-matching quiet silent \
           no-messages no-filename with-filename extended-regexp fixed-strings basic-regexp \
           perl-regexp text include exclude exclude-dir exclude-from color colour max-count \
           after-context before-context context null null-data regexp file line-buffered byte-offset \
           initial-tab binary-files directories devices label group-separator",
    ],
    loose: true,
    ..OPERANDS
};

/// True where `words`, a whole command, only looks.
pub(super) fn looks(words: &[Word]) -> bool {
    let Some((verb, arguments)) = words.split_first() else { return false };
    // `\ls`, `"ls"` and `$LS` are how a line avoids what a reader expects.
    if !verb.bare {
        return false;
    }
    let name = verb.text.to_ascii_lowercase();
    match VERBS.iter().find(|(known, _)| *known == name) {
        Some((_, Anything)) => true,
        Some((_, Listed(options))) => options.admit(arguments),
        Some((_, By(check))) => check(arguments),
        Some((_, Whole(check))) => check(verb, arguments),
        None => false,
    }
}

/// `tail` without following: `-f`, `-F`, `--follow` and the old `+5f` never end.
fn tail_looks(arguments: &[Word]) -> bool {
    const TAIL: Options = Options {
        flags: "qvz0123456789",
        valued: "nc",
        long: &["lines bytes quiet silent verbose zero-terminated"],
        loose: true,
        ..OPERANDS
    };
    // The old `-5cf` is a count with letters behind it, the last of which follows.
    let is_odd_count = |word: &Word| {
        let count = word.text.strip_prefix('-').unwrap_or_default();
        count.starts_with(|c: char| c.is_ascii_digit())
            && !count.chars().all(|c| c.is_ascii_digit())
    };
    TAIL.read(arguments)
        .is_some_and(|operands| operands.iter().all(|word| !word.text.starts_with('+')))
        && !arguments.iter().any(is_odd_count)
}

/// `lsof`: `-r` and `+r` repeat, `-D` writes a cache.
fn lsof_looks(arguments: &[Word]) -> bool {
    const LSOF: Options = Options { flags: "nPtalUR", valued: "pucds", attached: "i", ..OPERANDS };
    LSOF.read(arguments)
        .is_some_and(|operands| operands.iter().all(|word| !word.text.starts_with('+')))
}

/// `date`: an operand that is not a format sets the clock, as `-s` does.
fn date_looks(arguments: &[Word]) -> bool {
    const DATE: Options = Options {
        flags: "uRj",
        valued: "drv",
        attached: "I",
        long: &["utc universal date reference iso-8601 rfc-3339 rfc-email rfc-2822"],
        ..OPERANDS
    };
    DATE.read(arguments)
        .is_some_and(|operands| operands.iter().all(|word| word.text.starts_with('+')))
}

/// `top` ends only in batch mode and with a count.
fn top_looks(arguments: &[Word]) -> bool {
    const TOP: Options = Options { flags: "bcHiS", valued: "npuowd", operands: Some(0), ..NONE };
    let has = |letter: char| {
        arguments.iter().any(|word| word.text.starts_with('-') && word.text.contains(letter))
    };
    has('b') && has('n') && TOP.admit(arguments)
}

/// `systemctl status`; another verb acts, `-H` goes to another machine.
fn systemctl_looks(arguments: &[Word]) -> bool {
    const STATUS: Options = Options {
        flags: "laq",
        valued: "no",
        long: &["no-pager full all lines output quiet user system"],
        ..OPERANDS
    };
    after("status", arguments).is_some_and(|rest| STATUS.admit(rest))
}

/// `docker ps`, `images` and one round of `stats`.
fn docker_looks(arguments: &[Word]) -> bool {
    const LIST: Options = Options {
        flags: "aqsl",
        valued: "fn",
        long: &["all quiet format filter no-trunc size last latest digests no-stream"],
        ..OPERANDS
    };
    if let Some(rest) = after("stats", arguments) {
        // Word by word: `--format --no-stream` would swallow the option that makes it end.
        let known = |word: &Word| {
            let text = word.text.as_str();
            matches!(text, "--no-stream" | "--no-trunc" | "--all" | "-a")
                || text.starts_with("--format=")
                || word.is_operand()
        };
        let ends = rest.iter().any(|word| word.text == "--no-stream");
        return ends && rest.iter().all(|word| !word.loose && known(word));
    }
    let rest = after("ps", arguments).or_else(|| after("images", arguments));
    rest.is_some_and(|rest| LIST.admit(rest))
}

/// `kubectl get` without `--watch`, and without another configuration, which may run a program.
fn kubectl_looks(arguments: &[Word]) -> bool {
    const GET: Options = Options {
        flags: "A",
        valued: "nolL",
        long: &[
            "all-namespaces namespace output selector show-labels field-selector no-headers sort-by \
               ignore-not-found label-columns show-kind",
        ],
        ..OPERANDS
    };
    after("get", arguments).is_some_and(|rest| GET.admit(rest))
}

fn command_looks(arguments: &[Word]) -> bool {
    let rest = after("-v", arguments).or_else(|| after("-V", arguments));
    rest.is_some_and(|rest| !rest.is_empty() && OPERANDS.admit(rest))
}

/// `type [-a|-p|-t|-P] NAME`.
fn type_looks(arguments: &[Word]) -> bool {
    let rest = ["-a", "-p", "-t", "-P"].iter().find_map(|option| after(option, arguments));
    let [name] = rest.unwrap_or(arguments) else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    name.bare && name.is_operand() && name.text.chars().all(plain)
}

/// What follows `first`, where the arguments begin with exactly that.
pub(super) fn after<'w>(first: &str, arguments: &'w [Word]) -> Option<&'w [Word]> {
    let (word, rest) = arguments.split_first()?;
    (word.bare && word.text == first).then_some(rest)
}
