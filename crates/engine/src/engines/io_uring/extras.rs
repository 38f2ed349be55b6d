//! What single reads and writes carry besides what all have: per-call flags, drawn priorities, and the turn of every
//! n-th to be handed to a kernel worker. Only where a job asks for one of them; the others pay for one branch.

use io_uring::squeue::Flags;
use iodyno_model::{Job, Verb};

use super::transfer::Transfer;
use crate::engines::{Setup, setting, switch, switched_on, whole_number};
use crate::io::Io;

/// Flags of reads and writes, as the kernel numbers them.
const NOWAIT: u32 = 0x08;
const ATOMIC: u32 = 0x40;
const UNCACHED: u32 = 0x80;

/// What is added.
pub(super) struct Extras {
    read_modes: u32,
    write_modes: u32,
    /// By label.
    priorities: Option<Box<[u16]>>,
    async_every: u64,
    count: u64,
}

/// Every how many operations one is handed to a kernel worker; 0: none.
pub(super) fn async_every(job: &Job) -> u64 {
    match (setting(job, "force_async"), switch(job, "force_async")) {
        (None, _) => 0,
        (_, Some(on)) => u64::from(on),
        _ => whole_number(job, "force_async").unwrap_or(0),
    }
}

impl Extras {
    /// What a job asks for, if it does.
    pub(super) fn of(setup: &Setup<'_>, async_every: u64) -> Option<Box<Extras>> {
        let on = |name, mode| if switched_on(setup.job, name) { mode } else { 0 };
        let read_modes = on("nowait", NOWAIT) | on("uncached", UNCACHED);
        let write_modes = read_modes | on("atomic", ATOMIC);
        let priorities = setup.priorities.map(Box::from);
        let plain = write_modes == 0 && priorities.is_none() && async_every < 2;
        let extras = Extras { read_modes, write_modes, priorities, async_every, count: 0 };
        (!plain).then(|| Box::new(extras))
    }

    #[inline(never)]
    pub(super) fn adorn(&mut self, mut transfer: Transfer, io: &Io) -> Transfer {
        transfer.modes = if io.verb == Verb::Write { self.write_modes } else { self.read_modes };
        if let Some(priorities) = &self.priorities {
            transfer.priority = priorities[usize::from(io.label)];
        }
        if self.async_every > 1 {
            self.count += 1;
            if self.count == self.async_every {
                self.count = 0;
                transfer.flags |= Flags::ASYNC.bits();
            }
        }
        transfer
    }
}
