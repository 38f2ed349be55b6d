//! A rotating disk as the textbooks count it: average seek + half a rotation + transfer.
//!
//! Deterministic on purpose: the published figures are averages, and a model without chance must meet them exactly.
//! It refuses to guess geometry: every move costs the same, staying where the head is costs the transfer alone.

/// A disk's mechanics.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Average seek, ms.
    pub seek_ms: f64,
    /// Rotations per minute.
    pub rpm: f64,
    /// Transfer of one operation, ms.
    pub transfer_ms: f64,
    /// Or by size, bytes per second; 0: `transfer_ms`.
    pub transfer_bytes_per_s: f64,
    /// Whether operations that go on where the last one ended seek all the same.
    pub always_seeks: bool,
}

impl Default for Disk {
    fn default() -> Self {
        let (seek_ms, rpm) = (8.5, 7200.0);
        Disk { seek_ms, rpm, transfer_ms: 0.0, transfer_bytes_per_s: 0.0, always_seeks: false }
    }
}

impl Disk {
    /// Mean rotational latency, ns: half a rotation, 30 s / rpm.
    pub fn half_rotation_ns(&self) -> f64 {
        30e9 / self.rpm
    }

    /// The service time of an operation, ns.
    #[inline]
    pub fn service_ns(&self, bytes: u64, stays: bool) -> u64 {
        let transfer = if self.transfer_bytes_per_s > 0.0 {
            bytes as f64 * 1e9 / self.transfer_bytes_per_s
        } else {
            self.transfer_ms * 1e6
        };
        let moving =
            if stays && !self.always_seeks { 0.0 } else { self.seek_ms * 1e6 + self.half_rotation_ns() };
        (moving + transfer).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_figures() {
        let rate =
            |seek_ms, rpm| 1e9 / Disk { seek_ms, rpm, ..Disk::default() }.service_ns(4096, false) as f64;
        assert_eq!(rate(9.0, 7200.0).round(), 76.0);
        assert_eq!(rate(6.0, 10_000.0).round(), 111.0);
        assert_eq!(rate(4.0, 15_000.0).floor(), 166.0);
    }

    #[test]
    fn what_stays_does_not_seek() {
        let disk = Disk { transfer_bytes_per_s: 100e6, ..Disk::default() };
        assert_eq!(disk.service_ns(1_000_000, true), 10_000_000);
        assert_eq!(Disk { always_seeks: true, ..disk }.service_ns(1_000_000, true), 22_666_667);
    }
}
