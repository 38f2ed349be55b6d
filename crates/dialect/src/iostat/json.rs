//! The document that `-o JSON` prints: one object of one host, a member of its list for each report.
//!
//! It is written as it comes, so that a run without an end can be followed; figures always have two digits.

use std::io::{self, Write};

use iodyno_model::CpuShares;
use iodyno_report::metrics::shares;

use super::cell::FigureStyle;
use super::columns::Column;
use super::figures::Interval;

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes what stands before the first report: host, system, release and architecture, processors, date.
pub fn head(out: &mut dyn Write, names: &[&str; 4], cpus: u32, date: &str) -> io::Result<()> {
    writeln!(out, "{{\"sysstat\": {{\n\t\"hosts\": [\n\t\t{{")?;
    for (key, value) in ["nodename", "sysname", "release", "machine"].iter().zip(names) {
        writeln!(out, "\t\t\t\"{key}\": {},", quoted(value))?;
    }
    writeln!(out, "\t\t\t\"number-of-cpus\": {cpus},\n\t\t\t\"date\": {},", quoted(date))?;
    writeln!(out, "\t\t\t\"statistics\": [")
}

/// Writes a report; `follows`: another stands before it.
pub fn statistics(
    out: &mut dyn Write,
    follows: bool,
    time: Option<&str>,
    cpu: Option<&CpuShares>,
    disks: Option<Vec<String>>,
) -> io::Result<()> {
    const INDENT: &str = "\t\t\t\t\t";
    let mut members = Vec::new();
    members.extend(time.map(|time| format!("{INDENT}\"timestamp\": {}", quoted(time))));
    members.extend(cpu.map(|cpu| {
        let shares = shares(cpu).map(|(key, share)| format!("\"{key}\": {share:.2}"));
        format!("{INDENT}\"avg-cpu\":  {{{}}}", shares.join(", "))
    }));
    members.extend(disks.map(|rows| format!("{INDENT}\"disk\": [\n{}\n{INDENT}]", rows.join(",\n"))));
    let comma = if follows { ",\n" } else { "" };
    write!(out, "{comma}\t\t\t\t{{\n{}\n\t\t\t\t}}", members.join(",\n"))
}

pub fn device(interval: &Interval, keys: &[Column], style: &FigureStyle) -> String {
    let mut text = format!("\t\t\t\t\t\t{{\"disk_device\": {}", quoted(&interval.name));
    for column in keys {
        let value = (column.value)(interval);
        let (value, decimals) = style.scaled(column.quantity, value, 2);
        text += &format!(", \"{}\": {value:.decimals$}", column.key(style.unit));
    }
    text + "}"
}

/// Writes what stands after the last report.
pub fn tail(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n\t\t\t]\n\t\t}}\n\t]\n}}}}")
}
