//! What a command line asks for, judged as a whole: hosts counted out, defaults of the command, rules between options.

use iodyno_model::{Diagnostic, Origin};

use super::command::WarpCommand;
use super::settings::{Settings, size, time_ns};
use crate::Loader;

/// Objects above this are written in parts of as many bytes, as warp's client library has it.
pub const PART_BYTES: u64 = 16 << 20;

/// Parts of an upload at most.
const PARTS_MOST: u64 = 10_000;

/// The largest object that is laid out before a benchmark.
const LAID_OUT_MOST: u64 = 1 << 30;

/// Versions of one run at most: their names are kept to remove them.
const VERSIONS_MOST: u64 = 1_000_000;

/// Hosts of one run at most.
const HOSTS_MOST: usize = 4096;

/// The least that the largest object may have where sizes vary, bytes: eight powers of two lie below it.
const SMALLEST_VARYING: u64 = 1 << 8;

/// A benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarpTest {
    pub command: WarpCommand,
    /// `http://HOST:PORT`, each once.
    pub hosts: Vec<String>,
    pub bucket: String,
    /// What the names of all objects begin with: the user's, then this run's own.
    pub prefix: String,
    /// Each operation in flight has a prefix of its own.
    pub prefixes: bool,
    pub concurrent: u32,
    pub duration_ns: u64,
    pub objects: u64,
    /// Of an object, at most.
    pub bytes: u64,
    /// Objects have sizes up to that, as many in each power of two.
    pub varies: bool,
    pub batch: u32,
    /// Of each object.
    pub versions: u64,
    /// What the engine reads of an object: `random` or bytes; none: all of it.
    pub range: Option<String>,
    /// Of multipart's object.
    pub object_name: String,
    /// Weights of GET, STAT, PUT and DELETE.
    pub shares: [f64; 4],
    /// Longer objects are written in parts of as many bytes.
    pub part_bytes: u64,
    pub parts_at_once: u32,
    /// Settings of the engine, by name.
    pub store: Vec<(&'static str, String)>,
    pub removes: bool,
    /// Ends it when seconds of so long a time are within so many percent of their mean, ns.
    pub steady: Option<(u64, f64)>,
    pub per_second: f64,
    /// It begins so much later, ns.
    pub pause_ns: u64,
}

/// How results are told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telling {
    pub details: bool,
    pub json: bool,
    pub quiet: bool,
    pub operation: Option<String>,
    pub host: Option<String>,
    pub skip_ns: u64,
    /// The file of segments.
    pub segments: Option<String>,
    /// Requests that are left out first, and read at most; 0: all.
    pub offset: usize,
    pub limit: usize,
    /// Seconds that local time is east of Greenwich.
    pub east_s: i64,
}

struct Judge<'a> {
    settings: &'a Settings,
    wrong: Vec<Diagnostic>,
}

impl Judge<'_> {
    fn refuse(&mut self, option: &str, what: impl Into<String>, hint: &str) {
        let wrong = Diagnostic::error(&self.settings.origin(option), what.into()).hint(hint);
        // A size that several figures follow from is told once.
        if !self.wrong.contains(&wrong) {
            self.wrong.push(wrong);
        }
    }

    fn time(&mut self, name: &str) -> u64 {
        match time_ns(self.settings.text(name).unwrap_or("0")) {
            Ok(ns) => ns,
            Err(wrong) => {
                self.refuse(name, format!("{name}: {wrong}"), "a number with ns, us, ms, s, m or h");
                0
            }
        }
    }

    fn size(&mut self, name: &str, default: u64) -> u64 {
        let Some(text) = self.settings.text(name) else { return default };
        if text.contains(',') || text.contains(':') {
            let hint = "give the mean; a plan (`iodyno run`) takes tables of sizes for files";
            self.refuse(name, format!("{name}: objects of one run have one size"), hint);
            return default;
        }
        match size(text) {
            Ok(bytes) => bytes,
            Err(wrong) => {
                self.refuse(name, format!("{name}: {wrong}"), "a number with KiB, MiB, GiB or KB, MB, GB");
                default
            }
        }
    }
}

/// How the results of any command are told.
///
/// # Errors
/// Everything that is wrong with it.
pub fn telling(settings: &Settings, loader: &dyn Loader) -> Result<Telling, Vec<Diagnostic>> {
    let mut judge = Judge { settings, wrong: Vec::new() };
    if judge.time("analyze.dur") != 1_000_000_000 {
        let hint = "leave it out, or reckon with the times that --full writes down";
        judge.refuse("analyze.dur", "a segment of the report is a second long", hint);
    }
    let told = Telling {
        details: settings.flag("analyze.v"),
        json: settings.flag("json"),
        quiet: settings.flag("quiet") || settings.flag("json"),
        operation: settings.text("analyze.op").map(str::to_ascii_uppercase),
        host: settings.text("analyze.host").map(String::from),
        skip_ns: judge.time("analyze.skip"),
        segments: settings.text("analyze.out").map(String::from),
        offset: settings.count("analyze.offset") as usize,
        limit: settings.count("analyze.limit") as usize,
        east_s: loader.east_s(),
    };
    if judge.wrong.is_empty() { Ok(told) } else { Err(judge.wrong) }
}

/// Judges a benchmark.
///
/// # Errors
/// Everything that is wrong with it.
pub fn judge(
    command: WarpCommand,
    settings: &Settings,
    loader: &dyn Loader,
) -> Result<WarpTest, Vec<Diagnostic>> {
    let mut judge = Judge { settings, wrong: Vec::new() };
    let hosts = judge.hosts(loader);
    let store = judge.store(&hosts, loader);
    let objects = judge.objects(command);
    let bytes = judge.bytes(command);
    let multipart = matches!(command, WarpCommand::MultipartPut | WarpCommand::Multipart);
    let part_bytes = match () {
        () if multipart => judge.size("part.size", 5 << 20),
        () if settings.text("part.size").is_some_and(|size| !size.is_empty()) => {
            judge.size("part.size", PART_BYTES)
        }
        () if settings.flag("disable-multipart") => 5 << 30,
        () => PART_BYTES.max(bytes.div_ceil(PARTS_MOST).next_multiple_of(PART_BYTES)),
    };
    let test = WarpTest {
        command,
        hosts,
        bucket: settings.text("bucket").unwrap_or_default().into(),
        prefix: judge.prefix(loader),
        prefixes: !settings.flag("noprefix"),
        concurrent: settings.count("concurrent").min(u64::from(u32::MAX)) as u32,
        duration_ns: judge.time("duration"),
        objects,
        bytes,
        varies: settings.flag("obj.randsize"),
        batch: settings.count("batch").min(1000) as u32,
        versions: match command {
            _ if settings.is_given("versions") => settings.count("versions"),
            WarpCommand::Retention => 5,
            _ => 1,
        },
        range: judge.range(bytes),
        object_name: settings.text("obj.name").unwrap_or_default().into(),
        shares: ["get-distrib", "stat-distrib", "put-distrib", "delete-distrib"]
            .map(|name| settings.decimal(name)),
        part_bytes,
        parts_at_once: match command {
            WarpCommand::MultipartPut => settings.count("part.concurrent") as u32,
            _ => 1,
        },
        store,
        removes: !settings.flag("noclear") && !settings.flag("keep-data"),
        steady: judge.steady(),
        per_second: settings.decimal("rps-limit"),
        pause_ns: judge.pause(loader),
    };
    judge.rules(&test);
    if judge.wrong.is_empty() { Ok(test) } else { Err(judge.wrong) }
}

impl Judge<'_> {
    fn hosts(&mut self, loader: &dyn Loader) -> Vec<String> {
        let given = self.settings.text("host").filter(|_| self.settings.is_given("host")).map(String::from);
        let text = given.or_else(|| loader.variable("WARP_HOST"));
        let text = text.unwrap_or_else(|| self.settings.text("host").unwrap_or_default().into());
        let tls = self.settings.flag("tls") || loader.variable("WARP_TLS").is_some_and(|on| on != "false");
        let scheme = if tls { "https" } else { "http" };
        match expanded(&text) {
            Ok(hosts) => hosts.into_iter().map(|host| format!("{scheme}://{host}")).collect(),
            Err(wrong) => {
                self.refuse("host", format!("host: {wrong}"), "e.g. --host=10.0.0.{1...4}:9000");
                Vec::new()
            }
        }
    }

    fn objects(&mut self, command: WarpCommand) -> u64 {
        let default = match command {
            WarpCommand::Get | WarpCommand::Mixed => 2500,
            WarpCommand::Delete | WarpCommand::Retention => 25_000,
            _ => 10_000,
        };
        match self.settings.text("objects").map(str::parse::<u64>) {
            None => default,
            Some(Ok(count)) if count > 0 => count,
            Some(_) => {
                self.refuse(
                    "objects",
                    "objects: expected a whole number of at least 1",
                    "e.g. --objects=2500",
                );
                default
            }
        }
    }

    /// Of an object.
    fn bytes(&mut self, command: WarpCommand) -> u64 {
        match command {
            WarpCommand::Get | WarpCommand::Put | WarpCommand::Mixed => self.size("obj.size", 10 << 20),
            WarpCommand::MultipartPut | WarpCommand::Multipart => {
                self.size("part.size", 5 << 20).saturating_mul(self.parts(command))
            }
            _ => self.size("obj.size", 1 << 10),
        }
    }

    /// Parts of an object.
    fn parts(&self, command: WarpCommand) -> u64 {
        match command {
            _ if self.settings.is_given("parts") => self.settings.count("parts"),
            WarpCommand::Multipart => 200,
            _ => 100,
        }
    }

    /// How much of an object a request reads, as the engine has it.
    fn range(&mut self, object: u64) -> Option<String> {
        if self.settings.text("range-size").is_none_or(str::is_empty) {
            return self.settings.flag("range").then(|| "random".into());
        }
        let bytes = self.size("range-size", object);
        if bytes == 0 || bytes > object {
            self.refuse("range-size", format!("range-size: objects have {object} bytes"), "1 to --obj.size");
        }
        Some(bytes.to_string())
    }

    /// The user's own, and a name that no other run has.
    fn prefix(&mut self, loader: &dyn Loader) -> String {
        let run = format!("warp-{}", loader.process());
        match self.settings.text("prefix").map(|prefix| prefix.trim_matches('/')) {
            None | Some("") => run,
            Some(prefix) => format!("{prefix}/{run}"),
        }
    }

    fn store(&mut self, hosts: &[String], loader: &dyn Loader) -> Vec<(&'static str, String)> {
        let settings = self.settings;
        let mut store = Vec::new();
        let names = [
            ("access_key", "access-key", "WARP_ACCESS_KEY"),
            ("secret_key", "secret-key", "WARP_SECRET_KEY"),
            ("session_token", "session-token", "WARP_SESSION_TOKEN"),
        ];
        for (setting, option, variable) in names {
            // What a variable holds is read by the engine alone.
            let named = loader.variable(variable).filter(|value| !value.is_empty());
            let value = settings.text(option).filter(|value| !value.is_empty()).map(String::from);
            let value = value.or_else(|| named.map(|_| format!("env:{variable}")));
            store.extend(value.map(|value| (setting, value)));
        }
        let has = |name: &str| store.iter().any(|(known, _)| *known == name);
        match (has("access_key"), has("secret_key")) {
            (true, false) => {
                self.refuse("access-key", "a secret key is needed, too", "--secret-key or WARP_SECRET_KEY")
            }
            (false, true) => {
                self.refuse("secret-key", "an access key is needed, too", "--access-key or WARP_ACCESS_KEY")
            }
            (false, false) if loader.variable("AWS_ACCESS_KEY_ID").is_none() => {
                store.push(("credentials", "anonymous".into()));
            }
            _ => {}
        }
        let region = settings.text("region").map(String::from).or_else(|| loader.variable("WARP_REGION"));
        store.extend(region.filter(|region| !region.is_empty()).map(|region| ("region", region)));
        // Over TLS what is written is safe without it, and warp's client library leaves it out.
        if !settings.flag("disable-sha256-payload") && !hosts.iter().any(|host| host.starts_with("https:")) {
            store.push(("sign_payload", "on".into()));
        }
        let amazon = || hosts.iter().any(|host| host.contains(".amazonaws.com"));
        match settings.text("lookup") {
            Some("host") => store.push(("addressing", "virtual".into())),
            Some("auto") if amazon() => store.push(("addressing", "virtual".into())),
            _ => {}
        }
        let checksum = settings.text("checksum").map(|name| ("checksum", name.to_ascii_lowercase()));
        store.extend(checksum);
        if settings.flag("sse-s3-encrypt") {
            store.push(("encryption", "AES256".into()));
        }
        let class = settings.text("storage-class").filter(|class| !class.is_empty());
        store.extend(class.map(|class| ("storage_class", class.into())));
        store
    }

    fn steady(&mut self) -> Option<(u64, f64)> {
        let (window, percent) = (self.time("autoterm.dur"), self.settings.decimal("autoterm.pct"));
        if !self.settings.flag("autoterm") {
            return None;
        }
        if window < 2_000_000_000 {
            self.refuse(
                "autoterm.dur",
                "autoterm.dur: at least two seconds are compared",
                "e.g. --autoterm.dur=10s",
            );
        }
        if percent <= 0.0 {
            self.refuse("autoterm.pct", "autoterm.pct: expected more than 0", "e.g. --autoterm.pct=7.5");
        }
        Some((window, percent))
    }

    /// How long it is until the time of today at which it begins, ns.
    fn pause(&mut self, loader: &dyn Loader) -> u64 {
        let Some(text) = self.settings.text("syncstart").filter(|text| !text.is_empty()) else { return 0 };
        let minutes = text.split_once(':').and_then(|(hours, minutes)| {
            let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
            (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
        });
        let Some(minutes) = minutes else {
            self.refuse(
                "syncstart",
                format!("syncstart: `{text}`: expected hours and minutes"),
                "e.g. 17:05",
            );
            return 0;
        };
        let day_ns = 86_400_000_000_000;
        let local = loader.now_unix_ns() as i128 + i128::from(loader.east_s()) * 1_000_000_000;
        let left = i128::from(minutes) * 60_000_000_000 - local.rem_euclid(day_ns);
        if left < 0 {
            self.refuse(
                "syncstart",
                format!("syncstart: {text} is past"),
                "name a time that is to come today",
            );
        }
        u64::try_from(left).unwrap_or(0)
    }

    /// Rules between options.
    fn rules(&mut self, test: &WarpTest) {
        let hosts = test.hosts.len();
        let in_parts = matches!(test.command, WarpCommand::MultipartPut | WarpCommand::Multipart);
        let laid_out = !in_parts && test.command != WarpCommand::Put;
        let has_versions = laid_out && test.command != WarpCommand::Mixed;
        let named = test.objects.saturating_mul(test.versions);
        let retains = test.command == WarpCommand::Retention;
        let wanted = u64::from(test.batch) * u64::from(test.concurrent) * 4;
        let few = test.command == WarpCommand::Delete && test.objects < wanted;
        let few_lists = test.command == WarpCommand::List && test.objects < u64::from(test.concurrent);
        let [get, stat, put, delete] = test.shares;
        let mixed = test.command == WarpCommand::Mixed;
        let parts = self.parts(test.command);
        let multipart = test.command == WarpCommand::MultipartPut;
        crate::option::refuse! { self
            "concurrent" if test.concurrent == 0 => "concurrent: at least one operation is in flight", "e.g. --concurrent=20";
            "host" if hosts > test.concurrent as usize && test.concurrent > 0 =>
                format!("{hosts} hosts, and {} operations in flight: some would never be asked", test.concurrent),
                "raise --concurrent";
            "host" if hosts > HOSTS_MOST => format!("{hosts} hosts are more than one process asks"), "name fewer";
            "duration" if test.duration_ns == 0 => "duration: expected more than nothing", "e.g. --duration=1m";
            "obj.size" if test.bytes == 0 && !in_parts => "objects of nothing", "e.g. --obj.size=1KiB";
            "parts" if in_parts && !(1..=PARTS_MOST).contains(&parts) => "parts: expected 1 to 10000", "e.g. --parts=100";
            "versions" if !(1..=1000).contains(&test.versions) => "versions: expected 1 to 1000", "e.g. --versions=5";
            "obj.size" if laid_out && test.bytes > LAID_OUT_MOST =>
                "each object in flight has memory of its length, at most 1 GiB", "a smaller --obj.size";
            "obj.randsize" if test.varies && in_parts => "an object of parts has one size", "leave it out";
            "obj.randsize" if test.varies && test.versions > 1 => "the versions of an object have one size", "leave it out, or --versions";
            "versions" if test.versions > 1 && !has_versions =>
                format!("warp {} has no versions", test.command.name()), "warp get, stat, list, delete and retention have them";
            "versions" if named > VERSIONS_MOST && (test.versions > 1 || retains) =>
                format!("{named} versions, and one run removes at most {VERSIONS_MOST}"), "lower --objects or --versions";
            "range" if test.range.is_some() && test.command != WarpCommand::Get => "get alone reads parts of objects", "warp get --range";
            "obj.name" if test.object_name.trim_matches('/').is_empty() => "obj.name: the object has no name", "leave it out";
            "obj.randsize" if test.varies && test.bytes < SMALLEST_VARYING =>
                "sizes are 1/256 of the largest and more", "--obj.size=256 or more";
            "batch" if test.batch == 0 => "batch: at least one object is removed by a request", "e.g. --batch=100";
            "objects" if few =>
                format!("too few objects: requests of {} objects by {} at once want at least {wanted}", test.batch, test.concurrent),
                "raise --objects, or lower --batch or --concurrent";
            "objects" if few_lists => "each operation in flight lists a prefix of its own", "raise --objects, or lower --concurrent";
            "get-distrib" if mixed && get + stat + put + delete <= 0.0 => "no operation has a share", "e.g. --get-distrib=45";
            "delete-distrib" if mixed && delete > put => "more objects would be removed than written",
                "raise --put-distrib, or lower --delete-distrib";
            "part.concurrent" if multipart && (test.parts_at_once == 0 || u64::from(test.parts_at_once) > parts) =>
                "part.concurrent: expected 1 to the number of parts", "lower --part.concurrent";
            "part.concurrent" if multipart && test.parts_at_once > 64 => "part.concurrent: at most 64 parts of an object are in flight",
                "lower --part.concurrent";
            "part.size" if in_parts && test.part_bytes == 0 => "parts of nothing", "e.g. --part.size=5MiB";
            "disable-multipart" if in_parts && self.settings.flag("disable-multipart") =>
                format!("{} writes in parts", test.command.name()), "warp put --disable-multipart";
        }
    }
}

/// A list of hosts, ranges counted out: `a{1...3}:90{0...1}0,b`.
fn expanded(text: &str) -> Result<Vec<String>, String> {
    let mut hosts: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        counted_out(part, &mut hosts)?;
    }
    let mut seen = std::collections::BTreeSet::new();
    hosts.retain(|host| seen.insert(host.clone()));
    if hosts.is_empty() { Err("no host is named".into()) } else { Ok(hosts) }
}

fn counted_out(text: &str, hosts: &mut Vec<String>) -> Result<(), String> {
    let Some((before, rest)) = text.split_once('{') else {
        if text.contains(['/', ' ']) {
            return Err(format!("`{text}` is no host with a port: the scheme is --tls"));
        }
        if hosts.len() > HOSTS_MOST {
            return Err("more hosts than one process asks".into());
        }
        hosts.push(text.into());
        return Ok(());
    };
    let wrong = || format!("`{text}`: expected a range such as {{1...4}}");
    let (range, after) = rest.split_once('}').ok_or_else(wrong)?;
    let (first, last) = range.split_once("...").ok_or_else(wrong)?;
    let number = |digits: &str| digits.parse::<u32>().map_err(|_| wrong());
    let (from, to) = (number(first)?, number(last)?);
    if from > to || to - from >= HOSTS_MOST as u32 {
        return Err(wrong());
    }
    // `{01...10}` has as many digits in each.
    let width = if first.starts_with('0') { first.len() } else { 0 };
    (from..=to).try_for_each(|number| counted_out(&format!("{before}{number:0width$}{after}"), hosts))
}

/// Where options of a file of results were given.
pub fn origin_of(path: &str) -> Origin {
    Origin::argument(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_out() {
        let all = |text| expanded(text).unwrap().join(" ");
        assert_eq!(all("a{1...3}:9000"), "a1:9000 a2:9000 a3:9000");
        assert_eq!(all("h{09...10}:900{1...2},b"), "h09:9001 h09:9002 h10:9001 h10:9002 b");
        for text in ["", "a{1..3}", "a{3...1}", "a{1...", "http://a", "a{1...9999}"] {
            assert!(expanded(text).is_err(), "{text}");
        }
    }
}
