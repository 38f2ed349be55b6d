//! How a file system is made, mounted and checked.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use iodyno_block::MountedDirectory;
use iodyno_model::{Diagnostic, Origin};

use crate::program::tied;

/// A file system under test.
#[derive(Debug, Clone)]
pub struct FileSystem {
    /// As mount(8) has it: `ext4`.
    pub name: String,
    /// mount(8)'s, comma-separated.
    pub options: String,
    /// Size of its disk.
    pub bytes: u64,
    mkfs: DeviceCommand,
    /// None: there is no checker for it.
    check: Option<DeviceCommand>,
    /// None: mount(2).
    mount: Option<DeviceCommand>,
}

/// What is run with a device.
#[derive(Debug, Clone)]
enum DeviceCommand {
    /// The program with its arguments; the device is the last one.
    Program(Vec<String>),
    /// A script of the user's, for a shell.
    Script(String),
}

/// A script of the user's gets the device here.
pub const DEVICE_VARIABLE: &str = "IODYNO_DEVICE";
/// A program of the user's gets the mounted directory here.
pub const DIRECTORY_VARIABLE: &str = "IODYNO_DIR";

const MIB: u64 = 1 << 20;
/// Large enough for any file system that is not known better.
const OTHER_BYTES: u64 = 512 * MIB;

/// Names, options of mkfs, checker, size of the disk. The file system's own threads shall write nothing late, and no room is
/// reserved.
type KnownKind = (&'static str, &'static [&'static str], &'static [&'static str], u64);
const KNOWN: &[KnownKind] = &[
    (
        "ext2",
        &["-q", "-F", "-m", "0", "-U", IDENTITY, "-E", "lazy_itable_init=0,nodiscard"],
        &["e2fsck", "-fn"],
        64 * MIB,
    ),
    ("ext3", EXT4_OPTIONS, &["e2fsck", "-fn"], 64 * MIB),
    ("ext4", EXT4_OPTIONS, &["e2fsck", "-fn"], 64 * MIB),
    // mkfs.xfs refuses less than 300 MiB.
    ("xfs", &["-q", "-f", "-K"], &["xfs_repair", "-n"], 320 * MIB),
    // mkfs.btrfs refuses less than 109 MiB. Its checker takes a state for mounted while another worker has one of the same
    // identity mounted: it is forced.
    ("btrfs", &["-q", "-f", "-K"], &["btrfs", "check", "--readonly", "--force"], 128 * MIB),
    ("f2fs", &["-q", "-f", "-t", "0"], &["fsck.f2fs", "--dry-run"], 128 * MIB),
];
/// Made from a fixed identity, directories hash alike, and a workload is written to the same places each time.
const EXT4_OPTIONS: &[&str] = &["-q", "-F", "-m", "0", "-U", IDENTITY, "-E", EXT4_EXTENDED];
const EXT4_EXTENDED: &str =
    "lazy_itable_init=0,lazy_journal_init=0,nodiscard,hash_seed=6f64796e-6f00-4000-8000-000000000001";
const IDENTITY: &str = "6f64796e-6f00-4000-8000-000000000002";

impl FileSystem {
    /// A file system by its name.
    ///
    /// # Errors
    /// The kernel or the machine's programs do not know it.
    pub fn named(name: &str, options: &str) -> Result<FileSystem, Diagnostic> {
        let wrong = |message: String, hint: &str| {
            Err(Diagnostic::error(&Origin::argument(name), message).hint(hint.to_string()))
        };
        let maker = format!("mkfs.{name}");
        if name.is_empty() || name.contains('/') || find_program(&maker).is_none() {
            return wrong(
                format!("there is no program {maker}"),
                "install it, or give --mkfs SCRIPT and --mount SCRIPT; known are ext4, xfs, btrfs, f2fs and all that have a mkfs.NAME",
            );
        }
        if !is_known_to_kernel(name) {
            return wrong(
                format!("the kernel has no file system {name}"),
                "cat /proc/filesystems lists those that it has",
            );
        }
        let known = KNOWN.iter().find(|(known, ..)| *known == name);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
        let (made, checker, bytes) = known
            .map_or((&[][..], &[][..], OTHER_BYTES), |(_, made, checker, bytes)| (*made, *checker, *bytes));
        let mkfs = DeviceCommand::Program([vec![maker], words(made)].concat());
        let has_checker = checker.first().is_some_and(|program| find_program(program).is_some());
        let check = has_checker.then(|| DeviceCommand::Program(words(checker)));
        Ok(FileSystem { name: name.into(), options: options.into(), bytes, mkfs, check, mount: None })
    }

    /// A file system that scripts make and mount. They get `{device}` and `{dir}`, and the same in the environment.
    pub fn by_scripts(name: &str, mkfs: &str, mount: &str) -> FileSystem {
        FileSystem {
            name: name.into(),
            options: String::new(),
            bytes: OTHER_BYTES,
            mkfs: DeviceCommand::Script(mkfs.into()),
            check: None,
            mount: Some(DeviceCommand::Script(mount.into())),
        }
    }

    /// The same on a disk of another size.
    pub fn sized(self, bytes: Option<u64>) -> FileSystem {
        FileSystem { bytes: bytes.unwrap_or(self.bytes), ..self }
    }

    /// The checker of the file system; none: states are mounted and written only.
    pub fn checker(&self) -> Option<&str> {
        match self.check.as_ref()? {
            DeviceCommand::Program(words) => words.first().map(String::as_str),
            DeviceCommand::Script(_) => None,
        }
    }

    /// Makes the file system.
    ///
    /// # Errors
    /// What its program said.
    pub fn make(&self, device: &Path) -> io::Result<()> {
        succeed(self.mkfs.run(device, None)?)
    }

    /// Mounts it.
    ///
    /// # Errors
    /// The system's, or what the script said.
    pub fn mount(&self, device: &Path, place: &Path) -> io::Result<MountedDirectory> {
        match &self.mount {
            // Several states are mounted at once, and all have the identity of the disk that was recorded.
            None if self.name == "xfs" => {
                let options = format!("{},nouuid", self.options);
                MountedDirectory::mount(device, place, &self.name, options.trim_start_matches(','))
            }
            None => MountedDirectory::mount(device, place, &self.name, &self.options),
            Some(command) => {
                succeed(command.run(device, Some(place))?)?;
                Ok(MountedDirectory::adopt(place))
            }
        }
    }

    /// Asks the checker, which changes nothing; what it complains of, or nothing.
    ///
    /// # Errors
    /// It could not be started.
    pub fn complaint(&self, device: &Path) -> io::Result<Option<String>> {
        let Some(check) = &self.check else { return Ok(None) };
        let output = check.run(device, None)?;
        Ok((!output.status.success()).then(|| complaints(&output)))
    }
}

impl DeviceCommand {
    fn run(&self, device: &Path, directory: Option<&Path>) -> io::Result<Output> {
        let mut command = match self {
            DeviceCommand::Program(words) => {
                let mut command = Command::new(find_program(&words[0]).unwrap_or_else(|| (&words[0]).into()));
                command.args(&words[1..]).arg(device);
                command
            }
            DeviceCommand::Script(script) => shell(script, Some(device), directory),
        };
        tied(command.stdin(Stdio::null())).output()
    }
}

/// A command of the user's for a shell; `{device}` and `{dir}` are replaced, and stand in the environment.
pub fn shell(script: &str, device: Option<&Path>, directory: Option<&Path>) -> Command {
    let mut script = script.to_string();
    let mut command = Command::new("sh");
    for (word, variable, path) in
        [("{device}", DEVICE_VARIABLE, device), ("{dir}", DIRECTORY_VARIABLE, directory)]
    {
        if let Some(path) = path {
            script = script.replace(word, &path.display().to_string());
            command.env(variable, path);
        }
    }
    command.arg("-c").arg(script);
    command
}

fn succeed(output: Output) -> io::Result<()> {
    if output.status.success() { Ok(()) } else { Err(io::Error::other(said(&output))) }
}

/// What a program said, on one line.
pub fn said(output: &Output) -> String {
    lines_of(output, |_| true)
}

/// The same of a checker, without what it says of every file system.
fn complaints(output: &Output) -> String {
    const ALWAYS: [&str; 5] = ["Pass ", "Phase ", "- ", "Opening filesystem", "["];
    lines_of(output, |line| !ALWAYS.iter().any(|begin| line.starts_with(begin)))
}

fn lines_of(output: &Output, is_kept: impl Fn(&str) -> bool) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && is_kept(line));
    let lines: Vec<&str> = lines.take(SAID_LINES).collect();
    if lines.is_empty() { output.status.to_string() } else { lines.join("; ") }
}

/// Of more lines the others are left out.
const SAID_LINES: usize = 6;

/// A program on the PATH or where those of administrators lie.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut places = std::env::split_paths(&path).chain(administrators).map(|place| place.join(name));
    places.find(|path| path.is_file())
}

/// Whether the kernel has a file system, or can load it.
fn is_known_to_kernel(name: &str) -> bool {
    let knows = || {
        let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        known.lines().any(|line| line.split_whitespace().last() == Some(name))
    };
    knows() || {
        let _ = Command::new(find_program("modprobe").unwrap_or_else(|| "modprobe".into()))
            .args(["-q", name])
            .stdin(Stdio::null())
            .output();
        knows()
    }
}
