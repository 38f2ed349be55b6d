//! The XML result: the system, the profile, and the figures of each time span.

use iodyno_model::Histogram;

use super::super::element::Element;
use super::super::settings::TimeSpan;
use super::super::{VERSION, profile};
use super::ReportContext;
use super::figures::{SpanFigures, ThreadFigures, Transfers};
use crate::date;

/// The document.
pub fn results(context: &ReportContext, spans: &[SpanFigures]) -> String {
    let stamp = date::stamp(context.began_unix_ns, 0).replace('-', "/");
    let tool = vec![Element::leaf("Version", VERSION), Element::leaf("VersionDate", "iodyno")];
    let system = Element::new(
        "System",
        vec![
            Element::leaf("ComputerName", &context.host),
            Element::new("Tool", tool),
            Element::leaf("RunTime", format!("{stamp} UTC")),
        ],
    );
    let mut parts = vec![system, profile::element(&context.profile)];
    parts.extend(spans.iter().map(|figures| span(context, figures)));
    let mut out = String::new();
    Element::new("Results", parts).print(0, &mut out);
    out
}

fn span(context: &ReportContext, figures: &SpanFigures) -> Element {
    let span = &context.profile.spans[figures.number];
    let mut parts = vec![
        Element::leaf("TestTimeSeconds", format!("{:.2}", figures.seconds)),
        Element::leaf("ThreadCount", span.thread_count()),
        Element::leaf("RequestCount", span.requests.unwrap_or(0)),
        Element::leaf("ProcCount", figures.cpus),
    ];
    parts.extend(figures.cpu.map(processors));
    if span.shows_latency {
        parts.push(latencies(figures));
    }
    if span.shows_deviation {
        parts.push(rates(span, figures));
    }
    let mut rows = figures.threads.as_slice();
    while let Some(first) = rows.first() {
        let count = rows.iter().take_while(|row| row.thread == first.thread).count();
        let (own, rest) = rows.split_at(count);
        let targets = own.iter().map(|row| target(context, span, figures.number, row));
        let parts_of = std::iter::once(Element::leaf("Id", first.thread)).chain(targets).collect();
        parts.push(Element::new("Thread", parts_of));
        rows = rest;
    }
    Element::new("TimeSpan", parts)
}

fn processors((user, kernel): (f64, f64)) -> Element {
    let percent = |name: &str, value: f64| Element::leaf(name, format!("{value:.2}"));
    Element::new(
        "CpuUtilization",
        vec![Element::new(
            "Average",
            vec![
                percent("UsagePercent", user + kernel),
                percent("UserPercent", user),
                percent("KernelPercent", kernel),
                percent("IdlePercent", (100.0 - user - kernel).max(0.0)),
            ],
        )],
    )
}

fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

fn latencies(figures: &SpanFigures) -> Element {
    let kinds = [
        ("Read", &figures.read.latency),
        ("Write", &figures.write.latency),
        ("Total", &figures.both.latency),
    ];
    let mut parts = Vec::new();
    for (name, latency) in kinds.iter().filter(|(_, latency)| !latency.is_empty()) {
        parts.push(Element::leaf(&format!("Average{name}Milliseconds"), ms(latency.mean())));
        let kind = if *name == "Total" { "" } else { name };
        parts.push(Element::leaf(&format!("{kind}LatencyStdev"), ms(latency.deviation())));
    }
    let nines = [99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999999, 99.9999999, 100.0];
    let percents = (0..100).map(f64::from).chain(nines);
    parts.extend(percents.map(|percent| {
        let at = |latency: &Histogram| match percent {
            0.0 => latency.min,
            100.0 => latency.max,
            percent => latency.percentile(percent),
        };
        let cell = |(name, latency): &(&str, &Histogram)| {
            Element::leaf(&format!("{name}Milliseconds"), ms(at(latency) as f64))
        };
        let cells = kinds.iter().filter(|(_, latency)| !latency.is_empty()).map(cell);
        Element::new("Bucket", std::iter::once(Element::leaf("Percentile", percent)).chain(cells).collect())
    }));
    Element::new("Latency", parts)
}

fn rates(span: &TimeSpan, figures: &SpanFigures) -> Element {
    let deviation = |name: &str, transfers: &Transfers| {
        Element::leaf(name, format!("{:.3}", transfers.deviation(span.bucket_ms)))
    };
    let mut parts = vec![
        deviation("ReadIopsStdDev", &figures.read),
        deviation("WriteIopsStdDev", &figures.write),
        deviation("IopsStdDev", &figures.both),
    ];
    let rate = |transfers: &Transfers, at: usize| {
        let count = transfers.buckets.get(at).copied().unwrap_or(0);
        format!("{:.0}", count as f64 * 1000.0 / span.bucket_ms as f64)
    };
    parts.extend((0..figures.both.buckets.len()).map(|at| {
        Element::new("Bucket", Vec::new())
            .with("SampleMillisecond", (at as u64 + 1) * span.bucket_ms)
            .with("Read", rate(&figures.read, at))
            .with("Write", rate(&figures.write, at))
            .with("Total", rate(&figures.both, at))
    }));
    Element::new("Iops", parts)
}

fn target(context: &ReportContext, span: &TimeSpan, number: usize, row: &ThreadFigures) -> Element {
    let both = row.both();
    let size = context.sizes.get(number).and_then(|sizes| sizes.get(row.target)).copied().unwrap_or(0);
    let mut parts = vec![
        Element::leaf("Path", &span.targets[row.target].path),
        Element::leaf("BytesCount", both.bytes),
        Element::leaf("FileSize", size),
        Element::leaf("IOCount", both.operations),
        Element::leaf("ReadBytes", row.read.bytes),
        Element::leaf("ReadCount", row.read.operations),
        Element::leaf("WriteBytes", row.write.bytes),
        Element::leaf("WriteCount", row.write.operations),
    ];
    if span.shows_latency {
        for (name, transfers) in [("Read", &row.read), ("Write", &row.write), ("", &both)] {
            parts.push(Element::leaf(
                &format!("Average{name}LatencyMilliseconds"),
                ms(transfers.latency.mean()),
            ));
            parts.push(Element::leaf(&format!("{name}LatencyStdev"), ms(transfers.latency.deviation())));
        }
    }
    if span.shows_deviation {
        for (name, transfers) in [("Read", &row.read), ("Write", &row.write), ("", &both)] {
            parts.push(Element::leaf(
                &format!("{name}IopsStdDev"),
                format!("{:.3}", transfers.deviation(span.bucket_ms)),
            ));
        }
    }
    Element::new("Target", parts)
}
