//! `add_task`: one more task, with an id that no other task ever has.

use countersign_contract::{CallContext, Effect, Example, Normalisation, Sentence, Terms, Tool, ToolError};
use countersign_store::Tasks;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::tasks::{Envelope, TEXT, TaskView, failed, terms};

pub(super) struct AddTask {
    pub(super) tasks: Tasks,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// What is to be done
    #[schemars(length(min = 1, max = 255), regex(pattern = TEXT))]
    title: String,
    /// More about it; empty is the same as none
    #[schemars(length(max = 1000), regex(pattern = TEXT))]
    description: Option<String>,
}

impl Tool for AddTask {
    type Input = Input;
    type Output = Envelope<TaskView>;

    const NAME: &'static str = "add_task";
    const TITLE: &'static str = "Add task";
    const DESCRIPTION: &'static str = "Create a new task. Gives the created task with its id and timestamps.";
    const EFFECT: Effect = Effect::Writes;
    const COMMITS_WITH_AUDIT: bool = true;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "title: 1 to 255 characters after trimming",
                "description: at most 1000 characters after trimming; empty is the same as none",
                "The answer comes when the task is on disk",
            ],
            examples: vec![Example {
                title: "Create a task",
                input: json!({"title": "Test task", "description": "Test description"}),
                output: json!({
                    "success": true,
                    "data": {
                        "id": 1,
                        "title": "Test task",
                        "description": "Test description",
                        "status": "pending",
                        "created_at": "2026-01-15T10:30:00Z",
                        "completed_at": null,
                    },
                    "message": "Task created successfully",
                }),
                varies: vec!["/data/created_at"],
                ..Example::default()
            }],
            sentences: vec![Sentence { path: "/title", keyword: "minLength", sentence: "Title must not be empty" }],
            normalise: vec![("title", Normalisation::Trim), ("description", Normalisation::TrimToNull)],
            ..terms()
        }
    }

    async fn call(&self, ctx: &CallContext, input: Input) -> Result<Envelope<TaskView>, ToolError> {
        let added = self.tasks.add(input.title, input.description, ctx.intent()).await;
        let task = added.map_err(|error| failed(ctx, error))?;
        Ok(Envelope::new(task.into(), "Task created successfully"))
    }
}
