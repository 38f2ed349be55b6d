//! The original and ours beside each other: up to figures, versions and what differs on purpose, the same text.

use std::path::Path;
use std::process::Command;

use testbed::{Case, Need, Outcome, Skip};

use crate::program::{Program, dressed};
use crate::runs::iozone;

/// The cases; the original's are skipped where it is not installed.
pub fn cases() -> Vec<Case> {
    let needs = &[Need::Tool("iozone")];
    let streams = STREAMS.iter().map(|line| {
        let body = move || alike(&[line], "File stride size");
        Case::new(format!("iozone_says_of_streams_what_the_original_says: {line}"), needs, body)
            .waits()
            .against()
    });
    let cells = Case::new("iozone_says_of_cells_what_the_original_says", needs, cells).against();
    streams.chain([cells]).collect()
}

/// What the original says.
///
/// # Errors
/// A skip, when it does not end: its streams now and then wait for each other on a busy machine.
fn original(home: &Path, line: &str) -> Result<String, Skip> {
    let mut command = dressed(Command::new("iozone"), line.split_whitespace());
    command.current_dir(home);
    let told = Program::new(command).outcome_of_an_original();
    told.map(|told| told.out).map_err(|error| Skip::new(format!("the original, of `{line}`: {error}")))
}

/// Command lines with several streams. The original sleeps between its parts, for a minute in all: a case each.
const STREAMS: &[&str] = &[
    "-i 0 -i 1 -s 1m -r 64k -t 3 -C -x",
    "-i 0 -i 1 -i 2 -i 3 -i 5 -s 256k -r 4k -t 2 -T -x -R",
    "-i 0 -i 1 -s 256k -r 4k -l 1 -u 2 -x -C",
    "-i 0 -i 2 -i 8 -s 256k -r 4k -t 2 -x -C",
    "-i 0 -i 1 -i 6 -i 7 -i 9 -i 10 -s 256k -r 4k -t 2 -x",
];

/// Both say the same of each command line, from a line on.
fn alike(lines: &[&str], from: &str) -> Outcome {
    let home = tempfile::tempdir()?;
    for line in lines {
        let theirs = original(home.path(), line)?;
        let ours = skeleton(&iozone(home.path(), line).out, from);
        assert_eq!(ours, skeleton(&theirs, from), "{line}");
    }
    Ok(())
}

/// A text with every figure as `#`, from a line on; its spaces count.
pub fn skeleton(text: &str, from: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.contains(from));
    lines.map(figures_out).collect()
}

/// Digits become `#` as many as the widest figure has, so that only where a figure ends counts.
fn figures_out(line: &str) -> String {
    let mut found = String::new();
    for letter in line.chars() {
        let figure = letter.is_ascii_digit() || letter == '.';
        if figure && found.ends_with('#') {
            continue;
        }
        // What a shorter figure leaves blank before it belongs to it.
        if figure {
            found.truncate(found.trim_end_matches(' ').len());
            found.push('#');
        } else {
            found.push(letter);
        }
    }
    found
}

fn cells() -> Outcome {
    let lines = ["-a -n 64 -g 256 -i 0 -i 1 -R", "-s 1m -r 64k -i 0 -i 1 -i 2 -i 3 -i 4 -i 5 -i 6 -i 7 -R"];
    alike(&lines, "Excel output")
}
