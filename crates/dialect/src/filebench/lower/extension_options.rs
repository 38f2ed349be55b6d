//! Flowops that others have not: two names, extended attributes, copies inside the kernel; and which file comes next.
//!
//! Refuses what one thread cannot do beside each other: data by mappings and by calls.

use iodyno_model::{Item, Offset, Operation, Pick, Size, Step, Verb};

use super::flowop_compiler::FlowopCompiler;
use crate::filebench::report::squares_of;
use crate::filebench::script::Flowop;
use crate::filebench::value::ScriptValue;
use crate::filebench::view::ObservedValue;

/// Beyond it, one file is all that is picked.
const SKEW_MOST: f64 = 10.0;
/// Slots that a thread goes through with `opennext`, at most: the original's own number.
const ROTOR_MOST: u64 = 128;
/// How long an extended attribute's value is where nothing says so, bytes.
const VALUE_BYTES: u64 = 64;
/// The longest value that the system takes.
const VALUE_BYTES_MOST: u64 = 64 << 10;

/// How a thread's data is moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataPaths {
    pub called: bool,
    /// By mappings.
    pub mapped: bool,
    /// Handed over without waiting.
    pub background: bool,
    /// How many its flowops hand over in a turn of the thread.
    pub handed_over: u64,
}

/// Whether a flowop works on files by their names, so that none can just stay open.
pub fn by_name(kind: &str) -> bool {
    const NAMES: &str = "\
    openfile createfile closefile deletefile statfile renamefile linkfile symlinkfile copyfilerange \
    truncatefile";
    NAMES.split(' ').any(|name| name == kind) || kind.ends_with("xattr")
}

/// Whether a flowop makes a name that was free.
pub fn creates(kind: &str) -> bool {
    ["createfile", "renamefile", "linkfile", "symlinkfile"].contains(&kind)
}

impl FlowopCompiler<'_, '_> {
    /// Which of those that exist a flowop picks, where nothing numbers them: each in turn, or any, the popular ones more
    /// often where it says `skew`.
    pub(super) fn any(&mut self, flowop: &Flowop) -> Pick {
        let in_turn = self.reader.flag(&flowop.attributes, &["opennext", "rotatefd"]);
        let Some(attribute) = flowop.attributes.get(&["skew"]) else {
            return if in_turn { Pick::Sequential } else { Pick::Uniform };
        };
        let Some(theta) = self.reader.number(&flowop.attributes, &["skew"]) else { return Pick::Uniform };
        let wrong = match theta {
            _ if in_turn => Some("skew= where each comes in turn"),
            _ if theta <= 0.0 || theta == 1.0 || theta > SKEW_MOST => {
                Some("no exponent of a zipf distribution")
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.reader.complain(&attribute.origin, wrong, "skew=0.9; above 0, up to 10, and not 1");
            return Pick::Uniform;
        }
        Pick::Zipf { theta, center: None }
    }

    /// Which of the files that exist a flowop picks.
    pub(super) fn pick(&mut self, flowop: &Flowop) -> Item {
        let Some(attribute) = flowop.attributes.get(&["indexed", "fileindex"]) else {
            return Item::Existing(self.any(flowop));
        };
        if let Some(skew) = flowop.attributes.get(&["skew"]) {
            let message = format!("skew= beside {}=", attribute.name);
            let hint = "either a number says which file, or their popularity";
            self.reader.complain(&skew.origin, message, hint);
        }
        if attribute.value.is_none() {
            let message = format!("`{}` without a number", attribute.name);
            self.reader.complain(&attribute.origin, message, "indexed=5, or a random variable");
            return Item::Existing(Pick::Uniform);
        }
        let size = match self.reader.value(attribute) {
            Some(ScriptValue::Drawn(draw)) => draw.size(0),
            Some(ScriptValue::Number(number)) => Ok(Size::Fixed(number as u64)),
            Some(other) => Err((format!("`{}` is no number", other.text()), "indexed=5".into())),
            None => return Item::Existing(Pick::Uniform),
        };
        match size {
            Ok(size) => Item::Drawn(size),
            Err((message, hint)) => {
                self.reader.complain(&attribute.origin, format!("{}: {message}", attribute.name), hint);
                Item::Existing(Pick::Uniform)
            }
        }
    }

    /// Whether each turn of a flowop is another file's: not in a slot that the thread fills by name.
    pub(super) fn rotates(&mut self, flowop: &Flowop, place: usize) -> bool {
        let slot = self.reader.count(&flowop.attributes, &["fd"], 0) as u32;
        let filled = self.thread.slots.get(&slot).is_some_and(|slot| slot.opened);
        let asked = self.reader.flag(&flowop.attributes, &["opennext", "rotatefd"]);
        asked && !filled && !self.places[place].is_one_file()
    }

    /// Makes an operation go through slots of their own, a file in each.
    pub(super) fn rotate(&mut self, flowop: &Flowop, place: usize, operation: &mut Operation) {
        if self.rotates(flowop, place) {
            let count = self.places[place].entries.clamp(1, ROTOR_MOST);
            operation.arguments.push(("rotate".into(), count.to_string()));
            // Slots that flowops name are below these.
            operation.handle = operation.handle.map(|slot| ROTOR_MOST as u32 + slot);
        }
    }

    /// What says how long a file is that is written whole: the item in a slot, or a number.
    pub(super) fn like(&mut self, flowop: &Flowop, place: usize, slot: u32) -> (String, String) {
        let source = self.reader.count(&flowop.attributes, &["srcfd"], 0) as u32;
        let held = self.thread.slots.get(&source).filter(|slot| source > 0 && slot.open);
        let (place, slot) = match held.and_then(|slot| slot.place) {
            Some(held) => (held, source),
            None => (place, slot),
        };
        match self.places[place].is_one_file() {
            true => ("total".into(), (self.places[place].mean_bytes() as u64).to_string()),
            false => ("like".into(), slot.to_string()),
        }
    }

    /// A place in the working set: of files that differ in length, in as much as the one at hand has.
    pub(super) fn anywhere(&mut self, flowop: &Flowop, place: usize) -> Offset {
        let set = self.reader.count(&flowop.attributes, &["workingset", "wss"], 0);
        let place = &self.places[place];
        let nominal = match (&place.size, place.is_one_file()) {
            (Size::Fixed(_), _) | (_, true) => place.mean_bytes() as u64,
            _ => 0,
        };
        let span_bytes = match (set, nominal) {
            (0, nominal) => nominal,
            (set, 0) => set,
            (set, nominal) => set.min(nominal),
        };
        Offset::Drawn { pick: Pick::Uniform, span_bytes }
    }

    /// Notes how data is moved, and tells of a thread that would do both.
    pub(super) fn ways(&mut self, flowop: &Flowop) {
        let mapped = flowop.kind.starts_with("mmap");
        self.thread.ways.mapped |= mapped;
        self.thread.ways.called |= !mapped && matches!(flowop.kind.as_str(), "read" | "write");
        if self.thread.ways.mapped && self.thread.ways.called {
            let what = ": one thread moves data by mappings or by calls";
            self.refuse(flowop, what, "give each a thread of its own");
            self.thread.ways.called = false;
        }
    }

    /// Mode bits of the file that a flowop makes, where it says them itself.
    pub(super) fn mode(&mut self, flowop: &Flowop) -> Option<u32> {
        let attribute = flowop.attributes.get(&["createmode"])?;
        if flowop.kind != "createfile" {
            let message = format!("flowop {} makes no file, and has no `createmode`", flowop.kind);
            self.reader.complain(&attribute.origin, message, "say it of createfile, or of the fileset");
            return None;
        }
        self.reader.mode(&flowop.attributes, &["createmode"])
    }

    /// Another name for a file: instead of the old one, beside it, or leading to it.
    pub(super) fn two_names(&mut self, flowop: &Flowop, place: usize, pick: &Item, label: &str) -> Vec<Step> {
        if self.places[place].entries < 2 {
            let hint = "it needs a name that is free: entries=1000,prealloc=80";
            self.refuse(flowop, " on a set of one file", hint);
            return Vec::new();
        }
        let target = self.target(place, false);
        let missing = Item::Missing(Pick::Uniform);
        let (verb, item, other) = match flowop.kind.as_str() {
            "renamefile" => (Verb::Rename, pick.clone(), missing),
            "linkfile" => (Verb::Link, pick.clone(), missing),
            _ => (Verb::Symlink, missing, Item::Existing(Pick::Uniform)),
        };
        let operation = Operation { item, other: Some((target, other)), ..Operation::on(verb, target) };
        vec![self.item(operation).step(label)]
    }

    /// Extended attributes, of what a slot holds or by name.
    pub(super) fn attribute(
        &mut self,
        flowop: &Flowop,
        place: usize,
        slot: u32,
        pick: &Item,
        label: &str,
    ) -> Vec<Step> {
        let target = self.target(place, false);
        let verb = match flowop.kind.as_str() {
            "setxattr" => Verb::Setxattr,
            "getxattr" => Verb::Getxattr,
            "listxattr" => Verb::Listxattr,
            _ => Verb::Removexattr,
        };
        // What is there is read whole, however long it is.
        let usual = if verb == Verb::Setxattr { VALUE_BYTES } else { VALUE_BYTES_MOST };
        let bytes = self.reader.count(&flowop.attributes, &["iosize"], usual).clamp(1, VALUE_BYTES_MOST);
        let open = self.thread.slots.get(&slot).is_some_and(|slot| slot.open && slot.place == Some(place));
        let mut operation = match open {
            true => Operation { item: Item::Held, handle: Some(slot), ..Operation::on(verb, target) },
            false => self.item(Operation { item: pick.clone(), ..Operation::on(verb, target) }),
        };
        if verb != Verb::Removexattr {
            operation.arguments.push(("value_bytes".into(), bytes.to_string()));
        }
        vec![operation.step(label)]
    }

    /// A whole file copied by the kernel, from slot `srcfd` to slot `fd`.
    pub(super) fn copy(&mut self, flowop: &Flowop, slot: u32) -> Option<Operation> {
        let source = self.reader.count(&flowop.attributes, &["srcfd"], 0) as u32;
        let held = self.thread.slots.get(&source).filter(|slot| slot.open).and_then(|slot| slot.place);
        let Some(from) = held.filter(|_| source != slot) else {
            let what = format!(" without a file in slot srcfd={source}");
            self.refuse(flowop, &what, "open one in another slot before, and name it: srcfd=1,fd=2");
            return None;
        };
        let mut operation = self.held(Verb::CopyFileRange, from, source);
        operation.whole = true;
        operation.arguments.push(("to".into(), slot.to_string()));
        Some(operation)
    }

    /// A value that is only looked at: told, or drawn and reckoned with.
    pub(super) fn look(&mut self, flowop: &Flowop, label: &str) -> Vec<Step> {
        let given = flowop.attributes.get(&["value"]).filter(|given| given.value.is_some());
        let Some(attribute) = given else {
            self.refuse(flowop, " without value=", "value=$name");
            return Vec::new();
        };
        let (value, tests) = (self.reader.value(attribute), flowop.kind == "testrandvar");
        let (looked, mut steps) = match value {
            Some(ScriptValue::Drawn(draw)) => match draw.size(0) {
                Ok(size) => {
                    let around = draw.mean().max(1.0);
                    (ObservedValue::Drawn(around), drawn(label, size, around))
                }
                Err((message, hint)) => {
                    self.reader.complain(&attribute.origin, format!("value: {message}"), hint);
                    return Vec::new();
                }
            },
            Some(other) if tests => {
                let message = format!("value={}: no random variable", other.text());
                let hint = "set $x=randvar(type=gamma,mean=16k), value=$x";
                self.reader.complain(&attribute.origin, message, hint);
                return Vec::new();
            }
            Some(other) => {
                let arguments = vec![("says".into(), other.text())];
                let says = Operation { arguments, ..Operation::control(Verb::Spin) };
                (ObservedValue::At(other.text()), vec![says.step(label)])
            }
            None => return Vec::new(),
        };
        self.rows
            .iter_mut()
            .filter(|row| row.label == label)
            .for_each(|row| row.value = Some(looked.clone()));
        steps.iter_mut().for_each(|step| step.origin = flowop.origin.clone());
        steps
    }
}

/// Draws a number, and takes note of it and of how far it is from what is expected.
fn drawn(label: &str, size: Size, around: f64) -> Vec<Step> {
    let says = |name: &str, value: String| (name.to_string(), value);
    let draw =
        Operation { size, arguments: vec![says("draws", "true".into())], ..Operation::control(Verb::Spin) };
    let square = Operation {
        size: Size::ResultOf(label.into()),
        arguments: vec![says("draws", "true".into()), says("around", around.to_string())],
        ..Operation::control(Verb::Spin)
    };
    vec![draw.step(label), square.step(&squares_of(label))]
}
