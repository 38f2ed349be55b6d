//! DLIO's command lines, plans and files of results, without a disk: golden texts and what is wrong with a configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iodyno_dialect::{DIALECTS, Loader, PathFacts, Request, dlio};
use iodyno_model::{Machine, WorldFacts};

mod results;

/// Files by their paths, folders by their names, and so many ranks.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub files: BTreeMap<String, String>,
    pub folders: BTreeMap<String, Vec<String>>,
    pub also: Vec<(String, String)>,
    pub ranks: u32,
}

impl World {
    pub fn with(file: &str, text: &str) -> World {
        World { files: [(file.to_string(), text.to_string())].into(), ..World::default() }
    }
}

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.files
            .get(path)
            .map(|text| text.clone().into_bytes())
            .ok_or_else(|| "no such file or directory".into())
    }
    fn list(&mut self, path: &str) -> Result<Vec<String>, String> {
        self.folders.get(path).cloned().ok_or_else(|| "no such file or directory".into())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is read here".into())
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "DATA").then(|| "/mnt/data".into())
    }
    fn machine(&self) -> Machine {
        Machine { host: "here".into(), cpus: 8, memory_bytes: 64 << 30, ..Machine::default() }
    }
    fn world(&self) -> WorldFacts {
        let nodes = vec![0; self.ranks.max(1) as usize];
        WorldFacts { nodes, ..WorldFacts::alone("here") }
    }
    fn look(&self, _path: &str) -> Option<PathFacts> {
        None
    }
    fn now_unix_ns(&self) -> u64 {
        1_795_287_492_000_000_000
    }
    fn also(&self, word: &str) -> Option<String> {
        self.also.iter().find(|(name, _)| name == word).map(|(_, value)| value.clone())
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares with a file, or rewrites it.
pub fn golden(path: &str, found: &str) {
    let path = root().join(path);
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == found, "{} differs: IODYNO_BLESS=1 rewrites it\n{found}", path.display());
}

pub fn request(line: &str, world: &mut World) -> Request {
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "dlio").unwrap();
    (dialect.lower)(&words, world).unwrap_or_else(|wrong| panic!("{}", wrong[0]))
}

fn printed(line: &str, world: &mut World) -> String {
    match request(line, world) {
        Request::Run(run) => iodyno_report::plan::print(&run.plan),
        Request::Print { out, status } => format!("status {status}, on standard output:\n{out}"),
        Request::Refuse { err, status } => format!("status {status}, on standard error:\n{err}"),
        _ => "neither run nor printed\n".into(),
    }
}

fn refused(line: &str, world: &mut World) -> String {
    match request(line, world) {
        Request::Refuse { err, status } => {
            assert_ne!(status, 0, "{line}");
            err
        }
        _ => panic!("{line} is not refused"),
    }
}

#[test]
fn golden_documents() {
    golden("docs/dlio.md", &dlio::options::document());
    golden("golden/dlio/help.txt", &dlio::help());
}

const SMALL: &str = "\
model: small
framework: pytorch
workflow: {generate_data: True, train: True, evaluation: True, checkpoint: True}
dataset: {data_folder: data/small, format: npz, num_files_train: 24, num_files_eval: 4, record_length: 10000}
reader: {data_loader: pytorch, batch_size: 3, read_threads: 2, sample_shuffle: seed}
train: {epochs: 2, computation_time: 0.1}
evaluation: {eval_time: 0.05}
checkpoint: {checkpoint_folder: ckpt, model_size: 40000000, num_layers: 0}
";

#[test]
fn golden_plans() {
    let mut found = String::new();
    for (line, threads) in [
        ("workload=small.yaml", "1"),
        (
            "workload=small.yaml ++workload.checkpoint.steps_between_checkpoints=2 ++workload.train.epochs=1 \
             ++workload.workflow.evaluation=False",
            "2",
        ),
        (
            "workload=small.yaml ++workload.checkpoint.type=all_ranks ++workload.checkpoint.fsync=True \
             ++workload.workflow.generate_data=False ++workload.train.epochs=1",
            "2",
        ),
        (
            "workload=cosmoflow_h100 ++workload.workflow.generate_data=True ++workload.dataset.num_files_train=100 \
             ++workload.train.epochs=1",
            "2",
        ),
        (
            "workload=resnet50_a100 ++workload.workflow.generate_data=True ++workload.dataset.num_files_train=2 \
             ++workload.train.epochs=1",
            "1",
        ),
        ("workload=unet3d_h100 ++workload.workflow.generate_data=True ++workload.workflow.train=False", "1"),
    ] {
        let mut world = World::with("small.yaml", SMALL);
        world.also = vec![("threads".into(), threads.into())];
        let names = |folder: &str, count: u64| {
            let digits = count.to_string().len();
            let names = (0..count).map(|number| format!("img_{number:0digits$}_of_{count}.npz"));
            (format!("data/small/{folder}"), names.collect::<Vec<_>>())
        };
        world.folders = [names("train", 24), names("valid", 4)].into();
        found += &format!("$ threads={threads} dlio {line}\n{}\n", printed(line, &mut world));
    }
    golden("golden/dlio/plans.txt", &found);
}

/// Each process of a model has its files, and each checkpoint its folder.
#[test]
fn golden_plans_of_states() {
    let mut found = String::new();
    for (line, threads) in [
        (
            "workload=llama3_8b ++workload.checkpoint.num_checkpoints_write=2 ++workload.checkpoint.num_checkpoints_read=1 \
             ++workload.checkpoint.recovery_rank_shift=True",
            "2",
        ),
        (
            "workload=llama3_405b ++workload.checkpoint.mode=subset ++workload.checkpoint.num_checkpoints_write=1 \
             ++workload.checkpoint.num_checkpoints_read=0 ++workload.checkpoint.fsync=False",
            "1",
        ),
    ] {
        let also = vec![("threads".into(), threads.into()), ("scale".into(), "0.001".into())];
        let mut world = World { also, ..World::default() };
        found += &format!("$ threads={threads},scale=0.001 dlio {line}\n{}\n", printed(line, &mut world));
    }
    golden("golden/dlio/states.txt", &found);
}

#[test]
fn a_scale_is_that_of_a_model() {
    let with = |scale: &str, line: &str| {
        let mut world = World { also: vec![("scale".into(), scale.into())], ..World::default() };
        refused(line, &mut world)
    };
    assert!(with("2", "workload=llama3_8b").contains("at most 1"));
    assert!(with("0.1", "workload=default").contains("only checkpoints of transformers"));
}

#[test]
fn wrong_configurations_have_one_message_with_its_place_and_a_hint() {
    let mut found = String::new();
    let mut told =
        |line: &str, world: &mut World| found += &format!("$ dlio {line}\n{}\n", refused(line, world));
    for line in [
        "workload=unet3d_h10",
        "workload=unet3d",
        "workload=nothing",
        "workload=missing.yaml",
        "workload=default ++workload.train.epoch=2",
        "workload=default workload.train.seed=2",
        "workload=default +workload.train.epochs=2",
        "workload=default ~workload.train.seed",
        "workload=default ++workload.train.epochs=two",
        "workload=default ++workload.train.epochs=0",
        "workload=default ++workload.reader.batch_size=[1,2]",
        "workload=default ++workload.dataset.format=tfrecord",
        "workload=default ++workload.dataset.format=tfrecords",
        "workload=default ++workload.reader.data_loader=dali",
        "workload=default ++workload.storage.storage_type=s3",
        "workload=default ++workload.train.total_training_steps=100",
        "workload=default ++workload.reader.batch_size=100",
        "workload=default ++workload.workflow.train=False",
        "workload=default ++workload.train.computation_time={type:gamma}",
        "workload=default ++workload.checkpoint.mode=half",
        "workload=llama3_8b ++workload.checkpoint.num_checkpoints_write=0 ++workload.checkpoint.num_checkpoints_read=0",
        "workload=llama3_8b ++workload.workflow.train=True",
        "workload=llama3_70b",
        "workload=llama3_8b ++workload.model.transformer.ffn_hidden_size=0",
        "workload=llama3_8b ++workload.model.parallelism.zero_stage=4",
        "workload=unet3d_h100 ++workload.dataset.keep_files=False",
        "workload=llama_8b_zero3",
        "workload=default hydra.run.dir=${workload.modell}",
        "workload=default ++train.epochs=2",
        "workload=default --multirun",
        "workload=default --cfgg job",
        "workload=default epochs",
        "workload=megatron_deepspeed",
        "workload=default",
    ] {
        told(line, &mut World::default());
    }
    for text in [
        "workflow:\n  train: yes please\n",
        "dataset:\n  num_files_train: many\n  recrd_length: 5\n",
        "train: 5\n",
        "dataset: {record_length: {mean: 1}}\n",
        "train:\n epochs: [1\n",
        "train: {epochs: 1}\ntrain: {epochs: 2}\n",
        "dataset: {format: jpeg, num_samples_per_file: 2}\nworkflow: {generate_data: True}\n",
    ] {
        told("workload=w.yaml", &mut World::with("w.yaml", text));
    }
    golden("golden/dlio/wrong.txt", &found);
}

#[test]
fn a_data_set_of_more_files_is_used_in_part_and_told() {
    let mut world = World::with("small.yaml", SMALL);
    let names =
        |count: u64| (0..count).map(|number| format!("img_{number:02}_of_{count}.npz")).collect::<Vec<_>>();
    world.folders =
        [("data/small/train".to_string(), names(30)), ("data/small/valid".to_string(), names(10))].into();
    let line = "workload=small.yaml ++workload.workflow.generate_data=False";
    let text = printed(line, &mut world);
    assert!(text.contains("_of_30.npz") && text.contains("_of_10.npz"), "{text}");
    world.folders.insert("data/small/train".into(), names(20));
    let text = refused(line, &mut world);
    assert!(
        text.contains("Not enough training dataset is found: 20 of 24")
            && text.contains("generate_data=True"),
        "{text}"
    );
}

#[test]
fn keys_of_the_file_are_taken_and_overridden() {
    let mut world = World::with(
        "conf/workload/mine.yaml",
        "model: {name: m}\ntrain: {epochs: 3}\nworkflow: {train: True, generate_data: True}\n",
    );
    let text = printed("--config-dir conf workload=mine workload.train.epochs=2 --cfg job", &mut world);
    assert!(text.contains("epochs: 2") && text.contains("name: m"), "{text}");
    let run = |world: &mut World, line: &str| match request(line, world) {
        Request::Run(run) => run.plan.phases.len(),
        _ => panic!("{line}"),
    };
    // One for generating and one for each epoch.
    assert_eq!(run(&mut world, "--config-dir conf workload=mine"), 4);
    assert_eq!(run(&mut world, "--config-dir=conf workload=mine ++workload.train.epochs=1"), 2);
}

#[test]
fn every_built_in_workload_is_lowered_or_says_why_not() {
    for (name, _) in dlio::command::WORKLOADS {
        let line = format!("workload={name} ++workload.workflow.generate_data=True");
        match request(&line, &mut World::default()) {
            Request::Run(run) => assert!(run.plan.phases.len() > 1, "{name}"),
            // Only checkpoints are theirs.
            Request::Refuse { err, .. } if name.starts_with("llama3") => {
                assert!(err.contains("a transformer is not trained here"), "{name}: {err}")
            }
            Request::Refuse { err, .. } => {
                assert!(["dlrm", "megatron_deepspeed", "bert_v100"].contains(name), "{name}: {err}")
            }
            _ => panic!("{name}"),
        }
    }
}
