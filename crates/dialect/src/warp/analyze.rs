//! Files of results, told again or held against each other.

use iodyno_model::{Diagnostic, Origin};

use super::aggregate::{Sums, sums};
use super::requests::{KINDS, WarpRequest, parse, table};
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
            let bytes = report::segments(&sums).into_bytes();
            let file = Written { path: path.clone(), bytes, program: false };
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

/// The answer to `warp merge FILE FILE…`: the requests of all as if one client had made them.
///
/// # Errors
/// What is wrong with the files.
pub fn merge(files: &[String], name: &str, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let (mut wrong, mut all, mut threads) = (Vec::new(), Vec::new(), 0);
    for path in files {
        let text = match text_of(path, loader) {
            Ok(text) if text.trim_start().starts_with('{') => {
                let told =
                    Diagnostic::error(&Origin::argument(path), "a file of sums holds no requests to merge");
                wrong.push(told.hint("write requests one by one: --full"));
                continue;
            }
            Ok(text) => text,
            Err(told) => {
                wrong.push(told);
                continue;
            }
        };
        match parse(&text) {
            Ok(mut requests) => {
                requests
                    .iter_mut()
                    .for_each(|request| request.thread = request.thread.saturating_add(threads));
                let last = requests.iter().map(|request| request.thread).max();
                threads = last.map_or(threads, |last| last.saturating_add(1));
                all.append(&mut requests);
            }
            Err(text) => wrong.push(Diagnostic::error(&Origin::argument(path), text).hint(HINT)),
        }
    }
    if wrong.is_empty() && all.is_empty() {
        wrong.push(
            Diagnostic::error(&Origin::argument(&files[0]), "no request stands in the files").hint(HINT),
        );
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    all.sort_by_key(|request| request.began);
    let path = format!("{name}.csv.zst");
    let mut out = format!("warp: Benchmark data written to \"{path}\"\n");
    for kind in KINDS.into_iter().filter(|kind| !overlaps(&all, kind)) {
        out += &format!("warp: Type {kind} contains no overlapping items\n");
    }
    let bytes = pack::packed(table(&all, &format!("warp merge --benchdata={name}")).as_bytes());
    Ok(Request::Write { files: vec![Written { path, bytes, program: false }], out, status: 0 })
}

/// Whether there was a time at which all threads made requests of a kind, or none of them made any.
fn overlaps(requests: &[WarpRequest], kind: &str) -> bool {
    let mut threads = std::collections::BTreeMap::<u32, (u64, u64)>::new();
    for request in requests.iter().filter(|request| request.kind == kind) {
        let (began, ended) = threads.entry(request.thread).or_insert((request.began, request.ended));
        (*began, *ended) = (request.began.min(*began), request.ended.max(*ended));
    }
    let (last, first) =
        (threads.values().map(|(began, _)| *began).max(), threads.values().map(|(_, ended)| *ended).min());
    last.zip(first).is_none_or(|(last, first)| last < first)
}

const HINT: &str =
    "name a file NAME.csv.zst or NAME.json.zst that warp or iodyno warp wrote, or - for standard input";

/// The text of a file of results.
fn text_of(path: &str, loader: &mut dyn Loader) -> Result<String, Diagnostic> {
    let bytes = if path == "-" { loader.standard_input() } else { loader.read(path) };
    bytes
        .and_then(|bytes| pack::text(&bytes))
        .map_err(|text| Diagnostic::error(&Origin::argument(path), text).hint(HINT))
}

/// The sums of a file of results: of requests one by one, or as they were summed up.
fn read(path: &str, telling: &Telling, loader: &mut dyn Loader) -> Result<Sums, Diagnostic> {
    let origin = Origin::argument(path);
    let wrong = |text: String| Diagnostic::error(&origin, text).hint(HINT);
    let text = text_of(path, loader)?;
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
