//! A line of CSV for each phase: the test, then the results.

use super::latency::extremes;
use crate::date;
use crate::elbencho::VERSION;
use crate::elbencho::results::{Counts, DirectionTotals, PhaseTotals};
use crate::elbencho::test::{BenchmarkPaths, ElbenchoTest};
use crate::elbencho::view::ReportContext;

const MIB: u64 = 1 << 20;

/// Columns, each with its value: empty where the phase has none.
type Columns = Vec<(String, String)>;

/// The names of all columns.
pub fn head(view: &ReportContext) -> String {
    let all = columns(view, "", 0, &PhaseTotals::default());
    all.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(",") + "\n"
}

/// The line of a phase.
pub fn phase(view: &ReportContext, name: &str, began_unix_ns: u64, totals: &PhaseTotals) -> String {
    let all = columns(view, name, began_unix_ns, totals);
    all.into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(",") + "\n"
}

fn columns(view: &ReportContext, name: &str, began_unix_ns: u64, totals: &PhaseTotals) -> Columns {
    let mut all = vec![("ISO date".into(), date::iso_local(began_unix_ns, view.east_s, true))];
    all.extend(test_columns(&view.test));
    let plain = |name: &str, value: String| (name.to_string(), value);
    all.push(plain("operation", name.into()));
    all.push(plain("time ms [first]", (totals.first_us / 1000).to_string()));
    all.push(plain("time ms [last]", (totals.last_us / 1000).to_string()));
    rates(&mut all, "", &totals.main, totals);
    let cpu = (totals.cpu_percent.unwrap_or(0.0) as u64).to_string();
    all.push(plain("CPU% [first]", cpu.clone()));
    all.push(plain("CPU% [last]", cpu));
    amounts(&mut all, "", &totals.main);
    latencies(&mut all, "", &totals.main);
    rates(&mut all, "rwmix read ", &totals.mixed, totals);
    amounts(&mut all, "rwmix read ", &totals.mixed);
    latencies(&mut all, "rwmix read ", &totals.mixed);
    all.push(plain("version", VERSION.into()));
    all.push(plain("command", view.command.replace(',', " ")));
    all
}

fn test_columns(test: &ElbenchoTest) -> Columns {
    let entries = test.kind.has_entries();
    let number = |is: bool, number: u64| if is { number.to_string() } else { String::new() };
    let flag = |is: bool, name: &str| number(is, u64::from(test.flag(name)));
    let cut = test.kind == BenchmarkPaths::Directories || test.kind == BenchmarkPaths::Files;
    let aligned = number(test.flag("rand"), u64::from(!test.flag("norandalign")));
    [
        ("label", test.settings.text("label").unwrap_or_default().replace(',', " ")),
        ("path type", test.kind.word().into()),
        ("paths", test.paths.len().to_string()),
        ("hosts", test.hosts.to_string()),
        ("threads", test.threads.to_string()),
        ("dirs", number(entries, test.dirs)),
        ("files", number(entries, test.files)),
        ("file size", test.bytes.to_string()),
        ("block size", test.block.to_string()),
        ("direct IO", flag(true, "direct")),
        ("random", flag(true, "rand")),
        ("random aligned", aligned),
        ("IO depth", test.settings.count("iodepth").to_string()),
        ("shared paths", number(test.hosts > 1, 1)),
        ("truncate", flag(cut, "trunc")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_string(), value))
    .collect()
}

/// Two columns, of when the first thread was done and when all were; empty where nothing was done.
fn pair(all: &mut Columns, name: &str, is_told: bool, first: u64, last: u64) {
    for (when, number) in [("first", first), ("last", last)] {
        all.push((format!("{name} [{when}]"), if is_told { number.to_string() } else { String::new() }));
    }
}

fn rates(all: &mut Columns, of: &str, direction: &DirectionTotals, totals: &PhaseTotals) {
    let (first, last) =
        (direction.first.per_second(totals.first_us), direction.last.per_second(totals.last_us));
    let Counts { entries, operations, bytes } = direction.last;
    pair(all, &format!("{of}entries/s"), entries > 0, first.entries, last.entries);
    pair(all, &format!("{of}IOPS"), operations > 0, first.operations, last.operations);
    pair(all, &format!("{of}MiB/s"), bytes > 0, first.bytes / MIB, last.bytes / MIB);
}

fn amounts(all: &mut Columns, of: &str, direction: &DirectionTotals) {
    let (first, last) = (direction.first, direction.last);
    pair(all, &format!("{of}entries"), last.entries > 0, first.entries, last.entries);
    pair(all, &format!("{of}MiB"), last.bytes > 0, first.bytes / MIB, last.bytes / MIB);
}

fn latencies(all: &mut Columns, of: &str, direction: &DirectionTotals) {
    for (kind, latency) in [("Ent", &direction.entries), ("IO", &direction.operations)] {
        for (which, us) in ["min", "avg", "max"].iter().zip(extremes(latency)) {
            let value = if latency.is_empty() { String::new() } else { us.to_string() };
            all.push((format!("{of}{kind} lat us [{which}]"), value));
        }
    }
}
