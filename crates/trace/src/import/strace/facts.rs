//! What a line of strace tells besides the call: names of descriptors, sizes, what exists.

use iodyno_model::Verb;

use super::arguments::{PrintedCall, annotation, field, number};
use crate::calls::{DescriptorState, FileCall, FileFacts, FileState, Lookup};
use crate::{FileKind, TraceThread};

const ENOENT: i64 = -2;

/// The facts of one line.
#[derive(Debug, Default)]
pub struct LineFacts {
    descriptors: Vec<(i32, String)>,
    directory: Option<String>,
    returned: Option<String>,
    kind: FileKind,
    found: Option<Lookup>,
    /// `st_size` of what the call asked about.
    pub told_bytes: Option<u64>,
}

impl LineFacts {
    pub fn of(call: &FileCall, printed: &PrintedCall) -> LineFacts {
        let mut facts = LineFacts { returned: printed.returned.clone(), ..LineFacts::default() };
        for argument in &printed.arguments {
            match (argument.starts_with("AT_FDCWD"), annotation(argument)) {
                (true, name) => facts.directory = name.or(facts.directory),
                (false, Some(name)) => {
                    let fd = number(argument).and_then(|number| i32::try_from(number).ok());
                    facts.descriptors.extend(fd.map(|fd| (fd, name)));
                }
                _ => {}
            }
        }
        let structure = printed.arguments.iter().find(|argument| argument.starts_with('{'));
        let value = |name| structure.and_then(|structure| field(structure, name));
        let succeeded = printed.result.is_some_and(|result| result >= 0);
        if let Some(mode) = value("st_mode").or(value("stx_mode")).filter(|_| succeeded) {
            facts.kind = kind_of_mode(mode);
            let size = value("st_size").or(value("stx_size")).and_then(number);
            facts.told_bytes = size.map(|size| size as u64);
        }
        let is_directory = printed.arguments.iter().any(|argument| argument.contains("O_DIRECTORY"));
        if is_directory && matches!(call, FileCall::Open { .. }) {
            facts.kind = FileKind::Directory;
        }
        facts.found = facts.finding(call, printed.result);
        facts
    }

    /// What the result tells about the file before the call.
    fn finding(&self, call: &FileCall, result: Option<i64>) -> Option<Lookup> {
        let state = FileState { kind: self.kind, bytes: self.told_bytes, device: None };
        match (call, result?) {
            (_, ENOENT) => Some(Lookup::Absent),
            (FileCall::Open { options, .. }, fd) if options.creates => {
                (fd >= 0 && (options.exclusive || options.nameless)).then_some(Lookup::Absent)
            }
            (FileCall::Open { .. }, fd) if fd >= 0 => Some(Lookup::Found(state)),
            (FileCall::MakeNode { .. }, 0..) => Some(Lookup::Absent),
            (FileCall::OnAttribute { .. }, 0..) => Some(Lookup::Found(state)),
            (FileCall::OnPath { verb, .. }, result) if result >= 0 => match verb {
                Verb::Mkdir => Some(Lookup::Absent),
                _ => Some(Lookup::Found(state)),
            },
            _ => None,
        }
    }
}

impl FileFacts for LineFacts {
    fn thread(&mut self, thread: u32) -> TraceThread {
        TraceThread { process: thread, thread, name: String::new() }
    }

    fn descriptor(&mut self, _: u32, fd: i32) -> Option<DescriptorState> {
        let (_, name) = self.descriptors.iter().find(|(known, _)| *known == fd)?;
        let kind = kind_of_name(name);
        let state = FileState { kind, bytes: self.told_bytes, device: None };
        Some(DescriptorState { name: plain(name), state, ..DescriptorState::default() })
    }

    fn opened(&mut self, _: u32, _: i32) -> Option<(String, FileKind)> {
        let name = self.returned.clone()?;
        let kind = match kind_of_name(&name) {
            FileKind::File => self.kind,
            kind => kind,
        };
        Some((plain(&name), kind))
    }

    fn lookup(&mut self, _: u32, _: &str, _: bool) -> Lookup {
        self.found.unwrap_or(Lookup::Unknown)
    }

    fn length(&mut self, _: u32, _: i32) -> Option<u64> {
        None
    }

    fn directory(&mut self, _: u32) -> Option<String> {
        self.directory.clone()
    }
}

/// Without what `-yy` adds to the names of devices.
fn plain(name: &str) -> String {
    let is_device = |at: &usize| name[*at..].starts_with("<char ") || name[*at..].starts_with("<block ");
    let end = name.find('<').filter(is_device).unwrap_or(name.len());
    name[..end].to_string()
}

fn kind_of_mode(mode: &str) -> FileKind {
    match mode.split('|').next() {
        Some("S_IFDIR") => FileKind::Directory,
        Some("S_IFLNK") => FileKind::Link,
        Some("S_IFBLK") => FileKind::Device,
        Some("S_IFCHR" | "S_IFIFO" | "S_IFSOCK") => FileKind::Other,
        _ => FileKind::File,
    }
}

/// What `-y` and `-yy` name: paths, or pipes, sockets and the like.
fn kind_of_name(name: &str) -> FileKind {
    const CHARACTER: [&str; 10] =
        ["null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx", "console", "fuse"];
    match name.strip_prefix("/dev/") {
        _ if name.contains("<char ") => FileKind::Other,
        _ if name.contains("<block ") => FileKind::Device,
        Some(device) if CHARACTER.iter().any(|known| device.starts_with(known)) => FileKind::Other,
        Some(device) if device.starts_with("shm/") => FileKind::File,
        Some(_) => FileKind::Device,
        None if name.starts_with('/') && !name.starts_with("/memfd:") => FileKind::File,
        None => FileKind::Other,
    }
}
