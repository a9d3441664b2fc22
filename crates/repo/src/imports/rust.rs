//! Rust: modules, `use`, and files that macros read. Beside the imports, what a module contains: a path may lead
//! through modules and re-exports of other files.

use tree_sitter::Node;

use super::{Anchor, Import, ImportKind, Outline, Reference, children, parts};
use crate::Until;
use crate::syntax::{NotParsed, Parsed, Step};

/// Inline modules around one another, and parts of a path: more than anybody writes. What is deeper is not looked at, since
/// each of them carries all those around it along.
const DEPTH_MAX: usize = 64;

/// What the modules of one file contain. A module is the names of the inline modules around it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RustOutline {
    pub(crate) modules: Vec<RustModule>,
    pub(crate) uses: Vec<RustUse>,
    /// Where, and its name.
    pub(crate) items: Vec<(Vec<String>, String)>,
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
    pub(super) fn parts(&self) -> usize {
        self.modules.len() + 2 * self.uses.len() + self.items.len()
    }
}

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    let mut found = Collector { outline: Outline::default(), path: None, inside: Vec::new(), hidden_until: 0 };
    parsed.walk(until, |node| found.visit(parsed, node))?;
    Ok(found.outline)
}

struct Collector {
    outline: Outline,
    /// Of the attributes before the next item.
    path: Option<String>,
    /// The inline modules that are open, with where they end.
    inside: Vec<(String, usize)>,
    /// Up to here, items are inside of another one: what a function has inside is nobody else's.
    hidden_until: usize,
}

impl Collector {
    fn visit(&mut self, parsed: &Parsed<'_>, node: Node<'_>) -> Step {
        while self.inside.last().is_some_and(|(_, end)| node.start_byte() >= *end) {
            self.inside.pop();
        }
        match node.kind() {
            "attribute_item" => {
                self.path = path_attribute(parsed, node).or(self.path.take());
                return Step::Over;
            }
            "line_comment" | "block_comment" => return Step::Over,
            "mod_item" if self.inside.len() >= DEPTH_MAX => return Step::Over,
            "mod_item" => self.module(parsed, node),
            "use_declaration" => {
                self.uses(parsed, node);
                self.path = None;
                return Step::Over;
            }
            "extern_crate_declaration" => self.extern_crate(parsed, node),
            "macro_invocation" => self.include(parsed, node),
            "token_tree" => self.in_macro(parsed, node),
            "function_item" | "struct_item" | "enum_item" | "union_item" | "trait_item" | "type_item"
            | "const_item" | "static_item" | "macro_definition" | "impl_item" => self.item(parsed, node),
            _ => {}
        }
        self.path = None;
        Step::Into
    }

    fn around(&self) -> Vec<String> {
        self.inside.iter().map(|(name, _)| name.clone()).collect()
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

    /// `cfg_if! { … mod name; … }`: macros that only choose take modules as they are written everywhere else.
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
        if let Some(name) = node.child_by_field_name("name") {
            self.outline.rust.items.push((self.around(), plain(parsed.text(name))));
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

fn string(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let parts = children(node);
    match (node.kind(), parts.as_slice()) {
        ("string_literal" | "raw_string_literal", [content]) if content.kind() == "string_content" => {
            Some(parsed.text(*content).to_owned())
        }
        _ => None,
    }
}
