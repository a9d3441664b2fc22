//! Questions, what answers them, and what is searched: read from a folder in one of two forms.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use countersign_index::{
    Chunk, Document, Generation, Kind, Part, Rows, Source, Vocabulary, chunks_of_file, text_to_embed,
};
use countersign_repo::Until;
use serde::Deserialize;

use super::super::Options;
use super::super::vectors::Vectors;
use crate::talk;

/// As long as the index itself takes at most.
const MAX_TIME_A_FILE: Duration = Duration::from_millis(500);

/// Folders below the data that are looked at.
const MAX_DEPTH: usize = 3;

pub(super) struct Collection {
    pub(super) name: String,
    /// One with annotated code, not a list of texts.
    pub(super) is_repository: bool,
    pub(super) generation: Generation,
    pub(super) questions: Vec<Question>,
    /// By row id.
    chunks: Vec<Searched>,
}

/// A chunk, and the text of the corpus that it is, if it is one.
struct Searched {
    text_id: Option<String>,
    path: Option<String>,
    lines: Option<(u32, u32)>,
    vector: Vec<f32>,
}

pub(super) struct Question {
    pub(super) text: String,
    pub(super) category: Option<String>,
    pub(super) answers: Vec<Answer>,
    pub(super) vector: Vec<f32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// The id of a text, or the path of a file.
    place: String,
    lines: Option<(u32, u32)>,
    pub(super) gain: f64,
}

/// Everything below a folder.
pub(super) fn all(data: &Path, options: &Options, vectors: &mut Vectors) -> anyhow::Result<Vec<Collection>> {
    let mut collections = Vec::new();
    read_folder(data, MAX_DEPTH, options, vectors, &mut collections)?;
    ensure!(!collections.is_empty(), "no collection of questions and texts below `{}`", data.display());
    Ok(collections)
}

fn read_folder(
    folder: &Path,
    depth: usize,
    options: &Options,
    vectors: &mut Vectors,
    collections: &mut Vec<Collection>,
) -> anyhow::Result<()> {
    let entries = sorted(folder)?;
    if entries.iter().any(|entry| entry.ends_with("corpus.jsonl")) {
        collections.push(of_texts(folder, &entries, vectors)?);
        return Ok(());
    }
    let is_questions = |entry: &&PathBuf| entry.extension().is_some_and(|ending| ending == "tsv");
    let questions: Vec<&PathBuf> = entries.iter().filter(is_questions).collect();
    for file in &questions {
        of_repositories(file, options.repos.as_deref().unwrap_or(folder), options, vectors, collections)?;
    }
    // Beside a list of questions lie the repositories themselves.
    let below = if questions.is_empty() || options.repos.is_some() { depth } else { depth.min(1) };
    if below > 0 {
        for entry in entries.iter().filter(|entry| entry.is_dir()) {
            read_folder(entry, below - 1, options, vectors, collections)?;
        }
    }
    Ok(())
}

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(alias = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
    path: Option<String>,
}

fn of_texts(folder: &Path, entries: &[PathBuf], vectors: &mut Vectors) -> anyhow::Result<Collection> {
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut parts = Vec::new();
    for Line { id, title, text, path } in lines_of(&folder.join("corpus.jsonl"))? {
        let text = if title.is_empty() { text } else { format!("{title}\n{text}") };
        let chunk = Chunk {
            source: Source::Code,
            kind: Kind::Code,
            path,
            lines: None,
            symbol: None,
            module: None,
            session: None,
            date: None,
            text,
        };
        parts.push(vec![(Some(id), chunk)]);
    }
    let mut answers: HashMap<String, Vec<Answer>> = HashMap::new();
    for file in named(entries, "qrels", "tsv") {
        for line in read(file)?.lines() {
            // TREC puts a column of zeros in between; a heading has no number for a grade.
            let fields: Vec<&str> = line.split('\t').collect();
            let (Some(query), [.., place, grade]) = (fields.first(), &fields[..]) else { continue };
            if let Some(gain) = grade.trim().parse().ok().filter(|gain| *gain > 0.0) {
                let answer = Answer { place: (*place).to_owned(), lines: None, gain };
                answers.entry((*query).to_owned()).or_default().push(answer);
            }
        }
    }
    let mut questions = Vec::new();
    for file in named(entries, "queries", "jsonl") {
        for Line { id, text, .. } in lines_of(file)? {
            // Not judged by anybody: it says nothing.
            if let Some(answers) = answers.remove(&id) {
                questions.push(Question { text, category: None, answers, vector: Vec::new() });
            }
        }
    }
    Collection::new(name, false, parts, questions, vectors)
}

/// Each line: repository, category, question, the file that answers it, more of them.
fn of_repositories(
    file: &Path,
    repos: &Path,
    options: &Options,
    vectors: &mut Vectors,
    collections: &mut Vec<Collection>,
) -> anyhow::Result<()> {
    let mut by_repository: BTreeMap<String, Vec<Question>> = BTreeMap::new();
    for line in read(file)?.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [repository, category, text, relevant, more @ ..] = &fields[..] else { continue };
        let places = std::iter::once(relevant).chain(more).flat_map(|places| places.split(';'));
        let answers = places.filter(|place| !place.trim().is_empty()).map(Answer::parse).collect();
        let category = Some((*category).to_owned());
        let question = Question { text: (*text).to_owned(), category, answers, vector: Vec::new() };
        by_repository.entry((*repository).to_owned()).or_default().push(question);
    }
    for (name, questions) in by_repository {
        let root = repos.join(&name);
        if !root.is_dir() {
            talk::note(format_args!("`{name}` is not checked out in `{}`: left out", repos.display()));
            continue;
        }
        let below = if options.whole { String::new() } else { common_folder(&questions) };
        let mut parts = Vec::new();
        read_code(&root, &root.join(below), options, &mut parts)?;
        collections.push(Collection::new(name, true, parts, questions, vectors)?);
    }
    Ok(())
}

impl Answer {
    /// `path`, or `path:first-last`.
    fn parse(place: &str) -> Self {
        let lines = place.rsplit_once(':').and_then(|(path, lines)| {
            let (first, last) = lines.split_once('-')?;
            Some((path, (first.parse().ok()?, last.parse().ok()?)))
        });
        let (path, lines) = lines.map_or((place, None), |(path, lines)| (path, Some(lines)));
        Self { place: path.trim().to_owned(), lines, gain: 1.0 }
    }
}

/// The folder that all answers are in: what is beside it was not annotated.
fn common_folder(questions: &[Question]) -> String {
    let mut folders = questions.iter().flat_map(|question| &question.answers).map(|answer| {
        answer.place.rsplit_once('/').map_or_else(Vec::new, |(folder, _)| folder.split('/').collect::<Vec<_>>())
    });
    let mut common = folders.next().unwrap_or_default();
    for folder in folders {
        let same = common.iter().zip(&folder).take_while(|(one, other)| one == other).count();
        common.truncate(same);
    }
    common.join("/")
}

type Named = Vec<(Option<String>, Chunk)>;

fn read_code(root: &Path, folder: &Path, options: &Options, parts: &mut Vec<Named>) -> anyhow::Result<()> {
    for entry in sorted(folder)? {
        let hidden = entry.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if hidden || entry.is_symlink() {
            continue;
        }
        if entry.is_dir() {
            read_code(root, &entry, options, parts)?;
        } else if let (Ok(text), Ok(path)) = (fs::read_to_string(&entry), entry.strip_prefix(root)) {
            let until = Until::new(MAX_TIME_A_FILE, || false);
            let mut chunks = chunks_of_file(&path.to_string_lossy(), &text, None, false, &until);
            chunks.retain(|chunk| options.whole || chunk.source == Source::Code);
            if !chunks.is_empty() {
                parts.push(chunks.into_iter().map(|chunk| (None, chunk)).collect());
            }
        }
    }
    Ok(())
}

impl Collection {
    fn new(
        name: String,
        is_repository: bool,
        documents: Vec<Named>,
        mut questions: Vec<Question>,
        vectors: &mut Vectors,
    ) -> anyhow::Result<Self> {
        ensure!(!questions.is_empty() && !documents.is_empty(), "`{name}` has no questions or nothing to search");
        talk::note(format_args!("{name}: {} documents, {} questions", documents.len(), questions.len()));
        let texts: Vec<String> = questions.iter().map(|question| question.text.clone()).collect();
        for (question, vector) in questions.iter_mut().zip(vectors.of(&texts)?) {
            question.vector = vector;
        }
        let texts: Vec<String> = documents.iter().flatten().map(|(_, chunk)| text_to_embed(chunk)).collect();
        let mut vectors = vectors.of(&texts)?.into_iter();
        let vocabulary = Arc::new(Vocabulary::default());
        let (mut parts, mut chunks) = (Vec::new(), Vec::new());
        for document in documents {
            let first = chunks.len();
            for (text_id, chunk) in &document {
                let vector = vectors.next().context("a text has no vector")?;
                let (path, lines) = (chunk.path.clone(), chunk.lines);
                chunks.push(Searched { text_id: text_id.clone(), path, lines, vector });
            }
            let own: Vec<(usize, &[f32])> =
                chunks[first..].iter().map(|chunk| chunk.vector.as_slice()).enumerate().collect();
            let rows = Rows::without_vectors(own.len()).with(&own);
            let ids = (i64::try_from(first)?..).zip(document.into_iter().map(|(_, chunk)| chunk));
            parts.push(Part::new(Arc::new(Document::new(&vocabulary, ids)), Arc::new(rows)));
        }
        let generation = Generation::build(&vocabulary, parts, None);
        Ok(Self { name, is_repository, generation, questions, chunks })
    }

    /// Of a chunk by its number in the generation.
    pub(super) fn vector(&self, chunk: usize) -> Option<&Vec<f32>> {
        self.row(self.generation.entry(chunk).id).map(|row| &row.vector)
    }

    pub(super) fn is_answer(&self, id: i64, answer: &Answer) -> bool {
        self.row(id).is_some_and(|row| match &row.text_id {
            Some(id) => *id == answer.place,
            None => row.path.as_ref() == Some(&answer.place) && overlap(row.lines, answer.lines),
        })
    }

    fn row(&self, id: i64) -> Option<&Searched> {
        self.chunks.get(usize::try_from(id).ok()?)
    }
}

/// What has no lines is all of them.
fn overlap(one: Option<(u32, u32)>, other: Option<(u32, u32)>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one.0 <= other.1 && other.0 <= one.1)
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// Files whose names begin and end like this.
fn named<'e>(entries: &'e [PathBuf], start: &str, ending: &str) -> impl Iterator<Item = &'e PathBuf> {
    entries.iter().filter(move |entry| {
        let name = entry.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        name.starts_with(start) && entry.extension().is_some_and(|own| own == ending)
    })
}

fn lines_of(file: &Path) -> anyhow::Result<Vec<Line>> {
    let parse =
        |line: &str| serde_json::from_str(line).with_context(|| format!("`{}` is not as expected", file.display()));
    read(file)?.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))
}
