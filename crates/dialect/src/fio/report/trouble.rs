//! Errors in fio's words: what ended a worker, and the lines that are printed when it happens.
//!
//! fio names a line of its own source with each error; scripts look for those, so the best known are repeated here.

use iodyno_model::{
    Diagnostic, ErrorCount, Fatal, Hooks, JobRecord, Kind, Plan, Prepare, Stage, Target, TargetKind, Verb,
    WorkerRecord,
};

use super::mismatch;
use crate::fio::view::JobView;
use crate::strerror::{of_system as strerror, without_number};

/// What ended a job, as its report repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The error number.
    pub errno: i32,
    /// `file:…, func=…, error=…`.
    pub text: String,
}

/// The number of "illegal byte sequence", which fio uses for content that is not what was written.
const EILSEQ: i32 = 84;
/// The number of "no such file or directory".
const ENOENT: i32 = 2;
/// The number of "input/output error", where the system gave none.
const EIO: i32 = 5;

/// The error number that a message ends with, in the system's words.
pub fn errno_in(message: &str) -> Option<i32> {
    let message = message.lines().next()?;
    let told = without_number(message);
    (1..134).find(|errno| told.ends_with(&strerror(*errno)))
}

impl Failure {
    fn new(errno: i32, place: &str, function: &str) -> Self {
        Failure { errno, text: format!("file:{place}, func={function}, error={}", strerror(errno)) }
    }

    /// What ended a worker, if something did; of a command around its job only the command's own words tell.
    pub fn of(worker: &WorkerRecord, plan: &Plan) -> Option<Self> {
        if let Some(fatal) = &worker.fatal {
            return Some(Failure::of_fatal(fatal, plan, worker.index));
        }
        let message = worker.failure.as_deref()?;
        let mut jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
        if jobs.any(|job| is_of_hook(worker, &job.hooks)) {
            return None;
        }
        Some(Failure::new(errno_in(message).unwrap_or(EIO), "backend.c:1850", "init"))
    }

    fn of_fatal(fatal: &Fatal, plan: &Plan, worker: u32) -> Self {
        let errno = match fatal.errno {
            0 => EIO,
            ..0 => EILSEQ,
            errno => errno,
        };
        match fatal.stage {
            Stage::Prepare => Failure::new(errno, "filesetup.c:174", "open"),
            Stage::Start => {
                let path = fatal.target.and_then(|target| path(plan, target, worker));
                Failure::new(errno, "filesetup.c:805", &format!("open({})", path.unwrap_or_default()))
            }
            Stage::Run if errno == EILSEQ => Failure::new(errno, "io_u.c:2152", "io_u_sync_complete"),
            // What is no read, write or sync fails where it is handed over.
            Stage::Run if fatal.verb == Some(Verb::Discard) => {
                Failure::new(errno, "ioengines.c:399", "td_io_queue")
            }
            Stage::Run => Failure::new(errno, "io_u.c:1876", "io_u error"),
        }
    }

    /// What a job reports that went on after errors: the first of them. Of wrong content fio has the number alone.
    pub fn counted(errno: i32) -> Self {
        match errno {
            EILSEQ => Failure { errno, text: String::new() },
            errno => Failure::new(errno, "io_u.c:1876", "io_u error"),
        }
    }

    /// What a run says that could not begin.
    pub fn of_message(message: &str) -> Option<Self> {
        Some(Failure::new(errno_in(message)?, "filesetup.c:174", "open"))
    }

    /// The line that fio prints when it takes leave of the worker.
    pub fn line(&self, pid: u32) -> String {
        format!("fio: pid={pid}, err={}/{}\n", self.errno, self.text)
    }
}

/// Whether a worker ended because a command before or after its job failed, which fio does not count as its error.
pub fn is_of_hook(worker: &WorkerRecord, hooks: &Hooks) -> bool {
    let Some(message) = worker.failure.as_deref() else { return false };
    let of = |command: &Option<String>| {
        command.as_ref().is_some_and(|command| message.starts_with(&format!("`{command}`: ")))
    };
    of(&hooks.before) || of(&hooks.after)
}

/// Whether a worker's file is not there and may not be made.
fn may_not_create(fatal: &Fatal, plan: &Plan) -> bool {
    let target = fatal.target.and_then(|target| plan.targets.get(target as usize));
    let as_it_is = |target: &Target| {
        matches!(target.kind, TargetKind::File { .. })
            && target.prepare == Prepare::AsItIs
            && !target.open.create
    };
    (fatal.stage, fatal.errno) == (Stage::Prepare, ENOENT) && target.is_some_and(as_it_is)
}

/// Where a worker's file lies: its number stands where the plan's template says so, or deals one of several names.
fn path(plan: &Plan, target: u32, worker: u32) -> Option<String> {
    let target = plan.targets.get(target as usize)?;
    // An object has its target's name.
    let is_object = matches!(target.kind, TargetKind::Bucket { .. });
    let path = if is_object { Some(target.name.as_str()) } else { target.path() };
    let mut path = path?.replace("{worker}", &worker.to_string());
    while let Some((head, rest)) = path.split_once("{worker:")
        && let Some((names, tail)) = rest.split_once('}')
    {
        let names: Vec<_> = names.split('|').collect();
        path = format!("{head}{}{tail}", names[worker as usize % names.len()]);
    }
    Some(path)
}

/// The lines on standard error about operations that failed and content that was wrong.
pub fn complaints(job: &JobRecord, view: &JobView, plan: &Plan) -> String {
    let mut text = String::new();
    let wrote = job.tally.operations(Kind::Write) > 0;
    let worker = |worker: &WorkerRecord| {
        worker.mismatches.iter().map(|one| mismatch::lines(one, wrote)).collect::<String>()
    };
    job.workers.iter().for_each(|one| text += &worker(one));
    let forbidden = job.workers.iter().filter_map(|worker| worker.fatal.as_ref());
    for _ in forbidden.filter(|fatal| may_not_create(fatal, plan)) {
        text += "fio: file creation disallowed by allow_file_create=0\n";
    }
    // Where the system gave no number, only our own words say what it was.
    let wordless = job.workers.iter().filter_map(|worker| worker.failure.as_deref());
    for told in wordless.filter(|told| errno_in(told).is_none()) {
        told.lines().for_each(|line| text += &format!("{}: {line}\n", view.name));
    }
    let told = |error: &&ErrorCount| error.errno > 0 && error.verb != Verb::Discard;
    for error in job.tally.errors.iter().filter(told) {
        let ended = job.workers.iter().filter_map(|worker| Some((worker.index, worker.fatal.as_ref()?)));
        let mut same =
            ended.filter(|(_, fatal)| (fatal.verb, fatal.errno) == (Some(error.verb), error.errno));
        // What a worker survived is counted, not told.
        let Some((index, known)) = same.next() else { continue };
        let length = Some(known.bytes).filter(|bytes| *bytes > 0);
        let blocks = match error.verb {
            Verb::Read => view.blocks.read,
            Verb::Trim => view.blocks.trim,
            _ => view.blocks.write,
        };
        text += &failed(
            &path(plan, error.first_target, index).unwrap_or_default(),
            error.errno,
            error.verb,
            (error.first_offset, length.unwrap_or(blocks.0)),
        );
    }
    text
}

fn failed(path: &str, errno: i32, verb: Verb, (offset, bytes): (u64, u64)) -> String {
    let verb = match verb {
        Verb::Fsync => "sync",
        Verb::Fdatasync => "datasync",
        verb => verb.name(),
    };
    format!("fio: io_u error on file {path}: {}: {verb} offset={offset}, buflen={bytes}\n", strerror(errno))
}

/// A message of the engine room in fio's manner.
pub fn message(diagnostic: &Diagnostic) -> String {
    let hint = diagnostic.hint.as_ref().map(|hint| format!("fio: {hint}\n"));
    format!("fio: {}\n{}", diagnostic.message, hint.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_found_again() {
        assert_eq!(errno_in("cannot open /x: No such file or directory (os error 2)"), Some(2));
        assert_eq!(errno_in("/x: No space left on device"), Some(28));
        assert_eq!(errno_in("it did not please me"), None);
    }

    #[test]
    fn failures_read_as_fios() {
        let fatal = Fatal { errno: 28, stage: Stage::Run, ..Fatal::default() };
        let worker = WorkerRecord { fatal: Some(fatal), ..WorkerRecord::default() };
        let line = Failure::of(&worker, &Plan::default()).unwrap().line(9386);
        let expected =
            "fio: pid=9386, err=28/file:io_u.c:1876, func=io_u error, error=No space left on device\n";
        assert_eq!(line, expected);
        let worker = WorkerRecord {
            fatal: Some(Fatal { errno: -1001, stage: Stage::Run, ..Fatal::default() }),
            ..WorkerRecord::default()
        };
        assert_eq!(Failure::of(&worker, &Plan::default()).unwrap().errno, 84);
    }
}
