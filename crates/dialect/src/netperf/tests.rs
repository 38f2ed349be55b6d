//! Conversations without a network: our client against our server through a pretended engine room, decoded captures,
//! and mangled input.

use crate::Loader;
use iodyno_model::Machine;

/// A loader that has nothing.
pub(super) struct Nowhere;

impl Loader for Nowhere {
    fn read(&mut self, _path: &str) -> Result<Vec<u8>, String> {
        Err("no such file".into())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("closed".into())
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine::default()
    }
    fn look(&self, _path: &str) -> Option<crate::PathFacts> {
        None
    }
    fn now_unix_ns(&self) -> u64 {
        1_795_287_555_000_000_000
    }
}

use iodyno_model::conversation::{
    Action, Connection, Conversation, Ends, FIRST_ACCEPTED, Happening, Input, SocketFacts,
};
use iodyno_model::{
    JobRecord, Line, PhaseRecord, Plan, Record, Tally, TargetKind, Verb, WorkerRecord, Workload,
};

use super::client::NetperfClient;
use super::command::{self, Command, ServerCommand};
use super::server::Netserver;
use super::wire::{self, Message, OmniRequest, OmniResponse, OmniResults};

fn command(line: &str) -> Command {
    let arguments: Vec<String> = line.split_whitespace().map(String::from).collect();
    command::netperf(&arguments, &mut Nowhere).unwrap()
}

fn server_wanted() -> ServerCommand {
    ServerCommand { port: 12865, family: 4, foreground: true, ..ServerCommand::default() }
}

fn ends(local: &str, peer: &str) -> Ends {
    let socket = SocketFacts {
        descriptor: 3,
        send_buffer_bytes: 16_384,
        receive_buffer_bytes: 131_072,
        mss: 65_483,
        congestion: "cubic".into(),
        ..SocketFacts::default()
    };
    Ends { local: local.into(), peer: peer.into(), socket }
}

/// One side at a time that steps by 1 ms.
struct EndFigures<C: Conversation> {
    conversation: C,
    at_ns: u64,
}

impl<C: Conversation> EndFigures<C> {
    fn new(conversation: C) -> Self {
        EndFigures { conversation, at_ns: 0 }
    }

    fn say(&mut self, input: Input) -> Vec<Action> {
        self.at_ns += 1_000_000;
        let unix_ns = 1_795_287_555_000_000_000 + self.at_ns;
        self.conversation.step(Happening { at_ns: self.at_ns, unix_ns, input })
    }
}

/// The records that are sent on a connection.
fn sent(actions: &[Action], on: Connection) -> Vec<Message> {
    let mut bytes: Vec<u8> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Send(number, bytes) if *number == on => Some(bytes.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    std::iter::from_fn(|| Message::take(&mut bytes)).collect()
}

fn printed(actions: &[Action]) -> String {
    actions
        .iter()
        .filter_map(|action| if let Action::Print(text) = action { Some(text.as_str()) } else { None })
        .collect()
}

fn run_of(actions: &[Action]) -> Option<(u32, &Plan)> {
    actions.iter().find_map(|action| {
        if let Action::Run { run, plan, .. } = action { Some((*run, &**plan)) } else { None }
    })
}

/// What a run of a plan would have counted in a second.
fn record(plan: &Plan, operations: u64, bytes: u64) -> Box<Record> {
    let job = &plan.phases[0].jobs[0];
    let Workload::Pattern(pattern) = &job.workload else { panic!("no pattern") };
    let verb = pattern.mix.shares[0].verb;
    let mut line = Line { operations, bytes, ..Line::empty(verb.name(), verb) };
    (0..operations.min(100)).for_each(|_| line.latency.add(8_240));
    let worker = WorkerRecord {
        operations,
        bytes,
        ended_ns: 1_000_000_000,
        facts: vec![("bytes".into(), bytes), ("blocks".into(), operations), ("retransmits".into(), 3)],
        ..WorkerRecord::default()
    };
    let tally = Tally { lines: vec![line], last_done_ns: 1_000_000_000, ..Tally::default() };
    let job = JobRecord { name: job.name.clone(), tally, workers: vec![worker], ..JobRecord::default() };
    let phase = PhaseRecord { elapsed_ns: 1_000_000_000, jobs: vec![job], ..PhaseRecord::default() };
    Box::new(Record { phases: vec![phase], ..Record::default() })
}

/// A client up to its request, which is handed over with what it did before.
fn asked(line: &str) -> (EndFigures<NetperfClient>, Vec<Action>) {
    let mut client = EndFigures::new(NetperfClient::new(command(line), "a-uuid".into()));
    let calls = client.say(Input::Began);
    assert!(matches!(&calls[..], [Action::Connect { connection: 1, .. }]), "{calls:?}");
    client.say(Input::Ready(1, ends("127.0.0.1:40000", "127.0.0.1:12865")));
    let actions = client.say(Input::Ready(2, ends("127.0.0.1:40001", "")));
    (client, actions)
}

/// What the captures hold: words of a request, from the first on.
const CAPTURES: [(&str, [i32; 38]); 5] = [
    (
        "TCP_STREAM",
        [
            -1, -1, 8, 0, 2, -1, -1, -1, 8, 0, 0, -1, 32, 0, 1, 0, 0, -1, -1, -1, 0, 4, 1, 6, 4, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, -1, -1,
        ],
    ),
    (
        "TCP_MAERTS",
        [
            -1, -1, 8, 0, 0, -1, -1, -1, 8, 0, 2, -1, 32, 0, 1, 0, 0, -1, -1, -1, 0, 4, 1, 6, 2, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, -1, -1,
        ],
    ),
    (
        "TCP_RR",
        [
            -1, -1, 8, 0, 1, 1, -1, -1, 8, 0, 1, 1, 32, 0, 1, 0, 0, -1, -1, -1, 0, 4, 1, 6, 6, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, -1, -1,
        ],
    ),
    (
        "TCP_CRR",
        [
            -1, -1, 8, 0, 1, 1, -1, -1, 8, 0, 1, 1, 36, 0, 1, 0, 0, -1, -1, -1, 0, 4, 1, 6, 6, 53851, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, -1, -1,
        ],
    ),
    (
        "UDP_RR",
        [
            -1, -1, 8, 0, 1, 1, -1, -1, 8, 0, 1, 1, 32, 0, 1, 0, 0, -1, -1, -1, 0, 4, 2, 17, 6, 34964, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, -1, -1,
        ],
    ),
];

/// Words that carry no meaning for the peer: widths of rings, and a port nobody connects to.
const IDLE_WORDS: [usize; 3] = [4, 10, 25];

#[test]
fn requests_are_those_of_the_captures() {
    for (test, words) in CAPTURES {
        let (_, actions) = asked(&format!("-H 127.0.0.1 -t {test} -l 1"));
        let request = sent(&actions, 1).remove(0);
        assert_eq!((request.kind(), request.second()), (wire::OMNI, -1), "{test}");
        for (index, word) in words.iter().enumerate().filter(|(index, _)| !IDLE_WORDS.contains(index)) {
            assert_eq!(request.word(index), *word, "{test}: word {index}");
        }
    }
}

#[test]
fn a_client_asks_runs_and_reports() {
    let (mut client, actions) = asked("-H 127.0.0.1 -t TCP_RR -l 1");
    assert!(
        printed(&actions)
            .starts_with("MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET")
    );
    let mut answer = Message::new(wire::OMNI + 1, 0);
    let response = OmniResponse {
        recv_buf_size: 131_072,
        send_buf_size: 16_384,
        data_port: 38_211,
        ..OmniResponse::default()
    };
    response.write(&mut answer);
    let actions = client.say(Input::Bytes(1, answer.bytes()));
    assert!(
        actions
            .iter()
            .any(|action| matches!(action, Action::Connect { address, .. } if address == "127.0.0.1:38211"))
    );
    let actions = client.say(Input::Ready(3, ends("127.0.0.1:40002", "127.0.0.1:38211")));
    let (run, plan) = run_of(&actions).unwrap();
    let record = record(plan, 111_056, 222_112);
    let actions = client.say(Input::Ended(run, record));
    assert!(matches!(&actions[..], [Action::Shut(3), Action::Wake(_)]), "{actions:?}");
    client.say(Input::Closed(3));
    // The type of results is turned round by netserver itself.
    let mut results = Message::new((wire::OMNI + 1).swap_bytes(), 0);
    OmniResults { trans_received: 111_056, ..OmniResults::default() }.write(&mut results);
    let bytes = results.bytes();
    client.say(Input::Bytes(1, bytes[..100].to_vec()));
    let actions = client.say(Input::Bytes(1, bytes[100..].to_vec()));
    let text = printed(&actions);
    assert!(
        text.ends_with("16384  131072 1        1       1.00     111056.00   \n16384  131072\n"),
        "{text}"
    );
    assert!(actions.iter().any(|action| matches!(action, Action::End(0))));
}

#[test]
fn a_server_that_cannot_or_hangs_up_is_told_of() {
    let end = |actions: &[Action]| {
        actions.iter().find_map(|action| if let Action::End(status) = action { Some(*status) } else { None })
    };
    let (mut client, _) = asked("-H 127.0.0.1");
    assert_eq!(end(&client.say(Input::Bytes(1, Message::new(98, 94).bytes()))), Some(1));
    let (mut client, _) = asked("-H 127.0.0.1");
    assert_eq!(end(&client.say(Input::Closed(1))), Some(1));
    let (mut client, _) = asked("-H 127.0.0.1");
    assert_eq!(end(&client.say(Input::Tick)), None, "it is not due yet");
    client.at_ns += 30_000_000_000;
    assert_eq!(end(&client.say(Input::Tick)), Some(1));
    let mut client = EndFigures::new(NetperfClient::new(command("-H 127.0.0.1"), String::new()));
    client.say(Input::Began);
    assert_eq!(end(&client.say(Input::Failed(1, 111, "connect".into()))), Some(255));
}

#[test]
fn a_netserver_that_goes_is_noticed_at_once() {
    let end = |actions: &[Action]| actions.iter().any(|action| matches!(action, Action::End(1)));
    let running = || {
        let (mut client, _) = asked("-H 127.0.0.1");
        let mut answer = Message::new(wire::OMNI + 1, 0);
        OmniResponse { data_port: 40_000, ..OmniResponse::default() }.write(&mut answer);
        client.say(Input::Bytes(1, answer.bytes()));
        let actions = client.say(Input::Ready(3, ends("127.0.0.1:5", "127.0.0.1:40000")));
        assert!(run_of(&actions).is_some(), "{actions:?}");
        client
    };
    assert!(end(&running().say(Input::Closed(1))));
    assert!(end(&running().say(Input::Failed(1, 104, "recv".into()))));
    // Who has told its results may go.
    let mut client = running();
    client.say(Input::Bytes(1, Message::new(98, 0).bytes()));
    assert!(client.say(Input::Closed(1)).is_empty());
}

#[test]
fn a_receivers_small_buffer_is_said_before_anything_is_sent() {
    for (line, small) in
        [("-t UDP_STREAM", true), ("-t UDP_STREAM -- -m 64", false), ("-t TCP_STREAM", false)]
    {
        let (mut client, _) = asked(&format!("-H 127.0.0.1 {line}"));
        let mut answer = Message::new(wire::OMNI + 1, 0);
        // We send out of 16 KiB.
        let recv_buf_size = if small || line.contains("TCP") { 8_192 } else { 262_144 };
        OmniResponse { recv_buf_size, data_port: 40_000, ..OmniResponse::default() }.write(&mut answer);
        let actions = client.say(Input::Bytes(1, answer.bytes()));
        let said = actions
            .iter()
            .find_map(|action| if let Action::Complain(text) = action { Some(text) } else { None });
        assert_eq!(
            said.is_some_and(|text| text.contains("of 8192 bytes, the sender's of 16384")),
            small,
            "{said:?}"
        );
        assert!(matches!(&actions[..], [.., Action::Connect { .. }, Action::Wake(_)]), "{actions:?}");
    }
}

#[test]
fn who_says_nothing_holds_no_place() {
    let mut server = EndFigures::new(Netserver::new(server_wanted()));
    server.say(Input::Began);
    server.say(Input::Ready(1, ends("0.0.0.0:12865", "")));
    let mut accept = |number: u32, host: &str| {
        let connection = FIRST_ACCEPTED + number;
        let ends = ends("127.0.0.1:12865", &format!("{host}:{}", 40_000 + number));
        let actions = server.say(Input::Accepted { at: 1, connection, ends });
        actions
            .iter()
            .filter_map(|action| if let Action::Close(closed) = action { Some(*closed) } else { None })
            .collect::<Vec<_>>()
    };
    // Sixty-four of one address; the oldest gives way to the next, and others are let in as ever.
    (0..64).for_each(|number| assert!(accept(number, "10.0.0.1").is_empty()));
    assert_eq!(accept(64, "10.0.0.1"), [FIRST_ACCEPTED]);
    (65..257).for_each(|number| assert!(accept(number, &format!("10.0.1.{}", number % 100)).is_empty()));
    assert_eq!(accept(257, "10.0.2.1"), [FIRST_ACCEPTED + 1]);
    // Who has just said something stays: nobody is left to give way.
    let mut server = EndFigures::new(Netserver::new(server_wanted()));
    for number in 0..64 {
        let connection = FIRST_ACCEPTED + number;
        let ends = ends("127.0.0.1:12865", "10.0.0.1:4");
        server.say(Input::Accepted { at: 1, connection, ends });
        server.say(Input::Bytes(connection, Message::new(wire::DEBUG_ON, -1).bytes()));
    }
    let mut comes = |number: u32| {
        let ends = ends("127.0.0.1:12865", "10.0.0.1:4");
        let actions = server.say(Input::Accepted { at: 1, connection: FIRST_ACCEPTED + number, ends });
        server.at_ns += 6_000_000_000;
        actions
            .into_iter()
            .find_map(|action| if let Action::Close(closed) = action { Some(closed) } else { None })
    };
    assert_eq!(comes(64), Some(FIRST_ACCEPTED + 64));
    // Who asks for no test and says no more does not keep others out for a minute.
    assert_eq!(comes(65), Some(FIRST_ACCEPTED));
}

/// A server with one client whose control connection has this number.
fn served(command: ServerCommand) -> (EndFigures<Netserver>, Connection) {
    let mut server = EndFigures::new(Netserver::new(command));
    server.say(Input::Began);
    server.say(Input::Ready(1, ends("0.0.0.0:12865", "")));
    let control = FIRST_ACCEPTED;
    server.say(Input::Accepted {
        at: 1,
        connection: control,
        ends: ends("127.0.0.1:12865", "127.0.0.1:40000"),
    });
    (server, control)
}

fn omni(words: &[i32]) -> Message {
    let mut message = Message::new(wire::OMNI, -1);
    words.iter().enumerate().for_each(|(index, word)| message.set(index, *word));
    message
}

fn place_of(actions: &[Action]) -> Connection {
    actions
        .iter()
        .find_map(|action| if let Action::Listen { place, .. } = action { Some(*place) } else { None })
        .unwrap()
}

#[test]
fn a_server_serves_what_the_captures_ask_for() {
    for (test, words) in CAPTURES {
        let (mut server, control) = served(server_wanted());
        let place = place_of(&server.say(Input::Bytes(control, omni(&words).bytes())));
        let mut actions = server.say(Input::Ready(place, ends("0.0.0.0:38211", "")));
        let response = OmniResponse::read(&sent(&actions, control)[0]);
        assert_eq!(
            (response.data_port, response.recv_buf_size, response.send_buf_size),
            (38_211, 131_072, 16_384)
        );
        if run_of(&actions).is_none() {
            let data = FIRST_ACCEPTED + 1;
            actions = server.say(Input::Accepted {
                at: place,
                connection: data,
                ends: ends("127.0.0.1:38211", "127.0.0.1:40002"),
            });
        }
        let (run, plan) = run_of(&actions).unwrap_or_else(|| panic!("{test}: {actions:?}"));
        let TargetKind::Endpoint { transport, .. } = &plan.targets[0].kind else { panic!("no endpoint") };
        assert_eq!(transport, "connection");
        let record = record(plan, 5, 5 * 16_384);
        let mut actions = server.say(Input::Ended(run, record));
        if let Some(Action::Shut(data)) = actions.iter().find(|action| matches!(action, Action::Shut(_))) {
            actions = server.say(Input::Closed(*data));
        }
        let message = sent(&actions, control).remove(0);
        let results = OmniResults::read(&message);
        assert!((wire::fraction(results.elapsed_time) - 1.0).abs() < 1e-6, "{test}");
        match test {
            "TCP_STREAM" => assert_eq!((results.received(), results.recv_calls), (5 * 16_384, 5)),
            "TCP_MAERTS" => assert_eq!((results.sent(), results.send_calls), (5 * 16_384, 5)),
            _ => assert_eq!((results.trans_received, results.received(), results.sent()), (5, 5, 5)),
        }
        assert_eq!(results.transport_retrans, 3);
    }
}

#[test]
fn connections_over_and_over_end_without_four_seconds() {
    let (mut server, control) = served(server_wanted());
    let place = place_of(&server.say(Input::Bytes(control, omni(&CAPTURES[3].1).bytes())));
    let actions = server.say(Input::Ready(place, ends("0.0.0.0:38211", "")));
    let (run, plan) = run_of(&actions).unwrap();
    let job = &plan.phases[0].jobs[0];
    assert!(job.settings.iter().any(|setting| setting.name == "accept_each" && setting.value == "on"));
    let told = |operations: u64| {
        let record = record(plan, operations, 2 * operations);
        Input::Told(run, Box::new(iodyno_model::Event::Interim(Box::new(record.phases[0].clone()))))
    };
    let stops = |actions: Vec<Action>| actions.iter().any(|action| matches!(action, Action::Stop(_)));
    assert!(!stops(server.say(told(0))));
    assert!(!stops(server.say(told(100))));
    // The second is over, and nothing has come for long enough.
    server.at_ns += 1_500_000_000;
    assert!(stops(server.say(told(100))));
}

#[test]
fn the_older_requests_are_served() {
    // TCP_CC and TCP_SENDFILE as netperf 2.7 asks for them.
    let connections = [6000, 5000, 2, 0, 16, 0, 5, 6, 1, 1, 0, 2, 0, 0, 0, 4];
    let stream = [5000, 6000, 777, 2, 0, 1, 1, 0, 3, 0, 0, 0, 0, 0, 4];
    for (kind, words, port_at) in [(wire::TCP_CC, &connections[..], 5), (wire::TCP_STREAM, &stream[..], 6)] {
        let (mut server, control) = served(server_wanted());
        let mut message = Message::new(kind, -1);
        words.iter().enumerate().for_each(|(index, word)| message.set(index, *word));
        let actions = server.say(Input::Bytes(control, message.bytes()));
        let socket_options = actions.iter().find_map(|action| {
            if let Action::Listen { socket_options, .. } = action {
                Some(socket_options.clone())
            } else {
                None
            }
        });
        let socket_options = socket_options.unwrap();
        assert!(
            socket_options.contains(&("send_buffer_bytes".into(), "5000".into()))
                && socket_options.contains(&("nodelay".into(), "on".into()))
        );
        let actions = server.say(Input::Ready(place_of(&actions), ends("0.0.0.0:39947", "")));
        let answer = sent(&actions, control).remove(0);
        assert_eq!((answer.kind(), answer.word(0), answer.word(port_at)), (kind + 1, 131_072, 39_947));
    }
}

#[test]
fn a_word_is_asked_for_before_anything() {
    let with = || ServerCommand { word: Some("secret".into()), ..server_wanted() };
    let word = |text: &str| {
        let mut message = Message::new(wire::PASSPHRASE, -1);
        message.set_text(0, 64, text);
        message.bytes()
    };
    let closes = |actions: &[Action]| actions.iter().any(|action| matches!(action, Action::Close(_)));
    let (mut server, control) = served(with());
    assert!(closes(&server.say(Input::Bytes(control, omni(&CAPTURES[0].1).bytes()))));
    let (mut server, control) = served(with());
    assert!(closes(&server.say(Input::Bytes(control, word("secres")))));
    let (mut server, control) = served(with());
    let both = [word("secret"), omni(&CAPTURES[0].1).bytes()].concat();
    assert!(
        server.say(Input::Bytes(control, both)).iter().any(|action| matches!(action, Action::Listen { .. }))
    );
}

/// A small generator, so that what failed can be had again.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[test]
fn mangled_records_neither_break_nor_bloat_a_server() {
    let mut seed = 7;
    for round in 0..4000 {
        let (mut server, control) = served(server_wanted());
        let (_, words) = CAPTURES[round % CAPTURES.len()];
        let mut bytes = omni(&words).bytes();
        for _ in 0..next(&mut seed) % 12 {
            let at = next(&mut seed) as usize % bytes.len();
            bytes[at] = match next(&mut seed) % 4 {
                0 => 0xff,
                1 => 0,
                2 => 0x80,
                _ => next(&mut seed) as u8,
            };
        }
        if round % 3 == 0 {
            bytes.truncate(next(&mut seed) as usize % bytes.len());
        }
        if round % 7 == 0 {
            bytes = bytes.repeat(20);
        }
        let mut actions = server.say(Input::Bytes(control, bytes));
        for _ in 0..6 {
            let Some(action) = actions.pop() else { break };
            let input = match action {
                Action::Listen { place, .. } if !next(&mut seed).is_multiple_of(5) => {
                    Input::Ready(place, ends("0.0.0.0:38211", ""))
                }
                Action::Listen { place, .. } => Input::Failed(place, 98, "bind".into()),
                Action::Answer { connection, .. } => {
                    Input::Ready(connection, ends("0.0.0.0:38211", "127.0.0.1:5"))
                }
                Action::Run { run, plan, .. } => {
                    Input::Ended(run, record(&plan, next(&mut seed), u64::MAX / 2))
                }
                Action::Shut(data) => Input::Failed(data, 104, "receive".into()),
                _ => continue,
            };
            actions.extend(server.say(input));
        }
        server.say(Input::Closed(control));
        server.at_ns += 1_000_000_000_000;
        server.say(Input::Tick);
    }
}

#[test]
fn mangled_records_do_not_break_a_client() {
    let mut seed = 11;
    for round in 0..4000 {
        let (mut client, _) =
            asked(["-H h -t TCP_STREAM", "-H h -t UDP_RR -c -C", "-H h -t TCP_CRR"][round % 3]);
        let mut answer = Message::new(wire::OMNI + 1, 0);
        OmniResponse { data_port: 38_211, ..OmniResponse::default() }.write(&mut answer);
        let mut bytes = answer.bytes();
        for _ in 0..next(&mut seed) % 8 {
            let at = next(&mut seed) as usize % bytes.len();
            bytes[at] = next(&mut seed) as u8;
        }
        let mut actions = client.say(Input::Bytes(1, bytes));
        if actions.iter().any(|action| matches!(action, Action::Connect { connection: 3, .. })) {
            actions = client.say(Input::Ready(3, ends("127.0.0.1:40002", "127.0.0.1:38211")));
        }
        if let Some((run, plan)) = run_of(&actions) {
            let record = record(plan, next(&mut seed), next(&mut seed));
            client.say(Input::Ended(run, record));
            client.say(Input::Closed(3));
            let garbage: Vec<u8> = (0..wire::RECORD_BYTES).map(|_| next(&mut seed) as u8).collect();
            client.say(Input::Bytes(1, garbage));
        }
        client.say(Input::Tick);
        client.say(Input::Interrupted(2));
    }
}

#[test]
fn intervals_repeat_the_test() {
    let (mut client, _) = asked("-H 127.0.0.1 -t TCP_CRR -l 1 -i 4,3 -I 95,10");
    let mut answer = Message::new(wire::OMNI + 1, 0);
    OmniResponse { data_port: 38_211, ..OmniResponse::default() }.write(&mut answer);
    let mut rounds = 0;
    let mut text = String::new();
    while rounds < 10 {
        let actions = client.say(Input::Bytes(1, answer.bytes()));
        let Some((run, plan)) = run_of(&actions) else { break };
        rounds += 1;
        let record = record(plan, rounds * 1000, rounds * 2000);
        client.say(Input::Ended(run, record));
        text += &printed(&client.say(Input::Bytes(1, Message::new(wire::OMNI + 1, 0).bytes())));
    }
    assert_eq!(rounds, 4);
    assert!(text.starts_with("!!! WARNING\n") && text.contains(" 2500.00   \n"), "{text}");
}

#[test]
fn requests_of_nonsense_are_refused_with_a_number() {
    let (mut server, control) = served(server_wanted());
    let mut request = OmniRequest::read(&omni(&CAPTURES[0].1));
    request.socket_type = 4;
    let mut message = Message::new(wire::OMNI, -1);
    request.write(&mut message);
    let actions = server.say(Input::Bytes(control, message.bytes()));
    assert_eq!(sent(&actions, control)[0].second(), 95);
    assert_eq!(Verb::named("exchange"), Some(Verb::Exchange));
}

/// Everything that a conversation may be told, with bytes of a record that was mangled.
fn mangled(seed: &mut u64, whole: &Message) -> Vec<u8> {
    let mut bytes = whole.bytes();
    for _ in 0..next(seed) % 12 {
        let at = next(seed) as usize % bytes.len();
        bytes[at] = next(seed) as u8;
    }
    if next(seed).is_multiple_of(3) {
        bytes.truncate(next(seed) as usize % bytes.len());
    }
    if next(seed).is_multiple_of(9) {
        bytes = bytes.repeat(20);
    }
    bytes
}

/// A call from who knows the word, as our mesh says it.
fn call() -> Message {
    let mut message = Message::new(wire::CALL, -1);
    let request = OmniRequest {
        test_length: 1,
        socket_type: 1,
        protocol: 6,
        ipfamily: 4,
        direction: wire::TRANSMITS,
        ..OmniRequest::default()
    };
    request.write(&mut message);
    message.set_ours(0);
    message.set_called("10.0.0.2", 4711);
    message
}

fn word_of(word: &str) -> Vec<u8> {
    let mut proof = Message::new(wire::PASSPHRASE, -1);
    proof.set_text(0, 64, word);
    proof.bytes()
}

#[test]
fn calls_are_for_who_knows_the_word() {
    let (mut server, control) = served(server_wanted());
    let actions = server.say(Input::Bytes(control, call().bytes()));
    assert!(!actions.iter().any(|action| matches!(action, Action::Connect { .. })), "{actions:?}");
    assert!(actions.iter().any(|action| matches!(action, Action::Close(_))), "{actions:?}");

    let command = ServerCommand { word: Some("secret".into()), ..server_wanted() };
    let (mut server, control) = served(command);
    server.say(Input::Bytes(control, word_of("secret")));
    let actions = server.say(Input::Bytes(control, call().bytes()));
    let [Action::Connect { connection, address, .. }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(address, "10.0.0.2:4711");
    let data = *connection;
    let actions = server.say(Input::Ready(data, ends("10.0.0.1:5", "10.0.0.2:4711")));
    assert_eq!(sent(&actions, control)[0].kind(), wire::CALL + 1);
    let actions = server.say(Input::Bytes(control, Message::new(wire::GO, -1).bytes()));
    let (run, plan) = run_of(&actions).expect("it goes");
    let told = record(plan, 10, 1_000_000);
    let actions = server.say(Input::Ended(run, told));
    assert!(actions.iter().any(|action| matches!(action, Action::Shut(_))), "{actions:?}");
    let actions = server.say(Input::Closed(data));
    assert_eq!(OmniResults::read(&sent(&actions, control)[0]).sent(), 1_000_000);
}

#[test]
fn mangled_calls_neither_break_nor_bloat_a_server() {
    let mut seed = 3;
    for _ in 0..4000 {
        let command =
            ServerCommand { word: Some("secret".into()), crowd: true, once: true, ..server_wanted() };
        let (mut server, control) = served(command);
        server.say(Input::Bytes(control, word_of("secret")));
        let mut actions = server.say(Input::Bytes(control, mangled(&mut seed, &call())));
        for _ in 0..6 {
            let Some(action) = actions.pop() else { break };
            let input = match action {
                Action::Connect { connection, .. } if next(&mut seed).is_multiple_of(4) => {
                    Input::Failed(connection, 111, "connect".into())
                }
                Action::Connect { connection, .. } => {
                    Input::Ready(connection, ends("10.0.0.1:5", "10.0.0.2:4711"))
                }
                Action::Listen { place, .. } => Input::Ready(place, ends("0.0.0.0:38211", "")),
                Action::Run { run, plan, .. } => {
                    assert!(plan.phases[0].jobs[0].limit.time_ns.is_none_or(|ns| ns <= 604_800_000_000_000));
                    Input::Ended(run, record(&plan, next(&mut seed), next(&mut seed)))
                }
                Action::Send(..) => Input::Bytes(control, Message::new(wire::GO, -1).bytes()),
                Action::Shut(data) => Input::Closed(data),
                _ => Input::Tick,
            };
            actions = server.say(input);
        }
        server.say(Input::Bytes(control, mangled(&mut seed, &call())));
        server.say(Input::Closed(control));
    }
}

use super::omni_client::{LinkRole, LinkTest, Measurement, TestLink};

#[test]
fn mangled_answers_do_not_break_a_link() {
    let mut seed = 5;
    let kinds = [
        Measurement::RoundTrips(64),
        Measurement::Connects,
        Measurement::Sends(1 << 17),
        Measurement::Receives(1 << 17),
        Measurement::SendsDatagrams(160),
        Measurement::TakesDatagrams(160),
    ];
    let parts = [LinkRole::Peer, LinkRole::Called, LinkRole::Caller("h".into(), 7)];
    for round in 0..6000 {
        let kind = kinds[round % kinds.len()];
        let part = parts[round / kinds.len() % parts.len()].clone();
        let ask =
            LinkTest { name: "x".into(), kind, time_ns: 1, delay_ns: 0, rate: Some(100.0), leads: false };
        let server = super::omni_client::ServerAddress {
            host: "h".into(),
            port: 1,
            word: Some("w".into()),
            ..Default::default()
        };
        let mut link = TestLink::new(ask, server, part, 4);
        link.begin(0);
        let mut answer = Message::new(wire::OMNI + 1, 0);
        OmniResponse { data_port: 38_211, ..OmniResponse::default() }.write(&mut answer);
        answer.set_ours(1);
        link.step(1, &Input::Ready(4, ends("127.0.0.1:5", "127.0.0.1:6")));
        link.step(2, &Input::Ready(6, ends("127.0.0.1:7", "")));
        link.step(3, &Input::Bytes(4, mangled(&mut seed, &answer)));
        link.step(4, &Input::Ready(5, ends("127.0.0.1:8", "127.0.0.1:9")));
        let (target, job) = link.job(0);
        assert!(!target.name.is_empty() && job.targets == [0]);
        link.go(5);
        match next(&mut seed) % 3 {
            0 => drop(link.ended(6)),
            1 => drop(link.await_call(6)),
            _ => {}
        }
        link.step(7, &Input::Closed(5));
        link.step(8, &Input::Bytes(4, mangled(&mut seed, &Message::new(wire::OMNI + 1, 0))));
        link.step(u64::MAX / 2, &Input::Tick);
        link.step(9, &Input::Closed(4));
        link.close();
    }
}
