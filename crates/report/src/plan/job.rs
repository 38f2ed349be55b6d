//! A job in words: who, on what, what, how fast, from when, until when.

use iodyno_model::{
    BufferKind, Buffers, Cases, Criterion, Depth, Exercise, ExerciseKind, Job, Kind, LatencyTarget, Measure,
    NumaMemory, NumaPolicy, Pace, Per, PerDirection, Phase, Placement, Plan, Rate, SAME_ID, SharedKind,
    SharedUse, Start, Steady, Verb, WorkerKind, Workload,
};

use super::exact::{bytes, many, number, time};
use super::phrase::{phrases, word};
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
    let finish = phrases(&job.finish, "sync barrier close").join(", ");
    if !finish.is_empty() {
        put(&format!("then {finish}, measured"));
    }
    conditions(job).iter().for_each(|text| put(text));
    let measured = measured(&job.measure);
    if !measured.is_empty() {
        put(&format!("written down: {}", measured.join(", ")));
    }
}

/// What is written down beyond counts and latencies.
fn measured(measure: &Measure) -> Vec<String> {
    let mut words = Vec::new();
    words.extend((!measure.latency).then(|| "no latencies".into()));
    words.extend(phrases(measure, "submission batches each health sample_ns row_ns journal"));
    words
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
    words.extend(phrases(depth, "submit_batch"));
    words.extend((depth.reap_least > 1).then(|| format!("reaped {} at once", depth.reap_least)));
    words.extend(phrases(depth, "reap_most low submit"));
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
        let some = (pace.rate != PerDirection::default()).then(|| rates(&pace.rate));
        let part = pace
            .share
            .as_ref()
            .map(|share| format!("{} % of the rate in phase \"{}\"", share.percent, share.phase));
        let both: Vec<_> = all.into_iter().chain(some).chain(part).collect();
        lines.push(format!("at {}{}", both.join(", "), arrivals(pace)));
    } else if pace.arrivals != Default::default() || pace.burst > 1 || !pace.open_loop {
        lines.push(format!("at any rate{}", arrivals(pace)));
    }
    if pace.rate_least != PerDirection::default() {
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
    let mut words = Vec::new();
    words.extend((pace.burst > 1).then(|| format!("{} at once", pace.burst)));
    words.extend(phrases(pace, "arrivals"));
    words.push(if pace.open_loop { "open loop".into() } else { "closed loop".into() });
    words.extend(phrases(pace, "think_shifts_rate"));
    words.iter().map(|word| format!(", {word}")).collect()
}

fn rates(rates: &PerDirection<Rate>) -> String {
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
    let mut lines = Vec::new();
    let when = phrases(start, "after_job after_ns spread_ns").join(", ");
    lines.extend((!when.is_empty()).then(|| format!("starts {when}")));
    lines.extend(phrases(start, "clock_id"));
    let begin = phrases(start, "open barrier").join(", ");
    lines.extend((!begin.is_empty()).then_some(begin));
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
    let mut ends = Vec::new();
    ends.extend(phrases(limit, "time_ns"));
    ends.extend(limit.bytes.map(|most| format!("each {} {}", done(job), bytes(most))));
    ends.extend(phrases(limit, "operations"));
    ends.extend(limit.passes.map(|most| match most {
        u64::MAX => "the script itself ends".into(),
        most => format!("each did {}", many(most, "pass").replace("passs", "passes")),
    }));
    ends.extend(phrases(limit, "as_phase"));
    ends.extend(limit.steady.as_ref().map(steady));
    ends.extend(phrases(limit, "until_full"));
    let mut lines = vec![match ends.is_empty() {
        true => "for one pass".to_string(),
        false => format!("until {}", ends.join(", or ")),
    }];
    lines.extend(phrases(limit, "least_ns wear_out ramp_ns ramp_bytes"));
    lines.extend(too_slow(&limit.latency_ns));
    lines
}

fn too_slow(most: &PerDirection<u64>) -> Option<String> {
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

fn conditions(job: &Job) -> Vec<String> {
    let mut lines = placement(&job.placement);
    lines.extend(buffers(&job.buffers));
    lines.extend(phrases(&job.hooks, "before after"));
    lines.extend(phrases(job, "ranks place errors group set"));
    lines.extend(job.exit.map(|exit| format!("{} ends {}", word(&exit.on), word(&exit.what))));
    lines
}

fn placement(placement: &Placement) -> Vec<String> {
    let mut words = Vec::new();
    if !placement.cpus.is_empty() {
        let spread = if placement.spread { ", one for each worker" } else { "" };
        words.push(format!("on CPUs {}{spread}", numbers(&placement.cpus)));
    } else if placement.spread {
        words.push("one CPU for each worker".into());
    }
    words.extend(phrases(placement, "numa_cpu_nodes"));
    words.extend(placement.numa_memory.as_ref().map(numa));
    words.extend(phrases(placement, "nice io_priority worker_name io_priority_hint"));
    words.extend(placement.identity.map(|(user, group)| match (user, group) {
        (SAME_ID, group) => format!("as group {group}"),
        (user, SAME_ID) => format!("as user {user}"),
        (user, group) => format!("as user {user} group {group}"),
    }));
    words.extend(phrases(placement, "cgroup io_scheduler"));
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
    words.extend(phrases(buffers, "huge_page_bytes align_bytes locked_bytes arena_bytes held_bytes"));
    if buffers.turns > 1 {
        words.push(format!("{} buffers in turn", buffers.turns));
    }
    if words.is_empty() { Vec::new() } else { vec![words.join(" · ")] }
}
