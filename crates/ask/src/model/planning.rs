//! The model as planner: one call of one listed tool with arguments that its contract takes, or none.

use countersign_contract::{Contract, parse_json, visible};
use serde_json::{Map, Value, json};

use super::chat::{Arguments, Function, Message, ModelError, Question};
use super::{Marks, Model};
use crate::offers::Described;
use crate::planner::Choice;

/// Services take no more tools than this, and choose worse among many.
pub(crate) const TOOLS_MAX: usize = 64;

/// A call takes a few dozen.
const TOKENS_MAX: u32 = 2048;

/// Of what it said instead of a call.
const WORDS_MAX: usize = 300;

const RULES: &str = "You choose the one tool that answers the user's question, and its arguments. Call exactly one \
    tool, once. Take arguments from the question; do not invent any. If no tool fits, or the question does not say what \
    a tool needs, call none and say in one sentence why.";

/// A tool as the model may choose it.
pub(crate) struct Choosable<'a> {
    pub(crate) described: &'a Described,
    pub(crate) contract: &'a Contract,
}

/// What the model wants, checked; or what is wrong with it.
enum Proposal {
    Choice(Choice),
    Wrong(String),
}

impl Model {
    /// Two attempts: the second knows what was wrong with the first.
    pub(crate) async fn plan(&self, query: &str, tools: &[Choosable<'_>]) -> Result<Choice, ModelError> {
        let marks = Marks::new();
        let mut messages = vec![
            json!({"role": "system", "content": format!("{RULES} {}", marks.rule())}),
            json!({"role": "user", "content": query}),
        ];
        let mut why = match self.propose(&messages, &marks, tools).await? {
            Proposal::Choice(choice) => return Ok(choice),
            Proposal::Wrong(why) => why,
        };
        let again = format!("That was refused, and nothing was called: {why}. Call exactly one of the tools, or none.");
        messages.push(json!({"role": "user", "content": marks.around(&again)}));
        match self.propose(&messages, &marks, tools).await? {
            Proposal::Choice(choice) => return Ok(choice),
            Proposal::Wrong(wrong) => why = wrong,
        }
        Ok(Choice::Nothing { why: format!("The model's choice was refused twice: {why}.") })
    }

    async fn propose(
        &self,
        messages: &[Value],
        marks: &Marks,
        tools: &[Choosable<'_>],
    ) -> Result<Proposal, ModelError> {
        let listed: Vec<Value> = tools.iter().enumerate().map(|(at, tool)| function(at, tool, marks)).collect();
        let question = Question {
            messages,
            tokens_max: TOKENS_MAX,
            wishes: Map::from_iter([("parallel_tool_calls".to_owned(), false.into())]),
            needs: Map::from_iter([("tools".to_owned(), listed.into()), ("tool_choice".to_owned(), "auto".into())]),
        };
        Ok(check(self.ask(&question).await?, tools))
    }
}

/// As the protocol lists it.
fn function(at: usize, tool: &Choosable<'_>, marks: &Marks) -> Value {
    let Described { upstream, .. } = tool.described;
    let mut description = tool.described.description().to_owned();
    let mut parameters = tool.described.input_schema().clone();
    if *upstream {
        description = marks.around(&description);
        parameters = marks.shown(&parameters);
    }
    let name = alias(at, tool.described.name());
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// The name itself where the protocol takes it.
fn alias(at: usize, name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.len() <= 64 && name.bytes().all(plain) { name.to_owned() } else { format!("tool_{at}") }
}

fn check(message: Message, tools: &[Choosable<'_>]) -> Proposal {
    let calls = message.tool_calls.unwrap_or_default();
    let mut calls = calls.into_iter();
    match (calls.next(), calls.next()) {
        (None, _) => Proposal::Choice(Choice::Nothing { why: none_chosen(message.content.as_deref()) }),
        (Some(call), None) => check_call(call.function, tools),
        (Some(_), Some(_)) => Proposal::Wrong("there was more than one call".to_owned()),
    }
}

fn none_chosen(said: Option<&str>) -> String {
    let said: String = visible(said.unwrap_or_default()).chars().take(WORDS_MAX).collect();
    if said.trim().is_empty() {
        "The model chose no tool.".to_owned()
    } else {
        format!("The model chose no tool; it said: {}", said.trim())
    }
}

fn check_call(call: Function, tools: &[Choosable<'_>]) -> Proposal {
    let named = |(at, tool): &(usize, &Choosable<'_>)| alias(*at, tool.described.name()) == call.name;
    let Some((_, tool)) = tools.iter().enumerate().find(named) else {
        return Proposal::Wrong("the tool that was called is not in the list".to_owned());
    };
    let arguments = match call.arguments {
        Arguments::Object(arguments) => Value::Object(arguments),
        Arguments::Text(text) if text.trim().is_empty() => json!({}),
        Arguments::Text(text) => match parse_json(text.as_bytes()) {
            Ok(arguments) => arguments,
            Err(error) => return Proposal::Wrong(format!("the arguments are not JSON: {error}")),
        },
        Arguments::Other(_) => return Proposal::Wrong("the arguments are not an object".to_owned()),
    };
    let mut settled = arguments.clone();
    tool.contract.normalise(&mut settled);
    if let Err(rejection) = tool.contract.check_arguments(&settled) {
        let details = rejection.details.map(|details| format!(": {details}")).unwrap_or_default();
        return Proposal::Wrong(format!("the arguments break the contract{details}"));
    }
    let Value::Object(arguments) = arguments else {
        return Proposal::Wrong("the arguments are not an object".to_owned());
    };
    let tool = tool.described.name().to_owned();
    Proposal::Choice(Choice::Call { tool, arguments, why: "The model chose it.".to_owned() })
}
