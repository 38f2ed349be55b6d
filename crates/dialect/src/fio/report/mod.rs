//! fio's handwriting.
pub mod bins;
mod date;
mod number;
mod samples;
