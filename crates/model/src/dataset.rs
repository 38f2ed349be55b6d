//! Files of data sets: their formats, names and lengths, and what they consist of from the first byte to the last.
//!
//! A file is written as sections: bytes that its format demands, random content, and checksums of what came before. So a file of
//! any length is made in one pass, and none is held in memory. Computes only; the engine writes the sections.
//! Sources: the format of NumPy 1.0, PKWARE's APPNOTE 6.3.10, TensorFlow's record format, the HDF5 file format 3.0,
//! ITU-T T.81, the PNG specification.

use crate::pattern::Size;
use crate::reflect::{Reflect, blank_by_default};
use crate::training::{SampleAccess, TrainingInput};

mod hdf5;
mod images;
mod zip;

/// How the samples of a file are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum DatasetFormat {
    /// NumPy's archive: the samples in the array `x`, their labels in `y`, not compressed.
    #[default]
    Npz,
    /// One array of NumPy.
    Npy,
    /// TensorFlow's records, each an `Example` with the features `image` and `size`.
    Tfrecord,
    /// The data sets `records` and `labels`.
    Hdf5,
    /// A line of numbers for each sample.
    Csv,
    /// A small picture, padded with comments to the sample's length.
    Jpeg,
    /// A small picture, padded with a private chunk to the sample's length.
    Png,
    /// The samples one after the other, with their offsets in a second file and their lengths in a third.
    IndexedBinary,
}

impl DatasetFormat {
    pub const ALL: [DatasetFormat; 8] = {
        use DatasetFormat::{Csv, Hdf5, IndexedBinary, Jpeg, Npy, Npz, Png, Tfrecord};
        [Npz, Npy, Tfrecord, Hdf5, Csv, Jpeg, Png, IndexedBinary]
    };

    /// The name in configurations, which is the ending of its files too.
    pub fn name(self) -> &'static str {
        match self {
            DatasetFormat::Npz => "npz",
            DatasetFormat::Npy => "npy",
            DatasetFormat::Tfrecord => "tfrecord",
            DatasetFormat::Hdf5 => "hdf5",
            DatasetFormat::Csv => "csv",
            DatasetFormat::Jpeg => "jpeg",
            DatasetFormat::Png => "png",
            DatasetFormat::IndexedBinary => "indexed_binary",
        }
    }

    pub fn named(name: &str) -> Option<DatasetFormat> {
        DatasetFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// How its loaders read it: a stream of records, a sample at its place, or the file from front to back.
    pub fn access(self) -> SampleAccess {
        match self {
            DatasetFormat::Tfrecord => SampleAccess::Stream,
            DatasetFormat::Hdf5 | DatasetFormat::IndexedBinary => SampleAccess::Placed,
            _ => SampleAccess::Item,
        }
    }

    /// Which checksum its files have.
    pub fn checksum(self) -> Option<FormatChecksum> {
        match self {
            DatasetFormat::Npz | DatasetFormat::Png => Some(FormatChecksum::Crc32),
            DatasetFormat::Tfrecord => Some(FormatChecksum::Crc32c),
            _ => None,
        }
    }

    /// Whether a file holds one sample, as a picture does.
    pub fn is_picture(self) -> bool {
        matches!(self, DatasetFormat::Jpeg | DatasetFormat::Png)
    }

    /// Endings of the files that lie beside one of this format.
    pub fn companions(self) -> &'static [&'static str] {
        match self {
            DatasetFormat::IndexedBinary => &[".off.idx", ".sz.idx"],
            _ => &[],
        }
    }
}

/// The polynomial of a format's checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatChecksum {
    Crc32,
    Crc32c,
}

/// What the files of a set hold. The set's size is then that of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub struct SampleFile {
    #[reflect(bare, needed)]
    pub kind: DatasetFormat,
    /// Samples of a file; a picture is one.
    #[reflect(positive, absent = 1)]
    pub samples: u64,
    /// Of `hdf5`: the length of a chunk; 0: the samples lie in one piece.
    #[reflect(default)]
    pub chunk_bytes: u64,
}

blank_by_default!(SampleFile);

impl SampleFile {
    pub fn new(kind: DatasetFormat, samples: u64) -> SampleFile {
        SampleFile { kind, samples, chunk_bytes: 0 }
    }

    /// The file of samples of that length.
    pub fn layout(&self, sample_bytes: u64) -> FileLayout {
        let samples = if self.kind.is_picture() { 1 } else { self.samples.max(1) };
        FileLayout { kind: self.kind, samples, sample_bytes, chunk_bytes: self.chunk_bytes }
    }

    /// Has training input read a set of these files as their loaders do, whose samples have that size. A stream and samples at their
    /// places need one length; files whose length is drawn are read whole.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn read_by(&self, input: &mut TrainingInput, size: &Size) -> Result<(), &'static str> {
        let layout = self.layout(size.most_bytes().unwrap_or(0));
        let is_fixed = matches!(size, Size::Fixed(_));
        input.per_item = layout.samples;
        input.access = match self.kind.access() {
            SampleAccess::Placed if !is_fixed && layout.samples > 1 => {
                return Err("several samples of a drawn size in a file have no known places");
            }
            access if is_fixed && (layout.samples > 1 || access == SampleAccess::Placed) => access,
            _ => SampleAccess::Item,
        };
        input.record_bytes = layout.stored_bytes();
        input.first_sample_bytes = if self.kind == DatasetFormat::Hdf5 { layout.first_byte() } else { 0 };
        input.transfer_bytes = match self.kind {
            DatasetFormat::Npz => ARCHIVE_READ_BYTES,
            DatasetFormat::Tfrecord => STREAM_READ_BYTES,
            DatasetFormat::Hdf5 => hdf5::chunk_bytes(&layout).unwrap_or(input.record_bytes),
            DatasetFormat::IndexedBinary => input.record_bytes,
            _ => WHOLE_READ_BYTES,
        }
        .max(1);
        Ok(())
    }
}

/// Reads of loaders: NumPy's of an archive's member, DLIO's `transfer_size` of TensorFlow's records, and of those that ask for a
/// whole file.
const ARCHIVE_READ_BYTES: u64 = 256 << 10;
const STREAM_READ_BYTES: u64 = 256 << 10;
const WHOLE_READ_BYTES: u64 = 1 << 20;

/// The name of DLIO's files as a template: `img_007_of_168.npz`; `{item}` is a file's number.
pub fn file_name(prefix: &str, count: u64, format: DatasetFormat) -> String {
    let digits = count.to_string().len();
    format!("{prefix}_{{item:0{digits}}}_of_{count}.{}", format.name())
}

/// The next part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    Bytes(Vec<u8>),
    /// So many random bytes.
    Random(u64),
    /// So many random numbers from 0 to 255 with commas between them, of [`numbers_bytes`].
    Numbers(u64),
    /// The checksum begins here.
    Begin,
    /// The checksum of everything since then, which it includes no more.
    Checksum(ChecksumForm),
    /// The same, at an earlier place of the file.
    ChecksumAt(u64, ChecksumForm),
}

impl Section {
    pub fn bytes(&self) -> u64 {
        match self {
            Section::Bytes(bytes) => bytes.len() as u64,
            Section::Random(bytes) => *bytes,
            Section::Numbers(count) => numbers_bytes(*count),
            Section::Checksum(_) => 4,
            Section::Begin | Section::ChecksumAt(..) => 0,
        }
    }
}

/// How a checksum of 32 bits is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumForm {
    LittleEndian,
    BigEndian,
    /// Rotated by 15 bits to the right and with a constant added, so that a record may hold records (TensorFlow).
    Masked,
}

impl ChecksumForm {
    pub fn stored(self, sum: u32) -> [u8; 4] {
        match self {
            ChecksumForm::LittleEndian => sum.to_le_bytes(),
            ChecksumForm::BigEndian => sum.to_be_bytes(),
            ChecksumForm::Masked => sum.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes(),
        }
    }
}

/// Of 256 successive numbers so many have one digit, and so many at most two: as of numbers that are evenly drawn.
const SHORT: u64 = 10;
const MIDDLE: u64 = 100;
/// Bytes of 256 numbers, each with its comma.
const NUMBERS_256_BYTES: u64 = 10 * 2 + 90 * 3 + 156 * 4;

/// The digits of a number by its index, so that the length of a line is known: as many of each kind as of bytes.
pub fn digits(index: u64) -> u8 {
    match index.wrapping_mul(157) % 256 {
        rank if rank < SHORT => 1,
        rank if rank < MIDDLE => 2,
        _ => 3,
    }
}

/// The length of so many numbers with a comma or a newline behind each.
pub fn numbers_bytes(count: u64) -> u64 {
    let rest: u64 = (0..count % 256).map(|index| u64::from(digits(index)) + 1).sum();
    count / 256 * NUMBERS_256_BYTES + rest
}

/// A file of a format: its sections, and where its samples lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLayout {
    kind: DatasetFormat,
    samples: u64,
    sample_bytes: u64,
    chunk_bytes: u64,
}

impl FileLayout {
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The length of the file.
    pub fn bytes(&self) -> u64 {
        let length = |sections: &[Section]| sections.iter().map(Section::bytes).sum::<u64>();
        length(&self.head()) + self.samples * self.stored_bytes() + length(&self.tail())
    }

    /// From the first byte of a sample to that of the next.
    pub fn stored_bytes(&self) -> u64 {
        match self.kind {
            DatasetFormat::Hdf5 => hdf5::stored_bytes(self),
            _ => self.sample(0).iter().map(Section::bytes).sum(),
        }
    }

    /// Where the first sample begins.
    pub fn first_byte(&self) -> u64 {
        self.head().iter().map(Section::bytes).sum()
    }

    /// Rows and columns of a sample: a square where its length is one.
    fn shape(&self) -> (u64, u64) {
        let side = self.sample_bytes.isqrt();
        if side * side == self.sample_bytes { (side, side) } else { (self.sample_bytes, 1) }
    }

    /// What lies before the samples.
    pub fn head(&self) -> Vec<Section> {
        match self.kind {
            DatasetFormat::Npz => zip::head(self),
            DatasetFormat::Npy => vec![Section::Bytes(self.array_header())],
            DatasetFormat::Hdf5 => vec![Section::Bytes(hdf5::head(self))],
            DatasetFormat::Jpeg => vec![Section::Bytes(images::JPEG_HEAD.to_vec())],
            DatasetFormat::Png => images::png_head(),
            DatasetFormat::Csv | DatasetFormat::Tfrecord | DatasetFormat::IndexedBinary => Vec::new(),
        }
    }

    /// A sample by its index in the file.
    pub fn sample(&self, index: u64) -> Vec<Section> {
        match self.kind {
            DatasetFormat::Tfrecord => self.record(),
            DatasetFormat::Csv => vec![Section::Numbers(self.sample_bytes)],
            DatasetFormat::Hdf5 => vec![Section::Random(hdf5::stored_bytes(self))],
            DatasetFormat::Jpeg if index == 0 => images::jpeg_padding(self.sample_bytes),
            DatasetFormat::Png if index == 0 => images::png_padding(self.sample_bytes),
            _ => vec![Section::Random(self.sample_bytes)],
        }
    }

    /// What lies behind the samples.
    pub fn tail(&self) -> Vec<Section> {
        match self.kind {
            DatasetFormat::Npz => zip::tail(self),
            DatasetFormat::Hdf5 => vec![Section::Bytes(vec![0; self.samples as usize * 8])],
            DatasetFormat::Jpeg => vec![Section::Bytes(images::JPEG_TAIL.to_vec())],
            DatasetFormat::Png => images::png_tail(),
            _ => Vec::new(),
        }
    }

    /// The file with one of the [endings](DatasetFormat::companions) beside it: a number of 64 bits for each sample.
    pub fn companion(&self, number: usize) -> impl Iterator<Item = u64> + use<> {
        let bytes = self.sample_bytes;
        (0..self.samples).map(move |sample| if number == 0 { sample * bytes } else { bytes })
    }

    /// NumPy's header of an array of bytes: 128 bytes.
    fn array_header(&self) -> Vec<u8> {
        let (rows, columns) = self.shape();
        array_header("|u1", &format!("({rows}, {columns}, {})", self.samples))
    }

    /// A record of TensorFlow's format around an `Example`.
    fn record(&self) -> Vec<Section> {
        let (before, behind) = example(self.sample_bytes, self.shape().0);
        let bytes = before.len() as u64 + self.sample_bytes + behind.len() as u64;
        vec![
            Section::Begin,
            Section::Bytes(bytes.to_le_bytes().to_vec()),
            Section::Checksum(ChecksumForm::Masked),
            Section::Begin,
            Section::Bytes(before),
            Section::Random(self.sample_bytes),
            Section::Bytes(behind),
            Section::Checksum(ChecksumForm::Masked),
        ]
    }
}

/// Bytes of a header of NumPy's: the place for the longest shape is left.
const ARRAY_HEADER_BYTES: usize = 128;

fn array_header(elements: &str, shape: &str) -> Vec<u8> {
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((ARRAY_HEADER_BYTES as u16 - 10).to_le_bytes());
    header.extend(format!("{{'descr': '{elements}', 'fortran_order': False, 'shape': {shape}, }}").bytes());
    header.resize(ARRAY_HEADER_BYTES - 1, b' ');
    header.push(b'\n');
    header
}

/// What lies around an image in a serialised `Example`: a map from `image` to a list of one string of bytes, and from `size` to a
/// list of one number.
fn example(image_bytes: u64, size: u64) -> (Vec<u8>, Vec<u8>) {
    // A field: its number with the type 2 (counted bytes), the count.
    let counted = |field: u8, bytes: u64| [vec![field << 3 | 2], varint(bytes)].concat();
    let list = counted(1, image_bytes);
    let list_bytes = list.len() as u64 + image_bytes;
    let feature = [counted(1, list_bytes), list].concat();
    let feature_bytes = feature.len() as u64 + image_bytes;
    let image = [counted(1, 5), b"image".to_vec(), counted(2, feature_bytes), feature].concat();
    let entry_bytes = image.len() as u64 + image_bytes;

    let number = varint(size);
    let list = [counted(1, number.len() as u64), number].concat();
    let feature = [counted(3, list.len() as u64), list].concat();
    let entry = [counted(1, 4), b"size".to_vec(), counted(2, feature.len() as u64), feature].concat();
    let behind = [counted(1, entry.len() as u64), entry].concat();

    let first = counted(1, entry_bytes);
    let all = first.len() as u64 + entry_bytes + behind.len() as u64;
    ([counted(1, all), first, image].concat(), behind)
}

/// A number in groups of seven bits, the lowest first.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[cfg(test)]
mod tests;
