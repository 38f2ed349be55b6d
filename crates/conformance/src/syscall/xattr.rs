//! Extended attributes, access control lists, and the flags of chattr.
//!
//! Values are bytes: what is no text is shown so that the same word writes it again.

use std::ffi::{CString, c_char};

use super::Answer;
use super::fd_table::Hands;
use super::flags::XATTR;
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments, text};
use ArgumentKind::{Fd, Flags, Many, Number, Path, Text, Word};

const WHICH: ArgumentKind = Word(&["access", "default"]);

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb(
        "setxattr",
        &[Path, Path, Text],
        "PATH NAME VALUE [FLAGS]: sets an extended attribute",
        |_, given| {
            let value = given.bytes(2);
            Ok(ask!(setxattr(given.path(0), given.path(1), value.as_ptr().cast(), value.len(), given.int(3))))
        },
    )
    .or(&[Flags(XATTR)]),
    verb(
        "lsetxattr",
        &[Path, Path, Text],
        "PATH NAME VALUE [FLAGS]: sets one of a link itself",
        |_, given| {
            let value = given.bytes(2);
            Ok(ask!(lsetxattr(
                given.path(0),
                given.path(1),
                value.as_ptr().cast(),
                value.len(),
                given.int(3)
            )))
        },
    )
    .or(&[Flags(XATTR)]),
    verb("fsetxattr", &[Fd, Path, Text], "FD NAME VALUE [FLAGS]: sets one of what is open", |_, given| {
        let value = given.bytes(2);
        Ok(ask!(fsetxattr(given.fd(0), given.path(1), value.as_ptr().cast(), value.len(), given.int(3))))
    })
    .or(&[Flags(XATTR)]),
    verb(
        "getxattr",
        &[Path, Path],
        "PATH NAME [SIZE]: says the value of an extended attribute",
        |_, given| {
            // SAFETY: words outlive the call or are bad on purpose; the place is as long as said.
            Ok(value(given, 2, |to, size| unsafe {
                libc::getxattr(given.path(0), given.path(1), to.cast(), size)
            }))
        },
    )
    .or(&[Number]),
    verb("lgetxattr", &[Path, Path], "PATH NAME [SIZE]: says one of a link itself", |_, given| {
        // SAFETY: words outlive the call or are bad on purpose; the place is as long as said.
        Ok(value(given, 2, |to, size| unsafe {
            libc::lgetxattr(given.path(0), given.path(1), to.cast(), size)
        }))
    })
    .or(&[Number]),
    verb("fgetxattr", &[Fd, Path], "FD NAME [SIZE]: says one of what is open", |_, given| {
        // SAFETY: words outlive the call or are bad on purpose; the place is as long as said.
        Ok(value(given, 2, |to, size| unsafe {
            libc::fgetxattr(given.fd(0), given.path(1), to.cast(), size)
        }))
    })
    .or(&[Number]),
    verb("listxattr", &[Path], "PATH [SIZE]: says the names of extended attributes, sorted", |_, given| {
        // SAFETY: words outlive the call or are bad on purpose; the place is as long as said.
        Ok(names(value(given, 1, |to, size| unsafe { libc::listxattr(given.path(0), to, size) })))
    })
    .or(&[Number]),
    verb("llistxattr", &[Path], "PATH [SIZE]: says those of a link itself", |_, given| {
        // SAFETY: words outlive the call or are bad on purpose; the place is as long as said.
        Ok(names(value(given, 1, |to, size| unsafe { libc::llistxattr(given.path(0), to, size) })))
    })
    .or(&[Number]),
    verb("flistxattr", &[Fd], "FD [SIZE]: says those of what is open", |_, given| {
        // SAFETY: the place is as long as said.
        Ok(names(value(given, 1, |to, size| unsafe { libc::flistxattr(given.fd(0), to, size) })))
    })
    .or(&[Number]),
    verb("removexattr", &[Path, Path], "PATH NAME: removes an extended attribute", |_, given| {
        Ok(ask!(removexattr(given.path(0), given.path(1))))
    }),
    verb("lremovexattr", &[Path, Path], "PATH NAME: removes one of a link itself", |_, given| {
        Ok(ask!(lremovexattr(given.path(0), given.path(1))))
    }),
    verb("fremovexattr", &[Fd, Path], "FD NAME: removes one of what is open", |_, given| {
        Ok(ask!(fremovexattr(given.fd(0), given.path(1))))
    }),
    verb("setacl", &[Path, WHICH, Text], "PATH access|default TEXT: sets an access control list", setacl),
    verb("getacl", &[Path, WHICH], "PATH access|default: says an access control list", getacl),
    verb("getflags", &[Path], "PATH: says the letters of lsattr that are set", |_, given| {
        Ok(with_flags(given, |_| None))
    }),
    verb(
        "setflags",
        &[Path, Many(&Text)],
        "PATH +i|-a|=…: changes what the letters of chattr stand for",
        setflags,
    ),
];

/// The largest value and list there are, bytes (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
const LARGEST: usize = 65536;

/// Asks with a place of the size that is said, or of the largest; the bytes that came. A size of 0 asks how many there are.
fn value(given: &CallArguments, size: usize, ask: impl FnOnce(*mut c_char, usize) -> isize) -> Answer {
    let size = if given.has(size) { (given.number(size).max(0) as usize).min(LARGEST) } else { LARGEST };
    let mut room = vec![0u8; size];
    match usize::try_from(ask(room.as_mut_ptr().cast(), size)) {
        Ok(count) => Answer::said(text(&room[..count.min(size)])).with("count", count),
        Err(_) => Answer::last(),
    }
}

/// A list of names, each ended by a 0, as text.
fn names(answer: Answer) -> Answer {
    let mut names: Vec<&str> = answer.text.split('\0').filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    Answer { text: names.join(" "), ..answer }
}

/// Entries of a list: tags as the kernel knows them, with their letters.
const TAGS: [(&str, u16); 4] = [("u", 1), ("g", 4), ("m", 0x10), ("o", 0x20)];
/// An entry without a user or group of its own.
const NOBODY: u32 = u32::MAX;
/// The version of the encoding, `POSIX_ACL_XATTR_VERSION`.
const VERSION: u32 = 2;

fn attribute(given: &CallArguments) -> CString {
    CString::from(if given.bytes(1) == b"default" {
        c"system.posix_acl_default"
    } else {
        c"system.posix_acl_access"
    })
}

fn setacl(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let (name, list) = (attribute(given), given.text(2));
    if list.is_empty() {
        return Ok(ask!(removexattr(given.path(0), name.as_ptr())));
    }
    let mut value = VERSION.to_le_bytes().to_vec();
    for entry in list.split(',') {
        let (tag, permissions, id) = acl_entry(entry)
            .ok_or_else(|| format!("`{entry}`: expected `u::rw-`, `g:65534:r--`, `m::r--` or `o::---`"))?;
        value.extend_from_slice(&tag.to_le_bytes());
        value.extend_from_slice(&permissions.to_le_bytes());
        value.extend_from_slice(&id.to_le_bytes());
    }
    Ok(ask!(setxattr(given.path(0), name.as_ptr(), value.as_ptr().cast(), value.len(), 0)))
}

/// An entry's tag, permissions and id. A named user's tag is the next bit after an owner's, and so with groups.
fn acl_entry(entry: &str) -> Option<(u16, u16, u32)> {
    let mut parts = entry.split(':');
    let (tag, id, letters) = (parts.next()?, parts.next()?, parts.next()?);
    let tag = TAGS.iter().find(|(letter, _)| *letter == tag)?.1;
    let id = if id.is_empty() { None } else { Some(id.parse::<u32>().ok()?) };
    let mut permissions = 0;
    for (letter, (known, bit)) in letters.chars().zip([('r', 4), ('w', 2), ('x', 1)]) {
        match letter {
            '-' => (),
            letter if letter == known => permissions |= bit,
            _ => return None,
        }
    }
    let whole = letters.len() == 3 && parts.next().is_none() && (id.is_none() || tag <= 4);
    let tag = if id.is_some() { tag << 1 } else { tag };
    whole.then_some((tag, permissions, id.unwrap_or(NOBODY)))
}

fn getacl(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let mut room = vec![0u8; LARGEST];
    let name = attribute(given);
    // SAFETY: the path outlives the call or is bad on purpose; the place is as long as said.
    let count = unsafe { libc::getxattr(given.path(0), name.as_ptr(), room.as_mut_ptr().cast(), room.len()) };
    let Ok(count) = usize::try_from(count) else { return Ok(Answer::last()) };
    let entries = room[4.min(count)..count].chunks_exact(8).map(acl_text);
    Ok(Answer::said(entries.collect::<Vec<_>>().join(",")))
}

fn acl_text(entry: &[u8]) -> String {
    let tag = u16::from_le_bytes([entry[0], entry[1]]);
    let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
    let letter = |tag| TAGS.iter().find(|(_, known)| *known == tag).map(|(letter, _)| *letter);
    let (letter, id) = match (letter(tag), letter(tag >> 1)) {
        (Some(letter), _) => (letter, String::new()),
        (None, Some(letter)) => (letter, id.to_string()),
        (None, None) => ("?", id.to_string()),
    };
    let permissions =
        [(4, 'r'), (2, 'w'), (1, 'x')].map(|(bit, c)| if entry[2] & bit != 0 { c } else { '-' });
    format!("{letter}:{id}:{}", permissions.iter().collect::<String>())
}

/// The letters of chattr and their bits (`linux/fs.h`).
const LETTERS: &[(char, libc::c_int)] = &[
    ('s', 0x1),
    ('u', 0x2),
    ('c', 0x4),
    ('S', 0x8),
    ('i', 0x10),
    ('a', 0x20),
    ('d', 0x40),
    ('A', 0x80),
    ('m', 0x400),
    ('E', 0x800),
    ('I', 0x1000),
    ('j', 0x4000),
    ('t', 0x8000),
    ('D', 0x1_0000),
    ('T', 0x2_0000),
    ('e', 0x8_0000),
    ('V', 0x10_0000),
    ('C', 0x80_0000),
    ('x', 0x200_0000),
    ('N', 0x1000_0000),
    ('P', 0x2000_0000),
    ('F', 0x4000_0000),
];

fn setflags(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let changes =
        (1..given.count()).map(|index| change(&given.text(index))).collect::<Result<Vec<_>, _>>()?;
    Ok(with_flags(given, |flags| {
        Some(changes.iter().fold(flags, |flags, (how, bits)| match how {
            '+' => flags | bits,
            '-' => flags & !bits,
            _ => *bits,
        }))
    }))
}

/// What a word does, and with which bits.
fn change(word: &str) -> Result<(char, libc::c_int), String> {
    let wrong = || format!("`{word}`: expected `+`, `-` or `=` and letters of chattr, as `+i`");
    let mut letters = word.chars();
    let how = letters.next().filter(|how| "+-=".contains(*how)).ok_or_else(wrong)?;
    let bit = |letter| LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, bit)| *bit);
    let bits = letters.try_fold(0, |bits, letter| Some(bits | bit(letter)?)).ok_or_else(wrong)?;
    Ok((how, bits))
}

/// Asks for a file's flags, and sets those that the change wants; says their letters.
fn with_flags(given: &CallArguments, change: impl FnOnce(libc::c_int) -> Option<libc::c_int>) -> Answer {
    // Opening something else might do something, and its driver would take the call for its own.
    let answer = super::stat::stat(libc::AT_FDCWD, given, 0, libc::AT_SYMLINK_NOFOLLOW);
    match answer.field("type") {
        None => return answer,
        Some("regular" | "directory") => (),
        Some(_) => return Answer::failed(libc::EOPNOTSUPP),
    }
    let how = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call, or is bad on purpose.
    let fd = unsafe { libc::open(given.path(0), how) };
    if fd < 0 {
        return Answer::last();
    }
    let mut hands = Hands::default();
    hands.keep("flags", fd);
    let mut flags: libc::c_int = 0;
    let answer = ask!(ioctl(fd, libc::FS_IOC_GETFLAGS as _, std::ptr::from_mut(&mut flags)));
    match change(flags) {
        _ if answer.errno.is_some() => answer,
        Some(wanted) => ask!(ioctl(fd, libc::FS_IOC_SETFLAGS as _, std::ptr::from_ref(&wanted))),
        None => lettered(flags),
    }
}

fn lettered(flags: libc::c_int) -> Answer {
    let set = |bit: libc::c_int| flags & bit != 0;
    let letters: String = LETTERS.iter().filter(|(_, bit)| set(*bit)).map(|(letter, _)| *letter).collect();
    LETTERS.iter().fold(Answer::said(letters), |answer, (letter, bit)| {
        answer.with(&letter.to_string(), u8::from(set(*bit)))
    })
}
