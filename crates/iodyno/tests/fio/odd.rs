//! Files that an editor, another system or a script left in an odd state, and job files that are odd on purpose.
//!
//! Most are read by fio and must be read alike. Those that fio 3.33 refuses for its own limits (4,096 jobs, long lines,
//! a byte order mark) must run with ours.

use testbed::{Case, Outcome, Skip};

use crate::compare::jobs;
use crate::job::Holds;
use crate::output::Output;
use crate::pairs::Line;
use crate::program::{Fio, Sandbox};

/// The smallest job that does something everywhere.
const JOB: &str = "[a]\nioengine=null\nrw=read\nbs=4k\nsize=64k\n";

pub fn cases() -> Vec<Case> {
    let alike = alike().into_iter().map(|(name, text, more)| {
        let arguments = [&["--output-format=normal,terse,json"], more, &["odd.fio"]].concat();
        let files = vec![("odd.fio".to_string(), text.into_bytes()), ("data".to_string(), vec![7; 1 << 20])];
        Line {
            name: format!("odd_{name}"),
            arguments: arguments.iter().map(|word| word.to_string()).collect(),
            files,
            holds: vec![Holds::Counts, Holds::Text],
            ..Line::default()
        }
        .case()
    });
    let ours = ours().into_iter().map(|(name, text, count)| {
        Case::new(format!("odd_{name}"), &[], move || runs(&text, count)).computes()
    });
    let statuses = STATUSES.iter().map(|(name, line)| {
        Case::new(format!("odd_status_{name}"), &[], move || same_status(line)).against()
    });
    alike.chain(ours).chain(statuses).collect()
}

/// Failures, and command lines that end before a job runs; the exit status tells how many workers failed.
const STATUSES: &[(&str, &str)] = &[
    ("one_failed", "--name=x --rw=write --size=64k --filename=/dev/full"),
    ("four_failed", "--name=x --rw=write --size=64k --filename=/dev/full --numjobs=4 --thread"),
    (
        "each_group",
        "--name=x --rw=write --size=64k --filename=/dev/full --name=y --stonewall --rw=read --size=4k \
                    --name=z --stonewall --rw=write --size=64k --filename=/dev/full",
    ),
    ("survived", "--name=x --rw=write --size=64k --filename=/dev/full --continue_on_error=all"),
    ("before_failed", "--name=x --ioengine=null --size=4k --exec_prerun=false"),
    ("after_failed", "--name=x --ioengine=null --size=4k --exec_postrun=false"),
    ("no_file_may_be_made", "--name=x --size=4k --allow_file_create=0"),
    ("section_of_the_command_line", "--section=no --name=x --ioengine=null --size=4k"),
    ("section_behind_the_job", "--name=x --ioengine=null --size=4k --section=no"),
    ("idle_work", "--idle-prof=calibrate"),
    ("idle_word", "--idle-prof=no --name=x --ioengine=null --size=4k"),
    ("no_category", "--debug=bogus --name=x --ioengine=null --size=4k"),
    ("categories", "--debug=help"),
    ("no_log", "--inflate-log=nowhere.fz"),
    ("no_log_but_a_job_file", "--inflate-log=odd.fio"),
    ("pattern_of_32_bits", "--name=x --size=4k --rw=write --verify=pattern --verify_pattern=-2147483648"),
    ("pattern_of_more", "--name=x --size=4k --rw=write --verify=pattern --verify_pattern=2147483648"),
    (
        "pattern_of_fewer_than_none",
        "--name=x --size=4k --rw=write --verify=pattern --verify_pattern=-2147483649",
    ),
    ("pattern_of_a_unit", "--name=x --size=4k --rw=write --verify=pattern --verify_pattern=12k"),
    (
        "trigger_that_fails",
        "--name=x --ioengine=null --size=1g --rate_iops=100 --trigger-timeout=1 --trigger=false",
    ),
    ("trigger_without_a_sign", "--name=x --ioengine=null --size=4k --trigger=false"),
    ("trigger_after_no_time", "--name=x --ioengine=null --size=4k --trigger-timeout=0"),
    ("trigger_after_what", "--name=x --ioengine=null --size=4k --trigger-timeout=x"),
    ("trim_of_a_file", "--name=x --rw=trim --size=64k --filename=odd.dat"),
    ("trims_survived", "--name=x --rw=randtrimwrite --size=64k --filename=odd.dat --continue_on_error=all"),
    ("verify_only_of_nothing", "--name=x --rw=randwrite --size=64k --bs=4k --verify=crc32c --verify_only"),
    ("zones_of_less", "--name=x --rw=randread --size=64k --random_distribution=zoned:50/10:30/:"),
    ("verify_without_header", "--name=x --rw=read --size=64k --filename=odd.dat --verify=md5"),
];

fn same_status(line: &str) -> Outcome {
    let mut found = Vec::new();
    for fio in [Fio::reference()?, Fio::candidate()?] {
        let sandbox = Sandbox::new();
        sandbox.put("odd.fio", JOB.as_bytes());
        sandbox.put("odd.dat", &[7; 1 << 16]);
        found.push(fio.run(&sandbox, line.split_ascii_whitespace())?.code());
    }
    match found[0] == found[1] {
        true => Ok(()),
        false => {
            Err(format!("`fio {line}`: the original's status is {}, ours {}", found[0], found[1]).into())
        }
    }
}

/// Read alike by both: a name, the text, and arguments before the file.
fn alike() -> Vec<(&'static str, String, &'static [&'static str])> {
    let job = || JOB.to_string();
    vec![
        ("crlf", JOB.replace('\n', "\r\n"), &[]),
        ("idle_system", job(), &["--idle-prof=system"]),
        ("idle_each", job(), &["--idle-prof=percpu"]),
        ("no_newline_at_the_end", JOB.trim_end().to_string(), &[]),
        ("empty", String::new(), &[]),
        ("only_global", "[global]\nioengine=null\nsize=4k\n".into(), &[]),
        ("only_comments", "; nothing\n# at all\n".into(), &[]),
        ("global_twice", format!("[global]\nbs=8k\n[global]\niodepth=2\n{JOB}"), &[]),
        ("global_at_the_end", format!("{JOB}[global]\nbs=8k\n"), &[]),
        ("global_in_the_middle", format!("{JOB}[global]\nbs=8k\n[b]\nioengine=null\nsize=64k\n"), &[]),
        ("tabs_and_blanks", "\t[a]\t\n  ioengine=null  \n\trw=read\t\n bs=4k\nsize=64k   \n\n\n".into(), &[]),
        ("comments_behind", "[a] ; the job\nioengine=null ; none\nbs=4k # small\nsize=64k\n".into(), &[]),
        ("comments_indented", "[a]\n  ; one\n\t# two\nioengine=null\nsize=64k\n".into(), &[]),
        ("name_with_blanks", JOB.replace("[a]", "[a b  c]"), &[]),
        ("name_with_brackets", JOB.replace("[a]", "[a[0]]"), &[]),
        ("name_of_other_letters", JOB.replace("[a]", "[läuft-日本]"), &[]),
        ("name_empty", JOB.replace("[a]", "[]"), &[]),
        ("names_alike", format!("{JOB}{JOB}"), &[]),
        ("option_twice", format!("{JOB}size=32k\n"), &[]),
        ("options_in_other_orders", "[a]\nsize=64k\nbs=4k\nrw=read\nioengine=null\n".into(), &[]),
        ("option_before_any_section", format!("bs=8k\n{JOB}"), &[]),
        ("option_without_value", format!("{JOB}thread\ngroup_reporting\n"), &[]),
        ("option_with_empty_value", format!("{JOB}description=\n"), &[]),
        ("value_with_equals", format!("{JOB}description=a=b=c\n"), &[]),
        ("value_with_quotes", format!("{JOB}description=\"a b\"\n"), &[]),
        ("blank_before_equals", "[a]\nioengine = null\nsize = 64k\n".into(), &[]),
        ("blank_after_equals", "[a]\nioengine=null\nsize= 64k\n".into(), &[]),
        ("upper_case_option", "[a]\nIOENGINE=null\nsize=64k\n".into(), &[]),
        ("upper_case_suffix", "[a]\nioengine=null\nbs=4K\nsize=1M\n".into(), &[]),
        ("suffixes", "[a]\nioengine=null\nbs=4KiB\nsize=1MiB\n".into(), &[]),
        ("decimal_suffixes", "[a]\nioengine=null\nbs=4kB\nsize=1mb\n".into(), &[]),
        ("hexadecimal", "[a]\nioengine=null\nbs=0x1000\nsize=0x10000\n".into(), &[]),
        ("percent_of_a_file", "[a]\nfilename=data\nrw=read\nbs=4k\nsize=10%\n".into(), &[]),
        ("section_chosen", format!("{JOB}[b]\nioengine=null\nsize=8k\n"), &["--section=b"]),
        ("section_missing", job(), &["--section=nosuch"]),
        ("defaults_from_the_command_line", job(), &["--bs=8k", "--numjobs=2"]),
        ("one_dash", job(), &["-iodepth=2"]),
        ("readonly", job(), &["--readonly"]),
        ("runtime_from_the_command_line", job(), &["--runtime=9"]),
        ("ncpus", format!("{JOB}numjobs=$ncpus\n"), &[]),
        ("environment_missing", format!("{JOB}description=${{NO_SUCH_VARIABLE_HERE}}\n"), &[]),
        ("unknown_section_words", "[a\nioengine=null\nsize=64k\n".into(), &[]),
        ("words_without_section", "ioengine=null\n".into(), &[]),
        ("eta_never", job(), &["--eta=never"]),
        ("max_jobs", job(), &["--max-jobs=4"]),
    ]
}

/// Run by ours though fio 3.33 refuses them: a name, the text, and how many jobs come of it.
fn ours() -> Vec<(&'static str, String, usize)> {
    let sections = |count: usize| (0..count).map(|index| format!("[j{index}]\n")).collect::<String>();
    let tiny = "[global]\nioengine=null\nthread\nbs=4k\nsize=4k\n";
    vec![
        ("five_thousand_sections", format!("{tiny}{}", sections(5000)), 5000),
        ("byte_order_mark", format!("\u{feff}{JOB}"), 1),
        ("line_of_a_megabyte", format!("{JOB}description={}\n", "x".repeat(1_000_000)), 1),
        ("comment_of_a_megabyte", format!("; {}\n{JOB}", "x".repeat(1_000_000)), 1),
        ("a_thousand_clones", format!("{tiny}numjobs=1000\n[a]\n"), 1000),
        ("sums_and_products", JOB.replace("64k", "(2*16k+32k)"), 1),
    ]
}

fn runs(text: &str, count: usize) -> Outcome {
    let ours = Fio::candidate()?;
    if !ours.is_ours() {
        return Err(Skip::new("the original refuses it for limits of its own").into());
    }
    let sandbox = Sandbox::new();
    sandbox.put("odd.fio", text.as_bytes());
    let said = ours.run(&sandbox, ["--output-format=json", "odd.fio"])?;
    if said.code() != 0 {
        return Err(
            format!("status {}: {}", said.code(), said.err.chars().take(300).collect::<String>()).into()
        );
    }
    let document = Output::read(&said.out).document()?;
    let found = jobs(&document).len();
    let idle = jobs(&document).iter().filter(|job| job["read"]["total_ios"].as_u64() == Some(0)).count();
    if found != count || idle > 0 {
        return Err(format!("{found} jobs of {count}, {idle} of them without an I/O").into());
    }
    Ok(())
}
