//! One folder whose files a tool may read and replace, and nothing around it. Where a request leads is asked of the open
//! folder, so a link that is swapped in between leads nowhere new; and what is there is replaced, never written into.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::append::sync_folder;
use crate::replace::{Consent, Keeping, Target, WriteRefused, clear_leftovers, not_a_file, replace};
use crate::root::{Ours, plain, resolved_as_far_as_it_exists};
use crate::{FileRefused, Found, PathPolicy, Root};

/// As many as systems follow.
const MAX_LINKS: usize = 40;

/// Each is looked up from the root on.
const MAX_FOLDERS: usize = 256;

/// What a sandbox is made of.
#[derive(Debug, Clone)]
pub struct Places {
    /// The folder. It is made by the first write.
    pub root: PathBuf,
    /// What is read but not written: files that others answer for.
    pub guarded: Vec<PathBuf>,
    /// Where it is noted what is being written, for whoever comes after a crash.
    pub notes: PathBuf,
}

impl Places {
    /// Removes the temporary files of processes that were killed while they wrote, and answers how many there were.
    pub fn clear_leftovers(&self) -> io::Result<usize> {
        clear_leftovers(&self.notes)
    }
}

#[derive(Debug)]
pub struct Sandbox {
    places: Places,
    /// What is neither read nor written, wherever it lies. It is kept from call to call, because what was ours once stays so.
    ours: Arc<Ours>,
}

impl Sandbox {
    /// What `repository` hides is hidden here, too: both keep the same handles on it.
    pub fn new(places: Places, repository: &Root) -> Self {
        Self { places, ours: Arc::clone(&repository.ours) }
    }

    /// Blocks on the disk, like everything here; not for an async thread.
    pub fn read(&self, policy: &PathPolicy, request: &str) -> Result<Found, FileRefused> {
        let path = self.inside(policy, request)?;
        let root = match Root::beside(&self.places.root, Arc::clone(&self.ours)) {
            Ok(root) => root,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FileRefused::NotFound),
            Err(error) => return Err(FileRefused::Io(error)),
        };
        root.read(policy, &path)
    }

    /// The file has this content afterwards, and it is on disk; or everything is as it was. Missing folders are made.
    pub fn write(
        &self,
        policy: &PathPolicy,
        request: &str,
        content: &[u8],
        consent: Consent<'_>,
    ) -> Result<(), WriteRefused> {
        let path = self.inside(policy, request).map_err(|refused| match refused {
            FileRefused::Denied => WriteRefused::Denied,
            FileRefused::NotFound | FileRefused::TooLarge { .. } => not_a_file(),
            FileRefused::Io(error) => WriteRefused::from_io(error),
        })?;
        if path.split('/').count() > MAX_FOLDERS {
            return Err(WriteRefused::Io(io::ErrorKind::InvalidFilename.into()));
        }
        make_root(&self.places.root).map_err(WriteRefused::from_io)?;
        let root = Root::beside(&self.places.root, Arc::clone(&self.ours)).map_err(WriteRefused::from_io)?;
        self.ours.look_again();
        let way = Way { root: &root, policy, guarded: self.guarded() };
        let mut made = MadeFolders::default();
        let written = way.place(&path, &mut made).and_then(|Place { folder, whereabouts, name }| {
            let target = Target { folder: &folder, whereabouts: &whereabouts, name: &name };
            let keeping = Keeping { notes: &self.places.notes, ours: &self.ours };
            replace(target, content, keeping, consent)
        });
        match written {
            Ok(()) => made.sync().map_err(WriteRefused::Unsettled),
            Err(WriteRefused::Unsettled(error)) => Err(WriteRefused::Unsettled(error)),
            Err(refused) => {
                made.remove();
                Err(refused)
            }
        }
    }

    /// The request relative to the root. An absolute one counts where it lies in there by its name.
    fn inside(&self, policy: &PathPolicy, request: &str) -> Result<String, FileRefused> {
        if !request.starts_with('/') {
            return plain(policy, request);
        }
        if policy.goes_up(request) {
            return Err(FileRefused::Denied);
        }
        let resolved = self.places.root.canonicalize().ok();
        let mut roots = [Some(&self.places.root), resolved.as_ref()].into_iter().flatten();
        let inside = roots.find_map(|root| Path::new(request).strip_prefix(root).ok()).and_then(Path::to_str);
        plain(policy, inside.ok_or(FileRefused::Denied)?)
    }

    fn guarded(&self) -> Vec<PathBuf> {
        self.places.guarded.iter().map(|place| resolved_as_far_as_it_exists(place)).collect()
    }
}

/// Where a file goes: a name in an open folder.
struct Place {
    folder: Dir,
    whereabouts: PathBuf,
    name: OsString,
}

/// From the root to a place.
struct Way<'a> {
    root: &'a Root,
    policy: &'a PathPolicy,
    guarded: Vec<PathBuf>,
}

impl Way<'_> {
    /// Links are followed as far as they stay inside; folders are made for what was asked for, not for what a link says.
    fn place(&self, path: &str, made: &mut MadeFolders) -> Result<Place, WriteRefused> {
        let mut path = PathBuf::from(path);
        let mut folder = self.folder(parent(&path), made)?;
        for _ in 0..MAX_LINKS {
            let Some(name) = path.file_name().map(OsString::from) else {
                // A folder, by its name alone; one outside is refused as such.
                self.open(&path)?;
                return Err(not_a_file());
            };
            let whereabouts = self.whereabouts(&folder, parent(&path))?;
            self.check(&whereabouts.join(&name))?;
            match folder.symlink_metadata(&name) {
                Ok(about) if about.is_symlink() => {
                    let target = folder.read_link_contents(&name).map_err(WriteRefused::from_io)?;
                    path = parent(&path).join(target);
                    folder = self.open(parent(&path))?;
                }
                Ok(about) if !about.is_file() => return Err(not_a_file()),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(WriteRefused::from_io(error)),
                Ok(_) | Err(_) => return Ok(Place { folder, whereabouts, name }),
            }
        }
        Err(WriteRefused::Io(io::Error::other("links lead in a circle")))
    }

    /// The folder, made as far as it is missing.
    fn folder(&self, path: &Path, made: &mut MadeFolders) -> Result<Dir, WriteRefused> {
        let mut existing = path;
        let mut folder = loop {
            match self.root.dir.open_dir(or_here(existing)) {
                Ok(folder) => break folder,
                Err(error) if error.kind() == io::ErrorKind::NotFound && !existing.as_os_str().is_empty() => {
                    existing = parent(existing);
                }
                Err(error) => return Err(WriteRefused::from_io(error)),
            }
        };
        let missing = path.strip_prefix(existing).unwrap_or(path);
        // Before anything is made there.
        self.check(&self.whereabouts(&folder, existing)?.join(missing))?;
        for name in missing.components() {
            folder = made.make(folder, name).map_err(WriteRefused::from_io)?;
        }
        Ok(folder)
    }

    fn open(&self, path: &Path) -> Result<Dir, WriteRefused> {
        self.root.dir.open_dir(or_here(path)).map_err(WriteRefused::from_io)
    }

    /// The rules on where the folder really is, and on the name in it.
    fn check(&self, place: &Path) -> Result<(), WriteRefused> {
        let inside = place.strip_prefix(&self.root.path).map_err(|_| WriteRefused::Denied)?;
        let blocked = |component: Component<'_>| self.policy.blocks(&component.as_os_str().to_string_lossy());
        let guarded = self.guarded.iter().any(|theirs| place.starts_with(theirs));
        if inside.components().any(blocked) || guarded || self.root.ours.now().cover(place) {
            return Err(WriteRefused::Denied);
        }
        Ok(())
    }

    /// Asked of the handle itself where the system can be asked; by name otherwise.
    fn whereabouts(&self, folder: &Dir, path: &Path) -> Result<PathBuf, WriteRefused> {
        let found = if cfg!(target_os = "linux") {
            fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
        } else {
            self.root.dir.canonicalize(or_here(path)).map(|inside| self.root.path.join(inside))
        };
        found.map_err(WriteRefused::from_io)
    }
}

/// Folders that were not there before, each in the one above.
#[derive(Default)]
struct MadeFolders(Vec<(Dir, OsString)>);

impl MadeFolders {
    /// Makes one, unless somebody else was faster, and goes into it.
    fn make(&mut self, above: Dir, name: Component<'_>) -> io::Result<Dir> {
        match above.create_dir(name) {
            Ok(()) => {
                let folder = above.open_dir(name);
                self.0.push((above, name.as_os_str().to_owned()));
                folder
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => above.open_dir(name),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|(above, _)| sync_folder(above))
    }

    /// Those that nobody else has put something into meanwhile.
    fn remove(&self) {
        for (above, name) in self.0.iter().rev() {
            if above.remove_dir(name).is_err() {
                return;
            }
        }
    }
}

/// On disk, like everything that is written into it.
fn make_root(path: &Path) -> io::Result<()> {
    let missing = path.ancestors().take_while(|folder| !folder.exists()).count();
    if missing == 0 {
        return Ok(());
    }
    fs::create_dir_all(path)?;
    // Each new name is in the folder above.
    path.ancestors().skip(1).take(missing).try_for_each(|above| fs::File::open(above)?.sync_all())
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests;
