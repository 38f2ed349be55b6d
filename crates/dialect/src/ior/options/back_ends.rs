//! The options of IOR's back ends, under the names of its modules.

use crate::file_system_hints::help;
use crate::option::{Entry, Kind, Word};

const POSIX: &str = "Module POSIX";
const AIO: &str = "Module AIO";
const DUMMY: &str = "Module DUMMY";
const HDF5: &str = "Module HDF5";
const MPIIO: &str = "Module MPIIO";
const NCMPI: &str = "Module NCMPI";
const MMAP: &str = "Module MMAP";
const LIBNFS: &str = "Module LIBNFS";
const RADOS: &str = "Module RADOS";
const HDFS: &str = "Module HDFS";
const LIBS3: &str = "Module S3-libs3";
const AWS4C: &str = "Module S3-4c";
const CURL: &str = "Module S3-curl";
const KEY: &str = "the access key; read as `***`, and default AWS_ACCESS_KEY_ID";
const SECRET: &str = "its secret key; read as `***`, and default AWS_SECRET_ACCESS_KEY";

const fn flag(
    module: &'static str,
    name: &'static str,
    aliases: &'static [&'static str],
    help: &'static str,
) -> Entry {
    Entry::new(name, Kind::Flag, "", help).also(aliases).or("0").under(module)
}

const fn number(
    module: &'static str,
    name: &'static str,
    aliases: &'static [&'static str],
    default: &'static str,
    help: &'static str,
) -> Entry {
    Entry::new(name, Kind::Whole(i64::MIN, i64::MAX), "N", help).also(aliases).or(default).under(module)
}

const fn text(
    module: &'static str,
    name: &'static str,
    aliases: &'static [&'static str],
    help: &'static str,
) -> Entry {
    Entry::new(name, Kind::Text, "STRING", help).also(aliases).under(module)
}

const LIBRARY: &str = "it needs a library that is not loaded";
const LIBRARY_HINT: &str = "mount the file system and use POSIX";
const NEVER_WORKED: &str = "no version of IOR did it";

const fn refused(name: &'static str, help: &'static str, why: &'static str, hint: &'static str) -> Word {
    Word::new(name, help).refused(why, hint)
}

/// The back ends.
#[rustfmt::skip]
pub const APIS: &[Word] = &[
    Word::new("POSIX", "system calls on files"),
    Word::new("AIO", "Linux asynchronous I/O"),
    Word::new("MMAP", "mapped files"),
    Word::new("DUMMY", "no I/O, delays of your choice"),
    Word::new("MPIIO", "the MPI library's files"),
    Word::new("HDF5", "a data set for each segment in a file of parallel HDF5"),
    Word::new("NCMPI", "a variable in a file of PnetCDF"),
    refused("LIBNFS", "NFS without the kernel", LIBRARY, LIBRARY_HINT),
    refused("PMDK", "persistent memory", LIBRARY, "use MMAP on a DAX file system"),
    Word::new("S3", "objects of a store that speaks the S3 API, each an upload whose parts are transfers: as S3-4c"),
    Word::new("S3-libs3", "the same store, each transfer an object of its own"),
    Word::new("S3-4c", "objects, each an upload whose parts are transfers, also of several tasks"),
    Word::new("S3_4c", "as S3-4c"),
    Word::new("S3_plus", "as S3-4c: IOR uploads in parts here too"),
    Word::new("S3_EMC", "as S3-4c: writes of byte ranges are of one vendor's stores"),
    Word::new("S3-curl", "as S3-4c: in IOR each transfer overwrites the one before"),
    Word::new("HDFS", "Hadoop's file system"),
    Word::new("RADOS", "objects of Ceph"),
    refused("CEPHFS", "Ceph without the kernel", LIBRARY, LIBRARY_HINT),
    refused("DFS", "DAOS", LIBRARY, "mount it with dfuse and use POSIX"),
    refused("Gfarm", "Gfarm", LIBRARY, LIBRARY_HINT),
    refused("CHFS", "CHFS", LIBRARY, LIBRARY_HINT),
    refused("FINCHFS", "FINCHFS", LIBRARY, LIBRARY_HINT),
    refused("IME", "IME", LIBRARY, LIBRARY_HINT),
];

/// Their options.
#[rustfmt::skip]
pub const MODULES: &[Entry] = &[
    flag(POSIX, "posix.odirect", &["--posix.odirect", "useO_DIRECT", "-B"], "past the page cache (O_DIRECT)"),
    flag(POSIX, "posix.rangelocks", &["--posix.rangelocks"], "lock the range of each transfer, shared for reads"),
    number(POSIX, "posix.lustre.stripecount", &["--posix.lustre.stripecount", "lustreStripeCount"], "0",
        help::COUNT),
    number(POSIX, "posix.lustre.stripesize", &["--posix.lustre.stripesize", "lustreStripeSize"], "0",
        help::SIZE),
    number(POSIX, "posix.lustre.startost", &["--posix.lustre.startost", "lustreStartOST"], "-1",
        help::START),
    flag(POSIX, "posix.lustre.ignorelocks", &["--posix.lustre.ignorelocks", "lustreIgnoreLocks"], help::LOCKS),
    text(POSIX, "posix.lustre.pool", &["--posix.lustre.pool"], help::POOL),
    flag(POSIX, "posix.gpfs.hintaccess", &["--posix.gpfs.hintaccess", "gpfsHintAccess"], help::ACCESS),
    flag(POSIX, "posix.gpfs.releasetoken", &["--posix.gpfs.releasetoken", "gpfsReleaseToken"], help::TOKENS),
    flag(POSIX, "posix.gpfs.finegrainwritesharing", &["--posix.gpfs.finegrainwritesharing"], help::WRITES),
    flag(POSIX, "posix.gpfs.finegrainreadsharing", &["--posix.gpfs.finegrainreadsharing"], help::READS),
    flag(POSIX, "posix.gpfs.createsharing", &["--posix.gpfs.createsharing"], help::CREATION)
        .ignored("IOR takes it and gives this hint to nobody; mdtest does"),
    number(POSIX, "posix.beegfs.NumTargets", &["--posix.beegfs.NumTargets", "beegfsNumTargets"], "-1",
        help::TARGETS),
    number(POSIX, "posix.beegfs.ChunkSize", &["--posix.beegfs.ChunkSize", "beegfsChunkSize"], "-1",
        help::CHUNK),
    number(AIO, "aio.max-pending", &["--aio.max-pending"], "128", "operations in flight"),
    number(AIO, "aio.granularity", &["--aio.granularity"], "16", "operations that are submitted together"),
    number(DUMMY, "dummy.delay-create", &["--dummy.delay-create"], "0", "microseconds that opening takes"),
    number(DUMMY, "dummy.delay-close", &["--dummy.delay-close"], "0", "microseconds that closing takes"),
    number(DUMMY, "dummy.delay-sync", &["--dummy.delay-sync"], "0", "microseconds that fsync takes"),
    number(DUMMY, "dummy.delay-xfer", &["--dummy.delay-xfer"], "0", "microseconds that a transfer takes"),
    flag(DUMMY, "dummy.delay-only-rank0", &["--dummy.delay-only-rank0"], "only the first task is delayed"),
    text(HDF5, "hdf5.hintsFileName", &["--hdf5.hintsFileName"], "a file of MPI hints"),
    flag(HDF5, "hdf5.showHints", &["--hdf5.showHints"], "show the MPI hints in use").ignored("the library does not tell them"),
    flag(HDF5, "hdf5.collectiveMetadata", &["--hdf5.collectiveMetadata"], "metadata by all tasks together"),
    flag(HDF5, "hdf5.individualDataSets", &["--hdf5.individualDataSets", "individualDataSets", "-I"], "a data set for each task")
        .ignored(NEVER_WORKED),
    flag(HDF5, "hdf5.noFill", &["--hdf5.noFill", "noFill", "-n"], "a new data set is not filled"),
    number(HDF5, "hdf5.setAlignment", &["--hdf5.setAlignment", "setAlignment", "-J"], "1", "where data sets begin, bytes"),
    number(HDF5, "hdf5.chunkSize", &["--hdf5.chunkSize"], "0", "elements of a chunk; 0: not in chunks"),
    text(MPIIO, "mpiio.hintsFileName", &["--mpiio.hintsFileName", "hintsFileName", "-U"], "a file of MPI hints"),
    flag(MPIIO, "mpiio.showHints", &["--mpiio.showHints", "showHints", "-H"], "show the MPI hints in use"),
    flag(MPIIO, "mpiio.preallocate", &["--mpiio.preallocate", "preallocate", "-p"], "reserve the file's space first"),
    flag(MPIIO, "mpiio.useStridedDatatype", &["--mpiio.useStridedDatatype", "useStridedDatatype", "-S"], "segments as one type")
        .ignored(NEVER_WORKED),
    flag(MPIIO, "mpiio.useFileView", &["--mpiio.useFileView", "useFileView", "-V"], "a file view for each task"),
    text(NCMPI, "ncmpi.hintsFileName", &["--ncmpi.hintsFileName"], "a file of MPI hints"),
    flag(NCMPI, "ncmpi.showHints", &["--ncmpi.showHints"], "show the MPI hints in use").ignored("the library does not tell them"),
    flag(NCMPI, "ncmpi.preallocate", &["--ncmpi.preallocate"], "reserve the file's space first").ignored("PnetCDF has no such call"),
    flag(NCMPI, "ncmpi.useStridedDatatype", &["--ncmpi.useStridedDatatype"], "segments as one type").ignored(NEVER_WORKED),
    flag(NCMPI, "ncmpi.useFileView", &["--ncmpi.useFileView"], "a file view for each task").ignored("PnetCDF sets views of its own"),
    flag(MMAP, "mmap.madv_dont_need", &["--mmap.madv_dont_need"], "tell the kernel that mapped pages are not needed")
        .ignored("a mapping that was just made has no pages to let go"),
    flag(MMAP, "mmap.madv_pattern", &["--mmap.madv_pattern"], "tell the kernel whether access is random or sequential"),
    flag(HDFS, "hdfs.odirect", &["--hdfs.odirect"], "direct I/O").ignored("Hadoop's library does not look at it"),
    text(HDFS, "hdfs.user", &["--hdfs.user"], "as whom"),
    text(HDFS, "hdfs.name_node", &["--hdfs.name_node"], "the name node, HOST:PORT; default: as Hadoop is configured")
        .or("default"),
    number(HDFS, "hdfs.replicas", &["--hdfs.replicas"], "0", "copies of each block; 0: as configured"),
    number(HDFS, "hdfs.block_size", &["--hdfs.block_size"], "0", "bytes of a block; 0: as configured"),
    text(LIBS3, "S3-libs3.host", &["--S3-libs3.host", "S3.host", "--S3.host"], "the store, HOST:PORT"),
    text(LIBS3, "S3-libs3.access-key", &["--S3-libs3.access-key", "S3.access-key", "--S3.access-key"], KEY),
    text(LIBS3, "S3-libs3.secret-key", &["--S3-libs3.secret-key", "S3.secret-key", "--S3.secret-key"], SECRET),
    text(LIBS3, "S3-libs3.region", &["--S3-libs3.region", "S3.region", "--S3.region"], "the region that requests are signed for"),
    text(LIBS3, "S3-libs3.bucket-name-prefix", &["--S3-libs3.bucket-name-prefix"], "what the bucket's name begins with").or("ior"),
    flag(LIBS3, "S3-libs3.dont-suffix-bucket", &["--S3-libs3.dont-suffix-bucket"],
        "the bucket's name ends there, without a number of the access key"),
    flag(LIBS3, "S3-libs3.use-ssl", &["--S3-libs3.use-ssl", "S3.use-ssl", "--S3.use-ssl"], "by TLS"),
    flag(LIBS3, "S3-libs3.s3-compatible", &["--S3-libs3.s3-compatible"], "the store is not Amazon's")
        .ignored("in IOR it hides what the store complains of"),
    flag(LIBS3, "S3-libs3.bucket-per-file", &["--S3-libs3.bucket-per-file"], "a bucket for each file"),
    text(LIBS3, "S3-libs3.location", &["--S3-libs3.location"], "where the bucket is made")
        .refused("a bucket is made where the endpoint is", "leave it out, or make the bucket before"),
    text(AWS4C, "S3-4c.host", &["--S3-4c.host"], "the store, HOST:PORT"),
    text(AWS4C, "S3-4c.user", &["--S3-4c.user", "S3.user", "--S3.user"],
        "whose line of ~/.awsAuth, USER:ACCESS_KEY:SECRET_KEY, has the keys"),
    text(AWS4C, "S3-4c.bucket-name", &["--S3-4c.bucket-name", "S3.bucket-name", "--S3.bucket-name"], "the bucket").or("ior"),
    text(CURL, "S3-curl.host", &["--S3-curl.host"], "the store, HOST:PORT"),
    text(CURL, "S3-curl.access-key", &["--S3-curl.access-key"], KEY),
    text(CURL, "S3-curl.secret-key", &["--S3-curl.secret-key"], SECRET),
    text(CURL, "S3-curl.region", &["--S3-curl.region"], "the region that requests are signed for"),
    text(CURL, "S3-curl.bucket", &["--S3-curl.bucket"], "the bucket").or("test-bucket"),
    flag(CURL, "S3-curl.use-ssl", &["--S3-curl.use-ssl"], "by TLS"),
    number(CURL, "S3-curl.timeout", &["--S3-curl.timeout"], "5", "seconds without progress after which a request fails"),
    flag(CURL, "S3-curl.verify-ssl", &["--S3-curl.verify-ssl"], "check the certificate").ignored("it is always checked"),
    text(RADOS, "rados.user", &["--rados.user"], "the client's name, e.g. admin"),
    text(RADOS, "rados.conf", &["--rados.conf"], "the configuration file of Ceph"),
    text(RADOS, "rados.pool", &["--rados.pool"], "the pool that objects lie in"),
    text(LIBNFS, "libnfs.url", &["--libnfs.url"], "server, path and options").refused(LIBRARY, LIBRARY_HINT),
];
