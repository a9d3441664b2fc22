//! Markdown along its headings. What a section is, its heading says, or the heading around it, or the file's name; a
//! decision record is a decision from top to bottom.

mod page;

pub(super) use self::page::item;
use self::page::{Front, Page, Section};
use super::lines::Lines;
use super::{Chunk, File, Kind, PROSE_BYTES, SYMBOL_BYTES_MAX, Source, date, kinds};

/// Folders that hold decision records, in lower case.
const RECORD_FOLDERS: [&str; 6] =
    ["adr", "adrs", "decisions", "decision-records", "decision_records", "architecture-decisions"];

/// Files in such folders that are about the records.
const NO_RECORDS: [&str; 3] = ["index.md", "readme.md", "template.md"];

/// Lines at the beginning in which a record says its date and its status.
const HEAD_LINES: usize = 30;

/// Between a heading and those around it.
const SEPARATOR: &str = " > ";

pub(super) fn chunks(file: &File<'_>) -> Vec<Chunk> {
    let lines = Lines::new(file.text);
    let page = Page::read(&lines);
    let is_record = is_record(file.path, &lines, &page);
    let kind_of =
        |section: &Section| if is_record { Kind::Decision } else { kind_of(file.path, &lines, &page, section) };
    let of_kinds: Vec<Kind> = page.sections.iter().map(kind_of).collect();
    let own_date = page.front.date.or_else(|| head(&lines, "date").filter(|_| is_record).and_then(date::date));
    let mut chunks = Vec::new();
    let mut at = 0;
    while let Some(section) = page.sections.get(at) {
        let whole = whole(&lines, &page.sections, &of_kinds, at);
        let last = page.sections[whole].last();
        // A heading with nothing below is in the names of what follows.
        if whole > at || lines.trimmed(section.body, last).is_some() {
            let mut common = file.chunk(Source::Discovery, of_kinds[at]);
            common.symbol = symbol(section);
            common.date = own_date.or(common.date);
            if page.front.module.is_some() || is_record {
                // The folder of the records says nothing about what they decide.
                common.module.clone_from(&page.front.module);
            }
            chunks.extend(pieces(&lines, section.first, last, &common));
        }
        at = whole + 1;
    }
    if is_record && let (Some(chunk), Some(status)) = (chunks.first_mut(), &page.front.status) {
        chunk.text.push_str(&format!("\n\nStatus: {status}"));
    }
    chunks
}

/// Prose without headings that we know.
pub(super) fn paragraphs(file: &File<'_>) -> Vec<Chunk> {
    let lines = Lines::new(file.text);
    let common = file.chunk(Source::Discovery, Kind::Note);
    pieces(&lines, 0, lines.count() - 1, &common)
}

/// The chunks of some lines; all have the rest in common.
pub(super) fn pieces(lines: &Lines<'_>, first: usize, last: usize, common: &Chunk) -> Vec<Chunk> {
    let Some((first, last)) = lines.trimmed(first, last) else { return Vec::new() };
    let pieces = if lines.size(first, last) <= PROSE_BYTES {
        vec![lines.bytes(first, last)]
    } else {
        lines.cut(first, last, PROSE_BYTES)
    };
    let chunk = |bytes| Chunk { lines: Some(lines.numbers(&bytes)), text: lines.text(&bytes), ..common.clone() };
    pieces.into_iter().map(chunk).filter(|chunk| !chunk.text.is_empty()).collect()
}

/// The last section that can be in one chunk with this one: those below it, if all of them are and are of one kind.
fn whole(lines: &Lines<'_>, sections: &[Section], of_kinds: &[Kind], at: usize) -> usize {
    let section = &sections[at];
    let mut end = at;
    for (index, below) in sections.iter().enumerate().skip(at + 1) {
        if below.level <= section.level {
            break;
        }
        if of_kinds[index] != of_kinds[at] || lines.size(section.first, below.last()) > PROSE_BYTES {
            return at;
        }
        end = index;
    }
    end
}

fn symbol(section: &Section) -> Option<String> {
    let mut symbol = section.headings.join(SEPARATOR);
    symbol.truncate(symbol.floor_char_boundary(SYMBOL_BYTES_MAX));
    (!symbol.is_empty()).then_some(symbol)
}

fn kind_of(path: &str, lines: &Lines<'_>, page: &Page, section: &Section) -> Kind {
    let by_headings = || section.headings.iter().rev().find_map(|heading| kinds::of_heading(heading));
    let by_path =
        || path.rsplit('/').take(2).find_map(|part| kinds::of_heading(part.split('.').next().unwrap_or(part)));
    let by_sentences = || is_normative(lines, section).then_some(Kind::Rule);
    page.front.kind.or_else(by_headings).or_else(by_path).or_else(by_sentences).unwrap_or(Kind::Note)
}

/// A list of at least two things most of which must be, or must not.
fn is_normative(lines: &Lines<'_>, section: &Section) -> bool {
    let items = (section.body..section.end).map(|line| lines.line(line)).filter(|line| item(line).is_some());
    let (mut normative, mut all) = (0, 0);
    for item in items {
        all += 1;
        normative += usize::from(kinds::is_normative(item));
    }
    all >= 2 && 2 * normative > all
}

fn is_record(path: &str, lines: &Lines<'_>, page: &Page) -> bool {
    let path = path.to_ascii_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let by_folder = folders.split('/').any(|folder| RECORD_FOLDERS.contains(&folder)) && !NO_RECORDS.contains(&name);
    let Front { kind, decides, .. } = page.front;
    let has = |title: &str| {
        page.sections.iter().filter_map(Section::title).any(|heading| kinds::words(heading).trim() == title)
    };
    let has_status = || page.front.status.is_some() || has("status") || head(lines, "status").is_some();
    by_folder
        || decides
        || kind == Some(Kind::Decision)
        || ((has("decision") || has("decision outcome")) && has_status())
}

/// The value in a line such as `**Status:** accepted` near the beginning.
fn head<'t>(lines: &Lines<'t>, name: &str) -> Option<&'t str> {
    const DECORATION: [char; 6] = ['*', '_', '-', '>', '#', ' '];
    (0..lines.count().min(HEAD_LINES)).find_map(|line| {
        let line = lines.line(line).trim_start_matches(DECORATION);
        let said = line.get(..name.len()).filter(|said| said.eq_ignore_ascii_case(name))?;
        let value = line[said.len()..].trim_start_matches(DECORATION).strip_prefix(':')?.trim_matches(DECORATION);
        (!value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests;
