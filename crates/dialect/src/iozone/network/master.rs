//! The master: goes from host to host, starts a client on each, and prints what both ends saw.

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input};
use iodyno_model::{Event, Plan, Verb};

use super::super::settings::{ClusterStream, KB};
use super::transfer::{self, Speed, Transfer, TransferEnd};
use super::{CLIENT_PORT, DATA_PORT, PATIENCE_NS, RESULT_PORT};
use crate::address::joined;
use crate::conversation::{end_by, endpoint};

const DATA_PLACE: Connection = 1;
const RESULT_PLACE: Connection = 2;
const SENDS: u32 = 1;
const RECEIVES: u32 = 2;
/// How often it is looked whether the client sends, ns.
const LOOK_NS: u64 = 1_000_000_000;

/// The user's remote shell, with its arguments; called with a host and a command.
pub(super) struct Shell(pub(super) String);

impl Shell {
    /// The command by which a client is started.
    fn starts(&self, client: &ClusterStream, master: &str, transfer: Transfer) -> String {
        // This program by its own name takes that of the tool first.
        let own = client.program.rsplit('/').next() == Some("iodyno");
        let program = quoted(&client.program) + if own { " iozone" } else { "" };
        let (record, size) = (transfer.record / KB, transfer.bytes() / KB);
        let (shell, host, master) = (&self.0, quoted(&client.host), quoted(master));
        format!("{shell} {host} {program} -+s -t 1 -r {record} -s {size} -+c {master} -+t")
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-=:~".contains(letter);
    match word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What is known of the client at hand.
#[derive(Default)]
struct Seen {
    sent: Option<Speed>,
    received: Option<Speed>,
    /// What the client has told: what it received, and what it sent.
    told: Vec<Speed>,
    /// A message of it that is on its way.
    message: Vec<u8>,
    /// The connection that it comes over.
    results: Option<Connection>,
    /// Lines that were printed of each way.
    printed: usize,
}

pub(super) struct Master {
    name: String,
    shell: Shell,
    clients: Vec<ClusterStream>,
    transfer: Transfer,
    /// The client at hand.
    at: usize,
    seen: Seen,
    /// When the client is given up, ns since the conversation began; none: it is called, or sends.
    due_ns: Option<u64>,
}

impl Master {
    pub(super) fn new(name: String, shell: Shell, clients: Vec<ClusterStream>, transfer: Transfer) -> Master {
        Master { name, shell, clients, transfer, at: 0, seen: Seen::default(), due_ns: None }
    }

    fn ways(&self, host: &str) -> [String; 2] {
        [format!("{} to {host}", self.name), format!("{host} to {}", self.name)]
    }

    /// What will be run: to each client and back.
    pub(super) fn plan(&self) -> Plan {
        let mut plan = transfer::plan();
        for (name, verb, address) in self.clients.iter().flat_map(|client| {
            let [to, from] = self.ways(&client.host);
            let near = (from, Verb::Recv, format!(":{DATA_PORT}"));
            [(to, Verb::Send, joined(&client.host, CLIENT_PORT)), near]
        }) {
            plan.phases.push(self.transfer.phase(&name, verb, plan.targets.len(), None));
            plan.targets.push(endpoint(&name, "tcp", address, verb == Verb::Recv));
        }
        plan
    }

    fn heading(&self) -> String {
        let Transfer { record, count } = self.transfer;
        let stars = "*".repeat(51);
        format!(
            "Checking {} clients\n\n{stars}\n* >>>>>     Client Network Speed check      <<<<< *\n{stars}\n\n\
             Master: {}\nTransfer size {record} bytes  \nCount {count}\nTotal size {} kbytes  \n",
            self.clients.len(),
            self.name,
            self.transfer.bytes() / KB
        )
    }

    fn begin(&self) -> Vec<Action> {
        let place = |place, port: u16| Action::Listen {
            place,
            transport: "tcp".into(),
            address: format!(":{port}"),
            socket_options: Vec::new(),
        };
        vec![Action::Print(self.heading()), place(DATA_PLACE, DATA_PORT), place(RESULT_PLACE, RESULT_PORT)]
    }

    /// Starts the client at hand, in the background: it ends when all was moved. What receives is ready before it sends.
    fn start(&mut self) -> Vec<Action> {
        let Some(client) = self.clients.get(self.at) else {
            return vec![Action::End(0)];
        };
        let command = self.shell.starts(client, &self.name, self.transfer);
        let [to, from] = self.ways(&client.host);
        let sends = TransferEnd::To(joined(&client.host, CLIENT_PORT));
        let sends = self.transfer.plan(&to, &sends, Some(PATIENCE_NS));
        let receives = self.transfer.plan(&from, &TransferEnd::From(DATA_PLACE), None);
        (self.seen, self.due_ns) = (Seen::default(), None);
        vec![
            Action::Print("\n".into()),
            Action::Run { run: RECEIVES, plan: receives, interim_ns: LOOK_NS },
            Action::Command(format!("{command} >/dev/null &")),
            Action::Run { run: SENDS, plan: sends, interim_ns: 0 },
        ]
    }

    fn host(&self) -> &str {
        self.clients.get(self.at).map_or("", |client| &client.host)
    }

    fn called(&mut self, connection: Connection) -> Vec<Action> {
        if self.seen.results.is_some() || self.seen.told.len() > 1 {
            return vec![Action::Close(connection)];
        }
        self.seen.results = Some(connection);
        self.seen.message.clear();
        Vec::new()
    }

    fn hears(&mut self, connection: Connection, bytes: &[u8], now_ns: u64) -> Vec<Action> {
        self.seen.message.extend_from_slice(bytes);
        if !Speed::is_whole(&self.seen.message) {
            return Vec::new();
        }
        let Some(speed) = Speed::read(&self.seen.message) else {
            let what = format!("it says something unexpected at port {RESULT_PORT}");
            return self.fail(&what, "both ends are iozone, or iodyno");
        };
        self.seen.results = None;
        self.seen.told.push(speed);
        let mut actions = vec![Action::Close(connection)];
        actions.extend(self.go_on(now_ns));
        actions
    }

    /// A run of ours has ended.
    fn moved(&mut self, run: u32, speed: Result<Speed, String>, now_ns: u64) -> Vec<Action> {
        let speed = match speed {
            Ok(speed) => speed,
            Err(why) => return self.fail(&why, &self.trial()),
        };
        *(if run == SENDS { &mut self.seen.sent } else { &mut self.seen.received }) = Some(speed);
        self.go_on(now_ns)
    }

    /// Prints what is known of both ends now; then the next client.
    fn go_on(&mut self, now_ns: u64) -> Vec<Action> {
        let due_ns = now_ns + PATIENCE_NS;
        self.due_ns = self.seen.sent.map(|_| due_ns);
        let mut actions = vec![Action::Wake(due_ns)];
        let ways =
            [(self.seen.sent, ["received", " sent   "]), (self.seen.received, [" sent   ", "received"])];
        while let Some((Some(ours), [its, mine])) = ways.get(self.seen.printed).copied()
            && let Some(told) = self.seen.told.get(self.seen.printed)
        {
            let lines = line(self.host(), its, *told, "kBytes") + &line(&self.name, mine, ours, "kbytes");
            actions.push(Action::Print(lines));
            self.seen.printed += 1;
        }
        if self.seen.printed == ways.len() {
            self.at += 1;
            actions.push(Action::Print("\n".into()));
            actions.extend(self.start());
        }
        actions
    }

    fn ticked(&mut self, now_ns: u64) -> Vec<Action> {
        match self.due_ns {
            Some(due_ns) if now_ns < due_ns => vec![Action::Wake(due_ns)],
            Some(_) => {
                let what = format!(
                    "it has not come to ports {DATA_PORT} and {RESULT_PORT} of {} in time",
                    self.name
                );
                self.fail(&what, &self.trial())
            }
            None => Vec::new(),
        }
    }

    /// By which a user sees what the client says.
    fn trial(&self) -> String {
        let started = self.clients.get(self.at);
        let started = started.map(|client| self.shell.starts(client, &self.name, self.transfer));
        format!("see what this says: {}", started.unwrap_or_default())
    }

    fn fail(&self, what: &str, hint: &str) -> Vec<Action> {
        let text = format!("iozone: the client of {}: {what}\n hint: {hint}\n", self.host());
        vec![Action::Complain(text), Action::End(1)]
    }
}

/// A line of the report.
fn line(host: &str, verb: &str, speed: Speed, unit: &str) -> String {
    let Speed { kb, rate } = speed;
    format!("{host:<20} {verb}  {kb:>10} {unit} @ {rate:>10.2} kBytes/sec \n")
}

impl Conversation for Master {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        let now_ns = happening.at_ns;
        match happening.input {
            Input::Began => self.begin(),
            Input::Failed(place @ (DATA_PLACE | RESULT_PLACE), _, what) => {
                let port = if place == DATA_PLACE { DATA_PORT } else { RESULT_PORT };
                let text = format!(
                    "iozone: port {port} cannot be used: {what}\n hint: another iozone -+t may run\n"
                );
                vec![Action::Complain(text), Action::End(1)]
            }
            Input::Ready(RESULT_PLACE, _) => self.start(),
            // Whoever comes beside the client.
            Input::Accepted { at: DATA_PLACE, connection, .. } => vec![Action::Close(connection)],
            Input::Accepted { at: RESULT_PLACE, connection, .. } => self.called(connection),
            Input::Bytes(connection, bytes) if Some(connection) == self.seen.results => {
                self.hears(connection, &bytes, now_ns)
            }
            Input::Closed(connection) | Input::Failed(connection, ..)
                if Some(connection) == self.seen.results =>
            {
                self.fail("it has gone", &self.trial())
            }
            Input::Tick => self.ticked(now_ns),
            Input::Told(RECEIVES, event) => {
                if let Event::Interim(record) = *event
                    && transfer::has_begun(&record)
                {
                    self.due_ns = None;
                }
                Vec::new()
            }
            Input::Ended(run, record) => self.moved(run, self.transfer.speed(&record), now_ns),
            Input::Interrupted(signal) => vec![end_by(signal)],
            _ => Vec::new(),
        }
    }
}
