//! sysstat's own iostat beside ours: it reads counters that were written by hand (`-f`), and both must print the same.
//!
//! Its first report covers the machine's uptime, which it reads somewhere between two readings here: ours must print the
//! same for one of the hundredths between them. The date is that of a file that was written before or after.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use iodyno_dialect::Request;
use iodyno_dialect::iostat::DIALECT;
use iodyno_model::{Event, Machine, Sample};
use testbed::Outcome;

use super::texts::{device, ended, started, told};
use super::world::World;

const DEVICES: &[(&str, &str)] = &[
    ("dm-0", "5 0 10 3 7 0 1000000 8 0 9 11 0 0 0 0 0 0"),
    ("sda", "1000 50 160000 3000 2000 100 320000 8000 3 5000 11500 100 10 80000 400 50 100"),
    ("sdb", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
    ("sdc", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"),
    ("nvmeaveryl0n1", "7777777 1 8888888 2147483 1 9999 8 50001 2 900100 4000000000 3 0 24 7 0 0"),
];

/// The counters as files of a directory.
fn write(folder: &Path) -> Outcome {
    for (name, stat) in DEVICES {
        let of_device = folder.join("block").join(name);
        fs::create_dir_all(&of_device)?;
        fs::write(of_device.join("stat"), format!("{stat}\n"))?;
    }
    Ok(())
}

/// What the original says; words before `iostat` are its environment.
fn original(line: &str, folder: &Path) -> Result<(String, bool), Box<dyn std::error::Error>> {
    let (words, line) = line.split_once("iostat").unwrap_or(("", line));
    let mut command = Command::new("iostat");
    command.env_remove("POSIXLY_CORRECT").env("LC_ALL", "C").env("TZ", "UTC").env("S_COLORS", "never");
    command.envs(words.split_whitespace().filter_map(|word| word.split_once('=')));
    let output = command.arg("-f").arg(folder).args(line.split_whitespace()).output()?;
    Ok((String::from_utf8(output.stdout)?, output.status.success()))
}

/// A moment: the machine's uptime and the time of day.
#[derive(Clone, Copy)]
struct Moment {
    uptime_hundredths: u64,
    unix_ns: u64,
}

impl Moment {
    /// This one; the time of day is what a file of the folder gets that is written now.
    fn now(folder: &Path) -> Result<Moment, Box<dyn std::error::Error>> {
        let text = fs::read_to_string("/proc/uptime")?;
        let digits: String = text.split(' ').next().unwrap_or_default().replace('.', "");
        let stamp = folder.join("stamp");
        fs::write(&stamp, "")?;
        let facts = fs::metadata(&stamp)?;
        let unix_ns = facts.mtime() as u64 * 1_000_000_000 + facts.mtime_nsec() as u64;
        Ok(Moment { uptime_hundredths: digits.parse()?, unix_ns })
    }

    /// All that lie between this one and a later one: every uptime, on the day of either.
    fn until(self, later: Moment) -> impl Iterator<Item = Moment> {
        let uptimes = self.uptime_hundredths..=later.uptime_hundredths;
        let at = move |uptime_hundredths| {
            [self.unix_ns, later.unix_ns].map(|unix_ns| Moment { uptime_hundredths, unix_ns })
        };
        uptimes.flat_map(at)
    }
}

/// The devices since the machine was started, and two seconds in which nothing happened.
fn events(moment: Moment) -> Result<Vec<Event>, Box<dyn std::error::Error>> {
    let read = |name: &str| {
        fs::read_to_string(format!("/proc/sys/kernel/{name}")).map(|text| text.trim().to_string())
    };
    let machine = Machine {
        host: read("hostname")?,
        kernel: format!("{} {}", read("ostype")?, read("osrelease")?),
        ..Machine::default()
    };
    let sample = |at_ns, interval_ns, stats: &dyn Fn(&'static str) -> &'static str| {
        let devices = DEVICES.iter().map(|(name, stat)| device(name, stats(stat), interval_ns)).collect();
        Event::Watched(Box::new(Sample { at_ns, interval_ns, devices, ..Sample::default() }))
    };
    let second = 1_000_000_000;
    Ok(vec![
        started(machine, moment.unix_ns),
        sample(0, moment.uptime_hundredths * 10_000_000, &|stat| stat),
        sample(second, second, &|_| ""),
        sample(2 * second, second, &|_| ""),
        ended(None),
    ])
}

fn compare(lines: &[&str]) -> Outcome {
    let folder = tempfile::tempdir()?;
    write(folder.path())?;
    lines.iter().try_for_each(|line| compare_one(line, folder.path()))
}

fn compare_one(line: &str, folder: &Path) -> Outcome {
    let before = Moment::now(folder)?;
    let (theirs, went_well) = original(line, folder)?;
    let after = Moment::now(folder)?;
    if !went_well {
        return Err(format!("{line}: refused by the original").into());
    }
    let theirs = masked(&theirs);
    for moment in before.until(after) {
        if ours(line, moment)? == theirs {
            return Ok(());
        }
    }
    let ours = ours(line, before)?;
    let apart = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
    let (ours, theirs) = apart.unwrap_or((&ours, &theirs));
    Err(format!("{line}: the original writes\n{}\nand we\n{}", theirs.escape_debug(), ours.escape_debug())
        .into())
}

/// What we print of a machine that is so old.
fn ours(line: &str, moment: Moment) -> Result<String, Box<dyn std::error::Error>> {
    let mut events = events(moment)?;
    let samples = match (line.contains(" 1 2"), line.contains("-y")) {
        (false, _) => 1,
        (true, false) => 2,
        (true, true) => 3,
    };
    events.drain(samples + 1..4);
    Ok(masked(&told(line, &events)))
}

/// Without the machine's architecture and processors, which the staged one has others of.
fn masked(text: &str) -> String {
    let keeps = |line: &&str| !line.contains("\"machine\"") && !line.contains("number-of-cpus");
    let line = |line: &str| match line.split_once("\t_") {
        Some((before, _)) => format!("{before}…\n"),
        None => format!("{line}\n"),
    };
    text.lines().filter(keeps).map(line).collect()
}

pub fn texts() -> Outcome {
    compare(&[
        "iostat -d",
        "iostat -d 1 2",
        "iostat -xd 1 2",
        "iostat -yd 1 2",
        "iostat -d ALL",
        "iostat -xdk sda sdb",
        "iostat -dm",
        "iostat -xdm",
        "iostat -ds",
        "iostat -xds 1 2",
        "iostat -dz 1 2",
        "iostat -dz ALL",
        "iostat -dh",
        "iostat -xdh 1 2",
        "iostat -xd --human",
        "iostat -xd --human --dec=0",
        "iostat -xd --pretty --compact",
        "iostat -xds --pretty",
        "iostat -xd --dec=1",
        "iostat -dsm --dec=0",
        "iostat -d sdb nosuch sda sda",
        "iostat -d -g group sdc sda",
        "iostat -xd -g one sda -g two sdb sdc",
        "iostat -xdH -g group sda sdb dm-0",
        "iostat -xds -g group sda sdb",
        "iostat -dz -g group sdb",
        "iostat -dh -g group sda sdc",
        "POSIXLY_CORRECT=1 iostat -d",
        "POSIXLY_CORRECT=1 iostat -xd",
        "POSIXLY_CORRECT=1 iostat -xds",
        "POSIXLY_CORRECT=1 iostat -ds",
        "POSIXLY_CORRECT=1 iostat -dk",
        "S_TIME_FORMAT=ISO iostat -d",
        "S_COLORS=always iostat -xd",
        "S_COLORS=always iostat -dh",
        "S_COLORS=always S_COLORS_SGR=N=36:Z=90 iostat -xd --pretty",
    ])
}

pub fn documents() -> Outcome {
    compare(&[
        "iostat -d -o JSON",
        "iostat -xd -o JSON 1 2",
        "iostat -ds -o JSON",
        "iostat -xds -o JSON",
        "iostat -xdm -o JSON --dec=0",
        "iostat -dz -o JSON sdb",
        "iostat -d -o JSON -g group sda sdc",
        "POSIXLY_CORRECT=1 iostat -xd -o JSON",
        "POSIXLY_CORRECT=1 iostat -d -o JSON",
        "S_TIME_FORMAT=ISO iostat -yd -o JSON 1 2",
    ])
}

/// What one refuses, the other refuses, with the same status.
pub fn refusals() -> Outcome {
    let folder = tempfile::tempdir()?;
    write(folder.path())?;
    for line in [
        "-q",
        "--foo",
        "--dec=3",
        "-o XML",
        "-o",
        "-g",
        "-j",
        "-H",
        "-km",
        "1 2 3",
        "1 0",
        "-1",
        "--",
        "-j nosuch",
        "-x",
        "0",
        "-",
        "-xp 0",
        "1x",
        "-d 00",
        "-k -k",
        "-g group",
    ] {
        let (_, went_well) = original(line, folder.path())?;
        let arguments: Vec<String> = line.split_whitespace().map(String::from).collect();
        let ours = match (DIALECT.lower)(&arguments, &mut World::new("")) {
            Ok(Request::Run(_)) => true,
            Ok(Request::Refuse { status: 1, .. }) => false,
            _ => return Err(format!("{line}: neither run nor refused with status 1").into()),
        };
        if ours != went_well {
            return Err(format!("{line}: taken by the original: {went_well}, by us: {ours}").into());
        }
    }
    Ok(())
}
