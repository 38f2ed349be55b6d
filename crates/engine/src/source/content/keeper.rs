//! Keeps count of a worker's writes for its state file, and writes that file at the end.
//!
//! Refuses to read one: see [`super::State`].

use iodyno_model::Verify;

use super::Brief;
use super::state::State;
use crate::failure::Failure;

/// Counts completions.
pub struct Keeper {
    path: String,
    state: State,
    /// The last completed writes, `next` the oldest of them once there are as many as the depth.
    last: Vec<(u64, u64)>,
    next: usize,
}

/// The path of a worker's state file.
pub fn path_of(template: &str, verify: &Verify, worker: u32) -> String {
    template.replace("{worker}", &verify.first_worker.wrapping_add(worker).to_string())
}

impl Keeper {
    /// For a worker that writes and keeps its state.
    pub fn new(brief: &Brief<'_>, verify: &Verify, writes: bool) -> Option<Self> {
        let state = verify.state.as_ref().filter(|state| state.save && writes && !verify.only)?;
        Some(Keeper {
            path: path_of(&state.path, verify, brief.worker),
            state: State {
                depth: brief.depth,
                files: brief.files.handles.len() as u32,
                index: u64::from(verify.first_worker) + u64::from(brief.worker),
                name: state.name.clone(),
                ..State::default()
            },
            last: Vec::with_capacity(brief.depth as usize),
            next: 0,
        })
    }

    /// Takes note of a write that is done.
    pub fn completed(&mut self, file: u32, offset: u64) {
        let entry = (u64::from(file), offset);
        if self.last.len() < self.state.depth as usize {
            self.last.push(entry);
        } else {
            self.last[self.next] = entry;
            self.next = (self.next + 1) % self.last.len();
        }
    }

    /// Writes the file, for so many writes begun.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, begun: u64) -> Result<(), Failure> {
        let (newer, older) = self.last.split_at(self.next);
        let completed = newer.iter().rev().chain(older.iter().rev()).copied().collect();
        let state = State { begun, completed, ..self.state.clone() };
        std::fs::write(&self.path, state.encode()).map_err(|error| {
            Failure::new(format!("{}: {error}", self.path)).hint("where may the state be kept?")
        })
    }
}
