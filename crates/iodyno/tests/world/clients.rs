//! filebench's clients: the same script on every rank, one report, and nothing of another's touched.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use testbed::{Case, Outcome};

use crate::launch::{LAUNCHER, lost, pid_of, ranks};
use crate::program::{Program, Running, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("filebench's clients are one report", LAUNCHER, one_report),
        Case::new("filebench's clients may differ, and go on with their own files", LAUNCHER, differing),
        Case::new("filebench's clients meet where the script says", LAUNCHER, meeting),
        Case::new("a filebench script's mistakes are told once to all clients", LAUNCHER, mistaken),
        Case::new("Ctrl-C ends filebench on all clients, and nothing is left", LAUNCHER, interrupted),
        Case::new("a filebench client that is killed is named", LAUNCHER, killed),
    ]
}

/// A set that changes and one that does not; a thread ends when its client has made fifty files.
const SCRIPT: &str = "set $kib=4\nset $dir=\"data\"\nset mode quit alldone\n\
    define fileset name=mail,path=$dir,entries=60,dirwidth=10,prealloc=50,size=4k\n\
    define fileset name=web,path=$dir,entries=30,dirwidth=10,prealloc,size=8k,readonly\n\
    define process name=p {\n thread name=t {\n\
      flowop createfile name=c,filesetname=mail,fd=1\n\
      flowop appendfile name=a,fd=1,iosize=$kib*1k\n\
      flowop closefile name=e,fd=1\n\
      flowop deletefile name=d,filesetname=mail\n\
      flowop openfile name=o,filesetname=web,fd=2\n\
      flowop readwholefile name=r,fd=2\n\
      flowop closefile name=f,fd=2\n\
      flowop finishoncount name=n,value=50,target=c\n\
    }\n}\n";

fn write(home: &Path, text: &str) {
    std::fs::write(home.join("x.f"), text).expect("writing a script");
}

fn record(home: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(home.join("r.json"))?;
    let record: Value = serde_json::from_str(&text)?;
    Ok(record.get("record").cloned().unwrap_or(record))
}

/// Of each job of a run: its name, and its workers' ranks and operations.
fn workers(record: &Value, run: usize) -> Vec<(String, Vec<(u64, u64)>)> {
    let jobs = record["phases"][run]["jobs"].as_array().expect("jobs").iter();
    let number = |worker: &Value, name: &str| worker[name].as_u64().expect("a number");
    jobs.map(|job| {
        let all = job["workers"].as_array().expect("workers").iter();
        let name = job["name"].as_str().unwrap_or_default().to_string();
        (name, all.map(|worker| (number(worker, "rank"), number(worker, "operations"))).collect())
    })
    .collect()
}

fn one_report() -> Outcome {
    let home = scratch();
    write(home.path(), &format!("{SCRIPT}create files\nsystem \"echo there are `ls data`\"\nrun 30\n"));
    let words = ["filebench", "-f", "x.f", "--also", "ranks,json=r.json"];
    let run = told(ranks(3, home.path(), &words));
    run.expect(
        0,
        &[
            "3 clients: client0 on",
            "mail: each client has its own, data/client0/mail to data/client2/mail",
            "web: all clients share data/web",
            "there are client0 client1 client2 web",
            "Starting 3 p instances",
            "c 150ops",
            "r 150ops",
            "n 150ops",
            "IO Summary: 1050 ops",
        ],
    );
    for once in ["Filebench Version", "Running...", "Per-Operation Breakdown", "IO Summary", "there are"] {
        let all = format!("{}{}", run.out, run.err);
        assert_eq!(all.matches(once).count(), 1, "{once}: {run}");
    }
    let table = run.err.split("\nranks\n").nth(1).unwrap_or_default();
    assert_eq!(table.lines().filter(|line| line.trim_start().starts_with("run 1")).count(), 3, "{run}");
    let each = workers(&record(home.path())?, 0);
    assert_eq!(each, [("p.t".into(), vec![(0, 350), (1, 350), (2, 350)])], "{run}");
    assert_eq!(names(home.path()), ["r.json", "x.f"], "what was made is gone: {run}");
    // Single files, whose directories go when the last client has left them.
    let file = "define file name=one,path=data,size=4k,prealloc\n";
    write(
        home.path(),
        &format!(
            "{file}{}run 1\n",
            SCRIPT.replace("name=e,fd=1\n", "name=e,fd=1\nflowop write name=w,filename=one,iosize=4k\n")
        ),
    );
    let run = told(ranks(3, home.path(), &["filebench", "-f", "x.f"]));
    run.expect(0, &["one: each client has its own, data/client0/one to data/client2/one", "w 150ops"]);
    assert_eq!(names(home.path()), ["r.json", "x.f"], "{run}");
    Ok(())
}

fn differing() -> Outcome {
    let home = scratch();
    let script =
        SCRIPT.replace("set $kib=4", "set $kib=4*$clientid+4").replace("\"data\"", "\"data/of$clientid\"");
    write(home.path(), &format!("{script}echo \"at $kib\"\nrun 30\nrun 30\n"));
    let run = told(ranks(3, home.path(), &["filebench", "-f", "x.f", "--also", "json=r.json"]));
    run.expect(0, &["client0: at 4", "client1: at 8", "client2: at 12", "c 150ops", "IO Summary: 1050 ops"]);
    let record = record(home.path())?;
    for index in 0..2 {
        let jobs: Vec<_> = workers(&record, index).into_iter().map(|(name, all)| (name, all[0])).collect();
        assert_eq!(jobs, [0, 1, 2].map(|rank| (format!("client{rank}.p.t"), (rank, 350))), "{run}");
    }
    assert!(!run.out.contains("operations failed"), "{run}");
    assert_eq!(names(home.path()), ["r.json", "x.f"], "{run}");
    Ok(())
}

fn meeting() -> Outcome {
    let home = scratch();
    // Client 2 is slow; who comes first must see what it left all the same.
    let script = "enable multi master=localhost,client=\"c$clientid\"\n\
        system \"sleep 0.$clientid$clientid; touch was$clientid\"\n\
        domultisync value=1\nsystem \"ls | grep -c was > seen$clientid\"\n\
        define process name=p { thread name=t { flowop hog name=h,value=1000 } }\nrun 1\n\
        system \"sleep 0.$clientid$clientid; touch late$clientid\"\n\
        domultisync value=2\nsystem \"ls | grep -c late > after$clientid\"\n";
    write(home.path(), script);
    let run = told(ranks(3, home.path(), &["filebench", "-f", "x.f"]));
    run.expect(0, &["3 clients: c0 on", "Sync point 1: all 3 clients", "Sync point 2: all 3 clients"]);
    assert!(!run.err.lines().any(|line| line.starts_with("note:")), "{run}");
    for file in ["seen0", "seen1", "seen2", "after0", "after1", "after2"] {
        let seen =
            std::fs::read_to_string(home.path().join(file)).map_err(|error| format!("{file}: {error}"))?;
        assert_eq!(seen.trim(), "3", "{file}: {run}");
    }
    // Alone it runs as well, and says so.
    let mut alone = iodyno(["filebench", "-f", "x.f"]);
    alone.current_dir(home.path());
    let run = told(alone);
    run.expect(0, &["Client c0 of master localhost: it is the only one here", "mpirun -n 3", "IO Summary"]);
    Ok(())
}

fn mistaken() -> Outcome {
    let home = scratch();
    write(home.path(), "set $x\ndefin fileset\nrun abc\ndomultisync\n");
    let run = told(ranks(3, home.path(), &["filebench", "-f", "x.f"]));
    assert_eq!((run.code(), run.err.matches("error: x.f:").count()), (1, 4), "{run}");
    write(home.path(), &format!("{SCRIPT}domultisync value=$clientid\nrun 1\n"));
    let run = told(ranks(3, home.path(), &["filebench", "-f", "x.f"]));
    run.expect(1, &["do not meet at the same points"]);
    assert_eq!(run.err.matches("error: x.f:").count(), 1, "{run}");
    assert_eq!(names(home.path()), ["x.f"]);
    // What is there already on one client keeps all from starting, and stays.
    write(home.path(), &format!("{SCRIPT}run 1\n"));
    std::fs::create_dir_all(home.path().join("data/client1/mail"))?;
    let run = told(ranks(3, home.path(), &["filebench", "-f", "x.f"]));
    run.expect(1, &["rank 1 on", "data/client1/mail: it exists already"]);
    assert_eq!(run.err.matches("error: ").count(), 1, "{run}");
    assert_eq!(names(&home.path().join("data")), ["client1"], "{run}");
    Ok(())
}

/// The files below a directory, in order.
fn listed(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => found.extend(listed(&entry.path())),
            false => found.push(entry.path().display().to_string()),
        }
    }
    found.sort();
    found
}

/// A run for an hour, under way on all clients.
fn under_way(home: &Path) -> Running {
    write(
        home,
        &format!(
            "eventgen rate=200\n{}run 3600\n",
            SCRIPT.replace("flowop finishoncount", "flowop eventlimit")
        ),
    );
    let mut running = Program::new(ranks(3, home, &["filebench", "-f", "x.f"])).start();
    let launcher = running.pid();
    running.until("all clients", || {
        (0..3).all(|rank| {
            pid_of(launcher, rank).is_some() && home.join(format!("data/client{rank}/mail")).exists()
        })
    });
    // Sets are only added to while they are made: where a file is gone, a client works.
    let mut seen: [BTreeSet<String>; 3] = Default::default();
    running.until("work on all clients", || {
        let mut works = true;
        for (rank, seen) in seen.iter_mut().enumerate() {
            let now = listed(&home.join(format!("data/client{rank}/mail")));
            works &= seen.iter().any(|file| !now.contains(file));
            seen.extend(now);
        }
        works
    });
    running
}

fn interrupted() -> Outcome {
    let home = scratch();
    let running = under_way(home.path());
    running.signal(libc::SIGINT);
    // It ends at all, an hour before it would have by itself.
    let told = running.end();
    assert!(told.code() != 0, "{told}");
    told.expect(told.code(), &["Per-Operation Breakdown", "IO Summary"]);
    assert_eq!(names(home.path()), ["x.f"], "{told}");
    Ok(())
}

fn killed() -> Outcome {
    let home = scratch();
    let running = under_way(home.path());
    let pid = pid_of(running.pid(), 2).ok_or("no rank 2")?;
    // SAFETY: the process is a child of the launcher that this test started.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    let told = running.end();
    assert!(told.code() != 0, "{told}");
    told.expect(told.code(), &["IO Summary"]);
    assert!(lost(&told).contains(&2), "{told}");
    Ok(())
}
