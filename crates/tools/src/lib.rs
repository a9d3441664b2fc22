//! Our own tools: one file each, one line each in [`all`].
//!
//! A tool knows its arguments and the call's context, never who reads the answer or over which wire it goes.

mod adam_sys_audit;
mod add_task;
mod complete_task;
mod context_search;
mod delete_task;
mod egress;
mod fate;
mod file_io;
mod grep_codebase;
mod hello;
mod list_tasks;
mod read_file;
mod read_repo_file;
mod reading;
mod source_policy;
mod tasks;
mod update_task;
mod web_fetch;
mod write_memory_entry;

use std::sync::Arc;

use countersign_contract::{AnyTool, InvalidContract, typed};
use countersign_index::Index;
use countersign_repo::{AppendOnly, Root, Sandbox};
use countersign_store::{Accesses, Tasks};

pub use self::adam_sys_audit::SystemAudit;
pub use self::egress::{HostPattern, InvalidHost};
pub use self::source_policy::{EXCLUDED, SOURCE};
pub use self::web_fetch::{Web, WebSettings};

/// What tools work on.
#[derive(Debug, Clone)]
pub struct Materials {
    /// The repository.
    pub root: Arc<Root>,
    /// The folder of the memory files.
    pub memory: Arc<AppendOnly>,
    pub tasks: Tasks,
    pub web: Arc<Web>,
    /// The folder of `file-io`.
    pub sandbox: Arc<Sandbox>,
    pub system_audit: SystemAudit,
    /// Which files of the repository are read.
    pub accesses: Accesses,
    /// What is known of the repository.
    pub index: Arc<Index>,
}

/// The list, in the order in which catalogs show it.
pub fn all(materials: &Materials) -> Result<Vec<Arc<dyn AnyTool>>, InvalidContract> {
    let root = || Arc::clone(&materials.root);
    let tasks = || materials.tasks.clone();
    Ok(vec![
        typed(hello::Hello)?,
        typed(read_repo_file::ReadRepoFile { root: root() })?,
        typed(write_memory_entry::WriteMemoryEntry { memory: Arc::clone(&materials.memory) })?,
        typed(context_search::ContextSearch { index: Arc::clone(&materials.index) })?,
        typed(read_file::ReadFile::new(root(), materials.accesses.clone()))?,
        typed(grep_codebase::GrepCodebase::new(root()))?,
        typed(add_task::AddTask { tasks: tasks() })?,
        typed(list_tasks::ListTasks { tasks: tasks() })?,
        typed(update_task::UpdateTask { tasks: tasks() })?,
        typed(complete_task::CompleteTask { tasks: tasks() })?,
        typed(delete_task::DeleteTask { tasks: tasks() })?,
        typed(web_fetch::WebFetch { web: Arc::clone(&materials.web) })?,
        typed(file_io::FileIo { sandbox: Arc::clone(&materials.sandbox) })?,
        typed(adam_sys_audit::AdamSysAudit::new(materials.system_audit.clone()))?,
    ])
}
