//! A file system that breaks one rule of POSIX or Linux on purpose, and keeps all others.
//!
//! A conformance suite can only be trusted if it is known to fail. Here is what it has to find: a complete file system in
//! memory, mounted through FUSE, and a list of [faults](Fault), each a rule it can be told to break.
//!
//! ```no_run
//! use testbed::rogue::{Fault, Rogue};
//! # fn main() -> Result<(), testbed::Skip> {
//! let broken = Rogue::mount(Some(Fault::ChmodKeepsChanged))?;
//! // … check broken.path() …
//! # Ok(()) }
//! ```
//!
//! The kernel stands before every FUSE file system and keeps many rules by itself (it walks paths, counts links of symbolic
//! ones, knows a directory from a file); faults can lie only in what it asks.

mod access;
mod acl;
mod attributes;
mod content;
mod data;
mod fault;
mod flags;
mod locks;
mod mount;
mod names;
mod node;
mod rename;
mod server;
mod tree;

pub use fault::Fault;
pub(crate) use mount::serve_when_asked;
pub use mount::{Rogue, Terms, serve};
pub use server::Troubles;
