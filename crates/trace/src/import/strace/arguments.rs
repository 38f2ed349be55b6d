//! The arguments of a call as strace prints them, and what came back.

use super::errno;
use super::line::seconds_ns;

/// A call taken apart.
#[derive(Debug, PartialEq)]
pub struct PrintedCall<'a> {
    pub name: &'a str,
    pub arguments: Vec<&'a str>,
    /// What it returned; an error is its negative number. None: `?`.
    pub result: Option<i64>,
    /// The name of the descriptor that it returned (`-y`).
    pub returned: Option<String>,
    pub latency_ns: Option<u64>,
}

/// Results by which the kernel asks for a call to be made again after a signal.
const RESTART: &str = "ERESTART";
const EINTR: i64 = 4;

/// Takes a whole call apart; none: it is not whole, or not understood.
pub fn parse(text: &str) -> Option<PrintedCall<'_>> {
    let (name, rest) = text.split_once('(')?;
    let (arguments, rest) = split(rest);
    let rest = rest?.trim_start().strip_prefix('=')?.trim_start();
    let (value, after) = value_end(rest);
    let latency_ns = after.trim_end().strip_suffix('>').and_then(|after| {
        let (_, seconds) = after.rsplit_once('<')?;
        seconds_ns(seconds)
    });
    let result = match (number(value), after.trim_start()) {
        (Some(-1), reason) => {
            let name = reason.split([' ', '<']).next().unwrap_or_default();
            Some(errno::number(name).map_or(-1, |errno| -errno))
        }
        (None, reason) if value.starts_with('?') && reason.starts_with(RESTART) => Some(-EINTR),
        (value, _) => value,
    };
    Some(PrintedCall { name, arguments, result, returned: annotation(value), latency_ns })
}

/// The first word of what was returned, with the name behind it.
fn value_end(rest: &str) -> (&str, &str) {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' => return rest.split_at(at),
            b'<' => at = name_end(bytes, at),
            _ => at += 1,
        }
    }
    (rest, "")
}

/// The arguments up to the parenthesis that ends them, and what follows; none: they do not end. Names that `-y` puts behind
/// a descriptor, texts and structures stay whole.
pub fn split(text: &str) -> (Vec<&str>, Option<&str>) {
    let bytes = text.as_bytes();
    let (mut arguments, mut begin, mut at, mut depth) = (Vec::new(), 0, 0, 0usize);
    let argument = |begin: usize, end: usize| text[begin..end].trim();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = text_end(bytes, at);
                continue;
            }
            b'<' if at > 0 && (bytes[at - 1].is_ascii_digit() || text[..at].ends_with("AT_FDCWD")) => {
                at = name_end(bytes, at);
                continue;
            }
            b'/' if text[at..].starts_with("/*") => {
                at = text[at..].find("*/").map_or(bytes.len(), |end| at + end + 2);
                continue;
            }
            b')' if depth == 0 => {
                let last = argument(begin, at);
                if !last.is_empty() || !arguments.is_empty() {
                    arguments.push(last);
                }
                return (arguments, Some(&text[at + 1..]));
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                arguments.push(argument(begin, at));
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if begin < text.len() && !argument(begin, text.len()).is_empty() {
        arguments.push(argument(begin, text.len()));
    }
    (arguments, None)
}

/// Behind the quote that ends a text.
fn text_end(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Behind the bracket that ends a name; of devices and sockets it has brackets and arrows itself.
fn name_end(bytes: &[u8], begin: usize) -> usize {
    let (mut at, mut depth) = (begin, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'<' => depth += 1,
            b'>' if bytes[at - 1] == b'-' => {}
            b'>' if depth == 1 => {
                let is_deleted = bytes[at + 1..].starts_with(b"(deleted)");
                return at + 1 + if is_deleted { 9 } else { 0 };
            }
            b'>' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// A number: decimal, octal (`0644`) or hexadecimal.
pub fn number(argument: &str) -> Option<i64> {
    let digits = argument.split(['<', ' ']).next().unwrap_or_default();
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, digits),
    };
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        u64::from_str_radix(hex, 16).ok()? as i64
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8).ok()?
    } else {
        digits.parse::<u64>().ok()? as i64
    };
    Some(value.wrapping_mul(sign))
}

/// The name that `-y` puts behind a descriptor, without the mark of a removed file.
pub fn annotation(argument: &str) -> Option<String> {
    let (_, rest) = argument.split_once('<')?;
    let name = rest.strip_suffix("(deleted)").unwrap_or(rest).strip_suffix('>')?;
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    Some(unescaped(name))
}

/// A text in quotes; none: it is none, or was cut (`...`).
pub fn text(argument: &str) -> Option<String> {
    let inner = argument.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescaped(inner))
}

/// The escapes of C.
fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_string();
    }
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' || at + 1 == bytes.len() {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 1;
        let digits = |from: usize, most: usize, radix: u32| {
            let count =
                bytes[from..].iter().take(most).take_while(|byte| (**byte as char).is_digit(radix)).count();
            let value = text.get(from..from + count).and_then(|text| u32::from_str_radix(text, radix).ok());
            (value.unwrap_or(0) as u8, count)
        };
        let (byte, count) = match bytes[at] {
            b'n' => (b'\n', 1),
            b't' => (b'\t', 1),
            b'r' => (b'\r', 1),
            b'v' => (0x0b, 1),
            b'f' => (0x0c, 1),
            b'x' => {
                let (byte, count) = digits(at + 1, 2, 16);
                (byte, count + 1)
            }
            b'0'..=b'7' => digits(at, 3, 8),
            other => (other, 1),
        };
        out.push(byte);
        at += count;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether flags joined by `|` have this one.
pub fn has_flag(argument: &str, flag: &str) -> bool {
    argument.split('|').any(|word| word.trim() == flag)
}

/// The value of a field of a structure, `st_size=8192`; texts in it are skipped.
pub fn field<'a>(structure: &'a str, name: &str) -> Option<&'a str> {
    fields(structure, name).next()
}

/// All values of fields of that name.
pub fn fields<'a>(structure: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let bytes = structure.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if bytes[at] == b'"' {
                at = text_end(bytes, at);
                continue;
            }
            let is_begin = at == 0 || matches!(bytes[at - 1], b'{' | b' ' | b',');
            let value = structure.get(at..).and_then(|rest| rest.strip_prefix(name)?.strip_prefix('='));
            at += 1;
            if let Some(value) = value.filter(|_| is_begin) {
                let end = value.find([',', '}', ']', ')']).unwrap_or(value.len());
                return Some(value[..end].trim());
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_apart_at_their_commas_only() {
        let line = r#"openat(AT_FDCWD</a, (b)>, "x\", y)\n\303\244", O_RDWR|O_CREAT, 0644) = 3</a, (b)/x>(deleted) <0.000010>"#;
        let call = parse(line).unwrap();
        assert_eq!(call.arguments.len(), 4);
        assert_eq!(annotation(call.arguments[0]).as_deref(), Some("/a, (b)"));
        assert_eq!(text(call.arguments[1]).as_deref(), Some("x\", y)\nä"));
        assert!(has_flag(call.arguments[2], "O_CREAT") && !has_flag(call.arguments[2], "O_CREA"));
        assert_eq!(number(call.arguments[3]), Some(0o644));
        assert_eq!((call.result, call.returned.as_deref()), (Some(3), Some("/a, (b)/x")));
        assert_eq!(call.latency_ns, Some(10_000));
    }

    #[test]
    fn results_are_numbers_errors_and_unknown() {
        let result = |text: &'static str| parse(text).unwrap().result;
        assert_eq!(
            result("access(\"/x\", R_OK) = -1 ENOENT (No such file or directory) <0.000008>"),
            Some(-2)
        );
        assert_eq!(result("mmap(NULL, 1, 2, 3, 4, 0x1000) = 0x7f72cf0f0000"), Some(0x7f72_cf0f_0000));
        assert_eq!(result("exit_group(0) = ?"), None);
        assert_eq!(
            result("read(0, 0x7ffd, 10) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)"),
            Some(-4)
        );
        assert_eq!(result("fcntl(3, F_GETFL) = 0x8000 (flags O_RDONLY|O_LARGEFILE)"), Some(0x8000));
        assert_eq!(parse("vfork() = 7").unwrap().arguments.len(), 0);
        assert_eq!(parse("read(3, \"abc"), None);
    }

    #[test]
    fn names_of_sockets_and_devices_end_where_they_end() {
        let (arguments, _) = split("1</dev/pts/0<char 136:0>>, 4<TCP:[10.0.0.1:1->10.0.0.2:80]>, 5)");
        assert_eq!(arguments.len(), 3);
        assert_eq!(annotation(arguments[0]).as_deref(), Some("/dev/pts/0<char 136:0>"));
        assert_eq!(annotation(arguments[1]).as_deref(), Some("TCP:[10.0.0.1:1->10.0.0.2:80]"));
    }

    #[test]
    fn fields_are_not_found_inside_texts() {
        let vectors = r#"[{iov_base="iov_len=9, ", iov_len=4096}, {iov_base="b"..., iov_len=10}]"#;
        let lengths: Vec<_> = fields(vectors, "iov_len").filter_map(number).collect();
        assert_eq!(lengths, [4096, 10]);
        assert_eq!(field("{st_mode=S_IFREG|0644, st_size=8192, ...}", "st_size"), Some("8192"));
    }
}
