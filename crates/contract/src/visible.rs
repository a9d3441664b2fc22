//! Text as a person may be shown it who has to decide by it: nothing in it hides, moves or colours anything.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How what is written out begins. Where a text has that itself, it is written out, too: two texts never look the same.
const WRITTEN_OUT: &str = "\\u{";

/// The text with everything that does not show itself written out, as `\u{202e}`. Line breaks stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hides) && !text.contains(WRITTEN_OUT) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (at, character) in text.char_indices() {
        if hides(character) || text[at..].starts_with(WRITTEN_OUT) {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Controls, marks of direction, spaces that are not the usual one, strokes through other letters, and what has no
/// width; see Unicode's general categories Cc, Cf and Zs and its list of ignorable code points.
fn hides(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{a0}'
        | '\u{ad}'
        | '\u{334}'..='\u{338}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{1680}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{16fe4}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d159}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_hides_is_written_out() {
        for (text, shown) in [
            ("plain é😀\nnext\tline", "plain é😀\nnext\tline"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\u{202e}b\u{200b}c", "a\\u{202e}b\\u{200b}c"),
            ("\r\u{0}\u{7f}\u{85}", "\\u{d}\\u{0}\\u{7f}\\u{85}"),
            ("\u{e0041}\u{a0}\u{13430}", "\\u{e0041}\\u{a0}\\u{13430}"),
            ("a literal \\u{202e}, C:\\users", "a literal \\u{5c}u{202e}, C:\\users"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
