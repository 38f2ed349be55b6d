//! SNMP's messages of version 1 and 2c (RFC 1157, 3416) in BER (X.690): a get request out, its response in.
//!
//! An agent is not trusted: every length is checked against what is there, and what cannot be is an error in words.

/// Integers, strings, absence, names, sequences.
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const NULL: u8 = 0x05;
const NAME: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// SNMP's own (RFC 2578): counters and gauges of 32 bits, hundredths of seconds, counters of 64 bits.
const COUNTER_32: u8 = 0x41;
const GAUGE_32: u8 = 0x42;
const TIME_TICKS: u8 = 0x43;
const COUNTER_64: u8 = 0x46;
const GET: u8 = 0xA0;
const RESPONSE: u8 = 0xA2;
/// The most parts of a name (RFC 2578).
const PARTS_MOST: usize = 128;
/// What an agent may call wrong, by its number (RFC 3416).
const STATUS: [&str; 19] = [
    "",
    "the answer is too big",
    "no such name",
    "a bad value",
    "read only",
    "a general error",
    "no access",
    "a wrong type",
    "a wrong length",
    "a wrong encoding",
    "a wrong value",
    "no creation",
    "an inconsistent value",
    "a resource is unavailable",
    "the commit failed",
    "the undo failed",
    "an authorization error",
    "not writable",
    "an inconsistent name",
];

/// The versions that show who asks by a community alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Version {
    One,
    #[default]
    TwoC,
}

/// What an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ObjectValue {
    Number(u64),
    Text(String),
    /// The agent has no such object, or one of another type.
    Absent,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) request: i32,
    /// What the agent could not do.
    pub(super) failed: Option<String>,
    pub(super) values: Vec<(Vec<u32>, ObjectValue)>,
}

/// A request for some objects.
pub(super) fn get(version: Version, community: &str, request: i32, names: &[Vec<u32>]) -> Vec<u8> {
    let pair = |name: &Vec<u32>| tagged(SEQUENCE, &[named(name), tagged(NULL, &[])].concat());
    let pairs: Vec<u8> = names.iter().flat_map(pair).collect();
    let body = [integer(request), integer(0), integer(0), tagged(SEQUENCE, &pairs)].concat();
    let number = match version {
        Version::One => 0,
        Version::TwoC => 1,
    };
    let message = [integer(number), tagged(OCTETS, community.as_bytes()), tagged(GET, &body)].concat();
    tagged(SEQUENCE, &message)
}

fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut bytes = vec![tag];
    match length {
        0..=0x7F => bytes.push(length as u8),
        0x80..=0xFF => bytes.extend([0x81, length as u8]),
        _ => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    bytes.extend_from_slice(content);
    bytes
}

fn integer(value: i32) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    // No more bytes than its sign needs.
    let is_spare = |at: usize| {
        let sign = if value < 0 { 0xFF } else { 0 };
        bytes[at] == sign && (bytes[at + 1] ^ sign) & 0x80 == 0
    };
    let spare = (0..3).take_while(|at| is_spare(*at)).count();
    tagged(INTEGER, &bytes[spare..])
}

fn named(name: &[u32]) -> Vec<u8> {
    let mut bytes = vec![(name[0] * 40 + name[1]) as u8];
    for part in &name[2..] {
        let groups =
            (1..5).rev().map(|group| (part >> (7 * group)) as u8 & 0x7F).skip_while(|group| *group == 0);
        bytes.extend(groups.map(|group| group | 0x80));
        bytes.push(*part as u8 & 0x7F);
    }
    tagged(NAME, &bytes)
}

/// A response.
///
/// # Errors
/// What is no response of SNMP, in words.
pub(super) fn response(bytes: &[u8]) -> Result<Response, String> {
    let mut message = Reader(Reader(bytes).expect(SEQUENCE, "a message")?);
    message.expect(INTEGER, "a version")?;
    message.expect(OCTETS, "a community")?;
    let mut body = Reader(message.expect(RESPONSE, "a response")?);
    let request = signed(body.expect(INTEGER, "a request's number")?)?;
    let status = signed(body.expect(INTEGER, "a status")?)?;
    let index = signed(body.expect(INTEGER, "an index")?)?;
    let mut pairs = Reader(body.expect(SEQUENCE, "a list of objects")?);
    let mut values = Vec::new();
    while !pairs.0.is_empty() {
        let mut pair = Reader(pairs.expect(SEQUENCE, "an object")?);
        let name = parts(pair.expect(NAME, "an object's name")?)?;
        let (tag, content) = pair.next()?;
        values.push((name, value(tag, content)?));
    }
    let failed = (status != 0).then(|| {
        let words = usize::try_from(status).ok().and_then(|status| STATUS.get(status));
        let words = words.map_or_else(|| format!("error {status}"), ToString::to_string);
        format!("{words} (object {index} of {})", values.len())
    });
    let request = i32::try_from(request).map_err(|_| "a request's number is too large")?;
    Ok(Response { request, failed, values })
}

fn value(tag: u8, content: &[u8]) -> Result<ObjectValue, String> {
    Ok(match tag {
        INTEGER | COUNTER_32 | GAUGE_32 | TIME_TICKS | COUNTER_64 => {
            unsigned(content).map_or(ObjectValue::Absent, ObjectValue::Number)
        }
        OCTETS => ObjectValue::Text(String::from_utf8_lossy(content).into_owned()),
        _ => ObjectValue::Absent,
    })
}

/// A number that is not negative; none: it is, or has more than 64 bits.
fn unsigned(content: &[u8]) -> Option<u64> {
    let digits = match content {
        [0, digits @ ..] => digits,
        [first, ..] if *first < 0x80 => content,
        // Some agents leave the zero in front of a large counter out.
        _ if content.len() == 4 || content.len() == 8 => content,
        _ => return None,
    };
    (digits.len() <= 8).then(|| digits.iter().fold(0, |number, digit| number << 8 | u64::from(*digit)))
}

fn signed(content: &[u8]) -> Result<i64, String> {
    let first = *content.first().ok_or("a number without digits")?;
    if content.len() > 8 {
        return Err("a number of more than 64 bits".into());
    }
    let start = if first < 0x80 { 0 } else { -1 };
    Ok(content.iter().fold(start, |number, digit| number << 8 | i64::from(*digit)))
}

fn parts(content: &[u8]) -> Result<Vec<u32>, String> {
    let (first, rest) = content.split_first().ok_or("a name without parts")?;
    let mut parts = vec![u32::from(first / 40), u32::from(first % 40)];
    let mut part = 0_u32;
    for byte in rest {
        part = part.checked_mul(128).ok_or("a name's part is too large")? | u32::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            parts.push(std::mem::take(&mut part));
        }
    }
    if parts.len() > PARTS_MOST { Err("a name of too many parts".into()) } else { Ok(parts) }
}

/// What is left of some bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next value: its tag and its content.
    fn next(&mut self) -> Result<(u8, &'a [u8]), String> {
        let [tag, length, rest @ ..] = self.0 else { return Err("it ends too early".into()) };
        let (length, rest) = match length {
            0..=0x7F => (usize::from(*length), rest),
            // The length has so many bytes itself.
            0x81..=0x84 => {
                let (digits, rest) =
                    rest.split_at_checked(usize::from(length & 0x7F)).ok_or("it ends in a length")?;
                (digits.iter().fold(0, |number, digit| number << 8 | usize::from(*digit)), rest)
            }
            _ => return Err("a length that nobody may use".into()),
        };
        let (content, rest) = rest.split_at_checked(length).ok_or("it is shorter than it says")?;
        self.0 = rest;
        Ok((*tag, content))
    }

    fn expect(&mut self, tag: u8, what: &str) -> Result<&'a [u8], String> {
        match self.next()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(format!("{what} is missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digits: Vec<u8> = hexadecimal.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("hexadecimal");
        digits.chunks(2).map(byte).collect()
    }

    /// A part of what net-snmp 5.9.3 was seen to answer, and to what.
    const ASKED: &str = "3037 020101 0406 7075626c6963 a02a 02020102 020100 020100 301e \
                         300c 06082b06010201010300 0500 300e 060a2b0601020102020102 01 0500";
    const ANSWERED: &str = "3051 020101 0406 7075626c6963 a244 02020102 020100 020100 3038 \
                            300e 06082b06010201010300 430200d9 3013 060b2b060102011f0101010601 460409c6303f \
                            3011 060b2b060102011f010101010 1 04026c6f";

    #[test]
    fn requests_are_those_of_the_field() {
        let names = [vec![1, 3, 6, 1, 2, 1, 1, 3, 0], vec![1, 3, 6, 1, 2, 1, 2, 2, 1, 2, 1]];
        assert_eq!(get(Version::TwoC, "public", 0x102, &names), bytes(ASKED));
        assert_eq!(get(Version::One, "public", 0x102, &names)[4], 0);
        for (number, told) in [
            (0, "020100"),
            (127, "02017f"),
            (128, "02020080"),
            (-1, "0201ff"),
            (-129, "0202ff7f"),
            (0x7FFF_FFFF, "02047fffffff"),
        ] {
            assert_eq!(integer(number), bytes(told), "{number}");
        }
        assert_eq!(named(&[1, 3, 128, 16_384, u32::MAX]), bytes("060b 2b 8100 818000 8fffffff7f"));
        // What is longer than 127 and 255 bytes says so in one byte more, and in two.
        let many = |count| get(Version::TwoC, "public", 1, &vec![names[0].clone(); count]);
        assert_eq!((many(8)[..2].to_vec(), many(20)[..2].to_vec()), (vec![0x30, 0x81], vec![0x30, 0x82]));
    }

    #[test]
    fn responses_are_read_as_agents_send_them() {
        let response = response(&bytes(ANSWERED)).expect("a response");
        assert_eq!((response.request, response.failed), (0x102, None));
        let values =
            [ObjectValue::Number(0xd9), ObjectValue::Number(0x09c6_303f), ObjectValue::Text("lo".into())];
        assert_eq!(response.values.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>(), values);
        assert_eq!(response.values[1].0, [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6, 1]);
        let large = |content: &str| value(COUNTER_64, &bytes(content)).unwrap();
        assert_eq!(large("00ffffffffffffffff"), ObjectValue::Number(u64::MAX));
        assert_eq!(large("ffffffffffffffff"), ObjectValue::Number(u64::MAX));
        assert_eq!((large("010000000000000000"), large("ff")), (ObjectValue::Absent, ObjectValue::Absent));
        // No such object, instance, end of the view.
        assert!([0x80, 0x81, 0x82].iter().all(|tag| value(*tag, &[]) == Ok(ObjectValue::Absent)));
    }

    #[test]
    fn an_agent_says_what_it_cannot_do() {
        let refused = ANSWERED.replace("020100 020100 3038", "020102 020103 3038");
        assert_eq!(
            response(&bytes(&refused)).unwrap().failed.as_deref(),
            Some("no such name (object 3 of 3)")
        );
        let unknown = ANSWERED.replace("020100 020100 3038", "020163 020100 3038");
        assert_eq!(response(&bytes(&unknown)).unwrap().failed.as_deref(), Some("error 99 (object 0 of 3)"));
    }

    #[test]
    fn what_is_no_response_is_an_error_and_no_panic() {
        let seen = bytes(ANSWERED);
        for length in 0..seen.len() {
            assert!(response(&seen[..length]).is_err(), "{length}");
        }
        assert_eq!(response(&bytes(ASKED)), Err("a response is missing".into()));
        assert_eq!(response(b"0\x80\x02"), Err("a length that nobody may use".into()));
        assert_eq!(response(&bytes("3084ffffffff")), Err("it is shorter than it says".into()));
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut mangled = seen.clone();
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                mangled[(state >> 33) as usize % seen.len()] = (state >> 20) as u8;
            }
            let _ = response(&mangled);
        }
    }
}
