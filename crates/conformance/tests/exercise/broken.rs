//! File systems that break one rule each: the exerciser has to find it, and its short script has to show it again, there
//! and not on a sound one.

use std::path::Path;

use iodyno_model::{Exercise, ExerciseKind, ExerciseRecord};
use testbed::rogue::{Fault, Rogue};
use testbed::{Case, Need, Outcome};

use crate::plans::{ENGINES, all, clean, exercise, left, races};

/// A script is short that has so many lines at most.
const SHORT: usize = 10;

/// What each breaks, and what the exerciser must say of it.
const CONTENT: [(Fault, &[&str]); 14] = [
    (Fault::TruncateUncovers, &["old data", "should be 0x00", "stale"]),
    (Fault::TruncateGrowsNothing, &["bytes long"]),
    (Fault::WriteCut, &["zeros where data", "bytes long", "stale", "of them", "moved"]),
    (Fault::HoleHoldsGarbage, &["data where zeros should be", "never in these files"]),
    (Fault::AllocateKeepsSize, &["bytes long"]),
    (Fault::KeepSizeGrows, &["bytes long"]),
    (Fault::AllocateClears, &["zeros where data should be"]),
    (Fault::PunchKeepsData, &["stale", "old data"]),
    (Fault::PunchTruncates, &["bytes long", "zeros where data"]),
    (Fault::ZeroKeepsData, &["stale", "old data"]),
    (Fault::SeekSkipsData, &["said to be a hole", "next data"]),
    (Fault::CopyForgets, &["zeros where data should be"]),
    (Fault::MappedWritesLost, &["zeros where data", "stale", "bytes long"]),
    (Fault::SizeRounded, &["bytes long"]),
];

/// Everything but io_uring: on FUSE, Linux 6.18 says of some of its reads across the end of a file that more came than there
/// is.
fn drawn(operations: u64) -> Exercise {
    let engines = ENGINES.into_iter().filter(|engine| *engine != "io_uring").map(String::from).collect();
    Exercise { engines, ..all(operations) }
}

fn replay(directory: &Path, kind: ExerciseKind, script: &[String]) -> Result<ExerciseRecord, String> {
    let base = if kind == ExerciseKind::Names { races(2000) } else { all(0) };
    exercise(directory, &Exercise { script: script.to_vec(), ..base }, 1)
}

fn planted(fault: Fault, said: &'static [&'static str]) -> Outcome {
    let broken = Rogue::mount(Some(fault))?;
    let record = exercise(broken.path(), &drawn(20_000), 1)?;
    let found = record.failure.ok_or_else(|| format!("not found: {}", fault.text()))?;
    println!("{}\n{}\n{}\n", fault.name(), found.text, found.script.join("\n"));
    assert!(said.iter().any(|said| found.text.contains(said)), "{}", found.text);
    assert!(found.script.len() <= SHORT, "{} lines", found.script.len());
    assert!(
        replay(broken.path(), ExerciseKind::Content, &found.script)?.failure.is_some(),
        "it shows it again"
    );
    let sound = Rogue::mount(None)?;
    clean(&replay(sound.path(), ExerciseKind::Content, &found.script)?)?;
    Ok(())
}

fn unbroken() -> Outcome {
    let sound = Rogue::mount(None)?;
    let mut all = drawn(5000);
    // FUSE asks the file system for holes before it has told it of what was written through a mapping.
    all.weights.retain(|(name, _)| name != "seek");
    let record = exercise(sound.path(), &all, 1)?;
    clean(&record)?;
    assert_eq!(left(sound.path()), Vec::<String>::new());
    clean(&exercise(sound.path(), &races(300), 1)?)?;
    Ok(())
}

/// What calls of a single process already show, and what only racing ones do.
const NAMES: [Fault; 8] = [
    Fault::RenameKeepsOld,
    Fault::RenameIgnored,
    Fault::LinkCountStays,
    Fault::UnlinkCountStays,
    Fault::LinkCopies,
    Fault::RmdirRemovesFull,
    Fault::RenameReplacesFull,
    Fault::RenameNotAtomic,
];

fn raced(fault: Fault) -> Outcome {
    let broken = Rogue::mount(Some(fault))?;
    let record = exercise(broken.path(), &races(30_000), 1)?;
    let found = record.failure.ok_or_else(|| format!("not found: {}", fault.text()))?;
    println!(
        "{}, after {} races\n{}\n{}\n",
        fault.name(),
        found.operation,
        found.text,
        found.script.join("\n")
    );
    assert!(found.text.contains("no order of these calls"), "{}", found.text);
    assert!(found.script.len() <= SHORT, "{} lines", found.script.len());
    if fault == Fault::RenameNotAtomic {
        // Only now and then.
        return Ok(());
    }
    assert!(
        replay(broken.path(), ExerciseKind::Names, &found.script)?.failure.is_some(),
        "it shows it again"
    );
    let sound = Rogue::mount(None)?;
    clean(&replay(sound.path(), ExerciseKind::Names, &found.script)?)?;
    Ok(())
}

/// Races go on after one that is known, and end at one that is not.
fn known() -> Outcome {
    let broken = Rogue::mount(Some(Fault::LinkCopies))?;
    let first = exercise(broken.path(), &races(30_000), 1)?.failure.ok_or("not found")?;
    let with = |known: String, count| Exercise { known: vec![known], ..races(count) };
    let record = exercise(broken.path(), &with(first.script.join("\n"), first.operation + 1), 1)?;
    let met = record.done.iter().find(|(name, _)| name == "known race");
    assert!(record.failure.is_none() && met.is_some_and(|(_, count)| *count == 1), "{record:?}");
    let other = "p1: stat a\np2: stat a".to_string();
    assert!(exercise(broken.path(), &with(other, 30_000), 1)?.failure.is_some());
    Ok(())
}

pub fn cases() -> Vec<Case> {
    let needs = [Need::Root, Need::Fuse];
    let content = CONTENT.into_iter().map(|(fault, said)| {
        Case::new(format!("found_{}", fault.name()), &needs, move || planted(fault, said))
    });
    let names = NAMES
        .into_iter()
        .map(|fault| Case::new(format!("raced_{}", fault.name()), &needs, move || raced(fault)).against());
    let unbroken = Case::new("what_keeps_all_rules_is_clean", &needs, unbroken);
    let known = Case::new("races_go_on_after_a_known_one", &needs, known);
    content.chain(names).chain([unbroken, known]).collect()
}
