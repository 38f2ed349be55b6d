//! The live line: what is running, how fast, and how long it will still take. On a terminal one line that is drawn
//! over itself and cleared before the report; elsewhere a plain line every ten measured seconds.
//!
//! Driven by events alone: it starts no thread and reads no clock, so a stored run draws the same bytes again.

use std::io;

use iodyno_model::{Event, Job, Live, Plan};

use crate::number;
use crate::paint::Paint;
use crate::{Output, Reporter};

/// Measured time between two lines where there is no terminal, ns.
const PLAIN_EVERY_NS: u64 = 10_000_000_000;

/// Draws the live line on the talk stream.
pub struct LiveLine {
    terminal: bool,
    paint: Paint,
    /// Characters of the line that stands there.
    drawn: usize,
    time: TimeLeft,
    name: String,
    done_ns: u64,
    said_ns: Option<u64>,
    last: Live,
}

impl LiveLine {
    /// A live line; `terminal`: whether the talk stream is one that moves its cursor.
    pub fn new(terminal: bool, paint: Paint) -> Self {
        LiveLine {
            terminal,
            paint,
            drawn: 0,
            time: TimeLeft::default(),
            name: String::new(),
            done_ns: 0,
            said_ns: None,
            last: Live::default(),
        }
    }

    fn say(&mut self, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        if self.terminal {
            let text: String = text.chars().take(self.paint.columns.max(20) - 1).collect();
            write!(output.err, "{}{text}", self.erased())?;
            self.drawn = text.chars().count();
            return output.err.flush();
        }
        let now_ns = self.done_ns.saturating_add(self.last.elapsed_ns);
        if self.said_ns.is_none_or(|said| now_ns.saturating_sub(said) >= PLAIN_EVERY_NS) {
            self.said_ns = Some(now_ns);
            writeln!(output.err, "{text}")?;
        }
        Ok(())
    }

    fn clear(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        if self.drawn > 0 {
            write!(output.err, "{}", self.erased())?;
            self.drawn = 0;
            output.err.flush()?;
        }
        Ok(())
    }

    /// What takes the line away: without escape sequences where no colours are wanted.
    fn erased(&self) -> String {
        match self.paint.colour {
            true => "\r\x1b[2K".into(),
            false => format!("\r{:1$}\r", "", self.drawn),
        }
    }

    fn line(&self, rate: &str, left_ns: Option<u64>) -> String {
        let count = self.time.phases_ns.len();
        let left = left_ns.map_or_else(String::new, |ns| format!(" · {} left", number::wait(ns)));
        format!("{:>2}/{count} {}{rate}{left}", self.time.phase + 1, self.name)
    }

    fn live(&mut self, live: &Live) -> String {
        let (operations, bytes, errors) = sums(live);
        let (before, bytes_before, _) =
            if live.elapsed_ns >= self.last.elapsed_ns { sums(&self.last) } else { (0, 0, 0) };
        let since_ns = live.elapsed_ns.saturating_sub(self.last.elapsed_ns);
        let per_second = |now: u64, before: u64| now.saturating_sub(before) as f64 * 1e9 / since_ns as f64;
        let mut rate = String::new();
        if since_ns > 0 {
            let bytes = per_second(bytes, bytes_before);
            rate.push_str(&match bytes > 0.0 {
                true => format!(" · {} {}", self.paint.rates.figure(bytes), self.paint.rates.name()),
                false => String::new(),
            });
            rate.push_str(&format!(" · {} IOPS", number::iops(per_second(operations, before))));
        }
        if errors > 0 {
            rate.push_str(&format!(" · {} errors", number::thousands(errors)));
        }
        self.last = live.clone();
        self.line(&rate, self.time.left_ns(self.time.in_phase_ns(live)))
    }
}

/// Operations, bytes and errors of all jobs.
fn sums(live: &Live) -> (u64, u64, u64) {
    live.jobs.iter().fold((0, 0, 0), |sum, job| {
        (sum.0 + job.operations, sum.1 + job.read_bytes + job.write_bytes, sum.2 + job.errors)
    })
}

/// The time that a run still takes, as far as limits of time tell it.
#[derive(Debug, Default)]
pub(crate) struct TimeLeft {
    /// What each phase takes at most, ns; 0: cannot be told.
    phases_ns: Vec<u64>,
    phase: usize,
}

impl TimeLeft {
    pub(crate) fn of(plan: &Plan) -> Self {
        TimeLeft { phases_ns: phases_ns(plan), phase: 0 }
    }

    pub(crate) fn begin(&mut self, phase: usize) {
        self.phase = phase;
    }

    /// What the running phase takes at most, ns.
    pub(crate) fn planned_ns(&self) -> Option<u64> {
        self.phases_ns.get(self.phase).copied().filter(|ns| *ns > 0)
    }

    /// Time left in the running phase, ns.
    pub(crate) fn in_phase_ns(&self, live: &Live) -> Option<u64> {
        live.left_ns.or_else(|| self.planned_ns().map(|ns| ns.saturating_sub(live.elapsed_ns)))
    }

    /// Time left in the whole run, ns, if every phase that is still to come has a limit.
    pub(crate) fn left_ns(&self, in_phase_ns: Option<u64>) -> Option<u64> {
        let later = self.phases_ns.get(self.phase + 1..)?;
        let left = later.iter().fold(in_phase_ns?, |sum, ns| sum.saturating_add(*ns));
        // A phase without a time limit may take as long as it likes.
        let known = self.phases_ns.get(self.phase..)?.iter().all(|ns| *ns > 0);
        known.then_some(left)
    }
}

/// What each phase takes at most, ns; 0 where no time limit tells. A phase that does as much as an earlier one is
/// expected to take as long.
fn phases_ns(plan: &Plan) -> Vec<u64> {
    let mut known: Vec<(&str, u64)> = Vec::new();
    for phase in &plan.phases {
        let of_job = |job: &Job| match (&job.limit.time_ns, &job.limit.as_phase) {
            (Some(ns), _) => Some(ns.saturating_add(job.limit.ramp_ns)),
            (None, Some(name)) => known.iter().rev().find(|(known, _)| known == name).map(|(_, ns)| *ns),
            (None, None) => None,
        };
        let jobs = phase.jobs.iter().filter_map(of_job);
        let ns = jobs.max().unwrap_or(phase.watch_ns).saturating_add(phase.pause_ns);
        known.push((&phase.name, ns));
    }
    known.into_iter().map(|(_, ns)| ns).collect()
}

/// What a plan takes at most, without preparation; phases without a time limit count nothing.
pub fn planned_ns(plan: &Plan) -> u64 {
    phases_ns(plan).iter().fold(0, |sum, ns| sum.saturating_add(*ns))
}

impl Reporter for LiveLine {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.time = TimeLeft::of(&started.plan);
                Ok(())
            }
            Event::Preparing { target, done_bytes, total_bytes } => {
                let percent = *done_bytes as f64 / (*total_bytes).max(1) as f64 * 100.0;
                let total = iodyno_model::units::binary(*total_bytes);
                self.said_ns = self.said_ns.filter(|_| *done_bytes > 0 && done_bytes < total_bytes);
                self.say(&format!("preparing {target}: {percent:.0} % of {total}"), output)
            }
            Event::PhaseStarted { index, name, coordinates, .. } => {
                self.time.begin(*index);
                self.name.clone_from(name);
                for place in coordinates.iter().map(ToString::to_string) {
                    // A phase that is called by what is swept says it once.
                    match place.starts_with(name.as_str()) {
                        true => self.name = place,
                        false => self.name.push_str(&format!(" {place}")),
                    }
                }
                self.last = Live::default();
                let line = self.line("", self.time.left_ns(self.time.planned_ns()));
                self.say(&line, output)
            }
            Event::Live(live) => {
                let line = self.live(live);
                if live.asked {
                    self.clear(output)?;
                    return writeln!(output.err, "{line}");
                }
                self.say(&line, output)
            }
            Event::PhaseEnded(phase) => {
                self.done_ns = self.done_ns.saturating_add(phase.elapsed_ns);
                self.last = Live::default();
                Ok(())
            }
            Event::Finding(_)
            | Event::Cases(..)
            | Event::Journal(_)
            | Event::Interim(_)
            | Event::Kept(_)
            | Event::Watched(_)
            | Event::Said(_)
            | Event::LayingOut { .. } => Ok(()),
            Event::Message(_) | Event::Ended(_) => self.clear(output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{LiveJob, Pattern, Phase, PhaseRecord, Pick, RunStart, Verb, Workload};

    fn events() -> Vec<Event> {
        let mut job = Job::new(
            "a",
            "null",
            vec![],
            Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Uniform, 4096))),
        );
        job.limit.time_ns = Some(12_000_000_000);
        let phase = |name: &str| Phase { name: name.into(), jobs: vec![job.clone()], ..Phase::default() };
        let plan = Plan { phases: vec![phase("one"), phase("two")], ..Plan::default() };
        let started = RunStart {
            plan,
            targets: vec![],
            machine: Default::default(),
            at_unix_ns: 0,
            world: Default::default(),
        };
        let live = |second: u64| {
            let job =
                LiveJob { operations: second * 1000, read_bytes: second * 4_096_000, ..LiveJob::default() };
            Event::Live(Box::new(Live {
                elapsed_ns: second * 1_000_000_000,
                jobs: vec![job],
                ..Live::default()
            }))
        };
        let begin = |index: usize, name: &str| Event::PhaseStarted {
            index,
            count: 2,
            name: name.into(),
            repetition: 0,
            coordinates: vec![],
        };
        let end = PhaseRecord { elapsed_ns: 12_000_000_000, ..PhaseRecord::default() };
        let mut events = vec![Event::Started(Box::new(started)), begin(0, "one")];
        events.extend((1..=11).map(live));
        events.extend([Event::PhaseEnded(Box::new(end)), begin(1, "two"), live(1)]);
        events.push(Event::Ended(Box::default()));
        events
    }

    fn drawn(terminal: bool, colour: bool) -> String {
        let mut line = LiveLine::new(terminal, Paint { columns: 60, colour, ..Paint::PLAIN });
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for event in events() {
            line.event(&event, &mut Output { out: &mut out, err: &mut err, files: &mut crate::NoFiles })
                .unwrap();
        }
        assert!(out.is_empty(), "the live line is talk, not report");
        String::from_utf8(err).unwrap()
    }

    #[test]
    fn without_a_terminal_a_line_comes_every_ten_seconds() {
        assert_eq!(
            drawn(false, false),
            " 1/2 one · 24 s left\n 1/2 one · 4.10 MB/s · 1,000 IOPS · 14 s left\n"
        );
    }

    #[test]
    fn on_a_terminal_the_line_is_redrawn_and_cleared_at_the_end() {
        let text = drawn(true, true);
        assert!(text.ends_with("\r\x1b[2K") && !text.contains('\n'));
        assert!(text.contains(" 2/2 two · 4.10 MB/s · 1,000 IOPS · 11 s left"));
    }

    #[test]
    fn without_colours_the_line_is_redrawn_without_escape_sequences() {
        let text = drawn(true, false);
        assert!(!text.contains('\x1b') && !text.contains('\n'), "{text:?}");
        let last = text.rsplit_once(" 2/2 two").unwrap().1;
        assert!(last.ends_with('\r') && last.contains(&" ".repeat(30)), "{text:?}");
    }
}
