use super::super::{Chunk, File};
use super::chunks;

#[test]
fn sections_have_their_headings_and_their_kind() {
    let long = "Words that fill the page. ".repeat(45);
    let text = format!(
        "Before.\n\n# Guide\n\n{long}\n\n## Rules\n\n- Be kind.\n\n### Of naming\n\nUse words.\n\n## Install ##\n\n\
         ```sh\n# no heading\n```\n\nKnown issues\n------------\n\nIt is slow.\n\n## Empty\n\n## Use C#\n\nText.\n"
    );
    let expected = [
        "note 1-1 -: Before.",
        "note 3-5 Guide: # Guide",
        "rule 7-13 Guide > Rules: ## Rules",
        "note 15-19 Guide > Install: ## Install ##",
        "issue 21-24 Guide > Known issues: Known issues",
        "note 28-30 Guide > Use C#: ## Use C#",
    ];
    let found = shown("docs/guide.md", &text);
    // The long section is cut into two.
    assert_eq!(found.iter().filter(|line| line.contains(" Guide: ")).count(), 2, "{found:?}");
    let found: Vec<&String> = found.iter().filter(|line| !line.starts_with("note 5-5 Guide: ")).collect();
    assert_eq!(found, expected);
}

#[test]
fn decision_records_are_whole_and_have_their_date() {
    let adr = "# 1. Use PostgreSQL for the task store\n\nStatus: accepted\n\n## Decision\n\n\
               We choose PostgreSQL over MongoDB because tasks need transactions. OK_adr_database\n";
    let found = made("docs/adr/0001-use-postgresql.md", adr);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind.as_str(), found[0].module.as_deref()), ("decision", None));
    assert_eq!(found[0].text, adr.trim_end());
    for (path, text, kind, date) in [
        (
            "docs/x.md",
            "# X\n\n**Status**: proposed\n\n**Date:** 2025-01-15\n\n## Decision\n\nYes.\n",
            "decision",
            "2025-01-15",
        ),
        ("x.md", "---\ntype: adr\ndate: 2025-02-03\nmodule: auth\n---\n# X\n\nYes.\n", "decision", "2025-02-03"),
        ("x.md", "---\ndeciders: [ada]\n---\nYes.\n", "decision", ""),
        ("x.md", "# X\n\n## Outcome\n\nNo decision here.\n", "note", ""),
        ("docs/decisions/README.md", "# Index\n\nAll of them.\n", "decision", ""),
        ("docs/guide.md", "---\ntype: pattern\n---\nText.\n", "pattern", ""),
        ("docs/known-issues.md", "# List\n\nIt is slow.\n", "issue", ""),
        ("docs/a.md", "# A\n\n- You must ask.\n- Never guess.\n- Tea is served.\n", "rule", ""),
        ("docs/a.md", "# A\n\n- You must ask.\n- Tea is served.\n", "note", ""),
    ] {
        let found = made(path, text);
        let found_date = found[0].date.map(|date| date.to_string()).unwrap_or_default();
        assert_eq!(found[0].kind.as_str(), kind, "{path} {text}");
        assert!(found_date.starts_with(date) && date.is_empty() == found_date.is_empty(), "{found_date} {text}");
    }
    let found = made("adr/1.md", "---\nstatus: superseded\nmodule: auth\n---\n# X\n\nYes.\n");
    assert_eq!(
        (found[0].text.as_str(), found[0].module.as_deref()),
        ("# X\n\nYes.\n\nStatus: superseded", Some("auth"))
    );
}

#[test]
fn strange_pages_give_something_or_nothing() {
    for text in
        ["", "\n\n", "---\n", "---\na: b\n---", "# \n", "#\n##\n", "```\n# x\n", "=\n", "\n---\n", "a\n=\nb\n-\n"]
    {
        for chunk in made("a.md", text) {
            assert!(!chunk.text.trim().is_empty(), "{text:?}");
        }
    }
    let page = "# A\n".repeat(5000) + &"x".repeat(5000);
    assert!(made("a.md", &page).iter().all(|chunk| chunk.text.len() <= 1500));
}

/// Kind, lines, headings and first line of each.
fn shown(path: &str, text: &str) -> Vec<String> {
    let chunks = made(path, text);
    chunks
        .iter()
        .map(|chunk| {
            let (first, last) = chunk.lines.unwrap();
            let symbol = chunk.symbol.as_deref().unwrap_or("-");
            format!(
                "{} {first}-{last} {symbol}: {}",
                chunk.kind.as_str(),
                chunk.text.lines().next().unwrap_or_default()
            )
        })
        .collect()
}

fn made(path: &str, text: &str) -> Vec<Chunk> {
    chunks(&File { path, text, modified: None })
}
