//! A column: one field of the records of a block, in the encoding that is smallest for it.

use crate::TraceError;
use crate::format::bytes::{Cursor, put_varint, unzigzag, varint_length, zigzag};

/// One value for all.
const CONSTANT: u8 = 0;
/// A LEB128 number each.
const NUMBERS: u8 = 1;
/// Groups of 64: a byte with the bits of each, then all of them, lowest bit first.
const PACKED: u8 = 2;
/// The different values, and the index of each packed.
const DICTIONARY: u8 = 3;
/// Sixteen bytes each.
const RAW: u8 = 4;

/// Values of a group that have one width.
const GROUP: usize = 64;

/// Different values that a dictionary has at most.
const DICTIONARY_LIMIT: usize = 256;

/// Bytes of a digest.
const DIGEST: usize = 16;

/// Encodes columns, with memory that is kept from one to the next.
#[derive(Default)]
pub struct ColumnEncoder {
    scaled: Vec<u64>,
    payload: Vec<u8>,
    dictionary: Dictionary,
}

impl ColumnEncoder {
    /// Appends a column, unless all of its values are zero; whether it did.
    pub fn unsigned(&mut self, out: &mut Vec<u8>, id: u8, values: &[u64]) -> bool {
        let divisor = values.iter().fold(0, |divisor, value| common_divisor(divisor, *value));
        if divisor == 0 {
            return false;
        }
        self.scaled.clear();
        match divisor {
            1 => self.scaled.extend_from_slice(values),
            _ if divisor.is_power_of_two() => {
                let shift = divisor.trailing_zeros();
                self.scaled.extend(values.iter().map(|value| value >> shift));
            }
            _ => self.scaled.extend(values.iter().map(|value| value / divisor)),
        }
        self.scaled(out, id, divisor);
        true
    }

    /// The same for values with a sign: divided, then zigzag.
    pub fn signed(&mut self, out: &mut Vec<u8>, id: u8, values: &[i64]) -> bool {
        let divisor = values.iter().fold(0, |divisor, value| common_divisor(divisor, value.unsigned_abs()));
        if divisor == 0 {
            return false;
        }
        self.scaled.clear();
        match i64::try_from(divisor) {
            Ok(1) => self.scaled.extend(values.iter().map(|value| zigzag(*value))),
            Ok(divisor) => self.scaled.extend(values.iter().map(|value| zigzag(value / divisor))),
            // Only -2^63, and zeros.
            Err(_) => self.scaled.extend(values.iter().map(|value| u64::from(*value != 0))),
        }
        self.scaled(out, id, divisor);
        true
    }

    pub fn digests(&mut self, out: &mut Vec<u8>, id: u8, digests: &[[u8; DIGEST]]) -> bool {
        if digests.is_empty() {
            return false;
        }
        out.extend_from_slice(&[id, RAW]);
        put_varint(out, 1);
        put_varint(out, (digests.len() * DIGEST) as u64);
        out.extend(digests.iter().flatten());
        true
    }

    fn scaled(&mut self, out: &mut Vec<u8>, id: u8, divisor: u64) {
        self.payload.clear();
        let encoding = self.encode();
        out.extend_from_slice(&[id, encoding]);
        put_varint(out, divisor);
        put_varint(out, self.payload.len() as u64);
        out.extend_from_slice(&self.payload);
    }

    fn encode(&mut self) -> u8 {
        let first = self.scaled[0];
        if self.scaled.iter().all(|value| *value == first) {
            put_varint(&mut self.payload, first);
            return CONSTANT;
        }
        let numbers: usize = self.scaled.iter().map(|value| varint_length(*value)).sum();
        let packed: usize =
            self.scaled.chunks(GROUP).map(|group| 1 + (width(group) * group.len()).div_ceil(8)).sum();
        if let Some(length) =
            self.dictionary.fill(&self.scaled).filter(|length| *length < numbers.min(packed))
        {
            self.payload.reserve(length);
            put_varint(&mut self.payload, self.dictionary.values.len() as u64);
            self.dictionary.values.iter().for_each(|value| put_varint(&mut self.payload, *value));
            pack(&mut self.payload, &self.dictionary.indices);
            return DICTIONARY;
        }
        if packed < numbers {
            pack(&mut self.payload, &self.scaled);
            return PACKED;
        }
        self.scaled.iter().for_each(|value| put_varint(&mut self.payload, *value));
        NUMBERS
    }
}

/// The greatest common divisor; of 0 and a value: the value. Nearly always a value is a multiple of what was found.
fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    if a == 1 {
        return 1;
    }
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}

fn width(group: &[u64]) -> usize {
    (64 - group.iter().fold(0, |all, value| all | value).leading_zeros()) as usize
}

fn pack(out: &mut Vec<u8>, values: &[u64]) {
    for group in values.chunks(GROUP) {
        let width = width(group);
        out.push(width as u8);
        let (mut held, mut bits) = (0u128, 0);
        for value in group {
            held |= u128::from(*value) << bits;
            bits += width;
            if bits >= 64 {
                out.extend_from_slice(&(held as u64).to_le_bytes());
                held >>= 64;
                bits -= 64;
            }
        }
        out.extend_from_slice(&held.to_le_bytes()[..bits.div_ceil(8)]);
    }
}

/// The different values of a column, by a table with open addressing.
struct Dictionary {
    values: Vec<u64>,
    indices: Vec<u64>,
    slots: Vec<u16>,
}

impl Default for Dictionary {
    fn default() -> Dictionary {
        Dictionary { values: Vec::new(), indices: Vec::new(), slots: vec![0; DICTIONARY_LIMIT * 4] }
    }
}

impl Dictionary {
    /// How many bytes the column takes at most; none: too many different values.
    fn fill(&mut self, column: &[u64]) -> Option<usize> {
        self.values.clear();
        self.indices.clear();
        self.slots.fill(0);
        let most = DICTIONARY_LIMIT.min(column.len() / 8);
        for value in column {
            let mut slot = (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
            let index = loop {
                let index = self.slots[slot] as usize;
                if index == 0 {
                    if self.values.len() == most {
                        return None;
                    }
                    self.values.push(*value);
                    self.slots[slot] = self.values.len() as u16;
                    break self.values.len() - 1;
                }
                if self.values[index - 1] == *value {
                    break index - 1;
                }
                slot = (slot + 1) % self.slots.len();
            };
            self.indices.push(index as u64);
        }
        let entries: usize = self.values.iter().map(|value| varint_length(*value)).sum();
        let bits = (usize::BITS - (self.values.len() - 1).leading_zeros()) as usize;
        Some(2 + entries + column.len().div_ceil(GROUP) + (bits * column.len()).div_ceil(8))
    }
}

/// A column as it lies in a block.
#[derive(Clone, Copy)]
pub struct StoredColumn<'a> {
    encoding: u8,
    divisor: u64,
    payload: &'a [u8],
}

impl<'a> StoredColumn<'a> {
    /// The next column with its number.
    pub fn next(body: &mut Cursor<'a>) -> Result<(u8, StoredColumn<'a>), TraceError> {
        let (id, encoding) = (body.byte()?, body.byte()?);
        let divisor = body.varint()?;
        let length = body.count()?;
        Ok((id, StoredColumn { encoding, divisor, payload: body.take(length)? }))
    }

    /// The value of all, where the encoding says that there is one; unsigned.
    pub fn constant(&self) -> Result<Option<u64>, TraceError> {
        if self.encoding != CONSTANT {
            return Ok(None);
        }
        let mut payload = Cursor::new(self.payload);
        let value = payload.varint()?.checked_mul(self.divisor).ok_or_else(excess)?;
        if payload.is_empty() { Ok(Some(value)) } else { Err(longer()) }
    }

    pub fn unsigned(&self, count: usize, values: &mut Vec<u64>) -> Result<(), TraceError> {
        self.decode(count, values)?;
        if self.divisor != 1 {
            let mut is_excess = false;
            for value in &mut *values {
                let (product, exceeds) = value.overflowing_mul(self.divisor);
                *value = product;
                is_excess |= exceeds;
            }
            if is_excess {
                return Err(excess());
            }
        }
        Ok(())
    }

    /// The bits of signed values.
    pub fn signed(&self, count: usize, values: &mut Vec<u64>) -> Result<(), TraceError> {
        self.decode(count, values)?;
        match self.divisor {
            1 => values.iter_mut().for_each(|value| *value = unzigzag(*value) as u64),
            divisor => {
                values.iter_mut().for_each(|value| *value = (unzigzag(*value) as u64).wrapping_mul(divisor))
            }
        }
        Ok(())
    }

    pub fn digests(&self, count: usize) -> Result<impl Iterator<Item = [u8; DIGEST]> + use<'a>, TraceError> {
        if self.encoding != RAW || self.payload.len() != count * DIGEST {
            return Err(TraceError::new("the digests are not 16 bytes each"));
        }
        let digest = |bytes: &[u8]| {
            let mut digest = [0; DIGEST];
            digest.copy_from_slice(bytes);
            digest
        };
        Ok(self.payload.chunks_exact(DIGEST).map(digest))
    }

    fn decode(&self, count: usize, values: &mut Vec<u64>) -> Result<(), TraceError> {
        values.clear();
        let mut payload = Cursor::new(self.payload);
        match self.encoding {
            CONSTANT => values.resize(count, payload.varint()?),
            NUMBERS => {
                for _ in 0..count {
                    values.push(payload.varint()?);
                }
            }
            PACKED => unpack(&mut payload, count, values)?,
            DICTIONARY => {
                let different = payload.count()?;
                let known: Vec<u64> = (0..different).map(|_| payload.varint()).collect::<Result<_, _>>()?;
                unpack(&mut payload, count, values)?;
                for value in &mut *values {
                    let index = usize::try_from(*value).unwrap_or(usize::MAX);
                    *value = *known
                        .get(index)
                        .ok_or_else(|| TraceError::new(format!("entry {index} of {different}")))?;
                }
            }
            other => return Err(TraceError::new(format!("encoding {other} is unknown"))),
        }
        match payload.is_empty() {
            true => Ok(()),
            false => Err(longer()),
        }
    }
}

fn excess() -> TraceError {
    TraceError::new("a value is longer than 64 bits")
}

fn longer() -> TraceError {
    TraceError::new("a column is longer than its values")
}

fn unpack(payload: &mut Cursor<'_>, count: usize, values: &mut Vec<u64>) -> Result<(), TraceError> {
    // A group, and room for the last value's nine bytes: where they begin is below 512, which the masks below show.
    let mut group = [0; GROUP * 8 + 16];
    let mut left = count;
    while left > 0 {
        let length = left.min(GROUP);
        let width = payload.byte()? as usize;
        if width > 64 {
            return Err(TraceError::new(format!("values of {width} bits")));
        }
        let bytes = payload.take((width * length).div_ceil(8))?;
        group[..bytes.len()].copy_from_slice(bytes);
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&group[at..at + 8]);
            u64::from_le_bytes(word)
        };
        if width <= 57 {
            values.extend((0..length).map(|index| {
                let bit = index * width;
                word((bit / 8) & 511) >> (bit & 7) & mask
            }));
        } else {
            // What does not lie in the first eight bytes is in the ninth.
            values.extend((0..length).map(|index| {
                let bit = index * width;
                let (at, shift) = ((bit / 8) & 511, bit & 7);
                let high = u128::from(group[at + 8]) << 64;
                ((high | u128::from(word(at))) >> shift) as u64 & mask
            }));
        }
        left -= length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(values: &[u64]) -> (u8, usize) {
        let mut out = Vec::new();
        assert!(ColumnEncoder::default().unsigned(&mut out, 7, values));
        let mut body = Cursor::new(&out);
        let (id, column) = StoredColumn::next(&mut body).unwrap();
        let mut decoded = Vec::new();
        column.unsigned(values.len(), &mut decoded).unwrap();
        assert_eq!((id, decoded.as_slice()), (7, values));
        (column.encoding, out.len())
    }

    #[test]
    fn each_shape_gets_its_encoding_and_comes_back() {
        let spread = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        assert_eq!(there_and_back(&[512; 1000]).0, CONSTANT);
        assert_eq!(there_and_back(&[u64::MAX, 0, 1]).0, NUMBERS);
        let (encoding, length) =
            there_and_back(&(0..1000).map(|index| spread(index) >> 44).collect::<Vec<_>>());
        assert_eq!(encoding, PACKED);
        assert!(length < 2600, "{length} bytes for 1000 times 20 bits");
        let sizes: Vec<u64> =
            (0..1000).map(|index| [4096, 8192, 65536, 1 << 20][(spread(index) >> 62) as usize]).collect();
        let (encoding, length) = there_and_back(&sizes);
        assert_eq!(encoding, DICTIONARY);
        assert!(length < 300, "{length} bytes for 1000 times one of four");
        assert_eq!(there_and_back(&(0..333).map(spread).collect::<Vec<_>>()).0, PACKED);
        there_and_back(&(0..65).map(|index| spread(index) & 1).collect::<Vec<_>>());
    }

    #[test]
    fn all_zeros_take_no_column() {
        assert!(!ColumnEncoder::default().unsigned(&mut Vec::new(), 1, &[0; 9]));
        assert!(!ColumnEncoder::default().signed(&mut Vec::new(), 1, &[0; 9]));
    }

    #[test]
    fn signs_come_back_to_the_last_one() {
        for values in [vec![i64::MIN, 0], vec![i64::MIN, i64::MAX, -1], vec![-1024, 512, 0], vec![-3, 3]] {
            let mut out = Vec::new();
            assert!(ColumnEncoder::default().signed(&mut out, 1, &values));
            let (_, column) = StoredColumn::next(&mut Cursor::new(&out)).unwrap();
            let mut decoded = Vec::new();
            column.signed(values.len(), &mut decoded).unwrap();
            assert_eq!(decoded.iter().map(|bits| *bits as i64).collect::<Vec<_>>(), values);
        }
    }
}
