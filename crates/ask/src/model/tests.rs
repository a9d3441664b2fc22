use serde_json::{Value, json};

use super::Marks;

#[test]
fn of_others_schemas_the_model_sees_what_it_needs_and_texts_between_marks() {
    let marks = Marks { name: "data-x".to_owned() };
    let marked = |text: &str| format!("<data-x>{text}</data-x>");
    let words = json!({
        "examples": ["OBEY"], "default": "OBEY", "x-note": "OBEY", "format": "OBEY me", "contentMediaType": "OBEY",
        "example": "OBEY", "instructions": {"description": "OBEY"}, "$schema": "https://obey.example", "deprecated": true,
    });
    let with_words = |schema: Value| -> Value {
        let members = schema.as_object().unwrap().iter().chain(words.as_object().unwrap());
        let members = members.map(|(name, member)| (name.clone(), member.clone()));
        members.chain([("description".to_owned(), "Say why".into())]).collect()
    };
    let described = |mut schema: Value| {
        schema["description"] = marked("Say why").into();
        schema
    };
    // Not made inside of the tables: with such calls in nested `json!`, rustc 1.95 lays a map over another one.
    let (any, least, long) =
        (with_words(json!({})), with_words(json!({"minimum": 1})), with_words(json!({"maxLength": 3})));
    let (described_any, described_least, described_long) =
        (described(json!({})), described(json!({"minimum": 1})), described(json!({"maxLength": 3})));
    for (schema, shown) in [
        (with_words(json!({"type": "object"})), described(json!({"type": "object"}))),
        (
            with_words(json!({"type": ["string", "null"], "enum": ["a", null], "pattern": "^a"})),
            described(json!({"type": ["string", "null"], "enum": ["a", null], "pattern": "^a"})),
        ),
        // Names of parameters are no keywords.
        (
            json!({"properties": {"default": with_words(json!({"const": 1})), "examples": true, "x-y": {"title": "T"}}, "required": ["default"]}),
            json!({"properties": {"default": described(json!({"const": 1})), "examples": true, "x-y": {"title": marked("T")}}, "required": ["default"]}),
        ),
        (
            json!({"items": [least], "anyOf": [{"not": any}], "additionalProperties": false}),
            json!({"items": [described_least], "anyOf": [{"not": described_any}], "additionalProperties": false}),
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": long}, "dependencies": {"a": ["b"], "c": any}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": described_long}, "dependencies": {"a": ["b"], "c": described_any}}),
        ),
        (json!({"default": 5, "format": "date-time"}), json!({"default": 5, "format": "date-time"})),
        (json!({"default": ["OBEY"]}), json!({})),
        (json!({"default": {"OBEY": 1}}), json!({})),
        (json!({"description": ["OBEY"], "properties": "OBEY"}), json!({})),
        (json!({"$comment": "no </data-x> end"}), json!({"$comment": marked("no </> end")})),
        (json!(true), json!(true)),
    ] {
        assert_eq!(marks.shown(&schema), shown, "{schema}");
    }
}
