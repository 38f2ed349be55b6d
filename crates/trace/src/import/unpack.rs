//! What inputs are packed in: gzip, zstd, xz and tar, in each other, as streams.
//!
//! Memory is bounded whatever the input says: windows of at most 128 MiB, and an archive's members are read where they
//! lie, each by a reader of its own. Sparse members of archives are refused.

use std::io::{self, Cursor, Read};

use iodyno_model::origin::plain;

use crate::TraceError;

/// Layers around a trace that are taken off.
const MOST_LAYERS: usize = 5;
/// Files of one archive: each is open at the same time.
const MOST_MEMBERS: usize = 1024;
/// The largest window of a compressed stream, bytes.
const WINDOW: u64 = 128 << 20;
/// What is looked at to tell a format.
pub const HEAD: usize = 64 << 10;

/// Opens an input at its beginning.
pub type Open = Box<dyn Fn() -> io::Result<Box<dyn Read + Send>>>;

/// A file, or what takes its place.
pub struct Input {
    pub name: String,
    pub open: Open,
    /// Whether it can be opened more than once: an archive of several files is.
    pub is_seekable: bool,
}

/// A trace without its wrapping.
pub struct Stream {
    pub name: String,
    /// Its first bytes, which `reader` gives too.
    pub head: Vec<u8>,
    pub reader: Box<dyn Read + Send>,
    /// Whether an archive holds it, beside files that may be no traces.
    pub is_member: bool,
}

#[derive(Clone, Copy, Debug)]
enum Layer {
    Gzip,
    Zstd,
    Xz,
    Member { at: u64, bytes: u64 },
}

/// Takes off what an input is packed in.
///
/// # Errors
/// Damaged archives, too many layers or members, what cannot be opened.
pub fn unpack(input: &Input) -> Result<Vec<Stream>, TraceError> {
    let mut streams = Vec::new();
    let reader = open(input, &[])?;
    unpack_layers(input, &input.name, reader, Vec::new(), &mut streams)?;
    Ok(streams)
}

fn unpack_layers(
    input: &Input,
    name: &str,
    mut reader: Box<dyn Read + Send>,
    mut layers: Vec<Layer>,
    streams: &mut Vec<Stream>,
) -> Result<(), TraceError> {
    let failed = |error: io::Error| TraceError::from(error).at(name);
    loop {
        let head = head(&mut reader).map_err(failed)?;
        let layer = match () {
            () if head.starts_with(&[0x1f, 0x8b]) => Layer::Gzip,
            () if is_zstd(&head) => Layer::Zstd,
            () if head.starts_with(b"\xfd7zXZ\0") => Layer::Xz,
            () if head.get(257..262) == Some(b"ustar") => {
                return unpack_members(input, name, reader_with(head, reader), &layers, streams);
            }
            () => {
                let is_member = layers.iter().any(|layer| matches!(layer, Layer::Member { .. }));
                let reader = reader_with(head.clone(), reader);
                streams.push(Stream { name: name.into(), head, reader, is_member });
                return Ok(());
            }
        };
        if layers.len() >= MOST_LAYERS {
            return Err(TraceError::new("it is packed more than 5 times").at(name));
        }
        layers.push(layer);
        reader = unpacked(layer, reader_with(head, reader)).map_err(failed)?;
    }
}

fn unpack_members(
    input: &Input,
    name: &str,
    reader: Box<dyn Read + Send>,
    layers: &[Layer],
    streams: &mut Vec<Stream>,
) -> Result<(), TraceError> {
    if !input.is_seekable {
        return Err(TraceError::new("an archive cannot be read from a pipe")
            .at(name)
            .hint("name the archive's file"));
    }
    if layers.len() >= MOST_LAYERS {
        return Err(TraceError::new("it is packed more than 5 times").at(name));
    }
    for member in members(reader).map_err(|error| error.at(name))? {
        let (member_name, layer) = (format!("{name}/{}", member.0), member.1);
        let layers = [layers, &[layer]].concat();
        let reader = open(input, &layers).map_err(|error| error.at(&member_name))?;
        unpack_layers(input, &member_name, reader, layers, streams)?;
        if streams.len() > MOST_MEMBERS {
            let message = format!("an archive of more than {MOST_MEMBERS} files");
            return Err(TraceError::new(message).at(name).hint("unpack it and import a part at a time"));
        }
    }
    Ok(())
}

/// The regular files of an archive and where they lie in it.
fn members(reader: Box<dyn Read + Send>) -> Result<Vec<(String, Layer)>, TraceError> {
    let mut archive = tar::Archive::new(reader);
    let mut members = Vec::new();
    for entry in archive.entries()? {
        let entry =
            entry.map_err(|error| TraceError::new(format!("a damaged archive: {}", plain(&error))))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        if kind.is_gnu_sparse() {
            return Err(TraceError::new(format!("`{name}` is stored with holes")).hint("unpack it with tar"));
        }
        if kind.is_file() && entry.size() > 0 {
            members.push((name, Layer::Member { at: entry.raw_file_position(), bytes: entry.size() }));
        }
        if members.len() > MOST_MEMBERS {
            let message = format!("an archive of more than {MOST_MEMBERS} files");
            return Err(TraceError::new(message).hint("unpack it and import a part at a time"));
        }
    }
    Ok(members)
}

fn open(input: &Input, layers: &[Layer]) -> Result<Box<dyn Read + Send>, TraceError> {
    let failed = |error: io::Error| TraceError::from(error).at(&input.name);
    let mut reader = (input.open)().map_err(failed)?;
    for layer in layers {
        reader = unpacked(*layer, reader).map_err(failed)?;
    }
    Ok(reader)
}

fn unpacked(layer: Layer, mut reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    Ok(match layer {
        Layer::Gzip => Box::new(flate2::read::MultiGzDecoder::new(reader)),
        Layer::Zstd => Box::new(ZstdReader { source: Some(reader), frame: None }),
        Layer::Xz => {
            Box::new(lzma_rust2::XzReader::new_mem_limit(reader, true, (WINDOW >> 10) as u32 + 1024))
        }
        Layer::Member { at, bytes } => {
            if io::copy(&mut (&mut reader).take(at), &mut io::sink())? < at {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Box::new(reader.take(bytes))
        }
    })
}

/// A frame, or one that is skipped.
fn is_zstd(head: &[u8]) -> bool {
    let Some(magic) = head.first_chunk() else { return false };
    let magic = u32::from_le_bytes(*magic);
    magic == 0xfd2f_b528 || magic & !0xf == 0x184d_2a50
}

fn head(reader: &mut Box<dyn Read + Send>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn reader_with(head: Vec<u8>, rest: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    Box::new(Cursor::new(head).chain(rest))
}

type Frame = ruzstd::decoding::StreamingDecoder<Box<dyn Read + Send>, ruzstd::decoding::FrameDecoder>;

/// All frames of a stream.
struct ZstdReader {
    /// Between two frames.
    source: Option<Box<dyn Read + Send>>,
    frame: Option<Box<Frame>>,
}

impl Read for ZstdReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
                self.source = self.frame.take().map(|frame| frame.into_inner());
            }
            let Some(mut source) = self.source.take() else { return Ok(0) };
            let mut magic = [0; 4];
            let count = read_up_to(&mut source, &mut magic)?;
            if count == 0 {
                return Ok(0);
            }
            if !is_zstd(&magic[..count]) {
                return Err(io::Error::other("what follows a zstd frame is none"));
            }
            if magic[1..] == [0x2a, 0x4d, 0x18] {
                let mut length = [0; 4];
                source.read_exact(&mut length)?;
                let length = u64::from(u32::from_le_bytes(length));
                if io::copy(&mut (&mut source).take(length), &mut io::sink())? < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.source = Some(source);
                continue;
            }
            let whole = reader_with(magic.to_vec(), source);
            let frame = Frame::new_with_max_window_size(whole, WINDOW).map_err(io::Error::other)?;
            self.frame = Some(Box::new(frame));
        }
    }
}

fn read_up_to(source: &mut Box<dyn Read + Send>, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
