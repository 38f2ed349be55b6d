//! Gateways of others that speak the S3 API on loopback: what keeps objects as files (versitygw).
//!
//! It refuses to fetch: who starts it says where the program is.

use std::path::{Path, PathBuf};

use crate::daemons::DaemonGroup;
use crate::store::{ACCESS_KEY, SECRET_KEY};
use crate::{Skip, free_port, wait};

/// A gateway, gone with its objects when this is dropped or the test dies.
#[derive(Debug)]
pub struct Gateway {
    /// Ends with the gateway.
    daemons: DaemonGroup,
    port: u16,
}

impl Gateway {
    /// Starts versitygw over a directory, with the keys of our own store.
    ///
    /// # Errors
    /// No program is a [`Skip`]; else what it said.
    pub fn of_files(program: &Path) -> Result<Gateway, Box<dyn std::error::Error>> {
        Gateway::start(program, false)
    }

    /// The same, whose buckets can keep versions.
    ///
    /// # Errors
    /// As above.
    pub fn of_versions(program: &Path) -> Result<Gateway, Box<dyn std::error::Error>> {
        Gateway::start(program, true)
    }

    fn start(program: &Path, keeps_versions: bool) -> Result<Gateway, Box<dyn std::error::Error>> {
        if !program.is_file() {
            return Err(Skip::new("versitygw was not built").into());
        }
        let (mut daemons, port) = (DaemonGroup::new()?, free_port()?);
        for folder in ["objects", "old"] {
            std::fs::create_dir(daemons.home().join(folder))?;
        }
        let keys = [format!("ROOT_ACCESS_KEY={ACCESS_KEY}"), format!("ROOT_SECRET_KEY={SECRET_KEY}")];
        let (program, address) = (program.display().to_string(), format!("127.0.0.1:{port}"));
        let words = ["env", &keys[0], &keys[1], &program, "--port", &address, "--keep-alive", "posix"];
        // A relative one would be taken for a directory of objects.
        let old = daemons.home().join("old").display().to_string();
        let more: &[&str] = if keeps_versions { &["--versioning-dir", &old] } else { &[] };
        daemons.start("gateway", &[&words[..], more, &["objects"]].concat())?;
        let answers = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        wait::until("a gateway that answers", answers)
            .map_err(|error| format!("{error}\n{}", daemons.last_words("gateway")))?;
        Ok(Gateway { daemons, port })
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.host())
    }

    /// `HOST:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A bucket is a directory.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make_bucket(&self, name: &str) -> std::io::Result<()> {
        std::fs::create_dir(self.bucket(name))
    }

    /// How many files a bucket has: its objects whose keys end in no slash, and parts of uploads.
    pub fn files(&self, bucket: &str) -> usize {
        let (mut found, mut left) = (0, vec![self.bucket(bucket)]);
        while let Some(directory) = left.pop() {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                match entry.path() {
                    path if path.is_dir() => left.push(path),
                    _ => found += 1,
                }
            }
        }
        found
    }

    fn bucket(&self, name: &str) -> PathBuf {
        self.daemons.home().join("objects").join(name)
    }
}
