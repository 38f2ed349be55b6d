//! The table of engines. To add one: a file in `engines/`, its `pub mod`, and a line here.

use iodyno_model::{Diagnostic, Job, VerbSet};

use crate::engines::{Engine, Failure, SettingSpec};
use crate::engines::{
    cpuio::Cpuio, exec::Exec, find::Find, ftruncate::Ftruncate, mmap::Mmap, names, null::Null, psync::Psync,
};
use crate::engines::{
    pvsync::{Pvsync, Pvsync2},
    sim::Sim,
    sync::Sync,
    turns::InTurns,
    vsync::Vsync,
};
use crate::open::Access;
use crate::worker::{Worker, drive, drive_closely};

/// Drives one worker to its end.
pub type Drive = fn(&mut Worker<'_>) -> Result<(), Failure>;

/// An engine as the control plane sees it.
pub struct Entry {
    /// The name plans use.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Verbs it carries out itself.
    pub verbs: VerbSet,
    /// Its own options.
    pub settings: &'static [SettingSpec],
    /// Operations it can have in flight.
    pub most_depth: u32,
    /// Whether its time is not the machine's.
    pub is_virtual: bool,
    /// Whether it touches files at all.
    pub files: bool,
    /// Whether a file must be open for reading even where it is only written.
    pub reads_to_write: bool,
    /// Whether a file must be open for writing even where it is only read.
    pub writes_to_read: bool,
    /// Whether it opens files itself.
    pub opens: bool,
    /// Whether it opens endpoints.
    pub peers: bool,
    /// Whether it can be had on this machine.
    pub available: fn() -> Result<(), Failure>,
    /// Whether a job's settings make sense.
    pub check: fn(&Job) -> Vec<Diagnostic>,
    /// The only dynamic call, once for each worker.
    pub drive: Drive,
    /// The same with workers that take turns on files, where the engine can.
    pub drive_in_turns: Option<Drive>,
}

impl Entry {
    /// How files are opened for it.
    pub fn access(&self) -> Access {
        Access {
            files: self.files,
            reads_to_write: self.reads_to_write,
            writes_to_read: self.writes_to_read,
            opens: self.opens,
            peers: self.peers,
        }
    }
}

const fn entry<E: Engine>() -> Entry {
    Entry {
        name: E::NAME,
        about: E::ABOUT,
        verbs: E::VERBS,
        settings: E::SETTINGS,
        most_depth: E::MOST_DEPTH,
        is_virtual: E::VIRTUAL,
        files: E::FILES,
        reads_to_write: E::READS_TO_WRITE,
        writes_to_read: E::WRITES_TO_READ,
        opens: E::OPENS,
        peers: E::PEERS,
        available: E::available,
        check: E::check,
        drive: drive::<E>,
        drive_in_turns: None,
    }
}

/// An engine that waits for each operation: its workers can take turns.
const fn waiting<E: Engine>() -> Entry {
    Entry { drive_in_turns: Some(drive_closely::<InTurns<E>>), ..entry::<E>() }
}

/// An engine whose operations are slow beside the loop.
const fn special<E: Engine>() -> Entry {
    Entry { drive: drive_closely::<E>, ..entry::<E>() }
}

/// Something that is no stream of operations, and has a way of its own to run.
const fn apart(name: &'static str, about: &'static str, drive: Drive) -> Entry {
    Entry { name, about, files: true, drive, ..entry::<Null>() }
}

/// What drives jobs whose operations helpers hand over, whatever their engine.
pub const OFFLOAD: &Entry = &special::<crate::engines::offload::Offload>();

/// What runs cases.
pub const CASES: &str = "cases";
/// What runs exercises.
pub const EXERCISE: &str = "exercise";

/// Every engine there is.
pub const ENGINES: &[Entry] = &[
    entry::<Null>(),
    entry::<crate::engines::dummy::Dummy>(),
    entry::<Sim>(),
    waiting::<Psync>(),
    waiting::<Sync>(),
    entry::<Vsync>(),
    waiting::<Pvsync>(),
    waiting::<Pvsync2>(),
    entry::<Mmap>(),
    #[cfg(target_os = "linux")]
    entry::<crate::engines::libaio::Libaio>(),
    #[cfg(target_os = "linux")]
    entry::<crate::engines::io_uring::Uring>(),
    #[cfg(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", target_os = "freebsd"))]
    entry::<crate::engines::posixaio::Posixaio>(),
    #[cfg(target_os = "linux")]
    special::<crate::engines::splice::Splice>(),
    #[cfg(target_os = "linux")]
    special::<crate::engines::sg::Sg>(),
    special::<crate::engines::mpiio::Mpiio>(),
    special::<crate::engines::hdf5::Hdf5>(),
    special::<crate::engines::ncmpi::Ncmpi>(),
    special::<Cpuio>(),
    special::<Exec>(),
    #[cfg(target_os = "linux")]
    special::<crate::engines::falloc::Falloc>(),
    special::<Ftruncate>(),
    special::<Find>(),
    special::<crate::engines::net::Net>(),
    #[cfg(target_os = "linux")]
    special::<crate::engines::net::Netsplice>(),
    entry::<crate::engines::socket::Sockets>(),
    special::<names::Filecreate>(),
    special::<names::Filestat>(),
    special::<names::Filedelete>(),
    special::<names::Dircreate>(),
    special::<names::Dirstat>(),
    special::<names::Dirdelete>(),
    Entry {
        available: crate::cases::available,
        check: crate::cases::check,
        ..apart(CASES, "scripts with expectations, each in a process of its own", crate::cases::drive)
    },
    apart(EXERCISE, "random operations held against a model in memory", crate::exercise::drive),
];

/// Whether it is no stream of operations that the engine of that name runs.
pub fn is_apart(name: &str) -> bool {
    matches!(name, CASES | EXERCISE)
}

/// The engine of that name.
pub fn engine(name: &str) -> Option<&'static Entry> {
    ENGINES.iter().find(|entry| entry.name == name)
}
