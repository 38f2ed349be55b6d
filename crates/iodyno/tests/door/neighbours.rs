//! `iodyno neighbours`: both directions, with a limit, and nothing left behind.

use std::path::Path;

use testbed::{Case, Need, Outcome, Skip};

use crate::program::{ProgramOutput, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("neighbours tells of both directions and leaves nothing", &[], both),
        Case::new("neighbours limits the one that ramps", &[Need::Root, Need::That(limits)], limited),
        Case::new("neighbours refuses what is wrong", &[], refused),
    ]
}

fn neighbours(arguments: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["neighbours"]);
    command.args(arguments);
    told(command)
}

const SHORT: [&str; 4] = ["--size", "16MiB", "--time", "100ms"];

fn both() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let page = format!("{path}/page.html");
    let output =
        neighbours(&[&[path.as_str(), &path, "--loads", "50,100", "--html", &page], &SHORT[..]].concat());
    output.expect(0, &["A while B ramps", "B while A ramps", "load of B", "B IOPS", "× alone"]);
    assert!(!output.out.contains("which may do"), "{output}");
    let mut lines = output.out.lines().filter(|line| !line.contains(&path));
    assert!(lines.all(|line| line.chars().count() <= 80), "{output}");
    assert_eq!(names(home.path()), ["page.html"]);
    Ok(())
}

fn group_parent() -> &'static Path {
    let first = Path::new("/sys/fs/cgroup/blkio");
    if first.is_dir() { first } else { Path::new("/sys/fs/cgroup") }
}

/// Whether control groups limit I/O here.
fn limits() -> Result<(), Skip> {
    let files = ["blkio.throttle.read_iops_device", "cgroup.subtree_control"];
    let is_there = |file: &&str| {
        let text = std::fs::read_to_string(group_parent().join(file));
        text.is_ok_and(|text| file.starts_with("blkio") || text.split_whitespace().any(|word| word == "io"))
    };
    match files.iter().any(is_there) {
        true => Ok(()),
        false => Err(Skip::new("no control group limits I/O here")),
    }
}

fn limited() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let words = [path.as_str(), &path, "--loads", "100", "--io-max", "iops=100,bandwidth=10MB", "--json"];
    let output = neighbours(&[&words[..], &["--size", "16MiB", "--time", "2s"]].concat());
    output.expect(0, &["A while B ramps, which may do 100 IOPS and 10.0 MB/s"]);
    let json: serde_json::Value = serde_json::from_str(&output.out)?;
    let sections = json["sections"].as_array().expect("sections");
    assert_eq!(sections.len(), 4);
    for limited in [1, 3] {
        let rate = sections[limited]["rows"][1][1].as_f64().expect("a rate");
        // The kernel counts in slices: a little more than the limit gets through.
        assert!(rate <= 200.0, "{rate} IOPS of at most 100\n{output}");
    }
    assert!(names(home.path()).is_empty());
    let left = names(group_parent()).into_iter().filter(|name| name.contains("iodyno-neighbour"));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    neighbours(&[&path]).refused(&["B"]);
    neighbours(&[&path, "/nowhere"]).refused(&["/nowhere: no such file or directory"]);
    neighbours(&[&path, &path, "--loads", "0"]).refused(&["expected more than 0"]);
    neighbours(&[&path, &path, "--io-max", "iops"]).refused(&["iops=6000,bandwidth=170MB"]);
    assert!(names(home.path()).is_empty());
    Ok(())
}
