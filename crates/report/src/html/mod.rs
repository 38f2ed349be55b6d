//! The report that people look at: one HTML file, which needs no network.
//!
//! Rust says what is in it (as JSON), the page's own script draws it with Apache ECharts. The script of ECharts lies
//! beside the sources (`assets`) and in the file compressed. Whatever a user could have named reaches the
//! page as text in JSON, is put there as text, and so stays text; besides, the page's own policy forbids every connection
//! to anywhere.
//!
//! It refuses to load anything, to store anything, and to tell anybody.

mod curves;
mod disclosure;
mod experiment;
mod growing;
mod job;
mod repetitions;
mod run;
mod short;
mod time;
mod trace;
mod watch;

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use iodyno_model::Event;
use serde::Serialize;

pub use growing::Growing;
pub use run::Run;
pub use trace::TracePage;

use crate::shape::Context;
use crate::{Output, Reporter};

/// Our own script, in the order in which its parts need each other.
const SCRIPT: &[&str] = &[
    include_str!("page/words.js"),
    include_str!("page/parts.js"),
    include_str!("page/charts.js"),
    include_str!("page/time.js"),
    include_str!("page/latency.js"),
    include_str!("page/surface.js"),
    include_str!("page/sweep.js"),
    include_str!("page/repetitions.js"),
    include_str!("page/cards.js"),
    include_str!("page/compare.js"),
    include_str!("page/frame.js"),
    include_str!("page/main.js"),
];
const STYLE: &str = include_str!("page/page.css");
const FRAME: &str = include_str!("page/page.html");
/// ECharts, compressed with gzip.
const LIBRARY: &[u8] = include_bytes!("../../assets/echarts-5.5.1.min.js.gz");
pub const LIBRARY_VERSION: &str = "5.5.1";

/// Everything a page is told.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// iodyno's version.
    pub version: &'static str,
    /// The chart library's version.
    pub library: &'static str,
    /// Whether the run still goes on, and the page asks for more.
    pub live: bool,
    /// The runs, the first of which the others are compared with.
    pub runs: Vec<Run>,
}

impl Page {
    /// A page about finished runs.
    pub fn of(runs: Vec<Run>) -> Self {
        Page { version: env!("CARGO_PKG_VERSION"), library: LIBRARY_VERSION, live: false, runs }
    }

    /// What the page is told, as JSON that may stand in a script element: nothing in it can end that element.
    pub fn data(&self) -> String {
        safe_json(self)
    }

    /// The whole file.
    pub fn html(&self) -> String {
        let title = self.runs.iter().map(|run| run.title.as_str()).collect::<Vec<_>>().join(", ");
        page(&title, self.data(), SCRIPT)
    }
}

/// JSON in which nothing can end a script element.
fn safe_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
    // The only place where these can stand in JSON is inside strings.
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
}

/// A whole file: the frame with a title, data and the scripts that draw it.
fn page(title: &str, data: String, script: &[&str]) -> String {
    let parts = [
        ("{{title}}", escaped(title)),
        ("{{style}}", STYLE.to_string()),
        ("{{library}}", BASE64_STANDARD.encode(LIBRARY)),
        ("{{data}}", data),
        ("{{script}}", script.concat()),
    ];
    assembled(FRAME, &parts)
}

/// The frame with each place filled once; what is filled in is not looked at again.
fn assembled(frame: &str, parts: &[(&str, String)]) -> String {
    let mut html =
        String::with_capacity(frame.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = frame;
    for (place, text) in parts {
        let Some((before, after)) = rest.split_once(place) else { continue };
        html.push_str(before);
        html.push_str(text);
        rest = after;
    }
    html + rest
}

/// Text where HTML stands.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Writes the report once the run has ended.
#[derive(Default)]
pub struct Html {
    context: Context,
}

impl Html {
    /// An HTML reporter.
    pub fn new() -> Self {
        Html::default()
    }
}

impl Reporter for Html {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Ended(record) => {
                let page = Page::of(vec![Run::of(&self.context, record)]);
                output.out.write_all(page.html().as_bytes())
            }
            _ => Ok(()),
        }
    }
}
