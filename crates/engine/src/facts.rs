//! The properties of an engine that are known without running it: its name, verbs and settings, and what the loop must do for it.
//!
//! Facts lie below the loop. Code that checks a plan, opens files or makes a source reads them, and never names an engine.

use iodyno_model::{Diagnostic, EngineTrait, Job, VerbSet, Workload};

use crate::failure::Failure;
use crate::store_client::StoreClient;

/// A setting of an engine.
#[derive(Clone, Copy, Debug)]
pub struct SettingSpec {
    pub name: &'static str,
    /// What it does and which values it takes.
    pub help: &'static str,
}

/// A setting: its name, what it does and which values it takes.
pub const fn spec(name: &'static str, help: &'static str) -> SettingSpec {
    SettingSpec { name, help }
}

/// Two lists of settings as one, whose length is `N`.
pub const fn joined<const N: usize>(first: &[SettingSpec], second: &[SettingSpec]) -> [SettingSpec; N] {
    assert!(first.len() + second.len() == N);
    let (mut all, mut at) = ([first[0]; N], 0);
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

/// Which workloads an engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadClass {
    /// A stream of operations, in the loop.
    Stream,
    /// Scripts of system calls with expectations.
    Cases,
    /// Random operations held against a model.
    Exercise,
}

impl WorkloadClass {
    /// The class of a job's workload.
    pub fn of(workload: &Workload) -> Self {
        match workload {
            Workload::Pattern(_) | Workload::Script(_) | Workload::Trace(_) => WorkloadClass::Stream,
            Workload::Cases(_) => WorkloadClass::Cases,
            Workload::Exercise(_) => WorkloadClass::Exercise,
        }
    }
}

/// Connects to the store of an address, as a job would.
pub type ConnectStore = fn(&Job, &str) -> Result<Box<dyn StoreClient>, Failure>;

/// What is known of an engine without running it.
#[derive(Clone, Copy, Debug)]
pub struct EngineFacts {
    /// The name that plans use.
    pub name: &'static str,
    /// One line for `iodyno engines`.
    pub about: &'static str,
    /// Verbs that the engine carries out itself; `call` carries out the others.
    pub verbs: VerbSet,
    /// The settings that it accepts.
    pub settings: &'static [SettingSpec],
    /// The largest number of operations in flight; 1 for a synchronous engine.
    pub most_depth: u32,
    /// Time is virtual: its clock is not the machine's.
    pub is_virtual: bool,
    /// Its workers can share the plan's simulated device, with these of its settings.
    pub on_device: Option<&'static [&'static str]>,
    /// [`submit`](crate::engines::Engine::submit) passes operations to the kernel without waiting, so submission and completion
    /// have separate latencies.
    pub submits: bool,
    /// The kernel has a ring for each worker: the machine limits their number.
    pub has_ring: bool,
    /// A worker may reap fewer completions than there are.
    pub reaps_parts: bool,
    /// Operations are carried out one by one by [`perform`](crate::engines::Engine::perform), so the sampled loop is compiled for it.
    pub performs: bool,
    /// The class of workloads that it runs.
    pub runs: WorkloadClass,
    /// It opens files or devices.
    pub uses_files: bool,
    /// A file must be open for reading even where it is only written (mappings).
    pub reads_to_write: bool,
    /// A file must be open for writing even where it is only read (calls that change what they look at).
    pub writes_to_read: bool,
    /// The engine opens and closes files itself, by [`paths`](crate::engines::Setup::paths): their handles have no descriptor.
    pub opens_files: bool,
    /// The engine connects the endpoints among its targets.
    pub connects: bool,
    /// Schemes of the object stores that it reaches (`s3`), by [`objects`](crate::engines::Setup::objects); empty: it works on
    /// no bucket. Such an engine carries out all its verbs itself, and works on buckets alone.
    pub stores_objects: &'static [&'static str],
    /// A part of an object can be written without the rest.
    pub writes_parts: bool,
    /// It removes everything that lies below a bucket's prefix by [`rmdir`](iodyno_model::Verb::Rmdir), which no plan asks for.
    pub sweeps_prefixes: bool,
    /// Asks its store outside the loop: for leftovers, promises and directories. None: it is asked by another way, or not at all.
    pub client: Option<ConnectStore>,
    /// Its operations are requests to a file server, and come from [served](iodyno_model::Replay::served) traces alone.
    pub serves_requests: bool,
    /// It says when the answer to an operation begins ([`marks`](crate::engines::Live::marks)): a journal has its latency in
    /// two parts, until then and from then on.
    pub marks_answers: bool,
    /// Its workers on all ranks end with the same operation ([`agree`](crate::engines::Engine::agree)).
    pub is_collective: bool,
    /// Its workers can lock a file for each operation.
    pub takes_turns: bool,
    /// Operations cost so much that a loop without instrumentation is not worth compiling.
    pub is_slow: bool,
    /// The properties that matter for findings; a job's record keeps them.
    pub traits: &'static [EngineTrait],
    /// Whether this machine can run it; if not, the reason with a hint.
    pub available: fn() -> Result<(), Failure>,
    /// Everything that is wrong with a job for this engine; called before anything is touched.
    pub check: fn(&Job) -> Vec<Diagnostic>,
}

impl EngineFacts {
    /// Whether its workers run a stream of operations, in the loop.
    pub const fn is_stream(&self) -> bool {
        matches!(self.runs, WorkloadClass::Stream)
    }

    /// The facts of most engines: it uses files, accepts every verb and no settings, and any depth that a plan may ask for.
    pub const fn named(name: &'static str) -> EngineFacts {
        EngineFacts {
            name,
            about: "",
            verbs: VerbSet::ALL,
            settings: &[],
            most_depth: 4096,
            is_virtual: false,
            on_device: None,
            submits: false,
            has_ring: false,
            reaps_parts: false,
            performs: false,
            runs: WorkloadClass::Stream,
            uses_files: true,
            reads_to_write: false,
            writes_to_read: false,
            opens_files: false,
            connects: false,
            stores_objects: &[],
            writes_parts: false,
            sweeps_prefixes: false,
            client: None,
            serves_requests: false,
            marks_answers: false,
            is_collective: false,
            takes_turns: false,
            is_slow: false,
            traits: &[],
            available: || Ok(()),
            check: |_| Vec::new(),
        }
    }
}
