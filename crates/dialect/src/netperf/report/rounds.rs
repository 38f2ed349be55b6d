//! What both ends' counts of a round amount to, and the mean of all rounds.

use iodyno_model::Histogram;
use iodyno_model::conversation::{Ends, SocketFacts};

use super::super::command::Command;
use super::super::figures::{self, Cpu, EndFigures, ReportFigures, RunFigures};
use super::super::settings::blocks;
use super::super::test::{Protocol, TestShape};
use super::super::wire::{self, Message, OmniResponse, OmniResults};
use crate::address::host_of;

/// What was seen of both ends beside their counts.
pub(in super::super) struct EndSightings<'a> {
    pub(in super::super) control: &'a Ends,
    pub(in super::super) probe: &'a Ends,
    pub(in super::super) data: &'a SocketFacts,
    pub(in super::super) response: &'a OmniResponse,
    pub(in super::super) uuid: &'a str,
}

/// Everything that a report may say of one round.
pub(in super::super) fn figures(
    command: &Command,
    ours: &RunFigures,
    theirs: Option<&Message>,
    seen: &EndSightings<'_>,
) -> ReportFigures {
    let shape = command.test.shape();
    let mut local = local_side(command, ours, seen);
    let mut remote = remote_side(command, theirs, seen);
    // Who takes datagrams cannot know which was the last one; who sent them does.
    let sender_s = theirs.map_or(0.0, |message| wire::fraction(OmniResults::read(message).elapsed_time));
    let takes = command.test.is_udp() && shape == TestShape::Receives && sender_s > 0.0;
    let elapsed_s = if takes { sender_s } else { ours.elapsed_s };
    let transactions = (shape == TestShape::Transactions).then_some(ours.operations);
    // A stream counts where it arrives.
    let arrived = match shape {
        TestShape::Sends if theirs.is_some() => remote.received,
        TestShape::Sends => local.sent,
        _ => local.received,
    };
    let letter = command.letter();
    // Of transactions both ways count.
    let moved = if transactions.is_some() { local.sent + local.received } else { arrived };
    let (throughput, units) = match transactions.filter(|_| letter == 'x') {
        Some(count) => (count as f64 / elapsed_s.max(1e-9), count as f64),
        None => (figures::rate(moved, elapsed_s, letter), moved as f64 / 1024.0),
    };
    local.demands(units, elapsed_s);
    remote.demands(units, elapsed_s);
    let six = seen.control.peer.starts_with('[') || seen.probe.local.starts_with('[');
    let near = command.data_local.clone().or_else(|| command.local.clone());
    ReportFigures {
        udp: command.test.is_udp(),
        sctp: command.test.protocol == Some(Protocol::Sctp),
        direction: command.test.direction(),
        local,
        remote,
        elapsed_s,
        throughput,
        units: format!("{}/s", figures::units(letter)),
        transactions,
        request: if transactions.is_some() && command.test.sends {
            command.request_bytes() as i64
        } else {
            -1
        },
        response: if transactions.is_some() && command.test.receives {
            command.response_bytes() as i64
        } else {
            -1
        },
        burst: command.burst,
        latency: ours.latency.clone(),
        mss: if ours.mss > 0 { ours.mss as i64 } else { seen.data.mss as i64 },
        brand: command.brand.clone(),
        uuid: seen.uuid.into(),
        line: command.line.clone(),
        source_named: near.is_some(),
        source: near.unwrap_or_else(|| (if six { "::" } else { "0.0.0.0" }).into()),
        destination: host_of(&seen.control.peer).unwrap_or_else(|| command.host.clone()),
        family: if six { 10 } else { 2 },
        letter: command.units,
        ..ReportFigures::default()
    }
}

fn local_side(command: &Command, ours: &RunFigures, seen: &EndSightings<'_>) -> EndFigures {
    let asked = |bytes: Option<u64>| bytes.map_or(-1, |bytes| bytes as i64);
    let at_first = &seen.probe.socket;
    let (send, receive) = blocks(command, at_first);
    let sizes = |first: u64, last: u64| (first as i64, if last == 0 { first as i64 } else { last as i64 });
    let (send_first, send_last) = sizes(at_first.send_buffer_bytes, seen.data.send_buffer_bytes);
    let (receive_first, receive_last) = sizes(at_first.receive_buffer_bytes, seen.data.receive_buffer_bytes);
    let shape = command.test.shape();
    let mut side = EndFigures {
        send_buffer: (asked(command.our_buffers.0), send_first, send_last),
        receive_buffer: (asked(command.our_buffers.1), receive_first, receive_last),
        send_size: if shape == TestShape::Sends { send as i64 } else { 0 },
        receive_size: if shape == TestShape::Receives { receive as i64 } else { 0 },
        cpu: ours.cpu.clone().filter(|_| command.cpu.0),
        confidence: -1.0,
        retransmits: ours.retransmits.map_or(-1, |count| count as i64),
        failed: ours.failed,
        align: (8, 8),
        nodelay: command.nodelay.0,
        cork: command.cork,
        tos: command.tos.0,
        priority: command.priority.0,
        congestion: seen.data.congestion.clone(),
        fill: command.fill_name.clone(),
        processor: command.processors.0,
        interval: command.pace.map_or((0, 0), |(burst, ns)| (burst, ns / 1000)),
        ..EndFigures::default()
    };
    match shape {
        TestShape::Sends => (side.sent, side.send_calls) = (ours.bytes, ours.calls),
        TestShape::Receives => (side.received, side.receive_calls) = (ours.bytes, ours.calls),
        TestShape::Transactions => {
            (side.send_calls, side.receive_calls) = (ours.operations, ours.operations);
            side.sent = ours.operations * command.request_bytes();
            side.received = ours.operations * command.response_bytes();
        }
    }
    side
}

fn remote_side(command: &Command, theirs: Option<&Message>, seen: &EndSightings<'_>) -> EndFigures {
    let asked = |bytes: Option<u64>| bytes.map_or(-1, |bytes| bytes as i64);
    let count = |word: i32| u64::from(word as u32);
    let response = seen.response;
    let results = theirs.map(OmniResults::read).unwrap_or_default();
    let last = |last: i32, first: i32| i64::from(if last > 0 { last } else { first });
    EndFigures {
        send_buffer: (
            asked(command.their_buffers.0),
            i64::from(response.send_buf_size),
            last(results.send_buf_size, response.send_buf_size),
        ),
        receive_buffer: (
            asked(command.their_buffers.1),
            i64::from(response.recv_buf_size),
            last(results.recv_buf_size, response.recv_buf_size),
        ),
        send_size: i64::from(response.send_size),
        receive_size: i64::from(response.receive_size),
        cpu: their_cpu(&results).filter(|_| command.cpu.1 && theirs.is_some()),
        confidence: -1.0,
        retransmits: i64::from(results.transport_retrans),
        sent: results.sent(),
        received: results.received(),
        send_calls: count(results.send_calls),
        receive_calls: count(results.recv_calls),
        failed: count(results.failed_sends.max(0)),
        align: (command.align.0.unwrap_or(8), command.align.1.unwrap_or(8)),
        offset: (command.offset.0.unwrap_or(0), command.offset.1.unwrap_or(0)),
        nodelay: command.nodelay.1,
        tos: command.tos.1,
        priority: command.priority.1,
        congestion: theirs
            .map(|message| message.text(wire::RESULTS_CONGESTION, wire::CONGESTION_BYTES))
            .unwrap_or_default(),
        processor: command.processors.1,
        interval: (count(response.interval_burst) as u32, count(response.interval_usecs)),
        ..EndFigures::default()
    }
}

fn their_cpu(results: &OmniResults) -> Option<Cpu> {
    let share = |bits: i32| wire::fraction(bits).clamp(0.0, 100.0);
    (results.num_cpus > 0).then(|| Cpu {
        used_percent: share(results.cpu_util),
        user_percent: share(results.cpu_user),
        system_percent: share(results.cpu_system),
        iowait_percent: share(results.cpu_iowait),
        irq_percent: share(results.cpu_irq),
        softirq_percent: share(results.cpu_swintr),
        count: results.num_cpus as u32,
        peak_percent: share(results.peak_cpu_util),
        peak: results.peak_cpu_id.max(0) as u32,
    })
}

/// The mean of all rounds; counts are those of the last.
pub(in super::super) fn mean(rounds: &[ReportFigures]) -> ReportFigures {
    let Some(last) = rounds.last() else { return ReportFigures::default() };
    let of = |value: fn(&ReportFigures) -> f64| rounds.iter().map(value).sum::<f64>() / rounds.len() as f64;
    let mut mean = last.clone();
    mean.throughput = of(|round| round.throughput);
    mean.elapsed_s = of(|round| round.elapsed_s);
    mean.local.demand = of(|round| round.local.demand);
    mean.remote.demand = of(|round| round.remote.demand);
    let used = |cpu: &Option<Cpu>| cpu.as_ref().map_or(-1.0, |cpu| cpu.used_percent);
    let ours = rounds.iter().map(|round| used(&round.local.cpu)).sum::<f64>() / rounds.len() as f64;
    let theirs = rounds.iter().map(|round| used(&round.remote.cpu)).sum::<f64>() / rounds.len() as f64;
    if let Some(cpu) = &mut mean.local.cpu {
        cpu.used_percent = ours;
    }
    if let Some(cpu) = &mut mean.remote.cpu {
        cpu.used_percent = theirs;
    }
    let mut latency = Histogram::default();
    rounds.iter().for_each(|round| latency.merge(&round.latency));
    mean.latency = latency;
    mean
}
