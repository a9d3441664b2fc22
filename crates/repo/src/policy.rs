//! What a tool may read, as data: one policy a tool.

use crate::replace::is_temporary;

/// Rules on names and sizes. They hold for what was asked for and for what was found.
#[derive(Debug, Clone, Copy)]
pub struct PathPolicy {
    /// No component of a path may match one of these, in any letter case.
    pub blocked: &'static [Name],
    pub parents: ParentRule,
    pub max_bytes: u64,
}

/// A name of a file or a folder, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    Is(&'static str),
    BeginsWith(&'static str),
    Contains(&'static str),
}

/// What counts as going up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentRule {
    /// Two dots anywhere, even inside a name.
    TwoDots,
    /// A component that is `..`.
    Component,
}

impl PathPolicy {
    pub(crate) fn blocks(&self, component: &str) -> bool {
        // Nobody sees a file before it is whole.
        if is_temporary(component) {
            return true;
        }
        let begins = |text: &[u8], with: &str| {
            text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
        };
        self.blocked.iter().any(|name| match name {
            // A dot or a space at the end is the same file on some systems, and hides nothing of interest on others.
            Name::Is(name) => component.trim_end_matches(['.', ' ']).eq_ignore_ascii_case(name),
            Name::BeginsWith(beginning) => begins(component.as_bytes(), beginning),
            Name::Contains(part) => component.as_bytes().windows(part.len()).any(|window| begins(window, part)),
        })
    }

    /// Whether a request is written so that it leads upwards.
    pub fn goes_up(&self, request: &str) -> bool {
        match self.parents {
            ParentRule::TwoDots => request.contains(".."),
            ParentRule::Component => request.split(['/', '\\']).any(|component| component == ".."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Name, ParentRule, PathPolicy};

    const POLICY: PathPolicy = PathPolicy {
        blocked: &[Name::Is(".git"), Name::BeginsWith(".env"), Name::Contains("secret")],
        parents: ParentRule::TwoDots,
        max_bytes: 10,
    };

    #[test]
    fn names_are_blocked_in_any_letter_case() {
        for name in [".git", ".GIT", ".git.", ".env", ".ENV.local", ".envrc", "my-Secrets.txt"] {
            assert!(POLICY.blocks(name), "{name}");
        }
        for name in [".gitignore", ".github", "git", "env", "environment", "secre", "README.md"] {
            assert!(!POLICY.blocks(name), "{name}");
        }
    }

    #[test]
    fn going_up_is_what_the_policy_says() {
        let component = PathPolicy { parents: ParentRule::Component, ..POLICY };
        for (request, two_dots, by_component) in [
            ("a/../b", true, true),
            ("..", true, true),
            ("a..b", true, false),
            ("a/b", false, false),
            ("a\\..", true, true),
        ] {
            assert_eq!((POLICY.goes_up(request), component.goes_up(request)), (two_dots, by_component), "{request}");
        }
    }
}
