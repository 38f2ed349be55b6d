//! A crash test among the kept runs: a case for each workload, a check for each state.

use std::sync::Arc;

use iodyno_crash::request::{CrashFinding, CrashReport, WorkloadReport};
use iodyno_model::{
    Case, CaseRecord, Cases, Job, JobRecord, Outcome, Phase, PhaseRecord, Plan, Record, RunStart, Verdict,
    Workload,
};

use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportColumn, ReportSection,
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

/// Crash tests side by side: a line for each workload, and what is broken; none: not all of these runs are crash tests.
pub fn side_by_side(runs: &[(String, &RunStart, &Record)]) -> Option<ExperimentReport> {
    let tests: Vec<KeptTest> = runs.iter().map(KeptTest::of).collect::<Option<_>>()?;
    let mut workloads: Vec<&str> = Vec::new();
    for name in tests.iter().flat_map(|test| test.cases.iter().map(|case| case.0)) {
        if !workloads.contains(&name) {
            workloads.push(name);
        }
    }
    let row = |workload: &&str| {
        let cells = tests.iter().map(|test| ReportCell::Text(test.cell(workload)));
        std::iter::once(ReportCell::text(*workload)).chain(cells).collect()
    };
    let columns = std::iter::once("workload").chain(tests.iter().map(|test| test.name.as_str()));
    let table = ReportSection {
        title: "states that break a promise".into(),
        columns: columns.map(|name| ReportColumn::new(name, ColumnUnit::Words)).collect(),
        rows: workloads.iter().map(row).collect(),
        ..ReportSection::default()
    };
    let broken = tests.iter().map(|test| ReportSection {
        title: format!("broken in {}", test.name),
        sentences: test.broken(),
        ..ReportSection::default()
    });
    Some(ExperimentReport {
        format: "iodyno.crash-comparison/1",
        title: "crash tests".into(),
        facts: tests.iter().map(|test| (test.name.clone(), test.about.clone())).collect(),
        sections: std::iter::once(table).chain(broken).collect(),
        remarks: Vec::new(),
    })
}

/// A crash test as the history has it.
struct KeptTest<'a> {
    name: String,
    /// File system, options and device, and the kernel.
    about: String,
    cases: Vec<(&'a str, &'a CaseRecord)>,
}

impl<'a> KeptTest<'a> {
    fn of((name, started, record): &(String, &'a RunStart, &'a Record)) -> Option<KeptTest<'a>> {
        let job = started.plan.phases.first()?.jobs.first().filter(|job| job.engine == TOOL)?;
        let Workload::Cases(cases) = &job.workload else { return None };
        let records = &record.phases.first()?.jobs.first()?.cases;
        let about = format!("{}, {}", started.plan.name, started.machine.kernel);
        let named =
            records.iter().filter_map(|record| Some((cases.cases.get(record.case)?.name.as_str(), record)));
        Some(KeptTest { name: name.clone(), about, cases: named.collect() })
    }

    fn cell(&self, workload: &str) -> String {
        let found = self.cases.iter().find(|(name, _)| *name == workload).map(|(_, record)| record);
        found.map_or("–".into(), |record| format!("{} of {}", record.checks - record.passed, record.checks))
    }

    fn broken(&self) -> Vec<String> {
        let failed = self.cases.iter().flat_map(|(name, record)| {
            let failed = record.verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Fail);
            failed.map(move |verdict| {
                format!("{name}: {} {}; promised: {}", verdict.call, verdict.got, verdict.expected)
            })
        });
        failed.take(MOST_BROKEN).collect()
    }
}

/// Broken promises that are listed of a test.
const MOST_BROKEN: usize = 20;
