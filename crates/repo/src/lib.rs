//! The project tree as tools may see it: one root, one guard before every file, rules as data.
//!
//! What a request names is checked, and what it turned out to be is checked again on the open handle: a link that is
//! swapped in between changes nothing.

mod append;
mod policy;
mod root;

pub use append::{AppendError, AppendOnly};
pub use policy::{Name, ParentRule, PathPolicy};
pub use root::{FileRefused, Found, Root};
