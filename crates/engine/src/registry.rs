//! The table of loops: what drives the workers of each engine. The list of engines is in `engines`; a new one needs no
//! line here.

use crate::engines::{
    Engine, EngineFacts, Failure, apart, for_each_engine, offload::Offload,
    per_operation_lock::LockPerOperation,
};
use crate::worker::{Worker, drive, drive_instrumented};

/// Drives one worker to its end.
pub type Drive = fn(&mut Worker<'_>) -> Result<(), Failure>;

/// An engine as the control plane sees it.
pub struct Entry {
    /// What is known of it.
    pub facts: &'static EngineFacts,
    /// The only dynamic call, once for each worker.
    pub drive: Drive,
    /// The same with workers that take turns on files, where the engine can.
    pub drive_in_turns: Option<Drive>,
}

const fn entry<E: Engine>() -> Entry {
    let facts = &E::FACTS;
    Entry {
        facts,
        drive: if facts.is_slow { drive_instrumented::<E> } else { drive::<E> },
        drive_in_turns: if facts.takes_turns {
            Some(drive_instrumented::<LockPerOperation<E>>)
        } else {
            None
        },
    }
}

/// What drives jobs whose operations helper threads hand over, whatever their engine.
pub const OFFLOAD: &Entry = &entry::<Offload>();

/// What drives a workload that is no stream of operations.
const APART: &[Entry] = &[
    Entry { facts: &apart::CASES, drive: crate::cases::drive, drive_in_turns: None },
    Entry { facts: &apart::EXERCISE, drive: crate::exercise::drive, drive_in_turns: None },
];

macro_rules! table_of_loops {
    ($($(#[$only:meta])* $module:ident::$engine:ident,)*) => {
        const STREAMS: &[Entry] = &[$($(#[$only])* entry::<crate::engines::$module::$engine>()),*];
    };
}
for_each_engine!(table_of_loops);

/// The engine of that name.
pub fn engine(name: &str) -> Option<&'static Entry> {
    STREAMS.iter().chain(APART).find(|entry| entry.facts.name == name)
}
