//! Key-value caches of inference: blocks of attention state that are written once and read by later requests.
//!
//! Says as plain values which requests come and what the cache holds, and writes a server as the script of a phase. A request
//! reads the blocks of its prompt's beginning that are cached, computes the rest (a sleep), and then stores what is new. Its time
//! to first token is from its arrival to the end of computing. Draws nothing and reads nothing.

use crate::pattern::Size;
use crate::plan::{Job, Phase};
use crate::reflect::{Reflect, blank_by_default};
use crate::verb::Verb;
use crate::workload::{
    Action, Item, Offset, Operation, Script, SharedKind, SharedObject, SharedUse, Step, Workload,
};

/// The job that serves requests.
pub const SERVER: &str = "server";
/// From a request's arrival to the end of computing.
pub const FIRST_TOKEN: &str = "first token";
/// Blocks that are read, and blocks that are stored.
pub const READ: &str = "read block";
pub const STORE: &str = "store block";
/// All blocks of a request.
pub const READING: &str = "read";
const STORING: &str = "store";
/// The wait for a request, whose result is the tokens that are not cached.
const ARRIVAL: &str = "arrival";

/// What a server counts, by the names of its facts: tokens of all prompts, those of them that were cached, and those of these
/// that lay in memory.
pub const PROMPT_TOKENS: &str = "prompt_tokens";
pub const CACHED_TOKENS: &str = "cached_tokens";
pub const MEMORY_TOKENS: &str = "memory_tokens";

/// What workers share: the requests, and the time of the accelerators.
const REQUESTS: &str = "requests";
const ACCELERATORS: &str = "accelerators";

/// Requests, and the cache that they find: the least recently used block makes room for a new one.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct CacheRequests {
    /// How many come.
    #[reflect(key = "requests", positive)]
    pub count: u64,
    /// They arrive at random times, so many each second on average; 0: as soon as a worker is free.
    #[reflect(key = "rate")]
    pub per_second: f64,
    /// Requests before these: they only decide what the cache holds.
    pub before: u64,
    /// Conversations that go on at the same time.
    #[reflect(positive, absent = 1)]
    pub sessions: u64,
    /// How unequal the popularity of conversations and of prefixes is: Zipf's exponent; 0: not at all.
    pub theta: f64,
    /// Requests of a conversation; then another one begins in its place.
    #[reflect(positive, absent = 1)]
    pub turns: u32,
    /// Tokens that a turn adds before it is answered.
    #[reflect(absent = Size::Fixed(0))]
    pub prompt: Size,
    /// Tokens of its answer.
    #[reflect(absent = Size::Fixed(0))]
    pub answer: Size,
    /// Beginnings that conversations have in common.
    pub prefixes: u64,
    /// How long such a beginning is.
    pub prefix_tokens: u64,
    /// Conversations that begin with one of them, percent.
    pub prefixed_percent: f64,
    /// Tokens of a block; only whole blocks are cached.
    #[reflect(positive, absent = 16)]
    pub block_tokens: u64,
    /// Blocks that the cache holds.
    #[reflect(positive, absent = 1)]
    pub capacity: u64,
    /// Of these, blocks that lie in memory too: the ones used last.
    pub memory: u64,
    /// Decides what is drawn, whatever the plan's seed is.
    pub seed: u64,
    /// Requests that were recorded, in the order of their arrival: then these come, as many as `count`, and nothing is drawn.
    #[reflect(omit_empty, key = "")]
    pub recorded: Vec<RecordedRequest>,
}

blank_by_default!(CacheRequests);

/// A request that once came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct RecordedRequest {
    /// After the first one, ns.
    pub at_ns: u64,
    /// Of its prompt.
    pub tokens: u64,
    /// Of its answer.
    pub answer: u64,
    /// The identities of its prompt's blocks from the first one on; equal ones hold the same.
    pub blocks: Vec<u64>,
}

impl CacheRequests {
    /// Tokens of the longest conversation, its last answer included; of recorded ones, of the longest prompt.
    pub fn most_tokens(&self) -> u64 {
        if !self.recorded.is_empty() {
            return self.recorded.iter().map(|request| request.tokens).max().unwrap_or(0);
        }
        let most = |size: &Size| size.most_bytes().unwrap_or(0);
        let turn = most(&self.prompt).saturating_add(most(&self.answer));
        let prefix = if self.prefixes > 0 { self.prefix_tokens } else { 0 };
        turn.saturating_mul(self.turns.into()).saturating_add(prefix)
    }

    /// Blocks of the longest conversation.
    pub fn most_blocks(&self) -> u64 {
        self.most_tokens().div_ceil(self.block_tokens.max(1)).min(self.capacity).max(1)
    }
}

/// Whether blocks are files of their own, or lie in one file or device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockLayout {
    #[default]
    Slab,
    Files,
}

/// A server of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KvServer {
    pub requests: CacheRequests,
    pub layout: BlockLayout,
    pub block_bytes: u64,
    /// Requests that are served at the same time.
    pub workers: u32,
    /// Blocks of a request that are moved at the same time.
    pub depth: u32,
    /// Accelerators, each of which computes on one request at a time, and how long they compute on a token, ns.
    pub accelerators: u32,
    pub token_ns: f64,
    /// Requests that come later, or are not answered by then, are left out, ns; 0: none are.
    pub time_ns: u64,
}

impl KvServer {
    /// Adds the job to a phase, on a target of the plan, and what its workers share.
    pub fn fill(&self, phase: &mut Phase, target: usize, engine: &str) {
        let requests = SharedKind::Requests(Box::new(self.requests.clone()));
        // Of several ranks each is a server, which takes requests in turn with the others.
        let shared = |name: &str, kind| SharedObject { each_rank: true, ..SharedObject::new(name, kind) };
        phase.shared.push(shared(REQUESTS, requests));
        phase.shared.push(shared(ACCELERATORS, SharedKind::Servers { count: self.accelerators.max(1) }));
        let script = Script { steps: vec![self.request()], ..Script::default() };
        let mut job = Job::new(SERVER, engine, vec![target], Workload::Script(script));
        job.workers = self.workers;
        job.limit.passes = Some(u64::MAX - 1);
        job.limit.time_ns = (self.time_ns > 0).then_some(self.time_ns);
        job.depth.most = self.depth.max(1);
        phase.jobs.push(job);
    }

    fn request(&self) -> Step {
        let arrival =
            Operation { shared: Some(SharedUse::new(REQUESTS, 1)), ..Operation::control(Verb::Wait) };
        let drawn = Some((Size::ResultOf(ARRIVAL.into()), self.token_ns));
        let compute = Operation {
            shared: Some(SharedUse::new(ACCELERATORS, 1)),
            drawn,
            ..Operation::control(Verb::Wait)
        };
        let prefill = vec![arrival.step(ARRIVAL), self.blocks(false), compute.step("prefill")];
        block("request", vec![block(FIRST_TOKEN, prefill), self.blocks(true)])
    }

    /// The request's blocks that are read, or those that are stored.
    fn blocks(&self, stored: bool) -> Step {
        let (verb, label, all) = match stored {
            true => (Verb::Write, STORE, STORING),
            false => (Verb::Read, READ, READING),
        };
        let size = Size::Fixed(self.block_bytes);
        let moved = Operation { size, background: self.depth > 1, ..Operation::on(verb, 0) };
        let most = self.requests.most_blocks();
        if self.layout == BlockLayout::Slab {
            let offset = Offset::Requested { stored, block_bytes: self.block_bytes };
            let step = Step { repeat: most, ..Operation { offset, ..moved }.step(label) };
            return block(all, vec![step, all_done("moved")]);
        }
        // As many files as are moved side by side are opened, and closed again.
        let slots = u64::from(self.depth.max(1)).min(most) as u32;
        let open = |slot| {
            let (item, handle) = (Item::Requested { stored }, Some(slot));
            Operation { item, handle, ..Operation::on(Verb::Open, 0) }.step("open")
        };
        let move_block = |slot| {
            let (handle, offset) = (Some(slot), Offset::At(0));
            if_held(Operation { handle, offset, ..moved.clone() }).step(label)
        };
        let close =
            |slot| if_held(Operation { handle: Some(slot), ..Operation::on(Verb::Close, 0) }).step("close");
        let mut steps: Vec<Step> = (0..slots).map(open).collect();
        steps.extend((0..slots).map(move_block));
        steps.push(all_done("moved"));
        steps.extend((0..slots).map(close));
        let group = Step { repeat: most.div_ceil(slots.into()), ..block("files", steps) };
        block(all, vec![group])
    }
}

/// Left out where nothing lies in its slot.
fn if_held(operation: Operation) -> Operation {
    Operation { arguments: vec![("if".to_string(), "held".to_string())], ..operation }
}

/// Waits for all that is in flight.
pub fn all_done(label: &str) -> Step {
    let arguments = vec![("stay".to_string(), "0".to_string())];
    Operation { arguments, ..Operation::control(Verb::Wait) }.step(label)
}

/// Steps as one, timed as one.
pub fn block(label: &str, steps: Vec<Step>) -> Step {
    Step { action: Action::Block(steps), ..Operation::control(Verb::Wait).step(label) }
}
