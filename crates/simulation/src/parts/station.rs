//! A queue with servers, as queueing theory knows it.

use std::collections::VecDeque;

use iodyno_model::device::Station;

use super::{Part, PartPlace, drawn, transfer_ns};
use crate::kernel::{Core, TaskId};

/// The waiting room and the servers that other parts are made of as well.
#[derive(Debug)]
pub(crate) struct Servers {
    count: u32,
    working: u32,
    waiting: VecDeque<TaskId>,
}

impl Servers {
    pub(crate) fn new(count: u32) -> Self {
        Servers { count: count.max(1), working: 0, waiting: VecDeque::new() }
    }

    /// Whether a server takes the task at once; otherwise it waits.
    pub(crate) fn take(&mut self, task: TaskId, part: u32, core: &mut Core) -> bool {
        if self.working == self.count {
            self.waiting.push_back(task);
            return false;
        }
        self.working += 1;
        core.works(part, 1);
        true
    }

    /// A server is done; the task that it takes next.
    pub(crate) fn release(&mut self, part: u32, core: &mut Core) -> Option<TaskId> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.working -= 1;
            core.rests(part, 1);
        }
        next
    }
}

pub(crate) struct QueueStation {
    figures: Station,
    place: PartPlace,
    servers: Servers,
}

impl QueueStation {
    pub(crate) fn new(figures: &Station, place: PartPlace) -> Self {
        QueueStation { figures: figures.clone(), place, servers: Servers::new(figures.servers) }
    }

    fn serve(&mut self, task: TaskId, core: &mut Core) {
        let service = drawn(self.figures.service_ns, self.figures.variation, &mut core.random);
        let bytes = transfer_ns(core.request(task).bytes, self.figures.rate);
        // Time must move, or a run until a time would never end.
        core.at(core.now + (service + bytes).max(1), self.place.number, task);
    }
}

impl Part for QueueStation {
    fn servers(&self) -> u32 {
        self.figures.servers
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        if self.servers.take(task, self.place.number, core) {
            self.serve(task, core);
        }
    }

    fn event(&mut self, task: u32, core: &mut Core) {
        match self.figures.over {
            Some(_) => core.send(task, self.place.behind, core.request(task)),
            None => core.finish(task),
        }
        if let Some(next) = self.servers.release(self.place.number, core) {
            self.serve(next, core);
        }
    }
}
