//! `update_task`: another title, another description, or both.

use countersign_contract::{CallContext, Effect, Example, Normalisation, Sentence, Terms, Tool, ToolError};
use countersign_store::{NewDescription, TaskChange, Tasks};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::tasks::{Envelope, TEXT, TaskView, failed, not_found, terms};

pub(super) struct UpdateTask {
    pub(super) tasks: Tasks,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// The id and something to change.
#[schemars(extend("minProperties" = 2))]
pub(super) struct Input {
    /// The task's id
    #[schemars(range(min = 1, max = i64::MAX))]
    task_id: i64,
    /// The new title; the old one stays when this is absent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 255), regex(pattern = TEXT))]
    title: Option<String>,
    /// The new description; empty or null removes it, and the old one stays when this is absent
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<String>", length(max = 1000), regex(pattern = TEXT))]
    description: NewDescription,
}

/// Null is something else than nothing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NewDescription, D::Error> {
    Ok(Option::deserialize(deserializer)?.map_or(NewDescription::Remove, NewDescription::Set))
}

impl Tool for UpdateTask {
    type Input = Input;
    type Output = Envelope<TaskView>;

    const NAME: &'static str = "update_task";
    const TITLE: &'static str = "Update task";
    const DESCRIPTION: &'static str = "Modify a task's title, description or both. Gives the updated task.";
    const EFFECT: Effect = Effect::Destroys;
    const COMMITS_WITH_AUDIT: bool = true;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "At least one of title and description must be given",
                "title: 1 to 255 characters after trimming",
                "description: at most 1000 characters after trimming; empty or null removes it",
            ],
            examples: vec![Example {
                title: "Give a task another title",
                input: json!({"task_id": 1, "title": "Better title"}),
                output: json!({
                    "success": true,
                    "data": {
                        "id": 1,
                        "title": "Better title",
                        "description": "Stays",
                        "status": "pending",
                        "created_at": "2026-01-15T10:30:00Z",
                        "completed_at": null,
                    },
                    "message": "Task updated successfully",
                }),
                varies: vec!["/data/created_at"],
                calls: vec![("add_task", json!({"title": "Title", "description": "Stays"}))],
                ..Example::default()
            }],
            sentences: vec![
                Sentence { path: "/title", keyword: "minLength", sentence: "Title must not be empty" },
                Sentence {
                    path: "",
                    keyword: "minProperties",
                    sentence: "At least one of title and description must be given",
                },
            ],
            normalise: vec![("title", Normalisation::Trim), ("description", Normalisation::TrimToNull)],
            ..terms()
        }
    }

    async fn call(&self, ctx: &CallContext, input: Input) -> Result<Envelope<TaskView>, ToolError> {
        let Input { task_id, title, description } = input;
        let updated = self.tasks.update(task_id, TaskChange { title, description }, ctx.intent()).await;
        let task = updated.map_err(|error| failed(ctx, error))?.ok_or_else(|| not_found(task_id))?;
        Ok(Envelope::new(task.into(), "Task updated successfully"))
    }
}
