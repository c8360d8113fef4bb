//! The little Markdown that models write, as HTML; every character of the text is escaped.

use std::fmt::Write;

/// A line at least this long was broken for its length, so the next one goes on in it.
const BROKEN: usize = 60;

/// Adds the text to a page.
pub(super) fn prose(out: &mut String, text: &str) {
    let mut writer = Writer { out, open: Open::Nothing, fence: None, last: 0 };
    text.lines().for_each(|line| writer.line(line));
    writer.close();
}

/// Text with the five characters that mean something in HTML replaced.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Paragraph,
    Bullets,
    Numbers,
    Quote,
    Table,
}

impl Open {
    fn tags(self) -> (&'static str, &'static str) {
        match self {
            Open::Nothing => ("", ""),
            Open::Paragraph => ("<p>", "</p>\n"),
            Open::Bullets => ("<ul>\n<li>", "</li>\n</ul>\n"),
            Open::Numbers => ("<ol>\n<li>", "</li>\n</ol>\n"),
            Open::Quote => ("<blockquote>", "</blockquote>\n"),
            Open::Table => ("<pre>", "</pre>\n"),
        }
    }
}

struct Writer<'a> {
    out: &'a mut String,
    open: Open,
    /// The marks that opened the fence that we are in.
    fence: Option<String>,
    /// Characters of the last line.
    last: usize,
}

impl Writer<'_> {
    fn close(&mut self) {
        if self.fence.take().is_some() {
            self.out.push_str("</code></pre>\n");
        }
        self.out.push_str(self.open.tags().1);
        self.open = Open::Nothing;
    }

    fn begin(&mut self, what: Open) {
        if self.open != what {
            self.close();
            self.open = what;
            self.out.push_str(what.tags().0);
        }
    }

    fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(fence) = &self.fence {
            if text.starts_with(fence.as_str()) && text.trim_start_matches(['`', '~']).is_empty() {
                self.close();
            } else {
                self.out.push_str(&escape(line));
                self.out.push('\n');
            }
            return;
        }
        let marks = text.len() - text.trim_start_matches(['`', '~']).len();
        if marks >= 3 {
            self.close();
            self.fence = Some(text[..marks].to_owned());
            self.out.push_str("<pre><code>");
            return;
        }
        let level = text.len() - text.trim_start_matches('#').len();
        if text.is_empty() {
            self.close();
        } else if (1..=6).contains(&level) && text[level..].starts_with(' ') {
            self.close();
            let heading = inline(text[level..].trim());
            // The page's own headings are the first two.
            let level = (level + 2).min(6);
            let _ = writeln!(self.out, "<h{level}>{heading}</h{level}>");
        } else if text.len() >= 3 && text.chars().all(|c| c == '-') {
            self.close();
            self.out.push_str("<hr>\n");
        } else if text.starts_with('|') {
            self.begin(Open::Table);
            self.out.push_str(&escape(text));
            self.out.push('\n');
        } else if let Some(quoted) = text.strip_prefix('>') {
            self.more(Open::Quote, quoted.trim());
        } else if let Some(item) =
            text.strip_prefix(['-', '*', '+']).and_then(|t| t.strip_prefix(' '))
        {
            self.item(Open::Bullets, line, item);
        } else if let Some(item) = numbered(text) {
            self.item(Open::Numbers, line, item);
        } else if matches!(self.open, Open::Bullets | Open::Numbers) {
            // What follows an item belongs to it.
            self.more(self.open, text);
        } else {
            self.more(Open::Paragraph, text);
        }
        self.last = text.chars().count();
    }

    fn item(&mut self, list: Open, line: &str, item: &str) {
        let deep = line.starts_with("  ") || line.starts_with('\t');
        let list = match self.open {
            // An indented item of another kind stays in the list that it belongs to.
            open @ (Open::Bullets | Open::Numbers) if deep => open,
            _ => list,
        };
        match self.open == list {
            true => self.out.push_str(if deep { "</li>\n<li class=deep>" } else { "</li>\n<li>" }),
            false => self.begin(list),
        }
        self.out.push_str(&inline(item.trim()));
    }

    fn more(&mut self, what: Open, text: &str) {
        let goes_on = self.open == what;
        self.begin(what);
        if goes_on {
            // A line that begins anew was not broken, however long the one before it is.
            let middle = text.starts_with(|c: char| c.is_lowercase() || c == '`' || c == '(');
            let broken = self.last >= BROKEN && middle;
            self.out.push_str(if broken { "\n" } else { "<br>\n" });
        }
        self.out.push_str(&inline(text));
    }
}

/// The text behind `1. ` or `1) `.
fn numbered(text: &str) -> Option<&str> {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - behind.len();
    let behind = behind.strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    (1..=3).contains(&digits).then_some(behind)
}

/// Code spans and bold words; everything else is text.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*']) {
        let marks = rest[at..].len() - rest[at..].trim_start_matches(&rest[at..=at]).len();
        let mark = &rest[at..at + marks];
        let behind = &rest[at + marks..];
        let (open, close) = match mark {
            "**" => ("<b>", "</b>"),
            _ if mark.starts_with('`') => ("<code>", "</code>"),
            _ => ("", ""),
        };
        out.push_str(&escape(&rest[..at]));
        match behind.find(mark).filter(|end| *end > 0 && !open.is_empty()) {
            Some(end) => {
                let inner = match mark {
                    "**" => inline(&behind[..end]),
                    _ => escape(behind[..end].trim()),
                };
                let _ = write!(out, "{open}{inner}{close}");
                rest = &behind[end + marks..];
            }
            None => {
                out.push_str(&escape(mark));
                rest = behind;
            }
        }
    }
    out + &escape(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn html(text: &str) -> String {
        let mut out = String::new();
        prose(&mut out, text);
        out.replace('\n', "")
    }

    #[test]
    fn what_models_write_is_set_as_text() {
        for (text, expected) in [
            ("a <b> & 'c'", "<p>a &lt;b&gt; &amp; &#39;c&#39;</p>"),
            ("# Goal\nx\ny", "<h3>Goal</h3><p>x<br>y</p>"),
            ("- a\n- b `c<d`\n  more", "<ul><li>a</li><li>b <code>c&lt;d</code><br>more</li></ul>"),
            ("- a\n  - b\n1. c", "<ul><li>a</li><li class=deep>b</li></ul><ol><li>c</li></ol>"),
            ("```sh\n<x>\n\n```\ny", "<pre><code>&lt;x&gt;</code></pre><p>y</p>"),
            ("**a `b`** * c ** d", "<p><b>a <code>b</code></b> * c ** d</p>"),
            ("> q\n\n---", "<blockquote>q</blockquote><hr>"),
            ("| a | b |", "<pre>| a | b |</pre>"),
            ("2026. x", "<p>2026. x</p>"),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_becomes_markup(text in "[-<>&\"'`*#~|>a0. \n\u{e9}]{0,60}|.{0,60}") {
            let page = html(&text);
            let allowed = regex::Regex::new("</?(p|ul|ol|li|pre|code|b|br|hr|h[3-6]|blockquote)( class=deep)?>").unwrap();
            let bare = allowed.replace_all(&page, "");
            prop_assert!(!bare.contains(['<', '>', '"', '\'']), "{}", page);
            for tag in ["p", "ul", "ol", "li", "pre", "code", "b", "blockquote"] {
                let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
                prop_assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{}", page);
            }
        }
    }
}
