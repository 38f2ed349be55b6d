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
    /// Who it is.
    pub token: Option<String>,
    /// The client's version.
    pub client_version: String,
}

impl Params {
    /// `TCP`, `UDP` or `SCTP`.
    pub fn protocol(&self) -> &'static str {
        match (self.udp, self.sctp) {
            (true, _) => "UDP",
            (_, true) => "SCTP",
            _ => "TCP",
        }
    }

    /// What is sent at a time, unless said otherwise.
    pub fn usual_block_bytes(&self) -> u64 {
        match (self.udp, self.sctp) {
            (true, _) => 1460,
            (_, true) => BLOCK_BYTES / 2,
            _ => BLOCK_BYTES,
        }
    }

    /// Streams in all.
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
        let whole = self.whole_bytes()?;
        let block = self.block_bytes.max(1);
        let count = u64::from(self.parallel.max(1));
        let (blocks, rest) = (whole / block, whole % block);
        let index = u64::from(index);
        let own = blocks / count + u64::from(index < blocks % count);
        // What is no whole block follows the last of them.
        let last = match blocks % count {
            0 => count - 1,
            next => next,
        };
        Some(own * block + if index == last.min(count - 1) { rest } else { 0 })
    }

    /// As the client says it.
    pub fn json(&self) -> JsonTree {
        let mut all = JsonTree::object([]);
        all.push(&self.protocol().to_ascii_lowercase(), true);
        all.push("omit", self.omit_s);
        all.extend(self.affinity.map(|cpu| ("server_affinity", cpu)));
        all.extend([("time", self.time_s), ("num", self.bytes), ("blockcount", self.blocks)]);
        all.extend(Some(("MSS", self.mss)).filter(|(_, mss)| *mss > 0));
        all.extend(Some(("nodelay", true)).filter(|_| self.nodelay));
        all.push("parallel", self.parallel);
        let directions = [("reverse", self.reverse), ("bidirectional", self.bidir), ("mptcp", self.mptcp)];
        all.extend(directions.into_iter().filter(|(_, is_on)| *is_on));
        let more = [
            ("window", self.window),
            ("len", self.block_bytes),
            ("bandwidth", self.rate),
            ("fqrate", self.fq_rate),
            ("pacing_timer", self.pacing_timer),
            ("burst", self.burst.into()),
            ("TOS", self.tos.into()),
            ("flowlabel", self.flow_label.into()),
        ];
        all.extend(more.into_iter().filter(|(_, value)| *value > 0));
        self.texts(&mut all);
        all
    }

    fn texts(&self, all: &mut JsonTree) {
        let optional = [("title", &self.title), ("extra_data", &self.extra_data), ("authtoken", &self.token)];
        all.extend(optional.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))));
        if !self.congestion.is_empty() {
            all.push("congestion", self.congestion.as_str());
        }
        let ones = [
            ("get_server_output", self.get_server_output),
            ("udp_counters_64bit", self.counters_64bit),
            ("repeating_payload", self.repeating_payload),
            ("zerocopy", self.zerocopy),
            ("dont_fragment", self.dont_fragment),
            ("skip_rx_copy", self.skip_rx_copy),
        ];
        all.extend(ones.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| (name, 1u64)));
        if self.udp && self.gsro {
            all.extend([("gso", 1), ("gso_dg_size", self.block_bytes), ("gso_bf_size", DATAGRAM_MOST)]);
            all.extend([("gro", 1), ("gro_bf_size", DATAGRAM_MOST)]);
        }
        all.push("client_version", super::VERSION);
    }

    /// As a client said it, within bounds.
    ///
    /// # Errors
    /// The number of iperf3's error.
    pub fn of(value: &Value) -> Result<Params, i32> {
        let fields = value.as_object().ok_or(super::state::RECEIVE_PARAMS)?;
        let number =
            |name: &str| fields.get(name).and_then(Value::as_f64).filter(|number| number.is_finite());
        let whole =
            |name: &str| number(name).map_or(0, |number| if number < 0.0 { u64::MAX } else { number as u64 });
        let is_true = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
        let one = |name: &str| {
            fields.get(name).is_some_and(|value| {
                value.as_bool() == Some(true) || value.as_f64().is_some_and(|n| n != 0.0)
            })
        };
        // A text of a peer goes no further than a screen is wide, and into JSON.
        let text = |name: &str| {
            fields.get(name).and_then(Value::as_str).map(|text| text.chars().take(4096).collect::<String>())
        };
        let params = Params {
            udp: is_true("udp"),
            sctp: is_true("sctp") && !is_true("udp"),
            omit_s: whole("omit"),
            time_s: whole("time"),
            bytes: whole("num"),
            blocks: whole("blockcount"),
            mss: whole("MSS").min(u64::from(u32::MAX)) as u32,
            nodelay: is_true("nodelay"),
            parallel: number("parallel").map_or(1, |count| count.clamp(0.0, 1e6) as u32),
            reverse: is_true("reverse"),
            bidir: is_true("bidirectional"),
            mptcp: is_true("mptcp"),
            window: whole("window"),
            block_bytes: whole("len"),
            rate: whole("bandwidth"),
            fq_rate: whole("fqrate"),
            pacing_timer: whole("pacing_timer"),
            burst: whole("burst").min(u64::from(u32::MAX)) as u32,
            gsro: one("gso") || one("gro"),
            tos: whole("TOS").min(u64::from(u32::MAX)) as u32,
            flow_label: whole("flowlabel").min(u64::from(u32::MAX)) as u32,
            congestion: text("congestion").unwrap_or_default(),
            title: text("title"),
            extra_data: text("extra_data"),
            get_server_output: one("get_server_output"),
            counters_64bit: one("udp_counters_64bit"),
            repeating_payload: one("repeating_payload"),
            zerocopy: one("zerocopy"),
            dont_fragment: one("dont_fragment"),
            skip_rx_copy: one("skip_rx_copy"),
            affinity: number("server_affinity")
                .filter(|cpu| (0.0..4096.0).contains(cpu))
                .map(|cpu| cpu as u32),
            token: text("authtoken"),
            client_version: text("client_version").unwrap_or_default(),
        };
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
