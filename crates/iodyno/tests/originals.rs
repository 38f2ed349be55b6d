//! The original and ours, side by side: the same command line in twin directories must leave the same files byte for
//! byte, end with the same status, and say the same, up to seconds and rates.
//!
//! The originals are run as they are installed; where one is not, its cases are counted as skipped. What differs on
//! purpose (`docs/dd.md`) has no case here.

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::fs::{self, File};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{ChildStdin, Command, ExitStatus, Stdio};

    use testbed::program::{Program, Running};
    use testbed::{Case, Need, Outcome, wait};

    const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

    /// What a line reads on standard input.
    #[derive(Clone, Copy)]
    enum Input {
        Nothing,
        /// The file `in`, opened by the caller.
        Opened,
        /// A pipe, written in pieces of these lengths, each when the one before was read.
        Pieces(&'static [usize]),
    }
    use Input::{Nothing, Opened, Pieces};

    /// Command lines, with what they read; `furnish` makes the files that they name.
    const LINES: &[(&str, Input)] = &[
        // What people type to measure.
        ("if=/dev/zero of=F bs=8k count=100", Nothing),
        ("if=/dev/zero of=F bs=8k count=100 conv=fsync", Nothing),
        ("if=/dev/zero of=F bs=8k count=100 conv=fdatasync", Nothing),
        ("if=/dev/zero of=F bs=8k count=20 oflag=dsync", Nothing),
        ("if=/dev/zero of=F bs=8k count=20 oflag=sync", Nothing),
        ("if=/dev/zero of=F bs=64k count=20 oflag=direct", Nothing),
        ("if=in of=/dev/null bs=64k iflag=direct,nonblock", Nothing),
        ("if=in of=F bs=4k oflag=direct", Nothing),
        ("if=in of=F bs=1M oflag=direct", Nothing),
        ("if=in of=F bs=8k oflag=direct,dsync conv=notrunc", Nothing),
        ("if=in of=F bs=4k iflag=nocache oflag=nocache", Nothing),
        ("if=in iflag=nocache count=0", Nothing),
        ("if=/dev/zero of=F bs=32M count=2", Nothing),
        // Sizes of reads and writes.
        ("if=in of=F", Nothing),
        ("if=in of=F ibs=1000 obs=4096", Nothing),
        ("if=in of=F ibs=4096 obs=1000", Nothing),
        ("if=in of=F ibs=7k obs=3k count=9", Nothing),
        ("if=in of=F ibs=1k obs=1k bs=10k", Nothing),
        ("if=in of=F ibs=1k", Nothing),
        ("if=in of=F obs=1M", Nothing),
        ("if=in of=F bs=3x512", Nothing),
        ("if=in of=F bs=1kB count=3", Nothing),
        ("if=in of=F bs=1KiB count=0x2", Nothing),
        ("if=in of=F bs=2w count=1b", Nothing),
        // Where it begins and ends.
        ("if=in of=F bs=1k skip=3 seek=5 count=7", Nothing),
        ("if=in of=F bs=1k iseek=3 oseek=5 count=7", Nothing),
        ("if=in of=F bs=1k skip=300B seek=77B count=1234B", Nothing),
        (
            "if=in of=F bs=1k skip=300 seek=77 count=1234 iflag=skip_bytes,count_bytes oflag=seek_bytes",
            Nothing,
        ),
        ("if=in of=F bs=1k count=0", Nothing),
        ("if=in of=old bs=1k count=0", Nothing),
        ("if=in of=old bs=1k count=0 seek=9", Nothing),
        ("if=in of=old bs=1k count=2 seek=9", Nothing),
        ("if=in of=old bs=1k count=2 seek=9 conv=notrunc", Nothing),
        ("if=in of=old bs=1k count=2 seek=900", Nothing),
        ("if=in of=old bs=1k count=0 seek=900 conv=notrunc", Nothing),
        ("if=in of=F bs=1k skip=90", Nothing),
        ("if=in of=F bs=1000 skip=100", Nothing),
        ("if=in of=F bs=1k skip=9000", Nothing),
        ("if=in of=F bs=1k skip=9000 status=none", Nothing),
        ("if=empty of=F", Nothing),
        ("if=empty of=F skip=3", Nothing),
        ("of=F skip=3000", Opened),
        ("if=empty of=old bs=1M", Nothing),
        ("if=/dev/null of=F", Nothing),
        ("bs=1k skip=3 count=4", Opened),
        ("bs=1k skip=3 of=F", Pieces(&[2000, 5000])),
        ("bs=1k skip=30 of=F", Pieces(&[2000, 5000])),
        ("if=in bs=1k count=3", Nothing),
        ("if=in bs=1k count=3 seek=2", Nothing),
        // conv= and oflag= of files.
        ("if=in of=old bs=1k count=3 conv=notrunc", Nothing),
        ("if=in of=F bs=1k count=3 conv=excl", Nothing),
        ("if=in of=old bs=1k count=3 conv=excl", Nothing),
        ("if=in of=F bs=1k count=3 conv=nocreat", Nothing),
        ("if=in of=old bs=1k count=3 conv=nocreat", Nothing),
        ("if=in of=old bs=1k count=3 oflag=append", Nothing),
        ("if=in of=old bs=1k count=3 oflag=append conv=notrunc", Nothing),
        ("if=in of=old bs=1k count=3 seek=2 oflag=append conv=notrunc", Nothing),
        ("if=holes of=F bs=4k conv=sparse", Nothing),
        ("if=holes of=F bs=3000 conv=sparse", Nothing),
        ("if=holes of=F ibs=512 obs=4k conv=sparse", Nothing),
        ("if=holes of=old bs=4k conv=sparse,notrunc", Nothing),
        ("if=in of=F bs=3k conv=sync", Nothing),
        ("if=in of=F ibs=3k obs=1000 conv=sync", Nothing),
        ("if=in of=F bs=3k conv=noerror,sync", Nothing),
        ("if=in of=F bs=3k conv=noerror,sync,fsync,notrunc", Nothing),
        // conv= of bytes and lines.
        ("if=in of=F conv=ucase", Nothing),
        ("if=in of=F bs=3k conv=lcase", Nothing),
        ("if=lines of=F bs=777 conv=swab", Nothing),
        ("if=lines of=F ibs=3 obs=7 count=99 conv=swab,ucase", Nothing),
        ("of=F ibs=100 obs=64 conv=swab", Pieces(&[1, 7, 100, 33])),
        ("if=lines of=F conv=block", Nothing),
        ("if=lines of=F cbs=10 conv=block", Nothing),
        ("if=lines of=F cbs=80 conv=block obs=1000", Nothing),
        ("if=lines of=F cbs=3000 conv=block,sync,ucase ibs=100 obs=4k", Nothing),
        ("if=lines of=F cbs=10 conv=unblock ibs=33 obs=100", Nothing),
        ("if=lines of=F bs=99 cbs=1 conv=unblock,swab,sync", Nothing),
        ("if=lines of=F cbs=12 conv=ebcdic bs=1k", Nothing),
        ("if=lines of=F cbs=12 conv=ibm,lcase", Nothing),
        ("if=lines of=F conv=ebcdic,ucase", Nothing),
        ("if=in of=F cbs=12 conv=ascii count=50", Nothing),
        ("if=in of=F conv=ascii,lcase", Nothing),
        ("if=empty of=F cbs=12 conv=block", Nothing),
        ("if=lines of=F cbs=4 conv=block,unblock", Nothing),
        ("if=lines of=F conv=block,unblock", Nothing),
        ("if=lines of=F conv=ascii,ibm", Nothing),
        ("if=lines of=F conv=lcase,ucase", Nothing),
        ("if=holes of=F ibs=512 obs=4k conv=sparse,swab", Nothing),
        // Pipes give less than was asked for.
        ("of=F bs=4k", Pieces(&[1000, 4096, 5000, 1])),
        ("of=F bs=4k iflag=fullblock", Pieces(&[1000, 4096, 5000, 1])),
        ("of=F bs=4k count=2", Pieces(&[1000, 3000, 700])),
        ("of=F bs=4k count=2 iflag=fullblock", Pieces(&[1000, 4096, 5000])),
        ("of=F ibs=4k obs=512", Pieces(&[1000, 4096, 100])),
        ("of=F bs=4k conv=sync", Pieces(&[1000, 4096, 100])),
        ("of=F bs=1k count=2500B", Pieces(&[1000, 1000, 1000, 1000])),
        ("bs=4k", Pieces(&[1000, 5000])),
        ("", Pieces(&[700])),
        // What is said.
        ("if=in of=F bs=10k status=none", Nothing),
        ("if=in of=F bs=10k status=noxfer", Nothing),
        ("if=in of=F bs=10k status=none status=noxfer", Nothing),
        ("if=/dev/zero of=F bs=1000 count=2500", Nothing),
        ("if=/dev/zero of=F bs=1 count=1", Nothing),
        ("if=/dev/zero of=F bs=1000 count=1", Nothing),
        ("if=/dev/zero of=F bs=1500 count=1", Nothing),
        ("if=/dev/zero of=F bs=999 count=1", Nothing),
        // What goes wrong.
        ("if=missing of=F", Nothing),
        ("if=missing", Nothing),
        ("if=it's/not", Nothing),
        ("if=", Nothing),
        ("if=in of=", Nothing),
        ("if=missing of=d/x/y", Nothing),
        ("if=in of=missing conv=nocreat,excl", Nothing),
        ("if=in/x of=F", Nothing),
        ("if=d of=F", Nothing),
        ("if=in of=d", Nothing),
        ("if=in of=d/x/y", Nothing),
        ("if=in of=in/x", Nothing),
        ("if=in of=loop", Nothing),
        ("if=loop of=F", Nothing),
        ("if=in of=/dev/full", Nothing),
        ("if=in of=/dev/full bs=4k", Nothing),
        ("if=in of=/dev/full bs=4k conv=noerror", Nothing),
        ("if=in of=/dev/full status=none", Nothing),
        ("if=in of=in bs=1k conv=notrunc", Nothing),
        ("if=in of=in bs=1k", Nothing),
        ("if=in of=F bs=1000 iflag=direct", Nothing),
        ("if=in of=F iflag=directory", Nothing),
        ("if=d of=F iflag=directory", Nothing),
        ("if=link of=F iflag=nofollow", Nothing),
        ("if=in of=F oflag=nofollow,noctty,nonblock", Nothing),
        ("if=in of=F bs=0", Nothing),
        ("if=in of=F bs=x", Nothing),
        ("if=in of=F count=99999999999999999999", Nothing),
        ("if=in of=F seek=9E bs=8", Nothing),
        ("if=in of=F oflag=fullblock", Nothing),
        ("if=in of=F conv=nothing", Nothing),
        ("if=in of=F status=loud", Nothing),
        ("if=in of=F nothing=4", Nothing),
        ("if=in of=F nothing", Nothing),
        ("--nothing", Nothing),
        ("-n", Nothing),
        ("if=in of=F bs=1k count=1 count=2 --", Nothing),
        ("-- if=in of=F bs=1k", Nothing),
    ];

    pub fn cases() -> Vec<Case> {
        let gnu = Need::That(|| gnu_dd().map_err(testbed::Skip::new));
        let lines = LINES.iter().map(|(line, input)| {
            let what = if let Pieces(pieces) = input { format!(" < {pieces:?}") } else { String::new() };
            Case::new(format!("dd {line}{what}"), &[Need::Tool("dd"), gnu], move || {
                side_by_side(line, *input)
            })
            .against()
        });
        let needs = [Need::Tool("dd"), gnu];
        let others = [
            Case::new("dd of random bytes", &needs, random).against(),
            Case::new("dd goes on after failed reads", &needs, goes_on).against(),
        ];
        lines.chain(others).collect()
    }

    /// Before 9.1 counts in bytes were said otherwise; other systems' dd say everything otherwise.
    fn gnu_dd() -> Result<(), String> {
        let told = Program::of("dd", ["--version"]).outcome()?;
        let version = told.out.lines().next().unwrap_or("").strip_prefix("dd (coreutils) ");
        let number = version.and_then(|version| version.parse::<f32>().ok());
        if number.is_some_and(|number| number >= 9.1) {
            Ok(())
        } else {
            Err("dd is not GNU's 9.1 or later".into())
        }
    }

    /// What a run left and said.
    #[derive(Debug, PartialEq)]
    struct Left {
        status: ExitStatus,
        err: String,
        files: BTreeMap<String, Vec<u8>>,
    }

    fn side_by_side(line: &str, input: Input) -> Outcome {
        let theirs = run("dd", line, input)?;
        let ours = run(IODYNO, line, input)?;
        compare(&theirs, &ours)
    }

    fn compare(theirs: &Left, ours: &Left) -> Outcome {
        if (&theirs.err, theirs.status) != (&ours.err, ours.status) {
            let (a, b) = (theirs.status, ours.status);
            return Err(format!("GNU: {a}\n{}ours: {b}\n{}", theirs.err, ours.err).into());
        }
        let names = |left: &Left| left.files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(theirs), names(ours));
        for (name, bytes) in &theirs.files {
            let other = &ours.files[name];
            let same = bytes.iter().zip(other).take_while(|(a, b)| a == b).count();
            let lengths = (bytes.len(), other.len());
            assert!(bytes == other, "{name}: GNU's and our length {lengths:?}; the same up to byte {same}");
        }
        Ok(())
    }

    /// Bytes that do not repeat.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }

    fn furnish(home: &Path) -> std::io::Result<()> {
        fs::write(home.join("in"), noise(100_000))?;
        fs::write(home.join("old"), vec![b'o'; 50_000])?;
        let line = |number: usize| {
            let words = "Some words of a line  ".repeat(number % 4);
            format!(
                "{number}{}{}\n",
                " ".repeat(number % 7),
                &words[..words.len() - number % 3 * (number % 4 / 3)]
            )
        };
        fs::write(home.join("lines"), (0..300).map(line).collect::<String>() + "no newline")?;
        fs::write(home.join("empty"), [])?;
        let mut holes = vec![0; 60_000];
        holes[20_000..30_000].copy_from_slice(&noise(10_000));
        fs::write(home.join("holes"), holes)?;
        fs::create_dir(home.join("d"))?;
        std::os::unix::fs::symlink("loop", home.join("loop"))?;
        std::os::unix::fs::symlink("in", home.join("link"))
    }

    /// A directory on the build's own file system, which takes direct I/O; /tmp often does not.
    fn scratch() -> std::io::Result<tempfile::TempDir> {
        tempfile::Builder::new().prefix("dd-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))
    }

    fn command(program: &str, line: &str, home: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg0("dd").args(line.split_whitespace()).current_dir(home);
        command.env("LC_ALL", "C").env_remove("IODYNO_FINDINGS").env_remove("IODYNO_ALSO");
        command.env_remove("POSIXLY_CORRECT");
        command
    }

    fn run(program: &str, line: &str, input: Input) -> Result<Left, Box<dyn std::error::Error>> {
        let home = scratch()?;
        let home = home.path();
        furnish(home)?;
        let program = Program::new(command(program, line, home)).out(File::create(home.join("(stdout)"))?);
        let mut running = match input {
            Nothing => program.launch()?,
            Opened => program.input(File::open(home.join("in"))?).launch()?,
            Pieces(_) => program.input(Stdio::piped()).launch()?,
        };
        if let (Pieces(pieces), Some(pipe)) = (input, running.input()) {
            feed(&mut running, pipe, pieces)?;
        }
        let said = running.outcome()?;
        let (status, mut err) = (said.status, masked(&said.err));
        if let Pieces(_) = input {
            let said = |line: &&str| !UNSAID.iter().any(|unsaid| line.starts_with(unsaid));
            err = err.split_inclusive('\n').filter(said).collect();
        }
        Ok(Left { status, err, files: files(home)? })
    }

    /// Writes each piece when the one before was read, so that every read gets one piece at most.
    fn feed(reader: &mut Running, mut pipe: ChildStdin, pieces: &[usize]) -> Result<(), String> {
        let bytes = noise(pieces.iter().sum());
        let mut rest = bytes.as_slice();
        for piece in pieces {
            let (now, later) = rest.split_at(*piece);
            rest = later;
            wait::until("a reader", || unread(&pipe) == 0 || !reader.is_there())?;
            // A reader that wants no more is no fault.
            if pipe.write_all(now).is_err() {
                break;
            }
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    fn unread(pipe: &ChildStdin) -> i32 {
        let mut bytes = 0;
        // SAFETY: the kernel writes one int, to a variable that outlives the call.
        unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        bytes
    }

    fn files(home: &Path) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(home)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
            }
        }
        Ok(files)
    }

    /// Warnings of what pipes gave, which we do not give (`docs/dd.md`).
    const UNSAID: [&str; 2] =
        ["dd: warning: partial read (", "dd: 'standard input': cannot skip to specified offset"];

    /// Without seconds and rates.
    fn masked(text: &str) -> String {
        let line = |line: &str| match line.split_once(" copied, ") {
            Some((counted, _)) => format!("{counted} copied, …\n"),
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    }

    /// GNU says its figures after each failed read, we say them at the end (`docs/dd.md`).
    fn goes_on() -> Outcome {
        let line = "if=d of=F bs=1k count=3 conv=noerror,sync";
        let end = |mut left: Left| {
            let first = left.err.lines().next().unwrap_or("").to_string();
            let last: Vec<&str> = left.err.lines().rev().take(3).collect();
            left.err = format!("{first}\n{}\n", last.join("\n"));
            left
        };
        compare(&end(run("dd", line, Nothing)?), &end(run(IODYNO, line, Nothing)?))
    }

    /// What is random can be compared by its length only.
    fn random() -> Outcome {
        let line = "if=/dev/urandom of=F bs=256k count=9";
        let sizes = |mut left: Left| {
            left.files.values_mut().for_each(|bytes| *bytes = bytes.len().to_string().into_bytes());
            left
        };
        let (theirs, ours) = (run("dd", line, Nothing)?, run(IODYNO, line, Nothing)?);
        compare(&sizes(theirs), &sizes(ours))
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(linux::cases())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
