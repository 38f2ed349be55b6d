//! Jobs on buckets of object stores: what an object cannot be asked for is refused by name before anything is touched.

use iodyno_model::{
    Advice, Diagnostic, Direct, FileLock, Item, Job, Kind, Offset, Open, OpenSync, Operation, Plan, Prepare,
    Size, Submit, Target, TargetKind, Verb, WorkerKind, Workload,
};

use crate::engines::switched_on;
use crate::facts::EngineFacts;
use crate::objects::{by_items, one_length, serves, split_url};
use crate::registry;
use crate::source;
use crate::source::script::compile::operations;

/// The setting by which writes are parts of one object.
const SHARED_UPLOAD: &str = "shared_upload";

/// Everything that is wrong with a job's buckets, or with an engine that works on nothing else.
pub fn check(plan: &Plan, job: &Job, engine: &EngineFacts, wrong: &mut Vec<Diagnostic>) {
    let stores = !engine.stores_objects.is_empty();
    let targets = job.targets.iter().filter_map(|index| plan.targets.get(*index));
    let mut any = false;
    for target in targets {
        let TargetKind::Bucket { url, items } = &target.kind else {
            if stores {
                let message =
                    format!("target {}: engine {} works on buckets alone", target.name, engine.name);
                let hint = format!("say bucket = \"{}://BUCKET/PREFIX\"", engine.stores_objects[0]);
                wrong.push(Diagnostic::error(&target.origin, message).hint(hint));
            }
            continue;
        };
        any = true;
        let mut say = |message: String, hint: String| {
            let message = format!("target {}: {message}", target.name);
            wrong.push(Diagnostic::error(&target.origin, message).hint(hint));
        };
        if !serves(engine, url) {
            let (message, hint) = unserved(url, engine);
            say(message, hint);
            continue;
        }
        if items.directories {
            say("an object is no directory".into(), "leave directories out".into());
        }
        if let Some((what, hint)) = unfit(target) {
            say(what.into(), hint.into());
        }
        if switched_on(job, SHARED_UPLOAD) && (items.count > 1 || one_length(items) == 0) {
            let what = "a shared upload is of one object, whose size is known";
            say(what.into(), "count = 1, and size = what all workers write together".into());
        }
        // Where the store takes parts, nothing can cross the ends of the one object there is.
        let is_one = items.count == 1 && engine.writes_parts && one_length(items) > 0;
        if let Some((what, hint)) = unfit_sizes(job, engine, one_length(items)).filter(|_| !is_one) {
            say(what, hint);
        }
    }
    if any {
        check_job(plan, job, engine, stores, wrong);
    }
}

/// Why an engine does not serve the store of an address.
fn unserved(url: &str, engine: &EngineFacts) -> (String, String) {
    let Some((scheme, ..)) = split_url(url) else {
        return (format!("`{url}` is no bucket's address"), "e.g. s3://BUCKET/PREFIX".into());
    };
    let streams = registry::all_facts().filter(|facts| facts.is_stream());
    let serving = streams.filter(|facts| facts.stores_objects.contains(&scheme));
    let names: Vec<_> = serving.map(|facts| facts.name).collect();
    let message = format!("engine {} does not reach the store of `{url}`", engine.name);
    let schemes = || registry::all_facts().flat_map(|facts| facts.stores_objects.iter().copied());
    let hint = match names.is_empty() {
        false => format!("engine = \"{}\"", names.join("\" or \"")),
        true => format!("buckets are named {}://…", schemes().collect::<Vec<_>>().join("://… or ")),
    };
    (message, hint)
}

/// What a job does that objects know nothing of.
fn check_job(plan: &Plan, job: &Job, engine: &EngineFacts, stores: bool, wrong: &mut Vec<Diagnostic>) {
    let mut say = |message: &str, hint: &str| {
        let message = format!("job {}: {message}", job.name);
        wrong.push(Diagnostic::error(&job.origin, message).hint(hint));
    };
    match &job.workload {
        Workload::Pattern(_) | Workload::Cases(_) => {}
        Workload::Script(script) => {
            let object_bytes = |operation: &Operation| {
                let target = operation.target.and_then(|target| plan.targets.get(*job.targets.get(target)?));
                match target.map(|target| &target.kind) {
                    Some(TargetKind::Bucket { items, .. }) => one_length(items),
                    _ => 0,
                }
            };
            let fits = |operation: &&Operation| {
                is_on_an_object(operation) || is_within_objects(operation, object_bytes(operation), engine)
            };
            if !operations(&script.steps).iter().all(fits) {
                say(
                    "steps on objects are operations on one of them by its number, or at places that lie in one object each",
                    "say create, open, stat or unlink of an item, with its bytes; or read places that are drawn, of a size that \
                     divides the objects'; and nothing that is held open",
                );
            }
        }
        _ => say("objects are worked on by drawn operations or steps", "traces are for files"),
    }
    let labels = source::labels(job);
    let is_unknown = |verb: &Verb| verb.kind() != Kind::Control && !engine.verbs.has(*verb);
    let unknown = labels.iter().find(|(_, verb)| stores && is_unknown(verb));
    if let Some((_, verb)) = unknown {
        let known: Vec<_> =
            Verb::ALL.iter().filter(|verb| engine.verbs.has(**verb)).map(|verb| verb.name()).collect();
        say(
            &format!("engine {} cannot {verb} objects", engine.name),
            &format!("it does: {}", known.join(" ")),
        );
    }
    if switched_on(job, SHARED_UPLOAD) && job.kind == WorkerKind::Processes {
        say("forked workers share no upload", "processes = false: threads, or ranks");
    }
    if job.depth.submit == Submit::Offload {
        say(
            "helper threads for objects",
            "leave offload out: the engine keeps its requests in flight itself",
        );
    }
    if stores && !engine.opens_files && (job.start.open || job.finish.close) {
        say("objects are not opened and closed", "leave out what times opening and closing");
    }
}

/// Whether a step is one operation on one object: nothing is opened that a later step would use.
fn is_on_an_object(operation: &Operation) -> bool {
    let is_item = operation.verb.kind() == Kind::Metadata
        && !matches!(operation.item, Item::Whole | Item::Named(_) | Item::Held | Item::AllHeld);
    let is_pause = operation.verb.kind() == Kind::Control;
    (is_item || is_pause) && operation.handle.is_none() && operation.other.is_none()
}

/// Whether a step reads or writes at a place of its own, never across the end of an object; a store takes whole ones.
fn is_within_objects(operation: &Operation, object_bytes: u64, engine: &EngineFacts) -> bool {
    let Size::Fixed(bytes) = operation.size else { return false };
    let has_place = match &operation.offset {
        Offset::Requested { block_bytes, .. } => *block_bytes == object_bytes,
        Offset::Drawn { .. } | Offset::At(0) => true,
        _ => false,
    };
    let is_whole = bytes == object_bytes;
    let fits = match operation.verb {
        Verb::Read => bytes > 0 && object_bytes.is_multiple_of(bytes),
        Verb::Write => is_whole || (engine.writes_parts && bytes > 0 && object_bytes.is_multiple_of(bytes)),
        _ => false,
    };
    object_bytes > 0 && has_place && fits && operation.handle.is_none() && operation.other.is_none()
}

/// How a target is opened or prepared that an object is not; with what to do.
fn unfit(target: &Target) -> Option<(&'static str, &'static str)> {
    let Open { mode: _, create: _, parents: _, permissions, .. } = &target.open;
    let open = &target.open;
    let cached = open.direct != Direct::No || open.invalidate || open.pre_read || open.drop_behind;
    let flags = open.nonblock || open.noatime || open.nofollow || open.directory || open.noctty;
    Some(match () {
        () if cached => {
            ("no page cache lies before an object", "leave direct and what drops or fills the cache out")
        }
        () if open.sync != OpenSync::No => {
            ("an object is durable when its write is answered", "leave sync out")
        }
        () if open.append || open.truncate => ("objects are written whole", "leave append and truncate out"),
        () if open.lock != FileLock::No => ("objects have no locks", "leave lock out"),
        () if open.advice != Advice::No || open.write_life.is_some() => {
            ("nobody takes advice about objects", "leave advise and write_life out")
        }
        () if open.hints.is_some() => ("hints are for parallel file systems", "leave hints out"),
        () if permissions.is_some() => ("objects have no permission bits", "leave permissions out"),
        () if flags || open.exclusive => ("flags of open(2) mean nothing to a store", "leave them out"),
        () if matches!(target.prepare, Prepare::Reserved | Prepare::ReservedBeyondEnd | Prepare::Sparse) => {
            ("an object has no holes and no reserved space", "prepare = \"filled\"")
        }
        () => return None,
    })
}

/// Which requests would not lie in one object, or write a part of one.
fn unfit_sizes(job: &Job, engine: &EngineFacts, object_bytes: u64) -> Option<(String, String)> {
    let Workload::Pattern(pattern) = &job.workload else { return None };
    let labels = source::labels(job);
    if by_items(&labels) {
        return None;
    }
    let is_placed = |verb: Verb| matches!(verb.kind(), Kind::Read | Kind::Write) || verb == Verb::Trim;
    for (_, verb) in labels.iter().filter(|(_, verb)| is_placed(*verb)) {
        let size = match verb {
            Verb::Read => &pattern.size.read,
            Verb::Trim => &pattern.size.trim,
            _ => &pattern.size.write,
        };
        let (Size::Fixed(bytes), 1..) = (size, object_bytes) else {
            let hint = "give the bucket a size and the job a block, e.g. size = \"1MiB\", block = \"64KiB\"; objects of many \
                        lengths are created and opened whole, with item_data";
            return Some((format!("{verb} needs objects and requests of one length each"), hint.into()));
        };
        let takes_parts = engine.writes_parts || switched_on(job, SHARED_UPLOAD);
        let changes = matches!(verb, Verb::Write | Verb::Trim);
        let whole = changes && !takes_parts && !engine.stores_objects.is_empty();
        if whole && *bytes != object_bytes {
            let message =
                format!("a store takes whole objects: {verb}s of {bytes} bytes, objects of {object_bytes}");
            return Some((message, format!("block = \"{object_bytes}\", or size = \"{bytes}\"")));
        }
        if *bytes == 0 || !object_bytes.is_multiple_of(*bytes) {
            let message = format!("requests of {bytes} bytes cross the ends of objects of {object_bytes}");
            return Some((message, "a block that divides the objects' size".into()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Items, Pattern, Pick};

    const STORE: EngineFacts = EngineFacts {
        stores_objects: &["s3"],
        verbs: iodyno_model::VerbSet::of(&[Verb::Read, Verb::Write, Verb::Stat]),
        uses_files: false,
        ..EngineFacts::named("store")
    };

    fn found(change: &dyn Fn(&mut Job, &mut Target)) -> Vec<String> {
        let items = Items { count: 4, size: Size::Fixed(1 << 20), ..Items::default() };
        let mut target = Target {
            name: "t".into(),
            kind: TargetKind::Bucket { url: "s3://b/p".into(), items },
            open: Open::default(),
            prepare: Prepare::Filled,
            remove: true,
            origin: Default::default(),
        };
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 65536);
        let mut job = Job::new("j", "store", vec![0], Workload::Pattern(Box::new(pattern)));
        change(&mut job, &mut target);
        let mut wrong = Vec::new();
        check(&Plan { targets: vec![target], ..Plan::default() }, &job, &STORE, &mut wrong);
        assert!(wrong.iter().all(|wrong| wrong.hint.is_some()));
        wrong.into_iter().map(|wrong| wrong.message).collect()
    }

    fn drawing(verb: Verb, bytes: u64) -> Workload {
        Workload::Pattern(Box::new(Pattern::of(verb, Pick::Uniform, bytes)))
    }

    #[test]
    fn what_an_object_is_not_is_refused_by_name() {
        assert_eq!(found(&|_, _| ()), [""; 0]);
        assert_eq!(found(&|job, _| job.workload = drawing(Verb::Write, 1 << 20)), [""; 0]);
        let url = |url: &str| {
            let url = url.to_string();
            found(&move |_, target| {
                let TargetKind::Bucket { url: place, .. } = &mut target.kind else { unreachable!() };
                place.clone_from(&url);
            })
        };
        assert_eq!(url("s4://b"), ["target t: engine store does not reach the store of `s4://b`"]);
        assert_eq!(url("/tmp/x"), ["target t: `/tmp/x` is no bucket's address"]);
        let direct = found(&|_, target| target.open.direct = Direct::Yes);
        assert_eq!(direct, ["target t: no page cache lies before an object"]);
        let sparse = found(&|_, target| target.prepare = Prepare::Sparse);
        assert_eq!(sparse, ["target t: an object has no holes and no reserved space"]);
        let part = found(&|job, _| job.workload = drawing(Verb::Write, 4096));
        assert_eq!(part, ["target t: a store takes whole objects: writes of 4096 bytes, objects of 1048576"]);
        let odd = found(&|job, _| job.workload = drawing(Verb::Read, 3000));
        assert_eq!(odd, ["target t: requests of 3000 bytes cross the ends of objects of 1048576"]);
        let verb = found(&|job, _| job.workload = drawing(Verb::Chmod, 0));
        assert_eq!(verb, ["job j: engine store cannot chmod objects"]);
        let script = |verb: Verb, offset: Offset, bytes: u64| {
            found(&move |job, _| {
                let size = Size::Fixed(bytes);
                let moved = Operation { size, offset: offset.clone(), ..Operation::on(verb, 0) }.step("m");
                let steps = vec![Operation::control(Verb::Think).step("t"), moved];
                job.workload = Workload::Script(iodyno_model::Script { steps, ..Default::default() });
            })
        };
        let requested = |block_bytes| Offset::Requested { stored: false, block_bytes };
        assert_eq!(script(Verb::Read, requested(1 << 20), 1 << 20), [""; 0], "and a pause besides");
        assert_eq!(script(Verb::Write, requested(1 << 20), 1 << 20), [""; 0]);
        let drawn = || Offset::Drawn { pick: Pick::Uniform, span_bytes: 4 << 20 };
        assert_eq!(script(Verb::Read, drawn(), 4096), [""; 0]);
        for wrong in [
            script(Verb::Read, requested(4096), 4096),
            script(Verb::Write, drawn(), 4096),
            script(Verb::Read, drawn(), 3000),
            script(Verb::Read, Offset::Next, 4096),
        ] {
            assert!(
                wrong.len() == 1 && wrong[0].contains("at places that lie in one object each"),
                "{wrong:?}"
            );
        }
        let file = found(&|_, target| target.kind = TargetKind::Nothing { bytes: 1 });
        assert_eq!(file, ["target t: engine store works on buckets alone"]);
    }
}
