//! `cargo xtask tidy`: the rules of our style that neither the compiler nor clippy can see.
//!
//! Each rule is a function from what it looks at to findings; all findings are reported together. Nothing is changed.

mod arrows;
mod lexer;
mod machines;
mod modules;
mod schemas;
mod sources;
mod tree;

#[cfg(test)]
mod tests;

use std::fmt;

use self::tree::Tree;
use crate::workspace::Workspace;
use crate::{Verdict, talk};

/// One place that breaks one rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// From 1.
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<Verdict> {
    let findings = all(workspace)?;
    for finding in &findings {
        talk::say(finding);
    }
    Ok(if findings.is_empty() { Verdict::Good } else { Verdict::Bad })
}

fn all(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let tree = Tree::load(workspace.root())?;
    let packages = arrows::packages(workspace.metadata(), &tree);
    let mut findings = [
        arrows::crates(&packages),
        arrows::externals(&packages),
        sources::lengths(&tree),
        sources::openings(&tree),
        sources::marks(&tree),
        modules::mod_files(&tree),
        modules::forgotten(&tree),
        machines::paths(&tree),
        machines::registries(&tree),
        schemas::inputs(&tree),
    ]
    .concat();
    findings.sort();
    Ok(findings)
}
