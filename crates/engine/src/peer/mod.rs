//! Pumps a conversation: owns its sockets, tells it what happens, does what it says, and runs its plans beside it.
//!
//! It understands no byte of what it carries. `pump` does the telling, over an outside: `live` has sockets of the system
//! and a conductor for each run, `simulated` a network in virtual time for several conversations at once.

use iodyno_model::Event;
use iodyno_model::conversation::{Conversation, RunNumber};

use crate::conductor::Options;
use crate::failure::Failure;
use crate::signal;

pub mod background;
mod live;
mod pump;
mod runs;
pub mod simulated;
mod sockets;
mod table;

use live::Live;
use pump::Pump;

/// Who is told what a conversation prints and what its runs tell.
pub trait Listener {
    /// A place where peers are awaited stands: from now on there is something to connect to.
    fn stands(&mut self) {}
    /// Something a run tells, its [`Event::Ended`] too.
    fn event(&mut self, run: RunNumber, event: &Event);
    /// What the other end counted, for the record of the last job of that name.
    fn peer(&mut self, _job: &str, _facts: Vec<(String, u64)>) {}
    /// Text for standard output; `false`: nobody reads it any more.
    fn print(&mut self, text: &str) -> bool;
    /// Text for standard error.
    fn complain(&mut self, text: &str);
    /// A file that a run elsewhere made.
    fn write(&mut self, _path: &str, _bytes: &[u8]) {}
    /// A file that was a sign, and was seen.
    fn remove(&mut self, _path: &str) {}
    /// A shell command.
    fn command(&mut self, _command: &str) {}
}

/// Carries a conversation until it ends; its exit status.
///
/// # Errors
/// When the pump itself cannot be had; what goes wrong with a peer is the conversation's to say.
pub fn converse(
    conversation: &mut dyn Conversation,
    options: &Options,
    listener: &mut dyn Listener,
) -> Result<u8, Failure> {
    signal::install();
    // A peer that has gone is reported by the call that meets it.
    signal::ignore_pipes();
    let (mut live, mut pump) = (Live::new(options)?, Pump::new());
    loop {
        if let Some(status) = pump.turn(conversation, &mut live, listener) {
            live.part(&mut pump, listener);
            return Ok(status);
        }
        live.wait(&mut pump);
        live.hear(&mut pump, listener);
    }
}
