//! `iodyno measure`: arguments to plan, and stored runs to the exact card, in `golden/measure/`.

#[path = "../../report/tests/sample/mod.rs"]
mod sample;

use iodyno_dialect::{DIALECTS, Loader, PathFacts, PathKind, Request, Run};
use iodyno_model::*;
use iodyno_report::paint::Paint;
use iodyno_report::shape::Shape;
use iodyno_report::{Output, live};
use sample::{DISK, Device, MEMORY, NVME, Trouble};

/// A world of one path.
struct World {
    path: &'static str,
    facts: PathFacts,
    missing_engines: &'static [&'static str],
    columns: usize,
}

impl Loader for World {
    fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Err("measure reads no file".into())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("measure reads no standard input".into())
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        sample::machine()
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        (path == self.path).then(|| self.facts.clone())
    }
    fn now_unix_ns(&self) -> u64 {
        0xabcdef
    }
    fn paint(&self) -> Paint {
        Paint { columns: self.columns, ..Paint::PLAIN }
    }
    fn engine_available(&self, name: &str) -> Result<(), String> {
        match self.missing_engines.contains(&name) {
            true => Err(format!("{name} is forbidden here (operation not permitted)")),
            false => Ok(()),
        }
    }
}

fn ssd() -> TargetFacts {
    TargetFacts {
        target: "data".into(),
        path: "/srv/data/.iodyno-measure-abcdef.tmp".into(),
        file_system: Some("ext4".into()),
        mount_point: Some("/srv".into()),
        mount_options: Some("rw,relatime".into()),
        source: Some("/dev/nvme0n1p2".into()),
        device: Some("nvme0n1p2".into()),
        disk: Some("nvme0n1".into()),
        model: Some("Example SSD 1TB".into()),
        rotational: Some(false),
        scheduler: Some("none".into()),
        write_cache: Some("write back".into()),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        size_bytes: Some(900 << 30),
        free_bytes: Some(420 << 30),
        read_ahead_bytes: Some(128 << 10),
        queue_requests: Some(1023),
        direct: Some(true),
        direct_align_bytes: Some(512),
        layers: Vec::new(),
        memory_bytes: Some(16 << 30),
        ..TargetFacts::default()
    }
}

fn disk() -> TargetFacts {
    TargetFacts {
        disk: Some("sda".into()),
        device: Some("sda1".into()),
        model: Some("EXAMPLE DISK 4TB".into()),
        rotational: Some(true),
        scheduler: Some("mq-deadline".into()),
        queue_requests: Some(64),
        file_system: Some("xfs".into()),
        ..ssd()
    }
}

fn memory() -> TargetFacts {
    TargetFacts {
        target: "data".into(),
        file_system: Some("tmpfs".into()),
        mount_point: Some("/tmp".into()),
        mount_options: Some("rw,nosuid,nodev,size=8388608k".into()),
        source: Some("tmpfs".into()),
        size_bytes: Some(8 << 30),
        free_bytes: Some(8 << 30),
        direct: Some(false),
        ..TargetFacts::default()
    }
}

fn directory(facts: TargetFacts) -> World {
    let facts =
        PathFacts { kind: PathKind::Directory, bytes: 4096, readable: true, writable: true, target: facts };
    World { path: "/srv/data", facts, missing_engines: &[], columns: 80 }
}

fn device() -> World {
    let target = TargetFacts {
        file_system: None,
        mount_point: None,
        mount_options: None,
        free_bytes: None,
        device: Some("nvme0n1".into()),
        size_bytes: Some(1_000_204_886_016),
        ..ssd()
    };
    let facts = PathFacts {
        kind: PathKind::BlockDevice,
        bytes: 1_000_204_886_016,
        readable: true,
        writable: true,
        target,
    };
    World { path: "/dev/nvme0n1", facts, missing_engines: &[], columns: 80 }
}

fn file(bytes: u64) -> World {
    let facts = PathFacts { kind: PathKind::File, bytes, readable: true, writable: true, target: ssd() };
    World { path: "big.iso", facts, missing_engines: &[], columns: 80 }
}

fn request(world: &mut World, arguments: &[&str]) -> Result<Request, Vec<Diagnostic>> {
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "measure").unwrap();
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    (dialect.lower)(&arguments, world)
}

fn run(world: &mut World, arguments: &[&str]) -> Box<Run> {
    match request(world, arguments) {
        Ok(Request::Run(run)) => run,
        Ok(Request::Print { out, .. } | Request::Refuse { err: out, .. }) => panic!("only printed: {out}"),
        Err(wrong) => panic!("refused: {}", wrong[0]),
        Ok(Request::Hosts(there)) => panic!("sent to {:?}", there.hosts),
        Ok(_) => panic!("neither run nor printed"),
    }
}

fn refused(world: &mut World, arguments: &[&str]) -> String {
    let Err(wrong) = request(world, arguments) else { panic!("{arguments:?} was accepted") };
    wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn finding(code: u8, severity: Severity, sentence: &str, figure: Figure, advice: &str) -> Finding {
    let kind = FindingKind::numbered(code).unwrap();
    let found = Finding::new(kind, severity, "SEQ1M Q8T1 read".into(), sentence.into(), vec![figure]);
    Finding { advice: advice.into(), ..found }
}

/// The card of a stored run.
fn card(
    world: &mut World,
    arguments: &[&str],
    device: &Device,
    findings: Vec<Finding>,
    trouble: Trouble,
) -> String {
    let mut run = run(world, arguments);
    let facts = TargetFacts { target: "data".into(), ..world.facts.target.clone() };
    let events = sample::events(&run.plan, device, vec![facts], findings, trouble);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for event in &events {
        run.reporter
            .event(event, &mut Output { out: &mut out, err: &mut err, files: &mut iodyno_report::NoFiles })
            .unwrap();
    }
    assert!(err.is_empty());
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains('\x1b'), "coloured though nobody asked");
    text
}

/// Compares a card with its golden file, and with what holds for every card.
fn golden_card(name: &str, text: &str) {
    sample::golden("measure", name, text);
    let wide = text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "{name} is wider than 100 columns");
    let blank = text.lines().find(|line| line.trim_end() != *line);
    assert_eq!(blank, None, "{name} has blanks at the end of a line");
}

#[test]
fn card_of_a_fast_ssd() {
    let figure = Figure::new("samples beyond", 3.0, "");
    let sentence = "too few operations for the 99.9th percentile";
    let note = finding(6, Severity::Note, sentence, figure, "measure longer: --time 5s");
    let text = card(&mut directory(ssd()), &["/srv/data"], &NVME, vec![note], Trouble::default());
    golden_card("nvme.txt", &text);
    assert!(text.contains("looks like    an NVMe SSD"));
}

#[test]
fn card_of_a_disk() {
    let text = card(&mut directory(disk()), &["/srv/data", "--quick"], &DISK, vec![], Trouble::default());
    golden_card("disk-quick.txt", &text);
    assert!(text.contains("looks like    a rotating disk") && text.contains("Flat: no deeper queue"));
}

#[test]
fn card_of_memory_says_so_plainly() {
    let figure = Figure::new("memory", 16.0 * 1073741824.0, "bytes");
    let sentence = "the target is not a device but tmpfs: these are figures of memory";
    let advice = "measure a directory on the device that is meant: iodyno measure DIRECTORY";
    let lie = finding(22, Severity::Invalid, sentence, figure, advice);
    let text = card(&mut directory(memory()), &["/srv/data"], &MEMORY, vec![lie], Trouble::default());
    golden_card("tmpfs.txt", &text);
    assert!(text.contains("NOT direct") && text.contains("looks like    memory"));
    // A newer kernel takes the flag there: that passes nothing by.
    let newer = TargetFacts { direct: Some(true), ..memory() };
    let text = card(&mut directory(newer), &["/srv/data"], &MEMORY, vec![], Trouble::default());
    assert!(text.contains("direct, but this is memory") && !text.contains("past the page cache"), "{text}");
}

#[test]
fn card_of_a_run_with_errors() {
    let trouble = Trouble { write_errno: Some(28), ..Trouble::default() };
    let text = card(&mut directory(ssd()), &["/srv/data", "--quick"], &NVME, vec![], trouble);
    golden_card("errors.txt", &text);
    assert!(text.contains("ENOSPC") && text.contains("734,003,200"));
}

#[test]
fn card_of_an_interrupted_run_is_partial_and_says_so() {
    let trouble = Trouble { stop_after: Some(13), ..Trouble::default() };
    let text = card(&mut directory(ssd()), &["/srv/data"], &NVME, vec![], trouble);
    golden_card("interrupted.txt", &text);
    assert!(text.contains("stopped by signal 2"));
    let nothing = Trouble { stop_after: Some(0), ..Trouble::default() };
    let text = card(&mut directory(ssd()), &["/srv/data"], &NVME, vec![], nothing);
    assert!(text.contains("stopped by signal 2 before anything was measured") && !text.contains("SEQ1M"));
}

#[test]
fn card_of_a_device_has_no_writes_at_all() {
    let text = card(&mut device(), &["/dev/nvme0n1", "--quick"], &NVME, vec![], Trouble::default());
    golden_card("device.txt", &text);
    assert!(text.contains("a device is only read") && !text.contains("write ["));
}

#[test]
fn card_without_io_uring_says_what_stands_in() {
    let mut world = World { missing_engines: &["io_uring", "libaio", "posixaio"], ..directory(ssd()) };
    let text = card(&mut world, &["/srv/data", "--quick"], &NVME, vec![], Trouble::default());
    golden_card("psync.txt", &text);
    let mut world = World { missing_engines: &["io_uring"], ..directory(ssd()) };
    let run = run(&mut world, &["/srv/data"]);
    assert!(run.messages[0].message.starts_with("libaio stands in for io_uring: io_uring is forbidden"));
    assert!(run.plan.phases.iter().flat_map(|phase| &phase.jobs).all(|job| job.engine != "io_uring"));
}

#[test]
fn the_card_fits_the_terminal() {
    for columns in [60, 80, 120] {
        let mut world = World { columns, ..directory(ssd()) };
        let text = card(&mut world, &["/srv/data"], &NVME, vec![], Trouble::default());
        let wide = text.lines().filter(|line| line.chars().count() > columns);
        assert_eq!(wide.collect::<Vec<_>>(), [""; 0], "wider than {columns}");
        for name in ["SEQ1M Q8T1", "RND4K Q32T1 mix", "APPEND4K fsync", "utilisation", "unlink"] {
            assert!(text.contains(name), "{columns}: no {name} in {text}");
        }
        if columns != 80 {
            sample::golden("measure", &format!("columns-{columns}.txt"), &text);
        }
    }
}

#[test]
fn a_cell_is_called_alike_on_the_card_in_the_plan_and_in_a_demand() {
    let condition = "SEQ1M Q8T1 write.iops < 900";
    let run = run(&mut directory(ssd()), &["/srv/data", "--fail-if", condition]);
    assert_eq!(run.plan.demands[0].text, condition);
    let text = card(&mut directory(ssd()), &["/srv/data"], &NVME, vec![], Trouble::default());
    for phase in run.plan.phases.iter().filter(|phase| phase.coordinates.is_empty()) {
        assert!(text.lines().any(|line| line.starts_with(&format!("{} ", phase.name))), "{}", phase.name);
    }
}

#[test]
fn the_card_fills_in_cell_by_cell() {
    let mut run = run(&mut directory(ssd()), &["/srv/data"]);
    let mut growing = run.growing.take().unwrap();
    let events = sample::events(&run.plan, &NVME, vec![ssd()], vec![], Trouble::default());
    let figures = |text: &str, name: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim_start_matches("▸ ").strip_prefix(name));
        lines.next().is_some_and(|figures| !figures.trim_start().starts_with('–'))
    };
    let mut ended = 0;
    for event in &events {
        growing.event(event);
        let text = growing.text(Paint::PLAIN, 24);
        assert!(text.lines().count() <= 24, "{text}");
        ended += usize::from(matches!(event, Event::PhaseEnded(_)));
        if let Event::PhaseStarted { name, repetition: 0, .. } = event
            && ended < 8
        {
            assert!(text.contains(&format!("▸ {name} ")), "{name} runs: {text}");
        }
        if ended == 2 {
            assert!(figures(&text, "SEQ1M Q1T1 read") && !figures(&text, "RND4K Q1T1 read"), "{text}");
        }
    }
    assert!(growing.text(Paint::PLAIN, 24).contains("unlink") && ended == run.plan.phases.len());
}

/// A plan in a few words a phase, as a golden text.
fn words(plan: &Plan) -> String {
    let mut text = format!("{} · seed {}\n", plan.name, plan.seed);
    for target in &plan.targets {
        let kind = match &target.kind {
            TargetKind::File { path, size } => format!("file {path}, {size:?}"),
            TargetKind::FileSet { root, items } => format!("{} files {} in {root}", items.count, items.name),
            TargetKind::Device { path } => format!("device {path}"),
            other => format!("{other:?}"),
        };
        let (direct, prepare, remove) = (target.open.direct, target.prepare, target.remove);
        text.push_str(&format!(
            "{}: {kind} · direct {direct:?} · {prepare:?} · remove {remove}\n",
            target.name
        ));
    }
    for phase in plan.phases.iter().filter(|phase| phase.repetition == 0) {
        for job in &phase.jobs {
            let places: String = phase.coordinates.iter().map(|place| format!(" [{place}]")).collect();
            text.push_str(&format!("{}{places}: {}\n", phase.name, Shape::of(plan, job, &[]).line()));
        }
    }
    text
}

#[test]
fn lowering_is_golden() {
    sample::golden("measure", "directory.plan", &words(&run(&mut directory(ssd()), &["/srv/data"]).plan));
    sample::golden("measure", "device.plan", &words(&run(&mut device(), &["/dev/nvme0n1", "--full"]).plan));
    let mut world = World { missing_engines: &["io_uring", "libaio", "posixaio"], ..directory(ssd()) };
    sample::golden("measure", "psync.plan", &words(&run(&mut world, &["/srv/data", "--quick"]).plan));
}

#[test]
fn times_are_as_promised() {
    let seconds =
        |arguments: &[&str]| live::planned_ns(&run(&mut directory(ssd()), arguments).plan) / 1_000_000_000;
    assert!((55..=70).contains(&seconds(&["/srv/data"])));
    assert!((10..=17).contains(&seconds(&["/srv/data", "–quick"])), "also with a dash from a web page");
    assert!((200..=360).contains(&seconds(&["/srv/data", "--full"])));
    assert_eq!(seconds(&["/srv/data", "--quick", "--time", "2s"]), (3 * 10 + 4 + 5) * 2);
}

#[test]
fn passes_are_interleaved_and_numbered() {
    let plan = run(&mut directory(ssd()), &["/srv/data"]).plan;
    let of = |name: &str| -> Vec<(usize, u32)> {
        let named = plan.phases.iter().enumerate().filter(|(_, phase)| phase.name == name);
        named.map(|(index, phase)| (index, phase.repetition)).collect()
    };
    assert_eq!(of("SEQ1M Q8T1 read"), [(0, 0), (10, 1), (20, 2), (30, 3), (40, 4)]);
    assert_eq!(of("depth").len(), 8);
    assert_eq!(plan.phases.last().unwrap().name, "unlink");
    assert_eq!(sweep::expand(&plan).as_ref(), Ok(&plan), "the plan is written out already");
}

#[test]
fn what_exists_is_only_read() {
    for (mut world, path) in [(device(), "/dev/nvme0n1"), (file(5 << 30), "big.iso")] {
        let plan = run(&mut world, &[path]).plan;
        assert!(plan.targets.iter().all(|target| !target.remove && target.prepare == Prepare::AsItIs));
        assert!(plan.targets.iter().all(|target| target.open.mode == OpenMode::Read && !target.open.create));
        for job in plan.phases.iter().flat_map(|phase| &phase.jobs) {
            let Workload::Pattern(pattern) = &job.workload else { panic!("a script on what is only read") };
            let reads = pattern.mix.shares.iter().all(|share| share.verb == Verb::Read);
            assert!(reads && pattern.every.is_empty());
        }
    }
}

#[test]
fn the_temporary_file_takes_half_of_little_space() {
    let little = TargetFacts { free_bytes: Some(101 << 20), ..ssd() };
    let plan = run(&mut directory(little), &["/srv/data"]).plan;
    let size = Extent::Bytes(50 << 20);
    assert!(matches!(plan.targets[0].kind, TargetKind::File { size: taken, .. } if taken == size));
}

#[test]
fn refusals_name_the_place_and_the_way_out() {
    let full = TargetFacts { free_bytes: Some(1 << 20), ..ssd() };
    let cases = [
        (refused(&mut directory(ssd()), &["/srv/missing"]), "no such file or directory"),
        (refused(&mut directory(full), &["/srv/data"]), "too little free space"),
        (refused(&mut directory(ssd()), &["/srv/data", "--size", "800G"]), "only 420 GiB are free"),
        (refused(&mut file(1 << 20), &["big.iso"]), "1 MiB are too few to measure"),
        (refused(&mut file(1 << 30), &["big.iso", "--size", "2G"]), "only 1 GiB is all it has"),
        (refused(&mut directory(ssd()), &["/srv/data", "--engine", "null"]), "no engine of that name"),
        (refused(&mut directory(ssd()), &["/srv/data", "--quick", "--full"]), "cannot be used with"),
        (refused(&mut directory(ssd()), &["/srv/data", "--time", "1ms"]), "at least 10ms"),
        (refused(&mut directory(ssd()), &["--destroy", "x"]), "--long"),
    ];
    for (text, expected) in cases {
        assert!(text.starts_with("error: ") && text.contains(expected), "{text}");
        assert!(text.contains("hint: "), "no way out: {text}");
    }
    let mut closed = directory(ssd());
    closed.facts.writable = false;
    assert!(refused(&mut closed, &["/srv/data"]).contains("cannot be written to"));
}

#[test]
fn help_is_printed() {
    let Ok(Request::Print { out, status: 0 }) = request(&mut directory(ssd()), &["--help"]) else {
        panic!("no help")
    };
    assert!(out.contains("--quick") && out.contains("never written"));
}

/// A long run of a device that was given up writes to it; every other one reads what was there before.
#[test]
fn a_long_run_says_what_it_writes() {
    let long = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        run(&mut device(), &words).plan
    };
    let plan = long("/dev/nvme0n1 --long 2h --depth 32 --mix 0 --destroy /dev/nvme0n1");
    let text = iodyno_report::plan::print(&plan);
    for said in ["depth 32", "write 100 %", "4 KiB", "health of the drives"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(plan.destroy, ["/dev/nvme0n1"]);
    assert_eq!(plan.targets[0].open.mode, OpenMode::default());
    let read = long("/dev/nvme0n1 --long 2h");
    assert_eq!((read.destroy.len(), read.targets[0].open.mode), (0, OpenMode::Read));
    let mixed =
        iodyno_report::plan::print(&long("/dev/nvme0n1 --long 1h --block 16KiB --destroy /dev/nvme0n1"));
    assert!(mixed.contains("read 70 %") && mixed.contains("16 KiB"), "{mixed}");
}

#[test]
fn a_long_run_that_would_lose_data_is_refused() {
    let refused = |world: &mut World, words: &str| refused(world, &words.split(' ').collect::<Vec<_>>());
    let writes = refused(&mut device(), "/dev/nvme0n1 --long 2h --mix 30");
    assert!(
        writes.contains("all that is on it be lost") && writes.contains("--destroy /dev/nvme0n1"),
        "{writes}"
    );
    let other = refused(&mut device(), "/dev/nvme0n1 --long 2h --destroy /dev/sda");
    assert!(other.contains("/dev/nvme0n1 is measured, not that"), "{other}");
    let file = refused(&mut file(1 << 30), "big.iso --long 2h --mix 30");
    assert!(file.contains("only read") && file.contains("name its directory"), "{file}");
    let given = refused(&mut directory(ssd()), "/srv/data --long 2h --destroy /srv/data");
    assert!(given.contains("only a block device"), "{given}");
    let alone = refused(&mut device(), "/dev/nvme0n1 --depth 32");
    assert!(alone.contains("--long"), "{alone}");
    let odd = refused(&mut device(), "/dev/nvme0n1 --long 2h --block 1000");
    assert!(odd.contains("no whole sectors"), "{odd}");
    let large = refused(&mut directory(ssd()), "/srv/data --long 2h --size 16MiB --block 32MiB");
    assert!(large.contains("more than the 16 MiB"), "{large}");
}

#[test]
fn a_profile_of_crystaldiskmark_runs_each_test_five_times() {
    let of = |name: &str| run(&mut directory(ssd()), &["--profile", name, "/srv/data"]).plan;
    let plan = of("crystaldiskmark");
    assert_eq!((plan.phases.len(), plan.targets.len()), (2 * 4 * 5, 1), "reads, then writes");
    assert_eq!(
        (plan.phases[0].name.as_str(), plan.phases[20].name.as_str()),
        ("SEQ1M Q8T1 read", "SEQ1M Q8T1 write")
    );
    assert_eq!((0..5).map(|run| plan.phases[run].repetition).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    let rests = plan.phases.iter().filter(|phase| phase.jobs[0].start.after_ns > 0).count();
    assert_eq!((rests, plan.phases[0].jobs[0].limit.time_ns), (7, Some(5_000_000_000)));
    let threads = of("kdiskmark-nvme").phases.iter().map(|phase| phase.jobs[0].workers).max();
    assert_eq!(threads, Some(16));
    assert_eq!(of("crystaldiskmark-peak-mix").phases.len(), 3 * 2 * 5);
    assert_eq!(run(&mut device(), &["--profile", "kdiskmark", "/dev/nvme0n1"]).plan.phases.len(), 4 * 5);
    assert!(refused(&mut directory(ssd()), &["--profile", "fast", "/srv/data"]).contains("crystaldiskmark"));
    assert!(
        refused(&mut directory(ssd()), &["--profile", "kdiskmark", "--quick", "/srv/data"])
            .contains("--quick")
    );
}

#[test]
fn the_table_of_crystaldiskmark_has_the_best_run_and_the_median() {
    let mut world = directory(ssd());
    let mut run = run(&mut world, &["--profile", "crystaldiskmark-demo", "/srv/data"]);
    let phase = |at: usize, megabytes: u64| {
        let planned = &run.plan.phases[at];
        let verb = if planned.name.ends_with("read") { Verb::Read } else { Verb::Write };
        let mut line =
            Line { operations: megabytes * 5, bytes: megabytes * 5_000_000, ..Line::empty("", verb) };
        (0..line.operations).for_each(|_| line.latency.add(1_000_000));
        let tally = Tally {
            lines: vec![line],
            last_done_ns: 5_000_000_000,
            first_done_ns: 5_000_000_000,
            ..Tally::default()
        };
        let job = JobRecord { tally, ..JobRecord::default() };
        PhaseRecord {
            name: planned.name.clone(),
            index: at,
            elapsed_ns: 5_000_000_000,
            jobs: vec![job],
            ..PhaseRecord::default()
        }
    };
    let phases = [300, 100, 200, 500, 250].iter().enumerate().map(|(at, rate)| phase(at, *rate)).collect();
    let record = Record { phases, stopped_by: Some(2), ..Record::default() };
    let mut out = Vec::new();
    let mut output = Output { out: &mut out, err: &mut Vec::new(), files: &mut iodyno_report::NoFiles };
    run.reporter.event(&Event::Ended(Box::new(record)), &mut output).unwrap();
    let text = String::from_utf8(out).unwrap();
    let row =
        "SEQ    1MiB (Q=  8, T= 1):   500.000 MB/s [    500.0 IOPS] <  1000.00 us>   median   250.000 MB/s";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("[Write]\n  SEQ    1MiB (Q=  8, T= 1):          -"), "{text}");
}
