//! iodyno truth
