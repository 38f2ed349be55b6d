//! What cases stand on beside their own directory: views, another file system, and a small one of the same type.
//!
//! The small one lies in memory: its image has no name, its loop device goes with its mount. Nothing of it is ever on the
//! user's file system.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::mounts::mount;
use super::process::done;
use iodyno_engine::failure::strerror;
use iodyno_engine::memory::errno;

/// Where cases find what they stand on.
#[derive(Clone, Debug, Default)]
pub struct Views {
    /// The directory that views are mounted in.
    pub base: Option<PathBuf>,
    /// Why there are none.
    pub why: String,
    /// Whether there is a small file system.
    pub small: bool,
}

/// How a small file system of a type is made.
struct Recipe {
    kind: &'static str,
    bytes: u64,
    program: &'static str,
    arguments: &'static [&'static str],
}

/// The smallest that are still usable. Few inodes, so that names run out before the patience does.
const RECIPES: [Recipe; 5] = [
    Recipe { kind: "ext2", bytes: 16 << 20, program: "mkfs.ext2", arguments: EXT },
    Recipe { kind: "ext3", bytes: 16 << 20, program: "mkfs.ext3", arguments: EXT },
    Recipe { kind: "ext4", bytes: 16 << 20, program: "mkfs.ext4", arguments: EXT },
    Recipe { kind: "xfs", bytes: 304 << 20, program: "mkfs.xfs", arguments: &["-q", "-f", "-K"] },
    Recipe { kind: "btrfs", bytes: 20 << 20, program: "mkfs.btrfs", arguments: BTRFS },
];

/// One pool for names and space: two of them take a hundred thousand names before they are full, and minutes to be
/// emptied.
const BTRFS: &[&str] = &["-q", "-f", "-K", "-M", "-m", "single", "-d", "single"];

const EXT: &[&str] = &["-q", "-F", "-N", "256", "-m", "0", "-I", "256", "-E", "nodiscard,lazy_itable_init=0"];

/// A tmpfs that is soon full.
const SMALL_TMPFS: &str = "size=4m,nr_inodes=256,mode=0755";

/// Makes a small file system of the type that the sandbox is on, below the directory of views.
///
/// # Errors
/// Why there is none.
pub fn make_small(sandbox: &Path, base: &Path) -> Result<(), String> {
    let target = base.join("small");
    let kind = kind_of(sandbox).ok_or("the type of the file system is not known")?;
    let told = |errno| format!("a small {kind} cannot be mounted: {}", strerror(errno));
    match kind.as_str() {
        "tmpfs" => mount(Some(c"tmpfs"), &target, Some(c"tmpfs"), 0, SMALL_TMPFS).map_err(told),
        "overlay" => make_overlay(base, &target).map_err(told),
        kind => {
            let recipe = RECIPES.iter().find(|recipe| recipe.kind == kind);
            let recipe = recipe.ok_or_else(|| format!("no small file system of type {kind} can be made"))?;
            make_image(recipe, sandbox, &target)
        }
    }
}

fn make_overlay(base: &Path, target: &Path) -> Result<(), i32> {
    let layer = base.join("layer");
    mount(Some(c"tmpfs"), &layer, Some(c"tmpfs"), 0, SMALL_TMPFS)?;
    let parts = ["lower", "upper", "work"].map(|part| layer.join(part));
    for part in &parts {
        std::fs::create_dir(part).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
    }
    let [lower, upper, work] = parts.map(|part| part.display().to_string());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    mount(Some(c"overlay"), target, Some(c"overlay"), 0, &options)
}

fn make_image(recipe: &Recipe, sandbox: &Path, target: &Path) -> Result<(), String> {
    let image = image(sandbox, recipe.bytes).map_err(|errno| format!("memfd_create: {}", strerror(errno)))?;
    let path = format!("/proc/self/fd/{}", image.as_raw_fd());
    let program = program(recipe.program).ok_or_else(|| format!("{} is not installed", recipe.program))?;
    let mut command = Command::new(program);
    command.args(recipe.arguments).arg(&path).stdin(Stdio::null()).stdout(Stdio::null());
    let output =
        command.stderr(Stdio::piped()).output().map_err(|error| format!("{}: {error}", recipe.program))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().last().unwrap_or("it failed").to_string();
        return Err(format!("{}: {said}", recipe.program));
    }
    let (device, _held) = attach(&image).map_err(|errno| format!("a loop device: {}", strerror(errno)))?;
    let kind = CString::new(recipe.kind).expect("no zero byte");
    let source = CString::new(device).expect("no zero byte");
    mount(Some(&source), target, Some(&kind), 0, "")
        .map_err(|errno| format!("a small {} cannot be mounted: {}", recipe.kind, strerror(errno)))
}

/// The longest name of a file in memory. Source: `memfd_create(2)`.
const NAME_MOST: usize = 249;

/// A file in memory that programs we start can open by its number. Its name is for those who look at the loop devices: it
/// says for what directory it is.
fn image(purpose: &Path, bytes: u64) -> Result<OwnedFd, i32> {
    let mut name = [b"iodyno:", purpose.as_os_str().as_bytes()].concat();
    name.truncate(NAME_MOST);
    let name = CString::new(name).map_err(|_| libc::EINVAL)?;
    // SAFETY: the name ends with a zero byte; the descriptor is ours alone.
    let file = unsafe {
        let fd = libc::memfd_create(name.as_ptr(), 0);
        if fd < 0 {
            return Err(errno());
        }
        File::from_raw_fd(fd)
    };
    file.set_len(bytes).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
    Ok(file.into())
}

/// A program, where an ordinary user's search path would not find it.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// What a loop device is told about its file. Source: Linux, `linux/loop.h`.
#[repr(C)]
struct LoopConfiguration {
    fd: u32,
    block_bytes: u32,
    /// `struct loop_info64` up to its flags.
    before_flags: [u64; 5],
    before_flags_too: [u32; 3],
    flags: u32,
    after_flags: [u8; 64 + 64 + 32 + 16],
    reserved: [u64; 8],
}

const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4c82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;

/// Puts a file behind a free loop device that lets it go with its last user.
fn attach(image: &OwnedFd) -> Result<(String, File), i32> {
    let number = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    let open = |path: &str| File::options().read(true).write(true).open(path).map_err(number);
    let control = open("/dev/loop-control")?;
    let mut last = libc::EBUSY;
    for _ in 0..50 {
        // SAFETY: the call takes no pointer.
        let free: RawFd = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
        done(free)?;
        let path = format!("/dev/loop{free}");
        let device = open(&path)?;
        // SAFETY: an all-zero configuration is a valid one.
        let mut wanted: LoopConfiguration = unsafe { std::mem::zeroed() };
        (wanted.fd, wanted.flags) = (image.as_raw_fd() as u32, LO_FLAGS_AUTOCLEAR);
        // SAFETY: the structure is as large as the kernel reads.
        match done(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw const wanted) }) {
            Ok(()) => return Ok((path, device)),
            // Somebody else was faster.
            Err(libc::EBUSY) => last = libc::EBUSY,
            Err(errno) => return Err(errno),
        }
    }
    Err(last)
}

/// The type of the file system that a path is on.
pub fn kind_of(path: &Path) -> Option<String> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind_in(&table, path)
}

/// The same, by a table of mounts: the last one of those that are nearest above it.
fn kind_in(table: &str, path: &Path) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for line in table.lines() {
        let (Some(point), Some((_, source))) = (line.split(' ').nth(4), line.split_once(" - ")) else {
            continue;
        };
        let point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\");
        let kind = source.split(' ').next().unwrap_or_default();
        if path.starts_with(&point) && best.is_none_or(|(length, _)| point.len() >= length) {
            best = Some((point.len(), kind));
        }
    }
    best.map(|(_, kind)| kind.to_string())
}

/// Bytes of a block of the file system that the current directory is on.
///
/// # Errors
/// Why that is not known.
pub fn block_bytes() -> Result<u64, String> {
    // SAFETY: an all-zero structure is a valid one, and it is valid for writing.
    unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        done(libc::statfs(c".".as_ptr(), &raw mut about))
            .map_err(|errno| format!("statfs: {}", strerror(errno)))?;
        Ok(about.f_bsize as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_configuration_is_as_large_as_the_kernels() {
        assert_eq!(size_of::<LoopConfiguration>(), 304);
        assert_eq!(std::mem::offset_of!(LoopConfiguration, flags), 8 + 52);
    }

    #[test]
    fn the_nearest_and_last_mount_counts() {
        let table = "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / /a\\040b rw shared:1 - xfs /dev/b rw\n\
                     3 2 0:3 / /a\\040b rw - tmpfs t rw\n";
        assert_eq!(kind_in(table, Path::new("/a b/c")).as_deref(), Some("tmpfs"));
        assert_eq!(kind_in(table, Path::new("/ab")).as_deref(), Some("ext4"));
    }
}
