//! What fio says before it measures: each job in a line, the version, how many start, and which files are laid out.

use std::collections::BTreeSet;

use iodyno_model::{Extent, Plan, TargetFacts, TargetKind};

use super::number::bytes;
use crate::fio::view::{JobView, View};

/// Everything up to the start.
pub fn banner(view: &View) -> String {
    let mut text: String = view.jobs.iter().map(job).collect();
    text += &format!("{}\n", view.style.version);
    text += &starting(view);
    text + &view.jobs.iter().map(burner).collect::<String>()
}

/// What cpuio says of itself, once for each clone.
fn burner(job: &JobView) -> String {
    if job.engine != "cpuio" {
        return String::new();
    }
    let said =
        |name: &str| job.options.iter().rfind(|(known, _)| known == name).map(|(_, text)| text.as_str());
    let (load, cycle) = (said("cpuload").unwrap_or("0"), said("cpuchunks").unwrap_or("50000"));
    let mode = said("cpumode").unwrap_or("noop");
    let line = format!("{} ({mode}): ioengine=cpuio, cpuload={load}, cpucycle={cycle}\n", job.name);
    line.repeat(job.clones as usize)
}

fn job(job: &JobView) -> String {
    // cpuio moves no data and says what it does when it starts.
    if job.engine == "cpuio" {
        return if job.clones > 1 { "...\n".into() } else { String::new() };
    }
    let (digits, binary) = (job.figures.significant_figures, job.figures.kb_base == 1024);
    let range = |(least, most): (u64, u64)| {
        format!("{}-{}", bytes(least, digits, binary), bytes(most, digits, binary))
    };
    let more = if job.clones > 1 { "...\n" } else { "" };
    format!(
        "{}: (g={}): rw={}, bs=(R) {}, (W) {}, (T) {}, ioengine={}, iodepth={}\n{more}",
        job.name,
        job.group,
        job.direction,
        range(job.blocks.read),
        range(job.blocks.write),
        range(job.blocks.trim),
        job.engine,
        job.depth
    )
}

fn starting(view: &View) -> String {
    let count = |threads: bool| -> u32 {
        view.jobs.iter().filter(|job| job.threads == threads).map(|job| job.clones).sum()
    };
    let named = |count: u32, name: &str, plural: &str| match count {
        0 => None,
        1 => Some(format!("1 {name}")),
        count => Some(format!("{count} {name}{plural}")),
    };
    let kinds = [named(count(true), "thread", "s"), named(count(false), "process", "es")];
    format!("Starting {}\n", kinds.into_iter().flatten().collect::<Vec<_>>().join(" and "))
}

/// The lines about files that are missing or too short, which are laid out before anything runs.
pub fn laid_out(view: &View, plan: &Plan, facts: &[TargetFacts]) -> String {
    let mut known = BTreeSet::new();
    view.jobs.iter().map(|job| job_lays_out(job, view, plan, facts, &mut known)).collect()
}

/// Engines that have no files, or make them themselves.
fn is_fileless(engine: &str) -> bool {
    let known = ["null", "cpuio", "net", "netsplice", "exec", "sg"].contains(&engine);
    known || engine.starts_with("file") || engine.starts_with("dir")
}

fn job_lays_out(
    job: &JobView,
    view: &View,
    plan: &Plan,
    facts: &[TargetFacts],
    known: &mut BTreeSet<usize>,
) -> String {
    let on_open = |(name, value): &(String, String)| name == "create_on_open" && value != "0";
    let planned = plan.phases.get(job.phase).and_then(|phase| phase.jobs.get(job.job));
    let Some(planned) = planned.filter(|_| !is_fileless(&job.engine)) else { return String::new() };
    if job.options.iter().chain(&view.global).any(on_open) {
        return String::new();
    }
    let (mut files, mut total, mut own) = (0, 0, false);
    for index in &planned.targets {
        let Some(target) = plan.targets.get(*index).filter(|_| known.insert(*index)) else { continue };
        let TargetKind::File { path, size: Extent::Bytes(bytes) } = &target.kind else { continue };
        let Some(facts) = facts.iter().find(|facts| facts.target == target.name) else { continue };
        if facts.missing || facts.file_bytes.is_some_and(|there| there < *bytes) {
            (files, total, own) = (files + 1, total + bytes, own || path.contains("{worker"));
        }
    }
    match files {
        0 => String::new(),
        files => line(&job.name, files, total).repeat(if own { job.clones as usize } else { 1 }),
    }
}

fn line(name: &str, files: u64, bytes: u64) -> String {
    let mib = bytes >> 20;
    match files {
        1 => format!("{name}: Laying out IO file (1 file / {mib}MiB)\n"),
        files => format!("{name}: Laying out IO files ({files} files / total {mib}MiB)\n"),
    }
}

/// The line about files that are laid out, when it begins.
pub fn laying_out(view: &View, plan: &Plan, target: &str, total_bytes: u64) -> String {
    let mut owner = None;
    let mut files = 1;
    for job in &view.jobs {
        let planned = plan.phases.get(job.phase).and_then(|phase| phase.jobs.get(job.job));
        let targets = planned.map_or(&[][..], |job| job.targets.as_slice());
        let found =
            targets.iter().filter_map(|index| plan.targets.get(*index)).find(|one| one.name == target);
        if let Some(found) = found {
            if let TargetKind::FileSet { items, .. } = &found.kind {
                files = items.count.max(1);
            }
            owner = Some(job.name.as_str());
            break;
        }
    }
    line(owner.unwrap_or(target), files, total_bytes)
}
