//! Written and recorded workloads in words, one line for each step or entry.

use iodyno_model::{
    Action, Actor, Call, Conversion, Expect, Item, Job, Kind, Offset, Operation, Per, Pick, Plan, RecordForm,
    SampleOrder, Script, SharedUse, Size, Step, Trace, Verb,
};

use super::exact::{bytes, many, time};
use super::pattern::{self, pick, size};
use super::phrase::{phrases, word};

/// What a step's words need to know.
struct StepPrinter<'a> {
    plan: &'a Plan,
    job: &'a Job,
    script: &'a Script,
}

/// The lines of a script, without their indent.
pub(crate) fn lines(plan: &Plan, job: &Job, script: &Script) -> Vec<String> {
    let scene = StepPrinter { plan, job, script };
    let mut lines: Vec<_> = script.actors.iter().map(actor).collect();
    lines.push("script".into());
    script.steps.iter().for_each(|step| scene.step(step, 1, &mut lines));
    lines
}

fn actor(actor: &Actor) -> String {
    let identity = match (actor.uid, actor.gid) {
        (u32::MAX, u32::MAX) => "as whoever runs it".into(),
        (uid, gid) => format!("user {uid} group {gid}"),
    };
    let mut text = format!("actor \"{}\": {identity}", actor.name);
    if !actor.groups.is_empty() {
        let groups: Vec<_> = actor.groups.iter().map(ToString::to_string).collect();
        text.push_str(&format!(" and {}", groups.join(", ")));
    }
    text.push_str(&format!(", umask {:03o}", actor.umask));
    text
}

impl StepPrinter<'_> {
    fn step(&self, step: &Step, level: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(level);
        let times = if step.repeat == 1 { String::new() } else { format!("{} × ", step.repeat) };
        match &step.action {
            Action::Do(operation) => {
                lines.push(format!("{indent}{times}\"{}\": {}", step.label, self.operation(operation)));
            }
            Action::Call(call) => lines.push(format!("{indent}{times}{}", self.call(call))),
            Action::Block(steps) => {
                lines.push(format!("{indent}{times}\"{}\", timed as one", step.label));
                steps.iter().for_each(|step| self.step(step, level + 1, lines));
            }
        }
    }

    /// A system call: `as other: chmod f 0644 · must fail with EPERM`.
    fn call(&self, call: &Call) -> String {
        let who = call.actor.map_or_else(String::new, |index| format!("{}: ", self.actor(index)));
        let background = if call.background { "in the background " } else { "" };
        let arguments: String = call.arguments.iter().map(|word| format!(" {word}")).collect();
        let mut words = vec![format!("{who}{background}{}{arguments}", call.name)];
        words.extend(call.expect.iter().map(expect));
        words.join(" · ")
    }

    fn operation(&self, operation: &Operation) -> String {
        let mut words = vec![self.deed(operation)];
        if let Some(used) = &operation.shared {
            words[0].push_str(&shared(operation.verb, used));
        }
        words.extend(place(operation));
        words.extend(transfer(operation));
        if operation.skips > 0 {
            words.push(format!("if it fails, the next {} are left out", operation.skips));
        }
        words.extend(operation.arguments.iter().map(|(name, value)| format!("{name} {value}")));
        words.join(" · ")
    }

    /// Verb, size and object: `write 4 KiB to a missing item of "mail" in slot 1`.
    fn deed(&self, operation: &Operation) -> String {
        let mut text = operation.verb.to_string();
        if operation.background {
            text.insert_str(0, "in the background ");
        }
        if operation.time_ns > 0 {
            text.push_str(&format!(" {}", time(operation.time_ns)));
        }
        if let Some((number, unit_ns)) = &operation.drawn {
            let counts = operation.shared.is_some() && *unit_ns == 1.0;
            let of = |number: u64| match counts {
                true => number.to_string(),
                false => time((number as f64 * unit_ns) as u64),
            };
            text.push_str(&format!(" {}", pattern::amount(number, &of)));
        }
        if let Some(data) = operation.item_data {
            text.push_str(if operation.verb == Verb::Create { " and write" } else { " and read" });
            phrases(&data, "sync read_back").iter().for_each(|word| text.push_str(&format!(" ({word})")));
        }
        if operation.verb.moves_data() || operation.size != Size::default() {
            text.push_str(&format!(" {}", size(&operation.size)));
        }
        if let Some(answer) = &operation.answer {
            text.push_str(&format!(" for {}", size(answer)));
        }
        if operation.whole {
            text.push_str(" at a time to the end");
        }
        text.push_str(&self.object(operation));
        if let Some((target, other)) = &operation.other {
            text.push_str(&format!(" to {}", self.item(*target, other)));
        }
        text
    }

    fn object(&self, operation: &Operation) -> String {
        match (operation.target, operation.handle, &operation.item) {
            (None, None, Item::Whole) => String::new(),
            (None, None, which) => format!(" on {}", item(which)),
            (Some(target), Some(slot), Item::Held) => {
                format!(" on slot {slot} of {}", self.item(target, &Item::Whole))
            }
            (None, Some(slot), _) => format!(" on slot {slot}"),
            (Some(target), None, which) => format!(" on {}", self.item(target, which)),
            (Some(target), Some(slot), which) => format!(" on {} in slot {slot}", self.item(target, which)),
        }
    }

    fn item(&self, target: usize, which: &Item) -> String {
        let index = self.job.targets.get(target);
        let name = index.and_then(|index| self.plan.targets.get(*index)).map(|target| target.name.as_str());
        let name = name.unwrap_or("a target that is missing");
        match which {
            Item::Whole => name.into(),
            which => format!("{} of {name}", item(which)),
        }
    }

    fn actor(&self, index: usize) -> String {
        match self.script.actors.get(index) {
            Some(actor) => format!("as {}", actor.name),
            None => format!("as actor {index}, who is missing"),
        }
    }
}

fn item(item: &Item) -> String {
    match item {
        Item::Whole => "itself".into(),
        Item::Index(index) => format!("item {index}"),
        Item::Named(name) => format!("\"{name}\""),
        Item::Each => "each in turn".into(),
        Item::Shuffled => "each in random order".into(),
        Item::Listed => "each in the order of its directory".into(),
        Item::Existing(Pick::Sequential) => "the next that exists".into(),
        Item::Existing(way) => format!("one that exists, {},", pick(way)),
        Item::Missing(Pick::Sequential) => "the next that is missing".into(),
        Item::Missing(way) => format!("one that is missing, {},", pick(way)),
        Item::Drawn(number) => format!("one that exists, numbered {},", super::target::drawn(number)),
        Item::Oldest { first, after: None } => format!("each in turn from {first} on"),
        Item::Oldest { first, after: Some(name) } => {
            format!("each in turn from {first} on, behind those of phase \"{name}\"")
        }
        Item::Sampled(order) => samples(order),
        Item::Requested { stored } => requested(*stored).into(),
        Item::Last { further: 0 } => "the same item".into(),
        Item::Last { further } => format!("the item {further} further"),
        Item::Held => "what is held".into(),
        Item::AllHeld => "all that is open".into(),
    }
}

fn requested(stored: bool) -> &'static str {
    if stored { "the next block that the request stores" } else { "the next cached block of the request" }
}

fn samples(order: &SampleOrder) -> String {
    let shuffled = |seeds: &[u32], what: &str| {
        let seeds: Vec<_> = seeds.iter().map(u32::to_string).collect();
        if seeds.is_empty() {
            String::new()
        } else {
            format!(", {what} shuffled by seed {}", seeds.join(", then "))
        }
    };
    let dealt = if order.dealt { " dealt in turn" } else { "" };
    format!(
        "its next of {} samples{dealt}{}{}",
        order.samples,
        shuffled(&order.item_seeds, "items"),
        shuffled(&order.sample_seeds, "samples")
    )
}

fn place(operation: &Operation) -> Option<String> {
    match &operation.offset {
        Offset::Next => None,
        Offset::NextFrom(start) => Some(format!("beginning at {}", bytes(*start))),
        Offset::End => Some("at the end".into()),
        Offset::Again => Some("at the same place".into()),
        Offset::At(offset) => Some(format!("at {}", bytes(*offset))),
        Offset::Sampled { order, record_bytes, .. } => {
            Some(format!("{}, {} each,", samples(order), bytes(*record_bytes)))
        }
        Offset::Requested { stored, .. } => Some(requested(*stored).into()),
        Offset::Drawn { pick: way, span_bytes: 0 } => Some(pick(way)),
        Offset::Drawn { pick: way, span_bytes } => Some(format!("{} in {}", pick(way), bytes(*span_bytes))),
    }
}

fn transfer(operation: &Operation) -> Vec<String> {
    let mut words = phrases(&operation.transfer, "full pad gather sparse skip_failed");
    words.extend(phrases(operation, "at_end"));
    words.extend(phrases(&operation.transfer, "total_bytes call_bytes"));
    words.extend(phrases(operation, "buffer"));
    words.extend(operation.conversion.iter().flat_map(|conversion| converted(conversion)));
    words
}

fn converted(conversion: &Conversion) -> Vec<String> {
    let table = (!conversion.bytes.is_empty()).then(|| "bytes by a table".to_string());
    let swap = conversion.swap.then(|| "pairs of bytes swapped".to_string());
    let records = match conversion.records {
        RecordForm::AsRead => None,
        RecordForm::FromLines { bytes: record, .. } => Some(format!("lines to records of {}", bytes(record))),
        RecordForm::ToLines { bytes: record, .. } => Some(format!("records of {} to lines", bytes(record))),
    };
    [table, swap, records].into_iter().flatten().collect()
}

fn shared(verb: Verb, used: &SharedUse) -> String {
    match verb {
        Verb::Wait => format!(" for {}", amount(used)),
        Verb::Post => format!(" of {}", amount(used)),
        Verb::Finish => format!(" once there are {}", amount(used)),
        verb if verb.kind() == Kind::Control => format!(" with {}", amount(used)),
        _ => format!(", counted as {}", amount(used)),
    }
}

/// How much of which shared object.
pub(crate) fn amount(used: &SharedUse) -> String {
    let mut text = format!("{} \"{}\"", used.amount, used.name);
    match used.per {
        Per::Use => {}
        Per::Operation => text.push_str(" per operation"),
        Per::Bytes(unit) => text.push_str(&format!(" per {}", bytes(unit).trim_start_matches("1 "))),
    }
    text.extend(phrases(used, "of from").iter().map(|word| format!(" {word}")));
    text.extend(phrases(used, "retry_ns lanes first_lane sharers").iter().map(|word| format!(", {word}")));
    text
}

fn expect(expect: &Expect) -> String {
    match expect {
        Expect::Succeeds => "must succeed".into(),
        Expect::Answers(all) => format!("must answer {}", all.join(" or ")),
        Expect::Fails(names) => format!("must fail with {}", names.join(" or ")),
        Expect::Attribute { name, relation, value } => format!("must have {name} {relation} {value}"),
    }
}

/// The lines of a trace, without their indent.
pub(crate) fn trace(plan: &Plan, job: &Job, trace: &Trace) -> Vec<String> {
    let timing = word(&trace.timing);
    let source = match (&trace.path, trace.format.as_str()) {
        (Some(path), format) => format!("trace {path} ({format})"),
        (None, "") => format!("trace of {}", entries(trace)),
        (None, format) => format!("trace of {} ({format})", entries(trace)),
    };
    let mut lines = vec![format!("{source}, {timing}")];
    let replay = &trace.replay;
    let mut settings = String::from("idle_most_ns copies copy_shift_bytes tree recreate remap");
    let said = [
        (replay.offset_divisor > 1, " offset_divisor"),
        (true, " align_bytes lengths_stay"),
        (replay.gap_speed_percent != 100, " gap_speed_percent"),
        (true, " skip division opens certified served"),
    ];
    said.iter().filter(|(is, _)| *is).for_each(|(_, names)| settings += names);
    let settings = if trace.path.is_some() { phrases(replay, &settings) } else { Vec::new() };
    lines.extend((!settings.is_empty()).then(|| settings.join(", ")));
    for entry in &trace.entries {
        let index = job.targets.get(entry.target);
        let name =
            index.and_then(|index| plan.targets.get(*index)).map_or("?", |target| target.name.as_str());
        let mut line = match entry.verb.moves_data() {
            true => format!(
                "  {}: {} {} of {name} at {}",
                time(entry.at_ns),
                entry.verb,
                bytes(entry.bytes),
                bytes(entry.offset)
            ),
            false => format!("  {}: {} of {name}, item {}", time(entry.at_ns), entry.verb, entry.offset),
        };
        let times = if entry.repeat > 1 { phrases(entry, "repeat") } else { Vec::new() };
        times.iter().for_each(|times| line += &format!(", {times}"));
        lines.push(line);
    }
    lines
}

fn entries(trace: &Trace) -> String {
    many(trace.entries.len() as u64, "entry").replace("entrys", "entries")
}
