//! Ended in the middle, by whatever signal and at whatever moment, it leaves nothing behind. The same when the file system
//! below it hangs or dies.

use super::report::{beside, iodyno};
use super::traces::Trace;
use std::path::Path;
use testbed::program::{Program, ProgramOutput, Running};
use testbed::rogue::{Rogue, Terms, Troubles};
use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome};

/// When the signal comes.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// At once: nothing is prepared yet.
    Started,
    /// As soon as there is anything to leave behind.
    Made,
    /// When the program has read so many answers of its cases since then: after about one in fifty, and one in five.
    Answered(u64),
}

const MOMENTS: [Moment; 4] = [Moment::Started, Moment::Made, Moment::Answered(20), Moment::Answered(200)];

impl Moment {
    #[track_caller]
    fn wait(self, running: &mut Running, directory: &Path) {
        let pid = running.pid();
        let names = || std::fs::read_dir(directory).expect("the directory under test").flatten();
        let made = || names().any(|entry| entry.file_name().to_string_lossy().starts_with("iodyno"));
        match self {
            Moment::Started => {}
            Moment::Made => running.until("its sandbox", made),
            Moment::Answered(count) => {
                running.until("its sandbox", made);
                let before = reads(pid);
                running.until("answers of its cases", || reads(pid) >= before + count);
            }
        }
    }
}

/// How often a process has read from anything. Source: proc(5), `syscr` of `io`.
fn reads(pid: i32) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = counts.lines().find_map(|line| line.strip_prefix("syscr: "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

pub fn cases() -> Vec<Case> {
    let ext4 = [Need::Root, Need::Loop, Need::FileSystem("ext4"), Need::Tool("mkfs.ext4")];
    let mut cases = Vec::new();
    for (name, signal) in [("kill", libc::SIGKILL), ("interrupt", libc::SIGINT), ("terminate", libc::SIGTERM)]
    {
        let on_ext4 =
            Case::new(format!("{name}_in_the_middle_on_ext4"), &ext4, move || killed_on_ext4(signal));
        cases.push(on_ext4.against());
        let needs = [Need::Root, Need::Mount];
        cases.push(Case::new(format!("{name}_in_the_middle_on_tmpfs"), &needs, move || {
            killed_on_tmpfs(signal)
        }));
    }
    cases.push(Case::new("a_file_system_that_hangs_is_a_result", &[Need::Root, Need::Fuse], hangs).waits());
    cases.push(Case::new("a_file_system_that_dies_is_a_result", &[Need::Root, Need::Fuse], dies));
    cases
}

#[track_caller]
fn killed_at(directory: &Path, signal: i32, moment: Moment) {
    let mut command = iodyno(["posix"]);
    command.arg(directory);
    let trace = Trace::of(&mut command, directory);
    let mut running = Program::new(command).start();
    moment.wait(&mut running, directory);
    running.signal(signal);
    let said = running.end();
    let what = format!("signal {signal}, {moment:?}");
    assert_eq!(said.code(), 128 + signal, "{what}: it went on: {said}");
    trace.vanishes(&what);
}

fn killed_on(directory: &Path, signal: i32) -> Outcome {
    for moment in MOMENTS {
        killed_at(directory, signal, moment);
    }
    Ok(())
}

fn killed_on_ext4(signal: i32) -> Outcome {
    let device = LoopDevice::new(256 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    killed_on(mount.path(), signal)
}

fn killed_on_tmpfs(signal: i32) -> Outcome {
    let mount = Mount::tmpfs(256 << 20)?;
    killed_on(mount.path(), signal)
}

/// Runs on a file system that gets into trouble after so many requests; bounded by the limit of a case.
fn in_trouble(troubles: Troubles) -> Result<(ProgramOutput, Trace, Rogue), testbed::Skip> {
    let rogue = Rogue::with(Terms { troubles, ..Terms::default() })?;
    let mut command = iodyno(["posix", "--case-time", "2s", "--only", "mkdir", "--only", "rename"]);
    command.arg("--profile").arg(beside("rogue.toml")).arg(rogue.path());
    let trace = Trace::of(&mut command, rogue.path());
    Ok((Program::new(command).run(), trace, rogue))
}

fn hangs() -> Outcome {
    let troubles = Troubles { hang_after: Some(1500), die_after: None };
    let (said, trace, rogue) = in_trouble(troubles)?;
    // It did not hang with its file system, and says that something failed.
    assert_eq!(said.code(), 1, "{said}");
    // What waits for an answer in the kernel ends with the mount at the latest.
    drop(rogue);
    trace.processes_vanish("after a hang");
    Ok(())
}

fn dies() -> Outcome {
    let troubles = Troubles { hang_after: None, die_after: Some(1500) };
    let (said, trace, rogue) = in_trouble(troubles)?;
    assert_eq!(said.code(), 1, "{said}");
    trace.processes_vanish("after a death");
    drop(rogue);
    Ok(())
}
