//! A plan of any tool as a design, as far as the page's table says it; what it does not is told.
//!
//! It refuses plans that are no drawn reads and writes on files and devices: they are run as they were written.

use iodyno_model::{
    Action, Blend, Coverage, Diagnostic, Extent, Job, Pattern, Pick, Plan, Rate, Size, TargetKind, Verb,
    Workload,
};

use super::{Design, DesignLine, SECTOR, Specification, one};

/// Time of what ended by amount, s.
const RUN_S: u64 = 60;
const NS: u64 = 1_000_000_000;

/// The design, and what of the plan it leaves out.
///
/// # Errors
/// Why it cannot be shown as a table.
pub fn of_plan(name: &str, plan: &Plan) -> Result<(Design, Vec<String>), Vec<Diagnostic>> {
    let mut notes = Vec::new();
    let all =
        || plan.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase.name.as_str(), job)));
    let jobs = || all().filter(|(_, job)| !removes(job));
    if all().any(|(_, job)| removes(job)) {
        notes.push("it removed its files at the end; here they stay".into());
    }
    let Some((_, first)) = jobs().next() else { return refuse("it measures nothing by itself") };
    let mut design = Design { name: name.into(), seed: Some(plan.seed), ..Design::default() };
    (design.workers, design.depth) = (first.workers, first.depth.most.max(1));
    (design.run_s, design.ramp_s) = times(first, &mut notes);
    if let Workload::Pattern(pattern) = &first.workload {
        (design.first_sector, design.sectors) = span(pattern, plan, first, &mut notes);
    }
    design.rate = match first.pace.rate_all {
        Rate::Operations(rate) => Some(rate),
        Rate::Bytes(_) => {
            notes.push("a rate in bytes is left out".into());
            None
        }
        Rate::Unlimited => None,
    };
    for (phase, job) in jobs() {
        let Workload::Pattern(pattern) = &job.workload else {
            return refuse(&format!("`{}` is no drawn load but a script, a trace or a check", job.name));
        };
        for index in &job.targets {
            let path = path(plan, *index)?;
            if !design.targets.contains(&path) {
                design.targets.push(path);
            }
        }
        let lines = lines(pattern, job)?;
        if pattern.coverage != Coverage::Repeating && lines.iter().any(|line| line.random > 0) {
            let name = &job.name;
            notes.push(format!(
                "`{name}` goes to each place once before any comes again; here they are drawn"
            ));
        }
        let name = specification_name(&design, phase, job);
        if !design.specifications.iter().any(|known| known.lines == lines) {
            design.specifications.push(Specification { name, assigned: true, lines });
        }
        if (job.workers, job.depth.most.max(1)) != (design.workers, design.depth) {
            notes.push(format!(
                "`{}` has {} workers at depth {}; here all are as the first",
                job.name, job.workers, job.depth.most
            ));
        }
    }
    let side_by_side = plan.phases.iter().any(|phase| phase.jobs.len() > 1);
    if side_by_side && design.specifications.len() > 1 {
        notes.push("jobs that ran side by side run one after the other here, on all targets".into());
    }
    if !plan.sweep.is_empty() {
        notes.push("its sweep is left out; the depths have one below".into());
    }
    notes.dedup();
    Ok((design, notes))
}

/// Whether a job does nothing but take files away, as IOR does at its end.
fn removes(job: &Job) -> bool {
    match &job.workload {
        Workload::Pattern(pattern) => pattern.mix.shares.iter().all(|share| share.verb == Verb::Unlink),
        Workload::Script(script) => script
            .steps
            .iter()
            .all(|step| matches!(&step.action, Action::Do(operation) if operation.verb == Verb::Unlink)),
        _ => false,
    }
}

fn refuse<T>(why: &str) -> Result<T, Vec<Diagnostic>> {
    Err(one(why, "run it as it was written: the table has drawn reads and writes alone"))
}

fn path(plan: &Plan, index: usize) -> Result<String, Vec<Diagnostic>> {
    match plan.targets.get(index).map(|target| &target.kind) {
        Some(TargetKind::File { path, .. } | TargetKind::Device { path }) if !path.contains('{') => {
            Ok(path.clone())
        }
        _ => refuse("it works on something other than one file or device for all workers"),
    }
}

fn times(job: &Job, notes: &mut Vec<String>) -> (u64, u64) {
    let run_s = match job.limit.time_ns {
        Some(ns) => ns.div_ceil(NS).max(1),
        None => {
            notes.push(format!("it ended when all was done; here it ends after {RUN_S} s"));
            RUN_S
        }
    };
    (run_s, job.limit.ramp_ns.div_ceil(NS))
}

/// The first sector and how many.
fn span(pattern: &Pattern, plan: &Plan, job: &Job, notes: &mut Vec<String>) -> (u64, u64) {
    let known = |extent: &Extent| match extent {
        Extent::Bytes(bytes) => Some(*bytes),
        _ => None,
    };
    if pattern.span.increment != Extent::Rest {
        notes.push("workers that begin at places of their own begin together here".into());
    }
    let file =
        job.targets.first().and_then(|index| plan.targets.get(*index)).and_then(|target| {
            match &target.kind {
                TargetKind::File { size, .. } => known(size),
                _ => None,
            }
        });
    let first = known(&pattern.span.offset).unwrap_or(0);
    let length = known(&pattern.span.length).or(file.map(|bytes| bytes.saturating_sub(first))).unwrap_or(0);
    (first / SECTOR, length / SECTOR)
}

fn specification_name(design: &Design, phase: &str, job: &Job) -> String {
    let is_taken =
        |name: &str| design.specifications.iter().any(|known| known.name.eq_ignore_ascii_case(name));
    let plain = |name: &str| name.replace([',', '\n', '\r'], " ").trim().to_string();
    let names = [plain(&job.name), plain(phase), plain(&format!("{phase} {}", job.name))];
    let free = names.iter().find(|name| !name.is_empty() && !is_taken(name)).cloned();
    free.unwrap_or_else(|| format!("specification {}", design.specifications.len() + 1))
}

/// The lines that make the same operations.
fn lines(pattern: &Pattern, job: &Job) -> Result<Vec<DesignLine>, Vec<Diagnostic>> {
    let weight = |verb: Verb| {
        pattern.mix.shares.iter().filter(|share| share.verb == verb).map(|share| share.weight).sum::<f64>()
    };
    let (read, write) = (weight(Verb::Read), weight(Verb::Write));
    let all: f64 = pattern.mix.shares.iter().map(|share| share.weight).sum();
    if all <= 0.0 || (read + write) < all {
        return refuse(&format!("`{}` does something other than reading and writing", job.name));
    }
    let reads = (read / all * 100.0).round() as u64;
    let (pick, size, align) = match reads {
        0 => (&pattern.pick.write, &pattern.size.write, pattern.align_bytes.write),
        _ => (&pattern.pick.read, &pattern.size.read, pattern.align_bytes.read),
    };
    if (1..100).contains(&reads)
        && (pattern.pick.read != pattern.pick.write || pattern.size.read != pattern.size.write)
    {
        return refuse(&format!("`{}`: its reads and writes differ in more than their share", job.name));
    }
    let random = random(pick, job.workers)
        .map_or_else(|| refuse(&format!("`{}` picks its places in another way", job.name)), Ok)?;
    let (delay_ms, burst) = match &job.pace.think {
        Some(think) => (think.sleep_ns / 1_000_000, think.every.max(1)),
        None => (0, 1),
    };
    let line = |bytes: u64, percent: u64| {
        // An alignment of 0 is that of the size in a plan, and of a sector in IOMeter.
        let align = if align == 0 { bytes } else { align };
        DesignLine { bytes, percent, reads, random, delay_ms, burst, align }
    };
    match size {
        Size::Fixed(bytes) if *bytes > 0 => Ok(vec![line(*bytes, 100)]),
        Size::Split(parts) if parts.iter().all(|(_, percent)| percent.fract() == 0.0) => {
            Ok(parts.iter().map(|(bytes, percent)| line(*bytes, *percent as u64)).collect())
        }
        _ => refuse(&format!("`{}`: its sizes are drawn in another way", job.name)),
    }
}

/// How many go anywhere, percent.
fn random(pick: &Pick, workers: u32) -> Option<u64> {
    match pick {
        Pick::Sequential => Some(0),
        Pick::Uniform => Some(100),
        // A block alone is walked through; so are several that follow each other.
        Pick::Segmented { block_bytes, count, stride_bytes, shuffled } => {
            let follow = stride_bytes == block_bytes || (*stride_bytes == 0 && workers == 1);
            match shuffled {
                true => (*count == 1).then_some(100),
                false => (*count == 1 || follow).then_some(0),
            }
        }
        Pick::Blend(ways) => {
            let percent =
                |way: &Blend| random(&way.pick, workers).map(|random| way.percent * random as f64 / 100.0);
            let sum: Option<f64> = ways.iter().map(percent).sum();
            sum.map(|sum| sum.round() as u64)
        }
        _ => None,
    }
}
