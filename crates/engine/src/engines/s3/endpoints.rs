//! The endpoints of a worker's requests: which one the next goes to, kept connections to each, and what became of them.

use iodyno_s3::Endpoint;

use super::connection::{Connection, Ending};
use super::peer::{Peer, peers};
use super::settings::{Balance, StoreSettings};
use crate::clock::{self, Tick};
use crate::failure::Failure;
use crate::objects::ENDPOINT;

/// An endpoint that cannot be connected to is chosen no more for so long, unless none can.
const SHUNNED_NS: u64 = 1_000_000_000;
/// Of an event that belongs to no connection.
const NOBODY: u32 = u32::MAX;

/// All endpoints, in the order of the setting.
#[derive(Debug)]
pub struct EndpointSet {
    balance: Balance,
    all: Vec<EndpointState>,
    /// By a connection's number: its lane.
    owners: Vec<u32>,
    /// Where the search for the least busy begins.
    next: usize,
}

#[derive(Debug)]
struct EndpointState {
    peer: Peer,
    /// Requests in flight.
    busy: u32,
    requests: u64,
    failed: u64,
    shunned_until: Tick,
    /// Connections that stand and carry nothing.
    idle: Vec<Connection>,
}

impl EndpointSet {
    /// # Errors
    /// An endpoint has no address, or its TLS cannot be had.
    pub fn new(settings: &StoreSettings, bucket: &str, lanes: u32) -> Result<EndpointSet, Failure> {
        let all = peers(settings, bucket)?.into_iter().map(|peer| EndpointState {
            peer,
            busy: 0,
            requests: 0,
            failed: 0,
            shunned_until: 0,
            idle: Vec::new(),
        });
        Ok(EndpointSet {
            balance: settings.balance,
            all: all.collect(),
            owners: (0..lanes).collect(),
            next: 0,
        })
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    pub fn peer(&self, endpoint: usize) -> &Peer {
        &self.all[endpoint].peer
    }

    /// The lane that a connection belongs to.
    pub fn owner(&self, number: u32) -> Option<usize> {
        self.owners.get(number as usize).filter(|lane| **lane != NOBODY).map(|lane| *lane as usize)
    }

    /// Gives a lane a connection to the endpoint of its next request.
    pub fn choose(&mut self, lane: usize, endpoint: &mut usize, connection: &mut Connection) {
        if self.balance == Balance::RoundRobin || self.all.len() == 1 {
            return;
        }
        let now = clock::now();
        let count = self.all.len();
        let turn = (0..count).map(|step| (self.next + step) % count);
        let chosen = turn.min_by_key(|number| {
            let state = &self.all[*number];
            (state.shunned_until > now, state.busy)
        });
        let chosen = chosen.unwrap_or(*endpoint);
        self.next = (chosen + 1) % count;
        if chosen == *endpoint {
            return;
        }
        let taken = self.all[chosen].idle.pop().unwrap_or_else(|| {
            self.owners.push(NOBODY);
            Connection::new(self.owners.len() as u32 - 1)
        });
        let left = std::mem::replace(connection, taken);
        self.owners[connection.number as usize] = lane as u32;
        self.owners[left.number as usize] = NOBODY;
        self.all[*endpoint].idle.push(left);
        *endpoint = chosen;
    }

    /// What epoll says of a connection that carries nothing.
    pub fn note_idle(&mut self, number: u32, events: u32) {
        let idle = self.all.iter_mut().flat_map(|state| &mut state.idle);
        idle.filter(|connection| connection.number == number).for_each(|connection| connection.note(events));
    }

    pub fn begun(&mut self, endpoint: usize) {
        let state = &mut self.all[endpoint];
        (state.busy, state.requests) = (state.busy + 1, state.requests + 1);
    }

    pub fn ended(&mut self, endpoint: usize, ending: Ending) {
        let state = &mut self.all[endpoint];
        state.busy = state.busy.saturating_sub(1);
        if let Ending::Broken { connected, .. } = ending {
            state.failed += 1;
            if !connected {
                state.shunned_until = clock::now() + SHUNNED_NS;
            }
        }
    }

    /// Counts of each, where there are several.
    pub fn by_name(&self, settings: &StoreSettings) -> Vec<(&'static str, u64)> {
        if self.all.len() < 2 {
            return Vec::new();
        }
        let named = |(endpoint, state): (&Endpoint, &EndpointState)| {
            // A few endpoints, once for each worker: as good as static.
            let name = |what: &str| &*format!("{ENDPOINT}{endpoint}/{what}").leak();
            let failed = (state.failed > 0).then(|| (name("failed"), state.failed));
            [Some((name("requests"), state.requests)), failed].into_iter().flatten().collect::<Vec<_>>()
        };
        settings.endpoints.iter().zip(&self.all).flat_map(named).collect()
    }
}
