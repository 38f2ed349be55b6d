//! The process that serves a device: it mounts, says `ready`, and unmounts when told to.
//!
//! A process of its own keeps the device's threads, locks and scheduling class out of the program under test, and
//! lets tests fork. It ends on SIGTERM or SIGINT, when somebody else unmounts, and, if it was started by a test,
//! when its standard input closes: so it never outlives the test, however that ended.

use super::config::{Config, Content, mix};
use super::log::SharedLog;
use super::server::FuseServer;
use super::timing::wake_promptly;
use fuser::{MountOption, Session, SessionACL};
use iodyno_fuse::image::ImageServer;
use iodyno_fuse::mount::{block_signals, detach, is_mounted, wait_for_signal};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

/// Holds the path of an [`DeviceOrder`] in a process that is to become a server.
pub(crate) const ORDER_VARIABLE: &str = "TESTBED_DEVICE";

/// What a server is told at its start.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceOrder {
    /// The device.
    pub config: Config,
    /// An existing directory; the file will be `device` in it.
    pub mountpoint: PathBuf,
    /// Content of the device, created when it does not exist.
    pub media: PathBuf,
    /// The mapped log, created when it does not exist.
    pub log: PathBuf,
    /// Where to write the log as JSON lines after unmounting.
    pub report: Option<PathBuf>,
    /// End when standard input does.
    pub tied_to_stdin: bool,
    /// A directory to remove at the end, with all that the server left in it.
    pub home: Option<PathBuf>,
}

/// Turns this process into a device's server, and never returns, if a [`Device`](super::Device) started it for
/// that. [`trials`](crate::trials) calls it; a program that does not use `trials` must call it first in `main`, or it
/// cannot mount a device.
pub fn serve_when_asked() {
    super::device::HOOKED.store(true, std::sync::atomic::Ordering::Release);
    let Some(path) = std::env::var_os(ORDER_VARIABLE) else { return };
    let served = read_order(Path::new(&path)).and_then(|order| serve(&order));
    if let Err(error) = &served {
        eprintln!("{error}");
    }
    std::process::exit(i32::from(served.is_err()));
}

fn read_order(path: &Path) -> Result<DeviceOrder, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Serves a device until it is told to stop, then unmounts it. Prints `ready` once the mount answers.
///
/// # Errors
/// One sentence: what could not be opened, mapped or mounted.
pub fn serve(order: &DeviceOrder) -> Result<(), String> {
    order.config.check()?;
    let media = open_media(order).map_err(|error| format!("{}: {error}", order.media.display()))?;
    let log = open_log(order).map_err(|error| format!("{}: {error}", order.log.display()))?;
    block_signals();
    let server = ImageServer::new(FuseServer::new(order.config.clone(), media, log));
    let mut session = Session::new(server, &order.mountpoint, &mount_config(&order.config))
        .map_err(|error| format!("mounting {}: {error}", order.mountpoint.display()))?;
    let mut unmounter = session.unmount_callable();

    let (end, ended) = channel();
    spawn("session", end.clone(), move || {
        wake_promptly();
        let _ = session.run();
    });
    spawn("signals", end.clone(), wait_for_signal);
    if order.tied_to_stdin {
        spawn("stdin", end, || drop(io::stdin().read(&mut [0])));
    }
    println!("ready");
    let _ = io::stdout().flush();
    let _ = ended.recv();

    if unmounter.unmount().is_err() {
        detach(&order.mountpoint);
    }
    let reported = write_report(order);
    if let Some(home) = order.home.as_ref().filter(|_| !is_mounted(&order.mountpoint)) {
        let _ = std::fs::remove_dir_all(home);
    }
    reported
}

pub(crate) fn spawn(name: &str, end: Sender<()>, body: impl FnOnce() + Send + 'static) {
    let run = move || {
        body();
        let _ = end.send(());
    };
    if let Err(error) = std::thread::Builder::new().name(name.into()).spawn(run) {
        eprintln!("no thread for {name}: {error}");
    }
}

fn mount_config(config: &Config) -> fuser::Config {
    let mut mount = fuser::Config::default();
    mount.mount_options = vec![
        MountOption::FSName("testbed".into()),
        MountOption::Subtype("testbed".into()),
        MountOption::DefaultPermissions,
    ];
    mount.acl = SessionACL::All;
    // One more than can be queued, so that opening and stat never wait for data.
    mount.n_threads = Some(config.queue_depth.max(config.parallelism) + 1);
    mount.clone_fd = true;
    mount
}

fn open_media(order: &DeviceOrder) -> io::Result<File> {
    let media = File::options().read(true).write(true).create(true).truncate(false).open(&order.media)?;
    let fresh = media.metadata()?.len() == 0;
    media.set_len(order.config.bytes)?;
    match order.config.content {
        Content::Random(seed) if fresh => fill(&media, order.config.bytes, seed)?,
        _ => {}
    }
    Ok(media)
}

fn fill(media: &File, bytes: u64, seed: u64) -> io::Result<()> {
    const CHUNK: usize = 1 << 20;
    let mut chunk = vec![0u8; CHUNK];
    for offset in (0..bytes).step_by(CHUNK) {
        for (index, word) in chunk.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&mix(seed ^ mix(offset / 8 + index as u64)).to_le_bytes());
        }
        media.write_all_at(&chunk[..CHUNK.min((bytes - offset) as usize)], offset)?;
    }
    Ok(())
}

fn open_log(order: &DeviceOrder) -> io::Result<SharedLog> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&order.log)?;
    SharedLog::map(&file, order.config.log_capacity)
}

fn write_report(order: &DeviceOrder) -> Result<(), String> {
    let Some(path) = &order.report else { return Ok(()) };
    let write = || -> io::Result<()> {
        let mut out = io::BufWriter::new(File::create(path)?);
        for request in open_log(order)?.read().requests {
            serde_json::to_writer(&mut out, &request)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    };
    write().map_err(|error| format!("{}: {error}", path.display()))
}

/// A convenience for the command line: the usual order for `config` mounted at `mountpoint`, its media and log
/// unnamed files of `scratch`.
pub fn order_for(
    config: Config,
    mountpoint: PathBuf,
    scratch: &Path,
    report: Option<PathBuf>,
) -> DeviceOrder {
    let (media, log) = (scratch.join("media"), scratch.join("log"));
    DeviceOrder { config, mountpoint, media, log, report, tied_to_stdin: false, home: None }
}
