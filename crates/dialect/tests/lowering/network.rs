//! iperf3 in both directions at once, and netperf with several requests in flight.

use iodyno_model::{
    Depth, Intent, Job, Limit, Pattern, Pick, Plan, Setting, Size, Target, TargetKind, Verb, Workload,
};

use super::{golden, phase, plan, target};

fn peer(transport: &str, address: &str) -> Target {
    let kind = TargetKind::Endpoint { transport: transport.into(), address: address.into(), listen: false };
    target(address, kind)
}

fn network(plan: Plan) -> Plan {
    Plan { intent: Intent::Network, ..plan }
}

#[test]
fn golden_both_directions_with_an_unmeasured_start() {
    let stream = |name: &str, verb| {
        let pattern = Pattern::of(verb, Pick::Stream, 128 << 10);
        Job {
            workers: 2,
            settings: vec![Setting::new("nodelay", true), Setting::new("congestion", "cubic")],
            limit: Limit { time_ns: Some(10_000_000_000), ramp_ns: 2_000_000_000, ..Limit::default() },
            ..Job::new(name, "socket", vec![0], Workload::Pattern(Box::new(pattern)))
        }
    };
    let jobs = vec![stream("TX", Verb::Send), stream("RX", Verb::Recv)];
    let plan = plan("iperf3", 1, vec![peer("tcp", "127.0.0.1:5201")], vec![phase("test", jobs)]);
    golden("iperf3-bidir-omit", "iperf3 -c 127.0.0.1 --bidir -P 2 -O 2 -t 10 -N -C cubic", &network(plan));
}

#[test]
fn golden_a_burst_of_requests() {
    let mut pattern = Pattern::of(Verb::Exchange, Pick::Stream, 64);
    pattern.size.read = Size::Fixed(1024);
    let job = Job {
        depth: Depth { most: 17, ..Depth::default() },
        settings: vec![Setting::new("nodelay", true)],
        limit: Limit { time_ns: Some(10_000_000_000), ..Limit::default() },
        ..Job::new("TCP_RR", "socket", vec![0], Workload::Pattern(Box::new(pattern)))
    };
    let plan = plan("netperf", 1, vec![peer("tcp", "127.0.0.1:40001")], vec![phase("TCP_RR", vec![job])]);
    golden("netperf-burst", "netperf -H 127.0.0.1 -t TCP_RR -l 10 -- -r 64,1024 -b 16 -D", &network(plan));
}
