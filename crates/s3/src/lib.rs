//! The protocol of S3 object stores without I/O: addresses, credentials, signatures, requests, and what answers say.
//!
//! Bytes go in and come out; who has a socket, a clock or a file is elsewhere. So captured requests and answers are plain
//! tests. What is written follows the Amazon S3 API reference and its page on Signature Version 4; servers differ, and
//! answers are read as leniently as is safe.
#![forbid(unsafe_code)]

pub mod address;
pub mod answer;
pub mod body;
pub mod checksum;
pub mod credentials;
pub mod failure;
pub mod metadata;
pub mod operation;
pub mod request;
pub mod sign;
pub mod time;

pub use address::{Addressing, Endpoint};
pub use answer::{AnswerHead, Framing};
pub use checksum::{BodySums, Checksum};
pub use credentials::{Credentials, Secret};
pub use request::{RequestClass, RequestHead};
pub use sign::Signer;
pub use time::UtcTime;
