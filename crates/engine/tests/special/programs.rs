//! Processors and programs.

use iodyno_model::{Kind, TargetKind, Verb};
use testbed::Case;

use crate::plans::{job, plan, refused, tallies, target};
use crate::{Outcome, holds};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("cpuio: pauses between bursts", &[], pauses_between_bursts),
        Case::new("exec: a program with its arguments", &[], a_program_with_its_arguments),
        Case::new("exec: what does not end is killed", &[], what_does_not_end_is_killed),
    ]
}

fn nothing() -> iodyno_model::Target {
    target("nothing", TargetKind::Nothing { bytes: 1 << 30 })
}

fn pauses_between_bursts() -> Outcome {
    for mode in ["mode=noop", "mode=qsort"] {
        let mut burn = job("cpuio", &["load_percent=20", "chunk_us=10000", mode], 0, Verb::Read, 4096);
        burn.limit.time_ns = Some(300_000_000);
        let tally = tallies(&plan(vec![nothing()], vec![burn]))?;
        let (bursts, least) = (tally[0].operations(Kind::Read), tally[0].latency(Kind::Read).min);
        // Each takes 10 ms of 50; a slow machine has fewer.
        holds((1..=7).contains(&bursts), format!("{bursts} bursts"))?;
        holds(least >= 9_900_000, format!("a burst of {least} ns"))?;
    }
    let wrong = refused(&plan(vec![nothing()], vec![job("cpuio", &[], 0, Verb::Read, 1)]))?;
    holds(wrong.contains("how much of a CPU"), wrong)
}

fn a_program_with_its_arguments() -> Outcome {
    let folder = tempfile::tempdir()?;
    let made = folder.path().join("exec-2");
    let arguments = format!("arguments={}/%n-%r", folder.path().display());
    let settings = ["program=/bin/touch", &arguments, "redirect=off"];
    let mut program = job("exec", &settings, 0, Verb::Read, 4096);
    program.limit.time_ns = Some(2_000_000_000);
    program.limit.operations = Some(2);
    tallies(&plan(vec![nothing()], vec![program]))?;
    holds(made.exists(), "nothing was made")
}

fn what_does_not_end_is_killed() -> Outcome {
    // The shell ignores being asked to end.
    let folder = tempfile::tempdir()?;
    let (script, alive) = (folder.path().join("s"), folder.path().join("alive"));
    std::fs::write(
        &script,
        format!("trap '' TERM\necho $$ > {}\nwhile :; do sleep 0.05; done\n", alive.display()),
    )?;
    let arguments = format!("arguments={}", script.display());
    let settings = ["program=/bin/sh", &arguments, "redirect=off", "grace_s=0"];
    let mut program = job("exec", &settings, 0, Verb::Read, 4096);
    program.limit.operations = Some(8);
    tallies(&plan(vec![nothing()], vec![program]))?;
    let pid = std::fs::read_to_string(&alive)?;
    let gone = !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists();
    holds(gone || cfg!(not(target_os = "linux")), format!("process {pid} still runs"))
}
