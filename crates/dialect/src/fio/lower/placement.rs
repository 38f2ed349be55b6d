//! Where on the machine, as whom, with which memory, and what runs around the job.

use iodyno_model::{BufferKind, Buffers, ControlGroup, Hooks, NumaMemory, NumaPolicy, Placement, SAME_ID};

use super::option_reader::OptionReader;

/// Where a clone runs.
pub fn placement(ask: &mut OptionReader<'_>) -> Placement {
    Placement {
        cpus: cpus(ask),
        spread: ask.word("cpus_allowed_policy") == Some("split"),
        numa_cpu_nodes: numbers(ask, "numa_cpu_nodes"),
        numa_memory: numa_memory(ask),
        nice: ask.whole("nice").and_then(|nice| i32::try_from(nice).ok()),
        io_priority: io_priority(ask),
        io_priority_hint: ask.count("priohint").unwrap_or(0) as u16,
        identity: identity(ask),
        cgroup: ask.text("cgroup").map(|path| ControlGroup {
            path: path.into(),
            weight: ask.count("cgroup_weight"),
            keep: ask.flag("cgroup_nodelete", false),
        }),
        io_scheduler: ask.text("ioscheduler").map(String::from),
        worker_name: ask.text("comm").map(String::from),
    }
}

/// `cpus_allowed` as a list, `cpumask` as bits; the later one counts.
fn cpus(ask: &mut OptionReader<'_>) -> Vec<u32> {
    if ask.position("cpumask") > ask.position("cpus_allowed") {
        let mask = ask.whole("cpumask").unwrap_or(0) as u64;
        return (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect();
    }
    numbers(ask, "cpus_allowed")
}

/// The most CPUs or nodes that a list may name.
const MOST: u32 = 4096;

/// `0,5,8-15`; `all`: none, which is no restriction.
fn numbers(ask: &mut OptionReader<'_>, name: &str) -> Vec<u32> {
    let Some(text) = ask.text(name).filter(|text| *text != "all") else { return Vec::new() };
    list(text).unwrap_or_else(|| {
        ask.refuse_value(name, "expected numbers and ranges", format!("for example {name}=0,5,8-15"));
        Vec::new()
    })
}

/// Numbers and ranges with commas.
pub fn list(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split([',', ':']).map(str::trim).filter(|part| !part.is_empty()) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (low.trim().parse::<u32>().ok()?, high.trim().parse::<u32>().ok()?);
        if low > high || high > MOST {
            return None;
        }
        all.extend(low..=high);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// `MODE[:NODES]`.
fn numa_memory(ask: &mut OptionReader<'_>) -> Option<NumaMemory> {
    let text = ask.text("numa_mem_policy")?;
    let (mode, nodes) = text.split_once(':').unwrap_or((text, ""));
    let policy = match mode.trim() {
        "default" => NumaPolicy::Standard,
        "bind" => NumaPolicy::Bind,
        "prefer" => NumaPolicy::Prefer,
        "interleave" => NumaPolicy::Interleave,
        "local" => NumaPolicy::Local,
        _ => {
            let hint = "default, prefer:0, bind:0,1, interleave:all or local";
            ask.refuse_value("numa_mem_policy", "no such policy", hint);
            return None;
        }
    };
    let nodes = match nodes.trim() {
        "" | "all" => Some(Vec::new()),
        nodes => list(nodes),
    };
    match nodes {
        Some(nodes) if policy != NumaPolicy::Prefer || nodes.len() == 1 => Some(NumaMemory { policy, nodes }),
        _ => {
            let hint = "prefer takes one node, bind and interleave a list: bind:0,2-3";
            ask.refuse_value("numa_mem_policy", "the nodes do not fit the policy", hint);
            None
        }
    }
}

/// Best effort, where a level is given without a class.
const BEST_EFFORT: u8 = 2;

fn io_priority(ask: &OptionReader<'_>) -> Option<(u8, u8)> {
    let (class, level) = (ask.count("prioclass"), ask.count("prio"));
    if class.is_none() && level.is_none() {
        return None;
    }
    Some((class.map_or(BEST_EFFORT, |class| class as u8), level.unwrap_or(0) as u8))
}

fn identity(ask: &OptionReader<'_>) -> Option<(u32, u32)> {
    let (user, group) = (ask.count("uid"), ask.count("gid"));
    if user.is_none() && group.is_none() {
        return None;
    }
    Some((user.unwrap_or(SAME_ID), group.unwrap_or(SAME_ID)))
}

/// `mem` and its kin.
pub fn buffers(ask: &OptionReader<'_>) -> Buffers {
    let text = ask.text("mem").unwrap_or("malloc");
    let (word, file) = text.split_once(':').unwrap_or((text, ""));
    let (kind, huge_pages) = match word.trim() {
        "shm" => (BufferKind::Segment, false),
        "shmhuge" => (BufferKind::Segment, true),
        "mmap" => (BufferKind::Mapping, false),
        "mmaphuge" => (BufferKind::Mapping, true),
        "mmapshared" => (BufferKind::SharedMapping, false),
        _ if ask.has("mem") => (BufferKind::Heap, false),
        _ => (BufferKind::default(), false),
    };
    Buffers {
        kind,
        huge_pages,
        huge_page_bytes: if huge_pages { ask.bytes("hugepage-size").unwrap_or(0) } else { 0 },
        file: Some(file.trim()).filter(|file| !file.is_empty()).map(String::from),
        align_bytes: ask.whole("iomem_align").unwrap_or(0).max(0) as u64,
        locked_bytes: ask.bytes("lockmem").unwrap_or(0),
        held_bytes: 0,
        arena_bytes: 0,
        turns: 0,
    }
}

/// `exec_prerun` and `exec_postrun`.
pub fn hooks(ask: &OptionReader<'_>) -> Hooks {
    Hooks {
        before: ask.text("exec_prerun").map(String::from),
        after: ask.text("exec_postrun").map(String::from),
    }
}
