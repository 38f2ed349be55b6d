//! From the phases' command lines to one plan: IOR's and mdtest's own lowering, put together in the order of the rules.
//!
//! What a later phase works on was made by an earlier one, as far as that one came before its time was up: so it does as
//! many operations as that one did, instead of reading a file that says so.

use iodyno_model::{
    Diagnostic, Items, Job, Open, Origin, Pattern, Phase, Pick, Plan, Prepare, Ranks, Setting, Target,
    TargetKind, Verb, Workload,
};
use iodyno_report::Reporter;

use super::logs::PhaseLog;
use super::phases::{PHASES, PhaseKind, Places, Tool};
use super::settings::Settings;
use crate::{Loader, Request};

/// A plan, what belongs to which phase, and the phases' logs.
pub type LoweredRun = (Plan, Vec<PlannedPhase>, Vec<PhaseLog>);

/// A plan, and who reports it.
type ReportedPlan = (Plan, Option<Box<dyn Reporter>>);

/// What became of one of the thirteen phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedPhase {
    /// Its index in [`PHASES`].
    pub kind: usize,
    /// The phase of the plan that is its figure, by index.
    pub measured: usize,
    /// Its command line.
    pub command: String,
}

/// The plan of a run.
///
/// # Errors
/// Everything that the tools' own lowering finds wrong.
pub fn lower(
    config: &Settings,
    places: &Places,
    loader: &mut dyn Loader,
) -> Result<LoweredRun, Vec<Diagnostic>> {
    let mut plan = Plan { name: "io500".into(), seed: 500, ..Plan::default() };
    let (mut pieces, mut logs, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (index, kind) in PHASES.iter().enumerate().filter(|(_, kind)| kind.runs(config)) {
        let command = kind.command(config, places);
        let part = match kind.tool {
            Tool::Find => Ok((find(config, places, loader.now_unix_ns()), None)),
            Tool::Ior => of(crate::ior::DIALECT.lower, kind, &command, loader),
            Tool::Mdtest => of(crate::mdtest::DIALECT.lower, kind, &command, loader),
        };
        match part {
            Ok((part, reporter)) => {
                let phases = plan.phases.len()..plan.phases.len() + part.phases.len();
                logs.extend(
                    reporter.map(|reporter| PhaseLog::new(kind.name, reporter, part.clone(), phases)),
                );
                let measured = join(&mut plan, part, kind, config.flag("global", "drop-caches"));
                pieces.push(PlannedPhase { kind: index, measured, command: command.join(" ") });
            }
            Err(told) => wrong.extend(told),
        }
    }
    if wrong.is_empty() { Ok((plan, pieces, logs)) } else { Err(wrong) }
}

/// What another dialect makes of a command line, and who reports it.
fn of(
    lower: crate::Lower,
    kind: &PhaseKind,
    command: &[String],
    loader: &mut dyn Loader,
) -> Result<ReportedPlan, Vec<Diagnostic>> {
    let told = |what: String| vec![Diagnostic::error(&Origin::argument(kind.name), what)];
    match lower(&command[1..], loader)? {
        Request::Run(run) => Ok((run.plan, Some(run.reporter))),
        Request::Print { out, .. } | Request::Write { out, .. } => Err(told(out)),
        Request::Refuse { err, .. } => Err(told(err)),
        Request::Hosts(_) => Err(told("other hosts are for the whole run".into())),
        Request::Calls(_)
        | Request::Prompt(_)
        | Request::Converse(_)
        | Request::Repeat(_)
        | Request::Abroad(_) => Err(told("is no measurement".into())),
    }
}

/// Adds a part to the plan; the index of the phase that is measured.
fn join(plan: &mut Plan, part: Plan, kind: &PhaseKind, drop_caches: bool) -> usize {
    let (targets, first) = (plan.targets.len(), plan.phases.len());
    plan.targets.extend(part.targets.into_iter().map(|mut target| {
        target.open.parents = true;
        // What the items are made of is removed by phases of its own; the large files go with the run.
        target.remove = matches!(target.kind, TargetKind::File { .. });
        target
    }));
    let measured = part.phases.iter().position(|phase| is_measured(kind, phase));
    let measured = first + measured.unwrap_or(part.phases.len().saturating_sub(1));
    for (index, mut phase) in part.phases.into_iter().enumerate() {
        for job in &mut phase.jobs {
            job.targets.iter_mut().for_each(|target| *target += targets);
            if let Some(earlier) = kind.after.filter(|_| first + index == measured) {
                job.limit.as_phase = Some(earlier.into());
            }
        }
        if first + index == measured {
            phase.name = kind.name.into();
            phase.drop_caches |= drop_caches;
        } else {
            phase.name = format!("{}: {}", kind.name, phase.name);
        }
        plan.phases.push(phase);
    }
    measured
}

/// Whether a phase of a part is the one that counts.
fn is_measured(kind: &PhaseKind, phase: &Phase) -> bool {
    let wanted = match (kind.tool, kind.name.rsplit('-').next()) {
        (Tool::Ior, Some("write")) => "write",
        (Tool::Ior, _) => "read",
        (Tool::Mdtest, Some("write")) => "File creation",
        (Tool::Mdtest, Some("stat")) => "File stat",
        (Tool::Mdtest, Some("read")) => "File read",
        (Tool::Mdtest, _) => "File removal",
        (Tool::Find, _) => "find",
    };
    phase.name.eq_ignore_ascii_case(wanted)
}

/// The walk over all files: those of mdtest-hard whose names hold `01`, made after the easy tests.
fn find(config: &Settings, places: &Places, now_unix_ns: u64) -> Plan {
    let target = Target {
        name: "data".into(),
        kind: TargetKind::FileSet {
            root: places.data.clone(),
            items: Items { count: 0, ..Items::default() },
        },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Origin::Default,
    };
    let pattern = Pattern::of(Verb::Readdir, Pick::Stream, 0);
    let mut job = Job::new("find", "find", vec![0], Workload::Pattern(Box::new(pattern)));
    let wanted =
        [("newer_unix_ns", now_unix_ns.to_string()), ("bytes", "3901".into()), ("name", "*01*".into())];
    job.settings = wanted.iter().map(|(name, value)| Setting::new(name, value)).collect();
    if let Some(count) = config.number("find", "nproc") {
        job.ranks = Ranks::First(count as u32);
    }
    Plan {
        targets: vec![target],
        phases: vec![Phase { name: "find".into(), jobs: vec![job], ..Phase::default() }],
        ..Plan::default()
    }
}
