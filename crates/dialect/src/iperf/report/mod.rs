//! What is printed while streams run and when they end: rows, totals, and sums of streams of one group.

pub mod text;

use iodyno_model::conversation::Action;

use super::flow::{StreamCounts, StreamState};
use super::session::IperfConversation;
use text::ReportRow;

impl IperfConversation {
    pub(super) fn print_connected(&mut self, index: usize) {
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
        let row = flow.rows;
        flow.rows += 1;
        self.print_row(index, span_ns, counts);
        let group = self.flows[index].group.clone();
        let running = |flow: &super::flow::TestStream| flow.is_under_way() && flow.group == group;
        let streams = self.flows.iter().filter(|flow| running(flow)).count();
        let (told, sum) = self.sums.entry((group.clone(), row)).or_default();
        *told += 1;
        *sum = sum_of(*sum, counts);
        if *told >= streams {
            let (told, sum) = (*told, *sum);
            self.sums.remove(&(group, row));
            if told > 1 {
                self.print_sum(index, span_ns, sum);
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
        self.print_row(index, span_ns, counts);
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
        let sends = self.flows[index].sends;
        let same = |flow: &&super::flow::TestStream| flow.group == group;
        if self.flows.iter().filter(same).any(|flow| !flow.totalled && flow.state != StreamState::Done) {
            return;
        }
        self.sums.retain(|(of, _), _| *of != group);
        let all: Vec<_> = self.flows.iter().filter(same).filter(|flow| flow.lasted_ns > 0).collect();
        if all.len() < 2 {
            return;
        }
        let sum = all.iter().fold(StreamCounts::default(), |sum, flow| sum_of(sum, flow.now));
        let lasted_ns = all.iter().map(|flow| flow.lasted_ns).max().unwrap_or(0);
        let count = all.len();
        self.print_sum(index, (0, lasted_ns), sum);
        if self.command.udp && sends && !self.view.csv {
            let text = format!("[SUM-{count}] Sent {} datagrams\n", sum.datagrams + count as u64);
            self.act(Action::Print(text));
        }
    }

    fn print_row(&mut self, index: usize, span_ns: (u64, u64), counts: StreamCounts) {
        if self.command.excluded.contains('D') || self.command.sum_only && self.flows.len() > 1 {
            return;
        }
        let flow = &self.flows[index];
        let against = self.command.reverse && !self.is_server();
        let label = if against { format!("*{}", flow.id) } else { flow.label() };
        let row = ReportRow { label: &label, span_ns, counts, sends: flow.sends };
        if self.view.csv {
            let text = self.view.values(flow, &row, self.unix_ns);
            return self.act(Action::Print(text));
        }
        let heading = self.head(row.sends);
        let text = heading + &self.view.row(&row);
        self.act(Action::Print(text));
    }

    fn print_sum(&mut self, index: usize, span_ns: (u64, u64), counts: StreamCounts) {
        if self.view.csv || self.command.excluded.contains('D') {
            return;
        }
        let sends = self.flows[index].sends;
        let text = self.head(sends) + &self.view.row(&ReportRow { label: "SUM", span_ns, counts, sends });
        self.act(Action::Print(text));
    }

    /// The heading, where the last one was of other columns.
    fn head(&mut self, sends: bool) -> String {
        let same = |before: bool| self.view.columns(before) == self.view.columns(sends);
        let due = !self.heading.is_some_and(same);
        self.heading = Some(sends);
        if due { self.view.columns(sends).into() } else { String::new() }
    }
}

fn sum_of(sum: StreamCounts, more: StreamCounts) -> StreamCounts {
    StreamCounts { highest: sum.highest + more.highest, ..more.plus(&sum) }
}
