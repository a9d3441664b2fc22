use std::time::{Duration, Instant};

use super::{Grammar, NotParsed, Parsed, Step};
use crate::Until;

const ALL: [(Grammar, &str); 14] = [
    (Grammar::TypeScript, "const x: number = <number>1;\n"),
    (Grammar::Tsx, "const x = <div>{1}</div>;\n"),
    (Grammar::JavaScript, "const x = <div/>;\n"),
    (Grammar::Python, "def f(x: int) -> int:\n    return x\n"),
    (Grammar::Rust, "fn main() {}\n"),
    (Grammar::Go, "package main\nfunc main() {}\n"),
    (Grammar::Java, "class A {}\n"),
    (Grammar::Kotlin, "class A\n"),
    (Grammar::C, "int main(void) { return 0; }\n"),
    (Grammar::Cpp, "class A {};\n"),
    (Grammar::CSharp, "class A {}\n"),
    (Grammar::Ruby, "class A\nend\n"),
    (Grammar::Php, "<?php class A {}\n"),
    (Grammar::Bash, "echo a\n"),
];

#[test]
fn every_grammar_fits_the_parser() {
    for (grammar, text) in ALL {
        let parsed = Parsed::new(grammar, text, &soon()).unwrap();
        assert_eq!(parsed.mistake(|_| true), None, "{grammar:?}");
        assert!(!parsed.root().has_error(), "{grammar:?}");
    }
}

#[test]
fn mistakes_count_where_they_may_hide_a_statement() {
    for (text, line) in [
        ("import {a} from './a';\n", None),
        ("import {a} from './a';\n\nimport { from './b' ((( ;\nfunction {{{\n", Some(3)),
        ("import {a} from './a';\nfunction f() {\n  const x = (;\n}\n", None),
        ("import {a, from './a';\nconst x = 1;\n", Some(1)),
        ("import {a} from './a';\nfunction {{{\n", None),
        // The grammar does not know this; the compiler does.
        ("export declare function f<T>(): import('./x').Y<T>;\n", None),
        ("", None),
    ] {
        let parsed = Parsed::new(Grammar::TypeScript, text, &soon()).unwrap();
        assert_eq!(parsed.mistake(|kind| kind == "import_statement"), line, "{text}");
    }
}

#[test]
fn hostile_texts_end_in_time() {
    let half = 256 * 1024;
    let texts = [
        "(".repeat(2 * half),
        "[".repeat(half) + &"]".repeat(half),
        "a(".repeat(half),
        "<a>".repeat(half),
        "if x:\n ".repeat(half / 8),
        "`${".repeat(half / 3),
        "'\\".repeat(half),
        "import ".repeat(half / 7),
        "/*".repeat(half),
        "\u{0}\u{feff}\u{202e}".repeat(half / 8),
        "#if 1\n".repeat(half / 6),
        "$(".repeat(half),
        "<<A\n".repeat(half / 4),
        "((a)?b:".repeat(half / 7),
    ];
    for (grammar, _) in ALL {
        for text in &texts {
            let (start, time) = (Instant::now(), Duration::from_millis(10));
            let outcome =
                Parsed::new(grammar, text, &within(time)).and_then(|parsed| parsed.walk(&within(time), |_| Step::Into));
            let took = start.elapsed();
            let what = text.get(..8).unwrap_or_default();
            assert!(took < Duration::from_secs(3), "{took:?} for {grammar:?} {what:?}: {outcome:?}");
        }
    }
}

/// Nesting that overflows whoever follows it by recursion, on a stack like that of our threads.
#[test]
fn deep_texts_are_walked_on_a_small_stack() {
    let deep = 50_000;
    let text = "[".repeat(deep) + &"]".repeat(deep);
    let walk = move || {
        let parsed = Parsed::new(Grammar::JavaScript, &text, &soon()).unwrap();
        let mut depth = 0;
        parsed.walk(&soon(), |_| {
            depth += 1;
            Step::Into
        })?;
        Ok::<_, NotParsed>((depth, parsed.mistake(|_| true)))
    };
    let walked = std::thread::Builder::new().stack_size(1024 * 1024).spawn(walk).unwrap().join().unwrap().unwrap();
    assert!(walked.0 >= deep, "{walked:?}");
}

#[test]
fn whoever_is_gone_is_not_worked_for() {
    let gone = Until::new(Duration::from_mins(1), || true);
    let text = "f(1);\n".repeat(10_000);
    assert_eq!(Parsed::new(Grammar::JavaScript, &text, &gone).map(drop), Err(NotParsed::TooSlow));
    let parsed = Parsed::new(Grammar::JavaScript, &text, &soon()).unwrap();
    assert_eq!(parsed.walk(&gone, |_| Step::Into), Err(NotParsed::TooSlow));
}

fn soon() -> Until {
    within(Duration::from_mins(1))
}

fn within(time: Duration) -> Until {
    Until::new(time, || false)
}
