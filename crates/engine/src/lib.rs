//! iodyno engine
