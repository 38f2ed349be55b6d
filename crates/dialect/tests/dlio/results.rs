//! What the report makes of journals: the log, `summary.json`, and the steps of each accelerator.

use std::collections::BTreeMap;
use std::io::{self, Write};

use iodyno_dialect::{Request, Run};
use iodyno_model::training::{ACCELERATOR, SAVER};
use iodyno_model::{
    Event, JobRecord, JournalEntry, JournalPart, Machine, PhaseRecord, Record, RunStart, Verb, WorkerRecord,
    WorldFacts,
};
use iodyno_report::{Files, Output};

use super::{World, golden, request};

const MS: u64 = 1_000_000;
const LINE_NS: u64 = 1_795_287_500_000_000_000;

/// Files in memory.
#[derive(Default)]
struct Written(BTreeMap<String, Vec<u8>>);

impl Files for Written {
    fn file(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        Ok(self.0.entry(path.to_string()).or_default())
    }
    fn folder(&mut self, _path: &str) -> io::Result<()> {
        Ok(())
    }
    fn close(&mut self, _path: &str) -> io::Result<()> {
        Ok(())
    }
}

/// An accelerator's journal: entries are made as the script of it would make them.
struct Accelerator {
    at_ns: u64,
    entries: Vec<JournalEntry>,
}

impl Accelerator {
    fn done(&mut self, verb: Verb, latency_ns: u64) {
        self.at_ns += latency_ns;
        self.entries.push(JournalEntry::Done {
            at_ns: self.at_ns,
            verb,
            file: 0,
            offset: 0,
            bytes: 0,
            submission_ns: 0,
            completion_ns: latency_ns,
            latency_ns,
            priority: 0,
        });
    }

    /// Waits for a batch, makes room, computes, perhaps waits for the others, and the step is over.
    fn step(&mut self, load_ms: u64, compute_ms: u64, barrier_ms: Option<u64>) {
        self.done(Verb::Wait, load_ms * MS);
        self.done(Verb::Post, 0);
        self.done(Verb::Think, compute_ms * MS);
        if let Some(ms) = barrier_ms {
            self.done(Verb::Wait, ms * MS);
        }
        self.done(Verb::Wait, 0);
    }

    fn save(&mut self, ms: u64) {
        self.done(Verb::Wait, 0);
        self.done(Verb::Wait, ms * MS);
    }
}

/// Runs the report of a run over what the accelerators of each phase wrote down.
fn reported(
    mut run: Run,
    accelerators: impl Fn(usize, u32) -> Accelerator,
    workers: u32,
) -> (Written, String) {
    let (mut files, mut out, mut err) = (Written::default(), Vec::new(), Vec::new());
    let machine = Machine { host: "here".into(), cpus: 8, memory_bytes: 1 << 20, ..Machine::default() };
    let start = RunStart {
        plan: run.plan.clone(),
        machine,
        at_unix_ns: LINE_NS,
        world: WorldFacts::alone("here"),
        ..RunStart::default()
    };
    let mut events = vec![Event::Started(Box::new(start))];
    let mut line = LINE_NS;
    for (index, phase) in run.plan.phases.iter().enumerate() {
        let mut elapsed_ns = 500 * MS;
        for (job, _) in
            phase.jobs.iter().enumerate().filter(|(_, job)| [ACCELERATOR, SAVER].contains(&job.name.as_str()))
        {
            for worker in 0..workers {
                let of = accelerators(index, worker);
                let entries = if phase.jobs[job].name == ACCELERATOR { of.entries } else { Vec::new() };
                elapsed_ns = elapsed_ns.max(of.at_ns);
                let clocks = vec![(0, line)];
                events.push(Event::Journal(Box::new(JournalPart {
                    phase: index,
                    job,
                    worker,
                    clocks,
                    entries,
                    ..JournalPart::default()
                })));
            }
        }
        let worker = WorkerRecord { user_ns: elapsed_ns, ..WorkerRecord::default() };
        let jobs =
            vec![JobRecord { name: ACCELERATOR.into(), workers: vec![worker], ..JobRecord::default() }];
        events.push(Event::PhaseEnded(Box::new(PhaseRecord {
            name: phase.name.clone(),
            index,
            elapsed_ns,
            jobs,
            ..PhaseRecord::default()
        })));
        line += elapsed_ns + 1000 * MS;
    }
    events.push(Event::Ended(Box::<Record>::default()));
    for event in &events {
        let mut output = Output { out: &mut out, err: &mut err, files: &mut files };
        run.reporter.event(event, &mut output).unwrap();
    }
    (files, String::from_utf8(out).unwrap())
}

fn run(line: &str, text: &str, threads: u32) -> Run {
    let mut world = World::with("w.yaml", text);
    world.also = vec![("threads".into(), threads.to_string())];
    match request(line, &mut world) {
        Request::Run(run) => *run,
        Request::Refuse { err, .. } => panic!("{err}"),
        _ => panic!("{line}"),
    }
}

const TEXT: &str = "\
model: m
framework: pytorch
workflow: {generate_data: True, train: True, evaluation: True, checkpoint: True}
dataset: {format: npz, num_files_train: 32, num_files_eval: 8, record_length: 1048576}
reader: {data_loader: pytorch, batch_size: 4, batch_size_eval: 2}
train: {epochs: 2, computation_time: 0.1}
evaluation: {eval_time: 0.05}
checkpoint: {steps_between_checkpoints: 2}
output: {folder: out}
";

/// Of four steps two accelerators load 300 ms at first and then 25 or 40, compute 100 and wait for each other; behind two steps
/// they wait for a checkpoint.
fn accelerator(phase: usize, worker: u32) -> Accelerator {
    stepping(phase, worker, true)
}

fn stepping(phase: usize, worker: u32, together: bool) -> Accelerator {
    let mut of = Accelerator { at_ns: 0, entries: Vec::new() };
    match phase {
        1 | 3 => {
            for step in 0..4 {
                let (load, barrier) = match (step, worker) {
                    (0, _) => (300, 0),
                    (_, 0) => (25, 15),
                    _ => (40, 0),
                };
                of.step(load, 100, together.then_some(barrier));
                if step % 2 == 1 {
                    of.save(700);
                }
            }
        }
        2 | 4 => (0..2).for_each(|_| of.step(50, 50, None)),
        _ => {}
    }
    of
}

#[test]
fn golden_results_of_two_accelerators() {
    let (files, out) = reported(run("workload=w.yaml", TEXT, 2), accelerator, 2);
    let mut found = format!("standard output:\n{out}");
    for (path, bytes) in &files.0 {
        found += &format!("\n{path}:\n{}\n", String::from_utf8_lossy(bytes));
    }
    golden("golden/dlio/results.txt", &found);
}

#[test]
fn the_first_step_of_each_block_does_not_count() {
    let (files, _) = reported(run("workload=w.yaml", TEXT, 2), accelerator, 2);
    let read =
        |name: &str| serde_json::from_slice::<serde_json::Value>(&files.0[&format!("out/{name}")]).unwrap();
    let steps = read("0_output.json");
    let first = &steps["1"];
    assert_eq!(first["load"]["block1"].as_array().unwrap().len(), 2);
    // The second step of a block: 25 ms of loading, 100 of computing, 15 until the other one is ready.
    assert_eq!(first["au"]["block1"].as_f64().map(f64::round), Some(71.0));
    let summary = read("summary.json");
    assert_eq!((&summary["num_accelerators"], &summary["epochs"]), (&2.into(), &2.into()));
    let mean = summary["metric"]["train_au_mean_percentage"].as_f64().unwrap();
    // What is left out of a block's time is the first step's loading and computing: as DLIO counts, its wait for the other
    // one stays, so in their second blocks the accelerator that is ready first has 100 of 155 ms.
    assert!((mean - (3.0 * 100.0 / 1.4 + 100.0 / 1.55) / 4.0).abs() < 0.1, "{mean}");
    assert_eq!(summary["metric"]["train_au_meet_expectation"], "fail");
    // An evaluation has no barrier: half of its second step is computing.
    assert_eq!(summary["metric"]["eval_au_mean_percentage"].as_f64().map(f64::round), Some(50.0));
}

#[test]
fn waiting_for_the_others_is_no_computing() {
    let text = TEXT.replace("{steps_between_checkpoints: 2}", "{checkpoint_after_epoch: 9}");
    let steps = |phase: usize, worker: u32| {
        let mut of = Accelerator { at_ns: 0, entries: Vec::new() };
        let (load, barrier) = if worker == 0 { (25, 15) } else { (40, 0) };
        (0..4).for_each(|_| of.step(load, 100, (phase % 2 == 1).then_some(barrier)));
        of
    };
    let (files, _) = reported(run("workload=w.yaml", &text, 2), steps, 2);
    let summary: serde_json::Value = serde_json::from_slice(&files.0["out/summary.json"]).unwrap();
    let mean = summary["metric"]["train_au_mean_percentage"].as_f64().unwrap();
    // As DLIO counts, the first step ends before its barrier: 15 ms of it are in the time of the others.
    let wanted = (300.0 / 4.35 + 300.0 / 4.2) / 2.0;
    assert!((mean - wanted).abs() < 1e-6, "{mean}");
}

#[test]
fn the_keys_of_a_summary_are_dlios() {
    let (files, _) = reported(run("workload=w.yaml", TEXT, 1), |phase, _| stepping(phase, 1, false), 1);
    let summary: serde_json::Value = serde_json::from_slice(&files.0["out/summary.json"]).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    // By DLIO 2.0.0, without what it reads of the processors and the memory.
    assert_eq!(
        keys(&summary),
        [
            "data_size_per_host_GB",
            "end",
            "epochs",
            "host_cpu_count",
            "host_memory_GB",
            "host_processor_name",
            "hostname",
            "metric",
            "num_accelerators",
            "num_files_eval",
            "num_files_train",
            "num_hosts",
            "num_samples_per_file",
            "potential_caching",
            "start",
        ]
    );
    let names = [
        "au_mean_percentage",
        "au_meet_expectation",
        "au_percentage",
        "au_stdev_percentage",
        "io_mean_MB_per_second",
        "io_stdev_MB_per_second",
        "throughput_mean_samples_per_second",
        "throughput_samples_per_second",
        "throughput_stdev_samples_per_second",
    ];
    let wanted: Vec<String> =
        ["eval", "train"].iter().flat_map(|set| names.map(|name| format!("{set}_{name}"))).collect();
    assert_eq!(keys(&summary["metric"]), wanted);
}
