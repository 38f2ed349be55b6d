//! `iodyno net mesh`: every link between the ranks of a world, by the plan that any other command runs.
//!
//! ```text
//!   options ─► rounds (who with whom, when) ─► plan ─► record ─► report: the matrix ─► verdict: what is slow
//! ```
//! Under a launcher the ranks are MPI's, and it needs no server and no protocol. With `--hosts` alone nothing but ssh is
//! needed: a netserver on each host, told in turn to call the others (`served`).

mod plan;
mod report;
mod rounds;
mod served;
mod verdict;

use clap::Parser;
use iodyno_model::{Diagnostic, Origin, WorldFacts, units};

use crate::hosts::Elsewhere;
use crate::native::{self, Manner, WorldArguments};
use crate::{Abroad, Converse, Loader, Request, Run};
use plan::MeshSettings;
use report::Matrix;
use rounds::MeshPattern;

const AFTER: &str = "With --hosts h1,h2,… a netserver is started on each host by your own ssh (IODYNO_SSH names another), and \
ends with the command. Under mpirun or srun, or with --launcher, the ranks of MPI do it; one rank a host is what is meant, \
and ports from --port on must be free. Each round measures the round trip first, then the throughput.";

/// Measures every link between the hosts of a run.
#[derive(Debug, Parser)]
#[command(
    name = "iodyno net mesh",
    about = "Every link between the hosts of a run, and which of them is slow",
    after_help = AFTER,
    disable_version_flag = true
)]
struct Options {
    /// Who sends to whom, and when
    #[arg(long, value_enum, default_value_t = MeshPattern::Pairs)]
    pattern: MeshPattern,
    /// Time of each round's throughput, e.g. 3s
    #[arg(long, value_name = "T", default_value = "3s", value_parser = units::parse_ns)]
    time: u64,
    /// Time of each round's round trips, e.g. 500ms; 0s: they are left out
    #[arg(long, value_name = "T", default_value = "1s", value_parser = units::parse_ns)]
    latency_time: u64,
    /// Sent at a time
    #[arg(long, value_name = "S", default_value = "128k", value_parser = units::parse_bytes)]
    block: u64,
    /// A request's and a response's size
    #[arg(long, value_name = "S", default_value = "64", value_parser = units::parse_bytes)]
    message: u64,
    /// The first of the ports that are used
    #[arg(long, value_name = "N", default_value_t = 5410)]
    port: u16,
    /// How hosts are addressed, e.g. '{host}-ib0'
    #[arg(long, value_name = "TEMPLATE", default_value = "{host}")]
    address: String,
    /// The rank that incast and outcast are about
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    rank: u32,
    /// Congestion control, e.g. cubic
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// The sockets' buffers
    #[arg(long, value_name = "S", value_parser = units::parse_bytes)]
    window: Option<u64>,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    world: WorldArguments,
}

/// From arguments to a request.
///
/// # Errors
/// What is wrong with them.
pub fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options: Options = match native::parsed("iodyno net mesh", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    if let Some(elsewhere) = options.world.elsewhere(loader)? {
        return match elsewhere.launcher {
            Some(_) => Ok(Request::Hosts(elsewhere)),
            None => abroad(&options, &elsewhere, loader).map_err(|wrong| vec![wrong]),
        };
    }
    let world = loader.world();
    let settings = settings(&options, &world).map_err(|wrong| vec![wrong])?;
    let (mut plan, outline) = plan::plan(&settings, &world);
    options.manner.apply(&mut plan).map_err(|wrong| vec![wrong])?;
    let title = format!(
        "net mesh: {} ranks on {} host{}, {} rounds of {}",
        world.ranks(),
        world.machines(),
        if world.machines() == 1 { "" } else { "s" },
        settings.rounds.len(),
        units::duration((settings.time_ns + settings.latency_ns) as f64)
    );
    let reporter = Matrix {
        outline,
        names: names(&world),
        title,
        paint: loader.paint(),
        details: options.manner.details,
    };
    let mut run = native::request(plan, Box::new(reporter));
    options.manner.join(&mut run);
    Ok(Request::Run(Box::new(run)))
}

/// Over a netserver on each host.
fn abroad(options: &Options, elsewhere: &Elsewhere, loader: &mut dyn Loader) -> Result<Request, Diagnostic> {
    let wrong = |what: String| Diagnostic::error(&Origin::argument("--hosts"), what);
    if let Some(host) = elsewhere.hosts.iter().find(|host| host.slots > 1) {
        return Err(wrong(format!("{}:{}: one netserver a host is enough", host.name, host.slots))
            .hint("leave the number out, or say --launcher mpirun for ranks"));
    }
    if !options.manner.export.clone().files().is_empty() {
        return Err(wrong("what other hosts measure is told as text only".into())
            .hint("say --launcher mpirun, whose ranks make one record of all hosts"));
    }
    let settings = settings(options, &elsewhere.world())?;
    let chance = loader.entropy().map_err(|reason| wrong(format!("no word can be made: {reason}")))?;
    let word: String = chance.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let names: Vec<String> = elsewhere.hosts.iter().map(|host| host.name.clone()).collect();
    let at = |name: &String| options.address.replace("{host}", name);
    let addresses: Vec<String> = names.iter().map(at).collect();
    let title = format!(
        "net mesh: {} hosts, {} rounds of {}, by a netserver on each",
        names.len(),
        settings.rounds.len(),
        units::duration((settings.time_ns + settings.latency_ns) as f64)
    );
    let matrix = Matrix {
        outline: Vec::new(),
        names: names.clone(),
        title,
        paint: loader.paint(),
        details: options.manner.details,
    };
    let secret = word.clone();
    let then = move |ports: &[u16]| {
        let servers = addresses.iter().cloned().zip(ports.iter().copied()).collect();
        let conversation = served::ServedMesh::new(settings, servers, secret, matrix);
        let mut run =
            Run::of_conversation(iodyno_model::Plan { name: "net mesh".into(), ..Default::default() });
        run.keep.wanted = Some(false);
        Converse::new(conversation, run)
    };
    let arguments = ["net", "serve"].map(String::from).into();
    Ok(Request::Abroad(Box::new(Abroad {
        hosts: names,
        arguments,
        input: word + "\n",
        then: Box::new(then),
    })))
}

fn settings(options: &Options, world: &WorldFacts) -> Result<MeshSettings, Diagnostic> {
    let ranks = world.ranks();
    let wrong = |option: &str, what: String| Diagnostic::error(&Origin::argument(option), what);
    if ranks < 2 {
        return Err(wrong("mesh", "one rank has no link to another".into())
            .hint("start it with --hosts h1,h2,…, or under mpirun with a rank on each host"));
    }
    if options.rank >= ranks {
        return Err(wrong("--rank", format!("there are ranks 0 to {}", ranks - 1)));
    }
    if options.time == 0 {
        return Err(wrong("--time", "nothing is measured in no time".into()).hint("say 3s"));
    }
    // Each receiver has a port for each sender.
    let most = (0..world.hosts.len() as u32)
        .map(|node| world.nodes.iter().filter(|other| **other == node).count() as u32)
        .max()
        .unwrap_or(1);
    let last = u32::from(options.port) + most * ranks;
    if options.port == 0 || last > u32::from(u16::MAX) {
        return Err(wrong("--port", format!("ports to {last} would be needed")).hint("say a smaller one"));
    }
    let mut socket_options = Vec::new();
    socket_options.extend(options.congestion.iter().map(|name| ("congestion".to_string(), name.clone())));
    socket_options.extend(options.window.iter().map(|bytes| ("window_bytes".to_string(), bytes.to_string())));
    Ok(MeshSettings {
        rounds: rounds::rounds(options.pattern, ranks, options.rank),
        time_ns: options.time,
        latency_ns: options.latency_time,
        block_bytes: options.block.max(1),
        message_bytes: options.message.max(1),
        port: u32::from(options.port),
        address: options.address.clone(),
        socket_options,
    })
}

/// A name for each rank: its host, with its number where a host has several.
fn names(world: &WorldFacts) -> Vec<String> {
    let host = |node: u32| world.hosts.get(node as usize).map_or("?", String::as_str);
    let shared = |node: u32| world.nodes.iter().filter(|other| **other == node).count() > 1;
    let name = |(rank, node): (usize, &u32)| match shared(*node) {
        true => format!("{}:{rank}", host(*node)),
        false => host(*node).to_string(),
    };
    world.nodes.iter().enumerate().map(name).collect()
}
