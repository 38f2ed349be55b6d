//! Which blocks each request to a cache reads and stores, worked out before any worker begins.
//!
//! The cache is looked up in the order of arrival: what a request finds does not depend on how fast the storage is, and the same
//! seed finds the same. A block counts as cached as soon as the request that stores it has arrived. A request's cached part is
//! its beginning, up to the first block that is not there, as prefix caches have it.

use std::collections::HashMap;
use std::ops::Range;

use iodyno_model::Pick;
use iodyno_model::kv_cache::CacheRequests;

use crate::distribution::{Distribution, Sizes};
use crate::failure::Failure;
use crate::random::Random;

/// Requests, and the places of all their blocks.
#[derive(Debug, Default)]
pub struct RequestList {
    requests: Vec<CacheRequest>,
    places: Vec<u32>,
}

/// What one request does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheRequest {
    /// After the start, ns.
    pub at_ns: u64,
    /// Of its prompt, of the cached part of that, and of that part's blocks which lie in memory.
    pub tokens: u64,
    pub cached_tokens: u64,
    pub memory_tokens: u64,
    reads: Range<usize>,
    stores: Range<usize>,
}

impl CacheRequest {
    /// What is not cached.
    pub fn computed_tokens(&self) -> u64 {
        self.tokens - self.cached_tokens
    }
}

impl RequestList {
    /// Whether they can be drawn.
    ///
    /// # Errors
    /// What of them cannot.
    pub fn check(asked: &CacheRequests) -> Result<(), Failure> {
        match asked.recorded.is_empty() {
            true => RequestStream::new(asked).map(drop),
            false => Lru::of(asked.capacity).map(drop),
        }
    }

    /// # Errors
    /// Numbers that cannot be drawn.
    pub fn new(asked: &CacheRequests) -> Result<RequestList, Failure> {
        if !asked.recorded.is_empty() {
            return RequestList::recorded(asked);
        }
        let mut stream = RequestStream::new(asked)?;
        let mut list = RequestList::default();
        for _ in 0..asked.before {
            stream.next(&mut list.places);
            list.places.clear();
        }
        list.requests.reserve(usize::try_from(asked.count).unwrap_or(0));
        let mut at = 0.0;
        for _ in 0..asked.count {
            let mut request = stream.next(&mut list.places);
            if asked.per_second > 0.0 {
                at += stream.arrivals.exponential(1e9 / asked.per_second);
            }
            request.at_ns = at as u64;
            list.requests.push(request);
        }
        Ok(list)
    }

    /// Those that were recorded, with a cache that is empty at first. The blocks of answers have no names, so they are not
    /// stored; neither is the end of a prompt that fills no block.
    fn recorded(asked: &CacheRequests) -> Result<RequestList, Failure> {
        let (mut storage, mut memory) = (Lru::of(asked.capacity)?, Lru::within(asked.memory, asked.capacity));
        let mut list = RequestList::default();
        let each = asked.block_tokens.max(1);
        let count = usize::try_from(asked.count).unwrap_or(usize::MAX);
        for came in asked.recorded.iter().take(count) {
            let whole = came.blocks.len().min((came.tokens / each).min(asked.capacity) as usize);
            let blocks: Vec<_> = came.blocks[..whole].iter().map(|id| (*id, RECORDED)).collect();
            let begin = list.places.len();
            let (cached, in_memory) = look_up(&storage, &memory, blocks.iter().copied(), &mut list.places);
            let reads = begin..list.places.len();
            store(&mut storage, &blocks, cached, &mut list.places);
            if asked.memory > 0 {
                blocks.iter().rev().for_each(|block| _ = memory.take_in(*block));
            }
            list.requests.push(CacheRequest {
                at_ns: came.at_ns,
                tokens: came.tokens,
                cached_tokens: cached as u64 * each,
                memory_tokens: in_memory * each,
                stores: reads.end..list.places.len(),
                reads,
            });
        }
        Ok(list)
    }

    pub fn get(&self, number: u64) -> Option<&CacheRequest> {
        self.requests.get(usize::try_from(number).ok()?)
    }

    /// The places of the blocks that a request reads, or stores.
    pub fn places(&self, request: &CacheRequest, stored: bool) -> &[u32] {
        let range = if stored { &request.stores } else { &request.reads };
        self.places.get(range.clone()).unwrap_or_default()
    }
}

/// The second half of the identity of recorded blocks, which have one number each.
const RECORDED: u64 = u64::MAX;

/// How many blocks are there, from the first one on, and how many of these lie in memory; the places of the others.
fn look_up(
    storage: &Lru,
    memory: &Lru,
    blocks: impl Iterator<Item = (u64, u64)>,
    places: &mut Vec<u32>,
) -> (usize, u64) {
    let (mut cached, mut in_memory) = (0, 0);
    for block in blocks {
        let Some(place) = storage.place(block) else { break };
        match memory.place(block) {
            Some(_) => in_memory += 1,
            None => places.push(place),
        }
        cached += 1;
    }
    (cached, in_memory)
}

/// Takes in the blocks that are not cached, whose places are told. The last block of a conversation is of no use without those
/// before it, so it counts as used before them.
fn store(storage: &mut Lru, blocks: &[(u64, u64)], cached: usize, places: &mut Vec<u32>) {
    let (used, new) = blocks.split_at(cached.min(blocks.len()));
    used.iter().rev().for_each(|block| storage.touch(*block));
    let first = places.len();
    for block in new.iter().rev() {
        places.push(storage.take_in(*block));
    }
    places[first..].reverse();
    used.iter().rev().for_each(|block| storage.touch(*block));
}

/// More of anything are not worked out.
const MOST: u64 = 100_000_000;

/// Streams of random numbers: who asks, how much, and when.
const WHO: u64 = 1;
const HOW_MUCH: u64 = 2;
const WHEN: u64 = 3;
/// Seeds of which conversation and which prefix are popular.
const SESSIONS_SEED: u64 = 11;
const PREFIXES_SEED: u64 = 12;

/// Draws requests one after the other.
struct RequestStream<'a> {
    asked: &'a CacheRequests,
    who: Random,
    how_much: Random,
    arrivals: Random,
    sessions: Distribution,
    prefixes: Option<Distribution>,
    prompt: Sizes,
    answer: Sizes,
    conversations: Vec<Option<Conversation>>,
    begun: u64,
    storage: Lru,
    memory: Lru,
}

#[derive(Clone, Copy)]
struct Conversation {
    number: u64,
    prefix: Option<u64>,
    tokens: u64,
    turns: u32,
}

impl Conversation {
    /// The identity of its n-th block: that of a common beginning's, as far as that goes.
    fn block(&self, number: u64, asked: &CacheRequests) -> (u64, u64) {
        match self.prefix {
            Some(prefix) if (number + 1) * asked.block_tokens <= asked.prefix_tokens => (2 * prefix, number),
            _ => (2 * self.number + 1, number),
        }
    }
}

impl<'a> RequestStream<'a> {
    fn new(asked: &'a CacheRequests) -> Result<Self, Failure> {
        let counts = [asked.most_tokens(), asked.prefixes, asked.sessions, asked.count, asked.block_tokens];
        if counts.iter().any(|count| *count > MOST) {
            return Err(Failure::new("more requests, sessions, prefixes or tokens than can be worked out")
                .hint(format!("at most {MOST} of each")));
        }
        let drawn = |count: u64, seed: u64| {
            let pick = match asked.theta {
                theta if theta > 0.0 => Pick::Zipf { theta, center: None },
                _ => Pick::Uniform,
            };
            Distribution::new(&pick, count.max(1), 1, asked.seed ^ seed).map_err(super::walk::failure)
        };
        let sizes = |size| Sizes::new(size).map_err(super::walk::failure);
        Ok(RequestStream {
            asked,
            who: Random::from_seed(asked.seed, WHO),
            how_much: Random::from_seed(asked.seed, HOW_MUCH),
            arrivals: Random::from_seed(asked.seed, WHEN),
            sessions: drawn(asked.sessions, SESSIONS_SEED)?,
            prefixes: if asked.prefixes > 0 { Some(drawn(asked.prefixes, PREFIXES_SEED)?) } else { None },
            prompt: sizes(&asked.prompt)?,
            answer: sizes(&asked.answer)?,
            conversations: vec![None; usize::try_from(asked.sessions.max(1)).unwrap_or(1)],
            begun: 0,
            storage: Lru::of(asked.capacity)?,
            memory: Lru::within(asked.memory, asked.capacity),
        })
    }

    /// The conversation that goes on, with this request's prompt.
    fn conversation(&mut self) -> usize {
        let index = self.sessions.draw(&mut self.who) as usize;
        if self.conversations[index].is_none() {
            let prefixed = self.who.unit() * 100.0 < self.asked.prefixed_percent;
            let prefix = self.prefixes.as_ref().filter(|_| prefixed).map(|all| all.draw(&mut self.who));
            let tokens = prefix.map_or(0, |_| self.asked.prefix_tokens);
            self.conversations[index] = Some(Conversation { number: self.begun, prefix, tokens, turns: 0 });
            self.begun += 1;
        }
        index
    }

    /// What the next request does; the places of its blocks go behind those that are there.
    fn next(&mut self, places: &mut Vec<u32>) -> CacheRequest {
        let index = self.conversation();
        let Some(mut conversation) = self.conversations[index] else { return CacheRequest::default() };
        let each = self.asked.block_tokens.max(1);
        conversation.tokens += self.prompt.draw(&mut self.how_much);
        let tokens = conversation.tokens;
        let before = places.len();
        let blocks = (0..tokens / each).map(|number| conversation.block(number, self.asked));
        let (cached, in_memory) = look_up(&self.storage, &self.memory, blocks, places);
        let reads = before..places.len();
        conversation.tokens += self.answer.draw(&mut self.how_much);
        conversation.turns += 1;
        self.store(&conversation, cached, conversation.tokens / each, places);
        let ends = conversation.turns >= self.asked.turns;
        self.conversations[index] = (!ends).then_some(conversation);
        CacheRequest {
            at_ns: 0,
            tokens,
            cached_tokens: cached as u64 * each,
            memory_tokens: in_memory * each,
            stores: reads.end..places.len(),
            reads,
        }
    }

    /// Takes new blocks in.
    fn store(&mut self, conversation: &Conversation, cached: usize, blocks: u64, places: &mut Vec<u32>) {
        let blocks = blocks.min(self.asked.capacity);
        let blocks: Vec<_> = (0..blocks).map(|number| conversation.block(number, self.asked)).collect();
        store(&mut self.storage, &blocks, cached, places);
        if self.asked.memory > 0 {
            blocks.iter().rev().for_each(|block| _ = self.memory.take_in(*block));
        }
    }
}

/// Which blocks lie in which place, and which of them was used longest ago.
struct Lru {
    places: u32,
    known: HashMap<(u64, u64), u32>,
    entries: Vec<LruEntry>,
    newest: u32,
    oldest: u32,
}

struct LruEntry {
    block: (u64, u64),
    newer: u32,
    older: u32,
}

impl Lru {
    const NONE: u32 = u32::MAX;

    /// Of so many places.
    fn of(capacity: u64) -> Result<Lru, Failure> {
        let places = u32::try_from(capacity).ok().filter(|places| *places < Lru::NONE);
        places
            .map(Lru::new)
            .ok_or_else(|| Failure::new(format!("a cache of {capacity} blocks")).hint("at most 4294967294"))
    }

    /// The part of a cache that lies in memory.
    fn within(memory: u64, capacity: u64) -> Lru {
        Lru::new(u32::try_from(memory.min(capacity)).unwrap_or(u32::MAX))
    }

    fn new(places: u32) -> Lru {
        Lru { places, known: HashMap::new(), entries: Vec::new(), newest: Lru::NONE, oldest: Lru::NONE }
    }

    fn place(&self, block: (u64, u64)) -> Option<u32> {
        self.known.get(&block).copied()
    }

    fn touch(&mut self, block: (u64, u64)) {
        if let Some(place) = self.place(block) {
            self.unlink(place);
            self.link(place);
        }
    }

    /// Where a block is from now on, which is the newest: a free place, or that of the oldest.
    fn take_in(&mut self, block: (u64, u64)) -> u32 {
        if let Some(place) = self.place(block) {
            self.touch(block);
            return place;
        }
        let place = match u32::try_from(self.entries.len()) {
            Ok(free) if free < self.places => {
                self.entries.push(LruEntry { block, newer: Lru::NONE, older: Lru::NONE });
                free
            }
            _ => {
                let oldest = self.oldest;
                self.unlink(oldest);
                let entry = &mut self.entries[oldest as usize];
                self.known.remove(&entry.block);
                entry.block = block;
                oldest
            }
        };
        self.known.insert(block, place);
        self.link(place);
        place
    }

    fn unlink(&mut self, place: u32) {
        let LruEntry { newer, older, .. } = self.entries[place as usize];
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link(&mut self, place: u32) {
        let newest = self.newest;
        let entry = &mut self.entries[place as usize];
        (entry.newer, entry.older) = (Lru::NONE, newest);
        match self.entries.get_mut(newest as usize) {
            Some(entry) => entry.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
#[path = "cache_requests_tests.rs"]
mod tests;
