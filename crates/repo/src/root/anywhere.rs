//! For those who follow paths that no rule was applied to, and show nothing of what they find: what is ours they leave alone.

use std::fs::Metadata;
use std::io::Read as _;
use std::path::Path;

use super::handles::Handles;
use super::{FileRefused, Root, refused};

impl Root {
    /// What is in a regular file that is none of ours at this very moment, wherever it lies and links lead.
    pub fn read_anywhere(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FileRefused> {
        let ours = self.ours.look_again();
        let handle = Handles::anywhere(path).map_err(refused)?;
        let about = Self::regular(&handle, &ours)?;
        // One of ours that came a moment ago is not known yet by what it is.
        if ours.cover(&path.canonicalize().map_err(refused)?) {
            return Err(FileRefused::Denied);
        }
        if about.len() > limit {
            return Err(FileRefused::TooLarge { limit });
        }
        let mut bytes = Vec::new();
        let file = self.handles.open(&handle).map_err(refused)?;
        file.take(limit + 1).read_to_end(&mut bytes).map_err(FileRefused::Io)?;
        if bytes.len() as u64 > limit { Err(FileRefused::TooLarge { limit }) } else { Ok(bytes) }
    }

    /// Whether what lies in this place is ours, by its name or by what it is. Its folder is free of links.
    pub fn is_ours(&self, place: &Path, about: &Metadata) -> bool {
        let ours = self.ours.now();
        ours.cover(place) || ours.are(about)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use crate::{FileRefused, Root};

    #[test]
    fn ours_are_not_read_by_whatever_name() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("root/data")).unwrap();
        fs::write(at("other"), "0123456789").unwrap();
        let root = Root::open(&at("root"), &[at("root/data")]).unwrap();
        // It came after the last look.
        fs::write(at("root/data/db"), "").unwrap();
        symlink("data/db", at("root/link")).unwrap();
        symlink("../other", at("root/out")).unwrap();
        fs::hard_link(at("root/data/db"), at("root/second")).unwrap();

        for name in ["root/data/db", "root/link", "root/second"] {
            assert!(matches!(root.read_anywhere(&at(name), 10), Err(FileRefused::Denied)), "{name}");
        }
        for name in ["root/data/db", "root/second"] {
            assert!(root.is_ours(&at(name), &fs::symlink_metadata(at(name)).unwrap()), "{name}");
        }
        for name in ["other", "root/out"] {
            assert_eq!(root.read_anywhere(&at(name), 10).unwrap(), b"0123456789", "{name}");
            assert!(!root.is_ours(&at(name), &fs::symlink_metadata(at(name)).unwrap()), "{name}");
        }
        assert!(matches!(root.read_anywhere(&at("other"), 9), Err(FileRefused::TooLarge { limit: 9 })));
        for name in ["nothing", "root", "root/data"] {
            assert!(matches!(root.read_anywhere(&at(name), 9), Err(FileRefused::NotFound)), "{name}");
        }
    }
}
