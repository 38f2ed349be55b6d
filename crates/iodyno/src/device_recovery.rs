//! What is said after a run that overwrote what was on a device: how it comes back into use.
//!
//! Makes nothing itself, and says nothing where an original would not.

use iodyno_model::{Content, Diagnostic, Origin, Plan};

use crate::session::OutputPolicy;

/// A note for each device that the plan overwrites, by what it carries now, before the run.
pub fn of(plan: &Plan, policy: &OutputPolicy) -> Vec<Diagnostic> {
    // What is copied to a device is what it is to hold.
    let copies =
        plan.phases.iter().flat_map(|phase| &phase.jobs).any(|job| job.payload.content == Content::Carried);
    if policy.original || policy.quiet || copies {
        return Vec::new();
    }
    iodyno_engine::given_up(plan).iter().map(|(path, carried)| note(path, *carried)).collect()
}

fn note(path: &str, carried: Option<&str>) -> Diagnostic {
    let what = carried.map_or("what was on it".to_string(), |carried| format!("{carried} was on it, which"));
    let message = format!("{path}: {what} is overwritten");
    Diagnostic::note(&Origin::Default, message).hint(lines(path, carried.unwrap_or_default()))
}

/// The commands that make the same anew; of what has many parts, a file system.
fn lines(path: &str, carried: &str) -> String {
    let maker = match carried.split_whitespace().nth(1) {
        Some("XFS") => "mkfs.xfs -f",
        Some("btrfs") => "mkfs.btrfs -f",
        Some("F2FS") => "mkfs.f2fs -f",
        Some("NTFS") => "mkfs.ntfs -f",
        Some("exFAT") => "mkfs.exfat",
        Some("FAT") => "mkfs.vfat",
        _ if carried == "swap space" => return format!("mkswap {path} && swapon {path}"),
        Some("LVM") => return format!("pvcreate {path}"),
        _ => "mkfs.ext4",
    };
    format!("{maker} {path} && mount {path} /mnt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_made_anew() {
        for (carried, wanted) in [
            (Some("an ext2/3/4 file system"), "mkfs.ext4 /dev/x && mount /dev/x /mnt"),
            (Some("a btrfs file system"), "mkfs.btrfs -f /dev/x && mount /dev/x /mnt"),
            (Some("swap space"), "mkswap /dev/x && swapon /dev/x"),
            (Some("an LVM physical volume"), "pvcreate /dev/x"),
            (None, "mkfs.ext4 /dev/x && mount /dev/x /mnt"),
        ] {
            assert_eq!(note("/dev/x", carried).hint.as_deref(), Some(wanted));
        }
    }
}
