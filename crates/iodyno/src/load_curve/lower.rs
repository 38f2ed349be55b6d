//! The plans of a load curve: one workload at each depth, at each load, over each part of the target.

use iodyno_engine::world::World;
use iodyno_model::{
    Arrivals, Coordinate, Diagnostic, Extent, Job, Mix, Pace, Parameter, Pattern, Phase, Pick, Plan, Rate,
    Span, Value, Verb, Workload,
};

use super::LoadCurveArgs;
use crate::single_workload::{SingleWorkload, WorkloadRequest};

/// Operations in flight while a load is offered, at most: later ones wait, and their wait counts.
const OPEN_DEPTH: u32 = 256;
/// Of the command.
const NAME: &str = "load-curve";

/// One workload, whose depth, load and span are varied.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub workload: SingleWorkload,
    /// What there is to say about a profile.
    pub about: String,
    time_ns: u64,
}

impl LoadPlan {
    /// # Errors
    /// What is wrong with the plan file, or with the target.
    pub fn of(world: &World, words: &LoadCurveArgs) -> Result<LoadPlan, Vec<Diagnostic>> {
        let for_targets = words.block.is_some()
            || words.reads.is_some()
            || words.sequential
            || words.size.is_some()
            || words.profile.is_some()
            || words.engine.is_some();
        let request = WorkloadRequest {
            target: &words.target,
            label: "load",
            pattern: pattern(words),
            for_targets_only: for_targets
                .then_some("--profile, --block, --reads, --sequential, --size and --engine"),
            size: words.size,
            engine: words.engine.as_deref(),
            seed: words.seed,
            destroy: &words.destroy,
        };
        let about = words.profile.map_or_else(String::new, |profile| profile.about().into());
        Ok(LoadPlan { workload: SingleWorkload::of(world, &request)?, about, time_ns: words.time })
    }

    fn phase(&self, name: &str, parameter: Parameter, at: f64, change: impl FnOnce(&mut Job)) -> Phase {
        let mut phase = self.workload.phase(name, self.time_ns, change);
        phase.coordinates = vec![Coordinate { parameter, value: Value::Number(at.round() as u64) }];
        phase
    }

    /// As fast as it goes at each depth.
    pub fn depths(&self, depths: &[u32]) -> Plan {
        let phase = |depth: &u32| {
            self.phase("depth", Parameter::Depth, f64::from(*depth), |job| {
                job.pace = Pace::default();
                self.workload.set_depth(job, *depth);
            })
        };
        self.workload.with(NAME, depths.iter().map(phase).collect())
    }

    /// So many percent of the maximum, at random times.
    pub fn loads(&self, loads: &[f64], maximum: f64) -> Plan {
        let phase = |percent: &f64| {
            self.phase("load", Parameter::Rate, maximum * percent / 100.0, |job| {
                self.workload.set_depth(job, OPEN_DEPTH);
                let each = maximum * percent / 100.0 / f64::from(job.workers);
                job.pace = Pace {
                    rate_all: Rate::Operations(each),
                    arrivals: Arrivals::Poisson,
                    open_loop: true,
                    ..Pace::default()
                };
            })
        };
        self.workload.with(NAME, loads.iter().map(phase).collect())
    }

    /// A part of the target at a depth, the whole of it last.
    pub fn spans(&self, spans: &[f64], depth: u32) -> Plan {
        let phase = |percent: f64| {
            self.phase("span", Parameter::Depth, percent, |job| {
                job.pace = Pace::default();
                self.workload.set_depth(job, depth);
                if let Workload::Pattern(pattern) = &mut job.workload {
                    pattern.span = Span { length: Extent::Percent(percent), ..pattern.span.clone() };
                }
            })
        };
        let mut all: Vec<f64> = spans.iter().copied().filter(|percent| *percent < 100.0).collect();
        all.sort_by(f64::total_cmp);
        self.workload.with(NAME, all.into_iter().chain([100.0]).map(phase).collect())
    }
}

fn pattern(words: &LoadCurveArgs) -> Pattern {
    if let Some(profile) = words.profile {
        return profile.pattern();
    }
    let pick = if words.sequential { Pick::Sequential } else { Pick::Uniform };
    let mut pattern = Pattern::of(Verb::Read, pick, words.block.unwrap_or(4096));
    match words.reads {
        None | Some(100) => {}
        Some(0) => pattern.mix = Mix::only(Verb::Write),
        Some(percent) => pattern.mix = Mix::reads(f64::from(percent)),
    }
    pattern
}
