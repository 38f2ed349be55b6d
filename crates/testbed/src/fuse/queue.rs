//! The device's queue: k servers, first come first served, in computed time.
//!
//! When a request may start and when it is due follows from the arrivals and the service times alone, so no
//! thread ever waits for another and a late wake-up never delays the next request. This is the textbook queue that
//! a known answer is computed from.

use super::config::{Config, RequestKind};
use super::fault::{self, Fate, FaultRequest};
use super::log::Header;
use super::timing::now_ns;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::{Mutex, PoisonError};

/// A request that was let in: its times in ns, and its fate.
#[derive(Debug)]
pub(crate) struct AdmittedRequest {
    pub(crate) arrival_ns: u64,
    pub(crate) start_ns: u64,
    pub(crate) due_ns: u64,
    pub(crate) fate: Fate,
}

/// When each of the servers becomes free.
pub(crate) struct Queue {
    free_ns: Mutex<Vec<u64>>,
}

impl Queue {
    pub(crate) fn new(parallelism: usize) -> Queue {
        Queue { free_ns: Mutex::new(vec![0; parallelism.max(1)]) }
    }

    /// Numbers a request, decides its fate, and gives it the server that is free first.
    pub(crate) fn admit(
        &self,
        config: &Config,
        header: &Header,
        kind: RequestKind,
        offset: u64,
        bytes: u64,
    ) -> AdmittedRequest {
        let mut free_ns = self.free_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let arrival_ns = now_ns();
        let counter = match kind {
            RequestKind::Read => &header.reads,
            RequestKind::Write => &header.writes,
            RequestKind::Sync => &header.syncs,
        };
        let number = counter.fetch_add(1, AcqRel) + 1;
        let fate = fault::decide(&config.faults, FaultRequest { kind, number, offset, bytes }, header);
        let service_ns = service_ns(config, kind, number, bytes) + fate.stall_ns;
        let (start_ns, due_ns) = match kind {
            RequestKind::Sync => (arrival_ns, arrival_ns + service_ns),
            _ => occupy(&mut free_ns, arrival_ns, service_ns),
        };
        if fate.freeze {
            free_ns.iter_mut().for_each(|free| *free = due_ns.max(*free));
        }
        AdmittedRequest { arrival_ns, start_ns, due_ns, fate }
    }
}

fn service_ns(config: &Config, kind: RequestKind, number: u64, bytes: u64) -> u64 {
    let fixed = match kind {
        RequestKind::Read => config.read.ns(number),
        RequestKind::Write => config.write.ns(number),
        RequestKind::Sync => return config.sync_ns,
    };
    let transfer = config.bytes_per_s.filter(|rate| *rate > 0);
    fixed + transfer.map_or(0, |rate| (u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64)
}

fn occupy(free_ns: &mut [u64], arrival_ns: u64, service_ns: u64) -> (u64, u64) {
    let mut first = 0;
    for index in 1..free_ns.len() {
        if free_ns[index] < free_ns[first] {
            first = index;
        }
    }
    let start_ns = free_ns[first].max(arrival_ns);
    free_ns[first] = start_ns + service_ns;
    (start_ns, start_ns + service_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_servers_serve_two_at_once_and_the_third_waits() {
        let mut free = [0, 0];
        assert_eq!(occupy(&mut free, 100, 50), (100, 150));
        assert_eq!(occupy(&mut free, 110, 50), (110, 160));
        assert_eq!(occupy(&mut free, 120, 50), (150, 200));
        assert_eq!(occupy(&mut free, 500, 50), (500, 550));
    }

    #[test]
    fn a_rate_adds_the_transfer() {
        let config = Config { bytes_per_s: Some(1_000_000), ..Config::constant(7) };
        assert_eq!(service_ns(&config, RequestKind::Read, 1, 4096), 4_096_007);
    }
}
