//! The phases that save a checkpoint and restore it: a job for each process, which writes or reads its files one after the other.
//!
//! As PyTorch does: a file is created, written from its beginning to its end, made durable and closed, then comes the next; a
//! restore opens, reads and closes. It refuses to know where the files lie: that is a directory, a bucket, or nothing at all.

use std::ops::Range;

use super::CheckpointFile;
use crate::origin::Origin;
use crate::pattern::{ItemData, Size};
use crate::plan::{Job, Phase, Ranks};
use crate::record::PhaseRecord;
use crate::setting::Setting;
use crate::target::{Items, Open, Prepare, Target, TargetKind};
use crate::verb::Verb;
use crate::workload::{Item, Offset, Operation, Script, Step, Transfer, Workload};

/// The phases' names.
pub const SAVE: &str = "save";
pub const RESTORE: &str = "restore";

/// Where a checkpoint lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckpointMedium {
    #[default]
    Files,
    /// Each file is an object, which is written and read whole.
    Objects,
    /// A device that holds the processes' bytes one behind the other.
    Device,
}

/// A checkpoint, and how it is moved.
#[derive(Clone, Debug, Default)]
pub struct CheckpointTransfer {
    /// What each process writes.
    pub ranks: Vec<Vec<CheckpointFile>>,
    pub medium: CheckpointMedium,
    /// The folder, or the address of a prefix.
    pub folder: String,
    pub engine: String,
    pub settings: Vec<Setting>,
    /// The largest write and read of a file.
    pub transfer_bytes: u64,
    /// Whether each file is durable before the next one is begun.
    pub fsync: bool,
    /// A process restores what the one so many further saved.
    pub shift: u32,
    /// Whether the files stay when the plan ends.
    pub is_kept: bool,
    /// Ranks of this program that the processes are divided over, successive ones to each; 0: there is but one.
    pub spread: u32,
    pub origin: Origin,
}

impl CheckpointTransfer {
    pub fn bytes(&self) -> u64 {
        self.ranks.iter().flatten().map(|file| file.bytes).sum()
    }

    /// A target for each file. On a device for each process.
    pub fn targets(&self) -> Vec<Target> {
        let of_rank = |files: &Vec<CheckpointFile>| match self.medium {
            CheckpointMedium::Device => vec![self.target(&CheckpointFile {
                name: String::new(),
                bytes: files.iter().map(|file| file.bytes).sum(),
            })],
            _ => files.iter().map(|file| self.target(file)).collect(),
        };
        self.ranks.iter().flat_map(of_rank).collect()
    }

    fn target(&self, file: &CheckpointFile) -> Target {
        let items =
            Items { count: 1, name: file.name.clone(), size: Size::Fixed(file.bytes), ..Items::default() };
        let kind = match self.medium {
            CheckpointMedium::Files => TargetKind::FileSet { root: self.folder.clone(), items },
            CheckpointMedium::Objects => TargetKind::Bucket { url: self.folder.clone(), items },
            CheckpointMedium::Device => TargetKind::Nothing { bytes: file.bytes },
        };
        let open = match self.medium {
            CheckpointMedium::Files => Open { parents: true, invalidate: true, ..Open::default() },
            _ => Open::default(),
        };
        let is_real = self.medium != CheckpointMedium::Device;
        Target {
            name: if file.name.is_empty() { "state".into() } else { file.name.clone() },
            kind,
            open,
            prepare: Prepare::AsItIs,
            remove: is_real && !self.is_kept,
            origin: self.origin.clone(),
        }
    }

    /// The rank of this program that does what a process does.
    pub fn rank_of(&self, process: u32) -> u32 {
        let count = self.ranks.len().max(1) as u64;
        (u64::from(process) * u64::from(self.spread.max(1)) / count) as u32
    }

    /// Where the jobs of a process run.
    pub(super) fn on(&self, process: usize) -> Ranks {
        if self.spread > 1 { Ranks::Only(self.rank_of(process as u32)) } else { Ranks::All }
    }

    /// The targets of each process.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        let mut first = 0;
        let mut range = |files: &Vec<CheckpointFile>| {
            let count = if self.medium == CheckpointMedium::Device { 1 } else { files.len() };
            first += count;
            first - count..first
        };
        self.ranks.iter().map(&mut range).collect()
    }

    /// Every process writes its files.
    pub fn save(&self) -> Phase {
        self.phase(SAVE, 0, |files| self.steps(files, 0, true))
    }

    /// Every process reads its files, or those of another one.
    pub fn restore(&self) -> Phase {
        self.phase(RESTORE, self.shift as usize, |files| self.steps(files, 0, false))
    }

    fn phase(&self, name: &str, shift: usize, steps: impl Fn(&[CheckpointFile]) -> Vec<Step>) -> Phase {
        let (ranges, count) = (self.ranges(), self.ranks.len().max(1));
        let job = |rank: usize| {
            let of = (rank + shift) % count;
            let (files, range) = (&self.ranks[of], ranges[of].clone());
            let script = Script { steps: steps(files), ..Script::default() };
            let name = format!("rank {rank}");
            let mut job = Job::new(&name, &self.engine, range.collect(), Workload::Script(script));
            job.limit.passes = Some(1);
            job.settings.clone_from(&self.settings);
            job.ranks = self.on(rank);
            job
        };
        let ranks = (0..self.ranks.len()).filter(|rank| !self.ranks[(rank + shift) % count].is_empty());
        Phase { name: name.into(), jobs: ranks.map(job).collect(), ..Phase::default() }
    }

    /// Moves all files of a process, whose targets are a job's from `first` on.
    pub(super) fn steps(&self, files: &[CheckpointFile], first: usize, saves: bool) -> Vec<Step> {
        let file = |(number, file): (usize, &CheckpointFile)| match self.medium {
            CheckpointMedium::Files => self.file(first + number, file.bytes, saves),
            CheckpointMedium::Objects => vec![object(first + number, file.bytes, saves)],
            CheckpointMedium::Device => self.transfers(Operation::on(verb(saves), first), file.bytes),
        };
        let mut steps: Vec<Step> = files.iter().enumerate().flat_map(file).collect();
        if saves && self.fsync && self.medium == CheckpointMedium::Device {
            steps.push(Operation::on(Verb::Fsync, first).step("fsync"));
        }
        steps
    }

    fn file(&self, number: usize, bytes: u64, saves: bool) -> Vec<Step> {
        let on = |verb| Operation { handle: Some(0), ..Operation::on(verb, number) };
        let open = if saves { Verb::Create } else { Verb::Open };
        let mut steps =
            vec![Operation { item: Item::Index(0), ..on(open) }.step(if saves { "create" } else { "open" })];
        steps.extend(self.transfers(on(verb(saves)), bytes));
        steps.extend((saves && self.fsync).then(|| on(Verb::Fsync).step("fsync")));
        steps.push(on(Verb::Close).step("close"));
        steps
    }

    /// So many bytes in transfers, from where the last one ended.
    fn transfers(&self, operation: Operation, bytes: u64) -> Vec<Step> {
        let transfer = self.transfer_bytes.max(1);
        let label = operation.verb.name();
        let move_ = |bytes: u64, repeat: u64| {
            let (size, transfer) = (Size::Fixed(bytes), Transfer { full: true, ..Transfer::default() });
            let operation = Operation { size, transfer, offset: Offset::Next, ..operation.clone() };
            Step { repeat, ..operation.step(label) }
        };
        let (whole, rest) = (bytes / transfer, bytes % transfer);
        let whole = (whole > 0).then(|| move_(transfer, whole));
        whole.into_iter().chain((rest > 0).then(|| move_(rest, 1))).collect()
    }
}

fn verb(saves: bool) -> Verb {
    if saves { Verb::Write } else { Verb::Read }
}

fn object(number: usize, bytes: u64, saves: bool) -> Step {
    let verb = if saves { Verb::Create } else { Verb::Open };
    let (item, item_data) = (Item::Index(0), Some(ItemData::default()));
    Operation { item, item_data, size: Size::Fixed(bytes), ..Operation::on(verb, number) }.step(verb.name())
}

/// What a phase of a checkpoint came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CheckpointRecord {
    /// From the start line to the end of the process that took longest, ns; and which that is.
    pub longest_ns: u64,
    pub late_rank: u32,
    /// The rank of this program that it was on.
    pub late_on: u32,
    /// Of the one that was ready first, ns.
    pub shortest_ns: u64,
    /// Bytes of all processes.
    pub bytes: u64,
}

impl CheckpointRecord {
    /// Of a phase that saved or restored; none: no process ran.
    pub fn of(phase: &PhaseRecord) -> Option<CheckpointRecord> {
        let rank = |name: &str| name.strip_prefix("rank ").and_then(|rank| rank.parse().ok());
        let ended = phase.jobs.iter().flat_map(|job| job.workers.iter().map(move |worker| (job, worker)));
        let all: Vec<(u32, u64, u64, u32)> = ended
            .filter_map(|(job, worker)| Some((rank(&job.name)?, worker.ended_ns, worker.bytes, worker.rank)))
            .collect();
        let late = all.iter().max_by_key(|one| one.1)?;
        Some(CheckpointRecord {
            longest_ns: late.1,
            late_rank: late.0,
            late_on: late.3,
            shortest_ns: all.iter().map(|one| one.1).min().unwrap_or(0),
            bytes: all.iter().map(|one| one.2).sum(),
        })
    }

    /// Bytes of all processes over the longest time, per second.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / (self.longest_ns.max(1) as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(medium: CheckpointMedium) -> CheckpointTransfer {
        let file = |name: &str, bytes| CheckpointFile { name: name.into(), bytes };
        CheckpointTransfer {
            ranks: vec![vec![file("a", 10), file("b", 4)], vec![file("c", 12)]],
            medium,
            folder: "/there".into(),
            engine: "psync".into(),
            transfer_bytes: 4,
            fsync: true,
            shift: 1,
            ..CheckpointTransfer::default()
        }
    }

    /// Labels with their repetitions.
    fn steps(phase: &Phase, job: usize) -> Vec<(String, u64)> {
        let Workload::Script(script) = &phase.jobs[job].workload else { panic!("a script") };
        script.steps.iter().map(|step| (step.label.clone(), step.repeat)).collect()
    }

    #[test]
    fn a_process_writes_its_files_one_after_the_other() {
        let transfer = transfer(CheckpointMedium::Files);
        let save = transfer.save();
        let expected = "create 1 write 2 write 1 fsync 1 close 1 create 1 write 1 fsync 1 close 1";
        let told: Vec<String> =
            steps(&save, 0).iter().map(|(label, repeat)| format!("{label} {repeat}")).collect();
        assert_eq!(told.join(" "), expected);
        assert_eq!((save.jobs[0].targets.clone(), save.jobs[1].targets.clone()), (vec![0, 1], vec![2]));
        assert_eq!((transfer.targets().len(), transfer.bytes()), (3, 26));
        let restore = transfer.restore();
        assert_eq!(restore.jobs[0].targets, [2], "shifted");
        assert_eq!(steps(&restore, 0)[1], ("read".into(), 3));
    }

    #[test]
    fn successive_processes_are_on_the_same_rank() {
        let spread =
            CheckpointTransfer { spread: 2, ranks: vec![Vec::new(); 5], ..CheckpointTransfer::default() };
        assert_eq!((0..5).map(|process| spread.rank_of(process)).collect::<Vec<_>>(), [0, 0, 0, 1, 1]);
        let two = CheckpointTransfer { spread: 2, ..transfer(CheckpointMedium::Files) };
        let ranks = |phase: Phase| phase.jobs.iter().map(|job| job.ranks).collect::<Vec<_>>();
        assert_eq!(ranks(two.restore()), [Ranks::Only(0), Ranks::Only(1)], "what another rank saved");
        assert_eq!(ranks(transfer(CheckpointMedium::Files).save()), [Ranks::All, Ranks::All]);
    }

    #[test]
    fn objects_are_moved_whole_and_a_device_has_a_place_for_each_process() {
        let objects = transfer(CheckpointMedium::Objects);
        assert_eq!(steps(&objects.save(), 0), [("create".into(), 1), ("create".into(), 1)]);
        let device = transfer(CheckpointMedium::Device);
        assert_eq!(device.targets().len(), 2);
        assert_eq!(device.save().jobs[1].targets, [1]);
        assert_eq!(steps(&device.save(), 1), [("write".into(), 3), ("fsync".into(), 1)]);
        assert!(device.targets().iter().all(|target| !target.remove));
    }
}
