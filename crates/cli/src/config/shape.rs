//! The configuration's schema as a guide: which part of it speaks about which key. Everything in it is inlined, so
//! there is no reference to follow.

use serde_json::Value;

/// The part of the schema that speaks about one value; nothing where the schema leaves the value open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'a>(Option<&'a Value>);

impl<'a> Shape<'a> {
    pub(super) fn of(schema: &'a Value) -> Self {
        Self(Some(schema))
    }

    /// The shape at these steps from here.
    pub(super) fn at<S: AsRef<str>>(self, steps: &[S]) -> Self {
        steps.iter().fold(self, |shape, step| {
            let item = shape.keyword("items");
            if item.0.is_some() { item } else { shape.member(step.as_ref()) }
        })
    }

    pub(super) fn item(self) -> Self {
        self.keyword("items")
    }

    pub(super) fn member(self, name: &str) -> Self {
        let declared = Self(self.keyword("properties").0.and_then(|properties| properties.get(name)));
        if declared.0.is_some() { declared } else { self.keyword("additionalProperties") }
    }

    /// Whether it is a map whose keys the user chooses.
    pub(super) fn is_open(self) -> bool {
        self.keyword("additionalProperties").0.is_some_and(|rest| *rest != Value::Bool(false))
    }

    /// The keys that are declared here, in the order of the alphabet.
    pub(super) fn names(self) -> Vec<&'a str> {
        let properties = self.keyword("properties").0.and_then(Value::as_object);
        properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    /// The JSON types that are allowed; empty when the schema does not say.
    pub(super) fn kinds(self) -> Vec<&'a str> {
        match self.keyword("type").0 {
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            Some(kind) => kind.as_str().into_iter().collect(),
            None => {
                let mut kinds: Vec<_> = self.branches().flat_map(Self::kinds).collect();
                kinds.dedup();
                kinds
            }
        }
    }

    /// The words that are allowed; empty when it is not a choice of words.
    pub(super) fn choices(self) -> Vec<&'a str> {
        match self.keyword("enum").0.and_then(Value::as_array) {
            Some(options) => options.iter().filter_map(Value::as_str).collect(),
            None => self.branches().filter_map(|branch| branch.keyword("const").0?.as_str()).collect(),
        }
    }

    pub(super) fn keyword(self, name: &str) -> Self {
        Self(self.0.and_then(|schema| schema.get(name)))
    }

    pub(super) fn raw(self) -> Option<&'a Value> {
        self.0
    }

    /// schemars writes an enum with documented variants as `oneOf` constants.
    fn branches(self) -> impl Iterator<Item = Self> {
        let branches = self.keyword("oneOf").0.and_then(Value::as_array);
        branches.into_iter().flatten().map(Self::of)
    }
}
