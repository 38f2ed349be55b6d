//! Files that people write: their text, or one message that they have none.

/// So many control characters may be an accident.
const ACCIDENTS: usize = 8;

/// The text of a file. What is not UTF-8 in it is most likely somebody's name in a comment.
///
/// # Errors
/// It is no text, with the first byte that shows it, as a lower-case fragment.
pub(crate) fn text(bytes: &[u8]) -> Result<String, String> {
    let is_strange = |byte: &u8| *byte < b' ' && !b"\t\n\r\x0b\x0c\x1a\x1b".contains(byte);
    // A few control characters are somebody's accident. Zeros are those of a program or of UTF-16, and many others of
    // compressed data.
    let count = bytes.iter().filter(|byte| is_strange(byte)).count();
    let is_many = count > ACCIDENTS && count * 50 > bytes.len();
    let zero = bytes.iter().position(|byte| *byte == 0);
    match zero.or_else(|| bytes.iter().position(is_strange).filter(|_| is_many)) {
        Some(at) => Err(format!("this is no text: byte {at} is {:#04x}", bytes[at])),
        None => Ok(String::from_utf8_lossy(bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_age_is_text_and_data_is_none() {
        let latin = b"# Andr\xe9\r\n[job]\r\nrw=read\r\n\x1a";
        assert_eq!(text(latin).unwrap(), "# Andr\u{fffd}\r\n[job]\r\nrw=read\r\n\u{1a}");
        assert_eq!(text(b"").unwrap(), "");
        assert_eq!(text(b"[a\x07]\n").unwrap(), "[a\x07]\n");
        for (bytes, place) in [
            (&b"\x7fELF\x02\x01\0"[..], "byte 6 is 0x00"),
            (&[&b"\x1f\x8b\x08"[..], &[6; 9]].concat(), "byte 0 is 0x1f"),
        ] {
            assert_eq!(text(bytes).unwrap_err(), format!("this is no text: {place}"));
        }
    }
}
