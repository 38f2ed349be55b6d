//! Files and devices that all threads share: each has a range of all blocks of all files, or all draw places in all of them.
//!
//! Ranges are contiguous: of B blocks thread t of T has B / T from t · (B / T) on, and the last one what is left. They may go
//! over the ends of files.

use std::ops::Range;

use iodyno_model::{
    Advice, Coverage, Direct, Extent, FileLock, FileOrder, Item, Items, Job, Offset, Open, OpenMode,
    Operation, Pattern, PerDirection, Pick, Prepare, Ranks, Script, Setting, Size, Span, Step, Target,
    TargetKind, Verb, Workload,
};

use super::{ElbenchoLowering, with};
use crate::elbencho::test::{BenchmarkPaths, ElbenchoTest};
use crate::elbencho::view::{ENTRY, PhaseRole};
use crate::index_of;
use crate::ior::lower::names;

/// A directory as it is.
pub fn folder(root: &str) -> Target {
    let items = Items { count: 0, ..Items::default() };
    Target {
        name: root.into(),
        kind: TargetKind::FileSet { root: root.into(), items },
        open: Open { directory: true, ..Open::default() },
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    }
}

/// Blocks of one file that a thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    file: u64,
    first: u64,
    blocks: u64,
}

/// What a thread has.
fn pieces(test: &ElbenchoTest, thread: u64) -> Vec<Piece> {
    let per_file = test.bytes.div_ceil(test.block.max(1));
    let (all, threads) = (per_file * test.paths.len() as u64, test.all_threads());
    let each = all / threads;
    let first = thread * each;
    let end = if thread + 1 == threads { all } else { first + each };
    let mut found = Vec::new();
    let mut at = first;
    while at < end {
        let (file, place) = (at / per_file, at % per_file);
        let blocks = (per_file - place).min(end - at);
        found.push(Piece { file, first: place, blocks });
        at += blocks;
    }
    found
}

/// Threads with a piece each of one file, which follow each other and are as long.
struct Neighbours {
    threads: Range<u64>,
    piece: Piece,
}

impl ElbenchoLowering<'_> {
    /// A phase over files or devices.
    pub(super) fn files(&mut self, role: PhaseRole) {
        let test = self.test;
        if role == PhaseRole::DeleteFiles {
            return self.deletion();
        }
        let all = test.all_threads();
        let readers = u64::from(test.readers());
        let mut jobs = Vec::new();
        let name = match role {
            PhaseRole::Read => {
                self.share(&mut jobs, true, 0..all, "threads");
                "READ".to_string()
            }
            _ => {
                self.share(&mut jobs, true, 0..readers, super::READERS);
                self.share(&mut jobs, false, readers..all, "threads");
                self.write_name()
            }
        };
        self.phase(role, &name, jobs, 0, test.phase_bytes());
    }

    /// The jobs of those threads.
    fn share(&mut self, jobs: &mut Vec<Job>, reads: bool, threads: Range<u64>, name: &str) {
        if threads.is_empty() {
            return;
        }
        let test = self.test;
        let whole = threads == (0..test.all_threads());
        if test.is_drawn() {
            jobs.push(self.drawn(reads, threads, name));
            return;
        }
        let each: Vec<Vec<Piece>> = threads.clone().map(|thread| pieces(test, thread)).collect();
        let files = test.paths.len() as u64;
        let per_thread = files / test.all_threads();
        if whole && files > 1 && per_thread > 0 && files.is_multiple_of(test.all_threads()) {
            jobs.push(self.dealt(reads, per_thread, name));
            return;
        }
        match neighbours(threads.start, &each) {
            Some(groups) => {
                for group in groups {
                    let job = self.range(reads, &group, name);
                    jobs.push(job);
                }
            }
            None => {
                for pieces in each.into_iter().filter(|pieces| !pieces.is_empty()) {
                    let job = self.scripted(reads, &pieces, name);
                    jobs.push(job);
                }
            }
        }
    }

    pub(super) fn target(&mut self, path: &str, reads: bool) -> usize {
        let test = self.test;
        let size = Extent::Bytes(test.bytes);
        let kind = match test.kind {
            BenchmarkPaths::Devices => TargetKind::Device { path: path.into() },
            _ => TargetKind::File { path: path.into(), size: if reads { Extent::Rest } else { size } },
        };
        let is_file = test.kind == BenchmarkPaths::Files;
        let writes = !reads && is_file;
        let lock = match test.settings.text("flock") {
            Some("range") => FileLock::Range,
            Some(_) => FileLock::ReadWrite,
            None => FileLock::No,
        };
        let hints = super::hints(test.settings.text("fadv").unwrap_or_default());
        let advice = match hints.as_slice() {
            ["rand"] => Advice::Random,
            ["seq"] => Advice::Sequential,
            ["noreuse"] => Advice::NoReuse,
            _ => Advice::No,
        };
        let (trunc, to_size) = (writes && test.flag("trunc"), writes && test.flag("trunctosize"));
        let open = Open {
            mode: if reads { OpenMode::Read } else { OpenMode::ReadWrite },
            create: writes,
            permissions: writes.then_some(0o666),
            truncate: trunc || to_size,
            truncate_bytes: if to_size { test.bytes } else { 0 },
            direct: if test.flag("direct") { Direct::Yes } else { Direct::No },
            invalidate: hints.contains(&"dontneed"),
            advice,
            lock,
            ..Open::default()
        };
        let prepare = if writes && test.flag("preallocfile") { Prepare::Reserved } else { Prepare::AsItIs };
        let target =
            Target { name: path.into(), kind, open, prepare, remove: false, origin: Default::default() };
        index_of(&mut self.plan.targets, target)
    }

    /// A job of these targets.
    fn shared_job(&self, name: &str, reads: bool, targets: Vec<usize>, workload: Workload) -> Job {
        let test = self.test;
        let mut job = self.job(name, targets, workload);
        let depth = test.settings.count("iodepth") as u32;
        if test.flag("mmap") {
            job.engine = "mmap".into();
            let advice = match test.settings.text("madv") {
                Some("seq") => Some("sequential"),
                Some("rand") => Some("random"),
                Some("willneed") => Some("willneed"),
                _ => None,
            };
            job.settings.extend(advice.map(|advice| Setting::new("advice", advice)));
        } else if depth > 1 {
            job.engine = "libaio".into();
            job.depth.most = depth;
        }
        job.payload = self.payload(reads);
        self.paced(&mut job, reads);
        job
    }

    fn pattern(&self, reads: bool, pick: Pick) -> Pattern {
        let test = self.test;
        let verb = if reads { Verb::Read } else { Verb::Write };
        let percent = test.settings.count("rwmixpct");
        let mut pattern = Pattern::of(verb, pick, test.block);
        if !reads && percent > 0 {
            pattern.mix = iodyno_model::Mix::reads(percent as f64);
        }
        if !reads && test.flag("verifydirect") {
            pattern.mix.shares.push(iodyno_model::Share { verb: Verb::Read, weight: 100.0 });
            pattern.mix.in_turn = true;
        }
        pattern
    }

    fn onward(&self) -> Pick {
        if self.test.flag("backward") { Pick::Backward } else { Pick::Sequential }
    }

    /// Threads with ranges of one file.
    fn range(&mut self, reads: bool, group: &Neighbours, name: &str) -> Job {
        let test = self.test;
        let Neighbours { threads, piece } = group;
        let start = piece.first * test.block;
        let bytes = (piece.blocks * test.block).min(test.bytes - start);
        let count = threads.end - threads.start;
        let target = self.target(&test.paths[piece.file as usize].clone(), reads);
        let mut pattern = self.pattern(reads, self.onward());
        pattern.span = Span {
            offset: if start > 0 { Extent::Bytes(start) } else { Extent::Rest },
            length: Extent::Bytes(bytes),
            increment: if count > 1 { Extent::Bytes(bytes) } else { Extent::Rest },
            ..Span::default()
        };
        let partial = !bytes.is_multiple_of(test.block);
        if partial && count == 1 {
            return self.scripted(reads, &[*piece], name);
        }
        let mut job = self.shared_job(name, reads, vec![target], Workload::Pattern(Box::new(pattern)));
        self.on_ranks(&mut job, threads);
        job
    }

    /// Which ranks run a job of these threads.
    fn on_ranks(&self, job: &mut Job, threads: &Range<u64>) {
        let test = self.test;
        let (per_rank, count) = (u64::from(test.threads), threads.end - threads.start);
        if count == test.all_threads() {
            return;
        }
        job.workers = count.min(per_rank) as u32;
        if test.hosts > 1 {
            job.ranks = Ranks::Only((threads.start / per_rank) as u32);
        }
    }

    /// As many whole files for each thread.
    fn dealt(&mut self, reads: bool, per_thread: u64, name: &str) -> Job {
        let test = self.test;
        let of_place = |place: u64| {
            let files: Vec<&str> = (0..test.all_threads())
                .map(|thread| test.paths[(thread * per_thread + place) as usize].as_str())
                .collect();
            if files.len() == 1 { files[0].to_string() } else { format!("{{worker:{}}}", files.join("|")) }
        };
        let targets: Vec<usize> = (0..per_thread).map(|place| self.target(&of_place(place), reads)).collect();
        let mut pattern = self.pattern(reads, self.onward());
        pattern.span.length = Extent::Bytes(test.bytes);
        pattern.files = FileOrder::InTurn;
        self.shared_job(name, reads, targets, Workload::Pattern(Box::new(pattern)))
    }

    /// A thread whose range goes over the ends of files, or ends with a part of a block.
    fn scripted(&mut self, reads: bool, pieces: &[Piece], name: &str) -> Job {
        let test = self.test;
        let verb = if reads { Verb::Read } else { Verb::Write };
        let (mut targets, mut steps) = (Vec::new(), Vec::new());
        for piece in pieces {
            let path = test.paths[piece.file as usize].clone();
            targets.push(self.target(&path, reads));
            let (start, end) = (piece.first * test.block, (piece.first + piece.blocks) * test.block);
            let (whole, rest) = match end > test.bytes {
                true => (piece.blocks - 1, test.bytes - (end - test.block)),
                false => (piece.blocks, 0),
            };
            let index = targets.len() - 1;
            let step = |bytes, offset, repeat| {
                let mut operation =
                    Operation { offset, size: Size::Fixed(bytes), ..Operation::on(verb, index) };
                operation.background = test.settings.count("iodepth") > 1;
                Step { repeat, ..operation.step(verb.name()) }
            };
            if whole > 0 {
                steps.push(step(test.block, Offset::NextFrom(start), whole));
            }
            if rest > 0 {
                steps.push(step(rest, Offset::At(end - test.block), 1));
            }
        }
        let mut job =
            self.shared_job(name, reads, targets, Workload::Script(Script { steps, ..Script::default() }));
        job.workers = 1;
        job
    }

    /// All threads in all of each file, turn by turn or at random places.
    fn drawn(&mut self, reads: bool, threads: Range<u64>, name: &str) -> Job {
        let test = self.test;
        let all = test.all_threads();
        let count = threads.end - threads.start;
        let targets: Vec<usize> = test.paths.clone().iter().map(|path| self.target(path, reads)).collect();
        let share = test.amount / all.max(1);
        let strided = test.flag("strided");
        let covers =
            !reads && test.flag("rand") && !test.flag("norandalign") && !test.settings.is_given("randalgo");
        // Of files that are written once, every block is dealt to one of the threads.
        let of_file = test.bytes / all.max(1);
        let is_whole = test.amount == test.bytes.saturating_mul(test.paths.len() as u64) && count == all;
        let deals = covers && is_whole && of_file.is_multiple_of(test.block) && test.bytes == of_file * all;
        let pick = match () {
            () if strided => {
                Pick::Segmented { block_bytes: test.block, count: 0, stride_bytes: 0, shuffled: false }
            }
            () if deals => {
                Pick::Segmented { block_bytes: of_file, count: 1, stride_bytes: 0, shuffled: true }
            }
            () => Pick::Uniform,
        };
        let mut pattern = self.pattern(reads, pick);
        pattern.span.length = Extent::Bytes(test.bytes);
        pattern.coverage = if covers || strided { Coverage::Once } else { Coverage::Repeating };
        if test.flag("norandalign") {
            pattern.align_bytes = PerDirection::same(1);
        }
        pattern.files = FileOrder::RoundRobin { operations: 1 };
        let mut job = self.shared_job(name, reads, targets, Workload::Pattern(Box::new(pattern)));
        self.on_ranks(&mut job, &threads);
        if !deals && !strided {
            job.limit.passes = None;
            // So much of each thread, again and again where that is wanted.
            job.limit.bytes = (!test.flag("infloop")).then_some(share.max(1));
            if test.flag("infloop") {
                job.limit.passes = Some(1 << 40);
            }
        }
        job
    }

    /// Each thread removes all files: of several one finds each.
    fn deletion(&mut self) {
        let test = self.test;
        let (mut targets, mut steps) = (Vec::new(), Vec::new());
        for path in &test.paths {
            let (above, name) = names::parts(path);
            let root = if above.is_empty() { ".".into() } else { above };
            let items = Items { name, size: Size::Fixed(0), ..Items::default() };
            let target = Target {
                kind: TargetKind::FileSet { root: root.clone(), items },
                name: path.clone(),
                ..folder(&root)
            };
            targets.push(index_of(&mut self.plan.targets, target));
            let operation =
                Operation { item: Item::Index(0), ..Operation::on(Verb::Unlink, targets.len() - 1) };
            steps.push(with(operation, "missing", "done").step(ENTRY));
        }
        let entries = test.paths.len() as u64 * test.all_threads();
        let job = self.job("threads", targets, Workload::Script(Script { steps, ..Script::default() }));
        self.phase(PhaseRole::DeleteFiles, "RMFILES", vec![job], entries, 0);
    }
}

/// Threads grouped where each has one piece: neighbours in one file that are as long become one job; none where a thread has
/// several.
fn neighbours(first: u64, each: &[Vec<Piece>]) -> Option<Vec<Neighbours>> {
    let mut groups: Vec<Neighbours> = Vec::new();
    for (thread, pieces) in (first..).zip(each) {
        let piece = match pieces.as_slice() {
            [] => continue,
            [piece] => *piece,
            _ => return None,
        };
        let follows = |group: &&mut Neighbours| {
            let count = group.threads.end - group.threads.start;
            group.threads.end == thread
                && group.piece.file == piece.file
                && group.piece.blocks == piece.blocks
                && piece.first == group.piece.first + count * piece.blocks
        };
        match groups.last_mut().filter(follows) {
            Some(group) => group.threads.end += 1,
            None => groups.push(Neighbours { threads: thread..thread + 1, piece }),
        }
    }
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(threads: u32, files: usize, bytes: u64, block: u64) -> ElbenchoTest {
        let paths = (0..files).map(|file| format!("f{file}")).collect();
        ElbenchoTest {
            threads,
            hosts: 1,
            paths,
            bytes,
            block,
            kind: BenchmarkPaths::Files,
            ..ElbenchoTest::default()
        }
    }

    #[test]
    fn ranges_cover_all_blocks_once() {
        for (threads, files, bytes, block) in
            [(2, 1, 8, 1), (3, 1, 8, 1), (2, 3, 5, 2), (5, 2, 7, 2), (4, 1, 2, 1), (3, 9, 4, 1)]
        {
            let test = test(threads, files, bytes, block);
            let mut found: Vec<(u64, u64)> = Vec::new();
            for thread in 0..u64::from(threads) {
                let blocks = |piece: &Piece| {
                    (piece.first..piece.first + piece.blocks).map(|at| (piece.file, at)).collect::<Vec<_>>()
                };
                found.extend(pieces(&test, thread).iter().flat_map(blocks));
            }
            let per_file = bytes.div_ceil(block);
            let wanted: Vec<(u64, u64)> =
                (0..files as u64).flat_map(|file| (0..per_file).map(move |at| (file, at))).collect();
            assert_eq!(found, wanted, "{threads} {files} {bytes} {block}");
        }
    }

    #[test]
    fn the_last_thread_has_what_is_left() {
        let counts = |threads: u32, bytes: u64| -> Vec<u64> {
            let test = test(threads, 1, bytes, 1);
            (0..threads.into())
                .map(|thread| pieces(&test, thread).iter().map(|piece| piece.blocks).sum())
                .collect()
        };
        assert_eq!((counts(3, 8), counts(4, 2)), (vec![2, 2, 4], vec![0, 0, 0, 2]));
    }
}
