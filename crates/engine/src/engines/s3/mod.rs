//! `s3`: objects of a store that speaks the S3 API, over connections of our own.
//!
//! Each slot has connections of its own, so the depth is how many requests are in flight; one thread serves them all by
//! epoll, and a connection is kept for the slot's next request. Connecting, the first byte and the body are told apart.
//! Nothing is retried unless a setting says so, and each attempt is counted. It refuses what a client could hide: a proxy of
//! its own, automatic redirects, a cache.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use iodyno_model::{Kind, TargetKind, Verb, VerbSet};
use iodyno_s3::address::BucketAddress;
use iodyno_s3::{Signer, UtcTime};

use super::{Engine, EngineFacts, Failure, Setup};
use crate::clock::{self, NEVER, Tick};
use crate::io::{Files, Io, PathBuffer, Slot};
use crate::memory::errno;
use crate::names::templates::tells_apart;
use crate::objects::{ObjectSet, draws};
use crate::random::Random;
use crate::secrets::SecretPages;
use crate::worker_counters::Counts;
use connection::{Buffer, Connection, Ending, Outgoing};
use endpoints::EndpointSet;
use instance::Renewal;
use requests::{Purpose, SlotWork};
use settings::StoreSettings;
use shared_upload::UploadSeat;
use tally::RequestTally;
use versions::VersionIds;

pub mod blocking;
mod connection;
mod endpoints;
mod instance;
mod peer;
mod preflight;
mod requests;
pub mod settings;
mod shared_upload;
mod stream;
mod tally;
#[cfg_attr(not(feature = "tls"), path = "tls_absent.rs")]
mod tls;
mod versions;

/// The longest sleep without looking at deadlines, ns.
const SLICE_NS: u64 = 200_000_000;
/// Before the first further attempt, ns; each further one waits twice as long.
const BACKOFF_NS: u64 = 10_000_000;
/// Objects of a bucket of which is remembered whether they were read, at most, in words of 64.
const SEEN_WORDS: usize = 1 << 14;
/// Events taken at once.
const EVENTS: usize = 256;

/// A client of a store.
pub struct S3 {
    settings: StoreSettings,
    signer: SecretPages<Signer>,
    endpoints: EndpointSet,
    renewal: Renewal,
    /// By handle.
    buckets: Vec<Option<Bucket>>,
    /// Of each slot as many as its parts at once.
    lanes: Vec<Lane>,
    slots: Vec<SlotWork>,
    epoll: OwnedFd,
    /// What was done and not yet handed back.
    done: Vec<(Slot, i64)>,
    in_flight: u32,
    /// Slots whose objects are removed by one request, once there are enough or nothing more comes.
    gathered: Vec<Slot>,
    /// Its places at uploads that several workers share.
    uploads: Vec<UploadSeat>,
    /// Slots that wait before a further attempt.
    waiting: u32,
    checked: Tick,
    tally: RequestTally,
    counts: *const Counts,
    stop: *const AtomicU32,
    /// By slot, when the answer to its operation began; the worker's.
    marks: *const [AtomicU64],
    path: PathBuffer,
    scratch: Box<[u8]>,
    /// Draws which part of an object is read.
    random: Random,
}

/// A bucket's objects, and how they are addressed at each endpoint.
struct Bucket {
    set: ObjectSet,
    name: String,
    prefix: String,
    at: Vec<BucketAddress>,
    /// Objects that were read whole, a bit each; empty: there are too many.
    read: Vec<u64>,
    /// By key, where requests name them.
    versions: VersionIds,
    /// Requests below its prefix, and those turned away.
    sent: u64,
    throttled: u64,
}

/// A connection, the endpoint it is to, and what its exchange is for.
struct Lane {
    connection: Connection,
    endpoint: usize,
    purpose: Purpose,
    /// A retry is due then; 0: none waits.
    retry_at: Tick,
    attempts: u32,
    /// The number of the request that its last answer named.
    last_number: u64,
    /// Of the part that it sent: the algorithm and the value.
    part_checksum: Option<(&'static str, String)>,
}

impl Lane {
    /// A lane whose connection epoll knows by that number.
    fn new(number: u32, endpoint: usize) -> Lane {
        Lane {
            connection: Connection::new(number),
            endpoint,
            purpose: Purpose::Object,
            retry_at: 0,
            attempts: 0,
            last_number: 0,
            part_checksum: None,
        }
    }
}

impl Bucket {
    fn of(set: &ObjectSet, settings: &StoreSettings) -> Bucket {
        let (_, name, prefix) = set.parts();
        let at = settings.endpoints.iter();
        let at = at.map(|endpoint| BucketAddress::new(endpoint, settings.addressing, name)).collect();
        let words = set.names.count.div_ceil(64) as usize;
        let read = vec![0; if words <= SEEN_WORDS { words } else { 0 }];
        Bucket {
            set: set.clone(),
            name: name.into(),
            prefix,
            at,
            read,
            versions: VersionIds::new(),
            sent: 0,
            throttled: 0,
        }
    }
}

/// Whether a bucket is this worker's own, which nobody else makes.
fn has_own_bucket(setup: &Setup<'_>) -> bool {
    let mut targets = setup.files.handles.iter().map(|handle| &setup.plan.targets[handle.target as usize]);
    targets.any(|target| matches!(&target.kind, TargetKind::Bucket { url, .. } if tells_apart(url)))
}

impl Engine for S3 {
    const FACTS: EngineFacts = EngineFacts {
        about: "objects of a store that speaks the S3 API, over connections of our own",
        verbs: VerbSet::of(&[
            Verb::Read,
            Verb::Write,
            Verb::Trim,
            Verb::Create,
            Verb::Open,
            Verb::Stat,
            Verb::Unlink,
            Verb::Setxattr,
            Verb::Readdir,
            Verb::Clone,
        ]),
        settings: settings::SETTINGS,
        uses_files: false,
        opens_files: true,
        stores_objects: &["s3"],
        sweeps_prefixes: true,
        marks_answers: true,
        is_slow: true,
        check: settings::check,
        ..EngineFacts::named("s3")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let settings = StoreSettings::of(setup.job)?;
        let mut signer = SecretPages::new(Signer::new(settings.region.clone()))?;
        let renewal = settings::fetch_credentials(setup.job, &mut signer.credentials)?;
        settings::fetch_customer_key(setup.job, &mut signer.customer_key)?;
        let bucket = |set| Bucket::of(set, &settings);
        let buckets = setup.objects.iter().map(|set| set.as_ref().map(bucket)).collect();
        // SAFETY: the call takes no pointers.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(Failure::call("epoll_create1", errno()));
        }
        let lanes = setup.depth * settings.parts_at_once;
        check_descriptors(lanes)?;
        // Workers and their connections are dealt to the endpoints in turn.
        let first = setup.seat as usize * lanes as usize;
        let bucket = setup.objects.iter().flatten().next().map_or("", |set| set.parts().1);
        let endpoints = EndpointSet::new(&settings, bucket, lanes)?;
        let lane = |number: u32| Lane::new(number, (first + number as usize) % endpoints.count());
        let mut engine = S3 {
            lanes: (0..lanes).map(lane).collect(),
            slots: (0..setup.depth).map(|_| SlotWork::default()).collect(),
            // SAFETY: the descriptor was just made and is ours.
            epoll: unsafe { OwnedFd::from_raw_fd(epoll) },
            settings,
            signer,
            endpoints,
            renewal,
            buckets,
            done: Vec::with_capacity(setup.depth as usize),
            in_flight: 0,
            gathered: Vec::new(),
            uploads: Vec::new(),
            waiting: 0,
            checked: 0,
            tally: RequestTally::default(),
            counts: setup.live.counts,
            stop: setup.live.stop,
            marks: std::ptr::from_ref(setup.live.marks),
            path: PathBuffer::default(),
            scratch: vec![0; connection::SCRATCH_BYTES].into(),
            random: Random::from_seed(setup.seed, u64::from(setup.seat)),
        };
        // Outside a run, where objects are laid out and removed, it has no handles.
        let shares = engine.settings.shares_upload && !setup.files.handles.is_empty();
        if shares && draws(setup.job, Verb::Write) {
            engine.join_uploads(setup)?;
        } else if engine.settings.preflight && (setup.seat == 0 || has_own_bucket(setup)) {
            engine.preflight()?;
        }
        engine.learn_versions()?;
        Ok(engine)
    }

    fn push(&mut self, slot: Slot, io: &Io, _files: &mut Files) {
        self.in_flight += 1;
        // What only carries a line of the tally is nothing to ask a store for.
        match io.verb.kind() {
            Kind::Control => self.done.push((slot, 0)),
            _ => self.begin(slot, io),
        }
    }

    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        let (mut count, mut looked) = (0, false);
        self.remove_gathered();
        loop {
            let now = clock::now();
            for (slot, result) in self.done.drain(..) {
                count += 1;
                self.in_flight -= 1;
                done(slot, result, now);
            }
            let is_late = min == 0 || (until != NEVER && now >= until);
            if self.in_flight == 0 || (count >= min && min > 0) || (is_late && looked) {
                return Ok(());
            }
            self.wait(if is_late { 0 } else { until.saturating_sub(now).min(SLICE_NS) })?;
            looked = true;
        }
    }

    fn facts(&self) -> Vec<(&'static str, u64)> {
        let mut facts = self.tally.by_name();
        facts.extend(self.endpoints.by_name(&self.settings));
        let buckets = self.buckets.iter().flatten();
        for (index, bucket) in buckets.enumerate().filter(|_| self.tally.throttled > 0) {
            // A few names, once for each worker: as good as static.
            facts.push((&*format!("prefix.{index}.requests").leak(), bucket.sent));
            facts.push((&*format!("prefix.{index}.throttled").leak(), bucket.throttled));
        }
        facts
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.close_uploads()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        // What went wrong was told by `close`, unless the run broke off.
        let _ = self.close_uploads();
    }
}

impl S3 {
    /// Waits for sockets, at most so long, and goes on with what they allow.
    fn wait(&mut self, most_ns: u64) -> Result<(), Failure> {
        // SAFETY: the structure consists of numbers, for which zero is a value.
        let mut events: [libc::epoll_event; EVENTS] = unsafe { std::mem::zeroed() };
        let most_ns = if self.waiting > 0 { most_ns.min(BACKOFF_NS / 4) } else { most_ns };
        let timeout = libc::timespec {
            tv_sec: (most_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (most_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the events and the time are valid for the call, and no signal mask is given.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                events.as_mut_ptr(),
                EVENTS as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let count = match count {
            0.. => count as usize,
            _ if errno() == libc::EINTR => 0,
            // Kernels before 5.11 know milliseconds alone.
            _ if errno() == libc::ENOSYS => self.wait_coarsely(&mut events, most_ns)?,
            _ => return Err(Failure::call("epoll_pwait2", errno())),
        };
        for event in &events[..count] {
            let number = event.u64 as u32;
            match self.endpoints.owner(number).map(|lane| (lane, &mut self.lanes[lane])) {
                Some((lane, of)) if of.connection.number == number => {
                    of.connection.note(event.events);
                    self.go_on(lane);
                }
                _ => self.endpoints.note_idle(number, event.events),
            }
        }
        self.check_deadlines();
        Ok(())
    }

    fn wait_coarsely(&self, events: &mut [libc::epoll_event], most_ns: u64) -> Result<usize, Failure> {
        let (most, ms) = (events.len() as libc::c_int, most_ns.div_ceil(1_000_000) as libc::c_int);
        // SAFETY: the events are valid for the call.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), most, ms) };
        match count {
            0.. => Ok(count as usize),
            _ if errno() == libc::EINTR => Ok(0),
            _ => Err(Failure::call("epoll_wait", errno())),
        }
    }

    /// Fails what did not move for too long, and sends again what waited for that.
    fn check_deadlines(&mut self) {
        let now = clock::now();
        if self.waiting == 0 && now < self.checked + SLICE_NS {
            return;
        }
        self.checked = now;
        self.renewal.take_newer(&mut self.signer.credentials);
        let stops = self.stops();
        for number in 0..self.lanes.len() {
            let lane = &mut self.lanes[number];
            if lane.connection.is_busy() && now >= lane.connection.deadline {
                let ending = lane.connection.give_up(now);
                self.ended(number, ending);
            } else if lane.retry_at > 0 && (now >= lane.retry_at || stops) {
                lane.retry_at = 0;
                self.waiting -= 1;
                self.tally.retried += 1;
                self.send(number);
            }
        }
    }

    /// Goes on with a connection whose socket is ready.
    fn go_on(&mut self, number: usize) {
        let Some(lane) = self.lanes.get_mut(number) else { return };
        if let Some(ending) = lane.connection.go_on(clock::now, self.settings.timeout_ns, &mut self.scratch) {
            self.ended(number, ending);
        }
    }

    /// Begins an exchange on a lane, on its kept connection or a new one.
    fn exchange(&mut self, number: usize, outgoing: Outgoing, sink: Buffer, is_head: bool) {
        let lane = &mut self.lanes[number];
        self.tally.requests += 1;
        self.endpoints.begun(lane.endpoint);
        if lane.connection.is_open() {
            self.tally.reused += 1;
        } else {
            self.tally.opened += 1;
            let opened = lane.connection.open(self.endpoints.peer(lane.endpoint), clock::now());
            if let Err(errno) = opened.and_then(|()| watch(&self.epoll, &lane.connection)) {
                lane.connection.close();
                return self.ended(number, Ending::Broken { errno, connected: false });
            }
        }
        lane.connection.begin(outgoing, sink, is_head);
        self.go_on(number);
    }

    /// An exchange is over: what it was for goes on, or the operation ends.
    fn ended(&mut self, number: usize, ending: Ending) {
        self.endpoints.ended(self.lanes[number].endpoint, ending);
        match ending {
            Ending::Answered => {
                // SAFETY: the counters outlive the engine.
                let counts = unsafe { &*self.counts };
                let (connection, mut last_number) =
                    (&self.lanes[number].connection, self.lanes[number].last_number);
                self.tally.times(&connection.times, counts);
                self.tally.resumed += u64::from(connection.times.secured > 0 && connection.is_resumed());
                if let Some(answer) = &connection.answer {
                    self.tally.head(answer, &mut last_number);
                    let date = answer.date.as_deref().filter(|_| connection.times.opened > 0);
                    if let Some(date) = date.and_then(UtcTime::parse_http) {
                        self.tally.date(date.unix, S3::time().unix);
                    }
                }
                self.lanes[number].last_number = last_number;
                self.mark(self.slot_of(number), self.lanes[number].connection.times.first_byte);
                self.answered(number);
            }
            Ending::Stale => {
                self.tally.stale += 1;
                self.send(number);
            }
            Ending::Broken { errno, connected } => {
                self.tally.broken += 1;
                self.tally.note(&broken_name(errno, connected));
                self.failed(number, errno);
            }
            Ending::Garbled => {
                let secured = self.lanes[number].connection.times;
                let name = match secured.connected > 0 && secured.sent == 0 {
                    true => "connect.NoTls",
                    false => "none.NotHttp",
                };
                self.tally.note(name);
                self.failed(number, libc::EPROTO);
            }
        }
    }

    /// Notes when the answer to a slot's operation began: of several requests the first one's; 0: a new one begins.
    fn mark(&self, slot: Slot, at: Tick) {
        // SAFETY: the marks are the worker's, and stay where they are as long as its engine is asked for anything.
        let marks = unsafe { &*self.marks };
        if let Some(mark) = marks.get(slot as usize)
            && (at == 0 || mark.load(Relaxed) == 0)
        {
            mark.store(at, Relaxed);
        }
    }

    /// Whether the worker is to stop, so that nothing is tried again.
    fn stops(&self) -> bool {
        // SAFETY: the flag outlives the engine.
        unsafe { (*self.stop).load(Relaxed) != 0 }
    }

    /// The time that requests are signed with.
    fn time() -> UtcTime {
        UtcTime { unix: clock::unix_ns() / 1_000_000_000 }
    }
}

/// What an answer that never came is counted as.
fn broken_name(errno: i32, connected: bool) -> String {
    let what = match errno {
        libc::ECONNREFUSED => "Refused",
        libc::ECONNRESET | libc::EPIPE => "Cut",
        libc::ETIMEDOUT => "Silent",
        libc::EHOSTUNREACH | libc::ENETUNREACH => "Unreachable",
        _ => "Broken",
    };
    format!("{}.{what}", if connected { "none" } else { "connect" })
}

/// The events of a connection's socket, at each change, have its number.
fn watch(epoll: &OwnedFd, connection: &Connection) -> Result<(), i32> {
    let Some(fd) = connection.fd() else { return Err(libc::EBADF) };
    let wanted = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
    let mut event = libc::epoll_event { events: wanted, u64: u64::from(connection.number) };
    // SAFETY: both descriptors are open, and the event is valid for the call. A socket that is closed leaves by itself.
    match unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

/// Whether this process may have so many connections.
fn check_descriptors(lanes: u32) -> Result<(), Failure> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is valid for writing.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } < 0
        || u64::from(lanes) < limit.rlim_cur
    {
        return Ok(());
    }
    let message =
        format!("{lanes} connections of one worker, and a process has {} descriptors", limit.rlim_cur);
    Err(Failure::new(message)
        .errno(libc::EMFILE)
        .hint("a smaller depth or parts_at_once, or raise `ulimit -n`"))
}
