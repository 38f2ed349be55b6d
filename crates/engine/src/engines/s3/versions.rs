//! Versions of objects: buckets that keep them, which there are, and what retains them.
//!
//! With the setting `versions` an item is a version: item `i` of `n` versions of each is one of those that object `i / n` has.
//! Stores name versions, so which there are is asked for when a worker starts, before the start line.

use std::collections::HashMap;

use iodyno_s3::address::BucketAddress;
use iodyno_s3::body::{self, ErrorBody, VersionPage};
use iodyno_s3::request::RequestHead;
use iodyno_s3::{UtcTime, operation};

use super::connection::Ending;
use super::{Lane, S3};
use crate::failure::{Failure, strerror};

const DAY_S: u64 = 86_400;
/// Versions that a worker keeps the names of, at most: about 100 bytes each.
const VERSIONS_MOST: usize = 4 << 20;

/// The ids of a bucket's versions, by key.
pub type VersionIds = HashMap<String, Vec<String>>;

impl S3 {
    /// Asks which versions there are of the objects below each prefix.
    ///
    /// # Errors
    /// The store does not say it, or there are more than a worker keeps.
    pub(super) fn learn_versions(&mut self) -> Result<(), Failure> {
        if !self.settings.names_versions() {
            return Ok(());
        }
        for index in 0..self.buckets.len() {
            let Some(bucket) = &self.buckets[index] else { continue };
            let (at, prefix, url) = (bucket.at[0].clone(), bucket.prefix.clone(), bucket.set.url.clone());
            let mut ids = VersionIds::new();
            let (mut after, mut count) = (None::<(String, String)>, 0);
            loop {
                let next = after.as_ref().map(|(key, version)| (key.as_str(), version.as_str()));
                let request = operation::list_versions(&at, &prefix, next);
                let text = self.answer_to(&request, Vec::new(), &url, "list its versions")?;
                let page =
                    VersionPage::parse(&text).map_err(|what| Failure::new(format!("{url}: {what}")))?;
                for version in page.versions.into_iter().filter(|version| !version.is_marker) {
                    count += 1;
                    ids.entry(version.key).or_default().push(version.id);
                }
                if count > VERSIONS_MOST {
                    let message = format!("{url}: more than {VERSIONS_MOST} versions are there");
                    return Err(Failure::new(message).hint("name a prefix with fewer objects"));
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            self.buckets[index].as_mut().expect("it was there a moment ago").versions = ids;
        }
        Ok(())
    }

    /// Whether the bucket keeps what the job wants of it; one that was just made learns it.
    pub(super) fn ready_bucket(
        &mut self,
        at: &BucketAddress,
        url: &str,
        is_new: bool,
    ) -> Result<(), Failure> {
        if self.settings.retention_days > 0 && !is_new {
            let asked =
                self.answer_to(&operation::object_lock(at), Vec::new(), url, "look at its object lock");
            asked.map_err(|failure| {
                failure.hint(
                    "objects are retained in buckets that were made with object lock: name one that is not there, or make \
                     it so (aws s3api create-bucket --object-lock-enabled-for-bucket)",
                )
            })?;
        }
        // A bucket with object lock keeps versions.
        if self.settings.versions <= 1 || self.settings.retention_days > 0 {
            return Ok(());
        }
        if is_new {
            let text = body::VERSIONING_ON.as_bytes();
            let request = operation::put_versioning(at, text);
            return self.answer_to(&request, text.to_vec(), url, "let it keep versions").map(drop);
        }
        let said =
            self.answer_to(&operation::versioning(at), Vec::new(), url, "ask whether it keeps versions")?;
        if body::keeps_versions(&said) {
            return Ok(());
        }
        let message =
            format!("{url}: the bucket keeps no versions, and nobody is to change that of a bucket in use");
        Err(Failure::new(message).hint(
            "name a bucket that is not there, or let it keep versions (aws s3api put-bucket-versioning \
             --versioning-configuration Status=Enabled)",
        ))
    }

    /// Waits for one answer, and its body.
    fn answer_to(
        &mut self,
        request: &RequestHead,
        text: Vec<u8>,
        url: &str,
        what: &str,
    ) -> Result<Vec<u8>, Failure> {
        let mut lane = Lane::new(u32::MAX, 0);
        let ending = self.once(&mut lane, request, text)?;
        let wrong = |why: String| Failure::new(format!("{url}: cannot {what}: {why}"));
        match (ending, &lane.connection.answer) {
            (Ending::Answered, Some(answer)) if (200..300).contains(&answer.status) => {
                Ok(lane.connection.text)
            }
            (Ending::Answered, Some(answer)) => {
                let (status, error) = (answer.status, ErrorBody::parse(&lane.connection.text));
                self.tally.answer(status, &error.code);
                let errno = super::tally::errno_of(status, &error.code);
                let why = format!("{status} {} {}", error.code, error.message);
                Err(wrong(why.trim_end().into()).errno(errno).hint("the store's own log says more"))
            }
            (Ending::Broken { errno, .. }, _) => Err(wrong(strerror(errno)).errno(errno)),
            _ => Err(wrong("the answer is none of a store".into()).errno(libc::EPROTO)),
        }
    }

    /// Until when an object is retained that is retained now.
    pub(super) fn retained_until(&self) -> UtcTime {
        UtcTime { unix: S3::time().unix + self.settings.retention_days * DAY_S }
    }
}
