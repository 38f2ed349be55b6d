//! A client that makes one request at a time and hides nothing: no retry, no redirect.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use iodyno_engine::Failure;
pub use iodyno_engine::engines::s3::blocking::StoreAnswer;
use iodyno_engine::engines::s3::blocking::{self, Channel, Lost, converse};
use iodyno_engine::engines::s3::settings::{StoreSettings, fetch_credentials};
use iodyno_engine::objects::split_url;
use iodyno_engine::secrets::SecretPages;
use iodyno_engine::store_client::{self, StoreClient};
use iodyno_engine::{clock, registry};
use iodyno_model::Job;
use iodyno_s3::address::{Addressing, BucketAddress, Endpoint};
use iodyno_s3::body::ErrorBody;
use iodyno_s3::failure::is_throttled;
use iodyno_s3::{RequestClass, RequestHead, Signer, UtcTime, operation};

use super::plain;
use super::signing::{self, Signing};

/// Of stores that speak HTTP.
const SCHEME: &str = "s3";
/// Further attempts where patience helps, and the pause before the first of them, ns; each further one is twice as long.
const RETRIES: u32 = 8;
const PAUSE_NS: u64 = 10_000_000;

/// Whom all clients of a run ask.
pub struct ClientSettings {
    /// None: the store does not speak HTTP.
    store: Option<StoreSettings>,
    job: Job,
    url: String,
    pub bucket: String,
    /// What stands before every key: it ends in a slash, or is empty.
    pub prefix: String,
    /// The bucket keeps versions: what is deleted is still there.
    keeps_versions: AtomicBool,
    /// Requests so far, in the order of [`RequestClass::ALL`].
    sent: [AtomicU64; RequestClass::ALL.len()],
}

impl ClientSettings {
    /// # Errors
    /// What the environment lacks; an address that names no bucket.
    pub fn of(job: &Job, url: &str) -> Result<ClientSettings, Failure> {
        // Nobody else has a prefix of this name, so what is removed is ours.
        let own = format!("iodyno-s3check-{}-{:x}/", std::process::id(), clock::unix_ns());
        ClientSettings::below(job, url, &own)
    }

    /// Of keys below an address, with more before each that ends in a slash or is empty.
    ///
    /// # Errors
    /// As above.
    pub fn below(job: &Job, url: &str, own: &str) -> Result<ClientSettings, Failure> {
        let Some((scheme, bucket, prefix)) = split_url(url) else {
            return Err(
                Failure::new(format!("`{url}` is no bucket's address")).hint("e.g. s3://BUCKET/PREFIX")
            );
        };
        let store = (scheme == SCHEME).then(|| StoreSettings::of(job)).transpose()?;
        let prefix = if prefix.is_empty() { own.to_string() } else { format!("{prefix}/{own}") };
        Ok(ClientSettings {
            store,
            job: job.clone(),
            url: url.into(),
            bucket: bucket.into(),
            prefix,
            keeps_versions: AtomicBool::new(false),
            sent: Default::default(),
        })
    }

    /// Connects to a store that does not speak HTTP.
    fn connect_plain(&self) -> Result<Box<dyn StoreClient>, Failure> {
        let connected = registry::connect_store(&self.job, &self.url);
        connected.unwrap_or_else(|| Err(Failure::new(format!("{}: no store is reached so", self.url))))
    }

    /// The store's own client, where it does not speak HTTP.
    pub fn plain_store(&self) -> Option<Result<Box<dyn StoreClient>, Failure>> {
        self.store.is_none().then(|| self.connect_plain())
    }

    /// Directories of the prefix that are not there yet, the lowest first, where the store has directories.
    ///
    /// # Errors
    /// The store cannot be asked.
    pub fn missing_directories(&self) -> Result<Vec<String>, Failure> {
        if self.store.is_some() {
            return Ok(Vec::new());
        }
        store_client::missing_directories(&mut *self.connect_plain()?, &self.prefix)
            .map_err(|errno| Failure::call(&self.url, errno))
    }

    /// Removes those directories that nobody else uses by now.
    pub fn remove_directories(&self, made: &[String]) {
        if let (None, Ok(mut store)) = (&self.store, self.connect_plain()) {
            store_client::remove_made(&mut *store, made);
        }
    }

    /// Requests so far by class, for the record.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = RequestClass::ALL.iter().zip(&self.sent);
        let counts = counts.map(|(class, sent)| (class.count_name(), sent.load(Relaxed)));
        counts.filter(|(_, sent)| *sent > 0).collect()
    }
}

/// One connection.
pub struct Client<'a> {
    pub settings: &'a ClientSettings,
    pub at: BucketAddress,
    connection: Connection,
}

/// What a client asks by.
enum Connection {
    Http(Box<HttpConnection>),
    /// The store's own library.
    Plain(Box<dyn StoreClient>),
}

struct HttpConnection {
    authority: String,
    /// It is long, and holds secrets.
    signer: SecretPages<Signer>,
    stream: Option<Box<dyn Channel>>,
}

impl<'a> Client<'a> {
    /// # Errors
    /// There are no credentials where they are said to be.
    pub fn new(settings: &'a ClientSettings) -> Result<Client<'a>, Failure> {
        let Some(store) = &settings.store else {
            let nowhere = Endpoint { tls: false, host: "library".into(), port: 0 };
            let at = BucketAddress::new(&nowhere, Addressing::Path, &settings.bucket);
            return Ok(Client { settings, at, connection: Connection::Plain(settings.connect_plain()?) });
        };
        let mut signer = SecretPages::new(Signer::new(store.region.clone()))?;
        let _ = fetch_credentials(&settings.job, &mut signer.credentials)?;
        let endpoint = store.endpoints.first().ok_or_else(|| Failure::new("no endpoint is named"))?;
        let at = BucketAddress::new(endpoint, store.addressing, &settings.bucket);
        let http = HttpConnection { authority: endpoint.authority(), signer, stream: None };
        Ok(Client { settings, at, connection: Connection::Http(Box::new(http)) })
    }

    /// Whether the bucket can be listed.
    ///
    /// # Errors
    /// What the store says instead, or that there is none.
    pub fn probe(&mut self) -> Result<(), Failure> {
        let request = operation::list(&self.at, &self.settings.prefix, 1, None);
        let answer = self.ask(&request, &[]).map_err(|why| {
            let authority = match &self.connection {
                Connection::Http(http) => http.authority.as_str(),
                Connection::Plain(_) => &self.settings.url,
            };
            Failure::new(format!("{authority}: {why}")).hint("is a store listening there? see --endpoint")
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
        let scheme = self.settings.url.split("://").next().unwrap_or_default();
        let text = format!("{scheme}://{}: the store answers {}", self.settings.bucket, errors.join(", "));
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
        self.ask_signed(request, body, None)
    }

    /// The same, signed otherwise than a client would; none: as one would.
    ///
    /// # Errors
    /// No answer came, or there are no keys, in words.
    pub fn ask_signed(
        &mut self,
        request: &RequestHead,
        body: &[u8],
        signing: Option<Signing>,
    ) -> Result<StoreAnswer, String> {
        self.settings.sent[request.class() as usize].fetch_add(1, Relaxed);
        match (&mut self.connection, &self.settings.store) {
            (Connection::Plain(_), _) if signing.is_some() => {
                Err("a store that does not speak HTTP has no signatures".into())
            }
            (Connection::Plain(store), _) => Ok(plain::answer(&mut **store, request, body)),
            (Connection::Http(http), Some(store)) => {
                let asked = HttpRequest { host: &self.at.host, bucket: &self.settings.bucket, store };
                http.ask(&asked, request, body, signing)
            }
            (Connection::Http(_), None) => Err("a store that does not speak HTTP".into()),
        }
    }

    /// The same, again and again for a while where the store says that it is too busy: for what nobody judges, as removing.
    ///
    /// # Errors
    /// No answer came, in words.
    pub fn ask_patiently(&mut self, request: &RequestHead, body: &[u8]) -> Result<StoreAnswer, String> {
        let mut pause_ns = PAUSE_NS;
        for _ in 0..RETRIES {
            let answer = self.ask(request, body)?;
            if !is_throttled(answer.status, &ErrorBody::parse(&answer.body).code) {
                return Ok(answer);
            }
            clock::sleep_ns(pause_ns);
            pause_ns *= 2;
        }
        self.ask(request, body)
    }
}

/// Where a request goes.
struct HttpRequest<'a> {
    host: &'a str,
    bucket: &'a str,
    store: &'a StoreSettings,
}

impl HttpConnection {
    fn ask(
        &mut self,
        asked: &HttpRequest<'_>,
        request: &RequestHead,
        body: &[u8],
        signing: Option<Signing>,
    ) -> Result<StoreAnswer, String> {
        let bytes = match signing {
            Some(signing) => signing::written(&mut self.signer, asked.host, request, body, signing)?,
            None => {
                let mut bytes = Vec::with_capacity(1024 + body.len());
                let now = UtcTime { unix: clock::unix_ns() / 1_000_000_000 };
                self.signer.write_head(request, asked.host, now, &mut bytes);
                bytes.extend_from_slice(body);
                bytes
            }
        };
        let (reused, to_head) = (self.stream.is_some(), request.method == "HEAD");
        match self.exchange(asked, &bytes, to_head) {
            // The server may close what was idle; nothing of the request was answered.
            Err(Lost::BeforeAnswer(_)) if reused => self.exchange(asked, &bytes, to_head),
            other => other,
        }
        .map_err(|lost| match lost {
            Lost::BeforeAnswer(why) | Lost::Within(why) => why,
        })
    }

    fn exchange(
        &mut self,
        asked: &HttpRequest<'_>,
        bytes: &[u8],
        to_head: bool,
    ) -> Result<StoreAnswer, Lost> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(asked).map_err(Lost::BeforeAnswer)?,
        };
        let (answer, keeps_alive) = converse(&mut *stream, bytes, to_head)?;
        if keeps_alive {
            self.stream = Some(stream);
        }
        Ok(answer)
    }
}

fn connect(asked: &HttpRequest<'_>) -> Result<Box<dyn Channel>, String> {
    blocking::connect(asked.store, asked.bucket, Duration::from_nanos(asked.store.timeout_ns))
}
