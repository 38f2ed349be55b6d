//! What a drive says of its own health: wear, what was written, how hot it is.
//!
//! Facts as the drive tells them, before a phase and after it, and what follows from both. A figure that the drive does not
//! tell is missing, never 0.

use crate::reflect::Reflect;

/// The health of a drive before a phase and after it.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct HealthActivity {
    /// Kernel name of the whole disk.
    pub device: String,
    /// Where it was read: `NVMe log 02h`, `NVMe logs 02h and C0h`, `ATA device statistics`.
    pub source: String,
    /// Before the phase.
    pub before: DriveHealth,
    /// After it.
    pub after: DriveHealth,
}

/// What a drive tells of itself at one moment.
///
/// Sources: NVM Express Base Specification 2.0, 5.16.1.3 (SMART / Health Information, log 02h); OCP Datacenter NVMe SSD
/// Specification 2.0, 4.8.6 (log C0h); ATA Command Set ACS-4, 9.5 (Device Statistics, log 04h).
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct DriveHealth {
    /// Of the endurance that its vendor promises, percent; may exceed 100.
    #[reflect(default)]
    pub used_percent: Option<u64>,
    /// Spare blocks left, percent.
    #[reflect(default)]
    pub spare_percent: Option<u64>,
    /// Below this share of spare blocks the drive warns, percent.
    #[reflect(default)]
    pub spare_least_percent: Option<u64>,
    /// Bytes that the host read in the drive's life; NVMe counts in steps of 512,000.
    #[reflect(default)]
    pub host_read_bytes: Option<u64>,
    /// Bytes that the host wrote in its life; NVMe counts in steps of 512,000.
    #[reflect(default)]
    pub host_written_bytes: Option<u64>,
    /// Bytes that were written to its medium in its life.
    #[reflect(default)]
    pub media_written_bytes: Option<u64>,
    /// Temperature, °C.
    #[reflect(default)]
    pub temperature_c: Option<i64>,
    /// How long it worked slower because it was hot, in its life, s.
    #[reflect(default)]
    pub throttled_s: Option<u64>,
    /// How often it began to.
    #[reflect(default)]
    pub throttled: Option<u64>,
    /// How long it was hotter than it warns of, in its life, minutes.
    #[reflect(default)]
    pub hot_minutes: Option<u64>,
    /// Errors of the medium that could not be corrected.
    #[reflect(default)]
    pub media_errors: Option<u64>,
    /// Hours with power.
    #[reflect(default)]
    pub power_on_hours: Option<u64>,
    /// Losses of power that it was not told of.
    #[reflect(default)]
    pub unsafe_shutdowns: Option<u64>,
    /// What it warns of now.
    #[reflect(default)]
    pub warnings: Vec<String>,
}

impl HealthActivity {
    /// How much a count grew; none: it is not told, or it fell.
    fn grew(&self, count: impl Fn(&DriveHealth) -> Option<u64>) -> Option<u64> {
        count(&self.after)?.checked_sub(count(&self.before)?)
    }

    /// Bytes that the host wrote meanwhile.
    pub fn host_written_bytes(&self) -> Option<u64> {
        self.grew(|health| health.host_written_bytes)
    }

    /// Bytes that the host read meanwhile.
    pub fn host_read_bytes(&self) -> Option<u64> {
        self.grew(|health| health.host_read_bytes)
    }

    /// Bytes that were written to the medium for each that the host wrote; none where either is not told, or so little was
    /// written that the steps of the counts decide.
    pub fn write_amplification(&self) -> Option<f64> {
        /// The host's count moves in steps of 512,000: less than this is off by more than one percent.
        const LEAST_BYTES: u64 = 64 << 20;
        let (media, host) = (self.grew(|health| health.media_written_bytes)?, self.host_written_bytes()?);
        (host >= LEAST_BYTES).then(|| media as f64 / host as f64)
    }

    /// How long it worked slower because it was hot, s.
    pub fn throttled_s(&self) -> Option<u64> {
        self.grew(|health| health.throttled_s)
    }

    /// How often it began to.
    pub fn throttled(&self) -> Option<u64> {
        self.grew(|health| health.throttled)
    }

    /// Errors of the medium that came meanwhile.
    pub fn media_errors(&self) -> Option<u64> {
        self.grew(|health| health.media_errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(host: u64, media: Option<u64>) -> DriveHealth {
        DriveHealth { host_written_bytes: Some(host), media_written_bytes: media, ..DriveHealth::default() }
    }

    #[test]
    fn amplification_is_what_grew_on_the_medium_over_what_the_host_wrote() {
        let gib = 1 << 30;
        let of = |before, after| HealthActivity { before, after, ..HealthActivity::default() };
        let activity = of(written(gib, Some(5 * gib)), written(3 * gib, Some(10 * gib)));
        assert_eq!(
            (activity.host_written_bytes(), activity.write_amplification()),
            (Some(2 * gib), Some(2.5))
        );
        assert_eq!(of(written(gib, None), written(3 * gib, None)).write_amplification(), None);
        assert_eq!(
            of(written(0, Some(0)), written(512_000, Some(9))).write_amplification(),
            None,
            "too little"
        );
        assert_eq!(of(written(gib, None), written(0, None)).host_written_bytes(), None, "a count that fell");
    }
}
