//! The two programs and the sandboxes they run in.
//!
//! Each run has a directory of its own, made for it and empty, and a loop device where the job asks for one; nothing
//! else differs between the original's run and ours.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::Skip;
pub use testbed::program::{Program, ProgramOutput};

/// The original, as Debian installs it.
const REFERENCE: &str = "/usr/bin/fio";
/// Ours, as cargo built it.
const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");
/// Names another program to hold against the original: itself, to prove the comparison fair.
const CANDIDATE: &str = "IODYNO_FIO_CANDIDATE";

/// A program that claims to be fio.
#[derive(Debug, Clone)]
pub struct Fio {
    program: PathBuf,
    leading: Vec<&'static str>,
}

impl Fio {
    /// The original.
    ///
    /// # Errors
    /// A [`Skip`] where it is not installed.
    pub fn reference() -> Result<Fio, Skip> {
        let program = PathBuf::from(REFERENCE);
        if !program.is_file() {
            return Err(Skip::new("fio is not installed"));
        }
        Ok(Fio { program, leading: Vec::new() })
    }

    /// Ours, or what the environment puts in its place.
    ///
    /// # Errors
    /// A [`Skip`] while the dialect is not part of the program.
    pub fn candidate() -> Result<Fio, Skip> {
        if let Some(program) = std::env::var_os(CANDIDATE) {
            return Ok(Fio { program: program.into(), leading: Vec::new() });
        }
        let ours = Fio { program: IODYNO.into(), leading: vec!["fio"] };
        let version = Program::new(ours.command(["--version"])).outcome();
        if version.is_ok_and(|said| said.out.starts_with("fio-3")) {
            Ok(ours)
        } else {
            Err(Skip::new("this build of iodyno has no fio dialect"))
        }
    }

    /// Whether it is iodyno's dialect, and not the original in its place.
    pub fn is_ours(&self) -> bool {
        !self.leading.is_empty()
    }

    /// A command with these arguments.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.program);
        // Findings on standard error are for people; here the streams are compared.
        command.env("IODYNO_FINDINGS", "0");
        // Headers and state files as the original, fio 3.33, lays them out.
        command.env("IODYNO_ALSO", "headers=3.33").args(&self.leading).args(arguments);
        command
    }

    /// Runs it to its end in a sandbox.
    ///
    /// # Errors
    /// A sentence, when it cannot be started or does not end.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        sandbox: &Sandbox,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<ProgramOutput, String> {
        let mut command = self.command(arguments);
        command.current_dir(sandbox.path());
        for (name, value) in &sandbox.environment {
            command.env(name, value);
        }
        // fio 3.33 hangs at times (io_submit_mode=offload among others).
        let program = Program::new(command);
        if self.is_ours() { program.outcome() } else { program.outcome_of_an_original() }
    }

    /// A directory with a program called `fio` in it, for scripts that look for one on the path.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn link_into(&self, folder: &Path) -> PathBuf {
        let bin = folder.join("bin");
        std::fs::create_dir_all(&bin).expect("a folder for the link");
        std::os::unix::fs::symlink(&self.program, bin.join("fio")).expect("a link");
        bin
    }
}

/// An empty directory, and a loop device where one was asked for; both are gone when it is dropped.
#[derive(Debug)]
pub struct Sandbox {
    home: tempfile::TempDir,
    #[cfg(target_os = "linux")]
    devices: Vec<testbed::sandbox::LoopDevice>,
    /// What a job file may name as `${NAME}`.
    pub environment: Vec<(OsString, OsString)>,
}

impl Sandbox {
    /// A new directory on the disk that holds the build, where direct I/O is to be had.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new() -> Sandbox {
        let home = tempfile::Builder::new().prefix("fio-").tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        Sandbox {
            home: home.expect("a directory for a run"),
            #[cfg(target_os = "linux")]
            devices: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Adds loop devices, written full, as `${DEV}`, `${DEV2}`, …
    ///
    /// # Errors
    /// A [`Skip`] where none can be had.
    #[cfg(target_os = "linux")]
    pub fn with_devices(mut self, count: usize, bytes: u64) -> Result<Sandbox, Skip> {
        use testbed::sandbox::{LoopDevice, LoopOptions};
        for index in 0..count {
            let options = LoopOptions { bytes, prefill: Some(0x5a), ..LoopOptions::default() };
            let device = LoopDevice::with(&options)?;
            let name = if index == 0 { "DEV".to_string() } else { format!("DEV{}", index + 1) };
            self.environment.push((name.into(), device.path().into()));
            self.devices.push(device);
        }
        Ok(self)
    }

    /// Where the program runs.
    pub fn path(&self) -> &Path {
        self.home.path()
    }

    /// A word with the sandbox's own names in the place of `${NAME}`.
    pub fn resolve(&self, word: &str) -> String {
        self.environment.iter().fold(word.to_string(), |word, (name, value)| {
            word.replace(&format!("${{{}}}", name.to_string_lossy()), &value.to_string_lossy())
        })
    }

    /// Every file below it, by its relative name.
    ///
    /// # Panics
    /// When it cannot be listed.
    pub fn files(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder of ours").flatten() {
                let about = entry.metadata().expect("a file of ours");
                let path = entry.path();
                let name = path.strip_prefix(self.path()).unwrap_or(&path).to_string_lossy().into_owned();
                if about.is_dir() {
                    found.insert(name + "/", 0);
                    folders.push(path);
                } else {
                    found.insert(name, about.len());
                }
            }
        }
        found
    }

    /// Puts a file into it.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path().join(name), bytes).expect("a file of ours");
    }
}
