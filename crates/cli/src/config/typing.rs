//! What scalars mean: a tree as written → JSON, with `${VAR}` replaced and every plain scalar typed by what the schema
//! expects under its key.

use serde_json::{Map, Number, Value};

use super::environment::Environment;
use super::shape::Shape;
use super::variables;
use super::yaml::{Content, Fault, MAX_FAULTS, Node, Quoting};

/// What variables may make of a file: one of a megabyte could name a long variable a hundred thousand times.
const MAX_EXPANDED: usize = 4 * 1024 * 1024;

/// The value, and what was wrong with its variables; `environment` is where `${VAR}` is looked up, if anywhere.
pub(super) fn value_of(node: &Node, shape: Shape<'_>, environment: Option<&Environment>) -> (Value, Vec<Fault>) {
    let mut typing = Typing { environment, expanded: 0, steps: Vec::new(), faults: Vec::new() };
    let value = typing.value_of(node, shape);
    (value, typing.faults)
}

struct Typing<'a> {
    environment: Option<&'a Environment>,
    /// Bytes of all scalars so far, variables replaced.
    expanded: usize,
    steps: Vec<String>,
    faults: Vec<Fault>,
}

impl Typing<'_> {
    fn value_of(&mut self, node: &Node, shape: Shape<'_>) -> Value {
        match &node.content {
            Content::Scalar { text, quoting } => match self.expand(text) {
                Ok(text) => typed(&text, *quoting, shape),
                Err(messages) => {
                    let steps = &self.steps;
                    let fault = |message| Fault { line: node.line, steps: steps.clone(), message };
                    let room = MAX_FAULTS.saturating_sub(self.faults.len());
                    self.faults.extend(messages.into_iter().take(room).map(fault));
                    Value::Null
                }
            },
            Content::List(items) => {
                let items = items.iter().enumerate();
                Value::Array(items.map(|(index, item)| self.below(index.to_string(), item, shape.item())).collect())
            }
            Content::Map(entries) => {
                let mut members = Map::new();
                for entry in entries {
                    let value = self.below(entry.key.clone(), &entry.value, shape.member(&entry.key));
                    // A known key without a value, `http:`, is a key that was not written.
                    if !(value.is_null() && shape.names().contains(&entry.key.as_str())) {
                        members.insert(entry.key.clone(), value);
                    }
                }
                Value::Object(members)
            }
        }
    }

    fn below(&mut self, step: String, node: &Node, shape: Shape<'_>) -> Value {
        self.steps.push(step);
        let value = self.value_of(node, shape);
        self.steps.pop();
        value
    }

    fn expand(&mut self, text: &str) -> Result<String, Vec<String>> {
        let Some(environment) = self.environment else { return Ok(text.to_owned()) };
        let room = MAX_EXPANDED.saturating_sub(self.expanded);
        let text = variables::expand(text, environment, room)?;
        self.expanded += text.len();
        Ok(text)
    }
}

/// YAML 1.2's core schema, except that a plain scalar stays a text where the schema asks for one: a token of digits is
/// not a number.
pub(super) fn typed(text: &str, quoting: Quoting, shape: Shape<'_>) -> Value {
    if quoting == Quoting::Quoted {
        return Value::String(text.to_owned());
    }
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        other => number(other).map_or_else(|| Value::String(other.to_owned()), Value::Number),
    };
    let kind = match value {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => return value,
    };
    let kinds = shape.kinds();
    if kinds.contains(&"string") && !kinds.contains(&kind) { Value::String(text.to_owned()) } else { value }
}

fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    let float = text.parse::<f64>().ok()?;
    // `1e3` and `5.0` are whole numbers to a schema, so they have to be to us.
    let whole = if float.fract() == 0.0 { format!("{float:.0}").parse::<i64>().ok() } else { None };
    whole.map(Number::from).or_else(|| Number::from_f64(float))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Quoting, Shape, typed};

    #[test]
    fn plain_scalars_are_typed_by_what_is_expected() {
        let (text, whole, either) = (json!({"type": "string"}), json!({"type": "integer"}), json!({}));
        for (scalar, schema, value) in [
            ("5", &whole, json!(5)),
            ("5", &text, json!("5")),
            ("5", &either, json!(5)),
            ("5.0", &whole, json!(5)),
            ("1e3", &whole, json!(1000)),
            ("-7", &whole, json!(-7)),
            ("0.5", &either, json!(0.5)),
            ("99999999999999999999", &whole, json!(1e20)),
            ("true", &text, json!("true")),
            ("true", &either, json!(true)),
            ("off", &text, json!("off")),
            ("off", &either, json!("off")),
            (".inf", &either, json!(".inf")),
            ("infinity", &either, json!("infinity")),
            ("1.2.3.4", &either, json!("1.2.3.4")),
            ("~", &text, Value::Null),
        ] {
            assert_eq!(typed(scalar, Quoting::Plain, Shape::of(schema)), value, "{scalar} for {schema}");
        }
        assert_eq!(typed("5", Quoting::Quoted, Shape::of(&whole)), json!("5"));
    }
}
