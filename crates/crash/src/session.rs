//! A whole crash test: workloads are recorded one after the other, and the states of each are judged.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;

use iodyno_model::{Diagnostic, Origin, units};
use xxhash_rust::xxh3::xxh3_64;

use crate::enumeration::select_workloads;
use crate::executor::ScriptWorkload;
use crate::explore::{Exploration, ExploreBounds, Explorer, StateFinding, is_same};
use crate::file_system::FileSystem;
use crate::lie::DeviceKind;
use crate::log::{LogEntry, WriteLog};
use crate::program::CommandWorkload;
use crate::promise::Authority;
use crate::recording::{RecordFailure, Recording, record, told};
use crate::request::{
    CrashFinding, CrashHooks, CrashProgress, CrashReport, CrashRequest, PictureEntry, PictureKind,
    WorkloadChoice, WorkloadReport,
};
use crate::script::{builtin, read_suite};
use crate::state::StateId;
use crate::workload::{Oracle, Reach, Workload};

/// Findings of a workload that are shrunk, and of a whole test.
const MOST_SHRUNK: usize = 3;
const MOST_SHRUNK_OF_ALL: usize = 12;
/// States that are judged to shrink one.
const SHRINK_TRIALS: usize = 40;
/// How often a workload is recorded to come upon the log that a state was named in.
const RECORDINGS: usize = 10;
/// Of a longer log the picture shows the beginning.
const PICTURE_ENTRIES: usize = 4000;

/// Does a crash test.
///
/// # Errors
/// The request is wrong, or the machine lacks something: nothing is left mounted.
pub fn run(request: &CrashRequest, hooks: &mut CrashHooks<'_>) -> Result<CrashReport, Diagnostic> {
    let session = CrashSession::prepare(request, hooks.is_stopped)?;
    // What this thread mounts nobody else sees, and it goes with the thread however that ends.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            iodyno_block::hide_mounts()
                .map_err(|error| told("mounts of its own", &error).hint("run it as root"))?;
            session.run(hooks)
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Places a mark of the user's program into the recording that it runs under.
///
/// # Errors
/// There is none, or the log is full.
pub fn mark(text: &str) -> Result<(), Diagnostic> {
    crate::program::mark(text).map_err(|error| {
        told("mark", &error).hint("it works in a program that `iodyno crash FS -- PROGRAM` has started")
    })
}

pub use crate::disk::serve_when_asked;

struct CrashSession<'a> {
    request: &'a CrashRequest,
    file_system: FileSystem,
    device: DeviceKind,
    workloads: Vec<ChosenWorkload>,
}

enum ChosenWorkload {
    Script(ScriptWorkload),
    Command(CommandWorkload),
}

impl ChosenWorkload {
    fn workload(&self) -> &dyn Workload {
        match self {
            ChosenWorkload::Script(script) => script,
            ChosenWorkload::Command(command) => command,
        }
    }
}

fn wrong(what: &str, message: impl Into<String>, hint: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(what), message).hint(hint)
}

impl<'a> CrashSession<'a> {
    fn prepare(request: &'a CrashRequest, is_stopped: fn() -> bool) -> Result<CrashSession<'a>, Diagnostic> {
        let device = request.device.parse().map_err(|message: String| {
            wrong("--device", message, "`iodyno crash --help` says what they do")
        })?;
        let file_system = match &request.scripts {
            Some(scripts) => FileSystem::by_scripts(&request.file_system, &scripts.mkfs, &scripts.mount),
            None => FileSystem::named(&request.file_system, &request.mount_options)?,
        };
        let workloads = chosen(&request.workloads, request.seed, is_stopped)?;
        if request.state.is_some() && workloads.len() != 1 {
            return Err(wrong("--state", "it is a state of one workload", "name that with --workload"));
        }
        for (path, module) in [("/dev/fuse", "fuse"), ("/dev/loop-control", "loop")] {
            if let Err(error) = File::options().read(true).write(true).open(path) {
                let hint = match error.raw_os_error() {
                    Some(libc::EACCES | libc::EPERM) => "run it as root".to_string(),
                    _ => format!("modprobe {module}; `iodyno powerfail` needs neither FUSE nor loop devices"),
                };
                return Err(told(path, &error).hint(hint));
            }
        }
        Ok(CrashSession { request, file_system: file_system.sized(request.disk_bytes), device, workloads })
    }

    fn run(&self, hooks: &mut CrashHooks<'_>) -> Result<CrashReport, Diagnostic> {
        let began = (hooks.clock)();
        let mut report = CrashReport {
            file_system: self.file_system.name.clone(),
            mount_options: self.file_system.options.clone(),
            device: (self.device.to_string(), self.device.about().into()),
            sector_bytes: self.request.sector_bytes,
            disk_bytes: self.file_system.bytes,
            checker: self.file_system.checker().map(String::from),
            seed: self.request.seed,
            ..CrashReport::default()
        };
        let count = self.workloads.len();
        for (number, workload) in self.workloads.iter().enumerate() {
            if (hooks.is_stopped)() {
                break;
            }
            // Workloads share time and states; what one does not use the others have.
            let judged: usize = report.workloads.iter().map(|done| done.judged).sum();
            let shrunk: usize =
                report.workloads.iter().map(|done| done.findings.len().min(MOST_SHRUNK)).sum();
            let share = Share {
                judged,
                shrinkable: MOST_SHRUNK_OF_ALL.saturating_sub(shrunk),
                states: (self.request.states - judged.min(self.request.states)).div_ceil(count - number),
                until: self.request.limit_ns.map(|limit| began + limit * (number as u64 + 1) / count as u64),
            };
            let done = match &self.request.state {
                Some(state) => self.show(workload, state, hooks, &mut report)?,
                None => self.explore(workload, share, hooks)?,
            };
            report.workloads.push(done);
        }
        report.elapsed_ns = (hooks.clock)() - began;
        Ok(report)
    }

    fn record(&self, workload: &ChosenWorkload) -> Result<Result<Recording, String>, Diagnostic> {
        let recorded =
            record(&self.file_system, workload.workload(), &self.request.home, self.request.sector_bytes);
        let recording = match recorded {
            Ok(recording) => recording,
            Err(RecordFailure::Missing(why)) => return Ok(Err(why)),
            Err(RecordFailure::Failed(failure)) => return Err(*failure),
        };
        if let ChosenWorkload::Command(command) = workload {
            command.take_marks(&recording.log);
        }
        Ok(Ok(recording))
    }

    fn explorer<'e>(&'e self, recording: &'e Recording, log: &'e WriteLog) -> Explorer<'e> {
        let sector_bytes = self.device.sector_bytes(u64::from(self.request.sector_bytes));
        Explorer { recording, log, file_system: &self.file_system, home: &self.request.home, sector_bytes }
    }

    fn explore(
        &self,
        workload: &ChosenWorkload,
        share: Share,
        hooks: &mut CrashHooks<'_>,
    ) -> Result<WorkloadReport, Diagnostic> {
        let began = (hooks.clock)();
        let name = workload.workload().name().to_string();
        let recording = match self.record(workload)? {
            Ok(recording) => recording,
            Err(why) => return Ok(WorkloadReport { name, skipped: Some(why), ..WorkloadReport::default() }),
        };
        if (hooks.is_stopped)() {
            return Ok(WorkloadReport { name, ..WorkloadReport::default() });
        }
        let log = self.device.distort(&recording.log, self.request.seed);
        let explorer = self.explorer(&recording, &log);
        let bounds = ExploreBounds {
            states: share.states,
            seed: self.request.seed,
            workers: NonZeroUsize::new(self.request.workers).unwrap_or(NonZeroUsize::MIN),
        };
        let (clock, is_stopped) = (hooks.clock, hooks.is_stopped);
        let is_over = || is_stopped() || share.until.is_some_and(|until| clock() >= until);
        let explored = explorer.explore(bounds, &mut |judged, _, findings| {
            let (judged, all) = (share.judged + judged, self.request.states);
            (hooks.progress)(CrashProgress { workload: &name, judged, all, findings });
            !is_over()
        })?;
        let findings = grouped(&explorer, &explored, MOST_SHRUNK.min(share.shrinkable), &is_over)?;
        let mut report = WorkloadReport {
            name,
            possible: explored.possible,
            judged: explored.judged,
            elapsed_ns: clock() - began,
            ..described(&recording)
        };
        report.picture = picture(&log, findings.first().map(|(finding, _)| &finding.state));
        report.findings = findings
            .iter()
            .map(|(finding, states)| in_words(finding, *states, &log, &*recording.oracle))
            .collect();
        Ok(report)
    }

    /// One state by its name.
    fn show(
        &self,
        workload: &ChosenWorkload,
        state: &str,
        hooks: &mut CrashHooks<'_>,
        report: &mut CrashReport,
    ) -> Result<WorkloadReport, Diagnostic> {
        let began = (hooks.clock)();
        let (id, shape) = state.split_once('@').map_or((state, None), |(id, shape)| (id, Some(shape)));
        let id: StateId = id.parse().map_err(|message: String| {
            wrong("--state", message, "a report names states, e.g. 120-97@1a2b3c4d")
        })?;
        for _ in 0..RECORDINGS {
            let recording =
                self.record(workload)?.map_err(|why| wrong("--workload", why, "choose another one"))?;
            let log = self.device.distort(&recording.log, self.request.seed);
            let explorer = self.explorer(&recording, &log);
            let is_it = id.is_of(&log, explorer.sector_bytes)
                && shape.is_none_or(|shape| shape == shape_of(&recording.log, id.cut));
            if !is_it {
                continue;
            }
            if let Some(path) = &self.request.image {
                write_image(&explorer, &id, path)?;
                report.image = Some(path.clone());
            }
            let reach = log.reach(id.cut);
            let found = explorer.judge(&id, reach).map_err(|error| told("judging the state", &error))?;
            let mut shown = WorkloadReport {
                name: workload.workload().name().into(),
                possible: 1,
                judged: 1,
                elapsed_ns: (hooks.clock)() - began,
                ..described(&recording)
            };
            shown.picture = picture(&log, Some(&id));
            shown.findings = found.iter().map(|found| in_words(found, 1, &log, &*recording.oracle)).collect();
            return Ok(shown);
        }
        let message = format!(
            "in {RECORDINGS} recordings the file system wrote otherwise than when the state was named"
        );
        Err(wrong("--state", message, "leave --state out to explore anew"))
    }
}

/// What a workload may use.
#[derive(Clone, Copy)]
struct Share {
    /// States judged before.
    judged: usize,
    /// Findings that may be shrunk.
    shrinkable: usize,
    states: usize,
    /// On the clock.
    until: Option<u64>,
}

fn chosen(
    choice: &WorkloadChoice,
    seed: u64,
    is_stopped: fn() -> bool,
) -> Result<Vec<ChosenWorkload>, Diagnostic> {
    let (names, suites) = match choice {
        WorkloadChoice::Command { command, check } => {
            let command = CommandWorkload::new(command.clone(), check.clone(), is_stopped);
            return Ok(vec![ChosenWorkload::Command(command)]);
        }
        WorkloadChoice::Named { names, suites } => (names, suites),
    };
    let at = |origin: Origin, text: String| {
        let (message, hint) = text.split_once("\n hint: ").unwrap_or((&text, ""));
        let told = Diagnostic::error(&origin, message);
        if hint.is_empty() { told } else { told.hint(hint) }
    };
    let mistake = |text: String| at(Origin::Default, text);
    let mut known = builtin().map_err(mistake)?;
    let own = known.len();
    for (name, text) in suites {
        known.extend(read_suite(name, text).map_err(mistake)?);
    }
    if names.is_empty() {
        let wanted = if suites.is_empty() { &known[..] } else { &known[own..] };
        let honest = wanted.iter().filter(|workload| workload.wrong.is_none());
        return Ok(honest.map(|found| ChosenWorkload::Script(ScriptWorkload::new(found.clone()))).collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let found =
            select_workloads(name, &known, seed).map_err(|text| at(Origin::argument("--workload"), text))?;
        chosen.extend(found.into_iter().map(|script| ChosenWorkload::Script(ScriptWorkload::new(script))));
    }
    Ok(chosen)
}

/// Classes of findings: each with the plainest state, and in how many states it was found.
fn grouped(
    explorer: &Explorer<'_>,
    explored: &Exploration,
    most_shrunk: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<(StateFinding, usize)>, Diagnostic> {
    let mut classes: Vec<(StateFinding, usize)> = Vec::new();
    for finding in &explored.findings {
        match classes.iter_mut().find(|(known, _)| is_same(&known.violation, &finding.violation)) {
            Some((known, states)) => {
                *states += 1;
                if finding.state.missing.len() < known.state.missing.len() {
                    *known = finding.clone();
                }
            }
            None => classes.push((finding.clone(), 1)),
        }
    }
    // What the program of the user's promises comes first, then the strictest authority, then what was found most often.
    classes.sort_by_key(|(finding, states)| {
        let authority = finding.violation.authority;
        (authority != Authority::Application, authority, std::cmp::Reverse(*states))
    });
    for (finding, _) in classes.iter_mut().take(most_shrunk) {
        if !is_over() {
            *finding =
                explorer.shrink(finding, SHRINK_TRIALS).map_err(|error| told("judging a state", &error))?;
        }
    }
    Ok(classes)
}

fn write_image(explorer: &Explorer<'_>, id: &StateId, path: &Path) -> Result<(), Diagnostic> {
    let named = |error| told(&path.display().to_string(), &error);
    let file =
        File::options().read(true).write(true).create_new(true).open(path).map_err(|error| {
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => named(error).hint("name another file with --keep FILE"),
                _ => named(error),
            }
        })?;
    let base = &explorer.recording.base;
    let written =
        file.set_len(base.bytes).and_then(|()| id.write_to(explorer.log, base, explorer.sector_bytes, &file));
    written.map_err(|error| {
        let _ = std::fs::remove_file(path);
        named(error).hint("make room where it goes")
    })
}

fn described(recording: &Recording) -> WorkloadReport {
    WorkloadReport {
        writes: recording.log.writes(),
        flushes: recording.log.flushes(),
        ..WorkloadReport::default()
    }
}

/// Tells recordings apart that wrote elsewhere, or in another order, up to a place.
fn shape_of(log: &WriteLog, cut: usize) -> String {
    let mut shape = Vec::new();
    for entry in &log.entries[..cut.min(log.entries.len())] {
        let (offset, bytes) = entry.range().unwrap_or_default();
        let kind: u64 = match entry {
            LogEntry::Write { .. } => 1,
            LogEntry::Discard { .. } | LogEntry::Zero { .. } => 2,
            LogEntry::Flush { .. } => 3,
            LogEntry::Begin(_) => 4,
            LogEntry::End(_) => 5,
            LogEntry::Note(_) => 6,
        };
        shape.extend([kind, offset, bytes].iter().flat_map(|word| word.to_le_bytes()));
    }
    format!("{:08x}", xxh3_64(&shape) as u32)
}

fn in_words(finding: &StateFinding, states: usize, log: &WriteLog, oracle: &dyn Oracle) -> CrashFinding {
    let state = &finding.state;
    let violation = &finding.violation;
    let torn = state.tear.map(|tear| {
        format!(
            "{}: only sectors {} to {} of it",
            entry_in_words(log, tear.entry, oracle),
            tear.from,
            tear.to - 1
        )
    });
    CrashFinding {
        authority: violation.authority,
        promise: violation.promise.clone(),
        source: violation.source.clone(),
        path: violation.path.clone(),
        damage: violation.damage,
        found: violation.found.clone(),
        states,
        state: format!("{state}@{}", shape_of(log, state.cut)),
        reached: reach_in_words(finding.reach, oracle),
        missing: state.missing.iter().map(|at| entry_in_words(log, *at, oracle)).chain(torn).collect(),
    }
}

fn reach_in_words(reach: Reach, oracle: &dyn Oracle) -> String {
    let step = |number: u32| format!("step {} ({})", number + 1, oracle.step(number));
    match (reach.ended.checked_sub(1), reach.begun > reach.ended) {
        (None, false) => "before the first step".into(),
        (None, true) => format!("during {}", step(reach.ended)),
        (Some(last), false) => format!("after {}", step(last)),
        (Some(last), true) => format!("after {}, during {}", step(last), step(reach.ended)),
    }
}

fn entry_in_words(log: &WriteLog, at: usize, oracle: &dyn Oracle) -> String {
    let (offset, bytes) = log.entries[at].range().unwrap_or_default();
    let kind = match log.entries[at] {
        LogEntry::Discard { .. } => "discard",
        LogEntry::Zero { .. } => "zeroes",
        _ => "write",
    };
    let when = reach_in_words(log.reach(at), oracle);
    format!("{kind} {at}, {} at {}, {when}", units::binary(bytes), units::binary(offset))
}

fn picture(log: &WriteLog, state: Option<&StateId>) -> Vec<PictureEntry> {
    let kind_of = |at: usize, entry: &LogEntry| {
        let is_missing = state.is_some_and(|state| {
            state.missing.binary_search(&at).is_ok() || state.tear.is_some_and(|tear| tear.entry == at)
        });
        Some(match entry {
            _ if is_missing => PictureKind::MissingWrite,
            LogEntry::Write { .. } if state.is_some_and(|state| at >= state.cut) => PictureKind::LaterWrite,
            LogEntry::Write { .. } => PictureKind::Write,
            LogEntry::Discard { .. } | LogEntry::Zero { .. } => PictureKind::Discard,
            LogEntry::Flush { .. } => PictureKind::Flush,
            LogEntry::End(_) | LogEntry::Note(_) => PictureKind::StepEnd,
            LogEntry::Begin(_) => return None,
        })
    };
    let entries = log.entries.iter().enumerate().take(PICTURE_ENTRIES);
    let shown = entries.filter_map(|(place, entry)| {
        let (offset, bytes) = entry.range().unwrap_or_default();
        Some(PictureEntry { kind: kind_of(place, entry)?, place, offset, bytes })
    });
    shown.collect()
}
