//! A rotating disk.

use super::{positive, when};
use crate::reflect::Reflect;

/// A rotating disk: a request takes the command, a seek, the rotation and the transfer.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct HardDisk {
    /// What it holds.
    #[reflect(default = 1_000_000_000_000)]
    pub capacity_bytes: u64,
    /// Rotations per minute.
    #[reflect(default = 7_200, positive)]
    pub rpm: u32,
    /// The mean seek between two places of the whole disk, drawn at random.
    #[reflect(default = 8_500_000)]
    pub seek_ns: u64,
    /// The seek to the next track: the shortest.
    #[reflect(default = 800_000)]
    pub track_to_track_ns: u64,
    /// How a seek grows with its distance.
    #[reflect(default)]
    pub seek_curve: SeekCurve,
    /// What is waited for until the place comes round.
    #[reflect(default)]
    pub rotation: Rotation,
    /// What the electronics takes for each request beside that.
    #[reflect(default = 100_000)]
    pub command_ns: u64,
    /// Bytes per second on the outermost tracks; 0: the transfer takes no time.
    #[reflect(default = 180_000_000, form = "bytes per second")]
    pub outer_rate: u64,
    /// The same on the innermost tracks; between them it falls evenly. 0: as outside.
    #[reflect(default, form = "bytes per second")]
    pub inner_rate: u64,
    /// How many waiting requests it chooses the nearest from (native command queueing); 1: in the order of arrival.
    #[reflect(default = 1, positive)]
    pub ncq: u32,
    /// Its memory for written data and for data read ahead.
    #[reflect(default)]
    pub cache_bytes: u64,
    /// How much it reads ahead where requests follow each other; 0: it does not.
    #[reflect(default)]
    pub read_ahead_bytes: u64,
    /// Whether it answers writes once they are in its memory.
    #[reflect(default)]
    pub write_back: bool,
    /// How many writes in its memory it chooses the nearest from.
    #[reflect(default = 1, positive)]
    pub sorted: u32,
    /// An answer from its memory.
    #[reflect(default = 50_000)]
    pub cached_ns: u64,
}

/// How a seek grows with its distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum SeekCurve {
    /// With the square root of the distance: the arm is accelerated, then slowed down.
    #[default]
    Root,
    /// Every seek takes the mean, as the textbooks count it.
    Flat,
}

/// What is waited for until the place comes round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Rotation {
    /// The angle between where the platter is and where the place lies.
    #[default]
    Angle,
    /// Half a turn, as the textbooks count it.
    Half,
}

impl HardDisk {
    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        [
            positive("capacity", self.capacity_bytes, "e.g. capacity = \"1TB\""),
            when(
                self.track_to_track_ns > self.seek_ns && self.seek_curve == SeekCurve::Root,
                "the shortest seek (`track_to_track`) is longer than the mean one (`seek`)",
                "track_to_track is usually a tenth of seek",
            ),
            when(
                (self.write_back || self.read_ahead_bytes > 0) && self.cache_bytes == 0,
                "`write_back` and `read_ahead` need memory",
                "say how much: cache = \"16MiB\"",
            ),
            when(
                self.inner_rate > self.outer_rate,
                "`inner_rate` is more than `outer_rate`",
                "outside is fastest",
            ),
            when(
                self.ncq.max(self.sorted) > Self::MOST_SORTED,
                format!("`ncq` and `sorted` are at most {}", Self::MOST_SORTED),
                "32 is usual",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The largest number that the nearest is chosen from: each choice looks at all of them.
    pub const MOST_SORTED: u32 = 1024;
}
