//! A probe: some reads, writes, flushes and names, one at a time, past the page cache where the file system allows it.
//!
//! What it keeps is small: latencies, without series and without witnesses, since a canary makes fifty thousand of them a year.

use iodyno_dialect::Keep;
use iodyno_engine::LastingDevice;
use iodyno_engine::world::World;
use iodyno_model::{
    Device, Diagnostic, Direct, Extent, Histogram, Intent, Item, Items, Job, Offset, Open, OpenMode,
    Operation, Origin, Phase, Pick, Plan, Prepare, Record, RunStart, Script, Size, Target, TargetKind, Verb,
    Workload, units,
};

use super::WatchArgs;
use super::points::CanaryPoint;
use crate::experiment::Experiment;
use crate::leftovers;
use crate::runs::one;
use crate::session::say;
use crate::simulated_device::{self, put_plan_on};
use crate::work_directory::{MadePath, free_bytes};

/// Figures of a probe: their names, and the labels of the operations that they are of.
pub const FIGURES: [(&str, &[&str]); 4] = [
    ("read", &["read"]),
    ("write", &["write"]),
    ("fsync", &["fsync"]),
    ("names", &["create", "stat", "unlink"]),
];
/// What is told of each: half and a tenth of its operations take longer.
pub const QUANTILES: [f64; 2] = [50.0, 90.0];
/// Rows over time.
pub const SERIES: usize = FIGURES.len() * QUANTILES.len();

/// Operations of each kind. Chosen: a tenth of them is three; a disk does them in a second.
const PASSES: u64 = 32;
const BLOCK_BYTES: u64 = 4096;
/// Names that come and go.
const NAMES: u64 = 64;
const DATA: usize = 0;
const MADE: usize = 1;
/// One that makes a call at a time, names too.
const ENGINE: &str = "psync";

/// Makes probes of a storage.
pub struct Prober {
    /// What the history calls its runs.
    pub name: String,
    /// The directory that is made; none: nothing is touched.
    work: String,
    size_bytes: u64,
    device: Option<Device>,
}

/// A run as the history keeps it.
pub struct KeptProbe {
    pub plan: Plan,
    pub started: RunStart,
    pub record: Record,
}

/// What a probe came to.
pub struct ProbeResult {
    pub point: CanaryPoint,
    pub elapsed_ns: u64,
    pub kept: KeptProbe,
}

impl Prober {
    /// # Errors
    /// No directory that files can be made in, too little room, or no such device.
    pub fn of(world: &World, words: &WatchArgs) -> Result<Prober, Vec<Diagnostic>> {
        if words.size < super::LEAST_BYTES {
            let wrong = Diagnostic::error(&Origin::argument("--size"), "this is too small to read at random");
            return Err(one(wrong.hint("1MiB at least; more than the device's own cache tells most")));
        }
        let size_bytes = words.size / super::LEAST_BYTES * super::LEAST_BYTES;
        if let Some(device) = &words.on {
            if words.times.is_none() && !words.status && !words.accept {
                let wrong = Diagnostic::error(
                    &Origin::argument("--on"),
                    "virtual time passes at once, so it would not end",
                );
                return Err(one(wrong.hint("--times 500 says how many probes")));
            }
            simulated_device::check_world(world, "--on").map_err(one)?;
            let device = simulated_device::named(device, "--on")?;
            let name = format!("watch, simulated on {}", device.name);
            return Ok(Prober { name, work: "/simulated".into(), size_bytes, device: Some(device) });
        }
        let directory = words.directory.as_deref().unwrap_or_default();
        let origin = Origin::argument(directory);
        // The same directory by another name is the same.
        let known = std::fs::canonicalize(directory)
            .map_or_else(|_| directory.to_string(), |path| path.display().to_string());
        if !(words.status || words.accept) {
            let free = free_bytes(world, directory, "/srv").map_err(one)?;
            if size_bytes > free {
                let message = format!("{} are free for the file", units::binary(free));
                return Err(one(Diagnostic::error(&origin, message).hint("--size says how large it is")));
            }
        }
        let name = format!("watch {known}");
        Ok(Prober { name, work: leftovers::temporary(&known, "watch"), size_bytes, device: None })
    }

    pub fn is_simulated(&self) -> bool {
        self.device.is_some()
    }

    /// The directory of the probes, which goes with the guard.
    ///
    /// # Errors
    /// The exit status; the reason was printed.
    pub fn make_directory(&self) -> Result<MadePath, u8> {
        if self.is_simulated() {
            return Ok(MadePath(String::new()));
        }
        std::fs::create_dir(&self.work).map_err(|error| {
            say(crate::sink::unwritable(&self.work, &error));
            2
        })?;
        Ok(MadePath(self.work.clone()))
    }

    /// What runs the probes: nothing of it is kept by itself, and no witness watches.
    pub fn experiment<'a>(&self, world: &'a mut World, arguments: &[String]) -> Experiment<'a> {
        let mut experiment = Experiment::new(world, "watch", arguments);
        experiment.keep = Keep { wanted: Some(false), ..Keep::default() };
        experiment.is_unwatched = true;
        experiment.device = self.device.as_ref().map(|_| LastingDevice::default());
        experiment
    }

    /// Makes one; `number` is how many there were.
    ///
    /// # Errors
    /// The exit status; what failed was printed, unless a signal ended it.
    pub fn probe(&self, experiment: &mut Experiment<'_>, number: usize) -> Result<ProbeResult, u8> {
        let plan = self.plan(number).map_err(|wrong| {
            say(wrong);
            2
        })?;
        let (started, mut record) = experiment.run(plan.clone(), "the probe")?;
        let elapsed_ns = record.phases.iter().map(|phase| phase.elapsed_ns).sum();
        let values = values(&record);
        for job in record.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
            job.tally.series = Default::default();
        }
        let point = CanaryPoint { at_unix_ns: 0, values };
        Ok(ProbeResult { point, elapsed_ns, kept: KeptProbe { plan, started, record } })
    }

    fn plan(&self, number: usize) -> Result<Plan, Diagnostic> {
        let origin = Origin::argument("DIR");
        let open = Open { create: true, ..Open::default() };
        let data = Target {
            name: "data".into(),
            kind: TargetKind::File {
                path: format!("{}/data", self.work),
                size: Extent::Bytes(self.size_bytes),
            },
            open: Open { mode: OpenMode::ReadWrite, direct: Direct::IfPossible, ..open.clone() },
            prepare: if self.is_laid_out() { Prepare::AsItIs } else { Prepare::Filled },
            remove: false,
            origin: origin.clone(),
        };
        let items = Items { count: NAMES, size: Size::Fixed(0), present_percent: 0.0, ..Items::default() };
        let names = Target {
            name: "names".into(),
            kind: TargetKind::FileSet { root: format!("{}/names", self.work), items },
            open: Open { mode: OpenMode::AsNeeded, parents: true, ..open },
            prepare: Prepare::AsItIs,
            remove: false,
            origin,
        };
        let mut job = Job::new("probe", ENGINE, vec![DATA, MADE], Workload::Script(script()));
        job.limit.passes = Some(PASSES);
        let mut plan = Plan {
            name: self.name.clone(),
            // Other places each time, the same in each canary.
            seed: number as u64 + 1,
            intent: Intent::Device,
            targets: vec![data, names],
            phases: vec![Phase { name: "probe".into(), jobs: vec![job], ..Phase::default() }],
            ..Plan::default()
        };
        if let Some(device) = &self.device {
            put_plan_on(&mut plan, device, "--on")?;
        }
        Ok(plan)
    }

    /// Whether the file is there in its length.
    fn is_laid_out(&self) -> bool {
        std::fs::metadata(format!("{}/data", self.work)).is_ok_and(|facts| facts.len() == self.size_bytes)
    }
}

fn script() -> Script {
    let moved = |verb| {
        let offset = Offset::Drawn { pick: Pick::Uniform, span_bytes: 0 };
        Operation { offset, size: Size::Fixed(BLOCK_BYTES), ..Operation::on(verb, DATA) }
    };
    let named = |verb| Operation { item: Item::Existing(Pick::Uniform), ..Operation::on(verb, MADE) };
    let steps = vec![
        moved(Verb::Read).step("read"),
        moved(Verb::Write).step("write"),
        Operation::on(Verb::Fsync, DATA).step("fsync"),
        Operation { item: Item::Missing(Pick::Uniform), ..Operation::on(Verb::Create, MADE) }.step("create"),
        named(Verb::Stat).step("stat"),
        named(Verb::Unlink).step("unlink"),
    ];
    Script { steps, ..Script::default() }
}

/// The figures of a probe, each quantile of each in turn, ns; none: it did none of them.
pub fn values(record: &Record) -> [Option<f64>; SERIES] {
    let lines = || record.phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.tally.lines);
    let mut values = [None; SERIES];
    for (figure, (_, labels)) in FIGURES.iter().enumerate() {
        let mut latency = Histogram::default();
        lines()
            .filter(|line| labels.contains(&line.label.as_str()))
            .for_each(|line| latency.merge(&line.latency));
        for (at, quantile) in QUANTILES.iter().enumerate() {
            let value = (!latency.is_empty()).then(|| latency.percentile(*quantile) as f64);
            values[figure * QUANTILES.len() + at] = value;
        }
    }
    values
}

/// The name of a row and its quantile: `fsync`, 90.
pub fn series_name(row: usize) -> (&'static str, f64) {
    (FIGURES[row / QUANTILES.len()].0, QUANTILES[row % QUANTILES.len()])
}
