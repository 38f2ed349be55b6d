//! Sweeps as curves and surfaces: the points, and where a curve has its knee.

use iodyno_model::{Parameter, Record};
use serde::Serialize;

use super::short::Short;
use crate::curve::Knee;
use crate::shape::Context;
use crate::sweep::{self, Point};

#[derive(Clone, Debug, Default, Serialize)]
pub struct Curve {
    pub name: String,
    /// The figure that is shown first, by its field's name: bytes where sizes are what is swept.
    pub first: &'static str,
    /// The parameters, as plans word them; what is the same at every point is left out.
    pub parameters: Vec<&'static str>,
    /// What was alike at all points.
    pub shape: String,
    /// The points, in the plan's order.
    pub points: Vec<SweepPoint>,
    /// The point with the knee, by index.
    pub knee: Option<usize>,
    /// What there is to say about the knee.
    pub sentence: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct SweepPoint {
    /// The parameters' values, as text.
    pub at: Vec<String>,
    pub rate: Short,
    pub bytes: Short,
    /// Mean latency in ns.
    pub mean: Short,
    /// 99 % of all operations took at most so many ns.
    pub p99: Short,
}

/// Every sweep of a record.
pub fn curves(record: &Record, context: &Context) -> Vec<Curve> {
    let curve = |phases: &Vec<&iodyno_model::PhaseRecord>| {
        let points = sweep::points(phases);
        let varied = varied(&points);
        let swept = || varied.iter().map(|at| phases[0].coordinates[*at].parameter);
        let parameters: Vec<_> = swept().map(|parameter| parameter.name()).collect();
        let knee = if parameters.len() == 1 { sweep::knee(&points) } else { None };
        let sentence = sweep::knee_sentence(knee, &points, parameters.first().copied().unwrap_or(""));
        let first = phases[0].jobs.first();
        Curve {
            name: phases[0].name.clone(),
            shape: first.map(|job| context.shape(phases[0], job).line()).unwrap_or_default(),
            first: if swept().any(|each| each == Parameter::BlockBytes) { "bytes" } else { "rate" },
            points: points.iter().map(|point| place(point, &varied)).collect(),
            knee: match knee {
                Some(Knee::At(index)) => Some(index),
                _ => None,
            },
            sentence: sentence.trim().into(),
            parameters,
        }
    };
    sweep::sweeps(record).iter().map(curve).collect()
}

/// The parameters that differ between points, by index; of a single point all of them.
fn varied(points: &[Point<'_>]) -> Vec<usize> {
    let first = points.first().map(|point| point.place).unwrap_or_default();
    let differs = |at: &usize| points.iter().any(|point| point.place.get(*at) != first.get(*at));
    let found: Vec<usize> = (0..first.len()).filter(differs).collect();
    if found.is_empty() { (0..first.len()).collect() } else { found }
}

fn place(point: &Point<'_>, varied: &[usize]) -> SweepPoint {
    let timed = !point.latency.is_empty();
    SweepPoint {
        at: varied.iter().filter_map(|at| point.place.get(*at)).map(sweep::value).collect(),
        rate: Short(point.iops),
        bytes: Short::of((point.bytes > 0.0).then_some(point.bytes)),
        mean: Short::of(timed.then(|| point.latency.mean())),
        p99: Short::of(crate::number::percentile(&point.latency, 99.0).map(|ns| ns as f64)),
    }
}
