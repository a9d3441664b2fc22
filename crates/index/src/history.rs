//! What the commits say: each one is a discovery, and the commits of one author on one day are a session. Commits are read
//! by a library, and `repository` says from which folder; no program is started, and no configuration asked.
//!
//! A history that is broken, cut off or not there at all gives what it gives.

mod repository;
mod subject;

use std::collections::BTreeMap;

use countersign_repo::Root;
use gix::bstr::ByteSlice as _;
use gix::objs::{CommitRefIter, Exists as _, FindExt as _};
use gix::odb::pack::cache::object::MemoryCappedHashmap;
use gix::traverse::commit::Simple;
use gix::traverse::commit::simple::{CommitTimeOrder, Sorting};
use gix::{ObjectId, oid};
use jiff::Timestamp;
use jiff::tz::Offset;

use self::repository::{NotRead, Repository};
use self::subject::Subject;
use crate::chunk::{CHUNK_BYTES_MAX, Chunk, Kind, Source};
use crate::origin::Origin;

/// Of a long history, the newest.
const COMMITS_MAX: usize = 5000;

/// Parents are looked at twice, once for their time.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// Of an author's name in a session.
const NAME_BYTES_MAX: usize = 100;

/// Of a subject in a session.
const SUBJECT_BYTES_MAX: usize = 200;

/// Lines at the end of a message that are for programs.
const TRAILERS: [&str; 5] = ["Signed-off-by:", "Co-authored-by:", "Reviewed-by:", "Change-Id:", "Cc:"];

/// One day of one author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) origin: Origin,
    /// The session itself, then its commits, oldest first.
    pub(crate) chunks: Vec<Chunk>,
}

/// The sessions of the repository that has its `.git` in the root, newest first. Blocks on the disk.
pub(crate) fn sessions(root: &Root, stopped: &dyn Fn() -> bool) -> Vec<Session> {
    let commits = match Repository::find(root).and_then(|repository| commits(repository, stopped)) {
        Ok(commits) => commits,
        Err(NotRead::Refused { place, reason }) => {
            tracing::warn!(?place, reason, "the history of the repository is not read, because it may lead elsewhere");
            return Vec::new();
        }
        Err(error @ (NotRead::Nothing | NotRead::Broken(_))) => {
            tracing::debug!(%error, "no history is read");
            return Vec::new();
        }
    };
    let mut days: BTreeMap<(String, String), Vec<Commit>> = BTreeMap::new();
    for commit in commits {
        days.entry((commit.day.clone(), commit.author_hash.clone())).or_default().push(commit);
    }
    days.into_iter()
        .rev()
        .map(|((day, author), commits)| session(&format!("session-{day}-{author}"), commits))
        .collect()
}

/// A commit that is no merge.
#[derive(Debug)]
struct Commit {
    id: ObjectId,
    author: String,
    /// Stands for the author where the name is nobody's business.
    author_hash: String,
    date: Timestamp,
    /// Where the author was.
    day: String,
    message: String,
}

fn commits(repository: Repository, stopped: &dyn Fn() -> bool) -> Result<Vec<Commit>, NotRead> {
    let mut objects = gix::odb::at(repository.objects, repository.head.kind())?;
    objects.set_object_cache(|| Box::new(MemoryCappedHashmap::new(CACHE_BYTES)));
    let newest = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    // A copy that was made without the whole history ends where something is missing.
    let there = |id: &oid| objects.exists(id);
    let walk = Simple::filtered([repository.head], &objects, there).sorting(newest);
    let walk = walk.map_err(|error| NotRead::Broken(error.into()))?;
    let mut commits = Vec::new();
    let mut buffer = Vec::new();
    for info in walk.take(COMMITS_MAX) {
        // Something is broken from here on; what was found is good.
        let Ok(info) = info else { break };
        if stopped() {
            break;
        }
        if info.parent_ids.len() > 1 {
            continue;
        }
        let commit = objects.find_commit_iter(&info.id, &mut buffer).ok();
        commits.extend(commit.and_then(|commit| read(info.id, commit)));
    }
    Ok(commits)
}

/// `None` if nobody could say who did it when.
fn read(id: ObjectId, commit: CommitRefIter<'_>) -> Option<Commit> {
    let author = commit.author().ok()?;
    let time = author.time().ok()?;
    let email = author.email.to_str_lossy().to_lowercase();
    let name = author.name.to_str_lossy().replace('\0', "");
    let who = if email.is_empty() { &name } else { &email };
    let local = Timestamp::from_second(time.seconds.checked_add(i64::from(time.offset))?).ok()?;
    Some(Commit {
        id,
        author_hash: blake3::hash(who.as_bytes()).to_hex().chars().take(8).collect(),
        author: name[..name.floor_char_boundary(NAME_BYTES_MAX)].to_owned(),
        date: Timestamp::from_second(time.seconds).ok()?,
        day: Offset::UTC.to_datetime(local).date().to_string(),
        message: message(&commit.message().ok()?.to_str_lossy()),
    })
}

/// What is for people, cut at the end of a chunk.
fn message(raw: &str) -> String {
    let is_trailer = |line: &&str| TRAILERS.iter().any(|trailer| line.trim_start().starts_with(trailer));
    let lines: Vec<&str> = raw.lines().map(str::trim_end).filter(|line| !is_trailer(line)).collect();
    let mut message = lines.join("\n").trim().replace('\0', " ");
    message.truncate(message.floor_char_boundary(CHUNK_BYTES_MAX));
    message.truncate(message.trim_end().len());
    message
}

fn session(id: &str, mut commits: Vec<Commit>) -> Session {
    commits.sort_by_key(|commit| commit.date);
    let origin = Origin::of_session(id, commits.iter().map(|commit| commit.id.as_bytes()));
    let known = |kind: Kind, source: Source, text: String, commit: &Commit| Chunk {
        session: Some(id.to_owned()),
        date: Some(commit.date),
        ..Chunk::new(source, kind, text)
    };
    let mut chunks = Vec::new();
    let mut text = String::new();
    let mut modules: Vec<Option<String>> = Vec::new();
    for commit in commits.iter().filter(|commit| !commit.message.is_empty()) {
        let line = commit.message.lines().next().unwrap_or_default();
        let subject = Subject::read(line);
        let module = subject.module.map(str::to_owned);
        let discovery = known(subject.kind(), Source::Discovery, commit.message.clone(), commit);
        chunks.push(Chunk { module: module.clone(), ..discovery });
        modules.push(module);
        text.push_str(&format!("\n- {}", &line[..line.floor_char_boundary(SUBJECT_BYTES_MAX)]));
    }
    if let (Some(last), Some(first)) = (commits.last(), modules.first()) {
        let mut text = format!("{}, {}:{text}", last.author, last.day);
        text.truncate(text.floor_char_boundary(CHUNK_BYTES_MAX));
        // A day on one module is a day of that module.
        let module = first.clone().filter(|_| modules.iter().all(|module| module == first));
        chunks.insert(0, Chunk { module, ..known(Kind::Session, Source::Session, text, last) });
    }
    Session { origin, chunks }
}

#[cfg(test)]
mod tests;
