//! One way of the data: its plan, its figures, and the message that carries them.

use iodyno_model::conversation::Connection;
use iodyno_model::{
    Content, Intent, Job, JobRecord, Level, Limit, Pattern, Payload, Phase, PhaseRecord, Pick, Plan, Record,
    Refresh, Setting, Verb, Workload,
};

use super::super::settings::KB;
use crate::conversation::{endpoint, fact_of};

/// Bytes of a message.
const MESSAGE_BYTES: usize = 1024;

/// How much goes each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    /// Bytes of a record.
    pub(super) record: u64,
    pub(super) count: u64,
}

impl Transfer {
    pub(super) fn bytes(self) -> u64 {
        self.record * self.count
    }

    /// A phase of it over the target of that number. `patience_ns`: how long its peer may take to be there; none: any time.
    pub(super) fn phase(self, name: &str, verb: Verb, target: usize, patience_ns: Option<u64>) -> Phase {
        let pattern = Pattern::of(verb, Pick::Stream, self.record);
        // The original's data are zeros.
        let content = Content::Pattern(vec![0]);
        let patience = patience_ns.map(|ns| Setting::new("peer_timeout_ms", ns / 1_000_000));
        let job = Job {
            limit: Limit { bytes: Some(self.bytes()), ..Limit::default() },
            settings: patience.into_iter().collect(),
            payload: Payload { content, refresh: Refresh::Once, ..Payload::default() },
            ..Job::new(name, "socket", vec![target], Workload::Pattern(Box::new(pattern)))
        };
        Phase { name: name.into(), jobs: vec![job], ..Phase::default() }
    }

    /// It to an address, or from whom a place of the conversation brings. They meet when all else is ready, so that the time
    /// of the transfer is from there on, as the original's.
    pub(super) fn plan(self, name: &str, way: &TransferEnd, patience_ns: Option<u64>) -> Box<Plan> {
        let (verb, target) = match way {
            TransferEnd::To(address) => (Verb::Send, endpoint(name, "tcp", address.clone(), false)),
            TransferEnd::From(place) => (Verb::Recv, endpoint(name, "connection", place.to_string(), true)),
        };
        let phases = vec![self.phase(name, verb, 0, patience_ns)];
        Box::new(Plan { targets: vec![target], phases, ..plan() })
    }

    /// What a run of it measured.
    ///
    /// # Errors
    /// Why it failed, or how much is missing.
    pub(super) fn speed(self, record: &Record) -> Result<Speed, String> {
        let phase = record.phases.last();
        let job = phase.and_then(|phase| phase.jobs.first());
        let mut workers = job.into_iter().flat_map(|job| &job.workers);
        let failure = workers.find_map(|worker| worker.failure.clone());
        let told = || record.errors.iter().find(|error| error.level == Level::Error);
        if let Some(failure) = failure.or_else(|| told().map(|error| error.message.clone())) {
            return Err(failure);
        }
        let Some(job) = job else { return Err("the transfer did not begin".into()) };
        match bytes(job) {
            some if some == self.bytes() => Ok(Speed::of(some, elapsed_ns(job))),
            some => Err(format!("{some} of {} bytes were moved", self.bytes())),
        }
    }
}

/// Whether anything of a transfer has moved.
pub(super) fn has_begun(phase: &PhaseRecord) -> bool {
    phase.jobs.iter().any(|job| bytes(job) > 0)
}

/// Where it goes, or whence it comes.
pub(super) enum TransferEnd {
    To(String),
    From(Connection),
}

/// A plan without anything to do.
pub(super) fn plan() -> Plan {
    Plan { name: "iozone".into(), seed: 1, intent: Intent::Network, ..Plan::default() }
}

fn bytes(job: &JobRecord) -> u64 {
    fact_of(job, "bytes").unwrap_or(0).max(job.tally.all_bytes())
}

fn elapsed_ns(job: &JobRecord) -> u64 {
    let began_ns = job.workers.iter().map(|worker| worker.began_ns).min().unwrap_or(0);
    let ended_ns = job.workers.iter().map(|worker| worker.ended_ns).max().unwrap_or(0);
    ended_ns.saturating_sub(began_ns).max(1)
}

/// How fast one way was, as one end saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    pub(super) kb: u64,
    /// kB each second.
    pub(super) rate: f64,
}

impl Speed {
    fn of(bytes: u64, elapsed_ns: u64) -> Speed {
        Speed { kb: bytes / KB, rate: bytes as f64 / KB as f64 / (elapsed_ns as f64 / 1e9) }
    }

    /// As a client tells its master.
    pub(super) fn message(self) -> Vec<u8> {
        let mut message = format!("{} {:.6}", self.kb, self.rate).into_bytes();
        message.resize(MESSAGE_BYTES, 0);
        message
    }

    /// From a client's message; behind the text there is whatever the original's buffer held.
    pub(super) fn read(message: &[u8]) -> Option<Speed> {
        let text = message.split(|byte| *byte == 0).next()?;
        let (kb, rate) = std::str::from_utf8(text).ok()?.trim_end().split_once(' ')?;
        let rate: f64 = rate.parse().ok()?;
        Some(Speed { kb: kb.parse().ok()?, rate }).filter(|_| rate.is_finite() && rate >= 0.0)
    }

    /// Whether a message is whole.
    pub(super) fn is_whole(message: &[u8]) -> bool {
        message.len() >= MESSAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_originals() {
        let speed = Speed { kb: 64, rate: 49_119.023_438 };
        assert_eq!(Speed::read(&speed.message()), Some(speed));
        assert!(speed.message().starts_with(b"64 49119.023438\0") && Speed::is_whole(&speed.message()));
        // What a captured one held behind its text.
        assert_eq!(Speed::read(b"64 49119.023438\0`\x0e\xd8\x9c\x17\x7f\0\0P"), Some(speed));
        for mangled in [&b""[..], b"\0", b"64", b"64 x\0", b"64 nan\0", b"64 -1\0", b"-1 3\0", b"\xff 1\0"] {
            assert_eq!(Speed::read(mangled), None, "{mangled:?}");
        }
    }

    #[test]
    fn a_rate_is_of_kb() {
        assert_eq!(Speed::of(64 << 10, 500_000_000), Speed { kb: 64, rate: 128.0 });
    }
}
