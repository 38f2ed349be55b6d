//! iodyno report
