//! Several different parts as one volume.

use super::when;
use crate::reflect::Reflect;

/// A volume over parts that differ: tiers, a RAID of unlike disks, a fast and a slow volume of one server.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Volume {
    /// The parts behind it, in the order in which its addresses lie on them.
    pub over: Vec<String>,
    /// Which of them has which data.
    #[reflect(default)]
    pub layout: VolumeLayout,
    /// What lies on a part before the next one follows, or is placed on its own.
    #[reflect(default = 65_536, positive)]
    pub piece_bytes: u64,
    /// With `share`: how much of the pieces lies on each part, of the sum of all.
    #[reflect(default)]
    pub shares: Vec<f64>,
    /// What it takes for each request, which keeps nobody else waiting.
    #[reflect(default)]
    pub command_ns: u64,
}

/// How data lies on the parts of a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum VolumeLayout {
    /// By address: one part behind the other, each as long as it is.
    #[default]
    Linear,
    /// Pieces in turn (RAID 0); the smallest part says how many.
    Striped,
    /// All parts hold the same: each is written, one of them is read, that which has the fewest requests (RAID 1).
    Mirrored,
    /// Pieces lie where a hash says, on each part its share of them.
    Share,
}

impl Volume {
    /// The most parts of a volume.
    const MOST_PARTS: usize = 64;

    /// What it holds, when its parts hold so much; a part that does not say holds all.
    pub(super) fn capacity_bytes(&self, behind: &[u64]) -> u64 {
        let least = behind.iter().copied().min().unwrap_or(0);
        if behind.contains(&0) {
            return 0;
        }
        match self.layout {
            VolumeLayout::Linear => behind.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes)),
            VolumeLayout::Striped => {
                (least / self.piece_bytes.max(1) * self.piece_bytes).saturating_mul(behind.len() as u64)
            }
            VolumeLayout::Mirrored => least,
            VolumeLayout::Share => {
                let sum: f64 = self.shares.iter().sum();
                let parts = self.shares.iter().zip(behind).filter(|(share, _)| **share > 0.0);
                parts.map(|(share, bytes)| *bytes as f64 / share * sum).fold(f64::INFINITY, f64::min) as u64
            }
        }
    }

    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let (parts, shares) = (self.over.len(), self.shares.len());
        let is_wrong = |share: &f64| !share.is_finite() || *share < 0.0;
        [
            when(parts == 0, "it stands in front of nothing", "say the parts: over = [\"fast\", \"slow\"]"),
            when(parts > Self::MOST_PARTS, format!("{parts} parts behind it"), "at most 64"),
            when(
                self.layout == VolumeLayout::Share && shares != parts,
                format!("{shares} shares of {parts} parts"),
                "a share for each part: shares = [0.9, 0.1]",
            ),
            when(
                self.layout != VolumeLayout::Share && shares > 0,
                "`shares` without layout = \"share\"",
                "leave the shares out, or say the layout",
            ),
            when(
                self.layout == VolumeLayout::Share
                    && (self.shares.iter().any(is_wrong) || self.shares.iter().sum::<f64>() <= 0.0),
                "shares are not below 0, and one of them is more",
                "e.g. shares = [0.9, 0.1]",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
