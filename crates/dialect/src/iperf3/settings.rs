//! What client and server agree upon before a test: the parameters' JSON, both ways.
//!
//! Every field of a peer is checked for its type and its bounds; one of a wrong type counts as not there, as the
//! original's do since CVE-2024-53580.

use serde_json::Value;

use crate::json_tree::JsonTree;

/// Datagrams cannot be longer.
pub const DATAGRAM_MOST: u64 = 65_507;
/// Datagrams carry a time and a number.
pub const DATAGRAM_LEAST: u64 = 16;
/// What is sent at a time over TCP, unless said otherwise.
pub const BLOCK_BYTES: u64 = 128 << 10;
const BLOCK_MOST: u64 = 1 << 20;

/// A test, as both sides know it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// UDP rather than TCP.
    pub udp: bool,
    /// SCTP rather than TCP.
    pub sctp: bool,
    /// Seconds that are run and not counted.
    pub omit_s: u64,
    /// Seconds; 0: bytes or blocks decide, or nothing does.
    pub time_s: u64,
    /// Bytes over all streams; 0: no matter.
    pub bytes: u64,
    /// Blocks over all streams; 0: no matter.
    pub blocks: u64,
    /// Largest TCP segment; 0: the system's.
    pub mss: u32,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// Streams in a direction.
    pub parallel: u32,
    /// The server sends.
    pub reverse: bool,
    /// Both send.
    pub bidir: bool,
    /// Multipath TCP.
    pub mptcp: bool,
    /// Socket buffers, bytes; 0: the system's.
    pub window: u64,
    /// Bytes of a block or datagram; 0: the usual.
    pub block_bytes: u64,
    /// Bits per second of each stream; 0: as fast as it goes.
    pub rate: u64,
    /// The kernel's pace, bits per second; 0: none.
    pub fq_rate: u64,
    /// µs; told to servers that keep pace by a timer.
    pub pacing_timer: u64,
    /// Blocks sent together; 0: one.
    pub burst: u32,
    /// UDP in batches of the kernel's was asked for.
    pub gsro: bool,
    /// Traffic class byte.
    pub tos: u32,
    /// IPv6 flow label; 0: none.
    pub flow_label: u32,
    /// Congestion control; empty: the system's.
    pub congestion: String,
    /// A word before every line, on the client.
    pub title: Option<String>,
    /// A text for both sides' JSON.
    pub extra_data: Option<String>,
    /// The server tells what it printed.
    pub get_server_output: bool,
    /// Packet numbers of 64 bits.
    pub counters_64bit: bool,
    /// Digits instead of random bytes.
    pub repeating_payload: bool,
    /// Sent without copying.
    pub zerocopy: bool,
    /// Packets are not to be cut.
    pub dont_fragment: bool,
    /// Received without copying.
    pub skip_rx_copy: bool,
    /// The server's processor.
    pub affinity: Option<u32>,
    pub token: Option<String>,
    /// The client's version.
    pub client_version: String,
}

/// A field of the JSON: its name, what is written (none: it is left out), and how it is read.
type JsonField = (&'static str, fn(&Params) -> Option<JsonTree>, fn(&mut Params, &Value));

/// The fields in the order in which iperf3 writes them.
const FIELDS: &[JsonField] = &[
    ("udp", |p| yes(p.udp), |p, v| p.udp = is_true(v)),
    ("sctp", |p| yes(p.sctp && !p.udp), |p, v| p.sctp = is_true(v)),
    ("tcp", |p| yes(!p.udp && !p.sctp), |_, _| ()),
    ("omit", |p| Some(p.omit_s.into()), |p, v| p.omit_s = whole_number(v)),
    ("server_affinity", |p| p.affinity.map(Into::into), |p, v| p.affinity = processor(v)),
    ("time", |p| Some(p.time_s.into()), |p, v| p.time_s = whole_number(v)),
    ("num", |p| Some(p.bytes.into()), |p, v| p.bytes = whole_number(v)),
    ("blockcount", |p| Some(p.blocks.into()), |p, v| p.blocks = whole_number(v)),
    ("MSS", |p| some(p.mss.into()), |p, v| p.mss = small(v)),
    ("nodelay", |p| yes(p.nodelay), |p, v| p.nodelay = is_true(v)),
    ("parallel", |p| Some(p.parallel.into()), |p, v| p.parallel = streams(v)),
    ("reverse", |p| yes(p.reverse), |p, v| p.reverse = is_true(v)),
    ("bidirectional", |p| yes(p.bidir), |p, v| p.bidir = is_true(v)),
    ("mptcp", |p| yes(p.mptcp), |p, v| p.mptcp = is_true(v)),
    ("window", |p| some(p.window), |p, v| p.window = whole_number(v)),
    ("len", |p| some(p.block_bytes), |p, v| p.block_bytes = whole_number(v)),
    ("bandwidth", |p| some(p.rate), |p, v| p.rate = whole_number(v)),
    ("fqrate", |p| some(p.fq_rate), |p, v| p.fq_rate = whole_number(v)),
    ("pacing_timer", |p| some(p.pacing_timer), |p, v| p.pacing_timer = whole_number(v)),
    ("burst", |p| some(p.burst.into()), |p, v| p.burst = small(v)),
    ("TOS", |p| some(p.tos.into()), |p, v| p.tos = small(v)),
    ("flowlabel", |p| some(p.flow_label.into()), |p, v| p.flow_label = small(v)),
    ("title", |p| p.title.clone().map(Into::into), |p, v| p.title = text(v)),
    ("extra_data", |p| p.extra_data.clone().map(Into::into), |p, v| p.extra_data = text(v)),
    ("authtoken", |p| p.token.clone().map(Into::into), |p, v| p.token = text(v)),
    ("congestion", |p| named(&p.congestion), |p, v| p.congestion = text(v).unwrap_or_default()),
    ("get_server_output", |p| one(p.get_server_output), |p, v| p.get_server_output = is_on(v)),
    ("udp_counters_64bit", |p| one(p.counters_64bit), |p, v| p.counters_64bit = is_on(v)),
    ("repeating_payload", |p| one(p.repeating_payload), |p, v| p.repeating_payload = is_on(v)),
    ("zerocopy", |p| one(p.zerocopy), |p, v| p.zerocopy = is_on(v)),
    ("dont_fragment", |p| one(p.dont_fragment), |p, v| p.dont_fragment = is_on(v)),
    ("skip_rx_copy", |p| one(p.skip_rx_copy), |p, v| p.skip_rx_copy = is_on(v)),
    ("gso", |p| p.batched(1), |p, v| p.gsro |= is_on(v)),
    ("gso_dg_size", |p| p.batched(p.block_bytes), |_, _| ()),
    ("gso_bf_size", |p| p.batched(DATAGRAM_MOST), |_, _| ()),
    ("gro", |p| p.batched(1), |p, v| p.gsro |= is_on(v)),
    ("gro_bf_size", |p| p.batched(DATAGRAM_MOST), |_, _| ()),
    ("client_version", |_| named(super::VERSION), |p, v| p.client_version = text(v).unwrap_or_default()),
];

fn some(number: u64) -> Option<JsonTree> {
    (number > 0).then(|| number.into())
}

fn yes(is_on: bool) -> Option<JsonTree> {
    is_on.then(|| true.into())
}

fn one(is_on: bool) -> Option<JsonTree> {
    is_on.then(|| 1.into())
}

fn named(name: &str) -> Option<JsonTree> {
    (!name.is_empty()).then(|| name.into())
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// A whole number; one below 0 is too much for anything.
fn whole_number(value: &Value) -> u64 {
    number(value).map_or(0, |number| if number < 0.0 { u64::MAX } else { number as u64 })
}

fn small(value: &Value) -> u32 {
    whole_number(value).min(u64::from(u32::MAX)) as u32
}

fn streams(value: &Value) -> u32 {
    number(value).map_or(1, |count| count.clamp(0.0, 1e6) as u32)
}

fn processor(value: &Value) -> Option<u32> {
    number(value).filter(|cpu| (0.0..4096.0).contains(cpu)).map(|cpu| cpu as u32)
}

fn is_true(value: &Value) -> bool {
    value.as_bool() == Some(true)
}

fn is_on(value: &Value) -> bool {
    is_true(value) || value.as_f64().is_some_and(|number| number != 0.0)
}

/// A text of a peer goes no further than a screen is wide, and into JSON.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(|text| text.chars().take(4096).collect())
}

impl Params {
    /// A number that is written where UDP goes in batches of the kernel's.
    fn batched(&self, number: u64) -> Option<JsonTree> {
        some(number).filter(|_| self.udp && self.gsro)
    }

    /// `TCP`, `UDP` or `SCTP`.
    pub fn protocol(&self) -> &'static str {
        match (self.udp, self.sctp) {
            (true, _) => "UDP",
            (_, true) => "SCTP",
            _ => "TCP",
        }
    }

    /// Whether a sender knows its retransmits and its window: the kernel tells them of TCP.
    pub fn is_tcp(&self) -> bool {
        !self.udp && !self.sctp
    }

    /// What is sent at a time, unless said otherwise.
    pub fn usual_block_bytes(&self) -> u64 {
        match (self.udp, self.sctp) {
            (true, _) => 1460,
            (_, true) => BLOCK_BYTES / 2,
            _ => BLOCK_BYTES,
        }
    }

    pub fn streams(&self) -> u32 {
        self.parallel * if self.bidir { 2 } else { 1 }
    }

    /// Whether the client sends in the stream that is made as number `made`: of both directions its own come first.
    pub fn client_sends(&self, made: u32) -> bool {
        if self.bidir { made < self.parallel } else { !self.reverse }
    }

    /// Whether an amount, not a time, ends it.
    pub fn is_counted(&self) -> bool {
        self.bytes > 0 || self.blocks > 0
    }

    /// What the test moves in each direction, where an amount ends it: whole datagrams of UDP.
    pub fn whole_bytes(&self) -> Option<u64> {
        let block = self.block_bytes.max(1);
        match (self.blocks, self.bytes) {
            (0, 0) => None,
            (0, bytes) if self.udp => Some(bytes.div_ceil(block).saturating_mul(block)),
            (0, bytes) => Some(bytes),
            (blocks, _) => Some(blocks.saturating_mul(block)),
        }
    }

    /// What stream `index` of a direction sends of it: shares in whole blocks, the first ones more.
    pub fn share(&self, index: u32) -> Option<u64> {
        let whole_number = self.whole_bytes()?;
        let block = self.block_bytes.max(1);
        let count = u64::from(self.parallel.max(1));
        let (blocks, rest) = (whole_number / block, whole_number % block);
        let index = u64::from(index);
        let own = blocks / count + u64::from(index < blocks % count);
        // What is no whole block follows the last of them.
        let last = match blocks % count {
            0 => count - 1,
            next => next,
        };
        Some(own * block + if index == last.min(count - 1) { rest } else { 0 })
    }

    /// As the client sends it.
    pub fn json(&self) -> JsonTree {
        let mut all = JsonTree::object([]);
        all.extend(FIELDS.iter().filter_map(|(name, write, _)| Some((*name, write(self)?))));
        all
    }

    /// As a client sent it, within bounds.
    ///
    /// # Errors
    /// The number of iperf3's error.
    pub fn of(value: &Value) -> Result<Params, i32> {
        let fields = value.as_object().ok_or(super::state::RECEIVE_PARAMS)?;
        let mut params = Params { parallel: 1, ..Params::default() };
        for (name, _, read) in FIELDS {
            if let Some(value) = fields.get(*name) {
                read(&mut params, value);
            }
        }
        params.sctp &= !params.udp;
        params.bounded()
    }

    fn bounded(mut self) -> Result<Params, i32> {
        use super::state;
        let word = |text: &str| {
            text.len() <= 16 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        let wrong = [
            (self.omit_s > 600, state::OMIT),
            (self.time_s > 86_400, state::DURATION),
            (!(1..=128).contains(&self.parallel), state::STREAMS),
            (self.window > 512 << 20, state::BUFFER),
            (self.mss > 32_767, state::MSS),
            (self.burst > 1000, state::BURST),
            (self.tos > 255, state::TOS),
            (self.flow_label > 0xf_ffff, state::RECEIVE_PARAMS),
            (self.block_bytes > BLOCK_MOST, state::BLOCK),
            (
                self.udp
                    && self.block_bytes != 0
                    && !(DATAGRAM_LEAST..=DATAGRAM_MOST).contains(&self.block_bytes),
                state::DATAGRAM,
            ),
            (self.bytes > 1 << 62 || self.blocks > 1 << 40 || self.rate > 1 << 60, state::RECEIVE_PARAMS),
            (self.reverse && self.bidir, state::BOTH_WAYS),
            (!word(&self.congestion), state::CONGESTION),
        ];
        if let Some((_, error)) = wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(error);
        }
        if self.block_bytes == 0 {
            self.block_bytes = self.usual_block_bytes();
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::CJSON;
    use super::*;
    use serde_json::json;

    #[test]
    fn the_smallest_message() {
        let params =
            Params { time_s: 2, parallel: 1, block_bytes: 131_072, pacing_timer: 1000, ..Params::default() };
        assert_eq!(
            params.json().line(&CJSON),
            "{\"tcp\":true,\"omit\":0,\"time\":2,\"num\":0,\"blockcount\":0,\"parallel\":1,\"len\":131072,\
             \"pacing_timer\":1000,\"client_version\":\"3.21\"}"
        );
        let back = Params::of(&serde_json::from_str(&params.json().line(&CJSON)).unwrap()).unwrap();
        assert_eq!(back, Params { client_version: "3.21".into(), ..params });
    }

    #[test]
    fn everything_comes_back() {
        let params = Params {
            udp: true,
            omit_s: 1,
            bytes: 5,
            mss: 1400,
            nodelay: true,
            parallel: 128,
            bidir: true,
            window: 65_536,
            block_bytes: 1460,
            rate: 1_048_576,
            fq_rate: 9,
            pacing_timer: 1000,
            burst: 10,
            gsro: true,
            tos: 184,
            flow_label: 77,
            congestion: "cubic".into(),
            title: Some("t".into()),
            extra_data: Some("x\"y".into()),
            get_server_output: true,
            counters_64bit: true,
            repeating_payload: true,
            zerocopy: true,
            dont_fragment: true,
            skip_rx_copy: true,
            affinity: Some(1),
            token: Some("abc=".into()),
            client_version: "3.21".into(),
            ..Params::default()
        };
        let text = params.json().line(&CJSON);
        assert_eq!(Params::of(&serde_json::from_str(&text).unwrap()), Ok(params));
    }

    #[test]
    fn shares_are_exact() {
        for (bytes, blocks, udp, parallel) in [
            (64 << 20, 0, false, 4),
            (1_000_001, 0, false, 3),
            (5, 0, false, 4),
            (0, 7, true, 4),
            (100_000, 0, true, 5),
        ] {
            let params = Params { bytes, blocks, udp, parallel, block_bytes: 1460, ..Params::default() };
            let sum: u64 = (0..parallel).map(|index| params.share(index).unwrap()).sum();
            assert_eq!(Some(sum), params.whole_bytes(), "{params:?}");
        }
        assert_eq!(Params { time_s: 1, parallel: 1, ..Params::default() }.share(0), None);
    }

    #[test]
    fn what_a_hostile_client_says() {
        for bad in [
            json!([]),
            json!("x"),
            json!({"tcp": true, "parallel": 129}),
            json!({"tcp": true, "parallel": 0}),
            json!({"tcp": true, "parallel": -1}),
            json!({"tcp": true, "omit": -5}),
            json!({"tcp": true, "time": 1e300}),
            json!({"tcp": true, "len": 1u64 << 40}),
            json!({"udp": true, "len": 3}),
            json!({"udp": true, "len": 65_508}),
            json!({"tcp": true, "congestion": "../../etc"}),
            json!({"tcp": true, "TOS": 256}),
            json!({"tcp": true, "reverse": true, "bidirectional": true}),
            json!({"tcp": true, "num": -1}),
        ] {
            assert!(Params::of(&bad).is_err(), "{bad}");
        }
        // Wrong types count as not there.
        let odd = json!({"tcp": 1, "reverse": 1, "parallel": "many", "len": {}, "time": [3], "authtoken": 5});
        let params = Params::of(&odd).unwrap();
        assert_eq!(
            (params.reverse, params.parallel, params.block_bytes, params.time_s),
            (false, 1, BLOCK_BYTES, 0)
        );
        assert_eq!(params.token, None);
    }
}
