//! Processes that a script creates and shuts down itself, as version 1.4 is used by hand: what it sleeps between is a run.
//!
//! `stats clear` begins the counts, `stats snap` reports them, `stats dump` writes the last report into a file. Refuses to
//! run anything: it becomes phases like `run` does.

use iodyno_model::{Diagnostic, Errand, Origin, When};

use super::session::{FilebenchSession, LiveProcesses};
use crate::filebench::script::Stats;
use crate::filebench::view::Dump;

impl FilebenchSession<'_> {
    /// What is asked of the counts.
    pub(super) fn stats(&mut self, stats: &Stats, origin: &Origin) {
        match stats {
            Stats::Clear => self.clear(),
            Stats::Snap => match &mut self.live {
                Some(live) => live.snaps.push(live.slept_s),
                None => self.idle("stats snap", origin),
            },
            Stats::Dump(file, xml) => {
                let Some(name) = self.say(file, origin) else { return };
                let folder = self.folder.as_ref().filter(|_| !name.starts_with('/'));
                let path = folder.map_or(name.clone(), |folder| format!("{folder}/{name}"));
                let dump = Dump { path, xml: *xml, snap: 0 };
                self.dump(dump, origin);
            }
            Stats::Directory(path) => self.folder = self.say(path, origin),
            Stats::Command(command) => {
                let Some(command) = self.say(command, origin) else { return };
                let errand =
                    Errand { when: When::Beside, command, rank: None, meets: false, origin: origin.clone() };
                self.errands.push(errand);
            }
        }
    }

    /// What nobody runs cannot be reported.
    fn idle(&mut self, what: &str, origin: &Origin) {
        let note = Diagnostic::note(origin, format!("`{what}` where nothing runs"));
        self.notes
            .push(note.hint("`create processes` begins what `stats` looks at; `run` reports by itself"));
    }

    /// Counts begin anew: what ran before is warm-up, or a run of its own where it was reported.
    fn clear(&mut self) {
        let Some(live) = &mut self.live else { return };
        if live.snaps.is_empty() {
            live.warm_s += std::mem::take(&mut live.slept_s);
            return;
        }
        let origin = live.origin.clone();
        self.stop();
        self.live = Some(LiveProcesses { origin, ..LiveProcesses::default() });
    }

    /// The last report goes into a file too.
    fn dump(&mut self, mut dump: Dump, origin: &Origin) {
        if let Some(live) = &mut self.live {
            dump.snap = live.snaps.len().saturating_sub(1);
            return live.dumps.push(dump);
        }
        match self.view.parts.last_mut() {
            Some(part) => {
                dump.snap = part.snaps.len().saturating_sub(1);
                part.dumps.push(dump);
            }
            None => self.idle("stats dump", origin),
        }
    }

    /// Ends what was created: it ran as long as was slept.
    pub(super) fn stop(&mut self) {
        let Some(live) = self.live.take() else { return };
        if live.slept_s <= 0.0 {
            return;
        }
        let warmup_s = std::mem::replace(&mut self.warmup_s, live.warm_s);
        self.run(live.slept_s, 0.0, &live.origin);
        self.warmup_s = warmup_s;
        if let Some(part) = self.view.parts.last_mut() {
            (part.snaps, part.dumps) = (live.snaps, live.dumps);
        }
    }
}
