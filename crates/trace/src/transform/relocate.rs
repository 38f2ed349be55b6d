//! The same load on other files or devices, of another length.

use iodyno_model::{Remap, Replay};

use crate::format::has_range;
use crate::replay::Placement;
use crate::transform::{Adapter, Source, Transform};
use crate::{Batch, RecordSource, Tables, TraceError, TraceHeader};

/// Where ranges go: as a replay would put them.
#[derive(Clone, Debug)]
pub struct PlaceRule {
    pub remap: Remap,
    /// Offsets are rounded down and ends up to a multiple of this; 0: they are not.
    pub align: u64,
    /// How long each file or device is now.
    pub length: u64,
    /// How far the records of each file reach, where that is known beforehand; else the files' sizes count.
    pub reaches: Vec<Option<u64>>,
}

/// Gives files other names, and ranges other places.
pub struct Relocate {
    names: Vec<NewName>,
    rule: Option<PlaceRule>,
    places: Vec<Placement>,
    tables: Tables,
    records: u64,
}

struct NewName {
    old: String,
    new: String,
    is_met: bool,
}

impl Relocate {
    /// `names`: old and new ones.
    pub fn of(
        source: Source,
        names: Vec<(String, String)>,
        rule: Option<PlaceRule>,
    ) -> impl RecordSource + Send {
        let names = names.into_iter().map(|(old, new)| NewName { old, new, is_met: false }).collect();
        let relocate = Relocate { names, rule, places: Vec::new(), tables: Tables::default(), records: 0 };
        Adapter::new(source, relocate)
    }

    fn follow(&mut self, tables: &Tables, from: usize) {
        self.tables.files.truncate(from);
        self.places.truncate(from);
        for (index, file) in tables.files.iter().enumerate().skip(from) {
            let mut file = file.clone();
            if let Some(name) = self.names.iter_mut().find(|name| name.old == file.name) {
                name.is_met = true;
                file.name.clone_from(&name.new);
                // The numbers were those of another device.
                file.device = None;
            }
            if let Some(rule) = &self.rule {
                let reach = rule.reaches.get(index).copied().flatten();
                let recorded = reach.max(file.bytes).unwrap_or(0);
                let settings = Replay { remap: rule.remap, align_bytes: rule.align, ..Replay::default() };
                self.places.push(Placement::new(&settings, recorded, rule.length));
                file.bytes = file.bytes.map(|bytes| bytes.min(rule.length));
            }
            self.tables.files.push(file);
        }
        self.tables.threads.extend(tables.threads.iter().skip(self.tables.threads.len()).cloned());
    }
}

impl Transform for Relocate {
    fn records(&mut self, batch: &mut Batch, tables: &Tables) -> Result<bool, TraceError> {
        self.follow(tables, if batch.is_empty() { 0 } else { self.tables.files.len() });
        if batch.is_empty()
            && let Some(NewName { old, .. }) = self.names.iter().find(|name| !name.is_met)
        {
            return Err(TraceError::new(format!("no file is called `{old}`"))
                .hint("iodyno trace dump shows the names at its beginning"));
        }
        for record in batch {
            let place = self.places.get(record.file as usize).filter(|_| has_range(record.verb));
            if let Some(place) = place {
                let (offset, bytes) = place.of(record.offset, record.bytes).ok_or_else(|| {
                    let message = format!("record {}: {} bytes do not fit", self.records, record.bytes);
                    TraceError::new(message).hint("the new size must be at least the largest request")
                })?;
                // A result of all bytes stays one.
                if record.result.is_some_and(|result| u64::try_from(result) == Ok(record.bytes)) {
                    record.result = i64::try_from(bytes).ok();
                }
                (record.offset, record.bytes) = (offset, bytes);
            }
            self.records += 1;
        }
        Ok(true)
    }

    fn tables(&self) -> Option<&Tables> {
        Some(&self.tables)
    }

    fn header(&self, header: &mut TraceHeader) {
        if let Some(PlaceRule { remap, length, .. }) = &self.rule {
            let how = match remap {
                Remap::No => "kept",
                Remap::Linear => "scaled",
                Remap::Modulo => "wrapped",
                Remap::Hash => "dealt by a hash",
            };
            header.notes.push(format!("Offsets beyond {length} bytes were {how}."));
        }
    }
}
