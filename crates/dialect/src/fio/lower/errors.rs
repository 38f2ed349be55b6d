//! Which errors a job survives, and whom it takes along when it ends.

use iodyno_model::{ErrorPolicy, Exit, ExitOn, ExitWhat, Tolerance};

use super::option_reader::OptionReader;

const EIO: i32 = 5;
const EILSEQ: i32 = 84;

/// `continue_on_error` and `ignore_error`.
pub fn policy(ask: &mut OptionReader<'_>) -> ErrorPolicy {
    let usual = || vec![EIO, EILSEQ];
    let none = Vec::new;
    let word = ask.word("continue_on_error").unwrap_or("none");
    let (reads, writes, verifies) = match word {
        "read" => (true, false, false),
        "write" => (false, true, false),
        "io" => (true, true, false),
        "verify" => (false, false, true),
        "all" | "1" => (true, true, true),
        _ => (false, false, false),
    };
    let list = |is: bool| if is { usual() } else { none() };
    let mut tolerance =
        Tolerance { read: list(reads), write: list(writes), trim: list(writes), verify: list(verifies) };
    ignored(ask, &mut tolerance);
    match tolerance == Tolerance::default() {
        true => ErrorPolicy::Stop,
        false => ErrorPolicy::Tolerate(Box::new(tolerance)),
    }
}

/// `ignore_error=READ_LIST,WRITE_LIST,VERIFY_LIST`, each by names or numbers with colons between.
fn ignored(ask: &mut OptionReader<'_>, tolerance: &mut Tolerance) {
    let Some(text) = ask.text("ignore_error") else { return };
    let mut lists = [None, None, None];
    for (list, part) in lists.iter_mut().zip(text.split(',')) {
        let names = part.split(':').map(str::trim).filter(|name| !name.is_empty());
        let numbers: Result<Vec<i32>, &str> = names.map(|name| number(name).ok_or(name)).collect();
        match numbers {
            Ok(numbers) if numbers.is_empty() => {}
            Ok(numbers) => *list = Some(numbers),
            Err(name) => {
                let hint = "names or numbers of errors, e.g. ignore_error=EIO,ENOSPC:122";
                ask.refuse_value("ignore_error", format!("no error is called `{name}`"), hint);
            }
        }
    }
    let [read, write, verify] = lists;
    if let Some(list) = read {
        tolerance.read = list;
    }
    if let Some(list) = write {
        tolerance.trim.clone_from(&list);
        tolerance.write = list;
    }
    if let Some(list) = verify {
        tolerance.verify = list;
    }
}

/// Errors that I/O can end with, as Linux numbers them.
const NAMES: [(&str, i32); 36] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("EWOULDBLOCK", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("ENODEV", 19),
    ("ENOTDIR", 20),
    ("EISDIR", 21),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ETXTBSY", 26),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("ESPIPE", 29),
    ("EROFS", 30),
    ("EPIPE", 32),
    ("ENODATA", 61),
    ("EOVERFLOW", 75),
    ("EILSEQ", 84),
    ("EOPNOTSUPP", 95),
    ("ETIMEDOUT", 110),
    ("ECONNRESET", 104),
    ("ESTALE", 116),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
    ("ENOMEDIUM", 123),
    ("ECANCELED", 125),
];

fn number(name: &str) -> Option<i32> {
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    known.or_else(|| name.parse().ok().filter(|number| (1..4096).contains(number)))
}

/// `exitall`, `exit_what`, `exitall_on_error`.
pub fn exit(ask: &OptionReader<'_>) -> Option<Exit> {
    let what = match ask.word("exit_what") {
        Some("stonewall") => ExitWhat::Phase,
        Some("all") => ExitWhat::Run,
        _ => ExitWhat::Set,
    };
    match (ask.flag("exitall", false), ask.flag("exitall_on_error", false)) {
        (true, _) => Some(Exit { on: ExitOn::End, what }),
        (_, true) => Some(Exit { on: ExitOn::Error, what }),
        _ => None,
    }
}
