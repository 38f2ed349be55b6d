//! Normal text and terse lines with what changes from run to run masked, so that what is left must be equal.
//!
//! Masked are numbers with their scale (`10.7k`, `1333MiB/s`, `24msec`), the date, and which unit a latency is told
//! in. Kept are words, punctuation, the count of decimals, and the order of lines. What fio prints in a fixed width is
//! checked apart ([`ill_formed`]), because a masked number has none.
//!
//! Two things are conditional in fio itself and are compared only where both have them: the `bw (` and `iops` lines,
//! which need half a second of samples, and the buckets of `lat (usec)`, which follow the values.

/// One line a fact: what is left of normal text.
pub fn normal(lines: &[String]) -> Vec<String> {
    let mut masked: Vec<String> = Vec::new();
    for line in lines {
        let fact = if is_percentiles(line) {
            percentile_labels(line)
        } else if is_buckets(line) {
            "  lat buckets".to_string()
        } else if is_samples(line) {
            continue;
        } else if is_fixed(line) {
            line.clone()
        } else {
            self::line(line)
        };
        match masked.last_mut() {
            Some(last) if is_percentiles(line) && last.starts_with("percentiles") => {
                last.push_str(&fact["percentiles".len()..]);
            }
            Some(last) if fact == "  lat buckets" && *last == fact => {}
            _ => masked.push(fact),
        }
    }
    masked
}

/// What is said before anything has run is the same in every run.
fn is_fixed(line: &str) -> bool {
    line.contains(": (g=") || line.starts_with("Starting ") || line.contains(": Laying out IO file")
}

fn is_percentiles(line: &str) -> bool {
    line.starts_with("     | ")
}

fn is_buckets(line: &str) -> bool {
    ["  lat (nsec)", "  lat (usec)", "  lat (msec)"].iter().any(|head| line.starts_with(head))
}

fn is_samples(line: &str) -> bool {
    line.starts_with("   bw (") || line.starts_with("   iops        :")
}

/// `1.00th 5.00th …`, without the values.
fn percentile_labels(line: &str) -> String {
    let labels = line.trim_start_matches([' ', '|']).split("],");
    let label = |part: &str| part.split('=').next().unwrap_or_default().trim().to_string();
    let labels: Vec<String> = labels.map(label).filter(|label| !label.is_empty()).collect();
    format!("percentiles {}", labels.join(" "))
}

/// One line with its numbers masked.
pub fn line(text: &str) -> String {
    let text = text.split_once(": pid=").map_or(text.to_string(), |(head, _)| format!("{head}: pid=# date"));
    let text = text.replace("(nsec)", "(time)").replace("(usec)", "(time)").replace("(msec)", "(time)");
    let text = ["  KiB/s", "  MiB/s", "  GiB/s"].iter().fold(text, |text, unit| text.replace(unit, "  B/s"));
    let bytes = text.as_bytes();
    let mut masked = String::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            let end = (at + 1..=bytes.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(bytes.len());
            masked.push_str(&text[at..end]);
            at = end;
            continue;
        }
        let number = number_at(&text[at..]);
        while masked.ends_with(' ') && padded(&masked) {
            masked.pop();
        }
        masked.push_str(&number.mask);
        at += number.length;
    }
    masked
}

/// Whether the blanks at the end are the padding of a value: `avg= 7.50`, `[    8]`.
fn padded(masked: &str) -> bool {
    masked.trim_end_matches(' ').ends_with(['=', '[', '/'])
}

struct Number {
    length: usize,
    mask: String,
}

/// The number at the head of `text`, with its scale and unit.
fn number_at(text: &str) -> Number {
    let digits = text.bytes().take_while(|b| b.is_ascii_digit()).count();
    let fraction = text[digits..].strip_prefix('.').map_or(0, |rest| {
        let decimals = rest.bytes().take_while(u8::is_ascii_digit).count();
        if decimals == 0 { 0 } else { decimals + 1 }
    });
    let length = digits + fraction;
    let rest = &text[length..];
    let unit = UNITS.iter().find(|(unit, _)| rest.starts_with(unit) && !continues(&rest[unit.len()..]));
    match unit {
        Some((unit, mask)) => Number { length: length + unit.len(), mask: format!("#{mask}") },
        None if fraction == 0 => Number { length, mask: "#".into() },
        None => Number { length, mask: format!("#.{}", "#".repeat(fraction - 1)) },
    }
}

fn continues(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_alphanumeric())
}

const UNITS: &[(&str, &str)] = &[
    ("KiB", "B"),
    ("MiB", "B"),
    ("GiB", "B"),
    ("TiB", "B"),
    ("kB", "B"),
    ("MB", "B"),
    ("GB", "B"),
    ("TB", "B"),
    ("Kib", "b"),
    ("Mib", "b"),
    ("Gib", "b"),
    ("kb", "b"),
    ("Mb", "b"),
    ("Gb", "b"),
    ("B", "B"),
    ("b", "b"),
    ("nsec", "sec"),
    ("usec", "sec"),
    ("msec", "sec"),
    ("sec", "sec"),
    ("k", ""),
    ("M", ""),
    ("G", ""),
];

/// What breaks fio's fixed layout in a text of one program: blanks, widths, how many values stand on a line.
pub fn ill_formed(lines: &[String]) -> Vec<String> {
    lines.iter().filter_map(|line| fault(line).map(|fault| format!("{fault}: `{line}`"))).collect()
}

fn fault(line: &str) -> Option<&'static str> {
    if is_percentiles(line) {
        return percentile_fault(line);
    }
    if is_buckets(line) {
        return bucket_fault(line);
    }
    let narrow = |key: &str, width: usize| values(line, key).any(|value| value.len() < width);
    if narrow(" avg=", 5) || narrow(" stdev=", 5) {
        return Some("an average or deviation narrower than 5");
    }
    if is_samples(line) && (narrow(" min=", 5) || narrow(" max=", 5)) {
        return Some("a sampled minimum or maximum narrower than 5");
    }
    // Where fio takes leave of a worker it leaves no room before the number.
    let leave = line.starts_with("fio: pid=");
    if !leave
        && line.contains(" err=")
        && values(line, " err=").any(|value| value.len() < 2 || value.len() > 3)
    {
        return Some("an error number that is not two wide");
    }
    None
}

/// The values after a key up to the comma or the blank that ends them, padding included.
fn values<'a>(line: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(key).map(move |(at, _)| {
        let rest = &line[at + key.len()..];
        let blanks = rest.bytes().take_while(|b| *b == b' ').count();
        let end = rest[blanks..].find([',', ' ', ':', '/']).map_or(rest.len(), |end| blanks + end);
        &rest[..end]
    })
}

fn percentile_fault(line: &str) -> Option<&'static str> {
    let entries: Vec<&str> = line.trim_start_matches([' ', '|']).split("],").collect();
    let widths: Vec<usize> = entries
        .iter()
        .filter_map(|entry| entry.split_once('['))
        .map(|(_, v)| v.trim_end_matches(']').len())
        .collect();
    let first = *widths.first()?;
    (widths.iter().any(|width| *width != first)).then_some("percentiles of unequal width")
}

fn bucket_fault(line: &str) -> Option<&'static str> {
    let Some((head, entries)) = line.split_once(": ") else { return Some("buckets without a colon") };
    if head.len() != 15 {
        return Some("the colon of the buckets is not in its column");
    }
    let entries: Vec<&str> = entries.split(", ").collect();
    if entries.len() > 5 {
        return Some("more than five buckets on a line");
    }
    let whole = |entry: &&str| {
        let share = entry.split_once('=').and_then(|(_, share)| share.strip_suffix('%'));
        share.and_then(|share| share.split_once('.')).is_some_and(|(_, decimals)| decimals.len() == 2)
    };
    (!entries.iter().all(whole)).then_some("a bucket without two decimals and a percent sign")
}

/// A terse line, field by field: text stays, numbers are their kind.
pub fn terse(text: &str) -> Vec<String> {
    text.split(';').enumerate().map(|(index, field)| terse_field(index, field)).collect()
}

fn terse_field(index: usize, field: &str) -> String {
    match index {
        1 => "fio-#".into(),           // the version
        0 | 2 | 3 | 4 => field.into(), // format, name, group, error
        _ => line(field),
    }
}

/// The cases of this file.
pub fn checks() -> Vec<(&'static str, fn())> {
    vec![
        ("mask_numbers_lose_value_and_scale", numbers_lose_value_and_scale),
        ("mask_layout_is_kept", layout_is_kept),
        ("mask_widths_are_checked", widths_are_checked),
        ("mask_percentiles_may_wrap_elsewhere", percentiles_may_wrap_elsewhere),
        ("mask_terse_keeps_kinds", terse_keeps_kinds),
    ]
}

fn numbers_lose_value_and_scale() {
    let slow = "  read: IOPS=997, BW=3989KiB/s (4085kB/s)(1024KiB/257msec)";
    let fast = "  read: IOPS=10.7k, BW=1333MiB/s (1398MB/s)(32.0MiB/2sec)";
    assert_eq!(line(slow), line(fast));
    assert_eq!(line(slow), "  read: IOPS=#, BW=#B/s (#B/s)(#B/#sec)");
    assert_eq!(
        line("     lat (usec): min=7, max=9k, avg= 7.65"),
        line("     lat (msec): min=1, max=2, avg=12.00")
    );
}

fn layout_is_kept() {
    assert_ne!(line("usr=9.09%, sys=1.00%"), line("usr=9.1%, sys=1.00%"));
    assert_ne!(line("  cpu : ctx=7, majf=0"), line("  cpu: ctx=7, majf=0"));
    assert_ne!(line("util=0.00%"), line("util= 0.00 %"));
    assert_ne!(
        normal(&["x: (g=0): rw=read, iodepth=1".into()]),
        normal(&["x: (g=0): rw=read, iodepth=2".into()])
    );
}

fn widths_are_checked() {
    let well = |text: &str| ill_formed(&[text.to_string()]).is_empty();
    assert!(well("     lat (usec): min=7, max=9628, avg= 7.65, stdev=924.00"));
    assert!(!well("     lat (usec): min=7, max=9628, avg=7.65, stdev=924.00"));
    assert!(well("     |  1.00th=[    8],  5.00th=[  899],"));
    assert!(!well("     |  1.00th=[    8],  5.00th=[899],"));
    assert!(well("  lat (usec)   : 10=8.20%, 20=39.45%"));
    assert!(!well("  lat (usec) : 10=8.20%"));
    assert!(!well("  lat (usec)   : 10=8.2%"));
    assert!(!well("a: (groupid=0, jobs=1): err=0: pid=3"));
    assert!(well("fio: pid=3, err=5/file:io_u.c:1876, func=io_u error, error=Input/output error"));
}

fn percentiles_may_wrap_elsewhere() {
    let text = |lines: &[&str]| normal(&lines.iter().map(|line| line.to_string()).collect::<Vec<_>>());
    let narrow = text(&["     |  1.00th=[    8],  5.00th=[    9], 10.00th=[   11]"]);
    let wide = text(&["     |  1.00th=[ 80000008],  5.00th=[ 90000000],", "     | 10.00th=[110000000]"]);
    assert_eq!(narrow, wide);
    assert_ne!(narrow, text(&["     |  1.00th=[    8], 10.00th=[   11]"]));
}

fn terse_keeps_kinds() {
    assert_eq!(
        terse("3;fio-3.33;a;0;0;12;0.500000;1.000000%=9"),
        terse("3;fio-3.42;a;0;0;7;9.125000;1.000000%=77")
    );
    assert_ne!(terse("3;fio-3.33;a;0;0;12"), terse("3;fio-3.33;a;0;22;12"));
    assert_ne!(terse("3;fio-3.33;a;0;0;12.5"), terse("3;fio-3.33;a;0;0;12"));
}
