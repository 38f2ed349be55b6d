//! Reads the text.

use std::io::{BufRead, Read};
use std::str::FromStr;

use iodyno_model::Verb;

use crate::text::FIRST_LINE;
use crate::text::words::{CLOCKS, FLAGS, KINDS, LEVELS, unescaped, value};
use crate::{
    Batch, Dependency, RecordFlags, RecordSource, RecordedContent, Tables, TraceError, TraceFile,
    TraceHeader, TraceRecord, TraceThread,
};

/// The longest line; a longer one is no text of ours.
const LINE_LIMIT: u64 = 1 << 20;

/// Records of a batch.
const BATCH: usize = 4096;

/// The records of a text.
pub struct TextSource<R: BufRead> {
    read: R,
    header: TraceHeader,
    tables: Tables,
    line: Vec<u8>,
    /// Lines that were read.
    lines: u64,
    /// The line that was read and belongs to the records.
    is_pending: bool,
    records: u64,
    last_ns: u64,
}

/// What a line is wrong about.
type Wrong = (String, Option<String>);

impl<R: BufRead> TextSource<R> {
    /// Reads the lines before the first record.
    ///
    /// # Errors
    /// Text that does not begin as ours does.
    pub fn new(read: R) -> Result<TextSource<R>, TraceError> {
        let mut source = TextSource {
            read,
            header: TraceHeader::default(),
            tables: Tables::default(),
            line: Vec::new(),
            lines: 0,
            is_pending: false,
            records: 0,
            last_ns: 0,
        };
        if !source.next_line()? || source.line != FIRST_LINE.as_bytes() {
            let message = format!("the first line is not `{FIRST_LINE}`");
            return Err(TraceError::new(message)
                .at("line 1")
                .hint("iodyno trace dump writes such text; docs/trace.md describes it"));
        }
        while source.next_line()? {
            if !source.line.is_empty() && !source.line.starts_with(b"#") {
                source.is_pending = true;
                break;
            }
            source.take_line(&mut Batch::new())?;
        }
        Ok(source)
    }

    /// Whether there is another line.
    fn next_line(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        (&mut self.read).take(LINE_LIMIT).read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            return Ok(false);
        }
        self.lines += 1;
        match self.line.pop() {
            Some(b'\n') => {}
            Some(_) if self.line.len() as u64 + 1 == LINE_LIMIT => {
                return Err(self.error((format!("the line is longer than {LINE_LIMIT} bytes"), None)));
            }
            Some(last) => self.line.push(last),
            None => {}
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(true)
    }

    fn take_line(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        let line = std::mem::take(&mut self.line);
        let taken = match std::str::from_utf8(&line) {
            Ok("") => Ok(()),
            Ok(text) => match text.strip_prefix('#') {
                Some(rest) => self.comment(rest.trim_start()),
                None => self.record(text).map(|record| batch.push(record)),
            },
            Err(_) => Err(("the line is no UTF-8 text".into(), None)),
        };
        self.line = line;
        taken.map_err(|wrong| self.error(wrong))
    }

    fn error(&self, (message, hint): Wrong) -> TraceError {
        TraceError { place: format!("line {}", self.lines), message, hint }
    }

    /// A line of the header or the tables; all others are nothing to us.
    fn comment(&mut self, text: &str) -> Result<(), Wrong> {
        if let Some(rest) = text.strip_prefix("file ") {
            return self.file(rest);
        }
        if let Some(rest) = text.strip_prefix("thread ") {
            return self.thread(rest);
        }
        let Some((key, text)) = text.split_once(": ") else { return Ok(()) };
        let header = &mut self.header;
        match key {
            "source" => header.source = plain(text)?,
            "note" => header.notes.push(plain(text)?),
            "level" => header.level = listed(&LEVELS, key, text)?,
            "clock" => header.clock = listed(&CLOCKS, key, text)?,
            "began" => header.began_unix_ns = Some(number(key, text)?),
            "resolution" => header.resolution_ns = number(key, text)?,
            _ => {}
        }
        Ok(())
    }

    fn file(&mut self, text: &str) -> Result<(), Wrong> {
        let (facts, name) = named(text)?;
        let mut words = facts.split_ascii_whitespace();
        let index = entry(words.next(), self.tables.files.len(), "file")?;
        let kind = listed(&KINDS, "kind of file", words.next().unwrap_or_default())?;
        let mut file = TraceFile { name, kind, ..TraceFile::default() };
        for word in words {
            match word.split_once('=') {
                Some(("bytes", bytes)) => file.bytes = Some(number("size", bytes)?),
                Some(("device", both)) => {
                    let (major, minor) = both.split_once(':').unwrap_or((both, ""));
                    file.device = Some((number("device", major)?, number("device", minor)?));
                }
                _ => return Err(unknown(word, "bytes=, device= and name=")),
            }
        }
        put(&mut self.tables.files, index, file);
        Ok(())
    }

    fn thread(&mut self, text: &str) -> Result<(), Wrong> {
        let (facts, name) = named(text)?;
        let mut words = facts.split_ascii_whitespace();
        let index = entry(words.next(), self.tables.threads.len(), "thread")?;
        let process = number("process", words.next().unwrap_or_default())?;
        let thread = number("thread", words.next().unwrap_or_default())?;
        put(&mut self.tables.threads, index, TraceThread { process, thread, name });
        Ok(())
    }

    fn record(&mut self, text: &str) -> Result<TraceRecord, Wrong> {
        let mut words = text.split_ascii_whitespace();
        let mut word = || words.next().unwrap_or_default();
        let (at, verb, file, offset, bytes) = (word(), word(), word(), word(), word());
        let at_ns = number("time", at)?;
        let verb = Verb::named(verb)
            .ok_or_else(|| (format!("the operation `{verb}` is unknown"), Some(verb_hint(verb))))?;
        let file = self.defined_file(file)?;
        let mut record =
            TraceRecord::new(at_ns, verb, file, number("offset", offset)?, number("size", bytes)?);
        for word in words {
            let Some((key, text)) = word.split_once('=') else { return Err(unknown(word, FIELDS)) };
            match key {
                "thread" => {
                    record.thread = number(key, text)?;
                    let threads = self.tables.threads.len();
                    if record.thread as usize >= threads.max(1) {
                        return Err((format!("thread {text} is not defined, and {threads} are"), None));
                    }
                }
                "latency" => record.latency_ns = Some(number(key, text)?),
                "result" => record.result = Some(number(key, text)?),
                "other" => record.other = Some(self.defined_file(text)?),
                "flags" => record.flags = flags(text)?,
                "compressible" => record.content = Some(RecordedContent::Compressible(percent(text)?)),
                "digest" => record.content = Some(RecordedContent::Digest(digest(text)?)),
                "after" => record.after = Some(self.dependency(text)?),
                _ => return Err(unknown(word, FIELDS)),
            }
        }
        if at_ns < self.last_ns {
            let message = format!("the time goes backwards: {at_ns} after {}", self.last_ns);
            return Err((message, Some("the lines of records must be in the order of their times".into())));
        }
        self.last_ns = at_ns;
        self.records += 1;
        Ok(record)
    }

    fn defined_file(&self, text: &str) -> Result<u32, Wrong> {
        let file: u32 = number("file", text)?;
        let files = self.tables.files.len();
        match (file as usize) < files {
            true => Ok(file),
            false => Err((
                format!("file {file} is not defined, and {files} are"),
                Some(format!("a line before it must say: # file {file} file name=NAME")),
            )),
        }
    }

    fn dependency(&self, text: &str) -> Result<Dependency, Wrong> {
        let (back, think) = text.split_once('+').unwrap_or((text, ""));
        let (back, think_ns) = (number("after", back)?, number("after", think)?);
        match (1..=self.records).contains(&back) {
            true => Ok(Dependency { back, think_ns }),
            false => Err((format!("the record {back} before this one does not exist"), None)),
        }
    }
}

const FIELDS: &str = "thread=, latency=, result=, other=, flags=, compressible=, digest= and after=";

fn unknown(word: &str, known: &str) -> Wrong {
    (format!("`{word}` means nothing here"), Some(format!("what may follow: {known}")))
}

fn verb_hint(verb: &str) -> String {
    let lower = verb.to_ascii_lowercase();
    let near = Verb::ALL
        .iter()
        .map(|verb| verb.name())
        .find(|name| lower.starts_with(name) || name.starts_with(&lower));
    match near.filter(|_| !verb.is_empty()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "a record is: TIME OPERATION FILE OFFSET BYTES".into(),
    }
}

fn number<T: FromStr>(what: &str, text: &str) -> Result<T, Wrong> {
    text.parse().map_err(|_| match text {
        "" => {
            (format!("the {what} is missing"), Some("a record is: TIME OPERATION FILE OFFSET BYTES".into()))
        }
        text => (format!("`{text}` is no {what}"), Some("a whole number is expected".into())),
    })
}

fn listed<T: Copy>(list: &[(&'static str, T)], what: &str, word: &str) -> Result<T, Wrong> {
    value(list, word).map_err(|known| (format!("`{word}` is no {what}"), Some(known)))
}

fn plain(text: &str) -> Result<String, Wrong> {
    unescaped(text).ok_or_else(|| {
        ("a backslash without a meaning".into(), Some("\\\\, \\n and \\r are those that have one".into()))
    })
}

/// What is before the name, and the name.
fn named(text: &str) -> Result<(&str, String), Wrong> {
    match text.split_once(" name=") {
        Some((facts, name)) => Ok((facts, plain(name)?)),
        None => Err(("name= is missing".into(), None)),
    }
}

/// The index of a line of the tables: a known one, or the next.
fn entry(word: Option<&str>, known: usize, what: &str) -> Result<usize, Wrong> {
    let index: usize = number(what, word.unwrap_or_default())?;
    match index <= known {
        true => Ok(index),
        false => Err((format!("{what} {index} is defined before {what} {known}"), None)),
    }
}

fn put<T>(list: &mut Vec<T>, index: usize, entry: T) {
    match list.get_mut(index) {
        Some(known) => *known = entry,
        None => list.push(entry),
    }
}

fn flags(text: &str) -> Result<RecordFlags, Wrong> {
    text.split(',').try_fold(RecordFlags::default(), |flags, word| {
        let flag = match word.parse() {
            Ok(bits) => RecordFlags(bits),
            Err(_) => listed(&FLAGS, "flag", word)?,
        };
        Ok(flags.with(flag))
    })
}

fn percent(text: &str) -> Result<u8, Wrong> {
    match number("percentage", text)? {
        percent @ 0..=100 => Ok(percent),
        _ => Err((format!("`{text}` is more than 100 %"), None)),
    }
}

fn digest(text: &str) -> Result<[u8; 16], Wrong> {
    let wrong = || (format!("`{text}` is no digest"), Some("32 hexadecimal digits are expected".into()));
    if text.len() != 32 || !text.is_ascii() {
        return Err(wrong());
    }
    let mut digest = [0; 16];
    for (byte, digits) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
    }
    Ok(digest)
}

impl<R: BufRead> RecordSource for TextSource<R> {
    fn header(&self) -> &TraceHeader {
        &self.header
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < BATCH {
            if !std::mem::take(&mut self.is_pending) && !self.next_line()? {
                break;
            }
            self.take_line(batch)?;
        }
        Ok(())
    }
}
