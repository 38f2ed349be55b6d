//! What that which was seen from outside means for the result.
//!
//! A [`Sighting`](crate::Sighting) is a fact without opinion; a [`Finding`] is the opinion, with the figures that prove it.
//! The crate `truth` turns one into the other. A finding that has no figure is not a finding.

use crate::Remedy;
use crate::reflect::{Composite, Reflect};

/// How much a finding spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Reflect)]
pub enum Severity {
    /// Worth knowing; the figure stands.
    Note,
    /// The figure may not be what it seems.
    Doubtful,
    /// The figure is not what was asked for.
    Invalid,
}

macro_rules! kinds {
    ($($number:literal $kind:ident $about:literal;)*) => {
        /// The known findings. A number and a name stay what they are: scripts and kept records hold them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Reflect)]
        pub enum FindingKind {
            $(#[doc = $about] $kind,)*
        }

        impl FindingKind {
            /// All of them, by number.
            pub const ALL: &'static [FindingKind] = &[$(FindingKind::$kind,)*];

            /// Its number in the list of known lies.
            pub fn number(self) -> u8 {
                match self {
                    $(FindingKind::$kind => $number,)*
                }
            }

            /// What it is about, in a few words.
            pub fn about(self) -> &'static str {
                match self {
                    $(FindingKind::$kind => $about,)*
                }
            }
        }
    };
}

kinds! {
    1 CachedReads "reads from the page cache";
    2 UnflushedWrites "writes left in memory";
    3 UnwrittenReads "reads of what was never written";
    4 ReducibleData "data that is not stored as it is";
    5 DeviceCacheReads "reads from a cache of the device";
    6 FewSamples "a percentile of few samples";
    7 UnsteadyRate "an unsteady rate";
    8 FallingRate "a rate that fell for good";
    9 CoordinatedOmission "latency without the lateness";
    10 GeneratorBound "a load generator at its limit";
    11 SharedMachine "a machine shared with other load";
    12 SharedDevice "a device that others used, too";
    13 DepthNotReached "a depth that was not reached";
    14 UnevenWorkers "workers far apart";
    15 UnreliableClock "a clock that cannot tell";
    16 WriteAmplification "a device that moved more than asked";
    17 IneffectiveFlushes "flushes that cost nothing";
    18 NetworkBound "a network at its limit";
    19 ReshapedRequests "requests that are not the operations";
    20 FailedOperations "failed operations";
    21 CachedNames "names from memory";
    22 DisguisedTarget "a target that is not what it seems";
    23 ShortPhase "a phase too short";
    24 BelowPeak "not the peak";
    25 ShortStroke "a short stroke";
    26 LatencySpikes "spikes of latency";
    27 SmallReceiveBuffer "a receive buffer too small";
    28 ProcessorBound "a processor at its limit";
    29 BurstLoss "loss from bursts";
    30 SmallWindow "a window too small";
    31 SharedFile "one shared file";
    32 ImplausibleRate "more than the way to the storage carries";
    33 LateReplay "a replay that came late";
    34 StoreThrottled "a store that turned requests away";
    35 CrowdedShard "one shard of a store at its limit";
    36 HiddenRetries "retries that nobody counted";
    37 CachedAnswers "answers of a cache before the store";
    38 FreshConnections "a connection for each request";
    39 UncheckedContent "content that nobody checked";
    40 SmallParts "an upload in small parts";
    41 StarvedAccelerators "accelerators that waited for data";
}

impl FindingKind {
    /// The finding of this number, if it is known.
    pub fn numbered(number: u8) -> Option<FindingKind> {
        FindingKind::ALL.iter().copied().find(|kind| kind.number() == number)
    }

    /// Its stable name.
    pub fn name(self) -> &'static str {
        word(&self)
    }
}

/// The word that a record holds for an enum's value.
fn word(value: &dyn Composite) -> &'static str {
    value.table().words[value.variant()]
}

/// What a sighting means for a result.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Finding {
    /// Its number in the list of known lies, 1 to 41.
    pub code: u8,
    /// Its stable name; records of before have none.
    #[reflect(omit_empty)]
    pub kind: Option<FindingKind>,
    /// How much it spoils.
    pub severity: Severity,
    /// The phase it concerns.
    pub phase: String,
    /// The job it concerns, if one.
    #[reflect(default)]
    pub job: Option<String>,
    /// What is the matter, one sentence.
    pub sentence: String,
    /// The figures that prove it, at least one.
    pub figures: Vec<Figure>,
    /// What to do, with the exact option.
    pub advice: String,
    /// What to do, by its stable name; records of before have none.
    #[reflect(omit_empty)]
    pub remedy: Option<Remedy>,
    /// The number of the finding of the same run that explains it; none: it stands for itself.
    #[reflect(omit_empty)]
    pub explained_by: Option<u8>,
}

impl Finding {
    /// A finding about a phase, with nothing to do about it yet.
    pub fn new(
        kind: FindingKind,
        severity: Severity,
        phase: String,
        sentence: String,
        figures: Vec<Figure>,
    ) -> Self {
        Finding {
            code: kind.number(),
            kind: Some(kind),
            severity,
            phase,
            job: None,
            sentence,
            figures,
            advice: String::new(),
            remedy: None,
            explained_by: None,
        }
    }

    /// Its kind; none: this program does not know its number.
    pub fn kind(&self) -> Option<FindingKind> {
        self.kind.or_else(|| FindingKind::numbered(self.code))
    }

    /// What to do; in records of before, by the plan's words for it.
    pub fn remedy(&self) -> Option<Remedy> {
        self.remedy.or_else(|| Remedy::worded(&self.advice))
    }
}

/// A number with its name and unit.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit: `%`, `bytes`, `ns`, `1/s`, or nothing.
    pub unit: String,
}

impl Figure {
    /// A figure.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Figure { name: name.into(), value, unit: unit.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_run_from_1_to_41_and_names_are_words() {
        let numbers: Vec<u8> = FindingKind::ALL.iter().map(|kind| kind.number()).collect();
        assert_eq!(numbers, (1..=41).collect::<Vec<u8>>());
        assert_eq!(FindingKind::numbered(11).map(FindingKind::name), Some("shared_machine"));
        assert_eq!(FindingKind::numbered(42), None);
    }
}
