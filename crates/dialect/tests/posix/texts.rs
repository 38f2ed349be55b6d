//! Records of runs that never were, and the exact texts that the reporters make of them.

use iodyno_dialect::Request;
use iodyno_model::{
    CaseRecord, Cases, Event, JobRecord, Machine, Outcome, PhaseRecord, Record, RunStart, Verdict, Workload,
};
use iodyno_report::{FilesInMemory, Output};

use super::world::World;
use super::{answers, golden, try_request};

fn verdict(check: u32, round: &str, step: u32, outcome: Outcome) -> Verdict {
    let (expected, got) = ("EACCES or EPERM".into(), "success".into());
    Verdict { check, round: round.into(), step, call: "owner: chmod d/f 0642".into(), expected, got, outcome }
}

fn checks(cases: &Cases, case: usize) -> u32 {
    let of = |step: &iodyno_model::Step| match &step.action {
        iodyno_model::Action::Block(steps) => steps
            .iter()
            .map(|step| match &step.action {
                iodyno_model::Action::Call(call) => call.expect.len() as u32,
                _ => 0,
            })
            .sum::<u32>(),
        _ => 0,
    };
    cases.cases[case].script.steps.iter().map(of).sum()
}

/// Every case passes, but the first has two failures, what follows them, and a set-up that failed, the second breaks off,
/// and one needs what is not there.
fn records(cases: &Cases) -> Vec<CaseRecord> {
    let mut records = Vec::new();
    for (index, case) in cases.cases.iter().enumerate() {
        let checks = checks(cases, index);
        let mut record = CaseRecord {
            case: index,
            elapsed_ns: 1_500_000,
            checks,
            passed: checks,
            ..CaseRecord::default()
        };
        match case.name.as_str() {
            "chmod/denied:regular" => {
                let after = Outcome::CouldNotRun("chmod d/f 0642 did not come back as it must".into());
                record.verdicts = vec![
                    verdict(0, "who=owner", 3, Outcome::Fail),
                    verdict(1, "who=owner", 6, after.clone()),
                    verdict(6, "who=guest", 3, Outcome::CouldNotRun("mkdir d 0755: EROFS".into())),
                    verdict(7, "who=guest", 6, Outcome::CouldNotRun("mkdir d 0755: EROFS".into())),
                ];
            }
            "chmod/denied:fifo" => record.verdicts = vec![verdict(0, "who=owner", 3, Outcome::Fail)],
            "chmod/denied:symlink" => {
                let late = "took longer than 30s, at `owner: chmod d/f 0642` (who=owner)";
                record.broken = Some(late.into());
                record.verdicts = vec![verdict(0, "who=owner", 3, Outcome::TimedOut(late.into()))];
            }
            name if name.starts_with("names/missing-ENOENT") => {
                let left_out =
                    |check| verdict(check, "", 1, Outcome::NotApplicable("xattr: EOPNOTSUPP".into()));
                record.verdicts = (0..checks).map(left_out).collect();
            }
            _ => {}
        }
        record.passed -= (record.verdicts.len() as u32).min(record.passed);
        records.push(record);
    }
    // They end in another order than they began.
    records.reverse();
    records
}

/// What is written of a run in which that became of the cases of each directory.
fn told(line: &str, change: &dyn Fn(usize, &mut Vec<CaseRecord>)) -> (String, FilesInMemory, u8) {
    told_in(&mut World::golden(), line, change)
}

fn told_in(
    world: &mut World,
    line: &str,
    change: &dyn Fn(usize, &mut Vec<CaseRecord>),
) -> (String, FilesInMemory, u8) {
    let Ok(Request::Run(mut run)) = try_request(line, world) else { panic!("{line}: not run") };
    let started = RunStart {
        plan: run.plan.clone(),
        targets: Vec::new(),
        machine: Machine { host: "here".into(), kernel: "Linux 6.18".into(), ..Machine::default() },
        at_unix_ns: 1_795_287_492_000_000_000,
        world: Default::default(),
    };
    let mut events = vec![Event::Started(Box::new(started))];
    let mut record = Record::default();
    for (index, phase) in run.plan.phases.iter().enumerate() {
        let Workload::Cases(cases) = &phase.jobs[0].workload else { panic!("no cases") };
        let mut cases = records(cases);
        change(index, &mut cases);
        let (name, count) = (phase.name.clone(), run.plan.phases.len());
        events.push(Event::PhaseStarted { index, count, name, repetition: 0, coordinates: Vec::new() });
        cases.chunks(2).for_each(|some| events.push(Event::Cases(0, some.to_vec())));
        let features = vec![("xattr".to_string(), Some("setxattr f user.iodyno 1: EOPNOTSUPP".to_string()))];
        let job = JobRecord { name: "rules".into(), cases, features, ..JobRecord::default() };
        let phase =
            PhaseRecord { index, elapsed_ns: 2_000_000_000, jobs: vec![job], ..PhaseRecord::default() };
        events.push(Event::PhaseEnded(Box::new(phase.clone())));
        record.phases.push(phase);
    }
    let status = run.status.as_ref().unwrap()(&record);
    events.push(Event::Ended(Box::new(record)));
    let (mut out, mut err, mut files) = (Vec::new(), Vec::new(), FilesInMemory::default());
    for event in &events {
        run.reporter.event(event, &mut Output { out: &mut out, err: &mut err, files: &mut files }).unwrap();
    }
    assert_eq!(String::from_utf8(err).unwrap().lines().filter(|line| line.contains('\r')).count(), 0);
    (String::from_utf8(out).unwrap(), files, status)
}

#[test]
fn golden_reports() {
    let mut text = String::new();
    let mut case = |line: &str, change: &dyn Fn(usize, &mut Vec<CaseRecord>)| {
        let (out, files, status) = told(line, change);
        text += &format!("$ {line}   # ends with {status}\n{out}\n");
        for (name, bytes) in files.0 {
            text += &format!("in {name}:\n{}\n", String::from_utf8(bytes).unwrap());
        }
    };
    let as_it_is = |_: usize, _: &mut Vec<CaseRecord>| {};
    let all_well = |_: usize, records: &mut Vec<CaseRecord>| {
        for record in records {
            record.passed = record.checks;
            record.verdicts.clear();
            record.broken = None;
        }
    };
    case("posix --rules rules dir --profile none", &as_it_is);
    case("posix --rules rules dir --profile none --details", &as_it_is);
    case("posix --rules rules dir --profile other/known.toml", &as_it_is);
    case("posix --rules rules dir --profile other/known.toml --details", &as_it_is);
    case("posix --rules rules dir --profile other/known.toml --strict", &all_well);
    case("posix --rules rules dir --profile none", &all_well);
    case("posix --rules rules dir --profile none", &|_, records| drop(records.drain(2..)));
    case("posix --rules rules dir --profile none --verbose --only chmod", &as_it_is);
    case("posix --rules rules dir --profile none --tap", &as_it_is);
    case("posix --rules rules dir --profile other/known.toml --tap --only chmod", &as_it_is);
    case("posix --rules rules dir --profile none --json j --junit x --only chmod", &as_it_is);
    case("posix --rules rules dir --profile none --baseline dir2", &|side, records| {
        if side == 1 {
            all_well(side, records);
        }
    });
    golden("golden/posix/reports.txt", &text);
}

/// The names of three cases stand in the first report; one passes now, one fails as it did, and one otherwise.
#[test]
fn what_failed_before_runs_again_alone() {
    let (_, files, _) = told("posix --rules rules dir --profile none --json j", &|_, _| {});
    let (_, json) = files.0.into_iter().find(|(name, _)| name == "j").unwrap();
    let mut world = World::golden();
    world.files.insert("j".into(), String::from_utf8(json).unwrap());
    let line = "posix --rules rules dir --profile none --failed-in j";
    let Ok(Request::Run(run)) = try_request(line, &mut world) else { panic!("not run") };
    let Workload::Cases(cases) = &run.plan.phases[0].jobs[0].workload else { panic!("no cases") };
    let names: Vec<&str> = cases.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["chmod/denied:regular", "chmod/denied:fifo", "chmod/denied:symlink"]);
    assert_eq!(cases.at_once, 1);
    let (out, _, status) = told_in(&mut world, line, &|_, records| {
        for record in records {
            match record.case {
                0 => {
                    (record.passed, record.broken) = (record.checks, None);
                    record.verdicts.clear();
                }
                1 => record.verdicts[0].got = "EPERM is not what came".into(),
                _ => {}
            }
        }
    });
    let expected = "\nof 3 cases that failed in j\n  1 no longer fail: chmod/denied:regular\n  \
                    1 fail as they did: chmod/denied:symlink\n  1 fail otherwise: chmod/denied:fifo\n";
    assert!(status == 1 && out.contains(expected), "{out}");
    let wrong = |line: &str, world: &mut World| {
        try_request(line, world).err().unwrap().iter().map(ToString::to_string).collect::<String>()
    };
    world.files.insert("odd".into(), "{}".into());
    assert!(
        wrong("posix --rules rules dir --failed-in odd", &mut world).contains("no report of iodyno posix")
    );
    let none = wrong("posix --rules rules dir --failed-in j --only locks", &mut world);
    assert!(none.contains("no case that is selected failed in it"), "{none}");
}

/// Above all else stands what killed the file system.
#[test]
fn a_death_is_told_first() {
    let (out, ..) = told("posix --rules rules dir --profile none", &|_, records| {
        let why =
            "the file system is gone: ENOTCONN; it went while chmod/denied:fifo ran, beside locks/waits";
        for verdict in records.iter_mut().flat_map(|record| &mut record.verdicts) {
            verdict.outcome = Outcome::CouldNotRun(why.into());
        }
    });
    let second = out.lines().nth(1).unwrap();
    assert_eq!(
        second,
        "the file system is gone: ENOTCONN; it went while chmod/denied:fifo ran, beside locks/waits; the run ended there"
    );
    assert!(out.contains("\n  the file system died  ("), "{out}");
}

/// Time stamps differ between any two runs.
#[test]
fn times_are_no_difference() {
    let line = "posix --rules rules dir --profile none --baseline dir2";
    let (out, ..) = told(line, &|side, records| {
        for record in records {
            for verdict in &mut record.verdicts {
                verdict.got = format!("ctime 176407761{side}.123456789");
            }
        }
    });
    assert!(out.contains("they differ in 0 checks of 0 rules"), "{out}");
}

/// What is meant for another program is what it reads.
#[test]
fn lines_of_tap_are_in_order_and_as_many_as_planned() {
    let (out, ..) = told("posix --rules rules dir --profile none --tap", &|_, _| {});
    let planned: usize = out.lines().find_map(|line| line.strip_prefix("1..")).unwrap().parse().unwrap();
    let numbers = out.lines().filter_map(|line| line.strip_prefix("not ok ").or(line.strip_prefix("ok ")));
    let numbers: Vec<usize> = numbers.map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, (1..=planned).collect::<Vec<_>>());
}

#[test]
fn golden_imports() {
    let tap = "1..7\nok 1\nok 2\nnot ok 3 - tried 'chmod f 0644', expected 0, got EPERM\n\
               not ok 4 - tried 'lstat d nlink', expected 3, got 1 # TODO directories count no links\n\
               ok 5 # TODO it works by now\nok 6 # SKIP no room\n";
    let prove = "tests/chmod/11.t .. \n1..1\nok 1\nok\ntests/link/02.t .. \n1..0 # SKIP no links here\nskipped: no links here\n\
                 tests/open/00.t .. \n1..2\nok 1\nok 2\nok\nAll tests successful.\n";
    let mut world = World::default();
    world.files.insert("chmod/00.t.out".into(), tap.into());
    world.files.insert("all".into(), prove.into());
    let line = "posix import-tap chmod/00.t.out all --json j";
    let Ok(Request::Write { files, out, status }) = try_request(line, &mut world) else {
        panic!("nothing came of it")
    };
    let json: serde_json::Value = serde_json::from_slice(&files[0].bytes).unwrap();
    let totals = &json["file_systems"][0]["totals"];
    assert_eq!((status, totals["pass"].as_u64(), totals["skip"].as_u64()), (1, Some(5), Some(3)), "{totals}");
    let mut text = format!("$ {line}   # ends with {status}\n{out}");
    let line = "posix import-tap chmod/00.t.out all --details";
    let Ok(Request::Write { out, status, .. }) = try_request(line, &mut world) else {
        panic!("nothing came of it")
    };
    text.push_str(&format!("\n$ {line}   # ends with {status}\n{out}"));
    golden("golden/posix/imports.txt", &text);
}

#[test]
fn golden_help() {
    golden("golden/posix/help.txt", &answers(&["posix --help", "posix import-tap --help"]));
}
