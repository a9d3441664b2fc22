//! Repositories to search in: files that read like source code, always the same ones.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Source files of the large one; what is ignored or excluded comes on top.
pub(super) const FILES: u32 = 52_000;

/// In each file of a project, and each long enough to be found by itself.
const FUNCTIONS_IN_A_FILE: u32 = 2;
const LINES_IN_A_FUNCTION: u32 = 12;

const FILES_IN_A_FOLDER: u32 = 13;
const FOLDERS_IN_A_MODULE: u32 = 20;

/// What names are made of. None of them begins with `zq`, so that a word that does is nowhere.
const WORDS: [&str; 48] = [
    "account", "buffer", "cache", "channel", "client", "config", "context", "counter", "cursor", "decode", "delete",
    "deploy", "engine", "error", "event", "fetch", "filter", "format", "handler", "index", "insert", "invoice", "job",
    "key", "lease", "limit", "list", "lock", "map", "merge", "message", "node", "order", "page", "parse", "path",
    "queue", "range", "reader", "record", "request", "route", "schema", "session", "shard", "token", "user", "writer",
];

const LINES: [&str; 10] = [
    "use crate::{a}::{b}_{c};",
    "    let {a}_{b} = self.{c}.get_{a}(&{b})?;",
    "    if {a}.is_empty() || {b}.len() > {n} {{",
    "        return Err({b}::new(\"{a} {c} failed\"));",
    "    // The {a} waits until its {b} has seen the {c}.",
    "    for ({a}, {b}) in {c}.iter().enumerate() {{",
    "pub fn {a}_{b}({c}: &str, {a}: u32) -> Result<(), {b}> {{",
    "    }}",
    "",
    "        self.{a}.{b}({c}, {n}); // naïve, but {b} is small",
];

/// A git repository with rules in several places, and with files that they leave out.
pub(super) fn plant(folder: &Path) -> anyhow::Result<()> {
    let mut chance = Chance(0x5eed);
    write(&folder.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    write(&folder.join(".gitignore"), "/target/\nnode_modules/\ndist/\n*.log\n")?;
    for number in 0..FILES {
        let leaf = number / FILES_IN_A_FOLDER;
        let (module, part) = (leaf / FOLDERS_IN_A_MODULE, leaf % FOLDERS_IN_A_MODULE);
        let within = folder.join(format!("module_{module:03}/{}_{part:02}", WORDS[leaf as usize % WORDS.len()]));
        let extension = ["rs", "ts", "py", "md"][chance.below(4)];
        write(&within.join(format!("{}_{number:05}.{extension}", chance.word())), &source(&mut chance))?;
        match number % 1000 {
            1 => write(&within.join(".gitignore"), "generated_*\n")?,
            2 => write(&within.join("generated_code.rs"), &source(&mut chance))?,
            3 => write(&within.join("run.log"), &source(&mut chance))?,
            4 => write(&folder.join(format!("target/{number}.rs")), &source(&mut chance))?,
            5 => write(&folder.join(format!("node_modules/{number}.js")), &source(&mut chance))?,
            6 => fs::write(within.join("image.bin"), [0, 1, 2, 3].repeat(5000)).context("cannot write a file")?,
            _ => {}
        }
    }
    Ok(())
}

/// A project of so many files below `folder`, with the same texts wherever that is.
pub(super) fn plant_project(folder: &Path, files: u32) -> anyhow::Result<()> {
    let mut chance = Chance(0x5eed);
    for number in 0..files {
        let leaf = number / FILES_IN_A_FOLDER;
        let within = folder.join(format!("src/module_{leaf:03}/{}", WORDS[leaf as usize % WORDS.len()]));
        let functions: String = (0..FUNCTIONS_IN_A_FILE).map(|_| function(&mut chance)).collect();
        write(&within.join(format!("{}_{number:05}.rs", chance.word())), &functions)?;
    }
    Ok(())
}

/// What somebody might want to know about such a project.
pub(super) fn question(number: u64) -> String {
    let mut chance = Chance(number);
    let form = ["where is the {a} of a {b} checked", "how does the {a} {b} fail", "{a} {b} {c}", "{a}_{b}"];
    filled(form[chance.below(form.len())], &mut chance)
}

fn function(chance: &mut Chance) -> String {
    let mut text = filled("/// The {a} of a {b}, once its {c} is known.\n", chance);
    text.push_str(&filled("pub fn {a}_{b}_{n}({c}: &str, limit: u32) -> Result<u32, Error> {{\n", chance));
    for _ in 0..LINES_IN_A_FUNCTION {
        text.push_str(&filled("    let {a}_{b} = {c}.get_{a}(\"{b} {c}\", {n})?;\n", chance));
    }
    text.push_str("    Ok(limit)\n}\n\n");
    text
}

/// Most files are short, a few are very long.
fn source(chance: &mut Chance) -> String {
    let lines = match chance.below(1000) {
        0 => 20_000,
        1..50 => 1000 + chance.below(1500),
        50..400 => 100 + chance.below(300),
        _ => 5 + chance.below(80),
    };
    let mut text = String::with_capacity(lines * 40);
    for _ in 0..lines {
        let line = LINES[chance.below(LINES.len())];
        let _ = writeln!(text, "{}", filled(line, chance));
    }
    text
}

fn filled(form: &str, chance: &mut Chance) -> String {
    let (a, b, c) = (chance.word(), chance.word(), chance.word());
    let text = form.replace("{a}", a).replace("{b}", b).replace("{c}", c).replace("{{", "{").replace("}}", "}");
    text.replace("{n}", &chance.below(9000).to_string())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::create_dir_all(path.parent().context("a file lies in a folder")?).context("cannot create a folder")?;
    fs::write(path, text).context("cannot write a file")
}

/// Numbers that look random and are always the same: `SplitMix64`.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap_or_default()
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_always_the_same_text_and_looks_like_code() {
        let text = || source(&mut Chance(7));
        assert_eq!(text(), text());
        let all: String = (0..200).map(|seed| source(&mut Chance(seed))).collect();
        assert!(all.contains("use crate::") && !all.contains("{a}") && !all.contains("{{"), "{all}");
        assert!(!all.contains("zq"), "a word that is nowhere");
    }
}
