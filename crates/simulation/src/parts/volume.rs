//! Several different parts as one volume.

use iodyno_model::device::{Volume, VolumeLayout};

use super::{Part, PartPlace, PartsBehind};
use crate::kernel::{Core, DeviceRequest, RequestKind, TaskId};
use crate::random::mix;

/// In the stage of a task: it reads one of the copies, whose part the other bits say. Else the stage is how many answers it
/// waits for.
const READS_COPY: u32 = 1 << 31;

pub(crate) struct UnlikeVolume {
    figures: Volume,
    place: PartPlace,
    behind: Vec<PartsBehind>,
    /// Where each part ends: of the addresses, or of the hashes.
    ends: Vec<u64>,
    /// Reads of copies at each part.
    reads: Vec<u32>,
}

impl UnlikeVolume {
    pub(crate) fn new(figures: &Volume, place: PartPlace, behind: &[PartsBehind]) -> Self {
        let all: f64 = figures.shares.iter().sum();
        let end = |at: &mut (u64, f64), (index, part): (usize, &PartsBehind)| {
            at.0 = at.0.saturating_add(part.bytes);
            at.1 += figures.shares.get(index).copied().unwrap_or(0.0) / all;
            Some(if figures.layout == VolumeLayout::Share { (at.1 * u64::MAX as f64) as u64 } else { at.0 })
        };
        let mut ends: Vec<u64> = behind.iter().enumerate().scan((0, 0.0), end).collect();
        // What lies beyond the last is on the last: a part need not say what it holds.
        let last = match figures.layout {
            VolumeLayout::Share => figures.shares.iter().rposition(|share| *share > 0.0),
            _ => behind.len().checked_sub(1),
        };
        ends.iter_mut().skip(last.unwrap_or(0)).for_each(|end| *end = u64::MAX);
        UnlikeVolume {
            ends,
            reads: vec![0; behind.len()],
            behind: behind.to_vec(),
            figures: figures.clone(),
            place,
        }
    }

    /// The part that has an address, the address there, and how many bytes follow it there.
    fn locate(&self, offset: u64) -> (usize, u64, u64) {
        let (each, count) = (self.figures.piece_bytes, self.behind.len() as u64);
        let (piece, within) = (offset / each, offset % each);
        match self.figures.layout {
            VolumeLayout::Linear => {
                let part = self.ends.partition_point(|end| *end <= offset).min(self.ends.len() - 1);
                let begin = part.checked_sub(1).map_or(0, |before| self.ends[before]);
                (part, offset - begin, self.ends[part] - offset)
            }
            VolumeLayout::Striped => ((piece % count) as usize, piece / count * each + within, each - within),
            VolumeLayout::Mirrored => (0, offset, u64::MAX),
            VolumeLayout::Share => {
                let hash = mix(piece);
                let part = self.ends.partition_point(|end| *end < hash).min(self.ends.len() - 1);
                let share = self.figures.shares[part] / self.figures.shares.iter().sum::<f64>();
                // As far on the part as on the volume, so that what lies side by side does so there too.
                let place = (piece as f64 * share) as u64 * each + within;
                let bytes = self.behind[part].bytes;
                (part, if bytes > 0 { place % bytes } else { place }, each - within)
            }
        }
    }

    /// What the parts are asked for: pieces that lie behind each other on a part are one request.
    fn requests(&self, request: DeviceRequest) -> Vec<(usize, DeviceRequest)> {
        let mut asked: Vec<(usize, DeviceRequest)> = Vec::new();
        let (mut offset, end) = (request.offset, request.offset.saturating_add(request.bytes));
        while offset < end {
            let (part, place, most) = self.locate(offset);
            let bytes = most.min(end - offset);
            let before = asked.iter_mut().rev().take(self.behind.len()).find(|(known, _)| *known == part);
            match before {
                Some((_, before)) if before.offset + before.bytes == place => before.bytes += bytes,
                _ => asked.push((part, DeviceRequest { offset: place, bytes, ..request })),
            }
            offset += bytes;
        }
        if asked.is_empty() {
            let (part, offset, _) = self.locate(request.offset);
            asked.push((part, DeviceRequest { offset, ..request }));
        }
        asked
    }

    fn pass_on(&mut self, task: TaskId, core: &mut Core) {
        let request = core.request(task);
        let is_copy = self.figures.layout == VolumeLayout::Mirrored;
        match request.kind {
            RequestKind::Read if is_copy => {
                let least = self.reads.iter().enumerate().min_by_key(|(_, reads)| **reads);
                let copy = least.map_or(0, |(index, _)| index);
                self.reads[copy] += 1;
                core.task_mut(task).stage = READS_COPY | copy as u32;
                core.send(task, self.behind[copy].first, request);
            }
            RequestKind::Flush | RequestKind::Write | RequestKind::Trim
                if is_copy || request.kind == RequestKind::Flush =>
            {
                core.task_mut(task).stage = self.behind.len() as u32;
                self.behind.iter().for_each(|part| core.send(task, part.first, request));
            }
            _ => {
                let requests = self.requests(request);
                core.task_mut(task).stage = requests.len() as u32;
                for (part, request) in requests {
                    core.send(task, self.behind[part].first, request);
                }
            }
        }
    }
}

impl Part for UnlikeVolume {
    fn servers(&self) -> u32 {
        1
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        match self.figures.command_ns {
            0 => self.pass_on(task, core),
            ns => core.at(core.now + ns, self.place.number, task),
        }
    }

    fn event(&mut self, task: u32, core: &mut Core) {
        self.pass_on(task, core);
    }

    fn returned(&mut self, task: TaskId, _request: DeviceRequest, core: &mut Core) {
        let stage = &mut core.task_mut(task).stage;
        if *stage & READS_COPY != 0 {
            self.reads[(*stage & !READS_COPY) as usize] -= 1;
            return core.finish(task);
        }
        *stage -= 1;
        if *stage == 0 {
            core.finish(task);
        }
    }
}
