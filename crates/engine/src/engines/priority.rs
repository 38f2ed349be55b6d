//! I/O priorities of single operations, for the engines that can carry them: always the same, for a drawn part of the
//! operations, or by their size. Which operation carries which is drawn by its source.

use iodyno_model::{Diagnostic, Job};

use super::{SettingSpec, check_values, spec};
use crate::priorities::share;
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
            let entries = direction.split(':').filter(|entry| !entry.is_empty()).map(|entry| share(entry, 0));
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

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Pattern, Pick, Setting, Verb, Workload};

    fn job(settings: &[(&str, &str)]) -> Job {
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let mut job = Job::new("j", "libaio", Vec::new(), Workload::Pattern(Box::new(pattern)));
        job.settings = settings.iter().map(|(name, value)| Setting::new(name, value)).collect();
        job
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
