//! From the settings to a plan: a phase that writes devices first where that was asked for, and the phase that replays.

use iodyno_model::{
    Depth, Direct, ErrorPolicy, Extent, Intent, Items, Job, Limit, Open, Origin, Pattern, Payload, Phase,
    Pick, Plan, Prepare, Replay, Span, Target, TargetKind, Trace, Verb, Verify, VerifyWhen, Workload,
};

use super::settings::{Place, PlaceKind, Settings};

/// Writes that fill a device before, bytes.
const FILL_BYTES: u64 = 1 << 20;

/// The plan of the settings.
pub(super) fn plan(settings: &Settings) -> Plan {
    let targets: Vec<Target> = settings.places.iter().map(|place| target(settings, place)).collect();
    let mut phases = Vec::new();
    if settings.prefill && !settings.tree {
        phases.extend(fill(settings));
    }
    phases.push(Phase { name: "replay".into(), jobs: vec![job(settings)], ..Phase::default() });
    Plan {
        name: format!("replay {}", settings.trace),
        seed: 1,
        intent: Intent::Device,
        targets,
        phases,
        ..Plan::default()
    }
}

fn target(settings: &Settings, place: &Place) -> Target {
    let path = place.path.clone();
    let direct = if settings.cached || settings.tree { Direct::No } else { Direct::IfPossible };
    let usual = Open { direct, ..Open::default() };
    let (kind, open, prepare) = match place.kind {
        PlaceKind::Device => (TargetKind::Device { path }, usual, Prepare::AsItIs),
        PlaceKind::Nothing if settings.tree => set(path, Prepare::AsItIs),
        PlaceKind::Nothing => (TargetKind::Nothing { bytes: place.end }, Open::default(), Prepare::AsItIs),
        PlaceKind::Directory => set(path, if settings.prefill { Prepare::Filled } else { Prepare::Sparse }),
        PlaceKind::File | PlaceKind::New => {
            let size = Extent::Bytes(place.length);
            let open = Open { create: place.kind == PlaceKind::New, parents: true, ..usual };
            let prepare = match (settings.prefill, place.written) {
                (true, _) => Prepare::Filled,
                (_, false) if place.kind == PlaceKind::File => Prepare::AsItIs,
                _ => Prepare::Sparse,
            };
            (TargetKind::File { path, size }, open, prepare)
        }
    };
    Target {
        name: place.path.clone(),
        kind,
        open,
        prepare,
        remove: settings.remove && place.kind != PlaceKind::File,
        origin: Origin::argument(&place.path),
    }
}

fn set(root: String, prepare: Prepare) -> (TargetKind, Open, Prepare) {
    let items = Items { count: 0, ..Items::default() };
    (TargetKind::FileSet { root, items }, Open::default(), prepare)
}

/// Everything that the trace reaches on a device is written once, so that no read finds what was never written. Files are
/// filled when they are laid out.
fn fill(settings: &Settings) -> Option<Phase> {
    let job = |(index, place): (usize, &Place)| {
        let mut pattern = Pattern::of(Verb::Write, Pick::Sequential, FILL_BYTES);
        let bytes = place.end.min(place.length).next_multiple_of(FILL_BYTES).min(place.length);
        pattern.span = Span { length: Extent::Bytes(bytes), ..Span::default() };
        let mut job = Job::new(
            &format!("fill {}", place.path),
            &settings.engine,
            vec![index],
            Workload::Pattern(Box::new(pattern)),
        );
        job.limit = Limit { passes: Some(1), ..Limit::default() };
        job.finish.sync = Some(Verb::Fsync);
        job
    };
    let devices = settings.places.iter().enumerate().filter(|(_, place)| place.kind == PlaceKind::Device);
    let jobs: Vec<Job> = devices.map(job).collect();
    (!jobs.is_empty()).then(|| Phase { name: "prefill".into(), jobs, ..Phase::default() })
}

fn job(settings: &Settings) -> Job {
    let replay = Replay {
        idle_most_ns: settings.idle_ns,
        copies: settings.copies,
        copy_shift_bytes: settings.shift,
        map: settings.map.clone(),
        tree: settings.tree,
        recreate: settings.tree,
        remap: settings.remap,
        align_bytes: settings.align,
        skip: settings.skip.clone(),
        division: settings.division,
        certified: !settings.prepare_only,
        facts: settings.survey.facts.clone(),
        ..Replay::default()
    };
    let trace = Trace {
        path: Some(settings.trace.clone()),
        format: settings.format.clone(),
        replay: Box::new(replay),
        ..Trace::of(Vec::new(), settings.timing)
    };
    let targets = (0..settings.places.len()).collect();
    let mut job = Job::new("replay", &settings.engine, targets, Workload::Trace(trace));
    job.depth = Depth { most: settings.depth, ..Depth::default() };
    job.workers = settings.workers;
    job.settings.clone_from(&settings.engine_settings);
    job.limit = Limit {
        passes: Some(settings.loops),
        operations: settings.prepare_only.then_some(0),
        ..Limit::default()
    };
    job.errors = ErrorPolicy::Continue;
    if settings.verify {
        let verify = Verify { when: VerifyWhen::OnRead, ..Verify::default() };
        job.payload = Payload { verify: Some(verify), ..Payload::default() };
    }
    job
}
