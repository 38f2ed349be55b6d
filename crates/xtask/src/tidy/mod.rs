//! tidy
pub fn chore(_root: &std::path::Path) -> Result<bool, String> {
    Ok(true)
}
