//! Queue disciplines: what holds packets back before an interface sends them. Source: rtnetlink, `RTM_GETQDISC`, and
//! `RTM_GETTCLASS` for those whose rates are their classes'.
//!
//! Of an interface with several, the one with the lowest rate is told of; without a rate, the outermost.

use iodyno_model::QueueActivity;

/// A queue discipline as it was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    kind: String,
    handle: u32,
    /// Bit/s.
    rate_bits: Option<u64>,
    backlog_bytes: u64,
    overlimits: u64,
    dropped: u64,
}

impl Queue {
    /// Whether it is the same one, and was not replaced.
    pub fn is_same(&self, other: &Queue) -> bool {
        self.kind == other.kind && self.handle == other.handle
    }

    /// What it did since an earlier reading; none: since it was made.
    pub fn since(&self, before: Option<&Queue>) -> QueueActivity {
        let (overlimits, dropped) = before.map_or((0, 0), |before| (before.overlimits, before.dropped));
        QueueActivity {
            kind: self.kind.clone(),
            rate_bits: self.rate_bits,
            backlog_bytes: self.backlog_bytes,
            // Counters of 32 bits, which may turn over.
            overlimits: u64::from((self.overlimits as u32).wrapping_sub(overlimits as u32)),
            dropped: u64::from((self.dropped as u32).wrapping_sub(dropped as u32)),
        }
    }
}

/// What one message tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct QueueMessage {
    interface: u32,
    parent: u32,
    queue: Queue,
}

/// Fixed parts of messages, bytes: `nlmsghdr`, `tcmsg`.
const HEADER: usize = 16;
const TRAFFIC: usize = 20;
/// The parent of an outermost discipline.
const ROOT: u32 = 0xFFFF_FFFF;
/// Types of messages (`linux/rtnetlink.h`).
const NEW_QDISC: u16 = 36;
const NEW_CLASS: u16 = 40;
/// Attributes (`linux/rtnetlink.h`, `linux/gen_stats.h`).
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATS2: u16 = 7;
const STATS_QUEUE: u16 = 3;

/// The interfaces that have one, by name.
#[cfg(target_os = "linux")]
pub fn read() -> Vec<(String, Queue)> {
    let mut told = dump(GET_QDISC, 0);
    let unrated = |told: &&mut QueueMessage| told.queue.kind == "htb" && told.queue.rate_bits.is_none();
    for told in told.iter_mut().filter(unrated) {
        let classes = dump(GET_CLASS, told.interface);
        told.queue.rate_bits = classes.iter().filter_map(|class| class.queue.rate_bits).max();
    }
    let named = |(interface, queue): (u32, Queue)| Some((name_of(interface)?, queue));
    chosen(told).into_iter().filter_map(named).collect()
}

/// None that can be read.
#[cfg(not(target_os = "linux"))]
pub fn read() -> Vec<(String, Queue)> {
    let _ = (messages(&[]), chosen(Vec::new()), TRAFFIC);
    Vec::new()
}

/// The one to tell of for each interface; those without a queue have none.
fn chosen(mut told: Vec<QueueMessage>) -> Vec<(u32, Queue)> {
    told.retain(|told| !matches!(told.queue.kind.as_str(), "noqueue" | "ingress" | "clsact"));
    told.sort_by_key(|told| (told.interface, told.queue.rate_bits.unwrap_or(u64::MAX), told.parent != ROOT));
    told.dedup_by_key(|told| told.interface);
    told.into_iter().map(|told| (told.interface, told.queue)).collect()
}

#[cfg(target_os = "linux")]
const GET_QDISC: u16 = 38;
#[cfg(target_os = "linux")]
const GET_CLASS: u16 = 42;

/// Asks for all of a kind; of one interface, or (0) of all.
#[cfg(target_os = "linux")]
fn dump(kind: u16, interface: u32) -> Vec<QueueMessage> {
    use std::io::{Read, Write};
    const FLAGS: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    let (domain, protocol) = (socket2::Domain::from(libc::AF_NETLINK), libc::NETLINK_ROUTE);
    let Ok(mut socket) = socket2::Socket::new(domain, socket2::Type::RAW, Some(protocol.into())) else {
        return Vec::new();
    };
    let mut request = Vec::with_capacity(HEADER + TRAFFIC);
    request.extend(((HEADER + TRAFFIC) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(FLAGS.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([0; 4]);
    request.extend(interface.to_ne_bytes());
    request.extend([0; 12]);
    // Whoever does not answer at once is not waited for.
    let _ = socket.set_read_timeout(Some(std::time::Duration::from_millis(100)));
    if socket.write_all(&request).is_err() {
        return Vec::new();
    }
    let (mut all, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(bytes @ 1..) = socket.read(&mut buffer) {
        let (told, is_over) = messages(&buffer[..bytes]);
        all.extend(told);
        if is_over {
            break;
        }
    }
    all
}

#[cfg(target_os = "linux")]
fn name_of(interface: u32) -> Option<String> {
    let mut name = [0u8; libc::IF_NAMESIZE];
    // SAFETY: the buffer is as long as any name.
    let found = unsafe { libc::if_indextoname(interface, name.as_mut_ptr().cast()) };
    if found.is_null() {
        return None;
    }
    let end = name.iter().position(|byte| *byte == 0)?;
    String::from_utf8(name[..end].to_vec()).ok()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// What a datagram of messages tells, and whether it is the last.
fn messages(mut bytes: &[u8]) -> (Vec<QueueMessage>, bool) {
    const ERROR: u16 = 2;
    const DONE: u16 = 3;
    let mut all = Vec::new();
    while let (Some(length), Some(kind)) = (word(bytes, 0), half(bytes, 4)) {
        let length = length as usize;
        if matches!(kind, ERROR | DONE) || length < HEADER || length > bytes.len() {
            return (all, true);
        }
        if matches!(kind, NEW_QDISC | NEW_CLASS) {
            all.extend(message(&bytes[HEADER..length]));
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    (all, false)
}

fn message(body: &[u8]) -> Option<QueueMessage> {
    let (interface, handle, parent) = (word(body, 4)?, word(body, 8)?, word(body, 12)?);
    let attributes = attributes(body.get(TRAFFIC..)?);
    let of = |kind: u16| attributes.iter().find(|(known, _)| *known == kind).map(|(_, value)| *value);
    let kind: Vec<u8> = of(KIND)?.iter().copied().take_while(|byte| *byte != 0).collect();
    let kind = String::from_utf8(kind).ok()?;
    let mut queue = Queue {
        rate_bits: of(OPTIONS).and_then(|options| rate(&kind, options)),
        kind,
        handle,
        ..Queue::default()
    };
    let stats = of(STATS2).map(self::attributes).unwrap_or_default();
    // `gnet_stats_queue`: length, backlog, drops, requeues, overlimits.
    if let Some((_, stats)) = stats.into_iter().find(|(kind, _)| *kind == STATS_QUEUE) {
        queue.backlog_bytes = word(stats, 4)?.into();
        queue.dropped = word(stats, 8)?.into();
        queue.overlimits = word(stats, 16)?.into();
    }
    Some(QueueMessage { interface, parent, queue })
}

/// Kind and value of each attribute; what is cut off is left out.
fn attributes(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    const NESTED: u16 = 0x8000;
    let mut all = Vec::new();
    while let (Some(length), Some(kind)) = (half(bytes, 0), half(bytes, 2)) {
        let length = usize::from(length);
        let Some(value) = bytes.get(4..length) else { break };
        all.push((kind & !NESTED, value));
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    all
}

/// The rate that a discipline, or a class of one, lets through, bit/s. Options as in `linux/pkt_sched.h`, where a
/// `tc_ratespec` keeps bytes per second at byte 8, and a larger rate has an attribute of 64 bits.
fn rate(kind: &str, options: &[u8]) -> Option<u64> {
    let (fixed, narrow, at, wide) = match kind {
        "tbf" => (0, 1, 8, 4),
        "netem" => (24, 6, 0, 8),
        "cake" => (0, u16::MAX, 0, 2),
        // The ceiling of a class; the discipline itself has none.
        "htb" => (0, 1, 12 + 8, 7),
        _ => return None,
    };
    let all = attributes(options.get(fixed..)?);
    let of = |kind: u16| all.iter().find(|(known, _)| *known == kind).map(|(_, value)| *value);
    let large = of(wide).and_then(|value| Some(u64::from_ne_bytes(value.get(..8)?.try_into().ok()?)));
    let small = || of(narrow).and_then(|value| word(value, at)).map(u64::from);
    large.or_else(small).filter(|bytes| *bytes > 0).map(|bytes| bytes.saturating_mul(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(((value.len() + 4) as u16).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn qdisc(interface: u32, parent: u32, kind: &str, options: &[u8], stats: [u32; 5]) -> Vec<u8> {
        let mut body = words(&[0, interface, 0x8001_0000, parent, 1]);
        body.extend(attribute(KIND, format!("{kind}\0").as_bytes()));
        body.extend(attribute(OPTIONS, options));
        body.extend(attribute(STATS2, &attribute(STATS_QUEUE, &words(&stats))));
        let mut bytes = words(&[(HEADER + body.len()) as u32, u32::from(NEW_QDISC), 1, 0]);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_bucket_below_a_root_is_what_holds_back() {
        let tbf = attribute(1, &words(&[0, 0, 125_000, 0, 0, 0, 0, 0, 0]));
        let mut bytes = qdisc(2, ROOT, "mq", &[], [0, 5, 0, 0, 0]);
        bytes.extend(qdisc(2, 0x1_0000, "tbf", &tbf, [1, 1500, 2, 0, 77]));
        bytes.extend(qdisc(3, ROOT, "noqueue", &[], [0; 5]));
        bytes.extend(qdisc(4, ROOT, "fq_codel", &[], [0, 9, 0, 0, 1]));
        bytes.extend(words(&[20, 3, 1, 0, 0]));
        let (told, is_over) = messages(&bytes);
        assert!(is_over);
        let chosen = chosen(told);
        assert_eq!(chosen.iter().map(|(interface, _)| *interface).collect::<Vec<_>>(), [2, 4]);
        let seen = chosen[0].1.since(Some(&Queue {
            overlimits: 70,
            dropped: u64::from(u32::MAX),
            ..Queue::default()
        }));
        assert_eq!((seen.kind.as_str(), seen.rate_bits), ("tbf", Some(1_000_000)));
        assert_eq!((seen.backlog_bytes, seen.overlimits, seen.dropped), (1500, 7, 3));
        assert_eq!(chosen[1].1.rate_bits, None);
    }

    #[test]
    fn rates_of_every_kind() {
        let wide = (2u64 << 32).to_ne_bytes();
        let tbf = [attribute(1, &words(&[0; 9])), attribute(4, &wide)].concat();
        assert_eq!(rate("tbf", &tbf), Some(2 << 35));
        let netem = [words(&[0; 6]), attribute(6, &words(&[1000, 0, 0, 0]))].concat();
        assert_eq!(rate("netem", &netem), Some(8000));
        assert_eq!(rate("cake", &attribute(2, &wide)), Some(2 << 35));
        assert_eq!(rate("htb", &attribute(1, &words(&[0, 0, 10, 0, 0, 20]))), Some(160));
        assert_eq!(rate("netem", &words(&[0; 6])), None, "it delays only");
        assert_eq!(rate("fq", &[]), None);
    }

    #[test]
    fn cut_off_messages_are_left_out() {
        let whole = qdisc(2, ROOT, "tbf", &attribute(1, &words(&[0, 0, 1, 0, 0, 0])), [0; 5]);
        for end in 0..whole.len() {
            assert!(messages(&whole[..end]).0.is_empty(), "{end}");
        }
        assert!(message(&[0; 7]).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_answers() {
        // No interface need have a queue; that asking ends, and each has a name, is what can be said.
        assert!(read().iter().all(|(name, queue)| !name.is_empty() && !queue.kind.is_empty()));
    }
}
