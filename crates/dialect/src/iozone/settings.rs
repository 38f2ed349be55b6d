//! What a command line asks for, each value judged: sizes in bytes, names of files, how I/O is done.
//!
//! It refuses combinations that make no sense and values out of range, all of them at once. Nothing is lowered here.

use iodyno_model::{Diagnostic, Origin, Verb};

use super::access::Access;
use super::command::OptionValue;
use super::options::{OWN_PORTS, SETTERS};
use super::telemetry::{self, TimedOperation};
use crate::Loader;
use crate::option::OutOfBounds;
use crate::quantity::Suffixes;

pub const KB: u64 = 1024;
/// The largest file, in kB.
const MOST_KB: u64 = 1 << 50;
/// The largest record, in kB.
const MOST_RECORD_KB: u64 = 1 << 20;

/// What rates are told in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// kB each second.
    #[default]
    Kilobytes,
    /// Operations each second.
    Operations,
    /// µs for each operation.
    Microseconds,
}

/// One stream's place on other hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStream {
    pub host: String,
    /// The directory its file lies in.
    pub directory: String,
    /// What `-+t` starts there.
    pub program: String,
    /// The file, where it has a name of its own.
    pub file: Option<String>,
}

/// All that was asked for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The options, in their order.
    pub words: Vec<OptionValue>,
    /// File sizes of `-s`, bytes.
    pub files: Vec<u64>,
    /// Record sizes of `-r`, bytes.
    pub records: Vec<u64>,
    /// Numbers of streams; none: a single one, in a table of cells.
    pub rounds: Vec<u32>,
    /// Selected tests; none: all that belong to the mode.
    pub tests: Vec<u8>,
    /// Names of files, one for each stream.
    pub names: Vec<String>,
    /// Where streams are, in a cluster.
    pub clients: Vec<ClusterStream>,
    /// What is written, by a list of its own (`-X`).
    pub writes: Option<Vec<TimedOperation>>,
    /// What is read, by a list of its own (`-Y`).
    pub reads: Option<Vec<TimedOperation>>,
    /// Whether record rewrite goes to every record rather than to the first alone.
    pub distinct: bool,
}

impl Settings {
    pub fn select(&mut self, test: u64) {
        if !self.tests.contains(&(test as u8)) {
            self.tests.push(test as u8);
        }
    }

    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.words.iter().any(|word| word.name == name)
    }

    /// An option's last value.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.words.iter().rev().find(|word| word.name == name).map(|word| word.value.as_str())
    }

    /// An option's last value as a number; it was judged before.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// A size in bytes; it was judged before.
    pub fn size(&self, name: &str, default_kb: u64) -> u64 {
        self.text(name).and_then(|text| bytes(text, MOST_KB)).unwrap_or(default_kb * KB)
    }

    /// Where an option stands.
    pub fn origin(&self, name: &str) -> Origin {
        self.words
            .iter()
            .rev()
            .find(|word| word.name == name)
            .map(|word| word.origin.clone())
            .unwrap_or_default()
    }

    /// Whether sizes run through their series.
    pub fn is_auto(&self) -> bool {
        self.has("a") || self.has("A")
    }

    /// The most streams that run side by side; 0: a single one, in a table of cells.
    pub fn most_streams(&self) -> usize {
        self.rounds.iter().copied().max().unwrap_or(0) as usize
    }

    /// Whether streams run side by side.
    pub fn is_throughput(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// The list that a pass goes by, where it has one.
    pub fn list(&self, access: Access) -> Option<&[TimedOperation]> {
        match access {
            Access::Write | Access::Rewrite => self.writes.as_deref(),
            Access::Read | Access::Reread => self.reads.as_deref(),
            _ => None,
        }
    }

    /// Whether any pass goes by a list.
    pub fn has_lists(&self) -> bool {
        self.writes.is_some() || self.reads.is_some()
    }

    /// Whether a pass's time is that of its operations alone, as what lies between them takes time that is not told
    /// beforehand: emptying the processor's caches, pauses of a list.
    pub fn is_between(&self, access: Access) -> bool {
        !self.has("+J") && (self.has("p") || self.list(access).is_some_and(telemetry::pauses))
    }

    /// Through a mapping.
    pub fn is_mapped(&self) -> bool {
        ["B", "D", "G", "Z"].iter().any(|name| self.has(name))
    }

    /// Operations in flight with asynchronous I/O.
    pub fn in_flight(&self) -> Option<u64> {
        self.number("H").or_else(|| self.number("k")).filter(|depth| *depth > 0)
    }

    /// What rates are told in.
    pub fn unit(&self) -> Unit {
        match () {
            () if self.has("O") => Unit::Operations,
            () if self.has("N") => Unit::Microseconds,
            () => Unit::Kilobytes,
        }
    }

    /// Whether an access was selected.
    pub fn wants(&self, access: Access) -> bool {
        let facts = access.facts();
        if access.repeats() && self.has("+n")
            || self.has("+E") && access.verb() == Verb::Write
            || access.buffered() && (self.is_mapped() || self.in_flight().is_some())
        {
            return false;
        }
        match self.tests.is_empty() {
            _ if self.has("A") => facts.test < 2,
            true if self.has_lists() => facts.test < 2,
            true if self.is_throughput() => facts.test != 4 && facts.test < 11,
            true => facts.test < 8 || self.has("E") && matches!(facts.test, 9 | 10),
            false => self.tests.contains(&facts.test),
        }
    }

    /// Busy time before each operation of a pass, ns. Pauses of a list stand in its place.
    pub fn compute_ns(&self, access: Access) -> u64 {
        let ms = self.number("J").filter(|_| self.list(access).is_none());
        ms.unwrap_or(0) * 1_000_000
    }
}

/// What a command line asks for.
///
/// # Errors
/// Everything that is wrong with its values and their combination.
pub fn judge(words: Vec<OptionValue>, loader: &mut dyn Loader) -> Result<Settings, Vec<Diagnostic>> {
    let mut judge = Checker { settings: Settings { words, ..Settings::default() }, wrong: Vec::new() };
    judge.values();
    judge.rounds();
    judge.together();
    judge.names(loader);
    judge.clients(loader);
    judge.lists(loader);
    judge.rewrite(loader);
    if judge.wrong.is_empty() { Ok(judge.settings) } else { Err(judge.wrong) }
}

/// What a command line asks for that measures the network (`-+t`): of all else the original takes no notice.
///
/// # Errors
/// Everything that is wrong with its values, and a lack of hosts.
pub fn judge_network(words: Vec<OptionValue>, loader: &mut dyn Loader) -> Result<Settings, Vec<Diagnostic>> {
    let mut judge = Checker { settings: Settings { words, ..Settings::default() }, wrong: Vec::new() };
    judge.values();
    match (judge.settings.has("+c"), judge.settings.has("+m")) {
        (true, _) => {}
        (false, true) => judge.node_list(loader),
        (false, false) => judge.refuse(
            "+t",
            "it needs to know the hosts",
            "-+m FILE: a line for each, HOST DIRECTORY PROGRAM",
        ),
    }
    if judge.wrong.is_empty() { Ok(judge.settings) } else { Err(judge.wrong) }
}

struct Checker {
    settings: Settings,
    wrong: Vec<Diagnostic>,
}

impl Checker {
    /// Refuses an option where it was given last.
    fn refuse(&mut self, option: &str, message: impl Into<String>, hint: &str) {
        self.wrong.push(Diagnostic::error(&self.settings.origin(option), message).hint(hint));
    }

    fn has_any(&self, options: &str) -> bool {
        options.split(' ').any(|option| self.settings.has(option))
    }

    /// Refuses those of some options that were given.
    fn refuse_each(&mut self, options: &str, message: &str, hint: &str) {
        for option in options.split(' ').filter(|option| self.settings.has(option)).collect::<Vec<_>>() {
            self.refuse(option, message, hint);
        }
    }

    /// What a file that an option names holds.
    fn file<T>(
        &mut self,
        option: &str,
        loader: &mut dyn Loader,
        hint: &str,
        parse: impl Fn(&str, &str) -> Result<T, Vec<Diagnostic>>,
    ) -> Option<T> {
        let path = self.settings.text(option)?.to_string();
        let wrong = |why| vec![Diagnostic::error(&self.settings.origin(option), why).hint(hint)];
        let text = loader.read(&path).and_then(|bytes| crate::text_file::text(&bytes)).map_err(wrong);
        let found = text.and_then(|text| parse(&path, &text));
        found.map_err(|wrong| self.wrong.extend(wrong)).ok()
    }

    fn values(&mut self) {
        for option in self.settings.words.clone() {
            let Some(setter) = SETTERS.iter().find(|setter| setter.entry.name == option.name) else {
                continue;
            };
            let out_of_bounds = |bounds: OutOfBounds| {
                ("out of range", format!("a whole number from {} to {}", bounds.least, bounds.most))
            };
            if let Err((message, hint)) = setter.apply(&mut self.settings, &option.value, out_of_bounds) {
                self.wrong.push(Diagnostic::error(&option.origin, message).hint(hint));
            }
        }
    }

    fn rounds(&mut self) {
        let number = |option: &str| self.settings.number(option).and_then(|count| u32::try_from(count).ok());
        let (low, high) = (number("l"), number("u"));
        if low.is_some() || high.is_some() {
            let low = low.unwrap_or(1);
            self.settings.rounds = (low..=high.unwrap_or(low)).collect();
            if self.settings.rounds.is_empty() {
                self.refuse("u", "fewer streams than -l", "-l names the fewest, -u the most");
            }
        }
    }

    fn together(&mut self) {
        const APART: &str = "B:H B:k D:H D:k G:H G:k Z:H Z:k H:k O:N a:V B:I Z:I +b:J +b:p W:+V W:+L +F:+V +F:+L \
                             +d:+w +d:+y +d:+C";
        for (one, other) in APART.split(' ').filter_map(|pair| pair.split_once(':')) {
            if self.settings.has(one) && self.settings.has(other) {
                self.refuse(other, format!("not with -{one}"), "leave one of both out");
            }
        }
        if self.settings.is_throughput() || self.settings.number("t").is_some() {
            let message = "not with several streams (-t, -l, -u)";
            self.refuse_each("a A N", message, "name one size with -s and -r");
            let hint = "name a file for each: -F; or share one: -+V";
            self.refuse_each("f", "one file for several streams", hint);
        } else {
            self.refuse_each("F +R +V +L +F +k C x T +m d", "it needs streams", "say -t N");
        }
        self.refuse_each("+c", OWN_PORTS, "start all of them with -+m");
        self.reads_alone();
        if self.settings.has("+E") && !self.has_any("f F +R") {
            self.refuse("+E", "no file is named", "-f FILE");
        }
    }

    /// What iozone did not write is never written to.
    fn reads_alone(&mut self) {
        if !self.settings.has("+E") {
            return;
        }
        const WRITES_NOTHING: &str = "with -+E nothing is written";
        let writes = |test: &&u8| matches!(**test, 0 | 4 | 6 | 8 | 9 | 11);
        let hint = "select tests that read: -i 1, 2 (its reads alone), 3, 5, 7, 10, 12";
        match self.settings.tests.iter().find(writes) {
            Some(test) => {
                let wrong = Diagnostic::error(&Origin::argument(&format!("-i {test}")), WRITES_NOTHING);
                self.wrong.push(wrong.hint(hint));
            }
            None if self.settings.tests.is_empty() => {
                self.refuse("+E", "all tests are selected, and most of them write", hint);
            }
            None => {}
        }
    }

    fn names(&mut self, loader: &mut dyn Loader) {
        let mut names = Vec::new();
        for word in self.settings.words.iter().filter(|word| word.name == "F") {
            names.extend([&word.value].into_iter().chain(&word.more).cloned());
        }
        let words = |_: &str, text: &str| Ok(text.split_whitespace().map(String::from).collect());
        names.extend(
            self.file::<Vec<String>>("+R", loader, "it holds a name in each line", words).unwrap_or_default(),
        );
        let most = self.settings.most_streams();
        let option = if self.settings.has("+R") { "+R" } else { "F" };
        if !names.is_empty() && names.len() < most {
            let message = format!("{} names for {most} streams", names.len());
            self.refuse(option, message, "a name for each stream");
        }
        let single = self.settings.text("f").map(String::from);
        for name in names.iter().cloned().chain(single) {
            if name.contains(['{', '}', '|']) || name.is_empty() {
                let message = format!("`{name}`: braces and bars have a meaning of their own");
                self.refuse(option, message, "rename it");
            }
        }
        self.settings.names = names;
    }

    fn lists(&mut self, loader: &mut dyn Loader) {
        let hint = "a line of it is OFFSET BYTES [MS]";
        self.settings.writes = self.file("X", loader, hint, telemetry::parse);
        self.settings.reads = self.file("Y", loader, hint, telemetry::parse);
        if self.settings.has_lists() {
            self.with_lists();
        }
    }

    /// What makes no sense beside lists of operations.
    fn with_lists(&mut self) {
        let hint = "the lists say what is written and read, where and when";
        self.refuse_each("a A n g y q j K V p +b +k E", "not with -X or -Y", hint);
        if self.settings.writes.is_some() {
            self.refuse_each("s r", "the list of writes says it", "leave it out, or -X");
        }
        if self.settings.tests.iter().any(|test| *test > 1) {
            self.refuse("i", "not with -X or -Y", "lists are written and read: -i 0 -i 1");
        }
        let lists = [self.settings.writes.as_ref(), self.settings.reads.as_ref()];
        let paused = lists.into_iter().flatten().any(|list| telemetry::pauses(list));
        if paused && self.settings.in_flight().is_some_and(|depth| depth > 1) {
            let option = if self.settings.has("H") { "H" } else { "k" };
            let hint = "leave the pauses out of it, or say 1";
            self.refuse(option, "a list with pauses is done one by one", hint);
        }
    }

    fn rewrite(&mut self, loader: &mut dyn Loader) {
        match loader.also("rewrite").as_deref() {
            None | Some("first") => {}
            Some("distinct") => self.settings.distinct = true,
            Some(other) => {
                let message = format!("`rewrite={other}`: record rewrite goes to other records");
                let wrong = Diagnostic::error(&Origin::argument("--also"), message);
                self.wrong.push(wrong.hint("rewrite=first, or rewrite=distinct"));
            }
        }
    }

    fn clients(&mut self, loader: &mut dyn Loader) {
        if !self.settings.has("+m") {
            return;
        }
        self.node_list(loader);
        let (known, most) = (self.settings.clients.len(), self.settings.most_streams());
        if self.wrong.is_empty() && known < most {
            self.refuse("+m", format!("{known} lines for {most} streams"), "a line for each stream");
        }
    }

    fn node_list(&mut self, loader: &mut dyn Loader) {
        let hint = "a line for each stream: HOST DIRECTORY PROGRAM [FILE]";
        self.settings.clients = self.file("+m", loader, hint, clients).unwrap_or_default();
    }
}

/// The streams of a node list.
///
/// # Errors
/// Every line that is none.
pub fn clients(path: &str, text: &str) -> Result<Vec<ClusterStream>, Vec<Diagnostic>> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    telemetry::parse_lines(path, lines, "no stream", "a line is HOST DIRECTORY PROGRAM [FILE]", |line| {
        let mut words = line.split_whitespace();
        let (host, directory, program, file) = (words.next()?, words.next()?, words.next()?, words.next());
        let fits = crate::hosts::is_host(host) && !host.contains(':') && !line.contains(['{', '}', '|']);
        let (host, directory) = (host.to_string(), directory.trim_end_matches('/').to_string());
        let program = program.to_string();
        fits.then(|| ClusterStream { host, directory, program, file: file.map(String::from) })
    })
}

/// A size as iozone takes it: kB, or with a letter.
fn bytes(text: &str, most_kb: u64) -> Option<u64> {
    const SIZES: Suffixes =
        Suffixes { any_case: true, units: &[("k", 1), ("m", KB), ("g", KB * KB)], scales: &[] };
    let kb = SIZES.whole(text, "").ok().and_then(|kb| u64::try_from(kb).ok())?;
    kb.checked_mul(KB).filter(|_| kb <= most_kb)
}

/// What is wrong with an option's value, and a hint.
pub type Misuse = (&'static str, String);

fn some_bytes(text: &str, most_kb: u64) -> Result<u64, Misuse> {
    let hint = "a number of kB, or with k, m or g: 64, 64k, 1g";
    bytes(text, most_kb).filter(|bytes| *bytes > 0).ok_or_else(|| ("no size", hint.into()))
}

/// The size of a file.
pub fn file_bytes(text: &str) -> Result<u64, Misuse> {
    some_bytes(text, MOST_KB)
}

/// The size of a record.
pub fn record_bytes(text: &str) -> Result<u64, Misuse> {
    some_bytes(text, MOST_RECORD_KB)
}

/// A mount point.
pub fn mount(text: &str) -> Result<(), Misuse> {
    if text.is_empty() { Err(("no mount point", "-U /mnt/x".into())) } else { Ok(()) }
}

const CHUNK_MOST: i64 = 1 << 31;

/// Bytes that repeat together.
pub fn chunk(text: &str) -> Result<(), Misuse> {
    match text.parse::<i64>() {
        Ok(number) if number < 512 || number % 512 != 0 => {
            Err(("out of range", "a multiple of 512 bytes".into()))
        }
        Ok(..=CHUNK_MOST) => Ok(()),
        _ => Err(("out of range", format!("a whole number from 0 to {CHUNK_MOST}"))),
    }
}

/// Bytes of a burst, and ns of the pause behind it.
pub fn burst(text: &str) -> Option<(u64, u64)> {
    let (size, pause) = text.split_once(',')?;
    let size = bytes(size, MOST_KB).filter(|size| *size > 0)?;
    Some((size, pause.parse::<u64>().ok().filter(|ms| *ms < 1 << 32)? * 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_kb_unless_a_letter_says_otherwise() {
        let sizes: Vec<_> =
            ["4", "64k", "2M", "1g", "", "k", "-4", "4x", "99999999999999g", "184467440737095516"]
                .into_iter()
                .map(|text| bytes(text, MOST_KB))
                .collect();
        let known = [Some(4 << 10), Some(64 << 10), Some(2 << 20), Some(1 << 30)];
        assert_eq!(sizes[..4], known);
        assert!(sizes[4..].iter().all(Option::is_none), "{sizes:?}");
        assert_eq!(burst("1m,10"), Some((1 << 20, 10_000_000)));
    }

    #[test]
    fn a_node_list_is_a_line_for_each_stream() {
        let list = clients("l", "# who\nn1 /mnt/a/ /usr/bin/iozone\n\nn1 /mnt/b iozone data.1\n").unwrap();
        let shown: Vec<_> =
            list.iter().map(|c| (c.host.as_str(), c.directory.as_str(), c.file.as_deref())).collect();
        assert_eq!(shown, [("n1", "/mnt/a", None), ("n1", "/mnt/b", Some("data.1"))]);
        assert_eq!(clients("l", "n1\nn1 /mnt\n-x /a b\n").unwrap_err().len(), 3);
    }
}
