//! What a run measured, and what follows from it on both sides: the figures that every form of report is written from.

use iodyno_model::{Histogram, JobRecord, Level, PhaseRecord, Record, Sighting};

use crate::conversation::fact_of;

/// What one end counted of a run of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunFigures {
    pub(super) elapsed_s: f64,
    /// Operations that succeeded: sends, receives or transactions.
    pub(super) operations: u64,
    pub(super) bytes: u64,
    pub(super) failed: u64,
    /// Calls that moved data.
    pub(super) calls: u64,
    /// Of TCP; none: the kernel does not tell.
    pub(super) retransmits: Option<u64>,
    pub(super) mss: u64,
    pub(super) cpu: Option<Cpu>,
    pub(super) latency: Histogram,
    /// Why it failed, if it did.
    pub(super) failure: Option<String>,
}

/// The use of a host's processors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cpu {
    pub(super) used_percent: f64,
    pub(super) user_percent: f64,
    pub(super) system_percent: f64,
    pub(super) iowait_percent: f64,
    pub(super) irq_percent: f64,
    pub(super) softirq_percent: f64,
    pub(super) count: u32,
    pub(super) peak_percent: f64,
    pub(super) peak: u32,
}

/// What a phase has counted so far: operations and bytes.
pub(super) fn so_far(phase: &PhaseRecord) -> (u64, u64) {
    let jobs = || phase.jobs.iter();
    (jobs().map(|job| job.tally.all_operations()).sum(), jobs().map(bytes).sum())
}

fn bytes(job: &JobRecord) -> u64 {
    fact_of(job, "bytes").unwrap_or(0).max(job.tally.all_bytes())
}

impl RunFigures {
    /// From the record of a run.
    pub(super) fn of(record: &Record) -> Self {
        let errors = || record.errors.iter().filter(|error| error.level == Level::Error);
        let failure = errors().map(|error| error.message.clone()).next();
        let Some((phase, job)) = record.phases.last().and_then(|phase| Some((phase, phase.jobs.first()?)))
        else {
            let failure = failure.or_else(|| Some("the run did not begin".into()));
            return RunFigures { failure, ..RunFigures::default() };
        };
        let operations = job.tally.all_operations();
        let mut latency = Histogram::default();
        job.tally.lines.iter().for_each(|line| latency.merge(&line.latency));
        let ended_ns = job.workers.iter().map(|worker| worker.ended_ns).max().unwrap_or(phase.elapsed_ns);
        let began_ns = job.workers.iter().map(|worker| worker.began_ns).min().unwrap_or(0);
        RunFigures {
            elapsed_s: ended_ns.saturating_sub(began_ns).max(1) as f64 / 1e9,
            operations,
            bytes: bytes(job),
            failed: job.tally.failed(),
            // Several datagrams may come with one call; netperf's messages are datagrams.
            calls: ["datagrams", "blocks"]
                .iter()
                .find_map(|name| fact_of(job, name).filter(|calls| *calls > 0))
                .unwrap_or(operations),
            retransmits: retransmits(phase, job),
            mss: connections(phase).map(|seen| u64::from(seen.mss)).max().unwrap_or(0),
            cpu: cpu(phase),
            latency,
            failure: job.workers.iter().find_map(|worker| worker.failure.clone()).or(failure),
        }
    }
}

fn connections(phase: &PhaseRecord) -> impl Iterator<Item = &iodyno_model::sighting::ConnectionActivity> {
    phase.sightings.iter().filter_map(|seen| match seen {
        Sighting::Connection(activity) => Some(&**activity),
        _ => None,
    })
}

fn retransmits(phase: &PhaseRecord, job: &JobRecord) -> Option<u64> {
    fact_of(job, "retransmits")
        .or_else(|| connections(phase).map(|seen| seen.retransmits).reduce(|a, b| a + b))
}

fn cpu(phase: &PhaseRecord) -> Option<Cpu> {
    phase.sightings.iter().find_map(|seen| match seen {
        Sighting::Cpu { user_percent, system_percent, iowait_percent, cpus, .. } => {
            let used = (user_percent + system_percent).clamp(0.0, 100.0);
            Some(Cpu {
                used_percent: used,
                user_percent: *user_percent,
                system_percent: *system_percent,
                iowait_percent: *iowait_percent,
                irq_percent: 0.0,
                softirq_percent: 0.0,
                count: *cpus,
                peak_percent: used,
                peak: 0,
            })
        }
        _ => None,
    })
}

/// One end of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EndFigures {
    /// Buffers of its socket, bytes: asked for (-1: nothing), at first, at the end.
    pub(super) send_buffer: (i64, i64, i64),
    pub(super) receive_buffer: (i64, i64, i64),
    /// Bytes of a send and of a receive.
    pub(super) send_size: i64,
    pub(super) receive_size: i64,
    pub(super) cpu: Option<Cpu>,
    /// µs of processors for a KiB or a transaction; -1: not measured.
    pub(super) demand: f64,
    /// Width of the interval of the use of processors, percent; negative: not measured.
    pub(super) confidence: f64,
    /// -1: not known.
    pub(super) retransmits: i64,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) send_calls: u64,
    pub(super) receive_calls: u64,
    pub(super) failed: u64,
    pub(super) align: (i64, i64),
    pub(super) offset: (i64, i64),
    pub(super) nodelay: bool,
    pub(super) cork: bool,
    pub(super) tos: Option<u32>,
    pub(super) priority: Option<u32>,
    pub(super) congestion: String,
    pub(super) fill: String,
    pub(super) processor: Option<u32>,
    /// Operations in a burst and µs between bursts.
    pub(super) interval: (u32, u64),
}

impl EndFigures {
    /// How its processors were measured: S for `/proc/stat`, U for not at all.
    pub(super) fn method(&self) -> char {
        if self.cpu.is_some() { 'S' } else { 'U' }
    }

    /// Works out the service demand: µs of processors for each unit of work.
    pub(super) fn demands(&mut self, units: f64, elapsed_s: f64) {
        self.demand = match &self.cpu {
            Some(cpu) if units > 0.0 => {
                cpu.used_percent / 100.0 * f64::from(cpu.count) * elapsed_s * 1e6 / units
            }
            _ => -1.0,
        };
    }
}

/// How sure a result is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Confidence {
    /// 95 or 99; 0: not asked for.
    pub(super) level: u32,
    /// The width that was wanted, as a share; -1: not asked for.
    pub(super) target: f64,
    pub(super) runs: u32,
    /// Widths that were found, percent: of the result, our processors, netserver's. -1: not known.
    pub(super) widths: [f64; 3],
    /// Whether they were narrow enough; true where nothing was asked.
    pub(super) attained: bool,
}

impl Default for Confidence {
    fn default() -> Self {
        Confidence { level: 0, target: -1.0, runs: 1, widths: [-1.0; 3], attained: true }
    }
}

/// Everything that a report may say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReportFigures {
    pub(super) udp: bool,
    pub(super) sctp: bool,
    pub(super) direction: &'static str,
    pub(super) local: EndFigures,
    pub(super) remote: EndFigures,
    pub(super) elapsed_s: f64,
    /// In `units`.
    pub(super) throughput: f64,
    pub(super) units: String,
    /// Transactions; none: bytes are what counts.
    pub(super) transactions: Option<u64>,
    /// Bytes of a request and of its response; -1: there are none.
    pub(super) request: i64,
    pub(super) response: i64,
    pub(super) burst: u32,
    pub(super) latency: Histogram,
    pub(super) mss: i64,
    pub(super) confidence: Confidence,
    pub(super) brand: String,
    pub(super) uuid: String,
    pub(super) line: String,
    pub(super) source: String,
    pub(super) source_named: bool,
    pub(super) destination: String,
    /// 2 or 10, as the system numbers them.
    pub(super) family: u32,
    /// The letter that was asked for.
    pub(super) letter: Option<char>,
}

impl ReportFigures {
    /// Transactions a second; 1 where there are none, as netperf has it.
    pub(super) fn transaction_rate(&self) -> f64 {
        self.transactions.map_or(1.0, |count| count as f64 / self.elapsed_s.max(1e-9))
    }

    /// The mean time from a request to its response, µs; -1 where there are none.
    pub(super) fn round_trip_us(&self) -> f64 {
        match self.transactions {
            Some(count) if count > 0 => 1e6 * f64::from(self.burst + 1) / self.transaction_rate(),
            _ => -1.0,
        }
    }

    /// Rates of the bytes that an end sent and received.
    pub(super) fn rates(&self, end: &EndFigures) -> (f64, f64) {
        self.throughput_of(end.sent, end.received)
    }

    /// Rates of bytes out and in, in the units of a stream.
    pub(super) fn throughput_of(&self, sent: u64, received: u64) -> (f64, f64) {
        let letter = self.letter.filter(|letter| *letter != 'x').unwrap_or('m');
        (rate(sent, self.elapsed_s, letter), rate(received, self.elapsed_s, letter))
    }
}

/// Bytes in a time, in the units of a letter.
pub(super) fn rate(bytes: u64, elapsed_s: f64, letter: char) -> f64 {
    let per_second = bytes as f64 / elapsed_s.max(1e-9);
    match letter {
        'G' => per_second / f64::from(1 << 30),
        'M' => per_second / f64::from(1 << 20),
        'K' => per_second / 1024.0,
        'g' => per_second * 8.0 / 1e9,
        'k' => per_second * 8.0 / 1e3,
        _ => per_second * 8.0 / 1e6,
    }
}

/// What the units of a letter are called, without the time.
pub(super) fn units(letter: char) -> &'static str {
    match letter {
        'G' => "GBytes",
        'M' => "MBytes",
        'K' => "KBytes",
        'g' => "10^9bits",
        'k' => "10^3bits",
        'x' => "Trans",
        _ => "10^6bits",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demand_is_processor_time_for_work() {
        // Both of two processors for a second, a gigabyte: 2 s for 976,562.5 KiB.
        let cpu = Cpu { used_percent: 100.0, count: 2, ..Cpu::default() };
        let mut side = EndFigures { cpu: Some(cpu), ..EndFigures::default() };
        side.demands(1e9 / 1024.0, 1.0);
        assert!((side.demand - 2.048).abs() < 1e-9);
        side.cpu = None;
        side.demands(1.0, 1.0);
        assert_eq!((side.demand, side.method()), (-1.0, 'U'));
    }

    #[test]
    fn rates_have_the_units_of_their_letter() {
        let of = |letter| rate(1 << 30, 1.0, letter);
        assert_eq!((of('G'), of('M'), of('K')), (1.0, 1024.0, 1_048_576.0));
        assert!((of('m') - 8589.934592).abs() < 1e-6 && (of('g') - 8.589934592).abs() < 1e-9);
    }
}
