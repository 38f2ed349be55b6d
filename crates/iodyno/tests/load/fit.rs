//! `iodyno trace fit`.

use std::process::Command;

use testbed::{Case, Need, Outcome};

use crate::program::{iodyno, names, scratch, told};
use crate::trace;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a fitted plan is explained and runs", &[Need::IoUring], plan),
        Case::new("a fitted job file is taken by fio", &[Need::Tool("fio")], fio),
    ]
}

fn plan() -> Outcome {
    let home = scratch();
    let path = trace::written(home.path());
    let mut command = iodyno(["trace", "fit", path.to_str().unwrap(), "-o", "plan.toml"]);
    command.current_dir(home.path());
    let fitted = told(command);
    let text = &fitted.expect(0, &[]).err;
    for part in
        ["file0 random", "zones", "file1 sequential", "Distance from the trace", "offsets in file0", "close"]
    {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let here = |arguments: [&str; 2]| {
        let mut command = iodyno(arguments);
        command.arg("plan.toml").current_dir(home.path());
        told(command).expect(0, &[]).out.clone()
    };
    let explained = here(["plan", "--units=MB/s"]);
    assert!(explained.contains("file0 random"), "{explained}");
    let ran = here(["run", "--quiet"]);
    assert!(ran.contains("file0 random") && ran.contains("file1 sequential"), "{ran}");
    assert_eq!(names(home.path()), ["fitted-0.dat", "fitted-1.dat", "plan.toml", "small.iot"]);
    Ok(())
}

fn fio() -> Outcome {
    let home = scratch();
    let path = trace::written(home.path());
    let mut command = iodyno(["trace", "fit", path.to_str().unwrap(), "--as", "fio", "-o", "fitted.fio"]);
    command.current_dir(home.path());
    told(command).expect(0, &[]);
    let job = std::fs::read_to_string(home.path().join("fitted.fio"))?;
    assert!(job.contains("random_distribution=zoned:") && job.contains("bssplit="), "{job}");
    let mut command = Command::new("fio");
    command.args(["--output-format=json", "fitted.fio"]).current_dir(home.path());
    let ran = told(command).expect(0, &[]).out.clone();
    let ran = ran.get(ran.find('{').unwrap_or(0)..).unwrap_or_default();
    let json: serde_json::Value = serde_json::from_str(ran)?;
    let jobs = json["jobs"].as_array().ok_or("fio lists no jobs")?;
    // The log is one job in sequence and one for what is not.
    assert_eq!(jobs.len(), 3, "{json}");
    let first = jobs.iter().find(|job| job["jobname"] == "file0-random").ok_or("no such job")?;
    assert!(
        first["read"]["total_ios"].as_u64() > Some(0) && first["write"]["total_ios"].as_u64() > Some(0),
        "{json}"
    );
    Ok(())
}
