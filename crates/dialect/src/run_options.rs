//! What may be asked of any run, whatever tool it is said in: how often, until it is known how well, of a storage in which
//! state, and under which conditions it fails.
//!
//! Native commands take these as options, drop-ins as words of `--also`; here they become part of the plan. Refuses to
//! overwrite what the plan itself only reads.

use iodyno_model::{
    Action, Aging, Demand, Diagnostic, Extent, Intent, Job, Limit, Origin, Pattern, Phase, Pick, Place, Plan,
    Ranks, Repeat, Rounds, Step, Target, TargetKind, Verb, Workload, units,
};

use crate::{age, engine_choice};

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct RunOptions {
    /// Age the file systems first, until they are this full: 70% (see iodyno age)
    #[arg(long, value_name = "PERCENT")]
    pub age: Option<String>,
    /// Fail if this condition holds, e.g. 'read.p99 > 5ms' or 'write.iops < 6000'; repeatable
    #[arg(long = "fail-if", value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Maximum rate of the path to the storage, e.g. 400Gbit or 50GB/s; a faster result is reported as invalid
    #[arg(long, value_name = "RATE")]
    pub ceiling: Option<String>,
    /// Number of passes; with --confidence or --until-steady the minimum
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: Option<u32>,
    /// Repeat until every rate has this confidence interval: 95%,5% is a 95 % interval 5 % wide
    #[arg(long, value_name = "SURE,WIDE")]
    pub confidence: Option<String>,
    /// Repeat until the rates of the last five passes are steady (SNIA SSS PTS)
    #[arg(long)]
    pub until_steady: bool,
    /// Maximum number of passes [default: 25 with --confidence or --until-steady]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub most: Option<u32>,
    /// Write every file and device twice first, then repeat until steady
    #[arg(long)]
    pub precondition: bool,
}

/// Passes that an interval takes at least.
const LEAST_PASSES: u32 = 3;

impl RunOptions {
    /// Takes a word of `--also`; whether it is one of these.
    ///
    /// # Errors
    /// What is wrong with its value.
    pub fn word(&mut self, name: &str, value: Option<&str>) -> Result<bool, String> {
        let passes = |value: &str| {
            let count = value.parse::<u32>().ok().filter(|count| (1..=10_000).contains(count));
            count
                .map(Some)
                .ok_or_else(|| format!("`{name}={value}`: expected a whole number from 1 to 10000"))
        };
        match (name, value) {
            ("repeat", Some(value)) => self.repeat = passes(value)?,
            ("most", Some(value)) => self.most = passes(value)?,
            ("confidence", Some(value)) => {
                confidence(value)?;
                self.confidence = Some(value.into());
            }
            ("age", Some(value)) => {
                age::options::percent(value)?;
                self.age = Some(value.into());
            }
            ("ceiling", Some(value)) => {
                units::parse_bits(value)?;
                self.ceiling = Some(value.into());
            }
            ("fail-if", Some(value)) => self.fail_if.push(value.trim().into()),
            ("until-steady", None) => self.until_steady = true,
            ("precondition", None) => self.precondition = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Makes it part of a plan. `place` is where it was said: `--also`, or nothing where each is an option of its own.
    ///
    /// # Errors
    /// What is wrong with it, or does not fit the plan.
    pub fn apply(&self, plan: &mut Plan, place: &str) -> Result<(), Diagnostic> {
        let origin = |option: &str| Origin::argument(if place.is_empty() { option } else { place });
        let demand = |text: &String| Demand { text: text.clone(), origin: origin("--fail-if") };
        plan.demands.extend(self.fail_if.iter().map(demand));
        if let Some(ceiling) = &self.ceiling {
            let wrong = |wrong: String| Diagnostic::error(&origin("--ceiling"), wrong).hint("e.g. 400Gbit");
            plan.ceiling_bits = Some(units::parse_bits(ceiling).map_err(wrong)?);
        }
        let passes = self.repeat.is_some() || self.confidence.is_some() || self.until_steady;
        if plan.intent == Intent::Correctness && (passes || self.precondition) {
            let message = "passes are for rates, and this says whether it is right";
            return Err(Diagnostic::error(&origin("--repeat"), message).hint("leave it out"));
        }
        self.passes(&mut plan.repeat).map_err(|wrong| {
            Diagnostic::error(&origin("--confidence"), wrong)
                .hint("e.g. 95%,5% (with --also: confidence=95:5)")
        })?;
        if self.most.is_some()
            && plan.repeat.until_interval_percent == 0.0
            && plan.repeat.until_steady.is_none()
        {
            let message = "at most so many passes, but nothing is waited for";
            return Err(Diagnostic::error(&origin("--most"), message).hint("say how often with repeat"));
        }
        if self.precondition {
            precondition(plan, &origin("--precondition"))?;
        }
        match &self.age {
            Some(percent) => aged(plan, percent, &origin("--age")),
            None => Ok(()),
        }
    }

    fn passes(&self, repeat: &mut Repeat) -> Result<(), String> {
        if let Some(text) = &self.confidence {
            (repeat.confidence_percent, repeat.until_interval_percent) = confidence(text)?;
            repeat.times = repeat.times.max(LEAST_PASSES);
        }
        if (self.until_steady || self.precondition) && repeat.until_steady.is_none() {
            repeat.until_steady = Some(Rounds::default());
            repeat.times = repeat.times.max(Rounds::default().window);
        }
        if let Some(times) = self.repeat {
            let waits = repeat.until_steady.is_some() || repeat.until_interval_percent > 0.0;
            repeat.times = if waits { times.max(repeat.times) } else { times };
        }
        repeat.most = self.most.unwrap_or(repeat.most);
        Ok(())
    }
}

/// Every file system that the plan has files on is made old first; what is said in the plan itself stays.
fn aged(plan: &mut Plan, percent: &str, origin: &Origin) -> Result<(), Diagnostic> {
    let percent =
        age::options::percent(percent).map_err(|wrong| Diagnostic::error(origin, wrong).hint("e.g. 70%"))?;
    let in_files =
        |target: &&Target| matches!(target.kind, TargetKind::File { .. } | TargetKind::FileSet { .. });
    let mut directories: Vec<String> = Vec::new();
    for target in plan.targets.iter().filter(in_files) {
        let path = target.path().unwrap_or_default();
        let directory = match (&target.kind, path.rsplit_once('/')) {
            (TargetKind::FileSet { .. }, _) => path,
            (_, Some(("", _))) => "/",
            (_, Some((directory, _))) => directory,
            (_, None) => ".",
        };
        if !directories.iter().any(|known| known == directory) {
            directories.push(directory.into());
        }
    }
    if directories.is_empty() {
        let message = "there is nothing to age: the plan works on no file";
        return Err(Diagnostic::error(origin, message).hint("leave age out"));
    }
    if plan.aging.is_empty() {
        let aging = |directory: &String| Aging { origin: origin.clone(), ..Aging::new(directory, percent) };
        plan.aging = directories.iter().map(aging).collect();
    }
    Ok(())
}

/// `95%,5%`, `95,5`, `95:5`; or `5%` alone, of which 95 % are sure.
fn confidence(text: &str) -> Result<(f64, f64), String> {
    let (sure, wide) = text.split_once([',', ':']).unwrap_or(("95", text));
    let percent = |text: &str| text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    match (percent(sure), percent(wide)) {
        (Some(sure), Some(wide)) if (50.0..=99.99).contains(&sure) && wide > 0.0 && wide < 100.0 => {
            Ok((sure, wide))
        }
        _ => Err(format!("`{text}`: expected how sure (50 to 99.99 %) and how wide (below 100 %), as 95:5")),
    }
}

/// Bytes of a filling write; files that are no multiple of it get smaller ones.
const FILL_BYTES: u64 = 128 << 10;
/// How many filling writes are in flight, by engines that can.
const FILL_DEPTH: u32 = 32;

/// Puts phases before all others that write everything twice, which is what SNIA asks for before anything is measured;
/// unless they are there already, as in a plan that runs again.
fn precondition(plan: &mut Plan, origin: &Origin) -> Result<(), Diagnostic> {
    if plan.phases.iter().any(|phase| phase.precondition) {
        return Ok(());
    }
    let mut seen: Vec<(usize, String)> = Vec::new();
    let mut phases = Vec::new();
    for phase in &plan.phases {
        let mut jobs = Vec::new();
        for job in &phase.jobs {
            let new = job.targets.iter().enumerate().filter(|(_, index)| {
                let Some(target) = plan.targets.get(**index) else { return false };
                let own = matches!(target.path(), Some(path) if path.contains("{job}"));
                let key = (**index, if own { job.name.clone() } else { String::new() });
                let fills = is_filled(target) && !seen.contains(&key);
                seen.extend(fills.then_some(key));
                fills
            });
            let targets: Vec<usize> = new.map(|(_, index)| *index).collect();
            // Names with the worker in them are files of their own, and filled by whom they belong to.
            let (own, shared): (Vec<usize>, Vec<usize>) = targets
                .into_iter()
                .partition(|index| plan.targets[*index].path().is_some_and(|path| path.contains('{')));
            for index in own.iter().chain(&shared) {
                may_be_filled(plan, *index, origin)?;
            }
            jobs.extend((!own.is_empty()).then(|| fill(plan, job, own, false)));
            if !shared.is_empty() {
                phases.push(filling(vec![fill(plan, job, shared, true)]));
            }
        }
        if !jobs.is_empty() {
            phases.push(filling(jobs));
        }
    }
    if phases.is_empty() {
        let message = "there is nothing to fill: the plan works on no file and no device";
        let has_set = plan.targets.iter().any(|target| matches!(target.kind, TargetKind::FileSet { .. }));
        let hint = match has_set {
            true => {
                "leave precondition out: the items of a set of files come and go, and are not filled before"
            }
            false => "leave precondition out",
        };
        return Err(Diagnostic::error(origin, message).hint(hint));
    }
    plan.phases.splice(0..0, phases);
    Ok(())
}

fn is_filled(target: &Target) -> bool {
    matches!(target.kind, TargetKind::File { .. } | TargetKind::Device { .. } | TargetKind::Nothing { .. })
}

fn filling(jobs: Vec<Job>) -> Phase {
    Phase { name: "precondition".into(), jobs, precondition: true, ..Phase::default() }
}

/// Refuses a target that nobody gave up: what exists and is only read, stays.
fn may_be_filled(plan: &Plan, index: usize, origin: &Origin) -> Result<(), Diagnostic> {
    let target = &plan.targets[index];
    let Some(path) = target.path() else { return Ok(()) };
    let written = plan.phases.iter().flat_map(|phase| &phase.jobs).any(|job| {
        job.targets.iter().enumerate().any(|(position, other)| *other == index && writes(job, position))
    });
    if written || target.remove || plan.destroy.iter().any(|name| name == path) {
        return Ok(());
    }
    let message = format!("{path}: the plan only reads it, and filling would overwrite it");
    let option = if *origin == Origin::argument("--also") { "--also destroy=" } else { "--destroy " };
    Err(Diagnostic::error(origin, message).hint(format!("if that is meant: {option}{path}")))
}

/// Whether a job writes to the target at a position.
fn writes(job: &Job, position: usize) -> bool {
    fn step_writes(step: &Step, position: usize) -> bool {
        match &step.action {
            Action::Do(operation) => operation.verb.changes() && operation.target == Some(position),
            Action::Block(steps) => steps.iter().any(|step| step_writes(step, position)),
            Action::Call(_) => false,
        }
    }
    match &job.workload {
        Workload::Pattern(pattern) => pattern.mix.shares.iter().any(|share| share.verb.changes()),
        Workload::Script(script) => script.steps.iter().any(|step| step_writes(step, position)),
        _ => false,
    }
}

/// The job that writes targets full twice, with another's engine and workers.
fn fill(plan: &Plan, of: &Job, targets: Vec<usize>, alone: bool) -> Job {
    let size = |index: &usize| match &plan.targets[*index].kind {
        TargetKind::File { size: Extent::Bytes(bytes), .. } | TargetKind::Nothing { bytes } => Some(*bytes),
        _ => None,
    };
    let sizes: Vec<u64> = targets.iter().filter_map(size).collect();
    let mut block_bytes = FILL_BYTES;
    while block_bytes > 512 && sizes.iter().any(|bytes| *bytes > 0 && bytes % block_bytes != 0) {
        block_bytes /= 2;
    }
    let pattern = Pattern::of(Verb::Write, Pick::Sequential, block_bytes);
    let mut job = Job::new(&of.name, &of.engine, targets, Workload::Pattern(Box::new(pattern)));
    job.settings.clone_from(&of.settings);
    job.kind = of.kind;
    job.placement = of.placement.clone();
    job.origin = of.origin.clone();
    job.limit = Limit { passes: Some(2), ..Limit::default() };
    job.finish.sync = Some(Verb::Fsync);
    job.depth.most = if engine_choice::keeps_depth(&of.engine) { FILL_DEPTH } else { 1 };
    if alone {
        (job.ranks, job.place) = (Ranks::Workers(1), Place::Own);
    } else {
        (job.workers, job.ranks) = (of.workers, of.ranks);
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(verb: Verb, path: &str) -> Plan {
        let kind = TargetKind::File { path: path.into(), size: Extent::Bytes(3 << 20) };
        let target = Target {
            name: "t".into(),
            kind,
            open: Default::default(),
            prepare: Default::default(),
            remove: false,
            origin: Origin::Default,
        };
        let pattern = Pattern::of(verb, Pick::Uniform, 4096);
        let mut job = Job::new("j", "libaio", vec![0], Workload::Pattern(Box::new(pattern)));
        job.workers = 4;
        let phase = Phase { name: "p".into(), jobs: vec![job], ..Phase::default() };
        Plan { targets: vec![target], phases: vec![phase], ..Plan::default() }
    }

    fn wished(words: &[&str], plan: &mut Plan) -> Result<(), String> {
        let mut wishes = RunOptions::default();
        for word in words {
            let (name, value) =
                word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
            assert!(wishes.word(name, value)?, "{word}");
        }
        wishes.apply(plan, "--also").map_err(|wrong| wrong.message)
    }

    #[test]
    fn words_become_part_of_the_plan() {
        let mut plan = plan(Verb::Write, "f");
        wished(&["repeat=7", "confidence=99:2.5", "fail-if=read.p99 >= 5ms", "most=30"], &mut plan).unwrap();
        let repeat = &plan.repeat;
        assert_eq!((repeat.times, repeat.most), (7, 30));
        assert_eq!((repeat.confidence_percent, repeat.until_interval_percent), (99.0, 2.5));
        assert_eq!(plan.demands[0].text, "read.p99 >= 5ms");
        assert_eq!(confidence("95%,5%"), Ok((95.0, 5.0)));
        assert_eq!(confidence("5%"), Ok((95.0, 5.0)));
    }

    #[test]
    fn file_systems_beneath_are_aged() {
        let aged = |path| {
            let mut plan = plan(Verb::Read, path);
            wished(&["age=70%"], &mut plan).unwrap();
            let aging = plan.aging.remove(0);
            assert!(plan.aging.is_empty() && aging.full_percent == 70.0);
            aging.directory
        };
        assert_eq!(["f", "/f", "a/b/f", "/mnt/x/f.{worker}"].map(aged), [".", "/", "a/b", "/mnt/x"]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for words in [&["confidence=5:95:3"][..], &["confidence=20:5"], &["repeat=0"], &["most=5"]] {
            assert!(wished(words, &mut plan(Verb::Write, "f")).is_err(), "{words:?}");
        }
        assert_eq!(RunOptions::default().word("until-steady", Some("x")), Ok(false));
        let mut right = Plan { intent: Intent::Correctness, ..plan(Verb::Read, "f") };
        assert!(wished(&["repeat=2"], &mut right).is_err());
        assert!(wished(&["precondition"], &mut plan(Verb::Read, "f")).unwrap_err().contains("only reads"));
        assert!(wished(&["age=70%"], &mut Plan::default()).unwrap_err().contains("nothing to age"));
        assert!(wished(&["age=170%"], &mut plan(Verb::Read, "f")).is_err());
        assert!(wished(&["precondition"], &mut Plan::default()).unwrap_err().contains("nothing to fill"));
    }

    #[test]
    fn preconditioning_fills_twice_and_then_waits() {
        let mut once = plan(Verb::Write, "f");
        wished(&["precondition"], &mut once).unwrap();
        let fill = &once.phases[0];
        assert!(fill.precondition && once.phases.len() == 2);
        let job = &fill.jobs[0];
        assert_eq!((job.workers, job.ranks, job.limit.passes), (1, Ranks::Workers(1), Some(2)));
        assert_eq!((once.repeat.times, once.repeat.until_steady), (5, Some(Rounds::default())));
        let mut each = plan(Verb::Write, "f.{worker}");
        wished(&["precondition"], &mut each).unwrap();
        assert_eq!(each.phases[0].jobs[0].workers, 4);
        let whole = each.clone();
        wished(&["precondition"], &mut each).unwrap();
        assert_eq!(each, whole, "once is enough");
        let mut given_up = Plan { destroy: vec!["f".into()], ..plan(Verb::Read, "f") };
        wished(&["precondition"], &mut given_up).unwrap();
    }
}
