//! How much of what a phase read came from the page cache, as one line for every report that is made of lines.
//!
//! It refuses to print a zero for what cannot be told.

use iodyno_model::CacheShare;

/// One sentence without an end, e.g. `page cache: 75 % of what was read (sda delivered 268435456 bytes)`.
pub fn line(share: &CacheShare) -> String {
    match share.percent() {
        Some(percent) => format!("page cache: {} % of what was read ({})", rounded(percent), share.because),
        None => format!("page cache: cannot tell ({})", share.because),
    }
}

/// Whole percent; what is neither nothing nor all is told as neither.
fn rounded(percent: f64) -> String {
    match percent {
        percent if percent > 0.0 && percent < 1.0 => "under 1".into(),
        percent if percent > 99.0 && percent < 100.0 => "over 99".into(),
        percent => format!("{percent:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_told_has_no_number() {
        let share = |read_bytes, cached_bytes| CacheShare { read_bytes, cached_bytes, because: "why".into() };
        assert_eq!(line(&share(1000, None)), "page cache: cannot tell (why)");
        for (cached, text) in
            [(0, "0"), (1, "under 1"), (333, "33"), (999, "over 99"), (1000, "100"), (2000, "100")]
        {
            assert_eq!(
                line(&share(1000, Some(cached))),
                format!("page cache: {text} % of what was read (why)")
            );
        }
    }
}
