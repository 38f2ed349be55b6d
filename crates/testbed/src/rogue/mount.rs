//! Mounting it: a process of its own that serves, and the test's end of it.
//!
//! A server of its own can hang and die without the test. It ends on SIGTERM or SIGINT, when somebody else unmounts, and,
//! if a test started it, when its standard input closes: so it never outlives the test, however that ended.

use super::fault::Fault;
use super::server::{HANGS, RogueServer, Troubles};
use super::tree::Tree;
use crate::fuse::{
    await_ready, block_signals, detach, end, is_mounted, require_hook, spawn, wait_for_signal,
};
use crate::{Need, Skip};
use fuser::{MountOption, Session, SessionACL};
use serde::{Deserialize, Serialize};
use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Release};
use std::sync::mpsc::channel;
use tempfile::TempDir;

/// Holds the [`Terms`] in a process that is to become a server.
const TERMS_VARIABLE: &str = "TESTBED_ROGUE";

/// Whether this program's `main` goes through [`serve_when_asked`].
static HOOKED: AtomicBool = AtomicBool::new(false);

/// What a file system is to be like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The name of the [`Fault`]; none: it keeps all rules.
    pub fault: Option<String>,
    /// It judges permissions itself even without a fault that needs it.
    pub judges: bool,
    /// What happens to all of it.
    pub troubles: Troubles,
    /// An existing directory.
    pub mountpoint: PathBuf,
    /// End when standard input does, and take this directory along.
    pub home: Option<PathBuf>,
}

/// A mounted file system that breaks a rule. Dropping it unmounts it and ends its server.
#[derive(Debug)]
pub struct Rogue {
    server: Child,
    directory: PathBuf,
    _home: TempDir,
}

impl Rogue {
    /// One with this fault, or with none.
    ///
    /// # Errors
    /// A [`Skip`] where FUSE cannot be had.
    ///
    /// # Panics
    /// When this program's `main` does not go through [`trials`](crate::trials), before anything is started or made.
    #[track_caller]
    pub fn mount(fault: Option<Fault>) -> Result<Rogue, Skip> {
        let fault = fault.map(|fault| fault.name().to_string());
        Rogue::with(Terms { fault, ..Terms::default() })
    }

    /// One as described; its mount point is made here.
    #[track_caller]
    pub fn with(terms: Terms) -> Result<Rogue, Skip> {
        require_hook(&HOOKED, TERMS_VARIABLE);
        Need::Fuse.check()?;
        let home = tempfile::Builder::new()
            .prefix(&format!("testbed-{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .unwrap_or_else(|error| panic!("a temporary directory: {error}"));
        let directory = home.path().join("mnt");
        std::fs::create_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let terms = Terms { mountpoint: directory.clone(), home: Some(home.path().into()), ..terms };
        let mut server = launch(&terms).unwrap_or_else(|error| panic!("a server: {error}"));
        if let Err(error) = await_ready(&mut server) {
            end(&mut server, &directory);
            panic!("mounting a rogue: {error}");
        }
        Ok(Rogue { server, directory, _home: home })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Returns when the server has left a request unanswered, as its [`Troubles`] told it.
    ///
    /// # Errors
    /// It ended instead.
    pub fn await_hang(&mut self) -> io::Result<()> {
        let mut line = String::new();
        if let Some(stdout) = &mut self.server.stdout {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.trim_end() == HANGS {
            Ok(())
        } else {
            Err(io::Error::other("the server ended instead of hanging"))
        }
    }

    /// Process id of the server.
    pub fn server_pid(&self) -> u32 {
        self.server.id()
    }
}

impl Drop for Rogue {
    fn drop(&mut self) {
        end(&mut self.server, &self.directory);
    }
}

fn launch(terms: &Terms) -> io::Result<Child> {
    let text = serde_json::to_string(terms)?;
    // A test binary whose `main` goes through `trials` turns into the server there.
    let mut program = Command::new("/proc/self/exe");
    program.env(TERMS_VARIABLE, text);
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Turns this process into a server, and never returns, if a [`Rogue`] started it for that.
pub(crate) fn serve_when_asked() {
    HOOKED.store(true, Release);
    let Some(text) = std::env::var_os(TERMS_VARIABLE) else { return };
    let terms: Result<Terms, _> = serde_json::from_str(&text.to_string_lossy());
    let served = terms.map_err(|error| error.to_string()).and_then(|terms| serve(&terms));
    if let Err(error) = &served {
        eprintln!("{error}");
    }
    std::process::exit(i32::from(served.is_err()));
}

/// Mounts, prints `ready`, and serves until it is told to stop; then unmounts.
///
/// # Errors
/// One sentence: no such fault, or what could not be mounted.
pub fn serve(terms: &Terms) -> Result<(), String> {
    let fault = match &terms.fault {
        Some(name) => Some(Fault::named(name).ok_or_else(|| format!("there is no fault `{name}`"))?),
        None => None,
    };
    let judges = terms.judges || fault.is_some_and(Fault::judges);
    block_signals();
    let server = RogueServer::new(Tree::new(fault, judges), terms.troubles);
    let mut session = Session::new(server, &terms.mountpoint, &config(judges))
        .map_err(|error| format!("mounting {}: {error}", terms.mountpoint.display()))?;
    let mut unmounter = session.unmount_callable();
    let (ends, ended) = channel();
    spawn("session", ends.clone(), move || {
        if let Err(error) = session.run() {
            eprintln!("the session ended: {error}");
        }
    });
    spawn("signals", ends.clone(), wait_for_signal);
    if terms.home.is_some() {
        spawn("stdin", ends, || drop(io::stdin().read(&mut [0])));
    }
    println!("ready");
    let _ = io::stdout().flush();
    let _ = ended.recv();
    if unmounter.unmount().is_err() {
        detach(&terms.mountpoint);
    }
    if let Some(home) = terms.home.as_ref().filter(|_| !is_mounted(&terms.mountpoint)) {
        let _ = std::fs::remove_dir_all(home);
    }
    Ok(())
}

fn config(judges: bool) -> fuser::Config {
    let mut config = fuser::Config::default();
    config.mount_options = vec![
        MountOption::FSName("rogue".into()),
        MountOption::Subtype("rogue".into()),
        MountOption::Dev,
        MountOption::Suid,
        MountOption::Exec,
    ];
    if !judges {
        config.mount_options.push(MountOption::DefaultPermissions);
    }
    config.acl = SessionACL::All;
    config.n_threads = Some(4);
    config.clone_fd = true;
    config
}
