//! Devices by the names that people use: `/dev/sda`, device-mapper names, persistent names, and partitions of a disk.
//!
//! The kernel's own name is what is watched; the other is what is printed.

use std::collections::BTreeMap;

use super::command::Command;
use crate::Loader;

/// Names that devices are printed by, where it is not the kernel's own.
pub type DeviceNames = BTreeMap<String, String>;

const CLASS: &str = "/sys/class/block";

/// The names that `-N` and `-j` ask for.
///
/// # Errors
/// That there are no persistent names of that kind.
pub fn names(command: &Command, loader: &mut dyn Loader) -> Result<DeviceNames, String> {
    let mut names = DeviceNames::new();
    if command.mapped {
        for device in loader.list(CLASS).unwrap_or_default() {
            if let Ok(name) = loader.read(&format!("{CLASS}/{device}/dm/name")) {
                names.insert(device, String::from_utf8_lossy(&name).trim().into());
            }
        }
    }
    if let Some(kind) = &command.persistent {
        let folder = format!("/dev/disk/by-{}", kind.to_lowercase());
        let links = loader.list(&folder).ok().filter(|_| !kind.contains('/'));
        let links = links.ok_or_else(|| format!("`-j {kind}`: there is no {folder}"))?;
        for link in links {
            if let Some(device) = kernel_name(&format!("{folder}/{link}"), loader) {
                names.entry(device).or_insert(link);
            }
        }
    }
    Ok(names)
}

fn kernel_name(path: &str, loader: &dyn Loader) -> Option<String> {
    loader.look(path)?.target.device
}

/// The kernel's names of what was typed: the device itself, and its partitions where they are meant too.
pub fn watched(typed: &str, partitions: bool, names: &DeviceNames, loader: &mut dyn Loader) -> Vec<String> {
    let known = names.iter().find(|(_, shown)| *shown == typed).map(|(kernel, _)| kernel.clone());
    let device = known.unwrap_or_else(|| match typed.strip_prefix("/dev/") {
        Some(rest) => kernel_name(typed, loader).unwrap_or_else(|| rest.into()),
        None => typed.into(),
    });
    let mut all = vec![device.clone()];
    if partitions && !device.contains('/') {
        let within = loader.list(&format!("{CLASS}/{device}")).unwrap_or_default();
        all.extend(within.into_iter().filter(|name| is_partition(name, &device)));
    }
    all
}

/// Whether a name is that of a partition of a disk: `sda1`, and `nvme0n1p1` where the disk's own ends in a digit.
fn is_partition(name: &str, disk: &str) -> bool {
    let rest = name.strip_prefix(disk).unwrap_or("");
    let number = match disk.ends_with(|last: char| last.is_ascii_digit()) {
        true => rest.strip_prefix('p').unwrap_or(""),
        false => rest,
    };
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_told_by_their_names() {
        for (name, disk, is) in [
            ("sda1", "sda", true),
            ("nvme0n1p12", "nvme0n1", true),
            ("size", "sda", false),
            ("sda", "sda", false),
            ("sdaa1", "sda", false),
            ("p1", "", false),
            ("loop11", "loop1", false),
            ("nvme0n10", "nvme0n1", false),
            ("sdap1", "sda", false),
            ("md127p2", "md127", true),
        ] {
            assert_eq!(is_partition(name, disk), is, "{name}");
        }
    }
}
