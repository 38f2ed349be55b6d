//! stub
use iodyno_model::{Machine, Plan, TargetFacts};
/// stub
pub fn explain(_: &Plan, _: &[TargetFacts], _: &Machine) -> String {
    String::new()
}
