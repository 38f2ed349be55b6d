//! s3check: whether an object store keeps the promises of the S3 API, rule by rule.
//!
//! The rules are data in `suites/s3`, in the language of those about file systems; their steps are requests, which the
//! engine makes. What is judged and reported is what [`posix`](crate::posix) judges and reports.

pub mod lower;
pub mod options;
pub mod vocabulary;

use std::sync::Arc;

use clap::Parser as _;
use iodyno_model::{Diagnostic, Origin, TargetFacts};

use crate::native;
use crate::posix::expand::{self, ExpandedSuite};
use crate::posix::report::{self, Reports};
use crate::posix::settings::{CheckedDirectory, Setup};
use crate::posix::suite::S3;
use crate::posix::{profile, rules, scripts};
use crate::{Dialect, Loader, Request, Run};
use options::Options;

/// The command in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "s3check",
    about: "check an object store against the rules of the S3 API",
    drop_in: false,
    also: &[],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options = match native::parsed::<Options>("iodyno s3check", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    if options.bucket.is_none() && !options.suite.asks() {
        return Err(nowhere());
    }
    let mut suite = read(&options, loader)?;
    if let Some(answer) = options.suite.about(&suite, &S3)? {
        return Ok(answer);
    }
    options.suite.select(&mut suite)?;
    if let Some(list) = options.suite.listed(&suite) {
        return Ok(list);
    }
    run(suite, options, loader)
}

fn nowhere() -> Vec<Diagnostic> {
    let wrong = Diagnostic::error(&Origin::argument("iodyno s3check"), "no bucket was named");
    vec![wrong.hint("iodyno s3check s3://BUCKET/PREFIX --endpoint http://HOST:PORT")]
}

/// The rules, those carried along or those of the directories that were named.
fn read(options: &Options, loader: &mut dyn Loader) -> Result<ExpandedSuite, Vec<Diagnostic>> {
    let files = options.suite.files(&S3, loader)?;
    let (mut suite, mut wrong) = rules::read(&files)?;
    suite.vocabulary = &vocabulary::STORES;
    let expanded = expand::expand(&suite).map_err(|problems| wrong.extend(problems)).ok();
    expanded.filter(|_| wrong.is_empty()).ok_or(wrong)
}

fn run(suite: ExpandedSuite, options: Options, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let bucket = options.bucket.clone().ok_or_else(nowhere)?;
    let known = profile::find(&S3, options.profile.as_deref(), None, loader)?;
    let facts = TargetFacts {
        file_system: Some("S3".into()),
        source: options.endpoint.clone(),
        ..TargetFacts::default()
    };
    let command = Some(again(&options, &bucket));
    let side = CheckedDirectory { folder: bucket, facts, profile: known, command };
    let plan = lower::plan(&suite, &options, &side.folder);
    let terminal = loader.terminals().1;
    let setup =
        Setup { suite, sides: vec![side], options: options.of_reports(), terminal, ..Setup::default() };
    let setup = Arc::new(setup);
    let files = options.suite.report_files().collect();
    let judged = Arc::clone(&setup);
    Ok(Request::Run(Box::new(Run {
        files,
        keep: options.history.clone().keep(),
        findings: false,
        status: Some(Box::new(move |record| report::results(&judged, record).status())),
        ..Run::of(plan, Box::new(Reports::new(setup)))
    })))
}

/// The command that checks the same again, without what chooses rules.
fn again(options: &Options, bucket: &str) -> String {
    let mut words = vec!["iodyno".into(), "s3check".into(), scripts::shell(bucket)];
    let mut add = |option: &str, value: Option<&String>| {
        words.extend(value.map(|value| format!("{option} {}", scripts::shell(value))));
    };
    add("--endpoint", options.endpoint.as_ref());
    add("--region", options.region.as_ref());
    add("--credentials", options.credentials.as_ref());
    add("--addressing", Some(&options.addressing).filter(|how| *how != "path"));
    options.suite.rules.iter().for_each(|folder| add("--rules", Some(folder)));
    words.join(" ")
}

impl Options {
    /// What reports go by: the options that both commands have.
    fn of_reports(&self) -> crate::posix::options::Options {
        crate::posix::options::Options {
            folder: self.bucket.clone(),
            suite: self.suite.clone(),
            ..crate::posix::options::Options::parse_from(["iodyno posix"])
        }
    }
}
