//! The calls that steps may name, with their arguments, so that a slip is found where it was written.
//!
//! The engine room knows what they do; here are only their names and the shapes of their arguments, as docs/rules.md
//! has them. It refuses nothing that could run: a word that begins with `$` fits everywhere.

use super::near_or;
use super::step::{Problem, problem};

/// Each call with its arguments: `FD` is something opened, brackets may be left out, `…` is one or more of the last.
const CALLS: &str = "\
    open PATH FLAGS [MODE]; openat FD PATH FLAGS [MODE]; create PATH MODE; close FD; link A B; \
    linkat FD A FD B FLAGS; symlink TARGET PATH; symlinkat TARGET FD PATH; readlink PATH [SIZE]; \
    readlinkat FD PATH [SIZE]; unlink PATH; unlinkat FD PATH FLAGS; mkdir PATH MODE; \
    mkdirat FD PATH MODE; rmdir PATH; rename A B; renameat FD A FD B; renameat2 FD A FD B FLAGS; \
    mkfifo PATH MODE; mkfifoat FD PATH MODE; mknod PATH TYPE MODE MAJOR MINOR; \
    mknodat FD PATH TYPE MODE MAJOR MINOR; bind PATH; bindat FD PATH; connect PATH; connectat FD PATH; \
    chmod PATH MODE; fchmod FD MODE; lchmod PATH MODE; fchmodat FD PATH MODE FLAGS; chown PATH UID GID; \
    fchown FD UID GID; lchown PATH UID GID; fchownat FD PATH UID GID FLAGS; stat PATH; lstat PATH; \
    fstat FD; fstatat FD PATH FLAGS; statx FD PATH FLAGS MASK; statvfs PATH; pathconf PATH NAME; \
    fpathconf FD NAME; access PATH MODE; faccessat FD PATH MODE FLAGS; \
    utimensat FD PATH ASEC ANSEC MSEC MNSEC FLAGS; futimens FD ASEC ANSEC MSEC MNSEC; getflags PATH; \
    setflags PATH CHANGE…; setxattr PATH NAME VALUE [FLAGS]; lsetxattr PATH NAME VALUE [FLAGS]; \
    fsetxattr FD NAME VALUE [FLAGS]; getxattr PATH NAME [SIZE]; lgetxattr PATH NAME [SIZE]; \
    fgetxattr FD NAME [SIZE]; listxattr PATH [SIZE]; llistxattr PATH [SIZE]; flistxattr FD [SIZE]; \
    removexattr PATH NAME; lremovexattr PATH NAME; fremovexattr FD NAME; setacl PATH KIND TEXT; \
    getacl PATH KIND; read FD COUNT; pread FD COUNT OFFSET; readv FD SIZE…; \
    preadv2 FD COUNT OFFSET FLAGS; write FD TEXT; pwrite FD TEXT OFFSET; writev FD TEXT…; \
    pwritev2 FD TEXT OFFSET FLAGS; lseek FD OFFSET WHENCE; truncate PATH LENGTH; ftruncate FD LENGTH; \
    fallocate FD MODE OFFSET LENGTH; posix_fallocate FD OFFSET LENGTH; fsync FD; fdatasync FD; \
    syncfs FD; sync_file_range FD OFFSET LENGTH FLAGS; fadvise FD OFFSET LENGTH ADVICE; \
    copy_file_range FD OFFSET FD OFFSET LENGTH FLAGS; sendfile FD FD OFFSET LENGTH; \
    splice FD OFFSET FD OFFSET LENGTH; ficlone FD FD; ficlonerange FD FD FROM LENGTH TO; \
    dedupe FD FD FROM LENGTH TO; dup FD; fill FD OFFSET LENGTH BYTE; sum FD OFFSET LENGTH; \
    zeros FD OFFSET LENGTH; mmap FD OFFSET LENGTH PROT FLAGS; mread MAP OFFSET LENGTH; \
    mwrite MAP OFFSET TEXT; msync MAP FLAGS; munmap MAP; opendir PATH; readdir DIR [COUNT]; telldir DIR; \
    seekdir DIR POSITION; rewinddir DIR; closedir DIR; entries PATH; dirents PATH; chdir PATH; \
    fchdir FD; getcwd; fcntl_lock FD LOCK START LENGTH [WHENCE]; \
    fcntl_lockw FD LOCK START LENGTH [WHENCE]; fcntl_getlk FD LOCK START LENGTH [WHENCE]; \
    ofd_lock FD LOCK START LENGTH [WHENCE]; ofd_lockw FD LOCK START LENGTH [WHENCE]; \
    ofd_getlk FD LOCK START LENGTH [WHENCE]; flock FD LOCK [nb]; lease FD LOCK; getlease FD; inotify; \
    inotify_add_watch FD PATH MASK; inotify_rm_watch FD WATCH; events FD; umask MASK; rlimit NAME VALUE; \
    running PATH; exec PATH; kill ACTOR; blocked ACTOR; await; mount_tmpfs PATH [FLAGS]; \
    mount_bind FROM PATH [FLAGS]; umount PATH; make TYPE PATH [MODE]; remove TYPE PATH; put PATH TEXT; \
    get PATH; install PATH; exhaust PATH; refund PATH; populate PATH COUNT [WHAT]; \
    census PATH [BEGINNING]; sweep PATH [BEGINNING]; descend NAME COUNT; ascend COUNT; \
    writev_many FD COUNT TEXT; readv_many FD COUNT SIZE; tick; loop N CALL…; try CALL…";

/// Every call, and its arguments.
pub fn calls() -> impl Iterator<Item = (&'static str, &'static str)> {
    CALLS.split("; ").map(|call| call.split_once(' ').unwrap_or((call, "")))
}

/// Whether a call changes what is mounted.
pub fn mounts(name: &str) -> bool {
    matches!(name, "mount_tmpfs" | "mount_bind" | "umount")
}

/// Words for descriptors that nothing opened.
const NOT_OPENED: &[&str] = &["AT_FDCWD", "BADFD"];

/// What a call takes, word by word.
struct ArgumentShape {
    kinds: Vec<&'static str>,
    least: usize,
    most: usize,
}

fn shape(arguments: &'static str) -> ArgumentShape {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let least = words.iter().filter(|word| !word.starts_with('[')).count();
    let most = if arguments.ends_with('…') { usize::MAX } else { words.len() };
    ArgumentShape { kinds: words, least, most }
}

/// Looks whether a call can be made as it is written; `opened` are the labels of earlier steps.
///
/// # Errors
/// There is no such call, it takes other arguments, or it works on something that nothing opened.
pub fn check(name: &str, arguments: &[String], opened: &[String]) -> Result<(), Problem> {
    let Some((_, wanted)) = calls().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = calls().map(|(name, _)| name).collect();
        let hint = near_or(name, &names, "docs/rules.md lists all calls");
        return problem(format!("`{name}`: there is no such call"), hint);
    };
    let shape = shape(wanted);
    if arguments.len() < shape.least || arguments.len() > shape.most {
        let message = format!("`{name}` takes other arguments than these {}", arguments.len());
        return problem(message, format!("{name} {wanted}").trim_end());
    }
    match (name, arguments) {
        ("try", [call, rest @ ..]) => return check(call, rest, opened),
        ("loop", [times, call, rest @ ..]) if times.starts_with('$') || times.parse::<u64>().is_ok() => {
            return check(call, rest, opened);
        }
        ("loop", [times, ..]) => {
            return problem(format!("`{times}`: no number of times"), "loop N CALL ARGUMENT…");
        }
        _ => {}
    }
    for (argument, kind) in arguments.iter().zip(&shape.kinds) {
        descriptor(argument, kind, opened)?;
    }
    Ok(())
}

fn descriptor(argument: &str, kind: &str, opened: &[String]) -> Result<(), Problem> {
    let known = || {
        NOT_OPENED.contains(&argument)
            || argument.starts_with('$')
            || argument.parse::<i64>().is_ok()
            || opened.iter().any(|label| label == argument)
    };
    if !matches!(kind, "FD" | "DIR" | "MAP") || known() {
        return Ok(());
    }
    let labels: Vec<&str> = opened.iter().map(String::as_str).chain(NOT_OPENED.iter().copied()).collect();
    let hint = near_or(argument, &labels, &format!("{argument} = open PATH FLAGS, in a step before"));
    Err((format!("`{argument}`: no step before it opened something under that name"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_call() {
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md"));
        for (name, _) in calls() {
            let named = page.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            assert!(named.clone().any(|word| word == name), "{name}");
        }
    }

    #[test]
    fn slips_are_found() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let opened = vec!["h".to_string()];
        assert!(check("pwrite", &words("h x 0"), &opened).is_ok());
        assert!(check("try", &words("close h"), &opened).is_ok());
        assert!(check("pwrite", &words("g x 0"), &opened).unwrap_err().0.contains("`g`"));
        assert!(check("chmdo", &words("f 0644"), &opened).unwrap_err().1.contains("chmod"));
        assert_eq!(check("chmod", &words("f"), &opened).unwrap_err().1, "chmod PATH MODE");
        assert!(check("loop", &words("many close h"), &opened).is_err());
    }
}
