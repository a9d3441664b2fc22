//! Receipts of questions: on disk before the answer goes out, and gone when their time is over.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::StoreError;
use crate::db::{Done, Reader, Undo, WriterHandle, receipts};

#[derive(Debug, Clone)]
pub struct Receipts {
    reader: Arc<Reader>,
    writer: WriterHandle,
    keep_for: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReceipt {
    pub id: String,
    pub at: Timestamp,
    pub body: String,
    pub material_digest: String,
    pub material: String,
}

impl Receipts {
    pub(crate) fn new(reader: Arc<Reader>, writer: WriterHandle, keep_for: Duration) -> Self {
        Self { reader, writer, keep_for }
    }

    /// With it goes what is older than receipts are kept.
    pub async fn keep(&self, receipt: StoredReceipt) -> Result<(), StoreError> {
        let oldest = receipt.at.checked_sub(self.keep_for).unwrap_or(Timestamp::MIN);
        let kept = self.writer.commit(Undo::BySavepoint, move |connection| {
            Box::pin(async move {
                receipts::add(connection, &receipt).await?;
                receipts::sweep(connection, oldest).await?;
                Ok(Done::changed((), None))
            })
        });
        kept.await.map_err(|error| {
            tracing::error!(error = &error as &(dyn std::error::Error + 'static), "a receipt was not kept");
            StoreError::Unwritable
        })
    }

    pub async fn find(&self, id: &str) -> Result<Option<StoredReceipt>, StoreError> {
        self.reader.receipt(id).await
    }

    /// Ids and times, the newest first.
    pub async fn newest(&self, limit: i64) -> Result<Vec<(String, Timestamp)>, StoreError> {
        self.reader.newest_receipts(limit).await
    }
}

#[cfg(test)]
mod tests;
