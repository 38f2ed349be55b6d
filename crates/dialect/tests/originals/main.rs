//! dd and hdparm beside the programs themselves: the same numbers make the same text.
//!
//! GNU dd copies many sizes from /dev/zero and says how much and how fast; what it wrote must be what we write for the
//! same bytes and seconds. Not installed: a counted skip. No time is asserted.

use std::process::{Command, Stdio};

use iodyno_dialect::dd::amount;
use iodyno_dialect::dd::number::number;
use testbed::{Case, Need, Outcome};

/// Standard error of GNU dd with these operands.
fn dd(operands: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    let output = Command::new("dd").args(operands).env("LC_ALL", "C").stdin(Stdio::null()).output()?;
    Ok(String::from_utf8(output.stderr)?)
}

/// The transfer line of a copy of so many bytes.
fn transfer_line(bytes: u64) -> Result<String, Box<dyn std::error::Error>> {
    let (size, count) = (format!("bs={}", bytes.clamp(1, 1 << 20)), format!("count={bytes}B"));
    let text = dd(&["if=/dev/zero", "of=/dev/null", &size, &count])?;
    text.lines().last().map(String::from).ok_or_else(|| "dd wrote nothing".into())
}

/// Sizes around every boundary where the text may change, and a spread between them.
fn sizes() -> Vec<u64> {
    let mut sizes: Vec<u64> = vec![0, 1, 2, 9, 10, 99, 100];
    for power in 1..=3u32 {
        for base in [1000u64.pow(power), 1024u64.pow(power)] {
            for tenths in [10, 19, 20, 49, 95, 99, 100, 104, 105, 115, 125, 995, 9990, 9995] {
                let near = base / 10 * tenths + base / 20;
                sizes.extend([near - 1, near, near + 1, base * tenths / 10, base * tenths / 10 - 1]);
            }
        }
    }
    sizes.retain(|bytes| *bytes <= 6 << 30);
    sizes
}

fn sizes_as_gnu() -> Outcome {
    for bytes in sizes() {
        let line = transfer_line(bytes)?;
        let copied = line.split(" copied, ").next().unwrap_or_default();
        if copied != amount::bytes_copied(bytes) {
            return Err(format!("dd wrote `{copied}`, we `{}`", amount::bytes_copied(bytes)).into());
        }
    }
    Ok(())
}

/// dd prints seconds with six digits, so the rate may be one step off ours; the layout may not.
fn rates_as_gnu() -> Outcome {
    let mut same = 0;
    let sizes: Vec<u64> = sizes().into_iter().filter(|bytes| *bytes < 1 << 28).collect();
    for bytes in &sizes {
        let line = transfer_line(*bytes)?;
        let mut parts = line.split(" copied, ").nth(1).unwrap_or_default().split(", ");
        let seconds = parts.next().unwrap_or_default().trim_end_matches(" s").to_string();
        let rate = parts.next().unwrap_or_default().to_string();
        let elapsed_ns = (seconds.parse::<f64>()? * 1e9).round() as u64;
        if amount::seconds(elapsed_ns) != seconds {
            return Err(format!("dd wrote `{seconds}` s, we `{}`", amount::seconds(elapsed_ns)).into());
        }
        let digits = elapsed_ns.to_string().trim_end_matches('0').len();
        let ours = amount::rate(*bytes, elapsed_ns);
        match ours == rate {
            true => same += 1,
            false if shape(&ours) != shape(&rate) => return Err(format!("{line}: we `{ours}`").into()),
            false if is_tie(*bytes, elapsed_ns) => {}
            // With all digits of the time there is nothing left to differ.
            false if digits < 6 => return Err(format!("{line}: we `{ours}`").into()),
            false => {}
        }
    }
    if same * 10 < sizes.len() * 9 {
        Err(format!("only {same} of {} rates agree", sizes.len()).into())
    } else {
        Ok(())
    }
}

/// Whether a rate lies exactly between two that can be printed: which one it becomes depends on the rounding of the
/// machine's `long double` (99499 bytes in 42.34 µs are 2.35 GB/s, which 80 bits make 2.3 and 64 bits 2.4).
fn is_tie(bytes: u64, elapsed_ns: u64) -> bool {
    let units = [1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000_u128];
    // Half a step, of whole units or of tenths.
    let halves = units.iter().flat_map(|unit| [*unit / 2, *unit / 20]);
    let moved = u128::from(bytes) * 1_000_000_000;
    halves.into_iter().any(|half| {
        let steps = u128::from(elapsed_ns) * half;
        moved.is_multiple_of(steps) && (moved / steps) % 2 == 1
    })
}

/// The unit, and whether there is a decimal.
fn shape(rate: &str) -> (bool, String) {
    (rate.contains('.'), rate.split(' ').nth(1).unwrap_or_default().to_string())
}

fn numbers_as_gnu() -> Outcome {
    for text in [
        "1", "2x3", "1k", "1kB", "1KB", "1KiB", "1kD", "3w", "2b", "k", "+4", " 4", "00x3", "1Bx3", "4bB",
        "3x1KB", "4c",
    ] {
        let text_out = dd(&["if=/dev/zero", "of=/dev/null", "bs=1", &format!("count={text}")])?;
        let copied: u64 =
            text_out.lines().last().and_then(|line| line.split(' ').next()).unwrap_or("").parse()?;
        if number(text).map(|number| number.value) != Ok(copied) {
            return Err(format!("{text}: dd took {copied}, we {:?}", number(text)).into());
        }
    }
    for text in
        ["", "4q", "-1", "1x", "x1", "1.5M", "4m", "4Ki", "1KiBB", "4BB", "B", "8E", "4Y", "1biB", "0x"]
    {
        let refused = dd(&["if=/dev/null", "of=/dev/null", &format!("count={text}")])?
            .starts_with("dd: invalid number");
        if refused != number(text).is_err() {
            return Err(format!("{text}: refused by dd: {refused}, by us: {:?}", number(text)).into());
        }
    }
    Ok(())
}

/// Every error that needs no run, word for word.
fn errors_as_gnu() -> Outcome {
    let directory = std::env::temp_dir();
    let directory = directory.to_string_lossy();
    let output_directory = format!("of={directory}");
    let lines: Vec<Vec<&str>> = vec![
        vec!["x"],
        vec!["foo=1"],
        vec!["b's"],
        vec![""],
        vec!["bs"],
        vec!["bs=4q", "x"],
        vec!["bs=0"],
        vec!["bs=8E"],
        vec!["bs=1\nx"],
        vec!["conv=foo"],
        vec!["conv=notrunc,"],
        vec!["iflag=foo"],
        vec!["oflag=fullblock"],
        vec!["status=foo"],
        vec!["conv=excl,nocreat"],
        vec!["conv=ascii,ibm"],
        vec!["cbs=4", "conv=block,unblock"],
        vec!["iflag=direct,nocache"],
        vec!["--foo"],
        vec!["--help=3"],
        vec!["-x"],
        vec!["if=/dev/null", &output_directory],
        vec!["if=/dev/null", "of=/dev/null", "conv=excl"],
        vec!["bs=1E"],
        vec!["if=/dev/null", "of=/does/not/exist", "seek=9223372036854775807", "bs=2"],
    ];
    for line in lines {
        let arguments: Vec<String> = line.iter().map(ToString::to_string).collect();
        let theirs = dd(&line)?;
        let dialect = iodyno_dialect::dd::DIALECT;
        let ours = match (dialect.lower)(&arguments, &mut Machinery) {
            Ok(iodyno_dialect::Request::Refuse { err, status: 1 }) => err,
            _ => "not refused".into(),
        };
        if ours != theirs {
            return Err(format!("{line:?}: dd writes\n{theirs}we write\n{ours}").into());
        }
    }
    Ok(())
}

/// The real file system, for the loader's questions.
struct Machinery;

impl iodyno_dialect::Loader for Machinery {
    fn read(&mut self, _path: &str) -> Result<Vec<u8>, String> {
        Err("not here".into())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("not here".into())
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> iodyno_model::Machine {
        iodyno_model::Machine { memory_bytes: 1 << 40, ..iodyno_model::Machine::default() }
    }
    fn look(&self, path: &str) -> Option<iodyno_dialect::PathFacts> {
        use iodyno_dialect::{PathFacts, PathKind};
        let facts = std::fs::metadata(path).ok()?;
        let kind = if facts.is_dir() { PathKind::Directory } else { PathKind::CharacterDevice };
        Some(PathFacts { kind, bytes: facts.len(), writable: true, ..PathFacts::default() })
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
}

/// hdparm's own figures of a loop device, written again from what they say.
#[cfg(target_os = "linux")]
fn timings_as_hdparm() -> Outcome {
    use iodyno_dialect::hdparm::report::figures;
    let sandbox = testbed::sandbox::LoopDevice::new(8 << 20)?;
    let path = sandbox.path().to_string_lossy().into_owned();
    let output = Command::new("hdparm").args(["-t", &path]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().last().unwrap_or_default();
    let found = line.strip_prefix(" Timing buffered disk reads: ").ok_or(format!("hdparm wrote `{text}`"))?;
    if !text.starts_with(&format!("\n{path}:\n Timing")) {
        return Err(format!("hdparm wrote `{text}`").into());
    }
    let words: Vec<&str> = found.split_whitespace().collect();
    let (mib, seconds): (u64, f64) = (words[0].parse()?, words[3].parse()?);
    let ours = figures(mib << 20, (seconds * 1e9) as u64);
    // The rate is of a time that hdparm does not print in full.
    let until_rate = |text: &str| text.split(" = ").next().map(String::from);
    if until_rate(&ours) != until_rate(found) || ours.split(' ').next_back() != found.split(' ').next_back() {
        return Err(format!("hdparm wrote `{found}`, we `{ours}`").into());
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    let dd = &[Need::Tool("dd"), Need::That(gnu)];
    let mut cases = vec![
        Case::new("dd_sizes", dd, sizes_as_gnu).against(),
        Case::new("dd_rates_and_seconds", dd, rates_as_gnu).against(),
        Case::new("dd_numbers", dd, numbers_as_gnu).against(),
        Case::new("dd_errors", dd, errors_as_gnu).against(),
    ];
    #[cfg(target_os = "linux")]
    cases.push(Case::new("hdparm_figures", &[Need::Tool("hdparm"), Need::Loop], timings_as_hdparm).against());
    testbed::run(cases)
}

/// Whether dd is GNU's, of the version whose texts these are or a later one.
fn gnu() -> Result<(), testbed::Skip> {
    let output = Command::new("dd").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let version: Option<f64> =
        text.lines().next().and_then(|line| line.strip_prefix("dd (coreutils) ")?.parse().ok());
    match version {
        Some(version) if version >= 9.1 => Ok(()),
        _ => Err(testbed::Skip::new("dd is not GNU's of version 9.1 or later")),
    }
}
