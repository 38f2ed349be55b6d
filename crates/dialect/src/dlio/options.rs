//! DLIO's keys, each exactly once, with what is done about it: those of release 2.0.0, and those of its head.
//!
//! Names are paths of a workload's YAML: `dataset.num_files_train`. The same table makes `docs/dlio.md`.

use crate::option::{Entry, Kind, Spelling, Table, Word};

pub const TABLE: Table = Table { tool: "DLIO", spelling: Spelling::Assigned, entries: ENTRIES };

const ANY: Kind = Kind::Whole(i64::MIN, i64::MAX);
const COUNT: Kind = Kind::Whole(0, i64::MAX);
const POSITIVE: Kind = Kind::Whole(1, i64::MAX);

const NO_PYTHON: &str = "classes of Python are not loaded";
const NO_STORE: &str = "samples are files";
const ASK_WARP: &str = "iodyno warp get, put and mixed measure object stores";
const NO_LIBRARY: &str = "no framework's loader is used; which calls are made, its format and framework say";
const NO_MATH: &str = "nothing is computed on samples";
const UNREAD: &str = "DLIO 2.0.0 does not read it, either";
const NO_SHUFFLE_BUFFER: &str = "what is shuffled in memory after it was read changes no request";

const SHUFFLES: Kind = Kind::Word(&[
    Word::new("off", "in the order of the names"),
    Word::new("seed", "in an order that the seed draws"),
    Word::new("random", "in another order each time: here the seed is drawn once, and told in dlio.log"),
]);

const fn key(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Entry {
    Entry::new(name, kind, "", help).or(default)
}

const fn flag(name: &'static str, default: &'static str, help: &'static str) -> Entry {
    key(name, Kind::Flag, default, help)
}

const fn number(name: &'static str, help: &'static str) -> Entry {
    key(name, Kind::Decimal, "", help)
}

const DISTRIBUTIONS: Kind = Kind::Word(&[
    Word::new("normal", "mean and stdev"),
    Word::new("uniform", "min and max"),
    Word::new("gamma", "shape and scale"),
    Word::new("exponential", "scale"),
    Word::new("poisson", "lam"),
]);

const DATATYPES: Kind = Kind::Word(&[
    Word::new("fp16", "2 bytes"),
    Word::new("bf16", "2 bytes"),
    Word::new("fp32", "4 bytes"),
    Word::new("fp64", "8 bytes"),
    Word::new("int8", "1 byte"),
    Word::new("uint8", "1 byte"),
]);

const fn law(name: &'static str) -> Entry {
    key(name, DISTRIBUTIONS, "", "the distribution that the time is drawn from")
}

const fn share(name: &'static str) -> Entry {
    number(name, "a parameter of that distribution, s; of gamma's shape and of poisson's lam a number")
}

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    key("model", Kind::Text, "default", "the name of what is trained").also(&["model.name"]).under("model"),
    key("model.type", Kind::Text, "", "the kind of model").ignored("a checkpoint is what its sizes say").under("model"),
    key("model.parallelism.zero_stage", Kind::Whole(-1, 3), "-1", "which state ZeRO divides over data ranks: 1, 2 the optimiser's, 3 all")
        .under("model"),
    key("model.parallelism.data", COUNT, "0", "data ranks of the whole model, where a subset is saved; else the processes say it")
        .under("model"),
    key("model.transformer.hidden_size", COUNT, "0", "the width of a transformer, whose checkpoints are saved without training")
        .under("model"),
    key("model.transformer.ffn_hidden_size", COUNT, "0", "the width of its feed-forward parts").under("model"),
    key("model.transformer.vocab_size", COUNT, "0", "its vocabulary").under("model"),
    key("model.transformer.num_attention_heads", COUNT, "0", "its heads").under("model"),
    key("model.transformer.num_kv_heads", COUNT, "0", "its heads of keys and values").under("model"),
    key("framework", Kind::Word(&[
        Word::new("tensorflow", "its loaders"),
        Word::new("pytorch", "its loaders"),
    ]), "tensorflow", "whose way of reading is followed").under("model"),
    flag("workflow.generate_data", "False", "files that are not there yet, or too short, are made").under("workflow"),
    flag("workflow.train", "False", "epochs of training").under("workflow"),
    flag("workflow.evaluation", "False", "an evaluation after epochs").under("workflow"),
    flag("workflow.checkpoint", "False", "checkpoints are written").under("workflow"),
    flag("workflow.debug", "False", "more messages, and a key to be pressed").ignored("nothing waits for a key; dlio.log has each step")
        .under("workflow"),
    flag("workflow.profiling", "False", "a profiler runs beside it").ignored("what the devices did is in every run: --also json=FILE")
        .under("workflow"),
    flag("workflow.do_eval", "False", "an older name of evaluation").ignored(UNREAD).under("workflow"),
    key("storage.storage_type", Kind::Word(&[
        Word::new("local_fs", "files"),
        Word::new("parallel_fs", "files"),
        Word::new("s3", "objects").refused(NO_STORE, ASK_WARP),
    ]), "local_fs", "where samples are").under("storage"),
    key("storage.storage_root", Kind::Path, "./", "the directory that relative folders are in").under("storage"),
    key("storage.storage_library", Kind::Text, "", "the library that objects are read by").refused(NO_STORE, ASK_WARP).under("storage"),
    key("dataset.data_folder", Kind::Path, "./data/", "the folder of the data set").under("dataset"),
    key("dataset.format", Kind::Word(FORMATS), "tfrecord", "the format of its files").under("dataset"),
    key("dataset.num_files_train", POSITIVE, "8", "files of the training set").under("dataset"),
    key("dataset.num_files_eval", COUNT, "0", "files of the evaluation set").under("dataset"),
    key("dataset.num_samples_per_file", POSITIVE, "1", "samples of a file").under("dataset"),
    key("dataset.num_subfolders_train", COUNT, "0", "folders that the training files are dealt to").under("dataset"),
    key("dataset.num_subfolders_eval", COUNT, "0", "folders that the evaluation files are dealt to").under("dataset"),
    key("dataset.record_length", Kind::Decimal, "65536", "the length of a sample, bytes").also(&["dataset.record_length_bytes"])
        .under("dataset"),
    key("dataset.record_length_stdev", Kind::Decimal, "0", "its standard deviation from file to file, bytes")
        .also(&["dataset.record_length_bytes_stdev"]).under("dataset"),
    key("dataset.record_length_resize", Kind::Decimal, "0", "the length that a sample has after it was prepared, bytes")
        .also(&["dataset.record_length_bytes_resize"])
        .ignored("samples are not prepared: rates count record_length, as DLIO's do").under("dataset"),
    key("dataset.file_prefix", Kind::Text, "img", "what names of files begin with").under("dataset"),
    flag("dataset.keep_files", "True", "the data set stays; without it what this run made is removed, after Ctrl-C too")
        .under("dataset"),
    key("dataset.compression", Kind::Word(&[
        Word::new("none", "samples as they are"),
        Word::new("gzip", "").refused("samples are random bytes, which no method makes smaller", "leave it out"),
        Word::new("lzf", "").refused("samples are random bytes, which no method makes smaller", "leave it out"),
        Word::new("bz2", "").refused("samples are random bytes, which no method makes smaller", "leave it out"),
        Word::new("zip", "").refused("samples are random bytes, which no method makes smaller", "leave it out"),
        Word::new("xz", "").refused("samples are random bytes, which no method makes smaller", "leave it out"),
    ]), "none", "how samples are packed").under("dataset"),
    key("dataset.compression_level", COUNT, "4", "how hard they are packed").ignored("samples are not packed").under("dataset"),
    flag("dataset.enable_chunking", "False", "samples of hdf5 lie in chunks").under("dataset"),
    key("dataset.chunk_size", COUNT, "0", "the length of a chunk, bytes").under("dataset"),
    key("dataset.generation_buffer_size", COUNT, "2147483648", "memory for generating").ignored("a file is never held in memory")
        .under("dataset"),
    key("dataset.eval_num_samples_per_file", COUNT, "", "samples of an evaluation file").ignored(UNREAD).under("dataset"),
    key("dataset.num_dset_per_record", POSITIVE, "1", "data sets of a record of hdf5")
        .refused("a record is one data set", "leave it out").under("dataset"),
    key("dataset.record_dims", Kind::List, "", "the shape of a record")
        .refused("a record is a square or a line of bytes", "give record_length").under("dataset"),
    key("dataset.record_element_type", Kind::Text, "uint8", "the type of its elements")
        .refused("elements are bytes", "give record_length in bytes").under("dataset"),
    key("reader.data_loader", Kind::Word(&[
        Word::new("pytorch", "whole batches by each of the readers in turn"),
        Word::new("tensorflow", "a stream of records; of other formats as pytorch"),
        Word::new("dali", "NVIDIA's").refused(NO_LIBRARY, "data_loader: pytorch"),
        Word::new("native_dali", "NVIDIA's").refused(NO_LIBRARY, "data_loader: pytorch"),
        Word::new("custom", "a class").refused(NO_PYTHON, "data_loader: pytorch"),
        Word::new("synthetic", "no files").refused("without files nothing is measured", "data_loader: pytorch"),
        Word::new("none", "the framework's own"),
    ]), "", "whose loader is followed; none given: the framework's").under("reader"),
    key("reader.batch_size", POSITIVE, "1", "samples of a step").under("reader"),
    key("reader.batch_size_eval", POSITIVE, "1", "samples of a step of the evaluation").under("reader"),
    key("reader.read_threads", COUNT, "1", "readers of each accelerator; 0: it reads itself").under("reader"),
    key("reader.prefetch_size", COUNT, "2", "batches that are read ahead: divided by pytorch's readers and rounded up").under("reader"),
    key("reader.computation_threads", COUNT, "1", "threads that decode").ignored(NO_MATH).under("reader"),
    key("reader.file_shuffle", SHUFFLES, "off", "the order of files: of loaders that go through files").under("reader"),
    key("reader.sample_shuffle", SHUFFLES, "off", "the order of samples: of loaders that pick samples").under("reader"),
    key("reader.shuffle_size", COUNT, "1024", "samples that are shuffled in memory").ignored(NO_SHUFFLE_BUFFER).under("reader"),
    key("reader.transfer_size", POSITIVE, "", "the largest read, bytes: of tfrecord 262144, else 1048576").under("reader"),
    key("reader.read_type", Kind::Word(&[
        Word::new("on_demand", "each sample opens its file"),
        Word::new("memory", "open files stay open").refused("a loader opens the file of each sample", "read_type: on_demand"),
    ]), "on_demand", "when files are opened").under("reader"),
    key("reader.file_access", Kind::Word(&[
        Word::new("multi", "many files"),
        Word::new("shared", "one").refused("each file is read by itself", "file_access: multi"),
        Word::new("collective", "one, together").refused("each file is read by itself", "file_access: multi"),
    ]), "multi", "how files are shared").under("reader"),
    key("reader.preprocess_time", Kind::Decimal, "0", "how long a reader works on a sample, s").under("reader"),
    key("reader.preprocess_time_stdev", Kind::Decimal, "0", "its standard deviation, s").under("reader"),
    share("reader.preprocess_time.mean").under("reader"), share("reader.preprocess_time.stdev").under("reader"),
    law("reader.preprocess_time.type").under("reader"),
    share("reader.preprocess_time.min").under("reader"), share("reader.preprocess_time.max").under("reader"),
    share("reader.preprocess_time.shape").under("reader"),
    share("reader.preprocess_time.scale").under("reader"), share("reader.preprocess_time.lam").under("reader"),
    flag("reader.odirect", "False", "past the page cache").under("reader"),
    flag("reader.dont_use_mmap", "False", "no mapping of indexed files").ignored("files are read, not mapped").under("reader"),
    flag("reader.pin_memory", "True", "memory that an accelerator reads").ignored("there is no accelerator").under("reader"),
    key("reader.multiprocessing_context", Kind::Text, "fork", "how readers are started").ignored("readers are threads").under("reader"),
    key("reader.data_loader_sampler", Kind::Text, "", "whether samples are picked or gone through").ignored("the loader says it")
        .under("reader"),
    key("reader.data_loader_classname", Kind::Text, "", "a class that loads").refused(NO_PYTHON, "data_loader: pytorch")
        .under("reader"),
    key("reader.reader_classname", Kind::Text, "", "a class that reads").refused(NO_PYTHON, "format says how files are read")
        .under("reader"),
    key("train.epochs", POSITIVE, "1", "how often the data set is gone through").under("train"),
    key("train.computation_time", Kind::Decimal, "0", "how long a step computes, s").under("train"),
    key("train.computation_time_stdev", Kind::Decimal, "0", "its standard deviation, s").under("train"),
    share("train.computation_time.mean").under("train"), share("train.computation_time.stdev").under("train"),
    law("train.computation_time.type").under("train"),
    share("train.computation_time.min").under("train"), share("train.computation_time.max").under("train"),
    share("train.computation_time.shape").under("train"),
    share("train.computation_time.scale").under("train"), share("train.computation_time.lam").under("train"),
    key("train.total_training_steps", ANY, "-1", "steps of an epoch, where they are fewer than the data set has").under("train"),
    key("train.total_eval_steps", ANY, "-1", "steps of the evaluation").ignored(UNREAD).under("train"),
    key("train.seed", Kind::Whole(0, u32::MAX as i64), "123", "what shuffles are drawn from").under("train"),
    flag("train.seed_change_epoch", "True", "the order of files differs from epoch to epoch").under("train"),
    key("evaluation.eval_time", Kind::Decimal, "0", "how long a step of the evaluation computes, s").under("evaluation"),
    key("evaluation.eval_time_stdev", Kind::Decimal, "0", "its standard deviation, s").under("evaluation"),
    share("evaluation.eval_time.mean").under("evaluation"), share("evaluation.eval_time.stdev").under("evaluation"),
    law("evaluation.eval_time.type").under("evaluation"),
    share("evaluation.eval_time.min").under("evaluation"), share("evaluation.eval_time.max").under("evaluation"),
    share("evaluation.eval_time.shape").under("evaluation"),
    share("evaluation.eval_time.scale").under("evaluation"), share("evaluation.eval_time.lam").under("evaluation"),
    key("evaluation.eval_after_epoch", POSITIVE, "1", "the first epoch that is followed by an evaluation").under("evaluation"),
    key("evaluation.epochs_between_evals", POSITIVE, "1", "epochs from one evaluation to the next").under("evaluation"),
    key("evaluation.steps_between_evals", COUNT, "", "steps from one evaluation to the next").ignored(UNREAD).under("evaluation"),
    key("checkpoint.checkpoint_folder", Kind::Path, "./checkpoints/", "the folder of checkpoints").under("checkpoint"),
    key("checkpoint.checkpoint_after_epoch", POSITIVE, "1", "the first epoch that ends with a checkpoint").under("checkpoint"),
    key("checkpoint.epochs_between_checkpoints", POSITIVE, "1", "epochs from one to the next").under("checkpoint"),
    key("checkpoint.steps_between_checkpoints", ANY, "-1", "steps of an epoch from one to the next, in place of epochs")
        .under("checkpoint"),
    key("checkpoint.type", Kind::Word(&[
        Word::new("rank_zero", "one rank writes its state"),
        Word::new("all_ranks", "each rank writes its state"),
    ]), "rank_zero", "who writes").under("checkpoint"),
    key("checkpoint.model_size", COUNT, "10240", "the parameters of the model, bytes").also(&["model.model_size"]).under("checkpoint"),
    key("checkpoint.optimization_groups", Kind::List, "", "lengths of the optimiser's groups, each of which is written three times")
        .also(&["model.optimization_groups"]).under("checkpoint"),
    key("checkpoint.num_layers", COUNT, "1", "files of layers").also(&["model.num_layers"]).under("checkpoint"),
    key("checkpoint.layer_parameters", Kind::List, "17371,24740228", "lengths of what a layer consists of, bytes")
        .also(&["model.layer_parameters"]).under("checkpoint"),
    key("checkpoint.tensor_parallelism", POSITIVE, "1", "ranks that share a layer: so many further files")
        .also(&["model.parallelism.tensor"]).under("checkpoint"),
    key("checkpoint.pipeline_parallelism", POSITIVE, "1", "of so many ranks one writes layers").also(&["model.parallelism.pipeline"])
        .under("checkpoint"),
    flag("checkpoint.fsync", "False", "a checkpoint is made durable").under("checkpoint"),
    key("checkpoint.checkpoint_mechanism_classname", Kind::Text, "", "a class that writes")
        .refused(NO_PYTHON, "leave it out: files are written as PyTorch does").under("checkpoint"),
    key("checkpoint.mode", Kind::Word(&[
        Word::new("default", "all processes of the model take part"),
        Word::new("subset", "the first ones take part, each with what it has among all of them"),
    ]), "default", "without training: who takes part").under("checkpoint"),
    key("checkpoint.num_checkpoints_write", ANY, "-1", "without training: checkpoints that are saved").under("checkpoint"),
    key("checkpoint.num_checkpoints_read", ANY, "-1", "checkpoints that are loaded, the first ones first; their cached pages are dropped")
        .under("checkpoint"),
    key("checkpoint.time_between_checkpoints", Kind::Decimal, "-1", "a pause before each of them, s").under("checkpoint"),
    flag("checkpoint.recovery_rank_shift", "False", "a process loads what one of the next node has saved; of one node, half of the \
        processes further").under("checkpoint"),
    key("checkpoint.model_datatype", DATATYPES, "fp16", "of the model's elements").also(&["model.model_datatype"]).under("checkpoint"),
    key("checkpoint.optimizer_datatype", DATATYPES, "fp32", "of the optimiser's elements").also(&["model.optimizer_datatype"])
        .under("checkpoint"),
    key("metric.au", Kind::Decimal, "0.9", "the utilisation that is expected, as a fraction").under("metric"),
    key("metric.exclude_start_steps", COUNT, "1", "first steps of a block that do not count for the utilisation").under("metric"),
    key("metric.exclude_end_steps", COUNT, "0", "last steps of a block that do not count for the utilisation").under("metric"),
    key("output.folder", Kind::Path, "", "where results go, in place of hydra's folder").under("output"),
    key("output.log_file", Kind::Text, "dlio.log", "the name of the log").under("output"),
    key("profiling.profiler", Kind::Text, "iostat", "which profiler").ignored("what the devices did is in every run: --also json=FILE")
        .under("profiling"),
    key("profiling.iostat_devices", Kind::List, "", "whose devices").ignored("what the devices did is in every run: --also json=FILE")
        .under("profiling"),
];

const FORMATS: &[Word] = &[
    Word::new("npz", "NumPy's archive, read whole"),
    Word::new("npy", "an array of NumPy, read whole"),
    Word::new("tfrecord", "TensorFlow's records, read as a stream"),
    Word::new("hdf5", "a sample is read at its place"),
    Word::new("csv", "a line of numbers for each sample, read whole"),
    Word::new("jpeg", "a picture, read whole"),
    Word::new("png", "a picture, read whole"),
    Word::new("indexed_binary", "a sample is read at its place"),
    Word::new("mmap_indexed_binary", "the same, mapped")
        .refused("files are read, not mapped", "format: indexed_binary"),
    Word::new("hdf5_opt", "an older hdf5").refused("DLIO 2.0.0 does not serve it, either", "format: hdf5"),
    Word::new("synthetic", "no files").refused("without files nothing is measured", "format: npz"),
];

/// The page about dlio, with a table of its keys.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_there_once_and_has_help() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }
}
