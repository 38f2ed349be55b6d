//! I/O priorities that only a part of a job's operations carries: the label that an operation is tallied under says which,
//! so that the engine hands it over with that priority and the report tells its latencies apart.

use iodyno_model::{Job, Verb};

use crate::random::Random;

/// Best effort: the class that a level without a class belongs to.
const BEST_EFFORT: u16 = 2;

/// A part of the operations of one size, or of any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityShare {
    /// None: any.
    pub bytes: Option<u64>,
    pub percent: u64,
    /// As the kernel packs class, hint and level.
    pub value: u16,
}

/// The parts of the operations of a verb that carry a priority.
pub fn shares(job: &Job, verb: Verb) -> Vec<PriorityShare> {
    let direction = match verb {
        Verb::Read => 0,
        Verb::Write => 1,
        _ => return Vec::new(),
    };
    let number = |name| job.setting(name).and_then(|text| of(text, direction)?.parse::<u16>().ok());
    let (class, level, hint) = (number("priority_class"), number("priority"), number("priority_hint"));
    let (percent, split) = (number("priority_percent"), job.setting("priority_split"));
    if class.is_none() && level.is_none() && percent.is_none() && split.is_none() {
        return Vec::new();
    }
    // A share of high-priority operations without more said is of real time, as fio has it.
    let class = class.unwrap_or(if level.is_some() { BEST_EFFORT } else { 1 });
    let value = value(class, hint.unwrap_or(0), level.unwrap_or(0));
    match split {
        Some(text) => {
            let text = text.split(',').nth(direction).unwrap_or_default();
            text.split(':').filter_map(|entry| share(entry, value)).collect()
        }
        None => vec![PriorityShare { bytes: None, percent: u64::from(percent.unwrap_or(100)), value }],
    }
}

/// One direction of a pair, or the one value for both.
fn of(text: &str, direction: usize) -> Option<&str> {
    text.split(',').nth(direction).or_else(|| text.split(',').next())
}

fn value(class: u16, hint: u16, level: u16) -> u16 {
    class << 13 | hint << 3 | level
}

/// `BYTES/PERCENT[/CLASS/LEVEL[/HINT]]`.
pub fn share(text: &str, plain: u16) -> Option<PriorityShare> {
    let numbers = text.split('/').map(|part| part.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
    let value = match numbers[..] {
        [_, _] => plain,
        [_, _, class @ 0..=3, level @ 0..=7] => value(class as u16, 0, level as u16),
        [_, _, class @ 0..=3, level @ 0..=7, hint @ 0..=1023] => {
            value(class as u16, hint as u16, level as u16)
        }
        _ => return None,
    };
    Some(PriorityShare { bytes: Some(numbers[0]), percent: numbers[1], value })
}

/// The priority that every operation of a verb carries, where all carry the same; 0: that of the worker.
fn common(shares: &[PriorityShare]) -> u16 {
    match shares {
        [PriorityShare { bytes: None, percent: 100, value }] => *value,
        _ => 0,
    }
}

/// The priorities of which each has a label of its own: none where all operations of the verb carry the same.
pub fn labelled(job: &Job, verb: Verb) -> Vec<u16> {
    let shares = shares(job, verb);
    if common(&shares) != 0 {
        return Vec::new();
    }
    let mut values: Vec<u16> =
        shares.iter().filter(|share| share.percent > 0).map(|share| share.value).collect();
    values.retain(|value| *value != 0);
    values.sort_unstable();
    values.dedup();
    values
}

/// Whether only some of a job's operations carry one.
pub fn are_drawn(job: &Job) -> bool {
    [Verb::Read, Verb::Write].into_iter().any(|verb| !labelled(job, verb).is_empty())
}

/// What operations of a label with a priority are tallied under: `read prio CLASS/LEVEL/HINT`.
pub fn label_with(label: &str, value: u16) -> String {
    format!("{label} prio {}/{}/{}", value >> 13, value & 7, value >> 3 & 1023)
}

/// The operations of a job by their labels, as they are tallied.
type Labels = [(String, Verb)];

/// Where a label stands.
fn position(labels: &Labels, name: &str, verb: Verb) -> Option<usize> {
    labels.iter().position(|(label, other)| label == name && *other == verb)
}

/// By label, the priority that its operations carry; none where no operation has one.
pub fn by_label(job: &Job, labels: &Labels) -> Option<Box<[u16]>> {
    let mut values = vec![0; labels.len()];
    for (index, (label, verb)) in labels.iter().enumerate() {
        values[index] = values[index].max(common(&shares(job, *verb)));
        for value in labelled(job, *verb) {
            if let Some(own) = position(labels, &label_with(label, value), *verb) {
                values[own] = value;
            }
        }
    }
    values.iter().any(|value| *value != 0).then(|| values.into())
}

/// Draws which operations carry a priority.
#[derive(Clone, Debug)]
pub struct PriorityDraw {
    read: Vec<PriorityShare>,
    write: Vec<PriorityShare>,
    /// By label, those of its operations with a priority.
    labels: Vec<Vec<(u16, u16)>>,
    random: Random,
}

impl PriorityDraw {
    /// For a job of which some operations carry one and others not.
    pub fn of(job: &Job, labels: &Labels, seed: u64, worker: u32) -> Option<Self> {
        let own = |(label, verb): &(String, Verb)| {
            let place = |value| position(labels, &label_with(label, value), *verb);
            let values = labelled(job, *verb).into_iter();
            values.filter_map(|value| Some((value, place(value)? as u16))).collect()
        };
        let labels: Vec<Vec<(u16, u16)>> = labels.iter().map(own).collect();
        labels.iter().any(|own| !own.is_empty()).then(|| PriorityDraw {
            read: shares(job, Verb::Read),
            write: shares(job, Verb::Write),
            labels,
            random: Random::from_seed(seed ^ 0x7072_696f, u64::from(worker)),
        })
    }

    /// The label of an operation with the priority that is drawn for it.
    pub fn label(&mut self, verb: Verb, bytes: u64, label: u16) -> u16 {
        let shares = match verb {
            Verb::Read => &self.read,
            Verb::Write => &self.write,
            _ => return label,
        };
        let mut draw = self.random.below(100);
        for share in shares.iter().filter(|share| share.bytes.is_none_or(|size| size == bytes)) {
            if draw < share.percent {
                let own = self.labels.get(usize::from(label)).map_or(&[][..], Vec::as_slice);
                return own.iter().find(|(value, _)| *value == share.value).map_or(label, |(_, own)| *own);
            }
            draw -= share.percent;
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Mix, Pattern, Pick, Setting, Workload};

    use crate::source::labels;

    fn job(settings: &[(&str, &str)]) -> Job {
        let pattern = Pattern { mix: Mix::reads(50.0), ..Pattern::of(Verb::Read, Pick::Uniform, 4096) };
        let mut job = Job::new("j", "libaio", Vec::new(), Workload::Pattern(Box::new(pattern)));
        job.settings = settings.iter().map(|(name, value)| Setting::new(name, value)).collect();
        job
    }

    /// How many in a hundred of a verb's operations of a size are tallied under a label.
    fn share(job: &Job, verb: Verb, bytes: u64, wanted: &str) -> u64 {
        let labels = labels(job);
        let mut draw = PriorityDraw::of(job, &labels, 1, 2).expect("some carry one");
        let plain = position(&labels, verb.name(), verb).expect("a line") as u16;
        let drawn = (0..10_000).filter(|_| {
            let label = draw.label(verb, bytes, plain);
            labels[usize::from(label)] == (wanted.to_string(), verb)
        });
        drawn.count() as u64 / 100
    }

    #[test]
    fn shares_are_drawn_and_tallied_apart() {
        let some = job(&[("priority_percent", "30,0"), ("priority_class", "1")]);
        assert!((27..=33).contains(&share(&some, Verb::Read, 4096, "read prio 1/0/0")));
        assert_eq!(share(&some, Verb::Write, 4096, "write"), 100);
        assert_eq!(by_label(&some, &labels(&some)).as_deref(), Some(&[0, 0, 1 << 13][..]));
        let split = job(&[("priority_split", "4096/50/1/0:4096/25/3/7:8192/100/2/1/5")]);
        assert!((46..=54).contains(&share(&split, Verb::Read, 4096, "read prio 1/0/0")));
        assert!((21..=29).contains(&share(&split, Verb::Read, 4096, "read prio 3/7/0")));
        assert_eq!(share(&split, Verb::Read, 8192, "read prio 2/1/5"), 100);
        assert_eq!(share(&split, Verb::Read, 512, "read"), 100);
        assert_eq!(share(&split, Verb::Write, 8192, "write"), 100);
    }

    #[test]
    fn what_all_operations_carry_needs_no_label() {
        let all = job(&[("priority_class", "1"), ("priority", "3")]);
        assert!(PriorityDraw::of(&all, &labels(&all), 1, 2).is_none());
        assert_eq!(by_label(&all, &labels(&all)).as_deref(), Some(&[1 << 13 | 3; 2][..]));
        assert!(by_label(&job(&[]), &labels(&job(&[]))).is_none());
    }
}
