//! `--until CONDITION`: the most load at which a condition still holds, or the fewest disks or the smallest cap at which it
//! does, by search.
//!
//! A search takes for granted that the condition holds on one side of a limit and fails on the other.

use clap::ValueEnum;
use iodyno_model::{
    Demand, Device, Diagnostic, Job, Origin, PartKind, Plan, Rate, Workload, sweep::Parameter,
};
use iodyno_report::experiment_report::{ColumnUnit, ReportCell, ReportColumn, ReportSection};
use iodyno_report::number::{NONE, significant, thousands};
use iodyno_truth::demand;

use super::WhatifArgs;
use crate::experiment::{Experiment, progress};
use crate::session::say;
use crate::simulated_device::put_plan_on;

/// What a search varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Variable {
    /// The rate that the plan asks for, or else the operations in flight: the most
    Load,
    /// The disks of an array, or the servers of a cluster: the fewest
    Disks,
    /// The operations per second that a cloud volume is sold with: the fewest
    Cap,
}

/// The greatest value that is tried.
const MOST_DEPTH: f64 = 4096.0;
const MOST_DISKS: f64 = 1024.0;
const MOST_CAP: f64 = 10_000_000.0;
/// Rates and caps are found to this share.
const CLOSE: f64 = 0.01;
/// What is said where a figure has too few samples.
const UNTOLD: &str = "cannot tell: too few operations of the kind; run longer";
/// The least and the greatest part of the plan's rate that is tried.
const RATES: (f64, f64) = (1.0 / 1024.0, 1024.0);

/// A condition and what is varied until it fails.
pub struct Search {
    text: String,
    variable: Variable,
    /// Whether the load is a rate, whose factor is varied, or a depth.
    is_rate: bool,
}

/// What was found on a device.
pub struct Limit {
    device: String,
    /// The last value at which it holds, and the figure there.
    holds: Option<(f64, Option<f64>)>,
    /// The next value at which it does not.
    fails: Option<(f64, Option<f64>)>,
    why: Option<String>,
}

impl Search {
    /// The search that is asked for; none: none is.
    ///
    /// # Errors
    /// What is wrong with the condition.
    pub fn of(words: &WhatifArgs, plan: &Plan) -> Result<Option<Search>, Vec<Diagnostic>> {
        let Some(text) = &words.until else { return Ok(None) };
        let demanded = with_demand(plan, text);
        let wrong = demand::check(&demanded);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        if !plan.sweep.is_empty() {
            let wrong = Diagnostic::error(&Origin::argument("--until"), "the plan has a sweep of its own");
            return Err(vec![wrong.hint("take the sweep out: --until varies the load itself")]);
        }
        let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
        let is_rate = jobs.clone().any(|job| rates(job).iter().any(|rate| **rate != Rate::Unlimited));
        let takes_depth = |job: &Job| matches!(&job.workload, Workload::Pattern(pattern) if !pattern.chain);
        if words.vary == Variable::Load && !is_rate && !jobs.clone().all(takes_depth) {
            let wrong = Diagnostic::error(
                &Origin::argument("--until"),
                "the load of a script or a trace cannot be varied: each operation waits for the one before",
            );
            return Err(vec![wrong.hint("--vary disks or --vary cap")]);
        }
        Ok(Some(Search { text: text.clone(), variable: words.vary, is_rate }))
    }

    /// Searches on a device.
    ///
    /// # Errors
    /// The exit status of a run that failed.
    pub fn run(&self, experiment: &mut Experiment<'_>, plan: &Plan, device: &Device) -> Result<Limit, u8> {
        let mut limit = Limit { device: device.name.clone(), holds: None, fails: None, why: None };
        if !self.has_variable(device) {
            let what = if self.variable == Variable::Cap { "no cap" } else { "no array and no cluster" };
            limit.why = Some(format!("it has {what}"));
            return Ok(limit);
        }
        let (least, most) = self.range();
        let is_whole = !(self.is_rate && self.variable == Variable::Load);
        let mut try_value = |value: f64, limit: &mut Limit| -> Result<Option<bool>, u8> {
            progress(&format!("{}: {} {}", device.name, self.name(), self.value(value)));
            let Some((holds, found)) = self.judge(experiment, plan, device, value)? else { return Ok(None) };
            let place = if holds { &mut limit.holds } else { &mut limit.fails };
            *place = Some((value, found));
            Ok(Some(holds))
        };
        // A larger load is worse, a larger device better: `good` is the end of the range where it should hold. A rate is
        // doubled or halved from the plan's own on, since the least of all makes too few operations to judge by.
        let (good, bad) = if self.variable == Variable::Load { (least, most) } else { (most, least) };
        let (mut held, mut failed) = (None, None);
        let mut factor = 1.0;
        while !is_whole && (held.is_none() || failed.is_none()) && (least..=most).contains(&factor) {
            match try_value(factor, &mut limit)? {
                Some(true) => (held, factor) = (Some(factor), factor * 2.0),
                Some(false) => (failed, factor) = (Some(factor), factor / 2.0),
                None => {
                    limit.why = Some(UNTOLD.into());
                    return Ok(limit);
                }
            }
        }
        for (value, wanted) in [(good, true), (bad, false)].into_iter().filter(|_| is_whole) {
            match try_value(value, &mut limit)? {
                Some(holds) if holds == wanted => {}
                Some(_) => return Ok(limit),
                None => {
                    limit.why = Some(UNTOLD.into());
                    return Ok(limit);
                }
            }
            *if wanted { &mut held } else { &mut failed } = Some(value);
        }
        let (Some(mut held), Some(mut failed)) = (held, failed) else { return Ok(limit) };
        loop {
            let (low, high) = if held < failed { (held, failed) } else { (failed, held) };
            if if is_whole && high < 1000.0 { high - low <= 1.0 } else { high / low - 1.0 <= CLOSE } {
                return Ok(limit);
            }
            let middle = (low * high).sqrt();
            let middle = if is_whole { middle.round().clamp(low + 1.0, high - 1.0) } else { middle };
            match try_value(middle, &mut limit)? {
                Some(true) => held = middle,
                Some(false) => failed = middle,
                None => {
                    limit.why = Some(UNTOLD.into());
                    return Ok(limit);
                }
            }
        }
    }

    fn range(&self) -> (f64, f64) {
        match self.variable {
            Variable::Load if self.is_rate => RATES,
            Variable::Load => (1.0, MOST_DEPTH),
            Variable::Disks => (1.0, MOST_DISKS),
            Variable::Cap => (10.0, MOST_CAP),
        }
    }

    fn has_variable(&self, device: &Device) -> bool {
        device.parts.iter().any(|part| match self.variable {
            Variable::Load => true,
            Variable::Disks => matches!(part.kind, PartKind::Raid(_) | PartKind::Cluster(_)),
            Variable::Cap => matches!(part.kind, PartKind::Cloud(_)),
        })
    }

    /// Whether the condition holds at a value, and the figure; none: it cannot be told.
    fn judge(
        &self,
        experiment: &mut Experiment<'_>,
        plan: &Plan,
        device: &Device,
        value: f64,
    ) -> Result<Option<(bool, Option<f64>)>, u8> {
        let (mut plan, mut device) = (plan.clone(), device.clone());
        match self.variable {
            Variable::Load => self.set_load(&mut plan, value),
            _ => set_parts(&mut device, value),
        }
        // An array of too few disks for its level fails as a slow one does.
        if !device.problems().is_empty() {
            return Ok(Some((false, None)));
        }
        put_plan_on(&mut plan, &device, "--on").map_err(|wrong| {
            say(wrong);
            2
        })?;
        let (started, record) = experiment.run(plan, &device.name)?;
        let judged = demand::judge(&with_demand(&started.plan, &self.text), &record);
        Ok(judged.first().and_then(|demand| Some((demand.failed, Some(demand.found?)))))
    }

    fn set_load(&self, plan: &mut Plan, value: f64) {
        for job in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
            match self.is_rate {
                true => scale_rates(job, value),
                false => job.depth.most = value as u32,
            }
        }
    }

    fn name(&self) -> &'static str {
        match self.variable {
            Variable::Load if self.is_rate => "rate",
            Variable::Load => Parameter::Depth.name(),
            Variable::Disks => "disks",
            Variable::Cap => "cap",
        }
    }

    fn value(&self, value: f64) -> String {
        match self.is_rate && self.variable == Variable::Load {
            true => format!("{} ×", significant(value)),
            false => thousands(value as u64),
        }
    }

    /// What was found, as a section of the report.
    pub fn section(&self, limits: Vec<Limit>) -> ReportSection {
        let unit = match demand::parse(&self.text).map(|condition| condition.subject) {
            Ok(demand::Subject::Job(measure)) => match measure.unit() {
                "ns" => ColumnUnit::Nanoseconds,
                "1/s" => ColumnUnit::PerSecond,
                "bytes/s" => ColumnUnit::BytesPerSecond,
                "bytes" => ColumnUnit::Bytes,
                _ => ColumnUnit::Number,
            },
            _ => ColumnUnit::Number,
        };
        let word = |end: Option<(f64, Option<f64>)>| {
            ReportCell::text(end.map_or_else(|| NONE.into(), |(value, _)| self.value(value)))
        };
        let figure = |end: Option<(f64, Option<f64>)>| ReportCell::of(end.and_then(|(_, found)| found));
        let row = |limit: &Limit| {
            vec![
                ReportCell::text(&limit.device),
                word(limit.holds),
                figure(limit.holds),
                word(limit.fails),
                figure(limit.fails),
            ]
        };
        ReportSection {
            title: format!("until {}", self.text),
            about: format!("The {} is varied.", self.name()),
            columns: vec![
                ReportColumn::new("device", ColumnUnit::Words),
                ReportColumn::new("holds at", ColumnUnit::Words),
                ReportColumn::new("there", unit),
                ReportColumn::new("fails at", ColumnUnit::Words),
                ReportColumn::new("there ", unit),
            ],
            rows: limits.iter().map(row).collect(),
            sentences: limits.iter().map(|limit| self.sentence(limit)).collect(),
            ..ReportSection::default()
        }
    }

    fn sentence(&self, limit: &Limit) -> String {
        let (device, text, name) = (&limit.device, &self.text, self.name());
        let at = |end: (f64, Option<f64>)| self.value(end.0);
        match (limit.holds, limit.fails, &limit.why) {
            (_, _, Some(why)) => format!("{device}: {why}"),
            (Some(holds), Some(_), _) if self.variable == Variable::Load => {
                format!("{device}: {text} holds up to {name} {}", at(holds))
            }
            (Some(holds), Some(_), _) => format!("{device}: {text} needs {name} {}", at(holds)),
            (Some(holds), None, _) => {
                format!("{device}: {text} holds at all that was tried, up to {}", at(holds))
            }
            (None, Some(fails), _) => {
                format!("{device}: {text} does not hold, not even at {name} {}", at(fails))
            }
            (None, None, _) => format!("{device}: cannot tell"),
        }
    }
}

fn with_demand(plan: &Plan, text: &str) -> Plan {
    let demand = Demand { text: text.into(), origin: Origin::argument("--until") };
    Plan { demands: vec![demand], ..plan.clone() }
}

fn rates(job: &Job) -> [&Rate; 4] {
    let each = &job.pace.rate;
    [&job.pace.rate_all, &each.read, &each.write, &each.trim]
}

fn scale_rates(job: &mut Job, factor: f64) {
    let each = &mut job.pace.rate;
    for rate in [&mut job.pace.rate_all, &mut each.read, &mut each.write, &mut each.trim] {
        match rate {
            Rate::Unlimited => {}
            Rate::Operations(rate) => *rate *= factor,
            Rate::Bytes(rate) => *rate = ((*rate as f64 * factor) as u64).max(1),
        }
    }
}

fn set_parts(device: &mut Device, value: f64) {
    for part in &mut device.parts {
        match &mut part.kind {
            PartKind::Raid(raid) => raid.disks = value as u32,
            PartKind::Cluster(cluster) => cluster.servers = value as u32,
            PartKind::Cloud(cloud) => (cloud.iops, cloud.burst_iops) = (value as u64, 0),
            _ => {}
        }
    }
}
