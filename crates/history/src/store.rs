//! The store: one SQLite file with a row for each run. What lists and filters ask for are columns; the rest is packed.
//!
//! The rollback journal, not the write-ahead log: home directories lie on network file systems, too. Who finds a run whose
//! program died takes in what its journal holds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use iodyno_model::origin::plain;
use iodyno_model::{Diagnostic, Origin, PhaseRecord, Plan, Record, RunStart, Severity};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use crate::entry::{Entry, Filter, Opening, PartFilter, State, StoredRun, headline};
use crate::journal::{self, Journal};
use crate::pack;
use crate::reference::{Reference, is_tag};

/// What SQLite files of ours carry in their heads: `iody`.
const APPLICATION: i64 = 0x696f_6479;
/// The version of the tables.
const VERSION: i64 = 1;
/// A note may be so long, bytes.
const NOTE_MOST: usize = 64 << 10;
/// How long another process may hold the store.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
CREATE TABLE runs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    state         TEXT NOT NULL,
    name          TEXT NOT NULL,
    tool          TEXT NOT NULL,
    words         TEXT NOT NULL,
    folder        TEXT NOT NULL,
    host          TEXT NOT NULL,
    began_unix_ns INTEGER NOT NULL,
    elapsed_ns    INTEGER NOT NULL DEFAULT 0,
    headline      TEXT NOT NULL DEFAULT '',
    findings      INTEGER NOT NULL DEFAULT 0,
    errors        INTEGER NOT NULL DEFAULT 0,
    version       TEXT NOT NULL,
    plan          BLOB NOT NULL,
    started       BLOB NOT NULL,
    record        BLOB
);
CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    UNIQUE (run, tag)
);
CREATE INDEX tags_by_name ON tags (tag, run);
";

/// Runs that a command made beside its first one, and what people noted about a run. Not in [`TABLES`]: stores of the same
/// version may lack it, and who does not
/// know it sees each run for itself.
const PARTS: &str = "
CREATE TABLE IF NOT EXISTS parts (
    run   INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    first INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS parts_by_first ON parts (first, run);
CREATE TABLE IF NOT EXISTS notes (
    run  INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    text TEXT NOT NULL
);
";

const COLUMNS: &str = "id, state, name, tool, words, folder, host, began_unix_ns, elapsed_ns, headline, findings, \
                       errors, (SELECT group_concat(tag, ' ') FROM (SELECT tag FROM tags WHERE run = id ORDER BY tag)), \
                       (SELECT first FROM parts WHERE run = id), (SELECT count(*) FROM parts WHERE first = id), \
                       (SELECT text FROM notes WHERE run = id)";

/// The store of runs.
pub struct History {
    connection: Connection,
    path: PathBuf,
}

/// A run as it lies in its row: the plan, what was known at its start, and the record, once it has ended.
type Blobs = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

impl History {
    /// Opens the store, or makes it with the directories above it; then takes in what killed programs left behind.
    ///
    /// # Errors
    /// When it cannot be had, or is something else.
    pub fn open(path: &Path) -> Result<History, Diagnostic> {
        let named = |error: String| wrong(path, error);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| named(plain(&error)))?;
        }
        let connection = Connection::open(path).map_err(|error| named(said(&error)))?;
        let history = History { connection, path: path.into() };
        history.prepare()?;
        history.take_in_remains()?;
        Ok(history)
    }

    /// The file that it lies in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the journals of runs under way lie.
    pub fn journals(&self) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".running");
        PathBuf::from(name)
    }

    fn prepare(&self) -> Result<(), Diagnostic> {
        let prepare = || -> rusqlite::Result<Result<(), Diagnostic>> {
            self.connection.busy_timeout(PATIENCE)?;
            self.connection.execute_batch("PRAGMA foreign_keys = ON")?;
            let transaction = self.transaction()?;
            let number =
                |name: &str| self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
            let (application, version): (i64, i64) = (number("application_id")?, number("user_version")?);
            let tables: i64 =
                self.connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
            if tables == 0 {
                self.connection.execute_batch(TABLES)?;
                self.connection.execute_batch(&format!(
                    "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}"
                ))?;
            } else if application != APPLICATION {
                return Ok(Err(self.wrong("it is another program's database")));
            } else if version > VERSION {
                let newer = "it was written by a newer iodyno, which this one does not understand";
                return Ok(Err(self.wrong(newer)));
            }
            self.connection.execute_batch(PARTS)?;
            transaction.commit()?;
            Ok(Ok(()))
        };
        prepare().map_err(|error| self.failed(&error))?
    }

    fn transaction(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }

    /// A run begins: its number and its journal. Nobody sees the one before the other is there.
    pub(crate) fn begin(&self, opening: &Opening, started: &RunStart) -> Result<(i64, Journal), Diagnostic> {
        let transaction = self.transaction().map_err(|error| self.failed(&error))?;
        let id = self.insert(opening, started)?;
        let journal = Journal::begin(&self.journals(), id).map_err(|error| self.unkept(&error))?;
        transaction.commit().map_err(|error| self.failed(&error))?;
        Ok((id, journal))
    }

    /// Why a journal cannot be written.
    pub(crate) fn unkept(&self, error: &std::io::Error) -> Diagnostic {
        wrong(&self.journals(), plain(error))
    }

    /// A new row for a run that begins; its number.
    fn insert(&self, opening: &Opening, started: &RunStart) -> Result<i64, Diagnostic> {
        opening.tags.iter().try_for_each(|tag| check_tag(tag))?;
        let (plan, kept) = (self.packed(&without_destroy(&opening.plan))?, self.packed(started)?);
        let words = serde_json::to_string(&opening.words).unwrap_or_default();
        let machine = &started.machine;
        let row = params![
            State::Running.name(),
            started.plan.name,
            opening.tool,
            words,
            opening.folder,
            machine.host,
            started.at_unix_ns as i64,
            machine.version,
            plan,
            kept
        ];
        let insert =
            "INSERT INTO runs (state, name, tool, words, folder, host, began_unix_ns, version, plan, started)
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        self.connection.execute(insert, row).map_err(|error| self.failed(&error))?;
        let id = self.connection.last_insert_rowid();
        opening.tags.iter().try_for_each(|tag| self.put_tag(id, tag))?;
        if let Some(first) = opening.part_of {
            let put =
                self.connection.execute("INSERT INTO parts (run, first) VALUES (?1, ?2)", params![id, first]);
            put.map_err(|error| self.failed(&error))?;
        }
        Ok(id)
    }

    /// A run is over: what it found.
    pub(crate) fn complete(&self, id: i64, record: &Record, state: State) -> Result<(), Diagnostic> {
        let elapsed: u64 = record.phases.iter().map(|phase| phase.elapsed_ns).sum();
        let row = params![
            id,
            state.name(),
            i64::try_from(elapsed).unwrap_or(i64::MAX),
            headline(record),
            count(record.findings.iter().filter(|finding| finding.severity > Severity::Note)),
            count(record.errors.iter()),
            self.packed(record)?
        ];
        let update = "UPDATE runs SET state = ?2, elapsed_ns = ?3, headline = ?4, findings = ?5, errors = ?6, record = ?7
                      WHERE id = ?1";
        self.connection.execute(update, row).map_err(|error| self.failed(&error))?;
        Ok(())
    }

    /// Keeps a run that another program measured, or another store kept; its number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(
        &self,
        opening: &Opening,
        started: &RunStart,
        record: &Record,
        state: State,
    ) -> Result<i64, Diagnostic> {
        let transaction = self.transaction().map_err(|error| self.failed(&error))?;
        let id = self.insert(opening, started)?;
        self.complete(id, record, state)?;
        transaction.commit().map_err(|error| self.failed(&error))?;
        Ok(id)
    }

    /// The runs that are wanted, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>, Diagnostic> {
        let sql = format!(
            "SELECT {COLUMNS} FROM runs WHERE (?1 IS NULL OR id IN (SELECT run FROM tags WHERE tag = ?1))
             AND (?2 IS NULL OR tool = ?2) AND (?3 IS NULL OR host = ?3) AND (?4 IS NULL OR state = ?4)
             AND (?5 IS NULL OR instr(lower(name || ' ' || words || ' '
                 || coalesce((SELECT text FROM notes WHERE run = id), '')), lower(?5)))
             AND began_unix_ns >= ?6
             AND CASE ?8 WHEN -1 THEN 1 WHEN 0 THEN id NOT IN (SELECT run FROM parts)
                 ELSE id IN (SELECT run FROM parts WHERE first = ?8) END
             ORDER BY id DESC LIMIT ?7"
        );
        let most = if filter.most == 0 { -1 } else { i64::from(filter.most) };
        let asked = params![
            filter.tag,
            filter.tool,
            filter.host,
            filter.state.map(State::name),
            filter.text,
            i64::try_from(filter.since_unix_ns).unwrap_or(i64::MAX),
            most,
            match filter.parts {
                PartFilter::All => -1,
                PartFilter::First => 0,
                PartFilter::Of(first) => first,
            }
        ];
        let list = || {
            let mut statement = self.connection.prepare(&sql)?;
            statement.query_map(asked, entry)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut entries = list().map_err(|error| self.failed(&error))?;
        entries.reverse();
        Ok(entries)
    }

    /// The number of a run that is named by its number, by a tag, or as `last`, `last~2`.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn find(&self, reference: &str) -> Result<i64, Diagnostic> {
        let one = |sql: &str, row: &[&dyn rusqlite::ToSql]| {
            self.connection.query_row(sql, row, |row| row.get(0)).optional()
        };
        let found = match Reference::read(reference) {
            Reference::Number(number) => one("SELECT id FROM runs WHERE id = ?1", &[&number]),
            Reference::Last(back) => {
                let whole = "SELECT id FROM runs WHERE id NOT IN (SELECT run FROM parts) ORDER BY id DESC LIMIT 1 OFFSET ?1";
                one(whole, &[&back])
            }
            Reference::Tag(tag, back) => {
                one("SELECT run FROM tags WHERE tag = ?1 ORDER BY run DESC LIMIT 1 OFFSET ?2", &[&tag, &back])
            }
        };
        let none = || {
            Diagnostic::error(&Origin::argument(reference), "there is no such run in the history")
                .hint("iodyno runs lists them: name one by its number, a tag, or as `last`")
        };
        found.map_err(|error| self.failed(&error))?.ok_or_else(none)
    }

    /// The line about a run.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn entry(&self, reference: &str) -> Result<Entry, Diagnostic> {
        let id = self.find(reference)?;
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
        self.connection.query_row(&sql, [id], entry).map_err(|error| self.failed(&error))
    }

    /// All that is kept of a run. Of one under way, what its journal holds by now.
    ///
    /// # Errors
    /// When there is none of that name, or what is kept cannot be read.
    pub fn load(&self, reference: &str) -> Result<StoredRun, Diagnostic> {
        let entry = self.entry(reference)?;
        let (plan, started, record) = self.blobs(entry.id)?;
        let unreadable = |error: String| self.wrong(&format!("run {} cannot be read: {error}", entry.id));
        let plan: Plan = pack::from_tight(&plan).map_err(unreadable)?;
        let started: RunStart = pack::from_tight(&started).map_err(unreadable)?;
        let record = match record {
            Some(record) => pack::from_tight(&record).map_err(unreadable)?,
            None => pieced_together(&started, journal::so_far(&self.journals(), entry.id)),
        };
        Ok(StoredRun { entry, plan, started, record })
    }

    fn blobs(&self, id: i64) -> Result<Blobs, Diagnostic> {
        let sql = "SELECT plan, started, record FROM runs WHERE id = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        self.connection.query_row(sql, [id], read).map_err(|error| self.failed(&error))
    }

    /// Gives a run a name to be found by; the same again changes nothing.
    ///
    /// # Errors
    /// When it is no tag, or cannot be written.
    pub fn tag(&self, id: i64, tag: &str) -> Result<(), Diagnostic> {
        check_tag(tag)?;
        self.put_tag(id, tag)
    }

    fn put_tag(&self, id: i64, tag: &str) -> Result<(), Diagnostic> {
        let put = self
            .connection
            .execute("INSERT OR IGNORE INTO tags (run, tag) VALUES (?1, ?2)", params![id, tag]);
        put.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// Takes a name from a run; whether it had it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn untag(&self, id: i64, tag: &str) -> Result<bool, Diagnostic> {
        let gone = self.connection.execute("DELETE FROM tags WHERE run = ?1 AND tag = ?2", params![id, tag]);
        gone.map(|count| count > 0).map_err(|error| self.failed(&error))
    }

    /// Notes something about a run, in place of what was noted; an empty text takes it away.
    ///
    /// # Errors
    /// When it is too long, or cannot be written.
    pub fn note(&self, id: i64, text: &str) -> Result<(), Diagnostic> {
        let text = text.trim();
        if text.len() > NOTE_MOST {
            let wrong =
                Diagnostic::error(&Origin::argument("note"), format!("{} bytes are no note", text.len()));
            return Err(wrong.hint("64 KiB at most"));
        }
        let noted = match text {
            "" => self.connection.execute("DELETE FROM notes WHERE run = ?1", params![id]),
            text => {
                let put =
                    "INSERT INTO notes (run, text) VALUES (?1, ?2) ON CONFLICT (run) DO UPDATE SET text = ?2";
                self.connection.execute(put, params![id, text])
            }
        };
        noted.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// Deletes a run with all that is kept of it, and its parts.
    ///
    /// # Errors
    /// When it cannot be deleted.
    pub fn delete(&self, id: i64) -> Result<(), Diagnostic> {
        let gone = {
            let sql = "DELETE FROM runs WHERE id = ?1 OR id IN (SELECT run FROM parts WHERE first = ?1)";
            self.connection.execute(sql, [id])
        };
        gone.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// Runs whose program died are given what their journals hold.
    fn take_in_remains(&self) -> Result<(), Diagnostic> {
        let running =
            self.list(&Filter { state: Some(State::Running), parts: PartFilter::All, ..Filter::default() })?;
        for entry in running {
            // Who may not read another user's journal leaves it alone.
            let Ok(Some(remains)) = journal::remains(&self.journals(), entry.id) else { continue };
            let (_, started, _) = self.blobs(entry.id)?;
            let Ok(started) = pack::from_tight::<RunStart>(&started) else { continue };
            let record = pieced_together(&started, remains);
            self.complete(entry.id, &record, State::Killed)?;
            journal::forget(&self.journals(), entry.id);
        }
        Ok(())
    }

    fn packed(&self, value: &dyn iodyno_model::reflect::Reflect) -> Result<Vec<u8>, Diagnostic> {
        pack::tight(value).map_err(|error| self.wrong(&error))
    }

    fn wrong(&self, message: &str) -> Diagnostic {
        wrong(&self.path, message.into())
    }

    fn failed(&self, error: &rusqlite::Error) -> Diagnostic {
        self.wrong(&said(error))
    }
}

/// Whether a word can be a tag.
///
/// # Errors
/// Why not.
pub fn check_tag(tag: &str) -> Result<(), Diagnostic> {
    if is_tag(tag) {
        return Ok(());
    }
    Err(Diagnostic::error(&Origin::argument(tag), format!("`{tag}` cannot be a tag"))
        .hint("a tag is a word that is neither a number nor `last`, e.g. before-upgrade"))
}

/// A record of the phases that are known, judged as it would have been.
fn pieced_together(started: &RunStart, phases: Vec<PhaseRecord>) -> Record {
    let mut record = Record {
        name: started.plan.name.clone(),
        seed: started.plan.seed,
        phases,
        machine: started.machine.clone(),
        world: started.world.clone(),
        ..Record::default()
    };
    record.findings = iodyno_truth::judge(&started.plan, &record);
    record
}

/// A rerun must be told anew what it may destroy.
fn without_destroy(plan: &Plan) -> Plan {
    Plan { destroy: Vec::new(), mounted_allowed: Vec::new(), ..plan.clone() }
}

fn count<T>(of: impl Iterator<Item = T>) -> u32 {
    u32::try_from(of.count()).unwrap_or(u32::MAX)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let (state, words): (String, String) = (row.get(1)?, row.get(4)?);
    let tags: Option<String> = row.get(12)?;
    Ok(Entry {
        id: row.get(0)?,
        state: State::of(&state).unwrap_or_default(),
        name: row.get(2)?,
        tool: row.get(3)?,
        words: serde_json::from_str(&words).unwrap_or_default(),
        folder: row.get(5)?,
        host: row.get(6)?,
        began_unix_ns: row.get::<_, i64>(7)? as u64,
        elapsed_ns: row.get::<_, i64>(8)? as u64,
        headline: row.get(9)?,
        findings: row.get(10)?,
        errors: row.get(11)?,
        tags: tags.iter().flat_map(|tags| tags.split(' ')).map(String::from).collect(),
        part_of: row.get(13)?,
        parts: row.get(14)?,
        note: row.get(15)?,
    })
}

fn wrong(path: &Path, message: String) -> Diagnostic {
    Diagnostic::error(&Origin::argument(&path.to_string_lossy()), format!("the history: {message}"))
        .hint("IODYNO_HISTORY=FILE keeps runs elsewhere, IODYNO_HISTORY=off keeps none")
}

/// What SQLite says, in words.
fn said(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "it is no database".into(),
        Some(ErrorCode::ReadOnly) => "it cannot be written to".into(),
        Some(ErrorCode::CannotOpen) => "it cannot be opened".into(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another program holds it".into(),
        Some(ErrorCode::DiskFull) => "no space is left for it".into(),
        _ => error.to_string(),
    }
}
