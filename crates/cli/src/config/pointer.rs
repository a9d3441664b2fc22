//! Places inside a value: a list of steps, written as a JSON Pointer by the validator and as `http.listen` for people.

/// Longer keys are cut where they are shown; a file can make them as long as it likes.
const MAX_KEY: usize = 60;

/// The steps of a JSON Pointer.
pub(super) fn steps(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

/// `auth.tokens[0].name`: numbers are items, and a key that could be misread is quoted.
pub(super) fn shown<S: AsRef<str>>(steps: &[S]) -> String {
    let mut path = String::new();
    for step in steps {
        let step = step.as_ref();
        let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if !step.is_empty() && step.chars().all(|character| character.is_ascii_digit()) {
            path.extend(["[", step, "]"]);
        } else if !step.is_empty() && step.len() <= MAX_KEY && step.chars().all(plain) {
            path.extend([if path.is_empty() { "" } else { "." }, step]);
        } else {
            let cut: String = step.chars().take(MAX_KEY).collect();
            path.extend(["[", &format!("{cut:?}"), "]"]);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    #[test]
    fn keys_are_shown_as_people_write_them() {
        for (pointer, shown) in [
            ("", ""),
            ("/http/listen", "http.listen"),
            ("/auth/tokens/0/name", "auth.tokens[0].name"),
            ("/approval/web-fetch", "approval.web-fetch"),
            ("/approval/a~1b", "approval[\"a/b\"]"),
            ("/two words", "[\"two words\"]"),
        ] {
            assert_eq!(super::shown(&super::steps(pointer)), shown);
        }
    }
}
