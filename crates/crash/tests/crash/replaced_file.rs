//! A small workload with a strict oracle: a file is written, synced and renamed over its forerunner, again and again; and a
//! block is overwritten in place, which a device that writes 4096 bytes as a whole leaves old or new.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use iodyno_crash::promise::{Authority, Damage, Violation};
use iodyno_crash::workload::{Marks, Oracle, Reach, Workload};

/// Rounds of four steps: write and fsync, rename, fsync of the directory, overwrite and fdatasync.
pub struct ReplacedFile {
    pub rounds: u32,
}

const BYTES: usize = 10_000;

const BLOCK: usize = 4096;

fn content(round: u32) -> Vec<u8> {
    (0..BYTES as u32).map(|at| (round * 31 + at / 512 + 1) as u8).collect()
}

impl Workload for ReplacedFile {
    fn name(&self) -> &str {
        "replaced-file"
    }

    fn prepare(&self, directory: &Path) -> io::Result<()> {
        fs::write(directory.join("file"), content(0))?;
        fs::write(directory.join("block"), [1; BLOCK])
    }

    fn run(&self, directory: &Path, marks: &mut dyn Marks) -> io::Result<Box<dyn Oracle>> {
        for round in 0..self.rounds {
            let step = 4 * round;
            marks.begin(step)?;
            let mut file = File::create(directory.join("new"))?;
            file.write_all(&content(round + 1))?;
            file.sync_all()?;
            marks.end(step)?;
            marks.begin(step + 1)?;
            fs::rename(directory.join("new"), directory.join("file"))?;
            marks.end(step + 1)?;
            marks.begin(step + 2)?;
            File::open(directory)?.sync_all()?;
            marks.end(step + 2)?;
            marks.begin(step + 3)?;
            let block = File::options().write(true).open(directory.join("block"))?;
            block.write_all_at(&[round as u8 + 2; BLOCK], 0)?;
            block.sync_data()?;
            marks.end(step + 3)?;
        }
        Ok(Box::new(ReplacedFileOracle))
    }
}

struct ReplacedFileOracle;

impl Oracle for ReplacedFileOracle {
    fn judge(&self, reach: Reach, directory: &Path) -> io::Result<Vec<Violation>> {
        // What a rename of round r brought is there when the directory was synced after it.
        let (least, most) = ((reach.ended + 1) / 4, (reach.begun + 2) / 4);
        let violation = |damage, found: &str| Violation {
            authority: Authority::Linux,
            promise: "a file replaced by rename after fsync".into(),
            source: "rename(2)".into(),
            path: "file".into(),
            damage,
            found: format!("{found} where one of rounds {least} to {most} was promised"),
        };
        let found = match fs::read(directory.join("file")) {
            Ok(found) => found,
            Err(error) => return Ok(vec![violation(Damage::Lost, &error.to_string())]),
        };
        let round = (0..=most + 100).find(|round| content(*round) == found);
        let mut violations = Vec::new();
        match round {
            Some(round) if (least..=most).contains(&round) => {}
            Some(round) => {
                violations.push(violation(Damage::Stale, &format!("the content of round {round}")))
            }
            None => {
                violations.push(violation(Damage::Garbage, &format!("{} bytes of no round", found.len())))
            }
        }
        violations.extend(judge_block(reach, directory));
        Ok(violations)
    }

    fn step(&self, step: u32) -> String {
        ["write and fsync new", "rename new file", "fsync-dir .", "overwrite block"][step as usize % 4].into()
    }
}

fn judge_block(reach: Reach, directory: &Path) -> Option<Violation> {
    let (least, most) = (reach.ended / 4 + 1, reach.begun / 4 + 1);
    let found = fs::read(directory.join("block")).unwrap_or_default();
    let is_whole = found.len() == BLOCK && found.iter().all(|byte| *byte == found[0]);
    let damage = match found.first() {
        None => Damage::Lost,
        Some(_) if !is_whole => Damage::Torn,
        Some(first) if !(least..=most).contains(&u32::from(*first)) => Damage::Stale,
        Some(_) => return None,
    };
    Some(Violation {
        authority: Authority::Linux,
        promise: "a block overwritten in place".into(),
        source: "the device".into(),
        path: "block".into(),
        damage,
        found: format!("{:?} where one of {least} to {most} was promised", found.first()),
    })
}
