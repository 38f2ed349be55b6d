//! iperf3: throughput of TCP and UDP between two hosts, talking to the real one in both roles.
//!
//! The control protocol is a state machine without sockets (`client`, `server`); data is moved by plans on the `socket`
//! engine; the output format is 3.21's.

mod amount;
mod auth;
mod client;
pub mod command;
pub mod import;
pub(crate) mod json;
mod lower;
mod meter;
pub mod options;
mod report;
mod results;
mod server;
mod session;
mod settings;
mod state;
mod strftime;
mod test;
#[cfg(test)]
mod tests;

use iodyno_model::conversation::Conversation;
use iodyno_model::{Diagnostic, Intent, Origin, Plan};

use crate::{Converse, Dialect, Loader, PathKind, Request, Run};
use auth::{Authenticator, Padding, RandomSource};
use client::{Credentials, Iperf3Client};
use command::{Command, EarlyExit};
use server::Iperf3Server;

pub const DIALECT: Dialect = Dialect {
    name: "iperf3",
    about: "throughput of TCP and UDP between two hosts, client and server (iperf3 3.21)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// The protocol's version that is spoken.
const VERSION: &str = "3.21";

/// What it calls itself.
fn banner() -> String {
    format!("iperf {VERSION} (iodyno {})", env!("CARGO_PKG_VERSION"))
}

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let refuse = |err: String| Ok(Request::Refuse { err, status: 1 });
    let mut command = match command::parse(arguments) {
        Ok(command) => command,
        Err(EarlyExit::Help) => return Ok(Request::Print { out: options::help(), status: 0 }),
        Err(EarlyExit::Version) => {
            let out = format!("{}\n{}\n", banner(), system(loader));
            return Ok(Request::Print { out, status: 0 });
        }
        Err(EarlyExit::Parameter(what)) => {
            return refuse(format!("iperf3: parameter error - {what}\n\n{}", options::help()));
        }
        Err(EarlyExit::Option(what)) => return refuse(format!("iperf3: {what}\n{}", options::help())),
    };
    if let Err(what) = look_at_file(&mut command, loader) {
        return refuse(format!("iperf3: error - {what}\n"));
    }
    let system = system(loader);
    let east_s = loader.east_s();
    let entropy = loader.entropy().map_err(|why| vec![wrong("chance", &why)])?;
    let conversation: Box<dyn Conversation> = if command.server {
        let gate = match gate(&command, entropy, loader) {
            Ok(gate) => gate,
            Err(what) => return refuse(format!("iperf3: error - {what}\n")),
        };
        Box::new(Iperf3Server::new(command.clone(), system, gate, u64::from(entropy[1]) + 1, east_s))
    } else {
        let badge = match badge(&command, loader) {
            Ok(badge) => badge,
            Err(what) => return refuse(format!("iperf3: error - {what}\n")),
        };
        Box::new(Iperf3Client::new(command.clone(), system, badge, entropy, east_s))
    };
    let messages = everybody(&command, loader);
    let run = run(&command, messages);
    Ok(Converse { conversation, run, daemon: command.daemon, pid_file: command.pid_file }.into())
}

/// A client's file: one that is sent is there, and ends the test; one that is written is not there yet.
fn look_at_file(command: &mut Command, loader: &dyn Loader) -> Result<(), String> {
    let Some(path) = command.file.clone().filter(|_| !command.server) else { return Ok(()) };
    let about = loader.look(&path);
    let is_file = about.as_ref().is_some_and(|about| about.kind == PathKind::File);
    match about {
        None if !command.test.reverse => Err("unable to open -F file: No such file or directory".into()),
        Some(about) if about.kind == PathKind::Directory => {
            Err("unable to open -F file: Is a directory".into())
        }
        Some(_) if command.test.reverse && is_file => Err(format!(
            "unable to open -F file: {path} is there already, and nothing is written over: remove it, or name another"
        )),
        Some(about) if !command.test.reverse && is_file => {
            if about.bytes == 0 {
                return Err(format!("{path} is empty: there is nothing to send"));
            }
            command.file_bytes = about.bytes;
            let ends = ["time", "bytes", "blockcount"];
            if !command.given.iter().any(|name| ends.contains(name)) {
                (command.test.bytes, command.test.time_s) = (about.bytes, 0);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn wrong(place: &str, why: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(place), why)
}

/// A note that everybody may connect, where more may be printed than the original prints.
fn everybody(command: &Command, loader: &dyn Loader) -> Vec<Diagnostic> {
    let open = command.server && command.bind.is_none() && command.users.is_none();
    match open && loader.talks() {
        true => {
            let note = "it listens at every address and serves everybody, as the original does";
            let hint = "-B ADDRESS names one; --authorized-users-path says who may";
            vec![Diagnostic::note(&Origin::argument("-s"), note).hint(hint)]
        }
        false => Vec::new(),
    }
}

fn run(command: &Command, messages: Vec<Diagnostic>) -> Run {
    Run {
        output: command.log_file.clone(),
        messages,
        translate: crate::net::advice::iperf3,
        reads_forgiven: true,
        ..Run::of_conversation(nominal(command))
    }
}

/// What a client will run, as far as it is known before the server was asked; a server runs what its clients want.
fn nominal(command: &Command) -> Plan {
    if command.server {
        return Plan { name: "iperf3".into(), intent: Intent::Network, ..Plan::default() };
    }
    let mut params = command.test.clone();
    if params.block_bytes == 0 {
        params.block_bytes = params.usual_block_bytes();
    }
    let stream = |made: u32| test::TestStream {
        connection: client::FIRST + made,
        id: test::id(made),
        index: made % params.parallel,
        sends: params.client_sends(made),
        ..test::TestStream::default()
    };
    let streams: Vec<test::TestStream> = (0..params.streams()).map(stream).collect();
    let cpu = command.affinity.map(|(cpu, _)| cpu);
    lower::plan(
        &params,
        &streams,
        &lower::LocalSettings { cpu, file: command.file.as_deref(), ..lower::LocalSettings::default() },
    )
}

/// What `uname -a` says, as far as it is known.
fn system(loader: &mut dyn Loader) -> String {
    let machine = loader.machine();
    let mut told = |path: &str| {
        let text = loader.read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_string());
        text.unwrap_or_default()
    };
    let version = told("/proc/sys/kernel/version");
    let architecture = told("/proc/sys/kernel/arch");
    let (name, release) = machine.kernel.split_once(' ').unwrap_or((machine.kernel.as_str(), ""));
    let words = [name, &machine.host, release, &version, &architecture];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn text_of(path: &str, loader: &mut dyn Loader) -> Result<String, String> {
    let bytes = loader.read(path).map_err(|why| format!("{path}: {why}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn padding(command: &Command) -> Padding {
    if command.pkcs1 { Padding::Pkcs1 } else { Padding::Oaep }
}

fn gate(
    command: &Command,
    entropy: [u8; 32],
    loader: &mut dyn Loader,
) -> Result<Option<Authenticator>, String> {
    let (Some(key), Some(users)) = (&command.private_key, &command.users) else { return Ok(None) };
    let key = auth::private_key(&text_of(key, loader)?).map_err(|why| format!("{key}: {why}"))?;
    let users = text_of(users, loader)?;
    Ok(Some(Authenticator::new(key, &users, command.skew_s, padding(command), RandomSource::new(entropy))))
}

fn badge(command: &Command, loader: &mut dyn Loader) -> Result<Option<Credentials>, String> {
    let (Some(user), Some(path)) = (&command.user, &command.public_key) else { return Ok(None) };
    let key = auth::public_key(&text_of(path, loader)?).map_err(|why| format!("{path}: {why}"))?;
    let password = loader.variable("IPERF3_PASSWORD").ok_or("the password is expected in IPERF3_PASSWORD")?;
    Ok(Some(Credentials { user: user.clone(), password, key, padding: padding(command) }))
}
