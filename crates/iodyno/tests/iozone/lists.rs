//! Telemetry: what lists say is what is written and read, in their order, and their pauses are no part of the time.

use testbed::{Case, Outcome};

use crate::runs::{iozone, left, rows};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("iozone_writes_and_reads_what_lists_say", &[], lists),
        Case::new("iozone_pauses_of_lists_are_no_part_of_the_time", &[], pauses),
    ]
}

/// Offsets in kB and bytes of each operation of a log.
fn operations(log: &str) -> Vec<(u64, u64)> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some((words.first()?.parse().ok()?, words.get(2)?.parse().ok()?))
    };
    log.lines().skip(1).filter_map(line).collect()
}

fn lists() -> Outcome {
    let home = tempfile::tempdir()?;
    let file = |name: &str| home.path().join(name);
    std::fs::write(file("w"), "# three writes\n0 65536\n65536 65536 0\n 131072 4096\n")?;
    std::fs::write(file("r"), "131072 4096\n0 65536\n4096 512\n")?;
    let told = iozone(home.path(), "-X w -Y r -Q -w");
    told.expect(0, &["Using write telemetry file \"w\"", "Using read telemetry file \"r\""]);
    let row = rows(&told)[0];
    assert_eq!(&row[..24], "             132       0", "{told}");
    assert_eq!(row.split_whitespace().count(), 6, "{told}");
    let log = |name: &str| std::fs::read_to_string(file(name)).map(|log| operations(&log));
    for name in ["wol.dat", "rwol.dat"] {
        assert_eq!(log(name)?, [(0, 65536), (64, 65536), (128, 4096)], "{name}");
    }
    for name in ["rol.dat", "rrol.dat"] {
        assert_eq!(log(name)?, [(128, 4096), (0, 65536), (4, 512)], "{name}");
    }
    assert_eq!(std::fs::metadata(file("iozone.tmp"))?.len(), 135_168);
    // Either list alone: the other test goes from the first byte to the last.
    iozone(home.path(), "-X w -i 0").expect(0, &["iozone test complete."]);
    iozone(home.path(), "-Y r").expect(0, &["iozone test complete."]);
    // A list of reads says how large the file is, whatever -s and -r say; -J is of the writes alone.
    let told = iozone(home.path(), "-Y r -s 1m -r 16k -J 1 -i 0 -i 1");
    told.expect(0, &["File size set to 1024 kB", "Compute time 0.001000 seconds for writes."]);
    assert_eq!(&rows(&told)[0][..24], "             132       0", "{told}");
    // What is read beyond what was written is there; streams go by the lists, too.
    std::fs::write(file("r"), "1048576 4096\n")?;
    iozone(home.path(), "-f new -X w -Y r").expect(0, &[]);
    iozone(home.path(), "-t 2 -x -C -X w -Y r").expect(0, &["Child[1] xfer count = 132.00 kB"]);
    assert_eq!(left(home.path()), ["iozone.tmp", "r", "rol.dat", "rrol.dat", "rwol.dat", "w", "wol.dat"]);
    Ok(())
}

/// A list of pauses with them and without: were they counted, the rate would be that of a file in a second.
fn pauses() -> Outcome {
    let home = tempfile::tempdir()?;
    let list: String = (0..8).map(|at| format!("{} 65536 100\n", at * 65536)).collect();
    std::fs::write(home.path().join("w"), list)?;
    let rate = |line: &str| -> f64 {
        let told = iozone(home.path(), line);
        told.expect(0, &["Compute time from telemetry files for writes."]);
        rows(&told)[0].split_whitespace().nth(2).and_then(|word| word.parse().ok()).unwrap_or(0.0)
    };
    let with = rate("-X w -i 0 -+n -+J");
    // 512 kB in at least 0.8 s.
    assert!(with <= 640.0, "{with}");
    let without = rate("-X w -i 0 -+n");
    assert!(without > with, "{without} against {with}");
    Ok(())
}
