//! The tests of one file.

use iodyno_model::{
    Action, AtEnd, Content, Direct, Extent, Finish, Item, Items, Job, Limit, Offset, Open, Operation, Origin,
    Payload, Pick, Prepare, Refresh, Size, Step, Target, TargetKind, Template, Transfer, Verb, WorkerKind,
};

use super::{BonniePlan, TIMED, opened};
use crate::bonnie::view::TestName;

/// Of so many seeks one writes back what it read.
const UPDATE: u64 = 10;
/// In each so many bytes that are written there is a number, and zeros.
const NUMBERED_BYTES: usize = 64;

/// All tests of the file, and its end.
pub fn lower(lowering: &mut BonniePlan<'_>, run: u32) {
    let settings = lowering.settings;
    let chunks = settings.mib * ((1 << 20) / settings.chunk);
    let by_bytes = settings.byte_mib * ((1 << 20) / settings.chunk);
    let (made, there) = (new_file(lowering), old_file(lowering));
    if by_bytes > 0 {
        let mut job = chunked(lowering, made, byte_by_byte(lowering, Verb::Write), by_bytes);
        job.payload = same_bytes();
        lowering.test(TestName::ByteWrite, run, vec![job]);
    }
    let mut job = chunked(lowering, made, moving(lowering, Verb::Write), chunks);
    job.payload = nearly_zeros();
    lowering.test(TestName::FastWrite, run, vec![job]);
    let rewrite =
        block(vec![moving(lowering, Verb::Read).step("read"), writing_back(lowering).step("write")]);
    let mut job = lowering.job("rewrite", there, vec![rewrite]);
    job.limit = Limit { passes: Some(chunks), ..Limit::default() };
    finish(&mut job);
    job.payload = what_was_read();
    lowering.test(TestName::Rewrite, run, vec![job]);
    if by_bytes > 0 {
        let read = Operation { at_end: AtEnd::Finish, ..byte_by_byte(lowering, Verb::Read) };
        let job = chunked(lowering, there, read, by_bytes);
        lowering.test(TestName::ByteRead, run, vec![job]);
    }
    let read = Operation { at_end: AtEnd::Finish, ..moving(lowering, Verb::Read) };
    let job = chunked(lowering, there, read, chunks);
    lowering.test(TestName::FastRead, run, vec![job]);
    let jobs = seekers(lowering, there);
    lowering.test(TestName::Seeks, run, jobs);
    away(lowering, run);
}

/// The file, removed first and made anew.
fn new_file(lowering: &mut BonniePlan<'_>) -> usize {
    let direct = if lowering.settings.direct { Direct::Yes } else { Direct::No };
    let open = Open { create: true, exclusive: true, direct, ..opened() };
    file(lowering, open, Prepare::Absent)
}

fn old_file(lowering: &mut BonniePlan<'_>) -> usize {
    file(lowering, opened(), Prepare::AsItIs)
}

fn file(lowering: &mut BonniePlan<'_>, open: Open, prepare: Prepare) -> usize {
    let path = lowering.path(&lowering.settings.name);
    let size = Extent::Bytes(lowering.settings.mib << 20);
    lowering.target(Target {
        name: path.clone(),
        kind: TargetKind::File { path, size },
        open,
        prepare,
        remove: true,
        origin: Origin::Default,
    })
}

/// One step, so many times.
fn chunked(lowering: &BonniePlan<'_>, target: usize, operation: Operation, times: u64) -> Job {
    let mut job = lowering.job("chunks", target, vec![operation.step(TIMED)]);
    job.limit = Limit { passes: Some(times), ..Limit::default() };
    finish(&mut job);
    job
}

/// Durable and closed inside the time.
fn finish(job: &mut Job) {
    job.finish = Finish { sync: Some(Verb::Fsync), close: true, ..Finish::default() };
}

/// A chunk, at the position of the file.
fn moving(lowering: &BonniePlan<'_>, verb: Verb) -> Operation {
    Operation { size: Size::Fixed(lowering.settings.chunk), ..Operation::on(verb, 0) }
}

/// A chunk by calls of one byte.
fn byte_by_byte(lowering: &BonniePlan<'_>, verb: Verb) -> Operation {
    let transfer = Transfer { full: true, call_bytes: Some(1), ..Transfer::default() };
    Operation { transfer, ..moving(lowering, verb) }
}

/// The chunk that was read, where it was.
fn writing_back(lowering: &BonniePlan<'_>) -> Operation {
    Operation { offset: Offset::Again, ..moving(lowering, Verb::Write) }
}

/// Steps that are timed as one.
fn block(steps: Vec<Step>) -> Step {
    Step { label: TIMED.into(), action: Action::Block(steps), repeat: 1, origin: Origin::Default }
}

/// The bytes from 0 to 127, again and again.
fn same_bytes() -> Payload {
    let bytes = (0..128).collect();
    Payload {
        content: Content::Repeated(Template { bytes, offsets: Vec::new() }),
        refresh: Refresh::Once,
        ..Payload::default()
    }
}

/// Zeros, and little that makes each chunk differ from the one before.
fn nearly_zeros() -> Payload {
    let template = Template { bytes: vec![0; NUMBERED_BYTES], offsets: vec![0] };
    Payload { content: Content::Repeated(template), ..Payload::default() }
}

fn what_was_read() -> Payload {
    Payload { content: Content::Carried, ..Payload::default() }
}

/// The processes that seek: each its part of the seeks.
fn seekers(lowering: &BonniePlan<'_>, target: usize) -> Vec<Job> {
    let settings = lowering.settings;
    let all = u64::from(settings.seekers);
    let (each, more) = (settings.seeks / all, settings.seeks % all);
    let of = |(workers, seeks): (u64, u64)| {
        let mut job = lowering.job("seeks", target, seeks_of_one(lowering, seeks));
        job.workers = workers as u32;
        job.kind = WorkerKind::Processes;
        job.limit = Limit { passes: Some(1), ..Limit::default() };
        job.payload = what_was_read();
        finish(&mut job);
        job
    };
    [(more, each + 1), (all - more, each)]
        .into_iter()
        .filter(|(workers, seeks)| workers * seeks > 0)
        .map(of)
        .collect()
}

/// Chunks drawn from the whole file; the last of ten is written back.
fn seeks_of_one(lowering: &BonniePlan<'_>, seeks: u64) -> Vec<Step> {
    let drawn = || {
        let offset = Offset::Drawn { pick: Pick::Uniform, span_bytes: 0 };
        Operation { offset, ..moving(lowering, Verb::Read) }.step("read")
    };
    let mut update = vec![drawn(), writing_back(lowering).step("write")];
    if lowering.settings.sync {
        update.push(Operation::on(Verb::Fsync, 0).step("fsync"));
    }
    let times = |repeat: u64, step: Step| Step { repeat, ..step };
    let ten = vec![times(UPDATE - 1, block(vec![drawn()])), block(update)];
    let tens = Step {
        label: "ten seeks".into(),
        action: Action::Block(ten),
        repeat: seeks / UPDATE,
        origin: Origin::Default,
    };
    let rest = times(seeks % UPDATE, block(vec![drawn()]));
    [tens, rest].into_iter().filter(|step| step.repeat > 0).collect()
}

/// The file's name goes before the tests of files, whose directory has the same.
fn away(lowering: &mut BonniePlan<'_>, run: u32) {
    let name = lowering.settings.name.clone();
    let items = Items { count: 1, name, ..Items::default() };
    let root = lowering.settings.directory.clone();
    let set = lowering.target(Target {
        name: root.clone(),
        kind: TargetKind::FileSet { root, items },
        open: Open { directory: true, ..Open::default() },
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Origin::Default,
    });
    let unlink = Operation { item: Item::Index(0), ..Operation::on(Verb::Unlink, 0) }.step("unlink");
    let mut job = lowering.job("away", set, vec![unlink]);
    job.limit = Limit { passes: Some(1), ..Limit::default() };
    lowering.aside("remove the file", run, job);
}
