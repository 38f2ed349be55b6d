//! The calls of libhdfs, opened at run time, and the connections that workers share.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::Failure;
use crate::failure::strerror;
use crate::memory::errno;
use crate::shared_library::{SharedLibrary, library_calls};

/// Where the library is, by the loader's path.
const LIBRARY: &str = "libhdfs.so";
/// Names another one.
const VARIABLE: &str = "IODYNO_HDFS";
/// Signals whose handlers a Java machine replaces when it starts: they stay ours.
const SIGNALS: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The library's own error numbers, above the system's: what Java said has none.
const JAVA: c_int = 255;

/// A builder, a connection, an open file.
pub type Handle = *mut c_void;
type Text = *const c_char;

/// `hdfsFileInfo`: lists are arrays of it.
#[repr(C)]
pub struct FileInfo {
    /// `F` or `D`.
    kind: c_int,
    /// As an address.
    name: *mut c_char,
    modified: libc::time_t,
    /// The file's length.
    bytes: i64,
    replication: i16,
    block_bytes: i64,
    owner: *mut c_char,
    group: *mut c_char,
    permissions: i16,
    read: libc::time_t,
}

library_calls! {
    []
    new_builder: c"hdfsNewBuilder"() -> Handle;
    set_name_node: c"hdfsBuilderSetNameNode"(Handle, Text) -> ();
    set_port: c"hdfsBuilderSetNameNodePort"(Handle, u16) -> ();
    set_user: c"hdfsBuilderSetUserName"(Handle, Text) -> ();
    set_own: c"hdfsBuilderSetForceNewInstance"(Handle) -> ();
    connect: c"hdfsBuilderConnect"(Handle) -> Handle;
    disconnect: c"hdfsDisconnect"(Handle) -> c_int;
    open: c"hdfsOpenFile"(Handle, Text, c_int, c_int, i16, i32) -> Handle;
    close: c"hdfsCloseFile"(Handle, Handle) -> c_int;
    read: c"hdfsPread"(Handle, Handle, i64, *mut c_void, i32) -> i32;
    write: c"hdfsWrite"(Handle, Handle, *const c_void, i32) -> i32;
    flush: c"hdfsHFlush"(Handle, Handle) -> c_int;
    sync: c"hdfsHSync"(Handle, Handle) -> c_int;
    info: c"hdfsGetPathInfo"(Handle, Text) -> *mut FileInfo;
    list: c"hdfsListDirectory"(Handle, Text, *mut c_int) -> *mut FileInfo;
    free_info: c"hdfsFreeFileInfo"(*mut FileInfo, c_int) -> ();
    make_directory: c"hdfsCreateDirectory"(Handle, Text) -> c_int;
    delete: c"hdfsDelete"(Handle, Text, c_int) -> c_int;
}

impl Calls {
    fn opened() -> Result<Calls, Failure> {
        let named = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        let name = named.as_deref().unwrap_or(LIBRARY);
        let missing = |why: &str| {
            Failure::new(format!("Hadoop's library cannot be used: {why}")).hint(format!(
                "name it: {VARIABLE}=$HADOOP_HOME/lib/native/{LIBRARY}, with LD_LIBRARY_PATH for libjvm.so and \
                 CLASSPATH=$(hadoop classpath --glob)"
            ))
        };
        let path = CString::new(name).map_err(|_| missing("its name has a zero byte"))?;
        let library =
            SharedLibrary::open(&path, libc::RTLD_NOW | libc::RTLD_GLOBAL).map_err(|why| missing(&why))?;
        Calls::find(|symbol| {
            let absent = || missing(&format!("{name} has no {}", symbol.to_string_lossy()));
            library.address(symbol).ok_or_else(absent)
        })
    }

    /// The library of this process.
    ///
    /// # Errors
    /// It cannot be opened, or is no such library.
    pub fn get() -> Result<&'static Calls, Failure> {
        static CALLS: OnceLock<Result<Calls, Failure>> = OnceLock::new();
        CALLS.get_or_init(Calls::opened).as_ref().map_err(Failure::clone)
    }
}

/// Whom to connect to, and as whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Account {
    /// A host, or `default`: what the configuration says.
    pub name_node: String,
    /// 0: the usual one.
    pub port: u16,
    /// None: who runs this process.
    pub user: Option<String>,
}

/// A connection to a name node.
pub struct Connection {
    pub calls: &'static Calls,
    pub handle: Handle,
    /// Closed on drop.
    own: bool,
}

impl Connection {
    /// A connection of this worker alone, or the one that all workers of the process share.
    ///
    /// # Errors
    /// The name node does not answer, or the Java machine does not start.
    pub fn open(account: &Account, own: bool) -> Result<Connection, Failure> {
        static SHARED: Mutex<BTreeMap<Account, usize>> = Mutex::new(BTreeMap::new());
        let calls = Calls::get()?;
        // One at a time: the first starts the Java machine.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = shared.get(account).filter(|_| !own) {
            return Ok(Connection { calls, handle: *handle as Handle, own });
        }
        let handle = connect(calls, account, own)?;
        if !own {
            shared.insert(account.clone(), handle as usize);
        }
        Ok(Connection { calls, handle, own })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: the connection is ours, and no file of it is open any more.
            unsafe { (self.calls.disconnect)(self.handle) };
        }
    }
}

fn connect(calls: &Calls, account: &Account, own: bool) -> Result<Handle, Failure> {
    let zero = |_| Failure::new("a name with a zero byte");
    let name_node = CString::new(account.name_node.as_str()).map_err(zero)?;
    let user = account.user.as_deref().map(CString::new).transpose().map_err(zero)?;
    // SAFETY: the builder is ours until it connects, which frees it; the texts are zero-terminated and outlive it.
    let handle = with_signals_kept(|| unsafe {
        let builder = (calls.new_builder)();
        (calls.set_name_node)(builder, name_node.as_ptr());
        (calls.set_port)(builder, account.port);
        if let Some(user) = &user {
            (calls.set_user)(builder, user.as_ptr());
        }
        if own {
            (calls.set_own)(builder);
        }
        (calls.connect)(builder)
    });
    if !handle.is_null() {
        return Ok(handle);
    }
    let number = -failed() as i32;
    let why = if errno() >= JAVA { "Java said no".into() } else { strerror(number) };
    let failure = Failure::new(format!("cannot connect to HDFS at {}: {why}", account.name_node));
    Err(failure.errno(number).hint(match std::env::var_os("CLASSPATH") {
        None => "Java does not find Hadoop: CLASSPATH=$(hadoop classpath --glob)",
        Some(_) => {
            "what Java says about it stands above; the name node is that of fs.defaultFS in core-site.xml"
        }
    }))
}

/// Does something that may start a Java machine, and gives signals back the handlers that they had.
fn with_signals_kept<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: the call writes to its third argument alone, which is valid for it, and reads its second.
    let before = SIGNALS.map(|signal| unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action
    });
    let result = act();
    for (signal, action) in SIGNALS.iter().zip(&before) {
        // SAFETY: the action is one that was in force before.
        unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
    }
    result
}

/// How a new file is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Creation {
    /// Copies of each block; 0: as configured.
    pub replication: i16,
    /// Bytes of a block; 0: as configured.
    pub block_bytes: i32,
    /// Bytes that the client gathers; 0: as configured.
    pub buffer_bytes: i32,
}

impl Connection {
    /// Opens a file to be read, or makes it anew.
    ///
    /// # Errors
    /// The error number.
    pub fn file(&self, path: &CStr, creation: Option<Creation>) -> Result<Handle, i64> {
        let flags = if creation.is_some() { libc::O_WRONLY } else { libc::O_RDONLY };
        let Creation { replication, block_bytes, buffer_bytes } = creation.unwrap_or_default();
        // SAFETY: the connection is open, and the path is zero-terminated.
        let file = unsafe {
            (self.calls.open)(self.handle, path.as_ptr(), flags, buffer_bytes, replication, block_bytes)
        };
        if file.is_null() { Err(failed()) } else { Ok(file) }
    }

    /// Reads until the buffer is full or the file ends.
    pub fn read(&self, file: Handle, offset: u64, buffer: *mut u8, bytes: u64) -> i64 {
        let mut at = 0;
        while at < bytes {
            let part = (bytes - at).min(i32::MAX as u64) as i32;
            // SAFETY: the file is open to be read, and the buffer has room for what is left.
            let count = unsafe {
                let to = buffer.add(at as usize).cast();
                (self.calls.read)(self.handle, file, (offset + at) as i64, to, part)
            };
            match count {
                0 => break,
                1.. => at += count as u64,
                _ => return failed(),
            }
        }
        at as i64
    }

    /// Writes at the end of a file that is being made.
    pub fn write(&self, file: Handle, buffer: *const u8, bytes: u64) -> i64 {
        let mut at = 0;
        while at < bytes {
            let part = (bytes - at).min(i32::MAX as u64) as i32;
            // SAFETY: the file is open to be written, and the buffer holds what is left.
            let count =
                unsafe { (self.calls.write)(self.handle, file, buffer.add(at as usize).cast(), part) };
            match count {
                0.. => at += count as u64,
                _ => return failed(),
            }
        }
        at as i64
    }

    /// Sends what was written to the data nodes.
    pub fn flush(&self, file: Handle) -> i64 {
        // SAFETY: the file is open to be written.
        done(unsafe { (self.calls.flush)(self.handle, file) })
    }

    /// Has the data nodes put it on their storage.
    pub fn sync(&self, file: Handle) -> i64 {
        // SAFETY: the file is open to be written.
        done(unsafe { (self.calls.sync)(self.handle, file) })
    }

    /// Ends a file.
    pub fn close(&self, file: Handle) -> i64 {
        // SAFETY: the file is open, and is closed once.
        done(unsafe { (self.calls.close)(self.handle, file) })
    }

    /// A file's length, or what went wrong.
    pub fn length(&self, path: &CStr) -> i64 {
        // SAFETY: the connection is open, the path is zero-terminated, and what is found is freed after it was read.
        unsafe {
            let info = (self.calls.info)(self.handle, path.as_ptr());
            if info.is_null() {
                return failed();
            }
            let bytes = (*info).bytes;
            (self.calls.free_info)(info, 1);
            bytes
        }
    }

    /// Removes a file, or a directory that is empty. Of one that is not there the library knows only that it was not removed.
    pub fn remove(&self, path: &CStr) -> i64 {
        // SAFETY: the connection is open, and the path is zero-terminated.
        let result = done(unsafe { (self.calls.delete)(self.handle, path.as_ptr(), 0) });
        match (result, result < 0 && self.length(path) == -i64::from(libc::ENOENT)) {
            (_, true) => -i64::from(libc::ENOENT),
            (result, false) => result,
        }
    }

    /// Makes a directory and those above it; one that is there is fine, as the library has it.
    pub fn make_directory(&self, path: &CStr) -> i64 {
        // SAFETY: the connection is open, and the path is zero-terminated.
        done(unsafe { (self.calls.make_directory)(self.handle, path.as_ptr()) })
    }

    /// How many names a directory has.
    pub fn count(&self, path: &CStr) -> i64 {
        // Of an empty directory and of none the library says the same.
        let there = self.length(path);
        if there < 0 {
            return there;
        }
        let mut count = 0;
        // SAFETY: the connection is open, the path is zero-terminated, and what is found is freed.
        unsafe {
            let list = (self.calls.list)(self.handle, path.as_ptr(), &raw mut count);
            if !list.is_null() {
                (self.calls.free_info)(list, count);
            }
        }
        i64::from(count)
    }

    /// What lies right below a directory that is there: names, and whether each is a directory.
    pub fn entries(&self, path: &CStr) -> Vec<(String, bool)> {
        let mut count = 0;
        // SAFETY: the connection is open, the path is zero-terminated; the list has so many entries, whose names are
        // zero-terminated, and is freed after it was read.
        unsafe {
            let list = (self.calls.list)(self.handle, path.as_ptr(), &raw mut count);
            if list.is_null() {
                return Vec::new();
            }
            let entries = (0..usize::try_from(count).unwrap_or(0)).map(|at| {
                let info = &*list.add(at);
                let name = CStr::from_ptr(info.name).to_string_lossy();
                let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_string();
                (name, info.kind == c_int::from(b'D'))
            });
            let entries = entries.collect();
            (self.calls.free_info)(list, count);
            entries
        }
    }
}

/// The last error as a result.
fn failed() -> i64 {
    match errno() {
        0 => -i64::from(libc::EIO),
        number if number >= JAVA => -i64::from(libc::EIO),
        number => -i64::from(number),
    }
}

/// What a call without an answer comes to.
pub fn done(result: c_int) -> i64 {
    if result == 0 { 0 } else { failed() }
}
