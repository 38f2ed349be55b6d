//! Values as bytes and back, for processes, ranks and stores: [MessagePack](https://github.com/msgpack/msgpack).
//!
//! Everything goes through one trait object. `serde` compiles a value's reader once for each format and crate; a plan and
//! a record are 180 types, and with `rmp-serde` alone their readers were a third of the whole program.

use serde::de::{DeserializeOwned, Deserializer};

/// What can be written.
pub use erased_serde::Serialize as Written;

/// A value with its fields' names: later versions read what earlier ones wrote.
///
/// # Errors
/// When it cannot be written in that form.
pub fn named(value: &dyn Written) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec_named(value).map_err(|error| error.to_string())
}

/// A value without names: for a reader of the same program.
///
/// # Errors
/// When it cannot be written in that form.
pub fn bare(value: &dyn Written) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec(value).map_err(|error| error.to_string())
}

/// The value that [`named`] or [`bare`] wrote.
///
/// # Errors
/// When the bytes are not of such a value.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    understand(&mut rmp_serde::Deserializer::from_read_ref(bytes))
}

/// The value of any reader.
///
/// # Errors
/// When what it reads is not of such a value.
pub fn understand<'de, T: DeserializeOwned>(reader: impl Deserializer<'de>) -> Result<T, String> {
    let mut reader = <dyn erased_serde::Deserializer>::erase(reader);
    erased_serde::deserialize(&mut reader).map_err(|error| error.to_string())
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
        for pack in [named, bare] {
            assert_eq!(unpack(&pack(&histogram).unwrap()), Ok(histogram.clone()));
            assert_eq!(unpack(&pack(&phase).unwrap()), Ok(phase.clone()));
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
