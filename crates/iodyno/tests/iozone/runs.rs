//! Cells, streams, files beside and content: what people run, at sizes that take no time.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use testbed::{Case, Outcome};

use crate::program::{ProgramOutput, dressed, iodyno, told as run};

/// Where the columns of the base table end: `kB` and `reclen`, then the tests.
pub const ENDS: [usize; 15] = [16, 24, 34, 44, 54, 64, 74, 84, 94, 105, 116, 126, 136, 146, 156];

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("iozone_{name}"), &[], body);
    vec![
        case("every_column_ends_where_iozones_does", columns),
        case("the_matrix_and_its_workbook", matrix),
        case("every_test_works_alone", extended),
        case("streams_are_told_and_none_is_hidden", streams),
        case("rounds_of_streams_with_processor_time", rounds),
        case("ways_of_io", ways),
        case("operations_and_histograms_in_files", logs),
        case("content_is_checked", content),
        case("a_record_larger_than_its_file_moves_nothing", too_small),
        case("a_workbook_of_its_own_is_overwritten_and_nothing_else", overwritten),
        case("wrong_command_lines_are_told", wrong),
        case("its_own_name_makes_it_iozone", own_name),
    ]
}

/// iozone in a directory, its findings silent.
pub fn iozone(home: &Path, line: &str) -> ProgramOutput {
    let mut command = iodyno(["iozone"].into_iter().chain(line.split_whitespace()));
    command.env("IODYNO_FINDINGS", "0").current_dir(home);
    run(command)
}

/// What a positional parser finds in a row; none: blank.
pub fn cells(row: &str) -> Vec<Option<f64>> {
    let mut from = 0;
    let ends = ENDS.iter().map(|end| {
        let text = row.get(from..(*end).min(row.len())).unwrap_or("").trim();
        from = *end;
        (!text.is_empty()).then(|| text.parse().unwrap_or_else(|_| panic!("`{text}` in `{row}`")))
    });
    ends.collect()
}

/// The rows of the table.
pub fn rows(told: &ProgramOutput) -> Vec<&str> {
    let below = told.out.lines().skip_while(|line| !line.contains("kB  reclen")).skip(1);
    below.take_while(|line| !line.is_empty()).collect()
}

/// What is in a directory.
pub fn left(home: &Path) -> Vec<String> {
    let names = std::fs::read_dir(home).expect("a directory").flatten();
    let mut names: Vec<_> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn columns() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = iozone(home.path(), "-s 1m -r 64k");
    told.expect(0, &["Iozone: Performance Test of File I/O", "iozone test complete."]);
    let whole = cells(rows(&told)[0]);
    assert_eq!(whole[..2], [Some(1024.0), Some(64.0)], "{told}");
    assert!(whole.iter().all(|cell| cell.is_some_and(|value| value > 0.0)), "{told}");
    // What was not selected is blank.
    let told = iozone(home.path(), "-s 1m -r 64k -i 0 -i 3");
    told.expect(0, &[]);
    let some: Vec<_> = cells(rows(&told)[0]).iter().map(Option::is_some).collect();
    let wanted = [0, 1, 2, 3, 8].map(|column| (column, true));
    for (column, there) in some.iter().enumerate() {
        assert_eq!(*there, wanted.contains(&(column, true)), "column {column}: {told}");
    }
    assert!(left(home.path()).is_empty(), "{:?}", left(home.path()));
    Ok(())
}

fn matrix() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = iozone(home.path(), "-a -n 64k -g 256k -i 0 -i 1 -f t.tmp -Rb out.xls");
    told.expect(0, &["Auto Mode", "Excel output is below:", "\"Writer report\"", "\"Re-Reader report\""]);
    assert_eq!(rows(&told).len(), 5 + 6 + 7, "{told}");
    let report = told.out.split("\"Reader report\"\n").nth(1).unwrap_or("");
    let mut lines = report.lines();
    assert!(lines.next().unwrap_or("").starts_with("        \"4\"  \"8\"  \"16\""), "{told}");
    assert!(lines.next().unwrap_or("").starts_with("\"64\"   "), "{told}");
    let book = std::fs::read(home.path().join("out.xls"))?;
    assert!(book.starts_with(&[0xD0, 0xCF, 0x11, 0xE0]), "an .xls is a compound file");
    assert_eq!(left(home.path()), ["out.xls"]);
    Ok(())
}

fn extended() -> Outcome {
    let home = tempfile::tempdir()?;
    let tests: String = (8..=12).map(|test| format!(" -i {test}")).collect();
    let told = iozone(home.path(), &format!("-s 1m -r 64k -i 0{tests} -w"));
    told.expect(0, &["pwrite", "repwrite", "pwritev", "preadv", "mixed"]);
    let row = rows(&told)[0];
    assert_eq!(row.split_whitespace().count(), 2 + 2 + 8 + 1, "{told}");
    assert_eq!(std::fs::metadata(home.path().join("iozone.tmp"))?.len(), 1 << 20);
    // A kept file is read without being written first.
    iozone(home.path(), "-s 1m -r 64k -i 1").expect(0, &[]);
    Ok(())
}

fn streams() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = iozone(home.path(), "-i 0 -i 1 -i 2 -s 2m -r 4k -t 3 -C -w");
    told.expect(
        0,
        &[
            "Throughput test with 3 processes",
            "Each process writes a 2048 kByte file in 4 kByte records",
            "Children see throughput for 3 initial writers =",
            "Parent sees throughput for 3 random writers =",
        ],
    );
    for block in told.out.split("\tChildren see").skip(1) {
        let figure = |start: &str| {
            let line =
                block.lines().find(|line| line.contains(start)).unwrap_or_else(|| panic!("{start}: {told}"));
            let word =
                line.rsplit('=').next().and_then(|text| text.split_whitespace().next()).map(String::from);
            word.and_then(|word| word.parse::<f64>().ok()).unwrap_or_else(|| panic!("{line}"))
        };
        let children: Vec<f64> = (0..3).map(|child| figure(&format!("Child[{child}]"))).collect();
        let moved: Vec<f64> = block.lines().filter(|line| line.starts_with("\tChild[")).map(moved).collect();
        assert_eq!(moved.len(), 3, "{told}");
        let sum: f64 = children.iter().sum();
        assert!((sum - figure(" throughput for")).abs() < 0.1, "{told}");
        let least = moved.iter().copied().fold(f64::MAX, f64::min);
        assert!((figure("Min xfer") - least).abs() < 0.01, "{told}");
        assert!(moved.iter().any(|kb| (*kb - 2048.0).abs() < 0.01), "{told}");
    }
    // The files are whole, whoever was stopped.
    for stream in 0..3 {
        assert_eq!(std::fs::metadata(home.path().join(format!("iozone.DUMMY.{stream}")))?.len(), 2 << 20);
    }
    Ok(())
}

fn moved(line: &str) -> f64 {
    line.split('=').nth(1).and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(-1.0)
}

fn rounds() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = iozone(home.path(), "-l 1 -u 2 -T -i 0 -i 1 -s 1m -r 64k -R -+u -x -F a b");
    told.expect(
        0,
        &[
            "Min process = 1",
            "Max process = 2",
            "CPU Utilization: Wall time",
            "\"Throughput report Y-axis is type of test X-axis is number of threads\"",
            "\"CPU utilization report Y-axis is type of test X-axis is number of threads\"",
        ],
    );
    let reports: Vec<_> = told.out.lines().filter(|line| line.starts_with("\"        Re-read \"")).collect();
    assert_eq!(reports.len(), 2, "{told}");
    assert!(reports.iter().all(|line| line.split_whitespace().count() == 5), "{told}");
    assert!(left(home.path()).is_empty());
    Ok(())
}

fn ways() -> Outcome {
    let home = tempfile::tempdir()?;
    for line in [
        "-B",
        "-G",
        "-D -+A 1",
        "-H 4",
        "-o",
        "-+D -c -e",
        "-K",
        "-J 1 -r 64k",
        "-+b 64,1",
        "-j 3 -E",
        "-Z -G",
        "-p -S 64 -J 1 -r 64k -N",
        "-m -+d",
        "-m -H 4",
        "-W",
        "-W -w -+T",
        "-O",
    ] {
        let told = iozone(home.path(), &format!("-s 256 -i 0 -i 1 -i 2 -i 5 {line}"));
        told.expect(0, &["iozone test complete."]);
        assert!(rows(&told)[0].split_whitespace().count() >= 9, "{line}: {told}");
    }
    for stays in ["iozone.tmp", "Child_0.log"] {
        std::fs::remove_file(home.path().join(stays))?;
    }
    for line in [
        "-i 8",
        "-i 8 -+p 75 -+B",
        "-i 8 -+F",
        "-d 1000",
        "-+V",
        "-+L",
        "-W",
        "-+k",
        "-+w 50 -+a 20",
        "-+w 50 -+y 20 -+C 30",
        "-+y 50 -+Q 8192 -+S 3 -+W 2",
        "-p -T",
    ] {
        let told = iozone(home.path(), &format!("-t 2 -s 256 -r 4 -i 0 -i 1 {line}"));
        told.expect(0, &["Children see throughput for 2 readers", "iozone test complete."]);
    }
    assert!(left(home.path()).is_empty(), "{:?}", left(home.path()));
    Ok(())
}

fn logs() -> Outcome {
    let home = tempfile::tempdir()?;
    iozone(home.path(), "-s 1m -r 64k -i 0 -i 1 -Q").expect(0, &["Offset/latency files enabled."]);
    let log = std::fs::read_to_string(home.path().join("rol.dat"))?;
    assert_eq!(log.lines().count(), 17, "{log}");
    assert!(
        log.lines()
            .nth(2)
            .is_some_and(|line| line.starts_with("        64 ") && line.ends_with("      65536"))
    );
    iozone(home.path(), "-t 2 -x -s 1m -r 64k -i 0 -Q -+z").expect(0, &["Histogram summary enabled."]);
    let log = std::fs::read_to_string(home.path().join("Child_1_wol.dat"))?;
    assert_eq!(log.lines().count(), 17, "{log}");
    let bands = std::fs::read_to_string(home.path().join("Iozone_histogram_child_1.txt"))?;
    assert!(bands.starts_with("Child: 1 Op: write\nBand 1:    20us:"), "{bands}");
    let counted: u64 = bands.split("\n\n").next().map_or(0, |block| {
        let words = block.split_whitespace().filter_map(|word| word.split_once(':')?.1.parse::<u64>().ok());
        words.sum()
    });
    assert_eq!(counted, 16, "{bands}");
    Ok(())
}

fn content() -> Outcome {
    let home = tempfile::tempdir()?;
    for check in ["-V 5", "-+d"] {
        let line = format!("-s 1m -r 64k -w {check}");
        iozone(home.path(), &format!("{line} -i 0 -i 1 -i 2 -i 3 -i 5")).expect(0, &["invalid in this mode"]);
        let path = home.path().join("iozone.tmp");
        let mut bytes = std::fs::read(&path)?;
        bytes[300_000] ^= 1;
        std::fs::write(&path, bytes)?;
        let told = iozone(home.path(), &format!("{line} -i 1"));
        told.expect(1, &["read of iozone.tmp (1024 kB, records of 64 kB)"]);
    }
    Ok(())
}

/// As iozone: 0 in each column that was selected, and 0.00 of streams.
fn too_small() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = iozone(home.path(), "-s 64 -r 128 -i 0 -i 1");
    told.expect(0, &["Record Size 128 kB", "iozone test complete.", "no record of 128 kB fits in 64 kB"]);
    let found: Vec<Option<f64>> = cells(rows(&told)[0]);
    assert_eq!(found[..6], [Some(64.0), Some(128.0), Some(0.0), Some(0.0), Some(0.0), Some(0.0)], "{told}");
    assert!(found[6..].iter().all(Option::is_none), "{told}");
    let told = iozone(home.path(), "-t 2 -C -s 64 -r 128 -i 0");
    told.expect(0, &["throughput for 2 initial writers = 0.00 kB/sec", "Child[1] xfer count = 0.00 kB"]);
    assert!(left(home.path()).is_empty(), "{:?}", left(home.path()));
    Ok(())
}

fn overwritten() -> Outcome {
    let home = tempfile::tempdir()?;
    let file = |name: &str| home.path().join(name);
    // What the original wrote begins with BIFF 2.
    std::fs::write(file("out.xls"), [0x09, 0x00, 0x04, 0x00, 0x02, 0x00])?;
    for records in ["4", "4 -r 8"] {
        let told = iozone(home.path(), &format!("-s 64 -r {records} -i 0 -b out.xls"));
        told.expect(0, &["iozone test complete."]);
        let book = std::fs::read(file("out.xls"))?;
        assert!(book.starts_with(&[0xD0, 0xCF, 0x11, 0xE0]), "-r {records}: it was written anew");
    }
    std::fs::write(file("letter.xls"), "dear")?;
    let told = iozone(home.path(), "-s 64 -r 4 -i 0 -b letter.xls");
    assert!(told.code() != 0 && told.err.contains("it exists already"), "{told}");
    assert_eq!(std::fs::read_to_string(file("letter.xls"))?, "dear");
    assert_eq!(left(home.path()), ["letter.xls", "out.xls"]);
    Ok(())
}

fn wrong() -> Outcome {
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("list"), "0 4096\n")?;
    for (line, words) in [
        ("-s 64 -i 13", "out of range"),
        ("-s much", "no size"),
        ("-i 1", "is not there"),
        ("-a -t 2", "several streams"),
        ("-F a b", "-t N before -F"),
        ("-t 2 -f a", "one file for several streams"),
        ("-t 2 -+m nobody", "no such file"),
        ("-C", "it needs streams"),
        ("-X nothing", "no such file"),
        ("-X list -a", "not with -X or -Y"),
        ("-Y list -i 2", "lists are written and read"),
        ("-+e", "a hole"),
        ("-+F", "it needs streams"),
        ("-t 2 -W -+V", "not with -W"),
        ("-+b 64,1 -J 1", "not with -+b"),
        ("-+Q 1000 -+y 50", "multiple of 512"),
        ("-+d -+w 50", "not with -+d"),
        ("-B -H 4", "not with -B"),
        ("-s 4 -s 8 -r 64", "no test is left"),
        ("-s 4 -r 64 -Rb out.xls", "no test is left"),
        ("-X list -s 64", "the list of writes says it"),
        ("--foo", "no option `foo`"),
        ("file", "options alone"),
    ] {
        let told = iozone(home.path(), line);
        assert_eq!(told.code(), 1, "{line}: {told}");
        let all = told.err.to_lowercase();
        assert!(all.contains(&words.to_lowercase()), "{line}: `{words}` was not said: {told}");
        assert!(told.out.is_empty() && told.err.contains(" hint: "), "{line}: {told}");
    }
    assert_eq!(left(home.path()), ["list"]);
    iozone(home.path(), "-h").expect(0, &["iozone: help mode", "-+m FILE"]);
    iozone(home.path(), "-v").expect(0, &["3.508"]);
    iozone(home.path(), "--help").expect(0, &["iozone: help mode", "-+m FILE"]);
    iozone(home.path(), "--version").expect(0, &["3.508"]);
    Ok(())
}

fn own_name() -> Outcome {
    let home = tempfile::tempdir()?;
    let link = home.path().join("iozone");
    symlink(crate::program::IODYNO, &link)?;
    let mut command = dressed(Command::new(&link), ["-s", "64", "-i0"]);
    command.current_dir(home.path());
    let told = run(command);
    told.expect(0, &["Command line used: iozone -s 64 -i0"]);
    Ok(())
}
