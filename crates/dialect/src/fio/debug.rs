//! `--debug`: the categories that were asked for, and the form of their lines: `process  4711  text`.
//!
//! The report makes the lines from events; those about options are made here. It refuses to name what iodyno does not have:
//! a category of which there is nothing to show prints nothing.

use std::fmt::Display;

use iodyno_model::{Job, Journal};

use super::settings::{Given, Settings};
use super::value::{Amount, OptionValue};
use crate::option::Kind;

/// All categories, in fio's order.
pub const CATEGORIES: [&str; 20] = [
    "process",
    "file",
    "io",
    "mem",
    "blktrace",
    "verify",
    "random",
    "parse",
    "diskutil",
    "job",
    "mutex",
    "profile",
    "time",
    "net",
    "rate",
    "compress",
    "steadystate",
    "helperthread",
    "zbd",
    "sprandom",
];

/// What `--debug` asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DebugCategories {
    wanted: Vec<&'static str>,
    /// `job:N`: only this worker's lines, counted from 0.
    worker: Option<u32>,
    /// What fio answers to the option itself.
    replies: String,
    /// The lines about options.
    options: String,
    /// The number of this process.
    pub pid: u32,
}

/// `--debug=help`.
pub fn help() -> String {
    format!("fio: dumping debug options:{},all\n", CATEGORIES.join(","))
}

impl DebugCategories {
    /// Adds the categories of a list; what is said of those that are none.
    pub fn ask(&mut self, list: &str) -> Vec<String> {
        let mut unknown = Vec::new();
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (name, number) = word.split_once(':').unwrap_or((word, ""));
            match CATEGORIES.iter().find(|known| **known == name) {
                Some(&"job") => match number.parse() {
                    Ok(number) => {
                        self.worker = Some(number);
                        self.replies += &format!("fio: set debug jobno {number}\n");
                    }
                    Err(_) => unknown.push("missing job number".into()),
                },
                Some(known) => {
                    self.wanted.push(known);
                    self.replies += &format!("fio: set debug option {word}\n");
                }
                None if word == "all" => {
                    self.wanted.extend(CATEGORIES);
                    self.replies += "fio: set all debug options\n";
                }
                None => unknown.push(format!("debug mask {word} not found")),
            }
        }
        unknown
    }

    /// Whether a category's lines are printed.
    pub fn wants(&self, category: &str) -> bool {
        self.wanted.contains(&category)
    }

    /// Whether single operations are shown, which must be written down for it.
    pub fn shows_operations(&self) -> bool {
        ["file", "io", "random", "verify", "sprandom"].iter().any(|category| self.wants(category))
    }

    /// Whether a worker's lines are printed, by its number among `workers` in all.
    pub fn shows(&self, worker: u32, workers: u32) -> bool {
        self.worker.is_none_or(|only| only >= workers || only == worker)
    }

    /// A line, where its category was asked for.
    pub fn line(&self, category: &str, pid: u32, text: impl Display) -> String {
        match self.wants(category) {
            true => format!("{category:<8} {pid:<5} {text}\n"),
            false => String::new(),
        }
    }

    /// Remembers how the options of all jobs were understood.
    pub fn parsed<'a>(&mut self, jobs: impl Iterator<Item = &'a Settings>) {
        if self.wants("parse") {
            self.options = jobs.flat_map(|job| &job.given).map(|given| self.parsed_option(given)).collect();
        }
    }

    fn parsed_option(&self, given: &Given) -> String {
        let (name, text) = (given.entry.name, given.text.as_str());
        let class = match given.entry.kind {
            Kind::Switch => "OPT_STR_SET",
            Kind::Flag => "OPT_BOOL",
            Kind::Whole(..) => "OPT_INT",
            Kind::Bytes => "OPT_STR_VAL",
            Kind::Time => "OPT_STR_VAL_TIME",
            Kind::Range => "OPT_RANGE",
            Kind::Word(_) | Kind::Words(_) => "OPT_STR",
            _ => "OPT_STR_STORE",
        };
        let number = match &given.value {
            OptionValue::Whole(number) => u64::try_from(*number).ok(),
            OptionValue::Amount(Amount::Bytes(bytes)) => Some(*bytes),
            OptionValue::Times(ns, _) => Some(ns / 1000),
            OptionValue::Triple(triple) => triple.read,
            _ => None,
        };
        let line = |text: String| self.line("parse", self.pid, text);
        [
            line(format!("handle_option={name}, ptr={text}")),
            line(format!("__handle_option={name}, type={class}, ptr={text}")),
            number.map_or_else(String::new, |number| line(format!("  ret=0, out={number}"))),
        ]
        .concat()
    }

    /// What is printed before anything runs.
    pub fn before_start(&self) -> String {
        format!("{}{}", self.replies, self.options)
    }
}

/// Makes a job write down its operations as they begin and end.
pub fn record_operations(job: &mut Job) {
    let journal = job.measure.journal.get_or_insert_with(Journal::default);
    (journal.starts, journal.completions) = (true, true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_answered_as_fio_answers_them() {
        let mut debug = DebugCategories { pid: 123_456, ..DebugCategories::default() };
        assert_eq!(debug.ask("process,bogus,io,job"), ["debug mask bogus not found", "missing job number"]);
        assert_eq!(debug.ask("job:1"), [""; 0]);
        let replies = "fio: set debug option process\nfio: set debug option io\nfio: set debug jobno 1\n";
        assert_eq!(debug.before_start(), replies);
        assert_eq!(debug.line("io", 4711, "queue"), "io       4711  queue\n");
        assert_eq!(debug.line("process", debug.pid, "x"), "process  123456 x\n");
        assert_eq!(debug.line("file", 1, "x"), "");
        assert_eq!([debug.shows(0, 2), debug.shows(1, 2), debug.shows(0, 1)], [false, true, true]);
        debug.ask("all");
        assert!(CATEGORIES.iter().all(|category| debug.wants(category)));
        assert!(
            help().starts_with("fio: dumping debug options:process,file,io,") && help().ends_with(",all\n")
        );
    }
}
