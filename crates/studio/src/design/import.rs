//! A plan of any tool as a design, as far as the page's table says it; what it does not is told.
//!
//! It refuses plans that are no drawn reads and writes on files and devices: they are run as they were written.

use iodyno_model::{
    Action, Blend, Content, Coverage, Diagnostic, Extent, Job, Pattern, Phase, Pick, Plan, Rate, Refresh,
    Size, TargetKind, Verb, Workload,
};

use super::{Design, DesignLine, IDLE, OtherWorkers, SECTOR, Specification, one};

/// Time of what ended by amount, s.
const RUN_S: u64 = 60;
const NS: u64 = 1_000_000_000;
/// What workers write that only read so far.
const UNWRITTEN: u8 = u8::MAX;

/// The design, and what of the plan it leaves out.
///
/// # Errors
/// Why it cannot be shown as a table.
pub fn of_plan(name: &str, plan: &Plan) -> Result<(Design, Vec<String>), Vec<Diagnostic>> {
    let mut notes = Vec::new();
    let all = || plan.phases.iter().flat_map(|phase| &phase.jobs);
    if all().any(removes) {
        notes.push("it removed its files at the end; here they stay".into());
    }
    let first = all().find(|job| !removes(job));
    let Some(first) = first else { return refuse("it measures nothing by itself") };
    let mut design = Design { name: name.into(), seed: Some(plan.seed), ..Design::default() };
    (design.run_s, design.ramp_s) = times(first, &mut notes);
    design.rate = match first.pace.rate_all {
        Rate::Operations(rate) => Some(rate),
        Rate::Bytes(_) => {
            notes.push("a rate in bytes is left out".into());
            None
        }
        Rate::Unlimited => None,
    };
    let mut groups: Vec<OtherWorkers> = Vec::new();
    let measured = plan.phases.iter().filter(|phase| phase.jobs.iter().any(|job| !removes(job)));
    for (step, phase) in measured.enumerate() {
        let at_work = at_work(plan, phase, &mut design, &mut notes)?;
        join(&mut groups, step, at_work);
    }
    put(&mut design, groups);
    if !plan.sweep.is_empty() {
        notes.push("its sweep is left out; the depths have one below".into());
    }
    let mut told: Vec<String> = Vec::new();
    for note in notes {
        if !told.contains(&note) {
            told.push(note);
        }
    }
    Ok((design, told))
}

/// What the workers of a phase do, those that do the same on several targets together.
fn at_work(
    plan: &Plan,
    phase: &Phase,
    design: &mut Design,
    notes: &mut Vec<String>,
) -> Result<Vec<OtherWorkers>, Vec<Diagnostic>> {
    let mut all: Vec<OtherWorkers> = Vec::new();
    for job in phase.jobs.iter().filter(|job| !removes(job)) {
        let Workload::Pattern(pattern) = &job.workload else {
            return refuse(&format!("`{}` is no drawn load but a script, a trace or a check", job.name));
        };
        let lines = lines(pattern, job)?;
        if pattern.coverage != Coverage::Repeating && lines.iter().any(|line| line.random > 0) {
            let name = &job.name;
            notes.push(format!(
                "`{name}` goes to each place once before any comes again; here they are drawn"
            ));
        }
        let (run_s, ramp_s) = times(job, notes);
        if (run_s, ramp_s) != (design.run_s, design.ramp_s) {
            let (name, ours) = (&job.name, design.run_s);
            notes.push(format!("`{name}` runs for {run_s} s after {ramp_s}; here all run for {ours} s"));
        }
        let (first_sector, sectors) = span(pattern, plan, job, notes);
        let writes = lines.iter().any(|line| line.reads < 100);
        let known = design.specifications.iter().find(|known| known.lines == lines);
        let name =
            known.map_or_else(|| specification_name(design, &phase.name, job), |known| known.name.clone());
        if !design.specifications.iter().any(|known| known.name == name) {
            design.specifications.push(Specification { name: name.clone(), assigned: true, lines });
        }
        let mut own = OtherWorkers {
            workers: job.workers,
            targets: Vec::new(),
            depth: job.depth.most.max(1),
            sectors,
            first_sector,
            content: content(job, writes),
            does: vec![name],
        };
        for index in &job.targets {
            let path = path(plan, *index)?;
            if !own.targets.contains(&path) {
                own.targets.push(path);
            }
        }
        let is_alike = |known: &&mut OtherWorkers| {
            OtherWorkers { targets: own.targets.clone(), ..(*known).clone() } == own
                && own.targets.iter().all(|path| !known.targets.contains(path))
        };
        match all.iter_mut().find(is_alike) {
            Some(alike) => alike.targets.append(&mut own.targets),
            None => all.push(own),
        }
    }
    Ok(all)
}

/// Adds a step to what the workers do: who has the same load goes on, who has nothing to do waits.
fn join(groups: &mut Vec<OtherWorkers>, step: usize, at_work: Vec<OtherWorkers>) {
    for mut own in at_work {
        let goes_on = |group: &&mut OtherWorkers| {
            let writes_alike =
                [group.content, own.content].contains(&UNWRITTEN) || group.content == own.content;
            let load = OtherWorkers { does: own.does.clone(), content: own.content, ..(*group).clone() };
            group.does.len() == step && writes_alike && load == own
        };
        match groups.iter_mut().find(goes_on) {
            Some(group) => {
                group.does.append(&mut own.does);
                group.content = group.content.min(own.content);
            }
            None => {
                let waited = (0..step).map(|_| IDLE.to_string());
                let does = waited.chain(own.does).collect();
                groups.push(OtherWorkers { does, ..own });
            }
        }
    }
    groups.iter_mut().for_each(|group| group.does.resize(step + 1, IDLE.into()));
}

/// Puts the workers into a design, whose first ones are the first.
fn put(design: &mut Design, groups: Vec<OtherWorkers>) {
    let ticked: Vec<String> = design.assigned().map(|known| known.name.clone()).collect();
    let mut groups = groups.into_iter().map(|mut group| {
        while group.does.last().is_some_and(|name| name == IDLE) {
            group.does.pop();
        }
        let is_all = group.does == ticked;
        let content = if group.content == UNWRITTEN { 1 } else { group.content };
        OtherWorkers { does: if is_all { Vec::new() } else { group.does }, content, ..group }
    });
    if let Some(first) = groups.next() {
        (design.workers, design.depth, design.content) = (first.workers, first.depth, first.content);
        (design.first_sector, design.sectors) = (first.first_sector, first.sectors);
        (design.targets, design.does) = (first.targets, first.does);
    }
    design.others = groups.collect();
    for other in &mut design.others {
        if other.targets == design.targets {
            other.targets.clear();
        }
    }
}

/// What a job writes, as IOMeter has it.
fn content(job: &Job, writes: bool) -> u8 {
    match (&job.payload.content, job.payload.refresh) {
        _ if !writes => UNWRITTEN,
        (Content::Pattern(_), _) => 0,
        (Content::Random, Refresh::EachWrite) => 2,
        _ => 1,
    }
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
