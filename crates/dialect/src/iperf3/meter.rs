//! What a run reports of its streams: counters of the engine's, turned into intervals and totals.
//!
//! Counters grow from the start line on; what was omitted is taken off where the engine says how much it was. It knows
//! nothing of what the peer counted.

use iodyno_model::{ConnectionActivity, PhaseRecord, Sighting, WorkerRecord};

use crate::conversation::fact;

/// One stream's counters at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamCounters {
    /// Bytes moved.
    pub bytes: u64,
    /// Datagrams sent or received.
    pub datagrams: u64,
    /// Datagrams missing.
    pub lost: u64,
    /// Datagrams that others overtook.
    pub late: u64,
    /// Datagrams that came twice.
    pub duplicates: u64,
    /// Those that found the receive buffer full.
    pub overflow: u64,
    /// The largest number.
    pub highest: u64,
    /// Variation of the transit time, ns.
    pub jitter_ns: u64,
    /// The same at the end of what is omitted: bytes, datagrams, lost, late, highest.
    pub ramp: [u64; 5],
    /// Processor time, user and system, ns.
    pub cpu_ns: [u64; 2],
    /// When its last operation was done, ns after the start line.
    pub ended_ns: u64,
    /// TCP's own figures.
    pub tcp: Option<ConnectionActivity>,
    /// Why it failed.
    pub failure: Option<String>,
}

impl StreamCounters {
    fn of(worker: &WorkerRecord, tcp: Option<&ConnectionActivity>) -> StreamCounters {
        let fact = |name: &str| fact(&worker.facts, name);
        let count = |name: &str| fact(name).unwrap_or(0);
        let ramp = ["ramp_bytes", "ramp_datagrams", "ramp_lost", "ramp_late", "ramp_highest"].map(count);
        let mut tcp = tcp.cloned();
        if let (Some(tcp), Some(retransmits)) = (&mut tcp, fact("retransmits")) {
            tcp.retransmits = tcp.retransmits.max(retransmits);
        }
        StreamCounters {
            bytes: fact("bytes").unwrap_or(worker.bytes),
            datagrams: count("datagrams"),
            lost: count("lost"),
            late: count("late"),
            duplicates: count("duplicates"),
            overflow: count("overflow"),
            highest: count("highest"),
            jitter_ns: count("jitter_ns"),
            ramp,
            cpu_ns: [worker.user_ns, worker.system_ns],
            ended_ns: worker.ended_ns,
            tcp,
            failure: worker.failure.clone(),
        }
    }

    /// Packets, as far as they are known: those that were sent, or the largest number that came.
    pub fn packets(&self, sends: bool) -> u64 {
        if sends { self.datagrams } else { self.highest.max(self.datagrams) }
    }

    fn retransmits(&self) -> u64 {
        self.tcp.as_ref().map_or(0, |tcp| tcp.retransmits)
    }

    /// As it was when the omitted time ended.
    fn at_ramp(&self) -> StreamCounters {
        let [bytes, datagrams, lost, late, highest] = self.ramp;
        // Of an engine that tells nothing of it, the moment must do.
        if bytes == 0 && datagrams == 0 {
            return self.clone();
        }
        StreamCounters { bytes, datagrams, lost, late, highest, ..self.clone() }
    }

    /// As it was when the omitted time ended, where that was later.
    fn catch_up(&mut self, now: &StreamCounters) {
        let [bytes, datagrams, lost, late, highest] = now.ramp;
        if bytes > self.bytes || datagrams > self.datagrams {
            *self = StreamCounters { bytes, datagrams, lost, late, highest, ..self.clone() };
        }
    }
}

/// The counters of some streams, by the names of their jobs; a stream without a job has none.
pub fn looks(phase: &PhaseRecord, names: &[String]) -> Vec<StreamCounters> {
    let look = |name: &String| {
        let Some(index) = phase.jobs.iter().position(|job| job.name == *name) else {
            return StreamCounters::default();
        };
        let tcp = phase.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Connection(tcp) if tcp.job == index => Some(&**tcp),
            _ => None,
        });
        phase.jobs[index]
            .workers
            .first()
            .map_or_else(StreamCounters::default, |worker| StreamCounters::of(worker, tcp))
    };
    names.iter().map(look).collect()
}

/// A stream in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// Bytes moved.
    pub bytes: u64,
    pub packets: u64,
    /// Of these, lost; what came late is taken off, so it may be less than nothing.
    pub lost: i64,
    pub jitter_ms: f64,
    /// Segments sent again.
    pub retransmits: u64,
    /// TCP's own figures at its end.
    pub tcp: Option<ConnectionActivity>,
}

/// An interval. Times in s after what was omitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Its beginning.
    pub start_s: f64,
    pub end_s: f64,
    /// Whether it does not count.
    pub omitted: bool,
    pub streams: Vec<Span>,
}

/// TCP's figures at the ends of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extremes {
    /// Largest congestion window, bytes.
    pub cwnd: u64,
    /// Largest window of the peer, bytes.
    pub window: u64,
    /// Largest, least and summed round-trip times, µs.
    pub rtt: [u64; 3],
    pub count: u64,
    /// Reordering seen.
    pub reordering: u32,
}

impl Extremes {
    fn see(&mut self, tcp: &ConnectionActivity) {
        let rtt = u64::from(tcp.rtt_us);
        self.cwnd = self.cwnd.max(tcp.cwnd_bytes);
        self.window = self.window.max(tcp.peer_window_bytes);
        let least = if self.count == 0 { rtt } else { self.rtt[1].min(rtt) };
        self.rtt = [self.rtt[0].max(rtt), least, self.rtt[2] + rtt];
        self.count += 1;
        self.reordering = tcp.reordering;
    }

    /// Mean round-trip time, µs.
    pub fn mean_rtt(&self) -> u64 {
        self.rtt[2].checked_div(self.count).unwrap_or(0)
    }
}

/// A stream over the whole test, without what was omitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Total {
    /// Bytes moved.
    pub bytes: u64,
    /// Packets since the first.
    pub packets: u64,
    /// Of these omitted.
    pub omitted_packets: u64,
    /// Packets lost since the first.
    pub lost: u64,
    /// Of these omitted.
    pub omitted_lost: u64,
    /// Packets that others overtook.
    pub late: u64,
    /// Packets that came twice.
    pub duplicates: u64,
    /// Packets that found the receive buffer full, since the first.
    pub overflow: u64,
    pub jitter_ms: f64,
    /// Segments sent again.
    pub retransmits: u64,
    /// TCP's figures.
    pub tcp: Extremes,
    /// Its congestion control.
    pub congestion: String,
}

/// How far a test has come.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// What does not count, ns.
    omit_ns: u64,
    /// Between reports, ns; 0: none.
    interval_ns: u64,
    /// When it ends, ns after the start line, where time ends it.
    end_ns: Option<u64>,
    /// Which streams send.
    sends: Vec<bool>,
    /// The omitted time is over.
    counts: bool,
    /// At the end of the last interval, and when that was.
    last: Vec<StreamCounters>,
    last_ns: u64,
    /// At the end of the omitted time.
    base: Vec<StreamCounters>,
    extremes: Vec<Extremes>,
}

impl Course {
    /// At the start line.
    pub fn new(omit_ns: u64, interval_ns: u64, end_ns: Option<u64>, sends: Vec<bool>) -> Course {
        let none = vec![StreamCounters::default(); sends.len()];
        let extremes = vec![Extremes::default(); sends.len()];
        Course {
            omit_ns,
            interval_ns,
            end_ns,
            sends,
            counts: omit_ns == 0,
            last: none.clone(),
            last_ns: 0,
            base: none,
            extremes,
        }
    }

    /// The intervals that have ended by a moment, ns after the start line.
    pub fn advance(&mut self, looks: &[StreamCounters], at_ns: u64) -> Vec<Interval> {
        let mut ended = Vec::new();
        if !self.counts && at_ns >= self.omit_ns {
            let ramp: Vec<StreamCounters> = looks.iter().map(StreamCounters::at_ramp).collect();
            if self.interval_ns > 0 && self.omit_ns > self.last_ns {
                ended.push(self.interval(&ramp, self.omit_ns));
            }
            self.counts = true;
            (self.base, self.last, self.last_ns) = (ramp.clone(), ramp, self.omit_ns);
            self.extremes.iter_mut().for_each(|extremes| *extremes = Extremes::default());
        }
        // A moment too early is none: clocks and wake-ups are not exact.
        let due_ns = self.due_ns();
        let near = self.interval_ns / 50;
        let is_last = self.end_ns.is_some_and(|end_ns| at_ns + self.interval_ns / 10 >= end_ns);
        if self.interval_ns > 0 && at_ns + near >= due_ns && at_ns > self.last_ns && !is_last {
            ended.push(self.interval(looks, at_ns));
        }
        ended
    }

    /// When the last interval ended, ns after the start line.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// When the running interval ends, ns: on a grid that begins with counting.
    fn due_ns(&self) -> u64 {
        let origin = if self.counts { self.omit_ns } else { 0 };
        let near = self.interval_ns / 50;
        let whole = (self.last_ns + near).saturating_sub(origin).checked_div(self.interval_ns).unwrap_or(0);
        origin + (whole + 1) * self.interval_ns
    }

    /// What is left since the last interval, if it is worth a line.
    pub fn finish(&mut self, looks: &[StreamCounters], at_ns: u64) -> Vec<Interval> {
        let mut ended = if self.counts { Vec::new() } else { self.advance(looks, at_ns.max(self.omit_ns)) };
        let left_ns = at_ns.saturating_sub(self.last_ns);
        let moved = looks.iter().zip(&self.last).any(|(now, then)| now.bytes > then.bytes);
        if left_ns > 0 && (moved || left_ns >= self.interval_ns / 10) {
            ended.push(self.interval(looks, at_ns));
        }
        ended
    }

    fn interval(&mut self, looks: &[StreamCounters], at_ns: u64) -> Interval {
        // What was under way when the omitted time ended belongs to it, as in the totals, but is known only now.
        let catches_up = self.counts && self.omit_ns > 0;
        self.last.iter_mut().zip(looks).filter(|_| catches_up).for_each(|(then, now)| then.catch_up(now));
        let origin = if self.counts { self.omit_ns } else { 0 };
        let seconds = |ns: u64| ns.saturating_sub(origin) as f64 / 1e9;
        let spans = looks.iter().zip(&self.last).zip(&self.sends).map(|((now, then), sends)| Span {
            bytes: now.bytes.saturating_sub(then.bytes),
            packets: now.packets(*sends).saturating_sub(then.packets(*sends)),
            lost: now.lost as i64 - then.lost as i64,
            jitter_ms: now.jitter_ns as f64 / 1e6,
            retransmits: now.retransmits().saturating_sub(then.retransmits()),
            tcp: now.tcp.clone(),
        });
        let interval = Interval {
            start_s: seconds(self.last_ns),
            end_s: seconds(at_ns),
            omitted: !self.counts,
            streams: spans.collect(),
        };
        for (extremes, look) in self.extremes.iter_mut().zip(looks) {
            if let Some(tcp) = &look.tcp {
                extremes.see(tcp);
            }
        }
        (self.last, self.last_ns) = (looks.to_vec(), at_ns);
        interval
    }

    /// Each stream over the whole test.
    pub fn totals(&self, looks: &[StreamCounters]) -> Vec<Total> {
        let base = |index: usize, look: &StreamCounters| match self.omit_ns {
            0 => StreamCounters::default(),
            _ if look.ramp != [0; 5] => look.at_ramp(),
            _ => self.base[index].clone(),
        };
        let total = |(index, look): (usize, &StreamCounters)| {
            let (base, sends) = (base(index, look), self.sends[index]);
            let before = self.base[index].retransmits();
            Total {
                bytes: look.bytes.saturating_sub(base.bytes),
                packets: look.packets(sends),
                omitted_packets: base.packets(sends),
                lost: look.lost,
                omitted_lost: base.lost,
                late: look.late.saturating_sub(base.late),
                duplicates: look.duplicates,
                overflow: look.overflow,
                jitter_ms: look.jitter_ns as f64 / 1e6,
                retransmits: look.retransmits().saturating_sub(before),
                tcp: self.extremes[index],
                congestion: look.tcp.as_ref().map_or_else(String::new, |tcp| tcp.congestion.clone()),
            }
        };
        looks.iter().enumerate().map(total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn look(bytes: u64) -> Vec<StreamCounters> {
        vec![StreamCounters { bytes, ramp: [100, 0, 0, 0, 0], ..StreamCounters::default() }]
    }

    #[test]
    fn intervals_and_what_is_left() {
        let mut course = Course::new(0, SECOND, None, vec![true]);
        assert!(course.advance(&look(5), SECOND / 2).is_empty());
        let first = course.advance(&look(10), SECOND + 3_000_000);
        assert_eq!((first.len(), first[0].streams[0].bytes, first[0].end_s), (1, 10, 1.003));
        // The next one is due two seconds after the start, not one after the late first.
        assert_eq!(course.advance(&look(12), 2 * SECOND).len(), 1);
        assert!(course.finish(&look(12), 2 * SECOND + 1_000).is_empty());
        assert_eq!(course.finish(&look(13), 2 * SECOND + 2_000)[0].streams[0].bytes, 1);
    }

    #[test]
    fn the_last_interval_waits_for_the_end() {
        let mut course = Course::new(0, SECOND, Some(2 * SECOND), vec![true]);
        assert_eq!(course.advance(&look(10), SECOND).len(), 1);
        assert!(course.advance(&look(20), 2 * SECOND).is_empty());
        let last = course.finish(&look(21), 2 * SECOND + 500_000);
        assert_eq!((last.len(), last[0].streams[0].bytes), (1, 11));
    }

    #[test]
    fn what_is_omitted_is_taken_off() {
        let mut course = Course::new(SECOND, SECOND, None, vec![true]);
        let omitted = course.advance(&look(120), SECOND + 1_000_000);
        assert_eq!((omitted.len(), omitted[0].omitted, omitted[0].streams[0].bytes), (1, true, 100));
        let counted = course.advance(&look(300), 2 * SECOND);
        assert_eq!(
            (counted.len(), counted[0].omitted, counted[0].start_s, counted[0].streams[0].bytes),
            (1, false, 0.0, 200)
        );
        assert_eq!(course.totals(&look(300))[0].bytes, 200);
    }

    #[test]
    fn what_is_known_late_of_the_omitted_time_is_taken_off_as_in_the_totals() {
        let mut course = Course::new(SECOND, SECOND, None, vec![true]);
        let none = |bytes| vec![StreamCounters { bytes, ..StreamCounters::default() }];
        // A block was under way when the omitted time ended, and is done in the second interval.
        course.advance(&none(90), SECOND);
        let first = course.advance(&none(90), 2 * SECOND);
        let second = course.advance(&look(250), 3 * SECOND);
        assert_eq!((first[0].streams[0].bytes, second[0].streams[0].bytes), (0, 150));
        assert_eq!(course.totals(&look(250))[0].bytes, 150);
    }

    #[test]
    fn without_intervals_the_whole_is_one() {
        let mut course = Course::new(0, 0, None, vec![true]);
        assert!(course.advance(&look(5), SECOND).is_empty());
        assert_eq!(course.finish(&look(7), 2 * SECOND)[0].streams[0].bytes, 7);
    }

    #[test]
    fn an_end_before_counting_began() {
        let mut course = Course::new(5 * SECOND, SECOND, None, vec![false]);
        course.advance(&look(50), SECOND);
        let ended = course.finish(&look(60), 2 * SECOND);
        assert!(ended.len() <= 2);
    }
}
