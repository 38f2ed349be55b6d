//! Where file and model part, and what it looks like: which byte, what should be there and who put it there, what is
//! there instead and where that may come from.

use super::harness::Effect;
use super::image::{Bytes, Image, Number};
use super::operation::{OpKind, Operation, fill};
use iodyno_engine::failure::strerror;

/// Bytes of the difference that are compared with older and other content.
const SAMPLE_BYTES: usize = 4096;
/// Fewer different bytes than this are found anywhere by chance.
const TELLING_BYTES: usize = 4;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct FileDifference {
    /// The operation that found it, counted over the log.
    pub number: u64,
    operation: String,
    text: String,
    content: Option<ContentDifference>,
}

/// Bytes that are not what they should be.
#[derive(Clone, Debug, Default)]
struct ContentDifference {
    file: usize,
    /// The first that is not.
    offset: u64,
    expected: Vec<u8>,
    found: Vec<u8>,
    beyond_end: bool,
}

/// Where two runs of bytes first differ.
pub fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    if one == other {
        return None;
    }
    one.iter().zip(other).position(|(one, other)| one != other).or(Some(one.len().min(other.len())))
}

impl FileDifference {
    fn new(number: u64, operation: &Operation, text: String) -> FileDifference {
        FileDifference { number, operation: operation.to_string(), text, content: None }
    }

    /// An operation that must succeed did not.
    pub fn refused(number: u64, operation: &Operation, errno: i32) -> FileDifference {
        FileDifference::new(number, operation, format!("failed: {}", strerror(errno)))
    }

    /// It moved another number of bytes than there are.
    pub fn counted(number: u64, operation: &Operation, found: u64, wanted: u64) -> FileDifference {
        FileDifference::new(number, operation, format!("moved {found} bytes where {wanted} are"))
    }

    /// The file is not as long as it should be.
    pub fn size(number: u64, operation: &Operation, file: usize, found: u64, wanted: u64) -> FileDifference {
        let text = format!("file {} is {found} bytes long and should be {wanted}", name(file));
        FileDifference::new(number, operation, text)
    }

    /// SEEK_DATA or SEEK_HOLE answered with what cannot be.
    pub fn lost(
        number: u64,
        operation: &Operation,
        data: u64,
        hole: Option<u64>,
        size: u64,
    ) -> FileDifference {
        let hole = hole.map_or("none".into(), |hole| hole.to_string());
        let text = format!("the next data is said to be at {data}, the next hole at {hole}, of {size} bytes");
        FileDifference::new(number, operation, text)
    }

    /// Data was said to be a hole.
    pub fn hole(number: u64, operation: &Operation, at: u64, said: (u64, u64)) -> FileDifference {
        let text = format!(
            "there is data at {at}, which is said to be a hole (next data at {}, next hole at {})",
            said.0, said.1
        );
        FileDifference::new(number, operation, text)
    }

    /// Two ranges were said to hold the same, or not to, against what they hold.
    pub fn dedupe(number: u64, operation: &Operation, same: bool) -> FileDifference {
        let said = if same { "the same where they differ" } else { "different where they are the same" };
        FileDifference::new(number, operation, format!("the ranges are said to be {said}"))
    }

    /// Bytes that were read are not those of the model; `place` is the file and where both begin, `at` the first that
    /// differs.
    pub fn content(
        number: u64,
        operation: &Operation,
        place: (usize, u64),
        at: usize,
        found: &[u8],
        expected: &[u8],
    ) -> FileDifference {
        let end = found.len().min(expected.len());
        let wrong = (at..end).filter(|index| found[*index] != expected[*index]).count();
        let until = (at + SAMPLE_BYTES).min(end);
        let last = (at..until).rev().find(|index| found[*index] != expected[*index]).map_or(at, |last| last);
        let content = ContentDifference {
            file: place.0,
            offset: place.1 + at as u64,
            expected: expected[at..=last].to_vec(),
            found: found[at..=last].to_vec(),
            beyond_end: false,
        };
        let text = format!(
            "byte {} of file {} is {:#04x} and should be {:#04x}; {wrong} bytes differ",
            content.offset,
            name(place.0),
            found[at],
            expected[at]
        );
        FileDifference { content: Some(content), ..FileDifference::new(number, operation, text) }
    }

    /// The bytes lie beyond the end of the file, in its last page.
    pub fn beyond_end(mut self) -> FileDifference {
        self.text.push_str(" (a mapping shows it beyond the file's end)");
        self.content.iter_mut().for_each(|content| content.beyond_end = true);
        self
    }

    /// All of it in words, with what the log tells about its origin.
    pub fn explain(&self, log: &[(Operation, Effect)]) -> String {
        let mut words = format!("`{}`: {}", self.operation, self.text);
        let Some(content) = &self.content else { return words };
        let origin = Origin::of(content, log);
        if let Some(owner) = origin.owner.filter(|_| !content.beyond_end) {
            words.push_str(&format!("; last written by `{}`, operation {owner}", log[owner].0));
        }
        words.push_str("; likely ");
        words.push_str(&origin.cause);
        words
    }
}

/// Where bytes come from that should, or should not, be there.
struct Origin {
    owner: Option<usize>,
    cause: String,
}

impl Origin {
    /// Runs through the log once more, in memory.
    fn of(content: &ContentDifference, log: &[(Operation, Effect)]) -> Origin {
        let (mut bytes, mut numbers) = (Image::<u8>::default(), Image::<u32>::default());
        let (start, found) = (content.offset, &content.found);
        let here = start..start + found.len() as u64;
        let (mut stale, mut cut) = (None, None);
        let mut buffer = Vec::new();
        for (number, (operation, effect)) in log.iter().enumerate() {
            let count = match effect {
                Effect::Done(count) => *count,
                Effect::Failed => continue,
            };
            let before = operation.kind.changes().then(|| bytes.part(content.file, here.clone()).to_vec());
            buffer.resize(operation.bytes.min(1 << 30) as usize, 0);
            if operation.kind.has_seed() {
                fill(&mut buffer, operation.seed);
            }
            bytes.apply(operation, count, &Bytes(&buffer));
            numbers.apply(operation, count, &Number(number as u32));
            if before.is_some_and(|before| before == *found)
                && bytes.part(content.file, here.clone()) != found
            {
                stale = Some(number);
            }
            if operation.kind == OpKind::Truncate {
                cut = Some(number);
            }
        }
        let owner = numbers.files[content.file].get(start as usize).map(|number| *number as usize);
        Origin { owner, cause: cause(content, &bytes, stale, cut.filter(|cut| owner == Some(*cut)), log) }
    }
}

fn cause(
    content: &ContentDifference,
    image: &Image<u8>,
    stale: Option<usize>,
    cut: Option<usize>,
    log: &[(Operation, Effect)],
) -> String {
    let (found, expected) = (&content.found, &content.expected);
    if found.iter().all(|byte| *byte == 0) {
        return "zeros where data should be: a write was lost, or a hole is where none was made".into();
    }
    if let Some(number) = stale {
        let what = if cut.is_some() { "old data that should be gone" } else { "stale" };
        return format!("{what}: what was there before `{}`, operation {number}", log[number].0);
    }
    if found.iter().zip(expected).map(|(one, other)| (one ^ other).count_ones()).sum::<u32>() == 1 {
        return "a bit that flipped".into();
    }
    let telling = found.len() >= TELLING_BYTES;
    let here = content.offset as usize;
    if let Some(at) = telling.then(|| search(&image.files[content.file], found)).flatten() {
        return format!(
            "shifted: these bytes belong at {at}, {} bytes {}",
            at.abs_diff(here),
            side(at, here)
        );
    }
    if let Some(at) = telling.then(|| search(&image.files[1 - content.file], found)).flatten() {
        return format!("of the other file: these bytes belong at {at} of file {}", name(1 - content.file));
    }
    match expected.iter().all(|byte| *byte == 0) {
        true => "data where zeros should be, from nowhere in these files".into(),
        false => "something that was never in these files".into(),
    }
}

fn side(at: usize, here: usize) -> &'static str {
    if at > here { "further on" } else { "further back" }
}

fn search(all: &[u8], wanted: &[u8]) -> Option<usize> {
    all.windows(wanted.len()).position(|part| part == wanted)
}

fn name(file: usize) -> &'static str {
    if file == 0 { "a" } else { "b" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of bytes at a place after these lines.
    fn said(lines: &[&str], offset: u64, found: impl Fn(&Image<u8>) -> Vec<u8>) -> String {
        let mut image = Image::<u8>::default();
        let mut log = Vec::new();
        for line in lines {
            let operation = Operation::parse(line).unwrap();
            let mut bytes = vec![0; operation.bytes as usize];
            fill(&mut bytes, operation.seed);
            image.apply(&operation, operation.bytes, &Bytes(&bytes));
            log.push((operation.clone(), Effect::Done(operation.bytes)));
        }
        let found = found(&image);
        let expected = image.part(0, offset..offset + found.len() as u64).to_vec();
        let read = Operation::new(OpKind::Read, offset, found.len() as u64);
        let at = first_difference(&found, &expected).unwrap();
        FileDifference::content(log.len() as u64, &read, (0, offset), at, &found, &expected).explain(&log)
    }

    #[test]
    fn causes_are_named() {
        let seeded = |seed, bytes: usize| {
            let mut buffer = vec![0; bytes];
            fill(&mut buffer, seed);
            buffer
        };
        let one = ["write 0 100 seed=1"];
        let text = said(&one, 10, |_| vec![0; 20]);
        assert!(text.contains("last written by `write 0 100 seed=1 via=psync`, operation 0"), "{text}");
        assert!(text.contains("zeros where data should be"), "{text}");
        let two = ["write 0 100 seed=1", "write 0 50 seed=2", "fsync"];
        let text = said(&two, 0, |_| seeded(1, 50));
        assert!(text.contains("stale: what was there before `write 0 50 seed=2"), "{text}");
        let text = said(&["write 0 100 seed=1", "truncate 10", "truncate 50"], 0, |_| seeded(1, 50));
        assert!(text.contains("data that should be gone: what was there before `truncate 10`"), "{text}");
        let text = said(&one, 10, |image| image.files[0][18..48].to_vec());
        assert!(text.contains("shifted: these bytes belong at 18, 8 bytes further on"), "{text}");
        let text = said(&one, 0, |image| {
            let mut bytes = image.files[0].clone();
            bytes[3] ^= 4;
            bytes
        });
        assert!(text.contains("a bit that flipped") && text.contains("; 1 bytes differ"), "{text}");
        let text =
            said(&["write 0 9 seed=1", "write 0 50 seed=3 on=b"], 0, |image| image.files[1][..9].to_vec());
        assert!(text.contains("of the other file"), "{text}");
        assert!(said(&one, 0, |_| seeded(9, 50)).contains("never in these files"));
    }
}
