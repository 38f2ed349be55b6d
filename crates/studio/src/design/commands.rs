//! A design as a job file of fio, and as command lines of IOR and iozone, with what those do not say.
//!
//! It refuses a load that a tool cannot make, and tells of each thing that the tool does otherwise.

use std::fmt::Write as _;

use iodyno_dialect::PathKind;
use iodyno_model::Diagnostic;

use super::workers::alike;
use super::{AlikeWorkers, Design, DesignLine, LoadExport, SECTOR, Specification, one};

/// Bytes of a section's name at most: fio takes 255, and the number of a target follows.
const SECTION_NAME_MOST: usize = 200;

/// What a target's path is.
pub type Kind<'a> = &'a dyn Fn(&str) -> Option<PathKind>;

/// The file or device that a target is.
fn file_of(path: &str, kind: Kind<'_>) -> String {
    match kind(path) {
        Some(PathKind::Directory) => format!("{}/iobw.tst", path.trim_end_matches('/')),
        _ => path.to_string(),
    }
}

/// A job file: a section for each specification on each target, one specification after the other.
///
/// # Errors
/// Everything that fio cannot do.
pub fn fio(design: &Design, kind: Kind<'_>) -> Result<LoadExport, Vec<Diagnostic>> {
    check(design)?;
    let mut notes = Vec::new();
    let mut text = format!(
        "; {}\n[global]\nioengine=io_uring\ndirect=1\ntime_based=1\nruntime={}\nramp_time={}\ngroup_reporting=1\n",
        design.name, design.run_s, design.ramp_s
    );
    if let Some(seed) = design.seed {
        let _ = writeln!(text, "randseed={seed}");
    }
    let groups = design.groups();
    if let [only] = &groups[..] {
        text.push_str(&fio_load(only));
    }
    if let Some(sweep) = &design.sweep {
        let depths: Vec<String> = sweep.depths().iter().map(ToString::to_string).collect();
        notes
            .push(format!("fio has no sweep: run it with --also sweep=depth:{} in iodyno", depths.join(":")));
    }
    for step in design.steps() {
        let mut stonewall = "stonewall\n";
        for (group, known) in &step {
            let mut options = fio_section(design, known)?;
            let mut name = section_name(&known.name);
            if groups.len() > 1 {
                options.push_str(&fio_load(group));
                name = format!("{name} by {}", group.number);
            }
            for (index, target) in group.targets.iter().enumerate() {
                let several = group.targets.len() > 1;
                let name = if several { format!("{name} on {}", index + 1) } else { name.clone() };
                let path = fio_path(&file_of(target, kind))?;
                let _ = write!(text, "\n[{name}]\n{stonewall}filename={path}\n{options}");
                stonewall = "";
            }
        }
    }
    let at_work = || design.steps().into_iter().flatten();
    if at_work().any(|(group, known)| group.workers > 1 && known.lines.iter().any(|line| line.random < 100)) {
        notes.push("sequential workers each begin at the start of the target, in both".into());
    }
    Ok(LoadExport { text, notes })
}

/// What alike workers have in common.
fn fio_load(group: &AlikeWorkers<'_>) -> String {
    let mut text = format!("iodepth={}\nnumjobs={}\n", group.depth, group.workers);
    if group.sectors > 0 {
        let _ = writeln!(text, "size={}", group.sectors * SECTOR);
    }
    if group.first_sector > 0 {
        let _ = writeln!(text, "offset={}", group.first_sector * SECTOR);
    }
    text.push_str(match group.content {
        0 => "buffer_pattern=0xa5\n",
        1 => "",
        _ => "refill_buffers=1\n",
    });
    text
}

/// A path as a job file has it.
fn fio_path(path: &str) -> Result<String, Vec<Diagnostic>> {
    match path.chars().find(|letter| ";#\\$".contains(*letter)) {
        Some(letter) => {
            let message = format!("{path}: a job file of fio cannot have `{letter}` in a file's name");
            Err(one(&message, "another path, or export it to TOML"))
        }
        None => Ok(path.replace(':', "\\:")),
    }
}

/// A name as a section's head can have it: fio ends a line where `;` or `#` begins a comment, ends the name at a bracket, puts
/// variables in for `$`, takes 255 bytes, and holds every name that begins with `global` for the defaults of all.
fn section_name(name: &str) -> String {
    let safe = |letter: char| match letter {
        ';' => ',',
        '[' => '(',
        ']' => ')',
        '#' | '$' | '\\' | '"' => '_',
        letter => letter,
    };
    let mut name: String = name.trim().chars().map(safe).collect();
    if name.to_ascii_lowercase().starts_with("global") {
        name.insert(0, '_');
    }
    while name.len() > SECTION_NAME_MOST {
        name.pop();
    }
    name
}

fn fio_section(design: &Design, known: &Specification) -> Result<String, Vec<Diagnostic>> {
    let first = &known.lines[0];
    if known.lines.iter().any(|line| !line.goes_as(first) || !line.pauses_as(first)) {
        let message = format!(
            "`{}`: fio cannot mix lines of other randomness, alignment or pauses in one job",
            known.name
        );
        return Err(one(&message, "split it into several specifications, or keep the .icf"));
    }
    let weight =
        |line: &DesignLine, reads: bool| line.percent * if reads { line.reads } else { 100 - line.reads };
    let sum = |reads: bool| known.lines.iter().map(|line| weight(line, reads)).sum::<u64>();
    let (read, write) = (sum(true), sum(false));
    let mut text = String::new();
    let random = if first.random > 0 { "rand" } else { "" };
    let what = match (read > 0, write > 0) {
        (true, true) => format!("rw={}rw\nrwmixread={}\n", random, read / 100),
        (false, true) => format!("rw={random}write\n"),
        _ => format!("rw={random}read\n"),
    };
    text.push_str(&what);
    if (1..100).contains(&first.random) {
        let _ = writeln!(text, "percentage_random={}", first.random);
    }
    if first.random > 0 {
        text.push_str("norandommap=1\n");
    }
    match &known.lines[..] {
        [only] => {
            let _ = writeln!(text, "bs={}", only.bytes);
        }
        lines => {
            let of = |reads: bool| {
                let all = sum(reads).max(1);
                let parts = lines.iter().filter(|line| weight(line, reads) > 0);
                let parts = parts.map(|line| format!("{}/{}", line.bytes, weight(line, reads) * 100 / all));
                parts.collect::<Vec<_>>().join(":")
            };
            let _ = writeln!(text, "bssplit={},{}", of(read > 0), of(write == 0));
        }
    }
    let _ = writeln!(text, "blockalign={}", first.align_bytes());
    if first.delay_ms > 0 {
        let _ = write!(text, "thinktime={}ms\nthinktime_blocks={}\n", first.delay_ms, first.burst.max(1));
    }
    if let Some(rate) = design.rate {
        let share = |part: u64| (rate * part as f64 / (read + write).max(1) as f64).round().max(1.0);
        match (read > 0, write > 0) {
            (true, true) => drop(writeln!(text, "rate_iops={},{}", share(read), share(write))),
            _ => drop(writeln!(text, "rate_iops={}", rate.round().max(1.0))),
        }
    }
    Ok(text)
}

/// What a tool with phases that only read or only write can do of a specification: its only line.
fn plain<'a>(tool: &str, known: &'a Specification) -> Result<&'a DesignLine, Vec<Diagnostic>> {
    let refuse = |what: &str| {
        let message = format!("`{}`: {tool} cannot {what}", known.name);
        Err(one(&message, "export it to fio or TOML"))
    };
    match &known.lines[..] {
        [line] if !matches!(line.reads, 0 | 100) => refuse("mix reads and writes"),
        [line] if !matches!(line.random, 0 | 100) => refuse("mix random and sequential operations"),
        [line] if line.delay_ms > 0 => refuse("pause after a burst"),
        [line] => Ok(line),
        _ => refuse("mix sizes"),
    }
}

/// What both of them leave out.
fn left_out(design: &Design) -> Vec<String> {
    let mut notes = Vec::new();
    if design.depth > 1 || design.sweep.is_some() {
        notes.push(format!("one operation at a time; in iodyno, add --also depth={}", design.depth));
    }
    if design.ramp_s > 0 {
        notes.push("no ramp: everything is measured".into());
    }
    if design.rate.is_some() {
        notes.push("no rate: as fast as it goes".into());
    }
    if design.first_sector > 0 {
        notes.push("it begins at the start of the target".into());
    }
    notes
}

fn check(design: &Design) -> Result<(), Vec<Diagnostic>> {
    let wrong = design.wrong();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The bytes of each worker: a tool that writes before it reads needs an end.
fn bytes(tool: &str, design: &Design, line: &DesignLine) -> Result<u64, Vec<Diagnostic>> {
    match design.sectors * SECTOR / line.bytes * line.bytes {
        0 => Err(one(&format!("{tool} must be told how much is touched"), "name a maximum size")),
        bytes => Ok(bytes),
    }
}

/// Command lines of IOR: one for each specification on each target.
///
/// # Errors
/// Everything that IOR cannot do.
pub fn ior(design: &Design, kind: Kind<'_>) -> Result<LoadExport, Vec<Diagnostic>> {
    check(design)?;
    alike(design, "IOR")?;
    let mut text = String::new();
    for known in design.assigned() {
        let line = plain("IOR", known)?;
        let bytes = bytes("IOR", design, line)?;
        let _ = writeln!(text, "# {}", known.name.trim());
        for target in &design.targets {
            let launcher =
                if design.workers > 1 { format!("mpirun -n {} ", design.workers) } else { String::new() };
            let what = if line.reads == 100 { "-r -E" } else { "-w" };
            let random = if line.random == 100 { " -z" } else { "" };
            let path = file_of(target, kind);
            let _ = writeln!(
                text,
                "{launcher}ior -a POSIX --posix.odirect {what} -k{random} -t {} -b {bytes} -D {} -o {}",
                line.bytes,
                design.run_s,
                shell(&path)
            );
        }
    }
    let mut notes = left_out(design);
    notes.push("random places each come once (-z); a transfer begins at a multiple of its size".into());
    if design.workers > 1 {
        notes.push("each rank has a part of the file of its own".into());
    }
    if design.assigned().any(|known| known.lines.iter().all(|line| line.reads == 100)) {
        notes.push("reads need a file that is there and long enough".into());
    }
    Ok(LoadExport { text, notes })
}

/// Command lines of iozone: one for each specification on each target.
///
/// # Errors
/// Everything that iozone cannot do.
pub fn iozone(design: &Design, kind: Kind<'_>) -> Result<LoadExport, Vec<Diagnostic>> {
    check(design)?;
    alike(design, "iozone")?;
    let mut text = String::new();
    for known in design.assigned() {
        let line = plain("iozone", known)?;
        let size = bytes("iozone", design, line)?;
        if line.bytes % 1024 > 0 {
            return Err(one(
                &format!("`{}`: iozone counts in KiB", known.name),
                "a size that is a multiple of 1024",
            ));
        }
        let test = match (line.random, line.reads) {
            (100, _) => 2,
            (_, 100) => 1,
            _ => 0,
        };
        let tests = if test == 0 { "-i 0".to_string() } else { format!("-i 0 -i {test}") };
        let _ = writeln!(text, "# {}", known.name.trim());
        for target in &design.targets {
            let path = file_of(target, kind);
            if kind(target) == Some(PathKind::BlockDevice) {
                return Err(one(
                    &format!("{target}: iozone would make its file anew"),
                    "a directory or a file",
                ));
            }
            let common = format!("iozone -I -r {}k -s {}k {tests}", line.bytes / 1024, size / 1024);
            let _ = match design.workers {
                1 => writeln!(text, "{common} -f {}", shell(&path)),
                workers => {
                    let files = (1..=workers).map(|number| shell(&format!("{path}.{number}")));
                    writeln!(text, "{common} -t {workers} -F {}", files.collect::<Vec<_>>().join(" "))
                }
            };
        }
    }
    let mut notes = left_out(design);
    notes.push("it ends when all is done, not by time, and writes the file before it reads it (-i 0)".into());
    if design.workers > 1 {
        notes.push("each thread has a file of its own".into());
    }
    Ok(LoadExport { text, notes })
}

/// A word as a shell reads it.
fn shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-=+,:".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
