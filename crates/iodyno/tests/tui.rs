//! `iodyno tui` at a terminal: keys are pressed, what stands there is read, and the terminal is as it was afterwards.
//!
//! What the pages show is held by sessions in memory (crates/report/src/tui); here is what only a terminal shows.

use std::process::Command;

use tempfile::TempDir;
use testbed::program::{Program, Running};
use testbed::terminal::Screen;
use testbed::{Case, Outcome};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");
/// To the terminal's other screen, and back.
const OPEN: &str = "\u{1b}[?1049h";
const CLOSE: &str = "\u{1b}[?1049l";

const PLAN: &str = "name = \"nightly\"\n[target.disk]\nnothing = \"1GiB\"\n[[phase]]\nname = \"reads\"\n[[phase.job]]\nname = \"reader\"\n\
                    engine = \"sim\"\non = \"disk\"\ndo = \"read\"\npick = \"random\"\nblock = \"4KiB\"\nuntil = { operations = 1000 }\n";

fn home() -> std::io::Result<TempDir> {
    let home = tempfile::Builder::new().prefix("tui-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    std::fs::write(home.path().join("nightly.toml"), PLAN)?;
    Ok(home)
}

fn start(home: &TempDir, screen: &Screen) -> std::io::Result<Running> {
    let mut command = Command::new(IODYNO);
    command
        .arg("tui")
        .current_dir(home.path())
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS");
    command.env("IODYNO_HISTORY", home.path().join("history.sqlite")).env_remove("IODYNO_ALSO");
    Ok(Program::new(command).input(screen.side()?).out(screen.side()?).err(screen.side()?).start())
}

/// Waits until a text was written since so many bytes.
fn sees(running: &mut Running, screen: &Screen, from: usize, word: &str) {
    running.until(word, || screen.text().get(from..).is_some_and(|text| text.contains(word)));
}

/// Waits until the last that was written leads back to the terminal's own screen: it is heard a little after the program's end.
fn is_given_back(screen: &Screen) -> Outcome {
    testbed::wait::until("the terminal's own screen", || screen.text().ends_with(CLOSE))?;
    Ok(())
}

fn a_plan_is_run_reported_and_compared() -> Outcome {
    let (home, screen) = (home()?, Screen::new(80, 24)?);
    let modes = screen.modes();
    let mut running = start(&home, &screen)?;
    sees(&mut running, &screen, 0, "run nightly.toml");
    // The last offer is the plan.
    screen.press("\u{1b}[F")?;
    sees(&mut running, &screen, 0, "plan \"nightly\"");
    for _ in 1..=2 {
        let from = screen.text().len();
        screen.press("\r")?;
        sees(&mut running, &screen, from, "$ iodyno run nightly.toml --live");
        sees(&mut running, &screen, from, "Escape: close");
        let from = screen.text().len();
        screen.press("q")?;
        sees(&mut running, &screen, from, "Enter: run");
    }
    // The newest run stands first and is marked first: the others are compared with it.
    let from = screen.text().len();
    screen.press("2  c")?;
    sees(&mut running, &screen, from, "iodyno compare 2 1");
    screen.press("q")?;
    assert_eq!(running.end().code(), 0);
    is_given_back(&screen)?;
    assert_eq!(screen.modes(), modes, "the terminal's modes are not as they were");
    Ok(())
}

fn signals_and_ctrl_c_give_the_terminal_back() -> Outcome {
    for (keys, signal, status) in
        [("\u{3}", None, Some(0)), ("", Some(libc::SIGTERM), Some(128 + libc::SIGTERM))]
    {
        let (home, screen) = (home()?, Screen::new(80, 24)?);
        let modes = screen.modes();
        let mut running = start(&home, &screen)?;
        sees(&mut running, &screen, 0, "What it does");
        assert!(screen.text().contains(OPEN) && screen.modes() != modes, "the terminal was not taken over");
        screen.press(keys)?;
        if let Some(signal) = signal {
            running.signal(signal);
        }
        assert_eq!(running.end().status.code(), status);
        is_given_back(&screen)?;
        assert_eq!(screen.modes(), modes);
    }
    Ok(())
}

fn a_command_that_is_refused_is_read_before_the_screen_comes_back() -> Outcome {
    let (home, screen) = (home()?, Screen::new(80, 24)?);
    let mut running = start(&home, &screen)?;
    sees(&mut running, &screen, 0, "What it does");
    screen.press(":run nowhere.toml\r")?;
    sees(&mut running, &screen, 0, "nowhere.toml: cannot be read");
    sees(&mut running, &screen, 0, "Enter: back to the screen");
    let from = screen.text().len();
    screen.press("\r")?;
    sees(&mut running, &screen, from, "Enter: run");
    screen.press("q")?;
    assert_eq!(running.end().code(), 0);
    Ok(())
}

fn without_a_terminal_it_says_what_else_there_is() -> Outcome {
    let told = Program::of(IODYNO, ["tui"]).run();
    assert_eq!(told.code(), 2, "{told}");
    assert!(told.err.contains("not a terminal") && told.err.contains("hint: `iodyno runs`"), "{told}");
    let told = Program::of(IODYNO, ["tui", "--fast"]).run();
    assert_eq!(told.code(), 2, "{told}");
    Ok(())
}

fn main() -> std::process::ExitCode {
    testbed::run_waiting(vec![
        Case::new("a_plan_is_run_reported_and_compared", &[], a_plan_is_run_reported_and_compared),
        Case::new(
            "signals_and_ctrl_c_give_the_terminal_back",
            &[],
            signals_and_ctrl_c_give_the_terminal_back,
        ),
        Case::new(
            "a_command_that_is_refused_is_read_before_the_screen_comes_back",
            &[],
            a_command_that_is_refused_is_read_before_the_screen_comes_back,
        ),
        Case::new(
            "without_a_terminal_it_says_what_else_there_is",
            &[],
            without_a_terminal_it_says_what_else_there_is,
        ),
    ])
}
