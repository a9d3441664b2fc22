//! Lists: "a, b and c", or JSON.

use std::ops::Range;

use serde_json::Value;

use super::{Evidence, Filler};
use crate::planner::bm25::to_f64;
use crate::planner::parameter::{Kind, Parameter, Type};
use crate::planner::pattern::Pattern;
use crate::planner::question::Values;
use crate::planner::span::{Found, Span, to_json};
use crate::planner::words::{find_whole, overlaps_any};

/// What an optional list wants: more than chance.
const OPTIONAL_WORTH: f64 = 1.2;

/// The values of a list, and where they stand.
type Items = (Vec<Value>, Vec<Range<usize>>);

impl<'a> Filler<'a> {
    /// Before single values are assigned: only what is certainly a list.
    pub(super) fn lists_of_several(&mut self) {
        for parameter in self.open().into_iter().filter(|each| each.of == Type::Array) {
            if let Some((values, places)) = self.list(parameter)
                && (values.len() > 1 || self.is_single_item(parameter, &values))
            {
                self.set(parameter, values.into(), Evidence::LIST);
                for place in places {
                    self.take(place);
                }
            }
        }
    }

    pub(super) fn other_lists(&mut self) {
        for parameter in self.open().into_iter().filter(|each| each.of == Type::Array) {
            if let Some((values, places)) = self.list(parameter).or_else(|| self.behind_colon(parameter)) {
                self.set(parameter, values.into(), Evidence::LIST);
                self.used.extend(places);
            }
        }
    }

    /// "no observations".
    pub(super) fn empty_lists(&mut self) {
        for parameter in self.open().into_iter().filter(|each| each.of == Type::Array && each.required) {
            if parameter.items != Type::Object && says_none_of(&self.question.lower, &parameter.spoken) {
                self.set(parameter, Value::Array(Vec::new()), Evidence::LISTED);
            }
        }
    }

    /// One quoted value is the list, where the other texts have enough without it.
    fn is_single_item(&self, parameter: &Parameter, values: &[Value]) -> bool {
        let texts =
            self.open().into_iter().filter(|each| each.is_text() && each.required && each.choices.is_empty()).count();
        let is_other = |span: &&&Span| matches!(span.found, Found::Name | Found::Identifier | Found::Path | Found::Url);
        let quoted =
            |span: &&Span| span.found == Found::Quoted && values.first().is_some_and(|value| *value == span.text);
        parameter.required
            && texts > 0
            && self.free.iter().filter(is_other).count() >= texts
            && self.free.iter().any(quoted)
    }

    /// The list in the question that fits best.
    fn list(&self, parameter: &Parameter) -> Option<Items> {
        let free = || self.question.spans.iter().filter(|span| !overlaps_any(&span.range, &self.used));
        let numeric = matches!(parameter.items, Type::Integer | Type::Number);
        if parameter.items == Type::Object {
            return None;
        }
        let json = free().find_map(|span| {
            let Found::Json(Value::Array(values)) = &span.found else { return None };
            Some((values.clone(), vec![span.range.clone()]))
        });
        if json.is_some() {
            return json;
        }
        let sorts: &[fn(&Found) -> bool] = if numeric {
            &[|found| matches!(found, Found::Number(_) | Found::NumberWord(_))]
        } else if parameter.kind == Kind::Path {
            &[|found| matches!(found, Found::Path)]
        } else {
            &[|found| *found == Found::Quoted, |found| *found == Found::Name, |found| *found == Found::Identifier]
        };
        let runs = sorts
            .iter()
            .map(|is_sort| self.runs(free().filter(|span| is_sort(&span.found))))
            .find(|runs| !runs.is_empty());
        let best = runs.into_iter().flatten().map(|run| (self.worth(parameter, &run), run));
        let best = best.reduce(|best, next| if next.0 > best.0 { next } else { best });
        match best.filter(|(worth, _)| parameter.required || *worth > OPTIONAL_WORTH) {
            Some((_, run)) => Some(items(parameter, &run)),
            None if parameter.required && parameter.items == Type::String => self.behind_name(parameter),
            None => None,
        }
    }

    /// Neighbours with nothing but a comma or "and" between them.
    fn runs(&self, spans: impl Iterator<Item = &'a Span>) -> Vec<Vec<&'a Span>> {
        static BETWEEN: Pattern =
            Pattern::new(r"^(?:\s*\([^)]*\))?\s*(?:,\s*(?:and|or)|,|and|or|&|;|\s|to|with)\s*(?:the |a |an )?$");
        let mut runs: Vec<Vec<&Span>> = Vec::new();
        for span in spans {
            let follows = |before: &&Span| {
                self.question.text.get(before.range.end..span.range.start).is_some_and(|gap| BETWEEN.is_match(gap))
            };
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(follows) => run.push(span),
                Some(_) | None => runs.push(vec![span]),
            }
        }
        runs
    }

    fn worth(&self, parameter: &Parameter, run: &[&Span]) -> f64 {
        let nearby = run
            .first()
            .map_or(0.0, |first| self.question.context(&first.range, Values::Skipped).speaks_of(parameter, first));
        nearby + 0.8 * to_f64(run.len().min(4))
    }

    /// "a new remark on Ada: likes tea", for a list of texts.
    fn behind_colon(&self, parameter: &Parameter) -> Option<Items> {
        static COLON: Pattern = Pattern::new(r":\s+(\S[^:]*?)[.!]?$");
        let takes = parameter.required && parameter.kind == Kind::Text && parameter.items == Type::String;
        let text = COLON.captures(&self.question.text).filter(|_| takes && self.question.quoted.is_empty())?.get(1)?;
        let is_free = !overlaps_any(&text.range(), &self.used);
        is_free.then(|| (vec![text.as_str().into()], vec![text.range()]))
    }

    /// "ingredients: flour, milk and two eggs".
    fn behind_name(&self, parameter: &Parameter) -> Option<Items> {
        static LIST: Pattern = Pattern::new(r"^s?(?: of| are| is| like|:)?\s+([\w -]+(?:, [\w -]+)*,? and [\w -]+)");
        static BETWEEN: Pattern = Pattern::new(r",\s*(?:and\s+)?|\s+and\s+");
        let text = &self.question.text;
        let plural = |word: &str| format!("{word}s");
        parameter.spoken.split(' ').find_map(|word| {
            let plural = plural(word);
            let places = find_whole(&self.question.lower, word).chain(find_whole(&self.question.lower, &plural));
            let ends: Vec<usize> = places.map(|place| place.end).collect();
            let found = ends.into_iter().find_map(|end| Some((end, LIST.captures(&text[end..])?.get(1)?)))?;
            let range = found.0 + found.1.start()..found.0 + found.1.end();
            let items = BETWEEN.split(&text[range.clone()]).map(str::trim).filter(|item| !item.is_empty());
            Some((items.map(Value::from).collect(), vec![range]))
        })
    }
}

fn items(parameter: &Parameter, run: &[&Span]) -> Items {
    let value = |span: &&Span| match span.number() {
        Some(number) if parameter.items == Type::Integer && !number.is_whole() => to_json(number.value.trunc()),
        Some(number) => number.to_json(),
        None => span.text.as_str().into(),
    };
    (run.iter().map(value).collect(), run.iter().map(|span| span.range.clone()).collect())
}

/// "without any tags", "nothing observed yet".
pub(super) fn says_none_of(lower: &str, name: &str) -> bool {
    static NONE: Pattern =
        Pattern::new(r"\b(?:no|without|empty|zero|nothing)\s+(?:any\s+|further\s+|other\s+|more\s+|initial\s+)?");
    let start = name.get(..name.len().min(5)).unwrap_or(name);
    NONE.find_iter(lower).any(|none| lower[none.end()..].starts_with(start))
}
