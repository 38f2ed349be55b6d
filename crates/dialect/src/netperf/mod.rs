//! netperf and netserver: throughput and response times between two hosts, over netperf's control protocol.
//!
//! Both ends are conversations: records in, records out, and plans for the `socket` engine. What the tool's words mean
//! is decided in `settings` and `lower`; what it prints, in `report`.

mod client;
mod command;
mod confidence;
mod control;
mod figures;
mod lower;
pub(crate) mod omni_client;
pub mod options;
mod report;
mod server;
mod session;
mod settings;
mod test;
mod wire;

#[cfg(test)]
mod tests;

use iodyno_model::conversation::SocketFacts;
use iodyno_model::{Diagnostic, Plan};

use crate::{Converse, Dialect, Loader, Request, Run};
use command::{Command, EarlyExit, ServerCommand};
use lower::ConnectionUse;

pub const DIALECT: Dialect = Dialect {
    name: "netperf",
    about: "throughput and response times over a network (netperf -H HOST -t TCP_RR)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// Its other end.
pub const NETSERVER: Dialect =
    Dialect { name: "netserver", about: "the server of netperf", drop_in: true, also: &[], lower: serve };

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let command = match command::netperf(&crate::dashes(arguments), loader) {
        Ok(command) => command,
        Err(early) => return Ok(early_request(early)),
    };
    let uuid = command.uuid.clone().unwrap_or_else(|| uuid(loader.now_unix_ns()));
    let print = |out: String| Ok(Request::Print { out, status: 0 });
    match command.test.name {
        "UUID" => return print(format!("{uuid}\n")),
        // How fast processors are is not asked any more: what they do is counted.
        "LOC_CPU" => return print("100.000000\n".into()),
        _ => {}
    }
    let run = converse_run(plan_of(&command));
    Ok(match command.test.name {
        "REM_CPU" => Converse::new(client::Calibration::new(command), run),
        _ => Converse::new(client::NetperfClient::new(command, uuid), run),
    }
    .into())
}

fn serve(arguments: &[String], _loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let command = match command::netserver(&crate::dashes(arguments)) {
        Ok(command) => command,
        Err(early) => return Ok(early_request(early)),
    };
    let daemon = !command.foreground && !command.once;
    Ok(Converse { daemon, ..netserver(command) }.into())
}

/// A netserver for one command of ours: at any port, for who knows the word.
pub(crate) fn serve_once(word: String) -> Converse {
    netserver(ServerCommand {
        foreground: true,
        once: true,
        crowd: true,
        word: Some(word),
        ..ServerCommand::default()
    })
}

fn netserver(command: ServerCommand) -> Converse {
    let run = converse_run(Plan { name: "netserver".into(), ..Plan::default() });
    Converse::new(server::Netserver::new(command), run)
}

fn early_request(early: EarlyExit) -> Request {
    match early {
        EarlyExit::Print(out, status) => Request::Print { out, status },
        EarlyExit::Refuse(err, status) => Request::Refuse { err, status },
    }
}

/// What will be run, as far as that is known before netserver was asked.
fn plan_of(command: &Command) -> Plan {
    let over = ConnectionUse::Each(crate::address::joined(&command.host, 0));
    lower::plan(&settings::flow(command, over, &SocketFacts::default()))
}

fn converse_run(plan: Plan) -> Run {
    Run { translate: crate::net::advice::netperf, ..Run::of_conversation(plan) }
}

/// The line of `-V`.
fn version(tool: &str) -> String {
    format!("{tool} version 2.7.0 (iodyno {})\n", env!("CARGO_PKG_VERSION"))
}

/// A name for a run, from the time it began: version 4 in form.
fn uuid(now_ns: u64) -> String {
    let mix = |value: u64| {
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    let (high, low) = (mix(now_ns), mix(now_ns.wrapping_add(0x9e37_79b9_7f4a_7c15)));
    let (high, low) = (high & !0xf000 | 0x4000, low & !(3 << 62) | (2 << 62));
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
