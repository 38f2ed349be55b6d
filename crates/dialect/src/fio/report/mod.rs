//! fio's handwriting.
mod bins;
mod date;
mod direction;
mod disks;
mod number;
mod samples;
mod spectrum;
mod summary;
mod trouble;
