//! What went wrong or is odd, as IOR warns of it, and where every corrupt byte lies, as it does not.

use iodyno_model::{Diagnostic, Fatal, Origin, PhaseRecord, Plan, WorkerRecord, WorldFacts, tally};

use super::outcome::{PhaseOutcome, Task};
use crate::ior::test::IorTest;
use crate::ior::view::{Access, TestPhase};
use crate::strerror::of_system as reason;

/// An error for standard error: its place, what is wrong, a hint.
pub fn message_text(wrong: &Diagnostic) -> String {
    let place = if wrong.origin == Origin::Default { String::new() } else { format!("{}: ", wrong.origin) };
    let hint = wrong.hint.as_ref().map(|hint| format!(" hint: {hint}\n")).unwrap_or_default();
    format!("ERROR: {place}{}\n{hint}", wrong.message)
}

/// What a phase did not move although nothing else failed, for standard error: a file that is too short ends the original
/// with an error.
pub fn cut_short(phase: &PhaseRecord, part: TestPhase, test: &IorTest) -> String {
    let Some(missing) = missing(phase, part, test) else { return String::new() };
    let short = phase.jobs.iter().flat_map(|job| &job.tally.lines).map(|line| line.short).sum::<u64>();
    if short == 0 {
        return String::new();
    }
    let what = part.access.name();
    format!(
        "ERROR: {what}: {short} transfers ended early, and {missing} bytes of {} are missing: write them first (-w -k), \
         or ask for fewer (-b, -s)\n",
        test.aggregate()
    )
}

/// The tasks that an operation's error ended, the first few of each error, for standard error.
pub fn ended(phase: &PhaseRecord, plan: &Plan, part: TestPhase, test: &IorTest) -> String {
    let mut seen: Vec<(i32, usize)> = Vec::new();
    let mut text = String::new();
    for worker in phase.jobs.iter().flat_map(|job| &job.workers) {
        let Some(fatal) = worker.fatal.as_ref().filter(|_| worker.failure.is_none()) else { continue };
        let at = seen.iter().position(|(errno, _)| *errno == fatal.errno).unwrap_or_else(|| {
            seen.push((fatal.errno, 0));
            seen.len() - 1
        });
        seen[at].1 += 1;
        if seen[at].1 <= MOST_ALIKE {
            let target = fatal.target.and_then(|target| plan.targets.get(target as usize));
            let name = target.map_or(String::new(), |target| named(&target.name, worker.index, part, test));
            text += &format!("ERROR: task {}: {}\n", worker.index, cause(fatal, &name));
        }
    }
    for (errno, count) in seen.iter().filter(|(_, count)| *count > MOST_ALIKE) {
        text += &format!("ERROR: {} more tasks: {}\n", count - MOST_ALIKE, word(*errno));
    }
    text
}

/// So many tasks are listed by number for one error.
const MOST_ALIKE: usize = 4;

/// A task's own file by its name; where tasks read each other's, whichever it was.
fn named(template: &str, task: u32, part: TestPhase, test: &IorTest) -> String {
    let moves = ["reorderTasks", "reorderTasksRandom"].iter().any(|flag| test.flag(flag));
    let number = |width: usize| match moves && part.access != Access::Write {
        true => "*".to_string(),
        false => format!("{task:0width$}"),
    };
    let mut name = template.replace("{worker:08}", &number(8)).replace("{worker}", &number(0));
    name = name.replace("{repetition}", &part.repetition.to_string());
    let Some((before, list, after)) = name
        .split_once("{worker:")
        .and_then(|(before, rest)| rest.split_once('}').map(|(list, after)| (before, list, after)))
    else {
        return name;
    };
    let words: Vec<&str> = list.split('|').collect();
    format!("{before}{}{after}", words[task as usize % words.len()])
}

fn cause(fatal: &Fatal, name: &str) -> String {
    match fatal.verb {
        Some(verb) if verb.moves_data() => {
            format!("{verb} of {} bytes at {} of {name}: {}", fatal.bytes, fatal.offset, word(fatal.errno))
        }
        Some(verb) => format!("{verb} of {name}: {}", word(fatal.errno)),
        None => format!("{name}: {}", word(fatal.errno)),
    }
}

fn word(errno: i32) -> String {
    match (tally::corruption(errno), errno) {
        (Some(_), _) => "not what was written".into(),
        (None, 0) => "fewer bytes than asked for".into(),
        (None, errno) => reason(errno),
    }
}

/// Bytes that were to be moved and were not, although no deadline stopped the phase.
pub fn missing(phase: &PhaseRecord, part: TestPhase, test: &IorTest) -> Option<u64> {
    let deadline = test.count("deadlineForStonewalling") > 0 && part.access != Access::Check;
    if matches!(part.access, Access::Remove | Access::Prefill) || deadline {
        return None;
    }
    let moved = PhaseOutcome::of(phase, part, test).bytes;
    let expected = expected(test, part.access)?;
    (moved < expected).then(|| expected - moved)
}

/// Bytes that a phase is to move in all; none: it is not known.
fn expected(test: &IorTest, access: Access) -> Option<u64> {
    let iterations = match test.count("stoneWallingWearOutIterations") {
        0 => test.worn,
        said => said,
    };
    match access {
        Access::Check if test.count("deadlineForStonewalling") > 0 => None,
        _ if iterations > 0 => {
            let each = iterations.saturating_mul(test.transfer).min(test.task_bytes());
            Some(each.saturating_mul(u64::from(test.tasks)))
        }
        _ => Some(test.aggregate()),
    }
}

/// Warnings of a phase, without the word.
pub fn warnings(
    phase: &PhaseRecord,
    outcome: &PhaseOutcome,
    part: TestPhase,
    test: &IorTest,
    world: &WorldFacts,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if matches!(part.access, Access::Remove | Access::Prefill) {
        return warnings;
    }
    let deadline = test.count("deadlineForStonewalling") > 0;
    let aggregate = test.aggregate();
    if outcome.bytes != aggregate && test.count("minTimeDuration") == 0 {
        warnings.push(format!("Expected aggregate file size       = {aggregate}"));
        warnings.push(format!("Using actual aggregate bytes moved = {}", outcome.bytes));
        if deadline {
            warnings.push("Maybe caused by deadlineForStonewalling".into());
        }
    }
    if outcome.failed > 0 {
        warnings.push(format!("{} operations failed", outcome.failed));
    }
    if outcome.corrupt > 0 {
        let what = if part.access == Access::Check { "write" } else { "read" };
        warnings.push(format!("Incorrect data on {what} ({} errors found).", outcome.corrupt));
        warnings.extend(phase.jobs.iter().flat_map(|job| &job.workers).flat_map(ranges));
    }
    warnings.extend(outliers(outcome, part, test, world));
    warnings
}

/// Where each range lies that is not what was written, what should be there and what is.
fn ranges(worker: &WorkerRecord) -> Vec<String> {
    let told = |mismatch: &iodyno_model::verify::Mismatch| {
        let last = mismatch.offset + mismatch.bytes.max(1) - 1;
        format!(
            "{}: bytes {} to {last} ({}): expected {}, found {}",
            mismatch.file, mismatch.offset, mismatch.bytes, mismatch.expected, mismatch.found
        )
    };
    let mut lines: Vec<String> = worker.mismatches.iter().map(told).collect();
    let more = worker.corrupt_ranges.saturating_sub(worker.mismatches.len() as u64);
    if more > 0 {
        lines.push(format!(
            "task {}: {more} more ranges; {} wrong bytes in all",
            worker.index, worker.corrupt_bytes
        ));
    }
    lines
}

/// One of a task's times, in seconds.
type Time = fn(&Task) -> f64;

/// Tasks whose times are further from the mean than `-j` allows, with their hosts.
fn outliers(outcome: &PhaseOutcome, part: TestPhase, test: &IorTest, world: &WorldFacts) -> Vec<String> {
    let most = test.count("outlierThreshold") as f64;
    if most == 0.0 || outcome.tasks.is_empty() {
        return Vec::new();
    }
    let what: [(&str, Time); 5] = [
        ("start time", |task| task.open.0),
        ("elapsed create time", |task| task.open.1 - task.open.0),
        ("elapsed transfer time", |task| task.transfer.1 - task.transfer.0),
        ("elapsed close time", |task| task.close.1 - task.close.0),
        ("end time", |task| task.close.1),
    ];
    let mut warnings = Vec::new();
    for (name, of) in what {
        let values: Vec<f64> = outcome.tasks.iter().map(of).collect();
        let spread = super::number::spread(&values);
        for (task, value) in
            outcome.tasks.iter().zip(values).filter(|(_, value)| (value - spread.mean).abs() > most)
        {
            warnings.push(format!(
                "for {}, task {}, {} {name} is {value:.6} (mean={:.6}, stddev={:.6})",
                world.host(task.rank),
                task.number,
                part.access.name(),
                spread.mean,
                spread.deviation
            ));
        }
    }
    warnings
}
