//! What iozone measures: its tests, the passes they are made of, and how each pass is called in each of its reports.

use iodyno_model::Verb;

/// One timed pass over a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// The first write.
    Write,
    /// The same again.
    Rewrite,
    /// The first read.
    Read,
    /// The same again.
    Reread,
    /// Reads in random order.
    RandomRead,
    /// Writes in random order.
    RandomWrite,
    /// Reads from the end.
    Backward,
    /// Writes of one record.
    RecordRewrite,
    /// Reads of every so-manieth record.
    Stride,
    /// The first write through stdio.
    Fwrite,
    /// The same again.
    Refwrite,
    /// The first read through stdio.
    Fread,
    /// The same again.
    Refread,
    /// The first write with pwrite.
    Pwrite,
    /// The same again.
    Repwrite,
    /// The first read with pread.
    Pread,
    /// The same again.
    Repread,
    /// The first write with pwritev.
    Pwritev,
    /// The same again.
    Repwritev,
    /// The first read with preadv.
    Preadv,
    /// The same again.
    Repreadv,
    /// Readers and writers side by side.
    Mixed,
}

use Access::*;

/// What is fixed about an access.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    access: Access,
    /// The test it is part of (`-i`).
    pub test: u8,
    /// The width of its column's heading, and its one or two lines, with `|` between.
    heading: (usize, &'static str),
    /// Its table at the end.
    pub title: &'static str,
    /// Its place and its streams in throughput mode, with what stands around the name; none: it is left out there.
    pub streams: Option<(u8, &'static str, LabelStyle)>,
    /// Its line in the throughput report.
    pub label: &'static str,
    /// Its file of operations.
    pub log: &'static str,
    /// Its name in files of histograms.
    pub histogram: &'static str,
}

/// How lines of the throughput block are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelStyle {
    /// The count is two wide.
    Wide,
    /// So is it, with a tab more behind the name.
    WideTab,
    /// So is it, with a tab more in the parent's line alone.
    ParentTab,
    /// The count is as long as it is.
    Narrow,
}

/// Every access, in the order of a cell's columns, which is that of [`Access`].
static FACTS: [Facts; 22] = [
    row(Write, 0, (9, "write"), "wol", "Writer")
        .streams(0, "initial writers", LabelStyle::Wide)
        .called("Initial write", "write"),
    row(Rewrite, 0, (11, "rewrite"), "rwol", "Re-writer")
        .streams(1, "rewriters", LabelStyle::Wide)
        .called("Rewrite", "Rewrite"),
    row(Read, 1, (10, "read"), "rol", "Reader")
        .streams(2, "readers", LabelStyle::WideTab)
        .called("Read", "Read"),
    row(Reread, 1, (10, "reread"), "rrol", "Re-Reader")
        .streams(3, "re-readers", LabelStyle::Narrow)
        .called("Re-read", "Reread"),
    row(RandomRead, 2, (10, "random|read"), "randrol", "Random read")
        .streams(7, "random readers", LabelStyle::Narrow)
        .called("Random read", "Random Read"),
    row(RandomWrite, 2, (10, "random|write"), "randwol", "Random write")
        .streams(9, "random writers", LabelStyle::Narrow)
        .called("Random write", "Random Write"),
    row(Backward, 3, (10, "bkwd|read"), "revol", "Backward read")
        .streams(4, "reverse readers", LabelStyle::Narrow)
        .called("Reverse Read", "Read Backwards"),
    row(RecordRewrite, 4, (11, "record|rewrite"), "recol", "Record rewrite")
        .streams(6, "record rewriters", LabelStyle::Narrow)
        .called("Record rewrite", "Record Rewrite"),
    row(Stride, 5, (11, "stride|read"), "strol", "Stride read")
        .streams(5, "stride readers", LabelStyle::Narrow)
        .called("Stride read", "Stride Read"),
    row(Fwrite, 6, (10, "fwrite"), "fwol", "Fwrite").streams(14, "fwriters", LabelStyle::ParentTab),
    row(Refwrite, 6, (10, "frewrite"), "frwol", "Re-Fwrite"),
    row(Fread, 7, (10, "fread"), "frol", "Fread").streams(15, "freaders", LabelStyle::ParentTab),
    row(Refread, 7, (10, "freread"), "frrol", "Re-Fread"),
    row(Pwrite, 9, (10, "pwrite"), "pwol", "Pwrite").streams(10, "pwrite writers", LabelStyle::Narrow),
    row(Repwrite, 9, (10, "repwrite"), "prwol", "Re-Pwrite"),
    row(Pread, 10, (10, "pread"), "prol", "Pread").streams(11, "pread readers", LabelStyle::Narrow),
    row(Repread, 10, (10, "repread"), "prrol", "Re-Pread"),
    row(Pwritev, 11, (10, "pwritev"), "pvwol", "Pwritev").streams(12, "pwritev writers", LabelStyle::Narrow),
    row(Repwritev, 11, (10, "repwritev"), "pvrwol", "Re-Pwritev"),
    row(Preadv, 12, (10, "preadv"), "pvrol", "Preadv").streams(13, "preadv readers", LabelStyle::Narrow),
    row(Repreadv, 12, (10, "repreadv"), "pvrrol", "Re-Preadv"),
    row(Mixed, 8, (10, "mixed"), "mixol", "Mixed workload")
        .streams(8, "mixed workload", LabelStyle::Narrow)
        .called("Mixed workload", "Mixed"),
];

const fn row(
    access: Access,
    test: u8,
    heading: (usize, &'static str),
    log: &'static str,
    title: &'static str,
) -> Facts {
    Facts { access, test, heading, title, streams: None, label: title, log, histogram: title }
}

/// The order of a cell's columns.
pub fn columns() -> impl Iterator<Item = Access> {
    FACTS.iter().map(|facts| facts.access)
}

/// The order in throughput mode.
pub fn streams() -> Vec<Access> {
    let mut found: Vec<_> =
        FACTS.iter().filter_map(|facts| facts.streams.map(|(order, ..)| (order, facts.access))).collect();
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, access)| access).collect()
}

impl Facts {
    const fn streams(self, order: u8, name: &'static str, style: LabelStyle) -> Self {
        Facts { streams: Some((order, name, style)), ..self }
    }

    const fn called(self, label: &'static str, histogram: &'static str) -> Self {
        Facts { label, histogram, ..self }
    }

    /// Both lines of its column's heading, as wide as the heading.
    pub fn heading(&self) -> (String, String) {
        let (width, lines) = self.heading;
        let (above, below) = lines.split_once('|').unwrap_or(("", lines));
        (format!("{above:>width$}"), format!("{below:>width$}"))
    }

    /// Whether the operations of a single run have a file, too.
    pub const fn is_always_logged(&self) -> bool {
        self.test < 2
    }
}

impl Access {
    /// What is fixed about it.
    pub fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// Whether it repeats the one before.
    pub const fn repeats(self) -> bool {
        matches!(self, Rewrite | Reread | Refwrite | Refread | Repwrite | Repread | Repwritev | Repreadv)
    }

    /// Whether it begins with a new file.
    pub const fn makes(self) -> bool {
        matches!(self, Write | Fwrite | Pwrite | Pwritev)
    }

    /// Whether it goes through stdio.
    pub const fn buffered(self) -> bool {
        matches!(self, Fwrite | Refwrite | Fread | Refread)
    }

    /// What it does; of the mix, what its readers do.
    pub const fn verb(self) -> Verb {
        match self {
            Write | Rewrite | RandomWrite | RecordRewrite | Fwrite | Refwrite | Pwrite | Repwrite
            | Pwritev | Repwritev => Verb::Write,
            _ => Verb::Read,
        }
    }

    /// The word of plans.
    pub fn word(self) -> String {
        self.facts().label.to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_end_where_iozones_end() {
        let mut at = 24;
        let ends = columns().map(|access| {
            assert_eq!(access.facts().access, access);
            let (above, below) = access.facts().heading();
            assert_eq!(above.len(), below.len());
            at += below.len();
            at
        });
        let ends: Vec<usize> = ends.collect();
        let known = [33, 44, 54, 64, 74, 84, 94, 105, 116, 126, 136, 146, 156, 166, 176, 186, 196];
        assert_eq!(ends[..17], known);
    }
}
