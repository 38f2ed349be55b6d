//! iodyno engine
#![allow(unsafe_code)]

pub mod payload;
pub mod source;
