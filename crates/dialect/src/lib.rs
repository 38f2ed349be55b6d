//! The dialects: one folder per tool. Text to plan, events to text; never a disk, a socket or a clock.
//!
//! What a dialect needs from outside it is handed through a [`Loader`]; what it wants done it returns as a [`Job`].
#![forbid(unsafe_code)]

pub mod absolute_path;
mod address;
pub mod advice;
pub mod age;
mod allocation;
pub mod audit;
pub mod bonnie;
mod conversation;
pub mod conversations;
mod dash;
pub mod date;
pub mod dbench;
pub mod dd;
pub mod diskspd;
pub mod dlio;
pub mod elbencho;
pub mod engine_choice;
mod file_system_hints;
pub mod filebench;
pub mod finding_pages;
pub mod fio;
pub mod hdparm;
mod host_ranges;
pub mod hosts;
pub mod import;
pub mod io500;
pub mod iometer;
pub mod ior;
pub mod iostat;
pub mod iozone;
pub mod iperf;
pub mod iperf3;
pub mod json_tree;
pub mod md_workbench;
pub mod mdtest;
pub mod measure;
mod message_log;
pub mod native;
pub mod net;
pub mod netperf;
pub mod option;
pub mod posix;
pub mod postmark;
pub mod quantity;
pub mod replay;
pub mod run_options;
pub mod s3check;
pub mod secrets;
pub mod smallfile;
mod spread;
mod status;
mod strerror;
mod text_file;
pub mod vdbench;
pub mod warp;
pub mod yaml;

pub use dash::dashes;

use iodyno_model::conversation::Conversation;
use iodyno_model::{
    Diagnostic, EngineTrait, Event, Finding, Idleness, Job, Machine, Phase, Plan, Record, TargetFacts,
    WorldFacts,
};
use iodyno_report::paint::Paint;
use iodyno_report::screen::GrowingReport;
use iodyno_report::{Output, Reporter};
use iodyno_trace::import::{ImportOptions, Input, import as open_import};
use iodyno_trace::replay::KnownSurvey;
use iodyno_trace::{RecordSource, TraceError};
use std::io::{self, Read};

/// One of the block traces that are merged.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedTrace {
    pub path: String,
    /// Its times are multiplied by this.
    pub percent: f64,
    pub iterations: u32,
}

/// What a dialect may ask of the world while it parses.
pub trait Loader {
    /// The bytes of a file the user named.
    ///
    /// # Errors
    /// The system's reason, as a lower-case fragment.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String>;
    /// The names in a directory the user named, sorted.
    ///
    /// # Errors
    /// The system's reason, as a lower-case fragment.
    fn list(&mut self, _path: &str) -> Result<Vec<String>, String> {
        Err("directories cannot be listed here".into())
    }
    /// A recorded trace; `format`: the name of its format, or nothing where its content tells.
    ///
    /// # Errors
    /// It cannot be opened, or is none.
    fn trace(&mut self, path: &str, format: &str) -> Result<Box<dyn RecordSource + Send>, TraceError> {
        let bytes = self.read(path).map_err(TraceError::new)?;
        let open =
            move || -> io::Result<Box<dyn Read + Send>> { Ok(Box::new(io::Cursor::new(bytes.clone()))) };
        let input = Input { name: path.into(), open: Box::new(open), is_seekable: true };
        let format = Some(format.to_string()).filter(|format| !format.is_empty());
        Ok(Box::new(open_import(&[input], &ImportOptions { format, ..ImportOptions::default() })?))
    }
    /// Merges binary block traces into a file, which is new or a block trace too.
    ///
    /// # Errors
    /// The reason: what cannot be read, or is no block trace; what may not be written.
    fn merge_blktraces(&mut self, _parts: &[MergedTrace], _to: &str) -> Result<(), String> {
        Err("no file can be written here".into())
    }
    /// All of standard input.
    ///
    /// # Errors
    /// The system's reason.
    fn standard_input(&mut self) -> Result<Vec<u8>, String>;
    /// Whether standard input is a terminal, at which somebody may type.
    fn is_typed_at(&self) -> bool {
        false
    }
    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;
    fn machine(&self) -> Machine;
    /// What a path is and what it lies on; `None`: nothing is there.
    fn look(&self, path: &str) -> Option<PathFacts>;
    /// Looks right below the address of a bucket for names that begin so, as the job's engine reaches it; nothing beyond that
    /// is listed.
    ///
    /// # Errors
    /// The store's reason, as a lower-case fragment.
    fn look_into_store(&mut self, _job: &Job, _url: &str, _start: &str) -> Result<StoreLook, String> {
        Err("stores cannot be asked here".into())
    }
    /// Measures the work by which the idleness of processors is told.
    ///
    /// # Errors
    /// The system's reason.
    fn idle_work(&self) -> Result<Idleness, String> {
        Err("no processors can be measured here".into())
    }
    /// The parallel file system that a path lies on or would lie on: `lustre`, `gpfs`, `beegfs`; none: another one.
    fn parallel_file_system(&self, _path: &str) -> Option<&'static str> {
        None
    }
    /// Wall-clock time, ns since 1970.
    fn now_unix_ns(&self) -> u64;
    /// A name that this process shares with no other of any machine, of letters, digits and hyphens.
    fn process(&self) -> String {
        format!("{:x}", self.now_unix_ns())
    }
    /// The number of this process.
    fn pid(&self) -> u32 {
        0
    }
    /// Whether a server answers there: a transport and an address as a conversation has them.
    fn answers(&self, _transport: &str, _address: &str) -> bool {
        false
    }
    /// A loader of the same world that outlives this one: for what is parsed while a conversation goes on.
    fn detached(&self) -> Option<Box<dyn Loader + Send>> {
        None
    }
    /// Whether the process of such a name is over; `None`: it cannot be told from here.
    fn is_over(&self, _process: &str) -> Option<bool> {
        None
    }
    /// Seconds that local time is east of Greenwich now.
    fn east_s(&self) -> i64 {
        0
    }

    /// What [`ior::test::s3_key_number`] says of the access key that a text stands for.
    fn key_number(&self, _standing: &str) -> u64 {
        0
    }

    /// 32 bytes that nobody can foretell: names that must not meet, padding of what is encrypted.
    ///
    /// # Errors
    /// The system's reason.
    fn entropy(&mut self) -> Result<[u8; 32], String> {
        Err("no chance is to be had here".into())
    }
    /// Whether an engine works on this machine, or why not.
    ///
    /// # Errors
    /// The reason, as a lower-case fragment.
    fn engine_available(&self, _name: &str) -> Result<(), String> {
        Ok(())
    }
    /// What an engine of this name is known for.
    fn engine_traits(&self, name: &str) -> &'static [EngineTrait] {
        EngineTrait::unsaid(name)
    }
    /// The size of a page of memory, bytes.
    fn page_bytes(&self) -> u64 {
        4096
    }
    /// The ranks that will run the plan.
    fn world(&self) -> WorldFacts {
        WorldFacts::alone(&self.machine().host)
    }
    /// Whose data each worker of a job works on, by the workers' numbers over all ranks.
    fn owners(&self, _plan: &Plan, _phase: &Phase, job: &Job) -> Vec<u32> {
        (0..job.workers).collect()
    }
    /// How the report is painted: colour, columns, units of rates.
    fn paint(&self) -> Paint {
        Paint::PLAIN
    }
    /// Whether the report goes to a terminal that takes colour.
    fn colour(&self) -> bool {
        self.paint().colour
    }
    /// What `--also` or `IODYNO_ALSO` says under that word; `""` for a word without a value.
    fn also(&self, _word: &str) -> Option<String> {
        None
    }
    /// Whether more may be said than the original says: it was not called by its name.
    fn talks(&self) -> bool {
        false
    }
    /// Whether standard output and standard error are terminals.
    fn terminals(&self) -> (bool, bool) {
        (false, false)
    }
}

#[derive(Clone, Debug, Default)]
pub struct PathFacts {
    /// What kind of file.
    pub kind: PathKind,
    /// Size in bytes (of a device: its capacity).
    pub bytes: u64,
    /// Whether this user may read it.
    pub readable: bool,
    /// Whether this user may write to it.
    pub writable: bool,
    /// The file system or device beneath.
    pub target: TargetFacts,
}

/// What a look into a bucket told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreLook {
    /// Names right below the address that begin as was asked.
    pub names: Vec<String>,
    /// What is deleted stays stored as a version.
    pub keeps_versions: bool,
}

/// What kind of file a path is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    #[default]
    File,
    Directory,
    BlockDevice,
    CharacterDevice,
    Pipe,
    /// Anything else.
    Other,
}

/// What a dialect wants done.
pub enum Request {
    /// Run a plan and report it.
    Run(Box<Run>),
    /// Only print: help, a version, a plan in words.
    Print {
        /// For standard output.
        out: String,
        /// The exit status.
        status: i32,
    },
    /// Write files, none of which may exist yet, and print.
    Write {
        files: Vec<Written>,
        /// For standard output.
        out: String,
        /// The exit status.
        status: i32,
    },
    /// Talk to peers, and run what was agreed upon with them.
    Converse(Box<Converse>),
    /// Talk to them again and again, and tell what all of that came to.
    Repeat(Box<Repeat>),
    /// Start this program on other hosts by the user's own ssh, and talk to what was started.
    Abroad(Box<Abroad>),
    /// Run the same command on other hosts.
    Hosts(hosts::Elsewhere),
    /// Make system calls and say how each ends.
    Calls(Box<posix::pjdfstest::HelperCalls>),
    /// Answer commands as they are typed.
    Prompt(Box<dyn CommandPrompt>),
    /// Nothing is run: what is wrong, in the tool's own words rather than as diagnostics.
    Refuse {
        /// For standard error.
        err: String,
        /// The exit status.
        status: i32,
    },
}

impl Request {
    /// Nothing is run: diagnostics as they are, for a drop-in whose original words none.
    pub(crate) fn refuse(wrong: &[Diagnostic], status: i32) -> Request {
        Request::Refuse { err: wrong.iter().map(|wrong| format!("{wrong}\n")).collect(), status }
    }
}

/// Who answers commands that are typed at a terminal, one after the other.
pub trait CommandPrompt {
    /// What is done before the first one.
    fn begin(&mut self) -> Request;
    /// What stands before each of them.
    fn prompt(&self) -> &'static str;
    /// What a line asks for; none: it was the last.
    ///
    /// # Errors
    /// What is wrong with it; the next line is asked for all the same.
    fn answer(&mut self, line: &str, loader: &mut dyn Loader) -> Option<Result<Request, Vec<Diagnostic>>>;
}

/// The index of an item in a list, which it is added to where it is not there yet.
pub(crate) fn index_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// A file that is written without anything being run.
pub struct Written {
    /// Its path; it must not exist.
    pub path: String,
    pub bytes: Vec<u8>,
    /// Whether it may be executed.
    pub program: bool,
}

/// A plan to be run, and who reports it.
pub struct Run {
    pub plan: Plan,
    /// The tool's own output format.
    pub reporter: Box<dyn Reporter>,
    /// What the screen shows of the report while it fills in; nothing: charts and a table of the jobs.
    pub growing: Option<Box<dyn GrowingReport>>,
    /// The file that the report goes to instead of standard output; what is in it is lost, as the original does.
    pub output: Option<String>,
    /// Files to be written beside the report.
    pub files: Vec<ReportFile>,
    /// Whether the history keeps it.
    pub keep: Keep,
    /// Things to say before the start.
    pub messages: Vec<Diagnostic>,
    /// Files, directories and prefixes of buckets that a run of this tool left when it was killed: removed before the start,
    /// and told. Buckets are reached as the plan's first job does.
    pub abandoned: Vec<String>,
    /// How often a [`iodyno_model::Event::Live`] is wanted, ns; 0: never.
    pub live_ns: u64,
    /// How often a [`iodyno_model::Event::Interim`] is wanted, ns; 0: only when the user asks (SIGUSR1).
    pub interim_ns: u64,
    /// Whether witnesses stay at home.
    pub unwatched: bool,
    /// Whether the anatomy of its latency is told beside the report.
    pub why: bool,
    /// Whether the reporter says everything itself, messages and progress too, in the original's words.
    pub own_voice: bool,
    /// Whether the program dies of the signal that ended the run, as the original does; else the exit status tells.
    pub dies_of_signals: bool,
    /// Whether the reporter prints findings, what several passes say together and what became of demands; where it does
    /// not, they follow on standard error.
    pub tells_all: bool,
    /// Whether the reporter tells of each pass; where it does not, it is told of the middle one.
    pub tells_passes: bool,
    /// Whether findings may follow on standard error, where the reporter does not print them.
    pub findings: bool,
    /// Whether findings that another one explains are told in full, too, where they follow on standard error.
    pub details: bool,
    /// A finding in the tool's own options; `None`: it concerns nothing that this tool prints.
    pub translate: Translate,
    /// Whether failed reads are no failure of the run: it was asked to go on after them.
    pub reads_forgiven: bool,
    /// The exit status for a run that had errors; most tools say 1.
    pub error_status: i32,
    /// The exit status that a record deserves, where the tool reckons it in a way of its own.
    pub status: Option<Status>,
    /// What ends the run before its time.
    pub trigger: Option<Trigger>,
    /// What was read of its traces.
    pub surveys: Vec<KnownSurvey>,
}

/// Ends a run once a file is there or a time is up: what the jobs have is kept and reported, and a command runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// Removed once it was seen.
    pub file: Option<String>,
    /// After the start, ns.
    pub after_ns: Option<u64>,
    /// For a shell, before the report.
    pub command: Option<String>,
}

impl Run {
    /// A run with nothing special about it: each dialect says only what is different with it.
    ///
    /// The report goes to standard output, the history keeps it as usual, witnesses watch, and findings follow in the
    /// plan's own words.
    pub fn of(plan: Plan, reporter: Box<dyn Reporter>) -> Self {
        Run {
            plan,
            reporter,
            growing: None,
            output: None,
            files: Vec::new(),
            keep: Keep::default(),
            messages: Vec::new(),
            abandoned: Vec::new(),
            live_ns: 0,
            interim_ns: 0,
            unwatched: false,
            why: false,
            own_voice: false,
            dies_of_signals: false,
            tells_all: false,
            tells_passes: false,
            findings: true,
            details: false,
            translate: untranslated,
            reads_forgiven: false,
            error_status: 1,
            status: None,
            trigger: None,
            surveys: Vec::new(),
        }
    }

    /// The same of what is talked over with peers: the conversation prints everything itself.
    pub fn of_conversation(plan: Plan) -> Self {
        Run { own_voice: true, ..Run::of(plan, Box::new(Silent)) }
    }
}

/// The reporter of a conversation, which has none.
struct Silent;

impl Reporter for Silent {
    fn event(&mut self, _event: &Event, _output: &mut Output<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// A conversation with peers, and what is to become of its runs.
pub struct Converse {
    /// The control protocol. It prints the report itself, with [`iodyno_model::conversation::Action::Print`].
    pub conversation: Box<dyn Conversation>,
    /// What it will run, as far as that is known before a word was said to the peer: files to be written, what the
    /// history keeps, findings. Its reporter is not asked; `output` is appended to.
    pub run: Run,
    /// Go on in the background once everything that can be refused was looked at.
    pub daemon: bool,
    /// A file that holds the process's number while it runs; it must not exist, or name a process that does not.
    pub pid_file: Option<String>,
}

impl Converse {
    /// One in the foreground.
    pub fn new(conversation: impl Conversation + 'static, run: Run) -> Converse {
        Converse { conversation: Box::new(conversation), run, daemon: false, pid_file: None }
    }
}

impl From<Converse> for Request {
    fn from(converse: Converse) -> Request {
        Request::Converse(Box::new(converse))
    }
}

/// A conversation that is had again and again, and kept each time.
pub struct Repeat {
    /// From the beginning of one to that of the next, ns.
    pub every_ns: u64,
    /// How often; none: until it is interrupted. 0: nothing is done, only the course is told.
    pub times: Option<u32>,
    /// By which name the history finds them all.
    pub tag: String,
    /// The next one.
    pub make: Box<dyn FnMut() -> Converse>,
    /// What those of the last day came to: when each began, ns since 1970, and its record, the oldest first.
    pub course: Course,
}

/// Servers of ours on other hosts, for one command: each says first at which port it is, and ends by itself.
pub struct Abroad {
    /// The hosts, as ssh knows them.
    pub hosts: Vec<String>,
    /// This program's arguments there.
    pub arguments: Vec<String>,
    /// What each reads on its standard input: nothing secret stands in a command line.
    pub input: String,
    /// What is said to them, by their ports in the order of the hosts.
    pub then: Then,
}

/// What follows once the servers are there, by their ports.
pub type Then = Box<dyn FnOnce(&[u16]) -> Converse>;

/// What kept runs came to, as text: when each began, ns since 1970, and its record.
pub type Course = Box<dyn Fn(&[(u64, Record)]) -> String>;

/// Whether the history keeps a run, and by which names it is found there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Asked for, or declined; none: as usual (native runs are kept, those of drop-ins are not).
    pub wanted: Option<bool>,
    /// Names it is found by.
    pub tags: Vec<String>,
}

/// An exit status by what happened.
pub type Status = Box<dyn Fn(&Record) -> u8>;

/// A finding, said for one tool.
pub type Translate = fn(Finding) -> Option<Finding>;

/// The finding as it is: for what speaks the plan's own words.
pub fn untranslated(finding: Finding) -> Option<Finding> {
    Some(finding)
}

/// A file that a run writes its results to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// Its path; it must not exist, unless the user asked for it by this very option before. `-`: the report's own
    /// place, of a table of the ranks.
    pub path: String,
    /// `json`, `csv` (of a path that ends in a slash: a folder with a file for each table), `xlsx`, `hdr`, or `metrics` (a
    /// file that is rewritten while it runs, or an address); or `html`, a page; or `live-web`, that page while it grows (an
    /// address); or `live`, the screen (`-`); or `ranks`, a table that follows the report (`-`) or is talk (any other path);
    /// or `own`, which the run's reporter writes itself, by that name.
    pub format: String,
}

impl ReportFile {
    /// The screen that shows the run while it lasts.
    pub fn screen() -> Self {
        ReportFile { path: "-".into(), format: "live".into() }
    }

    /// A file that the run's reporter writes itself.
    pub fn own(path: &str) -> Self {
        ReportFile { path: path.into(), format: "own".into() }
    }
}

/// From arguments to a request, or everything that is wrong with them.
pub type Lower = fn(&[String], &mut dyn Loader) -> Result<Request, Vec<Diagnostic>>;

/// One tool's command line and output format.
pub struct Dialect {
    /// Its name, and the executable name it answers to.
    pub name: &'static str,
    /// One line for the list of dialects.
    pub about: &'static str,
    /// Whether it is the drop-in of another tool (then it writes nothing the original would not write).
    pub drop_in: bool,
    /// Our own words (of `--also`) that it understands, besides those that every dialect has.
    pub also: &'static [&'static str],
    /// From arguments (without the program's name) to a request.
    pub lower: Lower,
}

/// Every dialect there is.
pub const DIALECTS: &[Dialect] = &[
    measure::DIALECT,
    age::DIALECT,
    replay::DIALECT,
    dd::DIALECT,
    hdparm::DIALECT,
    iostat::DIALECT,
    iperf3::DIALECT,
    iperf::DIALECT,
    fio::DIALECT,
    ior::DIALECT,
    mdtest::DIALECT,
    md_workbench::DIALECT,
    bonnie::DIALECT,
    dbench::DIALECT,
    smallfile::DIALECT,
    elbencho::DIALECT,
    io500::DIALECT,
    netperf::DIALECT,
    netperf::NETSERVER,
    filebench::DIALECT,
    iozone::DIALECT,
    iometer::DIALECT,
    vdbench::DIALECT,
    diskspd::DIALECT,
    postmark::DIALECT,
    posix::DIALECT,
    s3check::DIALECT,
    warp::DIALECT,
    dlio::DIALECT,
    dlio::PROGRAM,
    net::DIALECT,
    posix::pjdfstest::PJDFSTEST,
    posix::pjdfstest::FSTEST,
];
