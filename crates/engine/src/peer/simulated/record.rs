//! The record of a simulated run: what a conductor would have gathered, from what its jobs have counted.
//!
//! Processors cost nothing here, and nobody watches the machine: only connections are seen.

use iodyno_model::{
    ConnectionActivity, Fatal, JobRecord, Machine, PhaseRecord, Record, Sighting, Tally, WorkerRecord,
};

use crate::registry::engine;

use super::flow::{Flow, FlowRole};
use super::runs::SimulatedRun;
use super::sockets::Role;
use super::wire::{Link, SEGMENT_BYTES};
use super::{BEGAN_UNIX_NS, Network};

/// The machine that a party is on.
pub fn machine(host: &str) -> Machine {
    Machine {
        host: host.into(),
        kernel: "simulated".into(),
        clock: "virtual".into(),
        cpus: 1,
        ..Machine::default()
    }
}

/// The record of a run with its phase.
pub fn record(run: &SimulatedRun, phase: PhaseRecord, host: &str) -> Record {
    let mut record = Record {
        name: run.plan.name.clone(),
        seed: run.plan.seed,
        phases: vec![phase],
        stopped_by: run.stopped_by,
        machine: machine(host),
        ..Record::default()
    };
    record.findings = iodyno_truth::judge(&run.plan, &record);
    record
}

impl Network {
    /// A run's phase so far, or at its end.
    pub fn phase(&self, run: usize, ended: bool) -> PhaseRecord {
        let run = &self.runs[run];
        let phase = &run.plan.phases[0];
        let jobs: Vec<JobRecord> =
            run.flows.iter().map(|flow| job(flow, run.began_ns, self.now_ns)).collect();
        let elapsed_ns = match ended {
            true => jobs.iter().map(|job| job.tally.last_done_ns).max().unwrap_or(0),
            false => self.now_ns - run.began_ns,
        };
        let sightings = run.flows.iter().enumerate().filter_map(|(index, flow)| self.sighting(index, flow));
        PhaseRecord {
            name: phase.name.clone(),
            repetition: phase.repetition,
            coordinates: phase.coordinates.clone(),
            elapsed_ns,
            jobs,
            sightings: sightings.collect(),
            ..PhaseRecord::default()
        }
    }

    fn sighting(&self, job: usize, flow: &Flow) -> Option<Sighting> {
        let socket = self.sockets.get(flow.socket).filter(|socket| socket.role == Role::Stream);
        socket.map(|_| Sighting::Connection(Box::new(connection(job, flow, &self.wires.link))))
    }
}

fn connection(job: usize, flow: &Flow, link: &Link) -> ConnectionActivity {
    let rtt_us = (2 * link.latency_ns / 1000) as u32;
    let sends = flow.what == FlowRole::Sends;
    ConnectionActivity {
        target: flow.target.clone(),
        job,
        congestion: "cubic".into(),
        retransmits: flow.retransmits,
        cwnd_bytes: link.window_bytes,
        peer_window_bytes: link.window_bytes,
        rtt_us,
        rtt_least_us: rtt_us,
        path_mtu: 1500,
        mss: SEGMENT_BYTES as u32,
        reordering: 3,
        acked_bytes: if sends { flow.line.bytes } else { 0 },
        received_bytes: if sends { 0 } else { flow.line.bytes },
        ..ConnectionActivity::default()
    }
}

fn job(flow: &Flow, start_ns: u64, now_ns: u64) -> JobRecord {
    let began_ns = flow.began_ns.saturating_sub(start_ns);
    let ended_ns = if flow.over { flow.ended_ns } else { now_ns }.saturating_sub(start_ns);
    let mut facts = flow.counts.by_name();
    facts
        .iter_mut()
        .filter(|(name, _)| name == "retransmits")
        .for_each(|(_, count)| *count = flow.retransmits);
    let tally = Tally {
        lines: vec![flow.line.clone()],
        errors: flow.error.iter().cloned().collect(),
        began_ns,
        first_done_ns: ended_ns,
        last_done_ns: ended_ns,
        ..Tally::default()
    };
    let worker = WorkerRecord {
        operations: flow.line.operations,
        bytes: flow.line.bytes,
        errors: flow.line.failed,
        began_ns,
        ended_ns,
        fatal: flow.error.as_ref().map(|error| Fatal {
            errno: error.errno,
            stage: iodyno_model::record::Stage::Run,
            verb: Some(error.verb),
            ..Fatal::default()
        }),
        facts,
        ..WorkerRecord::default()
    };
    JobRecord {
        name: flow.job.name.clone(),
        engine: flow.job.engine.clone(),
        engine_traits: engine(&flow.job.engine).map(|entry| entry.facts.traits.to_vec()),
        depth: flow.job.depth.most,
        tally,
        workers: vec![worker],
        began_unix_ns: BEGAN_UNIX_NS + start_ns,
        ..JobRecord::default()
    }
}
