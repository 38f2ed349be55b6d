//! `sim`: a seeded device in virtual time, whose every figure can be worked out on paper.
//!
//! It exists so that iodyno itself can be tested against known answers, and so that a plan can be tried in no time.
//! Where the plan has a device, all workers share it and its clock (`shared_device`). Else each worker has a device and a
//! clock of its own: operations queue in order for the earliest free of n servers; the clock begins at 0 and moves only in
//! `poll` and `idle`, no further than to the next time at which somebody wants to hear how it stands
//! (`start_barrier::Horizon`). It moves no data, opens nothing and never sleeps otherwise.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iodyno_model::{Diagnostic, EngineTrait, Job, Kind, Verb};
use iodyno_simulation::{DeviceRequest, RequestKind};

use self::address::AddressMap;
use self::settings::Settings;
use super::{Engine, EngineFacts, Failure, Setup};
use crate::clock::{NEVER, Tick};
use crate::coroutine;
use crate::io::{AT_END, Files, Io, Slot};
use crate::random::Random;
use crate::shared_device::{DeviceSeat, RequestTemplate};
use crate::start_barrier::Horizon;

pub mod address;
pub mod disk;
pub mod service;
pub mod settings;

/// The number of the first stream of random numbers that belongs to simulated devices, one for each worker.
const STREAM: u64 = 0x5349_4d00_0000_0000;

/// The simulated device.
pub struct Sim {
    settings: Settings,
    random: Random,
    now: Tick,
    /// How far that may go.
    horizon: Horizon,
    servers: Vec<DeviceChannel>,
    /// Bytes that went through each handle, for operations at its own position.
    positions: Vec<u64>,
    /// In flight: completion time, order of arrival, slot, result.
    pending: BinaryHeap<Reverse<(Tick, u64, Slot, i64)>>,
    reaped: Vec<(Slot, i64)>,
    /// Operations taken so far.
    taken: u64,
    shared: Option<DeviceClient>,
}

/// What a worker has of a device that it shares.
struct DeviceClient {
    seat: DeviceSeat,
    addresses: AddressMap,
    /// By slot, what each operation will answer.
    results: Vec<i64>,
    answered: Vec<Slot>,
}

/// One that serves: an actuator, a channel.
#[derive(Clone, Copy, Default)]
struct DeviceChannel {
    free: Tick,
    /// Handle and offset at which its last operation ended.
    ended: (u32, u64),
}

impl Engine for Sim {
    const FACTS: EngineFacts = EngineFacts {
        about: "a seeded device in virtual time: known answers, no storage touched",
        settings: settings::SPECS,
        is_virtual: true,
        submits: true,
        uses_files: false,
        on_device: Some(&["error_at", "error_rate", "short_at"]),
        check: Self::check,
        traits: &[EngineTrait::Pretends, EngineTrait::HasVirtualTime, EngineTrait::KeepsProcessorBusy],
        ..EngineFacts::named("sim")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let settings = settings::read(setup.job).map_err(|wrong| {
            let messages: Vec<String> = wrong.iter().map(|wrong| wrong.message.clone()).collect();
            Failure::new(messages.join("; "))
        })?;
        let depth = setup.depth as usize;
        let results = vec![0; depth];
        coroutine::will_need(&*results);
        Ok(Sim {
            random: Random::from_seed(settings.seed.unwrap_or(setup.seed), STREAM + u64::from(setup.worker)),
            now: 0,
            horizon: Horizon::new(setup.live.barrier, setup.worker),
            servers: vec![
                DeviceChannel { ended: (u32::MAX, 0), ..DeviceChannel::default() };
                settings.parallelism as usize
            ],
            positions: vec![0; setup.files.handles.len()],
            pending: BinaryHeap::with_capacity(depth),
            reaped: Vec::with_capacity(depth),
            taken: 0,
            settings,
            shared: DeviceSeat::current().map(|seat| DeviceClient {
                addresses: AddressMap::new(setup.plan, seat.capacity_bytes(), setup.seat, setup.seats),
                results,
                answered: Vec::with_capacity(depth),
                seat,
            }),
        })
    }

    #[inline]
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        self.taken += 1;
        let offset = self.offset(io);
        let result = self.result(io, offset);
        if let Some(shared) = &mut self.shared {
            shared.push(slot, io, (offset, result), files);
            return;
        }
        let at = match io.verb.kind() {
            Kind::Control => self.now,
            _ => self.serve(io, offset),
        };
        self.pending.push(Reverse((at, self.taken, slot, result)));
    }

    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        if let Some(shared) = &mut self.shared {
            shared.seat.poll(min, until, &mut shared.answered);
            let now = shared.seat.now();
            shared.answered.drain(..).for_each(|slot| done(slot, shared.results[slot as usize], now));
            return Ok(());
        }
        while let Some(Reverse((at, ..))) = self.pending.peek() {
            let at = (*at).max(self.now);
            if at > until.max(self.now) || (self.reaped.len() >= min as usize && at > self.now) {
                break;
            }
            self.move_to(at);
            if let Some(Reverse((_, _, slot, result))) = self.pending.pop() {
                self.reaped.push((slot, result));
            }
        }
        if self.reaped.len() < min as usize && until != NEVER {
            self.move_to(until);
        }
        for (slot, result) in self.reaped.drain(..) {
            done(slot, result, self.now);
        }
        Ok(())
    }

    fn stackless(&self, io: &Io, files: &Files) -> Option<(&DeviceSeat, RequestTemplate)> {
        let Settings { errors, error_rate, shorts, capacity, .. } = &self.settings;
        let is_plain = errors.is_empty() && error_rate.is_none() && shorts.is_empty() && capacity.is_none();
        let kind = match io.verb {
            Verb::Read => RequestKind::Read,
            Verb::Write => RequestKind::Write,
            _ => return None,
        };
        let shared = self.shared.as_ref().filter(|_| is_plain)?;
        Some((&shared.seat, shared.addresses.template(kind, io, files)?))
    }

    fn now(&self) -> Tick {
        match &self.shared {
            Some(shared) => shared.seat.now(),
            None => self.now,
        }
    }
}

impl DeviceClient {
    fn push(&mut self, slot: Slot, io: &Io, (offset, result): (u64, i64), files: &Files) {
        self.results[slot as usize] = result;
        let bytes = if result < 0 { 0 } else { io.bytes };
        let on_item = || self.addresses.item(io, files);
        let (kind, offset, bytes) = match io.verb.kind() {
            Kind::Control => return self.seat.answer(slot),
            _ if self.addresses.is_elsewhere(io, files) => return self.seat.answer(slot),
            Kind::Read | Kind::Network => (RequestKind::Read, self.addresses.place(io, offset, files), bytes),
            Kind::Write => (RequestKind::Write, self.addresses.place(io, offset, files), bytes),
            Kind::Trim => (RequestKind::Trim, self.addresses.place(io, offset, files), bytes),
            Kind::Sync => (RequestKind::Flush, self.addresses.place(io, 0, files), 0),
            // What is read or written between opening and closing.
            Kind::Metadata if io.verb == Verb::Create && bytes > 0 => (RequestKind::Write, on_item(), bytes),
            Kind::Metadata if io.verb == Verb::Open && bytes > 0 => (RequestKind::Read, on_item(), bytes),
            Kind::Metadata => (RequestKind::Metadata, on_item(), 0),
        };
        if matches!(io.verb, Verb::Create | Verb::Open) {
            self.addresses.opened(io, offset);
        }
        let (direct, durable) = self.addresses.past_memory(io, files);
        self.seat.push(slot, DeviceRequest { kind, offset, bytes, direct, durable });
    }
}

impl Sim {
    fn check(job: &Job) -> Vec<Diagnostic> {
        settings::read(job).err().unwrap_or_default()
    }

    /// The clock moves on, as far as it may; never back.
    #[inline]
    fn move_to(&mut self, to: Tick) {
        if to > self.now {
            self.horizon.pass(to);
            self.now = to;
        }
    }

    /// Where an operation goes; the handle's own position moves as it is used.
    fn offset(&mut self, io: &Io) -> u64 {
        match self.positions.get_mut(io.file as usize) {
            Some(position) if io.offset >= AT_END => {
                *position = position.saturating_add(io.bytes);
                *position - io.bytes
            }
            _ => io.offset,
        }
    }

    /// When it will be done: it waits for the earliest server, of equals for the one whose head is there.
    fn serve(&mut self, io: &Io, offset: u64) -> Tick {
        let now = self.now;
        let place = (io.file, offset);
        let rank =
            |(index, server): &(usize, &DeviceChannel)| (server.free.max(now), server.ended != place, *index);
        let chosen = self.servers.iter().enumerate().min_by_key(rank).map_or(0, |(index, _)| index);
        let server = self.servers[chosen];
        let service = self.service(io, server.ended == place);
        let end = past_stalls(&self.settings.stalls, server.free.max(now), service);
        let stays_at =
            if io.verb.moves_data() { (io.file, offset.saturating_add(io.bytes)) } else { server.ended };
        self.servers[chosen] = DeviceChannel { free: end, ended: stays_at };
        end
    }

    /// How long a server works on it, ns.
    fn service(&mut self, io: &Io, stays: bool) -> u64 {
        let settings = &self.settings;
        let model = match io.verb.kind() {
            Kind::Read | Kind::Network => &settings.read,
            Kind::Write | Kind::Trim => &settings.write,
            Kind::Sync => &settings.sync,
            Kind::Metadata | Kind::Control => &settings.metadata,
        };
        let (moves, own) = (io.verb.moves_data(), model.draw(&mut self.random, self.taken - 1));
        let service = match &settings.disk {
            Some(disk) if moves => disk.service_ns(io.bytes, stays),
            _ => own,
        };
        let transfer = match settings.bandwidth {
            0 => 0,
            _ if !moves => 0,
            bandwidth => (u128::from(io.bytes) * 1_000_000_000 / u128::from(bandwidth)) as u64,
        };
        // Time must move, or a run until a time would never end.
        service.saturating_add(transfer).max(1)
    }

    /// What it will answer: the bytes moved, 0, or `-errno`.
    fn result(&mut self, io: &Io, offset: u64) -> i64 {
        let settings = &self.settings;
        if let Some((_, errno)) = settings.errors.iter().find(|(at, _)| *at == self.taken) {
            return -i64::from(*errno);
        }
        if let Some((share, errno)) = settings.error_rate
            && self.random.unit() < share
        {
            return -i64::from(errno);
        }
        if !io.verb.moves_data() && io.verb.kind() != Kind::Trim {
            return 0;
        }
        let left = settings.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(offset));
        if left == 0 && io.bytes > 0 && io.verb.kind() == Kind::Write {
            return -i64::from(libc::ENOSPC);
        }
        let short = settings.shorts.contains(&self.taken);
        io.bytes.min(left).min(if short { io.bytes / 2 } else { u64::MAX }) as i64
    }
}

/// The end of `service` ns of work that begins at `start`, when nothing moves during the stalls.
fn past_stalls(stalls: &[(u64, u64)], start: Tick, service: u64) -> Tick {
    let mut end = start.saturating_add(service);
    let mut start = start;
    for (begin, over) in stalls {
        if *over <= start {
            continue;
        }
        if *begin >= end {
            break;
        }
        let stopped = (*begin).max(start);
        end = end.saturating_add(over - stopped);
        start = *over;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_on_after_a_stall() {
        let stalls = [(100, 150), (200, 300)];
        assert_eq!(past_stalls(&stalls, 0, 50), 50);
        assert_eq!(past_stalls(&stalls, 0, 100), 100);
        assert_eq!(past_stalls(&stalls, 90, 20), 160);
        assert_eq!(past_stalls(&stalls, 120, 10), 160);
        assert_eq!(past_stalls(&stalls, 90, 80), 320);
        assert_eq!(past_stalls(&stalls, 150, 50), 200);
        assert_eq!(past_stalls(&stalls, 310, 5), 315);
    }

    fn device(depth: u32, said: &[(&str, &str)]) -> Sim {
        let pattern = iodyno_model::Pattern::of(Verb::Read, iodyno_model::Pick::Uniform, 4096);
        let mut job = Job::new("j", "sim", vec![], iodyno_model::Workload::Pattern(Box::new(pattern)));
        job.settings = said.iter().map(|(name, value)| iodyno_model::Setting::new(name, value)).collect();
        let (files, memory) = (Files::default(), crate::memory::Memory::new(1, 1).unwrap());
        Sim::start(&Setup {
            plan: &iodyno_model::Plan::default(),
            job: &job,
            depth,
            files: &files,
            paths: &[],
            objects: &[],
            memory: &memory,
            seed: 1,
            worker: 0,
            seat: 0,
            seats: 1,
            priorities: None,
            live: crate::engines::Live::alone(),
        })
        .unwrap()
    }

    /// Operations at their own times, as many in flight as there are: latencies from arrival to completion, ns.
    fn open_loop(mut sim: Sim, arrivals: &[Tick]) -> Vec<u64> {
        let (mut latencies, mut files) = (vec![0; arrivals.len()], Files::default());
        for (slot, at) in arrivals.iter().enumerate() {
            while sim.now() < *at {
                sim.poll(1, *at, |slot, _, ended| latencies[slot as usize] = ended - arrivals[slot as usize])
                    .unwrap();
            }
            sim.push(slot as Slot, &Io { bytes: 4096, ..Io::default() }, &mut files);
        }
        while !sim.pending.is_empty() {
            sim.poll(1, NEVER, |slot, _, ended| latencies[slot as usize] = ended - arrivals[slot as usize])
                .unwrap();
        }
        latencies
    }

    fn poisson(count: u64, per_second: f64) -> Vec<Tick> {
        let (mut random, mut at) = (Random::from_seed(7, 7), 0.0);
        let gap = |_| {
            at += random.exponential(1e9 / per_second);
            at as Tick
        };
        (0..count).map(gap).collect()
    }

    fn mean(latencies: &[u64]) -> f64 {
        latencies.iter().map(|ns| *ns as f64).sum::<f64>() / latencies.len() as f64
    }

    /// Queueing theory: the mean time in an M/M/1 system is 1/(μ − λ); here μ is 10,000 a second.
    #[test]
    fn a_memoryless_queue_is_as_slow_as_theory_says() {
        for (per_second, expected_ns) in [(2_000.0, 125e3), (5_000.0, 200e3), (8_000.0, 500e3)] {
            let sim = device(400_000, &[("service", "exponential:100us")]);
            let found = mean(&open_loop(sim, &poisson(400_000, per_second)));
            assert!((found / expected_ns - 1.0).abs() < 0.03, "at {per_second}/s: {found} ns");
        }
    }

    /// M/D/1 (Pollaczek and Khinchine): half the queueing of M/M/1. At half load, 100 + 50 µs.
    #[test]
    fn a_constant_server_queues_half_as_much() {
        let found = mean(&open_loop(device(400_000, &[("service", "100us")]), &poisson(400_000, 5_000.0)));
        assert!((found / 150e3 - 1.0).abs() < 0.03, "{found} ns");
    }

    /// Recorded once: a seed means the same on every platform and in every version.
    #[test]
    fn the_draws_of_a_seed_are_pinned() {
        let sim = device(4, &[("service", "normal:100us,10us"), ("error_rate", "10%"), ("seed", "3")]);
        assert_eq!(open_loop(sim, &[0, 0, 0, 0]), PINNED);
    }

    const PINNED: [u64; 4] = [83_558, 179_430, 268_706, 354_776];
}
