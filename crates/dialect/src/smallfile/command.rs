//! smallfile's command line, `--name value` or `--name=value`, and its file of parameters in YAML, whose keys are the same names.
//!
//! What the command line says goes before what the file says.

use iodyno_model::{Diagnostic, Origin};

use super::options::TABLE;
use crate::option::{Arguments, GivenOptions, Syntax, Token, ValueRules};
use crate::yaml::{YamlNode, YamlValue};
use crate::{Loader, text_file, yaml};

const RULES: ValueRules =
    ValueRules { table: &TABLE, whole, counter: whole, takes_empty: true, hint_names: true, initials: &[] };

fn whole(text: &str) -> Result<i64, String> {
    let number = text.trim().parse().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| format!("`{text}`: expected a whole number of at least 0"))
}

/// The options of a command line and of the file that it names.
///
/// # Errors
/// Everything that is wrong with them.
pub fn parse(arguments: &[String], loader: &mut dyn Loader) -> Result<GivenOptions, Vec<Diagnostic>> {
    let mut options = GivenOptions::none(&RULES);
    let mut wrong = Vec::new();
    let syntax = Syntax { is_abbreviated: true, ..Syntax::GETOPT };
    for token in Arguments::new(&TABLE, syntax, arguments) {
        let taken = match token {
            Err(misfit) => Err(misfit.diagnostic(&TABLE, "iodyno smallfile --help lists the options")),
            Ok(Token::Option(given)) => options.set(given.entry, given.value.unwrap_or("1"), &given.origin()),
            Ok(Token::Operand(operand)) => {
                Err(Diagnostic::error(&Origin::argument(operand), "expected an option and its value")
                    .hint("--top DIRECTORY says where"))
            }
            Ok(Token::Separator) => Ok(()),
        };
        wrong.extend(taken.err());
    }
    if let Some(path) = options.text("yaml-input-file").map(String::from) {
        let origin = options.origin("yaml-input-file");
        let unread = |why: String| Diagnostic::error(&origin, format!("{path}: {why}"));
        let text = loader.read(&path).and_then(|bytes| text_file::text(&bytes));
        match text.map_err(unread).and_then(|text| yaml::parse(&text, &path)) {
            Ok(root) => wrong.extend(from_file(&mut options, &root)),
            Err(error) => wrong.push(error),
        }
    }
    if wrong.is_empty() { Ok(options) } else { Err(wrong) }
}

fn from_file(options: &mut GivenOptions, root: &YamlNode) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    if root.fields().is_empty() {
        wrong.push(Diagnostic::error(&root.origin, "expected names and values").hint("operation: create"));
    }
    let given: Vec<String> = TABLE
        .entries
        .iter()
        .filter(|entry| options.is_given(entry.name))
        .map(|entry| entry.name.to_string())
        .collect();
    for (name, node) in root.fields() {
        let taken = match (&node.value, TABLE.check(name, &node.origin)) {
            (_, Err(unknown)) => Err(unknown),
            (_, Ok(entry)) if matches!(entry.name, "yaml-input-file" | "help") => {
                Err(Diagnostic::error(&node.origin, format!("`{name}` stands on the command line")))
            }
            (_, Ok(entry)) if given.iter().any(|given| given == entry.name) => Ok(()),
            (YamlValue::Text(text), Ok(entry)) => options.set(entry, switch(text), &node.origin),
            (_, Ok(_)) => Err(Diagnostic::error(&node.origin, format!("{name}: expected one value"))),
        };
        wrong.extend(taken.err());
    }
    wrong
}

/// YAML's own words for yes and no.
fn switch(text: &str) -> &str {
    match text {
        "true" | "True" | "yes" | "Yes" => "Y",
        "false" | "False" | "no" | "No" => "N",
        text => text,
    }
}
