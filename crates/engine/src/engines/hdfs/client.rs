//! A directory asked one call after the other, outside the loop.

use std::ffi::CString;

use iodyno_model::Job;

use super::calls::{Account, Connection, Creation};
use super::{Failure, setting, switched_on};
use crate::objects::split_url;
use crate::store_client::StoreClient;

/// A name node.
pub struct NodeClient {
    connection: Connection,
}

/// Where an address's name node is, and who a job is to it.
///
/// # Errors
/// The port is no number.
pub fn account(job: &Job, url: &str) -> Result<Account, Failure> {
    let (_, place, _) = split_url(url).unwrap_or(("", url, ""));
    let (name_node, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().ok()),
        None => (place, Some(0)),
    };
    let port = port.ok_or_else(|| {
        Failure::new(format!("{url}: no port of a name node")).hint("e.g. hdfs://localhost:9000/bench")
    })?;
    let user = setting(job, "user").filter(|user| !user.is_empty()).map(String::from);
    Ok(Account { name_node: name_node.into(), port, user })
}

/// A path as the library takes it: from the root, or below the user's home if it begins with `./`.
pub fn path(name: &str) -> String {
    match name.strip_prefix("./") {
        Some(below_home) => below_home.into(),
        None => format!("/{name}"),
    }
}

/// Connects as a job would.
///
/// # Errors
/// The library is missing, or the name node does not answer.
pub fn connect(job: &Job, url: &str) -> Result<Box<dyn StoreClient>, Failure> {
    let connection = Connection::open(&account(job, url)?, switched_on(job, "own_connection"))?;
    Ok(Box::new(NodeClient { connection }))
}

fn named(name: &str) -> Result<CString, i32> {
    CString::new(path(name)).map_err(|_| libc::EINVAL)
}

fn checked(result: i64) -> Result<u64, i32> {
    u64::try_from(result).map_err(|_| -result as i32)
}

/// What lies right below a directory: names, and whether each is a directory; nothing where there is none.
fn entries(connection: &Connection, directory: &str) -> Result<Vec<(String, bool)>, i32> {
    let path = named(directory.trim_end_matches('/'))?;
    match checked(connection.length(&path)) {
        Ok(_) => Ok(connection.entries(&path)),
        Err(libc::ENOENT) => Ok(Vec::new()),
        Err(errno) => Err(errno),
    }
}

impl StoreClient for NodeClient {
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), i32> {
        let connection = &self.connection;
        let file =
            connection.file(&named(name)?, Some(Creation::default())).map_err(|result| -result as i32)?;
        let written = connection.write(file, bytes.as_ptr(), bytes.len() as u64);
        let closed = connection.close(file);
        checked(written.min(closed)).map(drop)
    }

    fn get(&mut self, name: &str) -> Result<Vec<u8>, i32> {
        let length = self.length(name)?;
        let connection = &self.connection;
        let file = connection.file(&named(name)?, None).map_err(|result| -result as i32)?;
        let mut bytes = vec![0u8; length as usize];
        let read = connection.read(file, 0, bytes.as_mut_ptr(), length);
        connection.close(file);
        bytes.truncate(checked(read)? as usize);
        Ok(bytes)
    }

    fn length(&mut self, name: &str) -> Result<u64, i32> {
        checked(self.connection.length(&named(name.trim_end_matches('/'))?))
    }

    fn remove(&mut self, name: &str) -> Result<(), i32> {
        checked(self.connection.remove(&named(name.trim_end_matches('/'))?)).map(drop)
    }

    fn objects(&mut self, above: &str) -> Result<Vec<String>, i32> {
        let (mut files, mut rest) = (Vec::new(), vec![above.to_string()]);
        while let Some(directory) = rest.pop() {
            for (name, is_directory) in entries(&self.connection, &directory)? {
                let name = format!("{directory}{name}");
                if is_directory { rest.push(name + "/") } else { files.push(name) }
            }
        }
        files.sort();
        Ok(files)
    }

    fn children(&mut self, above: &str, start: &str) -> Result<Vec<String>, i32> {
        let entries = entries(&self.connection, above)?.into_iter();
        let mut names: Vec<String> =
            entries.map(|(name, _)| name).filter(|name| name.starts_with(start)).collect();
        names.sort();
        Ok(names)
    }

    fn has_directories(&self) -> bool {
        true
    }

    fn remove_directories(&mut self, directory: &str) -> Result<(), i32> {
        for (name, is_directory) in entries(&self.connection, directory)? {
            if is_directory {
                self.remove_directories(&format!("{}/{name}", directory.trim_end_matches('/')))?;
            }
        }
        match self.remove(directory) {
            Err(libc::ENOENT) => Ok(()),
            other => other,
        }
    }
}
