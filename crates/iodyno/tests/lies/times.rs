//! Lies of times and counts: too few of them, rates that do not last, latencies that are left out, workers and failures
//! that a mean hides.
//!
//! Staged on files whose every request takes a programmed time, so that what is told can be known beforehand.

use iodyno_model::Severity;
use testbed::fuse::{Config, Device, Fault, Pick, RequestKind, Service};
use testbed::{Need, Skip};

use crate::program;
use crate::stage::{Lie, StagedFindings, heard, run, run_in};

const MILLISECOND: u64 = 1_000_000;
const FUSE: &[Need] = &[Need::Root, Need::Fuse];
/// A file on FUSE is one, and a few thousand samples are no p99.9.
const NOTES: &[u8] = &[6, 22];

/// The lies of this file.
pub fn lies() -> Vec<Lie> {
    vec![
        Lie::new(6, "too few samples for the percentile shown", FUSE, few, enough).besides(&[22]),
        Lie::new(7, "a rate that is not steady", FUSE, drift, steady)
            .twin_of(&[8, 26])
            .besides(NOTES)
            .twin_alone(),
        Lie::new(8, "burst credits: fast, then throttled", FUSE, credit, steady).without_twin(),
        Lie::new(9, "coordinated omission", FUSE, omission, on_time)
            .besides(NOTES)
            .at_least(Severity::Doubtful)
            .twin_alone(),
        Lie::new(14, "an average that hides stalled workers", FUSE, stalled, alike).besides(NOTES),
        Lie::new(20, "errors that count as work", FUSE, failing, sound).besides(NOTES),
        Lie::new(23, "a phase of start-up and stop", FUSE, brief, enough).besides(&[22]),
        Lie::new(26, "spikes of latency in a good mean", FUSE, spikes, steady).without_twin(),
    ]
}

/// A file whose reads take these times in turn.
fn timed(read: Service) -> Result<Device, Skip> {
    Device::mount(Config { read, ..Config::default() })
}

/// Random reads of a file past the page cache by one job.
fn reads(device: &Device, job: &str) -> String {
    format!(
        r#"
        [target.data]
        file = "{}"
        direct = true
        [[phase]]
        [[phase.job]]
        on = "data"
        do = "read"
        pick = "random"
        {job}
        "#,
        device.path().display()
    )
}

/// So many reads of half a millisecond by each of four workers.
fn counted(reads_each: u64) -> StagedFindings {
    let device = timed(Service::Constant(MILLISECOND / 2))?;
    run(&reads(&device, &format!("workers = 4\nuntil = {{ operations = {reads_each} }}")))
}

fn few() -> StagedFindings {
    counted(100)
}

fn enough() -> StagedFindings {
    counted(3000)
}

fn brief() -> StagedFindings {
    counted(5)
}

/// One worker reads for four seconds, in twenty rows, from a file with these service times.
fn lasting(read: Service) -> StagedFindings {
    let device = timed(read)?;
    run(&reads(&device, "measure = { row = \"200ms\" }\nuntil = \"4s\""))
}

fn steady() -> StagedFindings {
    lasting(Service::Constant(2 * MILLISECOND))
}

/// Each read takes a little longer than the one before: from 1 ms to 6 ms in four seconds.
fn drift() -> StagedFindings {
    lasting(Service::Cycle((0..1200).map(|read| MILLISECOND + read * 4500).collect()))
}

/// A second and a half at 1 ms, and then 6 ms for good.
pub fn credit() -> StagedFindings {
    let times = std::iter::repeat_n(MILLISECOND, 1400).chain(std::iter::repeat_n(6 * MILLISECOND, 20_000));
    lasting(Service::Cycle(times.collect()))
}

/// Every 250th read takes 300 ms, every other 2 ms: the mean is 3.2 ms.
fn spikes() -> StagedFindings {
    let times = (1..=250).map(|read| if read == 125 { 300 } else { 2 } * MILLISECOND);
    lasting(Service::Cycle(times.collect()))
}

/// A hundred reads a second, each counted from when it began.
fn paced(read: Service) -> StagedFindings {
    let device = timed(read)?;
    run(&reads(&device, "rate = \"100/s\"\nopen_loop = false\nuntil = \"4s\""))
}

/// Each 150th read holds up eighty behind it.
fn omission() -> StagedFindings {
    paced(Service::Cycle((1..=150).map(|read| if read == 100 { 800 } else { 2 } * MILLISECOND).collect()))
}

fn on_time() -> StagedFindings {
    paced(Service::Constant(2 * MILLISECOND))
}

/// Two workers of fio's, each with a file of its own, whose reads take so long.
fn pair(ms: [u64; 2]) -> StagedFindings {
    let devices =
        [timed(Service::Constant(ms[0] * MILLISECOND))?, timed(Service::Constant(ms[1] * MILLISECOND))?];
    let home = tempfile::TempDir::new()?;
    for (worker, device) in devices.iter().enumerate() {
        std::os::unix::fs::symlink(device.path(), home.path().join(format!("data.{worker}")))?;
    }
    let json = home.path().join("out.json");
    let mut command =
        program::iodyno(["fio", "--name=pair", "--rw=randread", "--direct=1", "--bs=4k", "--size=16m"]);
    command.args(["--numjobs=2", "--time_based", "--runtime=2", "--group_reporting", "--thread"]);
    command.args(["--filename_format=data.$jobnum", "--output-format=json"]).arg("--output").arg(&json);
    command.arg(format!("--directory={}", home.path().display())).current_dir(home.path());
    let told = program::told(command);
    if told.code() != 0 {
        return Err(told.to_string().into());
    }
    heard(&told, &json)
}

fn stalled() -> StagedFindings {
    pair([2, 15])
}

fn alike() -> StagedFindings {
    pair([4, 4])
}

/// Reads that go on after errors; the exit status tells of them.
fn despite(faults: Vec<Fault>, status: i32) -> StagedFindings {
    let config = Config { read: Service::Constant(MILLISECOND), faults, ..Config::default() };
    let device = Device::mount(config)?;
    let home = tempfile::TempDir::new()?;
    run_in(home.path(), &reads(&device, "errors = \"continue\"\nuntil = { operations = 1000 }"), status, &[])
}

fn failing() -> StagedFindings {
    despite(vec![Fault::Error { on: RequestKind::Read, pick: Pick::EveryNth(50), errno: libc::EIO }], 1)
}

fn sound() -> StagedFindings {
    despite(Vec::new(), 0)
}
