use std::process::Command;

use super::arrows::{Kind, Package, Use};
use super::tree::TextFile;
use super::*;
use crate::process;
use Answer::{Fires, Silent};

#[test]
fn the_workspace_is_tidy() {
    let findings = all(&Workspace::find().unwrap()).unwrap();
    let listed: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(listed.is_empty(), "{}", listed.join("\n"));
}

#[test]
fn the_tree_has_new_and_tracked_text_but_nothing_ignored() {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in [
        (".gitignore", b"ignored\n".as_slice()),
        ("tracked.rs", b"//! x\n"),
        ("gone.rs", b""),
        ("new.md", b"x"),
        ("ignored", b"x"),
        ("binary", b"\xff"),
    ] {
        std::fs::write(folder.path().join(path), bytes).unwrap();
    }
    for arguments in [["init", "--quiet"].as_slice(), &["add", "tracked.rs", "gone.rs"]] {
        process::succeed(Command::new("git").args(arguments).current_dir(folder.path())).unwrap();
    }
    std::fs::remove_file(folder.path().join("gone.rs")).unwrap();

    let tree = Tree::load(folder.path()).unwrap();
    let paths: Vec<&str> = tree.files().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, [".gitignore", "new.md", "tracked.rs"]);
}

#[test]
fn crates_use_each_other_along_the_table() {
    for (name, used, kind, answer) in [
        ("countersign-store", "countersign-contract", Kind::Shipped, Silent),
        ("countersign-index", "countersign-store", Kind::Shipped, Silent),
        ("countersign-contract", "serde", Kind::Shipped, Silent),
        ("countersign", "countersign-tools", Kind::Shipped, Silent),
        ("xtask", "countersign", Kind::Shipped, Silent),
        ("countersign-host", "countersign-tools", Kind::TestOnly, Silent),
        ("countersign-host", "countersign-tools", Kind::Shipped, Fires),
        ("countersign-transports", "countersign-store", Kind::Shipped, Fires),
        ("countersign-contract", "countersign-host", Kind::Shipped, Fires),
        ("countersign-contract", "countersign-host", Kind::TestOnly, Fires),
        ("countersign-utils", "serde", Kind::Shipped, Fires),
    ] {
        let findings = arrows::crates(&[package(name, used, kind)]);
        assert_eq!(Answer::of(&findings), answer, "{name} -> {used}: {findings:?}");
    }
    assert_eq!(
        arrows::crates(&[package("countersign-host", "countersign-store", Kind::Shipped)])[0].to_string(),
        "crates/x/Cargo.toml:7: `countersign-host` must not use `countersign-store`: the arrow points the wrong way"
    );
}

#[test]
fn crates_of_others_stay_where_they_belong() {
    for (name, used, kind, answer) in [
        ("countersign-store", "sqlx", Kind::Shipped, Silent),
        ("countersign-tools", "sqlx", Kind::Shipped, Fires),
        ("countersign", "anyhow", Kind::Shipped, Silent),
        ("countersign-host", "anyhow", Kind::Shipped, Fires),
        ("countersign-transports", "hyper", Kind::Shipped, Silent),
        ("countersign-transports", "axum", Kind::Shipped, Fires),
        ("countersign-ask", "axum", Kind::TestOnly, Silent),
        ("countersign-tools", "hyper", Kind::Shipped, Silent),
        ("countersign-host", "hyper", Kind::Shipped, Fires),
        ("countersign-host", "rmcp", Kind::Shipped, Silent),
        ("countersign-tools", "rmcp", Kind::Shipped, Fires),
        ("countersign-contract", "sqlx", Kind::TestOnly, Fires),
    ] {
        let findings = arrows::externals(&[package(name, used, kind)]);
        assert_eq!(Answer::of(&findings), answer, "{name} -> {used}: {findings:?}");
    }
}

#[test]
fn dependencies_are_found_in_their_manifests() {
    let workspace = Workspace::find().unwrap();
    let tree = Tree::load(workspace.root()).unwrap();
    let packages = arrows::packages(workspace.metadata(), &tree);
    let ours = packages.iter().find(|package| package.name == "xtask").unwrap();
    let metadata = ours.uses.iter().find(|used| used.name == "cargo_metadata").unwrap();
    let manifest = tree.file("xtask/Cargo.toml").unwrap();
    assert_eq!(manifest.text.lines().nth(metadata.line - 1), Some("cargo_metadata.workspace = true"));
}

#[test]
fn long_files_are_found_without_their_tests() {
    let tests = "#[cfg(test)]\n#[expect(dead_code, reason = \"x\")]\nmod tests {\n    mod inner {}\n    fn a() {}\n}\n";
    for (path, text, answer) in [
        ("a/src/a.rs", "x;\n".repeat(500), Silent),
        ("a/src/a.rs", "x;\n".repeat(501), Fires),
        ("a/src/a.rs", "x;\n".repeat(500) + tests, Silent),
        ("a/src/a.rs", "x;\n".repeat(500) + tests + "x;\n", Fires),
        ("a/src/a.rs", "x;\n".repeat(500) + "mod tests {\n}\n", Fires),
        ("a/src/a/tests.rs", "x;\n".repeat(800), Silent),
        ("a/tests/e2e/a.rs", "x;\n".repeat(801), Fires),
    ] {
        expect(sources::lengths, &[(path, &text)], answer);
    }
}

#[test]
fn modules_open_with_what_they_are_for() {
    for (path, text, answer) in [
        ("a/src/a.rs", "//! One.\n\nfn a() {}\n", Silent),
        ("a/src/a.rs", "//! 1\n//! 2\n//! 3\n//! 4\n//! 5\n", Silent),
        ("a/src/a.rs", "//! 1\n//! 2\n//! 3\n//! 4\n//! 5\n//! 6\n", Fires),
        ("a/src/lib.rs", "//! 1\n//! 2\n//! 3\n//! 4\n//! 5\n//! 6\n", Silent),
        ("a/src/lib.rs", &"//! 1\n".repeat(13), Fires),
        ("a/src/a.rs", "// Only a comment.\n", Fires),
        ("a/src/a.rs", "", Fires),
        ("a/src/a/tests.rs", "use super::*;\n", Silent),
        ("README.md", "no module", Silent),
    ] {
        expect(sources::openings, &[(path, text)], answer);
    }
}

#[test]
fn marks_that_must_not_stay_are_found() {
    for (text, answer) in [
        ("// TODO(#12): later", Silent),
        ("// `TODO` comments are a source.", Silent),
        ("say(\"TODO\");", Silent),
        ("// TODO: later", Fires),
        ("/* FIXME(soon) */", Fires),
        ("// TODO(#)", Fires),
        ("#[expect(dead_code, reason = \"x\")]", Silent),
        ("#[allow(dead_code)]", Fires),
        ("#![allow(dead_code)]", Fires),
        ("// not #[allow(x)]", Silent),
        ("#[ignore]", Fires),
        ("#[ignore = \"slow\"]", Fires),
        ("dbg!(x);", Fires),
        ("say(\"dbg!\");", Silent),
    ] {
        expect(sources::marks, &[("a/src/a.rs", text)], answer);
    }
}

#[test]
fn module_files_have_names() {
    expect(modules::mod_files, &[("a/src/b.rs", "")], Silent);
    expect(modules::mod_files, &[("a/src/b/mod.rs", "")], Fires);
}

#[test]
fn files_that_no_mod_reaches_are_found() {
    let crate_root = ("a/src/lib.rs", "mod b;\n#[cfg(test)]\npub(crate) mod c;\n// mod d;\n");
    for (path, answer) in [
        ("a/src/b.rs", Silent),
        ("a/src/c.rs", Silent),
        ("a/src/b/inner.rs", Silent),
        ("a/src/d.rs", Fires),
        ("a/src/inner.rs", Fires),
        ("a/src/bin/tool.rs", Silent),
        ("a/build.rs", Silent),
        ("a/tests/e2e.rs", Silent),
        ("a/tests/e2e/main.rs", Silent),
        ("a/tests/e2e/case.rs", Silent),
        ("a/tests/e2e/lost.rs", Fires),
        ("a/tests/fixtures/project/src/x.rs", Silent),
        ("elsewhere/x.rs", Silent),
    ] {
        let base =
            [("a/Cargo.toml", ""), crate_root, ("a/src/b.rs", "mod inner;"), ("a/tests/e2e/main.rs", "mod case;")];
        // The first of two with one path counts.
        expect(modules::forgotten, &[base.as_slice(), &[(path, "")]].concat(), answer);
    }
}

#[test]
fn paths_of_one_machine_are_found() {
    for (path, text, answer) in [
        ("README.md", "see /home/me/x", Fires),
        ("README.md", "root: \"/work/tree\"", Fires),
        ("a/src/a.rs", "say(\"file:///tmp/x\");", Fires),
        ("README.md", "https://host/home/x and target/tmp/x and {folder}/root/x", Silent),
        ("a/src/a.rs", "#[cfg(test)]\nmod tests {\n    const A: &str = \"/tmp/x\";\n}\n", Silent),
        ("a/src/a/tests.rs", "\"/root/x\"", Silent),
        ("a/tests/fixtures/x.yaml", "/work/x", Silent),
    ] {
        expect(machines::paths, &[(path, text)], answer);
    }
}

#[test]
fn registries_are_found() {
    for (path, text, answer) in [
        ("README.md", "https://docs.rs/serde and https://crates.io/crates/serde", Silent),
        ("Cargo.lock", "registry+https://github.com/rust-lang/crates.io-index", Silent),
        ("deny.toml", "https://github.com/rust-lang/crates.io-index", Fires),
        ("README.md", "https://pypi.org/simple", Fires),
        (".npmrc", "registry.npmjs.org", Fires),
    ] {
        expect(machines::registries, &[(path, text)], answer);
    }
}

#[test]
fn input_schemas_are_closed_objects() {
    let closed =
        r#"{"properties":{"input":{"type":"object","additionalProperties":false,"properties":{"a":{"anyOf":[]}}}}}"#;
    for (path, text, answer) in [
        ("contracts/hello.json", closed, Silent),
        ("contracts/hello.json", r#"{"properties":{"input":{"type":"object"}}}"#, Fires),
        ("contracts/hello.json", &closed.replacen("\"type\"", "\"oneOf\":[],\"type\"", 1), Fires),
        ("contracts/hello.json", r#"{"properties":{"input":{"additionalProperties":false}}}"#, Fires),
        ("contracts/hello.json", "{}", Fires),
        ("contracts/hello.json", "{", Fires),
        ("contracts/openapi.json", "{}", Silent),
        ("contracts/config.schema.json", "{}", Silent),
        ("contracts/overlays/docs/search.json", "{}", Silent),
    ] {
        expect(schemas::inputs, &[(path, text)], answer);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Silent,
    Fires,
}

impl Answer {
    fn of(findings: &[Finding]) -> Self {
        if findings.is_empty() { Silent } else { Fires }
    }
}

fn expect(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)], answer: Answer) {
    let files = files.iter().map(|(path, text)| TextFile::new(path, (*text).to_owned()));
    let tree = Tree::of(files.collect());
    let findings = rule(&tree);
    let last = tree.files().last().map(|file| (&file.path, &file.text));
    assert_eq!(Answer::of(&findings), answer, "{last:?}: {findings:?}");
}

fn package(name: &str, used: &str, kind: Kind) -> Package {
    let used = Use { name: used.to_owned(), kind, line: 7 };
    Package { name: name.to_owned(), manifest: "crates/x/Cargo.toml".to_owned(), uses: vec![used] }
}
