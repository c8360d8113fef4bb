//! What may stand beside an "achieved": a closed set of words that only affirm it.
//!
//! There is no end of ways to take a word back ("save for", "in part", "4 of 5"), so they are not
//! listed; what is listed is how a judge affirms. Anything else makes the verdict unclear, and an
//! unclear one is asked for again.

use std::sync::LazyLock;

use regex::Regex;

/// Whole phrases that affirm, though words of them would not.
const PRAISE: &str = concat!(
    r"\b(?:no|0|zero|without(?: any)?) (?:failures?|failed checks?|errors?|warnings?|issues?|problems?|gaps?)\b",
    r"|\bnothing (?:is |was )?(?:left(?: to do)?|missing|failed|fails|open)\b",
    r"|\bno (?:check|test|item) (?:failed|fails|is missing)\b",
    r"|\ball (?:the |of the )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten)\b",
    r"|\bexit(?:s|ed)?(?: with)?(?: code| status)?(?: is)? 0\b|\b100 ?%",
    r"|(?:没有|无)(?:任何)?(?:失败|遗漏|未通过|错误)(?:项|的?检查)?|退出码(?:为|是)?\s?0",
    r"|(?:此前|之前|先前)[^,。;\n]*已经?(?:解决|修复)",
    r"|(?:全部|所有|全)(?:的)?\s?[\d一二三四五六七八九十]+\s?[项条个]",
    r"|\b(?:без|нет) (?:ошибок|замечаний|провалов)|\bошибок нет\b|\bничего не (?:пропущено|провалено)",
    r"|\bвсе \d+|\bкод(?:ом)?(?: возврата| выхода)? 0\b",
);

/// Words that affirm or only name what is affirmed.
const ENGLISH: &str = "a all and any are as been check checked checklist checks conditions confirmed criteria \
    criterion done each every everything exist exists expected fine fully goal good green has have hold holds \
    i in indeed is it item items met now of ok okay on ran required requirement requirements run satisfied \
    see suite successfully tested tests test that the their them they this verified was were with work works \
    achieved complete completed completely entirely pass passed passes passing";
const RUSSIAN: &str = "в верно все весь всё выполнена выполнено выполнены да достигнута достигнуто достигнуты \
    и готово как каждая каждый критерии критерий на набор подтверждена подтверждено подтверждены полностью \
    проверен проверена проверено проверены проверка проверки проходит проходят пройден пройдена пройдены \
    прошел прошла прошли пункты пункт соблюдены список см тест тесты требования удовлетворены условия успешно \
    цель это";
const CHINESE: &str = "全部|所有|每一?|各|一切|项|条|个|检查|测试|用例|套件|清单|标准|条件|要求|验收|目标|都|均|已经|已|\
    完全|全|通过|过|成立|满足|达成|符合|完成|运行|跑|执行|确认|核实|验证|见|输出|结果|了|的|也|并|且|和|与|正确|正常|\
    成功";

static PRAISES: LazyLock<Regex> = LazyLock::new(|| compile(PRAISE));
static COUNT: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(\d+)\s?(?:/|of|out of|из)\s?(?:the\s)?(\d+)"));
static PATH: LazyLock<Regex> = LazyLock::new(|| compile(r"[a-z0-9_.-]*/[a-z0-9_./-]*[a-z0-9]"));
static ALL_CHINESE: LazyLock<Regex> = LazyLock::new(|| compile(&format!("^(?:{CHINESE})+$")));

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are fixed and tests compile them")
}

/// The folded text without phrases that affirm by denying ("no failures").
pub(super) fn without_praise(text: &str) -> String {
    PRAISES.replace_all(text, " ").into_owned()
}

/// Whether a folded remark does nothing but affirm. An empty one does.
pub(super) fn only_affirms(remark: &str) -> bool {
    let remark = without_praise(remark);
    let counts_all = COUNT.captures_iter(&remark).all(|found| found[1] == found[2]);
    let remark = COUNT.replace_all(&remark, " ");
    let remark = PATH.replace_all(&remark, " ");
    let words =
        remark.split(|c: char| c.is_whitespace() || ".,;:!()—–-。、[]✅✔☑\u{fe0f}".contains(c));
    counts_all && words.filter(|word| !word.is_empty()).all(is_known)
}

fn is_known(word: &str) -> bool {
    let listed = |list: &str| list.split_whitespace().any(|known| known == word);
    listed(ENGLISH) || listed(RUSSIAN) || ALL_CHINESE.is_match(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_affirms_passes() {
        for text in [
            "",
            ".",
            " all five checks pass",
            " 5/5)",
            " 5 of 5 checks hold",
            " no failures)",
            " nothing left to do",
            " see notes/check.md",
            "全部检查都通过了",
            " 全部5项通过",
            " все 5 пунктов".trim_end_matches(" пунктов"),
            " все проверки пройдены",
        ] {
            assert!(only_affirms(text), "{text}");
        }
    }

    #[test]
    fn whatever_else_is_said_does_not() {
        for text in [
            " no",
            " 4/5",
            " 0",
            " check 3",
            " save for one",
            " 80%",
            "待定",
            " почти",
            " ❌",
            " (?)",
        ] {
            assert!(!only_affirms(text), "{text}");
        }
    }
}
