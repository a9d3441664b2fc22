//! `tsconfig.json` and `jsconfig.json`: JSON with comments, perhaps on top of others.

use serde_json::Value;

use super::super::paths::{folder_of, joined, within};
use super::super::view::View;
use super::nearest_file;
use super::packages::{Packages, package_name};

/// How many files one may be on top of.
const EXTENDS_MAX: usize = 16;

#[derive(Debug, Default)]
pub(super) struct TsConfig {
    base_url: Option<String>,
    /// Patterns with what they stand for.
    paths: Vec<(String, Vec<String>)>,
    /// What these are relative to.
    paths_base: String,
}

impl TsConfig {
    pub(super) fn nearest(view: &View<'_>, folder: &str) -> Self {
        let Some(path) = nearest_file(view, folder, &["tsconfig.json", "jsconfig.json"]) else {
            return Self::default();
        };
        let mut left = EXTENDS_MAX;
        let Some((config, raw)) = Self::load(view, &path, folder_of(&path), &mut left) else { return Self::default() };
        if config.says_something() {
            return config;
        }
        // A list of others that hold for parts of the folder.
        let references = raw["references"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        let referenced = references.iter().filter_map(|reference| {
            let path = joined(folder_of(&path), reference["path"].as_str()?)?;
            let path = if view.is_folder(&path) { within(&path, "tsconfig.json") } else { path };
            Some(Self::load(view, &path, folder_of(&path), &mut left)?.0)
        });
        referenced.into_iter().find(Self::says_something).unwrap_or(config)
    }

    fn says_something(&self) -> bool {
        self.base_url.is_some() || !self.paths.is_empty()
    }

    /// `leaf` is the folder of the one that all started with.
    fn load(view: &View<'_>, path: &str, leaf: &str, left: &mut usize) -> Option<(Self, Value)> {
        *left = left.checked_sub(1)?;
        let raw: Value = serde_json::from_str(&without_comments(&view.text(path)?)).ok()?;
        let folder = folder_of(path);
        let mut config = Self::default();
        let extended = match &raw["extends"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        for base in extended {
            if let Some((base, _)) =
                extended_path(view, folder, base).and_then(|path| Self::load(view, &path, leaf, left))
            {
                config.base_url = base.base_url.or(config.base_url);
                if !base.paths.is_empty() {
                    (config.paths, config.paths_base) = (base.paths, base.paths_base);
                }
            }
        }
        let options = &raw["compilerOptions"];
        let place = |text: &str| match text.strip_prefix("${configDir}") {
            Some(rest) => joined(leaf, rest.trim_start_matches('/')),
            None => joined(folder, text),
        };
        if let Some(base_url) = options["baseUrl"].as_str() {
            config.base_url = place(base_url);
        }
        if let Some(paths) = options["paths"].as_object() {
            let targets = |value: &Value| {
                let targets = value.as_array().map_or(&[] as &[Value], Vec::as_slice).iter().filter_map(Value::as_str);
                targets.map(|target| target.replace("${configDir}/", &format!("{leaf}/"))).collect()
            };
            config.paths = paths.iter().map(|(pattern, value)| (pattern.clone(), targets(value))).collect();
            config.paths_base = config.base_url.clone().unwrap_or_else(|| folder.to_owned());
        }
        Some((config, raw))
    }

    /// Where a specifier may lead, best first.
    pub(super) fn candidates(&self, specifier: &str) -> Vec<String> {
        let mut found = Vec::new();
        if let Some((stands_for, targets)) = self.pattern(specifier) {
            let filled = targets.iter().map(|target| target.replacen('*', stands_for, 1));
            found.extend(filled.filter_map(|target| joined(&self.paths_base, &target)));
        }
        found.extend(self.base_url.as_ref().and_then(|base| joined(base, specifier)));
        found
    }

    /// Whether it can be nothing but a part of this project.
    pub(super) fn claims(&self, specifier: &str) -> bool {
        self.paths.iter().any(|(pattern, _)| pattern != "*" && matches(pattern, specifier).is_some())
    }

    /// The pattern that says the most: without a star, or with the longest beginning.
    fn pattern<'s>(&self, specifier: &'s str) -> Option<(&'s str, &[String])> {
        let fitting = self.paths.iter().filter_map(|(pattern, targets)| {
            let (rank, stands_for) = matches(pattern, specifier)?;
            Some((rank, stands_for, targets.as_slice()))
        });
        fitting.max_by_key(|(rank, ..)| *rank).map(|(_, stands_for, targets)| (stands_for, targets))
    }
}

/// How well it fits, and what the star stands for.
pub(super) fn matches<'s>(pattern: &str, specifier: &'s str) -> Option<(usize, &'s str)> {
    match pattern.split_once('*') {
        None => (pattern == specifier).then_some((usize::MAX, "")),
        Some((before, after)) => {
            let rest = specifier.strip_prefix(before)?.strip_suffix(after)?;
            Some((before.len(), rest))
        }
    }
}

/// A path, or a file of a package of the same workspace.
fn extended_path(view: &View<'_>, folder: &str, base: &str) -> Option<String> {
    let path = if base.starts_with('.') {
        joined(folder, base)?
    } else {
        let (name, rest) = package_name(base)?;
        let (folder, _) = view.census().packages(|| Packages::of(view)).get(name)?;
        within(folder, if rest.is_empty() { "tsconfig.json" } else { rest })
    };
    if view.is_file(&path) { Some(path) } else { Some(format!("{path}.json")).filter(|path| view.is_file(path)) }
}

/// JSON as these files may write it: comments become spaces, and so do commas that nothing follows.
pub(super) fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut comma = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            b'"' => string_length(rest),
            b'/' if rest.starts_with(b"//") => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => {
                rest.windows(2).skip(2).position(|two| two == b"*/").map_or(rest.len(), |end| end + 4)
            }
            _ => 1,
        };
        let part = &rest[..length.min(rest.len())];
        match byte {
            b'/' if length > 1 => plain.push(b' '),
            b',' => {
                comma = Some(plain.len());
                plain.push(byte);
            }
            b'}' | b']' => {
                if let Some(last) = comma.take() {
                    plain[last] = b' ';
                }
                plain.push(byte);
            }
            _ => {
                if !byte.is_ascii_whitespace() {
                    comma = None;
                }
                plain.extend_from_slice(part);
            }
        }
        at += part.len();
    }
    let text = String::from_utf8(plain).unwrap_or_default();
    text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned)
}

/// With its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{matches, without_comments};

    #[test]
    fn json_with_comments() {
        for (text, value) in [
            (
                r#"{"a": 1, // one
                 /* two */ "b": [1, 2,], }"#,
                json!({"a": 1, "b": [1, 2]}),
            ),
            (r#"{"url": "http://x/*y*/", "q": "\"//"}"#, json!({"url": "http://x/*y*/", "q": "\"//"})),
            ("\u{feff}{}", json!({})),
            (r#"{"ä": "€,]"}"#, json!({"ä": "€,]"})),
        ] {
            assert_eq!(serde_json::from_str::<Value>(&without_comments(text)).unwrap(), value, "{text}");
        }
        for broken in ["/*", "\"", "\"\\", "//", ",", "{,}", ""] {
            without_comments(broken);
        }
    }

    #[test]
    fn patterns() {
        assert_eq!(matches("@/*", "@/a/b"), Some((2, "a/b")));
        assert_eq!(matches("a", "a"), Some((usize::MAX, "")));
        assert_eq!(matches("*/x", "y/x"), Some((0, "y")));
        assert_eq!(matches("ab*ba", "aba"), None);
    }
}
