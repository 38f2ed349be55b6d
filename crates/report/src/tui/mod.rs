//! The full screen that is worked by keys: what can be run here, the history, comparisons, and what this machine is.
//!
//! ```text
//!   key ──► [Tui::key] ──► [TuiRequest]: what the program is to do ──► its answer ──► [Tui::told] ──► [frame] ──► bytes
//! ```
//! It starts nothing, reads nothing and knows no clock: keys and answers go in, wishes and frames come out, so that a test can
//! replay a session. Whoever drives it runs each wish as the command that a user would have typed.

use crate::history::RunSummary;
use crate::paint::Paint;
use crate::screen::canvas::Canvas;

mod frame;
mod pager;
mod prompt;

use pager::Pager;
use prompt::{Prompt, PromptKind, PromptOutcome};

pub use crate::screen::canvas::{CLOSE, OPEN};
pub use prompt::joined as command_line;

/// Narrower and lower screens are drawn as if they were so large.
const SMALLEST: (usize, usize) = (60, 16);

/// A key, or what stands for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Letter(char),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// Ctrl-C or Ctrl-D.
    Leave,
}

/// Something that can be run here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Its command line behind `iodyno`, as it is shown.
    pub words: Vec<String>,
    /// What is added when it runs here: the live screen, and that the history keeps it.
    pub also: Vec<String>,
    /// The command that explains it without running it.
    pub explain: Vec<String>,
    /// What it is, in a few words.
    pub about: String,
}

/// What the program is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuiRequest {
    Nothing,
    Leave,
    /// A command that prints and changes nothing; the answer is its text.
    Read(Purpose, Vec<String>),
    /// A command that changes the history; afterwards the runs are listed anew.
    Change(Vec<String>),
    /// A command that measures: it has the terminal for itself until it ends.
    Run(Vec<String>),
    /// The runs with this text in their name or command line, newest first.
    List(String),
}

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Below the offer that is chosen.
    Explanation,
    /// The comparison of the marked runs.
    Comparison,
    /// What this machine is.
    Machine,
    /// Over the page, until it is closed.
    Report,
}

/// The pages, in the order of their tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuiPage {
    Plan,
    History,
    Compare,
    Machine,
}

impl TuiPage {
    const ALL: [TuiPage; 4] = [TuiPage::Plan, TuiPage::History, TuiPage::Compare, TuiPage::Machine];

    fn name(self) -> &'static str {
        match self {
            TuiPage::Plan => "Plan",
            TuiPage::History => "History",
            TuiPage::Compare => "Compare",
            TuiPage::Machine => "Machine",
        }
    }
}

/// The state of the screen.
pub struct Tui {
    page: TuiPage,
    /// Columns and rows.
    size: (usize, usize),
    paint: Paint,
    offers: Vec<Offer>,
    offer: usize,
    explanation: Pager,
    /// The offer that the explanation is of.
    explained: Option<usize>,
    runs: Vec<RunSummary>,
    run: usize,
    /// Whether the runs were listed.
    listed: bool,
    /// The text that the listed runs contain.
    searched: String,
    /// The numbers of marked runs, in the order in which they were marked.
    marked: Vec<i64>,
    comparison: Pager,
    /// What the comparison is of.
    compared: Vec<i64>,
    machine: Option<Pager>,
    /// A text over the page.
    over: Option<Pager>,
    prompt: Option<Prompt>,
    /// A sentence in the last line but one, until the next key.
    notice: String,
}

impl Tui {
    /// The first page, of what can be run.
    pub fn new(offers: Vec<Offer>, size: (u16, u16), paint: Paint) -> Self {
        let mut tui = Tui {
            page: TuiPage::Plan,
            size: SMALLEST,
            paint,
            offers,
            offer: 0,
            explanation: Pager::default(),
            explained: None,
            runs: Vec::new(),
            run: 0,
            listed: false,
            searched: String::new(),
            marked: Vec::new(),
            comparison: Pager::default(),
            compared: Vec::new(),
            machine: None,
            over: None,
            prompt: None,
            notice: String::new(),
        };
        tui.resize(size);
        tui
    }

    /// The terminal has another size now.
    pub fn resize(&mut self, (columns, rows): (u16, u16)) {
        self.size = (usize::from(columns).max(SMALLEST.0), usize::from(rows).max(SMALLEST.1));
    }

    /// Columns for the texts that commands print.
    pub fn columns(&self) -> usize {
        self.size.0 - 2
    }

    /// The page as bytes for the terminal.
    pub fn frame(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = self.canvas().paint(self.paint.colour, &mut bytes);
        bytes
    }

    fn canvas(&self) -> Canvas {
        let mut canvas = Canvas::new(self.size.0, self.size.1);
        frame::draw(self, &mut canvas);
        canvas
    }

    /// What is to be fetched before the next key, so that the page is whole.
    pub fn wants(&self) -> TuiRequest {
        match self.page {
            TuiPage::Plan if self.explained != Some(self.offer) => {
                self.offers.get(self.offer).map_or(TuiRequest::Nothing, |offer| {
                    TuiRequest::Read(Purpose::Explanation, offer.explain.clone())
                })
            }
            TuiPage::History if !self.listed => TuiRequest::List(self.searched.clone()),
            TuiPage::Compare if self.marked.len() > 1 && self.compared != self.marked => {
                let runs = self.marked.iter().map(ToString::to_string);
                TuiRequest::Read(
                    Purpose::Comparison,
                    std::iter::once("compare".to_string()).chain(runs).collect(),
                )
            }
            TuiPage::Machine if self.machine.is_none() => {
                TuiRequest::Read(Purpose::Machine, vec!["doctor".into()])
            }
            _ => TuiRequest::Nothing,
        }
    }

    /// The text that was wished for.
    pub fn told(&mut self, purpose: Purpose, title: &str, text: &str) {
        let pager = Pager::of(title, text);
        match purpose {
            Purpose::Explanation => (self.explanation, self.explained) = (pager, Some(self.offer)),
            Purpose::Comparison => (self.comparison, self.compared) = (pager, self.marked.clone()),
            Purpose::Machine => self.machine = Some(pager),
            Purpose::Report => self.over = Some(pager),
        }
    }

    /// The runs that were wished for.
    pub fn listed(&mut self, runs: Vec<RunSummary>) {
        let chosen = self.runs.get(self.run).map(|run| run.id);
        self.run = runs.iter().position(|run| Some(run.id) == chosen).unwrap_or(0);
        self.runs = runs;
        self.listed = true;
    }

    /// The history changed: it is listed anew when it is looked at.
    pub fn changed(&mut self) {
        self.listed = false;
        self.compared.clear();
    }

    /// A sentence for the user, until the next key.
    pub fn notice(&mut self, text: &str) {
        self.notice = text.to_string();
    }

    /// A key was pressed.
    pub fn key(&mut self, key: Key) -> TuiRequest {
        self.notice.clear();
        if key == Key::Leave {
            return TuiRequest::Leave;
        }
        if let Some(prompt) = &mut self.prompt {
            let typed = prompt.key(key);
            return self.answered(typed);
        }
        let rows = self.size.1 - frame::AROUND;
        if let Some(over) = &mut self.over {
            match key {
                Key::Escape | Key::Enter | Key::Letter('q') => self.over = None,
                key => over.key(key, rows),
            }
            return TuiRequest::Nothing;
        }
        match key {
            Key::Letter('q') => TuiRequest::Leave,
            Key::Letter('?') => {
                self.over = Some(Pager::of("Keys", HELP));
                TuiRequest::Nothing
            }
            Key::Letter(':') => self.ask(PromptKind::Command, ""),
            Key::Letter(digit @ '1'..='4') => self.turn_to(digit as usize - '1' as usize),
            Key::Tab => self.turn_to((self.place() + 1) % TuiPage::ALL.len()),
            Key::BackTab => self.turn_to((self.place() + TuiPage::ALL.len() - 1) % TuiPage::ALL.len()),
            key => match self.page {
                TuiPage::Plan => self.plan_key(key),
                TuiPage::History => self.history_key(key),
                TuiPage::Compare => {
                    self.comparison.key(key, rows);
                    TuiRequest::Nothing
                }
                TuiPage::Machine => {
                    if let Some(machine) = &mut self.machine {
                        machine.key(key, rows);
                    }
                    TuiRequest::Nothing
                }
            },
        }
    }

    fn place(&self) -> usize {
        TuiPage::ALL.iter().position(|page| *page == self.page).unwrap_or(0)
    }

    fn turn_to(&mut self, place: usize) -> TuiRequest {
        self.page = TuiPage::ALL[place];
        if self.page == TuiPage::History {
            // Other programs add to it meanwhile.
            self.listed = false;
        }
        TuiRequest::Nothing
    }

    fn ask(&mut self, kind: PromptKind, text: &str) -> TuiRequest {
        self.prompt = Some(Prompt::new(kind, text));
        TuiRequest::Nothing
    }

    fn plan_key(&mut self, key: Key) -> TuiRequest {
        let last = self.offers.len().saturating_sub(1);
        match key {
            Key::Up | Key::Letter('k') => self.offer = self.offer.saturating_sub(1),
            Key::Down | Key::Letter('j') => self.offer = (self.offer + 1).min(last),
            Key::Home => self.offer = 0,
            Key::End => self.offer = last,
            Key::PageUp | Key::PageDown | Key::Letter(' ') => {
                let rows = frame::below_the_list(self.size.1);
                self.explanation.key(key, rows);
            }
            Key::Enter => {
                let run = self.offers.get(self.offer);
                return run.map_or(TuiRequest::Nothing, |offer| {
                    TuiRequest::Run(offer.words.iter().chain(&offer.also).cloned().collect())
                });
            }
            Key::Letter('e') => {
                let text =
                    self.offers.get(self.offer).map(|offer| prompt::joined(&offer.words)).unwrap_or_default();
                return self.ask(PromptKind::Command, &text);
            }
            _ => {}
        }
        TuiRequest::Nothing
    }

    fn history_key(&mut self, key: Key) -> TuiRequest {
        let last = self.runs.len().saturating_sub(1);
        let step = frame::list_rows(self.size.1);
        let chosen = self.runs.get(self.run).map(|run| run.id);
        match (key, chosen) {
            (Key::Up | Key::Letter('k'), _) => self.run = self.run.saturating_sub(1),
            (Key::Down | Key::Letter('j'), _) => self.run = (self.run + 1).min(last),
            (Key::PageUp, _) => self.run = self.run.saturating_sub(step),
            (Key::PageDown, _) => self.run = (self.run + step).min(last),
            (Key::Home, _) => self.run = 0,
            (Key::End, _) => self.run = last,
            (Key::Letter('/'), _) => {
                let text = self.searched.clone();
                return self.ask(PromptKind::Search, &text);
            }
            (Key::Letter(' ' | 'm'), Some(id)) => {
                match self.marked.iter().position(|marked| *marked == id) {
                    Some(at) => drop(self.marked.remove(at)),
                    None => self.marked.push(id),
                }
                self.run = (self.run + 1).min(last);
            }
            (Key::Letter('u'), _) => self.marked.clear(),
            (Key::Letter('c'), _) if self.marked.len() > 1 => return self.turn_to(2),
            (Key::Letter('c'), _) => self.notice = "mark at least two runs with the space bar first".into(),
            (Key::Enter, Some(id)) => {
                return TuiRequest::Read(
                    Purpose::Report,
                    ["runs", "show", &id.to_string()].map(String::from).to_vec(),
                );
            }
            (Key::Letter('r'), Some(id)) => {
                return TuiRequest::Run(["rerun", &id.to_string(), "--live"].map(String::from).to_vec());
            }
            (Key::Letter('t'), Some(id)) => return self.ask(PromptKind::Tag(id), ""),
            (Key::Letter('d'), Some(id)) => return self.ask(PromptKind::Delete(id), ""),
            _ => {}
        }
        TuiRequest::Nothing
    }

    /// What became of the line at the bottom.
    fn answered(&mut self, typed: PromptOutcome) -> TuiRequest {
        if typed == PromptOutcome::More {
            return TuiRequest::Nothing;
        }
        let kind = self.prompt.take().map(|prompt| prompt.kind);
        let (PromptOutcome::Text(text), Some(kind)) = (typed, kind) else { return TuiRequest::Nothing };
        match kind {
            PromptKind::Command => {
                let words = match prompt::words(&text) {
                    Ok(words) => words,
                    Err(wrong) => {
                        self.notice = wrong;
                        return TuiRequest::Nothing;
                    }
                };
                match words.first().map(String::as_str) {
                    None => TuiRequest::Nothing,
                    Some("tui") => {
                        self.notice = "it is open already".into();
                        TuiRequest::Nothing
                    }
                    Some(_) => TuiRequest::Run(words),
                }
            }
            PromptKind::Search => {
                (self.searched, self.listed) = (text, false);
                TuiRequest::Nothing
            }
            PromptKind::Tag(id) => {
                let tags = text.split_whitespace().map(String::from);
                let words: Vec<String> =
                    ["runs", "tag", &id.to_string()].map(String::from).into_iter().chain(tags).collect();
                if words.len() > 3 { TuiRequest::Change(words) } else { TuiRequest::Nothing }
            }
            PromptKind::Delete(id) if ["y", "yes"].contains(&text.trim()) => {
                self.marked.retain(|marked| *marked != id);
                TuiRequest::Change(["runs", "delete", &id.to_string()].map(String::from).to_vec())
            }
            PromptKind::Delete(_) => {
                self.notice = "nothing was deleted".into();
                TuiRequest::Nothing
            }
        }
    }
}

const HELP: &str = "\
everywhere
  1 2 3 4, Tab     Plan, History, Compare, Machine
  :                type a command of iodyno; it is run as in a shell
  ?                this page
  q, Ctrl-C        leave

Plan: what can be run in this directory
  up down          choose; the text below says what it would do
  PageUp PageDown  move the text
  Enter            run it, with the live screen; Ctrl-C ends the run
  e                change its command line first

History
  Enter            the report of a run
  space            mark a run; u: no marks
  c                compare the marked runs
  r                run it again
  t                add a tag
  d                delete it
  /                only runs with a text

in a text
  up down, PageUp PageDown, Home End; Escape closes it

A run is the command that you would have typed: what that refuses is refused here,
and a device that carries data is written only if --destroy names it.
";

#[cfg(test)]
mod tests;
