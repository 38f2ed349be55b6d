//! Peers that fall silent in the midst of a test. A server's thread is for who moves data: who does not keeps its place
//! without one, goes on when it speaks again, and gives way when somebody else wants the place.
//!
//! A paused client is no broken one: the original waits for it without end, and so its connection stays.

use iodyno_model::conversation::Action;

use super::flow::{StreamState, TestStream};
use super::lower;
use super::session::{IperfConversation, PATIENCE_NS};
use crate::address::host_and_port;
use crate::conversation::longest_silent;

/// After which silence a stream's run ends until its peer sends again, ns.
const PAUSE_NS: u64 = 5_000_000_000;
/// So much must come before a silent stream has a run (again), bytes: less is counted without one.
pub(super) const FLOWS_FROM_BYTES: usize = 16 << 10;
/// For how long a peer that takes nothing is sent to, ns: iperf3's own limit.
const STALL_NS: u64 = 120_000_000_000;
/// For how long a peer of a test that goes both ways may move nothing, ns.
const BOTH_WAYS_NS: u64 = 5 * STALL_NS;
/// After which silence a place may be taken by somebody else, ns: the streams of a test open within it.
const SILENT_NS: u64 = 2_000_000_000;

impl IperfConversation {
    /// Ends the run of a stream whose peer is silent for longer than its test explains.
    pub(super) fn watch(&mut self, index: usize) {
        let (udp, server) = (self.command.udp, self.is_server());
        // Bursts are counted from their first byte on: a run that was interrupted would lose where they begin.
        let in_bursts = !udp && self.flows[index].has_bursts(udp);
        let both_ways = self.flows[index].is_duplex() || self.flows[index].bounce.is_some() || in_bursts;
        let patience_ns = match (self.flows[index].sends, udp) {
            // Nobody closes, so silence alone tells that a peer is gone.
            (false, true) if both_ways => PATIENCE_NS.max(3 * self.gap_ns(index)),
            (true, true) if both_ways => return,
            // A client of `--bounceback-period` is silent in between.
            _ if both_ways && server => BOTH_WAYS_NS,
            _ if both_ways => return,
            (false, true) => PATIENCE_NS.max(3 * self.gap_ns(index)),
            (false, false) if server => PAUSE_NS,
            (true, false) if server => STALL_NS.max(3 * self.gap_ns(index)),
            _ => return,
        };
        let flow = &mut self.flows[index];
        let Some((run, _)) = flow.run else { return };
        let silent_ns = self.now_ns.saturating_sub(flow.since_ns);
        // What was not reported yet is no silence.
        if silent_ns <= patience_ns.max(2 * self.interim_ns()) {
            return;
        }
        let flow = &mut self.flows[index];
        flow.since_ns = self.now_ns;
        flow.pauses = !flow.sends && !udp && !both_ways;
        if flow.sends || both_ways {
            let label = flow.label();
            let what = if both_ways { "nothing was moved" } else { "the peer has read nothing" };
            self.complain(format!(
                "[{label:>3}] WARNING: {what} for {} s: its test ends",
                silent_ns / 1_000_000_000
            ));
        }
        self.act(Action::Stop(run));
    }

    /// From one write of a stream to the next at its rate, ns; 0: it has none.
    fn gap_ns(&self, index: usize) -> u64 {
        let flow = &self.flows[index];
        let received = flow.test.filter(|_| !flow.sends).map(|test| f64::from(test.rate_bits));
        let bits = received.or_else(|| self.bits_of(index)).filter(|bits| *bits >= 1.0);
        let block = self.block_of(index).max(flow.each_bytes);
        bits.map_or(0, |bits| lower::gap_ns(block, bits))
    }

    /// A stream waits for its peer's data, without a run.
    pub(super) fn await_data(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.enter(StreamState::Paused, self.now_ns);
        (flow.now, flow.awaited_bytes) = (flow.before, FLOWS_FROM_BYTES);
        let connection = flow.connection;
        self.act(Action::Read { connection, most: Some(FLOWS_FROM_BYTES) });
    }

    /// The run of a silent stream has ended: what it moved stays counted.
    pub(super) fn paused(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        (flow.pauses, flow.run) = (false, None);
        flow.before = flow.now;
        self.await_data(index);
    }

    /// The peer of a paused stream sends: once that is more than a few words, a run takes over.
    pub(super) fn resume(&mut self, index: usize, bytes: usize) {
        let bin = self.bin_of(bytes);
        let flow = &mut self.flows[index];
        flow.before.bytes += bytes as u64;
        flow.before.calls += 1;
        flow.before.reads[bin] += 1;
        flow.now = flow.before;
        flow.since_ns = self.now_ns;
        flow.awaited_bytes = flow.awaited_bytes.saturating_sub(bytes);
        if flow.awaited_bytes == 0 {
            self.run(&[index]);
        }
    }

    /// A paused stream's time passes all the same: rows of intervals in which nothing came.
    pub(super) fn pass_time(&mut self, index: usize) {
        let interval_ns = self.command.interval_ns;
        let flow = &self.flows[index];
        let until_ns = self.now_ns.saturating_sub(flow.begun_ns);
        let rows = until_ns.saturating_sub(flow.reported_ns).checked_div(interval_ns).unwrap_or(0);
        for _ in 0..rows {
            let flow = &mut self.flows[index];
            flow.lasted_ns = flow.reported_ns + interval_ns;
            self.interval(index);
        }
    }

    /// Prints what a paused stream has moved.
    pub(super) fn report_paused(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.lasted_ns = self.now_ns.saturating_sub(flow.begun_ns);
        self.last_interval(index);
        self.leave(index);
    }

    /// A paused stream is at its end.
    pub(super) fn finish(&mut self, index: usize) {
        self.report_paused(index);
        self.give_back(index);
        self.settle();
    }

    /// Takes a place from who has been silent for longest: of a host, or of that which has most such. Whether there was one.
    pub(super) fn give_way(&mut self, host: Option<&str>) -> bool {
        let now_ns = self.now_ns;
        let silent = |flow: &TestStream| {
            let waits = matches!(flow.state, StreamState::Header | StreamState::Paused);
            waits && now_ns.saturating_sub(flow.since_ns) >= SILENT_NS
        };
        let all = self.flows.iter().enumerate().filter(|(_, flow)| silent(flow));
        let all = all.map(|(index, flow)| (index, host_and_port(&flow.ends.peer).0, flow.since_ns));
        let Some(index) = longest_silent(all, host) else { return false };
        if self.flows[index].state == StreamState::Header {
            self.forget(index);
            return true;
        }
        let (label, silent_ns) = (self.flows[index].label(), now_ns - self.flows[index].since_ns);
        self.complain(format!(
            "[{label:>3}] WARNING: nothing came for {} s: its place goes to another connection",
            silent_ns / 1_000_000_000
        ));
        self.finish(index);
        true
    }
}
