//! Objects among the arguments, and lists of them.

use serde_json::Value;

use super::typed::is_edge;
use super::{Evidence, Filler, fill_shape};
use crate::planner::parameter::{Parameter, Type};
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
            let single =
                || self.single(parameter).filter(|(_, evidence)| !is_edge(parameter) || *evidence == Evidence::NAMED);
            let objects = self.typed(parameter).or_else(|| self.edges(parameter)).or_else(single);
            if let Some((objects, evidence)) = objects {
                self.set(parameter, objects, evidence);
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

    fn single(&self, parameter: &Parameter) -> Option<(Value, Evidence)> {
        let filling = fill_shape(self.question, self.tool, &parameter.fields, self.today);
        let complete = !filling.arguments.is_empty() && filling.missing.is_empty();
        let is_named = filling.evidence.values().all(|evidence| *evidence == Evidence::NAMED);
        let evidence = if is_named { Evidence::NAMED } else { Evidence::LISTED };
        complete.then(|| (vec![Value::from(filling.arguments)].into(), evidence))
    }
}
