//! A mesh as a plan: each round is one phase of round trips and one of throughput; each flow is a job on the rank that
//! asks and one on the rank that answers.

use iodyno_model::{Job, Pattern, Phase, Pick, Plan, Ranks, Setting, Verb, WorkerKind, Workload, WorldFacts};

use super::rounds::RankPair;
use crate::conversation::endpoint;

/// What is measured.
#[derive(Clone, Debug)]
pub struct MeshSettings {
    /// Who sends to whom.
    pub rounds: Vec<Vec<RankPair>>,
    /// Time of each round's throughput, ns.
    pub time_ns: u64,
    /// Time of each round's round trips, ns; 0: none.
    pub latency_ns: u64,
    /// Sent at a time, bytes.
    pub block_bytes: u64,
    /// A request's and a response's size, bytes.
    pub message_bytes: u64,
    /// The first of the ports that are used.
    pub port: u32,
    /// How a host is addressed; `{host}` is its name.
    pub address: String,
    pub socket_options: Vec<(String, String)>,
}

/// What a phase of the plan measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshMeasure {
    RoundTrip,
    Throughput,
}

/// The phases in the plan's order: what each measures, and the flows in the order of their pairs of jobs.
pub type Outline = Vec<(MeshMeasure, Vec<RankPair>)>;

/// The plan, and what its phases are.
pub fn plan(settings: &MeshSettings, world: &WorldFacts) -> (Plan, Outline) {
    let mut plan = Plan { name: "net mesh".into(), seed: 1, ..Plan::default() };
    let mut outline = Outline::new();
    for (number, flows) in settings.rounds.iter().enumerate() {
        let kinds =
            [(MeshMeasure::RoundTrip, settings.latency_ns), (MeshMeasure::Throughput, settings.time_ns)];
        for (kind, time_ns) in kinds.into_iter().filter(|(_, time_ns)| *time_ns > 0) {
            let word = if kind == MeshMeasure::RoundTrip { "round trips" } else { "throughput" };
            let mut phase = Phase { name: format!("round {}, {word}", number + 1), ..Phase::default() };
            for flow in flows {
                let ends = [
                    end(&mut plan, settings, world, *flow, true),
                    end(&mut plan, settings, world, *flow, false),
                ];
                phase.jobs.extend(jobs(settings, kind, *flow, ends, time_ns));
            }
            plan.phases.push(phase);
            outline.push((kind, flows.clone()));
        }
    }
    (plan, outline)
}

/// One end of a flow as a target; the same one in every phase.
fn end(plan: &mut Plan, settings: &MeshSettings, world: &WorldFacts, flow: RankPair, listen: bool) -> usize {
    let side = if listen { "at" } else { "to" };
    let name = format!("{} to {}, {side} {}", flow.from, flow.to, flow.to);
    if let Some(known) = plan.targets.iter().position(|target| target.name == name) {
        return known;
    }
    let node = world.nodes.get(flow.to as usize).copied().unwrap_or(0);
    // Ranks of one machine share its ports.
    let before = world.nodes.iter().take(flow.to as usize).filter(|other| **other == node).count() as u32;
    let port = settings.port + before * world.ranks() + flow.from;
    let host = world.hosts.get(node as usize).map_or("localhost", String::as_str);
    let address = if listen { String::new() } else { settings.address.replace("{host}", host) };
    plan.targets.push(endpoint(&name, "tcp", format!("{address}:{port}"), listen));
    plan.targets.len() - 1
}

/// Who answers and who asks.
fn jobs(
    settings: &MeshSettings,
    kind: MeshMeasure,
    flow: RankPair,
    ends: [usize; 2],
    time_ns: u64,
) -> [Job; 2] {
    let job = |role: &str, rank: u32, target: usize, verb: Verb, bytes: u64| {
        let pattern = Pattern::of(verb, Pick::Sequential, bytes);
        let name = format!("{} to {}, {role}", flow.from, flow.to);
        let mut job = Job::new(&name, "socket", vec![target], Workload::Pattern(Box::new(pattern)));
        job.kind = WorkerKind::Threads;
        job.ranks = Ranks::Only(rank);
        job.settings =
            settings.socket_options.iter().map(|(name, value)| Setting::new(name, value)).collect();
        if kind == MeshMeasure::RoundTrip {
            let bytes = settings.message_bytes;
            job.settings.push(Setting::new("nodelay", "on"));
            job.settings.extend(["request_bytes", "response_bytes"].map(|name| Setting::new(name, bytes)));
            job.settings.extend((role == "answers").then(|| Setting::new("answers", "on")));
        }
        job
    };
    let (asks, answers, bytes) = match kind {
        MeshMeasure::RoundTrip => (Verb::Exchange, Verb::Exchange, settings.message_bytes),
        MeshMeasure::Throughput => (Verb::Send, Verb::Recv, settings.block_bytes),
    };
    let answering = job("answers", flow.to, ends[0], answers, bytes);
    let mut asking = job("asks", flow.from, ends[1], asks, bytes);
    asking.limit.time_ns = Some(time_ns);
    [answering, asking]
}
