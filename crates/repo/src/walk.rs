//! The whole tree, folder by folder, on several threads: what `.gitignore` and its kin, the tool's policy and its
//! excluded folders leave of it. The order is none; whoever wants one sorts.
//!
//! ripgrep's own walker opens by name and waits for whatever calls itself `.gitignore`, a pipe included; this one opens
//! beneath the root and follows no link, so that what is swapped in meanwhile leads nowhere. The rules are ripgrep's.

mod folder;
mod glob;
mod queue;
mod rules;

use std::ffi::{CString, OsStr};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::Dir;
use rustix::fs::OFlags;

use self::folder::{Kind, Listing, Named, list, open_file, open_folder};
pub use self::glob::{FileGlob, InvalidGlob};
use self::queue::Queue;
use self::rules::Rules;
use crate::root::{Known, Unopened};
use crate::{PathPolicy, Root};

/// More threads than this wait for each other; ripgrep stops there, too.
const THREADS_MAX: usize = 12;

/// Files of one folder that are one piece of work: a folder with very many is everybody's.
const FILES_AT_A_TIME: usize = 64;

/// What a walk leaves out beside what it is told to ignore by files in the tree.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Files that it refuses are not met.
    pub policy: &'a PathPolicy,
    /// Names of folders that are not entered.
    pub excluded: &'a [&'a str],
    /// Only files that it matches are met.
    pub files: Option<&'a FileGlob>,
}

/// Ends a walk from outside. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What each thread does with the files that it meets.
pub(crate) trait Visit: Send {
    /// An error ends the walk: it is for what would make the result wrong, not for a file that cannot be read.
    fn visit(&mut self, file: &Met<'_>) -> io::Result<()>;
}

/// A file that the walk has come to.
pub(crate) struct Met<'a> {
    root: &'a Root,
    ours: &'a Known,
    folder: &'a OwnedFd,
    name: &'a CString,
    /// Relative to the root.
    pub(crate) path: &'a Path,
}

impl Met<'_> {
    /// Without following a link, and without waiting. It was a file, and none of ours, when the folder was read; what it is
    /// now is asked of the open handle, which costs no call more than whoever reads it needs anyway.
    pub(crate) fn open(&self) -> io::Result<(File, Metadata)> {
        let file =
            if self.root.ours.is_wary() { self.open_judged()? } else { open_file(self.folder.as_fd(), self.name)? };
        let about = file.metadata()?;
        if self.ours.are(&about) {
            self.root.ours.leave_open(file);
            return Err(io::ErrorKind::NotFound.into());
        }
        if about.is_file() { Ok((file, about)) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Three calls more.
    fn open_judged(&self) -> io::Result<File> {
        let folder = Dir::from_std_file(File::from(self.folder.try_clone()?));
        let there = Unopened::look(&folder, Path::new(OsStr::from_bytes(self.name.as_bytes())))?;
        if there.is_one_of(self.ours) || !there.about().is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        there.open(OFlags::RDONLY, &self.root.ours)
    }
}

impl Root {
    /// Hands every file in scope to one of the visitors; they come back when all is done, or when it was stopped.
    pub(crate) fn walk<V: Visit>(
        &self,
        scope: Scope<'_>,
        stop: &Stop,
        visitor: impl Fn() -> V + Sync,
    ) -> io::Result<Vec<V>> {
        if self.ours.now().cover(&self.path) {
            return Ok(Vec::new());
        }
        let rules = Rules::above(self);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let first = Work::Folder { path: self.path.clone(), rules };
        let walk = Walk { root: self, scope, stop, queue: Queue::new(threads, first), trouble: Mutex::default() };
        let visitors = std::thread::scope(|scope| {
            let work = || {
                let mut worker = Worker { walk: &walk, ours: self.ours.now(), visitor: visitor() };
                worker.run();
                worker.visitor
            };
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut visitors = vec![work()];
            for other in others {
                visitors.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            visitors
        });
        match walk.trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(visitors),
        }
    }
}

struct Walk<'a> {
    root: &'a Root,
    scope: Scope<'a>,
    stop: &'a Stop,
    queue: Queue<Work>,
    /// What ended it.
    trouble: Mutex<Option<io::Error>>,
}

enum Work {
    Folder { path: PathBuf, rules: Arc<Rules> },
    Files { folder: Arc<OwnedFd>, path: PathBuf, names: Vec<CString> },
}

struct Worker<'a, V> {
    walk: &'a Walk<'a>,
    /// As it was when the present work began: a walk can take its time.
    ours: Arc<Known>,
    visitor: V,
}

impl<V: Visit> Worker<'_, V> {
    fn run(&mut self) {
        let _guard = self.walk.queue.working();
        while let Some(work) = self.walk.queue.next(self.walk.stop) {
            self.ours = self.walk.root.ours.now();
            let done = match work {
                Work::Folder { path, rules } => self.enter(path, &rules),
                Work::Files { folder, path, names } => self.visit_all(&folder, path, &names),
            };
            if let Err(error) = done {
                *self.walk.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                self.walk.queue.end();
            }
        }
    }

    /// The folder's files are visited or put up as work, its folders are work.
    fn enter(&mut self, mut path: PathBuf, rules: &Arc<Rules>) -> io::Result<()> {
        let Walk { root, queue, .. } = self.walk;
        let at_the_top = path == root.path;
        let opened = open_folder(root.dir.as_fd(), self.inside(&path)).and_then(|folder| Ok((list(&folder)?, folder)));
        let (Listing { entries, markers }, folder) = match opened {
            Ok(opened) => opened,
            Err(error) if at_the_top || is_ours_to_solve(&error) => return Err(error),
            // It is gone or not for us; so are the files in it.
            Err(_) => return Ok(()),
        };
        let rules = rules.with(root, &path, self.inside(&path), markers);
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for Named { name, kind, number } in entries {
            path.push(OsStr::from_bytes(name.as_bytes()));
            if !self.leaves_out(&path, &name, kind)
                && !self.is_ours(&path, number)
                && !rules.ignore(&path, kind == Kind::Folder)
            {
                match kind {
                    Kind::File => files.push(name),
                    Kind::Folder => folders.push(Work::Folder { path: path.clone(), rules: Arc::clone(&rules) }),
                }
            }
            path.pop();
        }
        // The last is taken first, and the first in order are wanted first.
        if !folders.is_empty() {
            queue.put(folders.into_iter().rev());
        }
        let folder = Arc::new(folder);
        if files.len() > FILES_AT_A_TIME {
            let later = files.split_off(FILES_AT_A_TIME);
            let batches = later.chunks(FILES_AT_A_TIME).rev();
            queue.put(batches.map(|names| Work::Files {
                folder: Arc::clone(&folder),
                path: path.clone(),
                names: names.to_vec(),
            }));
        }
        self.visit_all(&folder, path, &files)
    }

    fn visit_all(&mut self, folder: &OwnedFd, mut path: PathBuf, names: &[CString]) -> io::Result<()> {
        let ours = Arc::clone(&self.ours);
        for name in names {
            if self.walk.stop.is_stopped() {
                break;
            }
            path.push(OsStr::from_bytes(name.as_bytes()));
            let met = Met { root: self.walk.root, ours: &ours, folder, name, path: self.inside(&path) };
            match self.visitor.visit(&met) {
                Err(error) if is_ours_to_solve(&error) => return Err(error),
                // Gone, not readable, no file: there is nothing to find in it.
                Ok(()) | Err(_) => {}
            }
            path.pop();
        }
        Ok(())
    }

    fn leaves_out(&self, path: &Path, name: &CString, kind: Kind) -> bool {
        let Scope { policy, excluded, files } = self.walk.scope;
        let name = String::from_utf8_lossy(name.as_bytes());
        let unwanted = match kind {
            Kind::Folder => excluded.contains(&&*name),
            Kind::File => files.is_some_and(|files| !files.matches(path)),
        };
        unwanted || policy.blocks(&name)
    }

    /// By its name, or by what it is: of a file of ours, not even a handle is closed.
    fn is_ours(&self, path: &Path, number: u64) -> bool {
        let ours = &self.ours;
        ours.name(path) || (ours.may_have(number) && path.symlink_metadata().is_ok_and(|about| ours.are(&about)))
    }

    /// The path relative to the root; every path here begins with that of the root.
    fn inside<'p>(&self, path: &'p Path) -> &'p Path {
        let (path, root) = (path.as_os_str().as_bytes(), self.walk.root.path.as_os_str().as_bytes());
        let inside = &path[root.len().min(path.len())..];
        Path::new(OsStr::from_bytes(inside.strip_prefix(b"/").unwrap_or(inside)))
    }
}

/// Whether this process, not the file, is what stands in the way: then the file might have held something.
fn is_ours_to_solve(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let raw = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(raw, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}
