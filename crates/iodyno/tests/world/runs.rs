//! One report of all ranks, with everything in it: operations, files, logs, names that never collide.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use testbed::{Case, Outcome};

use crate::launch::{LAUNCHER, ranks};
use crate::program::{names, plan, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("four ranks of fio are one report", LAUNCHER, one_report),
        Case::new("clones on all ranks have files of their own", LAUNCHER, own_files),
        Case::new("a named file is everybody's, and offsets go on over ranks", LAUNCHER, shared_file),
        Case::new("a plan on three ranks tells the world", LAUNCHER, three_ranks),
        Case::new("a job waits for another's end on all ranks", LAUNCHER, after_job),
        Case::new("the first job that is done on all ranks ends the others", LAUNCHER, first_job_done),
        Case::new("a later phase does as much as the most did before", LAUNCHER, as_phase),
        Case::new("logs of all ranks are complete", LAUNCHER, logs),
        Case::new("ranks draw other offsets, and the same ones again", LAUNCHER, seeds),
        Case::new("sixty-four ranks on this machine", LAUNCHER, crowd),
    ]
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))
}

/// The record of a plan on so many ranks.
fn record(count: u32, home: &Path, text: &str) -> Result<Value, String> {
    plan(home, text);
    let _ = std::fs::remove_file(home.join("r.json"));
    told(ranks(count, home, &["run", "--quiet", "--json", "r.json", "plan.toml"])).expect(0, &[]);
    json(&std::fs::read_to_string(home.join("r.json")).map_err(|error| error.to_string())?)
}

/// Of each worker of a job: its number, its rank, what it did, when it began and when it was done.
fn workers(record: &Value, phase: usize, job: usize) -> Vec<[u64; 5]> {
    let fields = ["index", "rank", "operations", "began_ns", "ended_ns"];
    let all = record["phases"][phase]["jobs"][job]["workers"].as_array().expect("workers");
    all.iter().map(|worker| fields.map(|field| worker[field].as_u64().expect(field))).collect()
}

fn one_report() -> Outcome {
    let home = scratch();
    let job = ["fio", "--name=j", "--ioengine=null", "--rw=randread", "--bs=4k", "--size=2m", "--numjobs=2"];
    let run = told(ranks(4, home.path(), &[&job[..], &["--output-format=json"]].concat()));
    let report = json(&run.expect(0, &[]).out)?;
    let jobs = report["jobs"].as_array().ok_or("no jobs")?;
    assert_eq!(jobs.len(), 8, "{run}");
    assert!(jobs.iter().all(|job| job["read"]["total_ios"] == 512), "{run}");
    let grouped = told(ranks(4, home.path(), &[&job[..], &["--group_reporting"]].concat()));
    grouped.expect(0, &["(groupid=0, jobs=8)", "total=4096,0,0,0"]);
    assert_eq!(grouped.out.matches("Run status group").count(), 1, "{grouped}");
    Ok(())
}

fn own_files() -> Outcome {
    let home = scratch();
    let job = "fio --name=j --rw=write --bs=4k --size=64k --numjobs=2 --nrfiles=2 --ioengine=psync";
    let run = told(ranks(3, home.path(), &job.split(' ').collect::<Vec<_>>()));
    run.expect(0, &[]);
    let expected: BTreeSet<String> =
        (0..6).flat_map(|clone| [format!("j.{clone}.0"), format!("j.{clone}.1")]).collect();
    assert_eq!(names(home.path()).into_iter().collect::<BTreeSet<_>>(), expected, "{run}");
    run.expect(0, &["Starting 6 threads"]);
    let home = scratch();
    let job = "fio --name=one --rw=write --bs=4k --size=64k --ioengine=psync --name=two --rw=read --bs=4k --size=64k";
    told(ranks(2, home.path(), &job.split(' ').collect::<Vec<_>>())).expect(0, &[]);
    assert_eq!(names(home.path()), ["one.0.0", "one.1.0", "two.0.0", "two.1.0"]);
    Ok(())
}

fn shared_file() -> Outcome {
    let home = scratch();
    let job = "fio --name=j --filename=f --rw=write --bs=4k --size=64k --offset_increment=64k --numjobs=2 \
               --ioengine=psync --verify=crc32c --do_verify=1 --verify_state_save=0";
    let run = told(ranks(3, home.path(), &job.split_whitespace().collect::<Vec<_>>()));
    run.expect(0, &[]);
    assert_eq!(names(home.path()), ["f"]);
    let file = std::fs::read(home.path().join("f"))?;
    assert_eq!(file.len(), 6 * 65536, "each of six clones has its own part");
    assert!(file.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)), "{run}");
    Ok(())
}

const THREE: &str = "name = 'three'\n[target.f]\nfile = 'f.{worker}'\nsize = '64KiB'\nprepare = 'filled'\n\
    remove = true\n[[phase]]\nname = 'one'\n[[phase.job]]\nname = 'j'\non = 'f'\ndo = 'read'\nworkers = 2\n";

fn three_ranks() -> Outcome {
    let home = scratch();
    plan(home.path(), THREE);
    let run = told(ranks(3, home.path(), &["run", "--quiet", "--ranks", "--json", "r.json", "plan.toml"]));
    run.expect(0, &["3 ranks on 1 node", "6 workers", "slowest: rank", "first done"]);
    let rows = run.out.lines().filter(|line| line.split_whitespace().take(2).eq(["one", "j"])).count();
    assert_eq!(rows, 3, "{run}");
    assert_eq!(names(home.path()), ["plan.toml", "r.json"], "what was made is gone");
    let record = json(&std::fs::read_to_string(home.path().join("r.json"))?)?;
    assert_eq!((&record["world"]["ranks"], &record["errors"]), (&3.into(), &Value::Array(Vec::new())));
    let numbers: Vec<_> = workers(&record, 0, 0).iter().map(|w| (w[0], w[1], w[2])).collect();
    assert_eq!(numbers, [(0, 0, 16), (1, 0, 16), (2, 1, 16), (3, 1, 16), (4, 2, 16), (5, 2, 16)]);
    let job = &record["phases"][0]["jobs"][0];
    let counted: u64 = job["lines"][0]["latency"]["count"].as_u64().ok_or("no latencies")?;
    assert_eq!((counted, job["lines"][0]["operations"].as_u64()), (96, Some(96)));
    Ok(())
}

/// A null job of a plan.
fn null(name: &str, rest: &str) -> String {
    format!("[[phase.job]]\nname = '{name}'\non = 'n'\nengine = 'null'\ndo = 'read'\n{rest}\n")
}

fn after_job() -> Outcome {
    let home = scratch();
    let first = null("a", "ranks = { only = 1 }\nuntil = { time = '150ms' }");
    let second = null("b", "start = { after_job = 'a' }\nuntil = { operations = 10 }");
    let text = format!("[target.n]\nnothing = '1TiB'\n[[phase]]\n{first}{second}");
    let record = record(3, home.path(), &text)?;
    let (a, b) = (workers(&record, 0, 0), workers(&record, 0, 1));
    assert_eq!((a.len(), b.len()), (1, 3));
    let error_ns = record["world"]["clock_error_ns"].as_u64().ok_or("no error")?;
    assert!(b.iter().all(|worker| worker[3] + error_ns >= a[0][4]), "{a:?} {b:?}");
    assert!(b.iter().all(|worker| worker[2] == 10), "{b:?}");
    Ok(())
}

fn first_job_done() -> Outcome {
    let home = scratch();
    let quick = null("quick", "until = { operations = 10 }");
    let endless = null("endless", "ranks = { first = 2 }\nuntil = { time = '1h' }");
    let text = format!("[target.n]\nnothing = '1TiB'\n[[phase]]\nstop = 'first job done'\n{endless}{quick}");
    let record = record(3, home.path(), &text)?;
    assert_eq!((workers(&record, 0, 0).len(), workers(&record, 0, 1).len()), (2, 3));
    Ok(())
}

fn as_phase() -> Outcome {
    let home = scratch();
    let most = null("most", "ranks = { only = 2 }\nuntil = { operations = 777 }");
    let least = null("least", "ranks = { only = 0 }\nuntil = { operations = 5 }");
    let same = null("same", "until = { as_phase = 'before' }");
    let text = format!(
        "[target.n]\nnothing = '1TiB'\n[[phase]]\nname = 'before'\n{most}{least}[[phase]]\nname = 'then'\n{same}"
    );
    let record = record(3, home.path(), &text)?;
    assert!(workers(&record, 1, 0).iter().all(|worker| worker[2] == 777), "{record:#}");
    Ok(())
}

/// The lines of a log of each clone.
fn log_lines(home: &Path, clones: u32) -> Result<Vec<Vec<String>>, String> {
    let read = |clone: u32| {
        let path = home.join(format!("l_lat.{}.log", clone + 1));
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(text.lines().map(String::from).collect())
    };
    (0..clones).map(read).collect()
}

const LOGGED: &str = "fio --name=j --ioengine=null --rw=randread --bs=4k --size=8m --norandommap --numjobs=2 \
    --write_lat_log=l --log_offset=1 --randseed=7 --thread";

fn logs() -> Outcome {
    let home = scratch();
    let run = told(ranks(3, home.path(), &LOGGED.split_whitespace().collect::<Vec<_>>()));
    run.expect(0, &[]);
    for (clone, lines) in log_lines(home.path(), 6)?.iter().enumerate() {
        assert_eq!(lines.len(), 2048, "clone {clone}\n{run}");
    }
    Ok(())
}

fn seeds() -> Outcome {
    let drawn = || -> Result<Vec<Vec<String>>, String> {
        let home = scratch();
        told(ranks(2, home.path(), &LOGGED.split_whitespace().collect::<Vec<_>>())).expect(0, &[]);
        let offset = |line: &String| line.split(", ").nth(4).unwrap_or_default().to_string();
        let logs = log_lines(home.path(), 4)?;
        Ok(logs.iter().map(|lines| lines.iter().map(offset).collect()).collect())
    };
    let (first, second) = (drawn()?, drawn()?);
    assert_eq!(first, second, "the same seed draws the same");
    for (index, one) in first.iter().enumerate() {
        assert!(first[..index].iter().all(|other| other != one), "clone {index} repeats another");
    }
    Ok(())
}

fn crowd() -> Outcome {
    let home = scratch();
    let job = "fio --name=j --ioengine=null --rw=read --bs=4k --size=1m --group_reporting";
    let run = told(ranks(64, home.path(), &job.split(' ').collect::<Vec<_>>()));
    run.expect(0, &["(groupid=0, jobs=64)", "total=16384,0,0,0"]);
    Ok(())
}
