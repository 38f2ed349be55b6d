//! What an earlier `measure` left below the prefix when it was killed.
//!
//! The prefixes of runs say which process made them. One list of names that begin like that finds them, and nothing else is
//! listed; Ceph alone has no lists but those of a whole pool or namespace.

use iodyno_model::{Diagnostic, Origin};

use super::lower;
use super::settings::StoreSettings;
use crate::Loader;
use crate::measure::left::LeftoverFiles;

/// What the prefix of a run begins with; the process that made it follows.
pub const PREFIX: &str = "iodyno-measure-";

/// Looks for what was left where this run will make its own, and notes what else the look tells.
pub fn find(settings: &mut StoreSettings, loader: &mut dyn Loader) -> LeftoverFiles {
    let mut left = LeftoverFiles::default();
    // What is wrong with the store is said by the run itself; who may not list finds nothing.
    let Ok(look) = loader.look_into_store(&lower::job_of_looks(settings), &settings.url, PREFIX) else {
        return left;
    };
    settings.was_looked_into = true;
    settings.keeps_versions = look.keeps_versions;
    for name in look.names {
        let Some(process) = name.strip_prefix(PREFIX) else { continue };
        let url = format!("{}/{name}", settings.url);
        match loader.is_over(process) {
            Some(true) => left.abandoned.push(url),
            Some(false) => {}
            None => left.unknown.push(unknown(&url, settings.engine.name)),
        }
    }
    left
}

fn unknown(url: &str, engine: &str) -> Diagnostic {
    let how = match engine {
        "rados" => "`rados ls` has the names".to_string(),
        "hdfs" => format!("`hdfs dfs -rm -r {url}`"),
        _ => format!("aws s3 rm --recursive {url}/"),
    };
    let message = format!("{url}: made by another `iodyno measure`, perhaps on another machine");
    Diagnostic::note(&Origin::Default, message)
        .hint(format!("if none is running there, remove what lies below it, e.g. {how}"))
}
