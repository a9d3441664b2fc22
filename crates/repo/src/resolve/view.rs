//! The project as resolving sees it during one call: what is where, and what is in it, each looked at once.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use toml::Table;

use super::Census;
use super::paths::within;
use crate::Project;
use crate::Until;
use crate::imports::Outline;
use crate::language::{grammar_of, language_of};
use crate::root::Entry;
pub(crate) use crate::root::Look;
use crate::syntax::Grammar;

/// Other files that may be read and parsed to resolve the imports of one.
const OUTLINES_MAX: usize = 1000;

/// Looks at the disk that one call may take.
const LOOKS_MAX: usize = 100_000;

pub(crate) struct View<'p> {
    project: &'p Project,
    until: &'p Until,
    grammar: Grammar,
    looked: RefCell<HashMap<String, Look>>,
    outlines: RefCell<HashMap<String, Option<Arc<Outline>>>>,
    manifests: RefCell<HashMap<String, Option<Rc<Table>>>>,
    listed: RefCell<HashMap<String, Rc<Vec<Entry>>>>,
    census: OnceCell<Arc<Census>>,
    /// What holds for all imports of the one file that is looked at, by language.
    kept: RefCell<HashMap<&'static str, Rc<dyn Any>>>,
    looks_left: Cell<usize>,
}

impl<'p> View<'p> {
    pub(crate) fn new(project: &'p Project, grammar: Grammar, until: &'p Until) -> Self {
        Self {
            project,
            until,
            grammar,
            looked: RefCell::default(),
            outlines: RefCell::default(),
            manifests: RefCell::default(),
            listed: RefCell::default(),
            census: OnceCell::new(),
            kept: RefCell::default(),
            looks_left: Cell::new(LOOKS_MAX),
        }
    }

    /// Whether looking had to end before its time, so that what was not found may be there.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.looks_left.get() == 0
    }

    pub(super) fn is_ruby(&self) -> bool {
        self.grammar == Grammar::Ruby
    }

    /// Plain JavaScript, without types.
    pub(super) fn is_javascript(&self) -> bool {
        self.grammar == Grammar::JavaScript
    }

    pub(super) fn look(&self, path: &str) -> Look {
        if let Some(known) = self.looked.borrow().get(path) {
            return *known;
        }
        let left = self.looks_left.get();
        if left == 0 || (left.is_multiple_of(64) && self.until.is_over()) {
            self.looks_left.set(0);
            return Look::Nothing;
        }
        self.looks_left.set(left - 1);
        let found = self.project.look(path);
        self.looked.borrow_mut().insert(path.to_owned(), found);
        found
    }

    pub(super) fn is_file(&self, path: &str) -> bool {
        self.look(path) == Look::File
    }

    pub(super) fn is_folder(&self, path: &str) -> bool {
        path.is_empty() || self.look(path) == Look::Folder
    }

    /// What is in a folder, in the order of names.
    pub(super) fn list(&self, folder: &str) -> Rc<Vec<Entry>> {
        if let Some(known) = self.listed.borrow().get(folder) {
            return Rc::clone(known);
        }
        let entries = Rc::new(self.project.list(folder));
        self.listed.borrow_mut().insert(folder.to_owned(), Rc::clone(&entries));
        entries
    }

    /// The paths of a folder's files that end so, in the order of names.
    pub(super) fn files_in(&self, folder: &str, endings: &[&str]) -> Vec<String> {
        let entries = self.list(folder);
        let wanted =
            |entry: &&Entry| entry.look == Look::File && endings.iter().any(|ending| entry.name.ends_with(ending));
        entries.iter().filter(wanted).map(|entry| within(folder, &entry.name)).collect()
    }

    /// What a file says, for whoever resolves; nobody is shown it.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.project.text(path)
    }

    /// `None` where there is no such file, or it cannot be parsed.
    pub(super) fn outline(&self, path: &str) -> Option<Arc<Outline>> {
        if let Some(known) = self.outlines.borrow().get(path) {
            return known.clone();
        }
        if self.outlines.borrow().len() >= OUTLINES_MAX || self.until.is_over() {
            return None;
        }
        let outline = self.text(path).and_then(|text| {
            let grammar = grammar_of(path, language_of(path, &text))?;
            self.project.outline(grammar, &text, self.until).ok()
        });
        self.outlines.borrow_mut().insert(path.to_owned(), outline.clone());
        outline
    }

    /// A file in TOML.
    pub(super) fn manifest(&self, path: &str) -> Option<Rc<Table>> {
        if let Some(known) = self.manifests.borrow().get(path) {
            return known.clone();
        }
        let text = if self.is_file(path) { self.text(path) } else { None };
        let manifest = text.and_then(|text| text.parse().ok()).map(Rc::new);
        self.manifests.borrow_mut().insert(path.to_owned(), manifest.clone());
        manifest
    }

    pub(super) fn census(&self) -> &Census {
        self.census.get_or_init(|| self.project.census(self.until))
    }

    /// Made once; `name` is nobody else's.
    pub(super) fn once<T: 'static>(&self, name: &'static str, make: impl FnOnce() -> T) -> Rc<T> {
        let known = self.kept.borrow().get(name).cloned();
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return known;
        }
        let made = Rc::new(make());
        self.kept.borrow_mut().insert(name, Rc::clone(&made) as Rc<dyn Any>);
        made
    }

    /// Whether there is no time left.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_over()
    }
}
