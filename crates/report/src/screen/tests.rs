//! The screen of a stored run: its figures stand where they belong, and the terminal is given back.

use iodyno_model::{
    CpuShares, DeviceActivity, Histogram, Live, LiveJob, PerDirection, PhaseRecord, Plan, Record, RunStart,
};

use super::*;
use crate::NoFiles;

fn live(second: u64, jobs: usize) -> Event {
    let job = |index: usize| {
        let mut read = Histogram::default();
        (0..second * 1000).for_each(|count| read.add(if count % 50 == 0 { 2_000_000 } else { 100_000 }));
        LiveJob {
            name: format!("reader-{index}"),
            operations: second * 1000,
            reads: (second * 1000, 0),
            read_bytes: second << 20,
            running: 2,
            latency: PerDirection { read, ..PerDirection::default() },
            ..LiveJob::default()
        }
    };
    Event::Live(Box::new(Live {
        elapsed_ns: second * 1_000_000_000,
        left_ns: Some(5_000_000_000),
        jobs: (0..jobs).map(job).collect(),
        ..Live::default()
    }))
}

fn draw(jobs: usize, rows: u16) -> (Screen, Vec<u8>) {
    let mut screen = Screen::new(Box::new(move || (140, rows)));
    let started = RunStart {
        plan: Plan { name: "nightly.fio".into(), ..Plan::default() },
        targets: Vec::new(),
        machine: Default::default(),
        at_unix_ns: 0,
        world: Default::default(),
    };
    let begin = Event::PhaseStarted {
        index: 0,
        count: 2,
        name: "group 0".into(),
        repetition: 0,
        coordinates: Vec::new(),
    };
    let events = [Event::Started(Box::new(started)), begin, live(1, jobs), live(2, jobs)];
    let mut err = Vec::new();
    let mut output = Output { out: &mut io::sink(), err: &mut err, files: &mut NoFiles };
    events.iter().for_each(|event| screen.event(event, &mut output).unwrap());
    (screen, err)
}

fn text(screen: &Screen, rows: u16) -> String {
    let area = Rect::new(0, 0, 140, rows);
    let mut buffer = Buffer::empty(area);
    screen.render(area, &mut buffer);
    let row = |row| (0..140).map(|column| buffer[(column, row)].symbol().to_string()).collect::<String>();
    (0..rows).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn rates_and_percentiles_of_the_last_interval_stand_in_each_jobs_line() {
    let (screen, _) = draw(2, 30);
    let text = text(&screen, 30);
    assert!(text.contains("nightly.fio · group 0 (1 of 2)") && text.contains("left"), "{text}");
    let line = text.lines().find(|line| line.contains("reader-1")).unwrap();
    for figure in [number::mib((1 << 20) as f64), number::iops(1000.0)] {
        assert!(line.contains(&figure), "{figure}: {line}");
    }
    let figures = screen.history.jobs()[1].last();
    assert!((99_000..101_000).contains(&figures.p50_ns) && figures.p99_ns > 1_900_000, "{figures:?}");
    assert_eq!(screen.history.all()[1].read_bytes_per_second, (2 << 20) as f64);
    assert!(text.contains("bandwidth") && text.contains("latency") && text.contains('█'), "{text}");
}

#[test]
fn what_does_not_fit_is_counted() {
    let (screen, _) = draw(40, 20);
    let text = text(&screen, 20);
    assert!(text.contains("more") && !text.contains("reader-39"), "{text}");
}

#[test]
fn the_terminal_is_given_back() {
    let (mut screen, err) = draw(1, 12);
    assert!(err.starts_with(paint::OPEN));
    let mut rest = Vec::new();
    let mut output = Output { out: &mut io::sink(), err: &mut rest, files: &mut NoFiles };
    screen.event(&Event::PhaseEnded(Box::<PhaseRecord>::default()), &mut output).unwrap();
    screen.event(&Event::Ended(Box::<Record>::default()), &mut output).unwrap();
    assert_eq!(rest, paint::CLOSE);
}

#[test]
fn what_the_witnesses_see_stands_below() {
    let (mut screen, _) = draw(2, 30);
    let did = DeviceActivity {
        device: "nvme0n1".into(),
        reads: 500,
        read_bytes: 100 << 20,
        read_ns: 1_000_000_000,
        busy_ns: 400_000_000,
        weighted_ns: 1_000_000_000,
        interval_ns: 1_000_000_000,
        ..DeviceActivity::default()
    };
    let cpu = CpuShares { user_percent: 12.0, steal_percent: 3.0, ..CpuShares::default() };
    let sample = Sample { devices: vec![did], cpu: Some(cpu), ..Sample::default() };
    let mut output = Output { out: &mut io::sink(), err: &mut io::sink(), files: &mut NoFiles };
    screen.event(&Event::Watched(Box::new(sample)), &mut output).unwrap();
    let text = text(&screen, 30);
    let line = text.lines().find(|line| line.contains("nvme0n1")).unwrap();
    for figure in ["100", "500", "40 %", "1.0"] {
        assert!(line.contains(figure), "{figure}: {line}");
    }
    assert!(text.contains("user 12 %") && text.contains("steal 3 %") && text.contains("reader-1"), "{text}");
}
