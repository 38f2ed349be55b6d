//! `iodyno net …`: what the network between the storage does, beyond what its originals measure.
//!
//! One word, and behind it commands of their own. Whatever talks to a peer talks a protocol that others speak, too.

pub mod advice;
pub mod check;
pub mod latency;
pub mod mesh;
pub mod relay;
mod serve;
mod snmp;
mod test_sequence;
mod watch;

use iodyno_model::{Diagnostic, Origin};

use crate::netperf::omni_client::ServerAddress;
use crate::{Dialect, Loader, Lower, Request};

/// The commands in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "net",
    about: "the network between hosts: latency under load, a card for a link, every link of a mesh",
    drop_in: false,
    also: &[],
    lower,
};

/// Each command, in a line, and who reads its arguments.
const COMMANDS: &[(&str, &str, Lower)] = &[
    (
        "check",
        "one card for a link: reachable, response, capacity, throughput, loss; also --every 1h",
        check::lower,
    ),
    ("latency", "round trips and connections to a host: idle, and under load", latency::lower),
    ("mesh", "every link between the hosts of a run, and which of them is slow", mesh::lower),
    ("serve", "a netserver for one command, which reads its word from standard input", serve::lower),
    ("watch", "the traffic of an interface, whoever sends it", watch::lower),
    ("relay", "a bad path between two hosts: delay, loss, a rate, by a seed", relay::lower),
];

fn help() -> String {
    let commands = COMMANDS.iter().map(|(name, about, _)| format!("  {name:<10}{about}\n"));
    let commands: String = commands.collect();
    format!(
        "Usage: iodyno net COMMAND …\n\n{commands}\niodyno net COMMAND --help lists the options of each.\n"
    )
}

fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let Some((word, rest)) = arguments.split_first() else {
        return Ok(Request::Print { out: help(), status: 2 });
    };
    if matches!(word.as_str(), "--help" | "-h" | "help") {
        return Ok(Request::Print { out: help(), status: 0 });
    }
    let names: Vec<_> = COMMANDS.iter().map(|(name, ..)| *name).collect();
    let wrong = || {
        Diagnostic::error(&Origin::argument(word), "no such command of net")
            .hint(format!("there is: {}", names.join(", ")))
    };
    let (_, _, lower) = COMMANDS.iter().find(|(name, ..)| name == word).ok_or_else(|| vec![wrong()])?;
    lower(rest, loader)
}

/// Where netserver is, as every command about one host takes it.
#[derive(Clone, Debug, clap::Args)]
struct ServerArguments {
    /// The host on which a netserver is, as HOST or HOST:PORT
    #[arg(value_name = "HOST")]
    host: String,
    /// netserver's port
    #[arg(long, short = 'p', value_name = "N")]
    port: Option<u16>,
    /// IPv4 only
    #[arg(short = '4', conflicts_with = "six")]
    four: bool,
    /// IPv6 only
    #[arg(short = '6')]
    six: bool,
    /// The word that netserver expects (its -Z)
    #[arg(long, value_name = "WORD")]
    word: Option<String>,
    /// Congestion control of our sockets, e.g. cubic
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
}

/// netserver's usual port.
const PORT: u16 = 12865;

impl ServerArguments {
    /// The server.
    ///
    /// # Errors
    /// What names no host or port.
    fn server(&self) -> Result<ServerAddress, Vec<Diagnostic>> {
        let (host, port) = host_and_port(&self.host).map_err(|what| {
            vec![
                Diagnostic::error(&Origin::argument(&self.host), what)
                    .hint("say HOST, HOST:PORT or [::1]:PORT"),
            ]
        })?;
        let socket_options = self.congestion.iter().map(|name| ("congestion".to_string(), name.clone()));
        Ok(ServerAddress {
            host,
            port: self.port.or(port).unwrap_or(PORT),
            family: if self.four {
                4
            } else if self.six {
                6
            } else {
                0
            },
            word: self.word.clone(),
            socket_options: socket_options.collect(),
        })
    }
}

/// `HOST`, `HOST:PORT`, `::1` or `[::1]:PORT`.
fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let bare = |host: &str| host.trim_start_matches('[').trim_end_matches(']').to_string();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => {
            let port = port.parse().ok().filter(|port| *port > 0);
            (bare(host), Some(port.ok_or("that is no port")?))
        }
        _ => (bare(text), None),
    };
    match host.is_empty() || host.starts_with('-') || host.chars().any(|letter| letter.is_whitespace()) {
        true => Err("that is no host".into()),
        false => Ok((host, port)),
    }
}

/// `10m`: bits a second.
fn bits(text: &str) -> Result<f64, String> {
    crate::iperf::number::amount(text).ok_or_else(|| "expected bits per second, e.g. 10m".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_may_say_their_port() {
        let of = |text: &str| host_and_port(text);
        assert_eq!(of("db1"), Ok(("db1".into(), None)));
        assert_eq!(of("10.0.0.1:77"), Ok(("10.0.0.1".into(), Some(77))));
        assert_eq!(of("::1"), Ok(("::1".into(), None)));
        assert_eq!(of("[::1]:77"), Ok(("::1".into(), Some(77))));
        for wrong in ["", ":1", "h:", "h:0", "h:x", "h:70000", "-x", "a b"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
