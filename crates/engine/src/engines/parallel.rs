//! What engines share that work through the site's MPI library: which ranks open a file together, and what they agree
//! on.
//!
//! A file that all workers share is opened by those of all ranks that have the same place on their rank (their lane), by
//! a communicator of their own; a file with a name of its own for each worker is opened by that worker alone. Nothing
//! here speaks to a file.

use std::ffi::{CStr, c_int, c_void};

use iodyno_model::{Diagnostic, Direct, Job, Ranks, Target, WorkerKind, Workload};

use super::{Failure, Setup, switched_on};
use crate::open::tells_apart;
use crate::source::pace;
use crate::world::mpi::{self, Open, abi::Handle};

/// Variables that begin so are hints to the MPI library, by their names' rest.
const HINT_VARIABLE: &str = "IOR_HINT__MPI__";

/// A worker's company on other ranks.
pub struct Company {
    open: &'static Open,
    /// The workers at the same place on other ranks.
    lane: Handle,
    reduce: Reduce,
    /// Whether there is anybody else.
    alone: bool,
}

type Reduce = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, Handle) -> c_int;

impl Company {
    /// Meets the workers at the same place on other ranks, who all come here.
    ///
    /// # Errors
    /// No library, one that only one thread may call, or its own reason.
    pub fn meet(setup: &Setup<'_>) -> Result<Company, Failure> {
        let open = mpi::library()?;
        let (_, size) = open.place()?;
        if !open.is_multiple() && (size > 1 || setup.job.workers > 1) {
            let version = &open.library().version;
            let message = format!("{version} does not let several threads call it (no MPI_THREAD_MULTIPLE)");
            return Err(Failure::new(message).hint("use a library that was built with it"));
        }
        let reduce = open.address(c"MPI_Allreduce")?;
        // SAFETY: the function of this name has these arguments in every MPI library.
        let reduce = unsafe { std::mem::transmute::<usize, Reduce>(reduce) };
        let workers = setup.job.workers.max(1);
        let place = setup.seat % workers;
        let ranks = (setup.seats.saturating_sub(place)).div_ceil(workers).max(1);
        let alone = ranks == 1 || matches!(setup.job.ranks, Ranks::Only(_));
        let lane = match alone {
            true => open.library().abi.comm_self,
            false => open.communicator(ranks, place)?,
        };
        Ok(Company { open, lane, reduce, alone })
    }

    /// The library.
    pub(crate) fn open(&self) -> &'static Open {
        self.open
    }

    /// Who opens a target's file together: everybody in company, or the worker alone.
    pub(crate) fn of_file(&self, target: &Target) -> Handle {
        match target.path() {
            Some(path) if tells_apart(path) => self.open.library().abi.comm_self,
            _ => self.lane,
        }
    }

    /// Whether anybody in company wants it.
    pub fn anybody(&self, wants: bool) -> bool {
        if self.alone {
            return wants;
        }
        let (own, mut all) = (u64::from(wants), 0u64);
        let abi = &self.open.library().abi;
        // SAFETY: both numbers are valid for the call, and the communicator is this thread's own.
        let class = unsafe {
            let (own, all) = ((&raw const own).cast(), (&raw mut all).cast());
            (self.reduce)(own, all, 1, abi.uint64, abi.most, self.lane)
        };
        // A world that cannot agree any more has come to its end.
        class != 0 || all > 0
    }
}

impl Open {
    /// The address of a call that is not among those that the world needs.
    ///
    /// # Errors
    /// The library has none of that name.
    pub(super) fn address(&self, name: &CStr) -> Result<usize, Failure> {
        let library = self.library();
        library.address(name).ok_or_else(|| {
            let name = name.to_string_lossy();
            Failure::new(format!("{} ({}) has no {name}", library.version, library.path))
        })
    }
}

/// Hints to the library: of a file, whose lines say `key = value`, and of variables. (IOR's files call each key
/// `IOR_HINT__MPI__key`.)
///
/// # Errors
/// A file that cannot be read, or a line that is none.
pub fn hints(file: Option<&str>) -> Result<Vec<(String, String)>, Failure> {
    let mut hints: Vec<(String, String)> = std::env::vars()
        .filter_map(|(name, value)| Some((name.strip_prefix(HINT_VARIABLE)?.to_string(), value)))
        .collect();
    let Some(path) = file else { return Ok(hints) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read the hints of {path}: {error}")))?;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            let message = format!("{path}:{}: `{line}` is no hint", number + 1);
            return Err(Failure::new(message).hint("a line says KEY = VALUE"));
        };
        let key = key.trim();
        if key.starts_with("IOR_HINT__GPFS__") {
            continue;
        }
        let key = key.strip_prefix(HINT_VARIABLE).unwrap_or(key);
        hints.push((key.into(), value.trim().into()));
    }
    Ok(hints)
}

/// What no engine of this kind can do, whatever its library.
pub fn check(job: &Job, engine: &str) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut say = |message: &str, hint: &str| {
        let message = format!("job {}: engine {engine}: {message}", job.name);
        found.push(Diagnostic::error(&job.origin, message).hint(hint));
    };
    if job.kind == WorkerKind::Processes {
        say("forked workers cannot use the MPI library of their parent", "use threads, or more ranks");
    }
    if switched_on(job, "collective") {
        if !matches!(job.workload, Workload::Pattern(_)) {
            say("collective calls need the same operations on every rank", "use a drawn workload");
        }
        if !pace::is_free(job) {
            say("collective calls wait for each other already", "leave out the rate and the think time");
        }
        if matches!(job.ranks, Ranks::Workers(workers) if !workers.is_multiple_of(job.workers.max(1))) {
            say("collective calls need as many workers on each rank", "let whole ranks take part");
        }
    }
    if let Err(failure) = mpi::library() {
        let mut wrong = Diagnostic::error(&job.origin, format!("engine {engine}: {}", failure.message));
        wrong.hint = failure.hint;
        found.push(wrong);
    }
    found
}

/// What a target asks for that only the kernel's own calls have.
///
/// # Errors
/// What it is.
pub fn check_target(target: &Target, engine: &str) -> Result<(), Failure> {
    let open = &target.open;
    let told = |what: &str, hint: &str| {
        Err(Failure::new(format!("target {}: engine {engine} has no {what}", target.name)).hint(hint))
    };
    if open.direct == Direct::Yes {
        return told(
            "O_DIRECT of its own",
            "IOR_HINT__MPI__direct_write=true, where the library knows that hint",
        );
    }
    if open.sync != iodyno_model::OpenSync::No {
        return told("open flag that makes writes durable", "finish = \"fsync\"");
    }
    Ok(())
}
