//! Files of data sets: the sections of a format, written one after the other through one block.
//!
//! Random content is made and summed while it is in the processor's cache, so that a file is written as fast as one without a
//! format. It refuses to hold a file in memory: what is known at the end only is written into its place then.

use std::os::fd::RawFd;

use crc_fast::{CrcAlgorithm, Digest};
use iodyno_model::dataset::{DatasetFormat, FileLayout, FormatChecksum, Section, digits};

use crate::memory::errno;
use crate::payload::{BlockAddress, Filler};

/// Random bytes that numbers are made of at once.
const DRAWN_BYTES: usize = 4096;

/// Writes a file from its beginning to its end.
pub struct FormatWriter<'a> {
    fd: RawFd,
    item: u64,
    filler: &'a Filler,
    block: &'a mut [u8],
    used: usize,
    /// Where the block will lie in the file.
    at: u64,
    algorithm: Option<CrcAlgorithm>,
    /// What is summed up at present, and the last sum.
    digest: Option<Digest>,
    sum: u32,
}

impl<'a> FormatWriter<'a> {
    /// Of a file that is open and empty.
    pub fn new(fd: RawFd, item: u64, filler: &'a Filler, block: &'a mut [u8]) -> FormatWriter<'a> {
        FormatWriter { fd, item, filler, block, used: 0, at: 0, algorithm: None, digest: None, sum: 0 }
    }

    /// The whole file.
    ///
    /// # Errors
    /// The system's error number.
    pub fn write(mut self, format: DatasetFormat, layout: &FileLayout) -> Result<(), i32> {
        self.algorithm = format.checksum().map(|checksum| match checksum {
            FormatChecksum::Crc32 => CrcAlgorithm::Crc32IsoHdlc,
            FormatChecksum::Crc32c => CrcAlgorithm::Crc32Iscsi,
        });
        self.sections(&layout.head())?;
        for sample in 0..layout.samples() {
            self.sections(&layout.sample(sample))?;
        }
        self.sections(&layout.tail())?;
        self.flush()
    }

    /// One of the files beside it: a number for each sample, little endian.
    ///
    /// # Errors
    /// The system's error number.
    pub fn write_numbers(mut self, numbers: impl Iterator<Item = u64>) -> Result<(), i32> {
        for number in numbers {
            self.bytes(&number.to_le_bytes())?;
        }
        self.flush()
    }

    fn sections(&mut self, sections: &[Section]) -> Result<(), i32> {
        for section in sections {
            match section {
                Section::Bytes(bytes) => self.bytes(bytes)?,
                Section::Random(bytes) => self.random(*bytes)?,
                Section::Numbers(count) => self.numbers(*count)?,
                Section::Begin => self.digest = self.algorithm.map(Digest::new),
                Section::Checksum(form) => {
                    let stored = form.stored(self.finished());
                    self.bytes(&stored)?;
                }
                Section::ChecksumAt(offset, form) => {
                    let stored = form.stored(self.finished());
                    self.patch(*offset, &stored)?;
                }
            }
        }
        Ok(())
    }

    /// The present sum, or the last one where none is going on.
    fn finished(&mut self) -> u32 {
        if let Some(digest) = self.digest.take() {
            self.sum = digest.finalize() as u32;
        }
        self.sum
    }

    /// Makes so many bytes of the block, at most those that fit, and counts them; how many there were.
    fn part(&mut self, most: u64, make: impl FnOnce(&Filler, &mut [u8], BlockAddress)) -> Result<u64, i32> {
        let part = most.min((self.block.len() - self.used) as u64) as usize;
        let piece = &mut self.block[self.used..self.used + part];
        let place = BlockAddress { file: self.item, offset: self.at + self.used as u64, generation: 0 };
        make(self.filler, piece, place);
        if let Some(digest) = &mut self.digest {
            digest.update(piece);
        }
        self.used += part;
        if self.used == self.block.len() {
            self.flush()?;
        }
        Ok(part as u64)
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> Result<(), i32> {
        while !bytes.is_empty() {
            let part =
                self.part(bytes.len() as u64, |_, piece, _| piece.copy_from_slice(&bytes[..piece.len()]))?;
            bytes = &bytes[part as usize..];
        }
        Ok(())
    }

    fn random(&mut self, mut bytes: u64) -> Result<(), i32> {
        while bytes > 0 {
            bytes -= self.part(bytes, |filler, piece, place| filler.fill(piece, place))?;
        }
        Ok(())
    }

    /// A line of numbers.
    fn numbers(&mut self, count: u64) -> Result<(), i32> {
        let (mut drawn, mut line) = ([0; DRAWN_BYTES], Vec::with_capacity(DRAWN_BYTES * 4));
        let mut first = 0;
        while first < count {
            let some = (count - first).min(DRAWN_BYTES as u64);
            let offset = self.at + self.used as u64;
            self.filler.fill(&mut drawn, BlockAddress { file: self.item, offset, generation: 0 });
            line.clear();
            for (index, random) in (first..first + some).zip(drawn) {
                write_number(&mut line, digits(index), random);
            }
            first += some;
            if let Some(last) = line.last_mut().filter(|_| first == count) {
                *last = b'\n';
            }
            self.bytes(&line)?;
        }
        Ok(())
    }

    /// Bytes that were passed by.
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> Result<(), i32> {
        if offset >= self.at {
            let place = (offset - self.at) as usize;
            self.block[place..place + bytes.len()].copy_from_slice(bytes);
            return Ok(());
        }
        whole(bytes.len(), |done| {
            let (rest, place) = (&bytes[done..], (offset + done as u64) as i64);
            // SAFETY: the descriptor is ours, and so many bytes are left.
            unsafe { libc::pwrite(self.fd, rest.as_ptr().cast(), rest.len(), place) }
        })
    }

    fn flush(&mut self) -> Result<(), i32> {
        let bytes = &self.block[..self.used];
        whole(bytes.len(), |done| {
            let rest = &bytes[done..];
            // SAFETY: the descriptor is ours, and so many bytes are left.
            unsafe { libc::write(self.fd, rest.as_ptr().cast(), rest.len()) }
        })?;
        self.at += self.used as u64;
        self.used = 0;
        Ok(())
    }
}

/// A number of so many digits, and a comma.
fn write_number(line: &mut Vec<u8>, digits: u8, random: u8) {
    let (least, count) = match digits {
        1 => (0, 10),
        2 => (10, 90),
        _ => (100, 156),
    };
    let number = (least + ((u32::from(random) * count) >> 8)) as u8;
    let text = [number / 100, number / 10 % 10, number % 10].map(|digit| b'0' + digit);
    line.extend(&text[3 - usize::from(digits)..]);
    line.push(b',');
}

/// Calls until so many bytes are written; `write` is told how many are.
pub fn whole(bytes: usize, mut write: impl FnMut(usize) -> isize) -> Result<(), i32> {
    let mut done = 0;
    while done < bytes {
        match write(done) {
            written @ 1.. => done += written as usize,
            0 => return Err(libc::ENOSPC),
            _ if errno() == libc::EINTR => {}
            _ => return Err(errno()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use iodyno_model::{Payload, SampleFile};

    use super::*;

    /// Through a block that is much smaller than the file.
    fn written(kind: DatasetFormat, samples: u64, sample_bytes: u64) -> Vec<u8> {
        let (mut file, path) = tempfile::NamedTempFile::new().unwrap().into_parts();
        let filler = Filler::new(&Payload::default(), 1, 4096).unwrap();
        let layout = SampleFile::new(kind, samples).layout(sample_bytes);
        FormatWriter::new(file.as_raw_fd(), 7, &filler, &mut [0; 1000]).write(kind, &layout).unwrap();
        let mut bytes = Vec::new();
        file = std::fs::File::open(&path).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, layout.bytes(), "{kind:?}");
        bytes
    }

    fn crc32(bytes: &[u8]) -> u32 {
        crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, bytes) as u32
    }

    fn number(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn an_archive_has_its_checksum_in_both_places() {
        let bytes = written(DatasetFormat::Npz, 3, 5000);
        let array = &bytes[55..55 + 128 + 15_000];
        assert_eq!(number(&bytes, 14), crc32(array), "passed by when the sum was known");
        let directory = number(&bytes, bytes.len() - 6) as usize;
        assert_eq!(number(&bytes, directory + 16), crc32(array));
        let second = directory + 51;
        let labels = number(&bytes, second + 42) as usize + 55;
        assert_eq!(number(&bytes, second + 16), crc32(&bytes[labels..directory]));
        let distinct: std::collections::BTreeSet<&[u8]> = array[128..].chunks(512).collect();
        assert_eq!(distinct.len(), 15_000_usize.div_ceil(512), "random");
    }

    #[test]
    fn records_have_the_checksums_of_their_lengths_and_data() {
        let bytes = written(DatasetFormat::Tfrecord, 4, 3000);
        let masked = |bytes: &[u8]| crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8);
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() {
            let length = number(&bytes, at) as usize;
            let data = &bytes[at + 12..at + 12 + length];
            assert_eq!(number(&bytes, at + 8), masked(&bytes[at..at + 8]));
            assert_eq!(number(&bytes, at + 12 + length), masked(data));
            (at, count) = (at + length + 16, count + 1);
        }
        assert_eq!(count, 4);
    }

    #[test]
    fn lines_have_as_many_numbers_as_a_sample_has_bytes() {
        let text = String::from_utf8(written(DatasetFormat::Csv, 3, 5000)).unwrap();
        let lines: Vec<Vec<u8>> = text
            .lines()
            .map(|line| line.split(',').map(|number| number.parse().expect("a byte")).collect())
            .collect();
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [5000; 3]);
        assert_ne!(lines[0], lines[1]);
    }
}
