//! Just enough of Rust's grammar to tell code from comments, so that a rule about one is not fooled by the other.
//!
//! What strings contain is neither; it is left out. Each line of the source gives one [`Line`].

/// One line of a source file, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Without comments and without the contents of strings.
    pub(super) code: String,
    /// With its slashes.
    pub(super) comment: String,
}

pub(super) fn split(text: &str) -> Vec<Line> {
    let mut splitter = Splitter {
        text: text.chars().collect(),
        at: 0,
        inside: Inside::Code,
        line: Line::default(),
        lines: Vec::new(),
    };
    while let Some(&next) = splitter.text.get(splitter.at) {
        splitter.step(next);
    }
    if !splitter.line.code.is_empty() || !splitter.line.comment.is_empty() {
        splitter.end_line();
    }
    splitter.lines
}

#[derive(Debug, Clone, Copy)]
enum Inside {
    Code,
    LineComment,
    /// Block comments nest.
    BlockComment(usize),
    Text,
    /// With as many `#` as open it.
    RawText(usize),
}

struct Splitter {
    text: Vec<char>,
    at: usize,
    inside: Inside,
    line: Line,
    lines: Vec<Line>,
}

impl Splitter {
    fn step(&mut self, next: char) {
        if next == '\n' {
            self.end_line();
            self.at += 1;
            return;
        }
        match self.inside {
            Inside::Code => self.code(next),
            Inside::LineComment => self.comment(1),
            Inside::BlockComment(depth) => self.block(depth),
            Inside::Text => match next {
                '\\' if self.peek(1) != Some('\n') => self.at += 2,
                '"' => self.close(0),
                _ => self.at += 1,
            },
            Inside::RawText(hashes) => {
                let closed = next == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
                if closed { self.close(hashes) } else { self.at += 1 }
            }
        }
    }

    fn code(&mut self, next: char) {
        match (next, self.peek(1)) {
            ('/', Some('/')) => {
                self.inside = Inside::LineComment;
                self.comment(2);
            }
            ('/', Some('*')) => {
                self.inside = Inside::BlockComment(1);
                self.comment(2);
            }
            ('"', _) => {
                let before = self.line.code.trim_end_matches('#');
                let hashes = self.line.code.len() - before.len();
                self.inside = if before.ends_with('r') { Inside::RawText(hashes) } else { Inside::Text };
                self.keep(1);
            }
            // A character: '\n', '\u{1b}', '"'. Otherwise the quote starts a lifetime.
            ('\'', Some('\\')) => {
                let end = (3..12).find(|&ahead| self.peek(ahead) == Some('\'')).unwrap_or(1);
                self.at += end + 1;
            }
            ('\'', Some(_)) if self.peek(2) == Some('\'') => self.at += 3,
            _ => self.keep(1),
        }
    }

    fn block(&mut self, depth: usize) {
        match (self.peek(0), self.peek(1)) {
            (Some('/'), Some('*')) => {
                self.inside = Inside::BlockComment(depth + 1);
                self.comment(2);
            }
            (Some('*'), Some('/')) => {
                self.inside = if depth > 1 { Inside::BlockComment(depth - 1) } else { Inside::Code };
                self.comment(2);
            }
            _ => self.comment(1),
        }
    }

    fn close(&mut self, hashes: usize) {
        self.inside = Inside::Code;
        self.keep(1 + hashes);
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn keep(&mut self, count: usize) {
        let end = (self.at + count).min(self.text.len());
        self.line.code.extend(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    fn comment(&mut self, count: usize) {
        let end = (self.at + count).min(self.text.len());
        self.line.comment.extend(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    fn end_line(&mut self) {
        if matches!(self.inside, Inside::LineComment) {
            self.inside = Inside::Code;
        }
        self.lines.push(std::mem::take(&mut self.line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_comments_come_apart() {
        for (source, code, comment) in [
            ("let a = 1; // one", "let a = 1; ", "// one"),
            ("//! docs", "", "//! docs"),
            (r#"say("http://x \" // no");"#, r#"say("");"#, ""),
            (r##"say(r#"a " // no"#);"##, "say(r#\"\"#);", ""),
            (r#"say(br"\");"#, r#"say(br"");"#, ""),
            ("a /* b /* c */ d */ e", "a  e", "/* b /* c */ d */"),
            (r"f('\'', '\u{1b}', '/') // x", "f(, , ) ", "// x"),
            (r#"f('"', b'"') // x"#, "f(, b) ", "// x"),
            ("fn f<'a>(x: &'a str) {} // x", "fn f<'a>(x: &'a str) {} ", "// x"),
        ] {
            assert_eq!(split(source), [Line { code: code.into(), comment: comment.into() }], "{source}");
        }
    }

    #[test]
    fn every_line_is_kept() {
        let lines = split("let a = \"one\n// still text\";\n/* two\nthree */ b\n\nc");
        let code: Vec<&str> = lines.iter().map(|line| line.code.as_str()).collect();
        let comments: Vec<&str> = lines.iter().map(|line| line.comment.as_str()).collect();
        assert_eq!(code, ["let a = \"", "\";", "", " b", "", "c"]);
        assert_eq!(comments, ["", "", "/* two", "three */", "", ""]);
    }
}
