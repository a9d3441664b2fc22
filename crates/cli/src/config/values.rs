//! Kinds of value that the file has beside texts and whole numbers, as they are written. Each one's schema accepts it
//! by `type` and `pattern` alone, never by `anyOf`: a validator can say what is wrong with a type, not with a choice.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

pub(super) const DURATION_PATTERN: &str = "^([0-9]+ ?(ms|s|m|h) ?)+$";
pub(super) const SIZE_PATTERN: &str = "^[0-9]+ ?(B|KB|KiB|MB|MiB|GB|GiB)$";
pub(super) const ALL_PATTERN: &str = "^all$";
pub(super) const EMBEDDED_PATTERN: &str = "^embedded$";
pub(super) const DATABASE_PATTERN: &str = "^(sqlite|postgres(ql)?://.+)$";

/// A body is held in memory, so a limit above this is none.
pub(super) const MAX_SIZE: u64 = 1 << 30;

/// Stands for a secret wherever people may look.
const HIDDEN: &str = "***";

/// A text that is never shown. Equality is for finding out whether a reloaded configuration differs.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(SecretString);

impl Secret {
    /// For showing a configuration of which only a digest is left.
    pub(super) fn hidden() -> Self {
        Self(SecretString::from(HIDDEN))
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// `30s`, `500ms`, `1m 30s`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DurationText(String);

impl DurationText {
    /// `None` when it does not fit into a duration; everything else was refused by the pattern.
    pub(super) fn duration(&self) -> Option<Duration> {
        humantime::parse_duration(&self.0).ok()
    }
}

impl From<Duration> for DurationText {
    /// In the largest unit that loses nothing. (`humantime` would write `2days`, which the pattern does not have.)
    fn from(duration: Duration) -> Self {
        let seconds = duration.as_secs();
        Self(match (duration.subsec_millis(), seconds) {
            (0, 0) => "0s".to_owned(),
            (0, seconds) if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
            (0, seconds) if seconds % 60 == 0 => format!("{}m", seconds / 60),
            (0, seconds) => format!("{seconds}s"),
            (1.., _) => format!("{}ms", duration.as_millis()),
        })
    }
}

impl JsonSchema for DurationText {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": DURATION_PATTERN})
    }
}

/// A number of bytes: `4194304` or `4MiB`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum SizeText {
    Bytes(u64),
    WithUnit(String),
}

impl SizeText {
    /// `None` when it does not fit into a number; everything else was refused by the pattern.
    pub(super) fn bytes(&self) -> Option<u64> {
        let text = match self {
            Self::Bytes(bytes) => return Some(*bytes),
            Self::WithUnit(text) => text,
        };
        let digits = text.find(|character: char| !character.is_ascii_digit())?;
        let (number, unit) = text.split_at(digits);
        let unit = match unit.trim() {
            "B" => 1,
            "KB" => 1000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(unit)
    }
}

impl JsonSchema for SizeText {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"], "minimum": 1, "maximum": MAX_SIZE, "pattern": SIZE_PATTERN})
    }
}

/// Calls a minute.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PerMinute(pub(super) u32);

impl JsonSchema for PerMinute {
    fn schema_name() -> Cow<'static, str> {
        "PerMinute".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 0, "maximum": 1_000_000})
    }
}

/// `all`, or a list of tool names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum ToolsText {
    /// The pattern leaves only `all`.
    Word(String),
    Names(Vec<String>),
}

impl Default for ToolsText {
    fn default() -> Self {
        Self::Word("all".to_owned())
    }
}

impl JsonSchema for ToolsText {
    fn schema_name() -> Cow<'static, str> {
        "Tools".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "array"], "pattern": ALL_PATTERN, "items": {"type": "string"}})
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DurationText, Secret, SizeText};

    #[test]
    fn durations_are_written_as_they_are_read() {
        for (text, milliseconds) in
            [("0s", 0), ("500ms", 500), ("30s", 30_000), ("90s", 90_000), ("2m", 120_000), ("48h", 172_800_000)]
        {
            let duration = Duration::from_millis(milliseconds);
            assert_eq!(DurationText(text.to_owned()).duration(), Some(duration), "{text}");
            assert_eq!(DurationText::from(duration).0, text);
        }
        assert_eq!(DurationText("1m 30s".to_owned()).duration(), Some(Duration::from_secs(90)));
        assert_eq!(DurationText("99999999999999999999s".to_owned()).duration(), None);
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("1B", 1), ("2 KB", 2000), ("4MiB", 4_194_304), ("1GiB", 1_073_741_824)] {
            assert_eq!(SizeText::WithUnit(text.to_owned()).bytes(), Some(bytes), "{text}");
        }
        assert_eq!(SizeText::WithUnit("99999999999999999999GB".to_owned()).bytes(), None);
    }

    #[test]
    fn a_secret_is_shown_as_stars() {
        let secret: Secret = serde_json::from_str(r#""hunter2""#).unwrap();
        assert_eq!(format!("{secret:?} {}", serde_json::to_string(&secret).unwrap()), r#"*** "***""#);
        assert_eq!(secret.expose(), "hunter2");
    }
}
