//! Bandwidth by phase and repetition: what a test that writes and reads again and again is looked at for first.
//!
//! Told of phases that move data in one direction and come more than once. What comes at several places of a sweep has a
//! curve; what is paused or mixed has its card.

use iodyno_model::{PhaseRecord, Record};
use serde::Serialize;

use super::job::kind;
use super::short::Short;
use crate::number;
use crate::shape;

/// The phases, and how often the one that came most often came.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Repetitions {
    pub count: u32,
    pub phases: Vec<RepeatedPhase>,
}

/// A phase that came several times.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RepeatedPhase {
    pub name: String,
    /// `read`, `write` or `other`: its colour.
    pub kind: &'static str,
    /// Bytes per second of each repetition; a gap where it did not come.
    pub values: Vec<Short>,
    /// Each as MiB/s, then the most, the least and the mean of those that came.
    pub texts: Vec<String>,
}

/// The phases of a run that came more than once, in the order in which they first came.
pub fn repetitions(record: &Record) -> Option<Repetitions> {
    let mut found: Vec<(&str, &'static str, Vec<Option<f64>>)> = Vec::new();
    for phase in record.phases.iter().filter(|phase| phase.coordinates.is_empty()) {
        let Some((kind, rate)) = bandwidth(phase) else { continue };
        let place = found.iter().position(|(name, ..)| *name == phase.name).unwrap_or_else(|| {
            found.push((&phase.name, kind, Vec::new()));
            found.len() - 1
        });
        let values = &mut found[place].2;
        let index = phase.repetition as usize;
        values.resize(values.len().max(index + 1), None);
        values[index] = Some(rate);
    }
    found.retain(|(_, _, values)| values.iter().flatten().count() > 1);
    let count = found.iter().map(|(_, _, values)| values.len()).max()?;
    let phases = found.into_iter().map(|(name, kind, mut values)| {
        values.resize(count, None);
        RepeatedPhase {
            name: name.into(),
            kind,
            texts: texts(&values),
            values: values.into_iter().map(Short::of).collect(),
        }
    });
    Some(Repetitions { count: count as u32, phases: phases.collect() })
}

/// The direction of a phase that moves data in one, and its bytes per second.
fn bandwidth(phase: &PhaseRecord) -> Option<(&'static str, f64)> {
    let [job] = phase.jobs.as_slice() else { return None };
    let mut moving = job.tally.lines.iter().filter(|line| line.bytes > 0 && line.verb.moves_data());
    let line = moving.next().filter(|_| moving.next().is_none())?;
    Some((kind(line.verb.kind()), shape::per_second(line.bytes, phase, job)))
}

fn texts(values: &[Option<f64>]) -> Vec<String> {
    let there = || values.iter().flatten().copied();
    let text = |value: f64| number::mib(value);
    let each = values.iter().map(|value| value.map_or_else(|| number::NONE.into(), text));
    let (most, least) = (there().fold(0.0, f64::max), there().fold(f64::INFINITY, f64::min));
    let mean = there().sum::<f64>() / there().count().max(1) as f64;
    each.chain([most, least, mean].map(text)).collect()
}

#[cfg(test)]
mod tests {
    use iodyno_model::{JobRecord, Line, Verb};

    use super::*;

    #[test]
    fn phases_that_come_again_are_told_by_repetition() {
        let phase = |name: &str, verb, repetition, mib: u64| {
            let mut job = JobRecord { name: name.into(), ..JobRecord::default() };
            job.tally.lines = vec![Line { operations: 8, bytes: mib << 20, ..Line::empty(name, verb) }];
            let (name, elapsed_ns) = (name.into(), 1_000_000_000);
            PhaseRecord { name, repetition, elapsed_ns, jobs: vec![job], ..PhaseRecord::default() }
        };
        let (write, read) = (Verb::Write, Verb::Read);
        let mut record = Record {
            phases: vec![phase("write", write, 0, 100), phase("read", read, 0, 400)],
            ..Record::default()
        };
        assert!(repetitions(&record).is_none(), "a card says it");
        record.phases.push(phase("write", write, 1, 300));
        record.phases.push(phase("stat", Verb::Stat, 1, 0));
        record.phases.push(phase("read", read, 2, 200));
        let told = repetitions(&record).unwrap();
        let [writes, reads] = told.phases.as_slice() else { panic!("{told:?}") };
        assert_eq!((told.count, writes.kind, reads.kind), (3, "write", "read"));
        assert_eq!(writes.texts, ["100", "300", "–", "300", "100", "200"]);
        assert_eq!(reads.texts, ["400", "–", "200", "400", "200", "300"]);
        assert!(reads.values[1].0.is_nan() && reads.values.len() == 3);
    }
}
