//! What must not come along, and what must come to an end.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::{Made, put};
use crate::{NotParsed, Until};

#[test]
fn nothing_that_may_not_be_read_comes_along() {
    let made = Made::of(&[
        (
            "dep/a.ts",
            "import './b';\nimport s from '../.env';\nimport o from '../../outside/canary';\nimport l from './evil';\n\
             import m from '../node_modules/pkg/index.js';\nimport g from '../.git/config';\nimport t from './to_env';\nimport b from './big';\n\
             import c from './latin';\nimport d from './dir';\n",
        ),
        ("dep/b.ts", "OK"),
        (".env", "CANARY"),
        (".git/config", "CANARY"),
        ("node_modules/pkg/index.js", "CANARY"),
        ("dep/big.ts", &"x".repeat(1024 * 1024 + 1)),
    ]);
    put(&made.folder.path().join("outside/canary.ts"), "CANARY");
    symlink("../../outside/canary.ts", made.path().join("dep/evil.ts")).unwrap();
    symlink("../.env", made.path().join("dep/to_env.ts")).unwrap();
    symlink("../../outside", made.path().join("dep/dir")).unwrap();
    fs::write(made.path().join("dep/latin.ts"), b"caf\xe9").unwrap();
    let found = made.dependencies("dep/a.ts");
    assert!(!format!("{found:?}").contains("CANARY"), "{found:?}");
    assert_eq!(made.included("dep/a.ts"), ["dep/b.ts"]);
    assert_eq!(
        made.left_out("dep/a.ts"),
        [
            "../.env refused",
            "../../outside/canary refused",
            "./evil refused",
            "../node_modules/pkg/index.js refused",
            "../.git/config refused",
            "./to_env refused",
            "./big too_large",
            "./latin not_text",
            "./dir refused",
        ]
    );
}

/// Manifests are input of the same kind: they may be links, nonsense or endless.
#[test]
fn hostile_manifests() {
    let made = Made::of(&[
        ("src/a.ts", "import '@/b';\nimport 'ws';\n"),
        ("src/b.ts", ""),
        (
            "tsconfig.json",
            "{\"extends\": \"./tsconfig.json\", \"compilerOptions\": {\"paths\": {\"@/*\": [\"../../outside/*\", \"src/*\", \"/etc/*\", 7]}}}",
        ),
        ("package.json", "{\"workspaces\": [\"**/**/**/**/**/**/**/**\", \"../*\", 3], \"name\": [1]}"),
        ("go.mod", &"replace (\n".repeat(10_000)),
        ("x.go", "package x\nimport \"y\"\n"),
        ("Cargo.toml", &"[a]\n[a.b]\n".repeat(1000)),
        ("lib.rs", "use a::b;\nmod c;\n"),
        ("composer.json", "[[[[[[[["),
        ("x.php", "<?php use A\\B;\n"),
    ]);
    assert_eq!(made.included("src/a.ts"), ["src/b.ts"]);
    for path in ["x.go", "lib.rs", "x.php"] {
        assert_eq!(made.included(path), Vec::<String>::new(), "{path}");
    }
    fs::remove_file(made.path().join("tsconfig.json")).unwrap();
    put(&made.folder.path().join("outside.json"), "{\"compilerOptions\": {\"paths\": {\"@/*\": [\"./src/*\"]}}}");
    symlink("../outside.json", made.path().join("tsconfig.json")).unwrap();
    assert_eq!(made.included("src/a.ts"), Vec::<String>::new(), "a manifest outside says nothing");
}

#[test]
fn many_imports_are_bounded() {
    let text: String = (0..5000).map(|at| format!("import './m{at}';\n")).collect();
    let made = Made::of(&[("many.ts", &text)]);
    let start = Instant::now();
    let found = made.dependencies("many.ts");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!((found.included.len(), found.left_out.len(), found.unlisted), (0, 200, 4800));

    let files: Vec<(String, String)> = (0..150).map(|at| (format!("m{at}.ts"), "x".repeat(20_000))).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let text: String = (0..150).map(|at| format!("import './m{at}';\n")).collect();
    files.push(("many.ts", &text));
    let made = Made::of(&files);
    let found = made.dependencies("many.ts");
    assert_eq!((found.included.len(), found.left_out.len()), (100, 50));
    assert!(found.included.iter().map(|dependency| dependency.content.len()).sum::<usize>() <= 2 * 1024 * 1024);
    assert_eq!(found.left_out[0].reason.as_str(), "limit");
}

#[test]
fn syntax_errors_are_told_with_their_line() {
    let broken =
        format!("import {{b}} from \"./b\";\n{}import {{ from \"./b\" ((( ;\nfunction {{{{{{\n", "// x\n".repeat(13));
    let made = Made::of(&[("broken.ts", &broken), ("b.ts", "")]);
    for _ in 0..2 {
        assert_eq!(made.try_dependencies("broken.ts"), Err(NotParsed::Syntax { line: 15 }), "also from memory");
    }
}

#[test]
fn whoever_waits_no_longer_gets_no_work_done() {
    let made = Made::of(&[("a.ts", "import './b';\n"), ("b.ts", "")]);
    let over = Until::new(Duration::ZERO, || false);
    let text = "import './b';\n".repeat(5000);
    assert_eq!(made.project.dependencies("a.ts", &text, &over), Err(NotParsed::TooSlow));
}

/// A language we do not parse has no dependencies, and that is no mistake.
#[test]
fn other_languages_have_none() {
    let made = Made::of(&[("a.md", "import './b'"), ("b.ts", "")]);
    assert_eq!(made.dependencies("a.md"), super::Dependencies::default());
}

/// Links between folders that lead in circles, and names that are no text.
#[test]
fn circles_of_folders() {
    let made = Made::of(&[("src/org/a/A.java", "package org.a;\nimport org.b.B;\n"), ("lib/org/b/B.java", "")]);
    symlink("..", made.path().join("src/loop")).unwrap();
    symlink("../..", made.path().join("lib/org/up")).unwrap();
    assert_eq!(made.included("src/org/a/A.java"), ["lib/org/b/B.java"]);
}
