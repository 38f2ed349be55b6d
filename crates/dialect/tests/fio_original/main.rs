//! fio's words beside fio itself: the same options, defaults, bounds and values; the same job files taken and shown.
//!
//! What `fio --cmdhelp`, `--enghelp`, `--debug=parse`, `--parse-only` and `--showcmd` say is read and compared with our
//! table and parser. Not installed: a counted skip. Nothing is run.

mod files;
mod values;

use std::collections::BTreeMap;
use std::process::{Command, Output};

use iodyno_dialect::fio::options::{ENGINES, JobOption, OPTIONS, find};
use iodyno_dialect::option::Status;
use testbed::{Case, Need, Outcome};

/// What fio prints, on both streams.
fn fio(arguments: &[&str]) -> Result<(String, bool), Box<dyn std::error::Error>> {
    let Output { stdout, stderr, status } = Command::new("fio").args(arguments).output()?;
    Ok((String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr), status.success()))
}

/// Asks about many things at once: fio sleeps more than it works when it starts.
fn together<T: Send>(asked: &[&str], ask: impl Fn(&str) -> T + Sync) -> Vec<T> {
    let part = asked.len().div_ceil(6).max(1);
    std::thread::scope(|scope| {
        let ask = &ask;
        let threads: Vec<_> = asked
            .chunks(part)
            .map(|part| scope.spawn(move || part.iter().map(|asked| ask(asked)).collect::<Vec<T>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// The `name: value` lines of one option's help, the first of each name.
fn fields(text: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, value)) = line.split_once(": ") {
            fields.entry(name.trim().to_string()).or_insert_with(|| value.trim_end().to_string());
        }
    }
    fields
}

/// The words of `valid values`.
fn words(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.trim_start().starts_with("valid values:"));
    let lines = lines.take_while(|line| !line.trim_start().starts_with("here:"));
    let word = |line: &str| {
        line.split_once(": ").and_then(|(_, rest)| rest.split_whitespace().next().map(String::from))
    };
    lines.filter_map(word).collect()
}

/// Options of a listing, with how deep they are indented.
fn listed(text: &str) -> Vec<(String, usize)> {
    let one = |line: &str| {
        let (name, _) = line.split_once(':')?;
        let depth = (name.len() - name.trim_start().len()) / 2;
        Some((name.trim().to_string(), depth))
    };
    text.lines().filter_map(one).collect()
}

/// What is not as in 3.33, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("randrepeat", "3.42 gave it another name"),
    ("log_alternate_epoch", "3.42 gave it another name"),
    ("allrandrepeat", "3.42 made it another name of randrepeat"),
    ("log_max_value", "3.42 made it another name of log_window_value"),
    ("log_unix_epoch", "3.42 made it another name of log_alternate_epoch"),
    ("log_hist_coarseness", "3.42 has a bound of 6"),
    ("ioengine", "the engines are another matter"),
    ("steadystate", "3.42 added lat and lat_slope"),
    ("verify", "3.42 added pattern_hdr"),
    ("fadvise_hint", "3.42 added noreuse"),
    ("mem", "3.42 added cudamalloc"),
    ("profile", "its words depend on what is built in"),
    ("protocol", "3.34 added vsock"),
    ("cmd_type", "3.42 added scsi"),
    ("random_distribution", "newer versions added sequence"),
];

fn different(name: &str) -> bool {
    DIFFERENT.iter().any(|(known, _)| *known == name)
}

fn options_as_fio() -> Outcome {
    let (text, _) = fio(&["--cmdhelp=all"])?;
    let listed = listed(&text);
    if listed.len() < 200 {
        return Err(format!("fio lists only {} options", listed.len()).into());
    }
    let mut wrong = Vec::new();
    let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    let helps = together(&names, |name| {
        fio(&[&format!("--cmdhelp={name}")]).map_or_else(|_| String::new(), |said| said.0)
    });
    for ((name, depth), help) in listed.iter().zip(&helps) {
        match find(name) {
            None => wrong.push(format!("`{name}` is not in the table")),
            Some(row) => {
                if row.rule.depth != *depth && !different(name) {
                    wrong.push(format!("`{name}` is shown {depth} deep by fio, {} by us", row.rule.depth));
                }
                wrong.extend(compare(row, name, help, true));
            }
        }
    }
    verdict(wrong)
}

fn engine_options_as_fio() -> Outcome {
    let (text, _) = fio(&["--enghelp"])?;
    let mut wrong = Vec::new();
    let refused = |name: &str| {
        let word = ENGINES.iter().find(|word| word.name == name);
        word.is_some_and(|word| matches!(word.status, Status::Refused(..)))
    };
    for engine in text.lines().skip(1).map(str::trim).filter(|engine| !refused(engine)) {
        for (name, _) in listed(&fio(&[&format!("--enghelp={engine}")])?.0) {
            match OPTIONS.iter().find(|row| row.rule.engines.contains(&engine) && row.entry.answers_to(&name))
            {
                None => wrong.push(format!("ioengine={engine}: `{name}` is not in the table")),
                Some(row) => {
                    let help = fio(&[&format!("--enghelp={engine},{name}")])?.0;
                    wrong.extend(compare(row, &name, &help, false));
                }
            }
        }
    }
    verdict(wrong)
}

/// Alias, default, bounds, kind and words of one option.
fn compare(row: &JobOption, name: &str, help: &str, bounds: bool) -> Vec<String> {
    let theirs = fields(help);
    let ours_text = iodyno_dialect::fio::help::details(row);
    let ours = fields(&ours_text);
    let mut wrong = Vec::new();
    let mut differ = |what: &str| {
        let (theirs, ours) = (theirs.get(what), ours.get(what));
        if theirs != ours && !different(name) {
            wrong.push(format!("`{name}`: {what}: fio says {theirs:?}, we {ours:?}"));
        }
    };
    // The verb of RDMA has an alias that is another engine's option.
    if name != "verb" {
        differ("alias");
    }
    if !matches!(row.entry.status, Status::Refused(..)) {
        differ("default");
        if bounds {
            differ("range");
        }
        if theirs.get("type").is_some_and(|kind| kind.contains("bool") || kind.contains("float")) {
            differ("type");
        }
    }
    let (theirs, ours) = (words(help), words(&ours_text));
    if theirs != ours && !different(name) {
        wrong.push(format!("`{name}`: fio knows {theirs:?}, we {ours:?}"));
    }
    wrong
}

fn verdict(wrong: Vec<String>) -> Outcome {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn main() -> std::process::ExitCode {
    let fio = &[Need::Tool("fio"), Need::That(known)];
    testbed::run(vec![
        Case::new("fio_options", fio, options_as_fio).against(),
        Case::new("fio_engine_options", fio, engine_options_as_fio).against(),
        Case::new("fio_values", fio, values::as_fio).against(),
        Case::new("fio_refusals", fio, values::refused_as_fio).against(),
        Case::new("fio_job_files", fio, files::as_fio).against(),
    ])
}

/// Whether it is the version whose words were compared.
fn known() -> Result<(), testbed::Skip> {
    match fio(&["--version"]) {
        Ok((text, _)) if text.trim() == "fio-3.33" => Ok(()),
        _ => Err(testbed::Skip::new("fio is not version 3.33, whose words these are")),
    }
}
