//! Two hundred honest runs, of which at most one may be accused: 180 on the simulated device, 20 real ones of several
//! dialects on a disk of known speed.
//!
//! What is true of the stage is no alarm, nor what the figures prove of the machine; such a run is counted apart.
//! Every alarm is told with its figures, and so is what the machine did.

use std::path::Path;

use iodyno_model::Finding;
use testbed::{Case, Outcome, Skip};

use crate::ground::{DEEP, Disk, STAGE};
use crate::program;
use crate::stage::{self, Told, heard, run_in};

/// Runs on the simulated device.
const SIMULATED: u64 = 180;
/// Alarms that are borne in all runs together.
const MOST: usize = 1;
/// Real runs that the machine may spoil; with more of them nothing is claimed.
const UNFIT_MOST: usize = 5;

/// The case.
pub fn case() -> Case {
    Case::new("honest_runs", DEEP, honest_runs).alone()
}

fn honest_runs() -> Outcome {
    if !stage::is_wanted() {
        return Err(Skip::new("two hundred runs take minutes: `cargo xtask lies honest` makes them").into());
    }
    let home = tempfile::TempDir::new()?;
    let mut alarms: Vec<String> = Vec::new();
    let mut runs = 0;
    for number in 0..SIMULATED {
        let plan = simulated(&mut Dice(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1));
        let findings = run_in(home.path(), &plan, 0, &[])?;
        runs += 1;
        if !findings.is_empty() {
            alarms.push(format!("simulated run {number}: {}\n{plan}", stage::list(&findings)));
        }
    }
    let mut unfit = 0;
    let disk = Disk::new(512, 400)?.formatted("ext4", "")?;
    for run in REAL {
        runs += 1;
        match settled(home.path(), disk.folder(), run)? {
            Settled::Silent => {}
            Settled::Accused(what) => alarms.push(format!("{run}: {what}")),
            Settled::Unfit(what) => {
                unfit += 1;
                eprintln!("the machine's doing: honest run `{run}`: {what}");
            }
        }
    }
    alarms.iter().for_each(|alarm| eprintln!("alarm: {alarm}"));
    let told = format!(
        "{} alarms in {runs} runs; {unfit} runs spoiled by the machine, as their figures prove",
        alarms.len()
    );
    let word = match (alarms.len() <= MOST, unfit <= UNFIT_MOST) {
        (false, _) => "false alarm",
        (true, true) => "silent",
        (true, false) => "skipped",
    };
    stage::note(0, "honest", word, "honest runs", &told);
    match word {
        "silent" => Ok(()),
        "skipped" => Err(Skip::new(told).into()),
        _ => Err(format!("{told}:\n{}", alarms.join("\n")).into()),
    }
}

/// What became of a real run.
enum Settled {
    Silent,
    Accused(String),
    Unfit(String),
}

fn settled(home: &Path, folder: &Path, run: &str) -> Result<Settled, Box<dyn std::error::Error>> {
    let mut told = stage::watched(|| real(home, folder, run))?;
    told.findings.retain(|finding: &Finding| !STAGE.contains(&finding.code));
    Ok(match (told.findings.is_empty(), told.is_machines()) {
        (true, _) => Settled::Silent,
        (false, true) => Settled::Unfit(told.list()),
        (false, false) => Settled::Accused(told.list()),
    })
}

/// Runs of several dialects; `HERE` is where they work.
const REAL: &[&str] = &[
    "fio --name=a --rw=randread --size=64m --direct=1 --runtime=1 --time_based",
    "fio --name=b --rw=randwrite --size=64m --direct=1 --runtime=1 --time_based --overwrite=1",
    "fio --name=c --rw=randrw --size=64m --direct=1 --runtime=1 --time_based --overwrite=1",
    "fio --name=d --rw=read --bs=128k --size=64m --direct=1 --io_size=512m",
    "fio --name=e --rw=write --bs=128k --size=256m --end_fsync=1",
    "fio --name=f --rw=randread --size=64m --direct=1 --runtime=1 --time_based --ioengine=io_uring --iodepth=16",
    "fio --name=g --rw=randwrite --size=64m --fdatasync=1 --runtime=1 --time_based --overwrite=1",
    "fio --name=h --rw=randread --size=64m --direct=1 --rate_iops=200 --runtime=1 --time_based",
    "fio --name=i --rw=randread --size=16m --numjobs=4 --direct=1 --runtime=1 --time_based --group_reporting",
    "fio --name=j --rw=write --bs=64k --size=128m --fsync=16 --direct=1",
    "ior -w -r -t 256k -b 128m -e -o HERE/ior --posix.odirect",
    "ior -w -t 256k -b 128m -e -o HERE/ior",
    "ior -w -r -z -t 64k -b 32m -e -o HERE/ior --posix.odirect",
    "ior -w -r -C -t 128k -b 64m -e -o HERE/ior --posix.odirect",
    "mdtest -n 20000 -C -r -d HERE/mdtest",
    "dd if=/dev/urandom of=HERE/dd bs=256k count=256 oflag=direct",
    "dd if=HERE/dd of=/dev/null bs=256k iflag=direct",
    "dd if=HERE/dd of=HERE/dd2 bs=256k iflag=direct oflag=direct conv=fsync",
    "measure --quick --size 64MiB HERE",
    "ior -w -r -F -t 256k -b 64m -e -o HERE/ior --posix.odirect",
];

/// Runs it and hears its findings.
fn real(home: &Path, folder: &Path, run: &str) -> Told {
    let json = home.join("honest.json");
    let words = run.replace("HERE", &folder.display().to_string());
    let mut command = program::iodyno(words.split_whitespace());
    command.current_dir(folder);
    match run.starts_with("measure ") {
        true => command.arg("--json").arg(&json),
        false => command.env("IODYNO_ALSO", format!("json={}", json.display())),
    };
    let told = program::told(command);
    if told.code() != 0 {
        return Err(format!("{run}: {told}").into());
    }
    let findings = heard(&told, &json);
    std::fs::remove_file(&json)?;
    if run.starts_with("fio ") {
        clear(folder)?;
    }
    findings
}

/// Takes the files away that a run left: the disk is small.
fn clear(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A plan on the simulated device: what it does, how deep, how fast and how long, all drawn.
fn simulated(dice: &mut Dice) -> String {
    let (deep, workers) = (1 << dice.roll(6), 1 + dice.roll(3));
    let (service, us) = match dice.roll(5) {
        0 => ("service = \"100us\"".to_string(), 100),
        1 => ("service = \"uniform:50us-150us\"".to_string(), 100),
        2 => ("service = \"exponential:200us\"".to_string(), 200),
        3 => ("service = \"normal:400us,40us\"".to_string(), 400),
        _ => ("preset = \"disk\"".to_string(), 13_000),
    };
    let servers = if us == 13_000 { 1 } else { 1 << dice.roll(4) };
    let parallelism = if servers > 1 { format!(", parallelism = {servers}") } else { String::new() };
    let work = match dice.roll(4) {
        0 => "do = \"read\"",
        1 => "do = \"write\"",
        2 => "mix = { read = 70, write = 30 }",
        _ => "do = \"read\"\nevery = { fsync = 64 }",
    };
    let pick = ["random", "sequential", "zipf:1.2"][dice.roll(3) as usize];
    let block = ["4KiB", "16KiB", "128KiB"][dice.roll(3) as usize];
    // A third of what the device can do, in all.
    let rate = match dice.roll(4) {
        0 => format!("rate = \"{}/s\"\n", (1_000_000 * servers / us / workers / 3).max(1)),
        _ => String::new(),
    };
    let operations = 40_000 + dice.roll(20_000);
    let repeats = pick.starts_with("zipf");
    format!(
        "seed = {}\n[target.disk]\nnothing = \"8GiB\"\n[[phase]]\n[[phase.job]]\non = \"disk\"\nengine = \"sim\"\n\
         settings = {{ {service}{parallelism} }}\nworkers = {workers}\ndepth = {deep}\n{work}\npick = \"{pick}\"\n\
         block = \"{block}\"\nrepeats = {repeats}\n{rate}until = {{ operations = {operations} }}\n",
        1 + dice.roll(1 << 20)
    )
}

/// A small generator, so that the honest runs are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }
}
