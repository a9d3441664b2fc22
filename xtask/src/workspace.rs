//! The checkout we work on: where it is, what cargo says about it, and its own binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use cargo_metadata::{Metadata, MetadataCommand};

use crate::process;

#[derive(Debug)]
pub(crate) struct Workspace {
    metadata: Metadata,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Profile {
    Debug,
    Release,
}

impl Workspace {
    pub(crate) fn find() -> anyhow::Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let metadata =
            MetadataCommand::new().manifest_path(manifest).no_deps().exec().context("cargo metadata failed")?;
        Ok(Self { metadata })
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(crate) fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    pub(crate) fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// Where cargo keeps what it compiles: the same folder, unless somebody wants it elsewhere.
    pub(crate) fn build_folder(&self) -> &Path {
        self.metadata.build_directory.as_ref().map_or(self.target(), |folder| folder.as_std_path())
    }

    /// Where tools that we set up for ourselves live; safe to delete at any time.
    pub(crate) fn peers(&self) -> PathBuf {
        self.target().join("xtask")
    }

    /// A cargo command in the workspace root.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.args(arguments).current_dir(self.root());
        command
    }

    /// Builds a binary of ours, quietly, and says where it is. For measuring as it is shipped, for tests with the features
    /// of the whole workspace: what the tests compiled is not compiled again.
    pub(crate) fn build(&self, package: &str, binary: &str, profile: Profile) -> anyhow::Result<PathBuf> {
        let (folder, chosen) = match profile {
            Profile::Debug => ("debug", &["--workspace"][..]),
            Profile::Release => ("release", &["--package", package, "--release"][..]),
        };
        process::succeed(self.cargo(&["build", "--quiet", "--bin", binary]).args(chosen))?;
        Ok(self.target().join(folder).join(binary))
    }

    /// Builds a program that only tests use, quietly, and says where it is.
    pub(crate) fn build_example(&self, example: &str) -> anyhow::Result<PathBuf> {
        process::succeed(&mut self.cargo(&["build", "--quiet", "--workspace", "--example", example]))?;
        Ok(self.target().join("debug/examples").join(example))
    }
}

/// The files of a checkout, from its root, with `/`: tracked ones and new ones that git does not ignore.
pub(crate) fn listed(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let list = process::output(&mut git)?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}
