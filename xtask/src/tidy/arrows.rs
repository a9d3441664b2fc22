//! Which crate may use which: DESIGN §1 as a table, compared with what the manifests declare.

use cargo_metadata::{DependencyKind, Metadata};

use super::Finding;
use super::tree::Tree;

/// Our crates and which of our crates each may use. A crate that is not here does not belong into `crates/` yet.
const ARROWS: [(&str, &[&str]); 11] = [
    (CONTRACT, &[]),
    ("countersign-store", &[CONTRACT]),
    ("countersign-repo", &[CONTRACT]),
    ("countersign-index", &[CONTRACT, "countersign-repo", "countersign-store"]),
    ("countersign-tools", &[CONTRACT, "countersign-index", "countersign-repo", "countersign-store"]),
    ("countersign-upstream", &[CONTRACT]),
    ("countersign-host", &[CONTRACT]),
    ("countersign-ask", &[CONTRACT, "countersign-host", "countersign-index"]),
    ("countersign-transports", &[CONTRACT, "countersign-host", "countersign-ask"]),
    ("countersign", ANY),
    ("xtask", ANY),
];
const CONTRACT: &str = "countersign-contract";
const ANY: &[&str] = &["*"];

/// Other people's crates that only some of ours may use.
const EXTERNALS: [(&str, &[&str]); 8] = [
    ("anyhow", &["countersign", "xtask"]),
    ("axum", &["xtask"]),
    ("hyper", &["countersign-tools", "countersign-transports", "countersign-upstream", "xtask"]),
    ("hyper-util", &["countersign-tools", "countersign-transports", "countersign-upstream", "xtask"]),
    ("reqwest", &["countersign-index"]),
    ("rmcp", &["countersign-host", "countersign-transports"]),
    ("rusqlite", &["countersign-store"]),
    ("sqlx", &["countersign-store"]),
];

/// One of our packages and what it uses directly.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    /// Path of the manifest from the root.
    pub(super) manifest: String,
    pub(super) uses: Vec<Use>,
}

#[derive(Debug)]
pub(super) struct Use {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Line in the manifest, from 1.
    pub(super) line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In what we ship, or in its build.
    Shipped,
    TestOnly,
}

pub(super) fn packages(metadata: &Metadata, tree: &Tree) -> Vec<Package> {
    metadata
        .packages
        .iter()
        .map(|package| {
            let manifest = package.manifest_path.strip_prefix(&metadata.workspace_root);
            let manifest = manifest.unwrap_or(&package.manifest_path).to_string();
            let text = tree.file(&manifest).map_or("", |file| file.text.as_str());
            let uses = package
                .dependencies
                .iter()
                .map(|dependency| Use {
                    line: line_of(text, dependency.rename.as_deref().unwrap_or(&dependency.name)),
                    name: dependency.name.clone(),
                    kind: if dependency.kind == DependencyKind::Development { Kind::TestOnly } else { Kind::Shipped },
                })
                .collect();
            Package { name: package.name.to_string(), manifest, uses }
        })
        .collect()
}

/// Our own crates use each other only along the table.
pub(super) fn crates(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package.name) else {
            let message = format!("crate `{}` is not in the table of xtask/src/tidy/arrows.rs", package.name);
            findings.push(Finding { path: package.manifest.clone(), line: 1, message });
            continue;
        };
        let ours = |name: &str| ARROWS.iter().any(|(known, _)| *known == name);
        for used in package.uses.iter().filter(|used| judged(package, used) && ours(&used.name)) {
            if *allowed != ANY && !allowed.contains(&used.name.as_str()) {
                findings.push(refused(package, used, "the arrow points the wrong way"));
            }
        }
    }
    findings
}

/// Heavy or tempting crates of others stay where they belong.
pub(super) fn externals(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        for used in package.uses.iter().filter(|used| judged(package, used)) {
            if let Some((_, homes)) = EXTERNALS.iter().find(|(name, _)| *name == used.name)
                && !homes.contains(&package.name.as_str())
            {
                findings.push(refused(package, used, &format!("only {} may", homes.join(" and "))));
            }
        }
    }
    findings
}

/// Tests may use what they like, except those of `contract`: everything leans on it, so it must build alone.
fn judged(package: &Package, used: &Use) -> bool {
    used.kind == Kind::Shipped || package.name == CONTRACT
}

fn refused(package: &Package, used: &Use, why: &str) -> Finding {
    let message = format!("`{}` must not use `{}`: {why}", package.name, used.name);
    Finding { path: package.manifest.clone(), line: used.line, message }
}

fn line_of(manifest: &str, name: &str) -> usize {
    let declares = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    manifest.lines().position(declares).map_or(1, |at| at + 1)
}
