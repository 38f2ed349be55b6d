//! What engines share that work through the site's MPI library: which ranks open a file together, and what they agree
//! on.
//!
//! A file that all workers share is opened by those of all ranks that have the same place on their rank (their lane), by
//! a communicator of their own; a file with a name of its own for each worker is opened by that worker alone. Nothing
//! here speaks to a file.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use iodyno_model::{
    Diagnostic, Direct, Extent, Job, OpenSync, Pace, Ranks, Target, TargetKind, Verb, WorkerKind, Workload,
};

use super::{EngineFacts, Failure, SettingSpec, Setup, setting, spec, switched_on};
use crate::io::Io;
use crate::names::templates::tells_apart;
use crate::open::needs;
use crate::shared_library::SharedLibrary;
use crate::world::mpi::abi::{Handle, Kind};
use crate::world::mpi::{self, Open};

/// Variables that begin so are hints to the MPI library, by their names' rest.
const HINT_VARIABLE: &str = "IOR_HINT__MPI__";

/// Whether transfers are collective.
pub const COLLECTIVE: SettingSpec =
    spec("collective", "on or off: all workers transfer together (default off)");
/// Hints to the MPI library.
pub const HINTS_FILE: SettingSpec =
    spec("hints_file", "a file of hints to the MPI library, KEY = VALUE on each line");

/// The facts of an engine that works through the MPI library.
pub const fn facts(named: EngineFacts) -> EngineFacts {
    EngineFacts {
        performs: true,
        opens_files: true,
        is_collective: true,
        is_slow: true,
        available: mpi::can_open,
        ..named
    }
}

/// What a file is opened with.
pub struct Opening<'a> {
    /// The path as messages have it.
    pub path: &'a str,
    /// The path as C has it.
    pub name: CString,
    /// Who opens it together.
    pub(crate) comm: Handle,
    /// The user's hints to the library.
    pub hints: Hints,
}

/// The workers at the same place on all ranks, who open shared files together.
pub struct RankGroup {
    /// Whether its transfers are made together.
    pub collective: bool,
    open: &'static Open,
    /// The workers at the same place on other ranks.
    lane: Handle,
    reduce: Reduce,
    /// Whether there is anybody else.
    alone: bool,
}

type Reduce = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, Handle) -> c_int;

impl RankGroup {
    /// Meets the workers at the same place on other ranks, who all come here.
    ///
    /// # Errors
    /// No library, one that only one thread may call, several threads of each rank that share files, or its own reason.
    pub fn join(setup: &Setup<'_>) -> Result<RankGroup, Failure> {
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
        let own = |index| setup.target(index).and_then(Target::path).is_some_and(tells_apart);
        // Nothing is shared, so nobody need come: some libraries lose their way when groups and files are made at once.
        let apart = (0..setup.paths.len()).all(own);
        let alone = apart || ranks == 1 || matches!(setup.job.ranks, Ranks::Only(_));
        // A second lane would cross too. All of them know it before anybody waits for anybody: one that has refused never
        // comes to those that wait.
        if !alone && setup.seats > workers + 1 && workers > 1 {
            return Err(crossing());
        }
        let lane = match alone {
            true => open.library().abi.comm_self,
            false => open.communicator(ranks)?,
        };
        let collective = switched_on(setup.job, COLLECTIVE.name);
        Ok(RankGroup { collective, open, lane, reduce, alone })
    }

    /// The library.
    pub(crate) fn open(&self) -> &'static Open {
        self.open
    }

    /// What the file of a handle is opened with.
    ///
    /// # Errors
    /// What its target asks for and the library does not have; hints that cannot be read.
    pub fn opening<'a>(
        &self,
        setup: &'a Setup<'_>,
        index: usize,
        engine: &str,
    ) -> Result<Opening<'a>, Failure> {
        let target = setup.target(index).ok_or_else(|| Failure::new("a handle without a target"))?;
        check_target(target, engine)?;
        let hints = self.info(setting(setup.job, HINTS_FILE.name))?;
        let path = setup.paths[index].as_str();
        let name = CString::new(path).map_err(|_| Failure::new("a path with a zero byte"))?;
        Ok(Opening { path, name, comm: self.of_file(target), hints })
    }

    /// Who opens a target's file together: the whole group, or the worker alone.
    fn of_file(&self, target: &Target) -> Handle {
        match target.path() {
            Some(path) if tells_apart(path) => self.open.library().abi.comm_self,
            _ => self.lane,
        }
    }

    /// Whether any worker of the group wants to end; asked where all end with the same transfer.
    pub fn agree(&self, over: bool) -> bool {
        if self.collective { self.any(over) } else { over }
    }

    /// Whether any worker of the group answers yes.
    pub fn any(&self, wants: bool) -> bool {
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

/// MPICH's MPI-IO, which most others have from there (also Open MPI, on some file systems), holds one lock of the process
/// while a collective call on a file waits for other ranks. Two lanes would wait for each other's locks for ever, as was
/// seen with MPICH 5.0, so there is only one where there are several ranks.
fn crossing() -> Failure {
    Failure::new(
        "several threads of a rank cannot share files with other ranks through MPI: they would wait for ever",
    )
    .hint("start a rank for each task, with one worker each, or give each worker a file of its own")
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
fn hints(file: Option<&str>) -> Result<Vec<(String, String)>, Failure> {
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
        if job.pace != Pace::default() {
            say("collective calls wait for each other already", "leave out the rate and the think time");
        }
        if matches!(job.ranks, Ranks::Workers(workers) if !workers.is_multiple_of(job.workers.max(1))) {
            say("collective calls need as many workers on each rank", "let whole ranks take part");
        }
    }
    if let Err(failure) = mpi::library() {
        found.push(failure.diagnostic(&job.origin, &format!("engine {engine}: ")));
    }
    found
}

/// What a target asks for that only the kernel's own calls have.
///
/// # Errors
/// What it is.
fn check_target(target: &Target, engine: &str) -> Result<(), Failure> {
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
    if open.sync != OpenSync::No {
        return told("open flag that makes writes durable", "finish = \"fsync\"");
    }
    Ok(())
}

/// A file that holds what is worked on in one object, beside a header of its own.
pub struct Container {
    /// Whether it is made anew, rather than opened.
    pub makes: bool,
    /// How long the object is that is made.
    pub bytes: u64,
}

impl Container {
    /// What is to be done with the file of a handle; decided together by those who share it.
    ///
    /// # Errors
    /// A file to be made, of which nobody says how long it is.
    pub fn of(setup: &Setup<'_>, index: usize, group: &RankGroup) -> Result<Container, Failure> {
        let path = &setup.paths[index];
        let Some(target) = setup.target(index) else { return Ok(Container { makes: false, bytes: 0 }) };
        let missing = std::fs::metadata(path).is_err();
        let shared = target.path().is_some_and(|path| !tells_apart(path));
        // Asked before anybody could have made it.
        let missing = if shared { group.any(missing) } else { missing };
        let writes = needs(setup.job, index).1;
        let makes = writes && target.open.create && (target.open.truncate || missing);
        match &target.kind {
            TargetKind::File { size: Extent::Bytes(bytes), .. } => Ok(Container { makes, bytes: *bytes }),
            _ if !makes => Ok(Container { makes, bytes: 0 }),
            _ => Err(Failure::new(format!("{path}: no size is given for what it is to hold"))
                .hint("give the target a size, e.g. size = \"1GiB\"")),
        }
    }
}

/// How many bytes of a transfer lie inside an object of a length.
///
/// # Errors
/// A write goes beyond it: its result.
pub fn inside(io: &Io, bytes: u64) -> Result<u64, i64> {
    let inside = bytes.saturating_sub(io.offset).min(io.bytes);
    if inside < io.bytes && io.verb == Verb::Write { Err(-i64::from(libc::EFBIG)) } else { Ok(inside) }
}

/// Hints to the MPI library as its own object; freed on drop.
pub struct Hints {
    info: Handle,
    free: Option<unsafe extern "C" fn(*mut Handle) -> c_int>,
}

impl Hints {
    /// What stands for them in a call.
    pub(crate) fn handle(&self) -> Handle {
        self.info
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: the object is ours, and whoever was handed it has taken a copy.
            unsafe { free(&raw mut self.info) };
        }
    }
}

impl RankGroup {
    /// The user's hints, ready to be handed to a call.
    ///
    /// # Errors
    /// Hints that cannot be read, or that the library refuses.
    pub fn info(&self, file: Option<&str>) -> Result<Hints, Failure> {
        let (open, hints) = (self.open, hints(file)?);
        let library = open.library();
        if hints.is_empty() {
            return Ok(Hints { info: library.abi.info_null, free: None });
        }
        type Make = unsafe extern "C" fn(*mut Handle) -> c_int;
        type Set = unsafe extern "C" fn(Handle, *const c_char, *const c_char) -> c_int;
        let address = |name| open.address(name);
        // SAFETY: functions of these names have these arguments in every MPI library.
        let (make, set, free) = unsafe {
            (
                std::mem::transmute::<usize, Make>(address(c"MPI_Info_create")?),
                std::mem::transmute::<usize, Set>(address(c"MPI_Info_set")?),
                std::mem::transmute::<usize, Make>(address(c"MPI_Info_free")?),
            )
        };
        let mut made = Hints { info: 0, free: Some(free) };
        // SAFETY: there is room for the handle.
        library.check("MPI_Info_create", unsafe { make(&raw mut made.info) })?;
        for (key, value) in hints {
            let told = |_| Failure::new(format!("hint {key} has a zero byte"));
            let (name, text) =
                (CString::new(key.as_str()).map_err(told)?, CString::new(value).map_err(told)?);
            // SAFETY: both texts are zero-terminated, and the object is ours.
            library.check(&format!("hint {key}"), unsafe { set(made.info, name.as_ptr(), text.as_ptr()) })?;
        }
        Ok(made)
    }
}

/// A library that works through MPI, opened at run time; it stays open.
pub struct ParallelLibrary {
    library: SharedLibrary,
    /// What was opened.
    pub path: String,
}

impl ParallelLibrary {
    /// The one that a variable names, or the first of these that can be opened and has a call.
    ///
    /// # Errors
    /// None of them.
    pub fn first(
        what: &str,
        variable: &str,
        names: &[String],
        call: &CStr,
    ) -> Result<ParallelLibrary, Failure> {
        let named = std::env::var(variable).ok().filter(|name| !name.is_empty());
        let names = named.as_slice().iter().chain(if named.is_some() { &[] } else { names });
        let found =
            names.filter_map(|name| ParallelLibrary::open(name)).find(|library| library.at(call).is_ok());
        let missing = match named.as_deref() {
            Some(name) => format!("{variable}={name} is no {what} for MPI"),
            None => format!("no {what} for MPI can be opened"),
        };
        found.ok_or_else(|| {
            let hint =
                format!("install the one that was built for this MPI, or name it: {variable}=/path/to/it.so");
            Failure::new(missing).hint(hint)
        })
    }

    fn open(name: &str) -> Option<ParallelLibrary> {
        let path = CString::new(name).ok()?;
        let library = SharedLibrary::open(&path, libc::RTLD_NOW | libc::RTLD_GLOBAL).ok()?;
        Some(ParallelLibrary { library, path: name.into() })
    }

    /// The address of a symbol.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn at(&self, name: &CStr) -> Result<usize, Failure> {
        let missing = || Failure::new(format!("{} has no {}", self.path, name.to_string_lossy()));
        self.library.address(name).ok_or_else(missing)
    }
}

/// What distributions call the builds of a library for this MPI.
pub fn flavours() -> &'static [&'static str] {
    match mpi::known().map(|open| open.library().abi.kind) {
        Some(Kind::OpenMpi) => &["openmpi"],
        Some(_) => &["mpich"],
        None => &["openmpi", "mpich"],
    }
}

/// One error where a rank has several workers: these libraries are not safe for threads.
pub fn check_one_worker(job: &Job, engine: &str) -> Vec<Diagnostic> {
    if job.workers <= 1 {
        return Vec::new();
    }
    let message = format!("job {}: engine {engine}: its library serves one worker on each rank", job.name);
    vec![Diagnostic::error(&job.origin, message).hint("start more ranks by mpirun, with one worker each")]
}
