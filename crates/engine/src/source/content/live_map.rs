//! A generation map while a worker writes: a file beside the map that the worker's memory is mapped to, so that what is
//! known outlives the process, however that ends.
//!
//! ```text
//!   MAP.RUN.WORKER.N.live (all little endian):
//!       0  a section of a generation map without blocks      65528  blocks, 8 bytes
//!   65536  for each block one more than the oldest and (upper half) the newest generation that may be there
//! ```
//! It has its name once it is whole: until then it is called `….live.new`, and a process that is killed meanwhile has
//! written nothing that it would tell of. The system writes it out by itself: it does not outlive a loss of power. Refuses
//! what it did not write.

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use super::map::{MapBlock, MapSection};
use crate::failure::Failure;
use crate::memory::Mapping;

/// Where the blocks begin: a multiple of every page size.
const BLOCKS_AT: usize = 1 << 16;
const COUNT_AT: usize = BLOCKS_AT - 8;

/// How the names of such files end, and of those that are not whole yet.
const ENDING: &str = ".live";
const UNFINISHED: &str = ".live.new";

/// The file of one worker's blocks of one target; it is removed when they are in the map.
#[derive(Debug)]
pub struct LiveMap {
    path: String,
}

fn failure(path: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("{path}: {error}"))
        .hint("verify.map names a file in a directory that can be written")
}

impl LiveMap {
    /// Makes the file, and the memory that it is mapped to.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    pub fn create(
        map: &str,
        section: &MapSection,
        number: usize,
        count: u64,
    ) -> Result<(LiveMap, Mapping), Failure> {
        let stem = format!("{map}.{:x}.{}.{number}", section.run, section.worker);
        let (path, unfinished) = (format!("{stem}{ENDING}"), format!("{stem}{UNFINISHED}"));
        let head = MapSection { blocks: Vec::new(), ..section.clone() }.encode();
        if head.len() > COUNT_AT {
            return Err(Failure::new(format!("{path}: the target's name is too long")));
        }
        let make = || -> std::io::Result<File> {
            let mut file = File::options().read(true).write(true).create_new(true).open(&unfinished)?;
            file.set_len((BLOCKS_AT as u64).saturating_add(count.saturating_mul(8)))?;
            file.write_all(&head)?;
            file.seek(SeekFrom::Start(COUNT_AT as u64))?;
            file.write_all(&count.to_le_bytes())?;
            // Unlike a renaming, a link takes no other's place.
            std::fs::hard_link(&unfinished, &path).or_else(|error| match error.kind() {
                ErrorKind::AlreadyExists => Err(error),
                _ => std::fs::rename(&unfinished, &path),
            })?;
            Ok(file)
        };
        let made = make();
        // Nothing is there under the first name where it was renamed.
        let _ = std::fs::remove_file(&unfinished);
        let file = made.map_err(|error| failure(&path, &error))?;
        let bytes = (count as usize * 8).max(8);
        let mapping = Mapping::of_file(file.as_raw_fd(), BLOCKS_AT as u64, bytes);
        let mapping = mapping.map_err(|errno| Failure::call("mmap", errno))?;
        Ok((LiveMap { path }, mapping))
    }

    /// Removes the file.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self) -> Result<(), Failure> {
        std::fs::remove_file(&self.path).map_err(|error| failure(&self.path, &error))
    }

    /// What workers left that never came to their end: each file with its section.
    ///
    /// # Errors
    /// One of them cannot be read, or is damaged.
    pub fn left(map: &str) -> Result<Vec<(LiveMap, MapSection)>, Failure> {
        let all = paths(map, ENDING).into_iter();
        all.map(|path| Ok((LiveMap { path: path.clone() }, read(&path)?))).collect()
    }

    pub fn is_left(map: &str) -> bool {
        !paths(map, ENDING).is_empty()
    }

    /// Removes what workers left that were killed before their file was whole: they had written nothing yet.
    pub fn remove_unfinished(map: &str) {
        for path in paths(map, UNFINISHED) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The files beside a map whose names end so, in the order of their names.
fn paths(map: &str, ending: &str) -> Vec<String> {
    let path = Path::new(map);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let begins = format!("{name}.");
    let mut names: Vec<String> =
        names.filter(|other| other.starts_with(&begins) && other.ends_with(ending)).collect();
    names.sort();
    names.into_iter().map(|other| folder.join(other).to_string_lossy().into_owned()).collect()
}

fn read(path: &str) -> Result<MapSection, Failure> {
    let damaged =
        || Failure::new(format!("{path}: the journal is damaged")).hint("remove it: what it knew is lost");
    let bytes = std::fs::read(path).map_err(|error| failure(path, &error))?;
    let head = bytes.get(..COUNT_AT).ok_or_else(damaged)?;
    let (section, _) = MapSection::decode(head).map_err(|_| damaged())?;
    let (cells, _) = bytes[COUNT_AT..].as_chunks::<8>();
    let (count, cells) = cells.split_first().ok_or_else(damaged)?;
    if u64::from_le_bytes(*count) != cells.len() as u64 {
        return Err(damaged());
    }
    let block = |cell: &[u8; 8]| {
        let cell = u64::from_le_bytes(*cell);
        let (oldest, newest) = (cell as u32, (cell >> 32) as u32);
        MapBlock { newest, oldest, begins: oldest > 0 }
    };
    Ok(MapSection { blocks: cells.iter().map(block).collect(), ..section })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn what_a_worker_knew_is_there_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let map = folder.path().join("a.map").to_str().unwrap().to_string();
        let section = MapSection { grain: 4096, seed: 7, name: "t".into(), run: 10, ..MapSection::default() };
        assert!(!LiveMap::is_left(&map));
        let (live, mapping) = LiveMap::create(&map, &section, 0, 3).unwrap();
        // SAFETY: the mapping holds three cells, and nobody else has it.
        let cell = |index: usize| unsafe { &*mapping.start().cast::<AtomicU64>().add(index) };
        cell(1).store(2 | 3 << 32, Relaxed);
        cell(2).store(1 << 32, Relaxed);
        drop(mapping);
        let left = LiveMap::left(&map).unwrap();
        let blocks: Vec<_> = left[0].1.blocks.iter().map(|block| (block.oldest, block.newest)).collect();
        assert_eq!((blocks, left[0].1.seed), (vec![(0, 0), (2, 3), (0, 1)], 7));
        assert!(LiveMap::create(&map, &section, 0, 3).is_err());
        let path = format!("{map}.a.0.0.live");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(LiveMap::left(&map).is_err_and(|failure| failure.message.contains("damaged")));
        live.remove().unwrap();
        assert!(!LiveMap::is_left(&map));
    }

    /// A worker that is killed while it makes its file leaves no journal that is damaged.
    #[test]
    fn a_file_that_was_not_finished_is_no_journal_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let map = folder.path().join("a.map").to_str().unwrap().to_string();
        let section = MapSection { grain: 4096, name: "t".into(), run: 10, ..MapSection::default() };
        let (_live, _mapping) = LiveMap::create(&map, &section, 0, 3).unwrap();
        let whole = std::fs::read(format!("{map}.a.0.0.live")).unwrap();
        for cut in [0, 8, COUNT_AT, whole.len()] {
            std::fs::write(format!("{map}.b.1.0.live.new"), &whole[..cut]).unwrap();
            assert_eq!(LiveMap::left(&map).unwrap().len(), 1, "{cut}");
        }
        LiveMap::remove_unfinished(&map);
        let names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a.map.a.0.0.live"]);
    }
}
