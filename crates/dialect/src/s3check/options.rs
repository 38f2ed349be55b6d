//! The command line of `iodyno s3check`.

use clap::Parser;
use iodyno_model::units;

use crate::native::KeepArguments;
use crate::posix::suite_arguments::SuiteArguments;

/// What is said about the command below its options.
const AFTER: &str = "Keys of objects begin with a prefix of the run's own below PREFIX, and everything below that is removed \
again. Secrets are read from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) or from \
~/.aws/credentials, never from the command line. Exit status: 0 no failure but expected ones; 1 something failed or could \
not be tried; 2 the command is wrong; 128 + n ended by signal n. What rules are and how to write them: docs/s3check.md.";

/// The words of `iodyno s3check`.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "iodyno s3check",
    about = super::DIALECT.about,
    after_help = AFTER,
    disable_version_flag = true,
    override_usage = "iodyno s3check [OPTIONS] s3://BUCKET/PREFIX"
)]
pub struct Options {
    /// The bucket to check, and what the keys of its objects begin with
    #[arg(value_name = "s3://BUCKET/PREFIX", value_parser = bucket)]
    pub bucket: Option<String>,
    /// Where the store listens, e.g. http://127.0.0.1:9000 [default: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// The region that requests are signed for [default: AWS_REGION, or us-east-1]
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// Where the bucket's name stands: path or virtual
    #[arg(long, value_name = "HOW", default_value = "path", value_parser = ["path", "virtual"])]
    pub addressing: String,
    /// environment, profile, profile:NAME, file:PATH or anonymous [default: environment, then profile]
    #[arg(long, value_name = "WHERE")]
    pub credentials: Option<String>,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub suite: SuiteArguments,
    /// What to expect of the store: a name, a file, or none
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Number of connections, each with a case at a time [default: 4]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub at_once: u32,
    /// How long a request may make no progress, e.g. 10s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = seconds)]
    pub timeout: u64,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub history: KeepArguments,
}

fn bucket(text: &str) -> Result<String, String> {
    match text.strip_prefix("s3://").map(|rest| rest.split('/').next().unwrap_or_default()) {
        Some("") | None => Err("expected s3://BUCKET or s3://BUCKET/PREFIX".into()),
        Some(_) => Ok(text.trim_end_matches('/').into()),
    }
}

fn seconds(text: &str) -> Result<u64, String> {
    let text = if text.parse::<f64>().is_ok() { format!("{text}s") } else { text.into() };
    let seconds = units::parse_ns(&text)?.div_ceil(1_000_000_000);
    if seconds == 0 { Err("a request takes at least 1s".into()) } else { Ok(seconds) }
}
