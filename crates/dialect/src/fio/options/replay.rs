//! Options about writing traces down and playing them back, and the commands around a job.
//!
//! Refuses nothing.

use super::{JobOption, MOST, decimals, flag, path, text, whole};

pub const OPTIONS: &[JobOption] = &[
    path("write_iolog", "FILE", "write every I/O down"),
    path("read_iolog", "FILE", "play a trace back: fio's own, or blktrace's"),
    flag("read_iolog_chunked", "read the trace piece by piece").below(1),
    flag("replay_no_stall", "play it back as fast as possible").below(1),
    path("replay_redirect", "FILE", "play all of it to this device").below(1),
    whole("replay_scale", 0, MOST, "divide offsets by this").or("1").below(1),
    whole("replay_align", 0, MOST, "round offsets down to a multiple of this").below(1),
    whole("replay_time_scale", 1, MOST, "percentage of the speed").or("100").below(1),
    text("replay_skip", "LIST", "leave out read, write, trim, sync").below(1),
    path("merge_blktrace_file", "FILE", "several traces as one, written here"),
    decimals("merge_blktrace_scalars", 0, i32::MAX, "speed of each, in percent"),
    decimals("merge_blktrace_iters", 0, i32::MAX, "how often each is repeated"),
    text("exec_prerun", "COMMAND", "run by the shell before the job"),
    text("exec_postrun", "COMMAND", "run by the shell after the job"),
    text("ioscheduler", "NAME", "the block device's I/O scheduler"),
];
