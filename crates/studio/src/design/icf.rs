//! A design as IOMeter's configuration file (version 1.1.0), and back.

use std::fmt::Write as _;

use iodyno_dialect::iometer::icf::entries;
use iodyno_dialect::iometer::settings::{self, CyclingTest, Manager, Settings, Worker};
use iodyno_dialect::iometer::specification::{AccessLine, Specification as Read};
use iodyno_model::Diagnostic;

use super::{DepthSweep, Design, DesignLine, OtherWorkers, Specification};

/// The file.
///
/// # Errors
/// Everything that it cannot say.
pub fn icf(design: &Design) -> Result<String, Vec<Diagnostic>> {
    let wrong = design.wrong();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut text = String::from("Version 1.1.0 \n");
    setup(design, &mut text);
    specifications(design, &mut text);
    workers(design, &mut text);
    text.push_str("Version 1.1.0 \n");
    Ok(text)
}

fn setup(design: &Design, text: &mut String) {
    let (hours, minutes, seconds) = (design.run_s / 3600, design.run_s / 60 % 60, design.run_s % 60);
    let (from, to, step, kind) = match &design.sweep {
        Some(sweep) => {
            (sweep.from, sweep.to, sweep.step, if sweep.exponential { "EXPONENTIAL" } else { "LINEAR" })
        }
        None => (1, 32, 2, "EXPONENTIAL"),
    };
    let test = if design.sweep.is_some() { "CYCLE_OUTSTANDING_IOS" } else { "NORMAL" };
    let _ = write!(
        text,
        "'TEST SETUP ====================================================================\n\
         'Test Description\n\t{}\n\
         'Run Time\n'\thours      minutes    seconds\n\t{hours}          {minutes}          {seconds}\n\
         'Ramp Up Time (s)\n\t{}\n\
         'Default Disk Workers to Spawn\n\tNUMBER_OF_CPUS\n\
         'Default Network Workers to Spawn\n\t0\n\
         'Record Results\n\tALL\n\
         'Worker Cycling\n'\tstart      step       step type\n\t1          1          LINEAR\n\
         'Disk Cycling\n'\tstart      step       step type\n\t1          1          LINEAR\n\
         'Queue Depth Cycling\n'\tstart      end        step       step type\n\t{from}          {to}          {step}          {kind}\n\
         'Test Type\n\t{test}\n\
         'END test setup\n\
         'RESULTS DISPLAY ===============================================================\n\
         'Record Last Update Results,Update Frequency,Update Type\n\tDISABLED,{},LAST_UPDATE\n\
         'END results display\n",
        design.description, design.ramp_s, design.update_s
    );
}

fn specifications(design: &Design, text: &mut String) {
    text.push_str("'ACCESS SPECIFICATIONS =========================================================\n");
    for known in &design.specifications {
        let _ = write!(
            text,
            "'Access specification name,default assignment\n\t{},NONE\n\
             'size,% of size,% reads,% random,delay,burst,align,reply\n",
            known.name.trim()
        );
        for DesignLine { bytes, percent, reads, random, delay_ms, burst, align } in &known.lines {
            let _ = writeln!(text, "\t{bytes},{percent},{reads},{random},{delay_ms},{burst},{align},0");
        }
    }
    text.push_str("'END access specifications\n");
}

fn workers(design: &Design, text: &mut String) {
    text.push_str("'MANAGER LIST ==================================================================\n");
    text.push_str("'Manager ID, manager name\n\t1,\n'Manager network address\n\t\n");
    let seed = match design.seed {
        Some(seed) => format!("ENABLED,{seed}"),
        None => "DISABLED,0".into(),
    };
    let target = |path: &String| format!("'Target\n\t{path}\n'Target type\n\tDISK\n'End target\n");
    let mut number = 0;
    for group in design.groups() {
        let assigned: String = group.names.iter().map(|name| format!("\t{name}\n")).collect();
        let targets: String = group.targets.iter().map(target).collect();
        for _ in 0..group.workers {
            number += 1;
            let _ = write!(
                text,
                "'Worker\n\tWorker {number}\n'Worker type\n\tDISK\n\
                 'Default target settings for worker\n\
                 'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\n\
                 \t{},DISABLED,1,{seed}\n\
                 'Disk maximum size,starting sector,Data pattern\n\t{},{},{}\n\
                 'End default target settings for worker\n\
                 'Assigned access specs\n{assigned}'End assigned access specs\n\
                 'Target assignments\n{targets}'End target assignments\n'End worker\n",
                group.depth, group.sectors, group.first_sector, group.content
            );
        }
    }
    text.push_str("'End manager\n'END manager list\n");
}

/// The design in a file, and what of it the page does not show.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn of_icf(path: &str, text: &str) -> Result<(Design, Vec<String>), Vec<Diagnostic>> {
    let entries = entries(path, text)?;
    let update = entries.iter().find(|entry| entry.key.starts_with("record last update results"));
    let update = update.and_then(|entry| entry.value().split(',').nth(1)?.trim().parse().ok());
    let settings = settings::read(path, &entries)?;
    let of_manager = settings.managers.iter().find(|known| !known.workers.is_empty());
    let Some(manager) = of_manager else {
        return Ok((Design::default(), vec!["it names no worker".into()]));
    };
    let mut groups: Vec<OtherWorkers> = Vec::new();
    for worker in manager.workers.iter().filter(|worker| !worker.targets.is_empty()) {
        let own = others(&settings, worker);
        match groups.last_mut().filter(|last| OtherWorkers { workers: 1, ..(*last).clone() } == own) {
            Some(alike) => alike.workers += 1,
            None => groups.push(own),
        }
    }
    let first = if groups.is_empty() { others(&settings, &manager.workers[0]) } else { groups.remove(0) };
    let used = |name: &str| {
        let mut all = first.does.iter().chain(groups.iter().flat_map(|group| &group.does));
        all.any(|known| known.eq_ignore_ascii_case(name))
    };
    let steps = settings.depths;
    let cycles = matches!(settings.test, CyclingTest::Depths | CyclingTest::DepthsAndTargets);
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".icf");
    let mut design = Design {
        name: stem.into(),
        description: settings.description.clone(),
        targets: first.targets.clone(),
        workers: first.workers,
        depth: first.depth,
        sectors: first.sectors,
        first_sector: first.first_sector,
        content: first.content,
        seed: manager.workers[0].seed,
        run_s: settings.run_s,
        ramp_s: settings.ramp_s,
        update_s: update.unwrap_or(1),
        specifications: settings.specifications.iter().map(|read| specification(read, &used)).collect(),
        sweep: cycles.then_some(DepthSweep {
            from: steps.start,
            to: steps.end.max(steps.start),
            step: steps.step,
            exponential: steps.exponential,
        }),
        ..Design::default()
    };
    let ticked: Vec<String> = design.assigned().map(|known| known.name.clone()).collect();
    let unless_all = |does: Vec<String>| if does == ticked { Vec::new() } else { does };
    design.does = unless_all(first.does);
    design.others = groups;
    for other in &mut design.others {
        other.does = unless_all(std::mem::take(&mut other.does));
        if other.targets == design.targets {
            other.targets.clear();
        }
    }
    Ok((design, losses(&settings, manager)))
}

/// A worker as the page has it.
fn others(settings: &Settings, worker: &Worker) -> OtherWorkers {
    OtherWorkers {
        workers: 1,
        targets: worker.targets.iter().map(|(_, name)| name.clone()).collect(),
        depth: worker.depth,
        sectors: worker.sectors,
        first_sector: worker.first_sector,
        content: worker.content,
        does: assigned(settings, worker),
    }
}

/// The names of what a worker does: what it was given, or what all are given.
fn assigned(settings: &Settings, worker: &Worker) -> Vec<String> {
    // As the specification itself writes it: the file may differ in case.
    let known = |name: &String| {
        let known = settings.specifications.iter().find(|known| known.name.eq_ignore_ascii_case(name));
        known.map_or_else(|| name.clone(), |known| known.name.clone())
    };
    if !worker.assigned.is_empty() {
        return worker.assigned.iter().map(|(_, name)| known(name)).collect();
    }
    let by_default = settings.specifications.iter().filter(|known| matches!(known.assignment, 1 | 2));
    by_default.map(|known| known.name.clone()).collect()
}

fn specification(read: &Read, is_assigned: &dyn Fn(&str) -> bool) -> Specification {
    let line = |line: &AccessLine| DesignLine {
        bytes: line.bytes,
        percent: line.percent,
        reads: line.reads,
        random: line.random,
        delay_ms: line.delay_ms,
        burst: line.burst,
        align: line.align,
    };
    let lines = read.lines.iter().map(line).collect();
    Specification { name: read.name.clone(), assigned: is_assigned(&read.name), lines }
}

fn losses(settings: &Settings, manager: &Manager) -> Vec<String> {
    let mut notes = Vec::new();
    if settings.managers.len() > 1 {
        notes.push(format!(
            "it names {} managers; only the workers of the first are shown: name the hosts below",
            settings.managers.len()
        ));
    }
    let workers = &manager.workers;
    if workers.iter().any(|worker| worker.seed != workers[0].seed) {
        notes.push("its workers have seeds of their own; here all have that of the first".into());
    }
    if workers.iter().any(|worker| worker.targets.is_empty()) {
        notes.push("workers without a target do nothing, and are left out".into());
    }
    if !matches!(settings.test, CyclingTest::Normal | CyclingTest::Depths) {
        notes.push("its cycling of workers or targets is not shown here".into());
    }
    notes
}
