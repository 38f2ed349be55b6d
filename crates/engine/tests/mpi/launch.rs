//! Runs this very test program again as ranks under a launcher, each in a role, with an end to its patience.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Names the role of a process that is a rank.
pub const ROLE: &str = "IODYNO_TEST_ROLE";

/// What became of a launch.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<ExitStatus>,
    /// Standard output and standard error of all ranks and of the launcher, as they came.
    pub text: String,
    pub took: Duration,
}

impl Ended {
    /// Whether all went well and in time.
    pub fn well(&self) -> Result<(), String> {
        match self.status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("{status} after {:?}:\n{}", self.took, self.text)),
            None => Err(format!("did not end within {:?}:\n{}", self.took, self.text)),
        }
    }
}

/// Lets `launcher` start `ranks` of us in a role.
pub fn launch(mut launcher: Command, ranks: u32, role: &str, limit: Duration) -> Result<Ended, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    launcher.args(["-n", &ranks.to_string()]).arg(own);
    run(launcher, role, limit)
}

/// Runs a whole command line with the role in its environment.
pub fn run(mut command: Command, role: &str, limit: Duration) -> Result<Ended, String> {
    let (mut reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let again = writer.try_clone().map_err(|error| error.to_string())?;
    command.env(ROLE, role).stdin(Stdio::null()).stdout(writer).stderr(again).process_group(0);
    let began = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    // Holds the pipe's other end.
    drop(command);
    let text = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until then is all there is to show.
        let _ = reader.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let status = wait(&mut child, began + limit);
    let took = began.elapsed();
    Ok(Ended { status, text: text.join().unwrap_or_default(), took })
}

/// Waits for it; after the limit its whole process group is ended.
fn wait(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    let mut look = |until: Instant| loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() > until {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if let Some(status) = look(until) {
        return Some(status);
    }
    let group = -(child.id() as i32);
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        // SAFETY: the group is that of a child which was not waited for yet.
        unsafe { libc::kill(group, signal) };
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until && !matches!(child.try_wait(), Ok(Some(_))) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    None
}
