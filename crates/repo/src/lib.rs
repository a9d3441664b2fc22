//! The project tree as tools may see it: one root, one guard before every file, rules as data.
//!
//! What a request names is checked, and what it turned out to be is checked again on the open handle: a link that is
//! swapped in between changes nothing.

mod append;
mod grep;
mod imports;
mod language;
mod list;
mod outline;
mod policy;
mod project;
mod replace;
mod resolve;
mod role;
mod root;
mod sandbox;
mod syntax;
mod until;
mod walk;

pub use append::{AppendError, AppendOnly, NewEntry};
pub use grep::{Case, GrepFailed, InvalidPattern, Occurrence, Pattern, Report};
pub use imports::ImportKind;
pub use language::language_of;
pub use list::Listed;
pub use outline::{CodeOutline, Comment, Definition, DefinitionKind, outline};
pub use policy::{Name, ParentRule, PathPolicy};
pub use project::{Dependencies, Dependency, LeftOut, Project, Reason};
pub use replace::{Consent, WriteRefused};
pub use role::{Role, module_of, role_of};
pub use root::{FileRefused, Found, Root};
pub use sandbox::{Places, Sandbox};
pub use syntax::NotParsed;
pub use until::Until;
pub use walk::{FileGlob, InvalidGlob, Scope, Stop};

pub(crate) use resolve::Census;
