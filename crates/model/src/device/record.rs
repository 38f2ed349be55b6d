//! What a simulation counted of the parts of its device.

use crate::reflect::Reflect;

/// One part of a simulated device over a phase; of several instances, all of them together.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct PartRecord {
    /// As the device calls it.
    pub name: String,
    /// The word of its kind.
    pub kind: String,
    /// How many there are of it.
    pub instances: u64,
    /// Requests that came to it.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The share of the time in which its servers worked, 0 to 1.
    pub utilisation: f64,
    /// The same of the instance that worked most.
    pub busiest: f64,
    /// Requests in each instance at a time, waiting and served.
    pub queue: f64,
    /// From the arrival of a request at it to its answer, ns.
    pub response_ns: f64,
    /// What it counted besides: hits, write amplification, bytes rebuilt.
    #[reflect(omit_empty)]
    pub counts: Vec<PartCount>,
}

/// A figure of a part.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct PartCount {
    /// In the words of the glossary.
    pub name: String,
    pub value: f64,
}
