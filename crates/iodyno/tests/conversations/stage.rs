//! Two hosts, a link between them, and commands that are typed there.

use iodyno_dialect::{DIALECTS, Dialect, Loader, PathFacts, Request};
use iodyno_engine::peer::Listener;
use iodyno_engine::peer::simulated::{self, BEGAN_UNIX_NS, Link, Party};
use iodyno_model::conversation::{Action, Conversation, Happening, Input, RunNumber};
use iodyno_model::{Event, Machine, Record};

pub const SERVER: &str = "10.0.0.1";
const CLIENT: &str = "10.0.0.2";
pub const SECOND_NS: u64 = 1_000_000_000;

/// A world in which there is nothing but the time.
pub struct Nothing {
    host: &'static str,
}

impl Nothing {
    pub fn at(host: &'static str) -> Nothing {
        Nothing { host }
    }
}

impl Loader for Nothing {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("{path}: no such file"))
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn machine(&self) -> Machine {
        Machine { host: self.host.into(), kernel: "Linux 6.12".into(), cpus: 1, ..Machine::default() }
    }

    fn look(&self, _: &str) -> Option<PathFacts> {
        None
    }

    fn now_unix_ns(&self) -> u64 {
        BEGAN_UNIX_NS
    }

    fn entropy(&mut self) -> Result<[u8; 32], String> {
        let mut entropy = [7; 32];
        entropy[31] = self.host.as_bytes().last().copied().unwrap_or(0);
        Ok(entropy)
    }
}

/// What a command says, and the records of its runs.
#[derive(Default)]
pub struct Said {
    /// Its exit status; none: it had not ended.
    pub status: Option<u8>,
    /// What it printed. Lines of standard error begin with `! `.
    pub text: String,
    /// Its runs in the order in which they ended.
    pub records: Vec<Record>,
}

impl Listener for Said {
    fn event(&mut self, _: RunNumber, event: &Event) {
        if let Event::Ended(record) = event {
            self.records.push((**record).clone());
        }
    }

    fn print(&mut self, text: &str) -> bool {
        self.text.push_str(text);
        true
    }

    fn complain(&mut self, text: &str) {
        text.lines().for_each(|line| self.text.push_str(&format!("! {line}\n")));
    }
}

impl Said {
    /// Bytes and operations of a job of a run, and when the job ended, ns.
    pub fn job(&self, run: usize, job: usize) -> (u64, u64, u64) {
        let phase = &self.records[run].phases[0];
        let tally = &phase.jobs[job].tally;
        (tally.all_bytes(), tally.all_operations(), tally.last_done_ns)
    }

    /// What the engine counted of a job's own.
    pub fn fact(&self, run: usize, job: usize, name: &str) -> u64 {
        let facts = &self.records[run].phases[0].jobs[job].workers[0].facts;
        facts.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value)
    }
}

/// A server's command, a client's, and what becomes of them.
pub struct Scene {
    link: Link,
    server: String,
    client: String,
    kills: Option<(bool, u64)>,
    signals: Vec<(u64, i32)>,
}

impl Scene {
    /// Both commands, each begun with its tool's name; a gigabit and a tenth of a millisecond between them.
    pub fn of(server: &str, client: &str) -> Scene {
        let (server, client) = (server.into(), client.into());
        Scene { link: Link::default(), server, client, kills: None, signals: Vec::new() }
    }

    /// Over another link.
    pub fn over(self, link: Link) -> Scene {
        Scene { link, ..self }
    }

    /// The server's process is killed at a time, ns.
    pub fn server_killed(self, at_ns: u64) -> Scene {
        Scene { kills: Some((true, at_ns)), ..self }
    }

    /// The client's process is killed at a time, ns. The server is waited for.
    pub fn client_killed(self, at_ns: u64) -> Scene {
        Scene { kills: Some((false, at_ns)), ..self }
    }

    /// The client gets a signal at a time, ns.
    pub fn client_gets(mut self, signal: i32, at_ns: u64) -> Scene {
        self.signals.push((at_ns, signal));
        self
    }

    /// Plays it: what the server says, and what the client says. A server that goes on is left some seconds after the client.
    pub fn play(&self) -> [Said; 2] {
        let (mut server, mut client) =
            (conversation(&self.server, SERVER), conversation(&self.client, CLIENT));
        let (mut served, mut asked) = (Said::default(), Said::default());
        let killed = |server: bool| self.kills.filter(|(which, _)| *which == server).map(|(_, at_ns)| at_ns);
        let once = self.server.ends_with(" -1");
        let parties = vec![
            Party {
                host: SERVER.into(),
                conversation: server.as_mut(),
                listener: &mut served,
                begins_ns: 0,
                awaited: once && killed(true).is_none(),
                signals: Vec::new(),
                killed_ns: killed(true),
            },
            Party {
                host: CLIENT.into(),
                conversation: client.as_mut(),
                listener: &mut asked,
                begins_ns: 1_000_000,
                awaited: true,
                signals: self.signals.clone(),
                killed_ns: killed(false),
            },
        ];
        let statuses = simulated::converse(&self.link, parties);
        (served.status, asked.status) = (statuses[0], statuses[1]);
        [served, asked]
    }

    /// Plays it twice, which must come to the same, and compares what both say with a golden file.
    pub fn golden(&self, name: &str) -> [Said; 2] {
        let [said, again] = [self.play(), self.play()];
        let text = self.script(&said);
        assert_eq!(text, self.script(&again), "{name}: twice the same is not the same");
        compare(name, &text);
        said
    }

    fn script(&self, said: &[Said; 2]) -> String {
        let part = |command: &str, said: &Said| {
            let end = said.status.map_or("goes on".into(), |status| format!("ends with {status}"));
            let version = format!("iodyno {}", env!("CARGO_PKG_VERSION"));
            format!("$ {command}\n{}# {end}\n", said.text.replace(&version, "iodyno VERSION"))
        };
        format!("{}\n{}", part(&self.server, &said[0]), part(&self.client, &said[1]))
    }
}

/// A tool.
pub fn dialect(name: &str) -> &'static Dialect {
    DIALECTS.iter().find(|dialect| dialect.name == name).expect("a dialect of that name")
}

/// One that speaks no protocol of ours: it answers whatever comes first with the same bytes, and leaves.
struct Stranger {
    port: u16,
    says: Vec<u8>,
}

impl Stranger {
    /// `stranger PORT BYTES`, in hexadecimal.
    fn of(mut words: impl Iterator<Item = String>) -> Stranger {
        let port = words.next().and_then(|port| port.parse().ok()).expect("a port");
        let says = words.next().unwrap_or_default();
        let byte = |at: usize| u8::from_str_radix(&says[at..at + 2], 16).expect("hexadecimal");
        Stranger { port, says: (0..says.len()).step_by(2).map(byte).collect() }
    }
}

impl Conversation for Stranger {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        match happening.input {
            Input::Began => {
                let (transport, address) = ("tcp".into(), format!(":{}", self.port));
                vec![Action::Listen { place: 1, transport, address, socket_options: Vec::new() }]
            }
            Input::Bytes(connection, _) => {
                vec![Action::Send(connection, self.says.clone()), Action::Close(connection)]
            }
            _ => Vec::new(),
        }
    }
}

/// The conversation that a command line asks for.
fn conversation(command: &str, host: &'static str) -> Box<dyn Conversation> {
    let mut words = command.split_whitespace().map(String::from);
    let name = words.next().unwrap_or_default();
    if name == "stranger" {
        return Box::new(Stranger::of(words));
    }
    match (dialect(&name).lower)(&words.collect::<Vec<_>>(), &mut Nothing::at(host)) {
        Ok(Request::Converse(talk)) => talk.conversation,
        Ok(Request::Refuse { err, .. }) => panic!("`{command}` is refused: {err}"),
        Ok(_) => panic!("`{command}` does not converse"),
        Err(wrong) => panic!("`{command}` is wrong: {wrong:?}"),
    }
}

/// Compares text with a golden file, or rewrites it when `IODYNO_BLESS=1`.
pub fn compare(name: &str, text: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/conversations");
    let path = folder.join(format!("{name}.txt"));
    if std::env::var_os("IODYNO_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(&path, text).expect("a golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let line = text.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or_else(|| text.lines().count().min(expected.lines().count()));
    assert!(
        text == expected,
        "{name} differs from its golden file from line {}:\n expected: {:?}\n but was:  {:?}\n(IODYNO_BLESS=1 rewrites it)",
        line + 1,
        expected.lines().nth(line),
        text.lines().nth(line)
    );
}
