//! Which of a worker's writes a sync has made durable: those that had completed when the last one that succeeded was
//! submitted.

/// Writes by their numbers.
#[derive(Clone, Debug, Default)]
pub struct SyncedWrites {
    /// Begun, not completed.
    flying: Vec<u64>,
    /// Syncs that were submitted and did not complete: what each will have made durable.
    submitted: Vec<DurableWrites>,
    durable: DurableWrites,
}

/// All writes below a number but a few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurableWrites {
    pub below: u64,
    pub except: Vec<u64>,
}

impl DurableWrites {
    /// Whether a write is among them, of whose number only the low `bits` are known.
    pub fn has(&self, number: u64, bits: u32) -> bool {
        let mask = (1 << bits) - 1;
        let age = self.below.wrapping_sub(number) & mask;
        (1..=mask / 2).contains(&age) && !self.except.iter().any(|other| other & mask == number & mask)
    }
}

impl SyncedWrites {
    pub fn write_began(&mut self, number: u64) {
        self.flying.push(number);
    }

    pub fn write_ended(&mut self, number: u64, bits: u32) {
        let mask = (1 << bits) - 1;
        self.flying.retain(|other| other & mask != number & mask);
    }

    /// A sync is submitted after so many writes; the answer names it.
    pub fn sync_began(&mut self, writes: u64) -> u64 {
        self.submitted.push(DurableWrites { below: writes, except: self.flying.clone() });
        writes
    }

    /// A sync of that name is over.
    pub fn sync_ended(&mut self, name: u64, succeeded: bool) {
        let Some(found) = self.submitted.iter().position(|sync| sync.below == name) else { return };
        let sync = self.submitted.remove(found);
        if succeeded && sync.below >= self.durable.below {
            self.durable = sync;
        }
    }

    pub fn durable(&self) -> &DurableWrites {
        &self.durable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_completed_before_the_last_good_sync_was_submitted_is_durable() {
        let mut writes = SyncedWrites::default();
        let known = |writes: &SyncedWrites| {
            (0..8).filter(|number| writes.durable().has(*number, 30)).collect::<Vec<_>>()
        };
        (0..4).for_each(|number| writes.write_began(number));
        [0, 1, 3].iter().for_each(|number| writes.write_ended(*number, 30));
        let first = writes.sync_began(4);
        writes.write_ended(2, 30);
        assert_eq!(known(&writes), Vec::<u64>::new());
        writes.sync_ended(first, true);
        assert_eq!(known(&writes), [0, 1, 3]);
        writes.write_began(4);
        writes.write_ended(4, 30);
        let failed = writes.sync_began(5);
        writes.sync_ended(failed, false);
        assert_eq!(known(&writes), [0, 1, 3], "a sync that failed promises nothing");
        let second = writes.sync_began(5);
        writes.sync_ended(second, true);
        assert_eq!(known(&writes), [0, 1, 2, 3, 4]);
    }
}
