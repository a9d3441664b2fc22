//! A server that needs an answer from the client before it can go on: its questions go to the client of the call, and
//! the answers back to it. Only what that client declared is ever asked.

use std::future::Future;

use countersign_contract::{
    Answers, Capability, Client, Code, InputRequired, Question, Questions, Rejection, ToolError,
};
use serde_json::{Map, Value, json};

use crate::texts;

/// Questions and answers of one call; whoever asks more often does not want to know.
const ROUNDS_MAX: usize = 8;

const QUESTIONS_MAX: usize = 16;
const NAME_MAX: usize = 128;

/// Asks the server until it has its result. `ask` is given what to add to its parameters.
pub(crate) async fn in_rounds<F>(client: &Client, ask: impl Fn(Map<String, Value>) -> F) -> Result<Value, ToolError>
where
    F: Future<Output = Result<Value, ToolError>>,
{
    let mut answers = resumed(client).await?;
    for _ in 0..ROUNDS_MAX {
        let result = ask(std::mem::take(&mut answers)).await?;
        match result.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => return Ok(result),
            Some("input_required") => answers = put_to(client, &result).await?,
            Some(_) => return Err(refused("gives a result of a kind that is not passed on")),
        }
    }
    Err(refused("asks again and again"))
}

/// What a client that repeats its call brings along: the answers to what it was asked, and the server's own state.
async fn resumed(client: &Client) -> Result<Map<String, Value>, ToolError> {
    // What else is kept is not ours: a person's approval comes back the same way.
    let ours = |kept: &&Value| client.repeats() && kept["requests"].is_object();
    let Some(kept) = client.state().filter(ours) else { return Ok(Map::new()) };
    let (requests, state) = (&kept["requests"], kept["state"].as_str());
    let questions = questions(requests)?;
    let answers = client.ask(questions, Some(kept.clone())).await?;
    Ok(answered(&answers, state))
}

async fn put_to(client: &Client, result: &Value) -> Result<Map<String, Value>, ToolError> {
    let (requests, state) = (&result["inputRequests"], result["requestState"].as_str());
    let questions = questions(requests)?;
    if let Some(missing) = questions.values().map(Question::needs).find(|needs| !client.declares(*needs)) {
        return Err(ToolError::MissingCapability(missing));
    }
    if client.repeats() {
        // Not by asking: what it brought along answered another round.
        let state = Some(json!({"requests": requests, "state": state}));
        return Err(ToolError::InputRequired(Box::new(InputRequired { questions, state })));
    }
    Ok(answered(&client.ask(questions, None).await?, state))
}

/// The answer to a question that a server of the older era asks in the middle of a call. A client that answers by
/// repeating its call cannot be asked there.
pub(crate) async fn answer_at_once(client: &Client, request: Value) -> Value {
    const NAME: &str = "asked";
    let nobody = || json!({"action": "cancel"});
    let Ok(question) = question(&request) else { return nobody() };
    if client.repeats() || !client.declares(question.needs()) {
        return nobody();
    }
    let answers = client.ask(Questions::from([(NAME.to_owned(), question)]), None).await;
    answers.ok().and_then(|mut answers| answers.remove(NAME)).unwrap_or_else(nobody)
}

fn answered(answers: &Answers, state: Option<&str>) -> Map<String, Value> {
    let mut added = Map::from_iter([("inputResponses".to_owned(), json!(answers))]);
    if let Some(state) = state {
        added.insert("requestState".to_owned(), state.into());
    }
    added
}

fn questions(requests: &Value) -> Result<Questions, ToolError> {
    let nothing = Map::new();
    let requests = requests.as_object().unwrap_or(&nothing);
    if requests.len() > QUESTIONS_MAX || requests.keys().any(|name| name.len() > NAME_MAX) {
        return Err(refused("asks for too much at once"));
    }
    requests.iter().map(|(name, request)| Ok((name.clone(), question(request)?))).collect()
}

fn question(request: &Value) -> Result<Question, ToolError> {
    let needs = match request.get("method").and_then(Value::as_str) {
        Some("elicitation/create") if request.pointer("/params/mode").is_none_or(|mode| mode == "form") => {
            Capability::Elicitation
        }
        Some("sampling/createMessage") => Capability::Sampling,
        Some("roots/list") => Capability::Roots,
        Some(_) | None => return Err(refused("asks for something that is not passed on")),
    };
    let mut request = request.clone();
    texts::clean(&mut request);
    Ok(Question::PassedOn { needs, request })
}

fn refused(what: &str) -> ToolError {
    Rejection::new(Code::UpstreamError, format!("The server {what}")).into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use countersign_contract::{Answers, BoxFuture, Capability, Client, ClientSide, Questions, Severity, ToolError};
    use serde_json::{Value, json};

    use super::in_rounds;

    /// A client that comes back with this state, and has answered `name` with yes.
    struct Returning(Value);

    impl ClientSide for Returning {
        fn declares(&self, _capability: Capability) -> bool {
            true
        }

        fn state(&self) -> Option<&Value> {
            Some(&self.0)
        }

        fn repeats(&self) -> bool {
            true
        }

        fn ask(&self, questions: Questions, _state: Option<Value>) -> BoxFuture<'_, Result<Answers, ToolError>> {
            let answers = questions.into_keys().map(|name| (name, json!({"action": "accept"}))).collect();
            Box::pin(async { Ok(answers) })
        }

        fn wants(&self) -> Option<Severity> {
            None
        }

        fn tell(&self, _severity: Severity, _message: Value) -> BoxFuture<'_, ()> {
            Box::pin(async {})
        }
    }

    #[tokio::test]
    async fn a_server_gets_the_answers_to_its_own_questions_only() {
        let asked = json!({"requests": {"name": {"method": "elicitation/create"}}, "state": "kept"});
        let answered = json!({"inputResponses": {"name": {"action": "accept"}}, "requestState": "kept"});
        for (state, added) in [(asked, answered), (json!({"approval": "8s0frdcwxeeb"}), json!({}))] {
            let client = Client::new(Arc::new(Returning(state)));
            let given = in_rounds(&client, |added| async { Ok(Value::Object(added)) }).await.unwrap();
            assert_eq!(given, added);
        }
    }
}
