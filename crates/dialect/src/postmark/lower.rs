//! From settings to a plan: five phases for each run.
//!
//! ```text
//!   make directories ─ create files ─ transactions ─ delete files ─ remove directories
//! ```
//! In each location all lies in a directory of this program's own, so that nothing of the user's is overwritten and everything
//! goes that was made, also after an interrupt. A location is three targets, as its files are opened in three ways.

use iodyno_model::{
    Content, ErrorPolicy, Intent, Item, Items, Job, Limit, Open, OpenMode, Operation, Origin, Payload, Phase,
    Plan, Prepare, Script, Size, Step, Stop, Target, TargetKind, Timing, Trace, TraceEntry, Verb, Workload,
};

use super::calls::{self, CallRun};
use super::course::{Course, Deed, FileDeed, course};
use super::settings::Settings;
use super::view::{FileManner, PostmarkPhase, RunPart};
use crate::engine_choice::POSITIONED_CALLS;

/// Mode bits of files: as the C library's streams make them, and as the original does without.
const BUFFERED_MODE: u32 = 0o666;
const UNBUFFERED_MODE: u32 = 0o644;

/// Adds the phases of a run to a plan, and to what each of its phases is; the course that they take.
pub fn add(plan: &mut Plan, parts: &mut Vec<PostmarkPhase>, settings: &Settings, pid: u32) -> Course {
    let course = course(settings);
    let run = parts.iter().map(|part| part.run + 1).max().unwrap_or(0);
    let mut lowering = RunLowering { settings, targets: Vec::new(), last: last_number(&course) };
    let first = plan.targets.len();
    lowering.locations(pid);
    plan.targets.append(&mut lowering.targets);
    plan.seed = settings.seed as u64;
    let targets: Vec<usize> = (first..plan.targets.len()).collect();
    let made: Vec<usize> = targets.iter().copied().step_by(FileManner::ALL.len()).collect();
    let files = |deeds: &[FileDeed]| files_job(settings, &course, targets.clone(), deeds);
    for (part, intent, job) in [
        (RunPart::MakeDirectories, Some(Intent::Nothing), tree_job(&made, Verb::Mkdir)),
        (RunPart::Create, None, files(&course.creation)),
        (RunPart::Transact, None, files(&course.transactions)),
        (RunPart::Delete, None, files(&course.deletion)),
        (RunPart::RemoveDirectories, Some(Intent::Nothing), tree_job(&made, Verb::Rmdir)),
    ] {
        plan.phases.push(Phase {
            name: part.word().into(),
            jobs: vec![job],
            stop: Stop::Each,
            intent,
            repetition: run,
            unless_failed: !parts.is_empty(),
            ..Phase::default()
        });
        parts.push(PostmarkPhase { run, part });
    }
    course
}

/// The number of the last file that is made.
fn last_number(course: &Course) -> u64 {
    let made = course.creation.iter().chain(&course.transactions);
    made.map(|deed| u64::from(deed.number)).max().unwrap_or(0)
}

/// The item that a file is in the set of its location: neighbours lie in neighbouring directories.
pub fn item(settings: &Settings, number: u64, subdirectory: u64) -> u64 {
    number * settings.subdirectories.max(1) as u64 + subdirectory
}

struct RunLowering<'a> {
    settings: &'a Settings,
    targets: Vec<Target>,
    last: u64,
}

impl RunLowering<'_> {
    /// The targets of all locations, each as it is made, read and appended to.
    fn locations(&mut self, pid: u32) {
        let settings = self.settings;
        let mode = if settings.buffered { BUFFERED_MODE } else { UNBUFFERED_MODE };
        for directory in settings.directories() {
            let root = match directory.trim_end_matches('/') {
                "" => format!("/postmark.{pid}"),
                directory => format!("{directory}/postmark.{pid}"),
            };
            for manner in FileManner::ALL {
                let makes = manner == FileManner::Made;
                let mode_of_appending = if settings.buffered { OpenMode::Write } else { OpenMode::ReadWrite };
                let usual = Open { directory: !makes, permissions: Some(mode), ..Open::default() };
                self.targets.push(Target {
                    name: manner.named(&root),
                    kind: TargetKind::FileSet { root: root.clone(), items: self.items() },
                    open: match manner {
                        FileManner::Made | FileManner::Read => usual,
                        FileManner::Appended => Open { append: true, mode: mode_of_appending, ..usual },
                    },
                    prepare: Prepare::AsItIs,
                    remove: makes,
                    origin: Origin::Default,
                });
            }
        }
    }

    fn items(&self) -> Items {
        let subdirectories = self.settings.subdirectories;
        let several = subdirectories > 1;
        Items {
            count: item(self.settings, self.last + 1, 0),
            name: "{item}".into(),
            size: Size::Fixed(0),
            depth: u32::from(several),
            branch: if several { subdirectories as u32 } else { 1 },
            directory: "s{child}".into(),
            leaves_only: several,
            ..Items::default()
        }
    }
}

/// Makes or removes the directories of all locations.
fn tree_job(targets: &[usize], verb: Verb) -> Job {
    let step = |position| Operation { item: Item::Whole, ..Operation::on(verb, position) }.step(verb.name());
    let steps: Vec<Step> = (0..targets.len()).map(step).collect();
    let script = Workload::Script(Script { steps, ..Script::default() });
    one_pass(Job::new("directories", POSITIONED_CALLS, targets.to_vec(), script))
}

fn one_pass(job: Job) -> Job {
    Job { limit: Limit { passes: Some(1), ..Limit::default() }, errors: ErrorPolicy::Stop, ..job }
}

/// The calls of deeds on files, one after the other.
fn files_job(settings: &Settings, course: &Course, targets: Vec<usize>, deeds: &[FileDeed]) -> Job {
    let mut entries = Vec::with_capacity(deeds.len() * 4);
    deeds.iter().for_each(|deed| add_calls(settings, deed, &mut entries));
    let trace = Trace::of(entries, Timing::AsFast);
    let content = Content::Pattern(course.text.clone());
    Job {
        payload: Payload { content, ..Payload::default() },
        ..one_pass(Job::new("files", POSITIONED_CALLS, targets, Workload::Trace(trace)))
    }
}

fn add_calls(settings: &Settings, deed: &FileDeed, entries: &mut Vec<TraceEntry>) {
    let item = item(settings, deed.number.into(), deed.subdirectory.into());
    let manner = match deed.deed {
        Deed::Create | Deed::Delete => FileManner::Made,
        Deed::Read => FileManner::Read,
        Deed::Append => FileManner::Appended,
    };
    let target = deed.location as usize * FileManner::ALL.len() + manner as usize;
    let call = |verb, offset, bytes, repeat| TraceEntry { at_ns: 0, verb, target, offset, bytes, repeat };
    let (opens, moves) = match deed.deed {
        Deed::Create => (Verb::Create, Verb::Write),
        Deed::Append => (Verb::Open, Verb::Write),
        Deed::Read => (Verb::Open, Verb::Read),
        Deed::Delete => return entries.push(call(Verb::Unlink, item, 0, 1)),
    };
    entries.push(call(opens, item, 0, 1));
    let mut offset = deed.offset;
    for (bytes, times) in calls(settings, deed) {
        entries.push(call(moves, offset, bytes, times));
        offset += bytes * times;
    }
    entries.push(call(Verb::Close, 0, 0, 1));
}

fn calls(settings: &Settings, deed: &FileDeed) -> Vec<CallRun> {
    let (read, write) = (settings.read_block as u64, settings.write_block as u64);
    match (deed.deed == Deed::Read, settings.buffered) {
        (true, true) => calls::read(deed.bytes, read),
        (true, false) => calls::unbuffered(deed.bytes, read),
        (false, true) => calls::written(deed.bytes, write),
        (false, false) => calls::unbuffered(deed.bytes, write),
    }
}
