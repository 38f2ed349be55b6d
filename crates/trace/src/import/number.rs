//! Numbers in bytes, without a string in between.

/// 1970-01-01 in units of 100 ns since 1601-01-01.
const UNIX_FILETIME: i64 = 116_444_736_000_000_000;

/// A whole number of decimal digits.
pub fn whole(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 20 {
        return None;
    }
    let mut number = 0_u64;
    if field.len() < 20 {
        for byte in field {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            number = number * 10 + u64::from(digit);
        }
        return Some(number);
    }
    for byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}

/// A whole number that fits 32 bits.
pub fn small(field: &[u8]) -> Option<u32> {
    whole(field).and_then(|number| number.try_into().ok())
}

/// A time in units of `unit_ns`, with decimals or without, as ns. What is below 1 ns is cut off.
pub fn time_ns(field: &[u8], unit_ns: u64) -> Option<i64> {
    let (negative, field) = match field.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, field),
    };
    let ns = match field.iter().position(|byte| !byte.is_ascii_digit()) {
        None => whole(field)?.checked_mul(unit_ns)?,
        Some(at) if field[at] == b'.' && at + 1 < field.len() => {
            let whole_ns = if at == 0 { 0 } else { whole(&field[..at])?.checked_mul(unit_ns)? };
            match fraction_ns(&field[at + 1..], unit_ns) {
                Some(ns) => whole_ns.checked_add(ns)?,
                None => scientific_ns(field, unit_ns)?,
            }
        }
        Some(_) => scientific_ns(field, unit_ns)?,
    };
    let ns = i64::try_from(ns).ok()?;
    Some(if negative { -ns } else { ns })
}

fn fraction_ns(digits: &[u8], unit_ns: u64) -> Option<u64> {
    let kept = &digits[..digits.len().min(9)];
    if !digits[kept.len()..].iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(whole(kept)? * unit_ns / 10_u64.pow(kept.len() as u32))
}

/// `1.5e9`, as some programs write large numbers.
fn scientific_ns(field: &[u8], unit_ns: u64) -> Option<u64> {
    if !field.iter().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte)) {
        return None;
    }
    let number: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    let ns = number * unit_ns as f64;
    (ns >= 0.0 && ns < i64::MAX as f64).then_some(ns as u64)
}

/// A Windows file time (100 ns since 1601-01-01) as ns since the Unix epoch.
pub fn filetime_ns(field: &[u8]) -> Option<i64> {
    i64::try_from(whole(field)?).ok()?.checked_sub(UNIX_FILETIME)?.checked_mul(100)
}

/// 16 bytes in hexadecimal digits.
pub fn digest(field: &[u8]) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    if field.len() != 32 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(field.chunks_exact(2)) {
        let digit = |byte: u8| (byte as char).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_none() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!((whole(b""), whole(b"1a"), whole(b"-1")), (None, None, None));
        assert_eq!(time_ns(b"0.011413", 1_000_000_000), Some(11_413_000));
        assert_eq!(time_ns(b"-1.5", 1_000_000), Some(-1_500_000));
        assert_eq!(time_ns(b"1455592301.1123340001", 1_000_000_000), Some(1_455_592_301_112_334_000));
        assert_eq!(time_ns(b".5", 1000), Some(500));
        assert_eq!(time_ns(b"1.5e3", 1_000_000), Some(1_500_000_000));
        assert_eq!((time_ns(b"", 1), time_ns(b"nan", 1), time_ns(b"1e30", 1)), (None, None, None));
        assert_eq!(filetime_ns(b"128166372003061629"), Some(1_172_163_600_306_162_900));
        assert_eq!(filetime_ns(b"18446744073709551615"), None);
        assert_eq!(digest(b"000102030405060708090a0b0c0d0eFF").unwrap()[15], 0xff);
        assert_eq!(digest(b"0001"), None);
    }
}
