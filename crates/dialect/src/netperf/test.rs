//! netperf's tests: what each does, and its title.

use crate::option;

/// Over what data goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Protocol {
    /// A stream.
    #[default]
    Tcp,
    /// Datagrams.
    Udp,
    /// A stream of messages.
    Sctp,
}

/// What a test does, seen from netperf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NetperfTest {
    /// The name it is asked for by.
    pub(super) name: &'static str,
    title: &'static str,
    /// Whether data goes out, and whether it comes in; both: requests and responses, none: connections alone.
    pub(super) sends: bool,
    pub(super) receives: bool,
    /// Whether each transaction has its own connection.
    pub(super) connects: bool,
    /// The protocol; none: TCP.
    pub(super) protocol: Option<Protocol>,
    /// Whether sending leaves the copying to the kernel.
    pub(super) sendfile: bool,
    /// Whether results are written by selectors rather than in a table of its own.
    pub(super) omni: bool,
}

impl Default for NetperfTest {
    fn default() -> Self {
        TESTS[0].clone()
    }
}

/// What kind of figures a test has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestShape {
    /// Bytes go out.
    Sends,
    /// Bytes come in.
    Receives,
    Transactions,
}

const fn test(name: &'static str, title: &'static str, sends: bool, receives: bool) -> NetperfTest {
    NetperfTest {
        name,
        title,
        sends,
        receives,
        connects: false,
        protocol: None,
        sendfile: false,
        omni: false,
    }
}

const fn datagrams(test: NetperfTest) -> NetperfTest {
    NetperfTest { protocol: Some(Protocol::Udp), ..test }
}

const fn sctp(test: NetperfTest) -> NetperfTest {
    NetperfTest { protocol: Some(Protocol::Sctp), ..test }
}

const TESTS: &[NetperfTest] = &[
    test("TCP_STREAM", "MIGRATED TCP STREAM TEST", true, false),
    test("TCP_MAERTS", "MIGRATED TCP MAERTS TEST", false, true),
    NetperfTest { sendfile: true, ..test("TCP_SENDFILE", "TCP SENDFILE TEST", true, false) },
    test("TCP_RR", "MIGRATED TCP REQUEST/RESPONSE TEST", true, true),
    NetperfTest {
        connects: true,
        ..test("TCP_CRR", "MIGRATED TCP Connect/Request/Response TEST", true, true)
    },
    NetperfTest { connects: true, ..test("TCP_CC", "TCP Connect/Close TEST", false, false) },
    datagrams(test("UDP_STREAM", "MIGRATED UDP STREAM TEST", true, false)),
    datagrams(test("UDP_RR", "MIGRATED UDP REQUEST/RESPONSE TEST", true, true)),
    sctp(test("SCTP_STREAM", "SCTP STREAM TEST", true, false)),
    sctp(test("SCTP_MAERTS", "SCTP MAERTS TEST", false, true)),
    sctp(test("SCTP_RR", "SCTP REQUEST/RESPONSE TEST", true, true)),
    NetperfTest { omni: true, ..test("OMNI", "", true, false) },
    test("TCP_MSS", "TCP MSS TEST", true, false),
    test("LOC_CPU", "", true, false),
    test("REM_CPU", "", true, false),
    test("UUID", "", true, false),
];

/// The test that was perhaps meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    option::nearest(&name.to_ascii_uppercase(), TESTS.iter().map(|test| test.name))
}

impl NetperfTest {
    /// The test of that name, whatever its letters' size.
    pub(super) fn named(name: &str) -> Option<NetperfTest> {
        TESTS.iter().find(|test| test.name.eq_ignore_ascii_case(name)).cloned()
    }

    /// Takes over a direction: a word, or a sum of 2 (out) and 4 (in); none: there is no such.
    pub(super) fn set_direction(&mut self, text: &str) -> Option<()> {
        let sum = match text.to_ascii_lowercase().as_str() {
            "send" | "xmit" | "transmit" | "stream" => 2,
            "recv" | "receive" | "maerts" => 4,
            "rr" | "sr" | "rs" => 6,
            number => match number.strip_prefix("0x") {
                Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            },
        };
        (self.sends, self.receives) = match sum {
            0 => (false, false),
            2 => (true, false),
            4 => (false, true),
            6 => (true, true),
            _ => return None,
        };
        Some(())
    }

    /// Whether it can be done.
    ///
    /// # Errors
    /// Why not, and what could be instead.
    pub(super) fn check(&self) -> Result<(), (String, &'static str)> {
        let nothing = !self.sends && !self.receives;
        if nothing && !self.connects {
            return Err((
                "-d 0 moves nothing".into(),
                "add -c for a test of connections, or say a direction",
            ));
        }
        let is_tcp = matches!(self.protocol, None | Some(Protocol::Tcp));
        if self.connects && (!is_tcp || self.sends != self.receives) {
            let hint = "-d rr -T tcp, or -d 0 for connections alone";
            return Err(("-c goes with transactions over TCP alone".into(), hint));
        }
        if self.sendfile && (!is_tcp || !self.sends) {
            return Err(("TCP_SENDFILE sends over TCP alone".into(), "leave -T and -d out"));
        }
        Ok(())
    }

    /// Whether data goes in datagrams.
    pub(super) fn is_udp(&self) -> bool {
        self.protocol == Some(Protocol::Udp)
    }

    /// The protocol's name for the engine room.
    pub(super) fn transport(&self) -> &'static str {
        match self.protocol.unwrap_or_default() {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Sctp => "sctp",
        }
    }

    /// What kind of figures it has.
    pub(super) fn shape(&self) -> TestShape {
        match (self.sends, self.receives) {
            (true, false) => TestShape::Sends,
            (false, true) => TestShape::Receives,
            _ => TestShape::Transactions,
        }
    }

    /// The direction as selectors name it.
    pub(super) fn direction(&self) -> &'static str {
        match (self.sends, self.receives) {
            (true, false) => "Send",
            (false, true) => "Receive",
            (true, true) => "Send|Recv",
            (false, false) => "Connection",
        }
    }

    /// The words that its report opens with.
    pub(super) fn title(&self) -> String {
        match self.title {
            "" => format!("OMNI {} TEST", self.direction()),
            title => title.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_whatever_their_letters_size() {
        assert_eq!(NetperfTest::named("tcp_rr").unwrap().shape(), TestShape::Transactions);
        assert!(NetperfTest::named("UDP_STREAM").unwrap().is_udp() && NetperfTest::named("FOO").is_none());
        assert_eq!(nearest("TCP_STEAM"), Some("TCP_STREAM"));
        let mut omni = NetperfTest::named("omni").unwrap();
        assert_eq!(omni.title(), "OMNI Send TEST");
        assert!(omni.set_direction("rr").is_some() && omni.set_direction("9").is_none());
        assert_eq!(omni.title(), "OMNI Send|Recv TEST");
        omni.set_direction("0");
        assert!(omni.check().is_err());
        omni.connects = true;
        assert!(omni.check().is_ok() && omni.title() == "OMNI Connection TEST");
    }
}
