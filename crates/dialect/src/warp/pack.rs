//! zstd, in which files of results are packed.

use std::io::Read as _;

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// What a packed file begins with.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A file of results, unpacked, at most: bytes.
const MOST_BYTES: u64 = 16 << 30;

pub fn packed(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// The text of a file, packed or not.
///
/// # Errors
/// What is wrong with it, as a lower-case fragment.
pub fn text(bytes: &[u8]) -> Result<String, String> {
    let mut unpacked = Vec::new();
    let mut rest = bytes;
    while rest.starts_with(&MAGIC) {
        let decoder = StreamingDecoder::new(&mut rest).map_err(|error| format!("no zstd: {error}"))?;
        let read = decoder.take(MOST_BYTES).read_to_end(&mut unpacked);
        read.map_err(|error| format!("what is packed in it is broken: {error}"))?;
    }
    if !bytes.starts_with(&MAGIC) {
        unpacked = bytes.to_vec();
    }
    String::from_utf8(unpacked)
        .map_err(|_| "it is no text: a file NAME.csv.zst or NAME.json.zst of warp is".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let all = "a table\n".repeat(1000);
        let bytes = packed(all.as_bytes());
        assert!(bytes.len() < 1000);
        assert_eq!(text(&bytes).as_deref(), Ok(all.as_str()));
        assert_eq!(text([bytes.clone(), bytes].concat().as_slice()), Ok(all.repeat(2)));
        assert_eq!(text(b"plain").as_deref(), Ok("plain"));
        assert!(text(&MAGIC).is_err() && text(&[0xff]).is_err());
    }
}
