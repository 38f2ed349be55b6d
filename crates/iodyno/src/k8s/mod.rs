//! `iodyno k8s IMAGE -- COMMAND…`: prints what `kubectl apply` takes to run a command in a cluster.
//!
//! The command is checked here as it is typed, and the files that it reads become a config map. It prints, and talks to no
//! cluster. Exit status: 0; 2 what was asked for is wrong.

mod manifest;
mod volume;
mod yaml;

use clap::{Parser, ValueEnum};
use iodyno_dialect::absolute_path::absolute;
use iodyno_dialect::{DIALECTS, Dialect, Loader, Request, native};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin};
use iodyno_report::native::Native;
use iodyno_report::paint::Paint;
use serde_json::{Value, json};

use self::manifest::{CarriedFile, Manifest};
use self::volume::Volume;
use crate::extension_options::ExtensionOptions;
use crate::forwarded_files;
use crate::loader::HostLoader;
use crate::runs::{ended, one, parsed, print};
use crate::session::say;

#[derive(Parser)]
#[command(name = "iodyno k8s", about = "Print a Kubernetes manifest that runs a command of iodyno in a cluster",
    disable_version_flag = true, after_help = AFTER, override_usage = "iodyno k8s [OPTIONS] IMAGE -- COMMAND [ARGUMENTS]…")]
pub struct KubernetesArgs {
    /// The container image: it has iodyno, and for --mpi Open MPI and sshd, too
    pub image: String,
    /// The command as it is typed behind `iodyno`
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
    /// Name of the objects [default: iodyno-COMMAND]
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// Namespace [default: kubectl's]
    #[arg(long, value_parser = name)]
    pub namespace: Option<String>,
    /// Pods at the same time; without --mpi each of them makes a run of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pods: u32,
    /// One run over all pods: an MPIJob (kubeflow.org/v2beta1) instead of a Job
    #[arg(long)]
    pub mpi: bool,
    /// With --mpi: ranks in each pod
    #[arg(long, value_name = "N", default_value_t = 1, requires = "mpi", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranks: u32,
    /// Mount claim=NAME:/PATH, device=CLAIM:/dev/NAME, host=/PATH:/PATH, empty[=SIZE]:/PATH or memory[=SIZE]:/PATH, and :ro; repeatable
    #[arg(long, value_name = "SOURCE:/PATH", value_parser = Volume::parsed)]
    pub volume: Vec<Volume>,
    /// Let all pods see the same files of a claim or a node's directory, instead of a directory for each pod
    #[arg(long)]
    pub shared: bool,
    /// Processors of each pod, e.g. 4 or 500m
    #[arg(long, value_name = "AMOUNT", value_parser = quantity)]
    pub cpu: Option<String>,
    /// Memory of each pod, e.g. 8Gi
    #[arg(long, value_name = "AMOUNT", value_parser = quantity)]
    pub memory: Option<String>,
    /// One pod a node: strict waits for free nodes, even takes what there is
    #[arg(long, value_enum, default_value_t = PodSpread::Strict)]
    pub spread: PodSpread,
    /// Only nodes with this label; repeatable
    #[arg(long, value_name = "LABEL=VALUE", value_parser = label)]
    pub node_selector: Vec<(String, String)>,
    /// Nodes with this taint, too; repeatable
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]", value_parser = toleration)]
    pub toleration: Vec<Toleration>,
    /// The directory that the command runs in; an empty one of the pod
    #[arg(long, value_name = "PATH", default_value = "/iodyno", value_parser = directory)]
    pub workdir: String,
    /// The program in the image
    #[arg(long, value_name = "PATH", default_value = "iodyno")]
    pub program: String,
    /// An environment variable; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Run as this user
    #[arg(long, value_name = "UID")]
    pub user: Option<u32>,
    /// Run as this group, which owns the files of the volumes
    #[arg(long, value_name = "GID")]
    pub group: Option<u32>,
    /// With all devices and capabilities of the node: dropping its page cache, its devices
    #[arg(long)]
    pub privileged: bool,
    /// A capability that the command needs, e.g. SYS_ADMIN; repeatable
    #[arg(long, value_name = "NAME", value_parser = capability)]
    pub capability: Vec<String>,
    /// Which system calls there are: runtime (most runtimes forbid io_uring), unconfined
    #[arg(long, value_enum, default_value_t = Seccomp::Runtime)]
    pub seccomp: Seccomp,
    /// When the image is pulled [default: Kubernetes']
    #[arg(long, value_enum, value_name = "WHEN")]
    pub pull_policy: Option<PullPolicy>,
    /// A secret for the image's registry; repeatable
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub pull_secret: Vec<String>,
    /// Service account of the pods
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub service_account: Option<String>,
    /// End the job after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub deadline: Option<u32>,
    /// How often a failed pod is started again
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Delete the job so many seconds after its end [default: never]
    #[arg(long, value_name = "SECONDS")]
    pub keep: Option<u32>,
}

const AFTER: &str = "Example: iodyno k8s registry.example/iodyno:1 --volume claim=data:/data --pods 4 -- fio job.fio --directory=/data \
| kubectl apply -f -\ndocs/k8s.md says what the manifest holds.";

/// How pods lie on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PodSpread {
    Strict,
    Even,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Seccomp {
    Runtime,
    Unconfined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PullPolicy {
    Always,
    Missing,
    Never,
}

impl PullPolicy {
    fn name(self) -> &'static str {
        match self {
            PullPolicy::Always => "Always",
            PullPolicy::Missing => "IfNotPresent",
            PullPolicy::Never => "Never",
        }
    }
}

impl KubernetesArgs {
    /// The command in the pods.
    fn words(&self) -> Vec<String> {
        std::iter::once(self.program.clone()).chain(self.command.iter().cloned()).collect()
    }
}

/// Key, value and effect of a taint.
pub type Toleration = (String, Option<String>, Option<String>);

fn toleration(text: &str) -> Result<Toleration, String> {
    let (rest, effect) = match text.rsplit_once(':') {
        Some((rest, effect)) => (rest, Some(effect.to_string())),
        None => (text, None),
    };
    if let Some(effect) =
        effect.as_deref().filter(|e| !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(e))
    {
        return Err(format!("`{effect}`: expected NoSchedule, PreferNoSchedule or NoExecute"));
    }
    let (key, value) = match rest.split_once('=') {
        Some((key, value)) => (key, Some(label_value(value)?)),
        None => (rest, None),
    };
    Ok((label_key(key)?, value, effect))
}

fn toleration_object((key, value, effect): &Toleration) -> Value {
    let mut object = match value {
        Some(value) => json!({"key": key, "operator": "Equal", "value": value}),
        None => json!({"key": key, "operator": "Exists"}),
    };
    if let Some(effect) = effect {
        object["effect"] = json!(effect);
    }
    object
}

/// A label of RFC 1123: lower-case letters, digits and hyphens, at most 63.
fn name(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let ends = !text.starts_with('-') && !text.ends_with('-');
    match (1..=63).contains(&text.len()) && ends && text.bytes().all(fits) {
        true => Ok(text.into()),
        false => Err("expected lower-case letters, digits and hyphens within, at most 63 (RFC 1123)".into()),
    }
}

fn quantity(text: &str) -> Result<String, String> {
    const UNITS: &[&str] = &["", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number = &text[..text.len() - unit.len()];
    let is_number = number.parse::<f64>().is_ok_and(|number| number > 0.0) && !number.starts_with('.');
    match is_number && !number.ends_with('.') && UNITS.contains(&unit) {
        true => Ok(text.into()),
        false => Err("expected an amount of Kubernetes such as 4, 500m, 8Gi".into()),
    }
}

/// Letters, digits, `-`, `_` and `.`, the first and last of them a letter or digit.
fn is_label_word(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = |text: &str| {
        [text.bytes().next(), text.bytes().last()]
            .into_iter()
            .flatten()
            .all(|byte| byte.is_ascii_alphanumeric())
    };
    (1..=63).contains(&text.len()) && text.bytes().all(fits) && ends(text)
}

fn label_key(text: &str) -> Result<String, String> {
    let (domain, key) = text.split_once('/').map_or((None, text), |(domain, key)| (Some(domain), key));
    let is_domain = |domain: &str| domain.len() <= 253 && domain.split('.').all(|part| name(part).is_ok());
    match is_label_word(key) && domain.is_none_or(is_domain) {
        true => Ok(text.into()),
        false => Err(format!("`{text}` is no key of a label, e.g. kubernetes.io/arch")),
    }
}

fn label_value(text: &str) -> Result<String, String> {
    match text.is_empty() || is_label_word(text) {
        true => Ok(text.into()),
        false => Err(format!("`{text}` is no value of a label")),
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected LABEL=VALUE")?;
    Ok((label_key(key)?, label_value(value)?))
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match !name.is_empty() && name.bytes().all(fits) && !name.as_bytes()[0].is_ascii_digit() {
        // `$(x)` is Kubernetes' own reference; two dollars are one.
        true => Ok((name.into(), value.replace("$(", "$$("))),
        false => Err(format!("`{name}` is no name of a variable")),
    }
}

fn capability(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("CAP_").unwrap_or(text);
    match !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') {
        true => Ok(name.into()),
        false => Err("expected a capability such as SYS_ADMIN".into()),
    }
}

fn directory(text: &str) -> Result<String, String> {
    let is_plain = !text.contains(':') && text.split('/').all(|part| part != "..");
    match text.starts_with('/') && text.len() > 1 && is_plain {
        true => Ok(text.trim_end_matches('/').into()),
        false => Err("expected an absolute path below /".into()),
    }
}

/// Does `iodyno k8s ARGUMENTS…`; the exit status.
pub fn answer(world: &World, arguments: &[String]) -> u8 {
    let words = match parsed::<KubernetesArgs>("iodyno k8s", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    ended(printed(world, words).map(|text| print(&text)))
}

fn printed(world: &World, mut words: KubernetesArgs) -> Result<String, Vec<Diagnostic>> {
    let files = carried(world, &words)?;
    if words.volume.is_empty() {
        let message =
            "no volume is named: files that the command makes lie in the pod's own layer, on the node's disk";
        say(Diagnostic::warning(&Origin::argument("--volume"), message)
            .hint("name the storage that is meant: --volume claim=NAME:/data, and /data in the command"));
    }
    // Kubernetes replaces `$(x)` in a command.
    words.command.iter_mut().for_each(|word| *word = word.replace("$(", "$$("));
    let name = words.name.clone().unwrap_or_else(|| default_name(&words.command[0]));
    let objects = Manifest { name: &name, arguments: &words, files: &files }.objects();
    Ok(objects.iter().map(yaml::document).collect::<Vec<_>>().join("---\n"))
}

fn default_name(word: &str) -> String {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let word: String = word.chars().map(|letter| if fits(letter) { letter } else { '-' }).collect();
    format!("iodyno-{}", word.trim_matches('-'))
}

/// Reads the files of a command that makes several runs; it names no hosts.
fn experiment_files(rest: &[String], loader: &mut HostLoader) -> Result<(), Vec<Diagnostic>> {
    if native::on_hosts(rest).len() < rest.len() {
        return Err(one(elsewhere()));
    }
    let behind = rest.iter().zip(rest.iter().skip(1)).filter(|(word, _)| *word == "--trace");
    let joined = rest.iter().filter_map(|word| word.strip_prefix("--trace="));
    for path in behind.map(|(_, path)| path.as_str()).chain(joined) {
        let wrong = |why: String| {
            one(Diagnostic::error(&Origin::argument(path), why).hint("name a file that is here"))
        };
        loader.read(path).map_err(wrong)?;
    }
    Ok(())
}

/// The files that the command reads, which is checked on the way.
fn carried(world: &World, words: &KubernetesArgs) -> Result<Vec<CarriedFile>, Vec<Diagnostic>> {
    let mut loader = HostLoader::new(world);
    let (word, rest) = words.command.split_first().expect("clap requires a command");
    let request = match DIALECTS.iter().find(|dialect| dialect.name == *word) {
        Some(dialect) => lowered(dialect, rest, &mut loader, world)?,
        None if word == "run" => {
            native::run(rest, &mut loader, &|_| Box::new(Native::new(Paint::PLAIN)) as _)
        }
        None if crate::command::EXPERIMENTS.contains(&word.as_str()) => {
            experiment_files(rest, &mut loader)?;
            Ok(Request::Print { out: String::new(), status: 0 })
        }
        None => {
            let wrong = Diagnostic::error(&Origin::argument(word), "no command that runs in a cluster");
            return Err(one(
                wrong.hint("a tool and its command line, e.g. fio job.fio, or run plan.toml, measure /data")
            ));
        }
    };
    match request {
        Ok(Request::Hosts(_)) => return Err(one(elsewhere())),
        Err(wrong) if !loader.looked() => return Err(wrong),
        Ok(Request::Refuse { err, .. }) if !loader.looked() => {
            let wrong = Diagnostic::error(&Origin::argument(word), err.trim().to_string());
            return Err(one(wrong.hint("the command is checked here before it goes to the cluster")));
        }
        _ => {}
    }
    let paths = loader.files.iter();
    paths
        .map(|(path, bytes)| carried_file(path, bytes, &words.workdir).map_err(one))
        .collect::<Result<Vec<_>, _>>()
        .and_then(fitting)
}

fn lowered(
    dialect: &Dialect,
    rest: &[String],
    loader: &mut HostLoader,
    world: &World,
) -> Result<Result<Request, Vec<Diagnostic>>, Vec<Diagnostic>> {
    if !dialect.drop_in {
        return Ok((dialect.lower)(rest, loader));
    }
    let (also, rest) = ExtensionOptions::load(rest, None, world)?;
    if also.hosts.is_some() || also.hostfile.is_some() || also.launcher.is_some() {
        return Err(one(elsewhere()));
    }
    loader.also = also.loader_words();
    Ok((dialect.lower)(&rest, loader))
}

fn elsewhere() -> Diagnostic {
    Diagnostic::error(&Origin::argument("hosts"), "the pods are the hosts")
        .hint("leave hosts and launcher out; --mpi --pods 4 runs one command on four pods")
}

/// What etcd takes of one object, with room for the rest of it.
const MOST_BYTES: usize = 900 << 10;

fn fitting(files: Vec<CarriedFile>) -> Result<Vec<CarriedFile>, Vec<Diagnostic>> {
    let bytes: usize = files.iter().map(|file| file.text.len()).sum();
    match bytes <= MOST_BYTES {
        true => Ok(files),
        false => {
            let message =
                format!("the files that the command reads have {bytes} bytes; a config map takes 900 KiB");
            let wrong = Diagnostic::error(&Origin::argument("command"), message);
            Err(one(wrong.hint("put them on a volume, and run this where they lie at the same path")))
        }
    }
}

fn carried_file(path: &str, bytes: &[u8], workdir: &str) -> Result<CarriedFile, Diagnostic> {
    let wrong = |message: &str, hint: &str| Diagnostic::error(&Origin::argument(path), message).hint(hint);
    if path == forwarded_files::STANDARD_INPUT {
        let origin = Origin::argument("-");
        return Err(Diagnostic::error(&origin, "a pod has no standard input")
            .hint("write it to a file and name that"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|_| wrong("it is no text, which a config map takes", "put it on a volume of the pods"))?;
    Ok(CarriedFile { path: absolute(path, workdir), text: text.into() })
}

#[cfg(test)]
mod tests;
