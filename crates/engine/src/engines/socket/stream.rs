//! Blocks through a stream: copied, spliced, sent out of a file in memory, lent to the kernel, or moved by
//! an io_uring.

use iodyno_model::{Job, Verb};

use super::block::{Block, InTurn};
use super::bursts::{self, BurstWriter, FrontReader};
use super::file::{FileSource, Sink};
use super::line::Line;
use crate::clock;
use crate::engines::{Failure, Setup, setting, switched_on, whole_number};
use crate::io::Io;

#[cfg(target_os = "linux")]
use super::ring::Ring;
#[cfg(target_os = "linux")]
use super::zerocopy::{Drain, Pipe, Sheet, ZerocopySend};

/// How blocks go out.
enum SendMethod {
    Copy,
    InTurn(InTurn),
    FileSource(FileSource),
    #[cfg(target_os = "linux")]
    File(Sheet),
    #[cfg(target_os = "linux")]
    Splice(Pipe),
    #[cfg(target_os = "linux")]
    Lend(ZerocopySend),
    #[cfg(target_os = "linux")]
    Ring(Box<Ring>),
}

/// What becomes of what comes in.
enum Fate {
    Copy,
    Sink(Sink),
    #[cfg(target_os = "linux")]
    Truncate,
    #[cfg(target_os = "linux")]
    Splice(Drain),
    #[cfg(target_os = "linux")]
    Ring(Box<Ring>),
}

/// A stream between two sockets.
pub struct Stream {
    /// The socket.
    pub line: Line,
    way: SendMethod,
    fate: Fate,
    block: Block,
    /// Whether a receive is to bring all it asked for: the job counts its bytes.
    whole: bool,
    /// Whether the peer is to read an end once all is sent.
    shuts: bool,
    /// Bytes of a bin of receives; 0: they are not counted.
    bin_bytes: u64,
    /// Blocks that say when they were due.
    bursts: Option<Box<(BurstWriter, FrontReader)>>,
}

impl Stream {
    /// A stream over a line.
    ///
    /// # Errors
    /// A method that this system does not have.
    pub fn new(setup: &Setup<'_>, line: Line) -> Result<Stream, Failure> {
        let job = setup.job;
        let block = Block::new(setup, setup.memory.stride())?;
        let way = match setting(job, "from") {
            Some(path) => SendMethod::FileSource(FileSource::open(path, setting(job, "method").is_some())?),
            None => match (way(job, &line, &block)?, whole_number(job, "blocks").unwrap_or(1)) {
                (SendMethod::Copy, count @ 2..) => SendMethod::InTurn(InTurn::new(setup, count as usize)?),
                (way, _) => way,
            },
        };
        let fate = match setting(job, "into") {
            Some(path) => Fate::Sink(Sink::open(path)?),
            None => fate(job)?,
        };
        let whole = job.limit.bytes.is_some();
        let bin_bytes = whole_number(job, "read_bin_bytes").unwrap_or(0);
        let bursts = bursts::place(job).map(|_| Box::default());
        if bursts.is_some() && !matches!((&way, &fate), (SendMethod::Copy, Fate::Copy)) {
            return Err(Failure::new("bursts are copied, and so is what comes of them")
                .hint("leave `method`, `receive`, `blocks`, `from` and `into` out"));
        }
        let shuts = switched_on(job, "shut");
        Ok(Stream { line, way, fate, block, whole, shuts, bin_bytes, bursts })
    }

    /// Moves one block.
    #[inline(always)]
    pub fn perform(&mut self, io: &Io) -> i64 {
        let moved = match io.verb {
            Verb::Send | Verb::Write => {
                if let Some(bursts) = &mut self.bursts {
                    bursts.0.write_front(self.block.room(io.bytes as usize), clock::unix_ns());
                }
                self.send(io.bytes as usize)
            }
            _ => {
                let came = self.receive(io.bytes as usize);
                if let Some(bursts) = &mut self.bursts
                    && came > 0
                {
                    bursts.1.take(
                        self.block.bytes(came as usize),
                        clock::unix_ns(),
                        self.line.meter.counts(),
                    );
                }
                if self.bin_bytes > 0 && came > 0 {
                    self.line.meter.counts().add_to_bin((came as u64 - 1) / self.bin_bytes);
                }
                came
            }
        };
        if moved > 0 {
            self.line.meter.moved(moved as u64);
        }
        moved
    }

    fn send(&mut self, bytes: usize) -> i64 {
        match &mut self.way {
            SendMethod::Copy => self.line.send(self.block.bytes(bytes)),
            SendMethod::InTurn(blocks) => self.line.send(blocks.take(bytes)),
            SendMethod::FileSource(source) => source.send(&self.line, &mut self.block, bytes),
            #[cfg(target_os = "linux")]
            SendMethod::File(sheet) => sheet.send(&self.line, bytes),
            #[cfg(target_os = "linux")]
            SendMethod::Splice(pipe) => pipe.send(&self.line, self.block.bytes(bytes)),
            #[cfg(target_os = "linux")]
            SendMethod::Lend(ticketed) => ticketed.send(&self.line, self.block.bytes(bytes)),
            #[cfg(target_os = "linux")]
            SendMethod::Ring(ring) => ring.send(&self.line, self.block.bytes(bytes)),
        }
    }

    fn receive(&mut self, bytes: usize) -> i64 {
        match &mut self.fate {
            Fate::Copy if self.whole => self.line.receive_whole(self.block.room(bytes)),
            Fate::Copy => {
                let room = self.block.room(bytes);
                self.line.receive(room.as_mut_ptr(), room.len(), 0)
            }
            Fate::Sink(sink) => {
                let room = self.block.room(bytes);
                match self.line.receive(room.as_mut_ptr(), room.len(), 0) {
                    came @ 1.. => sink.write(&room[..came as usize]),
                    other => other,
                }
            }
            #[cfg(target_os = "linux")]
            Fate::Truncate => self.line.receive(std::ptr::null_mut(), bytes, libc::MSG_TRUNC),
            #[cfg(target_os = "linux")]
            Fate::Splice(drain) => drain.receive(&self.line, bytes),
            #[cfg(target_os = "linux")]
            Fate::Ring(ring) => ring.receive(&self.line, self.block.room(bytes), self.whole),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if let SendMethod::Lend(ticketed) = &mut self.way {
            ticketed.settle(&self.line);
        }
        if self.shuts {
            // A peer that is gone needs no end.
            let _ = self.line.socket().shutdown(std::net::Shutdown::Write);
        }
    }
}

#[cfg(target_os = "linux")]
fn way(job: &Job, line: &Line, block: &Block) -> Result<SendMethod, Failure> {
    Ok(match setting(job, "method") {
        None | Some("copy") => SendMethod::Copy,
        Some("sendfile") => SendMethod::File(Sheet::new(block.all())?),
        Some("splice") => SendMethod::Splice(Pipe::new()?),
        Some("io_uring") => SendMethod::Ring(Box::new(Ring::new(false)?)),
        Some("io_uring_zerocopy") => SendMethod::Ring(Box::new(Ring::new(true)?)),
        Some(_) => SendMethod::Lend(ZerocopySend::new(line)?),
    })
}

#[cfg(not(target_os = "linux"))]
fn way(_: &Job, _: &Line, _: &Block) -> Result<SendMethod, Failure> {
    Ok(SendMethod::Copy)
}

#[cfg(target_os = "linux")]
fn fate(job: &Job) -> Result<Fate, Failure> {
    Ok(match setting(job, "receive") {
        None | Some("copy") => Fate::Copy,
        Some("truncate") => Fate::Truncate,
        Some("io_uring") => Fate::Ring(Box::new(Ring::new(false)?)),
        Some(_) => Fate::Splice(Drain::new()?),
    })
}

#[cfg(not(target_os = "linux"))]
fn fate(job: &Job) -> Result<Fate, Failure> {
    match setting(job, "receive") {
        None | Some("copy") => Ok(Fate::Copy),
        Some(_) => Err(Failure::new("only Linux drops what it receives")),
    }
}
