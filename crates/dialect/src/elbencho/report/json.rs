//! A line of JSON for each phase, in which every value is a text and a slash has a backslash before it, as elbencho writes it.

use std::fmt::Write as _;

use iodyno_model::Histogram;

use super::latency::{Buckets, extremes};
use crate::date;
use crate::elbencho::VERSION;
use crate::elbencho::results::{Counts, PhaseTotals};
use crate::elbencho::test::BenchmarkPaths;
use crate::elbencho::view::ReportContext;

/// An object, member by member.
#[derive(Default)]
struct JsonObject(Vec<(String, String)>);

impl JsonObject {
    fn put(&mut self, name: &str, value: impl ToString) {
        self.0.push((name.into(), quoted(&value.to_string())));
    }

    /// A member that has something in it.
    fn put_tree(&mut self, name: &str, tree: JsonObject) {
        if !tree.0.is_empty() {
            self.0.push((name.into(), tree.text()));
        }
    }

    fn text(&self) -> String {
        let members: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
        format!("{{{}}}", members.join(","))
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' | '/' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter if letter < ' ' => {
                let _ = write!(quoted, "\\u{:04X}", letter as u32);
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

/// The line of a phase.
pub fn phase(
    view: &ReportContext,
    index: usize,
    name: &str,
    began_unix_ns: u64,
    totals: &PhaseTotals,
) -> String {
    let mut all = JsonObject::default();
    all.put("phase_type", name);
    all.put("phase_id", uuid(view.number, index));
    if let Some(label) = view.test.settings.text("label").filter(|label| !label.is_empty()) {
        all.put("label", label);
    }
    all.put("iso_start_date", date::iso_local(began_unix_ns, view.east_s, true));
    all.put_tree("config", config(view));
    let done = |of: fn(&PhaseTotals) -> (u64, Counts, Counts)| done(of(totals), totals);
    all.put_tree("first_done", done(|totals| (totals.first_us, totals.main.first, totals.mixed.first)));
    let mut last = done(|totals| (totals.last_us, totals.main.last, totals.mixed.last));
    last.put_tree("latency", latencies(view, totals));
    all.put_tree("last_done", last);
    all.text() + "\n\n"
}

fn config(view: &ReportContext) -> JsonObject {
    let test = &view.test;
    let mut config = JsonObject::default();
    config.put("path_type", test.kind.word());
    config.put("paths", test.paths.len());
    config.put("hosts", test.hosts);
    config.put("threads", test.threads);
    if test.kind.has_entries() {
        config.put("dirs", test.dirs);
        config.put("files", test.files);
    }
    config.put("file_size", test.bytes);
    config.put("block_size", test.block);
    config.put("direct_io", test.flag("direct"));
    config.put("random_offsets", test.flag("rand"));
    if test.flag("rand") {
        config.put("random_aligned", !test.flag("norandalign"));
    }
    config.put("io_depth", test.settings.count("iodepth"));
    if test.hosts > 1 {
        config.put("shared_service_paths", true);
    }
    if matches!(test.kind, BenchmarkPaths::Directories | BenchmarkPaths::Files) {
        config.put("truncate_files", test.flag("trunc"));
    }
    config.put("version", VERSION);
    config.put("command", view.command.replace(',', " "));
    config
}

fn done((us, main, mixed): (u64, Counts, Counts), totals: &PhaseTotals) -> JsonObject {
    let mut tree = JsonObject::default();
    tree.put("elapsed_time_ms", us / 1000);
    counts(&mut tree, us, main, totals.main.last);
    let mut reads = JsonObject::default();
    counts(&mut reads, us, mixed, totals.mixed.last);
    tree.put_tree("rwmix_read", reads);
    tree.put("cpu%", totals.cpu_percent.unwrap_or(0.0) as u64);
    tree
}

/// Rates, then amounts, of what was done at all.
fn counts(tree: &mut JsonObject, us: u64, counts: Counts, all: Counts) {
    let rates = counts.per_second(us);
    for (name, rate, is_told) in [
        ("entries/s", rates.entries, all.entries),
        ("iops", rates.operations, all.operations),
        ("bytes/s", rates.bytes, all.bytes),
        ("entries", counts.entries, all.entries),
        ("bytes", counts.bytes, all.bytes),
    ] {
        if is_told > 0 {
            tree.put(name, rate);
        }
    }
}

fn latencies(view: &ReportContext, totals: &PhaseTotals) -> JsonObject {
    let mut all = JsonObject::default();
    let of = |main: &Histogram, mixed: &Histogram| {
        let mut tree = extremes_of(view, main);
        tree.put_tree("rwmix_read", extremes_of(view, mixed));
        if view.test.flag("lathisto") && !main.is_empty() {
            let mut histogram = buckets(main);
            if !mixed.is_empty() {
                histogram.put_tree("rwmix_read", buckets(mixed));
            }
            tree.put_tree("histogram", histogram);
        }
        tree
    };
    all.put_tree("entries", of(&totals.main.entries, &totals.mixed.entries));
    all.put_tree("IO", of(&totals.main.operations, &totals.mixed.operations));
    all
}

fn extremes_of(view: &ReportContext, latency: &Histogram) -> JsonObject {
    let mut tree = JsonObject::default();
    if view.test.flag("lat") && !latency.is_empty() {
        let [min, avg, max] = extremes(latency);
        tree.put("min_us", min);
        tree.put("avg_us", avg);
        tree.put("max_us", max);
    }
    tree
}

fn buckets(latency: &Histogram) -> JsonObject {
    let one = |(range, count): (String, u64)| {
        let mut bucket = JsonObject::default();
        bucket.put("range", range);
        bucket.put("count", count);
        bucket.text()
    };
    let all: Vec<String> = Buckets::of(latency).ranges().into_iter().map(one).collect();
    JsonObject(vec![("buckets".into(), format!("[{}]", all.join(",")))])
}

/// What tells phases apart: a number of the run with the phase's own, as a random UUID is written.
fn uuid(mut number: [u8; 16], index: usize) -> String {
    number[15] ^= index as u8;
    number[14] ^= (index >> 8) as u8;
    number[6] = number[6] & 0x0f | 0x40;
    number[8] = number[8] & 0x3f | 0x80;
    let hex: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
