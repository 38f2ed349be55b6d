//! `testbed-device`: serves one staged device from the command line.
//!
//! For trying a tool by hand; tests mount theirs by `testbed::fuse::Device`. It mounts in the foreground
//! and, when interrupted or unmounted, writes the request log as JSON lines.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::fuse::serve_when_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match by_hand(&arguments) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("testbed-device: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn by_hand(arguments: &[String]) -> Result<(), String> {
    let (config, directory, report) = match arguments {
        [config, directory] => (config, directory, None),
        [config, directory, report] => (config, directory, Some(report.into())),
        _ => {
            return Err("usage: testbed-device CONFIG DIRECTORY [LOG]\n\
                 CONFIG is JSON, or a file of it: {\"read\":{\"constant\":2000000},\"parallelism\":1}"
                .into());
        }
    };
    let text = match config.trim_start().starts_with('{') {
        true => config.clone(),
        false => std::fs::read_to_string(config).map_err(|error| format!("{config}: {error}"))?,
    };
    let config = serde_json::from_str(&text).map_err(|error| format!("CONFIG: {error}"))?;
    let scratch = tempfile::tempdir().map_err(|error| format!("no scratch directory: {error}"))?;
    testbed::fuse::serve(&testbed::fuse::order_for(config, directory.into(), scratch.path(), report))
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("testbed-device: needs Linux");
    std::process::exit(1);
}
