//! A control protocol as a state machine without sockets: what happened in, what is to be done out.
//!
//! A dialect implements it, the door boxes it, the engine room's `peer` owns the sockets and pumps it. So a
//! captured conversation is a unit test, and mangled input needs no network. It knows no clock either: it is told the
//! time with everything that happens.

use crate::event::Event;
use crate::plan::Plan;
use crate::record::Record;

/// Which connection, or place where peers are awaited: a number that the conversation chooses when it asks for one.
/// [`Input::Accepted`] brings numbers of the engine room's choice, from [`FIRST_ACCEPTED`] on.
pub type Connection = u32;

/// Connections that peers opened have numbers from here on; a conversation chooses below.
pub const FIRST_ACCEPTED: Connection = 1 << 24;

/// Which run: a number that the conversation chooses. Several may run at a time.
pub type RunNumber = u32;

/// What happened, and when: ns since the conversation began.
#[derive(Debug)]
pub struct Happening {
    /// When, ns since the conversation began.
    pub at_ns: u64,
    /// Wall-clock time then, ns since 1970.
    pub unix_ns: u64,
    /// What.
    pub input: Input,
}

/// What happened outside.
#[derive(Debug)]
pub enum Input {
    /// The conversation begins.
    Began,
    /// What [`Action::Listen`] or [`Action::Connect`] asked for stands.
    Ready(Connection, Ends),
    /// It could not be had, or broke later: the system's error number (0: none), and what failed in words.
    Failed(Connection, i32, String),
    /// A peer connected at a place.
    Accepted {
        /// The place.
        at: Connection,
        /// The new connection.
        connection: Connection,
        /// Both ends.
        ends: Ends,
    },
    /// Bytes of a stream, or one datagram of a connected socket. No more is read at a time than 64 KiB.
    Bytes(Connection, Vec<u8>),
    /// A datagram came to a place where datagrams are awaited.
    Datagram {
        /// The place.
        at: Connection,
        /// The sender's address.
        from: String,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// The peer has closed its side; nothing more will come.
    Closed(Connection),
    /// So much waits to be sent on a connection that its peer is slow (`true`); all of that has gone (`false`).
    Slow(Connection, bool),
    /// The time has come that [`Action::Wake`] named.
    Tick,
    /// What a run tells: everything but its [`Event::Ended`].
    Told(RunNumber, Box<Event>),
    /// A run has ended: its record, or why it could not begin (then `errors` says so and there are no phases).
    /// The connections lent to it are the conversation's again.
    Ended(RunNumber, Box<Record>),
    /// The user wants it to end: the signal's number.
    Interrupted(i32),
}

/// The two ends of a connection, or the near one of a place. Addresses as `1.2.3.4:5`, `[::1]:5`, a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Ours.
    pub local: String,
    /// The peer's; empty for a place.
    pub peer: String,
    /// What its protocol says of it now, where it says something.
    pub socket: SocketFacts,
}

/// What the system made of a socket's socket_options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketFacts {
    /// The descriptor: what some tools print as the stream's number.
    pub descriptor: i32,
    /// Send buffer as the system counts it, bytes.
    pub send_buffer_bytes: u64,
    /// Receive buffer as the system counts it, bytes.
    pub receive_buffer_bytes: u64,
    /// Largest segment, bytes; 0: none.
    pub mss: u64,
    /// Congestion control; empty: none.
    pub congestion: String,
    /// Congestion window, bytes; 0: none.
    pub cwnd_bytes: u64,
    /// Smoothed round trip, µs; 0: none was measured.
    pub rtt_us: u32,
}

/// What is to be done outside, in this order.
#[derive(Debug)]
pub enum Action {
    /// Wait for peers. `socket_options` are options of the `socket` engine (`nodelay`, `mss`, `window_bytes`, `device`, …).
    Listen {
        /// The number it gets.
        place: Connection,
        /// `tcp`, `tcp4`, `tcp6`, `udp`, `udp4`, `udp6`, `sctp`, `sctp4`, `sctp6`, `unix`; without a family: both where the system can.
        transport: String,
        /// `HOST:PORT`, `:PORT`; port 0: any, [`Input::Ready`] says which.
        address: String,
        /// Options of the socket.
        socket_options: Vec<(String, String)>,
    },
    /// Connect to a peer; a datagram socket is bound to it.
    Connect {
        /// The number it gets.
        connection: Connection,
        /// As of [`Action::Listen`].
        transport: String,
        /// `HOST:PORT`.
        address: String,
        /// Options of the socket; `bind=ADDRESS[:PORT]` is one of them.
        socket_options: Vec<(String, String)>,
        /// For how long it is tried, ns; 0: as long as the system does.
        timeout_ns: u64,
    },
    /// Make a connected datagram socket, bound as the place is, for the sender of a datagram.
    Answer {
        /// The place.
        at: Connection,
        /// The number it gets.
        connection: Connection,
        /// The sender, as [`Input::Datagram`] named it.
        to: String,
    },
    /// Set options of a socket that stands.
    Set(Connection, Vec<(String, String)>),
    /// Send bytes; all of them, as the peer takes them.
    Send(Connection, Vec<u8>),
    /// Read no more than so many bytes of a connection from now on; what comes later waits (for a run that it is lent to).
    /// None: read everything, as it is without this.
    Read {
        /// The connection.
        connection: Connection,
        /// Bytes.
        most: Option<usize>,
    },
    /// Send nothing more: the peer reads an end.
    Shut(Connection),
    /// Start a plan. Its targets of transport `connection` name connections or places, which are lent to it: nothing
    /// is read from them meanwhile.
    Run {
        /// The number it gets.
        run: RunNumber,
        /// The plan.
        plan: Box<Plan>,
        /// How often [`Event::Interim`] is wanted, ns after the start line; 0: never.
        interim_ns: u64,
    },
    /// Stop a running plan: it ends with what it has.
    Stop(RunNumber),
    /// Close a connection or a place.
    Close(Connection),
    /// Add what the other end counted to the record: of the last job of that name whose run has ended.
    Peer(String, Vec<(String, u64)>),
    /// Say [`Input::Tick`] at this time, ns since the conversation began. A later wish replaces an earlier one.
    Wake(u64),
    /// Text for standard output, or for the file that takes its place.
    Print(String),
    /// Text for standard error.
    Complain(String),
    /// A file that a run elsewhere made, as its job asked: what was in it is lost.
    Write { path: String, bytes: Vec<u8> },
    /// Remove a file, if it is there: it was a sign, and was seen.
    Remove(String),
    /// Run a shell command to its end, as the peer or the user asked. Nothing else happens meanwhile.
    Command(String),
    /// It is over: everything that still runs is stopped and closed; the exit status.
    End(u8),
}

/// A control protocol.
pub trait Conversation: Send {
    /// What is to be done now that this has happened.
    fn step(&mut self, happening: Happening) -> Vec<Action>;
}
