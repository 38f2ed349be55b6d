//! `testbed-rogue`: mounts a file system that breaks a rule on purpose, from the command line.
//!
//! For trying a conformance suite by hand. It serves in the foreground until it is interrupted or unmounted.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match by_hand(&arguments) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("testbed-rogue: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
const USAGE: &str = "usage: testbed-rogue MOUNTPOINT [--fault NAME] [--judge] [--hang-after N] [--die-after N]\n       \
                     testbed-rogue --list";

#[cfg(target_os = "linux")]
fn by_hand(arguments: &[String]) -> Result<(), String> {
    use testbed::rogue::{Fault, Terms, serve};
    let mut terms = Terms::default();
    let mut rest = arguments.iter();
    let number = |word: Option<&String>| {
        word.and_then(|word| word.parse().ok()).map(Some).ok_or_else(|| USAGE.to_string())
    };
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--list" => {
                for fault in Fault::ALL {
                    println!("{:28} {}", fault.name(), fault.text());
                }
                return Ok(());
            }
            "--fault" => terms.fault = Some(rest.next().ok_or(USAGE)?.clone()),
            "--judge" => terms.judges = true,
            "--hang-after" => terms.troubles.hang_after = number(rest.next())?,
            "--die-after" => terms.troubles.die_after = number(rest.next())?,
            option if option.starts_with('-') => return Err(format!("`{option}`: unknown\n{USAGE}")),
            place => terms.mountpoint = place.into(),
        }
    }
    if terms.mountpoint.as_os_str().is_empty() {
        return Err(USAGE.into());
    }
    serve(&terms)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("testbed-rogue: needs Linux");
    std::process::exit(1);
}
