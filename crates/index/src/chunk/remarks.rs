//! What was left undone, as comments say: `TODO`, `FIXME` and the like, with the lines that belong to them.

use countersign_repo::CodeOutline;

use super::symbols::Symbols;
use super::{Chunk, File, Kind, PROSE_BYTES, Source};

/// A file with more is not improved by finding them one by one.
const REMARKS_MAX: usize = 200;

/// A remark that goes on for longer is a chapter.
const LINES_MAX: usize = 10;

/// Words that begin a remark by themselves.
const MARKS: [&str; 3] = ["TODO", "FIXME", "HACK"];

/// These are also said in passing: a colon or a bracket must follow.
const MARKS_WITH_COLON: [&str; 2] = ["XXX", "BUG"];

/// What comments are decorated with.
const SIGNS: [char; 11] = ['/', '*', '#', '-', '!', ';', '%', '<', '>', '(', '\''];

pub(super) fn chunks(file: &File<'_>, outline: &CodeOutline) -> Vec<Chunk> {
    let symbols = Symbols::new(&outline.definitions);
    let said = said(file.text, outline);
    let mut chunks = Vec::new();
    for (at, first) in said.iter().enumerate() {
        let Some(mark) = mark(first.text) else { continue };
        let belongs =
            |next: &&Said<'_>| next.block == first.block && !next.text.is_empty() && self::mark(next.text).is_none();
        let mut text = first.text[mark..].to_owned();
        let mut last = first.line;
        for next in said[at + 1..].iter().take_while(belongs).take(LINES_MAX - 1) {
            text.push('\n');
            text.push_str(next.text);
            last = next.line;
        }
        text.truncate(text.floor_char_boundary(PROSE_BYTES));
        let symbol = symbols.around(first.line);
        let common = file.chunk(Source::Discovery, Kind::Issue);
        chunks.push(Chunk { lines: Some((first.line, last)), symbol, text, ..common });
        if chunks.len() == REMARKS_MAX {
            break;
        }
    }
    chunks
}

/// One line of a comment, without its signs.
struct Said<'t> {
    line: u32,
    text: &'t str,
    /// Lines of one comment, or of comments directly below each other, have the same.
    block: usize,
}

fn said<'t>(text: &'t str, outline: &CodeOutline) -> Vec<Said<'t>> {
    let mut said = Vec::new();
    let mut block = 0;
    // The line that a comment must begin on to belong to the one before.
    let mut next = None;
    for comment in &outline.comments {
        let (first, last) = comment.lines;
        if !comment.alone || next != Some(first) {
            block += 1;
        }
        next = comment.alone.then_some(last + 1);
        let written = text.get(comment.bytes.clone()).unwrap_or_default();
        for (line, text) in (first..=last).zip(written.lines()) {
            said.push(Said { line, text: bare(text), block });
        }
    }
    said
}

fn bare(line: &str) -> &str {
    let line = line.trim_start_matches(|character: char| character.is_whitespace() || SIGNS.contains(&character));
    let line = line.trim_end();
    let ends = ["*/", "-->", "*)"].iter().find_map(|end| line.strip_suffix(end));
    ends.unwrap_or(line).trim_end()
}

/// Where in a line the remark begins.
fn mark(line: &str) -> Option<usize> {
    let follows = |at: usize| line[at..].starts_with([':', '(']);
    let ends = |at: usize| !line[at..].starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-'));
    let begins =
        |at: usize| !line[..at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | '`'));
    if MARKS.iter().any(|mark| line.starts_with(mark) && ends(mark.len())) {
        return Some(0);
    }
    // Documentation tools have tags for it, in lower case.
    let tag = line.strip_prefix('@').and_then(|tag| tag.get(.."todo".len()));
    if tag.is_some_and(|tag| tag.eq_ignore_ascii_case("todo")) {
        return Some(1);
    }
    let marks = MARKS.iter().chain(&MARKS_WITH_COLON);
    let found = marks.flat_map(|mark| line.match_indices(*mark).map(move |(at, _)| (at, at + mark.len())));
    found.filter(|(at, end)| begins(*at) && follows(*end)).map(|(at, _)| at).min()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use countersign_repo::{Until, language_of, outline};

    use super::{File, chunks, mark};

    #[test]
    fn marks_are_words_of_their_own() {
        for (line, at) in [
            ("TODO: wire the logger", Some(0)),
            ("TODO wire the logger", Some(0)),
            ("TODO(#12): wire", Some(0)),
            ("FIXME", Some(0)),
            ("@todo wire", Some(1)),
            ("this is a HACK: sorry", Some(10)),
            ("XXX: strange", Some(0)),
            ("BUG(ada): off by one", Some(0)),
            ("a BUG in the parser", None),
            ("XXX-XXX-1234", None),
            ("TODOS are elsewhere", None),
            ("the word `TODO`: what it means", None),
            ("all TODO comments", None),
            ("todo later", None),
        ] {
            assert_eq!(mark(line), at, "{line}");
        }
    }

    #[test]
    fn remarks_have_their_lines_and_the_place_they_stand_in() {
        for (path, text, expected) in [
            (
                "src/index.ts",
                "// TODO: wire the request logger OK_todo_index\nexport function main() {}\n",
                vec!["1-1 main: TODO: wire the request logger OK_todo_index"],
            ),
            (
                "a.py",
                "class A:\n    def b(self):\n        # FIXME: slow,\n        #   use it.\n        #\n        # Else.\n\
                 \x20       pass\n",
                vec!["3-4 A::b: FIXME: slow,\nuse it."],
            ),
            (
                "a.rs",
                "/* One.\n * TODO: two\n * three */\nfn a() {} // HACK: four\n// five\n",
                vec!["2-3 a: TODO: two\nthree", "4-4 a: HACK: four"],
            ),
            ("a.yml", "# TODO: one\n# TODO: two\na: b\n", vec!["1-1 -: TODO: one", "2-2 -: TODO: two"]),
            ("a.rs", "fn a() { let x = \"TODO: no\"; }\n", vec![]),
        ] {
            let until = Until::new(Duration::from_mins(1), || false);
            let outline = outline(path, language_of(path, text), text, &until).unwrap();
            let found: Vec<String> = chunks(&File { path, text, modified: None }, &outline)
                .into_iter()
                .map(|chunk| {
                    let (first, last) = chunk.lines.unwrap();
                    format!("{first}-{last} {}: {}", chunk.symbol.as_deref().unwrap_or("-"), chunk.text)
                })
                .collect();
            assert_eq!(found, expected, "{path}");
        }
    }
}
