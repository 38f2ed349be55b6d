//! Every family against a directory of its own.

use super::*;

/// Words of a call.
fn words(line: &str) -> Vec<String> {
    line.split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| if word == "\"\"" { "" } else { word }.into())
        .collect()
}

/// Hands in a directory of their own: `@` in a line stands for it.
struct Bench {
    hands: Hands,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Bench { hands: Hands::default(), directory: tempfile::tempdir().unwrap() }
    }

    fn call(&mut self, line: &str) -> Answer {
        self.try_call(line).unwrap_or_else(|wrong| panic!("{line}: {wrong}"))
    }

    fn try_call(&mut self, line: &str) -> Result<Answer, String> {
        let line = line.replace('@', self.directory.path().to_str().unwrap());
        let (label, line) = line.split_once(" = ").unwrap_or(("", &line));
        let mut words = words(line);
        let name = words.remove(0);
        self.hands.call(&name, &words, label)
    }

    /// The call succeeds; what it says.
    #[track_caller]
    fn ok(&mut self, line: &str) -> String {
        let answer = self.call(line);
        assert_eq!(answer.errno.map(errno_name), None, "{line}");
        answer.text
    }

    /// The call fails so.
    #[track_caller]
    fn fails(&mut self, line: &str, error: &str) {
        assert_eq!(self.call(line).errno.map(errno_name).as_deref(), Some(error), "{line}");
    }

    /// An attribute of what the call comes back with.
    #[track_caller]
    fn field(&mut self, line: &str, field: &str) -> String {
        let answer = self.call(line);
        assert_eq!(answer.errno.map(errno_name), None, "{line}");
        answer.field(field).unwrap_or_else(|| panic!("{line}: no {field}")).into()
    }
}

#[test]
fn names_come_and_go() {
    let mut bench = Bench::new();
    bench.ok("h = open @/f O_CREAT|O_EXCL,O_RDWR 0640");
    bench.fails("open @/f O_CREAT|O_EXCL 0640", "EEXIST");
    bench.ok("close h");
    bench.fails("close h", "EBADF");
    bench.fails("fstat h", "EBADF");
    bench.ok("link @/f @/g");
    assert_eq!(bench.field("stat @/f", "nlink"), "2");
    bench.ok("symlink nowhere @/s");
    assert_eq!(bench.ok("readlink @/s"), "nowhere");
    assert_eq!(bench.field("lstat @/s", "type"), "symlink");
    bench.fails("stat @/s", "ENOENT");
    bench.ok("d = open @ O_RDONLY|O_DIRECTORY");
    bench.ok("renameat d g AT_FDCWD @/moved");
    bench.ok("unlinkat d moved 0");
    bench.ok("mkdirat d sub 0755");
    bench.ok("unlinkat d sub AT_REMOVEDIR");
    bench.ok("mkfifo @/p 0600");
    assert_eq!(bench.field("lstat @/p", "type"), "fifo");
    bench.ok("create @/c 0600");
    bench.fails("create @/c 0600", "EEXIST");
    bench.fails("rmdir @/c", "ENOTDIR");
    bench.fails("unlink \"\"", "ENOENT");
}

#[test]
fn bad_pointers_reach_the_kernel() {
    let mut bench = Bench::new();
    for line in [
        "open DEADCODE O_RDONLY",
        "open NULL O_RDONLY",
        "stat DEADCODE",
        "lstat NULL",
        "mkdir NULL 0755",
        "rename @ DEADCODE",
        "symlink DEADCODE @/s",
        "readlink NULL",
        "chmod DEADCODE 0644",
        "chown NULL 0 0",
        "unlinkat AT_FDCWD DEADCODE 0",
        "fchmodat AT_FDCWD DEADCODE 0644 SYMLINK_NOFOLLOW",
        "bind DEADCODE",
    ] {
        bench.fails(line, "EFAULT");
    }
    bench.fails("fstatat BADFD f 0", "EBADF");
}

#[test]
fn sockets_are_bound_and_met() {
    let mut bench = Bench::new();
    bench.ok("s = bind @/s");
    assert_eq!(bench.field("lstat @/s", "type"), "socket");
    bench.ok("connect @/s");
    bench.ok("close s");
    bench.fails("connect @/s", "ECONNREFUSED");
    bench.fails("bind @/s", "EADDRINUSE");
    bench.ok("d = open @ O_RDONLY");
    bench.ok("bindat d t");
    assert_eq!(bench.field("lstat @/t", "type"), "socket");
}

#[test]
fn attributes_are_said_as_they_are() {
    let mut bench = Bench::new();
    bench.ok("create @/f 0644");
    bench.ok("chmod @/f 04755");
    assert_eq!(bench.field("stat @/f", "mode"), "04755");
    bench.ok("utimensat AT_FDCWD @/f -2 500000000 1 7 0");
    assert_eq!(bench.field("stat @/f", "atime"), "-2.500000000");
    assert_eq!(bench.field("stat @/f", "mtime"), "1.000000007");
    bench.ok("utimensat AT_FDCWD @/f 5 UTIME_OMIT 0 UTIME_NOW 0");
    assert_eq!(bench.field("stat @/f", "atime"), "-2.500000000");
    assert_ne!(bench.field("stat @/f", "mtime"), "1.000000007");
    bench.fails("utimensat AT_FDCWD @/f 0 1000000000 0 0 0", "EINVAL");
    bench.ok("access @/f R_OK|W_OK");
    assert_eq!(bench.ok("pathconf @ _PC_NAME_MAX"), "255");
    assert!(bench.field("statvfs @", "frsize").parse::<u64>().unwrap() >= 512);
}

#[test]
#[cfg(target_os = "linux")]
fn statx_and_stat_agree() {
    let mut bench = Bench::new();
    bench.ok("create @/f 0640");
    let stat = bench.call("stat @/f");
    let statx = bench.call("statx AT_FDCWD @/f 0 STATX_ALL");
    for (name, value) in &stat.fields {
        assert_eq!(statx.field(name), Some(value.as_str()), "{name}");
    }
    assert!(statx.field("mask").unwrap().starts_with("0x"));
    bench.fails("statx AT_FDCWD @/f 0 STATX__RESERVED", "EINVAL");
}

#[test]
fn misuse_is_told_and_nothing_is_done() {
    let mut bench = Bench::new();
    for (line, hint) in [
        ("opne @/f O_RDONLY", "did you mean `open`"),
        ("mkdir @/d", "it wants 2 arguments, not 1; it is written `mkdir PATH MODE`"),
        ("mkdir @/d 0755 1", "not 3"),
        ("mkdir @/d 0988", "expected a whole number"),
        ("open @/d O_CRAET", "did you mean `O_CREAT`"),
        ("fstat nothing", "nothing was opened under this label"),
        ("mknod @/d x 0644 0 0", "expected b, c, f, d, o"),
    ] {
        let wrong = bench.try_call(line).unwrap_err();
        assert!(wrong.contains(hint), "{line}: {wrong}");
    }
    assert_eq!(std::fs::read_dir(bench.directory.path()).unwrap().count(), 0);
}
