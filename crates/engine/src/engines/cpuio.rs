//! `cpuio`: burns CPU instead of doing I/O, a part of the time: the program beside the storage.
//!
//! Each operation is one burst; the pause that makes it the wanted part comes after it and is not timed. It opens
//! nothing and moves nothing.

use std::hint::black_box;

use iodyno_model::{Diagnostic, EngineTrait, Job, Verb, VerbSet};

use super::{EngineFacts, Failure, Setup, SyncEngine, check_values, setting, spec, whole_number};
use crate::clock::{self, NEVER, Tick};
use crate::io::{Files, Io};
use crate::random::Random;

/// Length of a burst where none is given, µs.
const CHUNK_US: u64 = 50_000;
/// Numbers that are sorted at once.
const NUMBERS: usize = 4096;

/// A busy program.
pub struct Cpuio {
    burst_ns: u64,
    pause_ns: u64,
    /// What is sorted, where sorting burns.
    numbers: Vec<u64>,
    random: Random,
}

impl SyncEngine for Cpuio {
    const FACTS: EngineFacts = EngineFacts {
        about: "burns CPU a part of the time instead of doing I/O",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Spin]),
        settings: &[
            spec("load_percent", "how much of one CPU, 1 to 100 (must be given)"),
            spec("chunk_us", "length of one burst, in µs (default 50000)"),
            spec("mode", "noop or qsort: what burns (default noop)"),
        ],
        uses_files: false,
        is_slow: true,
        check: Self::check,
        traits: &[EngineTrait::KeepsProcessorBusy],
        ..EngineFacts::named("cpuio")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let load = whole_number(setup.job, "load_percent").unwrap_or(100).clamp(1, 100);
        let burst_ns = whole_number(setup.job, "chunk_us").unwrap_or(CHUNK_US) * 1000;
        let sorts = setting(setup.job, "mode") == Some("qsort");
        Ok(Cpuio {
            burst_ns,
            pause_ns: burst_ns * (100 - load) / load,
            numbers: vec![0; if sorts { NUMBERS } else { 0 }],
            random: Random::from_seed(setup.seed, u64::from(setup.worker)),
        })
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        let end = clock::now() + self.burst_ns;
        while clock::now() < end {
            self.burn();
        }
        io.bytes as i64
    }

    fn after_operation(&mut self, until: Tick) {
        let pause =
            self.pause_ns.min(if until == NEVER { u64::MAX } else { until.saturating_sub(clock::now()) });
        if pause > 0 {
            // In one piece: a signal that ends the run ends it.
            clock::sleep_ns(pause);
        }
    }
}

impl Cpuio {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let percent = |value: &str| value.parse::<u64>().is_ok_and(|load| (1..=100).contains(&load));
        let mut wrong = check_values(job, &["load_percent"], percent, "say 1 to 100");
        let number = |value: &str| value.parse::<u64>().is_ok_and(|us| us > 0);
        wrong.extend(check_values(job, &["chunk_us"], number, "say a number of microseconds"));
        let mode = |value: &str| matches!(value, "noop" | "qsort");
        wrong.extend(check_values(job, &["mode"], mode, "say noop or qsort"));
        if setting(job, "load_percent").is_none() {
            let message = "engine cpuio: how much of a CPU it takes is not said";
            wrong.push(Diagnostic::error(&job.origin, message).hint("say load_percent, 1 to 100"));
        }
        wrong
    }

    fn burn(&mut self) {
        if self.numbers.is_empty() {
            for _ in 0..1000 {
                std::hint::spin_loop();
            }
            return;
        }
        for number in &mut self.numbers {
            *number = self.random.next();
        }
        self.numbers.sort_unstable();
        black_box(&mut self.numbers);
    }
}
