//! The pattern source against offsets, sizes and limits that are known beforehand.

use iodyno_model::{
    Blend, Coverage, Every, FileOrder, Items, Job, Mix, Pattern, PerDirection, Pick, Plan, Share, Size,
    Target, TargetKind, Verb, Workload, Zone,
};
use proptest::prelude::*;

use super::*;
use crate::facts::EngineFacts;
use crate::io::{Files, Handle, Names};
use crate::memory::Memory;
use crate::names::templates::{Asker, Owner};

/// A plan of one job whose handles are spans of `spans`.
struct Bench {
    plan: Plan,
    files: Files,
    memory: Memory,
}

impl Bench {
    fn new(pattern: Pattern, spans: &[(u64, u64)]) -> Bench {
        let job = Job::new("j", "null", vec![0], Workload::Pattern(Box::new(pattern)));
        let mut plan = Plan { seed: 1, ..Plan::default() };
        plan.phases.push(iodyno_model::Phase { jobs: vec![job], ..Default::default() });
        let handle = |&(base, bytes): &(u64, u64)| Handle { fd: -1, target: 0, bytes, base, names: None };
        let files = Files::of(spans.iter().map(handle).collect());
        Bench { plan, files, memory: Memory::new(1, 1 << 20).unwrap() }
    }

    /// One set of `count` items instead of files.
    fn items(mut self, count: u64, own: bool) -> Bench {
        let items = Items { count, own, ..Items::default() };
        let kind = TargetKind::FileSet { root: "d".into(), items };
        self.plan.targets = vec![Target {
            name: "set".into(),
            kind,
            open: Default::default(),
            prepare: Default::default(),
            remove: false,
            origin: Default::default(),
        }];
        let names = Names::flat("", "", count);
        self.files.handles =
            vec![Handle { fd: -1, target: 0, bytes: 0, base: 0, names: Some(Box::new(names)) }];
        self
    }

    fn job(&mut self) -> &mut Job {
        &mut self.plan.phases[0].jobs[0]
    }

    fn source_of(&self, worker: u32) -> Result<PatternSource, Failure> {
        let job = &self.plan.phases[0].jobs[0];
        let Workload::Pattern(pattern) = &job.workload else { unreachable!() };
        PatternSource::new(&self.context(job, worker), pattern)
    }

    fn context<'a>(&'a self, job: &'a Job, worker: u32) -> SourceContext<'a> {
        SourceContext {
            engine: &const { EngineFacts::named("null") },
            plan: &self.plan,
            job,
            worker,
            asker: Asker {
                owner: Owner { worker, ..Owner::default() },
                all: job.workers,
                ..Asker::first(&job.name, 0)
            },
            files: &self.files,
            memory: &self.memory,
            depth: 1,
            start: 0,
            goal: None,
            passed: 0,
            rate: None,
            shared: None,
            supply: None,
        }
    }

    fn draw(&self, worker: u32, most: usize) -> Vec<Io> {
        let mut source = self.source_of(worker).unwrap();
        let mut io = Io::default();
        (0..most).map_while(|_| (source.next(&mut io) == Next::Io).then_some(io)).collect()
    }

    fn offsets(&self, most: usize) -> Vec<u64> {
        self.draw(0, most).iter().map(|io| io.offset).collect()
    }
}

fn reads(pick: Pick) -> Pattern {
    Pattern::of(Verb::Read, pick, 4)
}

fn first(pick: Pick, span: u64, most: usize) -> Vec<u64> {
    let mut bench = Bench::new(reads(pick), &[(0, span)]);
    bench.job().limit.operations = Some(most as u64);
    bench.offsets(most)
}

#[test]
fn sequences_are_as_said() {
    assert_eq!(first(Pick::Sequential, 18, 6), [0, 4, 8, 12, 0, 4]);
    assert_eq!(first(Pick::Backward, 18, 6), [12, 8, 4, 0, 12, 8]);
    assert_eq!(first(Pick::Gap(4), 24, 5), [0, 8, 16, 0, 8]);
    assert_eq!(first(Pick::Gap(-8), 16, 5), [12, 8, 4, 0, 12]);
    assert_eq!(first(Pick::Gap(-4), 16, 3), [0, 0, 0]);
    assert_eq!(first(Pick::Strided { stride_bytes: 12 }, 32, 9), [0, 12, 24, 4, 16, 28, 8, 20, 0]);
    let segments = |shuffled| Pick::Segmented { block_bytes: 8, stride_bytes: 16, shuffled, count: 0 };
    let two = Pick::Segmented { block_bytes: 8, stride_bytes: 16, shuffled: false, count: 2 };
    assert_eq!(first(two, 40, 6), [0, 4, 16, 20, 0, 4]);
    let apart = Pick::Segmented { block_bytes: 8, stride_bytes: 0, shuffled: false, count: 2 };
    assert_eq!(first(apart, 40, 5), [0, 4, 8, 12, 0]);
    assert_eq!(first(segments(false), 40, 8), [0, 4, 16, 20, 32, 36, 0, 4]);
    let shuffled = first(segments(true), 40, 6);
    let sorted = |part: &[u64]| part.iter().copied().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(sorted(&shuffled[2..4]), sorted(&[16, 20]));
    assert_eq!(first(Pick::Stream, 16, 2), [AT_POSITION; 2]);
    assert_eq!(first(Pick::Append, 0, 3), [0, 4, 8]);
}

#[test]
fn segments_may_be_counted_and_leave_room_for_the_other_workers() {
    let pick = Pick::Segmented { block_bytes: 8, count: 2, stride_bytes: 0, shuffled: false };
    let mut bench = Bench::new(reads(pick), &[(0, 400)]);
    bench.job().workers = 3;
    assert_eq!(bench.offsets(100), [0, 4, 24, 28], "one pass of two segments");
}

#[test]
fn shuffled_transfers_of_a_shared_segment_are_dealt_to_all_workers() {
    let pick = Pick::Segmented { block_bytes: 32, count: 3, stride_bytes: 0, shuffled: true };
    let mut bench = Bench::new(reads(pick), &[(0, 3 * 5 * 32)]);
    bench.job().workers = 5;
    let mut all: Vec<u64> = Vec::new();
    let mut first = Vec::new();
    for worker in 0..5 {
        let own: Vec<u64> = bench.draw(worker, 1000).iter().map(|io| io.offset).collect();
        assert_eq!(own.len(), 3 * 8, "as many to each");
        assert!(
            own.chunks(8).enumerate().all(|(segment, own)| own.iter().all(|at| at / 160 == segment as u64))
        );
        first.extend(own[..8].iter().map(|at| at / 32).filter(|block| *block != u64::from(worker)));
        all.extend(own);
    }
    all.sort_unstable();
    assert_eq!(all, (0..3 * 5 * 8).map(|transfer| transfer * 4).collect::<Vec<_>>(), "each once");
    assert!(first.len() > 20, "mostly from others' blocks");
}

#[test]
fn runs_and_repeats_stay_with_their_place() {
    let repeats = first(Pick::Repeat { times: 3, pick: Box::new(Pick::Sequential) }, 16, 7);
    assert_eq!(repeats, [0, 0, 0, 4, 4, 4, 8]);
    let runs = first(Pick::Runs { operations: 4, pick: Box::new(Pick::Uniform) }, 4000, 40);
    for run in runs.chunks(4) {
        assert!(run.windows(2).all(|pair| pair[1] == (pair[0] + 4) % 4000), "{run:?}");
    }
    let blend = Pick::Blend(vec![
        Blend { percent: 20.0, pick: Pick::Uniform },
        Blend { percent: 80.0, pick: Pick::Sequential },
    ]);
    let offsets = first(blend, 4_000_000, 10_000);
    let jumps = offsets.windows(2).filter(|pair| pair[1] != pair[0] + 4).count();
    assert!((1_800..2_200).contains(&jumps), "a fifth of 10,000 jumps: {jumps}");
}

#[test]
fn one_pass_covers_every_place_once_and_the_next_in_another_order() {
    let mut bench = Bench::new(reads(Pick::Uniform), &[(100, 4000)]);
    bench.job().limit.passes = Some(2);
    let offsets = bench.offsets(5000);
    assert_eq!(offsets.len(), 2000);
    for pass in offsets.chunks(1000) {
        let mut sorted = pass.to_vec();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(index, offset)| *offset == 100 + 4 * index as u64));
    }
    assert_ne!(offsets[..1000], offsets[1000..]);
    bench.job().limit.passes = None;
    assert_eq!(bench.offsets(5000).len(), 1000, "no limit: one pass");
}

#[test]
fn limits_stop_at_the_operation_that_reaches_them() {
    let mut bench = Bench::new(reads(Pick::Sequential), &[(0, 400)]);
    bench.job().limit.bytes = Some(410);
    assert_eq!(bench.draw(0, 1000).len(), 103);
    bench.job().limit.operations = Some(7);
    assert_eq!(bench.draw(0, 1000).len(), 7);
    bench.job().limit = iodyno_model::Limit { time_ns: Some(1), ..Default::default() };
    assert_eq!(bench.draw(0, 1000).len(), 1000, "a time limit alone never ends the pattern");
}

#[test]
fn workers_differ_and_repeat_themselves() {
    let bench = Bench::new(reads(Pick::Uniform), &[(0, 40_000)]);
    let offsets = |worker| bench.draw(worker, 50).iter().map(|io| io.offset).collect::<Vec<_>>();
    assert_eq!(offsets(0), offsets(0));
    assert_ne!(offsets(0), offsets(1));
}

/// If this fails, recorded seeds no longer visit the places they visited.
#[test]
fn draws_are_pinned() {
    let bench =
        Bench::new(Pattern { coverage: Coverage::Repeating, ..reads(Pick::Uniform) }, &[(0, 4 << 30)]);
    assert_eq!(bench.offsets(3), PINNED);
}
const PINNED: [u64; 3] = [754_556_660, 227_182_096, 2_621_990_140];

#[test]
fn the_steady_source_draws_the_same() {
    for pick in [Pick::Sequential, Pick::Uniform, Pick::Backward] {
        for coverage in [Coverage::Once, Coverage::Repeating] {
            let mut bench = Bench::new(Pattern { coverage, ..reads(pick.clone()) }, &[(64, 4010)]);
            bench.job().limit.passes = Some(3);
            let mut steady = Steady::of(&bench.source_of(3).unwrap()).unwrap();
            let mut io = Io::default();
            let fast: Vec<u64> =
                std::iter::from_fn(|| (steady.next(&mut io) == Next::Io).then_some(io.offset)).collect();
            let slow: Vec<u64> = bench.draw(3, 10_000).iter().map(|io| io.offset).collect();
            assert_eq!(fast, slow, "{pick:?} {coverage:?}");
        }
    }
}

/// Operations of 4 bytes with a peer.
fn with_a_peer(verb: Verb) -> Bench {
    let mut bench = Bench::new(Pattern::of(verb, Pick::Stream, 4), &[(0, u64::MAX >> 1)]);
    bench.plan.targets = vec![Target {
        name: "peer".into(),
        kind: TargetKind::Endpoint { transport: "tcp".into(), address: "h:1".into(), listen: false },
        open: Default::default(),
        prepare: Default::default(),
        remove: false,
        origin: Default::default(),
    }];
    bench
}

#[test]
fn an_amount_for_a_peer_is_exact() {
    for verb in [Verb::Send, Verb::Recv] {
        for (most, sizes) in [(10, vec![4, 4, 2]), (3, vec![3]), (8, vec![4, 4])] {
            let mut bench = with_a_peer(verb);
            bench.job().limit.bytes = Some(most);
            let drawn: Vec<u64> = bench.draw(0, 10).iter().map(|io| io.bytes).collect();
            assert_eq!(drawn, sizes, "{verb} {most}");
            let steady = Steady::of(&bench.source_of(0).unwrap());
            assert!(steady.is_none_or(|steady| most % 4 == 0 && steady.left() == most / 4), "{verb} {most}");
        }
    }
    // A request is whole or is none.
    let mut bench = with_a_peer(Verb::Exchange);
    bench.job().limit.bytes = Some(10);
    assert_eq!(bench.draw(0, 10).iter().map(|io| io.bytes).collect::<Vec<_>>(), [4, 4, 4]);
}

#[test]
fn peers_that_only_ask_are_steady() {
    let steady = |verb, answers: bool| {
        let mut bench = with_a_peer(verb);
        let settings = answers.then(|| iodyno_model::Setting::new("answers", true));
        bench.job().settings = settings.into_iter().collect();
        (bench.job().limit.operations, bench.job().limit.bytes) = (Some(6), Some(24));
        let slow = bench.draw(0, 10);
        let steady = Steady::of(&bench.source_of(0).unwrap());
        steady.map(|mut steady| {
            let mut io = steady.template();
            let fast: Vec<_> = std::iter::from_fn(|| {
                (steady.next(&mut io) == Next::Io).then_some((io.verb, io.offset, io.bytes, io.label))
            })
            .collect();
            let slow: Vec<_> = slow.iter().map(|io| (io.verb, io.offset, io.bytes, io.label)).collect();
            assert_eq!(fast, slow);
            fast.len()
        })
    };
    assert_eq!((steady(Verb::Exchange, false), steady(Verb::Send, false)), (Some(6), Some(6)));
    assert_eq!((steady(Verb::Exchange, true), steady(Verb::Recv, false)), (None, None));
}

#[test]
fn a_mix_keeps_its_shares_and_its_runs() {
    let mix = Mix { run: 5, ..Mix::reads(70.0) };
    let mut bench = Bench::new(Pattern { mix, ..reads(Pick::Sequential) }, &[(0, 1 << 20)]);
    bench.job().limit.operations = Some(100_000);
    let verbs: Vec<Verb> = bench.draw(0, 100_000).iter().map(|io| io.verb).collect();
    let read = verbs.iter().filter(|verb| **verb == Verb::Read).count();
    // 20,000 draws of p = 0.7: deviation 0.32 %; four of them.
    assert!((68_700..71_300).contains(&read), "{read}");
    assert!(verbs.chunks(5).all(|run| run.iter().all(|verb| *verb == run[0])));
}

#[test]
fn directions_walk_for_themselves_and_carry_their_labels() {
    let pattern = Pattern {
        mix: Mix::reads(50.0),
        size: PerDirection { read: Size::Fixed(4), write: Size::Fixed(8), trim: Size::Fixed(4) },
        ..reads(Pick::Sequential)
    };
    let bench = Bench::new(pattern, &[(0, 4096)]);
    let all = bench.draw(0, 100);
    for (verb, label, step) in [(Verb::Read, 0, 4), (Verb::Write, 1, 8)] {
        let of_verb = all.iter().filter(|io| io.verb == verb).enumerate();
        for (index, io) in of_verb {
            assert_eq!((io.offset, io.bytes, io.label), (index as u64 * step, step, label));
        }
    }
}

#[test]
fn insertions_come_after_so_many_writes() {
    let every = vec![Every::new(Verb::Fdatasync, 2), Every::new(Verb::Stat, 3), Every::new(Verb::Fsync, 6)];
    let pattern = Pattern { every, ..Pattern::of(Verb::Write, Pick::Sequential, 4) };
    let bench = Bench::new(pattern, &[(0, 24)]);
    let verbs: Vec<&str> = bench.draw(0, 100).iter().map(|io| io.verb.name()).collect();
    let text = "write write fdatasync write stat write fdatasync write write fdatasync stat fsync";
    assert_eq!(verbs.join(" "), text);
}

#[test]
fn an_inserted_range_is_what_was_written_since_the_last() {
    let every = vec![Every { flags: 7, ..Every::new(Verb::SyncFileRange, 3) }];
    let pattern = Pattern { every, ..Pattern::of(Verb::Write, Pick::Uniform, 4) };
    let bench = Bench::new(pattern, &[(0, 24)]);
    let (mut hull, mut ranges) = ((u64::MAX, 0), 0);
    for io in bench.draw(0, 100) {
        if io.verb == Verb::Write {
            hull = (hull.0.min(io.offset), hull.1.max(io.offset + io.bytes));
        } else {
            assert_eq!((io.offset, io.offset + io.bytes, io.other), (hull.0, hull.1, 7));
            (hull, ranges) = ((u64::MAX, 0), ranges + 1);
        }
    }
    assert_eq!(ranges, 2);
}

#[test]
fn files_come_in_turn_round_robin_or_drawn() {
    let files = |files| {
        let bench = Bench::new(Pattern { files, ..reads(Pick::Sequential) }, &[(0, 8), (0, 16), (0, 8)]);
        bench.draw(0, 100).iter().map(|io| (io.file, io.offset)).collect::<Vec<_>>()
    };
    let in_turn = [(0, 0), (0, 4), (1, 0), (1, 4), (1, 8), (1, 12), (2, 0), (2, 4)];
    assert_eq!(files(FileOrder::InTurn), in_turn);
    let round = [(0, 0), (1, 0), (2, 0), (0, 4), (1, 4), (2, 4), (1, 8), (1, 12)];
    assert_eq!(files(FileOrder::RoundRobin { operations: 1 }), round);
    let mut drawn = files(FileOrder::Drawn { pick: Box::new(Pick::Uniform), operations: 1 });
    drawn.sort_unstable();
    assert_eq!(drawn, in_turn);
}

#[test]
fn only_so_many_unfinished_files_take_turns() {
    let files = |files, open_most| {
        let spans = [(0, 8), (0, 16), (0, 8), (0, 8), (0, 4)];
        let bench = Bench::new(Pattern { files, open_most, ..reads(Pick::Sequential) }, &spans);
        bench.draw(0, 100).iter().map(|io| io.file).collect::<Vec<_>>()
    };
    let round = FileOrder::RoundRobin { operations: 1 };
    assert_eq!(files(round.clone(), 2), [0, 1, 0, 1, 1, 2, 1, 2, 3, 4, 3]);
    assert_eq!(files(round.clone(), 5), files(round, 0), "wide enough for all");
    assert_eq!(files(FileOrder::InTurn, 2), files(FileOrder::InTurn, 0));
    let pick = Box::new(Pick::Uniform);
    let drawn = files(FileOrder::Drawn { pick, operations: 1 }, 2);
    let (mut left, mut met) = ([2, 4, 2, 2, 1], Vec::new());
    for file in drawn {
        if !met.contains(&file) {
            met.push(file);
        }
        left[file as usize] -= 1;
        met.retain(|file| left[*file as usize] > 0);
        assert!(met.len() <= 2, "{met:?} at once");
    }
    assert_eq!(left, [0; 5]);
}

#[test]
fn items_are_each_verbed_once_and_renamed_back() {
    let mut bench = Bench::new(Pattern::of(Verb::Rename, Pick::Sequential, 0), &[]).items(3, true);
    bench.job().limit.passes = Some(2);
    let pairs: Vec<(u64, u64)> = bench.draw(0, 100).iter().map(|io| (io.offset, io.other)).collect();
    assert_eq!(pairs, [(0, 3), (1, 4), (2, 5), (3, 0), (4, 1), (5, 2)]);
    let mut bench = Bench::new(Pattern::of(Verb::Create, Pick::Uniform, 0), &[]).items(10, false);
    bench.job().workers = 3;
    let mut all: Vec<u64> = (0..3).flat_map(|worker| bench.draw(worker, 100)).map(|io| io.offset).collect();
    all.sort_unstable();
    assert_eq!(all, (0..10).collect::<Vec<_>>(), "workers share a set without meeting");
}

#[test]
fn what_cannot_be_is_refused() {
    let refusal =
        |pattern, span| Bench::new(pattern, &[(0, span)]).source_of(0).err().map(|failure| failure.message);
    assert!(refusal(reads(Pick::Sequential), 3).unwrap().contains("holds no operation"));
    assert!(refusal(Pattern::of(Verb::Create, Pick::Sequential, 4), 100).unwrap().contains("items of a set"));
    assert!(
        refusal(Pattern::of(Verb::Read, Pick::Sequential, 2 << 20), 4 << 20).unwrap().contains("buffers")
    );
    assert!(refusal(Pattern::of(Verb::Write, Pick::Append, 4), 0).unwrap().contains("when to stop"));
    assert!(refusal(Pattern::of(Verb::Connect, Pick::Sequential, 4), 4).is_some());
}

fn any_pick() -> impl Strategy<Value = Pick> {
    let simple = prop_oneof![
        Just(Pick::Sequential),
        Just(Pick::Backward),
        (-5000i64..5000).prop_map(Pick::Gap),
        (1u64..9000).prop_map(|stride_bytes| Pick::Strided { stride_bytes }),
        (any::<bool>(), 1u64..9000).prop_map(|(shuffled, stride_bytes)| Pick::Segmented {
            block_bytes: 1 << 15,
            count: 0,
            stride_bytes,
            shuffled,
        }),
        Just(Pick::Uniform),
        (0.1f64..2.5).prop_map(|theta| Pick::Zipf { theta, center: None }),
        (0.05f64..0.95).prop_map(|h| Pick::Pareto { h, center: None }),
        (0.0f64..50.0).prop_map(|deviation_percent| Pick::Normal { deviation_percent }),
        Just(Pick::Zones(vec![
            Zone { accesses_percent: 90.0, extent: iodyno_model::Extent::Percent(40.0) },
            Zone { accesses_percent: 10.0, extent: iodyno_model::Extent::Rest },
        ])),
    ];
    simple.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            (1u32..5, inner.clone()).prop_map(|(times, pick)| Pick::Repeat { times, pick: Box::new(pick) }),
            (1u32..5, inner.clone())
                .prop_map(|(operations, pick)| Pick::Runs { operations, pick: Box::new(pick) }),
            proptest::collection::vec(inner, 1..3).prop_map(|picks| Pick::Blend(
                picks.into_iter().map(|pick| Blend { percent: 30.0, pick }).collect()
            )),
        ]
    })
}

fn any_size() -> impl Strategy<Value = Size> {
    prop_oneof![
        (1u64..9000).prop_map(Size::Fixed),
        (1u64..3000, 0u64..9000, 1u64..600).prop_map(|(least_bytes, more, step_bytes)| Size::Uniform {
            least_bytes,
            most_bytes: least_bytes + more,
            step_bytes
        }),
        proptest::collection::vec((1u64..9000, 1f64..50.0), 1..4).prop_map(Size::Split),
        (10f64..5000.0, 0.3f64..3.0).prop_map(|(mean_bytes, shape)| Size::Gamma { mean_bytes, shape }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn nothing_leaves_the_span_or_its_alignment(
        pick in any_pick(),
        size in any_size(),
        align in prop_oneof![Just(0u64), Just(512), Just(4096), 1u64..3000],
        span in 40_000u64..400_000,
        once: bool,
        seed: u64,
    ) {
        let least = size.least_bytes().unwrap_or(1);
        let mix = Mix { in_turn: false, shares: vec![
            Share { verb: Verb::Read, weight: 1.0 },
            Share { verb: Verb::Write, weight: 2.0 },
        ], run: 1 };
        let coverage = if once { Coverage::Once } else { Coverage::Repeating };
        let pattern = Pattern {
            mix, coverage, size: PerDirection::same(size), align_bytes: PerDirection::same(align), ..reads(pick)
        };
        let mut bench = Bench::new(pattern, &[(1 << 20, span)]);
        bench.plan.seed = seed;
        bench.job().limit.operations = Some(300);
        let align = if align == 0 { least } else { align };
        // A segment may be too small for one operation: an honest refusal, not a walk.
        let Ok(_) = bench.source_of(0) else { return Ok(()) };
        let all = bench.draw(0, 1000);
        prop_assert_eq!(all.len(), 300);
        for io in all {
            let offset = io.offset - (1 << 20);
            prop_assert!(offset + io.bytes <= span, "{} + {} > {}", offset, io.bytes, span);
            prop_assert!(io.bytes >= least.min(span));
            prop_assert_eq!(offset % align, 0);
        }
    }
}

/// Each kind keeps its own verb, size, alignment and way of picking, and comes as often as its weight says.
#[test]
fn kinds_of_operations_keep_what_is_theirs() {
    let kind =
        |verb, weight, bytes, pick, align_bytes| OperationKind { verb, weight, bytes, pick, align_bytes };
    let pattern = Pattern {
        mix: Mix::reads(75.0),
        coverage: Coverage::Repeating,
        kinds: vec![
            kind(Verb::Read, 50.0, 4096, Pick::Uniform, 65_536),
            kind(Verb::Read, 25.0, 512, Pick::Sequential, 512),
            kind(Verb::Write, 25.0, 8192, Pick::Sequential, 512),
        ],
        ..Pattern::of(Verb::Read, Pick::Sequential, 8192)
    };
    let mut bench = Bench::new(pattern, &[(0, 64 << 20)]);
    bench.job().limit.operations = Some(4000);
    let all = bench.draw(0, 4000);
    let of = |verb: Verb, bytes: u64| -> Vec<u64> {
        let own = all.iter().filter(|io| (io.verb, io.bytes) == (verb, bytes));
        own.map(|io| io.offset).collect()
    };
    let (random, small, written) = (of(Verb::Read, 4096), of(Verb::Read, 512), of(Verb::Write, 8192));
    assert_eq!(random.len() + small.len() + written.len(), 4000);
    for (offsets, wanted) in [(&random, 2000), (&small, 1000), (&written, 1000)] {
        assert!(offsets.len().abs_diff(wanted) < 150, "{} in place of {wanted}", offsets.len());
    }
    assert!(random.iter().all(|offset| offset.is_multiple_of(65_536)));
    assert!(!random.is_sorted());
    for (offsets, bytes) in [(small, 512), (written, 8192)] {
        assert!(offsets.iter().enumerate().all(|(at, offset)| *offset == at as u64 * bytes), "{bytes}");
    }
}
