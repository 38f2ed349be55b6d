//! Verified files beside fio itself, both ways: what fio wrote we check, what we wrote fio checks, and what is planted
//! in between both find.
//!
//! fio 3.33 and later; not installed: counted skips. No time is asserted.

use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_engine::{Options, run};
use iodyno_model::tally::ILLEGAL_CONTENT;
use iodyno_model::{
    Checksum, Coverage, Depth, ErrorPolicy, Extent, HeaderStamp, Job, Kind, Mismatch, Open, Pattern, Phase,
    Pick, Plan, Prepare, Record, Size, Stamp, Target, TargetKind, Template, Verb, Verify, VerifyState,
    VerifyWhen, Workload, Wrong,
};
use testbed::{Case, Need, Outcome};

mod both;
mod ours;

const BLOCK: u64 = 4096;
const BYTES: u64 = 16 * BLOCK;

/// A folder, a file in it, and both programs at work on it.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Bench { folder: tempfile::tempdir().expect("a temporary directory") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs fio on the file: whether it succeeded, and all it said.
    fn fio(&self, options: &[&str]) -> (bool, String) {
        let mut fio = Command::new("fio");
        fio.current_dir(self.folder.path());
        fio.args(["--name=j", &format!("--filename={}", self.path().display()), &format!("--size={BYTES}")]);
        if !options.iter().any(|option| option.starts_with("--bs")) {
            fio.arg(format!("--bs={BLOCK}"));
        }
        let output = fio.args(options).output().expect("fio runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    /// Runs one of our jobs on the file.
    fn ours(&self, job: Job) -> Record {
        ours_at(&self.path(), job)
    }

    /// Changes bytes of the file.
    fn plant(&self, at: usize, change: impl FnOnce(&mut [u8])) {
        let mut bytes = std::fs::read(self.path()).expect("the file is there");
        change(&mut bytes[at..]);
        std::fs::write(self.path(), bytes).expect("the file is written");
    }
}

fn ours_at(path: &Path, job: Job) -> Record {
    let target = Target {
        name: "data".into(),
        kind: TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(BYTES) },
        open: Open { create: true, ..Open::default() },
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    };
    let phase = Phase { name: "phase".into(), jobs: vec![job], ..Phase::default() };
    let plan = Plan { seed: 1, targets: vec![target], phases: vec![phase], ..Plan::default() };
    run(&plan, &Options::default(), &mut |_| {}).expect("the plan is right")
}

fn job(pattern: Pattern, verify: Verify) -> Job {
    let mut job = Job::new("j", "psync", vec![0], Workload::Pattern(Box::new(pattern)));
    job.payload.verify = Some(verify);
    job.errors = ErrorPolicy::Continue;
    job
}

fn header(checksum: Checksum) -> Verify {
    Verify { stamp: Stamp::Header(HeaderStamp::new(checksum)), ..Verify::default() }
}

fn writing(verb: Verb, pick: Pick) -> Pattern {
    Pattern::of(verb, pick, BLOCK)
}

/// The facts of the first worker, and how many operations failed.
fn facts(record: &Record) -> (Vec<Mismatch>, u64) {
    let job = &record.phases[0].jobs[0];
    (job.workers[0].mismatches.clone(), job.tally.failed())
}

fn expect(right: bool, what: impl Into<String>) -> Outcome {
    if right { Ok(()) } else { Err(what.into().into()) }
}

fn clean(record: &Record) -> Outcome {
    let (mismatches, failed) = facts(record);
    expect(
        mismatches.is_empty() && failed == 0 && record.errors.is_empty(),
        format!("{failed} failed: {mismatches:?} {:?}", record.errors),
    )
}

type Body = Box<dyn FnOnce() -> Outcome + Send>;

fn main() -> std::process::ExitCode {
    let case = |needs: &'static [Need]| move |(name, body): (String, Body)| Case::new(name, needs, body);
    let both = both::cases().into_iter().map(case(&[Need::Tool("fio")])).map(|case| case.against().waits());
    let ours = ours::cases().into_iter().map(case(&[]));
    testbed::run(both.chain(ours).collect())
}
