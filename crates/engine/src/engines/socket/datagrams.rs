//! Datagrams: a block is cut into them, by the kernel (GSO) or in one call for many; many are taken in one call.

use iodyno_model::Verb;

use super::block::Block;
use super::bursts::{self, BurstWriter, DatagramReader};
use super::datagram_stats::DatagramStats;
use super::line::{Line, NONE};
use super::stamp::Stamp;
use crate::clock;
use crate::engines::{Failure, Setup, setting, switched_on, whole_number};
use crate::io::Io;
use crate::worker_counters::Count;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod others;

#[cfg(target_os = "linux")]
use linux::{Receiver, Sender};
#[cfg(not(target_os = "linux"))]
use others::{Receiver, Sender};

/// The largest datagram over IPv4.
const DATAGRAM_MOST: usize = 65507;

/// A yes, a no, or whatever is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Auto,
    On,
    Off,
}

fn wish(setup: &Setup<'_>, name: &str) -> Wish {
    match setting(setup.job, name) {
        Some("on") => Wish::On,
        Some("off") => Wish::Off,
        _ => Wish::Auto,
    }
}

/// Datagrams to or from a peer.
pub struct Datagrams {
    /// The socket.
    pub line: Line,
    /// How long each is; the last of a block may be shorter. 0: as long as the block.
    bytes: usize,
    stamp: Option<Stamp>,
    number: u64,
    block: Block,
    sender: Sender,
    receiver: Option<Receiver>,
    account: DatagramStats,
    /// Blocks that say when they were due.
    bursts: Option<(BurstWriter, DatagramReader)>,
    /// The peer has taken its leave.
    left: bool,
    /// Whether the peer is told once all is sent.
    shuts: bool,
}

impl Datagrams {
    /// Datagrams over a line.
    ///
    /// # Errors
    /// An option that is asked for and not granted.
    pub fn new(setup: &Setup<'_>, line: Line) -> Result<Datagrams, Failure> {
        let bytes = whole_number(setup.job, "datagram_bytes").unwrap_or(0) as usize;
        if bytes > DATAGRAM_MOST {
            return Err(Failure::new(format!("datagrams of {bytes} bytes"))
                .hint(format!("at most {DATAGRAM_MOST} fit one")));
        }
        let first = whole_number(setup.job, "first_number").unwrap_or(1);
        let receives = receives(setup);
        let receiver = match receives {
            true => Some(Receiver::new(&line, bytes, wish(setup, "gro"))?),
            false => None,
        };
        let stride = if receives { 4096 } else { setup.memory.stride() };
        let sender = Sender::new(&line, bytes, setup.memory.stride(), wish(setup, "gso"))?;
        Ok(Datagrams {
            line,
            bytes,
            stamp: Stamp::of(setup.job),
            number: first,
            block: Block::new(setup, stride)?,
            sender,
            receiver,
            account: DatagramStats::of(first, Stamp::of(setup.job), switched_on(setup.job, "spread")),
            bursts: bursts::place(setup.job).map(|at| (BurstWriter::new(at), DatagramReader::new(at))),
            left: false,
            shuts: switched_on(setup.job, "shut") && !receives,
        })
    }

    /// One block of datagrams, or what has come by now.
    pub fn perform(&mut self, io: &Io) -> i64 {
        match io.verb {
            Verb::Send | Verb::Write => self.send(io.bytes as usize),
            _ => self.receive(),
        }
    }

    fn send(&mut self, bytes: usize) -> i64 {
        let each = if self.bytes == 0 { bytes.max(1) } else { self.bytes };
        let first = self.number;
        if let Some(stamp) = self.stamp {
            let (now, mut number) = (stamp.now(), first);
            for datagram in self.block.room(bytes).chunks_mut(each) {
                stamp.write(datagram, number, now);
                number += 1;
            }
        }
        if let Some((writer, _)) = &mut self.bursts {
            writer.write_datagrams(self.block.room(bytes), each, clock::unix_ns());
        }
        let sent = self.sender.send(&self.line, self.block.bytes(bytes), each);
        if sent > 0 {
            let count = (sent as u64).div_ceil(each as u64);
            self.number += count;
            self.line.meter.moved(sent as u64);
            self.line.meter.counts().add(Count::Datagrams, count);
            self.line.meter.counts().set(Count::Highest, self.number - 1);
        }
        sent
    }

    /// Takes what has come; nothing once the peer has taken its leave: by an empty datagram, or by its number.
    fn receive(&mut self) -> i64 {
        let Some(receiver) = &mut self.receiver else { return -i64::from(libc::EOPNOTSUPP) };
        if self.left {
            return 0;
        }
        let (stamp, account, left) = (self.stamp, &mut self.account, &mut self.left);
        let (bursts, meter) = (&mut self.bursts, self.line.meter);
        let mut arrived = None;
        let got = receiver.receive(&mut self.line, |datagram, full| {
            let missing = account.missing();
            let read = stamp.and_then(|stamp| Some((stamp, stamp.read(datagram)?)));
            let numbered = read.is_some();
            match read {
                _ if datagram.is_empty() => *left = true,
                Some((stamp, read)) => {
                    // The one that takes leave counts like the others: its number tells what is missing before it.
                    let arrived = *arrived.get_or_insert_with(|| stamp.now());
                    account.take(&read, arrived, meter.counts());
                    if let Some((_, reader)) = bursts
                        && !read.leaves
                    {
                        reader.take(datagram, arrived, meter.counts());
                    }
                    *left |= read.leaves;
                }
                None => account.take_bare(),
            }
            if full.packets > 0 {
                let passed_over = numbered.then(|| account.missing().saturating_sub(missing));
                account.found_full(full, passed_over);
            }
        });
        if got > 0 {
            self.line.meter.moved(got as u64);
            account.tell(self.line.meter.counts());
        }
        match got {
            0 if !self.left => NONE,
            got => got,
        }
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        let each = self.bytes.max(Stamp::LEAVE_BYTES);
        if let (Some(stamp @ Stamp::NumberFirst), true) = (self.stamp, self.shuts) {
            stamp.write_leave(self.block.room(each), self.number, stamp.now());
            // A peer that is gone needs no end.
            let _ = self.sender.send(&self.line, self.block.bytes(each), each);
        }
    }
}

/// Whether a job takes datagrams.
fn receives(setup: &Setup<'_>) -> bool {
    let iodyno_model::Workload::Pattern(pattern) = &setup.job.workload else { return true };
    let shares = pattern.mix.shares.iter().filter(|share| share.weight > 0.0);
    shares.into_iter().any(|share| matches!(share.verb, Verb::Recv | Verb::Read))
}
