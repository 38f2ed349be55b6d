//! One process that becomes somebody and makes calls, one after another, until one fails: what suites use as a helper.
//!
//! It changes who this process is, for good: whoever calls it ends afterwards. It refuses to go on after a failure,
//! because later calls build on earlier ones.

use std::ffi::c_int;

use super::words::number;
use super::{Answer, Hands};

/// Who makes the calls. Numbers as they were typed: `0x` and a leading `0` as in C.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity<'a> {
    /// The user; none: whoever runs it.
    pub user: Option<&'a str>,
    /// Groups with commas between, the first of them the effective one; none: those of whoever runs it.
    pub groups: Option<&'a str>,
    /// The file mode creation mask; none: 0.
    pub umask: Option<&'a str>,
}

impl Identity<'_> {
    /// Becomes it: groups, then the user, then the mask.
    ///
    /// # Errors
    /// A number is none, or this process may not become that.
    pub fn assume(&self) -> Result<(), String> {
        let groups =
            self.groups.map(|list| list.split(',').map(id).collect::<Result<Vec<_>, _>>()).transpose()?;
        let user = self.user.map(id).transpose()?;
        let mask = self.umask.map_or(Ok(0), |mask| number(mask).ok_or_else(|| odd(mask)))?;
        if let Some(groups) = groups {
            // SAFETY: so many groups are there.
            may(unsafe { libc::setgroups(groups.len() as _, groups.as_ptr()) }, "set groups")?;
            // SAFETY: takes no pointers.
            may(unsafe { libc::setegid(groups[0]) }, "become a group")?;
        }
        if let Some(user) = user {
            // SAFETY: takes no pointers.
            may(unsafe { libc::setuid(user) }, "become a user")?;
        }
        // SAFETY: takes no pointers.
        unsafe { libc::umask(mask as libc::mode_t) };
        Ok(())
    }
}

fn id(word: &str) -> Result<u32, String> {
    number(word).and_then(|number| u32::try_from(number).ok()).ok_or_else(|| odd(word))
}

fn odd(word: &str) -> String {
    format!("`{word}`: expected a number, as `65534`, `0644` or `0x10`")
}

fn may(result: c_int, what: &str) -> Result<(), String> {
    match result {
        0 => Ok(()),
        _ => Err(format!("may not {what}: {}", super::errno_name(iodyno_engine::memory::errno()))),
    }
}

/// Makes calls until one fails, and tells each answer. What is opened is held under its index among what was opened.
///
/// # Errors
/// A call makes no sense; those before it are done.
pub fn chain<'a>(
    calls: impl IntoIterator<Item = (&'a str, &'a [String])>,
    mut tell: impl FnMut(&Answer),
) -> Result<(), String> {
    let mut hands = Hands::default();
    let mut opened = 0;
    for (name, arguments) in calls {
        let answer = hands.call(name, arguments, &opened.to_string())?;
        tell(&answer);
        if answer.errno.is_some() {
            break;
        }
        opened += usize::from(matches!(name, "open" | "openat"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_ends_where_it_breaks() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
        let calls = [
            ("open", words(&[&path("a"), "O_CREAT,O_RDWR", "0644"])),
            ("open", words(&[&path("b"), "O_CREAT,O_RDWR", "0644"])),
            ("write", words(&["1", "text"])),
            ("rmdir", words(&[&path("a")])),
            ("unlink", words(&[&path("a")])),
        ];
        let mut answers = Vec::new();
        let calls = calls.iter().map(|(name, arguments)| (*name, arguments.as_slice()));
        chain(calls, |answer| answers.push(answer.errno)).unwrap();
        assert_eq!(answers, [None, None, None, Some(libc::ENOTDIR)]);
        assert_eq!(std::fs::read_to_string(path("b")).unwrap(), "text");
        assert!(directory.path().join("a").exists());
        let wrong = words(&["2", "text"]);
        assert!(chain([("write", wrong.as_slice())], |_| ()).is_err());
    }

    #[test]
    fn odd_numbers_are_refused_before_anything_changes() {
        for identity in [
            Identity { user: Some("nobody"), ..Identity::default() },
            Identity { groups: Some("0,"), ..Identity::default() },
            Identity { umask: Some("8x"), ..Identity::default() },
            Identity { user: Some("-2"), ..Identity::default() },
        ] {
            assert!(identity.assume().unwrap_err().contains("expected a number"));
        }
    }
}
