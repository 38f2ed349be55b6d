//! Whether two builds of the program say the same: over command lines of all dialects, text, errors and exit status.
//!
//! For changes that are to change nothing. The command lines lie in `same.toml` beside this file; each runs in an empty
//! directory of its own, after the files and commands that it names. Where numbers are measured they are masked, and with
//! them the blanks and rules of tables whose width follows them. It refuses to judge a difference: it shows it.

use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

/// The command lines.
const LINES: &str = include_str!("same.toml");
/// Lines of a difference that are shown.
const MOST_SHOWN: usize = 12;

/// A command line with what it needs.
struct CommandLine {
    words: Vec<String>,
    /// Command lines before it, whose output is not compared.
    before: Vec<Vec<String>>,
    /// Whether numbers are measured.
    masked: bool,
}

/// Compares two programs; true when they say the same everywhere.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let [before, rest @ ..] = arguments else {
        return Err("same: name the program before the change, and perhaps the one after it".into());
    };
    let after = rest.first().map_or_else(|| root.join("target/release/iodyno"), PathBuf::from);
    let programs = [absolute(Path::new(before))?, absolute(&after)?];
    let files = files()?;
    let (mut same, mut different) = (0, 0);
    for line in lines()? {
        let told = [said(&programs[0], &files, &line)?, said(&programs[1], &files, &line)?];
        if told[0] == told[1] {
            same += 1;
            continue;
        }
        different += 1;
        println!("iodyno {}", line.words.join(" "));
        show(&told);
    }
    println!("{same} command lines say the same, {different} do not");
    Ok(different == 0)
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
}

fn table() -> Result<Table, String> {
    LINES.parse::<Table>().map_err(|error| format!("same.toml: {}", error.message()))
}

/// Files that every command line finds: name and text.
fn files() -> Result<Vec<(String, String)>, String> {
    let table = table()?;
    let files = table.get("files").and_then(Value::as_table).ok_or("same.toml: no [files]")?;
    Ok(files.iter().map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().into())).collect())
}

fn lines() -> Result<Vec<CommandLine>, String> {
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    let mut lines = Vec::new();
    for (key, masked) in [("exact", false), ("measured", true)] {
        let table = table()?;
        let listed = table.get(key).and_then(Value::as_array).ok_or(format!("same.toml: no `{key}`"))?;
        for text in listed.iter().filter_map(Value::as_str) {
            let mut steps: Vec<Vec<String>> = text.split(" && ").map(words).collect();
            let last = steps.pop().ok_or(format!("same.toml: `{key}` has an empty line"))?;
            lines.push(CommandLine { words: last, before: steps, masked });
        }
    }
    Ok(lines)
}

/// What a program says, and how it ends.
fn said(program: &Path, files: &[(String, String)], line: &CommandLine) -> Result<String, String> {
    let home = std::env::temp_dir().join(format!("same-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    for (name, text) in files {
        std::fs::write(home.join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    let run = |words: &[String]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(&home).env("IODYNO_HISTORY", home.join("history.sqlite"));
        command.env("COLUMNS", "100").stdin(std::process::Stdio::null());
        command.output().map_err(|error| format!("{}: {error}", program.display()))
    };
    for words in &line.before {
        run(words)?;
    }
    let output = run(&line.words)?;
    let _ = std::fs::remove_dir_all(&home);
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(&*program.to_string_lossy(), "iodyno");
        if line.masked { masked(&text) } else { text }
    };
    Ok(format!("{}\n-- errors --\n{}\n-- {} --\n", text(&output.stdout), text(&output.stderr), output.status))
}

/// The text with every number as `#`, and with blanks and rules folded, as their lengths follow the numbers. Which unit a
/// number is printed in follows it as well, so its scale goes: kB becomes B, and KiB becomes iB.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = number(rest);
        if length > 0 {
            rest = &rest[length..];
            masked.push('#');
            let blank = usize::from(rest.starts_with(' '));
            let word = rest[blank..].split(|next: char| !next.is_alphabetic()).next().unwrap_or_default();
            if let Some(unit) = unscaled(word) {
                masked.push_str(unit);
                rest = &rest[blank + word.len()..];
            }
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        let is_folded = matches!(letter, ' ' | '-' | '─' | '=') && masked.ends_with(letter);
        if !is_folded {
            masked.push(letter);
        }
    }
    // A number's blanks go with its width. A heading of fio's names the unit of its row.
    let masked = masked.replace("= #", "=#").replace("[ #", "[#");
    let masked = masked.replace("(nsec)", "(usec)").replace("(msec)", "(usec)");
    // Which rows a table of latencies has is measured as well, and so are the findings of so short a run. They end a stream.
    let lines = masked.lines().filter(|line| !line.trim_start().starts_with("lat (usec) :"));
    lines.take_while(|line| *line != "findings").collect::<Vec<_>>().join("\n").trim_end().to_string()
}

/// How many bytes of a text are the number that it begins with: digits, with points and commas between them.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_part = |at: &usize| is_digit(*at) || (*at > 0 && is_digit(at + 1) && b".,".contains(&bytes[*at]));
    (0..bytes.len()).take_while(is_part).count()
}

/// A unit without its scale.
fn unscaled(word: &str) -> Option<&'static str> {
    let unit = match word {
        "k" | "M" | "G" => "",
        "B" | "kB" | "KB" | "MB" | "GB" | "TB" => "B",
        "KiB" | "MiB" | "GiB" | "TiB" => "iB",
        "ns" | "µs" | "us" | "ms" | "s" => "s",
        "nsec" | "usec" | "msec" => "sec",
        _ => return None,
    };
    Some(unit)
}

/// The first lines that differ.
fn show(told: &[String; 2]) {
    let (before, after): (Vec<&str>, Vec<&str>) = (told[0].lines().collect(), told[1].lines().collect());
    let lines = (0..before.len().max(after.len())).filter(|line| before.get(*line) != after.get(*line));
    for line in lines.take(MOST_SHOWN) {
        for (sign, side) in [('-', &before), ('+', &after)] {
            if let Some(text) = side.get(line) {
                println!("  {sign} {text}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_lines_of_every_dialect() {
        let lines = lines().unwrap();
        assert!(lines.len() >= 40, "{}", lines.len());
        let tools = [
            "fio",
            "ior",
            "mdtest",
            "md-workbench",
            "dlio",
            "bonnie++",
            "postmark",
            "dbench",
            "smallfile",
            "elbencho",
            "iozone",
            "filebench",
            "posix",
            "dd",
            "hdparm",
            "iostat",
            "iometer",
            "vdbench",
            "diskspd",
            "io500",
            "iperf3",
            "iperf",
            "netperf",
            "netserver",
            "net",
            "measure",
            "run",
            "plan",
            "runs",
            "compare",
            "age",
        ];
        for tool in tools {
            assert!(lines.iter().any(|line| line.words.first().is_some_and(|word| word == tool)), "{tool}");
        }
        assert!(!files().unwrap().is_empty());
    }

    #[test]
    fn numbers_and_the_widths_that_follow_them_are_masked() {
        assert_eq!(masked("a 12.5 GB/s   --- 7"), masked("a 9 MB/s - 12,000"));
        assert_eq!(masked("IOPS=32.0k, BW=125MiB/s (128KiB/1msec)"), "IOPS=#, BW=#iB/s (#iB/#sec)");
        assert_eq!(masked("x=[ 1096],\n\nfindings\n  1 note: this\n"), "x=[#],");
        for (one, other) in
            [("a 12 GB/s", "a 12 IOPS"), ("1 MB", "1 MiB"), ("9 ms", "9 MB"), ("5.00th", "5 ")]
        {
            assert_ne!(masked(one), masked(other));
        }
    }
}
