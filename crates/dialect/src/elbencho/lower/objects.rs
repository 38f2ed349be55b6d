//! Objects of each thread's own, named as files are, in a bucket: a PUT or an upload of parts for each that is written, a GET
//! for each block that is read.

use iodyno_model::{
    Item, ItemData, Items, Job, Open, Operation, Pattern, Pick, Prepare, Script, Setting, Size, Step, Target,
    TargetKind, Verb, Workload,
};

use super::{ElbenchoLowering, once};
use crate::elbencho::view::{ENTRY, PhaseRole};
use crate::index_of;

/// Objects that one answer of a list has at most.
const PAGE: u64 = 1000;

impl ElbenchoLowering<'_> {
    /// A phase on a store.
    pub(super) fn objects(&mut self, role: PhaseRole) {
        let test = self.test;
        let files = test.thread_files() * test.all_threads();
        match role {
            PhaseRole::MakeDirectories => self.bucket(role, "MKBUCKETS", "make_bucket"),
            PhaseRole::DeleteDirectories => self.bucket(role, "RMBUCKETS", "remove_bucket"),
            PhaseRole::Write => {
                let jobs = vec![self.uploads()];
                self.phase(role, "WRITE", jobs, files, test.phase_bytes());
            }
            PhaseRole::Read => {
                let jobs = vec![self.downloads()];
                let (entries, bytes) =
                    if test.flag("s3randobj") { (0, test.amount) } else { (files, test.phase_bytes()) };
                self.phase(role, "READ", jobs, entries, bytes);
            }
            PhaseRole::Stat => self.names(role, "HEADOBJ", Verb::Stat, files),
            PhaseRole::DeleteFiles => self.names(role, "RMOBJECTS", Verb::Unlink, files),
            PhaseRole::DeleteMany => self.names(role, "MULTIDEL", Verb::Unlink, files),
            PhaseRole::ListInParallel => self.lists(role),
            PhaseRole::Sync | PhaseRole::DropCaches => {}
        }
    }

    fn url(&self, below: &str) -> String {
        let test = self.test;
        let prefix = test.store.as_ref().map_or("", |store| store.prefix.as_str());
        let all = [test.paths[0].as_str(), prefix.trim_matches('/'), below];
        let parts: Vec<&str> = all.into_iter().filter(|part| !part.is_empty()).collect();
        format!("s3://{}", parts.join("/"))
    }

    fn bucket_target(&mut self, url: String, items: Items) -> usize {
        let target = Target {
            name: url.clone(),
            kind: TargetKind::Bucket { url, items },
            open: Open::default(),
            prepare: Prepare::AsItIs,
            remove: false,
            origin: Default::default(),
        };
        index_of(&mut self.plan.targets, target)
    }

    /// The objects of each thread.
    fn own_objects(&mut self) -> usize {
        let test = self.test;
        let directory =
            if test.flag("dirsharing") { "r0".to_string() } else { format!("r{}", self.worker()) };
        let items = Items {
            count: test.thread_files(),
            name: format!("r{}-f{{item%{}}}", self.worker(), test.files.max(1)),
            directory: format!("{directory}/d{{child}}"),
            size: Size::Fixed(test.bytes),
            depth: u32::from(test.dirs > 0),
            branch: u32::try_from(test.dirs.max(1)).unwrap_or(u32::MAX),
            leaves_only: test.dirs > 0,
            per_directory: if test.dirs > 0 { test.files.max(1) } else { 0 },
            ..Items::default()
        };
        let url = self.url("");
        self.bucket_target(url, items)
    }

    fn object_job(&self, target: usize, workload: Workload, more: &[(&str, String)]) -> Job {
        let mut job = self.job("threads", vec![target], workload);
        job.engine = "s3".into();
        job.settings = self.test.store.as_ref().map(|store| store.settings.clone()).unwrap_or_default();
        job.settings.extend(more.iter().map(|(name, value)| Setting::new(name, value)));
        job
    }

    /// A bucket is made or removed by the engine before and after what it does there: here it looks for nothing.
    fn bucket(&mut self, role: PhaseRole, name: &str, setting: &str) {
        let items = Items { count: 1, name: "r0-f0".into(), size: Size::Fixed(0), ..Items::default() };
        let url = self.url("");
        let target = self.bucket_target(url, items);
        let list = Operation { item: Item::Index(0), ..Operation::on(Verb::Readdir, 0) };
        let script = Script { steps: vec![list.step(ENTRY)], ..Script::default() };
        let mut job = self.object_job(target, Workload::Script(script), &[(setting, "on".into())]);
        job.workers = 1;
        job.ranks = iodyno_model::Ranks::Workers(1);
        job.limit = once();
        self.phase(role, name, vec![job], 1, 0);
    }

    /// Each object by one request, or in parts as long as a block.
    fn uploads(&mut self) -> Job {
        let test = self.test;
        let target = self.own_objects();
        let operation = Operation {
            item: Item::Each,
            size: Size::Fixed(test.bytes),
            item_data: Some(ItemData::default()),
            ..Operation::on(Verb::Create, 0)
        };
        let steps = vec![Step { repeat: test.thread_files(), ..operation.step(ENTRY) }];
        let parts = test.bytes > test.block;
        let mut more = Vec::new();
        if parts {
            more.push(("part_size", test.block.to_string()));
            more.push(("parts_at_once", test.settings.count("iodepth").to_string()));
        }
        let mut job = self.object_job(target, Workload::Script(Script { steps, ..Script::default() }), &more);
        job.payload = self.payload(false);
        self.paced(&mut job, false);
        job
    }

    /// Each block by a request.
    fn downloads(&mut self) -> Job {
        let test = self.test;
        let target = self.own_objects();
        let random = test.flag("s3randobj");
        if !random && test.bytes <= test.block {
            let operation = Operation {
                item: Item::Each,
                size: Size::Fixed(test.bytes),
                item_data: Some(ItemData::default()),
                ..Operation::on(Verb::Open, 0)
            };
            let steps = vec![Step { repeat: test.thread_files(), ..operation.step(ENTRY) }];
            let mut job =
                self.object_job(target, Workload::Script(Script { steps, ..Script::default() }), &[]);
            self.paced(&mut job, true);
            return job;
        }
        let pick = if random || test.flag("rand") { Pick::Uniform } else { Pick::Sequential };
        let pattern = Pattern::of(Verb::Read, pick, test.block);
        let mut job = self.object_job(target, Workload::Pattern(Box::new(pattern)), &[]);
        job.depth.most = test.settings.count("iodepth") as u32;
        if random {
            job.limit.passes = None;
            job.limit.bytes =
                (!test.flag("infloop")).then(|| (test.amount / test.all_threads().max(1)).max(1));
        }
        self.paced(&mut job, true);
        job
    }

    fn names(&mut self, role: PhaseRole, name: &str, verb: Verb, entries: u64) {
        let test = self.test;
        let target = self.own_objects();
        let batch = test.settings.count("s3multidel").min(PAGE);
        if role == PhaseRole::DeleteMany {
            let pattern = Pattern::of(verb, Pick::Sequential, 0);
            let mut job = self.object_job(
                target,
                Workload::Pattern(Box::new(pattern)),
                &[("delete_batch", batch.to_string())],
            );
            job.depth.most = batch.max(1) as u32;
            return self.phase(role, name, vec![job], entries, 0);
        }
        let operation = Operation { item: Item::Each, ..Operation::on(verb, 0) };
        let steps = vec![Step { repeat: test.thread_files(), ..operation.step(ENTRY) }];
        let job = self.object_job(target, Workload::Script(Script { steps, ..Script::default() }), &[]);
        self.phase(role, name, vec![job], entries, 0);
    }

    /// Lists of the objects of each directory.
    fn lists(&mut self, role: PhaseRole) {
        let test = self.test;
        let target = self.own_objects();
        let list = |directory: u64| {
            let item = Item::Index(directory * test.files.max(1));
            Operation { item, ..Operation::on(Verb::Readdir, 0) }.step(ENTRY)
        };
        let script = Script { steps: (0..test.directories()).map(list).collect(), ..Script::default() };
        let job = self.object_job(target, Workload::Script(script), &[]);
        self.phase(role, "LISTOBJ_P", vec![job], 0, 0);
    }
}
