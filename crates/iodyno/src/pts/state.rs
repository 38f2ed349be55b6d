//! How far a test has come, in a file: after Ctrl-C, kill -9 or a loss of power the same command goes on.
//!
//! Written whole after each step, so that it is the old one or the new one. It goes when all tests are done.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iodyno_model::{Diagnostic, Origin};
use serde_json::{Value, json};

use crate::loader::plain;

const FORMAT: &str = "iodyno.pts-state/1";

/// What a cell measured in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellFigures {
    pub iops: f64,
    pub bytes_per_second: f64,
    pub mean_ns: f64,
    /// None: too few operations lie beyond it.
    pub p99_ns: Option<f64>,
    /// Five nines.
    pub p99999_ns: Option<f64>,
    pub longest_ns: f64,
    /// Bytes that were moved.
    pub bytes: f64,
}

impl CellFigures {
    fn json(&self) -> Value {
        json!([
            self.iops,
            self.bytes_per_second,
            self.mean_ns,
            self.p99_ns,
            self.p99999_ns,
            self.longest_ns,
            self.bytes
        ])
    }

    fn parsed(value: &Value) -> Option<CellFigures> {
        let number = |at: usize| value.get(at)?.as_f64();
        Some(CellFigures {
            iops: number(0)?,
            bytes_per_second: number(1)?,
            mean_ns: number(2)?,
            p99_ns: number(3),
            p99999_ns: number(4),
            longest_ns: number(5)?,
            bytes: number(6)?,
        })
    }
}

/// One test: whether the device was made ready for it, and its rounds so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestState {
    pub name: String,
    pub is_prepared: bool,
    /// Each with a figure for each cell.
    pub rounds: Vec<Vec<CellFigures>>,
    pub is_over: bool,
}

/// All tests of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PtsState {
    /// What they are the tests of: the command line that counts.
    pub command: String,
    pub tests: Vec<TestState>,
}

impl PtsState {
    /// As it was left, or a new one.
    ///
    /// # Errors
    /// The file is another command's, or none of ours.
    pub fn found_or_new(path: &Path, fresh: PtsState) -> Result<PtsState, Diagnostic> {
        let origin = Origin::argument(&path.display().to_string());
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(fresh),
            Err(error) => {
                return Err(Diagnostic::error(&origin, plain(&error)).hint("--state FILE names another file"));
            }
        };
        let hint = "remove it to begin anew, or name another one: --state FILE";
        let found = PtsState::parsed(&text)
            .ok_or_else(|| Diagnostic::error(&origin, "this is no state of a test").hint(hint))?;
        if found.command != fresh.command {
            let message = format!("a test that was not finished lies here: {}", found.command);
            return Err(Diagnostic::error(&origin, message).hint(hint));
        }
        Ok(found)
    }

    fn parsed(text: &str) -> Option<PtsState> {
        let value: Value = serde_json::from_str(text).ok()?;
        (value["format"] == FORMAT).then_some(())?;
        let test = |value: &Value| {
            let round =
                |round: &Value| round.as_array()?.iter().map(CellFigures::parsed).collect::<Option<Vec<_>>>();
            Some(TestState {
                name: value["name"].as_str()?.into(),
                is_prepared: value["prepared"].as_bool()?,
                rounds: value["rounds"].as_array()?.iter().map(round).collect::<Option<_>>()?,
                is_over: value["over"].as_bool()?,
            })
        };
        let tests = value["tests"].as_array()?.iter().map(test).collect::<Option<_>>()?;
        Some(PtsState { command: value["command"].as_str()?.into(), tests })
    }

    fn json(&self) -> Value {
        let test = |test: &TestState| {
            let rounds: Vec<Vec<Value>> =
                test.rounds.iter().map(|round| round.iter().map(CellFigures::json).collect()).collect();
            json!({ "name": test.name, "prepared": test.is_prepared, "rounds": rounds, "over": test.is_over })
        };
        json!({
            "format": FORMAT,
            "command": self.command,
            "tests": self.tests.iter().map(test).collect::<Vec<_>>(),
        })
    }

    /// # Errors
    /// The system's.
    pub fn save(&self, path: &Path) -> Result<(), Diagnostic> {
        let unfinished: PathBuf = path.with_extension("new");
        let written = fs::File::create(&unfinished).and_then(|mut file| {
            file.write_all(self.json().to_string().as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, path)
        });
        written.map_err(|error| {
            let _ = fs::remove_file(&unfinished);
            let message = format!("how far it is cannot be kept: {}", plain(&error));
            Diagnostic::error(&Origin::argument(&path.display().to_string()), message)
                .hint("--state FILE names a file in a directory that can be written to")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_back_and_another_commands_is_refused() {
        let figures = CellFigures { iops: 1.5, p99_ns: Some(2.0), longest_ns: 3.0, ..CellFigures::default() };
        let test = TestState {
            name: "iops".into(),
            is_prepared: true,
            rounds: vec![vec![figures, CellFigures::default()]],
            is_over: false,
        };
        let state = PtsState { command: "pts /dev/x".into(), tests: vec![test] };
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state.json");
        let fresh = PtsState { command: "pts /dev/x".into(), tests: Vec::new() };
        assert_eq!(PtsState::found_or_new(&path, fresh.clone()), Ok(fresh.clone()));
        state.save(&path).unwrap();
        assert_eq!(PtsState::found_or_new(&path, fresh.clone()), Ok(state));
        let other = PtsState { command: "pts /dev/y".into(), ..fresh.clone() };
        let wrong = PtsState::found_or_new(&path, other).unwrap_err();
        assert!(wrong.message.contains("pts /dev/x") && wrong.hint.is_some(), "{wrong}");
        for text in ["", "{}", "[1]", &fs::read_to_string(&path).unwrap().replace("1.5", "\"x\"")] {
            fs::write(&path, text).unwrap();
            assert!(PtsState::found_or_new(&path, fresh.clone()).is_err(), "{text}");
        }
    }
}
