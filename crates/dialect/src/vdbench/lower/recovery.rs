//! Journal recovery: before the runs, everything that an earlier run's journal knows is read and checked.

use iodyno_model::{Coverage, Job, Mix, PerDirection, Phase, Pick, Verb, Workload};

use super::storage::{StoragePlace, WorkloadShape};
use super::{RunLowering, named};
use crate::engine_choice::POSITIONED_CALLS;
use crate::vdbench::runs::RunPoint;
use crate::vdbench::settings::{self, OpenFlags, RunTimes};
use crate::vdbench::view::FlatColumns;

/// What the phase is called, as by the original.
const TITLE: &str = "journal_recovery";

impl RunLowering<'_> {
    /// Adds the phase that checks, where that is asked for.
    pub(super) fn recovery(&mut self, points: &[RunPoint]) {
        if !self.validation.recovers {
            return;
        }
        let mut done: Vec<String> = Vec::new();
        let mut jobs = Vec::new();
        for point in points {
            let run = &point.definition;
            let workloads =
                named(&self.all.workloads, run.values("wd"), "wd", run.place("wd"), &mut self.wrong);
            for workload in workloads {
                let shape = WorkloadShape::of(workload, run, 1.0, &mut self.wrong);
                for place in self.storage_of(&shape, run) {
                    if !done.contains(&place.path) {
                        done.push(place.path.clone());
                        jobs.extend(self.recovered(&shape, &place));
                    }
                }
            }
        }
        if !jobs.is_empty() {
            let phase = Phase { jobs, ..Phase::default() };
            self.made_by(
                phase,
                TITLE,
                RunTimes { interval: 1, ..RunTimes::default() },
                FlatColumns::default(),
                vec!["read"],
            );
        }
    }

    /// The job that reads what one journal knows.
    fn recovered(&mut self, shape: &WorkloadShape, place: &StoragePlace) -> Option<Job> {
        let map = self.map_of(place)?;
        if !self.has_journal(&map) {
            let hint = "-j writes one; journal=DIR of the sd= says where";
            self.wrong.add(&place.definition.origin, format!("there is no journal {map}"), hint);
            return None;
        }
        let span = settings::span(&place.definition, &shape.definition, &mut self.wrong);
        let mut pattern = shape.pattern(place, span, 0);
        (pattern.mix, pattern.coverage) = (Mix::only(Verb::Write), Coverage::Once);
        pattern.pick = PerDirection::same(Pick::Sequential);
        pattern.kinds.clear();
        let mut payload =
            settings::payload(self.all, Some(&place.definition), &shape.definition, &mut self.wrong);
        payload.verify = self.validation.verify(Some(map), true);
        let flags = OpenFlags::of(&[&shape.definition, &place.definition], &mut self.wrong);
        let target = self.opened(place.target, flags);
        let name = format!("{TITLE} on {}", place.definition.name);
        let workload = Workload::Pattern(Box::new(pattern));
        Some(Job { payload, ..self.job(&name, POSITIONED_CALLS, target, workload, &place.definition.origin) })
    }

    /// Whether a journal is there: its file, or what a run that was killed left of it.
    pub(super) fn has_journal(&mut self, map: &str) -> bool {
        let (folder, name) = map.rsplit_once('/').unwrap_or((".", map));
        let begins = |other: &String| other.starts_with(&format!("{name}.")) && other.ends_with(".live");
        self.loader.look(map).is_some()
            || self.loader.list(folder).is_ok_and(|names| names.iter().any(begins))
    }
}
