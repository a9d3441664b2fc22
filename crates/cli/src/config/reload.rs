//! What a changed configuration means for a running program: some keys apply at once, the others need a restart.

use super::Config;

/// Top-level keys that differ, for a log line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ChangedKeys {
    pub(crate) applied: Vec<&'static str>,
    pub(crate) needs_restart: Vec<&'static str>,
}

pub(crate) fn changed_keys(old: &Config, new: &Config) -> ChangedKeys {
    // A new field must be sorted into one of the two lists below: no `..` here.
    let Config {
        root,
        data_dir,
        database,
        tools,
        http,
        tokens,
        memory_dir,
        file_io_root,
        web_fetch,
        audited_packages,
        // The same as long as the process lives.
        search_path: _,
        context,
        llm,
        receipts,
        limits,
        approval,
        log,
        audit,
        contracts,
        servers,
        sources: _,
    } = old;
    let at_once = [
        ("auth", *tokens != new.tokens),
        ("limits", *limits != new.limits),
        ("approval", *approval != new.approval),
        ("servers", *servers != new.servers),
        ("web_fetch", *web_fetch != new.web_fetch),
    ];
    let at_restart = [
        ("root", *root != new.root),
        ("data_dir", *data_dir != new.data_dir),
        // Without a server it follows `data_dir`.
        ("database", *database != new.database && *data_dir == new.data_dir),
        ("tools", *tools != new.tools),
        ("http", *http != new.http),
        ("memory", *memory_dir != new.memory_dir),
        ("file_io", *file_io_root != new.file_io_root),
        ("system_audit", *audited_packages != new.audited_packages),
        ("context", *context != new.context),
        ("llm", *llm != new.llm),
        ("receipts", *receipts != new.receipts),
        ("contracts", *contracts != new.contracts),
        ("log", *log != new.log),
        ("audit", *audit != new.audit),
    ];
    let changed = |keys: &[(&'static str, bool)]| keys.iter().filter(|key| key.1).map(|key| key.0).collect();
    ChangedKeys { applied: changed(&at_once), needs_restart: changed(&at_restart) }
}
