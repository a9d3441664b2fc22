//! Objects among the arguments, and lists of them.

use serde_json::{Map, Value};

use super::lists::says_none_of;
use super::{Evidence, Filler, fill_shape};
use crate::planner::parameter::{Parameter, Type};
use crate::planner::pattern::Pattern;
use crate::planner::span::{Found, Span};

impl Filler<'_> {
    pub(super) fn lists_of_objects(&mut self) {
        let shape = self.shape;
        for parameter in shape.parameters.iter().filter(|each| each.of == Type::Array) {
            let given = self.filling.arguments.get(&parameter.name).and_then(Value::as_array);
            let done = given.is_some_and(|items| items.iter().all(Value::is_object));
            if parameter.fields.parameters.is_empty() || done {
                continue;
            }
            self.filling.arguments.remove(&parameter.name);
            self.filling.evidence.remove(&parameter.name);
            let objects = self.with_types(parameter).or_else(|| self.single(parameter));
            if let Some(objects) = objects {
                self.set(parameter, objects, Evidence::LISTED);
            }
        }
    }

    pub(super) fn objects(&mut self) {
        for parameter in self.open().into_iter().filter(|each| each.of == Type::Object) {
            let json = self.free.iter().find(|span| matches!(span.found, Found::Json(Value::Object(_)))).copied();
            if let Some(Span { range, found: Found::Json(value), .. }) = json {
                self.set(parameter, value.clone(), Evidence::NAMED);
                self.take(range.clone());
                continue;
            }
            let filling = fill_shape(self.question, self.tool, &parameter.fields, self.today);
            if !filling.arguments.is_empty() {
                self.set(parameter, filling.arguments.into(), Evidence::LISTED);
            }
        }
    }

    fn single(&self, parameter: &Parameter) -> Option<Value> {
        let filling = fill_shape(self.question, self.tool, &parameter.fields, self.today);
        let complete = !filling.arguments.is_empty() && filling.missing.is_empty();
        complete.then(|| vec![Value::from(filling.arguments)].into())
    }

    /// "Ada (person) and Zuse KG (company)": an object for each, where two texts are required, the second a type.
    fn with_types(&self, parameter: &Parameter) -> Option<Value> {
        static TYPED: Pattern = Pattern::new(r#"([A-Z][\w.-]*(?: [A-Z][\w.-]*)*|"[^"]+") \(([^()]+)\)"#);
        static TYPE: Pattern = Pattern::new("(?i)typ|kind|categ|class");
        let required = || parameter.fields.parameters.iter().filter(|each| each.required);
        let texts: Vec<&Parameter> = required().filter(|each| each.is_text()).collect();
        let [name, kind] = texts[..] else { return None };
        let found: Vec<_> = TYPED.captures_iter(&self.question.text).collect();
        if found.is_empty() || !TYPE.is_match(&kind.name) {
            return None;
        }
        let objects = found.iter().map(|captures| {
            let called = captures[1].trim_matches('"');
            let mut object = Map::new();
            object.insert(name.name.clone(), called.into());
            object.insert(kind.name.clone(), captures[2].into());
            for list in required().filter(|each| each.of == Type::Array) {
                let quoted = self.question.quoted.iter().filter(|quoted| quoted.text != called);
                let items: Vec<Value> = quoted.map(|quoted| quoted.text.as_str().into()).collect();
                if says_none_of(&self.question.lower, &list.spoken) {
                    object.insert(list.name.clone(), Value::Array(Vec::new()));
                } else if found.len() == 1 && !items.is_empty() {
                    object.insert(list.name.clone(), items.into());
                }
            }
            Value::from(object)
        });
        Some(objects.collect())
    }
}
