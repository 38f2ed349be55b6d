//! The thirteen phases in their order, each as the command line that the original gives to IOR, mdtest or pfind.

use super::settings::Settings;

/// What a phase's figure is counted into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreGroup {
    /// Bandwidth, GiB/s.
    Bandwidth,
    /// Metadata, thousand operations a second.
    Metadata,
    /// Nothing.
    No,
}

/// Which tool's work a phase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Ior,
    Mdtest,
    /// The walk over all files.
    Find,
}

#[derive(Clone, Copy, Debug)]
pub struct PhaseKind {
    pub name: &'static str,
    /// The section of what it belongs to (`ior-easy`).
    pub of: &'static str,
    /// Whose work it is.
    pub tool: Tool,
    /// What it is counted into.
    pub group: ScoreGroup,
    /// Whether it lasts for the stonewall time, and the slower ones then catch up.
    pub writes: bool,
    /// The phase whose count it does, where one has made what it works on.
    pub after: Option<&'static str>,
}

const fn kind(name: &'static str, of: &'static str, tool: Tool, group: ScoreGroup) -> PhaseKind {
    PhaseKind { name, of, tool, group, writes: false, after: None }
}

const fn write(name: &'static str, of: &'static str, tool: Tool, group: ScoreGroup) -> PhaseKind {
    PhaseKind { writes: true, ..kind(name, of, tool, group) }
}

const fn again(
    name: &'static str,
    of: &'static str,
    tool: Tool,
    group: ScoreGroup,
    after: &'static str,
) -> PhaseKind {
    PhaseKind { after: Some(after), ..kind(name, of, tool, group) }
}

use ScoreGroup::{Bandwidth, Metadata, No};
use Tool::{Find, Ior, Mdtest};

/// The phases in their order.
pub const PHASES: [PhaseKind; 13] = [
    write("ior-easy-write", "ior-easy", Ior, Bandwidth),
    write("mdtest-easy-write", "mdtest-easy", Mdtest, Metadata),
    write("ior-hard-write", "ior-hard", Ior, Bandwidth),
    write("mdtest-hard-write", "mdtest-hard", Mdtest, Metadata),
    kind("find", "find", Find, Metadata),
    again("ior-easy-read", "ior-easy", Ior, Bandwidth, "ior-easy-write"),
    again("mdtest-easy-stat", "mdtest-easy", Mdtest, Metadata, "mdtest-easy-write"),
    again("ior-hard-read", "ior-hard", Ior, Bandwidth, "ior-hard-write"),
    again("mdtest-hard-stat", "mdtest-hard", Mdtest, Metadata, "mdtest-hard-write"),
    again("mdtest-easy-delete", "mdtest-easy", Mdtest, Metadata, "mdtest-easy-write"),
    again("mdtest-hard-read", "mdtest-hard", Mdtest, Metadata, "mdtest-hard-write"),
    again("mdtest-hard-delete", "mdtest-hard", Mdtest, Metadata, "mdtest-hard-write"),
    kind("ior-rnd4K-easy-read", "ior-easy", Ior, No),
];

/// The time that the rules ask the writing phases to last, s.
pub const RULED_STONEWALL_S: u64 = 300;
/// The same for student clusters, s.
pub const STUDENT_STONEWALL_S: u64 = 30;

/// Where a run's files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Of the tests.
    pub data: String,
    pub results: String,
}

impl PhaseKind {
    /// Whether a configuration has it run.
    pub fn runs(&self, config: &Settings) -> bool {
        config.flag(self.of, "run") && config.flag(self.name, "run")
    }

    /// The command line of its tool, beginning with the tool's name.
    pub fn command(&self, config: &Settings, places: &Places) -> Vec<String> {
        match self.tool {
            Ior => self.ior(config, places),
            Mdtest => self.mdtest(config, places),
            Find => find(config, places),
        }
    }

    fn api(&self, config: &Settings) -> String {
        config.inherited(&[self.name, self.of], "API", "api").to_string()
    }

    fn ior(&self, config: &Settings, places: &Places) -> Vec<String> {
        let random = self.name.contains("rnd4K");
        let (folder, easy) = (format!("{}/{}", places.data, self.of), self.of == "ior-easy");
        let file = if easy { format!("{folder}/ior_file_easy") } else { format!("{folder}/file") };
        let mut words = split("./ior -C -Q 1 -g -G");
        words.push(if easy { "271" } else { "27" }.into());
        words.extend(split("-k -e -o"));
        words.push(file);
        if self.writes || random {
            words.extend(split("-O stoneWallingWearOut=1"));
        }
        match (easy, random) {
            (true, false) => {
                let (transfer, block) =
                    (config.text("ior-easy", "transferSize"), config.text("ior-easy", "blockSize"));
                words.extend(["-t", transfer, "-b", block].map(String::from));
            }
            (true, true) => words.extend(split("-t 4096 -b 4096 -s 10000000 -z -z")),
            (false, _) => {
                words.extend(split("-t 47008 -b 47008 -s"));
                words.push(config.text("ior-hard", "segmentCount").into());
            }
        }
        let flag = |section: &str, key: &str| config.flag(section, key);
        words.extend((easy && flag("ior-easy", "filePerProc")).then(|| "-F".into()));
        words.extend((easy && flag("ior-easy", "uniqueDir")).then(|| "-u".into()));
        let collective = flag("ior-hard", "collective") || flag(self.name, "collective");
        words.extend((!easy && collective).then(|| "-c".into()));
        words.extend(["-l".into(), config.text("global", "dataPacketType").into()]);
        match (self.writes, random) {
            (true, _) => words.extend(["-w".into(), "-D".into(), stonewall_s(config).to_string()]),
            (false, true) => words.extend(["-r".into(), "-D".into(), stonewall_s(config).to_string()]),
            (false, false) => words.extend(split("-r -R")),
        }
        words.extend(["-a".into(), self.api(config)]);
        words
    }

    fn mdtest(&self, config: &Settings, places: &Places) -> Vec<String> {
        let easy = self.of == "mdtest-easy";
        let mut words = split("./mdtest -n");
        words.push(config.text(self.of, "n").into());
        words.extend(split(if easy { "-u -L -F" } else { "-t -w 3901 -e 3901 -F" }));
        words.extend(split("-P -G"));
        words.extend([if easy { "1" } else { "27" }.into(), "-N".into(), "1".into(), "-d".into()]);
        words.push(format!("{}/{}", places.data, self.of));
        words.extend(["-a".into(), self.api(config)]);
        let part = self.name.rsplit('-').next().unwrap_or("");
        match part {
            "write" => {
                words.extend(split("-C -Y -W"));
                words.push(stonewall_s(config).to_string());
            }
            "stat" => words.extend(split("-T")),
            "read" => words.extend(split("-X -E")),
            _ => words.extend(split("-r")),
        }
        words
    }
}

fn find(config: &Settings, places: &Places) -> Vec<String> {
    let mut words = vec!["./pfind".into(), places.data.clone(), "-newer".into()];
    words.push(format!("{}/timestampfile", places.results));
    words.extend(split("-size 3901c -name *01* -C"));
    words.extend(config.number("find", "nproc").map(|count| format!("# {count} processes")));
    words
}

fn split(words: &str) -> Vec<String> {
    words.split(' ').map(String::from).collect()
}

/// How long the writing phases last, s.
pub fn stonewall_s(config: &Settings) -> u64 {
    let said = config.number("debug", "stonewall-time").unwrap_or(RULED_STONEWALL_S);
    if config.flag("global", "scc") && said == RULED_STONEWALL_S { STUDENT_STONEWALL_S } else { said }
}

/// How long they would have to last, s.
pub fn ruled_stonewall_s(config: &Settings) -> u64 {
    if config.flag("global", "scc") { STUDENT_STONEWALL_S } else { RULED_STONEWALL_S }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_are_those_of_the_rules() {
        let (config, places) = (Settings::default(), Places { data: "/d".into(), results: "/r".into() });
        let line = |name: &str| {
            let kind = PHASES.iter().find(|kind| kind.name == name).unwrap();
            kind.command(&config, &places).join(" ")
        };
        assert_eq!(
            line("ior-easy-write"),
            "./ior -C -Q 1 -g -G 271 -k -e -o /d/ior-easy/ior_file_easy -O stoneWallingWearOut=1 \
             -t 2m -b 9920000m -F -l timestamp -w -D 300 -a POSIX"
        );
        assert_eq!(
            line("ior-hard-read"),
            "./ior -C -Q 1 -g -G 27 -k -e -o /d/ior-hard/file -t 47008 -b 47008 -s 10000000 -l timestamp -r -R -a POSIX"
        );
        assert_eq!(
            line("mdtest-hard-write"),
            "./mdtest -n 1000000 -t -w 3901 -e 3901 -F -P -G 27 -N 1 -d /d/mdtest-hard -a POSIX -C -Y -W 300"
        );
        assert!(line("mdtest-hard-read").ends_with("-X -E") && line("mdtest-easy-stat").ends_with("-T"));
        assert!(line("find").contains("-newer /r/timestampfile -size 3901c -name *01*"));
        let scored = |group| PHASES.iter().filter(|kind| kind.group == group).count();
        assert_eq!((scored(Bandwidth), scored(Metadata)), (4, 8));
    }
}
