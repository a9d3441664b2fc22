//! A schema of somebody else's server as the model sees it: what it takes to write arguments, with texts for readers
//! between marks. What else a schema may hold (examples, defaults, keywords that nobody knows) is text in disguise.
//!
//! Names, choices and patterns stay as they are: the model has to write them.

use serde_json::{Map, Value};

use super::Marks;

enum Keyword {
    /// Words for a reader.
    Explains,
    /// A schema, or a list of them.
    Schema,
    /// Schemas by their names, or names.
    Named,
    /// What a value has to be.
    Requires,
    Unneeded,
}

impl Keyword {
    fn of(name: &str) -> Self {
        match name {
            "description" | "title" | "$comment" => Self::Explains,
            "items"
            | "prefixItems"
            | "additionalItems"
            | "unevaluatedItems"
            | "contains"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "if"
            | "then"
            | "else" => Self::Schema,
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
                Self::Named
            }
            "type" | "enum" | "const" | "required" | "dependentRequired" | "$ref" | "$anchor" | "$dynamicRef"
            | "$dynamicAnchor" | "pattern" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
            | "multipleOf" | "minLength" | "maxLength" | "minItems" | "maxItems" | "uniqueItems" | "minContains"
            | "maxContains" | "minProperties" | "maxProperties" => Self::Requires,
            _ => Self::Unneeded,
        }
    }
}

impl Marks {
    pub(super) fn shown(&self, schema: &Value) -> Value {
        let Value::Object(members) = schema else { return schema.clone() };
        members.iter().filter_map(|(name, member)| Some((name.clone(), self.member(name, member)?))).collect()
    }

    fn member(&self, name: &str, member: &Value) -> Option<Value> {
        match Keyword::of(name) {
            Keyword::Explains => member.as_str().map(|text| self.around(text).into()),
            Keyword::Schema => Some(self.schemas(member)),
            Keyword::Named => Some(match member {
                Value::Object(named) => {
                    let shown = |(name, schema): (&String, &Value)| (name.clone(), self.named(schema));
                    Value::Object(named.iter().map(shown).collect::<Map<_, _>>())
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
            }),
            Keyword::Requires => Some(member.clone()),
            Keyword::Unneeded => (name == "format" && is_format(member) || name == "default" && is_no_text(member))
                .then(|| member.clone()),
        }
    }

    fn schemas(&self, member: &Value) -> Value {
        match member {
            Value::Array(schemas) => schemas.iter().map(|schema| self.shown(schema)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => self.shown(member),
        }
    }

    /// Of `dependencies`, names may be in place of a schema.
    fn named(&self, schema: &Value) -> Value {
        if schema.is_array() { schema.clone() } else { self.shown(schema) }
    }
}

/// "date-time"; any other text may stand there, too.
fn is_format(member: &Value) -> bool {
    const KNOWN: [&str; 19] = [
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "idn-email",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "iri",
        "iri-reference",
        "json-pointer",
        "regex",
        "relative-json-pointer",
        "time",
        "uri",
        "uri-reference",
        "uri-template",
        "uuid",
    ];
    member.as_str().is_some_and(|format| KNOWN.contains(&format))
}

fn is_no_text(member: &Value) -> bool {
    match member {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(_) | Value::Array(_) | Value::Object(_) => false,
    }
}
