//! What the kernel tells of changes: inotify.

use super::Answer;
use super::fd_table::Hands;
use super::flags::INOTIFY;
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments, text};
use ArgumentKind::{Fd, Flags, Number, Path};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("inotify", &[], ": opens a queue of events", |hands, given| {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        Ok(hands.keep(&given.label, fd))
    }),
    verb(
        "inotify_add_watch",
        &[Fd, Path, Flags(INOTIFY)],
        "FD PATH MASK: watches, and says the watch",
        |_, given| {
            // SAFETY: the path outlives the call, or is bad on purpose.
            match unsafe { libc::inotify_add_watch(given.fd(0), given.path(1), given.number(2) as u32) } {
                -1 => Ok(Answer::last()),
                watch => Ok(Answer::said(watch.to_string())),
            }
        },
    ),
    verb("inotify_rm_watch", &[Fd, Number], "FD WATCH: watches no longer", |_, given| {
        Ok(ask!(inotify_rm_watch(given.fd(0), given.int(1))))
    }),
    verb("events", &[Fd], "FD: says the events that are there: `CREATE a MOVED_FROM:1 b`", events),
];

/// The fixed part of an event, bytes: watch, mask, cookie, length of the name.
const HEAD: usize = 16;

fn events(hands: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let fd = given.fd(0);
    let (mut words, mut count, mut room) = (Vec::new(), 0, vec![0u8; 1 << 16]);
    loop {
        // SAFETY: the room is as long as said.
        let read = unsafe { libc::read(fd, room.as_mut_ptr().cast(), room.len()) };
        let Ok(read) = usize::try_from(read) else { break };
        let mut rest = &room[..read];
        while let Some(length) = rest.get(12..HEAD).map(|bytes| word(bytes) as usize) {
            let (event, others) = rest.split_at((HEAD + length).min(rest.len()));
            words.extend(said(hands, fd, event));
            count += 1;
            rest = others;
        }
        if read == 0 {
            break;
        }
    }
    match iodyno_engine::memory::errno() {
        _ if count > 0 => (),
        libc::EAGAIN => (),
        errno => return Ok(Answer::failed(errno)),
    }
    Ok(Answer::said(words.join(" ")).with("count", count))
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes.try_into().unwrap_or_default())
}

/// An event as words: what happened, with the number of its pair, and to which name.
fn said(hands: &mut Hands, fd: libc::c_int, event: &[u8]) -> Vec<String> {
    let (mask, cookie) = (word(&event[4..8]), word(&event[8..12]));
    let mut what = INOTIFY.of(i64::from(mask)).collect::<Vec<_>>().join("|");
    if cookie != 0 {
        let known = hands.cookies.entry(fd).or_default();
        let index = known.iter().position(|seen| *seen == cookie).unwrap_or_else(|| {
            known.push(cookie);
            known.len() - 1
        });
        what.push_str(&format!(":{}", index + 1));
    }
    let name = event[HEAD..].split(|byte| *byte == 0).next().unwrap_or_default();
    let name = (!name.is_empty()).then(|| text(name));
    std::iter::once(what).chain(name).collect()
}
