//! The calls of librados, opened at run time, and its handles.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use super::Failure;
use crate::failure::strerror;
use crate::shared_library::{SharedLibrary, library_calls};

/// Where the library is, by the loader's path.
const LIBRARY: &str = "librados.so.2";
/// Names another one.
const VARIABLE: &str = "IODYNO_RADOS";

/// A cluster, a pool, an operation in flight, a list, a compound operation: what the library's pointers are to us.
pub type Handle = *mut c_void;
type Text = *const c_char;
/// What is called when an operation is complete, on a thread of the library.
pub type Callback = extern "C" fn(Handle, *mut c_void);

library_calls! {
    []
    create_cluster: c"rados_create"(*mut Handle, Text) -> c_int;
    create_named_cluster: c"rados_create2"(*mut Handle, Text, Text, u64) -> c_int;
    read_configuration: c"rados_conf_read_file"(Handle, Text) -> c_int;
    configure: c"rados_conf_set"(Handle, Text, Text) -> c_int;
    connect: c"rados_connect"(Handle) -> c_int;
    shut_down: c"rados_shutdown"(Handle) -> ();
    open_pool: c"rados_ioctx_create"(Handle, Text, *mut Handle) -> c_int;
    set_namespace: c"rados_ioctx_set_namespace"(Handle, Text) -> ();
    close_pool: c"rados_ioctx_destroy"(Handle) -> ();
    begin: c"rados_aio_create_completion2"(*mut c_void, Option<Callback>, *mut Handle) -> c_int;
    is_complete: c"rados_aio_is_complete"(Handle) -> c_int;
    wait: c"rados_aio_wait_for_complete"(Handle) -> c_int;
    result: c"rados_aio_get_return_value"(Handle) -> c_int;
    release: c"rados_aio_release"(Handle) -> ();
    read: c"rados_aio_read"(Handle, Text, Handle, *mut c_char, usize, u64) -> c_int;
    write: c"rados_aio_write"(Handle, Text, Handle, *const c_char, usize, u64) -> c_int;
    write_full: c"rados_aio_write_full"(Handle, Text, Handle, *const c_char, usize) -> c_int;
    append: c"rados_aio_append"(Handle, Text, Handle, *const c_char, usize) -> c_int;
    stat: c"rados_aio_stat"(Handle, Text, Handle, *mut u64, *mut libc::time_t) -> c_int;
    remove: c"rados_aio_remove"(Handle, Text, Handle) -> c_int;
    new_write: c"rados_create_write_op"() -> Handle;
    release_write: c"rados_release_write_op"(Handle) -> ();
    with_creation: c"rados_write_op_create"(Handle, c_int, Text) -> ();
    with_zeros: c"rados_write_op_zero"(Handle, u64, u64) -> ();
    with_truncation: c"rados_write_op_truncate"(Handle, u64) -> ();
    with_full: c"rados_write_op_write_full"(Handle, *const c_char, usize) -> ();
    with_key: c"rados_write_op_omap_set"(Handle, *const Text, *const Text, *const usize, usize) -> ();
    without_key: c"rados_write_op_omap_rm_keys"(Handle, *const Text, usize) -> ();
    begin_write: c"rados_aio_write_op_operate"(Handle, Handle, Handle, Text, *mut libc::time_t, c_int) -> c_int;
    new_read: c"rados_create_read_op"() -> Handle;
    release_read: c"rados_release_read_op"(Handle) -> ();
    get_keys: c"rados_read_op_omap_get_vals_by_keys"(Handle, *const Text, usize, *mut Handle, *mut c_int) -> ();
    begin_read: c"rados_aio_read_op_operate"(Handle, Handle, Handle, Text, c_int) -> c_int;
    next_key: c"rados_omap_get_next"(Handle, *mut *mut c_char, *mut *mut c_char, *mut usize) -> c_int;
    end_keys: c"rados_omap_get_end"(Handle) -> ();
    list: c"rados_nobjects_list_open"(Handle, *mut Handle) -> c_int;
    next_object: c"rados_nobjects_list_next"(Handle, *mut Text, *mut Text, *mut Text) -> c_int;
    end_list: c"rados_nobjects_list_close"(Handle) -> ();
}

impl Calls {
    fn opened() -> Result<Calls, Failure> {
        let named = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        let name = named.as_deref().unwrap_or(LIBRARY);
        let missing = |why: &str| {
            Failure::new(format!("Ceph's library cannot be used: {why}"))
                .hint(format!("install it (Debian: librados2), or name it: {VARIABLE}=/path/to/{LIBRARY}"))
        };
        let path = CString::new(name).map_err(|_| missing("its name has a zero byte"))?;
        let library =
            SharedLibrary::open(&path, libc::RTLD_NOW | libc::RTLD_LOCAL).map_err(|why| missing(&why))?;
        Calls::find(|symbol| {
            library
                .address(symbol)
                .ok_or_else(|| missing(&format!("{name} has no {}", symbol.to_string_lossy())))
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

/// Who connects to which cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The configuration file; none: where Ceph looks for it.
    pub configuration: Option<String>,
    /// The client's name, `admin` or `client.admin`; none: Ceph's default.
    pub client: Option<String>,
    /// The cluster's name; none: Ceph's default.
    pub cluster: Option<String>,
    /// How long the monitors are waited for, s.
    pub connect_timeout_s: u64,
}

/// A connection to a cluster. Closed on drop.
pub struct Cluster {
    calls: &'static Calls,
    handle: Handle,
}

impl Cluster {
    /// # Errors
    /// What Ceph refuses, or that nobody answers.
    pub fn connect(calls: &'static Calls, account: &Account) -> Result<Cluster, Failure> {
        let mut cluster = Cluster { calls, handle: std::ptr::null_mut() };
        let short = account.client.as_deref().map(|client| client.strip_prefix("client.").unwrap_or(client));
        let (client, named) = (text(short)?, text(account.cluster.as_deref())?);
        // With a cluster's name, the client's is a whole one.
        let whole = match (&account.cluster, &account.client) {
            (Some(_), Some(client)) if !client.contains('.') => text(Some(&format!("client.{client}")))?,
            _ => text(account.client.as_deref())?,
        };
        // SAFETY: the names are zero-terminated or null, and there is room for the handle.
        let made = unsafe {
            match &named {
                Some(named) => {
                    (calls.create_named_cluster)(&raw mut cluster.handle, named.as_ptr(), pointer(&whole), 0)
                }
                None => (calls.create_cluster)(&raw mut cluster.handle, pointer(&client)),
            }
        };
        check(made, || "Ceph refuses the client's name".into(), "client=admin, without a key or a host")?;
        cluster.configure(account)?;
        // SAFETY: the handle is that of a configured cluster.
        let connected = unsafe { (calls.connect)(cluster.handle) };
        check(
            connected,
            || format!("cannot connect to the cluster as {}", shown(account)),
            connect_hint(connected),
        )?;
        Ok(cluster)
    }

    fn configure(&self, account: &Account) -> Result<(), Failure> {
        let path = text(account.configuration.as_deref())?;
        let timeout = text(Some(&account.connect_timeout_s.to_string()))?;
        // SAFETY: the handle is the library's, and the texts are zero-terminated or null.
        let (read, _) = unsafe {
            let read = (self.calls.read_configuration)(self.handle, pointer(&path));
            // What fails is said once, by us.
            (self.calls.configure)(self.handle, c"log_to_stderr".as_ptr(), c"false".as_ptr());
            (self.calls.configure)(self.handle, c"err_to_stderr".as_ptr(), c"false".as_ptr());
            (read, (self.calls.configure)(self.handle, c"client_mount_timeout".as_ptr(), pointer(&timeout)))
        };
        let place =
            account.configuration.as_deref().unwrap_or("/etc/ceph/ceph.conf and the other usual places");
        let what = || format!("cannot read the configuration of Ceph in {place}");
        check(read, what, "name it: conf=/path/to/ceph.conf")
    }

    /// Opens a pool's namespace; the default one's name is empty.
    ///
    /// # Errors
    /// There is no such pool, or the client may not use it.
    pub fn pool(self, pool: &str, namespace: &str) -> Result<Pool, Failure> {
        let (name, within) = (text(Some(pool))?, text(Some(namespace))?);
        let mut handle = std::ptr::null_mut();
        // SAFETY: the cluster is connected, the name is zero-terminated, and there is room for the handle.
        let opened = unsafe { (self.calls.open_pool)(self.handle, pointer(&name), &raw mut handle) };
        let hint = if opened == -libc::ENOENT {
            "`ceph osd pool ls` says which there are"
        } else {
            "look at the client's rights"
        };
        check(opened, || format!("cannot use pool {pool}"), hint)?;
        // SAFETY: the pool is open, and the namespace is zero-terminated.
        unsafe { (self.calls.set_namespace)(handle, pointer(&within)) };
        Ok(Pool { calls: self.calls, handle, _cluster: self })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is ours, and no pool of it is open any more.
            unsafe { (self.calls.shut_down)(self.handle) };
        }
    }
}

/// An open pool. Closed on drop, before its cluster.
pub struct Pool {
    pub calls: &'static Calls,
    pub handle: Handle,
    _cluster: Cluster,
}

impl Pool {
    /// How many objects there are whose names begin so, at most so many; 0: all. The library lists the whole pool.
    pub fn count(&self, prefix: &[u8], most: u64) -> i64 {
        let mut count = 0u64;
        let listed = self.each(|name| {
            count += u64::from(name.starts_with(prefix));
            most == 0 || count < most
        });
        listed.map_or_else(|errno| -i64::from(errno), |()| count as i64)
    }

    /// Shows the names of all objects, until it is enough (false).
    ///
    /// # Errors
    /// The library's.
    pub fn each(&self, mut wants_more: impl FnMut(&[u8]) -> bool) -> Result<(), i32> {
        let (calls, mut list) = (self.calls, std::ptr::null_mut());
        // SAFETY: the pool is open, there is room for the handle and the texts, which are the library's until the next.
        unsafe {
            let opened = (calls.list)(self.handle, &raw mut list);
            if opened < 0 {
                return Err(-opened);
            }
            let mut name = std::ptr::null();
            let end = loop {
                let (none, more) = (std::ptr::null_mut(), &raw mut name);
                match (calls.next_object)(list, more, none, none) {
                    0 if wants_more(CStr::from_ptr(name).to_bytes()) => {}
                    0 => break -libc::ENOENT,
                    end => break end,
                }
            };
            (calls.end_list)(list);
            if end == -libc::ENOENT { Ok(()) } else { Err(-end) }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the pool is open, and nothing is in flight.
        unsafe { (self.calls.close_pool)(self.handle) };
    }
}

fn shown(account: &Account) -> String {
    match account.client.as_deref() {
        Some(client) if client.contains('.') => client.into(),
        client => format!("client.{}", client.unwrap_or("admin")),
    }
}

fn connect_hint(result: c_int) -> &'static str {
    match -result {
        libc::ETIMEDOUT => "no monitor answers: look at `mon host` in the configuration, and at `ceph -s`",
        libc::ENOENT => {
            "there is no keyring for this client: `keyring` in the configuration says where it is looked for"
        }
        libc::EACCES | libc::EPERM => "the key is not this client's, or it may not read",
        _ => "`ceph -s` with the same configuration and client says more",
    }
}

fn check(result: c_int, what: impl FnOnce() -> String, hint: &str) -> Result<(), Failure> {
    match result {
        0.. => Ok(()),
        _ => Err(Failure::new(format!("{}: {}", what(), strerror(-result))).errno(-result).hint(hint)),
    }
}

fn text(text: Option<&str>) -> Result<Option<CString>, Failure> {
    text.map(CString::new).transpose().map_err(|_| Failure::new("a name with a zero byte"))
}

fn pointer(text: &Option<CString>) -> Text {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}
