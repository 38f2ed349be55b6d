//! What epochs came to, and DLIO's files of it: `summary.json`, `per_epoch_stats.json` and `N_output.json`.

use std::collections::BTreeMap;

use iodyno_model::RunStart;

use super::lower::DlioPhase;
use super::states::{self, StateTimes};
use super::steps::{AcceleratorSteps, BlockTimes};
use super::test::DlioTest;
use crate::date::stamp;
use crate::json_tree::{JsonStyle, JsonTree};

/// As Python's `json.dump` with an indent of four.
pub const PYTHON: JsonStyle = JsonStyle {
    indent: "    ",
    newline: "\n",
    colon: ": ",
    inline_comma: None,
    is_empty_closed: true,
    real: python_real,
};

/// What DLIO calls a GB and a MB.
pub const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;

/// What a phase came to, by accelerator.
#[derive(Clone, Debug, Default)]
pub struct PhaseTimes {
    /// Of the start line, ns since 1970.
    pub line_unix_ns: u64,
    pub elapsed_ns: u64,
    pub ranks: BTreeMap<u32, AcceleratorSteps>,
    pub batch: u32,
    /// How long a step computes, where that is always the same, s.
    pub nominal_s: Option<f64>,
    /// First and last steps of a block that do not count.
    pub excluded: (usize, usize),
}

/// What an epoch came to.
#[derive(Clone, Debug, Default)]
pub struct EpochTimes {
    pub train: PhaseTimes,
    pub eval: Option<PhaseTimes>,
    /// The checkpoint behind it: its start line, and how long it took, ns.
    pub saved: Option<(u64, u64)>,
}

impl PhaseTimes {
    pub fn utilised(&self, block: &BlockTimes) -> f64 {
        block.utilised_percent(self.nominal_s, self.excluded)
    }

    /// Utilisation in percent and samples per second of an accelerator: blocks weigh as much as they have steps.
    fn of_rank(&self, steps: &AcceleratorSteps) -> (f64, f64) {
        let all: f64 = steps.blocks.iter().map(|block| block.steps.len() as f64).sum();
        let weighed = |value: &dyn Fn(&BlockTimes) -> f64| {
            let sum: f64 = steps.blocks.iter().map(|block| value(block) * block.steps.len() as f64).sum();
            if all > 0.0 { sum / all } else { 0.0 }
        };
        (weighed(&|block| self.utilised(block)), weighed(&|block| block.samples_per_second(self.batch)))
    }

    /// The mean utilisation of all accelerators, and the samples per second of all together.
    pub fn of_all(&self) -> (f64, f64) {
        let each: Vec<(f64, f64)> = self.ranks.values().map(|steps| self.of_rank(steps)).collect();
        let mean = each.iter().map(|(utilised, _)| utilised).sum::<f64>() / each.len().max(1) as f64;
        (mean, each.iter().map(|(_, rate)| rate).sum())
    }

    /// The accelerator that waited longest for its batches, behind its first step: its rank, how long, and the whole time, s.
    pub fn latest(&self) -> Option<(u32, f64, f64)> {
        let waited = |steps: &AcceleratorSteps| {
            let behind = steps.blocks.iter().flat_map(|block| block.steps.iter().skip(1));
            behind.fold((0.0, 0.0), |(load, whole), step| (load + step.load_s, whole + step.whole_s))
        };
        let each = self.ranks.iter().map(|(rank, steps)| (*rank, waited(steps)));
        let latest = each.max_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
        latest.map(|(rank, (load, whole))| (rank, load, whole))
    }
}

/// What is told of the machine.
#[derive(Clone, Debug, Default)]
pub struct MachineTexts {
    /// `/proc/cpuinfo` and `/proc/meminfo`; empty where there are none.
    pub cpu: String,
    pub memory: String,
}

/// Everything that the files tell.
pub struct Results<'a> {
    pub test: &'a DlioTest,
    pub start: &'a RunStart,
    pub machine: &'a MachineTexts,
    pub epochs: &'a BTreeMap<u32, EpochTimes>,
    /// Checkpoints without training.
    pub states: &'a [StateTimes],
    /// When the run ended, ns since 1970.
    pub ended_unix_ns: u64,
    pub east_s: i64,
}

impl Results<'_> {
    pub fn hosts(&self) -> u32 {
        self.start.world.machines()
    }

    /// Bytes that each host reads in an epoch.
    pub fn host_bytes(&self) -> f64 {
        let test = self.test;
        let on_host = u64::from(self.start.world.on_node(0).max(1)) * u64::from(test.threads);
        let samples = on_host * test.per_file() * test.train.files / test.accelerators().max(1);
        samples as f64 * test.record_bytes
    }

    pub fn memory_bytes(&self) -> f64 {
        self.start.machine.memory_bytes as f64
    }

    fn is_cached(&self) -> bool {
        !self.test.is_simulated && self.host_bytes() <= self.memory_bytes()
    }

    fn per_host(&self, value: impl Fn() -> JsonTree) -> JsonTree {
        (0..self.hosts()).map(|_| value()).collect()
    }

    pub fn summary(&self) -> JsonTree {
        let (test, machine) = (self.test, &self.start.machine);
        let mut summary = JsonTree::Object(Vec::new());
        summary
            .push("start", time(self.start.at_unix_ns, self.east_s))
            .push("num_accelerators", test.accelerators())
            .push("num_hosts", self.hosts())
            .push("hostname", &machine.host)
            .push("metric", self.metric())
            .push("num_files_train", test.train.files)
            .push("num_files_eval", test.valid.files)
            .push("num_samples_per_file", test.per_file())
            .push("host_cpu_count", self.per_host(|| machine.cpus.into()))
            .push("host_processor_name", "")
            .push("potential_caching", self.per_host(|| u32::from(self.is_cached()).into()));
        self.push_machine(&mut summary);
        summary
            .push("host_memory_GB", self.per_host(|| (self.memory_bytes() / GIB).into()))
            .push("data_size_per_host_GB", self.host_bytes() / GIB)
            .push("epochs", self.epochs.len() as u64)
            .push("end", time(self.ended_unix_ns, self.east_s));
        if let Some(states) = self.test.states.as_ref().filter(|states| states.model.scale != 1.0) {
            summary.push("scale", states.model.scale);
        }
        summary
    }

    fn push_machine(&self, tree: &mut JsonTree) {
        for (name, text) in [("host_cpuinfo", &self.machine.cpu), ("host_meminfo", &self.machine.memory)] {
            if !text.is_empty() {
                tree.push(name, facts(text));
            }
        }
    }

    fn metric(&self) -> JsonTree {
        let mut metric = JsonTree::Object(Vec::new());
        if let Some(of) = &self.test.states {
            states::push_metric(&mut metric, of, self.states);
            return metric;
        }
        let train: Vec<(f64, f64)> = self.epochs.values().map(|epoch| epoch.train.of_all()).collect();
        self.push_metric(&mut metric, "train", &train);
        if self.test.evaluates {
            let eval: Vec<_> = self.epochs.values().filter_map(|epoch| epoch.eval.as_ref()).collect();
            let eval: Vec<(f64, f64)> = eval.into_iter().map(PhaseTimes::of_all).collect();
            self.push_metric(&mut metric, "eval", &eval);
        }
        metric
    }

    fn push_metric(&self, metric: &mut JsonTree, name: &str, each: &[(f64, f64)]) {
        let utilised: Vec<f64> = each.iter().map(|(utilised, _)| *utilised).collect();
        let rates: Vec<f64> = each.iter().map(|(_, rate)| *rate).collect();
        let (mean, deviation) = spread(&utilised);
        let (rate, rate_deviation) = spread(&rates);
        let mb = self.test.record_bytes / MIB;
        let list = |values: &[f64]| values.iter().map(|value| JsonTree::from(*value)).collect::<JsonTree>();
        let mut push = |what: &str, value: JsonTree| {
            metric.push(&format!("{name}_{what}"), value);
        };
        push("au_percentage", list(&utilised));
        push("au_mean_percentage", mean.into());
        push("au_meet_expectation", self.verdict(mean).into());
        push("au_stdev_percentage", deviation.into());
        push("throughput_samples_per_second", list(&rates));
        push("throughput_mean_samples_per_second", rate.into());
        push("throughput_stdev_samples_per_second", rate_deviation.into());
        push("io_mean_MB_per_second", (rate * mb).into());
        push("io_stdev_MB_per_second", (rate_deviation * mb).into());
    }

    fn verdict(&self, mean_percent: f64) -> &'static str {
        let least = self.test.settings.decimal("metric.au") * 100.0;
        if mean_percent >= least { "success" } else { "fail" }
    }

    /// The lines that a run ends with.
    pub fn metric_lines(&self) -> Vec<String> {
        let train: Vec<(f64, f64)> = self.epochs.values().map(|epoch| epoch.train.of_all()).collect();
        let eval: Vec<_> = self.epochs.values().filter_map(|epoch| epoch.eval.as_ref()).collect();
        let eval: Vec<(f64, f64)> = eval.into_iter().map(PhaseTimes::of_all).collect();
        let rule = "=".repeat(58);
        if let Some(of) = &self.test.states {
            let count = format!("Number of Simulated Accelerators: {} ", self.test.accelerators());
            let before = [rule.clone(), count].into_iter().chain(of.scale_line());
            return before.chain(states::metric_lines(self.states)).chain([rule]).collect();
        }
        let mb = self.test.record_bytes / MIB;
        let of = |each: &[(f64, f64)]| {
            let (utilised, rates): (Vec<f64>, Vec<f64>) = each.iter().copied().unzip();
            (spread(&utilised), spread(&rates))
        };
        let ((mean, deviation), (rate, rates)) = of(&train);
        let mut lines = vec![
            rule.clone(),
            format!("Number of Simulated Accelerators: {} ", self.test.accelerators()),
            format!("Training Accelerator Utilization [AU] (%): {mean:.4} ({deviation:.4})"),
            format!("Training Throughput (samples/second): {rate:.4} ({rates:.4})"),
            format!("Training I/O Throughput (MB/second): {:.4} ({:.4})", rate * mb, rates * mb),
            format!("train_au_meet_expectation: {}", self.verdict(mean)),
        ];
        let saves: Vec<f64> = self.epochs.values().flat_map(EpochTimes::save_seconds).collect();
        if !saves.is_empty() {
            let (mean, deviation) = spread(&saves);
            lines.push(format!("Checkpoint save duration (seconds): {mean:.4} ({deviation:.4})"));
        }
        if self.test.evaluates {
            let ((mean, deviation), (rate, rates)) = of(&eval);
            lines.extend([
                format!("Eval Accelerator Utilization [AU] (%): {mean:.4} ({deviation:.4})"),
                format!("Eval Throughput (samples/second): {rate:.6} ({rates:.6})"),
                format!("Eval Throughput (MB/second): {:.6} ({:.6})", rate * mb, rates * mb),
                format!("eval_au_meet_expectation: {}", self.verdict(mean)),
            ]);
        }
        lines.push(rule);
        lines
    }

    /// When epochs, blocks, evaluations and checkpoints began and ended.
    pub fn per_epoch(&self) -> JsonTree {
        let mut tree = JsonTree::Object(Vec::new());
        if let Some(of) = &self.test.states {
            tree.push("1", self.states_of_epoch(of.model.scale));
            return tree;
        }
        for (epoch, times) in self.epochs {
            let train = &times.train;
            let span = |from_s: f64, to_s: f64| self.span(train.line_unix_ns, from_s, to_s);
            let whole = times.elapsed_s();
            let mut node = JsonTree::object([("start", time(train.line_unix_ns, self.east_s).into())]);
            let first = train.ranks.values().next();
            for (index, block) in first.iter().flat_map(|steps| &steps.blocks).enumerate() {
                node.push(&format!("block{}", index + 1), span(block.began_s, block.ended_s));
                if let Some((from, to)) = block.saved {
                    node.push(&format!("ckpt{}", index + 1), span(from, to));
                }
            }
            if let Some((line, elapsed)) = times.saved {
                let blocks = first.map_or(1, |steps| steps.blocks.len());
                node.push(&format!("ckpt{blocks}"), self.span(line, 0.0, elapsed as f64 / 1e9));
            }
            node.push("end", time(train.line_unix_ns + (whole * 1e9) as u64, self.east_s))
                .push("duration", format!("{whole:.2}"));
            if let Some(eval) = &times.eval {
                node.push("eval", self.span(eval.line_unix_ns, 0.0, eval.elapsed_ns as f64 / 1e9));
            }
            tree.push(&epoch.to_string(), node);
        }
        tree
    }

    /// When checkpoints were saved and loaded.
    fn states_of_epoch(&self, scale: f64) -> JsonTree {
        let mut node = JsonTree::Object(Vec::new());
        for one in self.states {
            let name = format!("{}{}", one.word("save_ckpt", "load_ckpt"), one.number);
            node.push(&name, self.span(one.line_unix_ns, 0.0, one.seconds()));
        }
        if scale != 1.0 {
            node.push("scale", scale);
        }
        node
    }

    fn span(&self, line_unix_ns: u64, from_s: f64, to_s: f64) -> JsonTree {
        let at = |s: f64| time(line_unix_ns + (s * 1e9) as u64, self.east_s);
        JsonTree::object([
            ("start", at(from_s).into()),
            ("end", at(to_s).into()),
            ("duration", format!("{:.2}", to_s - from_s).into()),
        ])
    }

    /// What one accelerator did, step by step.
    pub fn of_rank(&self, rank: u32) -> JsonTree {
        let machine = &self.start.machine;
        let mut tree = JsonTree::object([
            ("host_memory_GB", (self.memory_bytes() / GIB).into()),
            ("host_cpu_count", machine.cpus.into()),
            ("host_processor_name", "".into()),
            ("potential_caching", u32::from(self.is_cached()).into()),
        ]);
        self.push_machine(&mut tree);
        for (epoch, times) in self.epochs {
            tree.push(&epoch.to_string(), self.epoch_of_rank(rank, times));
        }
        tree.push("hostname", &machine.host);
        tree
    }

    fn epoch_of_rank(&self, rank: u32, times: &EpochTimes) -> JsonTree {
        let mut lists =
            ["load", "proc", "throughput", "au", "compute"].map(|name| (name, JsonTree::Object(Vec::new())));
        let mut add = |phase: &PhaseTimes, name: &dyn Fn(usize) -> String| {
            for (index, block) in phase.ranks.get(&rank).iter().flat_map(|steps| &steps.blocks).enumerate() {
                let each = |value: fn(&super::steps::StepTimes) -> f64| -> JsonTree {
                    block.steps.iter().map(|step| JsonTree::from(value(step))).collect()
                };
                let computed =
                    block.steps.iter().map(|step| phase.nominal_s.unwrap_or(step.compute_s).into());
                let values = [
                    each(|step| step.load_s),
                    each(|step| step.whole_s),
                    block.samples_per_second(phase.batch).into(),
                    phase.utilised(block).into(),
                    computed.collect(),
                ];
                let name = name(index);
                for ((_, list), value) in lists.iter_mut().zip(values) {
                    list.push(&name, value);
                }
            }
        };
        add(&times.train, &|index| format!("block{}", index + 1));
        if let Some(eval) = &times.eval {
            add(eval, &|_| "eval".into());
        }
        let mut node = JsonTree::fields(lists);
        if !self.machine.memory.is_empty() {
            node.push("host_meminfo", facts(&self.machine.memory));
        }
        node
    }
}

impl EpochTimes {
    /// Training and the checkpoint behind it, s.
    pub fn elapsed_s(&self) -> f64 {
        let saved = self.saved.map_or(0, |(_, elapsed)| elapsed);
        (self.train.elapsed_ns + saved) as f64 / 1e9
    }

    /// How long each checkpoint took, s.
    pub fn save_seconds(&self) -> Vec<f64> {
        let within = self.train.ranks.values().next().into_iter().flat_map(|steps| &steps.blocks);
        let within = within.filter_map(|block| block.saved.map(|(from, to)| to - from));
        within.chain(self.saved.map(|(_, elapsed)| elapsed as f64 / 1e9)).collect()
    }
}

/// The batch and the excluded steps of a phase, before anything is known of it.
pub fn blank(test: &DlioTest, phase: &DlioPhase) -> PhaseTimes {
    let is_eval = phase.role == super::lower::DlioRole::Evaluate;
    let (set, lasting) =
        if is_eval { (&test.valid, &test.eval_compute) } else { (&test.train, &test.compute) };
    let count = |name: &str| usize::try_from(test.settings.count(name)).unwrap_or(usize::MAX);
    PhaseTimes {
        batch: set.batch,
        nominal_s: lasting.drawn.is_none().then_some(lasting.ns as f64 / 1e9),
        excluded: (count("metric.exclude_start_steps"), count("metric.exclude_end_steps")),
        ..PhaseTimes::default()
    }
}

/// The mean, and the standard deviation of all (not of a sample).
pub fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let sum = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, value| sum + value);
    let mean = sum(&mut values.iter().copied()) / count;
    let squares = sum(&mut values.iter().map(|value| (value - mean).powi(2)));
    (mean, (squares / count).sqrt())
}

/// A moment as DLIO writes it: `2026-11-22T00:14:21.123456`.
pub fn time(unix_ns: u64, east_s: i64) -> String {
    format!("{}.{:06}", stamp(unix_ns, east_s).replace(' ', "T"), unix_ns / 1000 % 1_000_000)
}

/// Lines of names and values; of a name that comes again the last value counts.
fn facts(text: &str) -> JsonTree {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':').filter(|(_, value)| !value.contains(':')) else {
            continue;
        };
        let (name, value) = (name.trim().to_string(), value.trim().to_string());
        if name == "processor" {
            continue;
        }
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => fields.push((name, value)),
        }
    }
    JsonTree::fields(fields)
}

/// A number as Python prints it: the shortest that is read back as the same.
fn python_real(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{value:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let power: i32 = power.parse().unwrap_or(0);
        return format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs());
    }
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_pythons() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.5, "1.5"),
            (100.0, "100.0"),
            (0.00012, "0.00012"),
            (0.000012, "1.2e-05"),
            (1e16, "1e+16"),
            (123_456_789.25, "123456789.25"),
        ] {
            assert_eq!(python_real(value), text);
        }
    }

    #[test]
    fn the_deviation_is_that_of_all() {
        assert_eq!(spread(&[1.0, 3.0]), (2.0, 1.0));
        assert_eq!(spread(&[]), (0.0, 0.0));
    }

    #[test]
    fn facts_are_names_and_values() {
        let tree = facts("processor\t: 0\nmodel name\t: x\nprocessor\t: 1\nmodel name\t: y\n\nodd\n");
        assert_eq!(tree, JsonTree::fields([("model name", "y")]));
    }
}
