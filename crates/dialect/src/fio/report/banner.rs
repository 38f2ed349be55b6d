//! What fio says before it measures: each job in a line, the version, how many start, and which files are laid out.

use iodyno_model::{Level, Plan, TargetKind};

use super::number::bytes;
use crate::fio::view::{JobView, ReportContext};

/// Everything up to the start.
pub fn banner(view: &ReportContext) -> String {
    format!("{}{}\n{}", jobs(view), view.style.version, start(view))
}

/// A line for each job.
pub fn jobs(view: &ReportContext) -> String {
    view.jobs.iter().map(job).collect()
}

/// What is said when they start.
pub fn start(view: &ReportContext) -> String {
    starting(view) + &view.jobs.iter().map(burner).collect::<String>()
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

fn starting(view: &ReportContext) -> String {
    let count = |threads: bool| -> u32 {
        view.jobs.iter().filter(|job| job.threads == threads).map(|job| job.clones).sum()
    };
    let named = |count: u32, name: &str, plural: &str| match count {
        0 => None,
        1 => Some(format!("1 {name}")),
        count => Some(format!("{count} {name}{plural}")),
    };
    let kinds = [named(count(true), "thread", "s"), named(count(false), "process", "es")];
    let mut text = format!("Starting {}\n", kinds.into_iter().flatten().collect::<Vec<_>>().join(" and "));
    for note in view.notes.iter().filter(|note| note.level == Level::Note) {
        text.push_str(&format!("note: {}\n", note.message));
    }
    text
}

/// What jobs of a phase say that listen, once for each clone: whoever is to call them may wait for this line.
pub fn listening(view: &ReportContext, plan: &Plan, phase: usize) -> String {
    let Some(known) = plan.phases.get(phase) else { return String::new() };
    let listens = |job: &&JobView| {
        let targets = known.jobs.get(job.job).map_or(&[][..], |job| &job.targets);
        targets.iter().filter_map(|index| plan.targets.get(*index)).any(|target| match &target.kind {
            TargetKind::Endpoint { transport, listen, .. } => *listen && !transport.starts_with("udp"),
            _ => false,
        })
    };
    let jobs = view.jobs.iter().filter(|job| job.phase == phase).filter(listens);
    jobs.map(|job| "fio: waiting for connection\n".repeat(job.clones as usize)).collect()
}

/// What is said of doubtful options before anything else, on standard error.
pub fn warnings(view: &ReportContext) -> String {
    let warnings = view.notes.iter().filter(|note| note.level == Level::Warning);
    warnings.map(|warning| format!("fio: {}\n", warning.message)).collect()
}

/// The line about files that are laid out, when it begins.
pub fn laying_out(job: &str, files: u64, total_bytes: u64) -> String {
    let mib = total_bytes >> 20;
    match files {
        1 => format!("{job}: Laying out IO file (1 file / {mib}MiB)\n"),
        files => format!("{job}: Laying out IO files ({files} files / total {mib}MiB)\n"),
    }
}
