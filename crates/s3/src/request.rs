//! A request's head, before it is signed: method, path, query and headers.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::address::encode;

/// Of a body whose hash is not part of the signature.
pub const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";
/// The SHA-256 of no bytes.
pub const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// What requests are counted and billed as. Price lists of stores tell apart what changes or lists (class A), what reads
/// (class B), and what removes, which costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    Put,
    Copy,
    /// The begin, the parts and the completion of an upload.
    Multipart,
    List,
    Get,
    Head,
    /// Of objects, and of uploads that are given up.
    Delete,
}

impl RequestClass {
    pub const ALL: [RequestClass; 7] = [
        RequestClass::Put,
        RequestClass::Copy,
        RequestClass::Multipart,
        RequestClass::List,
        RequestClass::Get,
        RequestClass::Head,
        RequestClass::Delete,
    ];

    /// What the counts of a record are called that hold them.
    pub fn count_name(self) -> &'static str {
        match self {
            RequestClass::Put => "requests.put",
            RequestClass::Copy => "requests.copy",
            RequestClass::Multipart => "requests.multipart",
            RequestClass::List => "requests.list",
            RequestClass::Get => "requests.get",
            RequestClass::Head => "requests.head",
            RequestClass::Delete => "requests.delete",
        }
    }
}

/// A request without its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHead {
    pub method: &'static str,
    /// Encoded, from the slash on.
    pub path: String,
    /// Names and values as they are; they are sorted and encoded when it is written.
    pub query: Vec<(&'static str, String)>,
    /// Lower-case names and values, without `host`, `content-length` and what signing adds.
    pub headers: Vec<(&'static str, String)>,
    /// The SHA-256 of the body in hexadecimal digits, or [`UNSIGNED_PAYLOAD`].
    pub payload_hash: Cow<'static, str>,
    pub body_bytes: u64,
    /// The object is encrypted by a key of the user's, which goes along.
    pub has_customer_key: bool,
}

impl RequestHead {
    /// A request without a body.
    pub fn new(method: &'static str, path: String) -> RequestHead {
        let payload_hash = EMPTY_SHA256.into();
        RequestHead { method, path, payload_hash, ..RequestHead::default() }
    }

    /// The same with a part of the query; a value may be empty.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> RequestHead {
        self.query.push((name, value.into()));
        self
    }

    /// The same with a header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> RequestHead {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with a body of so many bytes, whose hash is signed unless it is [`UNSIGNED_PAYLOAD`].
    pub fn body(mut self, bytes: u64, hash: impl Into<Cow<'static, str>>) -> RequestHead {
        (self.body_bytes, self.payload_hash) = (bytes, hash.into());
        self
    }

    pub fn class(&self) -> RequestClass {
        let asks = |name: &str| self.query.iter().any(|(known, _)| *known == name);
        match self.method {
            "HEAD" => RequestClass::Head,
            "DELETE" => RequestClass::Delete,
            "POST" if asks("delete") => RequestClass::Delete,
            "POST" => RequestClass::Multipart,
            "PUT" if asks("partNumber") => RequestClass::Multipart,
            "PUT" if self.headers.iter().any(|(name, _)| *name == "x-amz-copy-source") => RequestClass::Copy,
            "PUT" => RequestClass::Put,
            _ if asks("list-type") || asks("uploads") || asks("versions") => RequestClass::List,
            _ => RequestClass::Get,
        }
    }

    /// The query as it is sent and signed.
    pub fn write_query(&self, out: &mut String) {
        if self.query.is_empty() {
            return;
        }
        let mut pairs: Vec<(String, String)> = Vec::with_capacity(self.query.len());
        for (name, value) in &self.query {
            let (mut left, mut right) = (String::new(), String::new());
            encode(name, false, &mut left);
            encode(value, false, &mut right);
            pairs.push((left, right));
        }
        pairs.sort();
        for (index, (name, value)) in pairs.iter().enumerate() {
            let _ = write!(out, "{}{name}={value}", if index > 0 { "&" } else { "" });
        }
    }
}
