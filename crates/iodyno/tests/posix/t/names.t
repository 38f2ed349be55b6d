#!/bin/sh
# Names: what is there, what is not, and what is too long.
. "$MANNER"
plan 30

expect 0 mkdir d 0755
expect EEXIST mkdir d 0755
expect 0 create d/f 0644
expect 'EEXIST' create d/f 0644
expect ENOENT unlink d/missing
expect ENOENT create missing/f 0644
expect ENOTDIR mkdir d/f/x 0755
expect ENOTDIR lstat d/f/x type
expect '(ENOTEMPTY|EEXIST)' rmdir d
expect ENOTDIR rmdir d/f
expect '(EISDIR|EPERM)' unlink d
expect 0 symlink d/f s
expect symlink lstat s type
expect regular stat s type
expect EEXIST symlink d/f s
expect 0 symlink one two
expect 0 symlink two one
expect ELOOP stat one type
expect ELOOP open two/x O_RDONLY
expect 0 mkdir "$(longest)" 0755
expect 0 rmdir "$(longest)"
expect ENAMETOOLONG mkdir "$(longest)x" 0755
expect EFAULT unlink NULL
expect EFAULT stat DEADCODE mode
expect 0 rename d/f g
expect ENOENT lstat d/f type
expect EINVAL rename d d/inside
expect 0 unlink g
expect 0 rmdir d
expect ENOENT lstat d type
finish
