//! A whole HDFS of one name node and one data node on loopback, from the jars of Hadoop's mini cluster.
//!
//! It is what an engine for HDFS is tested against. A block has one copy and may be short, nobody needs a right, and ports are
//! the test's own. It refuses to fetch: who starts it says where the jars are.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::daemons::DaemonGroup;
use crate::program::Program;
use crate::{Skip, free_port, wait};

const NAME_NODE: &str = "org.apache.hadoop.hdfs.server.namenode.NameNode";
const DATA_NODE: &str = "org.apache.hadoop.hdfs.server.datanode.DataNode";
const SHELL: &str = "org.apache.hadoop.fs.FsShell";
/// What the name node knows of its data nodes.
const LIVE: &str = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState";
/// A machine's own limit, so that two of them fit beside the tests.
const HEAP: &str = "-Xmx256m";

/// A name node and a data node, gone when this is dropped or the test dies.
#[derive(Debug)]
pub struct Hadoop {
    daemons: DaemonGroup,
    jars: PathBuf,
    port: u16,
}

impl Hadoop {
    /// Starts both with these jars, and waits until they store.
    ///
    /// # Errors
    /// No Java or no jars is a [`Skip`]; else what the daemons said.
    pub fn start(jars: &Path) -> Result<Hadoop, Box<dyn std::error::Error>> {
        crate::case::find_tool("java")?;
        if !jars.is_dir() {
            return Err(Skip::new(format!("Hadoop's jars are not at {}", jars.display())).into());
        }
        let (port, web) = (free_port()?, free_port()?);
        let mut hadoop = Hadoop { daemons: DaemonGroup::new()?, jars: jars.into(), port };
        hadoop.configure(web)?;
        hadoop.run(NAME_NODE, &["-format", "-force", "-nonInteractive"])?;
        let class_path = hadoop.class_path();
        for (name, class) in [("name-node", NAME_NODE), ("data-node", DATA_NODE)] {
            hadoop.daemons.start(name, &["java", HEAP, "-cp", &class_path, class])?;
        }
        let is_live = || asked(web, LIVE).is_some_and(|text| text.contains("\"NumLiveDataNodes\" : 1"));
        wait::until("a data node of HDFS", is_live).map_err(|error| {
            let logs = ["name-node", "data-node"].map(|name| hadoop.daemons.last_words(name));
            format!("{error}\n{}", logs.join("\n"))
        })?;
        Ok(hadoop)
    }

    /// The name node, as `HOST:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What Java needs to be a client: the configuration, and the jars.
    pub fn class_path(&self) -> String {
        let mut jars: Vec<String> = std::fs::read_dir(&self.jars)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path().display().to_string())
            .filter(|path| path.ends_with(".jar"))
            .collect();
        jars.sort();
        jars.insert(0, self.daemons.home().join("conf").display().to_string());
        jars.join(":")
    }

    /// What Hadoop's own shell answers.
    ///
    /// # Errors
    /// What it said, where it fails.
    pub fn shell(&self, arguments: &[&str]) -> Result<String, String> {
        self.run(SHELL, arguments)
    }

    fn run(&self, class: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = std::process::Command::new("java");
        command.args([HEAP, "-cp", &self.class_path(), class]).args(arguments);
        command.current_dir(self.daemons.home());
        let output = Program::new(command).outcome()?;
        match output.status.success() {
            true => Ok(output.out),
            false => Err(format!("{class} {}: {}", arguments.join(" "), output.all())),
        }
    }

    fn configure(&self, web: u16) -> std::io::Result<()> {
        let conf = self.daemons.home().join("conf");
        std::fs::create_dir(&conf)?;
        let home = self.daemons.home().display();
        let core = [
            ("fs.defaultFS", format!("hdfs://{}", self.address())),
            ("hadoop.tmp.dir", format!("{home}/tmp")),
        ];
        let local = |port: u16| format!("127.0.0.1:{port}");
        let store = [
            ("dfs.replication", "1".to_string()),
            ("dfs.permissions.enabled", "false".to_string()),
            ("dfs.namenode.fs-limits.min-block-size", "4096".to_string()),
            ("dfs.namenode.name.dir", format!("{home}/name")),
            ("dfs.datanode.data.dir", format!("{home}/data")),
            ("dfs.namenode.http-address", local(web)),
            ("dfs.datanode.address", local(free_port()?)),
            ("dfs.datanode.ipc.address", local(free_port()?)),
            ("dfs.datanode.http.address", local(free_port()?)),
        ];
        std::fs::write(conf.join("core-site.xml"), document(&core))?;
        std::fs::write(conf.join("hdfs-site.xml"), document(&store))
    }
}

fn document(properties: &[(&str, String)]) -> String {
    let property = |(name, value): &(&str, String)| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    };
    format!("<configuration>\n{}</configuration>\n", properties.iter().map(property).collect::<String>())
}

/// What a web server on loopback answers; none: not yet.
fn asked(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}
