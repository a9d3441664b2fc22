//! Rust, Go, Java, Kotlin, C, C++ and C#.

use super::Made;

#[test]
fn rust_modules() {
    let made = Made::of(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\n"),
        (
            "src/lib.rs",
            "mod cart;\nmod money;\n#[path = \"odd/name.rs\"]\nmod odd;\nmod inline {\n    mod deep;\n    #[path = \"x.rs\"]\n    mod y;\n}\n\
             mod gone;\npub use cart::Cart;\npub use money::*;\n",
        ),
        (
            "src/cart.rs",
            "mod item;\nuse crate::money::Coin;\nuse super::odd;\nuse self::item::Item;\nuse serde::Serialize;\nuse std::fmt;\n",
        ),
        ("src/cart/item.rs", "use super::super::money;\nuse crate::{Cart, Note, inline::deep::D};\nuse super::*;\n"),
        ("src/money/mod.rs", "mod note;\npub use note::Note;\npub struct Coin;\n"),
        ("src/money/note.rs", "use super::Coin;\npub struct Note;\n"),
        ("src/odd/name.rs", ""),
        ("src/inline/deep.rs", "use crate::money as m;\n"),
        ("src/inline/x.rs", ""),
        ("tests/all.rs", "mod common;\nuse shop::{Cart, Coin};\nuse common::help;\n"),
        ("tests/common/mod.rs", "use super::x;\npub fn help() {}\n"),
        ("build.rs", "#[path = \"src/money/note.rs\"]\nmod note;\n"),
    ]);
    assert_eq!(
        made.included("src/lib.rs"),
        ["src/cart.rs", "src/money/mod.rs", "src/odd/name.rs", "src/inline/deep.rs", "src/inline/x.rs"]
    );
    assert_eq!(made.left_out("src/lib.rs"), ["mod gone not_found"]);
    assert_eq!(made.included("src/cart.rs"), ["src/cart/item.rs", "src/money/mod.rs", "src/odd/name.rs"]);
    assert_eq!(made.left_out("src/cart.rs"), ["serde external", "std external"]);
    assert_eq!(
        made.included("src/cart/item.rs"),
        ["src/money/mod.rs", "src/cart.rs", "src/money/note.rs", "src/inline/deep.rs"],
        "through re-exports to where it is defined"
    );
    assert_eq!(made.included("src/money/note.rs"), ["src/money/mod.rs"]);
    assert_eq!(made.included("src/inline/deep.rs"), ["src/money/mod.rs"]);
    assert_eq!(made.included("tests/all.rs"), ["tests/common/mod.rs", "src/cart.rs", "src/money/mod.rs"]);
    assert_eq!(made.included("tests/common/mod.rs"), ["tests/all.rs"]);
    assert_eq!(made.included("build.rs"), ["src/money/note.rs"]);
}

#[test]
fn rust_modules_in_macros() {
    let made = Made::of(&[
        ("src/lib.rs", "cfg_if! { if #[cfg(unix)] { mod unix; } }\nuse crate::unix::Thing;\n"),
        ("src/unix.rs", "use super::other;\npub struct Thing;\n"),
    ]);
    assert_eq!(made.included("src/lib.rs"), ["src/unix.rs"]);
    assert_eq!(made.included("src/unix.rs"), ["src/lib.rs"]);
}

#[test]
fn rust_items_in_macros() {
    let made = Made::of(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\n"),
        (
            "src/lib.rs",
            "cfg_net! {\n    pub mod net;\n    cfg_unix! {\n        pub use net::Socket;\n        \
             pub mod unix { pub use super::net::Pipe; }\n    }\n}\nmod user;\nquote!(use net::Never;);\n",
        ),
        ("src/net.rs", "mod pipe;\nmod socket;\ncfg_x! { pub use pipe::Pipe; pub use socket::Socket; }\n"),
        ("src/net/pipe.rs", "pub struct Pipe;\n"),
        ("src/net/socket.rs", "pub struct Socket;\n"),
        ("src/user.rs", "use crate::Socket;\nfn f() { go! { use crate::net; } }\n"),
        ("tests/a.rs", "use shop::unix::Pipe;\n"),
    ]);
    assert_eq!(
        made.included("src/lib.rs"),
        ["src/net.rs", "src/net/socket.rs", "src/net/pipe.rs", "src/user.rs"],
        "as if it were written without the macros"
    );
    assert_eq!(made.included("src/user.rs"), ["src/net/socket.rs"]);
    assert_eq!(made.included("tests/a.rs"), ["src/net/pipe.rs"]);
}

#[test]
fn rust_patches() {
    let made = Made::of(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"*\"]\n[patch.crates-io]\ncore-x = { path = \"core\" }\n"),
        ("core/Cargo.toml", "[package]\nname = \"core-x\"\n"),
        ("core/src/lib.rs", ""),
        ("app/Cargo.toml", "[package]\nname = \"app\"\n[dependencies]\ncore-x = \"1\"\nlog = \"1\"\n"),
        ("app/src/lib.rs", "use core_x::Thing;\nuse log::info;\n"),
        ("log/Cargo.toml", "[package]\nname = \"log\"\n"),
        ("log/src/lib.rs", ""),
    ]);
    assert_eq!(made.included("app/src/lib.rs"), ["core/src/lib.rs"]);
    assert_eq!(made.left_out("app/src/lib.rs"), ["log external"]);
}

#[test]
fn rust_macros_belong_to_the_root() {
    let made = Made::of(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\n"),
        ("src/lib.rs", "#[macro_use]\nmod macros;\nmod cart;\npub struct Thing;\n"),
        (
            "src/macros.rs",
            "mod deep;\n#[macro_export]\n#[doc(hidden)]\nmacro_rules! price { () => {} }\nmacro_rules! own { () => {} }\n",
        ),
        (
            "src/macros/deep.rs",
            "doc! {\n    /// Chooses.\n    #[macro_export]\n    macro_rules! choose { () => {} }\n}\n",
        ),
        ("src/cart.rs", "use crate::price;\n"),
        ("tests/a.rs", "use shop::choose;\n"),
        ("tests/b.rs", "use shop::own;\n"),
    ]);
    assert_eq!(made.included("src/cart.rs"), ["src/macros.rs"]);
    assert_eq!(made.included("tests/a.rs"), ["src/macros/deep.rs"]);
    assert_eq!(made.included("tests/b.rs"), ["src/lib.rs"], "there is none outside");
}

#[test]
fn rust_modules_by_a_glob() {
    let made = Made::of(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\n"),
        ("src/lib.rs", "mod helpers;\nmod cart;\n"),
        ("src/helpers.rs", "pub mod counting;\n"),
        ("src/helpers/counting.rs", "pub struct Counting;\n"),
        (
            "src/cart.rs",
            "use std::io::prelude::*;\nuse crate::helpers::*;\nmod tests {\n    use super::*;\n    \
             use counting::Counting;\n    use serde::Serialize;\n}\n",
        ),
    ]);
    assert_eq!(made.included("src/cart.rs"), ["src/helpers.rs", "src/helpers/counting.rs"]);
    assert_eq!(made.left_out("src/cart.rs"), ["std external", "serde external"]);
}

#[test]
fn rust_workspaces() {
    let made = Made::of(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\nshop-core = { path = \"crates/core\" }\n",
        ),
        ("crates/core/Cargo.toml", "[package]\nname = \"shop-core\"\n[lib]\npath = \"lib/root.rs\"\n"),
        ("crates/core/lib/root.rs", "pub mod price;\n"),
        ("crates/core/lib/price.rs", "use crate::price;\npub struct Price;\n"),
        (
            "crates/app/Cargo.toml",
            "[package]\nname = \"app\"\n[dependencies]\nshop-core.workspace = true\nutil = { package = \"shop-util\", path = \"../util\" }\nlog = \"1\"\n",
        ),
        (
            "crates/app/src/main.rs",
            "use shop_core::price::Price;\nuse util::help;\nuse log::info;\nuse ::util::help as again;\n",
        ),
        ("crates/util/Cargo.toml", "[package]\nname = \"shop-util\"\n"),
        ("crates/util/src/lib.rs", "pub fn help() {}\n"),
        ("crates/log/Cargo.toml", "[package]\nname = \"log\"\n"),
        ("crates/log/src/lib.rs", ""),
    ]);
    assert_eq!(made.included("crates/app/src/main.rs"), ["crates/core/lib/price.rs", "crates/util/src/lib.rs"]);
    assert_eq!(made.left_out("crates/app/src/main.rs"), ["log external"]);
}

#[test]
fn rust_includes_and_circles() {
    let made = Made::of(&[
        (
            "src/lib.rs",
            "mod a;\nmod b;\nuse a::Thing;\nuse b::Nothing;\nconst SQL: &str = include_str!(\"../sql/x.sql\");\nuse crate::Thing as T;\n",
        ),
        ("src/a.rs", "pub use crate::b::Thing;\npub use crate::b::*;\n"),
        ("src/b.rs", "pub use crate::a::Thing;\npub use crate::a::*;\n"),
        ("sql/x.sql", "select"),
    ]);
    let included = made.included("src/lib.rs");
    assert_eq!(included[..2], ["src/a.rs", "src/b.rs"]);
    assert!(included.contains(&"sql/x.sql".to_owned()));
}

#[test]
fn go_packages() {
    let made = Made::of(&[
        ("go.mod", "module example.org/shop\n\ngo 1.24\n\nreplace example.org/tax => ./third/tax\n"),
        (
            "cmd/shop/main.go",
            "package main\nimport (\n\t\"fmt\"\n\t\"example.org/shop/cart\"\n\t\"example.org/tax\"\n\t\"example.org/shop/gone\"\n\t\"example.org/shopping\"\n)\n",
        ),
        ("cart/cart.go", "package cart\n"),
        ("cart/item.go", "package cart\n"),
        ("cart/cart_test.go", "package cart\n"),
        ("third/tax/go.mod", "module example.org/tax\n"),
        ("third/tax/tax.go", "package tax\n"),
        ("work/go.work", "go 1.24\nuse (\n\t./a\n\t./b\n)\n"),
        ("work/a/go.mod", "module a.example\n"),
        ("work/a/a.go", "package a\nimport \"b.example/x\"\n"),
        ("work/b/go.mod", "module b.example\n"),
        ("work/b/x/x.go", "package x\n"),
    ]);
    assert_eq!(made.included("cmd/shop/main.go"), ["cart/cart.go", "cart/item.go", "third/tax/tax.go"]);
    assert_eq!(
        made.left_out("cmd/shop/main.go"),
        ["fmt external", "example.org/shop/gone not_found", "example.org/shopping external"]
    );
    assert_eq!(made.included("work/a/a.go"), ["work/b/x/x.go"]);
}

#[test]
fn java_packages_as_a_whole() {
    let made = Made::of(&[
        ("src/main/java/a/Main.java", "package a;\nimport a.b.*;\n"),
        ("src/main/java/a/b/B.java", "package a.b;\n"),
        ("src/main/java/a/b/package-info.java", "package a.b;\n"),
        ("src/test/java/a/b/BTest.java", "package a.b;\n"),
        ("src/test/java/a/MainTest.java", "package a;\nimport a.b.*;\n"),
        ("more/src/main/java/a/b/C.java", "package a.b;\n"),
        ("android/src/main/java/a/b/B.java", "package a.b;\n"),
    ]);
    assert_eq!(
        made.included("src/main/java/a/Main.java"),
        ["src/main/java/a/b/B.java", "more/src/main/java/a/b/C.java"],
        "a class once, and no tests"
    );
    assert_eq!(
        made.included("src/test/java/a/MainTest.java"),
        ["src/test/java/a/b/BTest.java", "src/main/java/a/b/B.java", "more/src/main/java/a/b/C.java"]
    );
}

#[test]
fn java_and_kotlin() {
    let made = Made::of(&[
        (
            "app/src/main/java/org/shop/Cart.java",
            "package org.shop;\nimport org.shop.model.Item;\nimport org.shop.model.Item.Kind;\nimport static org.shop.util.Math.round;\n\
             import org.shop.all.*;\nimport java.util.List;\nimport org.core.Base;\nimport org.shop.kt.helper;\n",
        ),
        ("app/src/main/java/org/shop/model/Item.java", "package org.shop.model;\n"),
        ("app/src/main/java/org/shop/util/Math.java", "package org.shop.util;\n"),
        ("app/src/main/java/org/shop/all/A.java", ""),
        ("app/src/main/java/org/shop/all/B.java", ""),
        ("core/src/main/java/org/core/Base.java", ""),
        ("app/src/main/kotlin/org/shop/kt/Helpers.kt", "package org.shop.kt\nfun helper() {}\nval other = 1\n"),
        ("app/src/main/kotlin/org/shop/kt/More.kt", "package org.shop.kt\nclass More\n"),
        (
            "app/src/test/kotlin/org/shop/CartTest.kt",
            "package org.shop\nimport org.shop.Cart\nimport org.shop.kt.other as o\nimport kotlin.math.PI\n",
        ),
    ]);
    let main = "app/src/main/java/org/shop";
    assert_eq!(
        made.included(&format!("{main}/Cart.java")),
        [
            format!("{main}/model/Item.java"),
            format!("{main}/util/Math.java"),
            format!("{main}/all/A.java"),
            format!("{main}/all/B.java"),
            "core/src/main/java/org/core/Base.java".to_owned(),
            "app/src/main/kotlin/org/shop/kt/Helpers.kt".to_owned(),
        ]
    );
    assert_eq!(made.left_out(&format!("{main}/Cart.java")), ["java.util.List external"]);
    assert_eq!(
        made.included("app/src/test/kotlin/org/shop/CartTest.kt"),
        [format!("{main}/Cart.java"), "app/src/main/kotlin/org/shop/kt/Helpers.kt".to_owned()]
    );
}

#[test]
fn c_includes() {
    let made = Made::of(&[
        (
            "src/net/socket.c",
            "#include \"socket.h\"\n#include <shop/api.h>\n#include \"../util.h\"\n#include <stdio.h>\n#include \"far.h\"\n#include \"gone.h\"\n",
        ),
        ("src/net/socket.h", ""),
        ("include/shop/api.h", ""),
        ("src/util.h", ""),
        ("deps/x/far.h", ""),
        ("deps/deeper/down/far.h", ""),
        ("deps/x/stdio.h", ""),
    ]);
    assert_eq!(
        made.included("src/net/socket.c"),
        ["src/net/socket.h", "include/shop/api.h", "src/util.h", "deps/x/far.h"]
    );
    assert_eq!(made.left_out("src/net/socket.c"), ["stdio.h external", "gone.h not_found"]);
}

#[test]
fn csharp_namespaces() {
    let made = Made::of(&[
        (
            "Shop/Shop.csproj",
            "<Project><PropertyGroup><RootNamespace>Acme.Shop</RootNamespace></PropertyGroup></Project>",
        ),
        (
            "Shop/Program.cs",
            "using System;\nusing Acme.Shop.Models;\nusing static Acme.Shop.Util.Calc;\nusing Acme.Core;\nnamespace Acme.Shop;\n",
        ),
        ("Shop/Models/Item.cs", "namespace Acme.Shop.Models;\npublic class Item {}\n"),
        ("Shop/Models/Stray.cs", "namespace Other;\n"),
        ("Shop/Util/Calc.cs", "namespace Acme.Shop.Util { static class Calc {} }\n"),
        ("Shop/Util/More.cs", "namespace Acme.Shop.Util { class More {} }\n"),
        ("Acme.Core/Acme.Core.csproj", "<Project/>"),
        ("Acme.Core/Base.cs", "namespace Acme.Core;\nclass Base {}\n"),
    ]);
    assert_eq!(made.included("Shop/Program.cs"), ["Shop/Models/Item.cs", "Shop/Util/Calc.cs", "Acme.Core/Base.cs"]);
    assert_eq!(made.left_out("Shop/Program.cs"), ["System external"]);
}
