//! A text by its lines, and how it is cut where nothing else says where: between paragraphs, else between lines, and a
//! line without an end between words.

use std::ops::Range;

use super::{CHUNK_BYTES_MAX, TINY_BYTES};

/// A longer line is no text for people; its beginning says what it is.
const PARTS_OF_A_LINE_MAX: usize = 8;

/// Lines are from 0, both ends included; only [`Lines::numbers`] counts from 1.
pub(super) struct Lines<'t> {
    text: &'t str,
    /// Where each begins; there is always one.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Without its line break.
    pub(super) fn line(&self, line: usize) -> &'t str {
        self.text[self.bytes(line, line)].trim_end_matches(['\n', '\r'])
    }

    pub(super) fn is_blank(&self, line: usize) -> bool {
        self.line(line).trim_start().is_empty()
    }

    /// With their line breaks.
    pub(super) fn bytes(&self, first: usize, last: usize) -> Range<usize> {
        let at = |line: usize| self.starts.get(line).copied().unwrap_or(self.text.len());
        at(first)..at(last + 1).max(at(first))
    }

    pub(super) fn size(&self, first: usize, last: usize) -> usize {
        self.bytes(first, last).len()
    }

    /// The same lines without blank ones at the ends, if anything is left.
    pub(super) fn trimmed(&self, first: usize, last: usize) -> Option<(usize, usize)> {
        let begin = (first..=last).find(|line| !self.is_blank(*line))?;
        let end = (begin..=last).rfind(|line| !self.is_blank(*line))?;
        Some((begin, end))
    }

    /// The first and the last line of a piece, as people count.
    pub(super) fn numbers(&self, bytes: &Range<usize>) -> (u32, u32) {
        let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let first = self.starts.partition_point(|start| *start <= bytes.start);
        let last = self.starts.partition_point(|start| *start < bytes.end);
        (number(first), number(last.max(first)))
    }

    /// The text of a piece: whole lines keep their indentation.
    pub(super) fn text(&self, bytes: &Range<usize>) -> String {
        let text = self.text[bytes.clone()].trim_end();
        let begin = text.len() - text.trim_start().len();
        let begin = text[..begin].rfind('\n').map_or(0, |line_break| line_break + 1);
        text[begin..].replace("\r\n", "\n")
    }

    /// Pieces of about the same size, none longer than `target` unless what is left over would be tiny.
    pub(super) fn cut(&self, first: usize, last: usize, target: usize) -> Vec<Range<usize>> {
        let units = self.units(first, last, target);
        let whole: usize = units.iter().map(ExactSizeIterator::len).sum();
        let aim = whole.div_ceil(whole.div_ceil(target).max(1));
        let mut pieces: Vec<Range<usize>> = Vec::new();
        // A heading stays with what follows.
        let limit = |open: &Range<usize>| if open.len() < TINY_BYTES { CHUNK_BYTES_MAX } else { target };
        for unit in units {
            match pieces.last_mut() {
                Some(open) if open.len() < aim && unit.end - open.start <= limit(open) => open.end = unit.end,
                _ => pieces.push(unit),
            }
        }
        if let [.., before, last] = pieces.as_mut_slice()
            && last.len() < TINY_BYTES
            && last.end - before.start <= CHUNK_BYTES_MAX
        {
            before.end = last.end;
            pieces.pop();
        }
        pieces
    }

    /// What is not taken apart any further.
    fn units(&self, first: usize, last: usize, target: usize) -> Vec<Range<usize>> {
        let mut units = Vec::new();
        let mut at = first;
        while at <= last {
            if self.is_blank(at) {
                at += 1;
                continue;
            }
            let end = (at..=last).take_while(|line| !self.is_blank(*line)).last().unwrap_or(at);
            if self.size(at, end) <= target {
                units.push(self.bytes(at, end));
            } else {
                for line in at..=end {
                    self.parts(line, target, &mut units);
                }
            }
            at = end + 1;
        }
        units
    }

    /// One line, in as many parts as it takes.
    fn parts(&self, line: usize, target: usize, units: &mut Vec<Range<usize>>) {
        let Range { start: mut at, end } = self.bytes(line, line);
        for _ in 0..PARTS_OF_A_LINE_MAX {
            if at >= end {
                return;
            }
            let to = if end - at <= target { end } else { self.end_of_part(at, target) };
            units.push(at..to);
            at = to;
        }
    }

    /// After a word if there is one in the second half, else after a character.
    fn end_of_part(&self, at: usize, target: usize) -> usize {
        let limit = self.text.floor_char_boundary(at + target);
        let half = self.text.floor_char_boundary(at + target / 2);
        let last = self.text[half..limit].char_indices().rev().find(|(_, character)| character.is_whitespace());
        last.map_or(limit, |(found, character)| half + found + character.len_utf8())
    }
}
