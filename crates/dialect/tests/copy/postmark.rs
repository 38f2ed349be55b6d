//! postmark: sessions of commands, the plans that they come to, and the text of runs that never were.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use iodyno_dialect::{DIALECTS, Loader, PathFacts, PathKind, Request};
use iodyno_model::{ErrorCount, Event, JobRecord, Machine, PhaseRecord, Verb};
use iodyno_report::{FilesInMemory, Output};

use super::golden;

/// Commands on standard input, and a file of them.
struct Desk {
    input: String,
    files: BTreeMap<&'static str, &'static str>,
}

impl Desk {
    fn of(input: &str) -> Desk {
        let files = BTreeMap::from([
            ("usual.pm", "set number 2\nset transactions 10\n"),
            ("loop.pm", "load loop.pm\n"),
            ("wrong.pm", "set number 3\n\n# remark\nset numbr 4\nset size 9 1\n!rm -rf x\nrun\n"),
        ]);
        Desk { input: input.replace("; ", "\n"), files }
    }
}

impl Loader for Desk {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.files.get(path).map(|text| text.as_bytes().to_vec()).ok_or("No such file or directory".into())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Ok(self.input.clone().into())
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "PWD").then(|| "/home/me".into())
    }
    fn machine(&self) -> Machine {
        Machine::default()
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        let kind = PathKind::Directory;
        matches!(path, "." | "/a" | "/b").then(|| PathFacts { kind, ..PathFacts::default() })
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
}

fn request(line: &str, input: &str) -> Request {
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "postmark").unwrap();
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    (dialect.lower)(&words, &mut Desk::of(input)).unwrap_or_else(|wrong| panic!("{}", wrong[0]))
}

/// A session: its plan, and its text where creation takes 1.5 s, transactions 12.3 s and deletion 0.2 s; or what is said instead.
fn session(line: &str, input: &str, failure: Option<ErrorCount>) -> String {
    let mut text = format!("$ postmark {line}< {input}\n");
    let mut run = match request(line, input) {
        Request::Run(run) => run,
        Request::Print { out, status } => {
            return format!("{text}status {status}: {}\n\n", out.replace('\n', "␊"));
        }
        Request::Refuse { err, status } => return format!("{text}status {status}:\n{err}\n"),
        Request::Write { files, .. } => {
            files.iter().for_each(|file| {
                _ = writeln!(text, "{}:\n{}", file.path, String::from_utf8_lossy(&file.bytes))
            });
            return text;
        }
        _ => panic!("{line}: neither run nor printed"),
    };
    text += &iodyno_report::plan::print(&run.plan);
    let (mut out, mut err, mut files) = (Vec::new(), Vec::new(), FilesInMemory::default());
    let mut events = vec![Event::Started(Box::default())];
    for (index, phase) in run.plan.phases.iter().enumerate() {
        let elapsed_ns = match phase.name.as_str() {
            "create files" => 1_500_000_000,
            "transactions" => 12_300_000_000,
            _ => 200_000_000,
        };
        let (name, coordinates) = (phase.name.clone(), Vec::new());
        events.push(Event::PhaseStarted { index, count: 0, name: name.clone(), repetition: 0, coordinates });
        let mut job = JobRecord::default();
        let fails = failure.is_some() && name == "transactions";
        job.tally.errors = failure.clone().filter(|_| fails).into_iter().collect();
        let phase = PhaseRecord { name, index, elapsed_ns, jobs: vec![job], ..PhaseRecord::default() };
        events.push(Event::PhaseEnded(Box::new(phase)));
        if fails {
            break;
        }
    }
    events.push(Event::Ended(Box::default()));
    for event in &events {
        run.reporter.event(event, &mut Output { out: &mut out, err: &mut err, files: &mut files }).unwrap();
    }
    let told = [("out", out), ("err", err)].into_iter().map(|(name, bytes)| (name.to_string(), bytes));
    for (name, bytes) in told.chain(files.0) {
        let bytes = String::from_utf8(bytes).unwrap();
        bytes.split_inclusive('\n').for_each(|line| _ = writeln!(text, "{name}|{}", line.replace('\n', "␊")));
    }
    text + "\n"
}

#[test]
fn golden_sessions_of_postmark() {
    let small = "set number 2; set transactions 10; set size 100 9000";
    let failed = |verb, first_offset, first_target| {
        Some(ErrorCount { verb, errno: 28, count: 1, first_offset, first_target })
    };
    let text = [
        "# Sessions of postmark: their plans and texts, or what is said instead; `; ` and ␊ stand for ends of lines.\n\n".into(),
        session("", &format!("{small}; show; run; quit; run"), None),
        session("usual.pm ", "set buffering false; set write 4096; set read 100; set report terse; run; run out; nothing", None),
        session("usual.pm ", "set buffering false; set write 4096; set read 100; set report terse; run; run out", None),
        session("", &format!("{small}; set location /a 2; set location +/b; set subdirectories 3; set bias read -1; run"), None),
        session("", "set number 1; set bias create 0; run", None),
        session("", &format!("{small}; set subdirectories 3; run"), failed(Verb::Open, 8, 2)),
        session("", &format!("{small}; run"), failed(Verb::Write, 4096, 0)),
        session("", "set size 3000000; help set b; ?; show", None),
        session("", "show out; show out", None),
        session("wrong.pm ", "", None),
        session("loop.pm ", "", None),
        session("nowhere.pm ", "", None),
        session("--fast ", "", None),
        session("a b ", "", None),
        session("--version ", "", None),
        session("", "set location /c; run", None),
    ];
    golden("golden/postmark/sessions.txt", &text.concat());
}
