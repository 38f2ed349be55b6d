//! Many files in directories of each thread's own: `rT/dD/rT-fF`, or `rT-fF` where there are no directories.
//!
//! Of several paths, thread T has its directory D in path (T + D) modulo their number: for each remainder of D there is a set
//! of its own, whose directories count in steps.

use iodyno_model::{
    Direct, Item, Items, Job, Offset, Open, Operation, Pick, Prepare, Script, Size, Step, Target, TargetKind,
    Verb, Workload,
};

use super::{BESIDE, ElbenchoLowering, entry, hints, with};
use crate::elbencho::view::{ENTRY, INLINE, PhaseRole};
use crate::index_of;

/// The handle that an entry's file is in.
const SLOT: u32 = 0;

/// Blocks of a mix before it begins again, in percent of which some are read.
const MIX_BLOCKS: u64 = 100;

/// A number that counts in steps from one on; of one path it counts plainly.
fn in_steps(what: &str, step: usize, first: u64) -> String {
    if step == 1 { format!("{{{what}}}") } else { format!("{{{what}*{step}+{first}}}") }
}

impl ElbenchoLowering<'_> {
    /// A phase over entries.
    pub(super) fn directories(&mut self, role: PhaseRole) {
        let test = self.test;
        let (files, dirs) = (test.thread_files() * test.all_threads(), test.dirs * test.all_threads());
        match role {
            PhaseRole::MakeDirectories => self.of_directories(role, "MKDIRS", Verb::Mkdir, dirs),
            PhaseRole::DeleteDirectories => self.of_directories(role, "RMDIRS", Verb::Rmdir, dirs),
            PhaseRole::Stat => self.of_names(role, "STAT", Verb::Stat, files),
            PhaseRole::DeleteFiles => self.of_names(role, "RMFILES", Verb::Unlink, files),
            PhaseRole::Read => {
                let job = self.of_data(role, "threads", false, test.threads);
                let name = if test.flag("statinline") { "READ+s" } else { "READ" };
                self.phase(role, name, vec![job], files, test.phase_bytes());
            }
            _ => {
                let readers = test.readers();
                let mut jobs = Vec::new();
                if readers > 0 {
                    jobs.push(self.of_data(role, super::READERS, true, readers));
                }
                if readers < test.threads {
                    jobs.push(self.of_data(role, "threads", false, test.threads - readers));
                }
                let name = self.write_name();
                self.phase(role, &name, jobs, files, test.phase_bytes());
            }
        }
    }

    /// What a phase of writes is called.
    pub(super) fn write_name(&self) -> String {
        let test = self.test;
        let mut name = match (test.settings.is_given("rwmixthr"), test.settings.is_given("rwmixpct")) {
            (true, _) => format!("MIX-T{}", test.settings.count("rwmixthr")),
            (false, true) => format!("RWMIX{}", test.settings.count("rwmixpct")),
            _ => "WRITE".into(),
        };
        if test.kind.has_entries() {
            name += if test.flag("statinline") { "+s" } else { "" };
            name += if test.flag("readinline") { "+r" } else { "" };
        }
        name
    }

    /// Remainders of directories by the number of paths, with how many directories have each.
    fn classes(&self) -> Vec<(u64, u64)> {
        let (paths, dirs) = (self.test.paths.len() as u64, self.test.directories());
        (0..paths)
            .map(|class| (class, (dirs + paths - 1 - class) / paths))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// The path of those directories, which is each thread's own.
    fn root(&self, class: u64, offset: u64) -> String {
        let paths = &self.test.paths;
        let by = (class + offset + self.test.settings.count("rankoffset")) as usize % paths.len().max(1);
        match paths.as_slice() {
            [path] => path.clone(),
            _ => {
                let turned: Vec<&str> = paths[by..].iter().chain(&paths[..by]).map(String::as_str).collect();
                format!("{{worker:{}}}", turned.join("|"))
            }
        }
    }

    /// The directory of a thread.
    fn above(&self, offset: u64) -> String {
        if self.test.flag("dirsharing") { "r0".into() } else { format!("r{}", self.number(offset)) }
    }

    /// The number of a thread, of those that come after so many others.
    fn number(&self, offset: u64) -> String {
        match offset {
            0 => self.worker(),
            _ => format!("{{worker:+{}}}", offset + self.test.settings.count("rankoffset")),
        }
    }

    fn set(&mut self, root: String, items: Items, open: Open) -> usize {
        let target = Target {
            name: root.clone(),
            kind: TargetKind::FileSet { root, items },
            open: Open { directory: true, ..open },
            prepare: Prepare::AsItIs,
            remove: false,
            origin: Default::default(),
        };
        index_of(&mut self.plan.targets, target)
    }

    fn of_directories(&mut self, role: PhaseRole, name: &str, verb: Verb, entries: u64) {
        let test = self.test;
        if test.dirs == 0 {
            return;
        }
        let makes = verb == Verb::Mkdir;
        let open = Open { create: true, permissions: Some(0o777), ..Open::default() };
        let directory = |name: String, count| Items { count, name, directories: true, ..Items::default() };
        let (mut targets, mut around, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        let forgives = test.flag("dirsharing") || test.flag("nodelerr");
        let op = |verb, target, item| {
            let operation = Operation { item, ..Operation::on(verb, target) };
            if !makes && forgives { with(operation, "missing", "done") } else { operation }
        };
        for path in test.paths.clone() {
            let target = self.set(path, directory(self.above(0), 1), open.clone());
            targets.push(target);
            around.push(op(verb, targets.len() - 1, Item::Index(0)).step(BESIDE));
        }
        let step = test.paths.len();
        for (class, count) in self.classes() {
            let name = format!("{}/d{}", self.above(0), in_steps("item", step, class));
            let target = self.set(self.root(class, 0), directory(name, count), open.clone());
            targets.push(target);
            let operation = op(verb, targets.len() - 1, Item::Each);
            steps.push(Step { repeat: count, ..operation.step(ENTRY) });
        }
        let steps = if makes { [around, steps].concat() } else { [steps, around].concat() };
        let job = self.job("threads", targets, Workload::Script(Script { steps, ..Script::default() }));
        self.phase(role, name, vec![job], entries, 0);
    }

    /// The files of each class of directories.
    fn files_of(&self, offset: u64, class: u64, count: u64) -> Items {
        let test = self.test;
        let name = format!("r{}-f{{item%{}}}", self.number(offset), test.files.max(1));
        let flat = Items {
            count: test.files,
            name: name.clone(),
            size: Size::Fixed(test.bytes),
            ..Items::default()
        };
        if test.dirs == 0 {
            return flat;
        }
        Items {
            count: count * test.files,
            directory: format!("{}/d{}", self.above(offset), in_steps("child", test.paths.len(), class)),
            depth: 1,
            branch: u32::try_from(count).unwrap_or(u32::MAX),
            leaves_only: true,
            per_directory: test.files.max(1),
            ..flat
        }
    }

    /// Something that is done with each name.
    fn of_names(&mut self, role: PhaseRole, name: &str, verb: Verb, entries: u64) {
        let (mut targets, mut steps) = (Vec::new(), Vec::new());
        for (class, count) in self.classes() {
            let items = self.files_of(0, class, count);
            let times = items.count;
            targets.push(self.set(self.root(class, 0), items, Open::default()));
            let operation = Operation { item: Item::Each, ..Operation::on(verb, targets.len() - 1) };
            let forgives = verb == Verb::Unlink && self.test.flag("nodelerr");
            let operation = if forgives { with(operation, "missing", "done") } else { operation };
            steps.push(Step { repeat: times, ..operation.step(ENTRY) });
        }
        let job = self.job("threads", targets, Workload::Script(Script { steps, ..Script::default() }));
        self.phase(role, name, vec![job], entries, 0);
    }

    /// Each file is opened, written or read, and closed, by so many threads.
    fn of_data(&mut self, role: PhaseRole, name: &str, reads: bool, threads: u32) -> Job {
        let test = self.test;
        let reads = reads || role == PhaseRole::Read;
        let offset = u64::from(if name == super::READERS { 0 } else { test.threads - threads });
        let open = Open {
            create: !reads,
            truncate: !reads && test.flag("trunc"),
            permissions: Some(0o666),
            direct: if test.flag("direct") { Direct::Yes } else { Direct::No },
            ..Open::default()
        };
        let (mut targets, mut steps) = (Vec::new(), Vec::new());
        for (class, count) in self.classes() {
            let items = self.files_of(offset, class, count);
            let times = items.count;
            targets.push(self.set(self.root(class, offset), items, open.clone()));
            steps.extend(self.entries(targets.len() - 1, reads, times));
        }
        let mut job = self.job(name, targets, Workload::Script(Script { steps, ..Script::default() }));
        job.workers = threads;
        let depth = test.settings.count("iodepth") as u32;
        if depth > 1 {
            job.engine = "libaio".into();
            job.depth.most = depth;
        }
        if test.bytes > 0 {
            job.payload = self.payload(reads);
        }
        self.paced(&mut job, reads);
        job
    }

    /// The files of a set one after the other; with a mix of reads and writes, as many as it takes until the mix begins again.
    fn entries(&self, target: usize, reads: bool, files: u64) -> Vec<Step> {
        let test = self.test;
        let percent = if reads { 0 } else { test.settings.count("rwmixpct") };
        let blocks = test.bytes.div_ceil(test.block.max(1));
        if percent == 0 || blocks == 0 {
            let steps = self.opened(target, reads, self.transfers(reads));
            return if files > 0 { vec![entry(steps, files)] } else { Vec::new() };
        }
        let round = if blocks.is_multiple_of(MIX_BLOCKS) { 1 } else { MIX_BLOCKS.min(files) };
        let of_file = |file: u64| {
            let mut steps = Vec::new();
            let mut at = 0;
            while at < blocks {
                let place = (file * blocks + at) % MIX_BLOCKS;
                let is_read = place < percent;
                let until = if is_read { percent } else { MIX_BLOCKS };
                let run = (until - place).min(blocks - at);
                steps.extend(self.run_of(is_read, at, run));
                at += run;
            }
            entry(self.opened(target, false, steps), 1)
        };
        // Files that are alike follow each other as one step.
        let once = |count: u64| {
            let mut steps: Vec<Step> = Vec::new();
            for step in (0..count).map(of_file) {
                match steps.last_mut().filter(|last| last.action == step.action) {
                    Some(last) => last.repeat += 1,
                    None => steps.push(step),
                }
            }
            steps
        };
        let whole = Step {
            label: "round".into(),
            action: iodyno_model::Action::Block(once(round)),
            repeat: (files / round).max(1),
            origin: Default::default(),
        };
        let mut steps = if files >= round { vec![whole] } else { Vec::new() };
        steps.extend(once(files % round));
        steps
    }

    /// So many blocks of a file in one direction, in order.
    fn run_of(&self, reads: bool, first: u64, blocks: u64) -> Vec<Step> {
        let test = self.test;
        let is_last = first + blocks == test.bytes.div_ceil(test.block);
        let rest = test.bytes % test.block;
        let whole = if is_last && rest > 0 { blocks - 1 } else { blocks };
        let mut steps = Vec::new();
        if whole > 0 {
            steps.push(Step { repeat: whole, ..self.transfer(reads, test.block, self.spot()) });
        }
        if whole < blocks {
            steps.push(self.transfer(reads, rest, self.spot()));
        }
        steps
    }

    /// Where the next block of a file is.
    fn spot(&self) -> Offset {
        match self.test.flag("rand") {
            true => Offset::Drawn { pick: Pick::Uniform, span_bytes: self.test.bytes },
            false => Offset::Next,
        }
    }

    /// All blocks of a file.
    fn transfers(&self, reads: bool) -> Vec<Step> {
        let test = self.test;
        let blocks = test.bytes.div_ceil(test.block.max(1));
        let again = !reads && (test.flag("readinline") || test.flag("verifydirect"));
        if blocks == 0 {
            return Vec::new();
        }
        if !again && !test.flag("backward") {
            return self.run_of(reads, 0, blocks);
        }
        let places: Vec<u64> =
            if test.flag("backward") { (0..blocks).rev().collect() } else { (0..blocks).collect() };
        let mut steps = Vec::new();
        for place in places {
            let at = place * test.block;
            let bytes = test.block.min(test.bytes - at);
            steps.push(self.transfer(reads, bytes, Offset::At(at)));
            if again {
                let operation = Operation {
                    offset: Offset::At(at),
                    size: Size::Fixed(bytes),
                    handle: Some(SLOT),
                    ..Operation::control(Verb::Read)
                };
                steps.push(operation.step(INLINE));
            }
        }
        steps
    }

    fn transfer(&self, reads: bool, bytes: u64, offset: Offset) -> Step {
        let test = self.test;
        let verb = if reads { Verb::Read } else { Verb::Write };
        let mut operation =
            Operation { offset, size: Size::Fixed(bytes), handle: Some(SLOT), ..Operation::control(verb) };
        operation.background = test.settings.count("iodepth") > 1;
        if test.flag("rand") {
            if test.flag("norandalign") {
                operation = with(operation, "align", 1);
            }
            if !reads && !test.settings.is_given("randalgo") {
                operation = with(operation, "coverage", "once");
            }
        }
        operation.step(verb.name())
    }

    /// A file that is opened, worked on by these steps, and closed.
    fn opened(&self, target: usize, reads: bool, steps: Vec<Step>) -> Vec<Step> {
        let test = self.test;
        let verb = if reads { Verb::Open } else { Verb::Create };
        let open = Operation { item: Item::Each, handle: Some(SLOT), ..Operation::on(verb, target) };
        let held = |verb| Operation { handle: Some(SLOT), ..Operation::control(verb) };
        let ranged =
            |verb, bytes| Operation { offset: Offset::At(0), size: Size::Fixed(bytes), ..held(verb) };
        let mut all = vec![open.step("open")];
        if !reads && test.flag("preallocfile") && test.bytes > 0 {
            all.push(ranged(Verb::Fallocate, test.bytes).step("reserve"));
        }
        if !reads && test.flag("trunctosize") {
            all.push(
                Operation { offset: Offset::At(test.bytes), ..ranged(Verb::Truncate, test.bytes) }
                    .step("truncate"),
            );
        }
        for hint in hints(test.settings.text("fadv").unwrap_or_default()) {
            let advice = match hint {
                "rand" => 1,
                "seq" => 2,
                "willneed" => 3,
                "dontneed" => 4,
                _ => 5,
            };
            all.push(with(ranged(Verb::Fadvise, 0), "advice", advice).step("advise"));
        }
        if test.flag("statinline") {
            all.push(held(Verb::Fstat).step("fstat"));
        }
        all.extend(steps);
        all.push(held(Verb::Close).step("close"));
        all
    }
}
