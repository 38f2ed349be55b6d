//! `[[age]]`: a file system that is made old before the first phase. What its keys mean is said in [`Aging`].

use iodyno_model::Aging;

use super::fields::{Fields, Wrong};
use super::pattern;
use super::tree::Node;
use super::value::{number, percent, small_count, text};

/// One table.
pub(super) fn read(node: &Node, wrong: &Wrong) -> Aging {
    let fields = Fields::new(node, "an aging", wrong);
    let aging = Aging {
        directory: fields.or("in", text, String::new()),
        full_percent: fields.or("to", percent, 0.0),
        turnover: fields.or("turnover", number, 3.0),
        sizes: fields.or("sizes", pattern::size, Aging::usual_sizes()),
        youth: fields.or("youth", number, 2.0),
        workers: fields.or("workers", small_count, 2),
        reserved: fields.flag("reserved"),
        remove: false,
        origin: node.origin.clone(),
    };
    let missing = ["in", "to"].into_iter().filter(|name| fields.node(name).is_none());
    missing.for_each(|name| {
        let hint = "write [[age]] with in = \"/mnt/test\" and to = \"70%\"";
        wrong.error(fields.origin(), format!("an aging needs `{name}`"), hint);
    });
    fields.unknown();
    aging
}
