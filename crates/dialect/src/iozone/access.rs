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
pub struct Facts {
    /// The test it is part of (`-i`).
    pub test: u8,
    /// Whether it repeats the one before.
    pub again: bool,
    /// Both lines of its column's heading, as wide as the heading.
    pub heading: (&'static str, &'static str),
    /// Its table at the end.
    pub title: &'static str,
    /// Its streams in throughput mode, with what stands around the name there; none: it is left out there.
    pub streams: Option<(&'static str, Style)>,
    /// Its line in the throughput report.
    pub label: &'static str,
    /// Its file of operations: that of a stream, and that of a single run.
    pub log: (&'static str, Option<&'static str>),
    /// Its name in files of histograms.
    pub histogram: &'static str,
}

/// How lines of the throughput block are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The count is two wide.
    Wide,
    /// So is it, with a tab more behind the name.
    WideTab,
    /// So is it, with a tab more in the parent's line alone.
    ParentTab,
    /// The count is as long as it is.
    Narrow,
}

/// The order of a cell's columns.
pub const COLUMNS: [Access; 22] = [
    Write,
    Rewrite,
    Read,
    Reread,
    RandomRead,
    RandomWrite,
    Backward,
    RecordRewrite,
    Stride,
    Fwrite,
    Refwrite,
    Fread,
    Refread,
    Pwrite,
    Repwrite,
    Pread,
    Repread,
    Pwritev,
    Repwritev,
    Preadv,
    Repreadv,
    Mixed,
];

/// The order in throughput mode.
pub const STREAMS: [Access; 16] = [
    Write,
    Rewrite,
    Read,
    Reread,
    Backward,
    Stride,
    RecordRewrite,
    RandomRead,
    Mixed,
    RandomWrite,
    Pwrite,
    Pread,
    Pwritev,
    Preadv,
    Fwrite,
    Fread,
];

impl Access {
    /// What is fixed about it.
    pub const fn facts(self) -> Facts {
        let (test, again, heading, title, streams, label, log, histogram) = match self {
            Write => (
                0,
                false,
                ("         ", "    write"),
                "Writer",
                Some(("initial writers", Style::Wide)),
                "Initial write",
                ("wol", Some("wol")),
                "write",
            ),
            Rewrite => (
                0,
                true,
                ("           ", "    rewrite"),
                "Re-writer",
                Some(("rewriters", Style::Wide)),
                "Rewrite",
                ("rwol", Some("rwol")),
                "Rewrite",
            ),
            Read => (
                1,
                false,
                ("          ", "      read"),
                "Reader",
                Some(("readers", Style::WideTab)),
                "Read",
                ("rol", Some("rol")),
                "Read",
            ),
            Reread => (
                1,
                true,
                ("          ", "    reread"),
                "Re-Reader",
                Some(("re-readers", Style::Narrow)),
                "Re-read",
                ("rrol", Some("rrol")),
                "Reread",
            ),
            RandomRead => (
                2,
                false,
                ("    random", "      read"),
                "Random read",
                Some(("random readers", Style::Narrow)),
                "Random read",
                ("randrol", None),
                "Random Read",
            ),
            RandomWrite => (
                2,
                false,
                ("    random", "     write"),
                "Random write",
                Some(("random writers", Style::Narrow)),
                "Random write",
                ("randwol", None),
                "Random Write",
            ),
            Backward => (
                3,
                false,
                ("      bkwd", "      read"),
                "Backward read",
                Some(("reverse readers", Style::Narrow)),
                "Reverse Read",
                ("revol", None),
                "Read Backwards",
            ),
            RecordRewrite => (
                4,
                false,
                ("     record", "    rewrite"),
                "Record rewrite",
                Some(("record rewriters", Style::Narrow)),
                "Record rewrite",
                ("recol", None),
                "Record Rewrite",
            ),
            Stride => (
                5,
                false,
                ("     stride", "       read"),
                "Stride read",
                Some(("stride readers", Style::Narrow)),
                "Stride read",
                ("strol", None),
                "Stride Read",
            ),
            Fwrite => (
                6,
                false,
                ("          ", "    fwrite"),
                "Fwrite",
                Some(("fwriters", Style::ParentTab)),
                "Fwrite",
                ("fwol", None),
                "Fwrite",
            ),
            Refwrite => (
                6,
                true,
                ("          ", "  frewrite"),
                "Re-Fwrite",
                None,
                "Re-Fwrite",
                ("frwol", None),
                "Re-Fwrite",
            ),
            Fread => (
                7,
                false,
                ("          ", "     fread"),
                "Fread",
                Some(("freaders", Style::ParentTab)),
                "Fread",
                ("frol", None),
                "Fread",
            ),
            Refread => (
                7,
                true,
                ("          ", "   freread"),
                "Re-Fread",
                None,
                "Re-Fread",
                ("frrol", None),
                "Re-Fread",
            ),
            Pwrite => (
                9,
                false,
                ("          ", "    pwrite"),
                "Pwrite",
                Some(("pwrite writers", Style::Narrow)),
                "Pwrite",
                ("pwol", None),
                "Pwrite",
            ),
            Repwrite => (
                9,
                true,
                ("          ", "  repwrite"),
                "Re-Pwrite",
                None,
                "Re-Pwrite",
                ("prwol", None),
                "Re-Pwrite",
            ),
            Pread => (
                10,
                false,
                ("          ", "     pread"),
                "Pread",
                Some(("pread readers", Style::Narrow)),
                "Pread",
                ("prol", None),
                "Pread",
            ),
            Repread => (
                10,
                true,
                ("          ", "   repread"),
                "Re-Pread",
                None,
                "Re-Pread",
                ("prrol", None),
                "Re-Pread",
            ),
            Pwritev => (
                11,
                false,
                ("          ", "   pwritev"),
                "Pwritev",
                Some(("pwritev writers", Style::Narrow)),
                "Pwritev",
                ("pvwol", None),
                "Pwritev",
            ),
            Repwritev => (
                11,
                true,
                ("          ", " repwritev"),
                "Re-Pwritev",
                None,
                "Re-Pwritev",
                ("pvrwol", None),
                "Re-Pwritev",
            ),
            Preadv => (
                12,
                false,
                ("          ", "    preadv"),
                "Preadv",
                Some(("preadv readers", Style::Narrow)),
                "Preadv",
                ("pvrol", None),
                "Preadv",
            ),
            Repreadv => (
                12,
                true,
                ("          ", "  repreadv"),
                "Re-Preadv",
                None,
                "Re-Preadv",
                ("pvrrol", None),
                "Re-Preadv",
            ),
            Mixed => (
                8,
                false,
                ("          ", "     mixed"),
                "Mixed workload",
                Some(("mixed workload", Style::Narrow)),
                "Mixed workload",
                ("mixol", None),
                "Mixed",
            ),
        };
        Facts { test, again, heading, title, streams, label, log, histogram }
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
        let ends = COLUMNS.iter().map(|access| {
            let (above, below) = access.facts().heading;
            assert_eq!(above.len(), below.len());
            at += below.len();
            at
        });
        let ends: Vec<usize> = ends.collect();
        let known = [33, 44, 54, 64, 74, 84, 94, 105, 116, 126, 136, 146, 156, 166, 176, 186, 196];
        assert_eq!(ends[..17], known);
    }
}
