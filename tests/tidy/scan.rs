//! Reads Rust source far enough to know what a file imports: no comments, no text, no unit tests.

/// A word or a single sign, and the line that it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub line: usize,
    pub text: String,
}

/// A source file, blanked twice; both have the lines and columns of the original.
pub struct Source {
    /// Without comments and unit tests.
    pub code: String,
    /// Without the content of strings either.
    pub bare: String,
}

impl Source {
    pub fn read(text: &str) -> Source {
        let original: Vec<char> = text.chars().collect();
        let (mut code, mut bare) = (original.clone(), original.clone());
        blank(&original, &mut code, &mut bare);
        for (start, end) in test_blocks(&bare) {
            erase(&mut code, start, end);
            erase(&mut bare, start, end);
        }
        Source { code: code.into_iter().collect(), bare: bare.into_iter().collect() }
    }

    pub fn lines_of_code(&self) -> usize {
        self.code.lines().filter(|line| !line.trim().is_empty()).count()
    }

    pub fn tokens(&self) -> Vec<Token> {
        let mut tokens: Vec<Token> = Vec::new();
        let mut in_word = false;
        let mut line = 1;
        for sign in self.bare.chars() {
            let word = sign.is_alphanumeric() || sign == '_';
            match tokens.last_mut() {
                Some(last) if word && in_word => last.text.push(sign),
                _ if !sign.is_whitespace() => tokens.push(Token { line, text: sign.to_string() }),
                _ => {}
            }
            in_word = word;
            line += usize::from(sign == '\n');
        }
        plain_names(tokens)
    }
}

/// `r#name` is `name`.
fn plain_names(tokens: Vec<Token>) -> Vec<Token> {
    let mut plain: Vec<Token> = Vec::new();
    for token in tokens {
        let is_name = token.text.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
        let raw = matches!(&plain[..], [.., r, hash] if r.text == "r" && hash.text == "#");
        if is_name && raw {
            plain.truncate(plain.len() - 2);
        }
        plain.push(token);
    }
    plain
}

fn erase(text: &mut [char], start: usize, end: usize) {
    for sign in &mut text[start..end] {
        if *sign != '\n' {
            *sign = ' ';
        }
    }
}

/// Blanks comments in both, the inside of strings and character literals only in `bare`.
fn blank(text: &[char], code: &mut [char], bare: &mut [char]) {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(&['/', '/']) {
            let end = at + rest.iter().position(|sign| *sign == '\n').unwrap_or(rest.len());
            erase(code, at, end);
            erase(bare, at, end);
            at = end;
        } else if rest.starts_with(&['/', '*']) {
            let end = at + block_comment(rest);
            erase(code, at, end);
            erase(bare, at, end);
            at = end;
        } else if let Some(length) = string(text, at) {
            // The quotes go as well; nothing looks at them.
            erase(bare, at, at + length);
            at += length;
        } else {
            at += 1;
        }
    }
}

fn block_comment(text: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with(&['/', '*']) {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(&['*', '/']) {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of the string or character literal that begins at `at`.
fn string(text: &[char], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let inside_word = at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_');
    match rest[0] {
        '"' => Some(quoted(rest, 1)),
        'r' if !inside_word => raw(rest, 1),
        'b' | 'c' if !inside_word && rest.get(1) == Some(&'r') => raw(rest, 2),
        '\'' => match rest.get(1..)? {
            // An escape is always a character; otherwise the quote must close after one sign,
            // or it is a lifetime.
            ['\\', _, tail @ ..] => Some(3 + tail.iter().position(|sign| *sign == '\'')? + 1),
            [_, '\'', ..] => Some(3),
            _ => None,
        },
        _ => None,
    }
}

fn quoted(text: &[char], mut at: usize) -> usize {
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn raw(text: &[char], prefix: usize) -> Option<usize> {
    let hashes = text[prefix..].iter().take_while(|sign| **sign == '#').count();
    let open = prefix + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let mut close = vec!['"'];
    close.resize(hashes + 1, '#');
    let body = &text[open + 1..];
    let end = (0..body.len()).find(|at| body[*at..].starts_with(&close)).unwrap_or(body.len());
    Some((open + 1 + end + close.len()).min(text.len()))
}

/// Where items marked `#[cfg(test)]` begin and end.
fn test_blocks(bare: &[char]) -> Vec<(usize, usize)> {
    let mark: Vec<char> = "#[cfg(test)]".chars().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at + mark.len() <= bare.len() {
        if !bare[at..].starts_with(&mark) {
            at += 1;
            continue;
        }
        let mut end = at + mark.len();
        let mut depth = 0;
        while end < bare.len() {
            let sign = bare[end];
            end += 1;
            match sign {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && (sign == ';' || sign == '}') {
                break;
            }
        }
        blocks.push((at, end));
        at = end;
    }
    blocks
}

/// The names that follow a path's `::`: one, or the first of each part of a group.
///
/// `at` is the token after `::`.
pub fn names(tokens: &[Token], at: usize) -> Vec<Token> {
    let Some(first) = tokens.get(at) else { return Vec::new() };
    if first.text != "{" {
        return vec![first.clone()];
    }
    let mut found = Vec::new();
    let mut depth = 0;
    let mut wanted = false;
    for token in &tokens[at..] {
        match token.text.as_str() {
            "{" => {
                depth += 1;
                wanted = depth == 1;
            }
            "}" => depth -= 1,
            "," => wanted = depth == 1,
            _ if wanted => {
                found.push(token.clone());
                wanted = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// Whether `::` stands at `at`.
pub fn path_sign(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.text == ":")
        && tokens.get(at + 1).is_some_and(|token| token.text == ":")
}

/// What a file takes from the crate's root; `depth` is the number of modules that it lies in.
pub fn from_root(tokens: &[Token], depth: usize) -> Vec<Token> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let root = matches!(token.text.as_str(), "crate" | "flower");
        if root && path_sign(tokens, at + 1) {
            found.extend(names(tokens, at + 3));
        }
        // Under another name, everything could be taken.
        let renamed = tokens.get(at + 1).is_some_and(|next| next.text == "as");
        if renamed && matches!(token.text.as_str(), "crate" | "super" | "flower") {
            found.push(Token { line: token.line, text: "*".to_owned() });
        }
        if token.text == "super" && !(at >= 3 && tokens[at - 3].text == "super") {
            let mut ups = 0;
            while tokens.get(at + 3 * ups).is_some_and(|token| token.text == "super")
                && path_sign(tokens, at + 3 * ups + 1)
            {
                ups += 1;
            }
            if ups >= depth {
                found.extend(names(tokens, at + 3 * ups));
            }
        }
    }
    found
}

/// Where a package or a module is used by name: `name::…`, `name!` or `use name`.
pub fn uses(tokens: &[Token], name: &str) -> Option<usize> {
    tokens.iter().enumerate().find_map(|(at, token)| {
        let next = tokens.get(at + 1).map(|token| token.text.as_str());
        let used = path_sign(tokens, at + 1)
            || next == Some("!")
            || (at > 0 && tokens[at - 1].text == "use");
        (token.text == name && used).then_some(token.line)
    })
}
