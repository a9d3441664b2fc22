//! `delete_task`: gone for good; its id is never given again.

use countersign_contract::{CallContext, Effect, Example, Terms, Tool, ToolError};
use countersign_store::Tasks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::tasks::{ById, Envelope, failed, not_found, terms};

pub(super) struct DeleteTask {
    pub(super) tasks: Tasks,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Deleted {
    task_id: i64,
    #[schemars(extend("const" = true))]
    deleted: bool,
}

impl Tool for DeleteTask {
    type Input = ById;
    type Output = Envelope<Deleted>;

    const NAME: &'static str = "delete_task";
    const TITLE: &'static str = "Delete task";
    const DESCRIPTION: &'static str = "Remove a task for good. Gives a confirmation.";
    const EFFECT: Effect = Effect::Destroys;
    const COMMITS_WITH_AUDIT: bool = true;

    fn terms() -> Terms {
        Terms {
            constraints: vec!["A deleted task cannot be had back, and its id is never given again"],
            examples: vec![Example {
                title: "Delete a task",
                input: json!({"task_id": 1}),
                output: json!({
                    "success": true,
                    "data": {"task_id": 1, "deleted": true},
                    "message": "Task deleted successfully",
                }),
                calls: vec![("add_task", json!({"title": "Test task"}))],
                ..Example::default()
            }],
            ..terms()
        }
    }

    async fn call(&self, ctx: &CallContext, input: ById) -> Result<Envelope<Deleted>, ToolError> {
        let deleted = self.tasks.delete(input.task_id, ctx.intent()).await;
        deleted.map_err(|error| failed(ctx, error))?.ok_or_else(|| not_found(input.task_id))?;
        Ok(Envelope::new(Deleted { task_id: input.task_id, deleted: true }, "Task deleted successfully"))
    }
}
