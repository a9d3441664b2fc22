//! The context index of a configuration: which files, which memory, which embedder.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use countersign_index::{Embedder, Index, Local, Memory, Parts, Remote, Sources};
use countersign_repo::Root;
use countersign_store::{Accesses, ContextRows, Store, create_data_folder};
use countersign_tools::{EXCLUDED, SOURCE};
use countersign_transports::ExitCode;

use super::{Kept, log_error, materials, store_error};
use crate::config::{Config, Embedder as Configured};
use crate::failure::CommandError;
use crate::logging::{self, LogFile, Stderr};

/// One process at a time writes the index of a data folder.
const LOCK: &str = "index.lock";

pub(super) fn index(
    config: &Config,
    root: &Arc<Root>,
    ours: &[PathBuf],
    rows: ContextRows,
    accesses: Accesses,
) -> Result<Arc<Index>, CommandError> {
    let left_out = Sources::leaving_out(root, &config.context.exclude).map_err(|error| {
        CommandError::message(ExitCode::Usage, format!("`context.exclude` has a pattern that is none: {error}"))
    })?;
    let sources = Sources {
        root: Arc::clone(root),
        folder: root.path().to_owned(),
        policy: &SOURCE,
        excluded: EXCLUDED,
        left_out,
        memory: memory(config, root, ours),
    };
    let lock = config.data_dir.join(LOCK);
    let (embedder, in_background) = embedders(config)?;
    Ok(Index::new(Parts { rows, sources, embedder, in_background, accesses, lock }))
}

/// The folder may not be there yet.
fn memory(config: &Config, root: &Root, ours: &[PathBuf]) -> Memory {
    let folder = match config.memory_dir.strip_prefix(&config.root) {
        Ok(inside) => root.path().join(inside),
        Err(_) => config.memory_dir.canonicalize().unwrap_or_else(|_| config.memory_dir.clone()),
    };
    let inside = folder.strip_prefix(root.path()).map(|inside| inside.to_string_lossy().into_owned());
    let shown = inside.unwrap_or_else(|_| folder.file_name().unwrap_or_default().to_string_lossy().into_owned());
    Memory { folder, ours: ours.to_vec(), shown }
}

type Shared = Arc<dyn Embedder>;

/// For whoever waits, and for what can take its time.
fn embedders(config: &Config) -> Result<(Shared, Shared), CommandError> {
    Ok(match &config.context.embedder {
        Configured::Embedded => (Arc::new(Local::on_all_cores()), Arc::new(Local::in_background())),
        Configured::Endpoint(endpoint) => {
            let service = super::service(endpoint).context("`context.embedder.url` is no URL")?;
            let remote = Arc::new(Remote::new(service).context("cannot set up the embedding service")?);
            (Arc::clone(&remote) as _, remote)
        }
    })
}

/// Whether the configured embedding service embeds; `None` where nothing but the embedded model is used.
pub(crate) async fn try_embedder(config: &Config) -> Option<Result<(), String>> {
    let Configured::Endpoint(_) = &config.context.embedder else { return None };
    let (embedder, _) = match embedders(config) {
        Ok(embedders) => embedders,
        Err(error) => return Some(Err(error.line())),
    };
    let embedded = embedder.embed(&["word".to_owned()]).await;
    Some(embedded.map(drop).map_err(|error| error.to_string()))
}

/// The index alone, for the command that builds it.
pub(crate) struct IndexPlace {
    pub(crate) index: Arc<Index>,
    store: Store,
    log: Option<Arc<LogFile>>,
}

impl IndexPlace {
    pub(crate) async fn open(config: &Config, stderr: Stderr) -> Result<Self, CommandError> {
        create_data_folder(&config.data_dir).map_err(store_error)?;
        let store = Store::open(&config.database).await.map_err(store_error)?;
        let materials = materials(config, Kept::in_store(&store, config))?;
        let log = logging::start(&config.log.file, logging::filter(config.log.level), stderr).map_err(log_error)?;
        Ok(Self { index: materials.index, store, log })
    }

    pub(crate) async fn close(self) {
        if let Err(error) = self.store.close().await {
            tracing::error!(%error, "the database cannot be closed");
        }
        if let Some(log) = self.log {
            log.close();
        }
    }
}
