//! What the network interfaces moved, of the network namespace this program is in.
//!
//! Sources: `/proc/net/dev`, the link's speed by `SIOCETHTOOL` (`/sys` may show another namespace's interfaces), and the
//! queue disciplines by rtnetlink. The speed that virtual interfaces claim is made up, so none is told of them.

use iodyno_model::InterfaceActivity;

use super::queues::{self, Queue};

/// Interfaces that are reported, at most: those that moved most.
const TOLD_MOST: usize = 16;

/// Counters since the interface came up: received bytes, packets, lost; sent bytes, packets, lost.
type Counters = [u64; 6];

/// What was read of all interfaces at one moment.
#[derive(Clone, Debug, Default)]
pub struct InterfaceCounters {
    interfaces: Vec<(String, Counters)>,
    queues: Vec<(String, Queue)>,
}

/// Reads all interfaces; `None` where there is no such table.
pub fn read() -> Option<InterfaceCounters> {
    let interfaces = parse(&std::fs::read_to_string("/proc/self/net/dev").ok()?);
    Some(InterfaceCounters { interfaces, queues: queues::read() })
}

/// Two lines of headings; then name, eight numbers of what was received and eight of what was sent.
fn parse(text: &str) -> Vec<(String, Counters)> {
    let interface = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> = numbers.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let sum = |from: usize| Some(numbers.get(from)? + numbers.get(from + 1)?);
        let counters = [numbers[0], *numbers.get(1)?, sum(2)?, *numbers.get(8)?, *numbers.get(9)?, sum(10)?];
        Some((name.trim().to_string(), counters))
    };
    text.lines().skip(2).filter(|line| line.contains(':')).filter_map(interface).collect()
}

impl InterfaceCounters {
    /// What they moved since an earlier reading: those that moved or held back something, the busiest first.
    pub fn since(&self, before: &InterfaceCounters, interval_ns: u64) -> Vec<InterfaceActivity> {
        let activity = |(name, now): &(String, Counters)| {
            let (_, then) = before.interfaces.iter().find(|(known, _)| known == name)?;
            let delta = |field: usize| now[field].saturating_sub(then[field]);
            let moved = InterfaceActivity {
                name: name.clone(),
                link_bits: None,
                received_bytes: delta(0),
                received: delta(1),
                sent_bytes: delta(3),
                sent: delta(4),
                dropped: delta(2) + delta(5),
                queue: self.queue(name, before),
                interval_ns,
            };
            let waiting = moved.queue.as_ref().map_or(0, |queue| queue.backlog_bytes);
            (moved.received + moved.sent + moved.dropped + waiting > 0).then_some(moved)
        };
        let mut all: Vec<_> = self.interfaces.iter().filter_map(activity).collect();
        all.sort_by_key(|moved| std::cmp::Reverse(moved.received_bytes + moved.sent_bytes));
        all.truncate(TOLD_MOST);
        all
    }

    fn queue(&self, name: &str, before: &InterfaceCounters) -> Option<iodyno_model::QueueActivity> {
        let of = |reading: &InterfaceCounters| {
            reading.queues.iter().find(|(known, _)| known == name).map(|(_, queue)| queue.clone())
        };
        let now = of(self)?;
        Some(now.since(of(before).filter(|then| then.is_same(&now)).as_ref()))
    }
}

/// The same with what each link can carry.
pub fn with_links(mut all: Vec<InterfaceActivity>) -> Vec<InterfaceActivity> {
    all.iter_mut().for_each(|interface| interface.link_bits = link_bits(&interface.name));
    all
}

/// Drivers whose interfaces have no link, and make up its speed.
const VIRTUAL: [&str; 10] = [
    "veth",
    "tun",
    "bridge",
    "dummy",
    "ifb",
    "macvlan",
    "vxlan",
    "openvswitch",
    "team",
    "802.1Q VLAN Support",
];

/// What a link carries, bit/s; none: it does not say, or it is no real one.
#[cfg(target_os = "linux")]
fn link_bits(name: &str) -> Option<u64> {
    const GET_SETTINGS: u32 = 1;
    const GET_DRIVER: u32 = 3;
    let driver = ethtool(name, GET_DRIVER)?;
    let driver: Vec<u8> = driver[4..36].iter().copied().take_while(|byte| *byte != 0).collect();
    if VIRTUAL.contains(&String::from_utf8_lossy(&driver).as_ref()) {
        return None;
    }
    speed_of(&ethtool(name, GET_SETTINGS)?)
}

/// `struct ethtool_cmd`: the speed in Mbit/s, its lower half at byte 12 and its upper half at byte 28; all ones: unknown.
#[cfg(target_os = "linux")]
fn speed_of(settings: &[u8; ETHTOOL_BYTES]) -> Option<u64> {
    let half = |at: usize| u32::from(u16::from_ne_bytes([settings[at], settings[at + 1]]));
    let megabits = half(28) << 16 | half(12);
    (megabits != 0 && megabits != u32::MAX && megabits != 0xFFFF).then_some(u64::from(megabits) * 1_000_000)
}

/// Room for the answers that are asked for here.
#[cfg(target_os = "linux")]
const ETHTOOL_BYTES: usize = 256;

#[cfg(target_os = "linux")]
fn ethtool(name: &str, command: u32) -> Option<[u8; ETHTOOL_BYTES]> {
    use std::os::fd::AsRawFd;
    const SIOCETHTOOL: u64 = 0x8946;
    let socket = |domain| socket2::Socket::new(domain, socket2::Type::DGRAM, None);
    let socket = socket(socket2::Domain::IPV4).or_else(|_| socket(socket2::Domain::IPV6)).ok()?;
    let mut answer = [0u8; ETHTOOL_BYTES];
    answer[..4].copy_from_slice(&command.to_ne_bytes());
    // SAFETY: the request is zeroed plain memory, the name shorter than its field, and the answer larger than what
    // either command writes.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        if name.len() >= request.ifr_name.len() {
            return None;
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = answer.as_mut_ptr().cast();
        let failed = libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) < 0;
        (!failed).then_some(answer)
    }
}

#[cfg(not(target_os = "linux"))]
fn link_bits(_name: &str) -> Option<u64> {
    let _ = VIRTUAL;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0
  eth0:1145208887   43422    1    2    0     0          0         0  2900832   34995    3    4    0     0       0          0
";

    #[test]
    fn interfaces_that_moved_something_are_told_of() {
        let before = InterfaceCounters { interfaces: parse(DEV), ..InterfaceCounters::default() };
        assert_eq!(before.interfaces[1], ("eth0".into(), [1_145_208_887, 43422, 3, 2_900_832, 34995, 7]));
        let mut after = before.clone();
        assert_eq!(after.since(&before, 5), []);
        after.interfaces[1].1 = [1_145_208_987, 43424, 4, 2_900_842, 34996, 7];
        let seen = after.since(&before, 5);
        assert_eq!((seen.len(), seen[0].name.as_str()), (1, "eth0"));
        assert_eq!((seen[0].received_bytes, seen[0].received, seen[0].dropped), (100, 2, 1));
        assert_eq!((seen[0].sent_bytes, seen[0].sent, seen[0].interval_ns), (10, 1, 5));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn speeds_have_two_halves() {
        let mut settings = [0u8; ETHTOOL_BYTES];
        assert_eq!(speed_of(&settings), None);
        settings[12..14].copy_from_slice(&10_000u16.to_ne_bytes());
        assert_eq!(speed_of(&settings), Some(10_000_000_000));
        settings[12..14].copy_from_slice(&0x86A0u16.to_ne_bytes());
        settings[28..30].copy_from_slice(&1u16.to_ne_bytes());
        assert_eq!(speed_of(&settings), Some(100_000_000_000));
        settings[12..14].copy_from_slice(&[0xFF; 2]);
        settings[28..30].copy_from_slice(&[0xFF; 2]);
        assert_eq!(speed_of(&settings), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_loopback_has_no_link() {
        assert_eq!(link_bits("lo"), None);
        assert_eq!(link_bits("a name that is too long for any interface"), None);
    }
}
