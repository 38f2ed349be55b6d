//! Values as deflated bytes and back.

use std::io::{Read, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use iodyno_model::pack::{named, unpack};
use iodyno_model::reflect::Reflect;

/// A value as deflated bytes.
///
/// # Errors
/// When it cannot be written in that form.
pub fn tight(value: &dyn Reflect) -> Result<Vec<u8>, String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(&named(value)?).map_err(|error| error.to_string())?;
    encoder.finish().map_err(|error| error.to_string())
}

/// The value of deflated bytes.
///
/// # Errors
/// When they are damaged, or not of such a value.
pub fn from_tight<T: Reflect>(bytes: &[u8]) -> Result<T, String> {
    let mut plain = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut plain).map_err(|error| error.to_string())?;
    unpack(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deflated_comes_back_or_is_refused() {
        let words: Vec<String> = (0..100).map(|word| format!("word {word}")).collect();
        let bytes = tight(&words).unwrap();
        assert!(bytes.len() < named(&words).unwrap().len() / 2, "{} bytes", bytes.len());
        assert_eq!(from_tight(&bytes), Ok(words));
        assert!(from_tight::<Vec<String>>(&bytes[..bytes.len() / 2]).is_err());
    }
}
