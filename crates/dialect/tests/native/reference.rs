//! The page of native plans lists every key: what stands between its marks is made from the model's own tables.
//!
//! `IODYNO_BLESS=1` rewrites it. Keys that are read by hand stand in the page's text, which is searched for them.

use iodyno_dialect::native::device::{SHIPPED, parse};
use iodyno_model::kv_cache::CacheRequests;
use iodyno_model::reflect::{Composite, Member, Reflect, ReflectMut, ReflectRef, TypeShape};
use iodyno_model::{
    Aging, Buffers, ControlGroup, Depth, Device, Every, Exit, Finish, Hooks, ItemData, Items, Job, Journal,
    LatencyTarget, Limit, Measure, NumaMemory, Operation, PartKind, Pattern, Payload, PayloadMarks, Phase,
    Pick, Placement, Plan, Repeat, Rounds, SampleFile, SharedUse, Span, Start, Steady, Target, Think,
    Tolerance, Trace, TraceEntry, TrainingInput, Verb, Verify, Window, Workload,
};

use super::{golden, root};

const BEGIN: &str = "<!-- made by `IODYNO_BLESS=1 cargo test -p iodyno-dialect --test native` -->\n";
const END: &str = "\n<!-- end of what is made -->\n";

/// How values are written that have a form of their own, by form or type.
const FORMS: &[(&str, &str)] = &[
    ("bits", "`\"400Gbit\"`, `\"50GB/s\"`"),
    ("bytes", "size"),
    ("bytes per second", "`\"180MB/s\"`"),
    ("cpus", "`\"0-3,8\"` or a list"),
    ("every", "`{ fsync = 32 }`, or of a verb `{ operations, flags, between }`"),
    ("flag", "`true`, `false`"),
    ("gates", "a use of a shared object, or a list of them"),
    ("hint", "0 to 1023"),
    ("io priority", "`\"real time:4\"`, `\"best effort:0\"`, `\"idle\"`"),
    ("limit", "number or share"),
    ("nice", "-20 to 19"),
    ("permissions", "octal digits: `\"640\"`"),
    ("sync verb", "`\"fsync\"`, `\"fdatasync\"`, `\"syncfs\"`, `\"sync_file_range\"`, `\"msync\"`"),
    ("Content", "content"),
    (
        "ErrorPolicy",
        "`\"stop\"`, `\"continue\"`, how many are borne, or `{ read, write, trim, verify }`: their numbers",
    ),
    ("Extent", "extent"),
    (
        "FileOrder",
        "`\"one by one\"`, `\"round robin\"`, `{ round_robin = N }`, `{ drawn = PICK, operations }`",
    ),
    ("Item", "item"),
    (
        "Offset",
        "`\"next\"`, `\"end\"`, `\"again\"`, size, `{ from }`, `{ pick, span }`, `{ cached_blocks }`, `{ new_blocks }`",
    ),
    ("Per", "`\"use\"`, `\"operation\"`, size"),
    ("Pick", "pick"),
    ("Rate", "rate"),
    ("SampleFile", "a format, or a table"),
    ("Size", "amount"),
    ("Stamp", "`\"block\"`, `\"content\"`, `\"nothing\"`, `\"0xdeadbeef\"`, or a checksum's name"),
    (
        "Timing",
        "`\"as recorded\"`, `\"pauses\"`, `\"gaps\"`, \
         `\"no earlier\"`, `\"as fast\"`, `\"think times\"`, `\"dependencies\"`, `\"depths\"`, `{ faster = 10.0 }`",
    ),
    ("Verb", "verb"),
];

/// The parts of the page: what they are called, and a value whose fields are at their defaults.
fn parts() -> Vec<(&'static str, Box<dyn Reflect>)> {
    let pattern = Pattern::of(Verb::Read, Pick::Sequential, 4096);
    let workload = Workload::Pattern(Box::new(pattern.clone()));
    vec![
        ("A plan", Box::new(Plan { name: "plan".into(), seed: 1, ..Plan::default() })),
        ("`repeat`", Box::new(Repeat::default())),
        ("`repeat.until_steady`", Box::new(Rounds::default())),
        ("`[target.NAME]`", Box::new(Target::blank())),
        ("`files` and `bucket`", Box::new(Items::default())),
        ("`format`, as a table", Box::new(SampleFile::blank())),
        ("`[[age]]`", Box::new(Aging::new("", 0.0))),
        ("`[[phase]]`", Box::new(Phase::default())),
        ("`[phase.training]`", Box::new(TrainingInput::blank())),
        ("Requests to a cache", Box::new(CacheRequests::blank())),
        ("`[[phase.job]]`", Box::new(Job::new("", "psync", Vec::new(), workload))),
        ("`depth`", Box::new(Depth::default())),
        ("`start`", Box::new(Start::default())),
        ("`until`", Box::new(Limit::default())),
        ("`until.steady`", Box::new(Steady::blank())),
        ("`finish`", Box::new(Finish::default())),
        ("`think`", Box::new(Think::default())),
        ("`shared`", Box::new(SharedUse::blank())),
        ("`latency_target`", Box::new(LatencyTarget::blank())),
        ("`errors`, as a table", Box::new(Tolerance::default())),
        ("`exit`", Box::new(Exit::default())),
        ("`measure`", Box::new(Measure::default())),
        ("`measure.journal`", Box::new(Journal::default())),
        ("`placement`", Box::new(Placement::default())),
        ("`placement.numa`", Box::new(NumaMemory::default())),
        ("`placement.cgroup`", Box::new(ControlGroup::default())),
        ("`buffers`", Box::new(Buffers::default())),
        ("`hooks`", Box::new(Hooks::default())),
        ("`payload`", Box::new(Payload::default())),
        ("`payload`, of content `\"marked\"`", Box::new(PayloadMarks::default())),
        ("`verify`", Box::new(Verify::default())),
        ("What is drawn: keys beside `do` or `mix`", Box::new(pattern)),
        ("`span`", Box::new(Span::default())),
        ("`window`", Box::new(Window::blank())),
        ("`item_data`", Box::new(ItemData::default())),
        ("`every`, of a verb", Box::new(Every::new(Verb::Fsync, 0))),
        ("`[[phase.job.step]]`", Box::new(Operation::control(Verb::Read))),
        ("`trace`", Box::new(Trace::blank())),
        ("`[[phase.job.trace.entry]]`", Box::new(TraceEntry::blank())),
    ]
}

fn part(title: &str, value: &dyn Reflect) -> String {
    let ReflectRef::Composite(value) = value.view() else { panic!("{title} is no struct") };
    format!("\n### {title}\n\n| key | value | default | is |\n|---|---|---|---|\n{}", rows(value))
}

fn rows(value: &dyn Composite) -> String {
    let members = value.table().variants[0].members.iter().enumerate();
    let row = |(index, member): (usize, &'static Member)| match value.field(index).view() {
        ReflectRef::Composite(inner) if member.is_flat => rows(inner),
        _ if member.key.is_empty() => String::new(),
        field => {
            let alone = if member.is_bare { " (may stand alone)" } else { "" };
            let default = if member.is_needed { "needed".into() } else { default(&field, member) };
            let value = written((member.shape)(), member);
            format!("| `{}`{alone} | {value} | {default} | {} |\n", member.key, plain(member.doc))
        }
    };
    members.map(row).collect()
}

/// How a value is written.
fn written(shape: TypeShape, member: &Member) -> String {
    let ends = |with: &str| member.name.ends_with(with);
    let form = |name: &str| FORMS.iter().find(|(form, _)| *form == name).map(|(_, text)| text.to_string());
    match shape {
        TypeShape::Optional(inner) => written(inner(), member),
        _ if !member.form.is_empty() => form(member.form).unwrap_or_else(|| panic!("{} is new", member.form)),
        TypeShape::List(inner) => format!("{}, or a list", written(inner(), member)),
        TypeShape::Bool => "`true`, `false`".into(),
        TypeShape::Unsigned(_) if ends("_ns") => "time".into(),
        TypeShape::Unsigned(_) if ends("bytes") => "size".into(),
        TypeShape::Unsigned(_) | TypeShape::Float if ends("percent") => "share".into(),
        TypeShape::Unsigned(_) if member.is_positive => "number, at least 1".into(),
        TypeShape::Unsigned(_) | TypeShape::Float | TypeShape::Signed(_) => "number".into(),
        TypeShape::Text => "text".into(),
        TypeShape::Scalar | TypeShape::Tuple(_) => panic!("{} has no form", member.name),
        TypeShape::Composite(table) => form(table.name).unwrap_or_else(|| match table.name {
            "PerDirection" => format!("{} ⇄", written((table.variants[0].members[0].shape)(), member)),
            _ if table.is_enum => {
                let variants = table.variants.iter().filter(|variant| !variant.key.is_empty());
                let word = variants.map(|variant| match variant.members {
                    [] if matches!(variant.key, "true" | "false") => format!("`{}`", variant.key),
                    [] => format!("`\"{}\"`", variant.key),
                    _ => format!("`{{ {} = N }}`", variant.word),
                });
                word.collect::<Vec<_>>().join(", ")
            }
            _ => {
                let keys = table.variants[0].members.iter().map(|member| member.key);
                format!("`{{ {} }}`", keys.filter(|key| !key.is_empty()).collect::<Vec<_>>().join(", "))
            }
        }),
    }
}

/// What holds where the key is not there; nothing where that is nothing.
fn default(field: &ReflectRef<'_>, member: &Member) -> String {
    match field {
        ReflectRef::Bool(flag) => format!("`{flag}`"),
        ReflectRef::Unsigned(0) => String::new(),
        ReflectRef::Unsigned(ns) if member.name.ends_with("_ns") => {
            in_unit(*ns, "", &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
        }
        ReflectRef::Unsigned(rate) if member.form == "bytes per second" => {
            in_unit(*rate, "/s", &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1, "B")])
        }
        ReflectRef::Unsigned(bytes) if member.name.ends_with("_bytes") && *bytes >= 4096 => {
            let units =
                [(1_000_000_000_000, "TB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
            in_unit(*bytes, "", &units)
        }
        ReflectRef::Float(share) if member.name.ends_with("percent") && *share != 0.0 => {
            format!("`\"{share}%\"`")
        }
        ReflectRef::Unsigned(number) => format!("`{number}`"),
        ReflectRef::Signed(number) => format!("`{number}`"),
        ReflectRef::Float(number) if *number != 0.0 => format!("`{number}`"),
        ReflectRef::Text(text) if !text.is_empty() => format!("`\"{text}\"`"),
        ReflectRef::Composite(value) if value.table().name == "PerDirection" => {
            default(&value.field(0).view(), member)
        }
        ReflectRef::Composite(value) if member.form == "flag" => format!("`{}`", value.variant() == 1),
        ReflectRef::Composite(value) if value.table().is_enum => {
            let variant = &value.table().variants[value.variant()];
            match (variant.members, variant.key) {
                (_, "") => String::new(),
                ([], key @ ("true" | "false")) => format!("`{key}`"),
                ([], key) => format!("`\"{key}\"`"),
                ([only], _) => default(&value.field(0).view(), only),
                _ => String::new(),
            }
        }
        _ => String::new(),
    }
}

/// In the first unit that divides it.
fn in_unit(value: u64, per: &str, units: &[(u64, &str)]) -> String {
    let found = units.iter().find(|(unit, _)| value.is_multiple_of(*unit)).unwrap_or(&(1, ""));
    format!("`\"{} {}{per}\"`", value / found.0, found.1)
}

/// Documentation for who writes plans: without links into the program and without units that the value carries itself.
fn plain(doc: &str) -> String {
    let mut text = doc.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
    for unit in [", ns", ", in bytes", ", bytes", ", percent"] {
        text = [";", ".", ":"].iter().fold(text, |text, end| text.replace(&format!("{unit}{end}"), end));
    }
    while let Some(at) = text.find("](") {
        let end = text[at..].find(')').map_or(text.len(), |length| at + length + 1);
        text.replace_range(at..end, "");
        text = text.replacen('[', "", 1);
    }
    text
}

/// The tables of a page stand between its marks.
fn page(name: &str, tables: &str) {
    let path = root().join(name);
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a mark where its tables begin");
    let (_, after) = rest.split_once(END).expect("the page has a mark where its tables end");
    golden(&path, &format!("{before}{BEGIN}{tables}{END}{after}"));
}

#[test]
fn the_page_lists_every_key_of_a_plan() {
    page("docs/native.md", &parts().iter().map(|(title, value)| part(title, &**value)).collect::<String>());
}

#[test]
fn the_page_lists_every_key_of_a_device_and_the_devices() {
    let mut kind = PartKind::default();
    let mut tables = part("A device", &Device::default());
    for (index, word) in PartKind::WORDS.iter().enumerate() {
        let ReflectMut::Composite(slot) = kind.slot() else { panic!("it is an enum") };
        slot.set_variant(index);
        tables.push_str(&part(&format!("`[part.NAME.{word}]`"), slot.field(0)));
    }
    tables.push_str(
        "\n### The devices that come with the program\n\n| device | is | figures from |\n|---|---|---|\n",
    );
    for (name, text) in SHIPPED {
        let device = parse(text, name).unwrap();
        let source = if device.is_generic() { "*generic*" } else { device.source.as_str() };
        tables.push_str(&format!("| `{name}` | {} | {source} |\n", device.about));
    }
    page("docs/sim.md", &tables);
}

/// Whatever a message offers as possible is on the page.
#[test]
fn the_page_names_every_key_that_a_message_offers() {
    let page = std::fs::read_to_string(root().join("docs/native.md")).unwrap();
    let wrong = "zzzzzzzzz = 1\n[target.a]\nfile = 'x'\nzzzzzzzzz = 1\n[target.b]\nfiles = 'x'\nzzzzzzzzz = 1\n[[age]]\n\
                 zzzzzzzzz = 1\n[[sweep]]\nzzzzzzzzz = 1\n[[phase]]\nzzzzzzzzz = 1\n[phase.shared.s]\nzzzzzzzzz = 1\n\
                 tokens = 1\n[phase.shared.t]\nsemaphore = 1\nzzzzzzzzz = 1\n[phase.shared.u]\ndone = 'x'\n\
                 zzzzzzzzz = 1\n[[phase.job]]\nzzzzzzzzz = 1\npayload = { zzzzzzzzz = 1, content = 'marked' }\n\
                 verify = { zzzzzzzzz = 1 }\n[[phase.job.step]]\ndo = 'read'\nzzzzzzzzz = 1\n[phase.job.trace]\n\
                 zzzzzzzzz = 1\n[[phase.job.trace.entry]]\nzzzzzzzzz = 1\n";
    let wrong = iodyno_dialect::native::parse(wrong, "plan.toml").unwrap_err();
    let offered: Vec<_> = wrong
        .iter()
        .filter_map(|one| one.hint.as_deref()?.strip_prefix("possible are "))
        .flat_map(|keys| keys.split(", "))
        .collect();
    assert!(offered.len() > 150, "{} keys", offered.len());
    let missing: Vec<_> = offered.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/native.md does not name {missing:?}");
}
