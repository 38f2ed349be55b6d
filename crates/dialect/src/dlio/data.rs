//! What is in the data folder: the files of the sets, by their names.
//!
//! A set of more files than are asked for is used in part, as DLIO does. It refuses to look into files.

use iodyno_model::Diagnostic;

use super::test::{DlioJudge, DlioTest};
use crate::Loader;

/// A data set: of training or of evaluation.
#[derive(Clone, Debug, Default)]
pub struct DlioSet {
    pub folder: String,
    pub files: u64,
    /// The number of files that their names say.
    pub of: u64,
    pub subfolders: u64,
    pub batch: u32,
    /// Steps of an epoch.
    pub steps: u64,
}

impl DlioJudge<'_> {
    /// What is in the data folder.
    pub fn found(&mut self, test: &mut DlioTest, loader: &mut dyn Loader) {
        let wanted = self.settings.number("train.total_training_steps");
        if wanted > 0 {
            test.train.steps = wanted as u64;
        }
        // A simulated device holds whatever is asked of it.
        if test.generates || test.is_simulated {
            return;
        }
        let mut sets = vec![("training", &mut test.train)];
        if test.evaluates {
            sets.push(("evaluation", &mut test.valid));
        }
        let (format, prefix) = (
            self.settings.text("dataset.format").unwrap_or_default(),
            self.settings.text("dataset.file_prefix").unwrap_or_default(),
        );
        for (name, set) in sets {
            let folder = if set.subfolders > 0 {
                format!("{}/{}", set.folder, subfolder(0, set.subfolders))
            } else {
                set.folder.clone()
            };
            let names = loader.list(&folder).unwrap_or_default();
            let numbered: Vec<u64> = names.iter().filter_map(|file| count_of(file, prefix, format)).collect();
            let most = numbered.iter().copied().max().unwrap_or(0);
            let there = numbered.iter().filter(|of| **of == most).count() as u64;
            let expected = if set.subfolders > 0 { set.files.div_ceil(set.subfolders) } else { set.files };
            if there < expected {
                let origin = self.origin("dataset.data_folder");
                let message = format!(
                    "Not enough {name} dataset is found: {there} of {expected} files `{prefix}_*_of_*.{format}` in {folder}"
                );
                self.wrong.push(
                    Diagnostic::error(&origin, message)
                        .hint("Please run the code with ++workload.workflow.generate_data=True"),
                );
            }
            if most > set.files {
                self.warnings.push(format!(
                    "Number of files for {name} in {} ({most}) is more than requested ({}). A subset of files will be used ",
                    set.folder, set.files
                ));
            }
            set.of = most.max(set.files);
        }
    }
}

/// The name of a folder by its number.
pub fn subfolder(number: u64, of: u64) -> String {
    let digits = of.to_string().len();
    format!("{number:0digits$}")
}

/// How many files there are, as the name of one says.
fn count_of(name: &str, prefix: &str, format: &str) -> Option<u64> {
    let rest = name.strip_prefix(prefix)?.strip_prefix('_')?.strip_suffix(format)?.strip_suffix('.')?;
    let (number, of) = rest.split_once("_of_")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some(())?;
    of.parse().ok()
}
