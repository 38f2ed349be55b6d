//! Places of soft spans, windows, gaps and shared maps. The offsets in KiB are those that fio 3.33 takes.

use std::os::fd::IntoRawFd;

use iodyno_model::{
    Blend, Coverage, Every, Job, Limit, Mix, Pattern, PerDirection, Phase, Pick, Plan, Share, Size, Span,
    Verb, Window, Workload,
};

use super::super::{PatternSource, Steady};
use crate::io::{Files, Handle, Io};
use crate::memory::Memory;
use crate::names::templates::Asker;
use crate::source::{Next, SourceContext};

/// Gap or window, and what it is held against.
type GapCase<'a> = (i64, u64, (u64, u64), u64, &'a [u64]);
type WindowCase<'a> = (Option<Window>, u64, (u64, u64), u64, &'a [u64]);

const KIB: u64 = 1024;

/// What is drawn from a file of `whole` KiB of which `(base, length)` is the span: verbs, offsets and lengths.
fn drawn(pattern: Pattern, whole: u64, (base, length): (u64, u64), limit: Limit) -> Vec<(Verb, u64, u64)> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(whole * KIB).unwrap();
    let (fd, base, bytes) = (file.into_raw_fd(), base * KIB, length * KIB);
    let files = Files::of(vec![Handle { fd, target: 0, bytes, base, names: None }]);
    let mut job = Job::new("j", "null", vec![0], Workload::Pattern(Box::new(pattern.clone())));
    job.limit = limit;
    let plan =
        Plan { seed: 3, phases: vec![Phase { jobs: vec![job], ..Phase::default() }], ..Plan::default() };
    let memory = Memory::new(1, 1 << 20).unwrap();
    let job = &plan.phases[0].jobs[0];
    let (files, memory) = (&files, &memory);
    let (asker, depth) = (Asker::first("j", 0), 1);
    let context = SourceContext {
        engine: &const { crate::facts::EngineFacts::named("null") },
        plan: &plan,
        job,
        worker: 0,
        asker,
        files,
        memory,
        depth,
        start: 0,
        goal: None,
        passed: 0,
        rate: None,
        shared: None,
        supply: None,
    };
    let mut source = PatternSource::new(&context, &pattern).unwrap();
    let mut steady = Steady::of(&source);
    let mut found = Vec::new();
    let mut io = Io::default();
    while found.len() < 200 && source.next(&mut io) == Next::Io {
        if let Some(steady) = &mut steady {
            let mut same = steady.template();
            assert_eq!(steady.next(&mut same), Next::Io);
            assert_eq!((same.verb, same.offset, same.bytes), (io.verb, io.offset, io.bytes));
        }
        found.push((io.verb, io.offset, io.bytes));
    }
    if let Some(steady) = steady.as_mut().filter(|_| found.len() < 200) {
        assert_eq!(steady.next(&mut Io::default()), Next::Done);
    }
    found
}

fn soft(verb: Verb, pick: Pick) -> Pattern {
    let span = Span { overhang: true, ..Span::default() };
    Pattern { span, ..Pattern::of(verb, pick, 4 * KIB) }
}

/// As a job of fio's: so many bytes in all, so many passes.
fn total(kib: u64, passes: u64) -> Limit {
    Limit { bytes: Some(kib * KIB), passes: Some(passes), ..Limit::default() }
}

fn offsets(found: &[(Verb, u64, u64)]) -> Vec<u64> {
    found.iter().map(|(_, offset, _)| offset / KIB).collect()
}

#[test]
fn gaps_go_by_the_end_of_the_file() {
    let cases: [GapCase; 13] = [
        (4, 40, (0, 40), 1, &[0, 8, 16, 24, 32, 0, 8, 16, 24, 32]),
        (2, 40, (0, 40), 1, &[0, 6, 12, 18, 24, 30, 36]),
        (4, 32, (0, 20), 1, &[0, 8, 16]),
        (4, 32, (0, 28), 1, &[0, 8, 16, 24, 0, 8, 16]),
        (4, 32, (8, 20), 1, &[8, 16, 24]),
        (3, 32, (0, 32), 1, &[0, 7, 14, 21, 28]),
        (3, 32, (0, 32), 2, &[0, 7, 14, 21, 28, 0, 7, 14, 21, 28]),
        (4, 32, (0, 32), 2, &[0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24]),
        (12, 32, (0, 32), 1, &[0, 16, 0, 16, 0, 16, 0, 16]),
        (-8, 40, (0, 40), 1, &[0, 32, 28, 24, 20, 16, 12, 8, 4, 0]),
        (-8, 32, (0, 20), 1, &[0, 12, 8, 4, 0]),
        (-8, 32, (8, 20), 1, &[12, 8, 20, 16, 12]),
        (-8, 32, (8, 24), 1, &[16, 12, 8, 24, 20, 16]),
    ];
    for (gap, whole, span, passes, expected) in cases {
        let found =
            drawn(soft(Verb::Read, Pick::Gap(gap * 1024)), whole, span, total(span.1 * passes, passes));
        assert_eq!(offsets(&found), expected, "gap {gap} in {span:?} of {whole}, {passes} passes");
    }
    let odd = drawn(soft(Verb::Read, Pick::Gap(4)), 64, (0, 64), total(64, 1));
    assert_eq!((odd.len(), odd[1].1, odd[14].1), (15, 4100, 57_400));
}

#[test]
fn the_last_operation_may_hang_over() {
    let sequential = |whole, span: u64, bytes, passes| {
        offsets(&drawn(soft(Verb::Read, Pick::Sequential), whole, (0, span), total(bytes, passes)))
    };
    assert_eq!(sequential(32, 30, 30, 1), [0, 4, 8, 12, 16, 20, 24, 28]);
    assert_eq!(sequential(30, 30, 30, 1), [0, 4, 8, 12, 16, 20, 24]);
    assert_eq!(sequential(32, 30, 60, 2), [0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24]);
    let forever = Limit { bytes: Some(30 * KIB), ..Limit::default() };
    let found = drawn(soft(Verb::Read, Pick::Sequential), 32, (0, 8), forever);
    assert_eq!(offsets(&found), [0, 4, 0, 4, 0, 4, 0, 4]);
    let random = drawn(soft(Verb::Read, Pick::Uniform), 32, (0, 30), total(30, 1));
    let mut places = offsets(&random);
    places.sort_unstable();
    assert_eq!(places, [0, 4, 8, 12, 16, 20, 24]);
}

#[test]
fn windows_move_on() {
    let window = |bytes: u64, range: u64, skip: u64| {
        Some(Window { bytes: bytes * KIB, range_bytes: range * KIB, skip_bytes: skip * KIB })
    };
    let cases: [WindowCase; 7] = [
        (window(8, 16, 4), 64, (0, 64), 1, &[0, 4, 20, 24, 40, 44, 60]),
        (window(24, 16, 4), 64, (0, 64), 1, &[0, 4, 8, 12, 0, 4, 20, 24, 28, 32, 20, 24, 40, 44, 48, 52]),
        (window(4, 8, 0), 32, (4, 20), 1, &[4, 12, 20, 28, 4]),
        (window(4, 8, 4), 32, (0, 20), 1, &[0, 12, 24, 0, 12]),
        (window(4, 8, 0), 32, (0, 32), 1, &[0, 8, 16, 24, 0, 8, 16, 24]),
        (window(4, 8, 0), 32, (0, 32), 2, &[0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24]),
        (window(32, 32, 0), 32, (0, 32), 1, &[0, 4, 8, 12, 16, 20, 24, 28]),
    ];
    for (window, whole, span, passes, expected) in cases {
        let pattern = Pattern { window, ..soft(Verb::Write, Pick::Sequential) };
        let found = drawn(pattern, whole, span, total(span.1 * passes, passes));
        assert_eq!(offsets(&found), expected, "{window:?} in {span:?}, {passes} passes");
    }
    let pattern = Pattern { window: window(8, 16, 0), ..soft(Verb::Read, Pick::Uniform) };
    let found = offsets(&drawn(pattern, 32, (0, 32), total(32, 1)));
    assert!(found[..2].iter().all(|place| *place < 16) && found[0] != found[1], "{found:?}");
    assert!(found[2..4].iter().all(|place| (16..32).contains(place)) && found[2] != found[3], "{found:?}");
}

#[test]
fn every_block_is_touched_once_by_whichever_verb() {
    let mix =
        Pattern { coverage: Coverage::Together, mix: Mix::reads(60.0), ..soft(Verb::Read, Pick::Uniform) };
    let found = drawn(mix.clone(), 256, (0, 256), total(256, 1));
    let mut places = offsets(&found);
    places.sort_unstable();
    assert_eq!(places, (0..64).map(|block| 4 * block).collect::<Vec<_>>());
    assert!(found.iter().any(|io| io.0 == Verb::Read) && found.iter().any(|io| io.0 == Verb::Write));
    // Twice as many bytes: every block twice.
    let again = drawn(mix, 256, (0, 256), total(512, 2));
    assert!((0..64).all(|block| offsets(&again).iter().filter(|place| **place == 4 * block).count() == 2));
}

#[test]
fn blocks_of_all_sizes_are_touched_once() {
    let varied = Size::Uniform { least_bytes: KIB, most_bytes: 8 * KIB, step_bytes: KIB };
    let split = Size::Split(vec![(4 * KIB, 50.0), (16 * KIB, 50.0)]);
    for size in [PerDirection::same(varied), PerDirection::same(split)] {
        let pattern = Pattern {
            coverage: Coverage::Together,
            mix: Mix::reads(50.0),
            size: size.clone(),
            ..soft(Verb::Read, Pick::Uniform)
        };
        let mut found = drawn(pattern, 256, (0, 256), Limit::default());
        found.sort_by_key(|io| io.1);
        let end = found.iter().fold(0, |end, (_, offset, bytes)| {
            assert_eq!(*offset, end, "{size:?}: {found:?}");
            offset + bytes
        });
        assert_eq!(end, 256 * KIB);
        assert!(found.len() > 20 && found.len() < 200);
    }
}

#[test]
fn blocks_of_one_size_a_verb_come_whole_and_once() {
    for (write, align, reads) in [(8, 0, 50.0), (12, 0, 50.0), (12, 4, 50.0), (16, 8, 80.0), (64, 0, 20.0)] {
        let size = PerDirection {
            read: Size::Fixed(4 * KIB),
            write: Size::Fixed(write * KIB),
            trim: Size::Fixed(KIB),
        };
        let mut pattern = Pattern {
            coverage: Coverage::Together,
            mix: Mix::reads(reads),
            size,
            ..soft(Verb::Read, Pick::Uniform)
        };
        pattern.align_bytes.write = align * KIB;
        let step = if align == 0 { write } else { align } * KIB;
        let mut before = 0;
        for passes in [1, 2] {
            let limit = Limit { passes: Some(passes), ..Limit::default() };
            let found = drawn(pattern.clone(), 256, (0, 256), limit);
            let mut touched = [0; 64];
            for (verb, offset, bytes) in &found {
                let (whole, step) = if *verb == Verb::Read { (4, 4 * KIB) } else { (write, step) };
                assert_eq!((*bytes, offset % step), (whole * KIB, 0), "{verb:?} at {offset}");
                (offset / 4096..(offset + bytes) / 4096).for_each(|block| touched[block as usize] += 1);
            }
            assert!(touched.iter().all(|times| *times <= passes), "{touched:?}");
            // What is left over has no room for a whole write, or too little was left of the reads.
            let most = touched.iter().filter(|times| **times == passes).count();
            assert!(passes == 2 || most > 20, "{write} by {align}: {touched:?}");
            assert!(found.len() > before, "the second pass begins anew: {} and {before}", found.len());
            before = found.len();
        }
    }
}

#[test]
fn each_place_gets_all_verbs_in_turn() {
    let shares = [Verb::Trim, Verb::Write].map(|verb| Share { verb, weight: 50.0 }).to_vec();
    for pick in [Pick::Sequential, Pick::Uniform] {
        let mix = Mix { shares: shares.clone(), run: 1, in_turn: true };
        let pattern = Pattern { mix, coverage: Coverage::Together, ..soft(Verb::Write, pick.clone()) };
        let found = drawn(pattern, 16, (0, 16), total(16, 1));
        assert_eq!(found.len(), 8, "{found:?}");
        for pair in found.chunks(2) {
            assert_eq!((pair[0].0, pair[1].0, pair[0].1), (Verb::Trim, Verb::Write, pair[1].1));
        }
        let mut places = offsets(&found);
        places.sort_unstable();
        assert_eq!(places, [0, 0, 4, 4, 8, 8, 12, 12]);
    }
}

#[test]
fn syncs_between_do_not_come_last() {
    let verbs = |operations, fdatasync: Option<u64>| {
        let every = |verb, operations| Every { between: true, ..Every::new(verb, operations) };
        let mut pattern = soft(Verb::Write, Pick::Sequential);
        pattern.every.push(every(Verb::Fsync, operations));
        pattern.every.extend(fdatasync.map(|operations| every(Verb::Fdatasync, operations)));
        let found = drawn(pattern, 32, (0, 32), total(32, 1));
        found.iter().map(|io| io.0.name().chars().nth(1).unwrap()).collect::<String>()
    };
    // The second letters: write, fsync, fdatasync.
    assert_eq!(verbs(4, None), "rrrrsrrrr");
    assert_eq!(verbs(8, Some(3)), "rrrdrrrdrr");
}

#[test]
fn runs_repeats_and_blends_go_on_until_the_bytes_are_moved() {
    let uniform = || Box::new(Pick::Uniform);
    let repeat =
        drawn(soft(Verb::Read, Pick::Repeat { times: 4, pick: uniform() }), 64, (0, 64), total(64, 1));
    assert_eq!(repeat.len(), 16);
    assert!(repeat.chunks(4).all(|same| same.iter().all(|io| io.1 == same[0].1)));
    let runs =
        drawn(soft(Verb::Read, Pick::Runs { operations: 4, pick: uniform() }), 64, (0, 64), total(64, 1));
    assert_eq!(runs.len(), 16);
    let steps =
        |run: &[(Verb, u64, u64)]| run.windows(2).filter(|pair| pair[1].1 == pair[0].1 + 4 * KIB).count();
    let ends = |run: &[(Verb, u64, u64)]| run.iter().filter(|io| io.1 == 60 * KIB).count();
    assert!(runs.chunks(4).all(|run| steps(run) + ends(run) >= 3), "{:?}", offsets(&runs));
    let ways = [(50.0, Pick::Uniform), (50.0, Pick::Sequential)];
    let ways = ways.map(|(percent, pick)| Blend { percent, pick }).to_vec();
    let blend = Pattern {
        size: PerDirection {
            read: Size::Fixed(4 * KIB),
            write: Size::Fixed(8 * KIB),
            trim: Size::Fixed(4 * KIB),
        },
        size_by_order: true,
        ..soft(Verb::Read, Pick::Blend(ways))
    };
    let found = drawn(blend, 256, (0, 256), total(256, 1));
    let mut last = 0;
    for (_, offset, bytes) in &found {
        assert!(*bytes == 8 * KIB || *offset == last || *offset == 0, "{found:?}");
        last = offset + bytes;
    }
    assert!(found.iter().any(|io| io.2 == 4 * KIB) && found.iter().any(|io| io.2 == 8 * KIB));
    assert!(found.iter().map(|io| io.2).sum::<u64>() >= 256 * KIB);
}

#[test]
fn listed_places_come_in_their_order_again_and_again() {
    let listed = |advances, moved| {
        let pick = Pick::Listed { blocks: vec![2, 0, 1], advances };
        let pattern = Pattern { coverage: Coverage::Repeating, ..soft(Verb::Read, pick) };
        offsets(&drawn(pattern, 48, (0, 48), Limit { bytes: Some(moved * KIB), ..Limit::default() }))
    };
    assert_eq!(listed(false, 24), [8, 0, 4, 8, 0, 4]);
    assert_eq!(listed(true, 24), [8, 0, 4, 20, 12, 16]);
    // Beyond the end of the span it begins anew.
    assert_eq!(listed(true, 60)[12..], [8, 0, 4]);
}
