//! Where a text may be cut without becoming another: not within a word or a number, and not between a number and its
//! sign. "valid" is no part of "invalid", 21 none of 210, 1 none of 1.5 and 5 none of -5.
//!
//! What is between spaces is not looked at: whoever quotes "1" of "1 000" gets past this, unless that space is one that
//! does not break.

/// In front of a number.
const SIGNS: [char; 12] = ['-', '+', '\u{2212}', '\u{2013}', '±', '~', '≈', '<', '>', '≤', '≥', '∓'];

const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₹', '₩'];

/// Behind a number.
const UNITS: [char; 6] = ['%', '‰', '°', '′', '″', '+'];

/// Between the digits of a number, a version, a date, a time or a range.
const WITHIN_NUMBERS: [char; 18] = [
    '.', ',', ':', '/', '-', '\'', '’', '_', '·', '\u{2010}', '\u{2011}', '\u{2013}', '\u{2212}', '\u{66b}', '\u{66c}',
    '\u{a0}', '\u{202f}', '\u{2009}',
];

/// Between the letters of a word: "can't", "non-toxic", "1e+300".
const WITHIN_WORDS: [char; 7] = ['-', '+', '\'', '’', '\u{2010}', '\u{2011}', '\u{ad}'];

/// Whether what ends here and what begins here belong together. `before` goes backwards.
pub(super) fn is_within(before: impl Iterator<Item = char>, after: impl Iterator<Item = char>) -> bool {
    let (mut before, mut after) = (before, after);
    let (Some(left), Some(right)) = (before.next(), after.next()) else { return false };
    let (further_left, further_right) = (before.next(), after.next());
    is_mark(right)
        || are_one_word(left, right)
        || further_right.is_some_and(|behind| joins(left, right, behind))
        || further_left.is_some_and(|ahead| joins(ahead, left, right))
        || is_signed(further_left, left, right, further_right)
        || left.is_numeric() && (UNITS.contains(&right) || CURRENCIES.contains(&right))
}

fn are_one_word(left: char, right: char) -> bool {
    is_of_word(left) && is_of_word(right)
}

fn joins(left: char, between: char, right: char) -> bool {
    left.is_numeric() && right.is_numeric() && WITHIN_NUMBERS.contains(&between)
        || are_one_word(left, right) && WITHIN_WORDS.contains(&between)
}

/// "-5", "-$5", "$-5", ".5"; the hyphen of "route-5" is another rule's.
fn is_signed(further_left: Option<char>, left: char, right: char, further_right: Option<char>) -> bool {
    let begins_here = !further_left.is_some_and(is_of_word);
    let is_number = |first: char, second: Option<char>| {
        let prefixes = first == '.' || CURRENCIES.contains(&first) || SIGNS.contains(&first);
        first.is_numeric() || prefixes && second.is_some_and(char::is_numeric)
    };
    (SIGNS.contains(&left) && begins_here || CURRENCIES.contains(&left)) && is_number(right, further_right)
        || left == '.' && begins_here && further_left != Some('.') && right.is_numeric()
}

/// Of a script that puts spaces between words.
fn is_of_word(c: char) -> bool {
    (c.is_alphanumeric() || c == '_' || is_mark(c)) && !is_of_unspaced_script(c)
}

/// Nobody can tell by its letters where a word ends: Thai, Lao, Tibetan, Burmese, Khmer, Chinese, Japanese.
fn is_of_unspaced_script(c: char) -> bool {
    // Numbers that are written with signs of the script have no edges either.
    let is_digit = c.is_numeric() && !matches!(c, '\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303a}');
    let is_of_script = matches!(c,
        '\u{e00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{1aad}'
        | '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aadf}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}'
    );
    is_of_script && !is_digit
}

/// What stands above, below or between letters and is none itself.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{65f}'
        | '\u{93c}' | '\u{94d}' | '\u{9bc}' | '\u{9cd}' | '\u{a3c}' | '\u{a4d}' | '\u{abc}' | '\u{acd}' | '\u{b3c}'
        | '\u{b4d}' | '\u{bcd}' | '\u{c4d}' | '\u{cbc}' | '\u{ccd}' | '\u{d4d}' | '\u{dca}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{200c}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{3099}' | '\u{309a}'
    )
}
