//! What a source file names of other files, as it is written there. What that leads to is a matter of `resolve`.

mod bash;
mod c;
mod csharp;
mod ecma;
mod go;
mod jvm;
mod php;
mod python;
mod ruby;
mod rust;

use tree_sitter::Node;

pub(crate) use self::rust::RustOutline;
use crate::Until;
use crate::syntax::{Grammar, NotParsed, Parsed};

/// More than any file that somebody wrote; generated ones are cut off there.
const IMPORTS_MAX: usize = 10_000;

/// As much as is shown of something that was not included.
const WRITTEN_MAX_CHARS: usize = 200;

/// The longest path that systems take.
const NAME_MAX_BYTES: usize = 4096;

/// What was learned from one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// In the order of the text.
    pub(crate) imports: Vec<Import>,
    /// The packages or namespaces that it is part of.
    pub(crate) packages: Vec<String>,
    /// Names that it declares for others, where resolving needs them.
    pub(crate) declares: Vec<String>,
    pub(crate) rust: RustOutline,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) kind: ImportKind,
    pub(crate) reference: Reference,
    /// How to call it when it is not included.
    pub(crate) written: String,
}

/// How another file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImportKind {
    /// `import`, `use`, `using`.
    Import,
    /// Passed on to whoever imports this file.
    Reexport,
    /// In the course of the program, with a literal.
    Dynamic,
    /// `require`, `load`, `source`.
    Require,
    /// Its text becomes part of this one's.
    Include,
    /// A part of the same program that is declared here.
    Module,
}

/// What is written, in terms of what decides where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// JavaScript's: a path, a package, or what a configuration makes of it.
    Specifier(String),
    /// Python's: `level` dots, a module, and what is taken from it.
    Python {
        level: usize,
        module: String,
        names: Vec<String>,
    },
    /// `mod name;`, inside of inline modules, perhaps with a `path` of its own.
    RustModule {
        inside: Vec<String>,
        name: String,
        path: Option<String>,
    },
    /// `use a::b::c`; the last part may be `*`.
    RustUse {
        inside: Vec<String>,
        path: Vec<String>,
    },
    /// Go's path of a package.
    Package(String),
    /// `a.b.C` of Java and Kotlin; without the star.
    Qualified {
        path: Vec<String>,
        star: bool,
    },
    /// C#'s: the namespace, or the type of a static or an alias.
    Namespace(Vec<String>),
    /// PHP's: the parts of a class's full name.
    Class(Vec<String>),
    Include {
        path: String,
        angled: bool,
    },
    /// A path in words of the file system.
    Path {
        path: String,
        from: Anchor,
    },
}

/// What a path starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The folder of the file.
    Here,
    /// Whatever the language searches.
    LoadPath,
    /// It is not said; a variable was there.
    Somewhere,
}

impl Outline {
    pub(crate) fn of(grammar: Grammar, text: &str, until: &Until) -> Result<Self, NotParsed> {
        let parsed = Parsed::new(grammar, text, until)?;
        if let Some(line) = mistake(grammar, &parsed) {
            return Err(NotParsed::Syntax { line });
        }
        let mut outline = match grammar {
            Grammar::TypeScript | Grammar::Tsx | Grammar::JavaScript => ecma::outline(&parsed, until),
            Grammar::Python => python::outline(&parsed, until),
            Grammar::Rust => rust::outline(&parsed, until),
            Grammar::Go => Ok(go::outline(&parsed)),
            Grammar::Java | Grammar::Kotlin => Ok(jvm::outline(&parsed)),
            Grammar::C | Grammar::Cpp => c::outline(&parsed, until),
            Grammar::CSharp => csharp::outline(&parsed, until),
            Grammar::Ruby => ruby::outline(&parsed, until),
            Grammar::Php => php::outline(&parsed, until),
            Grammar::Bash => bash::outline(&parsed, until),
        }?;
        outline.imports.truncate(IMPORTS_MAX);
        Ok(outline)
    }

    /// About how much memory it takes.
    pub(crate) fn weight(&self) -> usize {
        const EACH: usize = 160;
        let texts = self.imports.iter().map(|import| 2 * import.written.len()).sum::<usize>()
            + self.packages.iter().chain(&self.declares).map(String::len).sum::<usize>();
        let parts = self.imports.len() + self.packages.len() + self.declares.len() + self.rust.parts() + 1;
        parts * EACH + texts
    }
}

impl Import {
    fn new(kind: ImportKind, reference: Reference, written: impl Into<String>) -> Self {
        let mut written = written.into();
        if let Some((end, _)) = written.char_indices().nth(WRITTEN_MAX_CHARS) {
            written.truncate(end);
            written.push('…');
        }
        Self { kind, reference, written }
    }
}

impl ImportKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Reexport => "reexport",
            Self::Dynamic => "dynamic",
            Self::Require => "require",
            Self::Include => "include",
            Self::Module => "module",
        }
    }
}

/// Where the text cannot be relied upon to name what it uses.
fn mistake(grammar: Grammar, parsed: &Parsed<'_>) -> Option<usize> {
    match grammar {
        // Macros and options make valid text of what no grammar knows, and no mistake hides an include or a command.
        Grammar::C | Grammar::Cpp | Grammar::Bash => None,
        Grammar::TypeScript
        | Grammar::Tsx
        | Grammar::JavaScript
        | Grammar::Python
        | Grammar::Rust
        | Grammar::Go
        | Grammar::Java
        | Grammar::Kotlin
        | Grammar::CSharp
        | Grammar::Ruby
        | Grammar::Php => parsed.mistake(is_import),
    }
}

/// A statement that does nothing but name others.
fn is_import(kind: &str) -> bool {
    matches!(
        kind,
        "import_statement"
            | "import_from_statement"
            | "import_declaration"
            | "import"
            | "use_declaration"
            | "extern_crate_declaration"
            | "using_directive"
            | "namespace_use_declaration"
            | "package_declaration"
            | "package_clause"
            | "package_header"
    )
}

/// The outermost statements, also those among what could not be read.
fn statements<'t>(parsed: &'t Parsed<'_>) -> Vec<Node<'t>> {
    let root = parsed.root();
    let (mut found, mut open) = (Vec::new(), vec![root]);
    while let Some(node) = open.pop() {
        if node == root || node.is_error() {
            open.extend(children(node).into_iter().rev());
        } else {
            found.push(node);
        }
    }
    found
}

/// Short enough to be a name or a path, whatever it is made of.
fn is_short(node: &Node<'_>) -> bool {
    node.byte_range().len() <= NAME_MAX_BYTES
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).collect()
}

fn fields<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    node.children_by_field_name(field, &mut node.walk()).collect()
}

/// The parts of a name with separators in it, however deep its tree.
fn parts(name: &str, separator: &str) -> Vec<String> {
    name.split(separator).map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests;
