//! Which workers wait for the lock of a file at this moment: those that write to one file often wait for each other.
//!
//! Source: `/proc/self/task/*/wchan`, and the same of child processes: the kernel function in which a thread sleeps, the
//! scheduler's and the locks' own left out. One that sleeps in the function that takes a file's lock waits for it. Who
//! spins for the lock does not sleep and is not seen, so that what is seen is the least.

use std::fs;
use std::path::Path;

use iodyno_model::Sighting;

/// Threads that are looked at, at most; of more, as many that are spread over them.
const LOOKED_MOST: usize = 256;

/// The functions of Linux 5.10 to 6.18 that take a file's lock themselves: by their ends, and whole. Of file systems that
/// share a file between hosts: of Lustre's the lock of an extent, of its pages, and of a range.
const ENDS: [&str; 3] = ["_write_iter", "_read_iter", "_start_io_write"];
const WHOLE: [&str; 8] = [
    "btrfs_inode_lock",
    "xfs_ilock",
    "xfs_ilock_for_iomap",
    "xfs_ilock_iocb",
    "xfs_ilock_iocb_for_write",
    "ldlm_completion_ast",
    "cl_lock_request",
    "range_lock",
];

/// What was seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Locks {
    waiting: f64,
    looks: u64,
}

impl Locks {
    /// Counts who waits now.
    pub fn look(&mut self) {
        self.waiting += waiting(Path::new("/proc/self")).unwrap_or(0.0);
        self.looks += 1;
    }

    /// The mean of all looks; none: nobody ever waited, or nobody looked.
    pub fn seen(&self) -> Option<Sighting> {
        let waiting = self.waiting / self.looks.max(1) as f64;
        (waiting > 0.0).then_some(Sighting::Locks { waiting, looks: self.looks })
    }
}

/// Threads of a process and of its children that wait for a file's lock; of very many, what those that were looked at
/// tell of all.
fn waiting(process: &Path) -> Option<f64> {
    let tasks: Vec<_> = fs::read_dir(process.join("task")).ok()?.flatten().collect();
    let step = tasks.len().div_ceil(LOOKED_MOST).max(1);
    let mut found = 0.0;
    for task in tasks.iter().step_by(step) {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let children = read("children");
        let asleep = |child: &str| fs::read_to_string(process.with_file_name(child).join("wchan"));
        let children = children.split_whitespace().take(LOOKED_MOST);
        let children = children.filter(|child| asleep(child).is_ok_and(|function| is_lock(&function)));
        found += step as f64 * (children.count() as f64 + f64::from(u8::from(is_lock(&read("wchan")))));
    }
    Some(found)
}

fn is_lock(function: &str) -> bool {
    let function = function.trim();
    WHOLE.contains(&function) || ENDS.iter().any(|end| function.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_take_a_lock_themselves_are_known() {
        for function in
            ["ext4_buffered_write_iter", "shmem_file_write_iter", "xfs_ilock", "btrfs_inode_lock\n"]
        {
            assert!(is_lock(function), "{function}");
        }
        for function in ["0", "", "__iomap_dio_rw", "rq_qos_wait", "folio_wait_bit", "futex_do_wait"] {
            assert!(!is_lock(function), "{function}");
        }
    }

    #[test]
    fn threads_and_children_count() {
        let there = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = there.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("7/task/7/wchan", "futex_do_wait");
        write("7/task/7/children", "9 10 ");
        write("7/task/8/wchan", "ext4_file_write_iter");
        write("9/wchan", "xfs_ilock");
        write("10/wchan", "0");
        assert_eq!(waiting(&there.path().join("7")), Some(2.0));
        assert_eq!(waiting(&there.path().join("11")), None);
        for thread in 100..1100 {
            write(&format!("12/task/{thread}/wchan"), "xfs_ilock");
        }
        assert_eq!(waiting(&there.path().join("12")), Some(1000.0));
    }
}
