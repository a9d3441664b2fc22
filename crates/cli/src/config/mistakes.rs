//! What is wrong with a configuration, in the words and at the places where its author can correct it. Values are never
//! repeated: any of them may be a secret.

use std::fmt;

use serde::Serialize;

/// More than this helps nobody.
const MAX_SHOWN: usize = 64;

/// Everything that is wrong, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct ConfigMistakes {
    mistakes: Vec<ConfigMistake>,
    #[serde(skip)]
    hint: &'static str,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ConfigMistake {
    #[serde(flatten)]
    pub(crate) place: Place,
    /// The key as people write it, `auth.tokens[0].name`; empty for the whole file.
    pub(crate) key: String,
    pub(crate) message: String,
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Place {
    /// `line` is absent when it is about the file as a whole.
    File {
        file: String,
        line: Option<usize>,
    },
    Variable {
        variable: String,
    },
    Flag {
        flag: &'static str,
    },
    /// Nobody wrote it: it follows from defaults, or from several places.
    Nowhere {},
}

impl ConfigMistakes {
    /// `None` when there is nothing to complain about.
    pub(super) fn of(mut mistakes: Vec<ConfigMistake>, hint: &'static str) -> Option<Self> {
        mistakes.sort_by(|left, right| left.place.rank().cmp(&right.place.rank()));
        (!mistakes.is_empty()).then_some(Self { mistakes, hint })
    }

    pub(super) fn one(mistake: ConfigMistake, hint: &'static str) -> Self {
        Self { mistakes: vec![mistake], hint }
    }

    pub(crate) fn count(&self) -> usize {
        self.mistakes.len()
    }

    pub(crate) fn hint(&self) -> &str {
        if self.mistakes.iter().all(|mistake| matches!(mistake.place, Place::Flag { .. })) {
            return "`--help` explains the flags";
        }
        self.hint
    }
}

impl Place {
    /// The file from top to bottom, then what was laid over it.
    fn rank(&self) -> (u8, usize, &str) {
        match self {
            Self::File { line, .. } => (0, line.unwrap_or(usize::MAX), ""),
            Self::Variable { variable } => (1, 0, variable),
            Self::Flag { flag } => (2, 0, flag),
            Self::Nowhere {} => (3, 0, ""),
        }
    }
}

impl fmt::Display for ConfigMistakes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<_> = self.mistakes.iter().take(MAX_SHOWN).map(ToString::to_string).collect();
        formatter.write_str(&shown.join("\n"))?;
        match self.mistakes.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for ConfigMistakes {}

impl fmt::Display for ConfigMistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { file, line: Some(line) } => write!(formatter, "{file}:{line}: ")?,
            Place::File { file, line: None } => write!(formatter, "{file}: ")?,
            Place::Variable { variable } => write!(formatter, "{variable}: ")?,
            Place::Flag { flag } => write!(formatter, "{flag}: ")?,
            Place::Nowhere {} => {}
        }
        if !self.key.is_empty() {
            write!(formatter, "{}: ", self.key)?;
        }
        formatter.write_str(&self.message)
    }
}
