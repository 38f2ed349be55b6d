//! A crash test among the kept runs: a case for each workload, a check for each state.

use std::sync::Arc;

use iodyno_crash::request::{CrashFinding, CrashReport, WorkloadReport};
use iodyno_model::{
    Case, CaseRecord, Cases, Job, JobRecord, Outcome, Phase, PhaseRecord, Plan, Record, Verdict, Workload,
};

use crate::archive;

/// The command's name among the runs.
pub const TOOL: &str = "crash";

/// Keeps it where runs are kept, and says so at a terminal.
pub fn keep(report: &CrashReport, arguments: &[String], at_unix_ns: u64) {
    archive::keep_judged(TOOL, arguments, plan(report), &record(report), at_unix_ns);
}

fn plan(report: &CrashReport) -> Plan {
    let (device, _) = &report.device;
    let options = if report.mount_options.is_empty() { "defaults" } else { &report.mount_options };
    let name = format!("crash {}, {options}, {device}", report.file_system);
    let case = |done: &WorkloadReport| Case {
        name: done.name.clone(),
        rule: done.name.clone(),
        group: report.file_system.clone(),
        ..Case::default()
    };
    let cases = Cases { cases: report.workloads.iter().map(case).collect(), ..Cases::default() };
    let job = Job::new(&report.file_system, TOOL, Vec::new(), Workload::Cases(Arc::new(cases)));
    Plan {
        name,
        phases: vec![Phase { name: "states".into(), jobs: vec![job], ..Phase::default() }],
        ..Plan::default()
    }
}

fn record(report: &CrashReport) -> Record {
    let job = JobRecord {
        name: report.file_system.clone(),
        cases: report.workloads.iter().enumerate().map(case).collect(),
        ..JobRecord::default()
    };
    let phase = PhaseRecord {
        name: "states".into(),
        jobs: vec![job],
        elapsed_ns: report.elapsed_ns,
        ..PhaseRecord::default()
    };
    Record { phases: vec![phase], ..Record::default() }
}

fn case((number, done): (usize, &WorkloadReport)) -> CaseRecord {
    let broken: usize =
        done.findings.iter().filter(|found| !found.is_allowed()).map(|found| found.states).sum();
    let skipped = done.skipped.as_ref().map(|why| Verdict {
        expected: "every promise is kept".into(),
        outcome: Outcome::NotApplicable(why.clone()),
        ..Verdict::default()
    });
    CaseRecord {
        case: number,
        elapsed_ns: done.elapsed_ns,
        checks: done.judged as u32,
        passed: done.judged.saturating_sub(broken) as u32,
        verdicts: done.findings.iter().map(verdict).chain(skipped).collect(),
        ..CaseRecord::default()
    }
}

fn verdict(found: &CrashFinding) -> Verdict {
    Verdict {
        round: found.state.clone(),
        call: found.path.clone(),
        expected: format!("{} ({}, {})", found.promise, found.authority, found.source),
        got: format!("{}: {}", found.damage, found.found),
        outcome: if found.is_allowed() {
            Outcome::Skip("the mount options allow it".into())
        } else {
            Outcome::Fail
        },
        ..Verdict::default()
    }
}
