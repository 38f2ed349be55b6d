//! What a crash leaves of real file systems on a recording disk.

mod replaced_file;
mod states;

use std::process::ExitCode;

use testbed::{Case, Need};

fn main() -> ExitCode {
    iodyno_crash::disk::serve_when_asked();
    let needs = |name: &'static str, maker: &'static str| {
        vec![Need::Fuse, Need::Loop, Need::FileSystem(name), Need::Tool(maker)]
    };
    let mut cases = Vec::new();
    for (name, maker) in [("ext4", "mkfs.ext4"), ("xfs", "mkfs.xfs"), ("btrfs", "mkfs.btrfs")] {
        let needs = needs(name, maker);
        cases.push(Case::new(format!("honest_{name}_keeps_what_it_promised"), &needs, move || {
            states::honest(name)
        }));
        if name != "btrfs" {
            cases.push(Case::new(format!("{name}_on_devices_that_lie"), &needs, move || states::lying(name)));
        }
    }
    let ext4 = needs("ext4", "mkfs.ext4");
    cases.push(Case::new("a_recording_has_marks_between_its_writes", &ext4, states::marks_are_in_order));
    cases.push(Case::new("a_violating_state_shrinks_to_one_missing_write", &ext4, states::shrinks));
    cases.push(Case::new("nothing_is_left_of_a_recording", &ext4, states::leaves_nothing));
    testbed::run(cases)
}
