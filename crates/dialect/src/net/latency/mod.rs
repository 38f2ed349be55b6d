//! `iodyno net latency`: how long a request and its response, and a connection, take to one host: idle, and under load.
//!
//! Requests go out by a schedule and are counted from when they should have gone (open loop), so that one that waits is
//! not kept from being seen by those before it. The other end is a netserver: ours or the real one.

mod report;

use clap::Parser;
use iodyno_model::{Diagnostic, Origin, units};

use crate::native::{self, Manner};
use crate::netperf::omni_client::{LinkTest, Measurement};
use crate::{Converse, Loader, Request, Run};

use super::test_sequence::{TestSequence, TestStage};
use super::{ServerArguments, bits};

const AFTER: &str = "Example: iodyno net latency db1 --under tcp:4 --time 10s\n\
The other end: iodyno netserver -D, or netperf's own. --under says what loads the link meanwhile: tcp:N (N streams out), \
tcp:N:in, tcp:N:both, or udp:RATE (datagrams out, e.g. udp:500m).";

/// How long requests and connections take to one host.
#[derive(Debug, Parser)]
#[command(
    name = "iodyno net latency",
    about = "How long a request and its response, and a connection, take to one host: idle, and under load",
    after_help = AFTER,
    disable_version_flag = true
)]
struct Options {
    #[command(flatten)]
    whom: ServerArguments,
    /// What loads the link in the second half: tcp:N[:in|:out|:both] or udp:RATE
    #[arg(long, value_name = "LOAD", value_parser = load)]
    under: Option<Load>,
    /// Requests a second, by a schedule; 0: one after the other, as fast as they go
    #[arg(long, value_name = "N", default_value_t = 1000.0, value_parser = rate)]
    rate: f64,
    /// Connections a second; 0: none are made
    #[arg(long, value_name = "N", default_value_t = 20.0, value_parser = rate)]
    connects: f64,
    /// For how long each, idle and under load, e.g. 10s
    #[arg(long, value_name = "T", default_value = "5s", value_parser = units::parse_ns)]
    time: u64,
    /// How long the load goes on before anything is measured
    #[arg(long, value_name = "T", default_value = "1s", value_parser = units::parse_ns)]
    settle: u64,
    /// A request's and a response's size
    #[arg(long, value_name = "S", default_value = "64", value_parser = units::parse_bytes)]
    message: u64,
    #[command(flatten)]
    manner: Manner,
}

/// What loads the link.
#[derive(Clone, Debug, PartialEq)]
struct Load {
    /// As it was typed.
    name: String,
    /// Streams out and in.
    out: u32,
    back: u32,
    /// Datagrams, bit/s.
    datagrams_bps: f64,
}

/// Streams of a load at most.
const STREAMS_MOST: u32 = 128;
/// Content of a datagram that fits an Ethernet's frame, bytes.
const DATAGRAM_BYTES: u64 = 1460;
/// Sent at a time, bytes.
const BLOCK_BYTES: u64 = 128 << 10;

fn load(text: &str) -> Result<Load, String> {
    let wrong = || "expected tcp:N, tcp:N:in, tcp:N:both or udp:RATE, e.g. tcp:4".to_string();
    let mut words = text.split(':');
    let (kind, amount, way) = (words.next(), words.next().ok_or_else(wrong)?, words.next());
    let mut load = Load { name: text.into(), out: 0, back: 0, datagrams_bps: 0.0 };
    if words.next().is_some() {
        return Err(wrong());
    }
    match (kind, way) {
        (Some("udp"), None) => {
            load.datagrams_bps = bits(amount).ok().filter(|rate| *rate > 0.0).ok_or_else(wrong)?;
        }
        (Some("tcp"), way) => {
            let streams = amount.parse().ok().filter(|count| (1..=STREAMS_MOST).contains(count));
            let streams = streams.ok_or_else(|| format!("expected 1 to {STREAMS_MOST} streams"))?;
            let (out, back) = match way {
                None | Some("out") => (streams, 0),
                Some("in") => (0, streams),
                Some("both") => (streams, streams),
                _ => return Err(wrong()),
            };
            (load.out, load.back) = (out, back);
        }
        _ => return Err(wrong()),
    }
    Ok(load)
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok();
    rate.filter(|rate| (0.0..=1e6).contains(rate)).ok_or_else(|| "expected 0 to 1000000 a second".into())
}

/// From arguments to a request.
///
/// # Errors
/// What is wrong with them.
pub fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options: Options = match native::parsed("iodyno net latency", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    check(&options).map_err(|wrong| vec![wrong])?;
    let server = options.whom.server()?;
    let heading = report::Heading {
        host: server.host.clone(),
        under: options.under.as_ref().map(|load| load.name.clone()),
        message_bytes: options.message,
        rate: options.rate,
        connects: options.connects,
        time_ns: options.time,
        paint: loader.paint(),
    };
    let programme =
        TestSequence::new(server, stages(&options), Box::new(move |outcome| heading.report(outcome)));
    let mut plan = programme.plan("net latency");
    options.manner.apply(&mut plan).map_err(|wrong| vec![wrong])?;
    let mut run = Run::of_conversation(plan);
    options.manner.join(&mut run);
    Ok(Converse::new(programme, run).into())
}

fn check(options: &Options) -> Result<(), Diagnostic> {
    let wrong = |option: &str, what: &str| Err(Diagnostic::error(&Origin::argument(option), what));
    if options.time == 0 {
        return wrong("--time", "nothing is measured in no time").map_err(|wrong| wrong.hint("say 5s"));
    }
    if !(1..=1 << 20).contains(&options.message) {
        return wrong("--message", "a message has 1 byte to 1 MiB").map_err(|wrong| wrong.hint("say 64"));
    }
    Ok(())
}

/// Idle, and under load.
fn stages(options: &Options) -> Vec<TestStage> {
    let some = |rate: f64| (rate > 0.0).then_some(rate);
    let probes = |state: &str, delay_ns: u64| {
        let ask = |name: &str, kind, rate, leads| LinkTest {
            name: format!("{name}, {state}"),
            kind,
            time_ns: options.time,
            delay_ns,
            rate,
            leads,
        };
        let trips = ask(report::TRIPS, Measurement::RoundTrips(options.message), some(options.rate), true);
        let connects = ask(report::CONNECTS, Measurement::Connects, some(options.connects), false);
        std::iter::once(trips).chain((options.connects > 0.0).then_some(connects)).collect::<Vec<_>>()
    };
    let mut stages =
        vec![TestStage { name: report::IDLE.into(), asks: probes(report::IDLE, 0), spare: false }];
    if let Some(load) = &options.under {
        let name = format!("under {}", load.name);
        let mut asks = probes(&name, options.settle);
        asks.extend(loads(load, options.settle + options.time + 1_000_000_000));
        stages.push(TestStage { name, asks, spare: false });
    }
    stages
}

fn loads(load: &Load, time_ns: u64) -> Vec<LinkTest> {
    let ask = |name: String, kind, rate| LinkTest { name, kind, time_ns, delay_ns: 0, rate, leads: false };
    let out =
        (1..=load.out).map(|n| ask(format!("{} {n}", report::OUT), Measurement::Sends(BLOCK_BYTES), None));
    let back = (1..=load.back)
        .map(|n| ask(format!("{} {n}", report::BACK), Measurement::Receives(BLOCK_BYTES), None));
    let datagrams = (load.datagrams_bps > 0.0).then(|| {
        let rate = load.datagrams_bps / 8.0 / DATAGRAM_BYTES as f64;
        ask(format!("{} datagrams", report::OUT), Measurement::SendsDatagrams(DATAGRAM_BYTES), Some(rate))
    });
    out.chain(back).chain(datagrams).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_streams_or_datagrams() {
        let of = |text: &str| load(text).map(|load| (load.out, load.back, load.datagrams_bps));
        assert_eq!(of("tcp:4"), Ok((4, 0, 0.0)));
        assert_eq!(of("tcp:2:in"), Ok((0, 2, 0.0)));
        assert_eq!(of("tcp:1:both"), Ok((1, 1, 0.0)));
        assert_eq!(of("udp:500m"), Ok((0, 0, 5e8)));
        for wrong in
            ["", "tcp", "tcp:", "tcp:0", "tcp:129", "tcp:1:up", "udp:0", "udp:1m:in", "sctp:1", "tcp:1:in:x"]
        {
            assert!(load(wrong).is_err(), "{wrong}");
        }
    }
}
