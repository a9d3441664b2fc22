//! What a piece of code is called: by the definitions that begin in it, or by the one that it is a part of.

use countersign_repo::Definition;

use super::SYMBOL_BYTES_MAX;

/// Names around one another that are shown.
const PARTS_MAX: usize = 8;

/// Between a name and what it is part of, in all languages.
const SEPARATOR: &str = "::";

pub(super) struct Symbols<'o> {
    /// Outer ones before inner ones, in the order of the text.
    definitions: &'o [Definition],
    /// Which definition each is directly inside of, and which are inside of it.
    parents: Vec<Option<usize>>,
    inner: Vec<Vec<usize>>,
    outermost: Vec<usize>,
}

impl<'o> Symbols<'o> {
    pub(super) fn new(definitions: &'o [Definition]) -> Self {
        let (mut parents, mut inner, mut outermost) = (Vec::new(), vec![Vec::new(); definitions.len()], Vec::new());
        let mut around: Vec<usize> = Vec::new();
        for (index, definition) in definitions.iter().enumerate() {
            around.truncate(definition.depth);
            match around.last() {
                Some(parent) => inner[*parent].push(index),
                None => outermost.push(index),
            }
            parents.push(around.last().copied());
            around.push(index);
        }
        Self { definitions, parents, inner, outermost }
    }

    pub(super) fn outermost(&self) -> &[usize] {
        &self.outermost
    }

    pub(super) fn inside(&self, definition: usize) -> &[usize] {
        &self.inner[definition]
    }

    /// First and last line of a definition, from 1.
    pub(super) fn lines(&self, definition: usize) -> (u32, u32) {
        self.definitions[definition].lines
    }

    /// The name of a piece. Of several definitions all are named, but not what is inside of one that is there as a
    /// whole.
    pub(super) fn of(&self, (first, last): (u32, u32)) -> Option<String> {
        let begin = self.definitions.partition_point(|definition| definition.lines.0 < first);
        let starting = self.definitions[begin..].iter().take_while(|definition| definition.lines.0 <= last).count();
        let is_whole = |parent: usize| {
            let lines = self.lines(parent);
            lines.0 >= first && lines.1 <= last
        };
        let mut symbol = String::new();
        let mut before = String::new();
        for definition in begin..begin + starting {
            if self.parents[definition].is_some_and(is_whole) {
                continue;
            }
            let path = self.path(definition);
            // `struct Router` and `impl Router` side by side are one name.
            if path == before {
                continue;
            }
            if !symbol.is_empty() {
                if symbol.len() + path.len() > SYMBOL_BYTES_MAX {
                    break;
                }
                symbol.push_str(", ");
            }
            symbol.push_str(&path);
            before = path;
        }
        if symbol.is_empty() { self.around(first) } else { Some(symbol) }
    }

    /// The innermost definition that a line is part of.
    pub(super) fn around(&self, line: u32) -> Option<String> {
        let before = self.definitions.partition_point(|definition| definition.lines.0 <= line);
        let mut at = before.checked_sub(1);
        while let Some(definition) = at {
            if self.lines(definition).1 >= line {
                return Some(self.path(definition));
            }
            at = self.parents[definition];
        }
        None
    }

    fn path(&self, definition: usize) -> String {
        let mut path = self.definitions[definition].name.clone();
        let mut at = self.parents[definition];
        for _ in 1..PARTS_MAX {
            let Some(parent) = at else { break };
            let longer = format!("{}{SEPARATOR}{path}", self.definitions[parent].name);
            if longer.len() > SYMBOL_BYTES_MAX {
                break;
            }
            path = longer;
            at = self.parents[parent];
        }
        path
    }
}
