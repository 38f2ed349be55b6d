//! The access specifications that IOMeter 1.1.0 begins with.
//!
//! Source: the list of a public reimplementation that says it mirrors the original's; not compared with IOMeter itself.

use super::{DesignLine, Specification};

/// Sizes, their names, shares of reads, and whether they are aligned and random; all others are sequential, from any sector.
const KINDS: &[(u64, &str, &[u64], bool)] = &[
    (512, "512 B", &[100, 75, 50, 25, 0], false),
    (4096, "4 KiB", &[100, 75, 50, 25, 0], false),
    (4096, "4 KiB aligned", &[100, 50, 0], true),
    (16_384, "16 KiB", &[100, 75, 50, 25, 0], false),
    (32_768, "32 KiB", &[100, 75, 50, 25, 0], false),
    (65_536, "64 KiB", &[100, 50, 0], false),
    (262_144, "256 KiB", &[100, 50, 0], false),
];

/// The list, in its order; `Idle`, which does nothing, is left out.
pub fn stock() -> Vec<Specification> {
    let alone = |name: &str, line: DesignLine| Specification {
        name: name.into(),
        assigned: false,
        lines: vec![line],
    };
    let mut list = vec![alone("Default", DesignLine { bytes: 65_536, ..DesignLine::default() })];
    for (bytes, size, shares, aligned) in KINDS {
        for reads in *shares {
            let (random, align) = if *aligned { (100, *bytes) } else { (0, 0) };
            let name = format!("{size}; {reads}% Read; {random}% random");
            list.push(alone(
                &name,
                DesignLine { bytes: *bytes, reads: *reads, random, align, ..DesignLine::default() },
            ));
        }
    }
    list.push(all_in_one(&list[1..]));
    list
}

/// All of them together; the first ones have what is left of 100 percent.
fn all_in_one(list: &[Specification]) -> Specification {
    let count = list.len() as u64;
    let lines = list.iter().flat_map(|known| &known.lines).enumerate();
    let share = |index: usize| 100 / count + u64::from((index as u64) < 100 % count);
    let lines = lines.map(|(index, line)| DesignLine { percent: share(index), ..line.clone() }).collect();
    Specification { name: "All in one".into(), assigned: false, lines }
}
