//! A conversation with peers from beginning to end: what it prints goes out, what its runs tell goes where any run's
//! does, and the exit status is the conversation's.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use iodyno_dialect::{Converse, Run, Translate};
use iodyno_engine::peer::background;
use iodyno_engine::peer::{self, Listener};
use iodyno_model::conversation::RunNumber;
use iodyno_model::{Diagnostic, Event, Finding, FindingKind, Origin, Record, Severity};
use iodyno_report::median_pass::OnePass;
use iodyno_report::paint::Paint;
use iodyno_truth::demand;

use crate::loader::plain;
use crate::session::{EventFanout, OutputPolicy, Silent, say};
use crate::{terminal, trigger};

/// Carries a conversation; the exit status.
pub fn answer(talk: Converse, policy: &OutputPolicy) -> u8 {
    let Converse { mut conversation, mut run, daemon, pid_file } = talk;
    let departure = match daemon.then(background::go).transpose() {
        Ok(departure) => departure,
        Err(failure) => {
            say(Diagnostic::error(&Origin::Default, failure.message));
            return 1;
        }
    };
    let opened =
        PidFile::claim(pid_file).and_then(|held| Ok((held, ConversationRun::open(&mut run, policy)?)));
    let (held, mut talk) = match opened {
        Ok(opened) => opened,
        Err(wrong) => {
            say(wrong);
            return 1;
        }
    };
    talk.departure = departure;
    let options = talk.fanout.options(&run);
    let carried = peer::converse(conversation.as_mut(), &options, &mut talk);
    drop(held);
    let status = talk.close(&run, policy);
    match carried {
        Ok(of_conversation) => of_conversation.max(status),
        Err(failure) => {
            say(Diagnostic { hint: failure.hint, ..Diagnostic::error(&Origin::Default, failure.message) });
            1
        }
    }
}

/// Findings about what one end of a flow did to it: its buffer, its processor, its bursts, its window.
const OF_THIS_END: [FindingKind; 4] = [
    FindingKind::SmallReceiveBuffer,
    FindingKind::ProcessorBound,
    FindingKind::BurstLoss,
    FindingKind::SmallWindow,
];

/// Where everything goes that is printed and told.
struct ConversationRun {
    fanout: EventFanout,
    log: Option<File>,
    translate: Translate,
    /// Who started us waits for a word.
    departure: Option<background::Departure>,
    /// Whether the runs are others': a server goes on for weeks.
    forgets: bool,
    /// Whether findings are told.
    finds: bool,
    /// Those that another one explains in full, too.
    details: bool,
    /// Whether a file could not be written.
    unwritten: bool,
    /// The record of all its runs, whose phases follow each other.
    record: Option<Box<Record>>,
}

impl ConversationRun {
    fn open(run: &mut Run, policy: &OutputPolicy) -> Result<ConversationRun, Diagnostic> {
        let of_others = run.plan.phases.is_empty();
        if let Some(wrong) = unfit(run, of_others) {
            return Err(wrong);
        }
        let log = run.output.as_deref().map(appended).transpose()?;
        Ok(ConversationRun {
            fanout: EventFanout::open(run, policy)?,
            log,
            translate: run.translate,
            departure: None,
            forgets: of_others,
            finds: policy.tells_findings(),
            details: run.details,
            unwritten: false,
            record: None,
        })
    }

    /// Tells what all runs were together, and what follows the report.
    fn close(mut self, run: &Run, policy: &OutputPolicy) -> u8 {
        let mut record = self.record.take();
        if let Some(record) = &mut record {
            record.findings.extend(iodyno_truth::flows::told_by_peers(record));
            record.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
            record.demands = demand::judge(&run.plan, record);
            self.fanout.tell(&Event::Ended(record.clone()), self.translate, &mut Silent);
        }
        let kept = match (self.fanout, &record) {
            (fanout, Some(_)) => fanout.close(run, policy).unwrap_or(false),
            (fanout, None) => {
                fanout.take_back();
                true
            }
        };
        let failed = record.iter().flat_map(|record| &record.demands).any(|demand| demand.failed);
        if let Some(record) = record {
            // Nobody may be listening there.
            let _ = io::stderr().write_all(policy.after_report(&record, run).as_bytes());
        }
        u8::from(!kept || failed || self.unwritten)
    }

    /// Of a client's run a server tells what held its own end back: nobody else can see it.
    fn tell_of_this_end(&mut self, record: &Record) {
        let is_of_this_end =
            |finding: &Finding| finding.kind().is_some_and(|kind| OF_THIS_END.contains(&kind));
        let doubtful = |finding: &Finding| is_of_this_end(finding) && finding.severity >= Severity::Doubtful;
        let findings = record.findings.iter().filter(|finding| self.finds && doubtful(finding)).cloned();
        let findings: Vec<_> = findings.filter_map(self.translate).collect();
        if !findings.is_empty() {
            let paint = Paint { colour: false, ..terminal::err_paint() };
            self.complain(&iodyno_report::findings::text(&findings, self.details, paint));
        }
    }

    /// A further run's record.
    fn join(&mut self, record: Record) {
        match &mut self.record {
            None => self.record = Some(Box::new(record)),
            Some(known) => {
                known.phases.extend(record.phases);
                known.findings.extend(record.findings);
                known.errors.extend(record.errors);
                known.stopped_by = known.stopped_by.or(record.stopped_by);
                known.phases.iter_mut().enumerate().for_each(|(index, phase)| phase.index = index);
            }
        }
    }
}

impl Listener for ConversationRun {
    fn stands(&mut self) {
        self.departure.iter_mut().for_each(background::Departure::settle);
    }

    fn event(&mut self, _: RunNumber, event: &Event) {
        match event {
            // What could not begin says why in the conversation's own words.
            Event::Ended(record) if !self.forgets && !record.phases.is_empty() => {
                self.join((**record).clone())
            }
            Event::Ended(record) => self.tell_of_this_end(record),
            Event::Started(_) if self.record.is_some() => {}
            event => self.fanout.tell(event, self.translate, &mut Silent),
        }
    }

    fn peer(&mut self, job: &str, facts: Vec<(String, u64)>) {
        let phases = self.record.iter_mut().flat_map(|record| &mut record.phases).rev();
        let known = phases.flat_map(|phase| &mut phase.jobs).find(|known| known.name == job);
        known.into_iter().for_each(|known| known.peer.clone_from(&facts));
    }

    fn print(&mut self, text: &str) -> bool {
        let written = match &mut self.log {
            Some(log) => log.write_all(text.as_bytes()),
            None => terminal::out().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
        };
        written.is_ok()
    }

    fn write(&mut self, path: &str, bytes: &[u8]) {
        if let Err(error) = std::fs::write(path, bytes) {
            say(crate::sink::unwritable(path, &error));
            self.unwritten = true;
        }
    }

    fn remove(&mut self, path: &str) {
        // One that is gone already was removed by somebody else.
        let _ = std::fs::remove_file(path);
    }

    fn command(&mut self, command: &str) {
        trigger::command(command);
    }

    fn complain(&mut self, text: &str) {
        // Nobody may be listening there.
        let _ = match &mut self.log {
            Some(log) => log.write_all(text.as_bytes()),
            None => terminal::err().write_all(text.as_bytes()),
        };
    }
}

/// What was asked of a run that a conversation cannot do, or that makes no sense of it.
fn unfit(run: &Run, of_others: bool) -> Option<Diagnostic> {
    let wrong = |message: &str| Diagnostic::error(&Origin::argument("--also"), message);
    let wants = !run.files.is_empty() || run.keep.wanted == Some(true) || !run.plan.demands.is_empty();
    if of_others && wants {
        let wrong = wrong("what a server runs is its clients'");
        return Some(wrong.hint("ask for files, for the history and for conditions on the client's side"));
    }
    if OnePass::needed(&run.plan) {
        let wrong = wrong("a test with a peer is made once, not in passes");
        return Some(
            wrong.hint("start it as often as you want it, and compare the runs that are kept (save)"),
        );
    }
    demand::check(&run.plan).into_iter().next()
}

/// A file that what is printed is added to.
fn appended(path: &str) -> Result<File, Diagnostic> {
    OpenOptions::new().append(true).create(true).open(path).map_err(|error| {
        Diagnostic::error(&Origin::argument(path), plain(&error)).hint("what is printed would go there")
    })
}

/// A file that says which process this is, for as long as it is.
struct PidFile(Option<String>);

impl PidFile {
    /// Makes it. One that a process left behind which is no more is taken over.
    fn claim(path: Option<String>) -> Result<PidFile, Diagnostic> {
        let Some(path) = path else { return Ok(PidFile(None)) };
        let wrong = |text: String| Diagnostic::error(&Origin::argument(&path), text);
        if let Ok(found) = std::fs::read_to_string(&path) {
            let pid: Option<u32> = found.trim_end_matches('\0').trim().parse().ok();
            let Some(pid) = pid else {
                return Err(wrong("it is there, and holds no process's number".into())
                    .hint("remove it if it is of no use, or name another file"));
            };
            if background::is_alive(pid) {
                return Err(wrong(format!("process {pid} runs")).hint("end it first, or name another file"));
            }
        }
        std::fs::write(&path, format!("{}\n", std::process::id())).map_err(|error| wrong(plain(&error)))?;
        Ok(PidFile(Some(path)))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}
