//! Blocks through a stream by way of an io_uring of its own: one operation at a time, copied or lent.
//!
//! A ring's operations know no time-outs of the socket; each is waited for in slices, and taken back once time is up. It
//! keeps no several sends in flight: what a stream carries has an order, and a short send in the middle would break it.

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use super::line::{Line, NONE};
use crate::engines::Failure;
use crate::worker_counters::Count;

/// Between two looks whether time is up, ns.
const SLICE_NS: u32 = 50_000_000;
/// The mark of the operation, and that of what takes it back.
const OPERATION: u64 = 1;
const RECALL: u64 = 2;
/// `IORING_CQE_F_MORE`, `IORING_CQE_F_NOTIF`: a result is followed by the memory's return, and this is it.
const MORE: u32 = 2;
const RETURNED: u32 = 8;
/// `IORING_SEND_ZC_REPORT_USAGE`, and its answer: the kernel copied after all.
const REPORT: u16 = 8;
const COPIED: u32 = 1 << 31;

/// A ring for one stream.
pub struct Ring {
    ring: IoUring,
    /// Whether sends lend their memory.
    lends: bool,
}

impl Ring {
    /// A ring; `lends`: sends lend their memory to the kernel.
    ///
    /// # Errors
    /// The system has none, or it is forbidden.
    pub fn new(lends: bool) -> Result<Ring, Failure> {
        let refused = |error: std::io::Error| {
            Failure::io("io_uring_setup", &error).hint("use method=copy, or a system that allows io_uring")
        };
        let ring = IoUring::builder().setup_clamp().build(8).map_err(refused)?;
        let mut known = io_uring::Probe::new();
        let probed = ring.submitter().register_probe(&mut known).is_ok();
        let code = if lends { opcode::SendZc::CODE } else { opcode::Send::CODE };
        if !probed || !known.is_supported(code) || !ring.params().is_feature_ext_arg() {
            return Err(
                Failure::new("this kernel's io_uring cannot do it").hint("use method=copy or zerocopy")
            );
        }
        Ok(Ring { ring, lends })
    }

    /// Sends a block: bytes sent, or what kept the first from going.
    pub fn send(&mut self, line: &Line, block: &[u8]) -> i64 {
        let mut sent = 0;
        while sent < block.len() {
            let rest = &block[sent..];
            let (fd, start, bytes) = (Fd(line.fd), rest.as_ptr(), rest.len() as u32);
            let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
            let entry = match self.lends {
                true => opcode::SendZc::new(fd, start, bytes).flags(flags).zc_flags(REPORT).build(),
                false => opcode::Send::new(fd, start, bytes).flags(flags).build(),
            };
            match self.perform(line, entry) {
                given @ 1.. => sent += given as usize,
                0 => break,
                failed => return if sent > 0 { sent as i64 } else { failed },
            }
        }
        sent as i64
    }

    /// Receives what there is, or, if `whole`, all that was asked for but at the stream's end.
    pub fn receive(&mut self, line: &Line, room: &mut [u8], whole: bool) -> i64 {
        let flags = if whole { libc::MSG_WAITALL } else { 0 };
        let entry = opcode::Recv::new(Fd(line.fd), room.as_mut_ptr(), room.len() as u32).flags(flags);
        self.perform(line, entry.build())
    }

    /// Carries out one operation and waits for its end; [`NONE`]: time was up before anything moved.
    fn perform(&mut self, line: &Line, entry: squeue::Entry) -> i64 {
        // SAFETY: what the entry points to is borrowed for this call or lives as long as the engine, and nothing of it is
        // in the ring's hands when this returns.
        if unsafe { self.ring.submission().push(&entry.user_data(OPERATION)) }.is_err() {
            return -i64::from(libc::EBUSY);
        }
        let (mut result, mut open, mut recalled) = (None, true, false);
        while open {
            let slice = Timespec::new().nsec(SLICE_NS);
            let waited = self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&slice));
            let harmless = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY];
            if let Err(error) = waited
                && !error.raw_os_error().is_some_and(|number| harmless.contains(&number))
            {
                return -i64::from(error.raw_os_error().unwrap_or(libc::EIO));
            }
            for done in self.ring.completion().filter(|done| done.user_data() == OPERATION) {
                if done.flags() & RETURNED != 0 {
                    let copied = done.result() as u32 & COPIED != 0;
                    line.meter.counts().add(Count::Copied, u64::from(copied));
                } else {
                    result = Some(i64::from(done.result()));
                }
                open = done.flags() & MORE != 0;
            }
            if open && !recalled && line.patience.is_over() {
                let recall = opcode::AsyncCancel2::new(CancelBuilder::user_data(OPERATION)).build();
                // SAFETY: it points to nothing.
                recalled = unsafe { self.ring.submission().push(&recall.user_data(RECALL)) }.is_ok();
            }
        }
        match result {
            Some(number) if number == -i64::from(libc::ECANCELED) => NONE,
            Some(number) if number == -i64::from(libc::EINTR) && recalled => NONE,
            Some(number) => number,
            None => NONE,
        }
    }
}
