//! Records in the order of their issue, although they are complete in the order of their ends.

use std::collections::{BTreeMap, VecDeque};

use crate::TraceRecord;

/// How many complete records wait for an older call that has not ended.
const LIMIT: usize = 65_536;

/// The place of a call in the order of issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IssueTicket {
    at_ns: u64,
    number: u64,
}

#[derive(Debug)]
enum IssuedCall {
    /// Not ended: what is known of it.
    Open(Option<TraceRecord>),
    Complete(Vec<TraceRecord>),
}

/// Holds records back until all older calls have ended. Of a call that outlasts 65,536 younger ones the result is given up, so
/// that memory stays bounded.
#[derive(Debug, Default)]
pub struct IssueOrder {
    entries: BTreeMap<IssueTicket, IssuedCall>,
    ready: VecDeque<TraceRecord>,
    numbers: u64,
    complete: usize,
    pub abandoned: u64,
}

impl IssueOrder {
    /// A call begins; `record` is what is known of it.
    pub fn begin(&mut self, record: TraceRecord) -> IssueTicket {
        self.hold(record.at_ns, Some(record))
    }

    /// Holds back all that is issued later; `record`: what becomes of it if it never ends.
    pub fn hold(&mut self, at_ns: u64, record: Option<TraceRecord>) -> IssueTicket {
        self.numbers += 1;
        let ticket = IssueTicket { at_ns, number: self.numbers };
        self.entries.insert(ticket, IssuedCall::Open(record));
        ticket
    }

    /// It ended with these records, which may be none.
    pub fn end(&mut self, ticket: IssueTicket, records: Vec<TraceRecord>) {
        if let Some(entry) = self.entries.get_mut(&ticket) {
            *entry = IssuedCall::Complete(records);
            self.complete += 1;
        }
        self.release();
        while self.complete > LIMIT {
            self.abandon();
        }
    }

    fn release(&mut self) {
        while let Some(first) = self.entries.first_entry() {
            match first.get() {
                IssuedCall::Open(_) => return,
                IssuedCall::Complete(_) => {
                    if let IssuedCall::Complete(records) = first.remove() {
                        self.ready.extend(records);
                    }
                    self.complete -= 1;
                }
            }
        }
    }

    fn abandon(&mut self) {
        if let Some((_, IssuedCall::Open(record))) = self.entries.pop_first() {
            self.ready.extend(record);
            self.abandoned += u64::from(record.is_some());
        }
        self.release();
    }

    /// Gives up all that has not ended: the source has.
    pub fn finish(&mut self) {
        while !self.entries.is_empty() {
            self.abandon();
        }
    }

    /// Moves at most `most` records that may go on into `batch`.
    pub fn take(&mut self, batch: &mut Vec<TraceRecord>, most: usize) {
        let count = self.ready.len().min(most);
        batch.extend(self.ready.drain(..count));
    }

    pub fn ready(&self) -> usize {
        self.ready.len()
    }
}
