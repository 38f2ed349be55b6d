//! A design as a native plan file.
//!
//! A job is what all workers do on one target. Lines of one direction that go elsewhere than the others (another randomness,
//! another alignment) have no form there, and are refused.

use std::fmt::Write as _;

use iodyno_dialect::PathKind;
use iodyno_model::Diagnostic;

use super::workers::WorkersAtWork;
use super::{AlikeWorkers, Design, DesignLine, SECTOR, Specification, one};

/// The plan; `kind`: what a target's path is here.
///
/// # Errors
/// Everything that a plan file cannot say.
pub fn toml(design: &Design, kind: &dyn Fn(&str) -> Option<PathKind>) -> Result<String, Vec<Diagnostic>> {
    let wrong = design.wrong();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut text = format!("name = {}\n", quoted(&design.name));
    if let Some(seed) = design.seed {
        let _ = writeln!(text, "seed = {seed}");
    }
    let targets = design.all_targets();
    for (index, path) in targets.iter().enumerate() {
        let _ = write!(
            text,
            "\n[target.t{index}]\n{}direct = \"if possible\"\n",
            target(design, path, kind(path))
        );
    }
    for step in design.steps() {
        phase(design, &step, &targets, &mut text)?;
    }
    if let Some(sweep) = &design.sweep {
        let depths: Vec<String> = sweep.depths().iter().map(ToString::to_string).collect();
        let _ = write!(text, "\n[[sweep]]\ndepth = [{}]\n", depths.join(", "));
    }
    Ok(text)
}

fn target(design: &Design, path: &str, kind: Option<PathKind>) -> String {
    let groups = design.groups();
    let ends = groups.iter().filter(|group| group.targets.iter().any(|own| own == path));
    let ends: Option<Vec<u64>> = ends
        .map(|group| (group.sectors > 0).then_some((group.first_sector + group.sectors) * SECTOR))
        .collect();
    let bytes = ends.and_then(|ends| ends.into_iter().max());
    let sized = bytes
        .map_or_else(String::new, |bytes| format!("size = {bytes}\ncreate = true\nprepare = \"filled\"\n"));
    match kind {
        Some(PathKind::BlockDevice) => format!("device = {}\n", quoted(path)),
        Some(PathKind::Directory) => {
            format!("file = {}\n{sized}", quoted(&format!("{}/iobw.tst", path.trim_end_matches('/'))))
        }
        _ => format!("file = {}\n{sized}", quoted(path)),
    }
}

fn phase(
    design: &Design,
    step: &[WorkersAtWork<'_>],
    targets: &[&str],
    text: &mut String,
) -> Result<(), Vec<Diagnostic>> {
    let name = step.first().map_or("", |(_, known)| known.name.trim());
    let _ = write!(text, "\n[[phase]]\nname = {}\nintent = \"device\"\n", quoted(name));
    for (group, known) in step {
        let workload = workload(known)?;
        for target in group.targets {
            let index = targets.iter().position(|known| known == target).unwrap_or_default();
            job(design, group, known, &workload, index, text);
        }
    }
    Ok(())
}

fn job(
    design: &Design,
    group: &AlikeWorkers<'_>,
    known: &Specification,
    workload: &str,
    index: usize,
    text: &mut String,
) {
    let number = if design.others.is_empty() { String::new() } else { format!(" {}", group.number) };
    let _ = write!(
        text,
        "[[phase.job]]\nname = \"workers{number} on t{index}\"\non = \"t{index}\"\nworkers = {}\nengine = \"io_uring\"\n\
         depth = {}\n{workload}repeats = true\n",
        group.workers, group.depth
    );
    if group.sectors > 0 || group.first_sector > 0 {
        let length = match group.sectors {
            0 => "\"rest\"".to_string(),
            sectors => (sectors * SECTOR).to_string(),
        };
        let _ = writeln!(text, "span = {{ offset = {}, length = {length} }}", group.first_sector * SECTOR);
    }
    text.push_str(match group.content {
        0 => "payload = { content = \"0xa5\", same_in_every_write = true }\n",
        1 => "payload = { content = \"random\", same_in_every_write = true }\n",
        _ => "payload = { content = \"random\" }\n",
    });
    if let Some(rate) = design.rate {
        let _ = writeln!(text, "rate = \"{rate}/s\"");
    }
    if let Some(line) = known.lines.first().filter(|line| line.delay_ms > 0) {
        let _ =
            writeln!(text, "think = {{ sleep = \"{}ms\", every = {} }}", line.delay_ms, line.burst.max(1));
    }
    let _ = writeln!(text, "until = {{ time = \"{}s\", ramp = \"{}s\" }}", design.run_s, design.ramp_s);
}

/// How a value is said of the lines of one direction.
type Saying<'a> = &'a dyn Fn(&[(&DesignLine, f64)]) -> String;

/// The lines about what is done and where.
fn workload(known: &Specification) -> Result<String, Vec<Diagnostic>> {
    let refuse = |what: &str| {
        let message = format!("`{}`: a plan file has no form for {what}", known.name);
        Err(one(&message, "split it into several specifications, or keep the .icf: it says all of them"))
    };
    let (reads, writes) = (direction(known, true), direction(known, false));
    let first = &known.lines[0];
    if known.lines.iter().any(|line| !line.pauses_as(first)) {
        return refuse("lines that pause differently");
    }
    for of in [&reads, &writes] {
        if of.iter().any(|(line, _)| !line.goes_as(of[0].0)) {
            return refuse("lines of one direction that differ in randomness or alignment");
        }
    }
    let sum = |of: &[(&DesignLine, f64)]| of.iter().map(|(_, weight)| weight).sum::<f64>();
    let (read, write) = (sum(&reads), sum(&writes));
    let mut text = match (read > 0.0, write > 0.0) {
        (true, true) => format!("mix = {{ read = {read}, write = {write} }}\n"),
        (true, false) => "do = \"read\"\n".into(),
        (false, true) => "do = \"write\"\n".into(),
        (false, false) => return refuse("a specification whose lines have no share"),
    };
    let both = |key: &str, say: Saying<'_>| match (reads.is_empty(), writes.is_empty()) {
        (false, false) if say(&reads) != say(&writes) => {
            format!("{key} = {{ read = {}, write = {} }}\n", say(&reads), say(&writes))
        }
        (true, _) => format!("{key} = {}\n", say(&writes)),
        _ => format!("{key} = {}\n", say(&reads)),
    };
    text += &both("pick", &|of| pick(of[0].0.random));
    text += &both("block", &size);
    text += &both("align", &|of| of[0].0.align_bytes().to_string());
    Ok(text)
}

/// The lines that read, or that write, each with its part of all operations in percent.
fn direction(known: &Specification, reads: bool) -> Vec<(&DesignLine, f64)> {
    let weight = |line: &DesignLine| {
        let share = if reads { line.reads } else { 100 - line.reads.min(100) };
        line.percent as f64 * share as f64 / 100.0
    };
    known.lines.iter().map(|line| (line, weight(line))).filter(|(_, weight)| *weight > 0.0).collect()
}

fn pick(random: u64) -> String {
    match random {
        0 => "\"sequential\"".into(),
        100.. => "\"random\"".into(),
        percent => format!(
            "{{ blend = [{{ percent = {percent}, pick = \"random\" }}, {{ percent = {}, pick = \"sequential\" }}] }}",
            100 - percent
        ),
    }
}

fn size(of: &[(&DesignLine, f64)]) -> String {
    let all: f64 = of.iter().map(|(_, weight)| weight).sum();
    match of {
        [(only, _)] => only.bytes.to_string(),
        several => {
            let parts =
                several.iter().map(|(line, weight)| format!("\"{}\" = {}", line.bytes, weight / all * 100.0));
            format!("{{ split = {{ {} }} }}", parts.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
