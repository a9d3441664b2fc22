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
    let with_words = |mut schema: Value| {
        let members = schema.as_object_mut().unwrap();
        members.extend(words.as_object().unwrap().clone());
        members.insert("description".to_owned(), "Say why".into());
        schema
    };
    let described = |mut schema: Value| {
        schema["description"] = marked("Say why").into();
        schema
    };
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
            json!({"items": [with_words(json!({"minimum": 1}))], "anyOf": [{"not": with_words(json!({}))}], "additionalProperties": false}),
            json!({"items": [described(json!({"minimum": 1}))], "anyOf": [{"not": described(json!({}))}], "additionalProperties": false}),
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": with_words(json!({"maxLength": 3}))}, "dependencies": {"a": ["b"], "c": with_words(json!({}))}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": described(json!({"maxLength": 3}))}, "dependencies": {"a": ["b"], "c": described(json!({}))}}),
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
