//! The header, files and threads as bytes.

use iodyno_model::Verb;

use crate::format::bytes::{Cursor, put_option, put_text, put_varint, unzigzag, zigzag};
use crate::{FileKind, TraceClock, TraceError, TraceFile, TraceHeader, TraceLevel, TraceThread};

const LEVELS: [TraceLevel; 2] = [TraceLevel::Block, TraceLevel::File];
const CLOCKS: [TraceClock; 3] = [TraceClock::Relative, TraceClock::Realtime, TraceClock::Monotonic];
const KINDS: [FileKind; 5] =
    [FileKind::File, FileKind::Device, FileKind::Directory, FileKind::Link, FileKind::Other];

/// Where a value stands in a list, as its number in the file.
fn number<T: PartialEq>(list: &[T], value: &T) -> u8 {
    list.iter().position(|known| known == value).unwrap_or(0) as u8
}

fn listed<T: Copy>(list: &[T], number: u8, what: &str) -> Result<T, TraceError> {
    let value = list.get(number as usize).copied();
    value.ok_or_else(|| TraceError::new(format!("{what} {number} is unknown")))
}

/// The header, and the names of the verbs that the records' numbers stand for.
pub fn put_header(out: &mut Vec<u8>, header: &TraceHeader) {
    put_text(out, &header.source);
    out.push(number(&LEVELS, &header.level));
    out.push(number(&CLOCKS, &header.clock));
    put_option(out, header.began_unix_ns.map(zigzag));
    put_varint(out, header.resolution_ns);
    put_varint(out, header.notes.len() as u64);
    header.notes.iter().for_each(|note| put_text(out, note));
    put_varint(out, Verb::COUNT as u64);
    Verb::ALL.iter().for_each(|verb| put_text(out, verb.name()));
}

/// A verb, or the name of one that this version does not know.
pub type NamedVerb = Result<Verb, String>;

pub fn header(body: &mut Cursor<'_>) -> Result<(TraceHeader, Vec<NamedVerb>), TraceError> {
    let source = body.text()?;
    let level = listed(&LEVELS, body.byte()?, "level")?;
    let clock = listed(&CLOCKS, body.byte()?, "clock")?;
    let began_unix_ns = body.option()?.map(unzigzag);
    let resolution_ns = body.varint()?;
    let notes = (0..body.count()?).map(|_| body.text()).collect::<Result<_, _>>()?;
    let verbs = (0..body.count()?)
        .map(|_| body.text().map(|name| Verb::named(&name).ok_or(name)))
        .collect::<Result<_, _>>()?;
    Ok((TraceHeader { source, level, clock, began_unix_ns, resolution_ns, notes }, verbs))
}

pub fn put_file(out: &mut Vec<u8>, file: &TraceFile) {
    put_text(out, &file.name);
    out.push(number(&KINDS, &file.kind));
    put_option(out, file.bytes);
    put_option(out, file.device.map(|(major, minor)| u64::from(major) << 32 | u64::from(minor)));
}

pub fn file(body: &mut Cursor<'_>) -> Result<TraceFile, TraceError> {
    let name = body.text()?;
    let kind = listed(&KINDS, body.byte()?, "kind of file")?;
    let bytes = body.option()?;
    let device = body.option()?.map(|both| ((both >> 32) as u32, both as u32));
    Ok(TraceFile { name, kind, bytes, device })
}

pub fn put_thread(out: &mut Vec<u8>, thread: &TraceThread) {
    put_varint(out, u64::from(thread.process));
    put_varint(out, u64::from(thread.thread));
    put_text(out, &thread.name);
}

pub fn thread(body: &mut Cursor<'_>) -> Result<TraceThread, TraceError> {
    Ok(TraceThread { process: body.narrow()?, thread: body.narrow()?, name: body.text()? })
}
