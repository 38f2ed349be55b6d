//! A queue with servers, as queueing theory knows it.

use std::collections::VecDeque;

use iodyno_model::device::Station;

use super::{Part, PartPlace, drawn, drawn_between, transfer_ns};
use crate::kernel::{Core, DeviceRequest, RequestKind, TaskId};
use crate::random::Random;

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
    /// Those that only writes have.
    writers: Option<Servers>,
    /// Where the request before ended.
    ended: u64,
}

impl QueueStation {
    pub(crate) fn new(figures: &Station, place: PartPlace) -> Self {
        let writers = (figures.write_servers > 0).then(|| Servers::new(figures.write_servers));
        QueueStation {
            figures: figures.clone(),
            place,
            servers: Servers::new(figures.servers),
            writers,
            ended: u64::MAX,
        }
    }

    fn serve(&mut self, task: TaskId, core: &mut Core) {
        let DeviceRequest { kind, offset, bytes, .. } = core.request(task);
        let is_write = kind == RequestKind::Write;
        let mut service = self.service(is_write, &mut core.random);
        if self.figures.random_ns > 0 && matches!(kind, RequestKind::Read | RequestKind::Write) {
            service += if offset == self.ended { 0 } else { self.figures.random_ns };
            self.ended = offset.saturating_add(bytes);
        }
        let rate = match self.figures.write_rate {
            rate if is_write && rate > 0 => rate,
            _ => self.figures.rate,
        };
        // Time must move, or a run until a time would never end.
        core.at(core.now + (service + transfer_ns(bytes, rate)).max(1), self.place.number, task);
    }

    fn service(&self, is_write: bool, random: &mut Random) -> u64 {
        let Station { service_ns, write_ns, variation, percentiles_ns, write_percentiles_ns, .. } =
            &self.figures;
        if is_write && !write_percentiles_ns.is_empty() {
            return drawn_between(write_percentiles_ns, random);
        }
        if is_write && *write_ns > 0 {
            return drawn(*write_ns, *variation, random);
        }
        match percentiles_ns.is_empty() {
            true => drawn(*service_ns, *variation, random),
            false => drawn_between(percentiles_ns, random),
        }
    }

    /// The servers that a request needs.
    fn servers_for(&mut self, task: TaskId, core: &Core) -> &mut Servers {
        match &mut self.writers {
            Some(writers) if core.request(task).kind == RequestKind::Write => writers,
            _ => &mut self.servers,
        }
    }

    /// The request, or its pieces, to the part behind.
    fn pass_on(&self, task: TaskId, core: &mut Core) {
        let request = core.request(task);
        let piece = match self.figures.split_bytes {
            0 => request.bytes,
            split => split.min(request.bytes),
        };
        let mut sent = 0;
        while sent < request.bytes || sent == 0 {
            let bytes = piece.min(request.bytes - sent);
            let offset = request.offset.saturating_add(sent);
            core.send(task, self.place.behind, DeviceRequest { offset, bytes, ..request });
            sent += bytes.max(1);
        }
    }
}

impl Part for QueueStation {
    fn servers(&self) -> u32 {
        self.figures.servers.saturating_add(self.figures.write_servers)
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        let part = self.place.number;
        if self.servers_for(task, core).take(task, part, core) {
            self.serve(task, core);
        }
    }

    fn event(&mut self, task: u32, core: &mut Core) {
        let part = self.place.number;
        // Before the task is answered: its place may be another's then.
        let next = self.servers_for(task, core).release(part, core);
        match self.figures.over {
            Some(_) => self.pass_on(task, core),
            None => core.finish(task),
        }
        if let Some(next) = next {
            self.serve(next, core);
        }
    }

    fn returned(&mut self, task: TaskId, _request: DeviceRequest, core: &mut Core) {
        if core.task(task).waits == 0 {
            core.finish(task);
        }
    }
}
