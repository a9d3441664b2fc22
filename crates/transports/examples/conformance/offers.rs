//! The suite's resources, prompts and completions.

use countersign_contract::{
    BoxFuture, CallContext, Caller, Code, Content, Offers, Prompt, PromptArgument, PromptMessage, PromptText, Provider,
    Question, Questions, Rejection, Resource, ResourceBody, ResourceContents, ResourceTemplate, Subject, ToolError,
    Watching,
};
use serde_json::{Map, Value, json};

/// A red pixel.
pub(crate) const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

pub(crate) struct Fixture;

impl Provider for Fixture {
    fn offers(&self) -> Offers {
        Offers { resources: true, resource_updates: true, prompts: true, completions: true, messages: true }
    }

    fn resources(&self, _caller: &Caller) -> Vec<Resource> {
        let resource = |uri: &str, title: &str, mime_type: &str| Resource {
            uri: uri.to_owned(),
            name: title.to_owned(),
            title: title.to_owned(),
            description: format!("{title} for tests"),
            mime_type: mime_type.to_owned(),
            ..Resource::default()
        };
        vec![
            resource("test://static-text", "A static text", "text/plain"),
            resource("test://static-binary", "A static picture", "image/png"),
            resource("test://watched-resource", "A text that may change", "text/plain"),
        ]
    }

    fn templates(&self, _caller: &Caller) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://template/{id}/data".to_owned(),
            name: "Data by number".to_owned(),
            description: "A text made from the number in its address".to_owned(),
            mime_type: "application/json".to_owned(),
            ..ResourceTemplate::default()
        }]
    }

    fn read<'a>(
        &'a self,
        _ctx: &'a CallContext,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async move { Ok(vec![read(uri)?]) })
    }

    fn watch<'a>(&'a self, _caller: &'a Caller, uri: &'a str) -> BoxFuture<'a, Result<Watching, ToolError>> {
        Box::pin(async move { read(uri).map(|_| Watching::default()).map_err(ToolError::from) })
    }

    fn prompts(&self, _caller: &Caller) -> Vec<Prompt> {
        let argument = |name: &str| PromptArgument {
            name: name.to_owned(),
            description: format!("Goes into the prompt as {name}"),
            required: true,
            ..PromptArgument::default()
        };
        let prompt = |name: &str, arguments| Prompt {
            name: name.to_owned(),
            description: format!("{name}, for tests"),
            arguments,
            ..Prompt::default()
        };
        vec![
            prompt("test_simple_prompt", Vec::new()),
            prompt("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
            prompt("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
            prompt("test_prompt_with_image", Vec::new()),
            prompt("test_input_required_result_prompt", Vec::new()),
        ]
    }

    fn prompt<'a>(
        &'a self,
        ctx: &'a CallContext,
        name: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<PromptText, ToolError>> {
        Box::pin(async move {
            let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let messages = match name {
                "test_simple_prompt" => vec![Content::text("This is a simple prompt for testing.")],
                "test_prompt_with_arguments" => {
                    let (first, second) = (argument("arg1"), argument("arg2"));
                    vec![Content::text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
                }
                "test_prompt_with_embedded_resource" => {
                    let uri = Some(argument("resourceUri")).filter(|uri| !uri.is_empty());
                    let uri = uri.unwrap_or_else(|| "test://example-resource".to_owned());
                    let resource = ResourceContents::text(uri, "text/plain", "Embedded resource content for testing.");
                    vec![Content::Resource { resource }, Content::text("Please process the embedded resource above.")]
                }
                "test_prompt_with_image" => vec![
                    Content::Image { data: IMAGE.to_owned(), mime_type: "image/png".to_owned() },
                    Content::text("Please analyze the image above."),
                ],
                "test_input_required_result_prompt" => {
                    let answers = ctx.client.ask(form("user_context", "What context should be used?", "context"), None);
                    let context = answers.await?["user_context"]["content"]["context"].clone();
                    vec![Content::text(format!("Use this context: {}", context.as_str().unwrap_or("none")))]
                }
                _ => return Err(Rejection::new(Code::NotFound, format!("Unknown prompt: {name}")).into()),
            };
            let messages = messages.into_iter().map(PromptMessage::user).collect();
            Ok(PromptText { description: format!("{name}, filled in"), messages })
        })
    }

    fn complete<'a>(
        &'a self,
        _caller: &'a Caller,
        subject: &'a Subject,
        argument: &'a str,
        begun: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        let known = match subject {
            Subject::Prompt(_) => ["paris", "park", "party"],
            Subject::Template(_) => ["1", "12", "123"],
        };
        let fits = |value: &&str| argument != "none" && value.starts_with(begun);
        let values = known.into_iter().filter(fits).map(ToOwned::to_owned).collect();
        Box::pin(async { values })
    }
}

fn read(uri: &str) -> Result<ResourceContents, Rejection> {
    let numbered = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    match (uri, numbered) {
        ("test://static-text", _) => {
            Ok(ResourceContents::text(uri, "text/plain", "This is the content of the static text resource."))
        }
        ("test://watched-resource", _) => Ok(ResourceContents::text(uri, "text/plain", "Watched resource content.")),
        ("test://static-binary", _) => Ok(ResourceContents {
            uri: uri.to_owned(),
            mime_type: "image/png".to_owned(),
            body: ResourceBody::Blob(IMAGE.to_owned()),
        }),
        (_, Some(id)) => {
            let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
            Ok(ResourceContents::text(uri, "application/json", text))
        }
        (_, None) => Err(Rejection::new(Code::NotFound, format!("Resource not found: {uri}"))),
    }
}

/// One question with one field of text.
pub(crate) fn form(name: &str, message: &str, field: &str) -> Questions {
    let schema = json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
    Questions::from([(name.to_owned(), Question::Form { message: message.to_owned(), schema })])
}
