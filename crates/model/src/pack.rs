//! Values as bytes and back, for processes, ranks and stores: [MessagePack](https://github.com/msgpack/msgpack).
//!
//! Takes values by their tables, so that the format is compiled here, once, for all crates.

use crate::reflect::{self, Reflect};

/// A value with its fields' names: later versions read what earlier ones wrote.
///
/// # Errors
/// When it cannot be written in that form.
pub fn named(value: &dyn Reflect) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(128);
    let mut writer = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
    reflect::write(value, &mut writer).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// A value without names: for a reader of the same program.
///
/// # Errors
/// When it cannot be written in that form.
pub fn bare(value: &dyn Reflect) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(128);
    reflect::write(value, &mut rmp_serde::Serializer::new(&mut bytes)).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The value that [`named`] or [`bare`] wrote.
///
/// # Errors
/// When the bytes are not of such a value.
pub fn unpack<T: Reflect>(bytes: &[u8]) -> Result<T, String> {
    let mut value = T::blank();
    read(&mut value, bytes)?;
    Ok(value)
}

fn read(value: &mut dyn Reflect, bytes: &[u8]) -> Result<(), String> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
    reflect::read(value, &mut reader).map_err(|error| error.to_string())
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
        assert!(unpack::<Histogram>(&named(&"x".to_string()).unwrap()).is_err());
    }
}
