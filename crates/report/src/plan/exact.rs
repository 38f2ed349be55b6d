//! Numbers without loss: the golden format must tell 47008 B from 45.9 KiB.
//!
//! Rounds nothing that a user could have typed; figures that were measured belong in `model::units`.

/// A size in the largest binary unit that divides it.
pub(crate) fn bytes(bytes: u64) -> String {
    let names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    in_largest_unit(bytes, 1024, &names)
}

/// A time in the largest unit that divides it.
pub(crate) fn time(ns: u64) -> String {
    const MINUTE: u64 = 60_000_000_000;
    if ns >= 2 * MINUTE && ns.is_multiple_of(MINUTE) {
        return format!("{} min", ns / MINUTE);
    }
    in_largest_unit(ns, 1000, &["ns", "µs", "ms", "s"])
}

fn in_largest_unit(mut value: u64, base: u64, names: &[&str]) -> String {
    let mut name = 0;
    while value > 0 && name + 1 < names.len() && value.is_multiple_of(base) {
        value /= base;
        name += 1;
    }
    format!("{value} {}", names[name])
}

/// A number with at most four decimals.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// `1 worker`, `2 workers`.
pub(crate) fn many(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_rounded() {
        assert_eq!(bytes(47008), "47008 B");
        assert_eq!(bytes(1536 << 10), "1536 KiB");
        assert_eq!(bytes(1 << 30), "1 GiB");
        assert_eq!(bytes(0), "0 B");
        assert_eq!(time(1_500_000), "1500 µs");
        assert_eq!(time(90_000_000_000), "90 s");
        assert_eq!(time(300_000_000_000), "5 min");
        assert_eq!(number(33.333_333), "33.3333");
        assert_eq!(number(70.0), "70");
    }
}
