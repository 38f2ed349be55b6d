//! How blocks of several workers lie in a file, as a drawing, and who reads whose data.

use std::collections::BTreeSet;

use iodyno_model::{Job, Phase, Pick, Place, Target, TargetKind, Verb, Workload};

use super::amount::{self, PlanFacts};
use super::exact::{bytes, many};
use super::explain::{Explainer, name};

/// Segments that are drawn at most, with the last.
const SEGMENTS_MOST: u64 = 4;
/// Workers that are listed at most.
const WORKERS_MOST: usize = 16;

/// Nothing is drawn of more workers on a rank: nobody would read it.
const WORKERS_DRAWN: u32 = 1 << 16;

/// The blocks of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocks {
    block_bytes: u64,
    transfer_bytes: u64,
    /// Segments of a shared file, or blocks of each worker's own.
    count: u64,
    is_own: bool,
    is_shuffled: bool,
    workers: u32,
}

/// The drawings of all jobs whose blocks lie side by side; nothing where there is none.
pub(crate) fn lines(scene: &PlanFacts<'_>, explainer: &Explainer<'_>) -> Vec<String> {
    let mut drawn: Vec<(String, Blocks)> = Vec::new();
    let mut lines = Vec::new();
    for phase in &scene.plan.phases {
        for job in &phase.jobs {
            let Some(blocks) = blocks(job).filter(|_| job.workers <= WORKERS_DRAWN) else { continue };
            let owners = (explainer.owners)(scene.plan, phase, job);
            let blocks = Blocks { workers: owners.len() as u32, ..blocks };
            for target in scene.targets(job) {
                let drawing = (name(target), blocks);
                if !drawn.contains(&drawing) {
                    lines.extend(drawing_lines(target, blocks, explainer.columns));
                    drawn.push(drawing);
                }
            }
            let line = who_reads(phase, job, &owners);
            lines.extend(line.filter(|line| !lines.contains(line)));
        }
    }
    lines
}

fn blocks(job: &Job) -> Option<Blocks> {
    let Workload::Pattern(pattern) = &job.workload else { return None };
    let is_write = amount::writes(job) > 0.0;
    let (pick, size) = match is_write {
        true => (&pattern.pick.write, &pattern.size.write),
        false => (&pattern.pick.read, &pattern.size.read),
    };
    let Pick::Segmented { block_bytes, count, stride_bytes, shuffled } = *pick else { return None };
    let transfer_bytes = size.least_bytes().filter(|bytes| *bytes > 0)?;
    let is_own = stride_bytes > 0;
    (count > 0 && block_bytes > 0 && job.workers > 0).then_some(Blocks {
        block_bytes,
        transfer_bytes,
        count,
        is_own,
        is_shuffled: shuffled,
        workers: job.workers,
    })
}

fn drawing_lines(target: &Target, blocks: Blocks, columns: usize) -> Vec<String> {
    let Blocks { block_bytes, transfer_bytes, count, workers, .. } = blocks;
    let tasks = many(workers.into(), "task");
    let each = bytes(block_bytes);
    let all = |per: u64| bytes(count.saturating_mul(per).saturating_mul(block_bytes));
    let path = name(target);
    let is_stored = matches!(target.kind, TargetKind::File { .. } | TargetKind::Device { .. });
    let mut lines = vec![match (blocks.is_own, is_stored) {
        (true, _) => {
            format!("{path}, one for each of {tasks}: {} of {each} = {} each", many(count, "block"), all(1))
        }
        (false, _) => format!(
            "{path}, shared by {tasks}: {} of {} of {each} = {}",
            many(count, "segment"),
            many(workers.into(), "block"),
            all(workers.into())
        ),
    }];
    let (rows, across, row_name, cell_name) = match blocks.is_own {
        true => (u64::from(workers), count, "task", "block "),
        false => (count, u64::from(workers), "segment", "task "),
    };
    let shown = |all: u64| (0..all).filter(move |row| row + 1 == all || *row + 1 < SEGMENTS_MOST);
    let wide = format!("{row_name} {}", rows - 1).len();
    let room = columns.saturating_sub(wide + 8);
    let row_text = row_of_blocks(across, cell_name, blocks, room);
    for row in shown(rows) {
        if row > SEGMENTS_MOST - 2 && row + 1 == rows && rows > SEGMENTS_MOST {
            lines.push(format!("  {:wide$}  ⋮", ""));
        }
        lines.push(format!("  {:wide$}  {row_text}", format!("{row_name} {row}")));
    }
    let order = if blocks.is_shuffled { "in random order" } else { "in order" };
    let transfers = block_bytes / transfer_bytes;
    lines.push(format!(
        "  each block: {} of {}, {order}",
        many(transfers, "transfer"),
        bytes(transfer_bytes)
    ));
    lines
}

/// Blocks side by side, with a dot for each transfer where they are few: as many as there is room for, and the last.
fn row_of_blocks(across: u64, cell_name: &str, blocks: Blocks, room: usize) -> String {
    let transfers = blocks.block_bytes / blocks.transfer_bytes;
    let dots = if transfers <= 8 { "·".repeat(transfers as usize) } else { "··…·".into() };
    let cell = |number: u64| format!("│{cell_name}{number} {dots}");
    let last = cell(across - 1) + "│";
    let mut text = String::new();
    for number in 0..across {
        let next = cell(number);
        let left = across - 1 - number;
        let needed = if left == 0 {
            next.chars().count() + 1
        } else {
            next.chars().count() + last.chars().count() + 3
        };
        if text.chars().count() + needed > room && left > 0 && number > 0 {
            return format!("{text}│ … {last}");
        }
        text.push_str(&next);
    }
    text + "│"
}

/// Who reads whose data, where it is not their own.
fn who_reads(phase: &Phase, job: &Job, owners: &[u32]) -> Option<String> {
    if amount::reads(job) == 0.0 || owners.len() < 2 {
        return None;
    }
    let checks = if job.payload.verify.is_some() { " and compares" } else { "" };
    let verb = Verb::Read.name();
    if job.place == Place::Own {
        return Some(format!("{}: each task {verb}s{checks} its own data", phase.name));
    }
    let pairs: Vec<String> = owners
        .iter()
        .enumerate()
        .take(WORKERS_MOST)
        .map(|(worker, owner)| format!("{worker}←{owner}"))
        .collect();
    let more = if owners.len() > WORKERS_MOST { ", …" } else { "" };
    let mut text = format!(
        "{}: a task {verb}s{checks} what another wrote (task←owner): {}{more}",
        phase.name,
        pairs.join(", ")
    );
    let read: BTreeSet<u32> = owners.iter().copied().collect();
    let unread = owners.len() - read.len();
    if unread > 0 {
        text.push_str(&format!("; nobody {verb}s the data of {}", many(unread as u64, "task")));
    }
    let own = owners.iter().enumerate().filter(|(worker, owner)| *worker as u32 == **owner).count();
    if own > 0 {
        let meet = if own == 1 { "meets its" } else { "meet their" };
        text.push_str(&format!("; {} {meet} own data, which may be in memory", many(own as u64, "task")));
    }
    Some(text)
}
