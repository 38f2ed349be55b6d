//! Where on a shared device the bytes of targets lie: one target behind the other, files of a set at places of their own.

use iodyno_model::{Direct, Extent, OpenSync, Plan, Target, TargetKind};

use iodyno_simulation::RequestKind;

use crate::clock::Tick;
use crate::io::{DURABLE, Files, Io, KEEP};
use crate::names::templates::is_own;
use crate::random::mix;
use crate::shared_device::RequestTemplate;

/// Items of sets lie at multiples of this.
const ITEM_BYTES: u64 = 4096;

/// Places of a worker's files on its device.
pub struct AddressMap {
    /// Where each of the plan's targets begins for this worker.
    targets: Vec<u64>,
    /// Whether each of them is something else than storage: a stream that the program was started with, a peer.
    elsewhere: Vec<bool>,
    /// Whether each is opened past the memory of the client, and whether what is written to it is durable at once.
    past_memory: Vec<(bool, bool)>,
    /// By handle, the place of the item that it has open; none: its target's.
    items: Vec<Option<u64>>,
    capacity: u64,
}

impl AddressMap {
    /// For a worker of so many; `capacity`: what the device holds, 0: there is no end.
    pub fn new(plan: &Plan, capacity: u64, seat: u32, seats: u32) -> Self {
        let capacity = if capacity == 0 { Tick::MAX } else { capacity };
        let known: Vec<_> = plan.targets.iter().map(|target| known_bytes(target, seats)).collect();
        let rest = capacity.saturating_sub(known.iter().flatten().sum());
        let unknown = known.iter().filter(|bytes| bytes.is_none()).count() as u64;
        let mut at = 0_u64;
        let begin = |(target, bytes): (&Target, &Option<u64>)| {
            let (begin, bytes) = (at, bytes.unwrap_or(rest / unknown.max(1)));
            at = at.saturating_add(bytes);
            begin + if has_own(target) { bytes / u64::from(seats.max(1)) * u64::from(seat) } else { 0 }
        };
        let targets = plan.targets.iter().zip(&known).map(begin).collect();
        let is_elsewhere = |target: &Target| {
            matches!(target.kind, TargetKind::Descriptor { .. } | TargetKind::Endpoint { .. })
        };
        let elsewhere = plan.targets.iter().map(is_elsewhere).collect();
        let past_memory =
            |target: &Target| (target.open.direct != Direct::No, target.open.sync != OpenSync::No);
        let past_memory = plan.targets.iter().map(past_memory).collect();
        AddressMap { targets, elsewhere, past_memory, items: Vec::new(), capacity }
    }

    /// Whether an operation has nothing to do with the device.
    pub fn is_elsewhere(&self, io: &Io, files: &Files) -> bool {
        let target = files.handles.get(io.file as usize).map_or(0, |handle| handle.target as usize);
        self.elsewhere.get(target).copied().unwrap_or(false)
    }

    /// Whether an operation goes past the memory of the client, and whether it is durable once it is answered.
    pub fn past_memory(&self, io: &Io, files: &Files) -> (bool, bool) {
        let target = files.handles.get(io.file as usize).map_or(0, |handle| handle.target as usize);
        let (direct, durable) = self.past_memory.get(target).copied().unwrap_or_default();
        (direct, durable || io.flags & DURABLE != 0)
    }

    /// The place of an operation that moves bytes, on the device.
    pub fn place(&self, io: &Io, offset: u64, files: &Files) -> u64 {
        self.begin(io, files).wrapping_add(offset) % self.capacity
    }

    /// Where on the device a handle's first byte lies.
    fn begin(&self, io: &Io, files: &Files) -> u64 {
        let handle = io.file as usize;
        let target = files.handles.get(handle).map_or(0, |handle| handle.target as usize);
        match self.items.get(handle).copied().flatten() {
            Some(item) => item,
            None => self.targets.get(target).copied().unwrap_or(0),
        }
    }

    /// What operations of that kind on one handle have in common; none: they do not lie one beside the other on the device.
    pub fn template(&self, kind: RequestKind, io: &Io, files: &Files) -> Option<RequestTemplate> {
        if self.is_elsewhere(io, files) {
            return None;
        }
        Some(RequestTemplate {
            kind,
            bytes: io.bytes,
            past_memory: self.past_memory(io, files),
            begin: self.begin(io, files),
            capacity: self.capacity,
        })
    }

    /// The place of an item of a set.
    pub fn item(&self, io: &Io, files: &Files) -> u64 {
        let target = files.handles.get(io.file as usize).map_or(0, |handle| u64::from(handle.target));
        mix(mix(target) ^ io.offset) % self.capacity / ITEM_BYTES * ITEM_BYTES
    }

    /// An item stays open in a handle.
    pub fn opened(&mut self, io: &Io, place: u64) {
        if io.flags & KEEP != 0 {
            let handle = io.other as u32 as usize;
            if self.items.len() <= handle {
                self.items.resize(handle + 1, None);
            }
            self.items[handle] = Some(place);
        }
    }
}

fn has_own(target: &Target) -> bool {
    target.path().is_some_and(is_own)
}

/// What a target holds of the device, as far as the plan says it.
pub fn known_bytes(target: &Target, seats: u32) -> Option<u64> {
    let files = if has_own(target) { u64::from(seats.max(1)) } else { 1 };
    match &target.kind {
        TargetKind::File { size: Extent::Bytes(bytes), .. } => Some(bytes.saturating_mul(files)),
        TargetKind::Nothing { bytes } => Some(*bytes),
        _ => None,
    }
}
