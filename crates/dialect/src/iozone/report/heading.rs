//! What stands above the figures: the heading with what was asked for, and the names of the columns.

use std::fmt::Write as _;

use crate::iozone::access::Access;
use crate::iozone::command::OptionValue;
use crate::iozone::lower::MANY_BUFFERS;
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
    let computing = match (settings.reads.is_some(), settings.writes.is_some()) {
        (false, false) => "reads and writes",
        (false, true) => "reads",
        (true, _) => "writes",
    };
    if let Some(ms) = settings.number("J").filter(|_| settings.reads.is_none() || settings.writes.is_none()) {
        let _ = writeln!(text, "\tCompute time {:.6} seconds for {computing}.", ms as f64 / 1000.0);
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
        "B" => "Using mmap files".into(),
        "D" => "Using msync(MS_ASYNC) on mmap files".into(),
        "G" => "Using msync(MS_SYNC) on mmap files".into(),
        "H" => format!("POSIX async I/O (with bcopy). Depth {value}"),
        "k" => format!("POSIX Async I/O (no bcopy). Depth {value} "),
        "V" => pattern(value),
        "p" => "Purge Mode On".into(),
        "m" => format!("Multi_buffer. Work area {MANY_BUFFERS} bytes"),
        "W" => "Lock file when reading/writing.".into(),
        "X" => format!("Using write telemetry file \"{value}\""),
        "Y" => format!("Using read telemetry file \"{value}\""),
        "Z" => "Enable mmap & file I/O mixing.".into(),
        "K" => "Disrupted read patterns selected.".into(),
        "M" => return format!("\n\tMachine = {}\n", view.machine),
        "O" => "OPS Mode. Output is in operations per second.".into(),
        "N" => "Microseconds/op Mode. Output is in microseconds per operation.".into(),
        "P" => format!("Binding of processors beginning with {value} "),
        "Q" => "Offset/latency files enabled.".into(),
        "R" => "Excel chart generation enabled".into(),
        "x" => "Stonewall disabled".into(),
        name if name.starts_with('+') => return plus_line(name, value),
        _ => return String::new(),
    };
    format!("\t{line}\n")
}

/// The heading's line about an option that begins with `-+`.
fn plus_line(name: &str, value: &str) -> String {
    let line = match name {
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
        "+A" => format!("Madvise enabled: {value}"),
        "+C" => format!("Dedup within {value} percent."),
        "+J" => ">>> Think time is included in throughput cal. <<<".into(),
        "+K" => "Manual control of test 8. >>> Very Experimental. Sony special <<<".into(),
        "+L" => ">>> Record locking, shared file mode enabled. <<<".into(),
        "+O" => format!("Rate control active {value} Ops/sec ."),
        "+Q" => format!("Dedup granule size {value}"),
        "+S" => format!("Dedup manual seed {value} ."),
        "+V" => ">>> Shared file mode enabled. <<<".into(),
        "+W" => format!("Dedup chid_skew {value} ."),
        "+X" => "Short circuit mode. For\n\t filesystem development testing ONLY !".into(),
        "+Z" => "Using old data sets.\n\t Performance measurements may be invalid in this\n\t \
                 mode due to published hack."
            .into(),
        // Both of these begin the next line with a blank.
        "+M" => return "\tDedup+compress enabled\n ".into(),
        "+a" => return format!("\tZero Percent {value}\n "),
        "+q" => format!("Delay {value} seconds between tests enabled."),
        "+w" => format!("Dedup activated {value} percent."),
        "+y" => format!("Dedup within & across {value} percent."),
        "+D" => ">>> O_DSYNC mode enabled. <<<".into(),
        "+r" => "Read & Write sync mode active.".into(),
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

    /// As iozone 3.489 prints them.
    #[test]
    fn options_have_iozones_lines() {
        let wanted = "\tPurge Mode On\n\tMulti_buffer. Work area 16777216 bytes\n\tEnable mmap & file I/O mixing.\n\
            \tLock file when reading/writing.\n\tDelay 1 seconds between tests enabled.\n\tZero Percent 50\n \
            \tDedup activated 80 percent.\n\tDedup within & across 20 percent.\n\tDedup within 30 percent.\n\
            \tDedup granule size 4096\n\tShort circuit mode. For\n\t filesystem development testing ONLY !\n";
        let line = "-p -m -Z -W -+q 1 -+a 50 -+w 80 -+y 20 -+C 30 -+Q 4096 -+X -U /mnt/x";
        let words: Vec<String> = line.split(' ').map(String::from).collect();
        let view = ReportContext {
            settings: settings::judge(command::parse(&words).unwrap(), &mut Nowhere).unwrap(),
            machine: "Linux here 6.1".into(),
            ..ReportContext::default()
        };
        let text = heading(&view);
        assert!(text.contains(&format!("\n\n{wanted}\tCommand line used")), "{text}");
    }
}
