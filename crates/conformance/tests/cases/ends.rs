//! Violent ends: cases that hang and crash, file systems that go, and the program itself killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use iodyno_model::{Case as Rule, Cases};
use testbed::rogue::{Fault, Rogue};
use testbed::sandbox::{LoopDevice, Mount, UnprivilegedUser};
use testbed::wait;
use testbed::{Case, Need, Outcome};

use crate::rules::{all_pass, case, is_empty, outcome, record, verdicts, with};

/// Names the directory of a run that is there to be killed.
pub const VICTIM: &str = "IODYNO_TEST_CASES_VICTIM";

pub fn cases() -> Vec<Case> {
    let ext4 = &[Need::Root, Need::Loop, Need::FileSystem("ext4"), Need::Tool("mkfs.ext4")];
    vec![
        Case::new("what hangs is ended by the time limit", &[], hangs),
        Case::new("what crashes is told", &[Need::Root], crashes),
        Case::new("a file system that goes ends the run", &[Need::Fuse], goes),
        Case::new("set-up that did not take accuses nothing", &[Need::Root, Need::Fuse], untaken),
        Case::new("the program is killed on ext4: nothing is left", ext4, killed_on_ext4),
        Case::new(
            "the program is killed by somebody else: nothing is left",
            &[Need::Root],
            killed_unprivileged,
        ),
        Case::new("without privileges it does what it can", &[Need::Root], unprivileged),
    ]
}

fn limited(cases: Vec<Rule>, limit_ms: u64) -> Cases {
    Cases { cases, limit_ns: limit_ms * 1_000_000, ..Cases::default() }
}

/// What hangs is given so long; what stands beside it must be done in it on any machine.
const HANGS_MS: u64 = 2000;

fn hangs() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = "mkfifo f 0600 -> ok\nopen f O_RDONLY 0 -> ok\nunlink f -> ok\n=== next\nmkdir d 0755 -> ok";
    let actor = "mkfifo f 0600 -> ok\np1: open f O_RDONLY 0 -> ok\nunlink f -> ok";
    let cases = vec![case("hangs", text), case("actor hangs", actor), case("other", "mkdir d 0755 -> ok")];
    let job = with(folder.path(), limited(cases, HANGS_MS))?;
    for (record, call) in [(&job.cases[0], "`open f O_RDONLY 0`"), (&job.cases[1], "`p1: open f O_RDONLY 0`")]
    {
        let broken = record.broken.clone().unwrap_or_default();
        if broken != format!("took longer than 2s, at {call}") {
            return Err(format!("{record:#?}").into());
        }
        if record.passed != 1
            || !verdicts(record).iter().all(|verdict| verdict.contains("timed out: took longer"))
        {
            return Err(format!("{record:#?}").into());
        }
    }
    all_pass(&job.cases[2..])?;
    Ok(is_empty(folder.path())?)
}

fn crashes() -> Outcome {
    let folder = tempfile::tempdir()?;
    // A process that is not allowed any memory to speak of is the surest way to lose one.
    let text =
        "mkdir d 0755 -> ok\np1: rlimit RLIMIT_CPU 0\np1: loop 1000000000 lstat d -> ok\nrmdir d -> ok";
    let job = with(folder.path(), limited(vec![case("crashes", text)], 20_000))?;
    let told = verdicts(&job.cases[0]);
    if !told.first().is_some_and(|told| told.contains("killed by SIG") || told.contains("process")) {
        return Err(format!("{:#?}", job.cases[0]).into());
    }
    Ok(is_empty(folder.path())?)
}

fn goes() -> Outcome {
    let rogue = Rogue::mount(None)?;
    let pid = rogue.server_pid();
    let text: String = (0..50)
        .map(|round| format!("=== {round}\nmkdir d 0755 -> ok\nlstat d -> ok\ntick\nrmdir d -> ok\n"))
        .collect();
    let cases = (0..200).map(|number| case(&number.to_string(), &text)).collect();
    let path = rogue.path().to_path_buf();
    let runner = std::thread::spawn(move || record(&path, limited(cases, 30_000)));
    let begun = rogue.path().to_path_buf();
    wait::until("a case that runs", || {
        std::fs::read_dir(&begun).is_ok_and(|entries| {
            entries
                .flatten()
                .any(|sandbox| std::fs::read_dir(sandbox.path()).is_ok_and(|cases| cases.count() > 2))
        })
    })?;
    // SAFETY: the process is this test's own server.
    unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
    let record = runner.join().map_err(|_| "the run panicked")?;
    let records = &record.phases[0].jobs[0].cases;
    let could_not = records.iter().flat_map(|record| &record.verdicts).filter(|verdict| {
        matches!(&verdict.outcome, iodyno_model::Outcome::CouldNotRun(why) if why.contains("the file system is gone"))
    });
    let count = could_not.clone().count();
    // It is said which case it was, or which cases.
    let blamed = could_not.filter(|verdict| {
        matches!(&verdict.outcome, iodyno_model::Outcome::CouldNotRun(why) if why.contains("; it went while "))
    });
    if blamed.count() == 0 {
        return Err("no case is named".into());
    }
    // A case that were waited for without hope would be ended by its own limit.
    let limited: Vec<&String> = records
        .iter()
        .filter_map(|record| record.broken.as_ref())
        .filter(|why| why.contains("took longer"))
        .collect();
    if records.len() != 200 || count == 0 || !limited.is_empty() {
        return Err(format!("{} records, {count} could not run, {limited:?}", records.len()).into());
    }
    Ok(())
}

/// The sticky bit is dropped without a word: what fails for it is not the rule's, and what holds all the same passes.
fn untaken() -> Outcome {
    let rogue = Rogue::mount(Some(Fault::ChmodDropsSpecial))?;
    let text = "mkdir d 0777\nchmod d 01777\nowner: create d/f 0644 -> ok\nother: unlink d/f -> EPERM|EACCES\n\
                lstat d -> type=directory\n=== asked\nmkdir d 0777\nchmod d 01777 -> ok\nlstat d -> mode=01777";
    let records = outcome(rogue.path(), vec![case("sticky", text)])?;
    let why = "could not run: `chmod d 01777` came back with success, and left mode 0777";
    // What is checked by the rule itself is no set-up.
    let expected =
        [format!("1: {why}"), format!("2: {why}"), "4: lstat d: expected mode 01777, got mode 0777".into()];
    match verdicts(&records[0]) == expected {
        true => Ok(()),
        false => Err(format!("{:#?}", verdicts(&records[0])).into()),
    }
}

/// Cases that leave all they can and then wait for ever.
fn stubborn() -> Vec<Rule> {
    let flags = "mkdir d 0700\ncreate d/f 0600\ntry setflags d/f +i\ntry setflags d +a\nmkfifo w 0600\n\
                 create ready 0600\nopen w O_RDONLY 0 -> ok";
    let actors = "mkfifo w 0600\ncreate ready 0600\np1: open w O_RDONLY 0 -> ok";
    let owners = "mkdir d 0777\nowner: create d/f 0600\nmkfifo w 0600\nmount_tmpfs d\ncreate ready 0600\nopen w O_RDONLY 0 -> ok";
    let small = Rule { alone: true, ..case("small", "exhaust $small -> ok") };
    let mut cases = vec![case("flags", flags), case("actors", actors)];
    // SAFETY: the call takes nothing.
    if unsafe { libc::geteuid() } == 0 {
        cases.extend([case("owners", owners), small]);
    }
    cases
}

/// Runs cases until somebody kills this process.
pub fn be_killed(directory: &Path) {
    record(directory, Cases { cases: stubborn(), ..Cases::default() });
}

/// Directories of cases that wait.
fn waiting(directory: &Path) -> usize {
    let sandboxes = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let ready = |case: std::fs::DirEntry| case.path().join("0/ready").exists();
    sandboxes
        .map(|sandbox| {
            std::fs::read_dir(sandbox.path())
                .into_iter()
                .flatten()
                .flatten()
                .filter(|_| true)
                .map(ready)
                .filter(|is| *is)
                .count()
        })
        .sum()
}

/// Processes that were started for a run in a directory.
fn processes(directory: &Path) -> usize {
    let wanted = format!("{VICTIM}={}", directory.display());
    let of = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("environ")).unwrap_or_default();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .map(of)
        .filter(|environment| environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
        .count()
}

/// Small file systems of ours that are attached somewhere.
fn images() -> usize {
    let of = |entry: std::fs::DirEntry| {
        std::fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default()
    };
    let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    devices.map(of).filter(|file| file.contains("iodyno-small")).count()
}

fn kill_and_look(mut victim: Child, directory: &Path, count: usize) -> Outcome {
    let begun = wait::until("all of its cases that wait", || waiting(directory) == count);
    let before = processes(directory);
    let _ = victim.kill();
    let _ = victim.wait();
    begun?;
    if before < count {
        return Err(format!("only {before} processes").into());
    }
    wait::until("the end of all its processes", || processes(directory) == 0)?;
    is_empty(directory)?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    if mounts.contains("iodyno-posix") {
        return Err("a mount is left".into());
    }
    Ok(())
}

fn victim(directory: &Path) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.env(VICTIM, directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn killed_on_ext4() -> Outcome {
    let device = LoopDevice::new(64 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    std::fs::remove_dir(mount.path().join("lost+found"))?;
    kill_and_look(victim(mount.path()).spawn()?, mount.path(), 3)?;
    Ok(wait::until("the end of our loop devices", || images() == 0)?)
}

fn killed_unprivileged() -> Outcome {
    let user = UnprivilegedUser::new()?;
    let directory = user.directory().join("under-test");
    let mut command = user.command(std::env::current_exe()?);
    std::fs::create_dir(&directory)?;
    std::os::unix::fs::chown(&directory, Some(testbed::sandbox::NOBODY), Some(testbed::sandbox::NOBODY))?;
    command.env(VICTIM, &directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    kill_and_look(command.spawn()?, &directory, 2)
}

fn unprivileged() -> Outcome {
    let folder = tempfile::tempdir()?;
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534))?;
    let cases = vec![
        case("plain", "mkdir d 0700 -> ok\np1: lstat d -> uid=65534"),
        case("identities", "mkdir d 0755 -> ok\nother: rmdir d -> EACCES"),
        case("views", "create $ro/f 0644 -> EROFS"),
    ];
    // SAFETY: the child runs a plan with one thread of its own, prints, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: the list is empty; the calls change this process only.
        unsafe {
            libc::setgroups(0, std::ptr::null());
            libc::setresgid(65534, 65534, 65534);
            libc::setresuid(65534, 65534, 65534);
        }
        let told = with(folder.path(), Cases { cases, ..Cases::default() }).map(|job| {
            let skips = |index: usize| verdicts(&job.cases[index]).iter().all(|told| told.contains("skip: "));
            all_pass(&job.cases[..1]).is_ok() && skips(1) && skips(2) && job.cases[1].passed == 0
        });
        let status = i32::from(told != Ok(true));
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) }
    }
    let mut status = 0;
    // SAFETY: the number is valid for writing.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    if status != 0 {
        return Err(format!("the unprivileged run ended with {status}").into());
    }
    Ok(is_empty(folder.path())?)
}
