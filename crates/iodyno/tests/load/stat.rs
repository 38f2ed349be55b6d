//! `iodyno trace stat`.

use testbed::{Case, Outcome};

use crate::program::{iodyno, names, scratch, told};
use crate::trace;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a trace's statistics are text, JSON and a page", &[], statistics),
        Case::new("what is no trace is refused", &[], refused),
    ]
}

fn statistics() -> Outcome {
    let home = scratch();
    let path = trace::written(home.path());
    let stat = |arguments: &[&str]| {
        let mut command = iodyno(["trace", "stat"]);
        command.arg(&path).args(arguments).current_dir(home.path());
        told(command)
    };
    let text = stat(&[]).expect(0, &[]).out.clone();
    for part in [
        "1,500 operations in",
        "read ",
        "fsync",
        "Hurst parameter",
        "hottest part of the footprint",
        "7/8 db",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let json: serde_json::Value = serde_json::from_str(&stat(&["--json"]).expect(0, &[]).out)?;
    assert_eq!((&json["format"], &json["operations"]), (&"iodyno.trace_statistics/1".into(), &1500.into()));
    stat(&["--html", "page.html"]).expect(0, &[]);
    let page = std::fs::read_to_string(home.path().join("page.html"))?;
    assert!(page.starts_with("<!doctype html>") && page.contains("Miss ratio of an LRU cache"));
    stat(&["--html", "page.html"]).refused(&["page.html", "--force"]);
    stat(&["--html", "page.html", "--force"]).expect(0, &[]);
    assert_eq!(names(home.path()), ["page.html", "small.iot"]);
    let mut command = iodyno(["--units", "MiB/s", "trace", "stat"]);
    command.arg(&path);
    assert!(told(command).expect(0, &[]).out.contains("MiB/s"));
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    let path = home.path().join("noise.iot");
    std::fs::write(&path, vec![7u8; 5000])?;
    for name in [path.to_str().unwrap(), "/no/such/trace.iot"] {
        told(iodyno(["trace", "stat", name, "--html", home.path().join("page.html").to_str().unwrap()]))
            .refused(&[name]);
        told(iodyno(["trace", "fit", name, "-o", home.path().join("plan.toml").to_str().unwrap()]))
            .refused(&[name]);
    }
    assert_eq!(names(home.path()), ["noise.iot"]);
    Ok(())
}
