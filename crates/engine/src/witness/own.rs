//! What this program itself made the storage move, and how long a thread of it waited for a processor. Sources:
//! `/proc/self/io` (kernel documentation `proc`, with task I/O accounting) and `/proc/thread-self/schedstat`.
//!
//! It tells what is ours of what a device did. Where the kernel keeps no such account there is nothing, not zero.

use std::fs;

use iodyno_model::Sighting;

/// Bytes that this process, all its threads and its children that were waited for made the storage read and write so far.
pub fn moved() -> Option<[u64; 2]> {
    parse_moved(&fs::read_to_string("/proc/self/io").ok()?)
}

fn parse_moved(text: &str) -> Option<[u64; 2]> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.strip_prefix(':')?.trim().parse::<u64>().ok()
    };
    // What was truncated before it was written is not taken off: it may have been written all the same.
    Some([field("read_bytes")?, field("write_bytes")?])
}

/// What was moved since; `apart`: by workers that are processes of their own, which this process's account holds only
/// when it has heard of their ends.
pub fn since(before: [u64; 2], apart: [u64; 2]) -> Option<Sighting> {
    let after = moved()?;
    let [read_bytes, write_bytes] =
        std::array::from_fn(|way| after[way].saturating_sub(before[way]).max(apart[way]));
    Some(Sighting::Own { read_bytes, write_bytes })
}

/// How long the calling thread could have run and had no processor, so far, ns.
pub fn waited_ns() -> Option<u64> {
    parse_waited(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

fn parse_waited(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read() {
        let text = "rchar: 6993\nwchar: 17\nsyscr: 12\nsyscw: 1\nread_bytes: 8192\nwrite_bytes: 4096\n\
                    cancelled_write_bytes: 0\n";
        assert_eq!(parse_moved(text), Some([8192, 4096]));
        assert_eq!(parse_moved("rchar: 1\n"), None);
        assert_eq!(parse_waited("122572 4786053 2\n"), Some(4_786_053));
        assert_eq!(parse_waited(""), None);
    }
}
