//! netperf's words as plans: the one place where both ends' flows become jobs.

use iodyno_model::conversation::Connection;
use iodyno_model::{
    Content, Depth, Intent, Job, Limit, Pace, Pattern, Payload, Phase, Pick, Placement, Plan, Rate, Refresh,
    Setting, Target, Verb, Workload,
};

use crate::conversation::endpoint;

/// What one end does with data.
#[derive(Clone, Debug, Default)]
pub(super) struct DataFlow {
    /// What reports call it.
    pub(super) name: String,
    pub(super) role: DataRole,
    pub(super) over: ConnectionUse,
    /// Bytes of a send, or of a receive at most.
    pub(super) block_bytes: u64,
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
    /// Requests under way.
    pub(super) depth: u32,
    /// ns; none: until the peer or the conversation ends it.
    pub(super) time_ns: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) operations: Option<u64>,
    /// Operations in a burst, and ns from one burst to the next.
    pub(super) pace: Option<(u32, u64)>,
    pub(super) fill: Option<Vec<u8>>,
    /// Buffers that hold it, one after the other.
    pub(super) blocks: u64,
    pub(super) sendfile: bool,
    /// When an answer over datagrams that does not come is given up.
    pub(super) patience_ms: Option<u64>,
    pub(super) processor: Option<u32>,
    /// Options of the sockets that the engine makes itself.
    pub(super) socket_options: Vec<(String, String)>,
}

/// What is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DataRole {
    /// Bytes go out.
    #[default]
    Sends,
    /// Bytes come in.
    Receives,
    /// Requests go out, responses come in.
    Asks,
    /// Requests come in, responses go out.
    Answers,
}

/// Over what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConnectionUse {
    /// A connection of the conversation, or a place of datagrams.
    Lent(Connection),
    /// A place of the conversation, at which each transaction brings a connection of its own.
    Taken(Connection),
    /// A new connection to an address for each transaction.
    Each(String),
    /// ICMP's echo requests to an address.
    Echoes(String),
}

impl Default for ConnectionUse {
    fn default() -> Self {
        ConnectionUse::Lent(0)
    }
}

pub(super) fn plan(flow: &DataFlow) -> Plan {
    let phase = Phase { name: flow.name.clone(), jobs: vec![job(flow, 0)], ..Phase::default() };
    Plan {
        name: "netperf".into(),
        seed: 1,
        intent: Intent::Network,
        targets: vec![target(flow)],
        phases: vec![phase],
        ..Plan::default()
    }
}

/// What a flow goes over.
pub(super) fn target(flow: &DataFlow) -> Target {
    let (transport, address, listen) = match &flow.over {
        ConnectionUse::Lent(number) => ("connection", number.to_string(), false),
        ConnectionUse::Taken(number) => ("connection", number.to_string(), true),
        ConnectionUse::Each(address) => ("tcp", address.clone(), false),
        ConnectionUse::Echoes(address) => ("icmp", address.clone(), false),
    };
    endpoint(&flow.name, transport, address, listen)
}

/// Our part in a flow, on the target of that number.
pub(super) fn job(flow: &DataFlow, target: usize) -> Job {
    let exchanges = matches!(flow.role, DataRole::Asks | DataRole::Answers);
    let verb = match flow.role {
        DataRole::Sends => Verb::Send,
        DataRole::Receives => Verb::Recv,
        DataRole::Asks | DataRole::Answers => Verb::Exchange,
    };
    let block = if exchanges { flow.request_bytes.max(flow.response_bytes) } else { flow.block_bytes };
    let pattern = Pattern::of(verb, Pick::Stream, block.max(1));
    Job {
        settings: settings(flow),
        depth: Depth { most: flow.depth.max(1), ..Depth::default() },
        pace: pace(flow),
        limit: Limit {
            time_ns: flow.time_ns,
            bytes: flow.bytes,
            operations: flow.operations,
            ..Limit::default()
        },
        payload: payload(flow),
        placement: Placement { cpus: flow.processor.into_iter().collect(), ..Placement::default() },
        ..Job::new(&flow.name, "socket", vec![target], Workload::Pattern(Box::new(pattern)))
    }
}

fn settings(flow: &DataFlow) -> Vec<Setting> {
    let mut settings = Vec::new();
    if matches!(flow.role, DataRole::Asks | DataRole::Answers) {
        settings.push(Setting::new("request_bytes", flow.request_bytes));
        settings.push(Setting::new("response_bytes", flow.response_bytes));
    }
    if flow.role == DataRole::Answers {
        settings.push(Setting::new("answers", "on"));
    }
    match flow.over {
        ConnectionUse::Taken(_) => settings.push(Setting::new("accept_each", "on")),
        ConnectionUse::Each(_) => settings.push(Setting::new("connect_each", "on")),
        ConnectionUse::Lent(_) | ConnectionUse::Echoes(_) => {}
    }
    if flow.blocks > 1 && flow.role == DataRole::Sends {
        settings.push(Setting::new("blocks", flow.blocks));
    }
    if flow.sendfile {
        settings.push(Setting::new("method", "sendfile"));
    }
    if let Some(patience) = flow.patience_ms {
        settings.push(Setting::new("response_timeout_ms", patience));
    }
    settings.extend(flow.socket_options.iter().map(|(name, value)| Setting::new(name, value)));
    settings
}

fn pace(flow: &DataFlow) -> Pace {
    match flow.pace {
        Some((burst, every_ns)) if every_ns > 0 => Pace {
            rate_all: Rate::Operations(f64::from(burst) * 1e9 / every_ns as f64),
            burst,
            ..Pace::default()
        },
        _ => Pace::default(),
    }
}

fn payload(flow: &DataFlow) -> Payload {
    let content = flow.fill.clone().map_or(Content::Random, Content::Pattern);
    Payload { content, refresh: Refresh::Once, ..Payload::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_requests_is_a_depth() {
        let flow = DataFlow {
            name: "TCP_RR".into(),
            role: DataRole::Asks,
            over: ConnectionUse::Lent(2),
            request_bytes: 64,
            response_bytes: 1024,
            depth: 17,
            time_ns: Some(10_000_000_000),
            ..DataFlow::default()
        };
        let text = iodyno_report::plan::print(&plan(&flow));
        for word in ["connection", "exchange", "request_bytes", "1024", "17", "10 s"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}
