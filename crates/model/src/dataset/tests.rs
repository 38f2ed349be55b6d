//! Files of data sets: their lengths against what their readers write, and how training input reads them.

use super::*;

/// A file without its random content, which is zeros here, and with its checksums left out.
fn bytes(layout: &FileLayout) -> Vec<u8> {
    let samples = (0..layout.samples()).flat_map(|sample| layout.sample(sample));
    let sections = layout.head().into_iter().chain(samples).chain(layout.tail());
    sections
        .flat_map(|section| match section {
            Section::Bytes(bytes) => bytes,
            other => vec![0; other.bytes() as usize],
        })
        .collect()
}

fn layout(kind: DatasetFormat, samples: u64, sample_bytes: u64) -> FileLayout {
    SampleFile::new(kind, samples).layout(sample_bytes)
}

#[test]
fn a_file_is_as_long_as_its_sections() {
    for kind in DatasetFormat::ALL {
        for (samples, sample_bytes) in [(1, 1), (1, 4096), (3, 1000), (7, 70_000), (1, 200_003)] {
            let file = layout(kind, samples, sample_bytes);
            assert_eq!(bytes(&file).len() as u64, file.bytes(), "{kind:?} {samples} × {sample_bytes}");
        }
    }
}

/// By NumPy 2.4: `numpy.savez(FILE, x=numpy.zeros((64, 64, 1), dtype=numpy.uint8), y=[0])` writes 4594 bytes.
#[test]
fn an_archive_is_as_long_as_numpys() {
    assert_eq!(layout(DatasetFormat::Npz, 1, 4096).bytes(), 4594);
    assert_eq!(layout(DatasetFormat::Npy, 2, 4096).bytes(), 128 + 2 * 4096);
    let header = layout(DatasetFormat::Npy, 2, 4096).array_header();
    assert!(header.ends_with(b" \n") && header.len() == 128);
    let text = String::from_utf8_lossy(&header[10..]).into_owned();
    assert!(text.starts_with("{'descr': '|u1', 'fortran_order': False, 'shape': (64, 64, 2), }"), "{text}");
}

#[test]
fn beyond_two_gigabytes_an_archive_has_its_lengths_in_64_bits() {
    let tail = |bytes| layout(DatasetFormat::Npz, 1, bytes).tail().iter().map(Section::bytes).sum::<u64>();
    // Both lengths of the first member, the place of the second, and the record of the archive's end with its locator.
    assert_eq!(tail(1 << 32) - tail(1 << 20), (4 + 16) + (4 + 8) + 56 + 20);
}

#[test]
fn pictures_are_as_long_as_asked() {
    for kind in [DatasetFormat::Jpeg, DatasetFormat::Png] {
        let least = layout(kind, 1, 0).bytes();
        for bytes in [least + 12, least + 13, 65_537 + least + 1, 65_537 + least + 3, 150_528, 1 << 20] {
            assert_eq!(layout(kind, 5, bytes).bytes(), bytes, "{kind:?}");
        }
        assert_eq!(layout(kind, 5, 9).bytes(), least, "never shorter than its picture");
    }
}

#[test]
fn a_record_says_its_length() {
    let file = bytes(&layout(DatasetFormat::Tfrecord, 1, 300));
    let length = u64::from_le_bytes(file[..8].try_into().unwrap());
    assert_eq!(length + 16, file.len() as u64);
    // Features, and in them a map's first entry: each says how long all of it is.
    assert_eq!((file[12], file[13], file[14]), (0x0a, (length - 3) as u8 | 0x80, ((length - 3) >> 7) as u8));
    assert_eq!(file[file.len() - 4 - 16..file.len() - 4 - 10], *b"\x0a\x0e\x0a\x04si");
}

#[test]
fn numbers_are_as_long_as_evenly_drawn_bytes() {
    let counted = |count: u64| (0..count).map(|index| u64::from(digits(index)) + 1).sum::<u64>();
    for count in [0, 1, 255, 256, 257, 5000] {
        assert_eq!(numbers_bytes(count), counted(count));
    }
    let digits: Vec<usize> =
        (1..=3).map(|wanted| (0..256).filter(|at| digits(*at) == wanted).count()).collect();
    assert_eq!(digits, [10, 90, 156]);
}

#[test]
fn chunks_cover_each_sample() {
    let chunks = SampleFile { chunk_bytes: 1024, ..SampleFile::new(DatasetFormat::Hdf5, 2) };
    // 100 × 100 in chunks of 32 × 32: 4 × 4 of them.
    assert_eq!(chunks.layout(10_000).stored_bytes(), 16 * 1024);
    assert_eq!(layout(DatasetFormat::Hdf5, 2, 10_000).stored_bytes(), 10_000);
    assert_eq!(chunks.layout(10_000).first_byte() % 2048, 0);
}

#[test]
fn files_are_named_as_dlio_names_them() {
    assert_eq!(file_name("img", 168, DatasetFormat::Npz), "img_{item:03}_of_168.npz");
    assert_eq!(DatasetFormat::named("indexed_binary"), Some(DatasetFormat::IndexedBinary));
}

#[test]
fn files_are_read_as_their_loaders_read_them() {
    let read = |file: SampleFile, size: Size| {
        let mut input = TrainingInput::blank();
        file.read_by(&mut input, &size).map(|()| input)
    };
    let drawn = || Size::Normal { mean_bytes: 1e6, deviation_bytes: 1e5 };
    let one = |kind| read(SampleFile::new(kind, 1), drawn()).unwrap().access;
    assert_eq!(
        [DatasetFormat::Npz, DatasetFormat::Tfrecord, DatasetFormat::Hdf5].map(one),
        [SampleAccess::Item; 3]
    );
    let records = read(SampleFile::new(DatasetFormat::Tfrecord, 10), Size::Fixed(1000)).unwrap();
    assert_eq!(
        (records.access, records.transfer_bytes, records.per_item),
        (SampleAccess::Stream, 256 << 10, 10)
    );
    assert!(records.record_bytes > 1016, "with its frame: {}", records.record_bytes);
    let chunks = SampleFile { chunk_bytes: 1024, ..SampleFile::new(DatasetFormat::Hdf5, 2) };
    let chunked = read(chunks, Size::Fixed(10_000)).unwrap();
    assert_eq!((chunked.access, chunked.transfer_bytes), (SampleAccess::Placed, 1024));
    assert_eq!((chunked.record_bytes, chunked.first_sample_bytes), (16 << 10, 2048));
    assert!(read(SampleFile::new(DatasetFormat::IndexedBinary, 2), drawn()).is_err());
}
