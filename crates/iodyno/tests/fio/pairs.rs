//! Each job file of `jobs/` with both programs: the cases of `cargo xtask against fio`.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use testbed::{Case, Need, Outcome, Skip};

use crate::compare::{self, Run};
use crate::differences::{Known, Mismatch};
use crate::job::{self, Holds, JobFile};
use crate::program::{Fio, ProgramOutput, Sandbox};

/// A command line to hold against the original, without a job file of `jobs/`.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The case's name.
    pub name: String,
    /// Its arguments; `${DEV}` and `${DEV2}` are loop devices.
    pub arguments: Vec<String>,
    /// Files that lie in the directory when it starts.
    pub files: Vec<(String, Vec<u8>)>,
    /// What must hold beyond the usual.
    pub holds: Vec<Holds>,
    /// How many loop devices it needs.
    pub devices: usize,
    /// How long each of its jobs lasts at least, ms; 0: whatever.
    pub least_ms: u64,
}

impl Line {
    pub fn case(self) -> Case {
        let needs: &[Need] = if self.devices > 0 { &[Need::Loop] } else { &[] };
        Case::new(self.name.clone(), needs, move || self.hold()).against()
    }

    fn hold(&self) -> Outcome {
        let (reference, candidate) = (Fio::reference()?, Fio::candidate()?);
        let known = Known::read();
        let there = original(|| self.sandbox(), |theirs| self.perform(&reference, theirs));
        let (theirs, there) = match there {
            Ok(done) => done,
            Err(Trouble::Lacking(skip)) => return Err(skip.into()),
            Err(Trouble::Broken(said)) => return Err(said.into()),
        };
        let ours = self.sandbox()?;
        let job = JobFile { holds: self.holds.clone(), least_ms: self.least_ms, ..JobFile::default() };
        let mismatches = match self.perform(&candidate, &ours) {
            Ok(here) => {
                let runs = (Run { said: &there, sandbox: &theirs }, Run { said: &here, sandbox: &ours });
                compare::compare(&job, &runs.0, &runs.1)
            }
            Err(said) => vec![Mismatch::new("run", said)],
        };
        let (left, _) = known.forgive(&self.name, mismatches);
        end(&known, &self.name, &left)
    }

    fn sandbox(&self) -> Result<Sandbox, Skip> {
        let sandbox = Sandbox::new().with_devices(self.devices, DEVICE_BYTES)?;
        self.files.iter().for_each(|(name, bytes)| sandbox.put(name, bytes));
        Ok(sandbox)
    }

    fn perform(&self, fio: &Fio, sandbox: &Sandbox) -> Result<ProgramOutput, String> {
        let mut said = fio.run(sandbox, self.arguments.iter().map(|word| sandbox.resolve(word)))?;
        anonymous(&mut said, sandbox).map_err(|error| format!("an iolog: {error}"))?;
        Ok(said)
    }
}

/// A device is as large as the largest file of a job.
const DEVICE_BYTES: u64 = 32 << 20;
/// Everything at once, unless the job file says otherwise.
const FORMATS: &str = "--output-format=normal,terse,json";
/// Names a file that gets a line a job, for the chore to print.
const LINES: &str = "IODYNO_AGAINST_LINES";

/// A case for each job file.
///
/// # Panics
/// When the head of one is wrong.
pub fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fio/jobs");
    let jobs = job::all(&folder).unwrap_or_else(|error| panic!("{error}"));
    jobs.into_iter().map(case).collect()
}

fn case(job: JobFile) -> Case {
    let needs: Vec<Need> = job.needs.iter().filter_map(|need| need_of(need)).collect();
    Case::new(format!("job_{}", job.name), &needs, move || pair(&job)).against()
}

fn need_of(word: &str) -> Option<Need> {
    match word {
        "loop" | "loops" => Some(Need::Loop),
        "root" => Some(Need::Root),
        "io_uring" => Some(Need::IoUring),
        _ => None,
    }
}

/// Runs a job with both, compares, forgives what is known, and says how it went.
fn pair(job: &JobFile) -> Outcome {
    let (reference, candidate) = (Fio::reference()?, Fio::candidate()?);
    let known = Known::read();
    let name = format!("job_{}", job.name);
    let mismatches = match both(job, &reference, &candidate) {
        Ok(done) => done,
        Err(Trouble::Lacking(skip)) => return Err(skip.into()),
        Err(Trouble::Broken(said)) => vec![Mismatch::new("run", said)],
    };
    let (left, forgiven) = known.forgive(&name, mismatches);
    tell(job, &left, forgiven);
    end(&known, &name, &left)
}

/// The outcome of a case: pending ones are skipped while they fail, and fail when they no longer do.
pub fn end(known: &Known, name: &str, left: &[Mismatch]) -> Outcome {
    match (known.pending(name), left.is_empty()) {
        (None, true) => Ok(()),
        (Some(why), false) => Err(Skip::new(format!("pending: {why}")).into()),
        (Some(_), true) => Err(format!("{name} holds now: take it off the pending list").into()),
        (None, false) => {
            let lines: Vec<String> = left.iter().map(Mismatch::to_string).collect();
            Err(lines.join("\n").into())
        }
    }
}

enum Trouble {
    Lacking(Skip),
    Broken(String),
}

impl From<Skip> for Trouble {
    fn from(skip: Skip) -> Trouble {
        Trouble::Lacking(skip)
    }
}

impl From<String> for Trouble {
    fn from(said: String) -> Trouble {
        Trouble::Broken(said)
    }
}

fn both(job: &JobFile, reference: &Fio, candidate: &Fio) -> Result<Vec<Mismatch>, Trouble> {
    let (theirs, there) = original(|| sandbox(job), |theirs| perform(job, reference, theirs))?;
    let ours = sandbox(job)?;
    if (there.code() != 0) != job.ends_badly {
        let said = there.err.lines().chain(there.out.lines()).next().unwrap_or_default().to_string();
        return Err(Trouble::Broken(format!("the reference ends with {}: {said}", there.code())));
    }
    let here = perform(job, candidate, &ours)?;
    let runs = (Run { said: &there, sandbox: &theirs }, Run { said: &here, sandbox: &ours });
    let mut mismatches = compare::compare(job, &runs.0, &runs.1);
    if job.holds(Holds::Cross) {
        mismatches.extend(cross(job, "our data, their check", reference, &ours)?);
        mismatches.extend(cross(job, "their data, our check", candidate, &theirs)?);
    }
    Ok(mismatches)
}

/// The original looks through all block devices of the machine for its own, and says this of one that somebody detaches
/// meanwhile.
const DEVICE_GONE: &str = "stat: No such file or directory\n";

/// What the original did. fio 3.33 itself hangs at times (io_submit_mode=offload, thinktime_spin), and on a busy machine it
/// gives up jobs that have not started within seconds: there is nothing to compare with then.
fn original(
    sandbox: impl Fn() -> Result<Sandbox, Skip>,
    perform: impl Fn(&Sandbox) -> Result<ProgramOutput, String>,
) -> Result<(Sandbox, ProgramOutput), Trouble> {
    let gave_up = |said: &str| said.contains("job startup hung");
    let theirs = sandbox()?;
    match perform(&theirs) {
        Ok(there) if gave_up(&there.err) || gave_up(&there.out) => {
            Err(Skip::new("the original gave up before its jobs had started").into())
        }
        Ok(mut there) => {
            there.err = there.err.replace(DEVICE_GONE, "");
            Ok((theirs, there))
        }
        Err(said) if said.contains("never came") => Err(Skip::new(format!("the original: {said}")).into()),
        Err(said) => Err(said.into()),
    }
}

fn sandbox(job: &JobFile) -> Result<Sandbox, Skip> {
    let count = job.needs.iter().map(|need| match need.as_str() {
        "loop" => 1,
        "loops" => 2,
        _ => 0,
    });
    Sandbox::new().with_devices(count.sum(), DEVICE_BYTES)
}

/// Runs what comes first, spoils what is to be spoilt, then runs the job.
fn perform(job: &JobFile, fio: &Fio, sandbox: &Sandbox) -> Result<ProgramOutput, String> {
    for name in &job.put {
        let bytes =
            std::fs::read(job.path.with_file_name(name)).map_err(|error| format!("{name}: {error}"))?;
        sandbox.put(name, &bytes);
    }
    if let Some(first) = &job.first {
        let path = job.path.with_file_name(first);
        let said = fio.run(sandbox, [path.as_os_str()])?;
        if said.code() != 0 {
            return Err(format!("{first} ends with {}: {}{}", said.code(), said.err, said.out));
        }
    }
    if let Some((name, offset)) = &job.spoil {
        spoil(&sandbox.path().join(name), *offset).map_err(|error| format!("{name}: {error}"))?;
    }
    let formats =
        if job.with.iter().any(|word| word.starts_with("--output-format")) { None } else { Some(FORMATS) };
    let words = formats.into_iter().chain(job.with.iter().map(String::as_str)).map(std::ffi::OsStr::new);
    let mut said = fio.run(sandbox, words.chain([job.path.as_os_str()]))?;
    anonymous(&mut said, sandbox).map_err(|error| format!("an iolog: {error}"))?;
    Ok(said)
}

/// The two runs have devices of different numbers, which says nothing: they get the same name.
fn anonymous(said: &mut ProgramOutput, sandbox: &Sandbox) -> std::io::Result<()> {
    for (name, value) in &sandbox.environment {
        let (name, device) = (name.to_string_lossy(), value.to_string_lossy());
        let short = device.trim_start_matches("/dev/");
        said.out = said.out.replace(&*device, &name).replace(&format!("{short}:"), "loop:");
        said.out = said.out.replace(&format!("\"{short}\""), "\"loop\"");
        for log in sandbox.files().into_keys().filter(|file| file.ends_with("log")) {
            let path = sandbox.path().join(log);
            std::fs::write(&path, std::fs::read_to_string(&path)?.replace(&*device, &name))?;
        }
    }
    Ok(())
}

fn spoil(path: &Path, offset: u64) -> std::io::Result<()> {
    let file = std::fs::File::options().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset)?;
    file.write_all_at(&[!byte[0]], offset)
}

/// One program checks, without writing, what the other wrote.
fn cross(job: &JobFile, how: &str, fio: &Fio, sandbox: &Sandbox) -> Result<Vec<Mismatch>, String> {
    let said = fio.run(sandbox, ["--verify_only=1".as_ref(), job.path.as_os_str()])?;
    if said.code() == 0 {
        return Ok(Vec::new());
    }
    let first = said.err.lines().chain(said.out.lines()).next().unwrap_or_default().to_string();
    Ok(vec![Mismatch::new("cross", format!("{how}: status {}: {first}", said.code()))])
}

/// Writes the job's line for the chore.
fn tell(job: &JobFile, left: &[Mismatch], forgiven: usize) {
    let Some(path) = std::env::var_os(LINES) else { return };
    let verdict = if left.is_empty() { "equal" } else { "DIFFERS" };
    let known = if forgiven > 0 { format!(" ({forgiven} known)") } else { String::new() };
    let what = left.first().map_or(job.proves.clone(), Mismatch::to_string);
    let line = format!("{verdict:<8}  {:<28}{what}{known}\n", job.name);
    if let Ok(mut file) = std::fs::File::options().append(true).create(true).open(path) {
        let _ = file.write_all(line.as_bytes());
    }
}
