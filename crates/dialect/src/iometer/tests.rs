//! Configurations become plans, and what is wrong with them is told all at once.

use iodyno_model::{Machine, Mix, Pattern, Pick, Plan, Size, Verb, Workload};

use crate::{Loader, PathFacts, PathKind, Request};

const SMALL: &str = include_str!("../../../../golden/iometer/small.icf");

/// A file, and a directory `/mnt/x`.
struct World(String);

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        if path == "f.icf" {
            Ok(self.0.clone().into_bytes())
        } else {
            Err("no such file or directory".into())
        }
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine::default()
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        let kind = match path {
            "/mnt/x" | "/mnt/y" => PathKind::Directory,
            "/dev/sdz" => PathKind::BlockDevice,
            _ => return None,
        };
        Some(PathFacts { kind, ..PathFacts::default() })
    }
    fn now_unix_ns(&self) -> u64 {
        7
    }
}

fn asked(text: &str, line: &str) -> Request {
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    super::request(&words, &mut World(text.into())).unwrap_or_else(|wrong| panic!("{wrong:?}"))
}

fn lowered(text: &str) -> Plan {
    match asked(text, "f.icf --map C:=/mnt/x") {
        Request::Run(run) => run.plan,
        Request::Refuse { err, .. } => panic!("{err}"),
        _ => panic!("not run"),
    }
}

fn refused(text: &str, line: &str) -> String {
    match asked(text, line) {
        Request::Refuse { err, status: 2 } => err,
        _ => panic!("{line}: it was not refused"),
    }
}

fn pattern(plan: &Plan, phase: usize) -> &Pattern {
    match &plan.phases[phase].jobs[0].workload {
        Workload::Pattern(pattern) => pattern,
        _ => panic!("no pattern"),
    }
}

#[test]
fn specifications_become_phases() {
    let plan = lowered(SMALL);
    let names: Vec<_> = plan.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["4 KiB; 67% Read; 100% random", "Files"]);
    let job = &plan.phases[0].jobs[0];
    assert_eq!((job.depth.most, job.seed, job.limit.time_ns), (4, Some(17), Some(1_000_000_000)));
    let first = pattern(&plan, 0);
    assert_eq!((&first.mix, &first.pick.read), (&Mix::reads(67.0), &Pick::Uniform));
    assert_eq!((first.align_bytes.read, &first.size.read), (4096, &Size::Fixed(4096)));
    // Sizes go with their own shares of reads: 32 of 44 reads are small, 8 of 56 writes.
    let files = pattern(&plan, 1);
    let weight =
        |verb| files.mix.shares.iter().find(|share| share.verb == verb).map_or(0.0, |share| share.weight);
    assert_eq!((weight(Verb::Read), weight(Verb::Write)), (44.0, 56.0));
    let small = |size: &Size| match size {
        Size::Split(table) => table[0],
        other => panic!("{other:?}"),
    };
    assert_eq!(small(&files.size.read).0, 4096);
    assert!((small(&files.size.read).1 - 3200.0 / 44.0).abs() < 1e-9);
    assert!((small(&files.size.write).1 - 800.0 / 56.0).abs() < 1e-9);
    assert_eq!(files.align_bytes.write, 4096);
    let sectors = lowered(&SMALL.replace("0,1,4096,0", "0,1,0,0"));
    assert_eq!(pattern(&sectors, 1).align_bytes.write, 512);
}

/// IOMeter's own default: everything in one specification.
#[test]
fn lines_keep_their_randomness_and_alignment() {
    let mixed =
        SMALL.replace("\t65536,60,20,100,0,1,4096", "\t65536,50,20,30,0,1,0,0\n\t512,10,100,0,0,1,8192");
    let plan = lowered(&mixed);
    let files = pattern(&plan, 1);
    let shown: Vec<_> = files
        .kinds
        .iter()
        .map(|kind| {
            let random = match &kind.pick {
                Pick::Sequential => 0.0,
                Pick::Uniform => 100.0,
                Pick::Blend(parts) => parts[0].percent,
                other => panic!("{other:?}"),
            };
            (kind.verb, kind.weight, kind.bytes, random, kind.align_bytes)
        })
        .collect();
    assert_eq!(
        shown,
        [
            (Verb::Read, 32.0, 4096, 100.0, 4096),
            (Verb::Read, 10.0, 65536, 30.0, 512),
            (Verb::Read, 10.0, 512, 0.0, 8192),
            (Verb::Write, 8.0, 4096, 100.0, 4096),
            (Verb::Write, 40.0, 65536, 30.0, 512),
        ]
    );
    // What they come to: reads and writes, and the largest size, for which there are buffers.
    let weights: Vec<_> = files.mix.shares.iter().map(|share| (share.verb, share.weight)).collect();
    assert_eq!(weights, [(Verb::Read, 52.0), (Verb::Write, 48.0)]);
    assert_eq!((files.size.read.most_bytes(), files.align_bytes.read), (Some(65536), 512));
    assert!(pattern(&plan, 0).kinds.is_empty() && pattern(&lowered(SMALL), 1).kinds.is_empty());
}

#[test]
fn cycling_is_a_phase_for_each_step() {
    let cycled = SMALL.replace("\tNORMAL", "\tCYCLE_OUTSTANDING_IOS");
    let depths: Vec<_> = lowered(&cycled).phases.iter().map(|phase| phase.jobs[0].depth.most).collect();
    assert_eq!(depths, [1, 2, 4, 1, 2, 4]);
    let target = "'Target\n\tC:\n'Target type\n\tDISK\n'End target\n";
    let two = format!("{target}'Target\n\tsdz\n'Target type\n\tDISK\n'End target\n");
    let two = SMALL.replace(target, &two).replace("\tNORMAL", "\tCYCLE_TARGETS");
    let jobs: Vec<_> = lowered(&two).phases.iter().map(|phase| phase.jobs.len()).collect();
    assert_eq!(jobs, [1, 2, 1, 2]);
    let old = SMALL.replace("Version 1.1.0", "Version 2006.07.27").replace("\n'", "\r\n'");
    assert_eq!(lowered(&old).phases.len(), 2);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    assert!(refused(SMALL, "f.icf").contains("f.icf:66: `C:`: no such target here"));
    assert!(refused(SMALL, "other").contains("other: no such file"));
    assert!(refused(SMALL, "").contains("no configuration is named"));
    assert!(refused(SMALL, "f.icf g.icf").contains("a second configuration"));
    let wrong = |from: &str, to: &str, word: &str| {
        assert!(SMALL.contains(from), "{from}");
        let told = refused(&SMALL.replace(from, to), "f.icf --map C:=/mnt/x");
        assert!(told.contains(word), "{from} to {to}: {told}");
    };
    wrong("\t8192,0,2", "\t0,0,2", "would fill what it lies on");
    wrong("\t8192,0,2", "\t8192,0,3", "no such data pattern");
    wrong("\t65536,60,20,100,0,1,4096", "\t65536,60,20,100,5,1,4096", "delay and burst unlike");
    wrong("\t65536,60", "\t65536,50", "its lines make 90 percent");
    wrong("\t4096,100,67,100,0,1,4096,0", "\t4096,100,67,100,0,1,4096,64", "replies are of networks");
    wrong("\t4,DISABLED", "\t4,ENABLED", "opening and closing");
    wrong("\tFiles\n'End", "\tFolders\n'End", "`Folders`: no such access specification");
    wrong("'Worker type\n\tDISK", "'Worker type\n\tNETWORK,TCP", "only disks");
    wrong("'End worker", "'End of worker", "`end of worker`: no heading");
    wrong("\t0          0          1\n", "\t0 0 0\n", "no run time");
    wrong("EXPONENTIAL", "SIDEWAYS", "no cycling");
    // Many mistakes, as many messages.
    let many = SMALL
        .replace("\t8192,0,2", "\tx,y,9")
        .replace("\tNORMAL", "\tODD")
        .replace("4,DISABLED", "0,DISABLED");
    assert!(refused(&many, "f.icf").matches("error: f.icf:").count() >= 5);
}

/// Mangled files are refused or run, and never more.
#[test]
fn mangled_files_are_survived() {
    let mut state = 1_u64;
    let mut draw = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let lines: Vec<&str> = SMALL.lines().collect();
    for _ in 0..2000 {
        let mut mangled: Vec<String> = lines.iter().map(ToString::to_string).collect();
        for _ in 0..=draw(4) {
            let at = draw(mangled.len());
            match draw(5) {
                0 => drop(mangled.remove(at)),
                1 => mangled.swap(at, 0),
                2 => mangled[at] = format!("\t{},{}", u64::MAX, draw(1000)),
                3 => mangled[at] = mangled[at].replace([',', '1'], "9"),
                _ => mangled[at].insert(0, ['\'', 'é', '\t', '-', '0'][draw(5)]),
            }
        }
        drop(asked(&mangled.join("\n"), "f.icf --map C:=/mnt/x"));
    }
}
