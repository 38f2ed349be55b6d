//! iodyno dialect
