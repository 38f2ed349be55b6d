//! The engine's settings, and where credentials come from. No setting holds a secret: plans are printed and stored.

use std::env;

use iodyno_model::{Diagnostic, Job, SecretKind};
use iodyno_s3::credentials::CustomerKey;
use iodyno_s3::operation::{Encryption, WriteOptions};
use iodyno_s3::{Addressing, Checksum, Credentials, Endpoint, Secret};

use super::instance::{self, CredentialService, Renewal};
use crate::engines::{SettingSpec, check_switches, check_values, setting, spec, switch, whole_number};
use crate::failure::{Failure, strerror};
use crate::secrets;

/// What the engine can be told.
pub const SETTINGS: &[SettingSpec] = &[
    spec(
        "endpoint",
        "http://HOST:PORT or https://…, several with commas or as host{1...4} (default AWS_ENDPOINT_URL_S3 or \
         AWS_ENDPOINT_URL)",
    ),
    spec(
        "balance",
        "round-robin or least-busy: which of several endpoints requests go to; connections are dealt to them in turn, or \
         each request goes where the fewest of its worker are in flight (default round-robin)",
    ),
    spec("ca", "a file of certificates (PEM) that https endpoints are trusted by (default the system's)"),
    spec(
        "region",
        "the region that requests are signed for (default AWS_REGION, AWS_DEFAULT_REGION, us-east-1)",
    ),
    spec("addressing", "path or virtual: where the bucket's name stands (default path)"),
    spec(
        "credentials",
        "environment (AWS_ACCESS_KEY_ID …), profile or profile:NAME (~/.aws/credentials), file:PATH, awsauth:USER \
         (~/.awsAuth), container, instance or anonymous (default: the first of environment, profile, container and \
         instance that there is)",
    ),
    spec(
        "access_key",
        "env:VARIABLE, or what stands for the access key that a command line named, as `***` (default AWS_ACCESS_KEY_ID)",
    ),
    spec("secret_key", "the same for its secret key (default AWS_SECRET_ACCESS_KEY)"),
    spec("session_token", "the same for a session's token (default AWS_SESSION_TOKEN)"),
    spec(
        "checksum",
        "none, crc32c, crc64nvme or sha256: sent with what is written, checked with what is read (default none)",
    ),
    spec("sign_payload", "on or off: the SHA-256 of what is written is part of the signature (default off)"),
    spec("part_size", "bytes; longer objects are written in parts of this length (default 67108864)"),
    spec(
        "parts_at_once",
        "parts of one object in flight, each on a connection of its own, 1 to 64 (default 1)",
    ),
    spec(
        "shared_upload",
        "on or off: writes are parts of one upload of the one object, by all workers and ranks, of part_size bytes; it is \
         complete when the last of them has ended (default off)",
    ),
    spec(
        "versions",
        "versions of each object, 1 to 1000: an item is one of them, of a bucket that keeps versions (default 1: an item is an \
         object)",
    ),
    spec(
        "retention",
        "days from now until which `setxattr` retains an object, in the mode GOVERNANCE; the bucket has object lock (default \
         0: none)",
    ),
    spec(
        "range",
        "whole, random or bytes: how much `open` with item_data reads of an object, from a random place; random: as often from \
         each power of two (default whole)",
    ),
    spec(
        "read_by",
        "range or part: whether a read of a part of an object names bytes, or the number of a part of part_size (default \
         range)",
    ),
    spec("missing", "error or zeros: what a read of an object that is not there brings (default error)"),
    spec(
        "encryption",
        "AES256, aws:kms or aws:kms:dsse: the server encrypts what is written (default the bucket's)",
    ),
    spec(
        "customer_key",
        "env:VARIABLE, or what stands for a key of 32 characters that a command line named: the server encrypts with it (default \
         none)",
    ),
    spec("kms_key", "the key's id for encryption by KMS"),
    spec("storage_class", "STANDARD, STANDARD_IA, … (default the bucket's)"),
    spec(
        "delete_batch",
        "so many deletions in flight become one request, 1 to 1000 (default 1: each is its own)",
    ),
    spec("retries", "how often an answer that says too busy (503, 429) is tried again, 0 to 100 (default 0)"),
    spec("timeout", "seconds without progress after which a request fails (default 60)"),
    spec(
        "preflight",
        "on or off: one request before the start line finds what no request could succeed with (default on)",
    ),
    spec("make_bucket", "on or off: that request makes the bucket if it is not there (default off)"),
    spec(
        "remove_bucket",
        "on, made or off: where the run removes what it made, the bucket goes too, if nothing else is in it; made: if the run \
         made it (default off)",
    ),
];

/// Which endpoint a request goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// That of its connection: they are dealt to the endpoints in turn.
    #[default]
    RoundRobin,
    /// The one with the fewest requests of the worker in flight.
    LeastBusy,
}

/// How much of an object is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RangeLength {
    #[default]
    Whole,
    /// As often from each power of two.
    Random,
    Bytes(u64),
}

impl RangeLength {
    fn parse(text: &str) -> Option<RangeLength> {
        match text {
            "whole" => Some(RangeLength::Whole),
            "random" => Some(RangeLength::Random),
            _ => text.parse().ok().filter(|bytes| *bytes > 0).map(RangeLength::Bytes),
        }
    }
}

/// A job's settings.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    pub endpoints: Vec<Endpoint>,
    pub balance: Balance,
    /// Certificates to trust; none: the system's.
    pub ca: Option<String>,
    pub region: String,
    pub addressing: Addressing,
    pub write: WriteOptions,
    pub signs_payload: bool,
    pub part_bytes: u64,
    pub parts_at_once: u32,
    /// Writes are parts of an upload that all workers share.
    pub shares_upload: bool,
    /// Of each object.
    pub versions: u64,
    /// 0: no object is retained.
    pub retention_days: u64,
    pub range: RangeLength,
    /// Reads name the numbers of parts.
    pub reads_parts: bool,
    /// An object that is not there is read as zeros.
    pub missing_is_zeros: bool,
    pub delete_batch: u32,
    pub retries: u32,
    pub timeout_ns: u64,
    pub preflight: bool,
    pub makes_bucket: bool,
}

/// The smallest part that S3 takes, but for the last: 5 MiB. Other servers take smaller ones.
const PARTS_MOST: u64 = 10_000;

impl StoreSettings {
    /// Reads the settings of a job that was checked.
    ///
    /// # Errors
    /// What the environment lacks or has wrong.
    pub fn of(job: &Job) -> Result<StoreSettings, Failure> {
        let region = setting(job, "region").map(String::from);
        let region = region.or_else(|| first_variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]));
        let text = |name: &str| setting(job, name).unwrap_or_default().to_string();
        Ok(StoreSettings {
            endpoints: endpoints(job)?,
            balance: match setting(job, "balance") {
                Some("least-busy") => Balance::LeastBusy,
                _ => Balance::RoundRobin,
            },
            ca: setting(job, "ca").map(String::from),
            region: region.unwrap_or_else(|| "us-east-1".into()),
            addressing: match setting(job, "addressing") {
                Some("virtual") => Addressing::VirtualHost,
                _ => Addressing::Path,
            },
            write: WriteOptions {
                encryption: Encryption { algorithm: text("encryption"), kms_key: text("kms_key") },
                storage_class: text("storage_class"),
                checksum: setting(job, "checksum").and_then(checksum),
            },
            signs_payload: switch(job, "sign_payload") == Some(true),
            part_bytes: whole_number(job, "part_size").unwrap_or(64 << 20),
            parts_at_once: whole_number(job, "parts_at_once").unwrap_or(1) as u32,
            shares_upload: switch(job, "shared_upload") == Some(true),
            versions: whole_number(job, "versions").unwrap_or(1).max(1),
            retention_days: whole_number(job, "retention").unwrap_or(0),
            range: setting(job, "range").and_then(RangeLength::parse).unwrap_or_default(),
            reads_parts: setting(job, "read_by") == Some("part"),
            missing_is_zeros: setting(job, "missing") == Some("zeros"),
            delete_batch: whole_number(job, "delete_batch").unwrap_or(1) as u32,
            retries: whole_number(job, "retries").unwrap_or(0) as u32,
            timeout_ns: whole_number(job, "timeout").unwrap_or(60) * 1_000_000_000,
            preflight: switch(job, "preflight") != Some(false),
            makes_bucket: switch(job, "make_bucket") == Some(true),
        })
    }

    /// Whether requests name versions. What is retained can only be removed by them.
    pub fn names_versions(&self) -> bool {
        self.versions > 1 || self.retention_days > 0
    }

    /// Whether an object is written in parts, and in how many.
    pub fn parts(&self, bytes: u64) -> Option<u32> {
        (bytes > self.part_bytes).then(|| bytes.div_ceil(self.part_bytes).min(u64::from(u32::MAX)) as u32)
    }
}

fn checksum(name: &str) -> Option<Checksum> {
    Checksum::ALL.into_iter().find(|checksum| checksum.name() == name)
}

fn first_variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
}

fn endpoints(job: &Job) -> Result<Vec<Endpoint>, Failure> {
    let text = setting(job, "endpoint").map(String::from);
    let text = text.or_else(|| first_variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
    let Some(text) = text else {
        return Err(Failure::new("no endpoint of the store is named")
            .hint("settings.endpoint = \"http://HOST:PORT\", or AWS_ENDPOINT_URL in the environment"));
    };
    let wrong =
        |message: String| Failure::new(format!("endpoint: {message}")).hint("e.g. http://127.0.0.1:9000");
    let all = Endpoint::parse_list(&text).map_err(wrong)?;
    match all.iter().find(|endpoint| endpoint.tls) {
        Some(endpoint) if !cfg!(feature = "tls") => {
            Err(Failure::new(format!("endpoint {endpoint}: this build speaks no TLS"))
                .hint("name the store's http port, or build with TLS: cargo build --release --features tls"))
        }
        _ => Ok(all),
    }
}

/// Puts credentials where they are wanted. Unless a source is named it is the first that there is, in the order of the AWS
/// SDKs: environment, profile, container, instance.
///
/// # Errors
/// There are none where they are said to be.
pub fn fetch_credentials(job: &Job, into: &mut Credentials) -> Result<Renewal, Failure> {
    if is_given(job) {
        return from_command(job, into).map(|()| Renewal::default());
    }
    let from = setting(job, "credentials");
    match from {
        Some("container") => return instance::fetch(CredentialService::Container, into),
        Some("instance") => return instance::fetch(CredentialService::Instance, into),
        _ => {}
    }
    let found = fetch_static(job, into);
    match found {
        Err(_) if from.is_none() && instance::has_container() => {
            instance::fetch(CredentialService::Container, into)
        }
        Err(_) if from.is_none() && instance::may_be_instance() => {
            instance::fetch(CredentialService::Instance, into)
        }
        found => found.map(|()| Renewal::default()),
    }
}

/// From the environment or a file.
fn fetch_static(job: &Job, into: &mut Credentials) -> Result<(), Failure> {
    let from = setting(job, "credentials");
    let has_key = || env::var("AWS_ACCESS_KEY_ID").is_ok_and(|key| !key.is_empty());
    match from {
        Some("anonymous") => Ok(()),
        Some("environment") => from_environment(into),
        None if has_key() => from_environment(into),
        Some(path) if path.starts_with("file:") => from_file(&path[5..], "default", into),
        Some(user) if user.starts_with("awsauth:") => from_aws_auth(&user[8..], into),
        _ => {
            let named = from.and_then(|from| from.strip_prefix("profile:")).map(String::from);
            let profile =
                named.or_else(|| first_variable(&["AWS_PROFILE"])).unwrap_or_else(|| "default".into());
            let home = || env::var("HOME").unwrap_or_default();
            let path = first_variable(&["AWS_SHARED_CREDENTIALS_FILE"]);
            from_file(&path.unwrap_or_else(|| format!("{}/.aws/credentials", home())), &profile, into)
        }
    }
}

/// Whether a command line named keys.
fn is_given(job: &Job) -> bool {
    secrets::SETTINGS[..2].iter().any(|(name, _)| setting(job, name).is_some())
}

/// The keys that a command line named; those that are kept nowhere any more come from the environment.
fn from_command(job: &Job, into: &mut Credentials) -> Result<(), Failure> {
    let mut found = 0;
    let mut fetch = |name: &str, variable: &str, room: &mut Secret| {
        let kind = secrets::SETTINGS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        match (setting(job, name), kind) {
            (Some(named), _) if named.starts_with("env:") => {
                let taken = from_variable(&named[4..], room)?;
                found += u32::from(taken);
                Ok(taken)
            }
            (Some(standing), Some(kind)) if secrets::fetch(kind, standing, room) => {
                found += 1;
                Ok(true)
            }
            (Some(_), _) => from_variable(variable, room),
            (None, _) => Ok(false),
        }
    };
    let mut access_key = Secret::empty();
    let has_both = [
        fetch("access_key", "AWS_ACCESS_KEY_ID", &mut access_key)?,
        fetch("secret_key", "AWS_SECRET_ACCESS_KEY", &mut into.secret)?,
    ];
    fetch("session_token", "AWS_SESSION_TOKEN", &mut into.token)?;
    into.access_key = access_key.text().to_string();
    match has_both {
        [true, true] => Ok(()),
        _ if found > 0 => {
            Err(Failure::new("only one half of the key was given")
                .hint("name the access key and its secret key"))
        }
        _ => Err(Failure::new("the keys that were given with the command are not stored")
            .hint("export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")),
    }
}

/// Puts the key of the user's where it is wanted, where there is one.
///
/// # Errors
/// It is not there, or is none.
pub fn fetch_customer_key(job: &Job, into: &mut CustomerKey) -> Result<(), Failure> {
    let Some(named) = setting(job, "customer_key") else { return Ok(()) };
    let mut key = Secret::empty();
    let is_there = match named.strip_prefix("env:") {
        Some(variable) => from_variable(variable, &mut key)?,
        None => secrets::fetch(SecretKind::CustomerKey, named, &mut key),
    };
    if !is_there {
        return Err(Failure::new("the key that the server is to encrypt with is not stored")
            .hint("name it with the command again, or customer_key = \"env:VARIABLE\""));
    }
    into.set(key.bytes()).map_err(Failure::new)
}

/// Takes a variable's value; whether there is one.
fn from_variable(name: &str, into: &mut Secret) -> Result<bool, Failure> {
    let mut value = env::var(name).unwrap_or_default();
    let taken = into.set(&value).map_err(Failure::new);
    iodyno_s3::credentials::wipe(&mut value);
    taken.map(|()| !into.is_empty())
}

fn from_environment(into: &mut Credentials) -> Result<(), Failure> {
    let missing = |name: &str| {
        Failure::new(format!("{name} is not in the environment"))
            .hint("export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or credentials = \"profile\" or \"anonymous\"")
    };
    let access_key = first_variable(&["AWS_ACCESS_KEY_ID"]);
    into.access_key = access_key.ok_or_else(|| missing("AWS_ACCESS_KEY_ID"))?;
    if !from_variable("AWS_SECRET_ACCESS_KEY", &mut into.secret)? {
        return Err(missing("AWS_SECRET_ACCESS_KEY"));
    }
    from_variable("AWS_SESSION_TOKEN", &mut into.token).map(drop)
}

fn from_file(path: &str, profile: &str, into: &mut Credentials) -> Result<(), Failure> {
    let hint = "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or say credentials = \"anonymous\"";
    let unread = |error: std::io::Error| {
        let number = error.raw_os_error().unwrap_or(libc::EIO);
        Failure::new(format!("no credentials: {path}: {}", strerror(number))).errno(number).hint(hint)
    };
    let mut text = std::fs::read_to_string(path).map_err(unread)?;
    let found = into.read_profile(&text, profile);
    iodyno_s3::credentials::wipe(&mut text);
    found.map_err(|message| Failure::new(format!("{path}: {message}")).hint(hint))
}

/// A user's line of the file that the library aws4c reads: `USER:ACCESS_KEY:SECRET_KEY`.
fn from_aws_auth(user: &str, into: &mut Credentials) -> Result<(), Failure> {
    let path = format!("{}/.awsAuth", env::var("HOME").unwrap_or_default());
    let hint = "a line of it is USER:ACCESS_KEY:SECRET_KEY";
    let unread = |error: std::io::Error| {
        let number = error.raw_os_error().unwrap_or(libc::EIO);
        Failure::new(format!("no credentials: {path}: {}", strerror(number))).errno(number).hint(hint)
    };
    let mut text = std::fs::read_to_string(&path).map_err(unread)?;
    let line = text.lines().find_map(|line| {
        let mut parts = line.trim().splitn(3, ':');
        (parts.next() == Some(user)).then_some((parts.next()?, parts.next()?))
    });
    let found = match line {
        Some((access_key, secret)) => {
            into.access_key = access_key.into();
            into.secret.set(secret).map_err(Failure::new)
        }
        None => Err(Failure::new(format!("{path}: it has no line of `{user}`")).hint(hint)),
    };
    iodyno_s3::credentials::wipe(&mut text);
    found
}

/// Everything that is wrong with a job's settings.
pub fn check(job: &Job) -> Vec<Diagnostic> {
    let mut wrong = check_switches(job, &["sign_payload", "preflight", "make_bucket", "shared_upload"]);
    let mut values = |names: &[&str], accept: &dyn Fn(&str) -> bool, hint: &str| {
        wrong.extend(check_values(job, names, accept, hint));
    };
    let number =
        |value: &str, least: u64, most: u64| value.parse().is_ok_and(|value| (least..=most).contains(&value));
    values(
        &["balance"],
        &|value| matches!(value, "round-robin" | "least-busy"),
        "say round-robin or least-busy",
    );
    values(&["remove_bucket"], &|value| matches!(value, "on" | "made" | "off"), "say on, made or off");
    values(&["addressing"], &|value| matches!(value, "path" | "virtual"), "say path or virtual");
    values(
        &["checksum"],
        &|value| value == "none" || checksum(value).is_some(),
        "say none, crc32c, crc64nvme or sha256",
    );
    let encryptions = "say AES256, aws:kms or aws:kms:dsse";
    values(&["encryption"], &|value| matches!(value, "AES256" | "aws:kms" | "aws:kms:dsse"), encryptions);
    let plain = |value: &str| !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
    values(&["region", "storage_class", "kms_key"], &plain, "say one word");
    let sources = "say environment, profile, profile:NAME, file:PATH, container, instance or anonymous; a secret does not belong in a \
         plan";
    let source = |value: &str| {
        let named = ["profile:", "file:", "awsauth:"].iter().find_map(|word| value.strip_prefix(word));
        matches!(value, "environment" | "profile" | "container" | "instance" | "anonymous")
            || named.is_some_and(|name| !name.is_empty())
    };
    values(&["credentials"], &source, sources);
    values(&["endpoint"], &|value| Endpoint::parse_list(value).is_ok(), "e.g. http://127.0.0.1:9000");
    values(&["missing"], &|value| matches!(value, "error" | "zeros"), "say error or zeros");
    values(&["versions"], &|value| number(value, 1, 1000), "say 1 to 1000");
    values(&["retention"], &|value| number(value, 0, 36_500), "days, at most 36500");
    values(
        &["range"],
        &|value| RangeLength::parse(value).is_some(),
        "say whole, random or a number of bytes",
    );
    values(&["read_by"], &|value| matches!(value, "range" | "part"), "say range or part");
    values(&["part_size"], &|value| number(value, 1, 5 << 30), "bytes, at most 5 GiB");
    values(&["parts_at_once"], &|value| number(value, 1, 64), "say 1 to 64");
    values(&["delete_batch"], &|value| number(value, 1, 1000), "say 1 to 1000");
    values(&["retries"], &|value| number(value, 0, 100), "say 0 to 100");
    values(&["timeout"], &|value| number(value, 1, 86_400), "whole seconds, e.g. 60");
    wrong.extend(spelt_out(job));
    if wrong.is_empty() {
        // What is not in the plan is in the environment, and is as good a reason not to begin.
        let found = StoreSettings::of(job).and_then(|settings| {
            fetch_credentials(job, &mut Credentials::anonymous())?;
            fetch_customer_key(job, &mut CustomerKey::none())?;
            if settings.endpoints.iter().any(|endpoint| endpoint.tls) {
                super::tls::TlsTrust::new(settings.ca.as_deref())?;
            }
            longest(job, &settings)
        });
        wrong.extend(found.err().map(|failure| failure.diagnostic(&job.origin, "engine s3: ")));
    }
    wrong
}

/// A secret itself where what stands for it belongs. It is not repeated.
fn spelt_out(job: &Job) -> Option<Diagnostic> {
    let is_secret = |setting: &&iodyno_model::Setting| {
        secrets::SETTINGS.iter().any(|(name, _)| *name == setting.name)
            && iodyno_model::secret::stand_in_number(&setting.value).is_none()
            && setting.value.strip_prefix("env:").is_none_or(str::is_empty)
    };
    let wrong = job.settings.iter().find(is_secret)?;
    let message = format!("`{}` holds a secret, and plans are printed and stored", wrong.name);
    let hint =
        "leave it out and export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or credentials = \"profile\"";
    Some(Diagnostic::error(&wrong.origin, message).hint(hint))
}

/// Whether what is written fits in as many parts as an upload may have.
fn longest(job: &Job, settings: &StoreSettings) -> Result<(), Failure> {
    let iodyno_model::Workload::Pattern(pattern) = &job.workload else { return Ok(()) };
    let most = pattern.size.write.most_bytes().unwrap_or(0);
    match settings.parts(most) {
        Some(parts) if u64::from(parts) > PARTS_MOST => {
            let message =
                format!("objects of {most} bytes in parts of {} are {parts} parts", settings.part_bytes);
            Err(Failure::new(message).hint("an upload has at most 10000 parts: raise part_size"))
        }
        _ => Ok(()),
    }
}
