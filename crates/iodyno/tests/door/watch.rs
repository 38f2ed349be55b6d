//! `iodyno watch`: a slowdown after weeks of virtual time and its honest twin, points that continue each other, and the end.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testbed::{Case, Outcome};

use crate::program::{Program, ProgramOutput, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("watch tells a slowdown after weeks, and nothing of its honest twin", &[], weeks)
            .computes(),
        Case::new("watch continues its points and leaves nothing", &[], continued),
        Case::new("watch ends with a report when it is terminated", &[], terminated).waits(),
        Case::new("watch refuses what is wrong", &[], refused),
    ]
}

fn watch(home: &Path, words: &[&str]) -> Command {
    let mut command = iodyno(["watch"]);
    command.args(words).current_dir(home).env("IODYNO_HISTORY", home.join("history.sqlite"));
    command
}

fn report(output: &ProgramOutput) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&output.out)
}

/// Rows of the changes, each as text.
fn changes(report: &Value) -> Vec<String> {
    let sections = report["sections"].as_array().expect("sections");
    let changes = sections.iter().find(|section| section["title"] == "changes").expect("changes");
    changes["rows"].as_array().map_or_else(Vec::new, |rows| rows.iter().map(ToString::to_string).collect())
}

/// A disk of that name whose arm takes so long.
fn disk(home: &Path, seek: &str) -> Result<(), std::io::Error> {
    let text = format!(
        "name = \"arm\"\nabout = \"a disk\"\nsource = \"made for a test\"\n[part.disk.disk]\ncapacity = \"500GB\"\nrpm = 7200\n\
         seek = \"{seek}\"\ntrack_to_track = \"600us\"\nouter_rate = \"125MB/s\"\n"
    );
    std::fs::write(home.join("arm.toml"), text)
}

fn weeks() -> Outcome {
    const SIX_HOURS: [&str; 8] =
        ["--on", "./arm.toml", "--size", "64GiB", "--every", "6h", "--json", "--times"];
    for (seek, is_slower) in [("8.5ms", false), ("17ms", true)] {
        let home = scratch();
        disk(home.path(), "8.5ms")?;
        let learned = told(watch(home.path(), &[&SIX_HOURS[..], &["100"]].concat()));
        assert!(learned.code() == 0 && changes(&report(&learned)?).is_empty(), "{learned}");
        disk(home.path(), seek)?;
        let after = told(watch(home.path(), &[&SIX_HOURS[..], &["40", "--metrics", "m.prom"]].concat()));
        assert_eq!(after.code(), 0, "{after}");
        let (found, metrics) =
            (changes(&report(&after)?), std::fs::read_to_string(home.path().join("m.prom"))?);
        let alert = format!("iodyno_watch_alert{{target=\"./arm.toml\"}} {}\n", u8::from(is_slower));
        assert!(metrics.contains(&alert) && metrics.ends_with("# EOF\n"), "{metrics}");
        assert_eq!(after.err.contains("of read is"), is_slower, "{after}");
        // 100 points of six hours are 25 days from 2026-01-05 on.
        assert_eq!(
            found.iter().any(|row| row.contains("read p50") && row.contains("2026-01-30")),
            is_slower,
            "{found:?}"
        );
        let status = told(watch(home.path(), &["--on", "./arm.toml", "--every", "6h", "--status"]));
        assert_eq!(status.code(), i32::from(is_slower), "{status}");
    }
    Ok(())
}

fn continued() -> Outcome {
    let home = scratch();
    let data = home.path().join("data");
    std::fs::create_dir(&data)?;
    const QUICK: [&str; 9] = ["data", "--size", "1MiB", "--every", "1ms", "--budget", "100%", "--times", "2"];
    told(watch(home.path(), &QUICK)).expect(0, &["points", "read p50", "names p90", "Nothing changed."]);
    let again = told(watch(home.path(), &[&QUICK[..], &["--json"]].concat()));
    assert_eq!(again.code(), 0, "{again}");
    let report = report(&again)?;
    assert_eq!(report["format"], "iodyno.watch/1");
    assert!(report.to_string().contains("\"4\""), "four points: {report}");
    assert!(names(&data).is_empty(), "{:?}", names(&data));
    let status = told(watch(home.path(), &["data", "--status"]));
    status.expect(0, &["learning"]);
    told(watch(home.path(), &["data", "--accept"])).expect(0, &["is what it is to be"]);
    told(watch(home.path(), &["data", "--status"])).expect(0, &["points"]);
    let mut runs = iodyno(["runs"]);
    runs.env("IODYNO_HISTORY", home.path().join("history.sqlite"));
    told(runs).expect(0, &["(+3 runs)"]);
    Ok(())
}

fn terminated() -> Outcome {
    let home = scratch();
    let command = watch(
        home.path(),
        &[".", "--size", "1MiB", "--every", "1h", "--budget", "100%", "--metrics", "m.prom"],
    );
    let mut running = Program::new(command).start();
    running.until("the first probe", || {
        std::fs::read_to_string(home.path().join("m.prom")).is_ok_and(|text| text.contains("read"))
    });
    running.signal(libc::SIGTERM);
    let told = running.end();
    told.expect(0, &["points", "read p50"]);
    assert_eq!(names(home.path()), ["history.sqlite", "m.prom"], "{told}");
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    for (words, why) in [
        (&["nowhere"][..], "no such directory"),
        (&[".", "--budget", "0"], "more than 0 %"),
        (&[".", "--size", "4k"], "too small"),
        (&["--on", "hdd-7200"], "--times"),
        (&[".", "--rhythm", "week"], "day or none"),
        (&[".", "--status"], "no point"),
        (&[".", "--size", "1000TiB"], "are free"),
    ] {
        let output = told(watch(home.path(), words));
        assert!(output.code() == 2 && output.err.contains(why), "{words:?}: {output}");
    }
    Ok(())
}
