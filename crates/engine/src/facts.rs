//! What is known of an engine without running it: its name, its verbs, its settings, and what it asks of the loop.
//!
//! Facts lie below the loop. What checks a plan, opens files or makes a source reads them, and never names an engine.

use iodyno_model::{Diagnostic, EngineTrait, Job, VerbSet, Workload};

use crate::failure::Failure;

/// A setting that an engine declares.
#[derive(Clone, Copy, Debug)]
pub struct SettingSpec {
    /// Its name.
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

/// What is known of an engine without running it.
#[derive(Clone, Copy, Debug)]
pub struct EngineFacts {
    /// The name that plans use.
    pub name: &'static str,
    /// One line for `iodyno engines`.
    pub about: &'static str,
    /// Verbs that it carries out itself; the others fall back to `call`.
    pub verbs: VerbSet,
    /// Its own settings.
    pub settings: &'static [SettingSpec],
    /// Operations that it can have in flight; 1 for a synchronous engine.
    pub most_depth: u32,
    /// Its clock is not the machine's.
    pub is_virtual: bool,
    /// It hands operations to the kernel without waiting for them ([`submit`](crate::engines::Engine::submit)), so submission and
    /// completion have latencies of their own.
    pub submits: bool,
    /// The kernel keeps a ring for each worker: rings are limited for the whole machine, and fewer completions may be taken out
    /// of one than are there.
    pub has_ring: bool,
    /// It carries each operation out while it is handed over ([`perform`](crate::engines::Engine::perform)).
    pub performs: bool,
    /// The workloads that it runs.
    pub runs: WorkloadClass,
    /// It works on files.
    pub uses_files: bool,
    /// A file must be open for reading even where it is only written (mappings).
    pub reads_to_write: bool,
    /// A file must be open for writing even where it is only read (calls that change what they look at).
    pub writes_to_read: bool,
    /// It opens and closes the files among its targets itself, by [`paths`](crate::engines::Setup::paths): their handles have no
    /// descriptor.
    pub opens_files: bool,
    /// It opens the endpoints among its targets itself.
    pub connects: bool,
    /// Its workers on all ranks end with the same operation ([`agree`](crate::engines::Engine::agree)).
    pub is_collective: bool,
    /// Its workers can take turns on a file that is locked for each operation.
    pub takes_turns: bool,
    /// An operation costs so much that a loop without instrumentation is not worth compiling.
    pub is_slow: bool,
    /// What of it matters to who judges its figures; a job's record keeps it.
    pub traits: &'static [EngineTrait],
    /// Whether this machine has it, and if not, why, with a hint.
    pub available: fn() -> Result<(), Failure>,
    /// What is wrong with a job's settings; called before anything is touched.
    pub check: fn(&Job) -> Vec<Diagnostic>,
}

impl EngineFacts {
    /// Whether its workers run a stream of operations, in the loop.
    pub const fn is_stream(&self) -> bool {
        matches!(self.runs, WorkloadClass::Stream)
    }

    /// Facts that hold for most: files, every verb by `call`, no settings, as deep as any plan asks.
    pub const fn named(name: &'static str) -> EngineFacts {
        EngineFacts {
            name,
            about: "",
            verbs: VerbSet::ALL,
            settings: &[],
            most_depth: 4096,
            is_virtual: false,
            submits: false,
            has_ring: false,
            performs: false,
            runs: WorkloadClass::Stream,
            uses_files: true,
            reads_to_write: false,
            writes_to_read: false,
            opens_files: false,
            connects: false,
            is_collective: false,
            takes_turns: false,
            is_slow: false,
            traits: &[],
            available: || Ok(()),
            check: |_| Vec::new(),
        }
    }
}
