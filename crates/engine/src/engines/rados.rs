//! `rados`: objects of a Ceph cluster by librados, asynchronous calls, as many in flight as the job's depth.
//!
//! A bucket is a pool, or a namespace of one: `rados://POOL[:NAMESPACE]/PREFIX`. The library is opened at run time, and each
//! worker connects on its own, as the originals' do. Completions come on a thread of the library, which wakes the worker;
//! with `busy_poll` the worker looks for itself. An error is Ceph's, which uses the system's numbers. A write is durable when
//! it is complete, so there is nothing to sync. It refuses to copy: the library has no call for it.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

use iodyno_model::{Diagnostic, Job, Kind, Verb, VerbSet, WorkerKind};

use self::calls::{Calls, Handle, Pool};
use self::completions::Completions;
use super::{
    Engine, EngineFacts, Failure, Setup, check_switches, check_values, setting, spec, switch, switched_on,
    whole_number,
};
use crate::clock::{self, Tick};
use crate::io::{AT_END, Files, Io, Slot};
use crate::names::Names;
use crate::objects::{ObjectSet, draws};

mod calls;
mod client;
mod completions;

/// The key of an object's map that the attribute verbs work on.
const KEY: &CStr = c"user.iodyno";
/// How long the monitors are waited for where a job does not say, s.
const CONNECT_TIMEOUT_S: u64 = 30;
/// What the system calls an attribute that is not there.
#[cfg(not(target_os = "freebsd"))]
const NO_DATA: c_int = libc::ENODATA;
#[cfg(target_os = "freebsd")]
const NO_DATA: c_int = libc::ENOATTR;
/// `LIBRADOS_CREATE_IDEMPOTENT`.
const IDEMPOTENT: c_int = 0;

/// Objects of one pool for each target.
pub struct Rados {
    calls: &'static Calls,
    /// By handle.
    buckets: Vec<Bucket>,
    slots: Box<[InFlight]>,
    completions: Arc<Completions>,
    busy_poll: bool,
    /// A write of a whole object replaces it.
    replaces: bool,
    /// Results that need no answer of the cluster.
    ready: Vec<(Slot, i64)>,
    /// Slots whose operations are complete, as they are taken back together.
    done: Vec<Slot>,
    in_flight: u32,
}

/// The objects of a target.
struct Bucket {
    pool: Pool,
    set: ObjectSet,
    names: Names,
    prefix: String,
}

/// An operation in flight.
struct InFlight {
    completion: Handle,
    /// What is released with it.
    operation: CompoundOperation,
    /// What the call answers is no count of bytes: this is the result where it does not fail.
    result: Option<u64>,
    /// The object's size and time, which `stat` writes.
    size: Box<(u64, libc::time_t)>,
    /// Where a read of the map writes what it found, and its own error.
    found: Box<(Handle, c_int)>,
    /// Where a value that is read goes.
    buffer: (*mut u8, u64),
}

/// A compound operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CompoundOperation {
    None,
    Write(Handle),
    Read(Handle),
}

impl Engine for Rados {
    const FACTS: EngineFacts = EngineFacts {
        about: "objects of Ceph by librados, asynchronous",
        verbs: VerbSet::of(&[
            Verb::Read,
            Verb::Write,
            Verb::Trim,
            Verb::Discard,
            Verb::WriteZeroes,
            Verb::Create,
            Verb::Open,
            Verb::Stat,
            Verb::Access,
            Verb::Truncate,
            Verb::Unlink,
            Verb::Readdir,
            Verb::Setxattr,
            Verb::Getxattr,
            Verb::Removexattr,
        ]),
        settings: &[
            spec("conf", "the configuration file of Ceph (default: where Ceph looks for it)"),
            spec("client", "as whom, admin or client.admin (default admin)"),
            spec("cluster", "the cluster's name (default: Ceph's)"),
            spec("connect_timeout_s", "how long the monitors are waited for (default 30)"),
            spec("busy_poll", "on or off: look for completions without sleeping (default off)"),
            spec("replace", "on or off: a write of a whole object replaces it (default on)"),
            spec(
                "touch",
                "on or off: make the objects, empty, before the start where they are missing (default off)",
            ),
        ],
        submits: true,
        stores_objects: &["rados"],
        writes_parts: true,
        client: Some(client::connect),
        is_slow: true,
        uses_files: false,
        available: || Calls::get().map(drop),
        check: Self::check,
        ..EngineFacts::named("rados")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let calls = Calls::get()?;
        let completions = Completions::new(setup.depth);
        let mut buckets: Vec<Bucket> = Vec::new();
        for set in setup.objects.iter().flatten() {
            buckets.push(Bucket::open(calls, setup.job, set)?);
        }
        let slots = (0..setup.depth).map(|_| InFlight::none()).collect();
        let depth = setup.depth as usize;
        let mut engine = Rados {
            calls,
            buckets,
            slots,
            completions,
            busy_poll: switched_on(setup.job, "busy_poll"),
            replaces: switch(setup.job, "replace") != Some(false),
            ready: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth),
            in_flight: 0,
        };
        if switched_on(setup.job, "touch") {
            engine.touch()?;
        }
        Ok(engine)
    }

    fn push(&mut self, slot: Slot, io: &Io, _files: &mut Files) {
        // What only carries a line of the tally is nothing to ask a store for.
        if io.verb.kind() == Kind::Control {
            return self.ready.push((slot, 0));
        }
        match self.begin(slot, io) {
            Ok(()) => self.in_flight += 1,
            Err(result) => self.ready.push((slot, result)),
        }
    }

    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        let mut count = 0;
        loop {
            self.collect();
            if !(self.done.is_empty() && self.ready.is_empty()) {
                let now = clock::now();
                while let Some((slot, result)) = self.ready.pop() {
                    done(slot, result, now);
                    count += 1;
                }
                for index in 0..self.done.len() {
                    let slot = self.done[index];
                    let result = self.finish(slot);
                    done(slot, result, now);
                    count += 1;
                }
                self.done.clear();
            }
            if count >= min || self.in_flight == 0 || !self.wait(until) {
                return Ok(());
            }
        }
    }

    /// Only what ends a run, outside the loop.
    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        match io.verb {
            Verb::Fsync | Verb::Fdatasync => 0,
            _ => -i64::from(libc::EOPNOTSUPP),
        }
    }
}

impl Rados {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut found = check_switches(job, &["busy_poll", "replace", "touch"]);
        let is_time = |value: &str| value.parse::<u64>().is_ok_and(|seconds| seconds > 0);
        found.extend(check_values(job, &["connect_timeout_s"], is_time, "say a number of seconds, e.g. 30"));
        if job.kind == WorkerKind::Processes {
            let message = format!("job {}: engine rados: its library does not work after a fork", job.name);
            found.push(Diagnostic::error(&job.origin, message).hint("use threads"));
        }
        if draws(job, Verb::Readdir) && job.depth.most > 1 {
            let message = format!("job {}: engine rados lists one at a time, and waits for it", job.name);
            found.push(Diagnostic::error(&job.origin, message).hint("depth = 1, and more workers"));
        }
        found
    }

    /// Makes the objects that have one, where they are missing.
    fn touch(&mut self) -> Result<(), Failure> {
        for file in 0..self.buckets.len() as u32 {
            for item in 0..self.buckets[file as usize].names.count {
                let io = Io { verb: Verb::Create, file, offset: item, ..Io::default() };
                let mut result = 0;
                self.push(0, &io, &mut Files::default());
                self.poll(1, clock::NEVER, |_, answer, _| result = answer)?;
                if result < 0 {
                    let address = self.buckets[file as usize].set.address(item);
                    return Err(Failure::call(&format!("cannot make {address}"), -result as i32));
                }
            }
        }
        Ok(())
    }

    /// Hands an operation to the library, or answers what it comes to at once.
    fn begin(&mut self, slot: Slot, io: &Io) -> Result<(), i64> {
        let calls = self.calls;
        let bucket = self.buckets.get_mut(io.file as usize).ok_or(-i64::from(libc::EBADF))?;
        if io.verb == Verb::Readdir {
            return Err(bucket.pool.count(bucket.prefix.as_bytes(), io.bytes));
        }
        let (place, appends) = match io.offset {
            AT_END if bucket.names.count == 1 && io.verb == Verb::Write => {
                (bucket.set.place(Verb::Stat, 0), true)
            }
            // A trim is of bytes, as a write is.
            offset if zeroes(io.verb) => (bucket.set.place(Verb::Write, offset), false),
            offset => (bucket.set.place(io.verb, offset), false),
        };
        let whole = self.replaces && place.offset == 0 && io.bytes >= bucket.set.object_bytes;
        let name = bucket.names.path_of(place.item).as_ptr();
        let state = &mut self.slots[slot as usize];
        state.completion = self.completions.begin(calls, slot, self.busy_poll)?;
        state.result = Some(0);
        state.buffer = (io.buffer, io.bytes);
        let (pool, completion) = (bucket.pool.handle, state.completion);
        let (from, to) = (io.buffer.cast_const().cast::<c_char>(), io.buffer.cast::<c_char>());
        let bytes = io.bytes as usize;
        // SAFETY: the pool is open, the name is zero-terminated and copied by the call, the buffer is the operation's and
        // stays until it is complete, and so does the slot, where the answers go.
        let begun = unsafe {
            match io.verb {
                // Asked for nothing, the library reads all there is.
                Verb::Read | Verb::Open if bytes > 0 => {
                    state.result = None;
                    (calls.read)(pool, name, completion, to, bytes, place.offset)
                }
                Verb::Write if appends => (calls.append)(pool, name, completion, from, bytes),
                Verb::Write if whole => (calls.write_full)(pool, name, completion, from, bytes),
                Verb::Write => (calls.write)(pool, name, completion, from, bytes, place.offset),
                Verb::Stat | Verb::Access | Verb::Open => {
                    (calls.stat)(pool, name, completion, &raw mut state.size.0, &raw mut state.size.1)
                }
                Verb::Unlink => (calls.remove)(pool, name, completion),
                Verb::Getxattr => state.begin_read(calls, pool, name),
                _ => state.begin_write(calls, pool, name, io, place.offset),
            }
        };
        if matches!(io.verb, Verb::Write | Verb::Create) || zeroes(io.verb) {
            state.result = Some(io.bytes);
        }
        if begun < 0 {
            state.release(calls);
            return Err(i64::from(begun));
        }
        Ok(())
    }

    /// Finds out what is complete.
    fn collect(&mut self) {
        if !self.busy_poll {
            return self.completions.take(&mut self.done);
        }
        for (slot, state) in self.slots.iter().enumerate() {
            // SAFETY: the completion is the library's until it is released.
            if !state.completion.is_null() && unsafe { (self.calls.is_complete)(state.completion) } != 0 {
                self.done.push(slot as Slot);
            }
        }
    }

    /// Waits for something to be complete; false: the time was over before.
    fn wait(&self, until: Tick) -> bool {
        match self.busy_poll {
            true => clock::now() < until,
            false => self.completions.wait(until),
        }
    }

    /// The result of what is complete.
    fn finish(&mut self, slot: Slot) -> i64 {
        self.in_flight -= 1;
        let (calls, state) = (self.calls, &mut self.slots[slot as usize]);
        // SAFETY: the operation is complete.
        let result = unsafe { (calls.result)(state.completion) };
        let result = match (result, state.operation) {
            (0.., CompoundOperation::Read(_)) => state.value(calls),
            (0.., _) => state.result.map_or(i64::from(result), |bytes| bytes as i64),
            _ => i64::from(result),
        };
        state.release(calls);
        result
    }
}

/// Whether a verb leaves zeros in a range of an object.
fn zeroes(verb: Verb) -> bool {
    matches!(verb, Verb::Trim | Verb::Discard | Verb::WriteZeroes)
}

impl Drop for Rados {
    fn drop(&mut self) {
        // Buffers and answers are written until then.
        for state in &mut self.slots {
            if !state.completion.is_null() {
                // SAFETY: the completion is the library's until it is released.
                unsafe { (self.calls.wait)(state.completion) };
                state.release(self.calls);
            }
        }
    }
}

impl Bucket {
    fn open(calls: &'static Calls, job: &Job, set: &ObjectSet) -> Result<Bucket, Failure> {
        let (_, place, prefix) = set.parts();
        let pool = client::open_pool(calls, job, place)?;
        let mut names = set.names.clone();
        names.root = prefix.trim_end_matches('/').into();
        Ok(Bucket { pool, set: set.clone(), names, prefix })
    }
}

impl InFlight {
    fn none() -> InFlight {
        InFlight {
            completion: std::ptr::null_mut(),
            operation: CompoundOperation::None,
            result: None,
            size: Box::default(),
            found: Box::new((std::ptr::null_mut(), 0)),
            buffer: (std::ptr::null_mut(), 0),
        }
    }

    /// Begins what needs a compound operation to change an object.
    ///
    /// # Safety
    /// The pool is open, the name is zero-terminated, and the buffer holds the operation's bytes until it is complete.
    unsafe fn begin_write(
        &mut self,
        calls: &Calls,
        pool: Handle,
        name: *const c_char,
        io: &Io,
        offset: u64,
    ) -> c_int {
        let (key, value) = (KEY.as_ptr(), io.buffer.cast_const().cast::<c_char>());
        let bytes = io.bytes as usize;
        // SAFETY: the operation is ours until it is released; it copies keys and values, and its buffer is the caller's.
        unsafe {
            let operation = (calls.new_write)();
            self.operation = CompoundOperation::Write(operation);
            match io.verb {
                Verb::Create if bytes > 0 => (calls.with_full)(operation, value, bytes),
                Verb::Create => (calls.with_creation)(operation, IDEMPOTENT, std::ptr::null()),
                Verb::Trim | Verb::Discard | Verb::WriteZeroes => {
                    (calls.with_zeros)(operation, offset, io.bytes)
                }
                Verb::Truncate => (calls.with_truncation)(operation, io.bytes),
                Verb::Setxattr => {
                    (calls.with_key)(operation, &raw const key, &raw const value, &raw const bytes, 1)
                }
                Verb::Removexattr => (calls.without_key)(operation, &raw const key, 1),
                _ => return -libc::EOPNOTSUPP,
            }
            (calls.begin_write)(operation, pool, self.completion, name, std::ptr::null_mut(), 0)
        }
    }

    /// Begins to read a value of the object's map.
    ///
    /// # Safety
    /// The pool is open, and the name is zero-terminated.
    unsafe fn begin_read(&mut self, calls: &Calls, pool: Handle, name: *const c_char) -> c_int {
        let key = KEY.as_ptr();
        *self.found = (std::ptr::null_mut(), 0);
        // SAFETY: the operation is ours until it is released; it copies the key, and its answers go to a place that stays.
        unsafe {
            let operation = (calls.new_read)();
            self.operation = CompoundOperation::Read(operation);
            (calls.get_keys)(operation, &raw const key, 1, &raw mut self.found.0, &raw mut self.found.1);
            (calls.begin_read)(operation, pool, self.completion, name, 0)
        }
    }

    /// Copies the value that was read into the operation's buffer: its bytes, or what went wrong.
    fn value(&mut self, calls: &Calls) -> i64 {
        let (list, error) = *self.found;
        if error < 0 || list.is_null() {
            return i64::from(error.min(0));
        }
        let (mut key, mut value, mut bytes) = (std::ptr::null_mut(), std::ptr::null_mut(), 0usize);
        // SAFETY: the list is complete and ours; its value is copied before it is ended, as far as there is room.
        unsafe {
            let found = (calls.next_key)(list, &raw mut key, &raw mut value, &raw mut bytes);
            let copied = bytes.min(self.buffer.1 as usize);
            if found == 0 && !value.is_null() && copied > 0 {
                std::ptr::copy_nonoverlapping(value.cast::<u8>(), self.buffer.0, copied);
            }
            let is_there = !key.is_null();
            (calls.end_keys)(list);
            match found {
                0 if is_there && bytes as u64 > self.buffer.1 => -i64::from(libc::ERANGE),
                0 if is_there => copied as i64,
                0 => -i64::from(NO_DATA),
                _ => i64::from(found),
            }
        }
    }

    fn release(&mut self, calls: &Calls) {
        // SAFETY: each is the library's, complete or never begun, and is released once.
        unsafe {
            match std::mem::replace(&mut self.operation, CompoundOperation::None) {
                CompoundOperation::None => {}
                CompoundOperation::Write(operation) => (calls.release_write)(operation),
                CompoundOperation::Read(operation) => (calls.release_read)(operation),
            }
            (calls.release)(std::mem::replace(&mut self.completion, std::ptr::null_mut()));
        }
    }
}
