//! `iodyno record` as its users type it: of a program, of a directory, of a device, and of a run of ours.

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::sandbox::LoopDevice;
use testbed::{Case, Need, Outcome, Skip};

use crate::program::{IODYNO, Program, ProgramOutput, dressed, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    let fuse = [Need::Fuse, Need::Root];
    vec![
        Case::new("a program is recorded, and its exit status is the command's", &[], program),
        Case::new("what is recorded by stops alone is the same, and the trace says so", &[], by_stops),
        Case::new("a recording that cannot begin leaves nothing and has one message", &[], refused),
        Case::new("a recording replaces what exists with --force only", &[], replaced),
        Case::new("an interrupted recording is a whole trace", &[], interrupted).waits(),
        Case::new("a directory is recorded through FUSE, mapped memory too", &fuse, directory),
        Case::new("an interrupted recording of a directory is a whole trace", &fuse, directory_interrupted)
            .waits(),
        Case::new("a directory that cannot be covered has one message", &fuse, directory_refused),
        Case::new("a device is recorded while a command runs", &[Need::Root, Need::Loop], device).alone(),
        Case::new("events of a device that are lost are told", &[Need::Root, Need::Loop], lost_events)
            .alone(),
        Case::new(
            "a device's recording that cannot begin has one message",
            &[Need::Root, Need::Loop],
            no_device,
        )
        .alone(),
        Case::new("a run of ours writes what it issued", &[], issued),
    ]
}

#[track_caller]
fn record(home: &Path, words: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["record"]);
    command.args(words).current_dir(home);
    told(command)
}

/// The lines of a trace, without their times.
#[track_caller]
fn dumped(home: &Path, trace: &str) -> String {
    let mut command = iodyno(["trace", "dump", trace]);
    command.current_dir(home);
    let output = told(command);
    output.expect(0, &[]);
    output.out.clone()
}

/// Operation, offset, size and result of the records of files whose name ends so.
fn lines(dump: &str, name: &str) -> Vec<String> {
    let ending = format!("/{name}");
    let ids: Vec<&str> = dump
        .lines()
        .filter_map(|line| line.strip_prefix("# file "))
        .filter(|line| line.ends_with(&ending))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let records = dump.lines().filter(|line| !line.starts_with('#'));
    let words = records.map(|line| line.split(' ').collect::<Vec<_>>());
    words
        .filter(|words| ids.contains(&words[2]))
        .map(|words| {
            let result = words.iter().find_map(|word| word.strip_prefix("result=")).unwrap_or("?");
            format!("{} {}+{} = {result}", words[1], words[3], words[4])
        })
        .collect()
}

fn program() -> Outcome {
    let home = scratch();
    let home = home.path();
    let said = record(home, &["-o", "t.iot", "--", "sh", "-c", "echo hello > a; cat a"]);
    said.expect(0, &["hello", "recorded ", " operations in t.iot; calls stopped "]);
    assert_eq!(said.out, "hello\n");
    let of_a = lines(&dumped(home, "t.iot"), "a");
    for line in ["write 0+6 = 6", "read 0+131072 = 6"] {
        assert!(of_a.iter().any(|one| one == line), "{line}: {of_a:?}");
    }
    let quiet = record(home, &["-q", "--force", "-o", "t.iot", "--", "sh", "-c", "exit 7"]);
    quiet.expect(7, &[]);
    assert_eq!(quiet.all(), "");
    record(home, &["-q", "--", "sh", "-c", "kill -KILL $$"]).expect(137, &[]);
    assert_eq!(names(home), ["a", "record.iot", "t.iot"]);
    let mut stat = iodyno(["trace", "stat", "record.iot"]);
    stat.current_dir(home);
    told(stat).expect(0, &["operations"]);
    Ok(())
}

fn by_stops() -> Outcome {
    let home = scratch();
    let home = home.path();
    let script = ["sh", "-c", "echo one > a; echo two >> a; mv a b; cat b"];
    let mut told = Vec::new();
    for (calls, trace) in [("best", "best.iot"), ("ptrace", "ptrace.iot")] {
        let words = [&["--calls", calls, "-o", trace, "--"][..], &script].concat();
        record(home, &words).expect(0, &["one two"]);
        let dump = dumped(home, trace);
        // Of these stops alone do not ask what came back.
        let asked = |name| -> Vec<String> {
            let is_asked = |line: &String| !line.starts_with("fstat ") && !line.starts_with("fadvise ");
            lines(&dump, name).into_iter().filter(is_asked).collect()
        };
        told.push((asked("a"), asked("b")));
        fs::remove_file(home.join("b"))?;
    }
    assert_eq!(told[0], told[1]);
    assert!(told[0].0.contains(&"write 4+4 = 4".to_string()), "{told:?}");
    assert!(dumped(home, "ptrace.iot").contains("latencies have the stops in them: by ptrace alone"));
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    let home = home.path();
    for (words, reason) in [
        (&["--", "no-such-command"][..], "error: no-such-command: no such program"),
        (&["--", "/etc"], "/etc: it cannot be executed: Permission denied"),
        (&["-o", "-", "--", "true"], "--output: the recorded program writes to standard output itself"),
        (&["-o", "no/such/t.iot", "--", "true"], "no/such/t.iot"),
        (&["--frobnicate", "--", "true"], "--frobnicate"),
        (&["--calls", "magic", "--", "true"], "magic"),
        (&["--fuse", ".", "--calls", "ptrace", "--", "true"], "--calls"),
        (&["--"], "COMMAND"),
        (&["device"], "DEVICE"),
    ] {
        let said = record(home, words);
        said.expect(2, &[reason]);
        assert!(said.out.is_empty(), "{said}");
        assert_eq!(said.err.lines().filter(|line| line.starts_with("error:")).count(), 1, "{said}");
        assert!(names(home).is_empty(), "{words:?} left {:?}", names(home));
    }
    let help = told(iodyno(["record", "--help"]));
    help.expect(0, &["--fuse <DIR>", "--calls <SOURCE>", "device"]);
    assert!(help.out.lines().all(|line| line.chars().count() <= 100), "{help}");
    Ok(())
}

fn replaced() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("thesis"), "mine")?;
    record(home, &["-o", "thesis", "--", "sh", "-c", "echo > made"])
        .expect(2, &["thesis: it exists already", "--force"]);
    assert_eq!(
        (names(home), fs::read_to_string(home.join("thesis"))?),
        (vec!["thesis".into()], "mine".into())
    );
    record(home, &["-o", "thesis", "--force", "--", "no-such-command"]).expect(2, &["no such program"]);
    assert_eq!(fs::read_to_string(home.join("thesis"))?, "mine");
    record(home, &["-o", "thesis", "--force", "--", "true"]).expect(0, &[]);
    assert!(dumped(home, "thesis").starts_with("# iodyno trace 1\n"));
    Ok(())
}

/// Ctrl-C reaches the command and iodyno: the command answers as it likes.
fn stopped(home: &Path, words: &[&str]) -> ProgramOutput {
    let script =
        "trap 'echo bye > end; exit 4' INT; echo begun > begin; echo ready; while :; do sleep 0.01; done";
    let mut command = iodyno(["record", "-o", "t.iot"]);
    command.args(words).args(["--", "sh", "-c", script]).current_dir(home);
    let mut running = Program::new(command).start();
    running.says("ready");
    running.signal_all(libc::SIGINT);
    running.end()
}

fn interrupted() -> Outcome {
    let home = scratch();
    let home = home.path();
    stopped(home, &[]).expect(4, &["recorded ", " operations in t.iot"]);
    let dump = dumped(home, "t.iot");
    assert!(lines(&dump, "begin").contains(&"write 0+6 = 6".to_string()), "{dump}");
    assert!(lines(&dump, "end").contains(&"write 0+4 = 4".to_string()), "{dump}");
    assert_eq!(names(home), ["begin", "end", "t.iot"]);
    Ok(())
}

fn directory() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::create_dir(home.join("data"))?;
    fs::write(home.join("data/old"), "0123456789")?;
    let script = "cat data/old; echo hello > data/new; echo elsewhere > other; exit 3";
    let said = record(home, &["--fuse", "data", "-o", "t.iot", "--", "sh", "-c", script]);
    said.expect(3, &["0123456789", "operations in t.iot", "/data alone, as a file system sees them"]);
    let dump = dumped(home, "t.iot");
    assert!(lines(&dump, "data/old").contains(&"read 0+131072 = 10".to_string()), "{dump}");
    assert!(lines(&dump, "data/new").contains(&"write 0+6 = 6".to_string()), "{dump}");
    assert!(!dump.contains("/other"), "{dump}");
    assert_eq!(fs::read_to_string(home.join("data/new"))?, "hello\n");
    assert_eq!(names(home), ["data", "other", "t.iot"]);
    Ok(())
}

fn directory_interrupted() -> Outcome {
    let home = scratch();
    let home = home.path();
    stopped(home, &["--fuse", "."]).expect(4, &["recorded ", " operations in t.iot"]);
    let dump = dumped(home, "t.iot");
    assert!(lines(&dump, "end").contains(&"write 0+4 = 4".to_string()), "{dump}");
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    assert!(!mounts.contains(&home.display().to_string()), "{mounts}");
    Ok(())
}

fn directory_refused() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("file"), "")?;
    for (directory, reason) in [
        ("/", "/: the root cannot be covered"),
        ("file", "file: it is no directory"),
        ("missing", "missing: No such file or directory"),
    ] {
        record(home, &["--fuse", directory, "--", "true"]).refused(&[reason]);
    }
    record(home, &["--fuse", ".", "--", "no-such-command"]).expect(2, &["no such program"]);
    assert_eq!(names(home), ["file"]);
    // Who may neither mount nor have a namespace of users is told so.
    let bare = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && \
         exec setpriv --bounding-set -sys_admin --inh-caps -sys_admin \"{IODYNO}\" record --fuse . -- true"
    );
    let mut command = dressed(Command::new("unshare"), ["-U", "-r", "sh", "-c", &bare]);
    command.current_dir(home);
    let said = told(command);
    said.refused(&["no namespace of mounts for the command: No space left on device", "be root"]);
    assert_eq!(names(home), ["file"]);
    Ok(())
}

/// The tracer is the machine's: where somebody else has it, the case is skipped.
fn with_tracer(said: &ProgramOutput) -> Result<(), Skip> {
    let reasons =
        ["is in use", "traces events", "being traced already", "tracing needs", "has no `blk` tracer"];
    match reasons.iter().find(|reason| said.err.contains(**reason)) {
        Some(_) => Err(Skip::new(said.err.clone())),
        None => Ok(()),
    }
}

fn device() -> Outcome {
    let home = scratch();
    let home = home.path();
    let loop_device = LoopDevice::new(16 << 20)?;
    let path = loop_device.path().display().to_string();
    let write =
        format!("dd if=/dev/zero of={path} bs=64k count=16 oflag=direct status=none; echo done; exit 5");
    let said = record(home, &["device", &path, "-o", "t.iot", "--", "sh", "-c", &write]);
    with_tracer(&said)?;
    said.expect(5, &["done", "recorded ", &format!("requests of {path} in t.iot")]);
    let dump = dumped(home, "t.iot");
    let writes = dump.lines().filter(|line| !line.starts_with('#') && line.contains(" write "));
    let bytes: u64 = writes.filter_map(|line| line.split(' ').nth(4)?.parse::<u64>().ok()).sum();
    assert_eq!(bytes, 1 << 20, "{dump}");
    assert!(dump.contains("latency="), "{dump}");
    // Nothing happens, for a time.
    let said = record(home, &["device", &path, "-o", "quiet.iot", "--for", "50ms"]);
    said.expect(0, &["recorded 0 requests"]);
    // At Ctrl-C it is whole.
    let mut command = iodyno(["record", "device", &path, "-o", "stopped.iot"]);
    command
        .args(["--", "sh", "-c", "echo ready; trap 'exit 9' INT; while :; do sleep 0.01; done"])
        .current_dir(home);
    let mut running = Program::new(command).start();
    running.says("ready");
    running.signal_all(libc::SIGINT);
    running.end().expect(9, &["requests of"]);
    assert!(dumped(home, "stopped.iot").starts_with("# iodyno trace 1\n"));
    assert_eq!(names(home), ["quiet.iot", "stopped.iot", "t.iot"]);
    Ok(())
}

/// The recorder is held up while more requests are made than the tracer's buffer has room for.
fn lost_events() -> Outcome {
    let home = scratch();
    let home = home.path();
    let loop_device = LoopDevice::new(16 << 20)?;
    let path = loop_device.path().display().to_string();
    let name = loop_device.path().file_name().unwrap_or_default().display().to_string();
    let enable = format!("/sys/block/{name}/trace/enable");
    let is_traced = || fs::read_to_string(&enable).is_ok_and(|text| text.trim() != "0");
    with_tracer(&record(home, &["device", &path, "-o", "quiet.iot", "--for", "1ms"]))?;
    let mut command = iodyno(["record", "device", &path, "-o", "lost.iot"]);
    command.current_dir(home);
    let mut running = Program::new(command).start();
    running.until("the tracer", is_traced);
    running.signal(libc::SIGSTOP);
    // The tracing file system is mounted for the recorder alone, or at its usual place.
    let descriptors =
        fs::read_dir(format!("/proc/{}/fd", running.pid()))?.flatten().map(|entry| entry.path());
    let places = descriptors.chain([Path::new("/sys/kernel/tracing").to_path_buf()]);
    let size = places.map(|place| place.join("buffer_size_kb")).find(|size| size.exists());
    fs::write(size.expect("the tracing file system"), "4")?;
    let of = format!("of={path}");
    let words = ["if=/dev/zero", &of, "bs=4k", "count=2000", "oflag=direct", "status=none"];
    assert!(Command::new("dd").args(words).status()?.success(), "dd on {path}");
    running.signal(libc::SIGCONT);
    running.signal(libc::SIGINT);
    let said = running.end();
    said.expect(0, &["recorded ", "requests of", "lost: ", "events came faster than they could be read"]);
    let lost = |text: &str| -> u64 {
        let line = text.lines().find(|line| line.contains("events came faster")).unwrap_or_default();
        let number = line.split("lost: ").nth(1).and_then(|rest| rest.split(' ').next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let dump = dumped(home, "lost.iot");
    assert!(lost(&said.err) > 0, "{said}");
    assert_eq!(lost(&dump), lost(&said.err), "{dump:.2000}");
    assert!(!is_traced(), "it is put back");
    // With room for all of them none are lost, and nothing is said of it.
    let write = format!("dd if=/dev/zero {of} bs=64k count=16 oflag=direct status=none");
    let said = record(home, &["device", &path, "-o", "all.iot", "--", "sh", "-c", &write]);
    said.expect(0, &["recorded "]);
    assert!(!said.err.contains("lost") && lost(&dumped(home, "all.iot")) == 0, "{said}");
    Ok(())
}

fn no_device() -> Outcome {
    let home = scratch();
    let home = home.path();
    let loop_device = LoopDevice::new(16 << 20)?;
    let path = loop_device.path().display().to_string();
    for (device, reason) in
        [("/dev/null", "/dev/null: it is no block device"), ("/dev/no-such-device", "/dev/no-such-device: ")]
    {
        record(home, &["device", device, "--for", "10ms"]).expect(2, &[reason]);
    }
    record(home, &["device", &path, "--for", "soon"]).expect(2, &["soon"]);
    let said = record(home, &["device", &path, "--", "no-such-command"]);
    with_tracer(&said)?;
    said.expect(2, &["no-such-command"]);
    assert!(names(home).is_empty(), "{:?}", names(home));
    Ok(())
}

fn issued() -> Outcome {
    let home = scratch();
    let home = home.path();
    let mut command = iodyno(["dd", "if=/dev/zero", "of=f", "bs=4k", "count=10", "--also", "record=t.iot"]);
    command.current_dir(home);
    told(command).expect(0, &["10+0 records out"]);
    let dump = dumped(home, "t.iot");
    let writes =
        dump.lines().filter(|line| line.split(' ').nth(1) == Some("write") && line.contains(" 4096 "));
    assert_eq!(writes.count(), 10, "{dump}");
    assert!(dump.contains("latency="), "{dump}");
    fs::write(home.join("thesis"), "mine")?;
    let mut again = iodyno(["dd", "if=/dev/zero", "of=g", "bs=4k", "count=1", "--also", "record=thesis"]);
    again.current_dir(home);
    assert_ne!(told(again).code(), 0);
    assert_eq!((fs::read_to_string(home.join("thesis"))?, home.join("g").exists()), ("mine".into(), false));
    Ok(())
}
