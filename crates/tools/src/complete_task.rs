//! `complete_task`: done, and when. Done twice is the same as done once.

use countersign_contract::{CallContext, Effect, Example, Terms, Tool, ToolError};
use countersign_store::Tasks;
use serde_json::json;

use crate::tasks::{ById, Envelope, TaskView, failed, not_found, terms};

pub(super) struct CompleteTask {
    pub(super) tasks: Tasks,
}

impl Tool for CompleteTask {
    type Input = ById;
    type Output = Envelope<TaskView>;

    const NAME: &'static str = "complete_task";
    const TITLE: &'static str = "Complete task";
    const DESCRIPTION: &'static str = "Mark a task as completed. Gives the task with its completion timestamp.";
    const EFFECT: Effect = Effect::Writes;
    const COMMITS_WITH_AUDIT: bool = true;

    fn terms() -> Terms {
        Terms {
            constraints: vec!["Completing a completed task changes nothing: completed_at is set once"],
            examples: vec![Example {
                title: "Complete a task",
                input: json!({"task_id": 1}),
                output: json!({
                    "success": true,
                    "data": {
                        "id": 1,
                        "title": "Test task",
                        "description": null,
                        "status": "completed",
                        "created_at": "2026-01-15T10:30:00Z",
                        "completed_at": "2026-01-15T11:00:00Z",
                    },
                    "message": "Task completed successfully",
                }),
                varies: vec!["/data/created_at", "/data/completed_at"],
                calls: vec![("add_task", json!({"title": "Test task"}))],
                ..Example::default()
            }],
            ..terms()
        }
    }

    async fn call(&self, ctx: &CallContext, input: ById) -> Result<Envelope<TaskView>, ToolError> {
        let completed = self.tasks.complete(input.task_id, ctx.intent()).await;
        let task = completed.map_err(|error| failed(ctx, error))?.ok_or_else(|| not_found(input.task_id))?;
        Ok(Envelope::new(task.into(), "Task completed successfully"))
    }
}
