//! The tests of the specification as data: what is done in a round, and which figures must be steady.
//!
//! Source: SNIA SSS PTS 2.0.2, the sections of the single tests.

use clap::ValueEnum;

/// A test of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PtsTest {
    /// IOPS: 7 mixes × 8 sizes, random
    Iops,
    /// Throughput: sequential reads and writes
    Throughput,
    /// Latency: one operation in flight
    Latency,
    /// Write saturation: 4 KiB random writes without a break
    Wsat,
    /// Demand intensity: response time over operations in flight
    Dirth,
    /// Cross-stimulus recovery: large sequential, small random, large sequential writes
    Xsr,
    /// Host idle recovery: writes with pauses
    Hir,
}

/// What one cell of a round does.
#[derive(Clone, Debug, PartialEq)]
pub struct PtsCell {
    /// Percent of reads.
    pub reads: u8,
    pub bytes: u64,
    pub random: bool,
    /// Operations in flight; none: as the command says.
    pub depth: Option<u32>,
    /// Its time is so many times that of a cell.
    pub times: f64,
    /// Pause before it, times that of a cell.
    pub pause_times: f64,
}

impl PtsCell {
    const fn new(reads: u8, bytes: u64, random: bool) -> Self {
        PtsCell { reads, bytes, random, depth: None, times: 1.0, pause_times: 0.0 }
    }

    /// As the specification writes it: `RND 4K 65/35`.
    pub fn name(&self) -> String {
        let order = if self.random { "RND" } else { "SEQ" };
        format!("{order} {} {}/{}", size(self.bytes), self.reads, 100 - self.reads)
    }
}

/// As the specification writes it: `4K`, `0.5K`.
pub fn size(bytes: u64) -> String {
    if bytes < 1024 { format!("{}K", bytes as f64 / 1024.0) } else { format!("{}K", bytes / 1024) }
}

const KIB: u64 = 1024;
/// Reads, percent.
const MIXES: [u8; 7] = [100, 95, 65, 50, 35, 5, 0];
const SIZES: [u64; 8] = [1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512];
/// Of a quick run.
const QUICK_MIXES: [u8; 3] = [100, 65, 0];
const QUICK_SIZES: [u64; 3] = [128 * KIB, 8 * KIB, 4 * KIB];
const LATENCY_SIZES: [u64; 3] = [8 * KIB, 4 * KIB, 512];
/// Operations in flight of the demand intensity.
const DEMANDS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Pauses of the host idle recovery, of a second of writing; the specification writes 5 s and pauses 5, 10, 25 and 50 s.
const IDLE_PAUSES: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

/// Which figure must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedFigure {
    Iops,
    Bandwidth,
    MeanLatency,
}

impl PtsTest {
    /// The test of a name.
    ///
    /// # Errors
    /// There is none, or why it is not done.
    pub fn named(name: &str) -> Result<PtsTest, String> {
        let known = || {
            let names = PtsTest::value_variants().iter().filter_map(PtsTest::to_possible_value);
            names.map(|value| value.get_name().to_string()).collect::<Vec<_>>().join(", ")
        };
        match name {
            "ecw" => Err("the shares of its composite are in no text that this program was made from; say yours in a plan: \
                iodyno run PLAN with block and mix, or --tests iops,xsr"
                .into()),
            "rwsw" => Err("it replays a workload that was captured elsewhere, which is no part of the specification's text; \
                with a trace of yours: iodyno replay TRACE TARGET"
                .into()),
            name => PtsTest::from_str(name, true).map_err(|_| format!("possible are {}", known())),
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            PtsTest::Iops => "IOPS",
            PtsTest::Throughput => "Throughput",
            PtsTest::Latency => "Latency",
            PtsTest::Wsat => "Write saturation",
            PtsTest::Dirth => "Demand intensity",
            PtsTest::Xsr => "Cross-stimulus recovery",
            PtsTest::Hir => "Host idle recovery",
        }
    }

    /// Whether the whole capacity is written twice before it, after the purge.
    pub fn is_preconditioned(self) -> bool {
        !matches!(self, PtsTest::Wsat | PtsTest::Xsr)
    }

    /// Whether it ends when it is steady; others are a sequence of a fixed length.
    pub fn is_steady_test(self) -> bool {
        !matches!(self, PtsTest::Xsr | PtsTest::Hir)
    }

    /// What is done in a round; sizes below the device's block are left out.
    pub fn cells(self, is_quick: bool, block_bytes: u64) -> Vec<PtsCell> {
        let fits = |bytes: &u64| *bytes >= block_bytes;
        let matrix = |mixes: &[u8], sizes: &[u64]| -> Vec<PtsCell> {
            let each = |reads: u8| {
                sizes.iter().filter(|bytes| fits(bytes)).map(move |bytes| PtsCell::new(reads, *bytes, true))
            };
            mixes.iter().flat_map(|reads| each(*reads)).collect()
        };
        let write = PtsCell::new(0, 4 * KIB, true);
        match self {
            PtsTest::Iops if is_quick => matrix(&QUICK_MIXES, &QUICK_SIZES),
            PtsTest::Iops => matrix(&MIXES, &SIZES),
            PtsTest::Throughput => [1024 * KIB, 128 * KIB]
                .into_iter()
                .flat_map(|bytes| [100, 0].map(|reads| PtsCell::new(reads, bytes, false)))
                .collect(),
            PtsTest::Latency => {
                let one = |cell: PtsCell| PtsCell { depth: Some(1), ..cell };
                matrix(&[100, 65, 0], &LATENCY_SIZES).into_iter().map(one).collect()
            }
            PtsTest::Wsat => vec![write],
            PtsTest::Dirth => {
                let at = |depth: &u32| PtsCell { depth: Some(*depth), ..PtsCell::new(65, 4 * KIB, true) };
                DEMANDS.iter().map(at).collect()
            }
            PtsTest::Xsr => {
                let large = PtsCell::new(0, 1024 * KIB, false);
                let small = PtsCell::new(0, 8 * KIB, true);
                let of = |cell: PtsCell, samples| std::iter::repeat_n(cell, samples);
                of(large.clone(), 8).chain(of(small, 6)).chain(of(large, 8)).collect()
            }
            PtsTest::Hir => {
                let paused = |pause_times: f64| PtsCell { pause_times, ..write.clone() };
                let of = |pause: f64| std::iter::repeat_n(paused(pause), 5);
                of(0.0).chain(IDLE_PAUSES.into_iter().flat_map(of)).chain(of(0.0)).collect()
            }
        }
    }

    /// The cells whose figure must be steady, and which figure.
    pub fn tracked(self, cells: &[PtsCell]) -> (Vec<usize>, TrackedFigure) {
        let position = |reads: u8, bytes: u64| {
            cells.iter().position(|cell| cell.reads == reads && cell.bytes == bytes).into_iter().collect()
        };
        match self {
            PtsTest::Iops => (position(0, 4 * KIB), TrackedFigure::Iops),
            PtsTest::Throughput => ((0..cells.len()).collect(), TrackedFigure::Bandwidth),
            PtsTest::Latency => (position(0, 4 * KIB), TrackedFigure::MeanLatency),
            PtsTest::Wsat => (vec![0], TrackedFigure::Iops),
            // Where most is in flight.
            PtsTest::Dirth => (vec![cells.len() - 1], TrackedFigure::Iops),
            PtsTest::Xsr | PtsTest::Hir => (Vec::new(), TrackedFigure::Iops),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrices_are_those_of_the_specification() {
        let count = |test: PtsTest| test.cells(false, 512).len();
        assert_eq!((count(PtsTest::Iops), count(PtsTest::Throughput), count(PtsTest::Latency)), (56, 4, 9));
        // A device of 4 KiB blocks has no 0.5K.
        assert_eq!(PtsTest::Iops.cells(false, 4096).len(), 49);
        let cells = PtsTest::Iops.cells(false, 512);
        assert_eq!((cells[0].name(), cells[55].name()), ("RND 1024K 100/0".into(), "RND 0.5K 0/100".into()));
        let tracked = |test: PtsTest, quick| {
            let cells = test.cells(quick, 512);
            test.tracked(&cells).0.iter().map(|at| cells[*at].name()).collect::<Vec<_>>()
        };
        for quick in [false, true] {
            assert_eq!(tracked(PtsTest::Iops, quick), ["RND 4K 0/100"]);
            assert_eq!(tracked(PtsTest::Latency, quick), ["RND 4K 0/100"]);
        }
        assert_eq!(tracked(PtsTest::Throughput, false).len(), 4);
    }
}
