//! The line that tells how far it is: `Jobs: 1 (f=1): [r(1)][60.0%][r=171MiB/s][r=43.8k IOPS][eta 00m:02s]`.
//!
//! It is rewritten in place; nothing ends it but what is written next, as in fio.

use iodyno_model::{Live, LiveJob, Plan, WorkerState};

use super::normal::rate_unit;
use super::number::{CountUnit, count, scaled};
use crate::fio::view::{Eta, Format, JobView, ReportContext};

/// The least time between two lines, ns.
const INTERVAL_NS: u64 = 950_000_000;
/// No estimate is printed before so many seconds.
const FIRST_GUESS_S: u64 = 3;

/// Remembers what the last line said.
#[derive(Clone, Debug, Default)]
pub struct EtaLine {
    counted: ProgressCounts,
    width: usize,
    newline_at_ns: u64,
    newline_due: bool,
    guessed: bool,
}

/// Bytes and operations of reads, writes and trims, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgressCounts {
    pub at_ns: u64,
    pub bytes: [u64; 3],
    pub operations: [u64; 3],
}

/// Whether the line is wanted at all.
pub fn wanted(view: &ReportContext) -> bool {
    let style = &view.style;
    let speaks = style.to_file || style.formats.contains(&Format::Normal);
    speaks && (style.eta == Eta::Always || (style.eta == Eta::Auto && style.terminal))
}

/// Seconds left by the last live event; none: unknown.
pub fn left_s(live: &Live, view: &ReportContext) -> Option<u64> {
    let of_bytes = |job: &JobView, now: &LiveJob| {
        let planned = job.bytes_planned?.checked_mul(u64::from(job.clones))?;
        let done = now.read_bytes + now.write_bytes + now.trim_bytes;
        let rate = done as f64 / live.elapsed_ns.max(1) as f64;
        (done > 0).then(|| (planned.saturating_sub(done) as f64 / rate) as u64)
    };
    let of_job = |job: &JobView| {
        let now = live.jobs.get(job.job)?;
        if now.running == 0 {
            return Some(0);
        }
        let by_time = job.runtime_ns.map(|time| time.saturating_sub(live.elapsed_ns));
        [by_time, of_bytes(job, now)].into_iter().flatten().min()
    };
    let here = view.jobs.iter().filter(|job| job.phase == live.phase);
    let left_ns = here.map(of_job).try_fold(0, |most, left| left.map(|left: u64| left.max(most)));
    left_ns.or(live.left_ns).map(|ns| ns.div_ceil(1_000_000_000))
}

impl EtaLine {
    /// The line for this look at the run, where one is due; `elapsed_ns` is since the program's start.
    pub fn line(
        &mut self,
        live: &Live,
        elapsed_ns: u64,
        view: &ReportContext,
        plan: &Plan,
    ) -> Option<String> {
        let passed_ns = elapsed_ns.saturating_sub(self.counted.at_ns);
        if passed_ns < INTERVAL_NS {
            return None;
        }
        let now = counted(live, elapsed_ns);
        let since = |now: [u64; 3], before: [u64; 3]| {
            let rate = |index: usize| {
                let more = now[index].saturating_sub(before[index]);
                (u128::from(more) * 1_000_000_000 / u128::from(passed_ns)) as u64
            };
            [rate(0), rate(1), rate(2)]
        };
        let rates = since(now.bytes, self.counted.bytes);
        let operations = since(now.operations, self.counted.operations);
        self.counted = now;
        let mut text = if std::mem::take(&mut self.newline_due) { "\n".to_string() } else { String::new() };
        let line = self.words(live, elapsed_ns, view, plan, (rates, operations));
        text += &line;
        text += &" ".repeat(self.width.saturating_sub(line.len()));
        self.width = line.len();
        let newline_ns = view.style.eta_newline_ns;
        if newline_ns > 0 && elapsed_ns >= self.newline_at_ns + newline_ns {
            (self.newline_at_ns, self.newline_due) = (elapsed_ns, true);
        }
        Some(text + "\r")
    }

    fn words(
        &mut self,
        live: &Live,
        elapsed_ns: u64,
        view: &ReportContext,
        plan: &Plan,
        (rates, operations): ([u64; 3], [u64; 3]),
    ) -> String {
        let running: u32 = live.jobs.iter().map(|job| job.running).sum();
        let files: u32 = files(live, plan);
        let mut line = format!("Jobs: {running} (f={files}){}", limits(live, view));
        let elapsed_s = elapsed_ns.div_ceil(1_000_000_000);
        let left_s = if elapsed_s >= FIRST_GUESS_S { left_s(live, view) } else { None };
        let Some(left_s) = left_s.filter(|_| running > 0) else { return line };
        let ramping =
            live.jobs.iter().flat_map(|job| &job.states).all(|(state, _)| *state == WorkerState::Ramping)
                && live.jobs.iter().any(|job| !job.states.is_empty());
        let percent = match (left_s, self.guessed) {
            (0, false) => "-.-%".to_string(),
            _ if ramping => "-.-%".to_string(),
            _ => {
                self.guessed = true;
                format!("{:3.1}%", elapsed_s as f64 * 100.0 / (elapsed_s + left_s) as f64)
            }
        };
        line += &format!(": [{}][{percent}]", states(live, view));
        if let Some(job) = view.jobs.first() {
            line += &rates_text(job, rates, operations);
        }
        line + &format!("[eta {}]", duration(left_s))
    }
}

/// What all jobs of a phase did so far.
pub fn counted(live: &Live, at_ns: u64) -> ProgressCounts {
    let mut counted = ProgressCounts { at_ns, ..ProgressCounts::default() };
    for job in &live.jobs {
        let bytes = [job.read_bytes, job.write_bytes, job.trim_bytes];
        let operations = [job.reads.0, job.writes.0, job.trims.0];
        for index in 0..3 {
            counted.bytes[index] += bytes[index];
            counted.operations[index] += operations[index];
        }
    }
    counted
}

/// How many files are open.
pub fn files(live: &Live, plan: &Plan) -> u32 {
    let Some(phase) = plan.phases.get(live.phase) else { return 0 };
    let open = |(planned, now): (&iodyno_model::Job, &LiveJob)| now.running * planned.targets.len() as u32;
    phase.jobs.iter().zip(&live.jobs).map(open).sum()
}

/// The least and most that the running jobs may do: `, 0-6000 IOPS`.
fn limits(live: &Live, view: &ReportContext) -> String {
    let here = || view.jobs.iter().filter(|job| job.phase == live.phase);
    let sum = |rate: fn(&(u64, u64)) -> u64| -> u64 {
        let of = |job: &JobView| {
            let directions = [&job.rate.read, &job.rate.write, &job.rate.trim];
            directions.into_iter().map(rate).sum::<u64>() * u64::from(job.clones)
        };
        here().map(of).sum()
    };
    let (bytes, operations) = (sum(|rate| rate.0), sum(|rate| rate.1));
    let digits = view.jobs.first().map_or(4, |job| job.figures.significant_figures);
    match (bytes, operations) {
        (0, 0) => String::new(),
        (0, operations) => format!(", 0-{operations} IOPS"),
        (bytes, _) => {
            let text = |rate| scaled(rate, digits, 0, true, CountUnit::BytesPerSecond);
            format!(", {}-{}", text(0), text(bytes))
        }
    }
}

/// Bytes and operations per second of a run that another machine tells of.
pub fn rates_of(rates: [u64; 3], operations: [u64; 3]) -> String {
    rates_text(&JobView::default(), rates, operations)
}

fn rates_text(job: &JobView, rates: [u64; 3], operations: [u64; 3]) -> String {
    let figures = &job.figures;
    let (digits, binary) = (figures.significant_figures, figures.kb_base == 1024);
    let unit = rate_unit(figures, &job.engine);
    let shown = || (0..3).filter(|index| rates[*index] > 0 || operations[*index] > 0);
    if shown().next().is_none() {
        return String::new();
    }
    let list = |text: &dyn Fn(usize) -> String| {
        let cells = shown().map(|index| format!("{}={}", ["r", "w", "t"][index], text(index)));
        cells.collect::<Vec<_>>().join(",")
    };
    let bandwidths = list(&|index| scaled(rates[index] / 1024, digits, 1, binary, unit));
    let counts = list(&|index| count(operations[index], digits));
    format!("[{bandwidths}][{counts} IOPS]")
}

/// A letter for each worker's state, neighbours counted together: `r(2),_(1)`.
pub fn states(live: &Live, view: &ReportContext) -> String {
    let mut runs: Vec<(char, u32)> = Vec::new();
    let mut add = |letter: char, count: u32| match runs.last_mut() {
        Some((last, sum)) if *last == letter => *sum += count,
        _ => runs.push((letter, count)),
    };
    for job in &view.jobs {
        let now = live.jobs.get(job.job).filter(|_| job.phase == live.phase);
        match now {
            Some(now) if !now.states.is_empty() => {
                now.states.iter().for_each(|(state, count)| add(letter(*state, job), *count));
            }
            Some(now) => {
                add(letter(WorkerState::Running, job), now.running.min(job.clones));
                add('_', job.clones.saturating_sub(now.running));
            }
            None => add(if job.phase < live.phase { '_' } else { 'P' }, job.clones),
        }
    }
    let shown = runs.iter().filter(|(_, count)| *count > 0);
    shown.map(|(letter, count)| format!("{letter}({count})")).collect::<Vec<_>>().join(",")
}

fn letter(state: WorkerState, job: &JobView) -> char {
    match state {
        WorkerState::Starting => 'I',
        WorkerState::Waiting => 'P',
        WorkerState::Ramping => '/',
        WorkerState::Verifying => 'V',
        WorkerState::Finishing => 'f',
        WorkerState::Ended => '_',
        WorkerState::Running => match job.direction {
            "randread" => 'r',
            "randwrite" => 'w',
            "randrw" => 'm',
            "randtrim" => 'd',
            "write" | "trimwrite" => 'W',
            "randtrimwrite" => 'w',
            "rw" | "readwrite" => 'M',
            "trim" => 'D',
            _ => 'R',
        },
    }
}

/// A time left, as the line shows it.
pub fn duration(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let mut text = if days > 0 { format!("{days:02}d:") } else { String::new() };
    if days > 0 || hours > 0 {
        text += &format!("{hours:02}h:");
    }
    text + &format!("{:02}m:{:02}s", seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(direction: &'static str, clones: u32) -> ReportContext {
        let job = JobView { clones, direction, runtime_ns: Some(4_000_000_000), ..JobView::default() };
        ReportContext { jobs: vec![job], ..ReportContext::default() }
    }

    fn live(elapsed_s: u64, reads: u64) -> Live {
        let job = LiveJob {
            reads: (reads, 0),
            read_bytes: reads * 4096,
            running: 3,
            states: vec![(WorkerState::Running, 2), (WorkerState::Ended, 1)],
            ..LiveJob::default()
        };
        Live { elapsed_ns: elapsed_s * 1_000_000_000, jobs: vec![job], ..Live::default() }
    }

    #[test]
    fn the_line_waits_for_a_guess_and_then_tells_all() {
        let (view, plan) = (view("randread", 3), Plan::default());
        let mut line = EtaLine::default();
        let at = |seconds: u64| seconds * 1_000_000_000;
        assert_eq!(line.line(&live(1, 1000), at(1), &view, &plan).unwrap(), "Jobs: 3 (f=0)\r");
        assert_eq!(line.line(&live(1, 1000), at(1) + 1, &view, &plan), None);
        let told = line.line(&live(3, 45_000), at(3), &view, &plan).unwrap();
        let expected = "Jobs: 3 (f=0): [r(2),_(1)][75.0%][r=85.9MiB/s][r=22.0k IOPS][eta 00m:01s]\r";
        assert_eq!(told, expected);
    }

    #[test]
    fn durations_grow_to_the_left() {
        assert_eq!(
            [0, 61, 3600, 90_061].map(duration),
            ["00m:00s", "01m:01s", "01h:00m:00s", "01d:01h:01m:01s"]
        );
    }
}
