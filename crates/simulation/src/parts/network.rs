//! A network: messages in both directions, each lane carries one after the other. What is lost is sent again.

use iodyno_model::device::Network;

use super::{Lane, Part, PartPlace, transfer_ns};
use crate::kernel::{Core, Count, DeviceRequest, RequestKind, TaskId};

/// What a task's message does.
const ASKS: u32 = 0;
const BEHIND: u32 = 1;
const ANSWERS: u32 = 2;
/// The answer was lost and is sent again.
const AGAIN: u32 = 3;

/// So many packets behind a lost one tell of it, and it is sent again at once. Source: RFC 5681, fast retransmit.
const TELLING_PACKETS: u64 = 3;

pub(crate) struct NetworkPath {
    figures: Network,
    place: PartPlace,
    out: Lane,
    back: Lane,
    messages: u64,
    lost: u64,
    overflowed: u64,
}

impl NetworkPath {
    pub(crate) fn new(figures: &Network, place: PartPlace) -> Self {
        NetworkPath {
            figures: figures.clone(),
            place,
            out: Lane::default(),
            back: Lane::default(),
            messages: 0,
            lost: 0,
            overflowed: 0,
        }
    }

    /// How much later a message arrives because packets of it were lost.
    fn loss_ns(&mut self, bytes: u64, core: &mut Core) -> u64 {
        self.messages += 1;
        let loss = self.figures.loss_percent / 100.0;
        if loss <= 0.0 {
            return 0;
        }
        let packets = bytes.div_ceil(self.figures.packet_bytes).max(1);
        let (mut late, mut left) = (0_u64, packets);
        // Each round sends again what the one before lost.
        while core.random.unit() >= libm::pow(1.0 - loss, left as f64) {
            self.lost += 1;
            let is_told = left > TELLING_PACKETS;
            late += if is_told { self.figures.round_trip_ns } else { self.figures.retransmit_ns };
            left = ((left as f64 * loss).ceil() as u64).max(1);
        }
        late
    }

    /// A message of so many bytes goes out or back; when it is there.
    fn carry(&mut self, bytes: u64, is_back: bool, core: &mut Core) -> u64 {
        let bytes = bytes + self.figures.header_bytes;
        let ns = transfer_ns(bytes, self.figures.rate);
        let late = self.loss_ns(bytes, core);
        let lane = if is_back { &mut self.back } else { &mut self.out };
        let sent = lane.take(core.now, ns);
        core.works_for(self.place.number, ns);
        (sent + self.figures.round_trip_ns / 2 + late).max(core.now + 1)
    }

    /// Whether the switch has no room for an answer.
    fn overflows(&self, bytes: u64, core: &Core) -> bool {
        let buffer = self.figures.buffer_bytes;
        if buffer == 0 {
            return false;
        }
        let queued = u128::from(self.back.free.saturating_sub(core.now)) * u128::from(self.figures.rate)
            / 1_000_000_000;
        // An answer that fits no buffer passes an empty one.
        queued > 0 && queued + u128::from(bytes) > u128::from(buffer)
    }

    fn answer(&mut self, task: TaskId, core: &mut Core) {
        let DeviceRequest { kind, bytes, .. } = core.request(task);
        let bytes = if kind == RequestKind::Read { bytes } else { 0 };
        if self.overflows(bytes + self.figures.header_bytes, core) {
            self.overflowed += 1;
            core.task_mut(task).stage = AGAIN;
            return core.at(core.now + self.figures.retransmit_ns, self.place.number, task);
        }
        core.task_mut(task).stage = ANSWERS;
        let there = self.carry(bytes, true, core);
        core.at(there, self.place.number, task);
    }
}

impl Part for NetworkPath {
    fn servers(&self) -> u32 {
        2
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        let DeviceRequest { kind, bytes, .. } = core.request(task);
        let bytes = if kind == RequestKind::Write { bytes } else { 0 };
        let there = self.carry(bytes, false, core);
        core.at(there, self.place.number, task);
    }

    fn event(&mut self, task: u32, core: &mut Core) {
        match core.task(task).stage {
            ASKS => {
                core.task_mut(task).stage = BEHIND;
                core.send(task, self.place.behind, core.request(task));
            }
            AGAIN => self.answer(task, core),
            _ => core.finish(task),
        }
    }

    fn returned(&mut self, task: TaskId, _request: DeviceRequest, core: &mut Core) {
        self.answer(task, core);
    }

    fn counts(&self) -> Vec<Count> {
        vec![
            ("messages", self.messages, 0),
            ("losses", self.lost, 0),
            ("answers dropped by the switch", self.overflowed, 0),
        ]
    }
}
