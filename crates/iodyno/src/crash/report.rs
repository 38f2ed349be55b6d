//! The report of a crash test: text, page, JSON and lists of checks.

use std::fmt::Write;

use iodyno_crash::request::{CrashFinding, CrashReport, PictureEntry, PictureKind, WorkloadReport};
use iodyno_model::units;
use iodyno_report::checks::{CheckEnd, CheckList, ListedCheck};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportColumn, ReportPicture, ReportSection,
};

use super::CrashArgs;
use crate::remote_servers::quoted;

/// The command that shows a state again, without its workload and its state.
pub struct ReproducingCommand {
    words: Vec<String>,
    program: Vec<String>,
}

impl ReproducingCommand {
    pub fn of(words: &CrashArgs) -> ReproducingCommand {
        let mut all: Vec<String> = ["iodyno", "crash"].map(String::from).into();
        all.extend(words.file_system.clone());
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                all.extend([name.to_string(), quoted(&value)]);
            }
        };
        let unless = |value: &str, default: &str| (value != default).then(|| value.to_string());
        option("--mount-options", unless(&words.mount_options, ""));
        option("--mkfs", words.mkfs.clone());
        option("--mount", words.mount.clone());
        option("--size", words.size.map(|size| size.to_string()));
        option("--sector", unless(&words.sector, "4096"));
        words.suite.iter().for_each(|suite| option("--suite", Some(suite.clone())));
        option("--seed", Some(words.seed.to_string()));
        option("--device", unless(&words.device, "honest"));
        option("--check", words.check.clone());
        ReproducingCommand { words: all, program: words.program.clone() }
    }

    fn text(&self, workload: &str, state: &str) -> String {
        let mut words = self.words.clone();
        if self.program.is_empty() {
            words.extend(["--workload".into(), workload.into()]);
        }
        words.extend(["--state".into(), state.into(), "--keep".into()]);
        if !self.program.is_empty() {
            words.push("--".into());
            words.extend(self.program.iter().map(|word| quoted(word)));
        }
        words.join(" ")
    }
}

/// The report of everything.
pub fn told(report: &CrashReport, command: &ReproducingCommand) -> ExperimentReport {
    let mut sections = vec![workloads(report)];
    sections.extend(report.workloads.iter().flat_map(|done| explained(done, command)));
    sections.extend(others(report));
    sections.extend(report.workloads.iter().filter_map(|done| pictured(report, done)).take(MOST_PICTURES));
    ExperimentReport {
        format: "iodyno.crash/1",
        title: format!("iodyno crash {}", report.file_system),
        facts: facts(report),
        sections,
        remarks: remarks(report),
    }
}

/// Write logs that the page draws.
const MOST_PICTURES: usize = 8;

fn facts(report: &CrashReport) -> Vec<(String, String)> {
    let (device, about) = &report.device;
    let rows = [
        ("mount options", report.mount_options.clone()),
        ("device", format!("{device}: {about}")),
        (
            "disk",
            format!(
                "{}, sectors of {}",
                units::binary(report.disk_bytes),
                units::binary(report.sector_bytes.into())
            ),
        ),
        ("checked by", report.checker.clone().unwrap_or_default()),
        ("seed", report.seed.to_string()),
    ];
    rows.map(|(name, value)| (name.to_string(), value)).into()
}

fn workloads(report: &CrashReport) -> ReportSection {
    let columns = [
        ("workload", ColumnUnit::Words),
        ("writes", ColumnUnit::Number),
        ("flushes", ColumnUnit::Number),
        ("states", ColumnUnit::Number),
        ("judged", ColumnUnit::Number),
        ("broken", ColumnUnit::Number),
        ("time", ColumnUnit::Nanoseconds),
    ];
    let done = report.workloads.iter().filter(|done| done.skipped.is_none());
    let row = |done: &WorkloadReport| {
        let broken = done.findings.iter().filter(|finding| !finding.is_allowed()).count();
        let figures = [done.writes, done.flushes, done.possible, done.judged, broken];
        let mut cells = vec![ReportCell::text(&done.name)];
        cells.extend(figures.map(|figure| ReportCell::Number(figure as f64)));
        cells.push(ReportCell::Number(done.elapsed_ns as f64));
        cells
    };
    ReportSection {
        title: "states".into(),
        about: "Each state is what a crash can leave: whatever a flush covered is there, of the writes since any may be \
                missing, and the last one may be torn. States of the same content count once."
            .into(),
        columns: columns.iter().map(|(name, unit)| ReportColumn::new(name, *unit)).collect(),
        rows: done.map(row).collect(),
        ..ReportSection::default()
    }
}

fn finding(done: &WorkloadReport, found: &CrashFinding, command: &ReproducingCommand) -> ReportSection {
    ReportSection {
        title: format!("{}: {}", done.name, headline(found)),
        about: format!("{}, {}", found.authority, found.source),
        sentences: sentences(done, found, command),
        ..ReportSection::default()
    }
}

/// Findings of a workload that are explained; the others stand in a table.
const EXPLAINED: usize = 3;

fn explained(done: &WorkloadReport, command: &ReproducingCommand) -> Vec<ReportSection> {
    done.findings.iter().take(EXPLAINED).map(|found| finding(done, found, command)).collect()
}

/// A line for each finding that is not explained.
fn others(report: &CrashReport) -> Option<ReportSection> {
    let columns = ["workload", "what", "is", "state"].map(|name| ReportColumn::new(name, ColumnUnit::Words));
    let row = |(done, found): (&WorkloadReport, &CrashFinding)| {
        let allowed = if found.is_allowed() { ", allowed" } else { "" };
        let damage = format!("{}{allowed}", found.damage);
        let cells =
            [done.name.clone(), found.path.clone(), damage, found.state.clone()].map(ReportCell::Text);
        cells.into_iter().chain([ReportCell::Number(found.states as f64)]).collect()
    };
    let rows: Vec<Vec<ReportCell>> = report
        .workloads
        .iter()
        .flat_map(|done| done.findings.iter().skip(EXPLAINED).map(move |found| (done, found)))
        .map(row)
        .collect();
    (!rows.is_empty()).then(|| ReportSection {
        title: "further ones".into(),
        columns: columns.into_iter().chain([ReportColumn::new("states", ColumnUnit::Number)]).collect(),
        rows,
        ..ReportSection::default()
    })
}

fn headline(found: &CrashFinding) -> String {
    let allowed = if found.is_allowed() { ", as the mount options allow" } else { "" };
    format!("{} is {}: {}{allowed}", found.path, found.damage, found.promise)
}

/// Writes that are listed one by one.
const MISSING_LISTED: usize = 8;

fn sentences(done: &WorkloadReport, found: &CrashFinding, command: &ReproducingCommand) -> Vec<String> {
    let of = if found.states == 1 { "1 state".into() } else { format!("{} states", found.states) };
    let mut sentences = vec![
        format!("Found in {of} of {}: {}", done.judged, found.found),
        format!("The power went {}.", found.reached),
    ];
    if found.missing.is_empty() {
        sentences.push("No write before that is missing.".into());
    }
    sentences.extend(found.missing.iter().take(MISSING_LISTED).map(|missing| format!("Missing: {missing}")));
    if found.missing.len() > MISSING_LISTED {
        sentences.push(format!("Missing: {} more", found.missing.len() - MISSING_LISTED));
    }
    sentences.push(format!("To see it again: {}", command.text(&done.name, &found.state)));
    sentences
}

fn remarks(report: &CrashReport) -> Vec<String> {
    let judged: usize = report.workloads.iter().map(|done| done.judged).sum();
    let possible: usize = report.workloads.iter().map(|done| done.possible).sum();
    let findings: Vec<&CrashFinding> = report.workloads.iter().flat_map(|done| &done.findings).collect();
    let allowed = findings.iter().filter(|found| found.is_allowed()).count();
    let seconds = report.elapsed_ns as f64 / 1e9;
    let rate = iodyno_report::number::significant(judged as f64 / seconds.max(1e-9));
    let mut remarks = vec![format!(
        "{judged} of {possible} states judged in {} s, {rate} a second: {}",
        iodyno_report::number::significant(seconds),
        match findings.len() - allowed {
            0 => "every promise was kept".to_string(),
            1 => "one promise was broken".to_string(),
            count => format!("{count} promises were broken"),
        }
    )];
    if allowed > 0 {
        let are = if allowed == 1 { "is" } else { "are" };
        remarks.push(format!("{allowed} more {are} taken back by the mount options"));
    }
    if report.checker.is_none() {
        remarks
            .push("no checker of this file system is installed: states were mounted and written only".into());
    }
    let skipped = report.workloads.iter().filter_map(|done| Some((&done.name, done.skipped.as_ref()?)));
    remarks.extend(skipped.map(|(name, why)| format!("{name} was left out: {why}")));
    if let Some(image) = &report.image {
        let path = quoted(&image.display().to_string());
        remarks
            .push(format!("the image: mount -o loop {path} DIR; what is in it changes when it is mounted"));
    }
    remarks
}

/// A check for each workload.
pub fn checks(report: &CrashReport, command: &ReproducingCommand) -> CheckList {
    let check = |done: &WorkloadReport| {
        let broken: Vec<&CrashFinding> = done.findings.iter().filter(|found| !found.is_allowed()).collect();
        let text = |found: &&CrashFinding| {
            let lines = sentences(done, found, command).join("\n");
            format!("{} ({}, {})\n{lines}", headline(found), found.authority, found.source)
        };
        let end = match (&done.skipped, broken.first()) {
            (Some(why), _) => CheckEnd::Skipped(why.clone()),
            (None, Some(first)) => CheckEnd::Failed {
                kind: first.damage.to_string(),
                text: broken.iter().map(text).collect::<Vec<_>>().join("\n"),
            },
            (None, None) => CheckEnd::Passed,
        };
        ListedCheck {
            group: report.file_system.clone(),
            name: done.name.clone(),
            elapsed_ns: done.elapsed_ns,
            end,
        }
    };
    CheckList {
        name: "iodyno crash".into(),
        facts: facts(report)
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}: {value}"))
            .collect(),
        checks: report.workloads.iter().map(check).collect(),
    }
}

fn pictured(report: &CrashReport, done: &WorkloadReport) -> Option<ReportSection> {
    (!done.picture.is_empty()).then(|| ReportSection {
        title: format!("{}: write log", done.name),
        pictures: vec![ReportPicture {
            about: "Across: requests in order; upwards: place on the disk. Lines are flushes, ticks below are ends of steps; \
                    missing writes are red, those after the crash are pale."
                .into(),
            svg: svg(report.disk_bytes, &done.picture),
        }],
        ..ReportSection::default()
    })
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 360.0;
/// Nothing is drawn smaller.
const LEAST: f64 = 2.5;

/// The write log, time across and blocks upwards.
fn svg(disk_bytes: u64, entries: &[PictureEntry]) -> String {
    let last = entries.last().map_or(0, |entry| entry.place) + 1;
    let across = |place: usize| place as f64 / last as f64 * WIDTH;
    let column = (WIDTH / last as f64).max(LEAST);
    let upwards = |offset: u64| HEIGHT * (1.0 - offset as f64 / disk_bytes.max(1) as f64);
    let mut text = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {}" role="img" aria-label="write log" style="width:100%">"#,
        HEIGHT + 12.0
    );
    for entry in entries {
        let x = across(entry.place);
        let colour = match entry.kind {
            PictureKind::Flush => {
                let _ = write!(text, r##"<path d="M{x:.1} 0V{HEIGHT}" stroke="#888" stroke-width="0.7"/>"##);
                continue;
            }
            PictureKind::StepEnd => {
                let (from, to) = (HEIGHT + 2.0, HEIGHT + 10.0);
                let _ = write!(text, r##"<path d="M{x:.1} {from}V{to}" stroke="#2a7" stroke-width="1.5"/>"##);
                continue;
            }
            PictureKind::Write => "#36c",
            PictureKind::MissingWrite => "#d22",
            PictureKind::LaterWrite => "#bcd",
            PictureKind::Discard => "#da3",
        };
        let top = upwards(entry.offset + entry.bytes);
        let height = (upwards(entry.offset) - top).max(LEAST);
        let title = format!(
            "{} {}: {} at {}",
            kind(entry.kind),
            entry.place,
            units::binary(entry.bytes),
            units::binary(entry.offset)
        );
        let place = format!(r#"x="{x:.1}" y="{top:.1}" width="{column:.1}" height="{height:.1}""#);
        let _ = write!(text, r#"<rect {place} fill="{colour}"><title>{title}</title></rect>"#);
    }
    text + "</svg>"
}

fn kind(kind: PictureKind) -> &'static str {
    match kind {
        PictureKind::Write => "write",
        PictureKind::MissingWrite => "missing write",
        PictureKind::LaterWrite => "write after the crash",
        PictureKind::Discard => "discard",
        PictureKind::Flush => "flush",
        PictureKind::StepEnd => "end of a step",
    }
}
