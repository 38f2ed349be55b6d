//! How fast and until when: what no table of the model can tell of `rate`, `think`, `shared`, `until` and `finish`.

use iodyno_model::reflect::Reflect;
use iodyno_model::{Per, PerDirection, Rate, SharedUse, Steady, Think, Verb};

use super::inline::{must, record, table};
use super::tree::Node;
use super::value::{Read, rate, some_bytes, text, verb};

/// One rate for all operations together, or one for each direction.
pub(super) fn rates(node: &Node) -> Read<(Rate, PerDirection<Rate>)> {
    match node.has(&["read", "write", "trim"]) {
        true => Ok((Rate::Unlimited, record(node)?)),
        false => Ok((rate(node)?, PerDirection::default())),
    }
}

/// A pause comes after every operation, unless it comes after a time.
pub(super) fn think(node: &Node) -> Read<Think> {
    let mut think = Think::default();
    table(node, &mut think, &[])?;
    if think.every == 0 && !node.has(&["after"]) {
        think.every = 1;
    }
    Ok(think)
}

/// What gates every operation of a job; only steps look at what others did.
pub(super) fn gate(node: &Node) -> Read<SharedUse> {
    match record(node)? {
        SharedUse { from: Some(_), .. } => Err("`from` belongs to the shared object of a step".into()),
        gate => Ok(gate),
    }
}

pub(super) fn per(node: &Node) -> Read<Per> {
    match node.word() {
        Some("use") => Ok(Per::Use),
        Some("operation") => Ok(Per::Operation),
        _ => some_bytes(node)
            .map(Per::Bytes)
            .map_err(|_| "expected \"use\", \"operation\" or a size such as \"1MiB\"".into()),
    }
}

/// When a rate counts as steady: `{ what = "operations", limit = "0.3%", window = "10s" }`.
pub(super) fn steady(node: &Node) -> Read<Steady> {
    let mut steady = Steady::blank();
    table(node, &mut steady, &[])?;
    steady.percent = must(node, "limit", text)?.ends_with('%');
    Ok(steady)
}

/// The number of a limit, which may be a percentage.
pub(super) fn steady_limit(node: &Node) -> Read<f64> {
    let text = text(node)?;
    let limit = text.strip_suffix('%').unwrap_or(&text).trim().parse::<f64>().ok();
    let expected = "expected a number above 0 or a percentage such as \"0.3%\"";
    limit.filter(|limit| *limit > 0.0).ok_or_else(|| expected.into())
}

pub(super) fn sync(node: &Node) -> Read<Verb> {
    match verb(node) {
        Ok(verb) if verb.kind() == iodyno_model::Kind::Sync => Ok(verb),
        _ => Err("expected fsync, fdatasync, syncfs, sync_file_range or msync".into()),
    }
}
