use std::fmt::Write as _;
use std::time::Duration;

use countersign_repo::Until;
use proptest::prelude::*;

use super::{CHUNK_BYTES_MAX, CHUNKS_MAX, Chunk, Kind, Source, chunks_of_file, text_to_embed};

#[test]
fn each_kind_of_file_in_its_own_way() {
    for (path, text, expected) in [
        ("src/server/auth/helper.ts", "export const helper = 1;\n", vec!["code code auth helper 1-1"]),
        ("README.md", "# Project\n\nThe importer.\n", vec!["discovery note - Project 1-3"]),
        ("notes.txt", "One.\n\nTwo.\n", vec!["discovery note - - 1-3"]),
        ("LICENSE", "Free.\n", vec!["discovery note - - 1-1"]),
        ("config/app.yml", "a: b\n# TODO: c\n", vec!["discovery issue config - 2-2", "code code config - 1-2"]),
        ("schema.sql", "create table a (b int);\n", vec!["code code - - 1-1"]),
        ("strange.abc", "x\n", vec!["code code - - 1-1"]),
        ("src/empty.rs", "\n \n", vec![]),
        ("Cargo.lock", "[[package]]\n", vec![]),
        ("web/package-lock.json", "{}\n", vec![]),
        ("go.sum", "x v1\n", vec![]),
        ("data/a.csv", "a,b\n", vec![]),
        ("data/a.jsonl", "{\"a\":1}\n", vec![]),
        ("logo.svg", "<svg/>\n", vec![]),
        ("app.min.js", "a()\n", vec![]),
        ("binary.c", "int a;\0", vec![]),
    ] {
        assert_eq!(shown(path, text), expected, "{path}");
    }
    assert!(made("big.js", &"f();".repeat(2000)).is_empty(), "one long line is made by a program");
    assert!(made("big.json", &"{\"a\": 1}\n".repeat(10_000)).is_empty(), "large JSON is data");
    assert!(made("big.rs", &"fn a() {}\n".repeat(110_000)).is_empty(), "over the limit of the policy");
    let entry = "{\"type\":\"rule\",\"content\":\"x\"}\n";
    let memory = chunks_of_file(".claude/memory/log.jsonl", entry, None, true, &soon());
    assert_eq!(memory.iter().map(|chunk| (chunk.kind, chunk.text.as_str())).collect::<Vec<_>>(), [(Kind::Rule, "x")]);
}

#[test]
fn what_the_model_reads_begins_with_the_place() {
    let code = made("a/src/server/auth/AuthService.ts", "export class AuthService {}\n").remove(0);
    assert_eq!(text_to_embed(&code), "server/auth/AuthService.ts AuthService\nexport class AuthService {}");
    let commit = Chunk::new(Source::Discovery, Kind::Issue, "Fix it".to_owned());
    assert_eq!(text_to_embed(&commit), "Fix it");
    let entry = Chunk { path: Some(".claude/memory/decisions.jsonl".to_owned()), ..commit };
    assert_eq!(text_to_embed(&entry), "Fix it");
}

#[test]
fn a_class_that_fits_is_whole_and_one_that_does_not_is_cut_at_its_methods() {
    let method = |name: &str, lines: usize| {
        let body: String = (0..lines).fold(String::new(), |mut body, line| {
            let _ = writeln!(body, "        self.total += self.prices[{line}] * {line}");
            body
        });
        format!("    def {name}(self):\n{body}\n")
    };
    let small = format!("import os\n\nclass Small:\n{}{}", method("a", 2), method("b", 2));
    assert_eq!(shown("a.py", &small), ["code code - Small 1-10"]);
    let large =
        format!("import os\n\nclass Large:\n{}{}{}{}", method("a", 9), method("b", 9), method("c", 1), method("d", 60));
    let found = shown("a.py", &large);
    assert_eq!(found[..2], ["code code - Large, Large::a 1-13", "code code - Large::b, Large::c 15-27"]);
    assert!(found.len() > 4 && found[2..].iter().all(|chunk| chunk.contains(" Large::d ")), "{found:?}");
}

#[test]
fn small_neighbours_stay_together() {
    let text = (0..100).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "pub fn number_{number}() -> u32 {{\n    {number}\n}}\n");
        text
    });
    let found = made("src/numbers.rs", &text);
    assert!((4..20).contains(&found.len()), "{}", found.len());
    assert!(found.iter().all(|chunk| chunk.symbol.as_deref().unwrap().starts_with("number_")));
    assert!(found[0].symbol.as_deref().unwrap().starts_with("number_0, number_1, "));
}

#[test]
fn chunks_are_bounded() {
    let endless = "word ".repeat(20_000);
    let table = "key = \"value\"\n".repeat(60_000);
    let functions = "fn a() { let b = 1; }\n".repeat(40_000);
    let blank = "    ".repeat(100_000);
    for (path, text) in
        [("a.txt", &endless), ("a.md", &endless), ("a.toml", &table), ("a.rs", &functions), ("a.py", &blank)]
    {
        let found = made(path, text);
        assert!(found.len() <= CHUNKS_MAX, "{path}");
        assert!(found.iter().all(|chunk| chunk.text.len() <= CHUNK_BYTES_MAX), "{path}");
    }
}

const PATHS: [&str; 8] = ["a.rs", "a.ts", "a.py", "a.go", "a.cpp", "a.rb", "a.sql", "a.yml"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_line_of_code_is_lost(path in prop::sample::select(PATHS.to_vec()), text in any_code()) {
        let chunks = made(path, &text);
        for (number, line) in (1..).zip(text.split('\n')) {
            let found = chunks.iter().any(|chunk| {
                let (first, last) = chunk.lines.unwrap();
                chunk.source == Source::Code && (first..=last).contains(&number)
            });
            prop_assert!(found || line.trim().is_empty(), "line {number} of {text:?}");
        }
        for chunk in &chunks {
            prop_assert!(!chunk.text.trim().is_empty() && chunk.text.len() <= CHUNK_BYTES_MAX);
        }
    }

    #[test]
    fn any_text_gives_chunks_of_bounded_size(
        path in prop::sample::select(vec!["a.md", "docs/adr/1.md", "a.txt", "a.html", "a.php", "a.sh", "a.kt", "x"]),
        text in any::<String>(),
        more in any_code(),
        memory in any::<bool>(),
    ) {
        let text = text + &more;
        for chunk in chunks_of_file(path, &text, None, memory, &soon()) {
            prop_assert!(!chunk.text.trim().is_empty() && chunk.text.len() <= CHUNK_BYTES_MAX);
        }
    }
}

/// Lines that begin and end things, in any order: no compiler would take most of it.
fn any_code() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "",
        " ",
        "}",
        "{",
        "fn a() {",
        "class A {",
        "class B:",
        "    def c(self):",
        "def d",
        "end",
        "// TODO: e",
        "# f",
        "/*",
        "*/",
        "impl G {",
        "func (h *H) I() {",
        "const j = () => {",
        "---",
        "    return k;\r",
        "#define L 1",
        "mod m {",
        "\"",
        "```",
        "é = 'ü';",
    ]);
    let long = (1_usize..195).prop_map(|times| "word ".repeat(times));
    let any = prop_oneof![8 => line.prop_map(str::to_owned), 1 => long];
    prop::collection::vec(any, 0..120).prop_map(|lines| lines.join("\n"))
}

/// Source, kind, module, symbol and lines.
fn shown(path: &str, text: &str) -> Vec<String> {
    let or = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let chunks = made(path, text).into_iter();
    chunks
        .map(|chunk| {
            let source = match chunk.source {
                Source::Discovery => "discovery",
                Source::Session => "session",
                Source::Code => "code",
            };
            let (first, last) = chunk.lines.unwrap();
            format!("{source} {} {} {} {first}-{last}", chunk.kind.as_str(), or(chunk.module), or(chunk.symbol))
        })
        .collect()
}

fn made(path: &str, text: &str) -> Vec<Chunk> {
    chunks_of_file(path, text, None, false, &soon())
}

fn soon() -> Until {
    Until::new(Duration::from_mins(1), || false)
}
