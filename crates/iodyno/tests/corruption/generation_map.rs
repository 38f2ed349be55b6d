//! A run writes and keeps a generation map; what it wrote is damaged between the runs; a second run checks against the
//! map and must name the damage, its place and nothing else. Plans and fio's command line.
//!
//! The older content is that of a run of the same seed that wrote once: so no device has to lie for most of it.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use testbed::fuse::{Config, Device, Fault, Pick, RequestKind};
use testbed::program::Program;
use testbed::{Case, Need, Outcome};

const BYTES: u64 = 256 << 10;
const BLOCK: usize = 4096;
/// Where the damage is planted: block 20 of 4 KiB, as the program writes it.
const PLACE: u64 = 20 * 4096;
const PLACE_SAID: &str = "byte 81,920";
/// A block before it.
const OTHER: u64 = 5 * 4096;

/// What happens to a file between two runs: the file, and the block at the place when it was written once.
type Tampering = fn(&fs::File, &[u8]) -> std::io::Result<()>;

/// Name, how often the file is written, the damage, and what must be said.
type Planted = (&'static str, u32, Tampering, &'static [&'static str]);

fn planted() -> Vec<Planted> {
    vec![
        ("sound", 2, |_, _| Ok(()), &[]),
        (
            "stale",
            2,
            |file, older| file.write_all_at(older, PLACE),
            &[PLACE_SAID, "stale: generation 0 found, 1 written"],
        ),
        (
            "torn",
            2,
            |file, older| file.write_all_at(&older[..1536], PLACE),
            &[PLACE_SAID, "torn: generation 0 inside"],
        ),
        ("misdirected", 2, misdirect, &[PLACE_SAID, "misdirected: holds the data of byte 20,480"]),
        ("zeroed", 2, |file, _| file.write_all_at(&[0; BLOCK], PLACE), &[PLACE_SAID, "zeroed"]),
        ("lost", 1, |file, _| file.write_all_at(&[0; BLOCK], PLACE), &[PLACE_SAID, "lost: never written"]),
        ("cut_off", 2, |file, _| file.set_len(PLACE), &[PLACE_SAID, "lost: the file ends before it"]),
        ("garbage", 2, |file, _| file.write_all_at(&[0x5a; BLOCK], PLACE), &[PLACE_SAID, "garbage"]),
    ]
}

fn misdirect(file: &fs::File, _: &[u8]) -> std::io::Result<()> {
    let mut other = [0; BLOCK];
    file.read_exact_at(&mut other, OTHER)?;
    file.write_all_at(&other, PLACE)
}

pub fn cases() -> Vec<Case> {
    let case =
        |name: String, check: fn(Planted) -> Outcome, plant| Case::new(name, &[], move || check(plant));
    let plans = planted().into_iter().flat_map(|plant| {
        [
            case(format!("map::only::{}", plant.0), checks_all, plant),
            case(format!("map::reading::{}", plant.0), checks_reads, plant),
        ]
    });
    // Behind fio's headers a block is one interval: a part of an older one, or garbage, is a mismatch. fio lays out what
    // a file lacks.
    let fio = planted().into_iter().filter(|plant| !["torn", "garbage", "cut_off"].contains(&plant.0));
    let fio = fio.map(|plant| case(format!("map::fio::{}", plant.0), checks_fio, plant));
    let own = [
        Case::new("map::several workers own regions", &[], regions),
        Case::new("map::several workers share blocks", &[], shared),
        Case::new("map::a later phase goes on", &[], later_phase),
        Case::new("map::a map that cannot be used is refused", &[], refused),
        Case::new("map::no map is overwritten", &[], kept),
        Case::new("map::a write that was lost on a device that lies", &[Need::Fuse], lying),
        Case::new("map::a write that failed may be old or new", &[Need::Fuse], failed),
    ];
    plans.chain(fio).chain(own).collect()
}

/// A plan with one job on a file.
fn plan(file: &Path, map: &Path, job: &str) -> String {
    let map = format!(", map = {:?}", map.display().to_string());
    format!(
        "intent = \"correctness\"\nseed = 5\n[target.data]\nfile = {:?}\nsize = {BYTES}\ncreate = true\n[[phase]]\n\
         [[phase.job]]\nname = \"j\"\non = \"data\"\nblock = \"4KiB\"\nerrors = \"continue\"\n{}\n",
        file.display().to_string(),
        job.replace("MAP", &map)
    )
}

fn writes(passes: u32) -> String {
    format!("do = \"write\"\nuntil = {{ passes = {passes} }}\nverify = {{ when = \"never\"MAP }}")
}

const ONLY: &str =
    "do = \"write\"\nuntil = { passes = 1 }\nverify = { when = \"after writes\", only = true MAP }";
const READS: &str = "do = \"read\"\nuntil = { passes = 1 }\nverify = { when = \"on read\"MAP }";

/// Exit status and all that was said.
fn run(folder: &Path, plan: &str) -> Result<(Option<i32>, String), Box<dyn std::error::Error>> {
    let path = folder.join("plan.toml");
    fs::write(&path, plan)?;
    iodyno(["run".into(), "--no-save".into(), path.display().to_string()])
}

fn iodyno(
    arguments: impl IntoIterator<Item = String>,
) -> Result<(Option<i32>, String), Box<dyn std::error::Error>> {
    let said = Program::of(env!("CARGO_BIN_EXE_iodyno"), arguments).outcome()?;
    Ok((said.status.code(), said.all()))
}

fn wrote((status, said): (Option<i32>, String)) -> Outcome {
    if status == Some(0) { Ok(()) } else { Err(format!("status {status:?}\n{said}").into()) }
}

/// Every word is said, and of damage exactly as much as was planted.
fn judged((status, said): (Option<i32>, String), words: &[&str]) -> Outcome {
    let missing: Vec<_> = words.iter().filter(|word| !said.contains(**word)).collect();
    let classes = [
        ": stale",
        ": torn",
        ": misdirected",
        ": zeroed",
        ": lost",
        ": garbage",
        ": ahead",
        ": mismatch",
        ": foreign",
    ];
    let named = classes.iter().filter(|class| said.contains(**class)).count();
    let expected = if words.is_empty() { (true, 0) } else { (false, 1) };
    match (status == Some(0), named) == expected && missing.is_empty() {
        true => Ok(()),
        false => Err(format!("status {status:?}; not said: {missing:?}\n{said}").into()),
    }
}

/// Writes a file once and takes its block, writes it as often as planted with a map, and damages it.
fn staged(plant: Planted, write: impl Fn(u32) -> Outcome, file: &Path, map: &Path) -> Outcome {
    let older = once(&write, file, map)?;
    write(plant.1)?;
    let damaged = fs::File::options().read(true).write(true).open(file)?;
    (plant.2)(&damaged, &older)?;
    Ok(())
}

/// The block at the place when the file was written once; the map of that is removed.
fn once(
    write: impl Fn(u32) -> Outcome,
    file: &Path,
    map: &Path,
) -> Result<[u8; BLOCK], Box<dyn std::error::Error>> {
    write(1)?;
    fs::remove_file(map)?;
    let mut older = [0; BLOCK];
    fs::File::open(file)?.read_exact_at(&mut older, PLACE)?;
    Ok(older)
}

fn checks(plant: Planted, second: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, map) = (folder.path().join("data"), folder.path().join("map"));
    let write = |passes| wrote(run(folder.path(), &plan(&file, &map, &writes(passes)))?);
    staged(plant, write, &file, &map)?;
    // As on another host: another path, and nothing but the file and the map.
    let moved = folder.path().join("elsewhere");
    fs::create_dir(&moved)?;
    fs::rename(&file, moved.join("copy"))?;
    fs::rename(&map, moved.join("map"))?;
    judged(run(&moved, &plan(&moved.join("copy"), &moved.join("map"), second))?, plant.3)
}

fn checks_all(plant: Planted) -> Outcome {
    checks(plant, ONLY)
}

fn checks_reads(plant: Planted) -> Outcome {
    checks(plant, READS)
}

/// fio's command line.
fn fio(file: &Path, map: &Path, passes: u32, rest: &[&str]) -> Vec<String> {
    let words = [
        "fio".to_string(),
        "--name=j".into(),
        "--rw=randwrite".into(),
        "--bs=4k".into(),
        format!("--size={BYTES}"),
        format!("--filename={}", file.display()),
        "--verify=crc32c".into(),
        "--verify_state_save=0".into(),
        "--continue_on_error=verify".into(),
        format!("--io_size={}", BYTES * u64::from(passes)),
        format!("--also=verify-map={}", map.display()),
    ];
    words.into_iter().chain(rest.iter().map(|word| word.to_string())).collect()
}

fn checks_fio(plant: Planted) -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, map) = (folder.path().join("data"), folder.path().join("map"));
    let write = |passes| wrote(iodyno(fio(&file, &map, passes, &["--do_verify=0"]))?);
    staged(plant, write, &file, &map)?;
    // fio's own lines and status are fio's; the kind stands in our finding beside them.
    let (status, said) = iodyno(fio(&file, &map, plant.1, &["--verify_only"]))?;
    let unwrapped = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let finding = "did not hold what was written";
    let right = match plant.0 {
        "sound" => !unwrapped.contains(finding) && !said.contains("verify: bad"),
        kind => {
            unwrapped.contains(&format!("1 block {finding} (1 {kind}), first at offset"))
                && said.contains("verify: bad")
        }
    };
    if right { Ok(()) } else { Err(format!("status {status:?}\n{said}").into()) }
}

/// Four workers write a quarter each; one reads all.
fn regions() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, map) = (folder.path().join("data"), folder.path().join("map"));
    let quarter = BYTES / 4;
    let quarters = format!("workers = 4\nspan = {{ length = {quarter}, increment = {quarter} }}\n");
    wrote(run(folder.path(), &plan(&file, &map, &(quarters + &writes(2))))?)?;
    judged(run(folder.path(), &plan(&file, &map, READS))?, &[])?;
    let data = fs::File::options().write(true).open(&file)?;
    data.write_all_at(&[0; BLOCK], PLACE)?;
    judged(run(folder.path(), &plan(&file, &map, READS))?, &[PLACE_SAID, "zeroed"])
}

/// Two workers write the same blocks, one of them more often: whose write was last is not known, but it is no older one.
fn shared() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, map) = (folder.path().join("data"), folder.path().join("map"));
    let twice = plan(&file, &map, &writes(2));
    let more = writes(3).replace("MAP", &format!(", map = {:?}", map.display().to_string()));
    let other = format!("[[phase.job]]\nname = \"k\"\non = \"data\"\nblock = \"4KiB\"\n{more}\n");
    let older = once(|passes| wrote(run(folder.path(), &plan(&file, &map, &writes(passes)))?), &file, &map)?;
    wrote(run(folder.path(), &(twice + &other))?)?;
    judged(run(folder.path(), &plan(&file, &map, READS))?, &[])?;
    fs::File::options().write(true).open(&file)?.write_all_at(&older, PLACE)?;
    judged(
        run(folder.path(), &plan(&file, &map, READS))?,
        &[PLACE_SAID, "stale: generation 0 found, 2 written"],
    )
}

/// What the second phase writes is another generation than what the first wrote, and what it left out is the first's.
fn later_phase() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, map) = (folder.path().join("data"), folder.path().join("map"));
    let older = once(|passes| wrote(run(folder.path(), &plan(&file, &map, &writes(passes)))?), &file, &map)?;
    let first = plan(&file, &map, &writes(1));
    let job = &first[first.find("[[phase]]").unwrap_or_default()..];
    let second = job.replace("block =", "span = { length = 131072 }\nblock =");
    wrote(run(folder.path(), &(first.clone() + &second))?)?;
    judged(run(folder.path(), &plan(&file, &map, READS))?, &[])?;
    fs::File::options().write(true).open(&file)?.write_all_at(&older, PLACE)?;
    judged(
        run(folder.path(), &plan(&file, &map, READS))?,
        &[PLACE_SAID, "stale: generation 0 found, 1 written"],
    )
}

/// One message each, with a hint; nothing is read.
fn refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, map) = (folder.path().join("data"), folder.path().join("map"));
    wrote(run(folder.path(), &plan(&file, &map, &writes(1)))?)?;
    let whole = fs::read(&map)?;
    let says = |plan: String, words: &[&str]| -> Outcome {
        let (status, said) = run(folder.path(), &plan)?;
        let missing: Vec<_> = words.iter().filter(|word| !said.contains(**word)).collect();
        if status != Some(0) && missing.is_empty() {
            Ok(())
        } else {
            Err(format!("{status:?} {missing:?}\n{said}").into())
        }
    };
    let reads = plan(&file, &map, READS);
    fs::write(&map, &whole[..whole.len() - 1])?;
    says(
        reads.clone(),
        &["the generation map is damaged: the section at byte 0 is cut off", "copy it again"],
    )?;
    fs::write(&map, "no map")?;
    says(reads.clone(), &["this is no generation map", "verify.map wrote"])?;
    fs::remove_file(&map)?;
    says(reads.clone(), &["generation map", "No such file", "run the writes first"])?;
    fs::write(&map, &whole)?;
    says(
        reads.replace("seed = 5", "seed = 6"),
        &["was written with seed 5, this job has seed 6", "give the job seed = 5"],
    )?;
    says(reads.replace("4KiB", "8KiB"), &["in blocks of 4096 bytes", "give the job block = 4096"])?;
    says(
        reads.replace("target.data", "target.x").replace("\"data\"", "\"x\""),
        &["no blocks of `x`, only of `data`"],
    )?;
    let set = reads.replace("\nfile = ", "\nfiles = ").replace("create = true", "count = 4");
    says(set, &["a generation map has no items of sets", "name files"])?;
    says(reads.replace("when =", "stamp = \"nothing\", when ="), &["verify.map: nothing is checked"])?;
    says(reads.replace("when =", "stamp = \"0xab\", when ="), &["a pattern is the same in every generation"])
}

/// A map that is there is another run's.
fn kept() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, map) = (folder.path().join("data"), folder.path().join("map"));
    fs::write(&map, "mine")?;
    let (status, said) = run(folder.path(), &plan(&file, &map, &writes(1)))?;
    let refused = status != Some(0) && said.contains("exists, and is not overwritten");
    match refused && fs::read(&map)? == b"mine" && !file.exists() {
        true => Ok(()),
        false => Err(format!("status {status:?}\n{said}").into()),
    }
}

fn on_device(fault: Fault, words: &[&str]) -> Outcome {
    let device = Device::mount(Config { bytes: BYTES, ..Config::faulty(vec![fault]) })?;
    let folder = tempfile::tempdir()?;
    let map = folder.path().join("map");
    run(folder.path(), &plan(device.path(), &map, &writes(2)))?;
    judged(run(folder.path(), &plan(device.path(), &map, READS))?, words)
}

fn lying() -> Outcome {
    on_device(Fault::Stale { offset: PLACE }, &[PLACE_SAID, "stale: generation 0 found, 1 written"])
}

fn failed() -> Outcome {
    let second = Pick::NthAt { offset: PLACE, n: 2 };
    on_device(Fault::Error { on: RequestKind::Write, pick: second, errno: 5 }, &[])
}
