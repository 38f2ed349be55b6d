//! The reference: a small tree of names and inodes, and what each call makes of it, moment by moment.
//!
//! A call is not one moment: every path is looked up name by name, and only its last step, which answers or changes
//! something, is one. So a call is a row of steps, and between any two of them another's may happen. Where several errors
//! are due, any of them will do: POSIX sets no order.

use super::call::{NAMES, NameCall, Verb};

/// A link may lead to a link so often.
const MOST_HOPS: u8 = 40;
const NONE: u8 = u8::MAX;
const ROOT: u8 = 0;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    File,
    Directory,
    Symlink,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileNode {
    kind: NodeKind,
    /// Names it has; of a directory: 1, or 0 once it was removed.
    links: u8,
    /// Of a symlink: the name it says.
    text: u8,
    /// Of a directory: what its names stand for, and where it is.
    entries: [u8; NAMES.len()],
    parent: u8,
}

/// The whole tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelState {
    nodes: Vec<FileNode>,
}

/// What a call came back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelAnswer {
    /// It succeeded.
    Done,
    /// Of stat: what it is, and how many names it has (of directories always 1).
    Found(NodeKind, u8),
    /// It failed with this error number.
    Failed(i32),
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cursor {
    /// It looks for the directory that holds the first path, so many links on.
    First { name: u8, hops: u8 },
    /// It has that directory, or of link the file itself, and looks for the second path's.
    Second { first: u8, name: u8, hops: u8 },
    /// It has the directory, and looks for the file in it (stat, link).
    Take { directory: u8 },
    /// It has all it needs.
    Act { first: u8, second: u8 },
}

/// What a step led to.
pub enum Next {
    Go(Cursor),
    /// It fails, with any of these.
    Fail(Vec<i32>),
    /// It answers; none: the tree stays as it is.
    Answer(ModelAnswer, Option<ModelState>),
}

/// One name as it is found in a tree: its path, what it is, how many names that has, the text of a link, and which of the
/// files in the list it is (the index of its first name).
pub type Seen = (String, NodeKind, u8, String, usize);

impl Default for ModelState {
    fn default() -> Self {
        ModelState { nodes: vec![FileNode { parent: ROOT, ..node(NodeKind::Directory) }] }
    }
}

fn node(kind: NodeKind) -> FileNode {
    FileNode { kind, links: 1, text: 0, entries: [NONE; NAMES.len()], parent: NONE }
}

impl Cursor {
    /// Where a call begins.
    pub fn start(call: &NameCall) -> Cursor {
        match call.path.within {
            Some(name) => Cursor::First { name, hops: 0 },
            None => Cursor::have_first(call, ROOT),
        }
    }

    fn have_first(call: &NameCall, directory: u8) -> Cursor {
        match call.verb {
            Verb::Stat | Verb::Link => Cursor::Take { directory },
            Verb::Rename => Cursor::second(call, directory),
            _ => Cursor::Act { first: directory, second: NONE },
        }
    }

    fn second(call: &NameCall, first: u8) -> Cursor {
        match call.other.within {
            Some(name) => Cursor::Second { first, name, hops: 0 },
            None => Cursor::Act { first, second: ROOT },
        }
    }
}

impl ModelState {
    fn entry(&self, directory: u8, name: u8) -> Option<u8> {
        let found = self.nodes[directory as usize].entries[name as usize];
        (found != NONE).then_some(found)
    }

    pub fn step(&self, call: &NameCall, cursor: Cursor) -> Next {
        match cursor {
            Cursor::First { name, hops } => self.walk(
                name,
                hops,
                |name, hops| Cursor::First { name, hops },
                |directory| Cursor::have_first(call, directory),
            ),
            Cursor::Second { first, name, hops } => self.walk(
                name,
                hops,
                |name, hops| Cursor::Second { first, name, hops },
                |second| Cursor::Act { first, second },
            ),
            Cursor::Take { directory } => match self.entry(directory, call.path.name) {
                None => Next::Fail(vec![libc::ENOENT]),
                Some(found) if call.verb == Verb::Link => Next::Go(Cursor::second(call, found)),
                // The attributes are read a moment later.
                Some(found) => Next::Go(Cursor::Act { first: found, second: NONE }),
            },
            Cursor::Act { first, second } => self.act(call, first, second),
        }
    }

    /// Looks a name of the root up that must lead to a directory.
    fn walk(&self, name: u8, hops: u8, on: impl Fn(u8, u8) -> Cursor, there: impl Fn(u8) -> Cursor) -> Next {
        let Some(found) = self.entry(ROOT, name) else { return Next::Fail(vec![libc::ENOENT]) };
        let node = &self.nodes[found as usize];
        match node.kind {
            NodeKind::Directory => Next::Go(there(found)),
            NodeKind::File => Next::Fail(vec![libc::ENOTDIR]),
            NodeKind::Symlink if hops >= MOST_HOPS => Next::Fail(vec![libc::ELOOP]),
            NodeKind::Symlink => Next::Go(on(node.text, hops + 1)),
        }
    }

    fn act(&self, call: &NameCall, first: u8, second: u8) -> Next {
        let name = call.path.name;
        match call.verb {
            Verb::Create => self.make(first, name, node(NodeKind::File)),
            Verb::Mkdir => self.make(first, name, FileNode { parent: first, ..node(NodeKind::Directory) }),
            Verb::Symlink => {
                self.make(first, name, FileNode { text: call.other.name, ..node(NodeKind::Symlink) })
            }
            Verb::Unlink => self.unlink(first, name),
            Verb::Rmdir => self.rmdir(first, name),
            Verb::Rename => self.rename((first, name), (second, call.other.name)),
            Verb::Link => self.link(first, second, call.other.name),
            Verb::Stat => {
                let node = &self.nodes[first as usize];
                let links = if node.kind == NodeKind::Directory { 1 } else { node.links };
                Next::Answer(ModelAnswer::Found(node.kind, links), None)
            }
        }
    }

    fn is_dead(&self, directory: u8) -> bool {
        self.nodes[directory as usize].links == 0
    }

    fn make(&self, directory: u8, name: u8, node: FileNode) -> Next {
        if self.is_dead(directory) {
            return Next::Fail(vec![libc::ENOENT]);
        }
        if self.entry(directory, name).is_some() {
            return Next::Fail(vec![libc::EEXIST]);
        }
        let mut after = self.clone();
        after.nodes.push(node);
        after.nodes[directory as usize].entries[name as usize] = self.nodes.len() as u8;
        Next::Answer(ModelAnswer::Done, Some(after))
    }

    fn unlink(&self, directory: u8, name: u8) -> Next {
        let Some(found) = self.entry(directory, name) else { return Next::Fail(vec![libc::ENOENT]) };
        if self.nodes[found as usize].kind == NodeKind::Directory {
            return Next::Fail(vec![libc::EISDIR, libc::EPERM]);
        }
        let mut after = self.clone();
        after.nodes[directory as usize].entries[name as usize] = NONE;
        after.nodes[found as usize].links -= 1;
        Next::Answer(ModelAnswer::Done, Some(after))
    }

    fn is_empty(&self, directory: u8) -> bool {
        self.nodes[directory as usize].entries.iter().all(|entry| *entry == NONE)
    }

    fn rmdir(&self, directory: u8, name: u8) -> Next {
        let Some(found) = self.entry(directory, name) else { return Next::Fail(vec![libc::ENOENT]) };
        if self.nodes[found as usize].kind != NodeKind::Directory {
            return Next::Fail(vec![libc::ENOTDIR]);
        }
        if !self.is_empty(found) {
            return Next::Fail(vec![libc::ENOTEMPTY, libc::EEXIST]);
        }
        let mut after = self.clone();
        after.nodes[directory as usize].entries[name as usize] = NONE;
        after.nodes[found as usize].links = 0;
        Next::Answer(ModelAnswer::Done, Some(after))
    }

    fn link(&self, file: u8, directory: u8, name: u8) -> Next {
        let mut wrong = Vec::new();
        let node = &self.nodes[file as usize];
        if self.is_dead(directory) || node.links == 0 {
            wrong.push(libc::ENOENT);
        }
        if self.entry(directory, name).is_some() {
            wrong.push(libc::EEXIST);
        }
        if node.kind == NodeKind::Directory {
            wrong.push(libc::EPERM);
        }
        if !wrong.is_empty() {
            return Next::Fail(wrong);
        }
        let mut after = self.clone();
        after.nodes[file as usize].links += 1;
        after.nodes[directory as usize].entries[name as usize] = file;
        Next::Answer(ModelAnswer::Done, Some(after))
    }

    /// Whether a directory is another, or lies beneath it.
    fn is_within(&self, directory: u8, other: u8) -> bool {
        let mut at = directory;
        while at != other && at != ROOT && at != NONE {
            at = self.nodes[at as usize].parent;
        }
        at == other
    }

    fn rename(&self, from: (u8, u8), to: (u8, u8)) -> Next {
        let (Some(source), target) = (self.entry(from.0, from.1), self.entry(to.0, to.1)) else {
            return Next::Fail(vec![libc::ENOENT]);
        };
        let is_directory = |node: u8| self.nodes[node as usize].kind == NodeKind::Directory;
        let mut wrong = Vec::new();
        if self.is_dead(to.0) {
            wrong.push(libc::ENOENT);
        }
        if is_directory(source) && self.is_within(to.0, source) {
            wrong.push(libc::EINVAL);
        }
        if let Some(target) = target.filter(|target| *target != source) {
            match (is_directory(source), is_directory(target)) {
                (true, false) => wrong.push(libc::ENOTDIR),
                (false, true) => wrong.push(libc::EISDIR),
                _ => {}
            }
            if is_directory(target) && !self.is_empty(target) {
                wrong.extend([libc::ENOTEMPTY, libc::EEXIST]);
            }
        }
        if !wrong.is_empty() {
            return Next::Fail(wrong);
        }
        if target == Some(source) {
            // Two names of one file: both stay.
            return Next::Answer(ModelAnswer::Done, None);
        }
        let mut after = self.clone();
        after.nodes[from.0 as usize].entries[from.1 as usize] = NONE;
        after.nodes[to.0 as usize].entries[to.1 as usize] = source;
        if is_directory(source) {
            after.nodes[source as usize].parent = to.0;
        }
        if let Some(target) = target {
            let node = &mut after.nodes[target as usize];
            node.links = if node.kind == NodeKind::Directory { 0 } else { node.links - 1 };
        }
        Next::Answer(ModelAnswer::Done, Some(after))
    }

    /// All names there are, as somebody who looks would see them.
    pub fn seen(&self) -> Vec<Seen> {
        let (mut seen, mut first) = (Vec::new(), vec![None; self.nodes.len()]);
        self.look(ROOT, "", &mut seen, &mut first);
        seen
    }

    fn look(&self, directory: u8, above: &str, seen: &mut Vec<Seen>, first: &mut [Option<usize>]) {
        for (name, entry) in NAMES.iter().zip(self.nodes[directory as usize].entries) {
            if entry == NONE {
                continue;
            }
            let node = &self.nodes[entry as usize];
            let path = format!("{above}{name}");
            let text = if node.kind == NodeKind::Symlink { NAMES[node.text as usize] } else { "" };
            let which = *first[entry as usize].get_or_insert(seen.len());
            let links = if node.kind == NodeKind::Directory { 1 } else { node.links };
            seen.push((path.clone(), node.kind, links, text.into(), which));
            if node.kind == NodeKind::Directory {
                self.look(entry, &format!("{path}/"), seen, first);
            }
        }
    }

    /// Does a whole call at once: what it came back with.
    pub fn call(&mut self, call: &NameCall) -> Result<ModelAnswer, Vec<i32>> {
        let mut cursor = Cursor::start(call);
        loop {
            match self.step(call, cursor) {
                Next::Go(further) => cursor = further,
                Next::Fail(wrong) => return Err(wrong),
                Next::Answer(answer, after) => {
                    if let Some(after) = after {
                        *self = after;
                    }
                    return Ok(answer);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> Result<Vec<String>, Vec<i32>> {
        let mut state = ModelState::default();
        for line in lines {
            state.call(&NameCall::parse(line).unwrap())?;
        }
        Ok(state
            .seen()
            .into_iter()
            .map(|(path, _, links, text, which)| format!("{path} {links} {text}{which}"))
            .collect())
    }

    #[test]
    fn names_come_and_go() {
        assert_eq!(after(&["mkdir a", "create a/b", "link a/b c"]).unwrap(), ["a 1 0", "a/b 2 1", "c 2 1"]);
        assert_eq!(after(&["create a", "rename a b"]).unwrap(), ["b 1 0"]);
        assert_eq!(after(&["create a", "link a b", "rename a b"]).unwrap(), ["a 2 0", "b 2 0"]);
        assert_eq!(after(&["mkdir a", "mkdir b", "rename b a", "mkdir a/c"]).unwrap(), ["a 1 0", "a/c 1 1"]);
        assert_eq!(after(&["mkdir a", "symlink a b", "create b/c"]).unwrap(), ["a 1 0", "a/c 1 1", "b 1 a2"]);
    }

    #[test]
    fn errors_are_those_of_the_standard() {
        let wrong = |lines: &[&str]| after(lines).unwrap_err();
        assert_eq!(wrong(&["create a", "mkdir a"]), [libc::EEXIST]);
        assert_eq!(wrong(&["create a", "create a/b"]), [libc::ENOTDIR]);
        assert_eq!(wrong(&["mkdir a", "create a/b", "rmdir a"]), [libc::ENOTEMPTY, libc::EEXIST]);
        assert_eq!(wrong(&["mkdir a", "rename a a/b"]), [libc::EINVAL]);
        assert_eq!(wrong(&["mkdir a", "create b", "rename b a"]), [libc::EISDIR]);
        assert_eq!(wrong(&["symlink b a", "symlink a b", "stat a/c"]), [libc::ELOOP]);
        assert_eq!(wrong(&["mkdir a", "link a b"]), [libc::EPERM]);
    }
}
