//! The reports of stored events, and the rules by which other programs read them.
//!
//! `golden/ior/report/NAME.txt` is what a run of known figures is written as; `IODYNO_BLESS=1` rewrites it. The rules are
//! those of ReFrame checks, Ramble and PerfKitBenchmarker, in our own words.

use std::path::PathBuf;

use iodyno_dialect::ior::command::parse;
use iodyno_dialect::ior::{lower, report};
use iodyno_model::{
    CacheShare, ErrorCount, Event, Histogram, JobRecord, JournalEntry, JournalPart, Line, PhaseRecord,
    Record, RunStart, Tally, TargetFacts, Verb, WearOut, WorkerRecord, WorldFacts,
};
use iodyno_report::{FilesInMemory, Output};

use super::world::World;

/// What a run was written as.
struct Written {
    out: String,
    err: String,
    files: FilesInMemory,
}

/// The figures of one phase.
#[derive(Clone, Copy)]
struct Figures {
    /// Transfers of each task.
    transfers: u64,
    /// How long each takes, ns.
    latency_ns: u64,
    /// Transfers whose bytes are wrong.
    wrong: u64,
    worn: bool,
}

const PLAIN: Figures = Figures { transfers: 4, latency_ns: 2_500_000, wrong: 0, worn: false };

fn worker(index: u32, transfer: u64, figures: Figures) -> WorkerRecord {
    let late = u64::from(index) * 1_000_000;
    let ended = 10_000_000 + late + figures.transfers * figures.latency_ns;
    WorkerRecord {
        index,
        rank: index,
        operations: figures.transfers,
        bytes: figures.transfers * transfer,
        began_ns: 10_000_000 + late,
        ended_ns: ended,
        opening: Some((1_000_000 + late, 10_000_000 + late)),
        closing: Some((ended, ended + 500_000)),
        ..WorkerRecord::default()
    }
}

fn phase(index: usize, verb: Verb, tasks: u32, transfer: u64, figures: Figures) -> PhaseRecord {
    let mut latency = Histogram::default();
    (0..figures.transfers * u64::from(tasks)).for_each(|_| latency.add(figures.latency_ns));
    let all = figures.transfers * u64::from(tasks) - figures.wrong;
    let line = Line {
        operations: all,
        bytes: all * transfer,
        latency,
        failed: figures.wrong,
        ..Line::empty(verb.name(), verb)
    };
    let errors = match figures.wrong {
        0 => Vec::new(),
        count => vec![ErrorCount { verb, errno: -1011, count, first_offset: 0, first_target: 0 }],
    };
    let worn = WearOut {
        at_ns: 1_010_000_000,
        operations_least: 3,
        operations_most: 4,
        bytes_least: 3 * transfer,
        bytes: 7 * transfer,
        ..WearOut::default()
    };
    let job = JobRecord {
        tally: Tally { lines: vec![line], errors, ..Tally::default() },
        workers: (0..tasks).map(|task| worker(task, transfer, figures)).collect(),
        began_unix_ns: 1_700_000_001_000_000_000,
        worn: figures.worn.then_some(worn),
        ..JobRecord::default()
    };
    let cache = (verb == Verb::Read).then(|| CacheShare {
        read_bytes: all * transfer,
        cached_bytes: Some(all * transfer / 2),
        because: "the device read the rest".into(),
    });
    PhaseRecord { index, elapsed_ns: 20_000_000, jobs: vec![job], cache, ..PhaseRecord::default() }
}

/// The report of a command line whose phases all have the same figures.
fn written(line: &str, also: &str, figures: Figures) -> Written {
    let arguments: Vec<String> = line.split_whitespace().map(String::from).collect();
    let world = &mut World::of(also);
    let lowered =
        lower(&parse(&arguments).unwrap(), &arguments, world).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let (plan, view) = (lowered.plan, lowered.view);
    let (tests, parts) = (view.tests.clone(), view.parts.clone());
    let mut reporter = report::reporter(view);
    let mut events = vec![Event::Started(Box::new(started(&plan)))];
    let mut phases = Vec::new();
    for (index, asked) in plan.phases.iter().enumerate() {
        let (name, count) = (asked.name.clone(), plan.phases.len());
        let repetition = asked.repetition;
        events.push(Event::PhaseStarted { index, count, name, repetition, coordinates: Vec::new() });
        let test = &tests[parts[index].test];
        let verb = match asked.name.split(' ').next() {
            Some("write" | "prefill") => Verb::Write,
            Some("remove") => Verb::Unlink,
            _ => Verb::Read,
        };
        let figures = Figures { worn: figures.worn && verb == Verb::Write, ..figures };
        let figures = if verb == Verb::Read { figures } else { Figures { wrong: 0, ..figures } };
        let ended = phase(index, verb, test.tasks, test.transfer, figures);
        events.push(Event::Journal(Box::new(journal(index, test.transfer))));
        events.push(Event::PhaseEnded(Box::new(ended.clone())));
        phases.push(ended);
    }
    events.push(Event::Ended(Box::new(Record { phases, ..Record::default() })));
    let (mut out, mut err, mut files) = (Vec::new(), Vec::new(), FilesInMemory::default());
    for event in &events {
        let mut output = Output { out: &mut out, err: &mut err, files: &mut files };
        reporter.event(event, &mut output).unwrap();
    }
    Written { out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap(), files }
}

fn started(plan: &iodyno_model::Plan) -> RunStart {
    let facts = TargetFacts {
        target: plan.targets[0].name.clone(),
        size_bytes: Some(25_339_000_000),
        free_bytes: Some(25_200_000_000),
        inodes: Some(3_040_870),
        inodes_free: Some(3_040_000),
        ..TargetFacts::default()
    };
    let machine =
        iodyno_model::Machine { host: "vm".into(), kernel: "Linux 6.18.44".into(), ..Default::default() };
    RunStart {
        plan: plan.clone(),
        targets: vec![facts],
        machine,
        at_unix_ns: 1_700_000_000_000_000_000,
        world: WorldFacts::alone("vm"),
    }
}

fn journal(phase: usize, bytes: u64) -> JournalPart {
    let done = |at_ns| JournalEntry::Done {
        at_ns,
        verb: Verb::Write,
        file: 0,
        offset: 0,
        bytes,
        submission_ns: 0,
        completion_ns: 2_500_000,
        latency_ns: 2_500_000,
        priority: 0,
    };
    let entries = vec![done(12_500_000), done(15_000_000)];
    JournalPart { phase, worker: 0, began_ns: 10_000_000, entries, ..JournalPart::default() }
}

fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../golden/ior/report/{name}.txt"));
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, wanted, "{name}: differs from its golden file; IODYNO_BLESS=1 rewrites it");
}

fn told(written: &Written) -> String {
    let files =
        written.files.0.iter().map(|(name, bytes)| format!("--- {name}\n{}", String::from_utf8_lossy(bytes)));
    format!("{}--- standard error\n{}{}", written.out, written.err, files.collect::<String>())
}

#[test]
fn golden_texts_of_known_figures() {
    let block = "-N 2 -t 256k -b 1m";
    for (name, line, also, figures) in [
        ("plain", format!("{block} -i 2"), "", PLAIN),
        ("verbose", format!("{block} -vvv -C -G 7 -A 3"), "", PLAIN),
        ("version-3", format!("{block} -F"), "# also: text 3\n", PLAIN),
        ("worn", format!("{block} -D 1 -O stoneWallingWearOut=1 -w -k"), "", Figures { worn: true, ..PLAIN }),
        (
            "status-file",
            format!("{block} -D 1 -O stoneWallingWearOut=1,stoneWallingStatusFile=s -w -k"),
            "",
            Figures { worn: true, ..PLAIN },
        ),
        ("wrong", format!("{block} -r -R -k -G 7"), "", Figures { wrong: 3, ..PLAIN }),
        ("short", format!("{block} -r -k -W -w"), "", Figures { transfers: 3, ..PLAIN }),
        (
            "json",
            format!("{block} -v -O summaryFormat=JSON,summaryFile=out.json -D 5"),
            "",
            Figures { transfers: 3, ..PLAIN },
        ),
        ("csv", format!("{block} -O summaryFormat=csv"), "", PLAIN),
        (
            "beside",
            format!("{block} -O saveRankPerformanceDetailsCSV=ranks.csv -O savePerOpDataCSV=op"),
            "",
            PLAIN,
        ),
        ("fast", format!("{block} -w"), "", Figures { latency_ns: 10_000, ..PLAIN }),
    ] {
        golden(name, &told(&written(&line, also, figures)));
    }
}

#[test]
fn json_is_valid_whatever_is_to_be_warned_of() {
    for (line, figures) in [
        ("-N 2 -t 256k -b 1m -O summaryFormat=JSON -D 5", Figures { transfers: 3, ..PLAIN }),
        ("-N 2 -t 256k -b 1m -O summaryFormat=JSON -vvv -r -R -G 2", Figures { wrong: 2, ..PLAIN }),
        ("-N 2 -t 256k -b 1m -O summaryFormat=JSON -j 1 -i 3", PLAIN),
    ] {
        let document: serde_json::Value = serde_json::from_str(&written(line, "", figures).out).unwrap();
        let results = document["tests"][0]["Results"].as_array().unwrap();
        assert!(!results.is_empty() && document["summary"][0]["bwMeanMIB"].as_f64().unwrap() > 0.0, "{line}");
        let warned = figures.wrong > 0 || figures.transfers < 4;
        assert_eq!(warned, !document["tests"][0]["warnings"].as_array().unwrap().is_empty(), "{line}");
    }
}

/// The word behind a label, blanks between.
fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.split(label).nth(1)?.split_whitespace().next()
}

#[test]
fn reframe_checks_find_the_best_of_both_directions() {
    let text = written("-v -w -r -i 4 -F -N 2 -t 256k -b 1m", "", PLAIN).out;
    for label in ["Max Write:", "Max Read:"] {
        assert!(
            after(&text, label).is_some_and(|word| word.parse::<f64>().is_ok_and(|best| best > 0.0)),
            "{text}"
        );
    }
    assert!(text.contains("Finished"));
}

#[test]
fn ramble_finds_rows_of_eleven_and_a_summary_of_twenty_seven() {
    let text = written("-N 2 -t 256k -b 1m", "", PLAIN).out;
    let rows = |columns: usize| {
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        words
            .filter(|words| matches!(words.first(), Some(&("write" | "read"))) && words.len() == columns)
            .count()
    };
    assert_eq!((rows(11), rows(27)), (2, 2), "{text}");
    // Its rule wants a point in bandwidth, rate and latency, which IOR leaves out from 3600 on, and so do we.
    let row = text.lines().find(|line| line.starts_with("write ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().skip(1).take(3).collect();
    assert!(cells.iter().all(|cell| cell.contains('.')), "{row}");
    let fast = written("-N 2 -t 256k -b 1m", "", Figures { latency_ns: 10_000, ..PLAIN }).out;
    let row = fast.lines().find(|line| line.starts_with("write ")).unwrap();
    assert!(!row.split_whitespace().nth(2).unwrap().contains('.'), "{row}");
}

#[test]
fn perfkit_reads_the_summary_by_its_columns() {
    for (also, aggregate) in [("", "aggs(MiB)"), ("# also: text 3\n", "aggsize")] {
        let text = written("-N 2 -t 256k -b 1m -i 2", also, PLAIN).out;
        let part = text.split("Summary of all tests:").nth(1).unwrap().split("Finished").next().unwrap();
        let mut lines = part
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .filter(|line| !line.is_empty());
        let names = lines.next().unwrap();
        for name in
            ["Operation", "Mean(MiB)", "Mean(OPs)", "#Tasks", "segcnt", "blksiz", "xsize", aggregate, "API"]
        {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        let rows: Vec<_> = lines.collect();
        assert!(rows.len() == 2 && rows.iter().all(|row| row.len() == names.len()), "{part}");
        let column = |name: &str| names.iter().position(|known| *known == name).unwrap();
        assert_eq!((rows[0][column("#Tasks")], rows[1][column("API")]), ("2", "POSIX"));
    }
    let text = written("-N 2", "# also: text 3\n", PLAIN).out;
    assert_eq!(after(&text, "ordering in a file = "), Some("sequential"));
}
