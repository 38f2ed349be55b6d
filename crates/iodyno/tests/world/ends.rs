//! Ends before the end: wrong words, failures of one rank, interruptions, and a rank that is gone.
//!
//! What is ended would run for an hour, so that its end is no chance; how soon it comes is not asked.

use testbed::{Case, Outcome};

use crate::launch::{LAUNCHER, lost, pid_of, ranks};
use crate::program::{Program, ProgramOutput, Running, names, plan, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("what is wrong is said once, and all end with it", LAUNCHER, refused),
        Case::new(
            "a simulated device on several ranks leads to one rank with as many workers",
            LAUNCHER,
            one_clock,
        ),
        Case::new("what is only printed is printed once", LAUNCHER, printed),
        Case::new("a target that one rank cannot make ready ends all, by name", LAUNCHER, unready),
        Case::new("a worker that fails on one rank ends all", LAUNCHER, failing),
        Case::new("Ctrl-C at the launcher stops and reports", LAUNCHER, || interrupted(libc::SIGINT)),
        Case::new("SIGTERM at the launcher stops and reports", LAUNCHER, || interrupted(libc::SIGTERM)),
        Case::new("Ctrl-C at one rank stops all", LAUNCHER, one_interrupted),
        Case::new("a killed rank is named, with what it had told", LAUNCHER, killed),
        Case::new("mdtest names a killed rank before it cleans up", LAUNCHER, killed_at_mdtest),
        Case::new("that the first rank was killed is told by another", LAUNCHER, first_killed),
        Case::new("a library that is not there is said by rank", LAUNCHER, no_library),
    ]
}

/// Each rank appends to a file of its own, so that it can be seen how far it is.
const HOUR: &str = "name = 'hour'\n[target.f]\nfile = 'f.{worker}'\nsize = '1TiB'\ncreate = true\nremove = true\n\
    [[phase]]\nname = 'long'\n[[phase.job]]\nname = 'j'\non = 'f'\ndo = 'write'\nblock = '512'\n\
    until = { time = '1h' }\nrate = '500/s'\n";

/// What each rank has written when it has worked for so long that it has told how it stands: it does so every second.
const WRITTEN: u64 = 1500 * 512;

fn refused() -> Outcome {
    let home = scratch();
    let run = told(ranks(4, home.path(), &["fio", "--nonsense"]));
    assert_eq!(run.code(), 1, "{run}");
    assert_eq!(run.err.matches("unrecognized option").count(), 1, "{run}");
    plan(home.path(), "name = 'x'\n[[phase]]\n[[phase.job]]\non = 'nowhere'\ndo = 'read'\n");
    let run = told(ranks(4, home.path(), &["run", "plan.toml"]));
    assert_eq!((run.code(), run.err.matches("error: ").count()), (2, 1), "{run}");
    Ok(())
}

fn one_clock() -> Outcome {
    let home = scratch();
    plan(
        home.path(),
        "device = 'hdd-7200'\n[target.t]\nnothing = '1GB'\n[[phase]]\n[[phase.job]]\non = 't'\nengine = 'sim'\n\
         do = 'read'\nuntil = { operations = 10 }\n",
    );
    let run = told(ranks(2, home.path(), &["run", "plan.toml"]));
    run.expect(2, &["its one clock cannot be kept in a world of several ranks", "2 times the workers"]);
    let ior = ["ior", "-w", "-b", "64k", "-t", "4k", "-o", "data", "--also"];
    let run = told(ranks(2, home.path(), &[&ior[..], &["on=hdd-7200"]].concat()));
    run.expect(2, &["each rank would have its own", "--also on=DEVICE,threads=2"]);
    let mut same = crate::program::iodyno([&ior[..], &["on=hdd-7200,threads=2"]].concat());
    same.current_dir(home.path()).env("IODYNO_HISTORY", home.path().join("history"));
    told(same).expect(0, &["simulated on hdd-7200"]);
    assert!(!home.path().join("data").exists());
    Ok(())
}

fn printed() -> Outcome {
    let home = scratch();
    let run = told(ranks(3, home.path(), &["fio", "--version"]));
    run.expect(0, &[]);
    assert_eq!(run.out.lines().count(), 1, "{run}");
    Ok(())
}

fn unready() -> Outcome {
    let home = scratch();
    for rank in [0, 2] {
        std::fs::create_dir(home.path().join(format!("d{rank}")))?;
    }
    let text = "[target.f]\nfile = 'd{worker}/f'\nsize = '64KiB'\nprepare = 'filled'\nremove = true\n[[phase]]\n\
                [[phase.job]]\non = 'f'\ndo = 'read'\n";
    plan(home.path(), text);
    let run = told(ranks(3, home.path(), &["run", "--quiet", "plan.toml"]));
    run.expect(1, &["rank 1 on", "d1/f"]);
    assert_eq!(run.err.matches("error:").count() + run.out.matches("error:").count(), 2, "{run}");
    assert!(names(&home.path().join("d0")).is_empty() && names(&home.path().join("d2")).is_empty());
    Ok(())
}

fn failing() -> Outcome {
    let home = scratch();
    std::fs::create_dir(home.path().join("f.1"))?;
    let text = "[target.f]\nfile = 'f.{worker}'\ncreate = true\n[[phase]]\n[[phase.job]]\non = 'f'\ndo = 'write'\n\
                until = { time = '1h' }\n";
    plan(home.path(), text);
    let run = told(ranks(3, home.path(), &["run", "--quiet", "plan.toml"]));
    assert_eq!(run.code(), 1, "{run}");
    run.expect(1, &["worker 1", "f.1"]);
    Ok(())
}

/// A run for an hour, under way.
fn under_way(home: &std::path::Path, count: u32) -> Running {
    plan(home, HOUR);
    let mut running =
        Program::new(ranks(count, home, &["run", "--quiet", "--json", "r.json", "plan.toml"])).start();
    let launcher = running.pid();
    running.until("all ranks", || (0..count).all(|rank| pid_of(launcher, rank).is_some()));
    running.until("three seconds of work", || {
        let written = |rank| std::fs::metadata(home.join(format!("f.{rank}"))).map_or(0, |about| about.len());
        (0..count).all(|rank| written(rank) >= WRITTEN)
    });
    running
}

/// What is reported of a run that was stopped.
fn reported(
    told: &ProgramOutput,
    home: &std::path::Path,
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    assert!(told.code() != 0, "{told}");
    told.expect(told.code(), &["hour · seed", "ranks on 1 node", "operations"]);
    let text = std::fs::read_to_string(home.join("r.json")).map_err(|error| format!("{error}\n{told}"))?;
    Ok(serde_json::from_str(&text)?)
}

fn interrupted(signal: i32) -> Outcome {
    let home = scratch();
    let running = under_way(home.path(), 3);
    running.signal(signal);
    let told = running.end();
    let record = reported(&told, home.path())?;
    assert_eq!((&record["completed"], &record["world"]["lost"]), (&false.into(), &Vec::<u32>::new().into()));
    let workers = record["phases"][0]["jobs"][0]["workers"].as_array().map_or(0, Vec::len);
    assert_eq!(workers, 3, "{told}");
    Ok(())
}

fn one_interrupted() -> Outcome {
    let home = scratch();
    let running = under_way(home.path(), 3);
    let pid = pid_of(running.pid(), 2).ok_or("no rank 2")?;
    // SAFETY: the process is a child of the launcher that this test started.
    unsafe { libc::kill(pid, libc::SIGINT) };
    let told = running.end();
    let record = reported(&told, home.path())?;
    assert_eq!(record["stopped_by"], libc::SIGINT, "{told}");
    Ok(())
}

fn killed() -> Outcome {
    let home = scratch();
    let running = under_way(home.path(), 4);
    let pid = pid_of(running.pid(), 2).ok_or("no rank 2")?;
    // SAFETY: the process is a child of the launcher that this test started.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    let told = running.end();
    let record = reported(&told, home.path())?;
    let lost = lost(&told);
    assert!(lost.contains(&2) && !lost.contains(&0), "{told}");
    assert_eq!(record["world"]["lost"], serde_json::json!(lost), "{told}");
    let workers = record["phases"][0]["jobs"][0]["workers"].as_array().ok_or("no workers")?;
    let done: Vec<(u64, bool)> = workers
        .iter()
        .map(|worker| (worker["rank"].as_u64().unwrap_or(9), worker["operations"].as_u64() > Some(100)))
        .collect();
    assert_eq!(done, [(0, true), (1, true), (2, true), (3, true)], "{told}");
    Ok(())
}

/// mdtest that makes a million files on each of three ranks, once each has made some thousands, of which one rank is killed.
fn mdtest_without(rank: u32) -> Result<ProgramOutput, Box<dyn std::error::Error>> {
    let home = scratch();
    let words = ["mdtest", "-F", "-C", "-n", "1000000", "-d", "out"];
    let mut running = Program::new(ranks(3, home.path(), &words)).start();
    let launcher = running.pid();
    let made = |rank| home.path().join(format!("out/test-dir.0-0/mdtest_tree.0/file.mdtest.{rank}.4000"));
    running.until("files of all ranks", || (0..3).all(|rank| made(rank).exists()));
    let pid = pid_of(launcher, rank).ok_or("no such rank")?;
    // SAFETY: the process is a child of the launcher that this test started.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    Ok(running.end())
}

fn killed_at_mdtest() -> Outcome {
    let told = mdtest_without(1)?;
    assert!(told.code() != 0, "{told}");
    assert!(told.err.contains("ERROR: rank 1 on ") && lost(&told) == [1], "{told}");
    assert!(told.out.contains("-- finished at"), "{told}");
    Ok(())
}

fn first_killed() -> Outcome {
    let told = mdtest_without(0)?;
    assert!(told.code() != 0, "{told}");
    assert_eq!(told.err.matches("was lost, and its report with it").count(), 1, "{told}");
    assert!(told.err.contains("error: rank 0 on "), "{told}");
    Ok(())
}

fn no_library() -> Outcome {
    let home = scratch();
    let mut command = ranks(2, home.path(), &["fio", "--version"]);
    command.env("IODYNO_MPI", "/nowhere/libmpi.so");
    let run = told(command);
    assert!(run.code() != 0, "{run}");
    run.expect(run.code(), &["/nowhere/libmpi.so", "IODYNO_MPI"]);
    Ok(())
}
