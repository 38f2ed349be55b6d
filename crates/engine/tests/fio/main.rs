//! Verified files beside fio itself, both ways: what fio wrote we check, what we wrote fio checks, and what is planted
//! in between both find.
//!
//! The fio that is installed, and a newer one as `cargo xtask newer` fetches it, whose headers have a version; not here:
//! counted skips. No time is asserted.

use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_engine::{Options, run};
use iodyno_model::tally::ILLEGAL_CONTENT;
use iodyno_model::{
    Checksum, Coverage, Depth, ErrorPolicy, Every, Extent, HeaderStamp, Job, Kind, Mismatch, Open, Pattern,
    Phase, Pick, Plan, Prepare, Record, Size, Stamp, Target, TargetKind, Template, Verb, Verify,
    VerifyLayout, VerifyPolicy, VerifyState, VerifyWhen, Workload, Wrong,
};
use testbed::{Case, Need, Outcome, Skip};

mod both;
mod ours;

const BLOCK: u64 = 4096;
const BYTES: u64 = 16 * BLOCK;

/// Which fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Original {
    Installed,
    Newer,
}

impl Original {
    fn program(self) -> PathBuf {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        match self {
            Original::Installed => "fio".into(),
            Original::Newer => scratch.parent().unwrap_or(scratch).join("newer/fio"),
        }
    }

    /// The layout that it writes, by its version; none where it does not run.
    fn layout(self) -> Option<VerifyLayout> {
        let output = Command::new(self.program()).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let minor = said.strip_prefix("fio-3.")?.chars().take_while(char::is_ascii_digit).collect::<String>();
        let versioned = minor.parse::<u32>().ok()? >= 41;
        Some(if versioned { VerifyLayout::Versioned } else { VerifyLayout::Unversioned })
    }

    fn needs(self) -> &'static [Need] {
        match self {
            Original::Installed => &[Need::Tool("fio")],
            Original::Newer => &[Need::That(newer_runs)],
        }
    }
}

fn newer_runs() -> Result<(), Skip> {
    match Original::Newer.layout() {
        Some(VerifyLayout::Versioned) => Ok(()),
        Some(VerifyLayout::Unversioned) => Err(Skip::new("the newer fio is older than 3.41")),
        None => Err(Skip::new("no newer fio here: `cargo xtask newer` fetches one")),
    }
}

/// A folder, a file in it, and both programs at work on it.
struct Bench {
    fio: Original,
    layout: VerifyLayout,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        Bench { fio: Original::Installed, layout: VerifyLayout::default(), folder }
    }

    /// Beside a fio, in whose layout we write.
    fn of(fio: Original) -> Self {
        Bench { fio, layout: fio.layout().expect("it runs"), ..Bench::new() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs fio on the file: whether it succeeded, and all it said.
    fn fio(&self, options: &[&str]) -> (bool, String) {
        let mut fio = Command::new(self.fio.program());
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
    fn ours(&self, mut job: Job) -> Record {
        job.payload.verify.iter_mut().for_each(|verify| verify.layout = self.layout);
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
    let both = [Original::Installed, Original::Newer].into_iter().flat_map(|fio| {
        both::cases(fio).into_iter().map(case(fio.needs())).map(|case| case.against().waits())
    });
    let ours = ours::cases().into_iter().map(case(&[]));
    testbed::run(both.chain(ours).collect())
}
