//! fio's handwriting.
mod bins;
mod date;
mod number;
mod samples;
