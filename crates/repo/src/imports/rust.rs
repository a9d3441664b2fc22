//! Rust: modules, `use`, and files that macros read. Beside the imports, what a module contains: a path may lead
//! through modules and re-exports of other files.

use tree_sitter::Node;

use super::{Anchor, Import, ImportKind, Outline, Reference, children, parts};
use crate::Until;
use crate::syntax::{Grammar, NotParsed, Parsed, Step};

/// Inline modules around one another, and parts of a path: more than anybody writes. What is deeper is not looked at, since
/// each of them carries all those around it along.
const DEPTH_MAX: usize = 64;

/// Macros inside of one another whose contents are read, and how much of that may be read again when it fails.
const MACROS_MAX: usize = 16;
const READ_AGAIN_TIMES: usize = 4;

/// What the modules of one file contain. A module is the names of the inline modules around it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RustOutline {
    pub(crate) modules: Vec<RustModule>,
    pub(crate) uses: Vec<RustUse>,
    /// Where, and its name.
    pub(crate) items: Vec<(Vec<String>, String)>,
    /// Macros that belong to the root of the crate, wherever they are written.
    pub(crate) exported: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RustModule {
    pub(crate) inside: Vec<String>,
    pub(crate) name: String,
    pub(crate) path: Option<String>,
    pub(crate) inline: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RustUse {
    pub(crate) inside: Vec<String>,
    pub(crate) path: Vec<String>,
    /// What it is called here; `*` for everything.
    pub(crate) name: String,
}

impl RustOutline {
    fn append(&mut self, mut more: Self) {
        self.modules.append(&mut more.modules);
        self.uses.append(&mut more.uses);
        self.items.append(&mut more.items);
        self.exported.append(&mut more.exported);
    }

    pub(super) fn parts(&self) -> usize {
        self.modules.len() + 2 * self.uses.len() + self.items.len() + self.exported.len()
    }
}

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    let left = parsed.text(parsed.root()).len() * READ_AGAIN_TIMES;
    let mut found = Collector::new(until, Vec::new(), left);
    parsed.walk(until, |node| found.visit(parsed, node))?;
    Ok(found.outline)
}

struct Collector<'u> {
    until: &'u Until,
    /// The modules around the text, where it is the inside of a macro.
    base: Vec<String>,
    /// How many macros are around it, and how many bytes of macros may yet be read.
    macros: usize,
    left: usize,
    outline: Outline,
    /// Of the attributes before the next item.
    path: Option<String>,
    is_exported: bool,
    /// The inline modules that are open, with where they end.
    inside: Vec<(String, usize)>,
    /// Up to here, items are inside of another one: what a function has inside is nobody else's.
    hidden_until: usize,
}

impl<'u> Collector<'u> {
    fn new(until: &'u Until, base: Vec<String>, left: usize) -> Self {
        let outline = Outline::default();
        Self {
            until,
            base,
            macros: 0,
            left,
            outline,
            path: None,
            is_exported: false,
            inside: Vec::new(),
            hidden_until: 0,
        }
    }

    fn visit(&mut self, parsed: &Parsed<'_>, node: Node<'_>) -> Step {
        while self.inside.last().is_some_and(|(_, end)| node.start_byte() >= *end) {
            self.inside.pop();
        }
        match node.kind() {
            "attribute_item" => {
                self.path = path_attribute(parsed, node).or(self.path.take());
                self.is_exported |= is_export(parsed.text(node));
                return Step::Over;
            }
            "line_comment" | "block_comment" => return Step::Over,
            "mod_item" if self.base.len() + self.inside.len() >= DEPTH_MAX => return Step::Over,
            "mod_item" => self.module(parsed, node),
            "use_declaration" => {
                self.uses(parsed, node);
                (self.path, self.is_exported) = (None, false);
                return Step::Over;
            }
            "extern_crate_declaration" => self.extern_crate(parsed, node),
            "macro_invocation" => self.include(parsed, node),
            "token_tree" if self.items_in(parsed, node).is_some() => return Step::Over,
            "token_tree" => self.in_macro(parsed, node),
            "function_item" | "struct_item" | "enum_item" | "union_item" | "trait_item" | "type_item"
            | "const_item" | "static_item" | "macro_definition" | "impl_item" => self.item(parsed, node),
            _ => {}
        }
        (self.path, self.is_exported) = (None, false);
        Step::Into
    }

    fn around(&self) -> Vec<String> {
        self.base.iter().chain(self.inside.iter().map(|(name, _)| name)).cloned().collect()
    }

    fn module(&mut self, parsed: &Parsed<'_>, node: Node<'_>) {
        let Some(name) = node.child_by_field_name("name").map(|name| plain(parsed.text(name))) else { return };
        let path = self.path.take();
        if node.child_by_field_name("body").is_none() {
            return self.declare(name, path);
        }
        let inside = self.around();
        self.inside.push((name.clone(), node.end_byte()));
        self.outline.rust.modules.push(RustModule { inside, name, path, inline: true });
    }

    /// `mod name;`.
    fn declare(&mut self, name: String, path: Option<String>) {
        let inside = self.around();
        let reference = Reference::RustModule { inside: inside.clone(), name: name.clone(), path: path.clone() };
        self.outline.imports.push(Import::new(ImportKind::Module, reference, format!("mod {name}")));
        self.outline.rust.modules.push(RustModule { inside, name, path, inline: false });
    }

    /// `cfg_net! { pub mod net; pub use net::Socket; }`: what reads as items is taken as such, since macros that only
    /// choose pass them on as they are.
    fn items_in(&mut self, parsed: &Parsed<'_>, node: Node<'_>) -> Option<()> {
        let inner = parsed.text(node).strip_prefix('{')?.strip_suffix('}')?;
        if node.start_byte() < self.hidden_until || self.macros >= MACROS_MAX {
            return None;
        }
        self.left = self.left.checked_sub(inner.len())?;
        let parsed = Parsed::new(Grammar::Rust, inner, self.until).ok()?;
        if parsed.root().has_error() {
            return None;
        }
        let mut found = Self { macros: self.macros + 1, ..Self::new(self.until, self.around(), self.left) };
        parsed.walk(self.until, |node| found.visit(&parsed, node)).ok()?;
        self.left = found.left;
        self.outline.imports.append(&mut found.outline.imports);
        self.outline.rust.append(found.outline.rust);
        Some(())
    }

    /// `cfg_if! { … mod name; … }`, where that is not all there is to it.
    fn in_macro(&mut self, parsed: &Parsed<'_>, node: Node<'_>) {
        if node.start_byte() < self.hidden_until {
            return;
        }
        let tokens: Vec<Node<'_>> = node.children(&mut node.walk()).collect();
        for three in tokens.windows(3) {
            if let [word, name, end] = three
                && (word.kind(), name.kind(), end.kind()) == ("mod", "identifier", ";")
            {
                self.declare(plain(parsed.text(*name)), None);
            }
            if let [word, mark, name] = three
                && (parsed.text(*word), mark.kind(), name.kind()) == ("macro_rules", "!", "identifier")
                && tokens.iter().any(|token| is_export(parsed.text(*token)))
            {
                self.outline.rust.exported.push(plain(parsed.text(*name)));
            }
        }
    }

    fn uses(&mut self, parsed: &Parsed<'_>, node: Node<'_>) {
        let Some(argument) = node.child_by_field_name("argument") else { return };
        let public = children(node).iter().any(|child| child.kind() == "visibility_modifier");
        let kind = if public { ImportKind::Reexport } else { ImportKind::Import };
        for (path, name) in flattened(parsed, argument) {
            let inside = self.around();
            let reference = Reference::RustUse { inside: inside.clone(), path: path.clone() };
            self.outline.imports.push(Import::new(kind, reference, path.join("::")));
            self.outline.rust.uses.push(RustUse { inside, path, name });
        }
    }

    fn extern_crate(&mut self, parsed: &Parsed<'_>, node: Node<'_>) {
        let Some(name) = node.child_by_field_name("name").map(|name| plain(parsed.text(name))) else { return };
        let path = vec![String::new(), name.clone()];
        let bound = node.child_by_field_name("alias").map_or(name.clone(), |alias| plain(parsed.text(alias)));
        let inside = self.around();
        let reference = Reference::RustUse { inside: inside.clone(), path: path.clone() };
        self.outline.imports.push(Import::new(ImportKind::Import, reference, name));
        self.outline.rust.uses.push(RustUse { inside, path, name: bound });
    }

    /// `include!("x.rs")`, `include_str!("x.sql")`.
    fn include(&mut self, parsed: &Parsed<'_>, node: Node<'_>) {
        let name = node.child_by_field_name("macro").map(|name| parsed.text(name)).unwrap_or_default();
        if !matches!(name.rsplit("::").next(), Some("include" | "include_str" | "include_bytes")) {
            return;
        }
        let tokens = children(node).into_iter().find(|child| child.kind() == "token_tree").map(children);
        let [literal] = tokens.as_deref().unwrap_or_default() else { return };
        let Some(path) = string(parsed, *literal) else { return };
        let reference = Reference::Path { path: path.clone(), from: Anchor::Here };
        self.outline.imports.push(Import::new(ImportKind::Include, reference, path));
    }

    fn item(&mut self, parsed: &Parsed<'_>, node: Node<'_>) {
        if node.start_byte() < self.hidden_until {
            return;
        }
        self.hidden_until = node.end_byte();
        if let Some(name) = node.child_by_field_name("name").map(|name| plain(parsed.text(name))) {
            if self.is_exported {
                self.outline.rust.exported.push(name.clone());
            }
            self.outline.rust.items.push((self.around(), name));
        }
    }
}

/// Every path of a tree of uses, and the name it gets. An empty first part stands for a leading `::`.
fn flattened(parsed: &Parsed<'_>, argument: Node<'_>) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    // Trees are as deep as their author likes: no recursion.
    let mut open = vec![(Vec::new(), argument)];
    while let Some((prefix, node)) = open.pop() {
        if prefix.len() > DEPTH_MAX {
            continue;
        }
        let with = |node: Option<Node<'_>>| match node {
            Some(path) => [prefix.clone(), segments(parsed.text(path))].concat(),
            None => prefix.clone(),
        };
        match node.kind() {
            "use_list" => {
                open.extend(children(node).into_iter().rev().map(|child| (prefix.clone(), child)));
            }
            "scoped_use_list" => {
                let path = with(node.child_by_field_name("path"));
                let path =
                    if parsed.text(node).starts_with("::") && path.is_empty() { vec![String::new()] } else { path };
                open.extend(node.child_by_field_name("list").map(|list| (path, list)));
            }
            "use_as_clause" => {
                let alias = node.child_by_field_name("alias").map(|alias| plain(parsed.text(alias)));
                found.push((without_self(with(node.child_by_field_name("path"))), alias.unwrap_or_default()));
            }
            "use_wildcard" => {
                let mut path = with(children(node).into_iter().next());
                path.push("*".to_owned());
                found.push((path, "*".to_owned()));
            }
            "line_comment" | "block_comment" | "metavariable" => {}
            _ => {
                let path = without_self(with(Some(node)));
                let name = path.last().cloned().unwrap_or_default();
                found.push((path, name));
            }
        }
    }
    found
}

/// `a::{self}` is `a`.
fn without_self(mut path: Vec<String>) -> Vec<String> {
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    path
}

fn segments(path: &str) -> Vec<String> {
    let mut segments: Vec<String> = parts(path, "::").iter().map(|part| plain(part)).take(DEPTH_MAX + 1).collect();
    if path.trim_start().starts_with("::") {
        segments.insert(0, String::new());
    }
    segments
}

/// `r#type` is `type`.
fn plain(name: &str) -> String {
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}

/// `#[path = "x.rs"]`; of a conditional one the compiler alone knows whether it holds.
fn path_attribute(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let attribute = children(node).into_iter().find(|child| child.kind() == "attribute")?;
    let name = children(attribute).into_iter().next()?;
    if parsed.text(name) != "path" {
        return None;
    }
    string(parsed, attribute.child_by_field_name("value")?)
}

/// `#[macro_export]`, with or without its mark in front, perhaps with a condition around it.
fn is_export(attribute: &str) -> bool {
    attribute.trim_start_matches('#').starts_with('[') && attribute.contains("macro_export")
}

fn string(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let parts = children(node);
    match (node.kind(), parts.as_slice()) {
        ("string_literal" | "raw_string_literal", [content]) if content.kind() == "string_content" => {
            Some(parsed.text(*content).to_owned())
        }
        _ => None,
    }
}
