//! How much each thing counts when results are put in order: every number of the ranking, in one place.
//!
//! `cargo xtask eval retrieval` measures what each contributes; the figures are in `docs/context.md`. They were chosen
//! in the middle of what measures alike, on seven repositories in five languages, none for the last digit.

/// Chunks that are looked at closely, and whose full vectors are worth reading.
pub(crate) const POOL: usize = 200;
pub(crate) const RESCORED: usize = 100;

/// Texts that can be embedded while somebody waits, a few milliseconds each.
pub(crate) const EMBEDDED_ON_DEMAND: usize = 24;

/// Chunks among which several of one file count.
pub(crate) const SEVERAL_AMONG: usize = 100;
/// So many besides the best one of the file.
pub(crate) const SEVERAL_MAX: u8 = 3;

/// What is less relevant than this does not count as found, though it may be the best there is. Four questions about something else entirely reached .02 to .22; of
/// the right answers, forty-nine in fifty are above.
pub(crate) const RELEVANT: f32 = 0.15;

/// A chunk without a vector, or a question without one, is as close as its words usually mean: the line through cosines
/// and shares of BM25 on two data sets.
pub(crate) const CLOSE_BY_WORDS: f32 = 0.2;
pub(crate) const CLOSER_BY_WORDS: f32 = 0.7;

/// How fast a score goes towards 1: the best chunk for an ordinary question gets about .7, a definition that was asked
/// for by name .9, something unrelated less than .4.
pub(crate) const STEEPNESS: f32 = 2.0;

/// Days after which something new is half as new.
pub(crate) const RECENCY_HALF_LIFE_DAYS: f32 = 30.0;

/// Reads after which a file is read half as much as can be.
pub(crate) const OFTEN: f32 = 5.0;

/// The rules of the ranking. Relevance is the cosine and the share of BM25, weighed; rules add to it or multiply it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Share of words against vectors, when the question is prose: .1 to .3 measure alike.
    pub words_in_prose: f32,
    /// The same when the question is a name: whoever knows it wants to find it written.
    pub words_in_names: f32,
    /// Share of the whole file's vector against the chunk's own: what a file is about holds for its pieces.
    pub file: f32,
    /// Added to a chunk that defines what was asked for by name,
    pub definition: f32,
    /// and if upper and lower case and what it is part of are as asked,
    pub exact_definition: f32,
    /// and to one that defines a name in a question of several words.
    pub mentioned_definition: f32,
    /// Added for a file that is named with words of the question, by how much of the name and of the question that is,
    pub file_name: f32,
    /// and for a folder.
    pub folder_name: f32,
    /// Added for further relevant chunks of the same file.
    pub several: f32,
    /// Multiplies tests: they talk about everything and explain little.
    pub test: f32,
    /// Multiplies examples.
    pub example: f32,
    /// Multiplies what is made by a program.
    pub generated: f32,
    /// Multiplies copies of other projects.
    pub vendored: f32,
    /// Multiplies documents of no particular type: they mention everything, and most questions are about code or about
    /// something that was decided.
    pub note: f32,
    /// Multiplies each further chunk of a file that is already among the results.
    pub repeated: f32,
    /// Added to what was written just now, less as time goes by. It decides between equals and nothing else.
    pub recent: f32,
    /// Added to what is read most often, to the same end.
    pub accessed: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words_in_prose: 0.2,
            words_in_names: 0.6,
            file: 0.3,
            definition: 0.3,
            exact_definition: 0.15,
            mentioned_definition: 0.1,
            file_name: 0.15,
            folder_name: 0.08,
            several: 0.1,
            test: 0.5,
            example: 0.6,
            generated: 0.5,
            vendored: 0.5,
            note: 0.85,
            repeated: 0.5,
            recent: 0.02,
            accessed: 0.02,
        }
    }
}

impl Weights {
    /// Each rule with all weights but its own, to see what it contributes.
    pub fn each_without() -> Vec<(&'static str, Self)> {
        let all = Self::default();
        vec![
            ("words", Self { words_in_prose: 0.0, words_in_names: 0.0, ..all }),
            ("vectors", Self { words_in_prose: 1.0, words_in_names: 1.0, ..all }),
            ("names are asked for differently", Self { words_in_names: all.words_in_prose, ..all }),
            ("the file's vector", Self { file: 0.0, ..all }),
            ("definitions", Self { definition: 0.0, exact_definition: 0.0, mentioned_definition: 0.0, ..all }),
            ("file and folder names", Self { file_name: 0.0, folder_name: 0.0, ..all }),
            ("several chunks of a file", Self { several: 0.0, ..all }),
            ("tests and examples", Self { test: 1.0, example: 1.0, ..all }),
            ("generated and vendored files", Self { generated: 1.0, vendored: 1.0, ..all }),
            ("documents", Self { note: 1.0, ..all }),
            ("repeated hits of a file", Self { repeated: 1.0, ..all }),
        ]
    }

    /// The fusion alone.
    pub fn without_rules() -> Self {
        Self {
            file: 0.0,
            definition: 0.0,
            exact_definition: 0.0,
            mentioned_definition: 0.0,
            file_name: 0.0,
            folder_name: 0.0,
            several: 0.0,
            test: 1.0,
            example: 1.0,
            generated: 1.0,
            vendored: 1.0,
            note: 1.0,
            repeated: 1.0,
            recent: 0.0,
            accessed: 0.0,
            ..Self::default()
        }
    }
}
