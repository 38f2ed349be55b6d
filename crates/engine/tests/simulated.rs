//! The network that is only calculated: what scripts that are no tool of anybody's live through there, to the nanosecond.

use iodyno_engine::peer::Listener;
use iodyno_engine::peer::simulated::{Link, Party, converse};
use iodyno_model::conversation::{Action, Conversation, Happening, Input, RunNumber};
use iodyno_model::{
    Event, Job, Limit, Open, Origin, Pattern, Phase, Pick, Plan, Prepare, Record, Target, TargetKind, Verb,
    Workload,
};

const MS: u64 = 1_000_000;

/// A conversation made of a closure.
struct Script<F>(F);

impl<F: FnMut(Happening) -> Vec<Action> + Send> Conversation for Script<F> {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        (self.0)(happening)
    }
}

#[derive(Default)]
struct Ears {
    printed: String,
    records: Vec<Record>,
}

impl Listener for Ears {
    fn event(&mut self, _: RunNumber, event: &Event) {
        if let Event::Ended(record) = event {
            self.records.push((**record).clone());
        }
    }

    fn print(&mut self, text: &str) -> bool {
        self.printed.push_str(text);
        true
    }

    fn complain(&mut self, text: &str) {
        self.printed.push_str(text);
    }
}

/// A server at 10.0.0.1 and a client elsewhere talk: what they printed, their records, and how they ended.
fn talk(
    link: &Link,
    server: impl FnMut(Happening) -> Vec<Action> + Send,
    client: impl FnMut(Happening) -> Vec<Action> + Send,
) -> ([Ears; 2], Vec<Option<u8>>) {
    let (mut server, mut client) = (Script(server), Script(client));
    let mut ears = [Ears::default(), Ears::default()];
    let [served, asked] = &mut ears;
    let party = |host: &str| host.to_string();
    let parties = vec![
        Party {
            host: party("10.0.0.1"),
            conversation: &mut server,
            listener: served,
            begins_ns: 0,
            awaited: false,
            signals: Vec::new(),
            killed_ns: None,
        },
        Party {
            host: party("10.0.0.2"),
            conversation: &mut client,
            listener: asked,
            begins_ns: 0,
            awaited: true,
            signals: Vec::new(),
            killed_ns: None,
        },
    ];
    let statuses = converse(link, parties);
    (ears, statuses)
}

fn listen(transport: &str) -> Vec<Action> {
    let (transport, address) = (transport.into(), ":7".into());
    vec![Action::Listen { place: 1, transport, address, socket_options: Vec::new() }]
}

fn connect(transport: &str, address: &str) -> Vec<Action> {
    let (transport, address) = (transport.into(), address.into());
    vec![Action::Connect { connection: 1, transport, address, socket_options: Vec::new(), timeout_ns: 0 }]
}

/// A plan that moves bytes over a connection.
fn plan(connection: u32, verb: Verb, limit: Limit) -> Box<Plan> {
    let address = connection.to_string();
    let target = Target {
        name: "connection".into(),
        kind: TargetKind::Endpoint { transport: "connection".into(), address, listen: false },
        open: Open::default(),
        prepare: Prepare::default(),
        remove: false,
        origin: Origin::default(),
    };
    let pattern = Pattern::of(verb, Pick::Stream, 125_000);
    let job = Job { limit, ..Job::new("moves", "socket", vec![0], Workload::Pattern(Box::new(pattern))) };
    let phase = Phase { name: "p".into(), jobs: vec![job], ..Phase::default() };
    Box::new(Plan { targets: vec![target], phases: vec![phase], ..Plan::default() })
}

fn said(what: &str, at_ns: u64) -> Action {
    Action::Print(format!("{what} {at_ns}; "))
}

#[test]
fn a_connection_takes_a_round_trip() {
    let server = |happening: Happening| match happening.input {
        Input::Began => listen("tcp"),
        Input::Accepted { .. } => vec![said("accepted", happening.at_ns)],
        Input::Bytes(connection, bytes) => {
            vec![said("read", happening.at_ns), Action::Send(connection, bytes), Action::Close(connection)]
        }
        _ => Vec::new(),
    };
    let client = |happening: Happening| match happening.input {
        Input::Began => connect("tcp", "10.0.0.1:7"),
        Input::Ready(1, ends) => {
            vec![said(&ends.peer, happening.at_ns), Action::Send(1, vec![0; 125])]
        }
        Input::Bytes(1, bytes) => vec![said(&format!("{} bytes", bytes.len()), happening.at_ns)],
        Input::Closed(1) => vec![said("closed", happening.at_ns), Action::End(3)],
        _ => Vec::new(),
    };
    let ([served, asked], statuses) = talk(&Link::default(), server, client);
    // 100 µs each way, and 125 bytes in a microsecond.
    assert_eq!(served.printed, "accepted 100000; read 301000; ");
    assert_eq!(asked.printed, "10.0.0.1:7 200000; 125 bytes 402000; closed 402000; ");
    assert_eq!(statuses, [None, Some(3)]);
}

#[test]
fn what_is_not_to_be_read_waits() {
    let server = |happening: Happening| match happening.input {
        Input::Began => listen("tcp"),
        Input::Accepted { connection, .. } => {
            vec![Action::Read { connection, most: Some(5) }, Action::Wake(10 * MS)]
        }
        Input::Bytes(_, bytes) => vec![said(&String::from_utf8_lossy(&bytes), happening.at_ns)],
        Input::Tick => {
            vec![Action::Read { connection: iodyno_model::conversation::FIRST_ACCEPTED, most: None }]
        }
        _ => Vec::new(),
    };
    let client = |happening: Happening| match happening.input {
        Input::Began => connect("tcp", "10.0.0.1:7"),
        Input::Ready(..) => vec![Action::Send(1, b"hello, world".to_vec()), Action::Wake(20 * MS)],
        Input::Tick => vec![Action::End(0)],
        _ => Vec::new(),
    };
    let ([served, _], _) = talk(&Link::default(), server, client);
    assert_eq!(served.printed, format!("hello 300096; , world {}; ", 10 * MS));
}

#[test]
fn both_ends_of_a_run_agree() {
    let receives = Limit { bytes: Some(1_000_000), ..Limit::default() };
    let server = move |happening: Happening| match happening.input {
        Input::Began => listen("tcp"),
        Input::Accepted { connection, .. } => {
            vec![Action::Run {
                run: 1,
                plan: plan(connection, Verb::Recv, receives.clone()),
                interim_ns: 3 * MS,
            }]
        }
        Input::Told(1, event) => match *event {
            Event::Interim(phase) => {
                vec![said(&phase.jobs[0].tally.all_bytes().to_string(), phase.elapsed_ns)]
            }
            _ => Vec::new(),
        },
        Input::Ended(1, _) => vec![Action::End(0)],
        _ => Vec::new(),
    };
    let sends = Limit { bytes: Some(1_000_000), ..Limit::default() };
    let client = move |happening: Happening| match happening.input {
        Input::Began => connect("tcp", "10.0.0.1:7"),
        Input::Ready(..) => {
            vec![Action::Run { run: 1, plan: plan(1, Verb::Send, sends.clone()), interim_ns: 0 }]
        }
        Input::Ended(1, _) => vec![Action::End(0)],
        _ => Vec::new(),
    };
    let ([served, asked], statuses) = talk(&Link::default(), server, client);
    // Eight blocks, each a millisecond long; the server's run began 100 µs before the client's.
    let tally = |ears: &Ears| {
        let tally = &ears.records[0].phases[0].jobs[0].tally;
        (tally.all_operations(), tally.all_bytes(), tally.last_done_ns, tally.lines[0].latency.max)
    };
    assert_eq!(tally(&asked), (8, 1_000_000, 8 * MS, MS));
    assert_eq!(tally(&served), (8, 1_000_000, 8 * MS + 200_000, MS + 200_000));
    assert_eq!(served.printed, "250000 3000000; 625000 6000000; ");
    assert_eq!(statuses, [Some(0), Some(0)]);
}

#[test]
fn what_is_not_simulated_is_refused() {
    let mut foreign = plan(1, Verb::Send, Limit::default());
    foreign.phases[0].jobs[0].engine = "null".into();
    let mut foreign = Some(foreign);
    let client = move |happening: Happening| match happening.input {
        Input::Began => connect("udp", "10.0.0.1:7"),
        Input::Ready(..) => foreign
            .take()
            .map(|plan| Action::Run { run: 1, plan, interim_ns: 0 })
            .into_iter()
            .chain([Action::Run { run: 2, plan: plan(9, Verb::Send, Limit::default()), interim_ns: 0 }])
            .collect(),
        Input::Ended(2, record) => vec![Action::Print(record.errors[0].message.clone()), Action::End(1)],
        Input::Ended(1, record) => vec![Action::Print(record.errors[0].message.clone() + "; ")],
        _ => Vec::new(),
    };
    let ([_, asked], statuses) = talk(&Link::default(), |_| Vec::new(), client);
    let refused = "moves: only streams and datagrams without files are simulated";
    assert_eq!(asked.printed, format!("{refused}; connection 9 is not there to be used"));
    assert_eq!(statuses[1], Some(1));
}
