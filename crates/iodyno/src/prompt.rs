//! Commands that are typed at a terminal: each is asked for, and answered before the next one.
//!
//! A line that is wrong is told, and the next one is asked for. The end of the input ends it; a signal during a run ends it as
//! it ends a run by itself.

use std::io::{self, BufRead, Write};

use iodyno_dialect::{CommandPrompt, Request, Run};
use iodyno_engine::world::World;
use iodyno_model::Diagnostic;

use crate::loader::HostLoader;
use crate::session::{self, OutputPolicy, say};
use crate::terminal;

/// What is added to each run.
type Join<'a> = dyn Fn(&mut Run) -> Result<(), Diagnostic> + 'a;

/// Asks for commands until there is none; the exit status of the last run that was not well, or 0.
pub fn answer(
    world: &mut World,
    mut prompt: Box<dyn CommandPrompt>,
    join: &Join<'_>,
    policy: &OutputPolicy,
) -> u8 {
    let mut worst = 0;
    let mut request = Some(Ok(prompt.begin()));
    while let Some(asked) = request {
        if let Some(status) = carry_out(world, asked, join, policy) {
            worst = status.max(worst);
        }
        let line = match typed(prompt.prompt()) {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => {
                say(format_args!("error: standard input: {error}"));
                return 1;
            }
        };
        request = prompt.answer(&line, &mut HostLoader::new(world));
    }
    worst
}

/// Does what a line asks for; the exit status of a run.
fn carry_out(
    world: &mut World,
    mut request: Result<Request, Vec<Diagnostic>>,
    join: &Join<'_>,
    policy: &OutputPolicy,
) -> Option<u8> {
    let runs = matches!(request, Ok(Request::Run(_)));
    if let Ok(Request::Run(run)) = &mut request
        && let Err(wrong) = join(run)
    {
        say(&wrong);
        return Some(2);
    }
    let status = session::answer(world, request, policy);
    runs.then_some(status)
}

/// The next line without its end; none: there is no more.
fn typed(prompt: &str) -> io::Result<Option<String>> {
    let mut out = terminal::out();
    out.write_all(prompt.as_bytes())?;
    out.flush()?;
    let mut line = Vec::new();
    let read = io::stdin().lock().read_until(b'\n', &mut line)?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_string()))
}
