//! The studio without a browser: what its page asks of it, who is refused, and how a run and the studio itself end.
//!
//! What the page shows is looked at in a real browser by `cargo xtask against studio`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testbed::{Case, Outcome};

use crate::program::{IODYNO, Running, dressed, iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a run of the studio is stopped by the page", &[], stopped_by_the_page),
        Case::new("an end of the studio ends its run, which is kept", &[], ended_with_the_studio),
    ]
}

/// The studio, as its page speaks with it.
struct Page {
    studio: Running,
    /// `127.0.0.1:PORT`.
    host: String,
    cookie: String,
    token: String,
}

impl Page {
    /// Starts one, and opens the page with the key.
    fn open(command: Command) -> Result<Page, Box<dyn std::error::Error>> {
        let mut studio = Running::start(command);
        studio.says("\n");
        let url = studio.out();
        let address = url.trim().strip_prefix("http://").ok_or("no address")?;
        let (host, path) = address.split_once('/').ok_or("no path")?;
        let (host, path) = (host.to_string(), format!("/{path}"));
        let mut page = Page { studio, host, cookie: String::new(), token: String::new() };
        let opened = page.ask("GET", &path, "", None);
        let cookie = opened.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).ok_or("no cookie")?;
        page.cookie = cookie.split(';').next().unwrap_or_default().to_string();
        page.token = page.get("start")["token"].as_str().ok_or("no token")?.to_string();
        Ok(page)
    }

    /// An answer with its head; `origin`: the page that asks, where it is another one.
    fn ask(&self, method: &str, path: &str, body: &str, origin: Option<&str>) -> String {
        let Page { host, cookie, token, .. } = self;
        let own = format!("http://{host}");
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {}\r\nCookie: {cookie}\r\nX-Iodyno-Token: {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            origin.unwrap_or(&own),
            body.len()
        );
        let mut answer = String::new();
        let mut stream = TcpStream::connect(host).expect("the studio listens");
        stream.write_all(text.as_bytes()).expect("asking");
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn value(answer: &str) -> Value {
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    fn get(&self, what: &str) -> Value {
        Page::value(&self.ask("GET", &format!("/api/{what}"), "", None))
    }

    /// Begins a run of ten minutes in a directory, and waits until something was measured.
    fn begin(&mut self, home: &Path) {
        let mut design = self.get("start")["first"].clone();
        design["targets"] = json!([home]);
        (design["sectors"], design["run_s"], design["ramp_s"]) = (json!(16_384), json!(600), json!(0));
        let asked = json!({ "design": design, "destroy": "" }).to_string();
        let evil = self.ask("POST", "/api/begin", &asked, Some("http://evil.example"));
        assert!(evil.starts_with("HTTP/1.1 403 "), "{evil}");
        let begun = self.ask("POST", "/api/begin", &asked, None);
        assert_eq!(Page::value(&begun)["number"], json!(0), "{begun}");
        let again = self.ask("POST", "/api/begin", &asked, None);
        assert!(again.contains("is still running"), "{again}");
        self.waits("figures", |told| told["latest"]["operations"].as_u64() > Some(0));
    }

    /// Waits until something is true of the run.
    fn waits(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        while !is(&last) {
            assert!(self.studio.is_there(), "the studio ended before {what}");
            assert!(last["ended"] != json!(true), "it ended before {what}: {last}");
            // It answers when something has happened, or within a second.
            last = self.get("running?number=0&from=0");
        }
        last
    }
}

fn command(home: &Path, mut command: Command) -> Command {
    command.env("IODYNO_HISTORY", home.join("runs.sqlite")).env_remove("IODYNO_ALSO").current_dir(home);
    command
}

/// A shell starts what is in the background so that it hears no Ctrl-C, and so do those that this starts.
fn stopped_by_the_page() -> Outcome {
    let home = scratch();
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT; exec \"$0\" studio", IODYNO]);
    let mut page = Page::open(command(home.path(), dressed(shell, [""; 0])))?;
    page.begin(home.path());
    page.ask("POST", "/api/stop", "{\"number\":0}", None);
    let told = page.waits("its end", |told| told["ended"] == json!(true));
    assert_eq!((&told["stopped"], &told["kept"]), (&json!(true), &json!(1)), "{told}");
    let report = told["report"].as_str().ok_or("no report")?;
    let csv = page.ask("GET", &format!("/api/file?report={report}"), "", None);
    assert!(csv.contains("\nPROCESSOR,CPU ") && csv.contains("\nWORKER,Worker 1,"), "{csv}");
    page.studio.signal(libc::SIGTERM);
    assert_eq!(page.studio.end().code(), 0);
    Ok(())
}

/// A terminal's Ctrl-C reaches the studio alone: its runs have groups of their own.
fn ended_with_the_studio() -> Outcome {
    let home = scratch();
    let mut page = Page::open(command(home.path(), iodyno(["studio"])))?;
    page.begin(home.path());
    page.studio.signal_all(libc::SIGINT);
    assert_eq!(page.studio.end().code(), 0);
    let runs = told(command(home.path(), iodyno(["runs"])));
    runs.expect(0, &["studio", "stopped: read"]);
    told(command(home.path(), iodyno(["studio", "--listen", "0.0.0.0:0"])))
        .refused(&["others would reach it"]);
    Ok(())
}
