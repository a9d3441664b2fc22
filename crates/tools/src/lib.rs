//! Our own tools: one file each, one line each in [`all`].
//!
//! A tool knows its arguments and the call's context, never who reads the answer or over which wire it goes.

mod add_task;
mod complete_task;
mod delete_task;
mod hello;
mod list_tasks;
mod read_repo_file;
mod tasks;
mod update_task;
mod write_memory_entry;

use std::sync::Arc;

use countersign_contract::{AnyTool, InvalidContract, typed};
use countersign_repo::{AppendOnly, Root};
use countersign_store::Tasks;

/// What tools work on.
#[derive(Debug, Clone)]
pub struct Materials {
    /// The repository.
    pub root: Arc<Root>,
    /// The folder of the memory files.
    pub memory: Arc<AppendOnly>,
    pub tasks: Tasks,
}

/// The list, in the order in which catalogs show it.
pub fn all(materials: &Materials) -> Result<Vec<Arc<dyn AnyTool>>, InvalidContract> {
    let root = || Arc::clone(&materials.root);
    let tasks = || materials.tasks.clone();
    Ok(vec![
        typed(hello::Hello)?,
        typed(read_repo_file::ReadRepoFile { root: root() })?,
        typed(write_memory_entry::WriteMemoryEntry { memory: Arc::clone(&materials.memory) })?,
        typed(add_task::AddTask { tasks: tasks() })?,
        typed(list_tasks::ListTasks { tasks: tasks() })?,
        typed(update_task::UpdateTask { tasks: tasks() })?,
        typed(complete_task::CompleteTask { tasks: tasks() })?,
        typed(delete_task::DeleteTask { tasks: tasks() })?,
    ])
}
