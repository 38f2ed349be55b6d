//! Lies of what lies beneath the page cache: holes, soft data, warm devices, other shapes, flushes, limits and spans.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use iodyno_model::Severity;
use testbed::fuse::Config;
use testbed::sandbox::Mount;
use testbed::{Need, Skip};

use crate::ground::{self, BTRFS, DEEP, DISK, Disk, STAGE, plan};
use crate::program;
use crate::stage::{Lie, StagedFindings, run};

/// The lies of this file.
pub fn lies() -> Vec<Lie> {
    vec![
        Lie::new(3, "reads of holes", DISK, || reads("sparse"), || reads("filled")).besides(STAGE),
        Lie::new(4, "data that compresses, on storage that compresses", BTRFS, || soft(95), || soft(0))
            .besides(STAGE),
        Lie::new(
            5,
            "a span that fits the device's cache",
            DISK,
            || again(false, 100_000),
            || again(true, 1500),
        )
        .besides(STAGE),
        Lie::new(13, "a depth that was never reached", DEEP, || deep("psync"), || deep("io_uring"))
            .besides(STAGE)
            .at_least(Severity::Doubtful),
        Lie::new(16, "amplification", DISK, || small(512), || small(4096)).besides(STAGE),
        Lie::new(17, "flushes that cost nothing", DISK, || flushes("barrier=0"), || flushes(""))
            .besides(STAGE),
        Lie::new(19, "the kernel reshaped the I/O", DISK, || sequential(false), || sequential(true))
            .besides(STAGE),
        Lie::new(22, "a target that is not what it seems", &[Need::Root, Need::Mount], memory, disk)
            .besides(&[6])
            .at_least(Severity::Doubtful),
        Lie::new(24, "not the peak", DEEP, || sweep(4), || sweep(32)).besides(STAGE),
        Lie::new(
            31,
            "one shared file taken for the storage",
            DISK,
            || grow("data"),
            || grow("data.{worker}"),
        )
        .besides(STAGE)
        .at_least(Severity::Doubtful),
        Lie::new(32, "faster than the way to the storage", DISK, || ceiling("1Mbit"), || ceiling("400Gbit"))
            .besides(STAGE)
            .at_least(Severity::Invalid),
        Lie::new(25, "short-stroked", DISK, || stroke("25MiB"), || stroke("rest")).besides(STAGE),
    ]
}

const RANDOM: &str = "do = \"read\"\npick = \"random\"\nuntil = { time = \"1s\" }";

/// Reads of a file that holds something, or nothing.
fn reads(prepare: &str) -> StagedFindings {
    let disk = ground::ext4()?;
    let target = format!("size = \"32MiB\"\nprepare = \"{prepare}\"\ndirect = true");
    run(&plan(disk.folder(), &target, RANDOM))
}

/// Writes of data of which so much compresses away.
fn soft(percent: u8) -> StagedFindings {
    let disk = Disk::new(256, 2000)?.formatted("btrfs", "compress=zstd")?;
    let job = format!(
        "do = \"write\"\nblock = \"128KiB\"\npayload = {{ compress = {percent} }}\nfinish = {{ sync = \"fsync\" }}"
    );
    run(&plan(disk.folder(), "size = \"64MiB\"\ncreate = true", &job))
}

/// The same small span of 512 places again and again, on a disk whose host caches it, or does not. Counted, so that however
/// busy the machine is, each pass is there; so many, that the later passes fill ten rows where a cached read takes 5 µs.
fn again(direct_io: bool, reads: u32) -> StagedFindings {
    let config = Config { bytes: 64 << 20, direct: false, ..Config::constant(2_000_000) };
    let disk = Disk::with(config, direct_io)?;
    run(&format!(
        "[target.disk]\ndevice = \"{}\"\ndirect = true\n[[phase]]\n[[phase.job]]\non = \"disk\"\nspan = \"2MiB\"\n\
         measure = {{ row = \"50ms\" }}\ndo = \"read\"\npick = \"random\"\nuntil = {{ operations = {reads} }}\n",
        disk.device().display()
    ))
}

/// Eight in flight, with an engine that can or cannot.
fn deep(engine: &str) -> StagedFindings {
    let disk = Disk::new(256, 2000)?.formatted("ext4", "")?;
    let job = format!("engine = \"{engine}\"\ndepth = 8\n{RANDOM}");
    run(&plan(disk.folder(), "size = \"64MiB\"\nprepare = \"filled\"\ndirect = true", &job))
}

/// Random reads through the page cache that are smaller than its pages, or as large.
fn small(block: u64) -> StagedFindings {
    let disk = ground::ext4()?;
    let target = "size = \"128MiB\"\nprepare = \"filled\"\ninvalidate = true\nadvise = true";
    run(&plan(disk.folder(), target, &format!("block = {block}\n{RANDOM}")))
}

/// A sync after every write, on a file system that hands it on or keeps it to itself.
fn flushes(options: &str) -> StagedFindings {
    let disk = Disk::new(256, 500)?.formatted("ext4", options)?;
    let target = "size = \"32MiB\"\nprepare = \"filled\"\ndirect = true";
    let job = "do = \"write\"\npick = \"random\"\nevery = { fdatasync = 1 }\nuntil = { time = \"1s\" }";
    run(&plan(disk.folder(), target, job))
}

/// Small reads one after the other, past the cache or through it, where they are read ahead.
fn sequential(direct: bool) -> StagedFindings {
    let disk = ground::ext4()?;
    let target = format!("size = \"64MiB\"\nprepare = \"filled\"\ninvalidate = true\ndirect = {direct}");
    run(&plan(disk.folder(), &target, "do = \"read\"\nuntil = { bytes = \"16MiB\" }"))
}

/// A file system in memory.
fn memory() -> StagedFindings {
    let mount = Mount::tmpfs(64 << 20)?;
    run(&plan(mount.path(), "size = \"32MiB\"\nprepare = \"filled\"", RANDOM))
}

/// A file on the machine's own disk.
fn disk() -> StagedFindings {
    let home = program::scratch();
    if !is_on_disk(home.path()) {
        return Err(Skip::new("the build does not lie on a plain disk").into());
    }
    run(&plan(home.path(), "size = \"64MiB\"\nprepare = \"filled\"\ndirect = true\nremove = true", RANDOM))
}

/// Four workers that make a file longer, past the page cache: on one file each waits for the lock that another holds while
/// the disk writes.
fn grow(file: &str) -> StagedFindings {
    let disk = Disk::new(256, 4000)?.formatted("ext4", "")?;
    run(&format!(
        "[target.data]\nfile = \"{}/{file}\"\ncreate = true\ndirect = true\n[[phase]]\n[[phase.job]]\non = \"data\"\n\
         workers = 4\ndo = \"write\"\nuntil = {{ time = \"2s\" }}\n",
        disk.folder().display()
    ))
}

/// 128 MiB past the cache, and what the way is said to carry.
fn ceiling(rate: &str) -> StagedFindings {
    let disk = ground::ext4()?;
    let target = "size = \"128MiB\"\nprepare = \"filled\"\ndirect = true";
    let job = "block = \"128KiB\"\ndo = \"read\"\nuntil = { bytes = \"128MiB\" }";
    run(&format!("ceiling = \"{rate}\"\n{}", plan(disk.folder(), target, job)))
}

/// Whether a directory is neither in memory nor on an overlay.
fn is_on_disk(path: &Path) -> bool {
    const NONE: [i64; 3] = [0x0102_1994, 0x794c_7630, 0x6573_5546];
    let name = CString::new(path.as_os_str().as_bytes()).expect("a path");
    // SAFETY: the name ends with a zero byte, and the structure is large enough for the answer.
    let kind = unsafe {
        let mut facts: libc::statfs = std::mem::zeroed();
        (libc::statfs(name.as_ptr(), &mut facts) == 0).then_some(facts.f_type as i64)
    };
    kind.is_some_and(|kind| !NONE.contains(&kind))
}

/// A sweep over depth that ends before the disk's eight servers are busy, or well after.
fn sweep(most: u32) -> StagedFindings {
    let disk = Disk::new(256, 4000)?.formatted("ext4", "")?;
    let job = "engine = \"io_uring\"\ndo = \"read\"\npick = \"random\"\nuntil = { time = \"1s\" }\n";
    let target = "size = \"128MiB\"\nprepare = \"filled\"\ndirect = true";
    let sweep = format!("[[sweep]]\ndepth = {{ from = 1, to = {most}, times = 2 }}\n");
    run(&(plan(disk.folder(), target, job) + &sweep))
}

/// Random reads of so much of a device that is meant as a whole.
fn stroke(span: &str) -> StagedFindings {
    let disk = Disk::new(256, 500)?;
    run(&format!(
        "intent = \"whole device\"\n[target.disk]\ndevice = \"{}\"\ndirect = true\n[[phase]]\n[[phase.job]]\n\
         on = \"disk\"\nspan = \"{span}\"\n{RANDOM}\n",
        disk.device().display()
    ))
}
