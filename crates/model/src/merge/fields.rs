//! The numbers of two values of one type made one, field by field, by the type's table.

use crate::reflect::{Reflect, ReflectMut, ReflectRef};

/// Adds all numbers of another value; what may be missing, lists, text and bools stay as they are.
pub(super) fn add(mine: &mut dyn Reflect, other: &dyn Reflect) {
    merge(mine, other, &|a, b| a + b);
}

/// Adds whole numbers; of shares the mean, each weighted by what it is a share of.
pub(super) fn mean(mine: &mut dyn Reflect, other: &dyn Reflect, of_mine: f64, of_other: f64) {
    let all = (of_mine + of_other).max(1.0);
    merge(mine, other, &|a, b| (a * of_mine + b * of_other) / all);
}

fn merge(mine: &mut dyn Reflect, other: &dyn Reflect, shares: &dyn Fn(f64, f64) -> f64) {
    match (mine.slot(), other.view()) {
        (ReflectMut::U32(mine), ReflectRef::Unsigned(other)) => *mine += other as u32,
        (ReflectMut::U64(mine), ReflectRef::Unsigned(other)) => *mine += other,
        (ReflectMut::F64(mine), ReflectRef::Float(other)) => *mine = shares(*mine, other),
        (ReflectMut::Tuple(mine), ReflectRef::Tuple(other)) => {
            (0..mine.arity()).for_each(|index| merge(mine.item_mut(index), other.item(index), shares));
        }
        (ReflectMut::Composite(mine), ReflectRef::Composite(other)) if mine.variant() == other.variant() => {
            let members = mine.table().variants[mine.variant()].members;
            (0..members.len()).for_each(|index| merge(mine.field_mut(index), other.field(index), shares));
        }
        _ => {}
    }
}
