//! `iodyno load-curve`: exact in virtual time, and on real files.

use std::path::Path;
use std::process::Command;

use testbed::{Case, Need, Outcome};

use crate::program::{
    IODYNO, Program, ProgramOutput, Running, iodyno, names, noise, scratch, section_titles, told,
};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a load curve of a simulated server is what queueing theory says", &[], simulated),
        Case::new("points of a load curve wear the simulated drive of the next ones", &[], worn),
        Case::new("a load curve of a directory leaves nothing behind", &[], directory),
        Case::new("a load curve only reads a file, and says what it refuses", &[], refused),
        Case::new("a load curve tells of the page cache", &[], cached),
        Case::new("a load curve of a profile has its mix", &[], profile),
        Case::new("a load curve of a file service has its operations and its files", &[], service),
        Case::new("experiments under a launcher are refused with a hint", &[Need::Tool("mpirun")], ranks)
            .computes(),
        Case::new("what a killed load curve left goes with the next start", &[], killed),
    ]
}

/// Each rank would make the whole experiment, at the same time as the other.
fn ranks() -> Outcome {
    let home = scratch();
    for (line, hint) in [
        ("load-curve . --profile sfs-like --size 16MiB", "--clients N are clients on this machine"),
        ("limits . --size 16MiB", "workers of one rank are said in a plan: workers = N"),
    ] {
        let mut command = Command::new("mpirun");
        if Program::of("mpirun", ["--version"]).outcome().is_ok_and(|told| told.out.contains("Open MPI")) {
            command.args(["--allow-run-as-root", "--oversubscribe"]).env("OMPI_MCA_mpi_yield_when_idle", "1");
            let _ = testbed::sandbox::keep_sessions(&mut command, Path::new(env!("CARGO_TARGET_TMPDIR")));
        }
        command
            .args(["-n", "2", IODYNO])
            .args(line.split(' '))
            .current_dir(home.path())
            .env("HOME", home.path());
        let said = told(command);
        assert_ne!(said.code(), 0, "{said}");
        assert_eq!(
            said.err.matches("2 ranks would each make an experiment of their own").count(),
            1,
            "{said}"
        );
        assert!(said.err.contains(hint) && said.out.is_empty() && names(home.path()).is_empty(), "{said}");
    }
    Ok(())
}

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/queueing-server.toml");
const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/load-curve/queueing-server.txt");

fn curve(arguments: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["load-curve"]);
    command.args(arguments);
    told(command)
}

/// What is the same on every machine: without its name and the path of the example.
fn portable(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("  machine"));
    lines.map(|line| format!("{}\n", line.trim_end().replace(EXAMPLE, "queueing-server.toml"))).collect()
}

fn simulated() -> Outcome {
    let output = curve(&[EXAMPLE, "--depths", "1,2,4,8", "--spans", "50", "--time", "100s"]);
    output.expect(0, &["The maximum is", "All figures are simulated"]);
    let text = portable(&output.out);
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::create_dir_all(Path::new(EXPECTED).parent().expect("a directory"))?;
        std::fs::write(EXPECTED, &text)?;
    }
    assert_eq!(text, std::fs::read_to_string(EXPECTED)?);
    // M/M/1: 1 / (μ - λ), μ 10,000 a second.
    let json = curve(&[EXAMPLE, "--depths", "1,2,4", "--loads", "10,50,80,90", "--time", "100s", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.expect(0, &[]).out)?;
    let maximum = json["sections"][0]["rows"][0][1].as_f64().expect("a rate");
    for (row, load) in [0.1, 0.5, 0.8, 0.9].into_iter().enumerate() {
        let theory_ns = 1e9 / (10_000.0 - load * maximum);
        let found = json["sections"][1]["rows"][row][3].as_f64().expect("a mean");
        assert!((found / theory_ns - 1.0).abs() < 0.05, "at {load}: {found} ns, theory {theory_ns}");
    }
    Ok(())
}

/// A small drive that is erased at first: writing at each depth fills it, and then its garbage has to be collected.
fn worn() -> Outcome {
    let home = scratch();
    let plan = home.path().join("plan.toml");
    std::fs::write(
        &plan,
        "[device]\nname = \"small\"\n[device.part.drive.ssd]\ncapacity = \"256MiB\"\nblock_pages = 32\n\
         [target.data]\nnothing = \"256MiB\"\n[[phase]]\n[[phase.job]]\non = \"data\"\nengine = \"sim\"\ndepth = 16\n\
         do = \"write\"\npick = \"random\"\nrepeats = true\nblock = \"4KiB\"\nuntil = { time = \"1s\" }\n",
    )?;
    let plan = plan.display().to_string();
    let words = [plan.as_str(), "--depths", "16,17,18,19", "--loads", "100", "--time", "1s", "--json"];
    let output = curve(&words);
    let json: serde_json::Value =
        serde_json::from_str(&output.expect(0, &["All figures are simulated"]).out)?;
    let rates = |section: usize, column: usize| -> Vec<f64> {
        let rows = json["sections"][section]["rows"].as_array().expect("rows");
        rows.iter().map(|row| row[column].as_f64().expect("a rate")).collect()
    };
    let depths = rates(0, 1);
    assert!(depths[3] < 0.65 * depths[0], "{depths:?}");
    let loaded = rates(1, 2);
    assert!(loaded[0] < 0.65 * depths[0], "{loaded:?} of {depths:?}");
    assert_eq!(curve(&words).out, output.out, "not the same a second time");
    Ok(())
}

fn directory() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let (page, sheet) = (format!("{path}/page.html"), format!("{path}/sheet.xlsx"));
    let small = ["--size", "16MiB", "--time", "30ms", "--depths", "1,4", "--loads", "20,50"];
    let output = curve(&[&[path.as_str()], &small[..], &["--html", &page, "--xlsx", &sheet]].concat());
    output.expect(
        0,
        &["Rate over queue depth", "Response time over offered load", "4 KiB · uniform random over 16 MiB"],
    );
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output}");
    assert_eq!(names(home.path()), ["page.html", "sheet.xlsx"]);
    let html = std::fs::read_to_string(&page)?;
    assert!(
        html.contains("\"title\":\"response time\"") && html.contains("iodyno load-curve"),
        "no curve on the page"
    );
    assert!(std::fs::read(&sheet)?.starts_with(b"PK\x03\x04"));
    // What is there is not overwritten, and nothing is measured.
    curve(&[&[path.as_str()], &small[..], &["--html", &page]].concat()).refused(&["not overwritten"]);
    assert_eq!(std::fs::read_to_string(&page)?, html);
    curve(
        &[&[path.as_str()], &small[..], &["--xlsx", &format!("{path}/new.xlsx"), "--html", &page]].concat(),
    )
    .refused(&["not overwritten"]);
    assert_eq!(names(home.path()), ["page.html", "sheet.xlsx"]);
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    let file = home.path().join("data");
    noise(&file, 4);
    let before = std::fs::read(&file)?;
    let path = file.display().to_string();
    let small = ["--time", "20ms", "--depths", "1,2", "--loads", "50"];
    curve(&[&[path.as_str()], &small[..]].concat()).expect(0, &["100 % read"]);
    curve(&[&[path.as_str(), "--reads", "50"], &small[..]].concat())
        .refused(&["only read", &format!("--destroy {path}")]);
    curve(&[&[path.as_str(), "--profile", "spc1-like"], &small[..]].concat()).refused(&["only read"]);
    assert_eq!(std::fs::read(&file)?, before);
    curve(&["/nowhere/at/all"]).refused(&["no such file or directory", "name a plan file"]);
    curve(&["/dev/zero"]).refused(&["neither a directory nor a file nor a block device"]);
    curve(&[EXAMPLE, "--block", "8k"]).refused(&["belong to a TARGET", "say it in the plan file"]);
    let sweep = EXAMPLE.replace("queueing-server", "sim-disk");
    curve(&[&sweep]).refused(&["it has a sweep of its own"]);
    curve(&[&EXAMPLE.replace("queueing-server", "engines-side-by-side")]).expect(2, &["sweep"]);
    curve(&[&path, "--loads", "0"]).refused(&["expected more than 0"]);
    curve(&[&path, "--profile", "spc3"]).refused(&["spc1-like"]);
    curve(&[&path, "--engine", "psync"]).refused(&["io_uring, libaio, posixaio"]);
    Ok(())
}

fn profile() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let small = ["--size", "16MiB", "--time", "30ms", "--depths", "1,4", "--loads", "50"];
    for (name, words) in [
        ("spc1-like", ["39 % reads", "Not for submission"]),
        ("spc2-like-file", ["half read, half written", "Not for submission"]),
        ("spc2-like-query", ["reads of 1 MiB and 64 KiB", "Not for submission"]),
        ("spc2-like-video", ["256 KiB", "Not for submission"]),
    ] {
        curve(&[&[path.as_str(), "--profile", name], &small[..]].concat()).expect(0, &words);
        assert!(names(home.path()).is_empty(), "{name}");
    }
    Ok(())
}

fn service() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let small = ["--size", "16MiB", "--time", "300ms", "--depths", "1,3", "--loads", "1,2", "--clients", "2"];
    let page = format!("{path}/page.html");
    // So little data for each operation that the larger load has the larger file set.
    let output = curve(
        &[
            &[path.as_str(), "--profile", "sfs-like", "--data-per-operation", "16kB", "--html", &page],
            &small[..],
        ]
        .concat(),
    );
    output.expect(
        0,
        &[
            "SPEC SFS 2008",
            "Not for submission",
            "2 clients, together 16 kB of files for each operation per second",
            "Rate over queue depth",
            "Response time over offered load",
            "readdirplus",
        ],
    );
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output}");
    assert_eq!(names(home.path()), ["page.html"]);
    assert!(std::fs::read_to_string(&page)?.contains("\"title\":\"mean response time\""));
    let json = curve(&[&[path.as_str(), "--profile", "sfs97-like", "--json"], &small[..]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.expect(0, &["SPEC SFS 3.0"]).out)?;
    assert_eq!(
        section_titles(&json),
        ["Rate over queue depth", "Response time over offered load", "Operations"]
    );
    let operations = json["sections"][2]["rows"].as_array().expect("rows");
    let labels: Vec<&str> = operations.iter().filter_map(|row| row[0].as_str()).collect();
    let published = [
        "lookup",
        "read",
        "write",
        "getattr",
        "readlink",
        "readdir",
        "create",
        "remove",
        "fsstat",
        "setattr",
        "readdirplus",
        "access",
        "commit",
    ];
    assert_eq!(labels, published);
    assert!((operations[0][1].as_f64().expect("a share") - 27.0 / 0.99).abs() < 1e-6, "{operations:?}");
    // The file set is smaller than ten megabytes for each operation per second.
    assert_eq!(json["sections"][1]["rows"][0][7].as_f64(), Some(16_777_216.0));
    assert!(json["sections"][1]["sentences"].to_string().contains("--size allows more"), "{json}");
    assert_eq!(names(home.path()), ["page.html"]);
    let sfs = |words: &[&str]| curve(&[&[path.as_str(), "--profile", "sfs-like"], words].concat());
    sfs(&["--spans", "10"]).refused(&["a file set has no addressing span"]);
    sfs(&["--engine", "io_uring"]).refused(&["calls of one worker each"]);
    sfs(&["--size", "1MiB"]).refused(&["--size says how large it may be: at least"]);
    curve(&[&path, "--clients", "3"]).refused(&["file services", "sfs-like"]);
    curve(&[&page, "--profile", "sfs-like"]).refused(&["no directory", "name a directory"]);
    Ok(())
}

/// With a real kill: of a file and of a file set.
fn killed() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    for words in [&["--time", "60s"][..], &["--time", "60s", "--profile", "sfs-like"]] {
        let mut command = iodyno(["load-curve", &path, "--size", "16MiB", "--depths", "1"]);
        command.args(words);
        let mut running = Running::start(command);
        running.until("something temporary", || !names(home.path()).is_empty());
        running.signal(libc::SIGKILL);
        running.end();
        let left = names(home.path());
        assert!(left.len() == 1 && left[0].starts_with(".iodyno-load-"), "{left:?}");
        // Another command finds it, and what is none of ours stays.
        std::fs::write(home.path().join(".iodyno-notes.tmp"), "mine")?;
        let mut next = iodyno(["limits", &path, "--size", "1MiB", "--blocks", "4KiB,8KiB", "--cold", "0"]);
        next.args(["--burst", "20ms", "--idle", "0s", "--time", "20ms"]);
        let output = told(next);
        output.expect(0, &[]);
        assert!(
            output.err.contains(&left[0]) && output.err.contains("left by a run that was killed"),
            "{output}"
        );
        assert_eq!(names(home.path()), [".iodyno-notes.tmp"]);
        std::fs::remove_file(home.path().join(".iodyno-notes.tmp"))?;
    }
    Ok(())
}

fn cached() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let small = ["--size", "16MiB", "--time", "30ms", "--depths", "1,2", "--loads", "50"];
    let asked = ["--file-sizes", "4MiB,8MiB", "--memory", "16MiB", "--data", "50,150", "--held", "0,50"];
    let output = curve(&[&[path.as_str()], &small[..], &asked].concat());
    output.expect(
        0,
        &[
            "Rate over file size",
            "from cache",
            "Memory held beside data that is read",
            "8 MiB of data",
            "24 MiB of data",
        ],
    );
    assert!(output.out.lines().all(|line| line.chars().count() <= 80 || line.contains(&path)), "{output}");
    assert!(names(home.path()).is_empty());
    curve(&[&[path.as_str()], &small[..], &["--held", "50"]].concat())
        .refused(&["--held 0,50 --data 50,150"]);
    curve(&[&[path.as_str()], &small[..], &["--data", "50", "--held", "90"]].concat())
        .refused(&["starve", "80 %"]);
    curve(&[EXAMPLE, "--file-sizes", "1MiB"]).refused(&["name a directory"]);
    curve(&[&path, "--file-sizes", "1000TiB"]).refused(&["is too large", "are free"]);
    Ok(())
}
