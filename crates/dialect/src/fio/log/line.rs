//! Numbers as text, many millions of them: appended to a buffer without the formatting machinery.

pub use iodyno_trace::export::put_number as number;

/// Appends numbers in decimal, with a comma and a space between them.
pub fn columns(out: &mut Vec<u8>, numbers: &[u64]) {
    for (index, value) in numbers.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        number(out, *value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        let mut out = Vec::new();
        columns(&mut out, &[0, 7, 10, 4096, u64::MAX]);
        assert_eq!(String::from_utf8(out).unwrap(), format!("0, 7, 10, 4096, {}", u64::MAX));
    }
}
