//! Runs that make files: of storage definitions where they are missing or too short, of trees where `format=` says so.

use iodyno_model::{
    Coverage, Depth, Extent, Item, Items, Job, Limit, Open, Operation, Pattern, Phase, Pick, Prepare, Script,
    Size, Step, Stop, Submit, Target, TargetKind, Verb, Workload,
};

use super::RunLowering;
use super::files::FileTree;
use super::storage::StoragePlace;
use crate::engine_choice::POSITIONED_CALLS;
use crate::vdbench::definition::Definition;
use crate::vdbench::runs::{RequestedRate, RunPoint};
use crate::vdbench::settings::{self, OpenFlags, RunTimes};
use crate::vdbench::view::{FlatColumns, RunView};

/// Transfers and threads of such runs where nothing is said.
const XFERSIZE: u64 = 131_072;
const THREADS: u32 = 2;
const SD_FORMAT: &str = "SD_format";
const TREE_THREADS: f64 = 8.0;
/// What formatting a tree counts as requested: its writes.
const REQUESTED: &[&str] = &["write"];

impl RunLowering<'_> {
    /// Writes the files of storage definitions in full that are missing or too short.
    pub(super) fn format_storage(&mut self, chosen: &[Vec<StoragePlace>], run: &Definition, times: RunTimes) {
        let general = &self.all.general;
        let word = general.text("formatsds").unwrap_or("").to_lowercase();
        let xfer = general.number("formatxfersize").map_or(XFERSIZE, |bytes| bytes.max(512.0) as u64);
        let mut jobs: Vec<Job> = Vec::new();
        for place in chosen.iter().flatten() {
            let TargetKind::File { .. } = self.out.plan.targets[place.target].kind else { continue };
            let length = self.loader.look(&place.path).map_or(0, |facts| facts.bytes);
            let is_made = self.made.iter().any(|(path, bytes)| *path == place.path && *bytes >= place.bytes);
            let is_due = (length < place.bytes || word.starts_with('y')) && !is_made;
            if !is_due || word.starts_with('n') || place.bytes == 0 {
                continue;
            }
            self.made.push((place.path.clone(), place.bytes));
            let target = self.target(Target {
                name: format!("{} in full", place.definition.name),
                kind: TargetKind::File { path: place.path.clone(), size: Extent::Bytes(place.bytes) },
                open: Open { create: true, ..self.out.plan.targets[place.target].open.clone() },
                prepare: Prepare::AsItIs,
                remove: false,
                origin: place.definition.place("lun").clone(),
            });
            let pattern =
                Pattern { coverage: Coverage::Once, ..Pattern::of(Verb::Write, Pick::Sequential, xfer) };
            let name = format!("SD_format on {}", place.definition.name);
            let payload = settings::payload(self.all, Some(&place.definition), run, &mut self.wrong);
            let workload = Workload::Pattern(Box::new(pattern));
            let job = Job {
                depth: Depth { most: THREADS, submit: Submit::Offload, ..Depth::default() },
                limit: Limit { passes: Some(1), ..Limit::default() },
                payload,
                ..self.job(&name, POSITIONED_CALLS, target, workload, &place.definition.origin)
            };
            let (ranks, _) = self.sites.places(&[&place.definition], &mut self.wrong);
            jobs.extend(ranks.into_iter().map(|ranks| Job { ranks, ..job.clone() }));
        }
        if jobs.is_empty() {
            return;
        }
        let columns = FlatColumns {
            xfersize: Some(xfer as f64),
            threads: Some(f64::from(THREADS)),
            rdpct: Some(0.0),
            seekpct: Some(0.0),
            ..FlatColumns::default()
        };
        self.made_by(Phase { jobs, ..Phase::default() }, SD_FORMAT, times, columns, vec!["read", "write"]);
    }

    /// Adds a run that makes files for others, and ends when they are made.
    pub(super) fn made_by(
        &mut self,
        phase: Phase,
        title: &str,
        times: RunTimes,
        columns: FlatColumns,
        requested: Vec<&'static str>,
    ) {
        let name = self.phase_name(title);
        self.out.runs.push(RunView {
            title: title.into(),
            times: RunTimes { elapsed: 0, warmup: 0, pause: 0, ..times },
            rate: RequestedRate::Max,
            base: 0,
            loops: if title == SD_FORMAT { format!("threads={THREADS} iorate=max") } else { "None".into() },
            is_format: true,
            requested,
            columns,
        });
        self.out.plan.phases.push(Phase { name, ..phase });
    }

    /// What `format=` of a run says, or the command line; nothing: files are as they are.
    pub(super) fn format_words(&self, run: &Definition) -> Vec<String> {
        let words = match self.command.format.as_deref() {
            Some(letters) if letters.contains('n') => return Vec::new(),
            Some(letters) if letters.contains('o') => return vec!["yes".into(), "only".into()],
            Some(_) => return vec!["yes".into()],
            None => run.values("format"),
        };
        let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let is_no = words.iter().any(|word| "no".starts_with(word.as_str()));
        if is_no { Vec::new() } else { words }
    }

    /// Makes the trees of a run before it, where that is asked for; whether nothing else is.
    pub(super) fn format_files(
        &mut self,
        point: &RunPoint,
        trees: &[Vec<FileTree>],
        times: RunTimes,
    ) -> bool {
        let run = &point.definition;
        let words = self.format_words(run);
        let has = |word: &str| words.iter().any(|known| known == word);
        for word in &words {
            let is_known = "yes".starts_with(word.as_str())
                || ["restart", "only", "once", "limited"].contains(&word.as_str());
            if !is_known {
                let hint = "yes, no, restart, only or once; rm -r removes a tree";
                self.wrong.add(run.place("format"), format!("`format={word}` is not supported"), hint);
            }
        }
        let is_due = !words.is_empty() && !has("restart") && (!has("once") || point.is_first);
        if is_due {
            let mut distinct: Vec<&FileTree> = Vec::new();
            for tree in trees.iter().flatten() {
                if !distinct.iter().any(|known| known.root == tree.root) {
                    distinct.push(tree);
                }
            }
            let jobs: Vec<Job> = distinct.iter().flat_map(|tree| self.tree_jobs(tree, run)).collect();
            let title = format!("format_for_{}", point.title);
            let phase = Phase { jobs, stop: Stop::Each, ..Phase::default() };
            self.made_by(phase, &title, times, FlatColumns::default(), REQUESTED.to_vec());
        }
        has("only")
    }

    /// The jobs that make one tree: what is there of an earlier run is removed first.
    fn tree_jobs(&mut self, tree: &FileTree, run: &Definition) -> Vec<Job> {
        let format = self.all.file_workloads.iter().find(|workload| workload.name == "format").cloned();
        let format = format.unwrap_or_default();
        let threads = format.number("threads").unwrap_or(TREE_THREADS).max(1.0) as u32;
        let xfer = format.get("xfersizes").cloned();
        let xfer = settings::sizes(xfer.as_ref(), XFERSIZE, &mut self.wrong).most_bytes().unwrap_or(XFERSIZE);
        let flags = OpenFlags::of(&[&format, &tree.definition], &mut self.wrong);
        let again = self.made.iter().any(|(path, _)| *path == tree.root);
        let mut jobs = Vec::new();
        if again {
            let target = self.tree_target(tree, tree.items.clone(), flags, Prepare::AsItIs);
            let item = Item::Existing(Pick::Sequential);
            let remove = Operation { item, arguments: ends(), ..Operation::on(Verb::Unlink, 0) };
            let script = Script { steps: vec![remove.step("delete")], ..Script::default() };
            let name = format!("removing {}", tree.definition.name);
            let workload = Workload::Script(script);
            jobs.push(Job {
                workers: threads,
                limit: until_empty(),
                ..self.job(&name, POSITIONED_CALLS, target, workload, &run.origin)
            });
        } else {
            self.forget(tree);
            self.made.push((tree.root.clone(), tree.items.count * tree.bytes));
        }
        let items = Items { present_percent: 0.0, ..tree.items.clone() };
        let target = self.tree_target(tree, items, flags, Prepare::Filled);
        let workload = Workload::Script(Script { steps: created(tree, xfer), ..Script::default() });
        let name = format!("making {}", tree.definition.name);
        let payload = settings::payload(self.all, None, run, &mut self.wrong);
        let mut job = Job {
            workers: threads,
            payload,
            limit: until_empty(),
            ..self.job(&name, POSITIONED_CALLS, target, workload, &run.origin)
        };
        job.start.after_job = jobs.first().map(|job: &Job| job.name.clone());
        jobs.push(job);
        jobs
    }

    /// Directories that an earlier run of ours or of the original made are removed before the start.
    fn forget(&mut self, tree: &FileTree) {
        let Ok(names) = self.loader.list(&tree.root) else { return };
        let is_ours = |name: &String| {
            let ends = [("vdb_", ".dir"), ("vdb.", ".dir"), ("vdb_f", ".file")];
            ends.iter().any(|(begin, end)| name.starts_with(begin) && name.ends_with(end))
        };
        let root = tree.root.trim_end_matches('/');
        self.out
            .abandoned
            .extend(names.iter().filter(|name| is_ours(name)).map(|name| format!("{root}/{name}")));
    }
}

/// Passes without end: what ends the worker is that no file is left.
fn until_empty() -> Limit {
    Limit { passes: Some(1 << 40), ..Limit::default() }
}

/// An empty pool ends the worker rather than letting it wait.
fn ends() -> Vec<(String, String)> {
    vec![("empty".into(), "ends".into())]
}

/// The steps that make one file.
fn created(tree: &FileTree, xfer: u64) -> Vec<Step> {
    let item = Item::Missing(Pick::Sequential);
    let create = Operation { item, handle: Some(0), arguments: ends(), ..Operation::on(Verb::Create, 0) };
    let write = |bytes: u64, repeat: u64, whole: bool| {
        let operation = Operation {
            item: Item::Held,
            handle: Some(0),
            size: Size::Fixed(bytes),
            whole,
            ..Operation::on(Verb::Write, 0)
        };
        Step { repeat, ..operation.step("write") }
    };
    let writes = match tree.items.size {
        Size::Fixed(bytes) => {
            let (whole, rest) = (bytes / xfer, bytes % xfer);
            let all =
                [(xfer, whole), (rest, u64::from(rest > 0))].into_iter().filter(|(_, repeat)| *repeat > 0);
            all.map(|(bytes, repeat)| write(bytes, repeat, false)).collect()
        }
        _ => vec![write(xfer, 1, true)],
    };
    let close =
        Operation { item: Item::Held, handle: Some(0), ..Operation::on(Verb::Close, 0) }.step("close");
    [vec![create.step("create")], writes, vec![close]].concat()
}
