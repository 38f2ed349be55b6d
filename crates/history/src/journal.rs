//! What a run has found so far, in plain files beside the store: a phase is appended when it ends, and the running one is
//! written each second into two files by turns, one of which is always whole.
//!
//! Nothing is ever synced: the kernel keeps what a killed program wrote, and the disk that is measured is left alone.
//! Whoever is alive holds a lock; a journal that can be locked is of a program that died.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iodyno_model::pack::{named, unpack};
use iodyno_model::reflect::Reflect;
use iodyno_model::{PhaseRecord, Sample};

/// The journal of a run under way.
pub struct Journal {
    paths: Paths,
    /// The phases that have ended; locked.
    ended: File,
    /// The running phase, by turns.
    now: [File; 2],
    /// What the witnesses saw of it, second by second.
    watched: File,
    phases: u32,
    turns: u64,
}

/// Where a journal lies.
struct Paths {
    ended: PathBuf,
    now: [PathBuf; 2],
    watched: PathBuf,
}

impl Paths {
    fn new(folder: &Path, id: i64) -> Self {
        let path = |end: &str| folder.join(format!("{id}.{end}"));
        Paths { ended: path("ended"), now: [path("even"), path("odd")], watched: path("watched") }
    }

    fn remove(&self) {
        // What is not there need not be removed; what stays is looked at again at the next opening.
        let _ = std::fs::remove_file(&self.now[0]);
        let _ = std::fs::remove_file(&self.now[1]);
        let _ = std::fs::remove_file(&self.watched);
        let _ = std::fs::remove_file(&self.ended);
    }
}

/// The marks around a whole piece.
const MARK: &[u8; 8] = b"iodyno\r\n";

impl Journal {
    /// Makes the journal of a run.
    ///
    /// # Errors
    /// When its files cannot be made or locked.
    pub fn begin(folder: &Path, id: i64) -> io::Result<Journal> {
        std::fs::create_dir_all(folder)?;
        let paths = Paths::new(folder, id);
        let make =
            |path: &Path| OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let ended = make(&paths.ended)?;
        // A file system without locks keeps its runs, too; they are looked at when they are old.
        match ended.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::ResourceBusy.into()),
            Err(TryLockError::Error(_)) => {}
        }
        let now = [make(&paths.now[0])?, make(&paths.now[1])?];
        let watched = make(&paths.watched)?;
        Ok(Journal { paths, ended, now, watched, phases: 0, turns: 0 })
    }

    /// Keeps a phase that has ended.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn ended(&mut self, phase: &PhaseRecord) -> io::Result<()> {
        self.phases += 1;
        self.ended.write_all(&piece(0, phase)?)?;
        io::Seek::rewind(&mut self.watched)?;
        self.watched.set_len(0)
    }

    /// Keeps what the witnesses saw in a second of the running phase.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn watched(&mut self, sample: &Sample) -> io::Result<()> {
        self.watched.write_all(&piece(u64::from(self.phases), sample)?)
    }

    /// Keeps the running phase as it is by now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn so_far(&mut self, phase: &PhaseRecord) -> io::Result<()> {
        self.turns += 1;
        let bytes = piece(self.turns << 32 | u64::from(self.phases), phase)?;
        let file = &mut self.now[(self.turns % 2) as usize];
        io::Seek::rewind(file)?;
        file.write_all(&bytes)?;
        file.set_len(bytes.len() as u64)
    }

    /// The run is in the store: nothing is left here.
    pub fn remove(self) {
        self.paths.remove();
    }
}

/// The phases that a program which died left behind; `None`: it is alive.
///
/// # Errors
/// When the files cannot be read.
pub fn remains(folder: &Path, id: i64) -> io::Result<Option<Vec<PhaseRecord>>> {
    let paths = Paths::new(folder, id);
    let file = match File::open(&paths.ended) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Vec::new())),
        Err(error) => return Err(error),
    };
    if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
        return Ok(None);
    }
    Ok(Some(so_far(folder, id)))
}

/// The phases of a run that have ended, and after them the one that is running: what can be read of them.
pub fn so_far(folder: &Path, id: i64) -> Vec<PhaseRecord> {
    let paths = Paths::new(folder, id);
    let ended = pieces(&std::fs::read(&paths.ended).unwrap_or_default());
    let mut phases: Vec<PhaseRecord> = ended.into_iter().map(|(_, phase)| phase).collect();
    let count = phases.len() as u64;
    let turns = paths.now.iter().filter_map(|path| std::fs::read(path).ok());
    let running = turns.filter_map(|bytes| pieces::<PhaseRecord>(&bytes).into_iter().next());
    let running = running.filter(|(turn, _)| turn & 0xffff_ffff == count).max_by_key(|(turn, _)| *turn);
    let Some((_, mut running)) = running else { return phases };
    let watched = pieces::<Sample>(&std::fs::read(&paths.watched).unwrap_or_default());
    running.samples = watched.into_iter().filter(|(of, _)| *of == count).map(|(_, sample)| sample).collect();
    phases.push(running);
    phases
}

/// The remains of a run are in the store.
pub fn forget(folder: &Path, id: i64) {
    Paths::new(folder, id).remove();
}

/// Mark, turn, length, the value, and the mark again: what has both is whole.
fn piece(turn: u64, value: &dyn Reflect) -> io::Result<Vec<u8>> {
    let packed = named(value).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(packed.len() + 32);
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(&turn.to_le_bytes());
    bytes.extend_from_slice(&(packed.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&packed);
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(&turn.to_le_bytes());
    Ok(bytes)
}

/// The whole pieces at the beginning, each with its turn.
fn pieces<T: Reflect>(mut bytes: &[u8]) -> Vec<(u64, T)> {
    let mut found = Vec::new();
    while let Some((turn, packed, rest)) = first_piece(bytes) {
        let Ok(value) = unpack(packed) else { break };
        found.push((turn, value));
        bytes = rest;
    }
    found
}

fn first_piece(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let rest = bytes.strip_prefix(MARK)?;
    let (turn, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (packed, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let rest = rest.strip_prefix(MARK)?.strip_prefix(turn)?;
    Some((u64::from_le_bytes(*turn), packed, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, elapsed_ns: u64) -> PhaseRecord {
        PhaseRecord { name: name.into(), elapsed_ns, ..PhaseRecord::default() }
    }

    fn names(remains: Option<Vec<PhaseRecord>>) -> Vec<(String, u64)> {
        remains.unwrap().into_iter().map(|phase| (phase.name, phase.elapsed_ns)).collect()
    }

    #[test]
    fn a_dead_program_loses_its_last_second_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), 7).unwrap();
        journal.so_far(&phase("a", 1)).unwrap();
        journal.ended(&phase("a", 3)).unwrap();
        (1..=4).for_each(|second| journal.so_far(&phase("b", second)).unwrap());
        assert!(remains(folder.path(), 7).unwrap().is_none(), "it is alive");
        drop(journal);
        let found = remains(folder.path(), 7).unwrap();
        assert_eq!(names(found), [("a".to_string(), 3), ("b".to_string(), 4)]);
        // Killed in the middle of a write: the turn before it is whole.
        let last = folder.path().join("7.odd");
        let bytes = std::fs::read(&last).unwrap();
        std::fs::write(&last, &bytes[..bytes.len() - 5]).unwrap();
        assert_eq!(names(remains(folder.path(), 7).unwrap())[1].1, 3);
        let ended = folder.path().join("7.ended");
        let bytes = std::fs::read(&ended).unwrap();
        std::fs::write(&ended, [&bytes[..], &bytes[..20]].concat()).unwrap();
        assert_eq!(names(remains(folder.path(), 7).unwrap()).len(), 2);
        forget(folder.path(), 7);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(names(remains(folder.path(), 7).unwrap()).is_empty());
    }

    #[test]
    fn a_phase_that_has_ended_is_not_told_twice() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), 1).unwrap();
        journal.so_far(&phase("a", 1)).unwrap();
        let sample = |at_ns| Sample { at_ns, ..Sample::default() };
        journal.watched(&sample(1)).unwrap();
        journal.ended(&phase("a", 2)).unwrap();
        assert_eq!(names(Some(so_far(folder.path(), 1))), [("a".to_string(), 2)]);
        (1..=3).for_each(|second| journal.watched(&sample(second)).unwrap());
        journal.so_far(&phase("b", 1)).unwrap();
        drop(journal);
        let found = remains(folder.path(), 1).unwrap().unwrap();
        assert_eq!((found.len(), found[1].samples.len()), (2, 3));
    }
}
