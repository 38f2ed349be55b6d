//! iperf 2: throughput of TCP and UDP with the peers of that name, in both roles and in its words.
//!
//! The protocol is a header in the first bytes of the data, a number in each datagram, and a report at the end. Here it
//! is a state machine without sockets; the data moves by plans like everybody's.

mod bounceback;
pub mod command;
pub mod flow;
mod frames;
mod handshake;
pub mod header;
mod incoming;
mod lower;
pub mod number;
pub mod options;
pub mod quota;
mod report;
mod session;
mod silence;
#[cfg(test)]
mod test;

use iodyno_model::{Diagnostic, Intent, Origin, Plan};

use crate::{Converse, Dialect, Loader, Request, Run};
use command::{Command, EarlyExit};
pub use session::IperfConversation;

pub const DIALECT: Dialect = Dialect {
    name: "iperf",
    about: "throughput of TCP and UDP with iperf 2's peers, client and server",
    drop_in: true,
    also: &["peers"],
    lower: request,
};

/// The largest file that is sent.
const MOST_CONTENT: usize = 64 << 20;

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let command = match command::parse(arguments) {
        Ok(command) => command,
        Err(EarlyExit::Help) => return Ok(Request::Print { out: options::help(), status: 0 }),
        Err(EarlyExit::Version) => {
            let ours = env!("CARGO_PKG_VERSION");
            let out = format!("iperf version 2.1.8 (iodyno {ours}) pthreads\n");
            return Ok(Request::Print { out, status: 0 });
        }
        Err(EarlyExit::Wrong(wrong)) => return Err(wrong),
    };
    let known = known(loader)?;
    if command.host.is_some() && !known.is_empty() {
        let wrong = Diagnostic::error(&Origin::argument("--also"), "`peers=` is a server's word");
        return Err(vec![wrong.hint("say it where iperf -s runs")]);
    }
    let content = content(&command, loader)?;
    let (daemon, output) = (command.daemon, command.output.clone());
    let run = run(&command, output);
    let session = IperfConversation::new(command, loader.east_s(), content).knowing(known);
    Ok(Converse { daemon, ..Converse::new(session, run) }.into())
}

/// Whose addresses need no proof: `peers=10.0.0.0/8+2001:db8::/32`.
fn known(loader: &dyn Loader) -> Result<Vec<quota::Range>, Vec<Diagnostic>> {
    let said = loader.also("peers").unwrap_or_default();
    let ranges = said.split('+').filter(|range| !range.is_empty()).map(quota::Range::of);
    ranges.collect::<Result<_, _>>().map_err(|wrong| {
        let hint = "say addresses or ranges like 10.0.0.0/8, several with + between them";
        vec![Diagnostic::error(&Origin::argument("--also"), format!("peers: {wrong}")).hint(hint)]
    })
}

/// The file that is to be sent.
fn content(command: &Command, loader: &mut dyn Loader) -> Result<Option<Vec<u8>>, Vec<Diagnostic>> {
    let Some(path) = &command.file else { return Ok(None) };
    let wrong = |what: String| vec![Diagnostic::error(&Origin::argument("-F"), format!("{path}: {what}"))];
    if loader.look(path).is_some_and(|about| about.kind != crate::PathKind::File) {
        return Err(wrong("it is no regular file: it may have no end".into()));
    }
    let bytes = loader.read(path).map_err(wrong)?;
    match bytes.len() {
        0 => Err(wrong("there is nothing in it".into())),
        length if length > MOST_CONTENT => Err(wrong("more than 64 MiB".into())),
        _ => Ok(Some(bytes)),
    }
}

fn run(command: &Command, output: Option<String>) -> Run {
    Run {
        output,
        interim_ns: command.interval_ns,
        findings: command.host.is_some(),
        translate: crate::net::advice::iperf,
        ..Run::of_conversation(nominal(command))
    }
}

/// What a client will run, as far as its command line tells; what a server runs is its clients' to say.
fn nominal(command: &Command) -> Plan {
    if command.host.is_none() {
        return Plan { name: "iperf".into(), intent: Intent::Network, ..Plan::default() };
    }
    let load = |stream: u32| lower::Load {
        name: lower::name(stream),
        connection: stream,
        udp: command.udp,
        sends: !command.reverse,
        block_bytes: command.block(),
        bits: command.bits(),
        amount: command.until(),
        most_bytes: None,
        granted_bytes: None,
        content: None,
        shuts: false,
        exchange: command.bounce().map(|bounce| lower::Exchange::Asks(bounce, command.burst_of_bounces())),
        bin_bytes: 0,
        frames: command.frames,
        bursts: command.frames.is_some() || command.trip_times && !command.udp,
        spread: false,
    };
    lower::plan(&(1..=command.streams.max(1)).map(load).collect::<Vec<_>>())
}
