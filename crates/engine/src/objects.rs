//! The objects of a bucket: where a store is, how its objects are named, and which object an operation is on.
//!
//! A job works on a bucket in one of two ways. Verbs on items (create, open, stat, unlink …) name an object by its
//! number. Reads and writes see all objects, which have one length, as one range of bytes after the other: what is at
//! `offset` lies in object `offset / length`. The store itself is for engines to reach.

use iodyno_model::{EngineTrait, Items, Job, Kind, Size, Target, TargetKind, Verb, VerbSet, Workload};

use crate::facts::EngineFacts;
use crate::names::templates::{Asker, names, set_root};
use crate::names::{Names, PathBuffer};

/// Verbs that name an object by their place in the range of all objects.
pub const DATA_VERBS: VerbSet = VerbSet::of(&[Verb::Read, Verb::Write, Verb::Trim]);

/// What the names of an engine's counts begin with that count a store's answers other than success, by status and code:
/// `answer.403.AccessDenied`. Results are error numbers of the system, and these say what the store said.
pub const ANSWER: &str = "answer.";

/// What the names of an engine's counts begin with that it keeps of each of a store's endpoints:
/// `endpoint.http://HOST:PORT/requests`.
pub const ENDPOINT: &str = "endpoint.";

/// The items that a removal of a directory is on, which only laying out asks for: everything below the prefix, or the bucket
/// itself, if it is empty.
pub const SWEPT: u64 = 0;
pub const BUCKET: u64 = 1;

/// The objects of a bucket, for one worker.
#[derive(Clone, Debug)]
pub struct ObjectSet {
    /// Where they are: `s3://BUCKET/PREFIX`, without a slash at its end.
    pub url: String,
    /// How they are named below it.
    pub names: Names,
    /// The length of each, where all have one; 0: they differ.
    pub object_bytes: u64,
}

/// What an operation is on: an object, and where in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectPlace {
    pub item: u64,
    /// Bytes from the object's begin.
    pub offset: u64,
}

impl ObjectSet {
    /// The objects of a target, for one worker; none: it is no bucket.
    pub fn of(target: &Target, asker: Asker<'_>) -> Option<ObjectSet> {
        let TargetKind::Bucket { url, items } = &target.kind else { return None };
        let url = set_root(url, items, asker).trim_end_matches('/').to_string();
        Some(ObjectSet { url, names: names(items, asker), object_bytes: one_length(items) })
    }

    /// The bytes of all objects, where all have one length.
    pub fn bytes(&self) -> u64 {
        self.names.count.saturating_mul(self.object_bytes)
    }

    /// What an operation of a verb at an offset is on; see [`crate::io::Io`].
    #[inline]
    pub fn place(&self, verb: Verb, offset: u64) -> ObjectPlace {
        match self.object_bytes {
            1.. if DATA_VERBS.has(verb) => {
                ObjectPlace { item: offset / self.object_bytes, offset: offset % self.object_bytes }
            }
            _ => ObjectPlace { item: offset, offset: 0 },
        }
    }

    /// The scheme, the bucket and what stands before each object's name, which ends in a slash unless it is empty.
    pub fn parts(&self) -> (&str, &str, String) {
        let (scheme, bucket, prefix) = split_url(&self.url).unwrap_or(("", self.url.as_str(), ""));
        (scheme, bucket, if prefix.is_empty() { String::new() } else { format!("{prefix}/") })
    }

    /// An object's address, for messages.
    pub fn address(&self, item: u64) -> String {
        let mut path = PathBuffer::default();
        format!("{}/{}", self.url, self.names.path(item, &mut path).to_string_lossy())
    }
}

/// The one length of objects; 0: they differ, or have none.
pub fn one_length(items: &Items) -> u64 {
    if let Size::Fixed(bytes) = items.size { bytes } else { 0 }
}

/// An address as scheme, bucket (or pool, or host) and prefix: `s3://BUCKET/PREFIX`.
pub fn split_url(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    (!scheme.is_empty() && !bucket.is_empty()).then_some((scheme, bucket, prefix.trim_end_matches('/')))
}

/// Whether a job with these verbs works on objects as items.
pub fn by_items(labels: &[(String, Verb)]) -> bool {
    labels.iter().any(|(_, verb)| verb.kind() == Kind::Metadata)
}

/// Whether a job draws operations of a verb.
pub fn draws(job: &Job, verb: Verb) -> bool {
    let Workload::Pattern(pattern) = &job.workload else { return false };
    pattern.mix.shares.iter().any(|share| share.verb == verb && share.weight > 0.0)
}

/// Whether an engine serves the store of an address. One that pretends everything pretends stores too.
pub fn serves(engine: &EngineFacts, url: &str) -> bool {
    let pretends = engine.traits.contains(&EngineTrait::Pretends);
    let scheme = split_url(url).map(|(scheme, ..)| scheme);
    pretends || scheme.is_some_and(|scheme| engine.stores_objects.contains(&scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str, size: Size) -> Target {
        let items = Items { count: 3, name: "o.{item}".into(), size, ..Items::default() };
        Target {
            name: "t".into(),
            kind: TargetKind::Bucket { url: url.into(), items },
            open: Default::default(),
            prepare: Default::default(),
            remove: false,
            origin: Default::default(),
        }
    }

    #[test]
    fn data_lies_in_one_object_after_the_other_and_items_are_numbered() {
        let set =
            ObjectSet::of(&target("s3://b/p/{worker}/", Size::Fixed(100)), Asker::first("j", 0)).unwrap();
        assert_eq!((set.url.as_str(), set.bytes()), ("s3://b/p/0", 300));
        assert_eq!(set.parts(), ("s3", "b", "p/0/".to_string()));
        assert_eq!(set.place(Verb::Read, 250), ObjectPlace { item: 2, offset: 50 });
        assert_eq!(set.place(Verb::Stat, 2), ObjectPlace { item: 2, offset: 0 });
        assert_eq!(set.address(2), "s3://b/p/0/o.2");
    }

    #[test]
    fn addresses_are_scheme_bucket_and_prefix() {
        assert_eq!(split_url("s3://bucket"), Some(("s3", "bucket", "")));
        assert_eq!(split_url("rados://pool/a/b/"), Some(("rados", "pool", "a/b")));
        assert_eq!(split_url("/tmp/x"), None);
        assert_eq!(split_url("s3:///x"), None);
    }
}
