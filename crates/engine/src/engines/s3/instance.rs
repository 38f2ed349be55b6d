//! Temporary credentials of the machine or the container that this runs on, and their renewal.
//!
//! All workers of a process have the same: they are fetched once, and a thread fetches the next before they expire, so
//! that no request waits for that. Facts: "Use IMDSv2" in the Amazon EC2 user guide, and "Container credential provider"
//! in the AWS SDKs and tools reference guide.

use std::env;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use iodyno_model::origin::plain;
use iodyno_s3::metadata::temporary_credentials;
use iodyno_s3::{Credentials, Endpoint};

use super::blocking::{Lost, StoreAnswer, converse};
use crate::clock;
use crate::failure::Failure;
use crate::secrets::SecretPages;

/// Where an instance asks unless `AWS_EC2_METADATA_SERVICE_ENDPOINT` says otherwise.
const INSTANCE: &str = "http://169.254.169.254";
/// Where a container asks that is told a path alone.
const CONTAINER: &str = "http://169.254.170.2";
/// Hosts without TLS that a container may be told to ask, besides this one.
const CONTAINER_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(2);
/// They are renewed so long before they expire, or after half of what is left of them.
const AHEAD_S: u64 = 300;
/// Between attempts to renew them.
const AGAIN_S: u64 = 5;

/// Who gives the credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialService {
    /// The metadata service of an instance (IMDSv2).
    Instance,
    Container,
}

/// Which of the process's credentials a worker has.
#[derive(Debug, Default)]
pub struct Renewal {
    /// 0: its own, which are not renewed.
    generation: u64,
}

/// The credentials that all workers of the process take.
struct SharedCredentials {
    /// The process that fetched them: a fork has no thread that renews.
    process: u32,
    service: CredentialService,
    credentials: Credentials,
    /// Seconds since 1970; 0: never.
    expires: u64,
}

static SHARED: Mutex<Option<SecretPages<SharedCredentials>>> = Mutex::new(None);
/// Counts what was fetched.
static GENERATION: AtomicU64 = AtomicU64::new(0);

fn shared() -> MutexGuard<'static, Option<SecretPages<SharedCredentials>>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn copy(from: &Credentials, into: &mut Credentials) -> Result<Renewal, Failure> {
    into.renew(&from.access_key, from.secret.text(), from.token.text()).map_err(Failure::new)?;
    Ok(Renewal { generation: GENERATION.load(Relaxed) })
}

fn now_s() -> u64 {
    clock::unix_ns() / 1_000_000_000
}

impl Renewal {
    /// Takes what was fetched since.
    pub fn take_newer(&mut self, into: &mut Credentials) {
        if self.generation == 0 || self.generation == GENERATION.load(Relaxed) {
            return;
        }
        if let Some(held) = shared().as_ref()
            && let Ok(renewal) = copy(&held.credentials, into)
        {
            *self = renewal;
        }
    }
}

/// Takes the service's credentials.
///
/// # Errors
/// The service does not answer, or has none.
pub fn fetch(service: CredentialService, into: &mut Credentials) -> Result<Renewal, Failure> {
    let mut held = shared();
    let process = std::process::id();
    if let Some(known) = held.as_ref()
        && (known.process, known.service) == (process, service)
        && (known.expires == 0 || known.expires > now_s())
    {
        return copy(&known.credentials, into);
    }
    let mut fresh = SecretPages::new(SharedCredentials {
        process,
        service,
        credentials: Credentials::anonymous(),
        expires: 0,
    })?;
    fresh.expires = ask(service, &mut fresh.credentials).map_err(|why| {
        let (who, hint) = match service {
            CredentialService::Instance => (
                "the instance's metadata service",
                "a role belongs to the instance? AWS_EC2_METADATA_SERVICE_ENDPOINT names another address",
            ),
            CredentialService::Container => (
                "the container's credential service",
                "see AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI",
            ),
        };
        Failure::new(format!("no credentials: {who}: {why}")).hint(hint)
    })?;
    GENERATION.fetch_add(1, Relaxed);
    let renewal = copy(&fresh.credentials, into)?;
    let expires = fresh.expires;
    let renews = held.as_ref().is_some_and(|held| held.process == process && held.expires > 0);
    *held = Some(fresh);
    if expires > 0 && !renews {
        Builder::new()
            .name("credentials".into())
            .spawn(renew)
            .map_err(|error| Failure::io("thread", &error))?;
    }
    Ok(renewal)
}

/// Fetches the next ones before they expire, for as long as the process runs.
fn renew() {
    let mut wait_s = None;
    loop {
        let Some((service, expires)) = shared().as_ref().map(|held| (held.service, held.expires)) else {
            return;
        };
        if expires == 0 {
            return;
        }
        let left = expires.saturating_sub(now_s());
        let ahead = if left > 2 * AHEAD_S { left - AHEAD_S } else { (left / 2).max(1) };
        std::thread::sleep(Duration::from_secs(wait_s.unwrap_or(ahead)));
        let mut fresh = Credentials::anonymous();
        match ask(service, &mut fresh) {
            Ok(expires) => {
                if let Some(held) = shared().as_mut() {
                    held.expires = expires;
                    if copy(&fresh, &mut held.credentials).is_ok() {
                        GENERATION.fetch_add(1, Relaxed);
                    }
                }
                wait_s = None;
            }
            // The old ones are good for a while; what comes then the store says.
            Err(_) => wait_s = Some(AGAIN_S),
        }
    }
}

/// Asks the service; when what it gave expires, 0: never.
fn ask(service: CredentialService, into: &mut Credentials) -> Result<u64, String> {
    let answer = match service {
        CredentialService::Instance => {
            let endpoint = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| INSTANCE.into());
            let endpoint = Endpoint::parse(&endpoint)?;
            let life = "x-aws-ec2-metadata-token-ttl-seconds: 21600\r\n";
            let token = text(&request(&endpoint, "PUT", "/latest/api/token", life)?)?;
            let session = format!("x-aws-ec2-metadata-token: {token}\r\n");
            let path = "/latest/meta-data/iam/security-credentials/";
            let roles = text(&request(&endpoint, "GET", path, &session)?)?;
            let role = roles.lines().next().unwrap_or_default();
            if role.is_empty() {
                return Err("the instance has no role".into());
            }
            request(&endpoint, "GET", &format!("{path}{role}"), &session)?
        }
        CredentialService::Container => {
            let (endpoint, path) = container()?;
            request(&endpoint, "GET", &path, &authorization()?)?
        }
    };
    let mut body = answer.body;
    let found = temporary_credentials(&body, into);
    iodyno_s3::credentials::wipe_bytes(&mut body);
    Ok(found?.map_or(0, |time| time.unix))
}

/// Where the variables say that a container asks.
fn container() -> Result<(Endpoint, String), String> {
    if let Some(path) = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
        return Ok((Endpoint::parse(CONTAINER)?, path));
    }
    let url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        .ok_or("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is not in the environment, and no FULL_URI")?;
    let after = url.find("://").map_or(0, |at| at + 3);
    let slash = url[after..].find('/').map_or(url.len(), |at| after + at);
    let (endpoint, path) = (Endpoint::parse(&url[..slash])?, &url[slash..]);
    if endpoint.tls {
        return Err(format!("{endpoint}: it is asked by http alone"));
    }
    let is_this = endpoint.host == "localhost" || endpoint.host.starts_with("127.") || endpoint.host == "::1";
    if !is_this && !CONTAINER_HOSTS.contains(&endpoint.host.as_str()) {
        return Err(format!("{endpoint}: without TLS only this host and the container's are asked"));
    }
    Ok((endpoint, if path.is_empty() { "/".into() } else { path.into() }))
}

/// The header that a container's service wants, where the environment has one.
fn authorization() -> Result<String, String> {
    let token = match variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(path) => {
            Some(std::fs::read_to_string(&path).map_err(|error| format!("{path}: {}", plain(&error)))?)
        }
        None => variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    };
    match token.as_deref().map(str::trim) {
        None => Ok(String::new()),
        Some(token) if token.contains(['\r', '\n']) => {
            Err("the authorization token has several lines".into())
        }
        Some(token) => Ok(format!("authorization: {token}\r\n")),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether the environment names a container's service.
pub fn has_container() -> bool {
    ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"]
        .iter()
        .any(|name| variable(name).is_some())
}

/// Whether an instance's service is worth asking: elsewhere nobody answers, for seconds.
pub fn may_be_instance() -> bool {
    if variable("AWS_EC2_METADATA_DISABLED").is_some_and(|said| said.eq_ignore_ascii_case("true")) {
        return false;
    }
    let vendor = std::fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").is_some() || vendor.trim() == "Amazon EC2"
}

fn text(answer: &StoreAnswer) -> Result<String, String> {
    let text = String::from_utf8_lossy(&answer.body).trim().to_string();
    if text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b'\n') {
        Ok(text)
    } else {
        Err("no plain text".into())
    }
}

fn request(endpoint: &Endpoint, method: &str, path: &str, headers: &str) -> Result<StoreAnswer, String> {
    let failed = |why: String| format!("{endpoint}{path}: {why}");
    let mut addresses =
        (endpoint.host.as_str(), endpoint.port).to_socket_addrs().map_err(|error| failed(plain(&error)))?;
    let address = addresses.next().ok_or_else(|| failed("it has no address".into()))?;
    let mut stream = TcpStream::connect_timeout(&address, LIMIT).map_err(|error| failed(plain(&error)))?;
    let set = stream.set_read_timeout(Some(LIMIT)).and(stream.set_write_timeout(Some(LIMIT)));
    set.map_err(|error| failed(plain(&error)))?;
    let length = if method == "PUT" { "content-length: 0\r\n" } else { "" };
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n{headers}{length}\r\n", endpoint.authority());
    let (answer, _) = converse(&mut stream, head.as_bytes(), false).map_err(|lost| match lost {
        Lost::BeforeAnswer(why) | Lost::Within(why) => failed(why),
    })?;
    match answer.is_success() {
        true => Ok(answer),
        false => Err(failed(format!("it answers {}", answer.status))),
    }
}
