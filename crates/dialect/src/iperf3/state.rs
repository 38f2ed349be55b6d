//! The control connection's bytes: states, errors by number, messages with their length before them.
//!
//! It reads what comes in pieces and is bounded in what it keeps.

use serde_json::Value;

/// States, one byte each.
pub const TEST_START: u8 = 1;
/// Data flows.
pub const TEST_RUNNING: u8 = 2;
/// The client has seen enough.
pub const TEST_END: u8 = 4;
/// The client may say what it wants.
pub const PARAM_EXCHANGE: u8 = 9;
/// The client may open its streams.
pub const CREATE_STREAMS: u8 = 10;
/// The server ends.
pub const SERVER_TERMINATE: u8 = 11;
/// The client ends.
pub const CLIENT_TERMINATE: u8 = 12;
/// Both say what they counted.
pub const EXCHANGE_RESULTS: u8 = 13;
/// It is over.
pub const DISPLAY_RESULTS: u8 = 14;
/// The client goes.
pub const IPERF_DONE: u8 = 16;
/// The server serves somebody else.
pub const ACCESS_DENIED: u8 = 0xff;
/// Two numbers follow: the error's, and the system's.
pub const SERVER_ERROR: u8 = 0xfe;

/// A cookie: 36 letters and a zero.
pub const COOKIE_BYTES: usize = 37;
/// The longest parameters that are read.
pub const PARAMS_MOST: usize = 8 << 10;
/// The longest results of a client that are read.
pub const CLIENT_RESULTS_MOST: usize = 1 << 20;
/// The longest results of a server that are read: its report is among them.
pub const SERVER_RESULTS_MOST: usize = 16 << 20;

/// iperf3's own numbers for what went wrong.
pub const OMIT: i32 = 12;
/// Test too long.
pub const DURATION: i32 = 5;
/// Too many streams.
pub const STREAMS: i32 = 6;
/// Block too large.
pub const BLOCK: i32 = 7;
/// Socket buffers too large.
pub const BUFFER: i32 = 8;
/// Segment too large.
pub const MSS: i32 = 10;
/// SCTP cannot be had.
pub const NO_SCTP: i32 = 18;
/// Burst too large.
pub const BURST: i32 = 15;
/// Datagram too large or too small.
pub const DATAGRAM: i32 = 20;
/// Traffic class out of bounds.
pub const TOS: i32 = 21;
/// The rate asked for is above the server's limit, or became so.
pub const TOTAL_RATE: i32 = 27;
/// Both ways, twice.
pub const BOTH_WAYS: i32 = 25;
/// Longer than the server allows.
pub const MOST_TIME: i32 = 37;
/// The parameters make no sense.
pub const RECEIVE_PARAMS: i32 = 114;
/// The control connection broke.
pub const CONTROL_CLOSED: i32 = 109;
/// The server is busy.
pub const BUSY: i32 = 121;
/// The congestion control cannot be had.
pub const CONGESTION: i32 = 134;
/// Not let in.
pub const NOT_ALLOWED: i32 = 142;
/// Nothing came.
pub const NO_DATA: i32 = 144;
/// It did not end.
pub const EXPIRED: i32 = 160;

/// No place to listen at.
pub const LISTEN: i32 = 102;
/// A stream cannot be had.
pub const STREAM: i32 = 203;
/// The run did not begin.
pub const RUN: i32 = 101;
/// What a server answers to the hello of a UDP stream.
pub const HELLO_ANSWER: [u8; 4] = *b"6789";

/// What an error's number means.
pub fn meaning(error: i32) -> String {
    let known = match error {
        OMIT => "bogus value for --omit",
        DURATION => "test duration valid values are 0 to 86400 seconds",
        STREAMS => "number of parallel streams too large (maximum = 128)",
        BLOCK => "block size too large (maximum = 1048576 bytes)",
        BUFFER => "socket buffer size too large (maximum = 536870912 bytes)",
        MSS => "TCP MSS too large (maximum = 32767 bytes)",
        NO_SCTP => "no SCTP support available",
        BURST => "invalid burst count (maximum = 1000)",
        DATAGRAM => "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)",
        TOS => "bad TOS value (must be between 0 and 255 inclusive)",
        TOTAL_RATE => "total required bandwidth is larger than server limit",
        BOTH_WAYS => "cannot be both reverse and bidirectional",
        MOST_TIME => "client's requested duration exceeds the server's maximum permitted limit",
        RECEIVE_PARAMS => "unable to receive parameters from client",
        CONTROL_CLOSED => "control socket has closed unexpectedly",
        BUSY => "the server is busy running a test. try again later",
        CONGESTION => {
            "unable to set TCP_CONGESTION: supplied congestion control algorithm not supported on this host"
        }
        NOT_ALLOWED => "test authorization failed",
        NO_DATA => "idle timeout for receiving data",
        EXPIRED => "server test duration expired",
        LISTEN => "unable to start stream listener",
        STREAM => "unable to initialize stream",
        RUN => "test initialization failed",
        _ => return format!("int_errno={error}"),
    };
    known.into()
}

/// The bytes of a server's error.
pub fn server_error(error: i32, errno: i32) -> Vec<u8> {
    let mut bytes = vec![SERVER_ERROR];
    bytes.extend(error.to_be_bytes());
    bytes.extend(errno.to_be_bytes());
    bytes
}

/// A message: its length, then its text.
pub fn message(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

/// What came and was not yet understood.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// More came. More than a message and a little can be is not kept.
    pub fn add(&mut self, bytes: &[u8]) {
        let room = (SERVER_RESULTS_MOST + 64).saturating_sub(self.bytes.len());
        self.bytes.extend(&bytes[..bytes.len().min(room)]);
    }

    /// The byte that comes next.
    pub fn first(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// One byte.
    pub fn state(&mut self) -> Option<u8> {
        self.exact(1).map(|bytes| bytes[0])
    }

    /// So many bytes, once they are there.
    pub fn exact(&mut self, count: usize) -> Option<Vec<u8>> {
        (self.bytes.len() >= count).then(|| self.bytes.drain(..count).collect())
    }

    /// Both numbers of a server's error.
    pub fn error(&mut self) -> Option<(i32, i32)> {
        let bytes = self.exact(8)?;
        let number = |at: usize| i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Some((number(0), number(4)))
    }

    /// A message, once all of it is there.
    ///
    /// # Errors
    /// It is longer than allowed, or no JSON.
    pub fn json(&mut self, most: usize) -> Result<Option<Value>, String> {
        let Some(head) = self.bytes.get(..4) else { return Ok(None) };
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if length == 0 || length > most {
            return Err(format!("a message of {length} bytes: at most {most} are read"));
        }
        if self.bytes.len() < 4 + length {
            return Ok(None);
        }
        let message: Vec<u8> = self.bytes.drain(..4 + length).skip(4).collect();
        let text = message.split(|byte| *byte == 0).next().unwrap_or_default();
        serde_json::from_slice(text).map(Some).map_err(|error| format!("no JSON: {error}"))
    }
}

/// The name of a state, for `-d`.
pub fn name(state: u8) -> &'static str {
    match state {
        TEST_START => "TEST_START",
        TEST_RUNNING => "TEST_RUNNING",
        TEST_END => "TEST_END",
        PARAM_EXCHANGE => "PARAM_EXCHANGE",
        CREATE_STREAMS => "CREATE_STREAMS",
        SERVER_TERMINATE => "SERVER_TERMINATE",
        CLIENT_TERMINATE => "CLIENT_TERMINATE",
        EXCHANGE_RESULTS => "EXCHANGE_RESULTS",
        DISPLAY_RESULTS => "DISPLAY_RESULTS",
        IPERF_DONE => "IPERF_DONE",
        ACCESS_DENIED => "ACCESS_DENIED",
        SERVER_ERROR => "SERVER_ERROR",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_pieces() {
        let bytes = message("{\"a\":1}");
        let mut inbox = Inbox::default();
        for byte in &bytes[..bytes.len() - 1] {
            inbox.add(&[*byte]);
            assert_eq!(inbox.json(100), Ok(None));
        }
        inbox.add(&[bytes[bytes.len() - 1], TEST_START, TEST_RUNNING]);
        assert_eq!(inbox.json(100).unwrap().unwrap()["a"], 1);
        assert_eq!(
            (inbox.state(), inbox.state(), inbox.state()),
            (Some(TEST_START), Some(TEST_RUNNING), None)
        );
        inbox.add(&server_error(TOTAL_RATE, 5));
        assert_eq!((inbox.state(), inbox.error()), (Some(SERVER_ERROR), Some((27, 5))));
    }

    #[test]
    fn lengths_are_bounded() {
        for bad in [&[0xff, 0xff, 0xff, 0xff][..], &[0, 0, 0, 0], &[0, 0, 0x20, 1]] {
            let mut inbox = Inbox::default();
            inbox.add(bad);
            assert!(inbox.json(PARAMS_MOST).is_err());
        }
        let mut inbox = Inbox::default();
        inbox.add(&message(&"[".repeat(8000)));
        assert!(inbox.json(PARAMS_MOST).is_err(), "nested too deep");
        (0..40).for_each(|_| inbox.add(&vec![0; 1 << 20]));
        assert!(inbox.bytes.len() <= SERVER_RESULTS_MOST + 64);
    }
}
