//! Times as C's `strftime` writes them in the C locale: what `--timestamps=FORMAT` asks for.
//!
//! A conversion it does not know stays as it was typed.

use crate::date;

/// The format without `--timestamps=`: as the original's.
pub const DEFAULT: &str = "%c ";

/// A moment in a format.
pub fn strftime(format: &str, unix_ns: u64, east_s: i64) -> String {
    let mut text = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => match letters.next() {
                Some(conversion) => text.push_str(&converted(conversion, unix_ns, east_s)),
                None => text.push('%'),
            },
            other => text.push(other),
        }
    }
    text
}

/// `Sat, 21 Nov 2026 18:58:16 GMT`.
pub fn greenwich(unix_ns: u64) -> String {
    strftime("%a, %d %b %Y %H:%M:%S GMT", unix_ns, 0)
}

fn converted(conversion: char, unix_ns: u64, east_s: i64) -> String {
    let whole = date::ctime(unix_ns, east_s);
    let stamp = date::stamp(unix_ns, east_s);
    let (day, clock) = stamp.split_at(10);
    let clock = clock.trim();
    let hour: u32 = clock[..2].parse().unwrap_or(0);
    let twelve = match hour % 12 {
        0 => 12,
        hour => hour,
    };
    let again = |format: &str| strftime(format, unix_ns, east_s);
    match conversion {
        'a' => whole[..3].into(),
        'b' | 'h' => whole[4..7].into(),
        'c' => whole,
        'd' => day[8..].into(),
        'e' => whole[8..10].into(),
        'D' | 'x' => again("%m/%d/%y"),
        'F' => day.into(),
        'H' => clock[..2].into(),
        'I' => format!("{twelve:02}"),
        'm' => day[5..7].into(),
        'M' => clock[3..5].into(),
        'n' => "\n".into(),
        'p' => if hour < 12 { "AM" } else { "PM" }.into(),
        'R' => clock[..5].into(),
        's' => (unix_ns / 1_000_000_000).to_string(),
        'S' => clock[6..].into(),
        't' => "\t".into(),
        'T' | 'X' => clock.into(),
        'y' => day[2..4].into(),
        'Y' => day[..4].into(),
        'z' => {
            let sign = if east_s < 0 { '-' } else { '+' };
            format!("{sign}{:02}{:02}", east_s.abs() / 3600, east_s.abs() / 60 % 60)
        }
        '%' => "%".into(),
        other => format!("%{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let at = 1_795_306_503_972_000_000;
        assert_eq!(strftime(DEFAULT, at, 0), "Sun Nov 22 00:15:03 2026 ");
        assert_eq!(
            strftime("%F %T.%Q %I%p %s %z%%", at, 3600),
            "2026-11-22 01:15:03.%Q 01AM 1795306503 +0100%"
        );
        assert_eq!(greenwich(at), "Sun, 22 Nov 2026 00:15:03 GMT");
    }
}
