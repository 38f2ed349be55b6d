//! Lie 22: a target that is not what it seems: memory that looks like a file system, a file that looks like a device.
//!
//! What lives in memory is doubtful; what only has a layer between is a note. It reads names that the kernel gives, and
//! says nothing about a target that no witness could name.

use iodyno_model::{Figure, FindingKind, Intent, Remedy, Severity, TargetFacts, shared_storage};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// What a target turned out to be.
struct Disguise {
    severity: Severity,
    what: &'static str,
    because: &'static str,
    remedy: Remedy,
}

const MEMORY: Disguise = Disguise {
    severity: Severity::Doubtful,
    what: "memory",
    because: "it measures memory, no storage",
    remedy: Remedy::ChooseStorage,
};
const OVERLAY: Disguise = Disguise {
    severity: Severity::Note,
    what: "an overlay",
    because: "the first write to a file of the lower layer copies all of it",
    remedy: Remedy::LeaveOverlay,
};
const LOOP: Disguise = Disguise {
    severity: Severity::Note,
    what: "a loop device",
    because: "its blocks lie in a file, which has a page cache of its own",
    remedy: Remedy::SetUpDirectLoop,
};
const LOOP_DIRECT: Disguise = Disguise {
    severity: Severity::Note,
    what: "a loop device with direct I/O",
    because: "its blocks lie in a file, whose file system takes part",
    remedy: Remedy::MeasureBackingDevice,
};
const FUSE: Disguise = Disguise {
    severity: Severity::Note,
    what: "a FUSE file system",
    because: "a process in user space answers, with its own caches",
    remedy: Remedy::CompareStorageBelow,
};
const NETWORK: Disguise = Disguise {
    severity: Severity::Note,
    what: "a network file system",
    because: "server and network take part, and no device of this machine can be watched",
    remedy: Remedy::ReadAsWholePath,
};
const THIN: Disguise = Disguise {
    severity: Severity::Note,
    what: "a thin or mapped volume",
    because: "blocks that were never written are not there, and are made by the first write",
    remedy: Remedy::FillVolume,
};

/// Targets of this phase that are not what they seem.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let mut names: Vec<&str> = Vec::new();
    for target in case
        .storage_jobs()
        .flat_map(|(job, _)| case.targets(job))
        .filter(|target| !crate::generator::is_pseudo(target))
    {
        if !names.contains(&target.name.as_str()) {
            names.push(&target.name);
        }
    }
    let facts = names.into_iter().filter_map(|name| case.facts(name));
    facts.filter_map(|facts| suspicion(case, facts, disguise(facts)?)).collect()
}

/// Whether a target lives in memory: then there is no storage behind it whose work could be taken over.
pub fn is_memory(facts: &TargetFacts) -> bool {
    disguise(facts).is_some_and(|disguise| disguise.what == MEMORY.what)
}

/// What a target really is, if that is a surprise.
fn disguise(facts: &TargetFacts) -> Option<&'static Disguise> {
    let file_system = facts.file_system.as_deref().unwrap_or_default();
    let devices = [&facts.disk, &facts.device].map(|name| name.as_deref().unwrap_or_default());
    let is_device = |prefix: &str| {
        let numbered = |name: &&str| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
        };
        devices.iter().any(numbered)
    };
    let layered = |word: &str| facts.layers.iter().any(|layer| layer.contains(word));
    match file_system {
        "tmpfs" | "ramfs" | "hugetlbfs" | "devtmpfs" | "rootfs" => Some(&MEMORY),
        _ if is_device("zram") || is_device("ram") => Some(&MEMORY),
        "overlay" | "aufs" | "unionfs" => Some(&OVERLAY),
        name if shared_storage::way(name).is_some() => Some(&NETWORK),
        _ if is_device("loop") && layered("loop device with direct I/O") => Some(&LOOP_DIRECT),
        _ if is_device("loop") => Some(&LOOP),
        name if name == "fuse" || name.starts_with("fuseblk") || name.starts_with("fuse.") => Some(&FUSE),
        _ if layered("thin") => Some(&THIN),
        _ => None,
    }
}

fn suspicion(
    case: &PhaseEvidence<'_>,
    facts: &TargetFacts,
    disguise: &'static Disguise,
) -> Option<Suspicion> {
    if disguise.what == MEMORY.what && case.intent() == Intent::Cache {
        return None;
    }
    let kind = facts.file_system.as_deref().or(facts.disk.as_deref()).unwrap_or("unknown");
    let sentence = format!("{} lies on {} ({kind}): {}", facts.path, disguise.what, disguise.because);
    let sizes = [
        ("size", facts.size_bytes),
        ("free", facts.free_bytes),
        ("memory of the machine", facts.memory_bytes),
    ];
    let known = sizes.iter().filter_map(|(name, bytes)| Some(Figure::new(name, (*bytes)? as f64, "bytes")));
    let mut figures: Vec<Figure> = known.collect();
    if figures.is_empty() {
        figures.push(Figure::new("layers below", facts.layers.len() as f64, ""));
    }
    let found =
        Suspicion::new(FindingKind::DisguisedTarget, disguise.severity, case.label(), sentence, figures);
    let found = found.remedy(disguise.remedy).matter(disguise.what);
    // All of what memory answers was answered by memory.
    Some(if disguise.what == MEMORY.what { found.takes(1.0) } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_with_direct_io_is_not_told_to_use_it() {
        let remedy = |layer: &str| {
            let facts = TargetFacts {
                disk: Some("loop3".into()),
                layers: vec![layer.into()],
                ..TargetFacts::default()
            };
            disguise(&facts).map(|disguise| disguise.remedy)
        };
        assert_eq!(remedy("loop device, backed by /f"), Some(Remedy::SetUpDirectLoop));
        let direct = remedy("loop device with direct I/O, backed by /f");
        assert_eq!(direct, Some(Remedy::MeasureBackingDevice));
    }
}
