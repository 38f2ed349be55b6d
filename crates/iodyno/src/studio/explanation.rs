//! A design or a command line in words, before it runs: what it does, and what to watch out for.

use iodyno_dialect::{DIALECTS, Loader, Request, Run, native};
use iodyno_engine::witness::{signature, users};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin, Plan, TargetKind, Verb, Workload};
use iodyno_report::plan;
use serde_json::{Value, json};

use crate::loader::HostLoader;

/// No line of an explanation is broken: the page does that.
const COLUMNS: usize = 1 << 20;

/// A loader that holds a file which is nowhere yet, or two.
pub fn loader(files: Vec<(String, Vec<u8>)>) -> HostLoader {
    let mut loader = HostLoader::new(&World::alone()).holding(files);
    loader.talks = true;
    loader.paint.columns = COLUMNS;
    loader.paint.colour = false;
    loader
}

/// What a tool's command line would run.
///
/// # Errors
/// Everything that is wrong with it.
pub fn lowered(tool: &str, words: &[String], loader: &mut HostLoader) -> Result<Run, Vec<Diagnostic>> {
    let refuse = |what: &str| Err(vec![Diagnostic::error(&Origin::argument(tool), what)]);
    let request = match DIALECTS.iter().find(|dialect| dialect.name == tool) {
        _ if tool == "run" => native::run(words, loader, &|_| crate::experiment::no_reporter()),
        Some(dialect) => (dialect.lower)(words, loader),
        None => return refuse("there is no such tool: iodyno dialects lists them"),
    };
    match request? {
        Request::Run(run) => Ok(*run),
        Request::Refuse { err, .. } => {
            let text = err.trim_end().trim_start_matches("error: ");
            match text.split_once("\n hint: ") {
                Some((what, hint)) => Err(vec![Diagnostic::error(&Origin::argument(tool), what).hint(hint)]),
                None => refuse(text),
            }
        }
        Request::Hosts(_) => refuse("name the hosts in their own field"),
        _ => refuse("it is no measurement of storage on this machine"),
    }
}

/// A run in words, for the page.
pub fn explained(run: &Run, loader: &HostLoader) -> Value {
    let text = native::explanation(&run.plan, Some(run.translate), loader);
    let messages: Vec<String> = run.messages.iter().map(ToString::to_string).collect();
    let given_up = written_devices(&run.plan);
    let obstacles = match iodyno_engine::check(&willing(&run.plan)) {
        Ok(_) => Vec::new(),
        Err(wrong) => wrong.iter().map(diagnostic).collect(),
    };
    json!({
        "sections": sections(&text), "plan": plan::print(&run.plan), "messages": messages, "devices": given_up,
        "wrong": obstacles,
    })
}

/// The same plan with the devices given up that are asked about anyway: what else stands in its way is told now.
fn willing(plan: &Plan) -> Plan {
    let devices = plan.targets.iter().filter_map(|target| target.path().map(String::from));
    Plan { destroy: devices.collect(), ..plan.clone() }
}

/// The devices that it writes to, with what is lost.
pub fn written_devices(plan: &Plan) -> Vec<Value> {
    let writes = |index: usize| {
        plan.phases.iter().flat_map(|phase| &phase.jobs).any(|job| {
            job.targets.contains(&index)
                && match &job.workload {
                    Workload::Pattern(pattern) => {
                        pattern.mix.shares.iter().any(|share| share.verb != Verb::Read && share.weight > 0.0)
                    }
                    _ => true,
                }
        })
    };
    let targets = plan.targets.iter().enumerate().filter(|(index, _)| writes(*index));
    let devices = targets.filter_map(|(_, target)| match &target.kind {
        TargetKind::Device { path } => Some(path),
        TargetKind::File { path, .. } if iodyno_engine::check::is_block_device(path) => Some(path),
        _ => None,
    });
    devices.map(|path| json!({ "path": path, "holds": holds(path) })).collect()
}

/// What is on a device, or who uses it.
pub fn holds(path: &str) -> Option<String> {
    users::of(path)
        .map(|user| user.what)
        .or_else(|| signature::on(path).map(|name| format!("it carries {name}")))
}

/// What is wrong, for the page: the field that it is about, what, and what helps.
pub fn diagnostic(wrong: &Diagnostic) -> Value {
    json!({ "place": wrong.origin.to_string(), "message": wrong.message, "hint": wrong.hint })
}

/// The parts of an explanation: headings with their sentences.
fn sections(text: &str) -> Vec<Value> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match (line.starts_with(' '), sections.last_mut()) {
            (true, Some((_, items))) if line.starts_with("    ") && !items.is_empty() => {
                let last = items.len() - 1;
                items[last].push_str(&format!(" {}", line.trim()));
            }
            (true, Some((_, items))) => items.push(line.trim().to_string()),
            _ => sections.push((line.trim().to_string(), Vec::new())),
        }
    }
    sections.iter().map(|(title, items)| json!({ "title": title, "items": items })).collect()
}

/// Whether a path is one, for exports.
pub fn kind(path: &str) -> Option<iodyno_dialect::PathKind> {
    loader(Vec::new()).look(path).map(|facts| facts.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_falls_into_its_parts() {
        let text = "What it does\n  It reads.\n    Much.\n  It writes.\nWatch out\n  a cache → direct\n";
        let told = sections(text);
        assert_eq!(told[0], json!({ "title": "What it does", "items": ["It reads. Much.", "It writes."] }));
        assert_eq!((told.len(), &told[1]["items"][0]), (2, &json!("a cache → direct")));
    }
}
