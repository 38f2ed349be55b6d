//! An object store that speaks the S3 API in this process: it checks signatures, keeps a log, and is slow or wrong as it is
//! told to be.
//!
//! What is known of it is known exactly: a programmed service time, faults by request, and which objects it holds. Each
//! connection has a thread. It knows what clients of this workspace send, and nothing more of the API.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use iodyno_s3::request::RequestHead;
use iodyno_s3::sign::{canonical_request, sha256_hex};
use iodyno_s3::{Checksum, Signer, UtcTime};

#[cfg(feature = "tls")]
pub use tls::Certificate;

#[cfg(feature = "tls")]
mod tls;
mod versions;

use versions::Versions;

/// Stack of a connection's thread.
const STACK_BYTES: usize = 128 << 10;

/// The keys that the store knows.
pub const ACCESS_KEY: &str = "TESTKEY";
pub const SECRET_KEY: &str = "a secret that is printed nowhere";

/// What clients of stores read of their environment.
const VARIABLES: [&str; 12] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

/// Takes out of a command's environment what other tests, or who runs them, may have set for clients of stores. Nobody
/// asks the machine that the tests run on for its credentials.
pub fn without_keys(command: &mut Command) -> &mut Command {
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.env("AWS_EC2_METADATA_DISABLED", "true")
}

/// The same, with the keys of an [`ObjectStore`].
pub fn with_keys(command: &mut Command) -> &mut Command {
    without_keys(command).env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
}
/// A session token that has expired.
pub const EXPIRED_TOKEN: &str = "EXPIRED";

/// What goes wrong with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreFault {
    #[default]
    None,
    /// It is answered so, and not carried out.
    Status(u16, &'static str),
    /// The connection is reset in the middle of the answer's body.
    ResetInBody,
    /// The connection is closed before anything is answered.
    Cut,
    /// No answer comes.
    Silent,
    /// The first byte comes so much later.
    SlowFirstByte(Duration),
    /// One byte of the body is another.
    WrongByte,
    /// The body is so many bytes long, and says so.
    Length(usize),
    /// The range that was asked for is not looked at.
    WholeInstead,
    /// It is answered as done, and is not done.
    Lost,
    /// What is written goes to another key.
    Elsewhere(&'static str),
    /// The first half is written, the rest stays as it was.
    Torn,
    /// The body comes in chunks.
    Chunked,
    /// The connection is closed behind the answer, without a word of it before.
    CloseAfter,
    /// What comes is no HTTP.
    Garbled(&'static [u8]),
    /// The answer has these header lines too.
    Headers(&'static str),
}

/// A request as the store saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedRequest {
    /// The connection's number, from 0.
    pub connection: u32,
    pub method: String,
    /// Behind the bucket's name.
    pub key: String,
    pub query: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
    pub body_bytes: u64,
    /// What it was answered; 0: nothing.
    pub status: u16,
    /// When it was there with its head, ns since the store began.
    pub arrival_ns: u64,
    /// When its answer was handed to the system, or else when it was known that none would be.
    pub end_ns: u64,
}

impl LoggedRequest {
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.arrival_ns)
    }
}

type Program = Box<dyn Fn(&LoggedRequest) -> StoreFault + Send + Sync>;

/// How a store behaves.
pub struct StoreOptions {
    pub bucket: String,
    pub region: String,
    /// Between a request and its answer.
    pub service: Duration,
    /// The bucket is to be made first.
    pub lacks_bucket: bool,
    /// Requests need no signature.
    pub is_public: bool,
    /// How far its clock is ahead, s.
    pub ahead_s: i64,
    /// It speaks TLS with this certificate.
    #[cfg(feature = "tls")]
    pub tls: Option<Certificate>,
    /// Every request is kept. A store that serves for long has no room for that.
    pub keeps_log: bool,
    /// What goes wrong, by request.
    pub program: Program,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            bucket: "bucket".into(),
            region: "us-east-1".into(),
            service: Duration::ZERO,
            lacks_bucket: false,
            is_public: false,
            ahead_s: 0,
            #[cfg(feature = "tls")]
            tls: None,
            keeps_log: true,
            program: Box::new(|_| StoreFault::None),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct StoredObject {
    bytes: Vec<u8>,
    etag: String,
    checksums: Vec<(String, String)>,
    /// What was there before.
    before: Option<Vec<u8>>,
    /// Lengths of the parts that it was written in, bytes.
    parts: Vec<usize>,
}

struct Upload {
    key: String,
    parts: BTreeMap<u32, (String, Vec<u8>)>,
}

#[derive(Default)]
struct Contents {
    objects: BTreeMap<String, StoredObject>,
    uploads: HashMap<String, Upload>,
    versions: Versions,
    log: Vec<LoggedRequest>,
}

struct StoreState {
    options: StoreOptions,
    contents: Mutex<Contents>,
    stops: AtomicBool,
    has_bucket: AtomicBool,
    connections: AtomicU32,
    open: AtomicU32,
    peak: AtomicU32,
    in_service: AtomicU32,
    deepest: AtomicU32,
    uploads: AtomicU64,
    began: Instant,
}

impl StoreState {
    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }
}

/// A store that runs until it is dropped.
pub struct ObjectStore {
    shared: Arc<StoreState>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl ObjectStore {
    /// Starts one on a free port of this machine.
    pub fn start(options: StoreOptions) -> ObjectStore {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound port has an address");
        let shared = Arc::new(StoreState {
            has_bucket: AtomicBool::new(!options.lacks_bucket),
            options,
            contents: Mutex::default(),
            stops: AtomicBool::new(false),
            connections: AtomicU32::new(0),
            open: AtomicU32::new(0),
            peak: AtomicU32::new(0),
            in_service: AtomicU32::new(0),
            deepest: AtomicU32::new(0),
            uploads: AtomicU64::new(0),
            began: Instant::now(),
        });
        let theirs = Arc::clone(&shared);
        let acceptor = Builder::new().spawn(move || accept(&listener, &theirs)).expect("a thread");
        ObjectStore { shared, address, acceptor: Some(acceptor) }
    }

    /// `http://127.0.0.1:PORT`, or `https://…`.
    pub fn endpoint(&self) -> String {
        #[cfg(feature = "tls")]
        if self.shared.options.tls.is_some() {
            return format!("https://{}", self.address);
        }
        format!("http://{}", self.address)
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.shared.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every request so far.
    pub fn log(&self) -> Vec<LoggedRequest> {
        self.contents().log.clone()
    }

    /// Every request since it was last taken.
    pub fn take_log(&self) -> Vec<LoggedRequest> {
        std::mem::take(&mut self.contents().log)
    }

    /// How many requests of a method came.
    pub fn count(&self, method: &str) -> usize {
        self.contents().log.iter().filter(|request| request.method == method).count()
    }

    pub fn keys(&self) -> Vec<String> {
        self.contents().objects.keys().cloned().collect()
    }

    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        self.contents().objects.get(key).map(|object| object.bytes.clone())
    }

    /// Puts an object there, past the protocol.
    pub fn put(&self, key: &str, bytes: Vec<u8>) {
        let object = StoredObject { etag: etag(&bytes), bytes, ..StoredObject::default() };
        self.contents().objects.insert(key.into(), object);
    }

    /// Takes an object away, past the protocol.
    pub fn remove(&self, key: &str) {
        self.contents().objects.remove(key);
    }

    /// Whether there is the bucket.
    pub fn has_bucket(&self) -> bool {
        self.shared.has_bucket.load(SeqCst)
    }

    /// Versions that are kept, and those of them that are retained.
    pub fn versions(&self) -> (usize, usize) {
        let contents = self.contents();
        (contents.versions.count(), contents.versions.retained())
    }

    /// Uploads that were begun and neither completed nor given up.
    pub fn open_uploads(&self) -> usize {
        self.contents().uploads.len()
    }

    /// Connections that came, and how many were open together at most.
    pub fn connections(&self) -> (u32, u32) {
        (self.shared.connections.load(SeqCst), self.shared.peak.load(SeqCst))
    }

    /// Requests that were in service together at most.
    pub fn deepest(&self) -> u32 {
        self.shared.deepest.load(SeqCst)
    }
}

impl Drop for ObjectStore {
    fn drop(&mut self) {
        self.shared.stops.store(true, SeqCst);
        // Wakes the acceptor; the connections' threads end with their clients.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<StoreState>) {
    for stream in listener.incoming() {
        if shared.stops.load(SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let number = shared.connections.fetch_add(1, SeqCst);
        let theirs = Arc::clone(shared);
        let serve = move || {
            let open = theirs.open.fetch_add(1, SeqCst) + 1;
            theirs.peak.fetch_max(open, SeqCst);
            let _ = wired(stream, &theirs).and_then(|wire| serve(wire, number, &theirs));
            theirs.open.fetch_sub(1, SeqCst);
        };
        let _ = Builder::new().stack_size(STACK_BYTES).spawn(serve);
    }
}

/// An answer before it is sent.
struct Answer {
    status: u16,
    headers: String,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status, headers: String::new(), body: body.into() }
    }

    fn error(status: u16, code: &str, more: &str) -> Answer {
        let text = format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>so it is</Message>{more}</Error>"
        );
        Answer::new(status, text)
    }
}

/// What a connection's bytes go through.
trait Wire: Read + Write {
    fn tcp(&self) -> &TcpStream;
}

impl Wire for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

fn wired(stream: TcpStream, shared: &StoreState) -> std::io::Result<Box<dyn Wire>> {
    stream.set_nodelay(true)?;
    #[cfg(feature = "tls")]
    if let Some(certificate) = &shared.options.tls {
        return certificate.on(stream);
    }
    let _ = shared;
    Ok(Box::new(stream))
}

fn serve(wire: Box<dyn Wire>, number: u32, shared: &StoreState) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(16 << 10, wire);
    loop {
        let Some((mut request, raw)) = read_request(&mut reader, &shared.options.bucket)? else {
            return Ok(());
        };
        request.arrival_ns = shared.now_ns();
        let mut body = vec![0; request.body_bytes as usize];
        reader.read_exact(&mut body)?;
        request.connection = number;
        let fault = (shared.options.program)(&request);
        let deep = shared.in_service.fetch_add(1, SeqCst) + 1;
        shared.deepest.fetch_max(deep, SeqCst);
        let slow = if let StoreFault::SlowFirstByte(more) = &fault { *more } else { Duration::ZERO };
        let due_ns = request.arrival_ns + (shared.options.service + slow).as_nanos() as u64;
        let answer = match &fault {
            StoreFault::Status(status, code) => Answer::error(*status, code, ""),
            _ => match verify(&request, &raw, &body, shared) {
                Some(refusal) => refusal,
                None => act(&request, body, &fault, shared),
            },
        };
        // What the store does itself is part of the programmed time.
        std::thread::sleep(Duration::from_nanos(due_ns.saturating_sub(shared.now_ns())));
        shared.in_service.fetch_sub(1, SeqCst);
        request.status = if matches!(fault, StoreFault::Cut | StoreFault::Silent | StoreFault::Garbled(_)) {
            0
        } else {
            answer.status
        };
        let bytes = as_sent(answer, &fault, request.method == "HEAD", shared);
        // Logged before it is sent: who has the answer finds its request in the log.
        request.end_ns = shared.now_ns();
        if shared.options.keeps_log {
            shared.contents.lock().unwrap_or_else(PoisonError::into_inner).log.push(request);
        }
        match fault {
            StoreFault::Cut => return Ok(()),
            StoreFault::Silent => {
                // Until the client goes.
                let _ = reader.read(&mut [0]);
                return Ok(());
            }
            StoreFault::Garbled(bytes) => return write(&mut reader, bytes),
            _ => write(&mut reader, &bytes)?,
        }
        if matches!(fault, StoreFault::ResetInBody | StoreFault::CloseAfter) {
            let _ = reader.get_ref().tcp().shutdown(Shutdown::Both);
            return Ok(());
        }
    }
}

fn write(reader: &mut BufReader<Box<dyn Wire>>, bytes: &[u8]) -> std::io::Result<()> {
    reader.get_mut().write_all(bytes)?;
    reader.get_mut().flush()
}

/// An answer's bytes, as the fault has them.
fn as_sent(answer: Answer, fault: &StoreFault, is_head: bool, shared: &StoreState) -> Vec<u8> {
    let mut answer = answer;
    match fault {
        StoreFault::WrongByte if !answer.body.is_empty() => {
            let middle = answer.body.len() / 2;
            answer.body[middle] ^= 1;
        }
        StoreFault::Length(bytes) => answer.body.resize(*bytes, b'x'),
        _ => {}
    }
    let now = unix_s(shared);
    let date = http_date(now);
    let length = match fault {
        StoreFault::Chunked => "Transfer-Encoding: chunked".to_string(),
        _ => format!("Content-Length: {}", answer.body.len()),
    };
    let more = if let StoreFault::Headers(lines) = fault { *lines } else { "" };
    let head =
        format!("HTTP/1.1 {} X\r\nDate: {date}\r\n{length}\r\n{}{more}\r\n", answer.status, answer.headers);
    let mut bytes = head.into_bytes();
    match fault {
        _ if is_head => {}
        StoreFault::ResetInBody => bytes.extend_from_slice(&answer.body[..answer.body.len() / 2]),
        StoreFault::Chunked => {
            for part in answer.body.chunks(1000) {
                bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                bytes.extend_from_slice(part);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
        _ => bytes.extend_from_slice(&answer.body),
    }
    bytes
}

fn unix_s(shared: &StoreState) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    now.saturating_add_signed(shared.options.ahead_s)
}

/// A time as HTTP writes it; the day's name is not looked at.
fn http_date(unix: u64) -> String {
    let text = UtcTime { unix }.to_string();
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months[text[4..6].parse::<usize>().unwrap_or(1) - 1];
    format!(
        "Thu, {} {month} {} {}:{}:{} GMT",
        &text[6..8],
        &text[..4],
        &text[9..11],
        &text[11..13],
        &text[13..15]
    )
}

/// A request's head, and its target as it was written; none: the client went.
fn read_request(
    reader: &mut BufReader<Box<dyn Wire>>,
    bucket: &str,
) -> std::io::Result<Option<(LoggedRequest, String)>> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
        // What is no text is no HTTP.
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            write(reader, b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or("").to_string(), words.next().unwrap_or("").to_string());
    let mut request = LoggedRequest { method, ..LoggedRequest::default() };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            request.headers.insert(name.trim().to_ascii_lowercase(), value.trim().to_string());
        }
    }
    request.body_bytes =
        request.headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let path = decoded(path);
    let path = path.trim_start_matches('/');
    let virtual_host =
        request.headers.get("host").is_some_and(|host| host.starts_with(&format!("{bucket}.")));
    request.key = match path.strip_prefix(bucket) {
        Some(rest) if !virtual_host && (rest.is_empty() || rest.starts_with('/')) => {
            rest.trim_start_matches('/').into()
        }
        _ if virtual_host => path.into(),
        // A bucket that is not there.
        _ => format!("\0{path}"),
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        request.query.insert(decoded(name), decoded(value));
    }
    Ok(Some((request, target)))
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        let digits = (byte == b'%').then(|| [rest.next(), rest.next()]);
        let value = digits.and_then(|digits| {
            let text: String = digits.into_iter().flatten().map(char::from).collect();
            u8::from_str_radix(&text, 16).ok()
        });
        bytes.push(value.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether who asks may: the answer if not.
fn verify(request: &LoggedRequest, target: &str, body: &[u8], shared: &StoreState) -> Option<Answer> {
    let header = |name: &str| request.headers.get(name).map(String::as_str);
    let Some(authorization) = header("authorization") else {
        return (!shared.options.is_public).then(|| Answer::error(403, "AccessDenied", ""));
    };
    let field = |name: &str| {
        let rest = authorization.split(name).nth(1)?;
        Some(rest.split([',', ' ']).next().unwrap_or(rest).to_string())
    };
    let (Some(scope), Some(names), Some(signature)) =
        (field("Credential="), field("SignedHeaders="), field("Signature="))
    else {
        return Some(Answer::error(400, "AuthorizationHeaderMalformed", ""));
    };
    let parts: Vec<_> = scope.split('/').collect();
    let [key, day, region, "s3", "aws4_request"] = parts[..] else {
        return Some(Answer::error(400, "AuthorizationHeaderMalformed", ""));
    };
    if region != shared.options.region {
        let more = format!("<Region>{}</Region>", shared.options.region);
        return Some(Answer::error(400, "AuthorizationHeaderMalformed", &more));
    }
    if key != ACCESS_KEY {
        return Some(Answer::error(403, "InvalidAccessKeyId", ""));
    }
    if header("x-amz-security-token") == Some(EXPIRED_TOKEN) {
        return Some(Answer::error(400, "ExpiredToken", ""));
    }
    let date = header("x-amz-date").unwrap_or_default();
    let Some(time) = amz_time(date).filter(|_| date.starts_with(day)) else {
        return Some(Answer::error(403, "AccessDenied", ""));
    };
    if time.unix.abs_diff(unix_s(shared)) > 15 * 60 {
        return Some(Answer::error(403, "RequestTimeTooSkewed", ""));
    }
    let hash = header("x-amz-content-sha256").unwrap_or_default();
    if hash != "UNSIGNED-PAYLOAD" && hash != sha256_hex(body) {
        return Some(Answer::error(400, "XAmzContentSHA256Mismatch", ""));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    // The request is taken as it was written: a client that encodes or sorts wrongly signs something else.
    let said = RequestHead {
        payload_hash: hash.to_string().into(),
        ..RequestHead::new(method_of(request), path.into())
    };
    let headers: Vec<(&str, &str)> =
        names.split(';').map(|name| (name, header(name).unwrap_or_default())).collect();
    let mut canonical = String::new();
    canonical_request(&said, &headers, &mut canonical);
    let canonical = canonical.replacen("\n\n", &format!("\n{query}\n"), 1);
    let mut signer = Signer::new(region.into());
    signer.credentials.secret.set(SECRET_KEY).expect("a short key");
    if signer.signature(&canonical, time) != signature {
        return Some(Answer::error(403, "SignatureDoesNotMatch", ""));
    }
    None
}

fn method_of(request: &LoggedRequest) -> &'static str {
    ["GET", "PUT", "HEAD", "DELETE", "POST"]
        .into_iter()
        .find(|method| *method == request.method)
        .unwrap_or("GET")
}

/// `20130524T000000Z`.
fn amz_time(text: &str) -> Option<UtcTime> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.get(day.get(4..6)?.parse::<usize>().ok()?.checked_sub(1)?)?;
    let clock = format!("{}:{}:{}", time.get(..2)?, time.get(2..4)?, time.get(4..6)?);
    UtcTime::parse_http(&format!("X, {} {month} {} {clock} GMT", day.get(6..8)?, day.get(..4)?))
}

/// Of a long body, its ends stand for it: hashing all of it would take longer than serving it.
fn etag(bytes: &[u8]) -> String {
    const ENDS: usize = 64 << 10;
    let hash = match bytes.len() > 2 * ENDS {
        true => {
            sha256_hex(&[&bytes[..ENDS], &bytes[bytes.len() - ENDS..], &bytes.len().to_le_bytes()].concat())
        }
        false => sha256_hex(bytes),
    };
    format!("\"{}\"", &hash[..32])
}

/// Does what a request asks for.
fn act(request: &LoggedRequest, body: Vec<u8>, fault: &StoreFault, shared: &StoreState) -> Answer {
    if request.key.is_empty() && request.method == "PUT" && request.query.is_empty() {
        if request.headers.contains_key("x-amz-bucket-object-lock-enabled") {
            let mut contents = shared.contents.lock().unwrap_or_else(PoisonError::into_inner);
            (contents.versions.is_on, contents.versions.locks) = (true, true);
        }
        let is_new = !shared.has_bucket.swap(true, SeqCst);
        return if is_new { Answer::new(200, "") } else { Answer::error(409, "BucketAlreadyOwnedByYou", "") };
    }
    if request.key.starts_with('\0') || !shared.has_bucket.load(SeqCst) {
        return Answer::error(404, "NoSuchBucket", "");
    }
    for checksum in Checksum::ALL {
        if request.headers.get(checksum.header()).is_some_and(|said| *said != checksum.of(&body)) {
            return Answer::error(400, "BadDigest", "");
        }
    }
    let mut contents = shared.contents.lock().unwrap_or_else(PoisonError::into_inner);
    let asks = |name: &str| request.query.get(name);
    if let Some(answer) = contents.versions.answer(request) {
        if !contents.versions.has(&request.key) && request.method == "DELETE" {
            contents.objects.remove(&request.key);
        }
        return answer;
    }
    match (request.method.as_str(), request.key.as_str()) {
        ("GET", "") if asks("uploads").is_some() => list_uploads(&contents),
        ("GET", "") => list(request, &contents),
        ("POST", "") => delete_many(request, &body, &mut contents),
        ("POST", key) if asks("uploads").is_some() => {
            let id = format!("upload-{}", shared.uploads.fetch_add(1, SeqCst));
            contents.uploads.insert(id.clone(), Upload { key: key.into(), parts: BTreeMap::new() });
            Answer::new(
                200,
                format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                ),
            )
        }
        ("POST", _) => complete(request, &body, &mut contents),
        ("PUT", _) if asks("partNumber").is_some() => put_part(request, body, &mut contents),
        ("PUT", key) => put(request, key, body, fault, &mut contents),
        ("DELETE", _) if asks("uploadId").is_some() => {
            let known = contents.uploads.remove(&request.query["uploadId"]).is_some();
            if known { Answer::new(204, "") } else { Answer::error(404, "NoSuchUpload", "") }
        }
        ("DELETE", "") if !contents.objects.is_empty() => Answer::error(409, "BucketNotEmpty", ""),
        ("DELETE", "") => {
            shared.has_bucket.store(false, SeqCst);
            Answer::new(204, "")
        }
        ("DELETE", key) => {
            if *fault != StoreFault::Lost {
                contents.objects.remove(key);
            }
            Answer::new(204, "")
        }
        ("GET" | "HEAD", key) => get(request, key, fault, &contents),
        _ => Answer::error(405, "MethodNotAllowed", ""),
    }
}

fn put(
    request: &LoggedRequest,
    key: &str,
    body: Vec<u8>,
    fault: &StoreFault,
    contents: &mut Contents,
) -> Answer {
    let source = request.headers.get("x-amz-copy-source").map(|source| decoded(source));
    let copied = source.as_ref().map(|source| {
        let from = source.trim_start_matches('/').split_once('/').map_or("", |(_, key)| key);
        contents.objects.get(from).map(|object| object.bytes.clone())
    });
    let bytes = match copied {
        Some(None) => return Answer::error(404, "NoSuchKey", ""),
        Some(Some(bytes)) => bytes,
        None => body,
    };
    let tag = etag(&bytes);
    let before = contents.objects.get(key).map(|object| object.bytes.clone());
    let checksums = request.headers.iter().filter(|(name, _)| name.starts_with("x-amz-checksum-"));
    let checksums = checksums.map(|(name, value)| (name.clone(), value.clone())).collect();
    let bytes = match (fault, &before) {
        (StoreFault::Torn, Some(old)) if old.len() == bytes.len() => {
            [&bytes[..bytes.len() / 2], &old[bytes.len() / 2..]].concat()
        }
        _ => bytes,
    };
    let object = StoredObject { bytes, etag: tag.clone(), checksums, before, parts: Vec::new() };
    contents.versions.add(key, &object);
    match fault {
        StoreFault::Lost => {}
        StoreFault::Elsewhere(other) => drop(contents.objects.insert((*other).into(), object)),
        _ => drop(contents.objects.insert(key.into(), object)),
    }
    let text = if source.is_some() {
        format!("<CopyObjectResult><ETag>{tag}</ETag></CopyObjectResult>")
    } else {
        String::new()
    };
    Answer { headers: format!("ETag: {tag}\r\n"), ..Answer::new(200, text) }
}

fn put_part(request: &LoggedRequest, body: Vec<u8>, contents: &mut Contents) -> Answer {
    let number = request.query["partNumber"].parse().unwrap_or(0);
    let id = request.query.get("uploadId").cloned().unwrap_or_default();
    let Some(upload) = contents.uploads.get_mut(&id).filter(|upload| upload.key == request.key) else {
        return Answer::error(404, "NoSuchUpload", "");
    };
    let tag = etag(&body);
    upload.parts.insert(number, (tag.clone(), body));
    Answer { headers: format!("ETag: {tag}\r\n"), ..Answer::new(200, "") }
}

fn complete(request: &LoggedRequest, body: &[u8], contents: &mut Contents) -> Answer {
    let id = request.query.get("uploadId").cloned().unwrap_or_default();
    let Some(upload) = contents.uploads.remove(&id).filter(|upload| upload.key == request.key) else {
        return Answer::error(404, "NoSuchUpload", "");
    };
    let text = String::from_utf8_lossy(body).replace("&quot;", "\"");
    let mut bytes = Vec::new();
    let mut said = text.split("<Part>").skip(1);
    for (number, (tag, part)) in &upload.parts {
        let this = said.next().unwrap_or_default();
        if !this.contains(&format!("<ETag>{tag}</ETag>"))
            || !this.contains(&format!("<PartNumber>{number}</PartNumber>"))
        {
            return Answer::error(400, "InvalidPart", "");
        }
        bytes.extend_from_slice(part);
    }
    if said.next().is_some() {
        return Answer::error(400, "InvalidPart", "");
    }
    let tag = etag(&bytes);
    let parts = upload.parts.values().map(|(_, part)| part.len()).collect();
    let object = StoredObject { bytes, etag: tag.clone(), parts, ..StoredObject::default() };
    contents.objects.insert(upload.key, object);
    Answer::new(
        200,
        format!("<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>"),
    )
}

fn get(request: &LoggedRequest, key: &str, fault: &StoreFault, contents: &Contents) -> Answer {
    let version = request.query.get("versionId").map(|id| contents.versions.find(key, id));
    let Some(object) = version.unwrap_or_else(|| contents.objects.get(key)) else {
        return Answer::error(404, "NoSuchKey", "");
    };
    let bytes = match fault {
        // What was there before the last write.
        StoreFault::Lost => object.before.as_ref().unwrap_or(&object.bytes),
        StoreFault::Elsewhere(other) => {
            contents.objects.get(*other).map_or(&object.bytes, |other| &other.bytes)
        }
        _ => &object.bytes,
    };
    // Clients of others want a time; nobody looks at which.
    let mut headers = format!("ETag: {}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n", object.etag);
    let range = request.headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let range =
        range.and_then(|(first, last)| Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?)));
    let part =
        request.query.get("partNumber").and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
    let part = part.and_then(|index| {
        let first = object.parts.get(..index)?.iter().sum::<usize>();
        Some((first, first + object.parts.get(index)? - 1))
    });
    // One whose end lies before its begin is none.
    let range = part.or(range).filter(|(first, last)| first <= last);
    match range.filter(|_| *fault != StoreFault::WholeInstead) {
        Some((first, _)) if first >= bytes.len() => Answer::error(416, "InvalidRange", ""),
        Some((first, last)) => {
            Answer { headers, ..Answer::new(206, &bytes[first..bytes.len().min(last + 1)]) }
        }
        None => {
            for (name, value) in &object.checksums {
                headers.push_str(&format!("{name}: {value}\r\n"));
            }
            Answer { headers, ..Answer::new(200, bytes.as_slice()) }
        }
    }
}

fn list(request: &LoggedRequest, contents: &Contents) -> Answer {
    let text = |name: &str| request.query.get(name).cloned().unwrap_or_default();
    let (prefix, after) = (text("prefix"), text("continuation-token"));
    let most: usize = text("max-keys").parse().unwrap_or(1000);
    if let Some(delimiter) = request.query.get("delimiter") {
        return list_prefixes(contents, &prefix, delimiter);
    }
    let all = contents.objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > after);
    let all: Vec<_> = all.take(most + 1).collect();
    let mut body = format!("<ListBucketResult><IsTruncated>{}</IsTruncated>", all.len() > most && most > 0);
    for (key, object) in all.iter().take(most) {
        body.push_str(&format!("<Contents><Key>{key}</Key><Size>{}</Size></Contents>", object.bytes.len()));
    }
    if let (true, Some((last, _))) = (all.len() > most, all.get(most.wrapping_sub(1))) {
        body.push_str(&format!("<NextContinuationToken>{last}</NextContinuationToken>"));
    }
    Answer::new(200, body + "</ListBucketResult>")
}

/// What comes before a delimiter behind the prefix, once each; on one page.
fn list_prefixes(contents: &Contents, prefix: &str, delimiter: &str) -> Answer {
    let below = contents.objects.keys().filter_map(|key| key.strip_prefix(prefix)?.split_once(delimiter));
    let names: BTreeSet<&str> = below.map(|(name, _)| name).collect();
    let one =
        |name: &&str| format!("<CommonPrefixes><Prefix>{prefix}{name}{delimiter}</Prefix></CommonPrefixes>");
    let all: String = names.iter().map(one).collect();
    Answer::new(200, format!("<ListBucketResult><IsTruncated>false</IsTruncated>{all}</ListBucketResult>"))
}

fn list_uploads(contents: &Contents) -> Answer {
    let one = |(id, upload): (&String, &Upload)| {
        format!("<Upload><Key>{}</Key><UploadId>{id}</UploadId></Upload>", upload.key)
    };
    let all: String = contents.uploads.iter().map(one).collect();
    Answer::new(200, format!("<ListMultipartUploadsResult>{all}</ListMultipartUploadsResult>"))
}

fn delete_many(request: &LoggedRequest, body: &[u8], contents: &mut Contents) -> Answer {
    for part in String::from_utf8_lossy(body).split("<Key>").skip(1) {
        let key = part.split("</Key>").next().unwrap_or_default();
        if let Some((_, rest)) = part.split_once("<VersionId>") {
            let id = rest.split("</VersionId>").next().unwrap_or_default();
            contents.versions.remove(request, key, id);
        }
        if !contents.versions.has(key) {
            contents.objects.remove(key);
        }
    }
    Answer::new(200, "<DeleteResult></DeleteResult>")
}
