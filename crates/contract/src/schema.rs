//! JSON Schemas that can be trusted to be cheap: bounded before they are compiled, never fetched from anywhere, matched
//! by a regular-expression engine that runs in linear time, and never asked for more looks than a value is worth.

mod bounds;
mod cost;
mod derive;
mod mistakes;
mod parts;
mod plan;
mod settle;
mod stranger;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use self::cost::{Cost, Detail};
pub use self::derive::derive_schema;
pub(crate) use self::derive::derive_tool_schema;
pub use self::mistakes::Mistake;

/// Compiled size of one pattern: ample for what people write, far below what `(a{1000}){1000}` asks for.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// A compiled schema together with the text it was compiled from.
#[derive(Debug)]
pub struct Schema {
    raw: Value,
    validator: Validator,
    cost: Cost,
}

/// Why a schema is not taken. Each is a reason to refuse the tool that brought it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaRejected {
    #[error("the schema is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the schema is nested more than {limit} levels deep")]
    TooDeep { limit: usize },
    #[error("the schema has more than {limit} parts")]
    TooManyParts { limit: usize },
    #[error("`$ref` to `{target}`: only references to what is inside the schema are followed, unescaped")]
    ForeignReference { target: String },
    #[error("a part has the identifier `{id}`: only the whole schema may have one, without a fragment")]
    OwnIdentifier { id: String },
    #[error("two parts have the anchor `{name}`")]
    RepeatedAnchor { name: String },
    #[error("`$ref` to `{target}` leads through more than {limit} others, or back to itself, at the same value")]
    LongChain { target: String, limit: usize },
    #[error("`$schema` is `{dialect}`: known are draft-04, -06, -07, 2019-09 and 2020-12")]
    UnknownDialect { dialect: String },
    #[error("not a valid JSON Schema: {reason}")]
    Invalid { reason: String },
}

impl Schema {
    /// Takes a schema of any draft (`$schema` decides, 2020-12 otherwise), within bounds and without looking elsewhere.
    pub fn compile(raw: Value) -> Result<Self, SchemaRejected> {
        bounds::check(&raw)?;
        let invalid = |error: jsonschema::ValidationError<'_>| SchemaRejected::Invalid {
            reason: error.masked_with("this part").to_string(),
        };
        let draft = dialect(&raw)?;
        // The metaschema first: its complaints are about the author's text, the compiler's are about our bounds.
        if let Err(error) = jsonschema::meta::options().validate(&raw) {
            return Err(invalid(error));
        }
        let validator = jsonschema::options()
            .with_draft(draft)
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(
                PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES),
            )
            .build(&raw)
            .map_err(invalid)?;
        Ok(Self { cost: Cost::of(&raw), raw, validator })
    }

    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// Every mistake in `instance`, with its place; empty when it is valid. Of a value that is too large for that, the
    /// first one.
    pub fn mistakes(&self, instance: &Value) -> Vec<Mistake> {
        if !self.cost.is_bearable(instance) {
            return vec![Mistake::whole("is too much to check")];
        }
        if self.validator.is_valid(instance) {
            return Vec::new();
        }
        match self.cost.detail(instance) {
            Detail::Everything => mistakes::describe(&self.raw, self.validator.iter_errors(instance)),
            Detail::First => mistakes::describe_first(&self.raw, self.validator.validate(instance).err()),
            Detail::Nothing => vec![Mistake::whole("breaks the schema, and is too large for the places to be named")],
        }
    }

    /// Mistakes in a value that a stranger made, without anything of the value: no names that the schema does not have.
    pub(crate) fn retold(&self, mistakes: &[Mistake]) -> Vec<Mistake> {
        stranger::retold(&self.raw, mistakes)
    }

    pub fn is_valid(&self, instance: &Value) -> bool {
        self.cost.is_bearable(instance) && self.validator.is_valid(instance)
    }

    /// Puts declared defaults in place of what is absent, and writes whole numbers as integers where those are asked for.
    pub fn settle(&self, instance: &mut Value) {
        settle::settle(&self.raw, instance);
    }

    /// Where a valid value that was settled still has no integer in place of one: the schema takes `1e18`, an `i64` does not.
    pub(crate) fn inexact(&self, instance: &Value) -> Vec<Mistake> {
        let mut found = Vec::new();
        settle::inexact(&self.raw, instance, "", &mut found);
        found
    }
}

fn dialect(raw: &Value) -> Result<Draft, SchemaRejected> {
    let Some(dialect) = raw.get("$schema").and_then(Value::as_str) else { return Ok(Draft::Draft202012) };
    let draft = Draft::default().detect(raw);
    if draft == Draft::Unknown {
        return Err(SchemaRejected::UnknownDialect { dialect: dialect.chars().take(100).collect() });
    }
    Ok(draft)
}

#[cfg(test)]
mod tests;
