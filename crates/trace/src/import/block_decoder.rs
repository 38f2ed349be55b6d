//! All inputs of a block trace, merged by time, as requests.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::block_events::{BlockEvent, BlockPoint, BlockStep, EventReader};
use super::block_requests::BlockRequests;
use super::context::ImportContext;
use super::order::{Decoder, OrderedRecords, SortWindow, Stamps, WINDOW};
use crate::{TraceClock, TraceError, TraceLevel, TraceRecord};

/// Events that are looked at before it is chosen which of them are records.
const PROBED: usize = 1 << 16;
/// Events that are taken at a time.
const STEP: usize = 4096;

struct EventInput {
    reader: Box<dyn EventReader + Send>,
    window: SortWindow<BlockEvent>,
    is_ended: bool,
}

impl EventInput {
    fn next(&mut self, context: &mut ImportContext) -> Result<Option<BlockEvent>, TraceError> {
        loop {
            if let Some((event, late_ns)) = self.window.next() {
                if late_ns > 0 {
                    event.at_ns += late_ns;
                    context
                        .count("events more than 8192 places out of order, moved to the time before them", 1);
                }
                return Ok(Some(*event));
            }
            if self.is_ended {
                return Ok(None);
            }
            let tail = self.window.tail();
            let enough = tail.len() + WINDOW;
            while !self.is_ended && tail.len() < enough {
                self.is_ended = !self.reader.read(context, tail)?;
            }
            self.window.sort(self.is_ended);
        }
    }
}

/// Reads the inputs of a block trace.
pub struct BlockDecoder {
    inputs: Vec<EventInput>,
    /// The next event of each input.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    heads: Vec<Option<BlockEvent>>,
    probed: Option<Vec<BlockEvent>>,
    asked: Option<BlockPoint>,
    devices: BTreeMap<(u32, u32), DevicePoint>,
    requests: BlockRequests,
    /// An input may have ended while others go on.
    is_started: bool,
}

/// What was chosen for a device, and what it has.
#[derive(Clone, Copy)]
struct DevicePoint {
    point: BlockPoint,
    queued: u64,
    taken: u64,
}

/// The reader of a block trace.
pub fn open(
    readers: Vec<Box<dyn EventReader + Send>>,
    asked: Option<BlockPoint>,
    resolution_ns: u64,
    context: &mut ImportContext,
) -> Vec<OrderedRecords> {
    context.header.clock = TraceClock::Monotonic;
    context.header.level = TraceLevel::Block;
    context.header.resolution_ns = resolution_ns;
    let input = |reader| EventInput {
        reader,
        window: SortWindow::new(|event: &BlockEvent| event.at_ns),
        is_ended: false,
    };
    let inputs: Vec<EventInput> = readers.into_iter().map(input).collect();
    let decoder = BlockDecoder {
        heads: vec![None; inputs.len()],
        inputs,
        next: BinaryHeap::new(),
        probed: Some(Vec::new()),
        asked,
        devices: BTreeMap::new(),
        requests: BlockRequests::default(),
        is_started: false,
    };
    vec![OrderedRecords::new(Box::new(decoder), Stamps::Exact(resolution_ns))]
}

impl BlockDecoder {
    fn next_event(&mut self, context: &mut ImportContext) -> Result<Option<BlockEvent>, TraceError> {
        if !std::mem::replace(&mut self.is_started, true) {
            for index in 0..self.inputs.len() {
                self.pull(index, context)?;
            }
        }
        let Some(Reverse((_, index))) = self.next.pop() else { return Ok(None) };
        let event = self.heads[index].take();
        self.pull(index, context)?;
        Ok(event)
    }

    fn pull(&mut self, index: usize, context: &mut ImportContext) -> Result<(), TraceError> {
        self.heads[index] = self.inputs[index].next(context)?;
        self.next.extend(self.heads[index].map(|event| Reverse((event.at_ns, index))));
        Ok(())
    }

    /// D of devices that have it, else Q, else C; or what the user asks for.
    fn choose(&mut self, events: &[BlockEvent], context: &mut ImportContext) {
        let mut steps: BTreeMap<(u32, u32), [bool; 3]> = BTreeMap::new();
        let all = [BlockPoint::Issue, BlockPoint::Queue, BlockPoint::Complete];
        for event in events {
            if let Some(at) = all.iter().position(|point| point.step() == event.step) {
                steps.entry(event.device).or_default()[at] = true;
            }
        }
        for (device, has) in steps {
            let first = has.iter().position(|has| *has).map_or(BlockPoint::Issue, |at| all[at]);
            let point = self.asked.unwrap_or(first);
            self.devices.insert(device, DevicePoint { point, queued: 0, taken: 0 });
            let note = match (self.asked, point) {
                (Some(_), _) => continue,
                (_, BlockPoint::Issue) => continue,
                (_, BlockPoint::Queue | BlockPoint::EachQueue) => "Q, for it has no D",
                (_, BlockPoint::Complete) => "C, for it has neither D nor Q: times are those of completions",
            };
            context.note(format!("requests of device {},{} are taken at {note}", device.0, device.1));
        }
        match self.asked {
            Some(BlockPoint::Complete) => {
                context.note("requests are taken at C, as asked for: times are those of completions".into());
            }
            Some(BlockPoint::EachQueue) => {}
            Some(point) => context.note(format!("requests are taken at {}, as asked for", point.letter())),
            None if self.devices.values().any(|device| device.point == BlockPoint::Issue) => {
                context.note("requests are taken at D, their issue to the driver; --events Q takes them before merging".into());
            }
            None => {}
        }
    }

    fn take(&mut self, event: &BlockEvent, context: &mut ImportContext) -> Result<(), TraceError> {
        let usual = self.asked.unwrap_or(BlockPoint::Issue);
        let device =
            self.devices.entry(event.device).or_insert(DevicePoint { point: usual, queued: 0, taken: 0 });
        device.queued += u64::from(event.step == BlockStep::Queue);
        device.taken += u64::from(event.step == device.point.step());
        self.requests.event(event, device.point, context)
    }

    fn finish(&mut self, context: &mut ImportContext) {
        for (device, has) in &self.devices {
            if has.taken == 0 && has.queued > 0 {
                let (letter, queued) = (has.point.letter(), has.queued);
                let (major, minor) = device;
                context.note(format!(
                    "device {major},{minor} has {queued} Q and no {letter}: nothing of it was taken; --events Q takes it"
                ));
            }
        }
        if !self.requests.has_completions && self.asked != Some(BlockPoint::EachQueue) {
            context.note("there are no completions (C) in it: latencies are unknown".into());
        }
    }
}

impl Decoder for BlockDecoder {
    fn decode(
        &mut self,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<bool, TraceError> {
        if let Some(mut probed) = self.probed.take() {
            while probed.len() < PROBED
                && let Some(event) = self.next_event(context)?
            {
                probed.push(event);
            }
            self.choose(&probed, context);
            for event in &probed {
                self.take(event, context)?;
            }
        }
        for _ in 0..STEP {
            let Some(event) = self.next_event(context)? else {
                self.requests.take_done(records, true, context);
                self.finish(context);
                return Ok(false);
            };
            self.take(&event, context)?;
        }
        self.requests.take_done(records, false, context);
        Ok(true)
    }
}
