//! Where workers run and what surrounds them: seen from inside by the commands that run before and after a job.

use std::sync::Mutex;

use iodyno_model::{
    BufferKind, Buffers, ControlGroup, Extent, Job, Kind, NumaMemory, NumaPolicy, Prepare, TargetKind, Verb,
    WriteLife,
};
use testbed::sandbox::LoopDevice;
use testbed::{Case, Need, Skip};

use crate::plans::{in_processes, job, plan, record, refused, tallies, target};
use crate::{Failed, Outcome, holds};

/// The output of commands goes to the working directory, of which a process has one.
static FOLDER: Mutex<()> = Mutex::new(());

pub fn cases() -> Vec<Case> {
    let group = &[Need::Root, Need::That(group_root)];
    vec![
        Case::new("hooks: before and after", &[], commands_run_before_and_after),
        Case::new("hooks: a failing one ends the job", &[], a_failing_command_ends_the_job),
        Case::new("placement: CPUs, nice, I/O priority", &[], workers_are_where_they_should_be),
        Case::new("placement: what is not there is told", &[], what_is_not_there_is_told),
        Case::new("buffers: every kind moves the same bytes", &[], every_kind_moves_bytes),
        Case::new("open: a write life is told or refused", &[], a_write_life_is_told),
        Case::new("placement: another identity", &[Need::Root], another_identity),
        Case::new("placement: a control group", group, a_control_group),
        Case::new("placement: an I/O scheduler", &[Need::Root, Need::Loop], an_io_scheduler),
    ]
}

/// Whether a control group can be made.
fn group_root() -> Result<(), Skip> {
    let name = format!("iodyno-probe-{}", std::process::id());
    let group = ControlGroup { path: name, weight: None, keep: false };
    let cannot = |why: String| Skip::new(format!("no control group can be made here: {why}"));
    let path =
        iodyno_engine::placement::group_directory(&group).map_err(|failure| cannot(failure.message))?;
    let made = std::fs::create_dir(&path).and_then(|()| std::fs::remove_dir(&path));
    made.map_err(|error| cannot(error.to_string()))
}

fn nothing() -> iodyno_model::Target {
    target("nothing", TargetKind::Nothing { bytes: 1 << 20 })
}

/// A few operations on nothing, with commands around.
fn null(before: &str) -> Job {
    let mut job = job("null", &[], 0, Verb::Read, 4096);
    job.name = "inside".into();
    job.limit.operations = Some(3);
    job.hooks.before = Some(before.into());
    job
}

/// What the command before the job said.
fn said_before(job: Job) -> Result<String, Failed> {
    let _alone = FOLDER.lock().map_err(|_| "an earlier test panicked")?;
    let folder = tempfile::tempdir()?;
    let back = std::env::current_dir()?;
    std::env::set_current_dir(&folder)?;
    let outcome = tallies(&plan(vec![nothing()], vec![job]));
    let said = std::fs::read_to_string("inside.prerun.txt");
    std::env::set_current_dir(back)?;
    outcome?;
    Ok(said?)
}

fn commands_run_before_and_after() -> Outcome {
    let _alone = FOLDER.lock().map_err(|_| "an earlier test panicked")?;
    let folder = tempfile::tempdir()?;
    let back = std::env::current_dir()?;
    std::env::set_current_dir(&folder)?;
    let mut job = null("echo first; echo second >&2");
    job.hooks.after = Some("cat inside.prerun.txt; echo third".into());
    let outcome = tallies(&plan(vec![nothing()], vec![job]));
    let said = std::fs::read_to_string("inside.postrun.txt");
    std::env::set_current_dir(back)?;
    outcome?;
    let said = said?;
    holds(said == "first\nsecond\nthird\n", said)
}

fn a_failing_command_ends_the_job() -> Outcome {
    let _alone = FOLDER.lock().map_err(|_| "an earlier test panicked")?;
    let folder = tempfile::tempdir()?;
    let back = std::env::current_dir()?;
    std::env::set_current_dir(&folder)?;
    let record = record(&plan(vec![nothing()], vec![null("exit 3")]));
    std::env::set_current_dir(back)?;
    let record = record?;
    let told = record.errors.iter().any(|error| error.message.contains("exit status: 3"));
    let done = record.phases.first().map_or(0, |phase| phase.jobs[0].tally.operations(Kind::Read));
    holds(told && done == 0, format!("{:?}, {done} operations", record.errors))
}

fn workers_are_where_they_should_be() -> Outcome {
    let status = "grep Cpus_allowed_list /proc/self/status; nice; ionice";
    let mut job = null(status);
    job.placement.cpus = vec![0];
    job.placement.nice = Some(3);
    job.placement.io_priority = Some((2, 6));
    job.placement.numa_memory = Some(NumaMemory { policy: NumaPolicy::Standard, nodes: Vec::new() });
    let said = said_before(job)?;
    let seen: Vec<&str> = said.lines().collect();
    holds(seen.first().is_some_and(|line| line.ends_with("\t0")), &said)?;
    holds(seen.get(1) == Some(&"3"), &said)?;
    holds(seen.get(2) == Some(&"best-effort: prio 6"), &said)
}

fn what_is_not_there_is_told() -> Outcome {
    let wrong = |change: &dyn Fn(&mut Job)| -> Result<String, Failed> {
        let mut job = job("null", &[], 0, Verb::Read, 4096);
        job.limit.operations = Some(1);
        change(&mut job);
        let plan = plan(vec![nothing()], vec![job]);
        match record(&plan) {
            Ok(record) => Ok(record.errors.iter().map(|error| error.message.clone()).collect()),
            Err(_) => refused(&plan),
        }
    };
    let node = wrong(&|job| job.placement.numa_cpu_nodes = vec![4000])?;
    holds(node.contains("no NUMA node 4000"), node)?;
    let huge = wrong(&|job| {
        job.buffers = Buffers { huge_pages: true, huge_page_bytes: 12345, ..Buffers::default() };
    })?;
    holds(huge.contains("huge pages of 12345"), huge)?;
    let scheduler = wrong(&|job| job.placement.io_scheduler = Some("x".into()))?;
    holds(scheduler.is_empty(), format!("nothing has a scheduler, and none is asked: {scheduler}"))
}

fn every_kind_moves_bytes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut contents = Vec::new();
    for (number, kind) in
        [BufferKind::Mapping, BufferKind::Heap, BufferKind::SharedMapping, BufferKind::Segment]
            .into_iter()
            .enumerate()
    {
        for engine in ["psync", "vsync"] {
            let path = folder.path().join(format!("{number}{engine}"));
            let kind_of = TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(1 << 18) };
            let mut file = target("file", kind_of);
            file.open.create = true;
            file.prepare = Prepare::Empty;
            let mut write = job(engine, &[], 0, Verb::Write, 4096);
            write.name = "same".into();
            write.buffers = Buffers { kind, align_bytes: 512, locked_bytes: 65536, ..Buffers::default() };
            write.depth.most = 8;
            write.payload.seed = Some(3);
            tallies(&plan(vec![file], vec![write]))?;
            contents.push(std::fs::read(&path)?);
        }
    }
    let lengths: Vec<_> = contents.iter().map(Vec::len).collect();
    holds(lengths.iter().all(|length| *length == 1 << 18), format!("{lengths:?}"))?;
    holds(contents.iter().all(|content| content.iter().any(|byte| *byte != 0)), "zeros")
}

fn a_write_life_is_told() -> Outcome {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = folder.path().join("f");
    let kind = TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(8192) };
    let mut file = target("file", kind);
    (file.open.create, file.open.write_life) = (true, Some(WriteLife::Long));
    tallies(&plan(vec![file], vec![job("psync", &[], 0, Verb::Write, 4096)]))?;
    use std::os::fd::AsRawFd;
    let mut hint = 0u64;
    let file = std::fs::File::open(&path)?;
    /// linux/fcntl.h, `F_LINUX_SPECIFIC_BASE + 11`.
    const GET_HINT: libc::c_int = 1035;
    // SAFETY: the call writes one 64-bit number, which is valid for it.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), GET_HINT, &raw mut hint) };
    holds(asked == 0 && hint == 4, format!("{asked}: hint {hint}"))
}

fn another_identity() -> Outcome {
    let mut job = in_processes(null("id -u; id -g"));
    // The command's output must be made by the other identity.
    job.placement.identity = Some((iodyno_model::SAME_ID, 12));
    let said = said_before(job)?;
    holds(said == "0\n12\n", said)
}

fn a_control_group() -> Outcome {
    let name = format!("iodyno-test-{}", std::process::id());
    let mut job = in_processes(null("cat /proc/self/cgroup"));
    let group = ControlGroup::new(&name);
    let path = iodyno_engine::placement::group_directory(&group).map_err(|failure| failure.message)?;
    job.placement.cgroup = Some(group);
    let said = said_before(job)?;
    holds(said.lines().any(|line| line.ends_with(&format!("/{name}"))), &said)?;
    holds(!path.exists(), "the group is still there")
}

fn an_io_scheduler() -> Outcome {
    let device = LoopDevice::new(4 << 20)?;
    let name = device.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = format!("/sys/block/{name}/queue/scheduler");
    let before = std::fs::read_to_string(&file)?;
    let other = before.split_whitespace().find(|word| !word.starts_with('[')).map(String::from);
    let other = other
        .ok_or_else(|| Skip::new(format!("loop devices have one I/O scheduler here: {}", before.trim())))?;
    let mut job = null(&format!("cat {file}"));
    job.placement.io_scheduler = Some(other.clone());
    let on = target("device", TargetKind::Device { path: device.path().display().to_string() });
    let _alone = FOLDER.lock().map_err(|_| "an earlier test panicked")?;
    let folder = tempfile::tempdir()?;
    let back = std::env::current_dir()?;
    std::env::set_current_dir(&folder)?;
    let outcome = tallies(&plan(vec![on], vec![job]));
    let said = std::fs::read_to_string("inside.prerun.txt");
    std::env::set_current_dir(back)?;
    outcome?;
    let (said, after) = (said?, std::fs::read_to_string(&file)?);
    holds(said.contains(&format!("[{other}]")) && after == before, format!("{said} then {after}"))
}
