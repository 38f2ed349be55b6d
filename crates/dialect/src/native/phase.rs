//! `[[phase]]` and `[phase.shared.NAME]`: what runs together.

use iodyno_model::kv_cache::CacheRequests;
use iodyno_model::reflect::Reflect;
use iodyno_model::{Phase, SharedKind, SharedObject, Target};

use super::fields::{Fields, Wrong};
use super::tree::{Entry, Node};
use super::value::{flag, list, number, small, text, time, whole_number};
use super::{job, training};

/// One phase; `targets` are the plan's, with their names.
pub(crate) fn read(
    node: &Node,
    number: usize,
    (targets, names): (&[Target], &[String]),
    wrong: &Wrong,
) -> Phase {
    let fields = Fields::new(node, "a phase", wrong);
    let jobs = fields.each("job").into_iter().enumerate();
    let mut phase = Phase {
        name: format!("phase {number}"),
        jobs: jobs.map(|(index, node)| job::read(node, index + 1, names, wrong)).collect(),
        shared: fields.named("shared").iter().map(|entry| shared(entry, wrong)).collect(),
        ..Phase::default()
    };
    fields.fill(&mut phase);
    if let Some(node) = fields.node("training") {
        training::read(node, &mut phase, (targets, names), wrong);
    }
    if phase.jobs.is_empty() && fields.entry("watch").is_none() {
        let hint = "write a [[phase.job]] or [phase.training], or watch = \"10s\" to watch only (\"0s\": until stopped)";
        wrong.error(&node.origin, format!("phase `{}` has no job", phase.name), hint);
    }
    fields.unknown();
    phase
}

fn shared(entry: &Entry, wrong: &Wrong) -> SharedObject {
    let fields = Fields::new(&entry.node, "a shared object", wrong);
    let mut kinds = Vec::new();
    if let Some(per_second) = fields.get("tokens", number) {
        let queue_s = fields.or("queue", time, 5_000_000_000) as f64 / 1e9;
        kinds.push(SharedKind::Tokens { per_second, queue_s });
    }
    if let Some(initial) = fields.get("semaphore", whole_number) {
        let most = fields.or("most", whole_number, u64::MAX);
        kinds.push(SharedKind::Semaphore { initial, most, waiters: fields.or("waiters", small, 0) });
    }
    if let Some(count) = fields.get("lanes", small) {
        kinds.push(SharedKind::Lanes { count, initial: fields.or("start", whole_number, 0) });
    }
    kinds.extend(fields.get("servers", small).map(|count| SharedKind::Servers { count }));
    if fields.entry("requests").is_some() {
        let mut asked = CacheRequests::blank();
        fields.fill(&mut asked);
        kinds.push(SharedKind::Requests(Box::new(asked)));
    }
    kinds.extend(fields.get("weights", whole_number).map(|most| SharedKind::Weights { most }));
    kinds.extend(fields.get("barrier", flag).map(|_| SharedKind::Barrier));
    kinds.extend(fields.get("counter", flag).map(|_| SharedKind::Counter));
    kinds.extend(fields.get("signal", flag).map(|_| SharedKind::Signal));
    if let Some(of) = fields.get("done", list(text)) {
        kinds.push(SharedKind::Done { of, bytes: fields.flag("bytes") });
    }
    if kinds.len() != 1 {
        let hint = "say exactly one of tokens = RATE, semaphore = START, lanes = COUNT, weights = AHEAD, counter = true, \
                    signal = true, barrier = true, done = [LABEL], servers = COUNT, requests = COUNT";
        wrong.error(fields.origin(), format!("shared object `{}` must be one thing", entry.name), hint);
    }
    fields.unknown();
    SharedObject::new(&entry.name, kinds.into_iter().next().unwrap_or(SharedKind::Counter))
}
