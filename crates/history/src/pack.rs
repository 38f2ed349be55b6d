//! Values as bytes and back: MessagePack with field names, so that later versions read what earlier ones wrote; in the
//! store deflated as well.

use std::io::{Read, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use serde::{Serialize, de::DeserializeOwned};

/// A value as plain bytes.
///
/// # Errors
/// When it cannot be written in that form.
pub fn plain(value: &impl Serialize) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec_named(value).map_err(|error| error.to_string())
}

/// The value of plain bytes.
///
/// # Errors
/// When they are not of such a value.
pub fn from_plain<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    rmp_serde::from_slice(bytes).map_err(|error| error.to_string())
}

/// A value as deflated bytes.
///
/// # Errors
/// When it cannot be written in that form.
pub fn tight(value: &impl Serialize) -> Result<Vec<u8>, String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(&plain(value)?).map_err(|error| error.to_string())?;
    encoder.finish().map_err(|error| error.to_string())
}

/// The value of deflated bytes.
///
/// # Errors
/// When they are damaged, or not of such a value.
pub fn from_tight<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut plain = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut plain).map_err(|error| error.to_string())?;
    from_plain(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Histogram, PhaseRecord};

    #[test]
    fn what_was_packed_comes_back() {
        let mut histogram = Histogram::default();
        [1, 5_000, u64::MAX].iter().for_each(|value| histogram.add(*value));
        let bytes = tight(&histogram).unwrap();
        assert_eq!(from_tight::<Histogram>(&bytes), Ok(histogram));
        assert!(from_tight::<Histogram>(&bytes[..bytes.len() / 2]).is_err());
        let phase = PhaseRecord { name: "x".into(), ..PhaseRecord::default() };
        assert_eq!(from_plain::<PhaseRecord>(&plain(&phase).unwrap()), Ok(phase));
    }
}
