//! Mixes that storage buyers ask for, as far as they were published. None is for submission: the audited workloads have
//! rules beyond the mix.
//!
//! Sources: SPC-1 specification, its table of streams (shares, reads, transfer sizes); SPC-2 specification, its three
//! workloads (transfer sizes, reads and writes); SPEC SFS 3.0 and SFS 2008 user's guides (mix, file set).

use iodyno_model::pattern::OperationKind;
use iodyno_model::{Extent, Mix, Pattern, PerDirection, Pick, Size, Verb, Zone};

use super::file_service::{SFS_97, SFS_2008, ServiceMix};

/// A published mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// Online transactions: eight streams over three stores.
    Spc1Like,
    /// Large files: sequential, half read and half written.
    Spc2LikeFile,
    /// Queries of large databases: sequential reads of 64 KiB and 1 MiB.
    Spc2LikeQuery,
    /// Video on demand: sequential reads of 256 KiB.
    Spc2LikeVideo,
    /// File service: operations of NFS on a file set that grows with the load, by the mix of 2008.
    SfsLike,
    /// The same by the mix of 1997.
    Sfs97Like,
}

/// A stream: its share, where it goes, its reads, and whether its sizes vary.
struct MixStream {
    share: f64,
    pick: Pick,
    reads: f64,
    sizes: &'static [(u64, f64)],
}

const KIB: u64 = 1 << 10;
/// Transfers of 4 KiB.
const SMALL: &[(u64, f64)] = &[(4 * KIB, 1.0)];
/// The sizes of sequential transfers, KiB and shares (SPC-1: SMIX).
const VARIED: &[(u64, f64)] =
    &[(4 * KIB, 0.40), (8 * KIB, 0.24), (16 * KIB, 0.20), (32 * KIB, 0.08), (64 * KIB, 0.08)];

/// The parts of the target, percent: data, users, log.
const STORES: [f64; 3] = [45.0, 45.0, 10.0];

impl Profile {
    /// What the mix is, and where it departs from the published one.
    pub fn about(self) -> &'static str {
        match self {
            Profile::Spc1Like => {
                "spc1-like: the shares, reads and transfer sizes of SPC-1's eight streams, 39 % reads. Uniform streams \
                 stay inside their store (45, 45, 10 %); its random walks are Zipf 0.9, and they and its sequential \
                 streams go over the whole target. Not for submission"
            }
            Profile::Spc2LikeFile => {
                "spc2-like-file: SPC-2's large file processing: sequential transfers of 1 MiB and 256 KiB, half read, \
                 half written. Not for submission"
            }
            Profile::Spc2LikeQuery => {
                "spc2-like-query: SPC-2's large database query: sequential reads of 1 MiB and 64 KiB. Not for submission"
            }
            Profile::Spc2LikeVideo => {
                "spc2-like-video: SPC-2's video on demand: sequential reads of 256 KiB; a stream of it takes 0.786 MB/s. \
                 Not for submission"
            }
            Profile::SfsLike => {
                "sfs-like: the NFS version 3 mix of SPEC SFS 2008 as system calls, 120 MB of files for each operation per \
                 second, 30 % of them used; sizes of files and transfers are those of SFS 3.0. Not for submission"
            }
            Profile::Sfs97Like => {
                "sfs97-like: the NFS version 3 mix of SPEC SFS 3.0 as system calls, 10 MB of files for each operation per \
                 second, 10 % of them used. Not for submission"
            }
        }
    }

    /// Its mix where that is one of operations on files.
    pub fn service(self) -> Option<&'static ServiceMix> {
        match self {
            Profile::SfsLike => Some(&SFS_2008),
            Profile::Sfs97Like => Some(&SFS_97),
            _ => None,
        }
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        matches!(self, Profile::Spc1Like | Profile::Spc2LikeFile)
    }

    fn streams(self) -> Vec<MixStream> {
        let stream = |share, pick, reads, sizes| MixStream { share, pick, reads, sizes };
        let (uniform, walk) = (|store| inside(store, Pick::Uniform), |store| inside(store, WALK));
        match self {
            Profile::Spc1Like => vec![
                stream(3.5, uniform(0), 0.5, SMALL),
                stream(28.1, walk(0), 0.5, SMALL),
                stream(7.0, Pick::Sequential, 1.0, VARIED),
                stream(21.0, walk(0), 0.5, SMALL),
                stream(1.8, uniform(1), 0.3, SMALL),
                stream(7.0, walk(1), 0.3, SMALL),
                stream(3.5, Pick::Sequential, 1.0, VARIED),
                stream(28.1, Pick::Sequential, 0.0, VARIED),
            ],
            Profile::Spc2LikeFile => {
                vec![stream(100.0, Pick::Sequential, 0.5, &[(1024 * KIB, 0.5), (256 * KIB, 0.5)])]
            }
            Profile::Spc2LikeQuery => {
                vec![stream(100.0, Pick::Sequential, 1.0, &[(1024 * KIB, 0.5), (64 * KIB, 0.5)])]
            }
            Profile::Spc2LikeVideo => vec![stream(100.0, Pick::Sequential, 1.0, &[(256 * KIB, 1.0)])],
            Profile::SfsLike | Profile::Sfs97Like => Vec::new(),
        }
    }

    /// The mix as one pattern: streams as kinds of operations.
    pub fn pattern(self) -> Pattern {
        let mut kinds = Vec::new();
        for stream in self.streams() {
            for (verb, part) in [(Verb::Read, stream.reads), (Verb::Write, 1.0 - stream.reads)] {
                for (bytes, share) in stream.sizes.iter().filter(|_| part > 0.0) {
                    kinds.push(OperationKind {
                        verb,
                        weight: stream.share * part * share,
                        bytes: *bytes,
                        pick: stream.pick.clone(),
                        align_bytes: 0,
                    });
                }
            }
        }
        let sizes = |verb: Verb| {
            let mut sizes = std::collections::BTreeMap::<u64, f64>::new();
            let of = kinds.iter().filter(|kind| kind.verb == verb);
            of.for_each(|kind| *sizes.entry(kind.bytes).or_default() += kind.weight);
            Size::Split(sizes.into_iter().collect())
        };
        let weight =
            |verb: Verb| kinds.iter().filter(|kind| kind.verb == verb).map(|kind| kind.weight).sum::<f64>();
        let reads = weight(Verb::Read) / (weight(Verb::Read) + weight(Verb::Write)) * 100.0;
        let mut pattern = Pattern::of(Verb::Read, Pick::Uniform, SMALL[0].0);
        pattern.mix = if self.writes() { Mix::reads(reads) } else { Mix::only(Verb::Read) };
        let write = if self.writes() { sizes(Verb::Write) } else { sizes(Verb::Read) };
        pattern.size =
            PerDirection { read: sizes(Verb::Read), write, ..PerDirection::same(Size::Fixed(SMALL[0].0)) };
        pattern.kinds = kinds;
        pattern
    }
}

/// Stands in for a walk that comes back to where it was.
const WALK: Pick = Pick::Zipf { theta: 0.9, center: None };

/// A pick inside one store. One that is not uniform goes over the whole target: zones know no skew of their own.
fn inside(store: usize, pick: Pick) -> Pick {
    match pick {
        Pick::Uniform => {
            let zone = |(at, percent): (usize, &f64)| Zone {
                accesses_percent: if at == store { 100.0 } else { 0.0 },
                extent: Extent::Percent(*percent),
            };
            Pick::Zones(STORES.iter().enumerate().map(zone).collect())
        }
        pick => pick,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_the_published_one() {
        let pattern = Profile::Spc1Like.pattern();
        let all: f64 = pattern.kinds.iter().map(|kind| kind.weight).sum();
        assert!((all - 100.0).abs() < 1e-9, "{all}");
        let reads: f64 =
            pattern.kinds.iter().filter(|kind| kind.verb == Verb::Read).map(|kind| kind.weight).sum();
        assert!((reads - 39.44).abs() < 0.01, "{reads} % reads, published are 39 %");
        let mean: f64 = pattern.kinds.iter().map(|kind| kind.weight / 100.0 * kind.bytes as f64).sum();
        assert!((6000.0..9000.0).contains(&mean), "{mean} bytes");
    }

    #[test]
    fn profiles_that_only_read_have_no_writes() {
        for profile in [Profile::Spc2LikeQuery, Profile::Spc2LikeVideo] {
            assert!(profile.pattern().kinds.iter().all(|kind| kind.verb == Verb::Read), "{profile:?}");
        }
    }
}
