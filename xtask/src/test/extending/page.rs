//! A page of Markdown as something to do: its code blocks, in order.
//!
//! What a block is for stands after its language, where readers do not see it: ` ```rust file=PATH ` is a new file,
//! ` ```diff file=PATH ` a change to one; ` ```sh ` is run by the line, ` ```console ` is run and compared. There are no
//! others.

use anyhow::{Context as _, bail};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    NewFile { path: String, text: String },
    Change { path: String, hunks: Vec<Hunk> },
    Commands(Vec<String>),
    Dialogue { command: String, answer: String },
}

/// Lines that are there, once, and what they become.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    before: String,
    after: String,
}

impl Hunk {
    pub(super) fn apply(&self, text: &str) -> anyhow::Result<String> {
        match text.matches(&self.before).count() {
            1 => Ok(text.replacen(&self.before, &self.after, 1)),
            found => bail!("these lines are there {found} times:\n{}", self.before),
        }
    }
}

pub(super) fn blocks(page: &str) -> anyhow::Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(about) = line.strip_prefix("```") else { continue };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(block(about, &text).with_context(|| format!("the block `{about}`"))?);
    }
    Ok(blocks)
}

fn block(about: &str, lines: &[&str]) -> anyhow::Result<Block> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(match about.split_once(" file=") {
        Some(("diff", path)) => Block::Change { path: path.to_owned(), hunks: hunks(lines)? },
        Some((_, path)) => Block::NewFile { path: path.to_owned(), text },
        None if about == "sh" => Block::Commands(lines.iter().map(|line| (*line).to_owned()).collect()),
        None if about == "console" => {
            let dialogue = text.strip_prefix("$ ").and_then(|rest| rest.split_once('\n'));
            let (command, answer) = dialogue.context("does not begin with a command")?;
            Block::Dialogue { command: command.to_owned(), answer: answer.to_owned() }
        }
        None => bail!("does not say what it is for"),
    })
}

fn hunks(lines: &[&str]) -> anyhow::Result<Vec<Hunk>> {
    lines.split(|line| line.starts_with("@@")).map(hunk).collect()
}

fn hunk(lines: &[&str]) -> anyhow::Result<Hunk> {
    let mut hunk = Hunk::default();
    for line in lines {
        let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        if !matches!(mark, " " | "+" | "-") {
            bail!("`{line}` is neither there, nor added, nor removed");
        }
        if mark != "+" {
            hunk.before.push_str(&format!("{rest}\n"));
        }
        if mark != "-" {
            hunk.after.push_str(&format!("{rest}\n"));
        }
    }
    Ok(hunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_say_what_they_are_for() {
        let page = "# A page\n\n```rust file=src/new.rs\nfn f() {}\n```\n\nWords.\n\n```sh\ncargo a\ncargo b\n```\n\
                    ```console\n$ c 1\none\ntwo\n```\n```diff file=src/lib.rs\n one\n+two\n@@\n-three\n```\n";
        let hunk = |before: &str, after: &str| Hunk { before: before.to_owned(), after: after.to_owned() };
        assert_eq!(
            blocks(page).unwrap(),
            [
                Block::NewFile { path: "src/new.rs".to_owned(), text: "fn f() {}\n".to_owned() },
                Block::Commands(vec!["cargo a".to_owned(), "cargo b".to_owned()]),
                Block::Dialogue { command: "c 1".to_owned(), answer: "one\ntwo\n".to_owned() },
                Block::Change {
                    path: "src/lib.rs".to_owned(),
                    hunks: vec![hunk("one\n", "one\ntwo\n"), hunk("three\n", "")],
                },
            ]
        );
        for (page, message) in [
            ("```rust\nfn f() {}\n```\n", "the block `rust`: does not say what it is for"),
            ("```console\nno command\n```\n", "the block `console`: does not begin with a command"),
            ("```diff file=a\n~a\n```\n", "the block `diff file=a`: `~a` is neither there, nor added, nor removed"),
        ] {
            assert_eq!(format!("{:#}", blocks(page).unwrap_err()), message);
        }
    }

    #[test]
    fn a_change_has_one_place() {
        let hunk = hunk(&[" b", "-c", "+d", "+e"]).unwrap();
        assert_eq!(hunk.apply("a\nb\nc\nf\n").unwrap(), "a\nb\nd\ne\nf\n");
        for (text, times) in [("a\nc\n", 0), ("b\nc\nb\nc\n", 2)] {
            let err = hunk.apply(text).unwrap_err().to_string();
            assert!(err.starts_with(&format!("these lines are there {times} times:")), "{err}");
        }
    }
}
