//! The contents of messages: packed structures, little-endian whatever the machine, texts of a fixed length.

/// Writes one.
#[derive(Default)]
pub struct Packer(pub Vec<u8>);

impl Packer {
    pub fn u16(&mut self, number: u16) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub fn u32(&mut self, number: u32) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub fn u64s(&mut self, numbers: impl IntoIterator<Item = u64>) -> &mut Self {
        for number in numbers {
            self.u64(number);
        }
        self
    }

    pub fn reals(&mut self, numbers: impl IntoIterator<Item = f64>) -> &mut Self {
        for number in numbers {
            self.real(number);
        }
        self
    }

    /// A number with a fraction, in the 16 bytes that it has on the wire.
    pub fn real(&mut self, number: f64) -> &mut Self {
        self.u64(number.to_bits()).u64(0)
    }

    /// A text that ends with a zero byte within so many bytes.
    pub fn text(&mut self, text: &str, length: usize) -> &mut Self {
        let mut end = text.len().min(length - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let start = self.0.len();
        self.0.extend_from_slice(&text.as_bytes()[..end]);
        self.0.resize(start + length, 0);
        self
    }

    pub fn zeros(&mut self, length: usize) -> &mut Self {
        self.0.resize(self.0.len() + length, 0);
        self
    }

    /// The whole of it.
    pub fn done(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// The largest number of operations, bytes or ns that is believed.
pub const COUNT_MOST: u64 = 1 << 50;

/// Reads one; what is not there is zero.
pub struct Unpacker<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Unpacker<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Unpacker { bytes, at: 0 }
    }

    fn part(&mut self, length: usize) -> &'a [u8] {
        let start = self.at.min(self.bytes.len());
        self.at = self.at.saturating_add(length);
        &self.bytes[start..self.at.min(self.bytes.len())]
    }

    fn number(&mut self, length: usize) -> u64 {
        self.part(length).iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    pub fn u8(&mut self) -> u8 {
        self.number(1) as u8
    }

    pub fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    pub fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    pub fn u64(&mut self) -> u64 {
        self.number(8)
    }

    /// Something that was counted. A peer may send anything: what is out of all reason is cut, so that sums have room.
    pub fn count(&mut self) -> u64 {
        self.u64().min(COUNT_MOST)
    }

    pub fn counts<const N: usize>(&mut self) -> [u64; N] {
        std::array::from_fn(|_| self.count())
    }

    /// The same of few.
    pub fn few(&mut self) -> u32 {
        self.u32().min(1 << 20)
    }

    /// A number with a fraction.
    pub fn real(&mut self) -> f64 {
        let number = f64::from_bits(self.u64());
        self.skip(8);
        if number.is_finite() { number } else { 0.0 }
    }

    pub fn skip(&mut self, length: usize) {
        self.at = self.at.saturating_add(length);
    }

    /// A text that ends with a zero byte, or after so many.
    pub fn text(&mut self, length: usize) -> String {
        let bytes = self.part(length).split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.part(self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        let bytes = Packer::default().u16(7).u32(8).u64(9).text("näme", 4).text("x", 3).done();
        let mut read = Unpacker::new(&bytes);
        assert_eq!((read.u16(), read.u32(), read.u64()), (7, 8, 9));
        // A letter is not cut in two.
        assert_eq!(
            (read.text(4), read.text(3), read.u64(), read.rest()),
            ("nä".into(), "x".into(), 0, &[][..])
        );
    }
}
