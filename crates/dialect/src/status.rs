//! Exit statuses that tools share.

use iodyno_model::Record;

/// 1 where anything failed or was wrong; 128 and the signal's number after one.
pub fn usual(record: &Record) -> u8 {
    with(record, false)
}

/// The same, 1 as well where something else is amiss that only the tool can tell.
pub fn with(record: &Record, amiss: bool) -> u8 {
    if let Some(signal) = record.stopped_by {
        return 128u8.wrapping_add(signal as u8);
    }
    let jobs = || record.phases.iter().flat_map(|phase| &phase.jobs);
    let broken = |job: &iodyno_model::JobRecord| {
        job.tally.failed() > 0
            || job.workers.iter().any(|worker| worker.failure.is_some() || worker.fatal.is_some())
    };
    u8::from(amiss || !record.errors.is_empty() || jobs().any(broken) || !record.world.lost.is_empty())
}

/// Of a run that only watches: an interrupt is how it ends where it has no end of its own.
pub fn until_interrupted(record: &Record) -> u8 {
    const SIGINT: i32 = 2;
    match record.stopped_by {
        None | Some(SIGINT) => u8::from(!record.errors.is_empty()),
        Some(signal) => (128 + signal) as u8,
    }
}
