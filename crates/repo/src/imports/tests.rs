use std::time::Duration;

use super::{Import, Outline, Reference};
use crate::Until;
use crate::syntax::{Grammar, NotParsed};

#[test]
fn ecmascript() {
    let text = r#"
import a, {b as c} from "./b";
import type {T} from './t';
import "./side";
import z = require("./z");
export * from "./x";
export {y} from "./y";
export const own = 1;
const q = await import(`./q`), no = import(`./${own}`);
const r = require(/* which */ "./r"), s = require.resolve("./s"), t = require(own), u = other.require("./no");
type I = import("./types").I;
/// <reference path="globals.d.ts" />
declare module "foo" { import k from "./k"; }
"#;
    let expected = [
        "import ./b",
        "import ./t",
        "import ./side",
        "require ./z",
        "reexport ./x",
        "reexport ./y",
        "dynamic ./q",
        "require ./r",
        "require ./s",
        "dynamic ./types",
        "import ./globals.d.ts",
        "import ./k",
    ];
    assert_eq!(found(Grammar::TypeScript, text), expected);
    assert_eq!(found(Grammar::Tsx, text), expected);
    let script =
        "const a = require('a');\nexport default <b>{import('./c')}</b>;\nimport d from './d' with {type: 'json'};\n";
    assert_eq!(found(Grammar::JavaScript, script), ["require a", "dynamic ./c", "import ./d"]);
}

#[test]
fn python() {
    let text = r#"
import a.b, c as d
from . import x
from ..y.z import (p as q, r)
from m import *
from __future__ import annotations
def f():
    import late
    importlib.import_module("k.l"), __import__("w"), importlib.import_module(f"{x}.y"), importlib.import_module(name)
"#;
    assert_eq!(
        found(Grammar::Python, text),
        ["import a.b", "import c", "import .", "import ..y.z", "import m", "import late", "dynamic k.l", "dynamic w"]
    );
    let references: Vec<_> =
        outline(Grammar::Python, text).imports.into_iter().map(|import| import.reference).collect();
    let from = |level, module: &str, names: &[&str]| Reference::Python {
        level,
        module: module.to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    assert_eq!(references[2..5], [from(1, "", &["x"]), from(2, "y.z", &["p", "r"]), from(0, "m", &["*"])]);
}

#[test]
fn rust() {
    let text = r#"
mod a;
#[cfg(test)]
#[path = "b/c.rs"]
mod b;
mod n {
    mod inner;
    use super::x;
    pub fn exported() { fn hidden() {} }
}
use crate::a::{self, B, c::{D as E, r#type}, *};
pub use super::z;
use ::std::fmt;
extern crate foo as bar;
include!("x.rs");
const SQL: &str = include_str!(r"y.sql");
const BUILT: &str = include_str!(concat!(env!("OUT_DIR"), "/z"));
fn f() { use self::k; }
pub struct S;
"#;
    assert_eq!(
        found(Grammar::Rust, text),
        [
            "module mod a",
            "module mod b",
            "module mod inner",
            "import super::x",
            "import crate::a",
            "import crate::a::B",
            "import crate::a::c::D",
            "import crate::a::c::type",
            "import crate::a::*",
            "reexport super::z",
            "import ::std::fmt",
            "import foo",
            "include x.rs",
            "include y.sql",
            "import self::k",
        ]
    );
    let outline = outline(Grammar::Rust, text).rust;
    let modules: Vec<_> = outline.modules.iter().map(|module| (module.name.as_str(), module.inline)).collect();
    assert_eq!(modules, [("a", false), ("b", false), ("n", true), ("inner", false)]);
    assert_eq!(outline.modules[1].path.as_deref(), Some("b/c.rs"));
    assert_eq!(outline.modules[3].inside, ["n"]);
    assert_eq!(outline.uses[2].name, "B");
    assert_eq!(outline.uses[3].name, "E");
    let items: Vec<_> = outline.items.iter().map(|(inside, name)| (inside.len(), name.as_str())).collect();
    assert_eq!(items, [(1, "exported"), (0, "SQL"), (0, "BUILT"), (0, "f"), (0, "S")]);
}

#[test]
fn rust_macros_that_choose() {
    let text = "cfg_if! {\n    if #[cfg(unix)] { pub mod unix; } else { mod other; }\n}\nmacro_rules! m { () => { mod no; } }\n\
                fn f() { n!(mod neither;); }\n";
    assert_eq!(found(Grammar::Rust, text), ["module mod unix", "module mod other"]);
}

#[test]
fn go() {
    let text = "package p\nimport \"fmt\"\nimport (\n\tx \"a/b\"\n\t. `c/d`\n\t_ \"e\"\n)\n";
    assert_eq!(found(Grammar::Go, text), ["import fmt", "import a/b", "import c/d", "import e"]);
    assert_eq!(outline(Grammar::Go, text).packages, ["p"]);
}

#[test]
fn java_and_kotlin() {
    let text = "package a.b;\nimport c.D;\nimport static e.F.g;\nimport h.*;\nimport static k.L.* ;\nclass X {}\n";
    assert_eq!(found(Grammar::Java, text), ["import c.D", "import e.F.g", "import h.*", "import k.L.*"]);
    let kotlin = "package a.b\nimport c.D\nimport e.f as g\nimport h.*\n\nclass X\nfun foo() {}\nval y = 1\nobject O\n\
                  typealias T = Int\nfun String.ext() {}\n";
    assert_eq!(found(Grammar::Kotlin, kotlin), ["import c.D", "import e.f", "import h.*"]);
    let outline = outline(Grammar::Kotlin, kotlin);
    assert_eq!((outline.packages, outline.declares.join(" ")), (vec!["a.b".to_owned()], "X foo y O T ext".to_owned()));
}

#[test]
fn c_and_cpp() {
    let text = "#include <a/b.h>\n#ifdef X\n#  include \"c.h\" // why\n#endif\n#include MACRO\n#import \"d.h\"\n\
                namespace n {\n#include \"e.inc\"\n}\nBROKEN(((\n#include \"f.h\"\n";
    for grammar in [Grammar::C, Grammar::Cpp] {
        let found = found(grammar, text);
        let expected = ["include a/b.h", "include c.h", "include d.h", "include e.inc", "include f.h"];
        assert_eq!(found, expected, "{grammar:?}");
    }
    let imports = outline(Grammar::C, text).imports;
    assert_eq!(imports[0].reference, Reference::Include { path: "a/b.h".to_owned(), angled: true });
}

#[test]
fn csharp() {
    let text = "using A.B;\nusing static C.D;\nusing E = F.G;\nglobal using global::H;\nusing L = List<int>;\nnamespace N.M {\n\
                using Q;\nclass C { void f() { using var x = y; } }\n}\npublic record R(int a);\n";
    assert_eq!(found(Grammar::CSharp, text), ["import A.B", "import C.D", "import F.G", "import H", "import Q"]);
    let outline = outline(Grammar::CSharp, text);
    assert_eq!((outline.packages, outline.declares), (vec!["N.M".to_owned()], vec!["C".to_owned(), "R".to_owned()]));
}

#[test]
fn ruby() {
    let text = "require 'a/b'\nrequire_relative \"../c\"\nload 'd.rb'\nautoload :E, 'e'\n\
                require File.expand_path('../f', __FILE__)\nrequire File.join(__dir__, 'g')\nrequire \"x#{y}\"\n\
                params.require('no')\nKernel.require 'h'\n";
    assert_eq!(
        found(Grammar::Ruby, text),
        ["require a/b", "require ../c", "require d.rb", "dynamic e", "require f", "require g", "require h"]
    );
}

#[test]
fn php() {
    let text = "<?php\nnamespace A\\B;\nuse C\\D;\nuse E\\{F, G\\H as I};\nuse function J\\k;\nrequire 'a.php';\n\
                require_once __DIR__ . \"/b.php\";\ninclude((dirname(__FILE__) . '/c.php'));\ninclude_once $x;\n\
                include APP . '/d.php';\nclass Z { use T; }\n";
    assert_eq!(
        found(Grammar::Php, text),
        [
            r"import C\D",
            r"import E\F",
            r"import E\G\H",
            r"import J\k",
            "require a.php",
            "require b.php",
            "include c.php",
            "include d.php",
        ]
    );
}

#[test]
fn bash() {
    let text = "source ./a.sh\n. b.sh\nsource \"$(dirname \"$0\")/c.sh\"\nif x; then . \"$DIR/d.sh\"; fi\n\
                source \"${BASH_SOURCE%/*}\"/e.sh\nsource 'f.sh' arg\nsource $HOME/g.sh\nsource ~/h.sh\nsource \"$X\"\n";
    let paths: Vec<_> = outline(Grammar::Bash, text)
        .imports
        .into_iter()
        .map(|import| {
            let Reference::Path { path, from } = import.reference else { panic!("{import:?}") };
            format!("{path} {from:?}")
        })
        .collect();
    let expected = ["./a.sh LoadPath", "b.sh LoadPath", "c.sh Here", "d.sh Somewhere", "e.sh Here", "f.sh LoadPath"];
    assert_eq!(paths, expected);
}

#[test]
fn what_cannot_be_read_is_a_mistake_with_its_line() {
    for (grammar, text, line) in [
        (Grammar::TypeScript, "import a from './a';\nimport { from './b' ((( ;\n", 2),
        (Grammar::Python, "import a\n\nimport from b b\n", 3),
        (Grammar::Rust, "mod a;\nuse {{;\n", 2),
        (Grammar::Java, "import a.B;\nimport ;;; class {\n", 2),
    ] {
        let outcome = Outline::of(grammar, text, &Until::new(Duration::from_mins(1), || false));
        assert_eq!(outcome, Err(NotParsed::Syntax { line }), "{grammar:?}");
    }
}

/// What carries all that is around it along would take the square of its length.
#[test]
fn deep_texts_take_no_longer_than_long_ones() {
    let deep = 50_000;
    for (grammar, text) in [
        (Grammar::Rust, format!("use {}x{};", "a::{".repeat(deep), "}".repeat(deep))),
        (Grammar::Rust, format!("use {}x;", "a::".repeat(deep))),
        (Grammar::Rust, format!("{}{}", "mod a {".repeat(deep), "}".repeat(deep))),
        (Grammar::Rust, "fn a() {}\n".repeat(deep)),
        (Grammar::Bash, format!("{}x{}", "source $(".repeat(deep), ")".repeat(deep))),
        (Grammar::Php, format!("<?php {}'x'{};", "require (".repeat(deep), " . 'y')".repeat(deep))),
    ] {
        let start = std::time::Instant::now();
        let outcome = Outline::of(grammar, &text, &Until::new(Duration::from_secs(2), || false));
        let took = start.elapsed();
        assert!(took < Duration::from_secs(8), "{took:?} for {}: {:?}", &text[..16], outcome.map(drop));
    }
}

/// A text is as long as it is, and an answer need not be.
#[test]
fn long_names_are_cut() {
    let import = outline(Grammar::Go, &format!("package p\nimport \"{}\"\n", "ä".repeat(1000))).imports.remove(0);
    assert_eq!(import.written.chars().count(), 201);
}

fn outline(grammar: Grammar, text: &str) -> Outline {
    Outline::of(grammar, text, &Until::new(Duration::from_mins(1), || false)).unwrap()
}

fn found(grammar: Grammar, text: &str) -> Vec<String> {
    let show = |import: Import| format!("{} {}", import.kind.as_str(), import.written);
    outline(grammar, text).imports.into_iter().map(show).collect()
}
