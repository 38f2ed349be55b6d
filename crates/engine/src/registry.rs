//! The table of engines: what drives the workers of each. The list is in `engines`; a new engine needs no line here. Engines
//! whose workloads are no stream of operations are registered by the crate that has them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use iodyno_model::{Job, Plan};

use crate::engines::{
    Engine, EngineFacts, Failure, for_each_engine, offload::Offload, per_operation_lock::LockPerOperation,
};
use crate::objects::split_url;
use crate::store_client::StoreClient;
use crate::worker::{CarryOut, Worker, carry_out, drive, drive_instrumented};

/// Drives one worker to its end.
pub type Drive = fn(&mut Worker<'_>) -> Result<(), Failure>;

/// An engine as the control plane sees it.
#[derive(Debug)]
pub struct EngineEntry {
    /// What is known of it.
    pub facts: &'static EngineFacts,
    /// The only dynamic call, once for each worker.
    pub drive: Drive,
    /// The same with workers that take turns on files, where the engine can.
    pub drive_in_turns: Option<Drive>,
    /// Carries out operations outside a run, where the engine stores objects.
    pub carry_out: Option<CarryOut>,
}

const fn entry<E: Engine>() -> EngineEntry {
    let facts = &E::FACTS;
    EngineEntry {
        facts,
        drive: if facts.is_slow { drive_instrumented::<E> } else { drive::<E> },
        drive_in_turns: if facts.takes_turns {
            Some(drive_instrumented::<LockPerOperation<E>>)
        } else {
            None
        },
        carry_out: if facts.stores_objects.is_empty() { None } else { Some(carry_out::<E>) },
    }
}

/// What drives jobs whose operations helper threads hand over, whatever their engine.
pub const OFFLOAD: &EngineEntry = &entry::<Offload>();

/// Engines of other crates, whose workloads are no stream of operations.
static REGISTERED: OnceLock<&[EngineEntry]> = OnceLock::new();

/// Adds engines of another crate to the table, once for each process; further calls have no effect.
pub fn register(engines: &'static [EngineEntry]) {
    let _ = REGISTERED.set(engines);
}

macro_rules! table_of_loops {
    ($($(#[$only:meta])* $engine:ty,)*) => {
        const STREAMS: &[EngineEntry] = {
            use crate::engines::*;
            &[$($(#[$only])* entry::<$engine>()),*]
        };
    };
}
for_each_engine!(table_of_loops);

/// Every engine.
pub fn all_engines() -> impl Iterator<Item = &'static EngineEntry> {
    STREAMS.iter().chain(REGISTERED.get().copied().unwrap_or_default())
}

pub fn engine(name: &str) -> Option<&'static EngineEntry> {
    all_engines().find(|entry| entry.facts.name == name)
}

/// What is known of every engine.
pub fn all_facts() -> impl Iterator<Item = &'static EngineFacts> {
    all_engines().map(|entry| entry.facts)
}

/// What is known of the engine of that name.
pub fn facts(name: &str) -> Option<&'static EngineFacts> {
    engine(name).map(|entry| entry.facts)
}

/// Connects to the store of an address as a job would, to ask it outside the loop; none: no engine has such a client.
pub fn connect_store(job: &Job, url: &str) -> Option<Result<Box<dyn StoreClient>, Failure>> {
    let (scheme, ..) = split_url(url)?;
    let connect =
        all_facts().filter(|facts| facts.stores_objects.contains(&scheme)).find_map(|facts| facts.client)?;
    Some(connect(job, url))
}

/// The engines of a plan's jobs, looked up once, when the plan is checked.
#[derive(Clone, Debug, Default)]
pub struct PlanEngines(Vec<&'static EngineEntry>);

impl PlanEngines {
    /// Looks up the engine of each job. One that does not exist is left out: the check reports it.
    pub fn resolve(plan: &Plan) -> PlanEngines {
        let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
        let names: BTreeSet<&str> = jobs.map(|job| job.engine.as_str()).collect();
        PlanEngines(names.into_iter().filter_map(engine).collect())
    }

    /// What is known of a job's engine; none: it does not exist.
    pub fn facts(&self, job: &Job) -> Option<&'static EngineFacts> {
        self.find(job).map(|entry| entry.facts)
    }

    /// The engine of a job whose plan was checked.
    pub fn of(&self, job: &Job) -> &'static EngineEntry {
        self.find(job).expect("the check refuses jobs whose engine does not exist")
    }

    fn find(&self, job: &Job) -> Option<&'static EngineEntry> {
        self.0.iter().copied().find(|entry| entry.facts.name == job.engine)
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::EngineTrait;

    use super::*;

    /// Records of before name an engine and say nothing of it: they are judged as if it had said what it says now.
    #[test]
    fn engines_are_what_records_of_before_take_them_for() {
        for EngineEntry { facts, .. } in all_engines() {
            let unsaid = EngineTrait::unsaid(facts.name);
            let same =
                unsaid.iter().all(|one| facts.traits.contains(one)) && unsaid.len() == facts.traits.len();
            assert!(same || unsaid.is_empty(), "{}: {:?}", facts.name, facts.traits);
        }
    }
}
