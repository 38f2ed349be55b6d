//! Our own words beside an original's command line: `--also WORDS` and the environment's `IODYNO_ALSO`.
//!
//! In a drop-in every option belongs to the original; these words are taken out before its dialect sees the rest.
//! None of them changes what the original's options mean; a word that is not known is refused, never ignored.
//! A dialect that understands a word asks its loader for it.

use iodyno_dialect::hosts::{self, Elsewhere, is_host};
use iodyno_dialect::option::nearest;
use iodyno_dialect::run_options::RunOptions;
use iodyno_dialect::{DIALECTS, Dialect, Keep, Loader, ReportFile, Run};
use iodyno_engine::world::World;
use iodyno_model::{Device, Diagnostic, Origin, Plan};
use iodyno_report::native::Native;
use iodyno_report::paint::Paint;

use crate::simulated_device;
use crate::substitution::{Substitution, SweepReport};
use crate::terminal;

/// Every word with a line of help. Those that some dialects alone understand stand in their `also`, too.
const WORDS: &[(&str, &str)] = &[
    ("json=FILE", "write the record as JSON"),
    ("csv=FILE", "write the results as CSV; FOLDER/ gets a file for each table"),
    ("html=FILE", "write an HTML page with charts"),
    ("xlsx=FILE", "write every table to a spreadsheet"),
    ("hdr=FILE", "write the latencies as an HdrHistogram log"),
    ("influx=FILE", "write the results in InfluxDB's line protocol"),
    ("record=FILE", "write all operations as a trace: iodyno trace, iodyno replay"),
    ("metrics=FILE", "write OpenMetrics during the run, or serve them at ADDRESS:PORT"),
    ("progress=FILE", "write what happens, each second, as lines of JSON"),
    ("live", "show the run full-screen"),
    ("live-web=127.0.0.1:PORT", "serve the HTML page during the run"),
    ("details", "print explained findings in full"),
    ("ranks", "print a table with a row for each rank"),
    ("save", "keep the run in the history"),
    ("save=NAME", "keep it with this tag"),
    ("witness=off", "run without witnesses"),
    ("why", "say where latency goes: scheduler, device, journal, …"),
    ("engine=NAME", "run on another engine; iodyno engines lists them"),
    ("on=DEVICE", "run in virtual time on a simulated device; iodyno devices lists them"),
    ("depth=N", "keep N operations in flight in each worker"),
    ("rate=N", "aim at N operations each second in each worker, at even times"),
    ("sweep=KEY:LIST", "run once for each value of depth, engine, block, workers, cached or span"),
    ("repeat=N", "number of passes"),
    ("confidence=95:5", "repeat until the 95 % interval of every rate is 5 % wide"),
    ("until-steady", "repeat until the rates of five passes are steady"),
    ("most=N", "maximum number of passes"),
    ("precondition", "write every file and device twice first"),
    ("age=70%", "age the file systems first, until they are this full"),
    ("fail-if=read.p99>5ms", "fail if this condition holds"),
    ("ceiling=400Gbit", "maximum rate of the path to the storage"),
    ("verify-map=FILE", "keep the generation of every block that is written, or check against it"),
    ("destroy=DEVICE", "allow overwriting this device"),
    ("hosts=H1,H2:4", "run on these hosts"),
    ("hostfile=FILE", "run on the hosts of this file"),
    ("launcher=NAME", "launcher on the hosts: mpirun, mpiexec, srun, flux, palsrun"),
    ("threads=N", "workers of each task"),
    ("scale=S", "of a model's tensors so many times the elements are saved"),
    ("text=3", "print the columns of version 3"),
    ("bugs=TOOL", "repeat the original's faults"),
    ("phases=NAMES", "add phases: symlink:link:xattr:chmod:readdir:rename"),
    ("percentiles", "measure every latency"),
    ("data=unique", "fill each buffer anew with bytes that do not compress"),
    ("headers=3.33", "write verify headers of this version"),
    ("rewrite=distinct", "write other bytes in the second pass"),
    ("layout=N", "print the columns of this sysstat version"),
    ("peers=RANGE+RANGE", "addresses that a server may send to"),
];

/// The words that a dialect takes, a line each.
pub fn help(dialect: &Dialect) -> String {
    let mut text = format!(
        "Words of --also with {}, separated by commas (the environment's IODYNO_ALSO takes them, too):\n",
        dialect.name
    );
    let is_own = |name| DIALECTS.iter().any(|dialect| dialect.also.contains(&name));
    let is_taken = |form| !is_own(name_of(form)) || dialect.also.contains(&name_of(form));
    for (word, line) in WORDS.iter().filter(|(form, _)| is_taken(form)) {
        text.push_str(&format!("  {word:24} {line}\n"));
    }
    text
}

/// The name in a word's form, or in a word as it was typed.
fn name_of(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

/// Whether this is a word without a value.
fn is_bare(word: &str) -> bool {
    !word.contains('=') && WORDS.iter().any(|(form, _)| *form == word)
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtensionOptions {
    /// Devices that may be written to although somebody may still need them, by the very names that are used.
    pub destroy: Vec<String>,
    /// The generation map of the jobs that verify.
    pub verify_map: Option<String>,
    /// Format and path of each result file.
    pub files: Vec<(&'static str, String)>,
    /// Whether the witnesses stay at home.
    pub unwatched: bool,
    /// Whether the anatomy of latency is told.
    pub why: bool,
    /// Whether findings that another one explains are told in full, too.
    pub details: bool,
    /// Whether the history keeps the run.
    pub keep: Keep,
    /// Words that the dialect itself understands, with their values.
    pub dialect_words: Vec<(String, String)>,
    /// `hosts=`, as typed: `h1,h2:4` or `@FILE`.
    pub hosts: Option<String>,
    /// `hostfile=`.
    pub hostfile: Option<String>,
    /// `launcher=`.
    pub launcher: Option<String>,
    /// What may be asked of any run.
    pub asked: RunOptions,
    /// Another engine, another depth, lists of values.
    pub substitution: Substitution,
    /// `on=`, as typed.
    pub on: Option<String>,
    /// The simulated device that it runs on.
    pub device: Option<Device>,
    /// Whether the words are to be listed.
    pub lists_words: bool,
    /// All other words, as they are said on the hosts that the command goes to.
    pub kept: Vec<String>,
}

impl ExtensionOptions {
    /// Takes our words out of the arguments; the environment's come first.
    ///
    /// # Errors
    /// The first word that is none of ours.
    pub fn take(
        arguments: &[String],
        environment: Option<&str>,
    ) -> Result<(ExtensionOptions, Vec<String>), Diagnostic> {
        let (mut also, mut others) = (ExtensionOptions::default(), Vec::new());
        also.words("IODYNO_ALSO", environment.unwrap_or(""))?;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.strip_prefix("--also") {
                Some("") => {
                    let none = || refused("--also", "no words follow");
                    also.words("--also", rest.next().ok_or_else(none)?)?;
                }
                Some(words) if words.starts_with('=') => also.words("--also", &words[1..])?,
                _ => others.push(argument.clone()),
            }
            if argument == "--" {
                others.extend(rest.by_ref().cloned());
            }
        }
        Ok((also, others))
    }

    /// Takes our words as [`take`](Self::take) does, and loads the simulated device that they name.
    ///
    /// # Errors
    /// The first word that is none of ours; everything that is wrong with the device, or does not go with one.
    pub fn load(
        arguments: &[String],
        environment: Option<&str>,
        world: &World,
    ) -> Result<(ExtensionOptions, Vec<String>), Vec<Diagnostic>> {
        let (mut also, others) =
            ExtensionOptions::take(arguments, environment).map_err(|wrong| vec![wrong])?;
        if let Some(word) = &also.on {
            also.device = Some(simulated_device::named(word, "--also")?);
            also.fits_device(word).map_err(|wrong| vec![wrong])?;
            simulated_device::check_world(world, "--also").map_err(|wrong| vec![wrong])?;
        }
        Ok((also, others))
    }

    /// Whether a run on a simulated device takes the other words.
    fn fits_device(&self, on: &str) -> Result<(), Diagnostic> {
        let obstacles = [
            (self.substitution.has_engine(), "engine", "a simulated device has its own engine"),
            (self.hosts.is_some() || self.hostfile.is_some(), "hosts", "one virtual clock is on one machine"),
            (self.why, "why", "the kernel sees nothing of a simulated run"),
        ];
        match obstacles.into_iter().find(|(is_asked, ..)| *is_asked) {
            Some((_, word, why)) => {
                let message = format!("`{word}` does not go with `on={on}`: {why}");
                Err(Diagnostic::error(&Origin::argument("--also"), message).hint("leave one of them out"))
            }
            None => Ok(()),
        }
    }

    fn words(&mut self, place: &str, words: &str) -> Result<(), Diagnostic> {
        let mut words = hosts::words(words).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            let Some(first) = word.strip_prefix("hosts=").filter(|first| !first.is_empty()) else {
                self.word(place, word)?;
                continue;
            };
            // Commas stand between hosts, too: the list goes on until something that is another word.
            let mut list = first.to_string();
            while let Some(host) = words.next_if(|word| !is_bare(word) && is_host(word)) {
                list = format!("{list},{host}");
            }
            self.hosts = Some(list);
        }
        Ok(())
    }

    fn word(&mut self, place: &str, word: &str) -> Result<(), Diagnostic> {
        match word.split_once('=') {
            Some((name, value)) if !value.is_empty() && self.asks(place, name, Some(value))? => {}
            None if self.asks(place, word, None)? => {}
            Some((_, "")) => return Err(refused(place, &format!("`{word}` names nothing"))),
            Some(("destroy", device)) => self.destroy.push(device.into()),
            Some((format, path)) if exported(format).is_some() => {
                self.files.extend(exported(format).map(|format| (format, path.to_string())));
            }
            Some(("save", name)) => {
                self.keep.wanted = Some(true);
                self.keep.tags.push(name.into());
            }
            Some(("verify-map", path)) => self.verify_map = Some(path.into()),
            Some(("on", device)) => self.on = Some(device.into()),
            Some(("witness", "off")) => self.unwatched = true,
            Some((name @ ("text" | "bugs" | "phases" | "layout" | "rewrite" | "peers" | "scale"), value)) => {
                self.dialect_words.push((name.into(), value.into()));
            }
            Some(("data", kind @ ("fio" | "unique"))) => {
                self.dialect_words.push(("data".into(), kind.into()))
            }
            Some(("headers", version)) if !is_version(version) => {
                let expected = "expected the version of an original, for example headers=3.33";
                return Err(refused(place, &format!("`{word}`: {expected}")));
            }
            Some(("headers", version)) => self.dialect_words.push(("headers".into(), version.into())),
            Some(("threads", count)) => match count.parse::<u32>() {
                Ok(1..) => self.dialect_words.push(("threads".into(), count.into())),
                _ => return Err(refused(place, &format!("`{word}`: expected a whole number of at least 1"))),
            },
            Some(("hostfile", path)) => self.hostfile = Some(path.into()),
            Some(("launcher", name)) => self.launcher = Some(name.into()),
            None if word == "save" => self.keep.wanted = Some(true),
            None if word == "help" => self.lists_words = true,
            None if word == "details" => self.details = true,
            None if word == "why" => self.why = true,
            None if word == "live" => self.files.push(("live", "-".into())),
            None if word == "ranks" => self.files.push(("ranks", "/dev/stderr".into())),
            None if is_bare(word) => self.dialect_words.push((word.into(), String::new())),
            _ => return Err(refused(place, &unknown(word))),
        }
        if !word.starts_with("hostfile=") && !word.starts_with("launcher=") {
            self.kept.push(word.into());
        }
        Ok(())
    }

    fn asks(&mut self, place: &str, name: &str, value: Option<&str>) -> Result<bool, Diagnostic> {
        let taken = match value {
            Some(value) => self.substitution.word(name, value).map_err(|wrong| wrong_value(place, &wrong))?,
            None => false,
        };
        if taken {
            return Ok(true);
        }
        self.asked.word(name, value).map_err(|wrong| refused(place, &wrong))
    }

    /// What the dialect can ask its loader for before it lowers.
    pub fn loader_words(&self) -> Vec<(String, String)> {
        let on = self.on.iter().map(|device| ("on".to_string(), device.clone()));
        self.dialect_words.iter().cloned().chain(self.substitution.words()).chain(on).collect()
    }

    /// Where the command is to run instead of here.
    ///
    /// # Errors
    /// What is no host, or a host file that cannot be read.
    pub fn elsewhere(&self, loader: &mut dyn Loader) -> Result<Option<Elsewhere>, Diagnostic> {
        hosts::elsewhere(self.hosts.as_deref(), self.hostfile.as_deref(), self.launcher.clone(), loader)
    }

    /// The words that make the plan what it is, as one argument; none: none do. What is written besides, whether the
    /// run is kept, and what may be destroyed are said anew each time.
    pub fn shaping(&self) -> Option<String> {
        let shapes = |word: &&String| {
            let name = name_of(word);
            let besides = [
                "ceiling",
                "details",
                "live",
                "ranks",
                "save",
                "destroy",
                "hosts",
                "fail-if",
                "verify-map",
                "why",
            ];
            exported(name).is_none() && !besides.contains(&name)
        };
        let words: Vec<&str> = self.kept.iter().filter(shapes).map(String::as_str).collect();
        (!words.is_empty()).then(|| format!("--also={}", words.join(",")))
    }

    /// Adds what was asked for to a run.
    ///
    /// # Errors
    /// What does not fit its plan.
    pub fn join(self, run: &mut Run) -> Result<(), Diagnostic> {
        if self.unwatched && run.plan.phases.iter().any(|phase| phase.watch.is_some()) {
            let wrong =
                Diagnostic::error(&Origin::argument("--also"), "`witness=off` leaves nobody to watch");
            return Err(wrong.hint("leave it out: watching is all that this does"));
        }
        run.plan.destroy.extend(self.destroy);
        if let Some(path) = &self.verify_map {
            keep_map(&mut run.plan, path)?;
        }
        run.messages.extend(self.substitution.apply(&mut run.plan)?);
        if self.substitution.sweeps() {
            swept(run, self.details);
        }
        self.asked.apply(&mut run.plan, "--also")?;
        run.unwatched = self.unwatched;
        if let Some(device) = &self.device {
            simulated_device::put_on(run, device, "--also")?;
        }
        run.why = self.why;
        run.keep = self.keep;
        run.details = self.details;
        if self.files.iter().any(|(format, _)| *format == "record") {
            for job in run.plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
                job.measure.journal.get_or_insert_default().completions = true;
                job.measure.sample_ns = 0;
            }
        }
        let file = |(format, path): (&str, String)| ReportFile { path, format: format.into() };
        run.files.extend(self.files.into_iter().map(file));
        Ok(())
    }
}

/// Gives every job that verifies a generation map.
fn keep_map(plan: &mut Plan, path: &str) -> Result<(), Diagnostic> {
    let mut verified = false;
    for job in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        if let Some(verify) = &mut job.payload.verify {
            verify.map = Some(path.into());
            verified = true;
        }
    }
    if verified {
        return Ok(());
    }
    let message = format!("`verify-map={path}`: no job verifies what it writes or reads");
    Err(Diagnostic::error(&Origin::argument("--also"), message)
        .hint("let one verify, e.g. fio's --verify=crc32c"))
}

/// Lets a table over the values stand in place of the tool's report, which has no form for it.
fn swept(run: &mut Run, details: bool) {
    let message =
        "a sweep is reported as a table over its values, in place of the tool's report and its own files";
    let note = Diagnostic::note(&Origin::argument("--also"), message);
    run.messages.push(note.hint("csv=FILE, json=FILE and html=FILE have every point"));
    run.files.retain(|file| file.format != "own");
    run.reporter =
        Box::new(SweepReport(Native::new(Paint { colour: false, ..terminal::out_paint() }).details(details)));
    (run.own_voice, run.tells_all, run.tells_passes, run.status) = (false, true, true, None);
}

/// Two or more numbers with dots between them.
fn is_version(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok())
}

/// A format that results are written in.
fn exported(format: &str) -> Option<&'static str> {
    ["csv", "hdr", "html", "influx", "json", "live-web", "metrics", "progress", "record", "xlsx"]
        .into_iter()
        .find(|known| *known == format)
}

fn wrong_value(place: &str, what: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(place), what).hint("e.g. engine=io_uring,depth=16,sweep=block:4k:64k")
}

fn refused(place: &str, what: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(place), what).hint("--also help lists the words")
}

fn unknown(word: &str) -> String {
    let typed = name_of(word);
    match nearest(typed, WORDS.iter().map(|(form, _)| name_of(form))) {
        Some(near) if near == typed => {
            let form = WORDS.iter().map(|(form, _)| *form).find(|form| name_of(form) == near);
            format!("`{word}`: expected {}", form.unwrap_or(near))
        }
        Some(near) => format!("there is no word `{typed}`; did you mean `{near}`?"),
        None => format!("there is no word `{typed}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &str, environment: Option<&str>) -> Result<(ExtensionOptions, String), String> {
        let arguments: Vec<String> = line.split_whitespace().map(Into::into).collect();
        let taken = ExtensionOptions::take(&arguments, environment).map_err(|wrong| wrong.message)?;
        Ok((taken.0, taken.1.join(" ")))
    }

    #[test]
    fn only_our_words_are_taken() {
        let (also, rest) =
            take("a --also=destroy=/dev/x,json=r b --also csv=c --alsoran -- --also=q", Some("witness=off"))
                .unwrap();
        assert_eq!(rest, "a b --alsoran -- --also=q");
        let files = vec![("json", "r".to_string()), ("csv", "c".to_string())];
        let kept = ["witness=off", "destroy=/dev/x", "json=r", "csv=c"].map(String::from).to_vec();
        let unwatched = true;
        assert_eq!(
            also,
            ExtensionOptions {
                destroy: vec!["/dev/x".into()],
                files,
                unwatched,
                kept,
                ..ExtensionOptions::default()
            }
        );
        assert_eq!(take("a", None), Ok((ExtensionOptions::default(), "a".into())));
    }

    #[test]
    fn a_run_is_kept_and_named() {
        let keep = |line| take(line, None).unwrap().0.keep;
        assert_eq!(keep("--also save"), Keep { wanted: Some(true), tags: Vec::new() });
        let tags = vec!["a".to_string(), "b".to_string()];
        assert_eq!(keep("--also save=a,save=b"), Keep { wanted: Some(true), tags });
        assert!(take("--also save=", None).is_err());
    }

    #[test]
    fn details_are_told_and_change_nothing_else() {
        let (also, rest) = take("a --also=hosts=h1,details b", None).unwrap();
        assert_eq!((also.details, also.shaping(), rest.as_str()), (true, None, "a b"));
        assert_eq!(also.hosts.as_deref(), Some("h1"));
        assert!(take("--also=details=7", None).is_err());
    }

    #[test]
    fn a_list_of_hosts_ends_where_another_word_begins() {
        let (also, rest) =
            take("-t 1m --also json=r,hosts=h1:2,h2,10.0.0.3,threads=4,live -e", None).unwrap();
        assert_eq!((also.hosts.as_deref(), rest.as_str()), (Some("h1:2,h2,10.0.0.3"), "-t 1m -e"));
        assert_eq!(also.kept.join(" "), "json=r threads=4 live");
        let (also, _) = take("--also=hosts=h1,live,launcher=srun", Some("hostfile=f,csv=c")).unwrap();
        assert_eq!((also.hosts.as_deref(), also.launcher.as_deref()), (Some("h1"), Some("srun")));
        assert_eq!((also.hostfile.as_deref(), also.kept.join(" ")), (Some("f"), "csv=c live".into()));
        assert_eq!(take("--also hosts=@nodes,witness=off", None).unwrap().0.hosts.as_deref(), Some("@nodes"));
    }

    #[test]
    fn what_is_no_word_is_refused() {
        for line in [
            "--also=threads=0",
            "--also=threads=x",
            "--also=hosts=",
            "--also=h1",
            "--also=witness=on",
            "--also",
            "--also destroy=",
            "--also=destroy",
        ] {
            assert!(take(line, None).is_err(), "{line}");
        }
        assert!(take("", Some("lively")).unwrap_err().contains("`lively`"));
    }
}
