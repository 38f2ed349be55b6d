//! What a command line comes to: the load, the clients, how they are served, for how long.
//!
//! The load file is read here, so that what is wrong in it is told with its line before anything is touched.

use iodyno_model::{Diagnostic, Origin, TraceFacts};
use iodyno_trace::requests::{LoadRequestKind, RequestList};

use super::command::DbenchLine;
use crate::{Loader, PathKind};

/// Processes at most.
const PROCESSES_MOST: u32 = 10_000;
/// Lines that are left out and told, each by itself.
const NOTES_MOST: usize = 10;

/// Everything that a run depends on.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub directory: String,
    pub load: String,
    pub load_facts: TraceFacts,
    pub time_s: u64,
    pub warmup_s: u64,
    pub processes: u32,
    /// Clients of each process.
    pub clients: u32,
    /// Bytes per second of each client.
    pub rate: Option<u64>,
    pub sync_open: bool,
    pub sync_directories: bool,
    pub each_client: bool,
    /// The load's end ends a client.
    pub once: bool,
    /// Settings of the engine that serves the clients, by name.
    pub service: Vec<(&'static str, &'static str)>,
    /// What has no effect, and what is left out of the load.
    pub notes: Vec<Diagnostic>,
}

impl Settings {
    pub fn all_clients(&self) -> u64 {
        u64::from(self.processes) * u64::from(self.clients)
    }
}

/// Makes settings of a command line.
///
/// # Errors
/// Everything that is wrong.
pub fn judge(line: &DbenchLine, loader: &mut dyn Loader) -> Result<Settings, Vec<Diagnostic>> {
    let mut judge = LineJudge { line, wrong: Vec::new() };
    let options = &line.options;
    let processes = judge.processes();
    let time_s = judge.number("timelimit", 1, 100_000_000);
    let clients = judge.number("clients-per-process", 1, u64::from(PROCESSES_MOST)) as u32;
    let warmup_s = match options.is_given("warmup") {
        true => judge.number("warmup", 0, 100_000_000),
        // A pass is measured from its beginning.
        false if options.flag("run-once") => 0,
        false => time_s / 5,
    };
    let directory = judge.directory(loader);
    let (load_facts, mut notes) = judge.load(loader);
    if options.flag("per-client-results") && clients > 1 {
        let hint = "as many processes of one client each";
        judge.refuse("per-client-results", "the clients of one process are counted together", hint);
    }
    notes.extend(options.without_effect());
    if let Some(server) = line.operands.get(1) {
        let message = "no server is spoken to: it has no effect, as in the original";
        notes.push(Diagnostic::note(&Origin::argument(server), message));
    }
    let rate = options.decimal("target-rate");
    let settings = Settings {
        directory,
        load: options.text("loadfile").unwrap_or_default().into(),
        load_facts,
        time_s,
        warmup_s,
        processes,
        clients,
        rate: (rate > 0.0).then_some(((rate * 1e6) as u64).max(1)),
        sync_open: options.flag("sync"),
        sync_directories: options.flag("sync-dir"),
        each_client: options.flag("per-client-results"),
        once: options.flag("run-once"),
        service: service(line),
        notes,
    };
    if judge.wrong.is_empty() { Ok(settings) } else { Err(judge.wrong) }
}

/// What the options say to the engine.
fn service(line: &DbenchLine) -> Vec<(&'static str, &'static str)> {
    const SETTINGS: &[(&str, &str, &str)] = &[
        ("no-resolve", "resolve", "off"),
        ("sync", "sync_open", "on"),
        ("sync-dir", "sync_directories", "on"),
        ("fsync", "fsync_writes", "on"),
        ("xattr", "attributes", "on"),
        ("stat-check", "look_first", "on"),
        ("fake-io", "pretend", "on"),
        ("one-byte-write-fix", "spare_bytes", "on"),
        ("skip-cleanup", "keep_trees", "on"),
    ];
    let given = SETTINGS.iter().filter(|(option, ..)| line.options.flag(option));
    given.map(|(_, name, value)| (*name, *value)).collect()
}

struct LineJudge<'a> {
    line: &'a DbenchLine,
    wrong: Vec<Diagnostic>,
}

impl LineJudge<'_> {
    fn refuse(&mut self, option: &str, message: impl Into<String>, hint: &str) {
        let origin = match self.line.options.origin(option) {
            Origin::Default => Origin::argument(&format!("--{option}")),
            origin => origin,
        };
        self.wrong.push(Diagnostic::error(&origin, message.into()).hint(hint));
    }

    fn number(&mut self, option: &str, least: u64, most: u64) -> u64 {
        let number = self.line.options.number(option);
        match u64::try_from(number).ok().filter(|number| (least..=most).contains(number)) {
            Some(number) => number,
            None => {
                self.refuse(option, format!("{number}: expected {least} to {most}"), "iodyno dbench --help");
                least
            }
        }
    }

    fn processes(&mut self) -> u32 {
        let Some(text) = self.line.operands.first() else {
            let message = "it is not said how many processes there are";
            let hint = "name the number last: dbench -t 60 10";
            self.wrong.push(Diagnostic::error(&Origin::argument("NPROCS"), message).hint(hint));
            return 1;
        };
        match text.parse() {
            Ok(count @ 1..=PROCESSES_MOST) => count,
            _ => {
                let message =
                    format!("`{text}`: expected how many processes there are, 1 to {PROCESSES_MOST}");
                self.wrong.push(Diagnostic::error(&Origin::argument(text), message).hint("dbench -t 60 10"));
                1
            }
        }
    }

    fn directory(&mut self, loader: &dyn Loader) -> String {
        let path = self.line.options.text("directory").unwrap_or(".");
        let is_there = loader.look(path).is_some_and(|facts| facts.kind == PathKind::Directory);
        if !is_there {
            self.refuse("directory", format!("{path} is no directory"), "make it first: mkdir -p");
        }
        if path.contains('{') {
            self.refuse("directory", "a name with a brace", "a link to it, of another name");
        }
        match path.trim_end_matches('/') {
            "" => "/".into(),
            trimmed => trimmed.into(),
        }
    }

    /// What the load holds, and what of it is left out.
    fn load(&mut self, loader: &mut dyn Loader) -> (TraceFacts, Vec<Diagnostic>) {
        let path = self.line.options.text("loadfile").unwrap_or_default().to_string();
        let list = match loader.read(&path) {
            Ok(bytes) => RequestList::read(&bytes),
            Err(why) => {
                let hint = "-c FILE names a load file; the package dbench of Debian has one";
                self.refuse("loadfile", format!("{path}: {why}"), hint);
                return (TraceFacts::default(), Vec::new());
            }
        };
        match list {
            Ok(list) => (facts(&list), notes(&list, &path)),
            Err(no_load) => {
                let hint = "a line of a load file: Close 7 NT_STATUS_OK";
                match no_load.line {
                    Some(line) => {
                        let origin = Origin::File { path: path.into(), line };
                        self.wrong.push(Diagnostic::error(&origin, no_load.why).hint(hint));
                    }
                    None => self.refuse("loadfile", format!("{path}: {}", no_load.why), hint),
                }
                (TraceFacts::default(), Vec::new())
            }
        }
    }
}

fn facts(list: &RequestList) -> TraceFacts {
    let requests = || list.requests.iter();
    let has = |kind: &&LoadRequestKind| requests().any(|request| request.kind == **kind);
    let mut verbs = Vec::new();
    for kind in LoadRequestKind::ALL.iter().filter(has) {
        if !verbs.contains(&kind.verb()) {
            verbs.push(kind.verb());
        }
    }
    let moving = requests().filter(|request| request.kind.verb().moves_data());
    TraceFacts {
        source: "dbench".into(),
        records: list.requests.len() as u64,
        verbs,
        largest_bytes: list.largest_bytes.into(),
        moved_bytes: moving.map(|request| u64::from(request.bytes)).sum(),
        threads: 1,
        ..TraceFacts::default()
    }
}

fn notes(list: &RequestList, path: &str) -> Vec<Diagnostic> {
    let note = |line: u32, why: String| {
        Diagnostic::warning(&Origin::File { path: path.into(), line }, format!("{why}; left out"))
    };
    let told = list.left_out.iter().take(NOTES_MOST).map(|left| note(left.line, left.why.clone()));
    let mut notes: Vec<Diagnostic> = told.collect();
    if let Some(next) = list.left_out.get(NOTES_MOST) {
        let more = list.left_out.len() - NOTES_MOST;
        notes.push(note(next.line, format!("{more} more lines from here on are no requests that are known")));
    }
    notes
}
