//! One stream of a test: which way it goes, what it has moved, and what its run said of it.
//!
//! It knows no protocol and prints nothing. What the control protocol itself took off the wire or put on it is counted
//! with what the run moved.

use iodyno_model::conversation::{Connection, Ends, RunNumber};
use iodyno_model::{Histogram, PhaseRecord, Sighting};

use super::bounceback;
use super::bounceback::Bounce;
use super::header::{Amount, TestHeader};
use crate::conversation::fact;

/// In a group, before the number of a connection that is used both ways.
pub const BOTH_WAYS: &str = " FD";

/// What was moved, since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    pub bytes: u64,
    /// Calls that moved something.
    pub calls: u64,
    /// Failed calls.
    pub errors: u64,
    pub datagrams: u64,
    /// Datagrams that came after one with a larger number.
    pub late: u64,
    /// Datagrams that came twice.
    pub duplicates: u64,
    /// Datagrams that found the receive buffer full.
    pub overflow: u64,
    /// The largest number of a datagram, or that of the sender at its end.
    pub highest: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Of datagrams, ns; not a count.
    pub jitter_ns: u64,
    /// Congestion window, bytes; not a count.
    pub cwnd_bytes: u64,
    /// Round-trip time and its variation, µs; not counts.
    pub rtt_us: (u32, u32),
    /// Reads by their length, in eighths of a block.
    pub reads: [u64; 8],
    pub one_way: OneWay,
    /// Bursts of which something came, and of which nothing did.
    pub bursts: u64,
    pub bursts_lost: u64,
    /// When the slowest one was complete, µs since 1970; not a count.
    pub slowest_unix_us: u64,
}

/// Times of a stream, by their length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// Of messages there and back, or of frames until they were sent.
    pub trips: Histogram,
    /// Of datagrams on their way.
    pub transits: Histogram,
    /// Of bursts on their way.
    pub bursts: Histogram,
}

impl Times {
    /// Since an earlier state.
    pub fn since(&self, earlier: &Times) -> Times {
        Times {
            trips: bounceback::since(&self.trips, &earlier.trips),
            transits: bounceback::since(&self.transits, &earlier.transits),
            bursts: bounceback::since(&self.bursts, &earlier.bursts),
        }
    }
}

/// How long datagrams were on their way, by the clocks of both hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneWay {
    pub count: u64,
    pub sum_ns: u64,
    /// The shortest and the longest since the beginning, ns; not counts.
    pub extremes_ns: (u64, u64),
    /// The sum of the squares of their µs.
    pub squares_us: u64,
}

impl OneWay {
    /// ns; none: nothing is known.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Of the sample, ns.
    pub fn deviation_ns(&self) -> f64 {
        let (count, sum_us) = (self.count as f64, self.sum_ns as f64 / 1000.0);
        let squares = self.squares_us as f64 - sum_us * sum_us / count.max(1.0);
        1000.0 * (squares.max(0.0) / (count - 1.0).max(1.0)).sqrt()
    }
}

impl StreamCounts {
    /// Of a job of a record, cumulative.
    pub fn of(found: &PhaseRecord, job: usize) -> Self {
        let mut counts = StreamCounts::default();
        for worker in found.jobs.get(job).iter().flat_map(|job| &job.workers) {
            let fact = |name: &str| fact(&worker.facts, name);
            let sum = |name: &str| fact(name).unwrap_or(0);
            counts.bytes += fact("bytes").unwrap_or(worker.bytes);
            counts.calls += fact("blocks").unwrap_or(worker.operations);
            counts.errors += worker.errors;
            counts.datagrams += sum("datagrams");
            counts.late += sum("late");
            counts.duplicates += sum("duplicates");
            counts.overflow += sum("overflow");
            counts.highest = counts.highest.max(sum("highest")).max(sum("final"));
            counts.jitter_ns = counts.jitter_ns.max(sum("jitter_ns"));
            counts.retransmits += sum("retransmits");
            counts.one_way.count += sum("transits");
            counts.one_way.sum_ns += sum("transit_ns");
            counts.one_way.squares_us += sum("transit_squares");
            counts.one_way.extremes_ns = (sum("transit_least_ns"), sum("transit_most_ns"));
            counts.bursts += sum("bursts");
            counts.bursts_lost += sum("bursts_lost");
            counts.slowest_unix_us = counts.slowest_unix_us.max(sum("slowest_unix_us"));
            for (bin, reads) in counts.reads.iter_mut().enumerate() {
                *reads += sum(&format!("reads_{}", bin + 1));
            }
        }
        for sighting in &found.sightings {
            let Sighting::Connection(seen) = sighting else { continue };
            if seen.job == job {
                counts.retransmits = counts.retransmits.max(seen.retransmits);
                counts.cwnd_bytes = seen.cwnd_bytes;
                counts.rtt_us = (seen.rtt_us, seen.rtt_variation_us);
            }
        }
        counts
    }

    /// With what was moved before the run.
    pub fn plus(self, before: &StreamCounts) -> Self {
        let highest = self.highest.max(before.highest);
        StreamCounts { highest, ..self.with(before, u64::saturating_add) }
    }

    /// Since an earlier state.
    pub fn since(self, earlier: &StreamCounts) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    /// Each count with another's.
    fn with(self, other: &StreamCounts, of: fn(u64, u64) -> u64) -> Self {
        StreamCounts {
            bytes: of(self.bytes, other.bytes),
            calls: of(self.calls, other.calls),
            errors: of(self.errors, other.errors),
            datagrams: of(self.datagrams, other.datagrams),
            late: of(self.late, other.late),
            duplicates: of(self.duplicates, other.duplicates),
            overflow: of(self.overflow, other.overflow),
            highest: of(self.highest, other.highest),
            retransmits: of(self.retransmits, other.retransmits),
            one_way: OneWay {
                count: of(self.one_way.count, other.one_way.count),
                sum_ns: of(self.one_way.sum_ns, other.one_way.sum_ns),
                squares_us: of(self.one_way.squares_us, other.one_way.squares_us),
                ..self.one_way
            },
            bursts: of(self.bursts, other.bursts),
            bursts_lost: of(self.bursts_lost, other.bursts_lost),
            reads: std::array::from_fn(|bin| of(self.reads[bin], other.reads[bin])),
            ..self
        }
    }

    /// Datagrams that were sent and did not come.
    pub fn lost(&self) -> u64 {
        self.highest.saturating_sub(self.datagrams.saturating_sub(self.duplicates))
    }
}

/// How far a stream has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamState {
    /// It is being connected, for the n-th time.
    Opening(u32),
    /// The peer's first bytes are awaited.
    Header,
    /// It stands, and waits for the others.
    Standing,
    /// Its run runs.
    Running,
    /// Its peer sends nothing: there is no run until something comes.
    Paused,
    /// The run is over; the peer's last word is awaited.
    Closing,
    /// Its result was printed.
    #[default]
    Done,
}

#[derive(Debug, Default)]
pub struct TestStream {
    /// Its number in reports.
    pub id: u32,
    pub connection: Connection,
    /// Its ends; of a way back that is being opened, the peer's, where it is tried.
    pub ends: Ends,
    /// Whether we send.
    pub sends: bool,
    /// Whether it goes against the usual way: its number has a star.
    pub starred: bool,
    /// Streams of one test have one: the peer's address. Both ways of one connection have one of their own, behind [`BOTH_WAYS`].
    pub group: String,
    /// How far it has come.
    pub state: StreamState,
    pub since_ns: u64,
    /// Its run, and which of its jobs it is.
    pub run: Option<(RunNumber, usize)>,
    /// Its run was stopped only because the peer sends nothing.
    pub pauses: bool,
    /// Bytes that must come before a paused stream has a run.
    pub awaited_bytes: usize,
    /// The header that the peer sent.
    pub test: Option<TestHeader>,
    /// Its messages come back.
    pub bounce: Option<Bounce>,
    /// Of a server: when the first of them came, ns since 1970, and when it goes back, ns; none: it has not come.
    pub came_unix_ns: u64,
    pub due_ns: Option<u64>,
    /// Its times up to now, and up to the last row.
    pub times: Times,
    pub reported_times: Times,
    /// How long it took to connect, ns; 0: the peer did.
    pub connect_ns: u64,
    /// First bytes, as long as they may be a header.
    pub head: Vec<u8>,
    /// Until when it sends.
    pub amount: Amount,
    /// When its time began, ns.
    pub begun_ns: u64,
    /// From there to its run's start line, ns.
    pub offset_ns: u64,
    /// When its run passed the start line, ns.
    pub started_ns: u64,
    /// What was moved before the run.
    pub before: StreamCounts,
    /// What was moved up to now.
    pub now: StreamCounts,
    /// What was moved up to the last row.
    pub reported: StreamCounts,
    /// When the last row ended, ns after its time began.
    pub reported_ns: u64,
    /// Rows printed.
    pub rows: u64,
    /// Its total was printed.
    pub totalled: bool,
    /// How long it took, ns.
    pub lasted_ns: u64,
    /// Last datagrams sent.
    pub finals: u32,
    /// Bytes of a datagram that is received; 0: as counted.
    pub each_bytes: u64,
}

impl TestStream {
    /// A stream that begins.
    pub fn new(id: u32, connection: Connection, sends: bool, state: StreamState, at_ns: u64) -> Self {
        TestStream {
            id,
            connection,
            sends,
            state,
            since_ns: at_ns,
            begun_ns: at_ns,
            started_ns: at_ns,
            ..TestStream::default()
        }
    }

    /// Its next state.
    pub fn enter(&mut self, state: StreamState, at_ns: u64) {
        (self.state, self.since_ns) = (state, at_ns);
    }

    /// Whether its data flows, or may flow again.
    pub fn is_under_way(&self) -> bool {
        matches!(self.state, StreamState::Running | StreamState::Paused)
    }

    /// Whether its connection carries another stream the other way.
    pub fn is_duplex(&self) -> bool {
        self.test.is_some_and(|test| test.full_duplex)
    }

    /// Its test, whichever connection of it it is.
    pub fn test_group(&self) -> &str {
        self.group.split(BOTH_WAYS).next().unwrap_or_default()
    }

    /// Whether each of its bursts says when it was due: frames in datagrams, frames and blocks of a stream.
    pub fn has_bursts(&self, udp: bool) -> bool {
        let test = self.test.filter(|_| self.bounce.is_none());
        test.is_some_and(|test| test.has_bursts() && (!udp || test.period_us.is_some()))
    }

    /// Its number as reports show it.
    pub fn label(&self) -> String {
        format!("{}{}", if self.starred { "*" } else { "" }, self.id)
    }

    /// What its run has moved so far, and how long it took.
    pub fn update(&mut self, found: &PhaseRecord) {
        let Some((_, job)) = self.run else { return };
        self.now = StreamCounts::of(found, job).plus(&self.before);
        // The last one of a test is taken off the wire, and is no data.
        if self.each_bytes > 0 && !self.sends {
            self.now.bytes = self.now.datagrams * self.each_bytes;
        }
        self.times = Times::default();
        let is_timed =
            self.bounce.is_some() || self.sends && self.test.is_some_and(|test| test.period_us.is_some());
        if let Some(job) = found.jobs.get(job) {
            let lines = job.tally.lines.iter().filter(|_| is_timed);
            lines.for_each(|line| self.times.trips.merge(&line.latency));
            for (name, times) in job.workers.iter().flat_map(|worker| &worker.spreads) {
                let of = if name == "burst" { &mut self.times.bursts } else { &mut self.times.transits };
                of.merge(times);
            }
        }
        let workers = || found.jobs.get(job).iter().flat_map(|job| job.workers.clone()).collect::<Vec<_>>();
        let ended = workers().iter().map(|worker| worker.ended_ns).max().filter(|ended| *ended > 0);
        self.lasted_ns = self.offset_ns + ended.unwrap_or(found.elapsed_ns);
    }

    /// A datagram that the run did not see.
    pub fn count_datagram(&mut self, number: i64, bytes: usize) {
        let before = &mut self.before;
        before.highest = before.highest.max(number.unsigned_abs());
        // Frames end with shorter ones.
        self.each_bytes =
            if self.test.is_some_and(|test| test.period_us.is_some()) { 0 } else { bytes as u64 };
        if number > 0 {
            before.bytes += bytes as u64;
            before.datagrams += 1;
            before.calls += 1;
        }
        self.now = self.now.max_of(before);
    }
}

impl StreamCounts {
    fn max_of(self, other: &StreamCounts) -> StreamCounts {
        if self.datagrams >= other.datagrams && self.bytes >= other.bytes { self } else { *other }
    }
}
