//! What chunks were made from, and how it is known that they need not be made again.

/// Raised when the same text gives other chunks than before: everything is cut anew then.
const VERSION: u8 = 2;

const FILE: &str = "file:";
const SESSION: &str = "session:";

/// A file or a session; all its chunks come and go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// `file:src/main.rs`, `session:session-2025-01-15-0123abcd`.
    pub(crate) name: String,
    /// Of all that its chunks depend on, beside what is outside of the text: a file that is only touched is the same.
    pub(crate) digest: [u8; 32],
}

impl Origin {
    pub(crate) fn of_file(path: &str, text: &str) -> Self {
        Self { name: Self::name_of_file(path), digest: digest([text.as_bytes()]) }
    }

    pub(crate) fn name_of_file(path: &str) -> String {
        format!("{FILE}{path}")
    }

    /// `commits` are their ids: what a commit says never changes.
    pub(crate) fn of_session<'c>(id: &str, commits: impl IntoIterator<Item = &'c [u8]>) -> Self {
        Self { name: format!("{SESSION}{id}"), digest: digest(commits) }
    }

    /// Whether that is the name of a session.
    pub(crate) fn is_session(name: &str) -> bool {
        name.starts_with(SESSION)
    }
}

fn digest<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[VERSION]);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn an_origin_is_known_by_its_name_and_what_it_says() {
        let file = Origin::of_file("src/a.rs", "fn a() {}");
        assert_eq!(file.name, "file:src/a.rs");
        assert_eq!(file, Origin::of_file("src/a.rs", "fn a() {}"));
        assert_ne!(file.digest, Origin::of_file("src/a.rs", "fn b() {}").digest);
        let session = Origin::of_session("session-2025-01-15-0123abcd", [&[1_u8, 2][..], &[3]]);
        assert!(Origin::is_session(&session.name) && !Origin::is_session(&file.name));
        assert_ne!(session.digest, Origin::of_session("session-2025-01-15-0123abcd", [&[1_u8, 2][..]]).digest);
    }
}
