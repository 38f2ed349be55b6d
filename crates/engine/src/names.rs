//! Names of a set's items and of the directories of its tree: computed when they are needed, never stored.
//!
//! Directories are numbered level by level, the root is 0, those in directory k are k × branch + 1 and the following.
//! Ten million items cost no memory, and the name after the last one costs counting up a few digits. It refuses to know
//! the file system: whether something is there is for others to find out.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
#[cfg(target_os = "linux")]
use std::os::fd::RawFd;
use std::sync::Arc;

use drawn::DrawnTree;
use iodyno_model::ItemMarks;

use crate::file_system_client::{FileSystemClient, SharedCreation};

use templates::NumberForm;

pub mod drawn;
mod spelled;
pub mod templates;

/// The longest path that is computed, with its end, bytes (`PATH_MAX`).
const PATH_BYTES: usize = 4096;

/// Stands beside mode bits that an operation says itself.
pub const SAYS_MODE: u32 = 1 << 31;

/// Computes the path of an item below its set's root: `d1/d4/file.17`.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Text before the number.
    pub prefix: String,
    /// Text after it.
    pub suffix: String,
    /// The first item's number.
    pub first: u64,
    /// Numbers go up by so many; 0 and 1: one by one.
    pub times: u64,
    /// Numbers have so many digits at least.
    pub digits: u8,
    /// After so many items numbers begin again; 0: they do not.
    pub wraps: u64,
    /// The first item's name, where it is another; empty: it is not.
    pub first_name: String,
    /// Whether there is one item, whose name has no number.
    pub unnumbered: bool,
    /// How directories below the root are called.
    pub directory: Vec<Piece>,
    /// Directory levels below the root.
    pub depth: u32,
    /// Directories in a directory.
    pub branch: u64,
    /// Whether items lie in the leaves only.
    pub leaves_only: bool,
    /// So many successive items in one directory, then the next; 0: dealt in turn.
    pub per_directory: u64,
    /// Directories that were drawn, in place of those that the four before describe.
    pub tree: Option<Arc<DrawnTree>>,
    /// Names that were recorded or [spelled](spelled), in place of all that is computed.
    pub listed: Option<Arc<[ListedName]>>,
    /// Items in the set.
    pub count: u64,
    /// Bytes of an item when prepared, at most; 0 where nothing bounds them.
    pub item_bytes: u64,
    /// Flags that every open of an item carries besides its verb's.
    pub open_flags: i32,
    /// Mode bits that items are made with; none: 644.
    pub permissions: Option<u32>,
    /// Whether creating what exists opens it.
    pub reuses: bool,
    /// Whether what is written to or read from an item at once locks its bytes.
    pub locks_ranges: bool,
    /// Who is asked for more than POSIX has when an item is made or opened.
    pub client: Option<Arc<FileSystemClient>>,
    /// The file system expects many to make items, until this is dropped.
    pub shared_creation: Option<Arc<SharedCreation>>,
    /// What marks in items say of them, and whose they are; none: who works on them, and the item's number.
    pub marked: Option<(u32, ItemMarks)>,
    /// The root's own name, where the handle's descriptor is that of the directory above: the root is yet to be made.
    pub root: String,
    /// Where the last computed path is. It lies elsewhere, as its 4 KiB would be copied with it.
    pub at: Option<Box<Cursor>>,
}

/// A recorded name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedName {
    /// Below the root.
    pub path: CString,
    /// As it was recorded: what a link to it says.
    pub text: String,
    /// The flags that it is opened with.
    pub flags: i32,
}

/// A part of a directory's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Itself.
    Text(String),
    /// The directory's index in the one above.
    Child(NumberForm),
    /// Its index in the whole tree.
    Item(NumberForm),
}

impl Piece {
    /// The parts of a template: `{child}` and `{item}` between texts, with a [form](NumberForm) in the braces.
    pub fn parse(template: &str) -> Vec<Piece> {
        let (mut pieces, mut rest) = (Vec::new(), template);
        let number = |rest: &str, word: &str, piece: fn(NumberForm) -> Piece| {
            let at = rest.find(word)?;
            let (form, _) = rest[at + word.len()..].split_once('}')?;
            Some((at, word.len() + form.len() + 1, piece(NumberForm::parse(form)?)))
        };
        let first = |rest: &str| {
            let found = [number(rest, "{child", Piece::Child), number(rest, "{item", Piece::Item)];
            found.into_iter().flatten().min_by_key(|(at, ..)| *at)
        };
        while let Some((at, length, piece)) = first(rest) {
            if at > 0 {
                pieces.push(Piece::Text(rest[..at].into()));
            }
            pieces.push(piece);
            rest = &rest[at + length..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.into()));
        }
        pieces
    }
}

impl Names {
    /// Items `prefix0suffix` and the following, all in the root.
    pub fn flat(prefix: &str, suffix: &str, count: u64) -> Self {
        Names { prefix: prefix.into(), suffix: suffix.into(), branch: 1, count, ..Names::default() }
    }

    /// The same in the leaves of a tree whose directories are called `d0`, `d1` ….
    pub fn in_leaves(self, depth: u32, branch: u64) -> Self {
        Names { depth, branch, leaves_only: true, directory: Piece::parse("d{child}"), ..self }
    }

    /// The mode bits of an item that is made: those that its operation [says](SAYS_MODE), else the set's own.
    #[inline(always)]
    pub fn made_with(&self, said: u32) -> u32 {
        if said & SAYS_MODE != 0 { said & 0o7777 } else { self.permissions.unwrap_or(0o644) }
    }

    /// The place that the marks of an item name.
    pub fn marked_place(&self, item: u64) -> u64 {
        let number = item + self.first;
        self.marked.map_or(number, |(_, marks)| number.wrapping_mul(marks.times).wrapping_add(marks.plus))
    }

    /// Directories of the tree, with the root.
    pub fn directories(&self) -> u64 {
        if let Some(tree) = &self.tree {
            return tree.directories();
        }
        match (self.depth, self.branch.max(1)) {
            (depth, 1) => u64::from(depth) + 1,
            (depth, branch) => {
                (0..=depth).fold(0u64, |sum, level| sum.saturating_add(branch.saturating_pow(level)))
            }
        }
    }

    /// Directories of the lowest level.
    fn leaves(&self) -> u64 {
        self.branch.max(1).saturating_pow(self.depth)
    }

    /// The directory that holds an item.
    fn place(&self, item: u64) -> u64 {
        if let Some(tree) = &self.tree {
            return tree.place(item).0;
        }
        if self.depth == 0 {
            return 0;
        }
        let leaves = self.leaves();
        let first_leaf = self.directories() - leaves;
        match (self.per_directory, self.leaves_only) {
            (0, false) => item % self.directories(),
            (0, true) => first_leaf + self.scattered(item % leaves),
            (each, false) => item / each % self.directories(),
            (each, true) => first_leaf + item / each % leaves,
        }
    }

    /// Neighbours are dealt to directories that lie far apart.
    fn scattered(&self, leaf: u64) -> u64 {
        let branch = self.branch.max(1);
        (0..self.depth).fold((0, leaf), |(sum, left), _| (sum * branch + left % branch, left / branch)).0
    }

    fn levels(&self) -> u32 {
        self.tree.as_ref().map_or(self.depth, |tree| tree.depth())
    }

    /// The length of the longest path of all, bytes.
    pub fn longest(&self) -> usize {
        // Deepest, with the highest numbers: only its length counts.
        let text = |piece: &Piece| if let Piece::Text(text) = piece { text.len() } else { 0 };
        let numbers = self.directory.iter().filter(|piece| !matches!(piece, Piece::Text(_))).count();
        let filled =
            |piece: &Piece| if let Piece::Child(form) | Piece::Item(form) = piece { form.digits } else { 0 };
        let filled = self.directory.iter().map(filled).max().unwrap_or(0);
        let digits = self.directories().to_string().len().max(filled.into());
        let directory = self.directory.iter().map(text).sum::<usize>() + numbers * digits + 1;
        let spelled = if self.listed.is_some() { spelled::LONGEST } else { 20 };
        let name = (self.prefix.len() + spelled + self.suffix.len()).max(self.first_name.len());
        self.root.len() + 1 + directory * self.levels() as usize + name
    }

    /// Whether every path fits, and is one.
    pub fn fit(&self) -> bool {
        let text = |piece: &Piece| if let Piece::Text(text) = piece { text.contains('\0') } else { false };
        let all = [&self.prefix, &self.suffix, &self.root, &self.first_name];
        let zero = all.iter().any(|text| text.contains('\0')) || self.directory.iter().any(text);
        !zero && self.longest() < PATH_BYTES
    }

    /// An item's recorded name.
    pub fn listed(&self, item: u64) -> Option<&ListedName> {
        self.listed.as_ref()?.get(item as usize)
    }

    /// Writes the zero-terminated path of an item and returns it.
    pub fn path<'a>(&self, item: u64, buffer: &'a mut PathBuffer) -> &'a CStr {
        self.write(item, buffer);
        buffer.finish()
    }

    /// The same with what was computed last at hand: the next item's name costs counting up.
    #[inline(always)]
    pub fn path_of(&mut self, item: u64) -> &CStr {
        let follows = |at: &Cursor| at.left > 0 && item == at.item.wrapping_add(1);
        if !self.at.as_deref().is_some_and(follows) {
            return self.go_to(item);
        }
        let (number, steps) = (self.number(item), self.times > 1);
        let at = self.at.get_or_insert_default();
        (at.item, at.left) = (item, at.left - 1);
        if steps || !at.buffer.count_up(at.number, at.end) {
            at.rewrite(number, self.digits, &self.suffix);
        }
        at.buffer.text()
    }

    #[inline(never)]
    fn go_to(&mut self, item: u64) -> &CStr {
        if let Some(listed) = &self.listed {
            return listed.get(item as usize).map_or(c"", |name| name.path.as_c_str());
        }
        let (directory, left) = match &self.tree {
            Some(tree) => tree.place(item),
            None => (self.place(item), self.left_behind(item)),
        };
        let mut at = self.at.take().unwrap_or_default();
        if at.directory != Some(directory) {
            at.change(directory, |buffer| {
                self.push_root(buffer);
                self.push_directory(directory, buffer);
                buffer.push(self.prefix.as_bytes());
            });
        }
        let mut left = left;
        if item == 0 && !self.first_name.is_empty() {
            at.buffer.length = at.number - self.prefix.len();
            at.buffer.push(self.first_name.as_bytes());
            at.buffer.finish();
            // No number that could be counted up.
            left = 0;
        } else if self.unnumbered {
            at.buffer.length = at.number;
            at.buffer.finish();
        } else {
            at.rewrite(self.number(item), self.digits, &self.suffix);
        }
        (at.item, at.left) = (item, left);
        self.at.insert(at).buffer.text()
    }

    /// How many items follow in the same directory, where none was drawn.
    fn left_behind(&self, item: u64) -> u64 {
        match (self.depth, self.per_directory) {
            _ if self.wraps > 0 => self.wraps - 1 - item % self.wraps,
            (0, _) => u64::MAX,
            (_, 0) => 0,
            (_, each) => each - 1 - item % each,
        }
    }

    fn write(&self, item: u64, buffer: &mut PathBuffer) {
        buffer.length = 0;
        if self.listed.is_some() {
            return buffer.push(self.listed(item).map_or(b"", |name| name.path.to_bytes()));
        }
        self.push_root(buffer);
        self.push_directory(self.place(item), buffer);
        if item == 0 && !self.first_name.is_empty() {
            return buffer.push(self.first_name.as_bytes());
        }
        buffer.push(self.prefix.as_bytes());
        if !self.unnumbered {
            buffer.number(self.number(item), self.digits);
        }
        buffer.push(self.suffix.as_bytes());
    }

    /// The number in an item's name.
    #[inline(always)]
    fn number(&self, item: u64) -> u64 {
        let item = if self.wraps > 0 { item % self.wraps } else { item };
        item.wrapping_mul(self.times.max(1)).wrapping_add(self.first)
    }

    fn push_root(&self, buffer: &mut PathBuffer) {
        if !self.root.is_empty() {
            buffer.push(self.root.as_bytes());
            buffer.push(b"/");
        }
    }

    /// A directory by its number, with all above it.
    fn push_directory(&self, directory: u64, buffer: &mut PathBuffer) {
        if directory == 0 {
            return;
        }
        let branch = self.branch.max(1);
        let (above, child) = match &self.tree {
            Some(tree) => tree.above(directory),
            None => ((directory - 1) / branch, (directory - 1) % branch),
        };
        self.push_directory(above, buffer);
        for piece in &self.directory {
            match piece {
                Piece::Text(text) => buffer.push(text.as_bytes()),
                Piece::Child(form) => buffer.number(form.of(child), form.digits),
                Piece::Item(form) => buffer.number(form.of(directory), form.digits),
            }
        }
        buffer.push(b"/");
    }

    /// Writes the zero-terminated path of the directory that holds an item.
    pub fn directory_of<'a>(&self, item: u64, buffer: &'a mut PathBuffer) -> &'a CStr {
        if self.listed.is_some() {
            // A recorded list names the directory itself.
            return self.path(item, buffer);
        }
        self.directory(self.place(item), buffer)
    }

    /// Writes the zero-terminated path of a directory of the tree, by its number.
    pub fn directory<'a>(&self, directory: u64, buffer: &'a mut PathBuffer) -> &'a CStr {
        buffer.length = 0;
        self.push_root(buffer);
        self.push_directory(directory, buffer);
        // A path to be made has no slash at its end everywhere.
        match buffer.length {
            0 => buffer.push(b"."),
            length => buffer.length = length - 1,
        }
        buffer.finish()
    }
}

/// The path of an item, and how to come to the next.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    buffer: PathBuffer,
    item: u64,
    directory: Option<u64>,
    /// Items that follow in the same directory.
    left: u64,
    /// Where the number begins and ends in the buffer.
    number: usize,
    end: usize,
    /// Paths of directories that were computed before, each where its number says; none before the second.
    known: Vec<KnownDirectory>,
}

/// Directories whose paths are kept: enough for the trees that scripts jump about in, and no more than 16 KiB.
const KNOWN: usize = 256;
/// The longest path that is kept, bytes.
const KNOWN_BYTES: usize = 55;

/// The path of a directory with its items' prefix, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct KnownDirectory {
    directory: u64,
    length: u8,
    bytes: [u8; KNOWN_BYTES],
}

impl Cursor {
    /// Goes to another directory, whose path is written unless it is known.
    fn change(&mut self, directory: u64, write: impl FnOnce(&mut PathBuffer)) {
        if self.known.is_empty() && self.directory.is_some() {
            let nothing = KnownDirectory { directory: u64::MAX, length: 0, bytes: [0; KNOWN_BYTES] };
            self.known = vec![nothing; KNOWN];
        }
        self.buffer.length = 0;
        let place = directory as usize % KNOWN;
        match self.known.get(place) {
            Some(known) if known.directory == directory => self.buffer.push_known(known),
            _ => {
                write(&mut self.buffer);
                if let Some(known) = self.known.get_mut(place) {
                    known.keep(directory, self.buffer.written());
                }
            }
        }
        (self.number, self.directory) = (self.buffer.length, Some(directory));
    }

    fn rewrite(&mut self, number: u64, least: u8, suffix: &str) {
        self.buffer.length = self.number;
        self.buffer.number(number, least);
        self.end = self.buffer.length;
        self.buffer.push(suffix.as_bytes());
        self.buffer.finish();
    }
}

impl KnownDirectory {
    /// Keeps a path, where it is short enough.
    fn keep(&mut self, directory: u64, path: &[u8]) {
        if let Some(room) = self.bytes.get_mut(..path.len()) {
            room.copy_from_slice(path);
            (self.directory, self.length) = (directory, path.len() as u8);
        }
    }
}

/// Room for one computed path, so that naming an item allocates nothing.
#[derive(Clone)]
pub struct PathBuffer {
    bytes: [MaybeUninit<u8>; PATH_BYTES],
    length: usize,
}

impl Default for PathBuffer {
    #[inline(always)]
    fn default() -> Self {
        PathBuffer { bytes: [const { MaybeUninit::uninit() }; PATH_BYTES], length: 0 }
    }
}

impl std::fmt::Debug for PathBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.written()))
    }
}

impl PathBuffer {
    fn written(&self) -> &[u8] {
        // SAFETY: the first `length` bytes were written, and the slice covers no others.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.length) }
    }

    #[inline(always)]
    fn push(&mut self, text: &[u8]) {
        let end = (self.length + text.len()).min(self.bytes.len() - 1);
        let room = &mut self.bytes[self.length..end];
        room.iter_mut().zip(text).for_each(|(to, from)| {
            to.write(*from);
        });
        self.length = end;
    }

    /// A path that is kept, at the beginning: all its room is copied, which takes no loop.
    #[inline(always)]
    fn push_known(&mut self, known: &KnownDirectory) {
        for (to, from) in self.bytes[..KNOWN_BYTES].iter_mut().zip(known.bytes) {
            to.write(from);
        }
        self.length = usize::from(known.length);
    }

    /// A number with so many digits at least.
    fn number(&mut self, mut number: u64, least: u8) {
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        let filled = digits.len() - usize::from(least).min(digits.len());
        self.push(&digits[start.min(filled)..]);
    }

    /// Counts up the number that lies between two places; `false`: it needs another digit.
    #[inline(always)]
    fn count_up(&mut self, start: usize, end: usize) -> bool {
        for digit in self.bytes[start..end].iter_mut().rev() {
            // SAFETY: a number was written there.
            match unsafe { digit.assume_init_mut() } {
                last @ b'9' => *last = b'0',
                other => {
                    *other += 1;
                    return true;
                }
            }
        }
        false
    }

    /// The same path for calls that know no directory to start from, by way of the process's descriptors (Linux).
    #[cfg(target_os = "linux")]
    pub fn below(&mut self, root: RawFd, path: &CStr) -> &CStr {
        self.length = 0;
        self.push(b"/proc/self/fd/");
        self.number(root.max(0) as u64, 0);
        self.push(b"/");
        self.push(path.to_bytes());
        self.finish()
    }

    #[inline(always)]
    fn finish(&mut self) -> &CStr {
        self.bytes[self.length].write(0);
        self.text()
    }

    /// What was finished before.
    #[inline(always)]
    fn text(&self) -> &CStr {
        // SAFETY: `finish` wrote the zero behind the first `length` bytes, which hold none: `Names::fit` is asked
        // before names are computed, other paths were strings of the system's, and digits are no zeros.
        unsafe {
            let bytes = std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.length + 1);
            CStr::from_bytes_with_nul_unchecked(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &Names, item: u64) -> String {
        let mut buffer = PathBuffer::default();
        names.path(item, &mut buffer).to_str().unwrap().into()
    }

    fn directory(names: &Names, number: u64) -> String {
        let mut buffer = PathBuffer::default();
        names.directory(number, &mut buffer).to_str().unwrap().into()
    }

    #[test]
    fn numbers_are_filled_up_with_zeros() {
        let items = iodyno_model::Items {
            count: 12,
            name: "img_{item:02}_of_12".into(),
            directory: "{child:03}".into(),
            depth: 1,
            branch: 2,
            leaves_only: true,
            ..iodyno_model::Items::default()
        };
        let mut names = templates::names(&items, templates::Asker::first("j", 0));
        let mut text = |item| names.path_of(item).to_str().unwrap().to_string();
        assert_eq!(
            [text(0), text(1), text(11)],
            ["000/img_00_of_12", "001/img_01_of_12", "001/img_11_of_12"]
        );
        let flat = iodyno_model::Items { depth: 0, name: "{item:02}".into(), count: 101, ..items };
        let mut names = templates::names(&flat, templates::Asker::first("j", 0));
        let all: Vec<String> =
            (8..11).chain(99..101).map(|item| names.path_of(item).to_str().unwrap().into()).collect();
        assert_eq!(all, ["08", "09", "10", "99", "100"]);
    }

    #[test]
    fn items_are_dealt_to_the_leaves() {
        let names = Names::flat("f.", ".x", 20).in_leaves(2, 3);
        assert_eq!(named(&names, 0), "d0/d0/f.0.x");
        assert_eq!(named(&names, 1), "d1/d0/f.1.x");
        assert_eq!(named(&names, 17), "d2/d2/f.17.x");
    }

    #[test]
    fn successive_items_fill_one_directory_after_the_other() {
        let tree = Names {
            depth: 2,
            branch: 2,
            per_directory: 3,
            directory: Piece::parse("tree.{item}"),
            ..Names::flat("file.5.", "", 21)
        };
        assert_eq!(tree.directories(), 7);
        assert_eq!(named(&tree, 2), "file.5.2");
        assert_eq!(named(&tree, 3), "tree.1/file.5.3");
        assert_eq!(named(&tree, 8), "tree.2/file.5.8");
        assert_eq!(named(&tree, 20), "tree.2/tree.6/file.5.20");
        assert_eq!(named(&tree, 21), "file.5.21");
        let leaves = Names { leaves_only: true, first: 9, ..tree };
        assert_eq!(named(&leaves, 0), "tree.1/tree.3/file.5.9");
        assert_eq!(named(&leaves, 11), "tree.2/tree.6/file.5.20");
    }

    #[test]
    fn directories_have_their_numbers() {
        let tree =
            Names { depth: 3, branch: 1, directory: Piece::parse("{child}-{item}x"), ..Names::default() };
        let below = Names { root: "top".into(), ..tree.clone() };
        assert_eq!((tree.directories(), directory(&tree, 0)), (4, ".".into()));
        assert_eq!(directory(&tree, 3), "0-1x/0-2x/0-3x");
        assert_eq!((directory(&below, 0), directory(&below, 1)), ("top".into(), "top/0-1x".into()));
    }

    #[test]
    fn numbers_begin_again_in_each_directory_and_directories_count_in_steps() {
        let mut names = Names {
            depth: 1,
            branch: 3,
            leaves_only: true,
            per_directory: 4,
            wraps: 4,
            directory: Piece::parse("d{child*2+1}"),
            ..Names::flat("r7-f", "", 12)
        };
        let wanted = ["d1/r7-f0", "d1/r7-f3", "d3/r7-f0", "d5/r7-f3"];
        assert_eq!([0, 3, 4, 11].map(|item| named(&names, item)), wanted);
        for item in 0..12 {
            let wanted = named(&names, item);
            assert_eq!(names.path_of(item).to_str().unwrap(), wanted);
        }
        assert_eq!(Piece::parse("{child*x}"), vec![Piece::Text("{child*x}".into())]);
    }

    #[test]
    fn counting_up_and_jumping_give_the_same_names() {
        let tree = Names {
            depth: 1,
            branch: 3,
            per_directory: 7,
            first: 95,
            directory: Piece::parse("t{item}"),
            ..Names::flat("n", ".s", 28)
        };
        let spread = Names { per_directory: 0, ..tree.clone() };
        let flat = Names { depth: 0, ..tree.clone() };
        for mut names in [tree, spread, flat] {
            for item in (0..28).chain([3, 4, 5, 27, 0, 1, 1, 2, 20, 21]) {
                let wanted = named(&names, item);
                assert_eq!(names.path_of(item).to_str().unwrap(), wanted);
            }
        }
    }

    #[test]
    fn a_known_directory_is_the_one_that_was_written() {
        // Twice as many directories as are kept, some of them too long to be, in an order that comes back to all.
        let mut names = Names {
            depth: 2,
            branch: 23,
            directory: Piece::parse("a.directory.named.{item}"),
            ..Names::flat("and.its.file.", ".s", 2000)
        };
        assert!(names.directories() > 2 * KNOWN as u64);
        let lengths: Vec<usize> = (0..2000).map(|item| named(&names, item).len()).collect();
        assert!(lengths.iter().any(|length| *length > KNOWN_BYTES + 6) && lengths[0] < KNOWN_BYTES);
        for step in 0..6000 {
            let item = step * 7919 % 2000 / (1 + step % 3);
            let wanted = named(&names, item);
            assert_eq!(names.path_of(item).to_str().unwrap(), wanted);
        }
    }

    #[test]
    fn a_path_beyond_the_systems_is_known_before() {
        let names = |depth| Names {
            depth,
            branch: 1,
            directory: Piece::parse("mdtest_tree.{item}"),
            ..Names::default()
        };
        assert!(names(100).fit() && !names(1000).fit());
    }
}
