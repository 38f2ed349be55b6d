//! What broke a pass off, or was wrong with what it read: said where it happened, on standard error.
//!
//! It refuses to judge, and to say again what the run itself says: files that could not be opened or laid out.

use iodyno_model::{PhaseRecord, Stage, WorkerRecord};

use crate::iozone::lower::{Pass, names};
use crate::iozone::settings::Settings;
use crate::strerror;

/// Whether a pass came to no figure: a stream broke off.
pub fn broke(phase: &PhaseRecord) -> bool {
    let mut workers = phase.jobs.iter().flat_map(|job| &job.workers);
    workers.any(|worker| worker.fatal.is_some() || worker.failure.is_some())
}

/// A line for each stream that broke off in the middle, and for each range that was not what was written.
pub fn complaints(settings: &Settings, part: Pass, phase: &PhaseRecord) -> Vec<String> {
    let files = names(settings);
    let workers = phase.jobs.iter().flat_map(|job| &job.workers).enumerate();
    workers.flat_map(|(stream, worker)| of(part, files.get(stream), worker)).collect()
}

fn of(part: Pass, file: Option<&String>, worker: &WorkerRecord) -> Vec<String> {
    let (kb, record) = (part.cell.bytes() / 1024, part.cell.record / 1024);
    let file = file.map_or(String::new(), |file| format!(" of {file}"));
    let test = format!("{}{file} ({kb} kB, records of {record} kB)", part.access.word());
    let mut lines: Vec<String> = worker.complaints.iter().map(|what| format!("{test}: {what}")).collect();
    if let Some(fatal) = worker.fatal.as_ref().filter(|fatal| fatal.stage == Stage::Run && fatal.errno != 0) {
        let verb = fatal.verb.map_or("an operation", |verb| verb.name());
        let (offset, why) = (fatal.offset, strerror::of(fatal.errno));
        lines.push(format!("{test}: {verb} at byte {offset}: {why}; it came to no figure"));
    }
    lines
}
