//! Signature Version 4 of the Amazon S3 API, in a header, and the request's head as it is sent.
//!
//! A key for a day, region and service is derived once and kept, as is what all requests of a second have in common.
//! Everything that is sent is signed but what a proxy may change on the way.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::credentials::{Credentials, CustomerKey};
use crate::request::RequestHead;
use crate::time::UtcTime;

/// Signs requests of one client.
#[derive(Debug)]
pub struct Signer {
    pub credentials: Credentials,
    pub region: String,
    /// Of requests that say so.
    pub customer_key: CustomerKey,
    key: DayKey,
    second: SecondText,
    /// What is signed: tokens and keys stand in it, so that it lies where the signer lies.
    canonical: TextRoom,
    query: String,
}

/// The longest text that is signed: a path, a copied object's path and a token, each as long as it may be, encoded.
const CANONICAL_BYTES: usize = 48 << 10;

/// A text in place.
struct TextRoom {
    length: usize,
    bytes: [u8; CANONICAL_BYTES],
}

impl TextRoom {
    const fn empty() -> TextRoom {
        TextRoom { length: 0, bytes: [0; CANONICAL_BYTES] }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl std::fmt::Write for TextRoom {
    #[inline]
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl std::fmt::Debug for TextRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Drop for TextRoom {
    fn drop(&mut self) {
        self.bytes[..self.length].zeroize();
    }
}

/// The key of a day.
struct DayKey {
    day: u64,
    region: String,
    /// Which secret it was derived from.
    generation: u64,
    /// The keyed hash before any message: its two blocks of the key are hashed once a day.
    hash: Option<Hmac<Sha256>>,
}

impl std::fmt::Debug for DayKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// What all requests of one second have in common.
#[derive(Debug)]
struct SecondText {
    unix: u64,
    region: String,
    /// `20130524T000000Z`.
    time: String,
    /// `20130524/us-east-1/s3/aws4_request`.
    scope: String,
    /// What stands before the hash in the text that is signed.
    before: String,
}

impl SecondText {
    const fn none() -> SecondText {
        SecondText {
            unix: u64::MAX,
            region: String::new(),
            time: String::new(),
            scope: String::new(),
            before: String::new(),
        }
    }

    fn turn(&mut self, time: UtcTime, region: &str) {
        if self.unix == time.unix && self.region == region {
            return;
        }
        (self.unix, self.region, self.time) = (time.unix, region.into(), time.to_string());
        self.scope = format!("{}/{region}/s3/aws4_request", &self.time[..8]);
        self.before = format!("AWS4-HMAC-SHA256\n{}\n{}\n", self.time, self.scope);
    }
}

/// A frame of its own, which is overwritten afterwards.
#[inline(never)]
fn keyed(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut hash = Hmac::<Sha256>::new_from_slice(key).expect("keys of any length are taken");
    hash.update(message);
    hash.finalize().into_bytes().into()
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
}

/// Bytes as lower-case hexadecimal digits, in a text of their own.
pub fn hex_of(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    hex(bytes, &mut out);
    out
}

/// The SHA-256 of bytes as hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex_of(&Sha256::digest(bytes))
}

impl Signer {
    /// Without credentials yet: what it writes is not signed.
    pub const fn new(region: String) -> Signer {
        let key = DayKey { day: u64::MAX, region: String::new(), generation: 0, hash: None };
        Signer {
            credentials: Credentials::anonymous(),
            region,
            key,
            customer_key: CustomerKey::none(),
            second: SecondText::none(),
            canonical: TextRoom::empty(),
            query: String::new(),
        }
    }

    /// Appends a request's head, up to the empty line, as it is sent to `host` at that time.
    pub fn write_head(
        &mut self,
        request: &RequestHead,
        host: &str,
        time: UtcTime,
        out: &mut impl std::io::Write,
    ) {
        let anonymous = self.credentials.are_anonymous();
        if !anonymous {
            self.second.turn(time, &self.region);
        }
        self.query.clear();
        request.write_query(&mut self.query);
        // Memory takes all of it.
        let mut push = |parts: &[&str]| parts.iter().for_each(|part| drop(out.write_all(part.as_bytes())));
        push(&[request.method, " ", &request.path]);
        if !self.query.is_empty() {
            push(&["?", &self.query]);
        }
        push(&[" HTTP/1.1\r\n"]);
        let token = self.credentials.token.text();
        let mut headers: Vec<(&str, &str)> = Vec::with_capacity(request.headers.len() + 7);
        headers.push(("host", host));
        headers.extend(request.headers.iter().map(|(name, value)| (*name, value.as_str())));
        if request.has_customer_key && !self.customer_key.is_none() {
            headers.extend(self.customer_key.headers());
        }
        if !anonymous {
            headers.push(("x-amz-content-sha256", &request.payload_hash));
            headers.push(("x-amz-date", &self.second.time));
            if !token.is_empty() {
                headers.push(("x-amz-security-token", token));
            }
        }
        headers.sort_unstable();
        headers.iter().for_each(|(name, value)| push(&[name, ": ", value, "\r\n"]));
        if request.body_bytes > 0 || matches!(request.method, "PUT" | "POST") {
            let mut digits = [0; 20];
            push(&["content-length: ", decimal(request.body_bytes, &mut digits), "\r\n"]);
        }
        if !anonymous {
            // Names are signed in small letters, however they are sent.
            let is_sent_otherwise =
                |(name, _): &(&str, &str)| name.bytes().any(|byte| byte.is_ascii_uppercase());
            let small: Vec<String> = match headers.iter().any(is_sent_otherwise) {
                true => headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect(),
                false => Vec::new(),
            };
            headers.iter_mut().zip(&small).for_each(|((name, _), small)| *name = small);
            headers.sort_unstable();
            self.canonical.length = 0;
            write_canonical(request, &self.query, &headers, &mut self.canonical);
            push(&["authorization: AWS4-HMAC-SHA256 Credential=", &self.credentials.access_key, "/"]);
            push(&[&self.second.scope, ", SignedHeaders="]);
            names_of(&headers).for_each(|name| push(&[name]));
            derive_key(&mut self.key, &self.credentials, &self.region, time);
            let signature = signature_of(&self.key, &self.second, self.canonical.bytes());
            push(&[", Signature=", signature.text(), "\r\n"]);
        }
        push(&["\r\n"]);
    }

    /// The signature of a canonical request.
    pub fn signature(&mut self, canonical: &str, time: UtcTime) -> String {
        self.second.turn(time, &self.region);
        derive_key(&mut self.key, &self.credentials, &self.region, time);
        signature_of(&self.key, &self.second, canonical.as_bytes()).text().into()
    }
}

impl Signer {
    /// The signature of a chunk of a body, which goes on from the one before: the head's, or another chunk's.
    pub fn chunk_signature(&mut self, before: &str, chunk: &[u8], time: UtcTime) -> String {
        self.second.turn(time, &self.region);
        derive_key(&mut self.key, &self.credentials, &self.region, time);
        let Some(mut hash) = self.key.hash.clone() else { return "0".repeat(64) };
        let SecondText { time, scope, .. } = &self.second;
        let (empty, digest) = (crate::request::EMPTY_SHA256, sha256_hex(chunk));
        hash.update(
            format!("AWS4-HMAC-SHA256-PAYLOAD\n{time}\n{scope}\n{before}\n{empty}\n{digest}").as_bytes(),
        );
        hex_of(&hash.finalize().into_bytes())
    }
}

/// A hash in hexadecimal digits.
struct HexHash([u8; 64]);

impl HexHash {
    fn of(hash: &[u8; 32]) -> HexHash {
        let mut digits = [0; 64];
        for (byte, pair) in hash.iter().zip(digits.chunks_exact_mut(2)) {
            (pair[0], pair[1]) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
        }
        HexHash(digits)
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn signature_of(key: &DayKey, second: &SecondText, canonical: &[u8]) -> HexHash {
    let Some(mut hash) = key.hash.clone() else { return HexHash([b'0'; 64]) };
    hash.update(second.before.as_bytes());
    hash.update(HexHash::of(&Sha256::digest(canonical).into()).text().as_bytes());
    HexHash::of(&hash.finalize().into_bytes().into())
}

fn derive_key(key: &mut DayKey, credentials: &Credentials, region: &str, time: UtcTime) {
    let (day, generation) = (time.unix / 86400, credentials.secret.generation());
    if key.hash.is_some() && (key.day, key.generation) == (day, generation) && key.region == region {
        return;
    }
    let mut first = b"AWS4".to_vec();
    first.extend_from_slice(credentials.secret.bytes());
    let mut bytes = keyed(&first, time.day().as_bytes());
    first.zeroize();
    for part in [region, "s3", "aws4_request"] {
        bytes = keyed(&bytes, part.as_bytes());
    }
    (key.day, key.generation) = (day, generation);
    key.hash = Hmac::<Sha256>::new_from_slice(&bytes).ok();
    region.clone_into(&mut key.region);
    bytes.zeroize();
    crate::credentials::scrub_stack();
}

/// A number's digits.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return std::str::from_utf8(&digits[at..]).unwrap_or_default();
        }
    }
}

/// The names of sorted headers with what stands between them, as they are said to be signed.
fn names_of<'a>(headers: &[(&'a str, &str)]) -> impl Iterator<Item = &'a str> {
    headers.iter().enumerate().flat_map(|(index, (name, _))| [if index > 0 { ";" } else { "" }, *name])
}

/// What is signed of a request: headers are sorted, each value without blanks at its ends and with single ones inside.
pub fn canonical_request(request: &RequestHead, headers: &[(&str, &str)], out: &mut String) {
    let mut query = String::new();
    request.write_query(&mut query);
    write_canonical(request, &query, headers, out);
}

fn write_canonical(
    request: &RequestHead,
    query: &str,
    headers: &[(&str, &str)],
    out: &mut impl std::fmt::Write,
) {
    // What does not fit was never sent so long.
    let mut push = |part: &str| {
        let _ = out.write_str(part);
    };
    [request.method, "\n", &request.path, "\n", query, "\n"].iter().for_each(|part| push(part));
    for (name, value) in headers {
        push(name);
        push(":");
        if value.bytes().any(|byte| !byte.is_ascii_graphic()) {
            for (index, word) in value.split_whitespace().enumerate() {
                push(if index > 0 { " " } else { "" });
                push(word);
            }
        } else {
            push(value);
        }
        push("\n");
    }
    push("\n");
    names_of(headers).for_each(&mut push);
    push("\n");
    push(&request.payload_hash);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::EMPTY_SHA256;

    /// The keys and the time of the examples in "Signature Calculations for the Authorization Header" of the Amazon S3
    /// API reference.
    fn signer() -> (Signer, UtcTime) {
        let mut signer = Signer::new("us-east-1".into());
        signer.credentials.access_key = "AKIAIOSFODNN7EXAMPLE".into();
        signer.credentials.secret.set("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY").unwrap();
        (signer, UtcTime { unix: 1_369_353_600 })
    }

    fn signature_of(request: &RequestHead) -> String {
        let (mut signer, time) = signer();
        let mut head = Vec::new();
        signer.write_head(request, "examplebucket.s3.amazonaws.com", time, &mut head);
        let head = String::from_utf8(head).unwrap();
        head.split_once("Signature=").unwrap().1.trim().to_string()
    }

    #[test]
    fn the_examples_of_the_reference_have_the_signatures_that_it_prints() {
        let get = RequestHead::new("GET", "/test.txt".into()).header("range", "bytes=0-9");
        assert_eq!(signature_of(&get), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
        let body = "Welcome to Amazon S3.";
        let put = RequestHead::new("PUT", "/test%24file.text".into())
            .header("date", "Fri, 24 May 2013 00:00:00 GMT")
            .header("x-amz-storage-class", "REDUCED_REDUNDANCY")
            .body(body.len() as u64, sha256_hex(body.as_bytes()));
        assert_eq!(signature_of(&put), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
        let lifecycle = RequestHead::new("GET", "/".into()).with("lifecycle", "");
        assert_eq!(
            signature_of(&lifecycle),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
        let list = RequestHead::new("GET", "/".into()).with("prefix", "J").with("max-keys", "2");
        assert_eq!(signature_of(&list), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
        assert_eq!(sha256_hex(b""), EMPTY_SHA256);
    }

    /// What is kept from request to request belongs to a secret, a second, a day and a region.
    #[test]
    fn a_signer_that_signed_before_signs_as_a_new_one() {
        let (mut kept, time) = signer();
        let get = RequestHead::new("GET", "/test.txt".into());
        let later = UtcTime { unix: time.unix + 86_400 };
        type Change = fn(&mut Signer);
        let changes: [(Change, UtcTime); 5] = [
            (|_| (), time),
            (|_| (), UtcTime { unix: time.unix + 1 }),
            (|_| (), later),
            (|signer| signer.region = "eu-west-1".into(), later),
            (|signer| signer.credentials.renew("ANOTHER", "another secret", "token").unwrap(), later),
        ];
        let mut seen = Vec::new();
        for (number, (change, time)) in changes.iter().enumerate() {
            change(&mut kept);
            let (mut fresh, _) = signer();
            changes[..=number].iter().for_each(|(change, _)| change(&mut fresh));
            let of = |signer: &mut Signer| {
                let mut head = Vec::new();
                signer.write_head(&get, "h", *time, &mut head);
                String::from_utf8(head).unwrap()
            };
            assert_eq!(of(&mut kept), of(&mut fresh), "{number}");
            seen.push(of(&mut kept));
        }
        seen.dedup();
        assert_eq!(seen.len(), changes.len());
    }

    #[test]
    fn names_are_signed_in_small_letters_and_sent_as_they_are() {
        let head = |name: &'static str| {
            let (mut signer, time) = signer();
            let mut head = Vec::new();
            signer.write_head(&RequestHead::new("GET", "/k".into()).header(name, "v"), "h", time, &mut head);
            String::from_utf8(head).unwrap()
        };
        let (small, large) = (head("x-amz-meta-colour"), head("X-Amz-Meta-COLOUR"));
        assert!(large.contains("\r\nX-Amz-Meta-COLOUR: v\r\n"), "{large}");
        let signed = |text: &str| text.split_once("SignedHeaders=").unwrap().1.to_string();
        assert_eq!(signed(&small), signed(&large));
        assert!(
            signed(&large).starts_with("host;x-amz-content-sha256;x-amz-date;x-amz-meta-colour,"),
            "{large}"
        );
    }

    /// The example in "Signature Calculations for the Authorization Header: Transferring Payload in Multiple Chunks".
    #[test]
    fn chunks_are_signed_as_the_example_has_it() {
        let (mut signer, time) = signer();
        let head = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
        let first = signer.chunk_signature(head, &[b'a'; 65_536], time);
        let second = signer.chunk_signature(&first, &[b'a'; 1024], time);
        let last = signer.chunk_signature(&second, b"", time);
        assert_eq!(first, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648");
        assert_eq!(second, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497");
        assert_eq!(last, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9");
    }

    #[test]
    fn a_head_is_complete_and_nobody_signs_nothing() {
        let (mut signer, time) = signer();
        signer.credentials.token.set("TOKEN").unwrap();
        let mut head = Vec::new();
        let put = RequestHead::new("PUT", "/b/k".into()).body(5, crate::request::UNSIGNED_PAYLOAD);
        signer.write_head(&put, "h:9000", time, &mut head);
        let head = String::from_utf8(head).unwrap();
        assert!(
            head.starts_with(
                "PUT /b/k HTTP/1.1\r\nhost: h:9000\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\n"
            )
        );
        assert!(head.contains("x-amz-security-token: TOKEN\r\n") && head.contains("content-length: 5\r\n"));
        assert!(
            head.ends_with("\r\n\r\n")
                && head.contains("/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;")
        );
        let mut nobody = Signer::new("us-east-1".into());
        let mut head = Vec::new();
        nobody.write_head(&RequestHead::new("GET", "/b".into()).with("list-type", "2"), "h", time, &mut head);
        assert_eq!(String::from_utf8(head).unwrap(), "GET /b?list-type=2 HTTP/1.1\r\nhost: h\r\n\r\n");
    }
}
