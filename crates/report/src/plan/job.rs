//! A job in words: who, on what, what, how fast, from when, until when.

use iodyno_model::{
    Arrivals, BufferKind, Buffers, Cases, Criterion, Depth, Directed, ErrorPolicy, Exercise, ExerciseKind,
    Exit, ExitOn, ExitWhat, Finish, Hooks, Job, Journal, Kind, LatencyTarget, Limit, Measure, NumaMemory,
    NumaPolicy, Pace, Per, Phase, Place, Placement, Plan, Ranks, Rate, SAME_ID, SharedKind, SharedUse, Start,
    Steady, Submit, Tolerance, Verb, WorkerKind, Workload,
};

use super::exact::{bytes, many, number, time};
use super::{line, pattern, payload, script, target};

/// Appends all lines of a job.
pub(crate) fn print(plan: &Plan, phase: &Phase, job: &Job, out: &mut String) {
    line(out, 1, &head(job));
    let mut put = |text: &str| line(out, 2, text);
    for index in &job.targets {
        match plan.targets.get(*index) {
            Some(target) => put(&format!("on {}", target::line(target))),
            None => put(&format!("on target {index}, which is missing")),
        }
    }
    workload(plan, job).iter().for_each(|text| put(text));
    payload::lines(&job.payload).iter().for_each(|text| put(text));
    pace(phase, &job.pace).iter().for_each(|text| put(text));
    start(&job.start).iter().for_each(|text| put(text));
    until(job).iter().for_each(|text| put(text));
    finish(&job.finish).iter().for_each(|text| put(text));
    rest(job).iter().for_each(|text| put(text));
    measure(&job.measure).iter().for_each(|text| put(text));
}

/// What is written down beyond counts and latencies.
fn measure(measure: &Measure) -> Option<String> {
    let mut words = Vec::new();
    let mut say = |is: bool, text: String| words.extend(is.then_some(text));
    say(!measure.latency, "no latencies".into());
    say(measure.submission, "submission and completion apart".into());
    say(measure.batches, "batch sizes".into());
    say(measure.each, "each worker".into());
    say(measure.sample_ns > 0, format!("about one latency in {}", time(measure.sample_ns)));
    say(measure.row_ns > 0, format!("rows of {}", time(measure.row_ns)));
    if let Some(journal) = &measure.journal {
        say(journal.completions, "every completion".into());
        say(journal.starts, "every start".into());
        say(journal.window_ns > 0, format!("windows of {}", time(journal.window_ns)));
        say(journal.histogram_ns > 0, format!("distributions of {}", time(journal.histogram_ns)));
        say(*journal == Journal::default(), "an empty journal".into());
    }
    (!words.is_empty()).then(|| format!("written down: {}", words.join(", ")))
}

fn head(job: &Job) -> String {
    let kind = match (job.kind, job.workers) {
        (WorkerKind::Threads, 1) => "thread",
        (WorkerKind::Threads, _) => "threads",
        (WorkerKind::Processes, 1) => "process",
        (WorkerKind::Processes, _) => "processes",
    };
    let mut words = vec![
        format!("job \"{}\" ×{} {kind}", job.name, job.workers),
        job.engine.clone(),
        format!("depth {}", depth(&job.depth)),
    ];
    words.extend(job.settings.iter().map(|setting| format!("{} = {}", setting.name, setting.value)));
    words.join(" · ")
}

fn depth(depth: &Depth) -> String {
    let mut words = vec![depth.most.to_string()];
    if depth.submit_batch > 0 {
        words.push(format!("submitted {} at once", depth.submit_batch));
    }
    if depth.reap_least > 1 {
        words.push(format!("reaped {} at once", depth.reap_least));
    }
    if depth.reap_most > 0 {
        words.push(format!("reaped {} at most", depth.reap_most));
    }
    if depth.low > 0 {
        words.push(format!("refilled at {}", depth.low));
    }
    if depth.submit == Submit::Offload {
        words.push("handed over by helpers".into());
    }
    words.join(", ")
}

fn workload(plan: &Plan, job: &Job) -> Vec<String> {
    match &job.workload {
        Workload::Cases(written) => cases(plan, job, written),
        Workload::Exercise(written) => exercise(written),
        Workload::Pattern(pattern) => pattern::lines(pattern, job.seed),
        Workload::Script(written) => {
            let mut lines = script::lines(plan, job, written);
            lines.extend(job.seed.map(|seed| format!("seed {seed}")));
            lines
        }
        Workload::Trace(trace) => {
            let mut lines = script::trace(plan, job, trace);
            lines.extend(job.seed.map(|seed| format!("seed {seed}")));
            lines
        }
    }
}

/// More cases than this are named, and their steps left out.
const CASES_IN_FULL: usize = 8;

fn cases(plan: &Plan, job: &Job, cases: &Cases) -> Vec<String> {
    let mut lines = vec![format!(
        "{} · {} that they need · {} at a time",
        many(cases.cases.len() as u64, "case"),
        many(cases.features.len() as u64, "feature"),
        if cases.at_once == 0 { "as many as the machine carries".into() } else { cases.at_once.to_string() },
    )];
    if cases.limit_ns > 0 {
        lines.push(format!("each at most {}", time(cases.limit_ns)));
    }
    for case in &cases.cases {
        lines.push(format!("case {}", case.name));
        if cases.cases.len() <= CASES_IN_FULL {
            let steps = script::lines(plan, job, &case.script);
            lines.extend(steps.into_iter().map(|step| format!("  {step}")));
        }
    }
    lines
}

fn exercise(exercise: &Exercise) -> Vec<String> {
    let weights = exercise.weights.iter().map(|(name, weight)| format!("{name} {weight}"));
    let amount = |what: &str| match (exercise.script.len(), exercise.operations) {
        (0, 0) => format!("random {what}"),
        (0, operations) => format!("{operations} random {what}"),
        (lines, _) => format!("{what} of a script of {lines} lines"),
    };
    if exercise.kind == ExerciseKind::Names {
        return vec![
            format!("{} that some order of the calls must explain", amount("races for names")),
            weights.collect::<Vec<_>>().join(", "),
        ];
    }
    vec![
        format!("{} held against a model in memory", amount("operations")),
        format!(
            "file of at most {}, operations of at most {}",
            bytes(exercise.file_bytes),
            bytes(exercise.operation_bytes)
        ),
        weights.collect::<Vec<_>>().join(", "),
        format!("through {}", exercise.engines.join(", ")),
    ]
}

fn pace(phase: &Phase, pace: &Pace) -> Vec<String> {
    let mut lines = Vec::new();
    if pace.has_rate() {
        let all = (pace.rate_all != Rate::Unlimited).then(|| format!("{} each", rate(pace.rate_all)));
        let some = (pace.rate != Directed::default()).then(|| rates(&pace.rate));
        let both: Vec<_> = all.into_iter().chain(some).collect();
        lines.push(format!("at {}{}", both.join(", "), arrivals(pace)));
    } else if pace.arrivals != Arrivals::default() || pace.burst > 1 || !pace.open_loop {
        lines.push(format!("at any rate{}", arrivals(pace)));
    }
    if pace.rate_least != Directed::default() {
        let over = match pace.rate_window_ns {
            0 => String::new(),
            window_ns => format!(" over {}", time(window_ns)),
        };
        lines.push(format!("fails below {}{over}", rates(&pace.rate_least)));
    }
    lines.extend(pace.think.as_ref().map(pattern::think));
    lines.extend(pace.shared.iter().map(|used| gate(phase, used)));
    lines.extend(pace.latency_target.as_ref().map(latency_target));
    lines
}

fn arrivals(pace: &Pace) -> String {
    let mut text = String::new();
    if pace.burst > 1 {
        text.push_str(&format!(", {} at once", pace.burst));
    }
    if pace.arrivals == Arrivals::Poisson {
        text.push_str(", Poisson arrivals");
    }
    text.push_str(match pace.open_loop {
        true => ", open loop",
        false => ", closed loop",
    });
    if pace.think_shifts_rate {
        text.push_str(", pauses are not caught up");
    }
    text
}

fn rates(rates: &Directed<Rate>) -> String {
    let all = [("reads", rates.read), ("writes", rates.write), ("trims", rates.trim)];
    if all.iter().all(|(_, rate)| *rate == rates.read) {
        return format!("{} each in every direction", rate(rates.read));
    }
    let limited = all.iter().filter(|(_, rate)| *rate != Rate::Unlimited);
    limited.map(|(name, value)| format!("{name} {} each", rate(*value))).collect::<Vec<_>>().join(", ")
}

fn rate(rate: Rate) -> String {
    match rate {
        Rate::Unlimited => "any rate".into(),
        Rate::Operations(per_second) => format!("{} operations/s", number(per_second)),
        Rate::Bytes(per_second) => format!("{}/s", bytes(per_second)),
    }
}

fn gate(phase: &Phase, used: &SharedUse) -> String {
    let weights = phase
        .shared
        .iter()
        .any(|shared| shared.name == used.name && matches!(shared.kind, SharedKind::Weights { .. }));
    match (weights, used.per) {
        (true, _) => format!("weighs {}", script::amount(used).replacen(' ', " in ", 1)),
        (false, Per::Use) => format!("each operation takes {}", script::amount(used)),
        (false, _) => format!("takes {}", script::amount(used)),
    }
}

fn latency_target(target: &LatencyTarget) -> String {
    let keep = if target.keep { ", and stays there" } else { "" };
    format!(
        "seeks the depth at which {} % are faster than {} over {}{keep}",
        number(target.percent),
        time(target.latency_ns),
        time(target.window_ns)
    )
}

fn start(start: &Start) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(start.after_job.as_ref().map(|job| format!("after job \"{job}\" has ended")));
    if start.after_ns > 0 {
        words.push(format!("after {}", time(start.after_ns)));
    }
    if start.spread_ns > 0 {
        words.push(format!("plus up to {}", time(start.spread_ns)));
    }
    let mut lines = Vec::new();
    if !words.is_empty() {
        lines.push(format!("starts {}", words.join(", ")));
    }
    lines.extend(start.clock_id.map(|id| format!("its beginning is told by clock {id}")));
    let begin: Vec<_> =
        [(start.open, "opening is measured"), (start.barrier, "all wait for each other after opening")]
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, word)| *word)
            .collect();
    if !begin.is_empty() {
        lines.push(begin.join(", "));
    }
    lines
}

/// What a worker is said to have done with its bytes.
fn done(job: &Job) -> &'static str {
    let Workload::Pattern(pattern) = &job.workload else { return "moved" };
    let only = |kind: Kind| pattern.mix.shares.iter().all(|share| share.verb.kind() == kind);
    let verb = |verb: Verb| pattern.mix.shares.iter().all(|share| share.verb == verb);
    match () {
        () if only(Kind::Read) => "read",
        () if only(Kind::Write) => "wrote",
        () if only(Kind::Trim) => "trimmed",
        () if verb(Verb::Send) => "sent",
        () if verb(Verb::Recv) => "received",
        () => "moved",
    }
}

fn until(job: &Job) -> Vec<String> {
    let limit = &job.limit;
    let who = if limit.together { "all together" } else { "each" };
    let mut ends = Vec::new();
    ends.extend(limit.time_ns.map(time));
    ends.extend(limit.bytes.map(|most| format!("{who} {} {}", done(job), bytes(most))));
    ends.extend(limit.operations.map(|most| format!("{who} did {}", many(most, "operation"))));
    ends.extend(limit.passes.map(|most| match most {
        u64::MAX => "the script itself ends".into(),
        most => format!("each did {}", many(most, "pass").replace("passs", "passes")),
    }));
    ends.extend(limit.as_phase.as_ref().map(|phase| format!("each did as many as in phase \"{phase}\"")));
    ends.extend(limit.steady.as_ref().map(steady));
    if limit.until_full {
        ends.push("no space is left".into());
    }
    let mut lines = vec![match ends.is_empty() {
        true => "for one pass".to_string(),
        false => format!("until {}", ends.join(", or ")),
    }];
    if limit.least_ns > 0 {
        lines.push(format!("then again from the start, until {} have passed", time(limit.least_ns)));
    }
    lines.extend(after_time(limit));
    lines
}

fn after_time(limit: &Limit) -> Vec<String> {
    let mut lines = Vec::new();
    if limit.wear_out {
        lines.push("then the slower ones go on until they did as much as the fastest".into());
    }
    if limit.ramp_ns > 0 {
        lines.push(format!("the first {} are not counted", time(limit.ramp_ns)));
    }
    if limit.ramp_bytes > 0 {
        lines.push(format!("the first {} are not counted", bytes(limit.ramp_bytes)));
    }
    lines.extend(too_slow(&limit.latency_ns));
    lines
}

fn too_slow(most: &Directed<u64>) -> Option<String> {
    let all = [("reads", most.read), ("writes", most.write), ("trims", most.trim)];
    if all.iter().all(|(_, ns)| *ns == most.read) {
        return (most.read > 0).then(|| format!("fails at one slower than {}", time(most.read)));
    }
    let limited = all.iter().filter(|(_, ns)| *ns > 0).map(|(name, ns)| format!("{name} {}", time(*ns)));
    Some(format!("fails at one slower than {}", limited.collect::<Vec<_>>().join(", ")))
}

fn steady(steady: &Steady) -> String {
    let (what, limit) = match (steady.criterion, steady.percent) {
        (Criterion::Operations, false) => ("operations/s", format!("{}/s", number(steady.limit))),
        (Criterion::Bytes, false) => ("bytes/s", format!("{}/s", bytes(steady.limit as u64))),
        (Criterion::Latency, false) => ("mean latency", time(steady.limit as u64)),
        (Criterion::Operations, true) => ("operations/s", format!("{} %", number(steady.limit))),
        (Criterion::Bytes, true) => ("bytes/s", format!("{} %", number(steady.limit))),
        (Criterion::Latency, true) => ("mean latency", format!("{} %", number(steady.limit))),
    };
    let how = if steady.slope { "slope" } else { "deviation" };
    let ramp = match steady.ramp_ns {
        0 => String::new(),
        ramp_ns => format!(", the first {} aside", time(ramp_ns)),
    };
    let (window, interval) = (time(steady.window_ns), time(steady.interval_ns));
    format!("the {how} of {what} stays below {limit} over {window} in steps of {interval}{ramp}")
}

fn finish(finish: &Finish) -> Option<String> {
    let mut words = Vec::new();
    words.extend(finish.sync.map(|verb| verb.to_string()));
    if finish.barrier {
        words.push("all wait for each other".into());
    }
    if finish.close {
        words.push("close".into());
    }
    (!words.is_empty()).then(|| format!("then {}, measured", words.join(", ")))
}

fn rest(job: &Job) -> Vec<String> {
    let mut lines = placement(&job.placement);
    lines.extend(buffers(&job.buffers));
    lines.extend(hooks(&job.hooks));
    match job.ranks {
        Ranks::All => {}
        Ranks::First(count) => lines.push(format!("on the first {}", many(count.into(), "rank"))),
        Ranks::Workers(count) => {
            lines.push(format!("the first {} of all ranks", many(count.into(), "worker")))
        }
        Ranks::Only(rank) => lines.push(format!("on rank {rank} only")),
    }
    lines.extend(place(job.place));
    match &job.errors {
        ErrorPolicy::Stop => {}
        ErrorPolicy::Continue => lines.push("errors are counted, it goes on".into()),
        ErrorPolicy::AtMost(most) => lines.push(format!("goes on over at most {}", many(*most, "error"))),
        ErrorPolicy::Tolerate(tolerance) => lines.push(tolerated(tolerance)),
    }
    lines.extend(job.group.as_ref().map(|group| format!("reported in group \"{group}\"")));
    if job.set > 0 {
        lines.push(format!("of set {}", job.set));
    }
    lines.extend(job.exit.map(exit));
    lines
}

fn tolerated(tolerance: &Tolerance) -> String {
    let all = [
        ("reads", &tolerance.read),
        ("writes", &tolerance.write),
        ("trims", &tolerance.trim),
        ("verify", &tolerance.verify),
    ];
    let survived = all.iter().filter(|(_, numbers)| !numbers.is_empty()).map(|(name, numbers)| {
        format!("{name} {}", numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    });
    format!("goes on over error numbers: {}", survived.collect::<Vec<_>>().join(", "))
}

fn exit(exit: Exit) -> String {
    let on = match exit.on {
        ExitOn::End => "a worker that ends",
        ExitOn::Error => "a worker that fails",
    };
    let what = match exit.what {
        ExitWhat::Set => "its set",
        ExitWhat::Phase => "the phase",
        ExitWhat::Run => "the run",
    };
    format!("{on} ends {what}")
}

fn placement(placement: &Placement) -> Vec<String> {
    let mut words = Vec::new();
    if !placement.cpus.is_empty() {
        let spread = if placement.spread { ", one for each worker" } else { "" };
        words.push(format!("on CPUs {}{spread}", numbers(&placement.cpus)));
    } else if placement.spread {
        words.push("one CPU for each worker".into());
    }
    if !placement.numa_cpu_nodes.is_empty() {
        words.push(format!("on the CPUs of NUMA nodes {}", numbers(&placement.numa_cpu_nodes)));
    }
    words.extend(placement.numa_memory.as_ref().map(numa));
    words.extend(placement.nice.map(|nice| format!("nice {nice}")));
    words.extend(
        placement.io_priority.map(|(class, level)| format!("I/O priority class {class} level {level}")),
    );
    words.extend(placement.worker_name.as_ref().map(|name| format!("called {name}")));
    if placement.io_priority_hint > 0 {
        words.push(format!("I/O priority hint {}", placement.io_priority_hint));
    }
    words.extend(placement.identity.map(|(user, group)| match (user, group) {
        (SAME_ID, group) => format!("as group {group}"),
        (user, SAME_ID) => format!("as user {user}"),
        (user, group) => format!("as user {user} group {group}"),
    }));
    words.extend(placement.cgroup.as_ref().map(|group| {
        let weight = group.weight.map_or_else(String::new, |weight| format!(", weight {weight}"));
        format!("in cgroup {}{weight}{}", group.path, if group.keep { ", kept" } else { "" })
    }));
    words.extend(placement.io_scheduler.as_ref().map(|name| format!("I/O scheduler {name}")));
    match words.is_empty() {
        true => Vec::new(),
        false => vec![words.join(" · ")],
    }
}

fn numbers(all: &[u32]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn numa(memory: &NumaMemory) -> String {
    let node = match memory.nodes.len() {
        0 => {
            return match memory.policy {
                NumaPolicy::Standard => "memory as the system has it".into(),
                NumaPolicy::Interleave => "memory of all NUMA nodes in turn".into(),
                _ => "memory of the local NUMA node".into(),
            };
        }
        1 => format!("memory of NUMA node {}", numbers(&memory.nodes)),
        _ => format!("memory of NUMA nodes {}", numbers(&memory.nodes)),
    };
    match memory.policy {
        NumaPolicy::Prefer => format!("{node} if possible"),
        NumaPolicy::Interleave => format!("{node} in turn"),
        _ => node,
    }
}

fn buffers(buffers: &Buffers) -> Vec<String> {
    let mut words = Vec::new();
    let file = buffers.file.as_ref().map_or_else(String::new, |file| format!(" of {file}"));
    let huge = if buffers.huge_pages { ", huge pages" } else { "" };
    match buffers.kind {
        BufferKind::Mapping if file.is_empty() && huge.is_empty() => {}
        BufferKind::Mapping => words.push(format!("buffers in a mapping{file}{huge}")),
        BufferKind::Heap => words.push("buffers on the heap".into()),
        BufferKind::SharedMapping => words.push(format!("buffers in a shared mapping{file}{huge}")),
        BufferKind::Segment => words.push(format!("buffers in a shared memory segment{huge}")),
    }
    if buffers.huge_page_bytes > 0 {
        words.push(format!("pages of {}", bytes(buffers.huge_page_bytes)));
    }
    if buffers.align_bytes > 0 {
        words.push(format!("buffers aligned to {}", bytes(buffers.align_bytes)));
    }
    if buffers.locked_bytes > 0 {
        words.push(format!("{} of memory locked besides", bytes(buffers.locked_bytes)));
    }
    if buffers.arena_bytes > 0 {
        words.push(format!("data anywhere in {}", bytes(buffers.arena_bytes)));
    }
    if buffers.held_bytes > 0 {
        words.push(format!("{} of memory held besides", bytes(buffers.held_bytes)));
    }
    if buffers.turns > 1 {
        words.push(format!("{} buffers in turn", buffers.turns));
    }
    if words.is_empty() { Vec::new() } else { vec![words.join(" · ")] }
}

fn hooks(hooks: &Hooks) -> Vec<String> {
    let before = hooks.before.iter().map(|command| format!("before it: {command}"));
    before.chain(hooks.after.iter().map(|command| format!("after it: {command}"))).collect()
}

fn place(place: Place) -> Option<String> {
    let whose = match place {
        Place::Own => return None,
        Place::ShiftRanks(by) => format!("of the worker {by} further"),
        Place::ShiftNodes(by) => {
            format!("of the worker at the same place {} further", many(by.into(), "node"))
        }
        Place::RandomAway(least) => {
            format!("of a random worker at least {} away", many(least.into(), "node"))
        }
        Place::Permuted => "of another worker each, permuted".into(),
    };
    Some(format!("works on the data {whose}"))
}
