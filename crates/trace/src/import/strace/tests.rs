//! What texts of strace become.

use std::io::Cursor;

use super::StraceSource;
use crate::{FileKind, MemorySource, Owners, TraceClock, TraceError};

fn read(text: &str) -> Result<MemorySource, TraceError> {
    MemorySource::of(&mut StraceSource::new("t.txt".into(), Box::new(Cursor::new(text.to_string()))))
}

/// A record in a line: time, latency, thread, verb, file, offset, bytes, result.
fn lines(text: &str) -> (Vec<String>, Vec<String>) {
    let trace = read(text).unwrap();
    let tell = |record: &crate::TraceRecord| {
        let name = &trace.tables.files[record.file as usize].name;
        let thread = trace.tables.threads[record.thread as usize].thread;
        let number = |value: Option<i64>| value.map_or("?".to_string(), |value| value.to_string());
        let latency = record.latency_ns.map(|ns| ns as i64 / 1000);
        let other = record.other.map(|other| format!(" {}", trace.tables.files[other as usize].name));
        format!(
            "{} {} {thread} {} {name}{} {}+{} = {}",
            record.at_ns / 1000,
            number(latency),
            record.verb,
            other.unwrap_or_default(),
            record.offset,
            record.bytes,
            number(record.result)
        )
    };
    (trace.records.iter().map(tell).collect(), trace.header.notes.clone())
}

const DATABASE: &str = r#"7  100000000.000100 execve("/usr/bin/db", ["db"], 0x7ffe /* 35 vars */) = 0 <0.000254>
7  100000000.000200 openat(AT_FDCWD</mnt/t>, "s.db", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 3</mnt/t/s.db> <0.000010>
7  100000000.000300 fcntl(3</mnt/t/s.db>, F_SETLK, {l_type=F_RDLCK, l_whence=SEEK_SET, l_start=1073741824, l_len=1}) = 0 <0.000010>
7  100000000.000400 newfstatat(3</mnt/t/s.db>, "", {st_mode=S_IFREG|0644, st_size=8192, ...}, AT_EMPTY_PATH) = 0 <0.000005>
7  100000000.000500 read(3</mnt/t/s.db>, "SQLite format 3\0\20\0\1\1"..., 100) = 100 <0.000004>
7  100000000.000600 pwrite64(3</mnt/t/s.db>, "\r\0\0\0", 4096, 4096) = 4096 <0.000020>
7  100000000.000700 unlink("s.db-journal")  = -1 ENOENT (No such file or directory) <0.000008>
7  100000000.000800 fdatasync(3</mnt/t/s.db>) = 0 <0.001000>
7  100000000.000900 close(3</mnt/t/s.db>)   = 0 <0.000007>
7  100000000.001000 write(1</data/out>, "ok\n", 3) = 3 <0.000016>
7  100000000.001100 +++ exited with 0 +++
"#;

#[test]
fn a_program_with_all_that_strace_can_tell() {
    let (records, notes) = lines(DATABASE);
    let expected = [
        "0 10 7 open /mnt/t/s.db 0+420 = 3",
        "100 10 7 lock /mnt/t/s.db 1073741824+1 = 0",
        "200 5 7 fstat /mnt/t/s.db 0+0 = 0",
        "300 4 7 read /mnt/t/s.db 0+100 = 100",
        "400 20 7 write /mnt/t/s.db 4096+4096 = 4096",
        "500 8 7 unlink /mnt/t/s.db-journal 0+0 = -2",
        "600 1000 7 fdatasync /mnt/t/s.db 0+0 = 0",
        "700 7 7 close /mnt/t/s.db 0+0 = 0",
        "800 16 7 write /data/out 0+3 = 3",
    ];
    assert_eq!(records, expected);
    assert_eq!(
        notes,
        [
            "1 positions of open files are not known and taken as 0",
            "1 opens with O_CREAT are taken as having made their file"
        ]
    );
    let trace = read(DATABASE).unwrap();
    assert_eq!(
        (trace.header.clock, trace.header.began_unix_ns),
        (TraceClock::Realtime, Some(100_000_000_000_200_000))
    );
}

#[test]
fn calls_that_were_interrupted_are_put_together_in_the_order_of_issue() {
    let text = r#"1 0.000000 open("/a", O_RDONLY) = 3
1 0.000010 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, parent_tid=[2] <unfinished ...>
2 0.000010 read(3, <unfinished ...>
1 0.000010 <... clone resumed>, tls=0x7f) = 2
1 0.000010 close(3 <unfinished ...>
3 0.000010 openat(AT_FDCWD, "b", O_RDONLY) = 4
1 0.000010 pread64(4, "x", 1, 9) = 1
2 0.000010 <... read resumed>"abc", 4096) = 3
1 0.000010 <... close resumed>) = 0
1 0.000010 lseek(4, 5, SEEK_SET <unfinished ...>
"#;
    let (records, notes) = lines(text);
    assert_eq!(
        records,
        [
            "0 ? 1 open /a 0+0 = 3",
            "20 50 2 read /a 0+4096 = 3",
            "40 40 1 close /a 0+0 = 0",
            "50 ? 3 open b 0+0 = 4",
        ]
    );
    assert_eq!(
        notes,
        [
            "2 calls on descriptors of which nothing is known are left out",
            "1 paths begin in a directory that is not known and are kept as written"
        ]
    );
}

#[test]
fn descriptors_follow_children_duplicates_programs_and_directories() {
    let text = r#"10 chdir("/d") = 0
10 open("f", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3
10 dup2(3, 1) = 1
10 fcntl(3, F_SETFD, FD_CLOEXEC) = 0
10 vfork() = 11
11 write(1, "abc", 3) = 3
11 execve("/bin/x", ["x"], NULL) = 0
11 write(3, "abc", 3) = -1 EBADF (Bad file descriptor)
11 writev(1, [{iov_base="a, iov_len=7", iov_len=4}, {iov_base="b", iov_len=1}], 2) = 5
11 rename("f", "../g") = 0
11 +++ exited with 0 +++
10 write(3, "d", 1) = 1
10 close_range(3, 4294967295, 0) = 0
10 symlink("../g", "l") = 0
"#;
    let (records, notes) = lines(text);
    assert_eq!(
        records,
        [
            "0 ? 10 create /d/f 0+384 = 3",
            "0 ? 11 write /d/f 0+3 = 3",
            "0 ? 11 write /d/f 3+5 = 5",
            "0 ? 11 rename /d/f /g 0+0 = 0",
            "0 ? 10 write /d/f 8+1 = 1",
            "0 ? 10 symlink /d/l ../g 0+0 = 0",
        ]
    );
    assert_eq!(
        notes,
        [
            "1 calls on descriptors of which nothing is known are left out",
            "there are no times: all records are at 0"
        ]
    );
}

#[test]
fn pipes_and_terminals_are_no_files_and_sizes_are_what_reads_reach() {
    let text = r#"read(0</dev/pts/0<char 136:0>>, "a", 1) = 1
write(5<pipe:[77]>, "a", 1) = 1
openat(AT_FDCWD</>, "big", O_RDONLY) = 6</big>
pread64(6</big>, ""..., 100, 900) = 50
openat(AT_FDCWD</>, "x", O_RDONLY|O_DIRECTORY) = 7</x>
"#;
    let trace = read(text).unwrap();
    let files: Vec<_> =
        trace.tables.files.iter().map(|file| (file.name.as_str(), file.kind, file.bytes)).collect();
    assert_eq!(
        files,
        [
            ("/dev/pts/0", FileKind::Other, None),
            ("pipe:[77]", FileKind::Other, None),
            ("/big", FileKind::File, Some(950)),
            ("/x", FileKind::Directory, None),
        ]
    );
}

#[test]
fn what_is_cut_or_wrong_is_counted_and_named() {
    let text = "1 0.000001 openat(AT_FDCWD</a>, \"very long\"..., O_RDONLY) = 3\n\
                1 0.000001 close(3) = 0\nwhat is this\n1 0.000001 unlink(\"/a\") = 0\n1 0.000001 <... read resumed>) = 0\n\
                1 0.000001 io_uring_setup(8, {}) = 4\n";
    let (records, notes) = lines(text);
    assert_eq!(records, ["0 ? 1 unlink /a 0+0 = 0"]);
    assert_eq!(
        notes,
        [
            "not seen: io_uring (1 calls)",
            "1 calls on descriptors of which nothing is known are left out",
            "lines that are none of strace, left out: 2; the first: t.txt:3: `what is this`",
            "calls of openat with arguments that are cut or not understood, left out: 1",
        ]
    );
    let wrong = read("a\nb\nclose(3) = 0\n").unwrap_err();
    assert!(wrong.to_string().starts_with("2 of 3 lines are none of strace"), "{wrong}");
    assert!(wrong.hint.unwrap().contains("strace -f -ttt -T -y"));
}

#[test]
fn times_of_day_go_over_midnight_and_coarse_ones_say_so() {
    let text = "23:59:59 unlink(\"/a\") = 0\n00:00:01 unlink(\"/b\") = 0\n";
    let (records, _) = lines(text);
    assert_eq!(records, ["0 ? 1 unlink /a 0+0 = 0", "2000000 ? 1 unlink /b 0+0 = 0"]);
    assert_eq!(read(text).unwrap().header.resolution_ns, 1_000_000_000);
}

#[test]
fn owners_are_kept_and_minus_one_stays() {
    let text = r#"7  1.000100 chown("/t/a", 1000, 100) = 0 <0.000010>
7  1.000200 lchown("/t/a", -1, 0) = 0 <0.000010>
7  1.000300 fchownat(AT_FDCWD</t>, "a", 4294967294, -1, 0) = 0 <0.000010>
7  1.000400 chown("/t/a", -1, -1) = 0 <0.000010>
"#;
    let records = read(text).unwrap().records;
    let told: Vec<_> = records.iter().map(|record| Owners::from_bytes(record.bytes)).collect();
    let owners = |user, group| Owners { user, group };
    let expected = [
        owners(Some(1000), Some(100)),
        owners(None, Some(0)),
        owners(Some(4_294_967_294), None),
        owners(None, None),
    ];
    assert_eq!(told, expected);
    assert_eq!(records[3].bytes, 0);
}

#[test]
fn allocations_attributes_nodes_and_clones_are_whole() {
    let text = r#"7  1.000100 openat(AT_FDCWD</t>, "a", O_RDWR) = 3</t/a> <0.000010>
7  1.000110 openat(AT_FDCWD</t>, "b", O_RDWR) = 4</t/b> <0.000010>
7  1.000200 fallocate(3</t/a>, FALLOC_FL_KEEP_SIZE, 100, 4096) = 0 <0.000010>
7  1.000210 fallocate(3</t/a>, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 50) = 0 <0.000010>
7  1.000220 fallocate(3</t/a>, FALLOC_FL_COLLAPSE_RANGE, 0, 4096) = 0 <0.000010>
7  1.000300 setxattr("a", "user.colour", "red", 3, 0) = 0 <0.000010>
7  1.000310 fgetxattr(3</t/a>, "user.colour", 0x7ffd, 256) = 3 <0.000010>
7  1.000320 lremovexattr("/t/a", "user.colour") = 0 <0.000010>
7  1.000400 mknod("pipe", S_IFIFO|0600) = 0 <0.000010>
7  1.000410 mknodat(AT_FDCWD</t>, "disk", S_IFBLK|0660, makedev(0x103, 0x2)) = 0 <0.000010>
7  1.000500 ioctl(4</t/b>, BTRFS_IOC_CLONE or FICLONE, 3</t/a>) = 0 <0.000010>
7  1.000510 ioctl(4</t/b>, FICLONERANGE, {src_fd=3</t/a>, src_offset=4096, src_length=8192, dest_offset=0}) = 0 <0.000010>
"#;
    let trace = read(text).unwrap();
    let name = |file: u32| trace.tables.files[file as usize].name.as_str();
    let told: Vec<_> = trace.records[2..]
        .iter()
        .map(|record| {
            let crate::TraceRecord { verb, offset, bytes, flags, .. } = *record;
            let words = crate::text::flag_words(flags);
            format!(
                "{verb} {} {} {offset}+{bytes} {words}",
                name(record.file),
                record.other.map_or("-", name)
            )
        })
        .collect();
    let device = 0x103_u64 << 32 | 2;
    assert_eq!(
        told,
        [
            "fallocate /t/a - 100+4096 keepsize".to_string(),
            "trim /t/a - 0+50 keepsize".into(),
            "fallocate /t/a - 0+4096 collapse".into(),
            "setxattr /t/a user.colour 0+3 ".into(),
            "getxattr /t/a user.colour 0+256 ".into(),
            "removexattr /t/a user.colour 0+0 ".into(),
            format!("mkfifo /t/pipe - 0+{} ", 0o010_600),
            format!("mknod /t/disk - {device}+{} ", 0o060_660),
            "clone /t/b /t/a 0+0 samerange".into(),
            "clone /t/b /t/a 0+8192 ".into(),
        ]
    );
    let kind = |name: &str| trace.tables.files.iter().find(|file| file.name == name).unwrap().kind;
    assert_eq!((kind("/t/pipe"), kind("/t/disk")), (FileKind::Other, FileKind::Other));
}
