//! YAML text → a tree that knows the line of every key and value. Scalars stay as written: what they mean depends on
//! the key they are under. Anchors, aliases and tags are refused, so the tree is never larger than the text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, options};

use super::variables;

/// Ours needs five levels; free-form parts get some more.
const MAX_DEPTH: usize = 32;

/// A key is repeated in every place below it; tool names, the longest of ours, have 128 characters.
const MAX_KEY: usize = 256;

/// Each fault names its place; nobody reads more of them.
pub(super) const MAX_FAULTS: usize = 64;

/// One value as written.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar { text: String, quoting: Quoting },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_line: usize,
    pub(super) value: Node,
}

/// Whether a scalar may be something else than a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Plain,
    Quoted,
}

/// Something wrong with the text itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    /// The keys on the way there.
    pub(super) steps: Vec<String>,
    pub(super) message: String,
}

/// The tree (nothing for an empty text) and what is wrong with the text. Syntax errors end the reading.
pub(super) fn parse(text: &str) -> (Option<Node>, Vec<Fault>) {
    let mut builder = Builder::default();
    let Some(masked) = variables::mask(text) else {
        builder.fault(1, "has a character between U+F8F0 and U+F8F4, which are used internally".to_owned());
        return (None, builder.faults);
    };
    // An alias without its anchor is most often a value that begins with `*` and lacks quotes: say that instead.
    let limits = options! {
        emit_unresolved_aliases: true, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH,
    };
    for event in Parser::new_from_str_with_options(&masked, limits) {
        let (event, line) = match event {
            Ok((event, span)) => (event, span.start.line()),
            Err(error) => {
                builder.faults.push(syntax_fault(&error));
                return (None, builder.faults);
            }
        };
        if matches!(event, Event::DocumentStart(..)) {
            builder.documents += 1;
            if builder.documents > 1 {
                builder.fault(line, "a second YAML document begins here; a configuration is one document".to_owned());
                break;
            }
        }
        builder.take(event, line);
    }
    (builder.root, builder.faults)
}

/// What has been read so far: the collections that are open, outermost first.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    faults: Vec<Fault>,
}

struct Open {
    line: usize,
    collection: Collection,
}

enum Collection {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, first_lines: HashMap<String, usize>, key: Option<Key> },
}

/// A key whose value comes next.
struct Key {
    text: String,
    line: usize,
    /// Why the entry cannot be taken.
    refused: Option<String>,
}

impl Builder {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum may grow; other events carry no data")]
    fn take(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_extras(line, anchor, tag.is_some());
                let quoting = if style == ScalarStyle::Plain { Quoting::Plain } else { Quoting::Quoted };
                self.add(Node { line, content: Content::Scalar { text: variables::unmask(&text), quoting } });
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_extras(line, anchor, tag.is_some());
                self.open.push(Open { line, collection: Collection::List(Vec::new()) });
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_extras(line, anchor, tag.is_some());
                let map = Collection::Map { entries: Vec::new(), first_lines: HashMap::new(), key: None };
                self.open.push(Open { line, collection: map });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.fault(line, unsupported("*", "alias"));
                self.add(Node { line, content: Content::Scalar { text: String::new(), quoting: Quoting::Plain } });
            }
            _ => {}
        }
    }

    fn refuse_extras(&mut self, line: usize, anchor: usize, tagged: bool) {
        if anchor != 0 {
            self.fault(line, unsupported("&", "anchor"));
        }
        if tagged {
            self.fault(line, unsupported("!", "tag"));
        }
    }

    fn close(&mut self) {
        let Some(Open { line, collection }) = self.open.pop() else { return };
        let content = match collection {
            Collection::List(items) => Content::List(items),
            Collection::Map { entries, .. } => Content::Map(entries),
        };
        self.add(Node { line, content });
    }

    /// Puts a finished node where it belongs: it is a key, the value of one, an item, or all there is.
    fn add(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        match &mut open.collection {
            Collection::List(items) => items.push(node),
            Collection::Map { entries, first_lines, key } => match key.take() {
                None => {
                    *key = Some(Key::of(node, first_lines));
                    self.check_key();
                }
                // Of a key that is there twice, the first value stands; the file is refused anyway.
                Some(Key { refused: Some(_), .. }) => {}
                Some(Key { text, line, refused: None }) => {
                    entries.push(Entry { key: text, key_line: line, value: node });
                }
            },
        }
    }

    fn check_key(&mut self) {
        let Some(Open { collection: Collection::Map { key: Some(key), .. }, .. }) = self.open.last() else { return };
        if let Some(message) = key.refused.clone() {
            self.fault(key.line, message);
        }
    }

    fn fault(&mut self, line: usize, message: String) {
        if self.faults.len() >= MAX_FAULTS {
            return;
        }
        let steps = self.open.iter().filter_map(|open| match &open.collection {
            Collection::List(items) => Some(items.len().to_string()),
            Collection::Map { key, .. } => key.as_ref().map(|key| key.text.clone()),
        });
        let steps = steps.collect();
        self.faults.push(Fault { line, steps, message });
    }
}

impl Key {
    fn of(node: Node, first_lines: &mut HashMap<String, usize>) -> Self {
        let line = node.line;
        let mut text = match node.content {
            Content::Scalar { text, .. } => text,
            // YAML allows collections as keys. No key of ours looks like this, so it is refused as unknown.
            Content::List(_) => "[…]".to_owned(),
            Content::Map(_) => "{…}".to_owned(),
        };
        if let Some((cut, _)) = text.char_indices().nth(MAX_KEY) {
            text.truncate(cut);
            return Self { text, line, refused: Some(format!("a key has at most {MAX_KEY} characters")) };
        }
        let refused = match first_lines.entry(text.clone()) {
            MapEntry::Occupied(first) => {
                Some(format!("is written twice: here and on line {}; keep one of them", first.get()))
            }
            MapEntry::Vacant(vacant) => {
                vacant.insert(line);
                None
            }
        };
        Self { text, line, refused }
    }
}

fn unsupported(sign: &str, what: &str) -> String {
    format!(
        "`{sign}` begins a YAML {what}, which is not supported; write the value out, or put it in quotes if the \
             `{sign}` belongs to it"
    )
}

fn syntax_fault(error: &ScanError) -> Fault {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's own words do for all other kinds")]
    let reason: Cow<'_, str> = match error.kind() {
        ErrorKind::RecursionLimitExceeded => format!("nested more than {MAX_DEPTH} levels deep").into(),
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
            "indent with spaces, not with tabs".into()
        }
        ErrorKind::MappingValueNotAllowed => {
            "a `:` where none can be; put a value that has `: ` in it in quotes, and check the indentation".into()
        }
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::BlockSequenceEntryNotAllowed => {
            "the indentation, or the kind of line, does not fit the lines above".into()
        }
        ErrorKind::SimpleKeyExpected => "a line without `key: value`".into(),
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
            "a quoted text that begins above is not closed".into()
        }
        ErrorKind::InvalidColonPlacement => "a `:` where none can be; perhaps a `[` or `{` above is not closed".into(),
        ErrorKind::UnclosedFlowCollection { open } => format!("the `{open}` is not closed").into(),
        ErrorKind::UnexpectedCharacter { character } => {
            format!("unexpected `{}`; put the value in quotes", character.escape_default()).into()
        }
        other => other.to_string().into(),
    };
    Fault { line: error.marker().line(), steps: Vec::new(), message: format!("not valid YAML: {reason}") }
}
