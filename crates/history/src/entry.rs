//! What the history tells of a run: a line of a list, or all of it.

use iodyno_model::{Event, Histogram, Kind, Plan, Record, RunStart, Tally, units};
use iodyno_truth::passes::{Passes, Spread, passes};
use serde::{Deserialize, Serialize};

/// How far a run came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is under way, in another process or this one.
    Running,
    /// It came to its end.
    #[default]
    Complete,
    /// A signal ended it; the figures are those of the time until then.
    Stopped,
    /// Its program was killed, or the machine went down; the figures end with the last second that was kept.
    Killed,
    /// Another tool measured it.
    Imported,
}

impl State {
    const NAMES: [(State, &'static str); 5] = [
        (State::Running, "running"),
        (State::Complete, "complete"),
        (State::Stopped, "stopped"),
        (State::Killed, "killed"),
        (State::Imported, "imported"),
    ];

    /// Its name, one word.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }

    /// The state of that name.
    pub fn of(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(state, _)| *state)
    }
}

/// What is known of a run before it begins.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The dialect or command: `measure`, `fio`, …
    pub tool: String,
    /// The command line, word by word, without the program's name.
    pub words: Vec<String>,
    /// The directory that it was typed in: the plan's relative paths begin there.
    pub folder: String,
    /// The plan as it was asked for, not expanded.
    pub plan: Plan,
    /// Names it is to be found by.
    pub tags: Vec<String>,
    /// The first run of the command that it is a part of; none: it stands alone, or is the first.
    pub part_of: Option<i64>,
}

/// One run, as lists tell it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number: from 1 on, never given twice.
    pub id: i64,
    /// How far it came.
    pub state: State,
    /// The plan's name.
    pub name: String,
    /// The dialect or command; of an imported run, the tool that measured.
    pub tool: String,
    /// The command line, word by word, without the program's name.
    pub words: Vec<String>,
    /// The directory that it was typed in.
    pub folder: String,
    /// The host it ran on; of several, the first rank's.
    pub host: String,
    /// When it began, ns since 1970.
    pub began_unix_ns: u64,
    /// Its measured time, all phases, ns.
    pub elapsed_ns: u64,
    /// The figures of its first job, a line of text.
    pub headline: String,
    /// How many findings doubt a figure.
    pub findings: u32,
    pub errors: u32,
    /// Names it is found by, sorted.
    pub tags: Vec<String>,
    /// The first run of the command that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<i64>,
    /// Further runs of the same command.
    #[serde(default, skip_serializing_if = "is_none")]
    pub parts: u32,
    /// What somebody noted about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

/// Which runs of commands that made several are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartFilter {
    /// The first of each command stands for all.
    #[default]
    First,
    /// The further ones of that first run.
    Of(i64),
    All,
}

/// Which runs are wanted; an empty field takes them all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// At most so many, the newest; 0: all.
    pub most: u32,
    pub tag: Option<String>,
    /// Of this dialect or command.
    pub tool: Option<String>,
    pub host: Option<String>,
    /// That came so far.
    pub state: Option<State>,
    /// With this text in the plan's name or the command line.
    pub text: Option<String>,
    /// Not begun before, ns since 1970; 0: ever.
    pub since_unix_ns: u64,
    pub parts: PartFilter,
}

/// All that is kept of a run.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// The line about it.
    pub entry: Entry,
    /// The plan as it was asked for, not expanded: what a rerun runs.
    pub plan: Plan,
    /// The plan as it ran, expanded, with the machine, its targets and the ranks: the disclosure.
    pub started: RunStart,
    /// The answer.
    pub record: Record,
}

impl StoredRun {
    /// The run as reporters see one: its beginning, each phase, its findings, its end.
    pub fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::Started(Box::new(self.started.clone()))];
        for phase in &self.record.phases {
            events.push(Event::PhaseStarted {
                index: phase.index,
                count: self.started.plan.phases.len().max(self.record.phases.len()),
                name: phase.name.clone(),
                repetition: phase.repetition,
                coordinates: phase.coordinates.clone(),
            });
            events.push(Event::PhaseEnded(Box::new(phase.clone())));
        }
        let findings = self.record.findings.iter().cloned();
        events.extend(findings.map(|finding| Event::Finding(Box::new(finding))));
        events.push(Event::Ended(Box::new(self.record.clone())));
        events
    }
}

/// The figures of the first job that did something, a line of text.
pub fn headline(record: &Record) -> String {
    let jobs = passes(record);
    let did = |passes: &&Passes<'_>| passes.result.iter().any(|(_, job)| job.tally.all_operations() > 0);
    let Some(first) = jobs.iter().find(did) else {
        return cases(record).unwrap_or_default();
    };
    let kinds = [
        (Kind::Read, "read"),
        (Kind::Write, "write"),
        (Kind::Trim, "trim"),
        (Kind::Metadata, "names"),
        (Kind::Network, "net"),
    ];
    let parts: Vec<_> = kinds.iter().filter_map(|(kind, name)| figures(first, *kind, name)).collect();
    let more = jobs.len() - 1;
    let more = if more > 0 { format!(" (+{more} more)") } else { String::new() };
    let several =
        if first.is_several() { format!(", median of {}", first.result.len()) } else { String::new() };
    parts.join(", ") + &several + &more
}

/// What became of cases.
fn cases(record: &Record) -> Option<String> {
    let cases = record.phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.cases);
    let count = cases.count();
    (count > 0).then(|| format!("{count} cases"))
}

fn figures(passes: &Passes<'_>, kind: Kind, name: &str) -> Option<String> {
    let jobs = || passes.result.iter().map(|(_, job)| *job).filter(|job| job.tally.operations(kind) > 0);
    let rate = |of: fn(&Tally, Kind) -> u64| {
        let each = jobs().map(|job| {
            let ns = job.tally.last_done_ns.saturating_sub(job.tally.began_ns).max(1) as f64;
            of(&job.tally, kind) as f64 * 1e9 / ns
        });
        Spread::of(&each.collect::<Vec<_>>()).map(|spread| spread.median)
    };
    let mut text = format!("{name} {}/s", units::count(rate(Tally::operations)?));
    if let Some(bytes) = rate(Tally::bytes).filter(|bytes| *bytes > 0.0) {
        // In decimal units, as the card of a measurement.
        text.push_str(&format!(" {}/s", units::decimal(bytes)));
    }
    let mut latency = Histogram::default();
    jobs().for_each(|job| latency.merge(&job.tally.latency(kind)));
    if !latency.is_empty() {
        text.push_str(&format!(" p99 {}", units::duration(latency.percentile(99.0) as f64)));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{JobRecord, PhaseRecord, Verb};

    #[test]
    fn a_line_about_passes_is_their_median() {
        let phase = |(repetition, operations): (u32, u64)| {
            let mut job = JobRecord { name: "j".into(), ..JobRecord::default() };
            job.tally.line_mut("read", Verb::Read).operations = operations;
            job.tally.last_done_ns = 1_000_000_000;
            PhaseRecord { name: "p".into(), repetition, jobs: vec![job], ..PhaseRecord::default() }
        };
        let phases = [(0, 100), (1, 300), (2, 200)].map(phase).to_vec();
        let record = Record { phases, ..Record::default() };
        assert_eq!(headline(&record), "read 200/s, median of 3");
    }
}
