//! Importers: traces of other programs as a [`RecordSource`].
//!
//! Each reads streams of bytes, in memory that does not grow with them; what is wrong in an input is named, counted and
//! left out, and the header's notes say so. Files are opened by who calls.

mod blkparse;
mod blktrace;
mod block_decoder;
mod block_events;
mod block_requests;
mod columns;
mod context;
mod dbench;
mod dxt;
mod fio_replay;
mod formats;
mod importer;
mod iolog;
mod line_decoder;
mod lines;
mod merge;
mod nbw;
mod number;
mod order;
mod presets;
mod sorted_runs;
pub mod strace;
mod unpack;

pub use blktrace::fits as is_blktrace;
pub use block_events::BlockPoint;
pub use columns::ColumnMap;
pub use formats::{Format, format_named, formats};
pub use importer::{ImportOptions, Importer, import};
pub use merge::{BlktracePart, merge_blktraces};
pub use presets::{PRESETS, Preset};
pub use sorted_runs::{Scratch, ScratchFile};
pub use unpack::{Input, Open};

#[cfg(test)]
mod bad_input_tests;
#[cfg(test)]
mod block_tests;
#[cfg(test)]
mod dbench_tests;
#[cfg(test)]
mod fio_replay_tests;
#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

#[cfg(doc)]
use crate::RecordSource;
