//! `iodyno net relay`: a bad path between two who need not know: delay, jitter, loss, overtaking, duplicates, a rate.
//!
//! For tests and demonstrations where the kernel has no netem. What happens to a packet follows from the seed, so that a
//! run can be had again. Delays are kept to about a millisecond. It listens on the loop unless told otherwise.

mod forwarding;
pub mod path;

use clap::Parser;
use iodyno_model::{Diagnostic, Origin, Plan, units};

use super::bits;
use crate::native;
use crate::{Converse, Keep, Loader, Request, Run};
pub use forwarding::{Relay, RelaySettings};
use path::Impairment;

const AFTER: &str = "Example: iodyno net relay --listen 127.0.0.1:5301 --to 127.0.0.1:5201 --delay 10ms --loss 1% --seed 1\n\
Losses, duplicates and overtaking concern datagrams; streams are delayed and slowed.";

/// A bad path between two hosts.
#[derive(Debug, Parser)]
#[command(
    name = "iodyno net relay",
    about = "A bad path between two hosts: delay, jitter, loss, overtaking, duplicates, a rate; by a seed",
    after_help = AFTER,
    disable_version_flag = true
)]
struct Options {
    /// Where it listens, HOST:PORT
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: String,
    /// Whom it passes on to, HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    to: String,
    /// Streams only
    #[arg(long, conflicts_with = "udp")]
    tcp: bool,
    /// Datagrams only
    #[arg(long)]
    udp: bool,
    /// Every packet takes so long, each way, e.g. 10ms
    #[arg(long, value_name = "T", default_value = "0s", value_parser = units::parse_ns)]
    delay: u64,
    /// More or less by at most this
    #[arg(long, value_name = "T", default_value = "0s", value_parser = units::parse_ns)]
    jitter: u64,
    /// Share of datagrams that do not arrive, e.g. 1%
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    loss: f64,
    /// Share of datagrams that arrive twice
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    duplicate: f64,
    /// Share of datagrams that are not delayed, and so overtake
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    reorder: f64,
    /// Bits per second, e.g. 10m; 0: any
    #[arg(long, value_name = "N[kmg]", default_value = "0", value_parser = bits)]
    rate: f64,
    /// What waits for the rate at most; more is lost
    #[arg(long, value_name = "S", default_value = "256k", value_parser = units::parse_bytes)]
    queue: u64,
    /// What is drawn follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// For how long, e.g. 60s; 0s: until it is interrupted
    #[arg(long, value_name = "T", default_value = "0s", value_parser = units::parse_ns)]
    time: u64,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 =
        text.trim_end_matches('%').trim().parse().map_err(|_| "expected a percentage".to_string())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("expected 0 to 100 percent".into()) }
}

/// From arguments to a request.
///
/// # Errors
/// What is wrong with them.
pub fn lower(arguments: &[String], _: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options: Options = match native::parsed("iodyno net relay", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    if options.jitter > options.delay {
        let wrong = Diagnostic::error(&Origin::argument("--jitter"), "nothing arrives before it was sent");
        return Err(vec![wrong.hint("say a --delay of at least the jitter")]);
    }
    let impairment = Impairment {
        delay_ns: options.delay,
        jitter_ns: options.jitter,
        loss_percent: options.loss,
        duplicate_percent: options.duplicate,
        reorder_percent: options.reorder,
        rate_bps: (options.rate / 8.0) as u64,
        queue_bytes: options.queue,
        seed: options.seed,
    };
    let settings = RelaySettings {
        listen: options.listen,
        to: options.to,
        tcp: !options.udp,
        udp: !options.tcp,
        impairment,
        time_ns: options.time,
    };
    Ok(Converse::new(Relay::new(settings), run()).into())
}

/// It runs no plan of its own.
fn run() -> Run {
    Run {
        keep: Keep { wanted: Some(false), ..Keep::default() },
        unwatched: true,
        findings: false,
        ..Run::of_conversation(Plan { name: "relay".into(), ..Plan::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_rates() {
        assert_eq!((percent("1%"), percent("0.5"), bits("10m")), (Ok(1.0), Ok(0.5), Ok(1e7)));
        assert!(percent("101").is_err() && percent("x").is_err() && bits("-1").is_err());
    }
}
