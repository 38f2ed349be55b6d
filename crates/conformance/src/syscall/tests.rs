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

#[test]
#[cfg(target_os = "linux")]
fn the_table_is_what_the_documents_say() {
    let document = include_str!("../../../../docs/rules.md");
    let section = document.split("## Calls").nth(1).unwrap().split("**Names**").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut plain = String::new();
    let mut depth = 0;
    for c in section.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 && c != ')' {
            plain.push(c);
        }
    }
    let mut documented = std::collections::BTreeSet::new();
    // Every other piece between asterisks is a family's name.
    let families = plain.split("**").step_by(2);
    for item in families.flat_map(|family| family.trim_start().trim_start_matches(':').split('·')) {
        for word in item.split_whitespace() {
            let name = word.trim_end_matches([',', '.']);
            if name.starts_with(|c: char| c.is_ascii_lowercase()) {
                documented.insert(name.to_string());
            }
            if !word.ends_with(',') {
                break;
            }
        }
    }
    for (name, _) in crate::calls::RUNNERS {
        assert!(documented.remove(*name), "{name} is no longer the runner's");
    }
    let there: std::collections::BTreeSet<String> =
        table::verbs().map(|verb| verb.name.to_string()).collect();
    assert_eq!(documented.difference(&there).collect::<Vec<_>>(), Vec::<&String>::new(), "not in the table");
    assert_eq!(
        there.difference(&documented).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "not in the documents"
    );
    assert_eq!(table::verbs().count(), there.len(), "a name stands twice");
}

#[test]
fn every_call_says_how_it_is_written() {
    for verb in table::verbs() {
        let (arguments, help) = verb.help.split_once(':').unwrap();
        let said = arguments.split_whitespace().count();
        assert_eq!(said, verb.wanted.len() + verb.welcome.len(), "{}: {arguments}", verb.name);
        assert!(help.len() > 5, "{}", verb.name);
    }
}

#[test]
fn bytes_go_and_come_back() {
    let mut bench = Bench::new();
    bench.ok("h = open @/f O_CREAT|O_RDWR 0600");
    assert_eq!(bench.field("write h hello", "count"), "5");
    assert_eq!(bench.field("pwrite h J 0", "count"), "1");
    assert_eq!(bench.ok("pread h 100 0"), "Jello");
    assert_eq!(bench.ok("read h 10"), "");
    assert_eq!(bench.ok("lseek h -2 SEEK_END"), "3");
    assert_eq!(bench.ok("read h 1"), "l");
    assert_eq!(bench.field("writev h a b cd", "count"), "4");
    bench.ok("lseek h 0 SEEK_SET");
    assert_eq!(bench.ok("readv h 2 100"), "Jellabcd");
    bench.fails("read BADFD 1", "EBADF");
    bench.fails("lseek h -1 SEEK_SET", "EINVAL");
    bench.ok("e = dup h");
    bench.ok("ftruncate e 3");
    assert_eq!(bench.ok("get @/f"), "Jel");
    bench.ok("truncate @/f 5");
    assert_eq!(bench.ok("get @/f"), "Jel\0\0");
    bench.fails("truncate @/f -1", "EINVAL");
    bench.ok("fsync h");
    bench.ok("put @/f new");
    assert_eq!(bench.ok("get @/f"), "new");
    bench.fails("get @/missing", "ENOENT");
    assert!(bench.try_call("read h -1").is_err());
}

#[test]
fn patterns_are_known_by_their_sum() {
    let mut bench = Bench::new();
    bench.ok("h = open @/f O_CREAT|O_RDWR 0600");
    bench.ok("i = open @/g O_CREAT|O_RDWR 0600");
    assert_eq!(bench.field("fill h 0 3000000 seed:7", "count"), "3000000");
    bench.ok("fill i 0 1000001 seed:7");
    bench.ok("fill i 1000001 1999999 seed:7");
    assert_eq!(bench.ok("sum h 0 3000000"), bench.ok("sum i 0 3000000"));
    bench.ok("fill i 5 1 0");
    assert_ne!(bench.ok("sum h 0 3000000"), bench.ok("sum i 0 3000000"));
    bench.ok("fill i 0 100 0");
    assert_eq!(bench.ok("zeros i 0 100"), "yes");
    bench.ok("fill i 90 1 255");
    assert_eq!(bench.ok("zeros i 0 100"), "0xff at 90");
    assert_eq!(bench.ok("zeros i 3000000 10"), "ends after 0");
    assert!(bench.try_call("fill i 0 1 256").is_err());
}

#[test]
#[cfg(target_os = "linux")]
fn bytes_are_moved_from_file_to_file() {
    let mut bench = Bench::new();
    bench.ok("put @/a 0123456789");
    bench.ok("a = open @/a O_RDWR");
    bench.ok("b = open @/b O_CREAT|O_RDWR 0600");
    assert_eq!(bench.field("copy_file_range a 2 b 1 4 0", "count"), "4");
    assert_eq!(bench.ok("get @/b"), "\u{0}2345");
    assert_eq!(bench.field("sendfile b a 5 3", "count"), "3");
    assert_eq!(bench.ok("get @/b"), "56745");
    bench.ok("mkfifo @/p 0600");
    bench.ok("p = open @/p O_RDWR");
    assert_eq!(bench.field("splice a 0 p - 6", "count"), "6");
    assert_eq!(bench.field("splice p - b 0 6", "count"), "6");
    assert_eq!(bench.ok("get @/b"), "012345");
    bench.fails("splice a 0 p 1 6", "ESPIPE");
    bench.fails("copy_file_range a 0 b 0 1 1", "EINVAL");
    // Either the file system shares blocks, or it says so.
    let answer = bench.call("ficlone b a");
    match answer.errno.map(errno_name).as_deref() {
        None => assert_eq!(bench.ok("get @/b"), "0123456789"),
        Some(error) => assert!(["EOPNOTSUPP", "ENOTTY", "EINVAL"].contains(&error), "{error}"),
    }
    assert_eq!(bench.field("pwritev2 b XY 0 RWF_DSYNC", "count"), "2");
    assert_eq!(bench.ok("preadv2 b 2 0 0"), "XY");
    bench.ok("fallocate b KEEP_SIZE 0 65536");
    bench.fails("fallocate b 0 0 0", "EINVAL");
    bench.ok("posix_fallocate b 0 100");
    assert_eq!(bench.field("stat @/b", "size"), "100");
    bench.fails("posix_fallocate b 0 0", "EINVAL");
    bench.ok("fadvise b 0 0 DONTNEED");
    bench.ok("sync_file_range b 0 0 WRITE");
}

#[test]
fn mappings_are_the_file_and_faults_are_answers() {
    let mut bench = Bench::new();
    bench.ok("h = open @/f O_CREAT|O_RDWR 0600");
    bench.ok("ftruncate h 100");
    bench.ok("m = mmap h 0 8192 PROT_READ|PROT_WRITE MAP_SHARED");
    bench.ok("p = mmap h 0 8192 READ|WRITE PRIVATE");
    bench.ok("r = mmap h 0 4096 READ SHARED");
    bench.ok("mwrite m 3 hello");
    assert_eq!(bench.ok("pread h 5 3"), "hello");
    assert_eq!(bench.ok("mread r 3 5"), "hello");
    bench.ok("mwrite p 3 other");
    assert_eq!(bench.ok("mread p 3 5"), "other");
    assert_eq!(bench.ok("pread h 5 3"), "hello");
    bench.fails("mread m 4096 1", "SIGBUS");
    bench.fails("mwrite m 4096 x", "SIGBUS");
    bench.fails("mwrite r 0 x", "SIGSEGV");
    bench.ok("ftruncate h 8192");
    assert_eq!(bench.ok("mread m 4096 1"), "\0");
    bench.ok("msync m MS_SYNC");
    bench.ok("munmap m");
    bench.fails("mread m 0 1", "SIGSEGV");
    assert!(bench.try_call("mread r 4096 1").is_err());
    bench.fails("mmap BADFD 0 4096 READ SHARED", "EBADF");
    assert_eq!(errno_number("SIGBUS"), Some(-libc::SIGBUS));
}

#[test]
fn directories_say_what_is_in_them() {
    let mut bench = Bench::new();
    for name in ["b", "a", "c"] {
        bench.ok(&format!("create @/{name} 0600"));
    }
    bench.ok("mkdir @/d 0700");
    assert_eq!(bench.ok("entries @"), "a b c d");
    assert_eq!(bench.ok("dirents @"), "a:regular b:regular c:regular d:directory");
    bench.ok("s = opendir @");
    assert_eq!(bench.field("readdir s 100", "count"), "6");
    assert_eq!(bench.ok("readdir s"), "");
    bench.ok("rewinddir s");
    bench.ok("readdir s 2");
    let position = bench.ok("telldir s");
    let rest = bench.ok("readdir s 100");
    bench.ok(&format!("seekdir s {position}"));
    assert_eq!(bench.ok("readdir s 100"), rest);
    bench.ok("fsync s");
    bench.ok("closedir s");
    assert!(bench.try_call("readdir s").is_err());
    bench.fails("opendir @/a", "ENOTDIR");
    bench.fails("entries @/missing", "ENOENT");
    assert!(bench.ok("getcwd").starts_with('/'));
}

#[test]
fn locks_are_taken_and_told_of() {
    let mut bench = Bench::new();
    bench.ok("h = open @/f O_CREAT|O_RDWR 0600");
    bench.ok("i = open @/f O_RDWR");
    bench.ok("fcntl_lock h wr 0 10");
    assert_eq!(bench.field("fcntl_getlk h wr 0 10", "type"), "un");
    bench.ok("fcntl_lock h un 0 10 SEEK_SET");
    bench.ok("flock h ex");
    bench.fails("flock i sh nb", "EAGAIN");
    bench.ok("flock h un");
    bench.ok("flock i sh nb");
    bench.ok("ofd_lock h wr 5 5");
    bench.fails("ofd_lock i rd 9 1", "EAGAIN");
    bench.ok("ofd_lock i rd 10 1");
    let answer = bench.call("ofd_getlk i wr 0 0");
    let fields = ["type", "start", "length", "pid"].map(|name| answer.field(name).unwrap());
    assert_eq!(fields, ["wr", "5", "5", "-1"]);
    bench.fails("fcntl_lock BADFD rd 0 0", "EBADF");
}

#[test]
#[cfg(target_os = "linux")]
fn a_lease_is_held_until_another_opens() {
    let mut bench = Bench::new();
    bench.ok("h = open @/f O_CREAT|O_RDWR 0600");
    assert_eq!(bench.ok("getlease h"), "un");
    bench.ok("lease h wr");
    assert_eq!(bench.ok("getlease h"), "wr");
    // Breaking it sends a signal, of which this process must not die.
    bench.fails("open @/f O_RDONLY|O_NONBLOCK", "EAGAIN");
    bench.ok("lease h un");
    assert_eq!(bench.ok("getlease h"), "un");
}

#[test]
#[cfg(target_os = "linux")]
fn extended_attributes_and_lists() {
    let mut bench = Bench::new();
    bench.ok("create @/f 0640");
    bench.ok("setxattr @/f user.one 1");
    bench.fails("setxattr @/f user.one 2 XATTR_CREATE", "EEXIST");
    bench.fails("setxattr @/f user.two 2 REPLACE", "ENODATA");
    bench.ok("h = open @/f O_RDWR");
    bench.ok("fsetxattr h user.a 22");
    assert_eq!(bench.ok("getxattr @/f user.one"), "1");
    assert_eq!(bench.field("getxattr @/f user.a 0", "count"), "2");
    bench.fails("getxattr @/f user.a 1", "ERANGE");
    assert!(bench.ok("listxattr @/f").ends_with("user.a user.one"));
    bench.ok("removexattr @/f user.one");
    bench.fails("lgetxattr @/f user.one", "ENODATA");
    bench.fails("setacl @/f access u::rw-", "EINVAL");
    let list = "u::rw-,u:65534:r--,g::r--,g:7:-w-,m::rw-,o::---";
    bench.ok(&format!("setacl @/f access {list}"));
    assert_eq!(bench.ok("getacl @/f access"), list);
    assert_eq!(bench.field("stat @/f", "mode"), "0660");
    bench.ok("setacl @/f access \"\"");
    bench.fails("getacl @/f access", "ENODATA");
    for wrong in ["u::rw", "x::rw-", "u:me:rw-", "m:1:rw-", "u::rwz", "u::rw-:1"] {
        assert!(bench.try_call(&format!("setacl @/f access {wrong}")).is_err(), "{wrong}");
    }
    assert!(bench.try_call("setflags @/f i").is_err());
    assert!(bench.try_call("setflags @/f +?").is_err());
}

#[test]
#[cfg(target_os = "linux")]
fn flags_keep_a_file_as_it_is() {
    let mut bench = Bench::new();
    bench.ok("create @/f 0640");
    let answer = bench.call("setflags @/f +i");
    if let Some(errno) = answer.errno {
        // Without the right to, or where the file system has no flags: refused, and no flag is set.
        let error = errno_name(errno);
        assert!(["EPERM", "ENOTTY", "EOPNOTSUPP"].contains(&error.as_str()), "{error}");
    } else {
        bench.fails("unlink @/f", "EPERM");
        let flags = bench.call("getflags @/f");
        assert!(flags.text.contains('i') && flags.field("i") == Some("1") && flags.field("a") == Some("0"));
        bench.ok("setflags @/f -i");
    }
    bench.ok("unlink @/f");
    bench.ok("mkfifo @/p 0600");
    bench.fails("getflags @/p", "EOPNOTSUPP");
}

#[test]
#[cfg(target_os = "linux")]
fn events_are_told_in_order_and_in_pairs() {
    let mut bench = Bench::new();
    bench.ok("q = inotify");
    let watch = bench.ok("inotify_add_watch q @ CREATE|DELETE|MOVE");
    assert_eq!(bench.ok("events q"), "");
    bench.ok("create @/a 0600");
    bench.ok("rename @/a @/b");
    bench.ok("mkdir @/d 0700");
    bench.ok("rename @/b @/c");
    let expected = "CREATE a MOVED_FROM:1 a MOVED_TO:1 b CREATE|ISDIR d MOVED_FROM:2 b MOVED_TO:2 c";
    assert_eq!(bench.ok("events q"), expected);
    bench.ok(&format!("inotify_rm_watch q {watch}"));
    assert_eq!(bench.ok("events q"), "IGNORED");
    bench.fails("inotify_rm_watch q 999", "EINVAL");
    bench.fails("events BADFD", "EBADF");
}

#[test]
#[cfg(target_os = "linux")]
fn programs_run_and_end_with_the_round() {
    let mut bench = Bench::new();
    bench.ok("install @/program");
    // Another test's child may hold what was open for writing when it was forked.
    while bench.call("exec @/program").errno == Some(libc::ETXTBSY) {}
    assert_eq!(bench.ok("exec @/program"), "0");
    bench.ok("running @/program");
    bench.fails("open @/program O_WRONLY", "ETXTBSY");
    bench.hands.empty();
    bench.ok("open @/program O_WRONLY");
    bench.ok("chmod @/program 0644");
    bench.fails("exec @/program", "EACCES");
    bench.ok("put @/text nothing");
    bench.ok("chmod @/text 0755");
    bench.fails("exec @/text", "ENOEXEC");
    bench.fails("running @/missing", "ENOENT");
    // SAFETY: takes no pointers.
    if unsafe { libc::geteuid() } == 0 {
        bench.ok("chown @/program 1 1");
        bench.ok("chmod @/program 06755");
        assert_eq!(bench.ok("exec @/program"), "3");
    }
}

#[test]
fn everything_is_made_and_removed() {
    let mut bench = Bench::new();
    for kind in ["regular", "directory", "fifo", "socket", "symlink"] {
        bench.ok(&format!("make {kind} @/x"));
        assert_eq!(bench.field("lstat @/x", "type"), kind);
        bench.fails(&format!("make {kind} @/x"), "EEXIST");
        bench.ok(&format!("remove {kind} @/x"));
    }
    // SAFETY: takes no pointers.
    if unsafe { libc::geteuid() } == 0 {
        for kind in ["block", "char"] {
            bench.ok(&format!("make {kind} @/x 0600"));
            assert_eq!(bench.field("lstat @/x", "type"), kind);
            bench.ok(&format!("remove {kind} @/x"));
        }
    }
    bench.ok("make directory @/x 01711");
    assert_eq!(bench.ok("entries @"), "x");
}

#[test]
fn nothing_large_is_filled() {
    let mut bench = Bench::new();
    // Whatever the tests run on has more room than what may be filled, or is filled and emptied.
    match bench.try_call("exhaust @") {
        Err(wrong) => assert!(wrong.contains("no small file system"), "{wrong}"),
        Ok(_) => bench.fails("create @/one-more 0600", "ENOSPC"),
    }
    bench.ok("refund @");
    assert_eq!(bench.ok("entries @"), "");
}

#[test]
#[cfg(target_os = "linux")]
fn a_label_keeps_and_no_label_closes() {
    let mut bench = Bench::new();
    bench.ok("put @/f x");
    bench.ok("h = open @/f O_RDONLY");
    bench.ok("h = open @/f O_WRONLY");
    bench.fails("read h 1", "EBADF");
    bench.hands.empty();
    bench.ok("open @/f O_RDONLY");
    // There is no lease for writing on what is open elsewhere.
    bench.ok("w = open @/f O_RDWR");
    bench.ok("lease w wr");
    assert!(bench.try_call("read h 1").is_err());
}
