//! Perl's `prove`: our TAP is read by it, our scripts run under it, and other people's scripts run on our helper.

use super::report::{IODYNO, beside, iodyno, said, testbed_home};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use testbed::sandbox::Mount;
use testbed::{Case, Need, Outcome};

pub fn cases() -> Vec<Case> {
    let needs = [Need::Root, Need::Mount, Need::Tool("prove")];
    vec![
        Case::new("the_helper_runs_scripts_as_pjdfstest", &needs, || scripts("pjdfstest")),
        Case::new("the_helper_runs_scripts_as_fstest", &needs, || scripts("fstest")),
        Case::new("a_wrong_expectation_fails_under_prove", &needs, wrong_script),
        Case::new("prove_reads_our_tap", &needs, our_tap),
        Case::new("prove_runs_the_scripts_we_write", &needs, our_scripts),
    ]
}

/// A folder with the helper under this name.
fn helper(home: &Path, name: &str) -> std::path::PathBuf {
    let path = home.join(name);
    symlink(IODYNO, &path).expect("a link");
    path
}

fn prove(home: &Path, helper: &Path, folder: &Path) -> Command {
    let mut command = Command::new("prove");
    command.args(["-r", "--exec", "sh"]).arg(folder).current_dir(home);
    command.env("HELPER", helper).env("MANNER", beside("t/manner.sh"));
    command
}

fn scripts(name: &str) -> Outcome {
    let mount = Mount::tmpfs(16 << 20)?;
    let home = testbed_home();
    let helper = helper(home.path(), name);
    let said = said(prove(mount.path(), &helper, &beside("t")));
    assert_eq!(said.code(), 0, "{}", said);
    assert!(said.out.contains("Result: PASS"), "{}", said);
    eprintln!("{name}: {}", said.out.lines().rev().nth(1).unwrap_or_default());
    Ok(())
}

fn wrong_script() -> Outcome {
    let mount = Mount::tmpfs(16 << 20)?;
    let home = testbed_home();
    let folder = home.path().join("t");
    std::fs::create_dir(&folder)?;
    let text = ". \"$MANNER\"\nplan 2\nexpect 0 mkdir d 0755\nexpect 0 mkdir d 0755\nfinish\n";
    std::fs::write(folder.join("wrong.t"), text)?;
    let said = said(prove(mount.path(), &helper(home.path(), "pjdfstest"), &folder));
    assert_ne!(said.code(), 0, "{}", said);
    assert!(said.out.contains("Result: FAIL") && said.out.contains("1/2"), "{}", said);
    Ok(())
}

fn our_tap() -> Outcome {
    let mount = Mount::tmpfs(64 << 20)?;
    let mut command = Command::new("prove");
    // prove reads a directory that it is given itself, so what it hands on are names of groups.
    command.args(["--exec", "iodyno posix . --tap --only", "mkdir", "rmdir"]).current_dir(mount.path());
    command.env("PATH", path_with_ours());
    let said = said(command);
    assert_eq!(said.code(), 0, "{}", said);
    assert!(said.out.contains("Result: PASS"), "{}", said);
    Ok(())
}

fn our_scripts() -> Outcome {
    let mount = Mount::tmpfs(64 << 20)?;
    let home = testbed_home();
    let folder = home.path().join("scripts");
    std::fs::create_dir(&folder)?;
    let mut command = iodyno(["posix", "--only", "mkdir", "--only", "rmdir", "--write-t"]);
    command.arg(&folder).arg(mount.path());
    let written = said(command);
    assert_eq!(written.code(), 0, "{}", written);
    let mut command = Command::new("prove");
    command.arg("-r").arg(&folder).current_dir(mount.path());
    command.env("PATH", path_with_ours());
    let said = said(command);
    assert_eq!(said.code(), 0, "{}", said);
    assert!(said.out.contains("Files=2"), "{}", said);
    Ok(())
}

/// By its name, as users call it: a path with a blank in it would be split by those who run it.
fn path_with_ours() -> String {
    let ours = Path::new(IODYNO).parent().expect("a directory").display().to_string();
    format!("{ours}:{}", std::env::var("PATH").unwrap_or_default())
}
