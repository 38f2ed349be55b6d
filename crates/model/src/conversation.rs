//! A control protocol as a state machine without sockets: bytes and ticks in, bytes and actions out.
//!
//! A dialect implements it, the door boxes it, the engine room's `world/peer` owns the sockets and pumps it. So a
//! captured conversation is a unit test.

use crate::plan::Plan;
use crate::record::Record;

/// Which connection something belongs to.
pub type Connection = u32;

/// What happened outside.
#[derive(Debug)]
pub enum Input {
    /// Bytes arrived; the peer has closed when there are none.
    Bytes(Connection, Vec<u8>),
    /// A peer connected.
    Accepted(Connection),
    /// Time passed; ns since the conversation began.
    Tick(u64),
    /// The plan that [`Action::Run`] started has ended.
    Ended(Box<Record>),
}

/// What is to be done outside.
#[derive(Debug)]
pub enum Action {
    /// Send bytes.
    Send(Connection, Vec<u8>),
    /// Wait for peers at an address.
    Listen(String),
    /// Hand a connection to the run as a data stream.
    Adopt(Connection),
    /// Start this plan.
    Run(Box<Plan>),
    /// Stop the running plan.
    Stop,
    /// Close a connection.
    Close(Connection),
}

/// A control protocol.
pub trait Conversation: Send {
    /// What is to be done now that this has happened.
    fn step(&mut self, input: Input) -> Vec<Action>;
}
