//! A port of a switch, as its agent counts it (IF-MIB, RFC 2863): what it carried between two readings, and what was wrong.
//!
//! ```text
//!   connect ─► reading ─► … what is measured … ─► reading ─► what the port moved, or why that cannot be told
//! ```
//! The time between readings is the agent's own. A counter that wrapped is one that moved on; a port whose counters stood still
//! while the agent's clock went on, or were set back, tells nothing.

mod message;
mod port;

use iodyno_model::conversation::{Action, Connection, Input};

use crate::address::joined;
pub(super) use message::Version;
pub(super) use port::PortActivity;
use port::PortCounters;

/// How long an answer is waited for, ns, and how often it is asked for.
const PATIENCE_NS: u64 = 1_000_000_000;
const TRIES: u32 = 3;

/// Whose port it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PortAddress {
    pub(super) host: String,
    /// The agent's, of UDP.
    pub(super) port: u16,
    /// `ifIndex`.
    pub(super) index: u32,
    pub(super) community: String,
    pub(super) version: Version,
}

/// Readings of a port.
#[derive(Debug)]
pub(super) struct PortReader {
    address: PortAddress,
    connection: Connection,
    /// The request that waits for its answer; 0: none does.
    request: i32,
    tries: u32,
    due_ns: u64,
    readings: Vec<PortCounters>,
    /// Why there is nothing to tell.
    failed: Option<String>,
    pub(super) out: Vec<Action>,
}

impl PortReader {
    pub(super) fn new(address: PortAddress, connection: Connection) -> PortReader {
        PortReader {
            address,
            connection,
            request: 0,
            tries: 0,
            due_ns: u64::MAX,
            readings: Vec::new(),
            failed: None,
            out: Vec::new(),
        }
    }

    pub(super) fn has(&self, connection: Connection) -> bool {
        connection == self.connection
    }

    /// When it is to be looked after, ns.
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The first reading, once the agent has a socket.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.due_ns = now_ns + u64::from(TRIES) * PATIENCE_NS;
        self.out.push(Action::Connect {
            connection: self.connection,
            transport: "udp".into(),
            address: joined(&self.address.host, self.address.port),
            socket_options: Vec::new(),
            timeout_ns: PATIENCE_NS,
        });
    }

    /// Another reading; whether there is to be one.
    pub(super) fn again(&mut self, now_ns: u64) -> bool {
        let is_good = self.failed.is_none() && !self.readings.is_empty();
        if is_good {
            self.tries = 0;
            self.ask(now_ns);
        }
        is_good
    }

    /// Whether an input has brought the reading to its end.
    pub(super) fn step(&mut self, now_ns: u64, input: &Input) -> bool {
        match input {
            Input::Ready(..) => self.ask(now_ns),
            Input::Failed(_, errno, words) => return self.fail(crate::strerror::reason(*errno, words)),
            Input::Bytes(_, bytes) if self.request != 0 => return self.hear(bytes),
            Input::Tick if now_ns >= self.due_ns && self.tries < TRIES && self.request != 0 => {
                self.ask(now_ns)
            }
            Input::Tick if now_ns >= self.due_ns => {
                let seconds = u64::from(TRIES) * PATIENCE_NS / 1_000_000_000;
                return self.fail(format!("no answer in {seconds} s: agents ignore a wrong community"));
            }
            _ => {}
        }
        false
    }

    fn ask(&mut self, now_ns: u64) {
        (self.tries, self.due_ns) = (self.tries + 1, now_ns + PATIENCE_NS);
        self.request += 1;
        let names = port::names(self.address.index, self.address.version);
        let bytes = message::get(self.address.version, &self.address.community, self.request, &names);
        self.out.push(Action::Send(self.connection, bytes));
    }

    fn hear(&mut self, bytes: &[u8]) -> bool {
        let response = match message::response(bytes) {
            Ok(response) => response,
            Err(what) => return self.fail(format!("its answer is not SNMP's: {what}")),
        };
        // An earlier try's answer that comes late says the same of an earlier time.
        if !(1..=self.request).contains(&response.request) {
            return false;
        }
        if let Some(what) = response.failed {
            return self.fail(format!("the agent says: {what}"));
        }
        match PortCounters::of(&response.values, self.address.index) {
            Ok(counters) => self.readings.push(counters),
            Err(what) => return self.fail(what),
        }
        self.due_ns = u64::MAX;
        true
    }

    fn fail(&mut self, what: String) -> bool {
        let at = joined(&self.address.host, self.address.port);
        self.failed.get_or_insert(format!("{at}: {what}"));
        self.due_ns = u64::MAX;
        true
    }

    /// What the port moved between the first reading and the last.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub(super) fn activity(&self) -> Result<PortActivity, String> {
        if let Some(why) = &self.failed {
            return Err(why.clone());
        }
        let [first, .., last] = &self.readings[..] else { return Err("it was read only once".into()) };
        let at = &self.address.host;
        first.until(last).map_err(|why| format!("{at}: {why}"))
    }
}

#[cfg(test)]
mod tests;
