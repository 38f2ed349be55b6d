//! Ended in the middle, by whatever signal and at whatever moment, it leaves nothing behind. The same when the file system
//! below it hangs or dies.

use super::report::{PATIENCE, beside, iodyno, status, tell};
use super::traces::Trace;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testbed::rogue::{Rogue, Terms, Troubles};
use testbed::sandbox::{LoopDevice, Mount, Said, Started};
use testbed::{Case, Need, Outcome};

/// When the signal comes.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// ms after the start; the first while everything is being prepared.
    After(u64),
    /// As soon as there is anything to leave behind.
    Made,
}

const MOMENTS: [Moment; 5] =
    [Moment::After(40), Moment::Made, Moment::After(250), Moment::After(700), Moment::After(1600)];

impl Moment {
    /// Waits for it.
    #[track_caller]
    fn wait(self, directory: &Path) {
        if let Moment::After(time) = self {
            return std::thread::sleep(Duration::from_millis(time));
        }
        let begun = Instant::now();
        let names = || std::fs::read_dir(directory).expect("the directory under test").flatten();
        while !names().any(|entry| entry.file_name().to_string_lossy().starts_with("iodyno")) {
            assert!(begun.elapsed() < PATIENCE, "no sandbox is made");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

pub fn cases() -> Vec<Case> {
    let ext4 = [Need::Root, Need::Loop, Need::FileSystem("ext4"), Need::Tool("mkfs.ext4")];
    let mut cases = Vec::new();
    for (name, signal) in [("kill", libc::SIGKILL), ("interrupt", libc::SIGINT), ("terminate", libc::SIGTERM)]
    {
        cases.push(Case::new(format!("{name}_in_the_middle_on_ext4"), &ext4, move || killed_on_ext4(signal)));
        let needs = [Need::Root, Need::Mount];
        cases.push(Case::new(format!("{name}_in_the_middle_on_tmpfs"), &needs, move || {
            killed_on_tmpfs(signal)
        }));
    }
    cases.push(Case::new("a_file_system_that_hangs_is_a_result", &[Need::Root, Need::Fuse], hangs));
    cases.push(Case::new("a_file_system_that_dies_is_a_result", &[Need::Root, Need::Fuse], dies));
    cases
}

fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

#[track_caller]
fn killed_at(directory: &Path, signal: i32, moment: Moment) {
    let mut command = iodyno(["posix"]);
    command.arg(directory);
    let trace = Trace::of(&mut command, directory);
    let mut child = start(&mut command);
    moment.wait(directory);
    let what = format!("signal {signal}, {moment:?}");
    // SAFETY: the child is ours and not waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
    let begun = Instant::now();
    while child.try_wait().expect("a child of ours").is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{what}: it goes on");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
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

/// Runs on a file system that gets into trouble; bounded by the limit of a case, not by that of a test.
fn in_trouble(troubles: Troubles) -> Result<(Said, Trace, Rogue), testbed::Skip> {
    let rogue = Rogue::with(Terms { troubles, ..Terms::default() })?;
    let mut command = iodyno(["posix", "--case-time", "2s", "--only", "mkdir", "--only", "rename"]);
    command.arg("--profile").arg(beside("rogue.toml")).arg(rogue.path());
    let trace = Trace::of(&mut command, rogue.path());
    let said = Started::new(&mut command).finish(PATIENCE);
    Ok((said, trace, rogue))
}

fn hangs() -> Outcome {
    let troubles = Troubles { hang_after: Some(1500), die_after: None };
    let (said, trace, rogue) = in_trouble(troubles)?;
    assert!(said.status.is_some(), "it hangs with its file system: {}", tell(&said));
    assert_eq!(status(&said), 1, "{}", tell(&said));
    // What waits for an answer in the kernel ends with the mount at the latest.
    drop(rogue);
    trace.processes_vanish("after a hang");
    Ok(())
}

fn dies() -> Outcome {
    let troubles = Troubles { hang_after: None, die_after: Some(1500) };
    let (said, trace, rogue) = in_trouble(troubles)?;
    assert!(said.status.is_some(), "it hangs after its file system's death: {}", tell(&said));
    assert_eq!(status(&said), 1, "{}", tell(&said));
    trace.processes_vanish("after a death");
    drop(rogue);
    Ok(())
}
