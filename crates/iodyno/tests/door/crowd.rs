//! Many workers, and the smallest of plans.

use std::path::Path;
use std::time::{Duration, Instant};

use testbed::{Case, Need, Outcome, Skip};

use crate::program::{Running, iodyno, plan, run, scratch};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("ten thousand threads reach the start line", &[Need::That(room)], || crowd(10_000, false))
            .alone(),
        Case::new("two thousand processes reach the start line", &[Need::That(room)], || crowd(2_000, true))
            .alone(),
        Case::new("a tiny plan starts fast and small", &[], tiny).alone(),
    ]
}

/// Room for ten thousand more tasks.
fn room() -> Result<(), Skip> {
    let number = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let enough = |path: &str| number(path).is_none_or(|most| most > 12_000);
    let cgroup = enough("/sys/fs/cgroup/pids.max");
    match enough("/proc/sys/kernel/threads-max") && enough("/proc/sys/kernel/pid_max") && cgroup {
        true => Ok(()),
        false => Err(Skip::new("the system allows fewer than 12,000 tasks")),
    }
}

fn null(workers: u32, processes: bool, until: &str) -> String {
    format!(
        "[target.n]\nnothing = \"1TiB\"\n[[phase]]\n[[phase.job]]\non = \"n\"\nengine = \"null\"\ndo = \"read\"\n\
         workers = {workers}\nprocesses = {processes}\nuntil = {{ {until} }}\n"
    )
}

fn crowd(workers: u32, processes: bool) -> Outcome {
    let home = scratch();
    let begun = Instant::now();
    let told = run(home.path(), &null(workers, processes, "operations = 100"), &[]);
    // Each of them did what it was asked to.
    let thousands = workers / 10;
    let grouped = match thousands {
        1000.. => format!("{},{:03},000", thousands / 1000, thousands % 1000),
        _ => format!("{thousands},000"),
    };
    told.expect(0, &[&format!("{workers} workers"), &grouped]);
    let kind = if processes { "processes" } else { "threads" };
    eprintln!("{workers} {kind}: {:.2} s from start to exit", begun.elapsed().as_secs_f64());
    Ok(())
}

fn tiny() -> Outcome {
    let home = scratch();
    let mut fastest = f64::MAX;
    for _ in 0..10 {
        let begun = Instant::now();
        run(home.path(), &null(1, false, "operations = 1"), &[]).expect(0, &[]);
        fastest = fastest.min(begun.elapsed().as_secs_f64());
    }
    eprintln!("a plan of one operation: {:.1} ms at best (aim 5)", fastest * 1e3);
    // A test that had no processor meanwhile has not seen it run.
    let most =
        (0..5).map(|_| peak_kib(home.path())).find(|peak| *peak > 0).expect("it is seen while it runs");
    eprintln!("a tiny plan: {:.1} MiB resident at most (aim 8)", most as f64 / 1024.0);
    Ok(())
}

/// The most memory that a tiny plan had, KiB; 0: nobody saw it.
fn peak_kib(home: &Path) -> u64 {
    let mut command = iodyno(["run", "--quiet"]);
    command.arg(plan(home, &null(1, false, "time = \"300ms\"")));
    let mut running = Running::start(command);
    let status = format!("/proc/{}/status", running.pid());
    let peak_kib = || {
        let text = std::fs::read_to_string(&status).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    let mut most = 0;
    // The kernel forgets the peak with the memory, so it is asked until there is none.
    while let Some(peak) = running.is_there().then(peak_kib).flatten() {
        most = most.max(peak);
        std::thread::sleep(Duration::from_millis(2));
    }
    running.end().expect(0, &[]);
    most
}
