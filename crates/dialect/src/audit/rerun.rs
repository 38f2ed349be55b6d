//! What to run again: the same command with what it lacks, under iodyno, whose witnesses watch what no paste shows.
//!
//! Each command line is one that its dialect takes, which a test holds. Refuses to guess a target: where none was shown, a
//! word in capitals stands for it.

use iodyno_model::{FindingKind, Remedy};
use iodyno_report::audit::{Certainty, MeasuredLoad, Possible};

use super::{Told, pasted};

/// Command lines, each with why.
pub fn commands(told: &Told, asked: &MeasuredLoad, possible: &[Possible]) -> Vec<(String, String)> {
    let case = RerunCase { told, asked, possible };
    let (words, note) = match told.tool {
        "fio" => case.fio(),
        "ior" => (case.ior(), None),
        "mdtest" => (case.mdtest(), None),
        "dd" => (case.dd(), None),
        "hdparm" => (case.hdparm(), None),
        "iozone" => (case.iozone(), None),
        _ => (case.iperf3(), None),
    };
    let launcher = told.launcher.iter().map(String::as_str);
    let line: Vec<String> = launcher
        .chain(["iodyno", told.tool])
        .chain(words.iter().map(String::as_str))
        .map(pasted::quoted)
        .collect();
    let why =
        note.unwrap_or_else(|| "the same, without what the figures may hide, watched by witnesses".into());
    let mut all = vec![(line.join(" "), why)];
    if told.tool != "iperf3" && !asked.names {
        all.push((
            "iodyno measure PATH".into(),
            "what the storage can do at most, found by a sweep, with data that do not compress".into(),
        ));
    }
    all
}

struct RerunCase<'a> {
    told: &'a Told,
    asked: &'a MeasuredLoad,
    possible: &'a [Possible],
}

impl RerunCase<'_> {
    fn may(&self, kind: FindingKind) -> bool {
        self.possible.iter().any(|one| one.kind == kind)
    }

    fn needs(&self, remedy: Remedy) -> bool {
        self.possible.iter().any(|one| one.remedy == remedy)
    }

    /// Whether memory may have answered, or kept what was written.
    fn may_be_memory(&self) -> bool {
        self.may(FindingKind::CachedReads) || self.may(FindingKind::UnflushedWrites)
    }

    fn has(&self, word: &str) -> bool {
        self.told.words.iter().any(|known| known == word)
    }

    /// The words that were shown, or these.
    fn shown_or(&self, others: &[&str]) -> Vec<String> {
        match self.told.words.is_empty() {
            true => others.iter().map(ToString::to_string).collect(),
            false => self.told.words.clone(),
        }
    }

    fn add(&self, words: &mut Vec<String>, more: &[&str]) {
        if !more.first().is_some_and(|first| self.has(first)) {
            words.extend(more.iter().map(ToString::to_string));
        }
    }

    fn fio(&self) -> (Vec<String>, Option<String>) {
        let mut more = self.fio_options();
        let names = self.told.words.iter().filter(|word| word.starts_with("--name")).count();
        let has_file =
            self.told.job_file.is_some() || self.told.words.iter().any(|word| !word.starts_with('-'));
        if self.told.whole && has_file && names == 0 {
            let words =
                if self.told.job_file.is_some() { vec!["JOBFILE".into()] } else { self.told.words.clone() };
            let options: Vec<&str> = more.iter().map(|word| word.trim_start_matches("--")).collect();
            let note = match options.is_empty() {
                true => None,
                false => Some(format!("with these lines in its [global] section: {}", options.join(", "))),
            };
            return (words, note);
        }
        let mut words = self.shown_or(&["--name=again", "--rw=randread", "--bs=4k", "--size=16g"]);
        if !words.iter().any(|word| word.starts_with("--filename") || word.starts_with("--directory")) {
            more.insert(0, "--filename=FILE".into());
        }
        let overridden: Vec<String> =
            more.iter().filter_map(|word| Some(format!("{}=", word.split_once('=')?.0))).collect();
        words.retain(|word| !overridden.iter().any(|start| word.starts_with(start.as_str())));
        let at = if names > 1 {
            words.iter().position(|word| word.starts_with("--name")).unwrap_or(0)
        } else {
            words.len()
        };
        words.splice(at..at, more);
        (words, None)
    }

    fn fio_options(&self) -> Vec<String> {
        let mut more: Vec<&str> = Vec::new();
        if self.may_be_memory() && self.asked.direct != Some(true) {
            more.push("--direct=1");
        }
        if self.may(FindingKind::UnflushedWrites) {
            more.push("--end_fsync=1");
        }
        if self.needs(Remedy::UseAsynchronousEngine) {
            more.push("--ioengine=io_uring");
        }
        if self.may(FindingKind::ReducibleData) {
            more.extend(["--zero_buffers=0", "--refill_buffers=1"]);
        }
        if self.may(FindingKind::ShortPhase) || self.may(FindingKind::FallingRate) {
            more.extend(["--time_based=1", "--runtime=180", "--ramp_time=10"]);
        }
        more.into_iter().map(String::from).collect()
    }

    fn ior(&self) -> Vec<String> {
        let mut words = self.shown_or(&["-w", "-r", "-t", "1m", "-b", "16g", "-o", "FILE"]);
        if self.may(FindingKind::UnflushedWrites) {
            self.add(&mut words, &["-e"]);
        }
        let is_posix = !self.told.words.windows(2).any(|pair| pair[0] == "-a" && pair[1] != "POSIX");
        let spreads = self.asked.hosts.is_some_and(|hosts| hosts > 1);
        if self.may(FindingKind::CachedReads) && spreads {
            self.add(&mut words, &["-C"]);
        } else if self.may_be_memory() && is_posix {
            self.add(&mut words, &["--posix.odirect"]);
        }
        if self.asked.repeated.is_none_or(|times| times < 3) && !self.has("-i") {
            words.extend(["-i".into(), "3".into()]);
        }
        words
    }

    fn mdtest(&self) -> Vec<String> {
        let mut words = self.shown_or(&["-n", "10000", "-d", "DIRECTORY"]);
        let (tasks, hosts) = (self.told.tasks.unwrap_or(1), self.told.hosts.unwrap_or(1));
        if self.may(FindingKind::CachedNames) && hosts > 1 && !self.has("-N") {
            words.extend(["-N".into(), (tasks / hosts.max(1)).max(1).to_string()]);
        }
        if self.asked.repeated.is_none_or(|times| times < 3) && !self.has("-i") {
            words.extend(["-i".into(), "3".into()]);
        }
        words
    }

    fn dd(&self) -> Vec<String> {
        let others = if self.asked.writes {
            ["if=/dev/zero", "of=FILE", "bs=1M", "count=65536"]
        } else {
            ["if=FILE", "of=/dev/null", "bs=1M", "count=65536"]
        };
        let mut words = self.shown_or(&others);
        if !words.iter().any(|word| word.starts_with("bs=")) {
            words.push("bs=1M".into());
        }
        if self.may(FindingKind::UnflushedWrites) {
            joined(&mut words, "conv=", "fsync");
        }
        if self.may(FindingKind::CachedReads) && self.asked.reads {
            joined(&mut words, "iflag=", "direct");
        }
        words
    }

    fn hdparm(&self) -> Vec<String> {
        let device = self.told.words.iter().filter(|word| !word.starts_with('-')).cloned();
        let mut words = vec!["-t".to_string(), "--direct".into()];
        words.extend(device);
        if words.len() == 2 {
            words.push("/dev/DEVICE".into());
        }
        words
    }

    fn iozone(&self) -> Vec<String> {
        let mut words = self.shown_or(&["-i", "0", "-i", "1", "-s", "16g", "-r", "1m"]);
        if self.may(FindingKind::UnflushedWrites) {
            self.add(&mut words, &["-e"]);
        }
        if self.may_be_memory() {
            self.add(&mut words, &["-I"]);
        }
        words
    }

    fn iperf3(&self) -> Vec<String> {
        let mut words = self.shown_or(&["-c", "SERVER"]);
        let is_short = self.possible.iter().any(|one| one.kind == FindingKind::ShortPhase)
            || self.told.claims.is_empty();
        if is_short && !self.has("-t") && !self.has("-n") {
            words.extend(["-t".into(), "30".into()]);
        }
        self.add(&mut words, &["-O", "3"]);
        let is_processor = self.needs(Remedy::AddFlows);
        if is_processor && !self.has("-P") {
            words.extend(["-P".into(), "4".into()]);
        }
        words
    }
}

/// Adds a flag to an operand of dd that takes several, or the operand.
fn joined(words: &mut Vec<String>, operand: &str, flag: &str) {
    match words.iter_mut().find(|word| word.starts_with(operand)) {
        Some(word) => {
            if !word[operand.len()..].split(',').any(|known| known == flag) {
                word.push_str(&format!(",{flag}"));
            }
        }
        None => words.push(format!("{operand}{flag}")),
    }
}

/// Whether a result should not be quoted as it stands.
pub fn is_doubtful(possible: &[Possible]) -> bool {
    possible.iter().any(|one| one.certainty < Certainty::Open)
}
