//! The text that iperf3 prints, line for line.
//!
//! Only lines: where they go, and what stands before them, is the report's business.

use std::fmt::Write as _;

use super::super::amount::{self, Format};
use super::super::meter::{Interval, Span};
use super::super::strftime;
use super::super::test::{StreamFigures, TestRun, TestStream, percent, sum};
use crate::address::host_and_port;

const RULE: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";
const BAR: &str = "-----------------------------------------------------------\n";

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// The unit of rates.
    pub format: Format,
    /// More detail.
    pub verbose: bool,
}

/// The lines of a server that waits.
pub fn listening(port: u16, number: u64) -> String {
    format!("{BAR}Server listening on {port} (test #{number})\n{BAR}")
}

/// The lines of a client that the server has accepted.
pub fn connecting(test: &TestRun, style: TextStyle) -> String {
    let mut text = String::new();
    if style.verbose {
        let _ = writeln!(text, "Time: {}", strftime::greenwich(test.began_unix_ns));
    }
    if test.server {
        let (host, port) = host_and_port(&test.control.peer);
        let _ = writeln!(text, "Accepted connection from {host}, port {port}");
    } else {
        let _ = writeln!(text, "Connecting to host {}, port {}", test.goal.0, test.goal.1);
        if test.params.reverse {
            let _ = writeln!(text, "Reverse mode, remote host {} is sending", test.goal.0);
        }
    }
    if style.verbose {
        let _ = writeln!(text, "      Cookie: {}", test.cookie);
        if test.params.is_tcp() {
            let mss = test.control.socket.mss;
            let _ = match (test.params.mss, test.server) {
                (0, _) => writeln!(text, "      TCP MSS: {mss} (default)"),
                (set, _) => writeln!(text, "      TCP MSS: {set}"),
            };
        }
        if test.params.rate > 0 {
            let _ = writeln!(text, "      Target Bitrate: {}", test.params.rate);
        }
    }
    text
}

/// The line of a stream that stands.
pub fn connected(stream: &TestStream) -> String {
    let ((host, port), (peer, peer_port)) =
        (host_and_port(&stream.ends.local), host_and_port(&stream.ends.peer));
    let socket = stream.ends.socket.descriptor;
    format!("[{socket:3}] local {host} port {port} connected to {peer} port {peer_port}\n")
}

/// The line of `-V` at the start of a test.
pub fn starting(test: &TestRun) -> String {
    let params = &test.params;
    let head = format!(
        "Starting Test: protocol: {}, {} streams, {} byte blocks, omitting {} seconds, ",
        params.protocol(),
        params.parallel,
        params.block_bytes,
        params.omit_s
    );
    let what = if params.bytes > 0 {
        format!("{} bytes to send", params.bytes)
    } else if params.blocks > 0 {
        format!("{} blocks to send", params.blocks)
    } else {
        format!("{} second test", params.time_s)
    };
    format!("{head}{what}, tos {}\n", params.tos)
}

/// The lines of an interval; with the head, where it is the first.
pub fn interval(test: &TestRun, interval: &Interval, is_first: bool, style: TextStyle) -> String {
    let mut text = String::new();
    if is_first {
        text.push_str(&head(test));
    } else if test.params.parallel > 1 {
        text.push_str(RULE);
    }
    let length = interval.end_s - interval.start_s;
    let omitted = if interval.omitted { "(omitted)" } else { "" };
    for group in test.groups() {
        let sends = test.streams[group[0]].sends;
        let role = role(test, sends);
        let line = |name: &str, span: &Span, is_sum: bool| {
            let amount = amount::bytes(span.bytes as f64);
            let speed =
                amount::written(if length > 0.0 { span.bytes as f64 / length } else { 0.0 }, style.format);
            let time = times(interval.start_s, interval.end_s);
            let tail = figures(test, span, sends, is_sum);
            format!("[{name}]{role} {time}{amount}  {speed}/sec{tail}{omitted}\n")
        };
        for at in &group {
            let name = format!("{:3}", test.streams[*at].ends.socket.descriptor);
            text.push_str(&line(&name, &interval.streams[*at], false));
        }
        if test.params.parallel > 1 {
            let spans: Vec<&Span> = group.iter().map(|at| &interval.streams[*at]).collect();
            text.push_str(&line("SUM", &together(&spans), true));
        }
    }
    text
}

/// Several streams in an interval, as one.
pub fn together(spans: &[&Span]) -> Span {
    let mut sum = Span::default();
    for span in spans {
        sum.bytes += span.bytes;
        sum.packets += span.packets;
        sum.lost += span.lost;
        sum.retransmits += span.retransmits;
        sum.jitter_ms += span.jitter_ms / spans.len() as f64;
    }
    sum
}

fn figures(test: &TestRun, span: &Span, sends: bool, is_sum: bool) -> String {
    match (test.params.udp, sends) {
        (false, true) if test.params.is_tcp() => {
            let window = span.tcp.as_ref().filter(|_| !is_sum);
            let window = window.map_or_else(
                || " ".repeat(13),
                |tcp| format!("   {}       ", amount::bytes(tcp.cwnd_bytes as f64)),
            );
            format!("  {:3}{window}", span.retransmits)
        }
        (false, _) => " ".repeat(18),
        (true, true) => {
            let pad = if test.params.bidir { " ".repeat(10) } else { String::new() };
            format!(" {pad} {}  ", span.packets)
        }
        (true, false) => {
            let share = amount::percent(percent(span.lost, span.packets as i64));
            format!("  {:5.3} ms  {}/{} ({share}%)  ", span.jitter_ms, span.lost, span.packets)
        }
    }
}

fn times(start_s: f64, end_s: f64) -> String {
    format!("{start_s:6.2}-{end_s:<6.2} sec  ")
}

fn role(test: &TestRun, sends: bool) -> &'static str {
    match (test.params.bidir, sends, test.server) {
        (false, ..) => "",
        (true, true, false) => "[TX-C]",
        (true, false, false) => "[RX-C]",
        (true, true, true) => "[TX-S]",
        (true, false, true) => "[RX-S]",
    }
}

fn head(test: &TestRun) -> String {
    let sends = test.streams.iter().any(|stream| stream.sends);
    let role = if test.params.bidir { "[Role]" } else { "" };
    let figures = match (test.params.udp, test.params.bidir, sends) {
        (true, false, true) => "         Total Datagrams",
        (true, ..) => "         Jitter    Lost/Total Datagrams",
        (false, _, true) if test.params.is_tcp() => "         Retr  Cwnd",
        (false, ..) => "",
    };
    format!("[ ID]{role} Interval           Transfer     Bitrate{figures}\n")
}

/// The summary at the end.
pub fn summary(test: &TestRun, style: TextStyle) -> String {
    let mut text = RULE.to_string();
    if style.verbose {
        text.push_str("Test Complete. Summary Results:\n");
    }
    let role_head = if test.params.bidir { "[Role]" } else { "" };
    let sends = !test.server || test.streams.iter().any(|stream| stream.sends);
    let figures = match (test.params.udp, sends && test.params.is_tcp()) {
        (true, _) => "         Jitter    Lost/Total Datagrams",
        (false, true) => "         Retr",
        (false, false) => "",
    };
    let _ = writeln!(text, "[ ID]{role_head} Interval           Transfer     Bitrate{figures}");
    for (number, group) in test.groups().iter().enumerate() {
        text.push_str(&summed(test, group, style));
        if style.verbose && test.peer.is_some() {
            text.push_str(&details(test, group, number == 0));
        }
    }
    text
}

fn summed(test: &TestRun, group: &[usize], style: TextStyle) -> String {
    let mut text = String::new();
    let sends = test.streams[group[0]].sends;
    let role = role(test, sends);
    let (mut all_sent, mut all_received) = (Vec::new(), Vec::new());
    for at in group {
        let name = format!("{:3}", test.streams[*at].ends.socket.descriptor);
        let (sent, received) = (test.sent(*at), test.received(*at));
        match sent {
            Some(sent) => text.push_str(&total_line(test, &name, role, &sent, true, false, style)),
            None if style.verbose => {
                let _ = writeln!(text, "[{name}]{role} (sender statistics not available)");
            }
            None => {}
        }
        text.push_str(&file(test, *at));
        match received {
            Some(received) => text.push_str(&total_line(test, &name, role, &received, false, false, style)),
            None if style.verbose => {
                let _ = writeln!(text, "[{name}]{role} (receiver statistics not available)");
            }
            None => {}
        }
        text.push_str(&overtaken(test, *at, &name, role));
        all_sent.extend(sent);
        all_received.extend(received);
    }
    if test.params.parallel > 1 {
        for (sides, sends) in [(all_sent, true), (all_received, false)] {
            if sides.len() == group.len() {
                text.push_str(&total_line(test, "SUM", role, &sum(&sides), sends, true, style));
            }
        }
    }
    text
}

/// How much of a file has gone, or has come.
fn file(test: &TestRun, at: usize) -> String {
    let Some((name, sent, received, whole)) = test.file_of(at) else { return String::new() };
    let own = if test.streams[at].sends { sent } else { received };
    let written = |bytes: u64| amount::bytes(bytes as f64).trim_end_matches('s').to_string();
    let share = own.saturating_mul(100).checked_div(whole).unwrap_or(0);
    format!("        Sent {} / {} ({share}%) of {name}\n", written(own), written(whole))
}

fn overtaken(test: &TestRun, at: usize, name: &str, role: &str) -> String {
    let late = test.totals.get(at).map_or(0, |total| total.late);
    if test.params.udp && !test.streams[at].sends && late > 0 {
        return format!(
            "[{name}]{role} {}{late} datagrams received out-of-order\n",
            times(0.0, test.seconds)
        );
    }
    String::new()
}

fn total_line(
    test: &TestRun,
    name: &str,
    role: &str,
    side: &StreamFigures,
    sends: bool,
    is_sum: bool,
    style: TextStyle,
) -> String {
    let who = if sends { "sender" } else { "receiver" };
    let amount = amount::bytes(side.bytes as f64);
    let speed = amount::written(side.rate() / 8.0, style.format);
    let figures = if test.params.udp {
        let share = amount::percent(percent(side.lost, side.packets));
        format!("  {:5.3} ms  {}/{} ({share}%)  ", side.jitter_ms, side.lost, side.packets)
    } else {
        match side.retransmits.filter(|_| sends) {
            Some(count) => format!("  {count:3}{}", " ".repeat(if is_sum { 13 } else { 12 })),
            None => " ".repeat(18),
        }
    };
    format!("[{name}]{role} {}{amount}  {speed}/sec{figures}{who}\n", times(0.0, side.seconds))
}

fn details(test: &TestRun, group: &[usize], is_first: bool) -> String {
    let mut text = String::new();
    let Some(peer) = &test.peer else { return text };
    let cpu = |ours: &str, theirs: &str| {
        format!(
            "CPU Utilization: local/{ours} {:.1}% ({:.1}%u/{:.1}%s), remote/{theirs} {:.1}% ({:.1}%u/{:.1}%s)\n",
            test.cpu[0], test.cpu[1], test.cpu[2], peer.cpu[0], peer.cpu[1], peer.cpu[2]
        )
    };
    let sends = test.streams[group[0]].sends;
    if is_first && (test.params.bidir || sends) {
        text.push_str(&cpu("sender", "receiver"));
    }
    if is_first && (test.params.bidir || !sends) {
        text.push_str(&cpu("receiver", "sender"));
    }
    if test.params.is_tcp() {
        let (ours, theirs) = (test.congestion(), peer.congestion.clone());
        let (sender, receiver) = if sends { (ours, theirs) } else { (theirs, ours) };
        for (side, name) in [("snd", sender), ("rcv", receiver)] {
            if !name.is_empty() {
                let _ = writeln!(text, "{side}_tcp_congestion {name}");
            }
        }
    }
    text
}
