//! Load files of dbench as requests: what one client asks of a file server, in its order.
//!
//! The importer makes operations of such a file, one for each line; this keeps what a server needs to carry requests out:
//! handles, creation options, how many bytes are to come back. Names stay as they are written, below the root; the part that
//! stands for the client is the server's to fill in. Lines are taken as dbench takes them: what has fewer than two words or
//! begins with `#` is passed over, what it would complain about and leave out is noted and left out.

use std::collections::HashMap;

use iodyno_model::Verb;

/// What stands for the client in the names of a load.
pub const CLIENT: &str = "client1";
/// In place of a name: the request has none.
pub const NO_NAME: u32 = u32::MAX;
/// The status of what succeeds.
const SUCCESS: &str = "NT_STATUS_OK";
/// Words of a line that are looked at.
const WORDS: usize = 19;
/// Bytes that one request moves at most.
const MOVED_MOST: u64 = 1 << 30;

macro_rules! kinds {
    ($($kind:ident $word:literal $label:literal $verb:ident;)*) => {
        /// What is asked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum LoadRequestKind { $($kind,)* }

        impl LoadRequestKind {
            /// All of them, in the order in which dbench reports them.
            pub const ALL: &'static [LoadRequestKind] = &[$(LoadRequestKind::$kind,)*];

            /// The word of load files.
            pub const fn word(self) -> &'static str {
                match self { $(LoadRequestKind::$kind => $word,)* }
            }

            /// The word of reports.
            pub const fn label(self) -> &'static str {
                match self { $(LoadRequestKind::$kind => $label,)* }
            }

            /// The verb that is at its heart.
            pub const fn verb(self) -> Verb {
                match self { $(LoadRequestKind::$kind => Verb::$verb,)* }
            }
        }
    };
}

kinds! {
    Open "NTCreateX" "NTCreateX" Open;
    Close "Close" "Close" Close;
    Rename "Rename" "Rename" Rename;
    Unlink "Unlink" "Unlink" Unlink;
    RemoveTree "Deltree" "Deltree" Rmdir;
    RemoveDirectory "Rmdir" "Rmdir" Rmdir;
    MakeDirectory "Mkdir" "Mkdir" Mkdir;
    LookAtName "QUERY_PATH_INFORMATION" "Qpathinfo" Stat;
    LookAtHandle "QUERY_FILE_INFORMATION" "Qfileinfo" Fstat;
    LookAtFileSystem "QUERY_FS_INFORMATION" "Qfsinfo" Statfs;
    SetTimes "SET_FILE_INFORMATION" "Sfileinfo" Utimens;
    Find "FIND_FIRST" "Find" Readdir;
    Write "WriteX" "WriteX" Write;
    Read "ReadX" "ReadX" Read;
    Lock "LockX" "LockX" Lock;
    Unlock "UnlockX" "UnlockX" Unlock;
    Flush "Flush" "Flush" Fsync;
}

impl LoadRequestKind {
    /// The kind of that word, in whatever letters.
    pub fn named(word: &str) -> Option<LoadRequestKind> {
        LoadRequestKind::ALL.iter().copied().find(|kind| kind.word().eq_ignore_ascii_case(word))
    }

    pub const fn index(self) -> usize {
        self as usize
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRequest {
    pub kind: LoadRequestKind,
    /// Whether it succeeded when it was recorded.
    pub succeeds: bool,
    /// Its line, from 1.
    pub line: u32,
    /// Its names, by index; [`NO_NAME`]: none.
    pub name: u32,
    pub other: u32,
    pub handle: u32,
    /// Of an open: the creation options and the disposition. Of a search: how many entries are listed at most.
    pub options: u32,
    pub disposition: u32,
    /// In the file.
    pub offset: u64,
    pub bytes: u32,
    /// How many bytes came back or were taken.
    pub moved_bytes: u32,
    /// Not before that time of the pass, µs; 0: at once.
    pub at_us: u64,
    /// The pause before it, µs.
    pub pause_us: u64,
}

/// A line that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub line: u32,
    pub why: String,
}

/// A load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestList {
    pub requests: Vec<LoadRequest>,
    /// Names below the root, each once; they begin with a slash.
    pub names: Vec<String>,
    /// Lines of the file.
    pub lines: u32,
    /// The pause behind the last request, µs.
    pub last_pause_us: u64,
    /// The longest transfer, bytes.
    pub largest_bytes: u32,
    /// Lines that ask for nothing that is known.
    pub left_out: Vec<LeftOut>,
}

/// Why a file is no load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoLoad {
    /// The line, from 1; none: the whole file.
    pub line: Option<u32>,
    pub why: String,
}

impl RequestList {
    /// Reads a load file.
    ///
    /// # Errors
    /// It is a load file of dbench 1, a name leads out of the root, a transfer is too long, or nothing is asked for.
    pub fn read(bytes: &[u8]) -> Result<RequestList, NoLoad> {
        let mut reader = LoadReader::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            reader.list.lines += 1;
            let text = String::from_utf8_lossy(line);
            reader.line(text.trim_end_matches('\n')).map_err(|why| reader.fault(why))?;
        }
        reader.list.last_pause_us = reader.pause_us;
        if reader.list.requests.is_empty() {
            return Err(NoLoad { line: None, why: "no request of a load file of dbench is in it".into() });
        }
        Ok(reader.list)
    }

    /// The name of a request, or of what it becomes.
    pub fn name(&self, index: u32) -> Option<&str> {
        self.names.get(index as usize).map(String::as_str)
    }

    /// Lines from one request's to another's, which may be that of the next pass.
    pub fn lines_between(&self, from: u32, to: u32) -> u32 {
        if to > from { to - from } else { self.lines - from + to }
    }
}

#[derive(Default)]
struct LoadReader {
    list: RequestList,
    known: HashMap<String, u32>,
    pause_us: u64,
}

impl LoadReader {
    fn fault(&self, why: String) -> NoLoad {
        NoLoad { line: Some(self.list.lines), why }
    }

    fn leave_out(&mut self, why: String) {
        let line = self.list.lines;
        self.list.left_out.push(LeftOut { line, why });
    }

    fn line(&mut self, text: &str) -> Result<(), String> {
        let text = text.replace('\\', "/").replace(" /", " ");
        let words = words(&text);
        if words.len() < 2 || words[0].starts_with('#') {
            return Ok(());
        }
        if words[0].starts_with("SMB") {
            return Err("it is a load file of dbench 1".into());
        }
        let (at_us, words) = match words[0].starts_with(|first: char| first.is_ascii_digit()) {
            true => (micros(words[0]), &words[1..]),
            false => (0, &words[..]),
        };
        let Some((status, words)) = words.split_last().filter(|(_, words)| !words.is_empty()) else {
            self.leave_out("no request and no status".into());
            return Ok(());
        };
        if !status.starts_with("NT_STATUS_") && !status.starts_with("0x") {
            self.leave_out(format!("`{status}`: no status of a request"));
            return Ok(());
        }
        let succeeds = *status == SUCCESS || (status.starts_with("0x") && number(Some(status)) == 0);
        if words[0].eq_ignore_ascii_case("Sleep") {
            self.pause_us = self.pause_us.saturating_add(number(words.get(1)).max(0) as u64);
            return Ok(());
        }
        match LoadRequestKind::named(words[0]) {
            Some(kind) => self.request(kind, &words[1..], (succeeds, at_us)),
            None => {
                self.leave_out(format!("`{}`: no request that is known", words[0]));
                Ok(())
            }
        }
    }

    fn request(
        &mut self,
        kind: LoadRequestKind,
        words: &[&str],
        (succeeds, at_us): (bool, u64),
    ) -> Result<(), String> {
        let names = words.iter().take(2).take_while(|word| word.starts_with('/')).count();
        let mut places = [NO_NAME; 2];
        for (place, name) in places.iter_mut().zip(&words[..names]) {
            *place = self.name(name)?;
        }
        let wanted = match kind {
            LoadRequestKind::Rename => 2,
            LoadRequestKind::Open
            | LoadRequestKind::Unlink
            | LoadRequestKind::RemoveTree
            | LoadRequestKind::RemoveDirectory
            | LoadRequestKind::MakeDirectory
            | LoadRequestKind::LookAtName
            | LoadRequestKind::Find => 1,
            _ => 0,
        };
        if names < wanted {
            self.leave_out(format!("{}: a name in quotes is missing", kind.word()));
            return Ok(());
        }
        let numbers: Vec<i64> = words[names..].iter().map(|word| number(Some(word))).collect();
        let of = |index: usize| numbers.get(index).copied().unwrap_or(0);
        let (handle, options, disposition) = match kind {
            LoadRequestKind::Open => (of(2), of(0), of(1)),
            LoadRequestKind::Find => (0, of(1), 0),
            _ => (of(0), 0, 0),
        };
        let ranged = matches!(
            kind,
            LoadRequestKind::Read | LoadRequestKind::Write | LoadRequestKind::Lock | LoadRequestKind::Unlock
        );
        let (offset, bytes, moved) = if ranged { (of(1), of(2), of(3)) } else { (0, 0, 0) };
        let is_moved = kind.verb().moves_data();
        if offset < 0 || bytes < 0 || (is_moved && bytes as u64 > MOVED_MOST) {
            return Err(format!("{bytes} bytes at {offset}: expected at most 1 GiB, from 0 on"));
        }
        if is_moved {
            self.list.largest_bytes = self.list.largest_bytes.max(bytes as u32);
        }
        self.list.requests.push(LoadRequest {
            kind,
            succeeds,
            line: self.list.lines,
            name: places[0],
            other: places[1],
            handle: handle as u32,
            options: options as u32,
            disposition: disposition as u32,
            offset: offset as u64,
            bytes: bytes as u32,
            moved_bytes: moved as u32,
            at_us,
            pause_us: std::mem::take(&mut self.pause_us),
        });
        Ok(())
    }

    /// The index of a name.
    fn name(&mut self, name: &str) -> Result<u32, String> {
        if name.split('/').any(|part| part == "..") {
            return Err(format!("`{name}` leads out of the directory"));
        }
        if name.contains('\0') {
            return Err("a name with a zero byte".into());
        }
        if let Some(known) = self.known.get(name) {
            return Ok(*known);
        }
        let index = self.list.names.len() as u32;
        self.list.names.push(name.into());
        self.known.insert(name.into(), index);
        Ok(index)
    }
}

/// The words of a line; what is quoted is one.
fn words(text: &str) -> Vec<&str> {
    let mut rest = text.trim_start_matches(' ');
    let mut words = Vec::new();
    while !rest.is_empty() && words.len() < WORDS {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.trim_end_matches('\r'));
        rest = after.trim_start_matches(' ');
    }
    words
}

/// A whole number as C reads it: decimal, hexadecimal or octal, as far as it goes; 0: none.
fn number(word: Option<&&str>) -> i64 {
    let word = word.copied().unwrap_or_default();
    let (sign, digits) = word.strip_prefix('-').map_or((1, word), |digits| (-1, digits));
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        None => (10, digits),
    };
    let end = digits.find(|digit: char| !digit.is_digit(radix)).unwrap_or(digits.len());
    if end == 0 { 0 } else { sign * i64::from_str_radix(&digits[..end], radix).unwrap_or(i64::MAX) }
}

/// Seconds as a line begins with, in µs.
fn micros(word: &str) -> u64 {
    word.parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..1e9).contains(seconds))
        .map_or(0, |seconds| (seconds * 1e6) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: &str = include_str!("../../../suites/dbench/short.txt");

    fn read(text: &str) -> RequestList {
        RequestList::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn requests_keep_what_a_server_needs() {
        let list = read(
            "# a load\n\nNTCreateX \"\\clients\\client1\\a b\" 0x40 0x2 9938 NT_STATUS_OK\n\
             WriteX 9938 65534 010 1 0x00000000\nsleep 50 NT_STATUS_OK\n\
             0.5 Rename \"\\clients\\client1\\a b\" \"\\c\" NT_STATUS_ACCESS_DENIED\n\
             FIND_FIRST \"\\clients\\client1\\*\" 260 1366 0 NT_STATUS_NO_SUCH_FILE\n",
        );
        assert_eq!((list.lines, list.largest_bytes, list.last_pause_us), (7, 8, 0));
        assert_eq!(list.names, ["/clients/client1/a b", "/c", "/clients/client1/*"]);
        let open = list.requests[0];
        assert_eq!((open.line, open.handle, open.options, open.disposition), (3, 9938, 0x40, 2));
        let write = list.requests[1];
        assert_eq!((write.offset, write.bytes, write.moved_bytes, write.succeeds), (65534, 8, 1, true));
        let rename = list.requests[2];
        assert_eq!((rename.name, rename.other, rename.succeeds), (0, 1, false));
        assert_eq!((rename.at_us, rename.pause_us), (500_000, 50));
        assert_eq!((list.requests[3].options, list.requests[3].kind), (1366, LoadRequestKind::Find));
        assert_eq!((list.lines_between(3, 4), list.lines_between(7, 3)), (1, 3));
    }

    #[test]
    fn what_is_no_request_is_left_out_with_its_line() {
        let list = read("Close 1 NT_STATUS_OK\nWriteX 1 2 3\nFrob 1 NT_STATUS_OK\nUnlink 5 NT_STATUS_OK\n");
        let told: Vec<String> =
            list.left_out.iter().map(|left| format!("{}: {}", left.line, left.why)).collect();
        assert_eq!(
            told,
            [
                "2: `3`: no status of a request",
                "3: `Frob`: no request that is known",
                "4: Unlink: a name in quotes is missing"
            ]
        );
    }

    #[test]
    fn what_cannot_be_a_load_is_refused() {
        let wrong = |text: &str| RequestList::read(text.as_bytes()).unwrap_err();
        assert_eq!(wrong("SMBreadX 1 2\n").line, Some(1));
        assert!(wrong("Close 1 NT_STATUS_OK\nMkdir \"\\..\\x\" NT_STATUS_OK\n").why.contains("leads out"));
        assert!(wrong("ReadX 1 0 2000000000 1 NT_STATUS_OK\n").why.contains("1 GiB"));
        assert!(wrong("ReadX 1 -5 20 1 NT_STATUS_OK\n").why.contains("from 0 on"));
        assert_eq!((wrong("").line, wrong("# nothing\n").line), (None, None));
    }

    #[test]
    fn a_load_that_is_cut_is_read_as_far_as_it_goes() {
        let whole = read(LOAD);
        assert_eq!(whole.left_out, []);
        for end in (0..LOAD.len()).step_by(5) {
            if let Ok(part) = RequestList::read(&LOAD.as_bytes()[..end]) {
                assert!(part.requests.len() <= whole.requests.len(), "{end}");
            }
        }
    }
}
