//! For how long work waited: pressure stall information of the machine, or of the control group where the machine's
//! cannot be read. Source: `/proc/pressure`, kernel documentation `accounting/psi`; totals are microseconds since boot.

use std::fs;
use std::path::PathBuf;

use iodyno_model::Pressure;

/// Where pressure is reported.
const MACHINE: &str = "/proc/pressure";

/// Time waited since boot, ns: processors; memory, some and full; I/O, some and full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals([u64; 5]);

/// What is read: file of the machine, file of a control group.
const FILES: [(&str, &str); 3] =
    [("cpu", "cpu.pressure"), ("memory", "memory.pressure"), ("io", "io.pressure")];

/// Reads the machine's totals, or those of the group; `None`: neither tells.
pub fn read() -> Option<Totals> {
    let machine = |(name, _): (&str, &str)| fs::read_to_string(format!("{MACHINE}/{name}")).ok();
    totals(FILES.map(machine)).or_else(|| {
        let group: PathBuf = super::control::unified()?;
        totals(FILES.map(|(_, name)| fs::read_to_string(group.join(name)).ok()))
    })
}

fn totals(texts: [Option<String>; 3]) -> Option<Totals> {
    let [cpu, memory, io] = texts;
    let ((cpu, _), memory, io) = (parse(&cpu?)?, parse(&memory?)?, parse(&io?)?);
    Some(Totals([cpu, memory.0, memory.1, io.0, io.1]))
}

/// Some and full, ns. A line of `full` is missing where the kernel has none (processors, before 5.13).
fn parse(text: &str) -> Option<(u64, u64)> {
    let total = |word: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(word))?;
        let micros = line.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
        micros.parse::<u64>().ok().map(|micros| micros * 1000)
    };
    Some((total("some ")?, total("full ").unwrap_or(0)))
}

impl Totals {
    /// What was waited since an earlier reading.
    pub fn since(&self, before: &Totals, interval_ns: u64) -> Pressure {
        let delta = |field: usize| self.0[field].saturating_sub(before.0[field]);
        Pressure {
            cpu_some_ns: delta(0),
            memory_some_ns: delta(1),
            memory_full_ns: delta(2),
            io_some_ns: delta(3),
            io_full_ns: delta(4),
            interval_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IO: &str = "some avg10=0.00 avg60=0.00 avg300=0.00 total=78917\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=32303\n";

    #[test]
    fn totals_are_microseconds() {
        assert_eq!(parse(IO), Some((78_917_000, 32_303_000)));
        assert_eq!(parse("some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n"), Some((5000, 0)));
        assert_eq!(parse("nonsense"), None);
        let texts = [Some("some total=9\n".into()), Some(IO.into()), Some(IO.into())];
        let after = totals(texts).unwrap();
        let seen = after.since(&Totals([1000, 0, 303_000, 0, 0]), 7);
        assert_eq!((seen.cpu_some_ns, seen.memory_full_ns, seen.io_some_ns), (8000, 32_000_000, 78_917_000));
        assert_eq!(totals([None, Some(IO.into()), Some(IO.into())]), None, "a part is not the whole");
    }
}
