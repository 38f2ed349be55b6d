//! `iodyno pts`: to its sheets in virtual time, on a loop device and on zram; after kill -9 it goes on.

use std::path::Path;
use std::process::Command;

use testbed::sandbox::{LoopDevice, Zram};
use testbed::{Case, Need, Outcome};

use crate::program::{ProgramOutput, Running, fingerprint, iodyno, names, scratch, section_titles, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("pts of a simulated drive is steady after five rounds", &[], simulated),
        Case::new("pts of a drive with garbage is steady where the simulation says it is", &[], collected),
        Case::new("pts idles in virtual time", &[], idle),
        Case::new("pts runs on a loop device to its sheets", &[Need::Root, Need::Loop], sheets),
        Case::new("pts runs on zram to its sheets", &[Need::Zram], compressed),
        Case::new("pts goes on after kill -9", &[Need::Root, Need::Loop], killed),
        Case::new("pts refuses what is not given up", &[], refused),
    ]
}

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/queueing-server.toml");
const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/pts/queueing-server.txt");

fn pts(home: &Path, target: &str, arguments: &[&str]) -> Command {
    let mut command = iodyno(["pts", target]);
    command.args(arguments).current_dir(home);
    command
}

fn simulated() -> Outcome {
    let home = scratch();
    let tests = [
        "--tests",
        "iops,throughput,latency,wsat,dirth",
        "--quick",
        "--capacity",
        "1GiB",
        "--time",
        "1s",
        "--rounds",
        "6",
    ];
    let output = told(pts(home.path(), EXAMPLE, &tests));
    output.expect(
        0,
        &["RND 4K 0/100: steady in rounds 1 to 5", "All figures are simulated", "Not by the specification"],
    );
    let lines = output.out.lines().filter(|line| !line.starts_with("  machine"));
    let text: String =
        lines.map(|line| format!("{}\n", line.trim_end().replace(EXAMPLE, "queueing-server.toml"))).collect();
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::create_dir_all(Path::new(EXPECTED).parent().expect("a directory"))?;
        std::fs::write(EXPECTED, &text)?;
    }
    assert_eq!(text, std::fs::read_to_string(EXPECTED)?);
    assert!(names(home.path()).is_empty(), "a finished test leaves no state");
    Ok(())
}

/// A plan of a small drive of flash, in that state.
fn drive(home: &Path, state: &str) -> String {
    let path = home.join(format!("{state}.toml"));
    let text = format!(
        "device = {{ name = \"small\", part = {{ flash = {{ ssd = {{ capacity = \"256MiB\", channels = 2, dies = 2, \
         block_pages = 64, buffer = \"1MiB\", over_provisioning = \"15%\", state = \"{state}\" }} }} }} }}\n\
         [target.data]\nnothing = \"256MiB\"\n[[phase]]\n[[phase.job]]\non = \"data\"\nengine = \"sim\"\ndepth = 32\n\
         do = \"write\"\npick = \"random\"\nblock = \"4KiB\"\nuntil = {{ time = \"5s\" }}\n"
    );
    std::fs::write(&path, text).expect("a plan");
    path.display().to_string()
}

fn sections(
    home: &Path,
    target: &str,
    words: &[&str],
    status: u8,
) -> Result<serde_json::Value, serde_json::Error> {
    let all = [&["--quick", "--seed", "3", "--json"], words].concat();
    serde_json::from_str(&told(pts(home, target, &all)).expect(status.into(), &[]).out)
}

/// The rate of garbage collection is that of a drive which the simulation makes worn, whatever it held at first.
fn collected() -> Outcome {
    let home = scratch();
    let (erased, worn) = (drive(home.path(), "erased"), drive(home.path(), "worn"));
    let rate = |json: &serde_json::Value, section: usize, row: usize, column: usize| {
        json["sections"][section]["rows"][row][column].as_f64().expect("a rate")
    };
    let saturation = ["--tests", "wsat", "--time", "2s"];
    let steady = sections(home.path(), &worn, &saturation, 0)?;
    let worn_rate = rate(&steady, 0, 4, 2);
    // New, each die programs a page of 16 KiB in 600 µs: 26,667 sectors a second. It falls until it is worn.
    let falls = sections(home.path(), &erased, &saturation, 0)?;
    let rows = falls["sections"][0]["rows"].as_array().expect("samples").len();
    assert!((rate(&falls, 0, 0, 2) / 26_667.0 - 1.0).abs() < 0.02, "{falls}");
    assert!((rate(&falls, 0, rows - 1, 2) / worn_rate - 1.0).abs() < 0.12, "{falls}, worn {worn_rate}");
    // Preconditioned, it is steady there.
    let words = ["--tests", "iops", "--time", "1s"];
    let found = sections(home.path(), &erased, &words, 0)?;
    let steady_rate = rate(&found, 1, 0, 3);
    assert!((steady_rate / worn_rate - 1.0).abs() < 0.05, "{steady_rate}, worn {worn_rate}");
    assert!(
        found["sections"][0]["sentences"].to_string().contains("RND 4K 0/100: steady in rounds"),
        "{found}"
    );
    assert_eq!(sections(home.path(), &erased, &words, 0)?, found, "not the same a second time");
    Ok(())
}

/// What a drive collects in a pause it is faster by afterwards; the pauses are as virtual as all other time.
fn idle() -> Outcome {
    let home = scratch();
    let worn = drive(home.path(), "worn");
    let found = sections(home.path(), &worn, &["--tests", "hir", "--time", "200ms"], 0)?;
    let rows = found["sections"][0]["rows"].as_array().expect("samples");
    let rate = |row: usize| rows[row][2].as_f64().expect("a rate");
    assert_eq!((rows.len(), rows[20][0].as_str()), (30, Some("RND 4K 0/100 after 10 × pause")));
    assert!(rate(5) > rate(4) * 2.0 && rate(20) > rate(4) * 4.0, "{found}");
    assert!((rate(29) / rate(4) - 1.0).abs() < 0.2, "{found}");
    Ok(())
}

/// At their shortest; whether they are steady is the machine's.
const SHORT: [&str; 6] = ["--quick", "--time", "20ms", "--rounds", "5", "--json"];

fn to_its_sheets(device: &Path) -> Outcome {
    let home = scratch();
    let name = device.display().to_string();
    let before = fingerprint(device);
    let all = ["--tests", "iops,throughput,latency,wsat,dirth,xsr,hir", "--destroy", &name];
    let files = ["--html", "page.html", "--xlsx", "book.xlsx"];
    let output = told(pts(home.path(), &name, &[&all[..], &SHORT, &files].concat()));
    assert!([0, 1].contains(&output.code()), "{output}");
    let json: serde_json::Value = serde_json::from_str(&output.out)?;
    let titles = section_titles(&json);
    for title in [
        "IOPS: steady state",
        "IOPS: IOPS by block size and reads/writes",
        "Throughput: figures of the last five rounds",
        "Latency: figures of the last five rounds",
        "Write saturation: RND 4K 0/100 over time",
        "Demand intensity: figures of the last five rounds",
        "Cross-stimulus recovery: course",
        "Host idle recovery: course",
    ] {
        assert!(titles.contains(&title), "{title} in {titles:?}");
    }
    assert_eq!(json["facts"]["purge"], "all blocks discarded before each test");
    assert_eq!(names(home.path()), ["book.xlsx", "page.html"]);
    assert_ne!(fingerprint(device), before);
    Ok(())
}

fn sheets() -> Outcome {
    to_its_sheets(LoopDevice::new(32 << 20)?.path())
}

fn compressed() -> Outcome {
    to_its_sheets(Zram::new(32 << 20)?.path())
}

fn killed() -> Outcome {
    let home = scratch();
    let device = LoopDevice::new(16 << 20)?;
    let name = device.path().display().to_string();
    let words =
        ["--tests", "iops", "--quick", "--time", "100ms", "--destroy", &name, "--state", "state.json"];
    let state = home.path().join("state.json");
    let rounds = || {
        let text = std::fs::read_to_string(&state).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        json["tests"][0]["rounds"].as_array().map_or(0, Vec::len)
    };
    let mut running = Running::start(pts(home.path(), &name, &words));
    running.until("two rounds", || rounds() >= 2 || !state.exists() && rounds() > 0);
    running.signal(libc::SIGKILL);
    running.end();
    let before = rounds();
    assert!(before >= 2, "{before}");
    // Another command's figures are not mixed with these.
    told(pts(
        home.path(),
        &name,
        &["--tests", "latency", "--quick", "--destroy", &name, "--state", "state.json"],
    ))
    .refused(&["a test that was not finished lies here", "--state FILE"]);
    let mut again = Running::start(pts(home.path(), &name, &words));
    again.warns(&format!("goes on after {before} rounds"));
    again.until("another round", || rounds() > before);
    again.signal(libc::SIGINT);
    let output = again.end();
    assert!([0, 130].contains(&output.code()), "{output}");
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let file = home.path().join("drive");
    std::fs::write(&file, vec![7; 1 << 20])?;
    let drive = file.display().to_string();
    let told = |target: &str, words: &[&str]| -> ProgramOutput { told(pts(home.path(), target, words)) };
    told(&drive, &["--quick"]).refused(&["only read", &format!("--destroy {drive}")]);
    told(&drive, &["--quick", "--destroy", "/dev/null"]).refused(&["only read"]);
    told(&drive, &["--destroy", &drive, "--purge", "discard"])
        .refused(&["a file is not discarded", "declared="]);
    for (how, name) in
        [("format", "NVMe format with user data erase"), ("sanitize", "NVMe sanitize by block erase")]
    {
        told(&drive, &["--purge", how]).refused(&[&format!("--destroy {drive}")]);
        told(&drive, &["--destroy", &drive, "--purge", how]).refused(&[
            &format!("it cannot be purged by {name}: it is no NVMe namespace"),
            "--purge discard, or do it yourself and say so",
        ]);
    }
    told(&drive, &["--destroy", &drive, "--purge", "burn"])
        .refused(&["expected discard, format, sanitize, or declared=WORDS"]);
    told(&drive, &["--destroy", &drive, "--tests", "ecw"])
        .refused(&["the shares of its composite", "iodyno run PLAN"]);
    told(&drive, &["--destroy", &drive, "--tests", "rwsw"]).refused(&["iodyno replay TRACE TARGET"]);
    told(&drive, &["--destroy", &drive, "--tests", "iop"])
        .refused(&["possible are iops, throughput, latency, wsat"]);
    told(&path, &["--quick"]).refused(&["a directory is no drive", "truncate -s 8G"]);
    told("/nowhere", &[]).refused(&["no such file"]);
    told(&drive, &["--tests", "speed"]).refused(&["speed", "iops"]);
    assert_eq!(std::fs::read(&file)?, vec![7; 1 << 20]);
    assert_eq!(names(home.path()), ["drive"]);
    Ok(())
}
