//! `--server` and `--client`: the protocol in which fio's client and server talk, as fio 3.33 (Debian 12) speaks it.
//!
//! ```text
//!   client                                   server
//!   PROBE ──────────────────────────────►
//!                                   ◄─────── PROBE: host, version
//!   JOBLINE: the command line, JOB: a file ►
//!                                   ◄─────── TEXT: banners, errors; START: how many jobs
//!   RUN ────────────────────────────────►
//!   SEND_ETA ───────────────────────────► ── ETA
//!                                   ◄─────── IOLOG, JOB_OPT, TS (a job), GS (a group), DU (a disk), STOP, QUIT
//! ```
//! The layouts were read off the wire between Debian's client and server. The version is that of the frames; another version
//! is refused by name, as fio does. There is no password: the server is bound to this machine unless told otherwise.

pub(super) mod client;
mod frame;
mod pdu;
pub(super) mod server;
mod states;
mod statistics;

/// The protocol's version: fio 3.33's.
const PROTOCOL: u16 = 97;
/// The time left where it is unknown, s.
const UNKNOWN_S: u64 = 2_147_483_647;
/// Where a server listens.
pub(super) const PORT: u16 = 8765;
