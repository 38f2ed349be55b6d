//! A test as one side knows it: what was agreed, its streams, how far it has come, and what both sides counted.
//!
//! Client and server share it; their output format (`text`, `document`) reads it. It talks to nobody.

use iodyno_model::conversation::{Connection, Ends};
use iodyno_model::{PhaseRecord, Record};

use super::lower;
use super::meter::{Course, Interval, StreamCounters, Total, looks};
use super::results::{StreamResults, TestResults};
use super::settings::Params;

const SECOND_NS: f64 = 1e9;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestStream {
    pub connection: Connection,
    /// 1, 3, 4, 5, … in the order in which they were made.
    pub id: u32,
    /// Its place among those of its direction.
    pub index: u32,
    /// Whether this side sends.
    pub sends: bool,
    /// Both ends.
    pub ends: Ends,
}

/// The id of the stream that is made as number `made`, from 0: there is no 2.
pub fn id(made: u32) -> u32 {
    if made == 0 { 1 } else { made + 2 }
}

/// One end's figures of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamFigures {
    pub bytes: u64,
    /// s.
    pub seconds: f64,
    /// Packets, without what was omitted.
    pub packets: i64,
    /// Of these lost.
    pub lost: i64,
    pub jitter_ms: f64,
    /// Segments sent again; none: not known.
    pub retransmits: Option<i64>,
}

impl StreamFigures {
    /// Bits per second.
    pub fn rate(&self) -> f64 {
        rate(self.bytes, self.seconds)
    }
}

/// Bits per second.
pub fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

/// A share in percent.
pub fn percent(part: i64, whole: i64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 * 100.0 } else { 0.0 }
}

#[derive(Clone, Debug, Default)]
pub struct TestRun {
    /// Which side this is.
    pub server: bool,
    /// What was agreed.
    pub params: Params,
    /// In the order in which they were made.
    pub streams: Vec<TestStream>,
    /// Its name.
    pub cookie: String,
    /// What is sent or written, and how long it is (0: not known).
    pub file: Option<(String, u64)>,
    /// The control connection.
    pub control: Ends,
    /// The host and port that the client named.
    pub goal: (String, u16),
    /// When it began, ns since 1970.
    pub began_unix_ns: u64,
    /// Seconds between reports.
    pub interval_s: f64,
    /// What was reported so far.
    pub intervals: Vec<Interval>,
    /// Each stream, at the end.
    pub totals: Vec<Total>,
    /// How long it was, without what was omitted, s.
    pub seconds: f64,
    /// Percent of one processor: all, user, system.
    pub cpu: [f64; 3],
    /// The other side's answer.
    pub peer: Option<TestResults>,
    /// How far it has come.
    pub course: Course,
    /// Each stream's counters at the last interim event.
    pub looks: Vec<StreamCounters>,
}

impl TestRun {
    /// Makes it ready for its run.
    pub fn begin(&mut self) {
        let interval_ns = (self.interval_s * SECOND_NS) as u64;
        let omit_ns = self.params.omit_s * 1_000_000_000;
        let timed = !self.server && !self.params.is_counted() && self.params.time_s > 0;
        let end_ns = timed.then_some(omit_ns + self.params.time_s * 1_000_000_000);
        let sends = self.streams.iter().map(|stream| stream.sends).collect();
        self.course = Course::new(omit_ns, interval_ns, end_ns, sends);
        self.looks = vec![StreamCounters::default(); self.streams.len()];
    }

    /// How often the run is to tell how it stands, ns: a divisor of what is reported, and more often where an amount
    /// ends it on the other side.
    pub fn interim_ns(&self) -> u64 {
        let interval_ms = (self.interval_s * 1000.0).round() as u64;
        let omit_ms = self.params.omit_s * 1000;
        let mut every_ms = if interval_ms == 0 { 1000 } else { interval_ms };
        if omit_ms > 0 {
            every_ms = divisor(every_ms, omit_ms);
        }
        if self.awaits_amount() {
            every_ms = divisor(every_ms, 20);
        }
        every_ms.max(10) * 1_000_000
    }

    /// Whether its end is when so much has come as the other side was to send.
    pub fn awaits_amount(&self) -> bool {
        self.params.is_counted() && (self.server || self.streams.iter().any(|stream| !stream.sends))
    }

    /// What came or went in a direction so far, what was omitted taken off.
    pub fn moved(&self, sends: bool) -> u64 {
        let streams = self.streams.iter().zip(&self.looks).filter(|(stream, _)| stream.sends == sends);
        streams
            .map(|(_, look)| look.bytes.saturating_sub(if self.params.omit_s > 0 { look.ramp[0] } else { 0 }))
            .sum()
    }

    /// How it stands now; the intervals that have ended.
    pub fn interim(&mut self, phase: &PhaseRecord) -> Vec<Interval> {
        self.looks = looks(phase, &self.names());
        let ended = self.course.advance(&self.looks, phase.elapsed_ns);
        self.intervals.extend(ended.iter().cloned());
        ended
    }

    /// Its end; the last interval. `cut_ns` is when the last of it came or the other side ended the test, ns after
    /// the start line: what the run took to stop is none of the test's time.
    ///
    /// # Errors
    /// Why it never began.
    pub fn end(&mut self, record: &Record, cut_ns: Option<u64>) -> Result<Vec<Interval>, String> {
        let Some(phase) = record.phases.first() else {
            let why =
                record.errors.first().map_or("the run did not begin".into(), |error| error.message.clone());
            return Err(why);
        };
        self.looks = looks(phase, &self.names());
        let last_ns = self.looks.iter().map(|look| look.ended_ns).max();
        let own_ns = last_ns.filter(|ns| self.params.is_counted() && *ns > 0);
        let at_ns =
            cut_ns.or(own_ns).unwrap_or(phase.elapsed_ns).min(phase.elapsed_ns).max(self.course.last_ns());
        let ended = self.course.finish(&self.looks, at_ns);
        self.intervals.extend(ended.iter().cloned());
        let omit_ns = self.params.omit_s * 1_000_000_000;
        self.seconds = at_ns.saturating_sub(omit_ns) as f64 / SECOND_NS;
        self.totals = self.course.totals(&self.looks);
        self.cpu = cpu(&self.looks, phase.elapsed_ns);
        Ok(ended)
    }

    /// Why a stream failed, if one did.
    pub fn failure(&self) -> Option<&str> {
        self.looks.iter().find_map(|look| look.failure.as_deref())
    }

    /// Why nothing was moved at all, if a stream could not begin: a file that cannot be had.
    pub fn obstacle(&self) -> Option<String> {
        let moved = self.looks.iter().any(|look| look.bytes > 0);
        self.failure().filter(|_| !moved).map(String::from)
    }

    fn names(&self) -> Vec<String> {
        self.streams.iter().map(lower::name).collect()
    }

    /// What this side says it counted.
    pub fn results(&self) -> TestResults {
        let sends = self.streams.iter().any(|stream| stream.sends);
        let stream = |(stream, total): (&TestStream, &Total)| StreamResults {
            id: stream.id.into(),
            bytes: total.bytes,
            retransmits: if stream.sends && self.params.is_tcp() { total.retransmits as i64 } else { -1 },
            jitter_s: total.jitter_ms / 1e3,
            lost: total.lost as i64,
            omitted_lost: total.omitted_lost as i64,
            packets: total.packets as i64,
            omitted_packets: total.omitted_packets as i64,
            seconds: self.seconds,
            overflow: total.overflow,
        };
        TestResults {
            cpu: self.cpu,
            has_retransmits: if sends { i64::from(self.params.is_tcp()) } else { -1 },
            congestion: self.congestion(),
            server_output: None,
            streams: self.streams.iter().zip(&self.totals).map(stream).collect(),
        }
    }

    /// Its own congestion control.
    pub fn congestion(&self) -> String {
        if self.params.udp {
            return String::new();
        }
        let seen = self.totals.iter().map(|total| total.congestion.as_str()).find(|name| !name.is_empty());
        let stood = self.streams.first().map_or("", |stream| &stream.ends.socket.congestion);
        seen.unwrap_or(stood).to_string()
    }

    /// A stream's sender: its own figures, or the peer's; none: neither is known.
    pub fn sent(&self, at: usize) -> Option<StreamFigures> {
        self.side(at, self.streams[at].sends, true)
    }

    /// The same of its receiver.
    pub fn received(&self, at: usize) -> Option<StreamFigures> {
        self.side(at, !self.streams[at].sends, false)
    }

    fn side(&self, at: usize, own: bool, sends: bool) -> Option<StreamFigures> {
        if own {
            let total = self.totals.get(at)?;
            return Some(StreamFigures {
                bytes: total.bytes,
                seconds: self.seconds,
                packets: total.packets as i64 - total.omitted_packets as i64,
                lost: if sends { 0 } else { total.lost as i64 - total.omitted_lost as i64 },
                jitter_ms: if sends { 0.0 } else { total.jitter_ms },
                retransmits: (sends && self.params.is_tcp()).then_some(total.retransmits as i64),
            });
        }
        let told = self.peer.as_ref()?.stream(self.streams[at].id)?;
        let own = self.totals.get(at)?;
        // A peer that tells nothing of what it omitted counted as many as this side omitted.
        let tells = told.omitted_packets > 0 || self.params.omit_s == 0;
        let omitted = if tells { told.omitted_packets } else { own.omitted_packets as i64 };
        Some(StreamFigures {
            bytes: told.bytes,
            seconds: if told.seconds > 0.0 { told.seconds } else { self.seconds },
            packets: (told.packets - omitted).max(0),
            lost: if sends { 0 } else { told.lost - told.omitted_lost },
            jitter_ms: if sends { 0.0 } else { told.jitter_s * 1e3 },
            retransmits: (sends && self.params.is_tcp() && told.retransmits >= 0).then_some(told.retransmits),
        })
    }

    /// The file of a stream as far as it has come: its name, what was sent and received of it, how long it is.
    pub fn file_of(&self, at: usize) -> Option<(&str, u64, u64, u64)> {
        let (name, known) = self.file.as_ref()?;
        let (sent, received) =
            (self.sent(at).map_or(0, |side| side.bytes), self.received(at).map_or(0, |side| side.bytes));
        let own = if self.streams[at].sends { sent } else { received };
        Some((name, sent, received, if *known > 0 { *known } else { own }))
    }

    /// The streams of a direction: `true`, from client to server.
    pub fn group(&self, from_client: bool) -> Vec<usize> {
        let of = |stream: &TestStream| (stream.sends != self.server) == from_client;
        (0..self.streams.len()).filter(|at| of(&self.streams[*at])).collect()
    }

    /// Both directions that there are; that from the client first.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        [true, false].into_iter().map(|side| self.group(side)).filter(|group| !group.is_empty()).collect()
    }
}

/// Several streams together: the longest time, the mean jitter.
pub fn sum(sides: &[StreamFigures]) -> StreamFigures {
    let mut sum = StreamFigures::default();
    for side in sides {
        sum.bytes = sum.bytes.saturating_add(side.bytes);
        sum.seconds = sum.seconds.max(side.seconds);
        sum.packets += side.packets;
        sum.lost += side.lost;
        sum.jitter_ms += side.jitter_ms / sides.len() as f64;
        sum.retransmits = match (sum.retransmits, side.retransmits) {
            (Some(all), Some(more)) => Some(all + more),
            (all, more) => all.or(more),
        };
    }
    sum
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

fn cpu(looks: &[StreamCounters], elapsed_ns: u64) -> [f64; 3] {
    let share = |which: usize| {
        let ns: u64 = looks.iter().map(|look| look.cpu_ns[which]).sum();
        if elapsed_ns == 0 { 0.0 } else { ns as f64 / elapsed_ns as f64 * 100.0 }
    };
    let (user, system) = (share(0), share(1));
    [user + system, user, system]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_numbered_as_the_originals() {
        assert_eq!((0..4).map(id).collect::<Vec<_>>(), [1, 3, 4, 5]);
    }

    #[test]
    fn interims_divide_what_is_reported() {
        let test = |interval_s, omit_s, bytes, server| {
            let params = Params { omit_s, bytes, parallel: 1, block_bytes: 1, ..Params::default() };
            TestRun { params, interval_s, server, ..TestRun::default() }.interim_ns() / 1_000_000
        };
        assert_eq!(
            (test(1.0, 0, 0, false), test(1.5, 1, 0, false), test(0.0, 3, 0, true)),
            (1000, 500, 1000)
        );
        assert_eq!((test(1.0, 0, 5, true), test(0.25, 0, 5, true)), (20, 10));
    }
}
