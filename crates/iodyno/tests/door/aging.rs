//! File systems made old: as full as asked, the same for the same seed, gone on with after an end in the middle, gone
//! without a trace when that is asked for; and nothing of anybody else's touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome};

use crate::program::{self, ProgramOutput, Running, iodyno, scratch, told};

const NEEDS: &[Need] = &[Need::Root, Need::Loop, Need::Tool("mkfs.ext4")];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("aging_wears_a_file_system_and_leaves_the_rest_alone", NEEDS, wears),
        Case::new("aging_ended_in_the_middle_goes_on_where_it_was", NEEDS, goes_on),
        Case::new("aging_is_part_of_any_run", NEEDS, of_any_run),
        Case::new("aging_refuses_what_is_not_its_own", &[], refuses),
    ]
}

/// A young ext4 of 256 MiB.
struct Young {
    mount: Mount,
    _device: LoopDevice,
}

impl Young {
    fn new() -> Result<Young, testbed::Skip> {
        let device = LoopDevice::new(256 << 20)?;
        device.mkfs("ext4")?;
        Ok(Young { mount: Mount::new(device.path(), "ext4", "")?, _device: device })
    }

    fn path(&self) -> &Path {
        self.mount.path()
    }

    fn age(&self, words: &str) -> ProgramOutput {
        told(self.command(words))
    }

    fn command(&self, words: &str) -> std::process::Command {
        let path = self.path().display().to_string();
        iodyno(["age", &path].into_iter().chain(words.split_whitespace()))
    }

    /// Paths below the aging's own directory, and the lengths of the files.
    fn tree(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.path().join("iodyno-age")];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let facts = entry.metadata().unwrap();
                match facts.is_dir() {
                    true => waiting.push(entry.path()),
                    false => drop(found.insert(entry.path().display().to_string(), facts.len())),
                }
            }
        }
        let root = self.path().display().to_string();
        let own = |(path, bytes): (String, u64)| (path.strip_prefix(&root).unwrap().to_string(), bytes);
        found.into_iter().map(own).filter(|(path, _)| !path.ends_with("/state")).collect()
    }
}

const USUAL: &str = "--to 70% --turnover 2 --sizes 1k-512k";

fn wears() -> Outcome {
    let young = Young::new()?;
    fs::write(young.path().join("mine"), "kept")?;
    let told = young.age(USUAL);
    told.expect(0, &["ext4", "before", "now", "extents of free space", "--remove"]);
    let row = |name: &str| -> Vec<f64> {
        let line = told.out.lines().find(|line| line.contains(name)).unwrap_or_default().replace(name, "");
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let free = row("extents of free space");
    assert!(free.len() == 2 && free[1] > 4.0 * free[0], "free space falls to pieces: {}", told.out);
    let full = row("full");
    assert!((69.5..=70.5).contains(full.last().unwrap()), "{}", told.out);
    let tree = young.tree();
    assert!(tree.len() > 100, "{} files", tree.len());
    let again = young.age(USUAL);
    again.expect(0, &["earlier runs included"]);
    assert_eq!(young.tree(), tree, "it was done already");
    let other = Young::new()?;
    fs::write(other.path().join("mine"), "kept")?;
    other.age(USUAL).expect(0, &[]);
    assert_eq!(other.tree(), tree, "the same seed makes the same tree");
    young.age("--to 60%").expect(1, &["aged in another way"]).one_error();
    let sized = Young::new()?;
    sized.age("--to 20% --turnover 0 --sizes 4k-64k").expect(0, &[]);
    sized.age("--to 20%").expect(1, &["another way before", "sizes 4 KiB to 64 KiB"]).one_error();
    young.age("--remove").expect(0, &["removed"]);
    assert_eq!(program::names(young.path()), ["lost+found", "mine"]);
    young.age("--remove").expect(1, &["nothing was aged"]).one_error();
    Ok(())
}

fn goes_on() -> Outcome {
    let (ended, whole) = (Young::new()?, Young::new()?);
    whole.age(USUAL).expect(0, &[]);
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let mut running = Running::start(ended.command(USUAL));
        running.until("some files are there", || ended.tree().len() > 30);
        running.signal(signal);
        let told = running.end();
        if signal == libc::SIGINT && told.code() != 0 {
            told.expect(told.code(), &["ended early"]);
        }
    }
    ended.age(USUAL).expect(0, &["earlier runs included"]);
    assert_eq!(ended.tree(), whole.tree());
    Ok(())
}

fn of_any_run() -> Outcome {
    let young = Young::new()?;
    let file = young.path().join("data").display().to_string();
    let line = format!("--name=j --rw=read --size=4m --filename={file} --also age=60%");
    told(iodyno(["fio"].into_iter().chain(line.split_whitespace()))).expect(0, &["READ: bw="]);
    assert!(young.tree().len() > 30);
    young.age("--remove").expect(0, &[]);
    let home = scratch();
    let plan = format!(
        "[[age]]\nin = \"{}\"\nto = \"50%\"\nturnover = 1\nsizes = \"64KiB\"\n\
         [target.f]\nfile = \"{file}\"\n[[phase]]\nname = \"p\"\n[[phase.job]]\nname = \"j\"\non = \"f\"\n\
         do = \"read\"\nblock = \"4KiB\"\nengine = \"psync\"\nuntil = {{ operations = 100 }}\n",
        young.path().display()
    );
    program::run(home.path(), &plan, &[]).expect(0, &["extents of free space"]);
    assert!(young.tree().values().all(|bytes| *bytes == 64 << 10));
    Ok(())
}

fn refuses() -> Outcome {
    let home = scratch();
    let age = |words: &[&str]| told(iodyno(["age"].iter().chain(words)));
    let path = home.path().display().to_string();
    age(&[&path]).refused(&["--to"]);
    age(&[&path, "--to", "170%"]).refused(&["less than 100"]);
    age(&["/nowhere/at/all", "--to", "70%"]).refused(&["no such directory"]);
    age(&[&path, "--to", "0.0001%"]).expect(1, &["full already"]).one_error();
    fs::create_dir(home.path().join("iodyno-age"))?;
    fs::write(home.path().join("iodyno-age/precious"), "mine")?;
    age(&[&path, "--to", "99%"]).expect(1, &["no aging made it"]).one_error();
    age(&[&path, "--remove"]).expect(1, &["no aging made it"]).one_error();
    assert_eq!(fs::read_to_string(home.path().join("iodyno-age/precious"))?, "mine");
    Ok(())
}
