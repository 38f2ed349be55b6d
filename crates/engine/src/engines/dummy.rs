//! `dummy`: no I/O, but delays of the user's choice: a test double for a slow file system, and a check of what a report
//! makes of it.
//!
//! A delay is slept, and the system's part of it (a timer's slack, the scheduler) is in what is measured, as it would
//! be with a real device. Without a delay an operation is complete at once, like `null`'s. It moves no byte and opens
//! no file.

use iodyno_model::{Diagnostic, EngineTrait, Job, Verb};

use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, spec, switched_on, whole_number,
};
use crate::clock;
use crate::io::{DURABLE, Files, Io, KEEP};

const DELAYS: &[&str] = &["delay_create_us", "delay_close_us", "delay_sync_us", "delay_xfer_us"];

/// Delays, and nothing else; ns.
pub struct Dummy {
    transfer_ns: u64,
    sync_ns: u64,
    create_ns: u64,
    close_ns: u64,
    files: usize,
}

impl SyncEngine for Dummy {
    const FACTS: EngineFacts = EngineFacts {
        about: "no I/O, with delays of your choice",
        settings: &[
            spec("delay_create_us", "making or opening a file takes so many microseconds"),
            spec("delay_close_us", "closing a file takes so many microseconds"),
            spec("delay_sync_us", "a sync takes so many microseconds"),
            spec("delay_xfer_us", "a read or a write takes so many microseconds"),
            spec("only_rank0", "on or off: only the first worker of all is delayed (default off)"),
        ],
        performs: true,
        uses_files: false,
        opens_files: true,
        check: Self::check,
        traits: &[EngineTrait::Pretends, EngineTrait::HasVirtualTime, EngineTrait::KeepsProcessorBusy],
        ..EngineFacts::named("dummy")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let delayed = setup.seat == 0 || !switched_on(setup.job, "only_rank0");
        let ns = |name| if delayed { whole_number(setup.job, name).unwrap_or(0) * 1000 } else { 0 };
        let dummy = Dummy {
            transfer_ns: ns("delay_xfer_us"),
            sync_ns: ns("delay_sync_us"),
            create_ns: ns("delay_create_us"),
            close_ns: ns("delay_close_us"),
            files: setup.files.handles.len(),
        };
        (0..dummy.files).for_each(|_| delay(dummy.create_ns));
        Ok(dummy)
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        let ns = match io.verb {
            Verb::Read | Verb::Write => self.transfer_ns,
            Verb::Fsync | Verb::Fdatasync | Verb::Syncfs | Verb::Msync | Verb::SyncFileRange => self.sync_ns,
            Verb::Create | Verb::Open if io.flags & KEEP == 0 => {
                // An item is opened, moved, made durable and closed as one operation.
                let moved = if io.bytes > 0 { self.transfer_ns } else { 0 };
                let synced = if io.flags & DURABLE != 0 { self.sync_ns } else { 0 };
                self.create_ns + moved + synced + self.close_ns
            }
            Verb::Create | Verb::Open | Verb::Mkdir | Verb::Mknod => self.create_ns,
            Verb::Close => self.close_ns,
            _ => 0,
        };
        delay(ns);
        match io.verb {
            verb if verb.moves_data() => io.bytes as i64,
            Verb::Create | Verb::Open => io.bytes as i64,
            _ => 0,
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        (0..self.files).for_each(|_| delay(self.close_ns));
        Ok(())
    }
}

impl Dummy {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut found = check_switches(job, &["only_rank0"]);
        let hint = "say a whole number of microseconds";
        found.extend(check_values(job, DELAYS, |value| value.parse::<u32>().is_ok(), hint));
        found
    }
}

#[inline(always)]
fn delay(ns: u64) {
    if ns > 0 {
        clock::sleep_ns(ns);
    }
}
