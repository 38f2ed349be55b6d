//! Files of results, told again or held against each other.

use iodyno_model::{Diagnostic, Origin};

use super::aggregate::{Sums, sums};
use super::requests::{WarpRequest, parse};
use super::test::Telling;
use super::{compare, json, pack, report};
use crate::{Loader, Request, Written};

/// The answer to `warp analyze FILE`.
///
/// # Errors
/// What is wrong with the file.
pub fn analyze(path: &str, telling: &Telling, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let sums = read(path, telling, loader).map_err(|wrong| vec![wrong])?;
    let out = report::text(&sums, telling);
    Ok(match &telling.segments {
        Some(path) if path != "-" => {
            let file = Written { path: path.clone(), text: report::segments(&sums), program: false };
            Request::Write { files: vec![file], out, status: 0 }
        }
        Some(_) => Request::Print { out: out + &report::segments(&sums), status: 0 },
        None => Request::Print { out, status: 0 },
    })
}

/// The answer to `warp cmp BEFORE AFTER`.
///
/// # Errors
/// What is wrong with the files.
pub fn compare(
    files: &[String],
    telling: &Telling,
    loader: &mut dyn Loader,
) -> Result<Request, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let mut all =
        files.iter().filter_map(|path| read(path, telling, loader).map_err(|one| wrong.push(one)).ok());
    let (before, after) = (all.next(), all.next());
    drop(all);
    match (before, after) {
        (Some(before), Some(after)) => {
            Ok(Request::Print { out: compare::text(&before, &after, telling), status: 0 })
        }
        _ => Err(wrong),
    }
}

/// The sums of a file of results: of requests one by one, or as they were summed up.
fn read(path: &str, telling: &Telling, loader: &mut dyn Loader) -> Result<Sums, Diagnostic> {
    let origin = Origin::argument(path);
    let hint =
        "name a file NAME.csv.zst or NAME.json.zst that warp or iodyno warp wrote, or - for standard input";
    let wrong = |text: String| Diagnostic::error(&origin, text).hint(hint);
    let bytes = if path == "-" { loader.standard_input() } else { loader.read(path) };
    let text = bytes.and_then(|bytes| pack::text(&bytes)).map_err(wrong)?;
    if text.trim_start().starts_with('{') {
        if telling.host.is_some() || telling.skip_ns > 0 || telling.limit > 0 || telling.offset > 0 {
            let message = "a file of sums does not tell hosts and times apart: --analyze.host, .skip, .limit and .offset";
            return Err(Diagnostic::error(&origin, message).hint("write requests one by one: --full"));
        }
        return json::parse(&text).map_err(wrong);
    }
    let mut requests = parse(&text).map_err(wrong)?;
    if requests.is_empty() {
        return Err(wrong("no request stands in it".into()));
    }
    requests.sort_by_key(|request| request.began);
    let some = filtered(&requests, telling);
    Ok(sums(some.as_deref().unwrap_or(&requests), ""))
}

/// The requests that are told of; none: all.
pub fn filtered(requests: &[WarpRequest], telling: &Telling) -> Option<Vec<WarpRequest>> {
    if telling.host.is_none() && telling.skip_ns == 0 && telling.limit == 0 && telling.offset == 0 {
        return None;
    }
    let mut first = std::collections::BTreeMap::<&str, u64>::new();
    for request in requests {
        let began = first.entry(&request.kind).or_insert(request.began);
        *began = request.began.min(*began);
    }
    let limit = if telling.limit == 0 { usize::MAX } else { telling.limit };
    let is_told = |request: &&WarpRequest| {
        let is_late = request.began >= first[request.kind.as_str()].saturating_add(telling.skip_ns);
        let is_there = telling.host.as_ref().is_none_or(|host| request.host == *host);
        is_late && is_there
    };
    Some(requests.iter().skip(telling.offset).take(limit).filter(is_told).cloned().collect())
}
