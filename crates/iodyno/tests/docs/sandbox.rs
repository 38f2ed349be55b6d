//! A directory in which the commands of a page run as a reader would type them: the built program is `iodyno`, the history
//! and the home lie in the directory, and what is left goes with it.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use testbed::program::Program;

use crate::page::{Block, Statement, missing};

/// The built program.
const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

pub struct Sandbox {
    root: TempDir,
    /// The examples of the tree, which pages name by their relative path.
    tree: PathBuf,
}

impl Sandbox {
    pub fn new(tree: PathBuf) -> std::io::Result<Sandbox> {
        let root = tempfile::Builder::new().prefix("docs-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let sandbox = Sandbox { root, tree };
        for folder in ["bin", "home", "work"] {
            std::fs::create_dir(sandbox.path(folder))?;
        }
        symlink(IODYNO, sandbox.path("bin/iodyno"))?;
        symlink(sandbox.tree.join("examples"), sandbox.path("work/examples"))?;
        Ok(sandbox)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Runs what is to be run of a block, and compares what it prints with what the page shows.
    pub fn run(&self, page: &str, block: &Block) -> Result<(), String> {
        let run: Vec<&Statement> =
            block.statements.iter().filter(|statement| statement.not_run.is_none()).collect();
        let Some(first) = run.first() else { return Ok(()) };
        let place = format!("{page}:{}", first.line);
        let mut shell = Command::new("bash");
        shell.args(["-c", &script(&run)]).current_dir(self.path("work"));
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", self.path("bin").display()));
        shell.env("HOME", self.path("home")).env("XDG_DATA_HOME", self.path("home"));
        shell.env("IODYNO_HISTORY", self.path("home/history.sqlite")).env("COLUMNS", "100");
        for name in ["IODYNO_FINDINGS", "IODYNO_ALSO", "IODYNO_UNITS", "NO_COLOR"] {
            shell.env_remove(name);
        }
        let output = Program::new(shell).outcome()?;
        let told = format!("{}{}", output.out, output.err);
        if !output.status.success() {
            return Err(format!("{place}: a command did not end as the page says:\n{told}"));
        }
        match missing(&block.shown, &told) {
            Some(line) => Err(format!("{place}: the page shows `{line}`, the commands printed:\n{told}")),
            None => Ok(()),
        }
    }
}

/// One shell for all commands, as a reader has; each must end with its status.
fn script(statements: &[&Statement]) -> String {
    let mut text = String::from("set -u\n");
    for Statement { line, text: command, status, .. } in statements {
        text.push_str(&format!(
            "{command}\n__status=$?\n\
             if [ $__status -ne {status} ]; then echo \"line {line}: exit status $__status, not {status}\" >&2; exit 1; fi\n"
        ));
    }
    text
}
