//! The command line as Hydra has it: `workload=NAME`, overrides such as `++workload.train.epochs=2`, and a few flags.
//!
//! A workload is one of the built-in files, a file of the user's, or one below `--config-dir`. It refuses what Hydra does besides
//! configuring one run: sweeps, plug-ins, lists of defaults.

use iodyno_model::{Diagnostic, Origin};

use super::options::TABLE;
use super::settings::{self, Settings};
use crate::Loader;
use crate::date::stamp;
use crate::option::{Kind, nearest};
use crate::yaml::{self, YamlNode, YamlValue};

/// The built-in workloads: their names, and their files.
macro_rules! workloads {
    ($($name:literal)*) => {
        pub const WORKLOADS: &[(&str, &str)] = &[$(($name, include_str!(concat!("workloads/", $name, ".yaml")))),*];
    };
}

workloads!("bert_v100" "cosmoflow_a100" "cosmoflow_h100" "cosmoflow_v100" "default" "dlrm" "llama3_1t" "llama3_405b"
    "llama3_70b" "llama3_8b" "megatron_deepspeed" "resnet50_a100" "resnet50_h100" "resnet50_tf" "resnet50_v100"
    "unet3d_a100" "unet3d_h100" "unet3d_v100");

/// Hydra's folder of a run.
const RUN_FOLDER: &str = "./hydra_log/${workload.model}/${now:%Y-%m-%d}-${now:%H-%M-%S}";

/// Flags of Hydra's that are not served: their names, why, and what to do.
const REFUSED: &[(&str, &str, &str)] = &[
    ("--multirun", "several runs are not made of one command", "a loop of the shell"),
    ("-m", "several runs are not made of one command", "a loop of the shell"),
    ("--config-path", "the built-in workloads have no path", "--config-dir DIR, or workload=FILE.yaml"),
    ("-cp", "the built-in workloads have no path", "--config-dir DIR, or workload=FILE.yaml"),
    ("--config-name", "there is one configuration", "workload=NAME"),
    ("-cn", "there is one configuration", "workload=NAME"),
    ("--experimental-rerun", "configurations are not pickled", "workload=FILE.yaml"),
    ("--shell-completion", "completions come from iodyno", "iodyno completions bash"),
    ("-sc", "completions come from iodyno", "iodyno completions bash"),
];

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DlioCommand {
    #[default]
    Run,
    Help,
    Version,
    /// The configuration is printed.
    Config,
}

/// A command line in its parts.
#[derive(Clone, Debug, Default)]
struct Words {
    command: DlioCommand,
    workload: Option<(String, Origin)>,
    config_dir: Option<String>,
    overrides: Vec<Override>,
}

/// One override, as it was typed.
#[derive(Clone, Debug)]
struct Override {
    kind: OverrideKind,
    path: String,
    value: String,
    typed: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverrideKind {
    /// What is there gets another value.
    Change,
    /// What is not there is added.
    Add,
    /// Either.
    Force,
    Remove,
}

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct DlioConfig {
    pub command: DlioCommand,
    pub settings: Settings,
    /// The whole tree, as YAML.
    pub text: String,
    /// The overrides as they were typed.
    pub overrides: Vec<String>,
    /// Where the workload was read.
    pub source: String,
    /// Hydra's folder, without anything to be replaced in it.
    pub run_folder: String,
}

/// Reads a command line and the workload that it names.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(arguments: &[String], loader: &mut dyn Loader) -> Result<DlioConfig, Vec<Diagnostic>> {
    let words = split(arguments)?;
    let mut config = DlioConfig {
        command: words.command,
        settings: settings::none(),
        text: String::new(),
        overrides: words.overrides.iter().map(|each| each.typed.clone()).collect(),
        source: String::new(),
        run_folder: String::new(),
    };
    if matches!(words.command, DlioCommand::Help | DlioCommand::Version) {
        return Ok(config);
    }
    let one = |wrong: Diagnostic| vec![wrong];
    let (workload, source) = workload(&words, loader).map_err(one)?;
    let origin = workload.origin.clone();
    let mut root = YamlNode::map(&origin);
    root.put(&["workload"], workload);
    let mut wrong = Vec::new();
    wrong.extend(words.overrides.iter().filter_map(|each| apply(&mut root, each).err()));
    let run_folder = root.at(&["hydra", "run", "dir"]).cloned();
    let run_folder = run_folder.unwrap_or_else(|| YamlNode::plain(RUN_FOLDER, &Origin::Default));
    if let YamlValue::Text(text) = &run_folder.value {
        match resolved(text, &run_folder.origin, &root, loader) {
            Ok(folder) => config.run_folder = folder,
            Err(diagnostic) => wrong.push(diagnostic),
        }
    }
    config.source = source;
    let tree = root.get("workload").cloned().unwrap_or_else(|| YamlNode::map(&origin));
    for (name, node) in root.fields().iter().filter(|(name, _)| name != "workload" && name != "hydra") {
        let unknown = Diagnostic::error(&node.origin, format!("no group `{name}`"));
        wrong.push(unknown.hint("keys of a workload begin with workload, as ++workload.train.epochs=2"));
    }
    let mut filler = Filler { root: &root, loader, settings: &mut config.settings, wrong: &mut wrong };
    filler.fill(&tree, "");
    let mut text = String::new();
    root.put(&["hydra"], YamlNode::map(&Origin::Default));
    root.remove(&["hydra"]);
    root.print(0, &mut text);
    config.text = text;
    if wrong.is_empty() { Ok(config) } else { Err(wrong) }
}

fn split(arguments: &[String]) -> Result<Words, Vec<Diagnostic>> {
    let (mut words, mut wrong) = (Words::default(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let (name, attached) = word.split_once('=').map_or((word.as_str(), None), |(a, b)| (a, Some(b)));
        let origin = Origin::argument(word);
        match name {
            "--help" | "-h" | "--hydra-help" => words.command = DlioCommand::Help,
            "--version" => words.command = DlioCommand::Version,
            "--run" | "-r" | "--resolve" => {}
            "--info" | "-i" => words.command = DlioCommand::Config,
            "--cfg" | "-c" | "--config-dir" | "-cd" => {
                let Some(value) = attached.or_else(|| rest.next().map(String::as_str)) else {
                    wrong.push(
                        Diagnostic::error(&origin, "no value follows").hint("--config-dir DIR, --cfg job"),
                    );
                    continue;
                };
                match name {
                    "--cfg" | "-c" => words.command = DlioCommand::Config,
                    _ => words.config_dir = Some(value.into()),
                }
            }
            _ if name.starts_with('-') => wrong.push(unknown_flag(name, &origin)),
            _ => match attached {
                Some(value) if name.trim_start_matches('+') == "workload" => {
                    words.workload = Some((value.into(), origin));
                }
                _ => match override_of(word) {
                    Ok(each) => words.overrides.push(each),
                    Err(diagnostic) => wrong.push(diagnostic),
                },
            },
        }
    }
    if wrong.is_empty() { Ok(words) } else { Err(wrong) }
}

fn unknown_flag(name: &str, origin: &Origin) -> Diagnostic {
    if let Some((_, why, hint)) = REFUSED.iter().find(|(known, ..)| *known == name) {
        return Diagnostic::error(origin, format!("{name} is not supported: {why}")).hint(*hint);
    }
    let known = ["--help", "--version", "--cfg", "--config-dir", "--info", "--run"];
    let wrong = Diagnostic::error(origin, format!("no flag `{name}`"));
    match nearest(name, known.into_iter()) {
        Some(near) => wrong.hint(format!("did you mean `{near}`?")),
        None => wrong.hint("workload=NAME, then overrides such as ++workload.train.epochs=2"),
    }
}

fn override_of(word: &str) -> Result<Override, Diagnostic> {
    let kinds = [
        ("++", OverrideKind::Force),
        ("+", OverrideKind::Add),
        ("~", OverrideKind::Remove),
        ("", OverrideKind::Change),
    ];
    let (kind, rest) = kinds
        .iter()
        .find_map(|(mark, kind)| Some((*kind, word.strip_prefix(mark)?)))
        .unwrap_or((OverrideKind::Change, word));
    let (path, value) = match rest.split_once('=') {
        Some((path, value)) => (path, value),
        None if kind == OverrideKind::Remove => (rest, ""),
        None => {
            let wrong = Diagnostic::error(&Origin::argument(word), "neither a flag nor `key=value`");
            return Err(wrong.hint("workload=unet3d_h100, or an override such as ++workload.train.epochs=2"));
        }
    };
    Ok(Override { kind, path: path.into(), value: value.into(), typed: word.into() })
}

/// The workload's file.
fn workload(words: &Words, loader: &mut dyn Loader) -> Result<(YamlNode, String), Diagnostic> {
    let (name, origin) = words.workload.clone().unwrap_or_else(|| ("default".into(), Origin::Default));
    let read = |loader: &mut dyn Loader, path: &str| {
        let bytes = loader.read(path)?;
        String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_string())
    };
    if name.contains('/') || [".yaml", ".yml"].iter().any(|ending| name.ends_with(ending)) {
        let text = read(loader, &name).map_err(|why| {
            Diagnostic::error(&origin, format!("{name}: {why}"))
                .hint("a YAML file with the sections of a workload")
        })?;
        return Ok((yaml::parse(&text, &name)?, name));
    }
    if let Some(folder) = &words.config_dir {
        let folder = folder.trim_end_matches('/');
        for path in [format!("{folder}/workload/{name}.yaml"), format!("{folder}/{name}.yaml")] {
            if let Ok(text) = read(loader, &path) {
                return Ok((yaml::parse(&text, &path)?, path));
            }
        }
    }
    if let Some((name, text)) = WORKLOADS.iter().find(|(known, _)| *known == name) {
        let path = format!("{name}.yaml");
        return Ok((yaml::parse(text, &path)?, format!("built in: {path}")));
    }
    let wrong = Diagnostic::error(&origin, format!("no workload `{name}`"));
    let names = WORKLOADS.iter().map(|(name, _)| *name);
    let begins =
        || WORKLOADS.iter().map(|(known, _)| *known).filter(|known| known.starts_with(name.as_str()));
    let near: Vec<&str> = begins().collect();
    Err(match (nearest(&name, names.clone()), near.is_empty()) {
        (_, false) => wrong.hint(format!("one of: {}", near.join(", "))),
        (Some(near), _) => wrong.hint(format!("did you mean `{near}`?")),
        (None, _) => wrong.hint(format!(
            "one of: {}; or workload=FILE.yaml, or --config-dir DIR with DIR/workload/{name}.yaml",
            names.collect::<Vec<_>>().join(", ")
        )),
    })
}

fn apply(root: &mut YamlNode, each: &Override) -> Result<(), Diagnostic> {
    let origin = Origin::argument(&each.typed);
    let wrong = |message: String, hint: String| Diagnostic::error(&origin, message).hint(hint);
    let path: Vec<&str> = each.path.split('.').collect();
    if path.iter().any(|name| name.is_empty()) {
        return Err(wrong("a key without a name".into(), "keys are as workload.train.epochs".into()));
    }
    let is_there = root.at(&path).is_some();
    match each.kind {
        OverrideKind::Remove if !root.remove(&path) => {
            Err(wrong(format!("no `{}` to be removed", each.path), "leave it out".into()))
        }
        OverrideKind::Remove => Ok(()),
        OverrideKind::Change if !is_there && path[0] != "hydra" => Err(wrong(
            format!("the workload has no `{}` whose value could be changed", each.path),
            format!("++{}={} adds it", each.path, each.value),
        )),
        OverrideKind::Add if is_there => Err(wrong(
            format!("`{}` is there", each.path),
            format!("++{}={} changes it", each.path, each.value),
        )),
        _ => {
            root.put(&path, value(&each.value, &origin)?);
            Ok(())
        }
    }
}

/// A value of the command line: a plain one, or a list, a map or a quoted text as YAML has them.
fn value(text: &str, origin: &Origin) -> Result<YamlNode, Diagnostic> {
    if !text.starts_with(['[', '{', '"', '\'']) {
        return Ok(YamlNode::plain(text, origin));
    }
    // Hydra wants no blank behind the colons of a map, and YAML does.
    let text = if text.starts_with('{') { text.replace(':', ": ") } else { text.to_string() };
    let parsed = yaml::parse(&text, "value").map_err(|wrong| Diagnostic::error(origin, wrong.message))?;
    Ok(said_by(parsed, origin))
}

/// The same tree, whose values all come from one place.
fn said_by(node: YamlNode, origin: &Origin) -> YamlNode {
    let value = match node.value {
        YamlValue::Map(fields) => {
            YamlValue::Map(fields.into_iter().map(|(name, node)| (name, said_by(node, origin))).collect())
        }
        YamlValue::List(nodes) => {
            YamlValue::List(nodes.into_iter().map(|node| said_by(node, origin)).collect())
        }
        value => value,
    };
    YamlNode { origin: origin.clone(), value }
}

/// A text with its `${…}` replaced: other keys, variables of the environment, the date.
fn resolved(text: &str, origin: &Origin, root: &YamlNode, loader: &dyn Loader) -> Result<String, Diagnostic> {
    let (mut said, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        said += before;
        let Some((inner, after)) = after.split_once('}') else {
            return Err(
                Diagnostic::error(origin, format!("`{text}`: a `${{` without its `}}`")).hint("close it")
            );
        };
        said += &replacement(inner, root, loader).ok_or_else(|| {
            Diagnostic::error(origin, format!("`${{{inner}}}` stands for nothing"))
                .hint("a key as ${workload.model}, ${oc.env:NAME}, ${now:%Y-%m-%d}")
        })?;
        rest = after;
    }
    Ok(said + rest)
}

fn replacement(inner: &str, root: &YamlNode, loader: &dyn Loader) -> Option<String> {
    if let Some(form) = inner.strip_prefix("now:") {
        return Some(dated(form, &stamp(loader.now_unix_ns(), loader.east_s())));
    }
    if let Some(name) = inner.strip_prefix("oc.env:") {
        let (name, default) = name.split_once(',').map_or((name, None), |(name, value)| (name, Some(value)));
        return loader.variable(name.trim()).or_else(|| default.map(|value| value.trim().to_string()));
    }
    let path: Vec<&str> = inner.split('.').collect();
    let Some(node) = root.at(&path) else {
        // What a model is called that nobody named.
        return (inner == "workload.model").then(|| "default".to_string());
    };
    match &node.value {
        YamlValue::Text(text) if !text.contains("${") => Some(text.clone()),
        YamlValue::Map(fields) => {
            // The model may be a section by now.
            let name = fields.iter().find(|(name, _)| name == "name").map(|(_, node)| &node.value)?;
            if let YamlValue::Text(text) = name { Some(text.clone()) } else { None }
        }
        _ => None,
    }
}

/// A moment such as `2026-11-22 00:14:21` in a form of C's `strftime`, as far as it has parts of that.
fn dated(form: &str, stamp: &str) -> String {
    let parts: Vec<&str> = stamp.split(['-', ' ', ':']).collect();
    ["%Y", "%m", "%d", "%H", "%M", "%S"]
        .iter()
        .zip(parts)
        .fold(form.to_string(), |said, (name, part)| said.replace(name, part))
}

/// Takes the values of a tree into the settings.
struct Filler<'a> {
    root: &'a YamlNode,
    loader: &'a dyn Loader,
    settings: &'a mut Settings,
    wrong: &'a mut Vec<Diagnostic>,
}

impl Filler<'_> {
    fn fill(&mut self, node: &YamlNode, path: &str) {
        for (name, node) in node.fields() {
            // An older name of the section.
            let name = if path.is_empty() && name == "data_reader" { "reader" } else { name };
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            match &node.value {
                YamlValue::Null => {}
                YamlValue::Map(_) => self.section(node, &path),
                YamlValue::Text(text) => self.set(&path, text, node),
                YamlValue::List(nodes) => self.list(&path, nodes, node),
            }
        }
    }

    fn section(&mut self, node: &YamlNode, path: &str) {
        let below = format!("{path}.");
        if TABLE.entries.iter().any(|entry| entry.names().any(|name| name.starts_with(&below))) {
            return self.fill(node, path);
        }
        self.wrong.push(match TABLE.check(path, &node.origin) {
            Ok(entry) => Diagnostic::error(&node.origin, format!("{path}: expected a value, found keys"))
                .hint(entry.help),
            Err(wrong) => wrong,
        });
    }

    fn list(&mut self, path: &str, nodes: &[YamlNode], node: &YamlNode) {
        let is_list = TABLE.find(path).is_none_or(|entry| matches!(entry.kind, Kind::List));
        let texts = nodes.iter().map(|node| match &node.value {
            YamlValue::Text(text) => Some(text.as_str()),
            _ => None,
        });
        match texts.collect::<Option<Vec<_>>>().filter(|_| is_list) {
            Some(texts) => self.set(path, &texts.join(","), node),
            None => {
                let wrong =
                    Diagnostic::error(&node.origin, format!("{path}: expected one value, found a list"));
                let hint = TABLE.find(path).map_or("lists hold plain values", |entry| entry.help);
                self.wrong.push(wrong.hint(hint));
            }
        }
    }

    fn set(&mut self, path: &str, text: &str, node: &YamlNode) {
        let is_section = !TABLE.entries.iter().any(|entry| entry.answers_to(path))
            && TABLE.entries.iter().any(|entry| entry.name.starts_with(&format!("{path}.")));
        if is_section {
            let wrong = Diagnostic::error(&node.origin, format!("{path}: expected keys, found a value"));
            return self.wrong.push(wrong.hint("its keys follow on lines of their own, further indented"));
        }
        let set = resolved(text, &node.origin, self.root, self.loader).and_then(|text| {
            let entry = match TABLE.find(path) {
                Some(entry) => entry,
                None => TABLE.check(path, &node.origin)?,
            };
            self.settings.set(entry, &text, &node.origin)
        });
        self.wrong.extend(set.err());
    }
}
