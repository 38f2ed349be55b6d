//! What is printed while streams run and when they end: rows, totals, and sums of streams of one group.

pub mod text;

use iodyno_model::conversation::Action;
use iodyno_model::histogram::lower_edge;

use super::bounceback;
use super::flow::{StreamCounts, StreamState, TestStream, Times};
use super::session::IperfConversation;
use text::{FramesSent, ReportRow, RowKind};

impl IperfConversation {
    pub(super) fn print_connected(&mut self, index: usize) {
        self.headings.clear();
        if self.view.csv || self.command.excluded.contains('C') {
            return;
        }
        let date = (!self.command.reverse).then_some(self.unix_ns);
        let text = self.view.connected(&self.flows[index], date);
        self.act(Action::Print(text));
    }

    /// A row of one interval of a stream.
    pub(super) fn interval(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let until_ns = flow.lasted_ns;
        if until_ns <= flow.reported_ns {
            return;
        }
        let span_ns = (flow.reported_ns, until_ns);
        let counts = flow.now.since(&flow.reported);
        (flow.reported, flow.reported_ns) = (flow.now, until_ns);
        let times = flow.times.since(&flow.reported_times);
        flow.reported_times = flow.times.clone();
        let row = flow.rows;
        flow.rows += 1;
        self.print_row(index, span_ns, counts, &times, false);
        let group = self.flows[index].group.clone();
        let running = |flow: &TestStream| flow.is_under_way() && flow.group == group;
        let streams = self.flows.iter().filter(|flow| running(flow)).count();
        let (told, sum) = self.sums.entry((group.clone(), row)).or_default();
        *told += 1;
        *sum = sum_of(*sum, counts);
        if *told >= streams {
            let (told, sum) = (*told, *sum);
            self.sums.remove(&(group, row));
            if told > 1 {
                self.print_interval_sum(index, span_ns, sum);
            }
        }
    }

    /// What the last whole interval left, where it is worth a row.
    pub(super) fn last_interval(&mut self, index: usize) {
        let left_ns = self.flows[index].lasted_ns.saturating_sub(self.flows[index].reported_ns);
        if self.command.interval_ns > 0 && left_ns > self.command.interval_ns / 10 {
            self.interval(index);
        }
    }

    /// A stream's whole result, and its group's where it is the last.
    pub(super) fn total(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.totalled = true;
        let (span_ns, counts) = ((0, flow.lasted_ns), flow.now);
        let times = flow.times.clone();
        self.print_row(index, span_ns, counts, &times, true);
        if self.prints_trips(index) && !times.trips.is_empty() {
            let distribution = bounceback::distribution(&times.trips);
            self.print_times(index, span_ns, &distribution);
        }
        let flow = &self.flows[index];
        if self.command.udp && flow.sends && !self.view.csv && !self.command.excluded.contains('D') {
            let sent = flow.now.datagrams + 1;
            let text = format!("[{:>3}] Sent {sent} datagrams\n", flow.id);
            self.act(Action::Print(text));
        }
        self.group_total(index);
        self.idle_since_ns = self.now_ns;
    }

    fn group_total(&mut self, index: usize) {
        let group = self.flows[index].group.clone();
        let same = |flow: &TestStream| flow.group == group;
        if self.is_under_way(same) {
            return;
        }
        self.sums.retain(|(of, _), _| *of != group);
        if !self.flows[index].is_duplex() {
            return self.print_group(index, same, "SUM");
        }
        if self.view.enhanced {
            self.print_group(index, same, &format!("FD{}", self.flows[index].id));
        }
        let test = self.flows[index].test_group().to_string();
        let all = |flow: &TestStream| flow.is_duplex() && flow.test_group() == test;
        // As the original: with -e the sum of several connections, else that of any number, which a client leaves out beside
        // intervals.
        let is_wanted = match self.view.enhanced {
            true => self.flows.iter().filter(|flow| all(flow)).count() > 2,
            false => self.is_server() || self.command.interval_ns == 0,
        };
        if is_wanted && !self.is_under_way(all) {
            self.print_group(index, all, "SUM");
        }
    }

    fn is_under_way(&self, of: impl Fn(&TestStream) -> bool) -> bool {
        let mut mine = self.flows.iter().filter(|flow| of(flow));
        mine.any(|flow| !flow.totalled && flow.state != StreamState::Done)
    }

    /// The total of several streams.
    fn print_group(&mut self, index: usize, of: impl Fn(&TestStream) -> bool, label: &str) {
        let all: Vec<_> =
            self.flows.iter().filter(|flow| of(flow)).filter(|flow| flow.lasted_ns > 0).collect();
        if all.len() < 2 {
            return;
        }
        let mut sum = all.iter().fold(StreamCounts::default(), |sum, flow| sum_of(sum, flow.now));
        let lasted_ns = all.iter().map(|flow| flow.lasted_ns).max().unwrap_or(0);
        let (count, last_ones) = (all.len(), all.iter().filter(|flow| flow.sends).count() as u64);
        let duplex = self.flows[index].is_duplex();
        if duplex {
            sum.datagrams += last_ones;
        }
        self.print_sum(index, label, (0, lasted_ns), sum);
        let tells_sent = if duplex { !self.is_server() && label == "SUM" } else { self.flows[index].sends };
        if self.command.udp && tells_sent && !self.view.csv {
            let sent = if duplex { sum.datagrams } else { sum.datagrams + last_ones };
            self.act(Action::Print(format!("[SUM-{count}] Sent {sent} datagrams\n")));
        }
    }

    /// Whether the round trips of a stream are ours to print: a server only sends back.
    fn prints_trips(&self, index: usize) -> bool {
        self.flows[index].bounce.is_some()
            && !self.is_server()
            && !self.view.csv
            && !self.command.excluded.contains('D')
    }

    /// The times in which all streams were connected, as they end.
    pub(super) fn print_connect_times(&mut self) {
        let opened = |flow: &&TestStream| flow.test.is_some() && !flow.starred;
        let times: Vec<u64> =
            self.flows.iter().filter(opened).map(|flow| flow.connect_ns).filter(|ns| *ns > 0).collect();
        let failed = self.flows.iter().filter(opened).count() - times.len();
        if self.view.enhanced && !self.view.csv && !self.command.udp && times.len() > 1 {
            self.act(Action::Print(text::connect_times(&times, failed)));
        }
    }

    /// A line of times by their length.
    fn print_times(&mut self, index: usize, (from, to): (u64, u64), distribution: &str) {
        let (label, from, to) = (self.label(index), from as f64 / 1e9, to as f64 / 1e9);
        self.act(Action::Print(format!("[{label:>3}] {from:6.4}-{to:6.4} sec {distribution}\n")));
    }

    /// A stream's number as its rows have it: what a server sends to its client has a star.
    fn label(&self, index: usize) -> String {
        let flow = &self.flows[index];
        let against = flow.test.is_some_and(|test| test.reverse) && !self.is_server();
        if against { format!("*{}", flow.id) } else { flow.label() }
    }

    /// The distributions that `--histograms` asks for, under a row.
    fn print_bins(
        &mut self,
        index: usize,
        span_ns: (u64, u64),
        counts: &StreamCounts,
        times: &Times,
        is_total: bool,
    ) {
        let (Some(bins), false) = (self.command.bins, self.view.csv) else { return };
        let is_final = if is_total { "(f)" } else { "" };
        if !times.transits.is_empty() {
            self.print_times(index, span_ns, &bins.print(&format!("T8{is_final}"), &times.transits));
        }
        if !times.bursts.is_empty() {
            let text = bins.print(&format!("F8{is_final}"), &times.bursts);
            // When the slowest was complete is known of the whole alone.
            let when = match is_total {
                true => format!("{:.6}", counts.slowest_unix_us as f64 / 1e6),
                false => "-".into(),
            };
            let most_ms = times.bursts.max as f64 / 1e6;
            self.print_times(index, span_ns, &format!("{text} ({most_ms:.3} ms/{when})"));
        }
    }

    /// The columns of a stream's row.
    fn kind_of<'a>(
        &self,
        index: usize,
        span_ns: (u64, u64),
        counts: &StreamCounts,
        times: &'a Times,
        is_total: bool,
    ) -> RowKind<'a> {
        let (udp, flow) = (self.command.udp, &self.flows[index]);
        let trip_times = flow.test.is_some_and(|test| test.trip_times);
        let period_us = flow.test.filter(|_| !flow.is_duplex()).and_then(|test| test.period_us);
        match (flow.bounce, self.is_server(), period_us) {
            (Some(_), false, _) => RowKind::RoundTrips(&times.trips),
            (Some(_), true, _) => RowKind::Plain,
            (None, false, Some(period_us)) if flow.sends && self.view.enhanced => {
                let period_ns = u64::from(period_us) * 1000;
                let sent = counts.calls;
                let due = (span_ns.1 - span_ns.0).checked_div(period_ns).unwrap_or(0);
                let slipped = beyond(&times.trips, period_ns);
                // What is late is sent all the same, until the time is up.
                let missed = if is_total { due.saturating_sub(sent) } else { 0 };
                RowKind::FramesSent(FramesSent { sent, missed, slipped })
            }
            _ if flow.sends || !self.view.enhanced || !trip_times => RowKind::Usual,
            _ if udp && period_us.is_some() => RowKind::Frames(&times.bursts),
            _ if udp || !flow.has_bursts(udp) => RowKind::Usual,
            _ => RowKind::Bursts(&times.bursts, period_us.is_some()),
        }
    }

    fn print_row(
        &mut self,
        index: usize,
        span_ns: (u64, u64),
        counts: StreamCounts,
        times: &Times,
        is_total: bool,
    ) {
        if self.command.excluded.contains('D') || self.command.sum_only && self.flows.len() > 1 {
            return;
        }
        let (label, kind) = (self.label(index), self.kind_of(index, span_ns, &counts, times, is_total));
        let flow = &self.flows[index];
        let row = ReportRow { label: &label, span_ns, counts, sends: flow.sends, kind };
        if self.view.csv {
            let text = self.view.values(flow, &row, self.unix_ns);
            return self.act(Action::Print(text));
        }
        let text = self.view.row(&row);
        let heading = self.head(self.view.columns(row.sends, kind));
        let text = format!("{heading}{text}");
        self.act(Action::Print(text));
        self.print_bins(index, span_ns, &counts, times, is_total);
    }

    /// The sum of an interval; without -e none of both ways of one connection, as the original.
    fn print_interval_sum(&mut self, index: usize, span_ns: (u64, u64), counts: StreamCounts) {
        match (self.flows[index].is_duplex(), self.view.enhanced) {
            (true, true) => self.print_sum(index, &format!("FD{}", self.flows[index].id), span_ns, counts),
            (true, false) => {}
            (false, _) => self.print_sum(index, "SUM", span_ns, counts),
        }
    }

    fn print_sum(&mut self, index: usize, label: &str, span_ns: (u64, u64), counts: StreamCounts) {
        if self.view.csv || self.command.excluded.contains('D') {
            return;
        }
        let flow = &self.flows[index];
        let (sends, duplex) = (flow.sends, flow.is_duplex());
        let kind = match (duplex, self.command.udp) {
            (true, true) => RowKind::Datagrams,
            (true, false) => RowKind::Plain,
            (false, _) if flow.bounce.is_some() => RowKind::Plain,
            (false, _) => RowKind::Usual,
        };
        // As the original: a sum of what was received has the columns of what was sent.
        let heading = self.head(self.view.columns(sends || self.command.udp, kind));
        let row = self.view.row(&ReportRow { label, span_ns, counts, sends, kind });
        self.act(Action::Print(format!("{heading}{row}")));
    }

    /// The heading of some columns, once after each connection that was printed.
    pub(super) fn head(&mut self, columns: &'static str) -> &'static str {
        if self.headings.contains(&columns) {
            return "";
        }
        self.headings.push(columns);
        columns
    }
}

/// How many times are longer than this, as far as their buckets tell.
fn beyond(times: &iodyno_model::Histogram, ns: u64) -> u64 {
    times
        .buckets()
        .iter()
        .filter(|(bucket, _)| lower_edge(*bucket as usize) >= ns)
        .map(|(_, count)| count)
        .sum()
}

fn sum_of(sum: StreamCounts, more: StreamCounts) -> StreamCounts {
    StreamCounts { highest: sum.highest + more.highest, ..more.plus(&sum) }
}
