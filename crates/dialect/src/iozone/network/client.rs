//! The client: receives, tells, sends, tells, and ends.

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input};

use super::transfer::{Speed, Transfer, TransferEnd};
use super::{CLIENT_PORT, DATA_PORT, PATIENCE_NS, RESULT_PORT, RETRY_NS};
use crate::address::joined;
use crate::conversation::end_by;

const PLACE: Connection = 1;
/// Each connection that tells the master something has the next number.
const FIRST_CALL: Connection = 2;
const RUN: u32 = 1;
/// How long the master may take to come, ns. It calls before the client is there: one that has not come by then has ended.
const MASTER_NS: u64 = 10_000_000_000;

/// What it does next, in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ClientStage {
    /// The master is to come, and to send.
    Receives,
    TellsReceived(Speed),
    Sends,
    TellsSent(Speed),
}

pub(super) struct Client {
    master: String,
    transfer: Transfer,
    stage: ClientStage,
    call: Connection,
    /// When the master is given up that is told something, ns since the conversation began; none: it is told nothing.
    due_ns: Option<u64>,
}

impl Client {
    pub(super) fn new(master: String, transfer: Transfer) -> Client {
        Client { master, transfer, stage: ClientStage::Receives, call: FIRST_CALL, due_ns: None }
    }

    fn run(&self, name: &str, way: &TransferEnd, patience_ns: u64) -> Action {
        Action::Run { run: RUN, plan: self.transfer.plan(name, way, Some(patience_ns)), interim_ns: 0 }
    }

    /// Goes on to a stage that tells the master something.
    fn tell(&mut self, stage: ClientStage, now_ns: u64) -> Action {
        self.stage = stage;
        self.due_ns = Some(now_ns + PATIENCE_NS);
        self.connect()
    }

    fn connect(&mut self) -> Action {
        self.call += 1;
        Action::Connect {
            connection: self.call,
            transport: "tcp".into(),
            address: joined(&self.master, RESULT_PORT),
            socket_options: Vec::new(),
            timeout_ns: PATIENCE_NS,
        }
    }

    /// The master is there.
    fn stands(&mut self) -> Vec<Action> {
        self.due_ns = None;
        let told = |speed: Speed| vec![Action::Send(self.call, speed.message()), Action::Close(self.call)];
        match self.stage {
            ClientStage::TellsReceived(speed) => {
                let mut actions = told(speed);
                self.stage = ClientStage::Sends;
                let way = TransferEnd::To(joined(&self.master, DATA_PORT));
                actions.push(self.run("to the master", &way, PATIENCE_NS));
                actions
            }
            ClientStage::TellsSent(speed) => {
                let mut actions = told(speed);
                actions.push(Action::End(0));
                actions
            }
            ClientStage::Receives | ClientStage::Sends => Vec::new(),
        }
    }

    /// Not there yet, or never.
    fn failed(&self, now_ns: u64, what: &str) -> Vec<Action> {
        match self.due_ns {
            Some(due_ns) if now_ns < due_ns => vec![Action::Wake(now_ns + RETRY_NS)],
            Some(_) => fail(&format!("the master {} is not reached: {what}", self.master)),
            None => Vec::new(),
        }
    }
}

fn fail(message: &str) -> Vec<Action> {
    vec![Action::Complain(format!("iozone: {message}\n")), Action::End(1)]
}

impl Conversation for Client {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        let now_ns = happening.at_ns;
        match happening.input {
            Input::Began => vec![Action::Listen {
                place: PLACE,
                transport: "tcp".into(),
                address: format!(":{CLIENT_PORT}"),
                socket_options: Vec::new(),
            }],
            Input::Ready(PLACE, _) => vec![self.run("from the master", &TransferEnd::From(PLACE), MASTER_NS)],
            Input::Failed(PLACE, _, what) => fail(&format!("port {CLIENT_PORT} cannot be used: {what}")),
            Input::Ready(call, _) if call == self.call => self.stands(),
            Input::Failed(call, _, what) if call == self.call => self.failed(now_ns, &what),
            Input::Tick if self.due_ns.is_some() => vec![self.connect()],
            Input::Ended(RUN, record) => match (self.transfer.speed(&record), self.stage) {
                (Ok(speed), ClientStage::Receives) => {
                    vec![Action::Close(PLACE), self.tell(ClientStage::TellsReceived(speed), now_ns)]
                }
                (Ok(speed), _) => vec![self.tell(ClientStage::TellsSent(speed), now_ns)],
                (Err(why), _) => fail(&format!("the master {}: {why}", self.master)),
            },
            Input::Interrupted(signal) => vec![end_by(signal)],
            _ => Vec::new(),
        }
    }
}
