//! iperf 2's output format: headings, rows, sums, the receiver's report, comma-separated values. Layout of 2.1.8.
//!
//! Pure functions from counts to text. What is not known is a dash, never a zero.

use iodyno_model::Histogram;

use super::super::bounceback;
use super::super::flow::{OneWay, StreamCounts, TestStream};
use super::super::header::Report;
use super::super::number;
use crate::address::host_and_port;

/// How reports look.
#[derive(Clone, Debug, Default)]
pub struct ReportFormat {
    /// `-f`.
    pub format: char,
    /// `-y C`.
    pub csv: bool,
    /// `-e`.
    pub enhanced: bool,
    /// Datagrams.
    pub udp: bool,
    /// Seconds that local time is east of Greenwich.
    pub east_s: i64,
}

/// A line under a heading.
#[derive(Clone, Debug)]
pub struct ReportRow<'a> {
    /// The stream's number, or `SUM`.
    pub label: &'a str,
    /// When it begins and ends, ns.
    pub span_ns: (u64, u64),
    /// What was moved in it.
    pub counts: StreamCounts,
    /// Whether we sent.
    pub sends: bool,
    pub kind: RowKind<'a>,
}

/// Which columns a row has.
#[derive(Clone, Copy, Debug, Default)]
pub enum RowKind<'a> {
    /// Those of the direction.
    #[default]
    Usual,
    /// Bytes and rate alone.
    Plain,
    /// The same, and datagrams of both ways.
    Datagrams,
    /// Those of round trips.
    RoundTrips(&'a Histogram),
    /// Those of frames that were sent.
    FramesSent(FramesSent),
    /// Those of a stream's bursts that came, which are frames or not.
    Bursts(&'a Histogram, bool),
    /// Those of datagrams' frames that came.
    Frames(&'a Histogram),
}

/// What became of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramesSent {
    pub sent: u64,
    /// Those whose turn did not come before the end.
    pub missed: u64,
    /// Those that were sent a period or more after they were due.
    pub slipped: u64,
}

/// What separates.
pub const RULE: &str = "------------------------------------------------------------\n";

impl ReportFormat {
    /// The heading of rows.
    pub fn columns(&self, sends: bool, kind: RowKind<'_>) -> &'static str {
        match (self.enhanced, self.udp, sends) {
            _ if matches!(kind, RowKind::Plain) => "[ ID] Interval       Transfer     Bandwidth\n",
            _ if matches!(kind, RowKind::Datagrams) => {
                "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS\n"
            }
            _ if matches!(kind, RowKind::RoundTrips(_)) => {
                "[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS\n"
            }
            _ if let RowKind::FramesSent(_) = kind => match self.udp {
                true => {
                    "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS  isoch:tx/miss/slip\n"
                }
                false => {
                    "[ ID] Interval            Transfer     Bandwidth      Write/Err  Rtry     Cwnd/RTT     \
                     isoch:tx/miss/slip  NetPwr\n"
                }
            },
            _ if let RowKind::Bursts(_, frames) = kind => match frames {
                true => {
                    "[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) NetPwr  \
                     Reads=Dist\n"
                }
                false => {
                    "[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  \
                     Reads=Dist\n"
                }
            },
            _ if matches!(kind, RowKind::Frames(_)) => {
                "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total Latency avg/min/max/stdev  PPS  \
                 Frame:rx/lost  latency  NetPwr\n"
            }
            (false, true, false) => {
                "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n"
            }
            (false, _, _) => "[ ID] Interval       Transfer     Bandwidth\n",
            (true, false, true) => {
                "[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr\n"
            }
            (true, false, false) => "[ ID] Interval            Transfer    Bandwidth       Reads=Dist\n",
            (true, true, true) => "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS\n",
            (true, true, false) => {
                "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency \
                 avg/min/max/stdev PPS  Rx/inP  NetPwr\n"
            }
        }
    }

    pub fn row(&self, row: &ReportRow<'_>) -> String {
        let (from, to) = row.span_ns;
        let seconds = (to.saturating_sub(from).max(1)) as f64 / 1e9;
        let moved = row.counts.bytes as f64;
        let start = format!(
            "[{:>3}] {:6.4}-{:6.4} sec  {}  {}/sec",
            row.label,
            from as f64 / 1e9,
            to as f64 / 1e9,
            number::printed(moved, self.format.to_ascii_uppercase()),
            number::printed(moved / seconds, self.format),
        );
        let sum = row.label == "SUM";
        let counts = &row.counts;
        let rest = match (self.udp, row.sends) {
            _ if matches!(row.kind, RowKind::Plain) => String::new(),
            _ if matches!(row.kind, RowKind::Datagrams) => {
                format!(" {} {:>7} pps", counts.datagrams, (counts.datagrams as f64 / seconds) as u64)
            }
            _ if let RowKind::RoundTrips(round_trips) = row.kind => {
                bounceback::columns(round_trips, counts.retransmits, counts.cwnd_bytes, counts.rtt_us.0)
            }
            _ if let RowKind::FramesSent(frames) = row.kind => frames_sent(counts, frames, self.udp, seconds),
            _ if let RowKind::Bursts(times, frames) = row.kind => bursts(counts, times, frames, seconds),
            (true, false) => self.received(row, sum, seconds),
            (true, true) if self.enhanced => {
                let each = (row.counts.calls as f64 / seconds) as u64;
                format!("  {}/{} {each:>8} pps", row.counts.calls, row.counts.errors)
            }
            (false, true) if self.enhanced => written(&row.counts, sum, seconds),
            (false, false) if self.enhanced => read(counts),
            _ => String::new(),
        };
        let is_streams =
            self.udp && !row.sends && !sum && matches!(row.kind, RowKind::Usual | RowKind::Frames(_));
        let late = match (is_streams, row.counts.late) {
            (true, late) if late > 0 => format!(
                "[{:>3}] {:6.4}-{:6.4} sec  {late} datagrams received out-of-order\n",
                row.label,
                from as f64 / 1e9,
                to as f64 / 1e9
            ),
            _ => String::new(),
        };
        format!("{start}{rest}\n{late}")
    }

    fn received(&self, row: &ReportRow<'_>, sum: bool, seconds: f64) -> String {
        let counts = &row.counts;
        let (lost, all) = (counts.lost(), counts.highest);
        let share = format!("{lost}/{all} ({}%)", percent(lost, all));
        if sum && self.enhanced {
            return format!("  {lost}/{all} {:>8} pps", (counts.datagrams as f64 / seconds) as u64);
        }
        if sum {
            return format!("   {share}");
        }
        let basic = format!("{:8.3} ms {share}", counts.jitter_ns as f64 / 1e6);
        if !self.enhanced {
            return basic;
        }
        let each = (counts.datagrams as f64 / seconds) as u64;
        let rate = counts.bytes as f64 / seconds;
        let power = counts.one_way.mean_ns().map_or("-".into(), |mean_ns| power(rate, mean_ns));
        // The shortest and the longest are known since the beginning alone.
        let latency = latency(&counts.one_way, row.span_ns.0 == 0);
        if let RowKind::Frames(times) = row.kind {
            let frames = format!("{}/{}", counts.bursts, counts.bursts_lost);
            return format!("{basic} {latency} ms {each} pps {frames:>6}  {} ms {power}", spread(times));
        }
        format!("{basic} {latency} ms {each} pps {}/0(0) pkts {power}", counts.datagrams)
    }

    /// The report that the receiver sent, under the heading of its columns where that is due.
    pub fn reported(&self, label: &str, heading: &str, report: &Report) -> String {
        let counts = StreamCounts {
            bytes: report.bytes,
            datagrams: report.datagrams.saturating_sub(report.lost),
            highest: report.datagrams,
            late: report.late,
            jitter_ns: report.jitter_ns,
            one_way: report.one_way,
            ..StreamCounts::default()
        };
        let (span_ns, kind) = ((0, report.time_ns), RowKind::Usual);
        let row = ReportRow { label, span_ns, counts, sends: false, kind };
        format!("[{label:>3}] Server Report:\n{heading}{}", self.row(&row))
    }

    /// A row as comma-separated values: when, who to whom, number, span, bytes, bit/s; of received datagrams jitter in ms,
    /// lost, all, percent, late. The sender's end comes first.
    pub fn values(&self, flow: &TestStream, row: &ReportRow<'_>, unix_ns: u64) -> String {
        let (from, to) = row.span_ns;
        let seconds = (to.saturating_sub(from).max(1)) as f64 / 1e9;
        let (local, peer) = (host_and_port(&flow.ends.local), host_and_port(&flow.ends.peer));
        let (sender, receiver) = if flow.sends { (local, peer) } else { (peer, local) };
        let when: String =
            crate::date::stamp(unix_ns, self.east_s).chars().filter(char::is_ascii_digit).collect();
        let mut line = format!(
            "{when},{},{},{},{},{},{:.1}-{:.1},{},{:.0}",
            sender.0,
            sender.1,
            receiver.0,
            receiver.1,
            row.label.trim_start_matches('*'),
            from as f64 / 1e9,
            to as f64 / 1e9,
            row.counts.bytes,
            row.counts.bytes as f64 * 8.0 / seconds,
        );
        let counts = &row.counts;
        match (self.udp, row.sends) {
            (true, true) => line += &format!(",0.000,0,{},0.000,0", counts.datagrams),
            (true, false) => {
                let share = counts.lost() as f64 * 100.0 / counts.highest.max(1) as f64;
                let jitter = counts.jitter_ns as f64 / 1e6;
                line +=
                    &format!(",{jitter:.3},{},{},{share:.3},{}", counts.lost(), counts.highest, counts.late);
            }
            _ => {}
        }
        line + "\n"
    }

    /// Who is connected with whom.
    pub fn connected(&self, flow: &TestStream, unix_ns: Option<u64>) -> String {
        let (local, peer) = (host_and_port(&flow.ends.local), host_and_port(&flow.ends.peer));
        let facts = &flow.ends.socket;
        let frames = if flow.test.is_some_and(|test| test.period_us.is_some()) { " (isoch)" } else { "" };
        let reverse =
            if flow.starred || flow.test.is_some_and(|test| test.reverse) { " (reverse)" } else { "" };
        let mut line = format!(
            "[{:>3}] local {} port {} connected with {} port {}{frames}{reverse}",
            flow.label(),
            local.0,
            local.1,
            peer.0,
            peer.1
        );
        line += &match flow.bounce {
            Some(bounce) => {
                let quick = if bounce.quick { " w/quickack" } else { "" };
                format!(" (bb{quick} len/hold={}/{})", bounce.bytes, bounce.hold_us)
            }
            None if flow.is_duplex() && self.udp => " (full-duplex) (no-udp-fin)".into(),
            None if flow.is_duplex() => " (full-duplex)".into(),
            None => String::new(),
        };
        if flow.test.is_some_and(|test| test.trip_times) {
            line += " (trip-times)";
        }
        if self.enhanced {
            line += &format!(" (sock={})", facts.descriptor);
        }
        let peer = flow.test.and_then(|test| test.version).filter(|_| self.enhanced && flow.connect_ns == 0);
        if let Some([major, minor, patch]) = peer {
            line += &format!(" (peer {major}.{minor}.{patch})");
        }
        if flow.test.is_some_and(|test| test.quick) && flow.bounce.is_none() {
            line += " (qack)";
        }
        if !self.udp && facts.rtt_us > 0 {
            // As 2.1.8: the window in KiB, the round trip in µs.
            let (window, mss) = (facts.cwnd_bytes / 1024, facts.mss);
            line += &format!(" (icwnd/mss/irtt={window}/{mss}/{})", facts.rtt_us);
        } else if !self.udp && facts.mss > 0 {
            line += &format!(" (mss={})", facts.mss);
        }
        if self.enhanced && !self.udp && flow.connect_ns > 0 {
            line += &format!(" (ct={:.2} ms)", flow.connect_ns as f64 / 1e6);
        }
        if let Some(unix_ns) = unix_ns.filter(|_| self.enhanced) {
            let zone = if self.east_s == 0 { "UTC" } else { "local time" };
            line += &format!(" on {} ({zone})", crate::date::stamp(unix_ns, self.east_s));
        }
        line + "\n"
    }

    /// The size of a socket's buffer.
    pub fn window(&self, found: u64, requested: Option<u64>) -> String {
        let what = if self.udp { "UDP buffer size" } else { "TCP window size" };
        let remark = match requested.filter(|bytes| *bytes > 0) {
            None => " (default)".into(),
            Some(bytes) if bytes != found => format!(" (WARNING: requested {})", number::size(bytes)),
            Some(_) => String::new(),
        };
        format!("{what}: {}{remark}\n", number::size(found))
    }
}

fn written(counts: &StreamCounts, sum: bool, seconds: f64) -> String {
    let calls = format!("{}/{}", counts.calls, counts.errors);
    if sum {
        return format!("  {calls}{:>10}", counts.retransmits);
    }
    let (rtt, variation) = counts.rtt_us;
    let power = power(counts.bytes as f64 / seconds, f64::from(rtt) * 1e3);
    let window = counts.cwnd_bytes >> 10;
    format!("  {calls} {:>10}{window:>9}K/{rtt}({variation}) us  {power}", counts.retransmits)
}

/// Bytes a second by a time, in millions.
fn power(rate: f64, ns: f64) -> String {
    match rate / ns.max(1.0) * 1e3 {
        _ if ns <= 0.0 => "0".into(),
        power if power >= 99.995 => format!("{power:.0}"),
        power => format!("{power:.2}"),
    }
}

/// What became of frames that were sent.
fn frames_sent(counts: &StreamCounts, frames: FramesSent, udp: bool, seconds: f64) -> String {
    let FramesSent { sent, missed, slipped } = frames;
    let errors = counts.errors;
    if udp {
        let each = (counts.datagrams as f64 / seconds) as u64;
        return format!("  {}/{errors} {each:>8} pps  {sent:>3}/{missed}/{slipped}", counts.datagrams);
    }
    let (window, rtt) = (counts.cwnd_bytes >> 10, counts.rtt_us.0);
    let power = power(counts.bytes as f64 / seconds, f64::from(rtt) * 1e3);
    format!(
        "  {}/{errors}{:>9}{window:>9}K/{rtt} us{sent:>11}/{missed}/{slipped}        {power}",
        counts.calls, counts.retransmits
    )
}

/// Mean, shortest, longest and deviation, ms; what is not known is a dash.
fn spread(times: &Histogram) -> String {
    if times.is_empty() {
        return "-/-/-/-".into();
    }
    let parts = [times.mean(), times.min as f64, times.max as f64, times.deviation()];
    parts.map(|ns| format!("{:.3}", ns / 1e6)).join("/")
}

/// How long a stream's bursts were on their way, and what follows from it: bytes on the way (Little's law), network power.
fn bursts(counts: &StreamCounts, times: &Histogram, frames: bool, seconds: f64) -> String {
    let (rate, count) = (counts.bytes as f64 / seconds, times.count());
    let each = counts.bytes.checked_div(count).unwrap_or(0);
    let (on_the_way, power) = match times.is_empty() {
        true => ("-".into(), "-".into()),
        false => (number::size((rate * times.mean() / 1e9) as u64), power(rate, times.mean())),
    };
    let on_the_way = if frames { String::new() } else { format!("{on_the_way} ") };
    format!("  {} ms ({count}/{each}) {on_the_way}{power}{}", spread(times), read(counts))
}

/// Mean, shortest, longest and deviation of times on the way, ms; what is not known is a dash.
fn latency(one_way: &OneWay, knows_extremes: bool) -> String {
    let Some(mean_ns) = one_way.mean_ns() else { return "-/-/-/-".into() };
    let ms = |ns: f64| format!("{:.3}", ns / 1e6);
    let extreme = |ns: u64| if knows_extremes { ms(ns as f64) } else { "-".into() };
    let (least_ns, most_ns) = one_way.extremes_ns;
    format!("{}/{}/{}/{}", ms(mean_ns), extreme(least_ns), extreme(most_ns), ms(one_way.deviation_ns()))
}

/// Reads and their lengths, in eighths of a block.
fn read(counts: &StreamCounts) -> String {
    let bins: Vec<String> = counts.reads.iter().map(u64::to_string).collect();
    format!("  {}={}", counts.reads.iter().sum::<u64>(), bins.join(":"))
}

/// How long it took to connect: all streams, in ms.
pub fn connect_times(times_ns: &[u64], failed: usize) -> String {
    let ms = |ns: f64| ns / 1e6;
    let mut all = Histogram::default();
    times_ns.iter().for_each(|ns| all.add(*ns));
    let mean = all.mean();
    let squares: f64 = times_ns.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum();
    let deviation = (squares / times_ns.len().saturating_sub(1).max(1) as f64).sqrt();
    format!(
        "[ CT] final connect times (min/avg/max/stdev) = {:.3}/{:.3}/{:.3}/{:.3} ms (tot/err) = {}/{failed}\n",
        ms(all.min as f64),
        ms(mean),
        ms(all.max as f64),
        ms(deviation),
        times_ns.len()
    )
}

/// Two digits of a share in percent.
fn percent(part: u64, of: u64) -> String {
    let share = part as f64 * 100.0 / of.max(1) as f64;
    match share {
        _ if share == 0.0 => "0".into(),
        _ if share >= 9.95 => format!("{share:.0}"),
        _ if share >= 0.95 => format!("{share:.1}").trim_end_matches(".0").into(),
        _ if share >= 0.095 => format!("{share:.2}").trim_end_matches('0').into(),
        _ => format!("{share:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn view() -> ReportFormat {
        ReportFormat { format: 'a', ..ReportFormat::default() }
    }

    #[test]
    fn rows_are_the_originals() {
        let counts = StreamCounts { bytes: 465 << 20, ..StreamCounts::default() };
        let row =
            ReportRow { label: "1", span_ns: (0, SECOND / 2), counts, sends: true, kind: RowKind::Usual };
        assert_eq!(view().row(&row), "[  1] 0.0000-0.5000 sec   465 MBytes  7.80 Gbits/sec\n");
        let counts = StreamCounts {
            bytes: 93 * 1470,
            datagrams: 93,
            highest: 93,
            jitter_ns: 19_000,
            ..StreamCounts::default()
        };
        let udp = ReportFormat { udp: true, ..view() };
        let row =
            ReportRow { label: "1", span_ns: (0, 1_020_700_000), counts, sends: false, kind: RowKind::Usual };
        assert_eq!(
            udp.row(&row),
            "[  1] 0.0000-1.0207 sec   134 KBytes  1.07 Mbits/sec   0.019 ms 0/93 (0%)\n"
        );
        let counts = StreamCounts { late: 1, highest: 95, ..counts };
        let text = udp.row(&ReportRow { counts, ..row });
        assert!(text.ends_with("2/95 (2.1%)\n[  1] 0.0000-1.0207 sec  1 datagrams received out-of-order\n"));
        let sum = ReportRow { label: "SUM", counts: StreamCounts { late: 0, ..counts }, ..row };
        assert!(udp.row(&sum).ends_with("/sec   2/95 (2.1%)\n"));
        let enhanced = ReportFormat { enhanced: true, ..udp };
        assert!(enhanced.row(&sum).ends_with("/sec  2/95       91 pps\n"), "{}", enhanced.row(&sum));
    }

    #[test]
    fn enhanced_rows_keep_their_columns() {
        let view = ReportFormat { enhanced: true, ..view() };
        let counts = StreamCounts {
            bytes: 448 << 20,
            calls: 3581,
            retransmits: 4,
            cwnd_bytes: 895 << 10,
            rtt_us: (134, 142),
            ..StreamCounts::default()
        };
        let row =
            ReportRow { label: "1", span_ns: (0, SECOND / 2), counts, sends: true, kind: RowKind::Usual };
        assert_eq!(
            view.row(&row),
            "[  1] 0.0000-0.5000 sec   448 MBytes  7.52 Gbits/sec  3581/0          4      895K/134(142) us  7011374\n"
        );
        let udp = ReportFormat { udp: true, ..view };
        let counts = StreamCounts { bytes: 427 * 1470, calls: 427, ..StreamCounts::default() };
        let row = ReportRow { counts, ..row };
        assert_eq!(
            udp.row(&row),
            "[  1] 0.0000-0.5000 sec   613 KBytes  10.0 Mbits/sec  427/0      854 pps\n"
        );
    }

    #[test]
    fn datagrams_have_the_time_that_they_were_on_their_way() {
        let one_way = OneWay { count: 3, sum_ns: 30_000, extremes_ns: (2000, 20_000), squares_us: 468 };
        let counts =
            StreamCounts { bytes: 1_000_000, datagrams: 3, highest: 3, one_way, ..StreamCounts::default() };
        let view = ReportFormat { enhanced: true, udp: true, ..view() };
        let row = ReportRow { label: "1", span_ns: (0, SECOND), counts, sends: false, kind: RowKind::Usual };
        let text = view.row(&row);
        assert!(
            text.ends_with("0.000 ms 0/3 (0%) 0.010/0.002/0.020/0.009 ms 3 pps 3/0(0) pkts 100000\n"),
            "{text}"
        );
        let later = view.row(&ReportRow { span_ns: (SECOND, 2 * SECOND), ..row });
        assert!(later.contains(" 0.010/-/-/0.009 ms "), "{later}");
        let unknown = StreamCounts { one_way: OneWay::default(), ..counts };
        let text = view.row(&ReportRow { counts: unknown, ..row });
        assert!(text.ends_with(" -/-/-/- ms 3 pps 3/0(0) pkts -\n"), "{text}");
    }

    #[test]
    fn reads_are_counted_by_their_length() {
        // As 2.1.8 printed it.
        let view = ReportFormat { enhanced: true, ..view() };
        let reads = [760, 0, 3, 1736, 30, 1, 2, 3106];
        let counts = StreamCounts { bytes: 499 << 20, reads, ..StreamCounts::default() };
        let row = ReportRow { label: "1", span_ns: (0, SECOND), counts, sends: false, kind: RowKind::Usual };
        let text = view.row(&row);
        assert!(text.ends_with("Gbits/sec  5638=760:0:3:1736:30:1:2:3106\n"), "{text}");
        let plain = ReportRow { kind: RowKind::Plain, label: "FD1", ..row };
        assert_eq!(view.row(&plain), "[FD1] 0.0000-1.0000 sec   499 MBytes  4.19 Gbits/sec\n");
        assert_eq!(
            connect_times(&[12_000, 94_000], 1),
            "[ CT] final connect times (min/avg/max/stdev) = 0.012/0.053/0.094/0.058 ms (tot/err) = 2/1\n"
        );
    }

    #[test]
    fn values_name_the_sender_first() {
        let mut flow = TestStream::new(1, 1, false, super::super::super::flow::StreamState::Done, 0);
        flow.ends.local = "127.0.0.1:6001".into();
        flow.ends.peer = "[::1]:44721".into();
        let counts = StreamCounts {
            bytes: 135_240,
            datagrams: 92,
            highest: 93,
            jitter_ns: 5000,
            ..StreamCounts::default()
        };
        let row = ReportRow { label: "2", span_ns: (0, SECOND), counts, sends: false, kind: RowKind::Usual };
        let view = ReportFormat { udp: true, csv: true, ..view() };
        assert_eq!(
            view.values(&flow, &row, 1_795_358_218 * SECOND),
            "20261122143658,::1,44721,127.0.0.1,6001,2,0.0-1.0,135240,1081920,0.005,1,93,1.075,0\n"
        );
    }

    #[test]
    fn shares_have_two_digits() {
        for (part, of, text) in [(0, 93, "0"), (1, 93, "1.1"), (1, 47, "2.1"), (1, 2, "50"), (1, 1000, "0.1")]
        {
            assert_eq!(percent(part, of), text);
        }
    }
}
