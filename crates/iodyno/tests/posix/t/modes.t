#!/bin/sh
# Modes, owners, and who may change them.
. "$MANNER"
plan 31

expect 0 create f 0644
expect 0644 stat f mode
expect 0644,0,0 lstat f mode,uid,gid
expect 0 chmod f 04755
expect 04755 stat f mode
expect 0 chmod f 0111
expect 0 -U 077 create masked 0666
expect 0600 stat masked mode
expect 0 -U 0501 mkdir masked-directory 0777
expect 0276 stat masked-directory mode
expect EPERM -u 65534 -g 65534 chmod f 0777
expect 0111 stat f mode
expect 0 chown f 65534 65533
expect 65534,65533 stat f uid,gid
expect 0 -u 65534 -g 65534 chmod f 0640
expect 0640 stat f mode
expect EPERM -u 65533 -g 65533 chown f 65533 65533
expect 0 -u 65534 -g 65533,65532 -- chown f -1 65532
expect 65534,65532 stat f uid,gid
expect EPERM -u 65534 -g 65534 -- chown f -1 65531
expect 0 mkdir d 0700
expect EACCES -u 65534 -g 65534 stat d/x type
expect EACCES -u 65534 -g 65534 create d/x 0644
expect 0 chmod d 0777
expect 0 -u 65534 -g 65534 create d/x 0644
expect 65534,65534 stat d/x uid,gid
expect 0 symlink f link
expect 0 lchown link 65531 65530
expect 65531,65530 lstat link uid,gid
expect 65534,65532 stat link uid,gid
expect 0 unlink link
finish
