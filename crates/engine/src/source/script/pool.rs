//! Which items of a set exist, as far as this worker knows: a bit for each.
//!
//! Exists because steps ask for "one that exists" and "one that does not". It refuses to look at the directory.

/// The items of a set.
pub struct Pool {
    bits: Vec<u64>,
    pub count: u64,
    existing: u64,
    pub rotor: u64,
}

impl Pool {
    pub fn new(count: u64, existing: u64) -> Self {
        let mut pool = Pool { bits: vec![0; count.div_ceil(64) as usize], count, existing: 0, rotor: 0 };
        (0..existing.min(count)).for_each(|item| pool.set(item, true));
        pool
    }

    /// A set whose items somebody else keeps account of: each in turn is all that is asked here.
    pub fn rotor(count: u64) -> Self {
        Pool { bits: Vec::new(), count, existing: 0, rotor: 0 }
    }

    pub fn has(&self, item: u64) -> bool {
        self.bits.get((item / 64) as usize).is_some_and(|word| word >> (item % 64) & 1 == 1)
    }

    pub fn set(&mut self, item: u64, exists: bool) {
        if item >= self.count || self.bits.is_empty() || self.has(item) == exists {
            return;
        }
        self.bits[(item / 64) as usize] ^= 1 << (item % 64);
        self.existing = if exists { self.existing + 1 } else { self.existing - 1 };
    }

    /// The first from `item` on that exists, or does not.
    pub fn find(&self, item: u64, exists: bool) -> Option<u64> {
        let any = if exists { self.existing > 0 } else { self.existing < self.count };
        any.then(|| (item..self.count).chain(0..item).find(|item| self.has(*item) == exists)).flatten()
    }
}
