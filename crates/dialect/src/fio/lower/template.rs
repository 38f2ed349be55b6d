//! Patterns as fio writes them: `0xdeadbeef"text"-12'file'%o`, in any order.

use iodyno_model::Template;

use crate::Loader;

/// What helps where a pattern is wrong.
pub const HINT: &str = "0xdeadface, \"abcd\", -12, 'file', %o, or several of them one after the other";

/// The most bytes a pattern may have, as in fio.
const MOST: usize = 512;

/// The bytes of a pattern.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str, loader: &mut dyn Loader) -> Result<Template, String> {
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
        let bytes = loader.read(path).map_err(|reason| format!("{path}: {reason}"))?;
        let room = MOST - template.bytes.len().min(MOST);
        push(template, &bytes[..bytes.len().min(room)])?;
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

fn push(template: &mut Template, bytes: &[u8]) -> Result<(), String> {
    template.bytes.extend_from_slice(bytes);
    match template.bytes.len() > MOST {
        true => Err(format!("it is longer than {MOST} bytes")),
        false => Ok(()),
    }
}

/// Bytes from left to right; of an odd number of digits the first is a byte of its own.
fn hexadecimal<'a>(text: &'a str, template: &mut Template) -> Result<&'a str, String> {
    let end = text.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(text.len());
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

/// A number as the little-endian bytes it needs.
fn decimal<'a>(text: &'a str, template: &mut Template) -> Result<&'a str, String> {
    let sign = text.len() - text.trim_start_matches(['-', '+']).len();
    let end = text[sign.min(1)..]
        .find(|letter: char| !letter.is_ascii_digit())
        .map_or(text.len(), |at| at + sign.min(1));
    let number: i64 = text[..end].parse().map_err(|_| format!("`{text}` is no pattern"))?;
    let bytes = (number as u64).to_le_bytes();
    let length = match number {
        -2_147_483_648..=-1 => 4,
        number if number < 0 => 8,
        _ => bytes.iter().rposition(|byte| *byte != 0).map_or(1, |at| at + 1),
    };
    push(template, &bytes[..length])?;
    Ok(&text[end..])
}
