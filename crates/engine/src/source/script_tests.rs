//! Scripts, step by step, against an engine in memory.

use iodyno_model::{
    Action, AtEnd, Call, Content, Item, Offset, Operation, Payload, Pick, Script, SharedKind, SharedObject,
    SharedUse, Size, Step, Transfer, Verb, Workload,
};

use super::super::testing::{SourceBench, TallyEntry};

/// What dd does: a read into the buffer, a write of what was read.
fn copy(ibs: u64, obs: u64, transfer: Transfer) -> Workload {
    let read = Operation {
        size: Size::Fixed(ibs),
        at_end: AtEnd::Finish,
        transfer: Transfer { gather: false, sparse: false, ..transfer },
        ..Operation::on(Verb::Read, 0)
    };
    let write = Operation {
        size: Size::Fixed(obs),
        transfer: Transfer { gather: ibs != obs, sparse: transfer.sparse, ..Transfer::default() },
        ..Operation::on(Verb::Write, 1)
    };
    Workload::Script(Script { actors: Vec::new(), steps: vec![read.step("read"), write.step("write")] })
}

fn stage(ibs: u64, obs: u64, transfer: Transfer, input: &[u8]) -> SourceBench {
    let mut stage = SourceBench::new(copy(ibs, obs, transfer), &[input.len() as u64, 0]);
    stage.memos[0].bytes = input.to_vec();
    stage.job().payload = Payload { content: Content::Carried, ..Payload::default() };
    stage
}

/// Whole and partial records of a label.
fn records(all: &[TallyEntry], label: u16) -> (usize, usize) {
    let of_label = || all.iter().filter(move |one| one.label == label && one.result >= 0);
    let short = of_label().filter(|one| one.short).count();
    (of_label().count() - short, short)
}

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8 + 1).collect()
}

#[test]
fn a_copy_carries_every_byte_and_ends_with_the_input() {
    let input = text(10_000);
    let mut stage = stage(4096, 4096, Transfer::default(), &input);
    let all = stage.run();
    assert_eq!(stage.memos[1].bytes, input);
    assert_eq!((records(&all, 0), records(&all, 1)), ((2, 1), (2, 1)));
}

#[test]
fn a_count_is_passes() {
    let mut stage = stage(100, 100, Transfer::default(), &text(1000));
    stage.job().limit.passes = Some(3);
    let all = stage.run();
    assert_eq!((records(&all, 0), records(&all, 1), stage.memos[1].bytes.len()), ((3, 0), (3, 0), 300));
}

#[test]
fn bytes_are_counted_where_they_are_read_and_the_last_read_is_cut() {
    let mut stage = stage(100, 100, Transfer::default(), &text(1000));
    stage.job().limit.bytes = Some(250);
    let all = stage.run();
    assert_eq!((records(&all, 0), stage.memos[1].bytes.len()), ((2, 1), 250));
}

#[test]
fn a_pipe_gives_partial_records_and_full_blocks_complete_them() {
    let input = text(1000);
    for (full, expected) in [(false, (1, 3)), (true, (3, 1))] {
        let mut stage = stage(300, 300, Transfer { full, ..Transfer::default() }, &input);
        stage.files.handles[0].bytes = 0;
        stage.memos[0].dribble = vec![250, 300, 200, 250, 300, 300, 300];
        let all = stage.run();
        assert_eq!(stage.memos[1].bytes, input);
        assert_eq!(records(&all, 0), expected, "full {full}");
        let slowest = all.iter().filter(|one| one.label == 0).map(|one| one.latency).max();
        assert!(full == (slowest > Some(100)), "a record in parts takes as long as all of them: {slowest:?}");
    }
}

#[test]
fn padding_fills_short_and_failed_records_with_zeros() {
    let mut stage = stage(64, 64, Transfer { pad: true, ..Transfer::default() }, &text(150));
    stage.job().errors = iodyno_model::ErrorPolicy::Continue;
    stage.meddle = Box::new(|number, _, _| (number == 2).then_some(-i64::from(libc::EIO)));
    let all = stage.run();
    assert_eq!(records(&all, 0), (1, 1));
    assert_eq!(all.iter().filter(|one| one.result == -i64::from(libc::EIO)).count(), 1);
    let written = &stage.memos[1].bytes;
    assert_eq!(written.len(), 192);
    assert_eq!(written[..64], text(150)[..64]);
    assert!(written[64..128].iter().all(|byte| *byte == 0));
    assert_eq!(written[128..150], text(150)[128..150]);
    assert!(written[150..].iter().all(|byte| *byte == 0));
}

#[test]
fn other_output_blocks_are_gathered_and_the_rest_is_flushed() {
    for (ibs, obs, reads, writes) in [(100, 250, (10, 1), (4, 1)), (400, 150, (2, 1), (6, 1))] {
        let input = text(1030);
        let mut stage = stage(ibs, obs, Transfer::default(), &input);
        let all = stage.run();
        assert_eq!(stage.memos[1].bytes, input, "{ibs} {obs}");
        assert_eq!((records(&all, 0), records(&all, 1)), (reads, writes), "{ibs} {obs}");
    }
}

#[test]
fn a_short_write_is_completed_within_its_record() {
    let input = text(100);
    let mut stage = stage(100, 100, Transfer::default(), &input);
    stage.meddle = Box::new(|number, io, memo| {
        if number != 1 {
            return None;
        }
        // SAFETY: as in the stage.
        memo.bytes = unsafe { std::slice::from_raw_parts(io.buffer, 40) }.to_vec();
        memo.position = 40;
        Some(40)
    });
    let all = stage.run();
    assert_eq!((stage.memos[1].bytes.clone(), records(&all, 1)), (input, (1, 0)));
}

#[test]
fn a_write_at_a_place_goes_on_where_it_came_short() {
    let write = Operation {
        offset: Offset::At(500),
        size: Size::Fixed(100),
        transfer: Transfer { full: true, ..Transfer::default() },
        ..Operation::on(Verb::Write, 0)
    };
    let script = Script { actors: Vec::new(), steps: vec![write.step("write")] };
    let mut stage = SourceBench::new(Workload::Script(script), &[1000]);
    stage.job().limit.passes = Some(2);
    let places = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = places.clone();
    stage.meddle = Box::new(move |number, io, _| {
        seen.borrow_mut().push((io.offset, io.bytes));
        Some(if number == 0 { 40 } else { io.bytes as i64 })
    });
    stage.run();
    assert_eq!(*places.borrow(), [(500, 100), (540, 60), (500, 100)]);
}

#[test]
fn a_total_of_bytes_cuts_the_last_read_and_failed_reads_are_skipped() {
    let total = Transfer { total_bytes: Some(250), ..Transfer::default() };
    let mut copied = stage(100, 100, total, &text(1000));
    let all = copied.run();
    assert_eq!((records(&all, 0), copied.memos[1].bytes.len()), ((2, 1), 250));
    let mut skipping = stage(64, 64, Transfer { skip_failed: true, ..Transfer::default() }, &text(192));
    skipping.meddle = Box::new(|number, _, memo| {
        (number == 2).then(|| {
            memo.position += 64; // the stage has no descriptor to seek
            -i64::from(libc::EIO)
        })
    });
    let all = skipping.run();
    assert_eq!(records(&all, 0), (2, 0));
    assert_eq!(skipping.memos[1].bytes, [&text(192)[..64], &text(192)[128..]].concat());
}

#[test]
fn what_was_written_before_a_failure_counts() {
    let mut full = stage(100, 100, Transfer { full: true, ..Transfer::default() }, &text(300));
    full.meddle = Box::new(|_, io, _| match (io.verb, io.bytes) {
        (Verb::Write, 100) => Some(30),
        (Verb::Write, _) => Some(-i64::from(libc::ENOSPC)),
        _ => None,
    });
    let writes: Vec<i64> =
        full.run().iter().filter(|one| one.verb == Verb::Write).map(|one| one.result).take(2).collect();
    assert_eq!(writes, [30, -i64::from(libc::ENOSPC)]);
}

#[test]
fn composites_have_a_line_as_long_as_their_steps() {
    let read = Operation { size: Size::Fixed(8), ..Operation::on(Verb::Read, 0) };
    let think = Operation { time_ns: 5000, ..Operation::control(Verb::Think) };
    let block = Step {
        label: "both".into(),
        action: Action::Block(vec![read.clone().step("r"), think.step("t")]),
        repeat: 2,
        origin: Default::default(),
    };
    let script = Script { actors: Vec::new(), steps: vec![block, read.step("last")] };
    let mut stage = SourceBench::new(Workload::Script(script), &[64]);
    let labels = super::super::labels(stage.job());
    let names: Vec<&str> = labels.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(names, ["both", "r", "t", "last"]);
    let all = stage.run();
    let seen: Vec<&str> = all.iter().map(|one| names[one.label as usize]).collect();
    assert_eq!(seen, ["r", "t", "both", "r", "t", "both", "last"]);
    assert!(all[2].latency >= 5200, "a read, a think, and the line itself: {}", all[2].latency);
    assert_eq!(all[1].latency, 5100, "a think that began after the read and was marked after it");
}

#[test]
fn pools_know_what_exists() {
    let item = |verb, item, handle| Operation { item, handle, ..Operation::on(verb, 0) };
    let missing = || Item::Missing(Pick::Uniform);
    let steps = vec![
        item(Verb::Create, missing(), Some(0)).step("create"),
        Operation { handle: Some(0), size: Size::Fixed(16), ..Operation::on(Verb::Write, 0) }.step("write"),
        Operation { handle: Some(0), ..Operation::on(Verb::Close, 0) }.step("close"),
        item(Verb::Stat, Item::Each, None).step("stat"),
    ];
    let mut stage =
        SourceBench::new(Workload::Script(Script { actors: Vec::new(), steps }), &[0]).set(10, 50.0, 1);
    stage.job().limit.passes = Some(100);
    let all = stage.run();
    let of = |verb| all.iter().filter(|one| one.verb == verb).map(|one| one.offset).collect::<Vec<_>>();
    let mut created = of(Verb::Create);
    created.sort_unstable();
    assert_eq!(created, [5, 6, 7, 8, 9], "five are missing, then the pool is empty and the script ends");
    assert_eq!(of(Verb::Stat), [0, 1, 2, 3, 4]);
    assert!(stage.waits >= 1, "the empty pool is a counted wait");
}

#[test]
fn the_oldest_goes_and_a_new_one_comes_unless_it_is_not_there() {
    let on = |verb, item| Operation { item, ..Operation::on(verb, 0) };
    let skips = Operation { skips: 2, ..on(Verb::Stat, Item::Oldest { first: 3, after: None }) };
    let steps = vec![
        skips.step("stat"),
        on(Verb::Unlink, Item::Last { further: 0 }).step("delete"),
        on(Verb::Create, Item::Last { further: 5 }).step("create"),
    ];
    let script = Script { actors: Vec::new(), steps };
    let mut stage = SourceBench::new(Workload::Script(script), &[0]).set(20, 50.0, 0);
    stage.job().limit.passes = Some(3);
    stage.meddle =
        Box::new(|_, io, _| (io.verb == Verb::Stat && io.offset == 4).then_some(-i64::from(libc::ENOENT)));
    let all: Vec<_> = stage.run().iter().map(|one| (one.verb, one.offset)).collect();
    let renewed = |item| [(Verb::Stat, item), (Verb::Unlink, item), (Verb::Create, item + 5)];
    assert_eq!(all, [&renewed(3)[..], &[(Verb::Stat, 4)], &renewed(5)].concat());
}

#[test]
fn what_is_handed_over_does_not_hold_up_the_opening_of_further_files() {
    let open = |slot| {
        Operation { item: Item::Each, handle: Some(slot), ..Operation::on(Verb::Open, 0) }.step("open")
    };
    let write = |slot| {
        let write = Operation { handle: Some(slot), size: Size::Fixed(16), ..Operation::on(Verb::Write, 0) };
        Operation { background: true, item: Item::Held, ..write }.step("write")
    };
    let steps = vec![open(0), write(0), open(1), write(1)];
    let mut stage =
        SourceBench::new(Workload::Script(Script { actors: Vec::new(), steps }), &[0]).set(10, 100.0, 2);
    (stage.depth, stage.job().depth.most) = (4, 4);
    stage.job().limit.passes = Some(1);
    let all = stage.run();
    let started = |verb| all.iter().filter(|one| one.verb == verb).map(|one| one.started).collect::<Vec<_>>();
    let (opened, written) = (started(Verb::Open), started(Verb::Write));
    assert_eq!((opened.len(), written.len()), (2, 2), "{all:?}");
    assert!(opened[1] < written[0] + stage.service_ns, "it waited for the write: {all:?}");
}

#[test]
fn tokens_hold_a_script_to_their_rate_and_finish_ends_it() {
    let take = SharedUse::new("t", 1);
    let wait = Operation { shared: Some(take), ..Operation::control(Verb::Wait) };
    let read = Operation { size: Size::Fixed(8), ..Operation::on(Verb::Read, 0) };
    let finish =
        Operation { arguments: vec![("operations".into(), "20".into())], ..Operation::control(Verb::Finish) };
    let steps = vec![wait.step("wait"), read.step("read"), finish.step("finish")];
    let mut stage = SourceBench::new(Workload::Script(Script { actors: Vec::new(), steps }), &[64]);
    stage.share(vec![SharedObject::new("t", SharedKind::Tokens { per_second: 1000.0, queue_s: 1.0 })]);
    let starts: Vec<u64> =
        stage.run().iter().filter(|one| one.verb == Verb::Read).map(|one| one.started).collect();
    assert_eq!(starts.len(), 20);
    assert!(
        starts.windows(2).skip(1).all(|pair| (990_000..1_010_000).contains(&(pair[1] - pair[0]))),
        "{starts:?}"
    );
}

#[test]
fn a_whole_file_is_one_operation() {
    let read = Operation { size: Size::Fixed(4096), whole: true, ..Operation::on(Verb::Read, 0) };
    let script = Script { actors: Vec::new(), steps: vec![read.step("read")] };
    let mut stage = SourceBench::new(Workload::Script(script), &[10_000]);
    let all = stage.run();
    assert_eq!((all.len(), all[0].result, all[0].short, all[0].latency), (1, 10_000, false, 300));
}

#[test]
fn calls_of_few_bytes_are_one_operation() {
    let transfer = Transfer { full: true, call_bytes: Some(3), ..Transfer::default() };
    let write = Operation { size: Size::Fixed(10), transfer, ..Operation::on(Verb::Write, 0) };
    let script = Script { actors: Vec::new(), steps: vec![write.step("write")] };
    let mut stage = SourceBench::new(Workload::Script(script), &[0]);
    stage.job().limit.passes = Some(2);
    let all = stage.run();
    // Four calls of 100 ns each.
    let told: Vec<_> = all.iter().map(|one| (one.result, one.short, one.latency)).collect();
    assert_eq!((told, stage.memos[0].bytes.len()), (vec![(10, false, 400); 2], 20));
}

#[test]
fn what_is_read_is_written_back_where_it_was() {
    let size = || Size::Fixed(100);
    let steps = |offset: Offset| {
        let read = Operation { size: size(), offset, ..Operation::on(Verb::Read, 0) }.step("read");
        let write = Operation { size: size(), offset: Offset::Again, ..Operation::on(Verb::Write, 0) };
        Workload::Script(Script { actors: Vec::new(), steps: vec![read, write.step("write")] })
    };
    let drawn = Offset::Drawn { pick: Pick::Uniform, span_bytes: 0 };
    for (offset, in_order) in [(Offset::Next, true), (drawn, false)] {
        let mut stage = SourceBench::new(steps(offset), &[1000]);
        stage.memos[0].bytes = text(1000);
        stage.job().payload = Payload { content: Content::Carried, ..Payload::default() };
        stage.job().limit.passes = Some(10);
        let all = stage.run();
        let places =
            |label| all.iter().filter(|one| one.label == label).map(|one| one.offset).collect::<Vec<_>>();
        assert_eq!(places(0), places(1));
        let wanted: Vec<u64> = (0..10).map(|number| number * 100).collect();
        assert_eq!(places(0) == wanted, in_order, "{:?}", places(0));
        assert_eq!(stage.memos[0].bytes, text(1000));
    }
}

#[test]
fn everything_that_cannot_run_is_said_at_once() {
    let call = Call { name: "fchmod".into(), ..Call::default() };
    let steps = vec![
        Step { action: Action::Call(Box::new(call)), ..Operation::on(Verb::Read, 0).step("a") },
        Operation::on(Verb::Send, 0).step("b"),
        Operation { item: Item::Named("x".into()), ..Operation::on(Verb::Unlink, 0) }.step("c"),
    ];
    let mut stage =
        SourceBench::new(Workload::Script(Script { actors: Vec::new(), steps }), &[0]).set(3, 100.0, 0);
    let message = stage.source().err().unwrap().message;
    for part in ["`a`: the system call fchmod", "`b`: the network verb send", "`c`: the name `x`"] {
        assert!(message.contains(part), "{message}");
    }
    stage.job().workload = copy(1, 1, Transfer::default());
    stage.depth = 2;
    assert!(stage.source().err().unwrap().message.contains("depth 2"));
}

#[test]
fn pauses_are_drawn_each_time() {
    let size = Size::Uniform { least_bytes: 2, most_bytes: 9, step_bytes: 1 };
    let think = Operation { drawn: Some((size, 1000.0)), ..Operation::control(Verb::Think) };
    let workload = Workload::Script(Script { actors: Vec::new(), steps: vec![think.step("t")] });
    let mut stage = SourceBench::new(workload, &[64]);
    stage.job().limit.passes = Some(200);
    let all: Vec<u64> = stage.run().iter().map(|one| one.latency / 1000).collect();
    let mut seen = all.clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((all.len(), seen), (200, (2..=9).collect()));
}
