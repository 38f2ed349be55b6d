//! A pool asked one call after the other, outside the loop.

use std::ffi::{CString, c_int};

use iodyno_model::Job;

use super::calls::{Account, Calls, Cluster, Handle, Pool};
use super::{CONNECT_TIMEOUT_S, Failure, setting, whole_number};
use crate::objects::split_url;
use crate::store_client::StoreClient;

/// A pool's namespace.
pub struct PoolClient {
    pool: Pool,
}

/// Who a job is to Ceph.
pub fn account(job: &Job) -> Account {
    let text = |name: &str| setting(job, name).filter(|value| !value.is_empty()).map(String::from);
    Account {
        configuration: text("conf"),
        client: text("client"),
        cluster: text("cluster"),
        connect_timeout_s: whole_number(job, "connect_timeout_s").unwrap_or(CONNECT_TIMEOUT_S),
    }
}

/// Opens the pool or the namespace of an address's second part.
///
/// # Errors
/// The library is missing, the cluster does not answer, or there is no such pool.
pub fn open_pool(calls: &'static Calls, job: &Job, place: &str) -> Result<Pool, Failure> {
    let (pool, namespace) = place.split_once(':').unwrap_or((place, ""));
    Cluster::connect(calls, &account(job))?.pool(pool, namespace)
}

/// Connects as a job would.
///
/// # Errors
/// As for [`open_pool`].
pub fn connect(job: &Job, url: &str) -> Result<Box<dyn StoreClient>, Failure> {
    let (_, place, _) = split_url(url).unwrap_or(("", url, ""));
    Ok(Box::new(PoolClient { pool: open_pool(Calls::get()?, job, place)? }))
}

fn named(name: &str) -> Result<CString, i32> {
    CString::new(name).map_err(|_| libc::EINVAL)
}

impl PoolClient {
    /// Waits for a call that begins so.
    fn wait_for(&self, begin: impl FnOnce(Handle) -> c_int) -> Result<u64, i32> {
        let (calls, mut completion) = (self.pool.calls, std::ptr::null_mut());
        // SAFETY: there is room for the handle, which is ours until it is released.
        let made = unsafe { (calls.begin)(std::ptr::null_mut(), None, &raw mut completion) };
        if made < 0 {
            return Err(-made);
        }
        let begun = begin(completion);
        // SAFETY: the completion is that of the call, which was begun or refused.
        let result = unsafe {
            let result = if begun < 0 {
                begun
            } else {
                (calls.wait)(completion);
                (calls.result)(completion)
            };
            (calls.release)(completion);
            result
        };
        u64::try_from(result).map_err(|_| -result)
    }
}

impl StoreClient for PoolClient {
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), i32> {
        let (calls, pool, name) = (self.pool.calls, self.pool.handle, named(name)?);
        let from = bytes.as_ptr().cast();
        // SAFETY: the pool is open, and the name and the bytes stay until the call is complete.
        self.wait_for(|completion| unsafe {
            (calls.write_full)(pool, name.as_ptr(), completion, from, bytes.len())
        })
        .map(drop)
    }

    fn get(&mut self, name: &str) -> Result<Vec<u8>, i32> {
        let length = self.length(name)? as usize;
        let (calls, pool, name) = (self.pool.calls, self.pool.handle, named(name)?);
        let mut bytes = vec![0u8; length];
        if length > 0 {
            let to = bytes.as_mut_ptr().cast();
            // SAFETY: the pool is open, and the name and the buffer stay until the call is complete.
            let read = self.wait_for(|completion| unsafe {
                (calls.read)(pool, name.as_ptr(), completion, to, length, 0)
            })?;
            bytes.truncate(read as usize);
        }
        Ok(bytes)
    }

    fn length(&mut self, name: &str) -> Result<u64, i32> {
        let (calls, pool, name) = (self.pool.calls, self.pool.handle, named(name)?);
        let (mut size, mut time) = (0u64, 0);
        // SAFETY: the pool is open, and the name and what is written to stay until the call is complete.
        self.wait_for(|completion| unsafe {
            (calls.stat)(pool, name.as_ptr(), completion, &raw mut size, &raw mut time)
        })?;
        Ok(size)
    }

    fn remove(&mut self, name: &str) -> Result<(), i32> {
        let (calls, pool, name) = (self.pool.calls, self.pool.handle, named(name)?);
        // SAFETY: the pool is open, and the name stays until the call is complete.
        self.wait_for(|completion| unsafe { (calls.remove)(pool, name.as_ptr(), completion) }).map(drop)
    }

    fn objects(&mut self, above: &str) -> Result<Vec<String>, i32> {
        let mut names = Vec::new();
        self.pool.each(|name| {
            if name.starts_with(above.as_bytes()) {
                names.push(String::from_utf8_lossy(name).into_owned());
            }
            true
        })?;
        Ok(names)
    }

    fn children(&mut self, above: &str, start: &str) -> Result<Vec<String>, i32> {
        let mut names: Vec<String> = self.objects(&format!("{above}{start}"))?;
        for name in &mut names {
            *name = name[above.len()..].split('/').next().unwrap_or_default().into();
        }
        names.sort();
        names.dedup();
        Ok(names)
    }
}
