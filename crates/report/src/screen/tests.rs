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

fn draw(jobs: usize, (columns, rows): (u16, u16)) -> (Screen, Vec<u8>) {
    let mut screen = Screen::new(Box::new(move || (columns, rows)), Paint::PLAIN, None);
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

fn text(screen: &Screen) -> String {
    screen.canvas().rows().join("\n")
}

#[test]
fn rates_and_percentiles_of_the_last_interval_stand_in_each_jobs_line() {
    let (screen, _) = draw(2, (140, 30));
    let text = text(&screen);
    assert!(text.contains("nightly.fio · group 0 (1 of 2)") && text.contains("left"), "{text}");
    let line = text.lines().find(|line| line.contains("reader-1")).unwrap();
    for figure in [number::mb((1 << 20) as f64), number::iops(1000.0)] {
        assert!(line.contains(&figure), "{figure}: {line}");
    }
    let figures = screen.history.jobs()[1].last();
    assert!((99_000..101_000).contains(&figures.p50_ns) && figures.p99_ns > 1_900_000, "{figures:?}");
    assert_eq!(screen.history.all()[1].read_bytes_per_second, (2 << 20) as f64);
    assert!(text.contains("bandwidth") && text.contains("latency") && text.contains('█'), "{text}");
}

#[test]
fn what_does_not_fit_is_counted() {
    let (screen, _) = draw(40, (140, 20));
    let text = text(&screen);
    assert!(text.contains("more") && !text.contains("reader-39"), "{text}");
}

#[test]
fn the_terminal_is_given_back() {
    let (mut screen, err) = draw(1, (80, 12));
    assert!(err.starts_with(canvas::OPEN));
    let mut rest = Vec::new();
    let mut output = Output { out: &mut io::sink(), err: &mut rest, files: &mut NoFiles };
    screen.event(&Event::PhaseEnded(Box::<PhaseRecord>::default()), &mut output).unwrap();
    screen.event(&Event::Ended(Box::<Record>::default()), &mut output).unwrap();
    assert_eq!(rest, canvas::CLOSE);
}

#[test]
fn what_the_witnesses_see_stands_below() {
    let (mut screen, _) = draw(2, (140, 30));
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
    let text = text(&screen);
    let line = text.lines().find(|line| line.contains("nvme0n1")).unwrap();
    for figure in ["105", "500", "40 %", "1.0"] {
        assert!(line.contains(figure), "{figure}: {line}");
    }
    assert!(text.contains("user 12 %") && text.contains("steal 3 %") && text.contains("reader-1"), "{text}");
}

#[test]
fn a_narrow_screen_keeps_whole_columns() {
    for (columns, kept, dropped) in
        [(60, "p99", "errors"), (80, "max", "over time"), (140, "over time", "nothing")]
    {
        let (screen, _) = draw(2, (columns, 24));
        let text = text(&screen);
        let headings = text.lines().find(|line| line.starts_with("job ")).unwrap();
        assert!(headings.contains(kept) && !headings.contains(dropped), "{columns}: {text}");
        assert!(text.lines().all(|line| line.chars().count() == usize::from(columns)), "{columns}: {text}");
    }
}

#[test]
fn the_time_left_is_that_of_the_whole_run() {
    let mut job = iodyno_model::Job::new(
        "a",
        "null",
        vec![],
        iodyno_model::Workload::Pattern(Box::new(iodyno_model::Pattern::of(
            iodyno_model::Verb::Read,
            iodyno_model::Pick::Uniform,
            4096,
        ))),
    );
    job.limit.time_ns = Some(100_000_000_000);
    let phase = iodyno_model::Phase { jobs: vec![job], ..Default::default() };
    let (mut screen, _) = draw(1, (80, 24));
    screen.time = TimeLeft::of(&Plan { phases: vec![phase.clone(), phase], ..Plan::default() });
    let mut output = Output { out: &mut io::sink(), err: &mut io::sink(), files: &mut NoFiles };
    screen.event(&live(3, 1), &mut output).unwrap();
    assert!(text(&screen).contains("1 min 45 s left"), "{}", text(&screen));
}

/// A report of as many lines as events came.
struct Lines(usize);

impl GrowingReport for Lines {
    fn event(&mut self, _event: &Event) {
        self.0 += 1;
    }

    fn text(&self, paint: Paint, _rows: usize) -> String {
        format!("{}\n", paint.heading("a line")).repeat(self.0)
    }
}

#[test]
fn a_report_that_fills_in_is_drawn_with_what_runs_now() {
    let paint = Paint { colour: true, ..Paint::PLAIN };
    let mut screen = Screen::new(Box::new(|| (80, 24)), paint, Some(Box::new(Lines(0))));
    let mut err = Vec::new();
    let mut output = Output { out: &mut io::sink(), err: &mut err, files: &mut NoFiles };
    [live(1, 1), live(2, 1)].iter().for_each(|event| screen.event(event, &mut output).unwrap());
    let text = text(&screen);
    assert!(text.contains("now 1.05 MB/s · 1,000 IOPS") && text.matches("a line").count() == 2, "{text}");
    assert!(String::from_utf8(err).unwrap().contains("\x1b[0;1ma line"));
}
