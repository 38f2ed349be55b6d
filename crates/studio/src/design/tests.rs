//! Designs to files of other tools and back: what is read from them is what was designed.

use std::collections::BTreeMap;

use iodyno_dialect::{DIALECTS, Loader, PathFacts, PathKind, Request, native};
use iodyno_model::{Extent, Job, Machine, Pattern, Plan, Workload};

use super::*;

/// A machine with `/srv` and `/dev/x`, and the files that it is given.
struct Stand(BTreeMap<String, String>);

fn kind(path: &str) -> Option<PathKind> {
    match path {
        "/srv" => Some(PathKind::Directory),
        "/dev/x" => Some(PathKind::BlockDevice),
        _ => None,
    }
}

impl Loader for Stand {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| "no such file".into())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing there".into())
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine::default()
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        kind(path).map(|kind| PathFacts {
            kind,
            bytes: 1 << 40,
            readable: true,
            writable: true,
            ..PathFacts::default()
        })
    }
    fn now_unix_ns(&self) -> u64 {
        1
    }
}

/// The plan that a tool makes of a command line, with a file beside it.
fn plan(tool: &str, line: &str, file: (&str, &str)) -> Plan {
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    let mut stand = Stand(BTreeMap::from([(file.0.to_string(), file.1.to_string())]));
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == tool).unwrap();
    match (dialect.lower)(&words, &mut stand) {
        Ok(Request::Run(run)) => run.plan,
        Ok(Request::Refuse { err, .. }) => panic!("{err}"),
        Ok(_) => panic!("{tool} {line} runs nothing"),
        Err(wrong) => panic!("{wrong:?}"),
    }
}

fn line(bytes: u64, reads: u64, random: u64) -> DesignLine {
    DesignLine { bytes, reads, random, align: bytes, ..DesignLine::default() }
}

fn specification(name: &str, lines: Vec<DesignLine>) -> Specification {
    Specification { name: name.into(), assigned: true, lines }
}

/// IOMeter's guide: 50 GB, 64 outstanding, 4 KiB aligned.
fn guide() -> Design {
    Design {
        name: "guide".into(),
        targets: vec!["/srv".into()],
        workers: 4,
        depth: 64,
        sectors: 97_656_250,
        seed: Some(7),
        update_s: 5,
        specifications: vec![specification("4 KiB aligned; 0% Read; 100% random", vec![line(4096, 0, 100)])],
        ..Design::default()
    }
}

#[test]
fn the_stock_list_is_iometers() {
    let list = stock();
    assert_eq!(list.len(), 31);
    let names: Vec<&str> = list.iter().map(|known| known.name.as_str()).collect();
    assert_eq!(names[..2], ["Default", "512 B; 100% Read; 0% random"]);
    assert!(
        names.contains(&"4 KiB aligned; 0% Read; 100% random")
            && names.contains(&"32 KiB; 25% Read; 0% random")
    );
    let all = &list[30];
    assert_eq!((all.name.as_str(), all.lines.len()), ("All in one", 29));
    assert_eq!(all.lines.iter().map(|line| line.percent).sum::<u64>(), 100);
    assert_eq!((all.lines[0].percent, all.lines[28].percent), (4, 3));
}

#[test]
fn an_icf_says_all_of_a_design() {
    let mut design = guide();
    let mixed = DesignLine { percent: 40, delay_ms: 3, burst: 8, align: 0, ..line(512, 67, 30) };
    let other = DesignLine { percent: 60, delay_ms: 3, burst: 8, ..line(65_536, 20, 100) };
    design.specifications.push(specification("Files, mixed", vec![mixed, other]));
    design
        .specifications
        .push(Specification { assigned: false, ..specification("spare", vec![line(1024, 1, 2)]) });
    design.sweep = Some(DepthSweep { from: 1, to: 64, step: 4, exponential: true });
    (design.first_sector, design.content, design.description) = (8, 2, "as in the guide".into());
    let text = icf(&design).unwrap();
    assert_eq!(of_icf("dir/guide.icf", &text), Ok((design.clone(), Vec::new())));
    let plan = plan("iometer", "guide.icf", ("guide.icf", &text));
    let depths: Vec<u32> = plan.phases.iter().map(|phase| phase.jobs[0].depth.most).collect();
    assert_eq!((depths, plan.phases[0].jobs.len()), (vec![1, 4, 16, 64, 1, 4, 16, 64], 4));
    design.seed = None;
    assert_eq!(of_icf("guide.icf", &icf(&design).unwrap()).unwrap().0, design);
}

/// The guide, with a worker that writes a stream to another target while the first ones read, and goes on when they wait.
fn differing() -> Design {
    let mut design = guide();
    design.specifications.push(specification("stream", vec![line(65_536, 0, 0)]));
    design.specifications.push(specification("look", vec![line(4096, 100, 100)]));
    design.does = vec!["look".into(), "4 KiB aligned; 0% Read; 100% random".into()];
    design.others.push(OtherWorkers {
        workers: 2,
        targets: vec!["/dev/x".into()],
        depth: 2,
        sectors: 2048,
        first_sector: 64,
        content: 2,
        does: vec!["stream".into(), IDLE.into(), "look".into()],
    });
    design
}

#[test]
fn workers_that_differ_come_back_as_they_were() {
    let design = differing();
    assert_eq!(design.wrong(), Vec::new());
    assert_eq!(of_icf("guide.icf", &icf(&design).unwrap()), Ok((design.clone(), Vec::new())));
    let phases = |plan: &Plan| {
        let from = |job: &Job| match pattern(job).span.offset {
            Extent::Bytes(bytes) => bytes,
            _ => 0,
        };
        let of = |job: &Job| (job.workers, job.depth.most, from(job));
        plan.phases.iter().map(|phase| phase.jobs.iter().map(of).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let icf = plan("iometer", "x.icf", ("x.icf", &icf(&design).unwrap()));
    assert_eq!(icf.phases.iter().map(|phase| phase.jobs.len()).collect::<Vec<_>>(), [6, 4, 2]);
    let toml = native::parse(&toml(&design, &kind).unwrap(), "x.toml").unwrap();
    let exported = fio(&design, &kind).unwrap();
    let fio = plan("fio", "j.fio", ("j.fio", &exported.text));
    assert_eq!(phases(&toml), phases(&fio), "{}", exported.text);
    assert_eq!(phases(&toml).iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
    for back in [of_plan("guide", &toml).unwrap().0, of_plan("guide", &fio).unwrap().0] {
        assert_eq!((back.workers, back.depth, &back.targets), (4, 64, &vec!["/srv/iobw.tst".to_string()]));
        let other = &back.others[0];
        assert_eq!(OtherWorkers { does: design.others[0].does.clone(), ..other.clone() }, design.others[0]);
        // The names are those of the jobs; what they do is the same.
        let lines = |design: &Design, does: &[String]| {
            let known = |name: &String| design.specification(name).map(|known| known.lines.clone());
            does.iter().map(known).collect::<Vec<_>>()
        };
        assert_eq!(lines(&back, &back.does), lines(&design, &design.does), "{back:?}");
        assert_eq!(lines(&back, &other.does), lines(&design, &design.others[0].does));
    }
    for refused in [ior(&design, &kind), iozone(&design, &kind)] {
        assert!(refused.unwrap_err()[0].message.contains("workers cannot differ"));
    }
}

/// A job's pattern; what it would trim is nobody's business.
fn pattern(job: &Job) -> Pattern {
    let Workload::Pattern(pattern) = &job.workload else { panic!("{:?}", job.workload) };
    let mut pattern = (**pattern).clone();
    pattern.pick.trim = pattern.pick.write.clone();
    pattern.size.trim = pattern.size.write.clone();
    pattern.align_bytes.trim = pattern.align_bytes.write;
    pattern
}

#[test]
fn the_plan_file_is_the_same_load() {
    let mut design = guide();
    let small = DesignLine { percent: 80, ..line(4096, 70, 100) };
    let large = DesignLine { percent: 20, align: 4096, ..line(65_536, 10, 100) };
    design.specifications.push(specification("mix", vec![small, large]));
    let half = DesignLine { delay_ms: 2, burst: 4, ..line(8192, 100, 50) };
    design.specifications.push(specification("half", vec![half]));
    design.targets.push("/dev/x".into());
    (design.first_sector, design.rate) = (16, Some(1000.0));
    let text = toml(&design, &kind).unwrap();
    let ours = native::parse(&text, "x.toml").unwrap_or_else(|wrong| panic!("{text}\n{wrong:?}"));
    design.rate = None;
    let theirs = plan("iometer", "x.icf", ("x.icf", &icf(&design).unwrap()));
    assert_eq!(ours.phases.len(), theirs.phases.len());
    for (ours, theirs) in ours.phases.iter().zip(&theirs.phases) {
        assert_eq!((&ours.name, ours.jobs.len()), (&theirs.name, 2));
        let (ours, theirs) = (&ours.jobs[0], &theirs.jobs[0]);
        assert_eq!(pattern(ours), pattern(theirs));
        assert_eq!((ours.workers, ours.depth.most, &ours.limit), (4, 64, &theirs.limit));
        assert_eq!((&ours.pace.think, &ours.payload), (&theirs.pace.think, &theirs.payload));
        assert_eq!(ours.pace.rate_all, iodyno_model::Rate::Operations(1000.0));
    }
    assert!(ours.targets.iter().zip(&theirs.targets).all(|(ours, theirs)| ours.kind == theirs.kind));
}

#[test]
fn fio_is_given_the_same_load() {
    let mut design = guide();
    let paused = DesignLine { delay_ms: 2, burst: 4, ..line(8192, 70, 100) };
    design.specifications.push(specification("mix", vec![paused]));
    design.specifications.push(specification("stream", vec![line(1 << 20, 100, 0)]));
    design.rate = Some(1000.0);
    let exported = fio(&design, &kind).unwrap();
    let plan = plan("fio", "j.fio", ("j.fio", &exported.text));
    let (back, notes) = of_plan("guide", &plan).unwrap();
    assert_eq!(back.targets, ["/srv/iobw.tst"]);
    assert_eq!((back.depth, back.run_s, back.ramp_s, back.sectors), (64, 60, 10, design.sectors));
    assert_eq!(notes, Vec::<String>::new());
    let heads = ["[4 KiB aligned, 0% Read, 100% random]", "[mix]", "[stream]"];
    assert!(heads.iter().all(|head| exported.text.lines().any(|line| line == *head)), "{}", exported.text);
    let lines =
        |design: &Design| design.specifications.iter().map(|known| known.lines.clone()).collect::<Vec<_>>();
    assert_eq!(lines(&back), lines(&design));
}

#[test]
fn a_name_that_fio_cannot_have_becomes_one_that_it_can() {
    for (name, head) in [
        ("a; b # c [d]", "[a, b _ c (d)]"),
        ("Global", "[_Global]"),
        ("${HOME}", "[_{HOME}]"),
        (&"ä".repeat(200), &format!("[{}]", "ä".repeat(100))),
    ] {
        let mut design = guide();
        design.specifications[0].name = name.into();
        let text = fio(&design, &kind).unwrap().text;
        assert!(text.lines().any(|line| line == head), "{text}");
        assert_eq!(plan("fio", "j.fio", ("j.fio", &text)).phases.len(), 1);
    }
    let design = Design { targets: vec!["/srv/a;b".into()], ..guide() };
    assert!(fio(&design, &kind).is_err());
}

#[test]
fn ior_and_iozone_take_what_they_can() {
    let mut design = guide();
    design.workers = 1;
    let exported = ior(&design, &kind).unwrap();
    let command = exported.text.lines().find(|line| line.starts_with("ior ")).unwrap();
    let plan_of = plan("ior", &command[4..], ("", ""));
    let (back, notes) = of_plan("x", &plan_of).unwrap_or_else(|wrong| panic!("{command}\n{wrong:?}"));
    assert_eq!(back.targets, ["/srv/iobw.tst"], "{notes:?}");
    assert!(exported.notes.iter().any(|note| note.contains("--also depth=64")));
    let exported = iozone(&design, &kind).unwrap();
    let command = exported.text.lines().find(|line| line.starts_with("iozone ")).unwrap();
    assert!(!plan("iozone", &command[7..], ("", "")).phases.is_empty());
    design.specifications[0].lines[0].reads = 50;
    assert!(ior(&design, &kind).is_err() && iozone(&design, &kind).is_err());
}

#[test]
fn other_tools_come_in_as_a_table() {
    let job = "[global]\nfilename=/srv/f\nsize=1g\ndirect=1\nioengine=io_uring\niodepth=8\nruntime=30\ntime_based\nramp_time=5\n\
               [a]\nrw=randrw\nrwmixread=70\nbs=8k\nstonewall\n[b]\nrw=write\nbs=1m\nstonewall\n";
    let (design, notes) = of_plan("job", &plan("fio", "j.fio", ("j.fio", job))).unwrap();
    assert_eq!(
        (design.targets, design.depth, design.run_s, design.ramp_s),
        (vec!["/srv/f".into()], 8, 30, 5)
    );
    assert_eq!(
        design.specifications[0].lines,
        [DesignLine { reads: 70, random: 100, align: 8192, ..line(8192, 70, 100) }]
    );
    assert_eq!((design.specifications[1].name.as_str(), design.specifications.len()), ("b", 2));
    assert_eq!(notes, ["`a` goes to each place once before any comes again; here they are drawn"]);
    let (design, notes) = of_plan("ior", &plan("ior", "-w -t 1m -b 16m -o /srv/f", ("", ""))).unwrap();
    assert_eq!((design.run_s, design.specifications[0].lines[0].bytes), (60, 1 << 20));
    assert!(notes.iter().any(|note| note.contains("ends after 60 s")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("here they stay")), "{notes:?}");
}

#[test]
fn what_no_file_can_say_is_refused_with_its_field() {
    let fields = |change: &dyn Fn(&mut Design)| {
        let mut design = guide();
        change(&mut design);
        let wrong = design.wrong();
        assert!(icf(&design).is_err());
        wrong.iter().map(|wrong| wrong.origin.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(fields(&|design| design.targets.clear()), ["targets"]);
    assert_eq!(fields(&|design| design.targets = vec!["srv".into()]), ["targets"]);
    assert_eq!(fields(&|design| design.targets.push("/srv".into())), ["targets"]);
    assert_eq!(fields(&|design| design.targets = vec!["/srv\n'Target".into()]), ["targets"]);
    assert_eq!(fields(&|design| design.workers = 0), ["workers"]);
    assert_eq!(fields(&|design| design.depth = 70_000), ["depth"]);
    assert_eq!(fields(&|design| design.does = vec!["nothing known".into()]), ["does", "specifications"]);
    let other = |change: &dyn Fn(&mut OtherWorkers)| {
        let mut other = OtherWorkers::default();
        change(&mut other);
        fields(&|design| design.others = vec![other.clone()])
    };
    assert_eq!(other(&|other| other.workers = 0), ["workers"]);
    assert_eq!(other(&|other| other.depth = 0), ["depth"]);
    assert_eq!(other(&|other| other.targets = vec!["x".into(), "/a\nb".into()]), ["targets", "targets"]);
    assert_eq!(other(&|other| other.does = vec!["no such".into()]), ["does"]);
    assert_eq!(fields(&|design| design.run_s = 0), ["run_s"]);
    assert_eq!(fields(&|design| design.rate = Some(0.0)), ["rate"]);
    assert_eq!(fields(&|design| design.specifications[0].assigned = false), ["specifications"]);
    assert_eq!(fields(&|design| design.specifications[0].name = "a\nb".into()), ["specifications"]);
    assert_eq!(fields(&|design| design.specifications[0].lines.clear()), ["specifications"]);
    let endless = DepthSweep { from: 1, to: 64, step: 1, exponential: true };
    assert_eq!(fields(&|design| design.sweep = Some(endless.clone())), ["sweep"]);
    let mut design = guide();
    let sideways = vec![
        DesignLine { percent: 50, ..line(4096, 0, 100) },
        DesignLine { percent: 50, ..line(4096, 0, 0) },
    ];
    design.specifications.push(specification("sideways", sideways));
    assert!(icf(&design).is_ok() && toml(&design, &kind).is_err() && fio(&design, &kind).is_err());
}

#[test]
fn names_become_files() {
    let stem = |name: &str| Design { name: name.into(), ..Design::default() }.file_stem();
    assert_eq!(stem("4 KiB; 67% Read/../x"), "4-kib-67-read-x");
    assert_eq!((stem(""), stem("../..")), ("design".into(), "design".into()));
}
