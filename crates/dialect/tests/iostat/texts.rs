//! Samples of a machine that never was, and the exact text that iostat makes of them.

use std::fmt::Write as _;

use iodyno_dialect::Request;
use iodyno_model::{CpuShares, DeviceActivity, Event, Machine, Plan, Record, RunStart, Sample};
use iodyno_report::Output;
use testbed::Outcome;

use super::{golden, request};

/// A device's counters as the kernel's `stat` file lists them; times in ms, sizes in sectors.
pub fn device(name: &str, stat: &str, interval_ns: u64) -> DeviceActivity {
    let mut counters = stat.split_whitespace().map(|word| word.parse::<u64>().unwrap());
    let mut next = || counters.next().unwrap_or(0);
    let (ms, sectors) = (1_000_000, 512);
    DeviceActivity {
        device: name.into(),
        reads: next(),
        reads_merged: next(),
        read_bytes: next() * sectors,
        read_ns: next() * ms,
        writes: next(),
        writes_merged: next(),
        write_bytes: next() * sectors,
        write_ns: next() * ms,
        in_flight: next(),
        busy_ns: next() * ms,
        weighted_ns: next() * ms,
        discards: next(),
        discards_merged: next(),
        discard_bytes: next() * sectors,
        discard_ns: next() * ms,
        flushes: next(),
        flush_ns: next() * ms,
        interval_ns,
        ..DeviceActivity::default()
    }
}

pub fn started(machine: Machine, at_unix_ns: u64) -> Event {
    let (plan, targets, world) = (Plan::default(), Vec::new(), Default::default());
    Event::Started(Box::new(RunStart { plan, targets, machine, at_unix_ns, world }))
}

pub fn ended(stopped_by: Option<i32>) -> Event {
    Event::Ended(Box::new(Record { stopped_by, ..Record::default() }))
}

const UPTIME_NS: u64 = 1_000_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
const BEGAN_UNIX_NS: u64 = 1_795_306_503_000_000_000;

const SINCE_BOOT: &[(&str, &str)] = &[
    ("sda", "1000 50 160000 3000 2000 100 320000 8000 3 5000 11500 100 10 80000 400 50 100"),
    ("sda1", "900 50 150000 2900 1900 100 300000 7800 0 4900 11000 90 10 79000 380 0 0"),
    ("sdb", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
    ("dm-0", "5 0 10 3 7 0 1000000000000 8 0 9 11"),
    ("averylongdevicename", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"),
];

const ONE_SECOND: &[(&str, &str)] = &[
    ("sda", "100 0 102400 900 50 25 819200 2500 2 990 31250 0 0 0 0 2 9"),
    ("sda1", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
    ("sdb", "3 0 24 1 0 0 0 0 0 1 1 0 0 0 0 0 0"),
    ("dm-0", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
    ("averylongdevicename", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
];

fn sample(index: u64, devices: &[(&str, &str)]) -> Event {
    let interval_ns = if index == 0 { UPTIME_NS } else { SECOND_NS };
    let cpu = CpuShares {
        user_percent: 27.514,
        nice_percent: 5.0,
        system_percent: 11.0,
        iowait_percent: 0.486,
        steal_percent: 0.0,
        idle_percent: 56.0,
        runnable: 1,
    };
    Event::Watched(Box::new(Sample {
        at_ns: index * SECOND_NS,
        interval_ns: if index == 0 { 0 } else { SECOND_NS },
        at_unix_ns: BEGAN_UNIX_NS + index * SECOND_NS,
        devices: devices.iter().map(|(name, stat)| device(name, stat, interval_ns)).collect(),
        cpu: Some(cpu),
        ..Sample::default()
    }))
}

/// What a command line makes of events.
pub fn told(command: &str, events: &[Event]) -> String {
    let Request::Run(mut run) = request(command) else { panic!("{command}: not run") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for event in events {
        let files = &mut iodyno_report::NoFiles;
        run.reporter.event(event, &mut Output { out: &mut out, err: &mut err, files }).unwrap();
    }
    assert!(err.is_empty(), "{command}: {}", String::from_utf8_lossy(&err));
    String::from_utf8(out).unwrap()
}

const COMMANDS: &[&str] = &[
    "iostat 1 2",
    "iostat -xd 1 2",
    "iostat -ymx sda 1 1",
    "iostat -c -t 1 2",
    "S_TIME_FORMAT=ISO TZ=Asia/Tokyo iostat -dt sda 1 2",
    "iostat -dz 1 2",
    "iostat -d ALL 1 2",
    "iostat -d -p 1 2",
    "iostat -d -p sda 1 2",
    "iostat -d sda1 nosuch /dev/mapper/vg-data 1 2",
    "iostat -dN 1 2",
    "iostat -d -j ID 1 2",
    "iostat -dh 1 2",
    "iostat -xdh sda 1 2",
    "iostat -xs --human --dec=0 1 2",
    "iostat -d -g both sda sdb 1 2",
    "iostat -xdH -g all 1 2",
    "iostat -o JSON -x sda 1 2",
    "iostat -o JSON -dt nosuch 1 2",
    "POSIXLY_CORRECT=1 iostat -xd sda 1 2",
    "S_COLORS=always iostat -xdm sda 1 2",
    "layout=11 iostat -xd 1 2",
    "layout=11 iostat 1 2",
    "layout=10 iostat -xd 1 2",
    "layout=10 iostat -xm sda 1 2",
    "layout=10 POSIXLY_CORRECT=1 iostat -xdk 1 2",
    "layout=10 POSIXLY_CORRECT=1 iostat -xd 1 2",
    "layout=9 iostat -xd 1 2",
    "layout=9 iostat -d 1 2",
    "layout=10 iostat -o JSON -xd sda 1 2",
];

pub fn texts() -> Outcome {
    let machine = Machine {
        host: "harbour".into(),
        kernel: "Linux 6.1.0-18-amd64".into(),
        cpus: 2,
        ..Machine::default()
    };
    let events =
        [started(machine, BEGAN_UNIX_NS), sample(0, SINCE_BOOT), sample(1, ONE_SECOND), ended(Some(2))];
    let mut text = String::from(
        "# Two samples of a machine that never was, and iostat's text for them. ␛ is the escape, → the tab.\n",
    );
    for command in COMMANDS {
        let told = told(command, &events).replace('\x1b', "␛").replace('\t', "→");
        let _ = write!(text, "\n$ {command}\n");
        told.lines().for_each(|line| _ = writeln!(text, "|{line}"));
    }
    golden("golden/iostat/texts.txt", &text)
}
