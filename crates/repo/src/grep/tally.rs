//! What is found in one file: how often, and the first occurrences with the lines around them.

use std::collections::VecDeque;
use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::{CONTEXT, Occurrence, line};
use crate::walk::Stop;

pub(super) struct Tally<'a> {
    matcher: &'a RegexMatcher,
    stop: &'a Stop,
    wanted: usize,
    total: u64,
    found: Vec<Occurrence>,
    /// The lines before the one that comes next, while occurrences are still wanted.
    recent: VecDeque<(u64, String)>,
    binary: bool,
}

impl<'a> Tally<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, stop: &'a Stop, wanted: usize) -> Self {
        Self { matcher, stop, wanted, total: 0, found: Vec::new(), recent: VecDeque::new(), binary: false }
    }

    /// Nothing of a file that turned out to be none with text.
    pub(super) fn result(self) -> (u64, Vec<Occurrence>) {
        if self.binary { (0, Vec::new()) } else { (self.total, self.found) }
    }

    /// A line goes to those that it is after, and waits for those that it is before.
    fn pass(&mut self, number: u64, bytes: &[u8]) {
        let near = |found: &Occurrence| found.line < number && number - found.line <= CONTEXT as u64;
        let wanted = self.found.len() < self.wanted;
        if !wanted && !self.found.last().is_some_and(near) {
            return;
        }
        let text = line::beginning(without_end(bytes));
        for found in self.found.iter_mut().rev().take_while(|found| number - found.line <= CONTEXT as u64) {
            if near(found) {
                found.after.push(text.clone());
            }
        }
        if wanted {
            self.recent.truncate(CONTEXT - 1);
            self.recent.push_front((number, text));
        }
    }

    /// The lines right before this one.
    fn before(&self, number: u64) -> Vec<String> {
        let near = self.recent.iter().filter(|(earlier, _)| *earlier < number && number - earlier <= CONTEXT as u64);
        near.rev().map(|(_, text)| text.clone()).collect()
    }
}

impl Sink for Tally<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        let range = matched.bytes_range_in_buffer();
        // With everything before the line: a pattern may look back. Without its end, as the searcher saw it.
        let text = without_end(&matched.buffer()[..range.end]);
        let bytes = &text[range.start..];
        let number = matched.line_number().unwrap_or_default();
        let room = self.wanted - self.found.len();
        let before = if room > 0 { self.before(number) } else { Vec::new() };
        let mut hits = Hits { bytes, number, before, room, count: 0, column: 1, counted: 0, found: Vec::new() };
        self.matcher
            .find_iter_at(text, range.start, |hit| {
                let inside = hit.start() < range.end;
                if inside {
                    hits.add(hit.start() - range.start);
                }
                inside && !self.stop.is_stopped()
            })
            .map_err(io::Error::other)?;
        // What the line was found for cannot always be found again in the line alone. In a last line that has no end of
        // its own, it is what stands there instead.
        if hits.count == 0 {
            hits.add(if text.len() == range.end { bytes.len() } else { 0 });
        }
        self.total += hits.count;
        self.pass(number, bytes);
        self.found.append(&mut hits.found);
        Ok(!self.stop.is_stopped())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.pass(context.line_number().unwrap_or_default(), context.bytes());
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// The occurrences in one line.
struct Hits<'a> {
    bytes: &'a [u8],
    number: u64,
    before: Vec<String>,
    /// How many are wanted.
    room: usize,
    count: u64,
    /// The column of the byte up to which characters were counted.
    column: u64,
    counted: usize,
    found: Vec<Occurrence>,
}

impl Hits<'_> {
    fn add(&mut self, start: usize) {
        self.count += 1;
        if self.found.len() == self.room {
            return;
        }
        self.column += line::characters(&self.bytes[self.counted..start]);
        self.counted = start;
        self.found.push(Occurrence {
            file: String::new(),
            line: self.number,
            column: self.column,
            text: line::around(self.bytes, start),
            before: self.before.clone(),
            after: Vec::new(),
        });
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}
