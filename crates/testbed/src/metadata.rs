//! A stand-in for the services that give temporary credentials to an instance (IMDSv2) or a container.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use iodyno_s3::UtcTime;

use crate::store::{ACCESS_KEY, SECRET_KEY};

/// What an instance's session begins with.
const SESSION: &str = "a-session-of-the-service";
/// What a container must say.
pub const CONTAINER_TOKEN: &str = "a-container's-word";

/// A service that runs until it is dropped. Its n-th credentials have the token `TOKEN-n`; the first ones live for two
/// seconds, the others for an hour.
pub struct MetadataService {
    address: SocketAddr,
    state: Arc<ServiceState>,
    server: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ServiceState {
    stops: AtomicBool,
    /// `METHOD PATH` of each.
    log: Mutex<Vec<String>>,
}

impl MetadataService {
    pub fn start() -> MetadataService {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound port has an address");
        let state = Arc::new(ServiceState::default());
        let theirs = Arc::clone(&state);
        let server = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if theirs.stops.load(SeqCst) {
                    return;
                }
                let _ = stream.and_then(|stream| answer(stream, &theirs));
            }
        });
        MetadataService { address, state, server: Some(server) }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn log(&self) -> Vec<String> {
        self.state.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for MetadataService {
    fn drop(&mut self) {
        self.state.stops.store(true, SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

fn answer(stream: TcpStream, state: &ServiceState) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut headers) = (String::new(), String::new());
    reader.read_line(&mut first)?;
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        if reader.read_line(&mut headers)? == 0 {
            break;
        }
    }
    let asked = first.trim_end().trim_end_matches(" HTTP/1.1").to_string();
    let has =
        |header: String| headers.to_ascii_lowercase().contains(&format!("{header}\r\n").to_ascii_lowercase());
    let mut log = state.log.lock().unwrap_or_else(PoisonError::into_inner);
    log.push(asked.clone());
    let roles = "/latest/meta-data/iam/security-credentials/";
    let is_known = has(format!("x-aws-ec2-metadata-token: {SESSION}"));
    let (status, body) = match asked.split_once(' ') {
        Some(("PUT", "/latest/api/token")) if has("x-aws-ec2-metadata-token-ttl-seconds: 21600".into()) => {
            (200, SESSION.to_string())
        }
        Some(("GET", path)) if path.starts_with(roles) && !is_known => (401, String::new()),
        Some(("GET", path)) if path == roles => (200, "tester\n".into()),
        Some(("GET", path)) if path == format!("{roles}tester") => (200, credentials(&log)),
        Some(("GET", "/container")) if has(format!("authorization: {CONTAINER_TOKEN}")) => {
            (200, credentials(&log))
        }
        _ => (404, String::new()),
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn credentials(log: &[String]) -> String {
    let given =
        log.iter().filter(|asked| asked.ends_with("/tester") || asked.ends_with("/container")).count();
    let life = if given == 1 { 2 } else { 3600 };
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()) + life;
    let text = UtcTime { unix }.to_string();
    let (day, time) = text.split_at(9);
    let expires = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &day[..4],
        &day[4..6],
        &day[6..8],
        &time[..2],
        &time[2..4],
        &time[4..6]
    );
    format!(
        "{{\"Code\":\"Success\",\"AccessKeyId\":\"{ACCESS_KEY}\",\"SecretAccessKey\":\"{SECRET_KEY}\",\
         \"Token\":\"TOKEN-{given}\",\"Expiration\":\"{expires}\"}}"
    )
}
