//! Checks whether this machine can start the workers of a phase, before the first one is started: a resource that runs out later
//! is missing for every program.
//!
//! Memory of buffers is checked where they are made.

use iodyno_model::{Diagnostic, Job, Phase, WorkerKind};

use crate::registry::PlanEngines;

/// So few workers start anywhere.
const FEW: u64 = 1000;
/// Processes and mappings that are left to everybody else.
const SPARE: u64 = 500;
/// Mappings of a thread: two for its stack, two for that of its signals, its buffers.
const MAPPINGS: u64 = 5;
/// Further ones of an engine that shares rings with the kernel.
const RINGS: u64 = 3;
/// Memory of a worker without its buffers, as measured on x86-64, rounded up: bytes of a process, and of a thread.
const PROCESS_BYTES: u64 = 512 << 10;
const THREAD_BYTES: u64 = 160 << 10;

/// A bound of the machine, and what sets it.
struct Bound {
    most: u64,
    set_by: String,
    hint: String,
}

/// Says so where a phase has more workers than can be started.
pub fn check(phase: &Phase, engines: &PlanEngines, wrong: &mut Vec<Diagnostic>) {
    let sum =
        |of: &dyn Fn(&&Job) -> bool| phase.jobs.iter().filter(of).map(|job| u64::from(job.workers)).sum();
    let all: u64 = sum(&|_| true);
    if all <= FEW {
        return;
    }
    let processes: u64 = sum(&|job| job.kind == WorkerKind::Processes);
    let Some(largest) = phase.jobs.iter().max_by_key(|job| job.workers) else { return };
    let has_ring = phase.jobs.iter().filter_map(|job| engines.facts(job)).any(|facts| facts.has_ring);
    let bounds = bounds(has_ring, processes, all - processes);
    let Some(bound) =
        bounds.into_iter().filter(|(count, bound)| *count > bound.most).min_by_key(|(_, bound)| bound.most)
    else {
        return;
    };
    let (count, Bound { most, set_by, hint }) = bound;
    let message = format!(
        "job {}: {count} workers in one phase, and this machine can start {most} more: {set_by}",
        largest.name
    );
    wrong.push(Diagnostic::error(&largest.origin, message).hint(format!("use fewer workers, or {hint}")));
}

/// What bounds so many processes and threads: each with the number that it bounds.
fn bounds(has_ring: bool, processes: u64, threads: u64) -> Vec<(u64, Bound)> {
    let all = processes + threads;
    let mut found = Vec::new();
    let mut note = |count: u64, most: Option<u64>, set_by: &str, hint: &str| {
        let Some(most) = most else { return };
        found.push((count, Bound { most, set_by: set_by.into(), hint: hint.into() }));
    };
    let running = number_in("/proc/loadavg", |text| text.split(['/', ' ']).nth(4)?.parse().ok()).unwrap_or(0);
    for name in ["kernel.pid_max", "kernel.threads-max"] {
        let value = setting(name);
        let most = value.map(|value| value.saturating_sub(running + SPARE));
        note(all, most, &limit_text(name, value), &format!("raise {name} (sysctl)"));
    }
    let value = setting("vm.max_map_count");
    let each = MAPPINGS + if has_ring { RINGS } else { 0 };
    let most = value.map(|value| value.saturating_sub(SPARE) / each);
    note(threads, most, &limit_text("vm.max_map_count", value), "raise vm.max_map_count (sysctl)");
    let group = control_group();
    note(
        all,
        group.map(|most| most.saturating_sub(SPARE / 10)),
        "pids.max of its control group",
        "raise pids.max",
    );
    let user = user_limit();
    note(all, user.map(|most| most.saturating_sub(SPARE)), "the user's limit (ulimit -u)", "raise ulimit -u");
    let bytes = crate::witness::memory::read().map(|levels| levels.available);
    let each = (processes * PROCESS_BYTES + threads * THREAD_BYTES).div_ceil(all.max(1)).max(1);
    note(all, bytes.map(|bytes| bytes / each), "the memory that is free", "end what holds memory");
    found
}

fn limit_text(name: &str, value: Option<u64>) -> String {
    format!("{name} is {}", value.unwrap_or_default())
}

fn number_in(path: &str, parse: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    parse(&std::fs::read_to_string(path).ok()?)
}

/// A kernel setting by its name.
fn setting(name: &str) -> Option<u64> {
    number_in(&format!("/proc/sys/{}", name.replace('.', "/")), |text| text.trim().parse().ok())
}

/// What the control group that this process is in, or one above it, allows: the least that is left.
fn control_group() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let places = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|one| one == "pids") => "/sys/fs/cgroup/pids",
            _ => return None,
        };
        Some((root, path.to_string()))
    });
    let number = |path: String| number_in(&path, |text| text.trim().parse().ok());
    let left = |root: &str, path: &std::path::Path| {
        let place = format!("{root}{}", path.display());
        let most = number(format!("{place}/pids.max"))?;
        Some(most.saturating_sub(number(format!("{place}/pids.current")).unwrap_or(0)))
    };
    places
        .flat_map(|(root, path)| {
            let above: Vec<_> =
                std::path::Path::new(&path).ancestors().map(|path| left(root, path)).collect();
            above
        })
        .flatten()
        .min()
}

#[allow(clippy::unnecessary_cast, reason = "a limit is signed on other systems")]
/// How many processes the user may have; none for root, whom the kernel does not hold to it.
fn user_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is valid for writing.
    let read = unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &raw mut limit) } == 0;
    // SAFETY: the call takes nothing and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    (read && !is_root && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Origin, Workload};

    fn phase(workers: u32, kind: WorkerKind) -> Phase {
        let job = Job::new("j", "null", Vec::new(), Workload::Script(iodyno_model::Script::default()));
        let job = Job { workers, kind, origin: Origin::argument("--numjobs"), ..job };
        Phase { jobs: vec![job], ..Phase::default() }
    }

    #[test]
    fn what_no_machine_can_start_is_told_with_its_bound() {
        for kind in [WorkerKind::Processes, WorkerKind::Threads] {
            let mut wrong = Vec::new();
            check(&phase(FEW as u32, kind), &PlanEngines::default(), &mut wrong);
            assert!(wrong.is_empty(), "{wrong:?}");
            check(&phase(99_999_999, kind), &PlanEngines::default(), &mut wrong);
            let [one] = &wrong[..] else { panic!("{wrong:?}") };
            let text = one.to_string();
            assert!(text.starts_with("error: --numjobs: job j: 99999999 workers in one phase"), "{text}");
            assert!(text.contains("hint: use fewer workers"), "{text}");
        }
    }
}
