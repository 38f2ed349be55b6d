//! Data that was written and not synced: kept in memory above the directory, so that it can be lost.
//!
//! ```text
//!   write ─► pages in memory ─► fsync, O_SYNC ─► the file itself, durable
//!                 └─► drop: gone
//! ```
//!
//! If this process dies, the same is lost.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::nodes::{identity, through};

/// What is kept and lost as one.
const PAGE_BYTES: u64 = 4096;

/// How unsynced data is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsyncedTerms {
    /// Bytes in memory, at most: what is beyond is written to the files, as a kernel writes back, and is not lost.
    pub most_bytes: u64,
    /// fsync does nothing: a lie that tests stage.
    pub ignores_sync: bool,
}

/// What a file would lose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsyncedBytes {
    pub name: String,
    pub bytes: u64,
    /// Its length differs from that of the file itself.
    pub is_resized: bool,
    /// The number of the file.
    pub node: u64,
}

/// A file's unsynced data.
struct UnsyncedFile {
    name: String,
    node: u64,
    /// The file itself, whoever opened it for what.
    file: File,
    size: u64,
    /// Bytes of the file itself that still show where there is no page: a truncation hides the others.
    shown: u64,
    pages: BTreeMap<u64, Box<[u8]>>,
}

/// All unsynced data.
pub struct UnsyncedStore {
    terms: UnsyncedTerms,
    state: Mutex<StoreState>,
}

#[derive(Default)]
struct StoreState {
    files: HashMap<(u64, u64), UnsyncedFile>,
    /// How often everything was dropped: who opened a file before is dead.
    drops: u64,
    pages: u64,
}

impl UnsyncedFile {
    fn of(file: &File, name: &str, metadata: &Metadata) -> io::Result<UnsyncedFile> {
        let own = File::options().read(true).write(true).open(through(file))?;
        let size = metadata.len();
        let (name, node) = (name.into(), metadata.ino());
        Ok(UnsyncedFile { name, node, file: own, size, shown: size, pages: BTreeMap::new() })
    }

    /// The bytes of the file itself in a range, zeroes where it shows none.
    fn below(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        into.fill(0);
        let bytes = self.shown.saturating_sub(offset).min(into.len() as u64) as usize;
        let mut read = 0;
        while read < bytes {
            match self.file.read_at(&mut into[read..bytes], offset + read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        Ok(())
    }

    fn read(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.size.saturating_sub(offset).min(into.len() as u64) as usize;
        let into = &mut into[..bytes];
        self.below(into, offset)?;
        let end = offset + bytes as u64;
        for (number, page) in self.pages.range(offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES)) {
            let (from, to) = (offset.max(number * PAGE_BYTES), end.min((number + 1) * PAGE_BYTES));
            let source = &page[(from - number * PAGE_BYTES) as usize..(to - number * PAGE_BYTES) as usize];
            into[(from - offset) as usize..(to - offset) as usize].copy_from_slice(source);
        }
        Ok(bytes)
    }

    /// Returns how many pages it took.
    fn write(&mut self, data: &[u8], offset: u64) -> io::Result<u64> {
        let end = offset + data.len() as u64;
        let mut taken = 0;
        for number in offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES) {
            let start = number * PAGE_BYTES;
            if !self.pages.contains_key(&number) {
                let mut page = vec![0; PAGE_BYTES as usize];
                self.below(&mut page, start)?;
                self.pages.insert(number, page.into());
                taken += 1;
            }
            let Some(page) = self.pages.get_mut(&number) else { continue };
            let (from, to) = (offset.max(start), end.min(start + PAGE_BYTES));
            let source = &data[(from - offset) as usize..(to - offset) as usize];
            page[(from - start) as usize..(to - start) as usize].copy_from_slice(source);
        }
        self.size = self.size.max(end);
        Ok(taken)
    }

    /// Returns how many pages are free again.
    fn resize(&mut self, size: u64) -> u64 {
        let gone = self.pages.split_off(&size.div_ceil(PAGE_BYTES));
        if let Some(page) = self.pages.get_mut(&(size / PAGE_BYTES)) {
            page[(size % PAGE_BYTES) as usize..].fill(0);
        }
        self.shown = self.shown.min(size);
        self.size = size;
        gone.len() as u64
    }

    /// Puts everything into the file itself.
    fn write_out(&self) -> io::Result<()> {
        let size = self.file.metadata()?.len();
        if self.shown < size {
            self.file.set_len(self.shown)?;
        }
        for (number, page) in &self.pages {
            let start = number * PAGE_BYTES;
            let bytes = self.size.saturating_sub(start).min(PAGE_BYTES) as usize;
            self.file.write_all_at(&page[..bytes], start)?;
        }
        if self.file.metadata()?.len() != self.size {
            self.file.set_len(self.size)?;
        }
        Ok(())
    }

    fn unsynced(&self) -> UnsyncedBytes {
        let size = self.file.metadata().map_or(self.size, |metadata| metadata.len());
        let bytes = |number: &u64| self.size.saturating_sub(number * PAGE_BYTES).min(PAGE_BYTES);
        UnsyncedBytes {
            name: self.name.clone(),
            bytes: self.pages.keys().map(bytes).sum(),
            is_resized: size != self.size,
            node: self.node,
        }
    }
}

fn dead() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}

impl UnsyncedStore {
    pub fn new(terms: UnsyncedTerms) -> UnsyncedStore {
        UnsyncedStore { terms, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state for one who opened a file after so many drops.
    fn living(&self, drops: u64) -> io::Result<MutexGuard<'_, StoreState>> {
        let state = self.lock();
        if state.drops == drops { Ok(state) } else { Err(dead()) }
    }

    /// How often everything was dropped.
    pub fn drops(&self) -> u64 {
        self.lock().drops
    }

    /// The length of a file, where it has unsynced data.
    pub fn size(&self, metadata: &Metadata) -> Option<u64> {
        self.lock().files.get(&identity(metadata)).map(|file| file.size)
    }

    /// # Errors
    /// The file's own; it was opened before a drop.
    pub fn read(&self, drops: u64, file: &File, into: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let state = self.living(drops)?;
        match state.files.get(&identity(&file.metadata()?)) {
            Some(file) => file.read(into, offset).map(Some),
            None => Ok(None),
        }
    }

    /// # Errors
    /// The file's own; it was opened before a drop.
    pub fn write(&self, drops: u64, (file, name): (&File, &str), data: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.living(drops)?;
        let metadata = file.metadata()?;
        let taken = state.of(file, name, &metadata)?.write(data, offset)?;
        state.pages += taken;
        state.limit(self.terms.most_bytes)
    }

    /// Changes the length of a file; of one that was opened, it counts when.
    ///
    /// # Errors
    /// The file's own; it was opened before a drop.
    pub fn resize(&self, drops: Option<u64>, (file, name): (&File, &str), size: u64) -> io::Result<()> {
        let mut state = match drops {
            Some(drops) => self.living(drops)?,
            None => self.lock(),
        };
        let metadata = file.metadata()?;
        let free = state.of(file, name, &metadata)?.resize(size);
        state.pages -= free;
        Ok(())
    }

    /// Zeroes in a range, as if they were written; the length stays.
    ///
    /// # Errors
    /// The file's own; it was opened before a drop.
    pub fn clear(&self, drops: u64, (file, name): (&File, &str), offset: u64, bytes: u64) -> io::Result<()> {
        let mut state = self.living(drops)?;
        let metadata = file.metadata()?;
        let own = state.of(file, name, &metadata)?;
        let end = own.size.min(offset.saturating_add(bytes));
        let taken = match end > offset {
            true => own.write(&vec![0; (end - offset) as usize], offset)?,
            false => 0,
        };
        state.pages += taken;
        state.limit(self.terms.most_bytes)
    }

    /// Makes a file's data durable.
    ///
    /// # Errors
    /// The file's own; it was opened before a drop.
    pub fn sync(&self, drops: u64, file: &File, is_data_only: bool) -> io::Result<()> {
        let mut state = self.living(drops)?;
        if self.terms.ignores_sync {
            return Ok(());
        }
        state.write_out(identity(&file.metadata()?))?;
        if is_data_only { file.sync_data() } else { file.sync_all() }
    }

    /// A file that nobody can open any more needs no memory.
    pub fn forget(&self, file: &File) {
        let Ok(metadata) = file.metadata() else { return };
        if metadata.nlink() == 0 {
            let mut state = self.lock();
            if let Some(file) = state.files.remove(&identity(&metadata)) {
                state.pages -= file.pages.len() as u64;
            }
        }
    }

    /// What would be lost now, by name.
    pub fn unsynced(&self) -> Vec<UnsyncedBytes> {
        self.lock().unsynced()
    }

    /// Loses it; files that are open are dead from now on. What was lost.
    pub fn drop_all(&self) -> Vec<UnsyncedBytes> {
        let mut state = self.lock();
        let lost = state.unsynced();
        *state = StoreState { drops: state.drops + 1, ..StoreState::default() };
        lost
    }

    /// Puts everything into the files.
    ///
    /// # Errors
    /// The first that could not be.
    pub fn write_all_out(&self) -> io::Result<()> {
        let mut state = self.lock();
        let all: Vec<_> = state.files.keys().copied().collect();
        all.into_iter().try_for_each(|file| state.write_out(file))
    }
}

impl StoreState {
    fn of(&mut self, file: &File, name: &str, metadata: &Metadata) -> io::Result<&mut UnsyncedFile> {
        use std::collections::hash_map::Entry;
        match self.files.entry(identity(metadata)) {
            Entry::Occupied(place) => Ok(place.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(UnsyncedFile::of(file, name, metadata)?)),
        }
    }

    fn write_out(&mut self, file: (u64, u64)) -> io::Result<()> {
        if let Some(own) = self.files.get(&file) {
            own.write_out()?;
            self.pages -= own.pages.len() as u64;
            self.files.remove(&file);
        }
        Ok(())
    }

    /// Writes the largest files out while there is too much.
    fn limit(&mut self, most_bytes: u64) -> io::Result<()> {
        while self.pages * PAGE_BYTES > most_bytes {
            let largest = self.files.iter().max_by_key(|(_, file)| file.pages.len());
            let Some(largest) = largest.map(|(file, _)| *file) else { return Ok(()) };
            self.write_out(largest)?;
        }
        Ok(())
    }

    fn unsynced(&self) -> Vec<UnsyncedBytes> {
        let mut all: Vec<_> = self.files.values().map(UnsyncedFile::unsynced).collect();
        all.retain(|file| file.bytes > 0 || file.is_resized);
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: UnsyncedTerms = UnsyncedTerms { most_bytes: 1 << 20, ignores_sync: false };

    fn file(content: &[u8]) -> File {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(content, 0).expect("room");
        file
    }

    /// What is read through a store.
    fn content(store: &UnsyncedStore, file: &File) -> Vec<u8> {
        let mut bytes = vec![9; 32768];
        let read = store.read(store.drops(), file, &mut bytes, 0).expect("a read");
        bytes.truncate(read.expect("unsynced data"));
        bytes
    }

    fn below(file: &File) -> Vec<u8> {
        let mut bytes = vec![0; file.metadata().expect("facts").len() as usize];
        file.read_exact_at(&mut bytes, 0).expect("a read");
        bytes
    }

    #[test]
    fn what_is_not_synced_is_lost_and_what_is_stays() {
        let (store, file) = (UnsyncedStore::new(TERMS), file(b"old old old"));
        store.write(0, (&file, "f"), b"new", 4).expect("a write");
        assert_eq!(
            (content(&store, &file), below(&file)),
            (b"old new old".to_vec(), b"old old old".to_vec())
        );
        store.sync(0, &file, true).expect("a sync");
        assert_eq!(below(&file), b"old new old");
        store.write(0, (&file, "f"), b"newer than all", 0).expect("a write");
        let node = file.metadata().expect("facts").ino();
        let lost = UnsyncedBytes { name: "f".into(), bytes: 14, is_resized: true, node };
        assert_eq!(store.drop_all(), [lost]);
        assert_eq!(below(&file), b"old new old");
        assert_eq!(store.write(0, (&file, "f"), b"x", 0).unwrap_err().raw_os_error(), Some(libc::EIO));
        assert!(store.sync(0, &file, true).is_err() && store.sync(1, &file, true).is_ok());
    }

    #[test]
    fn what_was_cut_off_does_not_come_back() {
        let (store, file) = (UnsyncedStore::new(TERMS), file(&[7; 10_000]));
        store.resize(Some(0), (&file, "f"), 5_000).expect("shorter");
        store.resize(None, (&file, "f"), 9_000).expect("longer");
        store.write(0, (&file, "f"), &[1], 8_999).expect("a write");
        let mut want = vec![7; 5_000];
        want.resize(8_999, 0);
        want.push(1);
        assert_eq!(content(&store, &file), want);
        assert_eq!(below(&file).len(), 10_000);
        store.sync(0, &file, false).expect("a sync");
        assert_eq!(below(&file), want);
    }

    #[test]
    fn too_much_is_written_back() {
        let store = UnsyncedStore::new(UnsyncedTerms { most_bytes: 2 * PAGE_BYTES, ..TERMS });
        let file = file(b"");
        store.write(0, (&file, "f"), &[5; 12288], 0).expect("a write");
        assert_eq!((below(&file), store.unsynced()), (vec![5; 12288], vec![]));
    }

    #[test]
    fn a_lying_sync_does_nothing() {
        let (store, file) = (UnsyncedStore::new(UnsyncedTerms { ignores_sync: true, ..TERMS }), file(b""));
        store.write(0, (&file, "f"), b"x", 0).expect("a write");
        store.sync(0, &file, false).expect("a lie");
        assert_eq!((below(&file), store.drop_all().len()), (vec![], 1));
    }
}
