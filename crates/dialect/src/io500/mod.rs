//! io500: the thirteen phases of the IO500 list in one run, with their parameters, their score and their result files.
pub mod config;
pub mod options;
pub mod phases;
pub mod score;
