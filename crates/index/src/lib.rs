//! What the project knows about itself, found by meaning: code, decisions, notes, commits and open ends.
//!
//! Sources become [`Chunk`]s, chunks become rows and vectors in the store, and from those every process makes its own
//! [`Generation`], which never changes and is searched without a lock.

mod asking;
mod bm25;
mod catalogue;
mod chunk;
mod embed;
mod endpoint;
mod generation;
mod history;
mod index;
mod leading;
mod lock;
mod matrix;
mod origin;
mod query;
mod ranking;
mod refresh;
mod search;
mod sources;
mod terms;
mod watch;
mod weights;

pub use asking::{Answer, Asked, Piece, SearchError};
pub use chunk::{Chunk, Kind, Source, chunks_of_file, text_to_embed};
pub use embed::{EmbedError, Embedder, Encoder, Integers, Kept, Local, Parameters, Remote, TOKENS_MAX};
pub use endpoint::{Endpoint, Manner, Patience, Service, Unanswered};
pub use generation::{Document, Entry, Generation, Part};
pub use index::{BuildError, Built, Index, Parts, Stage};
pub use matrix::{Probe, Rows};
pub use query::Query;
pub use ranking::{Accesses, Circumstances, Hit};
pub use refresh::{IndexError, Progress};
pub use search::{Filter, Found, Search};
pub use sources::{Memory, Sources};
pub use terms::{Vocabulary, stem};
pub use weights::Weights;
