//! What all checkpoints of a command have in common: the model's processes, and where their files go.

use std::path::Path;

use iodyno_engine::world::World;
use iodyno_model::checkpoint::CheckpointsBehind;
use iodyno_model::{
    CheckpointFile, CheckpointMedium, CheckpointModel, CheckpointTransfer, Device, Diagnostic, Intent,
    Origin, Parallelism, Plan, WorldFacts, units,
};

use super::{CheckpointArgs, FileDivision, copying};
use crate::bucket_target;
use crate::experiment_ranks;
use crate::runs::one;
use crate::work_directory::{self, MadePath};
use crate::{leftovers, simulated_device};

/// The engines of a directory, of a bucket and of a simulated device.
const FILES_ENGINE: &str = iodyno_dialect::engine_choice::POSITIONED_CALLS;
const OBJECTS_ENGINE: &str = "s3";
const DEVICE_ENGINE: &str = "sim";
/// Of each process on a device: what PCIe 4.0 with 16 lanes carries from an accelerator in practice, bytes per second.
const DEVICE_COPY_RATE: u64 = 20_000_000_000;
/// Threads of this program at most.
const MOST_THREADS: usize = 4096;

pub struct CheckpointSetup {
    pub model: CheckpointModel,
    pub device: Option<Device>,
    /// Of the first checkpoint.
    pub transfer: CheckpointTransfer,
    /// What is above the folders of checkpoints, unless they are kept.
    removed: MadePath,
    root: String,
}

impl CheckpointSetup {
    /// # Errors
    /// What is wrong with the command, or does not fit the target.
    pub fn new(world: &World, words: &CheckpointArgs) -> Result<CheckpointSetup, Vec<Diagnostic>> {
        let model = model(words).map_err(one)?;
        let ranks = files_of_ranks(&model, words).map_err(one)?;
        let target = words.target.as_deref().unwrap_or_default();
        let medium = match (&words.on, bucket_target::is_meant(target)) {
            (Some(_), _) => CheckpointMedium::Device,
            (None, true) => CheckpointMedium::Objects,
            (None, false) => CheckpointMedium::Files,
        };
        let engine = match medium {
            CheckpointMedium::Files => FILES_ENGINE,
            CheckpointMedium::Objects => OBJECTS_ENGINE,
            CheckpointMedium::Device => DEVICE_ENGINE,
        };
        let mut setup = CheckpointSetup {
            model,
            device: None,
            transfer: CheckpointTransfer {
                ranks,
                medium,
                folder: String::new(),
                engine: engine.into(),
                settings: bucket_target::settings(&words.set),
                transfer_bytes: words.transfer,
                fsync: true,
                shift: words.shift,
                is_kept: words.keep,
                spread: world.size(),
                origin: Origin::argument(words.target.as_deref().unwrap_or("--on")),
            },
            removed: MadePath(String::new()),
            root: target.trim_end_matches('/').into(),
        };
        setup.place(world, words)?;
        Ok(setup)
    }

    /// Checks that the target takes all of it.
    fn place(&mut self, world: &World, words: &CheckpointArgs) -> Result<(), Vec<Diagnostic>> {
        if self.transfer.medium != CheckpointMedium::Objects {
            bucket_target::no_settings(&words.set).map_err(one)?;
        }
        match self.transfer.medium {
            CheckpointMedium::Device => {
                experiment_ranks::one_clock(world).map_err(one)?;
                let device = simulated_device::named(words.on.as_deref().unwrap_or_default(), "--on")?;
                let copies = if words.behind { u64::from(words.times) } else { 1 };
                let room = simulated_device::capacity_bytes(&device) / copies;
                self.fits(room, if copies == 1 { "the device holds" } else { "for each the device holds" })
                    .map_err(one)?;
                self.device = Some(device);
            }
            CheckpointMedium::Objects => {
                self.root = bucket_target::own_prefix(&self.root, "checkpoint").map_err(one)?;
            }
            CheckpointMedium::Files => self.directory(world, words).map_err(one)?,
        }
        Ok(())
    }

    fn directory(&mut self, world: &World, words: &CheckpointArgs) -> Result<(), Diagnostic> {
        let directory = words.target.as_deref().unwrap_or_default();
        let origin = &self.transfer.origin;
        let each = if words.behind { 2 } else { 1 };
        let threads = (self.transfer.ranks.len() * each).div_ceil(world.size() as usize);
        if threads > MOST_THREADS {
            let message = format!(
                "{} processes, and more than {MOST_THREADS} threads on a rank",
                self.transfer.ranks.len()
            );
            return Err(
                Diagnostic::error(origin, message).hint("--subset N saves the first ones' part; or use --on")
            );
        }
        let free = work_directory::free_bytes(world, directory, "/mnt/checkpoints")?;
        let copies = match (words.keep, words.behind) {
            (false, false) => 1,
            (true, true) => u64::from(words.times) * 2,
            _ => u64::from(words.times),
        };
        self.fits(free / copies, if copies == 1 { "so much is free:" } else { "for each is free:" })?;
        if words.keep {
            let last = if words.behind { words.times * 2 } else { words.times };
            let there = (1..=last).map(|number| self.folder(number));
            if let Some(there) = there.into_iter().find(|folder| Path::new(folder).exists()) {
                let message = format!("{there} exists already, and is not overwritten");
                return Err(Diagnostic::error(&Origin::argument("--keep"), message)
                    .hint("remove it, or name another directory"));
            }
        } else {
            self.root = leftovers::temporary(directory, "checkpoint");
            self.removed.0.clone_from(&self.root);
        }
        Ok(())
    }

    fn fits(&self, room: u64, what: &str) -> Result<(), Diagnostic> {
        let bytes = self.transfer.bytes();
        if bytes <= room {
            return Ok(());
        }
        let message = format!("a checkpoint has {}; {what} {}", units::binary(bytes), units::binary(room));
        let part = room as f64 / bytes as f64 * self.model.scale;
        let power = 10f64.powf(part.max(1e-9).log10().floor());
        let fitting = (part / power).floor() * power;
        let decimals = (-power.log10()).round().max(0.0) as usize;
        let hint = format!("--scale {fitting:.decimals$} of every tensor fits");
        Err(Diagnostic::error(&self.transfer.origin, message).hint(hint))
    }

    fn folder(&self, number: u32) -> String {
        format!("{}/{}", self.root, CheckpointModel::folder(number.into()))
    }

    /// Saves and restores one checkpoint.
    pub fn plan(&self, number: u32) -> Plan {
        let transfer = CheckpointTransfer { folder: self.folder(number), ..self.transfer.clone() };
        Plan {
            name: format!("checkpoint {}", self.model.name),
            seed: number.into(),
            intent: Intent::Device,
            targets: transfer.targets(),
            phases: vec![transfer.save(), transfer.restore()],
            device: self.device.clone(),
            ..Plan::default()
        }
    }

    /// Writes so many checkpoints behind training, in the folders after those of the plans before.
    pub fn behind(&self, times: u32, interval_ns: u64, copy_ns: u64) -> Plan {
        let folders = (times + 1..=times * 2).map(|number| self.folder(number)).collect();
        let behind = CheckpointsBehind { transfer: &self.transfer, folders, interval_ns, copy_ns };
        Plan {
            name: format!("checkpoints of {} behind training", self.model.name),
            intent: Intent::Device,
            targets: behind.targets(),
            phases: vec![behind.phase()],
            device: self.device.clone(),
            ..Plan::default()
        }
    }

    /// How long the copy in memory takes that an asynchronous checkpoint begins with, ns, and whether that was measured.
    pub fn copy_ns(&self, rate: Option<u64>, world: &WorldFacts) -> (u64, bool) {
        let of_rank = |files: &Vec<CheckpointFile>| files.iter().map(|file| file.bytes).sum::<u64>();
        let most = self.transfer.ranks.iter().map(of_rank).max().unwrap_or(0);
        let rate = match (rate, &self.device) {
            (Some(rate), _) => rate as f64,
            (None, Some(_)) => DEVICE_COPY_RATE as f64,
            (None, None) => {
                // The processes of this host, which copy at the same time.
                let is_here = |process: &usize| world.node(self.transfer.rank_of(*process as u32)) == 0;
                let here: Vec<usize> = (0..self.transfer.ranks.len()).filter(is_here).collect();
                let bytes: u64 = here.iter().map(|process| of_rank(&self.transfer.ranks[*process])).sum();
                let all = copying::bytes_per_second(here.len());
                return ((bytes as f64 / all * 1e9) as u64, true);
            }
        };
        ((most as f64 / rate.max(1.0) * 1e9) as u64, false)
    }
}

fn model(words: &CheckpointArgs) -> Result<CheckpointModel, Diagnostic> {
    let Some(mut model) = CheckpointModel::named(&words.model) else {
        return Err(Diagnostic::error(&Origin::argument("--model"), "no such model"));
    };
    model.scale = words.scale;
    model.zero = words.zero.unwrap_or(model.zero);
    if let Some(ranks) = words.ranks {
        let Parallelism { tensor, pipeline, .. } = model.parallelism;
        let group = tensor * pipeline;
        if ranks % group > 0 {
            let message = format!(
                "{} is divided over {tensor} tensor and {pipeline} pipeline ranks, and {ranks} is no multiple of {group}",
                model.name
            );
            let hint = format!(
                "--ranks {}, or --subset N for the part of some",
                ranks.max(1).next_multiple_of(group)
            );
            return Err(Diagnostic::error(&Origin::argument("--ranks"), message).hint(hint));
        }
        model.parallelism.data = ranks / group;
    }
    Ok(model)
}

/// What each process that takes part writes.
fn files_of_ranks(
    model: &CheckpointModel,
    words: &CheckpointArgs,
) -> Result<Vec<Vec<CheckpointFile>>, Diagnostic> {
    let all = model.processes();
    let count = words.subset.unwrap_or(all);
    let wrong = |place: &str, message: String, hint: &str| {
        Err(Diagnostic::error(&Origin::argument(place), message).hint(hint))
    };
    if count > all {
        return wrong("--subset", format!("{count} of {all} processes"), "ask for fewer, or say --ranks");
    }
    if words.shift >= count && words.shift > 0 {
        let message = format!("{} further, and there are {count} processes", words.shift);
        return wrong("--shift", message, "a shift is smaller than the number of processes");
    }
    let whole = |rank: u32, files: Vec<CheckpointFile>| {
        let bytes = files.iter().map(|file| file.bytes).sum();
        vec![CheckpointFile { name: format!("rank_{rank}.pt"), bytes }]
    };
    let files = |rank: u32| match words.files {
        FileDivision::Framework => model.files(rank),
        FileDivision::Rank => whole(rank, model.files(rank)),
    };
    Ok((0..count).map(files).collect())
}
