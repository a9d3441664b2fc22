use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Accesses, Circumstances, Hit};
use crate::chunk::{Chunk, Kind, Source};
use crate::generation::{Document, Generation, Part};
use crate::matrix::Rows;
use crate::query::Query;
use crate::search::{Filter, Found, Search};
use crate::terms::Vocabulary;
use crate::weights::Weights;

#[test]
fn definitions_come_first_when_they_are_asked_for_by_name() {
    let project = Project::new(vec![
        vec![code("src/app.rs", "run", "let router = Router::new(); router.route(); Router Router Router")],
        vec![
            code("src/routing.rs", "Router", "pub struct Router { routes: Vec<Route> }"),
            code("src/routing.rs", "Router", "impl Router more of it"),
        ],
        vec![code("tests/routing.rs", "Router", "struct Router;")],
    ]);
    assert_eq!(project.found("Router")[0], 1);
    assert_eq!(project.found("struct Router")[0], 1);
}

#[test]
fn files_are_found_by_their_names() {
    let project = Project::new(vec![
        vec![code("src/other.rs", "Cache", "keeps pages until they are too old")],
        vec![code("src/page_cache/mod.rs", "Cache", "keeps pages until they are too old")],
    ]);
    assert_eq!(project.found("how does the page cache keep pages"), [1, 0]);
}

#[test]
fn tests_examples_and_copies_come_after_the_program() {
    let text = "reads the configuration file";
    for path in ["tests/config.rs", "examples/config.rs", "vendor/other/config.rs", "src/gen/config.rs"] {
        let project = Project::new(vec![vec![code(path, "read", text)], vec![code("src/config.rs", "read", text)]]);
        assert_eq!(project.found("reading of configuration files"), [1, 0], "{path}");
    }
    let beside = vec![code("src/config.rs", "tests::read", text), code("src/config.rs", "read", text)];
    assert_eq!(Project::new(vec![beside]).found("reading of configuration files"), [1, 0]);
}

#[test]
fn a_file_does_not_fill_the_list() {
    let piece = |path| code(path, "upload", "upload of a file to the server");
    let project = Project::new(vec![vec![piece("src/a.rs"), piece("src/a.rs")], vec![piece("src/b.rs")]]);
    assert_eq!(project.found("file upload to a server"), [0, 2, 1]);
    let entry = |text: &str| Chunk { source: Source::Discovery, kind: Kind::Rule, ..code("memory.md", "", text) };
    let entries = vec![entry("upload of files to the server"), entry("upload files to a server")];
    let project = Project::new(vec![entries, vec![piece("src/a.rs")]]);
    let scores: Vec<f32> = project.hits("upload of files to the server").iter().map(|hit| hit.score).collect();
    assert!(scores[1] > scores[0] * 0.7, "entries of one memory file are worth as much as others: {scores:?}");
}

#[test]
fn filters_apply_before_anything_is_compared() {
    let decision =
        Chunk { source: Source::Discovery, kind: Kind::Decision, ..code("docs/adr/1.md", "", "token refresh") };
    let project = Project::new(vec![
        vec![Chunk { module: Some("Auth".into()), ..code("src/auth/token.rs", "refresh", "token refresh") }],
        vec![decision],
        vec![code("src/other.rs", "refresh", "token refresh")],
    ]);
    for (kind, module, ids) in [
        (None, None, &[0, 2, 1][..]),
        (Some(Kind::Decision), None, &[1]),
        (None, Some("aUTH"), &[0]),
        (Some(Kind::Decision), Some("auth"), &[]),
    ] {
        let filter = Filter::new(kind, module);
        let (found, hits) = project.search("token refresh", None, &filter);
        let mut found_ids: Vec<i64> = hits.iter().map(|hit| hit.id).collect();
        let mut expected = ids.to_vec();
        found_ids.sort_unstable();
        expected.sort_unstable();
        assert_eq!((found_ids, found.total), (expected, ids.len()), "{filter:?}");
    }
}

#[test]
fn scores_are_between_0_and_1_and_nothing_is_found_for_nothing() {
    let project = Project::new(vec![vec![code("src/router.rs", "Router", "Router router routes")]]);
    for query in ["Router", "router", "how does the router route routes", "router router router"] {
        for Hit { score, .. } in project.hits(query) {
            assert!(score > 0.0 && score < 1.0, "{query}: {score}");
        }
    }
    assert_eq!(project.found("pizza in naples"), Vec::<i64>::new());
    assert_eq!(Project::new(Vec::new()).found("anything"), Vec::<i64>::new());
}

#[test]
fn vectors_find_what_words_do_not() {
    let mut project = Project::new(vec![
        vec![code("src/a.rs", "one", "first thing"), code("src/a.rs", "two", "second thing")],
        vec![code("src/b.rs", "three", "third thing")],
    ]);
    let question = [1.0, 0.0, 0.0];
    let (found, _) = project.search("first thing", Some(&question), &Filter::default());
    assert_eq!((&found.rescore[..], found.lacking.len()), (&[][..], 3), "none has a vector: {found:?}");
    assert_eq!(found.lacking[0], 0);
    project.give(1, &[0.0, 1.0, 0.0]);
    project.give(2, &[0.8, 0.6, 0.0]);
    let (found, hits) = project.search("unrelated words", Some(&question), &Filter::default());
    assert_eq!((hits[0].id, found.rescore.contains(&2)), (2, true));
    assert_eq!(found.lacking, [0], "a vector may show what no word does, so it is asked for");
    let (found, hits) = project.search("first thing", Some(&question), &Filter::default());
    assert_eq!((hits[0].id, found.lacking), (2, vec![0]), "what has no vector is ranked by its words");
}

#[test]
fn full_vectors_replace_what_was_approximate() {
    let mut project = Project::new(vec![vec![code("src/a.rs", "", "first")], vec![code("src/b.rs", "", "second")]]);
    project.give(0, &[0.9, 0.435, 0.0]);
    project.give(1, &[0.8, 0.6, 0.0]);
    let question = [1.0, 0.0, 0.0];
    assert_eq!(project.search("unrelated", Some(&question), &Filter::default()).1[0].id, 0);
    project.exact = HashMap::from([(0, vec![0.1, 0.99, 0.0]), (1, vec![1.0, 0.0, 0.0])]);
    assert_eq!(project.search("unrelated", Some(&question), &Filter::default()).1[0].id, 1);
}

#[test]
fn what_is_new_or_read_comes_first_among_equals() {
    let old = |path| Chunk { date: Some(Timestamp::UNIX_EPOCH), ..code(path, "", "the same text") };
    let mut project = Project::new(vec![vec![old("src/a.rs")], vec![old("src/b.rs")]]);
    assert_eq!(project.found("the same text"), [0, 1]);
    project.accesses = Accesses::new([("src/b.rs", 7, project.now)]);
    assert_eq!(project.found("the same text"), [1, 0]);
    let new = Chunk { date: Some(project.now - SignedDuration::from_hours(1)), ..old("src/c.rs") };
    assert_eq!(Project::new(vec![vec![old("src/a.rs")], vec![new]]).found("the same text"), [1, 0]);
}

#[test]
fn what_did_not_change_is_not_made_anew() {
    let project = Project::new(vec![vec![code("src/a.rs", "", "text")]]);
    let same = Generation::build(&project.vocabulary, project.generation.parts().to_vec(), Some(&project.generation));
    assert!(Arc::ptr_eq(&same.words, &project.generation.words));
    let fewer = Generation::build(&project.vocabulary, Vec::new(), Some(&project.generation));
    assert!(fewer.is_empty() && project.generation.len() == 1);
}

fn code(path: &str, symbol: &str, text: &str) -> Chunk {
    Chunk {
        source: Source::Code,
        kind: Kind::Code,
        path: Some(path.to_owned()),
        lines: None,
        symbol: Some(symbol.to_owned()),
        module: None,
        session: None,
        date: None,
        text: text.to_owned(),
    }
}

/// Documents whose chunks are numbered through; ids are numbers.
struct Project {
    vocabulary: Arc<Vocabulary>,
    generation: Generation,
    accesses: Accesses,
    exact: HashMap<usize, Vec<f32>>,
    now: Timestamp,
}

impl Project {
    fn new(documents: Vec<Vec<Chunk>>) -> Self {
        let vocabulary = Arc::new(Vocabulary::default());
        let mut next = 0..;
        let mut part = |chunks: Vec<Chunk>| {
            let rows = Rows::without_vectors(chunks.len());
            let numbered: Vec<(i64, Chunk)> = chunks.into_iter().map(|chunk| (next.next().unwrap(), chunk)).collect();
            Part::new(Arc::new(Document::new(&vocabulary, numbered)), Arc::new(rows))
        };
        let parts = documents.into_iter().map(&mut part).collect();
        let generation = Generation::build(&vocabulary, parts, None);
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 10);
        Self { vocabulary, generation, accesses: Accesses::default(), exact: HashMap::new(), now }
    }

    fn give(&mut self, chunk: usize, vector: &[f32]) {
        let mut parts = self.generation.parts().to_vec();
        let part = self.generation.part_of[chunk] as usize;
        let row = chunk - self.generation.starts[part];
        parts[part].vectors = Arc::new(parts[part].vectors.with(&[(row, vector)]));
        self.generation = Generation::build(&self.vocabulary, parts, Some(&self.generation));
    }

    fn found(&self, query: &str) -> Vec<i64> {
        self.hits(query).into_iter().map(|hit| hit.id).collect()
    }

    fn hits(&self, query: &str) -> Vec<Hit> {
        self.search(query, None, &Filter::default()).1
    }

    fn search(&self, query: &str, vector: Option<&[f32]>, filter: &Filter) -> (Found, Vec<Hit>) {
        let (query, weights) = (Query::new(query), Weights::default());
        let search = Search { query: &query, vector, filter, weights: &weights };
        let found = self.generation.find(&search);
        let circumstances = Circumstances { exact: &self.exact, accesses: &self.accesses, now: self.now };
        let hits = found.clone().rank(&self.generation, &search, &circumstances, 10);
        (found, hits)
    }
}
