//! Which files a walk meets, against ripgrep's own walker on the same tree, whatever rules lie in it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use countersign_repo::{Case, ParentRule, PathPolicy, Pattern, Root, Scope, Stop};
use ignore::WalkBuilder;
use proptest::prelude::*;

const EVERYTHING: PathPolicy = PathPolicy { blocked: &[], parents: ParentRule::Component, max_bytes: 1024 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn it_meets_what_ripgrep_meets(
        files in prop::collection::btree_set("([abc]{1,2}/){0,3}[abc]{1,2}(\\.(md|log))?", 1..30),
        rules in prop::collection::btree_map(
            "([abc]{1,2}/){0,2}\\.(gitignore|ignore|rgignore|git/info/exclude|jj/x)",
            prop::collection::vec("!?/?(\\*|[abc]|\\*\\*/)?[abc*]{1,2}(\\.(md|log|\\*))?/?\r?| *#a|\u{feff}?[ab]|\\\\!a|[abc]/[abc*]", 0..5),
            0..6,
        ),
    ) {
        let folder = tempfile::tempdir().unwrap();
        // Rules above the root count as well.
        let root = folder.path().join("ab");
        fs::create_dir(&root).unwrap();
        for file in &files {
            put(&root.join(file), "x\n");
        }
        for (file, lines) in &rules {
            let place = if file.len() % 5 == 0 { folder.path() } else { &root };
            put(&place.join(file), &lines.join("\n"));
        }
        prop_assert_eq!(ours(&root), ripgreps(&root));
    }
}

/// Where the way is barred by a file of the same name, there is nothing to put.
fn put(path: &Path, text: &str) {
    if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
        fs::write(path, text).unwrap();
    }
}

fn ours(root: &Path) -> BTreeMap<String, u64> {
    let root = Root::open(root, &[]).unwrap();
    let scope = Scope { policy: &EVERYTHING, excluded: &[], files: None };
    let report = root.grep(scope, &Pattern::new("^", Case::Sensitive).unwrap(), 10_000, &Stop::default()).unwrap();
    let mut files = BTreeMap::new();
    for found in report.occurrences {
        *files.entry(found.file).or_default() += 1;
    }
    files
}

fn ripgreps(root: &Path) -> BTreeMap<String, u64> {
    let mut builder = WalkBuilder::new(root);
    builder.hidden(false).add_custom_ignore_filename(".rgignore").current_dir(root);
    let files = builder.build().map(|entry| entry.unwrap().into_path()).filter(|path| path.is_file());
    let lines = |path: &Path| fs::read_to_string(path).unwrap().lines().count() as u64;
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), lines(&path))).filter(|(_, lines)| *lines > 0).collect()
}
