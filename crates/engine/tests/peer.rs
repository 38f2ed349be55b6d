//! The pump: two conversations talk to each other over real sockets, and run plans beside that.

use std::sync::mpsc;

use iodyno_engine::Options;
use iodyno_engine::peer::{Listener, converse};
use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input, RunNumber};
use iodyno_model::{
    Event, Job, Open, Origin, Pattern, Phase, Pick, Plan, Prepare, Target, TargetKind, Verb, Workload,
};

/// A conversation made of a closure.
struct Script<F>(F);

impl<F: FnMut(Happening) -> Vec<Action> + Send> Conversation for Script<F> {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        (self.0)(happening)
    }
}

/// Keeps what is printed and which runs ended.
#[derive(Default)]
struct Ears {
    printed: String,
    ended: Vec<RunNumber>,
}

impl Listener for Ears {
    fn event(&mut self, run: RunNumber, event: &Event) {
        if matches!(event, Event::Ended(_)) {
            self.ended.push(run);
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

fn carry(step: impl FnMut(Happening) -> Vec<Action> + Send) -> (u8, Ears) {
    let mut ears = Ears::default();
    let options = Options { live_ns: 0, ..Options::default() };
    let status = converse(&mut Script(step), &options, &mut ears).expect("a pump");
    (status, ears)
}

fn listen(transport: &str) -> Action {
    let address = "127.0.0.1:0".into();
    Action::Listen { place: 1, transport: transport.into(), address, socket_options: Vec::new() }
}

fn connect(transport: &str, address: &str) -> Action {
    let (transport, address) = (transport.into(), address.into());
    Action::Connect { connection: 1, transport, address, socket_options: Vec::new(), timeout_ns: 0 }
}

/// Runs a server in a thread and a client here; the client is made with the server's address.
fn talk<C: FnMut(Happening) -> Vec<Action> + Send>(
    transport: &'static str,
    mut server: impl FnMut(Happening) -> Vec<Action> + Send + 'static,
    client: impl FnOnce(String) -> C,
) -> ((u8, Ears), (u8, Ears)) {
    let (tell, told) = mpsc::channel();
    let serving = std::thread::spawn(move || {
        carry(move |happening| match happening.input {
            Input::Began => vec![listen(transport)],
            Input::Ready(1, ref ends) => {
                tell.send(ends.local.clone()).expect("the client waits");
                Vec::new()
            }
            _ => server(happening),
        })
    });
    let address = told.recv().expect("the server listens");
    let asked = carry(client(address));
    (serving.join().expect("the server ends"), asked)
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn target(name: &str, kind: TargetKind) -> Target {
    let (open, prepare) = (Open::default(), Prepare::default());
    Target { name: name.into(), kind, open, prepare, remove: false, origin: Origin::default() }
}

/// A plan that would go on for an hour, on these connections.
fn plan(connections: &[Connection]) -> Plan {
    let mut targets = vec![target("nothing", TargetKind::Nothing { bytes: 1 << 60 })];
    targets.extend(connections.iter().map(|number| {
        let (transport, address) = ("connection".into(), number.to_string());
        target("connection", TargetKind::Endpoint { transport, address, listen: false })
    }));
    let pattern = Pattern::of(Verb::Read, Pick::Sequential, 4096);
    let mut job = Job::new("idle", "null", vec![0], Workload::Pattern(Box::new(pattern)));
    job.limit.time_ns = Some(3_600_000_000_000);
    let phase = Phase { name: "idle".into(), jobs: vec![job], ..Phase::default() };
    Plan { targets, phases: vec![phase], ..Plan::default() }
}

#[test]
fn streams_are_read_as_far_as_was_asked() {
    let mut seen = Vec::new();
    let server = move |happening: Happening| match happening.input {
        Input::Accepted { connection, .. } => vec![Action::Read { connection, most: Some(5) }],
        Input::Bytes(connection, bytes) => {
            seen.extend(bytes);
            match seen.as_slice() {
                b"hello" => vec![
                    Action::Send(connection, b"go on".to_vec()),
                    Action::Wake(happening.at_ns + 50_000_000),
                ],
                text if text.ends_with(b".") => {
                    vec![
                        Action::Print(String::from_utf8_lossy(text).into()),
                        Action::Close(connection),
                        Action::End(3),
                    ]
                }
                _ => Vec::new(),
            }
        }
        // What came too early was not read before this.
        Input::Tick => vec![
            Action::Print(format!("{}|", seen.len())),
            Action::Read { connection: iodyno_model::conversation::FIRST_ACCEPTED, most: None },
        ],
        _ => Vec::new(),
    };
    let client = |address: String| {
        move |happening: Happening| match happening.input {
            Input::Began => vec![connect("tcp", &address)],
            Input::Ready(..) => vec![Action::Send(1, bytes("hello, world."))],
            Input::Closed(1) => vec![Action::End(4)],
            _ => Vec::new(),
        }
    };
    let ((served, ears), (asked, _)) = talk("tcp", server, client);
    assert_eq!((served, asked), (3, 4));
    assert_eq!(ears.printed, "5|hello, world.");
}

#[test]
fn datagrams_get_sockets_of_their_own() {
    let mut answered = 0;
    let server = move |happening: Happening| match happening.input {
        Input::Datagram { at, from, bytes } if bytes == b"ask" => {
            answered += 1;
            let connection = 10 + answered;
            vec![Action::Answer { at, connection, to: from }, Action::Send(connection, b"reply".to_vec())]
        }
        // From now on it comes to the new socket.
        Input::Bytes(11, bytes) => {
            vec![Action::Print(String::from_utf8_lossy(&bytes).into()), Action::End(0)]
        }
        _ => Vec::new(),
    };
    let client = |address: String| {
        move |happening: Happening| match happening.input {
            Input::Began => vec![connect("udp", &address)],
            Input::Ready(..) => vec![Action::Send(1, bytes("ask"))],
            Input::Bytes(1, reply) => vec![
                Action::Print(String::from_utf8_lossy(&reply).into()),
                Action::Send(1, bytes("more")),
                Action::End(0),
            ],
            _ => Vec::new(),
        }
    };
    let ((_, served), (_, asked)) = talk("udp", server, client);
    assert_eq!((served.printed.as_str(), asked.printed.as_str()), ("more", "reply"));
}

#[test]
fn a_run_has_its_connection_for_itself_until_it_is_stopped() {
    let (first, mut bytes_seen) = (iodyno_model::conversation::FIRST_ACCEPTED, Vec::new());
    let server = move |happening: Happening| match happening.input {
        Input::Accepted { connection, .. } => {
            vec![Action::Run { run: 7, plan: Box::new(plan(&[connection])), interim_ns: 20_000_000 }]
        }
        Input::Bytes(_, bytes) => {
            bytes_seen.extend(bytes);
            vec![Action::Print("read".into()), Action::Close(first), Action::End(0)]
        }
        Input::Told(7, event) if matches!(*event, Event::Interim(_)) => vec![Action::Stop(7)],
        Input::Ended(7, record) => {
            vec![Action::Print(format!("{} phase, {:?}; ", record.phases.len(), record.errors))]
        }
        _ => Vec::new(),
    };
    let client = |address: String| {
        move |happening: Happening| match happening.input {
            Input::Began => vec![connect("tcp", &address)],
            Input::Ready(..) => vec![Action::Send(1, bytes("early"))],
            Input::Closed(1) => vec![Action::End(0)],
            _ => Vec::new(),
        }
    };
    let ((_, served), _) = talk("tcp", server, client);
    assert_eq!(served.printed, "1 phase, []; read");
    assert_eq!(served.ended, [7]);
}

#[test]
fn what_cannot_be_had_is_said() {
    let step = |happening: Happening| match happening.input {
        Input::Began => vec![connect("tcp", "127.0.0.1:1")],
        Input::Failed(1, errno, what) => vec![
            Action::Print(format!("{errno} {what}; ")),
            Action::Run { run: 1, plan: Box::new(plan(&[5])), interim_ns: 0 },
        ],
        Input::Ended(1, record) => {
            vec![Action::Print(record.errors[0].message.clone()), Action::End(9)]
        }
        _ => Vec::new(),
    };
    let (status, ears) = carry(step);
    assert_eq!(status, 9);
    assert_eq!(ears.printed, format!("{} connect; connection 5 is not there to be used", libc::ECONNREFUSED));
}

#[test]
fn an_end_stops_what_runs() {
    let step = |happening: Happening| match happening.input {
        Input::Began => vec![Action::Run { run: 1, plan: Box::new(plan(&[])), interim_ns: 10_000_000 }],
        Input::Told(1, event) if matches!(*event, Event::Interim(_)) => vec![Action::End(0)],
        _ => Vec::new(),
    };
    let (status, ears) = carry(step);
    assert_eq!((status, ears.ended), (0, vec![1]));
}
