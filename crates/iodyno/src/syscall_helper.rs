//! The system-call helper: words to calls, answers to lines.
//!
//! It is started thousands of times by one suite, so that it comes before anything that looks at the machine; and it takes
//! its arguments byte for byte, because they name files. It refuses to be sent to other hosts.

use std::io::Write;
use std::os::unix::ffi::OsStringExt;

use iodyno_conformance::syscall::{self, Answer, Identity};
use iodyno_dialect::Request;
use iodyno_dialect::posix::pjdfstest::{self, HelperCalls};

use crate::session::{print, say};

/// Does what is asked if this program was called as the helper; the exit status.
pub fn by_name() -> Option<u8> {
    let mut words = std::env::args_os().map(|word| syscall::text(&word.into_vec()));
    let is_helper = |name: &String| pjdfstest::NAMES.contains(&name.as_str());
    let name = words.next()?;
    if !is_helper(&name.rsplit('/').next().unwrap_or(&name).to_string()) {
        // `iodyno pjdfstest …`
        words.next().filter(is_helper)?;
    }
    Some(match pjdfstest::request(&words.collect::<Vec<_>>()) {
        Ok(Request::Calls(calls)) => answer(&calls),
        Ok(Request::Print { out, status }) => print(out.as_bytes()).max(status as u8),
        Ok(Request::Refuse { err, status }) => {
            // Nobody may be listening on standard error.
            let _ = std::io::stderr().write_all(err.as_bytes());
            status as u8
        }
        _ => 1,
    })
}

/// Makes the calls and says a line for each; the exit status: 1 after a failure, or where a line cannot be
/// written.
pub fn answer(calls: &HelperCalls) -> u8 {
    let (user, groups) = (calls.user.as_deref(), calls.groups.as_deref());
    let identity = Identity { user, groups, umask: calls.umask.as_deref() };
    let (mut status, mut unwritten) = (0, 0);
    let mut says = calls.calls.iter().map(|call| &call.says);
    let words = calls.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_slice()));
    let done = identity.assume().and_then(|()| {
        syscall::chain(words, |answer| {
            status = u8::from(answer.errno.is_some());
            let line = line(answer, says.next());
            // Whoever no longer listens, or has no room for it, wants the calls all the same.
            if unwritten == 0 {
                unwritten = print(&line);
            }
        })
    });
    // A call that makes no sense ends a chain that came so far.
    let done = done.and_then(|()| calls.wrong.clone().filter(|_| status == 0).map_or(Ok(()), Err));
    match done {
        Ok(()) => status.max(unwritten),
        Err(wrong) => {
            say(format_args!("{}: {wrong}", pjdfstest::NAMES[0]));
            1
        }
    }
}

fn line(answer: &Answer, says: Option<&pjdfstest::Says>) -> Vec<u8> {
    let line = match (answer.errno, says) {
        (Some(errno), _) => syscall::errno_name(errno),
        (None, Some(says)) => says.line(&answer.text, |name| answer.field(name).map(String::from)),
        (None, None) => String::new(),
    };
    let mut line = syscall::bytes(&line);
    line.push(b'\n');
    line
}
