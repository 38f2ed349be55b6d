//! What a command line comes to: sizes, chunks, who does it. Refuses what the original refuses, each by its place.
//!
//! Sizes are the original's: a whole number and a letter that multiplies it, of which each value knows its own.

use std::fmt::Display;

use iodyno_model::{Diagnostic, Origin};

use super::command::LetterValue;
use crate::{Loader, PathKind};

/// Bytes of a chunk, where none are said.
pub const CHUNK: u64 = 8192;
/// Seeks, and processes that seek, where none are said.
pub const SEEKS: u64 = 8192;
pub const SEEKERS: u64 = 5;
/// Files are counted in such units.
pub const FILES: u64 = 1024;

/// MiB of a file where nobody knows the memory.
const MIB: u64 = 300;
/// Memory of a file's name in the original, bytes.
const NAME_BYTES: u64 = 37;
/// Chunks are as large as this at least and at most, bytes.
const CHUNKS: [u64; 2] = [256, 1 << 20];
/// The most directories: their names have five digits.
const DIRECTORIES_MOST: u64 = 99_999;
/// The most runs: each has up to seventeen phases.
const RUNS_MOST: u64 = 1000;

/// What files are in the tests of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Bytes between both ends.
    Sized {
        least: u64,
        most: u64,
    },
    HardLinks,
    SymbolicLinks,
}

/// Everything that the tests depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub directory: String,
    /// The name of the test file, and of the test directory.
    pub name: String,
    pub mib: u64,
    /// MiB that are moved byte by byte.
    pub byte_mib: u64,
    pub chunk: u64,
    pub seeks: u64,
    pub seekers: u32,
    /// Files in units of [`FILES`].
    pub kfiles: u64,
    pub content: FileContent,
    pub directories: u64,
    pub file_chunk: u64,
    pub machine: String,
    pub concurrency: u64,
    /// How often all tests are done, and whether that was said.
    pub runs: u32,
    pub is_counted: bool,
    pub quiet: bool,
    pub sync: bool,
    pub direct: bool,
    /// As reports print it, and the number that draws.
    pub seed_text: String,
    pub seed: u64,
    /// User and group, where the tests are another's than whoever runs this.
    pub identity: Option<UserAndGroup>,
    /// The user and group that the program says at its start.
    pub said: Option<UserAndGroup>,
    /// Options without effect.
    pub notes: Vec<Diagnostic>,
}

/// Makes settings of options.
///
/// # Errors
/// Everything that is wrong.
pub fn judge(given: &[LetterValue], loader: &mut dyn Loader) -> Result<Settings, Vec<Diagnostic>> {
    let mut judge = OptionJudge { given, wrong: Vec::new() };
    let directory = judge.directory(loader);
    let memory = loader.machine().memory_bytes >> 20;
    let ram = judge.number("r").unwrap_or(memory);
    let concurrency = judge.number("c").unwrap_or(1);
    if !(1..=200).contains(&concurrency) {
        judge.refuse("c", "expected 1 to 200 copies", "-c 4");
    }
    let (mib, chunk, seeks, seekers) = judge.file(ram);
    let files = judge.files(ram);
    if mib == 0 && files.kfiles == 0 {
        judge.refuse("s", "neither a test of a file nor one of files is left", "-s 1g, or -n 16");
    }
    if mib > 0 && mib * concurrency < ram * 2 {
        let message = format!(
            "a file of {mib} MiB is less than twice the memory, which is {ram} MiB: it would be \
                               measured in the page cache"
        );
        let hint =
            format!("-s {} and more, or -r {} where so much memory is free", ram * 2, mib * concurrency / 2);
        judge.refuse("s", message, hint);
    }
    let (seed_text, seed) = judge.seed(loader);
    let (identity, said) = judge.identity(loader);
    let (runs, is_counted) = judge.runs();
    let settings = Settings {
        name: format!("Bonnie.{}", loader.pid()),
        byte_mib: judge.byte_mib().min(mib),
        machine: judge.text("m").map_or_else(|| loader.machine().host, Into::into),
        quiet: judge.has("q"),
        sync: judge.has("b"),
        direct: judge.has("D"),
        notes: judge.notes(),
        seekers: seekers as u32,
        kfiles: files.kfiles,
        content: files.content,
        directories: files.directories,
        file_chunk: files.chunk,
        directory,
        mib,
        chunk,
        seeks,
        concurrency,
        runs,
        is_counted,
        seed_text,
        seed,
        identity,
        said,
    };
    if judge.wrong.is_empty() { Ok(settings) } else { Err(judge.wrong) }
}

/// By their numbers.
type UserAndGroup = (u32, u32);

/// The files of the tests of files.
struct TestFiles {
    kfiles: u64,
    content: FileContent,
    directories: u64,
    chunk: u64,
}

struct OptionJudge<'a> {
    given: &'a [LetterValue],
    wrong: Vec<Diagnostic>,
}

impl OptionJudge<'_> {
    fn last(&self, name: &str) -> Option<&LetterValue> {
        self.given.iter().rev().find(|option| option.name == name)
    }

    fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.last(name).map(|option| option.value.as_str())
    }

    fn refuse(&mut self, name: &str, message: impl Display, hint: impl Into<String>) {
        let origin =
            self.last(name).map_or(Origin::argument(&format!("-{name}")), |option| option.origin.clone());
        self.wrong.push(Diagnostic::error(&origin, message.to_string()).hint(hint));
    }

    fn notes(&self) -> Vec<Diagnostic> {
        let without = |option: &&LetterValue| option.name == "l";
        let note = |option: &LetterValue| {
            Diagnostic::note(&option.origin, "`l` has no effect: the original does nothing with it either")
        };
        self.given.iter().filter(without).map(note).collect()
    }

    /// A number without a letter.
    fn number(&mut self, name: &str) -> Option<u64> {
        let text = self.text(name)?.to_string();
        self.size(name, &text, "")
    }

    /// A number, and one of the letters that stand for 1024 and its powers.
    fn size(&mut self, name: &str, text: &str, letters: &str) -> Option<u64> {
        let read = || {
            let (digits, times) = match text.char_indices().next_back() {
                Some((at, letter)) if !letter.is_ascii_digit() => {
                    let power = letters.find(letter.to_ascii_lowercase())? as u32 + 1;
                    (&text[..at], 1024u64.pow(power))
                }
                _ => (text, 1),
            };
            digits.parse::<u64>().ok()?.checked_mul(times).filter(|size| *size < 1 << 42)
        };
        let size = read();
        if size.is_none() {
            let known: Vec<String> = letters.chars().map(|letter| format!("`{letter}`")).collect();
            let letters = if known.is_empty() {
                String::new()
            } else {
                format!(", with {} behind it or not", known.join(", "))
            };
            self.refuse(
                name,
                format!("`{text}`: expected a whole number{letters}"),
                "iodyno bonnie++ -h tells what it is",
            );
        }
        size
    }

    /// Each directory begins at the one before.
    fn directory(&mut self, loader: &dyn Loader) -> String {
        let mut place = String::from(".");
        let all: Vec<String> = self
            .given
            .iter()
            .filter(|option| option.name == "d")
            .map(|option| option.value.clone())
            .collect();
        for next in all {
            place = if next.starts_with('/') || place == "." { next } else { format!("{place}/{next}") };
            let is_there = loader.look(&place).is_some_and(|facts| facts.kind == PathKind::Directory);
            if !is_there {
                self.refuse("d", format!("{place} is no directory"), "make it first: mkdir -p");
            }
        }
        place.trim_end_matches('/').to_string()
            + if place.trim_end_matches('/').is_empty() { "/" } else { "" }
    }

    /// Size, chunk, seeks and processes that seek.
    fn file(&mut self, ram: u64) -> (u64, u64, u64, u64) {
        let Some(text) = self.text("s").map(String::from) else {
            let twice = if ram * 2 > MIB { ram * 2 } else { MIB };
            // The original rounds up from the half on, where it knows the memory.
            let up = if ram > 0 && twice % 1024 > 512 { 1024 - twice % 1024 } else { 0 };
            return (twice + up, CHUNK, SEEKS, SEEKERS);
        };
        let parts: Vec<&str> = text.splitn(4, ':').collect();
        let mut part = |at: usize, letters: &str, default: u64| match parts.get(at) {
            Some(text) => self.size("s", text, letters).unwrap_or(default),
            None => default,
        };
        let (mib, chunk) = (part(0, "gt", 0), part(1, "k", CHUNK));
        let (seeks, seekers) = (part(2, "k", SEEKS), part(3, "", SEEKERS));
        self.chunk("s", chunk);
        if !(1..=1000).contains(&seekers) {
            self.refuse("s", format!("{seekers} processes that seek: expected 1 to 1000"), "-s 1g:8k:8k:5");
        }
        (mib, chunk, seeks, seekers)
    }

    fn chunk(&mut self, name: &str, chunk: u64) {
        if !(CHUNKS[0]..=CHUNKS[1]).contains(&chunk) || !chunk.is_power_of_two() {
            let message = format!("a chunk of {chunk} bytes: expected a power of two from 256 to 1048576");
            self.refuse(name, message, "8192 is usual");
        }
    }

    fn files(&mut self, ram: u64) -> TestFiles {
        let text = self.text("n").unwrap_or("16").to_string();
        let parts: Vec<&str> = text.splitn(5, ':').collect();
        let links = parts.get(1).copied().filter(|most| matches!(*most, "-1" | "-2"));
        let mut part = |at: usize, letters: &str, default: u64| match parts.get(at) {
            Some(text) => self.size("n", text, letters).unwrap_or(default),
            None => default,
        };
        let kfiles = part(0, "m", 16);
        let most = if links.is_some() { 0 } else { part(1, "kmg", 0) };
        let least = part(2, "kmg", 0);
        let (directories, chunk) = (part(3, "k", 1), part(4, "kmg", CHUNK));
        self.chunk("n", chunk);
        let content = match links {
            Some("-1") => FileContent::HardLinks,
            Some(_) => FileContent::SymbolicLinks,
            None => FileContent::Sized { least, most },
        };
        if links.is_none() && most < least {
            self.refuse("n", format!("files of at most {most} and at least {least} bytes"), "-n 16:1024:512");
        }
        if !(1..=DIRECTORIES_MOST).contains(&directories) {
            self.refuse("n", format!("{directories} directories: expected 1 to 99999"), "-n 16:0:0:10");
        }
        if directories > 1 && self.has("b") {
            let message = "-b makes one directory durable after each change, and there are several";
            self.refuse("n", message, "leave -b out, or test one directory");
        }
        if kfiles * NAME_BYTES > 1 << 20 || (ram > 0 && kfiles * NAME_BYTES * 2 > ram << 10) {
            let message =
                format!("the names of {kfiles} x 1024 files leave too little memory for what is measured");
            self.refuse("n", message, "fewer files");
        }
        TestFiles { kfiles, content, directories, chunk }
    }

    fn byte_mib(&mut self) -> u64 {
        match self.text("f").map(String::from) {
            None => 3,
            Some(text) if text.is_empty() => 0,
            Some(text) => self.size("f", &text, "").unwrap_or(0),
        }
    }

    /// How often, and whether that was said; -1 says nothing.
    fn runs(&mut self) -> (u32, bool) {
        match self.text("x") {
            None | Some("-1") => return (1, false),
            _ => {}
        }
        let runs = self.number("x").unwrap_or(1);
        if runs > RUNS_MOST {
            self.refuse("x", format!("{runs} runs: expected at most {RUNS_MOST}"), "-x 10");
        }
        (runs.min(RUNS_MOST) as u32, true)
    }

    /// The seed as reports print it, and the number that draws; whichever option came last.
    fn seed(&mut self, loader: &mut dyn Loader) -> (String, u64) {
        let last = self.given.iter().rev().find(|option| matches!(option.name, "z" | "Z")).cloned();
        match last {
            Some(option) if option.name == "Z" => match loader.read(&option.value) {
                Ok(bytes) => (option.value, bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv)),
                Err(why) => {
                    self.refuse(
                        "Z",
                        format!("{}: {why}", option.value),
                        "generate_randfile makes one; -z takes a number",
                    );
                    (String::new(), 0)
                }
            },
            Some(option) => {
                let seed = option.value.parse::<u32>();
                if seed.is_err() {
                    self.refuse("z", format!("`{}`: expected a whole number", option.value), "-z 42");
                }
                let seed = seed.unwrap_or(0);
                (seed.to_string(), seed.into())
            }
            None => {
                let seed = (loader.now_unix_ns() / 1_000_000_000) as u32 ^ loader.pid();
                (seed.to_string(), seed.into())
            }
        }
    }

    /// Whose processes do the tests, where they are another's, and whom the program says that it is.
    fn identity(&mut self, loader: &mut dyn Loader) -> (Option<UserAndGroup>, Option<UserAndGroup>) {
        let own = own_identity(loader);
        let (user, with) = match self.text("u").map(|text| text.split_once(':').unwrap_or((text, ""))) {
            Some((user, group)) => {
                (Some(user.to_string()), Some(group.to_string()).filter(|group| !group.is_empty()))
            }
            None => (None, None),
        };
        let group = self.text("g").map(String::from);
        if with.is_some() && group.is_some() {
            self.refuse("g", "-u says a group already", "say the group once");
        }
        let group = group.or(with);
        if user.is_none() && group.is_none() {
            if own.is_some_and(|(user, _)| user == 0) {
                self.refuse("u", "root must say as whom the tests are done", "-u root, or better -u nobody");
            }
            return (None, None);
        }
        let accounts = Accounts::read(loader);
        let found = user.as_ref().map(|user| accounts.user(user));
        if let Some(None) = found {
            self.refuse(
                "u",
                format!("there is no user {}", user.unwrap_or_default()),
                "a name of /etc/passwd, or a number",
            );
        }
        let of_group = group.as_ref().map(|group| accounts.group(group));
        if let Some(None) = of_group {
            self.refuse(
                "g",
                format!("there is no group {}", group.unwrap_or_default()),
                "a name of /etc/group, or a number",
            );
        }
        let (own_user, own_group) = own.unwrap_or((0, 0));
        let (user, its_group) = found.flatten().unwrap_or((own_user, own_group));
        let wanted = (user, of_group.flatten().unwrap_or(its_group));
        if own_user != 0 && wanted != (own_user, own_group) {
            let message = format!("user {} cannot become user {} of group {}", own_user, wanted.0, wanted.1);
            self.refuse("u", message, "leave -u and -g out, or run as root");
        }
        ((Some(wanted) != own).then_some(wanted), Some(wanted))
    }
}

/// A step of the hash by which a file of random numbers becomes a seed (FNV-1a).
fn fnv(hash: u64, byte: &u8) -> u64 {
    (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
}

/// The user and group that this program runs as, where the system tells.
fn own_identity(loader: &mut dyn Loader) -> Option<UserAndGroup> {
    let status = loader.read("/proc/self/status").ok()?;
    let status = String::from_utf8_lossy(&status).into_owned();
    let effective = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some((effective("Uid:")?, effective("Gid:")?))
}

/// Users and groups, as `/etc/passwd` and `/etc/group` list them.
struct Accounts {
    users: String,
    groups: String,
}

impl Accounts {
    fn read(loader: &mut dyn Loader) -> Self {
        let mut text =
            |path: &str| String::from_utf8_lossy(&loader.read(path).unwrap_or_default()).into_owned();
        Accounts { users: text("/etc/passwd"), groups: text("/etc/group") }
    }

    /// A user by name or number, with its group; a number that nobody has goes with the group of nobody.
    fn user(&self, user: &str) -> Option<UserAndGroup> {
        let number = user.parse::<u32>().ok();
        let lines = self.users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let found = lines.into_iter().find_map(|line| {
            let [name, _, uid, gid, ..] = line.as_slice() else { return None };
            let (uid, gid) = (uid.parse::<u32>().ok()?, gid.parse().ok()?);
            (number.map_or(*name == user, |number| uid == number)).then_some((uid, gid))
        });
        found.or_else(|| Some((number?, self.group("nogroup").unwrap_or(65534))))
    }

    fn group(&self, group: &str) -> Option<u32> {
        let named = |line: &str| {
            let mut fields = line.split(':');
            (fields.next()? == group).then(|| fields.nth(1)?.parse().ok())?
        };
        group.parse().ok().or_else(|| self.groups.lines().find_map(named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_found_by_name_and_number() {
        let accounts = Accounts {
            users: "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\nbad line\n".into(),
            groups: "root:x:0:\nnogroup:x:65533:\n".into(),
        };
        assert_eq!(accounts.user("root"), Some((0, 0)));
        assert_eq!(
            (accounts.user("nobody"), accounts.user("65534")),
            (Some((65534, 65533)), Some((65534, 65533)))
        );
        assert_eq!((accounts.user("77"), accounts.user("me")), (Some((77, 65533)), None));
        assert_eq!(
            (accounts.group("nogroup"), accounts.group("5"), accounts.group("x")),
            (Some(65533), Some(5), None)
        );
    }
}
