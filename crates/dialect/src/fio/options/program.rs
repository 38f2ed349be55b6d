//! fio's program options: what its command line takes beside job options, each once, with what it sets.
//!
//! Refuses what changes the measurement, and what fio itself no longer has.

use crate::fio::command::{self, ClientArgument, Command, EarlyExit};
use crate::fio::number::Fault;
use crate::fio::view::Format;
use crate::option::{Entry, Kind, Setter, Spelling, Table, entries};

pub const PROGRAM: Table = Table { tool: "fio", spelling: Spelling::Dashed, entries: ENTRIES };

const ENTRIES: &[Entry] = &entries::<_, { SETTERS.len() }>(SETTERS);

const fn option(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    let kind = if value.is_empty() { Kind::Switch } else { Kind::Text };
    Entry::new(name, kind, value, help)
}

/// Every program option with what it sets.
#[rustfmt::skip]
pub const SETTERS: &[Setter<Command, Fault>] = &[
    option("debug", "LIST", "print lines of these categories: process, file, io, random, …; `help` lists them")
        .also(&["d"]).text(Command::debug),
    option("parse-only", "", "read jobs and options, run nothing")
        .also(&["P"])
        .on(|c| c.print_instead(EarlyExit::ParseOnly(String::new()))),
    option("merge-blktrace-only", "", "merge traces, run nothing").on(|c| c.merges_only = true),
    option("output", "FILE", "write the report to FILE").also(&["o"])
        .text(|c, path| (c.output, c.style.to_file) = (Some(path.into()), true)),
    option("bandwidth-log", "", "write logs of the bandwidth of all jobs together: agg-read_bw.log, …").also(&["b"])
        .on(|c| c.style.bandwidth_log = true),
    option("minimal", "", "the report in terse form").also(&["m"]).on(|c| c.style.formats = vec![Format::Terse]),
    option("output-format", "LIST", "forms of the report: normal, terse, json, json+").also(&["F"])
        .parsed(|c, list| command::formats(list).map(|formats| c.style.formats = formats)),
    option("terse-version", "N", "which terse form: 2, 3, 4 or 5").also(&["V"]).or("3")
        .parsed(|c, text| command::terse_version(text).map(|version| c.style.terse_version = version)),
    option("append-terse", "", "the terse form behind the normal one").also(&["f"]).on(Command::append_terse),
    option("version", "", "print the version and end").also(&["v"]).on(|c| c.print_instead(EarlyExit::Version)),
    option("help", "", "print this and end").also(&["h"]).on(|c| c.print_instead(EarlyExit::Help)),
    option("cpuclock-test", "", "look at the processor's clock and end").also(&["T"]).on(|c| c.print_instead(EarlyExit::ClockTest)),
    option("crctest", "[LIST]", "time the checksums and end").also(&["G"])
        .text(|c, names| c.print_instead(EarlyExit::ChecksumTest(names.into()))),
    option("cmdhelp", "[OPTION]", "explain a job option, or `all`, and end").also(&["c"])
        .text(|c, name| c.print_instead(EarlyExit::OptionHelp(name.into()))),
    option("enghelp", "[ENGINE[,OPTION]]", "list engines, or explain one's options, and end").also(&["i"])
        .text(|c, name| c.print_instead(EarlyExit::EngineHelp(name.into()))),
    option("showcmd", "", "print job files as command lines and end").also(&["s"]).on(|c| c.shows_commands = true),
    option("eta", "WHEN", "when the live line is shown: always, never, auto").also(&["e"]).or("auto")
        .parsed(|c, text| command::eta(text).map(|eta| c.style.eta = eta)),
    option("eta-newline", "TIME", "a new live line every so often").also(&["E"])
        .parsed(|c, text| command::time("eta-newline", text).map(|ns| c.style.eta_newline_ns = ns)),
    option("eta-interval", "MS", "how often the live line is renewed").or("1000")
        .parsed(|c, text| command::eta_interval(text).map(|ns| c.style.eta_interval_ns = ns)),
    option("status-interval", "TIME", "a whole report every so often").also(&["L"])
        .parsed(|c, text| command::time("status-interval", text).map(|ns| c.style.status_interval_ns = ns)),
    option("readonly", "", "refuse jobs that write").also(&["r"]).on(|c| c.readonly = true),
    option("section", "NAME", "run only this section; may be repeated").also(&["x"]).text(|c, name| c.only_sections.push(name.into())),
    option("alloc-size", "KB", "size of fio's memory pool").also(&["a"]).ignored("there is no pool: memory grows as needed").inert(),
    option("warnings-fatal", "", "warnings end the run").also(&["w"]).on(|c| c.strict = true),
    option("max-jobs", "N", "how many workers fio makes room for").also(&["j"])
        .ignored("there is room for as many as the machine can start").inert(),
    option("server", "[ADDRESS]", "run the jobs that clients send: HOST[,PORT], ip4:…, ip6:…, sock:PATH; this machine alone without a host")
        .also(&["S"]).text(|c, address| c.server = Some(address.into())),
    option("daemonize", "FILE", "a server in the background; its process number is in FILE").also(&["D"])
        .text(|c, path| c.pid_file = Some(path.into())),
    option("client", "HOST[,PORT][,HOST…]", "run the job files behind it on these hosts: by their servers, or over ssh")
        .also(&["C"]).text(|c, hosts| c.clients.push(ClientArgument { hosts: hosts.into(), ..ClientArgument::default() })),
    option("remote-config", "FILE", "a job file that lies on the server").also(&["R"]).text(Command::remote_file),
    option("idle-prof", "system|percpu|calibrate", "measure how idle all or single processors are; or only the work that tells it, and end")
        .also(&["I"]).parsed(Command::idle_profile),
    option("inflate-log", "FILE", "print a compressed log and end")
        .text(|c, path| c.print_instead(EarlyExit::InflatedLog(path.into()))),
    option("trigger-file", "FILE", "once FILE is there, end the jobs, keep their verify states and run the trigger; FILE is removed")
        .text(|c, path| c.trigger.file = Some(path.into())),
    option("trigger-timeout", "TIME", "the same after so long")
        .parsed(|c, text| command::timeout("trigger-timeout", text).map(|ns| c.trigger.after_ns = ns)),
    option("trigger", "COMMAND", "what the trigger runs, in a shell").text(|c, text| c.trigger.command = Some(text.into())),
    option("trigger-remote", "COMMAND", "what the trigger runs on the servers of --client")
        .text(|c, text| c.trigger_remote = Some(text.into())),
    option("aux-path", "DIR", "where files that fio makes on its own lie").also(&["K"]).text(|c, folder| c.aux_path = Some(folder.into())),
    option("latency-log", "FILE", "logs of all jobs' latencies").also(&["l"])
        .refused("fio itself no longer has it", "use write_lat_log in the jobs").inert(),
];
