//! Comments of languages that we have no grammar for, as far as single lines show them. A sign in a string is taken for
//! one: what is looked for in comments is rare enough elsewhere.

use super::{COMMENTS_MAX, Comment, number};

/// What comments look like.
struct Signs {
    /// From here to the end of the line.
    line: &'static [&'static str],
    /// From here to there.
    block: Option<(&'static str, &'static str)>,
}

pub(super) fn by_lines(language: &str, text: &str) -> Vec<Comment> {
    let Some(signs) = signs_of(language) else { return Vec::new() };
    let mut found: Vec<Comment> = Vec::new();
    // The block that is open.
    let mut open: Option<Comment> = None;
    let mut at = 0;
    for (row, line) in text.split('\n').enumerate() {
        if let Some(mut comment) = open.take() {
            let end = signs.block.and_then(|(_, end)| line.find(end).map(|found| found + end.len()));
            comment.lines.1 = number(row);
            comment.bytes.end = at + end.unwrap_or(line.len());
            match end {
                Some(_) => found.push(comment),
                None => open = Some(comment),
            }
        } else if let Some((begin, block)) = begin_of(line, &signs) {
            let end = block.map_or(Some(line.len()), |sign| line[begin..].find(sign).map(|at| begin + at + sign.len()));
            let alone = line[..begin].trim_start().is_empty();
            let bytes = at + begin..at + end.unwrap_or(line.len());
            let comment = Comment { lines: (number(row), number(row)), bytes, alone };
            match end {
                Some(_) => found.push(comment),
                None => open = Some(comment),
            }
        }
        if found.len() >= COMMENTS_MAX {
            return found;
        }
        at += line.len() + 1;
    }
    found.extend(open);
    found
}

/// Where the first comment of a line begins, and what ends it if that is not the end of the line.
fn begin_of(line: &str, signs: &Signs) -> Option<(usize, Option<&'static str>)> {
    let free = |at: &usize| line[..*at].ends_with(char::is_whitespace) || *at == 0;
    let first = |sign: &str| line.match_indices(sign).map(|(at, _)| at).find(free);
    let of_line = signs.line.iter().filter_map(|sign| first(sign)).min().map(|at| (at, None));
    let of_block = signs.block.and_then(|(begin, end)| first(begin).map(|at| (at, Some(end))));
    [of_line, of_block].into_iter().flatten().min_by_key(|(at, _)| *at)
}

fn signs_of(language: &str) -> Option<Signs> {
    const SLASHES: Option<(&str, &str)> = Some(("/*", "*/"));
    const ANGLES: Option<(&str, &str)> = Some(("<!--", "-->"));
    Some(match language {
        "awk" | "cmake" | "dockerfile" | "elixir" | "fish" | "gitattributes" | "graphql" | "ignore" | "julia"
        | "just" | "makefile" | "nim" | "nix" | "perl" | "powershell" | "r" | "starlark" | "toml" | "yaml" => {
            signs(&["#"], None)
        }
        "ini" | "properties" => signs(&["#", ";"], None),
        "hcl" => signs(&["#", "//"], SLASHES),
        "dart" | "fsharp" | "gomod" | "groovy" | "json" | "less" | "objective-c" | "objective-cpp" | "protobuf"
        | "sass" | "scala" | "scss" | "swift" | "zig" => signs(&["//"], SLASHES),
        "css" => signs(&[], SLASHES),
        "sql" => signs(&["--"], SLASHES),
        "haskell" | "lua" => signs(&["--"], None),
        "erlang" | "latex" => signs(&["%"], None),
        "clojure" => signs(&[";"], None),
        "vb" => signs(&["'"], None),
        "batch" => signs(&["REM ", "rem ", "::"], None),
        "ocaml" => signs(&[], Some(("(*", "*)"))),
        "astro" | "html" | "xml" => signs(&[], ANGLES),
        "svelte" | "vue" => signs(&["//"], ANGLES),
        _ => return None,
    })
}

fn signs(line: &'static [&'static str], block: Option<(&'static str, &'static str)>) -> Signs {
    Signs { line, block }
}
