//! Who reads the output: parsers by position, by words, of the tables; and our own JSON, CSV, passes and findings.

use std::collections::BTreeSet;
use std::path::Path;

use testbed::{Case, Outcome};

use crate::program::{ProgramOutput, iodyno, told as run};
use crate::runs::{cells, iozone, rows};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("iozone_rows_are_read_by_position", &[], positions),
        Case::new("iozone_blocks_are_read_line_by_line", &[], blocks),
        Case::new("iozone_tables_are_read_by_their_names", &[], tables),
        Case::new("iozone_results_as_json_and_csv", &[], exported),
        Case::new("iozone_passes_until_it_is_known_how_well", &[], passes),
        Case::new("iozone_record_rewrite_over_all_records", &[], distinct),
        Case::new("iozone_says_how_far_apart_streams_were", &[], apart),
        Case::new("iozone_findings_are_in_its_own_words", &[], findings),
    ]
}

fn aloud(home: &Path, line: &str) -> ProgramOutput {
    let mut command = iodyno(["iozone"].into_iter().chain(line.split_whitespace()));
    command.current_dir(home);
    run(command)
}

fn positions() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = iozone(home.path(), "-a -n 64 -g 128 -i 0 -i 2 -i 4 -O");
    told.expect(0, &["OPS Mode"]);
    for row in rows(&told) {
        let cells = cells(row);
        let there: Vec<usize> = (0..cells.len()).filter(|column| cells[*column].is_some()).collect();
        assert_eq!(there, [0, 1, 2, 3, 6, 7, 9], "{row}");
        assert!(cells.iter().flatten().all(|value| value.fract() == 0.0), "{row}");
    }
    Ok(())
}

/// The names of blocks in their order.
const BLOCKS: [&str; 13] = [
    "initial writers",
    "rewriters",
    "readers",
    "re-readers",
    "reverse readers",
    "stride readers",
    "random readers",
    "mixed workload",
    "random writers",
    "pwrite writers",
    "pread readers",
    "fwriters",
    "freaders",
];

/// `Children see throughput for N NAME = X UNIT`, as those do that look for the words and split at the sign.
fn blocks() -> Outcome {
    let home = tempfile::tempdir()?;
    let tests: String = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10].iter().map(|test| format!(" -i {test}")).collect();
    let told = iozone(home.path(), &format!("-t 2 -s 256 -r 4 -x{tests}"));
    told.expect(0, &[]);
    let mut names = Vec::new();
    for line in told.out.lines() {
        let Some(rest) = line.trim().strip_prefix("Children see throughput for ") else { continue };
        let (what, figure) = rest.split_once('=').unwrap_or_else(|| panic!("{line}"));
        let (count, name) = what.trim().split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let mut words = figure.split_whitespace();
        assert_eq!(count, "2", "{line}");
        assert!(words.next().is_some_and(|word| word.parse::<f64>().is_ok_and(|rate| rate > 0.0)), "{line}");
        assert_eq!(words.next(), Some("kB/sec"), "{line}");
        names.push(name.trim().to_string());
    }
    assert_eq!(names, BLOCKS, "{told}");
    for words in ["Parent sees throughput for", "Min throughput per process", "Max throughput per process"] {
        assert_eq!(told.out.matches(words).count(), BLOCKS.len(), "{words}: {told}");
    }
    for words in ["Avg throughput per process", "Min xfer"] {
        assert_eq!(told.out.matches(words).count(), BLOCKS.len(), "{words}: {told}");
    }
    Ok(())
}

/// The figure of a table's only line, as test suites take it.
fn tables() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = iozone(home.path(), "-R -s 1m -r 64 -i 0 -i 1");
    told.expect(0, &[]);
    for name in ["Writer report", "Re-writer report", "Reader report", "Re-Reader report"] {
        let mut below = told.out.lines().skip_while(|line| *line != format!("\"{name}\""));
        assert_eq!(below.nth(1), Some("        \"64\""), "{told}");
        let row = below.next().unwrap_or_default();
        let figure = row.strip_prefix("\"1024\"   ").unwrap_or_else(|| panic!("{row}"));
        assert!(figure.trim().parse::<u64>().is_ok_and(|rate| rate > 0), "{row}");
    }
    Ok(())
}

fn exported() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = aloud(home.path(), "-a -n 64 -g 128 -i 0 -i 1 --also json=r.json,csv=r.csv");
    told.expect(0, &["iozone test complete."]);
    let json = std::fs::read_to_string(home.path().join("r.json"))?;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    assert!(json.to_string().contains("initial write"), "{json}");
    let csv = std::fs::read_to_string(home.path().join("r.csv"))?;
    // Both file sizes have their record sizes, in four passes each.
    assert!(csv.lines().count() > 4 * (5 + 6), "{csv}");
    Ok(())
}

fn passes() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = aloud(home.path(), "-s 1m -r 64k -i 0 -i 1 --also confidence=95:90,most=5");
    told.expect(0, &["iozone test complete."]);
    assert_eq!(rows(&told).len(), 1, "{told}");
    assert!(told.err.contains("passes"), "{told}");
    Ok(())
}

fn distinct() -> Outcome {
    let home = tempfile::tempdir()?;
    for (word, blocks) in [("first", 1), ("distinct", 64)] {
        let told = aloud(home.path(), &format!("-t 1 -Q -s 256 -r 4 -i 0 -i 4 --also rewrite={word}"));
        told.expect(0, &[]);
        let log = std::fs::read_to_string(home.path().join("Child_0_recol.dat"))?;
        let offsets: Vec<&str> =
            log.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
        let different: BTreeSet<_> = offsets.iter().collect();
        assert_eq!((offsets.len(), different.len()), (64, blocks), "{log}");
    }
    aloud(home.path(), "-i 0 --also rewrite=some").expect(1, &["rewrite=distinct"]);
    Ok(())
}

/// The second stream is to begin when the first has been done for long.
fn apart() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = aloud(home.path(), "-t 2 -s 64k -r 64k -i 0 -+n -d 30000000 -C");
    told.expect(0, &["-x lets each go on", "Child[1] xfer count = 0.00 kB"]);
    assert!(told.err.contains("1 of 2 had moved nothing"), "{told}");
    assert!(told.out.contains("\tMin xfer \t\t\t\t\t=       0.00 kB"), "{told}");
    Ok(())
}

fn findings() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = aloud(home.path(), "-s 64 -i 0 -i 1 -i 2");
    told.expect(0, &["larger files (-s, -n)"]);
    for word in ["`span`", "`time`", "`direct", "`workers`"] {
        assert!(!told.err.contains(word), "{word}: {told}");
    }
    Ok(())
}
