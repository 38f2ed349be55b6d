//! A browser without a screen: shows a page, and tells what became of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names that it goes by.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// Counts what was painted on each canvas, after everything was drawn; put into the page by the test alone.
const COUNT: &str = r#"<script>
addEventListener("error", (event) => console.error("uncaught: " + event.message));
addEventListener("unhandledrejection", (event) => console.error("unhandled: " + event.reason));
setTimeout(() => {
  const result = [...document.querySelectorAll(".chart")].map((chart) => {
    const canvas = chart.querySelector("canvas");
    if (!canvas) return 0;
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const hues = new Set();
    for (let at = 0; at < pixels.length; at += 4) if (pixels[at + 3] > 0) hues.add(pixels[at] + "," + pixels[at + 1] + "," + pixels[at + 2]);
    return hues.size;
  });
  document.body.dataset.hues = result.join(" ");
  document.body.dataset.wide = String(document.documentElement.scrollWidth - document.documentElement.clientWidth);
  document.body.dataset.alien = String(document.querySelectorAll("img, iframe, object, embed, link[href^=http]").length);
}, 4000);
</script>"#;

/// The browser, if there is one.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// What a browser made of a page.
#[derive(Debug)]
pub struct Shown {
    /// The document in the end.
    pub document: String,
    /// What its console said.
    pub console: Vec<String>,
}

impl Shown {
    /// What was noted about the whole page under that name.
    pub fn noted(&self, name: &str) -> &str {
        let (_, rest) = self.document.split_once(&format!("data-{name}=\"")).unwrap_or(("", ""));
        rest.split('"').next().unwrap_or("")
    }

    /// How many hues each chart has.
    pub fn hues(&self) -> Vec<u32> {
        self.noted("hues").split_whitespace().filter_map(|count| count.parse().ok()).collect()
    }
}

/// Shows a page and waits until it is drawn.
pub fn show(browser: &Path, folder: &Path, name: &str, html: &str, width: u32) -> Result<Shown, String> {
    let page = folder.join(format!("{name}-test.html"));
    // At its end: the count must not stand before the page's own data.
    std::fs::write(&page, format!("{html}{COUNT}")).map_err(|error| error.to_string())?;
    let size = format!("{width},9000");
    let output = run(
        browser,
        folder,
        &["--virtual-time-budget=9000", &format!("--window-size={size}"), "--dump-dom", &url(&page)],
    )?;
    let console = String::from_utf8_lossy(&output.stderr);
    let console = console.lines().filter(|line| line.contains("CONSOLE")).map(Into::into).collect();
    Ok(Shown { document: String::from_utf8_lossy(&output.stdout).into_owned(), console })
}

fn run(browser: &Path, folder: &Path, arguments: &[&str]) -> Result<std::process::Output, String> {
    let profile = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    let quiet =
        ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"];
    Command::new(browser)
        .args(quiet)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())
}

fn url(page: &Path) -> String {
    format!("file://{}", page.display())
}
