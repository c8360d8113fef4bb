//! Tells fenced code from text, by CommonMark's rule for closing a fence.

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Ordinary text.
    Text,
    /// Inside a closed fence.
    Code,
    /// The fence itself, or what an open fence swallowed.
    Fence,
}

/// An opening fence: its character, its length.
pub(super) fn opening(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    // "```x```" on one line is inline code.
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some((mark, length))
}

fn closes(line: &str, (mark, length): (char, usize)) -> bool {
    let line = line.trim();
    line.len() >= length && line.chars().all(|c| c == mark)
}

/// Places each line. An open backtick fence swallows lines up to the next one that `resumes`;
/// an open tilde fence is a line like any other, unless `strict`, where it swallows too.
pub(super) fn place(lines: &[&str], strict: bool, resumes: impl Fn(&str) -> bool) -> Vec<Place> {
    let mut places = vec![Place::Text; lines.len()];
    let mut at = 0;
    // Without this, text of many open tildes would be searched to its end for each of them.
    let mut open_tilde = usize::MAX;
    while at < lines.len() {
        let Some(fence) = opening(lines[at]) else {
            at += 1;
            continue;
        };
        let hopeless = fence.0 == '~' && fence.1 >= open_tilde;
        let end =
            if hopeless { None } else { (at + 1..lines.len()).find(|&i| closes(lines[i], fence)) };
        match end {
            Some(end) => {
                places[at + 1..end].fill(Place::Code);
                places[at] = Place::Fence;
                places[end] = Place::Fence;
                at = end + 1;
            }
            None if fence.0 == '~' && !strict => {
                open_tilde = open_tilde.min(fence.1);
                at += 1;
            }
            None => {
                let next = (at + 1..lines.len()).find(|&i| !strict && resumes(lines[i]));
                let end = next.unwrap_or(lines.len());
                places[at..end].fill(Place::Fence);
                at = end;
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, strict: bool) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let places = place(&lines, strict, |line| line.starts_with("## "));
        let kept = lines.iter().zip(places).filter(|(_, place)| *place == Place::Text);
        kept.map(|(line, _)| *line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_longer_fence_holds_a_shorter_one() {
        assert_eq!(kept("````md\n```\nx\n```\n````\na", false), "a");
        assert_eq!(kept("```\nx\n~~~\n``` y\n````\na", false), "a");
    }

    #[test]
    fn inline_code_opens_nothing() {
        assert_eq!(kept("```x``` y\na", false), "```x``` y|a");
    }

    #[test]
    fn an_open_fence_ends_at_the_next_heading_or_never() {
        assert_eq!(kept("a\n```\nb\n## c\nd", false), "a|## c|d");
        assert_eq!(kept("a\n```\nb\n## c\nd", true), "a");
        assert_eq!(kept("a\n~~~\nb", false), "a|~~~|b");
        assert_eq!(kept("a\n~~~\nb", true), "a");
    }
}
