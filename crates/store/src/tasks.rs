//! Tasks, as tools see them: every change is on disk with its audit record, or did not happen.

use std::sync::Arc;

use countersign_contract::AuditEntry;
use jiff::Timestamp;

use crate::StoreError;
use crate::db::{CommitError, Done, Reader, Undo, WriterHandle, tasks};

/// The tasks of every process on one database.
#[derive(Debug, Clone)]
pub struct Tasks(Option<Place>);

#[derive(Debug, Clone)]
struct Place {
    reader: Arc<Reader>,
    writer: WriterHandle,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: i64,
    pub title: String,
    pub description: Option<String>,
    pub status: TaskStatus,
    pub created_at: Timestamp,
    /// When it was completed for the first time.
    pub completed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    Pending,
    Completed,
}

/// What to change; what is absent stays.
#[derive(Debug, Clone, Default)]
pub struct TaskChange {
    pub title: Option<String>,
    pub description: NewDescription,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NewDescription {
    #[default]
    Keep,
    Remove,
    Set(String),
}

/// Which tasks to list, in the order of their creation.
#[derive(Debug, Clone, Copy)]
pub struct TaskQuery {
    pub status: Option<TaskStatus>,
    /// Only those that were created after this one.
    pub after: i64,
    pub limit: i64,
}

/// The log has the cause; a caller learns no more than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TasksError {
    #[error("the database failed; nothing was changed")]
    Failed,
    #[error("the database did not say whether the change was made")]
    Unknown,
}

impl Tasks {
    pub(crate) fn new(reader: Arc<Reader>, writer: WriterHandle) -> Self {
        Self(Some(Place { reader, writer }))
    }

    /// Where there is no database: contracts can be had without one, and nothing else.
    pub fn nowhere() -> Self {
        Self(None)
    }

    fn place(&self) -> Result<&Place, TasksError> {
        self.0.as_ref().ok_or(TasksError::Failed)
    }

    /// With `audit` in the same commit; so do all that change something.
    pub async fn add(
        &self,
        title: String,
        description: Option<String>,
        audit: Option<AuditEntry>,
    ) -> Result<Task, TasksError> {
        let added = self.place()?.writer.commit(Undo::ByItself, move |connection| {
            Box::pin(async move {
                let value = tasks::add(connection, title, description).await?;
                Ok(Done::changed(value, audit))
            })
        });
        added.await.map_err(|error| failed(&error))
    }

    /// `None` where there is no such task; so do the others.
    pub async fn update(
        &self,
        id: i64,
        change: TaskChange,
        audit: Option<AuditEntry>,
    ) -> Result<Option<Task>, TasksError> {
        let updated = self.place()?.writer.commit(Undo::ByItself, move |connection| {
            Box::pin(async move {
                let value = tasks::update(connection, id, &change).await?;
                Ok(Done::if_found(value, audit))
            })
        });
        updated.await.map_err(|error| failed(&error))
    }

    /// Completing twice is the same as once.
    pub async fn complete(&self, id: i64, audit: Option<AuditEntry>) -> Result<Option<Task>, TasksError> {
        let completed = self.place()?.writer.commit(Undo::ByItself, move |connection| {
            Box::pin(async move {
                let value = tasks::complete(connection, id).await?;
                Ok(Done::if_found(value, audit))
            })
        });
        completed.await.map_err(|error| failed(&error))
    }

    pub async fn delete(&self, id: i64, audit: Option<AuditEntry>) -> Result<Option<()>, TasksError> {
        let deleted = self.place()?.writer.commit(Undo::ByItself, move |connection| {
            Box::pin(async move {
                let value = tasks::delete(connection, id).await?;
                Ok(Done::if_found(value, audit))
            })
        });
        deleted.await.map_err(|error| failed(&error))
    }

    pub async fn list(&self, query: TaskQuery) -> Result<Vec<Task>, TasksError> {
        self.place()?.reader.tasks(query).await.map_err(|error: StoreError| {
            tracing::error!(error = &error as &(dyn std::error::Error + 'static), "tasks cannot be read");
            TasksError::Failed
        })
    }
}

impl TaskStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
        }
    }
}

fn failed(error: &CommitError) -> TasksError {
    tracing::error!(error = error as &(dyn std::error::Error + 'static), "tasks cannot be written");
    match error {
        CommitError::Statement(_) | CommitError::Unavailable => TasksError::Failed,
        CommitError::Unknown => TasksError::Unknown,
    }
}

#[cfg(test)]
mod tests;
