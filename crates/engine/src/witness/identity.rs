//! What a target is: its file system, mount, device, queue; and what the machine is.
//!
//! Sources: `/proc/self/mountinfo`, `/sys/class/block`, `statvfs`, `uname`. What cannot be read stays `None`.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iodyno_model::{Machine, TargetFacts};

use super::links;
use crate::clock;
use crate::file_system_client;
use crate::io::c_path;

/// One line of the mount table.
struct Mount {
    device: String,
    point: String,
    options: String,
    kind: String,
    source: String,
    super_options: String,
}

/// What the path is, or what the nearest existing directory above it is.
pub fn facts(path: &str) -> TargetFacts {
    let there = nearest(Path::new(path));
    let mut facts = TargetFacts { path: path.into(), ..TargetFacts::default() };
    facts.memory_bytes = super::memory::read().map(|levels| levels.total);
    let Ok(status) = fs::metadata(&there) else { return facts };
    if status.file_type().is_block_device() {
        facts.device = device_name(status.rdev());
        facts.source = Some(path.into());
        facts.direct = Some(true);
    } else {
        mount_facts(&there, status.dev(), &mut facts);
        space(&there, &mut facts);
        (facts.direct, facts.direct_align_bytes) = direct(&there);
    }
    if let Some(device) = facts.device.clone() {
        device_facts(&device, &mut facts);
    }
    facts
}

fn nearest(path: &Path) -> PathBuf {
    let named = |path: &&Path| !path.as_os_str().is_empty() && path.exists();
    let there = path.ancestors().find(named).unwrap_or(Path::new("."));
    fs::canonicalize(there).unwrap_or_else(|_| there.to_path_buf())
}

/// The whole disk beneath a path, by its kernel name.
pub fn disk_of(path: &str) -> Option<String> {
    let there = nearest(Path::new(path));
    let status = fs::metadata(&there).ok()?;
    let device = match status.file_type().is_block_device() {
        true => device_name(status.rdev()),
        false => device_name(status.dev())
            .or_else(|| mount_of(&there, status.dev()).and_then(|m| source_device(&m))),
    }?;
    Some(whole_disk(&device))
}

/// The kernel's name of a block device number.
fn device_name(number: u64) -> Option<String> {
    let (major, minor) = (libc::major(number as _), libc::minor(number as _));
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// The disk that a partition is of; of a disk itself.
pub fn whole_disk(device: &str) -> String {
    let real = fs::canonicalize(format!("/sys/class/block/{device}")).unwrap_or_default();
    match real.join("partition").exists() {
        true => real
            .parent()
            .and_then(Path::file_name)
            .map_or(device.into(), |n| n.to_string_lossy().into_owned()),
        false => device.into(),
    }
}

fn mount_of(path: &Path, number: u64) -> Option<Mount> {
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let device = format!("{}:{}", libc::major(number as _), libc::minor(number as _));
    let covers = |mount: &Mount| path.starts_with(&mount.point);
    let mounts: Vec<Mount> = table.lines().filter_map(parse_mount).filter(covers).collect();
    // The longest mount point wins; of several on one point the last is the visible one.
    let longest = mounts.iter().map(|mount| mount.point.len()).max()?;
    let mut visible: Vec<Mount> = mounts.into_iter().filter(|mount| mount.point.len() == longest).collect();
    match visible.iter().rposition(|mount| mount.device == device) {
        Some(index) => Some(visible.swap_remove(index)),
        None => visible.pop(),
    }
}

/// Fields as `proc_pid_mountinfo(5)` numbers them.
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.splitn(3, ' ');
    let plain = |text: &str| text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\");
    Some(Mount {
        device: (*left.get(2)?).into(),
        point: plain(left.get(4)?),
        options: (*left.get(5)?).into(),
        kind: right.next()?.into(),
        source: plain(right.next()?),
        super_options: right.next().unwrap_or_default().into(),
    })
}

/// The device that a mount's source is, or that all layers of an overlay lie on. Where there are several, none: the
/// counters of one would say too little.
fn source_device(mount: &Mount) -> Option<String> {
    if mount.kind == "overlay" {
        return layers_device(&mount.super_options);
    }
    let status = fs::metadata(&mount.source).ok()?;
    let device = status.file_type().is_block_device().then(|| device_name(status.rdev()))??;
    (mount.kind != "btrfs" || is_only_member(&device)).then_some(device)
}

/// The device that the layers of an overlay have in common, where they can be seen from here.
fn layers_device(options: &str) -> Option<String> {
    let of = |name: &str| options.split(',').find_map(|option| option.strip_prefix(name));
    let upper = of("upperdir=");
    let lower = of("lowerdir=").unwrap_or_default().split(':');
    let devices: Vec<Option<String>> = upper
        .into_iter()
        .chain(lower)
        .filter(|layer| !layer.is_empty())
        .map(|layer| {
            let status = fs::metadata(layer).ok()?;
            device_name(status.dev())
        })
        .collect();
    let first = devices.first()?.clone()?;
    devices.iter().all(|device| device.as_ref() == Some(&first)).then_some(first)
}

/// Whether a btrfs file system has no other device.
fn is_only_member(device: &str) -> bool {
    let Ok(all) = fs::read_dir("/sys/fs/btrfs") else { return true };
    let members = all.flatten().filter_map(|entry| {
        let names = fs::read_dir(entry.path().join("devices")).ok()?;
        Some(names.flatten().map(|name| name.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>())
    });
    members.into_iter().filter(|names| names.iter().any(|name| name == device)).all(|names| names.len() == 1)
}

fn mount_facts(path: &Path, number: u64, facts: &mut TargetFacts) {
    facts.device = device_name(number);
    let Some(mount) = mount_of(path, number) else { return };
    if facts.device.is_none() {
        facts.device = source_device(&mount);
    }
    if mount.kind == "overlay" {
        let upper = mount.super_options.split(',').find_map(|option| option.strip_prefix("upperdir="));
        facts.layers.extend(upper.map(|upper| format!("overlay, written to {upper}")));
    }
    facts.mount_options = Some(join_options(&mount.options, &mount.super_options));
    if links::is_network(&mount.kind) {
        facts.link = links::of_host(Path::new("/sys"));
    }
    let parallel = path.to_str().and_then(file_system_client::kind).map(String::from);
    facts.file_system = Some(parallel.unwrap_or_else(|| on_fuse_block(mount.kind, &mount.source)));
    facts.mount_point = Some(mount.point);
    facts.source = Some(mount.source);
}

/// Several programs serve file systems on devices by FUSE, and the kernel calls all of them `fuseblk`: which format it is,
/// the device's first sector says. NTFS, the oldest of them, keeps the bare name.
fn on_fuse_block(kind: String, source: &str) -> String {
    let mut sector = [0; 11];
    let is_exfat = kind == "fuseblk"
        && fs::File::open(source).is_ok_and(|mut device| device.read_exact(&mut sector).is_ok())
        && sector.ends_with(b"EXFAT   ");
    if is_exfat { "fuseblk.exfat".into() } else { kind }
}

/// Options of the mount and of the file system, each once.
fn join_options(mount: &str, file_system: &str) -> String {
    let mut options: Vec<&str> = mount.split(',').collect();
    let more = file_system.split(',').filter(|option| !option.is_empty() && !options.contains(option));
    let more: Vec<&str> = more.collect();
    options.extend(more);
    options.join(",")
}

fn device_facts(device: &str, facts: &mut TargetFacts) {
    let disk = whole_disk(device);
    let read = |file: &str| {
        let text = fs::read_to_string(format!("/sys/class/block/{disk}/{file}")).ok()?;
        let text = text.trim().to_string();
        (!text.is_empty()).then_some(text)
    };
    let number = |file: &str| read(file).and_then(|text| text.parse::<u64>().ok());
    facts.rotational = number("queue/rotational").map(|flag| flag == 1);
    facts.scheduler =
        read("queue/scheduler").map(|text| text.split(['[', ']']).nth(1).map_or(text.clone(), String::from));
    facts.write_cache = read("queue/write_cache");
    facts.logical_block_bytes = number("queue/logical_block_size");
    facts.physical_block_bytes = number("queue/physical_block_size");
    facts.read_ahead_bytes = number("queue/read_ahead_kb").map(|kib| kib * 1024);
    facts.queue_requests = number("queue/nr_requests");
    facts.hardware_queues = fs::read_dir(format!("/sys/class/block/{disk}/mq"))
        .ok()
        .map(|queues| queues.flatten().count() as u64)
        .filter(|queues| *queues > 0);
    facts.queue_tags = number("mq/0/nr_tags");
    facts.device_requests = number("device/queue_depth");
    facts.link = links::of_disk(Path::new("/sys"), &disk);
    let model: Vec<String> = ["device/vendor", "device/model"].iter().filter_map(|file| read(file)).collect();
    // Virtual disks have a vendor's number and nothing else; 0x1af4 is virtio's (PCI).
    facts.model = match model.join(" ").as_str() {
        "" => None,
        "0x1af4" => Some("virtio disk".into()),
        model => Some(model.into()),
    };
    if facts.size_bytes.is_none() {
        let sectors = fs::read_to_string(format!("/sys/class/block/{device}/size")).ok();
        facts.size_bytes =
            sectors.and_then(|text| text.trim().parse::<u64>().ok()).map(|sectors| sectors * 512);
    }
    if let Some(file) = read("loop/backing_file") {
        let beneath = disk_of(&file).map_or(String::new(), |disk| format!(" on {disk}"));
        let direct = if read("loop/dio").as_deref() == Some("1") { " with direct I/O" } else { "" };
        facts.layers.push(format!("loop device{direct}, backed by {file}{beneath}"));
    }
    if disk.starts_with("zram") {
        facts.layers.push("zram: compressed memory".into());
    }
    if let Some(name) = read("dm/name") {
        facts.layers.push(format!("device-mapper volume {name}"));
    }
    facts.device = Some(device.into());
    facts.disk = Some(disk);
}

/// Whether this user may write there.
pub fn writable(path: &str) -> bool {
    // SAFETY: the path is zero-terminated.
    c_path(path).is_ok_and(|path| unsafe { libc::access(path.as_ptr(), libc::W_OK) } == 0)
}

/// Whether this user may read it.
pub fn readable(path: &str) -> bool {
    // SAFETY: the path is zero-terminated.
    c_path(path).is_ok_and(|path| unsafe { libc::access(path.as_ptr(), libc::R_OK) } == 0)
}

/// Free space for this user where a path lies, or will; 0 where it is unknown.
pub fn free_bytes(path: &str) -> u64 {
    let mut facts = TargetFacts::default();
    space(&nearest(Path::new(path)), &mut facts);
    facts.free_bytes.unwrap_or(0)
}

/// Size and free space (for this user) of a file system, in bytes.
#[allow(clippy::unnecessary_cast)] // the types differ between systems
fn space(path: &Path, found: &mut TargetFacts) {
    let Ok(path) = c_path(&path.to_string_lossy()) else { return };
    let mut facts = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path is zero-terminated, the structure valid for writing and read only after success.
    unsafe {
        if libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) < 0 {
            return;
        }
        let facts = facts.assume_init();
        let bytes = |blocks: u64| Some(blocks * facts.f_frsize as u64);
        found.size_bytes = bytes(facts.f_blocks as u64);
        found.free_bytes = bytes(facts.f_bavail as u64);
        found.inodes = Some(facts.f_files as u64);
        found.inodes_free = Some(facts.f_ffree as u64);
    }
}

/// Whether O_DIRECT works on a file (or, by a nameless temporary file, in a directory), and the alignment it needs.
#[cfg(target_os = "linux")]
fn direct(path: &Path) -> (Option<bool>, Option<u64>) {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    let file = match path.is_dir() {
        true => options.read(true).write(true).custom_flags(libc::O_TMPFILE | libc::O_DIRECT).open(path),
        false => options.read(true).custom_flags(libc::O_DIRECT).open(path),
    };
    match file {
        Ok(file) => (Some(true), alignment(&file)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => (Some(false), None),
        Err(_) => (None, None),
    }
}

/// The kernel's own word on direct I/O alignment (statx `STATX_DIOALIGN`, Linux 6.1).
#[cfg(target_os = "linux")]
fn alignment(file: &fs::File) -> Option<u64> {
    use std::os::fd::AsRawFd;
    const STATX_DIOALIGN: libc::c_uint = 0x2000;
    // `stx_dio_offset_align` lies 4 bytes behind `stx_dio_mem_align`, at 152.
    const OFFSET_ALIGN: usize = 156;
    let mut facts = [0u8; 256];
    let (fd, path, flags) = (file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH);
    // SAFETY: the structure is 256 bytes long, the path empty and zero-terminated.
    let answer =
        unsafe { libc::syscall(libc::SYS_statx, fd, path, flags, STATX_DIOALIGN, facts.as_mut_ptr()) };
    let mask = u32::from_ne_bytes(facts[..4].try_into().ok()?);
    let align = u32::from_ne_bytes(facts[OFFSET_ALIGN..OFFSET_ALIGN + 4].try_into().ok()?);
    (answer == 0 && mask & STATX_DIOALIGN != 0 && align > 0).then_some(u64::from(align))
}

#[cfg(not(target_os = "linux"))]
fn direct(_path: &Path) -> (Option<bool>, Option<u64>) {
    (None, None)
}

/// The machine this runs on.
pub fn machine() -> Machine {
    let text = |field: &[libc::c_char]| {
        let bytes: Vec<u8> = field.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    // SAFETY: the structure is plain memory, valid for writing.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        libc::uname(&raw mut name);
        name
    };
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        line.split(": ").nth(1).map(String::from)
    });
    Machine {
        host: text(&name.nodename),
        kernel: format!("{} {}", text(&name.sysname), text(&name.release)),
        processor: processor.unwrap_or_else(|| text(&name.machine)),
        cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32),
        memory_bytes: super::memory::read().map_or(0, |levels| levels.total),
        clock: clock::source().into(),
        version: env!("CARGO_PKG_VERSION").into(),
        facts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_line_is_read() {
        let line = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!((mount.device.as_str(), mount.point.as_str()), ("98:0", "/mnt 2"));
        assert_eq!((mount.kind.as_str(), mount.super_options.as_str()), ("ext3", "rw,errors=continue"));
        assert_eq!(join_options(&mount.options, &mount.super_options), "rw,noatime,errors=continue");
    }

    #[test]
    fn formats_behind_fuse_are_told_apart_by_their_first_sector() {
        let device = tempfile::NamedTempFile::new().unwrap();
        let path = device.path().to_str().unwrap();
        let kind = |kind: &str, sector: &[u8]| {
            fs::write(path, sector).unwrap();
            on_fuse_block(kind.into(), path)
        };
        assert_eq!(kind("fuseblk", b"\xeb\x76\x90EXFAT   \0\0"), "fuseblk.exfat");
        assert_eq!(kind("fuseblk", b"\xeb\x52\x90NTFS    \0\0"), "fuseblk");
        assert_eq!(kind("fuseblk", b"short"), "fuseblk");
        assert_eq!(kind("exfat", b"\xeb\x76\x90EXFAT   \0\0"), "exfat");
    }
}
