//! `cargo xtask bless`: the golden tests run with `IODYNO_BLESS=1` and write down what they got as what they expect.
//!
//! The rewriting is done by the tests, which know their files; this only asks them to and shows what changed. It
//! refuses nothing and judges nothing: reading the diff is the blesser's part.

use std::path::Path;
use std::process::Command;

/// Runs the workspace's tests (or those whose names match the arguments) in blessing mode, then shows the changes.
pub fn chore(root: &Path, filters: &[String]) -> Result<bool, String> {
    let blessed =
        test_command(root, filters).status().map_err(|error| format!("cannot run cargo: {error}"))?;
    let mut diff = Command::new("git");
    diff.current_dir(root).args(["--no-pager", "diff", "--stat", "--", "golden", "crates"]);
    if diff.status().is_err() {
        println!("git is not here: the changes under golden/ cannot be shown");
    }
    Ok(blessed.success())
}

fn test_command(root: &Path, filters: &[String]) -> Command {
    let mut command = crate::shell::cargo();
    command.current_dir(root).env("IODYNO_BLESS", "1");
    command.args(["test", "--workspace", "--exclude", "xtask", "--no-fail-fast", "--"]).args(filters);
    if filters.is_empty() {
        command.arg("golden");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_are_told_to_bless() {
        let command = test_command(Path::new("."), &[]);
        let told =
            command.get_envs().any(|(name, value)| name == "IODYNO_BLESS" && value == Some("1".as_ref()));
        assert!(told);
        assert_eq!(command.get_args().last(), Some("golden".as_ref()));
    }
}
