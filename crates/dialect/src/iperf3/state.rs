//! The control connection's bytes: states, errors by number, messages with their length before them.
//!
//! It reads what comes in pieces and is bounded in what it keeps.

use serde_json::Value;

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        $($(#[$doc])* pub const $name: u8 = $number;)*

        /// The name of a state, for `-d`.
        pub fn name(state: u8) -> &'static str {
            match state {
                $($number => stringify!($name),)*
                _ => "unknown",
            }
        }
    };
}

// States, one byte each.
states! {
    /// The streams stand: the run is about to begin.
    TEST_START = 1;
    /// Data flows.
    TEST_RUNNING = 2;
    /// The client ends the test.
    TEST_END = 4;
    /// The client sends its parameters.
    PARAM_EXCHANGE = 9;
    /// The client may open its streams.
    CREATE_STREAMS = 10;
    /// The server ends.
    SERVER_TERMINATE = 11;
    /// The client ends.
    CLIENT_TERMINATE = 12;
    /// Both exchange their results.
    EXCHANGE_RESULTS = 13;
    /// It is over.
    DISPLAY_RESULTS = 14;
    /// The client goes.
    IPERF_DONE = 16;
    /// The server serves somebody else.
    ACCESS_DENIED = 0xff;
    /// Two numbers follow: the error's, and the system's.
    SERVER_ERROR = 0xfe;
}

/// iperf3's own numbers for what went wrong, with what they mean.
macro_rules! errors {
    ($($name:ident = $number:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: i32 = $number;)*

        /// What an error's number means.
        pub fn meaning(error: i32) -> String {
            match error {
                $($number => $meaning.into(),)*
                _ => format!("int_errno={error}"),
            }
        }
    };
}

errors! {
    OMIT = 12, "bogus value for --omit";
    DURATION = 5, "test duration valid values are 0 to 86400 seconds";
    STREAMS = 6, "number of parallel streams too large (maximum = 128)";
    BLOCK = 7, "block size too large (maximum = 1048576 bytes)";
    BUFFER = 8, "socket buffer size too large (maximum = 536870912 bytes)";
    MSS = 10, "TCP MSS too large (maximum = 32767 bytes)";
    NO_SCTP = 18, "no SCTP support available";
    BURST = 15, "invalid burst count (maximum = 1000)";
    DATAGRAM = 20, "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)";
    TOS = 21, "bad TOS value (must be between 0 and 255 inclusive)";
    TOTAL_RATE = 27, "total required bandwidth is larger than server limit";
    BOTH_WAYS = 25, "cannot be both reverse and bidirectional";
    MOST_TIME = 37, "client's requested duration exceeds the server's maximum permitted limit";
    RECEIVE_PARAMS = 114, "unable to receive parameters from client";
    CONTROL_CLOSED = 109, "control socket has closed unexpectedly";
    BUSY = 121, "the server is busy running a test. try again later";
    CONGESTION = 134, "unable to set TCP_CONGESTION: supplied congestion control algorithm not supported on this host";
    NOT_ALLOWED = 142, "test authorization failed";
    NO_DATA = 144, "idle timeout for receiving data";
    EXPIRED = 160, "server test duration expired";
    LISTEN = 102, "unable to start stream listener";
    STREAM = 203, "unable to initialize stream";
    RUN = 101, "test initialization failed";
}

/// A cookie: 36 letters and a zero.
pub const COOKIE_BYTES: usize = 37;
/// The longest parameters that are read.
pub const PARAMS_MOST: usize = 8 << 10;
/// The longest results of a client that are read.
pub const CLIENT_RESULTS_MOST: usize = 1 << 20;
/// The longest results of a server that are read: its report is among them.
pub const SERVER_RESULTS_MOST: usize = 16 << 20;

/// What a server answers to the hello of a UDP stream.
pub const HELLO_ANSWER: [u8; 4] = *b"6789";

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
