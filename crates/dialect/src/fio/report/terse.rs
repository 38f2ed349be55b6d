//! One line of semicolons for each reported job: versions 2 to 5.
//!
//! Version 2 has no name of the program, and a description on a line of its own; 4 adds trims to 3, and 5 the samples.

use super::bins::Bins;
use super::direction::{Direction, LatencySpread, per_second};
use super::normal::share_of_group;
use super::spectrum::shares;
use super::summary::{ReportedJob, Summary};
use crate::fio::view::ReportFigures;

/// How many percentiles there is room for.
const PERCENTILES: usize = 20;

/// Writes a line for each reported job.
pub fn write(summary: &Summary<'_>, version: u32, program: &str) -> String {
    summary.jobs.iter().map(|job| line(job, summary, version, program)).collect()
}

fn line(job: &ReportedJob<'_>, summary: &Summary<'_>, version: u32, program: &str) -> String {
    let view = job.view;
    let head = if version == 2 { "2".to_string() } else { format!("{version};{program}") };
    let mut text = format!("{head};{};{};{}", view.name, view.group, job.errno());
    let group = summary.groups.get(view.group as usize);
    let shown = match (job.is_mixed(), version) {
        (true, _) => 1,
        (false, 3) => 2,
        _ => 3,
    };
    for (index, direction) in job.directions.iter().take(shown).enumerate() {
        let whole = group.map(|group| group.directions[index].aggregate());
        text += &direction_fields(direction, &view.figures, version, whole);
    }
    if let Some(all) = &job.all {
        text += &direction_fields(all, &view.figures, version, None);
    }
    text += &usage_fields(job);
    if version > 2 {
        for disk in &summary.disks {
            text += &format!(
                ";{};{};{};{};{};{};{};{};{:3.2}%",
                disk.name,
                disk.requests.0,
                disk.requests.1,
                disk.merges.0,
                disk.merges.1,
                disk.ticks.0,
                disk.ticks.1,
                disk.in_queue,
                disk.util
            );
        }
    }
    if view.counts_errors {
        text += &format!(";{};{}", job.errors.0, job.errors.1);
    }
    match (view.description.as_str(), version) {
        ("", _) => {}
        (description, 2) => text += &format!("\n;{description}"),
        (description, _) => text += &format!(";{description}"),
    }
    text + "\n"
}

fn direction_fields(
    direction: &Direction,
    figures: &ReportFigures,
    version: u32,
    group: Option<u64>,
) -> String {
    let rate = direction.bytes_per_second();
    let mut text = format!(
        ";{};{};{};{}",
        direction.bytes >> 10,
        rate >> 10,
        per_second(direction.done, direction.runtime_ms),
        direction.runtime_ms
    );
    let [submission, completion, latency] = direction.spreads();
    text += &latency_fields(submission);
    text += &latency_fields(completion);
    text += &percentile_fields(direction, figures);
    text += &latency_fields(latency);
    let samples = &direction.bandwidth;
    let share = if samples.count == 0 { 0.0 } else { share_of_group(samples.mean, group) };
    text += &format!(
        ";{};{};{share:.6}%;{:.6};{:.6}",
        samples.min,
        samples.max,
        samples.mean,
        samples.deviation()
    );
    if version == 5 {
        let rates = &direction.rate;
        text += &format!(
            ";{};{};{};{:.6};{:.6};{}",
            samples.count,
            rates.min,
            rates.max,
            rates.mean,
            rates.deviation(),
            rates.count
        );
    }
    text
}

/// In µs: whole ones, but for the mean and the deviation.
fn latency_fields(spread: LatencySpread) -> String {
    format!(
        ";{};{};{:.6};{:.6}",
        spread.min / 1000,
        spread.max / 1000,
        spread.mean / 1000.0,
        spread.deviation / 1000.0
    )
}

fn percentile_fields(direction: &Direction, figures: &ReportFigures) -> String {
    let completion = figures.completion_percentiles && figures.shown.1;
    // There is room for one of them.
    let values = match (figures.latency_percentiles, completion) {
        (true, _) => Bins::from(&direction.latency).percentiles(&figures.percentiles),
        (false, true) => Bins::from(&direction.completion).percentiles(&figures.percentiles),
        (false, false) => Vec::new(),
    };
    let wanted = completion || figures.latency_percentiles;
    let percent = |index: usize| figures.percentiles.get(index).filter(|_| wanted);
    let field = |index: usize| match percent(index) {
        Some(percent) => format!(";{percent:.6}%={}", values.get(index).map_or(0, |value| value / 1000)),
        None => ";0%=0".to_string(),
    };
    (0..PERCENTILES).map(field).collect()
}

fn usage_fields(job: &ReportedJob<'_>) -> String {
    let (user, system) = job.cpu_percent();
    let mut text = format!(";{user:.6}%;{system:.6}%;{};{};{}", job.switches, job.faults.0, job.faults.1);
    let spectrum = &job.spectrum;
    let depths = shares(spectrum.depths, spectrum.issued, 0.1);
    depths.iter().for_each(|share| text += &format!(";{share:3.1}%"));
    // What took less than a microsecond is told with the first two.
    let mut us = spectrum.us;
    us[0] += spectrum.ns.iter().sum::<u64>();
    shares(us, spectrum.issued, 0.01).iter().for_each(|share| text += &format!(";{share:3.2}%"));
    shares(spectrum.ms, spectrum.issued, 0.01).iter().for_each(|share| text += &format!(";{share:3.2}%"));
    text
}
