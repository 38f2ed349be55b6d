//! IOR's back ends as engines, with their settings and the depth they keep.

use iodyno_model::{Depth, Setting};

use super::{s3, stores};
use crate::ior::test::IorTest;

/// Bytes of an element of IOR's data sets.
const ELEMENT_BYTES: u64 = 8;

/// Whether there are files at all.
pub fn has_files(test: &IorTest) -> bool {
    test.api != "DUMMY"
}

/// Where the objects of a back end lie; none: it has files.
pub fn store(test: &IorTest) -> Option<String> {
    match test.api.as_str() {
        "RADOS" => Some(stores::rados_address(&test.settings)),
        "HDFS" => Some(stores::hdfs_address(&test.settings)),
        _ if s3::has_buckets(test) => {
            Some(format!("s3://{}-{}", test.bucket, s3::key_template(&super::names::template(test))))
        }
        _ => s3::shape(test).map(|_| format!("s3://{}", test.bucket)),
    }
}

/// Whether the back end opens and closes what it works on.
pub fn is_opened(test: &IorTest) -> bool {
    test.api != "RADOS" || test.flag("dryRun")
}

/// Whether what was written can be made durable: objects of Ceph and of S3 always are.
pub fn is_synced(test: &IorTest) -> bool {
    is_opened(test) && (s3::shape(test).is_none() || test.flag("dryRun"))
}

/// The engine's name.
pub fn name(test: &IorTest) -> &'static str {
    if test.flag("dryRun") {
        return "null";
    }
    match test.api.as_str() {
        "AIO" => "libaio",
        "MMAP" => "mmap",
        "DUMMY" => "dummy",
        "MPIIO" => "mpiio",
        "HDF5" => "hdf5",
        "NCMPI" => "ncmpi",
        "RADOS" => "rados",
        "HDFS" => "hdfs",
        _ if s3::shape(test).is_some() => "s3",
        _ => "psync",
    }
}

/// How many transfers are in flight: one, but with AIO.
pub fn depth(test: &IorTest) -> Depth {
    if test.api != "AIO" || test.flag("dryRun") {
        return Depth::default();
    }
    let most = test.count("aio.max-pending").clamp(1, 65_536) as u32;
    let batch = test.count("aio.granularity").clamp(1, u64::from(most)) as u32;
    Depth { most, submit_batch: batch, ..Depth::default() }
}

/// The engine's own options, where they were said.
pub fn settings(test: &IorTest) -> Vec<Setting> {
    let mut settings = Settings { test, found: Vec::new() };
    if test.flag("dryRun") {
        return settings.found;
    }
    match test.api.as_str() {
        "DUMMY" => settings.dummy(),
        "MMAP" => settings.mmap(),
        "MPIIO" => settings.mpi_io(),
        "HDF5" => settings.hdf5(),
        "NCMPI" => settings.ncmpi(),
        "RADOS" => settings.rados(),
        "HDFS" => settings.hdfs(),
        _ if s3::shape(test).is_some() => settings.s3(),
        _ => {}
    }
    if test.collective {
        settings.add("collective", "collective", "on");
    }
    settings.found
}

struct Settings<'a> {
    test: &'a IorTest,
    found: Vec<Setting>,
}

impl Settings<'_> {
    fn add(&mut self, name: &str, option: &str, value: impl ToString) {
        let origin = self.test.settings.origin(option);
        self.found.push(Setting { origin, ..Setting::new(name, value) });
    }

    fn text(&mut self, name: &str, option: &str, other: &str) {
        let said = [option, other].into_iter().find(|option| self.test.settings.text(option).is_some());
        if let Some(option) = said {
            let value = self.test.settings.text(option).unwrap_or_default().to_string();
            self.add(name, option, value);
        }
    }

    fn on(&mut self, name: &str, option: &str) {
        if self.test.flag(option) {
            self.add(name, option, "on");
        }
    }

    fn number(&mut self, name: &str, option: &str, none: u64) {
        let number = self.test.count(option);
        if number != none {
            self.add(name, option, number);
        }
    }

    fn dummy(&mut self) {
        self.number("delay_create_us", "dummy.delay-create", 0);
        self.number("delay_close_us", "dummy.delay-close", 0);
        self.number("delay_sync_us", "dummy.delay-sync", 0);
        self.number("delay_xfer_us", "dummy.delay-xfer", 0);
        self.on("only_rank0", "dummy.delay-only-rank0");
    }

    fn mmap(&mut self) {
        if self.test.flag("mmap.madv_pattern") {
            let advice = if self.test.flag("randomOffset") { "random" } else { "sequential" };
            self.add("advice", "mmap.madv_pattern", advice);
        }
    }

    fn mpi_io(&mut self) {
        self.text("hints_file", "mpiio.hintsFileName", "mpiio.hintsFileName");
        self.on("show_hints", "mpiio.showHints");
        self.on("preallocate", "mpiio.preallocate");
        self.on("file_view", "mpiio.useFileView");
    }

    /// IOR writes parts of an object, also where the part is all of it.
    fn rados(&mut self) {
        self.found.extend(stores::rados_client(&self.test.settings));
        self.add("replace", "rados.pool", "off");
    }

    /// A transfer is a part of an upload, or an object.
    fn s3(&mut self) {
        self.found.extend(s3::client(&self.test.settings));
        if s3::shape(self.test) == Some(s3::ObjectShape::Transfers) {
            // A bucket that is a file of the run goes as a file does.
            let which = if s3::has_buckets(self.test) { "on" } else { "made" };
            self.found.push(Setting::new("remove_bucket", which));
        }
        if s3::shape(self.test) == Some(s3::ObjectShape::Parts) {
            self.add("shared_upload", "api", "on");
            self.add("part_size", "transferSize", self.test.transfer);
        }
    }

    /// IOR gathers as much as a transfer has, and flushes after each.
    fn hdfs(&mut self) {
        self.found.extend(stores::hdfs_client(&self.test.settings));
        self.add("buffer_bytes", "transferSize", self.test.transfer);
        self.add("flush", "hdfs.name_node", "on");
    }

    /// The variable is IOR's.
    fn ncmpi(&mut self) {
        self.text("hints_file", "ncmpi.hintsFileName", "mpiio.hintsFileName");
        self.add("block_bytes", "blockSize", self.test.block);
        self.add("transfer_bytes", "transferSize", self.test.transfer);
    }

    /// A data set for each segment, as IOR has them.
    fn hdf5(&mut self) {
        let tasks = if self.test.is_file_per_task() { 1 } else { u64::from(self.test.tasks) };
        self.add("data_set_bytes", "blockSize", self.test.block.saturating_mul(tasks));
        self.text("hints_file", "hdf5.hintsFileName", "mpiio.hintsFileName");
        self.on("collective_metadata", "hdf5.collectiveMetadata");
        self.on("no_fill", "hdf5.noFill");
        self.number("alignment", "hdf5.setAlignment", 1);
        let elements = self.test.count("hdf5.chunkSize");
        if elements > 0 {
            self.add("chunk_size", "hdf5.chunkSize", elements.saturating_mul(ELEMENT_BYTES));
        }
    }
}
