//! A directory whose unsynced data is held back in memory by a process of its own: killed, or told by SIGUSR1, it loses it.
//!
//! Its lying twin acknowledges fsync and keeps nothing. What is durable lies in a directory that tests can look into.

use super::device::{await_ready, end, require_hook};
use super::serve::spawn;
use crate::{Need, Skip};
use fuser::{MountOption, Session, SessionACL};
use iodyno_fuse::mount::{block_signals, detach, is_mounted, wait_for_signal};
use iodyno_fuse::{Passthrough, UnsyncedStore, UnsyncedTerms, hold};
use serde::{Deserialize, Serialize};
use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Release};
use std::sync::mpsc::channel;
use tempfile::TempDir;

/// Holds the order of a process that is to become a server.
const HELD_VARIABLE: &str = "TESTBED_HELD";

/// Whether this program's `main` goes through [`serve_held_when_asked`].
static HOOKED: AtomicBool = AtomicBool::new(false);

#[derive(Serialize, Deserialize)]
struct HeldOrder {
    mountpoint: PathBuf,
    backing: PathBuf,
    ignores_sync: bool,
}

/// A mounted directory that loses what nobody synced. Dropping it unmounts it and ends its server.
#[derive(Debug)]
pub struct HeldDirectory {
    server: Child,
    mountpoint: PathBuf,
    backing: PathBuf,
    _home: TempDir,
}

impl HeldDirectory {
    /// `ignores_sync`: fsync is acknowledged and does nothing.
    ///
    /// # Errors
    /// A [`Skip`] where FUSE cannot be had.
    ///
    /// # Panics
    /// When this program's `main` does not go through [`trials`](crate::trials).
    #[track_caller]
    pub fn mount(ignores_sync: bool) -> Result<HeldDirectory, Skip> {
        require_hook(&HOOKED, HELD_VARIABLE);
        Need::Fuse.check()?;
        let home = tempfile::Builder::new()
            .prefix(&format!("testbed-{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .unwrap_or_else(|error| panic!("a temporary directory: {error}"));
        let (mountpoint, backing) = (home.path().join("mnt"), home.path().join("backing"));
        for directory in [&mountpoint, &backing] {
            std::fs::create_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        }
        let order = HeldOrder { mountpoint: mountpoint.clone(), backing: backing.clone(), ignores_sync };
        let mut server = launch(&order).unwrap_or_else(|error| panic!("a server: {error}"));
        if let Err(error) = await_ready(&mut server) {
            end(&mut server, &mountpoint);
            panic!("mounting a held directory: {error}");
        }
        Ok(HeldDirectory { server, mountpoint, backing, _home: home })
    }

    pub fn path(&self) -> &Path {
        &self.mountpoint
    }

    /// What is durable.
    pub fn backing(&self) -> &Path {
        &self.backing
    }

    pub fn server_pid(&self) -> u32 {
        self.server.id()
    }
}

impl Drop for HeldDirectory {
    fn drop(&mut self) {
        end(&mut self.server, &self.mountpoint);
    }
}

fn launch(order: &HeldOrder) -> io::Result<Child> {
    let mut program = Command::new("/proc/self/exe");
    program.env(HELD_VARIABLE, serde_json::to_string(order)?);
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Turns this process into a server, and never returns, if a [`HeldDirectory`] started it for that.
pub(crate) fn serve_held_when_asked() {
    HOOKED.store(true, Release);
    let Some(text) = std::env::var_os(HELD_VARIABLE) else { return };
    let order = serde_json::from_str(&text.to_string_lossy()).map_err(|error| error.to_string());
    let served = order.and_then(|order| serve_held(&order));
    if let Err(error) = &served {
        eprintln!("{error}");
    }
    std::process::exit(i32::from(served.is_err()));
}

fn serve_held(order: &HeldOrder) -> Result<(), String> {
    let place = |error: io::Error| format!("{}: {error}", order.backing.display());
    block_signals();
    block_drop_signal();
    let terms = UnsyncedTerms { most_bytes: 1 << 30, ignores_sync: order.ignores_sync };
    let store = Arc::new(UnsyncedStore::new(terms));
    let held = hold(&order.backing).map_err(place)?;
    let system =
        Passthrough::new(order.backing.clone(), held, ()).map_err(place)?.holding(Arc::clone(&store), None);
    let mut config = fuser::Config::default();
    config.mount_options = vec![MountOption::FSName("held".into()), MountOption::DefaultPermissions];
    config.acl = SessionACL::All;
    config.n_threads = Some(4);
    let mut session = Session::new(system, &order.mountpoint, &config).map_err(|error| error.to_string())?;
    let mut unmounter = session.unmount_callable();
    let (ends, ended) = channel();
    spawn("session", ends.clone(), move || drop(session.run()));
    spawn("signals", ends.clone(), wait_for_signal);
    spawn("drops", ends.clone(), move || {
        loop {
            wait_for_drop_signal();
            store.drop_all();
        }
    });
    spawn("stdin", ends, || drop(io::stdin().read(&mut [0])));
    println!("ready");
    let _ = io::stdout().flush();
    let _ = ended.recv();
    if unmounter.unmount().is_err() && is_mounted(&order.mountpoint) {
        detach(&order.mountpoint);
    }
    Ok(())
}

fn drop_signal() -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set before anything reads it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR1);
        set
    }
}

fn block_drop_signal() {
    // SAFETY: the set is initialised; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &drop_signal(), std::ptr::null_mut()) };
}

fn wait_for_drop_signal() {
    let mut signal = 0;
    // SAFETY: both pointers are valid for the call.
    unsafe { libc::sigwait(&drop_signal(), &mut signal) };
}
