//! What the five task tools share: how a task reads, their envelope, and how they fail.

use countersign_contract::{CallContext, Code, ErrorForm, Rejection, Terms, ToolError};
use countersign_store::{Task, TaskStatus, TasksError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A NUL is not text to every database.
pub(super) const TEXT: &str = r"^[^\x00]*$";

/// One task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct TaskView {
    /// Never given again, even after the task is deleted
    id: i64,
    title: String,
    description: Option<String>,
    status: StatusView,
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: String,
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    completed_at: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum StatusView {
    Pending,
    Completed,
}

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ById {
    /// The task's id
    #[schemars(range(min = 1, max = i64::MAX))]
    pub(super) task_id: i64,
}

/// The success envelope of the task tools.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Envelope<T> {
    #[schemars(extend("const" = true))]
    success: bool,
    data: T,
    /// What was done, for a person
    message: String,
}

impl<T> Envelope<T> {
    pub(super) fn new(data: T, message: &str) -> Self {
        Self { success: true, data, message: message.to_owned() }
    }
}

impl From<Task> for TaskView {
    fn from(task: Task) -> Self {
        let Task { id, title, description, status, created_at, completed_at } = task;
        let status = match status {
            TaskStatus::Pending => StatusView::Pending,
            TaskStatus::Completed => StatusView::Completed,
        };
        let completed_at = completed_at.map(|at| at.to_string());
        Self { id, title, description, status, created_at: created_at.to_string(), completed_at }
    }
}

impl From<StatusView> for TaskStatus {
    fn from(status: StatusView) -> Self {
        match status {
            StatusView::Pending => Self::Pending,
            StatusView::Completed => Self::Completed,
        }
    }
}

pub(super) fn terms() -> Terms {
    Terms { error_form: ErrorForm::Envelope, ..Terms::default() }
}

pub(super) fn not_found(task_id: i64) -> Rejection {
    Rejection::new(Code::NotFound, "Task not found").with_details(json!({"task_id": task_id}))
}

/// What the database said is in the log; a caller could learn from it what lies where.
pub(super) fn failed(ctx: &CallContext, error: TasksError) -> ToolError {
    let error = match error {
        TasksError::Failed => "The database is not available; nothing was changed",
        TasksError::Unknown => "The database failed; whether the change was made shows when it is back",
    };
    Rejection::new(Code::DatabaseError, error).with_details(json!({"request_id": ctx.request_id})).into()
}
