//! What is measured and how: the options, resolved against the address and the engines of this machine.

use iodyno_model::{Diagnostic, Origin, Setting};

use super::budget::StoreBudget;
use super::prices::{self, Prices};
use crate::Loader;
use crate::engine_choice::{StoreEngine, store_engine};
use crate::measure::options::Options;

/// What is measured and how, decided before the plan is written.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// As it was given, without a slash at its end.
    pub url: String,
    pub engine: StoreEngine,
    /// What the engine is told, in every job.
    pub settings: Vec<Setting>,
    /// Where the store answers, as far as options or the environment say.
    pub endpoint: Option<String>,
    pub budget: StoreBudget,
    pub seed: u64,
    /// Makes names unique: the process.
    pub unique: String,
    pub prices: Option<Prices>,
    /// What will not be measured, and why.
    pub skipped: Vec<String>,
    /// What is removed stays stored as a version.
    pub keeps_versions: bool,
    /// The store was asked before the run what killed runs had left there.
    pub was_looked_into: bool,
}

impl StoreSettings {
    /// The prefix of all that is made.
    pub fn own_prefix(&self) -> String {
        format!("{}/{}{}", self.url, super::left::PREFIX, self.unique)
    }

    pub fn has_parts(&self) -> bool {
        self.engine.has_parts
    }
}

const EXAMPLE: &str = "e.g. iodyno measure s3://BUCKET/PREFIX --endpoint http://HOST:PORT";

/// What the options come to.
pub fn resolve(options: &Options, loader: &mut dyn Loader) -> Result<StoreSettings, Vec<Diagnostic>> {
    let origin = Origin::argument(&options.path);
    let wrong = |message: String, hint: &str| vec![Diagnostic::error(&origin, message).hint(hint)];
    let (scheme, rest) = options.path.split_once("://").unwrap_or_default();
    let Some(engine) = store_engine(scheme) else {
        return Err(wrong(format!("no store is reached by `{scheme}://`"), "s3://, rados:// or hdfs://"));
    };
    if rest.split('/').next().is_none_or(str::is_empty) {
        return Err(wrong("it names no bucket".into(), EXAMPLE));
    }
    for (option, given) in [("--size", options.size.is_some()), ("--engine", options.engine.is_some())] {
        if given {
            let wrong =
                Diagnostic::error(&Origin::argument(option), "a store has neither a size nor other engines");
            return Err(vec![wrong.hint("leave it out; --quick and --full say how much is done")]);
        }
    }
    loader.engine_available(engine.name).map_err(|why| wrong(why, "iodyno engines tells what is missing"))?;
    let mut budget = match (options.quick, options.full) {
        (true, _) => StoreBudget::QUICK,
        (_, true) => StoreBudget::FULL,
        _ => StoreBudget::DEFAULT,
    };
    if let Some(ns) = options.time {
        (budget.cell_ns, budget.depth_ns, budget.made_ns) = (ns, ns, ns);
    }
    let mut skipped = Vec::new();
    if engine.has_one_writer {
        skipped.push("the mix: a file has one writer there, and nobody reads it meanwhile".into());
    }
    let prices = options.store.prices.as_deref().map(|path| prices::read(path, loader)).transpose()?;
    if let (Some(path), false) = (&options.store.prices, engine.is_http) {
        let wrong = Diagnostic::error(
            &Origin::argument(&format!("--prices {path}")),
            "requests of s3:// alone have prices",
        );
        return Err(vec![wrong.hint("leave it out")]);
    }
    Ok(StoreSettings {
        url: options.path.trim_end_matches('/').into(),
        settings: engine_settings(options, &engine)?,
        endpoint: endpoint(options, &engine, loader),
        engine,
        budget,
        seed: options.seed,
        unique: loader.process(),
        prices,
        skipped,
        keeps_versions: false,
        was_looked_into: false,
    })
}

fn endpoint(options: &Options, engine: &StoreEngine, loader: &dyn Loader) -> Option<String> {
    let variable = |name: &str| loader.variable(name).filter(|value| !value.is_empty());
    let known = || variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
    options.store.endpoint.clone().or_else(|| engine.is_http.then(known).flatten())
}

/// What was given for the engine, each with where it was said.
fn engine_settings(options: &Options, engine: &StoreEngine) -> Result<Vec<Setting>, Vec<Diagnostic>> {
    let store = &options.store;
    let named = [
        ("endpoint", &store.endpoint),
        ("region", &store.region),
        ("addressing", &store.addressing),
        ("credentials", &store.credentials),
    ];
    let mut settings = Vec::new();
    for (name, value) in named {
        let Some(value) = value else { continue };
        let origin = Origin::argument(&format!("--{name} {value}"));
        if !engine.is_http {
            let wrong = Diagnostic::error(&origin, format!("the engine {} has no {name}", engine.name));
            return Err(vec![wrong.hint(format!(
                "`iodyno engines {}` lists what it can be told: --setting NAME=VALUE",
                engine.name
            ))]);
        }
        settings.push(Setting { name: name.into(), value: value.clone(), origin });
    }
    for text in &store.settings {
        let origin = Origin::argument(&format!("--setting {text}"));
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            let wrong = Diagnostic::error(&origin, "expected NAME=VALUE");
            return Err(vec![wrong.hint(format!("`iodyno engines {}` lists the names", engine.name))]);
        };
        settings.push(Setting { name: name.into(), value: value.into(), origin });
    }
    Ok(settings)
}
