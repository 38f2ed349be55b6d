//! Stripes, hints and counters of parallel file systems, against stand-ins: `strace` tells the program that it is on one
//! and lets its calls succeed, a library of the test's own writes down what it is told, and so does a command.

use std::path::Path;
use std::process::Command;

use testbed::{Case, Need, Outcome};

use super::program::{IODYNO, IorOutput, command, ior, scratch, told};

pub fn cases() -> Vec<Case> {
    let (strace, rustc) = (Need::Tool("strace"), Need::Tool("rustc"));
    vec![
        Case::new("lustre_stripes_are_set_before_anything_is_written", &[strace], lustre),
        Case::new("lustre_takes_no_locks_where_asked", &[strace], without_locks),
        Case::new("beegfs_makes_the_file_with_its_stripes", &[strace], beegfs),
        Case::new("gpfs_is_told_what_its_header_says", &[strace, rustc], gpfs),
        Case::new("mdtest_tells_gpfs_that_creation_is_shared", &[strace, rustc], creation),
        Case::new("what_another_file_system_has_is_refused_or_warned_of", &[], elsewhere),
        Case::new("gpfs_without_its_library_does_not_start", &[strace], no_library),
        Case::new("what_mmpmon_counted_is_told_and_proves_nothing", &[strace], counters),
    ]
}

/// `f_type` of `statfs`, as it lies in memory.
const LUSTRE: &str = "d00bd00b";
const BEEGFS: &str = "26038319";
const GPFS: &str = "53465047";

/// The program where `statfs` tells of another file system, and calls on the file and its directory are written down. The
/// word FILE of the line is the file's whole path, which may have blanks.
fn staged(home: &Path, magic: &str, more: &[&str], line: &str) -> (IorOutput, String) {
    let (plain, file) = (command(home, line), home.join("f"));
    let words = plain.get_args().map(|word| if word == "FILE" { file.as_os_str() } else { word });
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "calls", "-e", "trace=statfs,openat,ioctl,write,pwrite64", "-P"]).arg(home);
    strace.arg("-P").arg(&file).args(more);
    strace.arg("-e").arg(format!("inject=statfs:poke_exit=@arg2={magic}"));
    strace.arg(plain.get_program()).args(words).current_dir(home).env("LD_LIBRARY_PATH", home);
    strace.env("HINTS", home.join("hints"));
    let told = told(strace);
    let calls = std::fs::read_to_string(home.join("calls")).unwrap_or_default();
    (told, calls)
}

/// The first calls that hold each of these words come in this order.
#[track_caller]
fn in_order(calls: &str, words: &[&str]) {
    let place = |word: &&str| calls.lines().position(|call| call.contains(*word));
    let places: Vec<_> = words.iter().map(place).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{words:?} {places:?}\n{calls}");
}

const DONE: [&str; 2] = ["-e", "inject=ioctl:retval=0"];
/// `LL_IOC_LOV_SETSTRIPE`, as strace writes it.
const SET_STRIPE: &str = "_IOC(_IOC_WRITE, 0x66, 0x9a, 0x8)";

fn lustre() -> Outcome {
    let home = scratch();
    let line =
        "-w -t 64k -b 64k --posix.lustre.stripecount=2 -O lustreStripeSize=4m,lustreStartOST=1 -k -o FILE";
    let (told, calls) = staged(home.path(), LUSTRE, &DONE, line);
    told.expect(0, &["write  "]);
    in_order(&calls, &["O_CREAT|O_NOCTTY", SET_STRIPE, "write"]);
    let made = calls.lines().find(|call| call.contains("O_CREAT")).ok_or("no file was made")?;
    assert!(made.contains("FASYNC") && made.contains("0x1000000"), "O_LOV_DELAY_CREATE: {made}");
    // Of tasks that share a file, each may set them first; the others find them set.
    let (told, calls) =
        staged(home.path(), LUSTRE, &["-e", "inject=ioctl:error=EEXIST"], &format!("{line} -N 2"));
    told.expect(0, &["write  "]);
    assert_eq!(calls.matches(SET_STRIPE).count(), 2, "{calls}");
    // What is there already keeps its stripes: the original fails as well.
    let (told, calls) = staged(home.path(), LUSTRE, &DONE, &format!("{line} -E"));
    told.expect(1, &["File exists", "leave -E out"]);
    assert!(calls.contains("O_EXCL") && !calls.contains(SET_STRIPE), "{calls}");
    // The file system refuses them.
    let (told, _) = staged(home.path(), LUSTRE, &["-e", "inject=ioctl:error=EINVAL"], line);
    told.expect(1, &["Invalid argument", "multiple of 64 KiB"]);
    Ok(())
}

fn without_locks() -> Outcome {
    let home = scratch();
    let line = "-w -r -t 64k -b 64k -O lustreIgnoreLocks=1 -o FILE";
    let (told, calls) = staged(home.path(), LUSTRE, &DONE, line);
    told.expect(0, &["write  ", "read  "]);
    assert_eq!(calls.matches("_IOC(_IOC_WRITE, 0x66, 0x98, 0x8)").count(), 2, "{calls}");
    assert!(!calls.contains(SET_STRIPE), "{calls}");
    Ok(())
}

fn beegfs() -> Outcome {
    let home = scratch();
    // The call makes the file, which is there here: so its stripes are asked for.
    std::fs::write(home.path().join("f"), "")?;
    let line = "-w -E -k -t 64k -b 64k --posix.beegfs.NumTargets=4 -O beegfsChunkSize=512k -o FILE";
    let (told, calls) = staged(home.path(), BEEGFS, &DONE, line);
    told.expect(0, &["write  "]);
    in_order(&calls, &["O_DIRECTORY", "_IOC(_IOC_WRITE, 0x66, 0x1b, 0x18)", "write"]);
    let opened = calls.lines().filter(|call| call.contains("/f\"") && call.contains("O_RDWR"));
    assert!(opened.clone().count() == 1 && !opened.clone().any(|call| call.contains("O_CREAT")), "{calls}");
    let (told, calls) = staged(home.path(), BEEGFS, &["-e", "inject=ioctl:error=EEXIST"], line);
    told.expect(1, &["File exists"]);
    assert!(calls.contains("_IOC(_IOC_READ, 0x66, 0x19, 0xc)"), "{calls}");
    Ok(())
}

/// A library that writes down what it is told, one line of hexadecimal digits for each call.
const LIBRARY: &str = r#"
#[no_mangle]
pub unsafe extern "C" fn gpfs_fcntl(_file: i32, told: *const i32) -> i32 {
    use std::io::Write;
    let bytes = std::slice::from_raw_parts(told.cast::<u8>(), *told as usize);
    let line: String = bytes.iter().map(|byte| format!("{byte:02x}")).chain(["\n".into()]).collect();
    let file = std::fs::OpenOptions::new().append(true).create(true).open(std::env::var("HINTS").unwrap());
    file.unwrap().write_all(line.as_bytes()).unwrap();
    0
}
"#;

fn library(home: &Path) -> Outcome {
    std::fs::write(home.join("gpfs.rs"), LIBRARY)?;
    let mut rustc = Command::new("rustc");
    rustc.args([
        "--edition",
        "2021",
        "-A",
        "warnings",
        "--crate-type",
        "cdylib",
        "-o",
        "libgpfs.so",
        "gpfs.rs",
    ]);
    // The toolchain of this directory, not of the scratch one.
    let built = rustc.current_dir(home).env_remove("RUSTFLAGS").output()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Ok(())
}

/// A hint without its header: length, kind and fields, of a 64-bit little-endian machine.
fn hint(fields: &[i32]) -> String {
    let bytes = fields.len() as i32 * 4;
    let words = [bytes + 16, 1, 0, 0, bytes].into_iter().chain(fields.iter().copied().skip(1));
    words.flat_map(i32::to_le_bytes).map(|byte| format!("{byte:02x}")).collect()
}

fn gpfs() -> Outcome {
    let home = scratch();
    library(home.path())?;
    let line = "-w -r -t 64k -b 128k --posix.gpfs.hintaccess --posix.gpfs.releasetoken -O \
                posix.gpfs.finegrainwritesharing=1,posix.gpfs.finegrainreadsharing=1 -o FILE";
    let (told, _) = staged(home.path(), GPFS, &[], line);
    told.expect(0, &["write  ", "read  "]);
    let range =
        |kind: i32, start: i32, writes: &[i32]| hint(&[&[0, kind, start, 0, 65_536, 0], writes].concat());
    let release = hint(&[0, 1002, 0, 0, 0, 0]);
    let transfers = |writes: i32| {
        [0, 65_536].map(|start| [range(1001, start, &[writes, 0]), range(1002, start, &[])]).concat()
    };
    let written = [vec![release.clone(), hint(&[0, 1005, 1, -1, -1, -1])], transfers(1)].concat();
    let read = [vec![release, hint(&[0, 1007, 1, 0])], transfers(0)].concat();
    let hints = std::fs::read_to_string(home.path().join("hints"))?;
    assert_eq!(hints.lines().collect::<Vec<_>>(), [written, read].concat());
    Ok(())
}

fn creation() -> Outcome {
    let home = scratch();
    library(home.path())?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "calls", "-e", "trace=statfs", "-e"]);
    strace.arg(format!("inject=statfs:poke_exit=@arg2={GPFS}")).arg(IODYNO);
    strace.args([
        "mdtest",
        "-F",
        "-C",
        "-n",
        "3",
        "-w",
        "8",
        "--posix.gpfs.createsharing",
        "--posix.gpfs.hintaccess",
    ]);
    strace.args(["-d", "d"]).current_dir(home.path());
    strace.env("LD_LIBRARY_PATH", home.path()).env("HINTS", home.path().join("hints"));
    told(strace).expect(0, &["File creation"]);
    let hints = std::fs::read_to_string(home.path().join("hints"))?;
    let item = [hint(&[0, 1001, 0, 0, 8, 0, 1, 0]), hint(&[0, 1002, 0, 0, 8, 0])];
    let items = [&item[..], &item[..], &item[..]].concat();
    let all = [vec![hint(&[0, 1008, 1, 0])], items, vec![hint(&[0, 1008, 0, 0])]].concat();
    assert_eq!(hints.lines().collect::<Vec<_>>(), all);
    Ok(())
}

fn elsewhere() -> Outcome {
    let home = scratch();
    let line = |option: &str| format!("-w -t 64k -b 64k {option} -o f");
    for (option, words) in [
        (
            "--posix.lustre.stripecount=4",
            ["f does not lie on Lustre", "leave the options posix.lustre.* out"],
        ),
        ("--posix.lustre.pool=fast", ["no stripe count or stripe size", "--posix.lustre.stripecount=N"]),
        ("--posix.lustre.stripecount=4000", ["is -1 to 2000", "-1 is all targets"]),
        ("--posix.beegfs.ChunkSize=96k", ["power of two and >64k", "e.g. 512k"]),
        ("-a MMAP --posix.gpfs.releasetoken", ["MMAP does not ask", "use -a POSIX"]),
        ("-a AIO --posix.gpfs.hintaccess", ["only the back end POSIX", "use -a POSIX"]),
    ] {
        ior(home.path(), &line(option)).expect(1, &words);
    }
    let warned = ior(home.path(), &line("--posix.beegfs.NumTargets=4"));
    warned.expect(0, &["WARNING: f: Not a BeeGFS file system", "WARNING: BeeGFS tuning failed", "write  "]);
    let warned = ior(home.path(), &line("--posix.gpfs.hintaccess"));
    warned.expect(0, &["WARNING: f: not a GPFS file system, no hints are given", "write  "]);
    ior(home.path(), &line("--posix.gpfs.hintaccess --warningAsErrors"))
        .expect(1, &["not a GPFS file system"]);
    Ok(())
}

fn no_library() -> Outcome {
    let home = scratch();
    let (told, _) = staged(home.path(), GPFS, &[], "-w -t 64k -b 64k --posix.gpfs.releasetoken -o FILE");
    told.expect(1, &["hints to GPFS need its library", "IODYNO_GPFS=/path/to/libgpfs.so"]);
    assert!(!home.path().join("f").exists(), "it was looked for before anything was touched");
    Ok(())
}

/// Each call of this command counts 64 KiB more that were read, and twice that many that were written.
const COMMAND: &str = r#"#!/bin/sh
test "$1 $2" = "-p -s" || exit 2
read -r asked
echo "$asked" >> asked
n=$(wc -l < asked)
echo "_fs_io_s_ _n_ 10.0.0.5 _nn_ n5 _rc_ 0 _t_ 1 _tu_ 2 _cl_ c _fs_ scratch _d_ 48 _br_ $((n * 65536)) _bw_ $((n * 131072)) _oc_ 2"
"#;

fn counters() -> Outcome {
    let home = scratch();
    let program = home.path().join("mmpmon");
    std::fs::write(&program, COMMAND)?;
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let plain = command(home.path(), "-r -t 64k -b 64k -k -o f --also json=record");
    std::fs::write(home.path().join("f"), vec![0; 65_536])?;
    let path = std::env::var("PATH")?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", "trace=statfs", "-e"]);
    strace.arg(format!("inject=statfs:poke_exit=@arg2={GPFS}"));
    strace.arg(plain.get_program()).args(plain.get_args()).current_dir(home.path());
    strace.env("PATH", format!("{}:{path}", home.path().display())).env("IODYNO_FINDINGS", "1");
    let told = told(strace);
    told.expect(0, &["read  "]);
    let record = std::fs::read_to_string(home.path().join("record"))?;
    let said =
        "its client counted 65536 bytes read and 131072 bytes written, its own cache included (mmpmon)";
    assert!(record.contains(said) && record.contains("\"includes_cache\": true"), "{record}");
    let asked = std::fs::read_to_string(home.path().join("asked"))?;
    assert!(asked.lines().count() == 2 && asked.lines().all(|line| line == "fs_io_s"), "{asked}");
    Ok(())
}
