//! Lines as they are shown: as text whatever their bytes are, and not longer than a person reads.

/// Characters of a line that are shown; minified files have a million.
const SHOWN: usize = 500;

/// Of these, at least so many are kept for what is before the match.
const BEFORE: usize = 100;

const CUT: char = '…';

/// Bytes that are no characters count as one each time they stand for one replacement.
pub(super) fn characters(bytes: &[u8]) -> u64 {
    let count =
        |chunk: std::str::Utf8Chunk<'_>| chunk.valid().chars().count() as u64 + u64::from(!chunk.invalid().is_empty());
    bytes.utf8_chunks().map(count).sum()
}

/// The line around a match that starts at this byte.
pub(super) fn around(line: &[u8], start: usize) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if fits(line) {
        return text(line);
    }
    let (before, after) = line.split_at(start.min(line.len()));
    let (after, more) = first(after, SHOWN - BEFORE);
    let (before, less) = last(before, SHOWN - after.chars().count());
    let mut shown = String::with_capacity(before.len() + after.len() + 2 * CUT.len_utf8());
    shown.extend(less.then_some(CUT));
    shown.push_str(&before);
    shown.push_str(&after);
    shown.extend(more.then_some(CUT));
    shown
}

/// The line from its beginning.
pub(super) fn beginning(line: &[u8]) -> String {
    around(line, 0)
}

fn fits(line: &[u8]) -> bool {
    line.len() <= SHOWN || (line.len() <= 4 * SHOWN && characters(line) <= SHOWN as u64)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// So many characters at most, and whether there are more. No character has more than four bytes.
fn first(bytes: &[u8], count: usize) -> (String, bool) {
    let part = text(&bytes[..bytes.len().min(4 * (count + 1))]);
    match part.char_indices().nth(count) {
        Some((end, _)) => (part[..end].to_owned(), true),
        None => (part, false),
    }
}

fn last(bytes: &[u8], count: usize) -> (String, bool) {
    let part = text(&bytes[bytes.len().saturating_sub(4 * (count + 1))..]);
    match part.char_indices().rev().nth(count) {
        Some((start, cut)) => (part[start + cut.len_utf8()..].to_owned(), true),
        None => (part, false),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_lines_are_shown_whole() {
        for (line, shown) in [
            (&b"  let x = 1;\r"[..], "  let x = 1;"),
            (b"", ""),
            (b"caf\xe9", "caf\u{fffd}"),
            ("ß".repeat(SHOWN).as_bytes(), &*"ß".repeat(SHOWN)),
        ] {
            assert_eq!(around(line, 0), shown);
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_match() {
        let line = format!("{}needle{}", "a".repeat(10_000), "b".repeat(10_000));
        let expected = format!("…{}needle{}…", "a".repeat(BEFORE), "b".repeat(SHOWN - BEFORE - 6));
        assert_eq!(around(line.as_bytes(), 10_000), expected);
        let at_the_end = format!("{}needle", "ä".repeat(10_000));
        assert_eq!(around(at_the_end.as_bytes(), 20_000), format!("…{}needle", "ä".repeat(SHOWN - 6)));
        assert_eq!(beginning(line.as_bytes()), format!("{}…", "a".repeat(SHOWN - BEFORE)));
    }

    proptest! {
        #[test]
        fn what_is_shown_is_short_and_has_the_match(before in ".{0,900}", after in ".{0,900}", rest in "[ -~]{0,600}") {
            let line = format!("{before}NEEDLE{after}{rest}");
            let shown = around(line.as_bytes(), before.len());
            prop_assert!(shown.chars().count() <= SHOWN + 2);
            prop_assert!(shown.contains("NEEDLE"));
            prop_assert!(line.contains(shown.trim_matches(CUT)) || line.ends_with('\r'));
        }

        #[test]
        fn any_bytes_can_be_shown(line in prop::collection::vec(any::<u8>(), 0..3000), start in 0_usize..3000) {
            let start = start.min(line.len());
            prop_assert!(around(&line, start).chars().count() <= SHOWN + 2);
            prop_assert_eq!(characters(&line[..start]), String::from_utf8_lossy(&line[..start]).chars().count() as u64);
        }
    }
}
