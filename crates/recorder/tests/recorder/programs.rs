//! Programs under the recorder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use iodyno_trace::RecordFlags;
use testbed::program::Program;
use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome, Skip};

use crate::child::{self, Operation, Recording, recorded, recorded_by, recorder, running, straced};

const STRACE: Need = Need::Tool("strace");

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("bytes_written_are_those_in_the_files", &[Need::Tool("tar")], tar),
        Case::new(
            "sqlite_and_git_on_ext4_do_what_strace_tells",
            &[Need::Loop, STRACE, Need::Tool("sqlite3"), Need::Tool("git"), Need::Tool("mkfs.ext4")],
            on_ext4,
        ),
        Case::new("children_threads_and_duplicates_share_positions", &[Need::Tool("python3")], || {
            shared("best")
        }),
        Case::new("positions_are_the_same_by_ptrace_alone", &[Need::Tool("python3")], || shared("ptrace")),
        Case::new("sizes_flags_and_errors_are_the_same_by_ptrace_alone", &[Need::Tool("python3")], || {
            told("ptrace")
        }),
        Case::new("calls_faster_than_they_are_understood_are_all_there", &[Need::That(tracepoints)], fast),
        Case::new(
            "calls_that_wait_are_whole_while_others_are_fast",
            &[Need::That(tracepoints), Need::Tool("python3")],
            fast_and_slow,
        ),
        Case::new("descriptors_that_no_call_of_interest_made_are_known", &[Need::Tool("python3")], pipes),
        Case::new("a_static_program_is_recorded", &[Need::Tool("ldconfig")], static_program),
        Case::new("sizes_flags_and_errors_are_told", &[Need::Tool("python3")], || told("best")),
        Case::new("allocations_attributes_nodes_and_clones_are_whole", &[Need::Tool("python3")], || {
            special("best")
        }),
        Case::new(
            "allocations_attributes_nodes_and_clones_are_the_same_by_ptrace_alone",
            &[Need::Tool("python3")],
            || special("ptrace"),
        ),
        Case::new("copies_inside_the_kernel_have_both_sides", &[Need::Tool("python3")], copies),
        Case::new("mapped_memory_is_noted", &[Need::Tool("python3")], mapped),
        Case::new("the_end_of_the_program_is_passed_on", &[], ends),
        Case::new("an_interruption_leaves_a_whole_recording_and_nobody_behind", &[], interrupted).waits(),
        Case::new("fewer_stops_than_strace_has", &[STRACE, Need::Tool("git")], stops),
        Case::new("what_cannot_be_executed_is_said", &[], refused),
    ]
}

fn sandbox() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Its name with links resolved, as records have it.
fn whole(directory: &Path) -> std::path::PathBuf {
    fs::canonicalize(directory).expect("it is there")
}

/// Bytes that were written to each file.
fn written(operations: &[&Operation]) -> BTreeMap<String, u64> {
    let mut written = BTreeMap::new();
    let is_mapped = |operation: &Operation| operation.flags & RecordFlags::MAPPED.0 != 0;
    for operation in operations.iter().filter(|operation| operation.verb == "write" && !is_mapped(operation))
    {
        *written.entry(operation.file.clone()).or_default() +=
            operation.result.filter(|result| *result > 0).unwrap_or(0) as u64;
    }
    written
}

/// tar packs a directory and unpacks it: each file has the bytes that were written to it, from 0 on without a gap.
fn tar() -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    fs::create_dir(directory.join("in"))?;
    for (name, bytes) in [("empty", 0), ("small", 100), ("large", 3_000_000)] {
        fs::write(directory.join("in").join(name), vec![b'x'; bytes])?;
    }
    let script = "tar cf t.tar in && mkdir out && tar xf t.tar -C out";
    let recording = recorded(&directory, &["sh", "-c", script]);
    let operations = recording.within(&directory);
    let written = written(&operations);
    for name in ["t.tar", "out/in/small", "out/in/large"] {
        let path = directory.join(name);
        assert_eq!(
            written.get(&path.display().to_string()).copied(),
            Some(fs::metadata(&path)?.len()),
            "{name}"
        );
    }
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for operation in operations.iter().filter(|operation| operation.verb == "write") {
        let end = ends.entry(&operation.file).or_default();
        assert_eq!(operation.offset, *end, "{operation:?}");
        *end += operation.result.unwrap_or(0) as u64;
    }
    let large = format!("{}/in/large", directory.display());
    let read = operations.iter().find(|operation| operation.verb == "read" && operation.file == large);
    assert_eq!(read.and_then(|read| read.size), Some(3_000_000));
    Ok(())
}

/// What two tools must tell alike; results that one of them does not ask for are left out.
fn comparable(operations: &[&Operation], prefix: &str) -> Vec<String> {
    let line = |operation: &&Operation| {
        let is_plain = !["fstat", "fadvise"].contains(&operation.verb.as_str());
        let is_mapped = operation.flags & RecordFlags::MAPPED.0 != 0;
        // Descriptors of processes that run at once depend on nothing that is recorded; a number is a success.
        let result = operation.result.filter(|_| is_plain && !is_mapped);
        let result = match operation.verb.as_str() {
            "open" | "create" => result.map(|result| result.min(0)),
            _ => result,
        };
        let Operation { verb, file, offset, bytes, flags, .. } = operation;
        let created = flags & !RecordFlags::CREATED.0;
        format!("{verb} {} {offset}+{bytes} {created:x} = {result:?}", file.replace(prefix, ""))
    };
    operations.iter().map(line).collect()
}

/// The same commands, recorded and under strace, each in a fresh directory of one file system.
fn on_ext4() -> Outcome {
    let device = LoopDevice::new(64 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let sql = "create table t(a, b); insert into t values(1, 2); insert into t select a + 1, b from t; \
               pragma journal_mode = wal; insert into t select a, b from t; select count(*) from t;";
    // A file as young as the index is read again, which depends on the moment.
    let git = "seq 1000 > f && touch -d 2020-01-01 f && git init -q . && git config gc.auto 0 && git add f && \
               git -c user.name=a -c user.email=b commit -qm x && git branch b && git log --oneline";
    let git = format!("export GIT_AUTHOR_DATE='{DATE}' GIT_COMMITTER_DATE='{DATE}'; {git}");
    for command in [&["sqlite3", "s.db", sql][..], &["sh", "-c", &git]] {
        let run = |kind: &str| {
            let directory = whole(mount.path()).join(format!("{kind:-<7}{}", command[0]));
            fs::create_dir(&directory).map(|()| directory)
        };
        let theirs = run("theirs")?;
        let told = Recording { operations: straced(&theirs, command), ..Recording::default() };
        let told = by_process(&told.within(&theirs), &theirs.display().to_string());
        for source in ["best", "ptrace"] {
            let ours = run(source)?;
            let recording = recorded_by(source, &ours, command);
            let operations = recording.within(&ours);
            assert!(operations.len() > 20, "{} operations of {}", operations.len(), command[0]);
            let ours = by_process(&operations, &ours.display().to_string());
            let differs =
                ours.iter().flatten().zip(told.iter().flatten()).position(|(our, their)| our != their);
            let around = |all: &[Vec<String>]| {
                let begin = differs.unwrap_or(0).saturating_sub(3);
                all.iter().flatten().skip(begin).take(6).cloned().collect::<Vec<_>>()
            };
            assert_eq!(differs, None, "by {source}: {:#?} but strace {:#?}", around(&ours), around(&told));
            assert_eq!(ours, told, "by {source}");
        }
    }
    Ok(())
}

/// What it writes has names that depend on the time.
const DATE: &str = "2026-01-01T00:00:00Z";

/// What each process did, the processes in the order in which they began; temporary names are drawn by chance.
fn by_process(operations: &[&Operation], prefix: &str) -> Vec<Vec<String>> {
    // strace does not tell in which directory a program begins: relative names have their place from the first open on.
    let is_open = |operation: &&Operation| operation.verb == "open";
    let operations = &operations[operations.iter().position(is_open).unwrap_or(0)..];
    let mut processes: Vec<u32> = Vec::new();
    for operation in operations {
        if !processes.contains(&operation.process) {
            processes.push(operation.process);
        }
    }
    let of = |process: &u32| {
        let own = operations.iter().filter(|operation| operation.process == *process).copied();
        let lines = comparable(&own.collect::<Vec<_>>(), prefix).into_iter();
        lines.map(|line| without_chance(&line)).collect()
    };
    processes.iter().map(of).collect()
}

/// git names objects that it writes, and a file that it tries links with, by six letters.
fn without_chance(line: &str) -> String {
    for begin in ["tmp_obj_", "/.git/t"] {
        let Some(at) = line.find(begin).map(|at| at + begin.len()) else { continue };
        let end = line[at..].find(' ').map_or(line.len(), |end| at + end);
        if end - at == 6 {
            return format!("{}{}", &line[..at], &line[end..]);
        }
    }
    line.to_string()
}

/// Whether the kernel tells of calls by tracepoints here.
fn tracepoints() -> Result<(), Skip> {
    let sandbox = sandbox();
    let mut recorder = recorder(sandbox.path(), &sandbox.path().join("records"), &["true"]);
    recorder.env(child::SOURCE, "tracepoints");
    let output = Program::new(recorder).run();
    if output.code() == 0 { Ok(()) } else { Err(Skip::new(output.err)) }
}

/// Calls that do nothing: faster than a recorder without optimisation understands them.
fn fast() -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    let recording = recorded_by(
        "tracepoints",
        &directory,
        &["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100000", "status=none"],
    );
    let count = |verb: &str, file: &str| {
        let is_one = |o: &&Operation| o.verb == verb && o.file == file && o.result == Some(1);
        recording.operations.iter().filter(is_one).count()
    };
    assert_eq!((count("read", "/dev/zero"), count("write", "/dev/null")), (100_000, 100_000));
    assert!(!recording.notes.iter().any(|note| note.contains("lost")), "{:?}", recording.notes);
    assert!(recording.entries + recording.exits < 1000, "{} stops", recording.entries);
    Ok(())
}

const FAST_AND_SLOW: &str = r#"
import os
r, w = os.pipe()
answer, answered = os.pipe()
if os.fork() == 0:
    # It waits in this call while the other one is held up for its calls.
    os.write(answered, os.read(r, 4321))
    os._exit(0)
zero = os.open("/dev/zero", os.O_RDONLY)
for i in range(50000): os.read(zero, 7)
os.write(w, b"x" * 1234)
os.read(answer, 4321)
"#;

fn fast_and_slow() -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    let recording = recorded_by("tracepoints", &directory, &["python3", "-c", FAST_AND_SLOW]);
    let on_pipes = recording
        .operations
        .iter()
        .filter(|operation| operation.file.starts_with("pipe:") && [1234, 4321].contains(&operation.bytes));
    let mut calls: Vec<(&str, u64, Option<i64>)> =
        on_pipes.map(|operation| (operation.verb.as_str(), operation.bytes, operation.result)).collect();
    calls.sort_unstable();
    assert!(!recording.notes.iter().any(|note| note.contains("lost")), "{:?}", recording.notes);
    let (read, write) = (("read", 4321, Some(1234)), ("write", 1234, Some(1234)));
    assert_eq!(calls, [read, read, write, write]);
    let ones = recording.operations.iter().filter(|o| o.file == "/dev/zero" && o.verb == "read");
    assert_eq!(ones.filter(|operation| operation.result == Some(7)).count(), 50_000);
    Ok(())
}

const PIPES: &str = r#"
import os, socket
for i in range(20):
    r, w = os.pipe()
    os.write(w, b"5" * 555); os.read(r, 555)
    os.close(r); os.close(w)
    f = os.open("f", os.O_CREAT | os.O_RDWR)
    os.write(f, b"5" * 555)
    os.close(f)
a, b = socket.socketpair()
os.write(a.fileno(), b"5" * 555); os.read(b.fileno(), 555)
"#;

/// Numbers of descriptors are used again and again, for pipes and for a file.
fn pipes() -> Outcome {
    for source in ["best", "ptrace"] {
        let sandbox = sandbox();
        let directory = whole(sandbox.path());
        let recording = recorded_by(source, &directory, &["python3", "-c", PIPES]);
        let writes = |begin: &str| {
            let is_one = |o: &&Operation| o.verb == "write" && o.bytes == 555 && o.file.starts_with(begin);
            recording.operations.iter().filter(is_one).map(|o| (o.offset, o.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(writes("pipe:"), vec![(0, 555); 20], "by {source}");
        assert_eq!(writes(&format!("{}/f", directory.display())), vec![(0, 555); 20], "by {source}");
        assert_eq!(writes("socket:"), [(0, 555)], "by {source}");
    }
    Ok(())
}

const SHARED: &str = r#"
import os, threading
fd = os.open("a", os.O_CREAT | os.O_RDWR, 0o644)
os.write(fd, b"12345")
copy = os.dup(fd)
if os.fork() == 0:
    os.write(copy, b"child")
    os._exit(0)
os.wait()
os.write(fd, b"parent")
def other():
    os.write(fd, b"thread")
thread = threading.Thread(target=other)
thread.start(); thread.join()
os.lseek(fd, 2, os.SEEK_SET)
os.write(fd, b"x")
os.lseek(fd, 3, os.SEEK_CUR)
os.write(fd, b"y")
os.lseek(fd, -1, os.SEEK_END)
os.write(fd, b"z")
os.pwrite(fd, b"far", 100)
os.write(fd, b"end")
os.mkdir("d"); os.chdir("d")
log = os.open("../log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
os.write(log, b"one"); os.write(log, b"two")
os.lseek(log, 0, os.SEEK_SET); os.write(log, b"three")
os.execv("/bin/sh", ["sh", "-c", "echo four >> ../log"])
"#;

fn shared(source: &str) -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    let recording = recorded_by(source, &directory, &["python3", "-c", SHARED]);
    let offsets = |name: &str| -> Vec<(u64, u64)> {
        let file = directory.join(name).display().to_string();
        let is_write = |operation: &&Operation| operation.verb == "write" && operation.file == file;
        let writes = recording.operations.iter().filter(is_write);
        writes.map(|write| (write.offset, write.bytes)).collect()
    };
    let expected = [(0, 5), (5, 5), (10, 6), (16, 6), (2, 1), (6, 1), (21, 1), (100, 3), (22, 3)];
    assert_eq!(offsets("a"), expected);
    assert_eq!(offsets("log"), [(0, 3), (3, 3), (6, 5), (11, 5)]);
    assert_eq!(fs::read(directory.join("log"))?, b"onetwothreefour\n");
    let writers = recording.operations.iter().filter(|operation| operation.file.ends_with("/a"));
    let mut threads: Vec<(u32, u32)> = writers.map(|write| (write.process, write.thread)).collect();
    threads.sort_unstable();
    threads.dedup();
    assert_eq!(threads.len(), 3, "{threads:?}");
    assert!(threads.iter().any(|(process, thread)| process != thread), "{threads:?}");
    Ok(())
}

/// ldconfig has no interpreter: nothing could be loaded into it.
fn static_program() -> Outcome {
    let recording = recorded(Path::new("/"), &["ldconfig", "-p"]);
    let reads: Vec<&Operation> =
        recording.operations.iter().filter(|operation| operation.file == "/etc/ld.so.cache").collect();
    assert!(reads.iter().any(|operation| operation.verb == "open"), "{reads:?}");
    assert!(
        reads.iter().all(|operation| operation.size == Some(fs::metadata("/etc/ld.so.cache").unwrap().len()))
    );
    Ok(())
}

const TOLD: &str = r#"
import os
os.stat("old")
f = os.open("old", os.O_RDWR | os.O_DSYNC)
os.read(f, 1000)
os.write(f, b"x")
g = os.open("old", os.O_WRONLY | os.O_TRUNC)
h = os.open("new", os.O_WRONLY | os.O_CREAT, 0o600)
for name in ["new", "none"]:
    try: os.open(name, os.O_CREAT | os.O_EXCL)
    except OSError: pass
try: os.write(99, b"x")
except OSError: pass
try: os.unlink("missing")
except OSError: pass
os.rename("new", "newer"); os.link("newer", "second"); os.symlink("../text", "link"); os.truncate("old", 4096)
os.posix_fallocate(f, 0, 8192); os.fdatasync(f); os.listdir(".")
"#;

fn told(source: &str) -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    fs::write(directory.join("old"), vec![1; 500])?;
    let recording = recorded_by(source, &directory, &["python3", "-c", TOLD]);
    let prefix = format!("{}/", directory.display());
    let line = |operation: &&Operation| {
        let Operation { verb, file, other, offset, bytes, result, flags, size, .. } = operation;
        let (file, other) = (file.replace(&prefix, ""), other.replace(&prefix, ""));
        let result = if ["open", "create"].contains(&verb.as_str()) {
            result.map(|result| result.min(0))
        } else {
            *result
        };
        let result = result.map_or("?".to_string(), |result| result.to_string());
        let size = size.map_or("-".to_string(), |size| size.to_string());
        format!("{verb} {file} {other} {offset}+{bytes} {flags:x} {size} = {result}")
    };
    let names =
        ["old", "new", "none", "missing", "newer", "second", "link"].map(|name| format!("{prefix}{name}"));
    let is_ours = |operation: &&Operation| {
        names.contains(&operation.file) && !["fstat", "close"].contains(&operation.verb.as_str())
    };
    let lines: Vec<String> =
        recording.operations.iter().filter(is_ours).map(|operation| line(&operation)).collect();
    let (created, emptied, durable) = (RecordFlags::CREATED.0, RecordFlags::TRUNCATED.0, RecordFlags::FUA.0);
    let expected = [
        "stat old  0+0 0 500 = 0".to_string(),
        format!("open old  0+0 {durable:x} 500 = 0"),
        "read old  0+1000 0 500 = 500".into(),
        format!("write old  500+1 {durable:x} 500 = 1"),
        format!("open old  0+0 {emptied:x} 500 = 0"),
        format!("open new  0+384 {created:x} - = 0"),
        "create new  0+511 0 - = -17".into(),
        format!("create none  0+511 {created:x} - = 0"),
        "unlink missing  0+0 0 - = -2".into(),
        "rename new newer 0+0 0 - = 0".into(),
        "link newer second 0+0 0 - = 0".into(),
        "symlink link ../text 0+0 0 - = 0".into(),
        "truncate old  0+4096 0 500 = 0".into(),
        "fallocate old  0+8192 0 500 = 0".into(),
        "fdatasync old  0+0 0 500 = 0".into(),
    ];
    assert_eq!(lines, expected);
    Ok(())
}

const SPECIAL: &str = r#"
import ctypes, fcntl, os, stat, struct
libc = ctypes.CDLL(None, use_errno=True)
def tried(what):
    try: what()
    except OSError: pass
a = os.open("a", os.O_RDWR)
b = os.open("b", os.O_RDWR | os.O_CREAT)
for mode in [1, 3, 0x10, 0x08, 0x20]:
    libc.fallocate(a, mode, ctypes.c_long(4096), ctypes.c_long(8192))
tried(lambda: os.setxattr("a", "user.colour", b"red"))
tried(lambda: os.getxattr(a, "user.colour"))
tried(lambda: os.removexattr("a", "user.shape", follow_symlinks=False))
os.mkfifo("p", 0o600)
tried(lambda: os.mknod("n", stat.S_IFCHR | 0o640, os.makedev(0x1ff, 0x12345)))
tried(lambda: fcntl.ioctl(b, 0x40049409, a))
tried(lambda: fcntl.ioctl(b, 0x4020940d, struct.pack("qQQQ", a, 4096, 8192, 4096)))
tried(lambda: fcntl.ioctl(b, 0x4020940d, struct.pack("qQQQ", a, 0, 8192, 4096)))
"#;

fn special(source: &str) -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    fs::write(directory.join("a"), vec![1; 65_536])?;
    let recording = recorded_by(source, &directory, &["python3", "-c", SPECIAL]);
    let prefix = format!("{}/", directory.display());
    let verbs = [
        "fallocate",
        "trim",
        "write_zeroes",
        "setxattr",
        "getxattr",
        "removexattr",
        "mkfifo",
        "mknod",
        "clone",
    ];
    let told = recording
        .operations
        .iter()
        .filter(|operation| verbs.contains(&operation.verb.as_str()) && operation.file.starts_with(&prefix));
    let told: Vec<String> = told
        .map(|operation| {
            let Operation { verb, file, other, offset, bytes, flags, .. } = operation;
            let (file, other) = (file.replace(&prefix, ""), other.replace(&prefix, ""));
            format!("{verb} {file} {other} {offset}+{bytes} {flags:x}")
        })
        .collect();
    let flag = |flag: RecordFlags| flag.0;
    let keeps = flag(RecordFlags::KEEPS_SIZE);
    let mut expected = vec![
        format!("fallocate a  4096+8192 {keeps:x}"),
        format!("trim a  4096+8192 {keeps:x}"),
        "write_zeroes a  4096+8192 0".to_string(),
        format!("fallocate a  4096+8192 {:x}", flag(RecordFlags::COLLAPSES)),
        format!("fallocate a  4096+8192 {:x}", flag(RecordFlags::INSERTS)),
        "setxattr a user.colour 0+3 0".into(),
        "getxattr a user.colour 0+128 0".into(),
        "removexattr a user.shape 0+0 0".into(),
        format!("mkfifo p  0+{} 0", 0o010_600),
        format!("mknod n  {}+{} 0", 0x1ff_u64 << 32 | 0x12345, 0o020_640),
        format!("clone b a 0+0 {:x}", flag(RecordFlags::SAME_RANGE)),
        format!("clone b a 4096+8192 {:x}", flag(RecordFlags::SAME_RANGE)),
        "clone b a 4096+8192 0".into(),
    ];
    // Python asks again with more room where a value does not fit, and where there are none.
    expected.dedup();
    assert_eq!(told, expected);
    Ok(())
}

const COPIES: &str = r#"
import os
a = os.open("a", os.O_RDONLY)
b = os.open("b", os.O_WRONLY | os.O_CREAT)
os.copy_file_range(a, b, 3000, 1000, 5000)
os.sendfile(b, a, 0, 100)
r, w = os.pipe()
os.splice(a, w, 50)
os.splice(r, b, 50)
"#;

fn copies() -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    fs::write(directory.join("a"), vec![7; 10_000])?;
    let recording = recorded(&directory, &["python3", "-c", COPIES]);
    let within = recording.within(&directory);
    let moved = within
        .iter()
        .filter(|operation| ["read", "write", "copy_file_range"].contains(&operation.verb.as_str()));
    let moved: Vec<(&str, &str, u64, Option<i64>)> =
        moved.map(|o| (o.verb.as_str(), &o.file[o.file.len() - 1..], o.offset, o.result)).collect();
    assert_eq!(
        moved,
        [
            ("read", "a", 1000, Some(3000)),
            ("copy_file_range", "b", 5000, Some(3000)),
            ("read", "a", 0, Some(100)),
            ("write", "b", 0, Some(100)),
            ("read", "a", 0, Some(50)),
            ("write", "b", 100, Some(50)),
        ]
    );
    Ok(())
}

const MAPPED: &str = r#"
import mmap, os
f = os.open("m", os.O_RDWR)
m = mmap.mmap(f, 8192, offset=4096)
m[10:20] = b"0123456789"
m.flush(4096, 4096)
"#;

fn mapped() -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    fs::write(directory.join("m"), vec![0; 65_536])?;
    let recording = recorded(&directory, &["python3", "-c", MAPPED]);
    let within = recording.within(&directory);
    let mapped: Vec<(&str, u64, u64)> = within
        .iter()
        .filter(|operation| operation.flags & RecordFlags::MAPPED.0 != 0)
        .map(|operation| (operation.verb.as_str(), operation.offset, operation.bytes))
        .collect();
    assert_eq!(mapped, [("write", 4096, 8192), ("msync", 8192, 4096)]);
    assert!(recording.notes.iter().any(|note| note.contains("accesses to the mapped memory are not seen")));
    Ok(())
}

fn ends() -> Outcome {
    let sandbox = sandbox();
    let out = sandbox.path().join("records");
    for (script, status) in [("exit 7", 7), ("kill -KILL $$", 137), ("sleep 0 & wait; exit 0", 0)] {
        let output = Program::new(recorder(sandbox.path(), &out, &["sh", "-c", script])).run();
        assert_eq!(output.code(), status, "{script}: {output}");
    }
    // What goes on after the program is recorded to its end.
    let script = "(exec 3> late; echo written >&3) & exit 3";
    let output = Program::new(recorder(sandbox.path(), &out, &["sh", "-c", script])).run();
    assert_eq!(output.code(), 3);
    let recording = Recording::read(&out);
    assert!(recording.within(&whole(sandbox.path())).iter().any(|operation| operation.verb == "write"));
    Ok(())
}

fn interrupted() -> Outcome {
    let sandbox = sandbox();
    let out = sandbox.path().join("records");
    let script = "trap 'echo bye > end; exit 4' INT; echo $$ > pid; (sleep 1000 & echo $! > other; wait) & \
                  echo ready; wait";
    let mut recorder = running(sandbox.path(), &out, &["bash", "-c", script]);
    recorder.says("ready");
    // The program is told, and answers as it likes.
    recorder.signal(libc::SIGINT);
    let end = sandbox.path().join("end");
    recorder.until("the program's answer", || end.exists());
    let number = |name: &str| fs::read_to_string(sandbox.path().join(name)).unwrap_or_default();
    recorder.until("the other process", || number("other").ends_with('\n'));
    // One that has ended may wait for its parent, which is nobody of ours.
    let is_there = |name: &str| {
        let stat = fs::read_to_string(Path::new("/proc").join(number(name).trim()).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    recorder.until("the end of the program", || !is_there("pid"));
    // Those that go on are ended by the next one.
    recorder.signal(libc::SIGINT);
    let output = recorder.end();
    assert_eq!(output.code(), 4, "{output}");
    assert!(!is_there("other"));
    let recording = Recording::read(&out);
    let writes = recording.within(&whole(sandbox.path()));
    assert!(writes.iter().any(|operation| operation.verb == "write" && operation.file.ends_with("/end")));
    Ok(())
}

/// Stops for the same calls: strace stops twice at each.
fn stops() -> Outcome {
    let sandbox = sandbox();
    let directory = whole(sandbox.path());
    let git = |name: &str| {
        format!("git init -q {name} && cd {name} && seq 1000 > f && git add f && git status > /dev/null")
    };
    let recording = recorded(&directory, &["sh", "-c", &git("ours")]);
    let counts = directory.join("counts");
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-c", "-e", "trace=%file,%desc", "-o"]).arg(&counts);
    strace.args(["sh", "-c", &git("theirs")]).current_dir(&directory);
    Program::new(strace).run().expect(0, &[]);
    let total = fs::read_to_string(&counts)?;
    let total = total.lines().rfind(|line| line.ends_with("total")).expect("a total");
    let calls: u64 = total.split_whitespace().nth(3).and_then(|calls| calls.parse().ok()).expect("calls");
    let stops = recording.entries + recording.exits;
    assert!(stops * 10 < calls * 2 * 9, "{stops} stops, and strace has {}", 2 * calls);
    Ok(())
}

fn refused() -> Outcome {
    let sandbox = sandbox();
    let out = sandbox.path().join("records");
    let output = Program::new(recorder(sandbox.path(), &out, &["no-such-program"])).run();
    assert_eq!(output.code(), 99);
    assert!(output.err.starts_with("no such program; "), "{output}");
    let output = Program::new(recorder(sandbox.path(), &out, &["/"])).run();
    assert!(output.err.contains("it cannot be executed"), "{output}");
    assert!(!out.exists());
    Ok(())
}
