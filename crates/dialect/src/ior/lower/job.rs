//! One phase's job: N tasks, what each does, on whose data, until when.

use iodyno_model::{
    Buffers, Content, ErrorPolicy, Every, Finish, Item, Job, Journal, Limit, Marks, Measure, Operation, Pace,
    Pattern, Payload, PayloadMarks, Pick, Place, Script, Stamp, Start, Think, Tolerance, Verb, Verify,
    Workload, tally,
};

use super::engine;
use crate::ior::test::IorTest;
use crate::ior::view::Access;

/// The job of a phase; the phase that writes what it reads is named.
pub fn job(test: &IorTest, repetition: u32, access: Access, target: usize, write_name: &str) -> Job {
    let workers = if test.launched { test.threads } else { test.tasks };
    if access == Access::Remove {
        return removal(test, workers, target);
    }
    let workload = Workload::Pattern(Box::new(pattern(test, access)));
    let place = place(test, access);
    let is_opened = engine::is_opened(test);
    let drawn = test.flag("randomOffset") || matches!(place, Place::RandomAway(_) | Place::Permuted);
    Job {
        workers,
        seed: (drawn && access != Access::Prefill).then(|| seed(test, repetition)),
        settings: engine::settings(test),
        depth: engine::depth(test),
        pace: pace(test, access),
        limit: limit(test, access, write_name),
        start: Start { open: is_opened, barrier: test.flag("intraTestBarriers"), ..Start::default() },
        payload: payload(test, access),
        buffers: Buffers { held_bytes: test.hog_bytes, ..Buffers::default() },
        place,
        errors: errors(test),
        finish: Finish {
            sync: (access == Access::Write && test.flag("fsync") && engine::is_synced(test))
                .then_some(Verb::Fsync),
            close: is_opened,
            barrier: test.flag("intraTestBarriers"),
        },
        measure: measure(test, access),
        ..Job::new(access.name(), engine::name(test), vec![target], workload)
    }
}

/// Every transfer is written down where that is asked for; otherwise fast ones are timed now and then, so that the clock
/// does not cost more than they do.
fn measure(test: &IorTest, access: Access) -> Measure {
    let asked = test.settings.text("savePerOpDataCSV").is_some();
    let journal = asked && matches!(access, Access::Write | Access::Read);
    Measure {
        sample_ns: if journal { 0 } else { SAMPLE_NS },
        journal: journal.then(|| Journal { completions: true, ..Journal::default() }),
        ..Measure::default()
    }
}

/// Of transfers that follow each other faster than this about one is timed in this time, ns.
const SAMPLE_NS: u64 = 100_000;

/// Each task removes its own file; of a file that all share, the first does.
fn removal(test: &IorTest, workers: u32, target: usize) -> Job {
    let limit = Limit { passes: Some(1), ..Limit::default() };
    let workers = if test.is_file_per_task() || test.launched { workers } else { 1 };
    if engine::store(test).is_some() {
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Unlink, Pick::Sequential, 0)));
        let settings = engine::settings(test);
        return Job {
            workers,
            limit,
            settings,
            ..Job::new("remove", engine::name(test), vec![target], workload)
        };
    }
    let unlink = Operation { item: Item::Index(0), ..Operation::on(Verb::Unlink, 0) };
    let script = Script { steps: vec![unlink.step("unlink")], ..Script::default() };
    Job { workers, limit, ..Job::new("remove", "psync", vec![target], Workload::Script(script)) }
}

fn pattern(test: &IorTest, access: Access) -> Pattern {
    let verb = if matches!(access, Access::Write | Access::Prefill) { Verb::Write } else { Verb::Read };
    let transfer = if access == Access::Prefill { test.count("randomPrefill") } else { test.transfer };
    let anywhere = test.is_anywhere() && access != Access::Prefill;
    let own = test.is_file_per_task();
    let random = test.flag("randomOffset") && access != Access::Prefill;
    let pick = match (anywhere, test.block / transfer) {
        (true, 1) => Pick::Uniform,
        (true, run) => {
            Pick::Runs { operations: run.min(u64::from(u32::MAX)) as u32, pick: Box::new(Pick::Uniform) }
        }
        // Blocks of a file of one's own lie side by side.
        (false, _) => Pick::Segmented {
            block_bytes: test.block,
            count: test.segments,
            stride_bytes: if own { test.block } else { 0 },
            shuffled: random,
        },
    };
    let syncs = verb == Verb::Write && test.flag("fsyncPerWrite") && engine::is_synced(test);
    let every = syncs.then(|| Every::new(Verb::Fsync, 1));
    let pattern = Pattern { every: every.into_iter().collect(), ..Pattern::of(verb, pick, transfer) };
    match anywhere {
        true => Pattern { coverage: iodyno_model::Coverage::Repeating, ..pattern },
        false => pattern,
    }
}

/// Whose data: with -C that of the task so many nodes further, or on one node so many tasks further; a check of what was
/// written goes one further than the read.
fn place(test: &IorTest, access: Access) -> Place {
    let further = match access {
        Access::Write | Access::Prefill | Access::Remove => return Place::Own,
        Access::Check => 1,
        Access::Read => 0,
    };
    let distance = test.count("taskPerNodeOffset").min(u64::from(u32::MAX - 1)) as u32;
    if test.flag("reorderTasks") {
        let distance = distance + further;
        let told = test.settings.is_given("numTasksOnNode0") && test.on_first_node < test.tasks;
        return match (test.nodes, told) {
            (1, _) if distance.is_multiple_of(test.tasks.max(1)) => Place::Own,
            (1, _) => Place::ShiftRanks(distance % test.tasks.max(1)),
            (_, true) => Place::ShiftRanks(distance.saturating_mul(test.on_first_node)),
            _ => Place::ShiftNodes(distance),
        };
    }
    match test.settings.number("reorderTasksRandom") {
        ..=0 => Place::Own,
        1 => Place::RandomAway(if test.nodes > 1 { distance } else { 0 }),
        _ => Place::Permuted,
    }
}

/// The seed of what chance decides: -X and the repetition where it is negative, or that of -z, or the clock.
fn seed(test: &IorTest, repetition: u32) -> u64 {
    let places = test.settings.number("reorderTasksRandomSeed");
    let offsets = test.settings.number("random-offset-seed");
    match (places, offsets) {
        (1.., _) => places as u64,
        (..=-1, _) => places.unsigned_abs() + u64::from(repetition),
        (0, 0..) => offsets as u64,
        (0, _) => test.now_unix_ns / 1_000_000_000 + u64::from(repetition),
    }
}

fn pace(test: &IorTest, access: Access) -> Pace {
    let sleep_ns = test.count("interIODelay").saturating_mul(1000);
    let rests = sleep_ns > 0 && matches!(access, Access::Write | Access::Read);
    Pace { think: rests.then(|| Think { sleep_ns, every: 1, ..Think::default() }), ..Pace::default() }
}

fn limit(test: &IorTest, access: Access, write_name: &str) -> Limit {
    let seconds = |name: &str| test.count(name).saturating_mul(1_000_000_000);
    let deadline = seconds("deadlineForStonewalling");
    let stopped = test.count("stoneWallingWearOutIterations");
    let stopped = if access == Access::Prefill {
        0
    } else if stopped > 0 {
        stopped
    } else {
        test.worn
    };
    let operations = match stopped {
        0 if test.is_anywhere() && access != Access::Prefill => Some(test.task_transfers()),
        0 => None,
        stopped => Some(stopped),
    };
    let timed = access != Access::Check && deadline > 0;
    // What the time cut off was not written, and is not read.
    let written = test.write
        && test.count("deadlineForStonewalling") > 0
        && !matches!(access, Access::Write | Access::Prefill);
    Limit {
        time_ns: timed.then_some(deadline),
        // Places anywhere in a file come again: how many are drawn is said, not when all were met.
        passes: (!test.is_anywhere() || access == Access::Prefill).then_some(1),
        operations,
        as_phase: written.then(|| write_name.to_string()),
        wear_out: access == Access::Write && test.flag("stoneWallingWearOut"),
        least_ns: match access {
            Access::Write | Access::Read => seconds("minTimeDuration"),
            _ => 0,
        },
        ..Limit::default()
    }
}

fn payload(test: &IorTest, access: Access) -> Payload {
    let compares = match access {
        Access::Check => true,
        Access::Read => test.check_read,
        Access::Write | Access::Prefill | Access::Remove => false,
    };
    if access == Access::Read && !compares {
        return Payload::default();
    }
    let marks = match test.settings.text("dataPacketType") {
        _ if test.flag("storeFileOffset") => Marks::Placed,
        Some("offset") => Marks::Placed,
        Some("random") => Marks::Drawn,
        Some("incompressible") => Marks::DrawnOnce,
        _ => Marks::Counted,
    };
    let verify = Verify { stamp: Stamp::Content, fatal: test.flag("quitOnError"), ..Verify::default() };
    Payload {
        content: Content::Marked(PayloadMarks { marks, signature: test.signature }),
        verify: compares.then_some(verify),
        ..Payload::default()
    }
}

/// Wrong bytes are counted and reported, and the run goes on; anything else ends it.
fn errors(test: &IorTest) -> ErrorPolicy {
    match test.flag("quitOnError") {
        true => ErrorPolicy::Stop,
        false => ErrorPolicy::Tolerate(Box::new(Tolerance {
            verify: vec![tally::ILLEGAL_CONTENT],
            ..Tolerance::default()
        })),
    }
}
