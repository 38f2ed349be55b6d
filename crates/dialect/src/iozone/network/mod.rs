//! The speed of the network between this host and those of a node list (`-+t`): a master and, on each host in turn, a
//! client that `RSH` starts.
//!
//! ```text
//!   master                              client
//!     data           ───────────────►   :31000
//!     :31040         ◄───────────────   what it received
//!     :31020         ◄───────────────   data
//!     :31040         ◄───────────────   what it sent
//! ```
//! Ports and messages are the original's, so either end may be it. Each line is a connection of its own. What a transfer
//! moves is a plan of ours.

mod client;
mod master;
mod transfer;

use iodyno_model::{Diagnostic, Plan};

use super::command::OptionValue;
use super::settings::{self, KB, Settings};
use crate::{Converse, Loader, Request, Run};
use client::Client;
use master::{Master, Shell};
use transfer::Transfer;

/// Where a client awaits the master's data.
const CLIENT_PORT: u16 = 31_000;
/// Where the master awaits a client's data.
const DATA_PORT: u16 = 31_020;
/// Where the master awaits what a client measured.
const RESULT_PORT: u16 = 31_040;

/// How long the other end may take to be there, ns: it is started through a remote shell.
const PATIENCE_NS: u64 = 30_000_000_000;
/// ns from one attempt to reach it to the next.
const RETRY_NS: u64 = 20_000_000;

/// The conversation that the words ask for.
///
/// # Errors
/// Everything that is wrong with them.
pub fn request(words: Vec<OptionValue>, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let settings = settings::judge_network(words, loader)?;
    let transfer = transfer(&settings).map_err(|wrong| vec![wrong])?;
    if let Some(master) = settings.text("+c") {
        let run = Run::of_conversation(Plan { name: "iozone".into(), ..Plan::default() });
        return Ok(Converse::new(Client::new(master.into(), transfer), run).into());
    }
    let name = settings.text("+h").map_or_else(|| loader.machine().host, String::from);
    let shell = loader.variable("RSH").filter(|shell| !shell.trim().is_empty());
    let shell = Shell(shell.unwrap_or_else(|| "ssh".into()));
    let master = Master::new(name, shell, settings.clients, transfer);
    let run = Run::of_conversation(master.plan());
    Ok(Converse::new(master, run).into())
}

/// Whole records, as many as the size has room for.
fn transfer(settings: &Settings) -> Result<Transfer, Diagnostic> {
    let (record, size) = (settings.size("r", 1), settings.size("s", 512));
    match size / record {
        0 => {
            let message = format!("no record of {} kB fits in {} kB", record / KB, size / KB);
            Err(Diagnostic::error(&settings.origin("r"), message).hint("-s 1m -r 64k"))
        }
        count => Ok(Transfer { record, count }),
    }
}
