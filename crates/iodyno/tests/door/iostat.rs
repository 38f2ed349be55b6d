//! iostat by its name: its reports on this machine, beside the original's where it is installed.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, ProgramOutput, Running, dressed, scratch, told};

pub fn cases() -> Vec<Case> {
    let original: &[Need] = &[Need::Tool("iostat")];
    vec![
        Case::new("iostat reports as often as it is told", &[], reports).waits(),
        Case::new("iostat ends well when it is interrupted", &[], interrupted),
        Case::new("iostat counts what the original counts", original, counts).against(),
        Case::new("iostat's headings are the original's", original, headings).against(),
        Case::new("old columns are a word away", &[], layouts),
    ]
}

/// The program by the name of the original.
fn iostat(home: &Path, line: &str) -> Command {
    let name = home.join("iostat");
    // It is there from the second time on.
    let _ = symlink(IODYNO, &name);
    let mut command = dressed(Command::new(name), line.split_whitespace());
    command.env("S_COLORS", "never").env("LC_ALL", "C").env("TZ", "UTC");
    command.env_remove("POSIXLY_CORRECT").env_remove("S_TIME_FORMAT");
    command
}

fn document(told: &ProgramOutput) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let document: Value = serde_json::from_str(&told.out)?;
    Ok(document["sysstat"]["hosts"][0]["statistics"].as_array().ok_or("no statistics")?.clone())
}

fn reports() -> Outcome {
    let home = scratch();
    for (line, count) in [("-d 1 2", 2), ("-d", 1), ("-yd 1 1", 1), ("-xd 0", 1)] {
        let said = told(iostat(home.path(), line));
        said.expect(0, &["Device", "Linux"]);
        assert_eq!(
            said.out.lines().filter(|line| line.starts_with("Device ")).count(),
            count,
            "{line}: {said}"
        );
        assert!(said.err.is_empty(), "{said}");
    }
    let said = told(iostat(home.path(), "-o JSON -t 1 2"));
    let reports = document(&said)?;
    assert!(reports.len() == 2 && reports[1]["avg-cpu"]["idle"].is_number(), "{said}");
    told(iostat(home.path(), "-k -m")).expect(1, &["Usage: iostat"]);
    Ok(())
}

fn interrupted() -> Outcome {
    let home = scratch();
    let mut running = Running::start(iostat(home.path(), "-o JSON -d 1"));
    running.says("disk_device");
    running.signal(libc::SIGINT);
    let said = running.end();
    said.expect(0, &[]);
    assert!(!document(&said)?.is_empty(), "{said}");
    Ok(())
}

/// Each device's totals since the machine was started.
fn totals(reports: &[Value]) -> Vec<(String, [u64; 3])> {
    let disks = reports[0]["disk"].as_array().cloned().unwrap_or_default();
    let of = |disk: &Value| {
        let total = |key: &str| disk[key].as_u64().unwrap_or(0);
        (disk["disk_device"].as_str().unwrap_or("").into(), ["kB_read", "kB_wrtn", "kB_dscd"].map(total))
    };
    disks.iter().map(of).collect()
}

/// Between two readings of the original lies ours; a device that comes or goes meanwhile is nobody's fault.
fn counts() -> Outcome {
    let home = scratch();
    let original = || -> Result<_, Box<dyn std::error::Error>> {
        let mut command = Command::new("iostat");
        command.args(["-d", "-o", "JSON"]).env("LC_ALL", "C");
        let document: Value = serde_json::from_str(&told(command).out)?;
        Ok(totals(document["sysstat"]["hosts"][0]["statistics"].as_array().ok_or("no statistics")?))
    };
    let before = original()?;
    let ours = totals(&document(&told(iostat(home.path(), "-d -o JSON")))?);
    let after = original()?;
    let mut compared = 0;
    for (name, least) in &before {
        let of =
            |all: &[(String, [u64; 3])]| all.iter().find(|(known, _)| known == name).map(|(_, total)| *total);
        let (Some(ours), Some(most)) = (of(&ours), of(&after)) else { continue };
        let between = |at: usize| least[at] <= ours[at] && ours[at] <= most[at];
        assert!((0..3).all(between), "{name}: {least:?} {ours:?} {most:?}");
        compared += 1;
    }
    assert!(compared > 0 || before.is_empty(), "{before:?} {ours:?}");
    Ok(())
}

fn headings() -> Outcome {
    let home = scratch();
    for line in ["", "-x", "-m", "-xs", "-s", "-xh", "-h", "-c", "-dt", "-xd --compact --pretty"] {
        let plain = [("LC_ALL", "C"), ("TZ", "UTC"), ("S_COLORS", "never")];
        let mut command = Command::new("iostat");
        command.args(line.split_whitespace()).envs(plain);
        let theirs = told(command).out;
        let ours = told(iostat(home.path(), line)).out;
        let heads = |text: &str| -> Vec<String> {
            let is_head = |line: &&str| {
                line.contains("Device") || line.starts_with("avg-cpu") || line.starts_with("Linux")
            };
            text.lines().filter(is_head).map(String::from).collect()
        };
        assert_eq!(heads(&ours), heads(&theirs), "{line}");
    }
    Ok(())
}

fn layouts() -> Outcome {
    let home = scratch();
    for (words, heads) in [
        ("layout=11", &["aqu-sz", "svctm"][..]),
        ("layout=10", &["Device:", "rkB/s", "avgrq-sz avgqu-sz", "svctm"]),
        ("layout=9", &["rsec/s", "avgrq-sz avgqu-sz", "await svctm"]),
    ] {
        let mut command = iostat(home.path(), "-xd");
        command.env("IODYNO_ALSO", words);
        told(command).expect(0, heads);
        let mut command = iostat(home.path(), "-xd");
        command.args(["--also", words]);
        told(command).expect(0, heads);
    }
    told(iostat(home.path(), "-x --also layout=13")).expect(1, &["expected 9, 10, 11 or 12"]);
    Ok(())
}
