//! `on=DEVICE`: the plan of any dialect on a simulated device, in virtual time; and the word *simulated* in all that is told.
//!
//! The plan is changed after the dialect has lowered it. Nothing of the machine is touched: no file is made, no witness
//! watches. What cannot be simulated is refused with its reason; what is of the machine alone and changes no figure of a
//! simulated device (processors, priorities, memory of buffers) is left out.

use std::collections::BTreeSet;
use std::io::{self, Write};

use iodyno_dialect::Run;
use iodyno_dialect::native::device::{self, SHIPPED};
use iodyno_engine::registry;
use iodyno_engine::world::World;
use iodyno_model::{
    Action, Device, Diagnostic, EngineTrait, Event, Item, Job, Origin, Phase, Plan, Prepare, Step, Submit,
    Target, TargetKind, WorkerKind, Workload,
};
use iodyno_report::{Files, Output, Reporter};

use crate::loader::plain;

/// The engine of simulated devices.
const ENGINE: &str = "sim";

/// Character devices that data is copied from and to.
const UNSTORED: &[&str] = &["/dev/zero", "/dev/null", "/dev/full", "/dev/random", "/dev/urandom"];

/// What a device holds; of one whose file does not say it, more than any plan asks for.
pub fn capacity_bytes(device: &Device) -> u64 {
    match device.capacity_bytes() {
        0 => 1 << 50,
        bytes => bytes,
    }
}

/// A device by its name, or by the path of its file. `place` is where it was said.
///
/// # Errors
/// There is none, or everything that is wrong with its file.
pub fn named(word: &str, place: &str) -> Result<Device, Vec<Diagnostic>> {
    if word.contains('/') || word.ends_with(".toml") {
        let text = std::fs::read_to_string(word).map_err(|error| {
            let wrong = Diagnostic::error(&Origin::argument(place), format!("{word}: {}", plain(&error)));
            vec![wrong.hint("name a file of a device, or one of those that iodyno devices lists")]
        })?;
        return device::parse(&text, word);
    }
    device::named(word).map_err(|message| {
        let (what, hint) = message.split_once("; ").unwrap_or((&message, "iodyno devices lists them"));
        let hint = match hint.starts_with("did you mean") {
            true => format!("{hint} iodyno devices lists all"),
            false => hint.to_string(),
        };
        vec![Diagnostic::error(&Origin::argument(place), format!("`{word}`: {what}")).hint(hint)]
    })
}

/// A line for each device that comes with the program.
pub fn list() -> String {
    let line = |(name, _): &(&str, &str)| {
        let device = device::named(name).ok()?;
        let generic = if device.is_generic() { " (generic)" } else { "" };
        Some(format!("{name:<20} {}{generic}\n", device.about))
    };
    SHIPPED.iter().filter_map(line).collect()
}

/// Refuses ranks: each would have a device of its own.
///
/// # Errors
/// There are several.
pub fn check_world(world: &World, place: &str) -> Result<(), Diagnostic> {
    match world.is_alone() {
        true => Ok(()),
        false => {
            let count = world.size();
            let hint = match place {
                "--also" => format!(
                    "leave the launcher out: IOR and mdtest take --also on=DEVICE,threads={count}, others {count} times the workers"
                ),
                _ => format!("leave the launcher out, and give the plan {count} times the workers"),
            };
            let message = "a simulated device has one clock, and each rank would have its own";
            Err(Diagnostic::error(&Origin::argument(place), message).hint(hint))
        }
    }
}

/// Takes `--on DEVICE`, or `on=DEVICE` of `--also`, out of the arguments of a native command.
///
/// # Errors
/// None is named, or everything that is wrong with it.
pub fn take(arguments: &[String], world: &World) -> Result<(Option<Device>, Vec<String>), Vec<Diagnostic>> {
    let (mut word, mut others) = (None, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let named = match argument.as_str() {
            "--" => {
                others.push(argument.clone());
                others.extend(rest.by_ref().cloned());
                continue;
            }
            "--on" => rest.next().cloned().unwrap_or_default(),
            "--also" => match rest.clone().next().and_then(|words| words.strip_prefix("on=")) {
                Some(device) => {
                    rest.next();
                    device.to_string()
                }
                None => {
                    others.push(argument.clone());
                    continue;
                }
            },
            argument => match argument.strip_prefix("--on=").or(argument.strip_prefix("--also=on=")) {
                Some(device) => device.to_string(),
                None => {
                    others.push(argument.to_string());
                    continue;
                }
            },
        };
        word = Some(named);
    }
    let Some(word) = word else { return Ok((None, others)) };
    if word.is_empty() {
        let wrong = Diagnostic::error(&Origin::argument("--on"), "a device must follow");
        return Err(vec![wrong.hint("e.g. --on hdd-7200; iodyno devices lists them")]);
    }
    check_world(world, "--on").map_err(|wrong| vec![wrong])?;
    Ok((Some(named(&word, "--on")?), others))
}

/// Puts a run on a device. `place` is where that was said.
///
/// # Errors
/// What of it cannot be simulated.
pub fn put_on(run: &mut Run, device: &Device, place: &str) -> Result<(), Diagnostic> {
    put_plan_on(&mut run.plan, device, place)?;
    run.abandoned.clear();
    Ok(())
}

/// What of an io500 run a simulated device does not do, with a word about it: its reads are checked besides, and its find
/// walks directories, of which there are none.
pub fn leave_out_of_io500(run: &mut Run) {
    let jobs = run.plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
    let checked = jobs.filter_map(|job| job.payload.verify.take()).count();
    let mut note = |message| run.messages.push(Diagnostic::note(&Origin::argument("--on"), message));
    if checked > 0 {
        note("what is read is not checked: a simulated device keeps no data");
    }
    note("find finds nothing: a simulated device has no directories, so that the score is 0");
}

/// Puts a plan on a device.
///
/// # Errors
/// What of it cannot be simulated.
pub fn put_plan_on(plan: &mut Plan, device: &Device, place: &str) -> Result<(), Diagnostic> {
    plan.phases.retain(|phase| !asks_a_store(plan_targets(&plan.targets), phase));
    if let Some((what, why)) = obstacle(plan) {
        let message = format!("on={}: {what} cannot be simulated: {why}", device.name);
        return Err(Diagnostic::error(&Origin::argument(place), message).hint("leave it out"));
    }
    for target in &mut plan.targets {
        target.prepare = Prepare::AsItIs;
        target.remove = false;
        (target.open.hints, target.open.write_life) = (None, None);
        match &target.kind {
            TargetKind::Device { .. } => target.kind = TargetKind::Nothing { bytes: capacity_bytes(device) },
            // What these give or take is on no device.
            TargetKind::File { path, .. } if UNSTORED.contains(&path.as_str()) => {
                target.kind = TargetKind::Descriptor { number: 0 };
            }
            _ => {}
        }
    }
    for phase in &mut plan.phases {
        (phase.drop_caches, phase.remount, phase.pause_ns) = (false, None, 0);
        for job in &mut phase.jobs {
            job.engine = ENGINE.into();
            job.settings.clear();
            job.kind = WorkerKind::Threads;
            (job.placement, job.buffers) = (Default::default(), Default::default());
            job.depth.submit = Submit::Inline;
            job.depth.reap_most = 0;
        }
    }
    plan.idleness = false;
    plan.destroy.clear();
    plan.device = Some(device.clone());
    Ok(())
}

/// Whether a phase only tries what a store promises: a card is whole without it.
fn asks_a_store(is_bucket: impl Fn(usize) -> bool, phase: &Phase) -> bool {
    let asks = |job: &Job| {
        matches!(job.workload, Workload::Cases(_)) && job.targets.iter().all(|target| is_bucket(*target))
    };
    !phase.jobs.is_empty() && phase.jobs.iter().all(asks)
}

/// Whether a target of that number is a bucket.
fn plan_targets(targets: &[Target]) -> impl Fn(usize) -> bool + '_ {
    |index| targets.get(index).is_some_and(|target| matches!(target.kind, TargetKind::Bucket { .. }))
}

/// What of a plan cannot be simulated, and why.
fn obstacle(plan: &Plan) -> Option<(String, &'static str)> {
    if !plan.aging.is_empty() {
        return Some(("age".into(), "a simulated device has no file system that could grow old"));
    }
    if plan.phases.iter().all(|phase| phase.jobs.is_empty()) {
        return Some(("a plan without jobs".into(), "there is nothing to watch"));
    }
    plan.phases.iter().find_map(|phase| {
        if !phase.errands.is_empty() {
            return Some((format!("phase {}", phase.name), "it runs shell commands"));
        }
        phase.jobs.iter().find_map(|job| Some((format!("job {}", job.name), job_obstacle(plan, phase, job)?)))
    })
}

fn job_obstacle(plan: &Plan, phase: &Phase, job: &Job) -> Option<&'static str> {
    let facts = registry::facts(&job.engine)?;
    let is_on = |is: &dyn Fn(&TargetKind) -> bool| {
        job.targets.iter().filter_map(|index| plan.targets.get(*index)).any(|target| is(&target.kind))
    };
    let burns = facts.traits.contains(&EngineTrait::KeepsProcessorBusy)
        && !facts.traits.contains(&EngineTrait::Pretends);
    if facts.connects || is_on(&|kind| matches!(kind, TargetKind::Endpoint { .. })) {
        Some("it goes over a network to a peer")
    } else if !facts.is_stream() {
        Some("it checks the results of a real file system")
    } else if burns {
        Some("its engine burns processor time or runs a program")
    } else if job.hooks != Default::default() {
        Some("it runs shell commands")
    } else if job.payload.verify.is_some() {
        Some("it verifies data, and a simulated device keeps none")
    } else if matches!(&job.workload, Workload::Script(script) if samples_items(&script.steps)) {
        Some("its samples are files of a data set, and a simulated device has none")
    } else if phase.watch.is_some() {
        Some("it watches the machine")
    } else {
        None
    }
}

/// Whether a script takes the items that samples of training input lie in.
fn samples_items(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Do(operation) => matches!(operation.item, Item::Sampled(_)),
        Action::Block(steps) => samples_items(steps),
        Action::Call(_) => false,
    })
}

/// Marks a run whose plan has a simulated device: its name and the report of its tool say so, and no witness watches.
pub fn mark(run: &mut Run) {
    let Some(device) = &run.plan.device else { return };
    let word = format!("simulated on {}", device.name);
    run.unwatched = true;
    if !run.plan.name.contains(&word) {
        let name = std::mem::take(&mut run.plan.name);
        run.plan.name = if name.is_empty() { word.clone() } else { format!("{name}, {word}") };
    }
    let unmarked = std::mem::replace(&mut run.reporter, Box::new(crate::session::Silent));
    run.reporter = Box::new(MarkedReport {
        reporter: unmarked,
        device: device.name.clone(),
        is_marked: false,
        marks: BTreeSet::new(),
    });
}

/// A report that says before anything else that it is of a simulated run: a line of text, or the first field of JSON. Of a
/// tool that reports on standard error, there.
struct MarkedReport {
    reporter: Box<dyn Reporter>,
    device: String,
    is_marked: bool,
    /// Files and directories of results that have their mark.
    marks: BTreeSet<String>,
}

/// Files whose readers would stumble over a line that their tool does not write: the mark is a file of its own beside each, or
/// in the directory that is made for all of them.
struct MarkedFiles<'a> {
    files: &'a mut dyn Files,
    device: &'a str,
    marks: &'a mut BTreeSet<String>,
}

impl MarkedFiles<'_> {
    fn mark(&mut self, of: &str, path: &str) -> io::Result<()> {
        if !self.marks.insert(of.into()) {
            return Ok(());
        }
        self.files.file(path)?.write_all(format!("simulated on {}\n", self.device).as_bytes())?;
        self.files.close(path)
    }

    fn mark_beside(&mut self, path: &str) -> io::Result<()> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        match self.marks.contains(folder) || path.starts_with("/dev/") {
            true => Ok(()),
            false => self.mark(path, &format!("{path}.simulated")),
        }
    }
}

impl Files for MarkedFiles<'_> {
    fn file(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        self.mark_beside(path)?;
        self.files.file(path)
    }

    fn append(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        self.mark_beside(path)?;
        self.files.append(path)
    }

    fn folder(&mut self, path: &str) -> io::Result<()> {
        self.files.folder(path)?;
        self.mark(path, &format!("{path}/simulated"))
    }

    fn close(&mut self, path: &str) -> io::Result<()> {
        self.files.close(path)
    }
}

impl Reporter for MarkedReport {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let Output { out, err, files } = output;
        let files = &mut MarkedFiles { files: &mut **files, device: &self.device, marks: &mut self.marks };
        if self.is_marked {
            return self.reporter.event(event, &mut Output { out: &mut **out, err: &mut **err, files });
        }
        let (mut told, mut talk) = (Vec::new(), Vec::new());
        self.reporter.event(event, &mut Output { out: &mut told, err: &mut talk, files })?;
        let ends = matches!(event, Event::PhaseEnded(_) | Event::Ended(_));
        if !told.is_empty() {
            self.is_marked = true;
            told = marked(&told, &self.device);
        } else if ends && !talk.is_empty() {
            self.is_marked = true;
            talk = marked(&talk, &self.device);
        }
        out.write_all(&told)?;
        err.write_all(&talk)
    }
}

fn marked(report: &[u8], device: &str) -> Vec<u8> {
    let Some(rest) = report.strip_prefix(b"{") else {
        return [format!("simulated on {device}\n").as_bytes(), report].concat();
    };
    let is_empty = rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'}');
    let field = format!(
        "{{\n  \"simulated\": {}{}",
        serde_json::Value::from(device),
        if is_empty { "" } else { "," }
    );
    [field.as_bytes(), rest].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_say_that_they_are_simulated() {
        let text = |report: &str| String::from_utf8(marked(report.as_bytes(), "hdd")).unwrap();
        assert_eq!(text("fio-3.42\n"), "simulated on hdd\nfio-3.42\n");
        assert_eq!(text("{\n  \"a\": 1\n}\n"), "{\n  \"simulated\": \"hdd\",\n  \"a\": 1\n}\n");
        assert_eq!(text("{}"), "{\n  \"simulated\": \"hdd\"}");
    }
}
