//! HDF5: a superblock, a root group with two links, two data sets, and behind them the data.
//!
//! Chunks lie one after the other, so that their places follow from their numbers: the implicit index, which libraries since 1.10
//! read. No library is needed to write it, and many files are written side by side. Source: HDF5 file format specification 3.0.

use super::FileLayout;

/// The data begins at a multiple of this.
const ALIGNMENT_BYTES: usize = 2048;
/// No such address.
const UNDEFINED: [u8; 8] = [0xff; 8];
const SUPERBLOCK_BYTES: u64 = 48;

/// Message types.
const DATASPACE: u8 = 0x01;
const LINK_INFO: u8 = 0x02;
const DATATYPE: u8 = 0x03;
const FILL_VALUE: u8 = 0x05;
const LINK: u8 = 0x06;
const DATA_LAYOUT: u8 = 0x08;
const GROUP_INFO: u8 = 0x0a;

/// Unsigned and signed integers: class and version, whether they have a sign, bytes, first bit, bits.
const BYTE: [u8; 12] = [0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0];
const LONG: [u8; 12] = [0x10, 8, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0];
/// Space is allocated at once; the default value is written only where one was set.
const FILL: [u8; 2] = [3, 1 | 2 << 2];

/// Rows and columns of a chunk: a square as DLIO asks for, of a sample that is none a piece of it; none: no chunks.
fn chunk(layout: &FileLayout) -> Option<(u64, u64)> {
    let (rows, columns) = layout.shape();
    let side = layout.chunk_bytes.isqrt();
    let side = if side * side == layout.chunk_bytes { side } else { side + 1 };
    match (layout.chunk_bytes, columns) {
        (0, _) => None,
        (bytes, 1) => Some((rows.min(bytes).max(1), 1)),
        _ => Some((rows.min(side).max(1), columns.min(side).max(1))),
    }
}

/// The length of a chunk; none: the samples lie in one piece.
pub fn chunk_bytes(layout: &FileLayout) -> Option<u64> {
    chunk(layout).map(|(high, wide)| high * wide)
}

/// The chunks of a sample, of which the last of a row or column may have bytes that belong to none.
pub fn stored_bytes(layout: &FileLayout) -> u64 {
    let (rows, columns) = layout.shape();
    match chunk(layout) {
        None => layout.sample_bytes,
        Some((high, wide)) => rows.div_ceil(high) * columns.div_ceil(wide) * high * wide,
    }
}

pub fn head(layout: &FileLayout) -> Vec<u8> {
    // All lengths are known before the addresses are.
    let draft = objects(layout, [0; 2], [0; 2]);
    let records = SUPERBLOCK_BYTES + draft[0].len() as u64;
    let labels = records + draft[1].len() as u64;
    let data = (labels as usize + draft[2].len()).next_multiple_of(ALIGNMENT_BYTES) as u64;
    let behind = data + layout.samples * stored_bytes(layout);
    let objects = objects(layout, [records, labels], [data, behind]);
    let mut head = superblock(behind + layout.samples * 8);
    objects.iter().for_each(|object| head.extend(object));
    head.resize(data as usize, 0);
    head
}

fn superblock(end: u64) -> Vec<u8> {
    let mut block = b"\x89HDF\r\n\x1a\n".to_vec();
    block.extend([3, 8, 8, 0]);
    block.extend(0u64.to_le_bytes());
    block.extend(UNDEFINED);
    block.extend(end.to_le_bytes());
    block.extend(SUPERBLOCK_BYTES.to_le_bytes());
    sealed(block)
}

/// The headers of the root group and of its data sets, which lie at `headers` and have their data at `data`.
fn objects(layout: &FileLayout, headers: [u64; 2], data: [u64; 2]) -> [Vec<u8>; 3] {
    let link = |name: &str, address: u64| {
        let bytes = [&[1, 0, name.len() as u8][..], name.as_bytes(), &address.to_le_bytes()].concat();
        message(LINK, &bytes)
    };
    let root = header(&[
        message(LINK_INFO, &[&[0, 0][..], &UNDEFINED, &UNDEFINED].concat()),
        message(GROUP_INFO, &[0, 0]),
        link("records", headers[0]),
        link("labels", headers[1]),
    ]);
    let (rows, columns) = layout.shape();
    let stored = layout.samples * stored_bytes(layout);
    let place = match chunk(layout) {
        None => contiguous(data[0], stored),
        Some((high, wide)) => chunked(data[0], &[1, high, wide]),
    };
    let records = data_set(&[layout.samples, rows, columns], &BYTE, &place);
    let labels = data_set(&[layout.samples], &LONG, &contiguous(data[1], layout.samples * 8));
    [root, records, labels]
}

fn data_set(dimensions: &[u64], elements: &[u8], place: &[u8]) -> Vec<u8> {
    let mut space = vec![2, dimensions.len() as u8, 0, 1];
    dimensions.iter().for_each(|count| space.extend(count.to_le_bytes()));
    header(&[
        message(DATASPACE, &space),
        message(DATATYPE, elements),
        message(FILL_VALUE, &FILL),
        message(DATA_LAYOUT, place),
    ])
}

fn contiguous(address: u64, bytes: u64) -> Vec<u8> {
    [&[4, 1][..], &address.to_le_bytes(), &bytes.to_le_bytes()].concat()
}

/// With the implicit index, whose number is 2. The last dimension is the length of an element; each is stored in as many bytes as
/// the largest needs.
fn chunked(address: u64, dimensions: &[u64]) -> Vec<u8> {
    let most = dimensions.iter().copied().max().unwrap_or(1);
    let width = (u64::BITS - most.leading_zeros()).div_ceil(8).max(1);
    let mut place = vec![4, 2, 0, dimensions.len() as u8 + 1, width as u8];
    let stored = |count: &u64| count.to_le_bytes().into_iter().take(width as usize);
    place.extend(dimensions.iter().chain(&[1]).flat_map(stored));
    place.push(2);
    place.extend(address.to_le_bytes());
    place
}

fn message(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind][..], &(bytes.len() as u16).to_le_bytes(), &[0], bytes].concat()
}

/// An object's header of version 2, whose length has two bytes.
fn header(messages: &[Vec<u8>]) -> Vec<u8> {
    let messages = messages.concat();
    sealed([b"OHDR\x02\x01", &(messages.len() as u16).to_le_bytes()[..], &messages].concat())
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = lookup3(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// Bob Jenkins' hash of 2006, by which HDF5 checks its metadata.
fn lookup3(bytes: &[u8]) -> u32 {
    let begin = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let [mut a, mut b, mut c] = [begin; 3];
    let word = |block: &[u8], at: usize| {
        (0..4)
            .fold(0, |word, byte| word | u32::from(block.get(at + byte).copied().unwrap_or(0)) << (8 * byte))
    };
    let count = bytes.len().div_ceil(12);
    for (number, block) in bytes.chunks(12).enumerate() {
        a = a.wrapping_add(word(block, 0));
        b = b.wrapping_add(word(block, 4));
        c = c.wrapping_add(word(block, 8));
        if number + 1 < count {
            let step = |x: &mut u32, y: &mut u32, z: &mut u32, turn| {
                *x = x.wrapping_sub(*z) ^ z.rotate_left(turn);
                *z = z.wrapping_add(*y);
            };
            step(&mut a, &mut b, &mut c, 4);
            step(&mut b, &mut c, &mut a, 6);
            step(&mut c, &mut a, &mut b, 8);
            step(&mut a, &mut b, &mut c, 16);
            step(&mut b, &mut c, &mut a, 19);
            step(&mut c, &mut a, &mut b, 4);
        }
    }
    if bytes.is_empty() {
        return c;
    }
    let step = |x: u32, y: u32, turn: u32| (x ^ y).wrapping_sub(y.rotate_left(turn));
    c = step(c, b, 14);
    a = step(a, c, 11);
    b = step(b, a, 25);
    c = step(c, b, 16);
    a = step(a, c, 4);
    b = step(b, a, 14);
    step(c, b, 24)
}

#[cfg(test)]
mod tests {
    use super::lookup3;

    /// The values that its author printed.
    #[test]
    fn the_hash_has_its_known_values() {
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
