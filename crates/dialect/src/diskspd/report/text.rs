//! The text: what was asked for, and tables of processors, transfers and latencies.

use std::fmt::Write as _;

use iodyno_model::Histogram;

use super::super::settings::{
    CacheMode, Profile, TargetAccess, TestTarget, Throughput, TimeSpan, WriteContent,
};
use super::ReportContext;
use super::figures::{SpanFigures, Transfers};
use crate::date;

/// Percentiles of the table, and how they are called.
const PERCENTILES: &[(&str, f64)] = &[
    ("25th", 25.0),
    ("50th", 50.0),
    ("75th", 75.0),
    ("90th", 90.0),
    ("95th", 95.0),
    ("99th", 99.0),
    ("3-nines", 99.9),
    ("4-nines", 99.99),
    ("5-nines", 99.999),
    ("6-nines", 99.9999),
    ("7-nines", 99.99999),
    ("8-nines", 99.999999),
    ("9-nines", 99.9999999),
];

/// The command, the profile and the system.
pub fn head(context: &ReportContext) -> String {
    let stamp = date::stamp(context.began_unix_ns, 0).replace('-', "/");
    format!(
        "\nCommand Line: {}\n\n{}\nSystem information:\n\n\tcomputer name: {}\n\tstart time: {stamp} UTC\n",
        context.command,
        profile(&context.profile),
        context.host
    )
}

/// What was asked for.
pub fn profile(profile: &Profile) -> String {
    let mut text = String::from("Input parameters:\n\n");
    for (number, span) in profile.spans.iter().enumerate() {
        let _ = writeln!(text, "\ttimespan:   {}\n\t-------------", number + 1);
        parameters(&mut text, span);
        for target in &span.targets {
            target_parameters(&mut text, span, target);
        }
        text.push('\n');
    }
    text
}

fn parameters(text: &mut String, span: &TimeSpan) {
    let mut line = |words: String| {
        let _ = writeln!(text, "\t{words}");
    };
    line(format!("duration: {}s", span.duration_s));
    line(format!("warm up time: {}s", span.warm_up_s));
    line(format!("cool down time: {}s", span.cool_down_s));
    if span.is_unbound {
        line("affinity disabled".into());
    }
    if span.shows_latency {
        line("measuring latency".into());
    }
    if span.shows_deviation {
        line(format!("gathering IOPS at intervals of {}ms", span.bucket_ms));
    }
    line(format!("random seed: {}", span.seed));
    if let Some(threads) = span.threads {
        line(format!("using {threads} total threads"));
    }
}

fn target_parameters(text: &mut String, span: &TimeSpan, target: &TestTarget) {
    let _ = writeln!(text, "\tpath: '{}'", target.path);
    let mut line = |words: String| {
        let _ = writeln!(text, "\t\t{words}");
    };
    line(format!("think time: {}ms", target.think_ms));
    line(format!("burst size: {}", target.burst));
    line(match target.cache {
        CacheMode::Cached => "using software cache".into(),
        CacheMode::Unbuffered => "software cache disabled".into(),
        CacheMode::Mapped => "memory mapped I/O enabled".into(),
    });
    line(match target.is_write_through {
        true => "hardware write cache disabled, writethrough on".into(),
        false => "using hardware write cache, writethrough off".into(),
    });
    match target.content {
        WriteContent::Counting => {}
        WriteContent::Zero => line("zeroing write buffers".into()),
        WriteContent::Random(None) => line("randomizing write buffers per I/O".into()),
        WriteContent::Random(Some(bytes)) => line(format!("write buffer size: {}", sized(bytes))),
    }
    line(match target.write_percent {
        0.0 => "performing read test".into(),
        100.0 => "performing write test".into(),
        percent => format!("performing mix test (read/write ratio: {}/{percent})", 100.0 - percent),
    });
    line(format!("block size: {}", sized(target.block_bytes)));
    line(accesses(target));
    if target.base_bytes > 0 {
        line(format!("base file offset: {}", sized(target.base_bytes)));
    }
    if let Some(bytes) = target.length_bytes {
        line(format!("max file size: {}", sized(bytes)));
    }
    line(format!(
        "number of outstanding I/O operations per thread: {}",
        span.requests.unwrap_or(target.requests)
    ));
    if span.threads.is_none() {
        line(format!("threads per file: {}", target.threads));
    }
    line(format!("thread stride size: {}", sized(target.thread_stride_bytes)));
    match target.throughput {
        None => {}
        Some(Throughput::BytesPerMs(bytes)) => line(format!("throughput rate-limited to {bytes} B/ms")),
        Some(Throughput::Operations(operations)) => {
            line(format!("throughput rate-limited to {operations} IOPS"))
        }
    }
    line(format!(
        "IO priority: {}",
        ["very low", "low", "normal"][usize::from(target.priority.clamp(1, 3)) - 1]
    ));
}

fn accesses(target: &TestTarget) -> String {
    match &target.access {
        TargetAccess::Sequential { stride_bytes, is_interlocked } => {
            let kind = if *is_interlocked { "interlocked sequential" } else { "sequential" };
            format!("using {kind} I/O (stride: {})", sized(stride_bytes.unwrap_or(target.block_bytes)))
        }
        TargetAccess::Random { align_bytes, percent, distribution } => {
            let align = sized(align_bytes.unwrap_or(target.block_bytes));
            let kind = match percent {
                100 => format!("using random I/O (alignment: {align})"),
                percent => format!(
                    "using mixed random/sequential I/O ({percent}% random) (alignment/stride: {align})"
                ),
            };
            let ranges = if distribution.is_empty() {
                String::new()
            } else {
                format!(", {} ranges", distribution.len())
            };
            kind + &ranges
        }
    }
}

/// A size in the largest unit that it is a whole number of.
fn sized(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = UNITS.iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| bytes.to_string(), |(shift, name)| format!("{}{name}", bytes >> shift))
}

/// A span's results.
pub fn span(context: &ReportContext, figures: &SpanFigures) -> String {
    let span = &context.profile.spans[figures.number];
    let mut text = format!("\nResults for timespan {}:\n{}\n\n", figures.number + 1, "*".repeat(79));
    let _ = writeln!(text, "actual test time:\t{:.2}s", figures.seconds);
    let _ = writeln!(text, "thread count:\t\t{}", span.thread_count());
    let _ = writeln!(text, "proc count:\t\t{}", figures.cpus);
    processors(&mut text, figures);
    let sizes = context.sizes.get(figures.number).cloned().unwrap_or_default();
    let table = TransferTable { span, figures, sizes: &sizes };
    table.print(&mut text, "Total IO", |row| row.both(), &figures.both);
    table.print(&mut text, "Read IO", |row| row.read.clone(), &figures.read);
    table.print(&mut text, "Write IO", |row| row.write.clone(), &figures.write);
    if span.shows_latency {
        percentiles(&mut text, figures);
    }
    text
}

fn processors(text: &mut String, figures: &SpanFigures) {
    let Some((user, kernel)) = figures.cpu else { return };
    let line = "-".repeat(43);
    let usage = user + kernel;
    let _ = write!(
        text,
        "\nCPU |  Usage |  User  |  Kernel |  Idle\n{line}\navg.| {usage:6.2}%| {user:6.2}%| {kernel:7.2}%| {:6.2}%\n",
        (100.0 - usage).max(0.0)
    );
}

struct TransferTable<'a> {
    span: &'a TimeSpan,
    figures: &'a SpanFigures,
    sizes: &'a [u64],
}

impl TransferTable<'_> {
    fn print(
        &self,
        text: &mut String,
        title: &str,
        of: impl Fn(&super::figures::ThreadFigures) -> Transfers,
        all: &Transfers,
    ) {
        let mut heading = String::from("thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s ");
        if self.span.shows_latency {
            heading += "|  AvgLat  ";
        }
        if self.span.shows_deviation {
            heading += "| IopsStdDev ";
        }
        if self.span.shows_latency {
            heading += "| LatStdDev ";
        }
        heading += "|  file";
        let line = "-".repeat(heading.len() + 11);
        let _ = writeln!(text, "\n{title}\n{heading}\n{line}");
        for row in &self.figures.threads {
            let size = self.sizes.get(row.target).copied().unwrap_or(0);
            let path = &self.span.targets[row.target].path;
            let _ = writeln!(text, "{:6} | {} | {path} ({})", row.thread, self.cells(&of(row)), sized(size));
        }
        let _ = writeln!(text, "{line}\ntotal:   {}", self.cells(all));
    }

    fn cells(&self, transfers: &Transfers) -> String {
        let rate = |count: u64| self.figures.rate(count);
        let mut text = format!(
            "{:15} | {:12} | {:10.2} | {:10.2}",
            transfers.bytes,
            transfers.operations,
            rate(transfers.bytes) / f64::from(1 << 20),
            rate(transfers.operations)
        );
        if self.span.shows_latency {
            let _ = write!(text, " | {:8.3}", transfers.latency.mean() / 1e6);
        }
        if self.span.shows_deviation {
            let _ = write!(text, " | {:10.2}", transfers.deviation(self.span.bucket_ms));
        }
        if self.span.shows_latency {
            let _ = write!(text, " | {:9.3}", transfers.latency.deviation() / 1e6);
        }
        text
    }
}

fn percentiles(text: &mut String, figures: &SpanFigures) {
    text.push_str("\n\n  %-ile |  Read (ms) | Write (ms) | Total (ms)\n----------------------------------------------\n");
    let all = [&figures.read.latency, &figures.write.latency, &figures.both.latency];
    let mut row = |name: &str, of: &dyn Fn(&Histogram) -> u64| {
        let cell = |latency: &&Histogram| match latency.is_empty() {
            true => "       N/A".to_string(),
            false => format!("{:10.3}", of(latency) as f64 / 1e6),
        };
        let cells: Vec<String> = all.iter().map(cell).collect();
        let _ = writeln!(text, "{name:>7} | {}", cells.join(" | "));
    };
    row("min", &|latency| latency.min);
    for (name, percent) in PERCENTILES {
        row(name, &|latency| latency.percentile(*percent));
    }
    row("max", &|latency| latency.max);
}
