//! What is wrong with verified blocks, in fio's lines on standard error.
//!
//! The engine room tells facts; this is their output format. Refuses to add up: that is the tally's.

use iodyno_model::{Mismatch, Wrong};

/// The lines about one interval; `wrote`: the job read back what it wrote, rather than only read.
pub fn lines(mismatch: &Mismatch, wrote: bool) -> String {
    let Mismatch { file, offset, bytes, read_offset, read_bytes, expected, found, check, .. } = mismatch;
    let place = format!("at file {file} offset {offset}, length {bytes}");
    let header = |what: &str, wanted: &str| {
        format!(
            "verify: bad {what} {found}, {wanted} {expected} {place} \
             (requested block: offset={read_offset}, length={read_bytes})\n"
        )
    };
    // What fio knows of the request: that it is in flight for a check.
    let flags = if wrote { "88" } else { "8" };
    let failed = format!(
        "{check}: verify failed {place} \
         (requested block: offset={read_offset}, length={read_bytes}, flags={flags})\n"
    );
    let mut text = match mismatch.what {
        Wrong::Magic => header("magic header", "wanted"),
        Wrong::Version => format!(
            "verify: unsupported header version {found}, wanted {expected}: another fio wrote it; verify with that one \
             {place} (requested block: offset={read_offset}, length={read_bytes})\n"
        ),
        Wrong::Length => header("header length", "wanted"),
        Wrong::Seed => header("header rand_seed", "wanted"),
        Wrong::Offset => header("header offset", "wanted"),
        Wrong::Number => header("header numberio", "wanted"),
        Wrong::Header => header("header crc", "calculated"),
        Wrong::Checksum => {
            format!("{failed}       Expected CRC: {expected}\n       Received CRC: {found}\n")
        }
        Wrong::Pattern { at } => format!("{}{failed}", pattern(expected, found, at)),
        Wrong::NotZero { at } => {
            format!("trim: verify failed {place}: byte {at} is not zero\n")
        }
        Wrong::Content | Wrong::Marks => format!("verify: {found} {place}\n"),
    };
    if let Some((received, wanted)) = &mismatch.dumped {
        text += &format!("       received data dumped as {received}\n");
        text += &format!("       expected data dumped as {wanted}\n");
    }
    text
}

fn pattern(expected: &str, found: &str, at: u64) -> String {
    let byte = |text: &str| u8::from_str_radix(text, 16).unwrap_or(0);
    let bits = (byte(expected) ^ byte(found)).count_ones();
    format!(
        "fio: got pattern '{found}', wanted '{expected}'. Bad bits {bits}\nfio: bad pattern block offset {at}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(what: Wrong, expected: &str, found: &str) -> String {
        let mismatch = Mismatch {
            file: "p.dat".into(),
            offset: 4096,
            bytes: 4096,
            read_offset: 4096,
            read_bytes: 8192,
            what,
            check: "crc32c".into(),
            expected: expected.into(),
            found: found.into(),
            dumped: None,
        };
        lines(&mismatch, false)
    }

    #[test]
    fn every_line_is_fios() {
        assert_eq!(
            of(Wrong::Magic, "acca", "0"),
            "verify: bad magic header 0, wanted acca at file p.dat offset 4096, length 4096 \
             (requested block: offset=4096, length=8192)\n"
        );
        assert_eq!(
            of(Wrong::Version, "81", "82"),
            "verify: unsupported header version 82, wanted 81: another fio wrote it; verify with that one \
             at file p.dat offset 4096, length 4096 (requested block: offset=4096, length=8192)\n"
        );
        assert_eq!(
            of(Wrong::Header, "799fb309", "54d136e4"),
            "verify: bad header crc 54d136e4, calculated 799fb309 at file p.dat offset 4096, length 4096 \
             (requested block: offset=4096, length=8192)\n"
        );
        assert_eq!(
            of(Wrong::Checksum, "f4a2efa3", "dbbb7ae9"),
            "crc32c: verify failed at file p.dat offset 4096, length 4096 \
             (requested block: offset=4096, length=8192, flags=8)\n\
             \x20      Expected CRC: f4a2efa3\n       Received CRC: dbbb7ae9\n"
        );
        assert!(of(Wrong::Pattern { at: 7 }, "61", "ca").starts_with(
            "fio: got pattern 'ca', wanted '61'. Bad bits 5\nfio: bad pattern block offset 7\ncrc32c: verify failed at"
        ));
    }
}
