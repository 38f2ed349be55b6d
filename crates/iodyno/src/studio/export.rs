//! A design in the languages of other tools.

use iodyno_model::{Diagnostic, Origin};
use iodyno_studio::design::{self, Design, LoadExport};
use serde_json::{Value, json};

use super::explanation::kind;

/// The design as a file of a language, with what that leaves out.
///
/// # Errors
/// Everything that cannot be said in it.
pub fn export(design: &Design, to: &str) -> Result<Value, Vec<Diagnostic>> {
    let plain = |text: String| LoadExport { text, notes: Vec::new() };
    let (exported, extension) = match to {
        "icf" => {
            let mut exported = plain(design::icf(design)?);
            exported
                .notes
                .extend(design.rate.map(|rate| format!("the rate is said beside it: --also rate={rate}")));
            (exported, "icf")
        }
        "toml" => (plain(design::toml(design, &kind)?), "toml"),
        "fio" => (design::fio(design, &kind)?, "fio"),
        "ior" => (design::ior(design, &kind)?, "sh"),
        "iozone" => (design::iozone(design, &kind)?, "sh"),
        other => {
            let wrong =
                Diagnostic::error(&Origin::argument("export"), format!("`{other}`: no such language"));
            return Err(vec![wrong.hint("icf, toml, fio, ior, iozone")]);
        }
    };
    let stem = design.file_stem();
    let name = if extension == "sh" { format!("{stem}-{to}.sh") } else { format!("{stem}.{extension}") };
    Ok(json!({ "name": name, "text": exported.text, "notes": exported.notes }))
}
