//! `find`: only tests, and only actions that print.

use super::lexer::Word;

/// Tests and actions without an argument. `-delete`, `-exec`, `-ok`, `-fls`, `-fprint` are not here.
const PLAIN: &str = "-print -print0 -ls -empty -depth -d -mount -xdev -daystart -follow -noleaf -nouser \
    -nogroup -readable -writable -executable -true -false -prune -quit -not -and -a -o -or ( ) ! ,";

/// Tests and actions with one argument.
const WITH_ARGUMENT: &str = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname \
    -ilname -type -xtype -size -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -perm \
    -user -group -uid -gid -links -inum -samefile -maxdepth -mindepth -regextype -fstype -printf -used";

/// True where `find` with these arguments only lists files.
pub(super) fn looks(arguments: &[Word]) -> bool {
    if arguments.iter().any(|word| word.loose) {
        return false;
    }
    let starts = arguments.iter().take_while(|word| is_start(word)).count();
    let mut expression = arguments[starts..].iter();
    while let Some(word) = expression.next() {
        let text = word.text.as_str();
        if listed(PLAIN, text) {
            continue;
        }
        // The argument is taken whatever it looks like, as `find` does.
        let argument = listed(WITH_ARGUMENT, text) || is_newer(text);
        if !argument || expression.next().is_none() {
            return false;
        }
    }
    true
}

/// A folder to begin at, or one of the options that stand before the folders.
fn is_start(word: &Word) -> bool {
    matches!(word.text.as_str(), "-H" | "-L" | "-P")
        || !(word.text.starts_with('-') || matches!(word.text.as_str(), "(" | ")" | "!" | ","))
}

/// `-newerXY`, two letters of a fixed set.
fn is_newer(text: &str) -> bool {
    text.strip_prefix("-newer")
        .is_some_and(|kinds| kinds.len() == 2 && kinds.chars().all(|c| "aBcmt".contains(c)))
}

fn listed(list: &str, text: &str) -> bool {
    list.split_whitespace().any(|known| known == text)
}
