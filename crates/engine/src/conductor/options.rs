//! How a plan is run, beyond what it says itself.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use iodyno_model::reflect::Reflect;
use iodyno_simulation::Simulation;

use crate::source::replay::tree::TreeSurveys;

/// With somebody beside it who may end it, a run listens this often, ns.
const HALT_NS: u64 = 10_000_000;

/// How a plan is run, beyond what it says itself.
#[derive(Clone, Debug, Reflect)]
pub struct Options {
    /// How often a live event is wanted, ns; 0: never.
    pub live_ns: u64,
    /// Whether live events carry the latencies so far.
    pub live_latency: bool,
    /// How often the record so far of a running phase is wanted, ns; 0: only when the user asks.
    pub interim_ns: u64,
    /// How often the record so far is wanted by whoever keeps it, ns; 0: never.
    pub keep_ns: u64,
    /// Whether witnesses watch.
    pub witness: bool,
    /// Whether what it made and is to be removed stays until the world ends, for further runs of this world.
    pub stays: bool,
    /// What else may end it.
    #[reflect(skip)]
    pub halt: Option<Halt>,
    /// What is known of its traces.
    #[reflect(skip)]
    pub surveys: TreeSurveys,
    /// The plan's simulated device as an earlier run left it, and as this one leaves it; none: it is new, and at each point of a
    /// sweep again.
    #[reflect(skip)]
    pub device: Option<LastingDevice>,
}

/// A simulated device that lasts from run to run of the same device: its caches and its wear, as those of a real one.
#[derive(Clone, Default)]
pub struct LastingDevice(pub(super) Arc<Mutex<Option<Simulation>>>);

impl fmt::Debug for LastingDevice {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("LastingDevice")
    }
}

/// Ends a run from beside it.
#[derive(Clone, Debug, Default)]
pub struct Halt(Arc<AtomicBool>);

impl Halt {
    /// Asks the run to end with what it has.
    pub fn ask(&self) {
        self.0.store(true, Relaxed);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            live_ns: 500_000_000,
            live_latency: false,
            interim_ns: 0,
            keep_ns: 0,
            witness: true,
            stays: false,
            halt: None,
            surveys: TreeSurveys::default(),
            device: None,
        }
    }
}

impl Options {
    /// How often it is looked whether somebody beside the run wants it to end, ns; 0: nobody may.
    pub(super) fn halt_ns(&self) -> u64 {
        if self.halt.is_some() { HALT_NS } else { 0 }
    }

    /// Whether somebody beside the run wants it to end.
    pub(super) fn is_halted(&self) -> bool {
        self.halt.as_ref().is_some_and(Halt::is_asked)
    }
}
