//! I/O priorities of single operations, for the engines that can carry them: always the same, for a drawn part of the
//! operations, or by their size.

use iodyno_model::{Diagnostic, Job, Verb};

use super::{SettingSpec, Setup, check_values, setting, spec};
use crate::random::Random;

/// Best effort: the class that a level without a class belongs to.
const BEST_EFFORT: u16 = 2;
/// Names of the settings.
const NAMES: [&str; 4] = ["priority_class", "priority", "priority_hint", "priority_percent"];

/// The settings, for the engines that have them.
pub const SETTINGS: [SettingSpec; 5] = [
    spec(
        "priority_class",
        "I/O priority class of operations, 0 to 3: one, or READ,WRITE (default 2 where a level is given)",
    ),
    spec("priority", "I/O priority level within the class, 0 to 7: one, or READ,WRITE"),
    spec("priority_hint", "hint beside the level, 0 to 1023: one, or READ,WRITE"),
    spec(
        "priority_percent",
        "how many of the operations carry it, in percent: one, or READ,WRITE (default 100)",
    ),
    spec(
        "priority_split",
        "by size: BYTES/PERCENT[/CLASS/LEVEL[/HINT]], entries joined by `:`, reads and writes by `,`",
    ),
];

/// What operations carry.
#[derive(Clone, Debug)]
pub struct Priorities {
    read: Vec<PriorityShare>,
    write: Vec<PriorityShare>,
    random: Random,
}

/// A part of the operations of one size, or of any.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PriorityShare {
    bytes: Option<u64>,
    percent: u64,
    value: u16,
}

impl Priorities {
    /// What a job asks for, if it asks at all.
    pub fn of(setup: &Setup<'_>) -> Option<Priorities> {
        let [read, write] = [0, 1].map(|direction| parts(setup.job, direction));
        if read.is_empty() && write.is_empty() {
            return None;
        }
        let random = Random::from_seed(setup.seed ^ 0x7072_696f, u64::from(setup.worker));
        Some(Priorities { read, write, random })
    }

    /// The priority of one operation; 0: that of the worker.
    #[inline(never)]
    pub fn draw(&mut self, verb: Verb, bytes: u64) -> u16 {
        let parts = if verb == Verb::Write { &self.write } else { &self.read };
        let mut draw = self.random.below(100);
        for part in parts.iter().filter(|part| part.bytes.is_none_or(|size| size == bytes)) {
            if draw < part.percent {
                return part.value;
            }
            draw -= part.percent;
        }
        0
    }
}

/// What is wrong with a job's settings.
pub fn check(job: &Job) -> Vec<Diagnostic> {
    let pair = |most: u64| {
        move |value: &str| value.split(',').all(|part| part.parse::<u64>().is_ok_and(|number| number <= most))
    };
    let mut wrong = check_values(job, &NAMES[..1], pair(3), "a class is 0 to 3");
    wrong.extend(check_values(job, &NAMES[1..2], pair(7), "a level is 0 to 7"));
    wrong.extend(check_values(job, &NAMES[2..3], pair(1023), "a hint is 0 to 1023"));
    wrong.extend(check_values(job, &NAMES[3..], pair(100), "say 0 to 100"));
    let split = |value: &str| {
        value.split(',').all(|direction| {
            // A direction without entries carries nothing.
            let entries = direction.split(':').filter(|entry| !entry.is_empty()).map(|entry| part(entry, 0));
            entries.collect::<Option<Vec<_>>>().is_some_and(|parts| {
                let of = |size| parts.iter().filter(move |part| part.bytes == size).map(|part| part.percent);
                parts.iter().all(|part| of(part.bytes).sum::<u64>() <= 100)
            })
        })
    };
    let hint = "write BYTES/PERCENT[/CLASS/LEVEL[/HINT]], entries joined by `:`; the parts of one size are at most 100 %";
    wrong.extend(check_values(job, &["priority_split"], split, hint));
    let at = |name: &str| job.settings.iter().find(|setting| setting.name == name);
    if let (Some(split), Some(_)) = (at("priority_split"), at("priority_percent")) {
        let message = "`priority_split` and `priority_percent` exclude each other";
        wrong.push(Diagnostic::error(&split.origin, message).hint("leave out one of them"));
    }
    wrong
}

/// The parts of one direction: 0 reads, 1 writes.
fn parts(job: &Job, direction: usize) -> Vec<PriorityShare> {
    let number = |name| setting(job, name).and_then(|text| of(text, direction)?.parse::<u16>().ok());
    let (class, level, hint) = (number(NAMES[0]), number(NAMES[1]), number(NAMES[2]));
    let percent = number(NAMES[3]);
    let split = setting(job, "priority_split");
    if class.is_none() && level.is_none() && percent.is_none() && split.is_none() {
        return Vec::new();
    }
    // A share of high-priority operations without more said is of real time, as fio has it.
    let class = class.unwrap_or(if level.is_some() { BEST_EFFORT } else { 1 });
    let value = value(class, hint.unwrap_or(0), level.unwrap_or(0));
    match split {
        Some(text) => {
            let text = text.split(',').nth(direction).unwrap_or_default();
            text.split(':').filter_map(|entry| part(entry, value)).collect()
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
fn part(text: &str, plain: u16) -> Option<PriorityShare> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Pattern, Pick, Setting, Workload};

    fn job(settings: &[(&str, &str)]) -> Job {
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let mut job = Job::new("j", "libaio", Vec::new(), Workload::Pattern(Box::new(pattern)));
        job.settings = settings.iter().map(|(name, value)| Setting::new(name, value)).collect();
        job
    }

    fn share(job: &Job, verb: Verb, bytes: u64, wanted: u16) -> u64 {
        let [read, write] = [0, 1].map(|direction| parts(job, direction));
        let mut all = Priorities { read, write, random: Random::from_seed(1, 2) };
        (0..10_000).filter(|_| all.draw(verb, bytes) == wanted).count() as u64 / 100
    }

    #[test]
    fn shares_are_drawn() {
        let all = job(&[("priority_class", "1"), ("priority", "3")]);
        assert_eq!(share(&all, Verb::Read, 1, 1 << 13 | 3), 100);
        let some = job(&[("priority_percent", "30,0"), ("priority_class", "1")]);
        assert!((27..=33).contains(&share(&some, Verb::Read, 4096, 1 << 13)));
        assert_eq!(share(&some, Verb::Write, 4096, 0), 100);
        let split = job(&[("priority_split", "4096/50/1/0:4096/25/3/7:8192/100/2/1/5")]);
        assert_eq!(check(&split), []);
        assert!((46..=54).contains(&share(&split, Verb::Read, 4096, 1 << 13)));
        assert!((21..=29).contains(&share(&split, Verb::Read, 4096, 3 << 13 | 7)));
        assert_eq!(share(&split, Verb::Read, 8192, 2 << 13 | 5 << 3 | 1), 100);
        assert_eq!(share(&split, Verb::Read, 512, 0), 100);
        assert_eq!(share(&split, Verb::Write, 8192, 0), 100);
    }

    #[test]
    fn nonsense_is_refused() {
        let wrong = [
            ("priority_class", "4"),
            ("priority", "8"),
            ("priority_percent", "101"),
            ("priority_split", "4096"),
            ("priority_split", "4096/60:4096/60"),
            ("priority_split", "4096/60/9/9"),
        ];
        for (name, value) in wrong {
            assert_eq!(check(&job(&[(name, value)])).len(), 1, "{name}={value}");
        }
    }
}
