//! Lies that hide behind something true: a depth that was handed over, a neighbour's bytes, a sync at the end, a second
//! device; and honest runs that look like lies. Read as a user reads them: in the text of the tool that was asked.

use std::path::{Path, PathBuf};

use iodyno_model::Severity;
use testbed::Skip;

use crate::ground::{BTRFS, DEEP, DISK, Disk, STAGE, plan};
use crate::program;
use crate::stage::{Lie, StagedFindings, heard, run};
use crate::times;

/// The lies of this file.
pub fn lies() -> Vec<Lie> {
    vec![
        Lie::new(13, "a depth that was handed over and never in flight", DEEP, || deep(0), || deep(1))
            .part("handed_over")
            .besides(STAGE)
            .at_least(Severity::Doubtful),
        Lie::new(13, "a depth beyond the queue of the device", DEEP, || queued(32), || queued(4))
            .part("beyond_queue")
            .besides(STAGE)
            .at_least(Severity::Doubtful),
        Lie::new(1, "cached reads beside a neighbour's", DISK, || beside(false), || beside(true))
            .part("beside_others")
            .besides(NEIGHBOUR),
        Lie::new(2, "rewriting in memory with one sync at the end", DISK, || rewrite(20), || rewrite(1))
            .part("overwritten")
            .besides(STAGE)
            .twin_of(&[7, 8]),
        Lie::new(
            2,
            "writes that stay in memory beside a neighbour's",
            DISK,
            || written(""),
            || written("finish = { sync = \"fsync\" }"),
        )
        .part("beside_others")
        .besides(NEIGHBOUR),
        Lie::new(8, "a rate that falls, and a flush at the end", DISK, times::credit, flush)
            .part("flush")
            .besides(STAGE)
            .twin_of(&[7])
            .twin_alone(),
        Lie::new(1, "cached reads over two devices", DISK, || across(false), || across(true))
            .part("two_devices")
            .besides(STAGE),
        Lie::new(3, "the written part of a sparse file", DISK, || sparse(false), || sparse(true))
            .part("span")
            .besides(STAGE),
        Lie::new(4, "data that was not compressed", BTRFS, || reserved(false), || reserved(true))
            .part("reserved")
            .besides(STAGE),
    ]
}

/// A neighbour is there, and it is told.
const NEIGHBOUR: &[u8] = &[6, 19, 22];

/// Runs fio's command line where the data lies; what it tells its user.
fn fio(folder: &Path, arguments: &str) -> StagedFindings {
    let home = tempfile::TempDir::new()?;
    let json = home.path().join("record.json");
    let words = ["fio", "--name=job", "--thread", "--randrepeat=0"].into_iter().chain(arguments.split(' '));
    let mut command = program::iodyno(words);
    command.env("IODYNO_ALSO", format!("json={}", json.display())).current_dir(folder);
    let told = program::told(command);
    if told.code() != 0 {
        return Err(told.to_string().into());
    }
    heard(&told, &json)
}

/// Eight reads in flight by libaio, which is asynchronous past the page cache only.
fn deep(direct: u8) -> StagedFindings {
    let disk = Disk::new(256, 2000)?.formatted("ext4", "")?;
    fio(disk.folder(), "--filename=data --rw=write --bs=1m --size=128m --end_fsync=1")?;
    fio(
        disk.folder(),
        &format!(
            "--filename=data --rw=randread --bs=4k --size=128m --ioengine=libaio --iodepth=8 --direct={direct} \
             --runtime=2 --time_based"
        ),
    )
}

/// The queue of a device, as short as it was made. Dropping it makes it as long as it was: a loop device keeps it for
/// whoever takes it next.
struct Queue {
    path: PathBuf,
    before: String,
}

impl Queue {
    fn shortened(device: &Path, requests: u32) -> Result<Queue, Skip> {
        let name = device.file_name().unwrap_or_default();
        let path = Path::new("/sys/block").join(name).join("queue/nr_requests");
        let failed = |error: std::io::Error| Skip::new(format!("{}: {error}", path.display()));
        let before = std::fs::read_to_string(&path).map_err(failed)?;
        std::fs::write(&path, requests.to_string()).map_err(failed)?;
        Ok(Queue { path, before })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.path, self.before.trim());
    }
}

/// So many reads in flight on a disk whose queue takes four.
fn queued(depth: u32) -> StagedFindings {
    let disk = Disk::new(256, 2000)?.formatted("ext4", "")?;
    let _queue = Queue::shortened(disk.device(), 4)?;
    let job = format!(
        "engine = \"libaio\"\ndepth = {depth}\ndo = \"read\"\npick = \"random\"\nuntil = {{ time = \"1s\" }}"
    );
    run(&plan(disk.folder(), "size = \"64MiB\"\nprepare = \"filled\"\ndirect = true", &job))
}

/// Reads of a file in the page cache, or past it, while a neighbour reads far more from the same disk.
fn beside(direct: bool) -> StagedFindings {
    let disk = Disk::new(512, 200)?.formatted("ext4", "")?;
    let target = format!("size = \"32MiB\"\nprepare = \"filled\"\ndirect = {direct}");
    let job = "do = \"read\"\npick = \"random\"\nblock = \"64KiB\"\nrate = \"200/s\"\nopen_loop = false\nuntil = \"2s\"";
    with_neighbour(disk.folder(), "read", || run(&plan(disk.folder(), &target, job)))
}

/// Writes into the page cache while a neighbour writes far more to the same disk, past it.
fn written(finish: &str) -> StagedFindings {
    let disk = Disk::new(512, 200)?.formatted("ext4", "")?;
    let job = format!(
        "do = \"write\"\nblock = \"64KiB\"\nrate = \"200/s\"\nopen_loop = false\nuntil = \"2s\"\n{finish}"
    );
    let target = "size = \"64MiB\"\ncreate = true";
    with_neighbour(disk.folder(), "write", || run(&plan(disk.folder(), target, &job)))
}

/// Even writes into the page cache, and a flush at the end that takes many times as long.
fn flush() -> StagedFindings {
    let disk = Disk::new(256, 20_000)?.formatted("ext4", "")?;
    let job =
        "do = \"write\"\nblock = \"64KiB\"\nmeasure = { row = \"50ms\" }\nfinish = { sync = \"fsync\" }";
    run(&plan(disk.folder(), "size = \"96MiB\"\ncreate = true", job))
}

/// Runs something beside a neighbour, and hears it without what is true of such a run: that somebody else uses the disk,
/// and what that does to the rate.
fn with_neighbour(folder: &Path, verb: &str, it: impl FnOnce() -> StagedFindings) -> StagedFindings {
    let mut told = neighboured(folder, verb, it)?;
    told.retain(|finding| !NEIGHBOURS.contains(&finding.code));
    Ok(told)
}

/// What is true of a run beside a neighbour on the same disk.
pub const NEIGHBOURS: [u8; 5] = [7, 8, 9, 12, 26];

/// Runs something while a neighbour reads or writes another file of a folder past the page cache, all the time.
pub fn neighboured(folder: &Path, verb: &str, it: impl FnOnce() -> StagedFindings) -> StagedFindings {
    fio(folder, "--filename=other --rw=write --bs=1m --size=64m --end_fsync=1")?;
    let words = ["fio", "--name=neighbour", "--thread", "--time_based", "--runtime=60", "--filename=other"];
    let mut neighbour = program::iodyno(words);
    neighbour.args([&format!("--rw={verb}"), "--bs=64k", "--size=64m", "--direct=1"]).current_dir(folder);
    let neighbour = program::Running::start(neighbour);
    let told = it();
    neighbour.signal_all(libc::SIGKILL);
    let _ = neighbour.outcome();
    told
}

/// Writes of so many times a file's size into the page cache, and one sync at the end.
fn rewrite(times: u32) -> StagedFindings {
    let disk = Disk::new(256, 500)?.formatted("ext4", "")?;
    let size = if times > 1 { 4 } else { 80 };
    let arguments = format!(
        "--filename=data --rw=write --bs=64k --size={size}m --loops={times} --end_fsync=1 --fallocate=none"
    );
    fio(disk.folder(), &arguments)
}

/// Reads in turn of two files on two disks.
fn across(direct: bool) -> StagedFindings {
    let one = Disk::new(128, 500)?.formatted("ext4", "")?;
    let two = Disk::new(128, 500)?.formatted("ext4", "")?;
    let target = |name: &str, disk: &Disk| {
        format!(
            "[target.{name}]\nfile = \"{}/data\"\nsize = \"16MiB\"\nprepare = \"filled\"\ndirect = {direct}\n",
            disk.folder().display()
        )
    };
    run(&format!(
        "{}{}[[phase]]\n[[phase.job]]\non = [\"one\", \"two\"]\ndo = \"read\"\npick = \"random\"\n\
         until = {{ time = \"1s\" }}\n",
        target("one", &one),
        target("two", &two)
    ))
}

/// Reads of the part of a sparse file that is written, through the page cache on purpose; or of all of it.
fn sparse(is_written: bool) -> StagedFindings {
    let disk = Disk::new(256, 500)?.formatted("ext4", "")?;
    let data = disk.folder().join("data");
    std::fs::write(&data, vec![7; 16 << 20])?;
    let file = std::fs::File::options().write(true).open(&data)?;
    file.set_len(128 << 20)?;
    file.sync_all()?;
    let span = if is_written { "16MiB" } else { "128MiB" };
    let job = format!("span = \"{span}\"\ndo = \"read\"\npick = \"random\"\nuntil = {{ time = \"1s\" }}");
    let mut told = run(&plan(disk.folder(), "direct = false", &job))?;
    // It is in the page cache, and that is told.
    told.retain(|finding| finding.code != 1);
    Ok(told)
}

/// Data that compresses, on a file system that compresses; of space that was reserved before it keeps it as it is.
fn reserved(is_reserved: bool) -> StagedFindings {
    let disk = Disk::new(512, 500)?.formatted("btrfs", "compress=zstd")?;
    let fallocate = if is_reserved { "posix" } else { "none" };
    let arguments = format!(
        "--filename=data --rw=write --bs=128k --size=64m --end_fsync=1 --fallocate={fallocate} --zero_buffers"
    );
    fio(disk.folder(), &arguments)
}
