//! `iodyno tune DEVICE --try max_sectors_kb=128,1024`: measures a disk under other settings of its queue, and restores
//! what it found.
//!
//! Exit status: 0; 1 a run failed; 2 the command is wrong; 128 + n stopped by signal n. However it ends, the settings are
//! restored: at the latest when iodyno is started again.

mod journal;
mod lower;
mod queue;

use clap::Parser;
use iodyno_engine::signal;
use iodyno_engine::witness::users;
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Kind, Origin, Record};
use iodyno_report::shape;
use iodyno_report::tuning::{TunedCell, TunedWorkload, Tuning};

use self::journal::Journal;
pub use self::journal::restore_left;
use self::lower::QueueWorkload;
use self::queue::{DiskQueue, QueueParameter, QueueSettings};
use crate::experiment::{self, Experiment};
use crate::loader::{HostLoader, plain};
use crate::option_values::positive_time;
use crate::runs::{ended, one, paint, parsed, print};

#[derive(Parser)]
#[command(name = "iodyno tune", about = "Measure a disk under other settings of its queue; restore what was found",
    disable_version_flag = true, after_help = AFTER)]
pub struct TuneArgs {
    /// A block device
    pub device: String,
    /// Values of scheduler, nr_requests, max_sectors_kb or read_ahead_kb; repeatable
    #[arg(long = "try", required = true, value_name = "NAME=V,V…")]
    pub tried: Vec<String>,
    /// Try every combination of the values, instead of one setting at a time
    #[arg(long)]
    pub combine: bool,
    /// Passes over all settings, at least 2
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub passes: u32,
    /// Time of each workload in a pass
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = positive_time)]
    pub time: u64,
    /// Engine: io_uring, libaio, posixaio [default: the first that works]
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,
    /// Measure writes too: what is on DEVICE is lost
    #[arg(long, value_name = "DEVICE")]
    pub destroy: Option<String>,
    /// Change the settings although DEVICE is in use (mounted, swap, part of another device)
    #[arg(long, value_name = "DEVICE")]
    pub in_use: Option<String>,
    /// Seed of the random offsets
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

const AFTER: &str = "It needs root. DEVICE is only read, unless --destroy names it. The settings belong to the whole disk, and \
are restored after Ctrl-C, an error or kill -9 (then by the next start of iodyno). read_ahead_kb is measured through the \
page cache. docs/tune.md explains the tables.";

/// Does `iodyno tune ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<TuneArgs>("iodyno tune", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let checked = match CheckedCommand::of(world, &words) {
        Ok(checked) => checked,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    let mut journal = match Journal::begin(&checked.queue) {
        Ok(journal) => journal,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    // From here on a signal ends the measuring, and not the program.
    signal::install();
    let mut experiment = Experiment::new(world, "tune", arguments);
    let measured = measure(&mut experiment, &words, &checked, journal.found());
    let restored = journal.restore();
    match (measured, restored) {
        (Ok(tuning), Ok(())) if words.json => print(&format!("{:#}\n", tuning.json())),
        (Ok(tuning), Ok(())) => print(&tuning.text(paint())),
        (Err(status), restored) => {
            restored.err().iter().for_each(crate::session::say);
            status
        }
        (_, Err(wrong)) => {
            crate::session::say(wrong);
            1
        }
    }
}

/// A command that may be carried out.
struct CheckedCommand {
    queue: DiskQueue,
    /// What is tried besides what was found.
    settings: Vec<QueueSettings>,
    workloads: Vec<QueueWorkload>,
    engine: String,
}

impl CheckedCommand {
    fn of(world: &World, words: &TuneArgs) -> Result<CheckedCommand, Diagnostic> {
        let origin = Origin::argument(&words.device);
        let queue = DiskQueue::of(&words.device).ok_or_else(|| {
            Diagnostic::error(&origin, "no block device with a queue in /sys/block")
                .hint("name a disk or a partition of one, e.g. /dev/sda; lsblk lists them")
        })?;
        let tried = tried(&words.tried, &queue)?;
        let settings = if words.combine { combined(&tried) } else { each(&tried) };
        for (parameter, _) in &tried {
            queue.may_write(*parameter).map_err(|error| {
                let wrong =
                    format!("{} of {} cannot be changed: {}", parameter.name(), queue.disk, plain(&error));
                Diagnostic::error(&origin, wrong).hint("run as root, where /sys is writable")
            })?;
        }
        let disk = format!("/dev/{}", queue.disk);
        let is_allowed = words.in_use.as_ref().is_some_and(|named| *named == words.device);
        let user = users::of(&disk).or_else(|| users::of(&words.device)).filter(|_| !is_allowed);
        if let Some(user) = user {
            let message = format!("{}, not changing how it is used", user.what);
            let hint =
                format!("{}; or, if its users may be slowed down: --in-use {}", user.remedy, words.device);
            return Err(Diagnostic::error(&origin, message).hint(hint));
        }
        if let Some(other) = words.destroy.as_ref().filter(|named| **named != words.device) {
            return Err(Diagnostic::error(
                &Origin::argument("--destroy"),
                format!("{other} is not what is measured"),
            )
            .hint(format!("--destroy {}, if everything on it may be lost", words.device)));
        }
        let reads_ahead = tried.iter().any(|(parameter, _)| *parameter == QueueParameter::ReadAheadKb);
        Ok(CheckedCommand {
            queue,
            settings,
            workloads: QueueWorkload::all(reads_ahead, words.destroy.is_some()),
            engine: experiment::engine(words.engine.as_deref(), &HostLoader::new(world))?,
        })
    }
}

type TriedValues = Vec<(QueueParameter, Vec<String>)>;

fn tried(texts: &[String], queue: &DiskQueue) -> Result<TriedValues, Diagnostic> {
    let mut all: TriedValues = Vec::new();
    for text in texts {
        let origin = Origin::argument(&format!("--try {text}"));
        let names = QueueParameter::ALL.map(QueueParameter::name).join(", ");
        let Some((name, values)) = text.split_once('=') else {
            return Err(Diagnostic::error(&origin, "expected NAME=VALUE,VALUE…")
                .hint("e.g. --try max_sectors_kb=128,1024"));
        };
        let parameter = QueueParameter::of(name).ok_or_else(|| {
            Diagnostic::error(&origin, format!("`{name}` is no setting that is tried"))
                .hint(format!("one of {names}"))
        })?;
        if queue.read(parameter).is_err() {
            return Err(Diagnostic::error(&origin, format!("{} has no {name}", queue.disk))
                .hint(format!("one of {names}")));
        }
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_string()).collect();
        if let Some(wrong) = values.iter().find(|value| !queue.is_possible(parameter, value)) {
            let message = format!("`{wrong}` is no {name} of {}", queue.disk);
            return Err(Diagnostic::error(&origin, message).hint(queue.range(parameter)));
        }
        match all.iter_mut().find(|(known, _)| *known == parameter) {
            Some((_, known)) => known.extend(values),
            None => all.push((parameter, values)),
        }
    }
    // In the order in which they are written.
    all.sort_by_key(|(parameter, _)| *parameter as usize);
    all.iter_mut().for_each(|(_, values)| {
        let mut seen = std::collections::HashSet::new();
        values.retain(|value| seen.insert(value.clone()));
    });
    Ok(all)
}

fn each(tried: &TriedValues) -> Vec<QueueSettings> {
    let settings = tried
        .iter()
        .flat_map(|(parameter, values)| values.iter().map(move |value| vec![(*parameter, value.clone())]));
    settings.collect()
}

fn combined(tried: &TriedValues) -> Vec<QueueSettings> {
    tried.iter().fold(vec![Vec::new()], |settings, (parameter, values)| {
        let with = |settings: &QueueSettings, value: &String| {
            let mut more = settings.clone();
            more.push((*parameter, value.clone()));
            more
        };
        settings.iter().flat_map(|settings| values.iter().map(move |value| with(settings, value))).collect()
    })
}

/// Measures all settings in turns, every other pass backwards: what changes meanwhile meets all alike.
fn measure(
    experiment: &mut Experiment<'_>,
    words: &TuneArgs,
    checked: &CheckedCommand,
    found: &QueueSettings,
) -> Result<Tuning, u8> {
    let refused = |why: String| {
        ended(Err(one(
            Diagnostic::error(&Origin::argument("--try"), why).hint("its settings are as they were found")
        )))
    };
    let all: Vec<QueueSettings> =
        std::iter::once(Vec::new()).chain(checked.settings.iter().cloned()).collect();
    let set = |settings: &QueueSettings| {
        checked.queue.apply(found).and_then(|()| checked.queue.apply(settings)).map_err(refused)
    };
    // A value that the kernel refuses is known before the first measurement.
    all.iter().try_for_each(set)?;
    let mut workloads: Vec<TunedWorkload> =
        checked.workloads.iter().map(|workload| workload.without_figures(all.len())).collect();
    let plan = lower::plan(words, &checked.workloads, &checked.engine);
    for pass in 0..words.passes {
        let forward: Vec<usize> = (0..all.len()).collect();
        let order: Vec<usize> = if pass % 2 == 0 { forward } else { forward.into_iter().rev().collect() };
        for at in order {
            if let (1.., signal) = signal::interruptions() {
                return Err((128 + signal) as u8);
            }
            let name = if at == 0 { "as found".to_string() } else { queue::words(&all[at]) };
            experiment::progress(&format!("{name}: pass {} of {}", pass + 1, words.passes));
            set(&all[at])?;
            let mut plan = plan.clone();
            plan.seed = plan.seed.wrapping_add(u64::from(pass));
            let (_, record) = experiment.run(plan, &name)?;
            workloads
                .iter_mut()
                .for_each(|workload| add(&record, &workload.name.clone(), &mut workload.cells[at]));
        }
    }
    Ok(Tuning {
        device: words.device.clone(),
        disk: checked.queue.disk.clone(),
        found: queue::words(found),
        settings: all.iter().map(queue::words).collect(),
        workloads,
        passes: words.passes,
        time_ns: words.time,
        engine: checked.engine.clone(),
    })
}

fn add(record: &Record, name: &str, cell: &mut TunedCell) {
    for phase in record.phases.iter().filter(|phase| phase.name == name) {
        for job in &phase.jobs {
            cell.iops.push(shape::per_second(job.tally.all_operations(), phase, job));
            cell.bytes.push(shape::per_second(job.tally.all_bytes(), phase, job));
            [Kind::Read, Kind::Write].iter().for_each(|kind| cell.latency.merge(&job.tally.latency(*kind)));
        }
    }
}
