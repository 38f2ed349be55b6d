//! netperf's control records: 656 bytes each, a type, a second word, and words in network order with strings behind them.
//!
//! Only reads and writes bytes: any 656 bytes are a record, so nothing here can fail on what a peer sends. What a type
//! means is the client's and the server's business.

pub(super) const RECORD_BYTES: usize = 656;
/// Where the words behind type and second word begin.
const PAYLOAD: usize = 8;

/// Switches the peer's debugging on.
pub(super) const DEBUG_ON: i32 = 1;
/// The answer to both.
pub(super) const DEBUG_OK: i32 = 2;
/// Switches it off.
pub(super) const DEBUG_OFF: i32 = 3;
/// Asks how fast the peer's processors are; answered by the same type.
pub(super) const CPU_CALIBRATE: i32 = 5;
/// Proves knowledge of the server's word; not answered.
pub(super) const PASSPHRASE: i32 = 6;
/// The older request for a stream towards the server.
pub(super) const TCP_STREAM: i32 = 10;
/// Every test of today.
pub(super) const OMNI: i32 = 97;
/// The older request for connections that are closed at once.
pub(super) const TCP_CC: i32 = 300;

/// The data connection does not wait for small segments.
pub(super) const NODELAY: i32 = 1;
/// Each transaction has a connection of its own.
pub(super) const CONNECTIONS: i32 = 4;
/// The peer is to measure its processors.
pub(super) const MEASURE_CPU: i32 = 8;
/// Packets may be routed.
pub(super) const ROUTED: i32 = 0x20;
/// The peer's datagram socket is to be bound to ours.
pub(super) const CONNECTED: i32 = 0x4000;
/// Datagrams are not to be cut on the way.
pub(super) const DISCOVER_MTU: i32 = 0x1_0000;
/// An idle peer is asked whether it is there.
pub(super) const KEEPALIVE: i32 = i32::MIN;

/// Data goes away from the netserver.
pub(super) const TRANSMITS: i32 = 2;
/// Data comes to the netserver.
pub(super) const RECEIVES: i32 = 4;

/// Ours: netserver connects to another netserver and is one end of a test there. Answered once the connection stands, and
/// again with results. Only for who has proved to know the server's word.
pub(super) const CALL: i32 = 9001;
/// Ours: what was called for begins.
pub(super) const GO: i32 = 9003;

/// Where our own words lie: behind everything that netperf's records hold.
const OURS: usize = 120;
/// What stands there when a record is one of ours.
const OURS_MARK: i32 = 0x494f_4459;
/// Where the host and the port that are to be called lie.
const CALLED_HOST: usize = OURS + 2;
/// The most bytes of that host.
const CALLED_BYTES: usize = 128;
const CALLED_PORT: usize = CALLED_HOST + CALLED_BYTES / 4;

/// Ours: datagrams carry a number and the time at which they were sent.
pub(super) const STAMPED: i32 = 1;
/// Ours: data comes from another host than the control connection.
pub(super) const ELSEWHERE: i32 = 2;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Message(Box<[u8; RECORD_BYTES]>);

impl Message {
    /// A record of zeros, of a type.
    pub(super) fn new(kind: i32, second: i32) -> Self {
        let mut message = Message(Box::new([0; RECORD_BYTES]));
        message.0[..4].copy_from_slice(&kind.to_be_bytes());
        message.0[4..8].copy_from_slice(&second.to_be_bytes());
        message
    }

    /// The first record of what has come, which is taken away; none: there is no whole one yet.
    pub(super) fn take(came: &mut Vec<u8>) -> Option<Self> {
        let bytes: [u8; RECORD_BYTES] = came.get(..RECORD_BYTES)?.try_into().ok()?;
        came.drain(..RECORD_BYTES);
        Some(Message(Box::new(bytes)))
    }

    /// Its type.
    pub(super) fn kind(&self) -> i32 {
        self.at(0)
    }

    /// Its second word: the processor that is asked for, or what went wrong (0: nothing).
    pub(super) fn second(&self) -> i32 {
        self.at(4)
    }

    /// The word of that number.
    pub(super) fn word(&self, index: usize) -> i32 {
        self.at(PAYLOAD + 4 * index)
    }

    /// Puts a word in its place.
    pub(super) fn set(&mut self, index: usize, word: i32) {
        let at = PAYLOAD + 4 * index;
        self.0[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }

    /// The text that begins at a word, up to its zero or its most.
    pub(super) fn text(&self, index: usize, most: usize) -> String {
        let at = PAYLOAD + 4 * index;
        let end = (at + most).min(RECORD_BYTES);
        let bytes = &self.0[at..end];
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let plain =
            |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '?' };
        bytes[..length].iter().map(plain).collect()
    }

    /// Puts a text in its place, with a zero behind it.
    pub(super) fn set_text(&mut self, index: usize, most: usize, text: &str) {
        let at = PAYLOAD + 4 * index;
        let bytes = text.as_bytes();
        let length = bytes.len().min(most.saturating_sub(1));
        self.0[at..at + length].copy_from_slice(&bytes[..length]);
    }

    /// Our own switches; none: it is netperf's, or of one who does not know them.
    pub(super) fn ours(&self) -> Option<i32> {
        (self.word(OURS) == OURS_MARK).then(|| self.word(OURS + 1))
    }

    /// Marks it as ours, with our switches.
    pub(super) fn set_ours(&mut self, switches: i32) {
        self.set(OURS, OURS_MARK);
        self.set(OURS + 1, switches);
    }

    /// Whom a call goes to.
    pub(super) fn called(&self) -> (String, u16) {
        (self.text(CALLED_HOST, CALLED_BYTES), u16::try_from(self.word(CALLED_PORT)).unwrap_or(0))
    }

    /// Says whom a call goes to.
    pub(super) fn set_called(&mut self, host: &str, port: u16) {
        self.set_text(CALLED_HOST, CALLED_BYTES, host);
        self.set(CALLED_PORT, i32::from(port));
    }

    /// Counts of ours, two words each.
    pub(super) fn counts<const N: usize>(&self) -> [u64; N] {
        std::array::from_fn(|index| joined(self.word(OURS + 2 + 2 * index), self.word(OURS + 3 + 2 * index)))
    }

    /// Tells counts of ours.
    pub(super) fn set_counts(&mut self, counts: &[u64]) {
        for (index, count) in counts.iter().enumerate() {
            let (high, low) = halves(*count);
            self.set(OURS + 2 + 2 * index, high);
            self.set(OURS + 3 + 2 * index, low);
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    fn at(&self, at: usize) -> i32 {
        i32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }
}

/// The words of one kind of record, in their order.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($field:ident)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub(super) struct $name { $(pub(super) $field: i32,)* }

        impl $name {
            /// How many words; not behind every record's words is something else.
            #[allow(dead_code)]
            pub(super) const COUNT: usize = [$(stringify!($field)),*].len();

            /// From a record.
            pub(super) fn read(message: &Message) -> Self {
                let mut words = 0..;
                let mut next = || message.word(words.next().unwrap_or(0));
                $name { $($field: next(),)* }
            }

            /// Into a record.
            pub(super) fn write(&self, message: &mut Message) {
                for (index, word) in [$(self.$field),*].into_iter().enumerate() {
                    message.set(index, word);
                }
            }
        }
    };
}

words! {
    /// What the client wants of a test. Sizes and counts of -1: as usual.
    OmniRequest {
        send_buf_size send_size send_alignment send_offset send_width request_size recv_buf_size receive_size
        recv_alignment recv_offset recv_width response_size flags cpu_rate test_length so_rcvavoid so_sndavoid
        send_dirty_count recv_dirty_count recv_clean_count data_port ipfamily socket_type protocol direction
        netperf_port interval_burst interval_usecs netperf_ip0 netperf_ip1 netperf_ip2 netperf_ip3 netserver_ip0
        netserver_ip1 netserver_ip2 netserver_ip3 socket_prio socket_tos
    }
}

impl OmniRequest {
    /// A request of a protocol over IPv4 or IPv6 that leaves everything else to the server.
    pub(super) fn of(is_udp: bool, is_six: bool) -> Self {
        let usual = -1;
        OmniRequest {
            send_buf_size: usual,
            recv_buf_size: usual,
            send_size: usual,
            receive_size: usual,
            request_size: usual,
            response_size: usual,
            send_alignment: 8,
            recv_alignment: 8,
            send_width: 1,
            recv_width: 1,
            send_dirty_count: usual,
            recv_dirty_count: usual,
            recv_clean_count: usual,
            ipfamily: if is_six { 6 } else { 4 },
            socket_type: if is_udp { 2 } else { 1 },
            protocol: if is_udp { 17 } else { 6 },
            socket_prio: usual,
            socket_tos: usual,
            ..OmniRequest::default()
        }
    }
}

words! {
    /// What the server made of it.
    OmniResponse {
        recv_buf_size receive_size recv_width send_buf_size send_size send_width flags cpu_rate test_length
        so_rcvavoid so_sndavoid data_port interval_burst interval_usecs cpu_frequency security_info socket_prio
        socket_tos
    }
}

words! {
    /// What the server measured. Fractions are the bits of 32-bit numbers.
    OmniResults {
        bytes_received_hi bytes_received_lo recv_calls recv_buf_size bytes_sent_hi bytes_sent_lo send_calls
        send_buf_size failed_sends trans_received elapsed_time cpu_util cpu_user cpu_system cpu_iowait cpu_irq
        cpu_swintr serv_dem cpu_method num_cpus peak_cpu_id peak_cpu_util vendor device subvendor subdevice
        transport_retrans
    }
}

/// SCTP's number (RFC 9260).
pub(super) const SCTP: i32 = 132;

/// Where the name of the congestion control lies behind a request's words.
pub(super) const REQUEST_CONGESTION: usize = OmniRequest::COUNT;
/// Where it lies behind those of results: behind interface, driver, version, firmware, bus and slot.
pub(super) const RESULTS_CONGESTION: usize = OmniResults::COUNT + (16 + 32 + 32 + 32 + 32 + 16) / 4;
/// The most bytes of such a name.
pub(super) const CONGESTION_BYTES: usize = 16;
/// The method by which processors are measured: `/proc/stat`.
pub(super) const PROC_STAT: i32 = 8;

impl OmniResults {
    /// From a record. Its type is that of a response with its bytes turned round, or the right way round.
    pub(super) fn received(&self) -> u64 {
        joined(self.bytes_received_hi, self.bytes_received_lo)
    }

    /// Bytes that the server sent.
    pub(super) fn sent(&self) -> u64 {
        joined(self.bytes_sent_hi, self.bytes_sent_lo)
    }
}

/// Both halves of a count.
fn joined(high: i32, low: i32) -> u64 {
    (u64::from(high as u32) << 32) | u64::from(low as u32)
}

/// A count as its halves, the upper one first.
pub(super) fn halves(count: u64) -> (i32, i32) {
    ((count >> 32) as i32, count as i32)
}

/// The bits of a fraction.
pub(super) fn bits(value: f64) -> i32 {
    (value as f32).to_bits() as i32
}

/// The fraction of bits; what is not a number is 0.
pub(super) fn fraction(bits: i32) -> f64 {
    let value = f64::from(f32::from_bits(bits as u32));
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_those_of_the_captures() {
        assert_eq!((OmniRequest::COUNT, OmniResponse::COUNT, OmniResults::COUNT), (38, 18, 27));
        // Decoded capture of a TCP_STREAM of one second.
        let mut message = Message::new(OMNI, -1);
        let words = [
            -1, -1, 8, 0, 2, -1, -1, -1, 8, 0, 0, -1, 32, 0, 1, 0, 0, -1, -1, -1, 0, 4, 1, 6, 4, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, -1, -1,
        ];
        words.iter().enumerate().for_each(|(index, word)| message.set(index, *word));
        let request = OmniRequest::read(&message);
        assert_eq!((request.send_buf_size, request.flags, request.test_length), (-1, ROUTED, 1));
        assert_eq!((request.ipfamily, request.socket_type, request.protocol), (4, 1, 6));
        assert_eq!((request.direction, request.socket_prio, request.socket_tos), (RECEIVES, -1, -1));
        let mut again = Message::new(OMNI, -1);
        request.write(&mut again);
        assert!(again == message && again.bytes().len() == RECORD_BYTES && again.kind() == 97);
        // Words in network order from byte 8 on.
        assert_eq!(&again.bytes()[16..20], &[0, 0, 0, 8]);
    }

    #[test]
    fn results_hold_counts_in_halves_and_fractions_in_bits() {
        let mut message = Message::new(OMNI + 1, 0);
        let (hi, lo) = halves(0x1_d0b0_0000);
        let results = OmniResults {
            bytes_received_hi: hi,
            bytes_received_lo: lo,
            elapsed_time: bits(0.999864),
            transport_retrans: -1,
            ..OmniResults::default()
        };
        results.write(&mut message);
        message.set_text(RESULTS_CONGESTION, CONGESTION_BYTES, "bbr");
        let read = OmniResults::read(&message);
        assert_eq!((read.received(), read.transport_retrans), (0x1_d0b0_0000, -1));
        assert!((fraction(read.elapsed_time) - 0.999864).abs() < 1e-6);
        assert_eq!(message.text(RESULTS_CONGESTION, CONGESTION_BYTES), "bbr");
        assert_eq!(fraction(f32::NAN.to_bits() as i32), 0.0);
    }

    #[test]
    fn records_come_in_pieces() {
        let mut came = Message::new(OMNI, 7).bytes();
        came.extend(Message::new(DEBUG_ON, 0).bytes());
        let rest = came.split_off(700);
        let first = Message::take(&mut came).unwrap();
        assert_eq!((first.kind(), first.second(), came.len()), (OMNI, 7, 44));
        assert!(Message::take(&mut came).is_none());
        came.extend(rest);
        assert_eq!(Message::take(&mut came).unwrap().kind(), DEBUG_ON);
        assert!(came.is_empty());
    }
}
