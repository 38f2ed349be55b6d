//! Lies of the page cache: reads that it answered, writes that it took.

use crate::ground::{self, DISK};
use crate::stage::{Lie, Told, run};

/// The lies of this file.
pub fn lies() -> Vec<Lie> {
    vec![Lie::new(1, "reads served by the page cache", DISK, cached_reads, honest_reads).besides(&[22])]
}

/// Random reads of a file that was just laid out, through the cache or past it.
fn reads(direct: bool) -> Told {
    let disk = ground::ext4()?;
    run(&format!(
        r#"
        [target.data]
        file = "{}/data"
        size = "32MiB"
        prepare = "filled"
        direct = {direct}
        [[phase]]
        [[phase.job]]
        on = "data"
        do = "read"
        pick = "random"
        until = {{ time = "3s" }}
        "#,
        disk.folder().display()
    ))
}

fn cached_reads() -> Told {
    reads(false)
}

fn honest_reads() -> Told {
    reads(true)
}
