//! Questions: the planner over the gate's catalog, the language model that may be configured, and the book of receipts.

use std::sync::Arc;

use anyhow::Context as _;
use countersign_ask::{Ask, Keeping, Means, Model, NotKept, Page, ReceiptBook};
use countersign_contract::BoxFuture;
use countersign_host::Gate;
use countersign_index::{Kept, Local};
use countersign_store::{Receipts, Store, StoredReceipt};
use countersign_transports::ExitCode;

use crate::config::{Config, ReceiptContent};
use crate::failure::CommandError;

pub(super) fn ask(config: &Config, gate: &Arc<Gate>, store: &Store) -> Result<Ask, CommandError> {
    let model = match &config.llm {
        None => None,
        Some(endpoint) => {
            let service = super::service(endpoint).context("`llm.url` is no URL")?;
            Some(Model::new(service).map_err(|error| CommandError::message(ExitCode::Usage, error))?)
        }
    };
    let local = Local::on_all_cores();
    Ok(Ask::new(Means {
        gate: Arc::clone(gate),
        known: Kept::new(Arc::new(local.clone()), store.context("tools".into())),
        local,
        model,
        receipts: Arc::new(Book(store.receipts(config.receipts.keep))),
        keeping: match config.receipts.content {
            ReceiptContent::Full => Keeping::Content,
            ReceiptContent::Digests => Keeping::Digests,
        },
    }))
}

#[derive(Debug)]
struct Book(Receipts);

impl ReceiptBook for Book {
    fn keep(&self, page: Page) -> BoxFuture<'_, Result<(), NotKept>> {
        let Page { id, at, receipt, material_digest, material } = page;
        let (id, material_digest) = (id.to_string(), material_digest.to_string());
        let stored = StoredReceipt { id, at, body: receipt, material_digest, material };
        Box::pin(async { self.0.keep(stored).await.map_err(|_| NotKept) })
    }
}
