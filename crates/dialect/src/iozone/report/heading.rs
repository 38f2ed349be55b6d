//! What stands above the figures: the heading with what was asked for, and the names of the columns.

use std::fmt::Write as _;

use crate::iozone::access::Access;
use crate::iozone::command::OptionValue;
use crate::iozone::settings::{Settings, Unit, file_bytes};
use crate::iozone::telemetry;
use crate::iozone::view::ReportContext;

/// The heading, up to the first figure.
pub fn heading(view: &ReportContext) -> String {
    let settings = &view.settings;
    let mut text = String::from("\tIozone: Performance Test of File I/O\n");
    text += "\t        Version $Revision: 3.508 $\n\t\tCompiled for 64 bit mode.\n";
    let _ = writeln!(text, "\t\tBuild: iodyno {} \n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "\tRun began: {}\n", view.began);
    settings.words.iter().for_each(|word| text += &option_line(word, settings, view));
    let _ = writeln!(text, "\tCommand line used: {}", view.command);
    if settings.unit() == Unit::Kilobytes {
        text += "\tOutput is in kBytes/sec\n";
    }
    for (list, what) in [(&settings.reads, "reads"), (&settings.writes, "writes")] {
        if list.as_ref().is_some_and(|list| telemetry::pauses(list)) {
            let _ = writeln!(text, "\tCompute time from telemetry files for {what}.");
        }
    }
    if let Some(ms) = settings.number("J") {
        let _ = writeln!(text, "\tCompute time {:.6} seconds for reads and writes.", ms as f64 / 1000.0);
    }
    text += "\tTime Resolution = 0.000000001 seconds.\n";
    let _ = writeln!(text, "\tProcessor cache size set to {} kBytes.", settings.size("S", 1024) / 1024);
    let _ =
        writeln!(text, "\tProcessor cache line size set to {} bytes.", settings.number("L").unwrap_or(32));
    let _ = writeln!(text, "\tFile stride size set to {} * record size.", settings.number("j").unwrap_or(17));
    if settings.has("l") || settings.has("u") {
        let ends = (settings.rounds.first().unwrap_or(&0), settings.rounds.last().unwrap_or(&0));
        let _ = write!(text, "\tMin process = {} \n\tMax process = {} \n", ends.0, ends.1);
    }
    text
}

/// The heading's line about one option.
fn option_line(word: &OptionValue, settings: &Settings, view: &ReportContext) -> String {
    let value = word.value.as_str();
    let kb = |name: &str| settings.size(name, 0) / 1024;
    let own_kb = || file_bytes(value).unwrap_or(0) / 1024;
    let line = match word.name {
        "a" => "Auto Mode".into(),
        "A" => "Auto Mode 2. This option is obsolete. Use -az -i0 -i1 ".into(),
        "z" => "Cross over of record size disabled.".into(),
        "n" => format!("Using minimum file size of {} kilobytes.", kb("n")),
        "g" => format!("Using maximum file size of {} kilobytes.", kb("g")),
        "y" => format!("Using Minimum Record Size {} kB", kb("y")),
        "q" => format!("Using Maximum Record Size {} kB", kb("q")),
        "s" => format!("File size set to {} kB", own_kb()),
        "r" => format!("Record Size {} kB", own_kb()),
        "c" => "Include close in write timing".into(),
        "e" => "Include fsync in write timing".into(),
        "w" => "Setting no_unlink".into(),
        "I" => "O_DIRECT feature enabled".into(),
        "o" => "SYNC Mode. ".into(),
        "+D" => ">>> O_DSYNC mode enabled. <<<".into(),
        "+r" => "Read & Write sync mode active.".into(),
        "B" => "Using mmap files".into(),
        "D" => "Using msync(MS_ASYNC) on mmap files".into(),
        "G" => "Using msync(MS_SYNC) on mmap files".into(),
        "H" => format!("POSIX async I/O (with bcopy). Depth {value}"),
        "k" => format!("POSIX Async I/O (no bcopy). Depth {value} "),
        "V" => pattern(value),
        "p" => format!(
            "Purge of {} kBytes of cache before each operation, outside of the time.",
            settings.size("S", 1024) / 1024
        ),
        "m" => "Multiple buffers, 16384 kBytes of them in turn.".into(),
        "U" => format!("Unmount and remount of {value} before each test."),
        "W" => "Lock file when reading or writing.".into(),
        "X" => format!("Using write telemetry file \"{value}\""),
        "Y" => format!("Using read telemetry file \"{value}\""),
        "Z" => "Mixed mmap and file I/O.".into(),
        "K" => "Disrupted read patterns selected.".into(),
        "M" => return format!("\n\tMachine = {}\n", view.machine),
        "O" => "OPS Mode. Output is in operations per second.".into(),
        "N" => "Microseconds/op Mode. Output is in microseconds per operation.".into(),
        "P" => format!("Binding of processors beginning with {value} "),
        "Q" => "Offset/latency files enabled.".into(),
        "R" => "Excel chart generation enabled".into(),
        "x" => "Stonewall disabled".into(),
        "+n" => "No retest option selected".into(),
        "+d" => ">>> I/O Diagnostic mode enabled. <<<\n\tPerformance measurements are invalid in this mode."
            .into(),
        "+l" => ">>> Record locking mode enabled. <<<".into(),
        "+p" => format!("Percent read in mix test is {value}"),
        "+B" => ">>> Sequential Mixed workload. <<<".into(),
        "+u" => "CPU utilization Resolution = 0.000 seconds.\n\tCPU utilization Excel chart enabled".into(),
        "+z" => "Histogram summary enabled.".into(),
        "+m" => "Network distribution mode enabled.".into(),
        "+h" => format!("Hostname = {value}"),
        _ => return String::new(),
    };
    format!("\t{line}\n")
}

fn pattern(value: &str) -> String {
    let byte = value.parse::<u32>().unwrap_or(0) & 0xff;
    let word = byte * 0x0101_0101;
    format!("Verify Mode. Pattern {word:x}\n\tPerformance measurements are invalid in this mode.")
}

/// Both lines of the columns' names.
pub fn columns(settings: &Settings) -> String {
    let columns = super::columns(settings);
    let (above, below): (String, String) = columns.iter().map(|access| access.facts().heading()).unzip();
    format!("{:24}{above}\n{:>16}{:>8}{below}\n", "", "kB", "reclen")
}

/// Characters of a column of figures; the first heading is one shorter than its figures, the second one longer.
pub fn width(access: Access) -> usize {
    match access {
        Access::Write | Access::Rewrite => 10,
        access => access.facts().heading().1.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iozone::{command, settings, testing::Nowhere};

    #[test]
    fn columns_are_those_of_iozone() {
        let words = ["-E".to_string()];
        let settings = settings::judge(command::parse(&words).unwrap(), &mut Nowhere).unwrap();
        let wanted = concat!(
            "                                                                    random    random      bkwd     ",
            "record     stride                                                                                \n",
            "              kB  reclen    write    rewrite      read    reread      read     write      read    ",
            "rewrite       read    fwrite  frewrite     fread   freread    pwrite  repwrite     pread   repread\n",
        );
        assert_eq!(columns(&settings), wanted);
    }
}
