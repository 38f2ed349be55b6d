//! Workloads on trees of files: each operation of a workload is a script of its own, whose steps are opening, transfers and
//! closing.

use iodyno_model::{
    Extent, Finish, Item, Items, Job, Limit, Offset, Open, OpenMode, Operation, Pace, Pick, Prepare, Ranks,
    Rate, Script, Size, Step, Target, TargetKind, Verb, Workload, Zone,
};

use super::storage::counted;
use super::{LoweredRun, RunLowering, named, shares};
use crate::engine_choice::POSITIONED_CALLS;
use crate::vdbench::definition::Definition;
use crate::vdbench::runs::RunPoint;
use crate::vdbench::settings::{self, OpenFlags, RunTimes};
use crate::vdbench::view::FlatColumns;

/// Operations on files, each with what it is of, and what keeps it from being done.
pub(super) const OPERATIONS: &[&str] =
    &["read", "write", "mkdir", "rmdir", "create", "delete", "open", "close", "getattr", "setattr", "access"];
/// Steps that one script may have for the transfers in one file.
const RUNS_MOST: u64 = 64;

/// The files of a file system definition.
#[derive(Clone, Debug)]
pub(super) struct FileTree {
    pub definition: Definition,
    pub root: String,
    pub items: Items,
    /// The mean length of a file.
    pub bytes: u64,
    /// Percent of the files that are used; none: all.
    pub share: Option<f64>,
}

impl RunLowering<'_> {
    /// The jobs of a run on trees of files.
    pub(super) fn file_run(&mut self, point: &RunPoint, times: RunTimes) -> LoweredRun {
        let run = &point.definition;
        let all = self.all;
        let every = vec!["*".to_string()];
        let names = if run.has("fwd") { run.values("fwd") } else { &every };
        let workloads: Vec<&Definition> =
            named(&all.file_workloads, names, "fwd", run.place("fwd"), &mut self.wrong)
                .into_iter()
                .filter(|workload| workload.name != "format")
                .collect();
        if workloads.is_empty() {
            self.wrong.add(&run.origin, format!("rd={} names no workload", run.name), "rd=…,fwd=fwd1");
            return None;
        }
        if self.validation.is_on {
            let hint = "validate a file or a device: sd=sd1,lun=FILE,size=1g";
            self.wrong.add(&run.origin, "files of a tree are not validated", hint);
        }
        let parts = shares(&workloads, &mut self.wrong);
        let trees: Vec<Vec<FileTree>> = workloads.iter().map(|workload| self.trees(workload, run)).collect();
        let only = self.format_files(point, &trees, times);
        if only {
            return None;
        }
        let (mut jobs, mut requested) = (Vec::new(), Vec::new());
        for ((workload, trees), share) in workloads.iter().zip(&trees).zip(&parts) {
            let operations = self.operations(workload, run);
            for name in &operations {
                if !requested.contains(name) {
                    requested.push(*name);
                }
            }
            let share = share / operations.len().max(1) as f64 / trees.len().max(1) as f64;
            for tree in trees {
                for name in &operations {
                    jobs.extend(self.file_jobs(point, times, (workload, tree), (name, share)));
                }
            }
        }
        if requested.contains(&"read") || requested.contains(&"write") {
            requested = [requested, vec!["read", "write"]].concat();
            requested.sort_unstable();
            requested.dedup();
        }
        for column in ["getattr", "setattr", "access"] {
            if requested.contains(&column) && !self.out.columns.contains(&column) {
                self.out.columns.push(column);
            }
        }
        let columns = FlatColumns {
            compratio: Some(run.number("forcompratio").or(all.general.number("compratio")).unwrap_or(1.0)),
            dedupratio: Some(all.general.number("dedupratio").unwrap_or(1.0)),
            ..FlatColumns::default()
        };
        Some((jobs, Vec::new(), columns, requested))
    }

    /// What a workload does: as the run says, or as it says itself.
    fn operations(&mut self, workload: &Definition, run: &Definition) -> Vec<&'static str> {
        let from = [(run, "foroperations"), (run, "operations"), (workload, "operation")];
        let found = from.into_iter().find(|(definition, name)| definition.has(name));
        let Some((definition, name)) = found else { return vec!["read"] };
        let mut operations = Vec::new();
        for word in definition.values(name) {
            match OPERATIONS.iter().find(|known| **known == word.to_lowercase()) {
                Some(known) => operations.push(*known),
                None if ["copy", "move"].contains(&word.as_str()) => {
                    let hint = "create and delete make and remove files";
                    self.wrong.add(definition.place(name), format!("`{word}` needs a second tree"), hint);
                }
                None => {
                    let message = format!("no operation `{word}`");
                    self.wrong.add(
                        definition.place(name),
                        message,
                        format!("one of: {}", OPERATIONS.join(" ")),
                    );
                }
            }
        }
        operations
    }

    /// The trees that a workload works on.
    fn trees(&mut self, workload: &Definition, run: &Definition) -> Vec<FileTree> {
        let from = if run.has("fsd") { run } else { workload };
        if !from.has("fsd") {
            self.wrong.add(
                &workload.origin,
                format!("fwd={} names no file system", workload.name),
                "fwd=…,fsd=fsd1",
            );
            return Vec::new();
        }
        let all = counted(&self.all.file_systems, "anchor");
        let found: Vec<Definition> =
            named(&all, from.values("fsd"), "fsd", from.place("fsd"), &mut self.wrong)
                .into_iter()
                .cloned()
                .collect();
        found.iter().filter_map(|definition| self.tree(definition, run)).collect()
    }

    fn tree(&mut self, definition: &Definition, run: &Definition) -> Option<FileTree> {
        let origin = definition.place("anchor").clone();
        let Some(root) = definition.text("anchor").map(String::from) else {
            let message = format!("fsd={} has no anchor=", definition.name);
            self.wrong.add(&definition.origin, message, "anchor=DIR");
            return None;
        };
        if root.contains(['{', '}']) {
            let message = format!("`anchor={root}`: braces have a meaning of their own");
            self.wrong.add(&origin, message, "rename it");
            return None;
        }
        let ranks = self.sites.count();
        if ranks > 1 && !definition.is_yes("shared") {
            let message = format!("fsd={} is used by several hosts", definition.name);
            let hint = "shared=yes divides its files between the hosts; or an anchor= for each host";
            self.wrong.add(&definition.origin, message, hint);
        }
        let sizes = run.get("forsizes").or(definition.get("sizes")).cloned();
        let size = settings::sizes(sizes.as_ref(), 4096, &mut self.wrong);
        let bytes = mean(&size).max(1);
        let Some(mut items) = items_of(definition, run, bytes) else {
            self.wrong.add(&definition.origin, "too many files", "lower depth=, width= or files=");
            return None;
        };
        let working = run.number("forwss").or(definition.number("workingsetsize"));
        let share = working
            .filter(|working| *working > 0.0)
            .map(|working| working / (items.count as f64 * bytes as f64) * 100.0)
            .filter(|share| *share < 100.0);
        let name = if ranks > 1 { "vdb_f{item}_{rank}.file" } else { "vdb_f{item}.file" };
        (items.count, items.name) = ((items.count / u64::from(ranks)).max(1), name.into());
        items.size = size;
        Some(FileTree { definition: definition.clone(), root, items, bytes, share })
    }

    /// The target of a tree, or of directories beside it.
    pub(super) fn tree_target(
        &mut self,
        tree: &FileTree,
        items: Items,
        flags: OpenFlags,
        prepare: Prepare,
    ) -> usize {
        let parents = self.all.general.is_yes("create_anchors");
        let suffix = match (items.directories, items.present_percent) {
            (true, _) => " directories",
            (false, 0.0) => " to be made",
            _ => "",
        };
        self.target(Target {
            name: format!("{}{suffix}", tree.definition.name),
            kind: TargetKind::FileSet { root: tree.root.clone(), items },
            open: Open {
                direct: flags.direct,
                sync: flags.sync,
                mode: OpenMode::AsNeeded,
                parents,
                ..Open::default()
            },
            prepare,
            remove: false,
            origin: tree.definition.place("anchor").clone(),
        })
    }

    /// The jobs of one operation of a workload on one tree.
    fn file_jobs(
        &mut self,
        point: &RunPoint,
        times: RunTimes,
        (workload, tree): (&Definition, &FileTree),
        (name, share): (&'static str, f64),
    ) -> Vec<Job> {
        let run = &point.definition;
        let threads = run.number("forthreads").or(workload.number("threads")).unwrap_or(1.0).max(1.0) as u32;
        let (ranks, count) = self.sites.places(&[workload], &mut self.wrong);
        let workers = (threads / count.max(1)).max(1);
        let flags = OpenFlags::of(&[run, workload, &tree.definition], &mut self.wrong);
        let formats = !self.format_words(run).is_empty();
        let is_directory = matches!(name, "mkdir" | "rmdir");
        let items = match (is_directory, name) {
            (true, name) => Items {
                count: (tree.items.count / tree.items.per_directory.max(1)).max(1),
                name: "vdb_{item}.directory".into(),
                directories: true,
                depth: 0,
                branch: 1,
                per_directory: 0,
                size: Size::Fixed(0),
                leaves_only: false,
                present_percent: if name == "rmdir" { 100.0 } else { 0.0 },
                ..tree.items.clone()
            },
            (false, "create") if !formats => Items { present_percent: 0.0, ..tree.items.clone() },
            _ => tree.items.clone(),
        };
        let script = FileScript { workload, tree, run, name, mistakes: &mut self.wrong }.script();
        let target = self.tree_target(tree, items, flags, self.prepare_of(run, name));
        let target = if script_reads(&script) < 1.0 { self.opened_to_write(target) } else { target };
        let steps = script.steps.len() as f64;
        let mut pace = self.pace(point, share / f64::from(count), workers, None);
        if let Rate::Operations(rate) = pace.rate_all {
            let moves = matches!(name, "read" | "write");
            match moves {
                // Opening and closing is not what the rate counts.
                true => {
                    pace.rate_all = Rate::Unlimited;
                    pace = with_directed_rate(pace, script_reads(&script), rate);
                }
                false => pace.rate_all = Rate::Operations(rate * steps),
            }
        }
        let mut payload = settings::payload(self.all, None, run, &mut self.wrong);
        payload.verify = None;
        let limit = self.limit(point, times, (u64::from(workers * count), tree.items.count * tree.bytes));
        let job_name = format!("{} {name} on {}", workload.name, tree.definition.name);
        let sync = flags.fsync.then_some(Verb::Fsync);
        let job = Job {
            workers,
            pace,
            limit: Limit { passes: None, ..limit },
            payload,
            finish: Finish { sync, ..Finish::default() },
            ..self.job(&job_name, POSITIONED_CALLS, target, Workload::Script(script), &workload.origin)
        };
        ranks.iter().map(|ranks: &Ranks| Job { ranks: *ranks, ..job.clone() }).collect()
    }

    /// The same target, its files opened to read and write.
    fn opened_to_write(&mut self, target: usize) -> usize {
        let known = self.out.plan.targets[target].clone();
        let open = Open { mode: OpenMode::ReadWrite, ..known.open.clone() };
        self.target(Target { open, ..known })
    }

    /// What must be there of a tree before a run.
    fn prepare_of(&self, run: &Definition, name: &str) -> Prepare {
        match self.format_words(run).iter().any(|word| word == "restart") {
            true => Prepare::Filled,
            false if name == "create" || name == "mkdir" || name == "rmdir" => Prepare::Filled,
            false => Prepare::AsItIs,
        }
    }
}

/// The files of a tree and how they lie in their directories; nothing where they are too many.
fn items_of(definition: &Definition, run: &Definition, bytes: u64) -> Option<Items> {
    let whole = |of_run: &str, own: &str, default: f64| {
        run.number(of_run).or(definition.number(own)).unwrap_or(default).clamp(1.0, 1e9) as u64
    };
    let depth = whole("fordepth", "depth", 1.0);
    let (width, files) = (whole("forwidth", "width", 1.0), whole("forfiles", "files", 10.0));
    if depth > 64 {
        return None;
    }
    let leaves_only = definition.text("distribution").is_none_or(|word| word != "all");
    let levels = if leaves_only { depth..=depth } else { 0..=depth };
    let of_level = |sum: u64, level: u64| sum.checked_add(width.checked_pow(level as u32)?);
    let directories = levels.into_iter().try_fold(0_u64, of_level)?;
    let count = directories.checked_mul(files).filter(|count| *count < 1 << 40)?;
    let total = run.number("fortotalsize").or(definition.number("totalsize")).filter(|total| *total > 0.0);
    Some(Items {
        count: total.map_or(count, |total| (total as u64 / bytes).clamp(1, count)),
        directory: "vdb_{child}.dir".into(),
        depth: depth as u32,
        branch: width as u32,
        per_directory: files,
        leaves_only,
        ..Items::default()
    })
}

/// The mean of sizes.
fn mean(size: &Size) -> u64 {
    match size {
        Size::Split(table) => {
            let sum: f64 = table.iter().map(|(bytes, percent)| *bytes as f64 * percent).sum();
            (sum / table.iter().map(|(_, percent)| percent).sum::<f64>().max(1e-9)) as u64
        }
        Size::Uniform { least_bytes, most_bytes, .. } => (least_bytes + most_bytes) / 2,
        size => size.most_bytes().unwrap_or(4096),
    }
}

/// The part of a script's transfers that are reads.
fn script_reads(script: &Script) -> f64 {
    let count = |verb: Verb| -> u64 {
        let of = |step: &Step| match &step.action {
            iodyno_model::Action::Do(operation) if operation.verb == verb => step.repeat,
            _ => 0,
        };
        script.steps.iter().map(of).sum()
    };
    let (reads, writes) = (count(Verb::Read) as f64, count(Verb::Write) as f64);
    if writes == 0.0 { 1.0 } else { reads / (reads + writes) }
}

fn with_directed_rate(mut pace: Pace, reads: f64, rate: f64) -> Pace {
    if reads > 0.0 {
        pace.rate.read = Rate::Operations(rate * reads);
    }
    if reads < 1.0 {
        pace.rate.write = Rate::Operations(rate * (1.0 - reads));
    }
    pace
}

/// Makes the steps of one operation.
struct FileScript<'a> {
    workload: &'a Definition,
    tree: &'a FileTree,
    run: &'a Definition,
    name: &'static str,
    mistakes: &'a mut super::MistakeList,
}

impl FileScript<'_> {
    fn script(&mut self) -> Script {
        let existing = self.select();
        let on = |verb: Verb, item: Item| Operation { item, ..Operation::on(verb, 0) };
        let opened = |item: Item| Operation { handle: Some(0), ..on(Verb::Open, item) }.step("open");
        let close =
            || Operation { item: Item::Held, handle: Some(0), ..Operation::on(Verb::Close, 0) }.step("close");
        let missing = || Item::Missing(Pick::Sequential);
        let steps = match self.name {
            "mkdir" => vec![on(Verb::Mkdir, missing()).step("mkdir")],
            "rmdir" => vec![on(Verb::Rmdir, Item::Existing(Pick::Sequential)).step("rmdir")],
            "create" => {
                let create = Operation { handle: Some(0), ..on(Verb::Create, missing()) };
                vec![create.step("create"), close()]
            }
            "delete" => vec![on(Verb::Unlink, existing).step("delete")],
            "open" | "close" => vec![opened(existing), close()],
            "getattr" => vec![on(Verb::Stat, existing).step("getattr")],
            "setattr" => vec![on(Verb::Utimens, existing).step("setattr")],
            "access" => vec![on(Verb::Access, existing).step("access")],
            _ => [vec![opened(existing)], self.transfers(), vec![close()]].concat(),
        };
        Script { steps, ..Script::default() }
    }

    /// Which file comes next.
    fn select(&mut self) -> Item {
        let words = self.workload.values("fileselect");
        let mut pick = Pick::Sequential;
        for word in words {
            let begins = |whole: &str| word.len() >= 3 && whole.starts_with(&word.to_lowercase());
            match () {
                () if begins("random") => pick = Pick::Uniform,
                () if begins("sequential") => pick = Pick::Sequential,
                () if begins("poisson") => {
                    self.mistakes.add(
                        self.workload.place("fileselect"),
                        "files are not chosen by a Poisson distribution: how the original draws it is not known",
                        "fileselect=random, or wss= for a working set that is smaller than all files",
                    );
                    break;
                }
                () => {
                    let hint = "fileselect=random or fileselect=sequential";
                    self.mistakes.add(
                        self.workload.place("fileselect"),
                        format!("files are not chosen by `{word}`"),
                        hint,
                    );
                }
            }
        }
        match self.tree.share {
            Some(percent) => Item::Existing(Pick::Zones(vec![
                Zone { accesses_percent: 100.0, extent: Extent::Percent(percent.max(0.001)) },
                Zone { accesses_percent: 0.0, extent: Extent::Rest },
            ])),
            None => Item::Existing(pick),
        }
    }

    /// What is done in one file.
    fn transfers(&mut self) -> Vec<Step> {
        let sizes = self.run.get("forxfersize").or(self.workload.get("xfersizes")).cloned();
        let size = settings::sizes(sizes.as_ref(), 4096, self.mistakes);
        let xfer = mean(&size).max(1);
        let words: Vec<String> =
            self.workload.values("fileio").iter().map(|word| word.to_lowercase()).collect();
        let random = words.first().is_some_and(|word| "random".starts_with(word.as_str()));
        for word in words.iter().skip(1).filter(|word| !"shared".starts_with(word.as_str())) {
            let hint = "format=yes writes new files; operations=(delete,create) removes and makes them";
            self.mistakes.add(
                self.workload.place("fileio"),
                format!("`fileio=` does not know `{word}`"),
                hint,
            );
        }
        let whole = (self.tree.bytes.div_ceil(xfer)).max(1);
        let stop = self.workload.number("stopafter").filter(|stop| *stop > 0.0);
        let count = match stop {
            Some(percent_or_bytes) if percent_or_bytes >= 1024.0 => (percent_or_bytes as u64 / xfer).max(1),
            Some(operations) => operations as u64,
            None => whole,
        };
        let count = if random { count } else { count.min(whole) };
        let offset = if random { Offset::Drawn { pick: Pick::Uniform, span_bytes: 0 } } else { Offset::Next };
        let step = |verb: Verb, repeat: u64| {
            let operation = Operation {
                item: Item::Held,
                handle: Some(0),
                offset: offset.clone(),
                size: size.clone(),
                ..Operation::on(verb, 0)
            };
            Step { repeat, ..operation.step(verb.name()) }
        };
        let given = self.run.number("forrdpct").or(self.workload.number("rdpct"));
        let reads = given.unwrap_or(if self.name == "read" { 100.0 } else { 0.0 }).clamp(0.0, 100.0);
        interleaved(count, reads).into_iter().map(|(verb, repeat)| step(verb, repeat)).collect()
    }
}

/// So many reads and writes, the reads spread evenly over them.
fn interleaved(count: u64, reads_percent: f64) -> Vec<(Verb, u64)> {
    let wanted = |done: u64| (done as f64 * reads_percent / 100.0).round() as u64;
    let chunks = count.min(RUNS_MOST);
    let mut runs: Vec<(Verb, u64)> = Vec::new();
    let mut add = |verb: Verb, more: u64| match runs.last_mut() {
        _ if more == 0 => {}
        Some((last, repeat)) if *last == verb => *repeat += more,
        _ => runs.push((verb, more)),
    };
    for chunk in 0..chunks {
        let (from, to) = (count * chunk / chunks, count * (chunk + 1) / chunks);
        let reads = wanted(to) - wanted(from);
        add(Verb::Read, reads);
        add(Verb::Write, to - from - reads);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_spread_evenly() {
        assert_eq!(
            interleaved(4, 50.0),
            [(Verb::Read, 1), (Verb::Write, 1), (Verb::Read, 1), (Verb::Write, 1)]
        );
        assert_eq!(interleaved(100, 100.0), [(Verb::Read, 100)]);
        let many = interleaved(1_000_000, 70.0);
        let reads: u64 = many.iter().filter(|(verb, _)| *verb == Verb::Read).map(|(_, repeat)| repeat).sum();
        assert_eq!((reads, many.len()), (700_000, 128));
    }
}
