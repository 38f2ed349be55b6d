//! Passes, conditions and preconditioning end to end: the program on `sim` and on files of its own, natively and as a
//! drop-in.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use testbed::program::{Program, ProgramOutput};

/// A device with noise in virtual time: ten seconds at a depth of 4.
const NOISE: &str = r#"
name = "noise"
[target.d]
nothing = "1GiB"
[[phase]]
name = "p"
[[phase.job]]
name = "j"
on = "d"
do = "read"
block = "4KiB"
pick = "random"
engine = "sim"
settings = { service = "exponential:10ms" }
depth = 4
until = "10s"
"#;

fn iodyno(folder: &Path, arguments: &[&str]) -> ProgramOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("IODYNO_ALSO")
        .env("IODYNO_HISTORY", folder.join("h"));
    Program::new(command).run()
}

/// Runs the noise with options; the status, the report and the document.
fn noise(options: &[&str]) -> (i32, String, Value) {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("n.toml"), NOISE).unwrap();
    let mut arguments = vec!["run", "n.toml", "--quiet", "--json", "out.json"];
    arguments.extend(options);
    let said = iodyno(folder.path(), &arguments);
    let document = std::fs::read_to_string(folder.path().join("out.json")).unwrap_or_default();
    (said.code(), said.all(), serde_json::from_str(&document).unwrap_or_default())
}

fn passes(document: &Value) -> usize {
    document["phases"].as_array().map_or(0, Vec::len)
}

#[test]
fn passes_are_made_as_often_as_they_are_wanted() {
    let (status, said, document) = noise(&["--repeat", "4"]);
    assert_eq!((status, passes(&document)), (0, 4), "{said}");
    assert!(said.contains("repetitions"), "{said}");
    let rates: Vec<f64> = document["phases"].as_array().unwrap().iter().map(rate).collect();
    assert!(rates.iter().all(|rate| (rate / 100.0 - 1.0).abs() < 0.2), "{rates:?}");
    assert!(rates[0] != rates[1], "each pass draws its own: {rates:?}");
}

fn rate(phase: &Value) -> f64 {
    phase["jobs"][0]["lines"][0]["operations_per_second"].as_f64().unwrap()
}

#[test]
fn passes_go_on_until_it_is_known_or_steady() {
    let (status, said, document) = noise(&["--confidence", "95%,4%"]);
    let rounds = &document["rounds"];
    assert_eq!((status, rounds["attained"].as_bool()), (0, Some(true)), "{said}");
    assert!(passes(&document) >= 3 && rounds["interval_percent"].as_f64().unwrap() <= 4.0, "{rounds}");
    let (status, said, document) = noise(&["--confidence", "99:0.01", "--most", "4"]);
    assert_eq!((status, passes(&document)), (0, 4), "{said}");
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains("not good enough") && line.contains("p, j: iops"), "{said}");
    let (_, said, document) = noise(&["--until-steady"]);
    assert_eq!((passes(&document), document["rounds"]["attained"].as_bool()), (5, Some(true)), "{said}");
}

#[test]
fn what_is_demanded_makes_the_status() {
    let (status, said, document) = noise(&["--fail-if", "read.iops < 50", "--fail-if", "p.j.p99 > 10s"]);
    assert_eq!(status, 0, "{said}");
    assert_eq!(document["demands"][0]["failed"].as_bool(), Some(false));
    let (status, said, document) = noise(&["--fail-if", "read.iops < 50", "--fail-if", "read.p50 > 1ms"]);
    assert_eq!((status, document["demands"][1]["failed"].as_bool()), (1, Some(true)), "{said}");
    assert!(said.contains("fails    read.p50 > 1ms"), "{said}");
    let (status, said, document) = noise(&["--fail-if", "read.speed < 50", "--fail-if", "write > 4"]);
    assert_eq!((status, document), (2, Value::Null), "{said}");
    assert!(said.contains("`speed` is no quantity") && said.contains("`write` is no quantity"), "{said}");
}

#[test]
fn a_drop_in_reports_one_pass_and_says_the_others_beside_it() {
    let folder = TempDir::new().unwrap();
    let line = ["fio", "--name=x", "--ioengine=null", "--size=64m", "--rw=randread", "--bs=4k"];
    let with = |also: &str| {
        let mut arguments = line.to_vec();
        arguments.extend(["--also", also]);
        let said = iodyno(folder.path(), &arguments);
        (said.code(), said.out, said.err)
    };
    let (status, out, err) = with("repeat=3,fail-if=read.iops < 1,json=all.json");
    assert_eq!((status, out.matches("  read: IOPS=").count()), (0, 1), "{out}{err}");
    assert!(err.contains("repetitions") && err.contains("kept"), "{err}");
    let all = std::fs::read_to_string(folder.path().join("all.json")).unwrap();
    assert_eq!(passes(&serde_json::from_str(&all).unwrap()), 3);
    let (status, out, err) = with("fail-if=read.iops > 1");
    assert_eq!((status, out.matches("  read: IOPS=").count()), (1, 1), "{out}{err}");
    let (status, out, err) = with("repeat=x");
    assert_eq!((status, out.as_str()), (2, ""), "{err}");
}

/// A device that does exactly 10,000 operations a second, for three seconds and a half.
const EVEN: &str = "[target.d]\nnothing = \"1GiB\"\n[[phase]]\nname = \"p\"\n[[phase.job]]\nname = \"j\"\non = \"d\"\n\
                    do = \"read\"\nblock = \"4KiB\"\npick = \"random\"\nengine = \"sim\"\nsettings = { service = \"100us\" }\n\
                    until = { operations = 35000 }\n";

#[test]
fn half_a_second_at_the_end_is_no_slow_second() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("e.toml"), EVEN).unwrap();
    let files = ["--html", "e.html", "--csv", "e/"];
    let said = iodyno(folder.path(), &[&["run", "e.toml", "--quiet"][..], &files].concat());
    said.expect(0, &["10,000 to 10,000 IOPS"]);
    let page = std::fs::read_to_string(folder.path().join("e.html")).unwrap();
    assert!(page.contains(r#""values":[10000,10000,10000]"#), "the chart ends with the last whole second");
    let rows = std::fs::read_to_string(folder.path().join("e/series.csv")).unwrap();
    assert!(rows.lines().last().is_some_and(|row| row.contains(",3.5,5000,")), "{rows}");
}

/// Whatever a user looks at says what the passes came to together.
#[test]
fn every_report_has_the_median_of_passes() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("n.toml"), NOISE).unwrap();
    let files = ["--json", "n.json", "--csv", "n.csv", "--html", "n.html"];
    let words = [&["run", "n.toml", "--quiet", "--repeat", "5"][..], &files].concat();
    let said = iodyno(folder.path(), &words);
    assert_eq!(said.code(), 0, "{said}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let document: Value = serde_json::from_str(&read("n.json")).unwrap();
    let mut rates: Vec<f64> = document["phases"].as_array().unwrap().iter().map(rate).collect();
    rates.sort_by(f64::total_cmp);
    let found = &document["medians"][0];
    assert_eq!(
        (&found["phase"], &found["label"], &found["passes"]),
        (&"p".into(), &"read".into(), &5.into())
    );
    let spread = &found["operations_per_second"];
    for (name, rate) in [("least", rates[0]), ("median", rates[2]), ("most", rates[4])] {
        assert!((spread[name].as_f64().unwrap() - rate).abs() < 1e-6, "{name}: {spread}, {rates:?}");
    }
    let csv = read("n.csv");
    let median = format!("5,{:.3},{:.3},{:.3}", rates[2], rates[0], rates[4]);
    assert_eq!(csv.matches(&median).count(), 5, "{csv}");
    let page = read("n.html");
    let count = |text: &str| page.matches(text).count();
    assert_eq!((count(r#""passes":"median of 5 passes""#), count(r#""is_pass":true"#)), (1, 5));
    let range = (rates[4] - rates[0]) / rates[2] * 100.0;
    assert!(page.contains(&format!(r#""range":"range {range:.1} %"#)), "{range}");
    let runs = iodyno(folder.path(), &["runs"]);
    runs.expect(0, &["median of 5"]);
    assert!(!runs.out.contains("more)"), "five passes are one job: {runs}");
}

#[test]
fn preconditioning_writes_all_twice_and_takes_only_what_it_may() {
    let folder = TempDir::new().unwrap();
    let plan = |verb: &str| {
        format!(
            "[target.f]\nfile = \"data\"\nsize = \"1MiB\"\ncreate = true\n[[phase]]\nname = \"p\"\n[[phase.job]]\nname = \"j\"\n\
             on = \"f\"\ndo = \"{verb}\"\nblock = \"4KiB\"\npick = \"random\"\nengine = \"psync\"\n"
        )
    };
    std::fs::write(folder.path().join("w.toml"), plan("write")).unwrap();
    std::fs::write(folder.path().join("r.toml"), plan("read")).unwrap();
    let said = iodyno(
        folder.path(),
        &["run", "w.toml", "--quiet", "--precondition", "--most", "5", "--json", "o.json"],
    );
    assert_eq!(said.code(), 0, "{said}");
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("o.json")).unwrap()).unwrap();
    let first = &document["phases"][0];
    assert_eq!((first["name"].as_str(), passes(&document)), (Some("precondition"), 6));
    assert_eq!(first["jobs"][0]["lines"][0]["bytes"].as_u64(), Some(2 << 20));
    let before = std::fs::read(folder.path().join("data")).unwrap();
    let said = iodyno(folder.path(), &["run", "r.toml", "--quiet", "--precondition"]);
    said.expect(2, &["only reads it"]);
    assert!(std::fs::read(folder.path().join("data")).unwrap() == before, "it was written to");
}
