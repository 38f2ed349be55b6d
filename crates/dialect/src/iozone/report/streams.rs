//! The block of a pass of streams: what children and parent saw, the slowest and the fastest, each stream.

use std::fmt::Write as _;

use super::figures::PassFigures;
use crate::iozone::access::LabelStyle;
use crate::iozone::lower::Pass;
use crate::iozone::settings::{Settings, Unit};

/// The block; the first of a round says what the round is, that of the run how many streams there are.
pub fn block(settings: &Settings, part: Pass, figures: &PassFigures, first: bool, of_run: bool) -> String {
    let mut text = String::new();
    if first {
        text += &round(settings, part, of_run);
    }
    let cluster = !settings.clients.is_empty();
    text += if cluster { "\n\tTest running:\n" } else { "\n" };
    let Some((_, name, style)) = part.access.facts().streams else { return text };
    let unit = settings.unit();
    let per = if unit == Unit::Kilobytes { "kB/sec" } else { "ops/sec" };
    let count = match style {
        LabelStyle::Narrow => part.streams.to_string(),
        _ => format!("{:2}", part.streams),
    };
    let tab = |wide: bool| if wide { "\t\t" } else { "\t" };
    let (children, parent) = (
        tab(style == LabelStyle::WideTab),
        tab(matches!(style, LabelStyle::WideTab | LabelStyle::ParentTab)),
    );
    let seen = figures.children(unit);
    let _ = writeln!(text, "\tChildren see throughput for {count} {name} {children}= {seen:10.2} {per}");
    if !cluster {
        let seen = figures.parent(unit);
        let _ = writeln!(text, "\tParent sees throughput for {count} {name} {parent}= {seen:10.2} {per}");
    }
    spread(&mut text, settings, figures, per);
    if settings.has("+u") {
        let word = if part.access == super::Access::Write { "Utilization" } else { "utilization" };
        let (wall, cpu, percent) = figures.cpu();
        let _ = writeln!(
            text,
            "\tCPU {word}: Wall time {wall:8.3}    CPU time {cpu:8.3}    CPU utilization {percent:6.2} %\n"
        );
    }
    if settings.has("C") {
        each(&mut text, settings, figures, per);
    }
    text
}

fn round(settings: &Settings, part: Pass, of_run: bool) -> String {
    let word = if settings.has("T") { "thread" } else { "process" };
    let words = if settings.has("T") { "threads" } else { "processes" };
    let mut text = String::new();
    match of_run {
        true => {
            let many = if part.streams == 1 { word } else { words };
            let _ = writeln!(text, "\tThroughput test with {} {many}", part.streams);
        }
        false => text += "\n\n",
    }
    let (file, record) = (part.cell.file / 1024, part.cell.record / 1024);
    let _ = writeln!(text, "\tEach {word} writes a {file} kByte file in {record} kByte records");
    text
}

/// Every stream counts, also one that moved nothing.
fn spread(text: &mut String, settings: &Settings, figures: &PassFigures, per: &str) {
    let unit = settings.unit();
    let word = if settings.has("T") { "thread" } else { "process" };
    let rates = || figures.streams.iter().map(|stream| stream.rate(unit));
    let least = rates().reduce(f64::min).unwrap_or(0.0);
    let most = rates().reduce(f64::max).unwrap_or(0.0);
    let mean = rates().sum::<f64>() / figures.streams.len().max(1) as f64;
    let moved = figures.streams.iter().map(|stream| stream.amount(unit)).reduce(f64::min).unwrap_or(0.0);
    let _ = writeln!(text, "\tMin throughput per {word} \t\t\t= {least:10.2} {per} ");
    let _ = writeln!(text, "\tMax throughput per {word} \t\t\t= {most:10.2} {per}");
    let _ = writeln!(text, "\tAvg throughput per {word} \t\t\t= {mean:10.2} {per}");
    let _ = writeln!(text, "\tMin xfer \t\t\t\t\t= {moved:10.2} {}", amount(unit));
}

fn each(text: &mut String, settings: &Settings, figures: &PassFigures, per: &str) {
    let unit = settings.unit();
    for (number, stream) in figures.streams.iter().enumerate() {
        let (moved, rate) = (stream.amount(unit), stream.rate(unit));
        let word = amount(unit);
        let _ = write!(
            text,
            "\tChild[{number}] xfer count = {moved:10.2} {word}, Throughput = {rate:10.2} {per}"
        );
        if settings.has("+u") {
            let percent = if stream.wall_s > 0.0 { stream.cpu_s / stream.wall_s * 100.0 } else { 0.0 };
            let _ = write!(text, ", wall={:6.3}, cpu={:6.3}, %={percent:6.2}", stream.wall_s, stream.cpu_s);
        }
        text.push('\n');
    }
}

fn amount(unit: Unit) -> &'static str {
    if unit == Unit::Kilobytes { "kB" } else { "ops" }
}
