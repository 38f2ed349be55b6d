//! A client that makes one request at a time and hides nothing: no retry, no redirect.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use iodyno_engine::Failure;
use iodyno_engine::clock;
use iodyno_engine::engines::s3::settings::{StoreSettings, fetch_credentials};
use iodyno_engine::objects::split_url;
use iodyno_model::Job;
use iodyno_model::origin::plain;
use iodyno_s3::address::BucketAddress;
use iodyno_s3::answer::{Chunks, headers};
use iodyno_s3::body::ErrorBody;
use iodyno_s3::{AnswerHead, Framing, RequestHead, Signer, UtcTime, operation};

/// Bodies are read in pieces of so many bytes.
const PIECE: usize = 64 << 10;

/// Whom all clients of a run ask.
pub struct ClientSettings {
    store: StoreSettings,
    job: Job,
    pub bucket: String,
    /// What stands before every key: it ends in a slash.
    pub prefix: String,
    /// The bucket keeps versions: what is deleted is still there.
    keeps_versions: AtomicBool,
}

impl ClientSettings {
    /// # Errors
    /// What the environment lacks; an address that names no bucket.
    pub fn of(job: &Job, url: &str) -> Result<ClientSettings, Failure> {
        let Some((_, bucket, prefix)) = split_url(url) else {
            return Err(
                Failure::new(format!("`{url}` is no bucket's address")).hint("e.g. s3://BUCKET/PREFIX")
            );
        };
        let store = StoreSettings::of(job)?;
        // Nobody else has a prefix of this name, so what is removed is ours.
        let own = format!("iodyno-s3check-{}-{:x}", std::process::id(), clock::unix_ns());
        let prefix = if prefix.is_empty() { format!("{own}/") } else { format!("{prefix}/{own}/") };
        Ok(ClientSettings {
            store,
            job: job.clone(),
            bucket: bucket.into(),
            prefix,
            keeps_versions: AtomicBool::new(false),
        })
    }
}

/// One connection.
pub struct Client<'a> {
    pub settings: &'a ClientSettings,
    pub at: BucketAddress,
    authority: String,
    signer: Signer,
    stream: Option<TcpStream>,
}

/// A whole answer.
#[derive(Clone, Debug, Default)]
pub struct StoreAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl StoreAnswer {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// How a failure is called: by its code, and by its status.
    pub fn errors(&self) -> Vec<String> {
        let code = ErrorBody::parse(&self.body).code;
        let status = self.status.to_string();
        if code.is_empty() { vec![status] } else { vec![code, status] }
    }
}

impl<'a> Client<'a> {
    /// # Errors
    /// There are no credentials where they are said to be.
    pub fn new(settings: &'a ClientSettings) -> Result<Client<'a>, Failure> {
        let mut signer = Signer::new(settings.store.region.clone());
        fetch_credentials(&settings.job, &mut signer.credentials)?;
        let endpoint =
            settings.store.endpoints.first().ok_or_else(|| Failure::new("no endpoint is named"))?;
        let at = BucketAddress::new(endpoint, settings.store.addressing, &settings.bucket);
        Ok(Client { settings, at, authority: endpoint.authority(), signer, stream: None })
    }

    /// Whether the bucket can be listed.
    ///
    /// # Errors
    /// What the store says instead, or that there is none.
    pub fn probe(&mut self) -> Result<(), Failure> {
        let request = operation::list(&self.at, &self.settings.prefix, 1, None);
        let answer = self.ask(&request, &[]).map_err(|why| {
            Failure::new(format!("{}: {why}", self.authority))
                .hint("is a store listening there? see --endpoint")
        })?;
        if answer.is_success() {
            let versioning = self.ask(&operation::versioning(&self.at), &[]);
            let has_any =
                versioning.is_ok_and(|answer| answer.body.windows(8).any(|part| part == b"<Status>"));
            self.settings.keeps_versions.store(has_any, Relaxed);
            return Ok(());
        }
        let errors = answer.errors();
        let remedy = iodyno_s3::failure::remedy(&errors[0]);
        let text = format!("s3://{}: the store answers {}", self.settings.bucket, errors.join(", "));
        Err(match remedy {
            Some(remedy) => Failure::new(text).hint(remedy.hint),
            None => Failure::new(text),
        })
    }

    pub fn keeps_versions(&self) -> bool {
        self.settings.keeps_versions.load(Relaxed)
    }

    /// Makes a request on the connection that stands, or on a new one.
    ///
    /// # Errors
    /// No answer came, in words.
    pub fn ask(&mut self, request: &RequestHead, body: &[u8]) -> Result<StoreAnswer, String> {
        let mut bytes = Vec::with_capacity(1024 + body.len());
        let host = self.at.host.clone();
        self.signer.write_head(
            request,
            &host,
            UtcTime { unix: clock::unix_ns() / 1_000_000_000 },
            &mut bytes,
        );
        bytes.extend_from_slice(body);
        let reused = self.stream.is_some();
        match self.exchange(&bytes, request.method == "HEAD") {
            // The server may close what was idle; nothing of the request was answered.
            Err(Lost::BeforeAnswer(_)) if reused => self.exchange(&bytes, request.method == "HEAD"),
            other => other,
        }
        .map_err(|lost| match lost {
            Lost::BeforeAnswer(why) | Lost::Within(why) => why,
        })
    }

    fn exchange(&mut self, bytes: &[u8], to_head: bool) -> Result<StoreAnswer, Lost> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect().map_err(Lost::BeforeAnswer)?,
        };
        let (answer, keeps_alive) = converse(&mut stream, bytes, to_head)?;
        if keeps_alive {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let limit = Duration::from_nanos(self.settings.store.timeout_ns);
        let addresses = self.authority.to_socket_addrs().map_err(|error| plain(&error))?;
        let mut last = String::from("it has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, limit) {
                Ok(stream) => {
                    let set = stream.set_read_timeout(Some(limit)).and(stream.set_write_timeout(Some(limit)));
                    set.and(stream.set_nodelay(true)).map_err(|error| plain(&error))?;
                    return Ok(stream);
                }
                Err(error) => last = plain(&error),
            }
        }
        Err(last)
    }
}

/// Why no whole answer came.
enum Lost {
    BeforeAnswer(String),
    Within(String),
}

fn converse(stream: &mut TcpStream, bytes: &[u8], to_head: bool) -> Result<(StoreAnswer, bool), Lost> {
    stream.write_all(bytes).map_err(|error| Lost::BeforeAnswer(plain(&error)))?;
    let mut read = Vec::new();
    let (head, length) = loop {
        let found = AnswerHead::parse(&read, to_head).map_err(Lost::Within)?;
        match found {
            // An interim answer is followed by the one that counts.
            Some((head, length)) if (100..200).contains(&head.status) => drop(read.drain(..length)),
            Some(found) => break found,
            None if fill(stream, &mut read)? == 0 => {
                let why = "the connection ended before an answer".to_string();
                return Err(if read.is_empty() { Lost::BeforeAnswer(why) } else { Lost::Within(why) });
            }
            None => {}
        }
    };
    let mut answer = StoreAnswer { status: head.status, headers: headers(&read), body: Vec::new() };
    let mut rest = read.split_off(length);
    let cut = || Lost::Within("the connection ended within the answer".into());
    match head.framing {
        Framing::Length(bytes) => {
            let bytes = usize::try_from(bytes).map_err(|_| cut())?;
            while rest.len() < bytes {
                if fill(stream, &mut rest)? == 0 {
                    return Err(cut());
                }
            }
            rest.truncate(bytes);
            answer.body = rest;
        }
        Framing::ToEnd => {
            while fill(stream, &mut rest)? > 0 {}
            answer.body = rest;
        }
        Framing::Chunked => {
            let mut chunks = Chunks::default();
            loop {
                let taken =
                    chunks.take(&rest, |bytes| answer.body.extend_from_slice(bytes)).map_err(Lost::Within)?;
                rest.drain(..taken);
                if chunks.have_ended() {
                    break;
                }
                if fill(stream, &mut rest)? == 0 {
                    return Err(cut());
                }
            }
        }
    }
    Ok((answer, head.keeps_alive))
}

fn fill(stream: &mut TcpStream, into: &mut Vec<u8>) -> Result<usize, Lost> {
    let before = into.len();
    into.resize(before + PIECE, 0);
    let read = stream.read(&mut into[before..]);
    into.truncate(before + read.as_ref().map_or(0, |read| *read));
    read.map_err(|error| match before {
        0 => Lost::BeforeAnswer(plain(&error)),
        _ => Lost::Within(plain(&error)),
    })
}
