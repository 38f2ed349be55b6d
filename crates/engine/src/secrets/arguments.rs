//! This process's own command line and environment, as other processes and core dumps see them.

use std::ops::Range;

/// Where the system put the words of the command line, and behind them the environment: addresses from `/proc/self/stat`
/// (proc(5): fields 48 to 51).
#[cfg(target_os = "linux")]
struct InitialStack {
    arguments: Range<usize>,
    environment: Range<usize>,
}

#[cfg(target_os = "linux")]
impl InitialStack {
    fn find() -> Option<InitialStack> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        InitialStack::parse(&stat)
    }

    fn parse(stat: &str) -> Option<InitialStack> {
        // The program's name, in brackets, may have blanks and brackets of its own.
        let rest = &stat[stat.rfind(')')? + 1..];
        // The first field behind it is the third.
        let mut fields = rest.split_whitespace().skip(48 - 3).map(|field| field.parse::<usize>().ok());
        let mut next = || fields.next().flatten();
        let found = InitialStack { arguments: next()?..next()?, environment: next()?..next()? };
        let is_whole = |range: &Range<usize>| range.start > 0 && range.start <= range.end;
        (is_whole(&found.arguments) && is_whole(&found.environment)).then_some(found)
    }
}

/// Overwrites parts of this process's command line, so that `ps` and core dumps show `*` there. A part ends with its
/// word at the latest. Where the system does not say where the words are, nothing is done.
#[cfg(target_os = "linux")]
pub fn overwrite_arguments(parts: &[(usize, Range<usize>)]) {
    if parts.is_empty() {
        return;
    }
    let Some(stack) = InitialStack::find() else { return };
    let bytes = stack.arguments.end - stack.arguments.start;
    // SAFETY: the kernel put the words there for this process, in pages that it may write to, and they stay until its end.
    // Nobody has a reference to them: the standard library copies words each time it is asked.
    let words = unsafe { std::slice::from_raw_parts_mut(stack.arguments.start as *mut u8, bytes) };
    overwrite(words, parts);
}

#[cfg(not(target_os = "linux"))]
pub fn overwrite_arguments(_parts: &[(usize, Range<usize>)]) {}

#[cfg(target_os = "linux")]
fn overwrite(words: &mut [u8], parts: &[(usize, Range<usize>)]) {
    for (number, word) in words.split_mut(|byte| *byte == 0).enumerate() {
        for (_, range) in parts.iter().filter(|(other, _)| *other == number) {
            let end = range.end.min(word.len());
            if let Some(part) = word.get_mut(range.start..end) {
                part.fill(b'*');
            }
        }
    }
}

/// Variables whose values are secrets.
#[cfg(target_os = "linux")]
const VARIABLES: [&str; 5] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "WARP_SECRET_KEY",
    "WARP_SESSION_TOKEN",
];

/// Keeps the environment out of core dumps where a secret is in it. It stays as it is: programs that are started from here
/// need it.
#[cfg(target_os = "linux")]
pub fn hide_environment() {
    if VARIABLES.iter().all(|name| std::env::var_os(name).is_none_or(|value| value.is_empty())) {
        return;
    }
    let Some(stack) = InitialStack::find() else { return };
    let page = super::pages::page_bytes();
    let first = stack.environment.start / page * page;
    let bytes = stack.environment.end.next_multiple_of(page) - first;
    // SAFETY: the call changes no memory; the pages are those of this process's own environment.
    unsafe { libc::madvise(first as *mut libc::c_void, bytes, libc::MADV_DONTDUMP) };
}

#[cfg(not(target_os = "linux"))]
pub fn hide_environment() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words_are_overwritten_and_others_stay() {
        let mut words = b"fio\0--key=hush\0x\0quiet".to_vec();
        overwrite(&mut words, &[(1, 6..10), (3, 0..usize::MAX), (9, 0..3)]);
        assert_eq!(words, b"fio\0--key=****\0x\0*****");
    }

    #[test]
    fn the_stack_is_found_behind_a_name_with_brackets() {
        let fields: Vec<String> = (3..=52).map(|field| (field * 100).to_string()).collect();
        let found = InitialStack::parse(&format!("7 (a ) b) {}", fields.join(" "))).unwrap();
        assert_eq!((found.arguments, found.environment), (4800..4900, 5000..5100));
        assert!(InitialStack::parse("7 (a) S 1").is_none());
    }
}
