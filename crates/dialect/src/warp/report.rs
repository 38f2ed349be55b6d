//! warp's text: a report for each kind of requests, and the run from its beginning to the cleanup.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Event, PhaseRecord, Verb};
use iodyno_report::{Output, Reporter};

use super::aggregate::{FirstByteTimes, HostSums, KindSums, RequestTimes, SecondRate, Seconds, Sums, sums};
use super::json;
use super::pack::packed;
use super::requests::{RequestLog, all, table};
use super::settings::go_time;
use super::test::Telling;
use crate::date::clock_with_zone;
use crate::strerror;

const MIB: f64 = 1_048_576.0;

/// The line between two reports.
const RULE: &str = "\n──────────────────────────────────\n\n";

/// Writes the report of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    telling: Telling,
    /// The command as it was given, without secrets.
    command: String,
    /// Whom requests are by: four letters.
    client: String,
    /// The file of results, and whether every request stands in it.
    file: String,
    is_full: bool,
    /// By phase and job.
    logs: Vec<Vec<RequestLog>>,
    /// Failures of the phases before, by verb.
    failed: Vec<(Verb, i32, u64)>,
    removes: bool,
    line_unix_ns: u64,
}

/// What a report begins with.
#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    pub telling: Telling,
    pub command: String,
    pub client: String,
    pub file: String,
    pub is_full: bool,
    pub logs: Vec<Vec<RequestLog>>,
    pub removes: bool,
}

impl Report {
    pub fn new(context: ReportContext) -> Report {
        let ReportContext { telling, command, client, file, is_full, logs, removes } = context;
        Report { telling, command, client, file, is_full, logs, removes, failed: Vec::new(), line_unix_ns: 0 }
    }

    fn say(&self, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        match self.telling.quiet {
            true => Ok(()),
            false => writeln!(output.out, "warp: {text}"),
        }
    }

    fn phase(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let errors = phase.jobs.iter().flat_map(|job| &job.tally.errors);
        self.failed.extend(errors.map(|error| (error.verb, error.errno, error.count)));
        if phase.index + 1 < self.logs.len() {
            return Ok(());
        }
        let mut requests: Vec<_> =
            std::mem::take(&mut self.logs).iter().flat_map(|logs| all(logs, &self.client)).collect();
        requests.sort_by_key(|request| request.began);
        let mut sums = sums(&requests, &self.command);
        for (verb, errno, count) in std::mem::take(&mut self.failed) {
            let words = format!("{}: {}", verb.name(), strerror::of(errno));
            let kind = super::requests::kind(verb).unwrap_or("GET");
            sums.by_kind.entry(kind.into()).or_default().add_failures(count, words.clone());
            sums.total.add_failures(count, words);
        }
        let (ending, bytes) = match self.is_full {
            true => ("csv.zst", packed(table(&requests, &self.command).as_bytes())),
            false => ("json.zst", packed(json::of(&sums).as_bytes())),
        };
        let path = format!("{}.{ending}", self.file);
        output.files.file(&path)?.write_all(&bytes)?;
        output.files.close(&path)?;
        self.say(&format!("Benchmark data written to \"{path}\"\n"), output)?;
        let told = match super::analyze::filtered(&requests, &self.telling) {
            Some(requests) => super::aggregate::sums(&requests, &self.command),
            None => sums,
        };
        if let Some(path) = &self.telling.segments {
            output.files.file(path)?.write_all(segments(&told).as_bytes())?;
            output.files.close(path)?;
        }
        write!(output.out, "{}", text(&told, &self.telling))?;
        output.out.flush()
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(_) => self.say("Preparing server.", output),
            Event::PhaseStarted { index, count, .. } if index + 1 < *count => {
                self.say("Uploading the object's parts.", output)
            }
            Event::PhaseStarted { .. } => {
                self.say("Benchmark starting...", output)?;
                output.out.flush()
            }
            Event::Journal(part) => {
                // The start line by the clock of the wall.
                let wall = part.clocks.iter().find(|(clock, _)| *clock == 0).map(|(_, ns)| *ns);
                self.line_unix_ns = wall.unwrap_or(self.line_unix_ns);
                let line = self.line_unix_ns;
                self.logs
                    .get_mut(part.phase)
                    .and_then(|logs| logs.get_mut(part.job))
                    .into_iter()
                    .for_each(|log| log.add(part, line));
                Ok(())
            }
            Event::PhaseEnded(phase) => self.phase(phase, output),
            Event::Message(wrong) => {
                let _ = writeln!(output.err, "{wrong}");
                Ok(())
            }
            Event::Ended(_) if self.removes => self.say("Cleanup Done.", output),
            _ => Ok(()),
        }
    }
}

/// The whole text of some sums, or their JSON.
pub fn text(sums: &Sums, telling: &Telling) -> String {
    if telling.json {
        return json::of(sums) + "\n";
    }
    let wanted = |kind: &str| telling.operation.as_ref().is_none_or(|wanted| wanted == kind);
    let mut reports: Vec<String> = sums
        .by_kind
        .iter()
        .filter(|(kind, _)| wanted(kind))
        .map(|(kind, sums)| report(kind, sums, telling, true))
        .collect();
    let mixed = sums.is_mixed().then(|| report("Total", &sums.total, telling, false));
    let total = mixed.map(|total| format!("{RULE}{total}")).unwrap_or_default();
    let last = reports.pop().unwrap_or_default();
    reports.push(format!("{last}\n"));
    format!("\n{}{total}", reports.join(RULE))
}

/// The report of one kind of requests.
fn report(kind: &str, sums: &KindSums, telling: &Telling, with_times: bool) -> String {
    let Some(seconds) = sums.seconds.as_ref().filter(|seconds| seconds.each.len() > 1) else {
        let mut text = format!(
            "Skipping {kind} too few samples. Longer benchmark run required for reliable results.\n\n"
        );
        if sums.errors > 0 {
            let _ = writeln!(text, "Errors: {}", sums.errors);
            text += &first_errors(sums, telling, "- First Errors:\n", " * ");
            text += "\n";
        }
        return text;
    };
    let mut text = head(kind, sums, seconds, telling);
    let _ = writeln!(text, " * Average: {}", rate(seconds, telling));
    if sums.errors > 0 {
        let _ = writeln!(text, " * Errors: {}", sums.errors);
        text += &first_errors(sums, telling, " - First Errors:\n", "   * ");
    }
    if let Some(times) = sums.times().filter(|_| with_times) {
        let _ = writeln!(text, " * Reqs: {}", request_times(&times));
        if let Some(first_byte) = sums.first_byte() {
            let _ = writeln!(text, " * TTFB: {}", first_byte_times(&first_byte));
        }
    }
    text += "\n";
    if sums.hosts.len() > 1 {
        text += "Throughput by host:\n";
        for (host, sums) in &sums.hosts {
            let _ = write!(text, " * {host}: Avg: {}", host_rate(sums, telling));
            if sums.errors > 0 {
                let _ = write!(text, " - Errors: {}", sums.errors);
            }
            text += "\n";
        }
        text += "\n";
    }
    let _ = writeln!(text, "Throughput, split into {} x 1s:", seconds.each.len());
    for (name, second) in ["Fastest", "50% Median", "Slowest"].iter().zip(seconds.ranked()) {
        let _ = writeln!(text, " * {name}: {}", second_rate(&second, telling));
    }
    text
}

fn head(kind: &str, sums: &KindSums, seconds: &Seconds, telling: &Telling) -> String {
    let ran = go_time(seconds.each.len() as u64 * 1_000_000_000);
    if !telling.details {
        return format!("Report: {kind}. Concurrency: {}. Ran: {ran}\n", sums.threads);
    }
    let began = clock_with_zone(seconds.first_s * 1_000_000_000, telling.east_s);
    let hosts = if sums.hosts.len() > 1 { format!(" Hosts: {}.", sums.hosts.len()) } else { String::new() };
    let size = match sums.bytes / sums.objects.max(1) {
        0 => String::new(),
        bytes => format!("Size: {bytes} bytes. "),
    };
    format!(
        "Report: {kind} ({} reqs). Ran Duration: {ran}, starting {began}\n * Objects per request: {}. {size}Concurrency: {}.{hosts}\n",
        sums.requests,
        sums.objects / sums.requests.max(1),
        sums.threads
    )
}

fn first_errors(sums: &KindSums, telling: &Telling, heading: &str, mark: &str) -> String {
    if !telling.details {
        return String::new();
    }
    let lines: String = sums.first_errors.iter().map(|error| format!("{mark}{error}\n")).collect();
    format!("{heading}{lines}")
}

fn bytes_and_objects(bytes_per_s: f64, objects_per_s: f64, errors: u64, seconds: Option<u64>) -> String {
    let bytes = if bytes_per_s > 0.0 { format!("{:.2} MiB/s, ", bytes_per_s / MIB) } else { String::new() };
    let errors = if errors > 0 { format!(", {errors} errors") } else { String::new() };
    let seconds = seconds.map(|seconds| format!(" ({seconds}s)")).unwrap_or_default();
    format!("{bytes}{objects_per_s:.2} obj/s{errors}{seconds}")
}

fn rate(seconds: &Seconds, telling: &Telling) -> String {
    let length = telling.details.then_some(seconds.each.len() as u64);
    bytes_and_objects(seconds.bytes_per_s(), seconds.objects_per_s(), seconds.errors, length)
}

/// Of a host all requests count, from the first one's beginning to the last one's end, in whole ms.
fn host_rate(sums: &HostSums, telling: &Telling) -> String {
    let ms = (sums.ended.saturating_sub(sums.began) / 1_000_000).max(1);
    let per_s = |count: u64| 1000.0 * count as f64 / ms as f64;
    let length = telling.details.then_some((ms + 500) / 1000);
    bytes_and_objects(per_s(sums.bytes), per_s(sums.objects), sums.errors, length)
}

fn second_rate(second: &SecondRate, telling: &Telling) -> String {
    let bytes = if second.bytes > 0.0 { format!("{}, ", throughput(second.bytes)) } else { String::new() };
    let when = match telling.details {
        true => {
            let at = clock_with_zone(second.at_s * 1_000_000_000, telling.east_s);
            format!(" (1s, starting {at})")
        }
        false => String::new(),
    };
    format!("{bytes}{:.2} obj/s{when}", second.objects)
}

/// Bytes per second in the unit that fits.
pub fn throughput(bytes_per_s: f64) -> String {
    let scaled = |power: i32| bytes_per_s / 1024_f64.powi(power);
    match bytes_per_s {
        ..2048.0 => format!("{bytes_per_s:.1}B/s"),
        ..2_097_152.0 => format!("{:.1}KiB/s", scaled(1)),
        ..10_737_418_240.0 => format!("{:.1}MiB/s", scaled(2)),
        ..10_995_116_277_760.0 => format!("{:.2}GiB/s", scaled(3)),
        _ => format!("{:.2}TiB/s", scaled(4)),
    }
}

fn request_times(times: &RequestTimes) -> String {
    let RequestTimes { mean, median, p90, p99, fastest, slowest, deviation } = times;
    format!(
        "Avg: {mean:.1}ms, 50%: {median:.1}ms, 90%: {p90:.1}ms, 99%: {p99:.1}ms, Fastest: {fastest:.1}ms, \
         Slowest: {slowest:.1}ms, StdDev: {deviation:.1}ms"
    )
}

fn first_byte_times(first_byte: &FirstByteTimes) -> String {
    let ms = |ms: f64| go_time(ms.round() as u64 * 1_000_000);
    let times = &first_byte.times;
    format!(
        "Avg: {}, Best: {}, 25th: {}, Median: {}, 75th: {}, 90th: {}, 99th: {}, Worst: {} StdDev: {}",
        ms(times.mean),
        ms(times.fastest),
        ms(first_byte.p25),
        ms(times.median),
        ms(first_byte.p75),
        ms(times.p90),
        ms(times.p99),
        ms(times.slowest),
        ms(times.deviation)
    )
}

/// The seconds of all kinds, as a table.
pub fn segments(sums: &Sums) -> String {
    let mut text =
        "index\top\tduration_s\tbytes\terrors\tmb_per_sec\tobjs_per_sec\tstart_time\tend_time\n".to_string();
    for (kind, sums) in &sums.by_kind {
        let each = sums.seconds.iter().flat_map(|seconds| &seconds.each);
        for (index, second) in each.enumerate() {
            let at = |s: u64| crate::date::rfc3339(s * 1_000_000_000);
            let _ = writeln!(
                text,
                "{index}\t{kind}\t1\t{:.0}\t{}\t{:.2}\t{:.2}\t{}\t{}",
                second.bytes,
                second.errors,
                second.bytes / MIB,
                second.objects,
                at(second.at_s),
                at(second.at_s + 1)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::requests::WarpRequest;
    use super::*;

    /// 20 requests of 1 MiB in each of so many seconds, by two threads and hosts, each 50 ms long.
    fn run(seconds: u64, kind: &str, bytes: u64) -> Vec<WarpRequest> {
        let request = |number: u64| WarpRequest {
            kind: kind.into(),
            thread: (number % 2) as u32,
            client: "abcd".into(),
            objects: 1,
            bytes,
            host: format!("http://h{}:9000", number % 2),
            began: 1_795_306_500_000_000_000 + number * 50_000_000,
            first_byte: (kind == "GET").then_some(1_795_306_500_002_000_000 + number * 50_000_000),
            ended: 1_795_306_500_049_000_000 + number * 50_000_000,
            ..WarpRequest::default()
        };
        (0..seconds * 20).map(request).collect()
    }

    #[test]
    fn a_report_has_warps_lines() {
        let all = text(&sums(&run(12, "GET", 1 << 20), ""), &Telling::default());
        assert_eq!(
            all,
            "\nReport: GET. Concurrency: 2. Ran: 8s\n * Average: 20.00 MiB/s, 20.00 obj/s\n \
             * Reqs: Avg: 49.0ms, 50%: 49.0ms, 90%: 49.0ms, 99%: 49.0ms, Fastest: 49.0ms, Slowest: 49.0ms, StdDev: 0.0ms\n \
             * TTFB: Avg: 2ms, Best: 2ms, 25th: 2ms, Median: 2ms, 75th: 2ms, 90th: 2ms, 99th: 2ms, Worst: 2ms StdDev: 0s\n\n\
             Throughput by host:\n * http://h0:9000: Avg: 10.04 MiB/s, 10.04 obj/s\n * http://h1:9000: Avg: 10.04 MiB/s, 10.04 obj/s\n\n\
             Throughput, split into 8 x 1s:\n * Fastest: 20.0MiB/s, 20.00 obj/s\n * 50% Median: 20.0MiB/s, 20.00 obj/s\n \
             * Slowest: 20.0MiB/s, 20.00 obj/s\n\n"
        );
    }

    #[test]
    fn details_tell_when_and_of_how_much() {
        let telling = Telling { details: true, east_s: 3600, ..Telling::default() };
        let all = text(&sums(&run(12, "STAT", 0), ""), &telling);
        for line in [
            "Report: STAT (240 reqs). Ran Duration: 8s, starting 01:15:02 +01",
            " * Objects per request: 1. Concurrency: 2. Hosts: 2.",
            " * Average: 20.00 obj/s (8s)",
            " * Slowest: 20.00 obj/s (1s, starting 01:15:02 +01)",
        ] {
            assert!(all.lines().any(|other| other == line), "{line}\n{all}");
        }
    }

    #[test]
    fn mixed_requests_have_a_total_and_what_failed_is_told() {
        let mut requests = run(12, "GET", 1000);
        requests.extend(run(12, "PUT", 1000));
        let mut mixed = sums(&requests, "");
        mixed.by_kind.get_mut("PUT").unwrap().add_failures(3, "create: No space left on device".into());
        let all = text(&mixed, &Telling { details: true, ..Telling::default() });
        assert!(all.contains(&format!("{RULE}Report: PUT (243 reqs)")), "{all}");
        assert!(all.contains(" * Errors: 3\n - First Errors:\n   * create: No space left"), "{all}");
        assert!(all.contains(&format!("\n{RULE}Report: Total (480 reqs)")), "{all}");
        let only = text(&mixed, &Telling { operation: Some("GET".into()), ..Telling::default() });
        assert!(!only.contains("Report: PUT"), "{only}");
        let few = text(&sums(&run(3, "GET", 1), ""), &Telling::default());
        assert!(few.starts_with("\nSkipping GET too few samples. "), "{few}");
    }

    #[test]
    fn throughput_changes_its_unit_where_warps_does() {
        for (bytes, text) in [
            (2047.0, "2047.0B/s"),
            (2048.0, "2.0KiB/s"),
            (1_048_576.0 * 3.0, "3.0MiB/s"),
            (11.0 * 1_073_741_824.0, "11.00GiB/s"),
        ] {
            assert_eq!(throughput(bytes), text);
        }
    }
}
