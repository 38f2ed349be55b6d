//! IOMeter's configurations, run: what is written is what was counted, and what the file says.

use std::path::Path;

use testbed::{Case, Outcome};

use crate::program::{ProgramOutput, iodyno, told as run};

/// A worker with two specifications on `C:`, a second each.
const SMALL: &str = include_str!("../../../../golden/iometer/small.icf");

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("iometer_{name}"), &[], body);
    vec![
        case("results_are_what_was_counted", results),
        case("outstanding_operations_are_cycled", cycling),
        case("what_is_wrong_leaves_nothing_behind", wrong),
    ]
}

fn iometer(home: &Path, text: &str, words: &[&str]) -> ProgramOutput {
    std::fs::write(home.join("f.icf"), text).expect("a configuration");
    let mut command = iodyno(["iometer", "f.icf"].iter().chain(words).copied());
    command.env("IODYNO_FINDINGS", "0").current_dir(home);
    run(command)
}

/// A results file's rows, by its own column names.
fn rows(text: &str) -> Vec<Vec<(String, String)>> {
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("'Target Type") {
            columns = format!("Target Type{heading}").split(',').map(String::from).collect();
        }
        let first = line.split(',').next().unwrap_or("");
        if ["ALL", "MANAGER", "WORKER", "DISK"].contains(&first) {
            let cells: Vec<_> = line.split(',').map(String::from).collect();
            assert_eq!(cells.len(), columns.len(), "{line}");
            rows.push(columns.iter().cloned().zip(cells).collect());
        }
    }
    rows
}

fn cell<'a>(row: &'a [(String, String)], column: &str) -> &'a str {
    let found = row.iter().find(|(name, _)| name == column);
    found.map_or_else(|| panic!("no column {column}"), |(_, cell)| cell)
}

fn number(row: &[(String, String)], column: &str) -> f64 {
    let text = cell(row, column);
    text.parse().unwrap_or_else(|_| panic!("{column}: `{text}`"))
}

fn results() -> Outcome {
    let home = tempfile::tempdir()?;
    let map = format!("C:={}", home.path().display());
    let told = iometer(home.path(), SMALL, &["-r", "results.csv", "--map", &map, "--also", "json=r.json"]);
    told.expect(0, &["4 KiB; 67% Read; 100% random: ", "Files: ", " 0 errors"]);
    assert_eq!(std::fs::metadata(home.path().join("iobw.tst"))?.len(), 8192 * 512);
    let text = std::fs::read_to_string(home.path().join("results.csv"))?;
    assert!(
        text.starts_with("'Test Type,Test Description\n0,one worker, two specifications\n'Version\n1.1.0\n")
    );
    assert_eq!(text.matches("'End access specifications\n'Results\n").count(), 2, "{text}");
    let rows = rows(&text);
    let kinds: Vec<&str> = rows.iter().map(|row| cell(row, "Target Type")).collect();
    assert_eq!(kinds, ["ALL", "MANAGER", "WORKER", "DISK", "ALL", "MANAGER", "WORKER", "DISK"], "{text}");
    for row in &rows {
        let (read, written) = (number(row, "Read I/Os"), number(row, "Write I/Os"));
        let share = read / (read + written);
        let wanted = if cell(row, "Access Specification Name") == "Files" { 0.44 } else { 0.67 };
        // Thousands of draws; of the few of a stolen machine no share is asked.
        assert!(
            read + written < 2000.0 || (share - wanted).abs() < 0.08,
            "{share}, wanted {wanted}: {row:?}"
        );
        let bands =
            row.iter().rev().take(21).map(|(_, count)| count.parse::<f64>().expect("a count")).sum::<f64>();
        assert_eq!(bands, read + written, "{row:?}");
        let seconds = number(row, "Total Raw Run Time") / 1e9;
        assert!((number(row, "IOps") * seconds - read - written).abs() < 1.0, "{row:?}");
        assert_eq!(number(row, "Errors"), 0.0);
    }
    assert_eq!(rows[0].iter().find(|(name, _)| name == "Bytes Read").expect("bytes").1, {
        let reads = number(&rows[0], "Read I/Os") as u64;
        (reads * 4096).to_string()
    });
    assert_eq!((cell(&rows[1], "Target Name"), cell(&rows[2], "Target Name")), ("BENCH", "Worker 1"));
    assert_eq!((cell(&rows[3], "Target Name"), cell(&rows[3], "Queue Depth")), ("C:", "4"));
    // The record says the same.
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(home.path().join("r.json"))?)?;
    assert!(record.to_string().contains("Worker 1 on C:"));
    Ok(())
}

fn cycling() -> Outcome {
    let home = tempfile::tempdir()?;
    let map = format!("C:={}", home.path().display());
    let text = SMALL.replace("\tNORMAL", "\tCYCLE_OUTSTANDING_IOS").replace("\tFiles\n'End", "'End");
    let text = text.replace("\tALL\n", "\tNO_WORKERS\n");
    let told = iometer(home.path(), &text, &["--map", &map]);
    told.expect(0, &["'Version"]);
    let found = rows(&told.out);
    let kinds: Vec<&str> = found.iter().map(|row| cell(row, "Target Type")).collect();
    assert_eq!(kinds, ["ALL", "MANAGER", "ALL", "MANAGER", "ALL", "MANAGER"], "{told}");
    Ok(())
}

fn wrong() -> Outcome {
    let home = tempfile::tempdir()?;
    let told = iometer(home.path(), SMALL, &["-r", "results.csv"]);
    told.expect(2, &["error: f.icf:66: `C:`: no such target here", "hint", "--map"]);
    let map = format!("C:={}", home.path().display());
    let told =
        iometer(home.path(), &SMALL.replace("\t8192,0,2", "\t0,0,2"), &["-r", "results.csv", "--map", &map]);
    told.expect(2, &["would fill what it lies on"]);
    let names: Vec<_> = std::fs::read_dir(home.path())?.flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["f.icf"]);
    Ok(())
}
