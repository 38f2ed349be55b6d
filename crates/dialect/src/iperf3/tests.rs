//! Conversations without sockets: both roles against each other, and against nonsense.
//!
//! The wire is a queue, runs are a sum: a byte each µs in every stream. No clock is read.

use std::collections::{BTreeMap, VecDeque};

use iodyno_model::conversation::{
    Action, Connection, Conversation, Ends, FIRST_ACCEPTED, Happening, Input, RunNumber, SocketFacts,
};
use iodyno_model::{Event, JobRecord, PhaseRecord, Plan, Record, Verb, WorkerRecord, Workload};

use super::auth::{self, Authenticator, Padding, RandomSource};
use super::client::{Credentials, Iperf3Client};
use super::command;
use super::server::Iperf3Server;
use super::state;

const MS: u64 = 1_000_000;
const PARAMS: &str = r#"{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":131072,
    "pacing_timer":1000,"client_version":"3.21"}"#;
const RESULTS: &str = r#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":0,"sender_has_retransmits":1,
    "streams":[{"id":1,"bytes":5,"retransmits":0,"jitter":0,"errors":0,"packets":0}]}"#;
const CLIENT: usize = 0;
const SERVER: usize = 1;

struct FakeRun {
    side: usize,
    run: RunNumber,
    plan: Plan,
    began_ns: u64,
    interim_ns: u64,
    next_ns: u64,
    stopped: bool,
}

impl FakeRun {
    /// When it ends by itself: when every job has.
    fn end_ns(&self) -> Option<u64> {
        let job = |job: &iodyno_model::Job| {
            let ramp = job.limit.ramp_ns;
            let time = job.limit.time_ns.map(|ns| ns + ramp);
            job.limit.bytes.map(|bytes| bytes * 1000 + ramp).into_iter().chain(time).min()
        };
        let ends: Option<Vec<u64>> = self.plan.phases[0].jobs.iter().map(job).collect();
        ends.and_then(|ends| ends.into_iter().max()).map(|end| self.began_ns + end)
    }

    fn phase(&self, at_ns: u64, cap: Option<u64>) -> PhaseRecord {
        let elapsed_ns = at_ns - self.began_ns;
        let record = |job: &iodyno_model::Job| {
            let Workload::Pattern(pattern) = &job.workload else { panic!("a pattern") };
            let sends = pattern.mix.shares[0].verb == Verb::Send;
            let most = job.limit.bytes.or(cap.filter(|_| !sends)).unwrap_or(u64::MAX);
            let bytes = |ns: u64| (ns / 1000).min(most.saturating_add(job.limit.ramp_ns / 1000));
            let ramp = bytes(elapsed_ns.min(job.limit.ramp_ns));
            let facts = [
                ("bytes", bytes(elapsed_ns)),
                ("ramp_bytes", ramp),
                ("datagrams", bytes(elapsed_ns) / 1000),
                ("ramp_datagrams", ramp / 1000),
                ("highest", bytes(elapsed_ns) / 1000),
                ("ramp_highest", ramp / 1000),
                ("jitter_ns", 5000),
            ];
            let worker = WorkerRecord {
                facts: facts.map(|(name, value)| (name.to_string(), value)).to_vec(),
                ended_ns: self.end_ns().map_or(elapsed_ns, |end| elapsed_ns.min(end - self.began_ns)),
                user_ns: elapsed_ns / 10,
                ..WorkerRecord::default()
            };
            JobRecord { name: job.name.clone(), workers: vec![worker], ..JobRecord::default() }
        };
        let jobs = self.plan.phases[0].jobs.iter().map(record).collect();
        PhaseRecord { name: "test".into(), elapsed_ns, jobs, ..PhaseRecord::default() }
    }
}

/// One or two sides and the wire between them.
struct World {
    sides: [Box<dyn Conversation>; 2],
    printed: [String; 2],
    complained: [String; 2],
    status: [Option<u8>; 2],
    wakes: [Option<u64>; 2],
    queue: VecDeque<(usize, Input)>,
    links: BTreeMap<(usize, Connection), (usize, Connection)>,
    /// Datagram sockets of the client that nobody answered yet.
    loose: BTreeMap<Connection, String>,
    runs: Vec<FakeRun>,
    accepted: u32,
    now_ns: u64,
    /// What a receiver sees at most of each stream.
    cap: Option<u64>,
    lost_hellos: u32,
}

fn ends(near: u16, far: u16, descriptor: i32) -> Ends {
    let socket =
        SocketFacts { descriptor, mss: 32_768, congestion: "cubic".into(), ..SocketFacts::default() };
    Ends { local: format!("127.0.0.1:{near}"), peer: format!("127.0.0.1:{far}"), socket }
}

fn command(line: &str) -> command::Command {
    command::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>()).unwrap()
}

fn client(line: &str) -> Iperf3Client {
    Iperf3Client::new(command(line), "Linux here".into(), None, [3; 32], 0)
}

fn server(line: &str) -> Iperf3Server {
    Iperf3Server::new(command(line), "Linux here".into(), None, 1, 0)
}

impl World {
    fn new(client: Iperf3Client, server: Iperf3Server) -> World {
        World {
            sides: [Box::new(client), Box::new(server)],
            printed: Default::default(),
            complained: Default::default(),
            status: [None, None],
            wakes: [None, None],
            queue: [(SERVER, Input::Began), (CLIENT, Input::Began)].into(),
            links: BTreeMap::new(),
            loose: BTreeMap::new(),
            runs: Vec::new(),
            accepted: 0,
            now_ns: 0,
            cap: None,
            lost_hellos: 0,
        }
    }

    /// Until both have ended, or nothing more happens.
    fn go(mut self) -> World {
        for _ in 0..100_000 {
            while let Some((side, input)) = self.queue.pop_front() {
                if self.status[side].is_none() {
                    let happening = Happening {
                        at_ns: self.now_ns,
                        unix_ns: 1_795_287_537_110_000_000 + self.now_ns,
                        input,
                    };
                    for action in self.sides[side].step(happening) {
                        self.act(side, action);
                    }
                }
            }
            if self.status.iter().all(Option::is_some) || !self.pass() {
                return self;
            }
        }
        panic!("it goes on for ever");
    }

    fn act(&mut self, side: usize, action: Action) {
        match action {
            Action::Print(text) => self.printed[side].push_str(&text),
            Action::Complain(text) => self.complained[side].push_str(&text),
            Action::Write { .. } | Action::Remove(_) | Action::Command(_) => {
                unreachable!("it touches nothing beside its connections")
            }
            Action::End(status) => self.status[side] = Some(status),
            Action::Wake(at_ns) => self.wakes[side] = Some(at_ns),
            Action::Listen { place, .. } => {
                self.queue.push_back((side, Input::Ready(place, ends(5201, 0, 3))))
            }
            Action::Connect { connection, transport, .. } => self.connect(connection, &transport),
            Action::Answer { connection, to, .. } => {
                let (far, _) =
                    self.loose.iter().find(|(_, from)| **from == to).map(|(c, f)| (*c, f.clone())).unwrap();
                self.loose.remove(&far);
                self.link((CLIENT, far), (SERVER, connection));
                let port = to.rsplit_once(':').unwrap().1.parse().unwrap();
                self.queue.push_back((SERVER, Input::Ready(connection, ends(5201, port, 7))));
            }
            Action::Send(connection, bytes) => self.send(side, connection, bytes),
            Action::Close(connection) => {
                if let Some((other, number)) = self.links.remove(&(side, connection)) {
                    self.links.remove(&(other, number));
                    self.queue.push_back((other, Input::Closed(number)));
                }
            }
            Action::Run { run, plan, interim_ns } => {
                let began = Event::PhaseStarted {
                    index: 0,
                    count: 1,
                    name: "test".into(),
                    repetition: 0,
                    coordinates: Vec::new(),
                };
                self.queue.push_back((side, Input::Told(run, Box::new(began))));
                let next_ns = self.now_ns + interim_ns;
                self.runs.push(FakeRun {
                    side,
                    run,
                    plan: *plan,
                    began_ns: self.now_ns,
                    interim_ns,
                    next_ns,
                    stopped: false,
                });
            }
            Action::Stop(run) => {
                self.runs
                    .iter_mut()
                    .filter(|known| known.side == side && known.run == run)
                    .for_each(|run| run.stopped = true);
            }
            Action::Set(..) | Action::Read { .. } | Action::Shut(_) | Action::Peer(..) => {}
        }
    }

    fn link(&mut self, one: (usize, Connection), other: (usize, Connection)) {
        self.links.insert(one, other);
        self.links.insert(other, one);
    }

    fn connect(&mut self, connection: Connection, transport: &str) {
        let near = 40_000 + connection as u16;
        let there = ends(near, 5201, connection as i32 + 3);
        self.queue.push_back((CLIENT, Input::Ready(connection, there)));
        if transport.starts_with("udp") {
            self.loose.insert(connection, format!("127.0.0.1:{near}"));
            return;
        }
        let accepted = FIRST_ACCEPTED + self.accepted;
        self.accepted += 1;
        self.link((CLIENT, connection), (SERVER, accepted));
        let here = ends(5201, near, 5 + self.accepted as i32);
        self.queue.push_back((SERVER, Input::Accepted { at: 1, connection: accepted, ends: here }));
    }

    fn send(&mut self, side: usize, connection: Connection, bytes: Vec<u8>) {
        if let Some((other, number)) = self.links.get(&(side, connection)) {
            self.queue.push_back((*other, Input::Bytes(*number, bytes)));
        } else if let Some(from) = self.loose.get(&connection).filter(|_| side == CLIENT) {
            if self.lost_hellos > 0 {
                self.lost_hellos -= 1;
                return;
            }
            self.queue.push_back((SERVER, Input::Datagram { at: 2, from: from.clone(), bytes }));
        }
    }

    /// Lets time pass until something happens; whether something does.
    fn pass(&mut self) -> bool {
        let stopped = self.runs.iter().any(|run| run.stopped);
        let ends = self.runs.iter().filter_map(FakeRun::end_ns);
        let interims = self.runs.iter().filter(|run| run.interim_ns > 0).map(|run| run.next_ns);
        let wakes = self
            .wakes
            .iter()
            .zip(&self.status)
            .filter(|(_, status)| status.is_none())
            .filter_map(|(wake, _)| *wake);
        let Some(next_ns) = ends.chain(interims).chain(wakes).min() else {
            return stopped && self.reap();
        };
        if !stopped {
            self.now_ns = self.now_ns.max(next_ns);
        }
        if self.now_ns > 3600 * 1000 * MS {
            return false;
        }
        self.reap();
        for side in [CLIENT, SERVER] {
            if self.wakes[side].is_some_and(|at| at <= self.now_ns) {
                self.wakes[side] = None;
                self.queue.push_back((side, Input::Tick));
            }
        }
        let (now_ns, cap) = (self.now_ns, self.cap);
        for run in self.runs.iter_mut().filter(|run| run.interim_ns > 0 && run.next_ns <= now_ns) {
            run.next_ns += run.interim_ns;
            let told = Event::Interim(Box::new(run.phase(now_ns, cap)));
            self.queue.push_back((run.side, Input::Told(run.run, Box::new(told))));
        }
        true
    }

    /// Runs that are over.
    fn reap(&mut self) -> bool {
        let now_ns = self.now_ns;
        let is_over = |run: &FakeRun| run.stopped || run.end_ns().is_some_and(|end| end <= now_ns);
        let (over, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.runs).into_iter().partition(is_over);
        self.runs = left;
        let any = !over.is_empty();
        for run in over {
            let record = Record { phases: vec![run.phase(now_ns, self.cap)], ..Record::default() };
            self.queue.push_back((run.side, Input::Ended(run.run, Box::new(record))));
        }
        any
    }
}

fn both(client_line: &str, server_line: &str) -> World {
    World::new(client(client_line), server(server_line)).go()
}

#[test]
fn every_kind_of_test_comes_to_its_end() {
    for protocol in ["", "-u -b 10M -l 1000"] {
        for way in ["", "-R", "--bidir"] {
            for streams in ["-P 1", "-P 4", "-P 128"] {
                for more in [
                    "-t 2",
                    "-t 2 -O 1",
                    "-n 300K",
                    "-k 7 -l 10K",
                    "-t 1 -i 0 -J",
                    "-t 1 --get-server-output -V",
                    "-t 1 --json-stream",
                ] {
                    let line = format!("-c h {protocol} {way} {streams} {more}");
                    let mut world = World::new(client(&line), server("-s -1"));
                    let params = command(&line).test;
                    let shares = super::settings::Params {
                        block_bytes: params.block_bytes.max(if params.udp { 1000 } else { 131_072 }),
                        ..params
                    };
                    world.cap = shares.whole_bytes().map(|whole| whole.div_ceil(shares.parallel.into()));
                    let world = world.go();
                    let said = format!("{line}\n{}\n{:?}", world.printed[CLIENT], world.complained);
                    assert_eq!(world.status, [Some(0), Some(0)], "{said}");
                    assert_eq!(world.complained, ["", ""], "{said}");
                    let is_text = !line.contains("json") && !line.contains("-J");
                    assert_eq!(is_text, world.printed[CLIENT].ends_with("\niperf Done.\n"), "{said}");
                    assert!(
                        !line.contains("get-server")
                            || world.printed[CLIENT].contains("Server output:\nAccepted")
                            || line.contains("-V"),
                        "{said}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_client_prints_what_the_original_prints() {
    let world = both("-c h -t 2", "-s -1");
    let expected = "\
Connecting to host h, port 5201
[  5] local 127.0.0.1 port 40002 connected to 127.0.0.1 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   977 KBytes  8.00 Mbits/sec    0             
[  5]   1.00-2.00   sec   977 KBytes  8.00 Mbits/sec    0             
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  1.91 MBytes  8.00 Mbits/sec    0            sender
[  5]   0.00-2.00   sec  1.91 MBytes  8.00 Mbits/sec                  receiver

iperf Done.
";
    assert_eq!(world.printed[CLIENT], expected);
    let expected = "\
-----------------------------------------------------------
Server listening on 5201 (test #1)
-----------------------------------------------------------
Accepted connection from 127.0.0.1, port 40001
[  7] local 127.0.0.1 port 5201 connected to 127.0.0.1 port 40002
[ ID] Interval           Transfer     Bitrate
[  7]   0.00-1.00   sec   977 KBytes  8.00 Mbits/sec                  
[  7]   1.00-2.00   sec   977 KBytes  8.00 Mbits/sec                  
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate
[  7]   0.00-2.00   sec  1.91 MBytes  8.00 Mbits/sec                  receiver
";
    assert_eq!(world.printed[SERVER], expected);
}

#[test]
fn a_document_has_what_readers_look_for() {
    let world = both("-c h -t 2 -J -P 2 --get-server-output", "-s -1");
    let document: serde_json::Value = serde_json::from_str(&world.printed[CLIENT]).unwrap();
    assert_eq!(document["start"]["test_start"]["protocol"], "TCP");
    assert_eq!(document["intervals"].as_array().unwrap().len(), 2);
    assert_eq!(document["end"]["sum_sent"]["bytes"], 4_000_000);
    assert_eq!(document["end"]["sum_received"]["sender"], true);
    assert!(document["server_output_text"].as_str().unwrap().contains("receiver"));
    let world = both("-c h -t 1 -J -u -l 1000 --get-server-output", "-s -1 -J");
    let document: serde_json::Value = serde_json::from_str(&world.printed[CLIENT]).unwrap();
    assert_eq!(document["end"]["sum"]["packets"], 1000);
    assert_eq!(document["server_output_json"]["start"]["accepted_connection"]["port"], 40_001);
    let server: serde_json::Value = serde_json::from_str(&world.printed[SERVER]).unwrap();
    assert_eq!(server["end"]["streams"][0]["udp"]["sender"], false);
}

#[test]
fn a_server_writes_the_originals_fields_in_its_order() {
    // As 3.12's server was seen to write them.
    let start = |client: &str| {
        let world = both(client, "-s -1 -J");
        let text = world.printed[SERVER].clone();
        let names = text.lines().filter_map(|line| line.strip_prefix("\t\t\"")?.split('"').next());
        let names: Vec<String> = names.map(String::from).collect();
        let last = names.iter().position(|name| name == "test_start").unwrap();
        (names[..last].join(" "), text)
    };
    let (tcp, text) = start("-c h -t 1 -T night");
    assert_eq!(
        tcp,
        "connected version system_info sock_bufsize sndbuf_actual rcvbuf_actual timestamp accepted_connection cookie \
         tcp_mss_default target_bitrate fq_rate"
    );
    assert!(text.ends_with("\t\"title\":\t\"night\"\n}\n"), "{text}");
    // It writes its end before it has heard what the client sent.
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let end = &document["end"];
    assert_eq!((&end["sum_sent"]["bytes"], end["sum_sent"].get("retransmits")), (&0.into(), None));
    assert_eq!(end.get("sender_tcp_congestion"), None);
    assert_eq!(
        (&end["receiver_tcp_congestion"], &end["sum_received"]["bytes"]),
        (&"cubic".into(), &1_000_000.into())
    );
    assert_eq!(
        start("-c h -t 1 -u").0,
        "connected version system_info target_bitrate timestamp accepted_connection cookie fq_rate sock_bufsize \
         sndbuf_actual rcvbuf_actual"
    );
    let world = both("-c h -t 1 -J -T night --extra-data x", "-s -1");
    assert!(world.printed[CLIENT].contains("\t\"title\":\t\"night\",\n\t\"extra_data\":\t\"x\"\n"));
}

#[test]
fn a_lost_hello_is_said_again() {
    let mut world = World::new(client("-c h -u -t 1"), server("-s -1"));
    world.lost_hellos = 3;
    let world = world.go();
    assert_eq!(world.status, [Some(0), Some(0)], "{:?}", world.complained);
}

#[test]
fn limits_are_kept() {
    let world = both("-c h -t 100", "-s -1 --server-max-duration 10");
    assert_eq!(world.status[CLIENT], Some(1));
    let error = "client's requested duration exceeds the server's maximum permitted limit";
    assert_eq!(
        world.complained[CLIENT],
        format!("iperf3: SERVER ERROR - {error}\niperf3: error - {error}\n")
    );
    let world = both("-c h -t 20 -b 10M", "-s -1 --server-bitrate-limit 5M");
    assert!(world.complained[CLIENT].contains("total required bandwidth"), "{:?}", world.complained);
    // A byte each µs is 8 Mbit/s.
    let world = both("-c h -t 20", "-s -1 --server-bitrate-limit 5M");
    assert!(world.complained[CLIENT].contains("total required bandwidth"), "{:?}", world.complained);
    assert!(world.now_ns < 10_000 * MS);
    let world = both("-c h -t 5", "-s -1 --server-bitrate-limit 20M");
    assert_eq!(world.status, [Some(0), Some(0)]);
}

#[test]
fn tokens_are_asked_for() {
    let key = auth::private_key(include_str!("testing/private.pem")).unwrap();
    let users = format!("ada,{}\n", auth::hash("ada", "x y"));
    let world = |password: &str, with: bool| {
        let gate = Authenticator::new(key.clone(), &users, 10, Padding::Oaep, RandomSource::new([5; 32]));
        let server = Iperf3Server::new(command("-s -1"), String::new(), Some(gate), 1, 0);
        let key = auth::public_key(include_str!("testing/public.pem")).unwrap();
        let badge =
            Credentials { user: "ada".into(), password: password.into(), key, padding: Padding::Oaep };
        let client =
            Iperf3Client::new(command("-c h -t 1"), String::new(), with.then_some(badge), [9; 32], 0);
        World::new(client, server).go()
    };
    assert_eq!(world("x y", true).status, [Some(0), Some(0)]);
    for world in [world("x", true), world("x y", false)] {
        assert_eq!(world.status[CLIENT], Some(1));
        assert!(world.complained[CLIENT].contains("test authorization failed"), "{:?}", world.complained);
    }
}

/// Steps a server by hand.
struct Alone {
    server: Iperf3Server,
    at_ns: u64,
}

impl Alone {
    fn new(line: &str) -> Alone {
        let mut alone = Alone { server: server(line), at_ns: 0 };
        alone.step(Input::Began);
        alone.step(Input::Ready(1, ends(5201, 0, 3)));
        alone
    }

    fn step(&mut self, input: Input) -> Vec<Action> {
        self.at_ns += 1000;
        self.server.step(Happening { at_ns: self.at_ns, unix_ns: self.at_ns, input })
    }

    fn accept(&mut self, number: u32) -> Connection {
        let connection = FIRST_ACCEPTED + number;
        self.step(Input::Accepted { at: 1, connection, ends: ends(5201, 1000 + number as u16, 9) });
        connection
    }
}

fn cookie(number: u32) -> Vec<u8> {
    let mut cookie = format!("{number:a>36}").into_bytes();
    cookie.push(0);
    cookie
}

fn sends(actions: &[Action], expected: &[u8]) -> bool {
    actions.iter().any(|action| matches!(action, Action::Send(_, bytes) if bytes == expected))
}

#[test]
fn many_are_served_and_too_many_are_not() {
    let mut alone = Alone::new("-s");
    for number in 0..8 {
        let connection = alone.accept(number);
        assert!(sends(&alone.step(Input::Bytes(connection, cookie(number))), &[state::PARAM_EXCHANGE]));
    }
    let ninth = alone.accept(8);
    assert!(sends(&alone.step(Input::Bytes(ninth, cookie(8))), &[state::ACCESS_DENIED]));
    let mut one_off = Alone::new("-s -1");
    let first = one_off.accept(0);
    one_off.step(Input::Bytes(first, cookie(0)));
    let second = one_off.accept(1);
    assert!(sends(&one_off.step(Input::Bytes(second, cookie(1))), &[state::ACCESS_DENIED]));
}

#[test]
fn silent_strangers_are_left() {
    let mut alone = Alone::new("-s");
    let connection = alone.accept(0);
    alone.step(Input::Bytes(connection, cookie(0)[..20].to_vec()));
    alone.at_ns += 11_000 * MS;
    let actions = alone.step(Input::Tick);
    assert!(actions.iter().any(|action| matches!(action, Action::Close(closed) if *closed == connection)));
    // And a client that goes no further.
    let connection = alone.accept(1);
    alone.step(Input::Bytes(connection, cookie(1)));
    alone.at_ns += 31_000 * MS;
    let actions = alone.step(Input::Tick);
    assert!(actions.iter().any(|action| matches!(action, Action::Close(closed) if *closed == connection)));
}

#[test]
fn who_says_nothing_shuts_out_nobody() {
    let mut alone = Alone::new("-s");
    let closes = |actions: &[Action], connection| {
        actions.iter().any(|action| matches!(action, Action::Close(closed) if *closed == connection))
    };
    let mut accept = |number: u32, host: &str| {
        let connection = FIRST_ACCEPTED + number;
        let ends = Ends { peer: format!("{host}:{}", 1000 + number), ..ends(5201, 0, 9) };
        (connection, alone.step(Input::Accepted { at: 1, connection, ends }))
    };
    // One address has its share; its oldest gives way to its own.
    let first = accept(0, "10.0.0.1").0;
    (1..160).for_each(|number| assert!(!closes(&accept(number, "10.0.0.1").1, first)));
    assert!(closes(&accept(160, "10.0.0.1").1, first));
    // Others fill what is left; then the address that has most gives way to them.
    (161..257).for_each(|number| drop(accept(number, "10.0.0.2")));
    let (late, actions) = accept(257, "10.0.0.3");
    assert!(closes(&actions, FIRST_ACCEPTED + 1), "{actions:?}");
    assert!(sends(&alone.step(Input::Bytes(late, cookie(257))), &[state::PARAM_EXCHANGE]));
}

#[test]
fn who_wants_no_test_keeps_out_nobody() {
    let mut alone = Alone::new("-s");
    let comes = |alone: &mut Alone, number: u32, host: &str| {
        let connection = FIRST_ACCEPTED + number;
        let ends = Ends { peer: format!("{host}:{}", 1000 + number), ..ends(5201, 0, 9) };
        alone.step(Input::Accepted { at: 1, connection, ends });
        alone.step(Input::Bytes(connection, cookie(number)))
    };
    // Eight of one address say a name and no more.
    (0..8)
        .for_each(|number| assert!(sends(&comes(&mut alone, number, "10.0.0.1"), &[state::PARAM_EXCHANGE])));
    assert!(sends(&comes(&mut alone, 8, "10.0.0.1"), &[state::ACCESS_DENIED]));
    alone.at_ns += 3_000_000_000;
    let actions = comes(&mut alone, 9, "10.0.0.1");
    assert!(actions.iter().any(|action| matches!(action, Action::Close(FIRST_ACCEPTED))), "{actions:?}");
    assert!(sends(&actions, &[state::PARAM_EXCHANGE]), "{actions:?}");
    // Thirty-two of four addresses: a fifth is let in.
    for number in 10..35 {
        comes(&mut alone, number, &format!("10.0.0.{}", 2 + number / 8));
    }
    alone.at_ns += 3_000_000_000;
    assert!(sends(&comes(&mut alone, 40, "10.0.1.1"), &[state::PARAM_EXCHANGE]));
}

#[test]
fn hellos_nobody_waits_for_are_not_answered() {
    let mut alone = Alone::new("-s");
    let actions = alone.step(Input::Datagram { at: 2, from: "127.0.0.1:77".into(), bytes: b"9876".to_vec() });
    assert!(!actions.iter().any(|action| matches!(action, Action::Send(..) | Action::Answer { .. })));
}

/// A small generator: mangling needs no better one.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn mangle(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.roll(3) {
            let at = self.roll(bytes.len().max(1) as u64) as usize;
            match self.roll(4) {
                0 if !bytes.is_empty() => bytes[at] = self.roll(256) as u8,
                1 => bytes.truncate(at),
                2 => bytes.insert(at.min(bytes.len()), self.roll(256) as u8),
                _ => bytes.extend_from_within(..at.min(bytes.len())),
            }
        }
    }
}

#[test]
fn mangled_clients_do_no_harm() {
    let mut dice = Dice(7);
    let mut alone = Alone::new("-s");
    let params = state::message(PARAMS);
    let results = state::message(RESULTS);
    for turn in 0..4000u32 {
        let connection = alone.accept(turn * 2);
        alone.step(Input::Bytes(connection, cookie(turn)));
        let mut said = params.clone();
        if dice.roll(3) > 0 {
            dice.mangle(&mut said);
        }
        alone.step(Input::Bytes(connection, said));
        let stream = alone.accept(turn * 2 + 1);
        let mut name = cookie(turn);
        if dice.roll(4) == 0 {
            dice.mangle(&mut name);
        }
        let actions = alone.step(Input::Bytes(stream, name));
        let run = actions.iter().find_map(|action| match action {
            Action::Run { run, .. } => Some(*run),
            _ => None,
        });
        let mut said = vec![state::TEST_END];
        if dice.roll(2) == 0 {
            dice.mangle(&mut said);
        }
        alone.step(Input::Bytes(connection, said));
        if let Some(run) = run {
            let record = Record { phases: vec![PhaseRecord::default()], ..Record::default() };
            alone.step(Input::Ended(run, Box::new(record)));
        }
        let mut said = results.clone();
        dice.mangle(&mut said);
        alone.step(Input::Bytes(connection, said));
        alone.step(Input::Closed(connection));
        alone.step(Input::Closed(stream));
    }
    // Nobody is left behind, and one who behaves is served.
    alone.at_ns += 100_000 * MS;
    alone.step(Input::Tick);
    let connection = alone.accept(9000);
    assert!(sends(&alone.step(Input::Bytes(connection, cookie(9000))), &[state::PARAM_EXCHANGE]));
}

#[test]
fn mangled_servers_do_no_harm() {
    let mut dice = Dice(11);
    for turn in 0..3000 {
        let mut client = client(if turn % 2 == 0 { "-c h -t 1" } else { "-c h -u -t 1 -R -J" });
        let mut at_ns = 0;
        let mut step = |client: &mut Iperf3Client, input| {
            at_ns += MS;
            client.step(Happening { at_ns, unix_ns: at_ns, input })
        };
        step(&mut client, Input::Began);
        step(&mut client, Input::Ready(1, ends(1, 5201, 3)));
        for state in [state::PARAM_EXCHANGE, state::CREATE_STREAMS] {
            step(&mut client, Input::Bytes(1, vec![state]));
        }
        step(&mut client, Input::Ready(2, ends(2, 5201, 4)));
        step(&mut client, Input::Bytes(2, b"6789".to_vec()));
        let mut script = vec![state::TEST_START, state::TEST_RUNNING, state::EXCHANGE_RESULTS];
        script.extend(state::message(RESULTS));
        script.push(state::DISPLAY_RESULTS);
        dice.mangle(&mut script);
        step(&mut client, Input::Bytes(1, script));
        let record = Record { phases: vec![PhaseRecord::default()], ..Record::default() };
        step(&mut client, Input::Ended(1, Box::new(record)));
        let actions = step(&mut client, Input::Closed(1));
        let _ = actions;
        step(&mut client, Input::Interrupted(2));
    }
}

#[test]
fn who_is_interrupted_says_so_and_tells_the_server() {
    let mut world = World::new(client("-c h -t 100"), server("-s -1"));
    for _ in 0..3 {
        world = {
            let mut now = world;
            while let Some((side, input)) = now.queue.pop_front() {
                let happening = Happening { at_ns: now.now_ns, unix_ns: now.now_ns, input };
                for action in now.sides[side].step(happening) {
                    now.act(side, action);
                }
            }
            now.pass();
            now
        };
    }
    world.queue.push_back((CLIENT, Input::Interrupted(2)));
    let world = world.go();
    assert_eq!(
        world.complained[CLIENT],
        "iperf3: interrupt - the client has terminated by signal Interrupt(2)\n"
    );
    assert!(world.complained[SERVER].contains("the client has terminated"));
    assert!(world.printed[CLIENT].contains("sender"), "{}", world.printed[CLIENT]);
}
