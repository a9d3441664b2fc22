//! Our own tools: one file each, one line each in [`all`].
//!
//! A tool knows its arguments and the call's context, never who reads the answer or over which wire it goes.

mod hello;
mod read_repo_file;
mod write_memory_entry;

use std::sync::Arc;

use countersign_contract::{AnyTool, InvalidContract, typed};
use countersign_repo::{AppendOnly, Root};

/// What tools work on.
#[derive(Debug, Clone)]
pub struct Materials {
    /// The repository.
    pub root: Arc<Root>,
    /// The folder of the memory files.
    pub memory: Arc<AppendOnly>,
}

/// The list, in the order in which catalogs show it.
pub fn all(materials: &Materials) -> Result<Vec<Arc<dyn AnyTool>>, InvalidContract> {
    let root = || Arc::clone(&materials.root);
    Ok(vec![
        typed(hello::Hello)?,
        typed(read_repo_file::ReadRepoFile { root: root() })?,
        typed(write_memory_entry::WriteMemoryEntry { memory: Arc::clone(&materials.memory) })?,
    ])
}
