//! From definitions to a plan: a phase for each run, a job for each workload on each storage definition.
//!
//! ```text
//!   rd × loops × rates ─► phase ─► wd × sd × hosts ─► jobs       (storage)
//!                                ─► fwd × fsd × operations ─► jobs (files)
//! ```
//! Random operations are made by a worker for each thread. What is sequential has one position for all threads of a storage
//! definition, so one worker draws and as many helpers make the calls. It refuses what single definitions do not show:
//! missing names, targets that are not there, workloads that contradict each other.

mod files;
mod format;
mod hosts;
mod recovery;
mod storage;

use iodyno_model::{
    Arrivals, Diagnostic, Errand, ErrorPolicy, Job, Limit, Origin, Pace, Phase, Plan, Rate, RateShare,
    Target, When,
};

use super::command::Command;
use super::definition::{Definition, Definitions, MistakeList};
use super::runs::{RequestedRate, RunPoint};
use super::settings::{RunTimes, SECOND, Validation};
use super::view::{FlatColumns, RunView};
use crate::Loader;
pub use hosts::{Sites, Whereabouts};

/// Errors that a run survives where nothing is said.
const ERRORS_MOST: u64 = 50;

/// The plan, and what each of its phases is.
#[derive(Debug, Default)]
pub struct LoweredRuns {
    pub plan: Plan,
    pub runs: Vec<RunView>,
    /// What is done with files besides the usual.
    pub columns: Vec<&'static str>,
    /// What earlier runs left, which `format=yes` removes first.
    pub abandoned: Vec<String>,
    pub errors_most: u64,
}

/// Lowers all runs.
///
/// # Errors
/// Everything that is wrong.
pub fn plan(
    all: &Definitions,
    points: &[RunPoint],
    command: &Command,
    sites: &Sites,
    loader: &mut dyn Loader,
) -> Result<LoweredRuns, Vec<Diagnostic>> {
    let mut wrong = MistakeList::default();
    let validation = Validation::of(all, command, &mut wrong);
    let seed = loader.now_unix_ns();
    let errors_most = errors_most(all, &mut wrong);
    let plan = Plan {
        name: "vdbench".into(),
        seed: if validation.is_on { 0x5db } else { seed },
        signatures_allowed: true,
        ..Plan::default()
    };
    let out = LoweredRuns { plan, errors_most, ..LoweredRuns::default() };
    let mut lowering = RunLowering {
        all,
        command,
        sites,
        loader,
        validation,
        wrong,
        out,
        made: Vec::new(),
        places: Vec::new(),
    };
    lowering.recovery(points);
    let points = if lowering.validation.only { &[] } else { points };
    for point in points {
        lowering.run(point);
    }
    lowering.commands();
    match lowering.wrong.0.is_empty() {
        true => Ok(lowering.out),
        false => Err(lowering.wrong.0),
    }
}

fn errors_most(all: &Definitions, wrong: &mut MistakeList) -> u64 {
    let Some(parameter) = all.general.get("data_errors") else { return ERRORS_MOST };
    let number = parameter.values[0].parse::<u64>().ok().filter(|number| *number > 0);
    if number.is_none() {
        let hint = "a number of errors: data_errors=50; endcmd= runs a command at the end";
        wrong.add(&parameter.origin, "`data_errors=` runs no command at an error", hint);
    }
    number.unwrap_or(ERRORS_MOST)
}

/// What all runs have in common while they are lowered.
pub(super) struct RunLowering<'a> {
    all: &'a Definitions,
    command: &'a Command,
    sites: &'a Sites,
    loader: &'a mut dyn Loader,
    validation: Validation,
    wrong: MistakeList,
    out: LoweredRuns,
    /// Files that earlier phases make, with their lengths.
    made: Vec<(String, u64)>,
    /// Phases of runs, by their place among the points.
    places: Vec<usize>,
}

impl RunLowering<'_> {
    fn run(&mut self, point: &RunPoint) {
        let of_files = point.definition.has("fwd")
            || (!self.all.file_workloads.is_empty() && !point.definition.has("wd"));
        let times = RunTimes::of(&point.definition, self.command, &mut self.wrong);
        let before = self.out.runs.len();
        let lowered = match of_files {
            true => self.file_run(point, times),
            false => self.storage_run(point, times),
        };
        let Some((jobs, shared, columns, requested)) = lowered else {
            self.places.push(before);
            return;
        };
        self.places.push(self.out.plan.phases.len());
        let base = match point.rate {
            RequestedRate::Percent { of, .. } => self.places.get(of).copied().unwrap_or_default(),
            _ => 0,
        };
        let view = RunView {
            title: point.title.clone(),
            times,
            rate: point.rate,
            base,
            loops: point.loops.clone(),
            is_format: false,
            requested,
            columns,
        };
        let errands = errands(&point.definition);
        let pause_ns = self.pause();
        let name = self.phase_name(&point.title);
        self.out.plan.phases.push(Phase { name, jobs, shared, errands, pause_ns, ..Phase::default() });
        self.out.runs.push(view);
    }

    /// How long the run before is to be paused after.
    fn pause(&self) -> u64 {
        self.out.runs.last().map_or(0, |run| run.times.pause * SECOND)
    }

    /// A name that no other phase has: phases of one name would count as repetitions.
    fn phase_name(&self, title: &str) -> String {
        let is_taken = |name: &str| self.out.plan.phases.iter().any(|phase| phase.name == name);
        let numbered = (2..).map(|number| format!("{title}.{number}"));
        std::iter::once(title.to_string()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
    }

    /// Commands before the first and after the last run.
    fn commands(&mut self) {
        let phases = &mut self.out.plan.phases;
        let errand = |name: &str, when: When| {
            let parameter = self.all.general.get(name)?;
            Some(errand(&parameter.values, when, &parameter.origin))
        };
        if let (Some(first), Some(errand)) = (phases.first_mut(), errand("startcmd", When::BeforeLayout)) {
            first.errands.insert(0, errand);
        }
        if let (Some(last), Some(errand)) = (phases.last_mut(), errand("endcmd", When::AfterEnd)) {
            last.errands.push(errand);
        }
    }

    /// How fast one of a job's workers goes, where the job is to do so large a part of all operations.
    fn pace(&self, point: &RunPoint, share: f64, workers: u32, own: Option<f64>) -> Pace {
        let arrivals = match point.definition.text("distribution").unwrap_or("e").to_lowercase() {
            word if word.starts_with('e') => Arrivals::Poisson,
            _ => Arrivals::Even,
        };
        let pace = Pace { arrivals, open_loop: false, ..Pace::default() };
        let each = |rate: f64| Rate::Operations(rate / f64::from(workers.max(1)));
        match (own, point.rate) {
            (Some(own), _) => Pace { rate_all: each(own), ..pace },
            (None, RequestedRate::Number(rate)) => Pace { rate_all: each(rate * share), ..pace },
            (None, RequestedRate::Percent { percent, of }) => {
                let phase = self.places.get(of).and_then(|place| self.out.plan.phases.get(*place));
                let phase = phase.map(|phase| phase.name.clone()).unwrap_or_default();
                Pace { share: Some(RateShare { phase, percent }), ..pace }
            }
            (None, RequestedRate::Max | RequestedRate::Curve) => Pace::default(),
        }
    }

    /// Until when a job's workers go on: the warm-up is reported, and left out of the averages.
    fn limit(&mut self, point: &RunPoint, times: RunTimes, (workers, storage_bytes): (u64, u64)) -> Limit {
        let names = ["maxdata", "maxdataread", "maxdatawritten"];
        let given = names.iter().find_map(|name| Some((*name, point.definition.number(name)?)));
        let bytes = given.map(|(name, amount)| {
            if name != "maxdata" {
                let hint = "maxdata= counts both; a workload of one direction needs no other";
                self.wrong.add(
                    point.definition.place(name),
                    format!("`{name}=` counts one direction only"),
                    hint,
                );
            }
            let all = if amount < 100.0 { amount * storage_bytes as f64 } else { amount };
            (all as u64 / workers.max(1)).max(1)
        });
        Limit { time_ns: Some((times.elapsed + times.warmup) * SECOND), bytes, ..Limit::default() }
    }

    /// What all jobs have in common.
    fn job(
        &self,
        name: &str,
        engine: &str,
        target: usize,
        workload: iodyno_model::Workload,
        origin: &Origin,
    ) -> Job {
        Job {
            errors: ErrorPolicy::AtMost(self.out.errors_most),
            origin: origin.clone(),
            ..Job::new(name, engine, vec![target], workload)
        }
    }

    /// The target, which is added where it is not there yet.
    fn target(&mut self, target: Target) -> usize {
        let known = self.out.plan.targets.iter().position(|known| {
            known.name == target.name && known.kind == target.kind && known.open == target.open
        });
        known.unwrap_or_else(|| {
            self.out.plan.targets.push(target);
            self.out.plan.targets.len() - 1
        })
    }
}

/// Shell commands of a run.
fn errands(run: &Definition) -> Vec<Errand> {
    let of = |(name, when): (&str, When)| {
        let parameter = run.get(name)?;
        Some(errand(&parameter.values, when, &parameter.origin))
    };
    [("startcmd", When::BeforeStart), ("endcmd", When::AfterEnd)].into_iter().filter_map(of).collect()
}

fn errand(values: &[String], when: When, origin: &Origin) -> Errand {
    // The first word of two may say where the command runs, which is here.
    let words =
        values.iter().filter(|value| !["master", "slave", "cons", "log", "sum"].contains(&value.as_str()));
    let command = words.cloned().collect::<Vec<_>>().join("; ");
    Errand { when, command, rank: Some(0), meets: false, origin: origin.clone() }
}

/// The definitions that names mean, in the order of their definition.
fn named<'a>(
    list: &'a [Definition],
    names: &[String],
    what: &str,
    place: &Origin,
    wrong: &mut MistakeList,
) -> Vec<&'a Definition> {
    let mut found: Vec<&Definition> = Vec::new();
    for name in names {
        let matching = list.iter().filter(|known| super::definition::matches(name, &known.name));
        let before = found.len();
        for definition in matching {
            if !found.iter().any(|known| known.name == definition.name) {
                found.push(definition);
            }
        }
        if found.len() == before && !list.iter().any(|known| super::definition::matches(name, &known.name)) {
            let all: Vec<_> = list.iter().map(|known| known.name.as_str()).collect();
            let hint = match all.is_empty() {
                true => format!("define it above: {what}={name},…"),
                false => format!("there are: {}", all.join(" ")),
            };
            wrong.add(place, format!("no {what}={name}"), hint);
        }
    }
    found
}

/// How large a part of all operations each workload has: its skew, the rest evenly.
fn shares(workloads: &[&Definition], wrong: &mut MistakeList) -> Vec<f64> {
    let skews: Vec<Option<f64>> =
        workloads.iter().map(|workload| workload.number("skew").filter(|skew| *skew > 0.0)).collect();
    let given: f64 = skews.iter().flatten().sum();
    let open = skews.iter().filter(|skew| skew.is_none()).count();
    let place = |workloads: &[&Definition]| {
        let with = workloads.iter().find(|workload| workload.has("skew"));
        with.map_or(Origin::Default, |workload| workload.place("skew").clone())
    };
    if given > 100.5 || (open == 0 && (given - 100.0).abs() > 0.5) {
        wrong.add(
            &place(workloads),
            format!("skews that make {given} %, not 100"),
            "leave one out: it gets the rest",
        );
    } else if open > 0 && given > 99.5 {
        wrong.add(&place(workloads), "nothing is left for the workloads without skew", "lower the skews");
    }
    let rest = if open > 0 { (100.0 - given) / open as f64 } else { 0.0 };
    skews.into_iter().map(|skew| skew.unwrap_or(rest) / 100.0).collect()
}

type LoweredRun = Option<(Vec<Job>, Vec<iodyno_model::SharedObject>, FlatColumns, Vec<&'static str>)>;
