//! `seeds NAME DIRECTORY`: writes the seeds of a target as files, each once, so that a fuzzer can begin with them.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, directory] = &arguments[..] else {
        eprintln!("usage: seeds NAME DIRECTORY");
        return ExitCode::from(2);
    };
    for (number, seed) in iodyno_fuzz::seeds(name).iter().enumerate() {
        let path = Path::new(directory).join(format!("seed-{number:03}"));
        if let Err(error) = std::fs::write(&path, seed) {
            eprintln!("error: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
