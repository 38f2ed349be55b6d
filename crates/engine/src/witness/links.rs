//! What lies between a host and its storage, and what that carries: buses of block devices, links of the network.
//!
//! Sources: the ancestors of the device in `/sys` (`current_link_speed` of PCI functions, `sata_spd`, `speed` of USB and of
//! Fibre Channel hosts), `/sys/class/net/*/speed`, `/sys/class/infiniband/*/ports/*/rate`. A link that does not say what it
//! carries makes the whole unknown: a ceiling that is too low would call an honest figure untrue.

use std::fs;
use std::path::Path;

use iodyno_model::Link;
use iodyno_model::shared_storage::{Way, way};

/// Whether a file system's data come through the network.
pub fn is_network(file_system: &str) -> bool {
    way(file_system) == Some(Way::Network)
}

/// The narrowest link above a disk; none: none is known (a virtual disk, an array).
pub fn of_disk(sys: &Path, disk: &str) -> Option<Link> {
    let device = fs::canonicalize(sys.join("class/block").join(disk)).ok()?;
    device.ancestors().take_while(|place| place.starts_with(sys)).filter_map(bus).min_by_key(|link| link.bits)
}

/// The link by which a device hangs on what is above it.
fn bus(place: &Path) -> Option<Link> {
    let read = |file: &str| fs::read_to_string(place.join(file)).ok().map(|text| text.trim().to_string());
    let name = place.file_name()?.to_string_lossy();
    if let Some((speed, width)) = read("current_link_speed").zip(read("current_link_width")) {
        return pcie(&speed, width.parse().ok()?);
    }
    if read("busnum").is_some() {
        let megabits: f64 = read("speed")?.parse().ok()?;
        return link(format!("USB {megabits} Mbit/s"), megabits * 1e6);
    }
    if name.starts_with("host") {
        let text = read(&format!("fc_host/{name}/speed"))?;
        let gigabits: f64 = text.strip_suffix(" Gbit")?.parse().ok()?;
        return link(format!("Fibre Channel {gigabits} Gbit/s"), gigabits * 1e9);
    }
    if name.starts_with("ata") {
        let speeds = entries(place).into_iter().filter(|entry| entry.starts_with("link")).flat_map(|entry| {
            let links = place.join(entry).join("ata_link");
            entries(&links).into_iter().filter_map(move |each| {
                let text = fs::read_to_string(links.join(each).join("sata_spd")).ok()?;
                text.trim().strip_suffix(" Gbps")?.parse::<f64>().ok()
            })
        });
        let gigabits = speeds.reduce(f64::max)?;
        return link(format!("SATA {gigabits:.1} Gbit/s"), gigabits * 1e9);
    }
    None
}

/// `8.0 GT/s PCIe` and how many lanes. Up to 5 GT/s ten bits carry a byte, up to 32 GT/s 130 carry 128; faster ones lose
/// less than what is allowed for.
fn pcie(speed: &str, lanes: u64) -> Option<Link> {
    let transfers: f64 = speed.split(' ').next()?.parse().ok()?;
    let code = if transfers <= 5.0 { 0.8 } else { 128.0 / 130.0 };
    link(format!("PCIe {transfers:.1} GT/s x{lanes}"), transfers * 1e9 * code * lanes as f64)
}

/// All links of the host to its networks together; none where one of them is up and does not say.
pub fn of_host(sys: &Path) -> Option<Link> {
    let mut links: Vec<(String, u64)> = Vec::new();
    let net = sys.join("class/net");
    for name in entries(&net) {
        let read = |file: &str| fs::read_to_string(net.join(&name).join(file)).unwrap_or_default();
        // What has no device is made of others: a bridge, a bond, a VLAN, the loop.
        if read("operstate").trim() == "down" || !net.join(&name).join("device").exists() {
            continue;
        }
        let megabits = read("speed").trim().parse::<u64>().ok().filter(|speed| *speed > 0)?;
        links.push((name, megabits * 1_000_000));
    }
    let infiniband = sys.join("class/infiniband");
    for name in entries(&infiniband) {
        let ports = infiniband.join(&name).join("ports");
        for port in entries(&ports) {
            // `100 Gb/sec (4X EDR)`
            let text = fs::read_to_string(ports.join(&port).join("rate")).unwrap_or_default();
            let gigabits: f64 = text.split(' ').next()?.parse().ok()?;
            links.push((format!("{name}/{port}"), (gigabits * 1e9) as u64));
        }
    }
    links.sort();
    let names: Vec<&str> = links.iter().map(|(name, _)| name.as_str()).collect();
    link(names.join(" and "), links.iter().map(|(_, bits)| *bits as f64).sum())
}

fn link(name: String, bits: f64) -> Option<Link> {
    (bits > 0.0).then_some(Link { name, bits: bits as u64 })
}

fn entries(place: &Path) -> Vec<String> {
    let all = fs::read_dir(place).into_iter().flatten().flatten();
    all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree like `/sys`: files with their texts, and links.
    fn tree(files: &[(&str, &str)], links: &[(&str, &str)]) -> tempfile::TempDir {
        let there = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = there.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for (path, target) in links {
            let path = there.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(there.path().join(target), path).unwrap();
        }
        there
    }

    fn of(files: &[(&str, &str)], disk: &str) -> Option<(String, u64)> {
        let there = tree(files, &[("class/block/d", disk)]);
        let sys = fs::canonicalize(there.path()).unwrap();
        of_disk(&sys, "d").map(|link| (link.name, link.bits))
    }

    #[test]
    fn the_narrowest_bus_counts() {
        let nvme = [
            ("devices/pci0/0000:01/current_link_speed", "16.0 GT/s PCIe\n"),
            ("devices/pci0/0000:01/current_link_width", "16\n"),
            ("devices/pci0/0000:01/0000:02/current_link_speed", "8.0 GT/s PCIe\n"),
            ("devices/pci0/0000:01/0000:02/current_link_width", "4\n"),
            ("devices/pci0/0000:01/0000:02/nvme/nvme0/nvme0n1/size", "1\n"),
        ];
        let disk = "devices/pci0/0000:01/0000:02/nvme/nvme0/nvme0n1";
        assert_eq!(of(&nvme, disk), Some(("PCIe 8.0 GT/s x4".into(), 31_507_692_307)));
        let sata = [
            ("devices/pci0/ata3/link3/ata_link/link3/sata_spd", "6.0 Gbps\n"),
            ("devices/pci0/ata3/host2/target/block/sda/size", "1\n"),
        ];
        let disk = "devices/pci0/ata3/host2/target/block/sda";
        assert_eq!(of(&sata, disk), Some(("SATA 6.0 Gbit/s".into(), 6_000_000_000)));
        let usb = [("devices/usb1/1-1/busnum", "1\n"), ("devices/usb1/1-1/speed", "480\n")];
        let disk = [usb[0], usb[1], ("devices/usb1/1-1/host3/block/sdb/size", "1\n")];
        let found = of(&disk, "devices/usb1/1-1/host3/block/sdb");
        assert_eq!(found, Some(("USB 480 Mbit/s".into(), 480_000_000)));
        let fibre = [
            ("devices/host4/fc_host/host4/speed", "32 Gbit\n"),
            ("devices/host4/rport/block/sdc/size", "1\n"),
        ];
        let found = of(&fibre, "devices/host4/rport/block/sdc");
        assert_eq!(found, Some(("Fibre Channel 32 Gbit/s".into(), 32_000_000_000)));
        assert_eq!(of(&[("devices/virtual/block/loop0/size", "1\n")], "devices/virtual/block/loop0"), None);
    }

    #[test]
    fn all_links_of_a_host_or_none() {
        let ethernet = [
            ("class/net/eth0/speed", "25000\n"),
            ("class/net/eth0/operstate", "up\n"),
            ("class/net/eth0/device/vendor", "x\n"),
            ("class/net/eth1/operstate", "down\n"),
            ("class/net/eth1/device/vendor", "x\n"),
            ("class/net/lo/operstate", "unknown\n"),
            ("class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n"),
        ];
        let found = of_host(tree(&ethernet, &[]).path());
        assert_eq!(found, Some(Link { name: "eth0 and mlx5_0/1".into(), bits: 125_000_000_000 }));
        let silent = [
            ethernet[0],
            ethernet[1],
            ethernet[2],
            ("class/net/eth2/speed", "-1\n"),
            ("class/net/eth2/operstate", "up\n"),
            ("class/net/eth2/device/vendor", "x\n"),
        ];
        assert_eq!(of_host(tree(&silent, &[]).path()), None);
        assert_eq!(of_host(tree(&[], &[]).path()), None);
    }
}
