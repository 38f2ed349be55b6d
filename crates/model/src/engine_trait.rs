//! What of an engine matters to who judges its figures.
//!
//! An engine says it of itself, and a job's record keeps it: whoever judges asks for a trait, and knows no engine by name.
//! The only names are those of records and plans that do not say.

use crate::record::JobRecord;
use crate::reflect::Reflect;

/// A trait of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Reflect)]
pub enum EngineTrait {
    /// Whatever its targets are, it touches no storage and no network.
    Pretends,
    /// It takes no time of the machine's processors.
    HasVirtualTime,
    /// The block layer counts each of its operations past the cache.
    CountedByBlockLayer,
    /// Its requests go past the block layer, which counts none of them for the program.
    PassesBlockLayer,
    /// It has one operation in flight in each worker, whatever is asked.
    OneAtATime,
    /// Buffered operations are done when the call that hands them over returns.
    SubmitsBufferedInline,
    /// It keeps a processor busy on purpose, or is no storage.
    KeepsProcessorBusy,
    /// It moves flows over a network, and counts what its connections do.
    MovesFlows,
    /// It exchanges the bytes of files with a peer.
    ExchangesFiles,
}

use EngineTrait::*;

/// Engines of records that do not say. It grows no more: an engine's own facts do.
const UNSAID: &[(&[&str], &[EngineTrait])] = &[
    (&["null"], &[Pretends, KeepsProcessorBusy]),
    (&["dummy", "sim"], &[Pretends, HasVirtualTime, KeepsProcessorBusy]),
    (&["psync", "pvsync", "sync"], &[CountedByBlockLayer, OneAtATime]),
    (&["pvsync2", "vsync", "io_uring", "posixaio"], &[CountedByBlockLayer]),
    (&["libaio"], &[CountedByBlockLayer, SubmitsBufferedInline]),
    (&["mmap", "splice"], &[OneAtATime]),
    (&["sg"], &[PassesBlockLayer]),
    (&["cpuio", "exec"], &[KeepsProcessorBusy]),
    (&["net"], &[KeepsProcessorBusy, ExchangesFiles]),
    (&["netsplice"], &[ExchangesFiles]),
    (&["socket"], &[MovesFlows]),
];

impl EngineTrait {
    /// What an engine of this name is known for, where nothing else says it.
    pub fn unsaid(engine: &str) -> &'static [EngineTrait] {
        let row = UNSAID.iter().find(|(names, _)| names.contains(&engine));
        row.map_or(&[], |(_, traits)| *traits)
    }
}

impl JobRecord {
    /// Whether its engine has a trait.
    pub fn engine_is(&self, asked: EngineTrait) -> bool {
        match &self.engine_traits {
            Some(traits) => traits.contains(&asked),
            None => EngineTrait::unsaid(&self.engine).contains(&asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_says_of_its_engine_counts_more_than_its_name() {
        let old = JobRecord { engine: "null".into(), ..JobRecord::default() };
        assert!(old.engine_is(Pretends) && !old.engine_is(OneAtATime));
        let new = JobRecord { engine_traits: Some(vec![OneAtATime]), ..old };
        assert!(new.engine_is(OneAtATime) && !new.engine_is(Pretends));
    }
}
