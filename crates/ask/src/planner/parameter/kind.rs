//! What sort of text a parameter wants, told from its name, its description and its format.

use std::sync::LazyLock;

use regex::Regex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::planner) enum Kind {
    Zone,
    Url,
    Email,
    Date,
    Time,
    /// A pattern of files.
    Glob,
    /// Something to look for.
    Term,
    Path,
    Place,
    Currency,
    Name,
    /// Whole sentences.
    Text,
    /// One of a few words.
    Category,
    Id,
    Any,
}

/// The first rule that holds decides.
struct Rule {
    kind: Kind,
    within: Within,
    /// Words, each from its beginning.
    words: &'static str,
    /// Words in the name that speak against it.
    unless: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Name,
    /// Name and description.
    All,
    Description,
    Format,
}

const RULES: [Rule; 24] = [
    rule(Kind::Zone, Within::Name, r"time ?zone|tz\b"),
    rule(Kind::Zone, Within::All, "iana"),
    rule(Kind::Url, Within::Name, "url|uri|link|website"),
    rule(Kind::Url, Within::Format, r"uri\b"),
    rule(Kind::Email, Within::Name, "e ?mail"),
    rule(Kind::Date, Within::All, r"\w*yyyy|iso[- ]?8601"),
    rule(Kind::Date, Within::Format, r"date\b|date-time"),
    rule(Kind::Date, Within::Name, r"date|timestamp|day\b|deadline|birthday|dob\b"),
    rule(Kind::Time, Within::All, "hh:mm|24-hour"),
    rule(Kind::Time, Within::Name, r"time\b"),
    rule(Kind::Time, Within::Format, r"time\b"),
    rule(Kind::Glob, Within::All, r"globs?\b"),
    rule(Kind::Term, Within::Name, r"pattern|keyword|term\b|regex|symbol|word\b"),
    rule(Kind::Path, Within::Name, r"path|file|folder|directory|dir\b|dataset"),
    rule(Kind::Path, Within::All, "file path|path to"),
    rule(
        Kind::Place,
        Within::Name,
        "location|city|cities|place|country|region|state|address|origin|destination|departure|venue|town|airport|where|area",
    ),
    rule(Kind::Place, Within::All, r"city\b|location\b|country\b"),
    rule(Kind::Currency, Within::Name, "currency|currencies"),
    Rule { kind: Kind::Name, within: Within::Description, words: r"name of\b", unless: r"title|type\b" },
    Rule {
        kind: Kind::Text,
        within: Within::Name,
        words: "query|text|message|content|prompt|question|body|entry|sentence|search|note|comment|description|summary|\
                caption|command|instruction|input|statement|title",
        unless: r"id\b|name\b|type\b|language",
    },
    rule(Kind::Term, Within::Name, "topic|subject|expression|function|equation|formula|code"),
    rule(
        Kind::Category,
        Within::Name,
        "unit|currency|format|type|mode|color|colour|language|genre|category|gender|level|method|order|style|status|size|\
         species|cuisine",
    ),
    rule(Kind::Id, Within::Name, r"id\b|code|number|identifier|key|token|symbol|ticker|sku|hash|sha"),
    rule(
        Kind::Name,
        Within::Name,
        "name|person|artist|author|player|team|company|brand|actor|director|recipient|title|user|party|parties|member|\
         participant|owner|customer",
    ),
];

const fn rule(kind: Kind, within: Within, words: &'static str) -> Rule {
    Rule { kind, within, words, unless: "" }
}

impl Kind {
    /// The name in words, in lower case.
    pub(super) fn of(name: &str, description: &str, format: Option<&str>) -> Self {
        let description = description.to_lowercase();
        let all = format!("{name} | {description}");
        let holds = |at: &usize| {
            let Rule { within, unless, .. } = &RULES[*at];
            let text = match within {
                Within::Name => name,
                Within::All => &all,
                Within::Description => &description,
                Within::Format => format.unwrap_or_default(),
            };
            let (words, against) = &PATTERNS[*at];
            words.is_match(text) && (unless.is_empty() || !against.is_match(name))
        };
        (0..RULES.len()).find(holds).map_or(Self::Any, |at| RULES[at].kind)
    }
}

/// For each rule: its words, and those against it.
#[expect(clippy::expect_used, reason = "the words are constants, and every tool that is read compiles them")]
static PATTERNS: LazyLock<Vec<(Regex, Regex)>> = LazyLock::new(|| {
    let compile = |words: &str| Regex::new(&format!(r"\b(?:{words})")).expect("a valid pattern");
    RULES.iter().map(|rule| (compile(rule.words), compile(rule.unless))).collect()
});
