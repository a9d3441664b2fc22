//! Code along its definitions: one that fits is a chunk, one that does not is cut at those inside of it, and small
//! neighbours stay together. Every line that is not blank is in some chunk.

use std::ops::Range;

use countersign_repo::CodeOutline;

use super::lines::Lines;
use super::symbols::Symbols;
use super::{CHUNKS_MAX, CODE_BYTES, Chunk, File, Kind, SMALL_BYTES, Source, TINY_BYTES};

pub(super) fn chunks(file: &File<'_>, outline: &CodeOutline) -> Vec<Chunk> {
    let lines = Lines::new(file.text);
    let symbols = Symbols::new(&outline.definitions);
    let chunk = |bytes: Range<usize>| {
        let (text, numbers) = (lines.text(&bytes), lines.numbers(&bytes));
        let symbol = symbols.of(numbers);
        Chunk { lines: Some(numbers), symbol, text, ..file.chunk(Source::Code, Kind::Code) }
    };
    pieces(&lines, &symbols).into_iter().map(chunk).filter(|chunk| !chunk.text.is_empty()).collect()
}

/// Lines that are to be cut, with the definitions that lie in them. Lines are from 0.
struct Task<'s> {
    first: usize,
    last: usize,
    inner: &'s [usize],
}

fn pieces(lines: &Lines<'_>, symbols: &Symbols<'_>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    // Definitions are nested as deep as somebody likes: no recursion.
    let mut open = vec![Task { first: 0, last: lines.count() - 1, inner: symbols.outermost() }];
    while let Some(task) = open.pop() {
        let Some((first, last)) = lines.trimmed(task.first, task.last) else { continue };
        if lines.size(first, last) <= CODE_BYTES {
            pieces.push(lines.bytes(first, last));
        } else if task.inner.is_empty() {
            pieces.extend(lines.cut(first, last, CODE_BYTES));
        } else {
            let parts = attached(lines, parts(lines, symbols, &Task { first, last, ..task }));
            let inner = |part: &Part| part.of.map(|definition| symbols.inside(definition)).unwrap_or_default();
            let task = |part: Part| Task { first: part.first, last: part.last, inner: inner(&part) };
            open.extend(joined(lines, parts).into_iter().rev().map(task));
        }
        if pieces.len() >= CHUNKS_MAX {
            break;
        }
    }
    pieces
}

/// A definition, or what stands between two of them.
#[derive(Debug, Clone, Copy)]
struct Part {
    first: usize,
    last: usize,
    of: Option<usize>,
}

impl Part {
    fn size(&self, lines: &Lines<'_>) -> usize {
        lines.size(self.first, self.last)
    }
}

/// The outermost definitions and what is around them. Two on one line are one part.
fn parts(lines: &Lines<'_>, symbols: &Symbols<'_>, task: &Task<'_>) -> Vec<Part> {
    let row = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    let mut parts = Vec::new();
    let mut add = |first: usize, last: usize, of: Option<usize>| {
        parts.extend(lines.trimmed(first, last).map(|(first, last)| Part { first, last, of }));
    };
    let mut at = task.first;
    for definition in task.inner {
        let (first, last) = symbols.lines(*definition);
        let (first, last) = (row(first).max(at), row(last).min(task.last));
        if first > last {
            continue;
        }
        if at < first {
            add(at, first - 1, None);
        }
        add(first, last, Some(*definition));
        at = last + 1;
    }
    if at <= task.last {
        add(at, task.last, None);
    }
    parts
}

/// What is tiny between definitions belongs to the one before it, and at the beginning to the first: brackets, mostly.
fn attached(lines: &Lines<'_>, parts: Vec<Part>) -> Vec<Part> {
    let is_tiny = |part: &Part| part.of.is_none() && part.size(lines) < TINY_BYTES;
    let mut attached: Vec<Part> = Vec::new();
    for part in parts {
        let at_the_beginning = attached.len() == 1;
        match attached.last_mut() {
            Some(before) if is_tiny(&part) => before.last = part.last,
            Some(before) if at_the_beginning && is_tiny(before) => *before = Part { first: before.first, ..part },
            _ => attached.push(part),
        }
    }
    attached
}

/// Neighbours that are small, together; of tiny ones a few more.
fn joined(lines: &Lines<'_>, parts: Vec<Part>) -> Vec<Part> {
    let fits = |open: &Part, part: &Part| {
        let enough = if part.size(lines) < TINY_BYTES { 2 * SMALL_BYTES } else { SMALL_BYTES };
        open.size(lines) < enough && lines.size(open.first, part.last) <= CODE_BYTES
    };
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(open) if fits(open, &part) => *open = Part { first: open.first, last: part.last, of: None },
            _ => joined.push(part),
        }
    }
    joined
}
