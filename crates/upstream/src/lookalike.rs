//! Names that a person or a model would take for each other.

/// What is left of a name when everything that is easily overlooked is made the same. Names are ASCII by the time they
/// come here.
pub(crate) fn skeleton(name: &str) -> String {
    let mut letters = String::with_capacity(name.len());
    for letter in name.chars().flat_map(char::to_lowercase) {
        match letter {
            '-' | '_' | '.' => {}
            '0' => letters.push('o'),
            '1' | 'i' | '|' => letters.push('l'),
            '5' => letters.push('s'),
            letter => letters.push(letter),
        }
    }
    letters.replace("rn", "m").replace("vv", "w")
}

#[cfg(test)]
mod tests {
    use super::skeleton;

    #[test]
    fn what_looks_the_same_is_the_same() {
        for (one, other) in [
            ("read_file", "read-file"),
            ("read_file", "ReadFile"),
            ("list", "1ist"),
            ("list", "Iist"),
            ("format", "forrnat"),
            ("show", "sh0w"),
            ("write", "vvrite"),
        ] {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
        }
        for (one, other) in [("read_file", "read_files"), ("get", "set"), ("add", "and")] {
            assert_ne!(skeleton(one), skeleton(other), "{one} {other}");
        }
    }
}
