//! x
pub fn cases() -> Vec<testbed::Case> {
    vec![]
}
