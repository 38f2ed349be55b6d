//! iperf3's JSON: the same fields in the same order, with the same quirks.
//!
//! Among them: `sender` of what the other side received is this side's role, and the receiver's seconds in a stream of
//! TCP are the sender's. Ours are the fields under `iodyno`.

use super::super::meter::{Interval, Span};
use super::super::settings::Params;
use super::super::strftime;
use super::super::test::{StreamFigures, TestRun, percent, rate, sum};
use super::text::together;
use crate::address::host_and_port;
use crate::json_tree::JsonTree;

/// A document in the making.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Host, system and architecture, as `-V` prints them.
    pub system: String,
    /// How the test began.
    pub start: Option<JsonTree>,
    pub intervals: Vec<JsonTree>,
    pub end: Option<JsonTree>,
    /// What belongs to the whole: title, extra data, the server's output, an error.
    pub more: Vec<(String, JsonTree)>,
}

impl Document {
    /// Adds the test's title and extra data, where it has some.
    pub fn name(&mut self, params: &Params) {
        let texts = [("title", &params.title), ("extra_data", &params.extra_data)];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name.into(), text.clone()?.into())));
        self.more.extend(texts);
    }

    pub fn json(&self) -> JsonTree {
        let start = self.start.clone().unwrap_or_else(|| {
            JsonTree::object([
                ("connected", JsonTree::List(Vec::new())),
                ("version", super::super::banner().into()),
                ("system_info", self.system.as_str().into()),
            ])
        });
        let mut whole = JsonTree::object([
            ("start", start),
            ("intervals", JsonTree::List(self.intervals.clone())),
            ("end", self.end.clone().unwrap_or(JsonTree::object([]))),
        ]);
        for (name, value) in &self.more {
            whole.push(name, value.clone());
        }
        whole
    }
}

/// How a test begins.
pub fn start(test: &TestRun, system: &str) -> JsonTree {
    let connected = test.streams.iter().map(|stream| {
        let ((host, port), (peer, peer_port)) =
            (host_and_port(&stream.ends.local), host_and_port(&stream.ends.peer));
        JsonTree::object([
            ("socket", stream.ends.socket.descriptor.into()),
            ("local_host", host.into()),
            ("local_port", u64::from(port).into()),
            ("remote_host", peer.into()),
            ("remote_port", peer_port.into()),
        ])
    });
    let seconds = test.began_unix_ns / 1_000_000_000;
    let stamp = JsonTree::object([
        ("time", strftime::greenwich(test.began_unix_ns).into()),
        ("timesecs", seconds.into()),
        ("timemillisecs", (test.began_unix_ns / 1_000_000).into()),
    ]);
    let (peer, peer_port) =
        if test.server { host_and_port(&test.control.peer) } else { (test.goal.0.clone(), test.goal.1) };
    let peer = JsonTree::object([("host", peer.into()), ("port", peer_port.into())]);
    let params = &test.params;
    let mut start = JsonTree::object([
        ("connected", JsonTree::List(connected.collect())),
        ("version", super::super::banner().into()),
        ("system_info", system.into()),
    ]);
    let socket = test.streams.first().map(|stream| &stream.ends.socket);
    let rate = [("target_bitrate", params.rate)];
    let buffers = [
        ("sock_bufsize", params.window),
        ("sndbuf_actual", socket.map_or(0, |socket| socket.send_buffer_bytes)),
        ("rcvbuf_actual", socket.map_or(0, |socket| socket.receive_buffer_bytes)),
    ];
    // A server writes these when it opens its listener for the test: a rate that was asked for, and TCP's buffers.
    let (early_rate, early_buffers) = (test.server && params.rate > 0, test.server && params.is_tcp());
    start.extend(rate.into_iter().filter(|_| early_rate));
    start.extend(buffers.into_iter().filter(|_| early_buffers));
    start.push("timestamp", stamp);
    start.push(if test.server { "accepted_connection" } else { "connecting_to" }, peer);
    start.push("cookie", test.cookie.as_str());
    if params.is_tcp() {
        match params.mss {
            0 => start.push("tcp_mss_default", test.control.socket.mss),
            mss => start.push("tcp_mss", mss),
        };
    }
    start.extend(rate.into_iter().filter(|_| !early_rate));
    start.push("fq_rate", params.fq_rate);
    start.extend(buffers.into_iter().filter(|_| !early_buffers));
    start.push("test_start", agreed(test));
    start
}

fn agreed(test: &TestRun) -> JsonTree {
    let params = &test.params;
    let mut agreed = JsonTree::object([("protocol", params.protocol().into())]);
    let numbers = [
        ("num_streams", u64::from(params.parallel)),
        ("blksize", params.block_bytes),
        ("omit", params.omit_s),
        ("duration", params.time_s),
        ("bytes", params.bytes),
        ("blocks", params.blocks),
        ("reverse", params.reverse.into()),
        ("tos", params.tos.into()),
        ("target_bitrate", params.rate),
        ("bidir", params.bidir.into()),
        ("fqrate", params.fq_rate),
    ];
    agreed.extend(numbers);
    agreed.push("interval", test.interval_s);
    agreed.extend(["gso", "gro"].map(|name| (name, u64::from(params.udp && params.gsro))));
    agreed
}

pub fn interval(test: &TestRun, interval: &Interval) -> JsonTree {
    let stream = |at: usize| {
        let stream = &test.streams[at];
        let socket = Some(stream.ends.socket.descriptor);
        span(test, interval, &interval.streams[at], stream.sends, socket)
    };
    let mut all =
        JsonTree::object([("streams", JsonTree::List((0..test.streams.len()).map(stream).collect()))]);
    for group in test.groups() {
        let spans: Vec<&Span> = group.iter().map(|at| &interval.streams[*at]).collect();
        let sends = test.streams[group[0]].sends;
        let name = if is_reverse(test, sends) { "sum_bidir_reverse" } else { "sum" };
        all.push(name, span(test, interval, &together(&spans), sends, None));
    }
    all
}

/// Whether a direction is the second one of both: that from the server, whichever side tells it.
fn is_reverse(test: &TestRun, sends: bool) -> bool {
    test.params.bidir && sends == test.server
}

fn span(test: &TestRun, interval: &Interval, span: &Span, sends: bool, socket: Option<i32>) -> JsonTree {
    let seconds = interval.end_s - interval.start_s;
    let times = [interval.start_s, interval.end_s, seconds];
    let mut all = head(socket, times, span.bytes, rate(span.bytes, seconds));
    match (test.params.udp, sends) {
        (false, true) if test.params.is_tcp() => {
            all.push("retransmits", span.retransmits);
            if let Some(tcp) = span.tcp.as_ref().filter(|_| socket.is_some()) {
                all.extend([("snd_cwnd", tcp.cwnd_bytes), ("snd_wnd", tcp.peer_window_bytes)]);
                all.extend([("rtt", tcp.rtt_us), ("rttvar", tcp.rtt_variation_us)]);
                all.extend([("pmtu", tcp.path_mtu), ("reorder", tcp.reordering)]);
            }
        }
        (true, true) => {
            all.push("packets", span.packets);
        }
        (true, false) => losses(&mut all, span.jitter_ms, span.lost, span.packets as i64),
        (false, _) => {}
    }
    all.extend([("omitted", interval.omitted), ("sender", sends)]);
    all
}

pub fn end(test: &TestRun) -> JsonTree {
    let streams = (0..test.streams.len()).map(|at| match test.params.udp {
        true => datagrams(test, at),
        false => bytes(test, at),
    });
    let mut end = JsonTree::object([("streams", JsonTree::List(streams.collect()))]);
    for group in test.groups() {
        sums(test, &group, &mut end);
    }
    let peer = test.peer.as_ref().map_or([0.0; 3], |peer| peer.cpu);
    let mut cpu = JsonTree::object([]);
    for (side, shares) in [("host", test.cpu), ("remote", peer)] {
        for (what, share) in ["total", "user", "system"].into_iter().zip(shares) {
            cpu.push(&format!("{side}_{what}"), share);
        }
    }
    end.push("cpu_utilization_percent", cpu);
    if test.params.is_tcp() {
        let theirs = test.peer.as_ref().map_or_else(String::new, |peer| peer.congestion.clone());
        // With both, a server calls its own the sender's, as the original does.
        let sends = test.params.bidir || test.streams.first().is_some_and(|stream| stream.sends);
        let (sender, receiver) =
            if sends { (test.congestion(), theirs) } else { (theirs, test.congestion()) };
        for (name, used) in [("sender_tcp_congestion", sender), ("receiver_tcp_congestion", receiver)] {
            if !used.is_empty() {
                end.push(name, used);
            }
        }
    }
    end
}

/// What every row begins with; `times`: its start, its end and its length, s.
fn head(socket: Option<i32>, times: [f64; 3], bytes: u64, rate: f64) -> JsonTree {
    let mut all = JsonTree::object([]);
    all.extend(socket.map(|socket| ("socket", socket)));
    all.extend(["start", "end", "seconds"].into_iter().zip(times));
    all.push("bytes", bytes).push("bits_per_second", rate);
    all
}

fn bytes(test: &TestRun, at: usize) -> JsonTree {
    let stream = &test.streams[at];
    let socket = Some(stream.ends.socket.descriptor);
    let unknown = StreamFigures { seconds: test.seconds, ..StreamFigures::default() };
    let (sent, received) = (test.sent(at).unwrap_or(unknown), test.received(at).unwrap_or(unknown));
    let mut sender = head(socket, [0.0, sent.seconds, sent.seconds], sent.bytes, sent.rate());
    if let Some(count) = sent.retransmits {
        sender.push("retransmits", count);
    }
    // TCP's figures are known of one's own streams. A client writes zeros for the others, as the original does; a server
    // writes nothing.
    if sent.retransmits.is_some() && (stream.sends || !test.server) {
        let tcp = test.totals.get(at).map(|total| total.tcp).filter(|_| stream.sends).unwrap_or_default();
        sender.push("reorder", tcp.reordering);
        sender.extend([("max_snd_cwnd", tcp.cwnd), ("max_snd_wnd", tcp.window), ("max_rtt", tcp.rtt[0])]);
        sender.extend([("min_rtt", tcp.rtt[1]), ("mean_rtt", tcp.mean_rtt())]);
    }
    sender.push("sender", stream.sends);
    let seconds = if stream.sends { sent.seconds } else { received.seconds };
    let mut receiver = head(socket, [0.0, received.seconds, seconds], received.bytes, received.rate());
    receiver.push("sender", stream.sends);
    let mut both = JsonTree::object([("sender", sender)]);
    if let Some((name, sent, received, whole)) = test.file_of(at) {
        let share = |bytes: u64| bytes.saturating_mul(100).checked_div(whole).unwrap_or(0);
        let figures = [
            ("sent", sent),
            ("received", received),
            ("size", whole),
            ("percent_sent", share(sent)),
            ("percent_received", share(received)),
        ];
        let mut file = JsonTree::object([]);
        file.extend(figures);
        file.push("filename", name);
        both.push("diskfile", file);
    }
    both.push("receiver", receiver);
    both
}

fn datagrams(test: &TestRun, at: usize) -> JsonTree {
    let stream = &test.streams[at];
    let (sent, received) = (test.sent(at), test.received(at));
    let known = sent.or(received).unwrap_or_default();
    let received = received.unwrap_or_default();
    let seconds = sent.map_or(test.seconds, |sent| sent.seconds);
    let mut udp = head(
        Some(stream.ends.socket.descriptor),
        [0.0, seconds, seconds],
        known.bytes,
        rate(known.bytes, seconds),
    );
    losses(&mut udp, received.jitter_ms, received.lost, known.packets);
    udp.push("out_of_order", test.totals.get(at).map_or(0, |total| total.late));
    udp.push("sender", stream.sends);
    JsonTree::object([("udp", udp)])
}

fn losses(all: &mut JsonTree, jitter_ms: f64, lost: i64, packets: i64) {
    all.push("jitter_ms", jitter_ms).push("lost_packets", lost);
    all.push("packets", packets).push("lost_percent", percent(lost, packets));
}

fn sums(test: &TestRun, group: &[usize], end: &mut JsonTree) {
    let sends = test.streams[group[0]].sends;
    let tail = if is_reverse(test, sends) { "_bidir_reverse" } else { "" };
    let unknown = StreamFigures { seconds: test.seconds, ..StreamFigures::default() };
    let sent = sum(&group.iter().map(|at| test.sent(*at).unwrap_or(unknown)).collect::<Vec<_>>());
    let received = sum(&group.iter().map(|at| test.received(*at).unwrap_or(unknown)).collect::<Vec<_>>());
    if test.params.udp {
        let mut both = head(None, [0.0, received.seconds, received.seconds], sent.bytes, sent.rate());
        losses(&mut both, received.jitter_ms, received.lost, sent.packets);
        both.push("sender", sends);
        end.push(&format!("sum{tail}"), both);
    }
    let mut one = head(None, [0.0, sent.seconds, sent.seconds], sent.bytes, sent.rate());
    let mut other = head(None, [0.0, received.seconds, received.seconds], received.bytes, received.rate());
    if test.params.udp {
        losses(&mut one, 0.0, 0, sent.packets);
        let packets = if received.packets > 0 { received.packets } else { sent.packets };
        losses(&mut other, received.jitter_ms, received.lost, packets);
        one.push("sender", true);
        other.push("sender", false);
    } else {
        if let Some(count) = sent.retransmits {
            one.push("retransmits", count);
        }
        one.push("sender", sends);
        other.push("sender", sends);
    }
    end.push(&format!("sum_sent{tail}"), one);
    end.push(&format!("sum_received{tail}"), other);
}
