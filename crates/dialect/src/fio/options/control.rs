//! Options about when jobs begin and end together, groups, errors, steadiness and flow.
//!
//! Refuses nothing.

use super::{
    JobOption, MOST, NOT_DONE, ValueType, flag, option, seconds, switch, tailed, whole, word, words,
};

#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    switch("exitall", "when this job ends, so do the others"),
    word("exit_what", words::ENDS, "which others").or("group"),
    switch("exitall_on_error", "when a job fails, so do the others"),
    switch("stonewall", "begin when all jobs above have ended").also(&["wait_for_previous"]),
    switch("new_group", "begin a new group for reports"),
    switch("group_reporting", "report clones, and jobs of one group, as one"),
    flag("stats", "whether the job is reported").or("1"),
    word("continue_on_error", words::ERRORS, "after which errors the job goes on").or("none"),
    flag("error_dump", "report each error that was passed over")
        .refused(NOT_DONE, "read the counts of errors in the report"),
    whole("flow_id", 0, MOST, "which flow").or("0"),
    whole("flow", 0, 1000, "how often this job's turn is, beside the others of the flow").or("0").below(1),
    whole("flow_watermark", 0, MOST, "how far a job may run ahead").or("1024").below(1)
        .ignored("fio itself ignores it since version 3.20"),
    option("flow_sleep", "US", ValueType::Whole(0, MOST), "pause of a job that ran ahead").or("0").below(1),
    tailed("steadystate", words::STEADINESS, "WORD:LIMIT", "end when figures are steady").also(&["ss"]).or("iops_slope:0.01%"),
    seconds("steadystate_duration", "over how long they must be steady").also(&["ss_dur"]).or("0").below(1),
    seconds("steadystate_ramp_time", "how long to wait before looking").also(&["ss_ramp"]).or("0").below(1),
    seconds("steadystate_check_interval", "how often figures are taken").also(&["ss_interval"]).or("1").below(1),
];
