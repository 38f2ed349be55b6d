//! Options about where and as whom workers run: processors, memory, priorities, users, control groups.
//!
//! Refuses a GPU.

use super::{
    ENDLESS, JobOption, MOST, ValueType, bytes, flag, option, path, switch, text, whole, word, words,
};

#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    bytes("lockmem", 0, ENDLESS, "pin so much memory, so that less is left for caches").bounded(false).or("0"),
    whole("nice", -20, 19, "processor priority").or("0"),
    whole("prio", 0, 7, "I/O priority, 0 the highest"),
    whole("prioclass", 0, 3, "I/O class: 1 real time, 2 best effort, 3 idle"),
    whole("priohint", 0, 1023, "I/O hint beside the priority"),
    option("cpumask", "MASK", ValueType::Whole(0, MOST), "processors, a bit each"),
    text("cpus_allowed", "CPUS", "processors: 0-3,8"),
    word("cpus_allowed_policy", words::SHARINGS, "whether clones share them").below(1),
    text("numa_cpu_nodes", "NODES", "processors of these nodes"),
    text("numa_mem_policy", "MODE[:NODES]", "where memory comes from: default, prefer, bind, interleave, local"),
    switch("thread", "workers are threads; without it processes"),
    whole("threads", 0, MOST, "workers of fio's profile tiobench").ignored("it belongs to a profile; thread=1 makes threads"),
    option("hugepage-size", "BYTES", ValueType::Bytes(0, MOST), "size of a huge page").or("2097152"),
    word("profile", words::PROFILES, "a built-in set of jobs").refused("profiles are not done", "write its jobs out"),
    path("cgroup", "NAME", "run in this control group"),
    flag("cgroup_nodelete", "leave the group behind").below(1),
    whole("cgroup_weight", 100, 1000, "the group's share of I/O").below(1),
    whole("uid", 0, MOST, "run as this user"),
    whole("gid", 0, MOST, "run as this group"),
    text("comm", "NAME", "what workers are called in lists of processes"),
    whole("gpu_dev_id", 0, MOST, "the graphics processor").refused("GPU memory is not known here", "leave it out"),
];
