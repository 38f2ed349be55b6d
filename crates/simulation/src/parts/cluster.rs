//! Servers that share the data: pieces are copied, or cut into parts with an erasure code, and an answer needs a quorum.

use iodyno_model::device::{Cluster, Placing};

use super::{Part, PartPlace};
use crate::kernel::{Core, DeviceRequest, RequestKind, TaskId};
use crate::random::mix;

pub(crate) struct ServerCluster {
    figures: Cluster,
    place: PartPlace,
    /// Pieces that each server has room for.
    slots: u64,
}

impl ServerCluster {
    pub(crate) fn new(figures: &Cluster, place: PartPlace) -> Self {
        let stored = figures.piece_bytes / u64::from(figures.data.max(1));
        ServerCluster { slots: (place.behind_bytes / stored.max(1)).max(1), figures: figures.clone(), place }
    }

    /// The first server of a piece; the others follow it.
    fn first(&self, piece: u64) -> u64 {
        let key = if self.figures.placing == Placing::Hash { mix(piece) } else { piece };
        key % u64::from(self.figures.servers)
    }

    /// The request that one of the servers of a piece gets.
    fn share(&self, request: DeviceRequest) -> DeviceRequest {
        let Cluster { piece_bytes, servers, data, .. } = self.figures;
        let parts = u64::from(data.max(1));
        let (piece, within) = (request.offset / piece_bytes, request.offset % piece_bytes);
        let slot = u128::from(piece) * u128::from(self.figures.width()) / u128::from(servers);
        let slot = (slot % u128::from(self.slots)) as u64;
        let stored = piece_bytes / parts;
        let bytes = request.bytes.div_ceil(parts);
        DeviceRequest { offset: slot * stored + within / parts, bytes, ..request }
    }

    /// How many servers are asked, and how many must answer.
    fn quorum(&self, kind: RequestKind) -> (u32, u32) {
        let Cluster { data, write_quorum, read_quorum, .. } = self.figures;
        let width = self.figures.width();
        match kind {
            RequestKind::Metadata => (1, 1),
            RequestKind::Read => {
                let asked = read_quorum.max(data).max(1);
                (asked, if data > 0 { data } else { asked })
            }
            _ if write_quorum > 0 => (width, write_quorum),
            _ => (width, width),
        }
    }
}

impl Part for ServerCluster {
    fn servers(&self) -> u32 {
        self.figures.servers
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        let request = core.request(task);
        let piece_bytes = self.figures.piece_bytes;
        let left = piece_bytes - request.offset % piece_bytes;
        if request.bytes > left {
            // Each piece is a request of its own, which comes to the same part.
            let (mut offset, end) = (request.offset, request.offset.saturating_add(request.bytes));
            while offset < end {
                let bytes = (piece_bytes - offset % piece_bytes).min(end - offset);
                core.send(task, self.place.number, DeviceRequest { offset, bytes, ..request });
                offset += bytes;
            }
            core.task_mut(task).stage = core.task(task).waits;
            return;
        }
        let (asked, needed) = self.quorum(request.kind);
        let first = self.first(request.offset / piece_bytes);
        let share = self.share(request);
        core.task_mut(task).stage = needed;
        for server in 0..u64::from(asked) {
            let server = (first + server) % u64::from(self.figures.servers);
            core.send(task, self.place.behind + server as u32, share);
        }
    }

    fn event(&mut self, _what: u32, _core: &mut Core) {}

    fn returned(&mut self, task: TaskId, _request: DeviceRequest, core: &mut Core) {
        let needed = &mut core.task_mut(task).stage;
        *needed -= 1;
        if *needed == 0 {
            core.finish(task);
        }
    }
}
