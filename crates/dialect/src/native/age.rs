//! `[[age]]`: a file system that is made old before the first phase. What its keys mean is said in [`Aging`].

use iodyno_model::Aging;

use super::fields::{Fields, Wrong};
use super::tree::Node;

/// One table.
pub(super) fn read(node: &Node, wrong: &Wrong) -> Aging {
    let fields = Fields::new(node, "an aging", wrong);
    let mut aging = Aging::new("", 0.0);
    aging.origin = node.origin.clone();
    fields.fill(&mut aging);
    let missing = ["in", "to"].into_iter().filter(|name| fields.node(name).is_none());
    missing.for_each(|name| {
        let hint = "write [[age]] with in = \"/mnt/test\" and to = \"70%\"";
        wrong.error(fields.origin(), format!("an aging needs `{name}`"), hint);
    });
    fields.unknown();
    aging
}
