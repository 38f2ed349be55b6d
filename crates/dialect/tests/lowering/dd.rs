//! dd: a copy that pads what it could not read and leaves the rest of the output alone.

use iodyno_model::{
    AtEnd, Content, Extent, Finish, Job, Limit, Offset, Open, OpenMode, Operation, Payload, Script, Size,
    Target, Transfer, Verb, Workload,
};

use super::{file, golden, phase, plan};

#[test]
fn golden_notrunc_and_sync() {
    let block = Size::Fixed(4096);
    let read = Operation {
        size: block,
        offset: Offset::NextFrom(8192),
        transfer: Transfer { pad: true, ..Transfer::default() },
        at_end: AtEnd::Finish,
        ..Operation::on(Verb::Read, 0)
    };
    let write = Operation {
        size: Size::ResultOf("read".into()),
        offset: Offset::NextFrom(16384),
        ..Operation::on(Verb::Write, 1)
    };
    let script = Script { actors: vec![], steps: vec![read.step("read"), write.step("write")] };
    let job = Job {
        payload: Payload { content: Content::Carried, ..Payload::default() },
        limit: Limit { passes: Some(100), ..Limit::default() },
        finish: Finish { close: true, ..Finish::default() },
        ..Job::new("dd", "psync", vec![0, 1], Workload::Script(script))
    };
    let opened = |path, open| Target { open, ..file(path, Extent::Rest) };
    let targets = vec![
        opened("in.img", Open { mode: OpenMode::Read, ..Open::default() }),
        opened("out.img", Open { mode: OpenMode::Write, create: true, ..Open::default() }),
    ];
    let words = "dd if=in.img of=out.img bs=4k count=100 skip=2 seek=4 conv=notrunc,sync";
    golden("dd-notrunc-sync", words, &plan("dd", 0, targets, vec![phase("copy", vec![job])]));
}
