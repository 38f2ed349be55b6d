//! What a verdict looks like: text, JSON, TAP, JUnit.

use iodyno_crash::powerfail::log_reader::PromiseRecord;
use iodyno_crash::powerfail::step::{PromiseStep, SyncMode};
use iodyno_crash::powerfail::verify::{ModeResult, PowerfailFinding, PowerfailVerdict};
use iodyno_dialect::date;
use iodyno_engine::clock;
use iodyno_model::origin::plain;
use iodyno_model::units::duration;
use iodyno_model::{Diagnostic, Origin};
use iodyno_report::checks::{CheckEnd, CheckList, ListedCheck};
use iodyno_report::table::{Table, wrapped};
use serde_json::{Value, json};

use super::VerdictArgs;
use crate::new_file::NewFile;
use crate::runs::{paint, print};

/// Findings that the text tells in full.
const TOLD: usize = 20;
/// Steps in flight that the text tells.
const MOST_STEPS: usize = 8;

/// A verdict with what it is about.
pub struct PowerfailReport {
    pub target: String,
    pub log: String,
    pub record: PromiseRecord,
    pub verdict: PowerfailVerdict,
}

impl PowerfailReport {
    /// Whether every promise was kept.
    pub fn is_good(&self) -> bool {
        self.verdict.findings.is_empty()
    }

    /// Writes and prints it; the exit status.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, words: &VerdictArgs, junit: Option<NewFile>) -> Result<u8, Diagnostic> {
        if let Some(junit) = junit {
            let bytes = self.checks().junit();
            let bytes =
                bytes.map_err(|error| Diagnostic::error(&Origin::argument(junit.path()), plain(&error)))?;
            junit.write(&bytes)?;
        }
        let text = match (words.json, words.tap) {
            (true, _) => format!("{:#}\n", self.json()),
            (_, true) => self.checks().tap(),
            _ => self.text(),
        };
        let status = print(&text);
        Ok(if self.is_good() { status } else { 1 })
    }

    fn facts(&self) -> Vec<String> {
        let record = &self.record;
        let seconds = record.time.map_or(0, |(first, last)| last.saturating_sub(first));
        let threads = record.header.threads;
        let mut facts = vec![format!(
            "{}: {} promises of {threads} thread{} in {}",
            self.target,
            record.count(),
            if threads == 1 { "" } else { "s" },
            duration(seconds as f64)
        )];
        if !record.is_ready {
            facts.push("the log ends before anything was promised".into());
        }
        if record.cut_bytes > 0 {
            facts.push(format!(
                "the log ends in the middle of a line ({} bytes), as a power cut leaves it",
                record.cut_bytes
            ));
        }
        if record.is_cut {
            facts.push(
                "the trigger was pulled while it wrote: what returned later counts as in flight".into(),
            );
        }
        if record.has_ended && record.in_flight.is_empty() {
            facts.push("the writer ended as it was asked: nothing was in flight".into());
        }
        if !record.in_flight.is_empty() {
            let mut steps: Vec<String> = record.in_flight.values().flatten().map(step).collect();
            let more = steps.len().saturating_sub(MOST_STEPS);
            steps.truncate(MOST_STEPS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            facts.push(format!("in flight, so kept or not: {}{more}", steps.join(", ")));
        }
        let [old, new, torn] = self.verdict.in_flight;
        if old + new + torn > 0 {
            facts.push(format!(
                "blocks in flight: {old} as before, {new} written, {torn} torn between the two"
            ));
        }
        if self.verdict.newer > 0 {
            facts.push(format!(
                "{} blocks are newer than the log knows: it has lost its end",
                self.verdict.newer
            ));
        }
        if self.verdict.unpromised > 0 {
            facts.push(format!(
                "{} blocks of sync_file_range are not there, which promises nothing",
                self.verdict.unpromised
            ));
        }
        facts
    }

    fn verdict_line(&self) -> String {
        match self.verdict.findings.len() {
            0 if self.record.count() == 0 => "nothing was promised, so nothing was checked".into(),
            0 => "every promise was kept".into(),
            1 => "1 promise was broken".into(),
            broken => format!("{broken} promises were broken"),
        }
    }

    fn text(&self) -> String {
        let columns = paint().columns;
        let mut text: String = self.facts().iter().map(|fact| wrapped(fact, columns, 2) + "\n").collect();
        let mut table = Table::new(1, &["mode", "promises", "checked", "broken"]);
        for (mode, result) in &self.verdict.modes {
            let ModeResult { promises, checked, broken } = result;
            let checked =
                if *mode == SyncMode::Remove && *checked == 0 { "-".into() } else { checked.to_string() };
            table.row(&[mode.name().to_string(), promises.to_string(), checked, broken.to_string()]);
        }
        if !table.is_empty() {
            text.push('\n');
            text.push_str(&table.text(0, paint()));
        }
        for finding in self.verdict.findings.iter().take(TOLD) {
            text.push('\n');
            let violation = &finding.violation;
            let first = format!("{}: {}: {}", violation.damage, violation.path, violation.found);
            text.push_str(&(wrapped(&first, columns, 2) + "\n"));
            for line in about(finding) {
                text.push_str(&format!("  {}\n", wrapped(&line, columns.saturating_sub(2), 4)));
            }
        }
        let untold = self.verdict.findings.len().saturating_sub(TOLD);
        if untold > 0 {
            text.push_str(&format!("\n… and {untold} more: --json has them all\n"));
        }
        text + &format!("\n{}\n", self.verdict_line())
    }

    fn json(&self) -> Value {
        let record = &self.record;
        let modes: Vec<Value> = (self.verdict.modes.iter())
            .map(|(mode, ModeResult { promises, checked, broken })| {
                json!({ "mode": mode.name(), "promises": promises, "checked": checked, "broken": broken })
            })
            .collect();
        let findings: Vec<Value> = self.verdict.findings.iter().map(finding_json).collect();
        let [old, new, torn] = self.verdict.in_flight;
        json!({
            "format": "iodyno.powerfail/1",
            "target": self.target,
            "log": self.log,
            "run": format!("{:016x}", record.header.run),
            "threads": record.header.threads,
            "promises": record.count(),
            "kept": self.is_good(),
            "cut_bytes": record.cut_bytes,
            "ended": record.has_ended,
            "in_flight": record.in_flight.values().flatten().map(step).collect::<Vec<_>>(),
            "blocks_in_flight": { "old": old, "new": new, "torn": torn },
            "newer_than_log": self.verdict.newer,
            "unpromised": self.verdict.unpromised,
            "modes": modes,
            "findings": findings,
        })
    }

    /// A check for each mode.
    pub fn checks(&self) -> CheckList {
        let check = |(mode, result): (&SyncMode, &ModeResult)| {
            let own: Vec<&PowerfailFinding> =
                self.verdict.findings.iter().filter(|finding| finding.promise.mode == *mode).collect();
            let end = match own.first() {
                Some(first) => CheckEnd::Failed {
                    kind: first.violation.damage.to_string(),
                    text: own.iter().map(|finding| one_line(finding) + "\n").collect(),
                },
                None if mode.is_informational() => CheckEnd::Skipped("it promises nothing".into()),
                None if result.promises == 0 => CheckEnd::Skipped("no step of it has ended".into()),
                None => CheckEnd::Passed,
            };
            let name = format!("{}: {}", mode.name(), mode.promise());
            ListedCheck { group: self.target.clone(), name, elapsed_ns: 0, end }
        };
        CheckList {
            name: "iodyno powerfail".into(),
            facts: self.facts(),
            checks: self.verdict.modes.iter().map(check).collect(),
        }
    }
}

fn step(step: &PromiseStep) -> String {
    let PromiseStep { mode, object, first, count, generation } = step;
    let last = first + u64::from(*count) - 1;
    let place = match mode.is_of_blocks() || mode.is_of_devices() {
        true if *count == 1 => format!(" block {first}"),
        true => format!(" blocks {first} to {last}"),
        false => String::new(),
    };
    format!("{} of {}{place} (generation {generation})", mode.name(), object.path())
}

fn about(finding: &PowerfailFinding) -> Vec<String> {
    let PowerfailFinding { violation, promise, later, thread } = finding;
    let mut lines =
        vec![format!("promised: {} ({}: {})", violation.promise, violation.authority, violation.source)];
    lines.push(match promise.at_unix_ns {
        0 => "given before the first step, when it was laid out and synced".into(),
        at => {
            let at = date::clock_with_zone(at, clock::east_s());
            format!("given at {at}, line {} of the log", promise.line)
        }
    });
    if let Some(later) = later {
        lines.push(format!("a later promise of thread {thread} was kept: generation {later}"));
    }
    lines
}

fn one_line(finding: &PowerfailFinding) -> String {
    let violation = &finding.violation;
    format!("{}: {}: {} (line {})", violation.damage, violation.path, violation.found, finding.promise.line)
}

fn finding_json(finding: &PowerfailFinding) -> Value {
    let PowerfailFinding { violation, promise, thread, later } = finding;
    json!({
        "damage": violation.damage.to_string(),
        "path": violation.path,
        "found": violation.found,
        "promise": violation.promise,
        "authority": violation.authority.to_string(),
        "source": violation.source,
        "mode": promise.mode.name(),
        "generation": promise.generation,
        "promised_at_unix_ns": promise.at_unix_ns,
        "log_line": promise.line,
        "thread": thread,
        "later_generation_kept": later,
    })
}
