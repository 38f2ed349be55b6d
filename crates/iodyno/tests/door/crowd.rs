//! Many workers, and the smallest of plans.

use testbed::{Case, Need, Outcome, Skip};

use crate::program::{Running, iodyno, plan, run, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("ten thousand threads reach the start line", &[Need::That(room)], || crowd(10_000, false))
            .computes(),
        Case::new("two thousand processes reach the start line", &[Need::That(room)], || crowd(2_000, true))
            .computes(),
        Case::new("more workers than a machine can start are refused at once", &[], beyond),
        Case::new("a tiny plan starts with little work and little memory", &[], tiny),
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
    let told = run(home.path(), &null(workers, processes, "operations = 100"), &[]);
    // Each of them did what it was asked to.
    let thousands = workers / 10;
    let grouped = match thousands {
        1000.. => format!("{},{:03},000", thousands / 1000, thousands % 1000),
        _ => format!("{thousands},000"),
    };
    told.expect(0, &[&format!("{workers} workers"), &grouped]);
    Ok(())
}

fn beyond() -> Outcome {
    let home = scratch();
    for processes in [false, true] {
        let told = run(home.path(), &null(99_999_999, processes, "operations = 1"), &[]);
        told.refused(&["plan.toml:4: ", "99999999 workers", "this machine can start ", "use fewer workers"]);
    }
    let mut command = iodyno(["fio", "--name=j", "--ioengine=null", "--size=4k", "--numjobs=99999999"]);
    command.current_dir(home.path()).env_remove("IODYNO_ALSO");
    told(command).expect(1, &["job j: 99999999 workers", "this machine can start "]);
    Ok(())
}

/// What a plan of nothing costs before it works, counted by the kernel; a debug build is three times as large as one
/// for release.
fn tiny() -> Outcome {
    let home = scratch();
    run(home.path(), &null(1, false, "operations = 1"), &[]).expect(0, &["operations"]);
    let mut command = iodyno(["run", "--quiet"]);
    command.arg(plan(home.path(), &null(1, false, "time = \"600s\"")));
    let mut running = Running::start(command);
    let pid = running.pid();
    // The worker is there: everything before has been done.
    running.until("its worker", || count(pid, "status", "Threads:") > 1);
    let peak_kib = count(pid, "status", "VmHWM:");
    let (bytes, calls) = (count(pid, "io", "rchar:"), count(pid, "io", "syscr:"));
    running.signal(libc::SIGINT);
    running.end().expect(130, &["signal 2"]);
    let told = format!("{peak_kib} KiB of memory, {bytes} bytes read in {calls} calls");
    assert!((1..64 << 10).contains(&peak_kib), "{told}");
    assert!(bytes < 1 << 20 && (1..3000).contains(&calls), "{told}");
    Ok(())
}

/// A figure that the kernel tells of a process; 0: none.
fn count(pid: i32, file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
