//! What a staged lie is, what the program had to say about it, and what that is worth: caught or missed, silent or a
//! false alarm.
//!
//! A stage is only as good as its twin: whatever the twin is accused of is a false alarm, except for what is true of the
//! stage itself (a loop device is one) and for what the machine did to it, proven by figures. Where the machine is
//! proven to have done what the twin is there to be silent about, nothing can be said: that is a skip with the figures.
//! Nothing is tried again here; who runs the tests knows what else ran beside them.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use iodyno_model::{Finding, Severity};
use tempfile::TempDir;
use testbed::{Case, Need, Outcome, Skip};

use crate::program;

/// Asks for a line of each trial, in this file: what `cargo xtask lies` makes its table of.
const LINES: &str = "IODYNO_LIES_LINES";

/// Which lies are asked for, by number, with commas; 0 is the honest runs. Not set: all of them.
const ONLY: &str = "IODYNO_LIES_ONLY";

/// Findings about the machine itself: that they are true of a busy one is no false alarm.
const MACHINE: [u8; 6] = [7, 8, 11, 12, 15, 26];
/// What others on the processors may do to a run besides: said late, limited by ourselves, depths that are not reached,
/// workers apart, start and stop that take long, a peak in between. Believed only where figures prove them.
const LOADED: [u8; 6] = [9, 10, 13, 14, 23, 24];
/// The finding that proves others on the processors.
const OTHERS: u8 = 11;
/// The finding that proves others at the device.
const SHARED: u8 = 12;
/// Percent of all processors that are stolen where a stage of a few seconds is disturbed.
const MOST_STOLEN: f64 = 2.0;
/// Percent of all processors that are idle beside an honest run: its stage works a little besides, and waits for a
/// processor where there is none, which no worker of the run feels as waiting for one.
const LEAST_IDLE: f64 = 10.0;
/// Findings of a run, or why there was none.
pub type StagedFindings = Result<Vec<Finding>, Box<dyn Error>>;

/// Whether `cargo xtask lies` wants to know, rather than a test run that has other things to do.
pub fn is_wanted() -> bool {
    std::env::var_os(LINES).is_some()
}

/// Whether a lie is asked for.
pub fn is_asked(code: u8) -> bool {
    let only = std::env::var(ONLY).ok();
    only.is_none_or(|only| only.split(',').any(|number| number.parse() == Ok(code)))
}

/// A lie, staged, and its honest twin.
pub struct Lie {
    /// Its number in the list of known lies.
    pub code: u8,
    /// What tells its cases from those of another stage of the same lie.
    part: &'static str,
    title: &'static str,
    needs: Vec<Need>,
    besides: &'static [u8],
    least: Severity,
    lie: fn() -> StagedFindings,
    twin: fn() -> StagedFindings,
    /// The lies that the twin is the twin of; none: another's twin stands for this one.
    twins: Vec<u8>,
    alone: [bool; 2],
}

impl Lie {
    /// A lie with its number and name.
    pub fn new(
        code: u8,
        title: &'static str,
        needs: &[Need],
        lie: fn() -> StagedFindings,
        twin: fn() -> StagedFindings,
    ) -> Lie {
        let needs = needs.to_vec();
        let (besides, least, twins, alone) = (&[], Severity::Note, vec![code], [false; 2]);
        Lie { code, part: "", title, needs, besides, least, lie, twin, twins, alone }
    }

    /// Another stage of a lie that has one; the word is part of its cases' names.
    pub fn part(mut self, word: &'static str) -> Lie {
        self.part = word;
        self
    }

    /// Notes of these numbers are true of the stage, of the twin's as well.
    pub fn besides(mut self, codes: &'static [u8]) -> Lie {
        self.besides = codes;
        self
    }

    /// A finding that weighs less does not count as caught.
    pub fn at_least(mut self, severity: Severity) -> Lie {
        self.least = severity;
        self
    }

    /// Its twin is that of these as well: the same run.
    pub fn twin_of(mut self, codes: &[u8]) -> Lie {
        self.twins.extend(codes);
        self
    }

    /// Another lie's twin stands for its own.
    pub fn without_twin(mut self) -> Lie {
        self.twins.clear();
        self
    }

    /// The lie must have the machine for itself.
    pub fn alone(mut self) -> Lie {
        self.alone[0] = true;
        self
    }

    /// Its twin is there to be silent about the whole machine, and must have it for itself.
    pub fn twin_alone(mut self) -> Lie {
        self.alone[1] = true;
        self
    }

    /// Those parts as test cases that are asked for.
    pub fn cases(self) -> Vec<Case> {
        let Lie { code, part, title, needs, besides, least, lie, twin, twins, alone } = self;
        let part = if part.is_empty() { String::new() } else { format!("_{part}") };
        let twins: Vec<u8> = twins.into_iter().filter(|code| is_asked(*code)).collect();
        let lies: Vec<u8> = is_asked(code).then_some(code).into_iter().collect();
        if let Some(reason) = needs.iter().find_map(|need| need.check().err()) {
            lies.iter().for_each(|code| note(*code, "lie", "skipped", title, &reason.reason));
            twins.iter().for_each(|code| note(*code, "twin", "skipped", title, &reason.reason));
        }
        let case = |name: String, alone: bool, body: Box<dyn FnOnce() -> Outcome + Send>| {
            let case = Case::new(name, &needs, body);
            if alone { case.alone() } else { case.waits() }
        };
        let mut cases = Vec::new();
        if !lies.is_empty() {
            let body = move || told(&lies, "lie", title, catch(code, least, lie));
            cases.push(case(format!("lie_{code:02}{part}_caught"), alone[0], Box::new(body)));
        }
        if !twins.is_empty() {
            let body = move || told(&twins, "twin", title, hush(&twins, besides, twin));
            cases.push(case(format!("lie_{code:02}{part}_twin"), alone[1], Box::new(body)));
        }
        cases
    }
}

/// What a run was found to do, and the shares of all processors that were stolen and idle meanwhile, in percent.
pub struct Watched {
    pub findings: Vec<Finding>,
    stolen: f64,
    idle: f64,
}

/// Runs something and watches the machine meanwhile.
pub fn watched(run: impl FnOnce() -> StagedFindings) -> Result<Watched, Box<dyn Error>> {
    let before = processors()?;
    let findings = run()?;
    let after = processors()?;
    let [all, stolen, idle] = [0, 1, 2].map(|which| after[which] - before[which]);
    let share = |part: f64| part / all.max(1.0) * 100.0;
    Ok(Watched { findings, stolen: share(stolen), idle: share(idle) })
}

/// Ticks of all processors since the machine was started: all of them, those that were stolen, and those without work.
/// Source: `/proc/stat`.
pub fn processors() -> Result<[f64; 3], Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let words = text.lines().next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = words.filter_map(|word| word.parse().ok()).take(8).collect();
    let of = |at: usize| ticks.get(at).copied().unwrap_or(0.0);
    Ok([ticks.iter().sum(), of(7), of(3) + of(4)])
}

impl Watched {
    /// Whether the machine was not ours: by the finding for it, or by so much stolen that a stage of a few seconds feels
    /// it, though no figure of the run needs to be doubted.
    fn is_disturbed(&self) -> bool {
        self.stolen >= MOST_STOLEN || self.findings.iter().any(|finding| finding.code == OTHERS)
    }

    /// Whether all that was found of an honest run is the machine's doing, as the figures prove.
    pub fn is_machines(&self) -> bool {
        let others = self.is_disturbed() || self.idle < LEAST_IDLE;
        let is_machines =
            |finding: &Finding| MACHINE.contains(&finding.code) || (others && LOADED.contains(&finding.code));
        self.findings.iter().all(is_machines)
    }

    /// The doubts of an honest run that nothing measured excuses: neither others on the processors, nor others at its
    /// device (12). Of a machine that was left to it, an unsteady rate is an accusation.
    pub fn accusations(&self) -> Vec<&Finding> {
        let disturbed = self.is_disturbed() || self.idle < LEAST_IDLE;
        let shared = self.findings.iter().any(|finding| finding.code == SHARED);
        let is_excused = |code: u8| match code {
            OTHERS | SHARED => true,
            9 | 10 | 13 | 14 | 23 | 24 | 15 => disturbed,
            7 | 8 | 26 => disturbed || shared,
            _ => false,
        };
        let doubts = self.findings.iter().filter(|finding| finding.severity > Severity::Note);
        doubts.filter(|finding| !is_excused(finding.code)).collect()
    }

    /// The findings, and what was stolen.
    pub fn list(&self) -> String {
        let findings = list(&self.findings);
        format!("{findings}; of all processors {:.1} % stolen, {:.1} % idle", self.stolen, self.idle)
    }
}

/// What became of a trial, in a word and the reason for it.
type Verdict = Result<(&'static str, String), Box<dyn Error>>;

fn catch(code: u8, least: Severity, lie: fn() -> StagedFindings) -> Verdict {
    let told = watched(lie)?;
    let caught = told.findings.iter().find(|finding| finding.code == code && finding.severity >= least);
    match caught {
        Some(finding) => Ok(("caught", finding.sentence.clone())),
        // What others did to the machine may have hidden it, where figures prove that they did.
        None if told.is_disturbed() => Err(unfit(&told)),
        None => Ok(("missed", format!("said only: {}", told.list()))),
    }
}

fn unfit(told: &Watched) -> Box<dyn Error> {
    Skip::new(format!("the machine was not fit: {}", told.list())).into()
}

/// Silent about the lies that it is the twin of, and about everything else but what figures prove of the machine. What it
/// is there to be silent about is no exception: a schedule is late where there is no processor, and that is the truth;
/// but it proves no silence.
fn hush(codes: &[u8], besides: &[u8], twin: fn() -> StagedFindings) -> Verdict {
    let mut told = watched(twin)?;
    let is_known = |finding: &Finding| besides.contains(&finding.code) && finding.severity == Severity::Note;
    told.findings.retain(|finding| !is_known(finding));
    if told.findings.is_empty() {
        return Ok(("silent", String::new()));
    }
    let is_accused = told.findings.iter().any(|finding| codes.contains(&finding.code));
    match (told.is_machines(), is_accused) {
        (false, _) => Ok(("false alarm", told.list())),
        (true, true) => Err(unfit(&told)),
        (true, false) => Ok(("silent", format!("but for the machine's doing: {}", told.list()))),
    }
}

/// Findings in a line, with their figures.
pub fn list(findings: &[Finding]) -> String {
    let one = |finding: &Finding| {
        let figures =
            finding.figures.iter().map(|figure| format!("{} {} {}", figure.name, figure.value, figure.unit));
        format!(
            "{} ({:?}: {}; {})",
            finding.code,
            finding.severity,
            finding.sentence,
            figures.collect::<Vec<_>>().join(", ")
        )
    };
    if findings.is_empty() {
        "nothing".into()
    } else {
        findings.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// Writes the verdict down, and makes it the trial's outcome.
fn told(codes: &[u8], part: &str, title: &str, verdict: Verdict) -> Outcome {
    let write = |word: &str, why: &str| codes.iter().for_each(|code| note(*code, part, word, title, why));
    match verdict {
        Ok((word, why)) => {
            write(word, &why);
            let is_good = matches!(word, "caught" | "silent");
            if is_good { Ok(()) } else { Err(format!("{word}: {why}").into()) }
        }
        Err(error) => {
            let word = if error.downcast_ref::<Skip>().is_some() { "skipped" } else { "broken" };
            write(word, &error.to_string());
            Err(error)
        }
    }
}

/// A line for the table: number, part, verdict, title, reason.
pub fn note(code: u8, part: &str, word: &str, title: &str, why: &str) {
    let Some(path) = std::env::var_os(LINES) else { return };
    let line = format!("{code}\t{part}\t{word}\t{title}\t{}\n", why.replace(['\n', '\t'], " "));
    let file = File::options().append(true).create(true).open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("warning: {LINES}: {error}");
    }
}

/// Runs a native plan and hears its findings; it must go well.
pub fn run(plan: &str) -> StagedFindings {
    let home = TempDir::new()?;
    run_in(home.path(), plan, 0, &[])
}

/// Runs a native plan in a directory, with further arguments; it must end with this status.
pub fn run_in(home: &Path, plan: &str, status: i32, arguments: &[&str]) -> StagedFindings {
    let (file, json) = (home.join("plan.toml"), home.join("record.json"));
    // That of an earlier run: results go to new files only.
    let _ = std::fs::remove_file(&json);
    std::fs::write(&file, plan)?;
    let mut command = program::iodyno(["run", "--quiet", "--json"]);
    command.arg(&json).arg(&file).args(arguments).current_dir(home);
    let told = program::told(command);
    if told.code() != status {
        return Err(told.to_string().into());
    }
    let findings = heard(&told, &json);
    // It is never overwritten, and the next run may be in the same place.
    std::fs::remove_file(&json)?;
    findings
}

/// The findings that a run told its user, with their figures from its JSON document, of a native run or of a dialect's
/// (under `iodyno`). What stands in one of them only is an error: nobody reads the document.
pub fn heard(said: &program::ProgramOutput, json: &Path) -> StagedFindings {
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json)?)?;
    let ours = document.get("iodyno").unwrap_or(&document);
    let findings = ours.get("findings").cloned().unwrap_or(serde_json::Value::Array(Vec::new()));
    let findings: Vec<Finding> = serde_json::from_value(findings)?;
    let word = |finding: &Finding| format!("{:?} [{}]", finding.severity, finding.code).to_lowercase();
    let written: BTreeSet<String> = findings.iter().map(word).collect();
    let read = read(said);
    if read == written {
        return Ok(findings);
    }
    Err(format!("the user reads {read:?}, the document has {written:?}\n{said}").into())
}

/// The weight and number of each finding that stands in what a program said, as in `doubtful [7]`: in full, or under the
/// one that explains it.
fn read(said: &program::ProgramOutput) -> BTreeSet<String> {
    let words: Vec<&str> = said.out.split_whitespace().chain(said.err.split_whitespace()).collect();
    let finding = |pair: &[&str]| {
        let (weight, code) = (pair[0], pair[1]);
        let is_one = ["note", "doubtful", "invalid"].contains(&weight) && code.starts_with('[');
        is_one.then(|| format!("{weight} {code}"))
    };
    words.windows(2).filter_map(finding).collect()
}
