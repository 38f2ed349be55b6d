//! Ranks joined by the site's own MPI, which is opened at run time.
//!
//! One executable serves Open MPI 4 and 5, MPICH and its family, and any library with the standard ABI of MPI 5. The
//! launcher's variables say whose library it must be; without a launcher nothing is opened. What an engine needs for
//! MPI-IO goes through [`library`]. Nothing of our own speaks between machines.
//!
//! ```text
//!   launcher (variables) ──► search (where) ──► library (dlopen, calls) ──► abi (constants)
//!   flight (a call under way) ◄── together (collectives), mail (messages), clocks;  nodes (who is where),
//!   neighbours (who of them has ended)
//! ```

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{BrokenWorld, Patience, Reduce, Topic};
use crate::clock::Tick;
use crate::failure::Failure;
use crate::signal;
use abi::Handle;
use clocks::Distance;
use collectives::Values;
use help::Help;
use iodyno_model::WorldFacts;
use launcher::{Family, Launcher, Wish};
use library::Library;
use neighbours::Neighbours;
use nodes::NodeMap;
pub(super) use pending::Pause;
use pending::Pending;

// RankShare of the door is for engines that other branches bring.
#[allow(dead_code)]
pub(crate) mod abi;
mod clocks;
mod collectives;
mod help;
mod launcher;
#[allow(dead_code)]
pub(crate) mod library;
mod mail;
mod neighbours;
mod nodes;
mod pending;
mod search;

/// The library of this process, once it is initialised.
static OPEN: OnceLock<Open> = OnceLock::new();

/// An initialised library.
#[allow(dead_code)]
pub(crate) struct Open {
    library: Library,
    /// Whether any thread may call it at any time.
    is_multiple: bool,
    /// The process that initialised it: forked workers must keep away.
    process: u32,
    communicators: Mutex<HashMap<u32, Handle>>,
}

/// A reduction under way.
pub(super) type Reducing = Pending<Values>;

/// This rank's end of the world.
pub(super) struct Mpi {
    open: &'static Open,
    rank: u32,
    size: u32,
    map: NodeMap,
    neighbours: Neighbours,
    mail: mail::Mail,
    distance: Cell<Distance>,
    /// Why ranks can no longer come together: after one gave up, nobody knows who waits for what.
    broken: RefCell<Option<BrokenWorld>>,
}

/// The world of the launcher; none: there is no launcher, or the user wants none.
///
/// # Errors
/// No library that fits, or another number of ranks than the launcher's.
pub(super) fn find() -> Result<Option<(Mpi, WorldFacts, u32)>, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let wish = launcher::wish(&variable);
    if wish == Wish::Off {
        return Ok(None);
    }
    let Some(launcher) = launcher::find(&variable)? else { return Ok(None) };
    let open = opened(&wish, launcher.families, Some(&launcher))?;
    let (rank, size) = open.place()?;
    if let Some(wrong) = mismatch(&launcher, size, &open.library) {
        open.finalize();
        return Err(wrong);
    }
    let mut mpi = Mpi {
        open,
        rank,
        size,
        map: NodeMap::default(),
        neighbours: Neighbours::default(),
        mail: mail::Mail::default(),
        distance: Cell::default(),
        broken: RefCell::default(),
    };
    mpi.map = mpi.meet().map_err(|broken| Failure::new(broken.0))?;
    mpi.neighbours = Neighbours::of(&mpi.map, rank);
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    pending::crowd(mpi.map.on_node_of(rank), cpus);
    let facts = mpi.map.facts(&open.library.version);
    Ok(Some((mpi, facts, rank)))
}

/// The MPI library of this run, for engines that work through it: that of the world, or, without a launcher, any that
/// can be found, as a world of one rank.
///
/// # Errors
/// None can be opened, or this is a forked worker of a process that has opened it.
#[allow(dead_code)]
pub(crate) fn library() -> Result<&'static Open, Failure> {
    let open = match OPEN.get() {
        Some(open) => open,
        None => {
            let wish = launcher::wish(&|name| std::env::var(name).ok());
            if wish == Wish::Off {
                return Err(Failure::new(format!("{}=off forbids any MPI library", launcher::LIBRARY)));
            }
            opened(&wish, &[Family::OpenMpi, Family::Mpich], None)?
        }
    };
    if open.process == std::process::id() {
        return Ok(open);
    }
    Err(Failure::new("a forked worker cannot use the MPI library of its parent")
        .hint("use threads as workers"))
}

/// The MPI library, if it is open already.
pub(crate) fn known() -> Option<&'static Open> {
    OPEN.get()
}

/// Whether there is an MPI library that engines could work through; nothing is initialised for it.
///
/// # Errors
/// As of [`library`].
pub(crate) fn can_open() -> Result<(), Failure> {
    static TRIED: OnceLock<Result<(), Failure>> = OnceLock::new();
    if OPEN.get().is_some() {
        return Ok(());
    }
    let wish = launcher::wish(&|name| std::env::var(name).ok());
    let families = [Family::OpenMpi, Family::Mpich];
    let first = || match &wish {
        Wish::Off => Err(Failure::new(format!("{}=off forbids any MPI library", launcher::LIBRARY))),
        Wish::Path(path) => {
            Library::first(std::slice::from_ref(path), &[]).map(drop).map_err(|tried| none(None, &tried))
        }
        Wish::Any => Library::first(&search::candidates(&families), &families)
            .map(drop)
            .map_err(|tried| none(None, &tried)),
    };
    TRIED.get_or_init(first).clone()
}

/// The other number than the launcher's.
fn mismatch(launcher: &Launcher, size: u32, library: &Library) -> Option<Failure> {
    let ranks = launcher.ranks.filter(|ranks| *ranks != size)?;
    let (name, version, path, variable) = (launcher.name, &library.version, &library.path, launcher::LIBRARY);
    let message = format!(
        "{name} says that there are {ranks} ranks, but {version} ({path}) sees {size}: it is not the launcher's library"
    );
    Some(Failure::new(message).hint(format!(
        "{}name the launcher's own library: {variable}=/path/to/libmpi.so; {variable}=off runs every process alone",
        launcher::advice(launcher)
    )))
}

/// Opens and initialises the library, once in the life of a process.
fn opened(wish: &Wish, families: &[Family], launcher: Option<&Launcher>) -> Result<&'static Open, Failure> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(open) = OPEN.get() {
        return Ok(open);
    }
    if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
        return Err(Failure::new("this iodyno is linked statically, and cannot open an MPI library").hint(
            format!(
                "use a dynamically linked build, or {}=off to run every process alone",
                launcher::LIBRARY
            ),
        ));
    }
    let found = match wish {
        Wish::Path(path) => Library::first(std::slice::from_ref(path), &[]),
        _ => Library::first(&search::candidates(families), families),
    };
    let library = found.map_err(|tried| none(launcher, &tried))?;
    let open = initialised(library)?;
    Ok(OPEN.get_or_init(|| open))
}

fn none(launcher: Option<&Launcher>, tried: &[String]) -> Failure {
    let who = launcher.map_or_else(String::new, |launcher| format!("{} started this, but ", launcher.name));
    let variable = launcher::LIBRARY;
    let hint = match launcher {
        Some(launcher) => format!(
            "{}{variable}=/path/to/libmpi.so names it; {variable}=off runs every process alone",
            launcher::advice(launcher)
        ),
        None => format!("{variable}=/path/to/libmpi.so names it"),
    };
    Failure::new(format!("{who}no MPI library can be opened; tried {}", tried.join(", "))).hint(hint)
}

fn initialised(library: Library) -> Result<Open, Failure> {
    yield_when_crowded();
    let (calls, abi) = (&library.calls, library.abi);
    let help = Help::of(&library);
    let (mut granted, none) = (0, std::ptr::null_mut());
    // SAFETY: MPI allows both arguments of the program to be null, and the level is valid for writing.
    let class =
        unsafe { (calls.init_thread)(std::ptr::null_mut(), none, abi.thread_multiple, &raw mut granted) };
    library.check("MPI_Init_thread", class)?;
    // SAFETY: both handles are the library's own.
    let class = unsafe { (calls.set_errhandler)(abi.comm_world, abi.errors_return) };
    library.check("MPI_Comm_set_errhandler", class)?;
    if let Some(help) = help {
        let mut rank = 0;
        // SAFETY: the communicator is the library's own, and the number is valid for writing.
        let class = unsafe { (calls.comm_rank)(abi.comm_world, &raw mut rank) };
        library.check("MPI_Comm_rank", class)?;
        help.keep_here(rank == 0);
    }
    Ok(Open {
        is_multiple: granted >= abi.thread_multiple,
        process: std::process::id(),
        communicators: Mutex::default(),
        library,
    })
}

/// Open MPI spins while it initialises. With more ranks on a node than processors they would keep each other from it.
fn yield_when_crowded() {
    const YIELD: &str = "OMPI_MCA_mpi_yield_when_idle";
    let local = std::env::var("OMPI_COMM_WORLD_LOCAL_SIZE").ok().and_then(|size| size.parse::<usize>().ok());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if local.is_some_and(|local| local > cpus) && std::env::var_os(YIELD).is_none() {
        // SAFETY: a world is found before the program starts threads of its own.
        unsafe { std::env::set_var(YIELD, "1") };
    }
}

#[allow(dead_code)]
impl Open {
    /// The library's calls, constants and symbols.
    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// Whether any thread may call the library at any time (`MPI_THREAD_MULTIPLE`).
    pub(crate) fn is_multiple(&self) -> bool {
        self.is_multiple
    }

    /// This rank's number and how many there are.
    pub(crate) fn place(&self) -> Result<(u32, u32), Failure> {
        let (library, comm) = (&self.library, self.library.abi.comm_world);
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the communicator is the library's own, and both numbers are valid for writing.
        unsafe {
            library.check("MPI_Comm_rank", (library.calls.comm_rank)(comm, &raw mut rank))?;
            library.check("MPI_Comm_size", (library.calls.comm_size)(comm, &raw mut size))?;
        }
        Ok((rank as u32, size as u32))
    }

    /// A communicator of the first so many ranks, for use by one thread of each. Made when first asked for, by a call that
    /// waits until all of those ranks (and no others) have asked; errors on it are returned. Never freed, as others may
    /// still be using it when one engine ends.
    ///
    /// # Errors
    /// This rank is not among them, or the library's reason.
    pub(crate) fn communicator(&self, ranks: u32) -> Result<Handle, Failure> {
        let (rank, size) = self.place()?;
        let ranks = ranks.min(size);
        if rank >= ranks {
            return Err(Failure::new(format!("rank {rank} is not among the first {ranks}")));
        }
        let lock = || self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&ranks) {
            return Ok(*known);
        }
        let made = self.made_of_first(ranks)?;
        lock().insert(ranks, made);
        Ok(made)
    }

    fn made_of_first(&self, ranks: u32) -> Result<Handle, Failure> {
        let (library, calls, abi) = (&self.library, &self.library.calls, &self.library.abi);
        let (mut world, mut group, mut comm): (Handle, Handle, Handle) = (0, 0, 0);
        let range = [[0, ranks as i32 - 1, 1]];
        // Threads that ask for different sizes may be here at the same time.
        let tag = ranks as i32 & 0x7fff;
        // SAFETY: all handles are the library's own, the out-parameters are zeroed and wide enough for any handle.
        unsafe {
            library.check("MPI_Comm_group", (calls.comm_group)(abi.comm_world, &raw mut world))?;
            let class = (calls.group_range)(world, 1, range.as_ptr(), &raw mut group);
            library.check("MPI_Group_range_incl", class)?;
            let class = (calls.create_group)(abi.comm_world, group, tag, &raw mut comm);
            library.check("MPI_Comm_create_group", class)?;
            (calls.group_free)(&raw mut group);
            (calls.group_free)(&raw mut world);
            library.check("MPI_Comm_set_errhandler", (calls.set_errhandler)(comm, abi.errors_return))?;
        }
        Ok(comm)
    }

    fn finalize(&self) {
        // SAFETY: called once, by the process that initialised it, and nothing is called afterwards.
        unsafe { (self.library.calls.finalize)() };
    }
}

/// Ends what [`library`] began for a world of one rank.
pub(super) fn leave_alone() {
    if let Some(open) = OPEN.get().filter(|open| open.process == std::process::id()) {
        open.finalize();
    }
}

impl Mpi {
    fn library(&self) -> &'static Library {
        &self.open.library
    }

    /// Who is where, the same on all ranks.
    fn meet(&self) -> Result<NodeMap, BrokenWorld> {
        // Nobody can be left behind yet: a rank that fails to come here has ended, and the launcher ends the others.
        let patience: Patience<'_> = &mut || true;
        let gathered = self.gather(nodes::identity().into_bytes(), patience)?;
        let table = gathered.join(&0);
        let table = self.broadcast(table, patience)?;
        let text = String::from_utf8_lossy(&table);
        let identities: Vec<String> = text.split('\0').map(String::from).collect();
        Ok(nodes::map(&identities))
    }

    /// Does it unless the world is broken, and remembers when it breaks.
    fn whole<T>(&self, act: impl FnOnce() -> Result<T, BrokenWorld>) -> Result<T, BrokenWorld> {
        if let Some(broken) = &*self.broken.borrow() {
            return Err(broken.clone());
        }
        self.mail.progress();
        act().map_err(|broken| self.break_off(broken))
    }

    /// Ranks no longer come together, for this reason.
    pub(super) fn break_off(&self, broken: BrokenWorld) -> BrokenWorld {
        self.broken.borrow_mut().get_or_insert(broken).clone()
    }

    /// Ranks on this machine that have ended.
    pub(super) fn gone(&self) -> Vec<u32> {
        self.neighbours.gone()
    }

    /// Patience for as long as nobody is gone. Who is gone may have done its part before: what is waited for is looked at
    /// once more.
    fn while_all_are_there<T>(&self, patience: Patience<'_>, act: impl FnOnce(Patience<'_>) -> T) -> T {
        let mut was_gone = false;
        act(&mut || {
            let is_gone = !self.gone().is_empty();
            patience() && !(is_gone && std::mem::replace(&mut was_gone, true))
        })
    }

    pub(super) fn barrier(&self, patience: Patience<'_>) -> Result<(), BrokenWorld> {
        self.while_all_are_there(patience, |patience| self.last_barrier(patience))
    }

    /// The same where others end as soon as they have been there.
    fn last_barrier(&self, patience: Patience<'_>) -> Result<(), BrokenWorld> {
        self.whole(|| collectives::barrier(self.library(), patience))
    }

    pub(super) fn broadcast(&self, bytes: Vec<u8>, patience: Patience<'_>) -> Result<Vec<u8>, BrokenWorld> {
        let bytes = if self.rank == 0 { bytes } else { Vec::new() };
        self.while_all_are_there(patience, |patience| {
            self.whole(|| collectives::broadcast(self.library(), bytes, patience))
        })
    }

    pub(super) fn gather(&self, bytes: Vec<u8>, patience: Patience<'_>) -> Result<Vec<Vec<u8>>, BrokenWorld> {
        self.while_all_are_there(patience, |patience| {
            self.whole(|| collectives::gather(self.library(), (self.rank, self.size), bytes, patience))
        })
    }

    pub(super) fn begin(&self, how: Reduce, values: Vec<u64>) -> Result<Reducing, BrokenWorld> {
        self.whole(|| collectives::begin(self.library(), how, values))
    }

    pub(super) fn poll(&self, flight: &mut Reducing) -> Result<Option<Vec<u64>>, BrokenWorld> {
        self.whole(|| Ok(flight.is_done()?.then(|| flight.kept().all)))
    }

    pub(super) fn send(&self, to: u32, topic: Topic, bytes: Vec<u8>) {
        self.mail.send(self.library(), to, topic as i32, bytes);
    }

    pub(super) fn receive(&self, topic: Topic) -> Option<(u32, Vec<u8>)> {
        match self.mail.receive(self.library(), topic) {
            Ok(message) => message,
            Err(broken) => {
                self.break_off(broken);
                None
            }
        }
    }

    pub(super) fn mine(&self, of_first: Tick) -> Tick {
        self.distance.get().mine(of_first)
    }

    /// The error of what is now assumed, ns.
    pub(super) fn compare_clocks(&self, patience: Patience<'_>) -> Result<u64, BrokenWorld> {
        let distance = self.whole(|| clocks::compare(self.library(), self.rank, &self.map, patience))?;
        self.distance.set(distance);
        Ok(distance.error_ns)
    }

    pub(super) fn abort(&self, status: i32) -> ! {
        let library = self.library();
        // SAFETY: the communicator is the library's own; the call is not expected to come back.
        unsafe { (library.calls.abort)(library.abi.comm_world, status) };
        std::process::exit(status)
    }

    /// Leaves when everybody does, or at once when the world is broken or the user wants out.
    pub(super) fn leave(self) {
        let (interrupted, _) = signal::interruptions();
        let mut patience = || signal::interruptions().0 == interrupted;
        let pause = Pause::begin();
        while self.broken.borrow().is_none() && !self.mail.progress() && patience() {
            pause.once();
        }
        // To end properly would wait for ranks that are gone; the launcher ends whoever is left.
        if self.last_barrier(&mut patience).is_ok() {
            self.open.finalize();
        }
    }
}
