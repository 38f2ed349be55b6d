//! Small files that a command read where it was typed, carried to the first rank in an environment variable.
//!
//! A job file often lies on the user's own machine only, and so does what was piped in. Large files stay behind: they
//! must lie at the same path on the first host.

/// The variable they are carried in.
pub const VARIABLE: &str = "IODYNO_FILES";

/// A variable longer than this is refused by Linux (`MAX_ARG_STRLEN`), with some room for its name.
const MOST_BYTES: usize = 120 << 10;

/// The path that standard input goes by.
pub const STANDARD_INPUT: &str = "";

/// Files as the variable's value, the first ones that fit; `None`: there are none.
pub fn packed(files: &[(String, Vec<u8>)]) -> Option<String> {
    let mut value = String::new();
    for (path, bytes) in files {
        let room = MOST_BYTES - value.len();
        if 2 * (path.len() + bytes.len()) + 2 <= room {
            value.push_str(&format!("{}:{},", hex(path.as_bytes()), hex(bytes)));
        }
    }
    (!value.is_empty()).then_some(value)
}

/// The files of a variable's value; what is no such value holds none.
pub fn unpacked(value: &str) -> Vec<(String, Vec<u8>)> {
    let file = |text: &str| {
        let (path, bytes) = text.split_once(':')?;
        Some((String::from_utf8(unhex(path)?).ok()?, unhex(bytes)?))
    };
    value.split(',').filter_map(file).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_arrives() {
        let files = vec![("a;b\n.fio".to_string(), vec![0, 10, 255]), (String::new(), b"[job]".to_vec())];
        assert_eq!(unpacked(&packed(&files).unwrap()), files);
        assert_eq!(packed(&[]), None);
        assert_eq!(unpacked("garbage,00:zz"), []);
    }

    #[test]
    fn what_is_too_large_stays_behind() {
        let files = vec![("large".to_string(), vec![1; MOST_BYTES]), ("small".to_string(), vec![2])];
        assert_eq!(unpacked(&packed(&files).unwrap()), files[1..]);
    }
}
