//! What the engine counts of its own: every attempt, every connection, and each answer other than success by its name.

use std::collections::BTreeMap;

use iodyno_s3::failure::is_throttled;
use iodyno_s3::{AnswerHead, RequestClass};

use super::connection::ExchangeTimes;
use crate::objects::ANSWER;
use crate::worker_counters::{Counts, TimeSpread};

/// Counts of one worker.
#[derive(Debug, Default)]
pub struct RequestTally {
    /// Requests that were sent, each attempt and what belongs to a multipart upload.
    pub requests: u64,
    /// Of them, on a connection that had carried one before.
    pub reused: u64,
    pub opened: u64,
    /// Sent again because the store had closed the kept connection meanwhile.
    pub stale: u64,
    pub retried: u64,
    pub throttled: u64,
    /// Connections that were refused, cut or silent.
    pub broken: u64,
    /// Answers that a cache says are its own.
    pub cached: u64,
    pub parts: u64,
    /// TLS sessions that went on with the keys of one before.
    pub resumed: u64,
    /// Answers that an intermediary passed on, attempts it says it made beyond the first, and answers with the number of the
    /// one before them on their connection.
    pub via: u64,
    pub attempts: u64,
    pub same_id: u64,
    /// The most that the store's clock was ahead of ours, and behind, s.
    pub ahead_s: u64,
    pub behind_s: u64,
    /// Whole objects read for the first time by this worker, and again: how many, and the sum to the first byte, ns.
    pub first_gets: (u64, u64),
    pub again_gets: (u64, u64),
    /// Requests by class, in the order of [`RequestClass::ALL`].
    pub classes: [u64; RequestClass::ALL.len()],
    /// Sums, ns.
    connect_ns: u64,
    handshake_ns: u64,
    first_byte_ns: u64,
    body_ns: u64,
    answers: BTreeMap<String, u64>,
}

impl RequestTally {
    /// An answer other than success; whether it says that the store is too busy.
    pub fn answer(&mut self, status: u16, code: &str) -> bool {
        let code: String = code.chars().filter(char::is_ascii_alphanumeric).take(48).collect();
        let name = if code.is_empty() { status.to_string() } else { format!("{status}.{code}") };
        let throttled = is_throttled(status, &code);
        self.throttled += u64::from(throttled);
        self.note(&name);
        throttled
    }

    /// Counts something by its name; of more names than any store has, the rest together.
    pub fn note(&mut self, name: &str) {
        let known = self.answers.contains_key(name) || self.answers.len() < 40;
        *self.answers.entry(if known { name.into() } else { "other".into() }).or_default() += 1;
    }

    /// What an answer's head says of who gave it; `last_number`: of the one before on its lane.
    pub fn head(&mut self, answer: &AnswerHead, last_number: &mut u64) {
        self.cached += u64::from(answer.from_cache);
        self.via += u64::from(answer.came_via);
        self.attempts += answer.further_attempts;
        self.same_id += u64::from(answer.request_number > 0 && answer.request_number == *last_number);
        *last_number = answer.request_number;
    }

    /// The store's clock, as a connection's first answer tells it.
    pub fn date(&mut self, said_s: u64, now_s: u64) {
        self.ahead_s = self.ahead_s.max(said_s.saturating_sub(now_s));
        self.behind_s = self.behind_s.max(now_s.saturating_sub(said_s));
    }

    /// The times of an exchange that was answered.
    pub fn times(&mut self, times: &ExchangeTimes, counts: &Counts) {
        if times.opened > 0 {
            let ns = times.connected.saturating_sub(times.opened);
            self.connect_ns += ns;
            counts.spread(TimeSpread::Connect, ns);
        }
        if times.secured > 0 {
            let ns = times.secured.saturating_sub(times.connected);
            self.handshake_ns += ns;
            counts.spread(TimeSpread::Handshake, ns);
        }
        let first = times.first_byte.saturating_sub(times.sent);
        let body = times.ended.saturating_sub(times.first_byte);
        (self.first_byte_ns, self.body_ns) = (self.first_byte_ns + first, self.body_ns + body);
        counts.spread(TimeSpread::FirstByte, first);
        counts.spread(TimeSpread::Body, body);
    }

    /// By name, for the record.
    pub fn by_name(&self) -> Vec<(&'static str, u64)> {
        let always = [
            ("requests", self.requests),
            ("connections.opened", self.opened),
            ("connections.reused", self.reused),
            ("connect_ns", self.connect_ns),
            ("first_byte_ns", self.first_byte_ns),
            ("body_ns", self.body_ns),
        ];
        let seldom = [
            ("connections.stale", self.stale),
            ("connections.broken", self.broken),
            ("requests.retried", self.retried),
            ("requests.throttled", self.throttled),
            ("requests.parts", self.parts),
            ("handshake_ns", self.handshake_ns),
            ("handshakes.resumed", self.resumed),
            ("handshakes.unaided", u64::from(self.handshake_ns > 0 && !has_cipher_instructions())),
            ("answers.cached", self.cached),
            ("answers.via", self.via),
            ("answers.attempts", self.attempts),
            ("answers.same_id", self.same_id),
            // Dates are whole seconds, and an answer comes later than it was dated.
            ("date.ahead_s", self.ahead_s.saturating_sub(1)),
            ("date.behind_s", self.behind_s.saturating_sub(1)),
            ("gets.first", self.first_gets.0),
            ("gets.first_ns", self.first_gets.1),
            ("gets.again", self.again_gets.0),
            ("gets.again_ns", self.again_gets.1),
        ];
        let classes = RequestClass::ALL.into_iter().zip(self.classes);
        let classes =
            classes.map(|(class, count)| (class.count_name(), count)).filter(|(_, count)| *count > 0);
        let answers = self.answers.iter().map(|(name, count)| {
            // A few dozen names at most, once for each worker: as good as static.
            (&*format!("{ANSWER}{name}").leak(), *count)
        });
        always
            .into_iter()
            .chain(seldom.into_iter().filter(|(_, count)| *count > 0))
            .chain(classes)
            .chain(answers)
            .collect()
    }
}

/// Whether the processor enciphers by instructions of its own.
fn has_cipher_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    true
}

/// The system's error number for an answer.
pub fn errno_of(status: u16, code: &str) -> i32 {
    match (status, code) {
        (_, "NoSuchBucket" | "NoSuchKey" | "NoSuchUpload") | (404 | 410, _) => libc::ENOENT,
        (_, "RequestTimeout") | (408 | 504, _) => libc::ETIMEDOUT,
        (_, "SlowDown" | "RequestLimitExceeded") | (429 | 503, _) => libc::EAGAIN,
        (_, "AccessDenied" | "SignatureDoesNotMatch" | "InvalidAccessKeyId" | "ExpiredToken")
        | (401 | 403, _) => libc::EACCES,
        (_, "BadDigest" | "XAmzContentSHA256Mismatch" | "IncompleteBody") => libc::EBADMSG,
        (_, "EntityTooLarge") | (413, _) => libc::EFBIG,
        (_, "QuotaExceeded" | "XMinioStorageFull") | (507, _) => libc::ENOSPC,
        (_, "BucketNotEmpty") => libc::ENOTEMPTY,
        (409, _) => libc::EBUSY,
        (412, _) => libc::EEXIST,
        (300..=399, _) => libc::EREMOTE,
        (405 | 501, _) => libc::EOPNOTSUPP,
        (400..=499, _) => libc::EINVAL,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_name_and_have_an_error_number() {
        let mut tally = RequestTally::default();
        assert!(tally.answer(503, "SlowDown"));
        assert!(!tally.answer(403, "AccessDenied") && !tally.answer(403, "AccessDenied"));
        assert!(!tally.answer(500, "a b\n"));
        let named = tally.by_name();
        let of = |name: &str| named.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        assert_eq!((of("answer.403.AccessDenied"), of("answer.503.SlowDown")), (Some(2), Some(1)));
        assert_eq!(
            (of("requests.throttled"), of("answer.500.ab"), of("requests")),
            (Some(1), Some(1), Some(0))
        );
        assert_eq!((0..100).map(|number| tally.note(&number.to_string())).count(), 100);
        assert!(tally.by_name().len() < 60);
        assert_eq!(errno_of(404, ""), libc::ENOENT);
        assert_eq!(errno_of(400, "ExpiredToken"), libc::EACCES);
        assert_eq!(errno_of(503, "SlowDown"), libc::EAGAIN);
        assert_eq!(errno_of(500, "InternalError"), libc::EIO);
    }
}
