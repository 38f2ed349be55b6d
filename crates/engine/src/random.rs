//! Random numbers: those of the simulation, so that a seed means the same to sources and to devices.

pub use iodyno_simulation::random::{GOLDEN, Random, mix};
