//! Requests that are signed otherwise than a client would: what rules about signatures send.
//!
//! The head is written as always, and then changed: what is wrong with it is known exactly.

use iodyno_engine::clock;
use iodyno_s3::request::{RequestHead, UNSIGNED_PAYLOAD};
use iodyno_s3::sign::{canonical_request, sha256_hex};
use iodyno_s3::{Signer, UtcTime};

/// An access key that no store knows.
const UNKNOWN_KEY: &str = "IODYNOUNKNOWNKEY0000";
/// A region that is nowhere.
const OTHER_REGION: &str = "xx-nowhere-9";
/// What the hash of a body in signed chunks is said to be.
const CHUNKED: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
/// Bytes of a chunk; the last is shorter.
const CHUNK_BYTES: usize = 8 << 10;

/// How a request is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// Not at all.
    None,
    /// One digit of the signature is another.
    Wrong,
    UnknownKey,
    OtherRegion,
    /// At a time so many seconds from now.
    At(i64),
    /// Without the body's hash.
    Unsigned,
    /// With the hash of another body.
    OtherDigest,
    /// The body comes in chunks, each with its signature; that of the last may be wrong.
    Chunks {
        wrong: bool,
    },
    /// The signature stands in the query, made at a time so many seconds from now, and is good for so long.
    Query {
        at: i64,
        expires: u64,
        wrong: bool,
    },
}

impl Signing {
    /// How it is written, for the page and for messages.
    pub const WORDS: &str = "none, wrong, key, region, unsigned, digest, chunks, chunks-wrong, at=SECONDS, query=SECONDS, query-wrong or \
         query-late";

    /// # Errors
    /// It is no such word.
    pub fn parse(word: &str) -> Result<Signing, String> {
        let wrong = || format!("`{word}`: a signature is {}", Signing::WORDS);
        Ok(match word.split_once('=') {
            Some(("at", seconds)) => Signing::At(seconds.parse().map_err(|_| wrong())?),
            Some(("query", seconds)) => {
                Signing::Query { at: 0, expires: seconds.parse().map_err(|_| wrong())?, wrong: false }
            }
            _ => match word {
                "none" => Signing::None,
                "wrong" => Signing::Wrong,
                "key" => Signing::UnknownKey,
                "region" => Signing::OtherRegion,
                "unsigned" => Signing::Unsigned,
                "digest" => Signing::OtherDigest,
                "chunks" => Signing::Chunks { wrong: false },
                "chunks-wrong" => Signing::Chunks { wrong: true },
                "query-wrong" => Signing::Query { at: 0, expires: 60, wrong: true },
                // It was good for a minute, an hour ago.
                "query-late" => Signing::Query { at: -3600, expires: 60, wrong: false },
                _ => return Err(wrong()),
            },
        })
    }
}

/// A request as it is sent, with its body, signed so.
///
/// # Errors
/// There are no keys to sign with.
pub fn written(
    signer: &mut Signer,
    host: &str,
    request: &RequestHead,
    body: &[u8],
    signing: Signing,
) -> Result<Vec<u8>, String> {
    let now = clock::unix_ns() / 1_000_000_000;
    let shifted = |seconds: i64| UtcTime { unix: now.saturating_add_signed(seconds) };
    let (mut head, mut bytes, mut content) =
        (request.clone(), Vec::with_capacity(1024 + body.len()), body.to_vec());
    match signing {
        Signing::None => Signer::new(String::new()).write_head(&head, host, shifted(0), &mut bytes),
        Signing::Wrong => {
            signer.write_head(&head, host, shifted(0), &mut bytes);
            change_signature(&mut bytes);
        }
        Signing::UnknownKey => {
            let key = std::mem::replace(&mut signer.credentials.access_key, UNKNOWN_KEY.into());
            signer.write_head(&head, host, shifted(0), &mut bytes);
            signer.credentials.access_key = key;
        }
        Signing::OtherRegion => {
            let region = std::mem::replace(&mut signer.region, OTHER_REGION.into());
            signer.write_head(&head, host, shifted(0), &mut bytes);
            signer.region = region;
        }
        Signing::At(seconds) => signer.write_head(&head, host, shifted(seconds), &mut bytes),
        Signing::Unsigned | Signing::OtherDigest => {
            head.payload_hash = match signing {
                Signing::Unsigned => UNSIGNED_PAYLOAD.into(),
                _ => sha256_hex(b"another body").into(),
            };
            signer.write_head(&head, host, shifted(0), &mut bytes);
        }
        Signing::Chunks { wrong } => {
            let length = body.len().to_string();
            head =
                head.header("content-encoding", "aws-chunked").header("x-amz-decoded-content-length", length);
            head.payload_hash = CHUNKED.into();
            head.body_bytes = chunked_bytes(body.len());
            signer.write_head(&head, host, shifted(0), &mut bytes);
            let first = signature_in(&bytes).ok_or("requests are not signed: there are no keys")?;
            content = chunked(signer, body, first, shifted(0), wrong);
        }
        Signing::Query { at, expires, wrong } => {
            let head = in_query(signer, head, host, shifted(at), (expires, wrong));
            Signer::new(String::new()).write_head(&head, host, shifted(0), &mut bytes);
        }
    }
    bytes.extend_from_slice(&content);
    Ok(bytes)
}

/// A request whose signature stands in its query.
fn in_query(
    signer: &mut Signer,
    head: RequestHead,
    host: &str,
    time: UtcTime,
    (expires, wrong): (u64, bool),
) -> RequestHead {
    let scope = format!("{}/{}/{}/s3/aws4_request", signer.credentials.access_key, time.day(), signer.region);
    let mut head = head
        .with("X-Amz-Algorithm", "AWS4-HMAC-SHA256")
        .with("X-Amz-Credential", scope)
        .with("X-Amz-Date", time.to_string())
        .with("X-Amz-Expires", expires.to_string())
        .with("X-Amz-SignedHeaders", "host");
    let token = signer.credentials.token.text().to_string();
    if !token.is_empty() {
        head = head.with("X-Amz-Security-Token", token);
    }
    head.payload_hash = UNSIGNED_PAYLOAD.into();
    let mut canonical = String::new();
    canonical_request(&head, &[("host", host)], &mut canonical);
    let mut signature = signer.signature(&canonical, time).into_bytes();
    if wrong {
        signature[0] = other_digit(signature[0]);
    }
    head.with("X-Amz-Signature", String::from_utf8_lossy(&signature))
}

fn other_digit(digit: u8) -> u8 {
    if digit == b'0' { b'1' } else { b'0' }
}

/// Where the signature begins in a head.
fn signature_at(head: &[u8]) -> Option<usize> {
    let mark = b"Signature=";
    head.windows(mark.len()).position(|part| part == mark).map(|at| at + mark.len())
}

fn signature_in(head: &[u8]) -> Option<String> {
    let at = signature_at(head)?;
    Some(String::from_utf8_lossy(head.get(at..at + 64)?).into_owned())
}

fn change_signature(head: &mut [u8]) {
    if let Some(at) = signature_at(head) {
        head[at] = other_digit(head[at]);
    }
}

/// The lengths of a body's chunks, the empty one at the end among them.
fn chunk_lengths(bytes: usize) -> impl Iterator<Item = usize> {
    let whole = std::iter::repeat_n(CHUNK_BYTES, bytes / CHUNK_BYTES);
    whole.chain((!bytes.is_multiple_of(CHUNK_BYTES)).then_some(bytes % CHUNK_BYTES)).chain([0])
}

/// Bytes of a body of so many once it stands in chunks.
fn chunked_bytes(bytes: usize) -> u64 {
    let one = |length: usize| format!("{length:x}").len() + ";chunk-signature=".len() + 64 + 2 + length + 2;
    chunk_lengths(bytes).map(one).sum::<usize>() as u64
}

/// A body in chunks, each signed with the signature before it.
fn chunked(signer: &mut Signer, body: &[u8], first: String, time: UtcTime, wrong: bool) -> Vec<u8> {
    let (mut out, mut before, mut rest) = (Vec::new(), first, body);
    for length in chunk_lengths(body.len()) {
        let (chunk, left) = rest.split_at(length);
        rest = left;
        before = signer.chunk_signature(&before, chunk, time);
        let mut said = before.clone().into_bytes();
        if wrong && left.is_empty() && length > 0 {
            said[0] = other_digit(said[0]);
        }
        out.extend_from_slice(format!("{length:x};chunk-signature=").as_bytes());
        out.extend_from_slice(&said);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_sign_are_read() {
        assert_eq!(Signing::parse("at=-960"), Ok(Signing::At(-960)));
        assert_eq!(Signing::parse("query=60"), Ok(Signing::Query { at: 0, expires: 60, wrong: false }));
        for word in ["", "at", "at=x", "twice"] {
            assert!(Signing::parse(word).unwrap_err().contains("chunks-wrong"), "{word}");
        }
    }

    #[test]
    fn chunks_are_as_long_as_they_are_said_to_be() {
        let mut signer = Signer::new("us-east-1".into());
        signer.credentials.secret.set("secret").unwrap();
        let time = UtcTime { unix: 1_369_353_600 };
        for length in [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 20_000] {
            let body = vec![7; length];
            let sent = chunked(&mut signer, &body, "0".repeat(64), time, false);
            assert_eq!(sent.len() as u64, chunked_bytes(length), "{length}");
            let wrong = chunked(&mut signer, &body, "0".repeat(64), time, true);
            let differ = sent.iter().zip(&wrong).filter(|(one, other)| one != other).count();
            assert_eq!(differ, usize::from(length > 0), "{length}");
        }
    }
}
