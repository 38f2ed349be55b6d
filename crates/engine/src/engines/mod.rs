//! The engines: one file each. An engine carries operations to the kernel or a service, and does nothing else.
//!
//! It does not choose operations, does not tally, and sees no more of a plan than its own job.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64};

use iodyno_model::{Diagnostic, Job, Plan, Setting, Share, Target, Verb, Workload};

use crate::clock::{self, Tick};
use crate::connections::Connections;
use crate::io::{Files, Io, Slot};
use crate::memory::Memory;
use crate::objects::ObjectSet;
use crate::shared_device::{DeviceSeat, RequestTemplate};
use crate::start_barrier::StartBarrier;
use crate::worker_counters::Counts;

pub use crate::facts::{EngineFacts, SettingSpec, spec};
pub use crate::failure::Failure;

pub mod cpuio;
pub mod dummy;
pub mod exec;
#[cfg(target_os = "linux")]
pub mod falloc;
pub mod file_service;
pub mod find;
pub mod ftruncate;
pub mod hdf5;
pub mod hdfs;
#[cfg(target_os = "linux")]
pub mod io_uring;
#[cfg(target_os = "linux")]
pub mod libaio;
pub mod mmap;
pub mod mpiio;
pub mod names;
pub mod ncmpi;
pub mod net;
#[cfg(target_os = "linux")]
pub mod nowait;
pub mod null;
pub mod offload;
pub mod page_fault;
pub mod parallel;
pub mod per_operation_lock;
#[cfg(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", target_os = "freebsd"))]
pub mod posixaio;
pub mod priority;
pub mod psync;
pub mod pvsync;
pub mod rados;
#[cfg(target_os = "linux")]
pub mod s3;
#[cfg(not(target_os = "linux"))]
#[path = "s3/elsewhere.rs"]
pub mod s3;
#[cfg(target_os = "linux")]
pub mod sg;
pub mod sim;
pub mod small_files;
pub mod socket;
#[cfg(target_os = "linux")]
pub mod splice;
pub mod sync;
pub mod vsync;

/// Every engine. To add one: a file here with its `pub mod`, and its line below. `registry` makes its
/// table of loops of this list.
macro_rules! for_each_engine {
    ($table:ident) => {
        $table! {
            null::Null,
            Synchronous<dummy::Dummy>,
            sim::Sim,
            Synchronous<psync::Psync>,
            Synchronous<sync::Sync>,
            vsync::Vsync,
            Synchronous<pvsync::Pvsync>,
            Synchronous<pvsync::Pvsync2>,
            #[cfg(target_os = "linux")]
            Synchronous<nowait::Nowait>,
            Synchronous<mmap::Mmap>,
            Synchronous<page_fault::PageFault>,
            #[cfg(target_os = "linux")]
            libaio::Libaio,
            #[cfg(target_os = "linux")]
            io_uring::Uring,
            #[cfg(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", target_os = "freebsd"))]
            posixaio::Posixaio,
            #[cfg(target_os = "linux")]
            Synchronous<splice::Splice>,
            #[cfg(target_os = "linux")]
            Synchronous<sg::Sg>,
            Synchronous<mpiio::Mpiio>,
            Synchronous<hdf5::Hdf5>,
            Synchronous<ncmpi::Ncmpi>,
            rados::Rados,
            Synchronous<hdfs::Hdfs>,
            Synchronous<cpuio::Cpuio>,
            Synchronous<exec::Exec>,
            #[cfg(target_os = "linux")]
            Synchronous<falloc::Falloc>,
            Synchronous<ftruncate::Ftruncate>,
            Synchronous<find::Find>,
            Synchronous<file_service::FileService>,
            Synchronous<small_files::SmallFiles>,
            Synchronous<net::Net>,
            #[cfg(target_os = "linux")]
            Synchronous<net::Netsplice>,
            socket::Sockets,
            #[cfg(target_os = "linux")]
            s3::S3,
            Synchronous<names::Filecreate>,
            Synchronous<names::Filestat>,
            Synchronous<names::Filedelete>,
            Synchronous<names::Dircreate>,
            Synchronous<names::Dirstat>,
            Synchronous<names::Dirdelete>,
        }
    };
}
pub(crate) use for_each_engine;

/// What an engine gets when it starts, once for each worker.
pub struct Setup<'a> {
    /// The plan that its job's targets are in.
    pub plan: &'a Plan,
    pub job: &'a Job,
    /// The largest depth: the job's, limited to [`EngineFacts::most_depth`].
    pub depth: u32,
    /// The open files. Operations may open further handles later.
    pub files: &'a Files,
    /// The buffers, one for each slot. The buffer of an `Io` lies in its slot's buffer, except for silent operations.
    pub memory: &'a Memory,
    /// The plan's seed.
    pub seed: u64,
    /// The paths of its files, in the order of the handles; empty unless the engine [opens](EngineFacts::opens_files) them.
    pub paths: &'a [String],
    /// The objects of its buckets, in the order of the handles.
    pub objects: &'a [Option<ObjectSet>],
    /// The worker's number within the phase.
    pub worker: u32,
    /// The worker's number within its job, counted over all ranks.
    pub seat: u32,
    /// Workers of the job on all ranks together.
    pub seats: u32,
    /// By label, the I/O priority that its operations carry, 0 the worker's own; none where no operation has one.
    pub priorities: Option<&'a [u16]>,
    /// What it shares with the control plane.
    pub live: Live<'a>,
}

/// What an engine shares with the control plane while it runs. All of it outlives the engine.
#[derive(Clone, Copy)]
pub struct Live<'a> {
    /// The worker's job, by index in the phase.
    pub job: usize,
    /// Not 0 once the worker is to stop.
    pub stop: &'a AtomicU32,
    /// The engine's own counters.
    pub counts: &'a Counts,
    /// Where it registers its connections.
    pub connections: &'a Connections,
    /// Limits how far a virtual clock may advance; none: no limit.
    pub barrier: Option<&'a StartBarrier>,
    /// By slot, when the answer to its operation began; 0: it has not. Empty where nobody wants to know.
    pub marks: &'a [AtomicU64],
}

impl Live<'static> {
    /// For a worker without a control plane.
    pub fn alone() -> Self {
        static STOP: AtomicU32 = AtomicU32::new(0);
        static COUNTS: Counts = Counts::new();
        static CONNECTIONS: LazyLock<Connections> = LazyLock::new(Connections::default);
        Live { job: 0, stop: &STOP, counts: &COUNTS, connections: &CONNECTIONS, barrier: None, marks: &[] }
    }
}

impl Setup<'_> {
    /// The target that a handle stands for.
    pub fn target(&self, handle: usize) -> Option<&Target> {
        let handle = self.files.handles.get(handle)?;
        self.plan.targets.get(handle.target as usize)
    }
}

/// How operations reach the kernel or a service. `drive` is compiled once for each engine.
///
/// An engine that has one operation at a time is a [`SyncEngine`] instead.
pub trait Engine: Sized {
    /// What is known of it without running it.
    const FACTS: EngineFacts;

    /// Makes it ready, before the start line.
    ///
    /// # Errors
    /// What is missing.
    fn start(setup: &Setup<'_>) -> Result<Self, Failure>;

    /// Takes one operation. It may be carried out at once or later, but no later than in the next `poll`.
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files);

    /// Hands what was pushed to the kernel without waiting for it. Called only where the two parts of a latency are
    /// measured apart; without it, `poll` hands over and waits at once.
    ///
    /// # Errors
    /// As `poll`.
    fn submit(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Hands back completions: at least `min` of them, unless `until` comes first. `done` gets the slot, the result
    /// (bytes, or `-errno`) and the time at which the batch was reaped. With nothing in flight, a
    /// [virtual](EngineFacts::is_virtual) clock moves on to `until`.
    ///
    /// # Errors
    /// When the engine itself is broken; operations fail through their results.
    fn poll(&mut self, min: u32, until: Tick, done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure>;

    /// The place at a device that takes operations like this one, whose place alone differs, without the worker's stack, and
    /// what they ask of it; none: there is no such device, or each operation has to be looked at.
    fn stackless(&self, _io: &Io, _files: &Files) -> Option<(&DeviceSeat, RequestTemplate)> {
        None
    }

    /// What time it is for this engine.
    #[inline(always)]
    fn now(&self) -> Tick {
        clock::now()
    }

    /// As [`SyncEngine::perform`]; only of engines that [perform](EngineFacts::performs).
    #[inline(always)]
    fn perform(&mut self, _io: &Io, _files: &mut Files) -> i64 {
        -i64::from(libc::EOPNOTSUPP)
    }

    /// As [`SyncEngine::agree`].
    fn agree(&mut self, over: bool) -> bool {
        over
    }

    /// As [`SyncEngine::facts`].
    fn facts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// As [`SyncEngine::close`].
    ///
    /// # Errors
    /// As there.
    fn close(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// An engine that carries out each operation when it takes it; [`Synchronous`] makes an [`Engine`] of it.
pub trait SyncEngine: Sized {
    /// What is known of it without running it; its depth is always 1.
    const FACTS: EngineFacts;

    /// Makes it ready, before the start line.
    ///
    /// # Errors
    /// What is missing.
    fn start(setup: &Setup<'_>) -> Result<Self, Failure>;

    /// Carries out one operation: its result, bytes or `-errno`.
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64;

    /// What is done once the result was handed back, outside the operation's latency.
    #[inline(always)]
    fn after_operation(&mut self, _until: Tick) {}

    /// Whether any worker of a [collective](EngineFacts::is_collective) engine wants to end, as all of them are told. Asked
    /// before every operation by everybody.
    fn agree(&mut self, over: bool) -> bool {
        over
    }

    /// What it counted of its own, by name; asked when the worker is done.
    fn facts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Closes what it opened itself.
    ///
    /// # Errors
    /// What the system or a library reports only now.
    fn close(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A synchronous engine in the loop: with its one operation that is carried out and not yet handed back.
pub struct Synchronous<E> {
    engine: E,
    done: Option<(Slot, i64)>,
}

impl<E: SyncEngine> Engine for Synchronous<E> {
    const FACTS: EngineFacts = EngineFacts { most_depth: 1, ..E::FACTS };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Synchronous { engine: E::start(setup)?, done: None })
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        self.done = Some((slot, self.engine.perform(io, files)));
    }

    #[inline(always)]
    fn poll(&mut self, _min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        if let Some((slot, result)) = self.done.take() {
            done(slot, result, clock::now());
            self.engine.after_operation(until);
        }
        Ok(())
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        self.engine.perform(io, files)
    }

    fn agree(&mut self, over: bool) -> bool {
        self.engine.agree(over)
    }

    fn facts(&self) -> Vec<(&'static str, u64)> {
        self.engine.facts()
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.engine.close()
    }
}

/// The value of an engine's setting in a job, as text.
pub fn setting<'a>(job: &'a Job, name: &str) -> Option<&'a str> {
    job.setting(name)
}

/// Whether a setting is switched on: `1`, `true`, `yes`, `on` or empty.
pub fn switched_on(job: &Job, name: &str) -> bool {
    switch(job, name) == Some(true)
}

/// Whether a setting is switched on or off, or `None` where the job leaves it to the engine.
pub fn switch(job: &Job, name: &str) -> Option<bool> {
    setting(job, name).and_then(switch_of)
}

/// A setting that is a whole number.
pub fn whole_number(job: &Job, name: &str) -> Option<u64> {
    setting(job, name).and_then(|value| value.parse().ok())
}

fn switch_of(value: &str) -> Option<bool> {
    match value {
        "" | "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// One error for each of these settings that is neither on nor off.
pub fn check_switches(job: &Job, names: &[&str]) -> Vec<Diagnostic> {
    check_values(job, names, |value| switch_of(value).is_some(), "say on or off (1 or 0)")
}

/// One error for each of these settings whose value is not accepted, with a hint that says which are.
pub fn check_values(job: &Job, names: &[&str], accept: impl Fn(&str) -> bool, hint: &str) -> Vec<Diagnostic> {
    let wrong = |setting: &&Setting| names.contains(&setting.name.as_str()) && !accept(&setting.value);
    let error = |setting: &Setting| {
        let message = format!("`{}={}` is no value of this setting", setting.name, setting.value);
        Diagnostic::error(&setting.origin, message).hint(hint)
    };
    job.settings.iter().filter(wrong).map(error).collect()
}

/// One error where a drawn workload has a verb that an engine gives no meaning to.
pub fn only_verbs(job: &Job, engine: &str, verbs: &[Verb]) -> Vec<Diagnostic> {
    let Workload::Pattern(pattern) = &job.workload else { return Vec::new() };
    let other = |share: &&Share| share.weight > 0.0 && !verbs.contains(&share.verb);
    let Some(share) = pattern.mix.shares.iter().find(other) else { return Vec::new() };
    let names: Vec<_> = verbs.iter().map(|verb| verb.name()).collect();
    let message = format!("engine {engine}: it gives no meaning to `{}`", share.verb);
    vec![Diagnostic::error(&job.origin, message).hint(format!("it does: {}", names.join(" ")))]
}

/// Whether a verb can do harm when it is only pretended.
pub fn is_data(verb: Verb) -> bool {
    verb.moves_data()
}
