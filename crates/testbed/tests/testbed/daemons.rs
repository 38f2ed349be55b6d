//! What other projects' daemons leave behind: nothing, whether their test ends well or is killed.

use testbed::daemons::DaemonGroup;
use testbed::program::Program;
use testbed::{Case, Outcome, wait};

/// Asks this program to start a daemon and to say where, instead of running its cases.
const STARTER: &str = "TESTBED_STARTS_A_DAEMON";
const DAEMON: &[&str] = &["sh", "-c", "echo $$ > pid; echo it\\'s here; exec sleep 1000"];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("daemons_and_their_directory_go_with_their_group", &[], dropped),
        Case::new("daemons_of_a_killed_test_go_with_it", &[], killed),
    ]
}

/// Never returns where it is asked to be a test that will be killed.
pub fn start_when_asked() {
    if std::env::var_os(STARTER).is_some() {
        let mut group = DaemonGroup::new().expect("a group");
        group.start("one", DAEMON).expect("a daemon");
        println!("in {}.", group.home().display());
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    }
}

fn process(home: &std::path::Path) -> Result<String, String> {
    let read = || std::fs::read_to_string(home.join("pid")).ok().filter(|text| text.ends_with('\n'));
    wait::for_some("the daemon's word", read).map(|text| format!("/proc/{}", text.trim()))
}

fn is_gone(process: &str) -> bool {
    !std::path::Path::new(process).exists()
}

fn dropped() -> Outcome {
    let mut group = DaemonGroup::new()?;
    group.start("one", DAEMON)?;
    let home = group.home().to_path_buf();
    let process = process(&home)?;
    assert!(!is_gone(&process), "{process}");
    assert_eq!(group.last_words("one"), "it's here");
    drop(group);
    assert!(is_gone(&process) && !home.exists(), "{process} {}", home.display());
    Ok(())
}

fn killed() -> Outcome {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.env(STARTER, "1");
    let mut test = Program::new(command).input(std::process::Stdio::piped()).start();
    test.says(".\n");
    let said = test.out();
    let home = said.strip_prefix("in ").and_then(|rest| rest.strip_suffix(".\n")).ok_or("no directory")?;
    let home = std::path::Path::new(home);
    let process = process(home)?;
    test.signal(libc::SIGKILL);
    wait::until("the end of the daemon and of its directory", || is_gone(&process) && !home.exists())?;
    drop(test);
    Ok(())
}
