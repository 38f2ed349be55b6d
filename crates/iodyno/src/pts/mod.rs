//! `iodyno pts TARGET`: the tests of SNIA's Solid State Storage Performance Test Specification, until they are steady.
//!
//! Each test: purge, preconditioning, rounds, report. Exit status: 0; 1 a run failed, or a test was not steady; 2 the command
//! is wrong; 128 + n stopped by signal n, and then the same command goes on where it was.

mod pts_test;
mod report;
mod state;
mod steady;

use std::path::{Path, PathBuf};

use clap::Parser;
use iodyno_dialect::engine_choice::POSITIONED_CALLS;
use iodyno_engine::drive_purge::{self, DrivePurge};
use iodyno_engine::world::World;
use iodyno_model::{
    Coverage, Diagnostic, Extent, Job, Kind, Limit, Mix, Origin, Pace, Pattern, PerDirection, Phase,
    PhaseRecord, Pick, RunStart, Size, Span, TargetKind, Verb, Workload, units,
};
use iodyno_report::{number, shape};

use self::pts_test::{PtsCell, PtsTest, TrackedFigure};
use self::report::{PtsReport, TestResult};
use self::state::{CellFigures, PtsState, TestState};
use self::steady::{MOST_ROUNDS, RoundVerdict, verdict};
use crate::experiment::{self, Experiment};
use crate::option_values::positive_time;
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{ended, one, parsed};
use crate::session::say;
use crate::single_workload::{SingleWorkload, WorkloadRequest};
use crate::target_options::TargetOptions;

#[derive(Parser)]
#[command(name = "iodyno pts", about = "Test a solid-state drive by SNIA's specification, until it is steady",
    disable_version_flag = true, after_help = AFTER)]
pub struct PtsArgs {
    /// A device or a file, which is overwritten; or a plan file of one job, whose target and engine are taken
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// The tests, in order: iops, throughput, latency, wsat (write saturation), dirth (demand intensity), xsr and hir (recovery)
    #[arg(
        long,
        value_name = "TEST,…",
        value_delimiter = ',',
        default_value = "iops,throughput,latency,wsat",
        value_parser = PtsTest::named
    )]
    pub tests: Vec<PtsTest>,
    /// A client's drive: 8 GiB of active range, 2 threads of 16 operations (enterprise: all of it, 32 operations)
    #[arg(long)]
    pub client: bool,
    /// For people: few cells, 5 s each, written once. Not by the specification
    #[arg(long)]
    pub quick: bool,
    /// Use only this much of the target: a test, not by the specification
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub capacity: Option<u64>,
    /// How it is made like new: discard, format or sanitize (NVMe), or declared=WORDS for what you did yourself [default: discard of
    /// a device]
    #[arg(long, value_name = "HOW", value_parser = Purge::parsed)]
    pub purge: Option<Purge>,
    /// Operations in flight, where a test does not say [default: 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: Option<u32>,
    /// Time of each cell of a round [default: 1min, quick: 5s]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub time: Option<u64>,
    /// Rounds at most [default: 25; of wsat 1440]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1440))]
    pub rounds: Option<u32>,
    /// Where it is kept how far it is [default: iodyno-pts-NAME.json]
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    #[command(flatten)]
    pub on: TargetOptions,
    #[command(flatten)]
    pub output: ReportArguments,
}

const AFTER: &str = "TESTs: iops, throughput, latency, wsat, dirth (demand intensity), xsr (cross-stimulus recovery), hir (host \
idle recovery). It takes hours and wears the drive. Ctrl-C or kill -9 end it at any time; the same command goes on. \
docs/pts.md says what is done and where it departs from the specification.";

/// How the target was made like new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// All blocks are discarded.
    Discard,
    /// By a command of the drive's own.
    Drive(DrivePurge),
    /// The user did it, with these words.
    Declared(String),
}

impl Purge {
    fn parsed(text: &str) -> Result<Purge, String> {
        match text.split_once('=') {
            None if text == "discard" => Ok(Purge::Discard),
            Some(("declared", words)) if !words.is_empty() => Ok(Purge::Declared(words.into())),
            None if text == "format" => Ok(Purge::Drive(DrivePurge::Format)),
            None if text == "sanitize" => Ok(Purge::Drive(DrivePurge::Sanitize)),
            _ => Err("expected discard, format, sanitize, or declared=WORDS".into()),
        }
    }

    fn text(&self) -> String {
        match self {
            Purge::Discard => "all blocks discarded before each test".into(),
            Purge::Drive(how) => format!("{} before each test", how.name()),
            Purge::Declared(words) => format!("declared by the user: {words}"),
        }
    }
}

/// Does `iodyno pts ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<PtsArgs>("iodyno pts", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let test = match DriveTest::of(world, words) {
        Ok(test) => test,
        Err(wrong) => return ended(Err(wrong)),
    };
    let opened = PtsState::found_or_new(&test.state_file, test.fresh_state())
        .and_then(|state| Ok((state, ReportOutput::open(&test.words.output)?)));
    let (mut state, files) = match opened {
        Ok(opened) => opened,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    let done: usize = state.tests.iter().map(|test| test.rounds.len()).sum();
    if done > 0 {
        say(format_args!("note: goes on after {done} rounds ({})", test.state_file.display()));
    }
    let mut experiment = Experiment::new(world, "pts", arguments);
    match test.run(&mut experiment, &mut state) {
        Ok(started) => {
            let report = test.report(&state, started);
            let is_steady = report.is_steady();
            let status = files.write(&report.report());
            if status == 0 {
                let _ = std::fs::remove_file(&test.state_file);
            }
            status.max(u8::from(!is_steady))
        }
        Err(status) => {
            if status >= 128 {
                say(format_args!("note: the same command goes on from here ({})", test.state_file.display()));
            }
            status
        }
    }
}

/// A command that may be carried out.
struct DriveTest {
    words: PtsArgs,
    workload: SingleWorkload,
    purge: Purge,
    time_ns: u64,
    depth: u32,
    workers: u32,
    /// The smallest operation that the device takes.
    block_bytes: u64,
    state_file: PathBuf,
}

/// The active range of a client's drive, unless it is smaller.
const CLIENT_RANGE: u64 = 8 << 30;
/// Preconditioning writes in blocks of this.
const PRECONDITION_BYTES: u64 = 128 << 10;
/// Samples of a minute in 24 hours: the longest write saturation.
const DAY_ROUNDS: usize = 1440;
/// It ends when so many times the capacity was written.
const SATURATION_TIMES: f64 = 4.0;
const SECOND: u64 = 1_000_000_000;

const NO_DRIVE_PURGE: &str =
    "use --purge discard, or do it yourself and say so: --purge declared='hdparm --security-erase'";

/// Whether a drive may be purged by a command of its own: it is given up by name, and it can.
fn check_drive(words: &PtsArgs, how: DrivePurge, is_simulated: bool) -> Result<(), Diagnostic> {
    let target = Origin::argument(&words.target);
    if is_simulated {
        let wrong = Diagnostic::error(&target, "a simulated drive takes no NVMe command");
        return Err(wrong.hint("leave --purge out: it is new in each run"));
    }
    if !words.on.destroy.contains(&words.target) {
        let message = format!("{} loses all that is on it", how.name());
        return Err(Diagnostic::error(&target, message)
            .hint(format!("add --destroy {} if that may be", words.target)));
    }
    let message = |why| format!("it cannot be purged by {}: {why}", how.name());
    drive_purge::check(&words.target, how)
        .map_err(|why| Diagnostic::error(&target, message(why)).hint(NO_DRIVE_PURGE))
}

impl DriveTest {
    fn of(world: &World, words: PtsArgs) -> Result<DriveTest, Vec<Diagnostic>> {
        let mut pattern = Pattern::of(Verb::Write, Pick::Uniform, 4096);
        pattern.mix = Mix::reads(50.0);
        let request = WorkloadRequest {
            for_targets_only: words.on.engine.is_some().then_some("--engine"),
            ..words.on.request(&words.target, "pts", pattern, None)
        };
        if Path::new(&words.target).is_dir() {
            let wrong = Diagnostic::error(&Origin::argument(&words.target), "a directory is no drive");
            return Err(
                one(wrong.hint("name a device, or a file: truncate -s 8G FILE, then --destroy FILE")),
            );
        }
        let workload = SingleWorkload::of(world, &request)?;
        let is_device = matches!(workload.target_kind(), TargetKind::Device { .. });
        let purge = match &words.purge {
            Some(Purge::Discard) if !is_device && !workload.is_simulated() => {
                let wrong =
                    Diagnostic::error(&Origin::argument("--purge discard"), "a file is not discarded");
                return Err(one(wrong.hint("make it anew, and say so: --purge declared='new file'")));
            }
            Some(Purge::Drive(how)) => {
                check_drive(&words, *how, workload.is_simulated()).map_err(one)?;
                Purge::Drive(*how)
            }
            Some(purge) => purge.clone(),
            None if is_device => Purge::Discard,
            None => Purge::Declared("not purged".into()),
        };
        let name = Path::new(&words.target).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let state_file = words.state.clone().unwrap_or_else(|| format!("iodyno-pts-{name}.json").into());
        let (workers, depth) = if words.client { (2, 16) } else { (1, 32) };
        let time_ns = words.time.unwrap_or(if words.quick { 5 * SECOND } else { 60 * SECOND });
        let block_bytes = workload.block_bytes;
        let depth = words.depth.unwrap_or(depth);
        Ok(DriveTest { workload, purge, time_ns, depth, workers, block_bytes, state_file, words })
    }

    fn cells(&self, test: PtsTest) -> Vec<PtsCell> {
        test.cells(self.words.quick, self.block_bytes)
    }

    /// Nothing done; the command line by what makes figures comparable.
    fn fresh_state(&self) -> PtsState {
        let words = &self.words;
        let tests: Vec<String> = words.tests.iter().map(|test| format!("{test:?}").to_lowercase()).collect();
        let command = format!(
            "pts {} --tests {} --time {}{} --depth {}{}{}{} ({})",
            words.target,
            tests.join(","),
            units::duration(self.time_ns as f64),
            words.rounds.map_or_else(String::new, |rounds| format!(" --rounds {rounds}")),
            self.depth,
            if words.client { " --client" } else { "" },
            if words.quick { " --quick" } else { "" },
            words.capacity.map_or_else(String::new, |bytes| format!(" --capacity {bytes}")),
            self.purge.text(),
        );
        let test = |name: String| TestState { name, ..TestState::default() };
        PtsState { command, tests: tests.into_iter().map(test).collect() }
    }

    /// Does what is not done yet; the start of the last run.
    fn run(&self, experiment: &mut Experiment<'_>, state: &mut PtsState) -> Result<Option<RunStart>, u8> {
        let kept = |state: &PtsState| state.save(&self.state_file).map_err(|wrong| ended(Err(one(wrong))));
        kept(state)?;
        let mut started = None;
        for (at, test) in self.words.tests.iter().enumerate() {
            if self.workload.is_simulated() {
                started = Some(self.run_simulated(experiment, *test, &mut state.tests[at])?);
                continue;
            }
            if !state.tests[at].is_prepared {
                self.prepare(experiment, *test)?;
                state.tests[at].is_prepared = true;
                kept(state)?;
            }
            let cells = self.cells(*test);
            let most = self.most_rounds(*test);
            while !state.tests[at].is_over {
                let round = state.tests[at].rounds.len() + 1;
                let left = self.left_ns(state);
                let of = if most > 1 { format!(", round {round} of at most {most}") } else { String::new() };
                experiment::progress(&format!("{}{of}: at most {} left", test.title(), number::wait(left)));
                let phases = cells.iter().map(|cell| self.phase(cell)).collect();
                let mut plan = self.workload.with("pts", phases);
                plan.seed = plan.seed.wrapping_add(round as u64);
                let (start, record) = experiment.run(plan, test.title())?;
                started = Some(start);
                state.tests[at].rounds.push(record.phases.iter().map(figures).collect());
                state.tests[at].is_over = self.is_over(*test, &cells, &state.tests[at].rounds);
                kept(state)?;
            }
        }
        Ok(started)
    }

    /// Everything of a test as one run: a simulated drive is a new one in each run. Rounds beyond the last that counts are
    /// left out.
    fn run_simulated(
        &self,
        experiment: &mut Experiment<'_>,
        test: PtsTest,
        state: &mut TestState,
    ) -> Result<RunStart, u8> {
        let (cells, most) = (self.cells(test), self.most_rounds(test));
        let mut phases = self.preparation(test);
        let before = phases.len();
        for _ in 0..most {
            phases.extend(cells.iter().map(|cell| self.phase(cell)));
        }
        let mut plan = self.workload.with("pts", phases);
        // Each its own places, as in runs of their own: a drive that is overwritten in the order in which it was written has
        // no garbage to collect.
        for (number, phase) in (0..).zip(&mut plan.phases) {
            phase.jobs.iter_mut().for_each(|job| job.seed = Some(plan.seed.wrapping_add(number)));
        }
        let (started, record) = experiment.run(plan, test.title())?;
        for round in record.phases[before.min(record.phases.len())..].chunks_exact(cells.len()) {
            state.rounds.push(round.iter().map(figures).collect());
            if test.is_steady_test() && self.is_over(test, &cells, &state.rounds) {
                break;
            }
        }
        (state.is_prepared, state.is_over) = (true, true);
        Ok(started)
    }

    fn is_over(&self, test: PtsTest, cells: &[PtsCell], rounds: &[Vec<CellFigures>]) -> bool {
        let is_settled =
            verdict(&tracked(test, cells, rounds), self.most_rounds(test)) != RoundVerdict::GoesOn;
        !test.is_steady_test() || is_settled || self.is_saturated(test, rounds)
    }

    fn most_rounds(&self, test: PtsTest) -> usize {
        match (test, self.words.rounds) {
            (PtsTest::Wsat, None) if !self.workload.is_simulated() => DAY_ROUNDS,
            (_, rounds) if test.is_steady_test() => rounds.map_or(MOST_ROUNDS, |rounds| rounds as usize),
            _ => 1,
        }
    }

    /// Whether write saturation has written four times what there is, which ends it.
    fn is_saturated(&self, test: PtsTest, rounds: &[Vec<CellFigures>]) -> bool {
        let written: f64 = rounds.iter().flatten().map(|figures| figures.bytes).sum();
        let there = match self.span(self.words.client).length {
            Extent::Bytes(bytes) => Some(bytes),
            _ => self.workload.bytes,
        };
        test == PtsTest::Wsat && there.is_some_and(|there| written >= SATURATION_TIMES * there as f64)
    }

    /// Of the rounds that may still come, without preconditioning, ns.
    fn left_ns(&self, state: &PtsState) -> u64 {
        let left = |(test, state): (&PtsTest, &TestState)| {
            let most = self.most_rounds(*test);
            let rounds = if state.is_over { 0 } else { most.saturating_sub(state.rounds.len()) };
            let times: f64 = self.cells(*test).iter().map(|cell| cell.times + cell.pause_times).sum();
            (times * self.time_ns as f64) as u64 * rounds as u64
        };
        self.words.tests.iter().zip(&state.tests).map(left).sum()
    }

    fn span(&self, is_client_range: bool) -> Span {
        let range = self.words.capacity.into_iter().chain(is_client_range.then_some(CLIENT_RANGE)).min();
        // No more than there is.
        let there = self.workload.bytes;
        match range.filter(|bytes| there.is_none_or(|there| *bytes < there)) {
            Some(bytes) => Span { length: Extent::Bytes(bytes), ..Span::default() },
            None => Span::default(),
        }
    }

    /// Purge and preconditioning.
    fn preparation(&self, test: PtsTest) -> Vec<Phase> {
        let pass = |name: &str, verb: Verb, bytes: u64, passes: u64, engine: Option<&str>| {
            self.workload.phase(name, 1, |job| {
                self.set(job, verb, 0.0, bytes, false);
                job.limit = Limit { passes: Some(passes), ..Limit::default() };
                self.workload.set_depth(job, self.depth);
                if let Workload::Pattern(pattern) = &mut job.workload {
                    pattern.span = self.span(false);
                }
                if let Some(engine) = engine {
                    job.engine = engine.into();
                    (job.workers, job.depth) = (1, Default::default());
                    job.depth.most = 1;
                }
            })
        };
        let mut phases = Vec::new();
        if self.purge == Purge::Discard {
            let engine = (!self.workload.is_simulated()).then_some(POSITIONED_CALLS);
            phases.push(pass("purge", Verb::Trim, 1 << 20, 1, engine));
        }
        if test.is_preconditioned() {
            let passes = if self.words.quick { 1 } else { 2 };
            phases.push(pass("preconditioning", Verb::Write, PRECONDITION_BYTES, passes, None));
        }
        phases
    }

    fn prepare(&self, experiment: &mut Experiment<'_>, test: PtsTest) -> Result<(), u8> {
        if let Purge::Drive(how) = self.purge {
            experiment::progress(&format!("{}: {}", test.title(), how.name()));
            drive_purge::purge(&self.words.target, how).map_err(|why| {
                let wrong =
                    Diagnostic::error(&Origin::argument(&self.words.target), format!("not purged: {why}"));
                ended(Err(one(wrong.hint(NO_DRIVE_PURGE)))).max(1)
            })?;
        }
        let phases = self.preparation(test);
        if phases.is_empty() {
            return Ok(());
        }
        experiment::progress(&format!("{}: purge and preconditioning", test.title()));
        experiment.run(self.workload.with("pts", phases), "the preconditioning").map(|_| ())
    }

    fn set(&self, job: &mut Job, verb: Verb, reads: f64, bytes: u64, random: bool) {
        let pick = if random { Pick::Uniform } else { Pick::Sequential };
        let mut pattern = Pattern::of(verb, pick, bytes);
        if reads > 0.0 {
            pattern.mix = Mix::reads(reads);
        }
        if random {
            pattern.coverage = Coverage::Repeating;
        }
        pattern.size = PerDirection::same(Size::Fixed(bytes));
        pattern.span = self.span(self.words.client);
        job.pace = Pace::default();
        job.workload = Workload::Pattern(Box::new(pattern));
    }

    fn phase(&self, cell: &PtsCell) -> Phase {
        let time_ns = ((self.time_ns as f64 * cell.times) as u64).max(1);
        let mut phase = self.workload.phase(&cell.name(), time_ns, |job| {
            let verb = if cell.reads == 100 { Verb::Read } else { Verb::Write };
            let reads = if cell.reads == 100 { 0.0 } else { f64::from(cell.reads) };
            self.set(job, verb, reads, cell.bytes, cell.random);
            // A cell is all of its time: what came before it is the same workload or the one before in the matrix.
            job.limit.ramp_ns = 0;
            let (workers, depth) = match cell.depth {
                Some(depth) => (1, depth),
                None => (self.workers, self.depth),
            };
            job.workers = workers;
            self.workload.set_depth(job, workers * depth);
        });
        phase.pause_ns = (self.time_ns as f64 * cell.pause_times) as u64;
        phase
    }

    fn report(&self, state: &PtsState, started: Option<RunStart>) -> PtsReport {
        let results = self.words.tests.iter().zip(&state.tests).map(|(test, state)| {
            let cells = self.cells(*test);
            let (tracked, what) = test.tracked(&cells);
            TestResult {
                test: *test,
                cells,
                rounds: state.rounds.clone(),
                tracked,
                what,
                most_rounds: self.most_rounds(*test),
            }
        });
        let is_by_the_book =
            !self.words.quick && self.words.capacity.is_none() && self.time_ns == 60 * SECOND;
        let kind = if self.words.client { "client" } else { "enterprise" };
        let demand =
            format!("{} × {} operations in flight, where a test does not say", self.workers, self.depth);
        let facts = vec![
            ("specification".into(), format!("SNIA SSS PTS 2.0.2, {kind}; not certified")),
            ("purge".into(), self.purge.text()),
            ("preconditioning".into(), self.preconditioning()),
            ("demand".into(), demand),
            ("active range".into(), self.range_text()),
            ("cell".into(), number::latency(self.time_ns as f64)),
        ];
        PtsReport {
            workload: self.workload.clone(),
            started,
            facts,
            results: results.collect(),
            departs: (!is_by_the_book).then(|| {
                "Not by the specification: it demands cells of a minute over the whole capacity, all of them.".into()
            }),
        }
    }

    fn preconditioning(&self) -> String {
        let times = if self.words.quick { "once" } else { "twice" };
        format!("SEQ 128K written {times} over the capacity, then the workload itself until it is steady")
    }

    fn range_text(&self) -> String {
        match self.span(self.words.client).length {
            Extent::Bytes(bytes) => units::binary(bytes),
            _ => "100 %".into(),
        }
    }
}

/// The tracked figure of each tracked cell, round by round.
fn tracked(test: PtsTest, cells: &[PtsCell], rounds: &[Vec<CellFigures>]) -> Vec<Vec<f64>> {
    let (tracked, what) = test.tracked(cells);
    tracked.into_iter().map(|cell| rounds.iter().map(|round| figure(&round[cell], what)).collect()).collect()
}

fn figure(figures: &CellFigures, what: TrackedFigure) -> f64 {
    match what {
        TrackedFigure::Iops => figures.iops,
        TrackedFigure::Bandwidth => figures.bytes_per_second,
        TrackedFigure::MeanLatency => figures.mean_ns,
    }
}

fn figures(phase: &PhaseRecord) -> CellFigures {
    let Some(job) = phase.jobs.first() else { return CellFigures::default() };
    let mut latency = job.tally.latency(Kind::Read);
    latency.merge(&job.tally.latency(Kind::Write));
    let percentile = |percent: f64| number::percentile(&latency, percent).map(|ns| ns as f64);
    CellFigures {
        iops: shape::per_second(job.tally.all_operations(), phase, job),
        bytes_per_second: shape::per_second(job.tally.all_bytes(), phase, job),
        mean_ns: latency.mean(),
        p99_ns: percentile(99.0),
        p99999_ns: percentile(99.999),
        longest_ns: latency.max as f64,
        bytes: job.tally.all_bytes() as f64,
    }
}
