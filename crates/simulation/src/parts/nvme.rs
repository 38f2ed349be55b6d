//! An NVMe controller: a queue, processors for commands, and a link that carries data in both directions at once.

use std::collections::VecDeque;

use iodyno_model::device::Nvme;

use super::station::Servers;
use super::{Lane, Part, PartPlace, transfer_ns};
use crate::kernel::{Core, DeviceRequest, RequestKind, TaskId};

/// What a task waits for, in this order.
const PROCESSOR: u32 = 0;
const DATA_IN: u32 = 1;
const BEHIND: u32 = 2;
const DATA_OUT: u32 = 3;

pub(crate) struct NvmeController {
    figures: Nvme,
    place: PartPlace,
    inside: u32,
    host: VecDeque<TaskId>,
    processors: Servers,
    inward: Lane,
    outward: Lane,
    /// Where the command before ended.
    ended: u64,
}

impl NvmeController {
    pub(crate) fn new(figures: &Nvme, place: PartPlace) -> Self {
        NvmeController {
            processors: Servers::new(figures.processors),
            figures: figures.clone(),
            place,
            inside: 0,
            host: VecDeque::new(),
            inward: Lane::default(),
            outward: Lane::default(),
            ended: u64::MAX,
        }
    }

    fn enter(&mut self, task: TaskId, core: &mut Core) {
        self.inside += 1;
        if self.processors.take(task, self.place.number, core) {
            self.process(task, core);
        }
    }

    fn process(&mut self, task: TaskId, core: &mut Core) {
        let DeviceRequest { kind, offset, bytes, .. } = core.request(task);
        let mut ns = match kind {
            RequestKind::Write | RequestKind::Trim => self.figures.write_ns,
            RequestKind::Read | RequestKind::Flush | RequestKind::Metadata => self.figures.read_ns,
        };
        if matches!(kind, RequestKind::Read | RequestKind::Write) {
            ns += if offset == self.ended { 0 } else { self.figures.random_ns };
            self.ended = offset.saturating_add(bytes);
        }
        core.at(core.now + ns.max(1), self.place.number, task);
    }

    fn leave(&mut self, task: TaskId, core: &mut Core) {
        self.inside -= 1;
        core.finish(task);
        if let Some(next) = self.host.pop_front() {
            self.enter(next, core);
        }
    }
}

impl Part for NvmeController {
    fn servers(&self) -> u32 {
        self.figures.processors
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        if self.inside >= self.figures.queue {
            return self.host.push_back(task);
        }
        self.enter(task, core);
    }

    fn event(&mut self, task: u32, core: &mut Core) {
        let DeviceRequest { kind, bytes, .. } = core.request(task);
        match core.task(task).stage {
            PROCESSOR => {
                if let Some(next) = self.processors.release(self.place.number, core) {
                    self.process(next, core);
                }
                core.task_mut(task).stage = DATA_IN;
                let data =
                    if kind == RequestKind::Write { transfer_ns(bytes, self.figures.link_rate) } else { 0 };
                match data {
                    0 => self.event(task, core),
                    data => core.at(self.inward.take(core.now, data), self.place.number, task),
                }
            }
            DATA_IN => {
                core.task_mut(task).stage = BEHIND;
                core.send(task, self.place.behind, core.request(task));
            }
            _ => self.leave(task, core),
        }
    }

    fn returned(&mut self, task: TaskId, request: DeviceRequest, core: &mut Core) {
        core.task_mut(task).stage = DATA_OUT;
        let data = match request.kind {
            RequestKind::Read => transfer_ns(request.bytes, self.figures.link_rate),
            _ => 0,
        };
        match data {
            0 => self.leave(task, core),
            data => core.at(self.outward.take(core.now, data), self.place.number, task),
        }
    }
}
