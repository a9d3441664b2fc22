//! `list_tasks`: in the order of creation, page by page.

use countersign_contract::{CallContext, Effect, Example, Terms, Tool, ToolError};
use countersign_store::{TaskQuery, Tasks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::tasks::{StatusView, TaskView, failed, terms};

const MAX_LIMIT: i64 = 1000;

pub(super) struct ListTasks {
    pub(super) tasks: Tasks,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Only tasks of this status
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StatusView")]
    status: Option<StatusView>,
    /// How many tasks at most
    #[serde(default = "max_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: i64,
    /// Only tasks that were created after the one with this id: the `next` of the page before
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 1, max = i64::MAX))]
    after: Option<i64>,
}

fn max_limit() -> i64 {
    MAX_LIMIT
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    #[schemars(extend("const" = true))]
    success: bool,
    data: Vec<TaskView>,
    /// What was found, for a person
    message: String,
    /// Where there are more tasks: continue with `after` set to this
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    next: Option<i64>,
}

impl Tool for ListTasks {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "list_tasks";
    const TITLE: &'static str = "List tasks";
    const DESCRIPTION: &'static str =
        "Query tasks in ascending order of creation, optionally of one status, at most `limit` at a time.";
    const EFFECT: Effect = Effect::ReadsLocal;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "At most 1000 tasks at a time; where there are more, `next` is the id to continue after",
                "Read-only: cannot modify tasks",
            ],
            examples: vec![Example {
                title: "List what is to be done",
                input: json!({"status": "pending"}),
                output: json!({
                    "success": true,
                    "data": [{
                        "id": 1,
                        "title": "Test task",
                        "description": null,
                        "status": "pending",
                        "created_at": "2026-01-15T10:30:00Z",
                        "completed_at": null,
                    }],
                    "message": "1 task found",
                }),
                varies: vec!["/data/0/created_at"],
                calls: vec![("add_task", json!({"title": "Test task"}))],
                ..Example::default()
            }],
            ..terms()
        }
    }

    async fn call(&self, ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        let Input { status, limit, after } = input;
        // One more than asked for shows whether there are more.
        let query = TaskQuery { status: status.map(Into::into), after: after.unwrap_or(0), limit: limit + 1 };
        let mut tasks = self.tasks.list(query).await.map_err(|error| failed(ctx, error))?;
        let more = tasks.len() as u64 > limit.unsigned_abs();
        tasks.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let next = tasks.last().filter(|_| more).map(|task| task.id);
        let count = if tasks.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", tasks.len()) };
        let message = match next {
            Some(next) => format!("{count} found, and there are more: continue with after {next}"),
            None => format!("{count} found"),
        };
        Ok(Output { success: true, data: tasks.into_iter().map(Into::into).collect(), message, next })
    }
}
