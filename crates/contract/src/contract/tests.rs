use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Contract, ErrorField, ErrorForm, InvalidContract, Normalisation, Sentence, Terms};
use crate::{CallContext, Code, Digest, Effect, Rejection, Tool, ToolError};

/// A tool with one of everything that a contract can say.
struct Search;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is of interest")]
struct Input {
    /// What to look for.
    #[schemars(length(min = 3, max = 20))]
    query: String,
    note: Option<String>,
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    limit: u8,
}

fn five() -> u8 {
    5
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    found: u64,
}

impl Tool for Search {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search";
    const DESCRIPTION: &'static str = "Finds things.";
    const EFFECT: Effect = Effect::ReadsLocal;

    fn terms() -> Terms {
        Terms {
            error_fields: vec![ErrorField::Fallback],
            sentences: vec![Sentence {
                path: "/query",
                keyword: "minLength",
                sentence: "Query must be at least 3 characters",
            }],
            normalise: vec![("query", Normalisation::Trim), ("note", Normalisation::TrimToNull)],
            ..Terms::default()
        }
    }

    async fn call(&self, _ctx: &CallContext, _input: Input) -> Result<Output, ToolError> {
        Ok(Output { found: 0 })
    }
}

/// The same in the envelope of the Task documents.
struct Enveloped;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is of interest")]
struct Numbered {
    size: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Envelope {
    #[schemars(extend("const" = true))]
    success: bool,
    message: String,
}

impl Tool for Enveloped {
    type Input = Numbered;
    type Output = Envelope;

    const NAME: &'static str = "enveloped";
    const TITLE: &'static str = "Enveloped";
    const DESCRIPTION: &'static str = "Answers in an envelope.";
    const EFFECT: Effect = Effect::Writes;

    fn terms() -> Terms {
        Terms { error_form: ErrorForm::Envelope, ..Terms::default() }
    }

    async fn call(&self, _ctx: &CallContext, _input: Numbered) -> Result<Envelope, ToolError> {
        Ok(Envelope { success: true, message: String::new() })
    }
}

/// Success and error would look the same.
struct Ambiguous;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Open {
    error: String,
}

impl Tool for Ambiguous {
    type Input = Input;
    type Output = Open;

    const NAME: &'static str = "ambiguous";
    const TITLE: &'static str = "Ambiguous";
    const DESCRIPTION: &'static str = "Cannot be told apart.";
    const EFFECT: Effect = Effect::ReadsLocal;

    async fn call(&self, _ctx: &CallContext, _input: Input) -> Result<Open, ToolError> {
        Ok(Open { error: String::new() })
    }
}

#[test]
fn the_published_schemas_carry_the_constraints_of_the_types() {
    insta::assert_json_snapshot!(Contract::of::<Search>().unwrap().definition());
}

#[test]
fn success_and_error_must_be_told_apart() {
    assert!(matches!(Contract::of::<Ambiguous>(), Err(InvalidContract::Ambiguous("ambiguous"))));
}

#[test]
fn arguments_are_normalised_then_completed() {
    let contract = Contract::of::<Search>().unwrap();
    for (given, expected) in [
        (json!({"query": "  abc "}), json!({"query": "abc", "limit": 5})),
        (json!({"query": "abc", "note": "  ", "limit": 1}), json!({"query": "abc", "note": null, "limit": 1})),
        (json!({"query": 7}), json!({"query": 7, "limit": 5})),
    ] {
        let mut arguments = given.clone();
        contract.normalise(&mut arguments);
        assert_eq!(arguments, expected, "{given}");
    }
}

#[test]
fn integers_are_exact_however_they_are_written() {
    let contract = Contract::of::<Enveloped>().unwrap();
    for (size, place) in [
        (json!(1.0), None),
        (json!(1e3), None),
        (json!(9_007_199_254_740_991.0), None),
        (json!(u64::MAX), None),
        (json!(9_007_199_254_740_992.0), Some("/size")),
        (json!(9.2e18), Some("/size")),
        (json!(1e300), Some("/size")),
        (json!(1.5), Some("/size")),
        (json!([1.0, 9.2e18]), Some("/size")),
    ] {
        let mut arguments = json!({"size": size});
        contract.normalise(&mut arguments);
        let checked = contract.check_arguments(&arguments);
        assert_eq!(checked.is_ok(), serde_json::from_value::<Numbered>(arguments.clone()).is_ok(), "{arguments}");
        let details = checked.err().and_then(|rejection| rejection.details);
        let places: Vec<_> = details.iter().flat_map(|all| all.as_array().unwrap()).map(|one| &one["path"]).collect();
        assert_eq!(places, place.iter().collect::<Vec<_>>(), "{arguments}");
    }
}

#[test]
fn the_document_has_the_first_word_on_a_mistake() {
    let contract = Contract::of::<Search>().unwrap();
    for (arguments, sentence) in [
        (json!({"query": "ab"}), "Query must be at least 3 characters"),
        (json!({"query": "ab", "limit": 99}), "Query must be at least 3 characters"),
        (json!({"limit": 99}), "Invalid parameters"),
        (json!({"query": "abc", "extra": 1}), "Invalid parameters"),
        (json!([]), "Invalid parameters"),
    ] {
        let rejection = contract.check_arguments(&arguments).unwrap_err();
        assert_eq!((rejection.code, rejection.error.as_str()), (Code::ValidationError, sentence), "{arguments}");
        assert!(contract.error.is_valid(&contract.error_value(&rejection)), "{arguments}");
    }
    assert!(contract.check_arguments(&json!({"query": "abc"})).is_ok());
}

#[test]
fn failures_are_laid_out_as_published() {
    let plain = Contract::of::<Search>().unwrap();
    let enveloped = Contract::of::<Enveloped>().unwrap();
    let listed = || Rejection::new(Code::ValidationError, "no").with_details(json!([{"path": "/a", "message": "b"}]));
    let worded = || Rejection::new(Code::NotFound, "no").with_details(json!("gone"));
    for (contract, rejection, expected) in [
        (
            &plain,
            listed(),
            json!({"error": "no", "code": "VALIDATION_ERROR", "details": [{"path": "/a", "message": "b"}]}),
        ),
        (&plain, worded(), json!({"error": "no", "code": "NOT_FOUND", "details": "gone"})),
        (
            &plain,
            worded().with_field(ErrorField::Fallback, "grep"),
            json!({"error": "no", "code": "NOT_FOUND", "details": "gone", "fallback": "grep"}),
        ),
        (
            &enveloped,
            listed(),
            json!({"success": false, "error": "no", "code": "VALIDATION_ERROR", "details": {"errors": [{"path": "/a", "message": "b"}]}}),
        ),
        (
            &enveloped,
            worded(),
            json!({"success": false, "error": "no", "code": "NOT_FOUND", "details": {"message": "gone"}}),
        ),
    ] {
        let value: Value = contract.error_value(&rejection);
        assert_eq!(value, expected);
        assert!(contract.error.is_valid(&value), "{value}");
        assert!(!contract.success.is_valid(&value), "{value}");
    }
}

#[test]
fn the_digest_is_over_everything_a_caller_can_see() {
    let contract = Contract::of::<Search>().unwrap();
    assert_eq!(contract.digest, Contract::of::<Search>().unwrap().digest);
    let definition = contract.definition();
    assert_eq!(contract.digest, Digest::of_json(&definition));
    for part in [
        "/name",
        "/title",
        "/description",
        "/effect",
        "/inputSchema/properties/query/maxLength",
        "/outputSchema/oneOf/0",
    ] {
        let mut changed = definition.clone();
        *changed.pointer_mut(part).unwrap() = json!("changed");
        assert_ne!(contract.digest, Digest::of_json(&changed), "{part}");
    }
}
