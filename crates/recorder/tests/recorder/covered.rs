//! Programs in a directory that a recording file system covers: they do what they do without it, and all of it is recorded.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_trace::RecordFlags;
use tempfile::TempDir;
use testbed::program::Program;
use testbed::{Case, Need, Outcome};

use crate::child::{COVERED, Operation, Recording, recorder};

pub fn cases() -> Vec<Case> {
    let needs = [Need::Fuse, Need::Root];
    let with = |tool| [Need::Fuse, Need::Root, Need::Tool(tool)];
    vec![
        Case::new("all_calls_come_back_as_without_it", &with("python3"), faithful),
        Case::new(
            "a_database_that_maps_its_file_is_whole_and_its_pages_are_recorded",
            &with("sqlite3"),
            sqlite,
        ),
        Case::new("git_and_tar_leave_what_was_recorded", &with("git"), git_and_tar),
        Case::new("a_static_program_that_maps_a_file_is_recorded", &with("ldconfig"), static_program),
        Case::new("written_mappings_are_in_the_file_and_in_the_trace", &with("python3"), mapped),
        Case::new("other_users_have_their_own_rights", &with("setpriv"), users),
        Case::new("nobody_else_sees_it_and_no_mount_stays", &needs, private).waits(),
        Case::new("an_interruption_ends_those_that_go_on", &needs, interrupted).waits(),
        Case::new("what_cannot_be_covered_is_said", &with("setpriv"), refused),
    ]
}

struct Covered {
    home: TempDir,
    directory: PathBuf,
    out: PathBuf,
}

impl Covered {
    fn new() -> Covered {
        let home = tempfile::tempdir().expect("a directory");
        let whole = fs::canonicalize(home.path()).expect("it is there");
        let directory = whole.join("covered");
        fs::create_dir(&directory).expect("a directory");
        Covered { home, directory, out: whole.join("records") }
    }

    fn recorder(&self, command: &[&str]) -> Command {
        let mut recorder = recorder(&self.directory, &self.out, command);
        recorder.env(COVERED, &self.directory);
        recorder
    }

    #[track_caller]
    fn record(&self, command: &[&str]) -> (String, Recording) {
        let output = Program::new(self.recorder(command)).run();
        output.expect(0, &[]);
        (output.out.clone(), Recording::read(&self.out))
    }

    fn name(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }
}

const FAITHFUL: &str = r##"
import ctypes, errno, fcntl, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def show(*what): print(*what)
def tried(name, call):
    try: show(name, call())
    except OSError as error: show(name, errno.errorcode[error.errno])
os.umask(0o027)
f = os.open("a", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
tried("again", lambda: os.open("a", os.O_CREAT | os.O_EXCL))
os.write(f, b"0123456789" * 1000)
show("read", os.pread(f, 20, 9990), os.pread(f, 20, 10000))
os.ftruncate(f, 5000); show("size", os.fstat(f).st_size)
os.lseek(f, 0, os.SEEK_END); os.write(f, b"end")
g = os.open("a", os.O_WRONLY | os.O_APPEND); os.write(g, b"appended"); os.close(g)
show("size", os.stat("a").st_size)
os.posix_fallocate(f, 0, 100000)
show("punch", libc.fallocate(f, 3, ctypes.c_long(4096), ctypes.c_long(40960)))
os.pwrite(f, b"data", 90112)
show("hole", os.lseek(f, 0, os.SEEK_HOLE), os.lseek(f, 4096, os.SEEK_DATA))
tried("nodata", lambda: os.lseek(f, 10000000, os.SEEK_DATA))
b = os.open("b", os.O_RDWR | os.O_CREAT, 0o600)
show("copied", os.copy_file_range(f, b, 1000, 100, 50), os.pread(b, 60, 0))
os.fsync(b); os.fdatasync(b)
os.mkdir("d", 0o777); os.mkdir("d/e"); os.mkfifo("p"); os.symlink("../nowhere", "l"); os.link("a", "d/hard")
show("link", os.readlink("l"), os.lstat("l").st_size, os.stat("a").st_nlink)
show("same", os.stat("a").st_ino == os.stat("d/hard").st_ino)
tried("rmdir", lambda: os.rmdir("d"))
tried("isdir", lambda: os.unlink("d") if os.geteuid() else os.open("d", os.O_WRONLY))
tried("notdir", lambda: os.open("a/b", os.O_RDONLY))
tried("loop", lambda: (os.symlink("s2", "s1"), os.symlink("s1", "s2"), os.open("s1", os.O_RDONLY)))
tried("long", lambda: os.mkdir("x" * 256))
def renameat2(a, b, flags):
    if libc.renameat2(-100, a, -100, b, flags): raise OSError(ctypes.get_errno(), "renameat2")
    return 0
tried("noreplace", lambda: renameat2(b"a", b"b", 1))
tried("exchange", lambda: renameat2(b"a", b"b", 2))
show("swapped", os.stat("b").st_size > os.stat("a").st_size)
os.rename("d", "moved"); show("list", sorted(os.listdir(".")), sorted(os.listdir("moved")))
h = os.open("moved/hard", os.O_RDONLY); os.unlink("moved/hard")
show("deleted", len(os.read(h, 10)), os.fstat(h).st_nlink)
os.chmod("a", 0o4755); os.chown("a", 12, 34)
os.utime("a", ns=(123456789, -1500000000)); os.chown("l", 5, 6, follow_symlinks=False)
os.utime("l", ns=(1000, 2000), follow_symlinks=False)
s = os.stat("a"); show("stat", oct(s.st_mode), s.st_uid, s.st_gid, s.st_atime_ns, s.st_mtime_ns)
tried("xattr", lambda: os.setxattr("a", "user.x", b"value"))
tried("xattr", lambda: (os.getxattr("a", "user.x"), os.listxattr("a")))
tried("xattr", lambda: os.setxattr("a", "user.x", b"v", os.XATTR_CREATE))
tried("xattr", lambda: os.removexattr("a", "user.x"))
tried("xattr", lambda: os.getxattr("a", "user.x"))
fcntl.lockf(f, fcntl.LOCK_EX, 10, 100)
r, w = os.pipe()
if os.fork() == 0:
    other = os.open("b", os.O_RDWR)
    for start in (0, 105):
        try: fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, start); os.write(w, b"free ")
        except OSError as error: os.write(w, errno.errorcode[error.errno].encode() + b" ")
    asked = struct.pack("hhllixxxx", fcntl.F_WRLCK, 0, 0, 0, 0)
    k, t, start, length, pid = struct.unpack("hhllixxxx", fcntl.fcntl(other, fcntl.F_GETLK, asked))
    os.write(w, b"%d %d %d" % (k, start, length))
    os.close(w); os._exit(0)
os.wait(); show("locks", os.read(r, 100))
fcntl.lockf(f, fcntl.LOCK_UN, 10, 100)
fcntl.flock(f, fcntl.LOCK_EX)
v = os.statvfs("."); show("statvfs", v.f_bsize, v.f_namemax, v.f_blocks > 0)
open("t", "w").write("abc"); t = os.open("t", os.O_WRONLY | os.O_TRUNC); show("trunc", os.fstat(t).st_size); os.truncate("t", 77)
d = os.open(".", os.O_RDONLY); os.fsync(d); show("at", os.stat("t", dir_fd=d).st_size)
open("run", "w").write("#!/bin/sh\necho runs $0\n"); os.chmod("run", 0o755); sys.stdout.flush(); os.system("./run")
show("access", os.access("run", os.X_OK), os.access("t", os.X_OK), os.access("none", os.F_OK))
os.mkdir("many")
for i in range(3000): os.close(os.open("many/%d" % i, os.O_CREAT))
show("many", len(os.listdir("many")))
"##;

/// Names, modes, owners, sizes and times of a tree; times where they were set.
fn tree(directory: &Path) -> Vec<String> {
    let mut command = Command::new("find");
    // How many blocks a directory has depends on what its neighbours have.
    let (all, blocks) = ("%p %y %m %U %G %n %l", "%p %y %m %U %G %n %l %b");
    let (all, blocks) = (format!("{all}\\n"), format!("{blocks}\\n"));
    command.args([".", "-not", "-path", "./many/*", "(", "-type", "d", "-printf", &all]);
    command.args(["-o", "-printf", &blocks, ")"]);
    command.current_dir(directory);
    let output = Program::new(command).run();
    output.expect(0, &[]);
    let mut lines: Vec<String> = output.out.lines().map(String::from).collect();
    lines.sort();
    for name in ["a", "l"] {
        let metadata = fs::symlink_metadata(directory.join(name)).expect(name);
        lines.push(format!("{name} {} {} {}", metadata.len(), metadata.mtime(), metadata.mtime_nsec()));
    }
    lines
}

fn faithful() -> Outcome {
    let covered = Covered::new();
    let plain = covered.home.path().join("plain");
    fs::create_dir(&plain)?;
    let mut command = Command::new("python3");
    command.args(["-c", FAITHFUL]).current_dir(&plain);
    let expected = Program::new(command).run();
    expected.expect(0, &[]);
    let (out, recording) = covered.record(&["python3", "-c", FAITHFUL]);
    assert_eq!(out, expected.out);
    assert_eq!(tree(&covered.directory), tree(&plain));
    for name in ["a", "b", "t", "run"] {
        assert!(fs::read(covered.directory.join(name))? == fs::read(plain.join(name))?, "{name}");
    }
    let has = |verb: &str, name: &str, offset: u64, bytes: u64, result: i64| {
        let (name, is_one) = (covered.name(name), |o: &Operation| (o.offset, o.bytes) == (offset, bytes));
        let found = recording.operations.iter().filter(|o| o.verb == verb && o.file == name);
        let found: Vec<&Operation> = found.collect();
        assert!(found.iter().any(|o| is_one(o) && o.result == Some(result)), "{verb} {name}: {found:?}");
    };
    has("create", "a", 0, 0o640, 0);
    has("write", "a", 0, 10_000, 10_000);
    has("write", "a", 5000, 3, 3);
    has("write", "a", 5003, 8, 8);
    has("truncate", "a", 0, 5000, 0);
    has("trim", "a", 4096, 40960, 0);
    has("copy_file_range", "b", 50, 1000, 1000);
    has("read", "a", 100, 1000, 1000);
    has("mkdir", "d", 0, 0o750, 0);
    has("rename", "d", 0, 0, 0);
    has("rename", "a", 0, 0, 0);
    has("rmdir", "d", 0, 0, -i64::from(libc::ENOTEMPTY));
    has("stat", "none", 0, 0, -i64::from(libc::ENOENT));
    has("lock", "b", 105, 5, -i64::from(libc::EAGAIN));
    has("unlock", "b", 100, 10, 0);
    Ok(())
}

fn sqlite() -> Outcome {
    let covered = Covered::new();
    let sql = "pragma mmap_size = 10000000; create table t(a, b); insert into t values(1, 'some text');\n\
               insert into t select a + 1, b from t; insert into t select a + 2, b from t;\n\
               pragma journal_mode = wal; insert into t select a + 4, b from t; select sum(a) from t;";
    let (out, recording) = covered.record(&["sqlite3", "s.db", sql]);
    assert!(out.ends_with("36\n"), "{out}");
    let mut check = Command::new("sqlite3");
    check
        .args(["s.db", "pragma integrity_check; select count(*), sum(a) from t"])
        .current_dir(&covered.directory);
    Program::new(check).run().expect(0, &["ok", "8|36"]);
    let name = covered.name("s.db");
    let of = |verb: &'static str| {
        recording.operations.iter().filter(move |o| o.verb == verb).filter(|o| o.file == name)
    };
    assert!(of("read").any(|o| o.flags & RecordFlags::MAPPED.0 != 0), "pages of the mapping are read");
    assert!(of("lock").next().is_some() && of("unlock").next().is_some());
    let size = fs::metadata(&name)?.len();
    assert_eq!(of("write").map(|o| o.offset + o.bytes).max(), Some(size));
    Ok(())
}

/// Bytes from 0 on that were written to each file by its last name.
fn written(recording: &Recording) -> BTreeMap<String, u64> {
    let mut written: BTreeMap<String, u64> = BTreeMap::new();
    for operation in recording.operations.iter().filter(|o| o.verb == "write") {
        let end = written.entry(operation.file.clone()).or_default();
        *end = (*end).max(operation.offset + operation.result.unwrap_or(0).max(0) as u64);
    }
    written
}

fn git_and_tar() -> Outcome {
    let covered = Covered::new();
    let script = "git init -q r && cd r && git config user.name a && git config user.email b && \
                  for i in 1 2 3 4 5; do seq $i 900 > f$i; git add . && git commit -qm $i; done && \
                  git gc -q && git status --short && cd .. && tar cf t.tar r && mkdir out && tar xf t.tar -C out";
    let (out, recording) = covered.record(&["sh", "-c", script]);
    assert_eq!(out, "");
    for repository in ["r", "out/r"] {
        let mut check = Command::new("git");
        check
            .args(["-c", "safe.directory=*", "fsck", "--full"])
            .current_dir(covered.directory.join(repository));
        Program::new(check).run().expect(0, &[]);
    }
    let mut same = Command::new("diff");
    same.args(["-r", "r", "out/r"]).current_dir(&covered.directory);
    Program::new(same).run().expect(0, &[]);
    let written = written(&recording);
    for name in ["t.tar", "r/f1", "out/r/f5", "out/r/.git/HEAD"] {
        assert_eq!(
            written.get(&covered.name(name)).copied(),
            Some(fs::metadata(covered.name(name))?.len()),
            "{name}"
        );
    }
    Ok(())
}

fn static_program() -> Outcome {
    let covered = Covered::new();
    fs::copy("/etc/ld.so.cache", covered.directory.join("cache"))?;
    let (out, recording) = covered.record(&["ldconfig", "-C", &covered.name("cache"), "-p"]);
    assert!(out.contains("libs found"), "{out}");
    let size = fs::metadata(covered.name("cache"))?.len();
    let of = |verb: &'static str| recording.operations.iter().filter(move |o| o.verb == verb);
    let pages: u64 = of("read")
        .filter(|o| o.flags & RecordFlags::MAPPED.0 != 0)
        .map(|o| o.result.unwrap_or(0) as u64)
        .sum();
    assert!(pages >= size, "{pages} bytes of {size}: {:?}", recording.operations);
    assert!(of("open").all(|o| o.size == Some(size)));
    Ok(())
}

const MAPPED: &str = r#"
import mmap, os
f = os.open("m", os.O_RDWR)
m = mmap.mmap(f, 65536)
m[10:20] = b"0123456789"
m.flush()
m[40000:40004] = b"late"
print(os.pread(f, 10, 10))
os.pwrite(f, b"direct", 9000)
print(m[9000:9006])
os._exit(0)
"#;

fn mapped() -> Outcome {
    let covered = Covered::new();
    fs::write(covered.directory.join("m"), vec![0; 65_536])?;
    let (out, recording) = covered.record(&["python3", "-c", MAPPED]);
    assert_eq!(out, "b'0123456789'\nb'direct'\n");
    let bytes = fs::read(covered.directory.join("m"))?;
    assert_eq!(
        (&bytes[10..20], &bytes[40_000..40_004], &bytes[9000..9006]),
        (&b"0123456789"[..], &b"late"[..], &b"direct"[..])
    );
    let writes = recording.operations.iter().filter(|o| o.verb == "write" && o.file == covered.name("m"));
    let writes: Vec<(u64, bool)> = writes.map(|o| (o.offset, o.flags & RecordFlags::MAPPED.0 != 0)).collect();
    for page in [0, 36_864] {
        assert!(writes.contains(&(page, true)), "{writes:?}");
    }
    assert!(writes.contains(&(9000, false)), "{writes:?}");
    Ok(())
}

fn users() -> Outcome {
    let covered = Covered::new();
    fs::set_permissions(covered.home.path(), fs::Permissions::from_mode(0o755))?;
    fs::set_permissions(&covered.directory, fs::Permissions::from_mode(0o777))?;
    fs::create_dir(covered.directory.join("secret"))?;
    fs::set_permissions(covered.directory.join("secret"), fs::Permissions::from_mode(0o700))?;
    fs::write(covered.directory.join("mine"), "mine")?;
    fs::set_permissions(covered.directory.join("mine"), fs::Permissions::from_mode(0o640))?;
    fs::write(covered.directory.join("grouped"), "grouped")?;
    fs::set_permissions(covered.directory.join("grouped"), fs::Permissions::from_mode(0o640))?;
    std::os::unix::fs::chown(covered.directory.join("grouped"), None, Some(4242))?;
    let script = "echo x > theirs; mkdir dir; ls secret 2>&1 | grep -o 'Permission denied'; cat mine 2>&1 | \
                  grep -o 'Permission denied'; cat grouped; rm -f mine; chmod 777 secret 2>&1 | grep -o 'not permitted'";
    let (out, recording) = covered
        .record(&["setpriv", "--reuid", "65534", "--regid", "65533", "--groups", "4242", "sh", "-c", script]);
    assert_eq!(out, "Permission denied\nPermission denied\ngroupednot permitted\n");
    for name in ["theirs", "dir"] {
        let metadata = fs::metadata(covered.directory.join(name))?;
        assert_eq!((metadata.uid(), metadata.gid()), (65_534, 65_533), "{name}");
    }
    assert!(!covered.directory.join("mine").exists(), "the directory is everybody's");
    let denied = recording.operations.iter().filter(|o| o.result == Some(-i64::from(libc::EACCES)));
    assert!(denied.count() >= 2);
    Ok(())
}

fn is_mounted(directory: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.contains(&directory.display().to_string())
}

fn private() -> Outcome {
    let covered = Covered::new();
    let script = "pwd; grep -c \" $PWD \" /proc/self/mountinfo; echo in > inside; echo ready; read answer < gate; exit 6";
    let made = Command::new("mkfifo").arg(covered.directory.join("gate")).status()?;
    assert!(made.success());
    let mut recorder = Program::new(covered.recorder(&["sh", "-c", script])).start();
    recorder.says("ready");
    assert!(!is_mounted(&covered.directory));
    // What is written inside is outside at once, and the other way round.
    assert_eq!(fs::read_to_string(covered.directory.join("inside"))?, "in\n");
    recorder.signal(libc::SIGTERM);
    let output = recorder.end();
    assert_eq!((output.code(), output.out.lines().nth(1)), (143, Some("1")), "{output}");
    assert!(!is_mounted(&covered.directory));
    let recording = Recording::read(&covered.out);
    assert!(recording.operations.iter().any(|o| o.verb == "write" && o.file == covered.name("inside")));
    // Killed, it leaves nothing either.
    let mut recorder =
        Program::new(covered.recorder(&["sh", "-c", "echo ready; sleep 1000 & echo $! > other; wait"]))
            .start();
    recorder.says("ready");
    recorder.until("the other one", || {
        fs::read_to_string(covered.name("other")).is_ok_and(|id| id.ends_with('\n'))
    });
    recorder.signal_all(libc::SIGKILL);
    let _ = recorder.outcome();
    assert!(!is_mounted(&covered.directory));
    assert_eq!(fs::read_to_string(covered.directory.join("inside"))?, "in\n");
    Ok(())
}

fn interrupted() -> Outcome {
    let covered = Covered::new();
    let script = "(trap '' INT; sleep 1000 & echo $! > other; wait) & while ! [ -s other ]; do :; done; \
                  trap 'echo bye > end; exit 4' INT; echo $$ > pid; echo ready; while :; do sleep 0.01; done";
    let mut recorder = Program::new(covered.recorder(&["bash", "-c", script])).start();
    recorder.says("ready");
    let number = |name: &str| fs::read_to_string(covered.name(name)).unwrap_or_default().trim().to_string();
    let (program, other) = (number("pid"), number("other"));
    // One that has ended may wait for its parent, which is nobody of ours.
    let is_there = |process: &str| {
        let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    recorder.signal(libc::SIGINT);
    recorder.until("the end of the program", || !Path::new("/proc").join(&program).exists());
    assert!(is_there(&other), "what goes on is recorded to its end");
    recorder.signal(libc::SIGINT);
    let output = recorder.end();
    assert_eq!(output.code(), 4, "{output}");
    assert!(!is_there(&other));
    let recording = Recording::read(&covered.out);
    assert!(recording.operations.iter().any(|o| o.verb == "write" && o.file == covered.name("end")));
    Ok(())
}

fn refused() -> Outcome {
    let covered = Covered::new();
    for (directory, words) in [
        ("/", "the root cannot be covered; name a directory below it"),
        ("/etc/passwd", "it is no directory; name the directory that the command works in"),
        ("/no/such", "No such file or directory; name the directory"),
    ] {
        let mut recorder = covered.recorder(&["true"]);
        recorder.env(COVERED, directory);
        let output = Program::new(recorder).run();
        assert_eq!(output.code(), 99);
        assert!(output.err.contains(words), "{output}");
    }
    let output = Program::new(covered.recorder(&["no-such-program"])).run();
    assert!(output.code() == 99 && output.err.starts_with("no such program: no-such-program; "), "{output}");
    let program = std::env::current_exe()?;
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--clear-groups", "--inh-caps=-all"]).arg(program).arg("true");
    command.env(crate::child::OUT, &covered.out).env(COVERED, &covered.directory).current_dir("/");
    let output = Program::new(command).run();
    assert!(output.code() != 0 && !covered.out.exists(), "{output}");
    Ok(())
}
