//! The sections of a page and what it says about itself at its beginning. As much of `CommonMark` as it takes to find
//! headings: both kinds of them, and fences in which there are none.

use jiff::Timestamp;

use crate::chunk::lines::Lines;
use crate::chunk::{Kind, date, kinds};

/// Lines of front matter; a page that has more has none.
const FRONT_LINES_MAX: usize = 100;

/// Before the first heading; nothing is below it.
const NO_LEVEL: usize = 7;

/// Spaces before a heading or a fence; with more it is code.
const INDENT_MAX: usize = 3;

/// Of a heading that is remembered.
const TITLE_BYTES_MAX: usize = 200;

/// Sections of one page; the rest of a longer one is part of the last.
const SECTIONS_MAX: usize = 2000;

pub(super) struct Page {
    pub(super) front: Front,
    pub(super) sections: Vec<Section>,
}

/// What a page says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Front {
    pub(super) kind: Option<Kind>,
    pub(super) date: Option<Timestamp>,
    pub(super) status: Option<String>,
    pub(super) module: Option<String>,
    /// It names those who decided.
    pub(super) decides: bool,
}

/// A heading and what is below it, up to the next one. Lines are from 0.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) level: usize,
    /// Its own last, those around it before.
    pub(super) headings: Vec<String>,
    pub(super) first: usize,
    /// The first line after the heading.
    pub(super) body: usize,
    /// The first line that is not part of it.
    pub(super) end: usize,
}

impl Section {
    pub(super) fn last(&self) -> usize {
        self.end.saturating_sub(1)
    }

    pub(super) fn title(&self) -> Option<&str> {
        self.headings.last().map(String::as_str)
    }
}

impl Page {
    pub(super) fn read(lines: &Lines<'_>) -> Self {
        let (front, from) = front(lines).unwrap_or_default();
        let mut sections = vec![Section { level: NO_LEVEL, headings: Vec::new(), first: from, body: from, end: from }];
        let mut around: Vec<(usize, String)> = Vec::new();
        let mut fence: Option<&str> = None;
        for line in from..lines.count() {
            let text = lines.line(line);
            if let Some(open) = fence {
                fence = Some(open).filter(|open| !closes(open, text));
                continue;
            }
            fence = fence_of(text);
            let earliest = sections.last().map_or(from, |section| section.body);
            if let Some(Heading { level, title, first }) = heading(lines, line, earliest)
                && fence.is_none()
                && sections.len() < SECTIONS_MAX
            {
                around.retain(|(outer, _)| *outer < level);
                around.push((level, title));
                if let Some(before) = sections.last_mut() {
                    before.end = first;
                }
                let headings = around.iter().map(|(_, title)| title.clone()).collect();
                sections.push(Section { level, headings, first, body: line + 1, end: first });
            }
        }
        if let Some(section) = sections.last_mut() {
            section.end = lines.count();
        }
        // Nothing stands before the first heading.
        sections.retain(|section| section.first < section.end);
        Self { front, sections }
    }
}

struct Heading {
    level: usize,
    title: String,
    /// The line of the title.
    first: usize,
}

/// A heading that ends on this line, and begins at `earliest` or later.
fn heading(lines: &Lines<'_>, line: usize, earliest: usize) -> Option<Heading> {
    let text = outdented(lines.line(line))?;
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    if (1..NO_LEVEL).contains(&level) && text[level..].chars().next().is_none_or(char::is_whitespace) {
        let said = text[level..].trim();
        // A closing sign is one by itself; `C#` is a language.
        let bare = said.trim_end_matches('#');
        let said = if bare.is_empty() || bare.ends_with(char::is_whitespace) { bare } else { said };
        return Some(Heading { level, title: title(said), first: line });
    }
    // A line of text that is underlined.
    let level = if is_all(text, '=') {
        1
    } else if is_all(text, '-') {
        2
    } else {
        return None;
    };
    let above = line.checked_sub(1).filter(|above| *above >= earliest)?;
    let said = outdented(lines.line(above))?;
    let is_text = !said.trim().is_empty() && item(said).is_none() && !said.starts_with(['#', '>', '|', '=', '-', '<']);
    is_text.then(|| Heading { level, title: title(said), first: above })
}

/// Without the signs that make parts of it bold or code.
fn title(said: &str) -> String {
    let mut title = said.replace(['*', '`'], "").trim().to_owned();
    title.truncate(title.floor_char_boundary(TITLE_BYTES_MAX));
    title
}

/// The text of an item of a list.
pub(in crate::chunk) fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let after = match line.strip_prefix(['-', '*', '+']) {
        Some(after) => after,
        None => line.trim_start_matches(|digit: char| digit.is_ascii_digit()).strip_prefix(['.', ')'])?,
    };
    let numbered = line.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '*' | '+'));
    (numbered && after.starts_with([' ', '\t'])).then(|| after.trim())
}

/// Without its indentation, if that is not the one of code.
fn outdented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= INDENT_MAX && !text.starts_with('\t')).then_some(text)
}

fn is_all(text: &str, sign: char) -> bool {
    let text = text.trim_end();
    !text.is_empty() && text.chars().all(|character| character == sign)
}

/// The signs that open a block of code.
fn fence_of(line: &str) -> Option<&str> {
    let text = outdented(line)?;
    let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = text.len() - text.trim_start_matches(sign).len();
    // Three backticks around a word on one line are no block.
    (length >= 3 && !(sign == '`' && text[length..].contains('`'))).then(|| &text[..length])
}

fn closes(open: &str, line: &str) -> bool {
    outdented(line).is_some_and(|text| {
        let text = text.trim_end();
        text.starts_with(open) && open.chars().next().is_some_and(|sign| is_all(text, sign))
    })
}

/// `key: value` between two lines of dashes at the very beginning, and the line after it.
fn front(lines: &Lines<'_>) -> Option<(Front, usize)> {
    if lines.line(0).trim_end() != "---" {
        return None;
    }
    let mut front = Front::default();
    for line in 1..lines.count().min(FRONT_LINES_MAX) {
        let text = lines.line(line).trim_end();
        if matches!(text, "---" | "...") {
            return Some((front, line + 1));
        }
        let Some((key, value)) = text.split_once(':') else { continue };
        let value = value.trim().trim_matches(['"', '\'']);
        match key.trim().to_ascii_lowercase().as_str() {
            "type" | "kind" | "category" => front.kind = kinds::named(value).or(front.kind),
            "date" | "created" => front.date = date::date(value).or(front.date),
            "status" if !value.is_empty() => front.status = Some(title(value)),
            "module" | "component" | "area" if !value.is_empty() => front.module = Some(title(value)),
            "deciders" | "decision-makers" | "decision_makers" => front.decides = true,
            _ => {}
        }
    }
    None
}
