//! Whether set-up took: what a call that succeeded was to leave, against what is there.
//!
//! A file system that silently drops a mode bit or an owner breaks rules that need one only in appearance: what they check
//! was never set up. It looks at calls that set modes and owners by name; others have nothing to compare.

use crate::syscall::Answer;
use crate::words::whole;

/// The permission, set-user-ID, set-group-ID and sticky bits.
const ALL: u32 = 0o7777;
/// Without the set-ID bits: a directory hands down its set-group-ID bit, and mkdir ignores those it is given.
const OF_NEW: u32 = 0o1777;
/// Without the set-group-ID bit, which the kernel drops for whoever is not in the file's group.
const OF_OTHERS: u32 = 0o5777;

/// What a call was to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetUpRequest<'a> {
    /// The file, as the call named it.
    pub path: &'a String,
    /// The call that shows it.
    pub look: &'static str,
    /// Bits that are compared, and what they were to be.
    mode: Option<(u32, u32)>,
    uid: Option<u32>,
    gid: Option<u32>,
}

/// What a call was to leave; none: nothing that can be compared. `is_masked`: what is created may come out with less.
pub fn request<'a>(
    name: &str,
    arguments: &'a [String],
    is_masked: bool,
    is_privileged: bool,
) -> Option<SetUpRequest<'a>> {
    let number = |index: usize| whole(arguments.get(index)?).and_then(|number| u32::try_from(number).ok());
    let path = |index: usize| arguments.get(index);
    let look = if name.starts_with('l') || name == "make" { "lstat" } else { "stat" };
    let of_mode = |path: &'a String, mask: u32, mode: u32| SetUpRequest {
        path,
        look,
        mode: Some((mask, mode & mask)),
        uid: None,
        gid: None,
    };
    match name {
        "chmod" | "lchmod" => {
            Some(of_mode(path(0)?, if is_privileged { ALL } else { OF_OTHERS }, number(1)?))
        }
        "mkdir" | "create" | "mkfifo" if !is_masked => Some(of_mode(path(0)?, OF_NEW, number(1)?)),
        "make" if !is_masked && arguments.first().is_some_and(|kind| kind != "symlink") => {
            Some(of_mode(path(1)?, OF_NEW, number(2)?))
        }
        "chown" | "lchown" => {
            Some(SetUpRequest { path: path(0)?, look, mode: None, uid: number(1), gid: number(2) })
        }
        _ => None,
    }
}

impl SetUpRequest<'_> {
    /// What is there instead, and what was due; none: it is as it was to be, or cannot be seen.
    pub fn left_otherwise(&self, answer: &Answer) -> Option<String> {
        if answer.errno.is_some() {
            return None;
        }
        let field =
            |name: &str| answer.field(name).and_then(whole).and_then(|number| u32::try_from(number).ok());
        if let Some((mask, due)) = self.mode
            && let Some(there) = field("mode").filter(|mode| mode & mask != due)
        {
            return Some(format!("mode 0{there:o}"));
        }
        for (name, due) in [("uid", self.uid), ("gid", self.gid)] {
            if let (Some(due), Some(there)) = (due, field(name))
                && due != there
            {
                return Some(format!("{name} {there}"));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(line: &str, fields: &[(&str, &str)], is_masked: bool) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(String::from).collect();
        let answer = fields.iter().fold(Answer::default(), |answer, (name, value)| answer.with(name, value));
        request(&words[0], &words[1..], is_masked, true)?.left_otherwise(&answer)
    }

    #[test]
    fn what_was_dropped_is_named() {
        assert_eq!(left("chmod d 01777", &[("mode", "0777")], false).as_deref(), Some("mode 0777"));
        assert_eq!(left("chmod d 01777", &[("mode", "01777")], false), None);
        assert_eq!(left("mkdir d 0700", &[("mode", "0777")], false).as_deref(), Some("mode 0777"));
        assert_eq!(left("mkdir d 0777", &[("mode", "02777")], false), None, "handed down");
        assert_eq!(left("mkdir d 0777", &[("mode", "0755")], true), None, "a mask took it");
        assert_eq!(left("chown f 65534 -1", &[("uid", "0"), ("gid", "7")], false).as_deref(), Some("uid 0"));
        assert_eq!(left("chown f -1 65533", &[("uid", "0"), ("gid", "65533")], false), None);
        assert_eq!(left("make symlink l 0600", &[("mode", "0777")], false), None);
        assert_eq!(left("rename a b", &[("mode", "0777")], false), None);
    }
}
