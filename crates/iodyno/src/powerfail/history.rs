//! A verdict among the kept runs: a case for each mode, a check for each promise that was looked at.

use std::sync::Arc;

use iodyno_crash::powerfail::step::SyncMode;
use iodyno_crash::powerfail::verify::{ModeResult, PowerfailFinding};
use iodyno_engine::clock;
use iodyno_model::{
    Case, CaseRecord, Cases, Job, JobRecord, Outcome, Phase, PhaseRecord, Plan, Record, Verdict, Workload,
};

use super::report::PowerfailReport;
use crate::archive;

/// The command's name among the runs.
const TOOL: &str = "powerfail";

/// Keeps it where runs are kept.
pub fn keep(report: &PowerfailReport, arguments: &[String]) {
    archive::keep_judged(TOOL, arguments, plan(report), &record(report), clock::unix_ns());
}

fn plan(report: &PowerfailReport) -> Plan {
    let case = |mode: &SyncMode| Case {
        name: mode.name().into(),
        rule: mode.name().into(),
        group: TOOL.into(),
        text: mode.promise().into(),
        source: mode.source().into(),
        ..Case::default()
    };
    let cases = Cases { cases: report.verdict.modes.keys().map(case).collect(), ..Cases::default() };
    let job = Job::new(&report.target, TOOL, Vec::new(), Workload::Cases(Arc::new(cases)));
    Plan {
        name: format!("powerfail {}", report.target),
        phases: vec![Phase { name: "promises".into(), jobs: vec![job], ..Phase::default() }],
        ..Plan::default()
    }
}

fn record(report: &PowerfailReport) -> Record {
    let case = |(number, (mode, result)): (usize, (&SyncMode, &ModeResult))| CaseRecord {
        case: number,
        checks: result.checked as u32,
        passed: result.checked.saturating_sub(result.broken) as u32,
        verdicts: (report.verdict.findings.iter())
            .filter(|finding| finding.promise.mode == *mode)
            .map(verdict)
            .collect(),
        ..CaseRecord::default()
    };
    let job = JobRecord {
        name: report.target.clone(),
        cases: report.verdict.modes.iter().enumerate().map(case).collect(),
        ..JobRecord::default()
    };
    let elapsed_ns = report.record.time.map_or(0, |(first, last)| last.saturating_sub(first));
    let phase =
        PhaseRecord { name: "promises".into(), jobs: vec![job], elapsed_ns, ..PhaseRecord::default() };
    Record { phases: vec![phase], ..Record::default() }
}

fn verdict(finding: &PowerfailFinding) -> Verdict {
    let violation = &finding.violation;
    Verdict {
        round: format!("line {} of the log", finding.promise.line),
        call: violation.path.clone(),
        expected: format!("{} ({}, {})", violation.promise, violation.authority, violation.source),
        got: format!("{}: {}", violation.damage, violation.found),
        outcome: Outcome::Fail,
        ..Verdict::default()
    }
}
