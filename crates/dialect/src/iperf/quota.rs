//! What a server does for whom: an address is a claim until it was heard to answer, and of iperf 2's datagrams none ever is.
//!
//! One datagram makes a server send (`-u -R`, `-u -d`), and whoever forged its sender had the traffic sent to somebody
//! else. The protocol has no answer that would prove an address, so what goes to each is bounded: bytes in a minute, for
//! each address and for all of them. Who is known beforehand, and the machine itself, may have what they ask for.

use std::collections::BTreeMap;
// Addresses as values: there are no sockets in `core`.
use core::net::IpAddr;

/// Datagrams that go to an address which proved nothing, bytes in a minute: the usual test of ten seconds twelve times.
pub const BYTES_MOST: u64 = 16 << 20;
/// The same to all such addresses.
const BYTES_OF_ALL_MOST: u64 = 16 * BYTES_MOST;
/// And for how long at a time, ns.
pub const TIME_MOST_NS: u64 = MINUTE_NS;
/// Connections of one address at a time.
pub const CONNECTIONS_MOST: usize = 128;
const MINUTE_NS: u64 = 60_000_000_000;
/// Addresses that are remembered: each has had something in the last minute.
const ADDRESSES_MOST: usize = 4096;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: u128,
    bits: u32,
}

impl Range {
    /// `10.1.0.0/16`, `2001:db8::/32`, or one address.
    ///
    /// # Errors
    /// What is none.
    pub fn of(text: &str) -> Result<Range, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, bits)| (a, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| format!("`{text}` is no range of addresses"))?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits
            .map_or(Ok(all), |bits| bits.parse().map_err(|_| format!("`{text}`: `{bits}` is no length")))?;
        match bits <= all {
            true => Ok(Range { first: number(address), bits: bits + 128 - all }),
            false => Err(format!("`{text}`: at most {all} bits")),
        }
    }

    fn has(&self, address: IpAddr) -> bool {
        let shift = 128 - self.bits;
        (self.first ^ number(address)).checked_shr(shift).unwrap_or(0) == 0
    }
}

/// An address as a number; IPv4 as IPv6 maps it.
fn number(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(four) => four.to_ipv6_mapped().into(),
        IpAddr::V6(six) => six.into(),
    }
}

/// What an address has had in its minute.
#[derive(Clone, Copy, Debug, Default)]
struct Had {
    since_ns: u64,
    bytes: u64,
    is_reported: bool,
}

/// Everybody's share.
#[derive(Debug, Default)]
pub struct Quota {
    known: Vec<Range>,
    had: BTreeMap<String, Had>,
    all: Had,
}

impl Quota {
    /// With those who may have what they ask for.
    pub fn new(known: Vec<Range>) -> Quota {
        Quota { known, ..Quota::default() }
    }

    /// Whether a host may have what it asks for.
    pub fn knows(&self, host: &str) -> bool {
        let Ok(address) = host.split('%').next().unwrap_or(host).parse::<IpAddr>() else { return false };
        address.to_canonical().is_loopback() || self.known.iter().any(|range| range.has(address))
    }

    /// What a host has had in its minute; none: too many others have had something.
    fn had(&mut self, host: &str, now_ns: u64) -> Option<&mut Had> {
        self.had.retain(|_, had| now_ns.saturating_sub(had.since_ns) < MINUTE_NS);
        if self.had.len() >= ADDRESSES_MOST && !self.had.contains_key(host) {
            return None;
        }
        Some(self.had.entry(host.into()).or_insert(Had { since_ns: now_ns, ..Had::default() }))
    }

    /// Datagrams that may go to a host now, bytes, of so many that are asked for; they count as sent.
    pub fn grant(&mut self, host: &str, wished: u64, now_ns: u64) -> u64 {
        if now_ns.saturating_sub(self.all.since_ns) >= MINUTE_NS {
            self.all = Had { since_ns: now_ns, ..Had::default() };
        }
        let left = BYTES_OF_ALL_MOST.saturating_sub(self.all.bytes);
        let Some(had) = self.had(host, now_ns) else { return 0 };
        let granted = wished.min(BYTES_MOST.saturating_sub(had.bytes)).min(left);
        had.bytes += granted;
        self.all.bytes += granted;
        granted
    }

    /// Whether to report that a host gets less than it asked for: once in its minute.
    pub fn is_news(&mut self, host: &str, now_ns: u64) -> bool {
        self.had(host, now_ns).is_some_and(|had| !std::mem::replace(&mut had.is_reported, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_addresses() {
        let has = |range: &str, address: &str| Range::of(range).unwrap().has(address.parse().unwrap());
        assert!(has("10.1.0.0/16", "10.1.2.3") && !has("10.1.0.0/16", "10.2.2.3"));
        assert!(has("10.1.2.3", "::ffff:10.1.2.3") && !has("10.1.2.3", "10.1.2.4"));
        assert!(has("0.0.0.0/0", "192.0.2.1") && !has("0.0.0.0/0", "2001:db8::1"));
        assert!(has("2001:db8::/32", "2001:db8::7") && has("::/0", "192.0.2.1"));
        for wrong in ["", "x", "10.0.0.0/33", "10.0.0.0/x", "::/129", "10.0.0/8"] {
            assert!(Range::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_that_proved_nothing_gets_so_much_in_a_minute() {
        let mut quota = Quota::new(vec![Range::of("10.0.0.0/8").unwrap()]);
        assert!(
            quota.knows("10.9.9.9")
                && quota.knows("127.0.0.1")
                && quota.knows("::1")
                && !quota.knows("192.0.2.1")
        );
        assert_eq!(quota.grant("192.0.2.1", 10 << 20, 5), 10 << 20);
        assert_eq!(quota.grant("192.0.2.1", 10 << 20, 6), 6 << 20);
        assert_eq!(quota.grant("192.0.2.1", 1, MINUTE_NS), 0);
        let now_ns = MINUTE_NS;
        assert!(quota.is_news("192.0.2.1", now_ns) && !quota.is_news("192.0.2.1", now_ns));
        assert_eq!(quota.grant("192.0.2.1", u64::MAX, MINUTE_NS + 5), BYTES_MOST);
        // Forged senders share what there is for all.
        let sent: u64 =
            (0..10_000).map(|host| quota.grant(&format!("h{host}"), u64::MAX, MINUTE_NS + 6)).sum();
        assert!(sent <= BYTES_OF_ALL_MOST && quota.had.len() <= ADDRESSES_MOST, "{sent}");
    }
}
