//! `iodyno plan FILE` and `iodyno run FILE`: arguments to a request.
//!
//! Refuses to run what it cannot read whole, and to give up a device that was not named here.

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use iodyno_model::{Diagnostic, Origin, Plan, TargetFacts, TargetKind, Workload, sweep};
use iodyno_report::{Reporter, plan as report};
use iodyno_trace::replay::{KnownSurvey, Survey};

use super::Manner;
use crate::hosts::{self, Elsewhere};
use crate::{Loader, PathKind, Request, Run, dashes};

/// Makes the reporter of a run: the native output format, handed in so that this crate needs only its trait. With the manner in
/// which the plan is run.
pub type ReporterMaker<'a> = &'a dyn Fn(&Manner) -> Box<dyn Reporter>;

/// What is said about the command in its help.
const OF_TOOLS: &str = "With a tool's name and its command line, explains what that would do: iodyno plan fio job.fio, \
iodyno plan ior -t 1m -b 16m, iodyno plan measure /srv. A file of such a name is ./fio.";

/// Explains a plan file in words, without running it.
#[derive(Parser)]
#[command(name = "iodyno plan", about = "Explain what a plan file or a tool's command line does, before it runs",
    after_help = OF_TOOLS, override_usage = "iodyno plan [OPTIONS] FILE\n       iodyno plan TOOL [ARGUMENTS]...",
    disable_version_flag = true)]
struct PlanArguments {
    /// The plan file (TOML); `-` is standard input
    file: String,
    /// Use this seed instead of the file's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Show every point of a sweep as a phase
    #[arg(long)]
    expand: bool,
}

/// Runs a plan file.
#[derive(Parser)]
#[command(name = "iodyno run", about = "Run a plan and report it", disable_version_flag = true)]
struct RunArguments {
    /// The plan file (TOML); `-` is standard input
    file: String,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    world: WorldArguments,
}

/// Where a native command runs.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WorldArguments {
    /// Run on these hosts through ssh, mpirun or srun: h1,h2:4 (4 ranks), node[01-16]:8, or @FILE
    #[arg(long, value_name = "HOSTS")]
    hosts: Option<String>,
    /// Run on the hosts of this file, one a line: h1, h1:4 or h1 slots=4
    #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
    hostfile: Option<String>,
    /// Launcher: mpirun, mpiexec, srun, flux, palsrun, or a path; without hosts: on those of the job of Slurm or PBS
    #[arg(long, value_name = "NAME")]
    launcher: Option<String>,
}

impl WorldArguments {
    /// The options that are said once, here, and not again on the other hosts.
    pub(crate) const NAMES: &[&str] =
        &["--hosts", "--hostfile", "--launcher", "-hosts", "-hostfile", "-launcher"];

    /// Where else it is to run.
    ///
    /// # Errors
    /// Hosts that are none, or a file of them that cannot be read.
    pub fn elsewhere(&self, loader: &mut dyn Loader) -> Result<Option<Elsewhere>, Vec<Diagnostic>> {
        let (hosts, file) = (self.hosts.as_deref(), self.hostfile.as_deref());
        hosts::elsewhere(hosts, file, self.launcher.clone(), loader).map_err(|wrong| vec![wrong])
    }
}

/// A native command's arguments as they are said on the hosts it goes to.
pub fn on_hosts(arguments: &[String]) -> Vec<String> {
    hosts::without(&dashes(arguments), WorldArguments::NAMES)
}

/// The request of `iodyno plan ARGUMENTS…`.
///
/// # Errors
/// Everything that is wrong with the arguments or the file.
pub fn plan(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let arguments = match parsed::<PlanArguments>("iodyno plan", arguments)? {
        Ok(arguments) => arguments,
        Err(help) => return Ok(help),
    };
    let (mut plan, _) = load(&arguments.file, arguments.seed, loader)?;
    let explanation = explanation(&plan, None, loader);
    if arguments.expand {
        plan = sweep::expand(&plan)?;
    }
    Ok(Request::Print { out: format!("{}\n{explanation}", report::print(&plan)), status: 0 })
}

/// A plan in plain words; `worded`: in a tool's words, none: in the plan's own keys.
pub fn explanation(plan: &Plan, worded: Option<crate::Translate>, loader: &dyn Loader) -> String {
    let explainer = report::Explainer {
        facts: &facts(plan, loader),
        machine: &loader.machine(),
        traits: &|name| loader.engine_traits(name),
        owners: &|plan, phase, job| loader.owners(plan, phase, job),
        worded,
        columns: loader.paint().columns,
    };
    report::explain(plan, &explainer)
}

/// The request of `iodyno run ARGUMENTS…`; `maker` makes the reporter.
///
/// # Errors
/// Everything that is wrong with the arguments or the file.
pub fn run(
    arguments: &[String],
    loader: &mut dyn Loader,
    maker: ReporterMaker<'_>,
) -> Result<Request, Vec<Diagnostic>> {
    let arguments = match parsed::<RunArguments>("iodyno run", arguments)? {
        Ok(arguments) => arguments,
        Err(help) => return Ok(help),
    };
    let (mut plan, surveys) = load(&arguments.file, None, loader)?;
    if let Some(elsewhere) = arguments.world.elsewhere(loader)? {
        return Ok(Request::Hosts(elsewhere));
    }
    arguments.manner.apply(&mut plan).map_err(|wrong| vec![wrong])?;
    let reporter = maker(&arguments.manner);
    let mut run = Run { surveys, ..request(plan, reporter) };
    arguments.manner.join(&mut run);
    Ok(Request::Run(Box::new(run)))
}

/// A plan as a native run, with a live line and nothing written but the report.
pub fn request(plan: Plan, reporter: Box<dyn Reporter>) -> Run {
    Run { live_ns: LIVE_NS, tells_all: true, translate: crate::advice::native, ..Run::of(plan, reporter) }
}

/// How often the live line moves, ns.
const LIVE_NS: u64 = 500_000_000;

/// The arguments of one of our own commands, or the help that was asked for.
///
/// # Errors
/// What is wrong with them.
pub fn parsed<T: Parser>(name: &str, arguments: &[String]) -> Result<Result<T, Request>, Vec<Diagnostic>> {
    let words = std::iter::once(name.to_string()).chain(dashes(arguments));
    match T::try_parse_from(words) {
        Ok(arguments) => Ok(Ok(arguments)),
        Err(error) if error.exit_code() == 0 => Ok(Err(Request::Print { out: error.to_string(), status: 0 })),
        Err(error) => Err(vec![refusal(name, &error)]),
    }
}

/// clap's message as one of ours: its first line is the message, the rest is advice.
pub fn refusal(name: &str, error: &clap::Error) -> Diagnostic {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or("wrong arguments").trim_start_matches("error: ").to_string();
    let advice = ["Usage", "For more", "tip:"];
    let rest: Vec<_> = lines.filter(|line| !advice.iter().any(|word| line.starts_with(word))).collect();
    let missing = message.ends_with(':').then(|| rest.join(", "));
    let message = missing.map_or(message.clone(), |missing| format!("{message} {missing}"));
    let hint = match (error.get(ContextKind::SuggestedArg), error.get(ContextKind::ValidValue)) {
        (Some(ContextValue::String(meant)), _) => format!("did you mean `{meant}`?"),
        (_, Some(ContextValue::Strings(values))) if !values.is_empty() => {
            format!("one of {}", values.join(", "))
        }
        _ => format!("{name} --help tells what there is"),
    };
    Diagnostic::error(&Origin::argument(name), message).hint(hint)
}

/// A plan from a file, and what was read of its traces.
fn load(
    file: &str,
    seed: Option<u64>,
    loader: &mut dyn Loader,
) -> Result<(Plan, Vec<KnownSurvey>), Vec<Diagnostic>> {
    let unreadable = |reason: String| {
        let message = format!("cannot be read: {reason}");
        vec![
            Diagnostic::error(&Origin::argument(file), message)
                .hint("name a plan file, e.g. examples/verify.toml"),
        ]
    };
    let bytes = match file {
        "-" => loader.standard_input(),
        path => loader.read(path),
    };
    let text = String::from_utf8(bytes.map_err(unreadable)?).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let wrong =
            Diagnostic::error(&Origin::argument(file), format!("this is no text: byte {place} is not UTF-8"));
        vec![wrong.hint("a plan file is TOML, e.g. examples/verify.toml")]
    })?;
    let path = if file == "-" { "standard input" } else { file };
    let mut plan = super::parse(&text, path)?;
    plan.seed = seed.unwrap_or(plan.seed);
    let surveys = surveyed(&mut plan, loader)?;
    Ok((plan, surveys))
}

/// Reads the traces in files that a plan names: what they hold decides labels, buffers and how targets are opened.
fn surveyed(plan: &mut Plan, loader: &mut dyn Loader) -> Result<Vec<KnownSurvey>, Vec<Diagnostic>> {
    let mut surveys = Vec::new();
    for job in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        let Workload::Trace(trace) = &mut job.workload else { continue };
        let Some(path) = &trace.path else { continue };
        let survey = loader
            .trace(path, &trace.format)
            .and_then(|mut source| Survey::of(&mut *source, &trace.replay.skip));
        let survey = survey.map_err(|error| {
            let wrong = Diagnostic::error(&job.origin, format!("{path}: {error}"));
            vec![Diagnostic { hint: error.hint, ..wrong }]
        })?;
        trace.replay.facts = survey.facts.clone();
        let (path, format, skip) = (path.clone(), trace.format.clone(), trace.replay.skip.clone());
        surveys.push(KnownSurvey { path, format, skip, survey: survey.into() });
    }
    Ok(surveys)
}

/// What the loader knows of each target, in the plan's order; those without a path have none.
fn facts(plan: &Plan, loader: &dyn Loader) -> Vec<TargetFacts> {
    let look = |name: &str, path: &str| {
        let parent =
            path.split('{').next().and_then(|fixed| fixed.rsplit_once('/')).map_or(".", |(parent, _)| parent);
        let parent = if path.starts_with('/') && parent.is_empty() { "/" } else { parent };
        let (facts, missing) = match loader.look(path) {
            Some(facts) => (facts, false),
            None => (loader.look(parent)?, true),
        };
        let file_bytes = (!missing && facts.kind == PathKind::File).then_some(facts.bytes);
        Some(TargetFacts { target: name.into(), path: path.into(), missing, file_bytes, ..facts.target })
    };
    let targets = plan.targets.iter();
    targets
        .filter_map(|target| match &target.kind {
            TargetKind::File { path, .. } | TargetKind::Device { path } => look(&target.name, path),
            TargetKind::FileSet { root, .. } => look(&target.name, root),
            _ => None,
        })
        .collect()
}
