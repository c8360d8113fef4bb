//! Reads the judge's one decisive word; in doubt it is not "achieved".

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::remark;

/// What a judge found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerdictState {
    /// Every check holds.
    Achieved,
    /// Something is missing; another round may help.
    NotYet,
    /// No round can help: a condition is missing or cannot be verified here.
    Unreachable,
    /// The reply does not say; to be treated as not achieved.
    #[default]
    Unclear,
}

impl VerdictState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Achieved, Self::NotYet, Self::Unreachable, Self::Unclear];

    /// As events name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Achieved => "achieved",
            Self::NotYet => "not_yet",
            Self::Unreachable => "unreachable",
            Self::Unclear => "unclear",
        }
    }
}

const ACHIEVED: &str = concat!(
    r"(?:目标)?(?:已经|已)?(?:全部|完全)?(?:达成|通过)",
    r"|(?:the )?(?:goal )?(?:is |has been )?achieved|yes|passed",
    r"|(?:цель )?достигнут[оа]?|да",
);

const UNREACHABLE: &str = concat!(
    r"(?:无法|没法|不能|不可能)(?:完全|全部|被)?(?:达成|验证|判定|判断|实现)|验证不了|达成不了|做不到|不可达成|不可能",
    r"|\b(?:unverifiable|unreachable|impossible|unattainable|unachievable|infeasible)\b",
    r"|\b(?:cannot|can not|can't)(?: be)? (?:verif|achiev|reach|attain|judge|determin)",
    r"|недостижим|невозможно|(?:нельзя|не может быть|невозможно) (?:проверить|проверен|достичь|достигнут)",
);

/// A reply that offers the choices instead of choosing.
const CHOICE: &str = r"(?:达成|achieved|yes|достигнут[оа]?)\s*(?:/|\||还是|或| or | или )";

/// Words that take an "achieved" back, wherever they stand beside it.
const DOUBT: &str = concat!(
    r"未|没能|没法|没达|没有达|没有通|没有完|没通|不算|不能|不通过|不达|不行|不确定|失败|尚|缺|部分|几乎|差一|基本上|但|不过|然而|除了|除非|只是|仅|尽管|虽然|可能|大概|应该|\?",
    r"|\b(?:not|never|cannot|unable|fails?|failed|failing|doubt\w*|partial\w*|partly|almost|nearly|mostly|except|but|however|although|though|unless|until|only|incomplete|missing|broken|maybe|probably|perhaps|if|un\w+ed)\b|n't\b",
    r"|\b(?:apart from|aside from|other than|exceptions?|excluding|barring|pending|provided|assuming|caveats?|reservations?|largely|in part|skipped|untested|false|no)\b",
    r"|前提|假设|如果|待定|待验|待修|仍|例外|保留|否|跳过|❌|✗|✘",
    r"|\b(?:не|нет|ни|частично|почти|но|однако|кроме|хотя|если|провал\w*|возможно|вероятно|только|пока)\b",
    r"|\b(?:при условии|за исключением|помимо|в основном|наполовину|с оговорк\w*|пропущен\w*)",
    r"|\b[1-9]\d* failures?\b",
);

/// Words that say "not yet" when no "achieved" stands at the start.
const NEGATIVE: &str = concat!(
    r"未|没有|没|不算|不能|不通过|不达|不行|失败|尚|达成|通过",
    r"|\b(?:no|not|never|cannot|fail\w*|false|only|partial\w*|partly|almost|nearly|incomplete|missing|\w*achieved|pass\w*)\b|n't\b",
    r"|\b(?:не|нет|частично|почти|только|провал\w*|достигнут\w*)\b",
);

static STARTS_ACHIEVED: LazyLock<Regex> = LazyLock::new(|| {
    // A token counts only when a sentence or clause ends right after it.
    compile(&format!(r"^(?:{ACHIEVED})\s*(?:$|[.。,;!(—–:]|\n|\s-\s)"))
});
/// A line that goes on in the next one.
const UNFINISHED: [char; 7] = [',', ';', ':', '(', '—', '–', '-'];
static IS_ACHIEVED: LazyLock<Regex> =
    LazyLock::new(|| compile(&format!(r"^(?:{ACHIEVED}|1|true)[.。!]?$")));
static IS_NOT_YET: LazyLock<Regex> = LazyLock::new(|| compile(r"^(?:0|false)[.。!]?$"));
static SAYS_UNREACHABLE: LazyLock<Regex> = LazyLock::new(|| compile(UNREACHABLE));
static OFFERS_CHOICE: LazyLock<Regex> = LazyLock::new(|| compile(&format!("^(?:{CHOICE})")));
static DOUBTS: LazyLock<Regex> = LazyLock::new(|| compile(DOUBT));
static SAYS_NOT_YET: LazyLock<Regex> = LazyLock::new(|| compile(NEGATIVE));

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are fixed and tests compile them")
}

/// Reads the text of the conclusion.
pub(super) fn read(text: &str) -> VerdictState {
    let text = fold(text);
    if IS_ACHIEVED.is_match(&text) {
        return VerdictState::Achieved;
    }
    if IS_NOT_YET.is_match(&text) {
        return VerdictState::NotYet;
    }
    if OFFERS_CHOICE.is_match(&text) {
        return VerdictState::Unclear;
    }
    if let Some(token) = STARTS_ACHIEVED.find(&text) {
        let rest = &text[token.end()..];
        // After a full stop, what used to be impossible is history; after a comma it is a limit.
        let limited = token.as_str().ends_with(',') || DOUBTS.is_match(rest);
        return if limited && SAYS_UNREACHABLE.is_match(rest) {
            VerdictState::Unreachable
        } else if DOUBTS.is_match(&remark::without_praise(rest)) {
            VerdictState::NotYet
        } else if remark::only_affirms(beside(&text, token.end())) {
            VerdictState::Achieved
        } else {
            VerdictState::Unclear
        };
    }
    if SAYS_UNREACHABLE.is_match(&text) {
        VerdictState::Unreachable
    } else if SAYS_NOT_YET.is_match(&text) {
        VerdictState::NotYet
    } else {
        VerdictState::Unclear
    }
}

/// What stands in the same line as a decisive word that ends at `end`. Further lines are reasons, as
/// under a heading of their own; but a line that goes on is no line.
fn beside(text: &str, end: usize) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let whole = if line.trim_end().ends_with(UNFINISHED) { text } else { line };
    whole.get(end..).unwrap_or_default()
}

/// Whether the text is one decisive word and nothing else.
pub(super) fn is_lone_word(text: &str) -> bool {
    let text = fold(text);
    IS_ACHIEVED.is_match(&text) || IS_NOT_YET.is_match(&text)
}

/// Whether the text holds a word that takes an "achieved" back.
pub(super) fn doubts(text: &str) -> bool {
    DOUBTS.is_match(&remark::without_praise(&fold(text)))
}

/// One form for full-width signs, traditional 達, ё, curly quotes, emphasis and spaces.
fn fold(text: &str) -> String {
    let mut out = String::new();
    let mut previous = ' ';
    for c in text.nfkc().flat_map(char::to_lowercase) {
        let c = match c {
            '達' => '达',
            '無' => '无',
            '過' => '过',
            'ё' => 'е',
            '’' | '‘' | '`' if previous.is_alphabetic() => '\'',
            '*' | '`' | '#' | '"' | '“' | '”' | '「' | '」' => continue,
            '_' | '\t' | '\u{3000}' => ' ',
            c => c,
        };
        // "未 达成" is one word.
        if c == ' ' && (previous == ' ' || is_han(previous)) {
            continue;
        }
        out.push(c);
        previous = c;
    }
    // A tick is decoration; a cross, or anything else, is not.
    out.trim_start_matches(['-', '✅', '✔', '☑', '\u{fe0f}', ' ']).trim().to_owned()
}

fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_exact_words_of_all_languages_are_known() {
        for text in [
            "达成",
            "**达成**。",
            "achieved",
            "Achieved.",
            "Достигнуто",
            "достигнута",
            "ДА",
            "✅ Achieved",
        ] {
            assert_eq!(read(text), VerdictState::Achieved, "{text}");
        }
        for text in
            ["未达成", "not achieved", "Не достигнуто", "not_yet", "частично достигнуто", "0"]
        {
            assert_eq!(read(text), VerdictState::NotYet, "{text}");
        }
        for text in ["无法达成", "unreachable", "Недостижимо", "cannot be verified here"]
        {
            assert_eq!(read(text), VerdictState::Unreachable, "{text}");
        }
    }

    #[test]
    fn an_achieved_that_is_taken_back_is_none() {
        for text in [
            "achieved, except check 3",
            "achieved. However, test 3 fails",
            "achieved?",
            "Achieved (mostly)",
            "达成(第3条除外,未通过)",
            "достигнуто, но тест 3 падает",
            "achieved; 2 failures",
            "achieved — not really",
            "not\nachieved",
            "achievedness",
            "achieved if you ignore check 2",
            "达成。但是第3条失败",
            "achieved,\nbut no",
        ] {
            assert_ne!(read(text), VerdictState::Achieved, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_negated_word_is_never_achieved(
            before in "(not |never |isn't |hasn’t been |hardly |partially |un|nearly |未|没有|不算|尚未完全|не |почти |[a-z]{1,6} )",
            word in "(achieved|达成|достигнуто|passed|通过|yes)",
            after in "(|\\.|。|, all fine| and done)",
        ) {
            prop_assert_ne!(read(&format!("{before}{word}{after}")), VerdictState::Achieved);
        }

        #[test]
        fn a_contradicted_word_is_never_achieved(
            word in "(achieved|达成|достигнуто|passed|yes)",
            sign in "(\\.|,|;| —|!|:| \\(|\n)",
            doubt in "(not |n't |fails |failed |but |however |except |未通过|没有达成|失败|но |не |\\?|doubtful )",
            tail in "[a-z ]{0,12}",
        ) {
            prop_assert_ne!(read(&format!("{word}{sign} {doubt}{tail}")), VerdictState::Achieved);
        }
    }
}
