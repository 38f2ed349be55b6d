//! Checkpoints that are written behind training which goes on: of each process one worker that trains and one that writes.
//!
//! A process trains (a sleep), waits until the checkpoint before is written, copies its state (a sleep as long as the copy
//! takes) and trains on, while the other worker writes the copy. Refuses to know how fast the copy is.

use super::CheckpointFile;
use super::transfer::CheckpointTransfer;
use crate::plan::{Job, Phase};
use crate::record::PhaseRecord;
use crate::target::Target;
use crate::verb::Verb;
use crate::workload::{Action, Operation, Script, SharedKind, SharedObject, SharedUse, Step, Workload};

/// The phase's name.
pub const BEHIND: &str = "behind training";

/// Labels, before the number of a checkpoint: waiting for the one before, copying, and writing the copy.
const WAIT: &str = "wait";
const COPY: &str = "copy";
const SAVE: &str = "save";

/// Checkpoints behind training.
#[derive(Clone, Debug)]
pub struct CheckpointsBehind<'a> {
    pub transfer: &'a CheckpointTransfer,
    /// Of each checkpoint.
    pub folders: Vec<String>,
    /// Training before each checkpoint, and the copy of its state, ns.
    pub interval_ns: u64,
    pub copy_ns: u64,
}

impl CheckpointsBehind<'_> {
    /// Those of all checkpoints, one after the other.
    pub fn targets(&self) -> Vec<Target> {
        let of = |folder: &String| {
            CheckpointTransfer { folder: folder.clone(), ..self.transfer.clone() }.targets()
        };
        self.folders.iter().flat_map(of).collect()
    }

    pub fn phase(&self) -> Phase {
        let mut phase = Phase { name: BEHIND.into(), ..Phase::default() };
        let ranges = self.transfer.ranges();
        let each = ranges.last().map_or(0, |range| range.end);
        for (process, files) in self.transfer.ranks.iter().enumerate().filter(|(_, files)| !files.is_empty())
        {
            for (name, initial) in [(copied(process), 0), (written(process), 1)] {
                let kind = SharedKind::Lanes { count: 1, initial };
                phase.shared.push(SharedObject { each_rank: true, ..SharedObject::new(&name, kind) });
            }
            let range = &ranges[process];
            let targets: Vec<usize> = (0..self.folders.len())
                .flat_map(|number| range.clone().map(move |target| number * each + target))
                .collect();
            let job = |name: &str, steps: Vec<Step>| {
                let workload = Workload::Script(Script { steps, ..Script::default() });
                let mut job =
                    Job::new(&format!("{name} {process}"), &self.transfer.engine, targets.clone(), workload);
                job.limit.passes = Some(1);
                job.settings.clone_from(&self.transfer.settings);
                job.ranks = self.transfer.on(process);
                job
            };
            phase.jobs.push(job("rank", self.writer(process, files, range.len())));
            phase.jobs.push(job("training", self.trainer(process)));
        }
        phase
    }

    fn writer(&self, process: usize, files: &[CheckpointFile], targets: usize) -> Vec<Step> {
        let checkpoint = |number: usize| {
            let steps = self.transfer.steps(files, number * targets, true);
            let save = Step {
                action: Action::Block(steps),
                ..Operation::control(Verb::Wait).step(&label(SAVE, number))
            };
            [
                lane(Verb::Wait, &copied(process), "copied"),
                save,
                lane(Verb::Post, &written(process), "written"),
            ]
        };
        (0..self.folders.len()).flat_map(checkpoint).collect()
    }

    fn trainer(&self, process: usize) -> Vec<Step> {
        let think =
            |ns: u64, label: &str| Operation { time_ns: ns, ..Operation::control(Verb::Think) }.step(label);
        let checkpoint = |number: usize| {
            [
                think(self.interval_ns, "train"),
                lane(Verb::Wait, &written(process), &label(WAIT, number)),
                think(self.copy_ns, &label(COPY, number)),
                lane(Verb::Post, &copied(process), "go on"),
            ]
        };
        (0..self.folders.len()).flat_map(checkpoint).collect()
    }
}

fn copied(process: usize) -> String {
    format!("copied {process}")
}

fn written(process: usize) -> String {
    format!("written {process}")
}

fn label(what: &str, number: usize) -> String {
    format!("{what} {}", number + 1)
}

fn lane(verb: Verb, name: &str, label: &str) -> Step {
    Operation { shared: Some(SharedUse::new(name, 1)), ..Operation::control(verb) }.step(label)
}

/// What a checkpoint behind training came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BehindRecord {
    /// Of the process that stopped longest: waiting for the checkpoint before, and copying, ns.
    pub wait_ns: u64,
    pub copy_ns: u64,
    /// Of the process whose files took longest to write, ns; and which that is.
    pub save_ns: u64,
    pub late_rank: u32,
    /// Where that one was.
    pub late_on: u32,
}

impl BehindRecord {
    /// Each checkpoint of a phase, in their order.
    pub fn all(phase: &PhaseRecord, checkpoints: usize) -> Vec<BehindRecord> {
        (0..checkpoints).map(|number| Self::of(phase, number)).collect()
    }

    fn of(phase: &PhaseRecord, number: usize) -> BehindRecord {
        let mut of = BehindRecord::default();
        for job in &phase.jobs {
            let ns = |what: &str| {
                let label = label(what, number);
                let lines = job.tally.lines.iter().filter(|line| line.label == label);
                lines.map(|line| u64::try_from(line.latency.sum).unwrap_or(u64::MAX)).sum::<u64>()
            };
            let (wait, copy, save) = (ns(WAIT), ns(COPY), ns(SAVE));
            if wait + copy > of.stop_ns() {
                (of.wait_ns, of.copy_ns) = (wait, copy);
            }
            if save > of.save_ns {
                let process = job.name.rsplit(' ').next().and_then(|process| process.parse().ok());
                (of.save_ns, of.late_rank) = (save, process.unwrap_or(0));
                of.late_on = job.workers.first().map_or(0, |worker| worker.rank);
            }
        }
        of
    }

    /// How long training stopped.
    pub fn stop_ns(&self) -> u64 {
        self.wait_ns + self.copy_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::transfer::CheckpointMedium;
    use crate::record::JobRecord;
    use crate::tally::{Line, Tally};

    #[test]
    fn one_worker_trains_and_one_writes_what_was_copied() {
        let file = |name: &str| CheckpointFile { name: name.into(), bytes: 8 };
        let transfer = CheckpointTransfer {
            ranks: vec![vec![file("a"), file("b")], Vec::new(), vec![file("c")]],
            medium: CheckpointMedium::Files,
            engine: "psync".into(),
            transfer_bytes: 8,
            ..CheckpointTransfer::default()
        };
        let folders = vec!["/1".to_string(), "/2".to_string()];
        let behind = CheckpointsBehind { transfer: &transfer, folders, interval_ns: 5, copy_ns: 1 };
        let phase = behind.phase();
        let names: Vec<&str> = phase.jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["rank 0", "training 0", "rank 2", "training 2"]);
        assert_eq!((behind.targets().len(), phase.shared.len()), (6, 4));
        assert_eq!(
            [&phase.jobs[0], &phase.jobs[2]].map(|job| job.targets.clone()),
            [vec![0, 1, 3, 4], vec![2, 5]]
        );
        let labels = |job: &Job| {
            let Workload::Script(script) = &job.workload else { panic!("a script") };
            script.steps.iter().map(|step| step.label.clone()).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(labels(&phase.jobs[0]), "copied, save 1, written, copied, save 2, written");
        assert_eq!(labels(&phase.jobs[1]), "train, wait 1, copy 1, go on, train, wait 2, copy 2, go on");
        let Workload::Script(script) = &phase.jobs[2].workload else { panic!("a script") };
        let Action::Block(steps) = &script.steps[4].action else { panic!("a block") };
        let Action::Do(create) = &steps[0].action else { panic!("an operation") };
        assert_eq!(create.target, Some(1), "the second checkpoint's file");
    }

    #[test]
    fn the_longest_stop_and_the_longest_save_count() {
        let job = |name: &str, lines: &[(&str, u64)]| {
            let line = |(label, ns): &(&str, u64)| {
                let mut line = Line::empty(label, Verb::Wait);
                line.latency.add(*ns);
                line
            };
            let tally = Tally { lines: lines.iter().map(line).collect(), ..Tally::default() };
            JobRecord { name: name.into(), tally, ..JobRecord::default() }
        };
        let jobs = vec![
            job("rank 0", &[("save 1", 70), ("save 2", 20)]),
            job("training 0", &[("wait 1", 0), ("copy 1", 10), ("wait 2", 30), ("copy 2", 10)]),
            job("rank 1", &[("save 1", 50), ("save 2", 60)]),
            job("training 1", &[("wait 1", 0), ("copy 1", 12), ("wait 2", 5), ("copy 2", 12)]),
        ];
        let phase = PhaseRecord { jobs, ..PhaseRecord::default() };
        let all = BehindRecord::all(&phase, 2);
        assert_eq!(all[0], BehindRecord { copy_ns: 12, save_ns: 70, ..BehindRecord::default() });
        assert_eq!(all[1], BehindRecord { wait_ns: 30, copy_ns: 10, save_ns: 60, late_rank: 1, late_on: 0 });
    }
}
