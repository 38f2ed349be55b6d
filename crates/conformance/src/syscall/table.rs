//! The table of calls: name, arguments with their kinds, one line of help, and the function.
//!
//! Whoever wants to know what can be asked reads it here. It refuses to hold what needs several processes or a round
//! (`await`, `tick`, …): that is whoever runs the cases.

use super::fd_table::Hands;
use super::words::{ArgumentKind, CallArguments};
use super::{Answer, attributes, data, directories, further, locks, maps, names, processes, several, stat};
#[cfg(target_os = "linux")]
use super::{copies, events, mounts, xattr};

/// What a call does with its arguments.
pub type CallFunction = fn(&mut Hands, &CallArguments) -> Result<Answer, String>;

/// A call.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    pub name: &'static str,
    /// Arguments it must have.
    pub wanted: &'static [ArgumentKind],
    /// Arguments it may have, behind those.
    pub welcome: &'static [ArgumentKind],
    /// What the arguments are called, and what it does, in one line: `PATH MODE: makes a directory`.
    pub help: &'static str,
    /// The function.
    pub run: CallFunction,
}

impl Verb {
    /// How it is written: its name and what its arguments are called.
    pub fn usage(&self) -> String {
        let arguments = self.help.split(':').next().unwrap_or_default();
        format!("{} {arguments}", self.name).trim_end().into()
    }

    /// Its arguments, read. Without hands any label will do.
    ///
    /// # Errors
    /// They make no sense.
    pub(super) fn read(
        &self,
        hands: Option<&Hands>,
        words: &[String],
        label: &str,
    ) -> Result<CallArguments, String> {
        CallArguments::read(hands, self.wanted, self.welcome, words, label)
            .map_err(|wrong| format!("`{}`: {wrong}; it is written `{}`", self.name, self.usage()))
    }
}

/// A call with these arguments.
pub(super) const fn verb(
    name: &'static str,
    wanted: &'static [ArgumentKind],
    help: &'static str,
    run: CallFunction,
) -> Verb {
    Verb { name, wanted, welcome: &[], help, run }
}

impl Verb {
    /// The same, with arguments that may be left out.
    pub(super) const fn or(self, welcome: &'static [ArgumentKind]) -> Verb {
        Verb { welcome, ..self }
    }
}

/// The families, by their files.
const FAMILIES: &[&[Verb]] = &[
    names::VERBS,
    attributes::VERBS,
    stat::VERBS,
    #[cfg(target_os = "linux")]
    xattr::VERBS,
    data::VERBS,
    #[cfg(target_os = "linux")]
    copies::VERBS,
    maps::VERBS,
    directories::VERBS,
    locks::VERBS,
    #[cfg(target_os = "linux")]
    events::VERBS,
    processes::VERBS,
    #[cfg(target_os = "linux")]
    mounts::VERBS,
    several::VERBS,
    further::VERBS,
];

/// Calls that only Linux has; elsewhere they answer that there is no such call.
const LINUX_ONLY: &[&str] = &[
    "renameat2",
    "statx",
    "preadv2",
    "pwritev2",
    "fallocate",
    "syncfs",
    "sync_file_range",
    "copy_file_range",
    "sendfile",
    "splice",
    "ficlone",
    "ficlonerange",
    "dedupe",
    "ofd_lock",
    "ofd_lockw",
    "ofd_getlk",
    "lease",
    "getlease",
    "inotify",
    "inotify_add_watch",
    "inotify_rm_watch",
    "events",
    "mount_tmpfs",
    "mount_bind",
    "umount",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "llistxattr",
    "flistxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "setacl",
    "getacl",
    "getflags",
    "setflags",
    "posix_fallocate",
    "fadvise",
    "fdatasync",
];

/// All calls of this system.
pub fn verbs() -> impl Iterator<Item = &'static Verb> {
    FAMILIES.iter().copied().flatten()
}

/// A call by its name.
pub fn find(name: &str) -> Option<&'static Verb> {
    verbs().find(|verb| verb.name == name)
}

/// Whether it is a call that this system lacks.
pub(super) fn elsewhere(name: &str) -> bool {
    LINUX_ONLY.contains(&name)
}

/// Whether a call could be made, as far as its words tell before it is: what begins with `$`, or is the label of
/// something opened, is taken to be right.
///
/// # Errors
/// There is no such call, or its arguments make no sense.
pub fn check(name: &str, words: &[String]) -> Result<(), String> {
    match find(name) {
        Some(verb) => verb.read(None, words, "").map(drop),
        None if elsewhere(name) => Ok(()),
        None => Err(unknown(name)),
    }
}

/// What to say of a name that is no call.
pub fn unknown(name: &str) -> String {
    let distance = |verb: &&Verb| strsim::damerau_levenshtein(verb.name, name);
    match verbs().min_by_key(distance).filter(|verb| distance(verb) <= 3) {
        Some(near) => format!("`{name}`: there is no such call; did you mean `{}`?", near.name),
        None => format!("`{name}`: there is no such call"),
    }
}
