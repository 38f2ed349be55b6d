//! `iodyno net serve`: a netserver for one command of ours, which starts it on another host over ssh.
//!
//! It takes a port of the system's choice and says which, serves only who knows the word that it reads from standard input
//! (a command line is seen by everybody), and ends when the last connection has, or when nobody comes within a minute.

use iodyno_model::{Diagnostic, Origin};

use crate::{Loader, Request, netperf};

/// From arguments to a request.
///
/// # Errors
/// What is wrong with them, or no word.
pub fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let wrong =
        |what: &str, hint: &str| vec![Diagnostic::error(&Origin::argument("net serve"), what).hint(hint)];
    match arguments.first().map(String::as_str) {
        Some("--help" | "-h") => {
            let out = "Usage: iodyno net serve < WORD\n\nA netserver for one command: at any port, for who knows the word \
                       on its standard input.\n";
            return Ok(Request::Print { out: out.into(), status: 0 });
        }
        Some(_) => return Err(wrong("no argument is expected", "the word is read from standard input")),
        None => {}
    }
    let read = loader.standard_input().map_err(|reason| wrong(&reason, "say the word on standard input"))?;
    let word = String::from_utf8_lossy(&read).trim().to_string();
    // A record of netperf's has no room for more.
    if word.len() < 8 || word.len() > 63 {
        return Err(wrong(
            "a word of 8 to 63 letters is expected on standard input",
            "iodyno net mesh --hosts says it",
        ));
    }
    Ok(Request::Converse(Box::new(netperf::serve_once(word))))
}
