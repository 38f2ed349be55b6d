//! What a configuration file asks for: times, access specifications, managers with their workers and targets.
//!
//! It knows every heading of versions 1.1.0 and 2006.07.27, and tells all that is wrong at once. What is only about
//! IOMeter's windows is read over; what is about networks is refused.

use iodyno_model::{Diagnostic, Origin};

use super::icf::IcfEntry;
use super::specification::{self, Specification};

/// Seconds that a run may take at most: a year.
const SECONDS_MOST: u64 = 366 * 86_400;

#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The file.
    pub path: String,
    /// The version that its first line names.
    pub version: String,
    /// What its author says.
    pub description: String,
    /// Measured time, s; 0: none was named.
    pub run_s: u64,
    /// Time before it, s.
    pub ramp_s: u64,
    /// Whose results are written.
    pub recorded: ResultScope,
    /// How the number of workers goes.
    pub workers: Steps,
    /// How the number of targets goes.
    pub targets: Steps,
    /// How outstanding I/O goes.
    pub depths: Steps,
    /// What is cycled.
    pub test: CyclingTest,
    /// Access specifications, in their order.
    pub specifications: Vec<Specification>,
    /// Managers, each a machine.
    pub managers: Vec<Manager>,
}

/// Whose results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResultScope {
    /// Nobody's.
    Nothing,
    /// All together.
    Sum,
    /// Managers, too.
    Managers,
    /// Workers, too.
    Workers,
    /// Targets, too.
    #[default]
    Targets,
}

/// A number that goes from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first.
    pub start: u32,
    /// The last; 0: as many as there are.
    pub end: u32,
    /// What is added, or multiplied by.
    pub step: u32,
    /// Whether it is multiplied.
    pub exponential: bool,
}

impl Default for Steps {
    fn default() -> Self {
        Steps { start: 1, end: 0, step: 1, exponential: false }
    }
}

/// What is cycled, in the order of its numbers in results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CyclingTest {
    /// Nothing.
    #[default]
    Normal,
    /// Targets of every worker.
    Targets,
    /// Workers of every manager.
    Workers,
    /// Targets of all workers side by side.
    TargetsParallel,
    /// Targets of one worker after the other.
    TargetsSerial,
    /// Outstanding I/O.
    Depths,
    /// Targets, and outstanding I/O for each number of them.
    DepthsAndTargets,
    /// Workers, and targets for each number of them.
    WorkersAndTargets,
}

const TESTS: &[(&str, CyclingTest)] = &[
    ("NORMAL", CyclingTest::Normal),
    ("CYCLE_TARGETS", CyclingTest::Targets),
    ("CYCLE_WORKERS", CyclingTest::Workers),
    ("INCREMENT_TARGETS_PARALLEL", CyclingTest::TargetsParallel),
    ("INCREMENT_TARGETS_SERIAL", CyclingTest::TargetsSerial),
    ("CYCLE_OUTSTANDING_IOS", CyclingTest::Depths),
    ("CYCLE_OUTSTANDING_IOS_AND_TARGETS", CyclingTest::DepthsAndTargets),
    ("CYCLE_WORKERS_AND_TARGETS", CyclingTest::WorkersAndTargets),
];

const RECORDED: &[(&str, ResultScope)] = &[
    ("ALL", ResultScope::Targets),
    ("NO_TARGETS", ResultScope::Workers),
    ("NO_WORKERS", ResultScope::Managers),
    ("NO_MANAGERS", ResultScope::Sum),
    ("NONE", ResultScope::Nothing),
];

/// A machine.
#[derive(Clone, Debug, Default)]
pub struct Manager {
    /// Its name; may be empty.
    pub name: String,
    pub workers: Vec<Worker>,
    pub line: u32,
}

/// A worker: what it does on its targets.
#[derive(Clone, Debug, Default)]
pub struct Worker {
    pub name: String,
    /// I/O that is outstanding on each of its targets.
    pub depth: u32,
    /// The seed of its places, where it is fixed.
    pub seed: Option<u64>,
    /// Sectors of 512 bytes that are touched; 0: all.
    pub sectors: u64,
    pub first_sector: u64,
    /// 0: repeating bytes, 1: random once, 2: random each time.
    pub content: u8,
    /// Assigned specifications by name, with their lines.
    pub assigned: Vec<(u32, String)>,
    /// Targets by name, with their lines.
    pub targets: Vec<(u32, String)>,
    pub line: u32,
}

/// What the entries of a file mean.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(path: &str, entries: &[IcfEntry]) -> Result<Settings, Vec<Diagnostic>> {
    let configuration = Settings { path: path.into(), ..Settings::default() };
    let mut reader = ConfigurationReader { configuration, wrong: Vec::new(), windows: false };
    entries.iter().for_each(|entry| reader.entry(entry));
    reader.check_completeness();
    if reader.wrong.is_empty() { Ok(reader.configuration) } else { Err(reader.wrong) }
}

struct ConfigurationReader {
    configuration: Settings,
    wrong: Vec<Diagnostic>,
    /// Whether what is read is about IOMeter's windows.
    windows: bool,
}

impl ConfigurationReader {
    fn refuse(&mut self, line: u32, message: impl Into<String>, hint: &str) {
        let origin = Origin::file(&self.configuration.path, line);
        self.wrong.push(Diagnostic::error(&origin, message).hint(hint));
    }

    fn entry(&mut self, entry: &IcfEntry) {
        match entry.key.as_str() {
            "results display" => self.windows = true,
            "end results display" => self.windows = false,
            _ if self.windows => {}
            key if self.setup(key, entry) || self.access(key, entry) || self.worker(key, entry) => {}
            key => {
                let hint = "headings of versions 1.1.0 and 2006.07.27 are known";
                self.refuse(entry.line, format!("`{key}`: no heading that is known"), hint);
            }
        }
    }

    fn setup(&mut self, key: &str, entry: &IcfEntry) -> bool {
        match key {
            "version" => self.configuration.version = entry.value().into(),
            "test description" => {
                let lines: Vec<_> = entry.values.iter().map(|(_, line)| line.as_str()).collect();
                self.configuration.description = lines.join(" ").trim().into();
            }
            "run time" => self.run_time(entry),
            "ramp up time (s)" => {
                self.configuration.ramp_s = self.number(entry, entry.value(), SECONDS_MOST).unwrap_or(0)
            }
            "record results" => {
                let recorded = self.choice(entry, RECORDED, "results");
                self.configuration.recorded = recorded.unwrap_or_default();
            }
            "worker cycling" => self.configuration.workers = self.steps(entry, false),
            "disk cycling" | "target cycling" => self.configuration.targets = self.steps(entry, false),
            "queue depth cycling" => self.configuration.depths = self.steps(entry, true),
            "test type" => self.configuration.test = self.choice(entry, TESTS, "test").unwrap_or_default(),
            // How many workers IOMeter would make if the file named none: it names them.
            "default disk workers to spawn" | "default network workers to spawn" => {}
            "test setup" | "end test setup" | "access specifications" | "end access specifications" => {}
            _ => return false,
        }
        true
    }

    fn run_time(&mut self, entry: &IcfEntry) {
        let numbers: Vec<_> =
            entry.value().split_whitespace().map(|word| self.number(entry, word, SECONDS_MOST)).collect();
        match numbers[..] {
            [Some(hours), Some(minutes), Some(seconds)] => {
                self.configuration.run_s = (hours * 3600 + minutes * 60 + seconds).min(SECONDS_MOST);
            }
            [_, _, _] => {}
            _ => self.refuse(entry.at(), "no time", "hours, minutes and seconds: 0 1 30"),
        }
    }

    /// One of some words; any other is refused.
    fn choice<T: Copy>(&mut self, entry: &IcfEntry, known: &[(&str, T)], what: &str) -> Option<T> {
        let found = known.iter().find(|(word, _)| entry.value().eq_ignore_ascii_case(word));
        if found.is_none() {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            self.refuse(entry.at(), format!("`{}`: no such {what}", entry.value()), &words.join(", "));
        }
        found.map(|(_, choice)| *choice)
    }

    fn steps(&mut self, entry: &IcfEntry, ends: bool) -> Steps {
        let parts: Vec<&str> = entry.value().split_whitespace().collect();
        let count = if ends { 4 } else { 3 };
        let exponential = match parts.last() {
            Some(word) if parts.len() == count => match word.to_ascii_uppercase().as_str() {
                "LINEAR" => Some(false),
                "EXPONENTIAL" => Some(true),
                _ => None,
            },
            _ => None,
        };
        let Some(exponential) = exponential else {
            let hint = if ends {
                "first, last, step and LINEAR or EXPONENTIAL: 1 32 2 EXPONENTIAL"
            } else {
                "first, step and LINEAR or EXPONENTIAL: 1 1 LINEAR"
            };
            self.refuse(entry.at(), "no cycling", hint);
            return Steps::default();
        };
        let mut number = |at: usize| self.number(entry, parts[at], 65_536).unwrap_or(1) as u32;
        let (start, end, step) =
            if ends { (number(0), number(1), number(2)) } else { (number(0), 0, number(1)) };
        let least = if exponential { 2 } else { 1 };
        if start == 0 || step < least || (ends && end < start) {
            let hint = "1 32 2 EXPONENTIAL, or 1 8 1 LINEAR";
            self.refuse(entry.at(), "it would never end, or never begin", hint);
        }
        Steps { start: start.max(1), end, step: step.max(least), exponential }
    }

    fn access(&mut self, key: &str, entry: &IcfEntry) -> bool {
        match key {
            "access specification name,default assignment" => {
                let origin = Origin::file(&self.configuration.path, entry.at());
                match Specification::named(entry.value(), &origin) {
                    Ok(named) => self.configuration.specifications.push(named),
                    Err(wrong) => self.wrong.push(wrong),
                }
            }
            key if key.starts_with("size,% of size,") => {
                let mut lines = Vec::new();
                for (line, value) in entry.values.iter().filter(|(_, value)| !value.is_empty()) {
                    let origin = Origin::file(&self.configuration.path, *line);
                    match specification::AccessLine::of(value, &origin) {
                        Ok(line) => lines.push(line),
                        Err(wrong) => self.wrong.push(wrong),
                    }
                }
                match self.configuration.specifications.last_mut() {
                    Some(last) => last.lines = lines,
                    None => {
                        self.refuse(entry.line, "sizes without a name", "'Access specification name first")
                    }
                }
            }
            _ => return false,
        }
        true
    }

    fn worker(&mut self, key: &str, entry: &IcfEntry) -> bool {
        match key {
            "manager list" | "end manager list" | "end manager" | "manager network address" => {}
            "manager id, manager name" | "manager id,manager name" => {
                let name = entry.value().split_once(',').map_or("", |(_, name)| name.trim());
                let manager = Manager { name: name.into(), workers: Vec::new(), line: entry.at() };
                self.configuration.managers.push(manager);
            }
            "worker" => match self.configuration.managers.last_mut() {
                Some(manager) => {
                    let worker = Worker {
                        name: entry.value().into(),
                        depth: 1,
                        line: entry.at(),
                        ..Worker::default()
                    };
                    manager.workers.push(worker);
                }
                None => {
                    self.refuse(entry.line, "a worker without a manager", "'Manager ID, manager name first")
                }
            },
            _ => return self.of_worker(key, entry),
        }
        true
    }

    fn of_worker(&mut self, key: &str, entry: &IcfEntry) -> bool {
        match key {
            "worker type" | "target type" => self.disk(entry),
            "default target settings for worker"
            | "end default target settings for worker"
            | "end assigned access specs"
            | "target assignments"
            | "end target"
            | "end target assignments"
            | "end worker" => {}
            "assigned access specs" => {
                let names = entry.values.iter().filter(|(_, name)| !name.is_empty()).cloned();
                self.last(entry, |worker| worker.assigned.extend(names));
            }
            "target" => {
                let target = (entry.at(), entry.value().to_string());
                self.last(entry, |worker| worker.targets.push(target));
            }
            key if key.starts_with("number of outstanding ios,") => self.outstanding(entry),
            key if key.starts_with("disk maximum size,starting sector") => self.sectors(entry),
            _ => return false,
        }
        true
    }

    /// What holds for the worker that is being described.
    fn last(&mut self, entry: &IcfEntry, change: impl FnOnce(&mut Worker)) {
        match self.configuration.managers.last_mut().and_then(|manager| manager.workers.last_mut()) {
            Some(worker) => change(worker),
            None => self.refuse(entry.line, "it belongs to no worker", "'Worker first"),
        }
    }

    fn disk(&mut self, entry: &IcfEntry) {
        if !entry.value().eq_ignore_ascii_case("DISK") {
            let message = format!("`{}`: only disks are measured here", entry.value());
            self.refuse(entry.at(), message, "networks are measured by iodyno netperf, iperf3 and net");
        }
    }

    /// `depth,connection rate,transactions[,fixed seed,seed]`.
    fn outstanding(&mut self, entry: &IcfEntry) {
        let parts: Vec<&str> = entry.value().split(',').map(str::trim).collect();
        let on = |at: usize| parts.get(at).is_some_and(|word| word.eq_ignore_ascii_case("ENABLED"));
        if on(1) {
            let hint = "DISABLED there: files stay open, and iodyno fio has --unlink and openfiles";
            self.refuse(entry.at(), "opening and closing targets is not timed here", hint);
        }
        let depth = parts.first().and_then(|word| self.number(entry, word, 65_536));
        if depth == Some(0) {
            self.refuse(entry.at(), "no I/O outstanding", "at least 1");
        }
        let seed = match on(3) {
            true => parts.get(4).and_then(|word| self.number(entry, word, u64::MAX)),
            false => None,
        };
        self.last(entry, |worker| (worker.depth, worker.seed) = (depth.unwrap_or(1).max(1) as u32, seed));
    }

    /// `sectors,first[,content]`.
    fn sectors(&mut self, entry: &IcfEntry) {
        let most = u64::MAX >> 12;
        let numbers: Vec<_> =
            entry.value().split(',').map(|word| self.number(entry, word.trim(), most)).collect();
        let at = |index: usize| numbers.get(index).copied().flatten().unwrap_or(0);
        let (sectors, first_sector, content) = (at(0), at(1), at(2));
        if content > 2 {
            let hint = "0 repeating bytes, 1 pseudo random, 2 full random";
            self.refuse(entry.at(), "no such data pattern", hint);
        }
        self.last(entry, |worker| {
            (worker.sectors, worker.first_sector, worker.content) = (sectors, first_sector, content as u8);
        });
    }

    fn number(&mut self, entry: &IcfEntry, word: &str, most: u64) -> Option<u64> {
        let number = word.parse::<u64>().ok().filter(|number| *number <= most);
        if number.is_none() {
            let hint = format!("a whole number up to {most}");
            self.refuse(entry.at(), format!("`{word}`: no such number"), &hint);
        }
        number
    }

    /// What no single entry shows.
    fn check_completeness(&mut self) {
        let workers: usize = self.configuration.managers.iter().map(|manager| manager.workers.len()).sum();
        if !self.wrong.is_empty() {
            return;
        }
        if workers == 0 {
            self.refuse(1, "no worker is named", "save the configuration with its managers and workers");
        }
        if self.configuration.run_s == 0 {
            let hint = "'Run Time, then hours, minutes and seconds";
            self.refuse(1, "no run time: it would go on for ever", hint);
        }
    }
}
