//! `cargo xtask dist`: what people install, made of one program: wheel, .deb, .rpm, tarball, container image, with their bill of
//! materials, licences and checksums, into `dist/`.
//!
//! The program is built once for each processor, for glibc 2.28 and later; `--program FILE` takes one that is built already. All
//! packages of a commit are the same to the byte wherever they are made: times are the commit's, owners are root. What a kind needs and
//! this machine lacks is counted as a skip. It publishes nothing.

mod archive;
mod bill;
mod container;
mod contents;
mod deb;
mod elf;
mod external;
mod launchers;
mod licences;
mod program;
mod publish;
mod reproducible;
mod rpm;
mod trial;
mod wheel;
mod zip;

use std::path::{Path, PathBuf};

use contents::Contents;
use elf::Processor;
use external::{lines_of, write};

pub use publish::chore as against_publish;
pub use reproducible::chore as against_reproducible;
pub use trial::chore as against_dist;

/// What the program of a release may weigh, stripped. 20 MiB are aimed at: docs/roadmap.md.
const LARGEST_PROGRAM: u64 = 25 << 20;

/// What is made of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackageKind {
    Wheel,
    Deb,
    Rpm,
    Tarball,
    Container,
}

impl PackageKind {
    const ALL: [(PackageKind, &'static str); 5] = [
        (PackageKind::Wheel, "wheel"),
        (PackageKind::Deb, "deb"),
        (PackageKind::Rpm, "rpm"),
        (PackageKind::Tarball, "tarball"),
        (PackageKind::Container, "container"),
    ];

    fn named(word: &str) -> Result<PackageKind, String> {
        let names = || PackageKind::ALL.map(|(_, name)| name).join(", ");
        PackageKind::ALL
            .iter()
            .find(|(_, name)| *name == word)
            .map(|(kind, _)| *kind)
            .ok_or_else(|| format!("dist: --only {word}: expected {}", names()))
    }
}

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    processors: Vec<Processor>,
    programs: Vec<PathBuf>,
    kinds: Vec<PackageKind>,
    into: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("dist: {word}: a value follows"));
            match word.as_str() {
                "--target" => options.processors.push(Processor::named(value()?)?),
                "--program" => options.programs.push(PathBuf::from(value()?)),
                "--into" => options.into = Some(PathBuf::from(value()?)),
                "--only" => {
                    let kinds = value()?.split(',').map(PackageKind::named).collect::<Result<Vec<_>, _>>()?;
                    options.kinds.extend(kinds);
                }
                other => {
                    return Err(format!("dist: `{other}`: expected --target, --program, --only or --into"));
                }
            }
        }
        if !options.processors.is_empty() && !options.programs.is_empty() {
            return Err("dist: --program says its processor itself: leave out --target".into());
        }
        if options.kinds.is_empty() {
            options.kinds = PackageKind::ALL.map(|(kind, _)| kind).to_vec();
        }
        Ok(options)
    }
}

/// What all packages of a release share.
pub struct Release {
    root: PathBuf,
    version: String,
    /// Of the commit, in seconds: the time of every file.
    epoch: u64,
    /// What is written along the way.
    scratch: PathBuf,
    /// Where packages go.
    into: PathBuf,
}

impl Release {
    /// Reads version and time.
    ///
    /// # Errors
    /// There is no manifest, or no time.
    pub fn of(root: &Path, into: Option<PathBuf>) -> Result<Release, String> {
        let text = external::read(&root.join("Cargo.toml"))?;
        let manifest: toml::Table = text.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
        let version = manifest["workspace"]["package"]["version"].as_str().ok_or("Cargo.toml: no version")?;
        Ok(Release {
            root: root.to_path_buf(),
            version: version.to_string(),
            epoch: epoch(root)?,
            scratch: root.join("target/dist"),
            into: into.unwrap_or_else(|| root.join("dist")),
        })
    }
}

/// The time of the commit, or that of the environment.
fn epoch(root: &Path) -> Result<u64, String> {
    let said = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(said) => said,
        Err(_) => lines_of("git", &["log", "-1", "--format=%ct"], root)?.first().cloned().unwrap_or_default(),
    };
    said.trim().parse().map_err(|_| format!("SOURCE_DATE_EPOCH: `{said}` is no number of seconds"))
}

/// Makes everything that was asked for; true where nothing failed.
///
/// # Errors
/// Wrong words, or no program.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let release = Release::of(root, options.into.clone())?;
    let programs = program::of(&release, &options.processors, &options.programs)?;
    std::fs::create_dir_all(&release.into).map_err(|error| format!("{}: {error}", release.into.display()))?;
    let mut tally = Tally::default();
    let texts = launchers::texts(&release, &programs)?;
    let bill = bill::Bill::of(&release)?;
    for program in &programs {
        tally.judge_size(program);
        let contents = Contents::of(&release, program, &texts, &bill)?;
        for kind in &options.kinds {
            let made = match kind {
                PackageKind::Wheel => wheel::make(&release, program, &bill),
                PackageKind::Deb => deb::make(&release, program, &contents),
                PackageKind::Rpm => rpm::make(&release, program, &contents),
                PackageKind::Tarball => archive::tarball(&release, program, &contents),
                PackageKind::Container => container::make(&release, program, &contents),
            };
            tally.hear(made);
        }
    }
    tally.hear(bill::make(&release, &bill));
    tally.hear(licences::make(&release, &bill));
    tally.hear(checksums(&release));
    println!("{}", tally.closing_line());
    Ok(tally.failed == 0)
}

/// What could not be made.
#[derive(Debug)]
enum Unmade {
    /// This machine lacks something.
    Skipped(String),
    Failed(String),
}

impl From<String> for Unmade {
    fn from(why: String) -> Unmade {
        Unmade::Failed(why)
    }
}

/// A file, or why there is none.
type Made = Result<PathBuf, Unmade>;

#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Tally {
    fn hear(&mut self, made: Made) {
        match made {
            Ok(path) => {
                let length = std::fs::metadata(&path).map_or(0, |facts| facts.len());
                println!("made    {:>9}  {}", format!("{:.1} MB", length as f64 / 1e6), path.display());
                self.passed += 1;
            }
            Err(Unmade::Skipped(why)) => {
                println!("skipped: {why}");
                self.skipped += 1;
            }
            Err(Unmade::Failed(why)) => {
                println!("failed: {why}");
                self.failed += 1;
            }
        }
    }

    fn judge_size(&mut self, program: &program::ProgramFile) {
        let (length, most) = (program.bytes.len() as u64, LARGEST_PROGRAM);
        if length <= most {
            println!(
                "program {:>9}  {} for {}",
                format!("{:.1} MB", length as f64 / 1e6),
                program.path.display(),
                program.processor.name()
            );
            self.passed += 1;
        } else {
            println!("failed: {}: {length} bytes, more than {most}: is it stripped?", program.path.display());
            self.failed += 1;
        }
    }

    fn closing_line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// `SHA256SUMS` of every file that lies beside it.
fn checksums(release: &Release) -> Made {
    let mut names: Vec<String> = external::files(&release.into)?;
    names.retain(|name| name != SUMS);
    let mut words = vec!["--"];
    words.extend(names.iter().map(String::as_str));
    let sums = lines_of("sha256sum", &words, &release.into)?;
    let path = release.into.join(SUMS);
    write(&path, (sums.join("\n") + "\n").as_bytes())?;
    Ok(path)
}

const SUMS: &str = "SHA256SUMS";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, String> {
        Options::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read_and_others_refused() {
        let options = parse(&["--target", "aarch64", "--only", "deb,wheel"]).expect("they are right");
        assert_eq!(options.processors, [Processor::Aarch64]);
        assert_eq!(options.kinds, [PackageKind::Deb, PackageKind::Wheel]);
        assert_eq!(parse(&[]).expect("nothing is all").kinds.len(), 5);
        assert!(parse(&["--only", "msi"]).unwrap_err().contains("wheel, deb, rpm, tarball, container"));
        assert!(parse(&["--target", "sparc"]).unwrap_err().contains("x86_64"));
        assert!(parse(&["--program"]).unwrap_err().contains("a value follows"));
        assert!(parse(&["--fast"]).unwrap_err().contains("--fast"));
        assert!(parse(&["--program", "p", "--target", "x86_64"]).unwrap_err().contains("leave out"));
    }

    #[test]
    fn what_was_made_failed_and_was_skipped_is_counted() {
        let mut tally = Tally::default();
        tally.hear(Ok("/nowhere".into()));
        tally.hear(Err(Unmade::Skipped("no rpmbuild".into())));
        tally.hear(Err("disk full".to_string().into()));
        assert_eq!(tally.closing_line(), "1 passed, 1 failed, 1 skipped");
    }
}
