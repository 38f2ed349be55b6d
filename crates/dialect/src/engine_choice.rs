//! Engines by what they do, in one place, for dialects whose original's options name none.

/// Calls at a position, one after the other.
pub const POSITIONED_CALLS: &str = "psync";

/// Engines for files that keep several operations in flight by themselves, the best first.
pub const ASYNCHRONOUS: [&str; 3] = ["io_uring", "libaio", "posixaio"];

/// Engines for files that make one operation at a time, the best first.
pub const SYNCHRONOUS: [&str; 6] = [POSITIONED_CALLS, "pvsync", "mmap", "sync", "vsync", "pvsync2"];

/// Engines that an exercise goes through where none is named.
pub const EXERCISED: [&str; 5] = [POSITIONED_CALLS, "pvsync", "mmap", "libaio", "io_uring"];

/// An engine for objects, and what of it matters to who plans for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreEngine {
    pub name: &'static str,
    /// It keeps several requests in flight by itself.
    pub keeps_depth: bool,
    /// It writes long objects in parts.
    pub has_parts: bool,
    /// Each operation is requests by HTTP, which stores bill.
    pub is_http: bool,
    /// An object is written by one alone, and not read meanwhile.
    pub has_one_writer: bool,
}

impl StoreEngine {
    /// The engine that tries rules on such a store, and what it is told of this one's settings.
    pub fn request_checker(&self) -> (&'static str, &'static [&'static str]) {
        match self.is_http {
            true => ("s3check", &["endpoint", "region", "credentials", "addressing", "timeout"]),
            false => {
                ("storecheck", &["conf", "client", "cluster", "connect_timeout_s", "user", "own_connection"])
            }
        }
    }
}

/// The engine that serves addresses of a scheme.
pub fn store_engine(scheme: &str) -> Option<StoreEngine> {
    let none =
        StoreEngine { name: "", keeps_depth: true, has_parts: false, is_http: false, has_one_writer: false };
    match scheme {
        "s3" => Some(StoreEngine { name: "s3", has_parts: true, is_http: true, ..none }),
        "rados" => Some(StoreEngine { name: "rados", ..none }),
        "hdfs" => Some(StoreEngine { name: "hdfs", keeps_depth: false, has_one_writer: true, ..none }),
        _ => None,
    }
}

/// Whether an engine keeps several operations in flight by itself; those without a device are among them.
pub fn keeps_depth(engine: &str) -> bool {
    ASYNCHRONOUS.contains(&engine) || ["sim", "null"].contains(&engine)
}
