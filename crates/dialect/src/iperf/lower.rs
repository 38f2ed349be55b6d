//! A test's streams as a plan: one job for each, on a connection that stands.

use iodyno_model::conversation::Connection;
use iodyno_model::plan::Stop;
use iodyno_model::{
    Content, Direct, Intent, Job, Limit, Open, Pace, Pattern, Payload, PerDirection, Phase, Pick, Plan, Rate,
    Refresh, Setting, Target, Verb, Workload,
};

use super::bounceback::{Bounce, TIMES_AT};
use super::frames::Frames;
use super::header::{Amount, BURST_AT};
use crate::conversation::endpoint;

/// A stream that is to run.
#[derive(Clone, Debug)]
pub struct Load {
    /// What reports call it.
    pub name: String,
    pub connection: Connection,
    /// Datagrams.
    pub udp: bool,
    /// Whether we send.
    pub sends: bool,
    /// Bytes of a write, read or datagram.
    pub block_bytes: u64,
    /// bit/s; none: as fast as it goes.
    pub bits: Option<f64>,
    /// Until when; receivers go on until their peer ends.
    pub amount: Amount,
    /// The most that there is to send.
    pub most_bytes: Option<u64>,
    /// The most datagrams that may go there, bytes.
    pub granted_bytes: Option<u64>,
    /// What is sent; none: digits.
    pub content: Option<Vec<u8>>,
    /// Whether the peer reads an end once all is sent: the connection has another stream, so nobody else can say so.
    pub shuts: bool,
    /// Messages that come back, rather than one way.
    pub exchange: Option<Exchange>,
    /// Bytes of a bin in which reads are counted; 0: they are not.
    pub bin_bytes: u64,
    /// Its writes are frames.
    pub frames: Option<Frames>,
    /// Its bursts say when they were due.
    pub bursts: bool,
    /// Times of datagrams on their way are counted by their length.
    pub spread: bool,
}

/// Which part in messages that come back.
#[derive(Clone, Copy, Debug)]
pub enum Exchange {
    /// They go out, so many at the beginning of each period of so many ns; none: one after the other.
    Asks(Bounce, Option<(u32, u64)>),
    /// They are sent back.
    Echoes(Bounce),
}

/// How long after the start line the first burst of messages goes out, ns: none is cut in two by the end of an interval.
const BURST_AFTER_NS: u64 = 20_000_000;

/// What a stream's job is called.
pub fn name(stream: u32) -> String {
    format!("stream {stream}")
}

/// The plan of some streams that run together.
pub fn plan(loads: &[Load]) -> Plan {
    let targets = loads.iter().map(target).collect();
    let jobs = loads.iter().enumerate().map(|(index, load)| job(index, load)).collect();
    // A stream that breaks off does not end the others.
    let phase = Phase { name: "iperf".into(), jobs, stop: Stop::Alone, ..Phase::default() };
    Plan { name: "iperf".into(), intent: Intent::Network, targets, phases: vec![phase], ..Plan::default() }
}

fn target(load: &Load) -> Target {
    let target = endpoint(&load.name, "connection", load.connection.to_string(), false);
    Target { open: Open { direct: Direct::No, ..Open::default() }, ..target }
}

fn job(index: usize, load: &Load) -> Job {
    if let Some(exchange) = load.exchange {
        return exchange_job(index, load, exchange);
    }
    let verb = if load.sends { Verb::Send } else { Verb::Recv };
    let mut pattern = Pattern::of(verb, Pick::Stream, block(load));
    if let Some(frames) = load.frames {
        pattern.size = PerDirection::same(frames.sizes(load.block_bytes, load.udp));
    }
    let mut job = Job::new(&load.name, "socket", vec![index], Workload::Pattern(Box::new(pattern)));
    if load.udp {
        job.settings.push(Setting::new("datagram_bytes", load.block_bytes));
        job.settings.push(Setting::new("stamp", "number_seconds_micros"));
    }
    if load.bursts {
        let place = if load.udp { BURST_AT.to_string() } else { "on".into() };
        job.settings.push(Setting::new("bursts", place));
    }
    if load.spread {
        job.settings.push(Setting::new("spread", "on"));
    }
    if load.bin_bytes > 0 {
        job.settings.push(Setting::new("read_bin_bytes", load.bin_bytes));
    }
    if load.shuts {
        job.settings.push(Setting::new("shut", "on"));
    }
    if load.sends {
        job.limit = limit(load);
        job.pace = pace(load);
        let digits = || b"0123456789".to_vec();
        let content = Content::Pattern(load.content.clone().unwrap_or_else(digits));
        job.payload = Payload { content, refresh: Refresh::Once, ..Payload::default() };
    }
    job
}

fn exchange_job(index: usize, load: &Load, exchange: Exchange) -> Job {
    let (Exchange::Asks(bounce, _) | Exchange::Echoes(bounce)) = exchange;
    let bytes = u64::from(bounce.bytes);
    let pattern = Pattern::of(Verb::Exchange, Pick::Stream, bytes);
    let mut job = Job::new(&load.name, "socket", vec![index], Workload::Pattern(Box::new(pattern)));
    job.settings = vec![Setting::new("request_bytes", bytes), Setting::new("response_bytes", bytes)];
    match exchange {
        Exchange::Echoes(_) => {
            let hold_us = u64::from(bounce.hold_us);
            job.settings.extend([Setting::new("answers", "on"), Setting::new("echo", TIMES_AT as u64)]);
            job.settings.push(Setting::new("hold_us", hold_us));
        }
        Exchange::Asks(_, bursts) => {
            job.limit = limit(load);
            if let Some((burst, period_ns)) = bursts {
                let rate_all = Rate::Operations(f64::from(burst) * 1e9 / period_ns as f64);
                // Each waits for the one before it: they are due together, but their times count from their sending.
                job.pace = Pace { rate_all, burst, open_loop: false, ..Pace::default() };
                job.start.after_ns = BURST_AFTER_NS.min(period_ns / 20);
            }
            let content = Content::Pattern(load.content.clone().unwrap_or_default());
            job.payload = Payload { content, refresh: Refresh::Once, ..Payload::default() };
        }
    }
    job
}

/// Bytes of one call: of datagrams as many as a millisecond holds, so that a pace stays even.
fn block(load: &Load) -> u64 {
    if !load.udp {
        return load.block_bytes;
    }
    let most = (65_507 / load.block_bytes).clamp(1, 64);
    let fit = match load.bits.filter(|_| load.sends) {
        Some(bits) => (bits / 8.0 / 1000.0 / load.block_bytes as f64) as u64,
        None => most,
    };
    load.block_bytes * fit.clamp(1, most)
}

fn limit(load: &Load) -> Limit {
    let whole =
        |bytes: u64| if load.udp { bytes.div_ceil(load.block_bytes) * load.block_bytes } else { bytes };
    let (time_ns, bytes) = match load.amount {
        Amount::Time(ns) => (Some(ns), None),
        Amount::Bytes(bytes) => (None, Some(whole(bytes))),
    };
    let most = load.granted_bytes.or(load.most_bytes.filter(|_| !load.udp));
    let bytes = match (bytes, most) {
        (Some(bytes), Some(most)) => Some(bytes.min(most)),
        (bytes, most) => bytes.or(most),
    };
    Limit { time_ns, bytes, ..Limit::default() }
}

fn pace(load: &Load) -> Pace {
    if let Some(frames) = load.frames {
        return Pace { rate_all: Rate::Operations(frames.rate()), ..Pace::default() };
    }
    let rate_all = load.bits.map_or(Rate::Unlimited, |bits| Rate::Bytes((bits / 8.0).max(1.0) as u64));
    Pace { rate_all, ..Pace::default() }
}

/// From one write of so many bytes to the next at a rate in bit/s, ns.
pub fn gap_ns(block_bytes: u64, bits: f64) -> u64 {
    (block_bytes as f64 * 8e9 / bits) as u64
}
