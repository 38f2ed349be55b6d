//! A browser without a screen: shows a page, and tells what became of it.
//!
//! The page comes from a server of the test, and tells it what it looks like once everything is drawn; so nobody guesses
//! how long a busy machine takes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;

use serde::Deserialize;
use testbed::program::Program;
use testbed::{Skip, wait};

/// Names that it goes by.
const NAMES: &[&str] = &["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// A chart with fewer hues has no line, no bar and no label.
pub const HUES_LEAST: u32 = 12;

/// Listens to complaints; stands before everything of the page itself.
const LISTEN: &str = r#"<script>
const complaints = [];
for (const name of ["error", "warn"]) {
  const plain = console[name];
  console[name] = (...words) => { complaints.push(words.join(" ")); plain.apply(console, words); };
}
addEventListener("error", (event) => complaints.push("uncaught: " + event.message));
addEventListener("unhandledrejection", (event) => complaints.push("unhandled: " + event.reason));
document.addEventListener("securitypolicyviolation", (event) =>
  complaints.push("forbidden: " + event.violatedDirective + " " + event.blockedURI));
</script>"#;

/// Draws every chart, counts the hues on each canvas, and tells the test. `HUES` is put before it.
const TELL: &str = r#"
const hues = (chart) => {
  const canvas = chart.querySelector("canvas");
  if (!canvas) return 0;
  const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  const seen = new Set();
  for (let at = 0; at < pixels.length; at += 5) seen.add(pixels[at]);
  return seen.size;
};
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
(async () => {
  while (document.documentElement.dataset.ready !== "yes") await wait(50);
  redrawCharts(true);
  const drawn = () => [...document.querySelectorAll(".chart")].map(hues);
  // A frame that was drawn twice alike is whole; what stays empty is told as it is.
  let [before, now] = [null, drawn()];
  for (let looks = 0; looks < 1000 && (`${before}` !== `${now}` || now.some((count) => count < HUES)); looks++) {
    await wait(20);
    [before, now] = [now, drawn()];
  }
  const root = document.documentElement;
  const result = {
    complaints,
    hues: now,
    beyond: root.scrollWidth - root.clientWidth,
    aliens: document.querySelectorAll("img, iframe, object, embed").length,
    text: document.getElementById("page").textContent,
    opened: Math.round(performance.now()),
  };
  await fetch("/result", { method: "POST", body: JSON.stringify(result) });
})();
</script>"#;

/// What a browser made of a page.
#[derive(Debug, Deserialize)]
pub struct Shown {
    /// Errors and warnings, of the page's script and of its policy.
    pub complaints: Vec<String>,
    /// How many hues each chart has.
    pub hues: Vec<u32>,
    /// By how many points the page is wider than the window.
    pub beyond: i32,
    /// Elements that no page of ours has.
    pub aliens: u32,
    /// All text that can be read.
    pub text: String,
    /// After so many ms all of it was drawn.
    pub opened: u32,
}

/// The browser.
///
/// # Errors
/// A [`Skip`] where there is none.
pub fn find() -> Result<PathBuf, Skip> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|path| path.is_file()).ok_or_else(|| Skip::new("there is no chromium here"))
}

/// Shows a page in a window of that width, and waits until it is drawn.
pub fn show(browser: &Path, html: &str, width: u32) -> Result<Shown, String> {
    let said = |error: std::io::Error| error.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").map_err(said)?;
    let url = format!("http://{}/", listener.local_addr().map_err(said)?);
    let page = html.replacen("<main", &format!("{LISTEN}<main"), 1)
        + &format!("<script>const HUES = {HUES_LEAST};{TELL}");
    let (told, tells) = mpsc::channel();
    std::thread::spawn(move || {
        for reader in listener.incoming().flatten() {
            if let Some(result) = answer(reader, &page) {
                let _ = told.send(result);
            }
        }
    });
    let profile = tempfile::tempdir().map_err(said)?;
    let quiet =
        ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0"];
    let mut command = Command::new(browser);
    command.args(quiet).arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("--window-size={width},9000")).arg(url);
    // The browser's name may be a script's, which only waits for the browser: its whole group ends with this.
    let _running = Program::new(command).launch()?;
    let result = wait::for_some("what the page tells when it is drawn", || tells.try_recv().ok())?;
    serde_json::from_str(&result).map_err(|error| error.to_string())
}

/// Gives the page to who asks for it; what it tells, if it does.
fn answer(mut reader: TcpStream, page: &str) -> Option<String> {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    while !is_whole(&request) {
        match reader.read(&mut part).ok()? {
            0 => break,
            count => request.extend_from_slice(&part[..count]),
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let body = if request.starts_with("GET / ") { page } else { "" };
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\nContent-Length:";
    write!(reader, "{head} {}\r\n\r\n{body}", body.len()).ok()?;
    request
        .starts_with("POST /result")
        .then(|| request.split_once("\r\n\r\n").map(|(_, body)| body.into()))?
}

/// Whether a request has come with as much as it says.
fn is_whole(request: &[u8]) -> bool {
    let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    request.len() >= end + 4 + length.unwrap_or(0)
}
