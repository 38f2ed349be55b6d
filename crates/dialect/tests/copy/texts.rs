//! Events of runs that never were, and the exact text that dd and hdparm make of them.

use std::fmt::Write as _;

use iodyno_dialect::Request;
use iodyno_model::{
    Diagnostic, ErrorCount, Event, JobRecord, Line, Live, LiveJob, Machine, Origin, PhaseRecord, Plan,
    Record, RunStart, Verb,
};
use iodyno_report::Output;

use super::{golden, request};

/// Reads: all, short, failed; writes: all, bytes.
#[derive(Clone, Copy, Default)]
struct Copied {
    reads: (u64, u64, u64),
    writes: u64,
    bytes: u64,
    elapsed_ns: u64,
}

fn started() -> Event {
    let (plan, machine) = (Plan::default(), Machine::default());
    Event::Started(Box::new(RunStart {
        plan,
        targets: Vec::new(),
        machine,
        at_unix_ns: 0,
        world: Default::default(),
    }))
}

fn live(copied: Copied, asked: bool) -> Event {
    let job = LiveJob {
        reads: (copied.reads.0, copied.reads.1),
        writes: (copied.writes, 0),
        write_bytes: copied.bytes,
        ..LiveJob::default()
    };
    Event::Live(Box::new(Live { elapsed_ns: copied.elapsed_ns, jobs: vec![job], asked, ..Live::default() }))
}

fn phase(index: usize, copied: Copied, errors: Vec<ErrorCount>) -> PhaseRecord {
    let (operations, short, failed) = copied.reads;
    let read = Line { operations, short, failed, ..Line::empty("read", Verb::Read) };
    let write = Line { operations: copied.writes, bytes: copied.bytes, ..Line::empty("write", Verb::Write) };
    let mut job = JobRecord::default();
    job.tally.lines = vec![read, write];
    job.tally.errors = errors;
    PhaseRecord { index, elapsed_ns: copied.elapsed_ns, jobs: vec![job], ..PhaseRecord::default() }
}

fn ended(copied: Copied, errors: Vec<ErrorCount>, stopped_by: Option<i32>) -> Event {
    let phases = vec![phase(0, copied, errors)];
    Event::Ended(Box::new(Record { phases, stopped_by, ..Record::default() }))
}

fn failed(verb: Verb, errno: i32) -> Vec<ErrorCount> {
    vec![ErrorCount { verb, errno, count: 1, first_offset: 0, first_target: 1 }]
}

/// The text of a command line and its events, streams marked and control characters visible.
fn told(command: &str, what: &str, events: &[Event]) -> String {
    let Request::Run(mut run) = request(command) else { panic!("{command}: not run") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for event in events {
        run.reporter
            .event(event, &mut Output { out: &mut out, err: &mut err, files: &mut iodyno_report::NoFiles })
            .unwrap();
    }
    let mut text = format!("$ {command}   # {what}\n");
    for (name, bytes) in [("out", out), ("err", err)] {
        let bytes = String::from_utf8(bytes).unwrap().replace('\r', "␍");
        bytes.split_inclusive('\n').for_each(|line| _ = writeln!(text, "{name}|{}", line.replace('\n', "␊")));
    }
    text + "\n"
}

#[test]
fn golden_texts_of_dd() {
    let whole = Copied { reads: (64, 0, 0), writes: 64, bytes: 64 << 20, elapsed_ns: 318_508_000 };
    let line = "dd if=/dev/zero of=F bs=1M count=64";
    let mut text = String::from(
        "# Events of a copy, and GNU dd's text for them; ␊ and ␍ stand for the control characters.\n\n",
    );
    let mut case = |command: &str, what: &str, events: &[Event]| text += &told(command, what, events);
    case(line, "all went well", &[started(), live(whole, false), ended(whole, vec![], None)]);
    case(&format!("{line} status=noxfer"), "no transfer line", &[ended(whole, vec![], None)]);
    case(&format!("{line} status=none"), "nothing", &[live(whole, true), ended(whole, vec![], None)]);
    case(
        line,
        "nothing was copied",
        &[ended(Copied { elapsed_ns: 24_532, ..Copied::default() }, vec![], None)],
    );
    let at = |seconds: u64, bytes| Copied {
        bytes,
        writes: seconds,
        elapsed_ns: seconds * 1_000_000_000 + 7,
        ..whole
    };
    let progress =
        [live(at(1, 99_999_999_999), false), live(at(2, 200_000_000_000), false), ended(whole, vec![], None)];
    case(&format!("{line} status=progress"), "two seconds, a shorter line, the end", &progress);
    let asked = [
        live(at(1, 1 << 30), false),
        live(at(1, 1 << 30), true),
        live(at(2, 1 << 31), false),
        ended(whole, vec![], Some(2)),
    ];
    case(&format!("{line} status=progress"), "SIGUSR1 between, SIGINT at the end", &asked);
    text += &troubles(line);
    golden("golden/dd/texts.txt", &text);
}

/// Copies that were not whole, or not at all.
fn troubles(line: &str) -> String {
    let mut text = String::new();
    let mut case = |command: &str, what: &str, events: &[Event]| text += &told(command, what, events);
    let whole = Copied { reads: (64, 0, 0), writes: 64, bytes: 64 << 20, elapsed_ns: 318_508_000 };
    case(line, "SIGTERM", &[ended(whole, vec![], Some(15))]);
    let short = Copied { reads: (3, 1, 0), writes: 3, bytes: 5, elapsed_ns: 50_000 };
    case("dd if=in.img of=F bs=2", "a short block at the end", &[ended(short, vec![], None)]);
    let gathered = Copied { reads: (3, 1, 0), writes: 2, ..short };
    case("dd if=in.img of=F ibs=2 obs=3", "gathered", &[ended(gathered, vec![], None)]);
    let padded = Copied { writes: 3, bytes: 6, ..short };
    case("dd if=in.img of=F bs=2 conv=sync", "padded", &[ended(padded, vec![], None)]);
    let skipped = Copied { reads: (2, 0, 1), writes: 3, bytes: 12, ..short };
    let bad = failed(Verb::Read, 5);
    case("dd if=in.img of=F bs=4 conv=noerror,sync", "a bad block, skipped", &[ended(skipped, bad, None)]);
    let full = Copied { reads: (4, 0, 0), writes: 3, bytes: 1 << 20, elapsed_ns: 877_843 };
    case("dd if=/dev/zero of=F bs=300k", "disk full", &[ended(full, failed(Verb::Write, 28), None)]);
    case(
        "dd if=/dev/zero of=F ibs=300k obs=300k",
        "disk full, gathered",
        &[ended(full, failed(Verb::Write, 28), None)],
    );
    case(
        "dd if=in.img of=/dev/null conv=fsync",
        "nothing to sync",
        &[ended(short, failed(Verb::Fsync, 22), None)],
    );
    case("dd if=in.img of=F", "may not be opened", &[ended(short, failed(Verb::Open, 13), None)]);
    let refusal = |message: &str, hint: Option<&str>| {
        let mut wrong = Diagnostic::error(&Origin::argument("of=a'b"), message);
        wrong.hint = hint.map(Into::into);
        Event::Ended(Box::new(Record { errors: vec![wrong], ..Record::default() }))
    };
    case(
        "dd if=in.img of=a'b",
        "the engine could not open",
        &[refusal("cannot open a'b: Permission denied", None)],
    );
    case(
        "dd if=in.img of=/dev/sdz",
        "a safety refusal",
        &[refusal("/dev/sdz is mounted on /srv", Some("unmount it first"))],
    );
    case(
        "dd if=tiny of=F bs=1 skip=9",
        "skipped beyond the end",
        &[started(), ended(Copied::default(), vec![], None)],
    );
    case("dd if=tiny of=F oflag=append count=0x10", "warnings first", &[started()]);
    text
}

#[test]
fn golden_texts_of_hdparm() {
    let mut text = String::from("# Events of timings, and hdparm's text for them.\n\n");
    let begun = |index| Event::PhaseStarted {
        index,
        count: 3,
        name: String::new(),
        repetition: 0,
        coordinates: vec![],
    };
    let timed = |index, mib: u64, elapsed_ns, errors| {
        Event::PhaseEnded(Box::new(phase(
            index,
            Copied { bytes: mib << 20, elapsed_ns, ..Copied::default() },
            errors,
        )))
    };
    let both = [
        begun(0),
        timed(0, 2, 1_000_000, vec![]),
        begun(1),
        timed(1, 15_080, 1_996_600_000, vec![]),
        begun(2),
        timed(2, 374, 3_010_000_000, vec![]),
    ];
    text += &told("hdparm -tT /dev/sdz", "both", &both);
    text += &told("hdparm -T --direct /dev/sdz", "the cached one alone, direct", &both[..4]);
    let one = [begun(0), timed(0, 2, 9_000_000_000, vec![]), begun(1), timed(1, 10, 3_500_000_000, vec![])];
    text += &told("hdparm -t /dev/sdz /dev/sdy", "two devices, one of them slow", &one);
    text += &told("hdparm -t --offset 3 --direct /dev/sdz", "from an offset", &one[..2]);
    text += &told("hdparm -t /dev/sdz", "a bad sector", &[begun(0), timed(0, 2, 1, failed(Verb::Read, 5))]);
    golden("golden/hdparm/texts.txt", &text);
}
