//! Asks what lies on the user's storage, which may never answer.
//!
//! The conductor asks only from here once workers have run: a file system that hangs under them must not take the report
//! with it, and Ctrl-C must be heard.

use std::sync::mpsc;
use std::time::Duration;

/// How long an answer is waited for.
const LIMIT: Duration = Duration::from_secs(5);

/// The answer, `None` where none came in time. Whoever asked is then left behind in the kernel: such a thread ends with
/// the program.
pub fn ask<T: Send + 'static>(question: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    ask_within(LIMIT, question)
}

fn ask_within<T: Send + 'static>(
    limit: Duration,
    question: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (answer, answered) = mpsc::channel();
    let asker = std::thread::Builder::new().name("witness".into());
    let asked = asker.spawn(move || {
        // Nobody may listen any more.
        let _ = answer.send(question());
    });
    asked.ok()?;
    answered.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_and_silence_ends() {
        assert_eq!(ask(|| 7), Some(7));
        let (keep, never) = mpsc::channel::<()>();
        assert_eq!(ask_within(Duration::from_millis(1), move || never.recv().is_ok()), None);
        drop(keep);
    }
}
