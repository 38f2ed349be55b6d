//! `iodyno dlio`: real files, ranks, what it refuses, and DLIO itself beside ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_model::CheckpointModel;
use serde_json::Value;
use testbed::{Case, Need, Outcome, Skip, python};

use crate::program::{ProgramOutput, Running, dressed, iodyno, names, scratch, told};

/// A folder for DLIO's environment: `cargo xtask against dlio` names it.
const DLIO: &str = "IODYNO_DLIO";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("dlio on a simulated device utilises what is known beforehand", &[], simulated),
        Case::new("dlio saves and loads a model's state as DLIO's files", &[], states),
        Case::new("dlio that is stopped removes the data set that is not to stay", &[], stopped),
        Case::new("dlio makes its data set, trains, and leaves what it was asked to leave", &[], real),
        Case::new("dlio touches no file that it did not make", &[], others),
        Case::new("dlio: accelerators are ranks of a launcher", &[Need::Tool("mpirun")], ranks),
        Case::new("dlio writes the keys and steps that DLIO writes", &[], beside).against(),
        Case::new("dlio opens what DLIO opens, in its order", &[Need::Tool("strace")], order).against(),
        Case::new("dlio takes less processor time for a sample than DLIO", &[], costs).computes().against(),
    ]
}

fn within(home: &Path, words: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["dlio"]);
    command.args(words).current_dir(home).env_remove("IODYNO_ALSO");
    told(command)
}

fn json(path: PathBuf) -> Value {
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const REAL: &str = "\
model: real
framework: pytorch
workflow: {generate_data: True, train: True, evaluation: True, checkpoint: True}
dataset: {data_folder: data, format: npz, num_files_train: 24, num_files_eval: 4, record_length: 10000, num_subfolders_train: 2}
reader: {data_loader: pytorch, batch_size: 3, read_threads: 2, sample_shuffle: seed}
train: {epochs: 2, computation_time: 0.002}
evaluation: {eval_time: 0.001}
checkpoint: {checkpoint_folder: saved, model_size: 3000000, num_layers: 2, layer_parameters: [1000, 2000], optimization_groups: [500]}
";

fn real() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("real.yaml"), REAL)?;
    let line = ["workload=real.yaml", "hydra.run.dir=out", "--also=threads=2"];
    within(home.path(), &line).expect(
        0,
        &["Generation done", "Ending epoch 2 - 4 steps", "[METRIC] Number of Simulated Accelerators: 2"],
    );
    let at = |path: &str| home.path().join(path);
    assert_eq!(names(&at("data/train/0")).len() + names(&at("data/train/1")).len(), 24);
    assert!(at("data/train/1/img_01_of_24.npz").is_file() && at("data/valid/img_3_of_4.npz").is_file());
    for (name, bytes) in
        [("model-1-4-0.pt", 3_000_000), ("optimizer-2-4-0.pt", 1500), ("layer-1-2-4-0.pt", 3000)]
    {
        assert_eq!(std::fs::metadata(at("saved").join(name))?.len(), bytes, "{name}");
    }
    assert_eq!(names(&at("saved")).len(), 8);
    let steps = json(at("out/1_output.json"));
    assert_eq!(steps["2"]["load"]["block1"].as_array().map(Vec::len), Some(4));
    assert_eq!(steps["1"]["proc"]["eval"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        json(at("out/per_epoch_stats.json"))["2"]["ckpt1"]["duration"].as_str().map(str::len),
        Some(4)
    );
    // What is there is kept; with keep_files off what is there already is a reason to begin nothing.
    within(home.path(), &line).expect(0, &["Ending epoch 2"]);
    let more = [&line[..], &["++workload.dataset.keep_files=False"]].concat();
    let refused = within(home.path(), &more);
    refused.expect(1, &[]);
    assert!(refused.err.contains("real.yaml:4: data/train: it exists already"), "{refused}");
    assert_eq!(names(&at("data/valid")).len(), 4);
    std::fs::remove_dir_all(at("data"))?;
    within(home.path(), &more).expect(0, &["Ending epoch 2"]);
    assert!(!at("data/train/0/img_00_of_24.npz").exists(), "what this run made is removed");
    Ok(())
}

/// A device that answers one read after the other, each in 10 ms: a batch of eight samples takes 80 ms.
const DEVICE: &str =
    "name = \"a hundred reads a second\"\n[part.store.station]\nservice = \"10ms\"\nvariation = 0\n";
const ON_DEVICE: &str = "\
model: known
framework: pytorch
workflow: {train: True, generate_data: True}
dataset: {data_folder: nowhere, format: npz, num_files_train: 400, record_length: 65536}
reader: {data_loader: pytorch, batch_size: 8, read_threads: 1}
train: {epochs: 2, computation_time: 0.08}
";

fn simulated() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("device.toml"), DEVICE)?;
    std::fs::write(home.path().join("known.yaml"), ON_DEVICE)?;
    // Computing takes as long as the device, then three quarters of that; then two accelerators share the device.
    for (threads, compute, expected) in [("1", "0.08", 100.0), ("1", "0.06", 75.0), ("2", "0.08", 50.0)] {
        let compute = format!("workload.train.computation_time={compute}");
        let also = format!("--also=on=./device.toml,threads={threads}");
        let said = within(home.path(), &["workload=known.yaml", "hydra.run.dir=out", &compute, &also]);
        said.expect(0, &["simulated on a hundred reads a second", "Ending epoch 2"]);
        let summary = json(home.path().join("out/summary.json"));
        let utilised = &summary["metric"]["train_au_percentage"];
        let each: Vec<f64> = utilised.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let is_known =
            |found: &f64| (found - expected).abs() < 1e-9 || threads == "2" && (found - expected).abs() < 1.0;
        assert!(each.len() == 2 && each.iter().all(is_known), "{compute}: {each:?}");
    }
    assert_eq!(names(home.path()), ["device.toml", "known.yaml", "out"]);
    let only = ["workload=known.yaml", "workload.workflow.train=False", "--also=on=./device.toml"];
    let refused = within(home.path(), &only);
    refused.expect(1, &[]);
    assert!(refused.err.contains("keeps no data"), "{refused}");
    Ok(())
}

/// A model's checkpoints: files and lengths of each process, what is told of them, and the first of them loaded again.
fn states() -> Outcome {
    let home = scratch();
    let common =
        ["workload=llama3_8b", "++workload.checkpoint.time_between_checkpoints=0", "hydra.run.dir=out"];
    let counts =
        ["++workload.checkpoint.num_checkpoints_write=2", "++workload.checkpoint.num_checkpoints_read=1"];
    let also = "--also=threads=8,scale=0.0001";
    let said = within(home.path(), &[&common[..], &counts[..], &[also]].concat());
    said.expect(
        0,
        &[
            "Scale: 0.0001",
            "Finished saving checkpoint 2",
            "[METRIC] Checkpoint save duration (seconds): ",
            "[METRIC] Checkpoint load I/O Throughput (GB/second): ",
        ],
    );
    let model = CheckpointModel { scale: 0.0001, ..CheckpointModel::named("8b").expect("it is known") };
    let wanted: BTreeMap<String, u64> =
        (0..8).flat_map(|rank| model.files(rank)).map(|file| (file.name, file.bytes)).collect();
    let folder = home.path().join("checkpoints/llama3_8b");
    assert_eq!(names(&folder), ["global_epoch1_step1", "global_epoch1_step2"]);
    for name in names(&folder) {
        let files = names(&folder.join(&name));
        let found = files.into_iter().map(|file| {
            let bytes = std::fs::metadata(folder.join(&name).join(&file)).map_or(0, |facts| facts.len());
            (file, bytes)
        });
        assert_eq!(found.collect::<BTreeMap<_, _>>(), wanted, "{name}");
    }
    let summary = json(home.path().join("out/summary.json"));
    assert_eq!((summary["scale"].as_f64(), summary["num_accelerators"].as_u64()), (Some(0.0001), Some(8)));
    assert!(summary["metric"]["load_checkpoint_duration_mean_seconds"].as_f64() > Some(0.0), "{summary}");
    // What is there is loaded without being saved, by the process half of them further; a part of the model is a subset.
    let load =
        ["++workload.checkpoint.num_checkpoints_write=0", "++workload.checkpoint.num_checkpoints_read=2"];
    let shift = ["++workload.checkpoint.recovery_rank_shift=True"];
    let said = within(home.path(), &[&common[..], &load[..], &shift[..], &[also]].concat());
    said.expect(0, &["Finished loading checkpoint 2"]);
    let subset = ["++workload.checkpoint.mode=subset", "++workload.checkpoint.num_checkpoints_read=3"];
    let missing = within(
        home.path(),
        &[
            &common[..],
            &subset[..],
            &["++workload.checkpoint.num_checkpoints_write=0", "--also=threads=2,scale=0.0001"],
        ]
        .concat(),
    );
    missing.expect(1, &[]);
    assert!(missing.err.contains("global_epoch1_step3 is not there"), "{missing}");
    Ok(())
}

/// Stopped while it trains: what was made goes as well.
fn stopped() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("real.yaml"), REAL)?;
    let mut command = iodyno(["dlio"]);
    command.args(["workload=real.yaml", "hydra.run.dir=out", "++workload.dataset.keep_files=False"]);
    command.args(["workload.train.computation_time=3600"]).current_dir(home.path()).env_remove("IODYNO_ALSO");
    let mut running = Running::start(command);
    let valid = home.path().join("data/valid");
    running.until("the data set", || valid.is_dir() && names(&valid).len() == 4);
    running.until("the log", || {
        let log = std::fs::read_to_string(home.path().join("out/dlio.log")).unwrap_or_default();
        log.contains("Generation done")
    });
    running.signal(libc::SIGINT);
    let told = running.end();
    assert_ne!(told.code(), 0, "{told}");
    // The folder was made for it, and goes with it.
    assert!(!home.path().join("data").exists(), "{told}");
    // A data set that was there before is not removed for the asking.
    let found = [
        "workload=real.yaml",
        "workload.workflow.generate_data=False",
        "++workload.dataset.keep_files=False",
    ];
    let refused = within(home.path(), &found);
    refused.expect(1, &[]);
    assert!(refused.err.contains("makes no data set"), "{refused}");
    Ok(())
}

fn others() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("real.yaml"), REAL)?;
    let folder = home.path().join("data/train/0");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("mine.npz"), "mine")?;
    let line = ["workload=real.yaml", "hydra.run.dir=out", "++workload.train.epochs=1"];
    let removing = [&line[..], &["++workload.dataset.keep_files=False"]].concat();
    within(home.path(), &removing).expect(1, &[]);
    assert_eq!(names(&folder), ["mine.npz"]);
    within(home.path(), &line).expect(0, &["Ending epoch 1"]);
    assert_eq!(std::fs::read(folder.join("mine.npz"))?, b"mine");
    // Without its data set nothing is run, and nothing left.
    let bare = scratch();
    std::fs::write(bare.path().join("real.yaml"), REAL)?;
    let missing = within(bare.path(), &["workload=real.yaml", "workload.workflow.generate_data=False"]);
    missing.expect(1, &[]);
    assert!(
        missing.err.contains("Not enough training dataset") && missing.err.contains("real.yaml:4"),
        "{missing}"
    );
    assert_eq!(names(bare.path()), ["real.yaml"]);
    Ok(())
}

fn ranks() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("real.yaml"), REAL)?;
    let launcher = ["--oversubscribe", "--allow-run-as-root", "-n", "2", crate::program::IODYNO, "dlio"];
    let line = ["workload=real.yaml", "hydra.run.dir=out", "++workload.train.epochs=1"];
    let mut command = dressed(Command::new("mpirun"), launcher.into_iter().chain(line));
    command.current_dir(home.path()).env_remove("IODYNO_ALSO");
    told(command).expect(0, &["Number of Simulated Accelerators: 2", "Ending epoch 1 - 4 steps"]);
    assert_eq!(names(&home.path().join("out")).len(), 6);
    // Checkpoints between steps: the rank that writes none waits for the other.
    std::fs::remove_dir_all(home.path().join("saved"))?;
    let more = ["++workload.checkpoint.steps_between_checkpoints=2", "++workload.workflow.evaluation=False"];
    let mut command = dressed(Command::new("mpirun"), launcher.into_iter().chain(line).chain(more));
    command.current_dir(home.path()).env_remove("IODYNO_ALSO");
    told(command)
        .expect(0, &["Ending block 1 - 2 steps", "Ending block 2 - 2 steps", "Ending epoch 1 - 4 steps"]);
    assert_eq!(names(&home.path().join("saved")).len(), 8, "rank 0 alone writes, twice");
    let of_rank = |rank: u32| json(home.path().join(format!("out/{rank}_output.json")));
    for rank in [0, 1] {
        let steps = &of_rank(rank)["1"]["proc"];
        let count = |block: &str| steps[block].as_array().map(Vec::len);
        assert_eq!((count("block1"), count("block2")), (Some(2), Some(2)), "{steps}");
    }
    Ok(())
}

/// DLIO with the framework that Debian has; TensorFlow, which it imports in any case, is a stand-in without anything in it.
struct Original {
    home: PathBuf,
}

const STAND_IN: &str = "\
from unittest.mock import MagicMock
def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return MagicMock(name=name)
";

/// What DLIO imports, and nothing of the accelerators' libraries that it names as well.
const PACKAGES: &[&str] = &[
    "--no-deps",
    "dlio-benchmark==2.0.0",
    "pydftracer==1.0.2",
    "hydra-core==1.3.2",
    "omegaconf==2.3.0",
    "antlr4-python3-runtime==4.9.3",
    "numpy==1.26.4",
    "pandas==2.2.3",
    "python-dateutil",
    "pytz",
    "tzdata",
    "six",
    "packaging",
    "psutil",
    "PyYAML",
    "Pillow",
    "h5py==3.11.0",
];

impl Original {
    fn install() -> Result<Original, Skip> {
        let Some(kept) = std::env::var_os(DLIO).map(PathBuf::from) else {
            return Err(Skip::new(format!("{DLIO} names no folder for DLIO: cargo xtask against dlio")));
        };
        let torch = Path::new("/usr/lib/python3/dist-packages/torch");
        if !torch.is_dir() {
            return Err(Skip::new("python3-torch is not installed"));
        }
        let home = python::environment(&kept, "dlio", PACKAGES)?;
        for (module, text) in [
            ("tensorflow", STAND_IN),
            ("tensorflow/python", STAND_IN),
            ("tensorflow/python/framework", "errors = None\n"),
        ] {
            let folder = home.join("stand-in").join(module);
            let written = std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::write(folder.join("__init__.py"), text));
            written.map_err(|error| Skip::new(error.to_string()))?;
        }
        Ok(Original { home })
    }

    fn command(&self, words: &[String], at: &Path) -> Command {
        let mut command = Command::new(self.home.join("bin/python"));
        let path = format!("{}:/usr/lib/python3/dist-packages", self.home.join("stand-in").display());
        let start =
            "import sys; sys.argv[0] = 'dlio_benchmark'; from dlio_benchmark.main import main; main()";
        command.args(["-c", start]).args(words).current_dir(at).env("PYTHONPATH", path);
        command
    }
}

/// Processor seconds of children by now.
fn children_s() -> f64 {
    // SAFETY: the structure is written by the call, and is plain numbers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let s = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    s(usage.ru_utime) + s(usage.ru_stime)
}

/// The keys of an object, and of those in it.
fn keys(value: &Value, before: &str, found: &mut BTreeSet<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let path = format!("{before}/{name}");
        if !["host_cpuinfo", "host_meminfo"].contains(&name.as_str()) {
            keys(value, &path, found);
        }
        found.insert(path);
    }
}

/// Files of the training set.
const FILES: u64 = 200;
const BESIDE: &str = "\
model: beside
framework: pytorch
workflow: {generate_data: False, train: True, evaluation: True}
dataset: {data_folder: data, format: npz, num_files_train: 200, num_files_eval: 4, record_length: 1000000}
reader: {data_loader: pytorch, batch_size: 4, read_threads: 1, sample_shuffle: seed, multiprocessing_context: fork}
train: {epochs: 2, computation_time: 0.001, seed: 7}
evaluation: {eval_time: 0.001}
";

/// DLIO and ours in one folder, with the workload of that name.
struct Pair {
    original: Original,
    home: tempfile::TempDir,
}

/// Who is run.
#[derive(Clone, Copy)]
enum Who {
    Ours,
    Theirs,
}

/// Files of the data set that were opened, one list for each reader of a set, in its order; and bytes read from them all.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    readers: BTreeSet<Vec<String>>,
    opened: u64,
    bytes: u64,
}

impl Pair {
    /// With the data set that ours makes, which both read.
    fn made() -> Result<Pair, Box<dyn std::error::Error>> {
        let pair = Pair { original: Original::install()?, home: scratch() };
        std::fs::create_dir_all(pair.at("conf/workload"))?;
        std::fs::write(pair.at("conf/workload/beside.yaml"), BESIDE)?;
        pair.run(
            Who::Ours,
            "made",
            &["workload.workflow.generate_data=True", "workload.workflow.train=False"],
        );
        Ok(pair)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn command(&self, who: Who, out: &str, more: &[&str]) -> Command {
        let mut words = vec!["--config-dir=conf".to_string(), "workload=beside".to_string()];
        words.extend(more.iter().map(ToString::to_string));
        words.push(format!("hydra.run.dir={out}"));
        match who {
            Who::Theirs => self.original.command(&words, self.home.path()),
            Who::Ours => {
                let mut command = iodyno(["dlio"]);
                command.args(words).current_dir(self.home.path()).env_remove("IODYNO_ALSO");
                command
            }
        }
    }

    fn run(&self, who: Who, out: &str, more: &[&str]) {
        told(self.command(who, out, more)).expect(0, &[]);
    }

    /// Processor time of a sample, s: what starting and an epoch cost is told apart by as many epochs of fewer samples.
    fn sample_s(&self, who: Who) -> f64 {
        let cost = |files: u64| {
            let before = children_s();
            let files = format!("workload.dataset.num_files_train={files}");
            self.run(who, "cost", &["workload.train.epochs=5", &files]);
            children_s() - before
        };
        let few = FILES / 4;
        (cost(FILES) - cost(few)) / (5.0 * (FILES - few) as f64)
    }

    /// What is opened and read of the data set.
    fn reading(&self, who: Who, more: &[&str]) -> Result<Reading, Box<dyn std::error::Error>> {
        // A file for each thread: no call is told in two halves.
        let traces = scratch();
        let plain = self.command(who, "traced", more);
        let mut command = Command::new("strace");
        command.args(["-ff", "-qq", "-y", "-s", "0", "-e", "trace=openat,read,pread64"]);
        command.arg("-o").arg(traces.path().join("calls")).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(self.home.path());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        told(command).expect(0, &[]);
        let mut reading = Reading::default();
        for entry in std::fs::read_dir(traces.path())? {
            let text = String::from_utf8_lossy(&std::fs::read(entry?.path())?).into_owned();
            let calls = || text.lines().filter(|line| line.contains(".npz"));
            let opened: Vec<String> =
                calls().filter(|line| line.starts_with("openat")).filter_map(file_of).collect();
            let bytes =
                calls().filter(|line| !line.starts_with("openat")).filter_map(|line| line.rsplit(' ').next());
            reading.bytes += bytes.filter_map(|bytes| bytes.parse::<u64>().ok()).sum::<u64>();
            reading.opened += opened.len() as u64;
            // Whoever reads a set in one epoch does so in the next one; ours reads both sets in one thread.
            for set in ["train/", "valid/"] {
                let of_set: Vec<String> =
                    opened.iter().filter(|file| file.starts_with(set)).cloned().collect();
                reading.readers.extend((!of_set.is_empty()).then_some(of_set));
            }
        }
        Ok(reading)
    }
}

/// The folder and name of a file of the data set.
fn file_of(line: &str) -> Option<String> {
    let (_, path) = line.rsplit_once("data/")?;
    Some(path.split_once(".npz")?.0.to_string())
}

fn costs() -> Outcome {
    let pair = Pair::made()?;
    let mut pairs: Vec<(f64, f64)> =
        (0..3).map(|_| (pair.sample_s(Who::Ours), pair.sample_s(Who::Theirs))).collect();
    pairs.sort_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)));
    let (ours, theirs) = pairs[1];
    println!("processor time of a sample: ours {:.0} us, DLIO's {:.0} us", ours * 1e6, theirs * 1e6);
    assert!(ours < theirs / 20.0, "{ours} s and {theirs} s of processor time for a sample");
    Ok(())
}

fn beside() -> Outcome {
    let pair = Pair::made()?;
    pair.run(Who::Ours, "ours", &[]);
    pair.run(Who::Theirs, "theirs", &[]);
    let of = |name: &str| {
        let mut found = BTreeSet::new();
        keys(&json(pair.at(name)), "", &mut found);
        found
    };
    for name in ["summary.json", "0_output.json", "per_epoch_stats.json"] {
        assert_eq!(of(&format!("ours/{name}")), of(&format!("theirs/{name}")), "{name}");
    }
    let steps = |out: &str| {
        let all = json(pair.at(out).join("0_output.json"));
        ["1", "2"].map(|epoch| all[epoch]["load"]["block1"].as_array().map(Vec::len))
    };
    assert_eq!(steps("ours"), steps("theirs"));
    Ok(())
}

/// Each reader opens the same files in the same order, in both epochs and their evaluations; one reader, and two.
fn order() -> Outcome {
    let pair = Pair::made()?;
    for readers in ["workload.reader.read_threads=1", "workload.reader.read_threads=2"] {
        let (ours, theirs) = (pair.reading(Who::Ours, &[readers])?, pair.reading(Who::Theirs, &[readers])?);
        let samples = 2 * (FILES + 4);
        println!("{readers}: {samples} samples: ours {} bytes, DLIO's {}", ours.bytes, theirs.bytes);
        assert_eq!((ours.opened, theirs.opened), (samples, samples), "{readers}");
        assert_eq!(ours.readers, theirs.readers, "{readers}");
        let file = std::fs::metadata(pair.at("data/train/img_000_of_200.npz"))?.len();
        assert_eq!(ours.bytes, samples * file, "each file is read once to its end");
        // NumPy reads the archive's own heads again.
        let again = theirs.bytes.checked_sub(ours.bytes).map(|bytes| bytes / samples);
        assert!(again.is_some_and(|bytes| bytes < 32 << 10), "{again:?}");
    }
    Ok(())
}
