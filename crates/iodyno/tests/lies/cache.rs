//! Lies of the page cache: reads that it answered, writes that it took, names that it knew.

use std::fs::File;

use testbed::fuse::Config;

use crate::ground::{self, DISK, Disk, STAGE, plan};
use crate::stage::{Lie, StagedFindings, run};

/// The lies of this file.
pub fn lies() -> Vec<Lie> {
    vec![
        Lie::new(1, "reads served by the page cache", DISK, || reads(false), || reads(true)).besides(STAGE),
        Lie::new(
            2,
            "writes absorbed by memory",
            DISK,
            || writes(""),
            || writes("finish = { sync = \"fsync\" }"),
        )
        .besides(STAGE),
        Lie::new(21, "metadata from the caches of names", DISK, || stats(false), || stats(true))
            .besides(NAMES),
    ]
}

/// What is true of the stage, and that a few thousand names are looked up in a moment.
const NAMES: &[u8] = &[22, 23];

/// Random reads of a file that was just laid out, through the cache or past it.
fn reads(direct: bool) -> StagedFindings {
    let disk = ground::ext4()?;
    let target = format!("size = \"32MiB\"\nprepare = \"filled\"\ndirect = {direct}");
    run(&plan(disk.folder(), &target, "do = \"read\"\npick = \"random\"\nuntil = { time = \"1s\" }"))
}

/// Writes of less than memory holds, with or without a flush at the end.
fn writes(finish: &str) -> StagedFindings {
    let disk = Disk::new(256, 4000)?.formatted("ext4", "")?;
    let job = format!("do = \"write\"\nblock = \"256KiB\"\n{finish}");
    run(&plan(disk.folder(), "size = \"128MiB\"\ncreate = true", &job))
}

/// Looks at names that were just made; the caches are dropped before, or they are not.
fn stats(drop_caches: bool) -> StagedFindings {
    // So slow that reading the inodes takes longer than starting.
    let config = Config { bytes: 256 << 20, ..Config::constant(8_000_000) };
    let disk = Disk::with(config, true)?.formatted("ext4", "")?;
    let set = disk.folder().join("set");
    std::fs::create_dir(&set)?;
    for item in 0..8000 {
        File::create(set.join(item.to_string()))?;
    }
    run(&format!(
        "[target.set]\nfiles = \"{}\"\ncount = 8000\n[[phase]]\ndrop_caches = {drop_caches}\n[[phase.job]]\non = \"set\"\n\
         do = \"stat\"\npick = \"random\"\n",
        set.display()
    ))
}
