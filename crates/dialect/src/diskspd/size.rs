//! Sizes as diskspd's users type them, and distributions of random places.
//!
//! Blocks are of `-b`, which may follow later. It refuses sizes that no target has.

use super::settings::{DistributionRange, RangeLength};
use crate::quantity::BINARY;

/// More is no target's size.
const MOST_BYTES: u64 = 1 << 60;

/// A size as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedSize {
    Bytes(u64),
    /// Of `-b`.
    Blocks(u64),
}

impl TypedSize {
    pub(super) fn bytes(self, block_bytes: u64) -> Option<u64> {
        match self {
            TypedSize::Bytes(bytes) => Some(bytes),
            TypedSize::Blocks(count) => count.checked_mul(block_bytes).filter(|bytes| *bytes <= MOST_BYTES),
        }
    }
}

/// `4096`, `64K`, `1G`, `3b`.
pub(super) fn typed(value: &str) -> Result<TypedSize, String> {
    let expected = || format!("`{value}`: expected a size such as 64K, 1G, or 3b for blocks");
    if let Some(blocks) = value.strip_suffix('b') {
        return blocks.parse().map(TypedSize::Blocks).map_err(|_| expected());
    }
    let is_size = value.starts_with(|first: char| first.is_ascii_digit());
    let bytes =
        BINARY.whole(value, "64K or 1G").ok().filter(|_| is_size).and_then(|bytes| u64::try_from(bytes).ok());
    let bytes = bytes.filter(|bytes| *bytes <= MOST_BYTES);
    bytes.map(TypedSize::Bytes).ok_or_else(expected)
}

pub(super) fn optional(value: &str) -> Result<Option<TypedSize>, String> {
    match value {
        "" => Ok(None),
        value => match typed(value)? {
            TypedSize::Bytes(0) | TypedSize::Blocks(0) => Err("expected a size above 0".into()),
            size => Ok(Some(size)),
        },
    }
}

/// `pct10/5:60/20`, `abs10/1G:60/8G`: operations, and the part of the target that they go to.
pub(super) fn distribution(value: &str) -> Result<Vec<DistributionRange>, String> {
    let (is_percent, list) = match (value.strip_prefix("pct"), value.strip_prefix("abs")) {
        (Some(list), _) => (true, list),
        (_, Some(list)) => (false, list),
        _ => return Err("expected pct10/5:60/20 or abs10/1G:60/8G".into()),
    };
    let range = |word: &str| {
        let expected = || format!("`{word}`: expected OPERATIONS/TARGET, e.g. 60/20");
        let (operations, target) = word.split_once('/').ok_or_else(expected)?;
        let io_percent =
            operations.parse::<u32>().ok().filter(|percent| *percent <= 100).ok_or_else(expected)?;
        let length = match (is_percent, typed(target)?) {
            (true, TypedSize::Bytes(percent @ 1..=100)) => RangeLength::Percent(percent as u32),
            (false, TypedSize::Bytes(bytes @ 1..)) => RangeLength::Bytes(bytes),
            _ => return Err(expected()),
        };
        Ok(DistributionRange { io_percent, length })
    };
    let ranges = list.split(':').map(range).collect::<Result<Vec<_>, String>>()?;
    let operations: u32 = ranges.iter().map(|range| range.io_percent).sum();
    let target: u32 = ranges
        .iter()
        .map(|range| match range.length {
            RangeLength::Percent(percent) => percent,
            RangeLength::Bytes(_) => 0,
        })
        .sum();
    match operations > 100 || target > 100 {
        true => Err("the percentages come to more than 100".into()),
        false => Ok(ranges),
    }
}
