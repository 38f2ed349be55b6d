//! Keeps count of a worker's writes for its state file, and writes that file at the end.
//!
//! Refuses to read one: see [`super::State`].

use iodyno_model::{Verify, VerifyLayout};

use super::SourceContext;
use super::state::{Last, State};
use super::synced::DurableWrites;
use crate::failure::Failure;

/// Counts writes that begin and complete.
pub struct Keeper {
    path: String,
    state: State,
    notes: Notes,
}

/// What is noted of the last writes.
enum Notes {
    /// The last completed writes, `next` the oldest of them once there are as many as the depth.
    Completed { last: Vec<(u64, u64)>, next: usize },
    /// Those that began and did not complete: number, file and offset.
    InFlight(Vec<(u64, u32, u64)>),
}

/// The path of a worker's state file.
pub fn path_of(template: &str, verify: &Verify, worker: u32) -> String {
    template.replace("{worker}", &verify.first_worker.wrapping_add(worker).to_string())
}

impl Keeper {
    /// For a worker that writes and keeps its state.
    pub fn new(context: &SourceContext<'_>, verify: &Verify, writes: bool) -> Option<Self> {
        let state = verify.state.as_ref().filter(|state| state.save && writes && !verify.only)?;
        let depth = context.depth as usize;
        let notes = match verify.layout {
            VerifyLayout::Unversioned => Notes::Completed { last: Vec::with_capacity(depth), next: 0 },
            VerifyLayout::Versioned => Notes::InFlight(Vec::with_capacity(depth)),
        };
        Some(Keeper {
            path: path_of(&state.path, verify, context.worker),
            state: State {
                depth: context.depth,
                files: context.files.handles.len() as u32,
                index: u64::from(verify.first_worker) + u64::from(context.worker),
                name: state.name.clone(),
                ..State::default()
            },
            notes,
        })
    }

    /// Takes note of a write that begins. Of those that failed, which stay, only as many as the depth are kept.
    pub fn began(&mut self, number: u64, file: u32, offset: u64) {
        match &mut self.notes {
            Notes::InFlight(writes) if writes.len() < self.state.depth as usize => {
                writes.push((number, file, offset));
            }
            _ => {}
        }
    }

    /// Takes note of a write that is done.
    pub fn completed(&mut self, file: u32, offset: u64) {
        match &mut self.notes {
            Notes::Completed { last, .. } if last.len() < self.state.depth as usize => {
                last.push((file.into(), offset));
            }
            Notes::Completed { last, next } => {
                last[*next] = (file.into(), offset);
                *next = (*next + 1) % last.len();
            }
            Notes::InFlight(writes) => {
                if let Some(found) = writes.iter().position(|(_, its, at)| (*its, *at) == (file, offset)) {
                    writes.remove(found);
                }
            }
        }
    }

    /// Writes the file, for so many writes begun; or for those that are durable, where only these count.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, begun: u64, durable: Option<&DurableWrites>) -> Result<(), Failure> {
        let begun = durable.map_or(begun, |durable| durable.below);
        let last = match &self.notes {
            Notes::InFlight(_) if let Some(durable) = durable => Last::InFlight(durable.except.clone()),
            Notes::Completed { last, next } => {
                let (newer, older) = last.split_at(*next);
                Last::Completed(newer.iter().rev().chain(older.iter().rev()).copied().collect())
            }
            Notes::InFlight(writes) => Last::InFlight(writes.iter().map(|(number, ..)| *number).collect()),
        };
        let state = State { begun, last, ..self.state.clone() };
        std::fs::write(&self.path, state.encode()).map_err(|error| {
            Failure::new(format!("{}: {error}", self.path)).hint("where may the state be kept?")
        })
    }
}
