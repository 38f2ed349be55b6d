//! iodyno model
