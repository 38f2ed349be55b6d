//! Huge pages: what the kernel says of the advice, which it takes even where it has no huge page to give at the moment.

use std::path::Path;

use iodyno_engine::memory::Memory;
use iodyno_model::Buffers;
use testbed::{Case, Need, Outcome, Skip};

pub fn cases() -> Vec<Case> {
    vec![Case::new("huge_pages_are_asked_for", &[Need::That(known)], asked_for)]
}

fn known() -> Result<(), Skip> {
    match Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
        true => Ok(()),
        false => Err(Skip::new("the kernel has no transparent huge pages")),
    }
}

fn asked_for() -> Outcome {
    assert!(advised(4 << 20)? && !advised(0)?);
    Ok(())
}

/// Whether the kernel was asked for huge pages where data moves about in so much memory.
fn advised(arena_bytes: u64) -> Result<bool, Box<dyn std::error::Error>> {
    let wanted = Buffers { arena_bytes, ..Buffers::default() };
    let memory = Memory::of(1, 4 << 20, &wanted).map_err(|failure| failure.message)?;
    let maps = std::fs::read_to_string("/proc/self/smaps")?;
    let at = memory.buffer(0) as usize;
    let holds = |line: &str| {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some((number(from)?..number(to)?).contains(&at))
    };
    let behind = maps.lines().skip_while(|line| holds(line) != Some(true));
    let flags = behind.skip(1).find(|line| line.starts_with("VmFlags:")).ok_or("no flags are told")?;
    Ok(flags.split(' ').any(|flag| flag == "hg"))
}
