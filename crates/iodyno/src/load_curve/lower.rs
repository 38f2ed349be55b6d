//! The plans of a load curve: one workload at each depth, at each load, over each part of the target.

use iodyno_engine::world::World;
use iodyno_model::{
    Arrivals, Coordinate, Diagnostic, Extent, Job, Mix, Origin, Pace, Parameter, Pattern, Phase, Pick, Plan,
    Rate, Span, Value, Verb, Workload,
};

use super::LoadCurveArgs;
use super::file_service::FileService;
use super::profile::Profile;
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
    /// In place of a pattern: operations on a file set that grows with the load.
    pub service: Option<FileService>,
    time_ns: u64,
}

impl LoadPlan {
    /// # Errors
    /// What is wrong with the plan file, or with the target.
    pub fn of(world: &World, words: &LoadCurveArgs) -> Result<LoadPlan, Vec<Diagnostic>> {
        let about = words.profile.map_or_else(String::new, |profile| profile.about().into());
        if let Some(mix) = words.profile.and_then(Profile::service) {
            let service = FileService::of(world, words, mix).map_err(|wrong| vec![wrong])?;
            let workload = SingleWorkload::made(service.depth(1), &words.target);
            return Ok(LoadPlan { workload, about, service: Some(service), time_ns: words.time });
        }
        let for_service = [
            (words.clients.is_some(), "--clients"),
            (words.data_per_operation.is_some(), "--data-per-operation"),
        ];
        if let Some((_, option)) = for_service.into_iter().find(|(is_said, _)| *is_said) {
            let wrong =
                Diagnostic::error(&Origin::argument(option), "it belongs to a profile of file services");
            return Err(vec![wrong.hint("add --profile sfs-like or sfs97-like, or leave it out")]);
        }
        let for_targets = words.block.is_some()
            || words.reads.is_some()
            || words.sequential
            || words.temporary.size.is_some()
            || words.profile.is_some()
            || words.on.engine.is_some();
        let request = WorkloadRequest {
            for_targets_only: for_targets
                .then_some("--profile, --block, --reads, --sequential, --size and --engine"),
            ..words.on.request(&words.target, "load", pattern(words), words.temporary.size)
        };
        let workload = SingleWorkload::of(world, &request)?;
        Ok(LoadPlan { workload, about, service: None, time_ns: words.time })
    }

    fn phase(&self, name: &str, parameter: Parameter, at: f64, change: impl FnOnce(&mut Job)) -> Phase {
        let mut phase = self.workload.phase(name, self.time_ns, change);
        phase.coordinates = vec![Coordinate { parameter, value: Value::Number(at.round() as u64) }];
        phase
    }

    /// As fast as it goes at each depth; as many runs as there must be.
    pub fn depths(&self, depths: &[u32]) -> Vec<Plan> {
        if let Some(service) = &self.service {
            return depths.iter().map(|depth| service.depth(*depth)).collect();
        }
        let phase = |depth: &u32| {
            self.phase("depth", Parameter::Depth, f64::from(*depth), |job| {
                job.pace = Pace::default();
                self.workload.set_depth(job, *depth);
            })
        };
        vec![self.workload.with(NAME, depths.iter().map(phase).collect())]
    }

    /// So many percent of the maximum, at random times; as many runs as there must be.
    pub fn loads(&self, loads: &[f64], maximum: f64) -> Vec<Plan> {
        if let Some(service) = &self.service {
            let plan = |percent: &f64| service.load(maximum * percent / 100.0);
            return loads.iter().map(plan).collect();
        }
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
        vec![self.workload.with(NAME, loads.iter().map(phase).collect())]
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
