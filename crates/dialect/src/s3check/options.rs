//! The command line of `iodyno s3check`.

use clap::Parser;
use iodyno_model::units;

use crate::native::KeepArguments;

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
    /// Only groups, rules or cases of these names (with * and ?)
    #[arg(long, value_name = "NAME", num_args = 1)]
    pub only: Vec<String>,
    /// All but groups, rules or cases of these names (with * and ?)
    #[arg(long, value_name = "NAME", num_args = 1)]
    pub except: Vec<String>,
    /// Only rules of these classes: shall, may
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub class: Vec<String>,
    /// List groups, rules, cases and checks; with --verbose every rule
    #[arg(long)]
    pub list: bool,
    /// Print a rule and its steps
    #[arg(long, value_name = "RULE")]
    pub explain: Option<String>,
    /// Parse the rules, and report their number or their errors
    #[arg(long)]
    pub check_rules: bool,
    /// Use the rules in this directory instead of the built-in ones; repeatable
    #[arg(long, value_name = "DIR")]
    pub rules: Vec<String>,
    /// What to expect of the store: a name, a file, or none
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Report as TAP, for prove
    #[arg(long)]
    pub tap: bool,
    /// Write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<String>,
    /// Write JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Number of connections, each with a case at a time [default: 4]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub at_once: u32,
    /// How long a request may make no progress, e.g. 10s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = seconds)]
    pub timeout: u64,
    /// Also fail when an expected failure does not happen
    #[arg(long)]
    pub strict: bool,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub history: KeepArguments,
    /// Print each broken rule with its steps instead of the causes
    #[arg(long)]
    pub details: bool,
    /// A line for every case, and every round of a failure
    #[arg(short, long)]
    pub verbose: bool,
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
