//! DLIO's log and its files: what epochs, blocks and checkpoints came to, and the lines that a run ends with.
//!
//! Each step stands in the log; standard output has the rest. The lines of an epoch are written when it has ended, with the
//! times at which things happened.

use std::collections::BTreeMap;
use std::io;

use iodyno_model::training::ACCELERATOR;
use iodyno_model::{Event, JournalPart, PhaseRecord, RunStart};
use iodyno_report::{Output, Reporter};

use super::lower::{DlioPhase, DlioRole};
use super::results::{EpochTimes, GIB, MachineTexts, PYTHON, PhaseTimes, Results, blank, time};
use super::states::StateTimes;
use super::test::DlioTest;

/// A data set so many times as large as the memory needs no look at the cache. Source: MLPerf Storage rules 2.0.
const MEMORY_TIMES: f64 = 5.0;
/// A share of an accelerator's time in which it waits that is told, percent.
const LATE_PERCENT: f64 = 1.0;
/// From this share of all processors on the client limits, percent.
const BUSY_PERCENT: f64 = 85.0;

/// What a report begins with.
#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    pub test: DlioTest,
    pub phases: Vec<DlioPhase>,
    pub machine: MachineTexts,
    /// The configuration, the overrides, and where the workload was read.
    pub config: String,
    pub overrides: Vec<String>,
    pub source: String,
    pub east_s: i64,
    /// Whether more is told than DLIO tells.
    pub talks: bool,
}

/// Writes the log and the files of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    context: ReportContext,
    start: RunStart,
    /// Of the phase that runs.
    times: PhaseTimes,
    epochs: BTreeMap<u32, EpochTimes>,
    states: Vec<StateTimes>,
    /// When the last phase ended, ns since 1970.
    ended_unix_ns: u64,
    /// The largest share of the processors that readers took, percent.
    busy_percent: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LogLevel {
    Output,
    Warning,
    Metric,
    /// In the log only.
    Info,
}

impl Report {
    pub fn new(context: ReportContext) -> Report {
        Report { context, ..Report::default() }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.context.test.output)
    }

    fn say(&self, level: LogLevel, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        let word = match level {
            LogLevel::Output => "OUTPUT",
            LogLevel::Warning => "WARNING",
            LogLevel::Metric => "METRIC",
            LogLevel::Info => "INFO",
        };
        let log = output.files.file(&self.path(&self.context.test.log))?;
        writeln!(log, "[{word}] {text}")?;
        if level != LogLevel::Info {
            // Whoever follows the log sees what standard output shows.
            log.flush()?;
            writeln!(output.out, "[{word}] {text}")?;
        }
        Ok(())
    }

    /// The same with its time before it, ns since 1970.
    fn tell(&self, at_unix_ns: u64, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        self.say(LogLevel::Output, &format!("{} {text}", time(at_unix_ns, self.context.east_s)), output)
    }

    fn is_simulated(&self) -> bool {
        self.context.test.is_simulated
    }

    fn results(&self) -> Results<'_> {
        Results {
            test: &self.context.test,
            start: &self.start,
            machine: &self.context.machine,
            epochs: &self.epochs,
            states: &self.states,
            ended_unix_ns: self.ended_unix_ns,
            east_s: self.context.east_s,
        }
    }

    fn started(&mut self, start: &RunStart, output: &mut Output<'_>) -> io::Result<()> {
        self.start = start.clone();
        self.ended_unix_ns = start.at_unix_ns;
        output.files.folder(&self.context.test.output)?;
        output.files.folder(&self.path(".hydra"))?;
        self.write(".hydra/config.yaml", &self.context.config, output)?;
        let overrides: String = self.context.overrides.iter().map(|each| format!("- {each}\n")).collect();
        self.write(".hydra/overrides.yaml", if overrides.is_empty() { "[]\n" } else { &overrides }, output)?;
        let test = &self.context.test;
        let now = start.at_unix_ns;
        self.tell(now, &format!("Running DLIO with {} process(es)", test.accelerators()), output)?;
        self.tell(now, &format!("Reading workload YAML config file '{}'", self.context.source), output)?;
        for warning in &test.warnings {
            self.say(LogLevel::Warning, warning, output)?;
        }
        if test.trains {
            self.told_size(output)?;
        }
        for line in test.states.iter().flat_map(|states| states.lines()) {
            self.tell(now, &line, output)?;
        }
        output.out.flush()
    }

    fn told_size(&self, output: &mut Output<'_>) -> io::Result<()> {
        let (test, results) = (&self.context.test, self.results());
        let (set, memory) = (results.host_bytes() / GIB, results.memory_bytes() / GIB);
        let steps = format!(
            "Max steps per epoch: {} = {} * {} / {} / {} (samples per file * num files / batch size / comm size)",
            test.train.steps,
            test.per_file(),
            test.train.files,
            test.train.batch,
            test.accelerators()
        );
        self.tell(self.start.at_unix_ns, &steps, output)?;
        if test.evaluates {
            let eval = format!(
                "Steps per eval: {} = {} * {} / {} / {} (samples per file * num files / batch size eval / comm size)",
                test.valid.steps,
                test.per_file(),
                test.valid.files,
                test.valid.batch,
                test.accelerators()
            );
            self.tell(self.start.at_unix_ns, &eval, output)?;
        }
        let memories = vec![format!("{memory}"); results.hosts() as usize].join(", ");
        let size = format!(
            "Total amount of data each host will consume is {set} GB; each host has [{memories}] GB memory"
        );
        self.say(LogLevel::Output, &size, output)?;
        if self.is_simulated() {
            return Ok(());
        }
        if set <= memory {
            let warning = "The amount of dataset is smaller than the host memory; data might be cached after the first epoch. \
                           Increase the size of dataset to eliminate the caching effect!!!";
            self.say(LogLevel::Warning, warning, output)?;
        } else if set < memory * MEMORY_TIMES && self.context.talks {
            let times = set / memory;
            let warning = format!(
                "The dataset is {times:.1} times the host memory: MLPerf Storage demands {MEMORY_TIMES:.0} times"
            );
            self.say(LogLevel::Warning, &warning, output)?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        let path = self.path(name);
        output.files.file(&path)?.write_all(text.as_bytes())?;
        output.files.close(&path)
    }

    fn journal(&mut self, part: &JournalPart) {
        let Some(phase) = self.context.phases.get(part.phase) else { return };
        // The start line by the clock of the wall.
        if let Some((_, line)) = part.clocks.iter().find(|(clock, _)| *clock == 0) {
            self.times.line_unix_ns = *line;
        }
        let job = self.start.plan.phases.get(part.phase).and_then(|phase| phase.jobs.get(part.job));
        if job.is_some_and(|job| job.name == ACCELERATOR) {
            self.times.ranks.entry(part.worker).or_default().add(part, phase);
        }
    }

    fn phase(&mut self, record: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(phase) = self.context.phases.get(record.index).cloned() else { return Ok(()) };
        let known = std::mem::take(&mut self.times);
        let mut times = blank(&self.context.test, &phase);
        times.ranks = known.ranks;
        times.elapsed_ns = record.elapsed_ns;
        // The clock of a simulated device goes on where the phase before ended.
        let is_told = known.line_unix_ns > 0 && !self.is_simulated();
        times.line_unix_ns = if is_told { known.line_unix_ns } else { self.ended_unix_ns };
        self.ended_unix_ns = times.line_unix_ns + record.elapsed_ns;
        if phase.role == DlioRole::Train {
            self.busy_percent = self.busy_percent.max(busy_percent(record, self.start.machine.cpus));
        }
        match phase.role {
            DlioRole::Save | DlioRole::Load => self.told_state(&phase, record, output)?,
            DlioRole::Generate => {
                self.tell(self.start.at_unix_ns, "Starting data generation", output)?;
                self.tell(self.ended_unix_ns, "Generation done", output)?;
            }
            DlioRole::Train => {
                self.told_training(&phase, &times, output)?;
                self.epochs.entry(phase.epoch).or_default().train = times;
            }
            DlioRole::Checkpoint => {
                let block = self.epochs.get(&phase.epoch).and_then(|epoch| epoch.train.ranks.values().next());
                let block = block.map_or(1, |steps| steps.blocks.len());
                self.told_checkpoint(times.line_unix_ns, (block, phase.steps, phase.epoch), output)?;
                self.tell(
                    self.ended_unix_ns,
                    &format!("Ending checkpoint {block} for epoch {}", phase.epoch),
                    output,
                )?;
                let saved = Some((times.line_unix_ns, times.elapsed_ns));
                self.epochs.entry(phase.epoch).or_default().saved = saved;
            }
            DlioRole::Evaluate => {
                self.told_evaluation(&phase, &times, output)?;
                self.epochs.entry(phase.epoch).or_default().eval = Some(times);
            }
        }
        output.out.flush()
    }

    fn told_checkpoint(
        &self,
        at: u64,
        (block, steps, epoch): (usize, u64, u32),
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        self.tell(
            at,
            &format!("Starting checkpoint {block} after total step {steps} for epoch {epoch}"),
            output,
        )
    }

    /// A checkpoint that was saved or loaded without training.
    fn told_state(
        &mut self,
        phase: &DlioPhase,
        record: &PhaseRecord,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let began = record.jobs.first().map(|job| job.began_unix_ns);
        let line = began.filter(|_| !self.is_simulated()).unwrap_or(self.ended_unix_ns - record.elapsed_ns);
        let Some(times) = StateTimes::of(phase, line, record) else { return Ok(()) };
        self.ended_unix_ns = line + record.elapsed_ns;
        let loaded = self.states.iter().filter(|one| one.role == DlioRole::Save).count() as u64;
        let step = if times.role == DlioRole::Save { times.number } else { loaded };
        let [began, ended] = times.lines(step);
        self.tell(line, &began, output)?;
        self.tell(line + times.record.longest_ns, &ended, output)?;
        self.states.push(times);
        Ok(())
    }

    fn told_training(
        &self,
        phase: &DlioPhase,
        times: &PhaseTimes,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let (epoch, line) = (phase.epoch, times.line_unix_ns);
        let at = |s: f64| line + (s * 1e9) as u64;
        let steps = match self.context.test.settings.number("train.total_training_steps") {
            1.. => format!("Starting epoch {epoch}: Overriding number of steps to {}.", phase.steps),
            _ => format!("Starting epoch {epoch}: {} steps expected", phase.steps),
        };
        self.tell(line, &steps, output)?;
        self.told_steps(times, output)?;
        let Some(first) = times.ranks.values().next() else { return Ok(()) };
        let (accelerators, mut taken) = (times.ranks.len() as f64, 0);
        for (index, block) in first.blocks.iter().enumerate() {
            let number = index + 1;
            taken += block.steps.len() as u64;
            self.tell(at(block.began_s), &format!("Starting block {number}"), output)?;
            if index + 1 == first.blocks.len() && taken >= phase.steps {
                self.tell(at(block.ended_s), "Maximum number of steps reached", output)?;
            }
            let ending = format!(
                "Ending block {number} - {} steps completed in {:.2} s",
                block.steps.len(),
                block.ended_s - block.began_s
            );
            self.tell(at(block.ended_s), &ending, output)?;
            let head = format!("Epoch {epoch} - Block {number} [Training]");
            let utilised = times.utilised(block);
            self.tell(
                at(block.ended_s),
                &format!("{head} Accelerator Utilization [AU] (%): {utilised:.4}"),
                output,
            )?;
            let rate = block.samples_per_second(times.batch) * accelerators;
            self.tell(at(block.ended_s), &format!("{head} Throughput (samples/second): {rate:.4}"), output)?;
            if let Some((from, to)) = block.saved {
                self.told_checkpoint(at(from), (number, taken, epoch), output)?;
                self.tell(at(to), &format!("Ending checkpoint {number} for epoch {epoch}"), output)?;
            }
        }
        let ending = format!(
            "Ending epoch {epoch} - {taken} steps completed in {:.2} s",
            times.elapsed_ns as f64 / 1e9
        );
        self.tell(line + times.elapsed_ns, &ending, output)
    }

    /// Each step of each accelerator, in the order of time.
    fn told_steps(&self, times: &PhaseTimes, output: &mut Output<'_>) -> io::Result<()> {
        let mut lines = Vec::new();
        for (rank, steps) in &times.ranks {
            let each = steps.blocks.iter().flat_map(|block| &block.steps);
            lines
                .extend(each.enumerate().map(|(index, step)| (step.ended_s, *rank, index + 1, step.whole_s)));
        }
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (ended_s, rank, step, whole_s) in lines {
            let at = time(times.line_unix_ns + (ended_s * 1e9) as u64, self.context.east_s);
            let text =
                format!("{at} Rank {rank} step {step} processed {} samples in {whole_s} s", times.batch);
            self.say(LogLevel::Info, &text, output)?;
        }
        Ok(())
    }

    fn told_evaluation(
        &self,
        phase: &DlioPhase,
        times: &PhaseTimes,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let (line, end) = (times.line_unix_ns, times.line_unix_ns + times.elapsed_ns);
        let (utilised, rate) = times.of_all();
        self.tell(line, &format!("Starting eval - {} steps expected", phase.steps), output)?;
        self.told_steps(times, output)?;
        let seconds = times.elapsed_ns as f64 / 1e9;
        self.tell(end, &format!("Ending eval - {} steps completed in {seconds:.2} s", phase.steps), output)?;
        let head = format!("Epoch {} [Eval]", phase.epoch);
        self.tell(end, &format!("{head} Accelerator Utilization [AU] (%): {utilised:.4}"), output)?;
        self.tell(end, &format!("{head} Throughput (samples/second): {rate:.4}"), output)
    }

    fn ended(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        if self.epochs.is_empty() && self.states.is_empty() {
            return output.out.flush();
        }
        let results = self.results();
        let json = |tree: crate::json_tree::JsonTree| tree.print(&PYTHON);
        self.write("summary.json", &json(results.summary()), output)?;
        self.write("per_epoch_stats.json", &json(results.per_epoch()), output)?;
        let ranks: Vec<u32> = self
            .epochs
            .values()
            .next()
            .map_or(Vec::new(), |epoch| epoch.train.ranks.keys().copied().collect());
        for rank in ranks {
            self.write(&format!("{rank}_output.json"), &json(results.of_rank(rank)), output)?;
        }
        self.tell(self.ended_unix_ns, &format!("Saved outputs in {}", self.context.test.output), output)?;
        let over = if self.states.is_empty() { "epochs" } else { "checkpoints" };
        self.say(LogLevel::Output, &format!("Averaged metric over all {over}"), output)?;
        for line in results.metric_lines() {
            self.say(LogLevel::Metric, &line, output)?;
        }
        self.told_limit(output)?;
        self.tell(self.ended_unix_ns, "outputs saved in RANKID_output.json", output)?;
        output.out.flush()
    }

    /// Who waited longest, and what kept it waiting: more than DLIO tells.
    fn told_limit(&self, output: &mut Output<'_>) -> io::Result<()> {
        if !self.context.talks {
            return Ok(());
        }
        let is_simulated = self.is_simulated();
        let latest = self.epochs.iter().filter_map(|(epoch, times)| Some((*epoch, times.train.latest()?)));
        let Some((epoch, (rank, load, whole))) =
            latest.max_by(|(_, one), (_, other)| one.1.total_cmp(&other.1))
        else {
            return Ok(());
        };
        if whole <= 0.0 || load / whole * 100.0 < LATE_PERCENT {
            return Ok(());
        }
        let because = match self.busy_percent {
            busy if busy >= BUSY_PERCENT => {
                format!("readers took {busy:.0} % of the processors, which limit")
            }
            _ if is_simulated => "the simulated device limits".into(),
            _ => "the storage or the way to it limits: processors were free".into(),
        };
        let text = format!(
            "Rank {rank} waited longest: {load:.2} of {whole:.2} s for its batches in epoch {epoch}; {because}."
        );
        self.say(LogLevel::Output, &text, output)
    }
}

/// The share of all processors that a phase took, percent.
fn busy_percent(record: &PhaseRecord, processors: u32) -> f64 {
    let workers = record.jobs.iter().flat_map(|job| &job.workers);
    let busy_ns: u64 = workers.map(|worker| worker.user_ns + worker.system_ns).sum();
    let whole_ns = record.elapsed_ns as f64 * f64::from(processors.max(1));
    if whole_ns > 0.0 { (busy_ns as f64 / whole_ns * 100.0).min(100.0) } else { 0.0 }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(start) => self.started(start, output),
            Event::Journal(part) => {
                self.journal(part);
                Ok(())
            }
            Event::PhaseEnded(record) => self.phase(record, output),
            Event::Message(wrong) => {
                let _ = writeln!(output.err, "{wrong}");
                Ok(())
            }
            Event::Ended(_) => self.ended(output),
            _ => Ok(()),
        }
    }
}
