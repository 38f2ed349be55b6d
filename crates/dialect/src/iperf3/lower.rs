//! What is run once the streams stand: a job for each of them, on the connection it was given.
//!
//! Who decides the end depends on the role: a client's jobs have a time or an amount, a server's go on until they are
//! told to stop, save for amounts that it sends itself.

use iodyno_model::{
    Content, Intent, Job, Limit, Pattern, Payload, Phase, Pick, Placement, Plan, Rate, Refresh, Setting,
    Stop, Verb, Workload,
};

use super::settings::{DATAGRAM_MOST, Params};
use super::test::TestStream;
use crate::conversation::{SocketOptions, endpoint};

const SECOND_NS: u64 = 1_000_000_000;
/// From this rate on datagrams go out several at a time, bits per second.
const TOGETHER_FROM: u64 = 1_000_000_000;
/// What a receiver of datagrams asks for.
const RECEIVE_BUFFER_BYTES: u64 = 4 << 20;

/// What is this side's own affair.
#[derive(Clone, Copy, Debug)]
pub struct LocalSettings<'a> {
    /// It serves.
    pub server: bool,
    /// The processor that it runs on.
    pub cpu: Option<u32>,
    /// What is sent, or what is written.
    pub file: Option<&'a str>,
    /// Of what is made up.
    pub seed: u64,
}

impl Default for LocalSettings<'_> {
    fn default() -> Self {
        LocalSettings { server: false, cpu: None, file: None, seed: 1 }
    }
}

/// The plan of some streams.
pub fn plan(params: &Params, streams: &[TestStream], own: &LocalSettings<'_>) -> Plan {
    let mut plan = Plan { name: "iperf3".into(), seed: own.seed, intent: Intent::Network, ..Plan::default() };
    let mut jobs = Vec::new();
    for stream in streams {
        let limit = limit(params, stream, own.server);
        // Less than nothing cannot be asked for: a stream without a share has no job.
        if limit.bytes == Some(0) {
            continue;
        }
        let connection = stream.connection.to_string();
        plan.targets.push(endpoint(&name(stream), "connection", connection, false));
        let mut job = job(params, stream, plan.targets.len() - 1);
        job.limit = limit;
        if let Some(path) = own.file {
            job.settings.retain(|setting| setting.name != "receive");
            job.settings.push(Setting::new(if stream.sends { "from" } else { "into" }, path));
        }
        job.placement = Placement { cpus: own.cpu.into_iter().collect(), ..Placement::default() };
        jobs.push(job);
    }
    plan.phases = vec![Phase { name: "test".into(), jobs, stop: Stop::Alone, ..Phase::default() }];
    plan
}

/// What its job is called.
pub fn name(stream: &TestStream) -> String {
    format!("stream {}", stream.id)
}

fn limit(params: &Params, stream: &TestStream, server: bool) -> Limit {
    let ramp_ns = params.omit_s * SECOND_NS;
    let share = params.share(stream.index);
    // What one stream receives is known; of several the sender decides which one gets how much.
    let knows = stream.sends || (!server && params.parallel == 1 && !params.udp && !params.bidir);
    let bytes = share.filter(|_| knows);
    let timed = !server && !params.is_counted() && params.time_s > 0;
    Limit { time_ns: timed.then_some(params.time_s * SECOND_NS), bytes, ramp_ns, ..Limit::default() }
}

fn job(params: &Params, stream: &TestStream, target: usize) -> Job {
    let verb = if stream.sends { Verb::Send } else { Verb::Recv };
    let pattern = Pattern::of(verb, Pick::Sequential, block_bytes(params, stream.sends));
    let mut job = Job::new(&name(stream), "socket", vec![target], Workload::Pattern(Box::new(pattern)));
    job.settings = settings(params, stream.sends);
    if stream.sends {
        let content = match params.repeating_payload {
            true => Content::Pattern(b"0123456789".to_vec()),
            false => Content::Random,
        };
        job.payload = Payload { content, refresh: Refresh::Once, ..Payload::default() };
        if params.rate > 0 {
            job.pace.rate_all = Rate::Bytes((params.rate / 8).max(1));
            job.pace.burst = params.burst;
        }
    }
    job
}

/// Bytes of an operation: of UDP at full speed as many datagrams as the kernel takes at a time.
fn block_bytes(params: &Params, sends: bool) -> u64 {
    let block = params.block_bytes.max(1);
    let together = params.udp && (params.rate == 0 || params.rate >= TOGETHER_FROM || !sends);
    // Exact numbers of datagrams are sent one by one only where they are few.
    if together { (DATAGRAM_MOST / block).clamp(1, 64) * block } else { block }
}

fn settings(params: &Params, sends: bool) -> Vec<Setting> {
    let mut settings = Vec::new();
    if params.udp {
        let stamp = if params.counters_64bit { "seconds_micros_u64" } else { "seconds_micros_u32" };
        settings.push(Setting::new("datagram_bytes", params.block_bytes));
        settings.push(Setting::new("stamp", stamp));
        if params.gsro {
            settings.push(Setting::new(if sends { "gso" } else { "gro" }, "on"));
        }
    }
    if sends && params.zerocopy && !params.udp {
        settings.push(Setting::new("method", "splice"));
    }
    if !sends && params.skip_rx_copy {
        settings.push(Setting::new("receive", "truncate"));
    }
    settings
}

/// The options of a stream's socket.
pub fn socket_options(params: &Params) -> Vec<(String, String)> {
    let mut options = SocketOptions::default();
    let over_zero = |number: u64| Some(number).filter(|number| *number > 0);
    if params.is_tcp() {
        options.switch([("nodelay", params.nodelay)]);
        options.set("mss", over_zero(params.mss.into()));
        options.set("congestion", Some(&params.congestion).filter(|name| !name.is_empty()));
    }
    options.set("window_bytes", over_zero(params.window));
    options.set("tos", over_zero(params.tos.into()));
    options.set("pacing_bps", over_zero(params.fq_rate).map(|rate| rate / 8));
    options.switch([("dont_fragment", params.dont_fragment && params.udp)]);
    options.0
}

/// Room for datagrams that come faster than they are read, where no window was asked for: what is lost for want of it
/// says nothing of the network.
pub fn room(params: &Params, sends: bool) -> Vec<(String, String)> {
    match params.udp && !sends && params.window == 0 {
        true => vec![("receive_buffer_bytes".into(), RECEIVE_BUFFER_BYTES.to_string())],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(sends: &[bool]) -> Vec<TestStream> {
        let stream = |(index, sends): (usize, &bool)| TestStream {
            connection: 10 + index as u32,
            id: index as u32 + 1,
            index: index as u32,
            sends: *sends,
            ..TestStream::default()
        };
        sends.iter().enumerate().map(stream).collect()
    }

    #[test]
    fn a_client_knows_when_it_ends() {
        let params = Params { time_s: 2, omit_s: 1, parallel: 2, block_bytes: 131_072, ..Params::default() };
        let plan = plan(
            &params,
            &streams(&[true, true]),
            &LocalSettings { cpu: Some(1), ..LocalSettings::default() },
        );
        let jobs = &plan.phases[0].jobs;
        assert_eq!((jobs.len(), jobs[1].name.as_str()), (2, "stream 2"));
        assert_eq!((jobs[0].limit.time_ns, jobs[0].limit.ramp_ns), (Some(2 * SECOND_NS), SECOND_NS));
        assert_eq!(jobs[0].placement.cpus, [1]);
        let server = super::plan(
            &params,
            &streams(&[false, false]),
            &LocalSettings { server: true, ..LocalSettings::default() },
        );
        assert_eq!(server.phases[0].jobs[0].limit.time_ns, None);
    }

    #[test]
    fn amounts_are_the_senders() {
        let params = Params { bytes: 1 << 20, parallel: 4, block_bytes: 131_072 * 4, ..Params::default() };
        let plan = plan(&params, &streams(&[true; 4]), &LocalSettings::default());
        // Two whole blocks: two streams have a share.
        assert_eq!(plan.phases[0].jobs.len(), 2);
        assert_eq!(plan.phases[0].jobs[0].limit.bytes, Some(131_072 * 4));
    }

    #[test]
    fn datagrams_go_together_where_nothing_holds_them_back() {
        let params = Params { udp: true, block_bytes: 1460, parallel: 1, ..Params::default() };
        assert_eq!(block_bytes(&params, true), 44 * 1460);
        assert_eq!(block_bytes(&Params { rate: 1 << 20, ..params.clone() }, true), 1460);
        assert_eq!(settings(&params, true)[1].value, "seconds_micros_u32");
    }
}
