//! The counters of a port, and what they come to between two readings.

use super::message::{ObjectValue, Version};

/// Objects of the system and of interfaces: their names without an index.
const UP_TIME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 3];
const TABLE: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
const EXTENSIONS: [u32; 10] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
/// Columns of `ifTable`.
const DESCRIPTION: u32 = 2;
const SPEED: u32 = 5;
const IN_OCTETS: u32 = 10;
const IN_DISCARDS: u32 = 13;
const IN_ERRORS: u32 = 14;
const OUT_OCTETS: u32 = 16;
const OUT_DISCARDS: u32 = 19;
const OUT_ERRORS: u32 = 20;
/// Columns of `ifXTable`, which version 1 cannot carry.
const NAME: u32 = 1;
const IN_OCTETS_64: u32 = 6;
const OUT_OCTETS_64: u32 = 10;
const HIGH_SPEED: u32 = 15;
const DISCONTINUITY: u32 = 19;
const BASIC: [u32; 8] =
    [DESCRIPTION, SPEED, IN_OCTETS, IN_DISCARDS, IN_ERRORS, OUT_OCTETS, OUT_DISCARDS, OUT_ERRORS];
const EXTENDED: [u32; 5] = [NAME, IN_OCTETS_64, OUT_OCTETS_64, HIGH_SPEED, DISCONTINUITY];
/// A hundredth of a second, ns.
const TICK_NS: u64 = 10_000_000;

fn basic(column: u32, index: u32) -> Vec<u32> {
    [&TABLE[..], &[column, index]].concat()
}

fn extended(column: u32, index: u32) -> Vec<u32> {
    [&EXTENSIONS[..], &[column, index]].concat()
}

/// What an agent is asked for. Version 1 has no counters of 64 bits, and an agent refuses it all where one object is not there.
pub(super) fn names(index: u32, version: Version) -> Vec<Vec<u32>> {
    let more = EXTENDED.iter().map(|column| extended(*column, index)).filter(|_| version == Version::TwoC);
    let mut names = vec![[UP_TIME, &[0]].concat()];
    names.extend(BASIC.iter().map(|column| basic(*column, index)).chain(more));
    names
}

/// Bytes that a port has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Octets {
    Wide(u64),
    Narrow(u32),
}

/// What a port has counted since its agent began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortCounters {
    name: String,
    /// The agent's own time, hundredths of seconds; it wraps after 497 days.
    up_ticks: u32,
    /// When its counters last began anew, by that time.
    discontinuity: u64,
    link_bits: Option<u64>,
    received: Octets,
    sent: Octets,
    /// Errors and discards, received and sent; none: it does not count them.
    faults: [Option<u32>; 4],
}

/// What a port moved in some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct PortActivity {
    pub(in super::super) name: String,
    pub(in super::super) interval_ns: u64,
    /// bit/s; none: it does not say.
    pub(in super::super) link_bits: Option<u64>,
    pub(in super::super) received_bytes: u64,
    pub(in super::super) sent_bytes: u64,
    /// Errors and discards, received and sent; none: it does not count them.
    pub(in super::super) faults: [Option<u64>; 4],
}

impl PortCounters {
    /// From the answer to [`names`].
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn of(values: &[(Vec<u32>, ObjectValue)], index: u32) -> Result<PortCounters, String> {
        let value = |name: &[u32]| values.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let number = |name: &[u32]| match value(name) {
            Some(ObjectValue::Number(number)) => Some(*number),
            _ => None,
        };
        let text = |name: &[u32]| match value(name) {
            Some(ObjectValue::Text(text)) => Some(text.trim().to_string()).filter(|text| !text.is_empty()),
            _ => None,
        };
        let octets = |wide: u32, narrow: u32| {
            let wide = number(&extended(wide, index)).map(Octets::Wide);
            wide.or_else(|| number(&basic(narrow, index)).map(|octets| Octets::Narrow(octets as u32)))
        };
        let up_ticks = number(&[UP_TIME, &[0]].concat()).ok_or("the agent does not say how long it is up")?;
        let (Some(received), Some(sent)) =
            (octets(IN_OCTETS_64, IN_OCTETS), octets(OUT_OCTETS_64, OUT_OCTETS))
        else {
            return Err(format!("the agent knows no interface {index}"));
        };
        let high = number(&extended(HIGH_SPEED, index))
            .filter(|mega| *mega > 0)
            .map(|mega| mega.saturating_mul(1_000_000));
        // What does not fit the old column is its largest number.
        let low = number(&basic(SPEED, index)).filter(|bits| *bits > 0 && *bits < u64::from(u32::MAX));
        let plain = |name: String| name.chars().filter(|letter| !letter.is_control()).collect::<String>();
        let fault = |column| number(&basic(column, index)).map(|count| count as u32);
        Ok(PortCounters {
            name: text(&extended(NAME, index))
                .or_else(|| text(&basic(DESCRIPTION, index)))
                .map_or_else(|| index.to_string(), plain),
            up_ticks: up_ticks as u32,
            discontinuity: number(&extended(DISCONTINUITY, index)).unwrap_or(0),
            // A speed below a megabit is zero in the new column.
            link_bits: high.or(low),
            received,
            sent,
            faults: [IN_ERRORS, OUT_ERRORS, IN_DISCARDS, OUT_DISCARDS].map(fault),
        })
    }

    /// What was moved until a later reading.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub(super) fn until(&self, later: &PortCounters) -> Result<PortActivity, String> {
        let ticks = later.up_ticks.wrapping_sub(self.up_ticks);
        if ticks > u32::MAX / 2 {
            return Err("the agent began anew between its two answers".into());
        }
        if later.discontinuity != self.discontinuity {
            return Err("the port's counters began anew between two answers".into());
        }
        let interval_ns = u64::from(ticks) * TICK_NS;
        if interval_ns == 0 {
            return Err("the agent's clock stood still between its two answers".into());
        }
        let link_bits = later.link_bits.or(self.link_bits);
        let moved = |from: Octets, to: Octets| moved(from, to, link_bits, interval_ns);
        let (received_bytes, sent_bytes) =
            (moved(self.received, later.received)?, moved(self.sent, later.sent)?);
        if received_bytes == 0 && sent_bytes == 0 {
            let seconds = interval_ns as f64 / 1e9;
            return Err(format!(
                "its counters did not move in {seconds:.1} s: some agents count anew only every so often; use a longer --time"
            ));
        }
        let fault = |at: usize| Some(u64::from(later.faults[at]?.wrapping_sub(self.faults[at]?)));
        Ok(PortActivity {
            name: later.name.clone(),
            interval_ns,
            link_bits,
            received_bytes,
            sent_bytes,
            faults: std::array::from_fn(fault),
        })
    }
}

/// From one counter to a later one, over its end if it must be.
fn moved(from: Octets, to: Octets, link_bits: Option<u64>, interval_ns: u64) -> Result<u64, String> {
    match (from, to) {
        (Octets::Wide(from), Octets::Wide(to)) => {
            let bytes = to.wrapping_sub(from);
            if bytes > u64::MAX / 2 { Err("the port's counters went backwards".into()) } else { Ok(bytes) }
        }
        (Octets::Narrow(from), Octets::Narrow(to)) => {
            let link = link_bits.ok_or(
                "its counters have 32 bits, and it does not say its speed: they may have wrapped more than once",
            )?;
            let once_ns = (f64::from(u32::MAX) * 8e9 / link as f64) as u64;
            if interval_ns >= once_ns {
                let seconds = once_ns as f64 / 1e9;
                return Err(format!(
                    "its counters have 32 bits, and may wrap every {seconds:.1} s: use a shorter --time"
                ));
            }
            let bytes = u64::from(to.wrapping_sub(from));
            if bytes as f64 * 8e9 > 1.05 * link as f64 * interval_ns as f64 {
                return Err(
                    "its counters have 32 bits, and moved more than its link carries: they may have wrapped"
                        .into(),
                );
            }
            Ok(bytes)
        }
        _ => Err("the agent changed its counters between its two answers".into()),
    }
}

/// Names of a record's facts, in the order of [`PortActivity::facts`].
const FACTS: [&str; 8] = [
    "port_interval_ns",
    "port_link_bits",
    "port_received_bytes",
    "port_sent_bytes",
    "port_received_errors",
    "port_sent_errors",
    "port_received_discards",
    "port_sent_discards",
];

impl PortActivity {
    /// As a record keeps them; what is not known is left out.
    pub(in super::super) fn facts(&self) -> Vec<(String, u64)> {
        let moved =
            [Some(self.interval_ns), self.link_bits, Some(self.received_bytes), Some(self.sent_bytes)];
        let known = moved.into_iter().chain(self.faults).zip(FACTS);
        known.filter_map(|(value, name)| Some((name.to_string(), value?))).collect()
    }

    /// From what a record kept, which has no name.
    pub(in super::super) fn of(fact: impl Fn(&str) -> Option<u64>) -> Option<PortActivity> {
        let [interval_ns, link_bits, received, sent, faults @ ..] = FACTS.map(fact);
        Some(PortActivity {
            name: String::new(),
            interval_ns: interval_ns?,
            link_bits,
            received_bytes: received?,
            sent_bytes: sent?,
            faults,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(up_ticks: u32, received: Octets, sent: Octets) -> PortCounters {
        PortCounters {
            name: "ge-0/0/1".into(),
            up_ticks,
            discontinuity: 0,
            link_bits: Some(1_000_000_000),
            received,
            sent,
            faults: [Some(u32::MAX), Some(7), None, Some(0)],
        }
    }

    #[test]
    fn counters_that_wrapped_moved_on() {
        let first = counters(u32::MAX - 99, Octets::Wide(u64::MAX - 9), Octets::Wide(5));
        let mut last = counters(100, Octets::Wide(990), Octets::Wide(1005));
        last.faults = [Some(1), Some(7), None, Some(3)];
        let moved = first.until(&last).unwrap();
        assert_eq!((moved.interval_ns, moved.received_bytes, moved.sent_bytes), (2_000_000_000, 1000, 1000));
        assert_eq!(moved.faults, [Some(2), Some(0), None, Some(3)]);
        let narrow = |up, received| counters(up, Octets::Narrow(received), Octets::Narrow(0));
        let moved = narrow(0, u32::MAX - 9).until(&narrow(1000, 90)).unwrap();
        assert_eq!(moved.received_bytes, 100);
    }

    #[test]
    fn what_cannot_be_told_says_why() {
        let wide = |up, octets| counters(up, Octets::Wide(octets), Octets::Wide(octets));
        let narrow = |up, octets| counters(up, Octets::Narrow(octets), Octets::Narrow(octets));
        let why = |first: &PortCounters, last: &PortCounters| first.until(last).unwrap_err();
        assert!(why(&wide(1000, 5), &wide(10, 9)).contains("the agent began anew"));
        assert!(why(&wide(0, 500), &wide(10, 9)).contains("went backwards"));
        assert!(why(&wide(10, 5), &wide(10, 9)).contains("clock stood still"));
        assert!(why(&wide(0, 5), &wide(510, 5)).contains("did not move in 5.1 s"));
        let anew = PortCounters { discontinuity: 8, ..wide(10, 9) };
        assert!(why(&wide(0, 5), &anew).contains("began anew"));
        // A gigabit wraps 32 bits of bytes in 34.4 s.
        assert!(why(&narrow(0, 5), &narrow(3500, 9)).contains("every 34.4 s"));
        let unknown = |up, octets| PortCounters { link_bits: None, ..narrow(up, octets) };
        assert!(why(&unknown(0, 5), &unknown(100, 9)).contains("does not say its speed"));
        assert!(why(&narrow(0, 5), &wide(100, 9)).contains("changed its counters"));
        assert!(why(&narrow(0, 5), &narrow(100, 200_000_000)).contains("more than its link carries"));
    }

    #[test]
    fn a_record_keeps_what_is_known() {
        let first = counters(0, Octets::Wide(0), Octets::Wide(0));
        let moved = first.until(&counters(100, Octets::Wide(70), Octets::Wide(80))).unwrap();
        let facts = moved.facts();
        assert_eq!(facts.len(), 7);
        let again = PortActivity::of(|name| crate::conversation::fact(&facts, name)).unwrap();
        assert_eq!(again, PortActivity { name: String::new(), ..moved });
        assert_eq!(PortActivity::of(|_| None), None);
    }

    #[test]
    fn speeds_are_the_widest_that_is_known() {
        let of = |high: u64, low: u64| {
            let mut values: Vec<(Vec<u32>, ObjectValue)> =
                names(3, Version::TwoC).into_iter().map(|name| (name, ObjectValue::Number(1))).collect();
            let mut set = |name: Vec<u32>, value| {
                values.iter_mut().find(|(known, _)| *known == name).expect("asked for").1 = value;
            };
            set(extended(HIGH_SPEED, 3), ObjectValue::Number(high));
            set(basic(SPEED, 3), ObjectValue::Number(low));
            set(extended(NAME, 3), ObjectValue::Text(String::new()));
            set(basic(DESCRIPTION, 3), ObjectValue::Text("Port\u{1b}[1m 3\n".into()));
            PortCounters::of(&values, 3).map(|counters| (counters.link_bits, counters.name))
        };
        assert_eq!(of(100_000, 4_294_967_295), Ok((Some(100_000_000_000), "Port[1m 3".into())));
        assert_eq!(of(0, 64_000), Ok((Some(64_000), "Port[1m 3".into())));
        assert_eq!(of(0, 4_294_967_295).unwrap().0, None);
        let absent: Vec<_> =
            names(3, Version::TwoC).into_iter().map(|name| (name, ObjectValue::Absent)).collect();
        assert_eq!(PortCounters::of(&absent, 3).unwrap_err(), "the agent does not say how long it is up");
        let up = [(names(3, Version::One)[0].clone(), ObjectValue::Number(5))];
        assert_eq!(PortCounters::of(&up, 3).unwrap_err(), "the agent knows no interface 3");
        assert_eq!((names(3, Version::One).len(), names(3, Version::TwoC).len()), (9, 14));
    }
}
