//! `[[phase.job]]`: who does what to which target.

use iodyno_model::{
    BufferKind, Buffers, ControlGroup, Depth, ErrorPolicy, Exit, ExitOn, ExitWhat, Hooks, Job, Measure,
    NumaMemory, NumaPolicy, Pattern, Pick, Place, Placement, Ranks, SAME_ID, Setting, Submit, Tolerance,
    Verb, WorkerKind, Workload,
};

use super::fields::{Fields, Wrong, suggestion};
use super::pattern::{known, may, must};
use super::tree::{Node, Value};
use super::value::{Read, bytes, choice, count, flag, list, small, small_count, text, whole};
use super::{measure, pace, pattern, payload, script};

/// One job; `targets` are the names of the plan's targets.
pub(crate) fn read(node: &Node, number: usize, targets: &[String], wrong: &Wrong) -> Job {
    let fields = Fields::new(node, "a job", wrong);
    let on = fields.or("on", list(|node| target(node, targets)), Vec::new());
    let own: Vec<_> = on.iter().map(|index| targets[*index].clone()).collect();
    let name = fields.or("name", text, format!("job {number}"));
    let engine = fields.or("engine", text, "psync".into());
    let processes = fields.flag("processes");
    let job = Job {
        workers: fields.or("workers", small_count, 1),
        kind: if processes { WorkerKind::Processes } else { WorkerKind::Threads },
        seed: fields.get("seed", whole),
        settings: settings(&fields),
        depth: fields.or("depth", depth, Depth::default()),
        pace: pace::read(&fields),
        limit: pace::until(&fields),
        start: pace::start(&fields),
        payload: payload::read(&fields),
        placement: fields.or("placement", placement, Placement::default()),
        buffers: fields.or("buffers", buffers, Buffers::default()),
        hooks: fields.or("hooks", hooks, Hooks::default()),
        ranks: fields.or("ranks", ranks, Ranks::All),
        place: fields.or("place", place, Place::Own),
        errors: fields.or("errors", errors, ErrorPolicy::Stop),
        finish: pace::finish(&fields),
        group: fields.get("group", text),
        set: fields.or("set", small, 0),
        exit: fields.get("exit", exit),
        measure: fields.or("measure", measure::read, Measure::default()),
        origin: node.origin.clone(),
        ..Job::new(&name, &engine, on, workload(&fields, &own))
    };
    if job.targets.is_empty() && fields.entry("on").is_none() {
        wrong.error(
            &node.origin,
            format!("job `{name}` works on nothing"),
            "say on = \"NAME\" of a [target.NAME]",
        );
    }
    fields.unknown();
    job
}

fn target(node: &Node, targets: &[String]) -> Read<usize> {
    let name = text(node)?;
    let known: Vec<_> = targets.iter().map(String::as_str).collect();
    let found = targets.iter().position(|target| *target == name);
    found.ok_or_else(|| match known.is_empty() {
        true => format!("there is no target; write [target.{name}]"),
        false => format!("there is no target of that name; {}", suggestion(&name, &known)),
    })
}

fn workload(fields: &Fields<'_>, targets: &[String]) -> Workload {
    let drawn = pattern::read(fields);
    let script = script::read(fields, targets);
    let trace = fields.node("trace").map(|node| script::trace(node, fields, targets));
    let found =
        usize::from(drawn.is_some()) + usize::from(!script.steps.is_empty()) + usize::from(trace.is_some());
    if found != 1 {
        let message = match found {
            0 => "the job does not say what to do",
            _ => "the job says more than one thing to do",
        };
        let hint =
            "say exactly one of do = \"read\", mix = { read = 70, write = 30 }, [[phase.job.step]], trace";
        fields.wrong().error(fields.origin(), message, hint);
    }
    match (trace, script.steps.is_empty(), drawn) {
        (Some(trace), _, _) => Workload::Trace(trace),
        (None, false, _) => Workload::Script(script),
        (None, true, Some(pattern)) => Workload::Pattern(Box::new(pattern)),
        (None, true, None) => Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 4096))),
    }
}

fn settings(fields: &Fields<'_>) -> Vec<Setting> {
    let setting = |entry: &super::tree::Entry| Setting {
        name: entry.name.clone(),
        value: entry.node.to_string(),
        origin: entry.origin.clone(),
    };
    fields.named("settings").iter().map(setting).collect()
}

fn depth(node: &Node) -> Read<Depth> {
    if node.word().is_some() {
        return Ok(Depth { most: small_count(node)?, ..Depth::default() });
    }
    known(node, &["most", "submit", "reap", "reap_most", "low", "offload"])?;
    Ok(Depth {
        reap_most: may(node, "reap_most", small, 0)?,
        submit: if may(node, "offload", flag, false)? { Submit::Offload } else { Submit::Inline },
        most: must(node, "most", small_count)?,
        submit_batch: may(node, "submit", small, 0)?,
        reap_least: may(node, "reap", small, 0)?,
        low: may(node, "low", small, 0)?,
    })
}

fn placement(node: &Node) -> Read<Placement> {
    let names = ["cpus", "spread", "numa_cpus", "numa_node", "numa", "nice", "io_priority", "priority_hint"];
    known(node, &[&names[..], &["user", "group", "cgroup", "io_scheduler", "worker_name"]].concat())?;
    let id = |name| may(node, name, small, SAME_ID);
    let identity = (id("user")?, id("group")?);
    let bind =
        |node: &Node| small(node).map(|node| NumaMemory { policy: NumaPolicy::Bind, nodes: vec![node] });
    let numa_memory = may(node, "numa_node", some(bind), None)?;
    Ok(Placement {
        cpus: may(node, "cpus", cpus, Vec::new())?,
        spread: may(node, "spread", flag, false)?,
        numa_cpu_nodes: may(node, "numa_cpus", cpus, Vec::new())?,
        numa_memory: numa_memory.or(may(node, "numa", some(numa), None)?),
        nice: may(node, "nice", some(nice), None)?,
        io_priority: may(node, "io_priority", some(io_priority), None)?,
        io_priority_hint: may(node, "priority_hint", small, 0)?.min(1023) as u16,
        identity: (identity != (SAME_ID, SAME_ID)).then_some(identity),
        cgroup: may(node, "cgroup", some(cgroup), None)?,
        io_scheduler: may(node, "io_scheduler", some(text), None)?,
        worker_name: may(node, "worker_name", some(text), None)?,
    })
}

/// `{ policy = "interleave", nodes = "0-1" }`.
fn numa(node: &Node) -> Read<NumaMemory> {
    known(node, &["policy", "nodes"])?;
    let policies = [
        ("standard", NumaPolicy::Standard),
        ("bind", NumaPolicy::Bind),
        ("prefer", NumaPolicy::Prefer),
        ("interleave", NumaPolicy::Interleave),
        ("local", NumaPolicy::Local),
    ];
    let policy = must(node, "policy", choice(&policies))?;
    Ok(NumaMemory { policy, nodes: may(node, "nodes", cpus, Vec::new())? })
}

/// A directory, or `{ path = "bench", weight = 500, keep = true }`.
fn cgroup(node: &Node) -> Read<ControlGroup> {
    if node.word().is_some() {
        return text(node).map(|path| ControlGroup::new(&path));
    }
    known(node, &["path", "weight", "keep"])?;
    Ok(ControlGroup {
        path: must(node, "path", text)?,
        weight: may(node, "weight", some(small_count), None)?,
        keep: may(node, "keep", flag, false)?,
    })
}

/// `"heap"`, or `{ kind = "shared mapping", huge = true, file = "F", align = "64KiB", locked = "1GiB", held = "1GiB" }`.
fn buffers(node: &Node) -> Read<Buffers> {
    let kinds = [
        ("mapping", BufferKind::Mapping),
        ("heap", BufferKind::Heap),
        ("shared mapping", BufferKind::SharedMapping),
        ("segment", BufferKind::Segment),
    ];
    if node.word().is_some() {
        return choice(&kinds)(node).map(|kind| Buffers { kind, ..Buffers::default() });
    }
    known(node, &["kind", "huge", "huge_page", "file", "align", "locked", "held", "turns"])?;
    Ok(Buffers {
        kind: may(node, "kind", choice(&kinds), BufferKind::Mapping)?,
        huge_pages: may(node, "huge", flag, false)?,
        huge_page_bytes: may(node, "huge_page", bytes, 0)?,
        file: may(node, "file", some(text), None)?,
        align_bytes: may(node, "align", bytes, 0)?,
        locked_bytes: may(node, "locked", bytes, 0)?,
        held_bytes: may(node, "held", bytes, 0)?,
        arena_bytes: may(node, "arena", bytes, 0)?,
        turns: may(node, "turns", small, 0)?,
    })
}

fn hooks(node: &Node) -> Read<Hooks> {
    known(node, &["before", "after"])?;
    Ok(Hooks { before: may(node, "before", some(text), None)?, after: may(node, "after", some(text), None)? })
}

/// A reading function for a value that may be missing.
fn some<T>(read: impl Fn(&Node) -> Read<T>) -> impl Fn(&Node) -> Read<Option<T>> {
    move |node| read(node).map(Some)
}

/// `"0-3,8"` or a list of numbers.
fn cpus(node: &Node) -> Read<Vec<u32>> {
    let expected = || "expected CPUs such as \"0-3,8\" or [0, 1]".to_string();
    if let Value::List(items) = &node.value {
        return items.iter().map(small).collect();
    }
    let mut all = Vec::new();
    for part in node.word().ok_or_else(expected)?.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number =
            |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu < 65536).ok_or_else(expected);
        all.extend(number(first)?..=number(last)?);
    }
    if all.is_empty() { Err(expected()) } else { Ok(all) }
}

fn nice(node: &Node) -> Read<i32> {
    let number = super::value::signed(node).ok().filter(|nice| (-20..=19).contains(nice));
    number.map(|nice| nice as i32).ok_or_else(|| "expected a number from -20 to 19".into())
}

/// `"real time:4"`, `"best effort:0"`, `"idle"`.
fn io_priority(node: &Node) -> Read<(u8, u8)> {
    let expected = || "expected \"real time:LEVEL\", \"best effort:LEVEL\" (0 to 7) or \"idle\"".to_string();
    let word = node.word().ok_or_else(expected)?.replace('_', " ");
    let (class, level) = word.split_once(':').unwrap_or((&word, "0"));
    let level = level.parse::<u8>().ok().filter(|level| *level < 8).ok_or_else(expected)?;
    match class {
        "real time" => Ok((1, level)),
        "best effort" => Ok((2, level)),
        "idle" => Ok((3, level)),
        _ => Err(expected()),
    }
}

fn ranks(node: &Node) -> Read<Ranks> {
    if node.word().is_some() {
        return choice(&[("all", Ranks::All)])(node);
    }
    known(node, &["first", "workers", "only"])?;
    if node.has(&["workers"]) {
        return must(node, "workers", small_count).map(Ranks::Workers);
    }
    match node.has(&["first"]) {
        true => must(node, "first", small_count).map(Ranks::First),
        false => must(node, "only", small).map(Ranks::Only),
    }
}

fn place(node: &Node) -> Read<Place> {
    if node.word().is_some() {
        return choice(&[("own", Place::Own), ("permuted", Place::Permuted)])(node);
    }
    known(node, &["shift_ranks", "shift_nodes", "random_away"])?;
    if node.has(&["shift_ranks"]) {
        return must(node, "shift_ranks", small).map(Place::ShiftRanks);
    }
    match node.has(&["shift_nodes"]) {
        true => must(node, "shift_nodes", small).map(Place::ShiftNodes),
        false => must(node, "random_away", small).map(Place::RandomAway),
    }
}

/// Whom a worker that ends takes along: `"set"`, `"phase"`, `"run"`, or a table.
fn exit(node: &Node) -> Read<Exit> {
    let whom = [("set", ExitWhat::Set), ("phase", ExitWhat::Phase), ("run", ExitWhat::Run)];
    if node.word().is_some() {
        return Ok(Exit { what: choice(&whom)(node)?, on: ExitOn::End });
    }
    known(node, &["on", "what"])?;
    let on = [("end", ExitOn::End), ("error", ExitOn::Error)];
    Ok(Exit {
        on: may(node, "on", choice(&on), ExitOn::End)?,
        what: may(node, "what", choice(&whom), ExitWhat::Set)?,
    })
}

/// Error numbers that are survived, by what failed.
fn tolerance(node: &Node) -> Read<ErrorPolicy> {
    known(node, &["read", "write", "trim", "verify"])?;
    let numbers = |name| may(node, name, list(number), Vec::new());
    Ok(ErrorPolicy::Tolerate(Box::new(Tolerance {
        read: numbers("read")?,
        write: numbers("write")?,
        trim: numbers("trim")?,
        verify: numbers("verify")?,
    })))
}

fn number(node: &Node) -> Read<i32> {
    small(node).and_then(|number| i32::try_from(number).map_err(|_| "expected an error number".into()))
}

fn errors(node: &Node) -> Read<ErrorPolicy> {
    if node.word().is_none() {
        return tolerance(node);
    }
    if let Ok(most) = count(node) {
        return Ok(ErrorPolicy::AtMost(most));
    }
    choice(&[("stop", ErrorPolicy::Stop), ("continue", ErrorPolicy::Continue)])(node)
        .map_err(|error| format!("{error}, or how many errors are borne"))
}
