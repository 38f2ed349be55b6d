//! A run of `iodyno posix`, and its report as JSON.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use testbed::program::{Program, ProgramOutput};

/// The built program.
pub const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// The program with these arguments, untouched by the caller's environment.
pub fn iodyno<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(IODYNO);
    command.args(arguments);
    for variable in ["IODYNO_FINDINGS", "IODYNO_ALSO", "COLUMNS"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a command to its end.
#[track_caller]
pub fn said(command: Command) -> ProgramOutput {
    let said = Program::new(command).run();
    assert!(!said.err.contains("panicked"), "{}", said.err);
    said
}

/// A file beside this one.
pub fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/posix").join(name)
}

/// What a run came to.
pub struct Report {
    /// Its exit status.
    pub status: i32,
    /// The report, as JSON.
    pub json: Value,
    pub said: ProgramOutput,
    _home: TempDir,
}

/// Checks a directory.
#[track_caller]
pub fn judge(directory: &Path, arguments: &[&str]) -> Report {
    let mut command = iodyno(["posix"]);
    command.args(arguments).arg(directory);
    judged(command)
}

/// Runs this command with a report as JSON.
#[track_caller]
pub fn judged(mut command: Command) -> Report {
    let home = testbed_home();
    let file = home.path().join("report.json");
    command.arg("--json").arg(&file);
    let said = said(command);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {}", said));
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    Report { status: said.code(), json, said, _home: home }
}

/// A directory that any user may write reports to.
pub fn testbed_home() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::Builder::new().prefix("posix-").tempdir().expect("a directory");
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).expect("its mode");
    home
}

impl Report {
    fn file_system(&self) -> &Value {
        &self.json["file_systems"][0]
    }

    /// One of the totals: `checks`, `pass`, `fail`, …
    pub fn total(&self, name: &str) -> u64 {
        self.file_system()["totals"][name].as_u64().unwrap_or_else(|| panic!("no total of {name}"))
    }

    /// The rules that failed.
    pub fn failed(&self) -> Vec<&str> {
        let cases = self.file_system()["cases"].as_array().expect("cases");
        let bad = |case: &&Value| case["counts"]["fail"].as_u64().is_some_and(|count| count > 0);
        cases.iter().filter(bad).filter_map(|case| case["rule"].as_str()).collect()
    }

    /// Features that the profile says are there, and are not.
    pub fn missing(&self) -> Vec<&str> {
        let missing = self.file_system()["missing"].as_array().expect("features");
        missing.iter().filter_map(|feature| feature["name"].as_str()).collect()
    }

    /// Prints what was measured.
    pub fn print(&self, what: &str) {
        let seconds = self.file_system()["elapsed_ns"].as_u64().unwrap_or(0) as f64 / 1e9;
        let [checks, pass, expected, missing] =
            ["checks", "pass", "expected_fail", "not_applicable"].map(|name| self.total(name));
        eprintln!(
            "{what}: {checks} checks in {seconds:.2} s: {pass} passed, {expected} failed as expected, \
             {missing} not applicable, {} skipped",
            self.total("skip")
        );
    }

    /// Nothing failed that the profile does not explain.
    #[track_caller]
    pub fn is_clean(&self, what: &str) {
        self.print(what);
        assert_eq!(self.status, 0, "{what}: {}", self.said);
        assert_eq!(self.total("fail"), 0, "{what}: {}", self.said);
        assert!(self.total("pass") > 0, "{what}: nothing was checked");
    }
}
