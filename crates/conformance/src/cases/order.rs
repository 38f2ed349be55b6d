//! What all processes of a run know, in memory that they share.
//!
//! A process is forked for every case and every actor, and what that costs is the memory of who forks it. So scripts lie
//! written down in a file without a name, each is read by whoever runs it, and the keeper is this program started anew,
//! where it can be: it then remembers nothing of the plan.

use std::fs::File;
use std::io::{PipeWriter, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iodyno_model::reflect::Reflect;
use iodyno_model::{Cases, Script, pack};

use super::case::Board;
use super::features::implied;
use super::keeper;
use super::pid_table::Roster;
use crate::script::checks;
use iodyno_engine::memory::{Mapping, errno};

/// What a script is beside what it does.
#[derive(Debug, Reflect)]
pub struct BoardEntry {
    at: usize,
    bytes: usize,
    pub checks: u32,
    /// Nothing runs beside it.
    pub alone: bool,
    /// The features without which it cannot be run.
    pub needs: Vec<String>,
}

/// What is known without the scripts.
#[derive(Debug, Reflect)]
pub struct Index {
    /// The directory in which everything happens, absolute.
    sandbox: String,
    /// Whether this is root, with all that root may do.
    pub privileged: bool,
    /// Whether what failed stays.
    pub keep: bool,
    /// Processes at a time; 0: as many as the machine carries well.
    pub at_once: usize,
    /// How long one case may take, ns; 0: without end.
    pub limit_ns: u64,
    /// Scripts: those of the cases, then those of the probes.
    pub scripts: Vec<BoardEntry>,
    /// How many of them are cases.
    pub cases: usize,
    /// The features whose probes follow.
    pub features: Vec<String>,
    /// What the cases are called.
    pub names: Vec<String>,
}

impl Index {
    /// The directory in which everything happens, absolute.
    pub fn sandbox(&self) -> &Path {
        Path::new(&self.sandbox)
    }
}

/// What is to be done, and how far it has come.
pub struct RunMemory {
    /// What is known without the scripts.
    pub index: Index,
    /// How far each has come.
    pub board: Board,
    /// Who runs.
    pub running: Roster,
    scripts: Mapping,
    files: [OwnedFd; 3],
}

/// Where the index begins and how long it is: before everything else.
const HEAD_BYTES: usize = 16;

impl RunMemory {
    /// Writes everything down.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(cases: &Cases, sandbox: &Path, privileged: bool) -> Result<Self, i32> {
        let mut bytes = vec![0; HEAD_BYTES];
        let mut write = |script: &Script, needs: &[String], alone: bool| {
            let at = bytes.len();
            let written = pack::bare(script).map_err(|_| libc::EINVAL)?;
            bytes.extend(&written);
            let mut needs = needs.to_vec();
            needs.extend(implied(script).map(String::from));
            Ok(BoardEntry { at, bytes: written.len(), checks: checks(script).count() as u32, alone, needs })
        };
        let listed = cases.cases.iter().map(|case| write(&case.script, &case.needs, case.alone));
        let mut scripts = listed.collect::<Result<Vec<_>, i32>>()?;
        for feature in &cases.features {
            scripts.push(write(&feature.probe, &[], false)?);
        }
        let index = Index {
            sandbox: sandbox.to_str().ok_or(libc::EINVAL)?.into(),
            privileged,
            keep: cases.keep,
            at_once: cases.at_once as usize,
            limit_ns: cases.limit_ns,
            scripts,
            cases: cases.cases.len(),
            features: cases.features.iter().map(|feature| feature.name.clone()).collect(),
            names: cases.cases.iter().map(|case| case.name.clone()).collect(),
        };
        let written = pack::bare(&index).map_err(|_| libc::EINVAL)?;
        let place = [bytes.len() as u64, written.len() as u64].map(u64::to_le_bytes).concat();
        bytes[..HEAD_BYTES].copy_from_slice(&place);
        bytes.extend(written);
        let files = [
            nameless(Board::bytes(index.scripts.len()), &[])?,
            nameless(Roster::BYTES, &[])?,
            nameless(bytes.len(), &bytes)?,
        ];
        RunMemory::on(files)
    }

    /// Reads what somebody has written down.
    fn on(files: [OwnedFd; 3]) -> Result<Self, i32> {
        let map = |file: &OwnedFd| {
            let about = File::from(file.try_clone().map_err(|_| libc::EMFILE)?).metadata();
            let bytes = about.map_err(|_| libc::EBADF)?.len() as usize;
            Mapping::of_file(file.as_raw_fd(), 0, bytes.max(1))
        };
        let scripts = map(&files[2])?;
        let number = |at: usize| {
            let bytes = part(&scripts, at, 8).try_into().unwrap_or_default();
            u64::from_le_bytes(bytes) as usize
        };
        let index = part(&scripts, number(0), number(8));
        let index: Index = pack::unpack(index).map_err(|_| libc::EBADMSG)?;
        let board = Board::on(map(&files[0])?, index.scripts.len());
        Ok(RunMemory { board, running: Roster::on(map(&files[1])?), index, scripts, files })
    }

    /// A script, read anew.
    pub fn script(&self, slot: usize) -> Script {
        let entry = &self.index.scripts[slot];
        pack::unpack(part(&self.scripts, entry.at, entry.bytes)).unwrap_or_default()
    }

    /// The descriptors of what is shared.
    pub fn descriptors(&self) -> [RawFd; 3] {
        self.files.each_ref().map(AsRawFd::as_raw_fd)
    }

    /// Turns this process into a keeper that remembers nothing else; comes back if that cannot be.
    pub fn hand_over(&self, news: &PipeWriter) {
        if !CAN_SERVE.load(Relaxed) {
            return;
        }
        let [board, roster, scripts] = self.descriptors();
        let fds = [board, roster, scripts, news.as_raw_fd()];
        for fd in fds {
            // SAFETY: the descriptor is open; it is to outlive this program.
            unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
        }
        let words = fds.map(|fd| fd.to_string()).join(",");
        let _ = Command::new("/proc/self/exe").arg0("iodyno: cases").env(VARIABLE, words).exec();
    }
}

/// A part of what is shared; nothing where it is not all there.
fn part(mapping: &Mapping, at: usize, bytes: usize) -> &[u8] {
    if at.checked_add(bytes).is_none_or(|end| end > mapping.bytes()) {
        return &[];
    }
    // SAFETY: it lies within the mapping, which nobody writes to once it is written down.
    unsafe { std::slice::from_raw_parts(mapping.start().add(at), bytes) }
}

/// A file without a name.
fn nameless(bytes: usize, content: &[u8]) -> Result<OwnedFd, i32> {
    // SAFETY: the name ends with a zero byte; the descriptor is ours alone.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"iodyno-cases".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(errno());
        }
        File::from_raw_fd(fd)
    };
    let number = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    file.set_len(bytes as u64).map_err(number)?;
    file.write_all(content).map_err(number)?;
    Ok(file.into())
}

/// Tells a process that it is to be a keeper: the descriptors of what it needs.
const VARIABLE: &str = "IODYNO_CASES_KEEPER";

/// Whether this program becomes a keeper when it is started as one.
static CAN_SERVE: AtomicBool = AtomicBool::new(false);

/// Turns this process into the keeper of a run of cases, if it was started for that, and never returns then. A program
/// that calls it first of all runs cases faster: processes of a small program cost less.
pub fn serve_when_asked() {
    let Some(words) = std::env::var_os(VARIABLE) else { return CAN_SERVE.store(true, Relaxed) };
    let fds: Vec<RawFd> = words.to_string_lossy().split(',').filter_map(|word| word.parse().ok()).collect();
    let [board, roster, scripts, news] = fds[..] else { std::process::exit(1) };
    // SAFETY: whoever started this program left these descriptors to it, and nobody else uses them.
    let (files, news) = unsafe {
        let own = |fd| OwnedFd::from_raw_fd(fd);
        ([own(board), own(roster), own(scripts)], PipeWriter::from(own(news)))
    };
    if let Ok(order) = RunMemory::on(files) {
        keeper::keep(&order, news);
    }
    std::process::exit(0)
}
