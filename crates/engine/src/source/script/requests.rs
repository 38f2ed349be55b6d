//! The request to a cache that a script has taken, block by block.

use iodyno_model::kv_cache::{CACHED_TOKENS, MEMORY_TOKENS, PROMPT_TOKENS};

use super::super::shared::Object;
use super::compile::{RequestedBlocks, Spot};
use crate::clock::Tick;

/// What is left of the present request, and what came of all of them.
#[derive(Default)]
pub struct RequestProgress {
    /// Places of the blocks to read and to store, the next one last.
    reads: Vec<u32>,
    stores: Vec<u32>,
    computed_tokens: u64,
    any: bool,
    prompt_tokens: u64,
    cached_tokens: u64,
    memory_tokens: u64,
}

impl RequestProgress {
    /// Begins the request that an object has granted; when it arrived. None: it is no object of that kind.
    pub fn take(&mut self, object: &Object) -> Option<Tick> {
        let (list, request, arrival) = object.request()?;
        let places = |stored| list.places(request, stored).iter().rev().copied();
        (self.reads, self.stores) = (places(false).collect(), places(true).collect());
        self.computed_tokens = request.computed_tokens();
        self.any = true;
        self.prompt_tokens += request.tokens;
        self.cached_tokens += request.cached_tokens;
        self.memory_tokens += request.memory_tokens;
        Some(arrival)
    }

    pub fn computed_tokens(&self) -> u64 {
        self.computed_tokens
    }

    fn blocks(&mut self, which: RequestedBlocks) -> &mut Vec<u32> {
        if which.stored { &mut self.stores } else { &mut self.reads }
    }

    pub fn is_done(&self, which: RequestedBlocks) -> bool {
        if which.stored { self.stores.is_empty() } else { self.reads.is_empty() }
    }

    /// Where the next block begins.
    pub fn next(&mut self, which: RequestedBlocks) -> Option<u64> {
        self.blocks(which).pop().map(|place| u64::from(place) * which.block_bytes)
    }

    /// Where an operation goes that moves a block, in a file that begins there. None: it moves none.
    pub fn place(&mut self, spot: &Spot, base: u64) -> Option<u64> {
        let Spot::Requested(which) = spot else { return None };
        self.next(*which).map(|place| base + place)
    }

    /// By name.
    pub fn facts(&self) -> Vec<(&'static str, u64)> {
        if !self.any {
            return Vec::new();
        }
        let (prompt, cached) = ((PROMPT_TOKENS, self.prompt_tokens), (CACHED_TOKENS, self.cached_tokens));
        vec![prompt, cached, (MEMORY_TOKENS, self.memory_tokens)]
    }
}
