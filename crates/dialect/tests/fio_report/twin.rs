//! The real fio beside ours: its JSON is made into a record, and our text of that record is compared with its own.

use std::process::Command;

use iodyno_dialect::fio::view::{
    Format, JobView, ReportContext, ReportFigures, ReportStyle, UnifiedReporting,
};
use iodyno_model::*;
use serde_json::Value;
use testbed::{Outcome, Skip};

use crate::stage::{ended, histogram, plan, started, written};

/// A run of fio, and how our dialect sees it.
pub struct Twin {
    name: &'static str,
    arguments: &'static str,
    view: ReportContext,
}

/// Numbers that cannot be had from JSON: of the process, of the moment, and deviations.
const UNKNOWN: [&str; 10] =
    ["pid=", "stdev=", "timestamp", "time", "bw_dev", "iops_stddev", "stddev", "elapsed", "eta", "slope"];

/// Whether fio is of the version whose texts these are.
pub fn version() -> Result<(), Skip> {
    let output = Command::new("fio").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    match text.trim() == "fio-3.33" {
        true => Ok(()),
        false => Err(Skip::new(format!("fio is `{}`, and the texts are those of fio-3.33", text.trim()))),
    }
}

fn job(name: &str, direction: &'static str) -> JobView {
    JobView {
        name: name.into(),
        clones: 1,
        direction,
        blocks: PerDirection::same((4096, 4096)),
        engine: "null".into(),
        depth: 1,
        ..JobView::default()
    }
}

fn twin(name: &'static str, arguments: &'static str, jobs: Vec<JobView>) -> Twin {
    Twin { name, arguments, view: ReportContext { jobs, ..ReportContext::default() } }
}

/// So many small operations per second in both directions for a second, with something more.
fn rated(name: &'static str, more: &'static str, jobs: Vec<JobView>) -> Twin {
    const RATED: &str =
        "--name=a --rw=randrw --ioengine=null --size=1m --time_based --runtime=1 --rate_iops=500";
    twin(name, Box::leak(format!("{RATED} {more}").into_boxed_str()), jobs)
}

/// The one job of those.
fn plain() -> JobView {
    job("a", "randrw")
}

/// That job with other figures.
fn shown(change: fn(&mut ReportFigures)) -> Vec<JobView> {
    let mut figures = ReportFigures::default();
    change(&mut figures);
    vec![JobView { figures, ..plain() }]
}

pub fn all() -> Vec<Twin> {
    let mut all = figures();
    all.extend(jobs());
    all
}

fn figures() -> Vec<Twin> {
    vec![
        rated("thousands", "--kb_base=1000", shown(|figures| figures.kb_base = 1000)),
        rated("bits", "--unit_base=1", shown(|figures| figures.unit_base = 1)),
        rated("six digits", "--significant_figures=6", shown(|figures| figures.significant_figures = 6)),
        rated(
            "own percentiles",
            "--percentile_list=50:99.9:100 --lat_percentiles=1",
            shown(|figures| {
                figures.percentiles = vec![50.0, 99.9, 100.0];
                figures.latency_percentiles = true;
            }),
        ),
        rated("no clat", "--disable_clat=1", shown(|figures| figures.shown.1 = false)),
        rated("no lat", "--disable_lat=1", shown(|figures| figures.shown.2 = false)),
        rated(
            "all as one",
            "--unified_rw_reporting=mixed",
            shown(|figures| figures.unified = UnifiedReporting::Mixed),
        ),
    ]
}

fn jobs() -> Vec<Twin> {
    let described = JobView { description: "words".into(), ..plain() };
    let counting = JobView { counts_errors: true, ..plain() };
    let mut deep = shown(|figures| figures.submission_percentiles = true);
    (deep[0].asynchronous, deep[0].depth) = (true, 8);
    let group = JobView { clones: 3, group_reporting: true, ..plain() };
    vec![
        rated("mixed", "", vec![plain()]),
        rated("described", "--description=words", vec![described]),
        rated("deep", "--iodepth=8 --slat_percentiles=1", deep),
        rated("counting errors", "--continue_on_error=all", vec![counting]),
        rated("clones", "--numjobs=2 --thread", vec![JobView { clones: 2, threads: true, ..plain() }]),
        rated("group", "--numjobs=3 --group_reporting", vec![group]),
        twin(
            "two groups",
            "--name=a --rw=read --ioengine=null --size=400k --rate_iops=200 \
             --name=b --stonewall --rw=trim --ioengine=null --size=400k --rate_iops=200",
            vec![job("a", "read"), JobView { phase: 1, group: 1, ..job("b", "trim") }],
        ),
        twin(
            "synced",
            "--name=a --rw=write --filename=f --size=400k --rate_iops=100 --fsync=10",
            vec![JobView { engine: "psync".into(), ..job("a", "write") }],
        ),
    ]
}

impl Twin {
    /// What the test is called.
    pub fn title(&self) -> String {
        format!("twin_{}", self.name.replace(' ', "_"))
    }

    /// Runs fio, and compares.
    pub fn check(mut self) -> Outcome {
        // Options are the syntax's; here they are only repeated. fio leaves out those without a value.
        let sections = self.arguments.split("--name=").skip(1);
        for (job, section) in self.view.jobs.iter_mut().zip(sections) {
            let words = std::iter::once("name=").chain(section.split_whitespace());
            let options = words.filter_map(|word| word.trim_start_matches('-').split_once('='));
            job.options = options.map(|(name, value)| (name.into(), value.into())).collect();
            job.options[0].1 = job.name.clone();
        }
        for version in [3, 2, 4, 5] {
            let theirs = self.fio(version)?;
            let (start, end) =
                (theirs.find("\n{\n").ok_or("no JSON")?, theirs.find("\n}\n").ok_or("no JSON")?);
            let json: Value = serde_json::from_str(&theirs[start..end + 2])?;
            self.view.style = ReportStyle {
                formats: vec![Format::Normal, Format::Terse, Format::JsonPlus],
                terse_version: version,
                version: "fio-3.33".into(),
                ..ReportStyle::default()
            };
            let ours = self.ours(&json);
            compare(&theirs, &ours)?;
            if version == 3 && self.name != "mixed" {
                break;
            }
        }
        Ok(())
    }

    fn fio(&self, version: u32) -> Result<String, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new("fio");
        command.current_dir(&folder).args(["--output-format=normal,terse,json+", "--eta=never"]);
        command.arg(format!("--terse-version={version}")).args(self.arguments.split_whitespace());
        let output = command.env("LC_ALL", "C").env("TZ", "UTC").output()?;
        Ok(String::from_utf8(output.stdout)?)
    }

    fn ours(&self, json: &Value) -> String {
        let mut reported = json["jobs"].as_array().unwrap().iter();
        let mut phases: Vec<PhaseRecord> = Vec::new();
        for view in &self.view.jobs {
            while phases.len() <= view.phase {
                phases.push(PhaseRecord { index: phases.len(), ..PhaseRecord::default() });
            }
            let told = if view.group_reporting { 1 } else { view.clones };
            let mut workers: Vec<WorkerRecord> = reported.by_ref().take(told as usize).map(worker).collect();
            if told < view.clones {
                // The samples of all of them in one: it begins late enough for as many intervals to have passed.
                let all =
                    |worker: &WorkerRecord| worker.tally.as_ref().map_or(0, |tally| tally.series.rows.len());
                let later_ns = all(&workers[0]) as u64 * 500_000_000;
                (workers[0].began_ns, workers[0].ended_ns) = (later_ns, later_ns + workers[0].ended_ns);
            }
            workers.resize(
                view.clones as usize,
                WorkerRecord { tally: Some(Box::default()), ..WorkerRecord::default() },
            );
            phases[view.phase].jobs.push(JobRecord { workers, ..JobRecord::default() });
        }
        let disks = json["disk_util"].as_array().into_iter().flatten();
        phases[0].sightings = disks.map(|disk| Sighting::Device(device(disk))).collect();
        let plan = plan(&self.view, "f");
        let mut events = vec![started(&plan)];
        if self.arguments.contains("filename") {
            let done = 400 << 10;
            let job = self.view.jobs[0].name.clone();
            events.push(Event::LayingOut { job, files: 1, total_bytes: done });
        }
        events.extend(ended(phases, Vec::new(), None));
        written(&self.view, &[], &events).0
    }
}

fn whole(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_default()
}

fn decimal(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_default()
}

fn device(disk: &Value) -> DeviceActivity {
    let interval_ns = 1_000_000_000_000;
    DeviceActivity {
        device: disk["name"].as_str().unwrap_or_default().into(),
        reads: whole(disk, "read_ios"),
        writes: whole(disk, "write_ios"),
        reads_merged: whole(disk, "read_merges"),
        writes_merged: whole(disk, "write_merges"),
        read_ns: whole(disk, "read_ticks") * 1_000_000,
        write_ns: whole(disk, "write_ticks") * 1_000_000,
        weighted_ns: whole(disk, "in_queue") * 1_000_000,
        busy_ns: (decimal(disk, "util") / 100.0 * interval_ns as f64) as u64,
        interval_ns,
        ..DeviceActivity::default()
    }
}

/// What one reported job's JSON says of the worker behind it.
fn worker(job: &Value) -> WorkerRecord {
    let mut tally = Tally::default();
    let mut runtime_ms = 0;
    let directions =
        [("read", Verb::Read), ("write", Verb::Write), ("trim", Verb::Trim), ("mixed", Verb::Read)];
    for (name, verb) in directions {
        let direction = &job[name];
        if whole(direction, "total_ios") == 0 {
            continue;
        }
        runtime_ms = runtime_ms.max(whole(direction, "runtime"));
        let mut line = Line::empty(name, verb);
        line.operations = whole(direction, "total_ios");
        line.bytes = whole(direction, "io_bytes");
        let bins = &direction["clat_ns"]["bins"];
        line.latency = latency(&direction["lat_ns"], bins);
        line.completion = Some(latency(&direction["clat_ns"], bins));
        line.submission = Some(latency(&direction["slat_ns"], &Value::Null));
        tally.lines.push(line);
        series(direction, verb, &mut tally.series);
    }
    let mut sync = Line::empty("fsync", Verb::Fsync);
    sync.operations = whole(&job["sync"], "total_ios");
    sync.latency = latency(&job["sync"]["lat_ns"], &Value::Null);
    tally.lines.push(sync);
    let issued: u64 = tally.lines[..tally.lines.len() - 1].iter().map(|line| line.operations).sum();
    let count = |key: &str, total: u64| {
        let share = |name: &str| (decimal(&job[key], name) / 100.0 * total as f64).round() as u64;
        [share("1") + share("0"), share("2"), share("4"), share("8")]
    };
    let [one, two, four, eight] = count("iodepth_level", issued);
    tally.depths = vec![0, one, two, 0, four, 0, 0, 0, eight];
    let [none, _, four, _] = count("iodepth_submit", 1000);
    tally.submits = vec![none, four];
    let [none, _, four, _] = count("iodepth_complete", 1000);
    tally.completes = vec![none, four];
    let time_ns = runtime_ms * 1_000_000;
    WorkerRecord {
        ended_ns: time_ns,
        user_ns: (decimal(job, "usr_cpu") / 100.0 * time_ns as f64) as u64,
        system_ns: (decimal(job, "sys_cpu") / 100.0 * time_ns as f64) as u64,
        switches: (whole(job, "ctx"), 0),
        faults: (whole(job, "majf"), whole(job, "minf")),
        tally: Some(Box::new(tally)),
        ..WorkerRecord::default()
    }
}

/// The bins of the nearest latency that has some, where it has none itself.
fn latency(json: &Value, near: &Value) -> Histogram {
    let count = whole(json, "N");
    let sum = (decimal(json, "mean") * count as f64) as u128;
    let extremes = (whole(json, "min"), whole(json, "max"));
    let mut bins: Vec<(u64, u64)> = match json["bins"].as_object().or(near.as_object()) {
        Some(bins) => {
            bins.iter().map(|(value, count)| (value.parse().unwrap(), count.as_u64().unwrap())).collect()
        }
        None => vec![(decimal(json, "mean") as u64, count)],
    };
    bins.retain(|(_, count)| *count > 0);
    histogram(&bins, sum, extremes)
}

/// As many rows as there were samples, with the same extremes and mean.
fn series(direction: &Value, verb: Verb, series: &mut Series) {
    let count = whole(direction, "iops_samples") as usize;
    series.interval_ns = 500_000_000;
    series.rows.resize(series.rows.len().max(count), SeriesRow::default());
    let spread = |key: &str| {
        let (least, most) =
            (whole(direction, &format!("{key}_min")), whole(direction, &format!("{key}_max")));
        let rest = decimal(direction, &format!("{key}_mean")) * count as f64 - (least + most) as f64;
        let middle = if count > 2 { (rest / (count - 2) as f64).round() as u64 } else { least };
        move |row: usize| {
            if row == 0 {
                least
            } else if row + 1 == count {
                most
            } else {
                middle
            }
        }
    };
    let (bandwidth, rate) = (spread("bw"), spread("iops"));
    for (index, row) in series.rows.iter_mut().enumerate().take(count) {
        let (operations, bytes) = (rate(index) / 2, bandwidth(index) * 512);
        match verb {
            Verb::Write => (row.writes, row.write_bytes) = (operations, bytes),
            Verb::Trim => (row.trims, row.trim_bytes) = (operations, bytes),
            _ => (row.reads, row.read_bytes) = (operations, bytes),
        }
    }
}

/// Keys that fio 3.42 and we add to the JSON of 3.33.
const ADDED: [&str; 5] = [
    "\"job_start\"",
    "\"read_sectors\"",
    "\"write_sectors\"",
    "\"latency_target_ns\"",
    "\"latency_window_us\"",
];

fn compare(theirs: &str, ours: &str) -> Outcome {
    let kept = |text: &str| -> Vec<String> {
        let known = |line: &&str| !ADDED.iter().any(|key| line.trim_start().starts_with(key));
        // Coarse steps are told by bins here, and by exact values there.
        let exact = |line: &&str| !line.starts_with("  lat (");
        // The last key of an object has no comma, which an added one takes.
        let line = |line: &str| line.trim_end_matches(',').to_string();
        text.lines().filter(known).filter(exact).map(line).collect()
    };
    let (theirs, ours) = (kept(theirs), kept(ours));
    let mut place = "";
    for (number, (a, b)) in theirs.iter().zip(&ours).enumerate() {
        if let Some(key) =
            ["latency_ns", "latency_us", "latency_ms", "job options"].iter().find(|key| a.contains(*key))
        {
            place = key;
        } else if a.trim_start().starts_with('}') {
            place = "";
        }
        let loose = place.starts_with("latency_") && !a.contains(place);
        if !same_line(a, b, loose) {
            return Err(format!("line {number}:\n fio: {a}\n we:  {b}").into());
        }
    }
    match theirs.len() == ours.len() {
        true => Ok(()),
        false => Err(format!("fio wrote {} lines, we {}", theirs.len(), ours.len()).into()),
    }
}

/// The same words with spaces alike, and numbers within two in a hundred (or two).
fn same_line(theirs: &str, ours: &str, loose: bool) -> bool {
    if theirs.contains("err= 0: pid=") {
        let head = |line: &str| line.split("pid=").next().unwrap_or_default().to_string();
        return head(theirs) == head(ours);
    }
    if theirs.matches(';').count() > 20 {
        return same_fields(theirs, ours);
    }
    let (a, b) = (tokens(theirs), tokens(ours));
    let mut last = "";
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| {
            let numbers = a.parse::<f64>().ok().zip(b.parse::<f64>().ok());
            let same = match numbers {
                Some((a, b)) => {
                    let unknown = UNKNOWN.iter().any(|name| last.contains(name));
                    loose || unknown || (a - b).abs() <= (a.abs() * 0.02).max(2.0)
                }
                None if UNKNOWN.iter().any(|name| last.contains(name)) => true,
                None => a == b,
            };
            if numbers.is_none() {
                last = a;
            }
            same
        })
}

/// The same fields of a terse line, but for deviations and coarse steps, which a record made of JSON cannot give back.
fn same_fields(theirs: &str, ours: &str) -> bool {
    let fields = |line: &str| line.split(';').map(String::from).collect::<Vec<_>>();
    let (a, b) = (fields(theirs), fields(ours));
    let (head, part) = match a[0].as_str() {
        "2" => (4, 41),
        "5" => (5, 47),
        _ => (5, 41),
    };
    // Behind the directions: five of the processor, seven depths, then the steps.
    let parts = (a.len() - head - 12) / part;
    let steps = head + parts * part + 12;
    let known = |index: usize| match index.checked_sub(head) {
        Some(place) if index < steps - 12 => ![7, 11, 35, 40, 45].contains(&(place % part)),
        _ => index < steps,
    };
    let near = |a: &str, b: &str| {
        let number = |text: &str| {
            text.rsplit('=').next().and_then(|text| text.trim_end_matches('%').parse::<f64>().ok())
        };
        let same = |(a, b): (f64, f64)| (a - b).abs() <= (a.abs() * 0.02).max(2.0);
        a == b || number(a).zip(number(b)).is_some_and(same)
    };
    a.len() == b.len() && a.iter().zip(&b).enumerate().all(|(index, (a, b))| !known(index) || near(a, b))
}

/// Numbers, and what stands between them without its spaces.
fn tokens(line: &str) -> Vec<String> {
    if line.contains("\"time\"") {
        return vec!["\"time\"".into()];
    }
    let mut tokens: Vec<String> = vec![String::new()];
    let mut in_number = false;
    for letter in line.chars().filter(|letter| *letter != ' ') {
        let digit = letter.is_ascii_digit() || (in_number && letter == '.');
        if digit != in_number {
            tokens.push(String::new());
            in_number = digit;
        }
        if let Some(token) = tokens.last_mut() {
            token.push(letter);
        }
    }
    tokens
}
