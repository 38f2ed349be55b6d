//! `iops=6000,bandwidth=170MB`: what a volume was promised to do, or is limited to.

use iodyno_model::units;

/// A rate of operations, of bytes, or of both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RatePair {
    /// Operations per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bandwidth: Option<f64>,
}

impl RatePair {
    /// `iops=6000,bandwidth=170MB`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parsed(text: &str) -> Result<RatePair, String> {
        let mut pair = RatePair::default();
        for word in text.split(',') {
            let (name, value) = word.split_once('=').ok_or("expected iops=6000,bandwidth=170MB")?;
            match name.trim() {
                "iops" => {
                    let iops = value.trim().parse::<f64>().ok().filter(|iops| *iops > 0.0);
                    pair.iops = Some(iops.ok_or("iops: expected a number above 0")?);
                }
                "bandwidth" => {
                    let bytes = units::parse_bytes(value.trim().trim_end_matches("/s"))?;
                    pair.bandwidth = Some(bytes as f64).filter(|bytes| *bytes > 0.0);
                }
                other => return Err(format!("`{other}`: expected iops or bandwidth")),
            }
        }
        Ok(pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_parsed() {
        let pair = |iops, bandwidth| Ok(RatePair { iops, bandwidth });
        assert_eq!(RatePair::parsed("iops=6000,bandwidth=170MB"), pair(Some(6000.0), Some(170e6)));
        assert_eq!(RatePair::parsed("bandwidth=1MiB/s"), pair(None, Some(1048576.0)));
        for wrong in ["", "iops", "iops=0", "iops=many", "latency=1ms", "bandwidth=fast"] {
            assert!(RatePair::parsed(wrong).is_err(), "{wrong}");
        }
    }
}
