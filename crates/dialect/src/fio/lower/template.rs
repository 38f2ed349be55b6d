//! Patterns as fio writes them: `0xdeadbeef"text"-12'file'%o`, in any order.

use iodyno_model::Template;

use super::option_reader::OptionReader;
use crate::{Loader, PathFacts, PathKind};

/// What helps where a pattern is wrong.
const HINT: &str = "0xdeadface, \"abcd\", -12, 'file', %o, or several of them one after the other";

/// The most bytes a pattern may have, as in fio 3.42; of a longer file fio 3.33 takes 512 in silence.
const MOST: usize = 128 << 20;

/// The pattern of an option, of which no write is longer than `write_bytes_most`; `None`: it was not said, or was
/// refused. As it begins anew in each write, what is behind the longest one is never used: a note says so.
pub fn of(
    ask: &mut OptionReader<'_>,
    option: &str,
    write_bytes_most: Option<u64>,
    loader: &mut dyn Loader,
) -> Option<Template> {
    let text = ask.text(option)?;
    match parse(text, loader) {
        Ok(mut template) => {
            let bytes = template.bytes.len();
            if let Some(most) = write_bytes_most
                && cut(&mut template, most)
            {
                let message = format!(
                    "{option}: the first {most} of its {bytes} bytes are used: a block is no longer, and the pattern \
                     begins anew in each"
                );
                ask.note(option, message);
            }
            Some(template)
        }
        Err(reason) => {
            ask.refuse_value(option, reason, HINT);
            None
        }
    }
}

/// Whether there was more than the longest write needs. An offset that lies across the end stays whole.
fn cut(template: &mut Template, most: u64) -> bool {
    let Ok(most) = usize::try_from(most) else { return false };
    if template.bytes.len() <= most {
        return false;
    }
    template.offsets.retain(|at| (*at as usize) < most);
    let whole = template.offsets.iter().map(|at| *at as usize + 8).max().unwrap_or(0);
    template.bytes.truncate(most.max(whole));
    true
}

/// The bytes of a pattern.
///
/// # Errors
/// What is wrong with it.
fn parse(text: &str, loader: &mut dyn Loader) -> Result<Template, String> {
    let mut template = Template::default();
    let mut rest = text.trim();
    while !rest.is_empty() {
        rest = part(rest, &mut template, loader)?.trim_start();
    }
    match template.bytes.is_empty() {
        true => Err("it is empty".into()),
        false => Ok(template),
    }
}

/// Reads one part and returns what is behind it.
fn part<'a>(text: &'a str, template: &mut Template, loader: &mut dyn Loader) -> Result<&'a str, String> {
    if let Some(rest) = text.strip_prefix('"') {
        let (string, rest) = rest.split_once('"').ok_or("a string does not end")?;
        push(template, string.as_bytes())?;
        return Ok(rest);
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let (path, rest) = rest.split_once('\'').ok_or("a file name does not end")?;
        push(template, &file(path, loader).map_err(|reason| format!("{path}: {reason}"))?)?;
        return Ok(rest);
    }
    if let Some(rest) = text.strip_prefix("%o") {
        template.offsets.push(template.bytes.len() as u32);
        push(template, &[0; 8])?;
        return Ok(rest);
    }
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits, template),
        None => decimal(text, template),
    }
}

/// A file's bytes. What has no end is not begun.
fn file(path: &str, loader: &mut dyn Loader) -> Result<Vec<u8>, String> {
    match loader.look(path) {
        Some(PathFacts { kind: PathKind::File, bytes, .. }) if bytes > MOST as u64 => Err(too_long()),
        Some(PathFacts { kind: PathKind::File, .. }) | None => loader.read(path),
        Some(_) => Err("it is no regular file".into()),
    }
}

fn too_long() -> String {
    format!("it is longer than {} MiB", MOST >> 20)
}

fn push(template: &mut Template, bytes: &[u8]) -> Result<(), String> {
    if template.bytes.len() + bytes.len() > MOST {
        return Err(too_long());
    }
    template.bytes.extend_from_slice(bytes);
    Ok(())
}

/// Where a number's digits end: before whatever is no digit, and before the `0x` of the next number (`-120xff` is `-12`
/// and `0xff`).
fn digits_end(text: &str, is_digit: fn(&char) -> bool) -> usize {
    let end = text.find(|letter: char| !is_digit(&letter)).unwrap_or(text.len());
    let next_begins = text[..end].ends_with('0') && text[end..].starts_with(['x', 'X']);
    if next_begins { end - 1 } else { end }
}

/// Bytes from left to right; of an odd number of digits the first is a byte of its own.
fn hexadecimal<'a>(text: &'a str, template: &mut Template) -> Result<&'a str, String> {
    let end = digits_end(text, char::is_ascii_hexdigit);
    if end == 0 {
        return Err("no digits behind 0x".into());
    }
    let mut digits = &text[..end];
    if !digits.len().is_multiple_of(2) {
        push(template, &[u8::from_str_radix(&digits[..1], 16).unwrap_or(0)])?;
        digits = &digits[1..];
    }
    for at in (0..digits.len()).step_by(2) {
        push(template, &[u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or(0)])?;
    }
    Ok(&text[end..])
}

/// A number of 32 bits as the little-endian bytes it needs: four of a negative one. More fio 3.33 refuses.
fn decimal<'a>(text: &'a str, template: &mut Template) -> Result<&'a str, String> {
    let sign = usize::from(text.starts_with(['-', '+']));
    let end = sign + digits_end(&text[sign..], char::is_ascii_digit);
    let digits = &text[sign..end];
    if digits.is_empty() {
        return Err(format!("`{text}` is no pattern"));
    }
    let number: i32 = text[..end].parse().map_err(|_| {
        let least = i32::MIN;
        format!(
            "`{}` is no decimal between {least} and {}; longer patterns are hexadecimal",
            &text[..end],
            i32::MAX
        )
    })?;
    let bytes = number.to_le_bytes();
    let length = match number {
        ..0 => 4,
        _ => bytes.iter().rposition(|byte| *byte != 0).map_or(1, |at| at + 1),
    };
    push(template, &bytes[..length])?;
    Ok(&text[end..])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Shelf;
    use super::*;

    #[test]
    fn numbers_follow_each_other_without_a_blank() {
        // The bytes are those that fio 3.33 writes.
        let cases: [(&str, &[u8]); 11] = [
            ("2147483647", &[0xff, 0xff, 0xff, 0x7f]),
            ("-2147483648", &[0, 0, 0, 0x80]),
            ("0x1ffffffff", &[1, 0xff, 0xff, 0xff, 0xff]),
            ("-0", &[0]),
            ("+5007", &[0x8f, 0x13]),
            ("\"abcd\"-120xdeadface", b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce"),
            ("120xff", &[0x0c, 0xff]),
            ("100xab", &[0x0a, 0xab]),
            ("00xff", &[0x00, 0xff]),
            ("0xabc0xde", &[0x0a, 0xbc, 0xde]),
            ("-1-2", &[0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff]),
        ];
        for (text, bytes) in cases {
            let found = parse(text, &mut Shelf::of(&[])).map(|template| template.bytes);
            assert_eq!(found.as_deref(), Ok(bytes), "{text}");
        }
        for wrong in
            ["-0xff", "0x", "0xffx", "12-", "2147483648", "-2147483649", "\"abcd\"4294967296", "1e3", "12k"]
        {
            assert!(parse(wrong, &mut Shelf::of(&[])).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_no_write_reaches_is_cut_and_offsets_stay_whole() {
        let template = || Template { bytes: (0..100).collect(), offsets: vec![4, 28, 60] };
        let mut short = template();
        assert!(!cut(&mut short, 100));
        assert_eq!(short, template());
        assert!(cut(&mut short, 30));
        assert_eq!((short.bytes.len(), short.offsets), (36, vec![4, 28]));
    }
}
