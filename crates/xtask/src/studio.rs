//! `cargo xtask against studio`: the studio's journeys in a real Chromium, driven by Playwright of npm, with axe-core.
//!
//! Screenshots lie in `target/studio/shots`: they are to be looked at before anything is called done. It writes to no device but
//! a loop device over a file of its own, which it takes away again, and refuses to go on without a browser or npm.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::shell;

/// What the driver needs from npm.
const PACKAGES: &[&str] = &["playwright-core", "axe-core"];
/// Names that the browser goes by.
const BROWSERS: &[&str] = &["chromium", "chromium-headless-shell", "chromium-browser", "google-chrome"];
/// Building, and installing.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// The device's size.
const DEVICE_BYTES: u64 = 32 << 20;

/// Goes all journeys; whether each came to its end.
///
/// # Errors
/// What is missing for them.
pub fn chore(root: &Path) -> Result<bool, String> {
    let browser = BROWSERS.iter().find_map(|name| shell::find(name));
    let browser = browser.ok_or("there is no Chromium: apt-get install chromium-headless-shell")?;
    let node = shell::find("node").ok_or("there is no node: apt-get install nodejs npm")?;
    let folder = root.join("target/studio");
    let (work, shots) = (folder.join("work"), folder.join("shots"));
    // What an earlier try left is of no use.
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    let missing = PACKAGES.iter().filter(|name| !folder.join("node_modules").join(name).is_dir());
    if missing.count() > 0 {
        let mut install = Command::new("npm");
        install.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).args(PACKAGES);
        run(install, "npm install")?;
    }
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The whole workspace's features: what the tests have built is not built again.
    build.args(["build", "--workspace", "--bin", "iodyno"]).current_dir(root);
    run(build, "cargo build")?;
    let device = LoopDevice::make(&work);
    if let Err(why) = &device {
        println!("without a device of its own ({why}): the journey over a device is left out");
    }
    let program = root.join("target/debug/iodyno");
    let (mut studio, url) = open(&program, &work)?;
    let mut journeys = Command::new(node);
    journeys.arg(root.join("crates/xtask/src/studio.mjs"));
    journeys.env("STUDIO_URL", url).env("STUDIO_TARGET", &work).env("STUDIO_SHOTS", &shots);
    journeys
        .env("STUDIO_CHROMIUM", browser)
        .env("STUDIO_FOLDER", &folder)
        .env("STUDIO_ICF", root.join("golden/iometer/small.icf"));
    if let Ok(device) = &device {
        journeys.env("STUDIO_DEVICE", &device.path);
    }
    let went = journeys.status();
    let _ = Command::new("kill").args(["-TERM", &studio.id().to_string()]).status();
    let ended = studio.wait().map_err(|error| error.to_string())?;
    println!("screenshots to be looked at: {}", shots.display());
    let went = went.map_err(|error| format!("node: {error}"))?;
    if !ended.success() {
        println!("FAIL the studio ended with {ended}");
    }
    Ok(went.success() && ended.success())
}

fn run(command: Command, what: &str) -> Result<(), String> {
    match shell::run(command, None, LIMIT)? {
        outcome if outcome.success => Ok(()),
        outcome => Err(format!("{what}: {}", outcome.last_words())),
    }
}

/// The studio, and the address with its key. It is started as a shell starts what is in the background: deaf to Ctrl-C, as are
/// the runs that it starts and has to stop all the same.
fn open(program: &Path, work: &Path) -> Result<(Child, String), String> {
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' INT; exec \"$0\" studio"])
        .arg(program)
        .env("IODYNO_HISTORY", work.join("history/runs.sqlite"))
        .current_dir(work);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut studio = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let mut url = String::new();
    if let Some(out) = studio.stdout.take() {
        BufReader::new(out).read_line(&mut url).map_err(|error| error.to_string())?;
    }
    match url.trim() {
        "" => Err("the studio did not open".into()),
        url => Ok((studio, url.to_string())),
    }
}

/// A loop device over a file; both go when it is dropped.
struct LoopDevice {
    path: PathBuf,
    file: PathBuf,
}

impl LoopDevice {
    fn make(work: &Path) -> Result<LoopDevice, String> {
        let file = work.join("device.img");
        let made = std::fs::File::create_new(&file).and_then(|made| made.set_len(DEVICE_BYTES));
        made.map_err(|error| error.to_string())?;
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&file).output();
        let output = output.map_err(|error| format!("losetup: {error}"))?;
        let path = String::from_utf8_lossy(&output.stdout).trim().to_string();
        match output.status.success() && path.starts_with("/dev/loop") {
            true => Ok(LoopDevice { path: path.into(), file }),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
        }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
        let _ = std::fs::remove_file(&self.file);
    }
}
