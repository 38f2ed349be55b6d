//! Designs: the one that the page begins with, those that were kept, and what one would do.

use std::path::Path;

use iodyno_engine::witness;
use iodyno_model::{Diagnostic, Origin};
use iodyno_studio::design::{self, Design};
use serde_json::{Value, json};

use super::Studio;
use super::command_line;
use super::explanation::{diagnostic, explained, loader, lowered, written_devices};
use super::folder;
use super::running::Start;

/// A name for a design that is nowhere yet.
const UNSAVED: &str = "design.icf";

/// What the page begins with, as IOMeter does: one worker for each processor, its own list, of which nothing is ticked but
/// one that is good to begin with.
pub fn first() -> Design {
    let mut specifications = design::stock();
    for known in &mut specifications {
        known.assigned = known.name == "4 KiB aligned; 100% Read; 100% random";
    }
    Design {
        name: "first look".into(),
        workers: witness::machine().cpus.max(1),
        // A GiB: what is free on most machines, and quickly made.
        sectors: 2 << 20,
        specifications,
        ..Design::default()
    }
}

/// A design in words, with everything that is wrong with it.
pub fn explain(design: &Design) -> Value {
    match lowered_design(design) {
        Ok((run, loader)) => explained(&run, &loader),
        Err(wrong) => json!({ "wrong": wrong.iter().map(diagnostic).collect::<Vec<_>>() }),
    }
}

fn lowered_design(
    design: &Design,
) -> Result<(iodyno_dialect::Run, crate::loader::HostLoader), Vec<Diagnostic>> {
    let text = design::icf(design)?;
    let mut loader = loader(vec![(UNSAVED.into(), text.into_bytes())]);
    let mut run = lowered("iometer", &[UNSAVED.to_string()], &mut loader)?;
    if let Some(rate) = design.rate {
        for job in run.plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
            job.pace.rate_all = iodyno_model::Rate::Operations(rate);
            job.pace.open_loop = true;
        }
    }
    Ok((run, loader))
}

/// What starts a design. `typed`: the name of the device that may be overwritten.
///
/// # Errors
/// Everything that is wrong with it, and a device whose name was not typed.
pub fn start<'a>(studio: &'a Studio, design: &Design, typed: &str) -> Result<Start<'a>, Vec<Diagnostic>> {
    let destroy = match lowered_design(design) {
        Ok((run, _)) => given_up(&written_devices(&run.plan), typed)?,
        // On other hosts other paths may be there: they refuse what they must.
        Err(wrong) if design.hosts.trim().is_empty() => return Err(wrong),
        Err(_) if typed.trim().is_empty() => None,
        Err(_) => Some(typed.trim().to_string()),
    };
    let text = design::icf(design)?;
    let stem = design.file_stem();
    let path = folder::keep(&studio.folder, &stem, "icf", text.as_bytes()).map_err(|wrong| vec![wrong])?;
    let command = command_line::of_design(design, &path.to_string_lossy(), destroy.as_deref());
    Ok(Start {
        name: design.name.clone(),
        stem,
        update_s: design.update_s.max(1),
        command,
        folder: &studio.folder,
    })
}

/// The device that is given up, where one must be: its name was typed, letter by letter.
///
/// # Errors
/// It was not; or several would be, of which a person can only mean one.
pub fn given_up(devices: &[Value], typed: &str) -> Result<Option<String>, Vec<Diagnostic>> {
    let refuse = |message: String, hint: &str| {
        Err(vec![Diagnostic::error(&Origin::argument("destroy"), message).hint(hint)])
    };
    let paths: Vec<&str> = devices.iter().filter_map(|device| device["path"].as_str()).collect();
    match (paths.as_slice(), typed.trim()) {
        ([], "") => Ok(None),
        ([], _) => refuse("nothing is overwritten: no device is written to".into(), "leave the field empty"),
        ([only], typed) if *only == typed => Ok(Some(typed.into())),
        ([only], "") => {
            refuse(format!("what is on {only} would be lost"), "type the device's name where it asks")
        }
        ([only], typed) => refuse(
            format!("`{typed}` is not {only}"),
            "type the name of the device that is to be overwritten",
        ),
        (several, _) => refuse(
            format!("{} would be overwritten", several.join(", ")),
            "one device at a time, each by its name",
        ),
    }
}

/// Keeps a design without running it; the name of its file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn save(studio: &Studio, design: &Design) -> Result<Value, Vec<Diagnostic>> {
    let text = design::icf(design)?;
    let path = folder::keep(&studio.folder, &design.file_stem(), "icf", text.as_bytes())
        .map_err(|wrong| vec![wrong])?;
    Ok(json!({ "file": path.file_name().map(|name| name.to_string_lossy()), "path": path.to_string_lossy() }))
}

/// The names of the designs that are kept, the newest first.
pub fn kept(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let changed = entry.metadata().and_then(|facts| facts.modified()).ok()?;
        name.ends_with(".icf").then_some((changed, name))
    });
    let mut all: Vec<_> = named.collect();
    all.sort_by(|one, other| other.cmp(one));
    all.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_given_up_by_its_name_alone() {
        let device = |path: &str| json!({ "path": path });
        let one = [device("/dev/loop7")];
        assert_eq!(given_up(&one, " /dev/loop7 ").map_err(drop), Ok(Some("/dev/loop7".into())));
        for typed in ["", "yes", "/dev/loop", "loop7", "/dev/loop70", "/dev/LOOP7"] {
            assert_eq!(given_up(&one, typed).map_err(drop), Err(()), "{typed}");
        }
        assert_eq!(given_up(&[], "").map_err(drop), Ok(None));
        assert_eq!(given_up(&[], "/dev/sda").map_err(drop), Err(()));
        assert!(given_up(&[device("/dev/a"), device("/dev/b")], "/dev/a").is_err());
    }

    #[test]
    fn the_page_begins_as_iometer_does() {
        let first = first();
        assert_eq!((first.workers, first.ramp_s, first.run_s), (witness::machine().cpus, 10, 60));
        assert_eq!((first.assigned().count(), first.specifications.len()), (1, 31));
    }
}
