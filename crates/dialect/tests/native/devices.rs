//! Files of simulated devices: those that come with the program, and what is told of wrong ones.

use iodyno_dialect::native::device::{SHIPPED, named, parse};
use iodyno_report::device::toml;

fn told(text: &str) -> String {
    let wrong = parse(text, "mine.toml").expect_err("a wrong device was taken");
    wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_device_of_the_program_reads_and_is_written_as_it_was_read() {
    for (name, text) in SHIPPED {
        let device = parse(text, name).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
        assert_eq!(device.name, *name);
        assert!(!device.about.is_empty() && device.capacity_bytes() > 0, "{name}");
        let again = parse(&toml(&device), name).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
        assert_eq!(toml(&again), toml(&device));
        let kinds = |device: &iodyno_model::Device| {
            device.parts.iter().map(|part| (part.name.clone(), part.kind.clone())).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&again), kinds(&device), "{name}");
    }
    let mut names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(names, SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn each_file_beside_the_program_is_in_the_program() {
    let files = super::files("devices");
    let names = files.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_string()));
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    assert_eq!(names, SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn all_that_is_wrong_is_told_with_its_line() {
    let text = "name = \"x\"\ncapacty = 3\n\n[part.a.disk]\nrpm = 0\nseek = \"9 cows\"\nncq = 0\n\n[part.b.tape]\n\n[part.c]\n";
    assert_eq!(
        told(text),
        "error: mine.toml:2: `capacty`: a device has no such key\n hint: possible are about, entry, name, part, source\n\
         error: mine.toml:5: `rpm = 0`: expected a whole number from 1 to 4294967295\n\
         error: mine.toml:6: `seek = 9 cows`: expected a time such as 10s, 500ms or 2min\n\
         error: mine.toml:7: `ncq = 0`: expected a whole number from 1 to 4294967295\n\
         error: mine.toml:9: `tape`: there is no such kind of part\n \
         hint: possible are cloud, cluster, disk, network, nvme, page_cache, raid, server, ssd, station, volume\n\
         error: mine.toml:11: part `c` is of no kind\n \
         hint: write [part.c.KIND] with one of station, disk, ssd, nvme, raid, cloud, network, server, cluster, \
         volume, page_cache"
    );
}

#[test]
fn a_volume_stands_in_front_of_several_parts() {
    let disks = "[part.fast.disk]\n[part.slow.disk]\n";
    let told = |figures: &str| told(&format!("name = \"x\"\n[part.v.volume]\n{figures}\n{disks}"));
    assert_eq!(
        told("over = [\"fast\", \"slow\"]\nlayout = \"share\"\nshares = [0.5]"),
        "error: mine.toml:2: part v: 1 shares of 2 parts\n hint: a share for each part: shares = [0.9, 0.1]"
    );
    assert_eq!(
        told("over = [\"fast\", \"slow\", \"fast\"]"),
        "error: mine.toml:2: device x: part fast stands behind itself, or behind two parts\n \
         hint: let each part stand behind one other: write a second one with the same figures"
    );
    assert_eq!(
        told("over = [\"fast\"]"),
        "error: mine.toml:5: device x: no request comes to part slow\n \
         hint: let another part stand in front of it (over = \"NAME\"), or leave it out"
    );
}

#[test]
fn parts_must_stand_behind_each_other_in_a_tree() {
    assert_eq!(
        told("name = \"x\"\n[part.a.raid]\nover = \"b\"\n[part.b.raid]\nover = \"a\"\n"),
        "error: mine.toml:1: device x: each part stands behind another one\n \
         hint: one part must be first: let no other part stand in front of it"
    );
    assert_eq!(
        told("name = \"x\"\n[part.a.raid]\nover = \"c\"\ndisks = 3\nlevel = 10\n"),
        "error: mine.toml:2: part a: 3 disks make no pairs\n hint: RAID 10 needs an even number\n\
         error: mine.toml:2: part a: there is no part `c`\n hint: say over = \"NAME\" of a part: a"
    );
    assert_eq!(
        told("name = \"x\"\n[part.a.disk]\n[part.b.disk]\n"),
        "error: mine.toml:3: device x: no request comes to part b\n \
         hint: let another part stand in front of it (over = \"NAME\"), or leave it out"
    );
    let many = "name = \"x\"\n[part.a.cluster]\nover = \"b\"\nservers = 1000\n[part.b.raid]\nover = \"c\"\ndisks = 1000\n[part.c.disk]\n";
    assert_eq!(
        told(many),
        "error: mine.toml:1: device x: it is made of 1001001 parts, more than 100000\n hint: fewer servers or disks"
    );
}

#[test]
fn an_unknown_name_leads_to_the_nearest() {
    assert_eq!(named("hdd-720").unwrap_err(), "there is no device of that name; did you mean `hdd-7200`?");
}
