//! A design: what the page of that name has in its fields, as IOMeter has it in its window.
//!
//! Every worker works on each of its targets, with as many outstanding operations on each; the access specifications run one after
//! the other. Workers may differ ([`OtherWorkers`]). It is run as IOMeter's configuration file ([`icf`]), by the dialect that
//! reads those. It refuses what such a file cannot say, and what would be said there twice.

mod commands;
mod icf;
mod import;
mod stock;
mod toml;
mod workers;

pub use commands::{fio, ior, iozone};
pub use icf::{icf, of_icf};
pub use import::of_plan;
pub use stock::stock;
pub use toml::toml;
pub use workers::{AlikeWorkers, IDLE, OtherWorkers};

use iodyno_model::{Diagnostic, Origin};
use serde::{Deserialize, Serialize};

/// A sector, bytes: what IOMeter counts the size of a disk in.
pub const SECTOR: u64 = 512;
/// Workers at most.
const WORKERS_MOST: u32 = 4096;
/// Targets at most.
const TARGETS_MOST: usize = 256;

/// What is designed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Design {
    pub name: String,
    pub description: String,
    /// Paths: directories, files, block devices.
    pub targets: Vec<String>,
    pub workers: u32,
    /// Outstanding operations of each worker on each of its targets.
    pub depth: u32,
    /// Sectors of each target that are touched; 0: all.
    pub sectors: u64,
    pub first_sector: u64,
    /// What is written: 0 repeating bytes, 1 random bytes once, 2 new random bytes each time.
    pub content: u8,
    /// The seed of places, where it is fixed.
    pub seed: Option<u64>,
    pub run_s: u64,
    pub ramp_s: u64,
    /// The gauges move this often, s.
    pub update_s: u64,
    pub specifications: Vec<Specification>,
    /// What the first workers do, by name and in this order; empty: every specification that is ticked.
    pub does: Vec<String>,
    /// Workers that differ from the first ones.
    pub others: Vec<OtherWorkers>,
    pub sweep: Option<DepthSweep>,
    /// Operations each second of each worker on each target; none: as fast as they go.
    pub rate: Option<f64>,
    /// Hosts as `--also hosts=` takes them; empty: this one.
    pub hosts: String,
}

impl Default for Design {
    fn default() -> Self {
        Design {
            name: "design".into(),
            description: String::new(),
            targets: Vec::new(),
            workers: 1,
            depth: 1,
            sectors: 0,
            first_sector: 0,
            content: 1,
            seed: None,
            run_s: 60,
            ramp_s: 10,
            update_s: 1,
            specifications: Vec::new(),
            does: Vec::new(),
            others: Vec::new(),
            sweep: None,
            rate: None,
            hosts: String::new(),
        }
    }
}

/// Outstanding operations that go from step to step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepthSweep {
    pub from: u32,
    pub to: u32,
    /// What is added, or multiplied by.
    pub step: u32,
    pub exponential: bool,
}

impl DepthSweep {
    /// The depths, in their order.
    fn depths(&self) -> Vec<u32> {
        let next = |depth: &u32| match self.exponential {
            true => depth.checked_mul(self.step),
            false => depth.checked_add(self.step),
        };
        let end = self.to;
        std::iter::successors(Some(self.from), next).take_while(|depth| *depth <= end).take(1024).collect()
    }
}

/// An access specification.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Specification {
    pub name: String,
    /// Whether it runs.
    pub assigned: bool,
    pub lines: Vec<DesignLine>,
}

/// A line of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DesignLine {
    pub bytes: u64,
    /// How many of all operations are of this line, percent.
    pub percent: u64,
    /// How many of these read, percent.
    pub reads: u64,
    /// How many of these go anywhere, percent.
    pub random: u64,
    /// Pause after a burst, ms.
    pub delay_ms: u64,
    /// Operations of a burst.
    pub burst: u64,
    /// Places are multiples of this, bytes; 0: of a sector.
    pub align: u64,
}

impl Default for DesignLine {
    fn default() -> Self {
        DesignLine { bytes: 4096, percent: 100, reads: 100, random: 0, delay_ms: 0, burst: 1, align: 0 }
    }
}

impl DesignLine {
    /// What its places are multiples of.
    fn align_bytes(&self) -> u64 {
        if self.align == 0 { SECTOR } else { self.align }
    }

    /// Whether it goes somewhere as another one does.
    fn goes_as(&self, other: &DesignLine) -> bool {
        (self.random, self.align_bytes()) == (other.random, other.align_bytes())
    }

    /// Whether it pauses as another one does.
    fn pauses_as(&self, other: &DesignLine) -> bool {
        (self.delay_ms, self.burst) == (other.delay_ms, other.burst)
    }
}

impl Design {
    /// The specifications that run.
    pub fn assigned(&self) -> impl Iterator<Item = &Specification> {
        self.specifications.iter().filter(|known| known.assigned)
    }

    /// Whether anything is written.
    pub fn writes(&self) -> bool {
        let at_work = self.steps().into_iter().flatten();
        at_work.flat_map(|(_, known)| &known.lines).any(|line| line.reads < 100 && line.percent > 0)
    }

    /// A name that is good for a file: letters, digits, hyphens.
    pub fn file_stem(&self) -> String {
        let plain = |letter: char| if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let text: String = self.name.chars().take(60).map(plain).collect();
        let words: Vec<&str> = text.split('-').filter(|word| !word.is_empty()).collect();
        if words.is_empty() { "design".into() } else { words.join("-") }
    }

    /// Everything that no configuration can say, each with the field that it is about.
    pub fn wrong(&self) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        let mut refuse = |field: &str, message: String, hint: &str| {
            wrong.push(Diagnostic::error(&Origin::argument(field), message).hint(hint));
        };
        if self.targets.is_empty() {
            refuse("targets", "no target".into(), "name a directory, a file or a device to measure");
        }
        if self.run_s == 0 {
            refuse("run_s", "no run time: it would go on for ever".into(), "a second at least");
        }
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            refuse(
                "rate",
                "no rate".into(),
                "operations each second, more than 0; empty: as fast as they go",
            );
        }
        if let Some(sweep) = &self.sweep {
            let least = if sweep.exponential { 2 } else { 1 };
            if sweep.from == 0 || sweep.to < sweep.from || sweep.to > 65_536 || sweep.step < least {
                refuse("sweep", "the depths never end, or never begin".into(), "e.g. from 1 to 64, times 2");
            }
        }
        self.wrong_workers(&mut refuse);
        self.wrong_specifications(&mut refuse);
        wrong
    }

    fn wrong_specifications(&self, refuse: &mut dyn FnMut(&str, String, &str)) {
        if self.steps().is_empty() {
            refuse("specifications", "no access specification is ticked".into(), "tick what is to run");
        }
        let texts = [("name", &self.name), ("description", &self.description), ("hosts", &self.hosts)];
        let names = self.specifications.iter().map(|known| ("specifications", &known.name));
        for (field, text) in texts.into_iter().chain(names) {
            if text.chars().any(char::is_control) {
                refuse(field, format!("`{}` has a line's end in it", text.escape_debug()), "one line");
            }
        }
        for (index, known) in self.specifications.iter().enumerate() {
            let name = known.name.trim();
            if name.is_empty() || name.starts_with('\'') || known.lines.is_empty() {
                refuse(
                    "specifications",
                    format!("`{name}`: no name, or no line"),
                    "a name and a line of sizes",
                );
            }
            let is_there = |other: &Specification| other.name.trim().eq_ignore_ascii_case(name);
            if self.specifications[..index].iter().any(is_there) {
                refuse("specifications", format!("`{name}` is there twice"), "another name for one of them");
            }
        }
    }
}

/// Many things that are wrong, as one refusal.
fn one(message: &str, hint: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(&Origin::argument("export"), message).hint(hint)]
}

/// Something that was written in another language, and what of the design that language does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadExport {
    pub text: String,
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests;
