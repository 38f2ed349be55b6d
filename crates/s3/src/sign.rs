//! Signature Version 4 of the Amazon S3 API, in a header, and the request's head as it is sent.
//!
//! A key for a day, region and service is derived once and kept. Everything that is sent is signed but what a proxy may
//! change on the way.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::credentials::Credentials;
use crate::request::RequestHead;
use crate::time::UtcTime;

/// Signs requests of one client.
#[derive(Debug)]
pub struct Signer {
    pub credentials: Credentials,
    pub region: String,
    key: DayKey,
    scratch: String,
}

/// The key of a day.
struct DayKey {
    day: u64,
    region: String,
    bytes: [u8; 32],
}

impl Drop for DayKey {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl std::fmt::Debug for DayKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

fn keyed(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut hash = Hmac::<Sha256>::new_from_slice(key).expect("keys of any length are taken");
    hash.update(message);
    hash.finalize().into_bytes().into()
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
}

/// The SHA-256 of bytes as hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(64);
    hex(&Sha256::digest(bytes), &mut out);
    out
}

impl Signer {
    /// Without credentials yet: what it writes is not signed.
    pub const fn new(region: String) -> Signer {
        let key = DayKey { day: u64::MAX, region: String::new(), bytes: [0; 32] };
        Signer { credentials: Credentials::anonymous(), region, key, scratch: String::new() }
    }

    /// Appends a request's head, up to the empty line, as it is sent to `host` at that time.
    pub fn write_head(&mut self, request: &RequestHead, host: &str, time: UtcTime, out: &mut Vec<u8>) {
        let mut head = String::with_capacity(1024);
        let _ = write!(head, "{} {}", request.method, request.path);
        if !request.query.is_empty() {
            head.push('?');
            request.write_query(&mut head);
        }
        head.push_str(" HTTP/1.1\r\n");
        let (date, token) = (time.to_string(), self.credentials.token.text());
        let mut headers: Vec<(&str, &str)> = Vec::with_capacity(request.headers.len() + 5);
        headers.push(("host", host));
        headers.extend(request.headers.iter().map(|(name, value)| (*name, value.as_str())));
        let anonymous = self.credentials.are_anonymous();
        if !anonymous {
            headers.push(("x-amz-content-sha256", &request.payload_hash));
            headers.push(("x-amz-date", &date));
            if !token.is_empty() {
                headers.push(("x-amz-security-token", token));
            }
        }
        headers.sort_unstable();
        for (name, value) in &headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if request.body_bytes > 0 || matches!(request.method, "PUT" | "POST") {
            let _ = write!(head, "content-length: {}\r\n", request.body_bytes);
        }
        if !anonymous {
            let mut canonical = std::mem::take(&mut self.scratch);
            canonical.clear();
            canonical_request(request, &headers, &mut canonical);
            let names = signed_names(&headers);
            let signature = self.signature(&canonical, time);
            self.scratch = canonical;
            let (key, region, day) = (&self.credentials.access_key, &self.region, &date[..8]);
            let _ = write!(
                head,
                "authorization: AWS4-HMAC-SHA256 Credential={key}/{day}/{region}/s3/aws4_request, \
                 SignedHeaders={names}, Signature={signature}\r\n"
            );
        }
        head.push_str("\r\n");
        out.extend_from_slice(head.as_bytes());
    }

    /// The signature of a canonical request.
    pub fn signature(&mut self, canonical: &str, time: UtcTime) -> String {
        self.derive_key(time);
        let mut text = format!("AWS4-HMAC-SHA256\n{time}\n{}/{}/s3/aws4_request\n", time.day(), self.region);
        hex(&Sha256::digest(canonical.as_bytes()), &mut text);
        let mut signature = String::with_capacity(64);
        hex(&keyed(&self.key.bytes, text.as_bytes()), &mut signature);
        signature
    }

    fn derive_key(&mut self, time: UtcTime) {
        let day = time.unix / 86400;
        if self.key.day == day && self.key.region == self.region {
            return;
        }
        let mut first = b"AWS4".to_vec();
        first.extend_from_slice(self.credentials.secret.bytes());
        let mut key = keyed(&first, time.day().as_bytes());
        first.zeroize();
        for part in [self.region.as_str(), "s3", "aws4_request"] {
            key = keyed(&key, part.as_bytes());
        }
        (self.key.day, self.key.bytes) = (day, key);
        self.key.region.clone_from(&self.region);
        key.zeroize();
    }
}

/// The names of sorted headers, as they are said to be signed.
pub fn signed_names(headers: &[(&str, &str)]) -> String {
    let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
    names.join(";")
}

/// What is signed of a request: headers are sorted, each value without blanks at its ends and with single ones inside.
pub fn canonical_request(request: &RequestHead, headers: &[(&str, &str)], out: &mut String) {
    let _ = write!(out, "{}\n{}\n", request.method, request.path);
    request.write_query(out);
    out.push('\n');
    for (name, value) in headers {
        out.push_str(name);
        out.push(':');
        for (index, word) in value.split_whitespace().enumerate() {
            out.push_str(if index > 0 { " " } else { "" });
            out.push_str(word);
        }
        out.push('\n');
    }
    let _ = write!(out, "\n{}\n{}", signed_names(headers), request.payload_hash);
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
