//! Which language a file is written in, by its name, its ending or its first line; and which of them we can parse.
//!
//! The words are those that editors use (`typescript`, `csharp`); shells of all kinds are `bash`. What nobody knows is `text`.

use crate::syntax::Grammar;

/// A first line that is longer says nothing about the interpreter.
const SHEBANG_MAX_BYTES: usize = 256;

/// What is written in no language that we know.
const PLAIN: &str = "text";

/// Whole names, in lower case.
const NAMES: &[(&str, &str)] = &[
    (".babelrc", "json"),
    (".bash_profile", "bash"),
    (".bashrc", "bash"),
    (".clang-format", "yaml"),
    (".dockerignore", "ignore"),
    (".editorconfig", "ini"),
    (".eslintrc", "json"),
    (".gitattributes", "gitattributes"),
    (".gitignore", "ignore"),
    (".npmignore", "ignore"),
    (".npmrc", "ini"),
    (".prettierrc", "json"),
    (".profile", "bash"),
    (".zshrc", "bash"),
    ("brewfile", "ruby"),
    ("build", "starlark"),
    ("build.bazel", "starlark"),
    ("cargo.lock", "toml"),
    ("cmakelists.txt", "cmake"),
    ("composer.lock", "json"),
    ("containerfile", "dockerfile"),
    ("dockerfile", "dockerfile"),
    ("gemfile", "ruby"),
    ("gemfile.lock", PLAIN),
    ("gnumakefile", "makefile"),
    ("go.mod", "gomod"),
    ("go.sum", PLAIN),
    ("go.work", "gomod"),
    ("jenkinsfile", "groovy"),
    ("justfile", "just"),
    ("makefile", "makefile"),
    ("pipfile", "toml"),
    ("podfile", "ruby"),
    ("poetry.lock", "toml"),
    ("rakefile", "ruby"),
    ("sconstruct", "python"),
    ("uv.lock", "toml"),
    ("vagrantfile", "ruby"),
    ("workspace", "starlark"),
    ("workspace.bazel", "starlark"),
    ("yarn.lock", "yaml"),
];

/// Endings, in lower case.
const ENDINGS: &[(&str, &str)] = &[
    ("adoc", "asciidoc"),
    ("astro", "astro"),
    ("bash", "bash"),
    ("bat", "batch"),
    ("bats", "bash"),
    ("bzl", "starlark"),
    ("c", "c"),
    ("c++", "cpp"),
    ("cc", "cpp"),
    ("cfg", "ini"),
    ("cjs", "javascript"),
    ("clj", "clojure"),
    ("cljs", "clojure"),
    ("cmake", "cmake"),
    ("cmd", "batch"),
    ("conf", "ini"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("csproj", "xml"),
    ("css", "css"),
    ("csv", "csv"),
    ("csx", "csharp"),
    ("cts", "typescript"),
    ("cu", "cpp"),
    ("cuh", "cpp"),
    ("cxx", "cpp"),
    ("dart", "dart"),
    ("diff", "diff"),
    ("erl", "erlang"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("fish", "fish"),
    ("fs", "fsharp"),
    ("gemspec", "ruby"),
    ("go", "go"),
    ("gql", "graphql"),
    ("gradle", "groovy"),
    ("graphql", "graphql"),
    ("groovy", "groovy"),
    ("h", "c"),
    ("h++", "cpp"),
    ("hcl", "hcl"),
    ("hh", "cpp"),
    ("hpp", "cpp"),
    ("hs", "haskell"),
    ("htm", "html"),
    ("html", "html"),
    ("hxx", "cpp"),
    ("ini", "ini"),
    ("inl", "cpp"),
    ("ipp", "cpp"),
    ("java", "java"),
    ("jl", "julia"),
    ("js", "javascript"),
    ("json", "json"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsonl", "jsonl"),
    ("jsx", "javascript"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("less", "less"),
    ("lua", "lua"),
    ("m", "objective-c"),
    ("markdown", "markdown"),
    ("md", "markdown"),
    ("mdx", "markdown"),
    ("mjs", "javascript"),
    ("mk", "makefile"),
    ("ml", "ocaml"),
    ("mli", "ocaml"),
    ("mm", "objective-cpp"),
    ("mts", "typescript"),
    ("ndjson", "jsonl"),
    ("nim", "nim"),
    ("nix", "nix"),
    ("patch", "diff"),
    ("php", "php"),
    ("phtml", "php"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("properties", "properties"),
    ("proto", "protobuf"),
    ("ps1", "powershell"),
    ("psm1", "powershell"),
    ("py", "python"),
    ("pyi", "python"),
    ("pyw", "python"),
    ("r", "r"),
    ("rake", "ruby"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("rst", "restructuredtext"),
    ("ru", "ruby"),
    ("sass", "sass"),
    ("sbt", "scala"),
    ("scala", "scala"),
    ("scss", "scss"),
    ("sh", "bash"),
    ("sln", PLAIN),
    ("sql", "sql"),
    ("svelte", "svelte"),
    ("svg", "xml"),
    ("swift", "swift"),
    ("tcc", "cpp"),
    ("tex", "latex"),
    ("tf", "hcl"),
    ("tfvars", "hcl"),
    ("toml", "toml"),
    ("tpp", "cpp"),
    ("ts", "typescript"),
    ("tsv", "csv"),
    ("tsx", "typescript"),
    ("vb", "vb"),
    ("vue", "vue"),
    ("xml", "xml"),
    ("xsd", "xml"),
    ("xsl", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zig", "zig"),
    ("zsh", "bash"),
];

/// Interpreters as a first line names them, without version numbers.
const INTERPRETERS: &[(&str, &str)] = &[
    ("ash", "bash"),
    ("awk", "awk"),
    ("bash", "bash"),
    ("bats", "bash"),
    ("bun", "typescript"),
    ("dash", "bash"),
    ("deno", "typescript"),
    ("fish", "fish"),
    ("groovy", "groovy"),
    ("ksh", "bash"),
    ("lua", "lua"),
    ("make", "makefile"),
    ("node", "javascript"),
    ("nodejs", "javascript"),
    ("perl", "perl"),
    ("php", "php"),
    ("pwsh", "powershell"),
    ("pypy", "python"),
    ("python", "python"),
    ("rscript", "r"),
    ("ruby", "ruby"),
    ("sh", "bash"),
    ("ts-node", "typescript"),
    ("tsx", "typescript"),
    ("zsh", "bash"),
];

/// The name decides, then the ending, then the first line.
pub fn language_of(path: &str, text: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let by_name = || look_up(NAMES, &name).or_else(|| name.starts_with("dockerfile.").then_some("dockerfile"));
    by_name().or_else(|| look_up(ENDINGS, ending(&name)?)).or_else(|| by_shebang(text)).unwrap_or(PLAIN)
}

/// How to parse it, if that is something we can do.
pub(crate) fn grammar_of(path: &str, language: &str) -> Option<Grammar> {
    Some(match language {
        // Type assertions in angle brackets and elements look the same: the ending says which of them may occur.
        "typescript" if ending(&path.to_ascii_lowercase()) == Some("tsx") => Grammar::Tsx,
        "typescript" => Grammar::TypeScript,
        "javascript" => Grammar::JavaScript,
        "python" => Grammar::Python,
        "rust" => Grammar::Rust,
        "go" => Grammar::Go,
        "java" => Grammar::Java,
        "kotlin" => Grammar::Kotlin,
        "c" => Grammar::C,
        "cpp" => Grammar::Cpp,
        "csharp" => Grammar::CSharp,
        "ruby" => Grammar::Ruby,
        "php" => Grammar::Php,
        "bash" => Grammar::Bash,
        _ => return None,
    })
}

fn ending(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, ending)| ending)
}

fn look_up(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    table.binary_search_by_key(&key, |(known, _)| known).ok().map(|at| table[at].1)
}

/// `#!/usr/bin/env -S python3.12 -u` is Python.
fn by_shebang(text: &str) -> Option<&'static str> {
    let line = text.strip_prefix("#!")?.lines().next().filter(|line| line.len() <= SHEBANG_MAX_BYTES)?;
    let mut words = line.split_ascii_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let interpreter = if program == "env" {
        words.find(|word| !word.starts_with('-') && !word.contains('='))?.rsplit('/').next()?
    } else {
        program
    };
    let plain = interpreter.to_ascii_lowercase();
    look_up(INTERPRETERS, plain.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.'))
}

#[cfg(test)]
mod tests {
    use super::{ENDINGS, INTERPRETERS, NAMES, language_of};

    #[test]
    fn tables_can_be_searched() {
        for table in [NAMES, ENDINGS, INTERPRETERS] {
            assert!(table.is_sorted_by(|one, next| one.0 < next.0), "{table:?}");
        }
    }

    #[test]
    fn name_then_ending_then_first_line() {
        for (path, text, language) in [
            ("src/server/auth/AuthService.ts", "", "typescript"),
            ("a/View.TSX", "", "typescript"),
            ("Makefile", "", "makefile"),
            ("docker/Dockerfile.prod", "", "dockerfile"),
            ("CMakeLists.txt", "", "cmake"),
            ("include/x.h", "", "c"),
            ("notes.md", "#!/bin/sh\n", "markdown"),
            ("bin/run", "#!/usr/bin/env -S python3.12 -u\n", "python"),
            ("bin/run", "#!/bin/bash -e\n", "bash"),
            ("bin/run", "#! /usr/bin/env A=1 node\n", "javascript"),
            ("bin/run", "#!/opt/strange\n", "text"),
            ("LICENSE", "", "text"),
            ("docs/.hidden", "", "text"),
            (".gitignore", "", "ignore"),
            ("a.b/c", "", "text"),
            ("x.", "", "text"),
        ] {
            assert_eq!(language_of(path, text), language, "{path} {text:?}");
        }
    }
}
