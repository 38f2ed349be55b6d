//! What goes into the history, how it is found, and what becomes of it.

use std::path::Path;
use std::process::{Command, Stdio};

use testbed::program::Program;
use testbed::{Case, Need, Outcome};

use crate::program::{ProgramOutput, Running, dressed, iodyno, plan, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a native run is kept, listed, shown, tagged and deleted", &[], kept),
        Case::new("nothing is kept where that was declined", &[], declined),
        Case::new("a drop-in is kept only with save", &[], drop_in),
        Case::new("a killed run keeps all but its last second", &[], killed).waits(),
        Case::new("what a server runs is its clients', and not kept", &[], server).waits(),
        Case::new("a plan runs again where it ran, with the same seed", &[], rerun),
        Case::new("a drop-in's run is done again in the tool's own output format", &[], own_hand),
        Case::new("what other tools wrote is taken in, or refused whole", &[], imports),
        Case::new("our own JSON is taken in whole", &[], own_json),
        Case::new("the original fio's JSON is taken in", &[Need::Tool("fio")], original).against(),
        Case::new("a history that cannot be had stops only who asked for it", &[], unavailable),
        Case::new("two programs keep their runs at once", &[], at_once),
        Case::new("a command of several runs is one line, shown whole and done anew", &[], several),
    ]
}

/// A plan of no work: the null engine.
pub const NULL: &str = "name = \"idle\"\nseed = 5\n[target.t]\nnothing = \"1GiB\"\n[[phase]]\nname = \"p\"\n[[phase.job]]\n\
 name = \"j\"\non = \"t\"\nengine = \"null\"\ndo = \"read\"\npick = \"random\"\nblock = \"4KiB\"\n\
 until = { operations = 20000 }\n";

/// The program with a history in a directory.
pub fn with_history<'a>(home: &Path, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = iodyno(words);
    command.env("IODYNO_HISTORY", home.join("history.sqlite")).current_dir(home);
    command
}

#[track_caller]
pub fn says<'a>(home: &Path, words: impl IntoIterator<Item = &'a str>) -> ProgramOutput {
    told(with_history(home, words))
}

fn kept() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, NULL);
    says(home, ["run", "--quiet", "plan.toml"]).expect(0, &["idle"]);
    says(home, ["run", "--quiet", "--tag", "second", "plan.toml"]).expect(0, &[]);
    let list = says(home, ["runs"]);
    list.expect(0, &["run --quiet plan.toml", "second", "read"]);
    assert_eq!(list.out.lines().count(), 3, "{list}");
    assert_eq!(says(home, ["runs", "--tag", "second"]).out.lines().count(), 2);
    says(home, ["runs", "--tool", "fio"]).expect(0, &["no runs"]);
    says(home, ["runs", "show", "second"])
        .expect(0, &["run 2", "complete", "what it ran on", "kernel", "seed 5"]);
    says(home, ["runs", "show", "--plan", "1"]).expect(0, &["phase 1 \"p\"", "job \"j\""]);
    let json = says(home, ["runs", "show", "last~1", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(document["schema"], "iodyno.record/1");
    assert_eq!(document["phases"][0]["jobs"][0]["lines"][0]["operations"], 20000);
    says(home, ["runs", "tag", "1", "first", "good"]).expect(0, &[]);
    says(home, ["runs", "untag", "good", "good"]).expect(0, &[]);
    says(home, ["runs", "show", "good"]).refused(&["no such run"]);
    says(home, ["runs", "tag", "1", "7"]).refused(&["cannot be a tag"]);
    says(home, ["runs", "delete", "first", "99"]).refused(&["99", "no such run"]);
    says(home, ["runs", "delete", "first"]).expect(0, &[]);
    assert_eq!(says(home, ["runs"]).out.lines().count(), 2);
    let path = says(home, ["runs", "path"]);
    assert_eq!(path.out.trim(), home.join("history.sqlite").to_str().unwrap());
    Ok(())
}

/// On `sim`: the maximum, then the loads.
fn several() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, &NULL.replace("\"null\"", "\"sim\""));
    let words = [
        "load-curve",
        "plan.toml",
        "--depths",
        "1,2",
        "--loads",
        "50",
        "--time",
        "100ms",
        "--html",
        "page.html",
    ];
    let first = says(home, words);
    first.expect(0, &["The maximum is"]);
    let list = says(home, ["runs"]);
    list.expect(0, &["load-curve plan.toml", "(+1 run)"]);
    assert_eq!(list.out.lines().count(), 2, "{list}");
    says(home, ["runs", "show"]).expect(0, &["run 1", "further runs of the same command", " 2 "]);
    says(home, ["runs", "show", "2"]).expect(0, &["part of run 1"]);
    // The page that is there stays; all else is as it was.
    let page = std::fs::read(home.join("page.html"))?;
    let again = says(home, ["rerun", "1"]);
    assert_eq!((again.code(), &again.out), (0, &first.out), "{again}");
    assert_eq!(std::fs::read(home.join("page.html"))?, page);
    let other = says(home, ["rerun", "last", "--seed", "9"]);
    other.expect(0, &["The maximum is"]);
    says(home, ["rerun", "last", "--tag", "x"]).refused(&["--tag"]);
    says(home, ["runs", "--json"]).expect(0, &["\"parts\": 1", "--seed"]);
    assert_eq!(says(home, ["runs"]).out.lines().count(), 4);
    says(home, ["runs", "delete", "1"]).expect(0, &[]);
    says(home, ["runs", "show", "2"]).refused(&["no such run"]);
    Ok(())
}

fn declined() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, NULL);
    says(home, ["run", "--quiet", "--no-save", "plan.toml"]).expect(0, &[]);
    assert!(!home.join("history.sqlite").exists());
    let mut off = iodyno(["run", "--quiet", "plan.toml"]);
    off.env("IODYNO_HISTORY", "off").env("XDG_DATA_HOME", home).current_dir(home);
    told(off).expect(0, &[]);
    assert!(!home.join("iodyno").exists());
    let mut off = iodyno(["run", "--quiet", "--tag", "x", "plan.toml"]);
    off.env("IODYNO_HISTORY", "off").current_dir(home);
    told(off).refused(&["it says `off`"]);
    let mut off = iodyno(["runs"]);
    off.env("IODYNO_HISTORY", "off");
    told(off).refused(&["there is no history"]);
    says(home, ["run", "--tag", "x", "--no-save", "plan.toml"]).refused(&["--no-save"]);
    Ok(())
}

fn drop_in() -> Outcome {
    let home = scratch();
    let home = home.path();
    let copy = ["if=/dev/zero", "of=/dev/null", "count=4", "bs=4k"];
    says(home, ["dd"].into_iter().chain(copy)).expect(0, &[]);
    assert!(!home.join("history.sqlite").exists());
    says(home, ["dd"].into_iter().chain(copy).chain(["--also", "save=copied"]))
        .expect(0, &["4+0 records in"]);
    says(home, ["runs", "show", "copied"]).expect(0, &["dd if=/dev/zero", "complete"]);
    // By the original's name it says what the original says.
    let link = home.join("dd");
    std::os::unix::fs::symlink(crate::program::IODYNO, &link).expect("a link");
    let mut original = dressed(Command::new(&link), copy);
    original.env("IODYNO_HISTORY", home.join("history.sqlite")).env("IODYNO_ALSO", "save");
    let said = told(original);
    assert_eq!(said.err.lines().count(), 3, "{said}");
    assert_eq!(says(home, ["runs"]).out.lines().count(), 3);
    Ok(())
}

/// Each host of a mesh has such a server, which is ended with its connection.
fn server() -> Outcome {
    let home = scratch();
    let home = home.path();
    let mut running = Program::new(with_history(home, ["net", "serve"])).input(Stdio::piped()).start();
    running.tell(b"a word of some length\n");
    drop(running.input());
    running.says("Starting netserver at");
    let said = running.out();
    let port =
        said.split(':').filter_map(|part| part.split([',', '\n']).next()?.parse::<u16>().ok()).next_back();
    let port = port.ok_or_else(|| format!("no port: {said}"))?.to_string();
    let line = [
        "netperf",
        "-H",
        "127.0.0.1",
        "-p",
        &port,
        "-Z",
        "a word of some length",
        "-t",
        "TCP_RR",
        "-l",
        "-10",
    ];
    let mut client = iodyno(line);
    client.env("IODYNO_HISTORY", "off");
    told(client).expect(0, &["TCP REQUEST/RESPONSE"]);
    running.signal(libc::SIGKILL);
    running.end();
    says(home, ["runs"]).expect(0, &["no runs"]);
    Ok(())
}

fn killed() -> Outcome {
    let home = scratch();
    let home = home.path();
    let paced =
        NULL.replace("until = { operations = 20000 }", "until = { time = \"60s\" }\nrate = \"1000/s\"");
    plan(home, &paced);
    let mut running = Running::start(with_history(home, ["run", "--quiet", "plan.toml"]));
    let folder = home.join("history.sqlite.running");
    let second = || std::fs::metadata(folder.join("1.even")).is_ok_and(|facts| facts.len() > 0);
    running.until("two seconds were kept", second);
    // When the fourth is begun in the second's place, the third is whole: a second's work more than is asked for below.
    let written = || std::fs::metadata(folder.join("1.even")).and_then(|facts| facts.modified()).ok();
    let then = written();
    running.until("three seconds were kept", || written() != then);
    says(home, ["runs"]).expect(0, &["running"]);
    says(home, ["runs", "delete", "1"]).refused(&["still running"]);
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code(), 137);
    says(home, ["runs"]).expect(0, &["killed"]);
    let json = says(home, ["runs", "show", "--json", "1"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    let operations = document["phases"][0]["jobs"][0]["lines"][0]["operations"].as_u64().expect("a count");
    assert!(operations >= 2000, "{operations} operations of at least two seconds");
    assert_eq!(std::fs::read_dir(&folder).expect("its journals").count(), 0);
    Ok(())
}

fn rerun() -> Outcome {
    let (home, elsewhere) = (scratch(), scratch());
    let home = home.path();
    let file = NULL
        .replace("nothing = \"1GiB\"", "file = \"data\"\nsize = \"1MiB\"\nprepare = \"filled\"")
        .replace("null", "psync");
    plan(home, &file);
    says(home, ["run", "--quiet", "plan.toml"]).expect(0, &[]);
    std::fs::remove_file(home.join("plan.toml")).expect("its plan");
    let mut again = with_history(home, ["rerun", "last", "--tag", "again"]);
    again.current_dir(elsewhere.path());
    told(again).expect(0, &["20"]);
    assert_eq!(std::fs::read_dir(elsewhere.path()).expect("a directory").count(), 0);
    let show = |run: &str| says(home, ["runs", "show", "--plan", run]).out;
    assert_eq!(show("1"), show("again"));
    says(home, ["rerun", "again", "--seed", "99"]).expect(0, &[]);
    assert!(show("last").contains("99"));
    says(home, ["rerun", "77"]).refused(&["no such run"]);
    Ok(())
}

fn own_hand() -> Outcome {
    let home = scratch();
    let home = home.path();
    let job = "[j]\nrw=write\nsize=64k\nbs=4k\nfilename=data\n";
    std::fs::write(home.join("j.fio"), job).expect("a job file");
    says(home, ["fio", "--also", "save=f,json=r.json", "j.fio"]).expect(0, &["j: (g=0): rw=write"]);
    std::fs::remove_file(home.join("r.json")).expect("its record");
    let again = says(home, ["rerun", "f", "--tag", "again"]);
    again.expect(0, &["j: (g=0): rw=write", "Run status group 0"]);
    assert!(!home.join("r.json").exists(), "what was written besides is asked for anew");
    let show = |run: &str| says(home, ["runs", "show", "--plan", run]).out;
    assert_eq!(show("f"), show("again"));
    let copy = ["dd", "if=/dev/zero", "of=copy", "count=4", "bs=4k", "--also", "save=d,repeat=2"];
    says(home, copy).expect(0, &["4+0 records in"]);
    says(home, ["rerun", "d"]).expect(0, &["4+0 records in", "repetitions"]);
    // A job file that says something else by now: the plan is still the one that was kept.
    std::fs::write(home.join("j.fio"), job.replace("64k", "128k")).expect("a job file");
    says(home, ["rerun", "f"]).expect(0, &["note: run 1: what fio was told means something else", "16"]);
    Ok(())
}

const FIO: &str = r#"{ "fio version" : "fio-3.33", "timestamp_ms" : 1795306503972, "jobs" : [ { "jobname" : "a",
 "groupid" : 0, "job options" : { "bs" : "4k" }, "read" : { "io_bytes" : 4096000, "total_ios" : 1000,
 "runtime" : 2000, "clat_ns" : { "min" : 80, "max" : 4900, "mean" : 290.0, "N" : 1000,
 "percentile" : { "50.000000" : 200, "99.000000" : 4000 } } } } ] }"#;

fn imports() -> Outcome {
    let home = scratch();
    let home = home.path();
    std::fs::write(home.join("fio.json"), FIO).expect("a file");
    std::fs::write(home.join("text"), "no JSON").expect("a file");
    says(home, ["import", "fio.json", "--tag", "theirs"]).expect(0, &["run 1: fio read 500/s"]);
    says(home, ["runs", "show", "theirs"]).expect(0, &["imported", "fio-3.33", "500"]);
    // What fio was told of the page cache, in either of its words, is what is shown.
    for (option, shown) in [("direct", "direct"), ("buffered", "through the page cache")] {
        let told = FIO.replace(r#""bs" : "4k""#, &format!(r#""bs" : "4k", "{option}" : "1""#));
        std::fs::write(home.join("options.json"), told).expect("a file");
        says(home, ["import", "options.json", "--tag", option]).expect(0, &["fio read 500/s"]);
        says(home, ["runs", "show", option]).expect(0, &[&format!("psync · {shown}")]);
        says(home, ["runs", "delete", option]).expect(0, &[]);
    }
    says(home, ["import", "fio.json", "text"]).refused(&["there is no JSON in it"]);
    assert_eq!(says(home, ["runs"]).out.lines().count(), 2);
    says(home, ["rerun", "theirs"]).refused(&["fio measured it"]);
    Ok(())
}

/// What is taken in of a run's own JSON says the same JSON again.
fn own_json() -> Outcome {
    let (home, other) = (scratch(), scratch());
    let file = NULL
        .replace("nothing = \"1GiB\"", "file = \"data\"\nsize = \"1MiB\"\nprepare = \"filled\"")
        .replace("null", "psync");
    plan(home.path(), &file);
    says(home.path(), ["run", "--quiet", "--json", "r.json", "plan.toml"]).expect(0, &[]);
    let theirs = home.path().join("r.json").display().to_string();
    says(other.path(), ["import", &theirs]).expect(0, &["run 1: iodyno read"]);
    let told = says(other.path(), ["runs", "show", "--json", "last"]).out;
    let document = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    let (ours, theirs) = (document(&told), document(&std::fs::read_to_string(theirs).expect("a file")));
    assert_eq!(ours, theirs);
    says(other.path(), ["rerun", "last"]).expect(0, &["20,000"]);
    Ok(())
}

fn original() -> Outcome {
    let home = scratch();
    let home = home.path();
    let job = ["--name=j", "--rw=randrw", "--size=4m", "--bs=4k", "--filename=data", "--output-format=json+"];
    let mut fio = Command::new("fio");
    fio.args(job).arg("--output=out.json").current_dir(home);
    told(fio).expect(0, &[]);
    says(home, ["import", "out.json"]).expect(0, &["run 1: fio read", "write"]);
    let json = says(home, ["runs", "show", "--json"]);
    let ours: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    let text = std::fs::read_to_string(home.join("out.json")).expect("its file");
    let theirs: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let (line, read) = (&ours["phases"][0]["jobs"][0]["lines"][0], &theirs["jobs"][0]["read"]);
    assert_eq!((&line["operations"], &line["bytes"]), (&read["total_ios"], &read["io_bytes"]));
    let percentile = |percent: f64| {
        let all = line["latency"]["percentiles"].as_array().expect("percentiles");
        all.iter()
            .find(|one| one["percent"] == percent)
            .and_then(|one| one["ns"].as_f64())
            .expect("a percentile")
    };
    let latency = if read["lat_ns"]["bins"].is_object() { &read["lat_ns"] } else { &read["clat_ns"] };
    let median = latency["percentile"]["50.000000"].as_f64().expect("its median");
    assert!((percentile(50.0) / median - 1.0).abs() < 0.05, "{} and {median}", percentile(50.0));
    Ok(())
}

fn unavailable() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, NULL);
    std::fs::write(home.join("history.sqlite"), "this is no database, and must stay what it is")
        .expect("a file");
    says(home, ["run", "--quiet", "plan.toml"]).expect(0, &["note:", "no database", "this run is not kept"]);
    says(home, ["run", "--quiet", "--tag", "x", "plan.toml"]).refused(&["no database"]);
    says(home, ["runs"]).refused(&["no database"]);
    let text = std::fs::read_to_string(home.join("history.sqlite")).expect("the file");
    assert!(text.starts_with("this is no database"));
    Ok(())
}

fn at_once() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, NULL);
    let all: Vec<_> =
        (0..4).map(|_| Running::start(with_history(home, ["run", "--quiet", "plan.toml"]))).collect();
    all.into_iter().for_each(|one| _ = one.end().expect(0, &["idle"]));
    let list = says(home, ["runs", "--state", "complete"]);
    assert_eq!(list.out.lines().count(), 5, "{list}");
    Ok(())
}
