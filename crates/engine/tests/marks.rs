//! Marked content on real files: what is written is what the formulas say, and what was changed behind our back is found,
//! byte range by byte range.

use std::os::unix::fs::FileExt;
use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Content, ErrorPolicy, Extent, Item, Items, Job, Kind, Marks, Offset, Open, Operation, Pattern, Payload,
    PayloadMarks, Phase, Pick, Plan, Prepare, Record, Script, Size, Stamp, Target, TargetKind, Verb, Verify,
    VerifyWhen, WorkerRecord, Workload, Wrong,
};
use testbed::{Case, Need, Outcome};

const ALL: [Marks; 4] = [Marks::Counted, Marks::Placed, Marks::Drawn, Marks::DrawnOnce];
const SIGNATURE: u32 = 1_700_000_000;
const WORKERS: u32 = 3;

/// The formulas again, word by word, from the facts and not from the engine.
fn words(marks: Marks, owner: u64, place: u64, bytes: usize) -> Vec<u8> {
    fn draw(seed: &mut u32) -> u64 {
        let mut result = 0;
        for (shift, mask) in [(0, 2047), (10, 1023), (10, 1023)] {
            *seed = seed.wrapping_mul(1103515245).wrapping_add(12345);
            result = (result << shift) ^ u64::from((*seed / 65536) & mask);
        }
        result
    }
    let signature = u64::from(SIGNATURE);
    let mut seed = (signature + owner + if marks == Marks::Drawn { place } else { 0 }) as u32;
    let mut state = draw(&mut seed);
    let alike = state << 32 | draw(&mut seed);
    let mut all = Vec::with_capacity(bytes);
    for index in 0..bytes as u64 / 8 {
        state = state.wrapping_mul(0x9e37fffffffc0001) >> 3;
        let page = index / 512 + 1;
        let word = match marks {
            Marks::Placed | Marks::DrawnOnce if index % 512 == 0 => {
                (place * page) & 0xffff_ffff | owner << 32
            }
            Marks::Counted | Marks::Placed => owner << 32 | (signature + index),
            Marks::DrawnOnce => alike,
            Marks::Drawn => state,
            Marks::Summed => signature + place + 8 * index,
        };
        all.extend(word.to_le_bytes());
    }
    (all.len()..bytes).for_each(|at| all.push(at as u8));
    all
}

fn payload(marks: Marks, checked: bool) -> Payload {
    let verify = Verify { stamp: Stamp::Content, when: VerifyWhen::OnRead, ..Verify::default() };
    Payload {
        content: Content::Marked(PayloadMarks { marks, signature: SIGNATURE }),
        verify: checked.then_some(verify),
        ..Payload::default()
    }
}

fn target(kind: TargetKind) -> Target {
    let open = Open { create: true, ..Open::default() };
    let name = "data".into();
    Target { name, kind, open, prepare: Prepare::AsItIs, remove: false, origin: Default::default() }
}

/// A job of three workers on their own parts of a shared file, or on files of their own.
fn job(engine: &str, verb: Verb, payload: Payload, block: u64, shared: bool) -> Job {
    let mut pattern = Pattern::of(verb, Pick::Sequential, block);
    if shared {
        pattern.span.increment = Extent::Bytes(8 * block);
        pattern.span.length = Extent::Bytes(8 * block);
    }
    let mut job = Job::new("job", engine, vec![0], Workload::Pattern(Box::new(pattern)));
    (job.workers, job.payload, job.errors) = (WORKERS, payload, ErrorPolicy::Continue);
    job.depth.most = if engine == "psync" { 1 } else { 4 };
    job
}

fn run_job(target: Target, job: Job) -> Record {
    let phase = Phase { name: "phase".into(), jobs: vec![job], ..Phase::default() };
    let plan = Plan { seed: 1, targets: vec![target], phases: vec![phase], ..Plan::default() };
    let record = run(&plan, &Options::default(), &mut |_| {}).unwrap();
    assert_eq!(record.errors, []);
    record
}

fn file(path: &Path, bytes: u64) -> Target {
    target(TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(bytes) })
}

fn workers(record: &Record) -> &[WorkerRecord] {
    &record.phases[0].jobs[0].workers
}

fn files_hold_what_the_formulas_say_and_read_back_clean(engine: &str) -> Outcome {
    for marks in ALL {
        for (block, shared) in [(4096, true), (65_536, false), (1 << 20, true), (4712, false)] {
            holds_and_reads_back(engine, marks, block, shared)?;
        }
    }
    Ok(())
}

fn holds_and_reads_back(engine: &str, marks: Marks, block: u64, shared: bool) -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(if shared { "shared" } else { "own.{worker}" });
    let bytes = 8 * block * if shared { u64::from(WORKERS) } else { 1 };
    let write = job(engine, Verb::Write, payload(marks, false), block, shared);
    run_job(file(&path, bytes), write);
    for worker in 0..u64::from(WORKERS) {
        let path = path.display().to_string().replace("{worker}", &worker.to_string());
        let found = std::fs::read(path)?;
        assert_eq!(found.len() as u64, bytes);
        for step in 0..8 {
            let at = (if shared { worker * 8 } else { 0 } + step) * block;
            let expected = words(marks, worker, at, block as usize);
            let here = &found[at as usize..][..block as usize];
            assert!(here == expected, "{engine} {marks:?} {block} worker {worker} at {at}");
        }
    }
    let read = job(engine, Verb::Read, payload(marks, true), block, shared);
    let record = run_job(file(&path, bytes), read);
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!((tally.operations(Kind::Read), tally.failed()), (24, 0), "{engine} {marks:?} {block}");
    Ok(())
}

/// Ranges, distinguished as (offset, bytes), and sentences.
fn told(worker: &WorkerRecord) -> (Vec<(u64, u64)>, String) {
    assert!(worker.mismatches.iter().all(|one| one.what == Wrong::Marks && one.check == "marks"));
    let ranges = worker.mismatches.iter().map(|one| (one.offset, one.bytes)).collect();
    (ranges, worker.complaints.join("\n"))
}

const BLOCK: u64 = 65_536;

fn corruption_is_found_where_it_is(engine: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    for marks in ALL {
        corrupted(engine, marks, folder.path())?;
    }
    Ok(())
}

/// Damages the files of three workers behind our back; what the check must say of each follows from the damage.
fn corrupted(engine: &str, marks: Marks, folder: &Path) -> Outcome {
    let path = folder.join("own.{worker}");
    let of = |worker: u32| folder.join(format!("own.{worker}"));
    let write = job(engine, Verb::Write, payload(marks, false), BLOCK, false);
    run_job(file(&path, 8 * BLOCK), write);
    damage(of)?;
    let read = job(engine, Verb::Read, payload(marks, true), BLOCK, false);
    let record = run_job(file(&path, 8 * BLOCK), read);
    let found = workers(&record);
    let (ranges, sentences) = told(&found[0]);
    assert_eq!(ranges, [(3 * BLOCK + 777, 1), (5 * BLOCK + 8192, 4096)], "{marks:?}");
    assert!(sentences.contains("bit 3 is wrong") && sentences.contains("lost"), "{sentences}");
    assert!(sentences.starts_with(&of(0).display().to_string()), "{sentences}");
    assert_eq!((found[0].corrupt_ranges, found[0].corrupt_bytes, found[0].errors), (2, 4097, 2));
    let (ranges, sentences) = told(&found[1]);
    match marks {
        // All of its blocks are alike: nobody can see that.
        Marks::Counted => assert_eq!(ranges, []),
        _ => {
            assert_eq!(ranges, [(BLOCK, BLOCK), (6 * BLOCK, BLOCK)], "{marks:?}");
            assert!(sentences.contains("swapped: holds the data of byte 393,216"), "{sentences}");
        }
    }
    let (ranges, sentences) = told(&found[2]);
    assert_eq!(ranges, [(2 * BLOCK, BLOCK)], "{marks:?}");
    assert!(sentences.contains("holds what worker 0 wrote"), "{marks:?}: {sentences}");
    let one = &found[2].mismatches[0];
    assert!(one.expected != one.found && one.found.len() == 67, "{one:?}");
    Ok(())
}

/// A flipped bit and lost zeros with the first, two blocks in each other's place with the second, and with the third what
/// the first wrote.
fn damage(of: impl Fn(u32) -> std::path::PathBuf) -> std::io::Result<()> {
    let open = |worker| std::fs::OpenOptions::new().read(true).write(true).open(of(worker));
    let (first, second, third) = (open(0)?, open(1)?, open(2)?);
    let mut byte = [0];
    first.read_exact_at(&mut byte, 3 * BLOCK + 777)?;
    first.write_all_at(&[byte[0] ^ 8], 3 * BLOCK + 777)?;
    first.write_all_at(&[0; 4096], 5 * BLOCK + 8192)?;
    let mut blocks = [vec![0; BLOCK as usize], vec![0; BLOCK as usize]];
    second.read_exact_at(&mut blocks[0], BLOCK)?;
    second.read_exact_at(&mut blocks[1], 6 * BLOCK)?;
    second.write_all_at(&blocks[0], 6 * BLOCK)?;
    second.write_all_at(&blocks[1], BLOCK)?;
    first.read_exact_at(&mut blocks[0], 2 * BLOCK)?;
    third.write_all_at(&blocks[0], 2 * BLOCK)
}

fn places_beyond_four_gib_are_marked_and_checked() {
    const FAR: u64 = (1 << 32) + (1 << 31) + 4096;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("far");
    for marks in ALL {
        let far = |verb, checked| {
            let mut job = job("psync", verb, payload(marks, checked), 8192, false);
            let Workload::Pattern(pattern) = &mut job.workload else { unreachable!() };
            (pattern.span.offset, job.workers) = (Extent::Bytes(FAR), 1);
            job
        };
        run_job(file(&path, FAR + 65_536), far(Verb::Write, false));
        let mut found = vec![0; 8192];
        std::fs::File::open(&path).unwrap().read_exact_at(&mut found, FAR + 16_384).unwrap();
        assert!(found == words(marks, 0, FAR + 16_384, 8192), "{marks:?}");
        let record = run_job(file(&path, FAR + 65_536), far(Verb::Read, true));
        let tally = &record.phases[0].jobs[0].tally;
        assert_eq!((tally.operations(Kind::Read), tally.failed()), (8, 0));
    }
}

/// Items that are made, written, and read back before they are closed; or only opened and read.
fn items(marks: Marks, makes: bool, reads: bool) -> Job {
    let bytes = || Size::Fixed(3901);
    let held = |verb| Operation { handle: Some(0), ..Operation::on(verb, 0) };
    let opening = if makes { Verb::Create } else { Verb::Open };
    let mut steps =
        vec![Operation { item: Item::Each, handle: Some(0), ..Operation::on(opening, 0) }.step("open")];
    if makes {
        steps.push(Operation { offset: Offset::At(0), size: bytes(), ..held(Verb::Write) }.step("write"));
    }
    if reads {
        steps.push(Operation { offset: Offset::At(0), size: bytes(), ..held(Verb::Read) }.step("read"));
    }
    steps.push(held(Verb::Close).step("close"));
    let script = Script { steps, ..Script::default() };
    let mut job = Job::new("items", "psync", vec![0], Workload::Script(script));
    job.payload = payload(marks, reads);
    (job.limit.passes, job.errors) = (Some(20), ErrorPolicy::Continue);
    job
}

fn items_of_a_set_carry_their_number() {
    for marks in ALL {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        let items_of = Items { name: "file.{item}".into(), count: 20, ..Items::default() };
        let set = || {
            let kind = TargetKind::FileSet { root: root.display().to_string(), items: items_of.clone() };
            target(kind)
        };
        let record = run_job(set(), items(marks, true, true));
        assert_eq!(
            record.phases[0].jobs[0].tally.failed(),
            0,
            "{marks:?} {:?}",
            workers(&record)[0].complaints
        );
        for item in 0..20 {
            let found = std::fs::read(root.join(format!("file.{item}"))).unwrap();
            assert!(found == words(marks, 0, item, 3901), "{marks:?} {item}");
        }
        std::fs::copy(root.join("file.7"), root.join("file.8")).unwrap();
        let cut = std::fs::File::options().write(true).open(root.join("file.9")).unwrap();
        cut.write_all_at(&[0x55; 100], 3801).unwrap();
        let record = run_job(set(), items(marks, false, true));
        let worker = &workers(&record)[0];
        let sentences = worker.complaints.join("\n");
        let other = u64::from(marks != Marks::Counted);
        assert_eq!(worker.corrupt_ranges, 1 + other, "{marks:?} {sentences}");
        assert!(sentences.contains("file.9: byte 3,80"), "{sentences}");
        if other > 0 {
            assert!(
                sentences.contains("file.8: byte 0: misdirected: holds the data of item 7"),
                "{sentences}"
            );
        }
    }
}

fn what_marks_cannot_do_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&mut Payload)| {
        let mut job = job("psync", Verb::Write, payload(Marks::Counted, true), 4096, false);
        change(&mut job.payload);
        let phase = Phase { jobs: vec![job], ..Phase::default() };
        let targets = vec![file(&folder.path().join("f"), 65_536)];
        let plan = Plan { targets, phases: vec![phase], ..Plan::default() };
        let wrong = run(&plan, &Options::default(), &mut |_| {}).unwrap_err();
        assert!(wrong[0].message.contains("marked content") && wrong[0].hint.is_some(), "{wrong:?}");
    };
    refused(&|payload| payload.compress_percent = 50);
    refused(&|payload| payload.verify.as_mut().unwrap().stamp = Stamp::Block);
    refused(&|payload| payload.verify.as_mut().unwrap().interval_bytes = 512);
}

fn a_pattern_reads_back_what_it_wrote(engine: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    for marks in ALL {
        let mut job = job(engine, Verb::Write, payload(marks, true), 8192, false);
        job.payload.verify.as_mut().ok_or("nothing is verified")?.when = VerifyWhen::AfterWrites;
        let record = run_job(file(&folder.path().join("f.{worker}"), 80_000), job);
        let tally = &record.phases[0].jobs[0].tally;
        let counts = (tally.operations(Kind::Write), tally.operations(Kind::Read), tally.failed());
        assert_eq!(counts, (27, 27, 0), "{engine} {marks:?}");
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    let plain = |name: &str, body: fn()| {
        Case::new(name, &[], move || {
            body();
            Ok(())
        })
    };
    let mut cases = vec![
        plain("places_beyond_four_gib_are_marked_and_checked", places_beyond_four_gib_are_marked_and_checked),
        plain("items_of_a_set_carry_their_number", items_of_a_set_carry_their_number),
        plain("what_marks_cannot_do_is_refused", what_marks_cannot_do_is_refused),
    ];
    type Body = fn(&str) -> Outcome;
    let with_engines: [(&str, Body); 3] = [
        ("files_hold_what_the_formulas_say", files_hold_what_the_formulas_say_and_read_back_clean),
        ("corruption_is_found_where_it_is", corruption_is_found_where_it_is),
        ("a_pattern_reads_back_what_it_wrote", a_pattern_reads_back_what_it_wrote),
    ];
    for (name, body) in with_engines {
        cases.push(Case::new(format!("{name}::psync"), &[], move || body("psync")));
        cases.push(Case::new(format!("{name}::io_uring"), &[Need::IoUring], move || body("io_uring")));
    }
    testbed::run(cases)
}
