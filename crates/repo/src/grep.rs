//! Searching the tree, with ripgrep's engine: every occurrence is counted, the first few in the order of paths and lines
//! are kept. What it costs in memory depends on how many are wanted, not on how many there are.

mod first;
mod line;
mod pattern;
mod tally;

use std::fs::File;
use std::io::{self, Read};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use self::first::{Bound, First};
pub use self::pattern::{Case, InvalidPattern, Pattern};
use self::tally::Tally;
use crate::Root;
use crate::walk::{Met, Scope, Stop, Visit};

/// Lines of context on each side.
const CONTEXT: usize = 2;

/// A file of at most this size is read with one call and searched where it lies. ripgrep looks for what makes a file
/// binary in exactly this much before it searches a text that it has as a whole.
const AT_ONCE: usize = 64 * 1024;

/// What a line may take in memory, for each thread; a file with a longer one is no text for people.
const LINE_MAX: usize = 8 * 1024 * 1024;

/// What a search found.
#[derive(Debug, PartialEq, Eq)]
pub struct Report {
    /// The first ones in the order of paths and lines.
    pub occurrences: Vec<Occurrence>,
    /// How many there are in all.
    pub total: u64,
    /// How many files were searched.
    pub files: u64,
}

/// One place where the pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// Relative to the root.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// The line; of a long one, what is around the match.
    pub text: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum GrepFailed {
    /// Somebody stopped it.
    #[error("stopped")]
    Stopped,
    #[error("cannot walk the tree")]
    Io(#[from] io::Error),
}

impl Root {
    /// Every match of the pattern in scope. Blocks, and uses all processors for as long as it takes or until stopped.
    pub fn grep(&self, scope: Scope<'_>, pattern: &Pattern, limit: usize, stop: &Stop) -> Result<Report, GrepFailed> {
        let first = First::new(limit);
        let searches = self.walk(scope, stop, || Search::new(pattern, &first, stop))?;
        if stop.is_stopped() {
            return Err(GrepFailed::Stopped);
        }
        let total = searches.iter().map(|search| search.total).sum();
        let files = searches.iter().map(|search| search.files).sum();
        drop(searches);
        Ok(Report { occurrences: first.into_occurrences(), total, files })
    }
}

/// One thread's part.
struct Search<'a> {
    matcher: RegexMatcher,
    /// Two searchers: without lines around matches and their numbers, counting is faster.
    counting: Searcher,
    collecting: Searcher,
    buffer: Vec<u8>,
    first: &'a First,
    bound: Bound,
    stop: &'a Stop,
    total: u64,
    files: u64,
}

impl<'a> Search<'a> {
    fn new(pattern: &Pattern, first: &'a First, stop: &'a Stop) -> Self {
        let mut counting = SearcherBuilder::new();
        counting.binary_detection(BinaryDetection::quit(b'\0')).heap_limit(Some(LINE_MAX)).line_number(false);
        let mut collecting = counting.clone();
        collecting.line_number(true).before_context(CONTEXT).after_context(CONTEXT);
        Self {
            matcher: pattern.matcher(),
            counting: counting.build(),
            collecting: collecting.build(),
            buffer: vec![0; AT_ONCE],
            first,
            bound: Bound::default(),
            stop,
            total: 0,
            files: 0,
        }
    }
}

impl Visit for Search<'_> {
    fn visit(&mut self, met: &Met<'_>) -> io::Result<()> {
        let (mut file, about) = met.open()?;
        let wanted = self.first.wanted(&mut self.bound, met.path);
        let mut tally = Tally::new(&self.matcher, self.stop, wanted);
        let searcher = if wanted > 0 { &mut self.collecting } else { &mut self.counting };
        match read_beginning(&mut file, &mut self.buffer, about.len())? {
            Beginning::Whole(0) => {}
            Beginning::Whole(length) => searcher.search_slice(&self.matcher, &self.buffer[..length], &mut tally)?,
            Beginning::Part => {
                let rest = Interruptible { file, stop: self.stop };
                searcher.search_reader(&self.matcher, self.buffer.chain(rest), &mut tally)?;
            }
        }
        self.files += 1;
        let (total, found) = tally.result();
        self.total += total;
        if !found.is_empty() {
            self.first.add(met.path, found);
        }
        Ok(())
    }
}

enum Beginning {
    /// The file is this long.
    Whole(usize),
    /// The buffer is full, and there may be more.
    Part,
}

/// Fills the buffer. When as much is read as the file was said to have, that was it: to ask once more costs a call for
/// each file.
fn read_beginning(file: &mut File, buffer: &mut [u8], length: u64) -> io::Result<Beginning> {
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(Beginning::Whole(filled)),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if filled == buffer.len() {
            return Ok(Beginning::Part);
        }
        if filled as u64 == length {
            return Ok(Beginning::Whole(filled));
        }
    }
}

/// Nobody waits for the end of a long file, either.
struct Interruptible<'a> {
    file: File,
    stop: &'a Stop,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}
