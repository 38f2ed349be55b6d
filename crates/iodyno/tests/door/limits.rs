//! `iodyno limits`: a loop device whose caps the kernel keeps, and what is refused.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::sandbox::LoopDevice;
use testbed::{Case, Need, Outcome, Skip};

use crate::program::{IODYNO, ProgramOutput, fingerprint, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("limits finds the caps that a control group keeps", &[Need::Root, Need::Loop], caps)
            .waits(),
        Case::new("limits of a file ends with tables, and refuses what is wrong", &[], refused),
        Case::new("limits of a simulated device says that it is simulated", &[], simulated),
        Case::new("what limits finds of a cloud disk is the file of one", &[], written),
        Case::new("limits finds what a cloud disk lends, in virtual time", &[], lent),
        Case::new("limits finds what the first read of a snapshot costs, in virtual time", &[], cold),
    ]
}

/// A control group that lets a device read so much, of whichever version the machine has.
struct ThrottledGroup(PathBuf);

impl ThrottledGroup {
    fn new(device: &Path, iops: u64, bytes: u64) -> Result<ThrottledGroup, Skip> {
        let number = device.metadata().expect("a device").rdev();
        let number = format!("{}:{}", libc::major(number), libc::minor(number));
        let name = format!("iodyno-limits-{}", std::process::id());
        let skip = |why: std::io::Error| Skip::new(format!("no control group limits devices here: {why}"));
        let first = Path::new("/sys/fs/cgroup/blkio");
        if first.is_dir() {
            let group = ThrottledGroup(first.join(name));
            fs::create_dir(&group.0).map_err(skip)?;
            for (file, value) in [("read_iops_device", iops), ("read_bps_device", bytes)] {
                let file = group.0.join(format!("blkio.throttle.{file}"));
                fs::write(file, format!("{number} {value}")).map_err(skip)?;
            }
            return Ok(group);
        }
        let group = ThrottledGroup(Path::new("/sys/fs/cgroup").join(name));
        fs::create_dir(&group.0).map_err(skip)?;
        fs::write(group.0.join("io.max"), format!("{number} riops={iops} rbps={bytes}")).map_err(skip)?;
        Ok(group)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
            .arg(&self.0)
            .arg(IODYNO)
            .args(arguments);
        command
    }
}

impl Drop for ThrottledGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn caps() -> Outcome {
    let device = LoopDevice::new(64 << 20)?;
    let group = ThrottledGroup::new(device.path(), 400, 16 << 20)?;
    let before = fingerprint(device.path());
    let name = device.path().display().to_string();
    let words =
        ["limits", &name, "--burst", "2s", "--idle", "0s", "--time", "2s", "--cold", "16", "--depth", "16"];
    let sizes = ["--blocks", "4KiB,8KiB,16KiB,128KiB,256KiB,512KiB"];
    let promised = ["--promised", "iops=100000,bandwidth=8MB"];
    let output = told(group.command(&[&words[..], &sizes, &promised].concat()));
    // A loaded machine gets less through than the cap, never more.
    output.expect(
        1,
        &[
            "operations at most ",
            "bytes at most ",
            "100,000 IOPS promised",
            ": NOT kept.",
            "8.00 MB/s promised",
            ": kept.",
        ],
    );
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output}");
    assert_eq!(fingerprint(device.path()), before);
    Ok(())
}

fn limits(arguments: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["limits"]);
    command.args(arguments);
    told(command)
}

const SHORT: [&str; 8] = ["--burst", "100ms", "--idle", "0s", "--time", "20ms", "--cold", "8"];

fn refused() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let page = format!("{path}/page.html");
    let output = limits(&[&[path.as_str(), "--size", "16MiB", "--html", &page], &SHORT[..]].concat());
    output.expect(
        0,
        &["Rules that explain what was measured", "Rate over block size", "Rate over time", "first read"],
    );
    assert_eq!(names(home.path()), ["page.html"]);
    limits(&[&path, "--blocks", "8k,4k"]).refused(&["block sizes rise", "--blocks 4KiB,64KiB,1MiB"]);
    limits(&[&path, "--promised", "latency=1ms"]).refused(&["expected iops or bandwidth"]);
    limits(&["/nowhere"]).refused(&["no such file or directory"]);
    fs::write(home.path().join("data"), [1; 8192])?;
    let data = format!("{path}/data");
    limits(&[&data, "--writes"]).refused(&["only read"]);
    assert_eq!(fs::read(&data)?, [1; 8192]);
    Ok(())
}

fn simulated() -> Outcome {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/queueing-server.toml");
    let words = ["--burst", "20s", "--idle", "0s", "--time", "10s", "--json"];
    let output = limits(&[&[example], &words[..]].concat());
    output.expect(0, &["iodyno.limits/1", "All figures are simulated"]);
    let json: serde_json::Value = serde_json::from_str(&output.out)?;
    // One server of 100 µs: 10,000 a second of any size, nothing lent.
    let rows = json["sections"][0]["rows"].as_array().expect("rules");
    let found =
        |name: &str| rows.iter().find(|row| row[0] == name).map(|row| row[1].to_string()).unwrap_or_default();
    assert!(
        found("operations").contains("at most 9,9") || found("operations").contains("at most 10,0"),
        "{json}"
    );
    assert!(found("bytes").contains("no cap was met"), "{json}");
    assert!(found("burst").contains("none was seen"), "{json}");
    Ok(())
}

/// 300 operations a second, 3,000 while 5.4 million credits last, counted by 256 KiB: 50 minutes that take none.
fn lent() -> Outcome {
    let home = scratch();
    let plan = home.path().join("plan.toml");
    fs::write(
        &plan,
        "device = \"cloud-burst\"\n[target.data]\nnothing = \"100GB\"\n[[phase]]\n[[phase.job]]\non = \"data\"\n\
         engine = \"sim\"\ndepth = 64\ndo = \"read\"\npick = \"random\"\nblock = \"4KiB\"\nuntil = { time = \"5s\" }\n",
    )?;
    let plan = plan.display().to_string();
    let words = [plan.as_str(), "--burst", "40min", "--idle", "10min", "--time", "60s", "--cold", "8"];
    let output = limits(&words);
    output.expect(
        0,
        &[
            "operations at most 300 IOPS",
            "bytes at most 78.6 MB/s",
            "accounting an operation counts once for each 256 KiB",
            "3,000 IOPS for 2000 s, then 300: 5,399,8",
            "refill 300 operations per second of rest",
            "All figures are simulated",
        ],
    );
    assert_eq!(limits(&words).out, output.out, "not the same a second time");
    Ok(())
}

/// A volume made from a snapshot, of 2,000 operations a second: what a first read costs is found, written and found again.
fn cold() -> Outcome {
    let home = scratch();
    let plan = home.path().join("plan.toml");
    fs::write(
        &plan,
        "device = \"cloud-from-snapshot\"\n[target.data]\nnothing = \"100GB\"\n[[phase]]\n[[phase.job]]\non = \"data\"\n\
         engine = \"sim\"\ndepth = 64\ndo = \"read\"\npick = \"random\"\nblock = \"4KiB\"\nuntil = { time = \"5s\" }\n",
    )?;
    let (plan, found) = (plan.display().to_string(), home.path().join("found.toml"));
    let to = found.display().to_string();
    let words =
        [plan.as_str(), "--burst", "20s", "--idle", "0s", "--time", "5s", "--cold", "64", "--to", &to];
    limits(&words).expect(
        0,
        &[
            "first read 14.3 × as long as the second (21.5 ms and 1.50 ms)",
            "operations at most 1,998 IOPS",
            "depth 1 1.50 ms each",
        ],
    );
    let text = fs::read_to_string(&found)?;
    assert!(text.contains("cold = \"20ms\"") && text.contains("latency = \"999"), "{text}");
    let again = fs::read_to_string(&plan)?.replace("cloud-from-snapshot", "cloud-6000");
    fs::write(&plan, again)?;
    let words = [plan.as_str(), "--burst", "5s", "--idle", "0s", "--time", "2s", "--cold", "64"];
    limits(&words).expect(0, &["first read not slower than the second"]);
    Ok(())
}

/// In virtual time, of a device whose rules are known: 6,000 operations and 170 MiB a second.
fn written() -> Outcome {
    let home = scratch();
    let plan = home.path().join("plan.toml");
    fs::write(
        &plan,
        "device = \"cloud-6000\"\n[target.data]\nnothing = \"100GB\"\n[[phase]]\n[[phase.job]]\non = \"data\"\n\
         engine = \"sim\"\ndepth = 64\ndo = \"read\"\npick = \"random\"\nblock = \"4KiB\"\nuntil = { time = \"5s\" }\n",
    )?;
    let (plan, found) = (plan.display().to_string(), home.path().join("found.toml"));
    let to = found.display().to_string();
    let words = [plan.as_str(), "--burst", "20s", "--idle", "0s", "--time", "10s", "--to", &to];
    limits(&words).expect(0, &["operations at most ", "bytes at most ", "All figures are simulated"]);
    let text = fs::read_to_string(&found)?;
    let figure = |key: &str| -> f64 {
        let line =
            text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")).unwrap_or_default();
        let digits: String = line.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
        let unit = if line.contains("MB") {
            1e6
        } else if line.contains("kB") {
            1e3
        } else {
            1.0
        };
        digits.parse::<f64>().unwrap_or(0.0) * unit
    };
    let is_near = |found: f64, known: f64| (found / known - 1.0).abs() < 0.02;
    // 167 µs of what an operation takes are the cap's, 600 the path's.
    assert!((588.0..=612.0).contains(&figure("latency")), "{text}");
    assert!(is_near(figure("iops"), 6_000.0) && is_near(figure("bandwidth"), 178.3e6), "{text}");
    assert!(text.contains("name = \"found\"") && text.contains("iodyno limits"), "{text}");
    let mut again = iodyno(["run", &plan, "--no-save", "--on", &to]);
    again.current_dir(home.path());
    told(again).expect(0, &["simulated on found"]);
    limits(&words).refused(&["found.toml", "exists"]);
    assert_eq!(fs::read_to_string(&found)?, text);
    Ok(())
}
