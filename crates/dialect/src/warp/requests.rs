//! Requests one by one: from the journals of workers, and as warp writes them down and reads them again.

use std::fmt::Write as _;

use iodyno_model::{JournalEntry, JournalPart, Verb};

use crate::date::{parse_rfc3339, rfc3339};

/// What is done by a request, in warp's words.
pub const KINDS: [&str; 6] = ["DELETE", "GET", "LIST", "PUT", "RETENTION", "STAT"];

/// One request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarpRequest {
    /// `GET`, `PUT`, …
    pub kind: String,
    pub thread: u32,
    pub client: String,
    /// Objects that it is on.
    pub objects: u64,
    pub bytes: u64,
    pub host: String,
    pub file: String,
    /// Empty: it succeeded.
    pub error: String,
    /// ns since 1970.
    pub began: u64,
    /// When the answer began, where that counts.
    pub first_byte: Option<u64>,
    pub ended: u64,
}

impl WarpRequest {
    pub fn duration(&self) -> u64 {
        self.ended.saturating_sub(self.began)
    }
}

/// What a verb is in warp's words.
pub fn kind(verb: Verb) -> Option<&'static str> {
    Some(match verb {
        Verb::Read | Verb::Open => "GET",
        Verb::Create | Verb::Write => "PUT",
        Verb::Stat => "STAT",
        Verb::Unlink => "DELETE",
        Verb::Readdir => "LIST",
        Verb::Setxattr => "RETENTION",
        _ => return None,
    })
}

/// The requests of a job, as its workers write them down.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    pub host: String,
    /// Length of an object, bytes.
    pub object_bytes: u64,
    /// What names begin with, and over how many prefixes they are dealt; 0: none.
    pub prefix: String,
    pub prefixes: u64,
    /// Each worker has a prefix of its own.
    pub is_own: bool,
    /// Objects that a request removes.
    pub batch: u64,
    /// Of each object; items are versions.
    pub versions: u64,
    /// The name of the one object that all requests are on.
    pub object: Option<String>,
    /// Operations in flight.
    pub threads: u32,
    /// What was written down so far.
    pub requests: Vec<LoggedRequest>,
}

/// A request in a few words.
#[derive(Clone, Copy, Debug)]
pub struct LoggedRequest {
    kind: &'static str,
    worker: u32,
    item: u64,
    objects: u64,
    bytes: u64,
    began: u64,
    first_byte: u64,
    ended: u64,
}

impl RequestLog {
    /// Takes what a worker wrote down; `line`: when the phase began, ns since 1970.
    pub fn add(&mut self, part: &JournalPart, line: u64) {
        for entry in &part.entries {
            let JournalEntry::Done { at_ns, verb, offset, bytes, submission_ns, completion_ns, .. } = entry
            else {
                continue;
            };
            let Some(kind) = kind(*verb) else { continue };
            // Where requests are paced, the wait for its turn is no part of a request.
            let began = line + at_ns.saturating_sub(submission_ns + completion_ns);
            let request = LoggedRequest {
                kind,
                worker: part.worker,
                item: match verb {
                    Verb::Read => offset / self.object_bytes.max(1),
                    _ => offset / self.versions.max(1),
                },
                objects: if kind == "LIST" { *bytes } else { 1 },
                bytes: if matches!(kind, "GET" | "PUT") { *bytes } else { 0 },
                began,
                first_byte: began + submission_ns,
                ended: line + at_ns,
            };
            // What one request removed ended together.
            match self.requests.last_mut() {
                Some(last)
                    if kind == "DELETE"
                        && last.objects < self.batch
                        && (last.kind, last.worker, last.ended) == (kind, part.worker, request.ended) =>
                {
                    last.objects += 1;
                    last.began = last.began.min(began);
                }
                _ => self.requests.push(request),
            }
        }
    }

    fn name(&self, request: &LoggedRequest) -> String {
        let item = request.item;
        match () {
            () if self.object.is_some() => self.object.clone().unwrap_or_default(),
            () if request.kind == "LIST" => format!("{}/w{}/", self.prefix, request.worker),
            () if self.is_own => format!("{}/w{}/{item}.rnd", self.prefix, request.worker),
            () if self.prefixes > 0 => format!("{}/{}/{item}.rnd", self.prefix, item % self.prefixes),
            () => format!("{}/{item}.rnd", self.prefix),
        }
    }
}

/// All requests, in the order in which they began. A thread stands for an operation in flight: each request has the one that
/// was free for the longest time.
pub fn all(logs: &[RequestLog], client: &str) -> Vec<WarpRequest> {
    let mut requests = Vec::new();
    let mut first = 0;
    for log in logs {
        let mut order: Vec<&LoggedRequest> = log.requests.iter().collect();
        order.sort_by_key(|request| (request.began, request.ended));
        // When each thread is free again.
        let mut free = vec![0; log.threads.max(1) as usize];
        for request in order {
            let place = (0..free.len()).min_by_key(|place| free[*place]).unwrap_or(0);
            free[place] = request.ended;
            // A simulated store answers at once: nobody told when the answer began.
            let answered = matches!(request.kind, "GET" | "LIST") && request.first_byte > request.began;
            requests.push(WarpRequest {
                kind: request.kind.into(),
                thread: first + place as u32,
                client: client.into(),
                objects: request.objects,
                bytes: request.bytes,
                host: log.host.clone(),
                file: log.name(request),
                error: String::new(),
                began: request.began,
                first_byte: answered.then_some(request.first_byte),
                ended: request.ended,
            });
        }
        first += free.len() as u32;
    }
    requests.sort_by_key(|request| request.began);
    requests
}

/// The columns of a file of requests.
const COLUMNS: &str = "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\tduration_ns\tcat";

/// Requests as warp writes them down, with the command at the end.
pub fn table(requests: &[WarpRequest], command: &str) -> String {
    let mut text = format!("{COLUMNS}\n");
    for (index, request) in requests.iter().enumerate() {
        let WarpRequest { thread, kind, client, objects, bytes, .. } = request;
        let first_byte = request.first_byte.map(rfc3339).unwrap_or_default();
        let _ = writeln!(
            text,
            "{index}\t{thread}\t{kind}\t{client}\t{objects}\t{bytes}\t{}\t{}\t{}\t{}\t{first_byte}\t{}\t{}\t0",
            quoted(&request.host),
            quoted(&request.file),
            quoted(&request.error),
            rfc3339(request.began),
            rfc3339(request.ended),
            request.duration()
        );
    }
    command.lines().for_each(|line| text += &format!("# {line}\n"));
    text
}

fn quoted(field: &str) -> String {
    match field.contains(['\t', '"', '\n', '\r']) || field.starts_with(char::is_whitespace) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.into(),
    }
}

/// Reads requests as warp writes them down.
///
/// # Errors
/// What is wrong, with the line's number, as a lower-case fragment.
pub fn parse(text: &str) -> Result<Vec<WarpRequest>, String> {
    let mut lines = lines(text).into_iter();
    let (_, heads) = lines.next().ok_or("the file is empty")?;
    let column = |name: &str| heads.iter().position(|head| head == name);
    let need = |name: &str| column(name).ok_or_else(|| format!("the first line names no column `{name}`"));
    let (op, start, end) = (need("op")?, need("start")?, need("end")?);
    let (bytes, objects, thread) = (need("bytes")?, need("n_objects")?, need("thread")?);
    let [client, host, file, error, first] =
        ["client_id", "endpoint", "file", "error", "first_byte"].map(column);
    let mut requests = Vec::new();
    for (line, fields) in lines {
        let at = |place: usize| fields.get(place).map_or("", String::as_str);
        let maybe = |place: Option<usize>| place.map_or("", at);
        let wrong = |name: &str, text: &str| format!("line {line}: {name}: `{text}`");
        let number = |name: &str, place: usize| at(place).parse::<u64>().map_err(|_| wrong(name, at(place)));
        let time = |name: &str, text: &str| parse_rfc3339(text).ok_or_else(|| wrong(name, text));
        let first_byte = Some(maybe(first)).filter(|text| !text.is_empty());
        let (began, ended) = (time("start", at(start))?, time("end", at(end))?);
        requests.push(WarpRequest {
            kind: at(op).into(),
            thread: number("thread", thread)?.min(u64::from(u32::MAX)) as u32,
            client: maybe(client).into(),
            objects: number("n_objects", objects)?,
            bytes: number("bytes", bytes)?,
            host: maybe(host).into(),
            file: maybe(file).into(),
            error: maybe(error).into(),
            began,
            first_byte: first_byte.map(|text| time("first_byte", text)).transpose()?,
            ended: ended.max(began),
        });
    }
    Ok(requests)
}

/// The lines of a table whose fields are parted by tabs, each with its number; comments are left out.
fn lines(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut lines = Vec::new();
    let (mut fields, mut field) = (Vec::new(), String::new());
    let (mut number, mut first, mut quotes) = (1, 1, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '#' if !quotes && fields.is_empty() && field.is_empty() => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
            }
            '"' if quotes && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if quotes || field.is_empty() => quotes = !quotes,
            '\t' if !quotes => fields.push(std::mem::take(&mut field)),
            '\n' if !quotes => {
                if !(fields.is_empty() && field.is_empty()) {
                    fields.push(std::mem::take(&mut field));
                    lines.push((first, std::mem::take(&mut fields)));
                }
                number += 1;
                first = number;
            }
            '\r' if !quotes => {}
            letter => {
                number += usize::from(letter == '\n');
                field.push(letter);
            }
        }
    }
    if !(fields.is_empty() && field.is_empty()) {
        fields.push(field);
        lines.push((first, fields));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(at_ns: u64, verb: Verb, offset: u64, bytes: u64, latency_ns: u64) -> JournalEntry {
        JournalEntry::Done {
            at_ns,
            verb,
            file: 0,
            offset,
            bytes,
            submission_ns: latency_ns / 2,
            completion_ns: latency_ns - latency_ns / 2,
            latency_ns,
            priority: 0,
        }
    }

    #[test]
    fn requests_have_a_thread_each_that_is_free() {
        let mut log = RequestLog {
            host: "http://h".into(),
            object_bytes: 10,
            prefix: "p".into(),
            prefixes: 2,
            threads: 2,
            ..RequestLog::default()
        };
        let entries = vec![
            done(10, Verb::Read, 30, 10, 10),
            done(12, Verb::Read, 0, 10, 8),
            done(20, Verb::Read, 20, 10, 9),
        ];
        log.add(&JournalPart { entries, ..JournalPart::default() }, 1000);
        let requests = all(&[log], "c");
        let told: Vec<_> = requests
            .iter()
            .map(|one| (one.thread, one.file.as_str(), one.began, one.first_byte, one.ended))
            .collect();
        assert_eq!(
            told,
            [
                (0, "p/1/3.rnd", 1000, Some(1005), 1010),
                (1, "p/0/0.rnd", 1004, Some(1008), 1012),
                (0, "p/0/2.rnd", 1011, Some(1015), 1020)
            ]
        );
    }

    #[test]
    fn what_one_request_removed_is_one_request() {
        let mut log = RequestLog { prefix: "p".into(), is_own: true, batch: 2, ..RequestLog::default() };
        let entries = (0..5).map(|item| done(7, Verb::Unlink, item, 0, 5 - item.min(2))).collect();
        log.add(&JournalPart { entries, worker: 3, ..JournalPart::default() }, 0);
        let requests = all(&[log], "c");
        assert_eq!(requests.iter().map(|one| one.objects).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!(
            (requests[0].file.as_str(), requests[0].began, requests[0].first_byte),
            ("p/w3/0.rnd", 2, None)
        );
    }

    #[test]
    fn what_is_written_down_is_read_again() {
        let one = WarpRequest {
            kind: "GET".into(),
            client: "abcd".into(),
            objects: 1,
            bytes: 5,
            host: "http://h:1".into(),
            file: "a\tb".into(),
            error: "it said \"no\"\nand left".into(),
            began: 1_795_306_503_972_000_001,
            first_byte: Some(1_795_306_503_973_000_000),
            ended: 1_795_306_504_000_000_000,
            thread: 7,
        };
        let two = WarpRequest { first_byte: None, error: String::new(), ..one.clone() };
        let text = table(&[one.clone(), two.clone()], "warp get\nagain");
        assert!(
            text.contains("2026-11-22T00:15:03.972000001Z") && text.ends_with("# warp get\n# again\n"),
            "{text}"
        );
        assert_eq!(parse(&text), Ok(vec![one, two]));
    }

    #[test]
    fn what_is_no_table_is_told_with_its_place() {
        let head = COLUMNS;
        for (text, words) in [
            (String::new(), "empty"),
            ("a\tb\n".into(), "no column `op`"),
            (
                format!(
                    "{head}\n0\tx\tGET\tc\t1\t2\th\tf\t\t2026-11-22T00:15:03Z\t\t2026-11-22T00:15:04Z\t1\t0\n"
                ),
                "line 2: thread: `x`",
            ),
            (
                format!("{head}\n0\t1\tGET\tc\t1\t2\th\tf\t\tnow\t\t2026-11-22T00:15:04Z\t1\t0\n"),
                "line 2: start: `now`",
            ),
        ] {
            let wrong = parse(&text).unwrap_err();
            assert!(wrong.contains(words), "{wrong}");
        }
    }
}
