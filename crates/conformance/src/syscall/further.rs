//! What rules on large directories, deep paths and long vectors ask for: the same call many times, in one step.
//!
//! Each could be written out, were a rule of ten thousand lines one that anybody reads. They count and never judge; the first
//! call that fails is the answer.

use std::collections::BTreeSet;
use std::ffi::CString;

use super::Answer;
use super::directories::{next, open};
use super::fd_table::{Hands, HeldDescriptor};
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments, bytes};
use ArgumentKind::{Fd, Number, Path, Text};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb(
        "populate",
        &[Path, Number],
        "PATH COUNT [WHAT]: makes e0, e1, … in a directory: files, `directory`, or links to the file of that path",
        populate,
    )
    .or(&[Path]),
    verb("census", &[Path], "PATH [BEGINNING]: reads a directory once; says how many entries it returned", census)
        .or(&[Text]),
    verb(
        "sweep",
        &[Path],
        "PATH [BEGINNING]: reads a directory once, and removes each entry as it comes",
        sweep,
    )
    .or(&[Text]),
    verb("descend", &[Path, Number], "NAME COUNT: makes a directory and goes into it, so many times", descend),
    verb("ascend", &[Number], "COUNT: goes to the parent, so many times", ascend),
    verb("writev_many", &[Fd, Number, Text], "FD COUNT TEXT: writes so many pieces of the same text at once", |_, given| {
        let mut piece = given.bytes(2).to_vec();
        Ok(vector(given, &mut piece, libc::writev))
    }),
    verb("readv_many", &[Fd, Number, Number], "FD COUNT SIZE: reads so many pieces of that size at once", |_, given| {
        let mut piece = vec![0; given.number(2).clamp(0, 1 << 16) as usize];
        Ok(vector(given, &mut piece, libc::readv))
    }),
];

/// The path of something in the directory that is the first argument.
fn within(given: &CallArguments, name: &str) -> CString {
    let mut path = given.name(0).to_vec();
    path.push(b'/');
    path.extend(bytes(name));
    // Neither holds a NUL byte: the one was an argument, the other is a name.
    CString::new(path).unwrap_or_default()
}

fn populate(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    for number in 0..given.number(1) {
        let path = within(given, &format!("e{number}"));
        let answer = match given.name(2) {
            b"" => super::several::put(path.as_ptr(), &[], 0o644),
            b"directory" => ask!(mkdir(path.as_ptr(), 0o755)),
            _ => ask!(link(given.path(2), path.as_ptr())),
        };
        if answer.errno.is_some() {
            return Ok(answer.with("count", number));
        }
    }
    Ok(Answer::default().with("count", given.number(1)))
}

/// Reads the directory once from its beginning: `.` and `..` are counted, what else begins as it must is handed on.
fn read(given: &CallArguments, mut each: impl FnMut(String) -> Option<Answer>) -> Result<u32, Answer> {
    let (mut hands, mut dots, beginning) = (Hands::default(), 0, given.text(1));
    let held = open(given.path(0))?;
    hands.hold("directory", held);
    let HeldDescriptor::Stream(stream, _) = held else { return Ok(0) };
    while let Some((name, _)) = next(stream as *mut libc::DIR)? {
        if name == "." || name == ".." {
            dots += 1;
        } else if name.starts_with(&beginning)
            && let Some(failed) = each(name)
        {
            return Err(failed);
        }
    }
    Ok(dots)
}

fn census(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let (mut count, mut names) = (0u64, BTreeSet::new());
    let dots = read(given, |name| {
        count += 1;
        names.insert(name);
        None
    });
    Ok(match dots {
        Ok(dots) => Answer::default().with("count", count).with("distinct", names.len()).with("dots", dots),
        Err(failed) => failed,
    })
}

fn sweep(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let mut count = 0u64;
    let swept = read(given, |name| {
        let path = within(given, &name);
        let mut answer = ask!(unlink(path.as_ptr()));
        if matches!(answer.errno, Some(libc::EISDIR | libc::EPERM)) {
            answer = ask!(rmdir(path.as_ptr()));
        }
        match answer.errno {
            None => count += 1,
            // Somebody else was first.
            Some(libc::ENOENT) => (),
            Some(_) => return Some(answer),
        }
        None
    });
    Ok(match swept {
        Ok(_) => Answer::default().with("count", count),
        Err(failed) => failed.with("count", count),
    })
}

fn descend(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    repeated(given.number(1), || {
        let made = ask!(mkdir(given.path(0), 0o755));
        if made.errno.is_some() { made } else { ask!(chdir(given.path(0))) }
    })
}

fn ascend(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    repeated(given.number(0), || ask!(chdir(c"..".as_ptr())))
}

/// Does something so many times, or until it fails.
fn repeated(times: i64, each: impl Fn() -> Answer) -> Result<Answer, String> {
    let failed = (0..times).map(|_| each()).find(|answer| answer.errno.is_some());
    Ok(failed.unwrap_or_default())
}

/// The call on as many pieces as the second argument says, which are all the same memory.
fn vector(
    given: &CallArguments,
    piece: &mut [u8],
    call: unsafe extern "C" fn(libc::c_int, *const libc::iovec, libc::c_int) -> libc::ssize_t,
) -> Answer {
    let one = libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
    let pieces = vec![one; given.number(1).clamp(0, 1 << 16) as usize];
    // SAFETY: there are as many pieces as said, each as long as said, and all outlive the call.
    let count = unsafe { call(given.fd(0), pieces.as_ptr(), pieces.len() as libc::c_int) };
    if count < 0 { Answer::last() } else { Answer::default().with("count", count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(hands: &mut Hands, line: &str) -> Answer {
        let mut words = line.split(' ').map(String::from);
        let name = words.next().unwrap();
        hands.call(&name, &words.collect::<Vec<_>>(), "h").unwrap()
    }

    #[test]
    fn directories_are_filled_counted_and_swept() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().to_str().unwrap();
        let mut hands = Hands::default();
        assert_eq!(ask(&mut hands, &format!("populate {at} 300")).errno, None);
        assert_eq!(ask(&mut hands, &format!("populate {at} 1 directory")).errno, Some(libc::EEXIST));
        let census = ask(&mut hands, &format!("census {at}"));
        assert_eq!((census.field("count"), census.field("distinct")), (Some("300"), Some("300")));
        assert_eq!(ask(&mut hands, &format!("census {at} e29")).field("count"), Some("11"));
        assert_eq!(ask(&mut hands, &format!("sweep {at} e1")).field("count"), Some("111"));
        assert_eq!(ask(&mut hands, &format!("sweep {at}")).field("count"), Some("189"));
        assert_eq!(ask(&mut hands, &format!("census {at}")).field("count"), Some("0"));
        assert_eq!(ask(&mut hands, &format!("census {at}/none")).errno, Some(libc::ENOENT));
    }

    #[test]
    fn vectors_may_be_too_long() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut hands = Hands::default();
        ask(&mut hands, &format!("open {} O_RDWR", file.path().display()));
        assert_eq!(ask(&mut hands, "writev_many h 3 ab").field("count"), Some("6"));
        assert_eq!(ask(&mut hands, "writev_many h 65536 ab").errno, Some(libc::EINVAL));
        assert_eq!(ask(&mut hands, "readv_many h 3 2").field("count"), Some("0"));
    }
}
