#!/bin/sh
# Times: set by hand, to the nanosecond, one alone, and by whom.
. "$MANNER"
plan 17

expect 0 create f 0644
expect 0 utimensat AT_FDCWD f 1000000000 123456789 1100000000 987654321 0
expect 1000000000,123456789,1100000000,987654321 lstat f atime,atime_ns,mtime,mtime_ns
expect 0 utimensat AT_FDCWD f 0 UTIME_OMIT 1200000000 0 0
expect 1000000000,1200000000 lstat f atime,mtime
expect 0 utimensat AT_FDCWD f 1300000000 0 0 UTIME_OMIT 0
expect 1300000000,1200000000 lstat f atime,mtime
expect EINVAL utimensat AT_FDCWD f 0 1000000000 0 0 0
expect 0 symlink f s
expect 0 utimensat AT_FDCWD s 1400000000 0 1500000000 0 AT_SYMLINK_NOFOLLOW
expect 1400000000,1500000000 lstat s atime,mtime
expect 1300000000,1200000000 stat s atime,mtime
expect EPERM -u 65534 -g 65534 utimensat AT_FDCWD f 1 0 1 0 0
expect EACCES -u 65534 -g 65534 utimensat AT_FDCWD f 0 UTIME_NOW 0 UTIME_NOW 0
expect 0 chmod f 0666
expect 0 -u 65534 -g 65534 utimensat AT_FDCWD f 0 UTIME_NOW 0 UTIME_NOW 0
check "UTIME_NOW is the present" [ "$(says stat f mtime)" -gt 1500000000 ]
finish
