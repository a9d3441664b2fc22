//! What part a file plays, and which part of the project it belongs to: by fixed rules on its path, its language and, for
//! generated files, its first lines. `docs/reading.md` has the rules in words.

/// Names of folders that say how things are laid out, not what they are about.
const LAYOUT: &[&str] = &[
    "__tests__",
    "app",
    "apps",
    "cmd",
    "code",
    "crates",
    "doc",
    "docs",
    "example",
    "examples",
    "include",
    "internal",
    "java",
    "js",
    "kotlin",
    "lib",
    "libs",
    "main",
    "modules",
    "packages",
    "pkg",
    "python",
    "scripts",
    "source",
    "sources",
    "spec",
    "specs",
    "src",
    "test",
    "tests",
    "ts",
];

/// The first lines, as far as they are searched for a generator's mark.
const MARK_MAX_LINES: usize = 10;
const MARK_MAX_BYTES: usize = 1024;

const GENERATED_FOLDERS: &[&str] =
    &["__generated__", ".next", "build", "dist", "gen", "generated", "node_modules", "out", "target"];
const TEST_FOLDERS: &[&str] =
    &["__fixtures__", "__mocks__", "__tests__", "e2e", "fixtures", "spec", "specs", "test", "testdata", "tests"];
const DOC_FOLDERS: &[&str] = &["adr", "doc", "docs", "documentation"];
const EXAMPLE_FOLDERS: &[&str] = &["demo", "demos", "example", "examples", "sample", "samples"];
const SCRIPT_FOLDERS: &[&str] = &["bin", "hack", "script", "scripts"];

const LOCK_FILES: &[&str] = &[
    "bun.lock",
    "cargo.lock",
    "composer.lock",
    "flake.lock",
    "gemfile.lock",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];
const DOC_NAMES: &[&str] = &[
    "authors",
    "changelog",
    "code_of_conduct",
    "contributing",
    "copying",
    "history",
    "licence",
    "license",
    "notice",
    "readme",
];
const DOC_LANGUAGES: &[&str] = &["asciidoc", "latex", "markdown", "restructuredtext"];
const CONFIG_LANGUAGES: &[&str] = &[
    "cmake",
    "dockerfile",
    "gitattributes",
    "gomod",
    "groovy",
    "hcl",
    "ignore",
    "ini",
    "json",
    "just",
    "makefile",
    "nix",
    "properties",
    "starlark",
    "toml",
    "xml",
    "yaml",
];
const DATA_LANGUAGES: &[&str] = &["csv", "diff", "jsonl"];
const SHELL_LANGUAGES: &[&str] = &["bash", "batch", "fish", "powershell"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The program itself.
    Core,
    Test,
    Config,
    Docs,
    Script,
    Example,
    /// Made by a program; whoever changes it should change what it is made from.
    Generated,
    Data,
    /// Text of no known kind.
    Other,
}

/// The innermost folder that is named after what it holds.
pub fn module_of(path: &str) -> Option<&str> {
    let (folders, _) = path.rsplit_once('/')?;
    folders.rsplit('/').find(|folder| !LAYOUT.contains(&folder.to_ascii_lowercase().as_str()))
}

/// The first rule that fits decides.
pub fn role_of(path: &str, language: &str, text: &str) -> Role {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let below = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
    let stem = name.split('.').next().unwrap_or(name);
    let is_code = !CONFIG_LANGUAGES.contains(&language) && !DATA_LANGUAGES.contains(&language) && language != "text";
    if below(GENERATED_FOLDERS) || is_generated_name(name) || LOCK_FILES.contains(&name) || is_marked(text) {
        Role::Generated
    } else if below(TEST_FOLDERS) || is_test_name(path, name) {
        Role::Test
    } else if DOC_LANGUAGES.contains(&language) || below(DOC_FOLDERS) || DOC_NAMES.contains(&stem) {
        Role::Docs
    } else if below(EXAMPLE_FOLDERS) {
        Role::Example
    } else if SHELL_LANGUAGES.contains(&language) || (is_code && (below(SCRIPT_FOLDERS) || text.starts_with("#!"))) {
        Role::Script
    } else if CONFIG_LANGUAGES.contains(&language) || is_config_name(name) {
        Role::Config
    } else if DATA_LANGUAGES.contains(&language) {
        Role::Data
    } else if is_code {
        Role::Core
    } else {
        Role::Other
    }
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Test => "test",
            Self::Config => "config",
            Self::Docs => "docs",
            Self::Script => "script",
            Self::Example => "example",
            Self::Generated => "generated",
            Self::Data => "data",
            Self::Other => "other",
        }
    }
}

fn is_generated_name(name: &str) -> bool {
    const PARTS: [&str; 4] = [".generated.", ".gen.", ".g.", ".min."];
    const ENDINGS: [&str; 6] = [".pb.go", ".pb.cc", ".pb.h", "_pb2.py", "_pb2_grpc.py", ".designer.cs"];
    PARTS.iter().any(|part| name.contains(part)) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// What generators write into the first lines so that programs find it.
fn is_marked(text: &str) -> bool {
    let mut end = text.len().min(MARK_MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].lines().take(MARK_MAX_LINES).any(|line| {
        line.contains("@generated")
            || (line.contains("Code generated") && line.contains("DO NOT EDIT"))
            || line.contains("<auto-generated")
    })
}

fn is_test_name(path: &str, name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let middle = [".test.", ".spec.", ".e2e.", ".cy."].iter().any(|part| name.contains(part));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    // `LoginTest.java`, but not `Contest.java`: the case counts.
    let written = path.rsplit('/').next().unwrap_or(path);
    let written = written.split('.').next().unwrap_or(written);
    let camel = matches!(ending, "java" | "kt" | "cs" | "scala" | "swift" | "php")
        && ["Test", "Tests", "IT", "Spec"].iter().any(|end| written.ends_with(end));
    let snake = ["_test", "_tests", "_spec"].iter().any(|end| stem.ends_with(end));
    let python = ending == "py" && (stem.starts_with("test_") || stem == "conftest");
    let whole = stem == "tests" && ending == "rs";
    middle || camel || snake || python || whole
}

fn is_config_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let kind = stem.rsplit_once('.').map(|(_, kind)| kind);
    name.starts_with('.') || matches!(kind, Some("config" | "conf")) || stem.ends_with("rc")
}

#[cfg(test)]
mod tests {
    use super::{module_of, role_of};
    use crate::language_of;

    #[test]
    fn modules_are_named_by_folders_that_say_something() {
        for (path, module) in [
            ("src/server/auth/AuthService.ts", Some("auth")),
            ("README.md", None),
            ("src/index.ts", None),
            ("crates/repo/src/root.rs", Some("repo")),
            ("src/main/java/com/acme/billing/Invoice.java", Some("billing")),
            ("tests/auth/login_test.py", Some("auth")),
            ("Lib/SRC/x.c", None),
        ] {
            assert_eq!(module_of(path), module, "{path}");
        }
    }

    #[test]
    fn roles() {
        for (path, text, role) in [
            ("src/server/auth/AuthService.ts", "", "core"),
            ("src/server/auth/AuthService.test.ts", "", "test"),
            ("tests/e2e/paths.rs", "", "test"),
            ("src/append/tests.rs", "", "test"),
            ("pkg/x_test.go", "", "test"),
            ("src/LoginTest.java", "", "test"),
            ("src/Contest.java", "", "core"),
            ("tests/data.json", "", "test"),
            ("README.md", "", "docs"),
            ("LICENSE", "", "docs"),
            ("docs/conf.py", "", "docs"),
            ("examples/learner.yaml", "", "example"),
            ("scripts/release.py", "", "script"),
            ("tool", "#!/usr/bin/env python3\n", "script"),
            ("install.sh", "", "script"),
            ("Cargo.toml", "", "config"),
            ("vite.config.ts", "", "config"),
            (".github/workflows/ci.yml", "", "config"),
            ("Makefile", "", "config"),
            ("Cargo.lock", "", "generated"),
            ("api/x.pb.go", "", "generated"),
            ("dist/out.js", "", "generated"),
            ("src/schema.rs", "// @generated by diesel\n", "generated"),
            ("src/zz.go", "// Code generated by stringer; DO NOT EDIT.\n", "generated"),
            ("src/editor.ts", "// users can edit\n", "core"),
            ("data/cities.csv", "", "data"),
            ("notes", "", "other"),
            ("empty.txt", "", "other"),
        ] {
            assert_eq!(role_of(path, language_of(path, text), text).as_str(), role, "{path}");
        }
    }
}
