//! From what was asked for to a plan: one phase, whose only job is the cases.

use std::sync::Arc;

use iodyno_model::{
    Cases, Intent, Items, Job, Open, Origin, Phase, Plan, Prepare, Setting, Stop, Target, TargetKind,
    Workload,
};

use super::options::Options;
use crate::posix::expand::ExpandedSuite;
use crate::posix::lower::JOB;

/// The engine that makes requests.
const ENGINE: &str = "s3check";

/// The plan of a run on a bucket.
pub fn plan(suite: &ExpandedSuite, options: &Options, bucket: &str) -> Plan {
    let cases = Cases {
        features: suite.features.clone(),
        cases: suite.cases.clone(),
        at_once: options.at_once,
        limit_ns: 0,
        keep: false,
    };
    let mut job = Job::new(JOB, ENGINE, vec![0], Workload::Cases(Arc::new(cases)));
    let timeout = options.timeout.to_string();
    let settings = [
        ("endpoint", options.endpoint.as_ref()),
        ("region", options.region.as_ref()),
        ("credentials", options.credentials.as_ref()),
        ("addressing", Some(&options.addressing)),
        ("timeout", Some(&timeout)),
    ];
    let given = settings.into_iter().filter_map(|(name, value)| Some((name, value?)));
    job.settings.extend(given.map(|(name, value)| Setting {
        name: name.into(),
        value: value.clone(),
        origin: Origin::argument(&format!("--{name} {value}")),
    }));
    let kind = TargetKind::Bucket { url: bucket.into(), items: Items { count: 0, ..Items::default() } };
    Plan {
        name: "s3check".into(),
        intent: Intent::Correctness,
        targets: vec![Target {
            name: bucket.into(),
            kind,
            open: Open::default(),
            prepare: Prepare::AsItIs,
            remove: false,
            origin: Origin::argument(bucket),
        }],
        phases: vec![Phase { name: bucket.into(), jobs: vec![job], stop: Stop::Alone, ..Phase::default() }],
        ..Plan::default()
    }
}
