//! Sweeps: a plan with one parameter varied over a list, or several over a grid.
//!
//! [`expand`] turns a swept plan into plain phases that carry their coordinates, so queue-depth tables, size × record
//! surfaces, engines side by side and cache-overflow curves are all one mechanism.

use std::fmt;

use crate::reflect::{Reflect, ReflectMut, ReflectRef, Scalar, TypeShape};

use crate::origin::{Diagnostic, Origin};
use crate::pace::Rate;
use crate::pattern::{PerDirection, Size};
use crate::plan::{Job, Phase, Plan};
use crate::target::{Direct, Extent, TargetKind};
use crate::units;
use crate::workload::Workload;

/// One parameter and the values it takes.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Sweep {
    /// What is varied.
    pub parameter: Parameter,
    /// The values, in order.
    pub values: Vec<Value>,
    /// Where it was written.
    #[reflect(default)]
    pub origin: Origin,
}

/// What can be varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub enum Parameter {
    /// Operations in flight.
    Depth,
    /// Workers of every job.
    Workers,
    /// The engine's name.
    Engine,
    /// Block size in bytes.
    BlockBytes,
    /// Bytes of the target that are touched.
    SpanBytes,
    /// File size in bytes.
    FileBytes,
    /// Operations per second and worker, all directions together.
    Rate,
    /// Through the page cache or past it.
    Cached,
    /// Percentage of reads in the mix.
    ReadPercent,
}

impl Parameter {
    /// The word plans and tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Parameter::Depth => "depth",
            Parameter::Workers => "workers",
            Parameter::Engine => "engine",
            Parameter::BlockBytes => "block",
            Parameter::SpanBytes => "span",
            Parameter::FileBytes => "file",
            Parameter::Rate => "rate",
            Parameter::Cached => "cached",
            Parameter::ReadPercent => "read percent",
        }
    }

    /// Whether its values are sizes in bytes.
    pub const fn is_bytes(self) -> bool {
        matches!(self, Parameter::BlockBytes | Parameter::SpanBytes | Parameter::FileBytes)
    }
}

/// One value of a swept parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A count, a size in bytes, a rate.
    Number(u64),
    /// A name.
    Word(String),
}

impl Reflect for Value {
    fn shape() -> TypeShape {
        TypeShape::Scalar
    }

    fn blank() -> Self {
        Value::Flag(false)
    }

    fn view(&self) -> ReflectRef<'_> {
        match self {
            Value::Flag(flag) => ReflectRef::Bool(*flag),
            Value::Number(number) => ReflectRef::Unsigned(*number),
            Value::Word(word) => ReflectRef::Text(word),
        }
    }

    fn slot(&mut self) -> ReflectMut<'_> {
        ReflectMut::Scalar(self)
    }
}

impl Scalar for Value {
    fn set_bool(&mut self, value: bool) {
        *self = Value::Flag(value);
    }

    fn set_number(&mut self, value: u64) {
        *self = Value::Number(value);
    }

    fn set_text(&mut self, value: &str) {
        *self = Value::Word(value.into());
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => f.write_str(word),
        }
    }
}

/// Where a phase stands in a sweep.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Coordinate {
    /// The parameter.
    pub parameter: Parameter,
    /// Its value here.
    pub value: Value,
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, self.parameter.is_bytes()) {
            (Value::Number(bytes), true) => write!(f, "{} {}", self.parameter.name(), units::binary(*bytes)),
            (value, _) => write!(f, "{} {value}", self.parameter.name()),
        }
    }
}

/// The plan with its sweeps and repetitions written out as phases, those that make the storage ready once and first. The
/// last sweep varies fastest. Passes that depend on how it goes come later.
///
/// # Errors
/// One diagnostic for each value that does not fit its parameter.
pub fn expand(plan: &Plan) -> Result<Plan, Vec<Diagnostic>> {
    let (before, mut phases): (Vec<Phase>, Vec<Phase>) =
        plan.phases.iter().cloned().partition(|phase| phase.precondition);
    let mut targets = plan.targets.clone();
    let mut wrong = Vec::new();
    for sweep in &plan.sweep {
        let mut next = Vec::new();
        for phase in &phases {
            for value in &sweep.values {
                match at(phase, &mut targets, sweep, value) {
                    Ok(phase) => next.push(phase),
                    Err(diagnostic) => wrong.push(diagnostic),
                }
            }
        }
        phases = next;
    }
    if !wrong.is_empty() {
        wrong.dedup();
        return Err(wrong);
    }
    let once = phases;
    let passes = (0..plan.repeat.times.max(1)).flat_map(|number| pass(&once, number));
    let phases = before.into_iter().chain(passes).collect();
    let repeat = crate::plan::Repeat { times: 1, ..plan.repeat.clone() };
    Ok(Plan { phases, targets, sweep: Vec::new(), repeat, ..plan.clone() })
}

/// The plan with all its phases written out at each point of a grid: the whole plan at the first point, then at the next,
/// because later phases may work on what earlier ones made. The last sweep varies fastest. Jobs for which `takes` denies a
/// parameter stay as they are; a phase without a job that takes one has no coordinates.
///
/// # Errors
/// One diagnostic for each value that does not fit its parameter.
pub fn grid(
    plan: &Plan,
    sweeps: &[Sweep],
    takes: &dyn Fn(&Plan, &Job, Parameter) -> bool,
) -> Result<Plan, Vec<Diagnostic>> {
    let mut points: Vec<Vec<(&Sweep, &Value)>> = vec![Vec::new()];
    for sweep in sweeps {
        let mut next = Vec::new();
        for point in &points {
            next.extend(sweep.values.iter().map(|value| [&point[..], &[(sweep, value)]].concat()));
        }
        points = next;
    }
    let (before, once): (Vec<Phase>, Vec<Phase>) =
        plan.phases.iter().cloned().partition(|phase| phase.precondition);
    let (mut phases, mut targets, mut wrong) = (before, plan.targets.clone(), Vec::new());
    for (point, phase) in points.iter().flat_map(|point| once.iter().map(move |phase| (point, phase))) {
        let planned = &phase.jobs;
        let mut phase = phase.clone();
        let mut taken = false;
        for (job, planned) in phase.jobs.iter_mut().zip(planned) {
            // Asked of the job as planned: what is set may give it copies of its targets, which the plan does not have.
            for (sweep, value) in point.iter().filter(|(sweep, _)| takes(plan, planned, sweep.parameter)) {
                taken = true;
                wrong.extend(set(job, &mut targets, sweep, value).err());
            }
        }
        if taken {
            let place = |(sweep, value): &(&Sweep, &Value)| Coordinate {
                parameter: sweep.parameter,
                value: (*value).clone(),
            };
            phase.coordinates.extend(point.iter().map(place));
        }
        phases.push(phase);
    }
    wrong.dedup();
    if wrong.is_empty() { Ok(Plan { phases, targets, ..plan.clone() }) } else { Err(wrong) }
}

/// The phases of one pass, of that number from 0.
pub fn pass(once: &[Phase], number: u32) -> impl Iterator<Item = Phase> {
    once.iter().map(move |phase| Phase { repetition: phase.repetition + number, ..phase.clone() })
}

/// A phase with one parameter set.
fn at(
    phase: &Phase,
    targets: &mut Vec<crate::target::Target>,
    sweep: &Sweep,
    value: &Value,
) -> Result<Phase, Diagnostic> {
    let mut phase = phase.clone();
    for job in &mut phase.jobs {
        set(job, targets, sweep, value)?;
    }
    phase.coordinates.push(Coordinate { parameter: sweep.parameter, value: value.clone() });
    Ok(phase)
}

fn set(
    job: &mut Job,
    targets: &mut Vec<crate::target::Target>,
    sweep: &Sweep,
    value: &Value,
) -> Result<(), Diagnostic> {
    let name = sweep.parameter.name();
    let wrong =
        |what: &str| Diagnostic::error(&sweep.origin, format!("sweep of {name}: `{value}` is not {what}"));
    let number = || match value {
        Value::Number(number) if *number > 0 => Ok(*number),
        _ => Err(wrong("a whole number of at least 1")),
    };
    match sweep.parameter {
        Parameter::Depth => {
            job.depth.most = u32::try_from(number()?).map_err(|_| wrong("a possible depth"))?
        }
        Parameter::Workers => {
            job.workers = u32::try_from(number()?).map_err(|_| wrong("a possible count"))?
        }
        Parameter::Engine => match value {
            Value::Word(word) => job.engine = word.clone(),
            _ => return Err(wrong("an engine's name")),
        },
        Parameter::Rate => {
            job.pace.rate_all = Rate::Operations(number()? as f64);
            job.pace.rate = PerDirection::default();
        }
        Parameter::FileBytes => {
            let bytes = number()?;
            own_targets(job, targets, &format!("{name} {bytes}"), |target| {
                if let TargetKind::File { size, .. } = &mut target.kind {
                    *size = Extent::Bytes(bytes);
                }
            });
        }
        Parameter::Cached => {
            let Value::Flag(cached) = value else { return Err(wrong("yes or no")) };
            let direct = if *cached { Direct::No } else { Direct::Yes };
            own_targets(job, targets, &format!("cached {value}"), |target| target.open.direct = direct);
        }
        Parameter::BlockBytes | Parameter::SpanBytes | Parameter::ReadPercent => {
            let Workload::Pattern(pattern) = &mut job.workload else {
                return Err(wrong("possible here: the workload is not a pattern"));
            };
            match sweep.parameter {
                Parameter::BlockBytes => pattern.size = PerDirection::same(Size::Fixed(number()?)),
                Parameter::SpanBytes => pattern.span.length = Extent::Bytes(number()?),
                _ => match value {
                    Value::Number(percent) if *percent <= 100 => {
                        pattern.mix = crate::pattern::Mix::reads(*percent as f64);
                    }
                    _ => return Err(wrong("a percentage")),
                },
            }
        }
    }
    Ok(())
}

/// Gives a job changed copies of its targets, sharing the copy with earlier jobs that made the same one.
fn own_targets(
    job: &mut Job,
    targets: &mut Vec<crate::target::Target>,
    suffix: &str,
    change: impl Fn(&mut crate::target::Target),
) {
    for index in &mut job.targets {
        let mut copy = targets[*index].clone();
        change(&mut copy);
        copy.name = format!("{} ({suffix})", targets[*index].name);
        *index = targets.iter().position(|target| *target == copy).unwrap_or_else(|| {
            targets.push(copy);
            targets.len() - 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Pattern, Pick};
    use crate::verb::Verb;

    fn plan() -> Plan {
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let job = Job::new("j", "null", Vec::new(), Workload::Pattern(Box::new(pattern)));
        Plan {
            phases: vec![Phase { name: "p".into(), jobs: vec![job], ..Phase::default() }],
            ..Plan::default()
        }
    }

    fn sweep(parameter: Parameter, values: Vec<Value>) -> Sweep {
        Sweep { parameter, values, origin: Origin::Default }
    }

    #[test]
    fn a_grid_varies_the_last_parameter_fastest() {
        let mut plan = plan();
        plan.sweep = vec![
            sweep(Parameter::Workers, vec![Value::Number(1), Value::Number(2)]),
            sweep(Parameter::Depth, vec![Value::Number(8), Value::Number(16)]),
        ];
        let plan = expand(&plan).unwrap();
        let found: Vec<_> = plan.phases.iter().map(|p| (p.jobs[0].workers, p.jobs[0].depth.most)).collect();
        assert_eq!(found, [(1, 8), (1, 16), (2, 8), (2, 16)]);
        assert_eq!(plan.phases[3].coordinates.len(), 2);
    }

    #[test]
    fn all_phases_run_at_one_point_before_the_next() {
        let mut plan = plan();
        let kept = Job { workers: 7, ..plan.phases[0].jobs[0].clone() };
        plan.phases.push(Phase { name: "q".into(), jobs: vec![kept], ..Phase::default() });
        let depths = sweep(Parameter::Depth, vec![Value::Number(8), Value::Number(16)]);
        let plan = grid(&plan, &[depths], &|_, job, _| job.workers == 1).unwrap();
        let found: Vec<_> = plan
            .phases
            .iter()
            .map(|phase| (phase.name.as_str(), phase.jobs[0].depth.most, phase.coordinates.len()))
            .collect();
        assert_eq!(found, [("p", 8, 1), ("q", 1, 0), ("p", 16, 1), ("q", 1, 0)]);
    }

    #[test]
    fn what_makes_ready_comes_once_and_first() {
        let mut plan = plan();
        plan.repeat.times = 2;
        let fill = Phase { name: "fill".into(), precondition: true, ..Phase::default() };
        plan.phases.push(fill);
        let names: Vec<_> = expand(&plan).unwrap().phases.into_iter().map(|p| p.precondition).collect();
        assert_eq!((names[0], names.iter().filter(|fill| **fill).count()), (true, 1));
    }

    #[test]
    fn repetitions_are_interleaved() {
        let mut plan = plan();
        plan.repeat.times = 2;
        plan.sweep = vec![sweep(Parameter::Depth, vec![Value::Number(1), Value::Number(2)])];
        let found: Vec<_> =
            expand(&plan).unwrap().phases.iter().map(|p| (p.repetition, p.jobs[0].depth.most)).collect();
        assert_eq!(found, [(0, 1), (0, 2), (1, 1), (1, 2)]);
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_an_error() {
        let mut plan = plan();
        plan.sweep = vec![sweep(Parameter::Depth, vec![Value::Number(0)])];
        assert!(expand(&plan).unwrap_err()[0].message.contains("whole number"));
    }
}
