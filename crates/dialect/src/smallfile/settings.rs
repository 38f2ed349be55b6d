//! What the options come to. Refuses what the original refuses, and sizes that cannot be.

use iodyno_model::{Diagnostic, Origin};

use crate::hosts::{self, Host};
use crate::option::GivenOptions;
use crate::{Loader, PathKind};

/// Fewer files of a thread are never cut off by another thread's end.
const STONEWALL_LEAST: u64 = 10;
/// Shorter paths may be the top of a file system.
const PATH_LEAST: usize = 6;
const THREADS_MOST: u64 = 10_000;
/// Files of a thread at most: the names of their directories are held in memory.
const FILES_MOST: u64 = 1 << 30;

/// Everything that a run depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub operation: String,
    pub tops: Vec<String>,
    /// Other hosts that do it; none: this one.
    pub hosts: Vec<Host>,
    /// The names of the hosts as trees have them, by rank.
    pub names: Vec<String>,
    pub files: u64,
    pub threads: u32,
    pub kib: u64,
    pub is_exponential: bool,
    pub record_kib: u64,
    pub per_directory: u64,
    pub branch: u64,
    pub hashes: bool,
    pub permutes: bool,
    pub shares: bool,
    pub sync_directory: String,
    pub attribute_bytes: u64,
    pub attributes: u64,
    pub prefix: String,
    pub suffix: String,
    pub incompressible: bool,
    pub fsync: bool,
    pub finishes: bool,
    pub stonewalls: bool,
    pub verifies: bool,
    pub times: bool,
    pub json: Option<String>,
    pub pause_us: u64,
    pub is_verbose: bool,
    pub logs: bool,
    pub min_directories: u64,
    pub began_unix_ns: u64,
    pub notes: Vec<Diagnostic>,
}

impl Settings {
    pub fn all_threads(&self) -> u64 {
        u64::from(self.threads) * self.names.len() as u64
    }

    /// The host of a worker, and its number there.
    pub fn who(&self, worker: u32) -> (&str, u32) {
        let host = worker / self.threads.max(1);
        (&self.names[host as usize % self.names.len()], worker % self.threads.max(1))
    }

    /// Whether the end of one thread ends the measurement of others that go on.
    pub fn cuts(&self) -> bool {
        self.stonewalls && self.finishes && self.all_threads() > 1 && self.operation != "cleanup"
    }
}

/// Makes settings of options.
///
/// # Errors
/// Everything that is wrong.
pub fn judge(options: &GivenOptions, loader: &mut dyn Loader) -> Result<Settings, Vec<Diagnostic>> {
    let mut judge = OptionJudge { options, wrong: Vec::new() };
    let tops = judge.tops(loader);
    let hosts = judge.hosts();
    let files = judge.number("files", 1, FILES_MOST);
    let threads = judge.number("threads", 1, THREADS_MOST) as u32;
    let (kib, record_kib) = judge.sizes();
    let attribute_bytes = judge.number("xattr-size", 0, 65_536);
    let operation = options.text("operation").unwrap_or_default().to_string();
    let attributes = judge.number("xattr-count", 0, 1000);
    if operation.ends_with("xattr") && attributes == 0 {
        judge.refuse(
            "xattr-count",
            format!("{operation} with no attribute"),
            "--xattr-count 1 --xattr-size 128",
        );
    }
    judge.affixes();
    let yes = |name: &str| options.text(name) == Some("Y");
    let first = tops.first().cloned().unwrap_or_default();
    let names = match hosts.is_empty() {
        true => vec![loader.machine().host],
        false => hosts.iter().map(|host| host.name.clone()).collect(),
    };
    let settings = Settings {
        sync_directory: match options.is_given("network-sync-dir") {
            true => options.text("network-sync-dir").unwrap_or_default().to_string(),
            false => format!("{first}/network_shared"),
        },
        tops,
        hosts,
        names,
        files,
        threads,
        kib,
        record_kib,
        is_exponential: options.text("file-size-distribution") == Some("exponential"),
        per_directory: judge.number("files-per-dir", 1, 1 << 31),
        branch: judge.number("dirs-per-dir", 1, 1 << 31),
        hashes: yes("hash-into-dirs"),
        permutes: yes("permute-host-dirs"),
        shares: yes("same-dir"),
        attribute_bytes,
        attributes,
        prefix: options.text("prefix").unwrap_or_default().into(),
        suffix: options.text("suffix").unwrap_or_default().into(),
        incompressible: yes("incompressible"),
        fsync: yes("fsync"),
        finishes: yes("finish"),
        stonewalls: yes("stonewall") && files >= STONEWALL_LEAST,
        verifies: yes("verify-read"),
        times: yes("response-times"),
        json: options.text("output-json").map(String::from),
        pause_us: judge.number("pause", 0, 1 << 40),
        is_verbose: yes("verbose"),
        logs: yes("log-to-stderr"),
        min_directories: options.count("min-dirs-per-sec"),
        began_unix_ns: loader.now_unix_ns(),
        notes: options.without_effect().collect(),
        operation,
    };
    if judge.wrong.is_empty() { Ok(settings) } else { Err(judge.wrong) }
}

struct OptionJudge<'a> {
    options: &'a GivenOptions,
    wrong: Vec<Diagnostic>,
}

impl OptionJudge<'_> {
    /// KiB of a file and of a record.
    fn sizes(&mut self) -> (u64, u64) {
        let (kib, record_kib) = (self.options.count("file-size"), self.options.count("record-size"));
        if kib > 0 && record_kib > kib {
            self.refuse(
                "record-size",
                "record size cannot exceed file size",
                "--record-size 0 is the whole file",
            );
        }
        if record_kib > 1 << 20 || kib > 1 << 32 {
            self.refuse(
                "file-size",
                "a record of at most 1 GiB, and a file of at most 4 TiB",
                "sizes are in KiB",
            );
        }
        (kib, record_kib)
    }

    /// What names of files begin and end with.
    fn affixes(&mut self) {
        for name in ["prefix", "suffix"] {
            if self.options.text(name).is_some_and(|text| text.contains(['/', '{', '\0']) || text.len() > 100)
            {
                self.refuse(
                    name,
                    "a part of a name: at most 100 letters, and no slash or brace",
                    "letters and digits",
                );
            }
        }
    }

    fn refuse(&mut self, option: &str, message: impl Into<String>, hint: &str) {
        let origin = match self.options.origin(option) {
            Origin::Default => Origin::argument(&format!("--{option}")),
            origin => origin,
        };
        self.wrong.push(Diagnostic::error(&origin, message.into()).hint(hint));
    }

    fn number(&mut self, option: &str, least: u64, most: u64) -> u64 {
        let number = self.options.count(option);
        if !(least..=most).contains(&number) {
            self.refuse(option, format!("{number}: expected {least} to {most}"), "iodyno smallfile --help");
            return least;
        }
        number
    }

    fn tops(&mut self, loader: &dyn Loader) -> Vec<String> {
        let text = self.options.text("top").unwrap_or_default();
        let tops: Vec<String> = text.split(',').map(|top| top.trim_end_matches('/').to_string()).collect();
        for top in &tops {
            if top.starts_with('/') && top.len() < PATH_LEAST {
                let message =
                    format!("{top}/: a directory of less than 6 letters may be the top of a file system");
                self.refuse("top", message, "a directory below it");
            } else if loader.look(top).is_none_or(|facts| facts.kind != PathKind::Directory) {
                self.refuse("top", format!("{top} is no directory"), "make it first: mkdir -p");
            }
            if top.contains('{') {
                self.refuse("top", "a name with a brace", "a link to it, of another name");
            }
        }
        tops
    }

    fn hosts(&mut self) -> Vec<Host> {
        let Some(text) = self.options.text("host-set").map(String::from) else { return Vec::new() };
        let list = text.split_whitespace().collect::<Vec<_>>().join(",");
        match hosts::list(&list) {
            Ok(found) if !found.is_empty() => {
                found.into_iter().map(|host| Host { slots: 1, ..host }).collect()
            }
            Ok(_) => {
                self.refuse("host-set", "no host is named", "--host-set node1,node2");
                Vec::new()
            }
            Err(why) => {
                self.refuse("host-set", why, "--host-set node1,node2");
                Vec::new()
            }
        }
    }
}
