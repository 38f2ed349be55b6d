//! Values as bytes and back, for processes, ranks and stores: [MessagePack](https://github.com/msgpack/msgpack).

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value with its fields' names: later versions read what earlier ones wrote.
///
/// # Errors
/// When it cannot be written in that form.
pub fn named(value: &impl Serialize) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec_named(value).map_err(|error| error.to_string())
}

/// A value without names: for a reader of the same program.
///
/// # Errors
/// When it cannot be written in that form.
pub fn bare(value: &impl Serialize) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec(value).map_err(|error| error.to_string())
}

/// The value that [`named`] or [`bare`] wrote.
///
/// # Errors
/// When the bytes are not of such a value.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    rmp_serde::from_slice(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, PhaseRecord};

    #[test]
    fn what_was_packed_comes_back() {
        let mut histogram = Histogram::default();
        [1, 5_000, u64::MAX].iter().for_each(|value| histogram.add(*value));
        let phase = PhaseRecord { name: "x".into(), ..PhaseRecord::default() };
        for bytes in [named(&histogram), bare(&histogram)] {
            assert_eq!(unpack(&bytes.unwrap()), Ok(histogram.clone()));
        }
        for bytes in [named(&phase), bare(&phase)] {
            assert_eq!(unpack(&bytes.unwrap()), Ok(phase.clone()));
        }
    }

    #[test]
    fn what_is_cut_off_or_of_something_else_is_refused() {
        let bytes = named(&PhaseRecord { name: "x".into(), ..PhaseRecord::default() }).unwrap();
        for end in 0..bytes.len() {
            assert!(unpack::<PhaseRecord>(&bytes[..end]).is_err(), "{end} of {} bytes", bytes.len());
        }
        assert!(unpack::<Histogram>(&named(&"x").unwrap()).is_err());
    }
}
