//! Names that were made, removed or changed and not synced: done in the directory at once, and undone when they are dropped.
//!
//! What was removed lies in a hidden directory until its removal is durable. An fsync of a directory makes its names durable; an
//! fsync of a file those that lead to it, as Linux file systems do. If this process dies, names stay as they are.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::calls;
use super::nodes::{identity, through};

/// Of the hidden directory's name.
const HIDDEN: &str = ".iodyno-view-";

/// A place of a name.
#[derive(Clone)]
pub struct NamePlace {
    pub directory: Arc<File>,
    pub name: OsString,
}

/// What was done.
enum NameChange {
    Made {
        place: NamePlace,
        file: (u64, u64),
    },
    /// It lies in the hidden directory under this number.
    Removed {
        place: NamePlace,
        kept: u64,
    },
    /// What was replaced lies in the hidden directory.
    Renamed {
        from: NamePlace,
        to: NamePlace,
        file: (u64, u64),
        kept: Option<u64>,
    },
    Exchanged {
        one: NamePlace,
        other: NamePlace,
    },
}

/// All names that are not durable, in the order in which they were changed.
pub struct UnsyncedNames {
    hidden: PathBuf,
    /// The hidden directory's own name, in the root.
    name: OsString,
    state: Mutex<NameState>,
}

#[derive(Default)]
struct NameState {
    changes: Vec<NameChange>,
    next: u64,
}

impl NamePlace {
    fn path(&self) -> PathBuf {
        through(&self.directory).join(&self.name)
    }

    fn is_in(&self, directory: (u64, u64)) -> bool {
        self.directory.metadata().is_ok_and(|metadata| identity(&metadata) == directory)
    }
}

impl NameChange {
    fn is_in(&self, directory: (u64, u64)) -> bool {
        match self {
            NameChange::Made { place, .. } | NameChange::Removed { place, .. } => place.is_in(directory),
            NameChange::Renamed { from, to, .. } => from.is_in(directory) || to.is_in(directory),
            NameChange::Exchanged { one, other } => one.is_in(directory) || other.is_in(directory),
        }
    }

    fn leads_to(&self, wanted: (u64, u64)) -> bool {
        match self {
            NameChange::Made { file, .. } | NameChange::Renamed { file, .. } => *file == wanted,
            NameChange::Removed { .. } | NameChange::Exchanged { .. } => false,
        }
    }
}

impl UnsyncedNames {
    /// Makes the hidden directory in the covered one.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(root: &File) -> io::Result<UnsyncedNames> {
        let name = OsString::from(format!("{HIDDEN}{}", std::process::id()));
        let hidden = through(root).join(&name);
        fs::create_dir(&hidden)?;
        // Whoever may remove a name may keep what it led to.
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o777))?;
        Ok(UnsyncedNames { hidden: fs::canonicalize(&hidden)?, name, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, NameState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a name is that of the hidden directory.
    pub fn hides(&self, name: &OsStr) -> bool {
        name == self.name
    }

    fn kept(&self, number: u64) -> PathBuf {
        self.hidden.join(number.to_string())
    }

    /// A name was made.
    pub fn made(&self, place: NamePlace) {
        if let Ok(metadata) = fs::symlink_metadata(place.path()) {
            self.lock().changes.push(NameChange::Made { place, file: identity(&metadata) });
        }
    }

    /// Removes a name; what it led to is kept.
    ///
    /// # Errors
    /// As unlink and rmdir.
    pub fn remove(&self, place: NamePlace, is_directory: bool) -> io::Result<()> {
        let path = place.path();
        let metadata = fs::symlink_metadata(&path)?;
        let wrong = match (is_directory, metadata.is_dir()) {
            (true, false) => Some(libc::ENOTDIR),
            (false, true) => Some(libc::EISDIR),
            (true, true) if fs::read_dir(&path)?.next().is_some() => Some(libc::ENOTEMPTY),
            _ => None,
        };
        if let Some(errno) = wrong {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let mut state = self.lock();
        state.next += 1;
        let kept = state.next;
        fs::rename(&path, self.kept(kept))?;
        state.changes.push(NameChange::Removed { place, kept });
        Ok(())
    }

    /// Renames; what is replaced is kept.
    ///
    /// # Errors
    /// As renameat2.
    pub fn rename(&self, from: NamePlace, to: NamePlace, flags: u32) -> io::Result<()> {
        let (source, target) = (from.path(), to.path());
        if flags & libc::RENAME_EXCHANGE != 0 {
            calls::rename(&source, &target, flags)?;
            self.lock().changes.push(NameChange::Exchanged { one: from, other: to });
            return Ok(());
        }
        let file = identity(&fs::symlink_metadata(&source)?);
        let mut state = self.lock();
        let replaced = fs::symlink_metadata(&target).ok().filter(|old| identity(old) != file && flags == 0);
        let kept = match &replaced {
            // A second name keeps it while rename replaces the first as a whole.
            Some(old) if !old.is_dir() => {
                state.next += 1;
                calls::second_name(&target, &self.kept(state.next))?;
                Some(state.next)
            }
            _ => None,
        };
        match calls::rename(&source, &target, flags) {
            Ok(()) => state.changes.push(NameChange::Renamed { from, to, file, kept }),
            Err(error) => {
                if let Some(kept) = kept {
                    fs::remove_file(self.kept(kept))?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// The names in a directory are durable.
    ///
    /// # Errors
    /// What was removed cannot be removed from where it is kept.
    pub fn sync_directory(&self, directory: &Metadata) -> io::Result<()> {
        let wanted = identity(directory);
        self.commit(|change| change.is_in(wanted) || change.leads_to(wanted))
    }

    /// The names that lead to a file are durable.
    ///
    /// # Errors
    /// As [`sync_directory`](UnsyncedNames::sync_directory).
    pub fn sync_file(&self, file: &Metadata) -> io::Result<()> {
        let wanted = identity(file);
        self.commit(|change| change.leads_to(wanted))
    }

    fn commit(&self, is_durable: impl Fn(&NameChange) -> bool) -> io::Result<()> {
        let mut state = self.lock();
        let (durable, open): (Vec<_>, Vec<_>) =
            state.changes.drain(..).partition(|change| is_durable(change));
        state.changes = open;
        durable.into_iter().try_for_each(|change| self.forget(&change))
    }

    fn forget(&self, change: &NameChange) -> io::Result<()> {
        let (NameChange::Removed { kept, .. } | NameChange::Renamed { kept: Some(kept), .. }) = change else {
            return Ok(());
        };
        let path = self.kept(*kept);
        let is_directory = fs::symlink_metadata(&path)?.is_dir();
        calls::remove(&path, is_directory)
    }

    /// Undoes what is not durable, the last first; how much was undone.
    pub fn drop_all(&self) -> usize {
        let mut state = self.lock();
        let changes = std::mem::take(&mut state.changes);
        changes.iter().rev().filter(|change| self.undo(change).is_ok()).count()
    }

    /// What a later durable change has made impossible stays undone: a directory that holds a durable file is there.
    fn undo(&self, change: &NameChange) -> io::Result<()> {
        match change {
            NameChange::Made { place, file } => {
                let path = place.path();
                let metadata = fs::symlink_metadata(&path)?;
                if identity(&metadata) != *file {
                    return Err(io::Error::from_raw_os_error(libc::ENOENT));
                }
                calls::remove(&path, metadata.is_dir())
            }
            NameChange::Removed { place, kept } => {
                calls::rename(&self.kept(*kept), &place.path(), libc::RENAME_NOREPLACE)
            }
            NameChange::Renamed { from, to, kept, .. } => {
                calls::rename(&to.path(), &from.path(), libc::RENAME_NOREPLACE)?;
                match kept {
                    Some(kept) => fs::rename(self.kept(*kept), to.path()),
                    None => Ok(()),
                }
            }
            NameChange::Exchanged { one, other } => {
                calls::rename(&one.path(), &other.path(), libc::RENAME_EXCHANGE)
            }
        }
    }

    /// Everything is durable; the hidden directory goes.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn end(&self) -> io::Result<()> {
        self.commit(|_| true)?;
        fs::remove_dir(&self.hidden)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    struct Covered {
        home: tempfile::TempDir,
        root: Arc<File>,
        names: UnsyncedNames,
    }

    impl Covered {
        fn new() -> Covered {
            let home = tempfile::tempdir().expect("a directory");
            let root = Arc::new(File::open(home.path()).expect("a directory"));
            let names = UnsyncedNames::new(&root).expect("names");
            Covered { home, root, names }
        }

        fn place(&self, name: &str) -> NamePlace {
            NamePlace { directory: Arc::clone(&self.root), name: name.into() }
        }

        fn make(&self, name: &str) {
            fs::write(self.home.path().join(name), name).expect("a file");
            self.names.made(self.place(name));
        }

        fn sync(&self) {
            self.names.sync_directory(&self.root.metadata().expect("facts")).expect("a sync");
        }

        /// Names with what is in them.
        fn listed(&self) -> Vec<String> {
            let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
            let entries = fs::read_dir(self.home.path()).expect("entries").flatten();
            let visible = entries.filter(|entry| !self.names.hides(&entry.file_name()));
            let mut all: Vec<_> = visible
                .map(|entry| format!("{}={}", entry.file_name().to_string_lossy(), text(&entry.path())))
                .collect();
            all.sort();
            all
        }
    }

    #[test]
    fn names_that_are_not_synced_are_undone() {
        let covered = Covered::new();
        ["a", "b", "c"].into_iter().for_each(|name| covered.make(name));
        covered.sync();
        covered.make("d");
        covered.names.remove(covered.place("a"), false).expect("a removal");
        covered.names.rename(covered.place("b"), covered.place("c"), 0).expect("a rename");
        assert_eq!(covered.listed(), ["c=b", "d=d"]);
        assert_eq!(covered.names.drop_all(), 3);
        assert_eq!(covered.listed(), ["a=a", "b=b", "c=c"]);
        covered.names.end().expect("an end");
        assert_eq!(fs::read_dir(covered.home.path()).expect("entries").count(), 3);
    }

    #[test]
    fn what_is_synced_stays() {
        let covered = Covered::new();
        ["a", "b", "c"].into_iter().for_each(|name| covered.make(name));
        covered.names.rename(covered.place("b"), covered.place("c"), 0).expect("a rename");
        covered.names.remove(covered.place("a"), false).expect("a removal");
        covered.sync();
        covered.make("d");
        let file = fs::metadata(covered.home.path().join("d")).expect("facts");
        covered.names.sync_file(&file).expect("a sync");
        assert_eq!(covered.names.drop_all(), 0);
        assert_eq!(covered.listed(), ["c=b", "d=d"]);
        covered.names.end().expect("an end");
    }

    #[test]
    fn a_directory_that_is_not_empty_is_not_removed() {
        let covered = Covered::new();
        fs::create_dir(covered.home.path().join("d")).expect("a directory");
        fs::write(covered.home.path().join("d/f"), "").expect("a file");
        let removed = covered.names.remove(covered.place("d"), true);
        assert_eq!(removed.unwrap_err().raw_os_error(), Some(libc::ENOTEMPTY));
        let removed = covered.names.remove(covered.place("d"), false);
        assert_eq!(removed.unwrap_err().raw_os_error(), Some(libc::EISDIR));
    }
}
