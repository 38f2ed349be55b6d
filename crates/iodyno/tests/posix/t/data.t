#!/bin/sh
# Lengths, descriptors, and calls in a chain.
. "$MANNER"
plan 27

expect 0 create f 0644
expect 0 open f O_WRONLY : write 0 hello
expect 5 stat f size
expect hello open f O_RDONLY : pread 0 10 0
expect llo open f O_RDONLY : pread 0 10 2
expect 0 open f O_RDWR : pwrite 0 J 0
expect Jello open f O_RDONLY : pread 0 5 0
expect 0 open f O_WRONLY,O_APPEND : write 0 '!'
expect 6 stat f size
expect 0 truncate f 3
expect Jel open f O_RDONLY : pread 0 9 0
expect 0 open f O_RDWR : ftruncate 0 8
expect 8 stat f size
expect EINVAL -- truncate f -1
expect 0 open f O_WRONLY,O_TRUNC
expect 0 stat f size
expect EBADF fchmod BADFD 0644
expect 0 open f 'O_RDONLY|O_NOFOLLOW' : fchmod 0 0600
expect 0600 stat f mode
expect ENOENT open missing O_RDONLY : fstat 0 size
expect ELOOP open . O_RDONLY : symlinkat f 0 link : openat 0 link O_RDONLY,O_NOFOLLOW
expect 0 open . O_RDONLY : mkdirat 0 d 0755 : openat 0 d O_RDONLY : openat 1 g O_CREAT,O_WRONLY 0640
expect 0640 fstatat AT_FDCWD d/g 0 mode
expect 0 open d O_RDONLY : unlinkat 0 g none
expect 0 unlinkat AT_FDCWD d AT_REMOVEDIR
expect 0 open f O_RDWR : posix_fallocate 0 0 100
expect 100 stat f size
finish
