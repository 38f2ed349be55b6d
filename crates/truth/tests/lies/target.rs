//! Targets in disguise (22).

use iodyno_model::{Intent, Severity, Sighting, Verb};

use crate::stage::*;

#[test]
fn targets_in_disguise() {
    fn lies_on(stage: &mut Stage, file_system: &str, disk: &str) {
        stage.no_device();
        stage.found.sightings.push(Sighting::Target(Box::new(facts(file_system, disk))));
    }
    for memory in ["tmpfs", "ramfs"] {
        let mut stage = honest(Verb::Read);
        lies_on(&mut stage, memory, "");
        // Said once: that its pages are resident is no second lie.
        stage.buffered();
        stage.resident(GIB, GIB);
        assert_eq!(stage.caught(), [(22, Severity::Doubtful)]);
        stage.intent = Intent::Cache;
        assert_eq!(stage.judged(), []);
    }
    lie(Verb::Read, (22, Severity::Doubtful), |s| lies_on(s, "ext4", "zram0"));
    for (file_system, disk) in
        [("overlay", "sda"), ("ext4", "loop3"), ("fuse.sshfs", ""), ("fuseblk", "sdb"), ("nfs4", "")]
    {
        let mut stage = honest(Verb::Read);
        lies_on(&mut stage, file_system, disk);
        assert_eq!(stage.caught(), [(22, Severity::Note)], "{file_system} on {disk}");
    }
    for (file_system, disk) in
        [("ext4", "sda"), ("xfs", "nvme0n1"), ("btrfs", "vda"), ("ext4", "dm-0"), ("zfs", "")]
    {
        let mut stage = honest(Verb::Read);
        lies_on(&mut stage, file_system, disk);
        assert_eq!(stage.judged(), [], "{file_system} on {disk}");
    }
}
